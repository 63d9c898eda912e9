"""Launches on AMD and Intel GPUs: events as Kineto writes them there, with the names that its own tests expect."""

from __future__ import annotations

import json
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
