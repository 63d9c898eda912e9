"""Comparing times: repeats, an interval, and the right to say "no difference shown" or "cannot tell"."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from fxscope.analysis.findings import TimeComparison
from fxscope.columns import column
from fxscope.index import index_of
from fxscope.model import replace
from fxscope.passes import bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.model import Recording

# The same kernel on the same shape differs by about this much between two call sites and two runs on one H200. Repeats
# inside one run cannot see that, so a smaller difference is not shown, however narrow the interval of the repeats.
RUN_TO_RUN = 0.05
# A GPU's clock ticks every 32 ns in all H200 traces of tests/data: what differs by three ticks is not told apart.
RESOLUTION_US = 0.1
MORE = "give a folder of several recordings for each side"

# Student's t, two-sided 95 %, by degrees of freedom; above the last the normal value serves.
_T = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
    10: 2.228,
    12: 2.179,
    15: 2.131,
    20: 2.086,
    30: 2.042,
    60: 2.0,
}


def student_t(freedom: float) -> float:
    """The two-sided 95 % quantile, rounded towards the wider interval."""
    known = [value for key, value in _T.items() if key <= freedom]
    return known[-1] if known else _T[1]


def mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def variance(values: Sequence[float], mean: float) -> float:
    """Sample variance; `statistics.variance` takes 30 times as long, and a diff takes it of each kernel."""
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def stall(times: Sequence[float]) -> tuple[float, float] | None:
    """(the most, the median) of some steps' times where one step took half as much again: the mean is then no step's time."""
    most, middle = max(times, default=0.0), median(times) if times else 0.0
    return (most, middle) if most > 1.5 * middle else None


def of_runs(runs: Sequence[Sequence[float]]) -> float | None:
    """One number: the mean of a recording's repeats; of several recordings the mean of their medians."""
    return mean(runs[0] if len(runs) == 1 else [median(run) for run in runs if run])


def compare_runs(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], *, on_cpu: bool) -> TimeComparison:
    """What the repeats (µs) of the recordings of two sides show; recordings of one side are of one program.

    Repeats inside a process are not runs. Several recordings a side are: each counts once, by its median. From one a
    side a difference of times on a CPU cannot be told: what else the machine did meanwhile is in none of the repeats.
    """
    if min(len(a), len(b)) > 1 and all(map(all, (a, b))):
        return compare_times([median(run) for run in a], [median(run) for run in b], unit="recordings")
    time = compare_times(a[0] if a else (), b[0] if b else ())
    if not on_cpu or time.ratio is None:
        return time
    reason = f"one process each, and what a CPU takes differs between processes: {MORE}"
    return replace(time, ratio_low=None, ratio_high=None, verdict="cannot tell", reason=reason)


def is_on_cpu(recording: Recording) -> bool:
    return "cpu_kernel" in set(column(recording.launches, "category"))


def compare_wall(a: Sequence[Recording], b: Sequence[Recording]) -> TimeComparison | None:
    """What the lengths of the steps show, `None` where none is known; the CPU sets them unless a GPU is busy."""
    walls = [[index_of(recording).wall_us for recording in side] for side in (a, b)]
    limits = [bound.of_recording(recording) for recording in (*a, *b)]
    on_cpu = any(limit is None or limit.side != "gpu" for limit in limits)
    return compare_runs(*walls, on_cpu=on_cpu) if walls[0][0] and walls[1][0] else None


def compare_times(a: Sequence[float], b: Sequence[float], *, unit: str = "repeats") -> TimeComparison:
    """What two sets of repeats (µs) show; a difference needs an interval without 1, and over `RUN_TO_RUN`.

    The ratio is that of the two means, which stand beside it. The interval is Welch's, of the difference of their
    logarithms: times are ratios, and their interval should not depend on which is A.
    """
    a_mean, b_mean = mean(a), mean(b)
    common: dict[str, Any] = {"a_us": a_mean, "b_us": b_mean, "num_a": len(a), "num_b": len(b)}
    if not a_mean or not b_mean or min(a) <= 0 or min(b) <= 0:
        idle = a_mean and b_mean
        reason = "in some repeat nothing ran: there is no ratio" if idle else "one side was not measured"
        return TimeComparison(**common, verdict="not measured", reason=reason)
    ratio = b_mean / a_mean
    if len(a) < 2 or len(b) < 2:
        reason = f"×{ratio:.2f}, but {min(len(a), len(b))} repeat shows no difference: record more steps"
        return TimeComparison(**common, ratio=ratio, verdict="no difference shown", reason=reason)
    # Of the logarithm of a mean: the mean's own variance, relative to it (the delta method).
    va, vb = variance(a, a_mean) / len(a) / a_mean**2, variance(b, b_mean) / len(b) / b_mean**2
    if va + vb > 0:
        freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
        half = student_t(freedom) * math.sqrt(va + vb)
    else:
        half = 0.0
    low, high = ratio * math.exp(-half), ratio * math.exp(half)
    spread = f"×{ratio:.2f} ({low:.2f} to {high:.2f}, {len(a)} and {len(b)} {unit})"
    if low <= 1 <= high:
        verdict, reason = "no difference shown", f"{spread}: the interval holds 1"
    elif abs(a_mean - b_mean) <= RESOLUTION_US:
        verdict, reason = (
            "no difference shown",
            f"{spread}: within {RESOLUTION_US * 1000:.0f} ns, what the device's clock can tell",
        )
    elif abs(ratio - 1) <= RUN_TO_RUN:
        verdict, reason = (
            "no difference shown",
            f"{spread}: within the {RUN_TO_RUN:.0%} that one kernel varies between runs",
        )
    else:
        verdict, reason = ("faster" if ratio < 1 else "slower"), spread
    return TimeComparison(**common, ratio=ratio, ratio_low=low, ratio_high=high, verdict=verdict, reason=reason)
