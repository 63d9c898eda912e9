"""Every hint is tried: with the switch that it names the pair is one kernel, and where torch refuses there is no hint."""

import ast
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import fxscope
from fxscope._torch import hooks
from fxscope.model import Recording
from fxscope.passes.fusion import eager, reasons
from fxscope.readers.output_code import kernel_calls, parse
from tests.fusion.compiling import on_the_cpu
from tests.fusion.programs import user_kernel
from tests.target.factories import Function

DATA = Path(__file__).parent.parent / "data" / "h200"
BIG = 1 << 30


def compiled(model, *inputs, **options) -> Recording:
    torch.manual_seed(0)
    return on_the_cpu(model, *inputs, **{"force_disable_caches": True, **options})


def planned(model, *inputs, **switches) -> Recording:
    torch._dynamo.reset()
    module = model if isinstance(model, nn.Module) else Function(model)
    return fxscope.record(module, *inputs, compile={"options": switches} if switches else True, target="h200")


def hinted(recording: Recording, switch: str):
    return [item for item in recording.decisions if item.config == switch and item.hint]


def wide():
    return torch.randn(1024, 512)


# switch → (program, inputs, how it is set first, how the hint would have it)
ON_H200 = {
    "max_fusion_size": (lambda x: (x.sin(), x.cos()), (wide,), {"max_fusion_size": 1}, {}),
    "score_fusion_memory_threshold": (
        lambda x: (x.sin(), x.cos()),
        (wide,),
        {"score_fusion_memory_threshold": BIG},
        {},
    ),
    "max_fusion_unique_io_buffers": (
        lambda x, y: (torch.sin(x) + y, torch.cos(x) * y),
        (wide, wide),
        {"max_fusion_unique_io_buffers": 2},
        {},
    ),
    "loop_ordering_after_fusion": (
        lambda x: (x.sum(-1), x.t().contiguous()),
        (wide,),
        {"loop_ordering_after_fusion": False},
        {"loop_ordering_after_fusion": True},
    ),
    "loop_reindexing_after_fusion": (
        lambda x, w: (x * w, (x * w).view(-1, 128).pow(2).mean(-1)),
        (wide, lambda: torch.randn(512)),
        {"loop_reindexing_after_fusion": False},
        {"loop_reindexing_after_fusion": True},
    ),
    "triton.nested_reduction": (
        lambda x: (F.rms_norm(x, (512,)), F.rms_norm(x, (512,)).view(1024, 8, 64).abs().amax(-1)),
        (wide,),
        {},
        {"triton.nested_reduction": True},
    ),
}
# A benchmark on a GPU decides, or it takes a backend or a torch that is not here; their conditions are held below.
NOT_HERE = {
    "max_autotune_gemm": "tried by test_trials.py",
    "epilogue_fusion": "only a Triton template takes an epilogue, and a benchmark chooses it",
    "prologue_fusion": "only a Triton template takes a prologue, and a benchmark chooses it",
    "benchmark_fusion": "a benchmark decides",
    "triton.tiling_prevents_pointwise_fusion": "no program was found whose tilings collide",
    "triton.tiling_prevents_reduction_fusion": "no program was found whose tilings collide",
    "aggressive_fusion": "for pairs that share no data, and every pair here shares some",
    "epilogue_fusion_user_defined_triton_kernel": "tried below, with a program of its own",
}


def test_every_switch_that_a_hint_names_is_tried_or_says_why_not():
    named = {rule.config for rule in (*reasons.RAW_REASONS, *reasons.CAUSES) if rule.hint}
    for path in Path(reasons.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            for word in node.keywords if isinstance(node, ast.Call) else ():
                if word.arg == "config" and isinstance(word.value, ast.Constant):
                    named.add(word.value.value)
    named -= {None}
    assert named <= {*ON_H200, *NOT_HERE}, named
    assert named >= {*ON_H200, *NOT_HERE} - {"aggressive_fusion"}  # nothing is excused that is not said


@pytest.mark.slow
@pytest.mark.parametrize("switch", ON_H200)
def test_a_hint_for_a_gpu_does_what_it_says(switch):
    program, inputs, first, then = ON_H200[switch]
    if missing := {switch, *first, *then} - {*hooks.switches()}:
        pytest.skip(f"this torch has no {', '.join(missing)}")
    given = [make() for make in inputs]
    before = planned(program, *given, **first)
    if switch == "triton.nested_reduction" and len(before.calls) == 1:
        pytest.skip("this torch joins the two by itself")
    assert len(before.calls) == 2 and hinted(before, switch), [(item.reason, item.hint) for item in before.decisions]
    assert len(planned(program, *given, **then).calls) == 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(torch._inductor.config.triton, "nested_reduction"), reason="this torch joins fewer")
