"""Count the processes that a program starts while it is observed, leaving out what Inductor starts to compile."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fxscope.model import Unobserved
from fxscope.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from fxscope._torch.hooks import Hooks

START = "multiprocessing.process:BaseProcess.start"
POPEN = "subprocess:Popen.__init__"
# Whoever compiles: what they start is theirs.
_COMPILERS = ("/torch/_inductor/", "/torch/_dynamo/", "/torch/utils/cpp_extension.py", "/triton/", "/fxscope/")
_LOADER = "/torch/utils/data/dataloader.py"
_MARKS = ("multiprocessing/resource_tracker.py", "multiprocessing/forkserver.py")  # Python's own helpers
_RUNS_SCRIPTS = str(Path(__file__).parents[1] / "commands" / "script.py")
_OWN = (__file__, str(Path(__file__).with_name("hooks.py")))
KINDS = {
    "worker": ("DataLoader worker", "DataLoader workers"),
    "process": ("process of multiprocessing", "processes of multiprocessing"),
    "fork": ("forked process", "forked processes"),
    "command": ("command", "commands"),
}


class Processes:
    """Counts what is started."""

    def __init__(self) -> None:
        self.started: dict[str, int] = {}
        self._inside = False  # of one that is being started: what it calls is not another

    def start(self, hooks: Hooks) -> None:
        """Begin; the hooks' end is this one's."""
        self._hooks = hooks
        hooks.wrap(START, around=self._start)
        hooks.wrap(POPEN, before=lambda *_, **__: self._count("command"))
        _watching.append(self)
        hooks.at_end("forks", functools.partial(_watching.remove, self))
        _watch_forks()

    def unobserved(self) -> list[Unobserved]:
        """Return what was started."""
        parts = [f"{count:,} {KINDS[kind][count != 1]}" for kind, count in self.started.items()]
        if not parts:
            return []
        return [Unobserved(what="children", count=sum(self.started.values()), detail=f"{listed(parts)}, not followed")]

    def _start(self, original: Callable[..., Any], process: Any, *args: Any, **kwargs: Any) -> Any:
        if self._inside:
            return original(process, *args, **kwargs)
        self._hooks.guard("child processes", self._count, "process")
        self._inside = True
        try:
            return original(process, *args, **kwargs)
        finally:
            self._inside = False

    def forks(self) -> None:
        self._hooks.guard("child processes", self._count, "fork")

    def _count(self, kind: str) -> None:
        if self._inside:
            return
        files = self._callers()
        if kind == "process" and any(file.endswith(_LOADER) for file in files):
            kind = "worker"
        if not any(mark in file for file in files for mark in (*_COMPILERS, *_MARKS)):
            self.started[kind] = self.started.get(kind, 0) + 1

    def _callers(self) -> list[str]:
        """The files of the frames that led here, the nearest first, without fxscope's around the program."""
        files: list[str] = []
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != _RUNS_SCRIPTS:
            if frame.f_code.co_filename not in _OWN:
                files.append(frame.f_code.co_filename.replace("\\", "/"))
            frame = frame.f_back
        return files


_watching: list[Processes] = []


@functools.cache
def _watch_forks() -> None:
    """Count what is forked; `os.fork` itself stays as it is."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: [watch.forks() for watch in _watching])
