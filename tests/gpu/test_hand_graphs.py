"""On a real GPU: graphs captured by hand around eager and compiled models, one per batch size, whole and in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")

from fxscope import read_trace  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from fxscope.model import Recording

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")]

SIZES = (8, 16, 32)


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    layers = [
        torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.LayerNorm(512)) for _ in range(3)
    ]
    return torch.nn.Sequential(*layers).cuda().eval()


def captured(function: Callable[[torch.Tensor], torch.Tensor], size: int) -> Callable[[], None]:
    """Warm a function up and capture one run of it; return what replays it."""
    x = torch.randn(size, 512, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            function(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        function(x)
    return graph.replay


def profiled(path: Path, work: Callable[[], None]) -> Path:
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True, with_stack=True) as profiler:
        work()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(path))
    return path


def check_owned(recording: Recording, *, ops: bool) -> None:
    """Hold the replayed kernels to a graph and a node, and with `ops` to an op and a module."""
    replayed = [launch for launch in recording.launches if launch.cuda_graph is not None]
    assert replayed and all(launch.cuda_graph_node is not None for launch in replayed)
    if ops:
        modules = {op.id: op.source.module for op in recording.ops if op.source is not None}
        lost = [
            (launch.name, launch.op) for launch in replayed if launch.op is None or not modules.get(launch.op_id or -1)
        ]
        assert not lost, f"{len(lost)} of {len(replayed)}: {lost[:5]}"
        for launch in replayed:
            if launch.name.startswith("triton_"):
                assert launch.op == launch.name, (launch.name, launch.op)
            if "layer_norm" in launch.name and not launch.name.startswith("triton_"):
                assert launch.op == "aten::native_layer_norm", (launch.name, launch.op)


@pytest.mark.parametrize("form", ["eager", "compiled", "pieces"])
def test_replays_by_hand_have_owners(form: str, tmp_path: Path) -> None:
    whole = model()
    parts = list(whole) if form == "pieces" else [torch.compile(whole) if form == "compiled" else whole]
    for size in SIZES:  # compile before the profile
        with torch.no_grad():
            parts[0](torch.randn(size, 512, device="cuda"))
    replays: list[Callable[[], None]] = []

    def capture() -> None:
        replays.extend(captured(part, size) for size in SIZES for part in parts)

    def replay() -> None:
        for run in replays * 2:
            run()

    capture_trace = profiled(tmp_path / "capture.json", capture)
    replay_trace = profiled(tmp_path / "replay.json", replay)
    check_owned(read_trace(replay_trace), ops=False)
    check_owned(read_trace(replay_trace, capture=capture_trace), ops=True)
    both = profiled(tmp_path / "both.json", lambda: (capture(), replay()))
    check_owned(read_trace(both), ops=True)
