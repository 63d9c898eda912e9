"""Look-ups of a recording: built once, true, gone with it; one count of steps for every view; networkx graphs for users."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import networkx
import pytest

import fxscope
from fxscope.analysis.compare import compare
from fxscope.index import by_each, grouped, index_of
from fxscope.model import Decision, Graph, LaunchEvidence, Link, Recording, replace
from fxscope.render import render
from fxscope.render.page import overview
from tests.build import call, launch, node, op, placeholder, steps


def made() -> Recording:
    graph = Graph(
        id="0/0:inference:post_grad",
        stage="post_grad",
        nodes=(
            placeholder("x"),
            node("t", "aten.t.default", "x", kind="folded"),
            node("mm", "aten.mm.default", "x", "t", kind="kernel"),
            node("relu", "aten.relu.default", "mm", kind="fused"),
        ),
    )
    mm = call(0, "extern_kernels.mm", "mm", handle="mm:1", folded=("t",))
    return Recording(
        graphs=(graph,),
        calls=(mm,),
        links=(
            Link(from_=(graph.id, "mm"), to=("calls", mm.id), relation="ran_in", evidence="debug_handle"),
            Link(from_=(graph.id, "gone"), to=("calls", mm.id), relation="ran_in", evidence="name"),
        ),
        steps=steps(3),
        ops=(op(7, "aten::mm", step=0),),
        launches=(
            launch(0, "k", 6000, step=0, call=mm.id, op_id=7, evidence=LaunchEvidence(call="correlation")),
            launch(1, "k", 6000, step=2, graph=graph.id, nodes=("relu",)),
        ),
    )


def test_three_steps_with_launches_in_two_take_four_microseconds_in_every_view() -> None:
    recording = made()
    index = index_of(recording)
    assert index.steps == (0, 1, 2) and index.step_us == (6.0, 0.0, 6.0) and index.device_us == 4.0
    rows = {row.subject: row.a for row in compare(recording, recording).totals}
    assert rows["device time per step"] == 4.0
    assert "3 steps; per step 0.666667 launches, 4.00 µs of device time" in render(recording, "txt")
    assert ["4.00 µs", "device time", "per step, mean of 3"] in overview.tiles(recording)


def test_a_step_that_stalled_is_told_beside_the_mean_that_it_moves() -> None:
    calm = replace(made(), launches=tuple(launch(number, "k", 6000, step=number) for number in range(3)))
    rows = (launch(0, "k", 60_000, step=0), *calm.launches[1:])
    stalled = replace(calm, title="stalled", launches=rows)
    assert "24.0 µs of device time on average (median 6.00 µs, at most 60.0 µs)" in " ".join(
        render(stalled, "txt").split()
    )
    assert "on average" not in render(calm, "txt") and "6.00 µs of device time" in render(calm, "txt")
    assert ["24.0 µs", "device time", "per step, mean of 3, median 6.00 µs, most 60.0 µs"] in overview.tiles(stalled)
    notes = compare(calm, stalled).notes
    assert "stalled: one step took the device 60.0 µs, the median step 6.00 µs" in notes
    assert "times are means over the steps, where a view of one recording shows the median of each kernel" in notes
    assert not any("took the device" in note for note in compare(calm, calm).notes)
    assert any("of several over the medians" in note for note in compare(calm, calm, runs_b=(calm,)).notes)


def test_a_step_in_which_nothing_ran_is_said_to_give_no_ratio() -> None:
    time = compare(made(), made()).step_time
    assert time is not None and time.verdict == "not measured" and "nothing ran" in time.reason


def test_a_recording_without_launches_or_steps_has_one_step_and_no_device_time() -> None:
    index = index_of(replace(made(), launches=(), steps=(), ops=()))
    assert index.num_steps == 1 and index.device_us is None and index.first_step == 0


def test_look_ups() -> None:
    recording = made()
    index, graph = index_of(recording), recording.graphs[0].id
    assert [node.name for node in index.users[graph, "x"]] == ["t", "mm"]
    assert [call.id for call in index.calls_of_node[graph, "mm"]] == ["0/0:inference:0"]
    assert (graph, "t") not in index.calls_of_node and index.folded_into[graph, "t"][0].handle == "mm:1"
    assert [item.id for item in index.launches_of_call["0/0:inference:0"]] == [0]
    launch = recording.launches[1]
    assert index.runs_of_node[graph]["relu"] == {launch.name: [(launch.step, launch.duration_ns)]}
    assert index.op_of(recording.launches[0]) is recording.ops[0] and index.op_of(recording.launches[1]) is None


def test_the_index_is_built_once_and_goes_with_the_recording() -> None:
    recording = made()
    assert index_of(recording) is index_of(recording)
    assert index_of(replace(recording, title="other")) is not index_of(recording)
    assert recording == made() and recording.to_json() == made().to_json()
    gone = weakref.ref(index_of(recording))
    del recording
    gc.collect()
    assert gone() is None


def test_a_graph_as_networkx() -> None:
    graph = made().graphs[0].to_networkx()
    assert networkx.ancestors(graph, "relu") == {"x", "t", "mm"} and networkx.is_directed_acyclic_graph(graph)
    assert graph.nodes["mm"]["item"].target == "aten.mm.default" and graph.nodes["t"]["kind"] == "folded"


def test_a_recording_as_networkx_goes_from_node_to_launch() -> None:
    recording = made()
    graph, where = recording.to_networkx(), recording.graphs[0].id
    assert networkx.has_path(graph, (where, "x"), ("launches", "0"))
    assert graph.edges[(where, "mm"), ("calls", "0/0:inference:0"), 0] == {
        "relation": "ran_in",
        "evidence": "debug_handle",
    }
    assert (where, "gone") not in graph  # a link to what is not there adds nothing
    assert ("launches", "1") in networkx.descendants(graph, (where, "relu"))
    assert not Recording().to_networkx()


def test_every_node_of_a_real_recording_is_found(request: pytest.FixtureRequest) -> None:
    path = next((request.config.rootpath / "fxscope" / "data").rglob("*.fxscope"))
    recording = fxscope.load(path)
    graph = recording.to_networkx()
    assert all((item.id, node.name) in graph for item in recording.graphs for node in item.nodes)
    assert sum(key[0] == "launches" for key in graph) == len(recording.launches)


def test_a_recording_at_a_prompt_is_one_line() -> None:
    recording = fxscope.load(Path(__file__).parent / "data" / "report" / "mlp_compiled.json.gz")
    for item in (recording, *recording.graphs, *recording.sources):
        assert "\n" not in repr(item) and len(repr(item)) < 200
    assert f"launches {len(recording.launches)}, " in repr(recording)
    assert repr(Recording()) == "<Recording None: empty>"


def test_groups_keep_the_order_in_which_keys_and_items_come() -> None:
    assert list(grouped(["b1", "a1", "b2"], lambda word: word[0]).items()) == [("b", ["b1", "b2"]), ("a", ["a1"])]
    assert by_each([(2, 1), (), (1,)], lambda keys: keys) == {2: [(2, 1)], 1: [(2, 1), (1,)]}
    assert 3 not in grouped([1], abs) and by_each([()], lambda keys: keys) == {}


def test_the_second_side_of_a_decision_lies_in_another_graph_where_it_names_one() -> None:
    pair = Decision(graph="f", a=("mm",), b=("relu", "add"), a_call="f:1", reason="")
    assert pair.ends == ((("mm",), "f", "f:1"), (("relu", "add"), "f", None))
    assert replace(pair, other_graph="g").ends[1].graph == "g"
