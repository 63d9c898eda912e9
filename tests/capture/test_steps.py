"""A training script's steps: which are kept, what the others took, and what ran before them."""

import os
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode

from fxscope import cli, load
from fxscope._torch.steps import Repeated, StepWatch, _Calls, is_preparing
from fxscope.analysis.report import report
from fxscope.capture import Recorder
from fxscope.index import COMPILED, index_of
from fxscope.model import Recording
from fxscope.passes.predicted import pair_runs
from fxscope.passes.program_steps import plan
from fxscope.readers import trace
from fxscope.readers.own_trace import OwnTrace, Timeline
from fxscope.render import labels
from tests import build

SCRIPT = """
import torch
from torch import nn

torch.manual_seed(0)
data = [torch.randn(4, 8) for _ in range(60)]
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
nn.init.orthogonal_(model[0].weight)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x in data:
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""
RUNS = {"whole": ["--title", "whole"], "short": ["--title", "short", "--warmup", "1", "--steps", "2"]}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> dict[str, Recording]:
    folder = tmp_path_factory.mktemp("steps")
    (folder / "train.py").write_text(SCRIPT)
    found = {}
    for name, options in RUNS.items():
        path, search = folder / f"{name}.fxscope", list(sys.path)
        assert cli.main(["run", *options, "-o", str(path), str(folder / "train.py")]) == 0
        sys.path[:] = search
        found[name] = load(path)
    return found


def test_what_runs_before_the_first_step_is_counted_and_in_no_step(recordings) -> None:
    for recording in recordings.values():
        (item,) = (item for item in recording.unobserved if item.what == "start-up")
        assert item.count >= 65 and item.duration_us > 0
        assert "not in it: start-up (" in labels.coverage_line(recording)
        in_steps = {node.target for graph in recording.graphs for node in graph.nodes}
        assert "aten::addmm" in in_steps and not {"aten::randn", "aten::uniform_", "aten::linalg_qr"} & in_steps


def test_a_few_steps_are_kept_and_shares_are_of_what_the_header_totals(recordings) -> None:
    for name, kept in (("whole", 3), ("short", 2)):
        recording = recordings[name]
        assert len(recording.steps) == kept
        assert sum(kernel.share for kernel in recording.summary.kernels) == pytest.approx(1)
        total = sum(launch.duration_ns for launch in recording.launches) / 1e3
        assert sum(kernel.total_us for kernel in recording.summary.kernels) == pytest.approx(total)


def test_an_optimizers_range_is_around_its_own_ops_alone(recordings) -> None:
    for recording in recordings.values():
        inside = {(launch.name, "Optimizer.step#SGD.step" in launch.chain) for launch in recording.launches}
        assert (
            ("aten::add_", True) in inside and ("aten::addmm", False) in inside and ("aten::addmm", True) not in inside
        )
        assert not any(launch.chain.count("Optimizer.step#SGD.step") > 1 for launch in recording.launches)


def test_steps_after_the_wanted_ones_are_only_timed(recordings) -> None:
    for name, count in (("whole", 55), ("short", 56)):
        times = recordings[name].step_times
        assert times.when == "after" and times.count == len(times.samples_us) == count
        assert 0 < times.median_us <= times.p95_us
        (after,) = (item for item in recordings[name].unobserved if item.what == "after")
        assert after.count == count and f"({count} steps, timed)" in labels.coverage_line(recordings[name])


CAPTURED = [(float(start), "model") for start in (10, 20, 30, 40)]  # three calls to warm up, and the captured one


def planned(ops: list[tuple[float, str]], **known: Any) -> Any:
    return plan(ops, **{"begins": 0, "step_ends": [], "replays": [], **known})


@pytest.mark.parametrize(
    ("replays", "first", "num_calls", "begins"),
    [
        ("AAAA", 100, 4, [100, 110, 120, 130]),
        ("ABABAB", 100, 3, [100, 120, 140]),  # the parts of one model
        ("AAAB", 100, 4, [100, 110, 120, 130]),  # a graph per batch size
        ("AA", 100, 4, [10, 20, 30, 40]),
        ("", 100, 4, [10, 20, 30, 40]),
        ("AAAA", 11, 4, [10, 20, 30, 40]),  # the first before the last call of the model: parts of calls
    ],
)
def test_replays_of_a_graph_that_was_captured_by_hand_are_the_steps(replays, first, num_calls, begins) -> None:
    replayed = [(first + 10.0 * number, name) for number, name in enumerate(replays)]
    copies = [(start + 5, "aten::copy_") for start, _ in replayed]
    for ops in (CAPTURED, [*CAPTURED, *copies]):
        found = planned(ops, ends=500, calls=CAPTURED, replays=replayed, warmup=0, keep=10)
        assert found.num_calls == num_calls
        assert [span.start for span in (*found.kept, *found.others)] == begins and found.kept


def own_trace(folder: Path, events: list[dict[str, Any]], **times: Any) -> OwnTrace:
    return OwnTrace(build.write_trace(folder / "own.json", events), Timeline(**times))


def test_a_step_ends_before_the_next_ones_first_op(tmp_path: Path) -> None:
    """Times since Kineto's base are exact to about a nanosecond, in microseconds. Every second step is not kept."""
    starts = [4_845_461_214_320_098 + 697_294 * number + number % 13 for number in range(400)]
    ops = [(start, f"aten::k{max(0, number - 10) // 2}") for number, start in enumerate(starts)]
    times = Timeline(outer=ops, begins=starts[0], ends=starts[-1] + 500)
    times.marks["m"] = starts[1:]
    path = build.write_trace(tmp_path / "o.json", [build.event("cpu_op", name, at / 1e3, 0.5) for at, name in ops])
    OwnTrace(path, times, mark="m")
    found = trace.recording(path)
    assert Counter(op.step for op in found.ops if op.name.startswith("aten")) == Counter(range(len(found.steps)))


