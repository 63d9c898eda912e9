"""An observation ends after its steps, calls or seconds, whichever come first, and the program is released."""

import contextlib
import ctypes
import functools
import itertools
import os
import signal
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from torch import nn

from fxscope._torch import event_tree, hooks, profiler, running, steps
from fxscope.analysis.report import report
from fxscope.capture import MOST_CALLS, Recorder
from fxscope.model import Memory
from fxscope.render.report import lines
from tests.processes import printed, run_python


def trains(recorder: Recorder, *, steps: int = 8 + steps.MOST_TIMED) -> Callable[[], object]:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4))), torch.ones(2, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        (model(x) + model[1](x)).sum().backward()  # a part of itself, of its own class
        optimizer.step()

    [step() for _ in range(steps)]
    return step if steps > 12 else lambda: model(x)


def trains_and_predicts(recorder: Recorder) -> Callable[[], object]:
    predicts = trains(recorder, steps=12)
    [predicts() for _ in range(steps.MOST_TIMED * steps._MOST_COMPARED)]
    return predicts


def is_called_compiled(recorder: Recorder) -> Callable[[], object]:
    compiled = torch.no_grad()(torch.compile(nn.Linear(4, 4)))
    [compiled(torch.ones(2, 4)) for _ in range(MOST_CALLS + 5 + steps.MOST_TIMED)]
    return lambda: compiled(torch.ones(2, 4))


def loops(recorder: Recorder) -> Callable[[], object]:
    x, end = torch.ones(2), time.monotonic() + 30
    while recorder._now.session.is_on() and time.monotonic() < end:
        x = x + 1
    return lambda: x + 1


class Model(nn.Linear):
    """A module whose class no other module has."""


def is_called_eagerly(recorder: Recorder) -> Callable[[], object]:
    model, x = Model(4, 4), torch.ones(2, 4)
    elsewhere = threading.Thread(target=lambda: [model(x) for _ in range(MOST_CALLS + 5)])
    elsewhere.start()  # whose calls do not count
    elsewhere.join()
    with torch.no_grad():
        while recorder._now.session.is_on():
            model(x)
        with mock.patch.object(nn.Module, "_call_impl", lambda _, x: x):  # as a program may
            assert model(x) is x
        for _ in range(steps.MOST_TIMED + 2):
            assert Model._call_impl is nn.Module._call_impl and type(model).__call__ is nn.Module.__call__
            model(x)
        with pytest.raises(RuntimeError) as error:
            model(torch.ones(3, 5))
    assert not any("fxscope/_torch" in str(entry.path) for entry in error.traceback)
    return lambda: model(x)


def calls_of_fxscope_in(step: Callable[[], object]) -> list[str]:
    called, folder = list[types.CodeType](), str(Path(steps.__file__).parent)
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code) if event == "call" else None)
    step()
    sys.setprofile(None)
    return [code.co_name for code in called if code.co_filename.startswith(folder)]


@pytest.mark.parametrize(
    ("program", "bound"),
    [
        (trains, ""),
        (trains_and_predicts, ""),
        (is_called_eagerly, f", which ended at the bound of {MOST_CALLS} calls"),
        pytest.param(is_called_compiled, f", which ended at the bound of {MOST_CALLS} calls", marks=pytest.mark.cpp),
        (loops, ", which ended at the bound of 0.3 s"),
    ],
)
def test_an_observation_ends_at_its_bound_and_says_so(program, bound: str) -> None:
    with Recorder(max_seconds=0.3 if program is loops else 60) as recorder:
        step = program(recorder)
        assert calls_of_fxscope_in(step) == (["stepped"] if program is trains else [])
        assert recorder._now.watch._is_over.is_set()  # else a thread would look at the program twenty times a second
        assert not recorder._now.session.is_on() and sys.getprofile() is None
        assert not torch._C._autograd._profiler_enabled()
    recording = recorder.recording
    assert recorder.failure is None and not hooks.active()
    (after,) = (item for item in recording.unobserved if item.what == "after")
    assert "after the observed part" in after.detail and bound in after.detail
    assert (recording.step_times.when == "after") == (program is not loops)
    assert (recording.step_times.count == steps.MOST_TIMED) == (program not in (trains_and_predicts, loops))


