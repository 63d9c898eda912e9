"""Colours for a terminal, by rich, which knows terminals, `NO_COLOR` and Windows."""

from typing import Any

from rich.console import Console
from rich.text import Text

from fxscope.data import read_table

# A pattern of what a reader looks for → its style.
STYLES: dict[str, str] = read_table("colours.json")


def write(stream: Any, text: str) -> None:
    marked = Text(text, end="")
    for pattern, style in STYLES.items():
        marked.highlight_regex(pattern, style)
    Console(file=stream, highlight=False, soft_wrap=True).print(marked, end="", soft_wrap=True)
