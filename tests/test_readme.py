"""Every command that the README shows with its output runs, and gives what the README shows."""

import re
import shlex
from pathlib import Path

import pytest

from tests.processes import run_python

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def shown() -> list[tuple[str, list[str]]]:
    """Return (command, lines that the README shows of its output); `…` stands for lines that it leaves out."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line != "…":
                found[-1][1].append(line)
    return found


def test_the_readme_shows_commands() -> None:
    assert len(shown()) >= 8


@pytest.mark.parametrize(("command", "lines"), shown(), ids=[command for command, _ in shown()])
def test_a_command_gives_what_the_readme_shows(command: str, lines: list[str]) -> None:
    words = shlex.split(command)
    assert words[0] == "fxscope"
    done = run_python("-m", *words, cwd=ROOT, NO_COLOR="1", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    output = done.stdout.splitlines()
    assert output
    position = 0
    for line in lines:
        assert line in output[position:], f"not in the output, or not in this order: {line!r}"
        position = output.index(line, position) + 1


def test_every_file_that_the_readme_names_is_there() -> None:
    for name in re.findall(r"(?:docs|benchmarks|examples|fxscope/data)/[\w/.]+\.\w+", README):
        assert (ROOT / name).exists(), name


def test_every_verb_is_named() -> None:
    from fxscope import cli

    for verb in cli.VERBS:
        assert f"`{verb}`" in README, verb
