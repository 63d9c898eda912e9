"""The scheduler's view of a graph, and the verdict on each pair that could have been fused."""

from typing import Any, Literal, NamedTuple

from fxscope.model.base import Evidence, How, Item, Verdict
from fxscope.model.calls import BufferAccess


class MadeFor(Item, frozen=True, kw_only=True):
    """The reason for an operation that Inductor made: a copy into a layout that a node demands, or a fallback to ATen."""

    cause: Literal["layout", "input", "no_lowering", "declined", "unsupported"]
    node: str | None = None  # that was being lowered
    stride_order: tuple[int, ...] | None = None  # demanded: rank of each dimension's stride, 0 is the smallest
    strides: tuple[int | str, ...] | None = None  # demanded, in elements


class SchedulerNode(Item, frozen=True, kw_only=True):
    """One operation as Inductor's scheduler saw it, before or after joining (`group` says with which others)."""

    name: str  # "op2"
    type: str  # "pointwise", "reduction", "template", "extern", "user_triton", "foreach", "nop", "view", …
    kernel: str | None = None  # an extern's kernel, such as "extern_kernels.mm"
    group: int  # position of its group in the final schedule; members of one group were fused
    origins: tuple[str, ...] = ()  # post-grad nodes, in graph order
    origin_node: str | None = None
    ran: tuple[str, ...] | None = None  # post-grad nodes whose code it executes, in graph order; None not recorded
    parts: tuple[str, ...] = ()  # nodes of a library's kernel of which it computes a part (a bias)
    reads: tuple[BufferAccess, ...] = ()
    writes: tuple[BufferAccess, ...] = ()
    device: str | None = None
    stream: int | None = None
    computes: bool | None = None  # False: its loops only load and store
    made_for: MadeFor | None = None  # None: an op of the graph


class ScheduledGroup(Item, frozen=True, kw_only=True):
    """One node of the final schedule, with the traffic that is left after its members were joined."""

    members: tuple[str, ...]
    type: str
    reads: tuple[BufferAccess, ...] = ()
    writes: tuple[BufferAccess, ...] = ()


class FusionAttempt(Item, frozen=True, kw_only=True):
    """The scheduler's verdict on one pair of (fused) nodes; the last round counts."""

    a: tuple[str, ...]  # scheduler nodes
    b: tuple[str, ...]
    fused: bool
    how: How | None = None
    raw_reason: str | None = None  # Inductor's own words
    cause: str | None = None  # from decide_fusion_fail_reason: why "no shared data"
    could_fuse: bool = False  # allowed, and another pair was fused first
    order: int = 0  # later attempts replace earlier ones


class FusionTrial(Item, frozen=True, kw_only=True):
    """Two groups that the scheduler joins with a switch set that was not."""

    a: int  # positions of groups in the final schedule, the smaller first
    b: int
    config: str
    accepted: bool = True  # False in recordings of older versions, of two that it does not join


class MemoryRange(Item, frozen=True, kw_only=True):
    """Memory of a compiled graph, from its allocation until it is freed."""

    buffer: str  # the first that lies there
    reused_by: tuple[str, ...] = ()  # what is written into the same memory later
    bytes: int
    first: int  # positions of kernels
    last: int


class PeakMemory(Item, frozen=True, kw_only=True):
    """The most memory that a compiled graph needs at once, by Inductor's estimate; inputs that stay are not in it."""

    bytes: int
    scheduler_nodes: tuple[str, ...]  # that run then
    position: int = 0  # of their kernel
    ranges: tuple[MemoryRange, ...] = ()  # all memory, in the order in which it is allocated

    @property
    def alive(self) -> tuple[MemoryRange, ...]:
        """The memory that makes the peak, largest first."""
        found = (item for item in self.ranges if item.first <= self.position <= item.last)
        return tuple(sorted(found, key=lambda item: -item.bytes))


class Schedule(Item, frozen=True, kw_only=True):
    """The scheduler's view of one compiled graph: what it joined, what it was asked, and its limits."""

    graph: str  # id of the post-grad graph
    nodes: tuple[SchedulerNode, ...] = ()
    groups: tuple[ScheduledGroup, ...] = ()
    attempts: tuple[FusionAttempt, ...] = ()
    trials: tuple[FusionTrial, ...] | None = None  # None: torch was not asked
    kernels: tuple[tuple[str, tuple[str, ...]], ...] = ()  # in emission order: kernel, scheduler nodes it runs
    renames: dict[str, str] = {}  # a mutated buffer's later name → the buffer it really is
    outputs: tuple[str, ...] = ()  # buffers that the graph returns
    saved: tuple[str, ...] = ()  # those of them that only the backward takes
    partials: dict[str, BufferAccess] = {}  # buffer → its parts in the workspace of a mix-order kernel
    peak_memory: PeakMemory | None = None
    limits: dict[str, Any] = {}  # Inductor's switches that bear on fusion, as they were
    complete: bool = True  # False: rebuilt from files, which do not tell all


class DecisionEnd(NamedTuple):
    nodes: tuple[str, ...]
    graph: str
    call: str | None


class Decision(Item, frozen=True, kw_only=True):
    """The verdict on one pair that could have been fused, and the cost of not fusing it."""

    graph: str
    a: tuple[str, ...]  # nodes
    b: tuple[str, ...]
    a_call: str | None = None
    b_call: str | None = None
    other_graph: str | None = None  # b's graph, where it is another one
    verdict: Verdict | None = None  # None, with a reason, when files cannot tell
    how: How | None = None
    reason_code: str  # `fxscope.english.REASONS` has the words
    reason_arguments: dict[str, Any] = {}  # what the words are about: names, sizes, iteration spaces
    notes: tuple[str, ...] = ()  # codes of what is added to the reason, with the same arguments
    raw_reason: str | None = None  # Inductor's own words
    hint_code: str | None = None  # what would change the answer; `fxscope.english.HINTS` has the words
    hint_verified: bool | None = None  # torch accepted the pair with that switch; None: it was not asked
    config: str | None = None  # the switch or limit the reason or hint is about
    saved_bytes: int | None = None  # traffic that one kernel would not have
    saved_bytes_least: bool = False  # it is a lower bound: of some shared memory more is not known
    expected_us: float | None = None  # device time that one kernel would save, with a template as fast as a library's
    saved_launches: int | None = None  # launches that one kernel instead of two would save
    evidence: Evidence | None = None

    @property
    def ends(self) -> tuple[DecisionEnd, DecisionEnd]:
        return (
            DecisionEnd(self.a, self.graph, self.a_call),
            DecisionEnd(self.b, self.other_graph or self.graph, self.b_call),
        )

    @property
    def reason(self) -> str:
        from fxscope.english import reason_text

        return reason_text(self.reason_code, self.reason_arguments, self.notes, self.config)

    @property
    def hint(self) -> str | None:
        from fxscope.english import hint_text

        return hint_text(self.hint_code, self.reason_arguments, self.config, verified=self.hint_verified)