def test_an_op_ends_before_the_compiled_function_that_it_calls(tmp_path: Path) -> None:
    starts = [4_845_461_214_320_098 + 697_294 * number + number % 13 for number in range(100)]
    parts = ("aten::sin", 0, 9000), ("## Call CompiledFxGraph f ##", 5007, 900), ("cpp_k", 5107, 500)
    events = [
        build.event("cpu_op", name, (at + after) / 1e3, took / 1e3, **{"External id": 3 * number + place})
        for number, at in enumerate(starts)
        for place, (name, after, took) in enumerate(parts)
    ]
    own_trace(tmp_path, events, python={3 * number: [at + 5007, at + 5907] for number, at in enumerate(starts)})
    found = Counter(item.name for item in trace.recording(tmp_path / "own.json").launches)
    assert found == {"aten::sin": 100, "cpp_k": 100}


def test_a_replay_is_in_an_op_only_if_that_runs_in_its_thread(tmp_path: Path) -> None:
    events = [
        build.event("cpu_op", "## Call CompiledFxGraph f ##", 0, 100),
        build.event("cpu_op", "aten::sin", 10, 5, tid=2),
        build.event("cuda_runtime", "cudaGraphLaunch", 50, 1, correlation=1),
        build.event("cpu_op", "aten::matmul", 200, 100, tid=2),
        build.event("cuda_runtime", "cudaGraphLaunch", 250, 1, correlation=2),
        *(build.event("kernel", "k", start, 5, correlation=at) for at, start in ((1, 60), (2, 260))),
    ]
    assert own_trace(tmp_path, events).replays() == [(250, "k")]


