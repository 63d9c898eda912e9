"""A whole program under `with fxscope.record()`, and living with the program's own profiler."""

import contextlib
import gzip
import json
import threading
from pathlib import Path

import pytest
import torch

import fxscope
from fxscope._torch import profiler
from fxscope._torch.inductor import InductorCapture
from fxscope.analysis.report import report, step_row
from fxscope.model import Unobserved, replace
from fxscope.readers import join
from tests.capture.programs import GeGLU


def test_a_program_that_compiles_part_of_itself() -> None:
    model = torch.compile(GeGLU())
    with torch.no_grad(), fxscope.record() as recorder:
        x = torch.randn(4, 8)
        y = model(x).relu()
    recording = recorder.recording
    assert recording.graphs[0].id == "eager"
    eager = {node.name: node for node in recording.graph("eager").nodes}
    assert "relu" in eager and "mm" not in eager  # what the compiled region ran is not eager
    assert eager["randn"].source.code == "x = torch.randn(4, 8)"
    assert recording.coverage.unattributed == 0
    called = [launch for launch in recording.launches if launch.call]
    assert len(called) == 4 and {launch.graph for launch in called} == {recording.calls[0].graph}
    # What the compiler ran on its fake tensors is not in the recording.
    called_by_us = {"aten::normal_", "aten::relu", "aten::clamp_min"}
    assert {launch.name for launch in recording.launches if not launch.call} <= called_by_us
    assert torch.equal(y, torch.relu(model._orig_mod(x))) or torch.allclose(y, torch.relu(model._orig_mod(x)))


@pytest.mark.parametrize("is_live", [True, False])
def test_ops_around_compiled_graphs_are_eager(is_live: bool, tmp_path: Path) -> None:
    """Those between graph breaks, and those of a hook that packs what a graph saves."""
    between = torch.compiler.disable(lambda x: x.cumsum(1))
    compiled, x = torch.compile(lambda x: between(x.sin()).cos()), torch.ones(4, 8, requires_grad=True)
    profile = torch.profiler.profile(record_shapes=True)
    with torch.autograd.graph.saved_tensors_hooks(torch.erf, torch.erfinv):
        if not is_live:
            compiled(x).sum().backward()
        with fxscope.record() if is_live else profile as recorder:
            compiled(x).sum().backward()
    if not is_live:
        profile.export_chrome_trace(str(tmp_path / "trace.json"))
    recording = recorder.recording if is_live else join.read_trace(tmp_path / "trace.json")
    targets = {node.target for node in recording.graph("eager").nodes}
    eager = {"aten::cumsum", "aten::erf", "aten::erfinv"}
    assert eager <= targets and not targets & {"aten::sin", "aten::cos"}
    assert eager <= {launch.op for launch in recording.launches if launch.graph == "eager"}
    assert not [problem for problem in recording.problems if "in no recorded graph" in problem.message]


def test_recompiles_are_told_apart() -> None:
    model = torch.compile(torch.nn.Linear(8, 4))
    with torch.no_grad(), fxscope.record() as recorder:
        for batch in (2, 3, 4):
            model(torch.randn(batch, 8))
    first, second = recorder.recording.compiles
    assert "expected 2, actual 3" in second.recompile_reason and first.recompile_reason is None
    graphs = {launch.graph for launch in recorder.recording.launches if launch.call}
    assert graphs == {f"{compiled.compile_id}:inference:post_grad" for compiled in (first, second)}


def test_the_first_compile_of_another_module_is_no_recompile() -> None:
    """Dynamo runs modules of torch's own that are compiled themselves by one wrapper, whose guards fail for the second."""
    models = [torch.compile(torch.nn.Sequential(torch.nn.Linear(size, 4))) for size in (3, 5)]
    with torch.no_grad(), fxscope.record() as recorder:
        for batch in (2, 2, 3):
            models[0](torch.randn(batch, 3)), models[1](torch.randn(2, 5))
    reasons = [item.recompile_reason for item in recorder.recording.compiles]
    assert reasons[:2] == [None, ""] and "expected 2, actual 3" in reasons[2] and len(reasons) == 3
    assert [row.count for row in report(recorder.recording).recompiles] == [1]


@pytest.mark.parametrize("how", ["a block", "a function"])
def test_what_runs_in_other_threads_is_said_to_be_missing(how: str) -> None:
    begun, started = threading.Event(), threading.Event()

    def backend(graph: torch.fx.GraphModule, _: object) -> object:
        begun.set()
        started.wait(9)
        return graph.forward

    def work() -> None:
        torch.nn.Linear(8, 4)(torch.ones(2, 8)).relu()
        torch.compile(lambda x: x.cos(), backend=backend)(torch.ones(2))

    def program() -> None:
        torch.ones(2).sin()
        backward = torch.ones(2, requires_grad=True).sum().backward  # a thread may run what is not the program's code
        workers = [threading.Thread(target=target) for target in (work, work, work, backward)]
        for worker in workers:
            worker.start()
            begun.wait(9)  # the others begin while the first compiles
        started.set()
        for worker in workers:
            worker.join()

    if how == "a function":
        recording = fxscope.record(program)
    else:
        with fxscope.record() as recorder:
            program()
        recording = recorder.recording
    targets = [node.target for node in recording.graph("eager").nodes]
    assert targets.count("aten::sin") == 1 and "aten::relu" not in targets
    (missing,) = (item for item in recording.unobserved if item.what == "threads")
    assert missing.count == 4 and missing.detail in recording.explain().unknown


