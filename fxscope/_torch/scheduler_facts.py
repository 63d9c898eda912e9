"""Turns the scheduler's live objects into a `Schedule`: names, sizes, index expressions and bytes, nothing that holds
on to torch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from fxscope._torch import made_for
from fxscope._torch.hooks import is_deprecated, switch_value
from fxscope.model import BufferAccess, FusionAttempt, How, Problem, Schedule, ScheduledGroup, SchedulerNode, replace
from fxscope.passes.flops import addresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fxscope._torch.tap import Tap

# Scheduler node → the nodes that run in it, those of which it computes a part, whether it computes anything
Executed: TypeAlias = "dict[str, tuple[list[Any], list[Any], bool]]"

# Scheduler nodes → line of their kernel → its text, and the graph's node that it computes
Lines: TypeAlias = "dict[tuple[str, ...], dict[int, tuple[str, str]]]"

CYCLE = "fusing the two would make a cycle"  # ours: torch's method answers without words

# Inductor's switches that bear on fusion. Those that this torch lacks are left out.
LIMITS = (
    "max_fusion_size",
    "max_fusion_buffer_group_pairwise_attempts",
    "score_fusion_memory_threshold",
    "max_fusion_unique_io_buffers",
    "aggressive_fusion",
    "epilogue_fusion",
    "prologue_fusion",
    "benchmark_fusion",
    "benchmark_epilogue_fusion",
    "benchmark_template_fusion",  # its name since torch 2.15
    "max_autotune",
    "max_autotune_gemm",
    "max_autotune_gemm_backends",
    "loop_ordering_after_fusion",
    "loop_reindexing_after_fusion",
    "epilogue_fusion_user_defined_triton_kernel",
    "loop_index_inversion_in_fusion",
    "expand_dimension_for_pointwise_nodes",
    "combo_kernels",
    "realize_opcount_threshold",
    "realize_reads_threshold",
    "split_reductions",
    "triton.tiling_prevents_pointwise_fusion",
    "triton.tiling_prevents_reduction_fusion",
    "triton.mix_order_reduction",
    "triton.nested_reduction",
    "triton.cudagraphs",
    "cpp.max_horizontal_fusion_size",
    "cpp.fallback_scatter_reduce_sum",
    "conv_1x1_as_mm",
    "force_disable_caches",
)


class ObservedGraph:
    """What was heard while one graph was scheduled. Holds torch's nodes until the graph is collected."""

    def __init__(self, graph: Any = None) -> None:
        self.graph = graph
        self.pairs: dict[tuple[int, int], tuple[int, Any, Any, bool, list[str]]] = {}
        self.benchmarked: dict[tuple[str, str], str] = {}
        self.joins: list[tuple[int, tuple[str, ...], tuple[str, ...], How | None]] = []
        self.kernels: list[tuple[str, tuple[str, ...]]] = []
        self.lines: Lines = {}
        self.combos: dict[
            int, tuple[Any, Any]
        ] = {}  # id(kernel) → the kernel, kept alive, and the nodes written into it
        self._clock = 0

    def asked(self, node1: Any, node2: Any, answer: bool, reasons: list[str]) -> None:
        """Keep the last answer for a pair; the nodes are kept alive, so their ids stay theirs."""
        self._clock += 1
        self.pairs[id(node1), id(node2)] = (self._clock, node1, node2, answer, reasons)

    def said(self, name1: str, name2: str, words: str) -> None:
        """Keep what the benchmark of a possible fusion said."""
        self.benchmarked[name1, name2] = words

    def joined(self, node1: Any, node2: Any, how: How | None) -> None:
        """Keep that two nodes became one."""
        self._clock += 1
        self.joins.append((self._clock, members_of(node1), members_of(node2), how))

    def emitted(self, kernel: str, nodes: Any, lines: dict[int, tuple[str, str]] | None = None) -> None:
        """Keep that code was written for these nodes. Kernel and nodes come in the wrapper's order."""
        names = flatten(node for node in nodes if type(getattr(node, "node", None)).__name__ != "MultiOutput")
        if names:  # an item of an extern's result is a line of the wrapper, but no call
            self.kernels.append((kernel, names))
            self.lines[names] = lines or {}


def members_of(node: Any) -> tuple[str, ...]:
    """The names of the original scheduler nodes in a (fused) one."""
    return tuple(item.get_name() for item in node.get_nodes())


