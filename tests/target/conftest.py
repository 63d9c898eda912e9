"""Plans are made once for all tests here: in one process for the comparison, in fxscope's own for the recording."""

import json
import sys
from pathlib import Path

import pytest

from fxscope._torch.target import child
from tests.processes import run_program
from tests.target import plans

HERE = Path(__file__).parent
FACTORIES = HERE / "factories.py"


@pytest.fixture(scope="session")
def planned() -> dict:
    """Return {"torch": version, "plans": {name: {"codes", "assumptions"}}} of every recorded program."""
    names = sorted(folder.name for folder in plans.REAL.iterdir())
    return make(sys.executable, names)


def make(python: str, names: list[str]) -> dict:
    environment = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = run_program(python, HERE / "make_plans.py", *names, timeout_s=600, **environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def geglu():
    """Return the recording of the GeGLU MLP planned for an H200, and the progress it made."""
    lines: list[str] = []
    factory = Path(child.__file__).parents[1] / "programs" / "geglu.py"
    recording = child.record(f"{factory}:full", target="h200", progress=lines.append)
    return recording, lines
