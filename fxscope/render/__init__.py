"""Outputs. A renderer is a pure function `(Recording, **its own options) -> str`; `RENDERERS` maps a format to one.

Add one: write `render/NAME.py`, and add a line to `data/formats.json` (two, where files of it have a suffix).
"""

import importlib
import re
from pathlib import Path
from typing import Any

from fxscope.data import read_table
from fxscope.errors import RenderError
from fxscope.model import Recording

_FORMATS = read_table("formats.json")
RENDERERS: dict[str, str] = _FORMATS["renderers"]  # format → "module:function", loaded when asked for
SUFFIXES: dict[str, str] = _FORMATS["suffixes"]
WITHOUT_STAGE = frozenset({"json", "fxscope", "report", "png", "md"})  # they hold every graph, or none
ALIASES = {"markdown": "md", "text": "terminal", "txt": "terminal"}


def format_of(path: str | Path | None, format: str | None = None) -> str:
    """The format that `format` or the path's suffix names. Raises RenderError for an unknown one."""
    if format is not None:
        name = ALIASES.get(format, format)
        if name not in RENDERERS:
            raise RenderError(f"there is no format {format!r}. Choose one of {', '.join(RENDERERS)}.")
        return name
    suffix = Path(path or "").suffix.lower()
    if suffix not in SUFFIXES:
        raise RenderError(
            f"{path}: the suffix {suffix or '(none)'} names no format. Use one of {' '.join(SUFFIXES)}, or --format."
        )
    return SUFFIXES[suffix]


def check_target(path: str | Path, *, format: str | None = None, force: bool = False) -> None:
    """Raise RenderError if writing to this path would fail for a reason that can be known now."""
    from fxscope import store  # numpy is slow to import

    if format_of(path, format) != SUFFIXES[".fxscope"] and Path(path).suffix == ".fxscope":
        raise RenderError(f"{path} would hold no recording: leave --json out, then `fxscope view {path} --json`.")
    store.check_free(path, force=force)


def render(recording: Recording, format: str, **options: Any) -> str | bytes | bytearray:
    from fxscope.render.legible import legible

    name = format_of(None, format)
    if name == "svg" and "stage" in options:
        name = "graph"
    module, function = RENDERERS[name].split(":")
    made = getattr(importlib.import_module(module), function)(recording, **options)
    # In JSON, too: there `\\u202e` in a string is what it was. A page has its own way.
    return legible(made) if isinstance(made, str) and name not in ("html", "terminal") else made


def save(
    recording: Recording, path: str | Path, *, format: str | None = None, force: bool = False, **options: Any
) -> Path:
    from fxscope import store

    check_target(path, format=format, force=force)
    data = render(recording, format_of(path, format), **options)
    return store.write(path, data, force=force)


def json(recording: Recording) -> bytearray:
    """The recording as indented JSON, one key a line: the public contract of `docs/schema.md`. Encodes a field at a time."""
    import msgspec

    from fxscope.model import encoded
    from fxscope.render.legible import legible

    out = bytearray()
    for field in msgspec.structs.fields(Recording):
        text = msgspec.json.format(encoded({field.encode_name: getattr(recording, field.name)}), indent=1)[1:-2]
        out += b"," if out else b"{"
        out += text if text.isascii() and b"\x7f" not in text else legible(text.decode()).encode(errors="replace")
    out += b"\n}\n"
    return out


def printed(answer: Any) -> str:
    """Return the text of what `explain`, `why` or `diff` of a recording found; "" for a copy, which has no recording."""
    from fxscope.render import diff, report, why
    from fxscope.render.legible import legible

    if hasattr(answer, "names"):
        recording = vars(answer).get("recording")
        return legible(why.words(recording, answer, width=80).rstrip()) if recording else ""
    return legible(diff.diff_text(answer).rstrip() if hasattr(answer, "totals") else "\n".join(report.lines(answer)))


NOTEBOOK_CHARACTERS = 60_000


def notebook(recording: Recording) -> str:
    """Return the HTML of a notebook cell: the strip and the report. `recording.save("page.html")` writes a page."""
    from html import escape

    from fxscope.render import report, strip
    from fxscope.render.legible import legible

    text = f'<pre style="line-height:1.25">{escape(legible(report.render(recording, width=100)))}</pre>'
    try:
        drawn = legible(strip.render(recording))
    except RenderError:  # nothing ran: the report says so
        return text
    if len(drawn) + len(text) > NOTEBOOK_CHARACTERS:
        drawn = re.sub("<title>.*?</title>", "", drawn, flags=re.DOTALL)
    if len(drawn) + len(text) > NOTEBOOK_CHARACTERS:
        return text
    fluid = "<style>.fx-strip{max-width:100%;height:auto}</style>"
    return f'<div style="max-width:60rem">{fluid}{drawn}</div>{text}'
