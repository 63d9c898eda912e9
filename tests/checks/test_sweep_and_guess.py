"""A sweep of a real program, its table; a guess through a pipe."""

import io
import json
import re
import sys
from pathlib import Path

import msgspec
import pytest

from fxscope.analysis.findings import Sweep, SweepPoint
from fxscope.errors import RenderError
from fxscope.render import strip
from fxscope.render.sweeps import text

DATA = Path(__file__).parent.parent / "data"
FACTORY = """
import torch
def factory(rows: int = 4):
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 8))
    return module, (torch.randn(rows, 8),)
def broken(rows: int):
    if rows > 2:
        raise ValueError("too many rows")
    return factory(rows)
"""


def made(times: dict[str, list[float]]) -> Sweep:
    points = [
        SweepPoint(vary={"n": 2**i}, setup=setup, wall_us=(mean * 0.999, mean, mean * 1.001), num_kernels=3)
        for setup, means in times.items()
        for i, mean in enumerate(means)
    ]
    return Sweep(title="made", vary="n", points=points)


@pytest.mark.parametrize(
    ("eager", "compiled", "said"),
    [
        ([10, 20, 40], [15, 20, 30], ["1.50× slower", "", "1.33× faster"]),
        ([10, 20, 40], [5, 10, 20], ["2.0× faster"] * 3),
        ([10, 20, 40], [10.1, 20.1, 40.1], [""] * 3),
        ([0, 20, 40], [15, 40, 10], ["", "2.0× slower", "4.0× faster"]),  # not measured at the first value
    ],
)
def test_each_time_is_compared_with_the_first_setup(eager: list[float], compiled: list[float], said: list[str]) -> None:
    table = text(made({"eager": eager, "compiled": compiled}))
    rows = [line for line in table.splitlines() if " compiled " in line]
    assert [found[0] if (found := re.findall(r"[\d.]+× \w+", row)) else "" for row in rows] == said
    assert not re.search("eager .*×", table) and "Compared with eager at the same n" in table


def test_the_measured_sweep_shows_from_where_on_compiling_is_faster() -> None:
    table = text(msgspec.json.decode((DATA / "sweep" / "sweep.json").read_bytes(), type=Sweep))
    rows = {line.split()[0]: line for line in table.splitlines() if " compiled " in line}
    assert "1.40× slower" in rows["16"] and "1.07× faster" in rows["32"]


def test_png_or_a_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'
    assert strip.rasterised(text).startswith(b"\x89PNG")
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(RenderError, match=r"pip install resvg-py, or write \.svg"):
        strip.rasterised(text)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (path := tmp_path / "model.py").write_text(FACTORY)
    return path


@pytest.mark.slow
@pytest.mark.cpp
def test_a_sweep_of_a_real_program(tmp_path: Path, model: Path, command) -> None:
    arguments = ["sweep", f"{model}:factory", "--vary", "rows=2,8", "-o", tmp_path / "s.json"]
    command(*arguments)
    data = json.loads((tmp_path / "s.json").read_text())
    assert data["schema"] == "fxscope-sweep/1"
    order = [(setup, rows) for rows in (2, 8) for setup in ("eager", "compiled")]
    assert [(p["setup"], p["vary"]["rows"]) for p in data["points"]] == order
    for point in data["points"]:
        assert point["problem"] is None and len(point["wall_us"]) > 2 and point["num_kernels"] >= 1
    command(*arguments, status=2)  # the file exists


@pytest.mark.parametrize(
    ("factory", "vary", "word"),
    [
        ("factory", "row=2", "unexpected keyword argument 'row'"),
        ("factory", "rows", "NAME=V1"),
        ("factry", "rows=2", "has no factry"),
        ("broken", "rows=3", "too many rows"),
    ],
)
def test_a_mistake_is_one_line(factory: str, vary: str, word: str, model: Path, command) -> None:
    error = command("sweep", f"{model}:{factory}", "--vary", vary, status=2).err
    assert word in error and "Traceback" not in error


def test_a_later_point_that_fails_is_a_point_with_a_problem_and_no_success(tmp_path: Path, model, command) -> None:
    arguments = ["--vary", "rows=2,3", "--setup", "eager", "-o", tmp_path / "s.json"]
    said = command("sweep", f"{model}:broken", *arguments, status=3).err
    assert "1 of 2 points failed; the first is eager at rows=3: " in said
    points = json.loads((tmp_path / "s.json").read_text())["points"]
    assert points[0]["problem"] is None and "too many rows" in points[1]["problem"]


def test_a_guess_through_a_pipe(model: Path, monkeypatch: pytest.MonkeyPatch, command) -> None:
    # Eager kernels wrong on purpose, one question left out, a typo that names the nearest, the rest right.
    answers = "77\naten::t\n\n2\ngelo, addmm\n0\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    captured = command("guess", f"{model}:factory")
    assert "✗" in captured.out and "expected 77" in captured.out
    assert "right: aten::t → nothing" in captured.out
    assert "'gelo' does not occur" in captured.out and "gelu" in captured.out
    assert "4 of 5" not in captured.out and "3 of 5 hold" in captured.out
    assert "How many graph breaks?" in captured.err

    monkeypatch.setattr("sys.stdin", io.StringIO("a few\n\nseven or so\n2\ngelu\n0\n"))  # two lines are no answers
    printed = command("guess", f"{model}:factory").out
    assert printed.count("✗") == 3 and "2 of 5 hold" in printed
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "no guess was made" in command("guess", f"{model}:factory", status=2).err
