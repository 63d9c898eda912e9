"""The names that two lists have in common, in the order of both."""

from collections import defaultdict
from collections.abc import Hashable, Sequence

from fxscope.index import grouped

Pair = tuple[int, int]  # places in A and in B
CELLS = 1 << 31  # bits of a table; longer lists are halved


def common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """The places of a longest common subsequence; of several, the one that leaves rests of one length."""
    if len(a) * len(b) > CELLS:
        x, y = len(a) // 2, len(b) // 2
        return [*common(a[:x], b[:y]), *((x + i, y + j) for i, j in common(a[x:], b[y:]))]
    rows = [*_gains(a[::-1], b[::-1])[::-1], 0]
    found: list[Pair] = []
    x = y = 0
    left, longer = rows[0].bit_count(), len(b) - len(a)
    while left:
        if a[x] == b[y]:
            found.append((x, y))
            x, y, left = x + 1, y + 1, left - 1
            continue
        steps = ((x + 1, y + 1), (x, y + 1), (x + 1, y))  # another name in its place; one of B; one of A
        steps = sorted(steps, key=lambda step: abs(longer - step[1] + step[0]))
        x, y = next(step for step in steps if _low(rows[step[0]], len(b) - step[1]).bit_count() == left)
    return found


def _low(row: int, bits: int) -> int:
    return row & ((1 << bits) - 1)


def _gains(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[int]:
    """One row per name of A: bit y is 1 where name y of B makes the subsequence longer (Hyyrö 2004, bit-parallel)."""
    places: defaultdict[Hashable, int] = defaultdict(int)
    for y, name in enumerate(b):
        places[name] |= 1 << y
    every = (1 << len(b)) - 1
    row, rows = every, list[int]()
    for name in a:
        match = row & places.get(name, 0)
        row = (row + match | row - match) & every
        rows.append(row ^ every)
    return rows


def equally_often(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """The places of names that both have as often, in order; with other counts nothing decides which is which."""
    mine, theirs = (grouped(range(len(row)), row.__getitem__) for row in (a, b))
    rows = [(places, theirs.get(key, ())) for key, places in mine.items()]
    return [pair for xs, ys in rows if len(xs) == len(ys) for pair in zip(xs, ys, strict=True)]
