"""The recording in a terminal: dispatch tree, kernel calls, unfused neighbours, coverage; from 60 columns up."""

from __future__ import annotations

import io
import sys
from typing import IO, TYPE_CHECKING, cast

from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment, Segments
from rich.table import Table

from fxscope.analysis import traced_regions
from fxscope.index import index_of
from fxscope.op_names import only_named
from fxscope.passes.predicted import runs_of
from fxscope.render import labels, report, theme, work
from fxscope.render.bounded import Text
from fxscope.render.legible import LegibleStream, legible
from fxscope.render.tree import dispatch_tree
from fxscope.text import counted, listed, microseconds, percent, roof_share, shorten, span

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fxscope.model import KernelCall, Node, Recording

MAX_CALLS = 60
MAX_DECISIONS = 5
MAX_START_UP = 8
WIDE = 100  # columns from which a range is shown instead of the maximum
WITH_CALLS = ("post_grad", "scheduler", "kernel_calls")  # stages of which the kernel calls are a view


def render(
    recording: Recording, *, width: int = 80, color: bool = False, stage: str | None = None, everything: bool = False
) -> str:
    """The report as text; with `everything` all rows and all details; with `stage` that stage.

    Raises:
        RenderError: the recording has no such stage.
    """
    parts = [legible(report.render(recording, width=width, everything=everything))] if not stage else []
    if stage or everything:
        parts.append(printed(details(recording, width=width, stage=stage), width=width, color=color))
    return "\n".join(parts)


