"""Columns and summaries of real traces: the native scanner and msgspec agree, and torch's own table agrees with both."""

import gzip
import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.checkpoint

from fxscope.errors import TraceError
from fxscope.model import Memory
from fxscope.readers import trace
from fxscope.readers.trace import reader
from tests import build

H200 = Path(__file__).parent.parent / "data" / "h200"
TRACES = sorted(H200.glob("*/trace.json.gz"))
COLUMNS = """category name thread start_ns duration_ns correlation external_id parent launcher op op_evidence
    issuer graph graph_node""".split()


def same(a: trace.Trace, b: trace.Trace) -> None:
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(a, column), getattr(b, column), err_msg=column)
    assert (a.names, a.threads, a.steps, a.header) == (b.names, b.threads, b.steps, b.header)
    assert a.details(range(len(a))) == b.details(range(len(b)))


@pytest.mark.skipif(reader.native is None, reason="the native scanner was not built here")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.parent.name)
def test_the_native_scanner_and_msgspec_give_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = trace.read(path)
    monkeypatch.setattr(reader, "native", None)
    same(fast, trace.read(path))


@pytest.mark.parametrize(("device", "peak"), [(1, 400), (0, 300)])
def test_the_memory_peak_is_that_of_the_steps(device: int, peak: int, either_reader: bool, tmp_path: Path) -> None:
    events = [build.event("cpu_op", "ProfilerStep#1", 10, 9)]
    for at, total, change in ((5, 900, 800), (12, 300, -100), (22, 450, 50), (13, "", 1)):
        args = {"Device Type": device, "Total Allocated": total, "Bytes": change}
        events.append(build.event("cpu_instant_event", "[memory]", at, 0, **args) | {"ph": "i"})
    path = build.write_trace(tmp_path / "trace.json", events, deviceProperties=[{"name": "NVIDIA H200"}])
    found = trace.recording(path)
    assert found.memory == Memory(step_bytes=peak, step_peak_ns=12_000)
    assert "the machine has a GPU" in found.problems[0].message


def relaid(path: Path, layout: str) -> bytes:
    data = json.loads(gzip.decompress(path.read_bytes()))
    options: dict[str, Any] = {"one key a line": {"indent": 2}, "re-dumped": {"separators": (",", ":")}}
    if layout in options:
        return json.dumps(data, **options[layout]).encode()
    events = data.pop("traceEvents")
    header = json.dumps(data)[:-1]
    return (header + ',\n"traceEvents": [\n' + ",\n".join(map(json.dumps, events)) + "\n]}").encode()


@pytest.mark.parametrize("chunk", [64, 4096, 16 << 20])
@pytest.mark.parametrize("layout", ["one key a line", "re-dumped", "two-line header"])
def test_layouts_and_chunks_do_not_matter(
    layout: str, chunk: int, either_reader: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if chunk == 64 and not either_reader:
        pytest.skip("msgspec's chunks are cut at events: a chunk holds one at least")
    path = H200 / "mlp_eager" / "trace.json.gz"
    expected = trace.read(path)
    monkeypatch.setattr(reader, "CHUNK_BYTES", chunk)
    (copy := tmp_path / "t.json").write_bytes(relaid(path, layout))
    found = trace.read(copy)
    assert not found.problems
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column), err_msg=column)
    assert found.header["baseTimeNanoseconds"] == expected.header["baseTimeNanoseconds"]


def microseconds(text: str) -> tuple[float, float]:
    """Return (value, half of its last digit), in microseconds."""
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    scale = {"us": 1, "ms": 1e3, "s": 1e6}[unit]
    return float(number) * scale, 0.00051 * scale


def torch_table(path: Path) -> dict[str, dict[str, tuple[float, float]]]:
    lines = path.read_text().splitlines()
    heads = [head.strip() for head in re.split(r"\s{2,}", lines[1].strip())]
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for line in lines[3:]:
        if line.startswith("---"):
            break
        row = dict(zip(heads, re.split(r"\s{2,}", line.strip()), strict=True))
        rows.setdefault(
            row["Name"],
            {
                "count": (float(row["# of Calls"]), 0.0),
                "cpu_total_us": microseconds(row["CPU total"]),
                "cpu_self_us": microseconds(row["Self CPU"]),
                "device_self_us": microseconds(row["Self CUDA"]),
                "device_total_us": microseconds(row["CUDA total"]),
            },
        )
    return rows


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.parent.name)
def test_torchs_own_table_agrees(path: Path) -> None:
    summary = trace.recording(path).summary
    assert summary is not None
    table = torch_table(path.parent / "table.txt")
    checked = 0
    for line in summary.ops:
        row = table.get(line.name)
        if row is None or row["cpu_total_us"][0] == 0:
            continue  # the table has two lines of some names; its first may be the device's
        checked += 1
        for key, (value, half_digit) in row.items():
            assert getattr(line, key) == pytest.approx(value, abs=half_digit), (line.name, key)
    assert checked >= 1
    for line in summary.kernels:
        fits = [name for name in table if line.name == name or (name[-3:] == "..." and line.name.startswith(name[:-3]))]
        if fits and sum(k.name[:110] == line.name[:110] for k in summary.kernels) == 1:
            count, (total, half_digit) = table[fits[0]]["count"][0], table[fits[0]]["device_self_us"]
            assert line.count == count and line.total_us == pytest.approx(total, abs=half_digit)


