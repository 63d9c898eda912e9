"""CPU-bound or GPU-bound: one rule, one wording, wherever it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxscope.analysis.explain import explain
from fxscope.passes import bound
from fxscope.render import terminal, trace_tables
from fxscope.render.page import overview
from tests import captures

H200 = Path(__file__).parent / "data" / "h200"


@pytest.mark.parametrize(
    ("busy", "words"),
    [
        (12, "CPU-bound (device busy 12 % of 100.0 µs)"),
        (40, "CPU-bound (device busy 40 % of 100.0 µs)"),
        (49, "neither clearly CPU- nor GPU-bound (device busy 49 % of 100.0 µs)"),
        (51, "neither clearly CPU- nor GPU-bound (device busy 51 % of 100.0 µs)"),
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
    assert words in terminal.render(recording, width=120)
    assert words in trace_tables.render(recording.summary, width=120)
    assert any(text.lower().startswith(words.lower()) for _, text, _ in overview.lines(recording, None, []))
    last = recording.summary.steps[-1]
    assert explain(recording).steps[-1].verdict.startswith(bound.bound(last.wall_us, last.device_busy_us).words)
