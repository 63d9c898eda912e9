"""The output code with each call and each kernel line tied to its nodes and to the user's lines."""

from collections.abc import Mapping
from typing import NamedTuple

from fxscope.analysis import select
from fxscope.index import index_of
from fxscope.model import KernelCall, Node, Recording, SourceText
from fxscope.render import grid, labels
from fxscope.render.why import user_lines
from fxscope.text import shorten

GUTTER = 18


class Line(NamedTuple):
    number: int  # from 1
    text: str
    call: str | None  # id of the call: the line calls it, or belongs to its kernel
    handle: str | None
    node: str | None  # what the line computes, where that is known
    source: str | None  # the user's line, "model.py:17"


def annotate(recording: Recording, source: SourceText) -> list[Line]:
    texts = source.text.splitlines()
    calls = [call for call in recording.calls if call.wrapper == source.graph]
    owner: dict[int, KernelCall] = {}
    computed: dict[int, tuple[str, str]] = {}  # line → graph and node
    for call in calls:
        if call.code.call is not None:
            owner.update((number, call) for number in span(call.code.call))
        if call.code.kernel is None:
            continue
        for number in span(call.code.kernel):
            owner.setdefault(number, call)  # a kernel that is called twice is shown under its first call
        for number, name in call.lines:
            computed.setdefault(number, (call.graph, name))
    lines: list[Line] = []
    for number, text in enumerate(texts, 1):
        call, key = owner.get(number), computed.get(number, ("", ""))
        node = index_of(recording).node(key)
        place = select.place(node.source) if node is not None else None
        ids = (call.id, call.handle) if call else (None, None)
        lines.append(Line(number, text, *ids, key[1] or None, place))
    return lines


def span(lines: tuple[int, int]) -> range:
    return range(lines[0], lines[1] + 1)


def render(
    recording: Recording, source: SourceText, *, width: int = 80, call: str | None = None, full: bool = False
) -> str:
    """The calls with their kernels, or only `call`, or with `full` the whole file, as text; headlines are cut, code is not."""
    lines = annotate(recording, source)
    if full:
        return "\n".join(numbered(lines)) + "\n"
    parts: list[str] = []
    shown: set[int] = set()
    for item in recording.calls:
        if item.wrapper != source.graph or (call is not None and item.id != call):
            continue
        parts.append("\n".join(headline(item, index_of(recording).nodes.get(item.graph, {}), width)))
        body = [line for line in lines if item.code.kernel and line.number in span(item.code.kernel)]
        if body and body[0].number in shown and call is None:
            parts[-1] += "\n        (the kernel is above)"
            body = []
        shown |= {line.number for line in body}
        body += [line for line in lines if item.code.call and line.number in span(item.code.call)]
        parts[-1] += "".join(f"\n{line}" for line in numbered(body))
    return "\n\n".join(parts) + "\n"


def headline(call: KernelCall, nodes: Mapping[str, Node], width: int) -> list[str]:
    sources = user_lines([nodes[name] for name in call.nodes if name in nodes], len(call.nodes))
    lines = [shorten(f"── {call.handle}  {'·'.join(labels.ops_of(call, nodes))}", width)]
    return lines + [line for source in sources for line in grid.folded(source, width, "   ", "     ")]


def numbered(lines: list[Line]) -> list[str]:
    """The lines with their numbers, and before each the node that it computes, where one is known."""
    tags = [
        f"{line.node} :{line.source.rsplit(':', 1)[-1]}" if line.node and line.source else line.node or ""
        for line in lines
    ]
    gutter = min(GUTTER, max(map(len, tags), default=0))
    named = (f" {shorten(tag, gutter):{gutter}}│" if gutter else "" for tag in tags)
    return [f"{line.number:>5} │{name} {line.text}".rstrip() for line, name in zip(lines, named, strict=True)]
