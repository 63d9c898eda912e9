"""Count the processes that a program starts while it is observed, leaving out what compilers start."""

from __future__ import annotations

import functools
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from fxscope.model import Unobserved
from fxscope.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from fxscope._torch.hooks import Hooks

START = "multiprocessing.process:BaseProcess.start"
POPEN = "subprocess:Popen.__init__"
_COMPILERS = ("/torch/_inductor/", "/torch/_dynamo/", "/torch/utils/cpp_extension.py", "/triton/")
_LOADER = "torch.utils.data._utils.worker"
KINDS = {
    "worker": ("DataLoader worker", "DataLoader workers"),
    "process": ("process of multiprocessing", "processes of multiprocessing"),
    "fork": ("forked process", "forked processes"),
    "command": ("command", "commands"),
}


class Processes:
    """Counts what is started."""

    def __init__(self) -> None:
        self.started: Counter[str] = Counter()
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
        detail = f"{listed(parts)}, not followed"
        return [Unobserved(what="children", count=self.started.total(), detail=detail)] if parts else []

    def _start(self, original: Callable[..., Any], process: Any, *args: Any, **kwargs: Any) -> Any:
        is_worker = getattr(getattr(process, "_target", None), "__module__", None) == _LOADER
        self._count("worker" if is_worker else "process")
        outer, self._inside = self._inside, True
        try:
            return original(process, *args, **kwargs)
        finally:
            self._inside = outer

    def forks(self) -> None:
        self._hooks.guard("child processes", self._count, "fork")

    def _count(self, kind: str) -> None:
        frame: Any = None if self._inside else sys._getframe(1)
        while frame is not None and not any(mark in frame.f_code.co_filename for mark in _COMPILERS):
            frame = frame.f_back
        if frame is None and not self._inside:
            self.started[kind] += 1


_watching: list[Processes] = []


@functools.cache
def _watch_forks() -> None:
    """Count what is forked; `os.fork` itself stays as it is."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: [watch.forks() for watch in _watching])
