"""Programs that run apart from the process of the tests."""

import os
import subprocess
import sys
from pathlib import Path


def run_python(
    *words: object, cwd: Path | None = None, timeout_s: float = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run this Python with these words; `environment` is added to this process's."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
