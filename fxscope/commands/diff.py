"""`fxscope diff A B`: what changed between two recordings."""

import argparse

from fxscope.analysis.findings import Comparison
from fxscope.commands import common


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="a recording, a trace, a log or a folder, as for `view`")
    parser.add_argument("b", metavar="B", help="the recording to compare A with")
    common.add_trace_options(parser)
    common.add_output_options(parser, formats=common.TEXT_FORMATS)


def run(arguments: argparse.Namespace) -> int:
    from fxscope.analysis.compare import compare

    format = common.text_format(arguments.output, arguments)
    names = (arguments.a, arguments.b)
    recordings = [common.read(name, arguments) for name in names]
    return write(compare(*common.told_apart(recordings, names)), arguments, format)


def write(comparison: Comparison, arguments: argparse.Namespace, format: str, same: str = "") -> int:
    """Write a comparison; in the terminal `same` in place of one that shows no difference."""
    from fxscope.render.diff import diff_json, diff_markdown, diff_text

    show = {
        "terminal": lambda: same or diff_text(comparison, width=common.screen_width(), every=arguments.all),
        "md": lambda: diff_markdown(comparison, every=arguments.all),
        "json": lambda: diff_json(comparison),
    }
    common.write_text(show[format](), arguments.output, arguments)
    return 0