def flatten(nodes: Any) -> tuple[str, ...]:
    """The scheduler nodes' names in a node schedule, which also holds markers of loops and nested lists."""
    names: list[str] = []
    for node in nodes:
        if isinstance(node, (list, tuple)):
            names += flatten(node)
        elif hasattr(node, "get_nodes"):
            names += members_of(node)
    return tuple(dict.fromkeys(names))


def how_joined(node1: Any, node2: Any) -> How:
    """Say how two nodes about to be fused relate."""
    if node1.is_foreach() or node2.is_foreach():
        return "foreach"
    if node1.is_template():
        return "epilogue"
    if node2.is_template():
        return "prologue"
    if node1.is_extern():  # a user's Triton kernel that takes an epilogue
        return "epilogue"
    if node1.get_operation_names() & node2.ancestors:
        return "reduction" if node1.is_reduction() or node2.is_reduction() else "vertical"
    return "horizontal"


def how_of_type(node: Any) -> How | None:
    """Say how a node was made, where its class says so."""
    by_class: dict[str, How] = {
        "FusedMixOrderReductions": "mix_order",
        "FusedNestedReductions": "nested_reduction",
        "ForeachKernelSchedulerNode": "foreach",
    }
    return by_class.get(type(node).__name__)


def extern_kernel_name(node: Any) -> str:
    """The name under which the wrapper calls an extern node's kernel, as far as the node knows it."""
    operation: Any = node.node
    if operation is None:  # a user's Triton kernel with a fused epilogue
        operation = next((item.node for item in node.get_nodes() if item.is_extern()), None)
    if type(operation).__name__ == "UserDefinedTritonKernel":
        return str(operation.get_kernel_and_metadata()[0].__name__)
    for attribute in ("python_kernel_name", "cpp_kernel_name"):
        name = getattr(operation, attribute, None)
        if name:
            return str(name)
    overload = getattr(operation, "op_overload", None)
    return f"torch.ops.{overload}" if overload is not None else type(operation).__name__


def type_of(node: Any) -> str:
    name = type(node).__name__
    if node.is_template():
        return "template"
    if node.is_foreach():
        return "foreach"
    if name == "GroupedSchedulerNode":
        return "grouped"
    if name == "NopKernelSchedulerNode":
        return "nop"
    if node.is_extern():
        operation = {type(item.node).__name__ for item in node.get_nodes()}
        if "MultiOutput" in operation:
            return "multi_output"
        if "UserDefinedTritonKernel" in operation:
            return "user_triton"
        return "fallback" if operation & {"FallbackKernel"} else "extern"
    if len(node.get_nodes()) > 1:
        return "reduction" if node.is_reduction() else "pointwise"
    data = type(getattr(node.node, "data", None)).__name__
    return {"Reduction": "reduction", "Scan": "scan", "Sort": "sort", "Scatter": "scatter"}.get(
        data, "reduction" if node.is_reduction() else "pointwise"
    )


def schedule_of(
    graph: Any, observed: ObservedGraph, *, graph_id: str, tap: Tap, problems: list[Problem]
) -> Schedule | None:
    """The schedule of a graph whose code has been generated."""
    from torch._inductor.virtualized import V

    with V.set_graph_handler(graph):
        return _schedule(graph, observed, graph_id=graph_id, tap=tap, problems=problems)


def _schedule(
    graph: Any, observed: ObservedGraph, *, graph_id: str, tap: Tap, problems: list[Problem]
) -> Schedule | None:
    scheduler = getattr(graph, "scheduler", None)
    if scheduler is None:
        return None
    order = {node: position for position, node in enumerate(_fx_nodes(graph))}
    nodes: list[SchedulerNode] = []
    groups: list[ScheduledGroup] = []
    group_of: dict[str, int] = {}
    executed = _executed(scheduler, graph.module.graph, tap)
    for position, group in enumerate(scheduler.nodes):
        members: list[Any] = list(group.get_nodes())
        reads, writes = _accesses(group, graph, problems)
        groups.append(ScheduledGroup(members=members_of(group), type=type_of(group), reads=reads, writes=writes))
        for member in members:
            group_of[member.get_name()] = position
            nodes.append(_node(member, position, order, scheduler, graph, executed, problems))
    renames = {str(new): str(old) for new, old in _versions(scheduler).items()}
    return Schedule(
        graph=graph_id,
        nodes=tuple(_by_version(nodes, renames)),
        groups=tuple(groups),
        attempts=_attempts(scheduler, observed, group_of, problems),
        kernels=tuple(observed.kernels),
        renames=renames,
        outputs=tuple(dict.fromkeys(str(name) for name in graph.get_output_names())),
        saved=_told("saved tensors", problems, _saved, graph) or (),
        limits=limits(),
    )


