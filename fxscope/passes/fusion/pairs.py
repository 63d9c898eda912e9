"""Pairs of kernel calls of one graph that share memory: exactly one decision each, and what staying apart costs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope.dtypes import ITEM_BYTES
from fxscope.model import (
    EXTERN,
    BufferAccess,
    Decision,
    FusionAttempt,
    Graph,
    KernelCall,
    Node,
    Schedule,
    ScheduledGroup,
    SchedulerNode,
    TensorMeta,
    Verdict,
)
from fxscope.op_names import op_name
from fxscope.passes import flops, schedules
from fxscope.passes.footprint import is_indirect, overlap
from fxscope.passes.fusion import hints
from fxscope.passes.fusion.hints import PairSide
from fxscope.passes.fusion.reasons import Reason, cpp_loops, declined, opaque, translate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fxscope.passes.slices import OpSlices

# A buffer with this many readers makes no pair per two of them, only of those that are near each other: else one shared
# scalar in a large graph makes millions of decisions.
MANY_USERS = 200
# A switch that torch refused for a pair → others that may join it.
OTHERWISE = {
    "loop_ordering_after_fusion": ("loop_reindexing_after_fusion", "combo_kernels"),
    "loop_reindexing_after_fusion": ("combo_kernels",),
    "triton.nested_reduction": ("combo_kernels",),
}
NEAR = 8


class FusionUnit(NamedTuple):
    """One loop nest or extern call: a call, or one of the loops of a C++ function that runs several."""

    call: KernelCall
    position: int  # in the wrapper
    nodes: tuple[str, ...]
    members: tuple[str, ...]  # scheduler nodes
    reads: dict[str, int | None]
    writes: dict[str, int | None]
    type: str


class Pair(NamedTuple):
    """Two units that share memory, in the order in which they run."""

    a: FusionUnit
    b: FusionUnit
    buffers: tuple[str, ...]
    flows: bool  # b reads what a wrote
    mutates: bool  # b writes what a read or wrote


class Saved(NamedTuple):
    """Bytes that one kernel instead of two would not move."""

    num_bytes: int | None
    least: bool  # there may be more


def decisions(
    calls: Sequence[KernelCall], schedule: Schedule | None, slices: OpSlices | None, graph: Graph | None
) -> list[Decision]:
    """One decision for each pair of calls that share memory, and for loops of one C++ function likewise."""
    alias = schedules.aliases(schedule) if schedule else {}
    units = [unit for position, call in enumerate(calls) for unit in units_of(call, position, schedule, slices, alias)]
    found: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs(units):
        inside = pair.a.call.id == pair.b.call.id
        key = (pair.a.call.id, f"{pair.a.members}{pair.b.members}" if inside else pair.b.call.id)
        found[key].append(pair)
    # What the graph returns, and what of the caller's it writes in place: that must be in memory after it.
    outlive = {node.name for node in graph.nodes if node.op == "placeholder"} if graph else set[str]()
    returned = frozenset(alias.get(name, name) for name in schedule.outputs) | outlive if schedule else None
    verdicts = PairVerdict(schedule, units, graph, alias)
    return [verdicts.decide(group, returned) for group in found.values()]


def units_of(
    call: KernelCall, position: int, schedule: Schedule | None, slices: OpSlices | None, alias: Mapping[str, str]
) -> list[FusionUnit]:
    """Split a call into its loop nests. Only the C++ backend writes several independent ones into one function."""
    by_name = slices.by_name if slices is not None else {}
    members = {name: by_name[name] for name in call.scheduler_nodes if name in by_name}
    groups = list(dict.fromkeys(node.group for node in members.values()))
    if schedule is None or slices is None or len(groups) < 2 or call.type != "cpp":
        kind = next((node.type for node in members.values()), call.type)
        return [
            FusionUnit(
                call,
                position,
                call.nodes,
                call.scheduler_nodes,
                sizes(call.reads or (), alias),
                sizes(call.writes or (), alias),
                kind,
            )
        ]
    units: list[FusionUnit] = []
    for number in groups:
        nodes = [node for node in members.values() if node.group == number]
        group: ScheduledGroup = schedule.groups[number]
        ran = set(slices.ran(nodes))
        units.append(
            FusionUnit(
                call,
                position,
                tuple(name for name in call.nodes if name in ran),
                tuple(node.name for node in nodes),
                sizes(group.reads, alias),
                sizes(group.writes, alias),
                group.type,
            )
        )
    return units


def sizes(items: Iterable[BufferAccess], alias: Mapping[str, str]) -> dict[str, int | None]:
    """Bytes per memory."""
    found: dict[str, int | None] = {}
    for item in items:
        name = alias.get(item.buffer, item.buffer)
        if name not in found:
            found[name] = item.bytes
        else:
            before = found[name]
            found[name] = before + item.bytes if before is not None and item.bytes is not None else None
    return found


def readers_of(units: Sequence[FusionUnit]) -> dict[str, int]:
    """Count how many units read each memory."""
    found: dict[str, int] = defaultdict(int)
    for unit in units:
        for name in unit.reads:
            found[name] += 1
    return found


def pairs(units: Sequence[FusionUnit]) -> list[Pair]:
    """Every two units that share memory, the earlier first."""
    users: dict[str, list[int]] = defaultdict(list)
    for position, unit in enumerate(units):
        for name in dict.fromkeys((*unit.reads, *unit.writes)):
            users[name].append(position)
    shared: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name, positions in users.items():
        for first, second in combinations(range(len(positions)), 2):
            one, other = positions[first], positions[second]
            if len(positions) > MANY_USERS and second - first > NEAR and name not in units[one].writes:
                continue
            shared[one, other].append(name)
    result: list[Pair] = []
    for (one, other), names in sorted(shared.items()):
        a, b = units[one], units[other]
        flows = any(name in a.writes and name in b.reads for name in names)
        mutates = any(name in b.writes for name in names)
        result.append(Pair(a, b, tuple(names), flows, mutates))
    return result


class PairVerdict:
    """Finds the verdict of a pair in the schedule, or says why there is none."""

    def __init__(
        self, schedule: Schedule | None, units: Sequence[FusionUnit], graph: Graph | None, alias: Mapping[str, str]
    ) -> None:
        self.schedule = schedule
        self.units = units
        self._accesses: dict[tuple[str, ...], dict[str, BufferAccess]] = {}
        self.readers: dict[str, int] = readers_of(units)
        self.alias = alias
        calls = {unit.call.id: unit.call for unit in units}
        self.calls_reading: dict[str, int] = readers_of([self.whole(call) for call in calls.values()])
        self.fx: dict[str, Node] = {node.name: node for node in graph.nodes} if graph else {}
        # Name → bytes: of graph inputs, of buffers, and of what several buffers are parts of.
        known = [item for node in (schedule.nodes if schedule else ()) for item in (*node.reads, *node.writes)]
        tensors = [TensorMeta(shape=item.shape or (), dtype=item.dtype, stride=item.stride) for item in known]
        sizes = [
            (node.name, flops.tensor_bytes(node.outputs[:1])) for node in self.fx.values() if node.op == "placeholder"
        ]
        for item, tensor in zip(known, tensors, strict=True):
            size = flops.tensor_bytes([tensor]) if item.shape is not None else None
            sizes += [(item.buffer, size), (alias.get(item.buffer, item.buffer), size)]
        sizes += [item for unit in units for item in (*unit.reads.items(), *unit.writes.items())]
        self.memory: dict[str, int] = {}
        for name, size in sizes:
            if size is not None:
                self.memory[name] = max(self.memory.get(name, 0), size)
        self.limits: dict[str, Any] = schedule.limits if schedule else {}
        self.nodes: dict[str, SchedulerNode] = {node.name: node for node in schedule.nodes} if schedule else {}
        self.users: dict[str, dict[int, int]] = defaultdict(dict)  # buffer → group → its place among the buffer's users
        for node in self.nodes.values():
            for access in (*node.reads, *node.writes):
                self.users[access.buffer].setdefault(node.group, len(self.users[access.buffer]))
        self.unit_of: dict[str, tuple[str, tuple[str, ...]]] = {
            name: (unit.call.id, unit.members) for unit in units for name in unit.members
        }
        self.trials: dict[tuple[int, int], dict[str, bool]] = defaultdict(dict)
        for trial in schedule.trials if schedule else ():
            self.trials[trial.a, trial.b][trial.config] = trial.accepted
        self.attempts: dict[tuple[object, object], list[FusionAttempt]] = defaultdict(list)
        for attempt in schedule.attempts if schedule else ():
            if attempt.fused:
                continue
            key = (self.unit_of.get(attempt.a[0]), self.unit_of.get(attempt.b[0]))
            self.attempts[key].append(attempt)

    def decide(self, group: Sequence[Pair], returned: frozenset[str] | None) -> Decision:
        """The one decision for pairs of the same two calls; the pair that shares most speaks for all.

        Of two loops that write the same memory one after the other, it is the one whose version the reader uses.
        """
        costs = [self.saved(pair, self.readers, returned) for pair in group]

        def speaks(item: tuple[Pair, Saved]) -> tuple[bool, bool, bool, bool, int]:
            pair, cost = item
            common = bool(self.common(pair.a, pair.b))
            # Calls of which the scheduler was asked about some loops were considered, whatever keeps others apart.
            asked = self.attempt(pair.a, pair.b) is not None
            return pair.flows and common, asked, pair.flows, common, cost.num_bytes or 0

        main, _ = max(zip(group, costs, strict=True), key=speaks)
        verdict, reason, raw = self.verdict(main)
        reason, verified = self.possible(reason, main)
        a, b = main.a, main.b
        same = a.call.id == b.call.id
        shared = tuple(dict.fromkeys(name for pair in group for name in pair.buffers))
        saved = costs[0] if same else self.between_calls(a.call, b.call, shared, returned)
        return Decision(
            graph=a.call.graph,
            a=a.nodes if same else a.call.nodes,
            b=b.nodes if same else b.call.nodes,
            a_call=a.call.id,
            b_call=b.call.id,
            verdict=verdict,
            reason_code=reason.code,
            reason_arguments=dict(reason.arguments),
            notes=(*reason.notes, "one_cpp_function") if same else reason.notes,
            raw_reason=raw,
            hint_code=reason.hint,
            hint_verified=verified,
            config=reason.config,
            shared_buffers=shared,
            saved_bytes=saved.num_bytes,
            saved_bytes_least=saved.least,
            saved_launches=0 if same else 1,
            evidence="debug_handle" if a.members and b.members else "order",
        )

    def between_calls(
        self, a: KernelCall, b: KernelCall, shared: tuple[str, ...], returned: frozenset[str] | None
    ) -> Saved:
        """The bytes that one kernel instead of two calls would not move: several loops of one may read one memory."""
        pair = Pair(self.whole(a), self.whole(b), shared, flows=False, mutates=False)
        # What a call reads of its own result (a sum by index into it) keeps no other from being its only reader.
        readers = {name: self.calls_reading.get(name, 0) - (name in pair.a.reads) for name in shared}
        return self.saved(pair, readers, returned)

    def saved(self, pair: Pair, readers: Mapping[str, int], returned: frozenset[str] | None) -> Saved:
        """The bytes that one kernel instead of the two would not move; `None` where no size is known.

        A buffer that `a` writes and `b` reads need not be read; it need not be written either where `b` is its only
        reader and the graph does not return it. An input that both read need be read once only. What of this is not
        known (a size, what the graph returns) may be more: the sum is a lower bound.
        """
        total: int | None = None
        least = False
        for name in pair.buffers:
            cost: int | None = None
            if name in pair.a.writes and name in pair.b.reads:
                written = pair.a.writes[name]
                cost = (
                    pair.b.reads[name] if written is None else self.in_both(pair, name, written, pair.b.reads[name])[0]
                )
                alone = readers.get(name) == 1 and (returned is None or name not in returned)
                # Of a part of a memory it is not looked up who else reads that part.
                in_part = (written or 0) < (self.memory.get(name) or 0)
                least = least or (in_part and not alone)
                if cost is None or (alone and (returned is None or written is None)):
                    least = True
                elif alone and written is not None:
                    cost += written
            elif name in pair.a.reads and name in pair.b.reads:
                cost, exact = self.in_both(pair, name, pair.a.reads[name], pair.b.reads[name])
                least = least or not exact
            if cost is not None:
                total = (total or 0) + cost
        return Saved(total or None, least=bool(total)) if least else Saved(total, least=False)

    def in_both(self, pair: Pair, name: str, first: int | None, second: int | None) -> tuple[int | None, bool]:
        """The bytes of a memory that are certainly among those that either touches, and whether these are all.

        Of two parts whose places are not known that is what they are more than the whole: who reads a whole concatenation
        has of each part no more than its writer wrote.
        """
        if first is None or second is None:
            return None, False
        one, other = self.accesses(pair.a), self.accesses(pair.b)
        same = [buffer for buffer in one if buffer in other and self.alias.get(buffer, buffer) == name]
        for buffer in same:
            common = overlap(one[buffer].deps, other[buffer].deps)
            item = ITEM_BYTES.get(one[buffer].dtype or "")
            if common is not None and item is not None:
                return min(first, second, common * item), True
        whole = min((size for buffer in same or [name] if (size := self.memory.get(buffer)) is not None), default=None)
        most = min(first, second)
        least = most if whole is None else max(0, min(most, first + second - whole))
        return least, least in (0, most)

    def whole(self, call: KernelCall) -> FusionUnit:
        """A call with all of its loops."""
        reads, writes = (sizes(items or (), self.alias) for items in (call.reads, call.writes))
        return FusionUnit(call, 0, call.nodes, call.scheduler_nodes, reads, writes, call.type)

    def side(self, unit: FusionUnit) -> PairSide:
        members = [self.nodes[name] for name in unit.members if name in self.nodes]
        return PairSide(
            unit.call,
            tuple(node.type for node in members) or (unit.type,),
            tuple(node.ranges for node in members),
            tuple(self.fx[name] for name in unit.nodes if name in self.fx),
            is_opaque(unit),
        )

    def possible(self, reason: Reason, pair: Pair) -> tuple[Reason, bool | None]:
        """The reason without a hint that torch refuses, and whether torch was asked and accepts it.

        From files nobody can be asked: there a template's hint has to pass what is known of templates.
        """
        if reason.hint is None or reason.config is None:
            if reason.hint != "concatenate_weights":
                return reason, None
            a, b = self.side(pair.a), self.side(pair.b)
            return (reason if hints.share_the_activation(a.nodes, b.nodes, self.fx) else reason.without_hint()), None
        answers = self.answers(pair)
        for config in (reason.config, *OTHERWISE.get(reason.config, ())):
            if answers.get(config) and self.may_exist(reason, pair):
                return reason._replace(config=config, hint=reason.hint if config == reason.config else "enable"), True
        holds = reason.config not in answers and self.holds_in_files(reason, pair)
        return (reason if holds else reason.without_hint()), None

    def answers(self, pair: Pair) -> dict[str, bool]:
        """Switch → whether torch joins the two with it, as far as it was asked."""
        groups = [{self.nodes[name].group for name in unit.members if name in self.nodes} for unit in pair[:2]]
        found: dict[str, bool] = {}
        for a in groups[0]:
            for b in groups[1]:
                for config, accepted in self.trials.get((min(a, b), max(a, b)), {}).items():
                    found[config] = found.get(config, False) or accepted
        return found

    def may_exist(self, reason: Reason, pair: Pair) -> bool:
        """Return whether torch has the template that was tried in the place of a convolution."""
        return reason.hint != "template_convolution" or hints.can_be_triton_convolution(self.side(pair.a))

    def holds_in_files(self, reason: Reason, pair: Pair) -> bool:
        """Return whether what is known of templates speaks for a hint at one.

        What a prologue, or an epilogue of a user's kernel, may read torch alone knows.
        """
        if reason.config not in ("max_autotune_gemm", "epilogue_fusion_user_defined_triton_kernel"):
            return True
        a, b = self.side(pair.a), self.side(pair.b)
        if not a.opaque or a.call.type == "user_triton":
            return False
        if (a.call.device or "").startswith("cpu") and not hints.can_be_cpp_epilogue(a):
            return False
        takes = hints.can_be_epilogue(a, b, pair.buffers, mutates=pair.mutates)
        return takes and hints.can_be_triton_convolution(a) and not self.waits_for_another(pair)

    def waits_for_another(self, pair: Pair) -> bool:
        """Return whether one kernel would be a cycle: the second reads what a kernel between makes of the first's result."""
        first, last = (bisect_left(self.units, unit.position, key=lambda item: item.position) for unit in pair[:2])
        made = set[str]()
        for unit in self.units[first + 1 : last]:
            if unit.reads.keys() & (pair.a.writes.keys() | made):
                made |= unit.writes.keys()
        return bool(made & pair.b.reads.keys())

    def verdict(self, pair: Pair) -> tuple[Verdict | None, Reason, str | None]:  # verdict, reason, Inductor's words
        a, b = pair.a, pair.b
        if a.call.device and b.call.device and a.call.device != b.call.device:
            return "never_considered", Reason("device_boundary", {"a": a.call.device, "b": b.call.device}), None
        groups = [{self.nodes[name].group for name in unit.members if name in self.nodes} for unit in (a, b)]
        if groups[0] & groups[1]:
            return "rejected", Reason("combo_kinds_differ"), None
        found = self.attempt(a, b)
        if found is not None:
            return self.from_attempt(found, pair)
        fixed = self.fixed(pair)
        if fixed is not None:
            return "never_considered", fixed, None
        if self.schedule is None or not self.schedule.complete:
            return None, Reason("no_fusion_log", {}, "record_fusion_log"), None
        streams = {self.nodes[name].stream for name in (*a.members, *b.members) if name in self.nodes}
        if len(streams - {None}) > 1:
            return "never_considered", Reason("stream_boundary"), None
        if not a.members or not b.members:
            return "never_considered", Reason("outside_scheduler"), None
        return "never_considered", self.never_asked(a, b), None

    def never_asked(self, a: FusionUnit, b: FusionUnit) -> Reason:
        """Say why the scheduler never asked about two nodes that it writes both."""
        common = self.common(a, b)
        if not common:
            return self.other_versions(a, b)
        limit = self.limits.get("max_fusion_buffer_group_pairwise_attempts")
        if isinstance(limit, int) and all(self.distance(name, a, b) > limit for name in common):
            name = "max_fusion_buffer_group_pairwise_attempts"
            reason = Reason("outside_window", {"limit": limit}, "raise", name)
            # Else the next question is whether their iteration spaces fit.
            alike = set(self.side(a).ranges) == set(self.side(b).ranges)
            return reason if alike else reason._replace(hint=None)
        return Reason("never_neighbours")

    def other_versions(self, a: FusionUnit, b: FusionUnit) -> Reason:
        """Say why two nodes that use the same memory have no buffer in common."""
        joins = [node for node in self.nodes.values() if node.type == "nop"]
        read = {access.buffer for name in b.members for access in self.nodes[name].reads}
        written = {access.buffer for name in a.members for access in self.nodes[name].writes}
        for node in joins:
            if read & {access.buffer for access in node.writes} and written & {access.buffer for access in node.reads}:
                return Reason("concatenated_whole")
        return Reason("concatenated_parts" if joins else "other_version")

    def no_shared_data(self, pair: Pair) -> Reason:
        """Say what two nodes that "share no data" do with their common buffer, where Inductor does not."""
        common = self.common(pair.a, pair.b)
        if not common:
            return self.other_versions(pair.a, pair.b)
        buffer = common[0]
        one, other = (self.accesses(unit)[buffer].deps for unit in (pair.a, pair.b))
        told = self.schedule is not None and self.schedule.complete  # in files each loop names its own variables
        if any(map(is_indirect, (*one, *other))):
            return Reason("indirect", {"buffer": buffer})
        if (pair.mutates or not (one and other)) and not is_opaque(pair.a) and not is_opaque(pair.b):
            return Reason("whole_buffer", {"buffer": buffer})
        told = self.schedule is not None and self.schedule.complete  # in files each loop names its own variables
        if told and one and other and one != other:
            words = tuple(" | ".join(dep.index for dep in deps) for deps in (one, other))
            return Reason("indices_differ", {"buffer": buffer, "words": words})
        return Reason("loops_do_not_match", {"buffer": buffer})

    def common(self, a: FusionUnit, b: FusionUnit) -> list[str]:
        """The buffers that both use, as the scheduler tells them apart (one per version)."""
        names = self.accesses(b)
        return [name for name in self.accesses(a) if name in names]

    def accesses(self, unit: FusionUnit) -> dict[str, BufferAccess]:
        """Buffer → what of it a unit's loops touch together."""
        if unit.members not in self._accesses:
            members = [self.nodes[name] for name in unit.members if name in self.nodes]
            found = schedules.merge([(*node.reads, *node.writes) for node in members], {})
            self._accesses[unit.members] = {access.buffer: access for access in found}
        return self._accesses[unit.members]

    def distance(self, buffer: str, a: FusionUnit, b: FusionUnit) -> int:
        """Return how far apart two units are among the scheduler's groups that use a buffer."""
        places = [self.users[buffer][self.nodes[unit.members[0]].group] for unit in (a, b)]
        return abs(places[0] - places[1])

    def attempt(self, a: FusionUnit, b: FusionUnit) -> FusionAttempt | None:
        """Return what the scheduler said last of these two; a pair asked about in the wrong order says nothing."""
        one, other = (a.call.id, a.members), (b.call.id, b.members)
        found = [*self.attempts.get((one, other), ()), *self.attempts.get((other, one), ())]
        told = [item for item in found if item.raw_reason != "node1 must go before node2"] or found
        return max(told, key=lambda item: (len(item.a) + len(item.b), item.order)) if told else None

    def from_attempt(self, found: FusionAttempt, pair: Pair) -> tuple[Verdict, Reason, str | None]:
        """Translate what the scheduler said."""
        raw = found.raw_reason
        if raw is not None:
            return "rejected", self.in_words(found, raw, pair), raw
        if found.cause == "could be fused":
            return "rejected", Reason("better_pair"), None
        return "rejected", self.without_words(found, pair), None

    def in_words(self, attempt: FusionAttempt, raw: str, pair: Pair) -> Reason:
        """Translate Inductor's reason, refined by what is known of the pair."""
        cause = attempt.cause
        fixed = self.fixed(pair)
        # Without the switches (files): the scheduler asks an extern kernel for no more than the order.
        tried = any(self.limits.get(name) for name in ("max_autotune", "max_autotune_gemm")) or not self.limits
        if fixed is not None and (not tried or re.search(r"extern|nop|triton kernel|must go before", raw)):
            return fixed
        if raw.startswith("no shared data") and cause is None:
            reason = self.no_shared_data(pair)
        else:
            if cause is not None and self.schedule is not None:  # versions of mutated memory have no name in the code
                renames = self.schedule.renames
                cause = re.sub(r"'(\w+)'(?=: )", lambda found: f"'{renames.get(found[1], found[1])}'", cause)
            refused = hints.refused(self.side(pair.a), self.side(pair.b), flows=pair.flows or pair.mutates)
            reason = translate(raw, cause, self.limits, refused, swapped=attempt.a[0] in pair.b.members)
        if fixed is None:
            return reason
        # It was a template when the scheduler was asked, and became a library call when the benchmark spoke.
        return reason.noted("tried_as_template")

    def without_words(self, attempt: FusionAttempt, pair: Pair) -> Reason:
        """Say what the backend checks where it declines without a reason (C++: codegen/cpp.py, can_fuse_*)."""
        limit = self.limits.get("cpp.max_horizontal_fusion_size")
        if not pair.flows and isinstance(limit, int) and len(attempt.a) + len(attempt.b) > limit:
            return Reason("too_many_horizontal", {"limit": limit}, "raise", "cpp.max_horizontal_fusion_size")
        loops = [
            cpp_loops([self.nodes[name].ranges for name in names if name in self.nodes])
            for names in (attempt.a, attempt.b)
        ]
        return declined(loops[0], loops[1], flows=pair.flows)

    def fixed(self, pair: Pair) -> Reason | None:
        """Say why Inductor never asks about a pair with a kernel that it does not write; `None` if it writes both."""
        a, b = pair.a, pair.b
        opaque_a, opaque_b = is_opaque(a), is_opaque(b)
        if opaque_a and opaque_b:
            return self.both_opaque(pair)
        if opaque_a or opaque_b:
            call = (a if opaque_a else b).call
            producer = opaque_a or not pair.flows
            reason = opaque(call.kernel, call.type, producer=producer, device=call.device, limits=self.limits)
            return reason if pair.flows else sibling(pair, reason)
        if pair.a.type == "nop" or pair.b.type == "nop":
            return Reason("no_op")
        return None

    def both_opaque(self, pair: Pair) -> Reason:
        """Two calls that Inductor makes as they are."""
        from fxscope.passes.fusion.reasons import extern_kind

        a, b = pair.a.call, pair.b.call
        kinds = [extern_kind(item.kernel) if item.type != "user_triton" else "user" for item in (a, b)]
        reason = Reason("both_extern", {"kernels": (a.kernel, b.kernel)})
        if kinds != ["gemm", "gemm"]:
            return reason
        if not pair.flows:
            return reason._replace(hint="concatenate_weights").noted("not_merged")
        # fx_passes/b2b_gemm.py: two plain mm on a GPU, the first's result read by nothing else.
        plain = all(op_name(item.kernel) == "mm" and not (item.device or "").startswith("cpu") for item in (a, b))
        alone = all(self.readers.get(name) == 1 for name in pair.buffers if name in pair.a.writes)
        return reason._replace(hint="enable", config="b2b_gemm_pass") if plain and alone else reason


def is_opaque(unit: FusionUnit) -> bool:
    """Return whether the unit calls a kernel that Inductor does not write."""
    return not unit.call.is_generated or unit.type in (*EXTERN, "user_triton")


def sibling(pair: Pair, reason: Reason) -> Reason:
    """The pair shares memory but no result, and one is opaque for this reason."""
    if any(name in pair.a.writes and name in pair.b.writes for name in pair.buffers):
        note = "write_parts"
    else:
        note = "overwrites_input" if pair.mutates else "share_input"
    return reason.without_hint().noted(note)
