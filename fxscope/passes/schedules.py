"""Brings the scheduler's view to the kernel calls: which scheduler and graph nodes each runs, what it reads and writes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fxscope.dtypes import ITEM_BYTES
from fxscope.index import index_of, known_sum
from fxscope.model import (
    BufferAccess,
    Graph,
    How,
    KernelCall,
    Node,
    Recording,
    Schedule,
    ScheduledGroup,
    SchedulerNode,
    TensorMeta,
    replace,
)
from fxscope.op_names import is_convolution, op_name, runs_as, without_number
from fxscope.passes.flops import tensor_bytes
from fxscope.passes.footprint import footprint
from fxscope.passes.slices import Flow, OpSlices, Slice, nodes_of_calls

UNCAST = "_float32"  # ends the name of a reduction that a kernel of its own casts to its buffer's dtype


def schedules(recording: Recording) -> Recording:
    """Recording → Recording whose calls know their scheduler nodes, accesses and bytes, and which nodes ran in them."""
    calls = dict(index_of(recording).calls)
    of_graph = index_of(recording).calls_of_graph
    told: set[str] = set()  # graphs of which the scheduler knows where each node ran
    for schedule in recording.schedules:
        graph = index_of(recording).graphs.get(schedule.graph) or Graph(id=schedule.graph, stage="post_grad")
        slices = OpSlices(schedule, graph)
        told |= {schedule.graph} if slices.told else set()
        for call, members in match(of_graph.get(schedule.graph, []), schedule):
            calls[call.id] = with_members(call, members, schedule, slices)
        for call in of_graph.get(schedule.graph, []) if schedule.partials else ():
            calls[call.id] = with_reduction(calls[call.id], schedule)
    for graph in recording.graphs:
        if graph.id in of_graph and graph.id not in told:
            # The scheduler knows buffers as they are stored; an operand's shape as the call passes it is the wrapper's.
            as_written = of_graph[graph.id]
            if all(call.writes is None for call in as_written):  # a C++ wrapper: its buffers are not read
                continue
            mine = with_opaque_nodes([calls[call.id] for call in as_written], graph, index_of(recording).calls)
            mine = with_only_places(mine, graph, as_written)
            calls |= {call.id: call for call in nodes_of_calls(mine, as_written, graph)}
    return replace(recording, calls=tuple(calls[call.id] for call in recording.calls))


def with_opaque_nodes(calls: list[KernelCall], graph: Graph, as_written: Mapping[str, KernelCall]) -> list[KernelCall]:
    """The calls of extern kernels that no file names the node of, with the node that does the same work.

    That is the first node left whose op has the kernel's name and whose operands have the shapes of the call's, among those
    that torch's comment above the call names, if it does: wrapper and graph keep one order among equals.
    """
    ran = {name for call in calls for name in call.nodes if not call.is_generated}
    left = [node for node in graph.nodes if node.name not in ran and node.op == "call_function"]
    by_name = {node.name: node for node in graph.nodes}
    result: list[KernelCall] = []
    for call in calls:
        if call.is_extern and not call.nodes:
            same = [node for node in left if runs_as(call.kernel, node.target)]
            same = [node for node in same if node.name in call.source_names] or same
            node = next((node for node in same if _operands_fit(node, as_written[call.id], by_name)), None)
            if node is not None:
                left.remove(node)
                call = replace(call, nodes=(node.name,), nodes_evidence="order")
        result.append(call)
    return result


def with_only_places(calls: list[KernelCall], graph: Graph, as_written: Sequence[KernelCall]) -> list[KernelCall]:
    """The calls of C++ kernels, of which no file names the nodes, with the nodes that can run in no other generated call.

    A node runs before the library calls that need it, and in a call that reads all it needs.
    """
    flow = Flow(graph)
    own = {call.nodes[-1]: place for place, call in enumerate(calls) if call.nodes and not call.is_generated}
    left = {name: node for name, node in flow.nodes.items() if flow.computes(name) and name not in own}
    # The nodes that a library call of unknown node may run
    of_library = {
        place: {name for name, node in left.items() if runs_as(call.kernel, node.target)}
        for place, call in enumerate(calls)
        if not call.nodes and not call.is_generated
    }
    if not all(of_library.values()):
        return calls
    before = dict.fromkeys(flow.order, len(calls))
    for name in reversed(flow.order):
        for source in flow.sources(name, ()):
            before[source] = min(before.get(source, 0), own.get(name, before[name]))
    taken = set().union(*of_library.values())
    loops = [name for name, node in left.items() if node.target.startswith(("aten.", "prims.")) and name not in taken]
    held: dict[str, set[str]] = {name: {name} for name in flow.order}  # buffer → nodes whose value may lie in it
    found: dict[int, list[str]] = {}
    for place, written in enumerate(as_written):
        mine = {name for name in loops if place < before[name]}
        if calls[place].is_generated:
            given = {name for access in written.reads or () for name in held.get(access.buffer, ())}
            inside = Slice(flow, given, (), mine)
            found[place] = [name for name in loops if name in mine and inside.grounded(name)]
        else:
            values = of_library.get(place, calls[place].nodes)
            mine = {name for name in flow.order if flow.base(name) in values}
        for access in written.writes or ():
            held[access.buffer] = held.get(access.buffer, set()) | mine
    places = Counter(name for names in found.values() for name in names)
    return [
        replace(call, nodes=tuple(name for name in found[place] if places[name] == 1))
        if call.type == "cpp" and not call.nodes
        else call
        for place, call in enumerate(calls)
    ]


def _operands_fit(node: Node, call: KernelCall, by_name: Mapping[str, Node]) -> bool:
    """Return whether the shapes that a call reads are those of a node's inputs, as far as both are known."""
    read = {access.shape for access in call.reads or () if access.shape is not None}
    # The bias of a convolution may be added elsewhere.
    inputs = node.inputs[:2] if op_name(node.target) == "convolution" else node.inputs
    needed = [by_name[name].outputs[0].shape for name in inputs if name in by_name and by_name[name].outputs]
    written = {access.shape for access in call.writes or () if access.shape is not None}
    made = node.outputs[0].shape if node.outputs else None
    return (not read or all(shape in read for shape in needed)) and (not written or made is None or made in written)


