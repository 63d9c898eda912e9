"""Comparing times: repeats, an interval, and the right to say "no difference shown" or "cannot tell"."""

import math
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from fxscope.analysis.findings import TimeComparison
from fxscope.data import read_table
from fxscope.index import index_of
from fxscope.model import WHOLE, Recording, replace
from fxscope.passes import bound

# The same kernel on the same shape differs by about this much between two call sites and two runs on one H200. Repeats
# inside one run cannot see that, so a smaller difference is not shown, however narrow the interval of the repeats.
RUN_TO_RUN = 0.05
# A GPU's clock ticks every 32 ns in all H200 traces of tests/data: what differs by three ticks is not told apart.
RESOLUTION_US = 0.1

# Student's t, two-sided 95 %, by degrees of freedom; above the last the normal value serves.
_T = {int(freedom): value for freedom, value in read_table("student_t.json").items()}
OF_MEDIAN = math.pi / 2  # how much more a median varies than a mean, of many repeats


def variance_of_median(values: Sequence[float]) -> float:
    """The variance of the median of some repeats, relative to its square."""
    mean = fmean(values)
    return (
        OF_MEDIAN * sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values) / median(values) ** 2
    )


def compare_recorded(a: Sequence[float], b: Sequence[float], *, on_cpu: bool) -> TimeComparison:
    """Compare the repeats (µs) of two recordings. CPU times differ between processes: one of each shows nothing."""
    time = compare_times(a, b)
    if not on_cpu or time.ratio is None:
        return time
    reason = "one process each, and CPU times vary between them"
    return replace(time, ratio_low=None, ratio_high=None, verdict="cannot tell", reason=reason)


def is_whole_run(recording: Recording) -> bool:
    return [step.name for step in recording.steps] == [WHOLE]


def compare_wall(a: Recording, b: Recording) -> TimeComparison | None:
    """Compare the wall times of steps, unprofiled if both have such; `None` if unknown. A GPU sets them only if busy."""
    walls = [index_of(item).wall_us for item in (a, b)]
    limits = [bound.of_recording(recording) for recording in (a, b)]
    on_cpu = any(limit is None or limit.side != "gpu" for limit in limits)
    if not all(walls):
        return None
    a_whole, b_whole = is_whole_run(a), is_whole_run(b)
    time = compare_recorded(*walls, on_cpu=on_cpu or a_whole != b_whole)
    if a_whole != b_whole and time.ratio is not None:
        time = replace(time, reason=f"{'A' if a_whole else 'B'} has no steps: its whole run is compared with one step")
    if a.step_times and b.step_times and not (a.step_times.while_recording or b.step_times.while_recording):
        return replace(time, a_us=a.step_times.median_us, b_us=b.step_times.median_us)
    return time


def compare_times(a: Sequence[float], b: Sequence[float]) -> TimeComparison:
    """Compare the medians of two sets of repeats (µs): they differ by more than `RUN_TO_RUN`, in an interval without 1.

    The interval is Welch's, of logarithms: which side is A does not change it.
    """
    a_us, b_us = (median(side) if side else None for side in (a, b))
    common: dict[str, Any] = {"a_us": a_us, "b_us": b_us, "num_a": len(a), "num_b": len(b)}
    if not a_us or not b_us or min(a) <= 0 or min(b) <= 0:
        reason = "in some repeat nothing ran: there is no ratio" if a and b else "one side was not measured"
        return TimeComparison(**common, verdict="not measured", reason=reason)
    ratio = b_us / a_us
    if len(a) < 2 or len(b) < 2:
        reason = f"×{ratio:.2f}, but {min(len(a), len(b))} repeat shows no difference: record more steps"
        return TimeComparison(**common, ratio=ratio, verdict="no difference shown", reason=reason)
    va, vb = variance_of_median(a), variance_of_median(b)
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)) if va + vb > 0 else 1.0
    # Towards the wider interval.
    quantile = next((value for key, value in reversed(_T.items()) if key <= freedom), _T[1])
    half = min(50.0, quantile * math.sqrt(va + vb))  # e**50 is no bound, and a float
    low, high = ratio * math.exp(-half), ratio * math.exp(half)
    top = f"{high:.2f}" if high < 1e4 else "over 10,000"
    spread = f"×{ratio:.2f} ({low:.2f} to {top}, {len(a)} and {len(b)} repeats)"
    verdict = "no difference shown"
    if low <= 1 <= high:
        reason = f"{spread}: the interval holds 1"
    elif abs(a_us - b_us) <= RESOLUTION_US:
        reason = f"{spread}: within {RESOLUTION_US * 1000:.0f} ns, what the device's clock can tell"
    elif abs(ratio - 1) <= RUN_TO_RUN:
        reason = f"{spread}: within the {RUN_TO_RUN:.0%} that one kernel varies between runs"
    else:
        verdict, reason = ("faster" if ratio < 1 else "slower"), spread
    return TimeComparison(**common, ratio=ratio, ratio_low=low, ratio_high=high, verdict=verdict, reason=reason)
