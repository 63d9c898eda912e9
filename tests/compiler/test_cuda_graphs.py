"""Why CUDA graphs were skipped, as torch says it, with the line of source and what to change."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import fxscope
from fxscope.analysis.report import report
from fxscope.english import cudagraph_text
from tests.capture.programs import Cache

pytestmark = pytest.mark.slow


def write_into_input(x):
    x.add_(1)
    return x * 2


def write_into_view_of_input(x):
    x[1:].mul_(2)
    return x.sum()


def write_into_own_tensor(x):
    return x.clone().add_(1) * 2


NORM = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))  # running statistics are buffers

# name: (program, backward, whether a replay is forbidden): as torch's `test_cudagraph_trees.py` has them on a GPU
PLANNED = {
    "pointwise": (torch.sin, False, False),
    "mutated input": (write_into_input, False, True),
    "mutated view of an input": (write_into_view_of_input, False, True),
    "mutated own tensor": (write_into_own_tensor, False, False),
    "mutated buffer": (Cache(), False, False),
    "training": (NORM, True, False),
}


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_predicts_a_replay_unless_torchs_own_checks_forbid_it(name: str) -> None:
    program, backward, forbidden = PLANNED[name]
    torch._dynamo.reset()
    x = torch.ones(4, 8)
    recording = fxscope.record(program, x, compile="reduce-overhead", target="h200", backward=backward)
    graphs = report(recording).cuda_graphs
    assert graphs.state == ("skipped" if forbidden else "on")
    assert recording.predicted is not None and (recording.predicted.replay_range_us is None) is forbidden
    assert ("mutated inputs (1 instances)" in graphs.reason) is forbidden


def test_a_plan_without_cuda_graphs_predicts_no_replay_of_a_mutated_input() -> None:
    torch._dynamo.reset()
    recording = fxscope.record(write_into_input, torch.ones(8), compile=True, target="h200")
    assert report(recording).cuda_graphs.state == "off"
    assert recording.predicted is not None and recording.predicted.replay_range_us is None


@pytest.mark.parametrize(("mode", "state"), [("reduce-overhead", "skipped"), ("default", "off")])
def test_a_program_on_a_cpu_is_not_replayed_and_says_so(mode: str, state: str) -> None:
    torch._dynamo.reset()
    recording = fxscope.record(lambda x: x.sin() + 1, torch.ones(8), compile=mode, steps=1)
    graphs = report(recording).cuda_graphs
    assert graphs.state == state
    assert any(item.cudagraph_skip for item in recording.compiles) is (state == "skipped")
    assert ("devices" in graphs.reason) is (state == "skipped")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            'skipping cudagraphs due to mutated inputs (1 instances). Found from : \n   File "/a/model.py", line 17, in f\n'
            "    x.add_(1)\n",
            "mutated inputs (1 instances) (model.py:17). Try: return the new value",
        ),
        (
            'skipping cudagraphs due to cpu device (primals_2). Found from : \n   File "/a/m.py", line 3, in f\n    y\n',
            "cpu device (primals_2) (m.py:3). Try: move that tensor to the GPU",
        ),
        (  # pytorch/pytorch#149944
            "disabling cudagraphs due to incompatible op aten.nonzero.default",
            "incompatible op aten.nonzero.default. Try: compile that op's part without CUDA graphs",
        ),
        ("something that nobody has seen", "something that nobody has seen"),
    ],
)
def test_torchs_words_become_a_reason_a_place_and_a_change(told: str, words: str) -> None:
    assert cudagraph_text(told).startswith(words)
    assert ("Try" in cudagraph_text(told)) is ("Try" in words)
