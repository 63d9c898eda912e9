"""Eager neighbours, ranked by what fusing them would save."""

from pathlib import Path

import pytest

from fxscope.analysis.report import report
from fxscope.analysis.why import why
from fxscope.model import Environment, Graph, Recording, replace
from fxscope.passes import cost, fusion
from fxscope.passes.fusion import eager
from fxscope.readers import join
from fxscope.render.why import words
from tests import build

SIZE = 64 * 128 * 3072 * 2


def op(name, *inputs, shape=(64, 128, 3072), **more):
    return build.dispatched(name, f"aten::{name.split('_')[0]}", *inputs, outputs=(build.tensor(*shape),), **more)


def mlp():
    flat = (8192, 3072)
    nodes = (
        build.placeholder("x", 8192, 768),
        op("mm", "x", shape=flat),
        op("view", "mm", kind="view", aliases=("mm",)),
        op("gelu", "view"),
        op("mm_1", "x", shape=flat),
        op("view_1", "mm_1", kind="view", aliases=("mm_1",)),
        op("mul", "gelu", "view_1"),
        op("view_2", "mul", shape=flat, kind="view", aliases=("mul",)),
        op("mm_2", "view_2", shape=(8192, 768)),
    )
    return Recording(
        environment=Environment(device="NVIDIA H200"), graphs=(Graph(id="eager", stage="eager", nodes=nodes),)
    )


def test_gelu_and_mul_pass_50_mb_written_once_and_read_once():
    found = cost.cost(fusion.fusion(mlp()))
    pairs = {(item.a[0], item.b[0]): item for item in found.decisions}
    between = pairs["gelu", "mul"]
    assert between.saved_bytes == 2 * SIZE
    assert "written once and read once" in between.reason
    assert "50.3 MB" in between.reason
    assert 19 < between.expected_us < 34  # measured: 29 µs (benchmarks/fusion_cost.py)
    assert between.hint_code == "compile" and "(not verified)" in between.hint
    # Through the views between them.
    assert pairs["mm", "gelu"].saved_bytes == 2 * SIZE
    assert pairs["mul", "mm_2"].saved_bytes == 2 * SIZE
    # As a prologue it hangs on dtypes and sizes whether a template takes it: nothing is promised.
    assert pairs["mul", "mm_2"].hint is None
    assert ("mm", "mm_1") not in pairs  # both read x
    assert [item.saved_bytes for item in found.decisions] == sorted(
        (item.saved_bytes for item in found.decisions), reverse=True
    )


def test_no_template_is_promised_on_a_cpu():
    (graph,) = mlp().graphs
    nodes = {node.name: node for node in graph.nodes}
    assert eager.hint(nodes["mm"], nodes["gelu"], on_cpu=False) == "compile_template"
    on_cpu = [replace(node, outputs=tuple(replace(out, device="cpu") for out in node.outputs)) for node in graph.nodes]
    found = fusion.fusion(replace(mlp(), graphs=(replace(graph, nodes=tuple(on_cpu)),)))
    pairs = {(item.a[0], item.b[0]): item for item in found.decisions}
    assert pairs["mm", "gelu"].hint is None