def test_what_the_compiler_launches_is_not_the_programs(tmp_path: Path) -> None:
    events = [
        build.event("user_annotation", "_compile.compile_inner (dynamo_timed)", 0, 100),
        build.event("cuda_runtime", "cudaLaunchKernel", 50, 1, correlation=1),
        build.event("cuda_runtime", "cudaLaunchKernel", 50, 1, tid=2, correlation=2),  # another thread's
        build.event("cpu_op", "## Call CompiledFxGraph f ##", 200, 100),
        build.event("cpu_op", "CachingAutotuner.benchmark_all_configs (dynamo_timed)", 210, 20),
        build.event("cuda_driver", "cuLaunchKernel", 215, 1, correlation=3),
        build.event("cuda_driver", "cuLaunchKernel", 240, 1, correlation=4),
        *(build.event("cpu_instant_event", "[memory]", at, 0) for at in (220, 240)),
        *(build.event("kernel", f"k{at}", 300 + at, 5, correlation=at) for at in (1, 2, 3, 4)),
    ]
    found = own_trace(tmp_path, events)
    assert [item["name"] for item in found.tuned] == ["k1", "k3"]
    left = [item["name"] for item in found.events]
    assert left.count(COMPILED) == 2 and left[-2:] == ["k2", "k4"] and left.count("[memory]") == 1
    assert left.count("cudaLaunchKernel") == left.count("cuLaunchKernel") == 1


@pytest.mark.parametrize(
    ("called", "begins"),
    [
        ("aaaa", [0, 1, 2, 3]),
        ("aabaabaab", [0, 3, 6]),  # gradients are accumulated, and the optimizer's step is compiled
        ("aabaabaaba", [0, 3, 6, 9]),  # the last one is cut off
        ("eddddd", [1, 2, 3, 4, 5]),  # a prompt, then tokens
        ("eddeddedd", [0, 3, 6]),  # several requests
        ("aacaabaabaab", [3, 6, 9]),  # compiled anew
        ("abcdefgh", []),
        ("abab", []),
    ],
)
def test_rounds_of_equal_calls_are_steps(called, begins) -> None:
    calls = [(float(number), name) for number, name in enumerate(called)]
    found = planned(calls, ends=20, calls=calls, keep=9)
    assert [span.start for span in sorted((*found.kept, *found.others))] == begins
    assert found.num_calls == (len(begins) or None)
    assert (found.start_up and found.start_up[1:]) == ((0, begins[0]) if begins and begins[0] else None)


SCRIPTS = dict(
    part.split("\n", 1) for part in Path(__file__).with_name("step_scripts.txt").read_text().split("# --- ")[1:]
)


def run_as_script(name: str, folder: Path) -> Recording:
    (folder / "main.py").write_text(SCRIPTS[name])
    assert cli.main(["run", "-o", str(folder / "main.fxscope"), str(folder / "main.py")]) == 0
    return load(folder / "main.fxscope")


@pytest.mark.cpp
def test_a_step_with_a_compiled_optimizer_holds_all_its_calls_of_the_model(tmp_path) -> None:
    found = run_as_script("accumulated", tmp_path)
    step = index_of(found).steps[-1]
    assert sum(op.step == step and op.name == "aten::addmm" for op in found.ops) == 2
    assert found.step_times is not None and found.step_times.when == "after" and 20 < found.step_times.count < 60


@pytest.mark.parametrize(
    ("kinds", "known", "kept"),
    [
        ("aaaaaaaa", {}, [4, 5, 6]),  # the last of them, without the one that ends with the program
        ("aaa", {}, [0, 1, 2]),
        ("abababab", {}, [1, 2, 3, 4, 5, 6]),
        ("aaaaaa", {"compiles": [12, 32]}, [0, 2, 4]),
        ("aaabaaabaaaab", {}, [7, 9, 10, 11]),  # one of a rare kind, as a step that logs
        ("aab", {"compiles": [2, 12, 22]}, [1, 2]),  # what a graph ran is known also where all its steps compile
        ("aaaa", {"keep": 9}, [0, 1, 2, 3]),
        ("aaaa", {"keep": 9, "is_cut": True}, [0, 1, 2]),  # each call is a step, and the last one may not be whole
        ("aaaa", {"keep": 9, "is_cut": True, "step_ends": [2, 12, 22, 32]}, [1, 2, 3]),  # ended with a step
        ("aaaa", {"keep": 9, "is_cut": True, "step_ends": [2, 12, 22]}, [1, 2]),
        ("aaaa", {"keep": 9, "step_ends": [2, 12, 22]}, [1, 2, 3]),  # an evaluation
    ],
)
def test_the_last_whole_steps_of_each_kind_that_compile_nothing_are_kept(kinds, known, kept) -> None:
    calls = [(10.0 * number, "model") for number in range(len(kinds))]
    ops = [(start + 1, kind) for (start, _), kind in zip(calls, kinds, strict=True)]
    found = planned(ops, calls=calls, ends=10.0 * len(kinds), **known)
    assert [span.number for span in found.kept] == kept
    assert len(found.kept) + len(found.others) == len(kinds)


