"""Facts of single kernels and ops: launch parameters, names, shapes, storage, time; what two places have in common."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from statistics import median
from typing import Any, cast

from fxscope.analysis import select
from fxscope.analysis.check import quantity
from fxscope.analysis.check.context import Context, NotRecorded, Row, a_list, a_table, listed
from fxscope.analysis.compare.uses import measured, per_step_of, use
from fxscope.errors import PassError
from fxscope.model import Op
from fxscope.op_names import is_called
from fxscope.passes.flops import of_op
from fxscope.text import counted, flop, microseconds, num_bytes


def fact(context: Context, place: str, *, field: str, noun: str) -> Iterator[tuple[Any, str]]:
    where = context.recordings[context.place(place)[0]]
    found = [(unit.kernel, getattr(use(where, unit), field)) for unit in context.units(place)]
    found = [(kernel, value) for kernel, value in found if value is not None]
    if not found:
        raise NotRecorded(f"the recording has no {noun} of {place}")
    for kernel, value in found:
        if isinstance(value, str):
            yield value, f"{place}: {value}"
        else:
            yield value, f"{kernel}: {value:,} {noun}"


def runtime(context: Context, place: str) -> Iterator[tuple[list[str], str]]:
    for unit in context.units(place):
        if unit.launch is None or not unit.launch.runtime:
            raise NotRecorded(f"no runtime call is recorded for {unit.kernel}")
        yield list(unit.launch.runtime), f"{place}: {' + '.join(unit.launch.runtime)}"


def decoded(context: Context, value: object) -> Iterator[Row]:
    """Hold parts of kernels' names, which know their own keys."""
    example = '{ "aten::addmm" = { epilogue = "bias" } }'
    for place, wanted in a_table(value, "decoded", example).items():
        for unit in context.units(place):
            parts = unit.launch.decoded if unit.launch else None
            if parts is None:
                raise NotRecorded(f"the name {unit.kernel} is not decoded")
            for key, expected in a_table(wanted, "decoded", example).items():
                if key not in parts:
                    raise PassError(f"the name {unit.kernel} says nothing of {key!r}. {select.nearest(key, parts)}")
                shown = f"{key} {parts[key]} in {unit.kernel}"
                yield Row(is_as_expected(parts[key], expected), f"{key} {expected}", shown)


def is_as_expected(found: Any, expected: Any) -> bool:
    """Return whether a fact is as expected: tuples like lists, tables by their keys, numbers by quantity, text as a glob."""
    if isinstance(found, (list, tuple)):
        return list(cast("list[Any]", found)) == (expected if isinstance(expected, list) else [expected])
    if isinstance(found, dict) and isinstance(expected, dict):
        facts, parts = cast("dict[str, Any]", found), cast("dict[str, Any]", expected)
        return all(key in facts and is_as_expected(facts[key], part) for key, part in parts.items())
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return quantity.parse(expected).holds(found)
    return fnmatchcase(found, str(expected)) if isinstance(found, str) else found == expected


def tensors(context: Context, place: str, *, field: str) -> Iterator[tuple[list[list[int]], str]]:
    for op in ops_at(context, place):
        sizes = getattr(op, field)
        if sizes is None:
            raise NotRecorded(f"{field} were not recorded: profile with record_shapes=True")
        found = [list(cast("list[int]", item)) for item in sizes if isinstance(item, (list, tuple)) and item]
        yield found, f"{place} {found}"


def flops(context: Context, place: str) -> Iterator[tuple[float, str]]:
    for op in ops_at(context, place):
        if (count := of_op(op)) is None:
            raise NotRecorded(f"{op.name} has no recorded shapes, or multiplies no matrices")
        yield count, f"{place} {flop(count)}"


def ops_at(context: Context, place: str) -> list[Op]:
    """The CPU ops at a place. Raises PassError where only kernels go by that name."""
    where, selector = context.place(place)
    if selector is None:
        raise PassError(f"{place!r} names a recording; say an op of it, such as {place}:aten::mm#1.")
    found = select.ops_named(context.recordings[where], selector)
    if not found:
        raise PassError(f"{place!r} is no CPU op of the recording.")
    return found


def shares_storage(context: Context, place: str) -> Iterator[tuple[bool, str]]:
    select.require(context.recording, place)
    nodes = [node for _, node in select.nodes_named(context.recording, place) if node.outputs]
    known = [bool(node.aliases) for node in nodes if node.aliases is not None]
    if not known:
        raise NotRecorded("storage is compared only when a program is recorded live")
    yield all(known), f"{place} {'shares it with its input' if all(known) else 'has storage of its own'}"


