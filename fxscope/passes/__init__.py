"""Conclusions. A pass is a pure function `(Recording) -> Recording`; `pipeline` names them in their order. The other files
here are parts of passes, or run where a reader or a verb asks.

Add one: write `passes/NAME.py` with a function whose docstring's first line is its contract, and add a line there.
"""

from collections.abc import Callable, Collection, Mapping
from itertools import chain
from typing import Any

from fxscope.columns import column, distinct
from fxscope.errors import PassError
from fxscope.model import Recording, replace


def pipeline() -> Mapping[str, Callable[[Recording], Recording]]:
    """Name → pass, in the order in which they run."""
    from fxscope.passes import attribute, classify, cost, fusion, provenance, purposes, schedules

    return {
        "schedules": schedules.schedules,
        "provenance": provenance.provenance,
        "attribute": attribute.attribute,
        "classify": classify.classify,
        "purposes": purposes.purposes,
        "fusion": fusion.fusion,
        "cost": cost.cost,
    }


def run(recording: Recording) -> Recording:
    """Run the whole pipeline, verifying what goes in and what comes out. Running it twice gives the same as once."""
    verify(recording)
    for name, function in pipeline().items():
        recording = function(recording)
        if name not in recording.history:
            recording = replace(recording, history=(*recording.history, name))
    verify(recording)
    return recording


def verify(recording: Recording) -> None:
    """Raise PassError if ids repeat or an item points at one that is not there."""
    graphs = {graph.id: set(column(graph.nodes, "name")) for graph in recording.graphs}
    calls = {call.id for call in recording.calls}
    counts = [("graphs", len(recording.graphs), len(graphs)), ("kernel calls", len(recording.calls), len(calls))]
    counts += [(f"nodes of {graph.id}", len(graph.nodes), len(graphs[graph.id])) for graph in recording.graphs]
    for what, number, distinct_ids in counts:
        if number != distinct_ids:
            raise PassError(f"two {what} have the same id")
    named: list[tuple[str, set[Any], Collection[Any]]] = [
        (f"inputs of {graph.id}", set(chain.from_iterable(column(graph.nodes, "inputs"))), graphs[graph.id])
        for graph in recording.graphs
    ]
    named += [(f"nodes of {call.id}", set(call.nodes), graphs.get(call.graph, call.nodes)) for call in recording.calls]
    named.append(("calls of launches", distinct(recording.launches, "call") - {None}, calls))
    for what, names, known in named:
        if missing := names.difference(known):
            raise PassError(f"{what}: {min(missing)} is not there")
