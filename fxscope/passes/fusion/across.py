"""Neighbours that no scheduler ever saw together: across a graph break, and across forward and backward."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fxscope.index import index_of
from fxscope.model import BufferAccess, Decision, Graph, KernelCall, Node, Recording
from fxscope.op_names import runs_as
from fxscope.passes.flops import total
from fxscope.text import first_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def decisions(recording: Recording) -> list[Decision]:
    """One decision for each pair of calls of different graphs between which a tensor passes."""
    calls = index_of(recording).calls_of_graph
    graphs = {graph.id: graph for graph in recording.graphs if graph.stage == "post_grad"}
    return [*directions(graphs, calls), *breaks(recording, graphs, calls)]


def directions(graphs: Mapping[str, Graph], calls: Mapping[str, Sequence[KernelCall]]) -> list[Decision]:
    """Return what the forward saves for the backward: a backward input bears the name of the forward node it is."""
    result: list[Decision] = []
    for forward in graphs.values():
        if forward.direction != "forward":
            continue
        names = {node.name for node in forward.nodes if node.op != "placeholder"}
        for backward in graphs.values():
            if backward.direction != "backward" or backward.compile_id != forward.compile_id:
                continue
            saved = [node.name for node in backward.nodes if node.op == "placeholder" and node.name in names]
            result += between(forward, backward, saved, calls)
    return result


def between(
    forward: Graph, backward: Graph, saved: Sequence[str], calls: Mapping[str, Sequence[KernelCall]]
) -> list[Decision]:
    """One decision per forward call and backward call with a saved tensor between them."""
    nodes = {node.name: node for node in forward.nodes}
    found: dict[tuple[str, str], tuple[KernelCall, KernelCall, dict[str, BufferAccess]]] = {}
    for name in saved:
        source = producer(name, nodes, calls.get(forward.id, ()))
        if source is None:
            continue
        for call in calls.get(backward.id, ()):
            access = next((item for item in call.reads or () if item.buffer == name), None)
            if access is not None:
                found.setdefault((source.id, call.id), (source, call, {}))[2][name] = access
    return [
        never_considered(
            a,
            b,
            reason_code="forward_backward",
            reason_arguments={"saved": list(accesses)},
            # A library's kernel would be called again, a kernel of its own as before.
            hint_code="activation_memory_budget" if a.is_generated and b.is_generated else None,
            shared_buffers=tuple(accesses),
            saved_launches=0,
            saved_bytes=total(accesses.values()),  # they cannot be one kernel, so only the read is counted
            evidence="name",
        )
        for a, b, accesses in found.values()
    ]


def never_considered(a: KernelCall, b: KernelCall, **more: Any) -> Decision:
    """The decision for two calls of different graphs."""
    ends = {"a": a.nodes, "b": b.nodes, "a_call": a.id, "b_call": b.id}
    return Decision(graph=a.graph, other_graph=b.graph, verdict="never_considered", **ends, **more)


def producer(name: str, nodes: Mapping[str, Node], calls: Sequence[KernelCall]) -> KernelCall | None:
    """The call that computes a saved node; `None` for a view of an input, which nobody computes."""
    while name in nodes:
        node = nodes[name]
        found = next((call for call in calls if name in call.nodes), None)
        # An extern call names the views that became its arguments; their data is somebody else's.
        if found is not None and (not found.is_extern or runs_as(found.kernel, node.target)):
            return found
        if not node.inputs:
            return None
        name = node.inputs[0]
    return None


def breaks(
    recording: Recording, graphs: Mapping[str, Graph], calls: Mapping[str, Sequence[KernelCall]]
) -> list[Decision]:
    """Pair the last call of a graph that ended at a break with the first of the graph that goes on after it.

    The two graphs name the tensors between them differently, so what passes is not known.
    """
    first: dict[str, str] = {}  # compile → its forward or inference graph
    for graph in graphs.values():
        if graph.direction != "backward":
            first.setdefault(graph.compile_id or "", graph.id)
    result: list[Decision] = []
    for here, after in pairwise(item for item in recording.compiles if item.compile_id in first):
        before, behind = (calls.get(first[item.compile_id]) for item in (here, after))
        if here.break_reason is None or not before or not behind:
            continue
        where = here.break_source
        arguments: dict[str, object] = {"why": first_line(here.break_reason) or "no reason recorded"}
        if where is not None and where.file:
            arguments["file"] = f"{where.file.rsplit('/', 1)[-1]}:{where.line}"
        if where is not None and where.code:
            arguments["break_line"] = where.code
        result.append(
            never_considered(
                before[-1],
                behind[0],
                reason_code="graph_break",
                reason_arguments=arguments,
                raw_reason=here.break_reason,
                hint_code="remove_break",
                saved_launches=1,
                evidence="order",
            )
        )
    return result
