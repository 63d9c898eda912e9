"""The report on one screen: at most `MAX_LINES` lines; with `everything` all rows, and the groups of each."""

import re
from collections.abc import Iterable, Sequence

from fxscope import english
from fxscope.analysis.advice import VIEW_ALL, Advice, quoted
from fxscope.analysis.groups import KernelGroup
from fxscope.analysis.missed import with_phase
from fxscope.analysis.numerics import Difference, NumericsReport
from fxscope.analysis.purposes import PurposeRow
from fxscope.analysis.report import CompileRow, GraphMemory, KernelRow, Report, first_rows, others, report, total_us
from fxscope.analysis.serving import Serving
from fxscope.model import Memory, Recording, replace
from fxscope.render import axis, grid
from fxscope.text import (
    UNKNOWN,
    aligned,
    counted,
    faster_than_limit,
    kernel_name,
    listed,
    microseconds,
    num_bytes,
    percent,
    shorten,
    shorten_front,
)

MAX_LINES = 40
UNSAVED = "x.fxscope"  # where a recording can be saved that is in no file
MAX_KERNELS, MAX_MISSED, MAX_COMPILES, MAX_ADVICE = 10, 4, 2, 3
ADVICE_LINES = 3
MANY = 100  # launches from which halves are not shown
WIDE = 72  # columns from which the roof is shown
LEAST_SHARE = 0.01  # of the device time, for a line about a purpose
MIN_LABEL = 22  # columns of an op that its module leaves


def render(recording: Recording, *, width: int = 80, everything: bool = False, name: str | None = None) -> str:
    """The report as text; `name` is the input's in its commands, "" of a recording that no file holds."""
    return "\n".join(lines(report(recording), width=width, everything=everything, name=name)) + "\n"


def to_json(recording: Recording, *, name: str | None = None) -> str:
    made = report(recording)
    advised = tuple(replace(item, text=in_command(item.text, name)) for item in made.advice)
    return replace(made, advice=advised, next=tuple(in_command(item, name) for item in made.next)).to_json() + "\n"


def several(recordings: Sequence[Recording], *, width: int = 80) -> str:
    after = "Next: fxscope diff A B · fxscope fleet FOLDER for the ranks of one job"
    return "\n".join([*summary(recordings, width=width), cut(after, width)]) + "\n"


def summary(recordings: Sequence[Recording], *, width: int = 80) -> list[str]:
    """One line of each of several recordings: its step, how busy the device is, its launches."""
    rows = [["", "step", "busy", "kernel time", "launches", "bound by"]]
    shown, room = [report(item) for item in recordings[: MAX_LINES - 3]], width - 55
    cuts = {shorten(made.title, room) for made in shown}
    fitted = shorten_front if len(cuts) < len({made.title for made in shown}) else shorten
    for made in shown:
        row = made.step
        mark = "*" if row.on_cpu and row.device_us is not None else ""
        figures = [microseconds(row.wall_us), percent(row.busy_share), microseconds(row.device_us) + mark]
        limit = {"cpu": "CPU", "gpu": "GPU", "neither": "neither"}.get(row.bound or "", UNKNOWN)
        rows.append([fitted(made.title, room), *figures, f"{row.launches:,.0f}", limit])
    out = aligned(rows, left={0, 5})
    if len(recordings) > MAX_LINES - 3:
        out.append(f"… {len(recordings) - MAX_LINES + 3} more")
    if any(row[3].endswith("*") for row in rows):
        out.append("* measured under the profiler, which slows a CPU")
    return [cut(line, width) for line in out]


def lines(made: Report, *, width: int = 80, everything: bool = False, name: str | None = None) -> list[str]:
    if everything:
        return _lines(made, width, (0, 0, 0), everything=True, name=name)
    found: list[str] = []
    for taken in range(MAX_KERNELS - 2):  # the tables give way to what is above and below them
        is_short = taken > 4
        shown = replace(made, advice=made.advice[: 2 if is_short else MAX_ADVICE])
        limits = (MAX_KERNELS - taken, max(1, MAX_MISSED - taken), 1 if is_short else MAX_COMPILES)
        found = _lines(shown, width, limits, everything=False, name=name)
        if len(found) <= MAX_LINES:
            break
    return found


