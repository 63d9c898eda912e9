"""Sweeps as text: a table, and where one setup overtakes another, if the repeats show a difference."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from fxscope.analysis.stats import compare_times
from fxscope.text import aligned, microseconds, num_bytes, roof_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.findings import Sweep, SweepPoint

METRICS = {"wall_us": "wall time", "device_us": "device time"}
REPEATS = "repeats of one process"
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


def in_order(sweep: Sweep) -> list[SweepPoint]:
    """The points by the value of the varied input, eager first, else as measured."""

    def key(point: SweepPoint) -> tuple[bool, Any, bool]:
        value = point.vary.get(sweep.vary)
        return isinstance(value, str), value, point.setup != "eager"

    return sorted(sweep.points, key=key)


def sentences(sweep: Sweep) -> list[str]:
    """One sentence per setup and metric: from where on it is faster than the first setup; and what the times are."""
    points = {(point.setup, point.vary.get(sweep.vary)): point for point in in_order(sweep)}
    base, *setups = dict.fromkeys(setup for setup, _ in points)
    found: list[str] = []
    for metric, words in METRICS.items():
        for name in setups:
            pairs = [
                (value, points.get((base, value)), point) for (setup, value), point in points.items() if setup == name
            ]
            samples = [(value, getattr(a, metric), getattr(b, metric)) for value, a, b in pairs if a is not None]
            verdicts = {value: compare_times(a, b, unit=REPEATS).verdict for value, a, b in samples if a and b}
            if verdicts:
                found.append(f"{words}: {crossover(sweep.vary, name, base, verdicts)}")
    return [*found, f"the times are {REPEATS}; other processes may differ by more"] if found else []


def crossover(name: str, setup: str, base: str, verdicts: dict[Any, str]) -> str:
    """Return where one setup overtakes the other, from the verdict at each value of the varied input."""
    faster, slower = (
        [value for value, verdict in verdicts.items() if verdict == kind] for kind in ("faster", "slower")
    )
    places = list(verdicts)
    if not faster and not slower:
        return f"no difference between {setup} and {base} is shown at any {name}"
    if faster and slower and places.index(slower[-1]) < places.index(faster[0]):
        low, high = slower[-1], faster[0]
        return f"{setup} is slower than {base} up to {name} {low}, faster from {high} on: the crossover lies between"
    if faster and slower:
        parts = ", ".join(f"{value}: {verdict}" for value, verdict in verdicts.items())
        return f"{setup} against {base} changes more than once over {name} ({parts})"
    word, other, shown = ("faster", "slower", faster) if faster else ("slower", "faster", slower)
    if shown == places:
        return f"{setup} is {word} than {base} everywhere"
    return (
        f"{setup} is {word} than {base} at {name} {', '.join(map(str, shown))}, and not shown to be {other} elsewhere"
    )
