"""Processes of Python that fxscope starts: none outlives the one that started it, and none imports from the current folder.

    children.start("view", "a.fxscope", stdout=subprocess.PIPE)
    process, receiver = children.copy(function, argument)      # function(argument, sender), in a copy of this process

On Linux the child asks the kernel to be killed with the thread that started it: code between fork and exec may hang. An exit
code may be missing (SIGCHLD is ignored, or another thread collects children): the result says what became of the child.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fxscope.data import read_text

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

PACKAGES = str(Path(__file__).resolve().parents[1])

# `python -c` puts the current folder on the path: it is off before anything is imported.
_VERB = read_text("child.txt")


def start(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a verb (`words`) in a fresh Python, with this one's import folders but the current one. Raises OSError."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGES, *filter(None, given)])}
    command = [sys.executable, "-c", _VERB, str(getpid()), *words]
    return cast("subprocess.Popen[bytes]", subprocess.Popen(command, env=environment, **options))


def end_with(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it ends; end at once where that is over already."""
    if sys.platform == "linux":
        with contextlib.suppress(ImportError, AttributeError, OSError):  # no ctypes, or a C library without prctl
            import ctypes

            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


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