@pytest.mark.cpp
@pytest.mark.parametrize("way", ["eager", "trains", "compiled", "profiles itself", "too short", "no steps"])
def test_a_session_that_waits_begins_after_steps_that_give_the_time(way: str) -> None:
    model, x = nn.Sequential(Model(4, 4)), torch.ones(2, 4)
    run = torch.compile(model) if way == "compiled" else torch.sin if way == "no steps" else model
    optimizer, why = torch.optim.SGD(model.parameters()), {"too short": "after 19 of 20", "no steps": "after 0 of 20"}

    def step(count: int = 1) -> None:
        for _ in range(count):
            loss = run(x).sum()
            if way == "trains":
                loss.backward(), optimizer.step()

    with Recorder(wait=20, warn=False) as recorder:
        step(15)
        assert not torch._C._autograd._profiler_enabled()
        with torch.profiler.profile() if way == "profiles itself" else contextlib.nullcontext():
            step(4)
        step(0 if way == "too short" else 60)
        assert way in why or calls_of_fxscope_in(step) == (["stepped"] if way == "trains" else [])
    recording, times = recorder.recording, recorder.recording.step_times
    assert (recorder.failure is not None) == (way == "no steps") and (not recording.launches) == (way in why)
    assert why.get(way, "") in str(recording.problems)
    count = {"profiles itself": 14, "too short": 18}.get(way, 20)
    assert way == "no steps" or (times.when, times.count) == ("before", count)


def test_calls_before_an_observation_that_no_bound_ends_give_the_time() -> None:
    model, x = Model(4, 4), torch.ones(2, 4)
    with Recorder(wait=6) as recorder, torch.no_grad():
        for _ in range(16):
            model(x)
    assert (recorder.recording.step_times.when, recorder.recording.step_times.count) == ("before", 6)


class Late(Exception):
    def method(self, *_: object) -> None:
        raise self

    __call__ = method


@pytest.mark.parametrize("handler", [Late().method, functools.partial(Late().method), Late()])
@pytest.mark.parametrize("where", ["a call", "after calls", "after seconds"])
def test_what_a_signals_handler_raises_in_work_of_fxscopes_reaches_the_program(where, handler, monkeypatch) -> None:
    model, x, until, before = Model(4, 4), torch.ones(2, 4), time.monotonic() + 20, signal.getsignal(signal.SIGUSR1)
    with Recorder(max_seconds=0.3 if where == "after seconds" else 60) as recorder, torch.no_grad():
        [model(x) for _ in range(3)]
        now = recorder._now
        owner, name = (now.watch, "_called") if where == "a call" else (now.session, "_keep")
        work = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args: (signal.raise_signal(signal.SIGUSR1), work(*args)))
        signal.signal(signal.SIGUSR1, handler)
        with pytest.raises(Late):
            while time.monotonic() < until:
                model(x) if where != "after seconds" else x.sin()
        assert signal.signal(signal.SIGUSR1, before) is handler
    assert recorder.failure is None and recorder.recording.launches


@pytest.mark.cpp
def test_a_model_that_is_compiled_while_its_calls_are_timed_is_compiled_as_it_is() -> None:
    model, x = Model(4, 4), torch.ones(2, 4)
    with Recorder(max_seconds=0.3) as recorder, torch.no_grad():
        while recorder._now.session.is_on():
            model(x)
        model(x)
        assert "_call_impl" in vars(Model)
        torch.testing.assert_close(torch.compile(model, fullgraph=True)(x), model(x))
        assert "_call_impl" not in vars(Model)
    assert recorder.failure is None


def test_a_bound_that_is_reached_while_the_session_ends_changes_nothing(monkeypatch) -> None:
    model, x = Model(4, 4), torch.ones(2, 4)
    with Recorder(max_seconds=60) as recorder, torch.no_grad():
        watch, pause = recorder._now.watch, recorder._now.session.pause
        monkeypatch.setattr(recorder._now.session, "pause", lambda: (watch._reached("1 s"), pause()))
        for _ in range(MOST_CALLS + 5):
            model(x)
    assert watch.bound == f"{MOST_CALLS} calls" and recorder.recording.step_times.when == "after"


