"""`fxscope why RECORDING [A [B]]`: why two ops were fused, or were not, and what that costs."""

import argparse
from typing import Any

from msgspec.structs import asdict

from fxscope.commands import common
from fxscope.errors import UsageError
from fxscope.model import encoded


def configure(parser: argparse.ArgumentParser) -> None:
    common.add_input_options(parser, nargs=None)
    parser.add_argument("names", nargs="*", default=[], metavar="NAME", help=common.HELP["names of why"])
    parser.add_argument("--pattern", metavar="PATTERN", help=common.HELP["--pattern"])
    common.add_output_options(parser, formats=common.TEXT_FORMATS)


def run(arguments: argparse.Namespace) -> int:
    from fxscope.analysis.why import why
    from fxscope.render.why import MAX_LINES, words

    format = common.text_format(arguments.output, arguments)
    if len(arguments.names) > 2:
        raise UsageError("give no name, one or two.")
    recording = common.read(arguments.recordings, arguments)
    if arguments.pattern:
        from fxscope.analysis.rewrites import pattern_story

        story = pattern_story(recording, arguments.pattern, *arguments.names[:1])
        common.write_words(story + "\n", format, arguments, everything=arguments.all, most=MAX_LINES)
        return 0
    answer = why(recording, *arguments.names)
    if format == "json":
        from fxscope.analysis.report import report

        ordered = sorted(answer.decisions, key=lambda item: -(item.expected_us or 0.0))  # most time saved first
        decisions = [{**asdict(item), "reason": item.reason, "hint": item.hint} for item in ordered]  # and their words
        found: dict[str, Any] = {"text": words(recording, answer, width=240).splitlines(), "decisions": decisions}
        if not arguments.names and (made := report(recording)).missed:
            found = {"missed": made.missed, "brackets": made.brackets}
        common.write_text(encoded(found).decode() + "\n", arguments.output, arguments)
        return 0
    text = words(recording, answer, width=common.screen_width(), everything=arguments.all)
    common.write_words(text, format, arguments, everything=arguments.all)
    return 0
