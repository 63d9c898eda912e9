"""Why CUDA graphs were skipped, as torch says it, with the line of source and what to change."""

from __future__ import annotations

import pytest
import torch

import fxscope
from fxscope.analysis.report import report
from fxscope.english import cudagraph_text

pytestmark = pytest.mark.slow


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