def printed(shown: Group, *, width: int, color: bool = False) -> str:
    """What rich makes of a group, of at most `width` columns."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="truecolor" if color else None,
        highlight=False,
        legacy_windows=False,
    )
    # What was made legible first: a colour in a name is the name's, not ours.
    pieces = [Segment(legible(text), style) for text, style, control in console.render(shown) if not control]
    console.print(Segments(pieces), end="")
    return ("\n".join(line.rstrip() for line in out.getvalue().split("\n")).rstrip("\n")) + "\n"


def show(recording: Recording, *, stage: str | None = None, everything: bool = False, name: str | None = None) -> None:
    """Print to stdout; colour only on a terminal and where `NO_COLOR` is not set (rich's rule)."""
    stream = LegibleStream(sys.stdout, colours=True)
    console = Console(file=cast("IO[str]", stream), highlight=False)
    width = console.width if console.is_terminal else 80
    if not stage:
        stream.write(legible(report.render(recording, width=width, everything=everything, name=name)))
    if stage or everything:
        color = console.is_terminal and not console.no_color
        stream.write(printed(details(recording, width=width, stage=stage), width=width, color=color))


def details(recording: Recording, *, width: int = 80, stage: str | None = None) -> Group:
    """What the report sums up: the dispatch chain, the kernel calls of each graph, tables, what was assumed."""
    parts: list[RenderableType] = []
    graphs = labels.graphs_of(recording, stage) if stage else recording.graphs
    for graph in graphs:
        if graph.stage == "eager":
            parts += [
                title("eager dispatch chain"),
                Padding(dispatch_tree(recording, graph, width=width), (0, 0, 0, 1)),
            ]
    if recording.calls and (not stage or any(graph.stage in WITH_CALLS for graph in graphs)):
        parts += calls(recording, width=width)
    if seen := traced_regions.lines(recording):
        parts.append(title("compiled code, as far as a trace tells"))
        parts += [Padding(Text(line.strip()), (0, 0, 0, 1 + len(line) - len(line.lstrip()))) for line in seen]
    if not stage:
        parts += [title("GEMMs, convolutions and attention"), Text(work.gemm_table(recording, width=width))]
        if overhead := work.compile_table(recording):
            parts += [title("CPU time before each call of compiled code"), Text(overhead)]
        parts += start_up(recording)
    parts += footer(recording)
    return Group(*parts)


def title(text: str) -> Rule:
    return Rule(Text(text, style="bold"), align="left", style="dim", characters="─")


def calls(recording: Recording, *, width: int) -> list[RenderableType]:
    """One table per compiled graph: kernel, type, the ops that ran in it, median and range of its time, share, roof.

    A share is of the device time that the header totals.
    """
    nodes = index_of(recording).nodes
    parts: list[RenderableType] = []
    total = sum(index_of(recording).step_us)
    shown, runs = 0, runs_of(recording.compiles)
    for graph_id in dict.fromkeys(call.graph for call in recording.calls):
        group = index_of(recording).calls_of_graph.get(graph_id, [])
        again = f", {runs(graph_id)} times a step" if runs(graph_id) > 1 else ""
        parts += [title(f"kernel calls · {graph_id.removesuffix(':post_grad')}{again}")]
        room = max(0, MAX_CALLS - shown)
        parts.append(call_table(group[:room], nodes.get(graph_id, {}), total, width=width))
        parts += without_launch(group[:room])
        shown += len(group[:room])
        if len(group) > room:
            parts.append(
                Text(f"   … {counted(len(group) - room, 'more call')}: write .html or .json to see all", style="dim")
            )
    return parts


def without_launch(group: list[KernelCall]) -> list[RenderableType]:
    """A line for each reason why calls have no time, with their numbers."""
    why: dict[str, list[str]] = {}
    for call in group:
        if call.untimed:
            why.setdefault(call.untimed, []).append(call.id.rsplit(":", 1)[-1])
    return [
        Padding(Text(f"no launch of {listed(numbers)}: {reason}", style="dim"), (0, 0, 0, 4))
        for reason, numbers in why.items()
    ]


def call_table(group: list[KernelCall], nodes: dict[str, Node], total_us: float, *, width: int) -> Table:
    """The table of one graph's calls; columns that say nothing in this recording are left out.

    Args:
        group: the calls.
        nodes: of their graph, by name.
        total_us: device time of all steps, of which a share is.
        width: in columns.
    """
    timed = any(call.timing for call in group)
    roofed = any(call.roof and call.roof.share is not None for call in group) and width >= 72
    estimated = not timed and any(call.estimated_us is not None for call in group)
    table = Table(box=None, padding=(0, 1), pad_edge=True, header_style="dim", expand=False)
    table.add_column("#", justify="right", style="dim", no_wrap=True)
    table.add_column("kernel", no_wrap=True)
    table.add_column("ran in it", overflow="fold")
    if timed or estimated:
        middle = labels.middle(call.timing for call in group if call.timing)
        table.add_column(middle if timed else "planned", justify="right", no_wrap=True)
    ranged = width >= WIDE and any(call.timing and call.timing.count > 1 for call in group)
    if ranged:
        table.add_column("range", justify="right", no_wrap=True)
    elif timed:
        table.add_column("max", justify="right", no_wrap=True)
    if timed:
        table.add_column("share", justify="right", no_wrap=True)
    if roofed:
        table.add_column("roof", justify="right", no_wrap=True)
    ran = {call.id: _ran(call, nodes) for call in group}
    shares = {call.id: roof_share(call.roof.share if call.roof else None) for call in group}
    room = width - 36 - (max(6, *map(len, shares.values())) if roofed else 0) - (6 if ranged else 0)
    name_width = max(26, room - min(22, max((item.cell_len for item in ran.values()), default=0)))
    for call in group:
        extern = call.is_extern
        style = theme.KINDS["kernel" if extern or len(call.nodes) < 2 else "fused"].terminal
        glyph = theme.KINDS["kernel" if extern or len(call.nodes) < 2 else "fused"].glyph
        cells: list[RenderableType] = [
            labels.call_number(call),
            Text(f"{glyph} {shorten(call.kernel, name_width)}", style=style),
            ran[call.id],
        ]
        if timed:
            timing = call.timing
            cells.append(microseconds(timing.typical_us if timing else None))
            if ranged:
                cells.append(span(timing.min_us, timing.max_us) if timing else "–")
            else:
                cells.append(microseconds(timing.max_us if timing else None))
            cells.append(percent(timing.total_us / total_us if timing and total_us else None))
        elif estimated:
            cells.append(labels.planned_words(call).removeprefix("≈ "))
        if roofed:
            cells.append(shares[call.id])
        table.add_row(*cells)
    return table


def _ran(call: KernelCall, nodes: dict[str, Node]) -> Text:
    """The ops that ran in a call, and what is only in its name."""
    extern = call.is_extern
    runs = call.nodes or call.biases or extern
    ops = Text(" · ".join(labels.ops_of(call, nodes))) if runs else Text("no op itself", style="dim")
    if named := only_named(call, nodes):
        ops.append(f" (its name: {listed(named, 3)}{', too' if runs else ''})", style="dim")
    return ops


def start_up(recording: Recording) -> list[RenderableType]:
    """The table of what ran before the first step, most expensive first."""
    found = recording.start_up
    if found is None or not (found.ops or found.compile_us):
        return []
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("op", overflow="fold")
    table.add_column("calls", justify="right", no_wrap=True)
    table.add_column("total", justify="right", no_wrap=True)
    table.add_column("where", overflow="fold")
    for row in labels.start_up_rows(found, MAX_START_UP):
        table.add_row(*row)
    parts: list[RenderableType] = [title("start-up, no part of the steps"), Text(f" {labels.start_up_words(found)}")]
    parts += [table] if found.ops else []
    if len(found.ops) > MAX_START_UP:
        parts.append(Text(f"   … {counted(len(found.ops) - MAX_START_UP, 'more line')}", style="dim"))
    return parts


def footer(recording: Recording) -> list[RenderableType]:
    """Coverage, assumptions and problems."""
    parts: list[RenderableType] = [title("coverage"), Text(f" {labels.coverage_line(recording)}")]
    if recording.assumptions:
        parts.append(title("assumed, not observed"))
        parts += [Text(f" • {a.subject}: {a.assumed} ({a.because})") for a in recording.assumptions]
    if recording.choices:
        parts.append(title(labels.CHOICES))
        room = MAX_DECISIONS
        for basis, choices in labels.choices_by_basis(recording).items():
            shown, room = choices[:room], max(0, room - len(choices))
            parts += [Text(f" • {choice.subject}: {labels.choice_words(choice)}") for choice in shown]
            parts += [Text(f"   {basis}", style="dim")] if shown else []
        if len(recording.choices) > MAX_DECISIONS:
            left = counted(len(recording.choices) - MAX_DECISIONS, "more choice")
            parts.append(Text(f"   … {left}: fxscope why RECORDING CALL"))
    if recording.problems:
        parts.append(title("problems"))
        for problem in recording.problems[:12]:
            parts.append(Text.assemble((" ! ", "bold red"), labels.problem_line(problem)))
        if len(recording.problems) > 12:
            parts.append(Text(f"   … {len(recording.problems) - 12} more", style="dim"))
    return parts
