"""`fxscope diff A B`: what changed between two recordings."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from fxscope.commands import common

if TYPE_CHECKING:
    from fxscope.analysis.findings import Comparison


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="a recording, a trace, or a folder with a trace and its compile's files")
    parser.add_argument("b", metavar="B", help="the recording to compare A with")
    common.add_trace_options(parser)
    common.add_text_options(parser, "write to FILE: .txt, .md or .json")
    parser.add_argument(
        "--resources",
        action="store_true",
        help="also list registers, shared memory, occupancy and launch configurations",
    )


def run(arguments: argparse.Namespace) -> int:
    from fxscope.analysis.compare import compare
    from fxscope.render.diff import diff_json, diff_markdown, diff_text

    format = common.text_format(arguments.output, arguments)
    names = (arguments.a, arguments.b)
    comparison = compare(*common.told_apart([common.read(name, arguments) for name in names], names))
    show: dict[str, Callable[[Comparison], str]] = {
        "terminal": lambda item: diff_text(item, width=common.width(), every=arguments.all),
        "md": lambda item: diff_markdown(item, every=arguments.all),
        "json": diff_json,
    }
    output = show[format](comparison)
    if arguments.resources and format != "json":  # the JSON form holds them anyway
        output += resources(comparison, format)
    common.write_text(output, arguments.output, arguments)
    return 0


def resources(comparison: Comparison, format: str) -> str:
    """Return what each kernel of both sides takes and how it was launched."""
    from fxscope.render import tables

    lines: list[str] = []
    for title, uses in (
        (comparison.a_title, [use for match in comparison.kernels for use in match.a]),
        (comparison.b_title, [use for match in comparison.kernels for use in match.b]),
    ):
        lines += [
            "",
            f"Resources of {title}",
            "",
            *(tables.text(tables.resources(uses), 10_000) or ["no kernel ran on a GPU"]),
        ]
    return common.fenced("\n".join(lines) + "\n", format)
