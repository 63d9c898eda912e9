"""The recording in a terminal: the report, and with `everything` dispatch tree, kernel calls, tables, coverage."""

import itertools
import sys
from collections.abc import Iterator
from statistics import median

from fxscope.analysis import select, traced_regions
from fxscope.columns import column, picked, rows_of
from fxscope.dtypes import short_tensor
from fxscope.index import grouped, index_of
from fxscope.model import Graph, Node, Recording
from fxscope.op_names import is_dispatched, is_generated
from fxscope.render import grid, labels, report, tables, theme
from fxscope.render.legible import legible, screen_width
from fxscope.text import counted, kernel_name, listed, microseconds, shorten

MAX_CALLS = 60
MAX_CHAIN = 150  # lines of a dispatch chain
MAX_ASSUMED = 5  # of one reason
MAX_PROBLEMS = 12
CALLS = ("handle", "ops", "median", "planned", "share")


def render(
    recording: Recording,
    *,
    width: int = 80,
    stage: str | None = None,
    everything: bool = False,
    name: str | None = None,
) -> str:
    """The report as text; with `everything` all rows and details; or one stage. Raises RenderError: there is no such stage."""
    parts = [report.render(recording, width=width, everything=everything, name=name)] if not stage else []
    if stage or everything:
        parts.append("\n".join(details(recording, width=width, stage=stage)) + "\n")
    return legible("\n".join(parts))


def show(recording: Recording, *, stage: str | None = None, everything: bool = False, name: str | None = None) -> None:
    """Print the report to stdout, as wide as the terminal, or everything, or a stage. Raises RenderError: no such stage."""
    sys.stdout.write(render(recording, width=screen_width(), stage=stage, everything=everything, name=name))


def details(recording: Recording, *, width: int = 80, stage: str | None = None) -> list[str]:
    """Return what the report sums up: the dispatch chain, the kernel calls of each graph, tables, what was assumed."""
    out: list[str] = []
    graphs = labels.graphs_of(recording, stage) if stage else recording.graphs
    for graph in graphs:
        rows = rows_of(graph.nodes, "kind", "target")
        ran = (kind == "kernel" or is_dispatched(target) for kind, target in rows)  # not a region's mark
        if graph.stage == "eager" and (stage or any(ran)):
            out.append(grid.heading("eager dispatch chain", width))
            out += [f" {line}" for line in dispatch_tree(recording, graph, width=width - 1)]
    if recording.calls and (not stage or any(graph.stage == "post_grad" for graph in graphs)):
        out.append(grid.heading("kernel calls", width))
        out += tables.text(tables.calls(recording), width, only=CALLS, most=MAX_CALLS)
    out += section("compiled code", traced_regions.more(recording), width)
    out += section("coverage", [labels.coverage_line(recording)], width)
    assumed = [
        f"• {listed([f'{item.subject}: {item.assumed}' for item in same], MAX_ASSUMED)} ({because})"
        for because, same in grouped(recording.assumptions, lambda item: item.because).items()
    ]
    out += section("assumed, not observed", assumed, width)
    problems = [f"! {labels.problem_line(problem)}" for problem in recording.problems]
    return out + section("problems", grid.first(problems, MAX_PROBLEMS), width)


def section(title: str, lines: list[str], width: int) -> list[str]:
    return [grid.heading(title, width), *(f" {line}" for line in grid.wrapped(lines, width - 1))] if lines else []


def dispatch_tree(recording: Recording, graph: Graph, *, width: int = 80) -> Iterator[str]:
    """Yield the lines of an eager graph's tree: each launch under its op with its median time."""
    index = index_of(recording)
    runs = index.runs_of_node[graph.id]
    ops, parents = enumerate(column(graph.nodes, "op")), column(graph.nodes, "parent")
    children = grouped((row for row, op in ops if op == "dispatch"), parents.__getitem__)

    def below(item: Node | str | None) -> list[Node | str]:
        if isinstance(item, str):
            return []
        name = item.name if item is not None else None
        found: list[Node | str] = []
        for kernel, group in runs.get(name or "", {}).items():  # with the median time, and how often in a step
            often = len(group) / len({step for step, _ in group})
            time = microseconds(median(duration for _, duration in group) / 1e3)
            found.append(f"→ {kernel_name(kernel, 56)}  {time}" + (f" × {often:g}" if often != 1 else ""))
        last = ""
        for node in picked(graph.nodes, children.get(name, [])[: MAX_CHAIN + 1]):
            source = ""
            if item is None and node.source is not None:
                parts = (node.source.module, select.place(node.source), node.source.code)
                source = "  ".join(part for part in parts if part)
            found += [source] if source and source != last else []
            last = source or last
            found.append(node)
        return found

    def words(item: Node | str, lead: int) -> str:
        return shorten(item, width - lead) if isinstance(item, str) else node_label(item, room=width - lead)

    rows = rows_of(graph.nodes, "kind", "nature", "target", which=list(itertools.chain(*children.values())))
    ops = [(kind, nature) for kind, nature, target in rows if is_dispatched(target)]
    working = sum(kind == "kernel" and nature != "composite" for kind, nature in ops)
    step = index.dispatched.get(index.typical_step, 0)  # also what autograd calls inside an op
    said = f"{len(ops):,} of the {counted(step, 'op')} that a step dispatches" if step > len(ops) else ""
    said = said or f"{counted(len(ops), 'op')} dispatched"
    yield f"{said}, {working:,} of them {'launches' if working == 1 else 'launch'} work"
    lines = grid.tree(None, below, words)
    yield from itertools.islice(lines, MAX_CHAIN)
    if next(lines, None) is not None:
        yield "… the chain goes on: write .html or .json to see all of it"


def node_label(node: Node, *, room: int) -> str:
    text = f"{theme.KINDS[node.kind].glyph} {kernel_name(node.target) if is_generated(node.target) else node.target}"
    if node.outputs:
        out = node.outputs[0]
        shape = f"  {short_tensor(out.shape, out.dtype)}"
        if node.kind == "view" and out.stride is not None:
            shape += f" strides ({','.join(map(str, out.stride))})"
        text += shape if len(text) + len(shape) <= room else ""
    return shorten(text, room)
