"""The join on captures of a real H200: each folder with the debug folder, with the compile log, and by the trace alone."""

from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from fxscope import passes
from fxscope.analysis.report import report
from fxscope.model import EVIDENCE_BY_STRENGTH, Kind, Recording
from fxscope.readers.join import read_trace

HOME = Path(__file__).parent.parent / "data" / "h200"
FOLDERS = {path.parent.name: path.parent for path in sorted(HOME.glob("*/trace.json.gz"))} | {
    path.parent.parent.name: path.parent
    for folder in ("plans", "more")
    for path in sorted((HOME / folder).glob("*/real/trace.json.gz"))
}
COMPILED = [name for name, folder in FOLDERS.items() if (folder / "inductor").is_dir()]
HOW = ["debug_dir", "compile_log"]
# Ops that ran outside of every compiled graph: their launches have an op, and no call.
OUTSIDE = {
    "mlp_reduce_overhead": 3,
    "mlp_train_compiled": 30,
    "block_train": 51,
    "embedding_loss": 12,
    "geglu_train": 27,
    "conv_norm_train": 27,
    "encoder_layer_train": 54,
}
# torch's own files name no kernel for these: they stay unknown, and are said to be.
# Of flex attention: what makes the operands that its kernel has no use for.
UNNAMED = {"flex": {"lt", "where", "index_put", "sort", "sum_1", "convert_element_type", "convert_element_type_1"}}


@cache
def joined(name: str, how: str | None = None) -> Recording:
    folder = FOLDERS[name]
    files = {"debug_dir": folder / "inductor", "compile_log": folder / "torch_trace.log.gz"}
    return read_trace(folder / "trace.json.gz", **({how: files[how]} if how else {}))


@pytest.mark.parametrize("name", FOLDERS)
def test_every_device_event_has_its_op(name: str) -> None:
    recording = joined(name)
    assert recording.coverage and recording.coverage.device_events == len(recording.launches) > 0
    # What a compiled region replays is known by its graph's node alone
    replayed = sum(launch.cuda_graph is not None for launch in recording.launches)
    assert recording.coverage.unattributed == replayed and (replayed > 0) == (name == "mlp_reduce_overhead")
    assert all(launch.evidence.op == "correlation" for launch in recording.launches)
    ops = {op.id: op for op in recording.ops}
    for launch in recording.launches:
        assert launch.op_id is not None and ops[launch.op_id].name == launch.op
        assert ops[launch.op_id].step == launch.step
        assert launch.runtime and launch.chain and launch.launched_ns is not None
    assert len(recording.steps) == 3 and {launch.step for launch in recording.launches} == {0, 1, 2}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", COMPILED)
def test_every_event_of_a_compiled_region_has_its_call_and_nodes(name: str, how: str) -> None:
    recording = joined(name, how)
    calls = {call.id: call for call in recording.calls}
    without = [launch for launch in recording.launches if launch.call is None]
    assert len(without) == OUTSIDE.get(name, 0), {launch.op for launch in without}
    for launch in recording.launches:
        if launch.call is None:
            continue
        call = calls[launch.call]
        assert launch.nodes == call.nodes, launch.name
        assert launch.nodes or call.named_only == ("convolution",), (
            launch.name
        )  # a weight's layout is changed: no node's work
        assert launch.evidence.call == "order"
        assert launch.evidence.nodes in EVIDENCE_BY_STRENGTH if launch.nodes else launch.evidence.nodes is None
        if call.type not in ("extern", "fallback"):
            # Found by order, confirmed by name; torch numbers a user's kernels.
            assert call.kernel in (launch.name, f"{launch.name}_0")
    # Each call runs in each step, in every invocation as often
    for call in recording.calls:
        runs = [(launch.step, launch.invocation) for launch in recording.launches if launch.call == call.id]
        assert {step for step, _ in runs} == {0, 1, 2}, call.handle
        assert call.timing is not None and call.timing.count == len(set(runs))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", COMPILED)
def test_every_node_has_a_kind_with_a_reason(name: str, how: str) -> None:
    for graph in joined(name, how).graphs:
        for node in graph.nodes:
            assert node.kind in get_args(Kind) and node.reason, (graph.id, node.name)
        if graph.stage == "post_grad":
            unknown = {node.name for node in graph.nodes if node.kind == "unknown"}
            assert unknown <= UNNAMED.get(name, set()), (graph.id, unknown)


