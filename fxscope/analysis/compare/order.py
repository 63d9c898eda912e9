"""The names that two lists have in common, in the order of both."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

Array = NDArray[np.int64]
Run = tuple[int, int, int]  # places in A and in B, length
PAIRS = 500_000  # places with the same name: difflib goes through all of them for each run that it finds
EDITS = 3000
AT_ONCE = 8  # names that all ways go on together; the few that go further do so alone, by stretches


def common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Run]:
    """The runs of names that both have, the longest taken first, as difflib does, unless that leaves out a part of them.

    The longest run of what repeats, the layers of a network, can lie some layers off. Then, and for long lists of few
    names, of which difflib takes minutes, it is the shortest way to make B of A (Myers, "An O(ND) Difference Algorithm",
    1986); after `EDITS` changes the shortest from there on.
    """
    if sum(map(Counter(b).__getitem__, a)) > PAIRS:
        return _shortest(a, b)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    longest = [(block.a, block.b, block.size) for block in matcher.get_matching_blocks() if block.size]
    if len(a) + len(b) > 2 * EDITS or sum(size for *_, size in longest) == min(len(a), len(b)):
        return longest
    return max(longest, _shortest(a, b), key=lambda runs: sum(size for *_, size in runs))


def _shortest(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Run]:
    in_a, in_b = set(a), set(b)
    places_a, places_b = (
        [x for x, name in enumerate(a) if name in in_b],
        [y for y, name in enumerate(b) if name in in_a],
    )
    codes = {name: code for code, name in enumerate(in_a & in_b)}
    rows = [[codes[a[x]] for x in places_a], [codes[b[y]] for y in places_b]]
    # What ends them is equal to nothing.
    ended_a, ended_b = (np.array([*row, end], np.int64) for row, end in zip(rows, (-1, -2), strict=True))
    found: list[Run] = []
    x = y = 0
    while x < len(places_a) and y < len(places_b):
        runs, x, y = _way(ended_a, ended_b, x, y)
        for at_a, at_b, length in runs:
            for there in zip(places_a[at_a : at_a + length], places_b[at_b : at_b + length], strict=True):
                if found and there == (found[-1][0] + found[-1][2], found[-1][1] + found[-1][2]):
                    found[-1] = (*found[-1][:2], found[-1][2] + 1)
                else:
                    found.append((*there, 1))
    return found


def _way(a: Array, b: Array, x: int, y: int) -> tuple[list[Run], int, int]:
    """The runs from a place of both lists on, and the place to which all changes, or the first `EDITS`, lead.

    All ways of a number of changes are gone at once: one by one they take minutes for steps of 100,000 kernels.
    """
    end_a, end_b = len(a) - 1, len(b) - 1
    ahead = y - x  # after `number` changes, `at` of them in A, y is ahead of x by this + number - 2 · at
    reached: Array = np.array([x], np.int64)
    steps: list[Array] = []
    for number in range(EDITS + 1):
        before = reached
        steps.append(before)
        if number:
            middle = np.where(before[:-1] < before[1:], before[1:], before[:-1] + 1)  # see `_is_insertion`
            reached = np.concatenate((before[:1], middle, before[-1:] + 1))
        else:
            reached = before.copy()
        apart = ahead + number - 2 * np.arange(number + 1)
        _go_on(a, b, reached, apart)
        ended = np.flatnonzero((reached == end_a) & (reached + apart == end_b))
        if ended.size:
            return _runs(steps, ahead, int(ended[0]), end_a), end_a, end_b
    places = [(x, x + ahead + EDITS - 2 * at, at) for at, x in enumerate(reached.tolist())]
    x, y, at = max((place for place in places if place[0] <= end_a and place[1] <= end_b), key=lambda p: p[0] + p[1])
    return _runs(steps, ahead, at, x), x, y


def _go_on(a: Array, b: Array, reached: Array, apart: Array) -> None:
    """Go on from each place of A, and that of B which is `apart` from it, as far as both have the same names."""
    end_a, end_b = len(a) - 1, len(b) - 1
    ways: Any = np.arange(len(reached))
    for _ in range(AT_ONCE):
        x = reached[ways]
        ways = ways[a[np.minimum(x, end_a)] == b[np.minimum(x + apart[ways], end_b)]]
        if not ways.size:
            return
        reached[ways] += 1
    for way in ways.tolist():
        x, size = int(reached[way]), 64
        y = x + int(apart[way])
        while (same := min(size, end_a - x, end_b - y)) > 0:
            equal = a[x : x + same] == b[y : y + same]
            if not equal.all():
                same = int(equal.argmin())
                size = 0
            x, y, size = x + same, y + same, size * 2
        reached[way] = x


def _is_insertion(before: Array, at: int, number: int) -> bool:
    return at == 0 or (at != number and bool(before[at - 1] < before[at]))


def _runs(steps: list[Array], ahead: int, at: int, x: int) -> list[Run]:
    """The way back: the runs between the changes."""
    found: list[Run] = []
    for number in range(len(steps) - 1, -1, -1):
        before = steps[number]
        insertion = _is_insertion(before, at, number)
        begin = int(before[at] if insertion else before[at - 1] + 1)
        if x > begin:
            found.append((begin, begin + ahead + number - 2 * at, x - begin))
        at -= not insertion
        x = int(before[at])
    return found[::-1]
