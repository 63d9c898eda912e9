"""What a terminal obeys, in any name of any file, reaches it through no verb."""

import io
import json
import sys
from pathlib import Path

import pytest

from fxscope import cli, render, store
from fxscope.model import Problem, Source, SourceText, replace
from tests import build
from tests.promises.test_traces import EAGER
from tests.render.test_legible import HOSTILE, OBEYED


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a recording, a trace and a job in which every name is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    made = build.mlp_compiled()
    source = Source(file=HOSTILE, line=3, code=HOSTILE, function=HOSTILE, module=f"{HOSTILE}.{HOSTILE}")
    nodes = [
        tuple(
            replace(node, target=HOSTILE, source=source, reason=HOSTILE, original_aten=HOSTILE) for node in graph.nodes
        )
        for graph in made.graphs
    ]
    hostile = replace(
        made,
        title=HOSTILE,
        graphs=tuple(replace(graph, nodes=new) for graph, new in zip(made.graphs, nodes, strict=True)),
        calls=tuple(replace(call, kernel=HOSTILE, handle=f"{HOSTILE}:{i}") for i, call in enumerate(made.calls)),
        launches=tuple(replace(launch, name=HOSTILE, op=HOSTILE) for launch in made.launches),
        decisions=tuple(
            replace(item, reason_code="recorded", reason_arguments={"words": HOSTILE}) for item in made.decisions
        ),
        problems=(Problem(where=HOSTILE, message=HOSTILE, remedy=HOSTILE),),
        sources=(
            SourceText(id="s", kind="output_code", text=f"def call(args):\n    {HOSTILE}\n", graph=made.graphs[0].id),
        ),
    )
    for name in ("a.fxscope", "b.fxscope"):
        store.write(folder / name, store.encode(hostile))
    events = [{**event, "name": HOSTILE, "cat": event.get("cat", "")} for event in EAGER["traceEvents"]]
    for rank in (0, 1):
        (folder / "job").mkdir(exist_ok=True)
        text = json.dumps({**EAGER, "distributedInfo": {"rank": rank}, "traceEvents": events})
        (folder / "job" / f"rank{rank}.json").write_text(text)
    (folder / "e.toml").write_text('kernels = ">= 1"\n')
    (folder / f"{HOSTILE[:20].replace('/', '')}.py").write_text(f"raise ValueError({HOSTILE!r})\n")
    return folder


WITH_A_FILE = [
    "view a.fxscope", "view a.fxscope --format md", "view a.fxscope --json", "view a.fxscope --format dot",
    "view a.fxscope --format svg", "why a.fxscope", "why a.fxscope --json", "why a.fxscope gelu mul", "code a.fxscope",
    "code a.fxscope --json", "why a.fxscope", "why a.fxscope triton", "why a.fxscope --json",
    "diff a.fxscope b.fxscope", "diff a.fxscope b.fxscope --json", "check a.fxscope e.toml", "fleet job", "fleet job --json",
    "fleet job --format md", "view job/rank0.json", "view job/rank0.json --json", "view job/rank0.json --tables",
    "view job/rank0.json --format md",
    "redact a.fxscope -o r.json",
]  # fmt: skip


@pytest.mark.parametrize("command", WITH_A_FILE)
def test_names_in_files(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "r.json").unlink(missing_ok=True)
    status = cli.main(command.split())
    out, said = (text.decode() for text in capfdbinary.readouterr())
    assert status in (0, 2, 3) and not OBEYED.search(out + said), repr(OBEYED.search(out + said))
    assert out or said


@pytest.mark.parametrize("verb", sorted(set(cli.VERBS) - {"doctor", "demo"}))
def test_names_on_the_command_line(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("x"))
    name = HOSTILE.replace("/", "")
    for words in (
        [name],
        [name, name],
        [f"{name}.py:make"],
        [name, "--no-such-option", name],
        [name, "-o", f"{name}.html"],
    ):
        try:
            cli.main([verb, *words])
        except SystemExit as error:  # argparse
            assert error.code == 2
        out, said = (text.decode() for text in capfdbinary.readouterr())
        assert (out or said) and not OBEYED.search(out + said), repr(out + said)


def test_a_program_that_raises_is_told_of_legibly(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "factory.py").write_text(f"def make(n=1):\n    raise ValueError({HOSTILE!r})\n")
    for verb in ("run", "guess", "what-if", "sweep"):
        extra = {"what-if": ["--set", "epilogue_fusion=false"], "sweep": ["--vary", "n=1,2"]}.get(verb, [])
        assert cli.main([verb, "factory.py:make", *extra]) == 2
        out, said = (text.decode() for text in capfdbinary.readouterr())
        assert "evil" in said and not OBEYED.search(out + said), repr(said)


def test_names_of_megabytes_are_cut_and_not_wrapped() -> None:
    name = "word " * 200_000
    recording = replace(build.mlp_compiled(), title=name, problems=(Problem(where=name, message=name),) * 3)
    shown = str(render.render(recording, "terminal"))
    assert len(shown) < 300_000 and "…" in shown and shown.startswith("word word")