def _eager_first(model: nn.Module, x: torch.Tensor) -> None:
    with torch.no_grad():
        for _ in range(MOST_CALLS + 5):
            model(x)


def compares(model: nn.Module, x: torch.Tensor) -> None:
    _eager_first(model, x)
    with torch.no_grad():
        compiled = torch.compile(model)
        for _ in range(5):
            compiled(x)


def compiles_another(model: nn.Module, x: torch.Tensor) -> None:
    _eager_first(nn.Linear(4, 4), x)
    compiled = torch.compile(model)
    for _ in range(5):
        compiled(x)


def compiles_for_one_call(model: nn.Module, x: torch.Tensor) -> None:
    _eager_first(model, x)
    with torch.no_grad():
        torch.compile(model)(x)
        for _ in range(5):
            model(x)


def trains_eagerly_and_evaluates_compiled(model: nn.Module, x: torch.Tensor, *, num_steps: int = 24) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    evaluated = torch.compile(model)
    for step in range(num_steps):
        model(x).sum().backward()
        optimizer.step()
        if step == 12:
            with torch.no_grad():
                [evaluated(x) for _ in range(5)]


def fails_to_compile(model: nn.Module, x: torch.Tensor) -> None:
    _eager_first(model, x)
    with contextlib.suppress(torch._dynamo.exc.BackendCompilerFailed):
        torch.compile(torch.sin, backend=lambda *_: 1 / 0)(x)  # and ends


@pytest.mark.cpp
@pytest.mark.parametrize(
    ("program", "is_compiled"),
    [
        (compares, True),
        (compiles_another, True),
        (compiles_for_one_call, False),
        (trains_eagerly_and_evaluates_compiled, False),
        (lambda model, x: trains_eagerly_and_evaluates_compiled(model, x, num_steps=13), False),  # and predicts
        (fails_to_compile, False),
    ],
)
def test_a_program_that_runs_eagerly_first_is_recorded_compiled(program, is_compiled: bool, monkeypatch) -> None:
    peaks = itertools.count(100, 20 if program is compares else 0)
    monkeypatch.setattr(running, "peak_memory", lambda: Memory(peak_bytes=next(peaks)))
    with Recorder(max_seconds=60) as recorder:
        program(Model(4, 4), torch.ones(2, 4))
    recording = recorder.recording
    assert recorder.failure is None and not hooks.active()
    assert {item.where for item in recording.problems} == ({"compile 0/0"} if program is fails_to_compile else set())
    assert any(launch.call for launch in recording.launches) == is_compiled
    where = "   memory peak of the eager steps 100 B" if is_compiled else ""
    assert f" peak {recording.memory.peak_bytes} B{where}" in "\n".join(lines(report(recording))) + "\n"
    eager = [item.detail for item in recording.unobserved if item.what == "eager"]
    assert len(eager) == (program is compares)
    assert all("3 timed eager steps before the first compile" in item for item in eager)


def test_ops_beyond_a_number_are_left_out_and_counted(monkeypatch) -> None:
    monkeypatch.setattr(event_tree, "MOST_OPS", 40)
    with Recorder() as recorder:
        for _ in range(30):
            torch.ones(3).sin()
    (cut,) = (item for item in recorder.recording.unobserved if item.what == "ops")
    assert len(recorder.recording.ops) + cut.count == 30 * 4 and len(recorder.recording.ops) == 40
    assert 0 < len([node for node in recorder.recording.graph("eager").nodes if node.target == "aten::sin"]) <= 10