def _lines(made: Report, width: int, limits: tuple[int, int, int], *, everything: bool, name: str | None) -> list[str]:
    max_kernels, max_missed, max_compiles = limits
    parts = [
        head(made, width),
        step(made, width),
        advice(made.advice, width, name=name),
        kernels(made, width, max_kernels, everything=everything)
        + purposes(made.purposes, width, everything=everything),
        serving(made.serving, width, everything=everything) if made.serving else [],
        missed(made, width, everything=everything, limit=max_missed),
        numerics(made.numerics, width, everything=everything) if made.numerics else [],
        graph_memory(made.graph_memory, width) if everything else [],
        compiles("Graph breaks", made.breaks, width, max_compiles, everything=everything),
        compiles("Recompiles", made.recompiles, width, max_compiles, everything=everything),
        compiles("Cache misses", made.cache_keys, width, max_compiles, everything=True) if everything else [],
        foot(made, width, everything=everything, name=name),
    ]
    out = [line for part in parts if part for line in (*part, "")]
    return [line.rstrip() for line in out[:-1]]


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def head(made: Report, width: int) -> list[str]:
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
    bound = "≥ " if row.is_lower_bound else ""
    out: list[list[str]] = []
    if row.wall_us is not None:
        left_out = f"left out: {counted(row.left_out, 'step')} (compiling or incomplete)" if row.left_out else ""
        compiling = f"left out: {microseconds(row.compiling_us)} of compiling{row.each}" if row.compiling_us else ""
        time = f"{'Run ' if row.is_whole else 'Step'}    {microseconds(row.wall_us)}"
        out.append([time, row.basis, row.spread, row.slowed_by, compiling, left_out])
    elif row.predicted:
        out.append([f"Step    {bound}{microseconds(row.device_us)} of device time", row.basis])
    few, most = row.launches_range or (row.launches, row.launches)
    replayed = 0 < row.launch_calls < row.launches
    what = ("device event", "device events") if replayed or row.bound == "unknown" else ("launch", "launches")
    number = f"{few:,}–{most:,} {what[1]} (median {row.launches:,.0f})" if row.launches_range else ""
    counts = [number or counted(round(row.launches), *what)] if row.launches else []
    counts = [f"{counts[0]} from {counted(round(row.launch_calls), 'launch', 'launches')}"] if replayed else counts
    counts += [counted(round(row.ops), "op")] if row.ops else []
    per_step = ", ".join(counts) + (row.each if counts else "")
    if row.busy_us is not None and row.busy_share is not None:
        busy = f"GPU     busy {microseconds(row.busy_us)} ({percent(row.busy_share)}), idle {microseconds(row.idle_us)}"
        limits = [f"{row.verdict}: {per_step}"] if row.bound == "cpu" and per_step else [row.verdict, per_step]
        out.append([busy, *row.busy_notes, *limits])
    elif row.on_cpu:
        words = f"while recording, sum of {row.num_devices} threads" if row.num_devices > 1 else "while recording"
        if parts := row.parts_us:
            words = f"({percent(parts[0] / sum(parts))} of a step while recording), rest {microseconds(parts[1])}"
        out.append([f"CPU     kernels {microseconds(row.device_us)} {words}", per_step])
    elif per_step:
        known = f"GPU     {bound}{microseconds(row.device_us)} of device time"
        out.append([known if row.device_us is not None else "Device  time not known", per_step])
    if made.num_compiles and not row.predicted:
        breaks, recompiles = (sum(item.count for item in rows) for rows in (made.breaks, made.recompiles))
        out.append([f"Compile {compile_words(made)}", f"graph breaks {breaks}, recompiles {recompiles}"])
    graphs = made.cuda_graphs
    state = graphs.state + (f": {graphs.reason}" if graphs.reason else "")
    state += f" ({percent(graphs.share)} of the device events)" if graphs.share is not None else ""
    memory = made.memory or Memory()
    figures = [
        ("memory peak", memory.peak_bytes),
        ("memory peak of the eager steps", memory.eager_bytes),
        ("memory peak of the recorded steps", memory.step_bytes),
        ("pools of CUDA graphs", memory.pool_bytes),
    ]
    peak = [f"{words} {num_bytes(size)}" for words, size in figures if size]
    peak += [f"at the peak: {made.memory_peak_in}"] if made.memory_peak_in and memory.step_bytes else []
    graph_words = "" if row.on_cpu or graphs.state == "unknown" else f"CUDA graphs {state}"
    is_one_line = len(joined([graph_words, *peak], width)) == 1
    out += [[graph_words, *peak]] if is_one_line else [[graph_words], peak]  # no subject below another's
    return [cut(line[:1].upper() + line[1:], width) for parts in out for line in joined([*filter(None, parts)], width)]


