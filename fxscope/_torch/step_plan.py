"""The plan of an observation: which stretches of a program are steps, and which are kept whole."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

REPEATS = 3  # fewer calls of a model are no steps
DEFAULT_STEPS = 3


class Span(NamedTuple):
    """From one time to another, in microseconds on the trace's clock; `number` counts the program's steps from 0."""

    number: int
    start: float
    end: float


class StepPlan(NamedTuple):
    """The steps to keep; where `kept` is empty the program has no steps and the whole of it is one."""

    kept: tuple[Span, ...] = ()
    others: tuple[Span, ...] = ()  # warm-up, and repetitions beyond those that are kept
    start_up: Span | None = None  # what ran before the first step
    edges: str | None = None  # what a step begins with: the end of an "optimizer"'s, a "call", the "first call" of all


def plan(
    ops: list[tuple[float, str]],
    *,
    begins: float,
    ends: float,
    calls: list[tuple[float, str]],
    step_ends: list[float],
    warmup: int | None = None,
    keep: int = DEFAULT_STEPS,
    skip_start: bool = False,
) -> StepPlan:
    """The steps of a program: between the ends of `optimizer.step`, else by the calls of its one model.

    Args:
        ops: when each outermost op began, and its name, in order.
        begins, ends: of the trace.
        calls: when a module that no other module called first called an op, and which module it was.
        step_ends: when the optimizer returned.
        warmup: steps to leave out at first; by default one, where an optimizer makes at least three.
        keep: steps to keep of each kind (steps of the same ops are of a kind).
        skip_start: whether start-up is left out of a program without steps, too.
    """
    starts = [start for start, _ in ops]
    if len(step_ends) >= 2:
        edges = [min(calls[0][0], step_ends[0]) if calls else begins, *step_ends]
        # What follows the last step is work as well, an evaluation or a step that was cut off, if the model is called in
        # it; reading the loss is none.
        if calls and calls[-1][0] > step_ends[-1]:
            edges.append(ends)
        warmup = (1 if len(step_ends) >= REPEATS else 0) if warmup is None else warmup
        what = "optimizer"
    elif len(calls) >= REPEATS and len({name for _, name in calls}) == 1:
        edges = [*(start for start, _ in calls), ends]
        what = "call"
    elif skip_start and calls:
        edges = [calls[0][0], ends]
        what = "first call"
    else:
        return StepPlan()
    spans = [Span(index, start, end) for index, (start, end) in enumerate(pairwise(edges))]
    start_up = Span(-1, begins, edges[0]) if edges[0] > begins else None
    return _chosen(spans, ops, starts, start_up, min(warmup or 0, len(spans) - 1), keep)._replace(edges=what)


def _chosen(
    spans: list[Span], ops: list[tuple[float, str]], starts: list[float], start_up: Span | None, warmup: int, keep: int
) -> StepPlan:
    kept: list[Span] = []
    others: list[Span] = spans[:warmup]
    of_a_kind: dict[tuple[str, ...], int] = {}
    for span in spans[warmup:]:
        kind = tuple(name for _, name in ops[bisect_left(starts, span.start) : bisect_left(starts, span.end)])
        of_a_kind[kind] = of_a_kind.get(kind, 0) + 1
        (kept if of_a_kind[kind] <= keep and kind else others).append(span)
    return StepPlan(tuple(kept), tuple(others), start_up)
