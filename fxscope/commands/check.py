"""`fxscope check RECORDING… EXPECT.toml`: hold recordings against a file of expectations."""

import argparse
from pathlib import Path

from fxscope import __version__
from fxscope.commands import common
from fxscope.data import read_text
from fxscope.errors import FxscopeError, UsageError
from fxscope.model import replace

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
    from fxscope.analysis import check
    from fxscope.render import reports
    from fxscope.render.markdown import block
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
        text = contents(names[0], limit=16 << 20, what="a file of expectations").decode()
    except UnicodeDecodeError:
        raise FxscopeError(f"{names[0]} is not text in UTF-8.") from None
    data = check.parse(text, names[0])
    check.entries(data, names[0])  # a typo is an error before the recordings are read
    lines = check.lines_of(text) if format in ("github", "sarif") else ()
    report = check.check(common.named(others, arguments), data, where=names[0], lines=lines)
    where, here = str(Path(names[0]).resolve()), Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    failed_first = tuple(sorted(report.outcomes, key=lambda item: item.status == "met"))
    show = {
        "terminal": lambda: reports.check_text(report, width=common.screen_width()),
        "md": lambda: block(report.title or "Expectations", reports.check_text(replace(report, title=None), width=100)),
        "json": lambda: replace(report, outcomes=failed_first).to_json() + "\n",
        "junit": lambda: reports.junit(report),
        "github": lambda: reports.github(report, where=where, root=root),
        "sarif": lambda: reports.sarif(report, where=where, root=root, version=__version__),
    }
    common.write_text(show[format](), arguments.output, arguments)
    return 0 if report.passed else 1
