"""`record(fn, …)` runs a function more than once: each kind of state that it changes is restored, or reported."""

import contextvars
import functools
import queue
import re
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn

import fxscope
from fxscope._torch import restore

PROGRAMS = Path(__file__).with_name("restorable.txt")
CASES = dict(re.findall(r"^# --- (\w+)\n(.*?)(?=^# --- |\Z)", PROGRAMS.read_text(), re.S | re.M))


def _made(name: str) -> dict[str, Any]:
    """Run a text that defines `function`, its `inputs`, and `read`, which gives the state that the function changes."""
    names: dict[str, Any] = {"__name__": "restorable"}
    for text in (CASES["head"], CASES[name]):
        line = PROGRAMS.read_text().partition(text)[0].count("\n")
        exec(compile("\n" * line + text, PROGRAMS, "exec", dont_inherit=True), names)
    return names


def _plain(value: Any) -> Any:
    """What can be compared: bits of tensors, not their values, in which NaN differs from NaN."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().contiguous().numpy().tobytes(), tuple(value.shape), value.requires_grad
    if isinstance(value, numpy.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {key if isinstance(key, str) else 0: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.filterwarnings("ignore:Sparse CSR", "ignore:torch.quantize")
@pytest.mark.parametrize("name", [name for name in CASES if name != "head"])
def test_state_is_restored(name: str) -> None:
    made = _made(name)
    function, inputs, read = made["function"], made["inputs"], made["read"]
    before = _plain(read())
    with restore.restored(function, inputs, {}) as problems:
        function(*inputs)
        assert _plain(read()) != before, "the row changes nothing"
    assert _plain(read()) == before
    assert problems == []


def test_what_did_not_change_is_not_written() -> None:
    """A write would spoil the backward of a graph that the program keeps."""
    model, x = nn.Linear(2, 2), torch.ones(2)
    loss = model(x).square().sum()
    versions = [p._version for p in model.parameters()]
    with restore.restored(model, (x,), {}) as problems:
        model(x)
    loss.backward()
    assert [p._version for p in model.parameters()] == versions and not problems


@functools.lru_cache
def table(size: int) -> torch.Tensor:
    return torch.zeros(size)


def gives() -> Any:
    yield from range(9)


def _filled(kind: Any) -> Any:
    kind.put(1)
    return kind


@pytest.mark.parametrize(
    ("make", "change", "what"),
    [
        (gives, next, "inputs[0] (generator)"),
        (lambda: iter([1, 2]), next, "inputs[0] (list_iterator)"),
        (lambda: iter(torch.utils.data.DataLoader([1, 2])), next, "inputs[0]._sampler_iter (generator)"),
        (lambda: torch.ones(2).to_mkldnn(), lambda x: x.add_(x), "inputs[0]"),
        (lambda: _filled(queue.Queue()), lambda item: item.get(), "inputs[0] (Queue)"),
        (lambda: _filled(queue.SimpleQueue()), lambda item: item.get(), "inputs[0] (SimpleQueue)"),
        (threading.Event, lambda event: event.set(), "inputs[0]"),
        (lambda: contextvars.ContextVar("name"), lambda variable: variable.set(1), "inputs[0] (ContextVar)"),
        (lambda: table(3) is None or table, lambda cached: cached(4), "inputs[0] (_lru_cache_wrapper)"),
        (lambda: torch.ones(2, requires_grad=True) * 2, lambda x: x.mul_(x), "inputs[0]"),
        (lambda: torch.ones(2), torch.Tensor.share_memory_, "inputs[0]"),
    ],
)
def test_what_cannot_be_restored_is_reported(make: Any, change: Any, what: str) -> None:
    value = make()
    with restore.restored(change, (value,), {}) as problems:
        change(value)
    (problem,) = problems
    assert problem.where == "state" and what in problem.message


def test_what_is_too_large_to_copy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore, "available_bytes", lambda: 200)
    with restore.restored(torch.sin, (torch.ones(1000),), {}) as problems:
        pass
    assert "4e-06 GB of tensors were not copied" in problems[0].message


@pytest.mark.parametrize("compile", [False, "backend"])
def test_a_recorded_training_step_leaves_the_program_as_it_was(compile: Any) -> None:
    model, optimizer, step, x = _made("head")["training"](functools.partial(torch.optim.Adam, lr=0.1))
    before = _plain(model.state_dict())
    recording = fxscope.record(step, x, compile=compile and {"backend": "eager"}, steps=1)
    assert _plain(model.state_dict()) == before and not optimizer.state
    assert not [problem for problem in recording.problems if problem.where == "state"]
