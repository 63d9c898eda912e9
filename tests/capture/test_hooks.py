"""Hooks come off whatever happens, and never let fxscope's own mistakes out."""

import contextlib
import importlib
import inspect
import types

import pytest
import torch

import fxscope
from fxscope._torch import hooks, inductor, profiler, steps
from fxscope._torch.hooks import Hooks
from fxscope._torch.made_for import Demands
from fxscope._torch.rewrites import Rewrites


@pytest.fixture
def owner(monkeypatch):
    import sys

    module = types.ModuleType("fxscope_test_owner")

    class Thing:
        def method(self, x: int) -> int:
            return x + 1

    class Child(Thing):
        pass

    module.Thing, module.Child = Thing, Child
    monkeypatch.setitem(sys.modules, "fxscope_test_owner", module)
    return module


def test_before_and_after_see_the_call_and_the_result_is_the_same(owner) -> None:
    seen = []
    with contextlib.closing(Hooks()) as installed:
        installed.wrap("fxscope_test_owner:Thing.method", "before", lambda self, x: seen.append(("before", x)))
        installed.wrap("fxscope_test_owner:Thing.method", "after", lambda result, *_: seen.append(("after", result)))
        assert owner.Thing().method(1) == 2
        assert hooks.active() == ("fxscope_test_owner:Thing.method",) * 2
    assert seen == [("before", 1), ("after", 2)]
    assert owner.Thing().method(1) == 2 and len(seen) == 2
    assert hooks.active() == ()


def test_an_inherited_method_is_restored_by_inheriting_it_again(owner) -> None:
    with contextlib.closing(Hooks()) as installed:
        installed.wrap("fxscope_test_owner:Child.method", "before", lambda *_: None)
        assert "method" in vars(owner.Child)
    assert "method" not in vars(owner.Child)


def test_a_class_or_static_method_keeps_its_kind(owner) -> None:
    class Kinds:
        @classmethod
        def name(cls) -> str:
            return cls.__name__

        @staticmethod
        def twice(x: int) -> int:
            return 2 * x

    owner.Kinds, owner.Child = Kinds, type("Child", (Kinds,), {})
    before, seen = dict(vars(Kinds)), []
    with contextlib.closing(Hooks()) as installed:
        for name in ("name", "twice"):
            assert installed.wrap(f"fxscope_test_owner:Kinds.{name}", "after", lambda result, *_: seen.append(result))
        assert (owner.Child.name(), Kinds().twice(3)) == ("Child", 6)
    assert seen == ["Child", 6] and dict(vars(Kinds)) == before


def test_a_mistake_in_a_hook_is_one_problem(owner) -> None:
    def broken(*_):
        raise ValueError("ours\nmore")

    with contextlib.closing(Hooks()) as installed:
        installed.wrap("fxscope_test_owner:Thing.method", "before", broken)
        assert [owner.Thing().method(x) for x in (1, 2)] == [2, 3]
    assert [(problem.where, problem.message) for problem in installed.problems] == [
        ("hook fxscope_test_owner:Thing.method", "ValueError: ours")
    ]


def test_the_programs_own_error_passes_through(owner) -> None:
    def fails(self, x):
        raise KeyError("theirs")

    owner.Thing.method = fails
    with pytest.raises(KeyError, match="theirs"), contextlib.closing(Hooks()) as installed:
        installed.wrap("fxscope_test_owner:Thing.method", "before", lambda *_: None)
        owner.Thing().method(1)
    assert owner.Thing.method is fails


def test_a_name_that_is_not_there_is_a_problem(owner) -> None:
    with contextlib.closing(Hooks()) as installed:
        assert not installed.wrap("fxscope_test_owner:Thing.nothing", "before", lambda *_: None)
        assert not installed.wrap("no_such_module_at_all:x", "before", lambda *_: None)
    assert len(installed.problems) == 2


def test_one_that_fails_to_come_off_does_not_keep_the_others(owner) -> None:
    def fails() -> None:
        raise RuntimeError("stuck")

    installed = Hooks()
    installed.wrap("fxscope_test_owner:Thing.method", "before", lambda *_: None)
    installed.at_end("bad", fails)
    installed.close()
    assert hooks.active() == ()
    assert owner.Thing().method(1) == 2
    assert [problem.where for problem in installed.problems] == ["restoring bad"]


def without(monkeypatch, *names: str) -> None:
    """Make torch one that does not have these names, for fxscope."""
    real = hooks.resolve

    def resolve(path: str):
        if path in names:
            raise AttributeError(path)
        return real(path)

    monkeypatch.setattr(hooks, "resolve", resolve)


def test_a_torch_that_nobody_has_tried_is_recorded_and_every_name_it_lacks_is_told(monkeypatch) -> None:
    importlib.import_module("torch._inductor.compile_fx")  # its hooks go on at once
    kinds = (inductor.InductorCapture, profiler.Session)
    hooked = {item.path for kind in kinds for _, item in hooks.hooks_of(kind) if not item.optional}
    for method in {getattr(kind, name) for kind in (*kinds, Demands, Rewrites) for name, _ in hooks.hooks_of(kind)}:
        takes = {parameter.kind for parameter in inspect.signature(method).parameters.values()}
        more = takes & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        assert len(more) != 1, method  # what ignores further arguments ignores those that are named, too
    without(monkeypatch, *hooked, inductor.METRICS, inductor.HANDLES, steps.OPTIMIZER_HOOK, steps.COMPILED_CALL)

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x.sin() + 1).sum(-1)

    x = torch.randn(8, 8)
    with fxscope.record() as recorder:
        result = torch.compile(program)(x)
        (result + 1).sum()
    assert torch.allclose(result, program(x))
    assert recorder.failure is None
    assert recorder.recording is not None and recorder.recording.launches  # what needs none of the hooks is there
    assert not recorder.recording.calls
    told = " ".join(problem.where for problem in recorder.recording.problems)
    assert len(hooked) > 12 and all(name in told for name in hooked)


def test_dynamo_compiles_the_programs_of_fxscope() -> None:
    """Its own functions are hidden from Dynamo, but not those that it records."""
    from fxscope._torch.programs import battery, geglu

    model, inputs = geglu.make(batch=2, sequence=4, dim=8, hidden=16, dtype=torch.float32)
    recorded = fxscope.record(model, *inputs, compile={"backend": "aot_eager"})
    assert any(graph.stage == "pre_grad" for graph in recorded.graphs)
    assert not {module.__name__ for module in (battery, geglu)} & hooks._hidden_modules
