"""Schedules rebuilt from what torch printed on an H200: groups, traffic, joins and reasons."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fxscope.model import Graph, Recording
from fxscope.passes.fusion import fusion
from fxscope.passes.schedules import schedules
from fxscope.readers import schedule_text
from tests import build

DATA = Path(__file__).parent.parent / "data" / "fusion"
GRAPH = Graph(id="0/0:inference:post_grad", stage="post_grad")
PLANS = Path(__file__).parent.parent / "data" / "h200" / "plans"


def text(name, file):
    return gzip.decompress((DATA / name / file).read_bytes()).decode()


def schedule(name, folder="model__0_inference_0.0", section=0, graph=GRAPH):
    log = schedule_text.log_sections(text(name, "fusion.log.gz"))
    found = schedule_text.schedule(text(name, f"{folder}.ir_post_fusion.txt.gz"), log[section], graph)
    assert found is not None
    return found


def test_attention_groups_reasons_and_bytes():
    found = schedule("attn_compiled")
    assert [group.members for group in found.groups if len(group.members) > 1] == [("op3", "op4", "op6")]
    assert [(item.a, item.b, item.how) for item in found.attempts if item.fused] == [
        (("op3",), ("op4",), "reduction"),
        (("op3", "op4"), ("op6",), "reduction"),
    ]
    (refused,) = [item for item in found.attempts if not item.fused]
    assert (refused.a, refused.b) == (("op8",), ("op9",))
    assert refused.raw_reason == "numel/rnumel mismatch (reduce) (2048, 4), (256, 512)"
    softmax = next(group for group in found.groups if "op3" in group.members)
    # The maximum and the sum of each row stay inside: bf16 scores in, bf16 weights out.
    assert [(item.buffer, item.bytes) for item in softmax.reads] == [("buf2", 4 * 512 * 512 * 2)]
    assert [(item.buffer, item.bytes) for item in softmax.writes] == [("buf6", 4 * 512 * 512 * 2)]
    assert found.complete


def test_each_graph_has_its_section_of_the_log():
    graph = Graph(id="g", stage="post_grad", nodes=(build.placeholder("tanh"),))
    backward = schedule("mlp_train_compiled", "model__0_backward_3.1", section=1, graph=graph)
    assert [(item.a, item.b, item.how) for item in backward.attempts] == [(("op2",), ("op4",), "horizontal")]
    assert "tanh" in next(node for node in backward.nodes if node.name == "op4").origins
    assert len(schedule_text.log_sections(text("mlp_train_compiled", "fusion.log.gz"))) == 2


def test_decisions_from_files_know_what_files_know():
    found = schedule("mlp_max_autotune")
    calls = tuple(
        build.call(number, kernel, graph=found.graph, device="cuda:0")
        for number, kernel in enumerate(
            ("extern_kernels.mm", "extern_kernels.mm", "triton_poi_fused__unsafe_view_gelu_mul_0", "extern_kernels.mm")
        )
    )
    result = fusion(schedules(Recording(calls=calls, schedules=(found,))))
    pointwise = result.calls[2]
    assert (pointwise.bytes_read, pointwise.bytes_written) == (2 * 50331648, 50331648)
    by_pair = {(item.a_call, item.b_call): item for item in result.decisions if item.a_call != item.b_call}
    epilogue = by_pair["0/0:inference:0", "0/0:inference:2"]
    assert epilogue.verdict == "rejected"
    assert epilogue.raw_reason == "no shared data"
    assert "tried_as_template" in epilogue.notes
    prologue = by_pair["0/0:inference:2", "0/0:inference:3"]
    assert prologue.raw_reason == "prologue fusion will not increase amount of bytes read in kernel"
    assert prologue.reason_code == "prologue_reads_more"
    assert prologue.saved_bytes == 2 * 50331648


def test_without_a_log_the_verdict_is_null_and_says_why():
    ir = text("attn_compiled", "model__0_inference_0.0.ir_post_fusion.txt.gz")
    found = schedule_text.schedule(ir, None, Graph(id="g", stage="post_grad"))
    assert found is not None
    assert not found.complete
    calls = tuple(
        build.call(number, name, graph="g", type="triton_reduction")
        for number, name in enumerate(("triton_a", "triton_b", "triton_c"))
    )
    result = fusion(schedules(Recording(calls=calls, schedules=(found,))))
    pair = next(item for item in result.decisions if {item.a_call, item.b_call} == {"g:1", "g:2"})
    assert pair.verdict is None
    assert (pair.reason_code, pair.hint_code) == ("no_fusion_log", "record_fusion_log")


def test_the_graphs_inputs_give_their_sizes():
    weight = build.placeholder("arg0_1", 3072, 768)
    found = schedule("mlp_max_autotune", graph=Graph(id="g", stage="post_grad", nodes=(weight,)))
    first = found.nodes[0]
    assert {item.buffer: item.bytes for item in first.reads}["arg0_1"] == 3072 * 768 * 2


@pytest.mark.parametrize(
    "path", sorted(PLANS.glob("*/real/inductor/*/ir_post_fusion.txt")), ids=lambda p: str(p.parts[-5])
)
def test_every_recorded_plan_is_read(path):
    found = schedule_text.schedule(path.read_text(), None, Graph(id="g", stage="post_grad"))
    assert found is not None
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
    found = schedule_text.schedule("".join(map(head.format, range(4), sizes)), None, Graph(id="g", stage="post_grad"))
    assert found is not None
    assert [node.type for node in found.nodes] == ["pointwise", "reduction"] * 2
