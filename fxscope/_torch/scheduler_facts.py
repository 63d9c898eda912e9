"""Turns the scheduler's live objects into a `Schedule`: names, sizes, index expressions and bytes, nothing that holds
on to torch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import methodcaller
from typing import Any, TypeAlias

import torch
from torch.utils._pytree import tree_leaves

from fxscope._torch import made_for
from fxscope._torch.hooks import switches
from fxscope._torch.loop_accesses import arguments_of, deps_of
from fxscope._torch.tap import Tap
from fxscope.model import (
    BufferAccess,
    FusionAttempt,
    How,
    MemoryRange,
    PeakMemory,
    Problem,
    Schedule,
    ScheduledGroup,
    SchedulerNode,
    replace,
)
from fxscope.op_names import expected_nature
from fxscope.passes.flops import numbers
from fxscope.passes.footprint import footprint, number
from fxscope.passes.fusion.reasons import LIMITS
from fxscope.passes.schedules import groups_of, how_joined
from fxscope.readers.schedule_text import EXTERN_TYPES

# Scheduler node → the nodes that run in it, those of which it computes a part, whether it computes anything
Executed: TypeAlias = "dict[str, tuple[list[Any], list[Any], bool]]"

# What a forward graph returns, by its node's name → the memory it lies in and its bytes; None: an input's memory
Saved: TypeAlias = "dict[str, tuple[str, int] | None]"

# Scheduler nodes → line of their kernel → its text, and the graph's node that it computes
Lines: TypeAlias = "dict[tuple[str, ...], dict[int, tuple[str, str]]]"

# How the nodes of a class were joined
JOINED: "dict[str, How]" = {
    "FusedMixOrderReductions": "mix_order",
    "FusedNestedReductions": "nested_reduction",
    "ForeachKernelSchedulerNode": "foreach",
}
_CLASSES = {"GroupedSchedulerNode": "grouped", "NopKernelSchedulerNode": "nop"}
_WHOLE = ("template", "user_triton", "extern", "fallback", "view")  # types of nodes that are one op each
PARTITIONS = "_fxscope_partitions"  # on a graph: the wrappers of its parts, where it is cut for CUDA graphs
CYCLE = "fusing the two would make a cycle"  # ours: torch's method answers without words


class ObservedGraph:
    """Facts of one graph's scheduling. Holds torch's nodes until the graph is collected."""

    def __init__(self, graph: Any = None) -> None:
        self.graph = graph
        self.pairs: dict[tuple[int, int], tuple[int, Any, Any, bool, list[str]]] = {}
        self.benchmarked: dict[tuple[str, str], str] = {}  # the result of the benchmark of a possible fusion
        self.joins: list[tuple[int, tuple[str, ...], tuple[str, ...], How | None]] = []
        self.kernels: list[tuple[str, tuple[str, ...]]] = []
        self.lines: Lines = {}
        self.partials: dict[str, BufferAccess] = {}
        self.refused = set[Any]()  # questions about two loops: their names, and `can_fuse`'s other arguments
        self._clock = 0

    def asked(self, node1: Any, node2: Any, answer: bool, reasons: list[str], *how: Any) -> None:
        """Keep the last answer for a pair; the nodes are kept alive, so their ids stay theirs."""
        if not (answer or node1.is_extern() or node2.is_extern()):
            self.refused.add((members_of(node1), members_of(node2), *how))
        self._clock += 1
        self.pairs[id(node1), id(node2)] = (self._clock, node1, node2, answer, reasons)

    def joined(self, node1: Any, node2: Any, how: How | None) -> None:
        self._clock += 1
        self.joins.append((self._clock, members_of(node1), members_of(node2), how))

    def emitted(self, kernel: str, nodes: Any, lines: dict[int, tuple[str, str]] | None = None) -> None:
        """Keep that code was written for these nodes. Kernel and nodes come in the wrapper's order."""
        names = flatten(node for node in nodes if type(getattr(node, "node", None)).__name__ != "MultiOutput")
        if names:  # an item of an extern's result is a line of the wrapper, but no call
            self.kernels.append((kernel, names))
            self.lines[names] = lines or {}


