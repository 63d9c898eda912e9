"""The GitHub Action's script on two real commits of a small repository; what its YAML runs is what is tested."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run_program, run_python

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
    headline = "<!-- fxscope -->\n\n## fxscope: ❌ failed: Expectations, Comparison with the base branch"
    assert worse.stdout.startswith(headline) and "](https://example.com/page)" in worse.stdout
    assert "graph breaks" in worse.stdout.replace("\\_", " ")
    strip = r"\nbase .*\| [\d.,]+ µs\nhead .*\| [\d.,]+ µs\n"  # one has no bar where it took a hundredth of the other
    assert re.search(strip, worse.stdout) and "gelu" in worse.stdout, worse.stdout
    assert {"base.fxscope", "head.fxscope", "page.html", "comment.md"} <= {path.name for path in report.iterdir()}
    assert (report / "comment.md").read_text() == worse.stdout[:-1]
    assert git(tmp_path, "worktree", "list").count("\n") == 0  # the base's is gone

    git(tmp_path, "checkout", "--quiet", commits[1])
    better = compare(tmp_path, "--base", commits[2])
    assert better.returncode == 0 and "✅" in better.stdout, better.stdout + better.stderr
    first = compare(tmp_path, "--base", commits[0])
    assert first.returncode == 0 and "Nothing to compare with" in first.stdout, first.stdout + first.stderr
    assert "cannot read model.py" in first.stdout and "\nhead |" in first.stdout and "base |" not in first.stdout


@pytest.mark.slow
def test_a_program_that_ends_with_an_error_fails_the_pull_request_if_its_base_does_not(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    text = "import torch\nfor step in range(6):\n    torch.ones(3).sin()\n"
    for program in (text, text + "raise RuntimeError('a fault')\n"):
        (tmp_path / "train.py").write_text(program)
        git(tmp_path, "add", "train.py")
        git(tmp_path, "commit", "--quiet", "-m", "a change")
    record = ("--record", "fxscope run -o {output} train.py")
    worse = compare(tmp_path, *record, "--base", "HEAD~1")
    assert worse.returncode == 1 and "❌ failed: The program" in worse.stdout and "a fault" in worse.stdout, worse
    same = compare(tmp_path, *record, "--base", "HEAD")
    assert same.returncode == 0 and "✅" in same.stdout and "a fault" in same.stdout, same


def run_step(number: int, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action as GitHub does; `python` and a `gh` that cannot write are those of cwd/bin."""
    yaml = pytest.importorskip("yaml")
    step = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"][number]
    (cwd / "bin").mkdir(exist_ok=True)
    answers = 'case "$2 $3" in graphql*) echo "$GH_LOGIN";; *--paginate) cat "$GH_IDS";; *) exit 1;; esac'
    programs = {"python": f'exec {sys.executable} "$@"', "gh": f'echo "$*" >> gh.log\n{answers}'}
    for program, text in programs.items():
        (cwd / "bin" / program).write_text(f"#!/bin/sh\n{text}\n")
        (cwd / "bin" / program).chmod(0o755)
    given = {**dict.fromkeys(step["env"], ""), "NAME": "fxscope", "GITHUB_ACTION_PATH": str(ACTION)}
    given |= {"GITHUB_STEP_SUMMARY": "summary.md", "PYTHONPATH": str(ACTION.parent)}
    given |= {"PATH": f"{cwd}/bin:{os.environ['PATH']}", **environment}
    return run_program("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"], cwd=cwd, **given)


def test_the_steps_run_as_on_github(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "-b", "main", "origin")
    git(tmp_path / "origin", "commit", "--quiet", "--allow-empty", "-m", "the base")
    git(tmp_path, "clone", "--quiet", "origin", "here")
    here = tmp_path / "here"
    assert "::error title=fxscope::no base" in run_step(1, here, RECORD="fxscope").stdout
    for base in ("only-at-origin", "HEAD"):
        git(tmp_path / "origin", "branch", "--force", "only-at-origin")
        record = "fxscope run -o '{output}' \"a b.py\" '$(touch injected)'"
        done = run_step(1, here, BASE=base, RECORD=record, GATE="none")
        assert done.returncode == 1 and "made no recording" in done.stderr, done
        assert "there is no script a b.py" in done.stderr
    assert "is not a name" in run_step(1, here, BASE="HEAD", RECORD="x", GATE="none", NAME="../a").stderr
    for record in ("fxscope 'run", "", "no-such-program"):
        assert "cannot be run" in run_step(1, here, BASE="HEAD", RECORD=record, GATE="none").stderr
    said = (here / "fxscope-report/comment.md").read_text()  # it replaces that of an earlier run
    assert (here / "summary.md").read_text().endswith(f"{said}\n")  # a fork's token writes no comment
    assert said.startswith("<!-- fxscope -->\n\n## fxscope: ❌ failed: The comparison") and "cannot be run" in said
    for name, login, ids, called in (
        ("fxscope", "github-actions[bot]", "", "repos/a/b/issues/7/comments -F"),
        ("other", "an-app[bot]", "31\n32\n", "-X PATCH repos/a/b/issues/comments/32 -F"),
    ):
        (here / f"{name}-report").mkdir(exist_ok=True)
        (here / f"{name}-report/comment.md").write_text("x")
        (here / "ids").write_text(ids)
        done = run_step(3, here, REPOSITORY="a/b", PULL="7", GH_IDS="ids", GH_LOGIN=login, NAME=name)
        assert done.returncode == 0 and "::warning title=fxscope::no comment" in done.stdout, done
        log = (here / "gh.log").read_text()
        assert f"api --silent {called} body=@{name}-report/comment.md" in log
        assert f"issues/7/comments -F body=@{name}-report/comment.md" in log  # if another's cannot be replaced
        mine = f'select(.user.login == "{login}" and (.body | startswith("<!-- {name} -->")))'
        assert f".[] | {mine} | .id" in log
    assert not list(tmp_path.rglob("injected*"))


def test_a_long_comment_is_cut_where_markdown_stays_whole() -> None:
    namespace = runpy.run_path(str(ACTION / "compare.py"))
    text = namespace["comment"](["x"], [("T", "```text\n" + "y\n" * 60_000 + "```")], ["T"], "n", "https://a.example/p")
    assert len(text) < 65_536 and text.endswith("y\n```\n\n</details>\n\n… the rest is in the artefact\n")
    assert "](https://a.example/p)" in text[:200]


def test_a_kernels_name_stays_inside_its_fence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strip = runpy.run_path(str(ACTION / "compare.py"))["strip"]
    row = {"label": "a\n```\n# @octocat", "time_us": 9.0, "order": 0}
    report = json.dumps({"step": {"device_us": 9.0}, "groups": [row]})
    monkeypatch.setitem(strip.__globals__, "fxscope", lambda *words: Path(words[-2]).write_text(report))
    text = strip([tmp_path / "head.fxscope"], tmp_path)
    assert text.count("```") == 2 and "# @octocat" in text
