"""Colours for a terminal, by rich, which knows terminals, `NO_COLOR` and Windows."""

from typing import Any

from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.text import Text
from rich.theme import Theme

HEADINGS = (
    "Step|GPU|CPU|Compile|CUDA graphs|Try first|Kernels|Missed fusions|Graph breaks|Recompiles|Not known|Next|Problem"
)
STYLES = Theme(
    {
        "fxscope.heading": "bold",
        "fxscope.kernel": "cyan",
        "fxscope.good": "green",
        "fxscope.limit": "bold yellow",
        "fxscope.cost": "red",
        "fxscope.muted": "dim",
    }
)


class Highlighter(RegexHighlighter):
    """Marks what a reader looks for: headings, verdicts, kernels, the cost of missed fusions."""

    base_style = "fxscope."
    highlights = [  # noqa: RUF012 rich declares a list
        rf"(?m)^(?P<heading>(?:{HEADINGS})\b)",
        r"(?P<heading>─{3,})",
        r"(?P<kernel>\b(?:triton_|cpp_fused_|extern_kernels\.)\w+(?::\d+)?)",
        r"(?P<limit>(?<!nor )\b(?:CPU|GPU|launch)-bound\b)",
        r"(?P<good>✓[^\n]*)",
        r"(?P<cost>✗[^\n]*|[~≥] ?\d[\d.,]* (?:ns|µs|ms|s)\b)",
        r"(?P<muted>\(estimate[^)\n]*\)|… [^\n]*: --all)",
    ]


def write(stream: Any, text: str) -> None:
    """Write text to a terminal, in colour where it has colours."""
    console = Console(file=stream, theme=STYLES, highlight=False, soft_wrap=True)
    marked = Text(text, end="")
    Highlighter().highlight(marked)
    console.print(marked, end="", soft_wrap=True)
