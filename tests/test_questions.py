"""Every command of docs/questions.md and of the README gives what the page shows of its output; a table counts real lines."""

import re
import shlex
from pathlib import Path

import pytest

from tests.test_docs import ROOT, blocks

PAGE, README = ROOT / "docs" / "questions.md", ROOT / "README.md"
MAX_SHOWN = 15


def shown(page: Path) -> list[tuple[str, list[str]]]:
    """Return (command, lines that the page shows of its output); `…` stands for lines that it leaves out."""
    found: list[tuple[str, list[str]]] = []
    for line in "".join(blocks(page, "console")).splitlines():
        if line.startswith("$ fxscope "):
            found.append((line.removeprefix("$ fxscope "), []))
        elif line != "…":
            found[-1][1].append(line)
    return found


@pytest.fixture
def output(command, monkeypatch: pytest.MonkeyPatch):
    """Run a line of the page in the root of the project: the lines that it prints."""
    monkeypatch.chdir(ROOT)
    return lambda line: command(*shlex.split(line)).out.splitlines()


def test_the_page_answers_ten_questions() -> None:
    assert len(re.findall(r"^## \d+\. ", PAGE.read_text(), re.MULTILINE)) == 10
    assert len(shown(PAGE)) >= 10 and len(shown(README)) >= 6
    assert all(0 < len(lines) <= MAX_SHOWN for _, lines in shown(PAGE))


@pytest.mark.parametrize(
    ("typed", "lines"), [*shown(README), *shown(PAGE)], ids=lambda item: item if isinstance(item, str) else ""
)
def test_a_command_gives_what_the_page_shows(typed: str, lines: list[str], output) -> None:
    rest = iter(output(typed))
    for line in lines:
        assert line in rest, f"not in the output, or not in this order: {line!r}"


def test_the_table_counts_the_lines_of_default_answers(request: pytest.FixtureRequest, output) -> None:
    """The page's table is the list of commands: each verb that has a default answer is in it."""
    head, table = PAGE.read_text().split("|---|--:|\n")
    answers = {typed: output(typed) for typed in re.findall(r"^\| `fxscope (.+)` \| \d+ \|$", table, re.MULTILINE)}
    counts = {typed: len(lines) for typed, lines in answers.items()}
    assert max(counts.values()) <= 40
    assert [typed for typed, lines in answers.items() if max(map(len, lines)) > 80] == []
    assert {typed.split()[0] for typed in counts} == {"view", "why", "diff", "check", "code", "fleet"}
    counted = "".join(f"| `fxscope {typed}` | {count} |\n" for typed, count in counts.items())
    if request.config.getoption("--accept"):
        PAGE.write_text(f"{head}|---|--:|\n{counted}")
        table = counted
    assert table == counted
