"""The eager graph: the profiler's op tree, with what the dispatcher said of each op, as a `Graph` like any other.

The tree comes from a trace (`Recording.ops`); storages, lines and modules from `_torch.dispatch`, joined by the trace's
external id. The same program runs again without the observer for the times: `tie` finds each of its ops in the graph.
"""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fxscope.columns import column, with_columns
from fxscope.index import grouped
from fxscope.model import Graph, Node, Op, StartUpOp, replace
from fxscope.op_names import expected_nature, op_name, out_of_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fxscope.model import Source

GRAPH_ID = "eager"
# What a compiled region is called in a trace: nothing inside is an eager op.
COMPILED_REGIONS = ("Torch-Compiled Region", "## Call CompiledFxGraph", "CompiledFunction")
# What Inductor's code runs as; a region without one (another backend, `torch.cond` by itself) calls eager ops.
_INDUCTOR_RUNS = "## Call CompiledFxGraph"
# What Dynamo and the profiler write besides ops.
NOT_OPS = ("ProfilerStep", "TorchDynamo Cache Lookup", "Pregraph bytecode", "AOTDispatcher Runtime Wrapper")
# What the graph is made of.
FIELDS = ("parent", "external_id", "sequence_number", "source", "shapes", "strides", "dtypes", "concrete_inputs")
_MAX_SKIPPED = 64  # ops in a row that were seen and left no event
_MAX_DIFFERENT = 3000  # ops of a step that differs from the graph; beyond, the alignment would take too long


def eager_graph(ops: Sequence[Op], seen: Sequence[Any] = (), seen_ids: Sequence[int] = ()) -> Graph:
    """The graph of one step's ops.

    Args:
        ops: the step's ops, of one run of the program.
        seen: what the dispatcher said, in order (`_torch.dispatch.SeenOp`).
        seen_ids: the external id of each op in `seen`.
    """
    return _graph_and_nodes(ops, seen, seen_ids)[0]


def _graph_and_nodes(
    ops: Sequence[Op], seen: Sequence[Any], seen_ids: Sequence[int], seen_names: Sequence[str] = ()
) -> tuple[Graph, dict[int, str]]:
    """The graph, and which node each op (by id) is."""
    tree = op_tree(ops)
    facts = _paired(tree, seen, seen_ids, seen_names)
    names = _Names()
    inputs: dict[Any, Node] = {}
    node_of: dict[int, str] = {}  # op id → node
    producer: dict[int, str] = {}  # position in `seen` → node
    nodes: list[Node] = []
    for op in tree:
        name = node_of[op.id] = names.new(op.name)
        fact = facts.get(op.external_id) if op.external_id is not None else None
        parent = op.parent
        node = Node(
            name=name,
            op="dispatch",
            target=op.name,
            parent=node_of.get(parent) if parent is not None else None,
            sequence_number=op.sequence_number,
            source=op.source,
            expected=expected_nature(op.name),
        )
        if fact is not None:
            sources: list[str] = [_source_name(tensor, producer, inputs, names) for tensor in fact.inputs]
            producer[fact.position] = name
            node = replace(
                node,
                inputs=tuple(dict.fromkeys(sources)),
                outputs=tuple(tensor.meta for tensor in fact.outputs),
                arguments=fact.arguments,
                source=fact.source or op.source,
                sequence_number=fact.sequence_number if fact.sequence_number is not None else op.sequence_number,
                aliases=_chosen(sources, fact.aliases),
                mutates=_chosen(sources, fact.mutates),
            )
        nodes.append(node)
    return Graph(id=GRAPH_ID, stage="eager", nodes=(*inputs.values(), *_with_sources(nodes))), node_of


def _chosen(names: Sequence[str], positions: Iterable[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[position] for position in positions))


