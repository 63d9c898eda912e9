"""The strip: a step as rows on one time axis, 16:9, for the page, `-o x.svg`, `-o x.png` and papers.

Rows: the step (busy and idle), modules, ops, kernels, launches, and what was not fused. Equal layers are drawn once, as
wide as all of them together, so that every row's widths sum to the device time. Every number is the report's.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from fxscope.analysis.groups import numberless, span
from fxscope.analysis.report import report
from fxscope.errors import RenderError
from fxscope.index import index_of
from fxscope.op_names import is_generated
from fxscope.render import labels, theme
from fxscope.text import counted, kernel_name, microseconds, num_bytes, percent, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fxscope.analysis.findings import Comparison
    from fxscope.analysis.groups import KernelGroup
    from fxscope.analysis.report import MissedRow, Report
    from fxscope.model import Recording

WIDTH, HEIGHT, LEFT, RIGHT = 1280, 720, 124, 1256
SPAN = RIGHT - LEFT
SIZE = 19.5  # of the smallest text: 9 points where the picture is 800 pixels wide
FONT = f"Liberation Sans,{theme.FONT}"  # the first is where the two others are not: on Linux
MEMORY = ("Memset", "Memcpy", "memset", "memcpy")
NARROW, WIDE = set(" .,:;·il|()[]'"), set("mMwW%→…")
MAX_STRIPS = 3
MAX_FIGURES = 3
COLUMNS = (24, 640, 960)  # of the figures
MAX_MARKS = 4  # missed fusions with a number
MODULE_ROWS = 3
ROW = {"step": 38, "zoom": 20, "module": 30, "ops": 34, "kernels": 44, "launches": 26}
MAX_GROWTH = 1.5  # of the rows, where a picture has room
LINE, REASON = 26, 27  # of the list of missed fusions


class Extent(NamedTuple):
    """Where something lies on the axis, in px."""

    x: float
    width: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class ModuleBlock:
    """A phase or a module, with the groups of kernels that ran in it; equal ones are one block."""

    def __init__(self, title: str = "") -> None:
        self.title = title
        self.numbers: set[int] = set()
        self.groups: list[KernelGroup] = []
        self.children: dict[str, ModuleBlock] = {}

    @property
    def order(self) -> int:
        return min([group.order for group in self.groups] + [child.order for child in self.children.values()])

    @property
    def words(self) -> str:
        """ "layers.[0..11] ×12"."""
        if not self.numbers:
            return self.title
        times = f" ×{len(self.numbers)}" if len(self.numbers) > 1 else ""
        return self.title.replace("#", span(sorted(self.numbers))) + times

    def parts(self) -> list[ModuleBlock | KernelGroup]:
        """What is directly in it, in the order of the step."""
        return sorted([*self.groups, *self.children.values()], key=lambda part: part.order)


def path_of(group: KernelGroup) -> list[str]:
    """The phase and the modules of a group, numbers as "#": ["forward", "layers.#", "fc1"]."""
    paths = [numberless(module).split(".") for module in group.modules]
    common: list[str] = []
    for column in zip(*paths, strict=False):
        if len(set(column)) > 1:
            break
        if column[0] == "#" and common:
            common[-1] += ".#"
        else:
            common.append(column[0])
    return [group.phase, *common] if group.phase else common


def tree_of(groups: Sequence[KernelGroup]) -> ModuleBlock:
    """The groups by phase and module."""
    root = ModuleBlock()
    for group in groups:
        here = root
        for part in path_of(group):
            here = here.children.setdefault(part, ModuleBlock(part))
            here.numbers |= numbers_of(group, part)
        here.groups.append(group)
    return joined(root)


def numbers_of(group: KernelGroup, part: str) -> set[int]:
    """The numbers that stand for the "#" of a part in the group's modules."""
    if "#" not in part:
        return set()
    found: set[int] = set()
    depth = len(part.split("."))
    for module in group.modules:
        names = module.split(".")
        for place in range(len(names) - depth + 1):
            name = ".".join(names[place : place + depth])
            if numberless(name) == part:
                digits = name.rpartition(".")[2].rpartition("_")[2]
                found |= {int(digits)} if digits.isdigit() else set()
    return found