def test_steps_are_kept_apart_and_chosen() -> None:
    path = H200 / "mlp_eager" / "trace.json.gz"
    whole = trace.recording(path)
    assert [step.index for step in whole.steps] == [0, 1, 2]
    one = trace.recording(path, steps=[2])
    assert len(one.launches) * 3 == len(whole.launches) and {op.step for op in one.ops} == {2}
    assert [launch.name for launch in one.launches] == [launch.name for launch in whole.launches if launch.step == 2]
    with pytest.raises(TraceError, match=r"no step 7: its active steps are 0 to 2"):
        trace.recording(path, steps=[7])


def test_python_stacks_give_module_and_line() -> None:
    recording = trace.recording(H200 / "mlp_eager_stack" / "trace.json.gz")
    mm = [op for op in recording.ops if op.name == "aten::mm" and op.step == 0]
    assert [op.source.module for op in mm if op.source] == ["GeGLU_0.Linear_0", "GeGLU_0.Linear_1", "GeGLU_0.Linear_2"]
    assert all(op.source and op.source.line and op.source.module_type == "Linear" for op in mm)
    plain = trace.recording(H200 / "mlp_eager" / "trace.json.gz")
    assert all(op.source is None for op in plain.ops)


def test_ops_of_a_backward_pass_have_the_module_of_their_forward_op(tmp_path: Path) -> None:
    """Kineto's own arrows from forward to backward ops are the reference."""
    model, x = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)), torch.ones(2, 8)
    with torch.profiler.profile(with_stack=True) as profiler:
        for _ in range(2):
            again = torch.utils.checkpoint.checkpoint(model, x.requires_grad_(), use_reentrant=False)
            (model(x) + again).pow(2).sum().backward()
    profiler.export_chrome_trace(str(path := tmp_path / "trace.json"))
    events = json.loads(path.read_text(), parse_float=Decimal)["traceEvents"]
    zero = min(event["ts"] for event in events if event.get("cat") == "cpu_op")
    arrows = [event for event in events if event.get("cat") == "fwdbwd"]
    ends = {phase: {e["id"]: int((e["ts"] - zero) * 1000) for e in arrows if e["ph"] == phase} for phase in "sf"}
    recording = trace.recording(path)
    first = min(op.start_ns for op in recording.ops)
    module = {op.start_ns - first: op.source.module for op in recording.ops if op.source}
    pairs = [(module.get(start), module.get(ends["f"][arrow])) for arrow, start in ends["s"].items()]
    assert [pair for pair in pairs if pair[0] != pair[1]] == []
    assert {"Sequential_0.Linear_0", "Sequential_0.Linear_1", "Sequential_0.ReLU_0", None} == {of for of, _ in pairs}
    inside = {op.id: op for op in recording.ops}
    mm = [op for op in recording.ops if op.name == "aten::mm" and op.parent is not None]
    assert {op.source.module for op in mm if "Backward" in inside[op.parent].name} >= {"Sequential_0.Linear_0"}


def test_gaps_and_busy_time_add_up() -> None:
    summary = trace.recording(H200 / "mlp_eager" / "trace.json.gz").summary
    assert summary is not None
    for step in summary.steps:
        assert step.device_busy_us + step.device_idle_us == pytest.approx(step.wall_us)
        inside = sum(gap.duration_ns for gap in summary.gaps if gap.step == step.step) / 1e3
        assert 0 < inside <= step.device_idle_us + 1e-6
    later = summary.steps[1:]  # the first warms up
    busy = sum(step.device_busy_us for step in later) / sum(step.wall_us for step in later)
    assert 0.4 < busy < 0.8 and summary.bound == "neither"
    assert (summary.verdict or "").startswith(f"neither CPU- nor GPU-bound (device busy {busy:.0%}".replace("%", " %"))


