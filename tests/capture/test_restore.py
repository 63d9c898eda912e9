"""`record(fn, …)` runs a function more than once: each kind of state that it changes is restored, or reported."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import random
import types
from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

import fxscope
from fxscope._torch import restore

# Each public function before `CASES` is a case: it returns the function that is recorded, its inputs, and what reads the
# state that it changes.


def _plain(value: Any) -> Any:
    """What can be compared: bits of tensors, not their values, in which NaN differs from NaN."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().contiguous().numpy().tobytes(), tuple(value.shape), value.requires_grad
    if isinstance(value, numpy.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {key if isinstance(key, str) else 0: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _training(make: Any) -> Any:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    optimizer = make(model.parameters())

    def step(x):
        model(x).square().sum().backward()
        optimizer.step()

    return model, optimizer, step, torch.randn(3, 4)


def parameters_and_new_optimizer_state():
    model, optimizer, step, x = _training(functools.partial(torch.optim.Adam, lr=0.1))
    return step, (x,), lambda: [model.state_dict(), len(optimizer.state), [p.grad for p in model.parameters()]]


def optimizer_state_that_was_there():
    model, optimizer, step, x = _training(functools.partial(torch.optim.AdamW, lr=0.1))
    step(x)
    return step, (x,), lambda: [model.state_dict(), optimizer.state_dict(), [p.grad for p in model.parameters()]]


def a_schedule_of_learning_rates():
    model, optimizer, step, x = _training(functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9))
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    return (
        lambda x: (step(x), schedule.step()),
        (x,),
        lambda: [model.state_dict(), schedule.state_dict()["last_epoch"], optimizer.param_groups[0]["lr"]],
    )


def buffers_in_place_and_reassigned():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))
            self.register_buffer("last", torch.zeros(2))
            self.calls = 0

        def forward(self, x):
            self.seen += 1
            self.last = x + 1
            self.calls += 1
            self.extra = x
            return x

    model = Counting()
    kept = model.last
    return model, (torch.ones(2),), lambda: [model.seen, model.last, model.last is kept, model.calls, dir(model)]


def a_parameter_that_is_replaced():
    model = nn.Linear(2, 2)
    kept = model.weight

    def function(x):
        model.weight = nn.Parameter(model.weight + 1)
        return model(x)

    return function, (torch.ones(2),), lambda: [model.weight, model.weight is kept]


def data_written_and_assigned():
    model = nn.Linear(2, 2)
    place = model.bias.data_ptr()

    def function(x):
        model.weight.data.mul_(2)
        model.bias.data = torch.ones(5)
        return x + 1

    return function, (torch.ones(2),), lambda: [model.weight, model.bias, model.bias.data_ptr() == place]


def gradients_accumulated_into_the_same_tensor():
    model, x = nn.Linear(2, 2), torch.ones(2)
    model(x).sum().backward()
    kept = model.weight.grad
    return lambda x: model(x).sum().backward(), (x,), lambda: [model.weight.grad is kept, model.weight.grad]


def whether_it_needs_a_gradient():
    model = nn.Linear(2, 2)
    return lambda x: model.requires_grad_(False)(x), (torch.ones(2),), lambda: list(model.parameters())


def an_input_that_is_written_and_joins_a_graph():
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    return lambda x: x.mul_(w), (x,), lambda: [x, x.is_leaf, x.grad_fn]


def memory_that_is_resized():
    x = torch.arange(6.0)

    def read():
        size = x.untyped_storage().nbytes()
        return size, x if size else None

    return lambda x: x.untyped_storage().resize_(0), (x,), read


def parameters_of_inference_mode():
    with torch.inference_mode():
        model = nn.Linear(2, 2)

    def function(x):
        with torch.inference_mode():
            model.weight.add_(1)
            return model(x)

    return function, (torch.ones(2),), lambda: model.weight


def buffers_that_overlap_and_nan():
    model = nn.Module()
    model.register_buffer("one", torch.zeros(1).expand(4))
    model.register_buffer("nan", torch.full((3,), float("nan")))

    def function(x):
        model.one.untyped_storage().fill_(1)
        model.nan[1] = 2
        return x + 1

    return function, (torch.ones(2),), lambda: [model.one, model.nan]


def tied_weights_and_views():
    whole = torch.zeros(8)
    parts = {"a": whole[:4], "b": whole[2:], "tied": [whole, whole]}
    return lambda parts: parts["b"].add_(1), (parts,), lambda: whole


