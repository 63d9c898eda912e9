"""The cell magic, and the article as a notebook, executed."""

import os
import sys
from pathlib import Path

import pytest
import torch

from fxscope import load, notebook
from fxscope.errors import CaptureError

ROOT = Path(__file__).parents[2]


def test_the_last_call_of_a_cell_is_recorded() -> None:
    names: dict[str, object] = {"torch": torch}
    recording = notebook.record_cell("--name r", "x = torch.ones(3)\ntorch.add(x, other=x)", names)
    assert names["r"] is recording and recording.title == "torch.add(x, other=x)"
    assert "aten::add" in {op.name for op in recording.ops}
    assert set(names) == {"torch", "x", "r", "__builtins__"}
    chained = notebook.record_cell("", "torch.add(x, x).exp().sum()", names)
    assert {"aten::add", "aten::exp", "aten::sum"} <= {op.name for op in chained.ops}


@pytest.mark.parametrize(
    ("line", "cell", "said"),
    [
        ("", "y = f()", "last line is not a call"),
        ("", "await f()\nf()", "cannot be read: 'await' outside function"),
        ("", "", "last line is not a call"),
        ("--fast", "f()", "unrecognized arguments: --fast. usage: %%fxscope"),
        ("--title 'a", "f()", "cannot be read: No closing quotation"),
        ("", "x = = 3", "cannot be read: invalid syntax"),
        ("--name 'a b'", "f()", "'a b' is not the name of a variable"),
        ("--name class", "f()", "'class' is not the name of a variable"),
    ],
)
def test_what_cannot_be_recorded_is_one_line(line: str, cell: str, said: str) -> None:
    with pytest.raises(CaptureError, match=said):
        notebook.record_cell(line, cell, {})


def test_an_answer_is_shown_as_the_verb_prints_it(command) -> None:
    files = [ROOT / f"fxscope/data/h200/mlp_{name}.fxscope" for name in ("eager", "compiled")]
    a, b = map(load, files)
    asked = (a.diff(b), ["diff", *files]), (b.why("gelu"), ["why", files[1], "gelu"]), (b.why(), ["why", files[1]])
    for answer, words in asked:
        below_titles = "".join(repr(answer).splitlines(keepends=True)[3:])
        assert below_titles and command(*words).out.rstrip().endswith(below_titles)


@pytest.mark.slow
@pytest.mark.cpp
def test_the_article_runs_as_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    nbformat = pytest.importorskip("nbformat")
    # The kernel finds this checkout, and `!fxscope` this environment's.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    for name in ("KINETO_LOG_LEVEL", "PYTEST_CURRENT_TEST"):  # the latter hides what C++ code prints
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    book = nbformat.read(ROOT / "docs/notebooks/article.ipynb", as_version=4)
    lines = "print({node.source.code for graph in r.graphs for node in graph.nodes if node.source})"
    for text in ("%%fxscope --name r\n%time x = torch.ones(3)\ntorch.relu(x)", lines):
        book.cells.append(nbformat.v4.new_code_cell(text))
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(pages) == 4
    for page in pages:
        assert "<svg" in page and "Kernels, " in page and len(page) < 60_000
    texts = "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)
    assert texts.endswith("{'torch.relu(x)'}\n")
    assert "SyncActivityProfiler" not in texts
    assert "'fused'" in texts and "cpp_fused" in texts and "opaque to Inductor" in texts