@pytest.mark.skipif(os.environ.get("CI") == "true" and sys.platform != "linux", reason="binds a loopback port")
def test_open_serves_one_file_once_to_perfetto_alone(tmp_path: Path) -> None:
    import urllib.error
    import urllib.request

    path = tmp_path / "my trace.json"
    path.write_bytes(relaid(H200 / "linear_eager" / "trace.json.gz", "re-dumped"))
    command = [sys.executable, "-m", "fxscope", "open", str(path), "--no-browser", "--timeout", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        page, served = urllib.parse.unquote(url).split("/#!/?url=")
        assert page == "https://ui.perfetto.dev"
        assert re.fullmatch(r"http://127\.0\.0\.1:9001/[\w-]{22}/my%20trace\.json", served)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(served, timeout=5)
        asked = urllib.request.Request(served, headers={"Origin": page})
        with urllib.request.urlopen(asked, timeout=5) as answer:
            assert answer.headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev"
            assert answer.read() == path.read_bytes()
        assert process.wait(timeout=10) == 0


def test_a_zstandard_trace_is_read_like_any_other(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = H200 / "mlp_eager" / "trace.json.gz"
    text, compressor = gzip.decompress(path.read_bytes()), zstandard.ZstdCompressor()
    packed = b"".join(compressor.compress(text[at : at + 4096]) for at in range(0, len(text), 4096))  # many frames
    (copy := tmp_path / "t.json.zst").write_bytes(packed)
    same(trace.read(copy), trace.read(path))
    copy.write_bytes(packed[: len(packed) // 2])
    half = trace.read(copy)
    assert 0 < len(half) < len(trace.read(path))
    assert half.problems[0].message == "the Zstandard stream is damaged (it ends early); what came before was read"


def test_without_a_library_a_zstandard_trace_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copy := tmp_path / "t.json.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 100)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    with pytest.raises(TraceError, match=r"packed with Zstandard.*pip install zstandard"):
        trace.read(copy)


def test_a_range_is_around_what_it_encloses_in_time_and_nothing_after_it(tmp_path: Path) -> None:
    """A step begins before the range ends that ended the step before it (an optimizer's, a callback's)."""
    ranges = [
        ("user_annotation", "ProfilerStep#0", 0, 100),
        ("user_annotation", "fit", 40, 100),
        ("user_annotation", "Optimizer.step#Adam.step", 80, 40),
        ("cpu_op", "aten::add_", 85, 5),
        ("user_annotation", "ProfilerStep#1", 100, 100),
        ("cpu_op", "aten::lerp_", 105, 5),
        ("cpu_op", "aten::mm", 125, 5),
        ("cpu_op", "aten::relu", 150, 5),
    ]
    path = build.write_trace(tmp_path / "trace.json", [build.event(*item) for item in ranges], schemaVersion=1)
    recording = trace.recording(path)
    chains = {launch.name: launch.chain[:-1] for launch in recording.launches}
    optimizer = ("fit", "Optimizer.step#Adam.step")
    assert chains == {"aten::add_": optimizer, "aten::lerp_": optimizer, "aten::mm": (), "aten::relu": ()}
    assert [launch.step for launch in recording.launches] == [0, 1, 1, 1]
    ops = {op.name: op for op in recording.ops}
    assert ops["aten::relu"].parent == ops["ProfilerStep#1"].id
    # Times that were cut to whole µs prove nothing: the child ends late, and so may what is in it.
    late = [("cpu_op", "outer", 0, 100), ("user_annotation", "range", 50, 51), ("cpu_op", "aten::mm", 100, 1)]
    build.write_trace(path, [build.event(*item) for item in late], schemaVersion=1)
    assert [launch.chain for launch in trace.recording(path).launches][-1] == ("outer", "range", "aten::mm")


@pytest.mark.usefixtures("either_reader")
def test_ops_of_a_capture_have_their_arguments(tmp_path: Path) -> None:
    captured = [
        build.event("cuda_runtime", "cudaStreamBeginCapture", 1, 1),
        build.event("cpu_op", "aten::mm", 10, 10, **{"Input Dims": [[2, 3], [3, 4]]}),
        build.event("cuda_runtime", "cudaMemsetAsync", 11, 1, correlation=4),  # of no bytes: runs nothing
        build.event("cuda_runtime", "cudaLaunchKernel", 12, 1, correlation=5),
        build.event("cuda_runtime", "cudaStreamEndCapture", 30, 1),
    ]
    replayed = [
        build.event("cuda_runtime", "cudaGraphLaunch", 1, 1, correlation=9),
        build.event("kernel", "gemm", 5, 3, correlation=9),
    ]
    capture = build.write_trace(tmp_path / "capture.json", captured)
    found = trace.recording(build.write_trace(tmp_path / "replay.json", replayed), capture=capture)
    assert [(op.name, op.shapes) for op in found.ops if op.shapes] == [("aten::mm", ((2, 3), (3, 4)))]
    assert [launch.op for launch in found.launches] == ["aten::mm"] and not found.problems
    captured.insert(4, build.event("cuda_runtime", "cudaLaunchKernel", 22, 1, correlation=6))
    capture = build.write_trace(tmp_path / "capture.json", captured)
    for stream, ops in ((7, ["aten::mm", None]), (8, [None, None])):  # of two streams, either may have started first
        both = [*replayed, build.event("kernel", "copy", 6, 3, correlation=9, stream=stream)]
        found = trace.recording(build.write_trace(tmp_path / "replay.json", both), capture=capture)
        assert [launch.op for launch in found.launches] == ops, found.problems


OPTIMIZERS = {  # name, begin, number of ops of each call of an optimizer → begins and ends of the steps
    "one": ([("Adam", 90, 2), ("Adam", 190, 2), ("Adam", 290, 2)], [(0, 100), (100, 200), (200, 300)]),
    "the first makes its state": ([("Adam", 90, 5), ("Adam", 190, 2), ("Adam", 290, 2)], [(200, 300)]),
    "two of one class": ([("Adam", 40, 2), ("Adam", 90, 3), ("Adam", 140, 2), ("Adam", 190, 3)], [(100, 200)]),
    "one less often": (
        [("Adam", 40, 2), ("SGD", 90, 2), ("Adam", 110, 2), ("Adam", 140, 2), ("SGD", 190, 2)],
        [(100, 200)],
    ),
    "once": ([("Adam", 90, 2)], [(0, 400)]),
    "captured": ([("Adam", 90, 2), ("Adam", 190, 2), ("Adam", 290, 2)], [(0, 400)]),
}


@pytest.mark.parametrize("case", OPTIMIZERS)
def test_steps_that_no_profiler_marked_are_those_of_the_optimizer(tmp_path: Path, case: str) -> None:
    calls, expected = OPTIMIZERS[case]
    ranges = [("cpu_op", "aten::mm", 0, 400 if case in ("once", "captured") else 5)]
    ranges += [("cuda_runtime", "cudaGraphLaunch", 350, 1)] * (case == "captured")
    for name, begin, ops in calls:
        ranges.append(("user_annotation", f"Optimizer.step#{name}.step", begin, 10))
        ranges += [("cpu_op", "aten::add_", begin + number, 1) for number in range(ops)]
    path = build.write_trace(tmp_path / "trace.json", [build.event(*item) for item in ranges], schemaVersion=1)
    steps = trace.recording(path).steps
    assert [(step.start_ns / 1e3, (step.start_ns + step.duration_ns) / 1e3) for step in steps] == expected


def test_a_compile_that_dynamo_does_not_start_runs_nothing(tmp_path: Path) -> None:
    """An export calls AOTAutograd; its phase has an event without a namespace, its ops have fake tensors."""
    phase = "create_aot_dispatcher_function"
    spans = [(phase, 0, 50), (f"{phase}_data: compile_id=None", 1, 1), ("aten::mm", 5, 9), ("aten::mm", 60, 9)]
    spans += [("backend_compile (dynamo_timed)", 70, 9), ("aten::mm", 71, 2)]
    path = build.write_trace(tmp_path / "t.json", [build.event("cpu_op", *span) for span in spans])
    assert [launch.start_ns for launch in trace.recording(path).launches] == [60_000]


def test_an_op_that_a_mode_or_a_subclass_handles_runs_what_they_call(tmp_path: Path) -> None:
    spans = [("aten::mm", 0, 20), ("PythonDispatchMode", 1, 18), ("aten::detach", 5, 1)]  # a result that was saved
    spans += [("aten::sin", 30, 20), ("PythonSubclass", 31, 18), ("aten::mm", 35, 5), ("aten::mm", 60, 9)]
    path = build.write_trace(tmp_path / "t.json", [build.event("cpu_op", *span) for span in spans])
    assert [launch.start_ns for launch in trace.recording(path).launches] == [35_000, 60_000]