def _saved(graph: Any) -> tuple[str, ...]:
    """The buffers that a forward graph returns for its backward alone: those after its own results."""
    metadata = getattr(torch._guards.TracingContext.try_get(), "fw_metadata", None)
    if graph.is_inference or graph.is_backward or metadata is None:
        return ()
    names = [item.get_name() if hasattr(item, "get_name") else None for item in graph.graph_outputs]
    own = set(names[: metadata.num_forward])
    return tuple(dict.fromkeys(name for name in names[metadata.num_forward :] if name and name not in own))


def _by_version(nodes: Iterable[SchedulerNode], renames: Mapping[str, str]) -> Iterator[SchedulerNode]:
    """The nodes, in the order in which they run, each reading the version of a memory that is there when it runs.

    Where torch lays out a node's loops anew (`refresh_dependencies`), its reads have the name of the memory again.
    """
    latest: dict[str, str] = {}
    for node in nodes:
        known = {access.buffer for access in node.reads}
        names = (latest.get(renames.get(access.buffer, access.buffer), access.buffer) for access in node.reads)
        yield replace(
            node,
            reads=tuple(
                access if name in known else replace(access, buffer=name)
                for access, name in zip(node.reads, names, strict=True)
            ),
        )
        latest |= {renames[access.buffer]: access.buffer for access in node.writes if access.buffer in renames}


def _fx_nodes(graph: Any) -> Iterable[Any]:
    module = getattr(graph, "orig_gm", None) or getattr(graph, "module", None)
    return module.graph.nodes if module is not None else ()


def _node(
    node: Any,
    group: int,
    order: dict[Any, int],
    scheduler: Any,
    graph: Any,
    executed: Executed,
    problems: list[Problem],
) -> SchedulerNode:
    operation = node.node
    origins = sorted(getattr(operation, "origins", ()) or (), key=lambda item: (order.get(item, 1 << 30), item.name))
    origin_node = getattr(operation, "origin_node", None)
    reads, writes = _accesses(node, graph, problems)
    device = node.get_device()
    ran, parts, computes = executed.get(node.get_name(), (None, (), None))
    extern = node.is_extern() and type_of(node) not in ("multi_output", "nop")
    return SchedulerNode(
        name=node.get_name(),
        type=type_of(node),
        kernel=_told("kernel", problems, extern_kernel_name, node) if extern else None,
        group=group,
        origins=tuple(item.name for item in origins),
        origin_node=getattr(origin_node, "name", None),
        ran=None if ran is None else _names(ran, order),
        parts=_names(parts, order),
        reads=reads,
        writes=writes,
        ranges=_told("ranges", problems, _ranges, node),
        device=str(device) if device is not None else None,
        stream=getattr(scheduler, "node_to_stream", {}).get(node),
        computes=computes,
        made_for=_told("made for", problems, made_for.of, operation),
    )


def _names(nodes: Iterable[Any], order: Mapping[Any, int]) -> tuple[str, ...]:
    return tuple(item.name for item in sorted(nodes, key=lambda item: order.get(item, 1 << 30)))


def _executed(scheduler: Any, graph: Any, tap: Tap) -> Executed:
    """Scheduler node → the graph's nodes that run in it, and those of which it computes a part only.

    A node that computes something somewhere does not run where its code only moves data: the layout of an operand, the
    memory that a scatter goes on writing. What a library's kernel or a template computes runs there; a part of it that
    loops compute (the bias of a convolution) is no run of its own.
    """
    members = [member for group in scheduler.nodes for member in group.get_nodes()]
    members = [member for member in members if type_of(member) not in ("nop", "multi_output")]
    told = {member.get_name(): tap.ran(member, graph) for member in members}
    whole = {item.get_name() for item in members if type_of(item) in ("template", "user_triton", "extern", "fallback")}
    own = {item for name in whole for item in told[name] or ()}
    computing = own | {item for found in told.values() for item, computes in (found or {}).items() if computes}
    result: Executed = {}
    for name, found in told.items():
        if found is not None:
            ops = {item: computes for item, computes in found.items() if item.op == "call_function"}
            loops = [item for item, computes in ops.items() if item not in own and (computes or item not in computing)]
            parts = [item for item, computes in ops.items() if item in own and computes]
            result[name] = (list(ops), [], True) if name in whole else (loops, parts, any(ops.values()))
    return result


def _ranges(node: Any) -> str | None:
    group = getattr(node, "group", None)
    return str(group[1]) if group else None


