"""Fxscope's own work says nothing, and what torch says once a process stays to be said to the program."""

import contextlib
import ctypes
import functools
import threading
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch

# Library of torch → its variable for the least level of messages, and a level above warnings and Kineto's remarks.
_LEVELS = {"c10": ("FLAGS_caffe2_log_level", 2), "torch_cpu": ("_ZN9libkineto6Logger14severityLevel_E", 9)}


class _OfThisThread(type):
    """The class of categories that each warning of one thread belongs to."""

    thread: int

    def __subclasscheck__(cls, _: type) -> bool:
        return threading.get_ident() == cls.thread


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """Keep back this thread's warnings, and for the moment those that C++ code of torch's and Kineto write to stderr.

    `warnings.catch_warnings` would have the program's own warnings said again, and another file as descriptor 2 would
    stay with a process that is started meanwhile.
    """
    every: Any = _OfThisThread("every", (Warning,), {"thread": threading.get_ident()})
    item: Any = ("ignore", None, every, None, 0)
    filters, always, levels = warnings.filters, torch.is_warn_always_enabled(), log_levels()
    before = [level.value for level, _ in levels]
    shown: set[str] = getattr(torch.profiler.profiler, "_WARNINGS_SHOWN", set())
    told = set(shown)
    filters.insert(0, item)  # type: ignore[attr-defined]
    torch.set_warn_always(True)  # what torch says once is not used up
    for level, least in levels:
        level.value = max(level.value, least)
    try:
        yield
    finally:
        for (level, least), value in zip(levels, before, strict=True):
            if level.value == least:  # the first session sets Kineto's
                level.value = value
        torch.set_warn_always(always)
        shown &= told
        if item in filters:
            filters.remove(item)  # type: ignore[attr-defined]


@functools.cache
def log_levels() -> list[tuple[ctypes.c_int, int]]:
    """Return the variables that this torch has of those that `TORCH_CPP_LOG_LEVEL` and `KINETO_LOG_LEVEL` set."""
    found: list[tuple[ctypes.c_int, int]] = []
    for library, (name, least) in _LEVELS.items():
        for file in (Path(torch.__file__).parent / "lib").glob(f"*{library}.[sd]*"):
            with contextlib.suppress(OSError, ValueError):
                found.append((ctypes.c_int.in_dll(ctypes.CDLL(str(file)), name), least))
    return found
