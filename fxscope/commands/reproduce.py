"""`fxscope reproduce RECORDING CALL [CALL] -o FILE.py`: a kernel, or two that were not fused, as a program that times them."""

import argparse

from fxscope.commands import common
from fxscope.errors import FxscopeError
from fxscope.index import index_of


def configure(parser: argparse.ArgumentParser) -> None:
    common.add_input_options(parser, nargs=None)
    parser.add_argument("name", metavar="CALL", help="a kernel, op or node that ran in one call: call:0/0:inference:3")
    parser.add_argument("other", metavar="CALL", nargs="?", help="a call not fused with it: time both, apart and fused")
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of stdout")
    group.add_argument("--force", action="store_true", help="overwrite files that exist")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.analysis.why import why
    from fxscope.render import reproduce

    recording = common.read(arguments.recordings, arguments)
    if arguments.other:
        apart = [item for item in why(recording, arguments.name, arguments.other).decisions if item.verdict != "fused"]
        if not apart:
            raise FxscopeError(f"no missed fusion of {arguments.name} and {arguments.other}: see `fxscope why`.")
        text = reproduce.render_pair(recording, apart[0])
    else:
        place = common.call_named(recording, arguments.name)
        text = reproduce.render(recording, index_of(recording).calls[place.call or ""])
    common.write_text(text, arguments.output, arguments)
    return 0
