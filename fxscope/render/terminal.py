"""The recording in a terminal: the report, and with `everything` dispatch tree, kernel calls, tables, coverage."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from fxscope.analysis import select, traced_regions
from fxscope.analysis.products import gemms
from fxscope.index import index_of
from fxscope.op_names import only_named
from fxscope.passes.predicted import runs_of
from fxscope.render import grid, labels, report, theme
from fxscope.render.legible import legible
from fxscope.render.tree import dispatch_tree
from fxscope.text import aligned, counted, listed, microseconds, percent, roof_share, span, wrapped

if TYPE_CHECKING:
    from fxscope.model import KernelCall, Node, Recording

MAX_CALLS = 60
MAX_DECISIONS = 5
MAX_PROBLEMS = 12
MAX_START_UP = 8
WITH_CALLS = ("post_grad", "scheduler", "kernel_calls")  # stages of which the kernel calls are a view


def render(
    recording: Recording,
    *,
    width: int = 80,
    stage: str | None = None,
    everything: bool = False,
    name: str | None = None,
) -> str:
    """The report as text; with `everything` all rows and all details; with `stage` that stage.

    Raises:
        RenderError: the recording has no such stage.
    """
    parts = [report.render(recording, width=width, everything=everything, name=name)] if not stage else []
    if stage or everything:
        parts.append("\n".join(details(recording, width=width, stage=stage)) + "\n")
    return legible("\n".join(parts))


def show(recording: Recording, *, stage: str | None = None, everything: bool = False, name: str | None = None) -> None:
    """Print to stdout, as wide as the terminal."""
    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80
    sys.stdout.write(render(recording, width=width, stage=stage, everything=everything, name=name))


def details(recording: Recording, *, width: int = 80, stage: str | None = None) -> list[str]:
    """Return what the report sums up: the dispatch chain, the kernel calls of each graph, tables, what was assumed."""
    out: list[str] = []
    graphs = labels.graphs_of(recording, stage) if stage else recording.graphs
    for graph in graphs:
        if graph.stage == "eager":
            out.append(grid.heading("eager dispatch chain", width))
            out += [f" {line}" for line in dispatch_tree(recording, graph, width=width - 1)]
    if recording.calls and (not stage or any(graph.stage in WITH_CALLS for graph in graphs)):
        out += calls(recording, width)
    out += section("compiled code, as far as the trace shows", traced_regions.lines(recording), width)
    if not stage:
        out += [grid.heading("GEMMs, convolutions and attention", width), *gemm_table(recording, width)]
        out += start_up(recording, width)
    return out + footer(recording, width)


def section(title: str, lines: list[str], width: int) -> list[str]:
    """Lines under a title; nothing where there is none."""
    return [grid.heading(title, width), *(f" {line}" for line in wrapped(lines, width - 1))] if lines else []


def calls(recording: Recording, width: int) -> list[str]:
    """One table per compiled graph: kernel, the ops that ran in it, median and range of its time, share, roof.

    A share is of the device time that the report totals.
    """
    nodes = index_of(recording).nodes
    out: list[str] = []
    total = sum(index_of(recording).step_us)
    shown, runs = 0, runs_of(recording.compiles)
    for graph_id in dict.fromkeys(call.graph for call in recording.calls):
        group = index_of(recording).calls_of_graph.get(graph_id, [])
        again = f", {runs(graph_id)} times a step" if runs(graph_id) > 1 else ""
        out.append(grid.heading(f"kernel calls · {graph_id.removesuffix(':post_grad')}{again}", width))
        room = max(0, MAX_CALLS - shown)
        out += call_table(group[:room], nodes.get(graph_id, {}), total, width=width) if room else []
        why: dict[str, list[str]] = {}
        for call in group[:room]:
            if call.untimed:
                why.setdefault(call.untimed, []).append(labels.call_number(call))
        out += wrapped([f"    no launch of {listed(numbers)}: {reason}" for reason, numbers in why.items()], width)
        shown += len(group[:room])
        if len(group) > room:
            out.append(f"   … {counted(len(group) - room, 'more call')}: write .html or .json to see all")
    return out


def call_table(group: list[KernelCall], nodes: dict[str, Node], total_us: float, *, width: int) -> list[str]:
    """The table of one graph's calls.

    Args:
        group: the calls.
        nodes: of their graph, by name.
        total_us: device time of all steps, of which a share is.
        width: in columns.
    """
    timed = [call.timing for call in group if call.timing]
    rows = [["#", "kernel", "ops", labels.middle(timed) if timed else "planned", "range", "share", "roof"]]
    for call in group:
        timing = call.timing
        style = theme.KINDS["kernel" if call.is_extern or len(call.nodes) < 2 else "fused"]
        time = microseconds(timing.typical_us) if timing else "–" if timed else labels.planned_words(call)
        rows.append(
            [
                labels.call_number(call),
                f"{style.glyph} {call.kernel}",
                _ran(call, nodes),
                time.removeprefix("≈ "),
                span(timing.min_us, timing.max_us) if timing and timing.count > 1 else "–",
                percent(timing.total_us / total_us if timing and total_us else None),
                roof_share(call.roof.share if call.roof else None),
            ]
        )
    return [f" {line}" for line in grid.table(rows, width - 1, left={1, 2}, cut=(1, 2))]


def _ran(call: KernelCall, nodes: dict[str, Node]) -> str:
    """The ops that ran in a call, and what is only in its name."""
    runs = call.nodes or call.biases or call.is_extern
    ops = " · ".join(labels.ops_of(call, nodes)) if runs else "no op itself"
    named = only_named(call, nodes)
    return f"{ops} (its name: {listed(named, 3)}{', too' if runs else ''})" if named else ops


def gemm_table(recording: Recording, width: int) -> list[str]:
    """The table of GEMMs: what, M·K·N, tile, µs, TFLOP/s, share of peak; the kernels below it."""
    header = ["", "op", "M·K·N", "GFLOP", "tile", "µs", "TFLOP/s", "of peak"]
    rows: list[list[str]] = []
    kernels: dict[str, int] = {}
    found = gemms(recording)
    if not found:
        return ["no GEMM, convolution or attention reached a device"]
    for row in found:
        number = kernels.setdefault(row.kernel, len(kernels) + 1)
        rows.append(
            [
                f"[{number}]",
                row.label,
                labels.size_words(row) or "–",
                f"{row.flops / 1e9:.4g}" if row.flops else "–",
                "×".join(map(str, row.tile)) if row.tile else "–",
                f"{row.duration_us:.1f}",
                f"{row.flops_per_second / 1e12:.3g}" if row.flops_per_second else "–",
                roof_share(row.share_of_peak),
            ]
        )
    lines = [f"  {line}" for line in aligned([header, *rows], left=range(3))]
    for name, number in kernels.items():
        lines += grid.folded(name, width, f"  [{number}] ", "      ")
    for note in dict.fromkeys(row.note for row in found if row.note):
        names = list(dict.fromkeys(row.label for row in found if row.note == note))
        lines += grid.folded(f"{listed(names, 3)}: {note}", width, "  ", "  ")
    for peak in dict.fromkeys(row.peak for row in found if row.peak and row.share_of_peak is not None):
        lines += grid.folded(f"peak: {peak}", width, "  ", "  ")
    return lines


def start_up(recording: Recording, width: int) -> list[str]:
    """The table of what ran before the first step, most expensive first."""
    found = recording.start_up
    if found is None or not (found.ops or found.compile_us):
        return []
    called = counted(sum(op.count for op in found.ops), "op")
    compiling = "" if found.compile_us is None else f", {microseconds(found.compile_us)} of it compiling"
    words = f"{microseconds(found.duration_us)} before the first step{compiling}; {called} called"
    out = section("start-up, not part of the steps", [words], width)
    rows = [["op", "calls", "total", "where"]]
    for op in found.ops[:MAX_START_UP]:
        rows.append([op.name, f"{op.count:,}", microseconds(op.total_us), select.place(op.source) or "–"])
    out += [f" {line}" for line in grid.table(rows, width - 1, left={0, 3}, cut=(0, 3))] if found.ops else []
    left = len(found.ops) - MAX_START_UP
    return [*out, f"   … {counted(left, 'more line')}"] if left > 0 else out


def footer(recording: Recording, width: int) -> list[str]:
    """Coverage, assumptions and problems."""
    out = section("coverage", [labels.coverage_line(recording)], width)
    assumed = [f"• {a.subject}: {a.assumed} ({a.because})" for a in recording.assumptions]
    out += section("assumed, not observed", assumed, width)
    chosen: list[str] = []
    room = MAX_DECISIONS
    for basis, choices in labels.choices_by_basis(recording).items():
        shown, room = choices[:room], max(0, room - len(choices))
        chosen += [f"• {choice.subject}: {labels.choice_words(choice)}" for choice in shown]
        chosen += [f"  {basis}"] if shown else []
    if len(recording.choices) > MAX_DECISIONS:
        chosen.append(f"… {counted(len(recording.choices) - MAX_DECISIONS, 'more choice')}: fxscope why RECORDING CALL")
    out += section(labels.CHOICES, chosen, width)
    problems = [f"! {labels.problem_line(problem)}" for problem in recording.problems[:MAX_PROBLEMS]]
    left = len(recording.problems) - MAX_PROBLEMS
    return out + section("problems", [*problems, f"… {left} more"] if left > 0 else problems, width)
