"""Colours for a terminal, by rich, which knows terminals, `NO_COLOR` and Windows."""

import json
from importlib.resources import files
from typing import Any

from rich.console import Console
from rich.text import Text

# A pattern of what a reader looks for → its style.
STYLES: dict[str, str] = json.loads((files("fxscope") / "data" / "colours.json").read_text(encoding="utf-8"))


def write(stream: Any, text: str) -> None:
    """Write text to a terminal, in colour where it has colours."""
    marked = Text(text, end="")
    for pattern, style in STYLES.items():
        marked.highlight_regex(pattern, style)
    Console(file=stream, highlight=False, soft_wrap=True).print(marked, end="", soft_wrap=True)
