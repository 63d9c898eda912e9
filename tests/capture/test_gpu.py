"""The same on a real CUDA GPU: device events to calls and nodes, CUDA graphs, streams, memory."""

import time

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import fxscope
from fxscope._torch import event_tree
from fxscope.index import index_of
from fxscope.passes import bound
from tests.capture.programs import GeGLU

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")]


def geglu(batch: int = 64) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    model = GeGLU(768, 3072).to("cuda", torch.bfloat16)
    return model, torch.randn(batch, 128, 768, device="cuda", dtype=torch.bfloat16)


def test_eager_device_events_reach_ops_and_nodes() -> None:
    model, x = geglu()
    recording = fxscope.record(model, x)
    assert recording.coverage.device_events == recording.coverage.to_op == recording.coverage.to_node > 0
    assert recording.environment.device == torch.cuda.get_device_name()
    kinds = {node.target: node.kind for node in recording.graph("eager").nodes}
    assert kinds["aten::mm"] == kinds["aten::gelu"] == kinds["aten::mul"] == "kernel"
    assert kinds["aten::t"] == kinds["aten::_unsafe_view"] == "view"
    per_step = [sum(launch.step == step.index for launch in recording.launches) for step in recording.steps]
    assert len(set(per_step)) == 1 and len(per_step) == 3
    assert recording.memory is not None and recording.memory.peak_bytes > x.numel() * 2
    assert recording.problems == ()


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune-no-cudagraphs"])
def test_compiled_device_events_reach_calls(mode) -> None:
    model, x = geglu()
    recording = fxscope.record(model, x, compile={"mode": mode})
    coverage = recording.coverage
    outside = [launch.name for launch in recording.launches if launch.call is None]
    # Under CUDA graphs the inputs are copied before the replay, by an op outside the wrapper.
    assert coverage.unattributed == 0 and len(outside) <= (3 * 3 if mode == "reduce-overhead" else 0), outside
    launched = {launch.call for launch in recording.launches if launch.call}
    assert launched == {call.id for call in recording.calls}
    assert any(len(call.nodes) >= 10 for call in recording.calls)
    if mode == "reduce-overhead":
        assert recording.compiles[0].cudagraphs is True
        assert {launch.evidence.call for launch in recording.launches if launch.call} <= {"order", "name"}


def test_training_compiled_on_autograds_own_thread() -> None:
    model, x = geglu(8)
    recording = fxscope.record(model, x, compile=True, backward=True)
    stages = {graph.id.partition(":")[2] for graph in recording.graphs}
    assert {"forward:post_grad", "backward:post_grad"} <= stages
    # Known for certain only if lowering was observed in the thread that compiled the backward.
    backward = [call for call in recording.calls if ":backward:" in call.id]
    assert backward and all(call.nodes_evidence == "lowering" for call in backward)
    launched = {launch.call for launch in recording.launches if launch.call}
    assert launched == {call.id for call in recording.calls}


def test_eager_training_is_attributed() -> None:
    model, x = geglu(8)
    recording = fxscope.record(model, x, backward=True)
    assert recording.coverage.to_op == recording.coverage.device_events == recording.coverage.to_node
    backward = next(node for node in recording.graph("eager").nodes if node.target == "aten::gelu_backward")
    assert backward.source is not None and backward.source.line is not None


def test_the_result_on_the_device_is_the_same() -> None:
    model, x = geglu(8)
    with torch.no_grad():
        expected = model(x)
        state = torch.cuda.get_rng_state()
        fxscope.record(model, x, compile=True, steps=1)
        assert torch.equal(model(x), expected) and torch.equal(torch.cuda.get_rng_state(), state)


def test_a_program_with_its_own_session_on_the_device(tmp_path) -> None:
    model, x = geglu(8)
    compiled = torch.compile(model)
    with torch.no_grad(), fxscope.record() as recorder:
        for _ in range(3):
            compiled(x)
        with torch.profiler.profile() as profile:
            compiled(x)
            torch.cuda.synchronize()
        profile.export_chrome_trace(str(tmp_path / "mine.json"))
    recording = recorder.recording
    assert recording.coverage.to_call == recording.coverage.device_events > 0
    assert (tmp_path / "mine.json").stat().st_size > 1000


