"""Eager against compiled, kernel by kernel: which differ, where, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope import english
from fxscope.analysis.select import place
from fxscope.index import index_of
from fxscope.model import Item

if TYPE_CHECKING:
    from fxscope.model import NumericsRow, Recording


class Difference(Item, frozen=True, kw_only=True):
    """A kernel's result against its ops run one by one, with fp64 as judge."""

    call: str  # the kernel's handle
    call_id: str
    node: str | None = None
    where: str | None = None  # "model.py:17"
    state: str
    dtype: str | None = None
    error: float | None = None
    eager_error: float | None = None
    tolerance: float | None = None
    cause: str = ""  # of a difference, or why it was not compared


class NumericsReport(Item, frozen=True, kw_only=True):
    """The comparison of all kernels."""

    num_compared: int
    num_random: int
    num_unknown: int
    seconds: float
    outside: tuple[Difference, ...] = ()  # in the order in which they run: the first is the one to look at
    largest: Difference | None = None  # of those within, the nearest to its tolerance
    rows: tuple[Difference, ...] = ()


def numerics(recording: Recording) -> NumericsReport | None:
    """The comparison of a recording; None where it was not asked for."""
    found = recording.numerics
    if found is None:
        return None
    pairs = [(row, _difference(recording, row)) for row in found.rows]
    near = [(row.share or 0.0, number) for number, (row, _) in enumerate(pairs) if row.state == "within"]
    states = [row.state for row in found.rows]
    return NumericsReport(
        num_compared=states.count("within") + states.count("outside"),
        num_random=states.count("random"),
        num_unknown=states.count("unknown"),
        seconds=found.seconds,
        outside=tuple(made for row, made in pairs if row.state == "outside"),
        largest=pairs[max(near)[1]][1] if near else None,
        rows=tuple(made for _, made in pairs),
    )


def _difference(recording: Recording, row: NumericsRow) -> Difference:
    index = index_of(recording)
    call = index.calls[row.call]
    node = index.by_key.get((call.graph, row.node or ""))
    return Difference(
        call=call.handle,
        call_id=call.id,
        node=row.node,
        where=place(node.source) if node is not None else None,
        state=row.state,
        dtype=row.dtype,
        error=row.error,
        eager_error=row.eager_error,
        tolerance=row.tolerance,
        cause="" if row.state == "within" else english.NUMERICS.get(row.cause or "", english.NUMERICS[""]),
    )
