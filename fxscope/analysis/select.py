"""The language in which things are named, and what a name finds; `docs/names.md` is for users.

    [SORT:]NAME[#N]

The first sort that knows a bare name wins, in the order of `SORTS`; `op:mul` says which is meant, `#2` which occurrence in it.
A name that is nowhere in the recording is an error that names the nearest known ones.
"""

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePath
from typing import NamedTuple, TypeVar

from fxscope import op_names
from fxscope.columns import column, distinct, picked, positions, rows_of, uncollected
from fxscope.errors import PassError
from fxscope.index import Index, grouped, index_of, kept
from fxscope.model import KERNELS, Graph, KernelCall, Launch, Node, Op, Recording, Source, Summary
from fxscope.op_names import expected_nature, is_called, op_name, op_of, ops_of, parse, phase_of, qualified, table
from fxscope.text import counted

T = TypeVar("T")
# Of a trace, what the nodes of units and groups are made of, and `Unit.op`
NODE_FIELDS = ("name", "op", "target", "nature", "source", "roof")
OP_FIELDS = ("id", "name", "category", "start_ns", "duration_ns", "shapes", "dtypes", "config", "source")


@lru_cache(maxsize=4096)
def place(source: Source | None) -> str | None:
    """ "model.py:17"."""
    if source is None or source.file is None or source.line is None:
        return None
    return f"{PurePath(source.file).name}:{source.line}"


class Unit(NamedTuple):
    """One kernel (or memset, or copy) at its place in a step, over all steps."""

    position: int
    kernel: str
    category: str
    launch: Launch | None  # of the first step that has it
    samples_us: tuple[float | None, ...]  # one duration per step; None where a step lacks it
    call: str | None
    nodes: tuple[str, ...]
    graph: str | None
    ops: tuple[str, ...]  # the user's ops, views left out where there is other work
    all_ops: frozenset[str]
    chain: tuple[str, ...]
    modules: tuple[str, ...]
    sources: tuple[str, ...]
    backward: bool | None = None  # whether autograd ran it; None where nothing tells
    op: Op | None = None  # that launched it, of a trace with `OP_FIELDS` alone

    @property
    def is_kernel(self) -> bool:
        return self.category in KERNELS


def units(recording: Recording) -> tuple[Unit, ...]:
    """The kernels of a step in order; planned kernel calls where nothing ran."""
    return kept(recording, "units", _units)


@uncollected()
def _units(recording: Recording) -> tuple[Unit, ...]:
    index = index_of(recording)
    if not recording.launches:
        nodes = nodes_by_key(recording, {(call.graph, name) for call in recording.calls for name in call.nodes})
        return tuple(_unit(index, nodes, position, call) for position, call in enumerate(recording.calls))
    found = launches_by_position(recording)
    rows = positions(recording.ops, "id", [-1 if launch.op_id is None else launch.op_id for launch, _ in found])
    made = picked(recording.ops, sorted({*rows[rows >= 0].tolist()}), *OP_FIELDS)
    ops: dict[int | None, Op] = {op.id: op for op in made}
    nodes = nodes_by_key(recording, {(launch.graph, name) for launch, _ in found for name in launch.nodes})
    return tuple(
        _unit(index, nodes, position, index.calls.get(launch.call or ""), launch, samples_us, ops.get(launch.op_id))
        for position, (launch, samples_us) in enumerate(found)
    )


def nodes_by_key(recording: Recording, keys: Collection[tuple[str | None, str]]) -> dict[tuple[str | None, str], Node]:
    """The nodes of some graph ids and names; those of a trace with `NODE_FIELDS` alone."""
    found: dict[tuple[str | None, str], Node] = {}
    for graph in recording.graphs:  # a trace's nodes are made together in a tenth of the time
        rows = [row for row, name in enumerate(column(graph.nodes, "name")) if (graph.id, name) in keys]
        found |= {(graph.id, node.name): node for node in picked(graph.nodes, rows, *NODE_FIELDS)}
    return found


