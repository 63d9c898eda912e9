"""The last two levels of a compiled program as graphs: what the scheduler joined, and the wrapper's kernel calls."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fxscope.index import index_of
from fxscope.model import Graph, Node, Recording, TensorMeta, replace
from fxscope.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fxscope.model import BufferAccess, KernelCall, Schedule


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
    """The calls as nodes in the order in which they run; an edge is a buffer that one writes and another reads."""
    inputs: dict[str, Node] = {}
    read = written_by((call.handle, call.reads or (), call.writes or ()) for call in calls)
    flow = {} if any(call.writes for call in calls) else node_flow(calls, graph)
    nodes = [
        Node(
            name=call.handle,
            op="kernel_call",
            target=call.kernel,
            inputs=flow.get(call.handle) or _sources(read[call.handle], inputs),
            outputs=_outputs(call.writes or ()),
            source=call.sources[-1] if call.sources else None,
            nature="kernel",
            expected="kernel",
            kind="kernel" if call.is_extern or len(call.nodes) < 2 else "fused",
            reason=f"call {call.id}",
            calls=(call.id,),
            timing=call.timing,
        )
        for call in calls
    ]
    every = (*inputs.values(), *nodes)
    return Graph(id=graph_id, stage="kernel_calls", compile_id=graph.compile_id, direction=graph.direction, nodes=every)


def scheduler_graph(schedule: Schedule, graph: Graph, graph_id: str) -> Graph:
    """The scheduler's nodes; those of one group were joined into one kernel."""
    inputs: dict[str, Node] = {}
    read = written_by((node.name, node.reads, node.writes) for node in schedule.nodes)
    sizes = Counter(node.group for node in schedule.nodes)
    nodes = [
        Node(
            name=node.name,
            op="scheduler_node",
            target=node.kernel or node.type,
            inputs=_sources(read[node.name], inputs),
            outputs=_outputs(node.writes),
            from_node=node.origins,
            nature="kernel",
            expected="kernel",
            kind="eliminated" if node.type == "nop" else "fused" if sizes[node.group] > 1 else "kernel",
            reason=f"computes {listed(node.origins, 8)}" if node.origins else f"a {node.type} node",
        )
        for node in schedule.nodes
    ]
    every = (*inputs.values(), *nodes)
    return Graph(id=graph_id, stage="scheduler", compile_id=graph.compile_id, direction=graph.direction, nodes=every)


def written_by(
    items: Iterable[tuple[str, Iterable[BufferAccess], Iterable[BufferAccess]]],
) -> dict[str, list[tuple[BufferAccess, str | None]]]:
    """For each of (name, reads, writes), in order: what it reads, and who wrote that last, `None` for an input."""
    writer: dict[str, str] = {}
    found: dict[str, list[tuple[BufferAccess, str | None]]] = {}
    for name, reads, writes in items:
        found[name] = [(access, writer.get(access.buffer)) for access in reads]
        writer |= {access.buffer: name for access in writes}
    return found


def node_flow(calls: list[KernelCall], graph: Graph) -> dict[str, tuple[str, ...]]:
    """Handle → handles of the calls whose results it takes, by the nodes' data flow: for files that name no buffers."""
    home = {name: call.handle for call in calls for name in call.nodes}
    made: dict[str, set[str]] = {}  # node → the calls that its value comes out of, looking through what no call ran
    found: dict[str, set[str]] = {call.handle: set() for call in calls}
    for node in graph.nodes:
        above = {handle for name in node.inputs for handle in made.get(name, ())}
        here = home.get(node.name)
        made[node.name] = above if here is None else {here}
        if here is not None:
            found[here] |= above - {here}
    order = {call.handle: position for position, call in enumerate(calls)}
    return {handle: tuple(sorted(above, key=order.__getitem__)) for handle, above in found.items()}


def _sources(read: Iterable[tuple[BufferAccess, str | None]], inputs: dict[str, Node]) -> tuple[str, ...]:
    """The nodes that made what is read; what nobody made is an input."""
    found: list[str] = []
    for access, writer in read:
        if writer is None and access.buffer not in inputs:
            inputs[access.buffer] = Node(
                name=access.buffer,
                op="placeholder",
                target=access.buffer,
                outputs=_outputs((access,)),
                kind="input",
                reason="graph input",
            )
        found.append(writer or access.buffer)
    return tuple(dict.fromkeys(found))


def _outputs(accesses: Iterable[BufferAccess]) -> tuple[TensorMeta, ...]:
    return tuple(
        TensorMeta(shape=access.shape, dtype=access.dtype, stride=access.stride)
        for access in accesses
        if access.shape is not None
    )
