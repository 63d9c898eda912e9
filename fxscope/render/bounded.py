"""rich's text, cut in its middle where it is longer than anybody reads: rich takes seconds to wrap a megabyte."""

from __future__ import annotations

from typing import Any

from rich import text

from fxscope.text import shorten

LONGEST = 20_000  # characters of one text: more than the ops of any kernel and the name of any template


class Text(text.Text):
    """A text of a recording."""

    def __init__(self, text: str = "", *values: Any, **named: Any) -> None:
        super().__init__(shorten(text, LONGEST), *values, **named)

    def append(self, text: text.Text | str, style: Any = None) -> Text:
        super().append(shorten(text, LONGEST) if isinstance(text, str) else text, style)
        return self
