"""Find the nodes that a kernel runs, for files: the backward slice from what it writes to what it reads.

torch's origins name everything on the way to a result, also what another kernel computed and stored. A node runs in a
kernel only if it lies between the kernel's reads and its writes; what is in the origins alone lends its name.
"""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from math import prod

from fxscope.index import by_each, reachable
from fxscope.model import EXTERN, BufferAccess, Graph, KernelCall, Node, Schedule, SchedulerNode, replace
from fxscope.op_names import USERS_TRITON, expected_nature, is_collective, is_pointwise, op_name, runs_as
from fxscope.passes.unfused import is_library

# Scheduler nodes that generate no kernel: their buffers are other nodes' buffers under another name.
TRANSPARENT = frozenset({"nop", "multi_output", "view"})
# What Inductor makes of the place in a tensor, besides what computes each element by itself.
_OF_PLACES = frozenset("iota arange full scalar_tensor convert_element_type _to_copy where".split())


class Flow:
    """The data flow of one graph, with writes in place: who makes the value that a node takes."""

    def __init__(self, graph: Graph) -> None:
        self.nodes: Mapping[str, Node] = {node.name: node for node in graph.nodes}
        self.order: dict[str, int] = {name: position for position, name in enumerate(self.nodes)}
        self._writer: dict[tuple[str, str], str] = {}  # (node, operand) → the node that wrote into the operand before
        # Values that are made of no memory, only of the place in a tensor (`iota` and sums of it). Inductor writes
        # such an expression again in each kernel that needs it, stored elsewhere or not (`ComputedBuffer.make_loader` in
        # torch/_inductor/ir.py), and does not count it among the origins there.
        self.of_places: set[str] = set()
        last: dict[str, str] = {}
        for node in graph.nodes:
            if node.op == "call_function" and self._is_of_places(node):
                self.of_places.add(node.name)
            for name in node.inputs:
                if (writer := last.get(self.base(name))) is not None:
                    self._writer[node.name, name] = writer
            last |= {self.base(name): node.name for name in written_by(node)}

    def _is_of_places(self, node: Node) -> bool:
        name = op_name(node.target)
        fills = name == "copy_" and self.nodes[node.inputs[0]].target.startswith("aten.empty.")
        computes = name in _OF_PLACES or fills or is_pointwise(node.target) or self.is_view(node.name)
        return computes and all(operand in self.of_places for operand in node.inputs[fills:])

    def sources(self, name: str, given: Container[str]) -> Iterable[str]:
        """Yield the nodes whose values a node takes; a value that was written in place comes from its last writer."""
        node = self.nodes[name]
        operands = node.inputs
        if op_name(node.target) in ("copy", "copy_") and len(operands) > 1:
            operands = operands[1:]  # it has the shape of the one and the value of the other
        for operand in operands:
            writer = self._writer.get((name, operand))
            yield writer if writer is not None and self.base(operand) not in given else operand

    def through_views(self, name: str) -> Iterator[str]:
        """Yield a node, and what it is a view of, up to the one that has the storage."""
        yield name
        while self.is_view(name) and self.nodes[name].inputs:
            name = self.nodes[name].inputs[0]
            yield name

    def base(self, name: str) -> str:
        *_, last = self.through_views(name)
        return last

    def is_view(self, name: str) -> bool:
        node = self.nodes.get(name)
        return (
            node is not None
            and node.op not in ("placeholder", "get_attr")
            and (expected_nature(node.target) == "view" or op_name(node.target) in ("getitem", "reshape"))
        )

    def computes(self, name: str) -> bool:
        """Return whether a node is an op and no view: neither an input nor a function that an op is given."""
        return name in self.nodes and self.nodes[name].op not in ("placeholder", "get_attr") and not self.is_view(name)

    def is_input(self, name: str) -> bool:
        node = self.nodes.get(name)
        return node is not None and node.op == "placeholder" and bool(node.outputs)

    def is_known(self, name: str) -> bool:
        """Return whether a value costs no read: an attribute, a size, a number."""
        node = self.nodes.get(name)
        is_free = node is None or node.op == "get_attr" or (node.op == "placeholder" and not node.outputs)
        return node is None or is_free or is_number(node)

    def sorted(self, names: Iterable[str]) -> tuple[str, ...]:
        """The nodes in the graph's order; a function that an op is given runs nothing itself."""
        found = {name for name in names if name in self.order and self.nodes[name].op != "get_attr"}
        return tuple(sorted(found, key=self.order.__getitem__))