def _unit(
    index: Index,
    nodes: Mapping[tuple[str | None, str], Node],
    position: int,
    call: KernelCall | None,
    launch: Launch | None = None,
    samples_us: tuple[float | None, ...] = (),
    op: Op | None = None,
) -> Unit:
    home = call or launch
    assert home is not None
    inside = [nodes[home.graph, name] for name in home.nodes if (home.graph, name) in nodes]
    ops = tuple(ops_in(call, index.nodes.get(call.graph, {})) if call is not None else ops_of(inside))
    every = {op_of(node) for node in inside} | {op_name(node.target) for node in inside}
    chain: tuple[str, ...] = launch.chain if launch else ()
    if launch and launch.op:
        ops = ops or (op_name(launch.op),)
        ops = (label,) if (label := collective_label(chain, ops)) else ops
        chain = chain if launch.op in chain else (*chain, launch.op)
    sources = [node.source for node in inside if node.source] or list(call.sources if call else ())
    if not sources and op is not None and op.source:
        sources = [op.source]
    return Unit(
        position,
        launch.name if launch else call.kernel if call else "",
        launch.category if launch else "kernel",
        launch,
        samples_us,
        call.id if call else launch.call if launch else None,
        tuple(home.nodes),
        home.graph,
        ops,
        frozenset(every | set(ops)),
        chain,
        tuple(dict.fromkeys(s.module for s in sources if s.module)),
        tuple(dict.fromkeys(p for s in sources if (p := place(s)))),
        ran_backward(index.graphs.get(home.graph or ""), chain),
        op,
    )


def collective_label(chain: Sequence[str], ops: Sequence[str]) -> str:
    """ "nccl:all_reduce", the profiler's mark in what it records of a collective; "" for other ops."""
    marks = [name for name in chain if name.startswith(("nccl:", "c10d::"))] if "record_param_comms" in ops else []
    return marks[-1] if marks else ""


def ran_backward(graph: Graph | None, chain: Sequence[str]) -> bool | None:
    """Return whether work is of a backward pass, by its graph ("!": compiled autograd), else by its caller."""
    if phase_of(chain) == "backward":
        return True
    if graph is not None and (graph.direction == "backward" or (graph.compile_id or "").startswith("!")):
        return True
    return False if chain or (graph is not None and graph.direction is not None) else None


def ops_in(call: KernelCall, nodes: Mapping[str, Node]) -> list[str]:
    """The user's ops that ran in a call, in order, views left out unless there is nothing else."""
    inside = [nodes[name] for name in call.nodes if name in nodes]
    working = [node for node in inside if node.nature != "view"] or inside
    if call.original_aten and not call.is_extern and not all(node.original_aten for node in working):
        # Files may say which ops a call comes from without saying which node does: those that no node elsewhere explains.
        others = [nodes.get(name) for name in call.named_only]
        if all(node is not None and node.original_aten for node in others):
            elsewhere = {op_of(node) for node in others if node is not None} - {op_of(node) for node in working}
            written = dict.fromkeys(map(op_name, call.original_aten))
            if ran := [op for op in written if op not in elsewhere and expected_nature(f"aten::{op}") != "view"]:
                return ran
    return ops_of(inside)


def launches_by_position(recording: Recording) -> list[tuple[Launch, tuple[float | None, ...]]]:
    """The launches of a step, in the order of the first step that has them, each with its duration in every step (µs)."""
    fields = "name", "op", "chain", "step", "duration_ns"
    names, ops, chains, step_of, durations = (column(recording.launches, field) for field in fields)
    in_order = sorted(range(len(names)), key=column(recording.launches, "start_ns").__getitem__)
    rows_of_step = grouped(in_order, step_of.__getitem__)
    steps, calls = index_of(recording).steps, {*zip(ops, chains, strict=True)}
    kinds = {(op, chain): (phase_of(chain), collective_label(chain, (op,))) for op, chain in calls}
    found = defaultdict[object, dict[int, int]](dict)  # an op's n-th launch of a kernel is one launch of every step
    for step in steps:
        seen: Counter[object] = Counter()
        for row in rows_of_step.get(step, ()):
            key = names[row], ops[row], kinds[ops[row], chains[row]]
            seen[key] += 1
            found[key, seen[key]][step] = row
    firsts = picked(recording.launches, [next(iter(rows.values())) for rows in found.values()])
    times = (tuple(durations[rows[step]] / 1e3 if step in rows else None for step in steps) for rows in found.values())
    return list(zip(firsts, times, strict=True))