def _paired(
    tree: Sequence[Op], seen: Sequence[Any], seen_ids: Sequence[int], seen_names: Sequence[str] = ()
) -> dict[int, Any]:
    """External id → what was seen of it.

    Both are in order. A few ops that the dispatcher shows leave no event in the trace (a `detach` inside attention), so
    an op takes the next fact of its name and its shapes. Of ops that are not in the tree, in steps that are not kept,
    the names are known.
    """
    by_id = {op.external_id: op for op in tree if op.external_id is not None}
    facts: dict[int, Any] = {}
    position = 0
    for order, external_id in enumerate(seen_ids):
        op = by_id.get(external_id)
        name = op.name if op is not None else seen_names[order] if order < len(seen_names) else None
        end = min(len(seen), position + _MAX_SKIPPED)
        found = next((index for index in range(position, end) if _is_seen(op, name, seen[index])), None)
        if found is not None:
            facts[external_id] = seen[found]
            position = found + 1
    return facts


def _is_seen(op: Op | None, name: str | None, fact: Any) -> bool:
    if name != fact.name:
        return False
    if op is None:
        return True
    shapes: list[Any] = [shape for shape in op.shapes or () if isinstance(shape, (list, tuple)) and shape]
    first: tuple[Any, ...] | None = tuple(shapes[0]) if shapes else None
    if first is None or not fact.inputs or not all(isinstance(size, int) for size in first):
        return True
    return any(tensor.meta.shape == first for tensor in fact.inputs)


def program_graph(
    ops: Sequence[Op],
    seen: Sequence[Any],
    seen_ids: Sequence[int],
    unseen_ids: Iterable[int] = (),
    seen_names: Sequence[str] = (),
) -> tuple[Graph, tuple[Op, ...]]:
    """The graph of a whole program's eager ops, and the ops tied to its nodes.

    In it are the ops that the dispatcher saw, what calls them and what they call, and those that are known to have run
    out of its sight (in other threads). What Inductor's code runs is left out, it has graphs of its own; and what the
    compiler runs while it compiles. Steps of the same ops are one stretch of the graph; each other kind of step is
    another.
    """
    tree = op_tree(ops)
    by_id = {op.id: op for op in tree}
    compiled: set[int] = set()
    inside: set[int] = set()  # an op that was seen, or below one
    wanted = {*seen_ids, *unseen_ids}
    inductors = _above(by_id, (op for op in tree if op.name.startswith(_INDUCTOR_RUNS)))
    for op in tree:  # parents first
        if op.parent in compiled or (op.id in inductors and op.name.startswith(COMPILED_REGIONS)):
            compiled.add(op.id)
        elif (op.external_id is not None and op.external_id in wanted) or op.parent in inside:
            inside.add(op.id)
    keep = _above(by_id, (by_id[op_id] for op_id in inside))
    steps = grouped((op for op in tree if op.id in keep), lambda op: op.step)
    kinds: dict[tuple[str, ...], list[Op]] = {}
    same = [(kinds.setdefault(tuple(op.name for op in step), step), step) for step in steps.values()]
    shown = [op for step in kinds.values() for op in step]
    graph, nodes = _graph_and_nodes(shown, seen, seen_ids, seen_names)
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


def adopted_graph(ops: Sequence[Op], seen: Sequence[Any]) -> Graph:
    """The graph of the first step of a trace in which nothing was observed.

    The same ops may have been observed before it, in the program's warm-up: then storages and lines are known from
    there. They are the same ops if a whole stretch of what was seen agrees with the step, op for op.
    """
    first = min((op.step for op in ops), default=0)
    tree = [op for op in op_tree(op for op in ops if op.step == first) if not op.name.startswith("ProfilerStep")]
    compiled: set[int] = set()
    for op in tree:
        if op.name.startswith(COMPILED_REGIONS) or op.parent in compiled:
            compiled.add(op.id)
    tree = [op for op in tree if op.id not in compiled and not op.name.startswith(NOT_OPS)]
    ids, stretch = _same_stretch(tree, seen)
    with_ids = [replace(op, external_id=op.id) for op in tree]
    return eager_graph(with_ids, [_elsewhere(fact) for fact in stretch], ids)


