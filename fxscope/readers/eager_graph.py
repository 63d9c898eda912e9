"""The eager graph: the profiler's op tree, with what a session says of each op, as a `Graph` like any other.

The tree comes from a trace (`Recording.ops`); tensors, lines and modules from `_torch.event_tree`, by the trace's external
id. `tie` finds the ops of further steps in the graph.
"""

from __future__ import annotations

import difflib
import itertools
import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fxscope.columns import column, picked, with_columns
from fxscope.index import grouped
from fxscope.model import Graph, Node, Op, StartUpOp, replace
from fxscope.op_names import expected_nature, op_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fxscope.model import Source

GRAPH_ID = "eager"
# What Inductor's code runs as; a region without one (another backend, `torch.cond` by itself) calls eager ops.
INDUCTOR_RUNS = "## Call CompiledFxGraph"
# What a compiled region is called in a trace: nothing inside is an eager op.
COMPILED_REGIONS = ("Torch-Compiled Region", INDUCTOR_RUNS, "CompiledFunction")
# What Dynamo and the profiler write besides ops.
NOT_OPS = ("ProfilerStep", "TorchDynamo Cache Lookup", "Pregraph bytecode", "AOTDispatcher Runtime Wrapper")
# What the graph is made of.
FIELDS = ("parent", "external_id", "sequence_number", "source", "shapes", "strides", "dtypes", "concrete_inputs")
_MAX_DIFFERENT = 3000  # ops of a step that differs from the graph; beyond, the alignment would take too long


def eager_graph(ops: Sequence[Op], facts: Mapping[int, Any] = MappingProxyType({})) -> Graph:
    """The graph of one step's ops.

    Args:
        ops: the step's ops, of one run of the program.
        facts: external id → what the session says (`_torch.event_tree.SeenOp`).
    """
    return _graph_and_nodes(ops, facts)[0]


def _graph_and_nodes(ops: Sequence[Op], facts: Mapping[int, Any]) -> tuple[Graph, dict[int, str]]:
    """The graph, and which node each op (by id) is."""
    tree = op_tree(ops)
    names = _Names()
    inputs: dict[Any, Node] = {}
    node_of: dict[int, str] = {}  # op id → node
    producer: dict[int, str] = {}  # position in `seen` → node
    nodes: list[Node] = []
    for op in tree:
        name = node_of[op.id] = names.new(op.name)
        fact = facts.get(op.external_id) if op.external_id is not None else None
        if fact is not None and fact.name != op.name:
            fact = None
        parent = op.parent
        node = Node(
            name=name,
            op="dispatch",
            target=op.name,
            parent=node_of.get(parent) if parent is not None else None,
            sequence_number=op.sequence_number,
            source=op.source,
            arguments=None if facts or op.shapes is None else arguments_of(op),
            expected=expected_nature(op.name),
        )
        if fact is not None:
            sources: list[str] = [_source_name(tensor, producer, inputs, names) for tensor in fact.inputs]
            producer[fact.position] = name
            node = replace(
                node,
                inputs=tuple(dict.fromkeys(sources)),
                outputs=fact.outputs,
                arguments=fact.arguments,
                source=fact.source or op.source,
                sequence_number=fact.sequence_number if fact.sequence_number is not None else op.sequence_number,
                aliases=None if fact.aliases is None else _chosen(sources, fact.aliases),
                mutates=_chosen(sources, fact.mutates),
            )
        nodes.append(node)
    return Graph(id=GRAPH_ID, stage="eager", nodes=(*inputs.values(), *_with_sources(nodes))), node_of


def arguments_of(op: Op) -> str:
    """ "bfloat16[8192,768] strides (768,1), …" of an op's recorded inputs; scalars by their value."""
    return _arguments(op.shapes or (), op.strides or (), op.dtypes or (), op.concrete_inputs or ())


