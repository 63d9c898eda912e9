"""`--numerics`: a kernel whose values differ is named with its line and cause, and no correct program is accused."""

import re
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import fxscope
from fxscope.analysis.report import report
from fxscope.errors import CaptureError
from fxscope.render.report import lines
from fxscope.text import counted
from tests.compiler import functions

pytestmark = pytest.mark.slow
aten = torch.ops.aten
CONTRACT = {"options": {"cpp.enable_floating_point_contract_flag": "fast"}}


def recorded(program, *inputs, **options):
    torch._dynamo.reset()
    before = sys.gettrace()
    made = fxscope.record(program, *inputs, steps=1, warmup=0, numerics=True, **{"compile": True, **options})
    assert sys.gettrace() is before
    assert made.numerics is not None and [row.call for row in made.numerics.rows] == [call.id for call in made.calls]
    return made


def outside(made) -> list[tuple[str | None, str | None]]:
    return [(row.node, row.cause) for row in made.numerics.rows if row.state == "outside"]


def compared(made) -> int:
    return sum(row.state in ("within", "outside") for row in made.numerics.rows)


# ---------------------------------------------------------------------- does not fire


@torch.library.custom_op("fxscope_numerics::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice.register_fake(torch.empty_like)


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


MLP = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 10))
CONV = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
DROPOUT = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5), nn.ReLU(), nn.Linear(64, 64))
RIGHT = {
    "mlp": (MLP, (rows(32, 64),), {"backward": True}),
    "conv": (CONV, (rows(2, 3, 16, 16),), {"backward": True}),
    "bf16 layer_norm": (nn.LayerNorm(256).bfloat16(), (rows(64, 256).bfloat16(),), {"backward": True}),
    "dropout": (DROPOUT, (rows(32, 64),), {"backward": True}),
    "attention": (F.scaled_dot_product_attention, (rows(2, 4, 64, 32),) * 3, {}),
    "argmax": (lambda w, i: F.embedding(i, w).sum(1).argmax(-1), (rows(100, 16), torch.arange(40).view(8, 5)), {}),
    "custom op": (lambda x: twice(x.sin()) + 1, (rows(8, 8),), {}),
    "half overflows": (lambda x: (x * 60000 * 2).tanh() + x, (rows(16, 16).half(),), {}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_is_within(name: str) -> None:
    program, inputs, options = RIGHT[name]
    made = recorded(program, *(x.clone() for x in inputs), **options)
    assert not outside(made), [row for row in made.numerics.rows if row.state == "outside"]
    assert compared(made) >= 1
    states = {row.state for row in made.numerics.rows}
    assert ("random" in states) == (name == "dropout")
    found = report(made).numerics
    assert found is not None and found.num_compared == compared(made) and found.largest is not None
    text = " ".join(" ".join(lines(report(made))).split())
    assert f"{counted(compared(made), 'kernel')} compared, all within the tolerance" in text


# ---------------------------------------------------------------------- fires


def residual(x):
    wide = x * 1.5
    return wide - wide.to(torch.bfloat16).float()  # Inductor leaves the cast to bfloat16 and back out


def products(a, b, c, d):
    return a * b - c * d


A, B = rows(64, 64), rows(64, 64).flip(0)
CAUSES = {
    "upcast": (residual, (rows(64, 256),), {}, "sub"),
    "fma": (products, (A, B, A.clone(), B.clone()), {"compile": CONTRACT}, "sub"),
    "reassociation": (lambda x: x.var(1), (rows(200, 2000) + 3e4,), {}, "var"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_a_known_cause_is_named(name: str) -> None:
    program, inputs, options, node = CAUSES[name]
    made = recorded(program, *inputs, **options)
    assert outside(made) == [(node, name)], made.numerics.rows
    (row,) = (row for row in made.numerics.rows if row.state == "outside")
    call = next(call for call in made.calls if call.id == row.call)
    assert row.error > row.tolerance > row.eager_error and node in call.nodes


REPORTED = functions("numerics.txt")


@pytest.mark.parametrize("name", REPORTED)
def test_a_reported_difference_is_outside_only_where_eager_is_nearer_to_fp64(name: str) -> None:
    program, (_, inputs, options, expected) = REPORTED[name]
    program.__globals__.update(torch=torch, F=F)
    names = {"torch": torch, "rows": rows, "half": lambda *shape: rows(*shape).bfloat16()}
    made = recorded(program, *eval(f"({inputs},)", names), **eval(options))
    found = [(row.state, f"{row.node} {row.cause}") for row in made.numerics.rows if row.state != "within"]
    state, words = ("outside", expected) if not expected.startswith("unknown") else ("unknown", expected[8:])
    assert [state == is_ and words in text for is_, text in found] == [True] * (expected != "within"), found
    assert compared(made) >= 1 or state == "unknown"


WRONG = {
    "sine": (aten.sin, lambda x: x.sin() + 1, (rows(8, 8),), {}, "inference"),
    "after a product": (aten.sin, lambda x: ((x @ x).sin() @ x).relu(), (rows(32, 32),), {}, "inference"),
    "backward": (aten.cos, lambda x: x.sin() * 2, (rows(8, 8).requires_grad_(),), {"backward": True}, "backward"),
    "half": (aten.sin, lambda x: x.sin() * 2, (rows(8, 8).half(),), {}, "inference"),
    "reduced": (aten.sin, lambda x: x.sin().sum(1), (rows(8, 8),), {}, "inference"),
    "NaN": (aten.sin, lambda x: (x * 1e30).sin(), (rows(8, 8),), {}, "inference"),
    "integers": (aten.bitwise_not, lambda x: (x * 3).bitwise_not() + 1, (torch.arange(40),), {}, "inference"),
    "mean": (aten.mean, lambda x: x.abs().mean() * 2, (rows(1000, 1000),), {}, "inference"),  # no order is 1 % off
    "compared": (aten.sin, lambda x: x.sin() > 0, (rows(40, 40),), {}, "inference"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_lowering_is_found_at_its_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import lowering

    packet, program, inputs, options, direction = WRONG[name]
    right = lowering.lowerings[packet.default]
    exp, mul = lowering.lowerings[aten.exp.default], lowering.lowerings[aten.mul.Tensor]
    wrong = {"NaN": exp, "integers": lambda x: mul(right(x), 2), "mean": lambda x: mul(right(x), 1.01)}
    monkeypatch.setitem(lowering.lowerings, packet.default, wrong.get(name, lambda x: exp(right(x))))
    made = recorded(program, *inputs, **options)
    ((node, cause),) = outside(made)  # errors are not carried on into the next kernel
    (row,) = (row for row in made.numerics.rows if row.state == "outside")
    call = next(call for call in made.calls if call.id == row.call)
    assert cause is None and f":{direction}:" in call.id
    assert any(name[:3] in ("sin", "cos", "bit", "mea") for name in call.nodes)
    text = "\n".join(lines(report(made)))
    assert f"first outside: {node} in" in " ".join(text.split()) and "cause not known" in " ".join(text.split())
    assert "test_numerics.py:" in text


# ---------------------------------------------------------------------- what cannot be compared, and the command


def test_a_wrapper_that_is_not_python_is_a_problem() -> None:
    made = recorded(lambda x: x.sin() + 1, rows(8, 8), compile={"options": {"cpp_wrapper": True}})
    assert compared(made) == 0 and any("C++ wrapper" in problem.message for problem in made.problems)


def test_a_result_in_fp64_has_no_judge() -> None:
    made = recorded(lambda x: x.sin() + 1, rows(8, 8).double())
    assert [(row.state, row.cause) for row in made.numerics.rows] == [("unknown", "fp64")]


def test_it_is_behind_its_switch() -> None:
    assert fxscope.record(lambda x: x + 1, rows(4), compile=True, steps=1, warmup=0).numerics is None
    with pytest.raises(CaptureError, match="compile=True"):
        fxscope.record(lambda x: x + 1, rows(4), numerics=True)


@pytest.mark.cpp
def test_the_page_shows_what_the_command_prints(tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-it-works.md").read_text()
    section = page.partition("## Are the numbers right?")[2].partition("\n## ")[0]
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (typed,) = re.findall(r"\$ fxscope (run .*)", section)
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(program)
    command(*typed.split(), "-o", "x.fxscope")
    text = " ".join(command("view", "x.fxscope", "--all").out.split())
    assert "Numerics: 1 of 1 kernel compared outside the tolerance" in text and "(model.py:6)" in text
    answer = command("why", "x.fxscope", "sub").out
    assert "numerics, outside" in answer and "(upcast)" in answer and len(answer.splitlines()) <= 15
