"""Sets of times as sorted, disjoint (start, end) columns: union, covered length, overlap. Any unit, int64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
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


def length(times: Times) -> int:
    """Return how much time a union covers."""
    start, end = times
    return int((end - start).sum())


def covered_until(times: Times, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each moment how much of the union lies before it."""
    start, end = times
    if not len(start):
        return np.zeros(len(at), np.int64)
    before = np.concatenate(([0], np.cumsum(end - start)))
    index = np.searchsorted(start, at, "right") - 1
    inside = np.clip(np.minimum(at, end[index]) - start[index], 0, None)
    return np.where(index >= 0, before[index] + inside, 0)


def overlap(a: Times, b: Times) -> int:
    """Return how much time two unions have in common."""
    return int((covered_until(b, a[1]) - covered_until(b, a[0])).sum())


def common(a: Times, b: Times) -> Times:
    """The times that two unions have in common, as a union."""
    a, b = _lasting(a), _lasting(b)
    starts = np.concatenate((a[0][_inside(b, a[0], "right")], b[0][_inside(a, b[0], "right")]))
    ends = np.concatenate((a[1][_inside(b, a[1], "left")], b[1][_inside(a, b[1], "left")]))
    return np.unique(starts), np.unique(ends)


def _lasting(times: Times) -> Times:
    """The union without moments: what begins and ends at once has no time in common with anything."""
    start, end = times
    keep = end > start
    return start[keep], end[keep]


def _inside(times: Times, at: NDArray[np.int64], side: Literal["left", "right"]) -> NDArray[np.bool_]:
    """For each moment whether the union holds what begins ("right") or ends ("left") there."""
    start, end = times
    if not len(start):
        return np.zeros(len(at), np.bool_)
    index = np.searchsorted(start, at, side) - 1
    return (index >= 0) & ((at < end[index]) if side == "right" else (at <= end[index]))


def gaps(start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(before, after): the positions of the intervals on both sides of each idle time, in order of time.

    `before` is the one that ended last, the first of those that ended at the same time.
    """
    if len(start) < 2:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    order = np.argsort(start, kind="stable")
    latest = np.maximum.accumulate(end[order])
    rising = np.concatenate(([True], latest[1:] > latest[:-1]))
    last = order[np.maximum.accumulate(np.where(rising, np.arange(len(order)), 0))]
    after = np.flatnonzero(start[order[1:]] > latest[:-1]) + 1
    return last[after - 1], order[after]
