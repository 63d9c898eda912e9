"""The signals of a program that come while its recording ends: what their handlers raise would cost the recording."""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_HELD_S = 60  # longer none waits: an alarm may be there to end what hangs
_WORD = "fxscope: finishing the recording first; ctrl-C again ends that, too\n"


def handlers() -> dict[int, Any]:
    """What handles each signal now."""
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


class HeldSignals:
    """Between `hold` and `go_on` the signals that the program has a handler for wait; a second one of its kind does not.

    Args:
        others: handlers that are not the program's.
        without_children: whether SIGCHLD is of fxscope's own processes meanwhile, and forgotten.
    """

    def __init__(self, others: Mapping[int, Any], *, without_children: bool = False) -> None:
        self._others, self._without_children = others, without_children
        self._held: dict[int, Any] = {}
        self._came: list[int] = []
        self._done = _thread.allocate_lock()  # held while signals are

    def __enter__(self) -> None:
        try:
            self.hold()
        except BaseException:
            self.go_on()
            raise

    def __exit__(self, *_: object) -> None:
        self.go_on()

    def hold(self) -> None:
        if threading.current_thread() is not threading.main_thread() or not self._done.acquire(blocking=False):
            return  # they are held already
        for number, handler in handlers().items():
            is_child = number == getattr(signal, "SIGCHLD", None)
            if callable(handler) and handler != self._others.get(number) and (self._without_children or not is_child):
                self._held[number] = handler
                signal.signal(number, self._wait)

    def _wait(self, number: int, frame: Any) -> None:
        if number == getattr(signal, "SIGCHLD", None):
            return
        if number in self._came:
            self._held[number](number, frame)
            return
        self._came.append(number)
        if number == signal.SIGINT:
            with contextlib.suppress(OSError, ValueError, AttributeError):
                sys.stderr.write(_WORD)
        if hasattr(signal, "pthread_kill"):
            with contextlib.suppress(RuntimeError):  # a process may have no more threads
                _thread.start_new_thread(self._send_again, (_thread.get_ident(), number))

    def _send_again(self, thread: int, number: int) -> None:
        if not self._done.acquire(timeout=_HELD_S):
            signal.pthread_kill(thread, number)
        else:
            self._done.release()

    def go_on(self) -> None:
        """Give the program its handlers back, and those the signals that came; what one raises is raised."""
        if self._done.locked():
            self._done.release()
        for number, handler in self._held.items():
            if signal.getsignal(number) == self._wait:
                signal.signal(number, handler)
        while self._came:
            # Not by the signal itself: a wakeup descriptor (asyncio's) was told of it when it came.
            number = self._came.pop(0)
            self._held[number](number, sys._getframe())  # pyright: ignore[reportPrivateUsage]