def in_command(text: str, name: str | None) -> str:
    """A text with the input's name where its commands have RECORDING."""
    return text.replace("RECORDING", quoted(name)) if name else text


def compile_words(made: Report) -> str:
    """ "11.6 s, once (cold)"."""
    some = f" ({made.num_cached} from the cache)" if made.num_cached else ""
    cache = {True: " (cold)", False: " (from the cache)", None: some}[made.cold]
    times = f"{'once' if made.num_compiles == 1 else f'{made.num_compiles} times'}{cache}"
    if made.compile_us is None:
        return f"{times}, time not recorded"
    most = [f"{percent(us / made.compile_us)} {phase}" for phase, us in made.phases[:1] if made.compile_us]
    return ", ".join([microseconds(made.compile_us), times, *most])


def advice(items: Sequence[Advice], width: int, *, name: str | None = None) -> list[str]:
    if not items:
        return []
    out = ["Try first"]
    for number, item in enumerate(items, 1):
        text = f"  {number}. {in_command(item.text, name)}: {item.why}"
        out += grid.folded(text, width, rest="     ", most=ADVICE_LINES)
    return out


def kernels(made: Report, width: int, limit: int, *, everything: bool) -> list[str]:
    """The table of the kernels; their sum, where that of the medians differs from the step's median."""
    if not made.kernels:
        return []
    shown = list(made.kernels if everything else first_rows(made.kernels, limit))
    rest = others(made.kernels, len(shown), made.step)
    groups = {group.id: group for group in made.groups}
    rows: list[list[str]] = []
    for row in [*shown, *([rest] if rest else [])]:
        rows.append([with_phase(row.label, row.phase), _place(row), *_numbers(row)])
        inside = [groups[item] for item in row.groups if item in groups] if everything and row is not rest else []
        rows += [[f"  {_shape(group)}", _place(group), *_numbers(group)] for group in inside if len(inside) > 1]
    heads = ["", "", "launches", "time", "share", "roof"]
    named = {2, *(place for place in (3, 4) if any(row[place] != UNKNOWN for row in rows))}
    named |= {5} if width >= WIDE and any(row[5] for row in rows) else set()
    numbers = aligned([[row[place] for place in sorted(named)] for row in [heads, *rows]], left=())
    room = width - len(numbers[0])  # an indent of two columns, a label, two columns, a place
    places = max(0, min(max(len(row[1]) for row in rows), room - min(MIN_LABEL, max(len(row[0]) for row in rows)) - 6))
    labels = room - places - 4
    is_known = made.step.device_us is not None and not made.step.is_lower_bound
    total = f"{microseconds(made.step.device_us)} of " if is_known else ""
    how = "lower bound of the " if made.step.is_lower_bound else "predicted " if made.step.predicted else ""
    title = f"Kernels, {total}{how}{made.step.clock}{made.step.each}" if 3 in named else "Kernels, times not known"
    out = [f"{cut(title, room):<{room}}{numbers[0]}"]
    for row, figures in zip(rows, numbers[1:], strict=True):
        label = row[0] if row[0][:1] == " " else shorten(row[0], labels)
        if len(label) > labels:  # shapes: on lines of their own
            out += grid.folded(label.strip(" "), width, first="    ", rest="      ")
            label = ""
        out.append(f"  {label:<{labels}}  {shorten_front(row[1], places):<{places}}{figures}".replace("\xa0", " "))
    note = note_of_sum(made)
    return [*out, f"  {note}"] if note else out


