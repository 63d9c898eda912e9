"""`fxscope view RECORDING…`: what limits a step and what to try first; pictures, pages, Markdown, JSON, tables."""

import argparse
import sys
from pathlib import Path

from fxscope.commands import common
from fxscope.errors import FxscopeError, RenderError
from fxscope.model import Recording
from fxscope.render import format_of

TOGETHER = {"html", "svg", "png"}  # formats that show several recordings side by side


def configure(parser: argparse.ArgumentParser) -> None:
    common.add_input_options(parser)
    common.add_output_options(parser)
    tables = "show ops, kernels, steps, gaps and waits; --all for every line"
    parser.add_argument("--tables", action="store_true", help=tables)


def run(arguments: argparse.Namespace) -> int:
    common.check_outputs(arguments)
    folders = {name: found for name in arguments.recordings if len(found := common.several_in(Path(name))) > 1}
    names = [item for name in arguments.recordings for item in folders.get(name, [name])]
    if arguments.tables:
        common.refuse(arguments, "--tables is for the terminal", "output", "format", "stage")
        for name in names:
            show_tables(name, arguments)
        return 0
    recordings = [common.read(name, arguments) for name in names]
    if len(recordings) > 1:
        if len({recording.title for recording in recordings}) < len(recordings):
            recordings = common.told_apart(recordings, names)
        view_several(recordings, arguments)
    else:
        common.emit(recordings[0], arguments, name=names[0])
    return 0


def show_tables(name: str, arguments: argparse.Namespace) -> None:
    """Print the tables of an input; those of a trace alone from its columns, without an object for each event."""
    from fxscope.render import tables

    path, files = Path(name), (arguments.debug_dir, arguments.compile_log)
    if not (any(files) or path.is_dir() or ".json" not in path.name or common.is_recording(path)):
        from fxscope.readers import trace

        found = trace.read(name, max_bytes=arguments.max_bytes, capture=arguments.capture)
        kept = trace.keep(found, arguments.steps)
        summary, problems = trace.summarize(kept), kept.problems
    else:
        recording = common.read(name, arguments)
        summary, problems = recording.summary, recording.problems
    if summary is None:
        raise FxscopeError(f"{name} holds no tables: they are made of a trace.")
    sys.stdout.write(tables.of_trace(summary, width=common.screen_width(), everything=arguments.all))
    for problem in problems:
        print(f"{problem.where}: {problem.message}", file=sys.stderr)


def view_several(recordings: list[Recording], arguments: argparse.Namespace) -> None:
    from fxscope.render import report
    from fxscope.render.terminal import show

    formats = {format_of(name, arguments.format) for name in arguments.output or ()}
    if not arguments.output and arguments.format in (None, "terminal"):
        if arguments.all or arguments.stage:
            for recording in recordings:
                show(recording, stage=arguments.stage, everything=arguments.all)
        else:
            sys.stdout.write(report.several(recordings, width=common.screen_width()))
        return
    if formats - TOGETHER or not (formats or arguments.format in TOGETHER):
        raise RenderError("several recordings go into one page or picture: -o report.html, -o strips.svg; or view one.")
    from fxscope.analysis import compare

    comparison = [compare.compare(recordings[0], other) for other in recordings[1:]]
    common.emit(recordings[0], arguments, others=tuple(recordings[1:]), comparison=tuple(comparison))