@pytest.mark.cpp
def test_calls_of_a_compiled_function_are_steps(tmp_path) -> None:
    found = run_as_script("function", tmp_path)
    assert len(found.steps) == 3 and {launch.step for launch in found.launches} == {0, 1, 2}


def test_calls_of_a_frozen_script_are_steps() -> None:
    model = torch.jit.freeze(torch.jit.script(torch.nn.Linear(4, 4).eval()))
    with Recorder() as recorder:
        for _ in range(6):
            model(torch.ones(2, 4))
    assert recorder.recording.problems == () and len(recorder.recording.steps) == 5


def test_preparing_a_program_is_no_part_of_the_bound() -> None:
    stop = threading.Event()

    def initialize() -> None:
        while not stop.is_set():
            torch.nn.init.trunc_normal_(torch.empty(300, 300))

    def work() -> None:
        while not stop.is_set():
            torch.ones(300, 300).sum().item()

    for function, expected in ((initialize, True), (work, False)):
        thread = threading.Thread(target=function)
        thread.start()
        seen = False
        for _ in range(2_000):
            seen = seen or is_preparing(thread.ident or 0)
            time.sleep(0.001)
            if seen:
                break
        stop.set()
        thread.join()
        stop.clear()
        assert seen == expected


@pytest.mark.cpp
def test_a_graph_that_no_recorded_step_runs_misses_no_fusion_there(tmp_path) -> None:
    recording = run_as_script("unused", tmp_path)
    assert [item.runs for item in recording.compiles] == [0]
    compiled = [item for item in recording.decisions if item.a_call and item.verdict != "fused"]
    assert compiled and {pair_runs(recording, item) for item in compiled} == {0}
    shown = {place for row in report(recording).missed for place in row.decisions}
    assert not any(recording.decisions[place].a_call for place in shown)


@pytest.mark.parametrize("is_called", [False, True])  # by a function of the program's, which is what is compiled
def test_a_compiled_optimizer_is_traced_as_without_fxscope(is_called: bool, recwarn) -> None:
    parameter = torch.nn.Parameter(torch.ones(4))
    parameter.grad = torch.ones(4)
    optimizer = torch.optim.SGD([parameter])
    with Recorder() as recorder:
        torch.compile((lambda: optimizer.step()) if is_called else optimizer.step, backend="eager")()
    assert not [item for item in recwarn if "Dynamo does not know how to trace" in str(item.message)]
    (row,) = report(recorder.recording).breaks
    assert row.reason.startswith("torch itself ends the graph here (optimizer.py:") and not row.hints
    assert not any("Remove the graph break" in item.text for item in report(recorder.recording).advice)


def _trains(step: Any, size: int = 4, *, evaluated: Any = None, kind: Any = torch.optim.SGD, calls: int = 1) -> None:
    optimizer = kind(step.parameters())
    for number in range(10):
        for _ in range(calls):
            step(torch.ones(1, size)).sum().backward()
        optimizer.step()
        if evaluated is not None and number == 5:
            evaluated(torch.ones(1, size))


EAGER: dict[str, Any] = {"eager": {}, "calls": {"calls": 2}, "Adam": {"kind": torch.optim.Adam}}


