"""Listening to the scheduler changes nothing: not the result, not torch, not even where a hook fails."""

import contextlib

import pytest
import torch

from fxscope._torch import scheduler, scheduler_facts
from fxscope._torch.hooks import Hooks, exists, hooks_of, resolve


def program(x):
    return (x.sin() * 2).sum(-1) + x.t().contiguous().cos().sum(-1)


def compile_and_run():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch._inductor.config.patch(fx_graph_cache=False):
        return torch.compile(program)(torch.randn(16, 16))


def methods():
    paths = [item.path for _, item in hooks_of(scheduler.Watch)]
    return {path: resolve(path)[2] for path in paths if exists(path)}


@pytest.mark.parametrize("error", [None, RuntimeError])
def test_everything_is_put_back(error):
    before = methods()
    with pytest.raises(error) if error else contextlib.nullcontext(), contextlib.closing(Hooks()) as hooks:
        scheduler.Watch(hooks)
        assert methods() != before
        if error:
            raise error
    assert methods() == before


@pytest.mark.parametrize("name", [None, "written_into", "members_of", "flatten"])
def test_the_result_is_the_same_and_a_hook_that_fails_is_a_problem(monkeypatch, name):
    expected = compile_and_run()

    def fail(*_):
        raise KeyError("no such thing in this torch")

    if name is not None:
        monkeypatch.setattr(scheduler_facts, name, fail)
    with contextlib.closing(Hooks()) as hooks:
        scheduler.Watch(hooks)
        assert torch.equal(compile_and_run(), expected)
    if name is None:
        assert hooks.problems == []
    elif name != "members_of" or hooks.problems:  # a program without joins asks for no members
        assert any("no such thing" in problem.message for problem in hooks.problems)


def test_a_missing_hook_is_a_problem_and_a_graph_without_a_scheduler_has_no_schedule(monkeypatch):
    monkeypatch.delattr("torch._inductor.scheduler.Scheduler.will_fusion_create_cycle")
    with contextlib.closing(Hooks()) as hooks:
        assert scheduler.Watch(hooks).collect(object(), graph="x") == (None, {})
    (problem,) = hooks.problems
    assert "will_fusion_create_cycle" in problem.where
    assert problem.remedy