def test_time_in_which_the_program_waits_or_compiles_is_no_time_of_the_observation() -> None:
    def backend(module, _):
        time.sleep(0.6)
        return module.forward

    with Recorder(max_seconds=0.4) as recorder:
        time.sleep(1)
        torch.compile(torch.sin, backend=backend)(torch.ones(2))
        assert recorder._now.session.is_on()
        torch.ones(3).cos()
    assert "aten::cos" in {node.target for node in recorder.recording.graph("eager").nodes}


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_profile_function_of_the_programs_stays(when: str) -> None:
    import cProfile

    theirs = cProfile.Profile()
    if when == "before":
        theirs.enable()
    with Recorder() as recorder:
        torch.ones(2).sin()
        if when == "meanwhile":
            theirs.enable()
        torch.ones(2).sin()
        with hooks.WithoutStacks():
            torch.ones(2).cos()
    kept = sys.getprofile()
    theirs.disable()
    assert kept is (theirs if sys.version_info < (3, 12) else None) and recorder.failure is None
    seen = " ".join(str(entry.code) for entry in theirs.getstats())
    assert "sin" in seen and "cos" in seen


LIBRARY = "import warnings\nwarnings.warn('old', DeprecationWarning, stacklevel=2)\n1 / 0\n"
IMPORTS = "import traceback, warnings\nwarnings.simplefilter('always')\ntry:\n    import some_library\n"
IMPORTS += "except ZeroDivisionError:\n    traceback.print_exc()\n"


def test_an_import_says_the_same_while_it_is_observed(tmp_path) -> None:
    """Python leaves its own frames out of tracebacks and warnings: what goes around them must not be there, either."""
    (tmp_path / "some_library.py").write_text(LIBRARY)
    script = tmp_path / "script.py"
    observed = "from fxscope._torch import profiler\nimport fxscope\nprofiler._is_library = lambda file: True\n"
    observed += "with fxscope.record():\n    exec(compile(open('script.py').read(), 'script.py', 'exec'))\n"
    said = []
    for text in (observed, "exec(compile(open('script.py').read(), 'script.py', 'exec'))\n"):
        script.write_text(IMPORTS)
        (tmp_path / "main.py").write_text(text + "import torch\ntorch.ones(2)\n")
        done = run_python("main.py", cwd=tmp_path)
        said.append([line for line in done.stderr.splitlines() if "main.py" not in line and "fxscope" not in line])
    assert said[0] == said[1]
    assert "importlib" not in "".join(said[0]) and "script.py:4: DeprecationWarning: old" in "".join(said[0])


@pytest.mark.cpp
def test_neither_imports_of_libraries_nor_the_compiler_are_in_the_observation(tmp_path) -> None:
    """Their Python calls are millions; the end of a session takes as long as there are events in it."""
    program = "import torch, fxscope\nfrom fxscope.capture import EventTree, profiler\nseen = []\n"
    program += "profiler.EventTree = lambda results: seen.extend((results, EventTree(results))) or seen[1]\n"
    program += "with fxscope.record() as recorder:\n    import mailbox\n    m = torch.nn.Linear(3, 3)\n"
    program += "    torch.compile(m)(torch.ones(2, 3)).sum().backward()\n"
    program += "print(len([1 for e in seen[0].events() if e.is_python_function()]), len(seen[1].raws))"
    (tmp_path / "main.py").write_text(program)
    calls, ops = map(int, printed("main.py", cwd=tmp_path).split())
    assert calls < 100_000 and ops > 5


def test_a_module_without_a_spec_is_imported_as_without_fxscope(tmp_path) -> None:
    (tmp_path / "plain.py").write_text("x = 3\n")
    module = types.ModuleType("plain")
    module.__spec__ = None
    with Recorder() as recorder:
        SourceFileLoader("plain", str(tmp_path / "plain.py")).exec_module(module)
        torch.ones(2).sin()
    assert module.x == 3 and recorder.failure is None


