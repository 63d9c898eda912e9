"""Programs with control flow and the like: each statement on "ran in", time, FLOPs and kind, computed independently."""

import json
from pathlib import Path

import pytest
import torch

import fxscope
from fxscope.index import grouped, index_of
from fxscope.model import Recording, replace
from tests.data.programs.unusual import CASES, THREADS
from tests.provenance.oracle import Lines, listening
from tests.provenance.test_ran_in import differences
from tests.provenance.truth import Traces, Watch, false_kinds, false_times, of_compiled

UNKNOWN = {name: ["FLOPs of flex_attention"] for name in ("attention_with_bias", "attention_with_mask")}
COMPILED = [name for name, (_, _, how, _) in CASES.items() if how["compile"]]


def inputs_of(name: str) -> list[torch.Tensor]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    _, shapes, how, _ = CASES[name]
    return [torch.randn(shape).requires_grad_(how["backward"]) for shape in shapes]


def recorded(name: str, *, steps: int = 1) -> tuple[Recording, Traces]:
    function, _, how, _ = CASES[name]
    inputs = inputs_of(name)
    with Traces() as traces, torch._dynamo.config.patch(capture_scalar_outputs=True):
        return fxscope.record(function, *inputs, steps=steps, warmup=1, **how), traces


def watched(name: str) -> Watch:
    function, _, how, _ = CASES[name]
    inputs = inputs_of(name)
    with Watch() as watch:
        result = function(*inputs)
        if how["backward"]:
            result.backward()
    return watch


def timed_falsely(recording: Recording, lines: Lines) -> tuple[list[str], int]:
    """Return the calls whose launches are not as many as the executions of their line, and how many have none."""
    files = {Path(file).read_text(): file for file in lines.entries}
    faults, unknown = [], 0
    for source in recording.sources:
        if source.kind != "output_code" or source.text not in files:
            continue
        file = files[source.text]
        mine = grouped((c for c in recording.calls if c.wrapper == source.graph), lambda call: call.code.call)
        for place, calls in mine.items():
            executed = sum(lines.counts[file][line] for line in range(place[0], place[1] + 1)[:1]) / lines.entries[file]
            launches = [launch for call in calls for launch in index_of(recording).launches_of_call.get(call.id, [])]
            unknown += bool(executed) and not launches
            for step, run in grouped(launches, lambda launch: launch.step).items():
                runs = len({(launch.call, launch.invocation) for launch in run})
                if not executed or runs % executed:
                    faults.append(f"{calls[0].handle}: {runs} times in step {step}, executed {executed:g} times")
    return faults, unknown


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_nothing_false_is_said(name: str, tmp_path: Path) -> None:
    with listening(tmp_path / "truth"), Lines() as lines:
        recording, traces = recorded(name, steps=2)
    truth = [json.loads(line) for line in (tmp_path / "truth").read_text().splitlines()]
    compared, found = differences(recording, truth)
    assert compared or not any(call.is_generated for call in recording.calls)
    nodes = index_of(recording).nodes
    for call in recording.calls:
        assert call.graph in nodes and set(call.nodes) <= set(nodes[call.graph]), call.handle
        assert {name for _, name in call.lines} <= set(nodes[call.graph])
    miscounted, without_time = timed_falsely(recording, lines)
    others, unknown = of_compiled(recording, truth)
    assert not (faults := [*found, *miscounted, *others, *false_times(recording, traces)]), "\n".join(faults)
    assert not without_time and unknown == UNKNOWN.get(name, []) and not recording.problems


@pytest.mark.filterwarnings("ignore:Anomaly:UserWarning", "ignore:Sparse:UserWarning")
@pytest.mark.parametrize("name", [name for name in CASES if name not in COMPILED])
def test_nothing_false_is_said_of_eager_ops(name: str) -> None:
    (*_, flops), (recording, traces) = CASES[name], recorded(name)
    faults, nodes = false_times(recording, traces), recording.graph("eager").nodes
    if flops is None:  # a mode sees the ops
        watch = watched(name)
        faults, flops = faults + false_kinds(recording, watch), watch.flops
    assert not faults, "\n".join(faults)
    assert sum(node.flops or 0 for node in nodes) == flops and not recording.problems
    assert sum(item.count for item in recording.unobserved) == THREADS.get(name, 0)


def test_what_is_false_is_found() -> None:
    recording, traces = recorded("eager_function")
    watch, (first, *others) = watched("eager_function"), recording.launches
    assert not false_times(recording, traces) and not false_kinds(recording, watch)
    for wrong in ((), (replace(first, duration_ns=first.duration_ns + 1000),), (replace(first, name="aten::sin"),)):
        assert false_times(replace(recording, launches=(*wrong, *others)), traces)
    assert false_kinds(replace(recording, launches=tuple(others)), watch)


@pytest.mark.slow
def test_what_is_false_of_compiled_code_is_found(tmp_path: Path) -> None:
    with listening(tmp_path / "truth"):
        recording, _ = recorded("own_function")
    truth = [json.loads(line) for line in (tmp_path / "truth").read_text().splitlines()]
    assert of_compiled(recording, truth) == ([], [])
    calls = tuple(replace(call, flops=(call.flops or 0) + 1) for call in recording.calls)
    assert len(of_compiled(replace(recording, calls=calls), truth)[0]) == len(calls)
    for said, wrong in (("view", "kernel"), ("fused", "eliminated"), ("kernel", "view")):
        graphs = tuple(
            replace(graph, nodes=tuple(replace(n, kind=wrong) if n.kind == said else n for n in graph.nodes))
            for graph in recording.graphs
        )
        assert of_compiled(replace(recording, graphs=graphs), truth)[0], said
