"""Sweeps as line charts in SVG, drawn here: one panel per metric, one line per setup, whiskers from least to most."""

from __future__ import annotations

import math
from html import escape
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fxscope.analysis.sweep import setups_of, values_of
from fxscope.errors import RenderError
from fxscope.render import theme
from fxscope.text import microseconds, num_bytes, roof_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fxscope.analysis.findings import Sweep, SweepPoint

# Told apart without colour too: each setup has its own dash.
COLOURS = ("#1b5fae", "#b45f06", "#3d7a33", "#7646ad", "#c0262c", "#5b6675")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 860, 230, 84, 170, 56, 62


class Metric(NamedTuple):
    """One panel."""

    title: str
    samples: Callable[[SweepPoint], Sequence[float]]
    words: Callable[[float], str]
    logarithmic: bool


def several(field: str) -> Callable[[SweepPoint], Sequence[float]]:
    """The samples of a field, one of a single number, none where it was not measured."""

    def read(point: SweepPoint) -> Sequence[float]:
        found: Any = getattr(point, field)
        if found is None:
            return ()
        return cast("Sequence[float]", found) if isinstance(found, (tuple, list)) else (float(found),)

    return read


METRICS = (
    Metric("wall time per call", several("wall_us"), microseconds, True),
    Metric("device time per call", several("device_us"), microseconds, True),
    Metric("kernels per call", several("num_kernels"), "{:g}".format, False),
    Metric("share of the roof, weighted by time", several("share_of_roof"), roof_share, False),
    Metric("peak memory", several("peak_bytes"), num_bytes, True),
    Metric("error against float32 (relative, RMS)", several("relative_rms_error"), "{:.1e}".format, False),
)


def speed_up(sweep: Sweep) -> tuple[Metric, ...]:
    """The panel that says it all, where eager was measured beside others: its mean time over each sample's."""
    for title, field in (("wall", "wall_us"), ("device", "device_us")):
        read = several(field)
        eager = {
            point.vary.get(sweep.vary): median(read(point))
            for point in sweep.points
            if point.setup == "eager" and read(point)
        }

        def ratios(
            point: SweepPoint, read: Callable[[SweepPoint], Sequence[float]] = read, eager: dict[Any, float] = eager
        ) -> Sequence[float]:
            base = eager.get(point.vary.get(sweep.vary))
            return () if base is None else [base / sample for sample in read(point) if sample]

        if eager and any(ratios(point) for point in sweep.points if point.setup != "eager"):
            return (Metric(f"speed-up over eager ({title} time)", ratios, "{:.2f}×".format, False),)
    return ()


def svg(sweep: Sweep) -> str:
    """The chart. Raises RenderError where nothing was measured."""
    panels = [metric for metric in (*speed_up(sweep), *METRICS) if any(metric.samples(point) for point in sweep.points)]
    if not panels:
        raise RenderError("the sweep holds no measurement to draw.")
    values = values_of(sweep)
    setups = setups_of(sweep)
    height = TOP + len(panels) * (PANEL + GAP) + 8
    device = str(sweep.environment.get("device") or "")
    title = sweep.title or f"sweep over {sweep.vary}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="{theme.FONT}" font-size="12" role="img" aria-label="{escape(title)}">',
        f'<rect width="{WIDTH}" height="{height}" fill="{theme.PAPER}"/>',
        f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold" fill="{theme.TEXT}">{escape(title)}</text>',
        f'<text x="{LEFT}" y="42" fill="{theme.MUTED}">{escape(device)}</text>',
    ]
    for number, metric in enumerate(panels):
        parts.append(panel(sweep, metric, values, setups, TOP + number * (PANEL + GAP) + 22))
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(sweep: Sweep, metric: Metric, values: list[Any], setups: list[str], top: float) -> str:
    measured = {
        (point.setup, point.vary.get(sweep.vary)): metric.samples(point)
        for point in sweep.points
        if metric.samples(point)
    }
    every = [sample for samples in measured.values() for sample in samples]
    logarithmic = metric.logarithmic and min(every) > 0
    step = (WIDTH - LEFT - RIGHT - 40) / max(1, len(values) - 1)  # evenly, as sizes usually double
    x = {value: LEFT + 20 + number * step for number, value in enumerate(values)}
    y, ticks = y_axis(every, logarithmic, top)
    parts = [f'<text x="{LEFT}" y="{top - 8:.1f}" font-weight="bold" fill="{theme.TEXT}">{escape(metric.title)}</text>']
    for tick in ticks:
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#e3e6ea"/>'
            f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="{theme.MUTED}">'
            f"{escape(metric.words(tick))}</text>"
        )
    for value in values:
        parts.append(
            f'<text x="{x[value]:.1f}" y="{top + PANEL + 16:.1f}" text-anchor="middle" fill="{theme.MUTED}">'
            f"{escape(str(value))}</text>"
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{top + PANEL + 32:.1f}" text-anchor="middle" fill="{theme.MUTED}">'
        f"{escape(sweep.vary)}</text>"
    )
    ends: list[tuple[float, int, str]] = []
    for index, setup in enumerate(setups):
        points = [(x[value], measured[setup, value]) for value in values if (setup, value) in measured]
        if not points:
            continue
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        line = " ".join(f"{px:.1f},{y(median(samples)):.1f}" for px, samples in points)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        for px, samples in points:
            if max(samples) > min(samples):
                parts.append(
                    f'<line x1="{px:.1f}" x2="{px:.1f}" y1="{y(min(samples)):.1f}" y2="{y(max(samples)):.1f}" '
                    f'stroke="{colour}"/>'
                )
            tip = f"{setup}: {metric.words(median(samples))}"
            parts.append(marker(px, y(median(samples)), colour, tip))
        ends.append((y(median(points[-1][1])), index, setup))
    parts += end_labels(ends)
    return "\n".join(parts)


def end_labels(ends: list[tuple[float, int, str]]) -> list[str]:
    """Each line's name at its end, moved apart where lines end close to each other."""
    found: list[str] = []
    previous = -math.inf
    for y, index, setup in sorted(ends):
        y = max(y, previous + 15)
        previous = y
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        left = WIDTH - RIGHT + 12
        found.append(
            f'<line x1="{left}" x2="{left + 22}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}"/>'
            + marker(left + 11, y, colour, setup)
            + f'<text x="{left + 28}" y="{y + 4:.1f}" fill="{theme.TEXT}">{escape(setup)}</text>'
        )
    return found


def marker(x: float, y: float, colour: str, tip: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"><title>{escape(tip)}</title></circle>'


def y_axis(samples: list[float], logarithmic: bool, top: float) -> tuple[Callable[[float], float], list[float]]:
    """(value → y, ticks)."""
    low, high = min(samples), max(samples)
    if logarithmic:
        start, end = math.floor(math.log10(low) * 3) / 3, math.ceil(math.log10(high) * 3) / 3
        if end <= start:
            end = start + 1 / 3
        ticks = [
            tick
            for exponent in range(math.floor(start) - 1, math.ceil(end) + 1)
            for tick in (10**exponent, 2 * 10**exponent, 5 * 10**exponent)
        ]
        ticks = [tick for tick in ticks if 10**start * 0.999 <= tick <= 10**end * 1.001]
        while len(ticks) > 8:
            ticks = [tick for tick in ticks if math.log10(tick).is_integer()] or ticks[::2]
        return lambda value: top + PANEL * (1 - (math.log10(value) - start) / (end - start)), ticks
    base = 10 ** math.floor(math.log10(high / 4 or 1.0))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= (high / 4 or 1.0) * 0.999)
    end = max(step, math.ceil(high / step - 1e-9) * step)
    ticks = [step * number for number in range(int(end / step + 1.5))]
    return lambda value: top + PANEL * (1 - value / end), ticks
