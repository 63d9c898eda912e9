"""Turns the scheduler's live objects into a `Schedule`: names, sizes, index expressions and bytes, nothing that holds
on to torch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fxscope.model import BufferAccess, FusionAttempt, How, Problem, Schedule, ScheduledGroup, SchedulerNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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

    def emitted(self, kernel: str, nodes: Any) -> None:
        """Keep that code was written for these nodes. Kernel and nodes come in the wrapper's order."""
        names = flatten(node for node in nodes if type(getattr(node, "node", None)).__name__ != "MultiOutput")
        if names:  # an item of an extern's result is a line of the wrapper, but no call
            self.kernels.append((kernel, names))


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


def schedule_of(graph: Any, observed: ObservedGraph, *, graph_id: str, problems: list[Problem]) -> Schedule | None:
    """The schedule of a graph whose code has been generated."""
    from torch._inductor.virtualized import V

    with V.set_graph_handler(graph):
        return _schedule(graph, observed, graph_id=graph_id, problems=problems)


def _schedule(graph: Any, observed: ObservedGraph, *, graph_id: str, problems: list[Problem]) -> Schedule | None:
    scheduler = getattr(graph, "scheduler", None)
    if scheduler is None:
        return None
    order = {node: position for position, node in enumerate(_fx_nodes(graph))}
    nodes: list[SchedulerNode] = []
    groups: list[ScheduledGroup] = []
    group_of: dict[str, int] = {}
    for position, group in enumerate(scheduler.nodes):
        members: list[Any] = list(group.get_nodes())
        reads, writes = _accesses(group, graph, problems)
        groups.append(
            ScheduledGroup(
                members=members_of(group),
                type=type_of(group),
                reads=reads,
                writes=writes,
                flops=_flops(group, problems),
            )
        )
        for member in members:
            group_of[member.get_name()] = position
            nodes.append(_node(member, position, order, scheduler, graph, problems))
    return Schedule(
        graph=graph_id,
        nodes=tuple(nodes),
        groups=tuple(groups),
        attempts=_attempts(scheduler, observed, group_of, problems),
        kernels=tuple(observed.kernels),
        renames={str(new): str(old) for new, old in getattr(scheduler, "mutation_real_name", {}).items()},
        outputs=tuple(dict.fromkeys(str(name) for name in graph.get_output_names())),
        limits=limits(),
    )


def _fx_nodes(graph: Any) -> Iterable[Any]:
    module = getattr(graph, "orig_gm", None) or getattr(graph, "module", None)
    return module.graph.nodes if module is not None else ()


def _node(
    node: Any, group: int, order: dict[Any, int], scheduler: Any, graph: Any, problems: list[Problem]
) -> SchedulerNode:
    operation = node.node
    origins = sorted(getattr(operation, "origins", ()) or (), key=lambda item: (order.get(item, 1 << 30), item.name))
    origin_node = getattr(operation, "origin_node", None)
    reads, writes = _accesses(node, graph, problems)
    device = node.get_device()
    extern = node.is_extern() and type_of(node) not in ("multi_output", "nop")
    return SchedulerNode(
        name=node.get_name(),
        type=type_of(node),
        kernel=_told("kernel", problems, extern_kernel_name, node) if extern else None,
        group=group,
        origins=tuple(item.name for item in origins),
        origin_node=getattr(origin_node, "name", None),
        reads=reads,
        writes=writes,
        ranges=_told("ranges", problems, _ranges, node),
        flops=_flops(node, problems),
        device=str(device) if device is not None else None,
        stream=getattr(scheduler, "node_to_stream", {}).get(node),
    )


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


def _flops(node: Any, problems: list[Problem]) -> int | None:
    # torch counts each estimate in its metrics: leave its counter as it was.
    from torch._dynamo.utils import counters

    before = counters["inductor"]["flop_count"]
    flops = _told("operations", problems, node.estimate_flops)
    counters["inductor"]["flop_count"] = before
    if not before:
        counters["inductor"].pop("flop_count", None)
    return int(flops) if flops else None


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
        if reading and node.is_extern() and hasattr(node.node, "inputs"):
            reached = _told("sizes of arguments", problems, _reached, node.node) or {}
            sizes = {name: min(size, reached.get(name, size)) for name, size in sizes.items()}
        internal = _internal(node, graph) if len(node.get_nodes()) > 1 else frozenset[str]()
        by_buffer: dict[str, list[Any]] = {}
        for dependency in dependencies:
            if type(dependency).__name__ != "WeakDep" and dependency.name not in internal:
                by_buffer.setdefault(dependency.name, []).append(dependency)
        result.append(
            tuple(_access(name, items, sizes.get(name), graph, problems) for name, items in sorted(by_buffer.items()))
        )
    return result[0], result[1]


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


def _internal(node: Any, graph: Any) -> frozenset[str]:
    """The buffers that only the members of a fused node use: they are never stored."""
    inside = set(node.get_nodes())
    found: set[str] = set()
    for member in inside:
        for buffer in member.get_outputs():
            users = {user.node for user in buffer.users}
            if users and users <= inside:
                found.add(buffer.get_name())
    return frozenset(found)


def _access(
    name: str, dependencies: Sequence[Any], size_bytes: int | None, graph: Any, problems: list[Problem]
) -> BufferAccess:
    buffer: Any = graph.name_to_buffer.get(name) or graph.graph_inputs.get(name)
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
        cause = _cause(scheduler, node1, node2, problems) if reason == "no shared data" else None
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


def _cause(scheduler: Any, node1: Any, node2: Any, problems: list[Problem]) -> str | None:
    """Ask Inductor why two nodes with a common buffer share no data."""
    common = node1.read_writes.buffer_names() & node2.read_writes.buffer_names()
    if not common:
        return None
    return _told("causes", problems, scheduler.decide_fusion_fail_reason, node1, node2, common)


def limits() -> dict[str, Any]:
    """Inductor's switches that bear on fusion, as they are now."""
    from torch._inductor import config

    found: dict[str, Any] = {}
    entries: Any = getattr(config, "_config", {})
    for name in LIMITS:
        if getattr(entries.get(name), "deprecated", False):
            continue  # to read it warns, in the program
        value: Any = config
        try:
            for part in name.split("."):
                value = getattr(value, part)
        except AttributeError:
            continue
        found[name] = value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
    return found
