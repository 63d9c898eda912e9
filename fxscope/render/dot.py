"""A graph as DOT, for Graphviz: the ops of a kernel in a cluster with its name and time, views small, missed fusions red."""

import re
import subprocess
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import cast

import graphviz

from fxscope.dtypes import short_tensor
from fxscope.errors import RenderError
from fxscope.index import grouped
from fxscope.model import Graph, Recording
from fxscope.render import labels, theme
from fxscope.render.legible import legible
from fxscope.render.scene import SMALL_KINDS, Scene
from fxscope.text import shorten

# `newrank`: ranks are found for the whole graph, so that an edge never goes upwards.
LOOK = {"labelloc": "t", "labeljust": "l", "newrank": "true", "nodesep": "0.22", "ranksep": "0.36"}
FONT = {"fontname": theme.FONT, "fontsize": "12", "fontcolor": theme.TEXT}
SMALL = {"fontsize": "10", "height": "0.22", "margin": "0.08,0.03"}
LABEL = 300  # characters of a line; more than 16,384 in quotes `dot` does not read
TIMEOUT_S = 60
RED = {"color": theme.COST, "fontcolor": theme.COST, "penwidth": "2.4"}


def svg(recording: Recording, *, stage: str) -> str:
    """Return a stage's graph as SVG. Raises RenderError: there is nothing to draw, no `dot` on PATH, or it failed."""
    source = legible(render(recording, stage=stage)).encode(errors="replace")
    others = "Write .html, which folds the graph by module, or .dot."
    try:
        done = subprocess.run(["dot", "-Tsvg"], input=source, timeout=TIMEOUT_S, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        raise RenderError(f"`dot` did not finish in {TIMEOUT_S} s on this graph. {others}") from None
    except OSError:
        raise RenderError(f"a graph as .svg needs Graphviz's `dot` on PATH: install graphviz. {others}") from None
    if done.returncode or not done.stdout:
        raise RenderError(f"`dot` failed: {done.stderr.decode(errors='replace').strip()[:200]}. {others}")
    return re.sub(r"<!--.*?-->\s*", "", done.stdout.decode(errors="replace"), flags=re.DOTALL)


def render(recording: Recording, *, stage: str | None = None) -> str:
    """One DOT digraph of a stage's graphs ("post_grad", or "eager" if nothing was compiled). Raises RenderError: no graph."""
    graphs = labels.graphs_of(recording, stage)
    if not graphs:
        raise RenderError("the recording has no graph to draw. Record a program (`fxscope run`), or view it as text.")
    across = all(graph.stage == "eager" for graph in graphs)
    out = graphviz.Digraph("fxscope", graph_attr={"rankdir": "LR" if across else "TB", **LOOK, **FONT})
    out.attr(label=lines(recording.title or "recording"))
    out.attr("node", shape="box", **FONT)
    out.attr("edge", color=theme.EDGE, **FONT | SMALL)
    for number, graph in enumerate(graphs):
        with _cluster(out, f"{number}", graph.id) as inner:
            draw(inner, recording, graph, f"g{number}n")
    return str(out.source)


def _cluster(out: graphviz.Digraph, name: str, label: str, **look: str) -> AbstractContextManager[graphviz.Digraph]:
    look |= {"label": lines(label), "style": "rounded", "labeljust": "l"}
    return cast("AbstractContextManager[graphviz.Digraph]", out.subgraph(name=f"cluster {name}", graph_attr=look))


def draw(out: graphviz.Digraph, recording: Recording, graph: Graph, prefix: str) -> None:
    """Draw one graph; its nodes are called by their positions behind a prefix."""
    scene = Scene(recording, graph)
    inside = grouped(range(len(graph.nodes)), scene.home.__getitem__)
    for number, positions in inside.items():
        group = scene.groups[number] if number >= 0 else None
        if group is None or group.kind != "call":
            draw_boxes(out, scene, positions, prefix)
            continue
        stroke = theme.KINDS["kernel" if recording.calls[group.ref].is_extern else "fused"].stroke
        label = "\n".join(filter(None, (group.title, group.sub, group.meta)))
        with _cluster(out, f"{prefix}{number}", label, color=stroke) as frame:
            draw_boxes(frame, scene, positions, prefix)
    apart = {
        (a, b): {"label": labels.price(item, recording), **RED}
        for item in recording.decisions
        if item.verdict != "fused" and item.saved_bytes and item.graph == graph.id and not item.other_graph
        for a in item.a
        for b in item.b
    }
    nodes = scene.graph.nodes
    for position, node in enumerate(nodes):
        for given in scene.inputs[position]:
            source = nodes[given]
            look = {"label": short_tensor(source.outputs[0].shape, source.outputs[0].dtype)} if source.outputs else {}
            look |= apart.get((source.name, node.name), {})
            out.body.append(f"\t{prefix}{given} -> {prefix}{position}{_attributes(**look)}\n")
        if node.parent in scene.index:
            look = _attributes(style="dotted")
            out.body.append(f"\t{prefix}{scene.index[node.parent]} -> {prefix}{position}{look}\n")


def draw_boxes(out: graphviz.Digraph, scene: Scene, positions: list[int], prefix: str) -> None:
    """Draw nodes in the colours of their kinds; a call that is one node carries its kernel's name and time here."""
    for position in positions:
        node, call = scene.graph.nodes[position], scene.alone.get(scene.call_of[position])
        (title, _, cost), style = scene.words(position), theme.KINDS[node.kind]
        look = {"fillcolor": theme.PAPER if node.nature == "composite" else style.fill, "color": style.stroke}
        look |= SMALL if node.kind in SMALL_KINDS or node.nature == "view" else {}
        label = "\n".join(filter(None, (title, call.handle if call else "", cost)))
        look = _attributes(lines(label), style=f"filled,rounded,{style.border}", **look)
        out.body.append(f"\t{prefix}{position}{look}\n")


@lru_cache(maxsize=4096)  # `out.node` would quote each name of each: many look the same
def _attributes(label: str | None = None, **look: str) -> str:
    return graphviz.quoting.attr_list(label, kwargs=look)


@lru_cache(maxsize=4096)
def lines(text: str) -> str:
    """Return text as a label: a backslash in a name is a backslash, a line break one that ends a line at its left."""
    found = [graphviz.escape(shorten(line, LABEL)) for line in legible(text.replace("\r", " ")).split("\n")]
    return "\\l".join(found) + ("\\l" if len(found) > 1 else "")
