"""Findings from several recordings, or from one and its expectations.

Like `model/` these are plain frozen values: passes make them, renderers show them, and `to_json` writes them.
"""

from typing import Any, Literal

import msgspec

from fxscope.model import Item, Printed, Source, encoded

COMPARISON_SCHEMA = "fxscope-comparison/2"
REPORT_SCHEMA = "fxscope-check/1"

MatchKind = Literal["same", "moved", "fused", "merged", "split", "regrouped", "replaced", "new", "gone"]
AlignedBy = Literal["name", "nodes", "source", "module", "op", "order", "shapes"]
TimeVerdict = Literal["faster", "slower", "no difference shown", "cannot tell", "not the same work", "not measured"]
Status = Literal["met", "not_met", "cannot_tell"]


class TimeComparison(Item, frozen=True, kw_only=True):
    """Two sets of repeats of one thing, and what may be said of them."""

    a_us: float | None  # median
    b_us: float | None
    num_a: int  # repeats
    num_b: int
    ratio: float | None = None  # b over a
    ratio_low: float | None = None  # 95 % interval of the ratio
    ratio_high: float | None = None
    verdict: TimeVerdict
    reason: str  # the verdict in words, with its numbers

    @property
    def is_single(self) -> bool:
        """Return whether a side has one repeat on the device: by how much it varies is unknown."""
        return self.ratio is not None and min(self.num_a, self.num_b) < 2 and self.verdict == "no difference shown"


class KernelUse(Item, frozen=True, kw_only=True):
    position: int  # from 0, in the order of the step
    kernel: str
    category: str
    call: str | None = None
    ops: tuple[str, ...] = ()  # the user's ops that ran in it, views left out where there is other work
    is_backward: bool = False
    modules: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # "model.py:17"
    time_us: float | None = None  # median of the steps
    bytes: int | None = None  # read and written
    registers: int | None = None
    shared_bytes: int | None = None
    occupancy: float | None = None
    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    num_warps: int | None = None
    num_stages: int | None = None
    config: str | None = None  # "XBLOCK=1024"
    share_of_roof: float | None = None
    samples_us: tuple[float | None, ...] = ()  # one per step; None in a step without it
    runs: float = 1  # in a step; what stands here is of one

    @property
    def is_rare(self) -> bool:
        """Return whether most of the measured steps lack it."""
        return bool(self.samples_us) and self.runs < 0.5


class KernelMatch(Item, frozen=True, kw_only=True):
    """Kernels of A and the kernels of B that replaced them."""

    kind: MatchKind
    a: tuple[KernelUse, ...]
    b: tuple[KernelUse, ...]
    aligned_by: AlignedBy | None = None
    time: TimeComparison | None = None
    saved_bytes: int | None = None  # a step's traffic of A minus that of B, where both are known


class Change(Item, frozen=True, kw_only=True):
    """One number of both recordings; `None` where a recording does not hold it."""

    subject: str
    key: str = ""  # of a total: "kernels", "step_us", …
    a: float | None
    b: float | None
    unit: Literal["count", "us", "bytes"] = "count"


class DecisionChange(Item, frozen=True, kw_only=True):
    """A pair of ops on which the two compilers (or settings) decided differently, or for other reasons."""

    pair: tuple[str, str]
    where: tuple[str, ...] = ()  # modules, else lines or nodes; none where the ops alone tell the place
    count: int = 1  # places of which this is said
    a_verdict: str | None
    b_verdict: str | None
    a_reason: str | None  # without numbers that only count, where the places differ in them
    b_reason: str | None


class Comparison(Printed, frozen=True, kw_only=True):
    """The changes from recording A to recording B."""

    schema: str = COMPARISON_SCHEMA
    a_title: str
    b_title: str
    # (Name, of A, of B): device, versions, Inductor's switches that differ.
    settings: tuple[tuple[str, str, str], ...] = ()
    kernels: tuple[KernelMatch, ...] = ()
    totals: tuple[Change, ...] = ()
    step_time: TimeComparison | None = None  # device time of a step
    each: str = " per step"  # what the figures are of; "" where no side has steps: of whole runs
    without_collectives: bool = False  # `step_time` leaves them out: their kernels run while they wait for other ranks
    wall_time: TimeComparison | None = None  # wall time of a step, as the profiler saw it
    ops: tuple[Change, ...] = ()  # CPU ops that a step runs more or less often
    decisions: tuple[DecisionChange, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be compared, and why


class Outcome(Item, frozen=True, kw_only=True):
    claim: str  # the user's words, else the expectation itself
    kind: str
    subject: str  # which recordings
    status: Status
    expected: str
    found: str  # the fact
    reason: str | None = None  # why it is so, for fusion from the decisions
    note: str | None = None  # what the file says about it
    line: int | None = None  # of the file
    sources: tuple[Source, ...] = ()  # the program's lines of what it names, where it is not met


class CheckReport(Item, frozen=True, kw_only=True):
    schema: str = REPORT_SCHEMA
    title: str | None = None
    outcomes: tuple[Outcome, ...] = ()

    @property
    def passed(self) -> bool:
        return all(outcome.status == "met" for outcome in self.outcomes)


class SweepPoint(msgspec.Struct, kw_only=True):
    vary: dict[str, int | float | str]
    setup: str
    problem: str | None = None
    wall_us: tuple[float, ...] | None = None  # µs per call, each the mean over a block of calls
    device_us: tuple[float, ...] | None = None  # one per profiled step
    num_kernels: float | None = None  # per step
    share_of_roof: float | None = None  # time-weighted over the kernel calls that have a roof
    peak_bytes: int | None = None


class Sweep(msgspec.Struct, kw_only=True):
    schema: str = "fxscope-sweep/1"
    title: str | None = None
    vary: str
    environment: dict[str, Any] = {}
    points: list[SweepPoint] = []

    def to_json(self) -> str:
        return msgspec.json.format(encoded(self), indent=1).decode() + "\n"
