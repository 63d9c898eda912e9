"""Joining the profiler's op tree with what the dispatcher saw, on hand-made trees."""

from __future__ import annotations

from fxscope._torch.op_recorder import SeenOp, SeenTensor
from fxscope.model import Op, Source, TensorMeta
from fxscope.readers import eager_graph


def op(number: int, name: str, start: int, duration: int, parent: int | None = None, **fields) -> Op:
    return Op(
        id=number,
        name=name,
        category="cpu_op",
        start_ns=start,
        duration_ns=duration,
        parent=parent,
        external_id=number,
        **fields,
    )


def tensor(storage: int, producer: int | None = None, name: str | None = None) -> SeenTensor:
    return SeenTensor(meta=TensorMeta(shape=(2, 2)), storage=storage, producer=producer, name=name)


LINE = Source(file="model.py", line=3, code="y = linear(x)", function="forward", module="head")
TREE = (
    op(1, "aten::linear", 0, 100),
    op(2, "aten::t", 10, 20, 1),
    op(3, "aten::transpose", 12, 10, 2),
    op(4, "aten::mm", 40, 50, 1),
)
SEEN = (
    SeenOp(
        position=0,
        name="aten::t",
        inputs=(tensor(1, name="head.weight"),),
        outputs=(tensor(1, 0),),
        aliases=(0,),
        source=LINE,
    ),
    SeenOp(
        position=1, name="aten::mm", inputs=(tensor(2, name="x"), tensor(1, 0)), outputs=(tensor(3, 1),), source=LINE
    ),
)


def test_the_tree_and_the_facts_become_one_graph() -> None:
    graph = eager_graph.eager_graph(TREE, SEEN, [2, 4])
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
    seen = (
        SeenOp(position=0, name="aten::add", inputs=(tensor(1), tensor(1)), outputs=(tensor(2, 0),)),
        SeenOp(position=1, name="aten::add", inputs=(tensor(2, 0), tensor(1)), outputs=(tensor(3, 1),)),
    )
    graph = eager_graph.eager_graph((op(1, "aten::add", 0, 5), op(2, "aten::add", 6, 5)), seen, [1, 2])
    assert [(node.name, node.inputs) for node in graph.nodes] == [
        ("input", ()),
        ("add", ("input",)),
        ("add_1", ("add", "input")),
    ]


def test_later_steps_are_tied_to_the_graph_by_order() -> None:
    graph = eager_graph.eager_graph(TREE, SEEN, [2, 4])
    later = tuple(
        Op(
            id=item.id + 10,
            name=item.name,
            category="cpu_op",
            step=1,
            start_ns=item.start_ns + 1000,
            duration_ns=item.duration_ns,
            parent=item.parent + 10 if item.parent else None,
        )
        for item in TREE
    )
    extra = Op(id=99, name="aten::empty", category="cpu_op", step=1, start_ns=1035, duration_ns=1, parent=11)
    tied = eager_graph.tie((*TREE, *later, extra), graph)
    assert [item.node for item in tied] == ["linear", "t", "transpose", "mm"] * 2 + [None]
    assert {item.graph for item in tied if item.node} == {"eager"}


def test_annotations_are_not_ops_but_keep_the_tree_together() -> None:
    annotation = Op(id=5, name="my region", category="user_annotation", start_ns=0, duration_ns=200)
    inside = op(6, "aten::mm", 10, 20, 5)
    tree = eager_graph.op_tree((annotation, inside))
    assert [(item.name, item.parent) for item in tree] == [("aten::mm", None)]


def test_what_a_compiled_region_runs_is_not_eager() -> None:
    ops = (
        op(1, "aten::relu", 0, 5),
        op(2, "Torch-Compiled Region: 0/0", 10, 50),
        op(5, "## Call CompiledFxGraph x ##", 15, 30, 2),
        op(3, "aten::mm", 20, 10, 5),
        op(4, "aten::sin", 70, 5),
    )
    seen = tuple(
        SeenOp(position=index, name=name, inputs=(tensor(index),), outputs=(tensor(index + 9, index),))
        for index, name in enumerate(("aten::relu", "aten::mm", "aten::sin"))
    )
    graph, ties = eager_graph.program_graph(ops, seen, [1, 3, 4])
    assert [op.node for op in ties if op.graph] == [node.name for node in graph.nodes if node.op == "dispatch"]
    assert [node.name for node in graph.nodes if node.op == "dispatch"] == ["relu", "sin"]


def test_an_adopted_trace_takes_its_facts_from_the_warm_up() -> None:
    unseen = tuple(
        Op(
            id=item.id,
            name=item.name,
            category="cpu_op",
            start_ns=item.start_ns,
            duration_ns=item.duration_ns,
            parent=item.parent,
        )
        for item in TREE
    )
    before = SeenOp(position=0, name="aten::randn", outputs=(tensor(2, 0),))
    shifted = [
        before,
        *(
            SeenOp(
                position=item.position + 1, name=item.name, aliases=item.aliases, inputs=item.inputs, source=item.source
            )
            for item in SEEN
        ),
    ]
    graph = eager_graph.adopted_graph(unseen, shifted)
    by_name = {node.name: node for node in graph.nodes}
    assert by_name["t"].aliases == ("head_weight",) and by_name["mm"].source == LINE
    other = eager_graph.adopted_graph((*unseen, op(9, "aten::tanh", 200, 5)), shifted)
    assert {node.aliases for node in other.nodes} == {None}  # another program than what was seen: no facts


def test_a_line_of_the_script_itself_is_not_taken_from_the_warm_up() -> None:
    top = Source(file="script.py", line=3, code="model(x)", function="<module>", module="head")
    seen = [SeenOp(position=0, name="aten::relu", inputs=(tensor(1),), outputs=(tensor(2, 0),), source=top)]
    graph = eager_graph.adopted_graph((op(1, "aten::relu", 0, 5),), seen)
    node = next(node for node in graph.nodes if node.name == "relu")
    assert (node.source.line, node.source.module) == (None, "head")
