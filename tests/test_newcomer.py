"""The newcomer's test of docs/design.md: what shows a field of a call, and what adds a reason, is data."""

import pytest

from fxscope import english
from fxscope.analysis.why import why
from fxscope.model import BufferAccess, FusionAttempt, Graph, Recording, Schedule, SchedulerNode, replace
from fxscope.passes.fusion import fusion, reasons
from fxscope.render import tables, terminal
from fxscope.render.page import payload
from fxscope.render.why import words
from tests import build


def test_a_row_of_the_table_shows_a_field_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the terminal, the page and the JSON: `data/tables.json`, and `CALLS` of `render/terminal.py`."""
    made = build.gelu_mul_compiled()
    recording = replace(made, calls=tuple(replace(call, profiled_as="graph_7_cpp") for call in made.calls))
    row = ["profiled", "Profiled as", "text", "profiled_as"]
    shown = tables.TABLES["calls"]
    assert not any(row[-1] == where for *_, where in shown["columns"])
    monkeypatch.setitem(tables.TABLES, "calls", {**shown, "columns": [*shown["columns"], row]})
    monkeypatch.setattr(terminal, "CALLS", ("handle", "profiled"))
    assert "graph_7_cpp" in terminal.render(recording, width=120, everything=True)
    (page,) = payload.page((recording,), None)["recordings"]
    assert "graph_7_cpp" in payload.to_json([table for table in page["tables"] if table["key"] == "calls"])
    assert '"profiled_as":"graph_7_cpp"' in recording.to_json()


def test_a_rule_and_its_words_are_a_new_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """`data/fusion_reasons.json` and `data/english.json`."""
    monkeypatch.setattr(reasons, "RAW_REASONS", (reasons.Rule("moon is (?P<phase>full)", "moon"), *reasons.RAW_REASONS))
    monkeypatch.setitem(english.REASONS, "moon", "the moon is {phase} tonight")
    access = (BufferAccess(buffer="buf0", bytes=4096),)
    calls = (
        build.call(0, "triton_poi_fused_sin_0", "sin", writes=access, scheduler_nodes=("op0",)),
        build.call(1, "triton_poi_fused_cos_1", "cos", reads=access, scheduler_nodes=("op1",)),
    )
    nodes = (
        SchedulerNode(name="op0", type="pointwise", group=0, origins=("sin",), writes=access),
        SchedulerNode(name="op1", type="pointwise", group=1, origins=("cos",), reads=access),
    )
    graph = Graph(
        id=build.GRAPH, stage="post_grad", nodes=(build.node("sin", "aten.sin"), build.node("cos", "aten.cos", "sin"))
    )
    asked = FusionAttempt(a=("op0",), b=("op1",), fused=False, raw_reason="the moon is full")
    recording = fusion(
        Recording(graphs=(graph,), calls=calls, schedules=(Schedule(graph=graph.id, nodes=nodes, attempts=(asked,)),))
    )
    assert [(item.reason_code, item.reason) for item in recording.decisions] == [("moon", "the moon is full tonight")]
    assert "the moon is full tonight" in words(recording, why(recording, "sin", "cos"), width=100)
    assert "the moon is full tonight" in payload.to_json(payload.page((recording,), None))
