"""One name for one thing: a node, a kernel and the ends of a decision are called the same in every view."""

import re
from pathlib import Path

import pytest

from fxscope.analysis import why
from fxscope.analysis.compare import compare
from fxscope.analysis.report import report
from fxscope.commands import common
from fxscope.model import Graph, Recording, Source, replace
from fxscope.readers import join
from fxscope.render import code, dot, labels, scene, terminal, why as why_text
from fxscope.render.page import overview, payload
from tests import build, captures

H200 = Path(__file__).parents[1] / "data" / "h200"


@pytest.fixture(scope="module")
def recording():
    return captures.read("mlp_compiled")


def test_a_node_has_its_own_name_and_the_op_where_that_says_another(recording):
    graph = next(graph for graph in recording.graphs if graph.stage == "post_grad")
    titles = {node.name: labels.node_title(node, graph) for node in graph.nodes}
    assert titles["mul_6"] == "mul_6" and titles["view_1"] == "view_1 (reshape)" and titles["arg0_1"] == "arg0_1"
    fused = next(call for call in recording.calls if len(call.nodes) > 1)
    listed = why_text.call_story(recording, fused).splitlines()[: len(fused.nodes)]
    assert [line.strip() for line in listed] == [titles[name] for name in fused.nodes]
    drawn = dot.render(recording)
    for name in fused.nodes:
        assert re.search(rf'\[label="?{re.escape(titles[name])}["\\ ]', drawn)
    page = payload.page((recording,), None)["recordings"][0]
    shown = next(g for g, r in zip(page["graphs"], recording.graphs, strict=True) if r.id == graph.id)
    boxes = dict(zip(titles, shown["title"], strict=True))
    assert {name: boxes[name] for name in fused.nodes} == {name: titles[name] for name in fused.nodes}
    text = next(source for source in recording.sources if source.kind == "output_code")
    assert {line.node for line in code.annotate(recording, text) if line.node} <= set(titles)


@pytest.mark.parametrize("capture", sorted(path.parent.name for path in H200.glob("*/trace.json.gz")))
def test_the_page_and_why_say_the_same_of_every_pair(capture):
    """The pairs, in order; verdict, reason and hint in the same words; the same price."""
    read = captures.read(capture)
    page = payload.page((read,), None)
    shown = page["recordings"][0]["decisions"]
    said, listed = list(why.why(read).decisions), terminal.render(read, width=200, everything=True)
    apart = [i for i, verdict in enumerate(shown.get("verdict", ())) if verdict != "fused"]
    assert [read.decisions[i] for i in apart] == said
    for i, decision in zip(apart, said, strict=True):
        title, price, hint = (shown[key][i] if key in shown else None for key in ("title", "price", "hint"))
        block = "\n".join(why_text.block(read, decision, " → ".join(labels.end_names(read)(decision)), width=10_000))
        assert block.startswith(f"{page['theme']['verdicts'][shown['verdict'][i] or 'null']} {title}: ")
        assert shown["reason"][i] in block and (hint or "") in block
        assert title in listed or not decision.saved_bytes
        parts = (price or "").replace("about ", "~").replace("a step", "per step").split(", ")
        assert all(part in block for part in parts), (price, block)
        assert ("Cost: 0 B" in block or "Cost:" not in block) if price is None else f"Cost: {parts[0]}" in block
    for row in page["overview"][0]["missed"]:
        pairs = [read.decisions[i] for i in row["decisions"]]
        assert len({(pair.reason_code, pair.hint_code) for pair in pairs}) == 1


def test_a_cpp_kernel_has_no_number_of_its_process_in_any_view():
    """A trace names the event `graph_0_cpp_fused_gelu_0`; the call that ran, and the diff, have the name without the graph."""
    raw, short = "graph_0_cpp_fused_gelu_0", "cpp_fused_gelu_0"
    graph = Graph(id="eager", stage="eager", nodes=(build.dispatched("gelu", raw),))
    assert labels.node_title(graph.nodes[0], graph) == short
    traced = Recording(graphs=(graph,), launches=(build.launch(0, raw, category="cpu_kernel"),))
    page = payload.page((traced, traced), [compare(traced, traced)])
    assert page["recordings"][1]["short"] == {raw: short}
    shown = terminal.render(traced, everything=True)
    assert short in shown and raw not in shown


def test_neighbours_whose_price_is_not_known_are_named_all_the_same():
    """A compile's log alone does not say how many bytes pass between two kernels where sizes are symbols."""
    folder = H200 / "mlp_dynamic"
    read = join.read_trace(folder / "trace.json.gz", compile_log=folder / "torch_trace.log.gz")
    assert [item.saved_bytes for item in read.decisions if item.verdict != "fused"].count(None) == 4
    shown = terminal.render(read)
    assert re.search(r"mm → gelu·mul +×2 +–", shown)
    rows = overview.missed(report(read))
    assert {(f"{row['producer']} → {row['consumer']}", len(row["decisions"])) for row in rows} == {
        ("mm → gelu·mul", 2),
        ("gelu·mul → mm", 1),
    }
    assert {row["price"] for row in rows} == {None, "cost unknown"}


def test_recordings_of_one_title_are_told_apart(recording):
    eager = captures.read("mlp_eager")
    same = [replace(item, title="factory") for item in (eager, recording, recording)]
    named = common.told_apart(same, ["a/x.fxscope", "a/y.fxscope", "b/y.fxscope"])
    assert [item.title for item in named] == ["factory (x.fxscope)", "factory (a/y.fxscope)", "factory (b/y.fxscope)"]
    named = common.told_apart(same, ["t/h100/x.json", "t/mi300/x.json", "t/b200/x.json"])
    assert [item.title for item in named] == [
        "factory (h100/x.json)",
        "factory (mi300/x.json)",
        "factory (b200/x.json)",
    ]
    named = common.told_apart(same, ["x\x1b[31m.fxscope", "y\u202e.fxscope", "z"])
    assert [item.title for item in named] == [
        r"factory (x\x1b[31m.fxscope)",
        r"factory (y\u202e.fxscope)",
        "factory (z)",
    ]


def test_many_ops_outside_of_modules_have_frames() -> None:
    inner = build.dispatched("mm", "aten::mm", source=Source(module="fc"))
    engine = [build.dispatched(f"b{i}", "autograd::engine::evaluate_function: MmBackward0") for i in range(20)]
    after = [build.dispatched(f"i{i}", "aten::item") for i in range(20)]
    few = Graph(id="eager", stage="eager", nodes=(inner, *engine[:3], *after[:3]))
    for graph, titles in ((few, ["fc"]), (replace(few, nodes=(inner, *engine, *after)), ["backward", "fc", "outside"])):
        groups = scene.Scene(Recording(graphs=(graph,)), graph).columns()["groups"]
        assert groups["title"] == titles


def test_a_launch_of_a_collective_has_the_name_that_the_report_gives_it() -> None:
    chain = ("nccl:all_reduce", "record_param_comms")
    launched = build.launch(0, "ncclDevKernel_Generic", op="record_param_comms", chain=chain)
    traced = Recording(launches=(launched,))
    data = payload.page((traced,), None)["recordings"][0]
    assert data["names"][data["launches"]["opname"][0]] == "nccl:all_reduce"
