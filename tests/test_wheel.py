"""The built wheel holds everything: it is installed apart from the checkout and used there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from fxscope import __version__

ROOT = Path(__file__).parent.parent


PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def build(folder: Path, **environment: str) -> Path:
    """Build the wheel from a copy of what is tracked, in a path with spaces."""
    source = folder / "a copy with spaces"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.split("\0"):
        if name and not name.startswith(("tests/", "docs/", "benchmarks/")) and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    command = [*PIP, "wheel", "--no-deps", "-w", str(folder), str(source)]
    built = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, **environment}
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def site(wheel: Path) -> Path:
    """Unpack the wheel into a folder of its own; its dependencies are this environment's."""
    place = wheel.parent / "site"
    subprocess.run([*PIP, "install", "--no-deps", "--target", str(place), str(wheel)], capture_output=True, check=True)
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


@pytest.mark.slow
def test_it_runs_shows_and_draws(site: Path) -> None:
    assert fxscope(site, "--version").stdout.startswith("fxscope ")
    recording = str(site / "fxscope" / "data" / "h200" / "mlp_compiled.fxscope")
    done = fxscope(site, "view", recording)
    assert done.returncode == 0 and "triton_poi_fused__" in done.stdout, done.stderr
    done = fxscope(site, "view", recording, "-o", "report.html")
    assert done.returncode == 0, done.stderr
    assert "Content-Security-Policy" in (site.parent / "report.html").read_text()
    assert "gemm" in fxscope(site, "kernel", "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT").stdout


@pytest.mark.slow
def test_the_console_script_runs_from_a_path_with_spaces(wheel: Path, tmp_path: Path) -> None:
    """As `pipx` and `uvx` run it: an environment of its own, the script by its path, from another folder."""
    place = tmp_path / "an environment"
    venv.create(place, with_pip=False)
    (site,) = place.glob("lib/python*/site-packages")
    command = [*PIP, "--python", str(place / "bin/python"), "install", "--no-deps", str(wheel)]
    subprocess.run(command, capture_output=True, check=True)
    here = [path for path in sys.path if path and Path(path).is_dir() and not (Path(path) / "fxscope").exists()]
    (site / "dependencies.pth").write_text("\n".join(here))
    script = [str(place / "bin" / "fxscope")]
    done = subprocess.run([*script, "--version"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == f"fxscope {__version__}\n", done.stderr
    assert wheel.name.split("-")[1] == __version__
    recording = site / "fxscope" / "data" / "h200" / "mlp_compiled.fxscope"
    done = subprocess.run([*script, "view", str(recording)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0 and "triton_poi_fused__" in done.stdout, done.stderr


@pytest.mark.slow
def test_without_a_compiler_it_installs_and_says_so(tmp_path: Path) -> None:
    wheel = build(tmp_path, CC=str(tmp_path / "no-such-compiler"))
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".so")]
    place = tmp_path / "site"
    subprocess.run([*PIP, "install", "--no-deps", "--target", str(place), str(wheel)], capture_output=True, check=True)
    assert "scanner       not compiled: traces are read more slowly" in fxscope(place, "env").stdout
