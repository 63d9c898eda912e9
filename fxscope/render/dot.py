"""A graph as DOT: fused ops inside a cluster that carries the kernel's name and time, views small, expensive gaps in red."""

import itertools
import re
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from hashlib import sha256
from statistics import median
from typing import cast

import graphviz

from fxscope import children
from fxscope.dtypes import short_dtype, short_tensor
from fxscope.errors import RenderError
from fxscope.index import grouped, index_of
from fxscope.model import Decision, Graph, KernelCall, Node, Recording
from fxscope.passes.fusion import rank
from fxscope.render import labels, theme
from fxscope.render.legible import legible
from fxscope.render.scene import LONGEST, SMALL_KINDS, Group, Scene
from fxscope.text import kernel_name, microseconds, shorten

# `newrank`: ranks are found for the whole graph, so that an edge never goes upwards.
PLACING = {"nodesep": "0.22", "ranksep": "0.36", "newrank": "true", "compound": "true"}
MANY = 400  # nodes from which `dot` needs limits of its iterations to stay linear
LIMITS = {"nslimit": "0.02", "mclimit": "0.1", "splines": "polyline"}
MAX_RED = 12
MAX_STEPS = 8  # of a way between two kernels, through views
SMALL = {"fontsize": "10", "height": "0.22", "margin": "0.08,0.03"}
USUAL = {"fontsize": "12", "height": "0.32", "margin": "0.14,0.06"}
# Characters of a line in a box, and of what hovering shows: more than 16,384 in quotes `dot` does not read.
LABEL, TOOLTIP = 300, 2000
Edge = tuple[str, str]
TIMEOUT_S = 60


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

    Data flows downwards; eager ops stand below each other, and what they call to the right of them.

    Raises:
        RenderError: the recording has no such stage, or no graph at all.
    """
    graphs = labels.graphs_of(recording, stage)
    if not graphs:
        raise RenderError(
            "the recording has no graph to draw. Record a program with `fxscope run`, or view it as text."
        )
    across = all(graph.stage == "eager" for graph in graphs)
    name = " · ".join(part for part in (recording.title, graphs[0].stage if len(graphs) > 1 else graphs[0].id) if part)
    where = recording.environment.device or ""
    if recording.environment.target:
        where = f"planned for {recording.environment.target}, not measured"
    many = sum(len(graph.nodes) for graph in graphs) > MANY
    look = {"labelloc": "t", "labeljust": "l", "fontname": theme.FONT, "fontsize": "15", "fontcolor": theme.TEXT}
    look |= {"bgcolor": theme.PAPER, "pad": "0.25", "rankdir": "LR" if across else "TB"}
    label = f"{plain(name)}\\l{plain(where)}\\l"
    attributes = {"label": label, **look, **PLACING, **(LIMITS if many else {})}
    out = graphviz.Digraph("fxscope", graph_attr=attributes)
    out.attr("node", shape="box", fontname=theme.FONT, fontcolor=theme.TEXT, penwidth="1.1", **USUAL)
    muted = {"fontname": theme.FONT, "fontsize": "10", "fontcolor": theme.MUTED}
    out.attr("edge", color=theme.EDGE, arrowsize="0.6", penwidth="1.0", **muted)
    for position, graph in enumerate(graphs):
        if len(graphs) > 1:
            with subgraph(out, f"cluster_graph_{position}") as inner:
                inner.attr(label=plain(graph.id), fontsize="14", color="#c9d0d8", style="rounded", labeljust="l")
                draw(inner, recording, graph)
        else:
            draw(out, recording, graph)
    draw_legend(out, graphs)
    return out.source


def draw(out: graphviz.Digraph, recording: Recording, graph: Graph) -> None:
    index, scene = index_of(recording), Scene(recording, graph)
    runs = index.runs_of_node[graph.id] if graph.stage == "eager" else {}
    framed = {number: group for number, group in enumerate(scene.groups) if group.kind == "call"}
    inside = grouped(
        range(len(graph.nodes)), lambda position: scene.home[position] if scene.home[position] in framed else -1
    )
    for number, group in framed.items():
        with subgraph(out, f"cluster_{identifier(graph, str(group.ref))}") as cluster:
            cluster.attr(**cluster_attributes(group, recording.calls[group.ref]))
            for position in inside[number]:
                draw_node(cluster, scene, position)
    for position in inside.get(-1, ()):
        draw_node(out, scene, position, timed=graph.nodes[position].name in runs)
    red = red_edges(recording, graph, scene)
    for position, node in enumerate(graph.nodes):
        for given in scene.inputs[position]:
            name = graph.nodes[given].name
            same_kernel = scene.call_of[given] == scene.call_of[position] >= 0
            attributes = edge_label(graph.nodes[given], node, same_kernel=same_kernel)
            if (name, node.name) in red:
                cost, reason = red[name, node.name]
                attributes |= {"color": theme.COST, "fontcolor": theme.COST, "penwidth": "2.4"}
                attributes |= dict.fromkeys(("tooltip", "edgetooltip", "labeltooltip"), reason)
                attributes["label"] = attributes.get("label", "") + (f"\\l {cost}\\l" if cost else "")
            out.edge(identifier(graph, name), identifier(graph, node.name), **attributes)
        if node.parent in scene.index:
            out.edge(identifier(graph, node.parent), identifier(graph, node.name), style="dotted", arrowhead="vee")
    colour = theme.KINDS["kernel"].stroke
    for name, kernels in runs.items():
        for number, (kernel, times) in enumerate(kernels.items()):  # what an eager op launched: boxes it points to
            box = identifier(graph, name, str(number))
            time = microseconds(median(duration for _, duration in times) / 1e3)  # as in the tree
            look = {"style": "filled", "fillcolor": theme.PAPER, "color": colour, "fontsize": "10"}
            out.node(box, label=f"{plain(kernel_name(kernel, 48))}\\n{time}", tooltip=plain(kernel), **look)
            out.edge(identifier(graph, name), box, color=colour, penwidth="1.6")
    if graph.stage == "eager":  # what the program called itself: below each other, in order
        with subgraph(out, f"order_{identifier(graph)}") as same:
            same.attr(rank="same")
            called = (identifier(graph, node.name) for node in graph.nodes if node.parent not in scene.index)
            for above, below in itertools.pairwise(called):
                same.edge(above, below, style="invis")


def draw_node(out: graphviz.Digraph, scene: Scene, position: int, *, timed: bool = False) -> None:
    """Draw one node in its kind's colour; a call that is one node carries its kernel's name and time here."""
    node, call = scene.graph.nodes[position], scene.alone.get(scene.call_of[position])
    (title, _, cost), style = scene.words(position), theme.KINDS[node.kind]
    lines = [title, shorten(call.handle, LONGEST), cost] if call is not None else [title]
    border = "dashed" if node.nature == "view" and node.kind == "fused" else style.border
    out.node(
        identifier(scene.graph, node.name),
        label="\\n".join(plain(line) for line in lines if line),
        fillcolor=theme.PAPER if node.nature == "composite" else style.fill,
        color=style.stroke,
        style=f"filled,rounded,{border}",
        penwidth="1.8" if call is not None or timed else "1.1",
        tooltip=plain(tooltip(node)),
        **(SMALL if node.kind in SMALL_KINDS or node.nature == "view" else USUAL),
        **({"peripheries": "2"} if call is not None and call.is_extern else {}),
    )


def cluster_attributes(group: Group, call: KernelCall) -> dict[str, str]:
    """The look of the box around the ops of one kernel, titled in the reader's words."""
    stroke = theme.KINDS["kernel" if call.is_extern else "fused"].stroke
    look = {"labeljust": "l", "fontsize": "12", "fontname": theme.FONT, "color": stroke, "fontcolor": stroke}
    look |= {"style": "rounded,filled", "fillcolor": "#fffaf3" if call.is_extern else "#f3f8fe"}
    label = "".join(f"{plain(line, LABEL)}\\l" for line in (group.title, group.sub, group.meta) if line)
    tooltip = plain(f"{theme.CALLS[call.type]} {call.handle}")
    return {"label": label, **look, "penwidth": "1.6", "margin": "10", "tooltip": tooltip}


