"""Sets of times as sorted, disjoint (start, end) columns: union, covered length, what two share. Any unit, int64."""

import numpy as np
from numpy.typing import NDArray

Times = tuple[NDArray[np.int64], NDArray[np.int64]]  # starts and ends


def union(start: NDArray[np.int64], end: NDArray[np.int64]) -> Times:
    """The union of intervals in any order; those that touch become one."""
    if not len(start):
        return start[:0], end[:0]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.concatenate(([True], start[1:] > end[:-1])))
    return start[first], end[np.append(first[1:], len(start)) - 1]


def covered(times: Times, windows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How much of each window (a row: from, to) the union covers."""
    start, end = times
    if not len(start):
        return np.zeros(len(windows), np.int64)
    before = np.concatenate(([0], np.cumsum(end - start)))
    index = np.searchsorted(start, windows, "right") - 1
    inside = np.clip(np.minimum(windows, end[index]) - start[index], 0, None)
    return np.diff(np.where(index >= 0, before[index] + inside, 0))[:, 0]


def common(a: Times, b: Times) -> Times:
    times = np.concatenate((a[0], b[0], a[1], b[1]))
    change = np.repeat([1, -1], len(times) // 2)
    order = np.lexsort((change, times))  # ends first: an empty interval overlaps nothing
    both = np.flatnonzero(np.cumsum(change[order]) == 2)
    start, end = times[order][both], times[order][both + 1]
    return start[end > start], end[end > start]