def match(calls: Sequence[KernelCall], schedule: Schedule) -> list[tuple[KernelCall, tuple[str, ...]]]:
    """Pair the calls of one wrapper with the scheduler nodes that were written into them.

    The scheduler writes code in the order in which the wrapper calls it, so the n-th call of a kernel is the n-th time
    that kernel was written. Printed IR does not name the kernels that Inductor writes, nor a user's; it does tell their
    order. An extern may be called under another name than its node has: the buffers that it writes decide.
    """
    by_name = {node.name: node for node in schedule.nodes}
    written: dict[object, list[tuple[str, ...]]] = defaultdict(list)  # by kernel, else whether it is a user's
    for kernel, members in schedule.kernels:
        written[op_name(kernel) if kernel else by_name[members[0]].type == "user_triton"].append(members)

    def key(call: KernelCall) -> object:
        is_users = call.type == "user_triton"
        # The wrapper numbers a user's kernels: `double_0` is the first call form of `double`.
        names = (op_name(call.kernel), without_number(call.kernel) if is_users else "")
        return next((name for name in names if name in written), None if call.is_extern else is_users)

    keys = [key(call) for call in calls]
    for users in (True, False):
        if keys.count(users) != len(written[users]):
            written[f"without an order: {users}"] = written.pop(users)
    result: list[tuple[KernelCall, tuple[str, ...]]] = []
    missed: list[KernelCall] = []
    of_line: dict[object, tuple[str, ...]] = {}  # the function of a subgraph that is called again has the same lines
    for call, place in zip(calls, keys, strict=True):
        members = of_line.get(call.code.call)
        if members is None and written.get(place):
            members = written[place].pop(0)
        if members is None:
            missed.append(call)
            continue
        result.append((call, members))
        if call.subgraph and call.code.call:
            of_line[call.code.call] = members
    left = [members for queue in written.values() for members in queue]
    for call in missed:
        buffers = {access.buffer for access in call.writes or ()}
        for members in left:
            if any(access.buffer in buffers for name in members if name in by_name for access in by_name[name].writes):
                left.remove(members)
                result.append((call, members))
                break
    return result


