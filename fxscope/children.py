"""Processes of Python that fxscope starts: none outlives the one that started it, and none imports from the current folder.

    children.start("fxscope", "view", "a.fxscope", stdout=subprocess.PIPE)
    process, receiver = children.copy(function, argument)      # function(argument, sender), in a copy of this process

On Linux the kernel kills a child with the thread that started it, whatever ended that; the child asks for it itself, because
code between fork and exec may hang where threads run. A parent that ignores SIGCHLD, or whose other threads collect every
child, leaves no exit code: what the child wrote says what became of it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fxscope import _begin
from fxscope._begin import end_with

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

PACKAGES = str(Path(__file__).resolve().parents[1])

# `python -c` puts the current folder on the path: it is off before anything is imported.
_MODULE = """import sys
sys.path[:] = [entry for entry in sys.path if entry]
with open(sys.argv.pop(1)) as file:
    exec(file.read())
end_with(int(sys.argv.pop(1)))
import runpy, signal
if hasattr(signal, "SIGCHLD"):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def start(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a module of fxscope in a fresh Python, with the folders that this one imports from except the current one.

    Args:
        module: "fxscope".
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


def copy(run: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """Run a function in a copy of this process (a fresh Python where that is not Linux); return it and what it sends.

    The function is given the arguments and a connection to send by. The copy has a session of its own: ctrl-C is this
    process's to answer.
    """
    import multiprocessing

    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_in_the_copy, args=(getpid(), run, arguments, sender))
    with sender, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of threads; the copy does not use them
        process.start()
    return process, receiver


def _in_the_copy(parent: int, run: Callable[..., None], arguments: tuple[Any, ...], sender: Connection) -> None:
    try:
        end_with(parent)
        if sys.platform != "win32":
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        run(*arguments, sender)
    finally:
        os._exit(0)  # whatever happened: never back into the caller's program


def received(receiver: Connection) -> Any:
    """The next object that a copy sent, `None` where it has ended."""
    try:
        return receiver.recv()
    except (EOFError, OSError):
        return None


def died(code: int) -> str:
    """Say how a process that should have answered ended: "died (SIGSEGV)", "ended with code 3"."""
    if code < 0:
        try:
            return f"died ({signal.Signals(-code).name})"
        except ValueError:
            return f"died (signal {-code})"
    return f"ended with code {code}" if code else "ended"
