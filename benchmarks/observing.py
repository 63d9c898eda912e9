"""What observing costs, as ratios to plain torch and to a bare `torch.profiler`: `python benchmarks/observing.py`.

A training step of transformer encoder layers, eager and compiled, on the CPU and, where there is one, a CUDA GPU. Every
way of running is timed in turn, several times, and the median of each is compared: all in one process, on one machine.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.profiler import ProfilerActivity, profile

from fxscope.capture import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, STEPS = 3, 10


class Program:
    """A model, and one step of its training."""

    def __init__(self, device: str, *, compiled: bool) -> None:
        torch.manual_seed(0)
        layers, width, batch = (6, 512, 32) if device == "cuda" else (2, 64, 4)
        layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.model: Any = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(device)
        self.x = torch.randn(batch, 32, width, device=device)
        self.device = device
        if compiled:
            self.model = torch.compile(self.model)

    def step(self) -> None:
        self.model.zero_grad()
        self.model(self.x).sum().backward()

    def seconds(self, steps: int = STEPS) -> float:
        """Seconds of a step; the device's work is waited for."""
        wait = torch.cuda.synchronize if self.device == "cuda" else lambda: None
        wait()
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        wait()
        return (time.perf_counter() - start) / steps


def kinds(device: str) -> list[Any]:
    return [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])


def median_of(program: Program, around: Callable[[], Any]) -> float:
    """Seconds of a step inside of what `around` makes, the median of the rounds; its beginning and end do not count."""
    found: list[float] = []
    for _ in range(ROUNDS):
        with around():
            program.step()
            found.append(program.seconds())
    return statistics.median(found)


def cold_compile(device: str, around: Callable[[], Any]) -> float:
    torch.compiler.reset()
    program = Program(device, compiled=True)
    with torch._inductor.config.patch(force_disable_caches=True), around():
        return program.seconds(1)


def report(device: str) -> None:
    print(f"{device}: {torch.cuda.get_device_name() if device == 'cuda' else 'CPU'}, torch {torch.__version__}")
    recorded = lambda: Recorder(max_seconds=600, steps=10_000)  # noqa: E731
    for compiled in (False, True):
        what = "compiled" if compiled else "eager"
        program = Program(device, compiled=compiled)
        program.seconds(3)
        stacks = not compiled
        bare = lambda: profile(  # noqa: E731
            activities=kinds(device),
            record_shapes=True,
            with_stack=stacks,  # noqa: B023
            profile_memory=stacks,  # noqa: B023
        )
        plain = median_of(program, nullcontext)
        profiled = median_of(program, bare)
        observed = median_of(program, recorded)
        after = median_of(program, nullcontext)
        with_what = "shapes, stack and memory" if stacks else "shapes"
        print(
            f"  plain {what} step: {plain * 1e3:.2f} ms; under torch.profiler with {with_what}: {profiled / plain:.2f}x"
        )
        print(f"  observed {what} step: {observed / plain:.2f}x plain, {observed / profiled:.2f}x the profiler")
        print(f"  {what} step after the observation: {after / plain:.3f}x plain")
    cold = cold_compile(device, nullcontext)
    print(f"  cold compile: {cold:.1f} s; recorded {cold_compile(device, recorded) / cold:.2f}x")
    if device == "cuda":
        memory(device, recorded)
    scale = 1e6 if sys.platform != "darwin" else 1e9
    print(f"  peak memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale:.2f} GB")


def memory(device: str, around: Callable[[], Any]) -> None:
    """Print the peak of device memory of a recorded step as a ratio to the plain one."""
    program = Program(device, compiled=False)
    peaks: list[int] = []
    for context in (nullcontext, around):
        with context():
            program.seconds(2)
            torch.cuda.reset_peak_memory_stats()
            program.seconds(2)
            peaks.append(torch.cuda.max_memory_allocated())
    print(f"  peak device memory: {peaks[1] / peaks[0]:.3f}x plain")


if __name__ == "__main__":
    for name in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        report(name)
