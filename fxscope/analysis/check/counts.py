"""Expectations that count: kernels, memsets, GEMMs, ops, graphs; and what occurs or does not."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fxscope.analysis import select
from fxscope.analysis.check import quantity
from fxscope.analysis.check.context import Answer, Context, NotRecorded, a_list, each_place, each_step, listed, met
from fxscope.analysis.compare.assign import is_gemm
from fxscope.analysis.compare.rest import tells_of_dynamo
from fxscope.index import index_of
from fxscope.model import KERNELS
from fxscope.op_names import is_called
from fxscope.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fxscope.analysis.check.context import Found, Kind, Row
    from fxscope.model import Recording


@each_step("kernels")
def kernels(recording: Recording) -> Sequence[int]:
    """Kernels per step, without memsets and copies; planned kernel calls where nothing ran."""
    if recording.launches:
        return index_of(recording).counts(*KERNELS)
    if recording.calls:
        return [len(recording.calls)]
    raise NotRecorded("nothing ran and nothing was compiled in this recording")


def of_categories(noun: str, *categories: str) -> Kind:
    """The expectation that counts device events of some categories, of all where none is named."""

    @each_step(noun)
    def count(recording: Recording) -> Sequence[int]:
        if not recording.launches:
            raise NotRecorded("the recording has no device events")
        return index_of(recording).counts(*categories)

    return count


def gemms(context: Context, value: object) -> Answer:
    """GEMMs among the kernels of a step."""
    expected = quantity.parse(value)
    units = [u for u in select.units(context.recording) if u.is_kernel]
    if not units:
        raise NotRecorded("nothing ran and nothing was compiled in this recording")
    found = [unit.kernel for unit in units if is_gemm(unit)]
    return met(expected.holds(len(found)), expected.text, f"{counted(len(found), 'GEMM')}: {listed(found)}")


@each_step("kernel calls")
def kernel_calls(recording: Recording) -> Sequence[int]:
    """Kernel calls in the generated wrappers."""
    if not recording.calls and not recording.compiles:
        raise NotRecorded("nothing was compiled in this recording")
    return [len(recording.calls)]


def compiled(what: str) -> Kind:
    """The expectation about what Dynamo did: graphs, graph breaks, recompiles."""

    def count(context: Context, value: object) -> Answer:
        expected, compiles = quantity.parse(value), context.recording.compiles
        if not compiles:
            raise NotRecorded("no compile was recorded: an eager run, or files without a compile log")
        if what != "graphs" and not tells_of_dynamo(context.recording):
            raise NotRecorded("a debug folder does not contain it: give the compile log (TORCH_TRACE=FOLDER)")
        reasons = {
            "graphs": ["" for _ in compiles],
            "graph_breaks": [item.break_reason for item in compiles if item.break_reason],
            "recompiles": [
                item.recompile_reason or f"{item.compile_id}, for a reason that was not recorded"
                for item in compiles
                if again(item.compile_id) and item.recompile_reason != ""
            ],
        }[what]
        found = counted(len(reasons), what.replace("_", " ").removesuffix("s"))
        return met(expected.holds(len(reasons)), expected.text, found, "; ".join(filter(None, reasons)) or None)

    return count


def again(compile_id: str) -> bool:
    """Return whether a compile id says that its frame was compiled before: "0/1"."""
    tail = compile_id.rsplit("/", 1)[-1]
    return tail.split("_")[0].isdigit() and int(tail.split("_")[0]) > 0


@each_place('{ "aten::mm" = 3 }')
def ops(context: Context, place: str) -> Iterator[Found]:
    """CPU ops per step: `ops = { "aten::mm" = 3 }`."""
    recording = context.recording
    if not any(select.known(item, place) for item in context.recordings.values()):
        every = (word for item in context.recordings.values() for word in select.words(item))
        raise select.missing(f"{place!r} occurs in no recording", place, every)
    if not recording.ops:
        raise NotRecorded("the recording has no CPU ops")
    first = index_of(recording).typical_step
    count = sum(op.step == first and select.op_named(op, place) for op in recording.ops)
    number = select.parse_selector(place).number
    yield (count if number is None else count >= number), f"{place} {count}"


@each_place('{ "nvjet*" = 3 }')
def kernel_counts(context: Context, place: str) -> Iterator[Found]:
    """Kernels per step by name, globs allowed: `kernel_counts = { "nvjet*" = 3, "*softmax*" = 0 }`."""
    rows = {name: [u.kernel for u in select.units(item)] for name, item in context.recordings.items()}
    every = {kernel for row in rows.values() for kernel in row}
    if not any(matches(kernel, place) for kernel in every):
        raise select.missing(f"no kernel of the recordings matches {place!r}", place, every)
    found = sum(matches(kernel, place) for kernel in rows[context.here])
    yield found, f"{place} {found}"


def has_ops(context: Context, value: object) -> Answer | Iterable[Row]:
    """CPU ops that occur in a step."""
    return ops(context, dict.fromkeys(a_list(value, "has_ops"), ">= 1"))


def no_ops(context: Context, value: object) -> Answer | Iterable[Row]:
    """CPU ops that do not occur, though another of the recordings has them."""
    return ops(context, dict.fromkeys(a_list(value, "no_ops"), 0))


def launches_none(context: Context, value: object) -> Iterator[Row]:
    """Ops under which nothing runs on the device."""
    for name in a_list(value, "launches_none"):
        select.require(context.recording, name)
        under = launched_under(context.recording, name)
        if under is None:
            raise NotRecorded("neither launches nor kernel calls show how it ran")
        yield not under, f"{name} launches nothing", f"{name} → {listed(under) or 'nothing'}"


def launched_under(recording: Recording, name: str) -> list[str] | None:
    """The kernels launched by an op or what it called; by plan where nothing ran; `None` if untold."""
    if recording.launches:
        chosen = [u for u in select.units(recording) if any(is_called(c, name) for c in u.chain)]
        if chosen or any(select.op_named(op, name) for op in recording.ops):
            return [unit.kernel for unit in chosen]
    nodes = select.nodes_named(recording, name)
    if not nodes:
        return None
    calls = {call.id: call.kernel for call in recording.calls}
    by_node = {(launch.graph, node) for launch in recording.launches for node in launch.nodes}
    found: list[str] = []
    for graph_id, node in nodes:
        if node.nature == "view" or node.kind in ("view", "folded", "eliminated", "input"):
            continue
        found += [calls[item] for item in node.calls if item in calls]
        if not node.calls and (graph_id, node.name) in by_node:
            found.append(node.name)
    return found


@each_place('{ "aten::linear" = 3 }')
def launches(context: Context, place: str) -> Iterator[Found]:
    """Device events under an op per step: `launches = { "aten::linear" = 3 }`; kernels only."""
    select.require(context.recording, place)
    under = [u for u in select.units_matching(context.recording, place) if u.is_kernel]
    yield len(under), f"{place} {len(under)}"


def matches(kernel: str, pattern: str) -> bool:
    """Return whether a kernel's name is the pattern, or fits it as a glob."""
    return kernel == pattern or fnmatchcase(kernel, pattern)
