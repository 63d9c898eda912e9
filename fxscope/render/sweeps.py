"""Sweeps as text: a table; each time beside what it shows against the first setup at the same value."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from fxscope.analysis.findings import Sweep, SweepPoint
from fxscope.analysis.stats import compare_times
from fxscope.render.diff import factor
from fxscope.text import aligned, microseconds, num_bytes, roof_share

HEADINGS = ("setup", "wall", "", "device", "", "kernels", "of the roof", "peak memory")
REPEATS = "Times are repeats of one process; other processes may differ by more."


def text(sweep: Sweep) -> str:
    """An aligned table; "1.31× faster" is against the first setup, blank where no difference is shown."""
    points = in_order(sweep)
    first = {point.vary.get(sweep.vary): point for point in reversed(points)}
    rows = [[str(value := point.vary.get(sweep.vary)), *cells(point, first[value])] for point in points]
    several = len({point.setup for point in points}) > 1
    base = f"Compared with {points[0].setup} at the same {sweep.vary}; blank: no difference shown. " if several else ""
    head = [sweep.title or "", sweep.environment.get("device") or "", ""]
    return "\n".join([*head, *aligned([[sweep.vary, *HEADINGS], *rows]), "", base + REPEATS]) + "\n"


def cells(point: SweepPoint, base: SweepPoint) -> list[str]:
    if point.problem:
        return [point.setup, f"failed: {point.problem}"[:70], *[""] * (len(HEADINGS) - 2)]
    kernels = "–" if point.num_kernels is None else f"{point.num_kernels:g}"
    times = [*spread(point.wall_us, base.wall_us), *spread(point.device_us, base.device_us)]
    return [point.setup, *times, kernels, roof_share(point.share_of_roof), num_bytes(point.peak_bytes)]


def spread(samples: Sequence[float] | None, base: Sequence[float] | None) -> tuple[str, str]:
    """Return the median with half the range, and what it shows against the base's samples."""
    if not samples:
        return "–", ""
    half = (max(samples) - min(samples)) / 2
    shown = factor(compare_times(base, samples)) if base and base is not samples else None
    return f"{microseconds(median(samples))} ±{microseconds(round(half, 2))}", shown or ""


def in_order(sweep: Sweep) -> list[SweepPoint]:
    """The points by the value of the varied input, eager first, else as measured."""
    values: dict[int, Any] = {id(point): point.vary.get(sweep.vary) for point in sweep.points}
    return sorted(sweep.points, key=lambda p: (isinstance(values[id(p)], str), values[id(p)], p.setup != "eager"))
