"""The alignment of what a compiled region launched with the wrapper's calls: the longest one, and of long regions too."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from fxscope.model import BufferAccess, KernelCall, replace
from fxscope.passes import attribute, regions
from tests import build

if TYPE_CHECKING:
    from collections.abc import Sequence


def call(position: int, kernel: str, type_: str = "triton") -> KernelCall:
    return KernelCall(
        id=f"c{position}", graph="0/0:post_grad", handle=f"{kernel}:{position}", kernel=kernel, type=type_
    )


def longest(names: Sequence[str], calls: Sequence[KernelCall]) -> int:
    @cache
    def rest(i: int, j: int) -> int:
        if i == len(names) or j == len(calls):
            return 0
        both = 1 + rest(i + 1, j + 1) if regions.fits(names[i], calls[j]) else 0
        return max(both, rest(i + 1, j), rest(i, j + 1))

    return rest(0, 0)


def test_an_alignment_is_in_order_fits_and_none_is_longer() -> None:
    rng = random.Random(3)
    kinds = [
        ("extern_kernels.mm", "extern"),
        ("triton_a", "triton"),
        ("triton_b", "triton"),
        ("mine_0", "triton_other"),
    ]
    names = ["aten::mm", "triton_a", "triton_b", "mine", "aten::copy_", "graph_0_cpp_fused_mul_0"]
    for _ in range(300):
        calls = [call(position, *rng.choice(kinds)) for position in range(rng.randint(0, 14))]
        ran = rng.choices(names, k=rng.randint(0, 14))
        pairs = regions.match_sequence(ran, calls)
        positions = [(row, calls.index(found)) for row, found in pairs]
        assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(positions))
        assert all(regions.fits(ran[row], calls[column]) for row, column in positions)
        assert len(pairs) == longest(ran, calls)


def test_a_long_region_is_aligned_by_its_kernels_not_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 calls of 40 kernels; copies ran besides, and every 100th call launched nothing."""
    calls = [call(position, f"triton_{position * 7919 % 40}") for position in range(3000)]
    silent = set(range(50, 3000, 100))
    ran: list[str] = []
    expected: list[tuple[int, str]] = []
    for position, item in enumerate(calls):
        if position % 60 == 0:
            ran.append("aten::copy_")
        if position not in silent:
            expected.append((len(ran), item.kernel))
            ran.append(item.kernel)
    asked: list[Any] = []
    fits = regions.fits

    def counted(name: str, item: KernelCall) -> bool:
        asked.append(name)
        return fits(name, item)

    monkeypatch.setattr(regions, "fits", counted)
    pairs = regions.match_sequence(ran, calls)
    assert [(row, found.kernel) for row, found in pairs] == expected
    assert len(asked) <= 41 * 40
    asked.clear()
    launches = [build.launch(row, name, start_ns=row) for row, name in enumerate(ran)]
    replayed = regions.match_replay(launches, [call(-1, "triton_that_never_ran"), *calls])
    assert [found.kernel for _, found in replayed][:50] == [name for _, name in expected[:50]]
    assert len(asked) <= 41 * 41


def test_ops_between_two_known_calls_are_of_the_one_fallback_between_them() -> None:
    calls = [call(0, "a"), call(1, "torch.ops.mine.op.default", "fallback"), call(2, "b"), call(3, "c")]
    pairs = [(0, calls[0]), (3, calls[2]), (5, calls[3])]
    assert attribute.between_neighbours(pairs, calls) == [(1, calls[1]), (2, calls[1])]
    assert attribute.between_neighbours(pairs[::2], calls) == []  # two calls could have run them
    assert attribute.between_neighbours([(0, calls[2]), (4, calls[3])], calls) == []


@pytest.mark.parametrize(
    ("graphs", "ran", "expected"),
    [
        ("then:a then:mm else:b else:mm", "a mm", "0 1"),
        ("then:a then:mm else:b else:mm", "b mm", "2 3"),
        ("body:mm body:a mm", "mm a mm a mm", "0 1 0 1 2"),
        ("body:cond body:mm body:a mm", "a mm", "2 3"),  # what ran before `a` is not in the trace
        ("then:mm then:mm then:a else:mm", "mm mm a", "0 1 2"),
        ("then:mm else:mm", "mm", "-"),
        ("then:a then:mm else:a else:mm", "a mm", "- -"),  # both branches run one kernel
        ("then:a else:mm then:mm", "a mm", "0 -"),
    ],
)
def test_a_product_of_a_branch_is_known_beside_a_kernel_of_its_graph(graphs: str, ran: str, expected: str) -> None:
    calls = [
        replace(
            call(place, {"mm": "extern_kernels.mm"}.get(name, name), "extern" if name == "mm" else "triton"),
            graph=graph,
            subgraph=graph or None,
            conditional=bool(graph),
        )
        for place, (graph, _, name) in enumerate(word.rpartition(":") for word in graphs.split())
    ]
    rows = [
        regions.OpGroup(
            name=f"aten::{name}" if name == "mm" else name, start_ns=row, launches=[build.launch(row, name)]
        )
        for row, name in enumerate(ran.split())
    ]
    region = regions.Region(start_ns=0, key=None, compile_id=None, backward=False, step=0, groups=rows)
    found = attribute.assign(region, calls)
    assert [found.get(row, "-").removeprefix("c") for row in range(len(rows))] == expected.split()


LAYER = ("gemm", "attention", "gemm")


@pytest.mark.parametrize(
    ("ran", "shapes", "expected"),
    [
        ([*LAYER, *LAYER], [(8,), (8,)], [0, 0, 0, 1, 1, 1]),
        ([*LAYER, *LAYER], [(8,), (9,)], []),  # other work may be other kernels
        ([*LAYER, *LAYER], [None, None], []),
        ([*LAYER, *LAYER[::-1], "gemm"], [(8,), (8,)], []),
        ([*LAYER[:2], *LAYER[1:]], [(8,), (8,)], []),
    ],
)
def test_equal_calls_of_a_library_share_repeated_kernels_of_each_replay(ran, shapes, expected) -> None:
    """In the region that captured a graph without ops, all its replays follow, after what ran before the capture."""
    calls = [
        replace(
            call(number, "torch.ops.mine.layer.default", "fallback"),
            reads=None if shape is None else (BufferAccess(buffer=f"arg{number}", shape=shape),),
            writes=() if shape is not None else None,
        )
        for number, shape in enumerate(shapes)
    ]
    warm_up = build.launch(99, "fill", start_ns=0, correlation=1)
    replays = [
        build.launch(10 * replay + row, name, correlation=replay, cuda_graph=1, cuda_graph_node=row)
        for replay in (2, 3)
        for row, name in enumerate(ran)
    ]
    region = regions.Region(start_ns=0, key=None, compile_id=None, backward=False, step=0, replayed=[warm_up, *replays])
    found = attribute.assign(region, calls)
    assert [found[30 + row] for row in range(len(ran)) if 30 + row in found] == [f"c{number}" for number in expected]
    nodes = attribute.calls_of_nodes([region], [found])
    assert len(nodes) == len(expected)
    assert regions.agreement(region, calls) == (1.0 if expected else 0.0)
