"""Attributes every device event: to its op (the trace knew), to the kernel call, to the graph's nodes.

Inside one `## Call CompiledFxGraph … ##` region the ops that launch device work come in the order of the wrapper's calls.
A kernel's name is never enough: the same kernel may run in every layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.index import index_of
from fxscope.kernel_names import decode
from fxscope.model import Coverage, Launch, LaunchEvidence, Recording, Timing, replace
from fxscope.passes.regions import Region, match_replay, match_sequence, pick_graph, regions_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fxscope.model import Graph, KernelCall


def attribute(recording: Recording) -> Recording:
    """Recording → Recording whose launches know call and nodes with evidence; calls and nodes their times; coverage."""
    if not recording.launches:
        return replace(recording, coverage=recording.coverage)
    launches = {
        launch.id: replace(launch, call=None, nodes=(), graph=None, invocation=None) for launch in recording.launches
    }
    launches |= {launch.id: launch for launch in compiled_launches(recording, launches)}
    launches |= {launch.id: launch for launch in eager_launches(recording, launches)}
    decoded = {name: decode(name) for name in {launch.name for launch in recording.launches}}
    ordered = tuple(replace(launches[launch.id], decoded=decoded[launch.name]) for launch in recording.launches)
    recording = replace(recording, launches=ordered, coverage=coverage_of(recording, ordered))
    return with_timing(recording)


def compiled_launches(recording: Recording, launches: dict[int, Launch]) -> list[Launch]:
    """Return the launches inside compiled regions with their call and its nodes."""
    calls: dict[str, list[KernelCall]] = {}
    for call in recording.calls:
        calls.setdefault(call.graph, []).append(call)
    if not calls:
        return []
    graphs = {graph.id: graph for graph in recording.graphs}
    by_id = index_of(recording).calls
    runs: dict[tuple[int, str], int] = {}
    found: list[Launch] = []
    for region in regions_of(recording, launches):
        graph_id = pick_graph(region, calls, graphs)
        if graph_id is None:
            continue
        invocation = runs.get((region.step, graph_id), 0)
        runs[region.step, graph_id] = invocation + 1
        for launch_id, call_id in assign(region, calls[graph_id]).items():
            call = by_id[call_id]
            launch = launches[launch_id]
            evidence = LaunchEvidence(
                op=launch.evidence.op, call="order", nodes=call.nodes_evidence if call.nodes else None
            )
            found.append(
                replace(
                    launch,
                    call=call_id,
                    nodes=call.nodes,
                    graph=graph_id if call.nodes else None,
                    invocation=invocation,
                    evidence=evidence,
                )
            )
    return found


def assign(region: Region, calls: list[KernelCall]) -> dict[int, str]:
    """Return launch id → call id for one region: ops by their order, a graph replay's kernels by order and name."""
    result: dict[int, str] = {}
    if region.replayed:
        for launch, call in match_replay(region.replayed, calls):
            result[launch.id] = call.id
    pairs = match_sequence([group.name for group in region.groups], calls)
    for position, call in pairs:
        for launch in region.groups[position].launches:
            result.setdefault(launch.id, call.id)
    return result


def eager_launches(recording: Recording, launches: dict[int, Launch]) -> list[Launch]:
    """Return the launches outside compiled regions with the eager graph's node of their op."""
    ops = index_of(recording).ops
    found: list[Launch] = []
    for launch in launches.values():
        if launch.call is not None or launch.op_id is None or launch.op_id not in ops:
            continue
        op = ops[launch.op_id]
        if op.graph is not None and op.node is not None:
            evidence = LaunchEvidence(op=launch.evidence.op, call=None, nodes=launch.evidence.op)
            found.append(replace(launch, nodes=(op.node,), graph=op.graph, evidence=evidence))
    return found


def coverage_of(recording: Recording, launches: tuple[Launch, ...]) -> Coverage:
    """Count what was attributed; calls and nodes are null where there is nothing that they could be attributed to."""
    to_op = sum(launch.op is not None for launch in launches)
    has_nodes = bool(recording.calls) or any(graph.stage == "eager" for graph in recording.graphs)
    return Coverage(
        device_events=len(launches),
        to_op=to_op,
        to_call=sum(launch.call is not None for launch in launches) if recording.calls else None,
        to_node=sum(bool(launch.nodes) for launch in launches) if has_nodes else None,
        unattributed=len(launches) - to_op,
    )


def with_timing(recording: Recording) -> Recording:
    """Fill the times of calls and of eager nodes: one value per execution, the sum of its device events."""
    executions: dict[str, dict[tuple[int, int | None], int]] = {}
    for launch in recording.launches:
        if launch.call is not None:
            mine = executions.setdefault(launch.call, {})
            key = (launch.step, launch.invocation)
            mine[key] = mine.get(key, 0) + launch.duration_ns
    calls = tuple(
        replace(call, timing=timing(executions[call.id].values()) if call.id in executions else None)
        for call in recording.calls
    )
    graphs = tuple(_timed(graph, recording) for graph in recording.graphs)
    return replace(recording, calls=calls, graphs=graphs)


def _timed(graph: Graph, recording: Recording) -> Graph:
    if graph.stage != "eager":
        return graph
    per_step: dict[str, dict[int, int]] = {}
    for launch in recording.launches:
        if launch.graph == graph.id:
            for name in launch.nodes:
                mine = per_step.setdefault(name, {})
                mine[launch.step] = mine.get(launch.step, 0) + launch.duration_ns
    return replace(
        graph,
        nodes=tuple(
            replace(node, timing=timing(per_step[node.name].values())) if node.name in per_step else node
            for node in graph.nodes
        ),
    )


def timing(durations_ns: Iterable[int]) -> Timing:
    """Summarise executions, given in nanoseconds."""
    times = [duration / 1e3 for duration in durations_ns]
    return Timing(
        count=len(times), total_us=sum(times), mean_us=sum(times) / len(times), min_us=min(times), max_us=max(times)
    )
