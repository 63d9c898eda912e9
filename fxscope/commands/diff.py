"""`fxscope diff A B`: what changed between two recordings."""

import argparse

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
    return common.write_comparison(compare(*common.told_apart(recordings, names)), arguments, format)