def with_members(call: KernelCall, members: tuple[str, ...], schedule: Schedule, slices: OpSlices) -> KernelCall:
    nodes = [slices.by_name[name] for name in members if name in slices.by_name]
    # Those that only name an item of a result: the item is written by the same call.
    items = [item for node in nodes for access in node.writes for item in slices.items.get(access.buffer, ())]
    nodes += [item for item in items if item not in nodes]
    if not nodes:
        return call
    call = replace(call, scheduler_nodes=tuple(node.name for node in nodes))
    if not slices.told:  # printed: the bytes are those of the code
        return call
    groups = [schedule.groups[position] for position in dict.fromkeys(node.group for node in nodes)]
    reads, writes = accesses(nodes, groups, schedule)
    read_bytes, written_bytes = (known_sum(access.bytes for access in side) for side in (reads, writes))
    call = replace(
        call,
        reads=reads,
        writes=writes,
        bytes_read=read_bytes if read_bytes is not None else call.bytes_read,
        bytes_written=written_bytes if written_bytes is not None else call.bytes_written,
        device=call.device or next((node.device for node in nodes if node.device), None),
    )
    ran = slices.ran(nodes)
    parts = slices.flow.sorted(name for node in nodes for name in node.parts)
    biases = tuple(name for name in parts if is_convolution(slices.flow.nodes[name].target))
    named = slices.only_named(nodes, call.nodes)
    lines = tuple(line for line in call.lines if line[1] in {*ran, *biases})  # a layout copy is no run of its demander
    evidence = "lowering" if ran else None
    return replace(call, nodes=ran, named_only=named, biases=biases, lines=lines, nodes_evidence=evidence)


def with_reduction(call: KernelCall, schedule: Schedule) -> KernelCall:
    """The call with the reduction that it finishes, if it reduces or casts what a mix-order kernel left."""
    made = {access.buffer.removesuffix(UNCAST) for access in call.writes or ()} & schedule.partials.keys()
    if call.scheduler_nodes or not call.is_extern:
        return call
    makers = [node for node in schedule.nodes if any(access.buffer in made for access in node.writes)]
    ran = tuple(name for node in makers for name in (node.ran or ())[-1:])
    names, evidence = tuple(node.name for node in makers), "lowering" if ran else None
    return replace(call, scheduler_nodes=names, nodes=ran, nodes_evidence=evidence)


def accesses(
    nodes: Sequence[SchedulerNode], groups: Sequence[ScheduledGroup], schedule: Schedule
) -> tuple[tuple[BufferAccess, ...], tuple[BufferAccess, ...]]:
    """Reads and writes of a call: its groups' and its nodes' of split groups, but not what its loops wrote before."""
    renames, items = schedule.renames, list[SchedulerNode | ScheduledGroup]()
    for group in groups:
        inside = [node for node in nodes if node.name in group.members]
        items += [group] if len(inside) == len(group.members) else inside
    inner = {access.buffer for node in nodes if node.type == "multi_output" for access in node.reads}
    # The tuple of an extern's results is no memory: its items are.
    reads = merge(list(from_outside(items, renames)), renames)
    writes = merge([tuple(schedule.partials.get(x.buffer, x) for x in item.writes) for item in items], renames)
    made = tuple(sized(item) for item in writes if item.buffer not in inner)
    return tuple(item for item in reads if item.buffer not in inner), made


