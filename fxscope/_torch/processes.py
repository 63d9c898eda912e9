"""The processes that a program starts while it is observed: counted, and recorded each where that is asked for.

A process that `multiprocessing` starts anew (spawn, forkserver) can be recorded: its target is called inside a recording
of its own, which is written when it returns. One that is forked cannot: Kineto has lost its thread there. What Inductor
starts to compile is no part of the program.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
from multiprocessing import process as mp_process
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
    """Counts what is started; with `follow`, has each record itself to a file beside that one.

    Args:
        follow: the file.
        title: of the recording.
        recorded: makes of a process's target, a path and a title a target that records itself.
    """

    def __init__(self, follow: Path | None, title: str, recorded: Callable[[Any, str, str], Any]) -> None:
        self.follow, self.title, self._recorded = follow, title, recorded
        self.started: dict[str, int] = {}
        self.followed: dict[Path, int | None] = {}  # when a file of that name was written before, if there was one
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
        """What was started and is in no recording."""
        parts = [f"{count:,} {KINDS[kind][count != 1]}" for kind, count in self.started.items()]
        found: list[Unobserved] = []
        if parts:
            count = sum(self.started.values())
            found.append(Unobserved(what="children", count=count, detail=f"{listed(parts)}, not followed"))
        kept = [path for path, before in self.followed.items() if _written(path) != before]
        for paths, what, words in (
            (kept, "followed children", "recorded beside it"),
            ([path for path in self.followed if path not in kept], "children", "without a recording"),
        ):
            if paths:
                names = paths[0].name + (f" to {paths[-1].name}" if len(paths) > 1 else "")
                detail = f"{len(paths):,} {KINDS['process'][len(paths) != 1]} {words} ({names})"
                found.append(Unobserved(what=what, count=len(paths), detail=detail))
        return found

    def _start(self, original: Callable[..., Any], process: Any, *args: Any, **kwargs: Any) -> Any:
        if self._inside:
            return original(process, *args, **kwargs)
        self._hooks.guard("child processes", self._begins, process)
        self._inside = True
        try:
            return original(process, *args, **kwargs)
        finally:
            self._inside = False

    def forks(self) -> None:
        self._hooks.guard("child processes", self._count, "fork")

    def _begins(self, process: Any) -> None:
        files = self._callers()
        if any(mark in file for file in files for mark in _COMPILERS):
            return
        method = getattr(type(process), "_start_method", None) or multiprocessing.get_start_method(allow_none=True)
        target = getattr(process, "_target", None)
        plain = type(process).run is mp_process.BaseProcess.run and target is not None
        if self.follow is not None and plain and method in ("spawn", "forkserver"):
            path = self.follow.with_name(f"{self.follow.stem}.{process.name}.fxscope".replace(":", "-"))
            process._target = self._recorded(target, str(path), f"{self.title}, {process.name}")
            self.followed[path] = _written(path)
            return
        kind = "worker" if any(file.endswith(_LOADER) for file in files) else "process"
        self.started[kind] = self.started.get(kind, 0) + 1

    def _count(self, kind: str) -> None:
        if self._inside:
            return
        files = self._callers()
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


def _written(path: Path) -> int | None:
    """When a file was written, in nanoseconds; None where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
