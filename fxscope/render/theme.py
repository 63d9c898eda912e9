"""Colour, glyph and label of everything that has a kind, from `data/theme.json`: here and nowhere else.

The fills and strokes are told apart by people with any of the common colour-vision deficiencies (they differ in
lightness and every kind has its own glyph and border as well). Colours have six digits: Graphviz reads "#eef" as black.
"""

from typing import Any, NamedTuple

from fxscope.data import read_table
from fxscope.model import CallType, Kind, Verdict


class Style(NamedTuple):
    label: str
    glyph: str
    meaning: str
    border: str  # Graphviz and CSS know "solid", "dashed" and "dotted"
    fill: str
    stroke: str
    dark_fill: str
    dark_stroke: str


_DATA: dict[str, Any] = read_table("theme.json")
JOB: list[tuple[str, str, Kind | None]] = _DATA[
    "job"
]  # a rank's times: field, words, colour; at the end waiting for others
KINDS: dict[Kind, Style] = {kind: Style(**look) for kind, look in _DATA["kinds"].items()}
CALLS: dict[CallType, str] = _DATA["calls"]
STRIP: dict[Kind, str] = _DATA["strip"]  # what a colour of the strip says
VERDICTS: dict[Verdict | None, str] = {"fused": "✓", "rejected": "✗", "never_considered": "–", None: "?"}

# "cost" is of unfused neighbours: the one colour that says "this costs you".
LIGHT: dict[str, str] = _DATA["light"]
DARK: dict[str, str] = _DATA["dark"]
TEXT, MUTED, PAPER, EDGE, COST = LIGHT.values()
FONT = "Helvetica,Arial,sans-serif"
MONO = "Menlo,Consolas,DejaVu Sans Mono,monospace"


def colours(*, dark: bool = False) -> dict[str, str]:
    """Name → colour: text and background, "cost", and fill and stroke of each kind ("view-fill")."""
    kinds = {
        f"{kind}-{part}": getattr(style, f"dark_{part}" if dark else part)
        for kind, style in KINDS.items()
        for part in ("fill", "stroke")
    }
    return (DARK if dark else LIGHT) | kinds
