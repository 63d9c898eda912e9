"""Recompiles, graph breaks, compile times: programs of torch's test_recompiles.py and test_error_messages.py, and users'."""

import pytest
import torch
from torch import nn

import fxscope
from fxscope.analysis.report import report
from fxscope.model import replace

EAGER = {"backend": "eager"}


def two(x, flag, k):
    return x * k if flag else x + k


class Counter(nn.Module):
    """pytorch/pytorch#122714: an int of a module that each call changes."""

    def __init__(self, first: int = 2) -> None:
        super().__init__()
        self.calls = first

    def forward(self, x):
        self.calls += 1
        return x * self.calls


SIZES = (torch.ones(8, 4), torch.ones(9, 4))
# name: (function, arguments of its calls, torch.compile's options, the guards that failed, a word of what to change)
RECOMPILES = {
    "size": (torch.sin, SIZES, {}, ["tensor 'args[0]' size mismatch at index 0. expected 8, actual 9"], "mark_dynamic"),
    "size, dynamic": (torch.sin, SIZES, {"dynamic": True}, [], ""),
    "float": (torch.mul, ((SIZES[0], 1.5), (SIZES[0], 2.5)), {}, ["args[1] == 1.5, actual 2.5"], "dynamic=True"),
    "float, dynamic": (torch.mul, ((SIZES[0], 1.5), (SIZES[0], 2.5)), {"dynamic": True}, [], ""),
    "three guards": (
        two,
        ((torch.ones(4), True, 2), (torch.ones(5), False, 3)),
        {},
        ["k == 2, actual 3", "tensor 'x' size mismatch at index 0. expected 4, actual 5", "flag == True, actual False"],
        "dynamic=True",
    ),
    "dtype": (two, ((torch.ones(4), True, 2), (torch.ones(4).double(), True, 2)), {}, ["dtype mismatch"], "one dtype"),
    "layout": (
        two,
        ((torch.ones(4, 5), True, 2), (torch.ones(5, 4).t(), True, 2)),
        {},
        ["stride mismatch"],
        "contiguous",
    ),
    "length": (sum, (([SIZES[0]],), ([SIZES[0]] * 2,)), {}, ["len(args[0]) == 1, actual 2"], "one length"),
    "string": (
        lambda x, s: x.sin() if s == "sin" else x,
        ((SIZES[0], "sin"), (SIZES[0], "cos")),
        {},
        ["s == 'sin', actual 'cos'"],
        "",
    ),
    "grad": (
        two,
        ((torch.ones(4), True, 2), (torch.ones(4, requires_grad=True), True, 2)),
        {},
        ["requires_grad"],
        "requires_grad",
    ),
    "one object": (two, ((SIZES[0], True, SIZES[0]), (SIZES[0], True, SIZES[0] + 1)), {}, ["x is k"], ""),
    "counted": (Counter(), SIZES[:1] * 3, {}, ["self.calls == 2, actual 3"], "allow_unspec_int_on_nn_module"),
    "no change": (two, ((SIZES[0], True, 2),) * 3, {}, [], ""),
}


@pytest.mark.parametrize("name", RECOMPILES)
def test_a_recompile_names_every_guard_that_failed_its_values_and_what_to_change(name: str) -> None:
    function, calls, options, guards, change = RECOMPILES[name]
    torch._dynamo.reset()
    with fxscope.record() as recorder:
        compiled = torch.compile(function, **EAGER, **options)
        for arguments in calls:
            compiled(*(arguments if isinstance(arguments, tuple) else (arguments,)))
    rows = report(recorder.recording).recompiles
    assert len(rows) == bool(guards) and not recorder.recording.problems
    for row in rows:
        found = [row.reason, *row.also]
        assert len(found) == len(guards) and all(map(str.__contains__, found, guards)), found
        assert row.count == len(calls) - 1 and change in " ".join(row.hints) and bool(row.hints) is bool(change)


