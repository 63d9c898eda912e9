"""Colours for a terminal, by rich, which knows terminals, `NO_COLOR` and Windows."""

from typing import Any

from rich.console import Console
from rich.text import Text

HEADINGS = (
    "Step|GPU|CPU|Compile|CUDA graphs|Try first|Kernels|Missed fusions|Graph breaks|Recompiles|Not known|Next|Problem"
)
STYLES = {  # what a reader looks for
    rf"(?m)^(?:{HEADINGS})\b|─{{3,}}": "bold",
    r"\b(?:triton_|cpp_fused_|extern_kernels\.)\w+(?::\d+)?": "cyan",
    r"(?<!nor )\b(?:CPU|GPU|launch)-bound\b": "bold yellow",
    r"✓[^\n]*": "green",
    r"✗[^\n]*|~ ?\d[\d.,]* (?:ns|µs|ms|s)\b": "red",
    r"\(estimate[^)\n]*\)|… [^\n]*: --all": "dim",
}


def write(stream: Any, text: str) -> None:
    """Write text to a terminal, in colour where it has colours."""
    marked = Text(text, end="")
    for pattern, style in STYLES.items():
        marked.highlight_regex(pattern, style)
    Console(file=stream, highlight=False, soft_wrap=True).print(marked, end="", soft_wrap=True)
