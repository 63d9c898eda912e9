"""Steps of a program, as stretches of its time: between the ends of optimizer steps, or by rounds of equal calls."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from fxscope.index import grouped

REPEATS = 3  # fewer calls of a model are no steps
DEFAULT_STEPS = 3
MOST_PREPARING = 16  # steps that prepare and make room for others: twice Dynamo's limit of recompiles
_MOST_CALLS_OF_A_STEP = 64


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
    num_calls: int | None = None  # how many rounds of calls there were, where those are its steps


def of_rarest(counts: Sequence[int]) -> int:
    """The optimizer, of several, that ends a program's steps: the rarest, of these the last; not one that only prepares."""
    often = [place for place, count in enumerate(counts) if count * MOST_PREPARING >= max(counts)]
    return min(reversed(often), key=counts.__getitem__)


def plan(
    ops: list[tuple[float, str]],
    *,
    begins: float,
    ends: float,
    calls: list[tuple[float, str]],
    step_ends: list[float],
    replays: list[tuple[float, str]],
    compiles: Sequence[float] = (),
    warmup: int | None = None,
    keep: int = DEFAULT_STEPS,
    skip_start: bool = False,
    is_cut: bool = False,
) -> StepPlan:
    """The steps of a program: between the ends of `optimizer.step`, else by rounds of equal calls.

    Where CUDA graphs are replayed after the last of those, which captured them, the replays are the steps.

    Args:
        ops: when each outermost op began, and its name, in order.
        calls: when a module that no other module called first called an op, and which module it was.
        replays: when a CUDA graph was replayed, and which one it was.
        warmup: steps to leave out at first; by default one, where an optimizer makes at least three.
        keep: steps to keep of each kind (steps of the same ops are of a kind): the last, as the first ones still warm up.
        skip_start: whether start-up is left out of a program without steps, too.
        is_cut: the observation ended before the program, perhaps within the last step, which is then not kept.
    """
    num_calls = None
    captured = max([*(start for start, _ in calls), *step_ends], default=begins)
    replayed = [(start, name) for start, name in replays if start > captured]
    if len(replayed) >= REPEATS:
        edges = [*(_rounds(replayed) or [start for start, _ in replayed]), ends]
        ops = sorted([*ops, *replayed])  # a replay alone is a step, too
        num_calls = len(edges) - 1
        warmup = 1 if warmup is None else warmup
    elif len(step_ends) >= 2:
        edges = [min(calls[0][0], step_ends[0]) if calls else begins, *step_ends]
        # What follows the last step is work as well, an evaluation or a step that was cut off, if the model is called in
        # it; reading the loss is none.
        if calls and calls[-1][0] > step_ends[-1]:
            edges.append(ends)
        else:
            is_cut = False
        warmup = (1 if len(step_ends) >= REPEATS else 0) if warmup is None else warmup
    elif rounds := _rounds(calls):
        edges = [*rounds, ends]
        num_calls = len(rounds)
    elif skip_start and calls:
        edges = [calls[0][0], ends]
    else:
        return StepPlan()
    spans = [Span(index, start, end) for index, (start, end) in enumerate(pairwise(edges))]
    start_up = Span(-1, begins, edges[0]) if edges[0] > begins else None
    warmup = min(warmup or 0, len(spans) - 1)
    holds_end = num_calls is not None and len(spans) > warmup + keep  # the last call, and what ran after it
    last = len(spans) - (holds_end or (is_cut and len(spans) > warmup + 1))
    kept = _chosen(spans[warmup:last], ops, compiles, keep)
    return StepPlan(kept, tuple(span for span in spans if span not in kept), start_up, num_calls)


def _rounds(calls: list[tuple[float, str]]) -> list[float]:
    """Return when each round of calls begins: of the calls at the end, the longest part that repeats a few of them.

    A step may call several models, or one several times: `a a b a a b …`. Earlier calls, as of a prompt, are start-up.
    """
    first, length = len(calls), 1
    for period in range(1, min(_MOST_CALLS_OF_A_STEP, len(calls) // REPEATS) + 1):
        begin = len(calls) - period
        while begin > 0 and calls[begin - 1][1] == calls[begin - 1 + period][1]:
            begin -= 1
        if begin < first and len(calls) - begin >= REPEATS * period:
            first, length = begin, period
    return [start for start, _ in calls[first::length]]


def _chosen(spans: list[Span], ops: list[tuple[float, str]], compiles: Sequence[float], keep: int) -> tuple[Span, ...]:
    """Return the last `keep` steps of each common kind, without those that compile, and one of each other kind.

    A kind is common that has at least half as many steps as the most frequent one: the median is then that of the program.
    """
    starts = [start for start, _ in ops]
    inside = [ops[bisect_left(starts, span.start) : bisect_left(starts, span.end)] for span in spans]
    kinds = {span: tuple(name for _, name in ran) for span, ran in zip(spans, inside, strict=True) if ran}
    of_a_kind = grouped(kinds, kinds.__getitem__)
    most = max(map(len, of_a_kind.values()), default=0)
    chosen: list[Span] = []
    for same in of_a_kind.values():
        quiet = [span for span in same if not any(span.start <= start < span.end for start in compiles)]
        number = keep if quiet and 2 * len(same) >= most else 1
        chosen += (quiet or same)[-number:]
    return tuple(sorted(chosen))
