"""Brings the scheduler's view to the kernel calls: which scheduler and graph nodes each runs, what it reads and writes."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from fxscope.index import index_of
from fxscope.model import (
    EXTERN,
    BufferAccess,
    Evidence,
    Graph,
    KernelCall,
    Node,
    Recording,
    Schedule,
    ScheduledGroup,
    SchedulerNode,
    TensorMeta,
    replace,
)
from fxscope.op_names import op_name, parse, runs_as
from fxscope.passes.flops import tensor_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Scheduler nodes that generate no kernel: their buffers are other nodes' buffers under another name.
TRANSPARENT = frozenset({"nop", "multi_output"})


def schedules(recording: Recording) -> Recording:
    """Recording → Recording whose calls know their scheduler nodes, accesses, bytes and flops, and which nodes ran in them."""
    calls = dict(index_of(recording).calls)
    of_graph = index_of(recording).calls_of_graph
    for schedule in recording.schedules:
        graph = index_of(recording).graphs.get(schedule.graph)
        known = {node.name for node in graph.nodes} if graph is not None else set[str]()
        mine = of_graph.get(schedule.graph, [])
        origins = Origins(schedule)
        for call, members in match(mine, schedule):
            calls[call.id] = with_members(call, members, schedule, origins, known)
        if graph is not None:
            calls |= {call.id: call for call in without_upstream([calls[call.id] for call in mine], schedule, graph)}
    for graph in recording.graphs:
        mine = [calls[call.id] for call in of_graph.get(graph.id, [])]
        # The scheduler knows buffers as they are stored; an operand's shape as the call passes it is the wrapper's.
        calls |= {call.id: call for call in with_opaque_nodes(mine, graph, index_of(recording).calls)}
    return replace(recording, calls=tuple(calls[call.id] for call in recording.calls))


def with_opaque_nodes(calls: list[KernelCall], graph: Graph, as_written: Mapping[str, KernelCall]) -> list[KernelCall]:
    """Return the calls of extern kernels that no file names the node of, with the node that does the same work.

    That is the first node left whose op has the kernel's name and whose operands have the shapes of the call's: wrapper
    and graph keep one order among equals.
    """
    ran = {name for call in calls for name in call.nodes}
    left = [node for node in graph.nodes if node.name not in ran and node.op == "call_function"]
    by_name = {node.name: node for node in graph.nodes}
    result: list[KernelCall] = []
    for call in calls:
        if call.nodes or not call.is_extern:
            result.append(call)
            continue
        same = [node for node in left if runs_as(call.kernel, node.target)]
        fitting = [node for node in same if _operands_fit(node, as_written[call.id], by_name)]
        if not fitting:
            result.append(call)
            continue
        left.remove(fitting[0])
        result.append(replace(call, nodes=(fitting[0].name,), nodes_evidence="order"))
    return result


def _operands_fit(node: Node, call: KernelCall, by_name: Mapping[str, Node]) -> bool:
    """Return whether the shapes that a call reads are those of a node's inputs, as far as both are known."""
    read = {access.shape for access in call.reads or () if access.shape is not None}
    needed = [by_name[name].outputs[0].shape for name in node.inputs if name in by_name and by_name[name].outputs]
    written = {access.shape for access in call.writes or () if access.shape is not None}
    made = node.outputs[0].shape if node.outputs else None
    return (not read or all(shape in read for shape in needed)) and (not written or made is None or made in written)


def without_upstream(calls: list[KernelCall], schedule: Schedule, graph: Graph) -> list[KernelCall]:
    """Return the calls without nodes that they cannot compute, because they do not read what it takes.

    torch lists a node under each kernel whose result comes from it: the second half of a split reduction has the same
    list as the first. Such a node is only named there, where another call does read what it takes.
    """
    by_name = {node.name: node for node in graph.nodes}
    stored: dict[str, set[str]] = {}  # buffer → the nodes whose result it holds
    for item in schedule.nodes:
        for access in item.writes:
            stored.setdefault(schedule.renames.get(access.buffer, access.buffer), set()).update(owned(item))
    able = {call.id: computable(call, by_name, stored) for call in calls if call.reads is not None}
    stores = {item.name: owned(item) for item in schedule.nodes}
    ran_in: dict[str, list[str]] = defaultdict(list)
    for call in calls:
        for name in call.nodes:
            ran_in[name].append(call.id)
    result: list[KernelCall] = []
    for call in calls:
        apart: list[str] = []
        for name in call.nodes if call.id in able and call.is_generated else ():
            if name in able[call.id] or any(name in stores.get(item, ()) for item in call.scheduler_nodes):
                continue
            if any(name in able.get(other, ()) for other in ran_in[name] if other != call.id):
                apart.append(name)
        if apart and len(apart) == len(call.nodes):
            # The second half of a split reduction reads only the first half's partial results: it is the reduction still.
            taken = {name for node in call.nodes if node in by_name for name in by_name[node].inputs}
            apart = [name for name in apart if name in taken]
        if apart:
            call = replace(
                call,
                nodes=tuple(name for name in call.nodes if name not in apart),
                named_only=tuple(dict.fromkeys((*call.named_only, *apart))),
            )
        result.append(call)
    return result


