"""The built wheel holds everything: it is installed apart from the checkout and used there."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and unpack it into a folder of its own; its dependencies are this environment's."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    built = subprocess.run(
        [*pip, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    place = folder / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(place), str(wheel)], capture_output=True, check=True)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for wanted in (
        "fxscope/py.typed",
        "fxscope/gpus/h200.json",
        "fxscope/data/recording.schema.json",
        "fxscope/render/page/assets/main.js",
        "fxscope/data/h200/mlp_compiled.fxscope",
        "fxscope/data/dispatch_cuda.json.gz",
    ):
        assert wanted in names, wanted
    assert not [name for name in names if name.startswith(("tests/", "examples/", "benchmarks/"))]
    return place


def fxscope(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys, fxscope; assert sys.argv.pop(1) in fxscope.__file__; from fxscope.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, str(site), *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": str(site)},
    )


def test_it_runs_shows_and_draws(site: Path) -> None:
    assert fxscope(site, "--version").stdout.startswith("fxscope ")
    recording = str(site / "fxscope" / "data" / "h200" / "mlp_compiled.fxscope")
    done = fxscope(site, "view", recording)
    assert done.returncode == 0 and "triton_poi_fused__" in done.stdout, done.stderr
    done = fxscope(site, "view", recording, "-o", "report.html")
    assert done.returncode == 0, done.stderr
    assert "Content-Security-Policy" in (site.parent / "report.html").read_text()
    assert "gemm" in fxscope(site, "kernel", "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT").stdout
