"""Wall time of a call without a profiler, and how far its result is from float32."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_map

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
    calls = max(1, min(MAX_CALLS, int(BUDGET_S / BLOCKS / max(1e-7, first / 1e9))))
    num_blocks = min(BLOCKS, int(BUDGET_S * 1e9 / (first * calls)))
    samples = [_block(run, calls) for _ in range(num_blocks)] or [first]
    for sample in samples:
        durations.add(sample)
    return durations.summary(0, when="calls", calls=calls if num_blocks else 1)


def _block(run: Callable[[], Any], calls: int) -> int:
    """Nanoseconds per call."""
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
    start = time.perf_counter()
    run()
    synchronize()
    first = time.perf_counter() - start
    for _ in range(3):
        run()
    synchronize()
    calls = max(1, min(MAX_CALLS, int(BLOCK_S * 1e9 / _block(run, 1))))
    return tuple(_block(run, calls) / 1e3 for _ in range(repeats)), first


def error_against_float32(
    model: Any, inputs: Sequence[Any], kwargs: Mapping[str, Any], *, compile: Any
) -> tuple[float | None, float | None]:
    """(largest, relative root-mean-square) difference of the result from the same weights in float32.

    Both `None` where the model is no module, has no single tensor of elements as its result, or cannot run in float32.
    """
    if not isinstance(model, torch.nn.Module):
        return None, None

    def call(model: Any, inputs: Any, kwargs: Any, compile: Any) -> Any:
        options = running.compile_options(compile)
        return running.runner(model, inputs, kwargs, backward=False, compile_options=options)()

    try:
        result = call(model, inputs, kwargs, compile)
        exact = call(copy.deepcopy(model).float(), tree_map(as_float32, inputs), tree_map(as_float32, kwargs), None)
    except Exception:
        # A model that insists on its dtype, or is too large twice: then the error is not known, and that is said.
        return None, None
    if not isinstance(result, torch.Tensor) or not isinstance(exact, torch.Tensor) or not exact.is_floating_point():
        return None, None
    if result.shape != exact.shape or not exact.numel():
        return None, None
    difference = result.float() - exact
    scale = exact.pow(2).mean().sqrt().item()
    error = difference.pow(2).mean().sqrt().item()
    return difference.abs().max().item(), error / scale if scale else None


def as_float32(value: Any) -> Any:
    """Floating-point tensors in float32, anything else as it is."""
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def reset() -> None:
    """Forget what was compiled: each point of a sweep compiles for its own shape."""
    torch.compiler.reset()
