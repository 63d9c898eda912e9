"""`fxscope reproduce RECORDING CALL -o FILE.py`: one kernel call as a program that runs and times it alone."""

import argparse

from fxscope.commands import common
from fxscope.index import index_of


def configure(parser: argparse.ArgumentParser) -> None:
    common.add_input_options(parser, nargs=None)
    parser.add_argument("name", metavar="CALL", help="a kernel, op or node that ran in one call: call:0/0:inference:3")
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of stdout")
    group.add_argument("--force", action="store_true", help="overwrite files that exist")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.render import reproduce

    recording = common.read(arguments.recordings, arguments)
    place = common.call_named(recording, arguments.name)
    call = index_of(recording).calls[place.call or ""]
    common.write_text(reproduce.render(recording, call), arguments.output, arguments)
    return 0
