"""A stage's graph as SVG, by Graphviz's `dot`."""

import shutil
from pathlib import Path

import pytest

from fxscope import cli

MLP = str(Path(__file__).parents[2] / "fxscope" / "data" / "h200" / "mlp_compiled.fxscope")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not on PATH")
def test_a_stage_is_drawn_with_its_fused_kernel(tmp_path: Path) -> None:
    target = tmp_path / "graph.svg"
    assert cli.main(["view", MLP, "--stage", "post_grad", "-o", str(target)]) == 0
    drawn = target.read_text()
    assert drawn.startswith("<?xml") and "triton_poi_fused__unsafe_view_gelu_mul_0" in drawn and "56.2 µs" in drawn


def test_without_dot_the_error_names_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = command("view", MLP, "--stage", "post_grad", "-o", tmp_path / "graph.svg", status=2).err
    assert "install graphviz" in said and ".html" in said and not (tmp_path / "graph.svg").exists()
