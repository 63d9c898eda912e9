"""`.ci/test_all` runs what failed once more: only what failed in this run, and only where that came to its end.

`.ci/release` makes what a release publishes.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from fxscope import __version__
from tests.processes import run_program

SCRIPT = Path(__file__).parent.parent / ".ci" / "test_all"
WRITES = "printf '{\\n  \"a.py::b\": true\\n}' > .pytest_cache/v/cache/lastfailed\n"


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(
    ("run", "again", "status"),
    [
        ("exit 0", 1, 0),
        ("exit 1", 0, 1),
        (f"{WRITES}exit 1", 0, 0),
        (f"{WRITES}exit 1", 1, 2),
        (f"{WRITES}exit 2", 0, 1),
        (f"{WRITES}kill -TERM $$", 0, 1),
        (f"{WRITES}kill -TERM $PPID $$", 0, 1),
    ],
    ids=["passed", "it wrote nothing", "one failed", "it failed again", "interrupted", "ended", "its shell, too"],
)
def test_what_failed_is_run_again_where_that_run_came_to_its_end(
    run: str, again: int, status: int, tmp_path: Path
) -> None:
    (tmp_path / ".pytest_cache" / "v" / "cache").mkdir(parents=True)
    (tmp_path / ".pytest_cache" / "v" / "cache" / "lastfailed").write_text('{\n  "old.py::test": true\n}')
    (tmp_path / "Makefile").write_text("test-all:\n\tsh ./tests $(TESTS)\n")
    (tmp_path / "tests").write_text(f'case "$*" in *--lf*) exit {again};; esac\n{run}\n')
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    assert subprocess.run(["bash", SCRIPT], cwd=tmp_path, env=environment).returncode == status


@pytest.mark.slow
@pytest.mark.skipif(not all(map(importlib.util.find_spec, ("build", "twine"))), reason="needs build and twine")
def test_a_release_is_made_and_not_published(tmp_path: Path) -> None:
    done = run_program(SCRIPT.with_name("release"), tmp_path / "dist", sys.executable)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    source, wheel = f"fxscope-{__version__}.tar.gz", f"fxscope-{__version__}-py3-none-any.whl"
    assert {path.name for path in (tmp_path / "dist").iterdir()} == {source, wheel}
    with tarfile.open(tmp_path / "dist" / source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"setup.py", "fxscope/readers/trace/_scan.c", "fxscope/py.typed"} <= names
    assert not [name for name in names if name.startswith("tests/")]


def test_every_file_of_a_release_has_the_same_version() -> None:
    root = SCRIPT.parents[1]
    assert f"\nversion: {__version__}\n" in (root / "CITATION.cff").read_text()
    assert f'version: "{__version__}"' in (root / "packaging/conda/recipe.yaml").read_text()
    workflow = (root / ".github/workflows/release.yml").read_text()
    actions = re.findall(r"uses: (\S+)", workflow + (root / "action/action.yml").read_text())
    assert actions and all(re.search("@[0-9a-f]{40}$", action) for action in actions)  # a tag can be moved
    assert ".ci/release dist" in workflow and "id-token: write" in workflow and "password" not in workflow.split("#")[0]
