"""`fxscope why RECORDING [A [B]]`: why two ops were fused, or were not, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.commands import common
from fxscope.errors import FxscopeError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    common.add_input_options(parser, nargs=None)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="none: all missed fusions; one: its kernel and its neighbours; two: that pair. A variable, op, FX node, "
        "buffer, kernel or module; op:mul, node:mul_6, call:0/0:inference:3 say which",
    )
    common.add_text_options(parser, "write FILE instead: .txt, .md or .json")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.analysis.why import why
    from fxscope.render.why import words

    format = common.text_format(arguments.output, arguments)
    if len(arguments.names) > 2:
        raise FxscopeError("give no name, one or two: fxscope why RECORDING gelu mul.")
    recording = common.read(arguments.recordings, arguments)
    answer = why(recording, *arguments.names)
    if format == "json":
        import msgspec

        from fxscope.model import encoded

        # With the words beside their codes.
        found = [
            {**msgspec.structs.asdict(item), "reason": item.reason, "hint": item.hint} for item in answer.decisions
        ]
        found += [{"note": item.note} for item in answer.same if item.note]
        common.write_text(encoded(found).decode() + "\n", arguments.output, arguments)
        return 0
    text = words(recording, answer, width=common.width(), everything=arguments.all)
    common.write_text(
        common.fenced(common.clipped(text, everything=arguments.all), format), arguments.output, arguments
    )
    return 0