def computable(call: KernelCall, by_name: Mapping[str, Node], stored: Mapping[str, set[str]]) -> set[str]:
    """Return the nodes of a call that can be computed from the buffers it reads."""
    read = {access.buffer for access in call.reads or ()}
    given = {name for buffer in read for name in stored.get(buffer, ())} | read
    known: dict[str, bool] = {}
    for name in call.nodes:
        waiting = [name]
        while waiting:  # a graph of thousands of nodes in a row is deeper than Python's stack
            here = waiting[-1]
            node = by_name.get(here)
            inputs = [item for item in node.inputs if item not in given] if node is not None else []
            open_ones = [item for item in inputs if item not in known]
            if here in known or node is None or node.op in ("placeholder", "get_attr"):
                known.setdefault(here, node is not None and here in given)
                waiting.pop()
            elif open_ones:
                waiting += open_ones
            else:
                known[here] = all(known[item] for item in inputs)
                waiting.pop()
    return {name for name in call.nodes if known.get(name)}


def match(calls: Sequence[KernelCall], schedule: Schedule) -> list[tuple[KernelCall, tuple[str, ...]]]:
    """Pair the calls of one wrapper with the scheduler nodes that were written into them.

    The scheduler writes code in the order in which the wrapper calls it, so the n-th call of a kernel is the n-th time
    that kernel was written. A call that matches nothing is left out.
    """
    written: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for kernel, members in schedule.kernels:
        written[op_name(kernel)].append(members)
    result: list[tuple[KernelCall, tuple[str, ...]]] = []
    missed: list[KernelCall] = []
    for call in calls:
        queue = written.get(op_name(call.kernel))
        if queue:
            result.append((call, queue.pop(0)))
        else:
            missed.append(call)
    # The wrapper numbers a user's kernels: `double_0` is the first call form of `double`.
    for call in [call for call in missed if call.type == "user_triton"]:
        queue = written.get(re.sub(r"_\d+$", "", call.kernel))
        if queue:
            missed.remove(call)
            result.append((call, queue.pop(0)))
    left = [members for queue in written.values() for members in queue]
    # Printed IR does not name the kernels that Inductor writes, nor a user's; it does tell their order.
    by_name = {node.name: node for node in schedule.nodes}
    unnamed = [members for kernel, members in schedule.kernels if not kernel]
    for users in (True, False):
        theirs = [members for members in unnamed if (by_name[members[0]].type == "user_triton") == users]
        same = [call for call in missed if not call.is_extern]
        same = [call for call in same if (call.type == "user_triton") == users]
        if theirs and len(theirs) == len(same):
            result += zip(same, theirs, strict=True)
            missed = [call for call in missed if call not in same]
            left = [members for members in left if members not in theirs]
    # An extern may be called under another name than its node has: match what is left by the buffers it writes.
    for call in missed:
        buffers = {access.buffer for access in call.writes or ()}
        for members in left:
            outputs = {access.buffer for name in members if name in by_name for access in by_name[name].writes}
            if buffers & outputs:
                left.remove(members)
                result.append((call, members))
                break
    return result


def with_members(
    call: KernelCall, members: tuple[str, ...], schedule: Schedule, origins: Origins, known: set[str]
) -> KernelCall:
    """Return the call with what the scheduler knows of these scheduler nodes."""
    nodes = with_items([origins.by_name[name] for name in members if name in origins.by_name], origins)
    if not nodes:
        return call
    groups = [schedule.groups[position] for position in dict.fromkeys(node.group for node in nodes)]
    reads, writes = accesses(nodes, groups)
    read_bytes, written_bytes = total(reads), total(writes)
    flops = [item.flops for item in nodes if item.flops]
    call = replace(
        call,
        scheduler_nodes=tuple(node.name for node in nodes),
        reads=rename(reads, schedule),
        writes=rename(writes, schedule),
        bytes_read=read_bytes if read_bytes is not None else call.bytes_read,
        bytes_written=written_bytes if written_bytes is not None else call.bytes_written,
        flops=call.flops if call.flops is not None else (sum(flops) if flops else None),
        device=call.device or next((node.device for node in nodes if node.device), None),
    )
    if call.nodes:
        return call
    ran = origins.ran(nodes)
    evidence: Evidence = "origins"
    return replace(call, nodes=tuple(name for name in ran if name in known), nodes_evidence=evidence)


def with_items(nodes: list[SchedulerNode], origins: Origins) -> list[SchedulerNode]:
    """Return the nodes and those that only name an item of their result: the item is written by the same call."""
    items = [item for node in nodes for access in node.writes for item in origins.items.get(access.buffer, ())]
    return [*nodes, *(item for item in items if item not in nodes)]


