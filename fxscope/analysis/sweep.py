"""Crossovers of a sweep: where one setup overtakes another, if the repeats show a difference."""

from typing import Any

from fxscope.analysis.findings import Sweep, SweepPoint
from fxscope.analysis.stats import compare_times

METRICS = {"wall_us": "wall time", "device_us": "device time"}
REPEATS = "repeats of one process"


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
