"""Schedules rebuilt from what torch printed on an H200: groups, joins and reasons."""

import gzip
from pathlib import Path

import pytest

from fxscope.model import BufferAccess, Recording
from fxscope.passes.fusion import fusion
from fxscope.passes.schedules import schedules
from fxscope.readers import schedule_text
from tests import build

DATA = Path(__file__).parent.parent / "data" / "fusion"
GRAPH = "0/0:inference:post_grad"
PLANS = Path(__file__).parent.parent / "data" / "h200" / "plans"


def text(name, file):
    return gzip.decompress((DATA / name / file).read_bytes()).decode()


def schedule(name, folder="model__0_inference_0.0", section=0):
    log = schedule_text.log_sections(text(name, "fusion.log.gz"))
    return schedule_text.schedule(GRAPH, ("buf9",), text(name, f"{folder}.ir_post_fusion.txt.gz"), log[section])


def accesses(*buffers):
    return tuple(BufferAccess(buffer=name) for name in buffers)


def test_attention_groups_and_reasons():
    found = schedule("attn_compiled")
    assert [group.members for group in found.groups if len(group.members) > 1] == [("op3", "op4", "op6")]
    assert [(item.a, item.b, item.how) for item in found.attempts if item.fused] == [
        (("op3",), ("op4",), "reduction"),
        (("op3", "op4"), ("op6",), "reduction"),
    ]
    (refused,) = [item for item in found.attempts if not item.fused]
    assert (refused.a, refused.b) == (("op8",), ("op9",))
    assert refused.raw_reason == "numel/rnumel mismatch (reduce) (2048, 4), (256, 512)"
    assert found.complete and found.outputs == ("buf9",)
    (read,) = found.nodes[3].reads
    assert read.buffer == "buf2" and all(size for dep in read.deps for _, size in dep.ranges)


def test_each_graph_has_its_section_of_the_log():
    backward = schedule("mlp_train_compiled", "model__0_backward_3.1", section=1)
    assert [(item.a, item.b, item.how) for item in backward.attempts] == [(("op2",), ("op4",), "horizontal")]
    assert len(schedule_text.log_sections(text("mlp_train_compiled", "fusion.log.gz"))) == 2


def test_decisions_from_files_know_what_files_know():
    found = schedule("mlp_max_autotune")
    kernels = (
        "extern_kernels.mm",
        "extern_kernels.mm",
        "triton_poi_fused__unsafe_view_gelu_mul_0",
        "extern_kernels.mm",
    )
    reads = (("arg0_1", "arg1_1"), ("arg1_1", "arg2_1"), ("buf0", "buf1"), ("buf2", "arg3_1"))
    calls = tuple(
        build.call(
            number,
            kernel,
            graph=found.graph,
            device="cuda:0",
            reads=accesses(*reads[number]),
            writes=accesses(f"buf{number}"),
        )
        for number, kernel in enumerate(kernels)
    )
    result = fusion(schedules(Recording(calls=calls, schedules=(found,))))
    assert result.calls[2].scheduler_nodes == ("op2",)
    by_pair = {(item.a_call, item.b_call): item for item in result.decisions if item.a_call != item.b_call}
    epilogue = by_pair["0/0:inference:0", "0/0:inference:2"]
    assert epilogue.verdict == "rejected"
    assert epilogue.raw_reason == "no shared data"
    assert "tried_as_template" in epilogue.notes
    prologue = by_pair["0/0:inference:2", "0/0:inference:3"]
    assert prologue.raw_reason == "prologue fusion will not increase amount of bytes read in kernel"
    assert prologue.reason_code == "prologue_reads_more"


def test_without_a_log_the_verdict_is_null_and_says_why():
    ir = text("attn_compiled", "model__0_inference_0.0.ir_post_fusion.txt.gz")
    found = schedule_text.schedule("g", (), ir, None)
    assert not found.complete
    calls = tuple(
        build.call(number, name, graph="g", type="triton_reduction", reads=accesses("x"), writes=accesses(name))
        for number, name in enumerate(("triton_a", "triton_b", "triton_c"))
    )
    result = fusion(schedules(Recording(calls=calls, schedules=(found,))))
    pair = next(item for item in result.decisions if {item.a_call, item.b_call} == {"g:1", "g:2"})
    assert pair.verdict is None
    assert (pair.reason_code, pair.hint_code) == ("no_fusion_log", "record_fusion_log")


@pytest.mark.parametrize(
    "path", sorted(PLANS.glob("*/real/inductor/*/ir_post_fusion.txt")), ids=lambda p: str(p.parts[-5])
)
def test_every_recorded_plan_is_read(path):
    found = schedule_text.schedule("g", (), path.read_text(), None)
    heads = [line for line in path.read_text().splitlines() if schedule_text.HEAD.match(line)]
    fused = [line for line in heads if ": FusedSchedulerNode(" in line]
    assert len(found.nodes) == len(heads) - len(fused)
    assert len(found.groups) == len(found.nodes) - sum(line.count("SchedulerNode") - 2 for line in fused)
    assert all(node.writes or node.type == "nop" for node in found.nodes)


def test_only_loops_inside_others_reduce_in_either_way_of_printing():
    head = (
        "op{0}: SchedulerNode(ComputedBuffer)\nop{0}.writes = [MemoryDep('buf{0}', c0, {{c0: 8}})]\nop{0}.sizes = {1}\n"
    )
    sizes = ("((8,), ())", "((8,), (4,))", "([8], [])", "([8], [4])")  # the latter two of the C++ backend
    found = schedule_text.schedule("g", (), "".join(map(head.format, range(4), sizes)), None)
    assert [node.type for node in found.nodes] == ["pointwise", "reduction"] * 2