def members_of(node: Any) -> tuple[str, ...]:
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


def written_into(kernel: Any, given: Iterable[Any], scheduler: Any) -> list[Any]:
    """The nodes of a kernel: those given to `define_kernel`, and those whose buffers it stores or sums up in part.

    Each kernel of a foreach group is given the whole group; that of a nested reduction the outer reduction alone.
    """
    parts = getattr(kernel, "sub_kernels", (kernel,))
    stored = [name for part in parts for name in getattr(part, "store_buffer_names", ())]
    stored += [item.buffer_name for item in getattr(kernel, "saved_partial_accumulate", ())]
    makers = [scheduler.name_to_buf[name].defining_op for name in stored if name in scheduler.name_to_buf]
    return [*(node for node in given if not (makers and hasattr(node, "is_foreach") and node.is_foreach())), *makers]


def partials_of(kernel: Any) -> dict[str, BufferAccess]:
    """Buffer → its parts, which a mix-order kernel writes into its workspace for a reduction outside."""
    names = [item.buffer_name for item in getattr(kernel, "saved_partial_accumulate", ())]
    found: dict[str, BufferAccess] = {}
    for space in kernel.args.workspace_args if names else ():
        total, dtype = numbers(space.dtype.itemsize, number(space.count)), str(space.dtype).removeprefix("torch.")
        part = BufferAccess(buffer=space.outer_name, bytes=total and total // len(names), dtype=dtype)
        found |= dict.fromkeys(names, part)
    return found


def extern_kernel_name(node: Any) -> str:
    """The name under which the wrapper calls an extern node's kernel, as far as the node knows it."""
    operation: Any = node.node
    if operation is None:  # a user's Triton kernel with a fused epilogue
        operation = next((item.node for item in node.get_nodes() if item.is_extern()), None)
    if type(operation).__name__ == "UserDefinedTritonKernel":
        return str(operation.get_kernel_and_metadata()[0].__name__)
    if name := getattr(operation, "python_kernel_name", None) or getattr(operation, "cpp_kernel_name", None):
        return str(name)
    overload = getattr(operation, "op_overload", None)
    return f"torch.ops.{overload}" if overload is not None else type(operation).__name__


def type_of(node: Any) -> str:
    if node.is_template():
        return "template"
    if node.is_foreach():
        return "foreach"
    if (name := type(node).__name__) in _CLASSES:
        return _CLASSES[name]
    if node.is_extern():
        operations = {type(item.node).__name__ for item in node.get_nodes()}
        kernel: Any = node.node.inputs[0] if "MultiOutput" in operations else node.node
        if expected_nature(str(getattr(kernel, "op_overload", ""))) == "view":  # of a dtype, of complex numbers
            return "view"
        return next((kind for name, kind in EXTERN_TYPES.items() if name in operations), "extern")
    data = type(getattr(node.node, "data", None)).__name__  # none where several nodes are fused
    if data in ("Scan", "Sort", "Scatter"):
        return data.lower()
    return "reduction" if node.is_reduction() else "pointwise"


def schedule_of(
    graph: Any, observed: ObservedGraph, tap: Tap, problems: list[Problem], saved: Saved, *, graph_id: str = ""
) -> Schedule:
    """The schedule of a graph whose code has been generated; `saved`: what its forward returned, which this one takes."""
    from torch._inductor.virtualized import V

    with V.set_graph_handler(graph):
        return _Live(graph, tap, problems).schedule(observed, saved, graph_id)


def returned(graph: Any, schedule: Schedule) -> Saved:
    """Return where a forward's results lie: its backward frees a memory with the last of the views that it takes of it."""
    sizes = {item.buffer: item.bytes for item in (schedule.peak_memory.ranges if schedule.peak_memory else ())}
    reuses = _sharing(graph)
    found: Saved = {}
    for node, result in zip(graph.module.graph.output_node().args[0], graph.graph_outputs, strict=False):
        name = result.maybe_get_name() if hasattr(result, "maybe_get_name") else None
        memory = _memory_of(str(name), graph, reuses) if name and hasattr(node, "name") else None
        if memory in graph.graph_inputs or memory in sizes:
            found[node.name] = (memory, sizes[memory]) if memory in sizes else None
    return found


class _Live:
    def __init__(self, graph: Any, tap: Tap, problems: list[Problem]) -> None:
        self.graph, self.scheduler, self._problems = graph, graph.scheduler, problems
        # What torch calls a memory after each write in place → the memory
        self.versions: Mapping[str, str] = getattr(self.scheduler, "mutation_real_name", {})
        module = getattr(graph, "orig_gm", None) or graph.module
        self._order = {node: position for position, node in enumerate(module.graph.nodes)}
        members = [member for group in self.scheduler.nodes for member in group.get_nodes()]
        # Parts of a sum that a mix-order kernel leaves in its workspace
        self._unmade = {*graph.removed_buffers} - {dep.name for item in members for dep in item.read_writes.writes}
        self._executed = _executed(members, graph.module.graph, tap)

    def ask(self, what: str, function: Any, *arguments: Any) -> Any:
        """Return what torch says, or `None` where it has nothing to say (a tuple of buffers has no size) or fails."""
        try:
            return function(*arguments)
        except NotImplementedError:
            return None
        except Exception as error:
            problem = Problem(where=f"scheduler: {what}", message=f"{type(error).__name__}: {error}")
            if problem not in self._problems:
                self._problems.append(problem)
            return None

    def schedule(self, observed: ObservedGraph, saved: Saved, graph_id: str) -> Schedule:
        nodes: list[SchedulerNode] = []
        groups: list[ScheduledGroup] = []
        for position, group in enumerate(self.scheduler.nodes):
            reads, writes = self._accesses(group)
            groups.append(ScheduledGroup(members=members_of(group), type=type_of(group), reads=reads, writes=writes))
            nodes += [self._node(member, position) for member in group.get_nodes()]
        renames = {str(new): str(old) for new, old in self.versions.items()}
        nodes = list(_by_version(nodes, renames))
        return Schedule(
            graph=graph_id,
            nodes=tuple(nodes),
            groups=tuple(groups),
            attempts=self._attempts(observed, {node.name: node for node in nodes}),
            kernels=tuple(observed.kernels),
            renames=renames,
            outputs=tuple(dict.fromkeys(str(name) for name in self.graph.get_output_names())),
            partials=observed.partials,
            peak_memory=self.ask("peak memory", peak_memory, self.graph, observed, saved),
            saved=self.ask("saved tensors", _saved, self.graph) or (),
            limits={name: value for name, value in switches().items() if name in LIMITS},
        )

    def _node(self, node: Any, group: int) -> SchedulerNode:
        operation = node.node
        device = node.get_device()
        ran, parts, computes = self._executed.get(node.get_name(), (None, (), None))
        extern = node.is_extern() and type_of(node) not in ("multi_output", "nop")
        reads, writes = self._accesses(node)
        return SchedulerNode(
            name=node.get_name(),
            type=type_of(node),
            kernel=self.ask("kernel", extern_kernel_name, node) if extern else None,
            group=group,
            origins=self._names(getattr(operation, "origins", ()) or ()),
            origin_node=getattr(getattr(operation, "origin_node", None), "name", None),
            ran=None if ran is None else self._names(ran),
            parts=self._names(parts),
            reads=reads,
            writes=writes,
            device=str(device) if device is not None else None,
            stream=getattr(self.scheduler, "node_to_stream", {}).get(node),
            computes=computes,
            made_for=self.ask("made for", made_for.of, operation),
        )

    def _names(self, nodes: Iterable[Any]) -> tuple[str, ...]:
        return tuple(item.name for item in sorted(nodes, key=lambda item: (self._order.get(item, 1 << 30), item.name)))

    def _accesses(self, node: Any) -> tuple[tuple[BufferAccess, ...], tuple[BufferAccess, ...]]:
        """Return what a node reads and writes. A buffer that became internal to a fused node is in neither."""
        read = {item.name for item in node.read_writes.reads if type(item).__name__ != "WeakDep"} - self._unmade
        if hasattr(node.node, "arg_accesses"):  # a Triton kernel of the user's: torch orders it after all its arguments
            loaded = {item.get_name() for item in arguments_of(node.node, reading=True)}
            read = {name for name in read if self.versions.get(name, name) in loaded}
        written = {item.name for item in node.read_writes.writes}
        written |= {item.get_name() for item in _unread(node, self.graph)}
        kept = frozenset[str]()
        if len(node.get_nodes()) > 1:
            internal = _internal(node)
            kept = _kept(node, internal, self.graph)
            # By another index than it was written by (a reduction walks it in rows), torch keeps it among the reads.
            read, written = read - internal - written, written - (internal - kept)
        result: list[tuple[BufferAccess, ...]] = []
        for reading, names in ((True, read), (False, written)):
            sizes = self.ask("bytes per access", node.get_read_write_buffer_accesses, reading, not reading) or {}
            sizes |= dict.fromkeys(kept & names, None)
            found = (self._access(node, name, sizes, reading) for name in sorted(names))
            result.append(tuple(access for access in found if access is not None))
        return result[0], result[1]

    def _access(self, node: Any, name: str, sizes: Mapping[str, int | None], reading: bool) -> BufferAccess | None:
        """One access, with torch's size of it as far as that says no more; `None` where nothing is read."""
        buffer = self._memory(name)
        deps = self.ask("places", deps_of, node, name, reading, self.versions)
        if deps == ():  # torch orders what writes to memory again by a read of all of it, which no loop does
            return None
        asked = (methodcaller("get_size"), methodcaller("get_stride"), methodcaller("get_dtype"), _bytes_of)
        shape, stride, dtype, whole = (self.ask("memory", one, buffer) if buffer is not None else None for one in asked)
        size = sizes.get(name)
        # torch says of a version no more than the part that was written, and of several joined loops always the whole.
        if name in sizes and whole is not None and (deps or size is None or name in self.versions):
            size = whole if not deps or dtype is None else min(whole, footprint(deps) * dtype.itemsize)
        return BufferAccess(
            buffer=name,
            bytes=int(size) if size is not None else None,
            shape=_dimensions(shape),
            stride=_dimensions(stride),
            dtype=str(dtype).removeprefix("torch.") if dtype is not None else None,
            deps=deps or (),
        )

    def _memory(self, name: str) -> Any:
        """The memory of a buffer or graph input, as a version of it may be of a view only; `None` for what is no tensor."""
        real = self.versions.get(name, name)
        found = self.graph.name_to_buffer.get(real) or self.graph.graph_inputs.get(real)
        return None if isinstance(found, getattr(torch._inductor.ir, "NonTensorObj", ())) else found

    def _attempts(self, observed: ObservedGraph, nodes: Mapping[str, SchedulerNode]) -> tuple[FusionAttempt, ...]:
        """The joins, and per direction the last answer for each pair that stayed apart; not of nodes that were joined later."""
        attempts = [
            FusionAttempt(a=a, b=b, fused=True, how=how or how_joined(a, b, nodes), order=clock)
            for clock, a, b, how in observed.joins
        ]
        last: dict[tuple[int, int], tuple[int, Any, Any, bool, list[str]]] = {}
        for item in sorted(observed.pairs.values(), key=lambda item: (len(flatten(item[1:3])), item[0])):
            a, b = map(members_of, item[1:3])
            if nodes.keys() >= {*a, *b} and (key := groups_of(a, b, nodes)) is not None:
                last[key] = item
        for clock, node1, node2, answer, reasons in last.values():
            words = observed.benchmarked.get((node1.get_name(), node2.get_name())) if answer else None
            could_fuse = answer and words is None  # another fusion went first
            reason = None if could_fuse else words or (reasons[-1] if reasons else None)
            cause = self.ask("causes", _cause, self.scheduler, node1, node2) if reason == "no shared data" else None
            a, b = map(members_of, (node1, node2))
            found = FusionAttempt(a=a, b=b, fused=False, could_fuse=could_fuse, order=clock)
            attempts += [replace(found, raw_reason=reason, cause=cause)]
        return tuple(sorted(attempts, key=lambda item: item.order))


def _saved(graph: Any) -> tuple[str, ...]:
    """The buffers that a forward graph returns for its backward alone: those after its own results."""
    metadata = getattr(torch._guards.TracingContext.try_get(), "fw_metadata", None)
    if graph.is_inference or graph.is_backward or metadata is None:
        return ()
    names = [item.maybe_get_name() if hasattr(item, "maybe_get_name") else None for item in graph.graph_outputs]
    own = set(names[: metadata.num_forward])
    return tuple(dict.fromkeys(name for name in names[metadata.num_forward :] if name and name not in own))


def _by_version(nodes: Iterable[SchedulerNode], renames: Mapping[str, str]) -> Iterator[SchedulerNode]:
    """The nodes, in the order in which they run, each reading the version of a memory that is there when it runs.

    Where torch lays out a node's loops anew (`refresh_dependencies`), its reads have the name of the memory again.
    """
    latest: dict[str, str] = {}
    for node in nodes:
        known = {access.buffer for access in node.reads}
        now = [(access, latest.get(renames.get(access.buffer, access.buffer), access.buffer)) for access in node.reads]
        reads = tuple(access if name in known else replace(access, buffer=name) for access, name in now)
        yield replace(node, reads=reads)
        latest |= {renames[access.buffer]: access.buffer for access in node.writes if access.buffer in renames}


def _executed(members: Iterable[Any], graph: Any, tap: Tap) -> Executed:
    """Scheduler node → the graph's nodes that run in it, and those of which it computes a part only.

    A node does not run where its code only moves data: the layout of an operand, the memory that a scatter goes on
    writing. What a library's kernel or a template computes runs there, not in loops for a part of it (a bias).
    """
    members = [member for member in members if type_of(member) not in ("nop", "multi_output")]
    told = {member.get_name(): tap.ran(member, graph) for member in members}
    whole = {item.get_name() for item in members if type_of(item) in _WHOLE}
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


def _bytes_of(buffer: Any) -> int | None:
    return numbers(buffer.get_dtype().itemsize, *map(number, buffer.get_size()))


def _kept(node: Any, internal: frozenset[str], graph: Any) -> frozenset[str]:
    """A fused node's own buffers that its code stores for a later loop of it, in memory of their own and not a result's."""
    stored = internal - _not_stored(graph)
    reuses = _written_over(graph)
    taken = {_place(item.name, reuses) for item in node.read_writes.writes if item.name not in internal}
    first = {_place(name, reuses): name for name in sorted(stored, reverse=True)}
    return frozenset(name for memory, name in first.items() if memory not in taken)


def _not_stored(graph: Any) -> set[str]:
    return {*graph.removed_buffers, *graph.inplaced_to_remove}


def _wrappers(graph: Any) -> list[Any]:
    """The wrapper of a graph, and those of its parts where it is cut for CUDA graphs."""
    return [getattr(graph, "wrapper_code", None), *getattr(graph, PARTITIONS, ())]


def _written_over(graph: Any) -> dict[str, str]:
    """Buffer → the one that its kernel writes over."""
    return {name: base for item in _wrappers(graph) for name, base in getattr(item, "reuses", {}).items()}


def _sharing(graph: Any) -> dict[str, str]:
    """Buffer → the one whose memory it has: it is a view of it, or that is kept for it, or it is written over it."""
    lines = (line for wrapper in _wrappers(graph) for line in getattr(wrapper, "lines", ()))
    kept = {item.reused_as.get_name(): item.node.get_name() for item in lines if type(item).__name__ == "ReuseLine"}
    aliased = ((name, list(buffer.get_inputs_that_alias_output())) for name, buffer in graph.name_to_buffer.items())
    return {**kept, **{name: bases[0] for name, bases in aliased if bases}, **_written_over(graph)}


def _place(name: str, reuses: Mapping[str, str]) -> str:
    """The buffer whose memory a buffer is written into; else itself."""
    while name in reuses:
        name = reuses[name]
    return name


def _memory_of(name: str, graph: Any, reuses: Mapping[str, str]) -> str:
    """The buffer that was allocated for a buffer, which may be a part of a concatenation."""
    while view := getattr(getattr(graph.try_get_buffer(_place(name, reuses)), "layout", None), "view", None):
        name = str(view.get_name())
    return _place(name, reuses)


def _internal(node: Any) -> frozenset[str]:
    inside = set(node.get_nodes())
    used = [buffer for member in inside for buffer in member.get_outputs() if buffer.users]
    return frozenset(buffer.get_name() for buffer in used if {user.node for user in buffer.users} <= inside)


def _dimensions(values: Any) -> tuple[int | str, ...] | None:
    if values is None:
        return None
    known = ((number(value), value) for value in values)
    return tuple(str(value) if size is None else size for size, value in known)


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
        if item.name in common and hasattr(item, "is_indirect") and item.is_indirect()  # only `MemoryDep` has it
    }
    if looked_up and looked_up >= set(common):
        return str(dict.fromkeys(sorted(looked_up), "indirect"))
    common = type(common)(name for name in common if name not in looked_up)
    return scheduler.decide_fusion_fail_reason(node1, node2, common)