@lru_cache(maxsize=4096)  # layers and steps call with the same
def _arguments(shapes: tuple[Any, ...], *others: tuple[Any, ...]) -> str:
    parts: list[str] = []
    columns = itertools.zip_longest(shapes, *others, fillvalue="")
    for shape, stride, dtype, value in itertools.islice(columns, len(shapes)):
        if isinstance(shape, tuple) and (shape or dtype not in ("", "Scalar", "ScalarList")) and not value:
            parts.append(
                f"{dtype}[{','.join(map(str, shape))}]" + (f" strides ({','.join(map(str, stride))})" if stride else "")
            )
        elif value:
            parts.append(str(value))
        else:  # None, or of a type that the profiler does not record
            parts.append("?")
    while parts and parts[-1] == "?":
        parts.pop()
    return ", ".join(parts)


def _chosen(names: Sequence[str], positions: Iterable[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[position] for position in positions))


def program_graph(ops: Sequence[Op], facts: Mapping[int, Any]) -> tuple[Graph, tuple[Op, ...]]:
    """The graph of a whole program's eager ops, and the ops tied to its nodes.

    In it are the ops that something is known of, what calls them and what they call. What Inductor's code runs is left
    out, it has graphs of its own. Steps of the same ops are one stretch of the graph; each other kind of step is another.
    """
    tree = op_tree(ops)
    by_id = {op.id: op for op in tree}
    compiled: set[int] = set()
    inside: set[int] = set()  # an op that is known, or below one
    inductors = _above(by_id, (op for op in tree if op.name.startswith(INDUCTOR_RUNS)))
    for op in tree:  # parents first
        if op.parent in compiled or (op.id in inductors and op.name.startswith(COMPILED_REGIONS)):
            compiled.add(op.id)
        elif (op.external_id is not None and op.external_id in facts) or op.parent in inside:
            inside.add(op.id)
    keep = _above(by_id, (by_id[op_id] for op_id in inside))
    steps = grouped((op for op in tree if op.id in keep), lambda op: op.step)
    kinds: dict[tuple[str, ...], list[Op]] = {}
    same = [(kinds.setdefault(tuple(op.name for op in step), step), step) for step in steps.values()]
    shown = [op for step in kinds.values() for op in step]
    graph, nodes = _graph_and_nodes(shown, facts)
    for first, step in same:
        nodes |= {op.id: nodes[twin.id] for op, twin in zip(step, first, strict=True)}
    return graph, tuple(replace(op, graph=graph.id, node=nodes[op.id]) if op.id in nodes else op for op in ops)


def _above(by_id: dict[int, Op], ops: Iterable[Op]) -> set[int]:
    """The ids of ops and of all that they are inside of."""
    found: set[int] = set()
    for op in ops:
        at: int | None = op.id
        while at is not None and at not in found:
            found.add(at)
            at = by_id[at].parent
    return found


def first_step(ops: Sequence[Op]) -> Sequence[Op]:
    """The ops of the first step that belong to its eager graph."""
    steps = column(ops, "step")
    first = min(steps, default=0)
    return picked(ops, [position for position in outside_of_compiled(ops) if steps[position] == first])


def outside_of_compiled(ops: Sequence[Op]) -> list[int]:
    """The positions of the ops that no compiled graph ran."""
    names = column(ops, "name")
    known = set(names)
    is_region = {name: name.startswith(COMPILED_REGIONS) for name in known}
    no_ops = {name for name in known if name.startswith(NOT_OPS)}
    inside: set[int] = set()
    if any(is_region.values()):
        columns = (column(ops, "id"), column(ops, "parent"), map(is_region.__getitem__, names))
        for op_id, parent, opens in zip(*columns, strict=True):  # parents first
            if opens or parent in inside:
                inside.add(op_id)
    outside = enumerate(zip(column(ops, "id"), names, strict=True))
    return [position for position, (op_id, name) in outside if op_id not in inside and name not in no_ops]