def _told(what: str, problems: list[Problem], function: Any, *arguments: Any) -> Any:
    """What torch says, or `None` where it has nothing to say (a tuple of buffers has no size) or fails."""
    try:
        return function(*arguments)
    except NotImplementedError:
        return None
    except Exception as error:
        _problem(what, error, problems)
        return None


def _problem(what: str, error: Exception, problems: list[Problem]) -> None:
    problem = Problem(where=f"scheduler: {what}", message=f"{type(error).__name__}: {error}")
    if problem not in problems:
        problems.append(problem)


def _accesses(
    node: Any, graph: Any, problems: list[Problem]
) -> tuple[tuple[BufferAccess, ...], tuple[BufferAccess, ...]]:
    """What a node reads and writes. A buffer that became internal to a fused node is in neither."""
    read_writes = node.read_writes
    result: list[tuple[BufferAccess, ...]] = []
    for reading, dependencies in ((True, read_writes.reads), (False, read_writes.writes)):
        try:
            sizes = node.get_read_write_buffer_accesses(include_reads=reading, include_writes=not reading)
        except Exception as error:
            _problem("bytes per access", error, problems)
            sizes: dict[str, int] = {}
        if reading:
            sizes |= _told("sizes of what was written in part", problems, _behind_versions, sizes, node, graph) or {}
        if reading and node.is_extern() and hasattr(node.node, "inputs"):
            reached = _told("sizes of arguments", problems, _reached, node.node) or {}
            sizes = {name: min(size, reached.get(name, size)) for name, size in sizes.items()}
        internal = _internal(node) if len(node.get_nodes()) > 1 else frozenset[str]()
        if not reading:
            kept = _kept(node, internal, graph)
            for member in node.get_nodes() if kept else ():
                own = _told("bytes per access", problems, member.get_read_write_buffer_accesses, False, True) or {}
                sizes |= {name: size for name, size in own.items() if name in kept}
            internal -= kept
        elif len(node.get_nodes()) > 1:
            # By another index than it was written by (a reduction walks it in rows), torch keeps it among the reads.
            internal |= {write.name for write in read_writes.writes}
        stored = (_told("mutations", problems, _only_stored, node) if reading else None) or ()
        by_buffer: dict[str, list[Any]] = {}
        for dependency in dependencies:
            kind = type(dependency).__name__
            ordering = kind == "WeakDep" or (kind == "StarDep" and dependency.name in stored)
            if not ordering and dependency.name not in internal:
                by_buffer.setdefault(dependency.name, []).append(dependency)
        for name, items in by_buffer.items():
            looked_up = _told("points", problems, _looked_up, node, name) if reading and name in sizes else None
            points = looked_up or (_told("points", problems, _points, node, items) if name in sizes else None)
            buffer = _memory(name, node.scheduler, graph)
            dtype = _told("dtype", problems, buffer.get_dtype) if points is not None and buffer is not None else None
            if dtype is not None:
                whole = _told("sizes", problems, _bytes_of, buffer) if looked_up else sizes[name]
                sizes[name] = min(sizes[name] if whole is None else whole, points * dtype.itemsize)
        result.append(
            tuple(
                _access(name, items, sizes.get(name), _memory(name, node.scheduler, graph), problems)
                for name, items in sorted(by_buffer.items())
            )
        )
    return result[0], result[1]


def _versions(scheduler: Any) -> Mapping[str, str]:
    """What torch calls a memory after each write in place → the memory."""
    return getattr(scheduler, "mutation_real_name", {})


def _memory(name: str, scheduler: Any, graph: Any) -> Any:
    """The buffer or graph input itself: a version of it that was written in place may be of a view, the part written."""
    real = _versions(scheduler).get(name, name)
    return graph.name_to_buffer.get(real) or graph.graph_inputs.get(real)


def _behind_versions(sizes: Mapping[str, int], node: Any, graph: Any) -> dict[str, int]:
    """Version → bytes of all of its memory, of those that torch counts no larger than the part that was written."""
    found: dict[str, int] = {}
    for name, size in sizes.items():
        if name in _versions(node.scheduler):
            found[name] = max(size, _bytes_of(_memory(name, node.scheduler, graph)) or 0)
    return found


def _bytes_of(buffer: Any) -> int | None:
    """The size of a buffer's memory, `None` where it is only known when it runs."""
    lengths: list[int | None] = list(map(_number, buffer.get_size()))
    return None if None in lengths else math.prod(length or 0 for length in lengths) * buffer.get_dtype().itemsize


