"""Terminal, Markdown and DOT against golden files; `pytest --accept` rewrites them, read the diff then."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from fxscope import store
from fxscope.errors import RenderError
from fxscope.model import Assumption, Graph, Node, Recording, replace
from fxscope.render import check_target, dot, format_of, markdown, render, save, terminal, theme
from tests import build, captures

HERE = Path(__file__).parent

CASES = {
    "compiled.txt": lambda: terminal.render(build.mlp_compiled()),
    "compiled_all.txt": lambda: terminal.render(build.mlp_compiled(), width=120, everything=True),
    "eager.txt": lambda: terminal.render(build.linear_eager()),
    "compiled.md": lambda: markdown.render(build.mlp_compiled()),
    "eager.md": lambda: markdown.render(build.linear_eager()),
    "compiled.dot": lambda: dot.render(build.mlp_compiled()),
    "eager.dot": lambda: dot.render(build.linear_eager()),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    golden = HERE / "golden" / name
    got = CASES[name]()
    if request.config.getoption("--accept"):
        golden.write_text(got)
    assert got == golden.read_text()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_asked(width: int) -> None:
    for recording in (build.mlp_compiled(), build.linear_eager(), captures.read("mlp_eager")):
        lines = terminal.render(recording, width=width, everything=True).splitlines()
        assert max(map(len, lines)) <= width and not any("float16 (" in line and "…" in line for line in lines)


def test_a_chain_that_holds_fewer_ops_than_the_step_dispatched_says_of_how_many() -> None:
    recording = build.linear_eager()
    assert " 5 ops dispatched, 1 of" in terminal.render(recording, everything=True)
    ops = tuple(build.op(number, "aten::t", step=recording.steps[0].index) for number in range(6))
    more = terminal.render(replace(recording, ops=ops), everything=True)
    assert " 5 of the 6 ops that a step dispatches, 1 of" in more
    region = Node(name="r", op="dispatch", target="Torch-Compiled Region: 0/0", kind="view")  # alone it is no chain
    alone = Recording(graphs=(Graph(id="eager", stage="eager", nodes=(region,)),))
    assert "dispatch chain" not in terminal.render(alone, everything=True)


def test_a_long_chain_is_cut_and_says_so() -> None:
    nodes = tuple(Node(name=f"n{i}", op="dispatch", target="aten::relu", kind="kernel") for i in range(400))
    text = terminal.render(Recording(graphs=(Graph(id="eager", stage="eager", nodes=nodes),)), everything=True)
    assert "the chain goes on" in text and text.count("aten::relu") == 150


@pytest.mark.parametrize("name", ['a"b', "a\\nb", "a\\", "<b>&", "a|{b}", "ünï©ode", "new\nline", "]->x[label=1"])
def test_dot_survives_hostile_names(name: str) -> None:
    graph = Graph(id="eager", stage="eager", nodes=(Node(name=name, op="dispatch", target=name, kind="kernel"),))
    recording = Recording(title=name, graphs=(graph,))
    source = dot.render(recording)
    assert source.count("->") <= 1 + name.count("->") * 4  # nothing but what is inside a quoted label
    if shutil.which("dot"):
        drawn = subprocess.run(["dot", "-Tsvg"], input=source, capture_output=True, text=True, check=True).stdout
        assert drawn.count("<svg ") == 1 and "<b>" not in drawn


def test_markdown_escapes_what_github_would_read_as_markup() -> None:
    recording = replace(build.mlp_compiled(), title="<img onerror=1> | `x` [y](z)")
    line = markdown.render(recording).splitlines()[0]
    assert line == r"### &lt;img onerror=1&gt; \| \`x\` \[y\](z)"


def test_json_is_the_contract_and_round_trips() -> None:
    recording = build.mlp_compiled()
    data = json.loads(render(recording, "json"))
    assert data["schema"] == "fxscope/2"
    assert data["graphs"][0]["nodes"][6]["outputs"][0]["shape"] == [8192, 3072]
    assert data["calls"][2]["handle"] == "triton_poi_fused__unsafe_view_gelu_mul_0:3"
    assert data["calls"][0]["flops"] is None  # unknown is null, not missing and not zero
    assert store.loads(json.dumps(data)) == recording
    assert store.loads(store.gzip.decompress(store.encode(recording))) == recording


def test_every_kind_has_a_style_and_every_colour_six_digits() -> None:
    from typing import get_args

    from fxscope import model

    assert set(theme.KINDS) == set(get_args(model.Kind))
    assert set(theme.CALLS) == set(get_args(model.CallType))
    for style in theme.KINDS.values():
        for colour in (style.fill, style.stroke, style.dark_fill, style.dark_stroke):
            assert len(colour) == 7 and colour.startswith("#")
    assert len({style.glyph for style in theme.KINDS.values()}) == len(theme.KINDS)


def test_a_format_is_named_by_suffix_or_by_format() -> None:
    assert format_of("x.svg") == "svg" and format_of("x.html", "md") == "md" and format_of(None, "markdown") == "md"
    with pytest.raises(RenderError, match=r"\.xyz.*names no format"):
        format_of("a.xyz")
    with pytest.raises(RenderError, match=r"no format 'pdf'. Choose one of"):
        format_of(None, "pdf")


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("mine")
    with pytest.raises(RenderError, match=r"exists\. Use --force"):
        save(build.mlp_compiled(), target)
    with pytest.raises(RenderError, match="is a folder"):
        check_target(tmp_path / ".", format="json")
    assert target.read_text() == "mine"
    save(build.mlp_compiled(), target, force=True)
    assert store.load(target) == build.mlp_compiled()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]  # no temporary left


def test_an_unknown_stage_names_those_there_are() -> None:
    with pytest.raises(RenderError, match=r"no stage 'joint'\. It has post_grad"):
        dot.render(build.mlp_compiled(), stage="joint")
    with pytest.raises(RenderError, match="no graph to draw"):
        dot.render(Recording())


def test_assumptions_of_one_reason_are_one_line() -> None:
    rows = (("k0", "ten kernels"), ("k1", "many kernels"), ("k2", "ten kernels"))
    assumed = tuple(Assumption(subject=name, assumed="one", because=because) for name, because in rows)
    told = [" • k0: one and k2: one (ten kernels)", " • k1: one (many kernels)"]
    recording = replace(build.mlp_compiled(), assumptions=assumed)
    assert "\n".join(told) in terminal.render(recording, everything=True)
