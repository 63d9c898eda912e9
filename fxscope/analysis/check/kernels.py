"""Expectations about single kernels and ops: identity, launch parameters, names, shapes, strides, storage."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast

from fxscope.analysis import select
from fxscope.analysis.check import quantity
from fxscope.analysis.check.context import Answer, Context, NotRecorded, a_list, a_table, each_place, listed, met
from fxscope.analysis.compare.uses import use
from fxscope.errors import PassError
from fxscope.passes.flops import of_op
from fxscope.text import flop, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fxscope.analysis.check.context import Found, Kind, Row
    from fxscope.model import Op


def same_kernel(context: Context, value: object) -> Answer:
    """The same kernels, name for name in order, at each place: `same_kernel = ["eager:mm#1", "eager:mm#2"]`."""
    return kernels_at(context, a_list(value, "same_kernel", least=2), wanted=True)


def different_kernel(context: Context, value: object) -> Answer:
    """No two of the places run the same kernel."""
    return kernels_at(context, a_list(value, "different_kernel", least=2), wanted=False)


def kernels_at(context: Context, places: list[str], *, wanted: bool) -> Answer:
    rows = {place: [unit.kernel for unit in context.units(place)] for place in places}
    empty = [place for place, found in rows.items() if not found]
    expected = f"{'the same kernels' if wanted else 'different kernels'} at {', '.join(places)}"
    if empty:
        raise NotRecorded(f"no kernel is known at {empty[0]}")
    lists = list(rows.values())
    same = all(found == lists[0] for found in lists)
    distinct = len({tuple(found) for found in lists}) == len(lists)
    shown = listed(lists[0]) if same else "; ".join(f"{place}: {listed(found)}" for place, found in rows.items())
    return met(same if wanted else distinct, expected, shown)


def same_launch(context: Context, value: object) -> Answer:
    """The same kernels with the same grid, block, registers and shared memory."""
    places = a_list(value, "same_launch", least=2)
    expected = f"equal launches at {', '.join(places)}"
    rows: list[list[tuple[Any, ...]]] = []
    for place in places:
        units = context.units(place)
        if not units or not all(unit.launch for unit in units):
            raise NotRecorded(f"nothing ran at {place}")
        rows.append([(u.kernel, x.grid, x.block, x.registers, x.shared_bytes) for u in units if (x := u.launch)])
    if any(launch[1] is None for row in rows for launch in row):
        raise NotRecorded("the trace has no grids")
    words = [
        f"{place}: {', '.join(f'grid {r[1]} block {r[2]}' for r in row)}"
        for place, row in zip(places, rows, strict=True)
    ]
    return met(
        all(row == rows[0] for row in rows), expected, words[0] if all(r == rows[0] for r in rows) else "; ".join(words)
    )


def per_kernel(field: str, unit_word: str) -> Kind:
    """The expectation that holds one number of each selected kernel: `registers = { "nvjet*" = "<= 168" }`."""

    @each_place('{ "nvjet*" = "<= 168" }', everywhere="*")
    def read(context: Context, place: str) -> Iterator[Found]:
        where = context.find(context.place(place)[0])
        known = [(u.kernel, n) for u in context.units(place) if (n := getattr(use(where, u), field)) is not None]
        if not known:
            raise NotRecorded(f"the recording has no {unit_word} of {place}")
        for kernel, number in known:
            shown = percent(number) if field == "occupancy" else f"{number:,}"
            yield number, f"{kernel}: {shown} {unit_word}"

    return read


def decoded(context: Context, value: object) -> Iterator[Row]:
    """Parts of a kernel's name: `decoded = { "aten::addmm" = { epilogue = "bias", layout = "TN" } }`."""
    example = '{ "aten::addmm" = { epilogue = "bias" } }'
    for place, wanted in a_table(value, "decoded", example).items():
        for unit in context.units(place):
            told = unit.launch.decoded if unit.launch else None
            if told is None:
                raise NotRecorded(f"the name {unit.kernel} is not decoded")
            for key, expected in a_table(wanted, "decoded", example).items():
                if key not in told:
                    raise PassError(f"the name {unit.kernel} says nothing of {key!r}. {select.nearest(key, told)}")
                yield like(told[key], expected), f"{key} {expected}", f"{key} {told[key]} in {unit.kernel}"


