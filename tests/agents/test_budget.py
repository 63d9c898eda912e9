"""Answers that fit: what comes first stays, the rest is counted, and no answer is too large."""

import json
import shlex
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from fxscope.analysis.budget import fit
from fxscope.analysis.compare import compare
from fxscope.analysis.findings import Sweep
from fxscope.analysis.report import report
from fxscope.analysis.why import why
from fxscope.commands import common, sweep
from fxscope.render.diff import diff_json
from tests import captures

H200 = Path(__file__).parents[2] / "fxscope/data/h200"
DATA = Path(__file__).parents[1] / "data"
EAGER, MLP = (str(H200 / f"{name}.fxscope") for name in ("mlp_eager", "mlp_compiled"))

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=8), inner, max_size=8),
    max_leaves=60,
)


def test_what_fits_is_whole_but_for_what_says_nothing() -> None:
    answer = fit({"a": [1, 2], "b": None, "c": 0.123456, "d": 0}, 4096, more="m")
    assert json.loads(answer) == {"a": [1, 2], "c": 0.1235, "d": 0}


def test_the_first_rows_stay_and_the_others_are_counted() -> None:
    rows = [{"id": f"row{i}", "text": "x" * 50, "ids": list(range(20))} for i in range(100)]
    answer = json.loads(fit(rows, 1000, more="fxscope why r --json"))
    assert [row["id"] for row in answer["rows"]] == [f"row{i}" for i in range(len(answer["rows"]))]
    assert len(answer["rows"]) >= 5 and answer["rows"][0]["ids"] == [0, 1, 2]
    assert answer["left_out"] == {"rows": 100 - len(answer["rows"])} and answer["more"] == "fxscope why r --json"
    assert len(json.loads(fit(rows, 0, more=""))["rows"]) == 100
    long = {"first": {"a": 1}, "rows": [{"id": "x" * 150, "where": "y" * 200, "ids": ["z" * 200] * 3}] * 9, "last": [1]}
    answers = [(limit, fit(long, limit, more="m")) for limit in range(800, 4000, 100)]
    assert all(len(answer) > 0.4 * limit and "x" * 150 in answer for limit, answer in answers)  # an id is never cut
    said = {"text": [f"{'x' * 90}{':' * (i % 2)}" for i in range(90)]}  # a heading goes with its lines
    assert {json.loads(fit(said, limit, more="m"))["text"][-1][-1] for limit in range(800, 4000, 100)} == {"x"}


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=8), st.integers(400, 2000))
def test_no_answer_is_larger_than_its_budget(answer: dict[str, object], limit: int) -> None:
    text = fit(answer, limit, more="m")
    assert len(text.encode("utf-8", "surrogatepass")) <= limit and isinstance(json.loads(text), dict)


VERBS = [
    ["view", MLP],
    ["view", str(DATA / "h200/mlp_train_compiled")],
    ["why", MLP],
    ["why", MLP, "gelu"],
    ["diff", EAGER, MLP],
    ["code", MLP],
    ["code", MLP, "mul"],
    ["fleet", str(DATA / "fleet/ddp_slow_gpu")],
    ["dispatch", "aten::add"],
    ["sweep", "model.py:factory", "--vary", "batch=1"],
]


@pytest.mark.parametrize("words", VERBS, ids=lambda words: " ".join(Path(word).name for word in words))
def test_a_verbs_json_is_small_and_its_command_for_more_gives_all(
    words: list[str], command, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = msgspec.json.decode((DATA / "sweep/sweep.json").read_bytes(), type=Sweep)
    monkeypatch.setattr(sweep, "measure", lambda arguments: measured)
    text = command(*words, "--json").out
    answer = json.loads(text)
    assert len(text.encode()) <= 4097
    small = json.loads(command(*words, "--json", "--budget", "300").out)
    assert small["more"] == shlex.join(["fxscope", *words, "--json", "--budget", "0"])
    whole = json.loads(command(*shlex.split(small["more"])[1:]).out)
    for key, rows in answer.items():
        if key not in ("left_out", "more") and isinstance(rows, list):
            assert len(rows) + answer.get("left_out", {}).get(key, 0) == len(whole[key]), key


LOGS = sorted((DATA / "logs").glob("*.log.gz"))


@pytest.mark.parametrize(
    "name", ["mlp_eager", "mlp_compiled", "mlp_train_compiled", "more/encoder_layer/real", *LOGS], ids=str
)
def test_the_id_of_a_row_is_a_name_that_why_takes(name: str | Path) -> None:
    recording = common.read(str(name)) if isinstance(name, Path) else captures.read(name)
    made = report(recording)
    for row in (*made.kernels, *made.groups, *made.missed, *made.breaks, *made.recompiles, *made.failures):
        assert why(recording, row.id).same, row.id


@pytest.mark.parametrize("pair", [("mlp_train_eager", "mlp_train_compiled"), ("mlp_eager", "mlp_liger")], ids="-".join)
def test_the_id_of_a_change_is_a_name_that_why_takes(pair: tuple[str, str]) -> None:
    a, b = map(captures.read, pair)
    rows = json.loads(diff_json(compare(a, b)))["changes"]
    assert rows
    for row in rows:
        assert why(a if row["a"] else b, row["id"]).same, row