def time_us(context: Context, place: str) -> Iterator[tuple[float, str]]:
    for unit in context.units(place):
        if not (samples := measured(unit.samples_us)):
            raise NotRecorded("nothing ran: this recording is a plan")
        spread = f"{microseconds(min(samples))} to {microseconds(max(samples))}, {counted(len(samples), 'repeat')}"
        yield median(samples), f"{unit.kernel} {microseconds(median(samples))} ({spread})"


def device_us(context: Context, place: str) -> Iterator[tuple[float, str]]:
    recording = context.recording
    if not recording.launches:
        raise NotRecorded("nothing ran: this recording is a plan")
    select.require(recording, place)
    units = select.units(recording)
    samples = [unit.samples_us for unit in units if any(is_called(name, place) for name in unit.chain)]
    total = per_step_of(samples) or 0.0
    yield total, f"{place} {microseconds(total)}"


def peak_memory(context: Context, _: str) -> Iterator[tuple[int, str]]:
    memory = context.recording.memory
    if memory is None or memory.peak_bytes is None:
        raise NotRecorded("peak memory was not recorded: a trace does not have it")
    yield memory.peak_bytes, num_bytes(memory.peak_bytes)


def same_kernel(context: Context, value: object, *, wanted: bool = True) -> Iterator[Row]:
    """Hold whether places run the same kernels; not `wanted`: whether no two do."""
    places = a_list(value, "same_kernel" if wanted else "different_kernel", least=2)
    rows = {place: [unit.kernel for unit in context.units(place)] for place in places}
    if empty := [place for place, found in rows.items() if not found]:
        raise NotRecorded(f"no kernel is known at {empty[0]}")
    distinct = len(set(map(tuple, rows.values())))
    expected = f"{'the same' if wanted else 'different'} kernels at {', '.join(places)}"
    several = "; ".join(f"{place}: {listed(found)}" for place, found in rows.items())
    yield Row(distinct == (1 if wanted else len(rows)), expected, listed(rows[places[0]]) if distinct == 1 else several)


def same_launch(context: Context, value: object) -> Iterator[Row]:
    places = a_list(value, "same_launch", least=2)
    units = {place: context.units(place) for place in places}
    if not all(unit.launch and unit.launch.grid is not None for row in units.values() for unit in row):
        raise NotRecorded("nothing ran there, or the trace has no grids")
    rows = {place: [unit.launch for unit in row if unit.launch] for place, row in units.items()}
    fields = ("name", "grid", "block", "registers", "shared_bytes")
    same = len({tuple(getattr(item, name) for item in row for name in fields) for row in rows.values()}) == 1
    words = [f"{place}: {', '.join(f'grid {x.grid} block {x.block}' for x in row)}" for place, row in rows.items()]
    yield Row(same, f"equal launches at {', '.join(places)}", words[0] if same else "; ".join(words))


def faster(context: Context, value: object) -> Iterator[Row]:
    places = a_list(value, "faster", least=2)
    if len(places) != 2:
        raise PassError('faster takes two places, such as ["compiled:triton*", "eager:gelu + eager:mul"].')
    first, second = places
    time = context.compared(second, first)
    expected = f"{first} faster than {second}"
    found = f"{first} {microseconds(time.b_us)}, {second} {microseconds(time.a_us)}"
    if time.verdict in ("not measured", "cannot tell"):
        raise NotRecorded(time.reason, expected, found)
    yield Row(time.verdict == "faster", expected, found, f"{time.verdict}: {time.reason}")


def ratio(context: Context, value: object) -> Iterator[Row]:
    """Hold the ratio of two places' times; where only its interval reaches the expected one, nothing can be said."""
    table = a_table(value, "ratio", '{ of = "compiled:mm#3", to = "eager:mm#3", is = "0.85..0.95" }')
    needed = ("of", "to", "is")
    if unknown := [key for key in table if key not in needed]:
        raise PassError(f"ratio has no key {unknown[0]!r}. {select.nearest(unknown[0], needed)}")
    if missing := [key for key in needed if key not in table]:
        raise PassError(f"ratio needs the key {missing[0]!r}.")
    wanted = quantity.parse(table["is"])
    time = context.compared(table["to"], table["of"])
    if time.ratio is None:
        raise NotRecorded(time.reason)
    expected = f"{table['of']} : {table['to']} {wanted.text}"
    found = f"{microseconds(time.a_us)} → {microseconds(time.b_us)}, {time.reason}"
    if time.verdict == "cannot tell":
        raise NotRecorded(time.reason, expected, found)
    low, high = time.ratio_low or time.ratio, time.ratio_high or time.ratio
    if not wanted.holds(time.ratio) and low < high and wanted.overlaps(low, high):
        raise NotRecorded("the repeats scatter too much to say", expected, found)
    yield Row(wanted.holds(time.ratio), expected, found, time.verdict)