def joined(block: ModuleBlock) -> ModuleBlock:
    """A block with one inner block and nothing else as one: "model.layers.[0..11]"."""
    block.children = {name: joined(child) for name, child in block.children.items()}
    if block.title and not block.groups and len(block.children) == 1 and not block.numbers:
        inner = next(iter(block.children.values()))
        inner.title = f"{block.title}.{inner.title}"
        return inner
    return block


class Cut(NamedTuple):
    """A missed fusion on the strip: its pairs of groups, and what it costs."""

    row: MissedRow
    ends: tuple[tuple[str, str], ...]  # ids of groups


class Strip:
    """The layout of one recording: what lies where."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.report: Report = report(recording)
        self.timed = any(group.time_us for group in self.report.groups)
        self.rest = self.unexplained()
        self.total = sum(map(self.weight, self.report.groups)) + self.rest
        self.tree = tree_of(self.report.groups)
        self.places: dict[str, Extent] = {}
        self.rest_place: Extent | None = None
        self.modules: list[list[tuple[ModuleBlock, Extent]]] = [[] for _ in range(MODULE_ROWS)]
        self.order: list[KernelGroup] = []
        self.heights = dict(ROW)

    def grow(self, room: float) -> None:
        """Stretch the rows to what is left of `room` px."""
        named = numbered(self.cuts())
        fixed = len(named) * (LINE + REASON) + (82 if named else 0)
        levels = sum(1 for level in self.modules if level)
        rows_px = sum(ROW.values()) + (levels - 1) * ROW["module"]
        growth = min(MAX_GROWTH, max(1.0, (room - fixed) / rows_px))
        self.heights = {name: px if name == "launches" else round(px * growth) for name, px in ROW.items()}

    def weight(self, group: KernelGroup) -> float:
        """A group's µs; its number of calls where no time is known."""
        return (group.time_us or 0.0) if self.timed else float(group.count)

    def unexplained(self) -> float:
        """Device time that is in no group's median: the steps differ. 0 up to 2 %."""
        groups = sum(group.time_us or 0.0 for group in self.report.groups)
        left = (self.report.step.device_us or 0.0) - groups
        return left if self.timed and left > 0.02 * groups else 0.0

    def lay_out(self, scale: float) -> None:
        """Extent every block and group, `scale` px per µs."""
        x = self._place(self.tree, float(LEFT), -1, scale)
        self.rest_place = Extent(x, self.rest * scale) if self.rest else None

    def _place(self, block: ModuleBlock, x: float, depth: int, scale: float) -> float:
        start = x
        for part in block.parts():
            if isinstance(part, ModuleBlock):
                x = self._place(part, x, depth + 1, scale)
            else:
                width = self.weight(part) * scale
                self.places[part.id] = Extent(x, width)
                self.order.append(part)
                x += width
        if 0 <= depth < MODULE_ROWS:
            self.modules[depth].append((block, Extent(start, x - start)))
        return x

    def cuts(self) -> list[Cut]:
        """The missed fusions whose two sides are on the strip, the report's order."""
        by_call = {call: group.id for group in self.report.groups for call in group.calls}
        by_node = {node: group.id for group in self.report.groups for node in group.nodes}
        found: list[Cut] = []
        for row in self.report.missed:
            pairs: dict[tuple[str, str], None] = {}
            for position in row.decisions:
                sides = [
                    by_call.get(end.call or "")
                    or next((by_node[end.graph, name] for name in end.nodes if (end.graph, name) in by_node), None)
                    for end in self.recording.decisions[position].ends
                ]
                if sides[0] is not None and sides[1] is not None:
                    pairs[sides[0], sides[1]] = None
            if pairs:
                found.append(Cut(row, tuple(pairs)))
        return found

    def views(self) -> dict[str, int]:
        """Group → views of one of its places: the ops without a kernel that its nodes read."""
        home = {node: group for group in self.report.groups for node in group.nodes}
        nodes = index_of(self.recording).by_key
        users = index_of(self.recording).users
        found: Counter[str] = Counter()
        for key, node in nodes.items():
            if node.kind == "view":
                group = next(
                    (home[key[0], user.name] for user in users.get(key, ()) if (key[0], user.name) in home), None
                )
                if group is not None:
                    found[group.id] += 1
        return {group.id: round(found[group.id] / group.count) for group in self.report.groups if found[group.id]}


def render(
    recording: Recording,
    *,
    others: Sequence[Recording] = (),
    comparison: Sequence[Comparison] | None = None,
    dark: bool | None = None,
    head: bool = True,
) -> str:
    """The strip as SVG.

    Args:
        recording: drawn first.
        others: drawn below it, at its scale.
        comparison: accepted as the page takes it; every number is in the reports.
        dark: the colours; `None` follows the viewer.
        head: with the title and the figures; one recording without them is as high as its rows.

    Raises:
        RenderError: too many recordings, or nothing to draw.
    """
    del comparison
    shown = labels.told_apart((recording, *others))
    if len(shown) > MAX_STRIPS:
        raise RenderError(f"a picture holds {MAX_STRIPS} recordings, these are {len(shown)}: use -o report.html.")
    strips = [Strip(item) for item in shown]
    if not any(strip.total for strip in strips):
        raise RenderError("no kernel is recorded: write .html, or the graph with --format graph.")
    title = " · ".join(strip.report.title for strip in strips)
    height: float = HEIGHT
    if len(strips) > 1:
        parts = beside(strips)
    else:
        parts, end = alone(strips[0], head=head)
        height = HEIGHT if head else min(HEIGHT, end + 44)
    parts += legend(strips, height)
    body = f'<rect class="fx-paper" width="{WIDTH}" height="{height:g}" fill="{theme.PAPER}"/>' + "\n".join(parts)
    style = "" if dark is False else css() if dark else f"@media (prefers-color-scheme:dark){{{css()}}}"
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" '
        f'font-family="{FONT}" font-size="{SIZE}" role="img" aria-label="{escape(title)}" class="fx-strip">\n'
        f"{HATCH}{f'<style>{style}</style>' if style else ''}\n{body}\n</svg>\n"
    )
    # A page holds several: a pattern of a hidden one is not drawn.
    return drawn.replace("IDLE", f"idle-{crc32(body.encode()):x}")


def picture(recording: Recording, *, stage: str | None = None, **options: Any) -> str:
    """The strip; of a stage, and where no kernel is recorded, the drawing of the graph.

    Raises:
        RenderError: nothing to draw, or no layout engine is here for a graph.
    """
    if stage is not None or not (options.get("others") or report(recording).groups):
        from fxscope.render import svg

        return svg.render(recording, stage=stage)
    return render(recording, **options)


def png(recording: Recording, *, dark: bool = False, **options: Any) -> bytes:
    """The strip as PNG, 1600 × 900, rasterised by resvg (docs/decisions/0012-png.md).

    Raises:
        RenderError: resvg is not installed, or there is nothing to draw.
    """
    return rasterised(render(recording, dark=dark, **options))


def rasterised(svg: str, width: int = 1600) -> bytes:
    """SVG → PNG."""
    try:
        import resvg_py  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise RenderError("a PNG needs resvg: pip install resvg-py, or write .svg.") from None
    fonts = [str(file) for file in sorted((Path(__file__).parents[1] / "data" / "fonts").glob("*.ttf"))]
    drawn = resvg_py.svg_to_bytes(svg_string=svg, width=width, font_files=fonts, sans_serif_family="DejaVu Sans")
    return bytes(drawn)


def css(root: str = "") -> str:
    """The dark colours: the attributes of the elements are the light ones. `root` ends with a space."""
    rules = [
        f"{root}.fx-paper{{fill:{theme.PAPER_DARK}}}",
        f"{root}.fx-strip text{{fill:{theme.TEXT_DARK}}}",
        f"{root}.fx-strip text.muted{{fill:{theme.MUTED_DARK}}}",
        f"{root}.fx-strip text.cost{{fill:{theme.COST_DARK}}}",
        f"{root}.fx-strip .fx-cut{{stroke:{theme.COST_DARK}}}",
        f"{root}.fx-strip .fx-mark{{fill:{theme.COST_DARK}}}",
        f"{root}.fx-strip text.on{{fill:{theme.PAPER_DARK}}}",
        f"{root}.fx-strip .fx-line{{stroke:{theme.EDGE_DARK}}}",
        f"{root}.fx-strip .fx-zoom{{fill:{theme.KINDS['input'].dark_fill}}}",
    ]
    for kind in ("fused", "kernel", "input", "host", "view"):
        style = theme.KINDS[kind]
        rules.append(f"{root}.fx-strip .k-{kind}{{fill:{style.dark_fill};stroke:{style.dark_stroke}}}")
    return "".join(rules)


