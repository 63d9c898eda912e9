"""Neighbours that no scheduler ever saw together: across a graph break."""

from __future__ import annotations

from itertools import pairwise

from fxscope.index import index_of
from fxscope.model import Decision, Recording
from fxscope.text import first_line


def decisions(recording: Recording) -> list[Decision]:
    """Pair the last call of a graph that ended at a break with the first of the graph that goes on after it.

    The two graphs name the tensors between them differently, so what passes is not known.
    """
    calls = index_of(recording).calls_of_graph
    first: dict[str, str] = {}  # compile → its forward or inference graph
    for graph in recording.graphs:
        if graph.stage == "post_grad" and graph.direction != "backward":
            first.setdefault(graph.compile_id or "", graph.id)
    result: list[Decision] = []
    for here, after in pairwise(item for item in recording.compiles if item.compile_id in first):
        before, behind = (calls.get(first[item.compile_id]) for item in (here, after))
        if here.break_reason is None or not before or not behind:
            continue
        where = here.break_source
        arguments: dict[str, object] = {"why": first_line(here.break_reason) or "no reason recorded"}
        if where is not None and where.file:
            arguments["file"] = f"{where.file.rsplit('/', 1)[-1]}:{where.line}"
        if where is not None and where.code:
            arguments["break_line"] = where.code
        result.append(
            Decision(
                graph=before[-1].graph,
                a=before[-1].nodes,
                a_call=before[-1].id,
                other_graph=behind[0].graph,
                b=behind[0].nodes,
                b_call=behind[0].id,
                verdict="never_considered",
                reason_code="graph_break",
                reason_arguments=arguments,
                raw_reason=here.break_reason,
                hint_code="remove_break",
                saved_launches=1,
                evidence="order",
            )
        )
    return result