def _only_stored(node: Any) -> set[str]:
    """The versions of memory that loops write again without reading them: torch orders the writes by a read.

    What adds to memory (`atomic_add`) reads it.
    """
    if node.is_extern() or node.is_template():
        return set()
    real = _versions(node.scheduler)
    written = {
        real.get(output.get_name(), output.get_name())
        for member in node.get_nodes()
        for output in member.get_outputs()
        if output.get_mutations()
    }
    return {
        read.name
        for read in node.read_writes.reads
        if type(read).__name__ == "StarDep" and read.mode is None and real.get(read.name, read.name) in written
    }


def _points(node: Any, dependencies: Sequence[Any]) -> int | None:
    """How many addresses loops can touch of a buffer at most, `None` where they are not told one by one.

    torch bounds those of a single loop; of several joined it says the whole buffer, however few rows of it they look up.
    """
    if node.is_extern() or node.is_template():
        return None
    total, spans, loops = 0, list[tuple[int, int] | None](), list[tuple[int, list[tuple[int, int]]] | None]()
    for dependency in dependencies:
        if type(dependency).__name__ != "MemoryDep":
            return None
        sizes = dependency.size
        if dependency.is_indirect():  # its address depends on loop variables that are not in it
            members = [member for member in node.get_nodes() if dependency in {*member.read_writes.reads_and_writes()}]
            if not members:  # what was fused keeps the names of loop variables that its members had before
                members = [
                    member
                    for member in node.get_nodes()
                    if any(item.name == dependency.name for item in member.read_writes.reads_and_writes())
                ]
            sizes = max((sum(map(list, member.get_ranges()), list[Any]()) for member in members), key=len, default=None)
        else:
            variables = dependency.index.free_symbols
            sizes = [size for name, size in zip(dependency.var_names, sizes, strict=True) if name in variables]
        if sizes is None or None in map(_number, sizes):
            return None
        points, masked = math.prod(map(int, sizes)), _under_masks(node, dependency)
        total += points if masked is None else min(points, masked)
        spans.append(_span(dependency))
        loops.append(_strides(dependency) if masked is None else None)
    plain = [loop for loop in loops if loop is not None]
    together = addresses(plain) if len(plain) == len(loops) else None
    if together is not None:
        return together
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return total
    return min(total, max(high for _, high in known) - min(low for low, _ in known) + 1)


def _looked_up(node: Any, name: str) -> int | None:
    """How many addresses the loops of a node touch at most of a buffer that they read at places which they load or compute:
    one for each value of the loop variables on which such a place depends.

    torch counts an iteration as one address. A rotary embedding's row depends on the position alone, for all heads; of
    four places that one iteration looks up (a bilinear sample) torch makes one. `None` where not all reads are such.
    """
    real = _versions(node.scheduler)
    found: dict[Any, int | None] = {}
    for member in node.get_nodes():
        reads = [read for read in member.read_writes.reads if read.name == name]
        if not reads:
            continue
        body = getattr(member, "_body", None)
        if body is None or not all(type(read).__name__ == "MemoryDep" and read.is_indirect() for read in reads):
            return None
        behind: dict[str, tuple[frozenset[Any], int]] = {}
        _places(body, body.root_block, behind)
        for buffer, index, _ in _loads(body, body.root_block, {}):
            if real.get(buffer, buffer) != real.get(name, name):
                continue
            symbols = [behind.get(str(symbol), (frozenset({symbol}), 0)) for symbol in index.free_symbols]
            lengths = [
                _number(body.var_ranges.get(one)) for one in frozenset[Any]().union(*(some for some, _ in symbols))
            ]
            ranges = tuple(map(str, body.var_ranges.values()))
            known = index.subs(
                {symbol: str(behind[str(symbol)][1]) for symbol in index.free_symbols if str(symbol) in behind}
            )
            found[known, ranges] = None if None in lengths else math.prod(length or 0 for length in lengths)
    return None if not found or None in found.values() else sum(points or 0 for points in found.values())


