"""The GitHub Action's script on two real commits of a small repository; what its YAML runs is what is tested."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.processes import run_python

ACTION = Path(__file__).parents[2] / "action"
MODEL = """
import torch

class Block(torch.nn.Module):
    def forward(self, x):
        y = torch.nn.functional.gelu(x){between}
        return y * 2.0

def factory():
    return Block(), (torch.ones(64, 64),)
"""
GOOD, BROKEN = MODEL.format(between=""), MODEL.format(between="\n        torch._dynamo.graph_break()")
RECORD = "fxscope run --compile model.py:factory -o {output}"


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def compare(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run_python(ACTION / "compare.py", "--record", RECORD, *options, cwd=folder)


@pytest.mark.slow
@pytest.mark.cpp
def test_a_graph_break_fails_the_pull_request_and_its_removal_does_not(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "no program yet")
    commits = [git(tmp_path, "rev-parse", "HEAD")]
    for text in (GOOD, BROKEN):
        (tmp_path / "model.py").write_text(text)
        git(tmp_path, "add", "model.py")
        git(tmp_path, "commit", "--quiet", "-m", "a change")
        commits.append(git(tmp_path, "rev-parse", "HEAD"))
    (tmp_path / "perf.toml").write_text("graph_breaks = 0\n")
    report = tmp_path / "fxscope-report"

    worse = compare(tmp_path, "--base", commits[1], "--expect", "perf.toml", "--link", "https://example.com/page")
    assert worse.returncode == 1, worse.stderr
    headline = "<!-- fxscope -->\n\n## fxscope: ❌ Expectations and Decisions of the base branch broken"
    assert worse.stdout.startswith(headline) and "](https://example.com/page)" in worse.stdout
    assert "graph breaks" in worse.stdout.replace("\\_", " ")
    assert re.search(r"\nbase \|-*gelu.*\| [\d.,]+ µs\nhead \|.*mul-*\| [\d.,]+ µs\n", worse.stdout), worse.stdout
    assert {"base.fxscope", "head.fxscope", "page.html", "comment.md"} <= {path.name for path in report.iterdir()}
    assert (report / "comment.md").read_text() == worse.stdout[:-1]
    assert git(tmp_path, "worktree", "list").count("\n") == 0  # the base's is gone

    git(tmp_path, "checkout", "--quiet", commits[1])
    better = compare(tmp_path, "--base", commits[2])
    assert better.returncode == 0 and "✅" in better.stdout, better.stdout + better.stderr
    first = compare(tmp_path, "--base", commits[0])
    assert first.returncode == 0 and "Nothing to compare with" in first.stdout, first.stdout + first.stderr
    assert "there is no file model.py" in first.stdout and "\nhead |" in first.stdout and "base |" not in first.stdout


def test_a_command_that_records_nothing_is_named(tmp_path: Path) -> None:
    record = ["--record", "fxscope run -o {output} gone.py"]
    done = run_python(ACTION / "compare.py", *record, "--base", "HEAD", cwd=tmp_path)
    assert done.returncode == 1 and "made no recording" in done.stderr and "gone.py" in done.stderr


def test_the_action_runs_the_script_with_options_that_it_has() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    script = "\n".join(step.get("run", "") for step in action["runs"]["steps"])
    used = {word for word in script.replace("\\", " ").split() if word.startswith("--")}
    helped = run_python(ACTION / "compare.py", "--help")
    assert {"--base", "--record", "--expect", "--gate", "--link"} <= used & set(helped.stdout.replace(",", " ").split())
    given = "\n".join(value for step in action["runs"]["steps"] for value in step.get("env", {}).values())
    assert all(f"inputs.{name}" in given or name == "comment" for name in action["inputs"])
