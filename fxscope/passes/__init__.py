"""Conclusions. A pass is a pure function `(Recording) -> Recording`; `pipeline` names them in their order. The other files
here are parts of passes, or run where a reader or a verb asks.

Add one: write `passes/NAME.py` with a function whose docstring's first line is its contract, and add a line there.
"""

from collections.abc import Callable, Mapping
from itertools import chain

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
    if len(graphs) != len(recording.graphs):
        raise PassError("two graphs have the same id")
    if len(calls) != len(recording.calls):
        raise PassError("two kernel calls have the same id")
    for graph in recording.graphs:
        names = graphs[graph.id]
        if len(names) != len(graph.nodes):
            raise PassError(f"two nodes of {graph.id} have the same name")
        if missing := set(chain.from_iterable(column(graph.nodes, "inputs"))) - names:
            name = next(node.name for node in graph.nodes if missing & set(node.inputs))
            raise PassError(f"{graph.id}: {name} takes {min(missing)}, which is not in the graph")
    for call in recording.calls:
        if call.graph in graphs:
            missing = [name for name in call.nodes if name not in graphs[call.graph]]
            if missing:
                raise PassError(f"call {call.id} ran {missing[0]}, which is not in {call.graph}")
    for call in distinct(recording.launches, "call") - {None}:
        if call not in calls:
            launch = next(item for item in recording.launches if item.call == call)
            raise PassError(f"launch {launch.id} belongs to call {call}, which is not there")
