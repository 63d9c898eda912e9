"""Names that would move the cursor, set the title or reorder a line are written out, in every verb that prints them."""

import contextlib
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from fxscope import cli, store
from fxscope.model import replace
from fxscope.render import markdown, render, terminal
from fxscope.render.legible import LegibleStream, legible
from tests import build
from tests.processes import printed, run_python

HOSTILE = (
    "evil\u202egnp\x1b]0;title\x07\x1b[2J\u200b\U000e0041\u3164\ufe01\x85\x1b]52;c;ZXZpbA==\x07\x9b31m\r\x1b[8mend```"
)
UNHELD = "\x00\x0b\uffff"  # by XML; a NUL ends what DOT reads
OBEYED = re.compile("[\x00\x0b\uffff\u202e\u200b\U000e0041\u3164\ufe01\x85\x07\r\x1b\x9b]")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    made = build.mlp_compiled()
    calls = tuple(replace(call, kernel=HOSTILE + UNHELD, handle=f"{HOSTILE}:{i}") for i, call in enumerate(made.calls))
    graphs = tuple(
        replace(graph, nodes=tuple(replace(node, target=HOSTILE + UNHELD) for node in graph.nodes))
        for graph in made.graphs
    )
    decisions = tuple(
        replace(item, reason_code="recorded", reason_arguments={"words": HOSTILE}) for item in made.decisions
    )
    recording = replace(made, title=HOSTILE, calls=calls, graphs=graphs, decisions=decisions)
    return store.write(tmp_path / "hostile.fxscope", store.encode(recording))


@pytest.mark.parametrize(
    "arguments", [["view"], ["view", "--format", "md"], ["why"], ["why", "--json"], ["code", "nothing"]], ids=" ".join
)
def test_a_verb_prints_no_name_that_a_terminal_obeys(arguments: list[str], hostile: Path) -> None:
    verb, *rest = arguments
    done = run_python("-m", "fxscope", verb, hostile, *rest)
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr
    assert not OBEYED.search(done.stdout + done.stderr)
    if verb == "view":
        assert "evil gnp " in done.stdout  # a title has no control character


def test_files_of_text_hold_none_either(hostile: Path) -> None:
    recording = store.load(hostile)
    made = [render(recording, form) for form in ("terminal", "md", "dot", "json", "svg")]
    for text in (*made, terminal.render(recording, everything=True), markdown.render(recording)):
        assert not OBEYED.search(text if isinstance(text, str) else text.decode())
    ElementTree.fromstring(render(recording, "svg"))
    assert render(recording, "png").startswith(b"\x89PNG")
    assert msgspec.json.decode(made[3], type=type(recording)) == recording


def test_plain_text_is_left_alone_and_a_colour_is_none() -> None:
    text = "µs · → ■ ├─ é 日本\n\tx"
    assert legible(text) == text
    out = io.StringIO()
    LegibleStream(LegibleStream(out)).write("\x1b[1;32mgreen")
    assert out.getvalue() == "\\x1b[1;32mgreen"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("no_color", "colours"), [(None, True), ("1", False)])
def test_a_terminal_gets_colours_of_ours_alone(
    monkeypatch: pytest.MonkeyPatch, no_color: str | None, colours: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    out = Terminal()
    LegibleStream(out).write("Step    1 µs  CPU-bound  \x1b[31mname [bold]x[/]\n")
    assert ("\x1b[33m" in out.getvalue() or "\x1b[1;33m" in out.getvalue()) == colours
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert plain == "Step    1 µs  CPU-bound  \\x1b[31mname [bold]x[/]\n"


def test_a_terminal_that_lacks_a_character_gets_another(tmp_path: Path) -> None:
    path = store.write(tmp_path / "recording.fxscope", store.encode(build.mlp_compiled()))
    assert "56.2 ?s" in printed("-m", "fxscope", "view", path, PYTHONIOENCODING="ascii")


@pytest.mark.parametrize("words", ["--json", "--format json", "--format svg", "--format html", "--format png"])
def test_an_output_that_takes_only_text_gets_text(words: str, hostile: Path, capsys) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out:  # a notebook's stdout has no `buffer` either
        assert cli.main(["view", str(hostile), *words.split()]) == (2 if "png" in words else 0)
    said = out.getvalue() or capsys.readouterr().err
    assert json.loads(said) if "json" in words else said.endswith((">\n", "-o FILE.\n")), said
    assert words.endswith("html") or not OBEYED.search(said)


def test_a_name_in_markdown_stays_inside_its_fence() -> None:
    made = build.mlp_compiled()
    words = {"words": "a | <img src=x>\n```\n# heading"}
    decisions = tuple(replace(item, reason_code="recorded", reason_arguments=words) for item in made.decisions)
    text = markdown.render(replace(made, decisions=decisions))
    assert "<img" in text and "<img" not in re.sub(r"(?s)```.*?```", "", text)
    assert [line for line in text.splitlines() if line.startswith("```")] == ["```text", "```"]
