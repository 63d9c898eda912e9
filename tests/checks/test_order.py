"""Two steps are aligned in bounded time, however long they are and however few names their kernels have."""

from __future__ import annotations

import random

import pytest

from fxscope.analysis.compare import compare, order
from fxscope.model import Recording
from tests import build


def longest(a: list[str], b: list[str]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(b) + 1)
    for x in a:
        below = [0]
        for at, y in enumerate(b):
            below.append(row[at] + 1 if x == y else max(row[at + 1], below[at]))
        row = below
    return row[-1]


@pytest.mark.parametrize("edits", [1, 3, 1000])
def test_runs_are_equal_in_order_and_most_where_changes_are_few(edits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "PAIRS", -1)
    monkeypatch.setattr(order, "EDITS", edits)
    chance = random.Random(edits)
    for _ in range(300):
        a, b = ([chance.choice(letters) for _ in range(chance.randrange(14))] for letters in ("abcd", "abcdef"))
        found = order.common(a, b)
        in_a = in_b = 0
        for x, y, length in found:
            assert length > 0 and x >= in_a and y >= in_b and a[x : x + length] == b[y : y + length]
            in_a, in_b = x + length, y + length
        assert edits < 1000 or sum(length for _, _, length in found) == longest(a, b)


def test_a_long_step_with_a_kernel_less_in_each_layer_is_aligned() -> None:
    a = [f"k{i % 17}" for _ in range(160) for i in range(100)]
    b = [name for i, name in enumerate(a) if i % 50]
    b[8000:8000] = [f"of another optimizer {i % 5}" for i in range(3000)]
    assert sum(length for _, _, length in order.common(a, b)) == len(a) - len(a) // 50


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


def test_a_long_run_is_gone_in_stretches_up_to_its_end() -> None:
    for length in (7, 8, 9, 72, 73, 200, 5000):
        a = [*range(length), "a", "tail"]
        b = ["b", *range(length), "tail"]
        assert order._shortest(a, b) == [(0, 1, length), (length + 1, length + 1, 1)]