def from_outside(
    items: Iterable[SchedulerNode | ScheduledGroup], renames: Mapping[str, str]
) -> Iterable[tuple[BufferAccess, ...]]:
    """Yield of each item the reads of what none before it has written as a whole."""
    written: set[str] = set()
    for item in items:
        yield tuple(access for access in item.reads if renames.get(access.buffer, access.buffer) not in written)
        for access in item.writes:
            if access.bytes is not None and access.bytes == sized(replace(access, bytes=None)).bytes:
                written.add(renames.get(access.buffer, access.buffer))


def sized(access: BufferAccess) -> BufferAccess:
    """The access with its buffer's size, where the scheduler counted no bytes (items of an extern's result)."""
    if access.bytes is not None or access.shape is None or access.dtype is None:
        return access
    return replace(access, bytes=tensor_bytes([TensorMeta(shape=access.shape, dtype=access.dtype)]))


def merge(lists: Sequence[tuple[BufferAccess, ...]], renames: Mapping[str, str]) -> tuple[BufferAccess, ...]:
    """One access per memory, however often it is mutated: what several loops touch together, each once."""
    found: dict[str, BufferAccess] = {}
    for access in (access for items in lists for access in items):
        buffer = renames.get(access.buffer, access.buffer)
        before = found.get(buffer)
        found[buffer] = replace(access, buffer=buffer) if before is None else united(before, access)
    return tuple(found.values())


def united(one: BufferAccess, other: BufferAccess) -> BufferAccess:
    """Two accesses to one memory as one: their sum at most, where it is not known what they share."""
    item, deps = (ITEM_BYTES.get(one.dtype or ""), tuple(dict.fromkeys((*one.deps, *other.deps))))
    if not (one.deps and other.deps):
        deps = ()
    if one.bytes is None or other.bytes is None:
        return replace(one, bytes=None, deps=deps)
    bounds = [one.bytes + other.bytes, sized(replace(one, bytes=None)).bytes]
    bounds += [footprint(deps) * item] if deps and item else []
    return replace(one, bytes=min(size for size in bounds if size is not None), deps=deps)


def aliases(schedule: Schedule) -> dict[str, str]:
    """Map each buffer to one name for the memory it shares: renamed by mutation, or parts of a concatenation."""
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.setdefault(name, name) != name:
            name = root[name]
        return name

    for new, old in schedule.renames.items():
        root[find(new)] = find(old)
    for node in schedule.nodes:
        if node.type in ("nop", "view"):
            for write in node.writes:
                for read in node.reads:
                    root[find(schedule.renames.get(read.buffer, read.buffer))] = find(write.buffer)
    return {name: find(name) for name in list(root)}


def how_joined(a: Sequence[str], b: Sequence[str], nodes: Mapping[str, SchedulerNode]) -> How:
    """Say how two nodes that were joined relate, from what they read and write."""
    kinds = [{nodes[name].type for name in side if name in nodes} for side in (a, b)]
    if "foreach" in kinds[0] | kinds[1]:
        return "foreach"
    if kinds[0] & {"template", "user_triton"}:
        return "epilogue"
    if "template" in kinds[1]:
        return "prologue"
    written = {item.buffer for name in a if name in nodes for item in nodes[name].writes}
    read = {item.buffer for name in b if name in nodes for item in nodes[name].reads}
    if not written & read:
        return "horizontal"
    return "reduction" if "reduction" in kinds[0] | kinds[1] else "vertical"


def groups_of(a: Sequence[str], b: Sequence[str], nodes: Mapping[str, SchedulerNode]) -> tuple[int, int] | None:
    """The final groups of two nodes that stayed apart; `None` where one was split, or they were joined with each other."""
    one, other = ({nodes[name].group for name in side} for side in (a, b))
    return (one.pop(), other.pop()) if len(one) == len(other) == 1 and one != other else None
