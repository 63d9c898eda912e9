"""A plan under max-autotune: every candidate is listed, and the library's kernel is assumed."""

import re
from pathlib import Path

import pytest

from fxscope._torch.target import child
from fxscope.render import terminal

FACTORIES = Path(__file__).parent / "factories.py"


@pytest.fixture(scope="module")
def tuned():
    """Linear, gelu, linear in bfloat16, with every kernel up for a benchmark."""
    options = {"mode": "max-autotune-no-cudagraphs"}
    return child.record(f"{FACTORIES}:tuned", target="h200", compile=options)


@pytest.mark.slow
def test_max_autotune_assumes_the_library_and_says_so(tuned) -> None:
    found = {item.subject: item.assumed for item in tuned.assumptions}
    assert re.fullmatch(r"(bias_)?addmm of \d\d+ candidates", found["kernel of addmm"])
    assert [call.type for call in tuned.calls] == ["extern", "triton_pointwise", "extern"]
    text = re.sub(r"\s+", " ", terminal.render(tuned, width=200, everything=True))
    assert f"• kernel of addmm: {found['kernel of addmm']} (the library's kernel" in text
