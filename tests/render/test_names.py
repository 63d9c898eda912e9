"""One name for one thing: a node, a kernel and the ends of a decision are called the same in every view."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fxscope.commands import common
from fxscope.render import code, decisions, dot, labels, markdown, terminal
from fxscope.render.page import payload

H200 = Path(__file__).parents[1] / "data" / "h200"


@pytest.fixture(scope="module")
def recording():
    return common.read(str(H200 / "mlp_compiled"))


def test_a_node_has_its_own_name_and_the_op_where_that_says_another(recording):
    graph = next(graph for graph in recording.graphs if graph.stage == "post_grad")
    titles = {node.name: labels.node_title(node, graph) for node in graph.nodes}
    assert titles["mul_6"] == "mul_6" and titles["view_1"] == "view_1 (reshape)" and titles["arg0_1"] == "arg0_1"
    fused = next(call for call in recording.calls if len(call.nodes) > 1)
    listed = decisions.call_story(recording, fused).splitlines()[1 : len(fused.nodes) + 1]
    assert [line.strip() for line in listed] == [titles[name] for name in fused.nodes]
    drawn = dot.render(recording)
    for name in fused.nodes:
        assert re.search(rf'{re.escape(dot.identifier(graph, name))}" \[label="?{re.escape(titles[name])}[" \\]', drawn)
    page = payload.page((recording,), None)["recordings"][0]
    shown = next(g for g, r in zip(page["graphs"], recording.graphs, strict=True) if r.id == graph.id)
    boxes = dict(zip(titles, shown["title"], strict=True))
    assert {name: boxes[name] for name in fused.nodes} == {name: titles[name] for name in fused.nodes}
    text = next(source for source in recording.sources if source.kind == "output_code")
    assert {line.node for line in code.annotate(recording, text) if line.node} <= set(titles)


def test_the_ends_of_a_decision_are_named_the_same(recording):
    ends = labels.Ends(recording)
    costly = [d for d in recording.decisions if d.verdict != "fused" and d.saved_bytes]
    assert costly
    views = {
        "terminal": terminal.render(recording, width=120),
        "why": decisions.render(recording, costly),
        "page": "\n".join(payload.page((recording,), None)["recordings"][0]["decisions"]["title"]),
    }
    for decision in costly[: terminal.MAX_DECISIONS]:
        a, b = ends(decision)
        assert all(f"{a} → {b}" in view for view in views.values()), (a, b)
        assert f"| {markdown.text(a)} | {markdown.text(b)} |" in markdown.render(recording)