def _places(body: Any, block: Any, found: dict[str, tuple[frozenset[Any], int]]) -> tuple[frozenset[Any], int]:
    """Fill in, for each variable of an index that a loop body loads or computes (`indirect0`), the loop variables on which
    it depends, and a number that tells what is computed: two bodies may compute the same.
    """
    values: dict[Any, tuple[frozenset[Any], int]] = {}
    for node in block.graph.nodes:
        symbols = frozenset[Any]().union(*(values[item][0] for item in node.all_input_nodes))
        known: list[Any] = [values[item][1] if isinstance(item, type(node)) else str(item) for item in node.args]
        target = str(node.target)
        if target == "get_index":
            index = body.indexing_exprs[node.args[0]]
            places = {symbol: found[str(symbol)] for symbol in index.free_symbols if str(symbol) in found}
            symbols = frozenset(index.free_symbols - places.keys()).union(*(some for some, _ in places.values()))
            known = [str(index.subs({symbol: str(number) for symbol, (_, number) in places.items()}))]
        elif target.startswith("masked_subblock"):
            inside, number = _places(body, body.subblocks[target], found)
            symbols, known = symbols | inside, [*known, number]
        values[node] = symbols, hash((target if not target.startswith("set_indirect") else "", *known))
        if target.startswith("set_indirect"):
            found[target.removeprefix("set_")] = values[node]
    every = frozenset[Any]().union(*(some for some, _ in values.values()))
    return every, hash(tuple(number for _, number in values.values()))


def _under_masks(node: Any, dependency: Any) -> int | None:
    """How many addresses a loop touches of a buffer that it loads under masks alone: a part of a `cat`, what is padded.

    torch leaves masks out of its sets. `None` where the loads have no mask of comparisons between a loop variable and a
    number, or several loops or places are meant.
    """
    owners = [member for member in node.get_nodes() if dependency in member.read_writes.reads]
    if len(owners) != 1 or sum(item.name == dependency.name for item in owners[0].read_writes.reads) != 1:
        return None
    body = getattr(owners[0], "_body", None)
    if body is None:
        return None
    loads = {
        (index, tuple(bounds.items()))
        for name, index, bounds in _loads(body, body.root_block, {})
        if name == dependency.name
    }
    total = 0
    for index, limits in loads:
        bounds = dict(limits)
        if not bounds.keys() & index.free_symbols or not index.free_symbols <= body.var_ranges.keys():
            return None
        points = 1
        for variable in index.free_symbols:
            size, (low, high) = _number(body.var_ranges[variable]), bounds.get(variable, (0, math.inf))
            if size is None:
                return None
            points *= int(max(0, min(high, size) - max(low, 0)))
        total += points
    return total if loads else None


def _loads(body: Any, block: Any, bounds: dict[Any, tuple[float, float]]) -> Iterator[tuple[str, Any, dict]]:
    """(buffer, index, what masks leave of loop variables: from, to) of each load in a loop body."""
    values: dict[Any, Any] = {}
    for node in block.graph.nodes:
        known = [values.get(item, item) for item in node.args]
        if node.target == "get_index":
            values[node] = body.indexing_exprs[known[0]]
        elif node.target in ("index_expr", "value_expr", "constant"):
            values[node] = known[1]
        elif node.target in ("lt", "le", "gt", "ge"):
            values[node] = _bounds(node.target, known[1], known[2])
        elif node.target in ("and_", "logical_and", "bitwise_and"):
            values[node] = _both(*(item if isinstance(item, dict) else {} for item in known[1:3]))
        elif node.target == "load":
            yield known[1], known[2], bounds
        elif str(node.target).startswith("masked_subblock"):
            inside = _both(bounds, known[0] if isinstance(known[0], dict) else {})
            yield from _loads(body, body.subblocks[node.target], inside)


def _bounds(comparison: str, index: Any, number: Any) -> dict[Any, tuple[float, float]]:
    """What a comparison of one loop variable, or one and a number, leaves of it."""
    symbols = getattr(index, "free_symbols", ())
    if len(symbols) != 1 or _number(number) is None:
        return {}
    (variable,) = symbols
    offset = _number(index - variable)
    if offset is None:
        return {}
    limit = int(number) - offset
    low, high = {
        "lt": (-math.inf, limit),
        "le": (-math.inf, limit + 1),
        "gt": (limit + 1, math.inf),
        "ge": (limit, math.inf),
    }[comparison]
    return {variable: (low, high)}


def _both(a: dict[Any, tuple[float, float]], b: dict[Any, tuple[float, float]]) -> dict[Any, tuple[float, float]]:
    whole = -math.inf, math.inf
    found = {name: (a.get(name, whole), b.get(name, whole)) for name in {**a, **b}}
    return {name: (max(one[0], two[0]), min(one[1], two[1])) for name, (one, two) in found.items()}


