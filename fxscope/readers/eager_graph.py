"""The eager graph: the profiler's op tree, with what a session says of each op, as a `Graph` like any other.

The tree comes from a trace (`Recording.ops`); tensors, lines and modules from `_torch.event_tree`, by the trace's external
id. `tie` finds the ops of further steps in the graph.
"""

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fxscope.columns import Chosen, Given, KeptItems, Made, array, column, marked, positions, rows_of, with_columns
from fxscope.index import grouped, reachable
from fxscope.model import Graph, Item, Node, Op, Source, TensorMeta, replace
from fxscope.op_names import COMPILED_CODE, COPIES, INDUCTOR_RUNS, expected_nature, is_dispatched, is_generated, op_name
from fxscope.passes.flops import tensor_bytes
from fxscope.readers.trace.columns import nearest

GRAPH_ID = "eager"
# What Dynamo and the profiler write besides ops.
NOT_OPS = ("ProfilerStep", "TorchDynamo Cache Lookup", "Pregraph bytecode", "AOTDispatcher Runtime Wrapper")
_MAX_DIFFERENT = 3000  # ops of a step that differs from the graph; beyond, the alignment would take too long


class SeenTensor(Item, frozen=True, kw_only=True):
    meta: TensorMeta
    storage: int  # the same number, the same memory
    producer: int | None = None  # position of the op whose output this is; None where it came from outside
    name: str | None = None  # of a parameter, a buffer or an input, where it is one


class SeenOp(Item, frozen=True, kw_only=True):
    """One op that the dispatcher ran a kernel of its own for; what such a kernel calls is a part of it.

    An op that calls itself (under `vmap`, `jvp`, a mode) is none: what it calls has the shapes of what ran.
    """

    position: int
    name: str  # "aten::addmm"
    inputs: tuple[SeenTensor, ...] = ()
    outputs: tuple[TensorMeta, ...] = ()
    num_arguments: int = 0
    aliases: tuple[int, ...] | None = None  # positions in `inputs` whose storage an output shares; None: not known
    mutates: tuple[int, ...] = ()  # positions in `inputs` that were written
    source: Source | None = None
    sequence_number: int | None = None
    backward: bool = False
    idle: bool = False  # it computed nothing


def _graph(
    ops: Sequence[Op], tree: Mapping[int, int | None], facts: Mapping[int, SeenOp]
) -> tuple[Graph, dict[int, str]]:
    """The graph, and which node each op (by position) is. `facts`, by external id, are a session's: a trace has none."""
    external_ids = column(ops, "external_id") if facts else ()
    rows = list(tree)
    targets, sources = column(ops, "name", rows), dict(zip(rows, column(ops, "source", rows), strict=True))
    names = _Names()
    inputs: dict[Any, Node] = {}
    node_of: dict[int, str] = {}  # position of an op → node
    producer: dict[int, str] = {}  # position in `seen` → node
    known: dict[int, dict[str, Any]] = {}  # position of a node → what a session says
    for place, (row, target) in enumerate(zip(rows, targets, strict=True)):
        name = node_of[row] = names.new(target)
        fact = facts.get(external_ids[row]) if facts else None
        if fact is not None and fact.name == target:
            taken = [_source_name(tensor, producer, inputs, names) for tensor in fact.inputs]
            producer[fact.position] = name
            sources[row] = fact.source or sources[row]
            known[place] = {
                "inputs": tuple(dict.fromkeys(taken)),
                "outputs": fact.outputs,
                "bytes_read": tensor_bytes({(item.storage, item.meta): item.meta for item in fact.inputs}.values()),
                "arguments": arguments_of(ops[row], fact.num_arguments),
                "aliases": None if fact.aliases is None else _chosen(taken, fact.aliases),
                "mutates": _chosen(taken, fact.mutates),
            }
            if fact.sequence_number is not None:
                known[place]["sequence_number"] = fact.sequence_number
            if fact.idle:
                known[place]["expected"] = "host"
    parents = [None if (parent := tree[row]) is None else node_of.get(parent) for row in rows]
    expected = {target: expected_nature(target) for target in set(targets)}
    columns: dict[str, Any] = {
        "name": Given(list(node_of.values())),
        "op": Given(["dispatch"] * len(rows)),
        "target": Given(targets),
        "parent": Given(parents),
        "sequence_number": Made(lambda which: column(ops, "sequence_number", Given(rows).take(which))),
        "source": Given(_with_parents(tree, sources)),
        "expected": Given([expected[target] for target in targets]),
    }

    def arguments(which: slice | list[int]) -> list[str | None]:
        of_ops = rows_of(ops, "shapes", "strides", "dtypes", "concrete_inputs", which=Given(rows).take(which))
        return [None if shapes is None else _arguments(shapes, *others) for shapes, *others in of_ops]

    if not facts:
        columns["arguments"] = Made(arguments)
    nodes: Sequence[Node] = KeptItems(Node, len(rows), columns)
    if known:
        told = (replace(node, **known.get(place, {})) for place, node in enumerate(nodes))
        nodes = (*inputs.values(), *told)
    return Graph(id=GRAPH_ID, stage="eager", nodes=nodes), node_of  # type: ignore[arg-type]


