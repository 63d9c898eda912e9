"""The answer to "why" as text: the verdict, the cost and what to try in `MAX_LINES` lines; with `everything` all details."""

from collections import Counter
from collections.abc import Iterator, Sequence

from fxscope import english, op_names
from fxscope.analysis import traced_regions
from fxscope.analysis.missed import saved
from fxscope.analysis.report import buffers_unknown, report as report_of
from fxscope.analysis.rewrites import put_there
from fxscope.analysis.why import Same, WhyAnswer, what_became
from fxscope.columns import column
from fxscope.index import Key, grouped, index_of
from fxscope.model import Decision, DecisionEnd, KernelCall, Node, Recording, replace
from fxscope.passes.predicted import pair_runs
from fxscope.passes.unfused import stood_in_for
from fxscope.render import grid, labels, report, theme
from fxscope.text import (
    about,
    counted,
    faster_than_limit,
    first_line,
    flop,
    kernel_name,
    listed,
    microseconds,
    num_bytes,
    of_roof,
    percent,
    rate,
    shorten,
    shorten_front,
    span,
)

MAX_LINES = 15
MAX_OTHERS = 2  # lines about groups that are not the largest
MAX_MISSED = 8


def words(recording: Recording, answer: WhyAnswer, *, width: int, everything: bool = False) -> str:
    """The answer as text: the largest group of equal places first, the exceptions after it."""
    if not answer.names:
        lines = missed(recording, width, everything=everything)
    elif everything:
        lines = [line for item in answer.same for line in (*story(recording, answer, item, width), "")][:-1]
    else:
        lines = brief(recording, answer, width)
    return "\n".join(lines) + "\n"


def missed(recording: Recording, width: int, *, everything: bool) -> list[str]:
    """All missed fusions, or the first, and what a bare trace's compiled regions say."""
    seen = grid.wrapped(traced_regions.more(recording), width)
    rows: list[str] = []
    for limit in range(MAX_MISSED, 0, -1):
        rows = report.missed(report_of(recording), width, everything=everything, limit=limit)
        if everything or len(rows) <= MAX_LINES:
            break
    return [*seen, *([""] if seen and rows else []), *(rows or ([] if seen else [nothing(recording)]))]


def brief(recording: Recording, answer: WhyAnswer, width: int) -> list[str]:
    """The answer about one or two names in at most `MAX_LINES` lines."""
    first, rest = answer.same[0], answer.same[1:]
    others = [exception(recording, item, width) for item in rest[:MAX_OTHERS]]
    others += [f"  … {counted(len(rest) - MAX_OTHERS, 'more group')}"] if len(rest) > MAX_OTHERS else []
    others = ["Other places:", *others] if others else []
    lines = about_place(recording, answer, first, width)
    room = MAX_LINES - len(others) - 1
    blocks = pairs(recording, answer, first, width)
    shown = 0
    while shown < len(blocks) and len(lines) + len(blocks[shown]) <= room:
        lines += blocks[shown]
        shown += 1
    if not answer.decisions:
        lines += grid.wrapped(traced_regions.more(recording), width)
    left = counted(len(blocks) - shown, "more pair") if shown < len(blocks) else ""
    if len(lines) > room:
        lines, left = lines[:room], "the rest"
    return [*lines, *others, *([f"… {left}: --all"] if left else [])]


def story(recording: Recording, answer: WhyAnswer, item: Same, width: int) -> list[str]:
    lines = about_place(recording, answer, item, width, everything=True)
    asked, ends = frozenset(item.nodes), labels.end_names(recording)
    for one in item.decisions:
        lines += ["", *block(recording, one, " → ".join(ends(one)), width, asked=asked)]
    return lines if lines[0] else lines[1:]


