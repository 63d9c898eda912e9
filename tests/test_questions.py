"""Every command of docs/questions.md gives what the page shows of its output, and the page's table counts real lines."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from fxscope import cli

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "questions.md"
MAX_SHOWN = 15
COUNTED = [
    *(f"view fxscope/data/h200/{name}.fxscope" for name in ("linear_eager", "mlp_eager", "mlp_compiled", "mlp_liger")),
    *(f"view tests/data/h200/{name}" for name in ("attn_compiled", "mlp_train_eager", "mlp_train_compiled")),
    "view tests/data/h200/block.fxscope",
    "view tests/data/questions/graph_break.fxscope",
    "view tests/data/logs/recompiles.log.gz",
    "why fxscope/data/h200/mlp_compiled.fxscope",
    "why fxscope/data/h200/mlp_compiled.fxscope gelu",
    "diff fxscope/data/h200/mlp_eager.fxscope fxscope/data/h200/mlp_compiled.fxscope",
    "diff fxscope/data/h200/mlp_compiled.fxscope fxscope/data/h200/mlp_compiled.fxscope",
]


def shown() -> list[tuple[str, list[str]]]:
    """Return (command, lines that the page shows of its output); `…` stands for lines that it leaves out."""
    blocks = re.findall(r"```console\n\$ fxscope (.*?)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [(command, text.splitlines()) for command, text in blocks]


def output(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(ROOT)
    capsys.readouterr()
    assert cli.main(shlex.split(command)) == 0
    return capsys.readouterr().out.splitlines()


def test_the_page_answers_ten_questions() -> None:
    assert len(re.findall(r"^## \d+\. ", PAGE.read_text(), re.MULTILINE)) == 10
    assert len(shown()) >= 10


@pytest.mark.parametrize(("command", "lines"), shown(), ids=[command for command, _ in shown()])
def test_a_command_gives_what_the_page_shows(
    command: str, lines: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0 < len(lines) <= MAX_SHOWN
    rest = iter(output(command, capsys, monkeypatch))
    for line in lines:
        assert line == "…" or line in rest, f"not in the output, or not in this order: {line!r}"


def test_the_table_counts_the_lines_of_default_answers(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {command: len(output(command, capsys, monkeypatch)) for command in COUNTED}
    assert max(counts.values()) <= 40
    table = "".join(f"| `fxscope {command}` | {count} |\n" for command, count in counts.items())
    text = PAGE.read_text()
    head, tail = text.split("|---|--:|\n")
    if request.config.getoption("--accept"):
        PAGE.write_text(f"{head}|---|--:|\n{table}")
        tail = table
    assert tail == table
