"""A comparison as text and Markdown: the changes, the largest difference of time first."""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter

import msgspec

from fxscope.analysis.compare.rows import ChangeRow, change_rows, changed, num_kernels, total_us
from fxscope.analysis.findings import Change, Comparison, DecisionChange, KernelMatch, TimeComparison
from fxscope.analysis.stats import RUN_TO_RUN
from fxscope.english import VERDICTS
from fxscope.model import encoded
from fxscope.render import grid, tables
from fxscope.render.markdown import block
from fxscope.text import aligned, counted, kernel_name, listed, microseconds, shorten

SAME, ALL = "No difference beyond noise.", " (--all)"
SCREEN = 40
LIMITS = {"rows": 14, "decisions": 3, "ops": 4, "notes": 3}  # of the default answer, which fits a screen
HEADINGS = ("where", "kernels", "A", "B", "difference")


def is_same(comparison: Comparison, *, by_design: bool = False) -> bool:
    """Return whether nothing differs but times, and those no more than one program's between two runs.

    `by_design`: settings were changed on purpose, and in one process: neither they nor times that vary are findings.
    """
    counts = [change for change in comparison.totals if change.unit != "us"]
    return not (
        (comparison.settings and not by_design)
        or comparison.decisions
        or changed(comparison)
        or any(change.a != change.b for change in counts)
        or any(differs(t, may=not by_design) for t in (comparison.step_time, comparison.wall_time))
        or any(change.a != change.b for change in comparison.totals if change.key == "predicted_us")
    )


def differs(time: TimeComparison | None, *, may: bool = True) -> bool:
    """Return whether times differ, or `may`: a CPU's of one process each, or of one step."""
    if time is None or time.ratio is None:
        return False
    is_unclear = time.verdict == "cannot tell" or time.is_single
    return time.verdict in ("faster", "slower") or (may and is_unclear and abs(time.ratio - 1) > RUN_TO_RUN)


def diff_json(comparison: Comparison) -> str:
    """The comparison as JSON: the headline and the rows of the table first, the kernels last, equal ones after the others."""
    rows = change_rows(comparison)
    changes = [
        {
            "id": f"{row.change}/{row.a or row.b}/{row.where}".rstrip("/"),
            **{key: value for key, value in row._asdict().items() if key != "matches"},
            "difference_us": row.difference_us,
        }
        for row in rows
    ]
    facts = msgspec.structs.asdict(comparison)
    facts["kernels"] = sorted(comparison.kernels, key=lambda match: match.kind == "same")
    order = {"kernels": 2, "totals": 1, "ops": 1}
    facts = {key: facts[key] for key in sorted(facts, key=lambda key: order.get(key, 0))}
    lines = [SAME] if is_same(comparison) else headline(comparison)
    return encoded({"schema": facts.pop("schema"), "headline": lines, "changes": changes, **facts}).decode() + "\n"


def headline(comparison: Comparison) -> list[str]:
    """ "Step 2.91 → 0.85 ms, 3.4× faster; 17 → 9 kernels", and the device's time below it."""
    uses = (use for match in comparison.kernels for use in (*match.a, *match.b))
    device = "Kernels" if any(use.category == "cpu_kernel" for use in uses) else "Device"
    device += ", without collectives" if comparison.without_collectives else ""
    whole = "Step" if comparison.each else "Run"
    lines = [
        f"{name} {time_words(time)}"
        for name, time in ((whole, comparison.wall_time), (device, comparison.step_time))
        if time is not None and time.a_us and time.b_us
    ]
    totals = {change.key: change for change in comparison.totals}
    planned = totals.get("predicted_us")
    if planned is not None:
        lines.append(f"Predicted device time {change_words(planned)}")
    kernels = totals.get("kernels") or totals.get("calls")
    if kernels is not None:
        words = f"{number(kernels.a, 'count')} → {number(kernels.b, 'count')} kernels"
        lines[:1] = [f"{lines[0]}; {words}" if lines else words]
    unclear = [
        t for t in (comparison.wall_time, comparison.step_time) if differs(t) and t and t.verdict == "cannot tell"
    ]
    what = f"{whole} time" if unclear == [comparison.wall_time] else "Times"
    return [*lines, *([f"{what}: not comparable; {unclear[0].reason}"] if unclear else [])]


