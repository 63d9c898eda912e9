"""A plan under max-autotune: every candidate is listed, and the library's kernel is assumed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fxscope._torch.target import child
from fxscope.analysis.why import why
from fxscope.render import labels, terminal
from fxscope.render.why import words

FACTORIES = Path(__file__).parent / "factories.py"


@pytest.fixture(scope="module")
def tuned():
    """Linear, gelu, linear in bfloat16, with every kernel up for a benchmark."""
    options = {"mode": "max-autotune-no-cudagraphs"}
    return child.record(f"{FACTORIES}:tuned", target="h200", compile=options)


@pytest.mark.slow
def test_max_autotune_lists_every_candidate_and_assumes_the_library(tuned) -> None:
    algorithms = [choice for choice in tuned.choices if choice.kind == "algorithm"]
    assert [choice.subject.split(" (")[0] for choice in algorithms] == ["addmm", "addmm"]
    for choice in algorithms:
        names = [candidate.name for candidate in choice.candidates]
        assert len(names) >= 15
        assert choice.predicted in {"addmm", "bias_addmm"} & set(names)
        assert choice.confidence is None
        assert all(candidate.predicted_us is None for candidate in choice.candidates)
        assert "assumed" in choice.basis
    assert [call.type for call in tuned.calls] == ["extern", "triton_pointwise", "extern"]
    assert algorithms[0].calls == (tuned.calls[0].id,)


@pytest.mark.slow
def test_choices_are_shown(tuned) -> None:
    text = re.sub(r"\s+", " ", terminal.render(tuned, width=200, everything=True))
    assert "what benchmarks on the device will choose, predicted" in text
    assert labels.choice_words(tuned.choices[0]) in text
    note = words(tuned, why(tuned, tuned.calls[0].handle), width=120, everything=True)
    assert "a benchmark on the device will choose. Predicted: addmm" in re.sub(r"\s+", " ", note)
