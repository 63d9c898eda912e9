"""The strip of a job: one row per rank on one time axis, device work, idle time and exposed communication to scale."""

from fxscope.fleet.model import Fleet, RankLine, headline as finding_line
from fxscope.render import strip
from fxscope.render.axis import LEFT, RIGHT, SPAN, Extent
from fxscope.render.fleet import MAX_FINDINGS, marks, shown
from fxscope.render.legible import legible
from fxscope.render.theme import JOB
from fxscope.text import counted, microseconds, percent, sentence, shorten

MAX_ROWS = 16
TOP, FOOT = 152.0, 60.0


def render(fleet: Fleet, *, is_light: bool = False, head: bool = True) -> str:
    """The ranks of a job as SVG, 16:9; for a page without the title and the colours, as high as its rows."""
    lines, said = shown(fleet, MAX_ROWS), marks(fleet)
    longest = max((sum(getattr(line, name) or 0.0 for name, *_ in JOB) for line in lines), default=0.0)
    scale = SPAN / max(longest, fleet.step_us or 0.0, 1e-9)
    y, height = (TOP, min(64.0, (strip.HEIGHT - FOOT - TOP) / max(len(lines), 1))) if head else (6.0, 32.0)
    parts = headline(fleet) if head else []
    for line in lines:
        parts += row(line, said.get(line.rank), y, height, scale)
        y += height
    if left := len(fleet.ranks) - len(lines):
        parts.append(strip.text(LEFT, y + 22, f"{left:,} ranks more, none of them named", look="muted"))
        y += 28
    parts += findings(fleet, y + 40) if head else []
    tall = float(strip.HEIGHT) if head else y + 44
    kinds: dict[str, str] = {kind: what for name, what, kind in JOB if kind and any(getattr(x, name) for x in lines)}
    parts += strip.key(kinds, ["widths: median times of a step"], tall)
    title = f"{fleet.title}: {fleet.verdict}"
    return legible(strip.frame(parts, title, tall, is_light=is_light, in_page=not head))


def headline(fleet: Fleet) -> list[str]:
    step = [(microseconds(fleet.step_us), "step (median of the ranks)")] if fleet.step_us is not None else []
    share = fleet.exposed_share
    exposed = [(percent(share), "exposed communication")] if share is not None else []
    numbers = [*step, *exposed, (counted(len(fleet.ranks), "rank"), f"{counted(len(fleet.steps), 'step')} compared")]
    return strip.headline(sentence(fleet.verdict), fleet.title, numbers)


def findings(fleet: Fleet, y: float) -> list[str]:
    first = fleet.findings[:MAX_FINDINGS]
    said = [line for item in first for line in (("cost", finding_line(item)), *(("muted", x) for x in item.evidence))]
    lines = [strip.text(24, y + at * strip.LINE, shorten(x, 100), look=look) for at, (look, x) in enumerate(said)]
    return lines[: max(0, int((strip.HEIGHT - FOOT - y) // strip.LINE) + 1)]


def row(line: RankLine, cause: str | None, y: float, height: float, scale: float) -> list[str]:
    name = f"rank {line.rank}"
    look = "cost" if cause else "muted"
    out = [
        f'<g data-rank="{line.rank}">',
        strip.text(LEFT - 10, y + height / 2 + strip.SIZE * 0.34, name, look=look, anchor="end"),
    ]
    x = float(LEFT)
    for field, what, kind in JOB:
        time = getattr(line, field)
        if not time:
            continue
        place = Extent(x, time * scale)
        note = f" ({cause})" if cause and field == "compute_us" else ""
        choices = (f"{what} {microseconds(time)}{note}", f"{what} {microseconds(time)}", microseconds(time))
        tip = f"{name}: {choices[0]}"
        if kind is None:
            out += strip.gap_of(place, y + 2, height - 6, choices, tip)
        else:
            words = next((words for words in choices if strip.fits(words, place.width)), "")
            out.append(strip.box(place, y + 2, height - 6, kind, words, tip, field))
        x = place.right
    if cause:
        out.append(strip.bar(Extent(LEFT, min(x, RIGHT) - LEFT), y, height - 2, "fx-cut"))
    return [*out, "</g>"]
