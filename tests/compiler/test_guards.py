"""Recompiles, graph breaks, compile times: programs of torch's test_recompiles.py and test_error_messages.py, and users'."""

import contextlib
import enum
import functools
import itertools

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import fxscope
from fxscope.analysis.report import report
from fxscope.index import grouped
from fxscope.model import replace
from fxscope.render.report import lines
from tests.compiler import FOLDER, functions, rows

EAGER = {"backend": "eager"}
NAMES_SKIPPED = hasattr(torch._dynamo.convert_frame.CatchErrorsWrapper, "_handle_skip")


def two(x, flag, k):
    return x * k if flag else x + k


def cast(x, d):
    return x.to(d.get("to", torch.double))


def closed(number):
    return lambda x: x * number


class Level(enum.Enum):  # of cases in recompiles.txt, like `Keyed`
    LOW, HIGH = 1, 2


class Keyed:
    def __init__(self, key):
        self.key = key


class Counter(nn.Module):
    """pytorch/pytorch#122714: an int of a module that each call changes."""

    def __init__(self, first: int = 2) -> None:
        super().__init__()
        self.calls = first

    def forward(self, x):
        self.calls += 1
        return x * self.calls


SIZES, STATE = (torch.ones(8, 4), torch.ones(9, 4)), {"k": 2}
RECOMPILES = rows("recompiles.txt")


@pytest.mark.parametrize("name", RECOMPILES)
def test_a_recompile_names_every_guard_that_failed_its_values_and_what_to_change(name: str) -> None:
    *program, guards, change = RECOMPILES[name]
    function, calls, options = (eval(text, globals()) for text in program)
    calls, guards = list(calls), guards.split(" & ") if guards != "-" else []
    with fxscope.record() as recorder:
        compiled = torch.compile(function, **EAGER, **options)
        for arguments in calls:
            compiled(*(arguments if isinstance(arguments, tuple) else (arguments,)))
    found_rows = report(recorder.recording).recompiles
    assert len(found_rows) == bool(guards) and not recorder.recording.problems
    for row in found_rows:
        found = [row.reason, *row.also]
        assert len(found) == len(guards) and all(map(str.__contains__, found, guards)), found
        assert row.count == len(calls) - 1 and change in " ".join(row.hints) and bool(row.hints) is bool(change)


@pytest.mark.slow
def test_a_recompile_is_compared_with_versions_for_the_same_module() -> None:
    """Two models of one class share the code of its `forward`, and its compiled versions."""
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
    for reason, words in (
        ("\n".join(lines), "requires_grad mismatch"),
        ("0/0: G['c'].k == 0, actual 1", "pass k as an"),
        ("0/0: L['m'].training == True", "train() and once"),
    ):
        compiled = replace(recorder.recording.compiles[-1], recompile_reason=reason)
        (row,) = report(replace(recorder.recording, compiles=(compiled,))).recompiles
        assert words in f"{row.reason} {row.hints}"


def test_the_time_of_a_compile_is_that_of_its_phases_and_has_the_backward() -> None:
    recording = fxscope.record(nn.Linear(4, 4), torch.ones(2, 4), compile=True, backward=True, steps=1, warmup=0)
    from torch._dynamo.utils import get_compilation_metrics

    timed = [item.duration_us for item in get_compilation_metrics() if item.compile_id == "0/0"][-2:]
    (compile_,) = recording.compiles
    assert compile_.duration_us == pytest.approx(sum(timed)) == pytest.approx(sum(compile_.phases.values()))
    assert set(compile_.phases) == {"Dynamo", "AOTAutograd", "Inductor", "code generation"}


BREAKS = functions("breaks.txt")


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_has_torchs_explanation_at_the_users_line(name: str) -> None:
    function, (_, words, *code) = BREAKS[name]
    with fxscope.record() as recorder:
        list(torch.compile(function, **EAGER)(torch.ones(4)))
    made = recorder.recording
    rows = report(made).breaks
    whole = [row for row in rows if f" of {name}: " in row.reason]
    assert bool(rows) is (words != "-") and bool(whole) is (code[1:] == ["whole"]) and not made.problems
    pairs = itertools.permutations(rows, 2)  # what ends the graph of a caller, too, is one row
    assert not any(one.where == other.where and one.reason.endswith(other.reason) for one, other in pairs)
    for row in (whole or rows)[-1:]:
        line = (FOLDER / "breaks.txt").read_text().splitlines()[int(row.where.removeprefix("breaks.txt:")) - 1]
        assert words in row.reason and code[0] in line and row.hints
    for item in made.compiles:
        assert item.break_source is None or code[0] in (item.break_source.code or "")


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args, kwargs=None):
        return function(*args, **(kwargs or {}))


