"""What a user may call a thing: a variable or an op as in the source, an aten op, an FX node, a buffer, a scheduler
node, a kernel, a call, a module. `find` returns what is meant, or says what it could be.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from fxscope.errors import FxscopeError
from fxscope.op_names import op_name, parse

if TYPE_CHECKING:
    from fxscope.model import Graph, KernelCall, Node, Recording

# In the order in which a bare name is tried; `word:name` names the sort.
SORTS = ("call", "kernel", "variable", "op", "node", "buffer", "scheduler", "module")
SORT_WORDS = {
    "call": "kernel call",
    "kernel": "kernel",
    "variable": "variable",
    "op": "op",
    "node": "FX node",
    "buffer": "buffer",
    "scheduler": "scheduler node",
    "module": "module",
}


class Place(NamedTuple):
    """Nodes of one compiled graph, or of the eager graph, that a name stands for."""

    graph: str
    nodes: tuple[str, ...]
    call: str | None  # the kernel call that they ran in


class Found(NamedTuple):
    """What a name means."""

    name: str
    sort: str
    places: tuple[Place, ...]


class UnknownNameError(FxscopeError):
    """There is nothing of this name."""


class AmbiguousNameError(FxscopeError):
    """The name means several things."""


def find(recording: Recording, text: str) -> Found:
    """Return what the name means; the first sort that knows it wins.

    Raises:
        UnknownNameError: nothing is called so; the message has the nearest names.
    """
    sort, _, rest = text.partition(":")
    wanted, name = (sort, rest) if sort in SORTS and rest else (None, text)
    tables = index(recording)
    for candidate in (wanted,) if wanted else SORTS:
        table = tables[candidate]
        key = name if name in table else next((key for key in table if key.casefold() == name.casefold()), None)
        if key is not None:
            return Found(name, candidate, tuple(dict.fromkeys(table[key])))
    raise unknown(text, name, tables, wanted)


def one_place(recording: Recording, found: Found) -> Place:
    """Return the only place that a name stands for.

    Raises:
        AmbiguousNameError: there are several; the message lists them.
    """
    if len(found.places) == 1:
        return found.places[0]
    raise AmbiguousNameError(ambiguous(recording, found))


def ambiguous(recording: Recording, found: Found) -> str:
    """Return the choices, each with a name that means it alone."""
    lines = [f"the {SORT_WORDS[found.sort]} {found.name!r} ran in {len(found.places)} places. Choose one:"]
    nodes = {(graph.id, node.name): node for graph in recording.graphs for node in graph.nodes}
    calls = {call.id: call for call in recording.calls}
    for place in found.places[:20]:
        node = next((nodes[place.graph, name] for name in place.nodes if (place.graph, name) in nodes), None)
        where = f"{node.source.code or node.source.line}" if node is not None and node.source is not None else ""
        key = f"call:{place.call}" if place.call else f"node:{place.graph}/{place.nodes[0]}"
        handle = f"  {calls[place.call].handle}" if place.call in calls else ""
        lines.append(f"  {key}{handle}" + (f"  ({where.strip()})" if where else ""))
    if len(found.places) > 20:
        lines.append(f"  … {len(found.places) - 20} more")
    return "\n".join(lines)


def unknown(text: str, name: str, tables: dict[str, dict[str, list[Place]]], sort: str | None) -> UnknownNameError:
    """Return the error that names what is near."""
    names = {key for word, table in tables.items() if sort in (None, word) for key in table}
    near = difflib.get_close_matches(name, names, n=5, cutoff=0.5)
    contained = sorted(key for key in names if name.casefold() in key.casefold())[:5]
    options = list(dict.fromkeys((*near, *contained)))[:6]
    hint = f" Nearest: {', '.join(options)}." if options else " `fxscope view RECORDING` shows what there is."
    return UnknownNameError(f"nothing is called {text!r} in this recording.{hint}")


def index(recording: Recording) -> dict[str, dict[str, list[Place]]]:
    """Return for each sort: name → places."""
    tables: dict[str, dict[str, list[Place]]] = {sort: {} for sort in SORTS}
    for call in recording.calls:
        place = Place(call.graph, call.nodes, call.id)
        for key in (call.id, call.handle):
            add(tables["call"], key, place)
        add(tables["kernel"], call.kernel, place)
        for access in call.writes or ():
            add(tables["buffer"], access.buffer, place)
        for name in call.scheduler_nodes:
            add(tables["scheduler"], name, place)
    for graph in recording.graphs:
        if graph.stage in ("post_grad", "eager"):
            index_graph(graph, recording, tables)
    index_variables(recording, tables)
    return tables


def add(table: dict[str, list[Place]], key: str, place: Place) -> None:
    """Add a place to a name."""
    table.setdefault(key, []).append(place)


def index_graph(graph: Graph, recording: Recording, tables: dict[str, dict[str, list[Place]]]) -> None:
    """Add the nodes of a graph by name, op and module."""
    calls = [call for call in recording.calls if call.graph == graph.id]
    ops: dict[str, dict[str | None, list[str]]] = {}
    modules: dict[str, dict[str | None, list[str]]] = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        for call in calls_of(node, calls) or [None]:
            place = Place(graph.id, (node.name,), call.id if call else None)
            add(tables["node"], node.name, place)
            add(tables["node"], f"{graph.id}/{node.name}", place)
            key = call.id if call else node.name if graph.stage == "eager" else None
            for name in op_names(node):
                ops.setdefault(name, {}).setdefault(key, []).append(node.name)
            path = node.source.module if node.source is not None else None
            if path:
                for name in dict.fromkeys((path, path.rsplit(".", 1)[-1])):
                    modules.setdefault(name, {}).setdefault(key, []).append(node.name)
    for sort, found in (("op", ops), ("module", modules)):
        for name, by_call in found.items():
            places: list[Place] = []
            for key, nodes in by_call.items():
                call_id = key if any(call.id == key for call in calls) else None
                # An op that only became strides of somebody's call did not run anywhere: ask for it by node.
                if call_id is not None or len(by_call) == 1 or graph.stage == "eager":
                    places.append(Place(graph.id, tuple(nodes), call_id))
            for place in [place for place in places if not all_views(place, graph)] or places:
                add(tables[sort], name, place)


def op_names(node: Node) -> list[str]:
    """Return what a user may call the op of a node: `mul`, `aten.mul`, `aten.mul.Tensor`, `aten::mul`."""
    target = node.original_aten or node.target
    short, bare = op_name(target), parse(target).name
    return list(dict.fromkeys((short, bare, f"aten.{short}", f"aten::{short}", target)))


def calls_of(node: Node, calls: list[KernelCall]) -> list[KernelCall]:
    """Return the calls that a node ran in."""
    return [call for call in calls if node.name in call.nodes or node.name in call.folded]


def index_variables(recording: Recording, tables: dict[str, dict[str, list[Place]]]) -> None:
    """Add the names of the source: a pre-grad node is called like its variable, or like the function called."""
    earlier = {graph.id: graph for graph in recording.graphs if graph.stage == "pre_grad"}
    after = {graph.id: graph for graph in recording.graphs if graph.stage == "post_grad"}
    nodes = {(graph.id, node.name): node for graph in earlier.values() for node in graph.nodes}
    calls: dict[str, list[KernelCall]] = {}
    for call in recording.calls:
        calls.setdefault(call.graph, []).append(call)
    lowered: dict[tuple[str, str], dict[tuple[str, str | None], list[str]]] = {}
    for link in recording.links:
        if link.relation != "lowered_to" or link.from_ not in nodes or link.to[0] not in after:
            continue
        graph = link.to[0]
        ran = [call.id for call in calls.get(graph, []) if link.to[1] in call.nodes] or [None]
        for call_id in ran:
            lowered.setdefault(link.from_, {}).setdefault((graph, call_id), []).append(link.to[1])
    for source, by_call in lowered.items():
        places = [Place(graph, tuple(names), call) for (graph, call), names in by_call.items() if call is not None]
        # Views of it that ran nowhere, or in another's call, are not what the user means by the variable.
        main = [place for place in places if not all_views(place, after[place.graph])] or places
        for place in main:
            add(tables["variable"], source[1], place)
            function = op_name(nodes[source].target)
            if function != source[1] and not any(key in function for key in ("placeholder", "getattr")):
                add(tables["variable"], function, place)


def all_views(place: Place, graph: Graph) -> bool:
    """Return whether a place holds nothing but views."""
    by_name = {node.name: node for node in graph.nodes}
    return all(name in by_name and by_name[name].nature == "view" for name in place.nodes)
