"""Expectations about time, bytes and shares of the roof, within one recording, between two, and over a sweep."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fxscope.analysis import select
from fxscope.analysis.check import quantity
from fxscope.analysis.check.context import Answer, Context, NotRecorded, a_list, a_table, each_place, keys_of, met
from fxscope.analysis.compare.rest import traffic
from fxscope.analysis.findings import SweepPoint
from fxscope.analysis.stats import compare_times
from fxscope.analysis.sweep import REPEATS, point_at
from fxscope.errors import PassError
from fxscope.index import index_of
from fxscope.op_names import is_called
from fxscope.text import counted, microseconds, num_bytes, roof_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fxscope.analysis.check.context import Found
    from fxscope.analysis.check.quantity import Quantity
    from fxscope.analysis.findings import Sweep, TimeComparison


@each_place('{ "triton_poi*" = "50..60" }')
def time_us(context: Context, place: str) -> Iterator[Found]:
    """Median duration of each selected kernel: `time_us = { "triton_poi*" = "50..60" }`."""
    for unit in context.units(place):
        if not (samples := unit.samples_us):
            raise NotRecorded("nothing ran: this recording is a plan")
        spread = f"{microseconds(min(samples))} to {microseconds(max(samples))}, {counted(len(samples), 'repeat')}"
        yield median(samples), f"{unit.kernel} {microseconds(median(samples))} ({spread})"


@each_place('{ "aten::t" = 0 }')
def device_us(context: Context, place: str) -> Iterator[Found]:
    """Device time per step under an op and all it calls: `device_us = { "aten::t" = 0 }`."""
    recording = context.recording
    if not recording.launches:
        raise NotRecorded("nothing ran: this recording is a plan")
    select.require(recording, place)
    under = [u for u in select.units(recording) if any(is_called(c, place) for c in u.chain)]
    total = sum(sum(u.samples_us) for u in under) / index_of(recording).num_steps
    yield total, f"{place} {microseconds(total)}"


def faster(context: Context, value: object) -> Answer:
    """The first place takes less device time than the second: `faster = ["compiled:triton_poi*", "liger:_geglu*"]`."""
    return ordered(context, value, "faster", {"faster"})


def no_slower(context: Context, value: object) -> Answer:
    """The first place is not shown to take more device time than the second."""
    return ordered(context, value, "no_slower", {"faster", "no difference shown"})


def ordered(context: Context, value: object, kind: str, as_expected: set[str]) -> Answer:
    """Hold what the repeats of two places show against the verdicts that meet the expectation."""
    first, second = two(value, kind)
    time = context.compared(second, first)
    expected = f"{first} {kind.replace('_', ' ')} than {second}"
    if time.verdict == "not measured":
        raise NotRecorded(time.reason)
    if time.verdict == "cannot tell":
        return Answer("cannot_tell", expected, pair(time, first, second), time.reason)
    return met(time.verdict in as_expected, expected, pair(time, first, second), f"{time.verdict}: {time.reason}")


def ratio(context: Context, value: object) -> Answer:
    """Device time of one place over another's: `ratio = { of = "compiled:mm", to = "eager:mm", is = "0.9..1.1" }`."""
    table = a_table(value, "ratio", '{ of = "compiled:mm#3", to = "eager:mm#3", is = "0.85..0.95" }')
    keys_of(table, "ratio", ["of", "to", "is"])
    expected = quantity.parse(table["is"])
    time = context.compared(table["to"], table["of"])
    return judged(time, expected, f"{table['of']} : {table['to']} {expected.text}")


