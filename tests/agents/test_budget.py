"""Answers that fit: what comes first stays, the rest is counted, and no answer is too large."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxscope import cli
from fxscope.analysis.budget import fit

H200 = Path(__file__).parents[2] / "fxscope/data/h200"
EAGER, MLP = (str(H200 / f"{name}.fxscope") for name in ("mlp_eager", "mlp_compiled"))

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=8), inner, max_size=8),
    max_leaves=60,
)


def test_what_fits_is_whole_but_for_what_says_nothing() -> None:
    assert json.loads(fit({"a": [1, 2], "b": None, "c": 0.123456, "d": 0}, 4096, more="m")) == {
        "a": [1, 2],
        "c": 0.1235,
        "d": 0,
    }


def test_the_first_rows_stay_and_the_others_are_counted() -> None:
    rows = [{"id": f"row{i}", "text": "x" * 50, "ids": list(range(20))} for i in range(100)]
    answer = json.loads(fit(rows, 1000, more="fxscope why r --json"))
    assert [row["id"] for row in answer["rows"]] == [f"row{i}" for i in range(len(answer["rows"]))]
    assert len(answer["rows"]) >= 5 and answer["rows"][0]["ids"] == [0, 1, 2]
    assert answer["left_out"] == {"rows": 100 - len(answer["rows"])} and answer["more"] == "fxscope why r --json"
    assert len(json.loads(fit(rows, 0, more=""))["rows"]) == 100


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=8), st.integers(400, 2000))
def test_no_answer_is_larger_than_its_budget(answer: dict[str, object], limit: int) -> None:
    text = fit(answer, limit, more="m")
    assert len(text.encode("utf-8", "surrogatepass")) <= limit and isinstance(json.loads(text), dict)


@pytest.mark.parametrize("words", [["view", MLP], ["why", MLP], ["diff", EAGER, MLP], ["code", MLP, "mul"]])
def test_a_verbs_json_keeps_to_a_budget(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*words, "--json", "--budget", "1500"]) == 0
    text = capsys.readouterr().out
    assert len(text.encode()) <= 1501
    assert json.loads(text)["more"] == shlex.join(["fxscope", *words, "--json"])
