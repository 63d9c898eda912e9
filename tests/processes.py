"""Programs that run apart from the process of the tests."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_program(
    *words: object, cwd: Path | None = None, timeout_s: float = 300, typed: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program, with `typed` as its input; `environment` is added to this process's."""
    options: dict[str, Any] = {"cwd": cwd, "input": typed, "timeout": timeout_s, "env": {**os.environ, **environment}}
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **options)


def run_python(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return run_program(sys.executable, *words, **options)


def printed(*words: object, **options: Any) -> str:
    done = run_python(*words, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout
