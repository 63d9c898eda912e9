"""The strip: a step as rows on one time axis, 16:9, for the page, `-o x.svg`, `-o x.png` and papers.

Rows: the step (busy and idle), modules, ops, kernels, launches, and what was not fused. Equal layers are drawn once, as
wide as all of them together, so that every row's widths sum to the device time. Every number is the report's.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import ascii_lowercase
from typing import Any
from zlib import crc32

from fxscope.analysis.findings import Comparison
from fxscope.analysis.groups import KernelGroup, time_of
from fxscope.analysis.missed import MissedRow
from fxscope.analysis.report import Report
from fxscope.data import read_text
from fxscope.errors import RenderError
from fxscope.index import Key
from fxscope.model import Kind, Recording
from fxscope.render import labels, theme
from fxscope.render.axis import LEFT, MEMORY, MODULE_ROWS, RIGHT, SPAN, Extent, Strip, possible, rivals, saving
from fxscope.render.legible import legible
from fxscope.render.report import joined
from fxscope.text import counted, kernel_name, microseconds, percent, sentence, shorten

# Colours are variables there, which a page sets.
LOOK = read_text("strip.css")
WIDTH, HEIGHT = 1280, 720
SIZE = 19.5  # of the smallest text: 9 points where the picture is 800 pixels wide
FONT = f"Liberation Sans,{theme.FONT}"  # the first is where the two others are not: on Linux
NARROW, WIDE = set(" .,:;·il|()[]'"), set("mMwW%→…")
MAX_STRIPS = 3
ROW = {"step": 38, "zoom": 20, "module": 30, "lines": 28, "ops": 38, "kernels": 60, "launches": 26}
DENSE = {"step": 30, "zoom": 12, "ops": 34, "kernels": 34, "launches": 24}  # of three recordings: no kernel names
DOT, DOTS = 7, 8  # px between two views, and above the ops
EDGE = 24  # px left and right of the picture
MAX_GROWTH = 1.5  # of the rows, where a picture has room
LINE, REASON = 26, 27  # of the list of missed fusions
PAGE_ROOM = 372  # px of the rows and their key in a page of 1280 × 800, above the first kernels of its table
LETTER, KEY_WIDTH, KEY_LINES = 18, 100, 2  # px of the narrowest op that the key names; its characters, its lines
NEAR = 44  # px between two kernels whose bracket is a V, and between two brackets of one lane
LANE = 28  # between the brackets of two missed fusions, one below the other


def render(
    recording: Recording,
    *,
    others: Sequence[Recording] = (),
    comparison: Sequence[Comparison] | None = None,
    is_light: bool = False,
    head: bool = True,
    in_page: bool = False,
) -> str:
    """The strip as SVG, others below the recording at its scale. Raises RenderError: too many recordings, nothing to draw.

    `is_light`: in light colours alone; else they follow the viewer. `head`: with the title and the figures; one recording
    without them is as high as its rows. `in_page`: without colours, which the page has, and with what a click chooses.
    """
    del comparison
    shown = (recording, *others)
    if len(shown) > MAX_STRIPS:
        raise RenderError(f"a picture holds {MAX_STRIPS} recordings, these are {len(shown)}: use -o report.html.")
    strips = [Strip(item) for item in shown]
    if not any(strip.total for strip in strips):
        raise RenderError("no kernel is recorded: write .html, or the graph as .dot.")
    title = " · ".join(strip.report.title for strip in strips)
    if len(strips) > 1:
        parts, end = beside(strips, is_dense=in_page)
        height = end + 44 if in_page else HEIGHT
    else:
        parts, end = alone(strips[0], head=head)
        height = HEIGHT if head else min(HEIGHT, end + 44)
    parts += legend(strips, height, "".join(parts))
    drawn = frame(parts, title, height, is_light=is_light, in_page=in_page)
    return drawn if in_page else re.sub(r' data-(?:ref|decision|recording)="[^"]*"', "", drawn)


def frame(parts: Sequence[str], title: str, height: float, *, is_light: bool = False, in_page: bool = False) -> str:
    """Return the drawing as one SVG of a height; a page has the colours itself."""
    body = f'<rect class="fx-paper" width="{WIDTH}" height="{height:g}"/>' + "\n".join(parts)
    left = EDGE - 1 if in_page else 0  # with the line around the last box
    look = css() + ("" if is_light else f"@media (prefers-color-scheme:dark){{{css(dark=True)}}}")
    style = "" if in_page else f"<style>{look}</style>"
    size = {"left": left, "width": WIDTH - 2 * left, "height": height, "font": FONT, "size": SIZE, "edge": theme.EDGE}
    drawn = read_text("strip.svg").format(title=escape(title), style=style, body=body, **size)
    # A page holds several: a pattern of a hidden one is not drawn.
    return drawn.replace("IDLE", f"idle-{crc32(body.encode()):x}")


def png(recording: Recording, **options: Any) -> bytes:
    """The strip as PNG, 1600 × 900, by resvg (docs/decisions/0012-png.md). Raises RenderError: no resvg, or nothing to draw."""
    return rasterised(legible(render(recording, is_light=True, **options)))


def rasterised(svg: str, width: int = 1600) -> bytes:
    try:
        import resvg_py  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        if error.name != "resvg_py":
            raise
        raise RenderError("a PNG needs resvg: pip install resvg-py, or write .svg.") from None
    fonts = [str(file) for file in sorted((Path(__file__).parents[1] / "data" / "fonts").glob("*.ttf"))]
    drawn = resvg_py.svg_to_bytes(svg_string=svg, width=width, font_files=fonts, sans_serif_family="DejaVu Sans")
    return bytes(drawn)


def css(*, dark: bool = False) -> str:
    colours = theme.colours(dark=dark)
    return re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], LOOK)


def px(value: float) -> str:
    """A length, rounded to what a picture of 1600 px shows."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


HATCHED = ' fill="url(#IDLE)"'


def text(
    x: float, y: float, words: str, *, size: float = SIZE, weight: int = 400, look: str = "", anchor: str = "start"
) -> str:
    named = f' class="{look}"' if look else ""
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    sized = f' font-size="{size:g}"' if size != SIZE else ""
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{px(x)}" y="{px(y)}"{named}{bold}{sized}{where}>{escape(words)}</text>'


def length(words: str, size: float = SIZE) -> float:
    """The width of a text in px, rather too large than too small: fonts differ."""
    return sum(0.36 if letter in NARROW else 0.97 if letter in WIDE else 0.62 for letter in words) * size


def fitted(words: str, width: float) -> str:
    """The words cut to a width, "" where fewer than seven letters would remain."""
    if fits(words, width):
        return words
    return next((short for room in range(len(words), 6, -1) if fits(short := shorten(words, room), width)), "")


def fits(words: str, width: float) -> bool:
    return length(words) <= width - 10


def line_words(lines: dict[str, str], width: float) -> str:
    """Name source lines in a width: "model.py:17  code …", "model.py:17, 18", "L17, 18"; "" where they do not fit."""
    (first, code), *others = lines.items()
    where = ", ".join([Path(first).name, *(line.rpartition(":")[2] for line, _ in others)])
    if code and not others and fits(f"{where}  {code[:16]}", width):
        return fitted(f"{where}  {code}", width)
    return next((words for words in (where, f"L{where.partition(':')[2]}") if fits(words, width)), "")


def box(place: Extent, y: float, height: float, kind: Kind, words: str, tip: str, row: str, *, ref: str = "") -> str:
    named = f' data-ref="{escape(ref)}"' if ref else ""
    title = f"<title>{escape(tip)}</title>" if tip != words else ""
    thin = f' stroke-width="{px(place.width / 3)}"' if place.width < 3 else ""
    return (
        f'<g data-row="{row}"{named}>{title}{bar(place, y, height, f"k-{kind}", thin)}'
        + (text(place.x + 6, y + height / 2 + SIZE * 0.36, words) if words else "")
        + "</g>"
    )


def bar(place: Extent, y: float, height: float, look: str, more: str = "") -> str:
    return (
        f'<rect class="{look}" x="{px(place.x)}" y="{px(y)}" width="{px(max(place.width, 0.01))}" '
        f'height="{px(height)}"{more}/>'
    )


def gap_of(place: Extent, y: float, height: float, choices: Sequence[str], tip: str) -> list[str]:
    """Idle time, hatched; on paper the first of the words that fit."""
    words = next((words for words in choices if fits(words, place.width - 12)), "")
    out = [f'<g data-row="idle"><title>{escape(tip)}</title>{bar(place, y, height, "fx-line", HATCHED)}</g>']
    return [*out, text(place.x + 12, y + height / 2 + SIZE * 0.36, words, look="idle")] if words else out


def figures(made: Report) -> list[tuple[str, str]]:
    """At most three numbers of a report: (value, what it is)."""
    row = made.step
    what = "CPU kernels while recording" if row.on_cpu else f"{row.clock}{row.each}"
    times = [(row.wall_us, f"step ({row.basis})"), (row.device_us, what)]
    out = [(labels.mark_of(row) + microseconds(time), words) for time, words in times if time is not None]
    return [*out, (f"{row.launches:,.0f}", f"launches{row.each}")] if row.launches else out


def headline(title: str, subtitle: str, numbers: Sequence[tuple[str, str]]) -> list[str]:
    title, subtitle = shorten(title, 60), shorten(subtitle, 108)
    out = [text(EDGE, 42, title, size=30, weight=700), text(EDGE, 70, subtitle, look="muted")]
    x = float(EDGE)
    for value, what in numbers:
        out += [text(x, 112, value, size=30, weight=700), text(x, 136, shorten(what, 52), look="muted")]
        x += max(250.0, length(what) + 40)
    return out


def alone(strip: Strip, *, head: bool) -> tuple[list[str], float]:
    strip.lay_out(SPAN / strip.total)
    drawn = Drawing(strip, 152.0 if head else 6.0)
    room, growth = (HEIGHT - 70 - drawn.y, MAX_GROWTH) if head else (PAGE_ROOM, 1.0)
    drawn.fill(room, MODULE_ROWS, growth, lists_cuts=head)
    drawn.rows(most=MODULE_ROWS)
    drawn.list_key()
    if not head:
        return drawn.out, drawn.y - LINE
    drawn.list_cuts(is_alone=True)
    made = strip.report
    parts = (made.device, made.torch and f"torch {made.torch}", made.contents, made.step.verdict)
    return [*headline(made.title, " · ".join(filter(None, parts)), figures(made)), *drawn.out], HEIGHT


def beside(strips: Sequence[Strip], *, is_dense: bool) -> tuple[list[str], float]:
    """Several recordings at one scale, one below the other, densely or all over the picture; and where they end."""
    scale = SPAN / max(strip.total for strip in strips)
    longest = max(strip.step_us for strip in strips)
    out: list[str] = []
    top, pitch, most = 8.0, (HEIGHT - 56) / len(strips), 1 if len(strips) == 2 else 0
    for position, strip in enumerate(strips):
        strip.lay_out(scale)
        numbers = " · ".join(f"{value} {what.partition(' (')[0]}" for value, what in figures(strip.report))
        out.append(text(EDGE, top + 26, shorten(strip.report.title, 40), size=24, weight=700))
        out.append(text(RIGHT, top + 26, shorten(numbers, 80), anchor="end"))
        drawn = Drawing(strip, top + 38, longest, marks=1)
        if len(strips) > 2:
            drawn.heights |= DENSE
        if not is_dense:
            drawn.fill(pitch - 38, most)
        drawn.rows(most=most)
        drawn.list_key()
        drawn.list_cuts()
        out += [f'<g data-recording="{position}">', *drawn.out, "</g>"]
        top = drawn.y + 10 if is_dense else top + pitch
    return out, top


class Drawing:
    def __init__(self, strip: Strip, y: float, longest: float = 0.0, *, marks: int | None = None) -> None:
        """Take the µs of the axis in the step's row, the step's own by default; and how many missed fusions are marked."""
        self.marks = strip.numbered()[:marks]
        self.brackets = lanes([strip.nearest(same[0]) for _, same in self.marks])
        self.strip = strip
        self.y = y
        self.step_scale = SPAN / (longest or strip.step_us or 1.0)
        self.heights = dict(ROW)
        self.lines = strip.lines()
        self.letters: dict[str, str] = {}  # of groups without room for a name
        self.key: list[str] = []  # lines that say what the letters are
        self.out: list[str] = []

    def fill(self, room: float, most: int, growth: float = 1.0, *, lists_cuts: bool = True) -> None:
        """Leave out the last missed fusions and name narrow ops in a key, as there is room; the rows get the rest."""
        strip, heights = self.strip, self.heights
        levels = min(most, sum(1 for level in strip.modules if level))
        rows_px = sum(heights.values()) + (levels - 1) * heights["module"]
        rows_px -= 0 if self.lines and most > 1 else heights["lines"]
        narrow = [item for item in strip.order if strip.places[item.id].width >= LETTER and not self.op_words(item)]

        def lines_left() -> int:
            return int((room - rows_px - self.cuts_px() - 2) // LINE) - len(self.marks) * lists_cuts

        least = 1 if most > 1 else 0  # of marks, and lines of the key; in a comparison, a mark needs its words
        while lists_cuts and len(self.marks) > least and (narrow or not least) and lines_left() < least:
            self.marks.pop()
            self.brackets.pop()
        longest = dict(zip(ascii_lowercase, sorted(narrow, key=strip.weight, reverse=True), strict=False))
        named = ((at, shorten(item.label, 20) + times_of(item), item) for at, item in longest.items())
        words = [f"{letter} {name} {labels.group_time(item)}" for letter, name, item in named]
        while words and len(joined(words, KEY_WIDTH, " · ", "")) > min(KEY_LINES, lines_left()):
            words.pop()
        self.key = joined(words, KEY_WIDTH, " · ", "")
        self.letters = {longest[item[0]].id: item[0] for item in words}
        room -= self.cuts_px() + len(self.marks) * (LINE + REASON) + len(self.key) * LINE
        growth = min(growth, max(1.0, room / rows_px))
        self.heights = {name: px if name == "launches" else round(px * growth) for name, px in heights.items()}

    def cuts_px(self) -> float:
        return max((44 + LANE * lane for *_, lane in self.brackets), default=0)

    def rows(self, *, most: int) -> None:
        """Draw every row, of modules the `most` outermost levels; source lines where there is room for modules."""
        heights = self.heights
        if self.strip.timed:
            self.name("step", heights["step"] - 2)
            self.step(heights["step"] - 2)
            self.y += heights["step"]
            self.zoom(heights["zoom"])
            self.y += heights["zoom"]
        for number, level in enumerate([level for level in self.strip.modules[:most] if level]):
            self.name("" if number else "modules", heights["module"])
            for block, place in level:
                time = time_of(self.strip.recording, block.everything()) or 0.0
                whole = self.strip.report.step.device_us or self.strip.total
                share = f"{microseconds(time)}, {percent(time / whole)} of the {self.strip.clock}"
                words, tip = fitted(block.words, place.width), block.words + (f": {share}" if self.strip.timed else "")
                self.out.append(box(place, self.y, heights["module"] - 2, "view", words, tip, "module"))
            self.y += heights["module"]
        if self.lines and most > 1:
            self.name("lines", heights["lines"])
            for lines, place in self.lines:
                words = line_words(lines, place.width)
                tip, (first, *_) = "\n".join(f"{where}  {code}" for where, code in lines.items()), lines
                self.out.append(
                    box(place, self.y, heights["lines"] - 2, "view", words, tip, "line", ref=f"line:{first}")
                )
            self.y += heights["lines"]
        for name, draw in (("ops", self.ops), ("kernels", self.kernels), ("launches", self.launches)):
            self.name(name, heights[name])
            draw(heights[name])
            self.y += heights[name]
        if self.strip.cuts:
            self.cuts()

    def name(self, words: str, height: float) -> None:
        if words:
            self.out.append(text(EDGE, self.y + height / 2 + SIZE * 0.34, words, look="muted"))

    def step(self, height: float) -> None:
        """The time in which kernels run and the rest of the step, to scale; one box where the rest is not known."""
        row, y, whole_us, scale = self.strip.report.step, self.y, self.strip.step_us, self.step_scale
        if not row.parts_us:
            what = "CPU kernels while recording" if row.on_cpu else "device time"
            words = f"{labels.mark_of(row)}{microseconds(row.device_us)} of {what}"
            place = Extent(LEFT, whole_us * scale)
            self.out.append(box(place, y, height, "host", fitted(words, place.width), words, "step"))
            return
        names = ("kernels", "rest") if row.on_cpu else ("busy", "idle")
        times = [
            f"{name} {labels.mark_of(row)}{microseconds(us)}" for name, us in zip(names, row.parts_us, strict=True)
        ]
        first, rest = (f"{time} ({percent(us / whole_us)})" for time, us in zip(times, row.parts_us, strict=True))
        words = ", ".join([first, *(["while recording"] if row.on_cpu else []), *row.busy_notes])
        place = Extent(LEFT, row.parts_us[0] * scale)
        gap = Extent(place.right, row.parts_us[1] * scale)
        inside = fits(words, place.width)
        self.out.append(box(place, y, height, "host", words if inside else "", words, "step"))
        choices = (rest, times[1], microseconds(row.parts_us[1])) if inside else (f"{words}, {rest}",)
        self.out += gap_of(gap, y, height, choices, rest)
        if not inside and not fits(choices[0], gap.width - 12) and fits(choices[0], RIGHT - gap.right):
            self.out.append(text(gap.right + 8, y + height / 2 + SIZE * 0.36, choices[0], look="muted"))

    def zoom(self, height: float) -> None:
        """Draw what joins the part of the step in which kernels run with the rows below it."""
        strip, parts = self.strip, self.strip.report.step.parts_us
        end = max((place.right for place in strip.places.values()), default=float(RIGHT))
        busy = LEFT + (parts[0] if parts else strip.step_us) * strip.share_drawn * self.step_scale
        y, foot = self.y, self.y + height - 2
        self.out.append(
            f'<path class="fx-zoom" d="M{LEFT} {y}L{min(busy, RIGHT):.1f} {y}L{end:.1f} {foot}L{LEFT} {foot}Z"/>'
        )

    def ops(self, height: float) -> None:
        """The ops of each group, and above them as dots the views between them, which launch nothing."""
        self.views()
        for group in self.strip.order:
            place = self.strip.places[group.id]
            tip = f"{' · '.join(group.ops) or group.label}{times_of(group)}\n{labels.in_step(group)}"
            kind, words = self.strip.kind_of(group), self.op_words(group)
            self.out.append(box(place, self.y + DOTS, height - DOTS - 2, kind, words, tip, "op", ref=ref_of(group)))
            if letter := self.letters.get(group.id):
                self.out.append(text(place.middle, self.y + (height + DOTS) / 2 + SIZE * 0.3, letter, anchor="middle"))

    def op_words(self, group: KernelGroup) -> str:
        label, width = group.label, self.strip.places[group.id].width
        return fitted(label + times_of(group) if fits(label + times_of(group), width) else label, width)

    def views(self) -> None:
        """Draw the views before each kernel as dots; kernels that are narrower than a dot share one."""
        found: list[tuple[float, int, list[tuple[str, Key]]]] = []
        end = float(LEFT)
        for group in self.strip.order:
            place, views = self.strip.places[group.id], self.strip.views.get(group.id, [])
            start = max(place.x, end)
            room = int((place.right - start) / DOT)
            if views and room < 1 and place.x < end:
                found[-1][2].extend(views)
            elif views:
                found.append((start, max(1, min(len(dict(views)), room)), [*views]))
                end = start + DOT * found[-1][1]
        for x, shown, views in found:
            names = Counter(name for name, _ in views)
            said = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in names.items())
            dots = "".join(f"M{px(x + DOT / 2 + DOT * k)} {px(self.y + 3)}h0" for k in range(shown))
            ref = escape("node:" + "/".join(views[0][1]))
            area = bar(Extent(x, DOT * shown), self.y - 1, DOTS, "fx-area")  # clicks between two dots
            drawn = f'<title>views, 0 µs: {escape(said)}</title>{area}<path class="fx-view" d="{dots}"/>'
            self.out.append(f'<g data-row="view" data-ref="{ref}">{drawn}</g>')

    def kernels(self, height: float) -> None:
        for group in self.strip.order:
            place = self.strip.places[group.id]
            own = [name for name in group.kernels if not name.startswith(MEMORY)] or group.kernels
            names = list(dict.fromkeys(kernel_name(name, 60) for name in own))
            time = labels.group_time(group)
            tip = f"{', '.join(names) or group.label}\n{labels.in_step(group)}"
            kind = self.strip.kind_of(group)
            self.out.append(box(place, self.y, height - 4, kind, "", tip, "kernel", ref=ref_of(group)))
            whole = "".join(names[:1]) + (f" +{len(names) - 1}" if len(names) > 1 else "")  # kernels of other names
            name = fitted(whole, place.width)
            words = [time if fits(time, place.width) else "", name if name == whole or len(name) > 9 else ""]
            words = words if height >= ROW["kernels"] or not words[0] else words[:1]
            for number, line in enumerate(line for line in words if line):
                down = 0.2 + 0.5 * number if len(words) > 1 and all(words) else 0.42
                self.out.append(text(place.x + 6, self.y + (height - 4) * down + SIZE * 0.5, line))

    def launches(self, height: float) -> None:
        """The launches of each group: one cell per launch, their number where the cells are too narrow."""
        for group in self.strip.order:
            place, number, kind = self.strip.places[group.id], max(1, round(group.launches)), self.strip.kind_of(group)
            self.out.append(bar(place, self.y, 6, f"l-{kind}", ' data-row="launch"'))
            if place.width / number >= 6 and number > 1:
                ticks = "".join(f"M{place.x + k * place.width / number:.1f} {self.y}v6" for k in range(1, number))
                self.out.append(f'<path class="fx-line" d="{ticks}"/>')
            if fits(str(number), place.width + 6):
                self.out.append(text(place.middle, self.y + 23, str(number), look="muted", anchor="middle"))

    def cuts(self) -> None:
        """A red mark on each boundary that was not fused; a numbered bracket from producer to consumer for the first ones."""
        strip, height = self.strip, self.heights["kernels"]
        top = self.y - self.heights["launches"] - height
        for cut in strip.cuts:
            ends = [(strip.places[a], strip.places[b]) for a, b in cut.ends]
            at = {px(a.right if abs(a.right - b.x) < 0.5 else b.x): None for a, b in ends}
            tip = escape(f"not fused: {cut.row.producer} → {cut.row.consumer}")
            lines = "".join(f"M{x} {px(top - 2)}v{height}" for x in at)
            self.out.append(f'<path class="fx-cut" d="{lines}" stroke-dasharray="5 3"><title>{tip}</title></path>')
        if not self.marks:
            return
        self.y = y = self.y + 6  # below the numbers of launches
        self.name("not fused", 34)
        feet = [y + 24 + LANE * lane for *_, lane in self.brackets]
        circles, marks = list[tuple[float, float]](), list[str]()
        for (number, _), (left, right, decision, _), foot in zip(self.marks, self.brackets, feet, strict=True):
            others = [x for ends, end in zip(self.brackets, feet, strict=True) if end > foot for x in ends[:2]]
            others += [x + side for x, at in circles if abs(at - foot) < 26 for side in (-10, 10)]
            middle = (left + right) / 2
            spots = sorted(range(int(left) - 44, int(right) + 45, 2), key=lambda x: abs(x - middle))
            free = (x for x in spots if LEFT <= x <= RIGHT - 12 and all(abs(x - other) > 18 for other in others))
            x = next(free, min(middle, RIGHT - 12))
            circles.append((x, foot))
            way = f"V{foot:.1f}H{right:.1f}V{y:.1f}M{min(left, x):.1f} {foot:.1f}H{max(right, x):.1f}"
            if right - left < NEAR:
                way = f"L{x:.1f} {foot - 12:.1f}L{right:.1f} {y:.1f}"
            self.out.append(f'<path class="fx-cut" d="M{left:.1f} {y:.1f}{way}"/>')
            digit = text(x, foot + 7, str(number), weight=700, look="on", anchor="middle")
            circle = f'<circle class="fx-mark" cx="{x:.1f}" cy="{foot:.1f}" r="12"/>'
            marks.append(f'<g data-decision="{decision}">{circle}{digit}</g>')
        self.out += marks  # above the lines of all
        self.y = max(feet) + 14

    def list_key(self) -> None:
        self.y += 24
        for words in self.key:
            self.out.append(text(EDGE, self.y, words))
            self.y += LINE

    def list_cuts(self, *, is_alone: bool = False) -> None:
        """The numbered missed fusions in words: pair and saving of all; in a picture of one, reasons as there is room."""
        made, said = self.strip.report, ""
        room = HEIGHT - 36 - self.y - LINE * len(self.marks) if is_alone else 0.0
        for number, same in self.marks:
            row = same[0].row
            most = max(28, 57 - min(len(row.producer), len(row.consumer)))  # of each side: the arrow stays
            pair = f"{shorten(row.producer, most)} → {shorten(row.consumer, most)}"
            words = f"{number} {pair}{times_of(row)}{rivals(made, row)}: {saving(made, row)} per step"
            self.out.append(text(EDGE, self.y, words, weight=700, look="cost"))
            self.y += LINE
            if room >= REASON and row.reason != said:
                said = row.reason
                self.out.append(text(48, self.y, shorten(sentence(said), 106), look="muted"))
                self.y += REASON
                room -= REASON
        if is_alone and not self.strip.cuts and (missed := possible(made)):
            words = f"{counted(len(missed), 'missed fusion')} of ops whose kernels are not in this step."
            self.out.append(text(EDGE, self.y, words, look="muted"))
            self.y += LINE


