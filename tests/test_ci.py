"""`.ci/test_all` runs what failed once more: only what failed in this run, and only where that came to its end."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

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
