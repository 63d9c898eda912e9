"""A slide, 16:9: steps as strips at one scale, what was fused bracketed into its kernel, and the costliest missed fusion."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fxscope.render import labels, theme
from fxscope.render.page import overview, spent
from fxscope.text import counted, kernel_name, microseconds, sentence, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.findings import Comparison
    from fxscope.model import Recording

WIDTH, HEIGHT, LEFT = 1280, 720, 60
SPAN = WIDTH - 2 * LEFT
TOP, BOTTOM = 168, 500  # of the strips
MAX_STRIPS = 3
CHARACTER = 0.68  # width of a letter over its size: names are cut to their segments by it
MAX_BANDS = 6  # of two steps: the widest; more are a mesh
LEGEND = (("fused", "generated, fused kernel"), ("kernel", "library kernel"), ("input", "memset or copy"))


class Strip:
    """A step of one recording: its runs with their places in px."""

    def __init__(self, recording: Recording, scale: float, top: float, height: float) -> None:
        self.recording: Recording = recording
        self.top: float = top
        self.height: float = height
        self.runs: list[spent.Run] = step(recording)
        self.total = sum(run.us for run in self.runs)
        self.places: list[tuple[float, float]] = []
        x = float(LEFT)
        for run in self.runs:
            self.places.append((x, run.us * scale))
            x += run.us * scale

    def draw(self) -> list[str]:
        title = shorten(self.recording.title or "recording", 60)
        planned = "predicted, sum of the calls: " if not self.recording.launches else ""
        words = f"{planned}{microseconds(self.total)} a step, {counted(len(self.runs), 'launch')}"
        ground = f'<rect x="{LEFT}" y="{self.top - 32:.1f}" width="{len(title) * 12.5:.0f}" height="27" fill="{theme.PAPER}"/>'
        out = [
            ground,
            text(LEFT, self.top - 12, title, 20, weight=700),
            text(WIDTH - LEFT, self.top - 12, words, 18, end=True),
        ]
        for run, (x, width) in zip(self.runs, self.places, strict=True):
            style = theme.KINDS[run.style]  # type: ignore[index]
            tip = f"{run.label}: {run.kernel}, {microseconds(run.us)}"
            out.append(
                f'<g><title>{escape(tip)}</title><rect x="{x:.1f}" y="{self.top:.1f}" width="{max(width, 0.3):.2f}" '
                f'height="{self.height:.1f}" fill="{style.fill}" stroke="{theme.PAPER}" stroke-width="0.6"/>'
                f'<rect x="{x:.1f}" y="{self.top:.1f}" width="{max(width, 0.3):.2f}" height="5" fill="{style.stroke}"/></g>'
            )
            room = int((width - 12) / (15 * CHARACTER))
            if room >= min(5, len(run.label)):
                out.append(text(x + 8, self.top + self.height / 2 + 2, shorten(run.label, room), 15, weight=600))
            if int((width - 12) / (14 * CHARACTER)) >= 7:
                out.append(text(x + 8, self.top + self.height / 2 + 21, microseconds(run.us), 14, colour=theme.MUTED))
        return out


def render(
    recording: Recording, *, others: Sequence[Recording] = (), comparison: Sequence[Comparison] | None = None
) -> str:
    """The slide as SVG. `others` are drawn below the first, at its scale; `comparison` aligns them with it.

    Raises:
        RenderError: there is no time to draw, or there are too many recordings.
    """
    from fxscope.errors import RenderError

    shown = labels.told_apart((recording, *others))
    if len(shown) > MAX_STRIPS:
        raise RenderError(f"a slide holds {MAX_STRIPS} recordings, these are {len(shown)}: use -o report.html.")
    totals = [sum(run.us for run in step(item)) for item in shown]
    if not max(totals):
        raise RenderError("no time is known: a slide needs a recording that was run, or a plan.")
    scale = SPAN / max(totals)
    pitch = (BOTTOM - TOP) / len(shown)
    height = min(92.0, pitch - 62)
    strips = [Strip(item, scale, TOP + pitch * k, height) for k, item in enumerate(shown)]
    title = " · ".join(dict.fromkeys(item.title or "recording" for item in shown))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="{theme.FONT}" role="img" aria-label="{escape(title)}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{theme.PAPER}"/>',
        text(LEFT, 66, shorten(title, 66), 32, weight=700),
        text(LEFT, 100, shorten(where(shown), 110), 18, colour=theme.MUTED),
    ]
    for k, item in enumerate(comparison or ()):
        parts += brackets(item, strips[0], strips[k + 1]) if k == 0 else []
    for strip in strips:
        parts += strip.draw()
    if len(shown) < MAX_STRIPS:  # more steps leave no room below
        parts += became(strips[-1], most=3 if len(shown) == 1 else 1)
    parts += sentences(shown)
    parts += legend({run.style for strip in strips for run in strip.runs})
    return "\n".join([*parts, "</svg>"]) + "\n"


def step(recording: Recording) -> list[spent.Run]:
    """What a step ran, in order."""
    return spent.step_of(spent.Runs(recording))


def where(shown: Sequence[Recording]) -> str:
    """What was recorded where, and with which versions; of several, the device of the first and its versions."""
    environment = shown[0].environment
    what = overview.what_it_is(shown[0]).rstrip(".") if len(shown) == 1 else environment.device or environment.target
    versions = (("torch", environment.torch), ("triton", environment.triton), ("CUDA", environment.cuda))
    return " · ".join([*([what] if what else []), *(f"{name} {value}" for name, value in versions if value)])


def text(
    x: float, y: float, words: str, size: float, *, weight: int = 400, colour: str = theme.TEXT, end: bool = False
) -> str:
    anchor = ' text-anchor="end"' if end else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}"{anchor}>'
        f"{escape(words)}</text>"
    )


def brackets(item: Comparison, above: Strip, below: Strip) -> list[str]:
    """A band from each group of kernels of the first to the one kernel that they became."""
    out: list[tuple[float, str]] = []
    style = theme.KINDS["fused"]
    for match in item.kernels:
        if match.kind != "collapsed" or not match.b:
            continue
        a = [above.places[use.position] for use in match.a if at(above, use.position, use.kernel)]
        b = [below.places[use.position] for use in match.b if at(below, use.position, use.kernel)]
        if len(a) != len(match.a) or not a or not b:
            continue  # not found at its place: no band rather than a wrong one
        x0, x1 = min(x for x, _ in a), max(x + width for x, width in a)
        y0, y1 = min(x for x, _ in b), max(x + width for x, width in b)
        foot, head = above.top + above.height, below.top
        band = (
            f'<path d="M{x0:.1f} {foot:.1f}L{x1:.1f} {foot:.1f}L{y1:.1f} {head:.1f}L{y0:.1f} {head:.1f}Z" '
            f'fill="{style.fill}" fill-opacity="0.6" stroke="{style.stroke}" stroke-dasharray="4 3"/>'
        )
        out.append((x1 - x0, band))
    return [band for _, band in sorted(out, reverse=True)[:MAX_BANDS]]


def at(strip: Strip, position: int, kernel: str) -> bool:
    """Whether this kernel ran at this place of the strip."""
    return position < len(strip.runs) and strip.runs[position].kernel == kernel


def became(strip: Strip, most: int) -> list[str]:
    """Below the strip: the ops of the `most` generated kernels with the most time, and what they became."""
    style = theme.KINDS["fused"]
    fused = [(run, place) for run, place in zip(strip.runs, strip.places, strict=True) if run.style == "fused"]
    by_label = {
        run.label: (run, place) for run, place in sorted(fused, key=lambda item: item[0].us)
    }  # the longest stays
    best = sorted(by_label.values(), key=lambda item: -item[0].us)[:most]
    out: list[str] = []
    for k, (run, (x, width)) in enumerate(sorted(best, key=lambda item: item[1][0])):
        top = strip.top + strip.height + 6
        y = top + 34 + 50 * k
        out.append(
            f'<path d="M{x:.1f} {top:.1f}v8h{width:.1f}v-8M{x + width / 2:.1f} {top + 8:.1f}V{y - 18:.1f}" '
            f'fill="none" stroke="{style.stroke}" stroke-width="1.5"/>'
        )
        right = x + width / 2 > WIDTH / 2
        out.append(text(x + width / 2, y, f"{run.label} → 1 kernel, {microseconds(run.us)}", 17, weight=600, end=right))
        name = shorten(kernel_name(run.kernel), 64)
        out.append(text(x + width / 2, y + 20, name, 14, colour=theme.MUTED, end=right))
    return out


def sentences(shown: Sequence[Recording]) -> list[str]:
    """The sentence with the most expensive missed fusion, of the last recording that has one."""
    for recording in reversed(shown):
        found = spent.missed(recording)
        if found:
            best = found[0]
            times = f" × {len(best['all'])}" if len(best["all"]) > 1 else ""
            once = ", shared kernels counted once" if best["once"] else ""
            name = f" in {recording.title}" if len(shown) > 1 and recording.title else ""
            out = [
                text(LEFT, 560, f"Not fused{name}: {best['pair']}{times}", 22, weight=700, colour=theme.COST),
                text(LEFT, 590, f"{best['price']} a step{once}. {sentence(shorten(best['reason'], 110))}", 18),
            ]
            hint = f"Try: {shorten(best['hint'], 120)}" if best["hint"] else None
            return [*out, text(LEFT, 616, hint, 18, colour=theme.KINDS["host"].stroke)] if hint else out
    return []


def legend(styles: set[str]) -> list[str]:
    """What the colours say."""
    out: list[str] = []
    x = float(LEFT)
    for kind, words in LEGEND:
        if kind in styles:
            style = theme.KINDS[kind]  # type: ignore[index]
            out.append(
                f'<rect x="{x:.0f}" y="664" width="18" height="18" rx="3" fill="{style.fill}" stroke="{style.stroke}"/>'
            )
            out.append(text(x + 26, 679, words, 16, colour=theme.MUTED))
            x += 60 + len(words) * 16 * 0.52
    return [*out, text(WIDTH - LEFT, 679, "widths are times, to one scale · fxscope", 16, colour=theme.MUTED, end=True)]
