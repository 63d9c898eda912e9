"""What two lists of names have in common, in the order in which both have it."""

from __future__ import annotations

from array import array
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

Run = tuple[int, int, int]  # places in A and in B, length
PAIRS = 500_000  # places with the same name: difflib goes through all of them for each run that it finds
EDITS = 3000


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
    a, b = [a[x] for x in places_a], [b[y] for y in places_b]
    found: list[Run] = []
    x = y = 0
    while x < len(a) and y < len(b):
        runs, x, y = _way(a, b, x, y)
        for at_a, at_b, length in runs:
            for there in zip(places_a[at_a : at_a + length], places_b[at_b : at_b + length], strict=True):
                if found and there == (found[-1][0] + found[-1][2], found[-1][1] + found[-1][2]):
                    found[-1] = (*found[-1][:2], found[-1][2] + 1)
                else:
                    found.append((*there, 1))
    return found


def _way(a: Sequence[Hashable], b: Sequence[Hashable], x: int, y: int) -> tuple[list[Run], int, int]:
    """The runs from a place of both lists on, and the place to which all changes, or the first `EDITS`, lead."""
    ahead = y - x  # after `number` changes, `at` of them in A, y is ahead of x by this + number - 2 · at
    reached = array("q", [x])
    steps: list[array[int]] = []
    for number in range(EDITS + 1):
        steps.append(reached)
        before, reached = reached, array("q", bytes(8 * (number + 1)))
        for at in range(number + 1):
            x = before[at] if _is_insertion(before, at, number) else before[at - 1] + 1
            y = x + ahead + number - 2 * at
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            reached[at] = x
            if x == len(a) and y == len(b):
                return _runs(steps, ahead, at, x), x, y
    places = [(x, x + ahead + EDITS - 2 * at, at) for at, x in enumerate(reached)]
    x, y, at = max((place for place in places if place[0] <= len(a) and place[1] <= len(b)), key=lambda p: p[0] + p[1])
    return _runs(steps, ahead, at, x), x, y


def _is_insertion(before: Sequence[int], at: int, number: int) -> bool:
    return at == 0 or (at != number and before[at - 1] < before[at])


def _runs(steps: list[array[int]], ahead: int, at: int, x: int) -> list[Run]:
    """The way back: the runs between the changes."""
    found: list[Run] = []
    for number in range(len(steps) - 1, -1, -1):
        before = steps[number]
        insertion = _is_insertion(before, at, number)
        begin = before[at] if insertion else before[at - 1] + 1
        if x > begin:
            found.append((begin, begin + ahead + number - 2 * at, x - begin))
        at -= not insertion
        x = before[at]
    return found[::-1]
