"""Programs with one planted inefficiency: what the tools answer within 10 kB contains the cause, with its place.

The agent here only follows names: it records, then asks why of what the overview shows. `docs/agents.md` has the table.
"""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the MCP SDK: pip install mcp")
pytest.importorskip("fxscope.analysis.report")
from tests.agents.test_mcp import ask
from tests.test_docs import ROOT

PROGRAMS = Path(__file__).parent / "programs"
RECORDED = {"recording": "recording.fxscope"}
# Planted → the tools that are called after `record`, and what the answers must contain, all of it.
CASES = {
    "graph_break": ([], ("graph_break.py:13", "Remove the graph break")),
    "missed_fusion": ([("why", {**RECORDED, "a": "gelu", "b": "mul"})], ("gelu → mul", "eager", "missed_fusion.py:7")),
    "recompile": ([], ("recompile.py:", "size mismatch at index 1", "Stop the recompiles")),
    "data_loading": ([], ("Load data in workers", "num_workers", "the DataLoader takes")),
    "loop_input": ([], ("Look at what the program does before loop_input.py:8", "no kernel runs in")),
    "token_loop": ([], ("Look at what the program does after token_loop.py:6", "no kernel runs in")),
    "layout_copy": ([("why", {**RECORDED, "a": "clone"})], ("copy_", "layout_copy.py:12", ".contiguous()")),
}


def table() -> dict[str, str]:
    lines = (ROOT / "docs/agents.md").read_text().splitlines()
    return {line.split("`")[1]: line for line in lines if line.startswith("| `") and line.count("|") == 5}


@pytest.mark.slow
@pytest.mark.cpp
@pytest.mark.parametrize("program", CASES)
def test_the_answers_contain_the_cause(program: str, tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / f"{program}.py", tmp_path)
    calls, cause = CASES[program]
    answers = ask(tmp_path, ("record", {"program": f"{program}.py"}), *calls)
    assert not any(failed for failed, _ in answers), answers
    text = "\n".join(text for _, text in answers)
    assert len(text.encode()) <= 10_000
    assert not [word for word in cause if word not in text], text
    assert program in table()


def test_a_cpu_bound_step_of_an_h200_is_named(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests/data/h200/mlp_small_eager/trace.json.gz", tmp_path)
    ((failed, text),) = ask(tmp_path, ("read", {"trace": "trace.json.gz"}))
    assert not failed and len(text.encode()) <= 10_000
    assert "CPU-bound" in text and '"idle_us"' in text and "reduce-overhead" in text, text
    assert "mlp_small_eager" in table()
