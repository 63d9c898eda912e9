"""Decide about each pair that could have been one kernel. Facts come from the schedules, the calls and the graphs;
what none of them tells is a decision without a verdict, with the reason why it cannot be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.index import index_of
from fxscope.model import Recording, replace
from fxscope.passes.fusion import across, eager, inside, pairs
from fxscope.passes.slices import OpSlices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fxscope.model import Decision, KernelCall


def fusion(recording: Recording) -> Recording:
    """Recording → Recording with one `Decision` per way into a kernel call and per neighbouring pair of calls."""
    schedule_of = {schedule.graph: schedule for schedule in recording.schedules}
    nodes_of = index_of(recording).nodes
    found: list[Decision] = []
    for graph, calls in index_of(recording).calls_of_graph.items():
        schedule = schedule_of.get(graph)
        known = index_of(recording).graphs.get(graph)
        slices = OpSlices(schedule, known, calls) if schedule is not None and known is not None else None
        found += inside.decisions(calls, schedule, slices, nodes_of.get(graph, {}))
        for run in runs(calls):
            found += pairs.decisions(run, schedule, slices, known)
    found += across.decisions(recording)
    found += eager.decisions(recording)
    return replace(recording, decisions=tuple(sorted(found, key=rank)))


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
