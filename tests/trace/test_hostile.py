"""Damaged and strange traces: every whole event is recovered, what is lost is counted, nothing is made up."""

import gzip
import io
import json
import random
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from fxscope.errors import FxscopeError, TraceError
from fxscope.model import Recording
from fxscope.readers import trace
from fxscope.readers.join import read_trace
from fxscope.readers.trace import reader
from tests import build

H200 = Path(__file__).parent.parent / "data" / "h200"
WHOLE = gzip.decompress((H200 / "mlp_eager" / "trace.json.gz").read_bytes())
DATA = json.loads(WHOLE)


def op(
    name: str,
    start: float,
    duration: float,
    *,
    external: object = None,
    tid: int = 1,
    cat: str = "cpu_op",
    **args: object,
) -> dict:
    arguments = {**args, **({"External id": external} if external is not None else {})}
    return build.event(cat, name, start, duration, tid=tid, **arguments)


def runtime(start: float, correlation: object, name: str = "cudaLaunchKernel") -> dict:
    return op(name, start, 1, cat="cuda_runtime", correlation=correlation)


def kernel(
    name: str, start: float, duration: float, *, correlation: object = None, external: object = None, stream: int = 7
) -> dict:
    args = {"correlation": correlation} if correlation is not None else {}
    return op(name, start, duration, external=external, cat="kernel", stream=stream, **args)


def read(events: list[dict], tmp_path: Path, **header: object) -> Recording:
    return trace.recording(build.write_trace(tmp_path / "t.json", events, **header))


