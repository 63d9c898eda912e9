"""The slide: steps at one scale, what was fused into what, the most expensive missed fusion; one line where it cannot be."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fxscope import cli, store
from fxscope.analysis.compare import compare
from fxscope.errors import RenderError
from fxscope.index import index_of
from fxscope.render import slide

DATA = Path(__file__).parents[1] / "data" / "report"
SVG = "{http://www.w3.org/2000/svg}"


def recording(name: str):
    return store.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))


def texts(drawn: str) -> list[str]:
    return ["".join(item.itertext()) for item in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


def test_eager_and_compiled_stand_at_one_scale_and_the_fused_ops_lead_into_their_kernel():
    eager, compiled = recording("mlp_eager"), recording("mlp_compiled")
    drawn = slide.render(eager, others=(compiled,), comparison=(compare(eager, compiled),))
    root = ElementTree.fromstring(drawn)
    assert root.get("viewBox") == "0 0 1280 720"
    rows: dict[str, float] = {}
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        rows[rect.get("y")] = rows.get(rect.get("y"), 0.0) + float(rect.get("width"))
    wide = [rows[key] for key in sorted(rows, key=float)]
    times = [index_of(item).device_us for item in (eager, compiled)]
    assert wide[1] / wide[0] == pytest.approx(times[1] / times[0], abs=0.005)
    bands = [path for path in root.iter(f"{SVG}path") if path.get("fill-opacity")]
    assert len(bands) == 1  # gelu and mul, into one
    places = [float(x) for x in re.findall(r"[ML](-?[\d.]+) ", bands[0].get("d"))]
    assert places[0] < places[1]
    words = texts(drawn)
    assert "mlp_eager · mlp_compiled" in words and "NVIDIA H200 · CUDA 13.0" in words
    assert "Not fused in mlp_compiled: mm → gelu·mul × 2" in words
    assert any(line.startswith("201.3 MB, at least 46.8 µs a step.") for line in words)
    assert "generated, fused kernel" in words


def test_one_recording_names_what_became_one_kernel():
    words = texts(slide.render(recording("mlp_compiled")))
    assert "gelu · mul → 1 kernel, 56.1 µs" in words and "triton_poi_fused__unsafe_view_gelu_mul_0" in words


def test_without_times_one_line_says_what_is_needed():
    with pytest.raises(RenderError, match="no time is known"):
        slide.render(store.loads('{"schema": "fxscope/1"}'))


def test_the_command_writes_it_and_refuses_a_fourth(tmp_path, capsys):
    names = []
    for name in ("mlp_eager", "mlp_compiled", "mlp_liger"):
        names.append(str(tmp_path / f"{name}.fxscope"))
        store.write(names[-1], store.encode(recording(name)))
    target = tmp_path / "slide.svg"
    assert cli.main(["view", *names, "--format", "slide", "-o", str(target)]) == 0
    assert "mlp_liger" in target.read_text(encoding="utf-8")
    assert cli.main(["view", *names, names[0], "--format", "slide", "-o", str(target), "--force"]) == 2
    assert "a slide holds 3 recordings" in capsys.readouterr().err
