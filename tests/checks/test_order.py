"""Two steps are aligned in bounded time, however long they are and however few names their kernels have."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from fxscope.analysis.compare import compare
from fxscope.model import Recording
from fxscope.passes import alignment
from tests import build

if TYPE_CHECKING:
    from collections.abc import Sequence


def longest(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of a longest common subsequence, by the table of all prefixes."""
    row = [0] * (len(b) + 1)
    for x in a:
        above = row[:]
        for at, y in enumerate(b):
            row[at + 1] = above[at] + 1 if x == y else max(row[at], above[at + 1])
    return row[-1]


@pytest.mark.parametrize("cells", [20, alignment.CELLS])
def test_pairs_are_equal_in_the_order_of_both_and_the_most(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "CELLS", cells)
    chance = random.Random(cells)
    for _ in range(300):
        a, b = ([chance.choice(letters) for _ in range(chance.randrange(14))] for letters in ("abcd", "abcdef"))
        found = alignment.common(a, b)
        assert all(a[x] == b[y] for x, y in found)
        assert all(x < next_x and y < next_y for (x, y), (next_x, next_y) in pairwise(found))
        assert len(found) == longest(a, b) or (cells == 20 < len(a) * len(b))


def test_a_long_step_with_a_kernel_less_in_each_layer_is_aligned() -> None:
    a = [f"k{i % 17}" for _ in range(160) for i in range(100)]
    b = [name for i, name in enumerate(a) if i % 50]
    b[8000:8000] = [f"of another optimizer {i % 5}" for i in range(3000)]
    assert len(alignment.common(a, b)) == len(a) - len(a) // 50


def test_steps_of_thousands_of_other_kernels_are_compared() -> None:
    def step(name: str, of: int) -> Recording:
        launches = [
            build.launch(i, f"{name}_{i % of}", op=f"aten::op{i % 40}", chain=(f"aten::op{i % 40}",), step=0)
            for i in range(3000)
        ]
        return Recording(title=name, launches=tuple(launches), steps=build.steps(1))

    found = compare(step("k", 40), step("of_its_own", 3000)).kernels
    assert {item.aligned_by for item in found if item.a} == {"op"}
    assert [sum(len(side) for side in sides) for sides in zip(*((item.a, item.b) for item in found), strict=True)] == [
        3000
    ] * 2


def test_two_long_steps_of_another_number_of_layers_are_aligned() -> None:
    layer = ["mm", "gelu", "mm", "norm"]
    assert len(alignment.common(layer * 1000, layer * 600)) > 1600


def test_a_layer_less_and_another_kernel_move_no_layer() -> None:
    """Of the longest ways the one that keeps the rests equally long: a changed name pushes no later pair aside."""
    layer = ["mm", "gelu", "mm", "norm"]
    a = ["embedding", *layer * 6, "head"]
    changed = [*a[:6], "silu", *a[7:]]
    assert alignment.common(a, changed) == [(at, at) for at in range(26) if at != 6]
    assert alignment.common(changed, a) == [(at, at) for at in range(26) if at != 6]
    more = [*a[:10], "sum", *a[10:]]
    assert alignment.common(a, more) == [(at, at + (at > 9)) for at in range(26)]
    shorter = [*a[:9], *a[13:]]
    for found in (alignment.common(a, shorter), [pair[::-1] for pair in alignment.common(shorter, a)]):
        assert len(found) == 22 and {x - y for x, y in found} == {0, 4}
