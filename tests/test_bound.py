"""CPU-bound or GPU-bound: one rule, one wording, wherever it is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fxscope.analysis.report import report
from fxscope.model import Launch, Op, Recording, StepStats, StepTimes, Summary
from fxscope.passes import bound
from fxscope.readers.join import read_trace
from fxscope.render import tables, terminal
from fxscope.text import microseconds, percent
from tests import captures

H200 = Path(__file__).parent / "data" / "h200"


@pytest.mark.parametrize(
    ("busy", "words"),
    [
        (12, "CPU-bound (device busy 12 % of 100.0 µs)"),
        (40, "CPU-bound (device busy 40 % of 100.0 µs)"),
        (49, "neither CPU- nor GPU-bound (device busy 49 % of 100.0 µs)"),
        (51, "neither CPU- nor GPU-bound (device busy 51 % of 100.0 µs)"),
        (93, "GPU-bound (device busy 93 % of 100.0 µs)"),
    ],
)
def test_three_values_and_the_share(busy, words):
    found = bound.bound(100.0, busy)
    assert found is not None and found.words == words


def test_no_time_no_verdict():
    assert bound.bound(0.0, 0.0) is None and bound.of_summary(None) is None


def test_every_view_says_the_same():
    recording = captures.read("mlp_eager")
    words = bound.of_summary(recording.summary).words
    assert words == recording.summary.verdict
    shown = report(recording).step
    assert words == f"{shown.verdict} (device busy {percent(shown.busy_share)} of {microseconds(shown.wall_us)})"
    assert shown.verdict in terminal.render(recording)
    assert words in tables.of_trace(recording.summary, width=120)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("after", "CPU-bound (device busy 25 % of 400.0 µs)"),
        ("calls", "CPU-bound (device busy 25 % of 400.0 µs)"),
        ("recording", "neither CPU- nor GPU-bound (device busy 50 % of 200.0 µs while recording)"),
    ],
)
def test_the_wall_time_is_that_of_steps_without_a_profiler(when, words):
    steps = (StepStats(step=0, name="", wall_us=200.0, device_busy_us=100.0, device_idle_us=100.0, num_launches=1),)
    times = StepTimes(count=3, when=when, total_us=1200.0, median_us=400.0, p5_us=1.0, p95_us=1.0, max_us=1.0)
    recording = Recording(summary=Summary(steps=steps, bound="gpu", verdict="?"), step_times=times)
    assert bound.of_recording(recording).words == words
    assert bound.judged(recording).summary.verdict == words


def test_busy_and_wall_time_are_of_the_same_steps():
    """The first of three steps still warms up, and one that compiled does not count."""
    steps = tuple(
        StepStats(step=number, name="", wall_us=wall, device_busy_us=busy, device_idle_us=wall - busy, num_launches=1)
        for number, (wall, busy) in enumerate([(900.0, 800.0), (800.0, 700.0), (100.0, 20.0), (100.0, 20.0)])
    )
    recording = Recording(
        summary=Summary(steps=steps, bound="gpu", verdict="?"),
        ops=(Op(id=0, name="compile (dynamo_timed)", category="cpu_op", step=1, start_ns=0, duration_ns=1),),
        launches=tuple(
            Launch(id=number, name="k", category="kernel", step=number, start_ns=0, duration_ns=1)
            for number in range(4)
        ),
    )
    assert bound.of_recording(recording).words == "CPU-bound (device busy 20 % of 100.0 µs)"


def trace_of(path: Path, gaps_us: list[float], *, replayed: bool) -> Path:
    """A trace of kernels of 5 µs with this idle time between them, launched one by one or by one graph launch."""
    host = {"ph": "X", "pid": 1, "tid": 1, "cat": "cuda_runtime", "dur": 2}
    kernel = {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "k", "dur": 5}
    launch = "cudaGraphLaunch" if replayed else "cudaLaunchKernel"
    events, now = [], 10.0
    for number, gap in enumerate([*gaps_us, 0.0], 1):
        correlation = 1 if replayed else number
        if number == 1 or not replayed:
            events.append({**host, "name": launch, "ts": now - 3, "args": {"correlation": correlation}})
        events.append({**kernel, "ts": now, "args": {"correlation": correlation, "stream": 7, "device": 0}})
        now += 5 + gap
    path.write_text(json.dumps({"traceEvents": events}))
    return path


LONG_IDLE = "Look at what the CPU does before k"


@pytest.mark.parametrize(
    ("gaps_us", "replayed", "text", "why"),
    [
        ([50.0] * 40, False, 'torch.compile(mode="reduce-overhead")', "of the run while the CPU makes 41 launches"),
        ([50.0] * 40, True, "Look at what the CPU does between replays", "the GPU idles"),
        ([50.0] * 4 + [4000.0], False, LONG_IDLE, "95 % of the idle time"),
        ([4000.0], True, LONG_IDLE, "of the idle time"),
    ],
)
def test_cuda_graphs_are_advised_where_launches_make_the_device_idle(tmp_path, gaps_us, replayed, text, why):
    advice = report(read_trace(trace_of(tmp_path / "t.json", gaps_us, replayed=replayed))).advice[0]
    assert advice.text == text and why in advice.why


@pytest.mark.parametrize(
    ("kernel_us", "ahead", "wall_us", "busy", "side"),
    [
        (20, 0, 100.0, 0.2, "cpu"),  # the device waits
        (150, 0, 150.0, 1.0, "gpu"),  # and lags behind the CPU, which runs ahead
        (150, 4, 150.0, 1.0, "gpu"),  # on work of before the recording
    ],
)
def test_a_device_that_lags_behind_is_busy(tmp_path, kernel_us, ahead, wall_us, busy, side):
    """Steps of 100 µs on the CPU, each of which launches one kernel; `ahead` kernels were launched before the first."""
    host, events, free = {"ph": "X", "pid": 1, "tid": 1}, [], 0.0
    for number in range(-ahead, 5):
        start = max(free, 10 + 100.0 * max(0, number))
        free = start + kernel_us
        event = {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "k", "ts": start, "dur": kernel_us}
        events.append({**event, "args": {"correlation": number + 100, "stream": 7, "device": 0}})
        if number >= 0:
            at = 100.0 * number
            step = {**host, "cat": "user_annotation", "name": f"ProfilerStep#{number}", "ts": at, "dur": 100}
            call = {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 5, "dur": 2}
            events += [step, {**call, "args": {"correlation": number + 100}}]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    recording = read_trace(path)
    limit = bound.of_recording(recording)
    assert (limit.side, limit.wall_us, round(limit.busy, 2)) == (side, wall_us, busy)
    row = report(recording).step
    assert row.launches == row.launch_calls == 1 and row.device_us == kernel_us
    idle = sum(gap.duration_ns for gap in recording.summary.gaps if gap.step == 3) / 1e3
    assert idle == pytest.approx(wall_us - kernel_us)
    said = any(f"{ahead} device events were launched before the recording" in x.message for x in recording.problems)
    assert said == bool(ahead)
