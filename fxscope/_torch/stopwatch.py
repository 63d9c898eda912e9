"""Wall time of a call without a profiler."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch

from fxscope._torch import running
from fxscope._torch.steps import Durations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fxscope.model import StepTimes

BLOCK_S = 0.02  # one sample is the mean over calls that take about this long together
MAX_CALLS = 200
BUDGET_S = 0.3  # of the calls that are made only to be timed
BLOCKS = 10


def synchronize() -> None:
    """Wait for the GPU, where there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def times_of_calls(run: Callable[[], Any]) -> StepTimes | None:
    """Time calls of a warm function as a training loop runs them: blocks of calls between two synchronisations.

    One call is made in any case, more as far as `BUDGET_S` reaches; a sample is the mean over a block.
    """
    durations = Durations()
    synchronize()
    first = _block(run, 1)
    calls = _calls_in(BUDGET_S / BLOCKS, first)
    num_blocks = min(BLOCKS, int(BUDGET_S * 1e9 / (first * calls)))
    samples = [_block(run, calls) for _ in range(num_blocks)] or [first]
    for sample in samples:
        durations.add(sample)
    return durations.summary(0, when="calls", calls=calls if num_blocks else 1)


def _calls_in(seconds: float, each_ns: int) -> int:
    """Return how many calls of this length a block holds."""
    return max(1, min(MAX_CALLS, int(seconds * 1e9 / each_ns)))


def _block(run: Callable[[], Any], calls: int) -> int:
    """Nanoseconds per call, at least one."""
    start = time.perf_counter_ns()
    for _ in range(calls):
        run()
    synchronize()
    return max(1, (time.perf_counter_ns() - start) // calls)


def wall_samples(
    model: Any, inputs: Sequence[Any], kwargs: Mapping[str, Any], *, compile: Any, repeats: int, backward: bool = False
) -> tuple[tuple[float, ...], float]:
    """(µs per call, one sample per repeat; seconds of the first call).

    A sample is a block of calls between two synchronisations: what a program that does not wait for each call sees.
    """
    run = running.runner(model, inputs, kwargs, backward=backward, compile_options=running.compile_options(compile))
    first = _block(run, 1) / 1e9
    _block(run, 3)
    calls = _calls_in(BLOCK_S, _block(run, 1))
    samples = tuple(_block(run, calls) / 1e3 for _ in range(repeats))
    torch.compiler.reset()  # the next one compiles for its own shape
    return samples, first