@pytest.mark.parametrize("name", COMPILED)
def test_the_two_sources_agree(name: str) -> None:
    """The folder has the scheduler's text as well: it may tell that a node only lent its name to a call."""
    ours, theirs = ({c.id: c for c in joined(name, how).calls} for how in HOW)
    assert {id: (c.handle, c.type) for id, c in ours.items()} == {id: (c.handle, c.type) for id, c in theirs.items()}
    for call_id, call in ours.items():
        assert set(call.nodes) <= set(theirs[call_id].nodes) <= {*call.nodes, *call.named_only}, call.handle


@pytest.mark.parametrize("how", HOW)
def test_the_geglu_mlp(how: str) -> None:
    recording = joined("mlp_compiled", how)
    handles = [
        "extern_kernels.mm:1",
        "extern_kernels.mm:2",
        "triton_poi_fused__unsafe_view_gelu_mul_0:3",
        "extern_kernels.mm:4",
    ]
    assert [call.handle for call in recording.calls] == handles
    per_step = [
        [
            sum(launch.call == call.id and launch.step == step for launch in recording.launches)
            for call in recording.calls
        ]
        for step in range(3)
    ]
    assert per_step == [[2, 2, 1, 1]] * 3
    graph = recording.graph("0/0:inference:post_grad")
    fused = [node.name for node in graph.nodes if node.kind == "fused"]
    assert len(fused) == 14 and set(fused) == set(recording.calls[2].nodes)
    assert [node.name for node in graph.nodes if node.kind == "folded"] == ["permute", "permute_1", "permute_2"]
    assert [call.folded for call in recording.calls] == [("permute",), ("permute_1",), (), ("permute_2",)]
    views = {node.name for node in graph.nodes if node.nature == "view"}
    assert {"view_1", "view_3"} <= views & set(fused)  # a view inside a kernel stays a view by nature
    assert recording.calls[2].sources[0].file == "model.py" and recording.calls[2].sources[0].line == 17
    assert recording.coverage and recording.coverage.to_call == recording.coverage.to_node == 18


