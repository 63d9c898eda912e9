"""CPU-bound or GPU-bound: one rule, one wording, wherever it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxscope.analysis.report import report
from fxscope.model import Recording, StepStats, StepTimes, Summary
from fxscope.passes import bound
from fxscope.render import terminal, trace_tables
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
    assert words in trace_tables.render(recording.summary, width=120)


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
