"""Every command of every example's README runs as it stands; the article's options; the layer's versions."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run_program
from tests.test_docs import blocks

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
FOLDERS = sorted(path.name for path in EXAMPLES.iterdir() if (path / "README.md").exists())
SCRIPTS = {
    "01_matmul_add": ("matmul_add.py", ["--rows", "--inner", "--columns", "--compile"]),
    "02_linear": ("linear.py", ["--batch", "--in_dim", "--out_dim", "--compile"]),
    "03_simple_mlp": ("simple_mlp.py", ["--batch", "--seq", "--dim", "--hidden", "--compile"]),
    "03_kernels_mlp": ("kernels_mlp.py", ["--batch", "--seq", "--dim", "--hidden"]),
    "04_attention": ("attention.py", ["--batch", "--seq", "--dim", "--heads", "--compile"]),
}


def commands(folder: str, *, gpu: bool) -> list[str]:
    """Return the commands of the README's console blocks; those of `console gpu` blocks need a GPU."""
    text = "".join(blocks(EXAMPLES / folder / "README.md", "console gpu" if gpu else "console"))
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def run(command: str, folder: Path, status: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "100", **environment}
    done = run_program("bash", "-c", command, cwd=folder, **environment)
    assert done.returncode == status, f"$ {command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a copy of the examples, so that what they write goes away."""
    return Path(
        shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__", "traces"))
    )


def test_every_example_is_there() -> None:
    assert sorted(SCRIPTS) == FOLDERS


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_readme_of(folder: str, copied: Path) -> None:
    lines = commands(folder, gpu=False)
    assert lines or folder == "03_kernels_mlp"
    for line in lines:
        assert "Traceback" not in run(line, copied / folder).stderr


@pytest.mark.gpu
@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if commands(folder, gpu=True)])
def test_the_gpu_part_of_the_readme_of(folder: str, copied: Path) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU here")
    for line in commands(folder, gpu=True):
        run(line, copied / folder)


@pytest.mark.parametrize("folder", SCRIPTS)
def test_a_script_has_a_header_for_uv_and_the_articles_options(folder: str) -> None:
    script, options = SCRIPTS[folder]
    text = (EXAMPLES / folder / script).read_text()
    header = re.match(r"# /// script\n((?:# .*\n)+)# ///\n", text)
    assert header and "dependencies" in header[1] and '"torch' in header[1] and "requires-python" in header[1]
    for option in options:
        assert f'"{option}"' in text
    assert "schedule(wait=1, warmup=1, active=3" in text


def test_the_labels_are_the_articles() -> None:
    assert '"linear_fwd"' in (EXAMPLES / "02_linear/linear.py").read_text()
    for name in ("03_simple_mlp/simple_mlp.py", "03_kernels_mlp/kernels_mlp.py"):
        assert '"mlp_fwd"' in (EXAMPLES / name).read_text()


LAYER = EXAMPLES / "03_kernels_mlp" / "kernels_mlp.py"
SMALL = f"python {LAYER} --batch 1 --seq 2 --dim 8 --hidden 8"


@pytest.mark.slow
def test_without_the_layer_one_clear_message(tmp_path: Path) -> None:
    for name in ("kernels", "liger_kernel"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('hidden for this test')\n")
    done = run(SMALL, tmp_path, status=2, PYTHONPATH=str(tmp_path))
    assert "LigerGEGLUMLP is not here" in done.stderr and "LOCAL_KERNELS" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_local_kernel_that_runs_on_the_cpu(tmp_path: Path) -> None:
    """`get_kernel` gives a layer whose backend is the CPU: then the script runs here, label, trace and all."""
    (tmp_path / "kernels.py").write_text(
        "import types, torch\n"
        "class LigerGEGLUMLP(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        gelu = torch.nn.functional.gelu(self.gate_proj(x), approximate='tanh')\n"
        "        return self.down_proj(gelu * self.up_proj(x))\n"
        "def get_kernel(repository, *, version):\n"
        "    assert (repository, version) == ('kernels-community/liger-kernels', 1)\n"
        "    return types.SimpleNamespace(layers=types.SimpleNamespace(LigerGEGLUMLP=LigerGEGLUMLP))\n"
    )
    done = run(SMALL, tmp_path, PYTHONPATH=str(tmp_path))
    assert "mlp_fwd" in done.stdout and (tmp_path / "traces" / "kernels_mlp.json").stat().st_size > 1000


def test_both_kinds_of_layer_get_their_projections() -> None:
    from torch import nn

    build = runpy.run_path(str(LAYER))["build"]

    class First(nn.Module):
        def __init__(self, config) -> None:
            super().__init__()
            self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)

    class Later(nn.Module):
        def forward(self, x):
            return self.down_proj(self.gate_proj(x) * self.up_proj(x))

    assert build(First, 8, 16).gate_proj.weight.shape == (16, 8)
    later = build(Later, 8, 16)
    assert later.down_proj.weight.shape == (8, 16) and later.config.hidden_size == 8