def sparse_quantized_and_wrapped():
    sparse = torch.eye(3).to_sparse()
    rows = torch.eye(3).to_sparse_csr()
    quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    wrapped = TwoTensor(torch.zeros(2), torch.zeros(2))

    def function(*_):
        sparse._values().add_(1)
        rows.values().add_(1)
        quantized.copy_(torch.zeros(3))
        wrapped.a.add_(1)
        return torch.ones(2) + 1

    return (
        function,
        (sparse, rows, quantized, wrapped),
        lambda: [sparse.to_dense(), rows.to_dense(), quantized.dequantize(), wrapped.a],
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """What a loader gives."""

    x: torch.Tensor
    names: list[str]


def dataclasses_and_containers():
    batch, seen = Batch(torch.zeros(2), ["a"]), {"n": 1}

    def function(batch, seen):
        batch.x.add_(1)
        batch.names.append("b")
        object.__setattr__(batch, "x", torch.ones(3))
        seen["n"] = 2
        seen["m"] = 3
        return torch.ones(2) + 1

    return function, (batch, seen), lambda: [batch.x, batch.names, seen]


class Cache:
    """Keys that grow, as a language model's."""

    def __init__(self):
        self.keys = [torch.zeros(1)]
        self.length = 1

    def update(self, x):
        self.keys[0] = torch.cat([self.keys[0], x])
        self.length += 1
        return self.keys[0]


def objects_of_the_programs_own():
    cache = Cache()
    return cache.update, (torch.ones(2),), lambda: [cache.keys, cache.length]


COUNT = 0
TABLE = torch.zeros(2)


def closure_defaults_and_globals():
    total, calls = torch.zeros(2), 0

    def function(x, kept=[torch.zeros(2)]):  # noqa: B006, B008
        global COUNT
        nonlocal calls
        COUNT += 1
        calls += 1
        TABLE.add_(1)
        kept[0].add_(1)
        return total.add_(x)

    return function, (torch.ones(2),), lambda: [total, calls, COUNT, TABLE, function.__defaults__[0]]


def attributes_of_what_has_no_class_of_the_programs():
    config, weight = types.SimpleNamespace(steps=0), nn.Parameter(torch.zeros(2))
    weight.main_grad = torch.zeros(2)

    def function(config, weight):
        config.steps += 1
        function.calls += 1
        weight.main_grad.add_(1)
        weight.seen = True

    function.calls = 0
    return function, (config, weight), lambda: [config.steps, function.calls, weight.main_grad, sorted(vars(weight))]


def arrays_and_generators():
    own, theirs = torch.Generator(), numpy.random.default_rng(0)
    old, mine = numpy.random.RandomState(0), random.Random(0)
    array = numpy.array([1.0, numpy.nan])

    def function(theirs, old, array):
        random.random(), numpy.random.rand(), torch.rand(1), mine.random()
        theirs.random(), old.rand()
        array += 1
        return torch.rand(3, generator=own)

    def read():
        numbers = [random.getstate(), numpy.random.get_state()[1:3], mine.getstate(), old.get_state()[1:3]]
        return [*numbers, torch.get_rng_state(), own.get_state(), theirs.bit_generator.state, array]

    return function, (theirs, old, array), read


def a_compiled_function():
    weight = torch.zeros(2)
    return torch.compile(lambda x: weight.add_(x), backend="eager"), (torch.ones(2),), lambda: weight


CASES = {
    name: item
    for name, item in globals().items()
    if inspect.isfunction(item) and item.__module__ == __name__ and not name.startswith("_")
}


@pytest.mark.filterwarnings("ignore:Sparse CSR", "ignore:torch.quantize")
@pytest.mark.parametrize("name", CASES)
def test_state_is_restored(name: str) -> None:
    function, inputs, read = CASES[name]()
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


def gives() -> Any:
    yield from range(9)


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (gives, next, "inputs[0]: a generator, which cannot be set back"),
        (lambda: iter([1, 2]), next, "inputs[0]: a list_iterator, which cannot be set back"),
        (
            lambda: iter(torch.utils.data.DataLoader([1, 2])),
            next,
            "a _SingleProcessDataLoaderIter, which cannot be set",
        ),
        (lambda: nn.LazyLinear(2), lambda model: model(torch.ones(1, 2)), "its lazy parameters were made"),
        (lambda: torch.ones(2).to_mkldnn(), lambda x: x.add_(x), "a Tensor that was written in place"),
    ],
    ids=["generator", "iterator", "loader", "lazy", "mkldnn"],
)
def test_what_cannot_be_restored_is_reported(make: Any, change: Any, message: str) -> None:
    value = make()
    with restore.restored(change, (value,), {}) as problems:
        change(value)
    (problem,) = problems
    assert problem.where == "state" and message in problem.message


def test_what_is_too_large_to_copy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore, "available_bytes", lambda: 200)
    with restore.restored(torch.sin, (torch.ones(1000),), {}) as problems:
        pass
    assert "4e-06 GB of tensors were not copied" in problems[0].message


@pytest.mark.parametrize("compile", [False, "backend"])
def test_a_recorded_training_step_leaves_the_program_as_it_was(compile: Any) -> None:
    model, optimizer, step, x = _training(functools.partial(torch.optim.Adam, lr=0.1))
    before = _plain(model.state_dict())
    recording = fxscope.record(step, x, compile=compile and {"backend": "eager"}, steps=1)
    assert _plain(model.state_dict()) == before and not optimizer.state
    assert not [problem for problem in recording.problems if problem.where == "state"]
