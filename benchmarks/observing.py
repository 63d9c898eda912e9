"""What observing costs, as ratios to plain torch and to a bare `torch.profiler`: `python benchmarks/observing.py [cpu|cuda]`.

A training step of transformer encoder layers, eager and compiled, on the CPU and, where there is one, a CUDA GPU. Every
way of running is timed in turn, several times, and the median of each is compared: all in one process, on one machine.
On the CPU the clock is the process's own, with one thread, so that what else runs there counts little.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from fxscope.capture import Recorder

ROUNDS, STEPS = 5, 10


class Program:
    """A model, and one step of its training."""

    def __init__(self, device: str, *, compiled: bool, layers: int | None = None) -> None:
        torch.manual_seed(0)
        most, width, batch = (6, 512, 32) if device == "cuda" else (2, 64, 4)
        layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.model: Any = torch.nn.TransformerEncoder(layer, layers or most, enable_nested_tensor=False).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.x = torch.randn(batch, 32, width, device=device)
        self.clock = time.perf_counter if device == "cuda" else time.process_time
        self.wait: Callable[[], None] = torch.cuda.synchronize if device == "cuda" else lambda: None
        if compiled:
            self.model = torch.compile(self.model)

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.model(self.x).sum().backward()
        self.optimizer.step()

    def seconds(self, steps: int = STEPS) -> float:
        """Seconds of a step; the device's work is waited for."""
        self.wait()
        start = self.clock()
        for _ in range(steps):
            self.step()
        self.wait()
        return (self.clock() - start) / steps


def bare(device: str, *, stacks: bool) -> Any:
    kinds = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    return profile(activities=kinds, record_shapes=True, with_stack=stacks, profile_memory=stacks)


def recorded(steps: int = 10_000) -> Recorder:
    return Recorder(max_seconds=600, steps=steps)


def step_under(program: Program, around: Callable[[], Any]) -> float:
    """Seconds of a step inside of what `around` makes; its beginning and end do not count."""
    with around():
        program.step()
        return program.seconds()


def steps(device: str, what: str) -> None:
    """Print a row of the table."""
    program = Program(device, compiled=what == "compiled")
    program.seconds(3)
    never = statistics.median(program.seconds() for _ in range(ROUNDS))  # no profiler was on so far
    ways: dict[str, Callable[[], float]] = {
        "profiler": lambda: step_under(program, lambda: bare(device, stacks=what == "eager")),
        "after it": lambda: step_under(program, nullcontext),
        "observed": lambda: step_under(program, recorded),
        "after that": lambda: step_under(program, nullcontext),
        "released": lambda: released(program),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            found[name].append(way())
    median = {name: statistics.median(times) for name, times in found.items()}
    plain = never if device == "cuda" else min(never, median["after it"])
    said = [f"{name} {median[name] / plain:.3f}x" for name in ways]
    print(f"{device} {what} step: plain {plain * 1e3:.2f} ms; {', '.join(said)} plain", flush=True)
    print(f"  observed is {median['observed'] / median['profiler']:.2f}x the profiler")


def released(program: Program) -> float:
    """Seconds of a step in a program that is still recorded, after its observation ended."""
    with recorded(1):
        program.seconds(4)
        return program.seconds()


def resident() -> float:
    """MB of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def whole(device: str, what: str) -> None:
    """Print how long the first step takes, and how long the end of an observation holds the program up."""
    firsts: list[float] = []
    for around in (nullcontext, lambda: recorded(2)):
        torch.compiler.reset()
        program = Program(device, compiled=what == "compiled", layers=2)
        program.clock = time.perf_counter
        with torch._inductor.config.patch(force_disable_caches=True), around():
            before = resident()
            times = [program.seconds(1) for _ in range(10)]
            firsts.append(times[0])
            ended = f"the end of the observation {max(times[1:]) - statistics.median(times):.2f} s, "
            ended += f"{resident() - before:.0f} MB more in use after it"
    print(
        f"{device} {what}: first step plain {firsts[0]:.1f} s, observed {firsts[1] / firsts[0]:.2f}x; {ended}",
        flush=True,
    )


def device_memory(device: str) -> None:
    """Print the peak of device memory of a recorded step as a ratio to the plain one."""
    program = Program(device, compiled=False)
    peaks: list[int] = []
    for around in (nullcontext, recorded):
        with around():
            program.seconds(2)
            torch.cuda.reset_peak_memory_stats()
            program.seconds(2)
            peaks.append(torch.cuda.max_memory_allocated())
    print(f"{device}: peak device memory {peaks[1] / peaks[0]:.3f}x plain")


WAYS: dict[str, Callable[[str, str], Any]] = {
    "plain": lambda *_: nullcontext(),
    "profiler": lambda device, what: bare(device, stacks=what == "eager"),
    "recorded": lambda *_: Recorder(),
}


def peak(device: str, what: str, way: str) -> None:
    """Print the peak of resident memory in MB, of four steps in one of the `WAYS`; a recording observes as many."""
    program = Program(device, compiled=what == "compiled")
    program.step()
    with WAYS[way](device, what):
        program.seconds(10 if way == "recorded" else 4)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def host_memory(device: str, what: str) -> None:
    """Print the peak of resident memory of a process as a ratio to the plain one, each in a process of its own."""
    found: dict[str, float] = {}
    for way in WAYS:
        command = [sys.executable, __file__, "peak", device, what, way]
        done = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(3)]
        found[way] = statistics.median(float(item.stdout) for item in done)
    said = [f"{way} {most / found['plain']:.3f}x" for way, most in found.items()]
    print(f"{device} {what}: peak host memory plain {found['plain']:.0f} MB; {', '.join(said[1:])} plain", flush=True)


def main(devices: list[str]) -> None:
    torch.set_num_threads(1)
    for device in devices:
        print(f"{device}: {torch.cuda.get_device_name() if device == 'cuda' else 'CPU'}, torch {torch.__version__}")
        for what in ("eager", "compiled"):
            steps(device, what)
            host_memory(device, what)
        whole(device, "compiled")
        if device == "cuda":
            device_memory(device)


if __name__ == "__main__" and sys.argv[1:2] == ["peak"]:
    torch.set_num_threads(1)
    peak(*sys.argv[2:])
elif __name__ == "__main__":
    main(sys.argv[1:] or (["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]))