def start_up_ops(calls: Sequence[tuple[str, float, int | None]], facts: Mapping[int, Any]) -> tuple[StartUpOp, ...]:
    """The ops of a program's start-up by name and line, most expensive first.

    Args:
        calls: of outermost ops: name, µs, and the external id of the first op in it that something is known of.
        facts: by external id.
    """
    found: dict[tuple[str, Source | None], tuple[int, float]] = {}
    for name, duration, first in calls:
        fact = None if first is None else facts.get(first)
        key = (name, None if fact is None else fact.source)
        count, total = found.get(key, (0, 0.0))
        found[key] = (count + 1, total + duration)
    ops = (
        StartUpOp(name=name, count=count, total_us=total, source=source)
        for (name, source), (count, total) in found.items()
    )
    return tuple(sorted(ops, key=lambda op: -op.total_us))


def op_tree(ops: Iterable[Op]) -> list[Op]:
    """The CPU ops of a step in the order in which they began, parents first, each with its parent op."""
    by_id = {op.id: op for op in ops}
    tree: list[Op] = []
    for op in by_id.values():
        if op.category != "cpu_op":
            continue
        parent = op.parent
        while parent is not None and (parent not in by_id or by_id[parent].category != "cpu_op"):
            parent = by_id[parent].parent if parent in by_id else None
        tree.append(op if parent == op.parent else replace(op, parent=parent))
    tree.sort(key=lambda op: (op.start_ns, -op.duration_ns, op.id))
    return tree


def tie(ops: Sequence[Op], graph: Graph, *, only: Sequence[int] | None = None) -> Sequence[Op]:
    """Say of each op of each step which node of the eager graph it is, by the order of names.

    Args:
        ops: of any number of steps.
        graph: the eager graph.
        only: positions of the ops that can be in it, all by default.
    """
    wanted = [node for node in graph.nodes if node.op == "dispatch"]
    names = [node.target for node in wanted]
    category, step, start, duration, ids, name = (
        column(ops, field) for field in ("category", "step", "start_ns", "duration_ns", "id", "name")
    )
    steps = grouped(
        (position for position in (range(len(ops)) if only is None else only) if category[position] == "cpu_op"),
        lambda position: step[position],
    )
    graphs, nodes = column(ops, "graph"), column(ops, "node")
    for _, positions in sorted(steps.items()):
        positions.sort(key=lambda position: (start[position], -duration[position], ids[position]))
        for index, place in _align([name[position] for position in positions], names):
            graphs[positions[index]], nodes[positions[index]] = graph.id, wanted[place].name
    return with_columns(ops, graph=graphs, node=nodes)


def _align(left: list[str], right: list[str]) -> Iterable[tuple[int, int]]:
    if left == right:
        return ((index, index) for index in range(len(left)))
    if max(len(left), len(right)) > _MAX_DIFFERENT:
        return ()
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    return (
        (block.a + offset, block.b + offset) for block in matcher.get_matching_blocks() for offset in range(block.size)
    )


def _source_name(tensor: Any, producer: dict[int, str], inputs: dict[Any, Node], names: _Names) -> str:
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


def _with_sources(nodes: list[Node]) -> Iterable[Node]:
    """Give an op that the dispatcher did not show the line of what it calls, or of what calls it."""
    sources = {node.name: node.source for node in nodes}
    for node in reversed(nodes):  # children begin after their parent
        if node.parent is not None and sources.get(node.parent) is None:
            sources[node.parent] = sources[node.name]
    for node in nodes:
        if sources[node.name] is None and node.parent is not None:
            sources[node.name] = sources.get(node.parent)
    return (node if sources[node.name] is node.source else replace(node, source=sources[node.name]) for node in nodes)


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
        while True:
            number = self._count.get(base, 0)
            self._count[base] = number + 1
            name = base if number == 0 else f"{base}_{number}"
            if name not in self._taken:
                self._taken.add(name)
                return name