@pytest.mark.usefixtures("either_reader")
class TestStrangeTraces:
    @pytest.mark.parametrize(
        ("events", "expected", "evidence"),
        [
            ([op("aten::mm", 0, 10, external=3), kernel("lonely", 5, 5)], None, None),
            ([op("aten::mm", 0, 10, external=3), kernel("gemm", 5, 5, external=3)], "aten::mm", "external_id"),
            (  # ids that are there twice decide nothing
                [op("aten::mm", 0, 9, external=3), op("aten::add", 20, 9, external=3), kernel("k", 5, 5, external=3)],
                None,
                None,
            ),
            (
                [
                    *(op("aten::mm", 0, 10, external=3), runtime(2, 9), op("aten::add", 20, 10, external=4)),
                    kernel("gemm", 5, 5, correlation=9, external=4),
                ],
                "aten::mm",
                "correlation",
            ),
        ],
    )
    def test_the_op_of_a_kernel(self, events, expected, evidence, tmp_path: Path) -> None:
        found = read(events, tmp_path)
        assert (found.launches[0].op, found.launches[0].evidence.op) == (expected, evidence)
        assert any("1 of 1 device events" in problem.message for problem in found.problems) == (expected is None)
        assert (found.launches[0].chain == ()) == (expected is None)

    def test_rocm_names_are_runtime_calls_like_any(self, tmp_path: Path) -> None:
        events = [
            op("aten::mm", 0, 10),
            runtime(2, 9, "hipLaunchKernel"),
            runtime(3, 10, "hipGraphLaunch"),
            kernel("Cijk_Ailk_Bljk_HHS_BH_MT64x64x32", 5, 5, correlation=9),
            kernel("b", 11, 5, correlation=10),
        ]
        found = read(events, tmp_path)
        assert [launch.op for launch in found.launches] == ["aten::mm", "aten::mm"]
        assert found.launches[0].runtime == ("hipLaunchKernel", "hipGraphLaunch")

    def test_an_event_may_end_after_its_parent(self, tmp_path: Path) -> None:
        found = read([op("outer", 0, 10), op("inner", 5, 5.4), op("next", 12, 1)], tmp_path)
        by_name = {item.name: item for item in found.ops}
        assert by_name["inner"].parent == by_name["outer"].id and by_name["next"].parent is None

    def test_steps_of_old_traces_are_operators(self, tmp_path: Path) -> None:
        events = [op(f"ProfilerStep#{number}", 100 * number, 90, cat="Operator") for number in (1, 2)]
        found = read([*events, op("a", 110, 5, cat="Operator"), op("b", 210, 5, cat="Operator")], tmp_path)
        assert [step.name for step in found.steps] == ["ProfilerStep#1", "ProfilerStep#2"]
        assert [(item.name, item.step) for item in found.ops if item.name in "ab"] == [("a", 0), ("b", 1)]

    def test_a_bare_list_of_events_is_a_trace(self, tmp_path: Path) -> None:
        path = tmp_path / "t.json"
        text = json.dumps([op("a", 0, 10), op("b", 100, 10)], indent=1)
        path.write_text(text)
        assert [item.name for item in trace.recording(path).ops] == ["a", "b"]
        path.write_text(text[:-20])
        found = trace.recording(path)
        assert [item.name for item in found.ops] == ["a"] and "cut off" in str(found.problems)
        assert found.environment.device is None  # kernels come last in a file

    @pytest.mark.parametrize(
        ("how", "launches", "busy_us", "said"),
        [
            ("later", 2, 5, "correlation ids come twice"),
            ("another process", 2, 2.5, "correlation ids come twice"),
            ("appended", 1, 5, "several traces"),
            ("again", 1, 5, "4 events are in the file more than once"),
        ],
    )
    def test_several_traces_in_one_file(
        self, how: str, launches: int, busy_us: float, said: str, tmp_path: Path
    ) -> None:
        events = [op("ProfilerStep#1", 0, 90, cat="user_annotation"), op("aten::mm", 0, 10), runtime(2, 9)]
        events.append(kernel("gemm", 5, 5, correlation=9))
        place, device = ({"pid": 2}, {"device": 1}) if how == "another process" else ({}, {})
        after = 0 if how == "again" else 100
        later = [event | place | {"ts": event["ts"] + after, "args": event["args"] | device} for event in events]
        path = build.write_trace(tmp_path / "t.json", events if how == "appended" else events + later, schemaVersion=1)
        path.write_text(path.read_text() * (2 if how == "appended" else 1))
        found = trace.recording(path)
        assert [(item.op, item.step) for item in found.launches] == [("aten::mm", 0), ("aten::mm", 1)][:launches]
        assert found.summary.steps[0].device_busy_us == busy_us and said in str(found.problems)

    def test_overlapping_kernels_and_streams_are_busy_once(self, tmp_path: Path) -> None:
        events = [
            op("a", 0, 10, external=1),
            kernel("x", 0, 10, external=1),
            kernel("y", 5, 10, external=1),
            kernel("z", 6, 2, external=1, stream=9),
        ]
        found = read(events, tmp_path)
        assert found.summary and found.summary.steps[0].device_busy_us == pytest.approx(15)
        assert {launch.stream for launch in found.launches} == {7, 9}

    def test_threads_and_processes_do_not_nest_in_each_other(self, tmp_path: Path) -> None:
        found = read([op("a", 0, 10), op("b", 2, 3, tid=2), op("other", 2, 3) | {"pid": 2}], tmp_path)
        assert all(item.parent is None for item in found.ops)

    def test_huge_negative_and_impossible_numbers(self, tmp_path: Path) -> None:
        text = json.dumps({"traceEvents": [op("fine", 1, 2), op("negative", -5, 2)]})[:-2]
        text += ', {"ph":"X","cat":"cpu_op","name":"big","pid":1,"tid":1,"ts":1e30,"dur":1,'
        text += '"args":{"External id":99999999999999999999999}}'
        text += ', {"ph":"X","cat":"cpu_op","name":"wide","pid":99999999999999999999999,"tid":"x","ts":3,"dur":-1,"args":{}}]}'
        path = tmp_path / "t.json"
        path.write_text(text)
        found = trace.recording(path)
        assert {item.name for item in found.ops} == {"fine", "negative", "wide"}
        assert next(item for item in found.ops if item.name == "wide").duration_ns == 0
        assert [item.message[9:22] for item in found.problems] == ["have no time,", "have a negati"]

    @pytest.mark.parametrize("ts", ["1693843210123456.789", '"1693843210123456.789"'])
    def test_absolute_time_stamps_are_exact_to_the_nanosecond(self, ts: str, tmp_path: Path) -> None:
        text = json.dumps({"traceEvents": [op("a", 0, 0.001)]})
        assert '"ts": 0' in text
        (path := tmp_path / "t.json").write_text(text.replace('"ts": 0', f'"ts": {ts}'))
        assert trace.recording(path).ops[0].start_ns == 1693843210123456789

    def test_bad_utf8_and_unescaped_quotes_lose_no_neighbour(self, tmp_path: Path) -> None:
        parts = [json.dumps(op(f"op{i}", i * 10, 5)).encode() for i in range(6)]
        parts[2] = parts[2].replace(b"op2", b"op\xff2")
        parts[4] = parts[4].replace(b"op4", b'op "quoted" 4')
        path = tmp_path / "t.json"
        path.write_bytes(b'{"traceEvents":[' + b",\n".join(parts) + b"]}")
        found = trace.recording(path)
        assert {item.name for item in found.ops} == {"op0", "op1", "op�2", "op3", "op5"}
        assert [problem for problem in found.problems if "1 event could not be read; every" in problem.message]

    @pytest.mark.parametrize("share", [0.3, 0.7, 0.999])
    def test_a_cut_off_file_gives_every_whole_event(self, share: float, tmp_path: Path) -> None:
        cut = WHOLE[: int(len(WHOLE) * share)]
        (path := tmp_path / "t.json").write_bytes(cut)
        found = trace.read(path)
        assert sorted(map(found.name_of, range(len(found)))) == sorted(item["name"] for item in whole_events(cut))
        assert any("cut off" in problem.message for problem in found.problems)