def peak_memory(graph: Any, observed: ObservedGraph, saved: Saved) -> PeakMemory | None:
    """Return what is alive at the peak of a scheduled graph, as Inductor plans it; `None` where it runs nothing.

    `observed`: the scheduler nodes of each kernel, in emission order. The wrapper allocates for all loops of a C++ function
    before it, and frees after it; a workspace lives as long as its kernel. `saved`: where a backward's inputs lie.
    """
    from torch._inductor import memory
    from torch.utils._ordered_set import OrderedSet

    nodes: list[Any] = list(graph.scheduler.nodes)
    if not nodes:
        return None
    outputs = OrderedSet(str(name) for name in graph.get_output_names())
    inputs = memory.get_freeable_input_buf(nodes, OrderedSet(graph.graph_inputs.keys()))
    memory.assign_memory_planning_info_for_scheduler_buffers(nodes, graph.scheduler.name_to_buf)
    ranges, *_ = memory.compute_memory_timeline(nodes, inputs, outputs)
    found = [(str(item.buffer.get_name()), item.size_free, item.start_step, item.end_step) for item in ranges]
    unread = {item.get_name(): (step, item) for step, node in enumerate(nodes) for item in _unread(node, graph)}
    found += [(name, _bytes_of(item), step, step) for name, (step, item) in unread.items()]
    # What torch 2.13 leaves out: the gradients that a backward is given, and copies that are saved in place of weights.
    readers = {dep.name: step for step, node in enumerate(nodes) for dep in node.read_writes.reads}
    given = sorted(name for name in readers.keys() - inputs.keys() if name.startswith("tangents") or saved.get(name))
    found += [(name, 1, 0, -1 if name in outputs else readers[name]) for name in given]
    inputs = {*inputs, *given}
    if not hasattr(torch.autograd.Function, "boxed_grads_call"):  # autograd holds them until the backward has returned
        inputs = {name for name in inputs if not name.startswith("tangents")}
    places = _places(nodes, observed.kernels)
    spans: dict[str, MemoryRange] = {}
    shared: dict[str, str] = {}  # memory of the forward → the first input that is a view of it
    not_stored, reuses = _not_stored(graph) - unread.keys(), _sharing(graph)
    for name, size_free, *steps in found:
        if size_free and name not in not_stored:  # the tuple of an extern's results is freed item by item
            start, end = (places[min(step, len(nodes) - 1)] for step in steps)
            memory_name = _memory_of(name, graph, reuses)
            if memory_name in graph.graph_inputs and (memory_name not in inputs or saved.get(memory_name, ()) is None):
                continue
            # Of an input, torch says the bytes that a kernel reads.
            size = _bytes_of(graph.graph_inputs[name]) if name in inputs else int(size_free)
            if (place := saved.get(memory_name)) is not None:
                size = max(size or 0, place[1])
                memory_name = shared.setdefault(place[0], memory_name)
            known = spans.get(memory_name) or MemoryRange(buffer=memory_name, bytes=0, first=start, last=end)
            spans[memory_name] = replace(
                known,
                reused_by=(*known.reused_by, *([name] if name != memory_name and name not in inputs else [])),
                bytes=max(known.bytes, size or int(size_free)),
                first=min(known.first, start),
                last=max(known.last, end),
            )
    made = {item.get_name(): place for node, place in zip(nodes, places, strict=True) for item in node.get_outputs()}
    for name, part in observed.partials.items():
        known = spans.get(part.buffer) or MemoryRange(buffer=part.buffer, bytes=0, first=made[name], last=made[name])
        spans[part.buffer] = replace(known, bytes=known.bytes + (part.bytes or 0))
    moments = range(max(places) + 1)
    sizes = [sum(item.bytes for item in spans.values() if item.first <= at <= item.last) for at in moments]
    place = max(range(len(sizes)), key=sizes.__getitem__)
    running = [node for node, at in zip(nodes, places, strict=True) if at == place]
    return PeakMemory(
        bytes=sizes[place],
        scheduler_nodes=tuple(name for node in running for name in members_of(node)),
        position=place,
        ranges=tuple(sorted(spans.values(), key=lambda item: (item.first, item.last))),
    )