def is_number(node: Node) -> bool:
    """Return whether a node computes a number out of numbers, as of sizes."""
    is_python = node.target.startswith(("operator.", "math.", "torch.sym_"))
    return is_python and not node.outputs and op_name(node.target) != "getitem"


def written_by(node: Node) -> tuple[str, ...]:
    """The operands that a node of a compiled graph writes in place."""
    if node.mutates or is_number(node):
        return node.mutates
    name = op_name(node.target)
    if node.op == "call_function" and ((not node.outputs and name != "getitem") or USERS_TRITON in node.target):
        return node.inputs  # a user's kernel: into which of them it writes is not known
    return node.inputs[:1] if name.endswith("_") and not name.endswith("__") and node.op == "call_function" else ()


class Slice:
    """The nodes that can be computed from some values without leaving a set of nodes.

    `given`: nodes whose values are read, graph inputs among them. `partly`: those of which an intermediate result is read
    (the first half of a split reduction). `allowed`: nodes that may run here; views may always.
    """

    def __init__(self, flow: Flow, given: Collection[str], partly: Collection[str], allowed: Container[str]) -> None:
        self.flow, self.partly, self.allowed = flow, partly, allowed
        self.given: set[str] = set(given)
        for name in given:
            while flow.is_view(name) and op_name(flow.nodes[name].target) != "getitem":
                name = flow.nodes[name].inputs[0]
                self.given.add(name)
        self._grounded: dict[str, bool] = {}

    def grounded(self, name: str) -> bool:
        waiting = [name]
        while waiting:  # a graph of thousands of nodes in a row is deeper than Python's stack
            here = waiting[-1]
            if here in self._grounded:
                waiting.pop()
                continue
            answer = self._at_once(here)
            sources = [] if answer is not None else list(self.flow.sources(here, self.given))
            open_ones = [item for item in sources if item not in self._grounded]
            if open_ones:
                waiting += open_ones
                continue
            self._grounded[here] = all(self._grounded[item] for item in sources) if answer is None else answer
            waiting.pop()
        return self._grounded[name]

    def _at_once(self, name: str) -> bool | None:
        if name in self.given or name in self.partly or self.flow.is_known(name):
            return True
        if self.flow.is_input(name):
            return False
        if name not in self.allowed and not self.flow.is_view(name):
            return name in self.flow.of_places or not self.flow.nodes[name].inputs
        return None

    def back_from(self, roots: Iterable[str]) -> tuple[set[str], set[str]]:
        """The nodes between the roots, which are among them, and what is given; and what of that is needed."""

        def computed(name: str) -> list[str]:
            sources = (item for item in self.flow.sources(name, self.given) if item not in self.given)
            sources = (item for item in sources if item in self.flow.nodes and not self.flow.is_input(item))
            return list(filter(self.grounded, sources))

        found = reachable(roots, computed)
        return {*found}, {item for name in found for item in self.flow.sources(name, self.given) if item in self.given}


class OpSlices:
    """The scheduler nodes of one graph, and the graph's nodes that run in each, as the capture recorded them."""

    def __init__(self, schedule: Schedule, graph: Graph) -> None:
        self.flow: Flow = Flow(graph)
        self.by_name: dict[str, SchedulerNode] = {node.name: node for node in schedule.nodes}
        items = [node for node in schedule.nodes if node.type == "multi_output"]
        # Buffer → nodes that name an item of it.
        self.items: dict[str, list[SchedulerNode]] = by_each(items, lambda node: [item.buffer for item in node.reads])
        computing = [node for node in schedule.nodes if node.type not in TRANSPARENT]
        self.told: bool = bool(computing) and all(node.ran is not None for node in computing)

    def ran(self, nodes: Iterable[SchedulerNode]) -> tuple[str, ...]:
        """The graph's nodes that run in these scheduler nodes, in graph order."""
        return self.flow.sorted(name for node in nodes if node.type not in TRANSPARENT for name in node.ran or ())

    def only_named(self, nodes: Iterable[SchedulerNode], more: Iterable[str] = ()) -> tuple[str, ...]:
        """Return what is in the origins of these scheduler nodes (or among more names), runs in none of them, is no view."""
        members = list(nodes)
        inside = set(self.ran(members))
        names = {*more, *(name for node in members for name in node.origins)}
        return self.flow.sorted(name for name in names - inside if self.flow.computes(name))