# In the order in which a bare name is tried.
SORTS = ("call", "kernel", "variable", "op", "node", "buffer", "scheduler", "module", "line")


class UnknownNameError(PassError):
    """There is nothing of this name."""


class Selector(NamedTuple):
    """A parsed name: of which sort (`None` for any), what, and which occurrence in a step (from 1; `None` for all)."""

    text: str
    sort: str | None
    name: str
    number: int | None

    def may_be(self, *sorts: str) -> bool:
        return self.sort is None or self.sort in sorts


def parse_selector(text: str) -> Selector:
    """Parse "aten::mm#2" or "node:mul_6". Raises PassError."""
    found = re.fullmatch(r"(?P<name>.+?)(?:#(?P<number>\d+))?", text.strip())
    if found is None:
        raise PassError("an empty name: say an op, a node, a module, file:line or a kernel.")
    number = int(found["number"]) if found["number"] else None
    if number == 0:
        raise PassError(f"{text!r}: occurrences count from 1.")
    sort, _, rest = found["name"].partition(":")
    if sort in SORTS and rest and not rest.startswith(":"):
        return Selector(text, sort, rest, number)
    return Selector(text, None, found["name"], number)


class Place(NamedTuple):
    """Nodes of one compiled graph, or of the eager graph, that a name stands for."""

    graph: str
    nodes: tuple[str, ...]
    call: str | None  # the kernel call that they ran in


class Found(NamedTuple):
    name: str
    sort: str
    places: tuple[Place, ...]


def find(recording: Recording, text: str) -> Found:
    """Return what the first sort that knows the name says. Raises UnknownNameError with the nearest names."""
    selector = parse_selector(text)
    order = {call: position for position, call in enumerate(index_of(recording).calls)}
    for sort in (selector.sort,) if selector.sort else SORTS:
        table = names(recording, sort)
        places = _look_up(table, selector.name)
        if not places and sort == "op":
            # `softmax` and `layer_norm` are what people call `_softmax` and `native_layer_norm`.
            others = (qualified(selector.name), f"_{selector.name}", f"native_{selector.name}")
            places = next(filter(None, (_look_up(table, name) for name in others)), [])
        found = list(dict.fromkeys(places))
        if found:
            found.sort(key=lambda item: (item.call is None, order.get(item.call or "", 0)))
            return Found(selector.name, sort, tuple(pick(found, selector, "place")))
    raise _unknown(selector, recording)


def _look_up(table: dict[str, list[Place]], name: str) -> list[Place]:
    if name in table:
        return table[name]
    found = [places for key, places in table.items() if key.casefold() == name.casefold()][:1]
    if not found and any(char in name for char in "*?["):
        found = [places for key, places in table.items() if fnmatchcase(key, name)]
    return [place for places in found for place in places]


def nodes_named(recording: Recording, name: str, *, graph: str | None = None) -> list[tuple[str, Node]]:
    """(graph id, node) of every node by this name, an op's before a variable's; none where nothing is called so."""
    index, selector = index_of(recording), parse_selector(name)
    ops = _places_of(recording, selector._replace(text=f"op:{selector.text}")) if selector.sort is None else ()
    places = ops or _places_of(recording, selector)
    keys = dict.fromkeys((place.graph, node) for place in places for node in place.nodes)
    return [(key[0], index.nodes[key[0]][key[1]]) for key in keys if graph in (None, key[0])]


