"""The names that two lists have in common, in the order of both."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

from fxscope.index import grouped

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

Pair = tuple[int, int]  # places in A and in B
PAIRS = 500_000  # places with the same name: difflib goes through all of them for each run that it finds
SHORT = 64  # names of both lists, of which difflib always makes quick work


def common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """The places of names that both have: those of the longest run first, as difflib does, unless others are more.

    The longest run of what repeats, the layers of a network, can lie some layers off. Then, and for long lists of few names,
    of which difflib takes minutes, names that both have as often are paired first.
    """
    found = list(_longest(a, b, (0, 0), (len(a), len(b)))) if _is_quick(a, b) else []
    if len(found) == min(len(a), len(b)):
        return found
    anchors = [(-1, -1), *_in_order(equally_often(a, b)), (len(a), len(b))]
    filled: list[Pair] = []
    for (x, y), end in pairwise(anchors):
        filled += [*_between(a, b, (x + 1, y + 1), end), end]
    return max(found, filled[:-1], key=len)


def equally_often(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """The places of names that both have as often, in order; with other counts nothing decides which is which."""
    mine, theirs = (grouped(range(len(row)), row.__getitem__) for row in (a, b))
    rows = [(places, theirs.get(key, ())) for key, places in mine.items()]
    return [pair for xs, ys in rows if len(xs) == len(ys) for pair in zip(xs, ys, strict=True)]


def _is_quick(a: Sequence[Hashable], b: Sequence[Hashable]) -> bool:
    return len(a) + len(b) <= SHORT or sum(map(Counter(b).__getitem__, a)) <= PAIRS


def _longest(a: Sequence[Hashable], b: Sequence[Hashable], start: Pair, end: Pair) -> Iterator[Pair]:
    matcher = SequenceMatcher(None, a[start[0] : end[0]], b[start[1] : end[1]], autojunk=False)
    for x, y, size in matcher.get_matching_blocks():
        yield from ((start[0] + x + at, start[1] + y + at) for at in range(size))


def _between(a: Sequence[Hashable], b: Sequence[Hashable], start: Pair, end: Pair) -> Iterator[Pair]:
    """The common names of a part of both; of one that is too long for difflib its halves are compared."""
    if start[0] == end[0] or start[1] == end[1]:
        return
    if _is_quick(a[start[0] : end[0]], b[start[1] : end[1]]):
        yield from _longest(a, b, start, end)
        return
    middle = ((start[0] + end[0]) // 2, (start[1] + end[1]) // 2)
    yield from _between(a, b, start, middle)
    yield from _between(a, b, middle, end)


def _in_order(pairs: list[Pair]) -> list[Pair]:
    """The most of these pairs that are in the same order in both lists."""
    pairs = sorted(pairs)
    ends: list[int] = []  # the least place in B at which a row of some length can end
    last: list[int] = []  # and which pair that is
    before: list[int | None] = []
    for number, (_, y) in enumerate(pairs):
        at = bisect_left(ends, y)
        ends[at : at + 1], last[at : at + 1] = [y], [number]
        before.append(last[at - 1] if at else None)
    found: list[Pair] = []
    number = last[-1] if last else None
    while number is not None:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]
