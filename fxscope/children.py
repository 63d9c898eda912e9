"""Processes that fxscope starts: none outlives the one that started it, and none imports from the current folder.

    children.run(["g++", "-E", "-"], input=text, timeout=60)
    children.start("fxscope.fleet.worker", stdin=subprocess.PIPE)

On Linux the kernel kills a child with the thread that started it, whatever ended that; the child asks for it itself, because
code between fork and exec may hang where threads run. A parent that ignores SIGCHLD, or whose other threads collect every
child, leaves no exit code: what the child wrote says what became of it.
"""

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import Any, cast

from fxscope import _begin
from fxscope._begin import end_with

PACKAGES = str(Path(__file__).resolve().parents[1])

# `python -c` puts the current folder on the path: it is off before anything is imported.
_BEGIN = """import sys
sys.path[:] = [entry for entry in sys.path if entry]
with open(sys.argv.pop(1)) as file:
    exec(file.read())
end_with(int(sys.argv.pop(1)))
"""
_PROGRAM = f"{_BEGIN}os.execv(sys.argv[1], sys.argv[1:])\n"
_MODULE = f"""{_BEGIN}import runpy, signal
if hasattr(signal, "SIGCHLD"):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def run(
    command: Sequence[str],
    *,
    input: bytes | None = None,
    timeout: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end and return what it wrote; without input it reads nothing.

    Raises:
        OSError: there is no such program.
        subprocess.TimeoutExpired: it took longer, and was killed.
    """
    path = command[0] if Path(command[0]).is_absolute() else shutil.which(command[0])
    if path is None or not Path(path).is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    command = [path, *command[1:]]
    if sys.executable and sys.platform == "linux":
        command = [sys.executable, "-I", "-S", "-c", _PROGRAM, _begin.__file__, str(getpid()), *command]
    nothing = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
    variables = None if environment is None else {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, timeout=timeout, check=False, env=variables, **nothing)  # type: ignore[call-overload]


def start(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a module of fxscope in a fresh Python, with the folders that this one imports from except the current one.

    Args:
        module: "fxscope.fleet.worker".
        arguments: what it is given.
        environment: variables beside this process's own.
        options: of `subprocess.Popen`.

    Raises:
        OSError: there is no Python to start.
    """
    given = {**os.environ, **(environment or {})}.get("PYTHONPATH", "").split(os.pathsep)
    environment = {**os.environ, **(environment or {}), "PYTHONPATH": os.pathsep.join([PACKAGES, *filter(None, given)])}
    command = [sys.executable, "-c", _MODULE, _begin.__file__, str(getpid()), module, *arguments]
    return cast("subprocess.Popen[bytes]", subprocess.Popen(command, env=environment, **options))


def begin_copy(parent: int) -> None:
    """Do in a forked copy what a started process does."""
    end_with(parent)
    with contextlib.suppress(AttributeError, ValueError):  # no such signal here; another thread than the main one
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def died(code: int) -> str:
    """Say how a process that should have answered ended: "died (SIGSEGV)", "ended with code 3"."""
    if code < 0:
        try:
            return f"died ({signal.Signals(-code).name})"
        except ValueError:
            return f"died (signal {-code})"
    return f"ended with code {code}" if code else "ended"