def time_words(time: TimeComparison) -> str:
    """ "2.91 ms → 850 µs, 3.4× faster (3.2 to 3.6)"."""
    words = f"{microseconds(time.a_us)} → {microseconds(time.b_us)}"
    if change := factor(time):
        return f"{words}, {change}"
    if min(time.num_a, time.num_b) < 2 and time.ratio:
        return f"{words} (A or B has 1 step: noise unknown)"
    return words if time.verdict in ("cannot tell", "not measured") else f"{words}, no difference beyond noise"


def factor(time: TimeComparison) -> str | None:
    """ "3.4× faster"; None where no difference is shown."""
    if time.verdict not in ("faster", "slower") or not time.ratio:
        return None
    times = 1 / time.ratio if time.verdict == "faster" else time.ratio
    return f"{times:.{2 if times < 2 else 1}f}× {time.verdict}"


def diff_text(comparison: Comparison, *, width: int = 80, every: bool = False) -> str:
    """The changes in a screen; `every`: all of them, with kernels' names and what did not change."""
    limits = dict.fromkeys(LIMITS, 1 << 30) if every else dict(LIMITS)
    lines = _lines(comparison, width, limits, every=every)
    if len(lines) > SCREEN and not every:
        limits["rows"] = max(3, limits["rows"] - (len(lines) - SCREEN))
        lines = _lines(comparison, width, limits, every=every)
    return "\n".join(lines).rstrip() + "\n"


def _lines(comparison: Comparison, width: int, limits: Mapping[str, int], *, every: bool) -> list[str]:
    lines = [shorten(f"A  {comparison.a_title}", width), shorten(f"B  {comparison.b_title}", width)]
    if is_same(comparison) and not every:
        return [*lines, "", SAME]
    lines += _folded([f"{name}: {a} → {b}" for name, a, b in comparison.settings][: limits["rows"]], width, every)
    lines += ["", *_folded([SAME] if is_same(comparison) else headline(comparison), width, every)]
    rows = change_rows(comparison)
    if rows:
        lines += ["", *table(rows[: limits["rows"]], width, comparison.each), *rest(rows[limits["rows"] :])]
    differing = {id(match) for match in changed(comparison)}
    same = [match for match in comparison.kernels if id(match) not in differing]
    kept = [use for match in same for use in match.b if not use.category.startswith("gpu_mem")]
    if rows and (number_kept := round(num_kernels(kept))):
        lines.append(_unchanged(number_kept, same))
    more = ["", *totals] if (totals := total_lines(comparison)) else []
    more += op_lines(comparison, limits["ops"])
    lines += more
    if not (rows or more or comparison.decisions or is_same(comparison)):
        lines += ["", "Kernels, ops and fusions: no difference."]
    if comparison.decisions:
        decisions = [
            f"{decision_title(item)}: {VERDICTS[item.a_verdict]} ({item.a_reason}) → "
            f"{VERDICTS[item.b_verdict]} ({item.b_reason})"
            for item in comparison.decisions
        ]
        lines += ["", *_folded(grid.first(["Decisions", *decisions], limits["decisions"] + 1, ALL), width, every)]
    if every and rows:
        lines += ["", "Kernels", *kernel_lines(rows, width)]
    notes = _folded(grid.first(comparison.notes, limits["notes"], ALL), width, every)
    return [*lines, "", *notes] if notes else lines


def _unchanged(number: int, matches: Sequence[KernelMatch]) -> str:
    """ "9 kernels unchanged"; "9 other kernels: +17.0 µs together", if their sum differs by more than noise."""
    a, b = (total_us([use for match in matches for use in uses(match)]) for uses in (attrgetter("a"), attrgetter("b")))
    if a and b and abs(b / a - 1) > RUN_TO_RUN:
        return f"{counted(number, 'other kernel')}: {signed(b - a)} together"
    return f"{counted(number, 'kernel')} unchanged"


def _folded(items: Sequence[str], width: int, every: bool) -> list[str]:
    return [line for item in items for line in grid.folded(item, width, rest="  ", most=None if every else 2)]


def table(rows: Sequence[ChangeRow], width: int, each: str = "") -> list[str]:
    heading = "change" + (each and f",{each}")
    return grid.table([(heading, *HEADINGS), *map(_cells, rows)], width, left={0, 1}, cut=(0, 0, 0, 1, 1), modules={1})


