"""`fxscope trace TRACE`: read a profiler trace that was recorded elsewhere, with or without the compile's files."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fxscope import text
from fxscope.commands import common, trace_tables
from fxscope.model import replace
from fxscope.render.legible import status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "trace", help="a Kineto trace, .json, .json.gz or .json.zst, as profiler.export_chrome_trace writes it"
    )
    parser.add_argument("--debug-dir", metavar="FOLDER", help="the compile's folder, from TORCH_COMPILE_DEBUG=1")
    parser.add_argument(
        "--compile-log", metavar="LOG", help="the compile's log or folder of logs, from TORCH_TRACE=FOLDER"
    )
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument("--step", type=step_number, metavar="N", help="keep active step N, counted from 0")
    steps.add_argument("--steps", type=step_range, metavar="A:B", help="keep active steps A up to, not including, B")
    steps.add_argument("--all-steps", action="store_true", help="keep every active step (the default)")
    parser.add_argument("--strict", action="store_true", help="a damaged trace is an error, not a problem to report")
    parser.add_argument(
        "--max-size", type=common.size, metavar="SIZE", help="largest size unpacked (16G; 50 times a packed file)"
    )
    trace_tables.add_table_options(parser)
    common.add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    common.check_outputs(arguments)
    trace_tables.check_table_options(arguments)
    only_tables = trace_tables.wanted(arguments) and not arguments.output and arguments.format in (None, "terminal")
    if only_tables and not arguments.debug_dir and not arguments.compile_log:
        return show_tables(arguments)
    from fxscope.readers.join import read_trace

    recording = read_trace(
        arguments.trace,
        debug_dir=arguments.debug_dir,
        compile_log=arguments.compile_log,
        steps=wanted_steps(arguments),
        strict=arguments.strict,
        max_bytes=arguments.max_size,
        progress=progress(arguments.trace),
    )
    if recording.summary and trace_tables.wanted(arguments):
        recording = replace(recording, summary=trace_tables.narrowed(recording.summary, arguments))
    if only_tables and recording.summary:
        sys.stdout.write(trace_tables.text(recording.summary))
    else:
        common.emit(recording, arguments)
    return 0


def show_tables(arguments: argparse.Namespace) -> int:
    """Show what a trace alone says, from its columns: no graph, no pass, no object an event."""
    from fxscope.readers import trace

    kept = trace.read_steps(
        arguments.trace,
        wanted_steps(arguments),
        strict=arguments.strict,
        max_bytes=arguments.max_size,
        progress=progress(arguments.trace),
    )
    summary = trace_tables.narrowed(trace.summarize(kept), arguments)
    sys.stdout.write(trace_tables.text(summary))
    for problem in kept.problems:
        print(f"{problem.where}: {problem.message}", file=sys.stderr)
    return 0


def wanted_steps(arguments: argparse.Namespace) -> Sequence[int] | None:
    """The chosen step indices, `None` for all."""
    if arguments.step is not None:
        return [arguments.step]
    return arguments.steps


def step_number(text: str) -> int:
    """Parse N ≥ 0."""
    if not text.isdigit() or len(text) > 20:
        raise argparse.ArgumentTypeError(f"{text!r} is no step: steps count from 0")
    return int(text)


def step_range(text: str) -> range:
    """Parse "2:5" as steps 2, 3 and 4."""
    first, colon, last = text.partition(":")
    if (
        not colon
        or not first.isdigit()
        or not last.isdigit()
        or len(text) > 40
        or not int(first) < int(last) <= sys.maxsize
    ):
        raise argparse.ArgumentTypeError(f"{text!r} is no range of steps: write A:B with A < B, such as 2:5")
    return range(int(first), int(last))


def progress(name: str) -> Callable[[int], None] | None:
    """A function that shows how much was read, on stderr where that is a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(num_bytes: int) -> None:
        status(f"reading {name}: {text.num_bytes(num_bytes)} ")

    return show