KEPT = {*"cpu_op user_annotation python_function cuda_runtime cuda_driver kernel gpu_memset gpu_memcpy".split()}


def whole_events(text: bytes) -> list[dict]:
    """Return the events that fxscope keeps, as many as json itself can read from the start."""
    decoder = json.JSONDecoder()
    body = text.decode(errors="replace")
    position = body.index("[", body.index('"traceEvents"')) + 1
    events = []
    while True:
        while position < len(body) and body[position] in " ,\n\r\t":
            position += 1
        try:
            event, position = decoder.raw_decode(body, position)
        except ValueError:
            return [event for event in events if event.get("ph") == "X" and event.get("cat") in KEPT]
        events.append(event)


def test_a_gzip_that_unpacks_too_far_stops(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents":[' + b" " * (40 << 20) + b"]}"))
    assert path.stat().st_size < 100_000
    with pytest.raises(TraceError, match=r"unpacks to more than .* Raise --max-size"):
        trace.read(path, max_bytes=1 << 20)


SAVED = io.BytesIO()
torch.save(torch.ones(1), SAVED)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"hello", "is not JSON"),
        (b'{"a": 1}', "has no traceEvents.* fxscope reads what `profiler.export_chrome_trace` writes"),
        (b'{"rocprofiler-sdk-tool": [{"buffer_records": {}}]}', "is rocprofv3's own JSON"),
        (b"[[1, 2], [3, 4]]", "is a list of lists"),
        (b'[{"ph": "X", "name": "cuInit", "ts": 1, "dur": 1}]', r"of another tool \(events: cuInit\).* reads what"),
        (b'{"schemaVersion": 1, "traceEvents": [{"name": "f", "cat": "a", "ph": "i"}]}', "no events of torch.profiler"),
        (b'{"traceEvents": [{"ph": "M", "pid": 1, "args": {"name": "/device:GPU:0"}}]}', "JAX, XLA.* reads what"),
        (b'[tool]\nfiles = ["fxscope/data"]', "has no traceEvents: it is not a profiler trace"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "Git LFS pointer, .* Run `git lfs pull`"),
        (b'{"schema": "1.0.1", "pid": 1, "nodes": []}', "execution trace.* Give fxscope the profiler trace"),
        (b'{"traceEvents": [{"ph": "B", "name": "onnxruntime.py(1): f", "ts": 1}]}', r"of another tool \(events: onnx"),
        (b"\x1f\x8b\x08broken", "is truncated or damaged"),
        (b"BZh91AY&SY", "is packed .by xz, bzip2"),
        (gzip.compress(b'{"schemaVersion": 1}', mtime=0)[:-9], "is truncated or damaged: no event of it"),
        (b'{"traceEvents": [{"ph": "B", "cat": "cpu_op"}], "schemaVersion": 1}', "begin and end events .ph B and E"),
        (gzip.compress(b"\n\x24\x50\x01R\x20\x08\x01", mtime=0), "Perfetto's binary format"),
        pytest.param(SAVED.getvalue(), "is a file of torch.save or torch.export", id="torch.save"),
        (None, "cannot read"),
    ],
)
def test_what_is_no_trace_is_one_line_and_exit_2(content: bytes | None, message: str, tmp_path: Path, command) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)
    out = tmp_path / "out.json"
    done = command("view", path, "-o", out, status=2)
    assert done.out == "" and done.err.count("\n") == 1 and not out.exists()
    with pytest.raises(TraceError, match=message):
        trace.recording(path)


def test_a_file_cut_off_before_its_kernels_is_not_a_trace_of_a_cpu(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes((H200 / "mlp_compiled" / "trace.json.gz").read_bytes()[:1800])
    recording = read_trace(path)
    assert recording.environment.device == "NVIDIA H200" and not recording.launches
    assert "the gzip stream ends early" in recording.problems[0].message


def test_files_of_another_program_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"schema": "fxscope/2"}')
    with pytest.raises(TraceError, match="is a recording, not a trace"):
        trace.recording(tmp_path / "x.json")
    with pytest.raises(TraceError, match="belongs to another program"):
        read_trace(H200 / "mlp_compiled" / "trace.json.gz", debug_dir=H200 / "plans" / "softmax" / "real" / "inductor")
    with pytest.raises(TraceError, match="or the trace to an eager run"):
        read_trace(H200 / "mlp_eager" / "trace.json.gz", debug_dir=H200 / "mlp_compiled" / "inductor")
    with pytest.raises(TraceError, match="is not a folder"):
        read_trace(H200 / "mlp_compiled" / "trace.json.gz", debug_dir=H200 / "missing")
    with pytest.raises(TraceError, match="not a TORCH_TRACE log"):
        read_trace(H200 / "mlp_compiled" / "trace.json.gz", compile_log=H200 / "mlp_compiled" / "table.txt")


