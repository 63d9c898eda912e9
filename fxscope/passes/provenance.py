"""Ties the levels of the program together: source lines down to calls, folded arguments, names that did not run."""

import re
from collections.abc import Iterator, Mapping

from fxscope.columns import column
from fxscope.index import grouped, index_of
from fxscope.model import Graph, KernelCall, Node, Recording, Source, replace
from fxscope.op_names import CASTS, MAY_COPY, RESIZES, expected_nature, op_name, table

# They stay views where a transposed operand is folded into the strides of a GEMM.
_RESIZES = RESIZES | {"getitem"}
# Views, copies and casts, which torch puts around any op.
_VIEWS = frozenset(name for name in table() if expected_nature(f"aten::{name}") == "view")
_MOVES = _VIEWS | MAY_COPY | _RESIZES | CASTS
_MAX_LOWERINGS = 3  # graphs between a node and the one that has its source line
_MAX_HOPS = 8  # views between an operand and the extern call that reads it


def provenance(recording: Recording) -> Recording:
    """Recording → Recording whose calls know their nodes, folded and only named ones; nodes their calls and sources."""
    calls = {call.id: call for call in recording.calls}
    for graph, mine in index_of(recording).calls_of_graph.items():
        if nodes := index_of(recording).nodes.get(graph):
            calls |= {call.id: call for call in with_folded(mine, nodes)}
    recording = replace(recording, calls=tuple(calls[call.id] for call in recording.calls))
    return with_calls(with_sources(recording))


def with_folded(calls: list[KernelCall], by_name: Mapping[str, Node]) -> Iterator[KernelCall]:
    """Yield the calls with the views that became strides of their arguments (a permute in front of an extern mm)."""
    order = {name: position for position, name in enumerate(by_name)}
    ran = {name for call in calls for name in call.nodes}
    for call in calls:
        folded: list[str] = list(call.folded)
        if call.is_extern:
            stack = [(name, 0) for node in call.nodes if node in by_name for name in by_name[node].inputs]
            while stack:
                name, hops = stack.pop()
                node = by_name.get(name)
                if node is None or name in ran or name in folded or node.op in ("placeholder", "get_attr"):
                    continue
                if expected_nature(node.target) not in ("view", "unknown") or hops > _MAX_HOPS:
                    continue
                if op_name(node.target) not in _RESIZES:
                    folded.append(name)
                stack += [(source, hops + 1) for source in node.inputs]
        yield replace(call, folded=tuple(sorted(folded, key=order.__getitem__)))


def with_sources(recording: Recording) -> Recording:
    """Give nodes without a source line that of the node they were lowered from; and calls those of their nodes.

    Nodes that a pass put in the place of others have the line of those: torch records none, or that of its own pattern.
    """
    pairs = [(link.to, link.from_) for link in recording.links if link.relation == "lowered_to"]
    for item in recording.rewrites:
        compile_id, _, stage = item.graph.partition(":")
        sides = ("forward", "backward") if stage == "joint" else (stage,)
        later = [f"{compile_id}:{side}:post_grad" for side in sides]
        places = [(graph, name) for graph in (item.graph, *later) for name in item.added]
        pairs += [(place, (item.graph, name)) for place in places for name in item.removed[:3]]
    earlier = {key: [old for _, old in found] for key, found in grouped(pairs, lambda pair: pair[0]).items()}
    node_of = index_of(recording).node
    lowered = {graph for graph, _ in earlier}

    def source_of(key: tuple[str, str], depth: int = 0) -> Source | None:
        own = node.source if (node := node_of(key)) else None
        if (own is not None and own.file) or depth > _MAX_LOWERINGS:
            return own
        found = (source_of(old, depth + 1) for old in earlier.get(key, ()))
        return next((source for source in found if source is not None and source.file), own)

    def filled(graph: Graph, node: Node) -> Node:
        key = (graph.id, node.name)
        if key not in earlier:
            return node
        found = source_of(key)
        before = [past for old in earlier[key] if ":pre_grad" in old[0] and (past := node_of(old))]
        module = next((item.source for item in before if item.source and item.source.module), None)
        if found is not None and found.module is None and module is not None:
            found = replace(found, module=module.module, module_type=module.module_type)
        names = tuple(dict.fromkeys(item.name for item in before)) or node.from_node
        return replace(node, source=found, from_node=names)

    graphs = tuple(
        replace(graph, nodes=tuple(filled(graph, node) for node in graph.nodes)) if graph.id in lowered else graph
        for graph in recording.graphs
    )
    recording = replace(recording, graphs=graphs)
    calls: list[KernelCall] = []
    for call in recording.calls:
        members = index_of(recording).nodes.get(call.graph, {})
        found = dict.fromkeys(members[name].source for name in call.nodes if name in members)
        calls.append(replace(call, sources=tuple(item for item in found if item is not None)))
    return replace(recording, calls=tuple(calls))