def test_the_eager_mlp_launches_seven_events_under_five_ops() -> None:
    recording = joined("mlp_eager")
    graph = recording.graph("eager")
    for step in range(3):
        mine = [launch for launch in recording.launches if launch.step == step]
        assert len(mine) == 7 and len({launch.op_id for launch in mine}) == 5
    silent = {"aten::t", "aten::transpose", "aten::as_strided", "aten::reshape", "aten::view", "aten::_unsafe_view"}
    seen = {node.target for node in graph.nodes}
    assert silent <= seen
    assert all(node.kind == "view" and node.timing is None for node in graph.nodes if node.target in silent)
    mm = next(node for node in graph.nodes if node.target == "aten::mm")
    launched = {launch.name for launch in recording.launches if mm.name in launch.nodes}
    assert launched == {"Memset (Device)", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"}
    first = next(launch for launch in recording.launches if launch.category == "kernel")
    assert first.runtime == ("cudaMemsetAsync", "cuLaunchKernelEx")
    assert first.chain == ("mlp_fwd", "aten::linear", "aten::matmul", "aten::mm")
    assert mm.timing and mm.timing.count == 3 and 50 < mm.timing.mean_us < 65


def test_a_dispatch_chain_keeps_its_nesting() -> None:
    graph = joined("linear_eager").graph("eager")
    chain = {node.target: node.parent for node in graph.nodes}
    by_name = {node.name: node.target for node in graph.nodes}
    parents = {target: by_name.get(parent) for target, parent in chain.items()}
    assert parents["aten::t"] == "aten::linear" and parents["aten::transpose"] == "aten::t"
    assert parents["aten::as_strided"] == "aten::transpose" and parents["aten::addmm"] == "aten::linear"
    assert parents["aten::linear"] is None


@pytest.mark.parametrize("how", HOW)
def test_a_cuda_graph_replay_is_resolved_by_order_and_marked_so(how: str) -> None:
    recording = joined("mlp_reduce_overhead", how)
    step = [launch for launch in recording.launches if launch.step == 0]
    replayed = [launch for launch in step if launch.op != "aten::_foreach_copy_"]
    assert len({launch.correlation for launch in replayed}) == 1  # one graph launch
    handles = {call.id: call.handle for call in recording.calls}
    assert [handles[launch.call or ""].split(":")[-1] for launch in replayed] == ["1", "1", "2", "2", "3", "4"]
    assert all(launch.evidence.call == "order" for launch in replayed)
    copies = [launch for launch in step if launch.op == "aten::_foreach_copy_"]
    assert len(copies) == 1 and copies[0].call is None and copies[0].evidence.call is None


@pytest.mark.parametrize("how", HOW)
def test_training_has_both_directions(how: str) -> None:
    recording = joined("mlp_train_compiled", how)
    ids = {graph.id for graph in recording.graphs}
    assert {"0/0:forward:post_grad", "0/0:backward:post_grad"} <= ids
    first, last = recording.calls[0], recording.calls[-1]
    assert first.id == "0/0:forward:1" and last.id == "0/0:backward:5"
    backward = {launch.call for launch in recording.launches if "CompiledFunctionBackward" in launch.chain}
    assert backward == {f"0/0:backward:{number}" for number in range(1, 6)}


def test_recomputed_ops_know_every_call_they_ran_in() -> None:
    graph = joined("block", "compile_log").graph("0/0:inference:post_grad")
    again = [node for node in graph.nodes if len(node.calls) > 1]
    assert again and all("recomputed in" in (node.reason or "") for node in again)


def test_provenance_reaches_the_users_line() -> None:
    recording = joined("mlp_compiled", "compile_log")
    linked = {(link.from_[1], link.to[1]) for link in recording.links if link.from_[0] == "0/0:pre_grad"}
    assert ("h", "tanh") in linked and ("m", "mul_6") in linked and ("g", "mm") in linked
    pre = {node.name: node for node in recording.graph("0/0:pre_grad").nodes}
    assert (
        pre["h"].kind == "fused"
        and "became convert_element_type_4" in (pre["h"].reason or "")
        and pre["h"].calls == ("0/0:inference:3",)
    )
    assert pre["h"].source and pre["h"].source.line == 17 and "F.gelu" in (pre["h"].source.code or "")
    tanh = next(node for node in recording.graph("0/0:inference:post_grad").nodes if node.name == "tanh")
    assert tanh.original_aten == "aten.gelu" and tanh.from_node == ("h",)


def test_a_graph_break_has_its_reason_and_line() -> None:
    recording = joined("graph_break", "compile_log")
    first = next(item for item in recording.compiles if item.compile_id == "0/0")
    assert first.break_reason and "graph_break()" in first.break_reason
    assert first.break_source and first.break_source.code == "torch._dynamo.graph_break()"
    pair = next(item for item in recording.decisions if item.other_graph)
    assert pair.reason_arguments["why"] == report(recording).breaks[0].reason
    assert {call.graph for call in recording.calls} == {"0/0:inference:post_grad", "1/0:inference:post_grad"}


@pytest.mark.parametrize("name", ["mlp_compiled", "mlp_train_compiled", "mlp_eager", "block_train"])
def test_running_the_passes_again_changes_nothing(name: str) -> None:
    recording = joined(name, "compile_log" if name in COMPILED else None)
    assert passes.run(recording) == recording
    assert recording.history == tuple(passes.pipeline())


def test_one_step_alone() -> None:
    folder = FOLDERS["mlp_compiled"]
    recording = read_trace(folder / "trace.json.gz", debug_dir=folder / "inductor", steps=[1])
    assert [step.index for step in recording.steps] == [1] and len(recording.launches) == 6
    assert {launch.step for launch in recording.launches} == {1}
    assert all(call.timing and call.timing.count == 1 for call in recording.calls)


@pytest.mark.parametrize("name", COMPILED)
def test_bytes_that_a_kernels_code_proves_are_the_schedulers(name: str) -> None:
    """A compile log has no scheduler: what it says of a Triton kernel's traffic is read from the kernel, or is not said."""
    by_log, by_scheduler = ({call.id.split(":", 1)[1]: call for call in joined(name, how).calls} for how in HOW[::-1])
    proven = 0
    for key, call in by_log.items():
        if call.type in ("triton_pointwise", "triton_reduction", "triton_persistent_reduction", "triton_scan"):
            other = by_scheduler[key]
            assert other.kernel == call.kernel
            for mine, theirs in ((call.bytes_read, other.bytes_read), (call.bytes_written, other.bytes_written)):
                assert mine in (None, theirs), call.handle
            proven += call.bytes_read is not None
    assert proven or name not in ("mlp_compiled", "softmax", "rms_norm", "block_train", "transpose_reduce")