def _elsewhere(fact: Any) -> Any:
    """Leave out a line that belongs to the warm-up: only in a module's `forward` is it the same line again."""
    source = fact.source
    if source is None or source.function == "forward":
        return fact
    return replace(fact, source=replace(source, file=None, line=None, code=None, function=None))


def _same_stretch(tree: Sequence[Op], seen: Sequence[Any]) -> tuple[list[int], Sequence[Any]]:
    """(op ids, what was seen of each), from the last stretch that agrees; nothing where none does."""
    names = [fact.name for fact in seen]
    parents = {op.parent for op in tree}
    for start in range(len(names) - 1, -1, -1):
        position = start
        ids: list[int] = []
        matched: set[int] = set()  # ops that were seen, or below one
        for op in tree:
            if op.parent in matched:
                matched.add(op.id)
            elif position < len(names) and op.name == names[position]:
                position += 1
                ids.append(op.id)
                matched.add(op.id)
            elif op.id not in parents and op.name.startswith("aten::"):
                break  # every op without children was seen, or is below one that was
        else:
            if ids:
                return ids, seen[start:position]
    return [], ()


def start_up_ops(
    calls: Sequence[tuple[str, float, int | None]], seen: Sequence[Any], seen_names: Sequence[str]
) -> tuple[StartUpOp, ...]:
    """The ops of a program's start-up by name and line, most expensive first.

    Args:
        calls: of outermost ops: name, µs, and the position among the names of the first op that went through the mode.
        seen: what the mode wrote down, in order.
        seen_names: of the ops in the trace that went through it.
    """
    places = dict(_align(list(seen_names), [fact.name for fact in seen]))
    found: dict[tuple[str, Source | None], tuple[int, float]] = {}
    for name, duration, position in calls:
        place = None if position is None else places.get(position)
        key = (name, None if place is None else seen[place].source)
        count, total = found.get(key, (0, 0.0))
        found[key] = (count + 1, total + duration)
    ops = (
        StartUpOp(name=name, count=count, total_us=total, source=source)
        for (name, source), (count, total) in found.items()
    )
    return tuple(sorted(ops, key=lambda op: -op.total_us))


def flat_ops(seen: Sequence[Any]) -> list[Op]:
    """The ops that the dispatcher saw as a tree without nesting, for where there is no trace."""
    return [
        Op(
            id=fact.position,
            name=fact.name,
            category="cpu_op",
            start_ns=fact.position,
            duration_ns=0,
            external_id=fact.position,
        )
        for fact in seen
    ]


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
    names = [_unobserved(node.target) for node in wanted]
    category, step, start, duration, ids, name = (
        column(ops, field) for field in ("category", "step", "start_ns", "duration_ns", "id", "name")
    )
    unobserved = {text: _unobserved(text) for text in set(name)}
    steps = grouped(
        (position for position in (range(len(ops)) if only is None else only) if category[position] == "cpu_op"),
        lambda position: step[position],
    )
    graphs, nodes = column(ops, "graph"), column(ops, "node")
    for _, positions in sorted(steps.items()):
        positions.sort(key=lambda position: (start[position], -duration[position], ids[position]))
        for index, place in _align([unobserved[name[position]] for position in positions], names):
            graphs[positions[index]], nodes[positions[index]] = graph.id, wanted[place].name
    return with_columns(ops, graph=graphs, node=nodes)


@lru_cache(maxsize=8192)
def _unobserved(name: str) -> str:
    """A name under which an op is the same with and without an observer.

    Under a dispatch mode autograd adds gradients out of place (`add`, not `add_`), and `reshape` calls `view`, not
    `_reshape_alias` (torch 2.13: torch/csrc/autograd/input_buffer.cpp, aten/src/ATen/native/TensorShape.cpp).
    """
    return "view" if op_name(name) == "_reshape_alias" else out_of_place(name)


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
