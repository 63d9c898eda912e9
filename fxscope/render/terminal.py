"""The recording in a terminal: the report, and with `everything` dispatch tree, kernel calls, tables, coverage."""

import shutil
import sys

from fxscope.analysis import traced_regions
from fxscope.index import grouped
from fxscope.model import Recording
from fxscope.render import grid, labels, report, tables
from fxscope.render.legible import legible
from fxscope.render.tree import dispatch_tree
from fxscope.text import wrapped

MAX_CALLS = 60
MAX_ASSUMED = 5  # of one reason
MAX_PROBLEMS = 12
CALLS = ("handle", "ops", "median", "planned", "share", "untimed")


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
    """Print the report to stdout, as wide as the terminal: one screen, or everything; or one stage.

    Raises:
        RenderError: the recording has no such stage.
    """
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
    if recording.calls and (not stage or any(graph.stage == "post_grad" for graph in graphs)):
        out.append(grid.heading("kernel calls", width))
        out += tables.text(tables.calls(recording), width, only=CALLS, notes=("untimed",), most=MAX_CALLS)
    out += section("compiled code", traced_regions.more(recording), width)
    return out + footer(recording, width)


def section(title: str, lines: list[str], width: int) -> list[str]:
    return [grid.heading(title, width), *(f" {line}" for line in wrapped(lines, width - 1))] if lines else []


def footer(recording: Recording, width: int) -> list[str]:
    """Coverage, assumptions and problems."""
    out = section("coverage", [labels.coverage_line(recording)], width)
    by_reason = grouped(recording.assumptions, lambda item: item.because).items()
    assumed = [
        f"• {'; '.join(f'{item.subject}: {item.assumed}' for item in same[:MAX_ASSUMED])}"
        + (f" and {len(same) - MAX_ASSUMED} more" if len(same) > MAX_ASSUMED else "")
        + f" ({because})"
        for because, same in by_reason
    ]
    out += section("assumed, not observed", assumed, width)
    problems = [f"! {labels.problem_line(problem)}" for problem in recording.problems[:MAX_PROBLEMS]]
    left = len(recording.problems) - MAX_PROBLEMS
    return out + section("problems", [*problems, f"… {left} more"] if left > 0 else problems, width)