def _span(dependency: Any) -> tuple[int, int] | None:
    """The lowest and the highest address of a loop's access, `None` unless its index is a sum of multiples."""
    if dependency.is_indirect():
        return None
    low = high = rest = dependency.index
    for name, size in zip(dependency.var_names, dependency.size, strict=True):
        step = dependency.index.coeff(name)
        rest = rest - step * name
        steps = [size - 1, 0] if getattr(step, "is_nonnegative", False) else [0, size - 1]
        low, high = low.subs(name, steps[1]), high.subs(name, steps[0])
    found = [_number(value) for value in (rest, low, high)]
    return (found[1], found[2]) if found[0] is not None and found[1] is not None and found[2] is not None else None


def _strides(dependency: Any) -> tuple[int, list[tuple[int, int]]] | None:
    """The lowest address of a loop's access and its (stride, size)s, `None` unless its index is a sum of multiples."""
    if dependency.is_indirect():
        return None
    rest, found = dependency.index, list[tuple[int, int]]()
    for name, size in zip(dependency.var_names, dependency.size, strict=True):
        step, count = _number(dependency.index.coeff(name)), _number(size)
        if step is None or count is None:
            return None
        rest = rest - dependency.index.coeff(name) * name
        found += [(step, count)] if step else []
    low = _number(rest)
    return None if low is None else (low, found)


def _reached(operation: Any) -> dict[str, int]:
    """Buffer → bytes of the views of it that an extern's arguments are; torch counts the whole buffer.

    A buffer is left out where one of them has no size, or one that is only known when it runs.
    """
    from torch.utils._pytree import tree_leaves

    found: dict[str, int | None] = {}
    for argument in tree_leaves(list(operation.inputs)):
        if not hasattr(argument, "get_name"):  # no tensor
            continue
        size, stride = (getattr(argument, f"maybe_get_{what}", lambda: None)() for what in ("size", "stride"))
        before = found.get(argument.get_name(), 0)
        if before is None or size is None or stride is None or None in map(_number, (*size, *stride)):
            found[argument.get_name()] = None
            continue
        elements = math.prod(int(length) for length, step in zip(size, stride, strict=True) if int(step) != 0)
        found[argument.get_name()] = before + elements * argument.get_dtype().itemsize
    return {name: size for name, size in found.items() if size is not None}


def _number(value: Any) -> int | None:
    return int(value) if getattr(value, "is_Integer", isinstance(value, int)) else None


def _kept(node: Any, internal: frozenset[str], graph: Any) -> frozenset[str]:
    """Those of a fused node's own buffers that its code stores, for a later loop of it, in memory of their own.

    What lies where a result of the node is written in the end is that result's memory.
    """
    removed: Any = getattr(graph, "removed_buffers", internal)  # an older torch: all of them
    stored = internal - set(removed) - set(getattr(graph, "inplaced_to_remove", ()))
    places: dict[str, str] = getattr(getattr(graph, "wrapper_code", None), "reuses", {})

    def place(name: str) -> str:
        while name in places:
            name = places[name]
        return name

    taken = {place(item.name) for item in node.read_writes.writes if item.name not in internal}
    first = {place(name): name for name in sorted(stored, reverse=True)}
    return frozenset(name for memory, name in first.items() if memory not in taken)


def _internal(node: Any) -> frozenset[str]:
    """The buffers that only the members of a fused node use."""
    inside = set(node.get_nodes())
    found: set[str] = set()
    for member in inside:
        for buffer in member.get_outputs():
            users = {user.node for user in buffer.users}
            if users and users <= inside:
                found.add(buffer.get_name())
    return frozenset(found)


def _access(
    name: str, dependencies: Sequence[Any], size_bytes: int | None, buffer: Any, problems: list[Problem]
) -> BufferAccess:
    # A StarDep is of the whole buffer, and raises where its index is asked for.
    places = [item.index for item in dependencies if hasattr(item, "ranges") or type(item).__name__ == "MemoryDep"]
    dtype = _told("dtype", problems, buffer.get_dtype) if buffer is not None else None
    numbers = len(places) == len(dependencies) and all(getattr(place, "is_Integer", False) for place in places)
    if size_bytes is not None and dtype is not None and numbers:
        size_bytes = min(size_bytes, len(set(places)) * dtype.itemsize)  # one of the seeds of several dropouts
    return BufferAccess(
        buffer=name,
        bytes=int(size_bytes) if size_bytes is not None else None,
        shape=_dimensions(_told("shape", problems, buffer.get_size)) if buffer is not None else None,
        stride=_dimensions(_told("strides", problems, buffer.get_stride)) if buffer is not None else None,
        dtype=str(dtype).removeprefix("torch.") if dtype is not None else None,
        index=" | ".join(dict.fromkeys(map(str, places))) or None,
    )


