"""Tables from columns: the same as object by object, on every capture and on random nests; and no work an event."""

import argparse
import contextlib
import gzip
import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fxscope.commands import view as command
from fxscope.model import Launch, Recording, replace
from fxscope.readers import trace
from fxscope.readers.trace import intervals, reader
from fxscope.readers.trace.table import KERNEL, device_and_stream
from tests.trace.by_objects import gaps, kernel_table, op_table, step_table, sync_table

DATA = Path(__file__).parent.parent / "data"
H200 = DATA / "h200"
TRACES = [
    *sorted(H200.rglob("trace.json.gz")),
    *sorted(DATA.glob("fleet/*/rank*.json.gz")),
    *sorted(DATA.glob("vendors/*.gz")),
]
NAMES = ["-".join(path.relative_to(DATA).parts[:-1]) + path.name.removesuffix("trace.json.gz") for path in TRACES]
OPS = """aten::mul aten::add aten::add_ aten::einsum aten::to aten::copy_ aten::_to_copy aten::zero_ aten::fill_ aten::view
my::op aten::sum aten::clone FooBackward0 aten::mm""".split()


def without_communication(steps: tuple[Any, ...]) -> list[Any]:
    return [replace(step, communication_us=None, exposed_communication_us=None, queued_us=0.0) for step in steps]


def device_events(path: Path) -> list[Launch]:
    """All device events of a file, those of no step too: the device was busy then."""
    found = trace.read(path)
    rows = np.flatnonzero(found.category >= KERNEL).tolist()
    return [
        Launch(
            id=row,
            name=found.name_of(row),
            category="kernel",
            start_ns=int(found.start_ns[row]),
            duration_ns=int(found.duration_ns[row]),
            device=device_and_stream(found.threads[found.thread[row]])[0],
        )
        for row in rows
    ]


def assert_same_tables(recording: Recording, path: Path) -> None:
    everything = device_events(path) or list(recording.launches)
    summary = recording.summary
    assert summary is not None
    assert summary.ops == op_table(recording)
    assert summary.kernels == kernel_table(recording.launches)
    assert without_communication(summary.steps) == list(step_table(recording, everything))
    assert list(summary.syncs) == sync_table(recording.ops)
    if any(launch.category != "cpu_kernel" for launch in recording.launches):
        assert tuple(replace(gap, during=None) for gap in summary.gaps) == gaps(recording, everything)


@pytest.mark.parametrize("path", TRACES, ids=NAMES)
def test_tables_of_every_capture_are_what_its_objects_say(path: Path) -> None:
    assert_same_tables(trace.recording(path), path)
    assert_same_tables(trace.recording(path, steps=[0]), path)


