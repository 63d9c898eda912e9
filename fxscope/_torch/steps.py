"""Where a program's steps end, when enough of them were seen, and how long the others took.

A step ends where the first optimizer's `step` returns; a program without one has no steps that can be known while it
runs (its repetitions are found afterwards, in what was seen). Each end is an event in the trace. When enough steps were
seen, the observation ends; from there on a step costs one time stamp, counted in a histogram of constant size.
"""

from __future__ import annotations

import functools
import heapq
import math
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import torch

from fxscope._torch.hooks import resolve
from fxscope.model import StepTimes

if TYPE_CHECKING:
    from collections.abc import Callable

    from fxscope._torch.hooks import Hooks

STEP_ENDS = "fxscope: step ends"  # events in the trace
CALL_BEGINS = "fxscope: call begins of"
RECORDING_ENDS = "fxscope: recording ends"
OPTIMIZER_HOOK = "torch.optim.optimizer:register_optimizer_step_post_hook"
listeners: list[Callable[[str], None]] = []  # told of each mark
_PER_E = 100  # buckets per factor e: each is 1 % wide
_SLOWEST = 8


def mark(name: str) -> None:
    """Leave an event in the trace, without going through the dispatcher."""
    for listener in listeners:
        listener(name)
    with torch._C._profiler._RecordFunctionFast(name):
        pass


class Durations:
    """Durations in nanoseconds, counted in buckets 1 % wide; the slowest ones by their number. Memory is bounded."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self._buckets: dict[int, int] = {}
        self._slowest: list[tuple[int, int]] = []

    def add(self, duration: int) -> None:
        self.count += 1
        self.total += duration
        bucket = int(math.log(duration or 1) * _PER_E)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1
        if len(self._slowest) < _SLOWEST:
            heapq.heappush(self._slowest, (duration, self.count))
        elif duration > self._slowest[0][0]:
            heapq.heapreplace(self._slowest, (duration, self.count))

    def quantile(self, share: float) -> float:
        """A duration that this share lies below, in µs, to half a per cent; there must be one."""
        wanted, passed = share * self.count, 0
        for bucket in sorted(self._buckets):
            passed += self._buckets[bucket]
            if passed >= wanted:
                return math.exp((bucket + 0.5) / _PER_E) / 1e3
        raise ValueError("nothing was counted")

    def summary(self, first: int) -> StepTimes | None:
        """The statistics; `first` is the number of the first counted step in the program."""
        if not self.count:
            return None
        slowest = sorted(self._slowest, reverse=True)
        return StepTimes(
            count=self.count,
            total_us=self.total / 1e3,
            median_us=self.quantile(0.5),
            p5_us=self.quantile(0.05),
            p95_us=self.quantile(0.95),
            max_us=slowest[0][0] / 1e3,
            slowest=tuple((first + number - 1, duration / 1e3) for duration, number in slowest),
        )


class StepWatch:
    """Counts the steps of a program by its optimizer.

    Args:
        enough: called once, in the thread that began, at the end of a step, when `is_enough` says so.
        is_enough: told the number of steps that ended.
    """

    def __init__(self, *, enough: Callable[[], None], is_enough: Callable[[int], bool]) -> None:
        self._enough, self._is_enough = enough, is_enough
        self._thread = threading.get_ident()
        self._optimizer: Any = lambda: None
        self._last = 0
        self.num_steps = 0
        self.num_observed = 0  # of them, before the observation ended
        self.ended_at: int | None = None  # perf_counter_ns, when it did
        self.durations = Durations()

    def start(self, hooks: Hooks) -> None:
        """Begin; the hook is torch's public one for every optimizer."""
        _, _, register = resolve(OPTIMIZER_HOOK)
        handle = register(functools.partial(hooks.guard, "optimizer steps", self._stepped))
        hooks.at_end("optimizer steps", handle.remove)

    def end_observation(self) -> None:
        """Say that from here on steps are only timed."""
        if self.ended_at is None:
            self.ended_at = self._last = time.perf_counter_ns()
            self.num_observed = self.num_steps

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        if torch.compiler.is_compiling() or threading.get_ident() != self._thread:
            return
        first = self._optimizer()
        if first is None:  # a new one, or the first one is gone: another phase of the program
            self._optimizer = weakref.ref(optimizer)
        elif first is not optimizer:
            return
        self.num_steps += 1
        if self.ended_at is None:
            mark(STEP_ENDS)
            if self._is_enough(self.num_steps):
                self._enough()
        else:
            now = time.perf_counter_ns()
            self.durations.add(now - self._last)
            self._last = now


def soon(function: Callable[[], None], ready: Callable[[], bool]) -> None:
    """Call a function at the first call or return of the program's when `ready()`, from outside of what is running now.

    A dispatch mode cannot end itself. Where the program has a profile function of its own (cProfile) nothing is called.
    """
    if sys.getprofile() is not None:
        return

    def look(*_: Any) -> None:
        if ready():
            sys.setprofile(None)
            function()

    sys.setprofile(look)
