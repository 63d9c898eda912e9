"""`fxscope explain RECORDING [NAME]`: the report of `view`; with a name what is known of that thing, as `why` says it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fxscope.commands import common

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    common.add_input_options(parser, nargs=None)
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this op, kernel or module; see docs/names.md")
    common.add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    common.check_outputs(arguments)
    if arguments.name is not None:
        common.refuse(arguments, "a name's answer is text", "output", "format", "stage")
    recording = common.read(arguments.recordings, arguments)
    if arguments.name is not None:
        from fxscope.analysis.why import why
        from fxscope.render.why import words

        text = words(recording, why(recording, arguments.name), width=common.width(), everything=arguments.all)
        sys.stdout.write(common.clipped(text, everything=arguments.all))
    else:
        common.emit(recording, arguments, name=arguments.recordings)
    return 0
