"""Which ops really ran in a call: every capture against the checker, small programs against what Inductor executed."""

import json
from pathlib import Path

import pytest
import torch

import fxscope
from fxscope.analysis.check import check as hold
from fxscope.model import BufferAccess as Access, Graph, KernelCall, Node, Recording, TensorMeta, replace
from fxscope.passes.classify import classify
from fxscope.passes.provenance import provenance
from fxscope.passes.schedules import schedules
from fxscope.readers import output_code
from fxscope.render import labels, terminal, why
from tests import build
from tests.data.programs.fused import PROGRAMS, TRAINED
from tests.provenance.checker import EXTERNAL, check
from tests.provenance.oracle import listening

DATA = Path(__file__).parent.parent / "data"
CAPTURES = {
    "/".join(path.parent.relative_to(DATA).parts): path.parent
    for path in sorted((DATA / "h200").rglob("trace.json.gz"))
    if (path.parent / "inductor").is_dir()
}
FILES = {"debug_dir": "inductor", "compile_log": "torch_trace.log.gz"}
# The kernel of flex attention has operands that it makes no use of; who computes them is not told.
UNUSED = ("flex_attention", "lt", "where", "index_put", "sort", "sum_1", "convert_element_type")


@pytest.mark.parametrize("how", FILES)
@pytest.mark.parametrize("name", CAPTURES)
def test_captures(name: str, how: str) -> None:
    folder = CAPTURES[name]
    recording = fxscope.read_trace(folder / "trace.json.gz", **{how: folder / FILES[how]})
    checked, faults = check(recording)
    if "flex" in name:
        faults = [fault for fault in faults if not any(f": {word}" in fault for word in UNUSED)]
    assert not faults, "\n".join(faults)
    assert checked or all(call.type in EXTERNAL for call in recording.calls)


def test_the_checker_finds_an_op_from_upstream_and_one_that_is_left_out() -> None:
    folder = DATA / "h200" / "mlp_compiled"
    recording = fxscope.read_trace(folder / "trace.json.gz", debug_dir=folder / "inductor")
    fused = next(call for call in recording.calls if call.is_generated)
    gemm = recording.calls[-1]
    for changed in (
        replace(fused, nodes=(*fused.nodes, gemm.nodes[-1])),
        replace(fused, nodes=tuple(name for name in fused.nodes if name != "tanh")),
        replace(gemm, nodes=(*gemm.nodes, *fused.nodes)),
    ):
        calls = tuple(changed if call.id == changed.id else call for call in recording.calls)
        assert check(replace(recording, calls=calls))[1], changed.nodes


def test_a_custom_op_is_no_view_although_its_result_has_the_layout_of_its_input() -> None:
    nodes = (
        build.placeholder("x", 16, 128),
        build.node("gate", "mylib.gate.default", "x", outputs=(build.tensor(16, 128, stride=(128, 1)),)),
        build.node("reshape", "aten.reshape.default", "gate", outputs=(build.tensor(128, 16, stride=(16, 1)),)),
    )
    nodes = (replace(nodes[0], outputs=nodes[1].outputs), *nodes[1:])
    graph = Graph(id=build.GRAPH, stage="post_grad", nodes=nodes, outputs=("reshape",))
    call = build.call(1, "torch.ops.mylib.gate.default", "gate", type="fallback")
    (done,) = classify(Recording(graphs=(graph,), calls=(call,))).graphs
    assert [(node.kind, node.nature) for node in done.nodes[1:]] == [("kernel", "unknown"), ("view", "view")]


# ---------------------------------------------------------------------- against what Inductor executes


def recorded(name: str, tmp_path: Path, *, target: str | None, backward: bool) -> tuple[Recording, list[dict]]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, inputs = PROGRAMS[name]()
    with listening(tmp_path / "truth"):
        if target is None:
            recording = fxscope.record(model, *inputs, compile=True, backward=backward, steps=1, warmup=1)
        else:
            if isinstance(model, torch.nn.Module):
                model.cannot_be_pickled = lambda: None  # then it is planned in a copy of this process, with our hooks
            recording = fxscope.record(model, *inputs, target=target, backward=backward)
    return recording, [json.loads(line) for line in (tmp_path / "truth").read_text().splitlines()]


