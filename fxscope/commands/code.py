"""`fxscope code RECORDING [NAME]`: the output code, each call and each kernel line tied to nodes and source lines."""

import argparse

from fxscope.commands import common
from fxscope.errors import FxscopeError
from fxscope.model import encoded


def configure(parser: argparse.ArgumentParser) -> None:
    common.add_input_options(parser, nargs=None)
    parser.add_argument("name", nargs="?", metavar="NAME", help="only the call of this kernel, op, variable or node")
    common.add_output_options(parser, formats=common.TEXT_FORMATS)


def run(arguments: argparse.Namespace) -> int:
    from fxscope.render import code

    format = common.text_format(arguments.output, arguments)
    recording = common.read(arguments.recordings, arguments)
    texts = [source for source in recording.sources if source.kind == "output_code"]
    if not texts:
        raise FxscopeError(f"{arguments.recordings} has no output code: eager, or no --debug-dir or --compile-log.")
    place = common.call_named(recording, arguments.name) if arguments.name is not None else None
    call = place.call if place is not None else None
    texts = [source for source in texts if place is None or source.graph == place.graph]
    if format == "json":
        every = (line for source in texts for line in code.annotate(recording, source))
        shown = [line for line in every if (line.call == call if call else line.call is not None or arguments.all)]
        # The one call that was asked for is named once: an answer of some kB has more lines then.
        named = {"call": call, "handle": shown[0].handle} if call and shown else {}
        lines = [{key: value for key, value in line._asdict().items() if key not in named} for line in shown]
        common.write_text(encoded({**named, "lines": lines}).decode() + "\n", arguments.output, arguments)
        return 0
    parts: list[str] = []
    for source in texts:
        parts.append(f"{source.id}" + (f"  ({source.file})" if source.file else ""))
        whole = arguments.all and call is None
        parts.append(code.render(recording, source, width=common.screen_width(), call=call, full=whole))
    everything = arguments.all or arguments.output is not None
    common.write_words("\n".join(parts) + "\n", format, arguments, everything=everything)
    return 0
