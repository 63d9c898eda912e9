"""Launches on AMD and Intel GPUs: events as Kineto writes them there, with the names that its own tests expect."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from fxscope.readers import trace
from fxscope.readers.trace import reader

# Kineto writes ROCm's calls as `cuda_runtime`, some builds as `hip_runtime`; for the XPU names and categories see
# libkineto/test/XpuptiProfilerTest.cpp and ActivityType.cpp
MACHINES = [
    ("cuda_runtime", "hipLaunchKernel", "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", "hipDeviceSynchronize"),
    ("hip_runtime", "hipExtModuleLaunchKernel", "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", "hipStreamSynchronize"),
    ("xpu_runtime", "urEnqueueKernelLaunch", "gemm_kernel", "urQueueFinish"),
    ("xpu_driver", "zeCommandListAppendLaunchKernel", "gemm_kernel", "zeEventHostSynchronize"),
]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("category", "launch", "kernel", "wait"), MACHINES, ids=lambda value: value)
def test_a_launch_leads_to_its_op_and_a_wait_is_one(
    category: str, launch: str, kernel: str, wait: str, native: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(reader, "native", None)

    def event(
        category: str, name: str, ts: int, dur: int, *, on_device: bool = False, **args: int
    ) -> dict[str, object]:
        args = {key.replace("_", " "): value for key, value in args.items()}
        place = {"pid": 0, "tid": 3} if on_device else {"pid": 7, "tid": 7}
        return {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur, "args": args, **place}

    events = [
        event("cpu_op", "aten::mm", 10, 30, External_id=5),
        event(category, launch, 15, 5, correlation=42, External_id=5),
        event(category, wait, 50, 20, correlation=43),
        event("kernel", kernel, 40, 25, on_device=True, device=0, stream=3, correlation=42),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    recording = trace.recording(path)
    (found,) = recording.launches
    assert (found.name, found.op, found.evidence.op, found.runtime) == (kernel, "aten::mm", "correlation", (launch,))
    assert found.launched_ns == 15_000 and found.duration_ns == 25_000
    assert recording.summary is not None
    assert [op.name for op in recording.summary.syncs] == [wait] and recording.summary.steps[0].num_syncs == 1


@pytest.mark.parametrize(
    ("name", "device"), [("aten::record_stream", "GPU"), ("nccl:all_to_all", "GPU"), ("aten::record", "CPU")]
)
def test_ops_that_need_a_gpu_show_that_its_events_are_missing(name: str, device: str, tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    (path := tmp_path / "trace.json").write_text(json.dumps({"traceEvents": [event]}))
    recording = trace.recording(path)
    assert recording.environment.device == device and len(recording.launches) == (device == "CPU")


DATA = Path(__file__).parent.parent / "data" / "vendors"


@pytest.mark.parametrize("native", [True, False])
def test_a_training_step_on_an_mi250(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(reader, "native", None)
    recording = trace.recording(DATA / "mi250_train.json.gz")
    assert recording.environment.device == "AMD Radeon Graphics" and len(recording.steps) == 1
    assert "left out as incomplete, with its device events: ProfilerStep#2 (0)" in recording.problems[0].message
    assert all(launch.op is not None and launch.evidence.op == "correlation" for launch in recording.launches)
    found = Counter(launch.runtime[-1] if "Cijk" in launch.name else launch.runtime[0] for launch in recording.launches)
    assert found == {"hipMemcpyWithStream": 2, "hipLaunchKernel": 12, "hipExtModuleLaunchKernel": 2}
    gemms = [launch for launch in recording.launches if launch.name.startswith("Cijk_")]
    assert [launch.op for launch in gemms] == ["aten::addmm", "aten::mm"]
    assert all(launch.stream == 0 and launch.device == 2 for launch in recording.launches)


@pytest.mark.parametrize("native", [True, False])
def test_a_queue_of_an_xpu_is_its_stream(native: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kineto's XPU plugin writes `sycl queue` and `l0 queue`, and neither a stream nor a grid."""
    if not native:
        monkeypatch.setattr(reader, "native", None)
    args = {"External id": 5, "device": 0, "correlation": 1023, "sycl queue": 64, "l0 queue": "0x55d0c8a0"}
    events = [
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": "aten::mm",
            "pid": 7,
            "tid": 7,
            "ts": 10,
            "dur": 30,
            "args": {"External id": 5},
        },
        {
            "ph": "X",
            "cat": "xpu_runtime",
            "name": "urEnqueueKernelLaunchWithArgsExp",
            "pid": 7,
            "tid": 7,
            "ts": 12,
            "dur": 9,
            "args": {"correlation": 1023},
        },
        {"ph": "X", "cat": "kernel", "name": "gemm_kernel", "pid": 0, "tid": 64, "ts": 30, "dur": 5, "args": args},
        {
            "ph": "X",
            "cat": "gpu_memcpy",
            "name": "Memcpy M2D",
            "pid": 0,
            "tid": 64,
            "ts": 36,
            "dur": 2,
            "args": args | {"correlation": 1024, "bytes": 4096},
        },
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    kernel, copy = trace.recording(path).launches
    assert (kernel.op, kernel.evidence.op, kernel.device, kernel.stream) == ("aten::mm", "correlation", 0, 64)
    assert kernel.runtime == ("urEnqueueKernelLaunchWithArgsExp",) and kernel.grid is None
    assert (copy.op, copy.evidence.op, copy.bytes, copy.category) == ("aten::mm", "external_id", 4096, "gpu_memcpy")