def differences(recording: Recording, truth: list[dict]) -> tuple[int, list[str]]:
    """Compare each generated call's nodes with the nodes whose code Inductor executed for its loops."""
    compared, found = 0, []
    for schedule in recording.schedules:
        graph = recording.graph(schedule.graph)
        written = {access.buffer for node in schedule.nodes for access in node.writes}
        same = [item["ran"] for item in truth if item["names"] == [node.name for node in graph.nodes]]
        ran = next((item for item in same if written & item.keys()), same[0])
        nodes = {node.name: node for node in graph.nodes}
        calls = [call for call in recording.calls if call.graph == graph.id]
        libraries = {name for call in calls if call.type in EXTERNAL for name in call.nodes}
        members = {node.name: node for node in schedule.nodes}
        everywhere = {name for call in calls for name in call.nodes}

        def working(names: set[str]) -> set[str]:
            return {
                name
                for name in names
                if nodes[name].op == "call_function" and nodes[name].nature != "view" and "copy_" not in name  # noqa: B023
            }

        for call in calls:
            if call.type in EXTERNAL or any(members[name].type == "template" for name in call.scheduler_nodes):
                continue
            buffers = {access.buffer for name in call.scheduler_nodes for access in members[name].writes}
            # The copy that changes an operand's layout is made while the library's op is lowered; it runs nothing of it.
            true = working({name for buffer in buffers for name in ran.get(buffer, ())} - libraries)
            said = working(set(call.nodes))
            compared += 1
            if said - true:
                found.append(f"{call.handle}: {sorted(said - true)} did not run there")
            if lost := true - said - everywhere:
                found.append(f"{call.handle}: {sorted(lost)} ran there")
    return compared, found


def assert_said_as_ran(recording: Recording, truth: list[dict]) -> None:
    compared, found = differences(recording, truth)
    assert compared and not found, "\n".join(found)
    assert not check(recording)[1]


CPU = ("conv_net", "cos_before_attention", "in_place", "horizontal_sides", "recomputed", "largest_of_each_row")
H200 = """conv_net conv1d_gelu_conv1d masked_attention four_attentions_one_mask split_reduction
    softmax_and_einsum index_add_beside_scatter_add""".split()


