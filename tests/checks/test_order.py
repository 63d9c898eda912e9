"""Two steps are aligned in bounded time, however long they are and however few names their kernels have."""

from __future__ import annotations

import random
from difflib import SequenceMatcher
from itertools import pairwise

import pytest

from fxscope.analysis.compare import compare, order
from fxscope.model import Recording
from tests import build


@pytest.mark.parametrize("pairs", [-1, 20, 1000])
def test_pairs_are_equal_and_in_the_order_of_both(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "PAIRS", pairs)
    monkeypatch.setattr(order, "SHORT", 4)
    chance = random.Random(pairs)
    for _ in range(300):
        a, b = ([chance.choice(letters) for _ in range(chance.randrange(14))] for letters in ("abcd", "abcdef"))
        found = order.common(a, b)
        assert all(a[x] == b[y] for x, y in found)
        assert all(x < next_x and y < next_y for (x, y), (next_x, next_y) in pairwise(found))
        blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
        assert pairs < 1000 or len(found) >= sum(block.size for block in blocks)


def test_a_long_step_with_a_kernel_less_in_each_layer_is_aligned() -> None:
    a = [f"k{i % 17}" for _ in range(160) for i in range(100)]
    b = [name for i, name in enumerate(a) if i % 50]
    b[8000:8000] = [f"of another optimizer {i % 5}" for i in range(3000)]
    assert len(order.common(a, b)) == len(a) - len(a) // 50


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
    assert len(order.common(layer * 1000, layer * 600)) > 1600