def _unread(node: Any, graph: Any) -> list[Any]:
    """The results of a library's kernel that nothing reads: the wrapper frees them with the tuple of all of them."""
    items = (item for item in tree_leaves(getattr(node.node, "outputs", ())) if type(item).__name__ == "MultiOutput")
    return [item for item in items if item.get_name() in graph.removed_buffers]


def _places(nodes: Sequence[Any], kernels: Sequence[tuple[str, Sequence[str]]]) -> list[int]:
    """For each node, the number of its kernel; what runs no kernel of its own has a number, too, unless it runs nothing."""
    homes = {name: number for number, (_, members) in enumerate(kernels) for name in members}
    numbers: dict[int | str, int] = {}
    places: list[int] = []
    made: dict[str, int] = {}  # buffer → the place of what makes it: an extern makes all of its results at once
    for node in nodes:
        key = next((homes[item.get_name()] for item in node.get_nodes() if item.get_name() in homes), node.get_name())
        taken = [made[item.name] for item in node.read_writes.reads if item.name in made]
        if type_of(node) == "multi_output" and taken:
            places.append(taken[0])
        else:
            is_nop = places and type_of(node) == "nop"
            places.append(places[-1] if is_nop else numbers.setdefault(key, len(numbers)))
        made.update((item.get_name(), places[-1]) for item in node.get_outputs())
    return places