def about_place(
    recording: Recording, answer: WhyAnswer, item: Same, width: int, *, everything: bool = False
) -> list[str]:
    """Return what became of the nodes of a name, and what their kernels take; of two names a note where there is one."""
    if item.note or len(answer.names) != 1:
        return grid.wrapped(item.note.splitlines(), width)
    index, name = index_of(recording), answer.names[0]
    times = f" ×{item.count}" if item.count > 1 else ""
    call = index.calls.get(item.call or "")
    of_place = (
        group
        for group in report_of(recording).groups
        if (call is not None and call.id in group.calls) or (call is None and set(item.nodes) & set(group.nodes))
    )
    group = next(of_place, None)
    if call is not None:
        head = f"{name}{times}: {home(recording, item, call)}"
    elif group is not None:
        kernels = listed(list(dict.fromkeys(kernel_name(kernel, 40) for kernel in group.kernels)), 2)
        head = f"{name}{times}: launches {kernels}"
    else:
        head = "\n".join(what_became(recording, item.nodes)[: None if everything else 3])
    lines = [line for text in head.splitlines() for line in grid.folded(text, width, rest="  ")]
    if item.module and (call is not None or group is not None):  # a path is cut at its front, never folded
        lines.append(f"  in {item.module if everything else shorten_front(item.module, width - 5)}")
    costs, step = list[str](), report_of(recording).step
    if group is not None and group.time_us is not None:
        bound = "at least " if group.is_lower_bound else ""
        costs.append(f"{bound}{microseconds(group.time_us)}{step.each} ({percent(group.share)} of the {step.clock})")
    if group is None and call is None and (tables := recording.summary) and step.device_us:
        targets = {index.nodes[graph][node].target for graph, node in item.nodes}
        for row in tables.ops:
            if row.name in targets and row.device_total_us:  # a composite: the time is of the ops that it calls
                us, average = row.device_total_us / len(tables.steps), " on average" if step.each else ""
                share = f"{microseconds(us)}{step.each}{average} ({percent(us / step.device_us)} of the {step.clock})"
                costs.append(f"all {row.name}: {share}")
    if call is not None and not everything:
        costs += cost_of_call(call)
    lines += fold("; ".join(costs), width) if costs else []
    if call is not None:
        story = call_story(recording, call, width=width).splitlines() if everything else None
        lines += purpose(recording, call, width) if story is None else story
        compared = report_of(recording).numerics
        for row in compared.rows if compared is not None else ():
            if row.call_id == call.id:
                lines += fold(f"numerics, {row.state}: {report.difference(row)}", width)
        for text in put_there(recording, item.nodes)[: None if everything else 2]:
            lines += fold(text, width)
    nodes = [node for graph, name in item.nodes if (node := index.nodes.get(graph, {}).get(name)) is not None]
    return [*lines, *(report.cut(f"  {line}", width) for line in user_lines(nodes, 1))]


def cost_of_call(call: KernelCall) -> Iterator[str]:
    """Yield the share of the roof and the bytes, as far as they are known."""
    if call.roof is not None and call.roof.share is not None:
        yield f"{of_roof(call.roof.share)}{f', {call.roof.bound}-bound' if call.roof.bound else ''}"
    if call.bytes_read is not None and call.bytes_written is not None:
        yield f"reads {num_bytes(call.bytes_read)}, writes {num_bytes(call.bytes_written)}"


def purpose(recording: Recording, call: KernelCall, width: int) -> list[str]:
    if call.purpose == "computes" or (call.purpose is None and "purposes" not in recording.history):
        return []
    return fold(english.purpose_text(call.purpose, call.purpose_arguments), width)