def note_of_sum(made: Report) -> str:
    """Say what the rows of kernels sum to, "" where that is the step's device time."""
    whole, device_us = total_us(made.kernels) or 0.0, made.step.device_us
    differs = device_us and abs(whole / device_us - 1) > 0.01 and not made.step.predicted
    return f"Each row is a median over steps; the rows sum to {microseconds(whole)}." if differs else ""


def _shape(group: KernelGroup) -> str:
    """The dtypes and shapes of a group, to be folded between them; of a kernel without an op its name and grid."""
    name = "" if group.attributed else next(iter(group.kernels), "")
    text = f"{kernel_name(name, 40)}{group.shape.removeprefix(name)}" if group.shape else group.label
    return re.sub(r"(?<=[^)],) |(?<=[^,]) (?=\()", "\xa0", text)


def serving(found: Serving, width: int, *, everything: bool) -> list[str]:
    """The phases of a serving engine's passes; what ran outside of them where it is much, or with `everything`."""
    total = sum(row.time_us for row in found.phases) or 1.0
    rows: list[list[str]] = []
    for row in found.phases:
        if row.phase is None and not everything and row.time_us < total / 50:
            continue
        batch = [counted(row.requests, "request"), *([counted(row.tokens, "token")] if row.tokens else [])]
        graphs = counted(row.replays, row.layout.removesuffix("s")) if row.replays else row.layout
        words = [counted(row.passes, "pass", "passes"), ", ".join(batch), graphs] if row.phase else ["", "", ""]
        rows.append([row.phase or "outside", microseconds(row.time_us), percent(row.time_us / total), *words])
    out = [f"Passes of {found.engine or 'a serving engine'}, device time"]
    return out + [cut(f"  {line}", width) for line in aligned(rows, left={0, 3, 4, 5})]


def purposes(rows: Sequence[PurposeRow], width: int, *, everything: bool) -> list[str]:
    """The kernels that exist for something else than computing, "Layout copies: 6 kernels, 41 µs (8 %)", where they count."""
    parts: list[str] = []
    for row in rows:
        if row.purpose in english.EXTRA and (everything or row.share is None or row.share >= LEAST_SHARE):
            time = f", {microseconds(row.time_us)} ({percent(row.share)})" if row.time_us else ""
            parts.append(f"{english.EXTRA[row.purpose]}: {counted(round(row.kernels), 'kernel')}{time}")
    out = [cut(f"  {line}", width) for line in joined(parts, width - 2, " · ", "")]
    return out if everything else out[:2]


def _place(row: KernelRow | KernelGroup) -> str:
    """ "layers.[0..11] ×12": the module from the layers on."""
    times = f"×{row.count:,}" if row.count > 1 else ""
    module = row.module or ""
    parts = module.split(".")
    first = next((place for place, part in enumerate(parts) if "[" in part), None)
    if first is not None:
        module = ".".join(parts[max(0, first - 1) if parts[first].startswith("[") else first :])
    elif isinstance(row, KernelRow) and len(row.groups) > 1:
        module = ""
    return " ".join(part for part in (module, times) if part)