@pytest.mark.slow
def test_a_recompile_is_compared_with_versions_for_the_same_module() -> None:
    """Two models of one class share the code of its `forward`, and its compiled versions."""
    torch._dynamo.reset()
    generator, critic = (nn.Sequential(nn.Linear(size, 4), nn.ReLU()) for size in (3, 4))
    one, other = (torch.compile(model, **EAGER) for model in (generator, critic))
    with fxscope.record() as recorder:
        made = one(torch.ones(2, 3))
        other(torch.ones(5, 4))
        other(torch.cat([made, made, made[:1]]))
    (row,) = report(recorder.recording).recompiles
    assert "requires_grad mismatch" in row.reason and not row.also
    # Of torch's words alone: a guard of several lines is of one version
    words = "0/0: size mismatch at index {}. expected 1, actual 2"
    lines = [*(words.format(index) for index in range(3)), "0/1: requires_grad mismatch. expected 0"]
    lines.append("0/0: requires_grad mismatch. expected 0")
    compiled = replace(recorder.recording.compiles[-1], recompile_reason="\n".join(lines))
    (row,) = report(replace(recorder.recording, compiles=(compiled,))).recompiles
    assert row.reason.startswith("requires_grad mismatch")


def test_the_time_of_a_compile_is_that_of_its_phases_and_has_the_backward() -> None:
    torch._dynamo.reset()
    recording = fxscope.record(nn.Linear(4, 4), torch.ones(2, 4), compile=True, backward=True, steps=1, warmup=0)
    from torch._dynamo.utils import get_compilation_metrics

    timed = [item.duration_us for item in get_compilation_metrics() if item.compile_id == "0/0"][-2:]
    (compile_,) = recording.compiles
    assert compile_.duration_us == pytest.approx(sum(timed)) == pytest.approx(sum(compile_.phases.values()))
    assert set(compile_.phases) == {"Dynamo", "AOTAutograd", "Inductor", "code generation"}


def logged(x):
    import logging

    logging.getLogger("fxscope").info("x")
    return x.sin()


def printed(x):
    y = x.sin()
    print("here", end="")
    return y.cos()


def branched(x):
    return x.sin() if x.sum() > 0 else x.cos()


BREAKS = {
    "print": (printed, "Dynamo does not know how to trace builtin operator `print`", "print("),
    "branch": (branched, "Detected data-dependent branching", "x.sum() > 0"),
    "item": (lambda x: x * x.sum().item(), "does not support tracing `Tensor.item()`", "item()"),
    "logging": (logged, "logging.Logger method", ".info("),  # inside Python's own file
    "no break": (lambda x: torch.where(x > 0, x, -x), "", ""),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_has_torchs_explanation_at_the_users_line(name: str) -> None:
    function, words, code = BREAKS[name]
    torch._dynamo.reset()
    with fxscope.record() as recorder:
        torch.compile(function, **EAGER)(torch.ones(4))
    made = recorder.recording
    rows = report(made).breaks
    assert bool(rows) is bool(words)
    for row in rows[-1:]:
        assert words in row.reason and row.where.startswith("test_guards.py:") and row.hints
    for item in made.compiles:
        assert item.break_source is None or code in (item.break_source.code or "")


@torch.compiler.disable
def left_out(x):
    return x.cumsum(0)


def with_a_part_left_out(x):
    return left_out(x.sin()).cos()


@pytest.mark.slow
@pytest.mark.parametrize(("function", "kernels"), [(printed, 0), (with_a_part_left_out, 1)])
def test_what_a_break_costs_is_what_is_between_its_parts(function, kernels: int) -> None:
    torch._dynamo.reset()
    recording = fxscope.record(function, torch.ones(64, 64), compile=True, steps=3)
    (row,) = report(recording).breaks
    assert row.kernels == kernels
    steps = [
        [item for item in recording.launches if item.step == number] for number in {x.step for x in recording.launches}
    ]
    gaps = sorted(after.start_ns - before.start_ns - before.duration_ns for before, *_, after in steps)
    assert row.cost_us == pytest.approx(gaps[1] / 1000)
