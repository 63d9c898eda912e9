"""Decide about each pair that could have been one kernel. Facts come from the schedules, the calls and the graphs;
what none of them tells is a decision without a verdict, with the reason why it cannot be told.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fxscope.index import index_of
from fxscope.model import Recording, replace
from fxscope.passes.fusion import eager, inside, pairs
from fxscope.passes.fusion.reasons import Reason, decision
from fxscope.passes.slices import OpSlices
from fxscope.text import first_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fxscope.model import Decision, KernelCall


def fusion(recording: Recording) -> Recording:
    """Recording → Recording with one `Decision` per way into a kernel call and per neighbouring pair of calls."""
    schedule_of = {schedule.graph: schedule for schedule in recording.schedules}
    found: list[Decision] = []
    for graph, calls in index_of(recording).calls_of_graph.items():
        schedule = schedule_of.get(graph)
        known = index_of(recording).graphs.get(graph)
        slices = OpSlices(schedule, known, calls) if schedule is not None and known is not None else None
        found += inside.decisions(calls, schedule, slices, index_of(recording).nodes.get(graph, {}))
        for run in runs(calls):
            found += pairs.decisions(run, schedule, slices, known)
    found += across_breaks(recording)
    found += eager.decisions(recording)
    return replace(recording, decisions=tuple(sorted(found, key=rank)))


def across_breaks(recording: Recording) -> list[Decision]:
    """Pair the last call of a graph that ended at a break with the first of the graph that goes on after it.

    No scheduler saw the two together, and their graphs name the tensors between them differently: what passes is not known.
    """
    calls = index_of(recording).calls_of_graph
    first: dict[str, str] = {}  # compile → its forward or inference graph
    for graph in recording.graphs:
        if graph.stage == "post_grad" and graph.direction != "backward":
            first.setdefault(graph.compile_id or "", graph.id)
    found: list[Decision] = []
    for here, after in pairwise(item for item in recording.compiles if item.compile_id in first):
        before, behind = (calls.get(first[item.compile_id]) for item in (here, after))
        if here.break_reason is None or not before or not behind:
            continue
        arguments: dict[str, Any] = {"why": first_line(here.break_reason) or "no reason recorded"}
        if (where := here.break_source) is not None and where.file:
            arguments["file"] = f"{where.file.rsplit('/', 1)[-1]}:{where.line}"
        if where is not None and where.code:
            arguments["break_line"] = where.code
        a, b = before[-1], behind[0]
        found.append(
            decision(
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
        )
    return found


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
    """Order decisions: unfused first, the most expensive first; equals keep the order of the program.

    Args:
        runs: how often a step runs the two.
    """
    return decision.verdict == "fused", -(decision.saved_bytes or 0) * runs
