"""The tables of a trace by itself: ops, kernels, steps, gaps, copies and waits; sorted, filtered, cut."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from fxscope.commands import common
from fxscope.errors import FxscopeError
from fxscope.model import Summary, replace
from fxscope.render import WITHOUT_TABLES

if TYPE_CHECKING:
    import argparse

    from fxscope.model import Recording

SORTS = {
    "total": ("total_us", "device_total_us"),
    "mean": ("mean_us", "device_self_us"),
    "median": ("typical_us", "device_self_us"),
    "count": ("count", "count"),
    "self": ("total_us", "device_self_us"),
    "cpu": ("total_us", "cpu_total_us"),
    "name": ("name", "name"),
}


def add_table_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("tables")
    group.add_argument("--tables", action="store_true", help="show ops, kernels, steps, gaps, copies and waits")
    group.add_argument("--top", type=int, metavar="N", help="the first N lines of each table")
    group.add_argument("--filter", metavar="PATTERN", help="only names in which this regular expression is found")
    group.add_argument("--sort", choices=sorted(SORTS), help="order of the tables (total device time)")


def wanted(arguments: argparse.Namespace) -> bool:
    return bool(arguments.tables or arguments.top is not None or arguments.filter or arguments.sort)


def only(arguments: argparse.Namespace) -> bool:
    """Whether the tables are all that is asked for."""
    return wanted(arguments) and not arguments.output and arguments.format in (None, "terminal")


def applied(recording: Recording, arguments: argparse.Namespace) -> Recording:
    """The recording with its tables sorted, filtered and cut as the options say."""
    if recording.summary is None or not wanted(arguments):
        return recording
    return replace(recording, summary=narrowed(recording.summary, arguments))


def show(name: str, arguments: argparse.Namespace) -> int:
    """Show what a trace alone says, from its columns: no graph, no pass, no object an event."""
    from fxscope.readers import trace

    kept = trace.read_steps(
        name, arguments.steps, strict=arguments.strict, max_bytes=arguments.max_size, progress=common.progress(name)
    )
    sys.stdout.write(text(narrowed(trace.summarize(kept), arguments)))
    for problem in kept.problems:
        print(f"{problem.where}: {problem.message}", file=sys.stderr)
    return 0


def check_table_options(arguments: argparse.Namespace) -> None:
    """Raise FxscopeError where the pattern is no regular expression, or --top is no positive number."""
    if arguments.top is not None and arguments.top < 1:
        raise FxscopeError(f"--top {arguments.top}: give a number of lines, 1 or more.")
    try:
        re.compile(arguments.filter or "")
    except re.error as error:
        raise FxscopeError(f"--filter {arguments.filter!r} is no regular expression: {error}.") from None
    formats = common.formats_of(arguments)
    if arguments.output or formats != {"terminal"}:
        common.refuse(
            arguments, "it is for the terminal, and every other output has the tables that it can show", "tables"
        )
    if formats <= WITHOUT_TABLES:
        common.refuse(arguments, f"{' and '.join(sorted(formats))} show no tables", "top", "filter", "sort")


def narrowed(summary: Summary, arguments: argparse.Namespace) -> Summary:
    """The tables sorted, filtered and cut as the options say."""
    pattern = re.compile(arguments.filter or "")
    kernel_key, op_key = SORTS[arguments.sort or "total"]
    return replace(
        summary,
        ops=_table(summary.ops, op_key, pattern, arguments.top),
        kernels=_table(summary.kernels, kernel_key, pattern, arguments.top),
        copies=_table(summary.copies, kernel_key, pattern, arguments.top),
        syncs=_table(summary.syncs, "cpu_total_us" if op_key != "name" else "name", pattern, arguments.top),
        gaps=summary.gaps[: arguments.top] if arguments.top else summary.gaps,
    )


def _table(lines, key: str, pattern: re.Pattern[str], top: int | None):  # type: ignore[no-untyped-def]
    found = [line for line in lines if pattern.search(line.name)]
    found.sort(key=lambda line: getattr(line, key), reverse=key != "name")
    return tuple(found[:top] if top else found)


def text(summary: Summary) -> str:
    """The tables as text, as wide as the terminal; 80 columns where there is none."""
    from fxscope.render import trace_tables

    return trace_tables.render(summary, width=common.width())
