"""Ops, steps and totals of a trace."""

from typing import Any, Literal

from fxscope.model.base import Item, LaunchCategory, Source, Timing


class Op(Item, frozen=True, kw_only=True):
    """A CPU event of a kept step: an op, an annotation, or a runtime call."""

    id: int
    name: str
    category: str  # "cpu_op", "user_annotation", "runtime", "python"
    step: int = 0  # -1: while a graph was captured, before the steps that replay it
    thread: int | None = None
    start_ns: int
    duration_ns: int
    parent: int | None = None
    shapes: tuple[Any, ...] | None = None
    strides: tuple[Any, ...] | None = None
    dtypes: tuple[str, ...] | None = None  # torch's names; "Scalar" and the like as the profiler writes them
    concrete_inputs: tuple[str, ...] | None = None
    external_id: int | None = None
    correlation: int | None = None
    sequence_number: int | None = None
    config: dict[str, Any] | None = None  # a Triton launch's kernel_file, kernel_kwargs, num_warps, …
    source: Source | None = None
    graph: str | None = None
    node: str | None = None
    captured: bool = False  # while a CUDA or HIP graph was captured: its kernels run when that is replayed


class Step(Item, frozen=True, kw_only=True):
    """A step: the profiler's (`ProfilerStep#N`), or one that an optimizer ended; `index` counts from 0."""

    index: int
    name: str
    start_ns: int
    duration_ns: int


class OpStats(Item, frozen=True, kw_only=True):
    """One line of the op table, comparable with torch.profiler's `key_averages()`."""

    name: str
    count: int
    cpu_total_us: float
    cpu_self_us: float
    device_total_us: float = 0.0
    device_self_us: float = 0.0
    num_launches: int = 0


class KernelStats(Timing, frozen=True, kw_only=True):
    """One line of the kernel table, with the fields of `Timing`."""

    name: str
    category: LaunchCategory
    share: float  # of all device time, 0 to 1


class StepStats(Item, frozen=True, kw_only=True):
    """One step in numbers."""

    step: int
    name: str
    wall_us: float
    device_busy_us: float
    device_idle_us: float
    num_launches: int
    communication_us: float | None = None  # union of the collectives' kernels; None where none is recognised
    exposed_communication_us: float | None = None  # the part beside which no other kernel ran
    queued_us: float = 0.0  # idle time in which work that the CPU had launched did not start


class Gap(Item, frozen=True, kw_only=True):
    """A time in which no stream of a device ran anything."""

    device: int | None
    start_ns: int
    duration_ns: int
    step: int | None = None
    before: str | None = None  # kernel that ended
    after: str | None = None  # kernel that started
    during: str | None = None  # host event that lasted for half of it or more, on the thread that launched next


class Summary(Item, frozen=True, kw_only=True):
    """Totals of a trace, over the kept steps."""

    ops: tuple[OpStats, ...] = ()
    kernels: tuple[KernelStats, ...] = ()
    steps: tuple[StepStats, ...] = ()
    gaps: tuple[Gap, ...] = ()
    syncs: tuple[OpStats, ...] = ()
    bound: Literal["cpu", "gpu", "neither", "queued", "unknown"] | None = None  # None: no device; see passes/bound.py
    verdict: str | None = None  # the bound in words, with the numbers


class Memory(Item, frozen=True, kw_only=True):
    """Device memory of the recorded run, in bytes."""

    peak_bytes: int | None = None
    step_bytes: int | None = None  # peak in the recorded steps; on a CPU of what was made since the recording began
    step_peak_ns: int | None = None  # when that was
    eager_bytes: int | None = None  # peak before the first compile, of a program that ran eager steps first
    pool_bytes: int | None = None  # reserved by the pools of CUDA graphs at its end


class Coverage(Item, frozen=True, kw_only=True):
    """The number of device events (kernels, memsets, memcpys) that were attributed, over all kept steps."""

    device_events: int
    to_op: int
    to_call: int | None
    to_node: int | None
    unattributed: int


class StepTimes(Item, frozen=True, kw_only=True):
    """Wall time of a step as the program runs it: no profiler was on, unless `when` is "recording".

    A step is what lies between two ends of `optimizer.step`, or one call of the recorded function. At most 100 are timed
    after the recorded ones. Where the CPU runs ahead of the device (`when` is "device"), a step takes as long as its
    device work, and `launching_us` is what the CPU needs for it.
    """

    count: int
    when: Literal["before", "after", "calls", "device", "recording"] = "after"  # observed steps; "calls": timing loop
    samples_us: tuple[float, ...] = ()  # the first of them, in order
    total_us: float
    median_us: float
    p95_us: float
    max_us: float
    launching_us: float | None = None  # median time of the CPU for a step

    @property
    def while_recording(self) -> bool:
        """Return whether the profiler was on, so that the times hold its cost."""
        return self.when == "recording"