def _places_of(recording: Recording, selector: Selector) -> tuple[Place, ...]:
    try:
        return find(recording, selector.text.rpartition("#")[0] if selector.number else selector.text).places
    except UnknownNameError:
        return ()


def unit_matches(unit: Unit, name: str) -> bool:
    """Return whether a kernel is called by this name, ran this op, or was launched under it."""
    _, sort, name, _ = selector = parse_selector(name)
    if selector.may_be("kernel") and (fnmatchcase(unit.kernel, name) or unit.kernel == name):
        return True
    if (selector.may_be("call") and name == unit.call) or (selector.may_be("node") and name in unit.nodes):
        return True
    if selector.may_be("line") and name in unit.sources:
        return True
    if selector.may_be("module") and any(module == name or module.endswith(f".{name}") for module in unit.modules):
        return True
    if sort is None and name in unit.chain:
        return True
    return selector.may_be("op") and any(is_called(op, name) for op in (*unit.ops, *unit.chain))


def units_matching(recording: Recording, name: str) -> list[Unit]:
    """The kernels and other device events of a step by this name, none where there is no such."""
    found = [unit for unit in units(recording) if unit_matches(unit, name)]
    if not found:
        calls = {item.call for item in _places_of(recording, parse_selector(name)) if item.call}
        found = [unit for unit in units(recording) if unit.call in calls]
    return found


def units_named(recording: Recording, text: str) -> list[Unit]:
    """The kernels of a step by this name. Raises PassError where the name is nowhere in the recording."""
    found = [u for u in units_matching(recording, text) if u.is_kernel]
    if not found:
        require(recording, text)
    return pick(found, parse_selector(text), "kernel")


def pick(found: list[T], selector: Selector, what: str) -> list[T]:
    if selector.number is None:
        return found
    if selector.number > len(found):
        raise PassError(f"{selector.text}: a step has only {counted(len(found), what)} of {selector.name}.")
    return [found[selector.number - 1]]


def ops_named(recording: Recording, text: str) -> list[Op]:
    """The CPU ops of the first step by this name, in order. Raises PassError where it is nowhere."""
    first = index_of(recording).typical_step
    found = [op for op in recording.ops if op.step == first and op_named(op, text)]
    found.sort(key=lambda op: (op.start_ns, op.id))
    if not found:
        require(recording, text)
    return pick(found, parse_selector(text), "op")


def op_named(op: Op, name: str) -> bool:
    """Return whether a CPU event is called by this name; "mm" means "aten::mm", a glob is a glob."""
    selector = parse_selector(name)
    if not selector.may_be("op"):
        return False
    name = selector.name
    return op.name == name or (op.category != "runtime" and (is_called(op.name, name) or fnmatchcase(op.name, name)))


def _unknown(selector: Selector, recording: Recording) -> UnknownNameError:
    for graph in recording.graphs if selector.may_be("node") else ():
        if node := index_of(recording).node((graph.id, selector.name)):
            what = {
                "placeholder": f"is an input of {graph.id}: nothing in it computes that",
                "output": f"is what {graph.id} returns",
            }.get(node.op, f"is a node of {graph.id}: {node.kind}, {node.reason}")
            return UnknownNameError(f"{selector.text!r} {what}. `fxscope view RECORDING` shows what ran.")
    known = {key for sort in SORTS if selector.may_be(sort) for key in names(recording, sort)}
    return UnknownNameError(
        f"nothing is called {selector.text!r:.100} in this recording. {nearest(selector.name, known)}"
    )


def names(recording: Recording, sort: str) -> dict[str, list[Place]]:
    return kept(recording, ("names", sort), lambda recording: _names(recording, sort))


