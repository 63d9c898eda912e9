"""Two lists in order: what is the same in both, or fits."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from fxscope.index import grouped

Pair = tuple[int, int]  # places in A and in B
CELLS = 1 << 31  # bits of a table; longer lists are halved


def common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """The places of a longest common subsequence."""
    places: defaultdict[Hashable, int] = defaultdict(int)
    for place, name in enumerate(reversed(b)):
        places[name] |= 1 << place
    return longest(a, places, len(b))


def longest(a: Sequence[Hashable], places: Mapping[Any, int], length: int) -> list[Pair]:
    """The longest list of places in A and B that ascend in both; of several, the one that leaves rests of one length.

    `places`: for an item of A, the places in B, of `length` items, that it fits: bits; the lowest is the last place.
    """
    if len(a) * length > CELLS:
        x, y = len(a) // 2, length // 2
        first, rest = ({key: part(bits, length - y) for key, bits in places.items()} for part in (int.__rshift__, _low))
        return [*longest(a[:x], first, y), *((x + i, y + j) for i, j in longest(a[x:], rest, length - y))]
    rows = _gains(a, places, length)
    found: list[Pair] = []
    x = y = 0
    left, longer = rows[0].bit_count(), length - len(a)
    while left:
        if places.get(a[x], 0) >> (length - 1 - y) & 1:
            found.append((x, y))
            x, y, left = x + 1, y + 1, left - 1
            continue
        steps = ((x + 1, y + 1), (x, y + 1), (x + 1, y))  # another name in its place; one of B; one of A
        steps = sorted(steps, key=lambda step: abs(longer - step[1] + step[0]))
        x, y = next(step for step in steps if _low(rows[step[0]], length - step[1]).bit_count() == left)
    return found


def _low(row: int, bits: int) -> int:
    return row & ((1 << bits) - 1)


def _gains(a: Sequence[Hashable], places: Mapping[Any, int], length: int) -> list[int]:
    """A row for each place in A, and its end: bit y is 1 where place y of B makes the rest longer (Hyyrö 2004)."""
    every = (1 << length) - 1
    row, rows = every, [0]
    for name in reversed(a):
        match = row & places.get(name, 0)
        row = (row + match | row - match) & every
        rows.append(row ^ every)
    return rows[::-1]


def equally_often(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """The places of names that both have as often, in order; with other counts nothing decides which is which."""
    mine, theirs = (grouped(range(len(row)), row.__getitem__) for row in (a, b))
    rows = [(places, theirs.get(key, ())) for key, places in mine.items()]
    return [pair for xs, ys in rows if len(xs) == len(ys) for pair in zip(xs, ys, strict=True)]
