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
WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 860, 230, 84, 24, 76, 62


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


def speed_up(sweep: Sweep) -> Metric:
    """The summary panel, if eager was measured as well: its median wall time over each sample's."""
    wall = several("wall_us")
    eager = {
        point.vary.get(sweep.vary): median(wall(point))
        for point in sweep.points
        if point.setup == "eager" and wall(point)
    }

    def ratios(point: SweepPoint) -> Sequence[float]:
        base = eager.get(point.vary.get(sweep.vary))
        return () if base is None else [base / sample for sample in wall(point) if sample]

    return Metric("speed-up over eager (wall time)", ratios, "{:.2f}×".format, False)


def svg(sweep: Sweep) -> str:
    """The chart. Raises RenderError where nothing was measured."""
    setups = setups_of(sweep)
    metrics = METRICS if setups == ["eager"] else (speed_up(sweep), *METRICS)
    panels = [metric for metric in metrics if any(metric.samples(point) for point in sweep.points)]
    if not panels:
        raise RenderError("the sweep holds no measurement to draw.")
    values = values_of(sweep)
    height = TOP + len(panels) * (PANEL + GAP) + 8
    device = str(sweep.environment.get("device") or "")
    title = sweep.title or f"sweep over {sweep.vary}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="{theme.FONT}" font-size="12" role="img" aria-label="{escape(title)}">',
        f'<rect width="{WIDTH}" height="{height}" fill="{theme.PAPER}"/>',
        words(LEFT, 24, title, ' font-size="16" font-weight="bold"'),
        words(LEFT, 42, device, colour=theme.MUTED),
        *legend(setups, 60),
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
    step = (WIDTH - LEFT - RIGHT - 40) / max(1, len(values) - 1)  # evenly, as sizes usually double
    x = {value: LEFT + 20 + number * step for number, value in enumerate(values)}
    y, ticks = y_axis(every, metric.logarithmic and min(every) > 0, top)
    parts = [words(LEFT, top - 8, metric.title, ' font-weight="bold"')]
    for tick in ticks:
        parts.append(line(LEFT, y(tick), WIDTH - RIGHT, y(tick), "#e3e6ea"))
        parts.append(words(LEFT - 8, y(tick) + 4, metric.words(tick), ' text-anchor="end"', theme.MUTED))
    middle = ' text-anchor="middle"'
    parts += [words(x[value], top + PANEL + 16, str(value), middle, theme.MUTED) for value in values]
    parts.append(words((LEFT + WIDTH - RIGHT) / 2, top + PANEL + 32, sweep.vary, middle, theme.MUTED))
    for index, setup in enumerate(setups):
        points = [(x[value], measured[setup, value]) for value in values if (setup, value) in measured]
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        way = " ".join(f"{px:.1f},{y(median(samples)):.1f}" for px, samples in points)
        parts.append(
            f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        for px, samples in points:
            parts.append(line(px, y(min(samples)), px, y(max(samples)), colour))
            tip = escape(f"{setup}: {metric.words(median(samples))}")
            dot = f'<circle cx="{px:.1f}" cy="{y(median(samples)):.1f}" r="3.5" fill="{colour}">'
            parts.append(f"{dot}<title>{tip}</title></circle>")
    return "\n".join(parts)


def legend(setups: list[str], y: float) -> list[str]:
    """Each setup's line and name, side by side."""
    parts: list[str] = []
    x = float(LEFT)
    for index, setup in enumerate(setups):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        parts += [line(x, y - 4, x + 26, y - 4, colour, f' stroke-width="2" stroke-dasharray="{dash}"')]
        parts += [words(x + 32, y, setup)]
        x += 56 + 7 * len(setup)
    return parts


def words(x: float, y: float, text: str, more: str = "", colour: str = theme.TEXT) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{more}>{escape(text)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def y_axis(samples: list[float], logarithmic: bool, top: float) -> tuple[Callable[[float], float], list[float]]:
    """(value → y, ticks)."""
    low, high = min(samples), max(samples)
    if logarithmic:
        start, end = math.log10(low) - 0.1, math.log10(high) + 0.1
        decades = range(math.floor(start), math.ceil(end))
        ticks = [factor * 10.0**decade for decade in decades for factor in ((1, 2, 5) if len(decades) < 4 else (1,))]
        ticks = [tick for tick in ticks if start <= math.log10(tick) <= end]
        return lambda value: top + PANEL * (1 - (math.log10(value) - start) / (end - start)), ticks
    base = 10 ** math.floor(math.log10(high / 4 or 1.0))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= (high / 4 or 1.0) * 0.999)
    end = max(step, math.ceil(high / step - 1e-9) * step)
    return lambda value: top + PANEL * (1 - value / end), [step * number for number in range(int(end / step + 1.5))]