def edge_label(source: Node, node: Node, *, same_kernel: bool) -> dict[str, str]:
    """The label of a data edge: shape and dtype, shortened to the dtype inside one kernel."""
    if not source.outputs:
        return {}
    out = source.outputs[0]
    full = short_tensor(out.shape, out.dtype)
    label = short_dtype(out.dtype) if same_kernel and node.outputs and node.outputs[0].shape == out.shape else full
    return {"label": f" {plain(label)}", "edgetooltip": plain(f"{source.name} → {node.name}: {full}")}


def red_edges(recording: Recording, graph: Graph, scene: Scene) -> dict[Edge, Edge]:
    """(from, to) → (cost, reason) for the edges of the most expensive unfused neighbours, through views between them.

    Only the first edge of a way carries the cost, so that it is read once.
    """
    ran = {name for call in scene.calls for name in call.nodes}
    nodes = {node.name: node for node in graph.nodes}
    found: dict[Edge, Edge] = {}
    left = MAX_RED
    apart = [item for item in recording.decisions if item.verdict != "fused" and item.saved_bytes]
    for item in sorted(apart, key=rank):
        if not left:
            break
        here = item.graph == graph.id and not item.other_graph
        ways = list(paths(item, nodes, nodes.keys() - ran)) if here else []
        left -= bool(ways)
        for way in ways:
            for position, edge in enumerate(way):
                cost = "" if position else plain(labels.price(item, recording))
                found.setdefault(edge, (cost, plain(f"not fused: {item.reason}")))
    return found