def with_calls(recording: Recording) -> Recording:
    homes = index_of(recording).calls_of_node
    originals = _originals(recording)
    ran = {graph for graph, _ in (*homes, *originals)}
    graphs: list[Graph] = []
    for graph in recording.graphs:
        if graph.id in ran or any(column(graph.nodes, "calls")):
            nodes: list[Node] = []
            for node in graph.nodes:
                key = (graph.id, node.name)
                calls = tuple(call.id for call in homes.get(key, ()))
                nodes.append(replace(node, calls=calls, original_aten=node.original_aten or originals.get(key)))
            graph = replace(graph, nodes=tuple(nodes))
        graphs.append(graph)
    return replace(recording, graphs=tuple(graphs))


def _originals(recording: Recording) -> dict[tuple[str, str], str]:
    """The ATen op that a decomposed node came from, as far as torch's comments above the calls decide it.

    A pre-grad node `h = gelu(g)` becomes eleven post-grad nodes; the comment above their call names `aten.gelu`. The op
    that both the pre-grad node and the comment name is the one, else the only one that no other nodes account for.
    """
    if not any(call.original_aten for call in recording.calls):
        return {}
    node_of = index_of(recording).node
    functions: dict[tuple[str, str], str] = {}
    for link in recording.links:
        is_first = link.relation == "lowered_to" and link.from_[0].endswith(":pre_grad")
        if is_first and (node := node_of(link.from_)):
            functions.setdefault(link.to, op_name(node.target.split("(")[0]))
    graphs = index_of(recording).graphs
    found: dict[tuple[str, str], str] = {}
    for call in recording.calls:
        members = [node for name in call.nodes if (node := node_of((call.graph, name)))]
        if call.original_aten and any(node.original_aten is None for node in members):
            told = _originals_in(call, members, functions, graphs[call.graph])
            found |= {(call.graph, name): op for name, op in told.items()}
    return found


def _as_named(function: str | None, named: dict[str, str]) -> str | None:
    return next((op for op in (function, f"_{function}", f"native_{function}") if op in named), None)


def _originals_in(
    call: KernelCall, members: list[Node], functions: dict[tuple[str, str], str], graph: Graph
) -> dict[str, str]:
    named = {op_name(op): op for op in call.original_aten}
    here = {node.name for node in graph.nodes}
    found: dict[str, str] = {}
    whole: list[Node] = []  # born in this graph, and possibly an op of the comment as they are
    before: list[Node] = []  # decomposed from a node of an earlier graph
    born: list[Node] = []  # decomposed from what autograd called
    for source, group in grouped(members, lambda node: node.from_node[0] if node.from_node else node.name).items():
        own = {node.name: op_name(node.target) for node in group}
        known = (_as_named(functions.get((call.graph, name)), named) for name in own)
        if function := next(filter(None, known), None):
            found |= {name: named[op if op in _MOVES and op in named else function] for name, op in own.items()}
        elif all(op in named or op in _MOVES for op in own.values()):
            if source in here:
                whole += group
            else:
                found |= {name: named[op] for name, op in own.items() if op in named}
        # torch calls a node after its function where it has no variable
        elif source not in here and (op := _as_named(re.sub(r"_\d+$", "", source), named)):
            found |= dict.fromkeys(own, named[op])
        elif source in here:
            born += group
        else:
            before += group
    taken = {*found.values(), *(named.get(op_name(node.target)) for node in whole)}
    left = [op for name, op in named.items() if op not in taken and name not in _MOVES]
    late = [op for op in left if "_backward" in op]
    for ops, nodes in (([op for op in left if op not in late], before), (late, born)):
        if len(ops) == 1:
            found |= {node.name: ops[0] for node in nodes}
    if not late:  # else a `mul` may be the user's or a piece of what autograd called
        found |= {node.name: named[op] for node in whole if (op := op_name(node.target)) in named}
    return found