@uncollected()
def _names(recording: Recording, sort: str) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}

    def add(key: str, place: Place) -> None:
        found.setdefault(key, []).append(place)

    for call in recording.calls:
        keys: dict[str, Iterable[str]] = {
            "call": (call.id, call.handle),
            "kernel": (call.kernel,),
            "buffer": (access.buffer for access in call.writes or ()),
            "scheduler": call.scheduler_nodes,
        }
        for key in keys.get(sort, ()):
            add(key, Place(call.graph, call.nodes, call.id))
    for graph in recording.graphs if sort in ("op", "node", "module", "line", "variable") else ():
        if graph.stage in (("post_grad",) if sort == "variable" else ("post_grad", "eager")):
            _name_nodes(graph, recording, sort, add)
    if sort == "op" and recording.calls:
        _name_decomposed(recording, found, add)
    return found


def _name_decomposed(recording: Recording, ops: dict[str, list[Place]], add: Callable[[str, Place], None]) -> None:
    """Add the ops that ran in a kernel by what torch wrote above it, where no node tells which nodes they became."""
    nodes = index_of(recording).nodes
    known = {(name, place.call) for name, places in ops.items() for place in places}
    for call in recording.calls:
        inside = nodes.get(call.graph, {})
        unsaid = tuple(name for name in call.nodes if name in inside and not inside[name].original_aten)
        if not call.is_generated or call.named_only or not unsaid:
            continue  # the comment also names ops that ran before, in other calls
        for op in call.original_aten:
            if expected_nature(f"aten::{op_name(op)}") != "view" and (qualified(op), call.id) not in known:
                for name in _names_of_op(op):
                    add(name, Place(call.graph, unsaid, call.id))


def _name_nodes(graph: Graph, recording: Recording, sort: str, add: Callable[[str, Place], None]) -> None:
    index, views = index_of(recording), index_of(recording).views[graph.id]
    runs, is_eager = graph.id in index.calls_of_graph, graph.stage == "eager"
    found: dict[str, dict[str | None, list[str]]] = {}  # name → call id → the nodes of that name in it
    eager: dict[str, tuple[list[Place], list[Place]]] = defaultdict(lambda: ([], []))  # name → kernels and so on, views
    calls: dict[str, KernelCall] = {}
    fields = "op", "name", "target", "original_aten", "replaced_by", "source", "from_node"
    for op, node, target, original, replaced_by, source, earlier in rows_of(graph.nodes, *fields):
        if op in ("placeholder", "output"):
            continue
        if runs:
            key = (graph.id, node)
            folded = index.folded_into.get(key, ()) if sort != "variable" else ()
            calls = {call.id: call for call in (*index.calls_of_node.get(key, ()), *folded)}
        written: Iterable[str] = ()
        if sort == "node":
            written = (node, f"{graph.id}/{node}")
        elif sort == "op" and (original or not _is_piece(target, calls.values())):
            written = _names_of_op(op_names.written_op(target, original, replaced_by))
        elif sort == "line":
            written = filter(None, [place(source)])
        elif sort == "module" and source is not None and source.module:
            written = dict.fromkeys((source.module, source.module.rpartition(".")[2]))
        elif sort == "variable" and calls:
            written = dict.fromkeys(known for name in earlier for known in _names_of_variable(name, graph, index))
        alone = Place(graph.id, (node,), None)
        for name in written:
            if is_eager:
                eager[name][node in views].append(alone)
                continue
            executions = found.setdefault(name, {})
            for execution in calls or (None,):
                executions.setdefault(execution, []).append(node)
    for name, by_execution in found.items():
        # An op that only became strides of somebody's call did not run anywhere: ask for it by node.
        places = [
            Place(graph.id, tuple(nodes), execution if execution in index.calls else None)
            for execution, nodes in by_execution.items()
            if len(by_execution) == 1 or execution in index.calls
        ]
        # Views that ran in another's call are not what the user means.
        for item in [item for item in places if not views.issuperset(item.nodes)] or places:
            add(name, item)
    for name, (working, moved) in eager.items():
        for item in working or moved:
            add(name, item)