HATCH = (
    '<defs><pattern id="IDLE" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<rect width="2" height="8" fill="{theme.EDGE}"/></pattern></defs>'
)


def text(
    x: float, y: float, words: str, *, size: float = SIZE, weight: int = 400, look: str = "", anchor: str = "start"
) -> str:
    fill = {"muted": theme.MUTED, "cost": theme.COST, "on": theme.PAPER}.get(look, theme.TEXT)
    named = f' class="{look}"' if look else ""
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    sized = f' font-size="{size:g}"' if size != SIZE else ""
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{named}{bold}{sized}{where}>{escape(words)}</text>'


def length(words: str, size: float = SIZE) -> float:
    """The width of a text in px, rather too large than too small: fonts differ."""
    return sum(0.36 if letter in NARROW else 0.97 if letter in WIDE else 0.62 for letter in words) * size


def fitted(words: str, width: float) -> str:
    """The words cut to a width, "" where fewer than five letters would remain."""
    if length(words) <= width - 10:
        return words
    room = next((count for count in range(len(words), 4, -1) if length(shorten(words, count)) <= width - 10), 0)
    return shorten(words, room) if room else ""


def fits(words: str, width: float) -> bool:
    return length(words) <= width - 10


def box(
    place: Extent,
    y: float,
    height: float,
    kind: str,
    words: str,
    tip: str,
    *,
    ref: str = "",
    row: str = "",
    shortens: bool = True,
) -> str:
    """A box with its words, if they fit, and its tooltip."""
    style = theme.KINDS[kind]  # type: ignore[index]
    label = fitted(words, place.width) if shortens else words if fits(words, place.width) else ""
    named = f' data-ref="{escape(ref)}"' if ref else ""
    return (
        f'<g data-row="{row}"{named}><title>{escape(tip)}</title><rect class="k-{kind}" x="{place.x:.2f}" y="{y:.1f}" '
        f'width="{max(place.width, 0.01):.3f}" height="{height:.1f}" fill="{style.fill}" stroke="{style.stroke}" '
        f'stroke-width="{min(1.0, place.width / 3):.2f}"/>'
        + (text(place.x + 6, y + height / 2 + SIZE * 0.36, label) if label else "")
        + "</g>"
    )


def figures(made: Report) -> list[tuple[str, str]]:
    """At most three numbers of a report: (value, what it is)."""
    row = made.step
    out: list[tuple[str, str]] = []
    about = "~" if row.predicted else ""
    if row.wall_us is not None:
        out.append((about + microseconds(row.wall_us), f"step ({row.basis})"))
    if row.device_us is not None:
        what = "CPU kernels" if row.on_cpu else "device time per step"
        out.append((about + microseconds(row.device_us), what))
    if row.launches:
        out.append((f"{row.launches:,.0f}", "launches per step"))
    return out[:MAX_FIGURES]


def subtitle(made: Report) -> str:
    return " · ".join(part for part in (made.device, made.torch and f"torch {made.torch}", made.contents) if part)


def alone(strip: Strip, *, head: bool) -> tuple[list[str], float]:
    """One recording on the whole picture, and where it ends."""
    strip.lay_out(SPAN / strip.total)
    top = 152.0 if head else 6.0
    if head:
        strip.grow(HEIGHT - 52 - top)
    drawn, y = rows(strip, top, most=MODULE_ROWS, step_scale=None)
    cuts = strip.cuts()
    marks, y = cut_row(strip, cuts, y)
    if not head:
        return [*drawn, *marks], y
    return [*headline(strip.report), *drawn, *marks, *cut_list(strip, cuts, y + 30)], HEIGHT


def headline(made: Report) -> list[str]:
    """The title and at most three figures."""
    out = [
        text(24, 42, shorten(made.title, 60), size=30, weight=700),
        text(24, 70, shorten(subtitle(made), 108), look="muted"),
    ]
    for x, (value, what) in zip(COLUMNS, figures(made), strict=False):
        out += [text(x, 112, value, size=30, weight=700), text(x, 136, shorten(what, 52), look="muted")]
    return out


