"""Device time of a step by the purpose of its kernels: computing, layout copies, recomputation and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fxscope.analysis.groups import call_us
from fxscope.columns import column
from fxscope.index import index_of
from fxscope.model import Item, Purpose
from fxscope.passes.predicted import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fxscope.model import Recording


class PurposeRow(Item, frozen=True, kw_only=True):
    """The kernels of a step that exist for one purpose; "eager" are those that no compiled graph calls."""

    purpose: Purpose | Literal["eager", "unknown"]
    kernels: float  # launches per step
    time_us: float | None = None  # per step; the rows sum to the step's device time
    share: float | None = None  # of that
    calls: tuple[str, ...] = ()


def purpose_rows(recording: Recording) -> tuple[PurposeRow, ...]:
    """Recording → its purposes, most device time first; nothing for one that was made before they were recorded."""
    if "purposes" not in recording.history:
        return ()
    counts: dict[str, float] = {}
    times: dict[str, float] = {}
    for purpose, number, time in _launched(recording) if len(recording.launches) else _planned(recording):
        counts[purpose] = counts.get(purpose, 0) + number
        times[purpose] = times.get(purpose, 0) + time
    total = sum(times.values())
    device_us = index_of(recording).device_us if len(recording.launches) else total
    calls: dict[str, list[str]] = {}
    for call in recording.calls:
        calls.setdefault(call.purpose or "unknown", []).append(call.id)
    rows = [
        PurposeRow(
            purpose=purpose,  # pyright: ignore[reportArgumentType]
            kernels=counts[purpose],
            time_us=times[purpose] / total * device_us if total and device_us else None,
            share=times[purpose] / total if total else None,
            calls=tuple(calls.get(purpose, ())),
        )
        for purpose in counts
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.time_us or 0.0), row.purpose)))


def _launched(recording: Recording) -> Iterator[tuple[str, float, float]]:
    """Yield (purpose, 1 per step, µs per step) of each launch in the steps that count."""
    index = index_of(recording)
    steps, number = set(index.steps), len(index.steps)
    columns = (column(recording.launches, field) for field in ("step", "call", "op", "duration_ns"))
    for step, call, op, duration in zip(*columns, strict=True):
        if step in steps:
            known = index.calls.get(call or "")
            purpose = known.purpose if known is not None else None if op is None else "eager"
            yield purpose or "unknown", 1 / number, duration / 1e3 / number


def _planned(recording: Recording) -> Iterator[tuple[str, float, float]]:
    runs = runs_of(recording.compiles)
    for call in recording.calls:
        number = runs(call.graph)
        yield call.purpose or "unknown", number, (call_us(call) or 0.0) * number