@pytest.mark.skipif(not NAMES_SKIPPED, reason="this torch gives no reason for a frame that it skips")
@pytest.mark.parametrize(
    ("state", "words"),
    [
        (Passing, "non-infra torch dispatch mode present"),  # pytorch/pytorch#144787
        (functools.partial(torch._dynamo.config.patch, disable=True), "Dynamo tracing is disabled"),
        (contextlib.nullcontext, ""),
    ],
)
def test_a_frame_that_dynamo_skips_says_why(state, words: str) -> None:
    with fxscope.record() as recorder, state():
        torch.compile(calls_scaled, **EAGER)(torch.ones(4))
    made = report(recorder.recording)
    assert [f"made no graph of calls_scaled: {words}" in row.reason for row in made.breaks] == [True] * bool(words)
    assert ("every compile failed" in made.contents) is bool(words)


def test_a_frame_of_a_library_has_its_own_name() -> None:
    import traceback

    with fxscope.record() as recorder:
        torch.compile(lambda x: (traceback.extract_stack(), x.sin()), **EAGER)(torch.ones(4))
    names = {row.reason.partition(": ")[0] for row in report(recorder.recording).breaks if "Generators" in row.reason}
    assert names and not any("lambda" in name or "test_" in name for name in names)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kernels", "at"), [("printed", 0, "1/0:inference"), ("disabled", 1, "aten::cumsum")])
def test_what_a_break_costs_is_what_is_between_its_parts(name: str, kernels: int, at: str) -> None:
    recording = fxscope.record(BREAKS[name][0], torch.ones(64, 64), compile=True, steps=3)
    (row,), memory = report(recording).breaks, recording.memory
    assert (row.kernels, report(recording).memory_peak_in) == (kernels, at) and memory.step_bytes == 2 * 4 * 64 * 64
    steps = grouped(recording.launches, lambda item: item.step).values()
    gaps = sorted(after.start_ns - before.start_ns - before.duration_ns for before, *_, after in steps)
    busy = sorted(sum(item.duration_ns for item in between) for _, *between, _ in steps)
    assert (row.cost_us, row.busy_us) == (pytest.approx(gaps[1] / 1000), pytest.approx(busy[1] / 1000))


KEYS = rows("cache_keys.txt")


def scaled(x, k=2):
    return (x * k).sin()


def calls_scaled(x):
    return scaled(x).cos()


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second", "words"), KEYS.values(), ids=KEYS)
def test_a_compile_that_no_cache_holds_says_what_differs_in_its_key(first, second, words, monkeypatch) -> None:
    def run(*inputs, dynamic=False, **options):
        return torch.compile(scaled, dynamic=dynamic, **options)(*inputs)

    def again(*inputs, deterministic=False, **options):
        torch._dynamo.reset()
        torch.use_deterministic_algorithms(deterministic)
        run(*inputs, **options)

    monkeypatch.setattr("torch._inductor.codecache.torch_key", bytes)  # the hash of an installation takes seconds
    names = {**vars(torch), "run": run, "again": again, "x": torch.ones(8, 4)}
    try:
        with fxscope.record() as recorder:
            eval(first, names)
            eval(second, names)
    finally:
        torch.use_deterministic_algorithms(False)
    made = report(recorder.recording)
    assert len(made.cache_keys) == (words != "-")
    for row in made.cache_keys:
        assert words in " ".join([row.reason, *row.also])
        whole = words.startswith("0/0: not cached: ") or "same key as" in words
        assert whole or "key differs from that of 0/0 in " in row.reason
    shown = "\n".join(lines(made, everything=True, width=300))
    assert ("Cache misses" in shown) is (words != "-") and "Cache misses" not in "\n".join(lines(made))
