"""On a real GPU: what `fxscope.record` sees of the Linear and the GeGLU MLP, eager, compiled, replayed and in training."""

import pytest

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")]


def geglu(*, grad: bool = False):
    from fxscope._torch.programs import geglu as demo

    model, inputs = demo.here()
    return model.requires_grad_(grad), inputs


def attributed(recording) -> None:
    assert recording.coverage.device_events == recording.coverage.to_op > 0
    assert recording.coverage.unattributed == 0
    assert not recording.problems


def test_eager_linear_is_one_gemm_with_the_bias_in_its_epilogue() -> None:
    import fxscope

    model = torch.nn.Linear(32, 64, device="cuda", dtype=torch.bfloat16)
    recording = fxscope.record(model, torch.randn(1024, 32, device="cuda", dtype=torch.bfloat16))
    attributed(recording)
    kernels = {launch.name for launch in recording.launches if launch.category == "kernel"}
    assert len(kernels) == 1
    graph = recording.graph("eager")
    by_target = {node.target: node for node in graph.nodes}
    assert by_target["aten::t"].kind == "view" and by_target["aten::t"].aliases
    assert by_target["aten::addmm"].kind == "kernel"
    assert recording.coverage.to_node == recording.coverage.device_events


def test_eager_geglu_launches_under_five_ops() -> None:
    import fxscope

    model, inputs = geglu()
    recording = fxscope.record(model, *inputs)
    attributed(recording)
    for step in recording.steps:
        mine = [launch for launch in recording.launches if launch.step == step.index]
        assert len({launch.op_id for launch in mine}) == 5
        assert sum(launch.category == "kernel" for launch in mine) == 5
    assert recording.memory and recording.memory.peak_bytes


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compiled_geglu_is_three_gemms_and_one_triton_kernel(mode: str) -> None:
    import fxscope

    model, inputs = geglu()
    expected = model(*inputs)
    recording = fxscope.record(model, *inputs, compile={"mode": mode})
    attributed(recording)
    assert [call.type for call in recording.calls] == ["extern", "extern", "triton_pointwise", "extern"]
    triton = recording.calls[2]
    graph = recording.graph(triton.graph)
    assert {node.original_aten for node in graph.nodes if node.name in triton.nodes} >= {
        "aten.gelu.default",
        "aten.mul.Tensor",
    }
    assert [len(call.folded) for call in recording.calls] == [1, 1, 0, 1]
    assert all(call.timing and call.timing.count == len(recording.steps) for call in recording.calls)
    assert triton.roof and 0.3 < (triton.roof.share or 0) <= 1.1
    inside = [launch for launch in recording.launches if launch.call is not None]
    assert {launch.evidence.call for launch in inside} == {"order"}
    torch.testing.assert_close(torch.compile(model, mode=mode)(*inputs), expected, rtol=2e-2, atol=2e-2)


def test_training_has_forward_and_backward_calls() -> None:
    import fxscope

    model, inputs = geglu(grad=True)
    recording = fxscope.record(model, *inputs, compile=True, backward=True)
    attributed(recording)
    assert {recording.graph(call.graph).direction for call in recording.calls} == {"forward", "backward"}
    assert all(call.timing for call in recording.calls)