@pytest.mark.cpp
def test_ops_of_the_compiler_do_not_count(monkeypatch) -> None:
    monkeypatch.setattr(event_tree, "MOST_OPS", 100)
    monkeypatch.setattr(profiler.Session, "cleanup", lambda _: None)
    compiled = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8)))
    with Recorder(max_seconds=60) as recorder, torch.no_grad():
        for _ in range(5):
            compiled(torch.ones(2, 8))
    assert recorder._now.session.own.tree.times.cut is None
    assert len(recorder.recording.steps) >= 3


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the heap's size is asked of glibc 2.33")
def test_an_observation_ends_where_its_events_need_too_much_memory() -> None:
    """In a process of its own, because the test is of its whole heap; it freed much, which stays resident."""
    code = """
import torch
from fxscope._torch import steps
from fxscope.capture import Recorder
steps.MOST_HEAP = 32 << 20
blocks = [bytes(2000) for _ in range(200_000)]
del blocks[:-1]
x = torch.ones(4)
with Recorder(max_seconds=600) as recorder:
    blocks += [bytes(100_000) for _ in range(4_000)]  # of the program, 400 MB at once
    for _ in range(1000):
        x = x.sin()
    assert recorder._now.watch.ended_at is None
    while not recorder.recording and recorder._now.watch.ended_at is None:
        x = x * 1.0000001 + 0.0
    x.cos()
(after,) = (item for item in recorder.recording.unobserved if item.what == "after")
print(after.detail, any(op.name == "aten::cos" for op in recorder.recording.ops))
"""
    done = run_python("-c", code)
    assert "bound of 32 MB of memory for events" in done.stdout and done.stdout.endswith("False\n"), done.stderr


def _train(num_steps: int = 3) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(num_steps):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()


def _calls_of(results: Any) -> Counter[tuple[str, ...]]:
    """Return each chain of Python functions below `_train`, without fxscope's own."""
    chains = Counter[tuple[str, ...]]()
    todo: list[tuple[Any, tuple[str, ...]]] = [(root, ()) for root in results.experimental_event_tree()]
    while todo:
        event, chain = todo.pop()
        is_call = event.tag == torch._C._profiler._EventType.PyCall
        is_ours = is_call and f"fxscope{os.sep}_torch" in event.name
        if is_call and not is_ours and (chain or event.name.endswith(" _train")):
            chain = (*chain, event.name)
            chains[chain] += 1
        if not is_ours or event.name.endswith(" wrapper"):  # which calls torch's own
            todo += [(child, chain) for child in event.children]
    return chains


def test_the_profilers_python_stacks_are_those_of_the_program(monkeypatch) -> None:
    """As many returns as calls: else each function after a hook would be inside of another one than it is."""
    _train()
    results: list[Any] = []
    kept = profiler.EventTree
    monkeypatch.setattr(profiler, "EventTree", lambda found: (results.append(found), kept(found))[1])
    with Recorder():
        _train()
    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as bare:
        _train()
    observed, plain = map(_calls_of, (*results, bare.profiler.kineto_results))
    assert observed == plain and plain.total() > 100


def test_a_session_of_the_programs_sees_none_of_what_fxscope_does_to_count_calls() -> None:
    with Recorder(), torch.profiler.profile(with_stack=True) as theirs:
        _train()
    names = {event.name for event in theirs.profiler.function_events}
    assert not {name for name in names if "step ends" in name or name.endswith((" __get__", " _wait"))}
    assert any(name.endswith(" _train") for name in names)


def test_steps_within_a_session_of_the_programs_are_not_timed() -> None:
    durations = steps.Repeated()
    for is_profiled in (False, False, True, True, False, False):
        with torch.profiler.profile() if is_profiled else contextlib.nullcontext():
            durations.tick(time.perf_counter_ns())
    assert len([*filter(None, durations.kept)]) == 2


@pytest.mark.cpp
def test_what_is_compiled_after_a_reset_of_dynamo_has_ids_of_its_own() -> None:
    x = torch.ones(4, 4)
    with Recorder() as recorder, torch.no_grad():
        for function, reset in ((torch.relu, torch._dynamo.reset), (torch.sigmoid, torch.compiler.reset)):
            compiled = torch.compile(lambda x, function=function: function(x) + 1)
            for _ in range(3):
                compiled(x)
            reset()
    recording = recorder.recording
    graphs = [graph for graph in recording.graphs if graph.stage == "post_grad"]
    ops = [
        {node.target.rpartition("aten.")[2] for node in graph.nodes if node.op == "call_function"} for graph in graphs
    ]
    assert [{op.partition(".")[0] for op in found} for found in ops] == [{"relu", "add"}, {"sigmoid", "add"}]
    ran = {call.graph for call in recording.calls if any(launch.call == call.id for launch in recording.launches)}
    assert ran == {graphs[1].id} and {call.graph for call in recording.calls} == {graph.id for graph in graphs}
