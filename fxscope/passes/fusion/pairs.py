"""Pairs of kernel calls of one graph that share memory: exactly one decision each, and what staying apart costs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from fxscope.dtypes import ITEM_BYTES
from fxscope.index import by_each, grouped, known_sum
from fxscope.model import BufferAccess, Decision, FusionAttempt, Graph, KernelCall, Node, Schedule, TensorMeta, Verdict
from fxscope.passes import flops, schedules
from fxscope.passes.footprint import is_indirect, overlap
from fxscope.passes.fusion.reasons import PairSide, Reason, can_help, decision, opaque, translate

# A buffer with this many readers makes no pair per two of them, only of those that are near each other: else one shared
# scalar in a large graph makes millions of decisions.
MANY_USERS = 200
# A switch that torch refused for a pair → others that may join it.
OTHERWISE = {"loop_ordering_after_fusion": ("loop_reindexing_after_fusion",)}
NEAR = 8


class Pair(NamedTuple):
    """Two calls that share memory, in the order in which they run."""

    a: PairSide
    b: PairSide
    buffers: tuple[str, ...]
    flows: bool  # b reads what a wrote
    mutates: bool  # b writes what a read or wrote

    @property
    def groups(self) -> list[tuple[int, int]]:
        """Every two groups of the scheduler that the two are of, the lower number first."""
        return [(min(one, other), max(one, other)) for one in self.a.groups for other in self.b.groups]


def decisions(
    calls: Sequence[KernelCall], schedule: Schedule | None, graph: Graph | None, library: str
) -> list[Decision]:
    verdicts = PairVerdict(calls, schedule, graph, library)
    return [verdicts.decide(pair) for pair in pairs(verdicts.sides)]


def sizes(items: Iterable[BufferAccess], alias: Mapping[str, str]) -> dict[str, int | None]:
    by_name = grouped(items, lambda item: alias.get(item.buffer, item.buffer))
    return {name: known_sum(item.bytes for item in same) for name, same in by_name.items()}


def pairs(sides: Sequence[PairSide]) -> list[Pair]:
    """Every two calls that share memory, the earlier first."""
    users = by_each(range(len(sides)), lambda place: dict.fromkeys((*sides[place].reads, *sides[place].writes)))
    shared: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name, positions in users.items():
        for first, second in combinations(range(len(positions)), 2):
            one, other = positions[first], positions[second]
            if len(positions) > MANY_USERS and second - first > NEAR and name not in sides[one].writes:
                continue
            shared[one, other].append(name)
    result: list[Pair] = []
    for (one, other), names in sorted(shared.items()):
        a, b = sides[one], sides[other]
        flows = any(name in a.writes and name in b.reads for name in names)
        mutates = any(name in b.writes for name in names)
        result.append(Pair(a, b, tuple(names), flows, mutates))
    return result


class PairVerdict:
    """Finds the verdict of a pair in the schedule, or says why there is none."""

    def __init__(
        self, calls: Sequence[KernelCall], schedule: Schedule | None, graph: Graph | None, library: str
    ) -> None:
        self.library = library
        self.complete: bool = schedule is not None and schedule.complete
        schedule = schedule or Schedule(graph="")
        self.schedule = schedule
        self.alias = schedules.aliases(schedule)
        self.limits: dict[str, Any] = schedule.limits
        self.fx: dict[str, Node] = {node.name: node for node in graph.nodes} if graph else {}
        members = {node.name: node for node in schedule.nodes}
        self.members = members
        self.sides = [
            PairSide(
                call,
                position,
                tuple(members[name] for name in call.scheduler_nodes if name in members),
                tuple(self.fx[name] for name in call.nodes if name in self.fx),
                sizes(call.reads or (), self.alias),
                sizes(call.writes or (), self.alias),
            )
            for position, call in enumerate(calls)
        ]
        self.readers = Counter(name for side in self.sides for name in side.reads)
        # What must be in memory after the graph: what it returns, and what of the caller's it writes in place.
        self.outlives: set[str] | None = None
        if schedule.graph:
            self.outlives = {self.alias.get(name, name) for name in schedule.outputs}
            self.outlives |= {node.name for node in self.fx.values() if node.op == "placeholder"}
        self.memory = self._memory()
        self.trials = grouped(schedule.trials or (), lambda trial: (trial.a, trial.b))
        refused = [item for item in schedule.attempts if not item.fused and {item.a[0], item.b[0]} <= members.keys()]
        self.attempts = grouped(refused, lambda item: tuple(sorted(members[end[0]].group for end in (item.a, item.b))))
        self._accesses: dict[tuple[str, ...], dict[str, BufferAccess]] = {}

    def _memory(self) -> dict[str, int]:
        """Name → bytes: of graph inputs, of buffers, and of what several buffers are parts of."""
        found: list[tuple[str, int | None]] = [
            (node.name, flops.tensor_bytes(node.outputs[:1])) for node in self.fx.values() if node.op == "placeholder"
        ]
        for item in (item for node in self.schedule.nodes for item in (*node.reads, *node.writes)):
            if item.shape is not None:
                size = flops.tensor_bytes([TensorMeta(shape=item.shape, dtype=item.dtype, stride=item.stride)])
                found += [(item.buffer, size), (self.alias.get(item.buffer, item.buffer), size)]
        found += [item for side in self.sides for item in (*side.reads.items(), *side.writes.items())]
        known = sorted((size, name) for name, size in found if size is not None)
        return {name: size for size, name in known}  # the largest of each

    def decide(self, pair: Pair) -> Decision:
        a, b = pair.a, pair.b
        verdict, reason, raw = self.verdict(pair)
        reason, verified = self.possible(reason, pair)
        saved_bytes, least = self.saved(pair)
        return decision(
            verdict,
            reason,
            graph=a.call.graph,
            a=a.call.nodes,
            b=b.call.nodes,
            a_call=a.call.id,
            b_call=b.call.id,
            raw_reason=raw,
            hint_verified=verified,
            saved_bytes=saved_bytes,
            saved_bytes_least=least,
            saved_launches=1,
            evidence="debug_handle" if a.call.scheduler_nodes and b.call.scheduler_nodes else "order",
        )

    def saved(self, pair: Pair) -> tuple[int | None, bool]:
        """The bytes that one kernel instead of the two would not move, and whether there may be more.

        A buffer that `a` writes and `b` reads need not be read; it need not be written either where `b` is its only
        reader and the graph does not return it. An input that both read need be read once only. What of this is not
        known (a size, what the graph returns) may be more: the sum is a lower bound.
        """
        total: int | None = None
        least = False
        for name in pair.buffers:
            cost: int | None = None
            if name in pair.a.writes and name in pair.b.reads:
                written, read = pair.a.writes[name], pair.b.reads[name]
                cost = read if written is None else self.in_both(pair, name, written, read)[0]
                # What a call reads of its own result (a sum by index into it) keeps no other from being its only reader.
                alone = self.readers[name] - (name in pair.a.reads) == 1
                alone = alone and (self.outlives is None or name not in self.outlives)
                # Of a part of a memory it is not looked up who else reads that part.
                in_part = (written or 0) < (self.memory.get(name) or 0)
                least = least or (in_part and not alone)
                if cost is None or (alone and (self.outlives is None or written is None)):
                    least = True
                elif alone and written is not None:
                    cost += written
            elif name in pair.a.reads and name in pair.b.reads:
                cost, exact = self.in_both(pair, name, pair.a.reads[name], pair.b.reads[name])
                least = least or not exact
            if cost is not None:
                total = (total or 0) + cost
        return (total or None, bool(total)) if least else (total, False)

    def in_both(self, pair: Pair, name: str, first: int | None, second: int | None) -> tuple[int | None, bool]:
        """Return the least number of bytes of a memory that both must touch, and whether they touch no more in common."""
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

    def possible(self, reason: Reason, pair: Pair) -> tuple[Reason, bool | None]:
        """The reason without a hint that cannot help, and whether torch was asked for the pair with that switch.

        A hint of a live or planned recording is one that torch accepts. From files torch cannot be asked.
        """
        if reason.hint is None or reason.config in (None, "benchmark_fusion"):
            return reason, None
        accepted = {item.config for groups in pair.groups for item in self.trials.get(groups, ()) if item.accepted}
        for config in (reason.config, *OTHERWISE.get(reason.config or "", ())):
            if config in accepted:
                return reason._replace(config=config, hint=reason.hint if config == reason.config else "enable"), True
        possible = self.schedule.trials is None and can_help(reason.config or "", pair.a, pair.b, pair.buffers)
        return (reason if possible else reason.without_hint()), None

    def waits_for_another(self, pair: Pair) -> bool:
        """Return whether one kernel would be a cycle: the second reads what a kernel between makes of the first's result."""
        made = set[str]()
        for side in self.sides[pair.a.position + 1 : pair.b.position]:
            if side.reads.keys() & (pair.a.writes.keys() | made):
                made |= side.writes.keys()
        return bool(made & pair.b.reads.keys())

    def verdict(self, pair: Pair) -> tuple[Verdict | None, Reason, str | None]:  # verdict, reason, Inductor's words
        a, b = pair.a, pair.b
        if a.call.device and b.call.device and a.call.device != b.call.device:
            return "never_considered", Reason("device_boundary", {"a": a.call.device, "b": b.call.device}), None
        if a.groups & b.groups:
            return "rejected", Reason("combo_kinds_differ"), None
        if (found := self.attempt(pair)) is not None:
            if found.raw_reason is not None:
                return "rejected", self.in_words(found, found.raw_reason, pair), found.raw_reason
            return "rejected", Reason("better_pair" if found.could_fuse else "declined"), None
        if (fixed := self.fixed(pair)) is not None:
            return "never_considered", fixed, None
        if not self.complete and self.waits_for_another(pair):
            return "never_considered", Reason("cycle"), None
        if not self.complete:
            return None, Reason("no_fusion_log", {}, "record_fusion_log"), None
        if len({node.stream for node in (*a.members, *b.members)} - {None}) > 1:
            return "never_considered", Reason("stream_boundary"), None
        if not a.call.scheduler_nodes or not b.call.scheduler_nodes:
            return "never_considered", Reason("outside_scheduler"), None
        return "never_considered", Reason("never_neighbours" if self.common(pair) else "other_version"), None

    def no_shared_data(self, pair: Pair) -> Reason:
        """Say what two nodes that "share no data" do with their common buffer, where Inductor does not."""
        common = self.common(pair)
        if not common:
            return Reason("other_version")
        buffer = common[0]
        one, other = (self.accesses(side)[buffer].deps for side in pair[:2])
        if any(map(is_indirect, (*one, *other))):
            return Reason("indirect", {"buffer": buffer})
        if (pair.mutates or not (one and other)) and not pair.a.opaque and not pair.b.opaque:
            return Reason("whole_buffer", {"buffer": buffer})
        return Reason("loops_do_not_match", {"buffer": buffer})

    def common(self, pair: Pair) -> list[str]:
        """The buffers that both use, as the scheduler distinguishes them (one per version)."""
        names = self.accesses(pair.b)
        return [name for name in self.accesses(pair.a) if name in names]

    def accesses(self, side: PairSide) -> dict[str, BufferAccess]:
        """Buffer → what of it a call's loops touch together."""
        names = tuple(node.name for node in side.members)
        if names not in self._accesses:
            found = schedules.merge([(*node.reads, *node.writes) for node in side.members], {})
            self._accesses[names] = {access.buffer: access for access in found}
        return self._accesses[names]

    def attempt(self, pair: Pair) -> FusionAttempt | None:
        """Return what the scheduler said last of these two; a pair asked about in the wrong order says nothing."""
        found = [attempt for groups in pair.groups for attempt in self.attempts.get(groups, ())]
        told = [item for item in found if item.raw_reason != "node1 must go before node2"] or found
        return max(told, key=lambda item: (len(item.a) + len(item.b), item.order)) if told else None

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
            if cause is not None:  # versions of mutated memory have no name in the code
                renames = self.schedule.renames
                cause = re.sub(r"'(\w+)'(?=: )", lambda found: f"'{renames.get(found[1], found[1])}'", cause)
            swapped = attempt.a[0] in {node.name for node in pair.b.members}
            reason = translate(raw, cause, self.limits, swapped=swapped)
        # It was a template when the scheduler was asked, and became a library call when the benchmark spoke.
        return reason if fixed is None else reason.noted("tried_as_template")

    def fixed(self, pair: Pair) -> Reason | None:
        """Say why Inductor never asks about a pair with a kernel that it does not write; `None` if it writes both."""
        a, b = pair.a, pair.b
        if a.opaque and b.opaque:
            return Reason("both_extern", {"kernels": (a.call.kernel, b.call.kernel)})
        if a.opaque or b.opaque:
            call = (a if a.opaque else b).call
            about: dict[str, Any] = {"device": call.device, "limits": self.limits, "library": self.library}
            reason = opaque(call.kernel, call.type, producer=a.opaque or not pair.flows, **about)
            if pair.flows:
                return reason
            if any(name in a.writes and name in b.writes for name in pair.buffers):
                return reason.without_hint().noted("write_parts")
            return reason.without_hint().noted("overwrites_input" if pair.mutates else "share_input")
        return Reason("no_op") if "nop" in (a.types[0], b.types[0]) else None
