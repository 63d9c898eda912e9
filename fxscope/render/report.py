"""The report on one screen: at most `MAX_LINES` lines; with `everything` all rows, and the groups of each."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from fxscope import english
from fxscope.analysis.report import others, report
from fxscope.render import grid
from fxscope.text import UNKNOWN, aligned, counted, microseconds, num_bytes, percent, roof_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fxscope.analysis.groups import KernelGroup
    from fxscope.analysis.purposes import PurposeRow
    from fxscope.analysis.report import Advice, CompileRow, GraphMemory, KernelRow, MissedRow, Report
    from fxscope.analysis.rewrites import RewriteRow
    from fxscope.model import Recording

MAX_LINES = 40
MAX_KERNELS, MAX_MISSED, MAX_COMPILES, MAX_ADVICE = 10, 4, 2, 3
WIDE = 72  # columns from which the roof is shown
MIN_LABEL = 18  # columns of an op that its module leaves


def render(recording: Recording, *, width: int = 80, everything: bool = False, name: str | None = None) -> str:
    """The report as text.

    Args:
        recording: what is reported.
        width: in columns.
        everything: all rows instead of the first ones.
        name: of the input, in the commands.
    """
    return "\n".join(lines(report(recording), width=width, everything=everything, name=name)) + "\n"


def text_of(made: Any) -> str:
    """A report as text."""
    return "\n".join(lines(made))


def to_json(recording: Recording) -> str:
    """The report as JSON."""
    return report(recording).to_json() + "\n"


def several(recordings: Sequence[Recording], *, width: int = 80) -> str:
    """One line of each of several recordings, and the commands that go on."""
    after = "Next: fxscope diff A B · fxscope fleet FOLDER for the ranks of one job"
    return "\n".join([*summary(recordings, width=width), cut(after, width)]) + "\n"


def summary(recordings: Sequence[Recording], *, width: int = 80) -> list[str]:
    """One line of each of several recordings: its step, how busy the device is, its launches."""
    rows = [["", "step", "busy", "device time", "launches", "limit"]]
    for made in map(report, recordings[: MAX_LINES - 3]):
        row = made.step
        figures = [microseconds(row.wall_us), percent(row.busy_share), microseconds(row.device_us)]
        rows.append([shorten(made.title, width - 54), *figures, f"{row.launches:,.0f}", row.verdict or "–"])
    out = aligned(rows, left={0, 5})
    if len(recordings) > MAX_LINES - 3:
        out.append(f"… {len(recordings) - MAX_LINES + 3} more")
    return [cut(line, width) for line in out]


def lines(made: Report, *, width: int = 80, everything: bool = False, name: str | None = None) -> list[str]:
    """The lines of a report, none wider than `width`."""
    parts = [
        head(made, width),
        step(made, width),
        advice(made.advice[: None if everything else MAX_ADVICE], width),
        kernels(made, width, everything=everything) + purposes(made.purposes, width),
        missed(made, width, everything=everything),
        rewrites(made.rewrites, width) if everything else [],
        graph_memory(made.graph_memory, width) if everything else [],
        compiles("Graph breaks", made.breaks, width, everything=everything),
        compiles("Recompiles", made.recompiles, width, everything=everything),
        foot(made, width, everything=everything, name=name),
    ]
    out = [line for part in parts if part for line in (*part, "")]
    return [line.rstrip() for line in out[:-1]]


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def head(made: Report, width: int) -> list[str]:
    """Return what was recorded, where."""
    parts = [made.title, made.device or "device unknown", f"torch {made.torch}" if made.torch else "", made.contents]
    return [cut(line, width) for line in joined([part for part in parts if part], width, " · ")[:2]]


def joined(parts: Iterable[str], width: int, gap: str = "   ", indent: str = "        ") -> list[str]:
    """Put parts on as few lines as hold them."""
    out: list[str] = []
    for part in parts:
        if out and len(out[-1]) + len(gap) + len(part) <= width:
            out[-1] += gap + part
        else:
            out.append(indent + part if out else part)
    return out


def step(made: Report, width: int) -> list[str]:
    """The length of a step, its limit, compiling, CUDA graphs and memory."""
    row = made.step
    out: list[list[str]] = []
    if row.wall_us is not None:
        left_out = [f"left out: {counted(row.left_out, 'step')} (compiling or incomplete)"] if row.left_out else []
        out.append([f"Step    {microseconds(row.wall_us)}", row.basis, *left_out])
    elif row.predicted:
        out.append([f"Step    {microseconds(row.device_us)} of device time", row.basis])
    counts = [counted(round(row.launches), "launch", "launches")] if row.launches else []
    counts += [counted(round(row.ops), "op")] if row.ops else []
    per_step = f"{', '.join(counts)} per step" if counts else ""
    if row.busy_us is not None and row.busy_share is not None:
        busy = f"GPU     busy {microseconds(row.busy_us)} ({percent(row.busy_share)}), idle {microseconds(row.idle_us)}"
        out.append([busy, f"{row.verdict}: {per_step}" if row.bound == "cpu" and per_step else row.verdict])
        out[-1] += [per_step] if row.bound != "cpu" and per_step else []
    elif row.on_cpu:
        out.append([f"CPU     kernels {microseconds(row.device_us)} while recording", per_step])
    elif per_step:
        known = row.device_us is not None
        out.append(
            [f"GPU     {microseconds(row.device_us)} of device time" if known else "Device  time not known", per_step]
        )
    if made.num_compiles and not row.predicted:
        breaks, recompiles = (sum(item.count for item in rows) for rows in (made.breaks, made.recompiles))
        out.append([f"Compile {compile_words(made)}", f"graph breaks {breaks}, recompiles {recompiles}"])
    graphs = made.cuda_graphs
    state = graphs.state + (f": {graphs.reason}" if graphs.reason else "")
    state += f" ({percent(graphs.share)} of the launches)" if graphs.share is not None else ""
    peak = [f"memory peak {num_bytes(made.memory_peak_bytes)}"] if made.memory_peak_bytes else []
    out.append([f"CUDA graphs {state}", *peak])
    return [cut(line, width) for parts in out for line in joined([part for part in parts if part], width)]


def compile_words(made: Report) -> str:
    """ "11.6 s, once (cold)"."""
    cache = {True: " (cold)", False: " (from the cache)", None: ""}[made.cold]
    took = microseconds(made.compile_us) if made.compile_us is not None else "time not recorded"
    return f"{took}, {'once' if made.num_compiles == 1 else f'{made.num_compiles} times'}{cache}"


def advice(items: Sequence[Advice], width: int) -> list[str]:
    """Return what to try first, one line or two each."""
    if not items:
        return []
    out = ["Try first"]
    for number, item in enumerate(items, 1):
        found = grid.folded(f"  {number}. {item.text}: {item.why}", width, rest="     ")
        out += found if len(found) < 3 else [found[0], cut(f"{found[1]} …", width)]
    return out


def kernels(made: Report, width: int, *, everything: bool) -> list[str]:
    """The table of the kernels; its rows sum to the device time."""
    if not made.kernels:
        return []
    limit = len(made.kernels) if everything else MAX_KERNELS
    shown = list(made.kernels[:limit])
    rest = others(made.kernels, limit, made.step)
    groups = {group.id: group for group in made.groups}
    rows: list[list[str]] = []
    for row in [*shown, *([rest] if rest else [])]:
        rows.append([_label(row), _place(row), *_numbers(row)])
        inside = [groups[item] for item in row.groups if item in groups] if everything and row is not rest else []
        for group in inside if len(inside) > 1 else ():
            rows.append([f"  {group.shape or group.label}", _place(group), *_numbers(group)])
    heads = ["", "", "launches", "time", "share", "roof"]
    named = {2, *(place for place in (3, 4) if any(row[place] != UNKNOWN for row in rows))}
    named |= {5} if width >= WIDE and any(row[5] for row in rows) else set()
    numbers = aligned([[row[place] for place in sorted(named)] for row in [heads, *rows]], left=())
    room = width - len(numbers[0]) - 4
    places = max(0, min(max(len(row[1]) for row in rows), room - min(MIN_LABEL, max(len(row[0]) for row in rows)) - 2))
    labels = room - places - 2
    total = f"{microseconds(made.step.device_us)} of " if made.step.device_us is not None else ""
    title = f"Kernels, {total}{'predicted ' if made.step.predicted else ''}device time per step"
    out = [f"{cut(title, room + 4):<{room + 4}}{numbers[0]}"]
    for row, figures in zip(rows, numbers[1:], strict=True):
        label = "  " * (row[0][:1] == " ") + shorten(row[0].strip(), labels - 2 * (row[0][:1] == " "))
        out.append(f"  {label:<{labels}}  {place_within(row[1], places):<{places}}{figures}")
    return out


def purposes(rows: Sequence[PurposeRow], width: int) -> list[str]:
    """The kernels that exist for something else than computing: "Layout copies: 6 kernels, 41 µs (8 %)"."""
    parts: list[str] = []
    for row in rows:
        if row.purpose in english.EXTRA:
            time = f", {microseconds(row.time_us)} ({percent(row.share)})" if row.time_us else ""
            parts.append(f"{english.EXTRA[row.purpose]}: {counted(round(row.kernels), 'kernel')}{time}")
    return [cut(f"  {line}", width) for line in joined(parts, width - 2, " · ", "")]


def _label(row: KernelRow | KernelGroup) -> str:
    return f"{row.label} (backward)" if row.phase == "backward" and "backward" not in row.label else row.label


def _place(row: KernelRow | KernelGroup) -> str:
    """ "layers.[0..11] ×12": the module from the layers on."""
    times = f"×{row.count:,}" if row.count > 1 else ""
    module = row.module or ""
    parts = module.split(".")
    first = next((place for place, part in enumerate(parts) if "[" in part), None)
    if first is not None:
        module = ".".join(parts[max(0, first - 1) if parts[first].startswith("[") else first :])
    elif row.count > 1:
        module = ""
    return " ".join(part for part in (module, times) if part)


def place_within(text: str, width: int) -> str:
    """Cut a place in the middle of its module; its count stays."""
    module, _, count = text.rpartition(" ")
    return (
        text if len(text) <= width else f"{shorten(module, max(1, width - len(count) - 1))} {count}" if module else text
    )


def _numbers(row: KernelRow | KernelGroup) -> list[str]:
    launches = f"{row.launches:,.0f}" if row.launches == round(row.launches) else f"{row.launches:,.1f}"
    roof = roof_share(row.roof) if row.roof is not None else ""
    return [launches, microseconds(row.time_us), percent(row.share), roof]


def missed(made: Report, width: int, *, everything: bool, limit: int = MAX_MISSED) -> list[str]:
    """The missed fusions; rows of a bracket exclude each other."""
    if not made.missed:
        return []
    possible = [row for row in made.missed if row.is_possible]
    shown = made.missed if everything or not possible else possible[:limit]
    numbers = [row.bracket for row in shown]
    timed = any(row.time_us is not None for row in shown)
    what = "device time saved per step (estimates)" if timed else "memory traffic saved per step"
    out = [f"Missed fusions, {what}"]
    same = shown[0].reason if len(shown) > 1 and len({row.reason for row in shown}) == 1 else ""
    room = (width - 24 if same else 36) // 2
    rows = [[_mark(numbers, place), _pair(row, room), f"×{row.count}", _saving(row)] for place, row in enumerate(shown)]
    for line, row in zip(aligned(rows, left={0, 1}, gap=" "), shown, strict=True):
        out.append(cut(f"  {line}  {'' if same else row.reason}".rstrip(), width))
        if everything and row.hint:
            out += grid.folded(f"      try: {row.hint}", width, rest="      ")
    sums = {item.number: item for item in made.brackets}
    for number in dict.fromkeys(number for number in numbers if number is not None and numbers.count(number) > 1):
        if (total := sums[number].time_us) is not None:
            out.append(f"  ┐┘ one of these per kernel: {microseconds(total)} together")
    out += [cut(f"  Reason: {same}", width)] if same else []
    if len(made.missed) > len(shown):
        out.append(f"  … {counted(len(made.missed) - len(shown), 'more row')}: --all")
    return out


def _pair(row: MissedRow, room: int) -> str:
    """ "mm → gelu·mul"; the longer op takes what the shorter one leaves of twice `room`."""
    a, b = len(row.producer), len(row.consumer)
    return f"{shorten(row.producer, max(room, 2 * room - b))} → {shorten(row.consumer, max(room, 2 * room - a))}"


def _mark(numbers: Sequence[int | None], place: int) -> str:
    """The bracket beside a row: ┐ the first, │ between, ┘ the last."""
    number = numbers[place]
    same = [item for item, other in enumerate(numbers) if other == number and number is not None]
    if len(same) < 2:
        return " "
    return "┐" if place == same[0] else "┘" if place == same[-1] else "│"


def _saving(row: MissedRow) -> str:
    if row.time_us is not None:
        return f"{'≥' if row.is_least else '~'} {microseconds(row.time_us)}"
    return num_bytes(row.bytes)


def rewrites(rows: Sequence[RewriteRow], width: int) -> list[str]:
    """Return what each pass or pattern changed."""
    found = [
        [english.GRAPHS.get(row.stage, ""), row.name, f"×{row.count}", f"-{row.removed}", f"+{row.added}"]
        for row in rows
    ]
    return (
        ["Passes, nodes removed and added", *(cut(f"  {line}", width) for line in aligned(found, left={0, 1}))]
        if rows
        else []
    )


def graph_memory(rows: Sequence[GraphMemory], width: int) -> list[str]:
    """The peak of each compiled graph: how much, at which kernel, the largest buffers."""
    out = ["Memory peak of each compiled graph (Inductor's estimate, without inputs that stay)"] if rows else []
    for row in rows:
        owners = ", ".join(f"{name} {num_bytes(size)}" for name, size in row.buffers[:3])
        more = f", {len(row.buffers) - 3} more" if len(row.buffers) > 3 else ""
        out.append(
            cut(f"  {row.graph}  {num_bytes(row.bytes)} at {row.call or 'an unknown kernel'}: {owners}{more}", width)
        )
    return out


def compiles(title: str, rows: Sequence[CompileRow], width: int, *, everything: bool) -> list[str]:
    """Graph breaks or recompiles: place, count, cost, reason."""
    if not rows:
        return []
    limit = len(rows) if everything else MAX_COMPILES
    out = [title]
    for row in rows[:limit]:
        cost = f", {microseconds(row.cost_us)}" if row.cost_us is not None else ""
        out.append(cut(f"  {row.where} ×{row.count}{cost}  {row.reason}", width))
        out += [cut(f"    try: {hint}", width) for hint in row.hints[:1]]
    out += [f"  … {counted(len(rows) - limit, 'more place')}: --all"] if len(rows) > limit else []
    return out


def foot(made: Report, width: int, *, everything: bool, name: str | None) -> list[str]:
    """Return what is not known, problems, and the commands that go on."""
    out: list[str] = []
    if made.unknown:
        found = grid.folded(f"Not known: {'; '.join(made.unknown)}", width, rest="  ")
        out += found if everything or len(found) < 3 else [found[0], cut(f"{found[1]} …", width)]
    if made.problems and not everything:
        more = f" ({len(made.problems) - 1} more)" if len(made.problems) > 1 else ""
        out.append(cut(f"Problem{more}: {made.problems[0]}", width))
    named = [command.replace("RECORDING", shlex.quote(name)) if name else command for command in made.next]
    fits = max(map(len, named), default=0) <= width - 6
    commands = joined(named if fits else made.next, width - 6, " · ", "")
    return out + [("Next: " if place == 0 else "      ") + line for place, line in enumerate(commands)]
