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

_ERROR = 2  # a level of messages, above that of warnings


class _OfThisThread(type):
    """The class of categories that each warning of one thread belongs to."""

    thread: int

    def __subclasscheck__(cls, _: type) -> bool:
        return threading.get_ident() == cls.thread


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """Keep back this thread's warnings, and for the moment those that C++ code of torch's writes to stderr itself.

    `warnings.catch_warnings` would have the program's own warnings said again, and another file as descriptor 2 would
    stay with a process that is started meanwhile.
    """
    every: Any = _OfThisThread("every", (Warning,), {"thread": threading.get_ident()})
    item: Any = ("ignore", None, every, None, 0)
    filters, always, level = warnings.filters, torch.is_warn_always_enabled(), log_level()
    before = level.value
    shown: set[str] = getattr(torch.profiler.profiler, "_WARNINGS_SHOWN", set())
    told = set(shown)
    filters.insert(0, item)  # type: ignore[attr-defined]
    torch.set_warn_always(True)  # what torch says once is not used up
    level.value = max(before, _ERROR)
    try:
        yield
    finally:
        level.value = before
        torch.set_warn_always(always)
        shown &= told
        if item in filters:
            filters.remove(item)  # type: ignore[attr-defined]


@functools.cache
def log_level() -> ctypes.c_int:
    """Return what `TORCH_CPP_LOG_LEVEL` sets; a number of no consequence where this torch does not have it."""
    for name in ("libc10.so", "libc10.dylib", "c10.dll"):
        with contextlib.suppress(OSError, ValueError):
            return ctypes.c_int.in_dll(
                ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name)), "FLAGS_caffe2_log_level"
            )
    return ctypes.c_int()