def random_trace(seed: int) -> dict[str, Any]:
    """Nested ops with repeated names, frames between them, launches without ops, overlapping steps, two devices."""
    chance = random.Random(seed)
    events: list[dict[str, Any]] = []

    def event(category: str, name: str, thread: int, start: float, duration: float, **args: Any) -> None:
        events.append(
            {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": duration}
            | {"args": {key.replace("_", " "): value for key, value in args.items()}}
        )

    def nest(start: float, end: float, depth: int, thread: int) -> None:
        time = start
        while time < end - 4:
            duration = min(end - time, chance.randint(2, max(3, int((end - time) * 0.9))))
            name = chance.choice(OPS)
            category = chance.choice(["cpu_op"] * 8 + ["user_annotation", "python_function"])
            label = name if category == "cpu_op" else f"enumerate {name}"
            event(category, label, thread, time, duration, External_id=len(events) + 1)
            if seed % 2 and chance.random() < 0.4 and duration > 6:
                launch = 10_000 + len(events)
                called = chance.choice(["cudaLaunchKernel", "cudaDeviceSynchronize"])
                event("cuda_runtime", called, thread, time + duration - 3, 2, correlation=launch)
                what = chance.choice(["kernel", "gpu_memcpy", "gpu_memset"])
                kernel = chance.choice(["k1", "k2", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"])
                times = time + chance.randint(1, 40), chance.choice([0, 1, 3, 9])
                place = {"device": chance.choice([0, 1]), "stream": chance.choice([7, 20])}
                event(what, kernel, 0, *times, **place, correlation=chance.choice([launch, launch, launch, 99_999]))
            if depth < 6 and chance.random() < 0.75:
                nest(time + chance.choice([0, 1]), time + duration - chance.choice([0, 4]), depth + 1, thread)
            time += duration + chance.choice([0, 1, 2])

    for step in range(3):
        begin = 1000 + step * 1000
        for thread in (1, 2):
            nest(begin, begin + 900, 0, thread)
        event("user_annotation", f"ProfilerStep#{step}", 1, begin, chance.choice([950, 1200]))
    chance.shuffle(events)
    return {"schemaVersion": 1, "traceEvents": events}


@pytest.mark.parametrize("seed", range(12))
def test_tables_of_random_nests_are_what_their_objects_say(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(random_trace(seed)))
    recording = trace.recording(path)
    assert recording.ops and recording.launches
    assert_same_tables(recording, path)


def test_union_and_overlap_of_random_times() -> None:
    chance = np.random.default_rng(0)
    for _ in range(200):
        a, b = (np.sort(chance.integers(0, 40, (2, chance.integers(0, 8))), axis=0) for _ in range(2))
        ours, theirs = intervals.union(*a), intervals.union(*b)
        inside = [{x for start, end in zip(*times, strict=True) for x in range(start, end)} for times in (a, b)]
        assert (ours[1] - ours[0]).sum() == len(inside[0])
        starts, ends = intervals.common(ours, theirs)
        assert (ends - starts).sum() == len(inside[0] & inside[1])
        assert (ours[0][1:] > ours[1][:-1]).all()


def repeated(times: int, folder: Path) -> Path:
    """Return a real trace's events so many times in a row, each with its own ids."""
    data = json.loads(gzip.decompress((H200 / "mlp_eager_stack" / "trace.json.gz").read_bytes()))
    events = [event for event in data["traceEvents"] if event.get("ph") == "X"]
    length = max(event["ts"] + event["dur"] for event in events) - min(event["ts"] for event in events) + 1000
    data["traceEvents"] = [
        event
        | {"ts": round(event["ts"] + turn * length, 3)}
        | ({"name": f"{event['name']}{turn:03}"} if event["name"].startswith("ProfilerStep#") else {})
        | {
            "args": {
                key: value + turn * 1_000_000 if key in ("correlation", "External id") and value else value
                for key, value in event.get("args", {}).items()
            }
        }
        for turn in range(times)
        for event in events
    ]
    path = folder / f"{times}.json"
    path.write_text(json.dumps(data, indent=1))
    return path


def pack(path: Path, how: str | None) -> Path:
    if how is None:
        return path
    text, target = path.read_bytes(), path.with_name(f"{path.name}.{how}")
    if how == "gz":
        target.write_bytes(gzip.compress(text, 1))
    else:
        target.write_bytes(pytest.importorskip("zstandard").ZstdCompressor().compress(text))
    return target


def cost_of_tables(path: Path) -> tuple[int, int]:
    """Return (function calls, largest number of memory blocks) while `fxscope view PATH --tables` runs."""
    parser = argparse.ArgumentParser()
    command.configure(parser)
    parser.set_defaults(parser=parser)
    arguments = parser.parse_args([str(path), "--tables", "--steps", "0:2"])
    calls, blocks, before = 0, 0, sys.getallocatedblocks()

    def count(frame: Any, kind: str, argument: Any) -> None:
        nonlocal calls, blocks
        calls += 1
        blocks = max(blocks, sys.getallocatedblocks() - before)

    with contextlib.redirect_stdout(io.StringIO()) as out:
        sys.setprofile(count)
        try:
            assert command.run(arguments) == 0
        finally:
            sys.setprofile(None)
    assert "aten::mm" in out.getvalue()
    return calls, blocks


@pytest.mark.slow
@pytest.mark.skipif(reader.native is None, reason="without the native scanner each event is decoded by itself")
def test_tables_make_no_object_and_call_no_function_an_event(tmp_path: Path) -> None:
    cost_of_tables(repeated(1, tmp_path))  # what the first call imports
    few, many = repeated(4, tmp_path), repeated(40, tmp_path)
    num_more = len(trace.read(many)) - len(trace.read(few))
    (few_calls, few_blocks), (many_calls, many_blocks) = cost_of_tables(few), cost_of_tables(many)
    assert many_calls - few_calls < num_more / 3  # each chunk of the file has its names decoded
    assert many_blocks - few_blocks < num_more / 10


def test_what_two_unions_have_in_common_has_no_moments() -> None:
    def union(*times: tuple[int, int]) -> intervals.Times:
        return np.array([start for start, _ in times], np.int64), np.array([end for _, end in times], np.int64)

    def listed(times: intervals.Times) -> list[tuple[int, int]]:
        return list(zip(times[0].tolist(), times[1].tolist(), strict=True))

    busy = union((10, 20), (40, 50))
    for moment in (10, 15, 20, 30, 40, 50):  # a trace in whole microseconds has intervals that end where they begin
        assert listed(intervals.common(busy, union((moment, moment)))) == []
        assert listed(intervals.common(union((moment, moment)), busy)) == []
    assert listed(intervals.common(busy, union((5, 5), (15, 45), (50, 50)))) == [(15, 20), (40, 45)]
