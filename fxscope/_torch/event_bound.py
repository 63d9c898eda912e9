"""The bound of what the profiler records in all threads together: its own count of events, looked at now and then.

The dispatch mode counts the ops of the thread that began the recording. The profiler records those of every thread, and
those inside of what the mode steps aside for; nobody would end that.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from fxscope._torch.profiler import every_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from fxscope._torch.hooks import Hooks

EVENTS_PER_OP = 10  # about what a compiled program records for each op that the mode sees; an eager one records 5 to 7
THREAD_START = "threading:Thread.start"
_BLOCK = 512  # events; a thread takes as many at once
# The number of blocks that were ever taken (torch/csrc/profiler/collection.h, `EventBlock`): nothing else tells how much
# is recorded before the session ends.
_BLOCKS = (
    "_ZZN5torch8profiler4impl19ThreadLocalSubqueue14TorchOpStorage10EventBlock"
    "INS1_21KinetoObserverContext5EventELm512EEC4EvE8counter_"
)
_LOOK_S = 0.05


@functools.cache
def _blocks() -> ctypes.c_uint64 | None:
    """The profiler's count; None where this torch does not show it."""
    name = {"darwin": "libtorch_cpu.dylib", "win32": "torch_cpu.dll"}.get(sys.platform, "libtorch_cpu.so")
    try:
        return ctypes.c_uint64.in_dll(ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name)), _BLOCKS)
    except (OSError, ValueError):
        return None


class EventBound:
    """Has a session end that has recorded a number of events, beside the program, wherever that is.

    Args:
        most: events.
        reached: called once, in a thread of its own.
    """

    def __init__(self, most: int, reached: Callable[[], object]) -> None:
        self.most, self._reached = most, reached
        self._blocks = _blocks()
        self._first = self._blocks.value if self._blocks is not None else 0
        self._threads = len(sys._current_frames())  # pyright: ignore[reportPrivateUsage]
        # Locks of the interpreter's own: programs and their tests replace what `threading` and `time` have.
        self._ended, self._gone = _thread.allocate_lock(), _thread.allocate_lock()
        self._ended.acquire()
        self._looks = self._at_once = False

    def is_reached(self) -> bool:
        """Whether so much was recorded. The block that each thread has begun is not counted."""
        return self._blocks is not None and _BLOCK * (self._blocks.value - self._first - self._threads) >= self.most

    def start(self, hooks: Hooks, *, beside: bool = False) -> None:
        """Look from the first thread on that the program starts, or at once.

        Args:
            hooks: their end is this one's.
            beside: whether something runs already that no dispatch mode sees.
        """
        hooks.at_end("bound of events", self.stop)
        if self._blocks is None or every_thread() is None:
            return
        hooks.wrap(THREAD_START, before=self._another)
        if beside or self._threads > 1:
            self._look()

    def end_soon(self) -> None:
        """Have it end in a moment, if it is on by then, whatever was recorded."""
        self._at_once = True
        self._look()

    def stop(self) -> None:
        """Look no more, once what was begun is done."""
        if self._ended.locked():
            self._ended.release()
        with self._gone:
            pass

    def _another(self, *_: object) -> None:
        self._threads += 1
        self._look()

    def _look(self) -> None:
        def beside() -> None:
            try:
                self._watch()
            finally:  # whatever failed: `stop` waits for it
                self._gone.release()

        if not self._looks:
            self._looks = True
            self._gone.acquire()
            try:
                _thread.start_new_thread(beside, ())
            except BaseException:
                self._gone.release()
                raise

    def _watch(self) -> None:
        while not self._ended.acquire(timeout=_LOOK_S):
            if self._at_once or self.is_reached():
                self._reached()
                return
