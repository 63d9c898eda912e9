"""Decide whether the CPU or the GPU limits a step: one rule for every view.

GPU-bound from `GPU_BOUND` on: closing every gap would gain a fifth of the step at most. CPU-bound up to `CPU_BOUND`: the
device waits clearly longer than it works. Between the two neither is said, and the share always stands beside the word.
"""

from collections.abc import Sequence
from statistics import median
from typing import Literal, NamedTuple

from fxscope.index import index_of, warm, whole_steps
from fxscope.model import Recording, StepStats, StepTimes, Summary, replace
from fxscope.text import microseconds, percent

GPU_BOUND, CPU_BOUND = 0.8, 0.4  # share of a step in which some stream of the device runs something


class Bound(NamedTuple):
    """The side that limits a step, by how busy the device was."""

    side: Literal["cpu", "gpu", "neither"]
    busy: float  # share of the wall time
    wall_us: float
    while_recording: bool = False  # whether the wall time holds the cost of fxscope's profiler

    @property
    def words(self) -> str:
        """The verdict with its figures: "GPU-bound (device busy 93 % of 1.43 ms)"."""
        when = " while recording" if self.while_recording else ""
        return f"{self.short} (device busy {percent(self.busy)} of {microseconds(self.wall_us)}{when})"

    @property
    def short(self) -> str:
        """The verdict alone: "CPU-bound"."""
        return {"cpu": "CPU-bound", "gpu": "GPU-bound"}.get(self.side, "neither CPU- nor GPU-bound")


def bound(wall_us: float, busy_us: float, *, while_recording: bool = False) -> Bound | None:
    """Judge a step; `None` of no time."""
    if wall_us <= 0:
        return None
    busy = busy_us / wall_us
    side = "gpu" if busy >= GPU_BOUND else "cpu" if busy <= CPU_BOUND else "neither"
    return Bound(side, busy, wall_us, while_recording)


def of_steps(steps: Sequence[StepStats], times: StepTimes | None = None) -> Bound | None:
    """Judge the median step by the device's work in it and its wall time; steps that are not whole do not count.

    Args:
        steps: profiled ones.
        times: of the same program's steps without a profiler: their typical wall time counts where it is known.
    """
    if not steps:
        return None
    whole = whole_steps({item.step: item.num_launches for item in steps})
    found = [item for item in steps if item.step in whole]
    busy = median(s.device_busy_us for s in found)
    known = times is not None and not times.while_recording
    wall = times.median_us if times is not None and known else median(s.wall_us for s in warm(found))
    if busy > wall:  # the wall time is that of the warm steps
        busy = median(s.device_busy_us for s in warm(found))
    return bound(wall, min(busy, wall), while_recording=times is not None and not known)


def of_summary(summary: Summary | None, times: StepTimes | None = None) -> Bound | None:
    """Judge a trace's steps; `None` where no device ran anything. Files of old versions are judged anew."""
    return of_steps(summary.steps, times) if summary is not None and summary.bound is not None else None


def of_recording(recording: Recording) -> Bound | None:
    """Judge a recording's steps by their undisturbed wall time; `None` where no device ran anything."""
    summary, counted = recording.summary, index_of(recording).step_set
    if summary is not None and any(item.step in counted for item in summary.steps):
        summary = replace(summary, steps=tuple(item for item in summary.steps if item.step in counted))
    return of_summary(summary, recording.step_times)


def judged(recording: Recording) -> Recording:
    """Fill `Summary.bound` and `Summary.verdict` by the undisturbed wall time of a step."""
    limit = of_recording(recording)
    if limit is None or recording.summary is None:
        return recording
    return replace(recording, summary=replace(recording.summary, bound=limit.side, verdict=limit.words))