def _cells(row: ChangeRow) -> list[str]:
    named = [(count, ops) for count, ops in ((row.num_a, row.a), (row.num_b, row.b)) if ops]
    by_inductor = row.change in ("fused", "split", "regrouped")  # its label has the ops of all that it replaced
    ops = min(named)[1] if by_inductor else " → ".join(dict.fromkeys(ops for _, ops in named))
    counts = " → ".join(dict.fromkeys(number(count, "count") for count in (row.num_a, row.num_b)))
    times = [microseconds(us) if us is not None else "–" for us in (row.a_us, row.b_us)]
    difference = row.difference_us
    return [f"{row.change} {ops}", row.where, counts, *times, signed(difference) if difference is not None else "–"]


def rest(rows: Sequence[ChangeRow]) -> list[str]:
    if not rows:
        return []
    known = [row.difference_us for row in rows if row.difference_us is not None]
    a, b = (number(sum(column), "count") for column in zip(*((row.num_a, row.num_b) for row in rows), strict=True))
    counts = f"{a} → {b} kernels"
    return [f"… {counted(len(rows), 'more change')} (--all): {counts}" + (f", {signed(sum(known))}" if known else "")]


SAID = {"device_us", "wall_us", "predicted_us", "kernels", "calls", "events", "memsets", "copies"}  # or in the table


def total_lines(comparison: Comparison) -> list[str]:
    """Numbers of both sides that differ and are neither times of a step nor kernels of the table."""
    rows: list[list[str]] = []
    for item in comparison.totals:
        if item.a is None or item.b is None:
            differs = item.key == "graphs"
        else:  # times: by more than one program's between two runs
            differs = item.unit != "us" or not item.a or abs(item.b / item.a - 1) > RUN_TO_RUN
        if differs and item.a != item.b and item.key not in SAID:
            rows.append([item.subject, change_words(item)])
    return aligned(rows)[:6] if rows else []


def op_lines(comparison: Comparison, most: int) -> list[str]:
    """CPU ops that a step runs more or less often, those that differ most first."""
    changes = sorted(comparison.ops, key=lambda item: -abs((item.a or 0) - (item.b or 0)))
    counts = (f"{number(item.a or 0, 'count')} → {number(item.b or 0, 'count')}" for item in changes)
    rows = [[f"  {shorten(item.subject, 34)}", count] for item, count in zip(changes, counts, strict=True)]
    more = [f"  … {len(rows) - most} more{ALL}"] if len(rows) > most else []
    return ["", f"CPU ops{comparison.each}", *aligned(rows[:most]), *more] if rows else []


def kernel_lines(rows: Sequence[ChangeRow], width: int) -> list[str]:
    lines: list[str] = []
    for row in rows:
        lines += [" ".join(filter(None, (row.change, row.where)))]
        for sign, side in (("−", "a"), ("+", "b")):
            names = Counter(
                kernel_name(use.kernel, width - 10) for match in row.matches for use in getattr(match, side)
            )
            lines += [f"  {sign} {name}{f' ×{count}' if count > 1 else ''}" for name, count in names.items()]
    return lines


def diff_markdown(comparison: Comparison, *, every: bool = False) -> str:
    lines = diff_text(comparison, width=100, every=every).splitlines()[2:]
    return block(f"{comparison.a_title} → {comparison.b_title}", "\n".join(lines).strip("\n"))


def number(value: float | None, unit: str) -> str:
    """A number with its unit, "–" where it is not known."""
    if unit in ("us", "bytes"):
        return tables.UNITS[unit](value)
    return "–" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def signed(us: float) -> str:
    return f"{'−' if us < 0 else '+'}{microseconds(abs(us))}"


def kind_words(match: KernelMatch) -> str:
    """ "fused 2 → 1"."""
    several = max(len(match.a), len(match.b)) > 1 and match.kind != "same"
    return f"{match.kind} {len(match.a)} → {len(match.b)}" if several else match.kind


def change_words(change: Change) -> str:
    """ "7 → 4"; of bytes and predicted times with their ratio: what measured times show is said with its interval."""
    line = f"{number(change.a, change.unit)} → {number(change.b, change.unit)}"
    has_ratio = change.unit == "bytes" or change.key == "predicted_us"
    if has_ratio and change.a and change.b is not None and change.a != change.b:
        line += f" (×{change.b / change.a:.2f})"
    return line


def decision_title(change: DecisionChange) -> str:
    """The ops and where they are: "pow + mean in norm1 and norm2"."""
    where = f" in {listed(change.where, 3)}" if change.where else ""
    times = f" ({change.count} times)" if change.count > max(1, len(change.where)) else ""
    return f"{' + '.join(change.pair)}{where}{times}"
