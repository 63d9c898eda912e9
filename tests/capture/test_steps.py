"""A training script's steps: which are kept, what the others took, and what ran before them."""

from __future__ import annotations

import sys

import pytest

from fxscope import cli, load
from fxscope._torch.steps import plan
from fxscope.model import Recording
from fxscope.render import labels, terminal

SCRIPT = """
import torch
from torch import nn

torch.manual_seed(0)
data = [torch.randn(4, 8) for _ in range(60)]
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
nn.init.orthogonal_(model[0].weight)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x in data:
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""
RUNS = {"whole": ["--title", "whole"], "short": ["--title", "short", "--warmup", "1", "--steps", "2", "--skip-init"]}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> dict[str, Recording]:
    folder = tmp_path_factory.mktemp("steps")
    (folder / "train.py").write_text(SCRIPT)
    found = {}
    for name, options in RUNS.items():
        path, search = folder / f"{name}.fxscope", list(sys.path)
        assert cli.main(["run", *options, "-o", str(path), str(folder / "train.py")]) == 0
        sys.path[:] = search
        found[name] = load(path)
    return found


def test_what_runs_before_the_first_step_is_a_chapter_with_its_ops_and_lines(recordings) -> None:
    recording = recordings["whole"]
    start_up = recording.start_up
    found = {(op.name, op.source.line if op.source else None): op.count for op in start_up.ops}
    assert found["aten::randn", 6] == 60 and found["aten::uniform_", 7] == 4 and found["aten::linalg_qr", 8] == 1
    assert start_up.compile_us is None and 0 < sum(op.total_us for op in start_up.ops) <= start_up.duration_us
    assert [op.total_us for op in start_up.ops] == sorted((op.total_us for op in start_up.ops), reverse=True)
    (item,) = (item for item in recording.unobserved if item.what == "start-up")
    assert item.count == sum(op.count for op in start_up.ops)
    in_steps = {node.target for graph in recording.graphs for node in graph.nodes}
    assert "aten::addmm" in in_steps and not {"aten::randn", "aten::uniform_", "aten::linalg_qr"} & in_steps
    for text in (terminal.render(recording, everything=True),):
        assert "before the first step" in text and "train.py:6" in text and "train.py:8" in text
    assert "before the first step" not in terminal.render(recording, stage="eager", everything=True)


def test_the_chapter_can_be_left_out_but_not_that_it_is(recordings) -> None:
    recording = recordings["short"]
    assert recording.start_up is None and "before the first step" not in terminal.render(recording, everything=True)
    assert "not in it: start-up (" in labels.coverage_line(recording)


def test_a_few_steps_are_kept_and_shares_are_of_what_the_header_totals(recordings) -> None:
    for name, kept in (("whole", 3), ("short", 2)):
        recording = recordings[name]
        assert len(recording.steps) == kept
        assert sum(kernel.share for kernel in recording.summary.kernels) == pytest.approx(1)
        total = sum(launch.duration_ns for launch in recording.launches) / 1e3
        assert sum(kernel.total_us for kernel in recording.summary.kernels) == pytest.approx(total)


def test_an_optimizers_range_is_around_its_own_ops_alone(recordings) -> None:
    for recording in recordings.values():
        inside = {(launch.name, "Optimizer.step#SGD.step" in launch.chain) for launch in recording.launches}
        assert (
            ("aten::add_", True) in inside and ("aten::addmm", False) in inside and ("aten::addmm", True) not in inside
        )
        assert not any(launch.chain.count("Optimizer.step#SGD.step") > 1 for launch in recording.launches)


def test_steps_after_the_wanted_ones_are_only_timed(recordings) -> None:
    assert recordings["whole"].step_times.when == "after" and recordings["whole"].step_times.count == 55
    recording = recordings["short"]
    times = recording.step_times
    assert times.when == "after" and len(times.samples_us) == 56
    assert times.count == 56 and 0 < times.p5_us <= times.median_us <= times.p95_us
    assert times.slowest[0][1] == times.max_us and {number for number, _ in times.slowest} <= set(range(3, 60))
    (after,) = (item for item in recording.unobserved if item.what == "after")
    assert after.count == 56 and "(56 steps, timed)" in labels.coverage_line(recording)


CAPTURED = [
    (float(start), "model") for start in (10, 20, 30, 40)
]  # three calls to warm up, and the one that is captured


@pytest.mark.parametrize(
    ("replays", "num_calls", "begins"),
    [
        ("AAAA", None, [100, 110, 120, 130]),
        ("ABABAB", None, [100, 120, 140]),  # the parts of one model
        ("AAAB", None, [100, 110, 120, 130]),  # a graph per batch size
        ("AA", 4, [10, 20, 30, 40]),
        ("", 4, [10, 20, 30, 40]),
    ],
)
def test_replays_of_a_graph_that_was_captured_by_hand_are_the_steps(replays, num_calls, begins) -> None:
    replayed = [(100.0 + 10 * number, name) for number, name in enumerate(replays)]
    ops = [*CAPTURED, *((start + 5, "aten::copy_") for start, _ in replayed)]
    found = plan(ops, begins=0, ends=500, calls=CAPTURED, step_ends=[], replays=replayed, warmup=0, keep=10)
    assert found.num_calls == num_calls
    assert [span.start for span in (*found.kept, *found.others)] == begins


def test_replays_before_the_last_call_of_the_model_are_parts_of_calls() -> None:
    replayed = [(start + 1, "A") for start, _ in CAPTURED]
    found = plan(CAPTURED, begins=0, ends=500, calls=CAPTURED, step_ends=[], replays=replayed)
    assert found.num_calls == 4
