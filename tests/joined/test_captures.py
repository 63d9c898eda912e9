"""Replays of CUDA and HIP graphs: their kernels have a graph and a node, and with the capture an op and a module."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fxscope.errors import TraceError
from fxscope.readers.join import read_trace

if TYPE_CHECKING:
    from fxscope.model import Recording

DATA = Path(__file__).parent.parent / "data"
VENDORS = DATA / "vendors"


def shares(recording: Recording) -> dict[str, float]:
    """Return the shares of device time whose graph or op, whose op, and whose module are known."""
    modules = {op.id: op.source.module for op in recording.ops if op.source is not None}
    total = sum(launch.duration_ns for launch in recording.launches)
    known = {"owner": 0, "op": 0, "module": 0}
    for launch in recording.launches:
        known["owner"] += launch.duration_ns if launch.op or launch.cuda_graph_node else 0
        known["op"] += launch.duration_ns if launch.op else 0
        known["module"] += launch.duration_ns if launch.op and modules.get(launch.op_id or -1) else 0
    return {key: time / total for key, time in known.items()}


@pytest.mark.parametrize(("engine", "num_graphs"), [("sglang", 1), ("vllm", 3)])
def test_kernels_of_a_serving_engine_have_owners(engine: str, num_graphs: int) -> None:
    alone = read_trace(VENDORS / f"{engine}_replay.json.gz")
    assert shares(alone)["owner"] > 0.99 and shares(alone)["op"] < 0.05
    graphs = {launch.cuda_graph for launch in alone.launches if launch.cuda_graph is not None}
    assert graphs == set(range(1, num_graphs + 1))
    assert any("ops unknown without the trace of the capture" in problem.message for problem in alone.problems)
    both = read_trace(VENDORS / f"{engine}_replay.json.gz", capture=VENDORS / f"{engine}_capture.json.gz")
    assert min(shares(both).values()) > 0.99
    assert (a := alone.summary) and (b := both.summary) and (a.steps, a.kernels) == (b.steps, b.kernels)
    assert {op.step for op in both.ops} == {0, -1}
    assert all(launch.evidence.op == "order" for launch in both.launches if launch.cuda_graph is not None)


def test_pieces_that_run_the_same_kernels_belong_to_their_layers() -> None:
    recording = read_trace(VENDORS / "vllm_replay.json.gz", capture=VENDORS / "vllm_capture.json.gz")
    ops = {op.id: op for op in recording.ops}
    replays: dict[int | None, set[int]] = {}
    for launch in recording.launches:
        if launch.cuda_graph is not None and launch.op_id is not None:
            replays.setdefault(launch.correlation, set()).add(ops[launch.op_id].start_ns)
    assert len(replays) == 25
    times = [(min(found), max(found)) for _, found in sorted(replays.items(), key=lambda item: item[0] or 0)]
    assert all(before[1] < after[0] for before, after in itertools.pairwise(times))


def test_tables_take_a_capture_and_a_trace_without_one_is_refused(command) -> None:
    replay, capture = VENDORS / "vllm_replay.json.gz", VENDORS / "vllm_capture.json.gz"
    assert "vllm::moe_forward" in command("view", replay, "--tables", "--capture", capture).out
    with pytest.raises(TraceError, match="holds no capture of a graph"):
        read_trace(replay, capture=replay)


def captured_by_hand(folder: Path, *, launches: int = 2, drop: int = 0) -> Path:
    """Write the eager MLP's H200 trace as if its first step had been captured and the others replayed, as CUDA writes it.

    `drop` leaves that many kernels out of each replay.
    """
    trace = json.loads(gzip.decompress((DATA / "h200" / "mlp_eager" / "trace.json.gz").read_bytes()))
    events: list[dict[str, Any]] = trace["traceEvents"]
    steps = sorted((e for e in events if str(e.get("name")).startswith("ProfilerStep#")), key=lambda e: e["ts"])
    steps = [step for step in steps if step.get("cat") == "user_annotation"]
    device = [e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    end = steps[0]["ts"] + steps[0]["dur"]
    calls = [e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")]
    first = {e["args"]["correlation"] for e in calls if e["ts"] < end}
    kept = [e for e in events if e not in device and (e.get("ts", 0) < end or e in steps)]
    thread = {key: steps[0][key] for key in ("pid", "tid")}
    for name, ts in (("cudaStreamBeginCapture", steps[0]["ts"] + 0.1), ("cudaStreamEndCapture", end - 0.1)):
        kept.append({"ph": "X", "cat": "cuda_runtime", "name": name, "ts": ts, "dur": 0.01, **thread, "args": {}})
    graph = sorted((e for e in device if e["args"]["correlation"] in first), key=lambda e: e["ts"])
    for number, step in enumerate(steps[1 : 1 + launches]):
        call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "ts": step["ts"] + 1, "dur": 5, **thread}
        kept.append({**call, "args": {"correlation": 900_000 + number}})
        for position, event in enumerate(graph[drop:]):
            args = {key: value for key, value in event["args"].items() if key != "External id"}
            args |= {"correlation": 900_000 + number, "graph id": 7, "graph node id": 7 << 32 | position}
            kept.append({**event, "ts": step["ts"] + 50 + 100 * (len(graph) - position), "args": args})
    trace["traceEvents"] = kept
    path = folder / "by_hand.json"
    path.write_text(json.dumps(trace))
    return path


def test_a_capture_by_hand_owns_the_kernels_of_its_replays(tmp_path: Path) -> None:
    eager = read_trace(DATA / "h200" / "mlp_eager" / "trace.json.gz")
    recording = read_trace(captured_by_hand(tmp_path))
    assert shares(recording)["op"] == 1.0
    expected = [(launch.name, launch.op) for launch in eager.launches if launch.step == 0]
    for step in (1, 2):
        mine = [launch for launch in recording.launches if launch.step == step]
        mine.sort(key=lambda launch: launch.cuda_graph_node or 0)  # they started in the opposite order
        assert [(launch.name, launch.op) for launch in mine] == expected
        assert all(launch.graph == "eager" and launch.nodes for launch in mine)
    assert not beside_the_capture(recording)


def beside_the_capture(recording: Recording) -> list[str]:
    """The problems but for that of the step that captures, which launches nothing."""
    return [item.message for item in recording.problems if not item.message.startswith("left out as incomplete")]


def test_a_replay_of_another_size_has_no_op(tmp_path: Path) -> None:
    recording = read_trace(
        captured_by_hand(tmp_path, drop=2)
    )  # a memset, which may have been of no bytes, and a kernel
    assert {launch.op for launch in recording.launches} == {None}
    assert all(launch.cuda_graph == 7 for launch in recording.launches)
    assert "that no capture here fits" in beside_the_capture(recording)[0]


def without_last_kernels(folder: Path, number: int) -> Path:
    """Write SGLang's replay without the last kernels of its graph, as the ROCm profiler loses one."""
    trace = json.loads(gzip.decompress((VENDORS / "sglang_replay.json.gz").read_bytes()))
    events: list[dict[str, Any]] = trace["traceEvents"]
    (launch,) = (e["args"]["correlation"] for e in events if e.get("name") == "hipGraphLaunch")
    replay = [e for e in events if e.get("cat") == "kernel" and e["args"].get("correlation") == launch]
    lost = sorted(replay, key=lambda event: event["ts"])[-number:]
    trace["traceEvents"] = [event for event in events if event not in lost]
    path = folder / f"without_{number}.json"
    path.write_text(json.dumps(trace))
    return path


def test_a_replay_without_its_last_kernel_is_that_of_the_capture_with_these_names(tmp_path: Path) -> None:
    whole = read_trace(VENDORS / "sglang_replay.json.gz", capture=VENDORS / "sglang_capture.json.gz")
    recording = read_trace(without_last_kernels(tmp_path, 1), capture=VENDORS / "sglang_capture.json.gz")
    ops = [launch.op for launch in whole.launches if launch.cuda_graph is not None]
    assert [launch.op for launch in recording.launches if launch.cuda_graph is not None] == ops[:-1]
    other = read_trace(without_last_kernels(tmp_path, 2), capture=VENDORS / "sglang_capture.json.gz")
    assert {launch.op for launch in other.launches if launch.cuda_graph is not None} == {None}
    assert "in 1 graph replay that no capture here fits" in str(other.problems)