def test_every_loop_is_in_one_kernel_however_torch_joins_it():
    doubled = user_kernel(alone=True)

    def program(x, y):
        z = F.rms_norm(x, (512,))
        listed = torch._foreach_add([x[:64], x[64:]], 1)
        return listed, z, z.view(1024, 8, 64).abs().amax(-1), doubled(x), y.sum(-1), y.sum(0)

    switches = dict.fromkeys(["triton.nested_reduction", "epilogue_fusion_user_defined_triton_kernel"], True)
    recording = planned(program, wide(), torch.randn(1 << 15, 512, dtype=torch.bfloat16), **switches)
    (schedule,) = recording.schedules
    assert {item.how for item in schedule.attempts} >= {"nested_reduction", "mix_order", "epilogue"}
    placed = [name for _, members in schedule.kernels for name in members]
    assert sorted(placed) == sorted(node.name for node in schedule.nodes)
    assert not [node for node in recording.graphs[-1].nodes if node.kind == "eliminated"]
    reduced, cast = (next(call for call in recording.calls if op in call.kernel) for op in ("aten.sum", "_to_copy"))
    (text,) = (item.text for item in recording.sources if item.kind == "output_code")
    parts = 4 * int(
        re.search(r"workspace_0 = empty_strided_cuda\(\((\d+)", text)[1]
    )  # that the mix-order kernel leaves
    assert [(item.bytes_read, item.bytes_written) for item in (reduced, cast)] == [(parts, 2048), (2048, 1024)]
    assert {item.purpose for item in (reduced, cast)} == {"split"} and reduced.nodes == cast.nodes
    left = [access.bytes for call in recording.calls for access in call.writes if access.buffer == "workspace_0"]
    ranges = [item.bytes for item in schedule.peak_memory.ranges if item.buffer == "workspace_0"]
    assert left == ranges == [parts]
    found = {item.id: (item.bytes_read, item.bytes_written) for item in kernel_calls(parse(text), reduced.graph)}
    for call in (item for item in recording.calls if item in (reduced, cast) or "workspace_0" in str(item.writes)):
        assert found[call.id] == (call.bytes_read, call.bytes_written)


@pytest.mark.slow
def test_a_users_kernel_takes_an_epilogue_that_reads_nothing_else(plan_of):
    switch = "epilogue_fusion_user_defined_triton_kernel"
    if not hasattr(torch._inductor.config, switch):
        pytest.skip("this torch does not have the switch")
    (item,) = hinted(plan_of("user_kernel_alone"), switch)
    assert item.hint_code == "enable"
    assert not hinted(plan_of("user_kernel"), switch)


@pytest.mark.cpp
@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "program"),
    [
        ("aten::gelu", "aten::mul", lambda x: F.gelu(x) * x),
        ("aten::add", "aten::native_layer_norm", lambda x: F.layer_norm(x + 1, (128,))),
        ("aten::_softmax", "aten::add", lambda x: torch.softmax(x, -1) + x),
        ("aten::mul", "aten::sum", lambda x: (x * 2).sum(-1)),
    ],
)
def test_compile_joins_the_neighbours_of_which_it_is_said(first, second, program):
    assert eager.joined(first, second)
    assert len(compiled(program, torch.randn(64, 128)).calls) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("aten::sort", "aten::mul"),
        ("aten::sum", "aten::_softmax"),
        ("aten::mul", "aten::_scaled_dot_product_attention"),
    ],
)
def test_of_others_nothing_is_promised(first, second):
    assert not eager.joined(first, second)


CAPTURES = sorted(path.parent for path in DATA.rglob("trace.json.gz") if (path.parent / "inductor").is_dir())


@pytest.mark.parametrize("folder", CAPTURES, ids=lambda path: "/".join(path.relative_to(DATA).parts))
def test_templates_are_hinted_at_only_where_they_could_take_the_neighbour(folder):
    """scheduler.py of torch 2.13: no reduction as an epilogue (7554); what a prologue may read torch alone knows."""
    recording = fxscope.read_trace(folder / "trace.json.gz", debug_dir=folder / "inductor")
    calls = {call.id: call for call in recording.calls}
    for item in recording.decisions:
        if item.config != "max_autotune_gemm" or item.hint_code is None:
            continue
        b = calls[item.b_call]
        assert item.hint_code != "template_prologue" and b.type == "triton_pointwise", item