def arguments_of(op: Op, last: int = 0) -> str | None:
    """ "bfloat16[8192,768] strides (768,1), …" of an op's recorded inputs, scalars by their value; `None` without shapes.

    `last`: how many of them are the op's, below which lie those of its callers; 0 for all.
    """
    if op.shapes is None:
        return None
    return _arguments(*((items or ())[-last:] for items in (op.shapes, op.strides, op.dtypes, op.concrete_inputs)))


@lru_cache(maxsize=1 << 14)  # layers and steps call with the same
def _arguments(shapes: tuple[Any, ...], *others: tuple[Any, ...] | None) -> str:
    """ "bfloat16[8192,768] strides (768,1), …" of an op's recorded inputs, scalars by their value."""
    parts: list[str] = []
    columns = itertools.zip_longest(shapes, *(values or () for values in others), fillvalue="")
    for shape, stride, dtype, value in itertools.islice(columns, len(shapes)):
        if isinstance(shape, tuple) and (shape or dtype not in ("", "Scalar", "ScalarList")) and not value:
            layout = f" strides ({','.join(map(str, stride))})" if stride else ""
            if shape and stride == ():  # a sparse tensor
                layout = " without strides"
            parts.append(f"{dtype}[{','.join(map(str, shape))}]{layout}")
        elif value:
            parts.append(str(value))
        else:  # None, or of a type that the profiler does not record
            parts.append("?")
    while parts and parts[-1] == "?":
        parts.pop()
    return ", ".join(parts)


def _chosen(names: Sequence[str], positions: Iterable[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[position] for position in positions))


def program_graph(ops: Sequence[Op], facts: Mapping[int, SeenOp]) -> tuple[Graph, Sequence[Op]]:
    """The graph of a whole program's eager ops, and the ops tied to its nodes.

    In it are the ops that something is known of, what calls them and what they call. What Inductor's code runs is left
    out, it has graphs of its own. Steps of the same ops are one stretch of the graph; each other kind of step is another.
    """
    ops = tuple(ops)
    tree = op_tree(ops, np.arange(len(ops)))
    outside = {*outside_of_compiled(ops).tolist()}
    inside: set[int] = set()  # an op that is known, or below one
    for row, parent in tree.items():  # parents first
        if row in outside and (ops[row].external_id in facts or parent in inside):
            inside.add(row)
    keep = {*reachable(inside, lambda row: [] if (parent := tree.get(row)) is None else [parent])}
    # What an op calls before it hands on to one that is known: `mse_loss_backward` fills its output first
    for row, parent in tree.items():
        if parent in keep and row in outside and is_dispatched(ops[parent].name):
            keep.add(row)
    steps = grouped((row for row in tree if row in keep), lambda row: ops[row].step)
    kinds: dict[tuple[str, ...], list[int]] = {}
    same = [(kinds.setdefault(tuple(ops[row].name for row in rows), rows), rows) for rows in steps.values()]
    shown = {row for rows in kinds.values() for row in rows}
    graph, nodes = _graph(ops, {row: parent for row, parent in tree.items() if row in shown}, facts)
    for first, rows in same:
        nodes |= {row: nodes[twin] for row, twin in zip(rows, first, strict=True)}
    ties = [replace(op, graph=graph.id, node=nodes[row]) if row in nodes else op for row, op in enumerate(ops)]
    return replace(graph, nodes=tuple(graph.nodes)), tuple(ties)


def outside_of_compiled(ops: Sequence[Op]) -> NDArray[np.int64]:
    """Positions of the ops that no code of Inductor's ran. A region of another backend calls eager ops."""
    runs = marked(ops, "name", lambda name: name.startswith(INDUCTOR_RUNS) or is_generated(name))
    outside = ~marked(ops, "name", lambda name: name.startswith(NOT_OPS))
    if not runs.any():
        return np.flatnonzero(outside)
    parent = positions(ops, "id", array(ops, "parent")).astype(np.int32)
    around = np.zeros(len(ops), np.bool_)
    above = parent.tolist()
    around[list(reachable(np.flatnonzero(runs).tolist(), lambda row: [above[row]] if above[row] >= 0 else []))] = True
    calls_code = around & marked(ops, "name", lambda name: name.startswith(COMPILED_CODE))
    copies = marked(ops, "name", lambda name: op_name(name) in COPIES) & (parent >= 0)
    compiled = runs | (copies & calls_code[parent])
    return np.flatnonzero(outside & ~compiled & (nearest(parent, compiled) < 0))


