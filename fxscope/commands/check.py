"""`fxscope check RECORDING… EXPECT.toml`: hold recordings against a file of expectations."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from fxscope.commands import common
from fxscope.data import read_text

if TYPE_CHECKING:
    from fxscope.analysis.findings import CheckReport

SUFFIXES = {**common.TEXT_SUFFIXES, ".xml": "junit", ".sarif": "sarif"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "fxscope check RECORDING … EXPECT.toml [options]"
    parser.epilog = read_text("check_help.txt")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="*", metavar="FILE", help=common.HELP["files of check"])
    parser.add_argument("--kinds", action="store_true", help="list the kinds of expectations")
    common.add_trace_options(parser)
    common.add_output_options(parser, "write to FILE: .txt .md .json .xml .sarif", (*SUFFIXES.values(), "github"))


def run(arguments: argparse.Namespace) -> int:
    """Check, and return 1 where an expectation is not met."""
    from fxscope.analysis import check
    from fxscope.errors import FxscopeError, UsageError
    from fxscope.model import replace
    from fxscope.render import reports
    from fxscope.store import contents

    if arguments.kinds:
        common.refuse(arguments, "--kinds prints a list", "output", "format")
        print(check.help_of_kinds())
        return 0
    names = [name for name in arguments.files if name.endswith(".toml")]
    others = [name for name in arguments.files if not name.endswith(".toml")]
    if len(names) != 1 or not others:
        raise UsageError("give recordings and one .toml file of expectations.")
    format = common.text_format(arguments.output, arguments, SUFFIXES)
    try:
        data = check.parse(contents(names[0], limit=16 << 20, what="a file of expectations").decode(), names[0])
    except UnicodeDecodeError:
        raise FxscopeError(f"{names[0]} is not text in UTF-8.") from None
    check.entries(data, names[0])  # a typo is an error before the recordings are read
    report = check.check(common.named(others, arguments), data, where=names[0])
    failed_first = tuple(sorted(report.outcomes, key=lambda item: item.status == "met"))
    show: dict[str, Callable[[CheckReport], str]] = {
        "terminal": lambda report: reports.check_text(report, width=common.width()),
        "md": reports.check_markdown,
        "json": lambda item: replace(item, outcomes=failed_first).to_json() + "\n",
        "junit": reports.junit,
        "github": lambda item: reports.github(item, where=names[0]),
        "sarif": lambda item: reports.sarif(item, where=names[0]),
    }
    common.write_text(show[format](report), arguments.output, arguments)
    return 0 if report.passed else 1