def accesses(
    nodes: Sequence[SchedulerNode], groups: Sequence[ScheduledGroup]
) -> tuple[tuple[BufferAccess, ...], tuple[BufferAccess, ...]]:
    """Return reads and writes of a call: its groups' traffic, or its nodes' where a group is split over calls."""
    names = {node.name for node in nodes}
    inner = {access.buffer for node in nodes if node.type == "multi_output" for access in node.reads}
    items: Iterable[SchedulerNode | ScheduledGroup] = groups
    if any(not set(group.members) <= names for group in groups):
        items = nodes
    items = list(items)
    # The tuple of an extern's results is no memory: its items are.
    reads, writes = merge([item.reads for item in items]), merge([item.writes for item in items])
    return tuple(item for item in reads if item.buffer not in inner), tuple(
        sized(item) for item in writes if item.buffer not in inner
    )


def sized(access: BufferAccess) -> BufferAccess:
    """Return the access with its buffer's size, where the scheduler counted no bytes (items of an extern's result)."""
    if access.bytes is not None or access.shape is None or access.dtype is None:
        return access
    return replace(access, bytes=tensor_bytes([TensorMeta(shape=access.shape, dtype=access.dtype)]))


def merge(lists: Sequence[tuple[BufferAccess, ...]]) -> tuple[BufferAccess, ...]:
    """Return one access per buffer; the bytes of several loops over it add up."""
    found: dict[str, BufferAccess] = {}
    for access in (access for items in lists for access in items):
        before = found.get(access.buffer)
        if before is None:
            found[access.buffer] = access
        else:
            known = before.bytes is not None and access.bytes is not None
            indices = [index for index in (before.index, access.index) if index]
            found[access.buffer] = replace(
                before,
                bytes=(before.bytes or 0) + (access.bytes or 0) if known else None,
                index=" | ".join(dict.fromkeys(indices)) or None,
            )
    return tuple(found.values())


def rename(items: tuple[BufferAccess, ...], schedule: Schedule) -> tuple[BufferAccess, ...]:
    """Give a mutated buffer the name of the memory that it really is."""
    return tuple(replace(item, buffer=schedule.renames.get(item.buffer, item.buffer)) for item in items)


def total(items: Iterable[BufferAccess]) -> int | None:
    """Return the sum of bytes, `None` where one is not known."""
    sizes = [item.bytes for item in items]
    return None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)


class Origins:
    """Who computes what in one schedule: made once, since a large graph is asked thousands of times."""

    def __init__(self, schedule: Schedule) -> None:
        self.by_name = {node.name: node for node in schedule.nodes}
        self.storing: dict[str, set[str]] = defaultdict(set)  # post-grad node → scheduler nodes that store its result
        self.computing: dict[str, set[str]] = defaultdict(set)  # → those that Inductor writes and that name it
        self.items: dict[str, list[SchedulerNode]] = defaultdict(list)  # buffer → nodes that name an item of it
        for node in schedule.nodes:
            for name in owned(node):
                self.storing[name].add(node.name)
            if node.type == "multi_output":
                for access in node.reads:
                    self.items[access.buffer].append(node)
            elif not is_extern(node) and node.type not in TRANSPARENT:
                for name in node.origins:
                    self.computing[name].add(node.name)

    def ran(self, nodes: Sequence[SchedulerNode]) -> tuple[str, ...]:
        """Return the post-grad nodes that ran in these scheduler nodes.

        Origins name everything on the way to a result, also what another scheduler node computed and stored: such a
        node lends only its name. An extern call runs its own op and what nobody else runs (views that became its
        strides).
        """
        inside = {node.name for node in nodes}
        found: dict[str, None] = {}
        for node in nodes:
            own = owned(node)
            for name in node.origins:
                stored = self.storing.get(name, set()) - inside
                apart = is_extern(node) and self.computing.get(name, set()) - inside
                if name in own or not (stored or apart):
                    found[name] = None
        return tuple(found)


def owned(node: SchedulerNode) -> set[str]:
    """Return the post-grad nodes whose result this scheduler node stores.

    An extern with several results has no origin node; among its origins the one with the kernel's name is its own (FX
    names nodes after their op).
    """
    if node.origin_node in node.origins:  # a buffer that is mutated later bears the later node's name
        return {node.origin_node}
    if node.kernel is None:
        return set()
    name = re.compile(rf"{re.escape(parse(node.kernel).name)}(_\d+)?")
    return {origin for origin in node.origins if name.fullmatch(origin)}


def is_extern(node: SchedulerNode) -> bool:
    """Return whether the node calls a kernel that Inductor does not write."""
    return node.type in (*EXTERN, "user_triton", "multi_output")


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
        if node.type == "nop":
            for write in node.writes:
                for read in node.reads:
                    root[find(schedule.renames.get(read.buffer, read.buffer))] = find(write.buffer)
    return {name: find(name) for name in list(root)}
