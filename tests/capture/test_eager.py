"""Joining a trace's op tree with what the session says of each op, on hand-made trees."""

import linecache

import numpy as np
import torch

import fxscope
from fxscope.model import Op, Source, TensorMeta
from fxscope.readers import eager_graph
from fxscope.readers.eager_graph import SeenOp, SeenTensor
from tests import build


def op(number: int, name: str, start: int, duration: int, parent: int | None = None, **fields) -> Op:
    known = {"start_ns": start, "duration_ns": duration, "parent": parent, "external_id": number}
    return build.op(number, name, **known, **fields)


def tensor(storage: int, producer: int | None = None, name: str | None = None) -> SeenTensor:
    return SeenTensor(meta=TensorMeta(shape=(2, 2)), storage=storage, producer=producer, name=name)


LINE = Source(file="model.py", line=3, code="y = linear(x)", function="forward", module="head")
TREE = (
    op(1, "aten::linear", 0, 100),
    op(2, "aten::t", 10, 20, 1),
    op(3, "aten::transpose", 12, 10, 2),
    op(4, "aten::mm", 40, 50, 1),
)
META = TensorMeta(shape=(2, 2))
SEEN = {
    2: SeenOp(
        position=0, name="aten::t", inputs=(tensor(1, name="head.weight"),), outputs=(META,), aliases=(0,), source=LINE
    ),
    4: SeenOp(
        position=1,
        name="aten::mm",
        inputs=(tensor(2, name="x"), tensor(1, 0)),
        outputs=(META,),
        aliases=(),
        source=LINE,
    ),
}


def test_the_tree_and_the_facts_become_one_graph() -> None:
    graph = eager_graph.program_graph(TREE, SEEN)[0]
    rows = [(node.name, node.parent, node.inputs, node.aliases) for node in graph.nodes]
    assert rows == [
        ("head_weight", None, (), None),
        ("x", None, (), None),
        ("linear", None, (), None),
        ("t", "linear", ("head_weight",), ("head_weight",)),
        ("transpose", "t", (), None),
        ("mm", "linear", ("x", "t"), ()),
    ]
    assert all(node.source == LINE for node in graph.nodes if node.op == "dispatch")
    assert [node.kind for node in graph.nodes[:2]] == ["input", "input"]


def test_a_tensor_from_outside_is_one_input_however_often_it_is_used() -> None:
    seen = {
        1: SeenOp(position=0, name="aten::add", inputs=(tensor(1), tensor(1))),
        2: SeenOp(position=1, name="aten::add", inputs=(tensor(2, 0), tensor(1))),
    }
    graph = eager_graph.program_graph((op(1, "aten::add", 0, 5), op(2, "aten::add", 6, 5)), seen)[0]
    assert [(node.name, node.inputs) for node in graph.nodes] == [
        ("input", ()),
        ("add", ("input",)),
        ("add_1", ("add", "input")),
    ]


def test_later_steps_are_tied_to_the_graph_by_order() -> None:
    graph = eager_graph.program_graph(TREE, SEEN)[0]
    later = tuple(
        build.op(
            item.id + 10,
            item.name,
            step=1,
            start_ns=item.start_ns + 1000,
            duration_ns=item.duration_ns,
            parent=item.parent + 10 if item.parent else None,
        )
        for item in TREE
    )
    extra = build.op(99, "aten::empty", step=1, start_ns=1035, parent=11)
    ops = (*TREE, *later, extra)
    tied = eager_graph.tie(ops, graph, np.arange(len(ops)), {})
    assert [item.node for item in tied] == ["linear", "t", "transpose", "mm"] * 2 + [None]
    assert {item.graph for item in tied if item.node} == {"eager"}


def test_annotations_are_not_ops_but_keep_the_tree_together() -> None:
    annotation = Op(id=5, name="my region", category="user_annotation", start_ns=0, duration_ns=200)
    inside = op(6, "aten::mm", 10, 20, 5)
    assert eager_graph.op_tree((annotation, inside), np.arange(2)) == {1: None}


def test_what_a_compiled_region_runs_is_not_eager() -> None:
    ops = (
        op(1, "aten::relu", 0, 5),
        op(2, "Torch-Compiled Region: 0/0", 10, 50),
        op(5, "## Call CompiledFxGraph x ##", 15, 30, 2),
        op(3, "aten::mm", 20, 10, 5),
        op(4, "aten::sin", 70, 5),
    )
    names = {1: "aten::relu", 3: "aten::mm", 4: "aten::sin"}
    seen = {number: SeenOp(position=number, name=name, inputs=(tensor(number),)) for number, name in names.items()}
    graph, ties = eager_graph.program_graph(ops, seen)
    assert [op.node for op in ties if op.graph] == [node.name for node in graph.nodes if node.op == "dispatch"]
    assert [node.name for node in graph.nodes if node.op == "dispatch"] == ["relu", "sin"]


def test_an_op_of_another_name_has_no_facts() -> None:
    graph = eager_graph.program_graph((op(2, "aten::relu", 0, 5),), SEEN)[0]
    assert [(node.name, node.inputs, node.aliases) for node in graph.nodes] == [("relu", (), None)]


def test_what_an_op_calls_before_it_hands_on_is_in_the_graph() -> None:
    """`mse_loss_backward` makes and fills its output, then calls its other overload."""
    x = torch.randn(4, requires_grad=True)
    recording = fxscope.record(lambda: torch.nn.functional.mse_loss(x.sin(), torch.zeros(4)).backward())
    names = {op.id: op.name for op in recording.ops}
    inner = [op for op in recording.ops if op.parent is not None and names[op.parent] == "aten::mse_loss_backward"]
    assert {op.name for op in inner} == {"aten::zeros_like", "aten::mse_loss_backward"}
    assert all(op.node is not None for op in inner)


def test_a_program_that_is_typed_has_lines() -> None:
    """IPython and Python's prompt keep its text in `linecache`, under a name that no file has."""
    name, text, names = "<ipython-input-1-5b38>", "def program(x):\n    return x.sin()\n", {}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), names)
    graph = fxscope.record(names["program"], torch.ones(3)).graph("eager")
    (source,) = {node.source for node in graph.nodes if node.source}
    assert (source.file, source.line, source.code) == (name, 2, "return x.sin()")


def test_an_op_that_reads_another_result_than_the_first_reads_only_its_bytes() -> None:
    """A layer norm's backward reads its statistics; what stacks an LSTM's states does not read its output."""
    norm, lstm = torch.nn.LayerNorm(64), torch.nn.LSTM(8, 8, 2)
    trained = fxscope.record(norm, torch.randn(32, 64, requires_grad=True), backward=True)
    (backward,) = (node for node in trained.graphs[0].nodes if node.target == "aten::native_layer_norm_backward")
    # x; mean and deviation of 32 rows; weight and bias; the gradient of a sum, one number
    assert backward.bytes_read == 4 * (32 * 64 + 2 * 32 + 2 * 64 + 1)
    ran = fxscope.record(lstm, torch.randn(16, 4, 8))
    assert max(item.saved_bytes for item in ran.decisions if item.b[0].startswith("stack")) <= 2 * 4 * 4 * 8