def beside(strips: Sequence[Strip]) -> list[str]:
    """Several recordings, one below the other, at one scale."""
    scale = SPAN / max(strip.total for strip in strips)
    walls = [strip.report.step.wall_us or strip.report.step.device_us or 0.0 for strip in strips]
    out: list[str] = []
    top, pitch = 8.0, (HEIGHT - 56) / len(strips)
    for strip in strips:
        strip.lay_out(scale)
        numbers = " · ".join(f"{value} {what.partition(' (')[0]}" for value, what in figures(strip.report))
        out.append(text(24, top + 26, shorten(strip.report.title, 40), size=24, weight=700))
        out.append(text(RIGHT, top + 26, shorten(numbers, 80), anchor="end"))
        most = 1 if len(strips) == 2 else 0
        drawn, y = rows(strip, top + 38, most=most, step_scale=SPAN / max(walls) if max(walls) else None)
        cuts = strip.cuts()
        marks, y = cut_row(strip, cuts, y)
        out += [*drawn, *marks]
        out += cut_list(strip, cuts[:1], y + 22) if y + 34 < top + pitch else []
        top += pitch
    return out


def rows(strip: Strip, y: float, *, most: int, step_scale: float | None) -> tuple[list[str], float]:
    """The rows of a strip from `y` on, and where they end."""
    out = step_row(strip, y, step_scale)
    placed = [*strip.places.values(), *([strip.rest_place] if strip.rest_place else [])]
    end = max((place.right for place in placed), default=float(RIGHT))
    row = strip.report.step
    wall = row.wall_us if row.wall_us and strip.timed else None
    y += strip.heights["step"]
    if wall:
        foot = y + strip.heights["zoom"] - 2
        busy = LEFT + (row.busy_us or row.device_us or 0.0) * (step_scale or SPAN / wall)
        out.append(
            f'<path class="fx-zoom" d="M{LEFT} {y}L{min(busy, RIGHT):.1f} {y}L{end:.1f} {foot}L{LEFT} {foot}Z" '
            f'fill="{theme.KINDS["input"].fill}"/>'
        )
    y += strip.heights["zoom"]
    for level in strip.modules[:most]:
        if not level:
            continue
        out.append(name_of_row("modules" if level is strip.modules[0] else "", y, strip.heights["module"]))
        for block, place in level:
            out.append(
                box(
                    place,
                    y,
                    strip.heights["module"] - 2,
                    "view",
                    block.words,
                    tip_of(strip, block, place),
                    row="module",
                )
            )
        y += strip.heights["module"]
    out += [name_of_row("ops", y, strip.heights["ops"]), *ops_row(strip, y)]
    y += strip.heights["ops"]
    out += [name_of_row("kernels", y, strip.heights["kernels"]), *kernel_row(strip, y)]
    if strip.rest_place is not None:
        words = f"steps differ: {microseconds(strip.rest)} in no kernel's median"
        out.append(box(strip.rest_place, y, strip.heights["kernels"] - 4, "view", words, words, row="rest"))
        y_ops = y - strip.heights["ops"]
        out.append(box(strip.rest_place, y_ops + 4, strip.heights["ops"] - 6, "view", "", words, row="rest"))
    y += strip.heights["kernels"]
    out += [name_of_row("launches", y, strip.heights["launches"]), *launch_row(strip, y)]
    return out, y + strip.heights["launches"]


def name_of_row(name: str, y: float, height: float) -> str:
    return text(LEFT - 10, y + height / 2 + SIZE * 0.34, name, look="muted", anchor="end") if name else ""


def tip_of(strip: Strip, block: ModuleBlock, place: Extent) -> str:
    inside = [group for group in strip.order if place.x <= strip.places[group.id].middle <= place.right]
    total = sum(map(strip.weight, inside))
    time = f": {microseconds(total)}, {percent(total / strip.total)} of the device time" if strip.timed else ""
    return block.words + time


