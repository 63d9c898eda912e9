"""The last two levels of a compiled program as graphs: what the scheduler joined, and the wrapper's kernel calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.index import index_of
from fxscope.model import Graph, Node, Recording, TensorMeta, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fxscope.model import BufferAccess, KernelCall, Kind, Schedule


def stages(recording: Recording) -> Recording:
    """Recording → Recording with a `scheduler` and a `kernel_calls` graph beside each post-grad graph that has them."""
    known = {graph.id for graph in recording.graphs}
    added: list[Graph] = []
    schedules = {schedule.graph: schedule for schedule in recording.schedules}
    for graph in recording.graphs:
        if graph.stage != "post_grad":
            continue
        prefix = graph.id.removesuffix(":post_grad")
        if graph.id in schedules and f"{prefix}:scheduler" not in known:
            added.append(scheduler_graph(schedules[graph.id], graph, f"{prefix}:scheduler"))
        calls = index_of(recording).calls_of_graph.get(graph.id, [])
        if calls and f"{prefix}:kernel_calls" not in known:
            added.append(call_graph(calls, graph, f"{prefix}:kernel_calls"))
    return replace(recording, graphs=(*recording.graphs, *added))


def call_graph(calls: list[KernelCall], graph: Graph, graph_id: str) -> Graph:
    """Return the calls as nodes in the order in which they run; an edge is a buffer that one writes and another reads."""
    inputs: dict[str, Node] = {}
    writer: dict[str, str] = {}
    nodes: list[Node] = []
    for call in calls:
        sources = _sources(call.reads or (), writer, inputs)
        kind: Kind = "kernel" if call.is_extern or len(call.nodes) < 2 else "fused"
        nodes.append(
            Node(
                name=call.handle,
                op="kernel_call",
                target=call.kernel,
                inputs=sources,
                outputs=_outputs(call.writes or ()),
                source=call.sources[-1] if call.sources else None,
                nature="kernel",
                expected="kernel",
                kind=kind,
                reason=f"call {call.id}",
                calls=(call.id,),
                timing=call.timing,
            )
        )
        writer |= {access.buffer: call.handle for access in call.writes or ()}
    return Graph(
        id=graph_id,
        stage="kernel_calls",
        compile_id=graph.compile_id,
        direction=graph.direction,
        nodes=(*inputs.values(), *nodes),
    )


def scheduler_graph(schedule: Schedule, graph: Graph, graph_id: str) -> Graph:
    """Return the scheduler's nodes; those of one group were joined into one kernel."""
    inputs: dict[str, Node] = {}
    writer: dict[str, str] = {}
    nodes: list[Node] = []
    sizes: dict[int, int] = {}
    for node in schedule.nodes:
        sizes[node.group] = sizes.get(node.group, 0) + 1
    for node in schedule.nodes:
        sources = _sources(node.reads, writer, inputs)
        joined = sizes[node.group] > 1
        kind: Kind = "eliminated" if node.type == "nop" else "fused" if joined else "kernel"
        what = ", ".join(node.origins[:8]) + (", …" if len(node.origins) > 8 else "")
        nodes.append(
            Node(
                name=node.name,
                op="scheduler_node",
                target=node.kernel or node.type,
                inputs=sources,
                outputs=_outputs(node.writes),
                from_node=node.origins,
                nature="kernel",
                expected="kernel",
                kind=kind,
                reason=f"computes {what}" if what else f"a {node.type} node",
            )
        )
        writer |= {access.buffer: node.name for access in node.writes}
    return Graph(
        id=graph_id,
        stage="scheduler",
        compile_id=graph.compile_id,
        direction=graph.direction,
        nodes=(*inputs.values(), *nodes),
    )


def _sources(reads: Iterable[BufferAccess], writer: dict[str, str], inputs: dict[str, Node]) -> tuple[str, ...]:
    """Return the nodes that made what is read; what nobody made is an input."""
    found: list[str] = []
    for access in reads:
        if access.buffer in writer:
            found.append(writer[access.buffer])
            continue
        if access.buffer not in inputs:
            inputs[access.buffer] = Node(
                name=access.buffer,
                op="placeholder",
                target=access.buffer,
                outputs=_outputs((access,)),
                kind="input",
                reason="graph input",
            )
        found.append(access.buffer)
    return tuple(dict.fromkeys(found))


def _outputs(accesses: Iterable[BufferAccess]) -> tuple[TensorMeta, ...]:
    return tuple(
        TensorMeta(shape=access.shape, dtype=access.dtype, stride=access.stride)
        for access in accesses
        if access.shape is not None
    )
