"""Eager against compiled, kernel by kernel: which differ, where, why."""

from typing import Any

from msgspec import structs

from fxscope import english
from fxscope.analysis.select import place
from fxscope.index import index_of
from fxscope.model import Item, NumericsRow, Recording


class Difference(NumericsRow, frozen=True, kw_only=True):
    """A kernel's result against its ops run one by one, with fp64 as judge; `call` is the kernel's handle."""

    call_id: str
    where: str | None = None  # "model.py:17"


class NumericsReport(Item, frozen=True, kw_only=True):
    num_compared: int
    num_random: int
    num_unknown: int
    seconds: float
    outside: tuple[Difference, ...] = ()  # in the order in which they run: the first is the one to look at
    largest: Difference | None = None  # of those within, the nearest to its tolerance
    rows: tuple[Difference, ...] = ()


def numerics(recording: Recording) -> NumericsReport | None:
    found = recording.numerics
    if found is None:
        return None
    index, rows = index_of(recording), list[Difference]()
    for row in found.rows:
        call = index.calls[row.call]
        node = index.node((call.graph, row.node or ""))
        cause = "" if row.state == "within" else english.NUMERICS.get(row.cause or "", english.NUMERICS[""])
        facts: dict[str, Any] = {**structs.asdict(row), "call": call.handle, "cause": cause}
        rows.append(Difference(**facts, call_id=call.id, where=place(node.source) if node is not None else None))
    states = [row.state for row in found.rows]
    return NumericsReport(
        num_compared=states.count("within") + states.count("outside"),
        num_random=states.count("random"),
        num_unknown=states.count("unknown"),
        seconds=found.seconds,
        outside=tuple(row for row in rows if row.state == "outside"),
        largest=max((row for row in rows if row.state == "within"), key=lambda row: row.share or 0.0, default=None),
        rows=tuple(rows),
    )