def paths(decision: Decision, nodes: dict[str, Node], outside: set[str]) -> Iterator[list[Edge]]:
    """Yield the ways from a's nodes to b's, walking back from b through nodes that no call ran."""
    left: list[tuple[str, list[Edge]]] = [(name, []) for name in reversed(decision.b) if name in nodes]
    while left:
        name, way = left.pop()
        for source in reversed(list(dict.fromkeys(nodes[name].inputs))):
            edge = [(source, name), *way]
            if source in decision.a:
                yield edge
            elif source in outside and len(edge) <= MAX_STEPS:
                left.append((source, edge))


def subgraph(out: graphviz.Digraph, name: str) -> AbstractContextManager[graphviz.Digraph]:
    """A part to draw in; Graphviz frames what is named "cluster…"."""
    return cast("AbstractContextManager[graphviz.Digraph]", out.subgraph(name=name))


def draw_legend(out: graphviz.Digraph, graphs: list[Graph]) -> None:
    """Draw the kinds that occur in one row; what each means is its tooltip."""
    occur = {node.kind for graph in graphs for node in graph.nodes}
    styles = {kind: style for kind, style in theme.KINDS.items() if kind in occur}
    with subgraph(out, "cluster_legend") as legend:
        words = {"fontsize": "10", "fontcolor": theme.MUTED, "fontname": theme.FONT}
        legend.attr(label="legend", labeljust="l", color="#dde2e8", style="rounded", rank="same", margin="6", **words)
        for kind, style in styles.items():
            look = {"fillcolor": style.fill, "color": style.stroke, "style": f"filled,rounded,{style.border}"}
            label = f"{style.glyph} {style.label}"
            legend.node(f"legend_{kind}", label=label, tooltip=style.meaning, **look, **SMALL)
        for left, right in itertools.pairwise(styles):
            legend.edge(f"legend_{left}", f"legend_{right}", style="invis", minlen="0")


def tooltip(node: Node) -> str:
    """Return what hovering a node says: target, reason, source."""
    source = node.source
    place = f"{source.file}:{source.line} {source.code or ''}".rstrip() if source and source.file else ""
    lines = (f"{node.name}: {node.target}", node.reason, place, source and source.module)
    return "\n".join(line for line in lines if line)


def identifier(graph: Graph, *names: str) -> str:
    """An id that is unique over graphs, of a node or of the n-th kernel that it launched; no character has a meaning."""
    plain = re.fullmatch(r"[\w./:-]*", graph.id) and all(re.fullmatch(r"[\w#.]+", name) for name in names)
    made = "/".join((graph.id, *names)).replace(":", "|")  # a colon would begin a port
    return made if plain and len(made) <= LABEL else sha256(repr((graph.id, names)).encode()).hexdigest()


def plain(text: str, longest: int = TOOLTIP) -> str:
    """Escape a label: a backslash in a name is a backslash, a line break a line break."""
    return graphviz.escape(shorten(legible(text.replace("\r", " ")), longest)).replace("\n", "\\n")