def is_opaque(node: SchedulerNode) -> bool:
    """Return whether one kernel that Inductor does not write loop by loop computes the node's value as a whole."""
    return node.type in (*EXTERN, "user_triton", "template")


def nodes_of_calls(calls: Sequence[KernelCall], as_written: Sequence[KernelCall], graph: Graph) -> list[KernelCall]:
    """The calls with the nodes that ran in them, where files tell of each call what it reads, writes and stems from.

    What a call stems from (its debug handle's list, or torch's comment above the kernel) is more than what ran in it. Which
    node's value a buffer holds is found from its size and from who takes it; where several fit, each counts as stored.
    `as_written` are the same calls, in the wrapper's order, with their buffers as it names them.
    """
    walk = _CallWalk(graph, calls)
    return [walk.next(call, written) for call, written in zip(calls, as_written, strict=True)]


class _CallWalk:
    """Goes through the calls in their order and keeps which values lie in which buffers."""

    def __init__(self, graph: Graph, calls: Sequence[KernelCall]) -> None:
        self.flow = Flow(graph)
        self.backward = graph.direction == "backward"
        self.takers: dict[str, set[str]] = defaultdict(set)  # node → those that have it as an operand
        self.users: dict[str, set[str]] = defaultdict(set)  # node → those that take its value, looking through views
        for name, node in self.flow.nodes.items():
            for operand in node.inputs:
                self.takers[operand].add(name)
                for each in self.flow.through_views(operand):
                    self.users[each].add(name)
        for name in graph.outputs:
            self.users[self.flow.base(name)].add("output")
            self.users[name].add("output")
        self.values: dict[str, set[str]] = {}
        self.parts: dict[str, set[str]] = {}
        self.own = {call.id: own for call in calls if (own := self.own_node(call)) is not None}
        # What loops never compute: nodes of libraries, and collectives, whose inputs a kernel may copy
        self.opaque = {
            *self.own.values(),
            *(name for name, node in self.flow.nodes.items() if is_collective(node.target)),
        }

    def own_node(self, call: KernelCall) -> str | None:
        if call.is_generated:
            return None
        stems = [name for name in self.flow.sorted((*call.nodes, *call.named_only)) if not self.flow.is_view(name)]
        targets = {name: self.flow.nodes[name].target for name in stems}
        users = call.type == "user_triton"
        own = [name for name, it in targets.items() if ("triton_kernel" in it if users else runs_as(call.kernel, it))]
        return next(reversed(own or stems), None)

    def next(self, call: KernelCall, written: KernelCall) -> KernelCall:
        reads = [access.buffer for access in written.reads or ()]
        # A scatter goes on writing what it started from, which is no argument that it reads.
        begun = [
            name for item in written.writes or () if (name := item.buffer) in self.values or self.flow.is_input(name)
        ]
        reads += [name for name in begun if name not in reads]
        if not call.is_generated:
            if (own := self.own.get(call.id)) is None:
                return call
            self.store_own(own, written, reads, call)
            return self.with_nodes(call, {own}, set(call.nodes))
        held = [self.held(buffer) for buffer in reads]
        given = {name for values, _ in held for name in values}
        parts = {name for _, half in held for name in half}
        # Torch's comment above a call of a backward names its nodes, elsewhere those before lowering.
        commented = set(call.source_names) & set(self.flow.nodes) if self.backward else set[str]()
        stems = {*call.nodes, *call.named_only} or commented
        read = frozenset(given)
        if call.type == "triton_template":  # it may have operands that it makes no use of, and scratch memory
            parts |= set(self.flow.sorted(name for name in stems if is_library(self.flow.nodes[name].target))[-1:])
        allowed = stems - self.opaque
        inside = Slice(self.flow, given, parts, allowed)
        working = {name for name in allowed - given if not self.flow.is_view(name)}
        taken = {self.flow.base(source) for name in working for source in self.flow.sources(name, given)}
        # What only leads to something that is read was computed where that was.
        wanted = {name for name in working if self.users[name] - read or written_by(self.flow.nodes[name])}
        tops = [name for name in working if name not in taken and (name in parts or name in wanted)]
        tops = [name for name in tops if inside.grounded(name)] or tops
        ran, _ = inside.back_from(name for name in tops if inside.grounded(name))
        if working and not ran:
            ran = self.ends(inside, self.flow.sorted(working))
        if not ran:  # a copy of a view
            ran = self.ends(inside, [n for n in self.flow.sorted(stems) if not self.takers[n] & (stems - self.opaque)])
        self.store(ran, tops or [*stems & self.opaque], given, written)
        return self.with_nodes(call, ran & stems, stems)

    @staticmethod
    def ends(inside: Slice, names: Iterable[str]) -> set[str]:
        """The slices from these nodes that take something which is read."""
        slices = [inside.back_from([name]) for name in names if inside.grounded(name) and name not in inside.given]
        return {name for nodes, used in slices if used or not inside.given for name in nodes}

    def held(self, buffer: str) -> tuple[set[str], set[str]]:
        """The nodes whose value a buffer may hold, and those of which it holds an intermediate result."""
        return self.values.get(buffer, {buffer} & set(self.flow.nodes)), self.parts.get(buffer, set())

    def with_nodes(self, call: KernelCall, ran: set[str], stems: set[str]) -> KernelCall:
        nodes = self.flow.sorted(ran)
        named = [name for name in stems - ran if not self.flow.is_view(name) and name not in call.folded]
        return replace(
            call,
            nodes=nodes,
            named_only=self.flow.sorted(named),
            nodes_evidence=(call.nodes_evidence or "order") if nodes else None,
        )

    def store_own(self, own: str, written: KernelCall, reads: list[str], call: KernelCall) -> None:
        items = {name for name in self.takers[own] if op_name(self.flow.nodes[name].target) == "getitem"}
        for access in written.writes or ():
            self.values[access.buffer] = {own, *items}
        changed = reads if call.type == "user_triton" or is_collective(self.flow.nodes[own].target) else []
        for buffer in changed or reads[: op_name(call.kernel).endswith("_")]:  # `scatter_reduce_`: the first
            self.values[buffer] = {own, *self.values.get(buffer, {buffer} & set(self.flow.nodes))}

    def store(self, ran: set[str], tops: list[str], given: set[str], written: KernelCall) -> None:
        """Note what the buffers that a call writes hold: what is of their size and taken elsewhere."""
        needed = {name for name in ran if not self.flow.is_view(name) and self.users[name] - ran}
        needed |= {name for name in tops if name in given}  # a library's result, to which its bias was added
        for access in written.writes or ():
            fitting = {name for name in needed if self.fits(name, access)}
            known = {access.buffer} & set(self.flow.nodes)  # a graph input, written in place
            if fitting or known:
                self.values[access.buffer] = fitting | known
                self.parts.pop(access.buffer, None)
            else:
                self.parts[access.buffer] = set(tops)
                self.values.pop(access.buffer, None)

    def fits(self, name: str, access: BufferAccess) -> bool:
        """Return whether a node's result, or an item of it, has a buffer's size and dtype, as far as they are known."""
        results = self.flow.nodes[name].outputs or [
            item for user in self.takers[name] if self.flow.is_view(user) for item in self.flow.nodes[user].outputs
        ]
        if not results or access.shape is None:
            return True
        return any(
            len({item.dtype, access.dtype} - {None}) < 2 and _size(item.shape) == _size(access.shape)
            for item in results
        )


def _size(shape: Sequence[int | str]) -> tuple[int, list[str]]:
    known = [size for size in shape if isinstance(size, int)]
    return prod(known), sorted(str(size) for size in shape if not isinstance(size, int))
