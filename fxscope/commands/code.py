"""`fxscope code RECORDING [NAME]`: the output code, each call and each kernel line tied to nodes and source lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.analysis import select
from fxscope.commands import common
from fxscope.errors import FxscopeError

if TYPE_CHECKING:
    import argparse

    from fxscope.model import Recording, SourceText


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recording", metavar="RECORDING", help="a recording, a trace, or a folder with a trace and its compile's files"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="only the call of this kernel, op, variable or node")
    parser.add_argument("--full", action="store_true", help="the whole file, also lines that belong to no call")
    parser.add_argument("--graph", metavar="ID", help="only this graph's code, such as 0/0:inference")
    parser.add_argument("--json", action="store_true", help="every line as JSON: number, text, call, node, source")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.render import code

    recording = common.read(arguments.recording)
    texts = chosen(recording, arguments.graph)
    call = None
    if arguments.name is not None:
        place = select.one_place(recording, select.find(recording, arguments.name))
        if place.call is None:
            raise FxscopeError(f"{arguments.name} ran in no kernel call: `fxscope why` says what became of it.")
        call = place.call
        texts = [source for source in texts if source.graph == place.graph]
    if arguments.json:
        from fxscope.model import encoded

        lines = [
            {"source": source.id, **line._asdict()}
            for source in texts
            for line in code.annotate(recording, source)
            if call is None or line.call == call
        ]
        print(encoded(lines).decode())
        return 0
    width = common.width()
    for source in texts:
        print(f"{source.id}" + (f"  ({source.file})" if source.file else ""))
        print(code.render(recording, source, width=width, call=call, full=arguments.full))
    return 0


def chosen(recording: Recording, graph: str | None) -> list[SourceText]:
    """The output codes to show.

    Raises:
        FxscopeError: there is none.
    """
    sources = [source for source in recording.sources if source.kind == "output_code"]
    if not sources:
        raise FxscopeError(
            "the recording has no output code: nothing was compiled, or the trace was read without --debug-dir and "
            "--compile-log."
        )
    if graph is None:
        return sources
    found = [source for source in sources if source.id.startswith(graph) or (source.graph or "").startswith(graph)]
    if not found:
        raise FxscopeError(f"there is no code of {graph!r}. There is {', '.join(source.id for source in sources)}.")
    return found
