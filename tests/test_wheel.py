"""The built wheel holds everything: it is installed apart from the checkout and used there."""

import re
import shutil
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from fxscope import __version__
from tests.processes import run_program, run_python

ROOT = Path(__file__).parent.parent
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def build(folder: Path, **environment: str) -> Path:
    """Build the wheel from a copy of what is tracked, in a path with spaces."""
    source = folder / "a copy with spaces"
    names = run_program("git", "ls-files", "-z", cwd=ROOT).stdout
    for name in names.split("\0"):
        if name and not name.startswith(("tests/", "docs/", "benchmarks/")) and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    command = [*PIP, "wheel", "--no-deps", "-w", str(folder), str(source)]
    built = run_program(*command, cwd=folder, **environment)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment as `uvx` and `pipx` do: the wheel and what it requires, and nothing else."""
    place = tmp_path_factory.mktemp("alone") / "an environment"
    venv.create(place, with_pip=False)
    command = [*PIP, "--python", str(place / "bin/python"), "install", "--retries", "1", str(wheel)]
    done = run_program(*command)
    if "No matching distribution" in done.stderr:
        pytest.skip("pip reaches no index")
    assert done.returncode == 0, done.stderr
    return place


MLP = ROOT / "tests/data/h200/mlp_compiled"
TRACE = f"{MLP}/trace.json.gz"
RECORDING = f"{ROOT}/fxscope/data/h200/mlp_compiled.fxscope"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--version"], 0, f"fxscope {__version__}"),
        (["view", TRACE], 0, "Step  "),
        (["view", RECORDING, "-o", "report.html"], 0, "wrote report.html"),
        (["view", TRACE, "--debug-dir", f"{MLP}/inductor"], 0, "gelu·mul"),
        (["why", RECORDING, "mul", "mm#3"], 0, "mul"),
        (["code", RECORDING], 0, "triton_poi_fused__"),
        (["view", RECORDING], 0, "kernel"),
        (["diff", TRACE, RECORDING], 0, "kernel"),
        (["kernel", "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT"], 0, "gemm"),
        (["fleet", str(ROOT / "tests/data/fleet/ddp_even")], 0, "rank"),
        (["redact", RECORDING, "-o", "given.fxscope"], 0, "wrote given.fxscope"),
        (["check", "--kinds"], 0, "kernels  "),
        (["doctor"], 1, "MISSING  torch"),
        (["run", "program.py"], 2, "this needs torch"),
        (["run", "none.py:f"], 2, "cannot read none.py"),
        (["guess", "none.py:f"], 2, "cannot read none.py"),
        (["sweep", "none.py:f", "--vary", "a=1"], 2, "cannot read none.py"),
        (["what-if", "none.py:f", "--set", "a=1"], 2, "cannot read none.py"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_without_torch_everything_is_read(words: list[str], status: int, said: str, alone: Path) -> None:
    (alone / "program.py").write_text("import torch")
    done = run_program(alone / "bin" / "fxscope", *words, cwd=alone)
    assert done.returncode == status and said in done.stdout + done.stderr, done.stdout + done.stderr


def metadata_of(archive: zipfile.ZipFile) -> str:
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    return archive.read(name).decode()


def test_it_holds_its_data_and_nothing_that_it_requires_brings_or_moves_torch(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata, names = metadata_of(archive), set(archive.namelist())
    data = ("py.typed", "gpus/h200.json", "data/recording.schema.json", "render/page/assets/main.js")
    assert names >= {f"fxscope/{name}" for name in (*data, "data/h200/mlp_compiled.fxscope")}
    assert not [name for name in names if name.startswith(("tests/", "examples/", "benchmarks/"))]
    requires = [line[15:] for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    assert "Project-URL" not in metadata  # the release workflow says where the repository is
    always = {re.split(r"[^\w-]", line)[0] for line in requires if "extra ==" not in line}
    assert always == {"graphviz", "msgspec", "networkx", "numpy", "resvg-py", "rich", "tomli"}
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text()
    run = recipe.partition("  run:\n")[2].partition("  run_constraints")[0].splitlines()
    assert {line.split()[1].removeprefix("python-") for line in run} == {"python", *always}
    assert 'torch; extra == "torch"' in requires  # no bound: an installed one satisfies it


@pytest.mark.slow
def test_without_a_compiler_it_installs_and_says_so(tmp_path: Path) -> None:
    """And one that is asked to hold no scanner is for every platform."""
    none = build(tmp_path / "none", FXSCOPE_SCANNER="none", FXSCOPE_ADDRESS="https://a.example/fxscope")
    assert none.name == f"fxscope-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(none) as archive:
        assert "Project-URL: Issues, https://a.example/fxscope/issues\n" in metadata_of(archive)
    wheel = build(tmp_path, CC=str(tmp_path / "no-such-compiler"))
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".so")]
    place = tmp_path / "site"
    assert run_program(*PIP, "install", "--no-deps", "--target", place, wheel).returncode == 0
    said = run_python("-m", "fxscope", "doctor", cwd=tmp_path, PYTHONPATH=str(place)).stdout
    assert "trace scanner: not compiled when fxscope was installed" in said
