"""Fusion decisions as text: what became of a pair, why, what would change it, what staying apart costs."""

from collections import Counter
from functools import partial

from fxscope import english
from fxscope.index import Key, index_of
from fxscope.model import Decision, DecisionEnd, KernelCall, Node, Recording
from fxscope.op_names import only_named
from fxscope.passes.predicted import pair_runs
from fxscope.passes.unfused import stood_in_for
from fxscope.render import grid, labels, report, theme
from fxscope.text import (
    about,
    at_least,
    counted,
    faster_than_limit,
    first_line,
    flop,
    listed,
    microseconds,
    num_bytes,
    of_roof,
    rate,
    shorten,
)


def block(
    recording: Recording,
    decision: Decision,
    title: str,
    width: int = 80,
    *,
    asked: frozenset[Key] = frozenset(),
    most: int | None = None,
) -> list[str]:
    """One decision: verdict, reason, cost, what to try, and both ends in the source, where of an end with nodes that were
    asked for only those count. With `most`, so many lines of the reason, and no ends.
    """
    said = "fused" if decision.verdict == "fused" else "unknown" if decision.verdict is None else "not fused"
    how = f" ({decision.how})" if decision.how else ""
    fold = partial(grid.folded, width=width, first="  ", rest="    ", most=most and 2)
    text = f"{theme.VERDICTS[decision.verdict]} {title}: {said}{how}: {decision.reason}"
    lines = grid.folded(text, width, "", "  ", most)
    if not most and decision.raw_reason and decision.reason_code not in ("torch_says", "graph_break"):
        lines += fold(f"Inductor: {first_line(decision.raw_reason)!r}")
    if price := cost(decision, recording):
        lines += fold(price)
    if decision.hint:
        lines += fold(f"Try: {decision.hint.removeprefix('try ')}")
    return lines if most else lines + places(recording, decision, width, asked)


def cost(decision: Decision, recording: Recording) -> str | None:
    """Return what staying apart costs, in words: each time, and a step where that runs it several times."""
    if decision.verdict == "fused" or decision.saved_bytes is None:
        return None
    least_bytes = "at least " if decision.saved_bytes_least else ""
    text = f"Cost: {least_bytes}{num_bytes(decision.saved_bytes)} of memory traffic"
    if decision.saved_launches:
        text += f" and {counted(decision.saved_launches, 'launch')}"
    least = at_least(decision.saved_us)
    if decision.expected_us is not None and about(decision.expected_us):
        text += f", ~{microseconds(decision.expected_us)} ("
        # The kernels that the fused one would replace, of which no pair was measured.
        whose = () if decision.saved_us is not None else stood_in_for(decision, recording)
        text += (
            f"estimate, {least})" if least else f"estimate{f'; not validated for {listed(whose)}' if whose else ''})"
        )
    elif least:
        text += f", {least}"
    runs = pair_runs(recording, decision)
    if runs != 1:
        text += f"; {labels.times(runs)} per step"
        if decision.expected_us is not None and about(decision.expected_us):
            text += f": ~{microseconds(decision.expected_us * runs)}"
    return text


def places(
    recording: Recording, decision: Decision, width: int, asked: frozenset[Key] = frozenset(), most: int | None = None
) -> list[str]:
    """The kernel call and the user's lines of each end, each on `most` lines."""
    nodes = index_of(recording).nodes
    calls = index_of(recording).calls
    lines: list[str] = []
    sides: tuple[DecisionEnd, ...] = decision.ends
    if decision.a_call == decision.b_call and decision.a_call is not None:
        sides = (DecisionEnd((*decision.a, *decision.b), decision.graph, decision.a_call),)
    for names, graph, call_id in sides:
        call = calls.get(call_id or "")
        handle = call.handle if call is not None else None
        names = tuple(name for name in names if (graph, name) in asked) or names
        names = names or (call.biases if call is not None else ())
        sources = user_lines([nodes[graph][name] for name in names if name in nodes.get(graph, {})])
        head = handle or ", ".join(names[:3]) or "?"
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
    found: dict[str, None] = {}
    for source in sources:
        if (source.file, source.line) in kept:
            name = (source.file or "").rsplit("/", 1)[-1]
            found[f"{name}:{source.line}" + (f"  {source.code.strip()}" if source.code else "")] = None
    return list(found)


def call_story(recording: Recording, call: KernelCall, *, width: int = 80) -> str:
    """Return what ran in a call, in order, what was folded into it, and what only lent it a name."""
    nodes = index_of(recording).nodes.get(call.graph, {})
    lines = [shorten(call.handle, width)]
    for name in call.nodes:
        node = nodes.get(name)
        if node is None:
            continue
        elsewhere = [other for other in node.calls if other != call.id]
        again = f"  (also computed in {', '.join(elsewhere)})" if elsewhere else ""
        lines.append(shorten(f"  {labels.node_title(node, index_of(recording).graphs[call.graph])}{again}", width))
    if call.purpose != "computes":
        lines += wrap(english.purpose_text(call.purpose, call.purpose_arguments), width)
    if call.folded:
        lines += wrap(f"folded into its arguments: {', '.join(call.folded)}", width)
    if call.biases:
        lines += wrap(f"adds the bias of {listed(call.biases)}, which Inductor leaves out of the library's call", width)
    for other in index_of(recording).calls_of_graph.get(call.graph, ()) if call.is_extern else ():
        if mine := [name for name in call.nodes if name in other.biases]:
            lines += wrap(f"the bias of {listed(mine)} is added in {other.handle}", width)
    if named := only_named(call, nodes):
        lines += wrap(f"its name also says {', '.join(named)}, which is not known to run here", width)
    if call.bytes_read is not None or call.bytes_written is not None:
        text = f"reads {num_bytes(call.bytes_read)}, writes {num_bytes(call.bytes_written)}"
        text += f", {flop(call.flops)}" if call.flops else ""
        if call.flops and call.roof is not None and call.roof.flops and call.roof.flops < call.flops:
            text += f", under its causal mask {flop(call.roof.flops)}"
        lines += wrap(text, width)
    if call.roof is not None:
        lines += wrap(roof(call), width)
    if call.timing is None and (planned := labels.planned_basis(call)):
        lines += wrap(planned, width)
    return "\n".join(lines)


def roof(call: KernelCall) -> str:
    """Return how near to the device's limits a call runs, with the numbers."""
    item, timing = call.roof, call.timing
    assert item is not None
    floor = f"{microseconds(item.floor_us)} at the limit" if faster_than_limit(item.share) else ""
    parts = [
        f"{microseconds(timing.typical_us)} {labels.middle([timing])} of {timing.count}" if timing else None,
        rate(item.bytes_per_second) if item.bytes_per_second is not None else None,
        rate(item.flops_per_second, "FLOP/s") if item.flops_per_second is not None else None,
        f"{item.bound}-bound" if item.bound else None,
        of_roof(item.share) if item.share is not None else None,
        (floor or f"floor {microseconds(item.floor_us)}") if item.floor_us is not None else None,
    ]
    return ", ".join(part for part in parts if part) + (f" ({item.basis})" if item.basis else "")


def wrap(text: str, width: int) -> list[str]:
    return grid.folded(text, max(width, 40), "    ", "      ")
