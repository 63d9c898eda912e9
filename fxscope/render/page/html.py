"""The report: one HTML file that works from disk, with no network, and shows one recording or several side by side."""

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fxscope.analysis.findings import Comparison
from fxscope.model import Recording, replace
from fxscope.render import strip, theme
from fxscope.render.legible import legible
from fxscope.render.page import payload

# In this order they make one script; each defines functions that later ones use.
SCRIPTS = "text base data fold layout selection changes graph minimap timeline code tables panel overview compare main"
ASSETS = Path(__file__).parent / "assets"


def render(
    recording: Recording,
    *,
    others: Sequence[Recording] = (),
    comparison: Sequence[Comparison] | None = None,
    stage: str | None = None,
) -> str:
    """The page. `others` are shown beside the first; `comparison` aligns each of them with it."""
    shown = (recording, *others)
    if comparison:
        pairs = zip(comparison, shown[1:], strict=False)
        comparison = [replace(item, a_title=shown[0].title, b_title=other.title) for item, other in pairs]
    data = payload.page(shown, comparison, stage=stage)
    return document(" · ".join(r.title or "recording" for r in shown) + " · fxscope", data, SCRIPTS, "report.css")


def document(title: str, data: dict[str, Any], scripts: str, sheet: str) -> str:
    """A page that draws `data`, and opens a report in it, with programs inside; it fetches nothing. Assets by their names."""
    looks = [(scripts, sheet), *([(SCRIPTS, "report.css")] if "report" in data else [])]
    programs, styles = [assemble(names) for names, _ in looks], [palette() + asset(name) for _, name in looks]
    loader = assemble("loader")
    policy = (
        f"default-src 'none'; script-src {hashes(loader, *programs)}; "
        f"style-src {hashes(*styles)}; img-src blob: data:; base-uri 'none'; form-action 'none'"
    )
    texts = {"policy": policy, "title": html.escape(legible(title)), "style": styles[0], "loader": loader}
    packed = {"data": payload.packed(payload.to_json(data)), "program": payload.packed(programs[0])}
    return asset("page.html").format(**texts, **packed)


def hashes(*texts: str) -> str:
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts)


def assemble(scripts: str = SCRIPTS) -> str:
    """The page's script, without comments and indents: one function, so that no name leaks."""
    parts = [re.sub(r"(?m)^ *(?:/\*\*[^*]*\*/|//.*)?\n?", "", asset(f"{name}.js")) for name in scripts.split()]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();"


def asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def palette() -> str:
    fonts = {"font": theme.FONT, "mono": theme.MONO}
    light, dark = (theme.colours(dark=is_dark) | fonts for is_dark in (False, True))

    def block(values: dict[str, str]) -> str:
        return "".join(f"--{name}:{value};" for name, value in values.items())

    return (
        f":root{{color-scheme:light;{block(light)}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{block(dark)}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{block(dark)}}}\n"
        f"@media print{{:root{{color-scheme:light;{block(light)}}}}}\n" + strip.LOOK
    )