def op_tree(ops: Sequence[Op], rows: NDArray[np.int64]) -> dict[int, int | None]:
    """Map the positions of CPU ops among `rows`, parents first, to that of the op that called each, `None` for none."""
    inside, is_op = np.zeros(len(ops), np.bool_), marked(ops, "category", "cpu_op".__eq__)
    inside[rows] = True
    parent = positions(ops, "id", array(ops, "parent"))
    parent = np.where((parent >= 0) & inside[parent], parent, -1).astype(np.int32)
    found = rows[np.argsort(array(ops, "start_ns")[rows], kind="stable")]
    found = found[is_op[found]]
    parents = nearest(parent, inside & is_op)[found].tolist()
    return dict(zip(found.tolist(), [None if row < 0 else row for row in parents], strict=True))


def traced_graph(ops: Sequence[Op]) -> tuple[Graph, Sequence[Op]]:
    """The graph of the fullest step of a trace, and the ops tied to its nodes."""
    outside = outside_of_compiled(ops)
    steps = array(ops, "step")[outside]
    numbers, sizes = np.unique(steps, return_counts=True)
    step = numbers[sizes.argmax()] if len(sizes) else 0
    graph, nodes = _graph(ops, op_tree(ops, outside[steps == step]), {})
    return graph, tie(ops, graph, outside[steps != step], nodes)


def tie(ops: Sequence[Op], graph: Graph, only: NDArray[np.int64], known: Mapping[int, str]) -> Sequence[Op]:
    """Say of each op of each step which node of the eager graph it is, by the order of names.

    `only`: positions of the ops that can be in it. `known`: position → node, of those that it was made of.
    """
    names, targets = column(graph.nodes, "name"), column(graph.nodes, "target")
    place_of = {name: place for place, name in enumerate(names)}
    places = np.full(len(ops), -1)
    places[list(known)] = [place_of[node] for node in known.values()]
    left, step = only[marked(ops, "category", "cpu_op".__eq__)[only]], array(ops, "step")
    left = left[np.lexsort((array(ops, "start_ns")[left], step[left]))]
    for in_step in np.split(left, np.flatnonzero(np.diff(step[left])) + 1):
        places[in_step] = _align(column(ops, "name", in_step.tolist()), targets)
    return with_columns(ops, graph=Chosen(np.minimum(places, 0), [graph.id]), node=Chosen(places, names))


def _align(left: list[str], right: list[str]) -> Sequence[int]:
    """The place of each name on the other side, -1 for none."""
    if left == right:
        return range(len(left))
    found = [-1] * len(left)
    if max(len(left), len(right)) <= _MAX_DIFFERENT:
        for a, b, size in difflib.SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
            found[a : a + size] = range(b, b + size)
    return found


def _source_name(tensor: SeenTensor, producer: dict[int, str], inputs: dict[Any, Node], names: "_Names") -> str:
    """The node that a tensor comes from; one from outside becomes an input of the graph."""
    if tensor.producer is not None and tensor.producer in producer:
        return producer[tensor.producer]
    key = (tensor.storage, tensor.meta.shape, tensor.meta.stride, tensor.meta.storage_offset)
    if key not in inputs:
        name = names.new(tensor.name or "input")
        inputs[key] = Node(
            name=name,
            op="placeholder",
            target=tensor.name or name,
            outputs=(tensor.meta,),
            kind="input",
            reason="given to the program",
        )
    return inputs[key].name


def _with_parents(tree: Mapping[int, int | None], found: dict[int, Source | None]) -> list[Source | None]:
    """The line of each op: one that the dispatcher did not show has that of what it calls, or of what calls it."""
    if not any(found.values()):
        return list(found.values())
    for row, parent in reversed(list(tree.items())):  # children begin after their parent
        if parent in found and found[parent] is None:
            found[parent] = found[row]
    for row, parent in tree.items():
        if found[row] is None and parent in found:
            found[row] = found[parent]
    return list(found.values())


@lru_cache(maxsize=4096)
def _base(text: str) -> str:
    return re.sub(r"\W+", "_", op_name(text)).strip("_") or "op"


class _Names:
    """Names that are unique and short: `aten::addmm` → `addmm`, `addmm_1`."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._taken: set[str] = set()

    def new(self, text: str) -> str:
        base = _base(text)
        number = self._count.get(base, 0)
        name = f"{base}_{number}" if number else base
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._count[base] = number + 1
        self._taken.add(name)
        return name
