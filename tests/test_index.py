"""Look-ups of a recording: built once, true, gone with it; one count of steps for every view."""

import gc
import weakref
from pathlib import Path

import pytest

import fxscope
from fxscope.analysis.report import report
from fxscope.index import by_each, grouped, index_of, whole_steps
from fxscope.model import Decision, Graph, LaunchEvidence, Link, Recording, replace
from fxscope.render import terminal
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


def test_a_step_without_work_between_others_counts() -> None:
    recording = made()
    index = index_of(recording)
    assert index.steps == (0, 1, 2) and index.us_without(()) == (6.0, 0.0, 6.0) and index.device_us == 6.0
    shown = report(recording)
    assert shown.step.device_us == 6.0
    assert shown.step.launches == 1 and shown.step.left_out == 0


@pytest.mark.parametrize(
    ("launches", "compiling", "whole"),
    [
        ({0: 5, 1: 284, 2: 284}, (), [1, 2]),
        ({0: 284, 1: 284, 2: 5}, (), [0, 1]),
        ({0: 284, 1: 284, 2: 284, 3: 0}, (), [0, 1, 2]),
        ({0: 284, 1: 0, 2: 284, 3: 5, 4: 284}, (), [0, 1, 2, 3, 4]),
        ({0: 2, 1: 5, 2: 284, 3: 284, 4: 284}, (), [2, 3, 4]),
        ({0: 284, 1: 284, 2: 284}, (1,), [0, 2]),
        ({0: 4, 1: 6}, (), [0, 1]),
        ({0: 9, 1: 9}, (0, 1), [0, 1]),
        ({0: 0, 1: 0, 2: 0}, (), [0, 1, 2]),
    ],
)
def test_compiling_steps_and_incomplete_ones_at_the_ends_do_not_count(launches, compiling, whole) -> None:
    assert whole_steps(launches, compiling) == whole
    assert whole_steps({step: launches[step] for step in whole}) == whole


def test_a_recording_without_launches_or_steps_has_one_step_and_no_device_time() -> None:
    index = index_of(replace(made(), launches=(), steps=(), ops=()))
    assert index.num_steps == 1 and index.device_us is None and index.typical_step == 0


def test_look_ups() -> None:
    recording = made()
    index, graph = index_of(recording), recording.graphs[0].id
    assert [node.name for node in index.users[graph, "x"]] == ["t", "mm"]
    assert [call.id for call in index.calls_of_node[graph, "mm"]] == ["0/0:inference:0"]
    assert (graph, "t") not in index.calls_of_node and index.folded_into[graph, "t"][0].handle == "mm:1"
    assert [item.id for item in index.launches_of_call["0/0:inference:0"]] == [0]
    launch = recording.launches[1]
    assert index.runs_of_node[graph]["relu"] == {launch.name: [(launch.step, launch.duration_ns)]}


def test_the_index_is_built_once_and_goes_with_the_recording() -> None:
    recording = made()
    assert index_of(recording) is index_of(recording)
    assert index_of(replace(recording, title="other")) is not index_of(recording)
    assert recording == made() and recording.to_json() == made().to_json()
    gone = weakref.ref(index_of(recording))
    del recording
    gc.collect()
    assert gone() is None


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
    pair = Decision(graph="f", a=("mm",), b=("relu", "add"), a_call="f:1", reason_code="eager")
    assert pair.ends == ((("mm",), "f", "f:1"), (("relu", "add"), "f", None))
    assert replace(pair, other_graph="g").ends[1].graph == "g"


def test_what_only_some_steps_run_has_its_share_of_their_time() -> None:
    """Sequences of another length in each step, and an op that every other step runs."""
    ops, launches = [], []
    for number in range(4):
        for place, (name, length) in enumerate([("aten::rnn", 20 + number), ("aten::mm", 8), ("aten::sum", 8)]):
            if name == "aten::sum" and number % 2:
                continue
            ops.append(replace(op(10 * number + place, name, step=number), shapes=((length, 8),), dtypes=("float32",)))
            launches.append(launch(10 * number + place, f"{name}_kernel", 6000, step=number, op_id=10 * number + place))
    recording = Recording(ops=tuple(ops), launches=tuple(launches), steps=steps(4))
    shown = report(recording)
    times = {row.label: (row.count, row.launches, row.share) for row in shown.kernels}
    assert times == {"rnn": (1, 1, 0.4), "mm": (1, 1, 0.4), "sum": (1, 0.5, 0.2)}
    assert [group.shape for group in shown.groups if group.label == "rnn"] == ["shapes vary"]
    assert shown.step.launches_range == (2, 3) and index_of(recording).typical_step == 1


def test_ops_on_the_fake_tensors_of_a_compile_are_not_dispatched_ones() -> None:
    """A compile with another inside, an op in each; beside them an op of another thread, and one after them."""
    compiles = [("entire_frame_compile (dynamo_timed)", 0, 100), ("backend_compile (dynamo_timed)", 20, 30)]
    events = [(*item, 1) for item in compiles] + [("aten::mm", start, 5, 1) for start in (30, 70, 100)]
    events.append(("aten::mm", 30, 5, 2))
    ops = [op(i, name, start_ns=at, duration_ns=us, thread=on) for i, (name, at, us, on) in enumerate(events)]
    assert index_of(Recording(ops=tuple(ops))).dispatched == {0: 2}


def test_the_time_of_several_threads_is_said_to_be_theirs() -> None:
    ops = [op(number, "aten::mm", thread=number, duration_ns=9_000) for number in range(3)]
    launches = [launch(number, "aten::mm", 9_000, category="cpu_kernel", op_id=number) for number in (0, 1)]
    recording = Recording(ops=tuple(ops), launches=tuple(launches))
    assert report(recording).step.clock == "CPU time of 2 threads"
    assert "kernels 18.0 µs while recording, sum of 2 threads" in terminal.render(recording)
