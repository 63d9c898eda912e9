"""A graph as DOT, for Graphviz: the ops of a kernel in a cluster with its name and time, views small, missed fusions red."""

import re
import subprocess
from contextlib import AbstractContextManager
from hashlib import sha256
from statistics import median
from typing import cast

import graphviz

from fxscope import children
from fxscope.dtypes import short_tensor
from fxscope.errors import RenderError
from fxscope.index import grouped, index_of
from fxscope.model import Graph, Node, Recording
from fxscope.render import labels, theme
from fxscope.render.legible import legible
from fxscope.render.scene import SMALL_KINDS, Scene
from fxscope.text import kernel_name, microseconds, shorten

# `newrank`: ranks are found for the whole graph, so that an edge never goes upwards.
LOOK = {"labelloc": "t", "labeljust": "l", "newrank": "true", "nodesep": "0.22", "ranksep": "0.36"}
FONT = {"fontname": theme.FONT, "fontsize": "12", "fontcolor": theme.TEXT}
SMALL = {"fontsize": "10", "height": "0.22", "margin": "0.08,0.03"}
LABEL = 300  # characters of a line; more than 16,384 in quotes `dot` does not read
TIMEOUT_S = 60
Frame = AbstractContextManager[graphviz.Digraph]
RED = {"color": theme.COST, "fontcolor": theme.COST, "penwidth": "2.4"}


def svg(recording: Recording, *, stage: str) -> str:
    """Return a stage's graph as SVG, laid out by Graphviz's `dot`.

    Raises:
        RenderError: there is nothing to draw, no `dot` on PATH, or it failed.
    """
    source = legible(render(recording, stage=stage)).encode(errors="replace")
    others = "Write .html, which folds the graph by module, or .dot."
    try:
        done = children.run(["dot", "-Tsvg"], input=source, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise RenderError(f"`dot` did not finish in {TIMEOUT_S} s on this graph. {others}") from None
    except OSError:
        raise RenderError(f"a graph as .svg needs Graphviz's `dot` on PATH: install graphviz. {others}") from None
    if done.returncode or not done.stdout:
        raise RenderError(f"`dot` failed: {done.stderr.decode(errors='replace').strip()[:200]}. {others}")
    return re.sub(r"<!--.*?-->\s*", "", done.stdout.decode(errors="replace"), flags=re.DOTALL)


def render(recording: Recording, *, stage: str | None = None) -> str:
    """One DOT digraph of every graph of a stage ("post_grad" by default, "eager" where nothing was compiled).

    Raises:
        RenderError: the recording has no such stage, or no graph at all.
    """
    graphs = labels.graphs_of(recording, stage)
    if not graphs:
        raise RenderError(
            "the recording has no graph to draw. Record a program with `fxscope run`, or view it as text."
        )
    where = recording.environment.device or ""
    if recording.environment.target:
        where = f"planned for {recording.environment.target}, not measured"
    across = all(graph.stage == "eager" for graph in graphs)
    title = "\n".join(part for part in (recording.title, where) if part)
    out = graphviz.Digraph("fxscope")
    out.attr(label=lines(title), rankdir="LR" if across else "TB", **LOOK, **FONT)
    out.attr("node", shape="box", **FONT)
    out.attr("edge", color=theme.EDGE, **FONT | SMALL)
    for position, graph in enumerate(graphs):
        with cast("Frame", out.subgraph(name=f"cluster graph {position}")) as inner:
            inner.attr(label=lines(graph.id), style="rounded", labeljust="l")
            draw(inner, recording, graph)
    return str(out.source)


def draw(out: graphviz.Digraph, recording: Recording, graph: Graph) -> None:
    scene = Scene(recording, graph)
    framed = {number: group for number, group in enumerate(scene.groups) if group.kind == "call"}
    inside = grouped(
        range(len(graph.nodes)), lambda position: scene.home[position] if scene.home[position] in framed else -1
    )
    for number, group in framed.items():
        stroke = theme.KINDS["kernel" if recording.calls[group.ref].is_extern else "fused"].stroke
        label = "\n".join(line for line in (group.title, group.sub, group.meta) if line)
        with cast("Frame", out.subgraph(name=f"cluster {identifier(graph, str(group.ref))}")) as frame:
            frame.attr(label=lines(label), color=stroke, style="rounded", labeljust="l")
            for position in inside.get(number, ()):
                draw_box(frame, scene, position)
    for position in inside.get(-1, ()):
        draw_box(out, scene, position)
    apart = {
        (a, b): {"label": labels.price(item, recording), "tooltip": lines(f"not fused: {item.reason}"), **RED}
        for item in recording.decisions
        if item.verdict != "fused" and item.saved_bytes and item.graph == graph.id and not item.other_graph
        for a in item.a
        for b in item.b
    }
    for position, node in enumerate(graph.nodes):
        for given in scene.inputs[position]:
            source = graph.nodes[given]
            look = {"label": short_tensor(source.outputs[0].shape, source.outputs[0].dtype)} if source.outputs else {}
            look |= apart.get((source.name, node.name), {})
            out.edge(identifier(graph, source.name), identifier(graph, node.name), **look)
        if node.parent in scene.index:
            out.edge(identifier(graph, node.parent), identifier(graph, node.name), style="dotted")


def draw_box(out: graphviz.Digraph, scene: Scene, position: int) -> None:
    """Draw one node in its kind's colour; a call that is one node carries its kernel's name and time here."""
    node, call = scene.graph.nodes[position], scene.alone.get(scene.call_of[position])
    (title, _, cost), style = scene.words(position), theme.KINDS[node.kind]
    look = {"fillcolor": theme.PAPER if node.nature == "composite" else style.fill, "color": style.stroke}
    look |= SMALL if node.kind in SMALL_KINDS or node.nature == "view" else {}
    words = [title, call.handle if call else "", cost]
    if scene.graph.stage == "eager":  # with the kernels that it launched
        runs = index_of(scene.recording).runs_of_node[scene.graph.id].get(node.name, {})
        words[2:] = [
            f"{kernel_name(kernel, 48)} {microseconds(median(time for _, time in times) / 1e3)}"
            for kernel, times in runs.items()
        ]
    label = "\n".join(word for word in words if word)
    look |= {"label": lines(label), "style": f"filled,rounded,{style.border}", "tooltip": lines(tooltip(node))}
    out.node(identifier(scene.graph, node.name), **look)


def tooltip(node: Node) -> str:
    source = node.source
    place = f"{source.file}:{source.line} {source.code or ''}".rstrip() if source and source.file else ""
    facts = (f"{node.name}: {node.target}", node.reason, place, source and source.module)
    return "\n".join(fact for fact in facts if fact)


def identifier(graph: Graph, *names: str) -> str:
    """An id that is unique over graphs, of a node or a kernel call; no character has a meaning."""
    plain = re.fullmatch(r"[\w./:-]*", graph.id) and all(re.fullmatch(r"[\w#.]+", name) for name in names)
    made = "/".join((graph.id, *names)).replace(":", "|")  # a colon would begin a port
    return made if plain and len(made) <= LABEL else sha256(repr((graph.id, names)).encode()).hexdigest()


def lines(text: str) -> str:
    """Return text as a label: a backslash in a name is a backslash, a line break one that ends a line at its left."""
    found = [graphviz.escape(shorten(line, LABEL)) for line in legible(text.replace("\r", " ")).split("\n")]
    return "\\l".join(found) + ("\\l" if len(found) > 1 else "")
