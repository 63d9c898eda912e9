"""Whether the CPU or the GPU sets the length of a step: one rule, for the terminal, the page, `explain` and `trace`.

GPU-bound from `GPU_BOUND` on: closing every gap would gain a fifth of the step at most. CPU-bound up to `CPU_BOUND`: the
device waits clearly longer than it works. Between the two neither is said, and the share always stands beside the word.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

from fxscope.index import warm
from fxscope.text import microseconds, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.model import StepStats, Summary

GPU_BOUND, CPU_BOUND = 0.8, 0.4  # share of a step in which some stream of the device runs something


class Bound(NamedTuple):
    """Which side is the limit, by how busy the device was."""

    side: Literal["cpu", "gpu", "neither"]
    busy: float  # share of the wall time
    wall_us: float

    @property
    def words(self) -> str:
        """The verdict with its figures: "GPU-bound (device busy 93 % of 1.43 ms)"."""
        return f"{self.short} (device busy {percent(self.busy)} of {microseconds(self.wall_us)})"

    @property
    def short(self) -> str:
        """The verdict alone: "CPU-bound"."""
        return {"cpu": "CPU-bound", "gpu": "GPU-bound"}.get(self.side, "neither clearly CPU- nor GPU-bound")


def bound(wall_us: float, busy_us: float) -> Bound | None:
    """Judge a step, or the mean of several; `None` of no time."""
    if wall_us <= 0:
        return None
    busy = busy_us / wall_us
    return Bound("gpu" if busy >= GPU_BOUND else "cpu" if busy <= CPU_BOUND else "neither", busy, wall_us)


def of_steps(steps: Sequence[StepStats]) -> Bound | None:
    """Judge the mean of the steps, warm-up left out as in every wall time."""
    if not steps:
        return None
    counted = warm(steps)
    return bound(fmean(s.wall_us for s in counted), fmean(s.device_busy_us for s in counted))


def of_summary(summary: Summary | None) -> Bound | None:
    """Judge the mean of a trace's steps; `None` where no device ran anything. Files of old versions are judged anew."""
    return of_steps(summary.steps) if summary is not None and summary.bound is not None else None
