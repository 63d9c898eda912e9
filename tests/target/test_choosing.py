"""What a benchmark on the device would choose: predictions against recorded benchmarks, and a plan under max-autotune."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path

import pytest

from fxscope import gpus
from fxscope._torch.target import child
from fxscope.analysis.why import why
from fxscope.gpus import prediction
from fxscope.readers.workload import product
from fxscope.render import labels, terminal
from fxscope.render.why import words

ROOT = Path(__file__).parents[2]
FACTORIES = Path(__file__).parent / "factories.py"
PRODUCTS = json.loads(lzma.decompress((ROOT / "tests" / "data" / "choices" / "h200.json.xz").read_bytes()))["products"]
TILE = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")


def times(row: dict) -> tuple[float, dict[str, tuple[float, float]]]:
    """Return what is predicted of the library, and of each measured template: (predicted, measured)."""
    h200 = gpus.load("h200")
    templates = {}
    for kind, text, us in row["candidates"]:
        if kind == "template":
            m, n, k, warps, stages = (re.search(rf"{name}=(\d+)", text)[1] for name in TILE)
            work = product(row["m"], row["k"], row["n"], row["dtype"], tile=f"{m}x{n}x{k} w{warps} s{stages}")
            templates[text] = (prediction.benchmarked(h200, work), us)
    return prediction.benchmarked(h200, product(row["m"], row["k"], row["n"], row["dtype"])), templates


def test_recorded_benchmarks() -> None:
    """The file holds 33 benchmarks of an H200; what the shipped figures say of them is what they say."""
    right = 0
    for row in PRODUCTS:
        library, templates = times(row)
        best = min(predicted for predicted, _ in templates.values())
        won = min(row["candidates"], key=lambda candidate: candidate[2])[0]
        right += (library < best) == (won == "library")
        if row["quiet"]:
            chosen = min(templates, key=lambda text: templates[text][0])
            fastest = min(measured for _, measured in templates.values())
            assert templates[chosen][1] <= 1.3 * fastest, row
    assert right >= gpus.load("h200").choices.kind.right
    assert len(PRODUCTS) == gpus.load("h200").choices.kind.count


def test_what_was_not_measured_is_not_predicted() -> None:
    h200 = gpus.load("h200")
    tile = "64x64x32 w4 s3"
    assert prediction.benchmarked(h200, product(512, 512, 512, "float32", tile=tile)) is None
    assert prediction.benchmarked(h200, product(512, 512, 512, "bfloat16", tile="no tile")) is None


def test_another_gpu_takes_the_nearest_and_scales_it() -> None:
    work = product(4096, 4096, 4096, "bfloat16", tile="128x128x64 w8 s3")
    h200, a100 = (prediction.benchmarked(gpus.load(name), work) for name in ("h200", "a100"))
    assert 2 < a100 / h200 < 4  # 312 against 990 TFLOP/s
    assert prediction.choices_of(gpus.load("a100"))[1].name == "h200"
    assert prediction.benchmarked(gpus.load("h100"), work) == pytest.approx(h200, rel=0.2)


@pytest.fixture(scope="module")
def tuned():
    """Linear, gelu, linear in bfloat16, with every kernel up for a benchmark."""
    options = {"mode": "max-autotune-no-cudagraphs"}
    return child.record_for_target("h200", factory=f"{FACTORIES}:tuned", compile=options)


@pytest.mark.slow
def test_max_autotune_is_planned_with_every_candidate(tuned) -> None:
    algorithms = [choice for choice in tuned.choices if choice.kind == "algorithm"]
    assert [choice.subject.split(" (")[0] for choice in algorithms] == [
        "addmm 1024 × 768 × 2048 bfloat16",
        "addmm 1024 × 2048 × 768 bfloat16",
    ]
    for choice in algorithms:
        names = [candidate.name for candidate in choice.candidates]
        assert len(names) >= 15
        assert {"addmm", "bias_addmm"} & set(names)
        assert choice.predicted in names
        assert choice.candidates[0].predicted_us <= choice.candidates[1].predicted_us
        assert 0 < choice.confidence < 1
        assert "right in" in choice.basis
    # As the H200 did with the same products (tests/zoo/choices.py, tuned_mlp): templates, with the gelu in the first.
    assert [call.type for call in tuned.calls] == ["triton_template", "triton_template"]
    assert "gelu" in tuned.calls[0].kernel
    assert algorithms[0].calls == (tuned.calls[0].id,)


@pytest.mark.slow
def test_choices_are_shown(tuned) -> None:
    text = re.sub(r"\s+", " ", terminal.render(tuned, width=200, everything=True))
    assert "what benchmarks on the device will choose, predicted" in text
    assert labels.choice_words(tuned.choices[0]) in text
    notes = [words(tuned, why(tuned, tuned.calls[0].handle), width=120, everything=True)]
    assert any(
        "a benchmark on the device will choose. Predicted: template" in re.sub(r"\s+", " ", note) for note in notes
    )


@pytest.mark.slow
def test_float32_takes_the_library_and_does_not_say_how_sure() -> None:
    recording = child.record_for_target("h200", factory=f"{FACTORIES}:small", compile={"mode": "max-autotune"})
    choice = next(choice for choice in recording.choices if choice.kind == "algorithm")
    assert choice.confidence is None
    assert choice.predicted == "mm"
    assert all(candidate.predicted_us is None for candidate in choice.candidates)
    assert "nothing was measured" in choice.basis
    assert {item.subject for item in recording.assumptions} >= {"tuning", "CUDA graphs"}
