"""The types of a fleet: a rank's digest and what a job's digests show (`fxscope-fleet/1`).

Times are microseconds of the rank's own clock; clocks of two ranks are never compared. What is not known is `None`.
"""

from collections.abc import Sequence
from typing import Literal

from fxscope.english import CAUSES
from fxscope.index import grouped
from fxscope.model import Item, Problem
from fxscope.text import microseconds

FLEET_SCHEMA = "fxscope-fleet/1"
MAX_RANGES = 6  # of ranks, in words

Cause = Literal["device_work", "other_kernels", "slower_kernels", "shapes", "host", "input", "queued", "memory"]
FindingKind = Literal["late", "plan_differs"]


class RankStep(Item, frozen=True, kw_only=True):
    """One step of one rank, on the device: from the end of the last collective of the step before to that of this one.

    These two moments are the same for every rank of the group, so a step is equally long for all. What differs is how much
    of it the rank worked and how much it waited: `own_us` = `wall_us` - `exposed_us`.
    """

    number: int  # N of ProfilerStep#N
    whole: bool  # it begins and ends at a collective; where not (first step, none at all) the edges are the host's step
    wall_us: float
    compute_us: float  # one that is no communication ran
    exposed_us: float  # nothing but communication ran: transfer, and waiting for others to arrive
    idle_host_us: float  # nothing ran, and nothing of the three below explains it: waiting for the host to launch
    idle_queued_us: float  # nothing ran, and work that the host had launched did not start
    idle_input_us: float  # nothing ran while the host was inside the program's data annotation
    host_work_us: float  # of the host's step: not blocked by the device and not in a data annotation
    num_launches: int  # kernels and copies launched in the host's step, communication left out
    allocation_us: float  # in calls that take device memory from the driver or give it back

    @property
    def own_us(self) -> float:
        """Return what the rank needed for itself: the step without waiting and without exposed transfer."""
        return self.wall_us - self.exposed_us


class PlanKernel(Item, frozen=True, kw_only=True):
    """A kernel as it is launched: name and configuration, how often a step, and how long it takes."""

    name: str
    grid: str | None
    block: str | None
    least: int  # launches in the step that has fewest of it
    most: int
    total_us: float  # a step, median over steps


class PlanOp(Item, frozen=True, kw_only=True):
    """A torch op that launched work, with the shapes of its inputs."""

    name: str
    shapes: str
    least: int
    most: int


class Plan(Item, frozen=True, kw_only=True):
    """The kernels that a step launches. Two ranks with equal `signature` launched the same ones, configuration included."""

    signature: str | None  # of `kernels`; None where the trace holds no launch that belongs to a step
    kernels: tuple[PlanKernel, ...] = ()  # communication left out: its configuration follows the topology
    ops: tuple[PlanOp, ...] = ()  # those that launched them; empty where no shapes were recorded
    steps: tuple[int, ...] = ()  # the steps that were looked at


class Digest(Item, frozen=True, kw_only=True):
    """One rank's trace, in a few kB."""

    file: str
    rank: int | None
    world: int | None = None
    host: str | None = None
    steps: tuple[RankStep, ...] = ()
    plan: Plan = Plan(signature=None)
    sends: bool = False  # to single ranks, as the stages of a pipeline do
    num_events: int | None = None  # None: the trace could not be read
    incomplete: bool = False  # the trace is damaged: some events are not there, so the rank is not compared
    problems: tuple[Problem, ...] = ()


# ---------------------------------------------------------------------- the job


class PlanChange(Item, frozen=True, kw_only=True):
    """A kernel or op in which two plans differ; counts are launches a step, (least, most) over steps."""

    what: Literal["kernel", "op"]
    change: Literal["added", "missing", "other_count", "other_configuration", "other_shapes"]
    name: str
    majority: str | None = None
    here: str | None = None
    total_us: float | None = None  # what it takes a step, here less there


class Finding(Item, frozen=True, kw_only=True):
    """Something uneven. `evidence` is sentences, each provable from the digests."""

    kind: FindingKind
    ranks: tuple[int, ...]
    cause: Cause | None
    cost_us: float | None  # a step, per rank; None: no cost is shown
    evidence: tuple[str, ...]
    changes: tuple[PlanChange, ...] = ()
    num_changes: int = 0  # where `changes` holds only the first


class RankLine(Item, frozen=True, kw_only=True):
    """One rank in the overview; times are medians over the compared steps."""

    rank: int
    file: str
    host: str | None = None
    plan: int | None = None  # index into `plans`
    own_us: float | None = None
    exposed_us: float | None = None
    wall_us: float | None = None
    compute_us: float | None = None
    idle_host_us: float | None = None
    idle_queued_us: float | None = None
    idle_input_us: float | None = None
    late_us: float = 0.0  # of `lateness_us` the median; of two steps the smaller, so that one hiccup is not a habit
    lateness_us: tuple[float | None, ...] = ()  # by compared step: how late by its own work; 0: no later than its peers


class PlanGroup(Item, frozen=True, kw_only=True):
    """The ranks that launched the same kernels, and in what they differ from the largest such group."""

    signature: str
    ranks: tuple[int, ...]
    num_kernels: int  # launches a step
    cause: Cause | None = None  # kind of difference; None: at most launch configurations, which each rank tunes itself
    changes: tuple[PlanChange, ...] = ()
    num_changes: int = 0
    program: int = 0  # ranks of different programs are not compared


class Fleet(Item, frozen=True, kw_only=True):
    schema: str = FLEET_SCHEMA
    title: str
    world: int | None
    ranks: tuple[RankLine, ...]
    steps: tuple[int, ...]  # the compared ones
    even: bool  # nothing was found
    verdict: str
    rule: str  # when a rank is named
    step_us: float | None  # median
    exposed_share: float | None  # of the step, median over ranks
    findings: tuple[Finding, ...]
    plans: tuple[PlanGroup, ...]
    problems: tuple[Problem, ...] = ()


# ---------------------------------------------------------------------- in words


def ranges(ranks: Sequence[int]) -> str:
    """Write ranks as ranges: "0–3, 5, 7–9"."""
    runs = grouped(enumerate(sorted(ranks)), lambda item: item[1] - item[0]).values()
    ends = [(run[0][1], run[-1][1]) for run in runs]
    parts = [str(a) if a == b else f"{a}–{b}" if b > a + 1 else f"{a}, {b}" for a, b in ends]
    return ", ".join(parts) if len(parts) <= MAX_RANGES else f"{', '.join(parts[:MAX_RANGES])} and more"


def named(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranges(ranks)}"


def headline(finding: Finding) -> str:
    """Say a finding in one line: "rank 2 is late: more device work; cost 3.03 ms a step"."""
    many = len(finding.ranks) > 1
    plan = "run another plan" if many else "runs another plan"
    what = ("are late" if many else "is late") if finding.kind == "late" else plan
    cost = f"; cost {microseconds(finding.cost_us)} a step" if finding.cost_us else ""
    return f"{named(finding.ranks)} {what}: {CAUSES[finding.cause]}{cost}"
