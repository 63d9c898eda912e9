"""Comparisons, check reports and sweeps as text, Markdown, JSON and JUnit XML."""

from functools import partial

from fxscope.analysis.compare.rows import change_word
from fxscope.analysis.findings import Change, CheckReport, DecisionChange, KernelMatch, KernelUse, OpChange, Status
from fxscope.model import replace
from fxscope.op_names import out_of_place, table
from fxscope.render import grid, labels, tables
from fxscope.render.markdown import block
from fxscope.text import listed, microseconds, num_bytes

folded = partial(grid.folded, first="    ", rest="    ")
MARKS: dict[Status, str] = {"met": "✓", "not_met": "✗", "cannot_tell": "?"}


def check_text(report: CheckReport, *, width: int = 80) -> str:
    """One line per expectation, with the fact, and the reason where it is not met."""
    lines = [report.title, ""] if report.title else []
    several = len({outcome.subject for outcome in report.outcomes}) > 1
    for outcome in report.outcomes:
        subject = f"[{outcome.subject}] " if several and outcome.subject else ""
        lines.append(f"{MARKS[outcome.status]} {subject}{outcome.claim}")
        if outcome.status == "met":
            lines += folded(outcome.found, width)
            continue
        lines += folded(f"expected {outcome.expected}; found {outcome.found}", width)
        for label, line in (("because", outcome.reason), ("note", outcome.note)):
            if line:
                lines += folded(f"{label}: {line}", width)
    return "\n".join([*lines, "", summary(report)]) + "\n"


def summary(report: CheckReport) -> str:
    """The last line: how many hold."""
    counts = {status: sum(o.status == status for o in report.outcomes) for status in MARKS}
    parts = [f"{counts['met']} of {len(report.outcomes)} hold"]
    if counts["not_met"]:
        parts.append(f"{counts['not_met']} do not")
    if counts["cannot_tell"]:
        parts.append(f"{counts['cannot_tell']} unknown")
    return ", ".join(parts)


def check_markdown(report: CheckReport) -> str:
    """The same for a pull request."""
    return block(report.title or "Expectations", check_text(replace(report, title=None), width=100))


def number(value: float | None, unit: str) -> str:
    """A number with its unit, "–" where it is not known."""
    if unit in ("us", "bytes"):
        return tables.UNITS[unit](value)
    return "–" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def kernel_words(use: KernelUse, width: int) -> str:
    parts = [labels.kernel_label(use, width)]
    details = [microseconds(use.time_us)] if use.time_us is not None else []
    details += [f"{labels.times(use.runs)} a step"] if use.runs > 1 else []
    details += [f"{use.registers} registers"] if use.registers else []
    return f"{parts[0]} ({', '.join(details)})" if details else parts[0]


def signed(us: float) -> str:
    """A difference of times with its sign."""
    return f"{'−' if us < 0 else '+'}{microseconds(abs(us))}"


def change_words_of(match: KernelMatch) -> str:
    """Return what became of them, how many they were and are, and whether the ops are the same: "fused 2 → 1"."""
    word = change_word(match)
    if word == "replaced":
        ran = [{out_of_place(op) for use in side for op in use.ops} for side in (match.a, match.b)]
        if not all(ran) or not set().union(*ran) <= table().keys():
            return word  # what a program's own kernel does is not known
        return f"{word}, {'the same' if ran[0] == ran[1] else 'other'} ops"
    return f"{word} {len(match.a)} → {len(match.b)}" if max(len(match.a), len(match.b)) > 1 and word != "kept" else word


def match_line(match: KernelMatch) -> str:
    how = f" (aligned by {match.aligned_by})" if match.aligned_by and match.aligned_by != "name" else ""
    gain = f": {match.time.verdict}, {match.time.reason}" if match.time and match.time.ratio is not None else ""
    if match.time and match.time.verdict == "cannot tell":
        gain = ""  # the lines on the whole step say so, and why
    if match.predicted_us is not None and match.kind != "same":
        gain = f": predicted {signed(match.predicted_us)}"
    elif match.not_predicted and match.kind != "same":
        gain = f": not predicted ({listed(list(dict.fromkeys(match.not_predicted)), 2)})"
    saved = f"; {num_bytes(match.saved_bytes)} of traffic less" if match.saved_bytes and match.saved_bytes > 0 else ""
    return f"{change_words_of(match)}{how}{gain}{saved}"


def change_words(change: Change) -> str:
    """ "7 → 4"; what measured times show is said below them, with its interval."""
    line = f"{number(change.a, change.unit)} → {number(change.b, change.unit)}"
    if (
        change.a
        and change.b is not None
        and change.a != change.b
        and (change.unit not in ("count", "us") or change.subject.startswith("predicted"))
    ):
        line += f" (×{change.b / change.a:.2f})"
    return line


def decision_title(change: DecisionChange) -> str:
    """The ops and where they are: "pow + mean in norm1 and norm2"."""
    where = f" in {listed(change.where, 3)}" if change.where else ""
    often = f" ({change.count} times)" if change.count > max(1, len(change.where)) else ""
    return f"{' + '.join(change.pair)}{where}{often}"


def op_change_words(change: OpChange) -> tuple[str, str]:
    """("15 → 2", "21.9 µs → 3.10 µs of CPU"): how often a step runs the op, and its own time there, where known."""
    times = [microseconds(us) for us in (change.a_cpu_us, change.b_cpu_us) if us is not None]
    often = " → ".join(number(count, "count") for count in (change.a, change.b))
    return often, f"{' → '.join(times)} of CPU" if times else ""
