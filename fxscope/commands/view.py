"""`fxscope view RECORDING…`: what limits a step and what to try first; pictures, pages, Markdown, JSON, tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from fxscope.commands import common, trace_tables

if TYPE_CHECKING:
    import argparse

    from fxscope.model import Recording


def configure(parser: argparse.ArgumentParser) -> None:
    common.add_input_options(parser)
    common.add_output_options(parser)
    trace_tables.add_table_options(parser)


def run(arguments: argparse.Namespace) -> int:
    common.check_outputs(arguments)
    trace_tables.check_table_options(arguments)
    names = arguments.recordings
    if trace_tables.only(arguments) and len(names) == 1 and common.is_plain_trace(names[0], arguments):
        return trace_tables.show(names[0], arguments)
    recordings = [trace_tables.applied(common.read(name, arguments), arguments) for name in names]
    if len(recordings) > 1:
        if len({recording.title for recording in recordings}) < len(recordings):
            recordings = common.told_apart(recordings, names)
        view_several(recordings, arguments)
    elif trace_tables.only(arguments) and recordings[0].summary is not None:
        sys.stdout.write(trace_tables.text(recordings[0].summary))
    else:
        common.emit(recordings[0], arguments, name=names[0])
    return 0


TOGETHER = {"html", "svg", "png"}  # formats that show several recordings side by side


def view_several(recordings: list[Recording], arguments: argparse.Namespace) -> None:
    """Write one page that compares the recordings, or one line of each in the terminal."""
    from fxscope.errors import RenderError
    from fxscope.render import format_of, report, show

    formats = {format_of(name, arguments.format) for name in arguments.output or ()}
    if not arguments.output and arguments.format in (None, "terminal"):
        if arguments.all or arguments.stage:
            for recording in recordings:
                show(recording, stage=arguments.stage, everything=arguments.all)
        else:
            sys.stdout.write(report.several(recordings, width=common.width()))
        return
    if formats - TOGETHER or not (formats or arguments.format in TOGETHER):
        raise RenderError(
            "several recordings go into one page or one picture: use -o report.html, or -o strips.svg, "
            "or view them one by one."
        )
    from fxscope.analysis import compare

    comparison = [compare.compare(recordings[0], other) for other in recordings[1:]]
    options: dict[str, Any] = {"others": tuple(recordings[1:]), "comparison": tuple(comparison)}
    common.emit(recordings[0], arguments, **options)
