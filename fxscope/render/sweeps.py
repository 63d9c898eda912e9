"""Sweeps as text."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from fxscope.analysis.sweep import in_order, sentences
from fxscope.text import aligned, microseconds, num_bytes, roof_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.findings import Sweep, SweepPoint

HEADINGS = ("setup", "wall", "device", "kernels", "of the roof", "peak memory")


def cells(point: SweepPoint) -> list[str]:
    if point.problem:
        return [point.setup, f"failed: {point.problem}"[:70], *[""] * (len(HEADINGS) - 2)]
    times = [spread(point.wall_us), spread(point.device_us)]
    kernels = "–" if point.num_kernels is None else f"{point.num_kernels:g}"
    return [point.setup, *times, kernels, roof_share(point.share_of_roof), num_bytes(point.peak_bytes)]


def spread(samples: Sequence[float] | None) -> str:
    if not samples:
        return "–"
    half = (max(samples) - min(samples)) / 2
    return f"{microseconds(median(samples))} ±{microseconds(round(half, 2))}"


def text(sweep: Sweep) -> str:
    """An aligned table and where the crossovers lie."""
    rows = [[str(point.vary.get(sweep.vary)), *cells(point)] for point in in_order(sweep)]
    lines = [
        sweep.title or "",
        f"{sweep.environment.get('device') or ''}",
        "",
        *aligned([[sweep.vary, *HEADINGS], *rows]),
    ]
    return "\n".join([*lines, "", *sentences(sweep)]) + "\n"