def like(found: Any, expected: Any) -> bool:
    """Return whether a decoded value is as expected: tuples like lists, numbers by quantity, text as it is."""
    if isinstance(found, (list, tuple)) and isinstance(expected, list):
        return list(cast("list[Any]", found)) == expected
    if isinstance(found, dict) and isinstance(expected, dict):
        told = cast("dict[str, Any]", found)
        return all(key in told and like(told[key], part) for key, part in cast("dict[str, Any]", expected).items())
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return quantity.parse(expected).holds(found)
    return found == expected


def runtime(context: Context, value: object) -> Iterator[Row]:
    """The runtime calls by which an op launches: `runtime = { "aten::gelu" = ["cudaLaunchKernel"] }`."""
    for place, wanted in a_table(value, "runtime", '{ "aten::gelu" = ["cudaLaunchKernel"] }').items():
        expected = a_list(wanted, "runtime")
        for unit in context.units(place):
            found = list(unit.launch.runtime) if unit.launch else []
            if not found:
                raise NotRecorded(f"no runtime call is recorded for {unit.kernel}")
            yield found == expected, f"{place}: {' + '.join(expected)}", f"{place}: {' + '.join(found)}"


def config(context: Context, value: object) -> Iterator[Row]:
    """The launch configuration of a kernel: `config = { "triton_poi*" = "XBLOCK=1024*" }`."""
    for place, wanted in a_table(value, "config", '{ "triton_poi*" = "XBLOCK=1024*" }').items():
        where, _ = context.place(place)
        for unit in context.units(place):
            found = use(context.find(where), unit).config
            if found is None:
                raise NotRecorded(f"no launch configuration is recorded for {unit.kernel}")
            yield fnmatchcase(found, str(wanted)), f"{place}: {wanted}", f"{place}: {found}"


def tensors(kind: str, field: str) -> Callable[[Context, object], Iterator[Row]]:
    """The expectation about an op's inputs: `shapes = { "aten::mm#1" = [[8192, 768], [768, 3072]] }`."""

    def hold(context: Context, value: object) -> Iterator[Row]:
        for place, wanted in a_table(value, kind, '{ "aten::mm#1" = [[8192, 768], [768, 3072]] }').items():
            sizes = cast("list[Any]", wanted) if isinstance(wanted, list) else []
            if not sizes or not all(isinstance(item, list) for item in sizes):
                raise PassError(f"{kind}: {place} takes a list of lists of sizes, such as [[8192, 768], [768, 3072]].")
            for op in ops_at(context, place):
                told = getattr(op, field)
                if told is None:
                    raise NotRecorded(f"{kind} were not recorded: profile with record_shapes=True")
                found = [list(cast("list[Any]", item)) for item in told if isinstance(item, (list, tuple)) and item]
                yield found == wanted, f"{place} {wanted}", f"{place} {found}"

    return hold


def ops_at(context: Context, place: str) -> list[Op]:
    """The CPU ops at a place. Raises PassError where only kernels go by that name."""
    where, selector = context.place(place)
    if selector is None:
        raise PassError(f"{place!r} names a recording; say an op of it, such as {place}:aten::mm#1.")
    found = select.ops_named(context.find(where), selector)
    if not found:
        raise PassError(f"{place!r} is no CPU op of the recording.")
    return found


@each_place('{ "aten::mm#1" = "~ 38.7e9" }')
def flops(context: Context, place: str) -> Iterator[Found]:
    """Floating-point operations of a GEMM, convolution or attention, from the shapes of its inputs, as torch counts them."""
    for op in ops_at(context, place):
        if (count := of_op(op)) is None:
            raise NotRecorded(f"{op.name} has no recorded shapes, or multiplies no matrices")
        yield count, f"{place} {flop(count)}"


def shares_storage(context: Context, value: object) -> Iterator[Row]:
    """Ops whose result is a view of an input's storage, as seen when they ran."""
    for name in a_list(value, "shares_storage"):
        select.require(context.recording, name)
        found = [n for _, n in select.nodes_named(context.recording, name) if n.aliases is not None and n.outputs]
        expected = f"{name} shares storage"
        if not found:
            raise NotRecorded("storage is compared only when a program is recorded live")
        shares = all(node.aliases for node in found)
        yield shares, expected, f"{name} {'shares it with its input' if shares else 'has storage of its own'}"
