"""Markdown for a GitHub comment: what the terminal prints, in a block of code."""

from html import escape

from fxscope.model import Recording
from fxscope.render import report, terminal
from fxscope.render.legible import legible

MAX_LINES, WIDTH = 55, 100


def render(recording: Recording) -> str:
    """Markdown of fewer than 60 lines."""
    lines = [*report.render(recording, width=WIDTH).splitlines(), "", *terminal.footer(recording, WIDTH)]
    more = [f"… {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
    return block(recording.title or "recording", "\n".join([*lines[:MAX_LINES], *more]).strip("\n"))


def block(title: str, body: str) -> str:
    """A heading and a text below it as it is."""
    return legible(f"### {text(title)}\n\n{fenced(body)}")


def fenced(body: str) -> str:
    """A text as a block of code."""
    return f"```text\n{body.replace('```', chr(39) * 3).rstrip()}\n```\n"


def text(value: str) -> str:
    """Escape what Markdown or HTML would read as markup: names and sources are not ours to trust."""
    value = escape(value, quote=False).replace("\n", " ")
    for char in "\\`*_|[]#":
        value = value.replace(char, f"\\{char}")
    return value