def lanes(pairs: Sequence[tuple[Extent, Extent, int]]) -> list[tuple[float, float, int, int]]:
    """Return left, right, decision and lane of each pair's bracket; those that are too near are in two lanes."""
    found: list[tuple[float, float, int, int]] = []
    for a, b, decision in pairs:
        left, right = sorted((a.middle, b.middle))
        near = {lane for x, z, _, lane in found if x < right + NEAR and left - NEAR < z}
        found.append((left, right, decision, next(lane for lane in range(9) if lane not in near)))
    return found


def times_of(item: KernelGroup | MissedRow) -> str:
    return f" ×{item.count}" if item.count > 1 else ""


def ref_of(group: KernelGroup) -> str:
    """Return what the page selects when the group is clicked."""
    if group.calls:
        return f"call:{group.calls[0]}"
    if group.nodes:
        return "node:" + "/".join(group.nodes[0])
    return f"kernel:{group.kernels[0]}" if group.kernels else ""


def legend(strips: Sequence[Strip], height: float, drawn: str) -> list[str]:
    kinds = {strip.kind_of(group) for strip in strips for group in strip.report.groups}
    first, timed = strips[0], all(strip.timed for strip in strips)
    part = f", medians that sum to {microseconds(first.total)}" if first.share_drawn < 1 and len(strips) == 1 else ""
    clocks = " and ".join(dict.fromkeys(strip.clock for strip in strips))
    scale = (f"widths: {clocks}{part}", "equal layers once (×N)") if timed else ("not to scale: one width per call",)
    used = {kind: words for kind, words in theme.STRIP.items() if kind in kinds}
    signs = {"fx-view": "• view, 0 µs", "stroke-dasharray": "¦ not fused"}
    return key(used | {look: words for look, words in signs.items() if look in drawn}, scale, height)


def key(names: Mapping[str, str], scale: Sequence[str], height: float) -> list[str]:
    """The colours and what they say, and what the widths say, at the foot of a picture: all of it, or the first part."""
    x, y = float(EDGE), height - 16
    out: list[str] = []
    for kind, words in names.items():
        if words[0] not in "•¦":  # which are their own pictures
            out.append(bar(Extent(x, 17), y - 15, 17, f"k-{kind}"))
            x += 24
        out.append(text(x, y, words, look="muted"))
        x += 26 + length(words)
    whole = "; ".join(scale)
    return [*out, text(RIGHT, y, whole if x + length(whole) < RIGHT else scale[0], look="muted", anchor="end")]
