"""Colour, glyph and label of everything that has a kind: here and nowhere else.

The fills and strokes are told apart by people with any of the common colour-vision deficiencies (they differ in
lightness and every kind has its own glyph and border as well). Colours have six digits: Graphviz reads "#eef" as black.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fxscope.model import CallType, Kind, Verdict


class Style(NamedTuple):
    """The look of one kind."""

    label: str
    glyph: str
    meaning: str
    border: str  # Graphviz and CSS know "solid", "dashed" and "dotted"
    fill: str
    stroke: str
    dark_fill: str
    dark_stroke: str


KINDS: dict[Kind, Style] = {
    "kernel": Style("kernel", "■", "launched work of its own", "solid", "#fce4c4", "#b45f06", "#4a3313", "#f2a65a"),
    "fused": Style(
        "fused", "◆", "runs inside a kernel with others", "solid", "#d3e5fa", "#1b5fae", "#16314f", "#6fb1f5"
    ),
    "view": Style(
        "view",
        "·",
        "new metadata, same storage: launches nothing",
        "dashed",
        "#f4f5f7",
        "#7d8794",
        "#23272e",
        "#8b95a3",
    ),
    "folded": Style(
        "folded",
        "↪",
        "no kernel of its own: strides of another call, a constant, or written by its inputs' kernels",
        "dashed",
        "#ebe2f6",
        "#7646ad",
        "#33244a",
        "#b794e6",
    ),
    "input": Style("input", "▷", "graph input or parameter", "solid", "#e9ecf0", "#5b6675", "#2a3038", "#9aa6b5"),
    "host": Style("host", "○", "work on the CPU, a sync, a copy", "solid", "#dcefd9", "#3d7a33", "#1f3a1b", "#84c779"),
    "eliminated": Style(
        "eliminated", "∅", "gone before code generation", "dotted", "#ffffff", "#9aa3ad", "#181b20", "#6c7683"
    ),
    "unknown": Style("unknown", "?", "not determined", "dotted", "#ffffff", "#c0262c", "#181b20", "#f07178"),
}

CALLS: dict[CallType, str] = {
    "triton_pointwise": "Triton pointwise",
    "triton_reduction": "Triton reduction",
    "triton_persistent_reduction": "Triton persistent reduction",
    "triton_template": "Triton template",
    "triton_foreach": "Triton foreach",
    "triton_scan": "Triton scan",
    "triton_other": "Triton",
    "user_triton": "user's Triton",
    "extern": "extern",
    "fallback": "fallback",
    "cpp": "C++",
}

VERDICTS: dict[Verdict | None, str] = {"fused": "✓", "rejected": "✗", "never_considered": "–", None: "?"}

# "cost" is of unfused neighbours: the one colour that says "this costs you".
LIGHT = {"text": "#1c2430", "muted": "#5d6875", "paper": "#ffffff", "edge": "#8a94a1", "cost": "#c8102e"}
DARK = {"text": "#e6e9ee", "muted": "#9aa5b3", "paper": "#12151a", "edge": "#5d6875", "cost": "#ff6b6b"}
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
