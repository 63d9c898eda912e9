"""The strip of a job: one row per rank on one time axis, device work, idle time and exposed communication to scale."""

from fxscope.fleet.model import Fleet, RankLine
from fxscope.model import Kind
from fxscope.render import strip
from fxscope.render.axis import LEFT, RIGHT, SPAN, Extent
from fxscope.render.fleet import marks, shown
from fxscope.render.legible import legible
from fxscope.text import microseconds

MAX_ROWS = 16
HEIGHT = 32.0  # of a row
# Waiting for others is exposed communication, at the end of the row.
PARTS: tuple[tuple[str, str, Kind | None], ...] = (
    ("compute_us", "device work", "host"),
    ("idle_input_us", "idle, data loading", "folded"),
    ("idle_host_us", "idle", None),
    ("exposed_us", "exposed communication", "kernel"),
)


def render(fleet: Fleet) -> str:
    """The ranks of a job as SVG, for a page: as high as its rows."""
    lines, said = shown(fleet, MAX_ROWS), marks(fleet)
    longest = max((sum(times(line).values()) for line in lines), default=0.0)
    scale = SPAN / max(longest, fleet.step_us or 0.0, 1e-9)
    parts: list[str] = []
    y = 6.0
    for line in lines:
        parts += row(line, said.get(line.rank), y, HEIGHT, scale)
        y += HEIGHT
    if left := len(fleet.ranks) - len(lines):
        parts.append(strip.text(LEFT, y + 22, f"{left:,} ranks more, none of them named", look="muted"))
        y += 28
    kinds: dict[Kind, str] = {
        kind: what for field, what, kind in PARTS if kind and any(getattr(line, field) for line in lines)
    }
    parts += strip.key(kinds, "widths: median times of a step", y + 44)
    return legible(strip.frame(parts, f"{fleet.title}: {fleet.verdict}", y + 44, in_page=True))


def times(line: RankLine) -> dict[str, float]:
    """Field → µs of a rank's step, what is known."""
    return {name: getattr(line, name) or 0.0 for name, *_ in PARTS}


def row(line: RankLine, cause: str | None, y: float, height: float, scale: float) -> list[str]:
    """One rank: its name, red where it is named, and its step."""
    name = f"rank {line.rank}"
    look = "cost" if cause else "muted"
    out = [
        f'<g data-rank="{line.rank}">',
        strip.text(LEFT - 10, y + height / 2 + strip.SIZE * 0.34, name, look=look, anchor="end"),
    ]
    x = float(LEFT)
    for field, what, kind in PARTS:
        time = getattr(line, field)
        if not time:
            continue
        place = Extent(x, time * scale)
        note = f" ({cause})" if cause and field == "compute_us" else ""
        choices = (f"{what} {microseconds(time)}{note}", f"{what} {microseconds(time)}", microseconds(time), "")
        words = next(words for words in choices if strip.fits(words, place.width) or not words)
        tip = f"{name}: {choices[0]}"
        if kind is None:
            words = words if strip.fits(words, place.width - 12) else ""
            out += strip.gap_of(place, y + 2, height - 6, words, tip)
        else:
            out.append(strip.box(place, y + 2, height - 6, kind, words, tip, field))
        x = place.right
    if cause:
        out.append(strip.bar(Extent(LEFT, min(x, RIGHT) - LEFT), y, height - 2, "fx-cut"))
    return [*out, "</g>"]
