"""Fxscope's own work prints nothing, uses up no warning of torch's, and takes no exception of the program's signal handlers."""

import contextlib
import ctypes
import functools
import signal
import threading
import traceback
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch

_NOT_HELD = "default_int_handler", "_sighandler_noop"  # of ctrl-C, and asyncio's, which hears through a file descriptor


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
    level.value = max(before, 2)  # errors alone
    try:
        yield
    finally:
        level.value = before
        torch.set_warn_always(always)
        shown &= told
        if item in filters:
            filters.remove(item)  # type: ignore[attr-defined]


@contextlib.contextmanager
def signals_held() -> Generator[None]:
    """Call the program's signal handlers after long work of fxscope's in the main thread: they may raise exceptions."""
    came: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()
    found: dict[int, Any] = {number: signal.getsignal(number) for number in signal.valid_signals() if in_main}
    held = {at: it for at, it in found.items() if callable(it) and getattr(it, "__name__", "") not in _NOT_HELD}
    try:
        for number in held:
            signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in came:  # not from here: what calls this may be a callback, in which exceptions are lost
            ctypes.pythonapi.Py_AddPendingCall(ctypes.pythonapi.PyErr_SetInterruptEx, ctypes.c_void_p(number))


def raised_by_handler(error: BaseException) -> bool:
    """Return whether a signal handler raised an exception, in whichever function Python called it."""
    handlers = filter(callable, map(signal.getsignal, signal.valid_signals()))
    called = ((it, getattr(it, "func", None), type(it).__call__) for it in handlers)
    codes = {getattr(function, "__code__", None) for functions in called for function in functions}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


@functools.cache
def log_level() -> ctypes.c_int:
    """Return what `TORCH_CPP_LOG_LEVEL` sets; a number of no consequence where this torch does not have it."""
    for name in ("libc10.so", "libc10.dylib", "c10.dll"):
        with contextlib.suppress(OSError, ValueError):
            return ctypes.c_int.in_dll(
                ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name)), "FLAGS_caffe2_log_level"
            )
    return ctypes.c_int()
