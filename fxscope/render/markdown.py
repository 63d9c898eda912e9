"""The recording as Markdown for a GitHub comment: tables, and the kernel calls as a Mermaid graph."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fxscope.index import index_of
from fxscope.passes import stages
from fxscope.render import labels, theme
from fxscope.render.legible import legible
from fxscope.text import kernel_name, microseconds, num_bytes, percent, roof_share, sentence, shorten, span

if TYPE_CHECKING:
    from fxscope.model import Graph, KernelCall, Recording, StartUp
    from fxscope.model import Node as GraphNode

MAX_ROWS = 40
MAX_MERMAID = 80  # GitHub refuses large Mermaid graphs


def render(recording: Recording, *, stage: str | None = None) -> str:
    """Markdown; `stage` narrows the tables to one graph or stage."""
    parts = [f"## {text(recording.title or 'recording')}", "", where(recording), ""]
    graphs = labels.graphs_of(recording, stage) if stage else recording.graphs
    for graph in graphs:
        calls = index_of(recording).calls_of_graph.get(graph.id, [])
        if calls:
            nodes = index_of(recording).nodes[graph.id]
            parts += [f"### {text(graph.id)}", "", *mermaid(calls, graph, nodes), "", *call_table(calls, nodes), ""]
        elif graph.stage == "eager":
            parts += ["### Eager dispatch chain", "", *chain(recording, graph), ""]
    if not recording.calls and recording.summary and recording.summary.kernels:
        parts += ["### Kernels", "", *kernel_table(recording), ""]
    parts += costs(recording)
    if not stage and recording.start_up is not None:
        parts += ["### Start-up, no part of the steps", "", *start_up(recording.start_up), ""]
    parts.append(f"**Coverage:** {labels.coverage_line(recording)}")
    for heading, lines in (
        ("Assumed, not observed", [f"{a.subject}: {a.assumed} ({a.because})" for a in recording.assumptions]),
        (
            sentence(labels.CHOICES),
            [
                line
                for basis, choices in labels.choices_by_basis(recording).items()
                for line in (
                    *(f"{choice.subject}: {labels.choice_words(choice)}" for choice in choices),
                    f"predicted from: {basis}",
                )
            ],
        ),
        ("Problems", [labels.problem_line(p) for p in recording.problems]),
    ):
        if lines:
            parts += ["", f"**{heading}:**", "", *(f"- {text(line)}" for line in lines)]
    return legible("\n".join(parts)) + "\n"


def where(recording: Recording) -> str:
    environment = recording.environment
    place = f"planned for {environment.target}" if environment.target else environment.device
    parts = [
        place,
        environment.torch and f"torch {environment.torch}",
        environment.triton and f"triton {environment.triton}",
    ]
    return text(" · ".join(part for part in parts if part))


def mermaid(calls: list[KernelCall], graph: Graph, nodes: dict[str, GraphNode]) -> list[str]:
    """The kernel calls as a Mermaid flowchart; an edge is a buffer that one writes and another reads."""
    if len(calls) > MAX_MERMAID:
        return [f"*{len(calls)} kernel calls: too many for a Mermaid graph.*"]
    lines = ["```mermaid", "flowchart TD"]
    for position, call in enumerate(calls):
        extern = call.is_extern
        time = f"<br/>{labels.time_words(call)}" if labels.time_words(call) else ""
        ops = " · ".join(labels.ops_of(call, nodes))
        label = f"{mermaid_text(shorten(call.handle, 60))}<br/>{mermaid_text(shorten(ops, 60))}{time}"
        lines.append(f'  k{position}["{label}"]:::{"kernel" if extern else "fused"}')
    place = {call.handle: position for position, call in enumerate(calls)}
    edges = {(place[a], place[b]): size for (a, b), size in stages.call_edges(calls, graph).items()}
    for (a, b), size in sorted(edges.items()):
        lines.append(f"  k{a} -->|{num_bytes(size)}| k{b}" if size is not None else f"  k{a} --> k{b}")
    for name in ("kernel", "fused"):
        style = theme.KINDS[name]
        lines.append(f"  classDef {name} fill:{style.fill},stroke:{style.stroke},color:{theme.TEXT}")
    return [*lines, "```"]


def call_table(calls: list[KernelCall], nodes: dict[str, GraphNode]) -> list[str]:
    timed = [call.timing for call in calls if call.timing]
    middle = labels.middle(timed) if timed or not any(call.estimated_us is not None for call in calls) else "predicted"
    lines = [
        f"| # | kernel | type | ran in it | {middle} | range | bytes | roof |",
        "|--:|---|---|---|--:|--:|--:|--:|",
    ]
    for call in calls[:MAX_ROWS]:
        known = call.bytes_read is not None or call.bytes_written is not None
        nbytes = (call.bytes_read or 0) + (call.bytes_written or 0) if known else None
        cells = [
            text(labels.call_number(call)),
            code(call.kernel),
            theme.CALLS[call.type],
            text(" · ".join(labels.ops_of(call, nodes))),
            text(labels.time_words(call).removesuffix(" planned")) or "–",
            time_range(call),
            num_bytes(nbytes),
            roof_share(call.roof.share if call.roof else None),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    if len(calls) > MAX_ROWS:
        lines.append(f"\n… {len(calls) - MAX_ROWS} more calls")
    return lines


def time_range(call: KernelCall) -> str:
    """The least and the most time of a call, or what a planned one will lie between."""
    if call.timing:
        return span(call.timing.min_us, call.timing.max_us)
    if call.estimated_range_us is not None:
        return span(*call.estimated_range_us)
    return text(call.untimed or ("a floor" if call.estimated_us is not None else "–"))


def kernel_table(recording: Recording) -> list[str]:
    """The kernels of a trace, most expensive first."""
    assert recording.summary is not None
    middle = labels.middle(recording.summary.kernels)
    lines = [f"| kernel | calls | total | {middle} | range | share |", "|---|--:|--:|--:|--:|--:|"]
    for item in sorted(recording.summary.kernels, key=lambda item: -item.total_us)[:MAX_ROWS]:
        times = f"{microseconds(item.total_us)} | {microseconds(item.typical_us)} | {span(item.min_us, item.max_us)}"
        lines.append(f"| {code(kernel_name(item.name, 70))} | {item.count} | {times} | {percent(item.share)} |")
    return lines


def start_up(found: StartUp) -> list[str]:
    """What ran before the first step, most expensive first."""
    lines = [f"{labels.start_up_words(found)}."]
    if found.ops:
        lines += ["", "| op | calls | total | where |", "|---|--:|--:|---|"]
    for name, calls, total, place in labels.start_up_rows(found, MAX_ROWS):
        lines.append(f"| {code(name)} | {calls} | {total} | {text(place)} |")
    if len(found.ops) > MAX_ROWS:
        lines.append(f"\n… {len(found.ops) - MAX_ROWS} more")
    return lines


def chain(recording: Recording, graph: Graph) -> list[str]:
    """The dispatch chain as a nested list in a code block."""
    runs = index_of(recording).runs_of_node[graph.id]
    depth: dict[str, int] = {}
    lines = ["```text"]
    for node in graph.nodes:
        if node.op != "dispatch":
            continue
        depth[node.name] = depth.get(node.parent or "", -1) + 1
        kernels = runs.get(node.name, {})
        arrow = f"  → {', '.join(sorted(kernel_name(name, 60) for name in kernels))}" if kernels else ""
        lines.append(f"{'  ' * depth[node.name]}{theme.KINDS[node.kind].glyph} {node.target}{arrow}")
        if len(lines) > 4 * MAX_ROWS:
            lines.append("…")
            break
    fence, *inside = lines
    return [fence, *(" ".join(line.replace("```", "'''").splitlines()) for line in inside), "```"]


def costs(recording: Recording) -> list[str]:
    """The most expensive unfused neighbours."""
    costly = labels.costly(recording)
    if not costly:
        return []
    lines = ["### Unfused neighbours, most expensive first", "", "| from | to | costs | reason |", "|---|---|--:|---|"]
    ends = labels.Ends(recording)
    for item in costly[:10]:
        a, b = ends(item)
        lines.append(f"| {text(a)} | {text(b)} | {labels.price(item, recording)} | {text(item.reason)} |")
    return [*lines, ""]


def text(value: str) -> str:
    """Escape what Markdown or HTML would read as markup: names and sources are not ours to trust."""
    value = escape(value, quote=False).replace("\n", " ")
    for char in "\\`*_|[]#":
        value = value.replace(char, f"\\{char}")
    return value


def code(value: str) -> str:
    """A code span that survives in a table cell, whatever the name holds."""
    return f"`{value.replace('`', chr(39)).replace('|', '¦').replace(chr(10), ' ')}`"


def mermaid_text(value: str) -> str:
    """Escape a Mermaid label: its own entity form for quotes and brackets."""
    return "".join(char if char.isalnum() or char in " _.:·-…" else f"#{ord(char)};" for char in value)