def step_row(strip: Strip, y: float, scale: float | None) -> list[str]:
    """Busy and idle of the step, to scale; the device time alone where no wall time is known."""
    row = strip.report.step
    height = strip.heights["step"] - 2
    out = [name_of_row("step", y, height)]
    wall = row.wall_us if strip.timed else None
    busy = row.busy_us if row.busy_us is not None else row.device_us
    about = "~" if row.predicted else ""
    if wall is None or busy is None:
        known = (
            f"{about}{microseconds(row.device_us)} of device time" if strip.timed else "not to scale: no time is known"
        )
        width = strip.total * (SPAN / strip.total if scale is None else scale)
        return [*out, box(Extent(LEFT, min(width, SPAN)), y, height, "host", known, known, row="step")]
    scale = SPAN / wall if scale is None else scale
    busy = min(busy, wall)
    what = "CPU kernels" if row.on_cpu else "busy"
    words = f"{what} {about}{microseconds(busy)} ({percent(busy / wall)})"
    rest = "between kernels" if row.on_cpu else "idle"
    idle = f"{rest} {about}{microseconds(wall - busy)} ({percent(1 - busy / wall)})"
    place, gap = Extent(LEFT, busy * scale), Extent(LEFT + busy * scale, (wall - busy) * scale)
    out.append(box(place, y, height, "host", words, words, row="step", shortens=False))
    out.append(
        f'<g data-row="idle"><title>{escape(idle)}</title><rect class="fx-line" x="{gap.x:.2f}" y="{y:.1f}" '
        f'width="{max(gap.width, 0):.3f}" height="{height}" fill="url(#IDLE)" stroke="{theme.EDGE}"/></g>'
    )
    inside = idle if fits(words, place.width) else f"{words}, {idle}"
    if fits(inside, gap.width - 12):
        out.append(
            f'<rect class="fx-paper" x="{gap.x + 4:.1f}" y="{y + 5:.1f}" width="{length(inside) + 10:.1f}" '
            f'height="{height - 10}" fill="{theme.PAPER}"/>'
        )
        out.append(text(gap.x + 9, y + height / 2 + SIZE * 0.36, inside))
    return out


def ops_row(strip: Strip, y: float) -> list[str]:
    """The ops of each group, and a dot for each view."""
    views = strip.views()
    out: list[str] = []
    for group in strip.order:
        place = strip.places[group.id]
        times = f" ×{group.count}" if group.count > 1 else ""
        tip = f"{' · '.join(group.ops) or group.label}{times}"
        words = group.label + times if fits(group.label + times, place.width) else group.label
        out.append(
            box(place, y + 4, strip.heights["ops"] - 6, kind_of(strip, group), words, tip, ref=ref_of(group), row="op")
        )
        number = views.get(group.id, 0)
        dots = min(number, max(1, int(place.width / 6))) if number else 0
        style = theme.KINDS["view"]
        out += [
            f'<circle cx="{place.x + 3 + 6 * k:.1f}" cy="{y + 1.5:.1f}" r="1.8" fill="{style.stroke}">'
            f"<title>{counted(number, 'view')}: 0 µs</title></circle>"
            for k in range(dots)
        ]
    return out


def kind_of(strip: Strip, group: KernelGroup) -> str:
    """Fused (Inductor wrote it), a library's kernel, or a memset or copy."""
    names = group.kernels
    if names and all(name.startswith(MEMORY) for name in names):
        return "input"
    calls = index_of(strip.recording).calls
    if any(calls[call].is_generated for call in group.calls if call in calls):
        return "fused"
    return "fused" if not group.calls and names and all(map(is_generated, names)) else "kernel"


def ref_of(group: KernelGroup) -> str:
    """What the page selects when the group is clicked."""
    if group.calls:
        return f"call:{group.calls[0]}"
    if group.nodes:
        return "node:" + "/".join(group.nodes[0])
    return f"kernel:{group.kernels[0]}" if group.kernels else ""


def kernel_row(strip: Strip, y: float) -> list[str]:
    """The kernels of each group with their time, all of its launches together."""
    out: list[str] = []
    for group in strip.order:
        place = strip.places[group.id]
        own = [name for name in group.kernels if not name.startswith(MEMORY)] or group.kernels
        names = list(dict.fromkeys(kernel_name(name, 60) for name in own))
        time = f"{'~' if group.predicted else ''}{microseconds(group.time_us)}" if group.time_us is not None else ""
        share = f", {percent(group.share)}" if group.share is not None else ""
        tip = f"{', '.join(names) or group.label}\n{time}{share} in {counted(round(group.launches), 'launch', 'launches')}"
        words = time or (names[0] if names else "")
        long = f"{time} {names[0]}" if names and time else ""
        words = long if long and fits(long, place.width) else words
        kind, height = kind_of(strip, group), strip.heights["kernels"] - 4
        out.append(box(place, y, height, kind, words, tip, ref=ref_of(group), row="kernel", shortens=False))
    return out


