"""Crossovers of a sweep: where one setup overtakes another, if the repeats show a difference."""

from typing import Any

from fxscope.analysis.findings import Sweep, SweepPoint, TimeComparison
from fxscope.analysis.stats import compare_times

METRICS = ("wall_us", "device_us")
REPEATS = "repeats of one process"


def values_of(sweep: Sweep) -> list[Any]:
    """Return what the varied input took, in order."""
    values: list[Any] = list(dict.fromkeys(point.vary.get(sweep.vary) for point in sweep.points))
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def setups_of(sweep: Sweep) -> list[str]:
    """The setups in the order in which they first occur, eager first where it is there."""
    found = list(dict.fromkeys(point.setup for point in sweep.points))
    return sorted(found, key=lambda name: name != "eager")


def point_at(sweep: Sweep, setup: str, value: object) -> SweepPoint | None:
    return next((p for p in sweep.points if p.setup == setup and p.vary.get(sweep.vary) == value), None)


def against(sweep: Sweep, setup: str, base: str, metric: str) -> list[tuple[object, TimeComparison]]:
    """(value, comparison of the setup with the base) wherever both were measured."""
    found: list[tuple[object, TimeComparison]] = []
    for value in values_of(sweep):
        a, b = point_at(sweep, base, value), point_at(sweep, setup, value)
        if a is None or b is None:
            continue
        x, y = getattr(a, metric), getattr(b, metric)
        if x and y:
            found.append((value, compare_times(x, y, unit=REPEATS)))
    return found


def sentences(sweep: Sweep) -> list[str]:
    """One sentence per setup and metric: from where on it is faster than the first setup; and what the times are."""
    setups = setups_of(sweep)
    found: list[str] = []
    for metric, words in zip(METRICS, ("wall time", "device time"), strict=True):
        for setup in setups[1:]:
            rows = against(sweep, setup, setups[0], metric)
            if rows:
                found.append(f"{words}: {sentence(sweep, setup, setups[0], rows)}")
    found += [line for setup in setups[1:] for line in paid_for(sweep, setup, setups[0])]
    return [*found, f"the times are {REPEATS}; other processes may differ by more"] if found else []


def paid_for(sweep: Sweep, setup: str, base: str) -> list[str]:
    """After how many calls the longer first call (compiling, tuning) is paid for, where each call is faster."""
    found: list[str] = []
    for value, time in against(sweep, setup, base, "wall_us"):
        a, b = point_at(sweep, base, value), point_at(sweep, setup, value)
        if time.verdict != "faster" or a is None or b is None or a.first_call_s is None or b.first_call_s is None:
            continue
        extra_us, gain_us = (b.first_call_s - a.first_call_s) * 1e6, (time.a_us or 0) - (time.b_us or 0)
        if extra_us > 0 and gain_us > 0:
            found.append(f"{extra_us / gain_us:,.0f} calls at {sweep.vary} {value}")
    return [f"the first call of {setup} pays off after {', '.join(found)}"] if found else []


def sentence(sweep: Sweep, setup: str, base: str, rows: list[tuple[object, TimeComparison]]) -> str:
    """Return where the crossover lies."""
    verdicts = [time.verdict for _, time in rows]
    name = sweep.vary
    last_slower = max((i for i, v in enumerate(verdicts) if v == "slower"), default=None)
    first_faster = min((i for i, v in enumerate(verdicts) if v == "faster"), default=None)
    if first_faster is None and last_slower is None:
        return f"no difference between {setup} and {base} is shown at any {name}"
    if first_faster is None:
        slower = [str(value) for (value, _), v in zip(rows, verdicts, strict=True) if v == "slower"]
        return f"{setup} is slower than {base} at {name} {', '.join(slower)}, and not shown to be faster elsewhere"
    if last_slower is None:
        faster = [str(value) for (value, _), v in zip(rows, verdicts, strict=True) if v == "faster"]
        where = "everywhere" if len(faster) == len(rows) else f"at {name} {', '.join(faster)}"
        return f"{setup} is faster than {base} {where}, and not shown to be slower elsewhere"
    if last_slower < first_faster:
        low, high = rows[last_slower][0], rows[first_faster][0]
        return f"{setup} is slower than {base} up to {name} {low}, faster from {high} on: the crossover lies between"
    parts = [f"{value}: {v}" for (value, _), v in zip(rows, verdicts, strict=True)]
    return f"{setup} against {base} changes more than once over {name} ({', '.join(parts)})"