def call_story(recording: Recording, call: KernelCall, *, width: int = 80) -> str:
    """Return what ran in a call, in order, what was folded into it, what only lent it a name, and what it costs."""
    nodes = index_of(recording).nodes.get(call.graph, {})
    lines: list[str] = []
    for name in call.nodes:
        if (node := nodes.get(name)) is not None:
            elsewhere = [other for other in node.calls if other != call.id]
            again = f"  (also computed in {', '.join(elsewhere)})" if elsewhere else ""
            title = labels.node_title(node, index_of(recording).graphs[call.graph])
            lines.append(shorten(f"  {title}{again}", width))
    said = [f"folded into its arguments: {', '.join(call.folded)}"] if call.folded else []
    if call.biases:
        said.append(f"adds the bias of {listed(call.biases)}, which Inductor leaves out of the library's call")
    for other in index_of(recording).calls_of_graph.get(call.graph, ()) if call.is_extern else ():
        if mine := [name for name in call.nodes if name in other.biases]:
            said.append(f"the bias of {listed(mine)} is added in {other.handle}")
    if named := op_names.only_named(call, nodes):
        said.append(f"its name also says {', '.join(named)}, which is not known to run here")
    if call.bytes_read is not None or call.bytes_written is not None:
        text = f"reads {num_bytes(call.bytes_read)}, writes {num_bytes(call.bytes_written)}"
        text += f", {flop(call.flops)}" if call.flops else ""
        if call.flops and call.roof is not None and call.roof.flops and call.roof.flops < call.flops:
            text += f", under its causal mask {flop(call.roof.flops)}"
        said.append(text)
    if call.roof is not None:
        said.append(roof(call))
    if call.timing is None and (planned := labels.planned_basis(call)):
        said.append(planned)
    return "\n".join([*lines, *purpose(recording, call, width), *(line for text in said for line in fold(text, width))])


def fold(text: str, width: int, most: int | None = None) -> list[str]:
    return grid.folded(text, width, "  ", "    ", most)


def loops_of(recording: Recording, call: KernelCall) -> list[set[str]]:
    """The nodes of each of a call's loop nests, as far as they were recorded: a C++ function may have several."""
    members = [
        node
        for schedule in recording.schedules
        if schedule.graph == call.graph
        for node in schedule.nodes
        if node.name in call.scheduler_nodes and node.ran is not None
    ]
    return [{name for node in loop for name in node.ran or ()} for loop in grouped(members, lambda n: n.group).values()]


def home(recording: Recording, item: Same, call: KernelCall) -> str:
    """Return which kernel runs some nodes, and what else runs in it: "fused with mul in triton_…:3"."""
    nodes = index_of(recording).nodes.get(call.graph, {})
    asked = {name for _, name in item.nodes}
    ops = labels.ops_of(call, nodes)
    if asked >= set(call.nodes):
        return f"{call.handle} runs {labels.ops_words(ops)}" if len(ops) > 1 else f"own kernel, {call.handle}"
    mine = set(op_names.ops_of(nodes[name] for name in asked if name in nodes))
    others = [op for op in ops if op not in mine]
    loops = [loop for loop in loops_of(recording, call) if asked & loop]
    if loops:
        together = op_names.ops_of(nodes[name] for name in set[str]().union(*loops) if name in nodes)
        others = [op for op in others if op in together]
    return f"fused with {listed(others, 4)} in {call.handle}" if others else f"runs in {call.handle}"


def pairs(recording: Recording, answer: WhyAnswer, item: Same, width: int) -> list[list[str]]:
    """The decisions of a group as blocks of lines: those not fused first, most saved first; equal ones once."""
    ends, about_one = labels.end_names(recording), len(answer.names) == 1
    same = grouped(item.decisions, lambda one: (ends(one), one.verdict, one.reason))
    kinds = grouped(answer.decisions, lambda one: (ends(one), one.verdict, one.reason_code, one.hint_code))
    ordered = sorted(same.items(), key=lambda entry: (entry[0][1] == "fused", -(entry[1][0].expected_us or 0.0)))
    blocks: list[list[str]] = []
    for (pair, *_), alike in ordered:
        if about_one and pair[0] == pair[1] and alike[0].a_call == alike[0].b_call:
            continue  # parts of the op itself
        number = len(alike) * (1 if about_one else item.count)
        title = f"{' → '.join(pair)}{f' ×{number}' if number > 1 else ''}"
        first = alike[0]
        every = alike if about_one else kinds[pair, first.verdict, first.reason_code, first.hint_code]
        if len({one.notes for one in every}) > 1:  # equal places can differ in what is added to the reason
            first = replace(first, notes=())
        lines = block(recording, first, title, width, every=every, most=2 if about_one else 5)
        where = [] if about_one else places(recording, alike[0], width, frozenset(item.nodes), 1)
        blocks.append(lines + where)
    return blocks


