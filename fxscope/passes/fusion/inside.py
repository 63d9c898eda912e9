"""Decide how each op got into its kernel call: inlined at lowering, fused by the scheduler, or folded into an argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.index import grouped
from fxscope.model import Decision, Evidence, FusionAttempt, How, KernelCall, Node, Schedule, SchedulerNode
from fxscope.passes.fusion.reasons import Reason, decision
from fxscope.passes.slices import TRANSPARENT, is_opaque

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fxscope.passes.slices import OpSlices


def decisions(
    calls: Sequence[KernelCall], schedule: Schedule | None, slices: OpSlices | None, nodes: Mapping[str, Node]
) -> list[Decision]:
    """Return how the ops of each call came together."""
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
    """The call's scheduler nodes that compute something."""
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
    """The decision for ops that run in one call."""
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