def _is_piece(target: str, calls: Collection[KernelCall]) -> bool:
    """Return whether an op is a piece of some other: torch wrote other ops above each call that it ran in."""
    return bool(calls) and all(
        call.is_generated and call.original_aten and op_name(target) not in map(op_name, call.original_aten)
        for call in calls
    )


@lru_cache(maxsize=4096)
def _names_of_op(target: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((parse(target).name, qualified(target), target)))


def _names_of_variable(name: str, graph: Graph, index: Index) -> tuple[str, ...]:
    """The names of the source that an earlier node has: of its variable, and of the function called."""
    earlier = index.nodes.get(f"{graph.compile_id}:pre_grad", {})
    if name in earlier and graph.direction != "backward":
        return (name, op_name(earlier[name].target)) if earlier[name].op.startswith("call_") else (name,)
    # Files without the pre-grad graph; a node that torch named after its function says of that one call only
    is_node = name in index.nodes[graph.id] or re.sub(r"_\d+$", "", name) in table()
    return () if earlier or is_node else (name,)


def _words(recording: Recording) -> frozenset[str]:
    words: set[str | None] = {key for sort in SORTS for key in names(recording, sort)}
    ops = distinct(recording.ops, "name") | {item.name for item in (recording.summary or Summary()).ops}
    for nodes in (graph.nodes for graph in recording.graphs):
        ops |= distinct(nodes, "target")
        written = {*rows_of(nodes, "target", "original_aten", "replaced_by")}
        words |= {
            *column(nodes, "name"),
            *(text for row in written for text in (row[1], op_name(op_names.written_op(*row)))),
        }
        sources = distinct(nodes, "source") - {None}
        modules = {source.module or "" for source in sources}
        words |= {*map(place, sources), *modules, *(module.rpartition(".")[2] for module in modules)}
    words |= {word for name in ops for word in (name, op_name(name), parse(name).name)}
    for unit in units(recording):
        words |= {unit.kernel, unit.call, *unit.ops, *unit.all_ops, *unit.chain, *unit.modules, *unit.sources}
    return frozenset(word for word in words if word)


def words(recording: Recording) -> frozenset[str]:
    """Every name by which something in the recording can be found."""
    return kept(recording, "words", _words)


def known(recording: Recording, name: str) -> bool:
    every, name = words(recording), parse_selector(name).name
    if name in every or op_name(name) in every:
        return True
    return any(char in name for char in "*?[") and any(fnmatchcase(word, name) for word in every)


def require(recording: Recording, *names: str) -> None:
    """Raise PassError, naming the nearest known, for a name that is nowhere in the recording."""
    for name in names:
        if not known(recording, name):
            raise missing(f"{name!r} does not occur in {recording.title or 'the recording'}", name, words(recording))


def missing(what: str, name: str, known_names: Iterable[str]) -> PassError:
    """The error of a name that does not occur: an UnknownNameError, unless it is nearly a known one, so a typo."""
    choices = set(known_names)
    return (PassError if _close(name, choices) else UnknownNameError)(f"{what}. {nearest(name, choices)}")


def nearest(name: str, known_names: Iterable[str]) -> str:
    """ "Did you mean …?": names spelled nearly so, or with the name inside; else what there is."""
    choices = sorted(set(known_names), key=lambda word: (not word.isalpha(), word))  # gelu, mm; then add_1, aten::mm
    close = [*_close(name, choices), *(item for item in choices if name.casefold() in item.casefold())]
    if close:
        return f"Did you mean {', '.join(list(dict.fromkeys(close))[:5])}?"
    some = [word for word in choices if len(word) < 40 and "/" not in word][:12]  # no ids, which nobody writes
    return f"Known names: {', '.join(some)}{', …' if len(choices) > len(some) else '.'}" if some else "It has no names."


def _close(name: str, choices: Iterable[str]) -> list[str]:
    return [item for text in (op_name(name), name) for item in difflib.get_close_matches(text, choices)]