@pytest.mark.slow
@pytest.mark.parametrize("name", CPU)
def test_live(name: str, tmp_path: Path) -> None:
    assert_said_as_ran(*recorded(name, tmp_path, target=None, backward=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", H200)
def test_planned(name: str, tmp_path: Path) -> None:
    assert_said_as_ran(*recorded(name, tmp_path, target="h200", backward=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TRAINED if name not in ("decoder", "encoder")])
def test_planned_training(name: str, tmp_path: Path) -> None:
    assert_said_as_ran(*recorded(name, tmp_path, target="h200", backward=True))


@pytest.mark.slow
def test_what_is_not_fused_passes_no_promise(tmp_path: Path) -> None:
    recording, _ = recorded("conv1d_gelu_conv1d", tmp_path, target="h200", backward=False)
    graph = next(graph for graph in recording.graphs if graph.stage == "post_grad")
    targets = {node.name: node.target for node in graph.nodes}
    for call in recording.calls:
        ops = {targets[name].split(".")[1] for name in call.nodes}
        assert not {"erf", "convolution"} <= ops, call.handle
    report = hold({"planned": recording}, {"expect": [{"fused": ["gelu", "convolution"]}]})
    assert [outcome.status for outcome in report.outcomes] == ["not_met"]


# ---------------------------------------------------------------------- by hand


def node(name: str, target: str, *inputs: str, shape: tuple[int, ...] = (8,), op: str = "call_function") -> Node:
    outputs = (TensorMeta(shape=shape, dtype="float32"),)
    return Node(name=name, op=op, target=target, inputs=inputs, outputs=outputs)


def access(*names: str, shape: tuple[int, ...] | None = None) -> tuple[Access, ...]:
    return tuple(Access(buffer=name, shape=shape, dtype="float32") for name in names)


GRAPH = Graph(
    id="0/0:inference:post_grad",
    stage="post_grad",
    direction="inference",
    nodes=(
        node("x", "x", op="placeholder"),
        node("w", "w", op="placeholder"),
        node("relu", "aten.relu.default", "x"),
        node("conv", "aten.convolution.default", "relu", "w"),
        node("exp", "aten.exp.default", "conv"),
        node("total", "aten.sum.default", "exp", shape=()),
        node("output", "output", "total", op="output"),
    ),
    outputs=("total",),
)


@pytest.mark.parametrize("split", [True, False])
def test_a_bias_that_is_taken_off_a_convolution_is_a_part_of_it(split: bool) -> None:
    """What Inductor makes of `relu(conv(x, w, b))` on a GPU, and what it makes where the library adds the bias."""
    graph = replace(
        GRAPH,
        nodes=(
            *(Node(name=name, op="placeholder", target=name, outputs=(TensorMeta(shape=(2, 2)),)) for name in "xwb"),
            Node(name="conv", op="call_function", target="aten.convolution.default", inputs=("x", "w", "b")),
            Node(name="relu", op="call_function", target="aten.relu.default", inputs=("conv",)),
        ),
    )

    def call(number: int, kernel: str, reads: str, *nodes: str, named: str = "") -> KernelCall:
        written = (Access(buffer=f"buf{number}"),)
        read = tuple(Access(buffer=name) for name in reads.split())
        names = tuple(named.split())
        return build.call(number, kernel, *nodes, graph=GRAPH.id, named_only=names, reads=read, writes=written)

    layout = call(0, "triton_poi_fused_convolution_0", "w", named="conv")
    library = call(1, "extern_kernels.convolution", "x buf0" if split else "x buf0 b", "conv")
    after = call(2, "triton_poi_fused_convolution_relu_1", "buf1 b" if split else "buf1", "relu", named="conv")
    after = replace(after, biases=("conv",) if split else ())
    recording = provenance(Recording(graphs=(graph,), calls=(layout, library, after)))
    assert [item.biases for item in recording.calls] == [(), (), ("conv",) if split else ()]
    assert provenance(recording) == recording
    nodes = {node.name: node for node in graph.nodes}
    shown = terminal.render(recording, width=200)
    after = recording.calls[2]
    if split:
        assert labels.ops_of(after, nodes) == ["bias of convolution", "relu"]
        assert "bias of convolution·relu" in shown and "convolution, too" not in shown
        told = " ".join(why.call_story(recording, after, width=200).split())
        assert "adds the bias of conv, which Inductor leaves out of the library's call" in told
        assert f"the bias of conv is added in {after.handle}" in why.call_story(
            recording, recording.calls[1], width=200
        )
    else:
        assert labels.ops_of(after, nodes) == ["relu"] and "bias" not in shown
    assert "triton_poi_fused_convolution" in shown  # the copy of the weight, whose ops are unknown
    assert [node.calls for node in recording.graphs[0].nodes if node.name == "conv"] == [(library.id,)]


def test_what_may_have_run_is_not_said_not_to_have_run() -> None:
    nodes = (build.placeholder("x", 4), *(build.node(n, f"aten.{n}.default", "x") for n in ("exp", "sin", "cos")))
    nodes = tuple(replace(n, kind="fused" if n.name == "cos" else "unknown") if n.name != "x" else n for n in nodes)
    call = build.call(1, "triton_poi_fused_cos_exp_sin_0", "exp", named_only=("sin", "cos"))
    recording = Recording(graphs=(Graph(id=build.GRAPH, stage="post_grad", nodes=nodes),), calls=(call,))
    told = " ".join(why.call_story(recording, call, width=200).split())
    assert "its name also says sin, cos, which is not known to run here" in told


def test_no_two_calls_have_one_handle() -> None:
    text = """
async_compile = AsyncCompile()
def call(args):
    arg0_1, = args
    # [Provenance debug handles] extern_kernels.mm:2
    extern_kernels.mm(arg0_1, arg0_1, out=buf0)
    extern_kernels.mm(arg0_1, buf0, out=buf1)
    return (buf1, )
"""
    calls = output_code.kernel_calls(output_code.parse(text), "0/0:inference:post_grad")
    assert [call.handle for call in calls] == ["extern_kernels.mm:2", "extern_kernels.mm:2.2"]


CUSTOM = """
    buf0 = torch.ops.mylib.foo.default(arg0_1)
    buf1 = buf0
    assert_size_stride(buf1, (4, ), (1, ), 'torch.ops.mylib.foo.default')
    del buf0
    buf2 = buf1; del buf1  # reuse
    triton_poi_fused_exp.run(buf2, 4, stream=stream0)"""
INPUT = """
    triton_poi_fused_index_put.run(arg1_1, arg0_1, 4, stream=stream0)
    triton_poi_fused_exp.run(arg0_1, 4, stream=stream0)"""
LIBRARY = """
    buf0 = empty_strided_cuda((4, ), (1, ), torch.float32)
    triton_poi_fused_ones_like.run(arg0_1, buf0, 4, stream=stream0)
    aten.scatter_reduce_.two(buf0, 0, arg1_1, arg0_1, reduce='amax', include_self=False)
    triton_poi_fused_exp.run(buf0, 4, stream=stream0)"""


@pytest.mark.parametrize(
    ("code", "nodes"),
    [
        (CUSTOM, "mylib.foo: arg0_1; aten.exp: foo"),
        (INPUT, "aten.index_put_: arg0_1 arg1_1; aten.exp: index_put_"),
        (LIBRARY, "aten.ones_like: arg0_1; aten.scatter_reduce: ones_like arg1_1 arg0_1; aten.exp: scatter_reduce"),
    ],
)
def test_what_a_buffer_holds_is_known_when_it_was_written_over(code: str, nodes: str) -> None:
    """The one result of a custom op, a graph's input that a kernel writes in part, a library's result in its operand."""
    kernels = "".join(
        f"triton_poi_fused_{name} = async_compile.triton('triton_poi_fused_{name}', '''\n"
        f"def triton_poi_fused_{name}({arguments}, xnumel, XBLOCK): pass\n''')\n"
        for name, arguments in (
            ("exp", "in_out_ptr0"),
            ("index_put", "in_ptr0, out_ptr0"),
            ("ones_like", "in_ptr0, out_ptr0"),
        )
    )
    parsed = output_code.parse(f"{kernels}def call(args):\n    arg0_1, arg1_1 = args{code}\n    return (arg0_1, )\n")
    made = [
        (target.partition(".")[2], target, inputs.split())
        for target, _, inputs in (item.partition(":") for item in nodes.split("; "))
    ]
    nodes_of_graph = (
        *(build.placeholder(name, 4) for name in ("arg0_1", "arg1_1")),
        *(build.node(name, f"{target}.default", *inputs, shape=(4,)) for name, target, inputs in made),
    )
    handles = {call.kernel: [name] for call, (name, *_) in zip(parsed.calls, made, strict=True)}
    calls = output_code.kernel_calls(parsed, build.GRAPH)
    calls = output_code.named_calls(
        calls, {build.GRAPH: [node.name for node in nodes_of_graph]}, handles, parsed.kernels
    )
    graph = Graph(id=build.GRAPH, stage="post_grad", nodes=nodes_of_graph, outputs=("exp",))
    recording = schedules(Recording(graphs=(graph,), calls=tuple(calls)))
    assert [call.nodes for call in recording.calls] == [(name,) for name, *_ in made]
