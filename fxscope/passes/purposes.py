"""Says why each kernel exists: what it computes, or what made the compiler add it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fxscope import op_names
from fxscope.index import Key, index_of
from fxscope.model import KernelCall, Node, Purpose, Recording, Schedule, SchedulerNode, replace
from fxscope.op_names import MOVES, is_attention, is_collective, op_name, op_of, ops_of, out_of_place, repeats_draw
from fxscope.passes.slices import TRANSPARENT

Found = tuple[Purpose | None, dict[str, Any]]
# Node of a later graph → the program's ops that it is a part of; True: one becomes more than views and copies, as `matmul`
Written = dict[Key, dict[str, bool]]

REINPLACE = "decompose_auto_functionalized"  # the pass that clones what a custom op would overwrite
LAYOUT_OPS = {"clone", "inductor_force_stride_order"}  # that freezing adds, with no ATen op of the program's


def purposes(recording: Recording) -> Recording:
    """Recording → Recording whose calls know why they exist."""
    found: dict[str, KernelCall] = {}
    schedules = {schedule.graph: schedule for schedule in recording.schedules}
    again, written = recomputed(recording), written_as(recording)
    for graph, calls in index_of(recording).calls_of_graph.items():
        look = _Graph(recording, schedules.get(graph) or Schedule(graph=graph), again.get(graph, set()), written)
        for call in calls:
            purpose, arguments = look.purpose(call)
            found[call.id] = replace(call, purpose=purpose, purpose_arguments=arguments)
    return replace(recording, calls=tuple(found.get(call.id, call) for call in recording.calls))


def recomputed(recording: Recording) -> dict[str, set[str]]:
    """Post-grad backward graph → its nodes that the forward computes too: the partitioner copied them."""
    index, names = index_of(recording), {}
    for graph in recording.graphs:
        if graph.stage in ("forward", "backward"):
            names[graph.id] = {node.name for node in graph.nodes if node.op == "call_function"}
    again = {
        f"{name}:backward:post_grad": found & names.get(f"{name}:forward", set())
        for graph_id, found in names.items()
        if (name := graph_id.removesuffix(":backward")) != graph_id
    }
    # A pass may have put other nodes in their place: these have the same ATen op.
    made_of: dict[Key, list[str]] = {}
    for link in recording.links:
        old, new = index.node(link.from_), index.node(link.to)
        lowered = link.to[0] in again and link.to[0] == f"{link.from_[0]}:post_grad"
        if lowered and old and new and old.original_aten == new.original_aten:
            made_of.setdefault(link.to, []).append(old.name)
    for (graph_id, name), old_names in made_of.items():
        if all(item in again[graph_id] for item in old_names):
            again[graph_id].add(name)
    return again


def written_as(recording: Recording) -> Written:
    node_of, found = index_of(recording).node, Written()
    links = [x for x in recording.links if x.relation == "lowered_to" and x.from_[0].endswith(":pre_grad")]
    made = {link.to: x for link in links if (x := node_of(link.to))}
    works = {key for key, x in made.items() if x.nature not in ("view", "host") and out_of_place(op_of(x)) not in MOVES}
    computing = {link.from_ for link in links if link.to in works}
    for link in links:
        source = node_of(link.from_)
        if source is not None and not source.target.startswith("higher_order."):
            found.setdefault(link.to, {})[op_name(source.target)] = link.from_ in computing
    return found


class _Graph:
    """The calls of one post-grad graph and what is known around them."""

    def __init__(self, recording: Recording, schedule: Schedule, recomputed: set[str], written: Written) -> None:
        self.schedule, self.recomputed, self.written = schedule, recomputed, written
        self.nodes: Mapping[str, Node] = index_of(recording).nodes.get(schedule.graph, {})
        self.calls = calls = index_of(recording).calls_of_graph[schedule.graph]
        self.members = {node.name: node for node in schedule.nodes}
        self.readers = Counter(access.buffer for call in calls for access in call.reads or ())
        held = {name for call in calls for name in call.scheduler_nodes}
        for node in schedule.nodes:  # a branch or a loop is no call of its own
            if node.name not in held and node.type not in TRANSPARENT:
                self.readers.update(schedule.renames.get(access.buffer, access.buffer) for access in node.reads)
        self.writers = {access.buffer: call for call in calls for access in call.writes or ()}
        self.first_of_group = {item.group: call.id for call in reversed(calls) for item in self._members(call)}

    def _members(self, call: KernelCall) -> list[SchedulerNode]:
        return [self.members[name] for name in call.scheduler_nodes if name in self.members]

    def purpose(self, call: KernelCall) -> Found:
        ran = [self.nodes[name] for name in call.nodes if name in self.nodes]
        working = [node for node in ran if node.nature != "view"] or ran
        members = [member for member in self._members(call) if member.type not in TRANSPARENT]
        if is_collective(call.kernel) or any(is_collective(node.target) for node in ran):
            return "collective", {"op": op_name(ran[0].target if ran else call.kernel)}
        if working and all(node.name in self.recomputed for node in working):
            by_user = any("recompute" in (node.recompute or "") for node in working) or repeats_draw(call.kernel)
            return "recompute", {"ops": ops_of(working), "checkpoint": by_user}
        if call.is_extern and not any(member.type == "reduction" for member in members):  # not parts of one
            return self._extern(call, ran, members)
        if found := self._copy(call, working, members) or self._extra(call, working, members):
            return found
        ops = ops_of(working) or [f"bias of {op}" for op in ops_of([self.nodes[name] for name in call.biases])]
        if not ops and call.original_aten:  # what torch names at this call and at no other ran nowhere else
            others = {op_name(op) for it in self.calls if it is not call for op in (it.kernel, *it.original_aten)}
            own = [op for op in map(op_name, call.original_aten) if op_names.expected_nature(op) != "view"]
            ops = [op for op in own if op not in others]
        return ("computes", {"ops": ops}) if ops or call.type == "user_triton" else (None, {})

    @staticmethod
    def _extern(call: KernelCall, ran: Sequence[Node], members: Sequence[SchedulerNode]) -> Found:
        if op_name(call.kernel) == "copy_" and any(op_name(node.target) == "copy_" for node in ran):
            return "mutation_copy", {"into": ran[0].inputs[0] if ran[0].inputs else None}
        made_for = next((member.made_for for member in members if member.made_for is not None), None)
        op = op_name(ran[0].target if repeats_draw(call.kernel) and ran else call.kernel)
        if call.type == "fallback" and made_for is not None and not is_attention(op):
            return "fallback", {"cause": made_for.cause, "op": op}
        return "computes", {"ops": ops_of(ran) or [op_name(call.kernel)]}

    def _copy(self, call: KernelCall, working: Sequence[Node], members: Sequence[SchedulerNode]) -> Found | None:
        """Return why a kernel that computes nothing moves data; `None` for one that computes something."""
        # What only copies for what the program writes in place, or for a custom op that does.
        named = [(op_name(node.target), REINPLACE in node.replaced_by) for node in working]
        if named and all(op == "copy_" or (op == "clone" and again) for op, again in named):
            return "mutation_copy", {"into": next(iter(working[0].inputs), None)}
        copying = [node for node in working if node.nature != "view"]  # parts of other ops, too: a scatter's zeros
        ops = ops_of(copying)
        moves = bool(members) and all(member.computes is False for member in members)
        demands = [member.made_for for member in members if member.made_for is not None]
        is_added = moves and demands and all(node.original_aten is None for node in working)
        if ops and not (is_added and set(ops) <= LAYOUT_OPS):
            is_copy = all({out_of_place(op_of(node)), op_name(node.target)} & MOVES for node in copying)
            return self._asked_for(copying, ops) if is_copy else None
        written = {access.buffer for access in call.writes or ()}
        if not moves or not demands:
            others = [other for other in self.calls if written & {item.buffer for item in other.writes or ()}]
            later = {name for other in others if other.id != call.id for name in other.nodes}
            found = ops_of([self.nodes[member.origin_node] for member in members if member.origin_node in later])
            return ("mutation_copy", {"cause": "out_of_place", "ops": found}) if moves and found else None
        first = demands[0]
        takers = [c for c in self.calls if not c.is_generated and written & {item.buffer for item in c.reads or ()}]
        # Inductor may copy an input before it lowers the op that demands the layout.
        names = list(dict.fromkeys(name for taker in takers for name in taker.nodes))
        names = names or list(dict.fromkeys(item.node for item in demands if item.node))
        cause: str = first.cause
        if written <= set(self.schedule.outputs) and not takers:
            cause = "saved" if written <= set(self.schedule.saved) else "output"
        arguments: dict[str, Any] = {"cause": cause, "nodes": names}
        if len({(item.strides, item.stride_order) for item in demands}) == 1:
            arguments["strides"] = list(first.strides or ())
            arguments["stride_order"] = list(first.stride_order or ())
        return "layout_copy", arguments

    def _asked_for(self, copying: Sequence[Node], ops: list[str]) -> Found:
        """Return what asks for copies: the program, one of its ops that computes something else, or the backward."""
        if ":backward" in self.schedule.graph:
            return "program_copy", {"cause": "backward", "ops": ops}
        found = [self.written.get((self.schedule.graph, node.name), {}) for node in copying]
        moves = [op for sources in found for op, computes in sources.items() if not computes]
        if moves or not all(found):
            return "program_copy", {"ops": list(dict.fromkeys(moves)) if all(found) else ops}
        inside = {"cause": "inside", "nodes": list(dict.fromkeys(op for sources in found for op in sources))}
        return ("layout_copy", inside) if set(ops) <= LAYOUT_OPS else ("program_copy", {**inside, "ops": ops})

    def _extra(self, call: KernelCall, working: Sequence[Node], members: Sequence[SchedulerNode]) -> Found | None:
        """Return why a kernel is beside the one that computes the same; `None` where it is not."""
        written = {access.buffer for access in call.writes or ()}
        if written and written <= set(self.schedule.saved) and not any(self.readers[buffer] for buffer in written):
            return "saved", {"buffers": sorted(written)}
        before = [self.writers[access.buffer] for access in call.reads or () if access.buffer in self.writers]
        parts = [other for other in before if other.id != call.id and set(call.nodes) & set(other.nodes)]
        reduces = any(member.type == "reduction" for member in members)
        if reduces and any({node.name for node in working} <= set(other.nodes) for other in parts):
            return "split", {"of": "reduction", "ops": ops_of(working)}
        if call.type == "triton_foreach" and any(self.first_of_group[item.group] != call.id for item in members):
            return "split", {"of": "foreach", "ops": ops_of(working)}
        return None