CHUNKS = [json.dumps(event).encode() for event in DATA["traceEvents"]]
DEVICE = {"kernel", "gpu_memset", "gpu_memcpy"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32 - 1),
    cut=st.booleans(),
    duplicate=st.integers(0, 5),
    corrupt=st.integers(0, 6),
    native=st.booleans(),
)
def test_mutated_traces_neither_crash_nor_invent(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cut: bool, duplicate: int, corrupt: int, native: bool
) -> None:
    """Cut, duplicate, shuffle and corrupt a real trace: attributed + unattributed = device events, and no time is made up."""
    chance = random.Random(seed)
    parts = list(CHUNKS)
    chance.shuffle(parts)
    parts += [chance.choice(parts) for _ in range(duplicate)]
    body = b'{"traceEvents":[' + b",".join(parts) + b"]}"
    for _ in range(corrupt):
        position = chance.randrange(len(body))
        body = body[:position] + bytes([chance.randrange(256)]) + body[position + 1 :]
    if cut:
        body = body[: chance.randrange(1, len(body))]
    path = tmp_path_factory.mktemp("mutated") / "t.json"
    path.write_bytes(body)
    kept = reader.native
    reader.native = kept if native else None
    try:
        columns = trace.read(path)
        recording = read_trace(path)
    except FxscopeError as error:
        assert str(error)
        return
    finally:
        reader.native = kept
    device = [row for row in range(len(columns)) if columns.category[row] >= 4]
    coverage = recording.coverage
    if device and coverage is not None:
        assert (
            coverage.to_op + coverage.unattributed == coverage.device_events == len(recording.launches) <= len(device)
        )
        durations = sorted(launch.duration_ns for launch in recording.launches)
        everything = sorted(int(columns.duration_ns[row]) for row in device)
        assert sum(durations) <= sum(everything)
        if not columns.steps:
            assert durations == everything
    untouched = not corrupt and not cut
    if untouched:
        # Nothing was lost: as many device events as were written, each once
        assert len(device) == sum(json.loads(part).get("cat") in DEVICE for part in set(parts))


def test_what_a_transform_of_functions_passes_on_is_launched_once_by_the_innermost(tmp_path: Path) -> None:
    """Under `vmap` a product is `mm ⊃ mm ⊃ matmul ⊃ mm`: the outer ones have the shapes of one sample."""
    nested = [op("aten::mm", 0, 100), op("aten::mm", 1, 98), op("aten::matmul", 5, 80), op("aten::mm", 20, 60)]
    details = [op("aten::addmm", 200, 50), op("aten::copy_", 201, 5), op("aten::relu", 300, 10)]
    found = read([*nested, *details, op("aten::clamp_min", 301, 8)], tmp_path)
    assert [(launch.name, launch.duration_ns) for launch in found.launches] == [
        ("aten::mm", 60_000),
        ("aten::addmm", 50_000),
        ("aten::clamp_min", 8_000),
    ]


def test_a_trace_is_read_without_the_memory_of_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_RATIO", 1 << 50)
    (path := tmp_path / "trace.json").write_text('{"traceEvents": [{"ph": "M"}]}')
    assert reader.document(path, lambda *_: True) == ({"traceEvents": [{"ph": "M"}]}, [])


@pytest.mark.parametrize("name", ['"b"', '"b"c"'])
def test_only_the_wanted_events_are_decoded(name: str, tmp_path: Path) -> None:
    """Also of a trace that is not JSON: Kineto writes names as they are."""
    events = (
        '{"ph": "X", "cat": "python_function", "name": %s, "ts": 1}, {"ph": "X", "cat": "cpu_op", "ts": 2, "args": {}}'
    )
    (path := tmp_path / "trace.json").write_text(f'{{"baseTimeNanoseconds": 7, "traceEvents": [{events % name}]}}')
    asked: list[tuple[object, float, int]] = []

    def is_wanted(event: reader.Event, base_ns: int) -> bool:
        asked.append((event.cat, event.ts, base_ns))
        return event.cat == "cpu_op"

    found, _ = reader.document(path, is_wanted)
    assert found["traceEvents"] == [{"ph": "X", "cat": "cpu_op", "ts": 2, "args": {}}]
    assert found["baseTimeNanoseconds"] == 7 and ("cpu_op", 2, 7) in asked
