"""Every command of SKILL.md runs, in its order, on a program of its names."""

import json
from pathlib import Path

import pytest

from tests.test_docs import ROOT, run

SKILL = ROOT / "SKILL.md"
PROGRAM = """
import torch
def step(x, y):
    return torch.nn.functional.gelu(x) * y
for _ in range(4):
    step(torch.ones(64, 64), torch.ones(64, 64))
"""


def commands() -> list[str]:
    lines = SKILL.read_text().splitlines()
    return [line.strip() for line in lines if line.startswith(("   fxscope ", "   printf "))]


@pytest.mark.slow
def test_every_command_of_the_skill_runs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    found = commands()
    verbs = {command.split()[1] for command in found if command.startswith("fxscope ")}
    assert verbs == {"run", "view", "why", "diff", "check"}
    for command in found:
        done = run(command, tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    done = run("fxscope view before.fxscope --json", tmp_path)
    assert json.loads(done.stdout)


def test_the_skill_has_what_a_client_reads() -> None:
    text = SKILL.read_text()
    head = text.split("---")[1]
    assert text.startswith("---\nname: fxscope\ndescription: ") and len(head) < 1024