def test_only_the_part_that_is_read_is_saved():
    half = (4096, 3072)
    nodes = (
        op("exp"),
        op("slice_1", "exp", shape=half, kind="view", aliases=("exp",)),
        op("slice_2", "exp", shape=half, kind="view", aliases=("exp",)),
        op("gelu", "slice_1", shape=half),
        op("mul", "slice_2", "gelu", shape=half),
        op("neg", "gelu", shape=half),
    )
    found = fusion.fusion(Recording(graphs=(Graph(id="eager", stage="eager", nodes=nodes),)))
    pairs = {(item.a[0], item.b[0]): item for item in found.decisions}
    assert pairs["exp", "gelu"].saved_bytes == SIZE // 2
    assert "50.3 MB, which others read too; 25.2 MB of it are read here" in pairs["exp", "gelu"].reason
    # Between the halves of a gate nothing need be common: the pair is that of gelu's result.
    assert pairs["gelu", "mul"].saved_bytes == SIZE // 2
    alone = fusion.fusion(Recording(graphs=(Graph(id="eager", stage="eager", nodes=nodes[:2] + nodes[3:4]),)))
    assert [item.saved_bytes for item in alone.decisions] == [SIZE + SIZE // 2]


def test_what_others_read_too_must_be_written():
    recording = mlp()
    (graph,) = recording.graphs
    backward = op("gelu_backward", "view")
    changed = Recording(graphs=(Graph(id="eager", stage="eager", nodes=(*graph.nodes, backward)),))
    pairs = {(item.a[0], item.b[0]): item for item in fusion.fusion(changed).decisions}
    assert pairs["mm", "gelu"].saved_bytes == SIZE
    assert "others read too" in pairs["mm", "gelu"].reason


def launch(number, op_id, **fields):
    return build.launch(number, f"k{number}", start_ns=number * 100, op_id=op_id, stream=7, **fields)


def test_a_trace_alone_has_no_pairs():
    """It records shapes, not which op reads which tensor; `view` and `why` say what to do."""
    folder = Path(__file__).parents[1] / "data" / "h200"
    for name in ("mlp_eager", "mlp_liger", "mlp_compiled"):
        recording = join.read_trace(folder / name / "trace.json.gz")
        assert recording.decisions == ()
        assert any("fusion" in item for item in report(recording).unknown)


def test_two_runs_of_the_pass_give_the_same():
    once = fusion.fusion(mlp())
    assert fusion.fusion(once) == once


def test_a_state_that_is_written_in_place_is_written_all_the_same():
    """Adam's moments: one kernel would spare the read of what follows; what is overwritten at once is spared both ways."""
    shape = build.tensor(1024)
    size = 2 * 1024  # of bfloat16
    nodes = (
        replace(build.placeholder("state", 1024), outputs=(shape,), kind="input"),
        *(
            replace(build.node(name, f"aten.{op}", source, outputs=(shape,)), kind="kernel", mutates=into, aliases=into)
            for name, op, source, into in (
                ("mul", "mul_.Tensor", "state", ("state",)),
                ("addcmul", "addcmul_.default", "mul", ("mul",)),
                ("sqrt", "sqrt.default", "addcmul", ()),
                ("div", "div.Tensor", "sqrt", ()),
            )
        ),
    )
    graph = Graph(id="eager", stage="eager", nodes=nodes)
    found = {(item.a[0], item.b[0]): item for item in eager.of_graph(graph, {})}
    assert found["sqrt", "div"].saved_bytes == found["mul", "addcmul"].saved_bytes == 2 * size
    assert found["addcmul", "sqrt"].saved_bytes == size
    assert "written all the same" in found["addcmul", "sqrt"].reason
    assert "written once and read once" in found["sqrt", "div"].reason


@pytest.mark.parametrize(
    ("first", "second", "possible"),
    [
        ("aten::mm", "aten::gelu", True),
        ("aten::gelu", "aten::mm", False),  # no rule says whether a template takes it as its prologue
        ("aten::nonzero", "aten::mul", False),
        ("aten::relu", "aten::cudnn_batch_norm", True),
        ("aten::mm", "vllm::moe_forward", False),
        ("aten::gelu", "aten::_flash_attention_forward", False),
        ("aten::mm", "aten::_softmax", False),
        ("aten::gelu", "aten::_softmax", True),
    ],
)
def test_what_no_rule_joins_is_not_possible(first, second, possible):
    """`view` counts only what is possible on its first screen."""
    nodes = (
        build.placeholder("x", 16, 16),
        build.dispatched("a", first, "x", outputs=(build.tensor(16, 16),)),
        build.dispatched("b", second, "a", outputs=(build.tensor(16, 16),)),
    )
    (row,) = report(fusion.fusion(Recording(graphs=(Graph(id="eager", stage="eager", nodes=nodes),)))).missed
    assert (row.reason_code, row.is_possible) == ("eager", possible)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("softmax", "gelu", "eager: one kernel per op"),  # as the row is called; `_softmax` ran
        ("_softmax", "gelu", "eager: one kernel per op"),
        ("softmax", "mul", "never considered. No tensor is known to pass between them."),
    ],
)
def test_why_of_two_eager_ops_by_the_names_of_their_rows(first, second, said):
    nodes = (
        build.placeholder("x", 16, 16),
        build.dispatched("softmax", "aten::softmax", "x", nature="composite", outputs=(build.tensor(16, 16),)),
        build.dispatched("a", "aten::_softmax", "x", outputs=(build.tensor(16, 16),)),
        build.dispatched("b", "aten::gelu", "a", outputs=(build.tensor(16, 16),)),
        build.dispatched("c", "aten::mul", "b", outputs=(build.tensor(16, 16),)),
    )
    recording = fusion.fusion(Recording(graphs=(Graph(id="eager", stage="eager", nodes=nodes),)))
    launches = tuple(
        replace(launch(number, number), graph="eager", nodes=(name,)) for number, name in enumerate("abc", 1)
    )
    recording = replace(recording, launches=launches)
    answer = why(recording, first, second)
    assert said in " ".join(words(recording, answer, width=200).split())
