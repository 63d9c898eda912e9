"""Decide whether the CPU or the GPU limits a step: one rule for every view.

GPU-bound from `GPU_BOUND` on: closing every gap would gain a fifth of the step at most. CPU-bound up to `CPU_BOUND`, unless for
half of the idle time work that it launched waits on the device. Between the two neither is said. Below `GPU_BOUND` the side is
unknown where the trace does not contain the launches.
"""

from collections.abc import Sequence
from statistics import median
from typing import Literal, NamedTuple

from fxscope.index import index_of, whole_steps
from fxscope.model import Recording, StepStats, StepTimes, Summary, replace
from fxscope.text import microseconds, percent

GPU_BOUND, CPU_BOUND = 0.8, 0.4  # share of a step in which some stream of the device runs something


class Bound(NamedTuple):
    """The side that limits a step, by how busy the device was."""

    side: Literal["cpu", "gpu", "neither", "queued", "unknown"]
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
        known = {"cpu": "CPU-bound", "gpu": "GPU-bound", "queued": "launched work waits while the GPU idles"}
        known["unknown"] = "cause of idle time unknown: launches not recorded"
        return known.get(self.side, "neither CPU- nor GPU-bound")


def of_steps(steps: Sequence[StepStats], times: StepTimes | None = None, *, launched: bool = True) -> Bound | None:
    """Judge the median step by the device's work in it and its wall time; steps that are not whole do not count.

    `times`: without a profiler; their typical wall time counts where known. `launched`: the CPU's side was recorded.
    """
    if not steps:
        return None
    whole = whole_steps({item.step: item.num_launches for item in steps})
    found = [item for item in steps if item.step in whole]
    busy = median(s.device_busy_us for s in found)
    known = times is not None and not times.while_recording
    wall = times.median_us if times is not None and known else median(s.wall_us for s in found)
    if wall <= 0:
        return None
    share = min(1.0, busy / wall)
    waits = 2 * sum(item.queued_us for item in found) > sum(item.device_idle_us for item in found)
    below = "unknown" if not launched else "queued" if waits else "cpu" if share <= CPU_BOUND else "neither"
    return Bound("gpu" if share >= GPU_BOUND else below, share, wall, times is not None and not known)


def of_summary(summary: Summary | None, times: StepTimes | None = None) -> Bound | None:
    """Judge a trace's steps; `None` where no device ran anything. Files of old versions are judged anew."""
    return of_steps(summary.steps, times, launched=summary.bound != "unknown") if summary and summary.bound else None


def of_recording(recording: Recording) -> Bound | None:
    """Judge a recording's steps by their undisturbed wall time; `None` where no device ran anything."""
    summary, steps = recording.summary, index_of(recording).step_stats
    return of_summary(replace(summary, steps=steps) if summary and steps else summary, recording.step_times)


def judged(recording: Recording) -> Recording:
    """Fill `Summary.bound` and `Summary.verdict` by the undisturbed wall time of a step."""
    if recording.summary is None or (limit := of_recording(recording)) is None:
        return recording
    return replace(recording, summary=replace(recording.summary, bound=limit.side, verdict=limit.words))