def _numbers(row: KernelRow | KernelGroup) -> list[str]:
    is_whole = row.launches == round(row.launches) or row.launches >= MANY
    launches = f"{row.launches:,.{0 if is_whole else 1}f}"
    roof = "> 100 %" if faster_than_limit(row.roof) else percent(row.roof) if row.roof is not None else ""
    return [launches, microseconds(row.time_us), percent(row.share), roof]


def missed(made: Report, width: int, *, everything: bool, limit: int = MAX_MISSED) -> list[str]:
    if not made.missed:
        return []
    possible = [row for row in made.missed if row.is_possible]
    same = possible[0].reason if len({row.reason for row in possible[:limit]}) == 1 else ""
    shown = made.missed if everything else possible[: limit if same else max(1, 3 * limit // 4)]
    if not shown:
        return [f"Missed fusions: none that a known change fuses ({len(made.missed):,} others: --all)"]
    numbers = [row.bracket for row in shown]
    timed, sized = (any(getattr(row, field) is not None for row in shown) for field in ("time_us", "bytes"))
    what = "cost in device time" if timed else "cost in memory traffic" if sized else "cost unknown"
    what += made.step.each if timed or sized else ""
    out = [f"Missed fusions, {what}{' (estimates)' if timed else ''}"]
    room = (width - 30) // 2
    rows: list[list[str]] = []
    for place, row in enumerate(shown):  # the longer op takes what the shorter one leaves of twice `room`
        a, b = shorten(row.producer, max(room, 2 * room - len(row.consumer))), max(room, 2 * room - len(row.producer))
        saving = num_bytes(row.bytes) if row.time_us is None else f"~{microseconds(row.time_us)}"
        rows.append([_mark(numbers, place), f"{a} → {shorten(row.consumer, b)}", f"×{row.count:,}", saving])
    for line, row in zip(aligned(rows, left={0, 1}, gap=" "), shown, strict=True):
        out.append(cut(f"  {line}", width))
        hint = f"; {row.hint}" if row.hint else ""
        if everything:
            out += grid.folded(f"{row.reason}{hint}", width, "      ", "      ")
        elif not same:
            out.append(cut(f"      {row.reason}{hint}", width))
    for number in dict.fromkeys(filter(None, numbers)):
        time_us, size = made.brackets[number - 1].time_us, made.brackets[number - 1].bytes
        alone = axis.rivals(made, shown[numbers.index(number)]) if numbers.count(number) == 1 else None
        if (total := microseconds(time_us) if time_us is not None else size and num_bytes(size)) and alone != "":
            out.append(f" {alone or ' ┐┘ at most one fusion per kernel'}: {total} in total")
    if same and not everything:
        hints = {row.hint for row in shown}
        hint = hints.pop() if len(hints) == 1 else None
        out.append(cut(f"  Reason: {same}{f'; {hint}' if hint else ''}", width))
    if len(made.missed) > len(shown):
        out.append(f"  … {counted(len(made.missed) - len(shown), 'more row')}: --all")
    return out


def _mark(numbers: Sequence[int | None], place: int) -> str:
    """The bracket beside a row: ┐ the first, │ between, ┘ the last."""
    number = numbers[place]
    same = [item for item, other in enumerate(numbers) if other == number and number is not None]
    if len(same) < 2:
        return " "
    return "┐" if place == same[0] else "┘" if place == same[-1] else "│"


def numerics(found: NumericsReport, width: int, *, everything: bool) -> list[str]:
    """Say whether compiled values differ from eager ones, and where first."""
    kernels = f"{counted(found.num_compared, 'kernel')} compared"
    more = [f"{found.num_random} random"] if found.num_random else []
    more += [f"{found.num_unknown} not compared"] if found.num_unknown else []
    cost = f" ({', '.join([*more, f'{found.seconds:.2g} s'])})"
    if found.outside:
        first = f"first outside: {difference(found.outside[0])}"
        text = f"Numerics: {len(found.outside)} of {kernels} outside the tolerance{cost}; {first}"
    else:
        largest = f", largest {difference(found.largest)}" if found.largest is not None else ""
        text = f"Numerics: {kernels}, all within the tolerance{cost}{largest}"
    out = grid.folded(text, width, rest="  ")
    if everything:
        shown = (f"  {row.state}: {difference(row)}" for row in found.rows)
        out += [line for text in shown for line in grid.folded(text, width, rest="    ")]
    return out


def difference(row: Difference) -> str:
    """Describe one kernel's difference: where, the errors against fp64, the cause."""
    node = f"{row.node} in " if row.node else ""
    where = f" ({row.where})" if row.where else ""
    figures = ""
    if row.eager_error is not None and row.tolerance is not None:
        error = "not finite" if row.error is None else f"{row.error:.2g}"
        figures = f": error {error}, eager {row.eager_error:.2g}, tolerance {row.tolerance:.2g}"
    cause = f"; {row.cause}" if row.cause and figures else f": {row.cause}" if row.cause else ""
    return f"{node}{row.call}{where}{figures}{cause}"


def graph_memory(rows: Sequence[GraphMemory], width: int) -> list[str]:
    """The peak of each compiled graph: how much, at which kernel, the largest buffers."""
    out = ["Memory peak of each compiled graph (Inductor's estimate; no lasting inputs, no workspaces)"] if rows else []
    for row in rows:
        every = zip(row.buffers, row.owners, strict=True)
        owners = [f"{name} {num_bytes(size)}{f' ({words})' if words else ''}" for (name, size), words in every]
        where = kernel_name(row.call or "an unknown kernel", width // 2)
        text = f"  {row.graph}  {num_bytes(row.bytes)} at {where}: {listed(owners, 3)}"
        out += grid.folded(text, width, rest="      ")
    return out


def compiles(title: str, rows: Sequence[CompileRow], width: int, most: int, *, everything: bool) -> list[str]:
    """Graph breaks, recompiles or cache misses: place, count, cost, reason; with room for more than one also a hint."""
    if not rows:
        return []
    limit = len(rows) if everything or len(rows) == most + 1 else most
    out = [title]
    for row in rows[:limit]:
        cost = f", {microseconds(row.cost_us)}" if row.cost_us is not None else ""
        cost += " between its graphs" if row.kernels is not None else ""
        cost += f" ({counted(row.kernels, 'kernel')}, {microseconds(row.busy_us)})" if row.kernels else ""
        text = f"  {row.where} ×{row.count}{cost}  {row.reason}"
        out += grid.folded(text, width, rest="    ") if everything else [cut(text, width)]
        out += [cut(f"    also: {listed(row.also, 4)}", width)] if row.also and (everything or most > 1) else []
        out += [cut(f"    try: {hint}", width) for hint in row.hints[: everything or most > 1]]
    out += [f"  … {len(rows) - limit} more: --all"] if len(rows) > limit else []
    return out


def foot(made: Report, width: int, *, everything: bool, name: str | None) -> list[str]:
    """Return what is not known, problems, and the commands that go on."""
    out: list[str] = []
    if made.unknown:
        out += grid.folded(f"Not known: {'; '.join(made.unknown)}", width, rest="  ", most=None if everything else 2)
    if made.problems and not everything:
        first, *rest = made.problems
        out += grid.folded(f"Problem{f' 1 of {len(rest) + 1}' if rest else ''}: {first}", width, rest="  ", most=2)
    following = [command for command in made.next if not (everything and command == VIEW_ALL)]
    commands = [in_command(command, name) for command in following]
    if name and max(map(len, commands)) > width - 6:  # a shell's variable: each still works
        commands = [f"R={quoted(name)}", *(command.replace("RECORDING", "$R") for command in following)]
    elif name == "":
        commands = [f"add -o {UNSAVED}", *(in_command(command, UNSAVED) for command in following)]
    commands = commands if name else joined(commands, width - 6, " · ", "")
    return out + [("Next: " if place == 0 else "      ") + line for place, line in enumerate(commands)]