def test_what_the_compiler_tries_is_not_part_of_the_program() -> None:
    model, x = geglu()
    compiled = torch.compile(model, mode="max-autotune-no-cudagraphs")
    with fxscope.record() as recorder, torch.no_grad():
        for _ in range(6):
            compiled(x)
    recording = recorder.recording
    counts = [sum(launch.step == step for launch in recording.launches) for step in index_of(recording).steps]
    assert len(counts) >= 3 and max(counts) <= 2 * len(recording.calls)
    (tuning,) = (item for item in recording.unobserved if item.what == "tuning")
    assert tuning.count > 10


@pytest.mark.parametrize("num_warm_up", [3, 8])
def test_a_training_step_can_be_captured_and_its_replays_are_the_steps(num_warm_up) -> None:
    """The bound of steps is reached within the capture, in which a wait for the device is an error, or before it."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 8)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    x, side, graph = torch.randn(16, 64, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()

    with fxscope.record() as recorder:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(num_warm_up):
                step()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            step()
        for _ in range(200):
            graph.replay()
        torch.cuda.synchronize()
    recording = recorder.recording
    if num_warm_up == 3:
        replayed = sum(launch.cuda_graph is not None for launch in recording.launches)
        assert replayed > 0.9 * len(recording.launches) and len(recording.steps) >= 3


def test_calls_that_return_before_the_device_is_done_are_not_timed_as_steps() -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(4))).cuda()
    x = torch.randn(4096, 4096, device="cuda")
    with torch.no_grad(), fxscope.record() as recorder:
        for _ in range(60):
            model(x)
    recording = recorder.recording
    busy_us = min(step.device_busy_us for step in recording.summary.steps)
    assert recording.step_times is None or recording.step_times.median_us >= busy_us > 1000


def test_a_program_whose_cpu_runs_ahead_takes_as_long_as_the_device(tmp_path) -> None:
    """No step waits for the device: what lies between two of them is the time of the launches."""
    w = torch.randn(4096, 4096, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1e-9)
    with fxscope.record() as recorder:
        for _ in range(40):
            (w @ w @ w).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    times, limit = recorder.recording.step_times, bound.of_recording(recorder.recording)
    assert times is not None and limit is not None and limit.side == "gpu"
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(10):
        (w @ w @ w).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    assert 0.9 < times.median_us / ((time.perf_counter() - begin) * 1e5) < 1.1


def test_launches_beyond_a_number_are_left_out(monkeypatch) -> None:
    monkeypatch.setattr(event_tree, "MOST_LAUNCHES", 100)
    x = torch.ones(64, device="cuda")
    with fxscope.record() as recorder:
        for _ in range(150):
            x = x.sin()
    (left_out,) = (item for item in recorder.recording.unobserved if item.what == "ops")
    assert left_out.count == 50 and left_out.detail == "50 ops after the first 100 launches"
    assert sum(launch.op is not None for launch in recorder.recording.launches) == 100


def test_the_state_of_a_generator_is_no_buffer() -> None:
    """The recomputed dropout of a compiled checkpoint takes the generator's state as an input of its graph."""
    layer = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Dropout(0.1)).cuda()
    compiled = torch.compile(lambda x: checkpoint(layer, x, use_reentrant=False))
    x = torch.randn(8, 64, device="cuda", requires_grad=True)
    with fxscope.record() as recorder:
        compiled(x).sum().backward()
    assert recorder.recording.calls and recorder.recording.problems == ()


def test_optimizers_that_step_in_the_backward_pass_end_steps() -> None:
    """The hooks of gradients are called in autograd's own thread."""
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)]).cuda()
    optimizers = {parameter: torch.optim.Adam([parameter]) for parameter in model.parameters()}
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda parameter: optimizers[parameter].step())
    x = torch.randn(8, 64, device="cuda")
    with fxscope.record() as recorder:
        for _ in range(40):
            model(x).sum().backward()
    times = recorder.recording.step_times
    assert times is not None and times.when == "after" and times.count > 20
