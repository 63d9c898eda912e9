"""Sweeps as text."""

from collections.abc import Sequence
from statistics import median

from fxscope.analysis.findings import Sweep, SweepPoint
from fxscope.analysis.sweep import sentences, values_of
from fxscope.text import aligned, microseconds, num_bytes, roof_share

HEADINGS = ("setup", "wall", "device", "kernels", "of the roof", "peak memory")


def cells(point: SweepPoint) -> list[str]:
    if point.problem:
        return [point.setup, f"failed: {point.problem}"[:70], *[""] * (len(HEADINGS) - 2)]
    return [
        point.setup,
        spread(point.wall_us),
        spread(point.device_us),
        "–" if point.num_kernels is None else f"{point.num_kernels:g}",
        roof_share(point.share_of_roof),
        num_bytes(point.peak_bytes),
    ]


def spread(samples: Sequence[float] | None) -> str:
    if not samples:
        return "–"
    half = (max(samples) - min(samples)) / 2
    return f"{microseconds(median(samples))} ±{microseconds(round(half, 2))}"


def rows(sweep: Sweep) -> list[list[str]]:
    return [[str(point.vary.get(sweep.vary)), *cells(point)] for point in in_order(sweep)]


def in_order(sweep: Sweep) -> list[SweepPoint]:
    """Points by value, then as measured."""
    values = values_of(sweep)
    return sorted(sweep.points, key=lambda point: values.index(point.vary.get(sweep.vary)))


def text(sweep: Sweep) -> str:
    """An aligned table and where the crossovers lie."""
    lines = [sweep.title or "", f"{sweep.environment.get('device') or ''}", ""]
    lines += aligned([[sweep.vary, *HEADINGS], *rows(sweep)])
    return "\n".join([*lines, "", *sentences(sweep)]) + "\n"