def launch_row(strip: Strip, y: float) -> list[str]:
    """The launches of each group: one cell per launch, their number where the cells are too narrow."""
    out: list[str] = []
    for group in strip.order:
        place, number = strip.places[group.id], max(1, round(group.launches))
        words = counted(round(group.launches), "launch", "launches")
        label = str(number) if fits(str(number), place.width + 6) else ""
        style = theme.KINDS[kind_of(strip, group)]  # type: ignore[index]
        ticks = ""
        if place.width / number >= 3:
            ticks = "".join(f"M{place.x + k * place.width / number:.1f} {y}v6" for k in range(1, number))
            ticks = f'<path class="fx-line" d="{ticks}" stroke="{theme.EDGE}" fill="none"/>' if ticks else ""
        out.append(
            f'<g data-row="launch"><title>{words}</title><rect class="k-{kind_of(strip, group)}" x="{place.x:.2f}" y="{y}" '
            f'width="{max(place.width, 0.01):.3f}" height="6" fill="{style.stroke}" stroke="none"/></g>{ticks}'
        )
        out.append(text(place.middle, y + 23, label, look="muted", anchor="middle") if label else "")
    return out


def cut_row(strip: Strip, cuts: Sequence[Cut], y: float) -> tuple[list[str], float]:
    """A red mark on each boundary that was not fused; a numbered bracket from producer to consumer for the first ones."""
    if not cuts:
        return [], y
    out: list[str] = []
    top = y - strip.heights["launches"] - strip.heights["kernels"]
    for cut in cuts:
        for ends in cut.ends:
            a, b = (strip.places[end] for end in ends)
            x = a.right if abs(a.right - b.x) < 0.5 else b.x
            out.append(
                f'<path class="fx-cut" data-cut="{escape(cut.row.id)}" d="M{x:.1f} {top - 2:.1f}v{strip.heights["kernels"]}" '
                f'stroke="{theme.COST}" stroke-width="2.5" stroke-dasharray="5 3" fill="none"><title>not fused: '
                f"{escape(cut.row.producer)} → {escape(cut.row.consumer)}</title></path>"
            )
    out.append(name_of_row("not fused", y + 6, 34))
    marks = numbered(cuts)
    taken: list[tuple[float, float, int]] = []
    for number, same in marks:
        a, b = nearest(strip, same[0])
        left, right = sorted((a.middle, b.middle))
        left, right = min(left, right - 26), right
        lane = next(k for k in range(9) if all(k != lane or right + 30 < x or left - 30 > z for x, z, lane in taken))
        taken.append((left, right, lane))
        foot = y + 20 + 24 * min(lane, 2)
        out.append(
            f'<path class="fx-cut" d="M{left:.1f} {y:.1f}V{foot:.1f}H{right:.1f}V{y:.1f}" stroke="{theme.COST}" '
            f'stroke-width="2" fill="none"/><g data-decision="{same[0].row.decisions[0]}"><circle class="fx-mark" '
            f'cx="{(left + right) / 2:.1f}" cy="{foot:.1f}" r="12" fill="{theme.COST}"/>'
        )
        out.append(text((left + right) / 2, foot + 7, str(number), weight=700, look="on", anchor="middle") + "</g>")
    return out, y + 34 + 24 * min(2, max((lane for *_, lane in taken), default=0))


def capital(words: str) -> str:
    """A sentence's first letter; "cuBLAS" stays."""
    first = words.partition(" ")[0]
    return words[:1].upper() + words[1:] if first.islower() else words


def nearest(strip: Strip, cut: Cut) -> tuple[Extent, Extent]:
    """The two groups of a missed fusion that lie nearest to each other."""
    pairs = [(strip.places[a], strip.places[b]) for a, b in cut.ends]
    return min(pairs, key=lambda pair: abs(pair[0].right - pair[1].x))


def numbered(cuts: Sequence[Cut]) -> list[tuple[int, list[Cut]]]:
    """The first missed fusions, those that exclude each other together, counted from 1."""
    found: dict[object, list[Cut]] = {}
    for position, cut in enumerate(cuts):
        key = ("bracket", cut.row.bracket) if cut.row.bracket is not None else position
        found.setdefault(key, []).append(cut)
    return list(enumerate(list(found.values())[:MAX_MARKS], 1))


