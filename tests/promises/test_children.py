"""Processes that fxscope starts: none outlives its parent, a parent without exit codes is served, none imports from `.`."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from fxscope import children
from tests.processes import run_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")

JOB = Path(__file__).parents[1] / "data" / "fleet" / "ddp_even"
FACTORY = "import os, signal, time, torch\ndef make():\n    {}    return torch.nn.Linear(4, 4), (torch.ones(2, 4),)\n"
DIE = "os.kill(os.getpid(), signal.SIGKILL)"
# Each starts a child that would run for minutes, and is killed when that has begun.
PARENTS = {
    "fleet": "import time\nfrom fxscope.fleet import run, sources\n"
    "run.work = lambda source: (os.kill(os.getppid(), signal.SIGKILL), time.sleep(600))  # it has begun\n"
    "run.digests([sources.Source(name='t.json', path='t.json', size=1)])",
    "target": "from fxscope._torch.target import child\nchild.record('factory.py:make', target='h200', progress=print)",
    "forked target": "import torch\nfrom fxscope._torch.target import child\n"
    "class Here(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    f"child.record(Here(), torch.ones(4), target='h200', progress=lambda line: {DIE} if 'tracing' in line else None)",
}


def alive(marker: str) -> list[str]:
    """Return the processes that inherited a variable of the environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (path / "environ").read_bytes():
                found.append(f"{path.name}: {(path / 'cmdline').read_bytes()[:200]!r}")
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", PARENTS)
def test_a_child_ends_with_a_parent_that_is_killed(kind: str, tmp_path: Path) -> None:
    (tmp_path / "factory.py").write_text(FACTORY.format("os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)\n"))
    (tmp_path / "parent.py").write_text(f"import os, signal\n{PARENTS[kind]}\n")
    marker = uuid.uuid4().hex
    environment = {**os.environ, "MARKER": marker}
    with (tmp_path / "said").open("w+") as said:
        done = subprocess.run(
            [sys.executable, "parent.py"], cwd=tmp_path, env=environment, check=False, stdout=said, stderr=said
        )
    assert done.returncode == -signal.SIGKILL, (tmp_path / "said").read_text()
    end = time.monotonic() + 60
    while (left := alive(marker)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left


REAPERS = {
    "ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n",
    "reaped": "import threading, time\ndef reap():\n    while True:\n        try:\n            os.waitpid(-1, 0)\n"
    "        except ChildProcessError:\n            time.sleep(0.001)\nthreading.Thread(target=reap, daemon=True).start()\n",
}
SERVED = {
    "fleet": f"from fxscope.fleet import run, sources\nmade = run.digests(sources.listed([{str(JOB)!r}]))\n"
    "print(len(made) > 1 and all(item.num_events for item in made))",
    "target": "from fxscope._torch.target import child\n"
    "print(bool(child.record('factory.py:make', target='h200').calls))",
    "forked target": "import torch\nfrom fxscope._torch.target import child\n"
    "class Here(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    "print(bool(child.record(Here(), torch.ones(4), target='h200').calls))",
}


@pytest.mark.slow
@pytest.mark.parametrize("reaper", REAPERS)
@pytest.mark.parametrize("kind", SERVED)
def test_a_parent_that_collects_no_child_is_served(kind: str, reaper: str, tmp_path: Path) -> None:
    (tmp_path / "factory.py").write_text(FACTORY.format(""))
    (tmp_path / "parent.py").write_text(f"import os, signal\n{REAPERS[reaper]}{SERVED[kind]}\n")
    done = run_python("parent.py", cwd=tmp_path)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fleet", "target"])
def test_no_child_imports_from_the_current_folder(kind: str, tmp_path: Path) -> None:
    for name in ("json", "runpy", "signal", "ctypes", "msgspec", "contextlib", "random", "resource", "wasmtime"):
        (tmp_path / f"{name}.py").write_text(f"open('imported', 'a').write({name!r})\nraise SystemExit(7)\n")
    (tmp_path / "factory.py").write_text("")
    other = tmp_path / "programs"
    other.mkdir()
    (other / "factory.py").write_text(FACTORY.format(""))
    arguments = {
        "fleet": ["fleet", str(JOB)],
        "target": ["run", "programs/factory.py:make", "--target", "h200", "-o", "plan.fxscope"],
    }[kind]
    # As the console script does: nothing of the current folder is on the path of the parent.
    code = "import sys; del sys.path[0]; from fxscope import cli; sys.exit(cli.main(sys.argv[1:]))"
    done = run_python("-c", code, *arguments, cwd=tmp_path, PYTHONPATH=children.PACKAGES)
    assert done.returncode == 0 and not (tmp_path / "imported").exists(), done.stderr
