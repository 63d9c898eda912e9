"""The documentation site builds without a warning, and the commands of its tutorial run as they stand there."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from fxscope.cli import VERBS, build_parser
from tests.processes import run_python

ROOT = Path(__file__).parent.parent
PYTHON_PATH = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def commands(name: str) -> list[str]:
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / name).read_text(), re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line.startswith(("fxscope ", "printf "))]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    if command.startswith("printf "):
        return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    words = shlex.split(command, comments="fxscope why" not in command)
    return run_python("-m", *words, cwd=folder, **PYTHON_PATH)


def test_every_command_of_the_tutorial_runs(tmp_path: Path) -> None:
    (tmp_path / "fxscope").symlink_to(ROOT / "fxscope")
    found = commands("docs/tutorial.md")
    assert len(found) >= 6
    for command in found:
        done = run(command, tmp_path)
        assert done.returncode == 0, (command, done.stderr)


def test_no_text_installs_fxscope_from_an_index_that_does_not_have_it() -> None:
    places = ("docs/**/*.md", "*.md", "action/*", "fxscope/**/*.py", "fxscope/data/*.json", "packaging/**/*.yaml")
    texts = {path: path.read_text() for place in places for path in ROOT.glob(place)}
    index = re.compile(r"(?:pip install|uvx|pipx run)(?: -\S+)* ['\"]?fxscope(?![\w/]|\[\w+\] @)")
    assert not [(path, found[0]) for path, text in texts.items() if (found := index.search(text))]


def test_every_command_in_any_text_has_a_verb_and_options_that_exist() -> None:
    (verbs,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    places = ("docs/**/*.md", "examples/**/*.md", ".github/**/*.yml", "*.md", "action/*")
    texts = {path: path.read_text() for place in places for path in ROOT.glob(place) if path.name != "CHANGELOG.md"}
    command = re.compile(
        r"(?:`|^\$ |\"|record: |^ *|\| )fxscope ([a-z][a-z-]*)(?=[ `])((?: [^`\n|]*)?)`?", re.MULTILINE
    )
    found = [(path, *match.groups()) for path, text in texts.items() for match in command.finditer(text)]
    found = [item for item in found if item[1] not in ("also", "records", "runs", "supports")]  # sentences
    assert len(found) > 100
    for path, verb, rest in found:
        assert verb in verbs.choices, (path, verb)
        known = {option for action in verbs.choices[verb]._actions for option in action.option_strings}
        own = re.split(r" #|\.py(?![:\w])", rest)[0]  # what follows a script is the script's
        assert known.issuperset(re.findall(r"(?<= )--[a-z][a-z-]*", own)), (path, verb, rest)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="needs mkdocs-material")
    done = run_python("-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path, cwd=ROOT)
    assert done.returncode == 0 and "WARNING -" not in done.stderr, done.stderr
    verbs = (tmp_path / "reference/verbs/index.html").read_text()
    assert not [name for name in VERBS if f'<h2 id="{name}">' not in verbs]
    assert "numerics" in (tmp_path / "reference/python/index.html").read_text()
    assert "Content-Security-Policy" in (tmp_path / "live.html").read_text()


def test_the_changelog_has_one_short_line_for_each_change() -> None:
    text = (ROOT / "CHANGELOG.md").read_text().partition("## [0.2.0]")[2]
    lines = [line for line in text.splitlines()[1:] if line and not line.startswith("###")]
    assert len(lines) <= 60 and all(line.startswith("- ") and len(line) <= 160 for line in lines)