def saving(made: Report, row: MissedRow) -> str:
    """What fusing saves per step: one number for rows that exclude each other."""
    together = next((item.time_us for item in made.brackets if item.number == row.bracket), row.time_us)
    if together is not None:
        return f"{'≥' if row.is_least else '~'} {microseconds(together)}"
    if row.time_us is not None:  # what the rows save together is not known: this one's is the least
        return f"≥ {microseconds(row.time_us)}"
    return f"{num_bytes(row.bytes)} of traffic" if row.bytes is not None else "cost unknown"


def excluded(made: Report, row: MissedRow) -> int:
    """How many other rows a row excludes."""
    return sum(item.bracket == row.bracket for item in made.missed) - 1 if row.bracket is not None else 0


def cut_list(strip: Strip, cuts: Sequence[Cut], y: float) -> list[str]:
    """The numbered missed fusions in words: pair, saving, reason; as many as fit."""
    out: list[str] = []
    said = ""
    for number, same in numbered(cuts):
        if y > HEIGHT - 64:
            break
        row = same[0].row
        times = f" ×{row.count}" if row.count > 1 else ""
        either = excluded(strip.report, row)
        more = f" (or {counted(either, 'other')}: a kernel joins one)" if either else ""
        pair = shorten(f"{row.producer} → {row.consumer}", 60)
        saved = saving(strip.report, row)
        head = f"{number} {pair}{times}: {saved} per step{more}"
        out.append(text(24, y, head, weight=700, look="cost"))
        y += LINE
        if y <= HEIGHT - 60 and row.reason != said:
            said = row.reason
            out.append(text(48, y, shorten(capital(row.reason), 106), look="muted"))
            y += REASON
    if not cuts and strip.report.missed:
        out.append(
            text(24, y, f"{counted(len(strip.report.missed), 'missed fusion')} without a kernel here.", look="muted")
        )
    return out


def legend(strips: Sequence[Strip], height: float) -> list[str]:
    """What the colours say."""
    kinds = {kind_of(strip, group) for strip in strips for group in strip.report.groups}
    x, y = 24.0, height - 16
    out: list[str] = []
    names = {"fused": "generated kernel", "kernel": "library or hand-written", "input": "memset or copy"}
    for kind, words in names.items():
        if kind in kinds:
            style = theme.KINDS[kind]  # type: ignore[index]
            out.append(
                f'<rect class="k-{kind}" x="{x:.0f}" y="{y - 15}" width="17" height="17" fill="{style.fill}" '
                f'stroke="{style.stroke}"/>'
            )
            out.append(text(x + 24, y, words, look="muted"))
            x += 50 + length(words)
    timed = all(strip.timed for strip in strips)
    scale = "widths: device time; equal layers drawn once (×N)" if timed else "not to scale: one width per call"
    return [*out, text(RIGHT, y, f"{scale} · fxscope", look="muted", anchor="end")]


def text_lines(recording: Recording, width: int = 72) -> Iterator[str]:
    """The strip for a terminal or a Markdown block: a bar of the step, and one line per module with its share."""
    strip = Strip(recording)
    row = strip.report.step
    if row.wall_us and row.busy_share is not None:
        busy = round(width * row.busy_share)
        yield f"{'█' * busy}{'░' * (width - busy)}"
        yield f"█ busy {microseconds(row.busy_us)}  ░ idle {microseconds(row.idle_us)}"
    if not strip.total:
        return
    for block, depth in blocks(strip.tree, 0):
        weight = sum(map(strip.weight, everything(block)))
        name = shorten("  " * depth + (block.words or "(no module)"), 34)
        time = microseconds(weight) if strip.timed else counted(round(weight), "call")
        yield f"{name:<34} {'▇' * round(20 * weight / strip.total):<20} {time:>9} {percent(weight / strip.total):>5}"


def blocks(block: ModuleBlock, depth: int) -> Iterator[tuple[ModuleBlock, int]]:
    """The modules, two levels deep, in the order of the step."""
    for part in block.parts():
        if isinstance(part, ModuleBlock):
            yield part, depth
            if depth < 1:
                yield from blocks(part, depth + 1)


def everything(block: ModuleBlock) -> list[KernelGroup]:
    """All groups of a block."""
    return [*block.groups, *(group for child in block.children.values() for group in everything(child))]