@pytest.mark.cpp
@pytest.mark.parametrize(
    ("programs", "count", "later", "idle"),
    [
        ("eager, larger", 5, 10, 0),
        ("eager, calls, Adam, eager", 14, 20, 0),
        ("eager, eager", 14, None, 0),
        ("compiled, anew", 5, 9, 1),  # one compiles
        ("compiled, eager", 5, 10, 0),
        ("compiled, compiled", 14, None, 0),
        ("evaluated", 4, None, 1),
    ],
)
def test_later_steps_that_run_something_else_are_timed_apart(programs, count, later, idle) -> None:
    model, larger = torch.nn.Linear(4, 4), torch.nn.Linear(8, 8)
    with Recorder() as recorder:
        for program in programs.split(", "):
            if program == "anew":
                torch._dynamo.reset()
            step = larger if program == "larger" else model if program in EAGER else torch.compile(model)
            evaluated = torch.compile(torch.nn.Linear(4, 2)) if program == "evaluated" else None
            _trains(step, 8 if program == "larger" else 4, evaluated=evaluated, **EAGER.get(program, {}))
    recording = recorder.recording
    assert recording.step_times.when == "after" and recording.step_times.count == count
    assert [item.count for item in recording.unobserved if item.what == "later"] == [later] * (later is not None)
    assert [item.runs for item in recording.compiles].count(0) == idle
    assert any("compiled graph that no recorded step ran" in item for item in report(recording).unknown) == bool(idle)


@pytest.mark.parametrize(
    ("rows", "is_called", "count", "words"),
    [
        ([1] * 5 + [3] * 20, True, False, "20 later steps with other ops or shapes"),
        ([1] * 5 + [3] * 20, False, 20, "whether later steps had the same shapes"),
        ([1] * 15 + [None] * 300, True, 10, "what ran in"),  # evaluated
        ([1] * 40 + [3] * 20, None, 7, "19 later steps with other ops or shapes"),  # without an optimizer
        (range(1, 61), None, 26, "step time by shape: no two observed steps had the same shapes"),
        (range(1, 21), True, 15, "step time by shape: no two observed steps had the same shapes"),
    ],
)
def test_what_is_not_known_of_later_steps_is_said(rows, is_called, count, words) -> None:
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters())
    with Recorder() as recorder:
        for number in rows:
            x = torch.ones(number or 500, 64)
            loss = (model(x) if is_called is not False else torch.nn.functional.linear(x, model.weight)).sum()
            if number is not None and is_called is not None:
                loss.backward()
                optimizer.step()
    times = recorder.recording.step_times
    assert (times.when == "after" and times.count) == count
    assert any(item.startswith(words) for item in report(recorder.recording).unknown)


@pytest.mark.cpp
@pytest.mark.parametrize(
    ("observed", "num_timed"),
    [([33], 9), ([34, 34], 9), ([1, 1, 32], 9), ([1, 2, 31], 9), ([1, 1, 31], None), ([68], None), ([17, 17], None)],
)
def test_calls_of_the_graph_that_recompiles_ended_in_are_timed(observed: list[int], num_timed: int | None) -> None:
    watch = StepWatch(None, print, steps=3, calls=32, seconds=1)
    for number, count in enumerate(observed):
        watch._timed[number] = Repeated()
        watch._timed[number].observed, watch._timed[number].after = count, [(None, 1)] * 9
    times, _ = watch.later(33 if len(observed) == 1 else 34)
    assert (times and times.count) == num_timed


def test_no_frame_of_fxscope_is_around_compiled_calls_after_the_observation() -> None:
    stacks: list[str] = []

    @torch.library.custom_op("fxscope_tests::looked", mutates_args=())
    def looked(x: torch.Tensor) -> torch.Tensor:
        stacks.append("".join(traceback.format_stack()))
        return x + 1

    looked.register_fake(torch.empty_like)
    function, weight = torch.compile(lambda x: looked(x.sin()), dynamic=True), torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD([weight])
    with Recorder() as recorder:
        for size in [4] * 20 + [6] * 10:
            function(torch.ones(size))
            weight.sum().backward()
            optimizer.step()
    assert [f"{os.sep}_torch{os.sep}" in stack for stack in (stacks[1], stacks[-1])] == [True, False]
    assert [item.count for item in recorder.recording.unobserved if item.what == "later"] == [10]


