"""The footprint of memory accesses: how many elements they touch, and how many two have in common.

Accesses come as `MemoryDep`s, from live schedulers, printed ones and generated code. Where an index is a sum of multiples of
loop variables, its elements are a box in a grid, and boxes are counted exactly; else only an upper bound is known.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from math import prod
from typing import Any, NamedTuple

from fxscope.model import MemoryDep

MOST_BOXES = 8  # all subsets of them are counted
_TERM = re.compile(r"(-)?(?:(\d+)\*)?(?:([a-zA-Z_]\w*)|(\d+))")


class Affine(NamedTuple):
    """An index that is a sum of multiples: its lowest value, and (stride, size) of each variable that moves it."""

    low: int
    dims: tuple[tuple[int, int], ...]

    @property
    def high(self) -> int:
        return self.low + sum(stride * (size - 1) for stride, size in self.dims)


@lru_cache(maxsize=1 << 16)
def affine(dep: MemoryDep) -> Affine | None:
    """Parse `100*d0 + d1 - 20`, `None` unless each term is a number or a multiple of a loop variable."""
    sizes = dict(dep.ranges)
    low, dims = 0, dict[str, int]()
    for term in re.sub(r"\((-?\w+)\)", r"\1", dep.index).replace(" - ", " + -").split(" + "):
        found = _TERM.fullmatch(term)
        if found is None or (found[3] and found[3] not in sizes):
            return None
        factor = int(found[2] or 1) * (-1 if found[1] else 1)
        if found[3]:
            dims[found[3]] = dims.get(found[3], 0) + factor
        else:
            low += factor * int(found[4])
    low += sum(stride * (sizes[name] - 1) for name, stride in dims.items() if stride < 0)
    return Affine(low, tuple((abs(stride), sizes[name]) for name, stride in dims.items() if stride and sizes[name] > 1))


def number(value: Any) -> int | None:
    """An integer, also of torch's or sympy's; `None` for a size that is known only when it runs."""
    return int(value) if getattr(value, "is_Integer", isinstance(value, int)) else None


def strided(shape: Sequence[Any] | None, stride: Sequence[Any] | None, offset: Any = 0) -> tuple[MemoryDep, ...]:
    """The elements of a view of a buffer; () where a size is not known, or only when it runs."""
    sizes, steps, first = list(map(number, shape or ())), list(map(number, stride or ())), number(offset)
    if shape is None or stride is None or first is None or None in (*sizes, *steps) or len(sizes) != len(steps):
        return ()
    moving = [(f"d{axis}", step, size or 0) for axis, (step, size) in enumerate(zip(steps, sizes, strict=True)) if step]
    terms = [f"{step}*{name}" for name, step, _ in moving]
    ranges = tuple((name, size) for name, _, size in moving)
    return (MemoryDep(index=" + ".join([*terms, str(first)]), ranges=ranges),)


def is_indirect(dep: MemoryDep) -> bool:
    """Return whether the address is loaded or computed: a name in the index is no loop variable and no function."""
    return not set(re.findall(r"\b[a-zA-Z_]\w*\b(?!\()", dep.index)) <= dict(dep.ranges).keys()


def addresses(deps: Iterable[MemoryDep]) -> int | None:
    """Count the elements that accesses touch together, each once; `None` unless all are boxes of one grid."""
    boxes = {affine(dep) for dep in deps if all(size for _, size in dep.ranges)}
    known = [box for box in boxes if box is not None]
    if not boxes:
        return 0
    if len(known) < len(boxes) or len(known) > MOST_BOXES or any(box.low < 0 for box in known):
        return None
    if len(known) == 1 and _is_nested(known[0]):
        return prod(size for _, size in known[0].dims)
    strides = sorted({1, *(stride for box in known for stride, _ in box.dims)})
    if any(large % small for small, large in pairwise(strides)):
        return None
    sides = {_sides(box, strides) for box in known}
    found = [item for item in sides if item is not None]
    if len(found) < len(sides):
        return None
    return -sum((-1) ** count * sum(map(_common, combinations(found, count))) for count in range(1, len(found) + 1))


def _is_nested(box: Affine) -> bool:
    """Return whether each stride is longer than all that is reached by the shorter ones: no two places are one element."""
    reached = 0
    for stride, size in sorted(box.dims):
        if stride <= reached:
            return False
        reached += stride * (size - 1)
    return True


def _sides(box: Affine, strides: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """From where to where a box goes along each stride of a grid, `None` where it is not a box in it."""
    sizes = dict(box.dims)
    if len(sizes) < len(box.dims):  # two dimensions of one stride meet
        return None
    result: list[tuple[int, int]] = []
    for stride, larger in zip(strides, (*strides[1:], None), strict=True):
        first, size = box.low // stride, sizes.get(stride, 1)
        if larger is not None:
            first, radix = first % (larger // stride), larger // stride
            if first == 0 and size % radix == 0 and larger not in sizes:  # rows that follow upon each other
                sizes[larger], size = size // radix, radix
            if first + size > radix:
                return None
        result.append((first, first + size))
    return tuple(result)


def _common(boxes: Iterable[tuple[tuple[int, int], ...]]) -> int:
    sides = zip(*boxes, strict=True)
    return prod(max(min(high for _, high in each) - max(low for low, _ in each), 0) for each in map(list, sides))


def footprint(deps: Iterable[MemoryDep]) -> int:
    """Return how many elements accesses into one buffer touch at most, each once."""
    distinct = set(deps)
    if (exact := addresses(distinct)) is not None:
        return exact
    most = sum(prod(size for _, size in dep.ranges) for dep in distinct)
    spans = [affine(dep) for dep in distinct]
    known = [span for span in spans if span is not None]
    if known and len(known) == len(spans):
        most = min(most, max(span.high for span in known) - min(span.low for span in known) + 1)
    return most


def overlap(one: Sequence[MemoryDep], other: Sequence[MemoryDep]) -> int | None:
    """Count the elements of a buffer that both of two accesses touch; `None` where it is not known."""
    if not one or not other:
        return None
    if set(one) == set(other):
        return footprint(one)
    sizes = addresses(one), addresses(other), addresses((*one, *other))
    return None if None in sizes else sizes[0] + sizes[1] - sizes[2]  # type: ignore[operator]
