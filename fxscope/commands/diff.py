"""`fxscope diff A B`: what changed between two recordings."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from fxscope.commands import common

if TYPE_CHECKING:
    from fxscope.analysis.findings import Comparison


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="a recording, a trace, a log or a folder, as for `view`")
    parser.add_argument("b", metavar="B", help="the recording to compare A with")
    common.add_trace_options(parser)
    common.add_output_options(parser, formats=common.TEXT_FORMATS)


def run(arguments: argparse.Namespace) -> int:
    from fxscope.analysis.compare import compare
    from fxscope.render.diff import diff_json, diff_markdown, diff_text

    format = common.text_format(arguments.output, arguments)
    names = (arguments.a, arguments.b)
    comparison = compare(*common.told_apart([common.read(name, arguments) for name in names], names))
    show: dict[str, Callable[[Comparison], str]] = {
        "terminal": lambda item: diff_text(item, width=common.screen_width(), every=arguments.all),
        "md": lambda item: diff_markdown(item, every=arguments.all),
        "json": diff_json,
    }
    common.write_text(show[format](comparison), arguments.output, arguments)
    return 0