def judged(time: TimeComparison, expected: Quantity, words: str) -> Answer:
    """Hold a measured ratio against a quantity; where only the interval reaches it, that is what is said."""
    if time.ratio is None:
        raise NotRecorded(time.reason)
    found = f"{microseconds(time.a_us)} → {microseconds(time.b_us)}, {time.reason}"
    if time.verdict == "cannot tell":
        return Answer("cannot_tell", words, found, time.reason)
    if expected.holds(time.ratio):
        return met(True, words, found)
    if (
        time.ratio_low is not None
        and time.ratio_high is not None
        and expected.overlaps(time.ratio_low, time.ratio_high)
    ):
        return Answer("cannot_tell", words, found, "the repeats scatter too much to say")
    return met(False, words, found, time.verdict)


def two(value: object, kind: str) -> list[str]:
    """Two places. Raises PassError."""
    places = a_list(value, kind, least=2)
    if len(places) != 2:
        raise PassError(f'{kind} takes two places, such as ["compiled:triton*", "eager:gelu + eager:mul"].')
    return places


def pair(time: TimeComparison, first: str, second: str) -> str:
    return f"{first} {microseconds(time.b_us)}, {second} {microseconds(time.a_us)}"


@each_place('{ "nvjet*" = ">= 60 %" }', everywhere="")
def share_of_roof(context: Context, place: str) -> Iterator[Found]:
    """Share of the nearer roof: of the selected kernel calls, or of all that have one where only a number is given."""
    wanted = {u.call for u in context.units(place)} if place else None
    calls = context.find(context.place(place)[0] if place else context.here).calls
    roofs = [(call.kernel, call.roof.share) for call in calls if call.roof and (wanted is None or call.id in wanted)]
    shares = [(share, f"{kernel} {roof_share(share)}") for kernel, share in roofs if share is not None]
    if not shares:
        raise NotRecorded("no share of a roof is known: it needs times, bytes and the device's limits")
    yield from shares


def max_bytes(context: Context, value: object) -> Answer:
    """Bytes that the kernel calls read and write together, at most: `max_bytes = "360 MB"`."""
    expected = quantity.parse(value)
    limit = quantity.Quantity(f"<= {value}", float("-inf"), expected.high)
    found = traffic(context.recording)
    if found is None:
        raise NotRecorded("the bytes of some kernel call are not known")
    return met(limit.holds(found), limit.text, num_bytes(found))


def peak_memory(context: Context, value: object) -> Answer:
    """Peak device memory of the recorded run."""
    expected, memory = quantity.parse(value), context.recording.memory
    if memory is None or memory.peak_bytes is None:
        raise NotRecorded("peak memory was not recorded: a trace does not have it")
    return met(expected.holds(memory.peak_bytes), expected.text, num_bytes(memory.peak_bytes))


_METRICS = tuple(name for name in SweepPoint.__struct_fields__ if name not in ("vary", "setup", "problem", "kernels"))


def sweep(context: Context, value: object) -> Answer:
    """A metric of a sweep: `sweep = { in = "sweep", setup = "compiled", metric = "wall_us", at = 64, is = "< 250" }`.

    With `against = "eager"` it is the ratio to another setup.
    """
    table = a_table(
        value,
        "sweep",
        '{ in = "sweep", setup = "compiled", against = "eager", metric = "wall_us", at = 64, is = "< 1" }',
    )
    keys_of(table, "sweep", ["in", "setup", "metric", "at", "is"], ["against"])
    data = find_sweep(context, table["in"])
    if table["metric"] not in _METRICS:
        raise PassError(f"sweep: no metric {table['metric']!r}. {select.nearest(table['metric'], _METRICS)}")
    expected = quantity.parse(table["is"])
    metric, words = table["metric"], f"{table['setup']} {table['metric']} at {data.vary} {table['at']}"
    mine = samples_at(data, table["setup"], table["at"], metric)
    if "against" not in table:
        if not mine:
            raise NotRecorded("not measured")
        return met(expected.holds(median(mine)), f"{words} {expected.text}", shown(metric, median(mine)))
    theirs = samples_at(data, table["against"], table["at"], metric)
    words = f"{words} : {table['against']} {expected.text}"
    if not mine or not theirs:
        raise NotRecorded("not measured")
    if metric.endswith("_us"):
        return judged(compare_times(theirs, mine, unit=REPEATS), expected, words)
    quotient = mine[0] / theirs[0] if theirs[0] else float("inf")
    return met(
        expected.holds(quotient), words, f"{shown(metric, theirs[0])} → {shown(metric, mine[0])}, ×{quotient:.3g}"
    )