def test_dynamo_does_not_trace_hooks_of_modules() -> None:

    @torch.compile(fullgraph=True, backend="eager")
    def built_inside(x):
        return torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten())(x)

    with fxscope.record():
        assert built_inside(torch.ones(2, 4)).shape == (2, 4)


def test_dynamo_is_not_asked_for_frames_of_fxscope(monkeypatch) -> None:
    """A backward that is compiled within a compiled step runs hooks where Dynamo compiles what is called."""
    convert, files = torch._dynamo.convert_frame.ConvertFrameAssert, set()
    original = convert.__call__

    def converted(self, frame, *args, **kwargs):
        files.add(frame.f_code.co_filename)
        return original(self, frame, *args, **kwargs)

    monkeypatch.setattr(convert, "__call__", converted)
    model = torch.nn.Linear(4, 4)

    @torch.compile
    def step(x):
        model(x).sum().backward()

    with fxscope.record():
        step(torch.ones(2, 4))
    assert __file__ in files
    assert not [file for file in files if Path(fxscope.__file__).parent in Path(file).parents]


@pytest.mark.parametrize("how", ["inside", "later", "twice"])
def test_the_programs_own_trace_is_the_recordings(how, tmp_path) -> None:
    path, model, x = tmp_path / "theirs.json.gz", torch.nn.Linear(8, 8), torch.randn(2, 8)
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=2 if how == "twice" else 1)
    with fxscope.record() as recorder, torch.no_grad():
        model(x).sin()
        with torch.profiler.profile(schedule=schedule) as profile:
            for _ in range(10):
                model(x).cos() + x
                profile.step()
        if how != "later":
            profile.export_chrome_trace(str(path))
    if how == "later":
        profile.export_chrome_trace(str(path))
    recording = recorder.recording
    assert [step.name for step in recording.steps] == [f"ProfilerStep#{number}" for number in (2, 3, 4)]
    nodes = {node.target: node for node in recording.graph("eager").nodes}
    assert {"aten::cos", "aten::add"} <= nodes.keys() and "aten::sin" not in nodes
    assert nodes["aten::addmm"].aliases is None  # a session without shapes says nothing of tensors
    problems = [item.message for item in recording.problems]
    assert problems == (["the program made 2 traces: the first is recorded"] if how == "twice" else [])
    names = [event.get("name") for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]]
    assert names.count("aten::cos") == 3 and len(profile.key_averages()) > 0
    with pytest.raises(RuntimeError, match="already saved"):  # as ever
        profile.export_chrome_trace(str(path))


def test_of_the_programs_traces_the_first_that_was_written_is_the_recordings(tmp_path) -> None:
    with fxscope.record() as recorder:
        for operator, folder in ((torch.sin, tmp_path / "nowhere"), (torch.cos, tmp_path)):
            with torch.profiler.profile() as profile:
                operator(torch.ones(2))
            profile.export_chrome_trace(str(folder / "a.json"))
    targets = {node.target for node in recorder.recording.graph("eager").nodes}
    assert "aten::cos" in targets and "aten::sin" not in targets and not recorder.recording.problems


def test_a_session_of_the_programs_without_a_trace_ends_the_recording() -> None:
    with fxscope.record() as recorder:
        torch.ones(2).sin()
        with torch.autograd.profiler.emit_itt(enabled=torch.profiler.itt.is_available()):
            torch.ones(2).cos()
        left_on = torch.profiler.profile()
        left_on.start()
        torch.ones(2).cos()
    left_on.stop()
    targets = {node.target for node in recorder.recording.graph("eager").nodes}
    assert "aten::sin" in targets and "aten::cos" not in targets
    assert "a profiler session of its own" in next(item.message for item in recorder.recording.problems)


@pytest.mark.parametrize("whose", ["fxscope's", "the program's"])
def test_the_compilers_own_ops_stay_out_of_fxscopes_profile_only(whose) -> None:
    def compiles_or_fails(module, inputs):
        torch.ones(3).erfinv()
        if len(calls) == 1:
            raise ValueError("no")
        return module.forward

    def program() -> None:
        torch._dynamo.reset()
        for how in ("failing", "working"):
            calls.append(how)
            with contextlib.suppress(Exception):
                torch.compile(torch.sin, backend=compiles_or_fails)(torch.ones(2))
        torch.ones(3).digamma()

    calls: list[str] = []
    if whose == "fxscope's":
        with InductorCapture() as capture:
            session = profiler.Session()
            session.start()
            capture.is_our_session = session.is_on
            program()
            path, _ = session.stop()
        events = json.loads(path.read_text())["traceEvents"]
        names = [event["name"] for event in events if event.get("cat") == "cpu_op"]
        session.cleanup()
    else:
        with fxscope.record(), torch.profiler.profile() as profile:
            program()
        names = [event.name for event in profile.events()]
    assert calls == ["failing", "working"] and "aten::digamma" in names and "aten::sin" in names
    assert ("aten::erfinv" in names) == (whose == "the program's")


def test_the_observed_part_is_not_called_the_whole_run() -> None:
    with fxscope.record() as recorder:
        torch.ones(4).add(1)
    whole = recorder.recording
    cut = replace(whole, unobserved=(Unobserved(what="ops", count=9, detail="9 ops after the first 50,000 ops"),))
    assert step_row(whole).basis.startswith("the whole run")
    assert step_row(cut).basis.startswith("the observed part") and step_row(cut).is_whole
