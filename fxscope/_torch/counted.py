"""A program's second run, under Nsight Compute: it runs as in the recording, and counts from one mark to another.

Nothing is profiled here: CUPTI serves one of the two at a time.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from fxscope._torch import running, steps
from fxscope._torch.inductor import InductorCapture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BEFORE = 3  # of a model: the call that compiles, the one whose memory is measured, and the profiler's own warm-up


class Bounds(NamedTuple):
    """Between which marks to count: the n-th end of an optimizer's step or the n-th call; None: the program's own ends."""

    begin: tuple[str, int] | None
    end: tuple[str, int] | None


def bounds(edges: str | None, number: int) -> Bounds:
    """Return what bounds a program's step, by its number and by what its steps begin with (`StepPlan.edges`)."""
    if edges == "optimizer":
        end = (steps.STEP_ENDS, number + 1)
        return Bounds((steps.STEP_ENDS, number) if number else (steps.CALL_BEGINS, 1), end)
    if edges == "call":
        return Bounds((steps.CALL_BEGINS, number + 1), (steps.CALL_BEGINS, number + 2))
    return Bounds((steps.CALL_BEGINS, 1) if edges == "first call" else None, None)


class CountedStep:
    """Has Nsight Compute count between two marks; at the second one the process has done its work and ends as by `sys.exit`."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._heard: dict[str, int] = {}
        self._counting = False
        self._inside = 0  # of so many modules

    def open(self) -> None:
        steps.listeners.append(self._hear)
        self._calls = torch.nn.modules.module.register_module_forward_pre_hook(self._called)
        self._ends = torch.nn.modules.module.register_module_forward_hook(self._returned, always_call=True)
        if self._bounds.begin is None:
            self._begin()

    def close(self) -> None:
        """End at the end of the program."""
        steps.listeners.remove(self._hear)
        self._calls.remove()
        self._ends.remove()
        if self._counting:
            self._end()

    def _called(self, module: Any, _: Any) -> None:
        self._inside += 1
        if self._inside == 1:
            steps.mark(f"{steps.CALL_BEGINS} {type(module).__name__}")

    def _returned(self, *_: Any) -> None:
        self._inside -= 1

    def _hear(self, name: str) -> None:
        kind = steps.CALL_BEGINS if name.startswith(steps.CALL_BEGINS) else name
        self._heard[kind] = self._heard.get(kind, 0) + 1
        if self._counting and (kind, self._heard[kind]) == self._bounds.end:
            self._end()
            raise SystemExit  # the rest of the program was run once, and its effects once are enough
        if not self._counting and (kind, self._heard[kind]) == self._bounds.begin:
            self._begin()

    def _begin(self) -> None:
        self._counting = True
        start()

    def _end(self) -> None:
        self._counting = False
        stop()


def start() -> None:
    """Have Nsight Compute count what is launched from here on."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()  # pyright: ignore[reportOptionalMemberAccess]


def stop() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()  # pyright: ignore[reportOptionalMemberAccess]


def count_model(
    model: Any,
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    compile: bool | str | Mapping[str, Any],
    backward: bool,
    warmup: int,
    bypass_caches: bool,
) -> None:
    """Call a model as often as a recording does before its first step, and count the next call."""
    options = running.compile_options(compile)
    run = running.runner(model, inputs, dict(kwargs), backward=backward, compile_options=options)
    as_recorded = InductorCapture(bypass_caches=bypass_caches or options is None)
    with as_recorded as capture, running.fresh_dynamic_state(capture.hooks) if options is not None else nullcontext():
        for _ in range(BEFORE + warmup):
            run()
        start()
        run()
        stop()
