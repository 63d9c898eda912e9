"""Launches on AMD and Intel GPUs: events as Kineto writes them there, with the names that its own tests expect."""

from collections import Counter
from pathlib import Path

import pytest

from fxscope.readers import trace
from tests import build

# Kineto writes ROCm's calls as `cuda_runtime`, some builds as `hip_runtime`; for the XPU names and categories see
# libkineto/test/XpuptiProfilerTest.cpp and ActivityType.cpp
MACHINES = [
    ("cuda_runtime", "hipLaunchKernel", "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", "hipDeviceSynchronize"),
    ("hip_runtime", "hipExtModuleLaunchKernel", "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", "hipStreamSynchronize"),
    ("xpu_runtime", "urEnqueueKernelLaunch", "gemm_kernel", "urQueueFinish"),
    ("xpu_driver", "zeCommandListAppendLaunchKernel", "gemm_kernel", "zeEventHostSynchronize"),
]


@pytest.mark.usefixtures("either_reader")
@pytest.mark.parametrize(("category", "launch", "kernel", "wait"), MACHINES, ids=lambda value: value)
def test_a_launch_leads_to_its_op_and_a_wait_is_one(
    category: str, launch: str, kernel: str, wait: str, tmp_path: Path
) -> None:
    events = [
        build.event("cpu_op", "aten::mm", 10, 30, **{"External id": 5}),
        build.event(category, launch, 15, 5, correlation=42, **{"External id": 5}),
        build.event(category, wait, 50, 20, correlation=43),
        build.event("kernel", kernel, 40, 25, stream=3, correlation=42),
    ]
    recording = trace.recording(build.write_trace(tmp_path / "trace.json", events))
    (found,) = recording.launches
    assert (found.name, found.op, found.evidence.op, found.runtime) == (kernel, "aten::mm", "correlation", (launch,))
    assert found.launched_ns == 15_000 and found.duration_ns == 25_000
    assert recording.summary is not None
    assert [op.name for op in recording.summary.syncs] == [wait]


OPS = {
    "GPU": "aten::record_stream nccl:all_to_all aten::_cudnn_rnn aten::miopen_batch_norm aten::_flash_attention_forward",
    "MPS": "aten::_lstm_mps aten::mps_convolution_backward",
    "NPU": "aten::mm",
    "CPU": "aten::record aten::addmm quantized::linear",
    "unknown device": "aten::linear",
}


@pytest.mark.parametrize(("device", "name"), [(key, name) for key, names in OPS.items() for name in names.split()])
def test_ops_of_one_device_show_that_its_events_are_missing(name: str, device: str, tmp_path: Path) -> None:
    categories = ("cpu_op", "dequeue")[: 1 + (device == "NPU")]  # the last is torch_npu's
    events = [build.event(category, name, 1, 2) for category in categories]
    recording = trace.recording(build.write_trace(tmp_path / "trace.json", events))
    assert recording.environment.device == device and len(recording.launches) == (device == "CPU")


def test_a_device_whose_copies_alone_are_known_limits_nothing(tmp_path: Path) -> None:
    events = [build.event(kind, "aten::mm", 10, 90) for kind in ("cpu_op", "gpu_memcpy", "npu_kernel")]
    recording = trace.recording(build.write_trace(tmp_path / "trace.json", events))
    assert (recording.environment.device, recording.launches, recording.summary.bound) == ("NPU", (), None)
    assert "NPU: no kernel of a known kind (it has: npu_kernel)" in recording.problems[0].message


@pytest.mark.parametrize("category", ["npu", "Gpu_memcpy", "hpu_op"])
def test_events_of_an_unknown_category_are_named(category: str, tmp_path: Path) -> None:
    marks = ("cuda_sync", "cuda_event", *(f"other{i}" for i in range(99)))
    events = [build.event(kind, "aten::mm", 10, 90) for kind in ("cpu_op", "gpu_memcpy", category, *marks)]
    said = trace.recording(build.write_trace(tmp_path / "trace.json", events)).problems[0].message
    assert category in said and "not shown" in said and "cuda_" not in said and len(said) < 200


DATA = Path(__file__).parent.parent / "data" / "vendors"


@pytest.mark.usefixtures("either_reader")
def test_a_training_step_on_an_mi250() -> None:
    recording = trace.recording(DATA / "mi250_train.json.gz")
    assert recording.environment.device == "AMD Radeon Graphics" and len(recording.steps) == 1
    assert "left out as incomplete, with its device events: ProfilerStep#2 (0)" in recording.problems[0].message
    assert all(launch.op is not None and launch.evidence.op == "correlation" for launch in recording.launches)
    found = Counter(launch.runtime[-1] if "Cijk" in launch.name else launch.runtime[0] for launch in recording.launches)
    assert found == {"hipMemcpyWithStream": 2, "hipLaunchKernel": 12, "hipExtModuleLaunchKernel": 2}
    gemms = [launch for launch in recording.launches if launch.name.startswith("Cijk_")]
    assert [launch.op for launch in gemms] == ["aten::addmm", "aten::mm"]
    assert all(launch.stream == 0 and launch.device == 2 for launch in recording.launches)


@pytest.mark.usefixtures("either_reader")
def test_a_queue_of_an_xpu_is_its_stream(tmp_path: Path) -> None:
    """Kineto's XPU plugin writes `sycl queue` and `l0 queue`, and neither a stream nor a grid."""
    kernel = build.event("kernel", "gemm_kernel", 30, 5, correlation=1023, **{"External id": 5})
    copy = build.event("gpu_memcpy", "Memcpy M2D", 36, 2, correlation=1024, bytes=4096, **{"External id": 5})
    for event in (kernel, copy):
        del event["args"]["stream"]
        event |= {"tid": 64, "args": event["args"] | {"sycl queue": 64, "l0 queue": "0x55d0c8a0"}}
    events = [
        build.event("cpu_op", "aten::mm", 10, 30, **{"External id": 5}),
        build.event("xpu_runtime", "urEnqueueKernelLaunchWithArgsExp", 12, 9, correlation=1023),
        *(kernel, copy),
    ]
    kernel, copy = trace.recording(build.write_trace(tmp_path / "trace.json", events)).launches
    assert (kernel.op, kernel.evidence.op, kernel.device, kernel.stream) == ("aten::mm", "correlation", 0, 64)
    assert kernel.runtime == ("urEnqueueKernelLaunchWithArgsExp",) and kernel.grid is None
    assert (copy.op, copy.evidence.op, copy.bytes, copy.category) == ("aten::mm", "external_id", 4096, "gpu_memcpy")