def exception(recording: Recording, item: Same, width: int) -> str:
    """One line of a group that is not the largest: how many places, where, what was decided."""
    if item.call is not None:
        said = home(recording, item, index_of(recording).calls[item.call])
    else:
        ends = labels.end_names(recording)
        found = [f"{' → '.join(ends(one))}: {verdict(one)}" for one in item.decisions]
        said = [*found, *filter(None, [item.note]), *what_became(recording, item.nodes)][0]
    module = shorten_front(item.module or "", max(width // 2, width - len(said) - 12))
    return report.cut(f"{f'  ×{item.count} {module}'.rstrip()}: {said}", width)


def nothing(recording: Recording) -> str:
    if not recording.decisions and not recording.calls:
        if recording.launches and not any(any(column(graph.nodes, "outputs")) for graph in recording.graphs):
            return "missed fusions unknown: a trace has no data flow. Record with fxscope run."
        if recording.compiles:
            return "no fusion decisions: the recording has no kernel call of a compiled graph"
        return "no fusion decisions: no compiled graph, and no eager op reads another's result"
    if left := buffers_unknown(recording):
        return f"missed fusions unknown: {left}."
    return "no missed fusions: all kernels that share memory are fused, or only one kernel runs"


def block(
    recording: Recording,
    decision: Decision,
    title: str,
    width: int = 80,
    *,
    asked: frozenset[Key] = frozenset(),
    every: Sequence[Decision] = (),
    most: int | None = None,
) -> list[str]:
    """One decision: verdict, reason, cost, what to try, and both ends in the source, where of an end with nodes that were
    asked for only those count. With `most`, so many lines of the reason, and no ends. The cost is that of `every` equal one.
    """
    lines = grid.folded(f"{theme.VERDICTS[decision.verdict]} {title}: {verdict(decision)}", width, "", "  ", most)
    if not most and decision.raw_reason and decision.reason_code not in ("torch_says", "graph_break"):
        lines += fold(f"Inductor: {first_line(decision.raw_reason)!r}", width)
    for text in (cost(decision, recording, every), decision.hint and f"Try: {decision.hint}"):
        lines += fold(text, width, most and 3) if text else []
    return lines if most else lines + places(recording, decision, width, asked)


def verdict(decision: Decision) -> str:
    """ "not fused: BLAS GEMM, opaque to Inductor"."""
    said = "fused" if decision.verdict == "fused" else "unknown" if decision.verdict is None else "not fused"
    return f"{said}{f' ({decision.how})' if decision.how else ''}: {decision.reason}"


def cost(decision: Decision, recording: Recording, every: Sequence[Decision] = ()) -> str | None:
    """Return what staying apart costs, in words: each time, and a step where that runs it, or `every` equal one."""
    if decision.verdict == "fused" or decision.saved_bytes is None:
        return None
    sizes = sorted(one.saved_bytes for one in every or (decision,) if one.saved_bytes is not None)
    traffic = " to ".join(dict.fromkeys(map(num_bytes, (sizes[0], sizes[-1]))))
    text = f"Cost: {'at least ' if decision.saved_bytes_least else ''}{traffic} of memory traffic"
    if decision.saved_launches:
        text += f" and {counted(decision.saved_launches, 'launch')}"
    expected = decision.expected_us or 0.0
    if about(expected):
        # The kernels that the fused one would replace, of which no pair was measured.
        whose = stood_in_for(decision, recording)
        note = f"; not validated for {listed(whose)}" if whose else ""
        times = [one.expected_us for one in every or (decision,) if one.expected_us is not None]
        text += f", ~{span(min(times), max(times))} (estimate{note})"
    runs = pair_runs(recording, decision)
    if len(every) > 1:
        often = [(0, one, pair_runs(recording, one)) for one in every]
        total, each = saved(recording, often, "saved_bytes"), sum(n * (one.saved_bytes or 0) for _, one, n in often)
        most = "" if total in (None, each) else ", at most one per kernel"
        text += f"; ×{len(every)} per step{most}: {num_bytes(total)}"
        ids, known = {*map(id, every)}, recording.decisions
        rows = (row for row in report_of(recording).missed if ids == {id(known[at]) for at in row.decisions})
        time_us = next((row.time_us for row in rows), None)
        text += f", ~{microseconds(time_us)}" if about(time_us) else ""
    elif runs != 1:
        text += f"; {labels.times(runs)} per step" + (f": ~{microseconds(expected * runs)}" if about(expected) else "")
    return text


def places(
    recording: Recording, decision: Decision, width: int, asked: frozenset[Key] = frozenset(), most: int | None = None
) -> list[str]:
    """The kernel call and the user's lines of each end, each on `most` lines."""
    nodes, calls = index_of(recording).nodes, index_of(recording).calls
    lines: list[str] = []
    sides: tuple[DecisionEnd, ...] = decision.ends
    if decision.a_call == decision.b_call and decision.a_call is not None:
        sides = (DecisionEnd((*decision.a, *decision.b), decision.graph, decision.a_call),)
    for names, graph, call_id in sides:
        call = calls.get(call_id or "")
        names = tuple(name for name in names if (graph, name) in asked) or names or (call.biases if call else ())
        sources = user_lines([nodes[graph][name] for name in names if name in nodes.get(graph, {})])
        head = call.handle if call is not None else ", ".join(names[:3])
        lines.append("  in " + shorten(head, width - 5))
        for source in sources:
            lines += [report.cut(f"     {source}", width)] if most else grid.folded(source, width, "     ", "       ")
    return lines


def user_lines(nodes: list[Node], most: int = 2) -> list[str]:
    """The user's lines that most of these nodes come from, views left out unless there is nothing else."""
    known = [(node.nature, node.source) for node in nodes if node.source is not None and node.source.file]
    sources = [source for nature, source in known if nature != "view"] or [source for _, source in known]
    counts = Counter((source.file, source.line) for source in sources)
    kept = {place for place, _ in counts.most_common(most)}
    shown = (source for source in sources if (source.file, source.line) in kept)
    names = (((item.file or "").rsplit("/", 1)[-1], item.line, (item.code or "").strip()) for item in shown)
    return list(dict.fromkeys(f"{name}:{line}  {code}".rstrip() for name, line, code in names))


def roof(call: KernelCall) -> str:
    """Return how near to the device's limits a call runs, with the numbers."""
    item, timing = call.roof, call.timing
    assert item is not None
    floor = f"{microseconds(item.floor_us)} at the limit" if faster_than_limit(item.share) else ""
    parts = [
        f"{microseconds(timing.median_us)} median of {timing.count}" if timing else None,
        rate(item.bytes_per_second) if item.bytes_per_second is not None else None,
        rate(item.flops_per_second, "FLOP/s") if item.flops_per_second is not None else None,
        f"{item.bound}-bound" if item.bound else None,
        of_roof(item.share) if item.share is not None else None,
        (floor or f"floor {microseconds(item.floor_us)}") if item.floor_us is not None else None,
    ]
    return ", ".join(part for part in parts if part) + (f" ({item.basis})" if item.basis else "")