def shown(metric: str, value: float) -> str:
    if metric.endswith("_us"):
        return microseconds(value)
    return num_bytes(value) if metric.endswith("_bytes") else f"{value:.4g}"


def find_sweep(context: Context, name: str) -> Sweep:
    """A sweep by name. Raises PassError."""
    if name not in context.sweeps:
        raise PassError(f"there is no sweep {name!r}. {select.nearest(name, context.sweeps)}")
    return context.sweeps[name]


def samples_at(data: Sweep, setup: str, at: object, metric: str) -> Sequence[float]:
    """A metric of a setup at a value: one where it is a single number, none where it was not measured. Raises PassError."""
    setups = {point.setup for point in data.points}
    if setup not in setups:
        raise PassError(f"the sweep has no setup {setup!r}. {select.nearest(setup, setups)}")
    point = point_at(data, setup, at)
    if point is None:
        values = sorted({str(point.vary.get(data.vary)) for point in data.points if point.setup == setup})
        raise PassError(f"the sweep has no {setup} at {data.vary} {at}. It has {', '.join(values)}.")
    found: Any = getattr(point, metric)
    if isinstance(found, (list, tuple)):
        return cast("Sequence[float]", found)
    return () if found is None else (float(found),)


def measured(context: Context, value: object) -> Answer:
    """A fact of a sweep's file: `measured = { in = "sweep", path = "experiments.depth.0.depth", is = 1 }`.

    A list of samples is held by its mean; with `to`, another path, the ratio of the two is held, with its interval.
    """
    table = a_table(value, "measured", '{ in = "sweep", path = "experiments.depth.0.depth", is = 1 }')
    keys_of(table, "measured", ["in", "path", "is"], ["to"])
    data = msgspec.to_builtins(find_sweep(context, table["in"]))
    found: Any = at_path(data, str(table["path"]))
    expected: Any = table["is"]
    if "to" in table:
        base = at_path(data, str(table["to"]))
        parsed = quantity.parse(expected)
        words = f"{table['path']} : {table['to']} {parsed.text}"
        if not are_samples(found) or not are_samples(base):
            raise PassError("measured: a ratio takes two lists of samples.")
        return judged(compare_times(base, found, unit=REPEATS), parsed, words)
    if are_samples(found) and not isinstance(expected, list):
        found = median(found)
    if isinstance(found, (int, float)) and not isinstance(found, bool) and not isinstance(expected, (list, bool)):
        parsed = quantity.parse(expected)
        return met(parsed.holds(found), f"{table['path']} {parsed.text}", f"{found:.6g}")
    expected = None if expected == "none" else expected
    name = str(table["path"]).rsplit(".", 1)[-1]
    return met(found == expected, f"{table['path']} = {expected}", f"{name} is {'none' if found is None else found}")


def are_samples(value: Any) -> bool:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(items) and all(isinstance(item, float) for item in items)


def at_path(data: Any, path: str) -> Any:
    """Return what is at a dotted path. Raises PassError naming what is there."""
    here = data
    for part in path.split("."):
        row = cast("list[Any]", here) if isinstance(here, list) else []
        table = cast("dict[str, Any]", here) if isinstance(here, dict) else {}
        if part.isdigit() and int(part) < len(row):
            here = row[int(part)]
        elif part in table:
            here = table[part]
        else:
            there = [*table, *(str(number) for number in range(len(row)))]
            raise PassError(f"measured: {path} has no {part!r}. {select.nearest(part, there)}")
    return here
