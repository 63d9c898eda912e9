"""`fxscope redact FILE -o FILE`: a copy of a recording that can be shared."""

import argparse
import sys

from fxscope.commands import common
from fxscope.render import check_target, save


def configure(parser: argparse.ArgumentParser) -> None:
    from fxscope.analysis import redact

    parser.description = f"{(redact.__doc__ or '').strip()}"
    common.add_input_options(parser, nargs=None)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="write FILE: .fxscope, .json, .html, …")
    parser.add_argument("--force", action="store_true", help="overwrite a file that exists")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.analysis.redact import redact

    check_target(arguments.output, force=arguments.force)
    redacted = redact(common.read(arguments.recordings, arguments))
    print(f"wrote {save(redacted, arguments.output, force=arguments.force)}", file=sys.stderr)
    return 0
