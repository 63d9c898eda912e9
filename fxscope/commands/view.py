"""`fxscope view FILE…`: show recordings in the terminal, or write a picture, a page, Markdown or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fxscope.commands import common

if TYPE_CHECKING:
    import argparse

    from fxscope.model import Recording


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recordings",
        nargs="+",
        metavar="RECORDING",
        help="a .fxscope or .json file, or the folder of a trace; several for one page",
    )
    common.add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from fxscope.store import load

    common.check_outputs(arguments)
    recordings = [
        common.read(name) if Path(name).is_dir() else titled(load(name), name) for name in arguments.recordings
    ]
    if len(recordings) == 1:
        common.emit(recordings[0], arguments)
    else:
        if len({recording.title for recording in recordings}) < len(recordings):
            recordings = common.told_apart(recordings, arguments.recordings)
        view_several(recordings, arguments)
    return 0


def titled(recording: Recording, name: str) -> Recording:
    """The recording with a title, its file's name where it has none."""
    from fxscope.model import replace

    return recording if recording.title else replace(recording, title=Path(name).stem)


def view_several(recordings: list[Recording], arguments: argparse.Namespace) -> None:
    """Write one page that compares the recordings, or show them one after the other in the terminal."""
    from fxscope.errors import RenderError
    from fxscope.render import format_of, show

    formats = {format_of(name, arguments.format) for name in arguments.output or ()}
    if not arguments.output and arguments.format in (None, "terminal"):
        for recording in recordings:
            show(recording, stage=arguments.stage)
        return
    if formats - {"html", "slide"} or not (formats or arguments.format in ("html", "slide")):
        raise RenderError(
            "several recordings go into one .html page or one slide: use -o report.html, or --format slide -o slide.svg, "
            "or view them one by one."
        )
    from fxscope.analysis import compare

    comparison = [compare.compare(recordings[0], other) for other in recordings[1:]]
    options: dict[str, Any] = {"others": tuple(recordings[1:]), "comparison": tuple(comparison)}
    common.emit(recordings[0], arguments, **options)