def _dimensions(values: Any) -> tuple[int | str, ...] | None:
    if values is None:
        return None
    return tuple(str(value) if (number := _number(value)) is None else number for value in values)


def _attempts(
    scheduler: Any, observed: ObservedGraph, group_of: dict[str, int], problems: list[Problem]
) -> tuple[FusionAttempt, ...]:
    """The joins, and for each pair that stayed apart the last answer per direction.

    An answer about nodes that were joined with each other later says nothing any more and is dropped.
    """
    attempts = [FusionAttempt(a=a, b=b, fused=True, how=how, order=clock) for clock, a, b, how in observed.joins]
    if not attempts:
        attempts = _joins_of_groups(scheduler)
    last: dict[tuple[int, int], tuple[int, int, FusionAttempt]] = {}
    for clock, node1, node2, answer, reasons in observed.pairs.values():
        a, b = members_of(node1), members_of(node2)
        groups_a, groups_b = {group_of.get(name) for name in a}, {group_of.get(name) for name in b}
        if len(groups_a) != 1 or len(groups_b) != 1 or groups_a == groups_b or None in groups_a | groups_b:
            continue
        words = observed.benchmarked.get((node1.get_name(), node2.get_name())) if answer else None
        reason = words or (reasons[-1] if reasons else None)
        cause = _told("causes", problems, _cause, scheduler, node1, node2) if reason == "no shared data" else None
        attempt = FusionAttempt(
            a=a,
            b=b,
            fused=False,
            raw_reason=reason,
            cause=cause,
            order=clock,
            # A pair that could be fused and was not, without a word: another fusion went first.
            how=None,
        )
        if answer and words is None:
            attempt = FusionAttempt(a=a, b=b, fused=False, raw_reason=None, cause="could be fused", order=clock)
        key = (groups_a.pop() or 0, groups_b.pop() or 0)
        rank = (len(a) + len(b), clock)
        if key not in last or last[key][:2] < rank:
            last[key] = (*rank, attempt)
    attempts += [item[2] for item in last.values()]
    return tuple(sorted(attempts, key=lambda item: item.order))


def _joins_of_groups(scheduler: Any) -> list[FusionAttempt]:
    """The joins that the final groups imply, for a torch whose joins were not heard."""
    joins: list[FusionAttempt] = []
    for group in scheduler.nodes:
        members = list(group.get_nodes())
        if len(members) < 2 or type_of(group) in ("foreach", "grouped"):
            continue
        for position in range(1, len(members)):
            before, node = members[:position], members[position]
            written = {name for item in before for name in item.get_buffer_names()}
            flows = any(dependency.name in written for dependency in node.read_writes.reads)
            reduces = any(item.is_reduction() for item in (*before, node))
            how: How = "horizontal" if not flows else "reduction" if reduces else "vertical"
            if any(item.is_template() for item in (*before, node)):
                how = "prologue" if node.is_template() else "epilogue"
            names = tuple(item.get_name() for item in before)
            joins.append(FusionAttempt(a=names, b=(node.get_name(),), fused=True, how=how_of_type(group) or how))
    return joins


def _cause(scheduler: Any, node1: Any, node2: Any) -> str | None:
    """Ask Inductor why two nodes with a common buffer share no data."""
    common = node1.read_writes.buffer_names() & node2.read_writes.buffer_names()
    if not common:
        return None
    # Of an address that is loaded torch knows the whole buffer's size and takes the difference for a broadcast.
    looked_up = {
        item.name
        for node in (node1, node2)
        for item in node.read_writes.reads_and_writes()
        if item.name in common and _is_looked_up(item)
    }
    if looked_up and looked_up >= set(common):
        return str(dict.fromkeys(sorted(looked_up), "indirect"))
    common = type(common)(name for name in common if name not in looked_up)
    return scheduler.decide_fusion_fail_reason(node1, node2, common)


def _is_looked_up(dep: Any) -> bool:
    """Whether an access's address is loaded from memory; only `MemoryDep` can tell."""
    is_indirect = getattr(dep, "is_indirect", None)
    return is_indirect is not None and is_indirect()


def limits() -> dict[str, Any]:
    """Inductor's switches that bear on fusion, as they are now."""
    from torch._inductor import config

    found: dict[str, Any] = {}
    for name in LIMITS:
        if is_deprecated(config, name):
            continue
        try:
            value = switch_value(config, name)
        except AttributeError:
            continue
        found[name] = value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
    return found
