"""Decide about each pair that could have been one kernel. Facts come from the schedules, the calls and the graphs;
what none of them tells is a decision without a verdict, with the reason why it cannot be told.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from fxscope.english import explained
from fxscope.index import grouped, index_of
from fxscope.model import (
    Decision,
    Evidence,
    FusionAttempt,
    How,
    KernelCall,
    Node,
    Recording,
    Schedule,
    SchedulerNode,
    replace,
)
from fxscope.passes.fusion import eager, pairs
from fxscope.passes.fusion.reasons import Reason, decision
from fxscope.passes.slices import TRANSPARENT, OpSlices, is_opaque


def fusion(recording: Recording) -> Recording:
    """Recording → Recording with one `Decision` per way into a kernel call and per neighbouring pair of calls."""
    schedule_of = {schedule.graph: schedule for schedule in recording.schedules}
    where = recording.environment  # of a plan, the device is the CPU that planned
    on_amd = "AMD" in (where.target or where.device or "") or any("(type='hip'" in s.text for s in recording.sources)
    library = "hipBLAS" if on_amd else "cuBLAS"
    found: list[Decision] = []
    for graph, calls in index_of(recording).calls_of_graph.items():
        schedule = schedule_of.get(graph)
        known = index_of(recording).graphs.get(graph)
        slices = OpSlices(schedule, known) if schedule is not None and known is not None else None
        found += ways_in(calls, schedule, slices, index_of(recording).nodes.get(graph, {}))
        for run in runs(calls):
            found += pairs.decisions(run, schedule, known, library)
    found += across_breaks(recording)
    found += eager.decisions(recording)
    return replace(recording, decisions=tuple(sorted(found, key=rank)))


def across_breaks(recording: Recording) -> Iterator[Decision]:
    """Pair the last call of a graph that ended at a break with the first of the graph that goes on after it.

    No scheduler saw the two together, and their graphs name the tensors between them differently: what passes is not known.
    """
    calls = index_of(recording).calls_of_graph
    first: dict[str, str] = {}  # compile → its forward or inference graph
    for graph in recording.graphs:
        if graph.stage == "post_grad" and graph.direction != "backward":
            first.setdefault(graph.compile_id or "", graph.id)
    for here, after in pairwise(item for item in recording.compiles if item.compile_id in first):
        before, behind = (calls.get(first[item.compile_id]) for item in (here, after))
        if here.break_reason is None or not before or not behind:
            continue
        arguments: dict[str, Any] = {"why": explained(here.break_reason)}
        if (where := here.break_source) is not None and where.file:
            arguments["file"] = f"{where.file.rsplit('/', 1)[-1]}:{where.line}"
        if where is not None and where.code:
            arguments["break_line"] = where.code
        a, b = before[-1], behind[0]
        yield decision(
            "never_considered",
            Reason("graph_break", arguments, "remove_break"),
            graph=a.graph,
            other_graph=b.graph,
            a=a.nodes,
            b=b.nodes,
            a_call=a.id,
            b_call=b.id,
            raw_reason=here.break_reason,
            saved_launches=1,
            evidence="order",
        )


def runs(calls: Iterable[KernelCall]) -> list[list[KernelCall]]:
    """The calls of a graph, each of its runs by itself: a subgraph that is called again has the same lines, not the same
    buffers.
    """
    found: list[list[KernelCall]] = [[]]
    lines: set[tuple[int, int]] = set()
    for call in calls:
        if call.code.call in lines:
            found.append([])
            lines.clear()
        if call.subgraph and call.code.call is not None:
            lines.add(call.code.call)
        found[-1].append(call)
    return found


def rank(decision: Decision, runs: float = 1) -> tuple[bool, float]:
    """Order decisions, of pairs that run `runs` times a step: unfused and most expensive first; equals keep their order."""
    return decision.verdict == "fused", -(decision.saved_bytes or 0) * runs


# ---------------------------------------------------------------------- inside of a call


def ways_in(
    calls: Sequence[KernelCall], schedule: Schedule | None, slices: OpSlices | None, nodes: Mapping[str, Node]
) -> list[Decision]:
    result: list[Decision] = []
    for call in calls:
        for name in call.folded:  # became strides or another argument
            rest = tuple(node for node in call.nodes if node != name)
            result.append(one_kernel(call, (name,), rest, "folded", Reason("folded", {"kernel": call.handle})))
        members = members_of(call, slices)
        if schedule is None or slices is None or not any(member.origins for member in members):
            result += without_origins(call, members, schedule)
            continue
        for member in members:
            result += inlined(call, member, slices, nodes)
        if len(members) > 1:
            result += joined(call, members, schedule, slices)
    return result


def members_of(call: KernelCall, slices: OpSlices | None) -> list[SchedulerNode]:
    if slices is None:
        return []
    members = [slices.by_name[name] for name in call.scheduler_nodes if name in slices.by_name]
    return [node for node in members if node.type not in TRANSPARENT]


def one_kernel(
    call: KernelCall,
    a: tuple[str, ...],
    b: tuple[str, ...],
    how: How | None,
    reason: Reason,
    evidence: Evidence | None = None,
) -> Decision:
    known = evidence or call.nodes_evidence
    return decision(
        "fused", reason, graph=call.graph, a=a, b=b, a_call=call.id, b_call=call.id, how=how, evidence=known
    )


def without_origins(call: KernelCall, members: Sequence[SchedulerNode], schedule: Schedule | None) -> list[Decision]:
    """Say of ops that share a kernel what is known without a fusion log: those of one scheduler node were inlined, those of
    several were joined. Without a schedule it is not known how they came together.
    """
    if len(call.nodes) < 2 or call.is_extern or (len(members) == 1 and is_opaque(members[0])):
        return []
    names = {member.name for member in members}
    joins = [item for item in schedule.attempts if item.fused and {*item.a, *item.b} <= names] if schedule else []
    how: How | None = None
    reason = Reason("in_one_kernel", {"kernel": call.handle}, notes=("unknown_ways",))
    if len(members) == 1:
        how, reason = "inlined", Reason("inlined", {"node": members[0].name, "ops": len(call.nodes)})
    elif joins:
        how, ways = joins[-1].how, tuple(dict.fromkeys(item.how or "joined" for item in joins))
        reason = Reason("joined", {"ways": ways, "count": len(members)}, notes=("unknown_ways",))
    return [one_kernel(call, call.nodes[:-1], call.nodes[-1:], how, reason)]


def inlined(call: KernelCall, member: SchedulerNode, slices: OpSlices, nodes: Mapping[str, Node]) -> list[Decision]:
    """One scheduler node of several ops: Inductor inlined them when it lowered the graph."""
    if is_opaque(member):
        return []
    known = set(call.nodes)
    ran = [name for name in slices.ran([member]) if name in known]
    if len(ran) < 2:
        return []
    last = member.origin_node if member.origin_node in ran else ran[-1]
    others = tuple(name for name in ran if name != last)
    reason = Reason("inlined", {"node": member.name, "ops": len(ran)})
    again = sorted({other for name in ran if name in nodes for other in nodes[name].calls if other != call.id})
    if again:
        reason = reason.noted("recomputed", again=again)
    evidence: Evidence = "origin_node" if last == member.origin_node else "origins"
    return [one_kernel(call, others, (last,), "inlined", reason, evidence)]


def joined(call: KernelCall, members: Sequence[SchedulerNode], schedule: Schedule, slices: OpSlices) -> list[Decision]:
    """Scheduler nodes that became one: each join in its order; lists and combos have no order."""
    inside = {node.name: node for node in members}
    result: list[Decision] = []
    seen: set[str] = set()
    here = set(call.scheduler_nodes)
    for attempt in schedule.attempts:
        if attempt.fused and attempt.a[0] in here and {*attempt.a, *attempt.b} <= here:
            result += join(call, attempt, slices)
            seen |= {*attempt.a, *attempt.b}
    by_group = grouped(members, lambda node: node.group)
    for number, group in by_group.items():
        apart = [node for node in group if node.name not in seen]
        if len(group) > 1 and apart:
            how: How | None = None
            if schedule.groups[number].type == "foreach":
                how = "combo" if schedule.limits.get("combo_kernels") else "foreach"
            rest = tuple(name for name in inside if name not in {node.name for node in apart})
            first = rest or (apart[0].name,)
            second = tuple(node.name for node in apart if node.name not in first)
            result += join(call, FusionAttempt(a=first, b=second, fused=True, how=how), slices)
    return result


def join(call: KernelCall, attempt: FusionAttempt, slices: OpSlices) -> list[Decision]:
    """One join, in terms of the user's ops; a copy into another layout runs none of them."""
    by_name, known = slices.by_name, set(call.nodes)
    first, second = (
        tuple(name for name in slices.ran([by_name[item] for item in side if item in by_name]) if name in known)
        for side in (attempt.a, attempt.b)
    )
    if not first or not second:
        return []
    reason = Reason("joined_pair", {"how": attempt.how, "a": "+".join(attempt.a), "b": "+".join(attempt.b)})
    return [one_kernel(call, first, second, attempt.how, reason, "origins")]
