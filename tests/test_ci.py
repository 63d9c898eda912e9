"""`.ci/test_all` runs what failed once more: only what failed in this run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / ".ci" / "test_all"
WRITES = "printf '{\\n  \"a.py::b\": true\\n}' > .pytest_cache/v/cache/lastfailed; "


@pytest.mark.parametrize(("first", "status"), [("", 1), (WRITES, 0)], ids=["it was killed", "one test failed"])
def test_what_failed_in_an_earlier_run_stands_for_no_test_of_this_one(first: str, status: int, tmp_path: Path) -> None:
    (tmp_path / ".pytest_cache" / "v" / "cache").mkdir(parents=True)
    (tmp_path / ".pytest_cache" / "v" / "cache" / "lastfailed").write_text('{\n  "old.py::test": true\n}')
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\ncase "$*" in *--lf*) exit 0;; esac\n{first}exit 2\n')
    make.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    assert subprocess.run(["bash", SCRIPT], cwd=tmp_path, env={**os.environ, "PATH": path}).returncode == status
