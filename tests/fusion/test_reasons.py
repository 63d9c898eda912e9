"""Inductor's reasons in the user's terms: all that this torch can say, and only switches that it has."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Any

import pytest
import torch

from fxscope.model import (
    BufferAccess,
    FusionAttempt,
    Graph,
    KernelCall,
    Recording,
    Schedule,
    ScheduledGroup,
    SchedulerNode,
    replace,
)
from fxscope.passes.fusion import fusion
from fxscope.passes.fusion import reasons as fusion_reasons
from fxscope.passes.fusion.reasons import translate
from tests import build, captures

INDUCTOR = Path(torch.__file__).parent / "_inductor"


def switches():
    """Every switch that a reason or a hint names."""
    tables = (*fusion_reasons.RAW_REASONS, *fusion_reasons.CAUSES)
    named = {switch for _, _, _, switch in tables if switch}
    return sorted(
        named
        | {
            "max_autotune",
            "aggressive_fusion",
            "max_fusion_buffer_group_pairwise_attempts",
            "cpp.max_horizontal_fusion_size",
            "b2b_gemm_pass",
            "epilogue_fusion_user_defined_triton_kernel",
        }
    )


@pytest.mark.parametrize("name", switches())
def test_a_hint_names_a_switch_only_where_the_recorded_torch_has_it(name):
    from torch._inductor import config

    from fxscope._torch.scheduler_facts import limits

    recorded = limits()
    try:
        functools.reduce(getattr, name.split("."), config)
    except AttributeError:
        assert name not in recorded
        reason = fusion_reasons.with_value(fusion_reasons.Reason("because", f"{name} lets it", name), recorded)
        assert reason == ("because", None, None)
        # An older torch lacks some; one that lacks what it was released with had it taken away.
        assert name in {
            "epilogue_fusion_user_defined_triton_kernel",
            "loop_reindexing_after_fusion",
            "triton.nested_reduction",
        }


def test_every_switch_in_the_passes_is_in_the_list_above():
    found = set()
    for path in Path(fusion_reasons.__file__).parent.glob("fusion*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Reason" and len(node.args) == 3:
                value = getattr(node.args[2], "value", None)
                found.add(value if isinstance(value, str) else None)
    assert found - {None} <= set(switches())


def said_by_inductor():
    """Every constant reason that `WhyNoFuse` objects are called with in the installed torch."""
    reasons = set()
    for name in ("scheduler.py", "choices.py", "codegen/simd.py"):
        for node in ast.walk(ast.parse((INDUCTOR / name).read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            function = node.func
            direct = isinstance(function, ast.Name) and function.id == "why"
            made = isinstance(function, ast.Call) and getattr(function.func, "id", "") == "WhyNoFuse"
            if (direct or made) and isinstance(node.args[0].value, str):
                reasons.add(node.args[0].value)
    return sorted(reasons)


def test_there_are_reasons_to_translate():
    assert len(said_by_inductor()) > 30


@pytest.mark.parametrize("reason", said_by_inductor())
def test_every_reason_of_the_installed_torch_is_translated(reason):
    words = reason.replace("%s", "7")
    assert not translate(words, None, {}).text.startswith("Inductor:"), "a new reason: add it to RAW_REASONS"


def test_unknown_words_are_quoted_not_dropped():
    assert translate("the moon is full", None, {}).text == "Inductor: the moon is full"


@pytest.mark.parametrize(
    ("printed", "swapped", "words"),
    [
        # torch prints (numel1, numel2), (rnumel1, rnumel2)
        ("(reduce) (2048, 4), (256, 512)", False, "is (2048, 256) in the first and (4, 512) in the second"),
        ("(reduce) (2048, 4), (256, 512)", True, "is (4, 512) in the first and (2048, 256) in the second"),
        ("(reduce) (Max(1, s0), 4), (s1, 512)", False, "is (Max(1, s0), s1) in the first and (4, 512) in the second"),
        ("(non-reduce) (64, 4096), (1, 1)", False, "their iteration spaces differ: 64 and 4096 elements"),
        ("prologue mismatch (64, 32), (1, 1)", False, "the prologue that the template has: 64 and 32 elements"),
    ],
)
def test_each_kernel_has_its_own_iteration_space(printed, swapped, words):
    assert translate(f"numel/rnumel mismatch {printed}", None, {}, swapped=swapped).text.endswith(words)


def test_a_scan_beside_a_sum_is_not_called_a_reduction():
    (found,) = [item for item in captures.read("attn_compiled").decisions if "numel/rnumel" in (item.raw_reason or "")]
    assert found.reason == (
        "both run along an axis (a reduction, a scan or a sort), but over different iteration spaces: (numel, rnumel) is "
        "(2048, 256) in the first and (4, 512) in the second"
    )


@pytest.mark.parametrize(
    ("a", "b", "flows", "words"),
    [
        # codegen/cpp.py: a whole reduction before what reads it, whatever the two spaces are
        (["((), (4096,))"], ["((4096,), ())"], True, "share no outer loop: one that reduces 4096, then 4096"),
        (["((4096,), ())", "((), (4096,))"], ["((), ())"], True, "one that reduces 4096, then one element"),
        (["((64,), (64,))"], ["((16,), (256,))"], False, "differ, 64 that reduce 64 each and 16 that reduce 256 each"),
        (["((64,), (64,))"], ["((), (4096,))"], False, "differ, 64 that reduce 64 each and one that reduces 4096"),
        # joined where nothing else is against it: the spaces are no reason
        (["((64, 64), ())"], ["((64,), (64,))"], False, "without giving a reason"),
        (["((64,), (64,))"], ["((64, 64), ())"], True, "without giving a reason"),
        (["((4096,), ())"], ["((64, 64), ())"], False, "without giving a reason"),
        (["((s0,), ())"], ["((64, s1), ())"], False, "without giving a reason"),
        ([None], ["((64,), ())"], False, "without giving a reason"),
    ],
)
def test_loops_of_one_function_differ_only_where_that_decides(a, b, flows, words):
    loops = [fusion_reasons.cpp_loops(ranges) for ranges in (a, b)]
    assert words in fusion_reasons.declined(*loops, flows=flows).text


def test_a_limit_says_its_value():
    assert "max_fusion_size = 64" in translate("exceeds max fusion", None, {"max_fusion_size": 64}).text


def test_a_switch_that_is_on_is_no_hint():
    off = translate("memory deps did not match", None, {"loop_ordering_after_fusion": False})
    on = translate("memory deps did not match", None, {"loop_ordering_after_fusion": True})
    assert off.hint
    assert on.hint is None
    assert "is on" in on.text


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("{'buf0': 'different offset: 0 v.s. 512'}", "different parts of buf0: from element 0 and from element 512"),
        ("{'buf1': \"Mismatch loop orders: MemoryDep('buf1', c0, {c0: 8}) v.s. x\"}", "buf1 in different loop orders"),
        ("{'buf2': 'broadcast'}", "reads buf2 broadcast"),
        ("{'arg0_1': 'different numel: 8 v.s. 64'}", "over arg0_1 a different number of times: 8 and 64"),
        ("{'buf3': \"not MemoryDep: <class 'A'> v.s. <class 'B'>\"}", "uses buf3 as a whole"),
    ],
)
def test_no_shared_data_is_refined_to_its_cause(cause, words):
    assert words in translate("no shared data", cause, {}).text


@pytest.mark.parametrize(
    ("kernel", "type", "device", "words"),
    [
        ("extern_kernels.mm", "extern", "cuda:0", "cuBLAS GEMM"),
        ("extern_kernels.addmm", "extern", "cpu", "BLAS GEMM"),
        ("extern_kernels.convolution", "extern", "cuda:0", "convolution"),
        ("torch.ops.aten._scaled_dot_product_flash_attention.default", "fallback", "cuda:0", "attention"),
        ("torch.ops.aten.topk.default", "fallback", "cuda:0", "Inductor writes no kernel for"),
        ("add_kernel_0", "user_triton", "cuda:0", "user-written Triton kernel"),
    ],
)
def test_opaque_kernels_say_what_they_are(kernel, type, device, words):
    assert words in fusion_reasons.opaque(kernel, type, producer=True, device=device, limits={}).text


def test_a_gemm_that_autotuning_kept_gives_no_hint_to_autotune():
    found = fusion_reasons.opaque(
        "extern_kernels.mm", "extern", producer=True, device="cuda:0", limits={"max_autotune": True}
    )
    assert found.hint is None
    assert "the library's kernel was taken all the same" in found.text


def test_calls_whose_other_loops_were_asked_about_were_considered() -> None:
    """Two C++ functions use two versions of one buffer in a loop each; of the loops that share a mask one was asked."""

    def access(*names: str) -> tuple[BufferAccess, ...]:
        return tuple(
            BufferAccess(buffer=name, bytes=4096, shape=(1024,), dtype="float32", index="c0") for name in names
        )

    made = (
        ("zeros", (), ("buf0",), "pointwise"),
        ("exp", ("mask",), ("buf1",), "pointwise"),
        ("scatter_add", ("buf0",), ("buf2",), "extern"),
        ("sin", ("buf2",), ("buf3",), "pointwise"),
        ("cos", ("mask",), ("buf4",), "pointwise"),
    )
    nodes = tuple(
        SchedulerNode(name=f"op{n}", type=kind, group=n, origins=(name,), reads=access(*reads), writes=access(*writes))
        for n, (name, reads, writes, kind) in enumerate(made)
    )
    groups = tuple(
        ScheduledGroup(members=(item.name,), type=item.type, reads=item.reads, writes=item.writes) for item in nodes
    )
    graph = Graph(
        id=build.GRAPH,
        stage="post_grad",
        nodes=(build.placeholder("mask", 1024), *(build.node(name, f"aten.{name}.default") for name, *_ in made)),
    )

    def call(number: int, kernel: str, *members: int, **options: Any) -> KernelCall:
        return build.call(
            number,
            kernel,
            *(made[n][0] for n in members),
            scheduler_nodes=tuple(f"op{n}" for n in members),
            reads=tuple(item for n in members for item in nodes[n].reads),
            writes=tuple(item for n in members for item in nodes[n].writes),
            **options,
        )

    calls = (
        call(0, "cpp_fused_0", 0, 1, type="cpp"),
        call(1, "aten.scatter_reduce_.two", 2, type="fallback"),
        call(2, "cpp_fused_1", 3, 4, type="cpp"),
    )
    asked = FusionAttempt(a=("op1",), b=("op4",), fused=False, raw_reason="nodes numel incompatibility")
    schedule = Schedule(graph=graph.id, nodes=nodes, groups=groups, renames={"buf2": "buf0"}, attempts=(asked,))

    def verdict(schedule: Schedule) -> str | None:
        found = fusion(Recording(graphs=(graph,), calls=calls, schedules=(schedule,))).decisions
        return next(item.verdict for item in found if (item.a_call, item.b_call) == (calls[0].id, calls[2].id))

    assert verdict(schedule) == "rejected"
    assert verdict(replace(schedule, attempts=())) == "never_considered"