def test_arguments_of_models_are_read_without_methods_of_the_program() -> None:
    called: list[str] = []

    class Lazy(dict[str, torch.Tensor]):
        values = called.append

    class Rows(list[torch.Tensor]):
        __iter__ = called.append

    class Model(torch.nn.Module):
        def forward(self, batch: Lazy, rows: Rows) -> torch.Tensor:
            return batch["x"] + rows[0]

    with Recorder() as recorder:
        Model()(Lazy(x=torch.ones(2)), Rows([torch.ones(2)]))
    assert not called and not recorder.recording.problems


def test_what_notes_a_call_is_not_in_its_time(monkeypatch) -> None:
    calls, watch = Repeated(), StepWatch(None, print, steps=3, calls=3, seconds=1)
    monkeypatch.setattr(time, "perf_counter_ns", iter((1000, 1500, 1510, 1513, 1523, 1600)).__next__)
    for _ in range(3):  # the clock is read as each begins and ends; the program takes 10
        _Calls(watch, lambda *_: calls.tick(watch.now()), print).__get__(watch, StepWatch)
    assert calls.kept == [0, 10, 10]


def test_a_closure_of_an_optimizer_is_the_models() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU())
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def closure() -> torch.Tensor:
        (loss := model(torch.ones(2, 8)).sum()).backward()
        return loss

    with Recorder() as recorder:
        for _ in range(6):
            optimizer.step(closure)
    labels = {(row.label, row.phase) for row in report(recorder.recording).kernels}
    assert {("LBFGS", "optimizer"), ("gelu", None), ("gelu_backward", "backward"), ("addmm", None)} <= labels


def test_ops_on_tensors_without_memory_launch_nothing() -> None:
    x = torch.ones(4, 4)
    with Recorder() as recorder:
        x.sin()
        with FakeTensorMode():
            torch.nn.Linear(64, 64)(torch.randn(64, 64)).relu().sum()
        torch.nn.Linear(64, 64, device="meta")(torch.ones(64, 64, device="meta")).cos()
        torch.export.export(torch.nn.Linear(4, 4), (x,))
        torch.vmap(torch.func.grad(lambda row: row.exp().sum()))(x)
        torch.empty(0)
    (fake,) = (item for item in recorder.recording.unobserved if item.what == "fake")
    names = [launch.name for launch in recorder.recording.launches]
    assert fake.count and names.count("aten::sin") == 1 and "aten::exp" in names
    assert not {"aten::cos", "aten::relu", "aten::addmm", "aten::randn", "prims::normal"} & {*names}


@pytest.mark.parametrize("decision", [("0", "1"), ("1", "0")])
def test_a_pair_runs_as_often_as_the_side_that_has_a_time(decision: tuple[str, str]) -> None:
    """A branch ran in one of two steps: its product's time is not known there, and the other kernel's is."""
    calls = (build.call(0, "extern_kernels.mm"), build.call(1, "cpp_fused_relu_0", timing=build.timing(50.0, 1)))
    pair = build.pair(*(calls[int(end)] for end in decision), verdict="rejected", reason_code="extern_gemm")
    launches = (build.launch(0, call=calls[1].id, step=0), build.launch(1, step=1))
    assert pair_runs(Recording(calls=calls, launches=launches, steps=build.steps(2)), pair) == 0.5


@pytest.mark.parametrize("order", ["ab", "ba", "aab", "abb", "aaaab", "baaaa"])
def test_of_several_optimizers_the_one_that_steps_least_often_makes_the_steps(order: str) -> None:
    models = {name: torch.nn.Linear(4, 4) for name in "ab"}
    with Recorder() as recorder:
        optimizers = {name: torch.optim.SGD(model.parameters(), lr=0.1) for name, model in models.items()}
        for _ in range(10):
            for name in order:
                models[name](torch.ones(1, 4)).sum().backward()
                optimizers[name].step()
    rarest = min("ba" if order.count("a") > order.count("b") else "ab", key=order.count)
    recording = recorder.recording
    assert recording.steps and recording.step_times.count == 10 * order.count(rarest) - 5
    for step in range(len(recording.steps)):
        calls = [item for item in recording.launches if item.step == step and item.name == "aten::addmm"]
        assert len(calls) == len(order) // order.count(rarest)
