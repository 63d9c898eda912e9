"""Expectations that count: kernels, memsets, GEMMs, ops, graphs; and what occurs or does not."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fxscope.analysis import select
from fxscope.analysis.check import quantity
from fxscope.analysis.check.context import (
    Answer,
    Context,
    NotRecorded,
    a_list,
    counted,
    listed,
    met,
    quantities,
    unknown,
)
from fxscope.analysis.compare.assign import is_gemm
from fxscope.analysis.compare.rest import tells_of_dynamo
from fxscope.index import index_of
from fxscope.model import KERNELS
from fxscope.op_names import is_called

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fxscope.analysis.check.context import Row
    from fxscope.model import Recording


def kernels(context: Context, value: object) -> Answer:
    """Kernels per step, without memsets and copies; planned kernel calls where nothing ran."""
    expected, recording = quantity.parse(value), context.recording
    if recording.launches:
        return counted(index_of(recording).counts(*KERNELS), expected, "kernels")
    if recording.calls:
        return counted([len(recording.calls)], expected, "planned kernel calls")
    return unknown(expected.text, "nothing ran and nothing was compiled in this recording")


def of_categories(noun: str, *categories: str) -> Callable[[Context, object], Answer]:
    """The expectation that counts device events of some categories, of all where none is named."""

    def count(context: Context, value: object) -> Answer:
        expected = quantity.parse(value)
        if not context.recording.launches:
            return unknown(expected.text, "the recording has no device events")
        return counted(index_of(context.recording).counts(*categories), expected, noun)

    return count


def gemms(context: Context, value: object) -> Answer:
    """GEMMs among the kernels of a step."""
    expected = quantity.parse(value)
    units = [u for u in select.units(context.recording) if u.is_kernel]
    if not units:
        return unknown(expected.text, "nothing ran and nothing was compiled in this recording")
    found = [unit.kernel for unit in units if is_gemm(unit)]
    return met(
        expected.holds(len(found)),
        expected.text,
        f"{len(found)} {'GEMM' if len(found) == 1 else 'GEMMs'}: {listed(found)}",
    )


def kernel_calls(context: Context, value: object) -> Answer:
    """Kernel calls in the generated wrappers."""
    expected, recording = quantity.parse(value), context.recording
    if not recording.calls and not recording.compiles:
        return unknown(expected.text, "nothing was compiled in this recording")
    return met(expected.holds(len(recording.calls)), expected.text, f"{len(recording.calls)} kernel calls")


def compiled(what: str) -> Callable[[Context, object], Answer]:
    """The expectation about what Dynamo did: graphs, graph breaks, recompiles."""

    def count(context: Context, value: object) -> Answer:
        expected, compiles = quantity.parse(value), context.recording.compiles
        if not compiles:
            return unknown(expected.text, "no compile was recorded: an eager run, or files without a compile log")
        if what != "graphs" and not tells_of_dynamo(context.recording):
            return unknown(
                expected.text, "a debug folder does not tell of it: give the compile log (TORCH_TRACE=FOLDER)"
            )
        if what == "graph_breaks":
            chosen = [c.break_reason for c in compiles if c.break_reason]
        elif what == "recompiles":
            chosen = [
                c.recompile_reason or f"{c.compile_id}, for a reason that was not recorded"
                for c in compiles
                if again(c.compile_id)
            ]
        else:
            chosen = [c.compile_id for c in compiles]
        noun = what.replace("_", " ").removesuffix("s" if len(chosen) == 1 else "\0")
        reason = "; ".join(chosen) if chosen and what != "graphs" else None
        return met(expected.holds(len(chosen)), expected.text, f"{len(chosen)} {noun}", reason)

    return count


def again(compile_id: str) -> bool:
    """Return whether a compile id says that its frame was compiled before: "0/1"."""
    tail = compile_id.rsplit("/", 1)[-1]
    return tail.split("_")[0].isdigit() and int(tail.split("_")[0]) > 0


def ops(context: Context, value: object) -> Iterator[Row]:
    """CPU ops per step: `ops = { "aten::mm" = 3 }`."""
    recording = context.recording
    for name, expected in quantities(value, "ops", '{ "aten::mm" = 3 }'):
        known_somewhere(context, name)
        if not recording.ops:
            raise NotRecorded(f"{name} {expected.text}", "the recording has no CPU ops")
        count = len(select.ops_named(recording, name)) if select.known(recording, name) else 0
        yield expected.holds(count), f"{name} {expected.text}", f"{name} {count}"


def kernel_counts(context: Context, value: object) -> Iterator[Row]:
    """Kernels per step by name, globs allowed: `kernel_counts = { "nvjet*" = 3, "*softmax*" = 0 }`."""
    names = [unit.kernel for unit in select.units(context.recording)]
    for pattern, expected in quantities(value, "kernel_counts", '{ "nvjet*" = 3 }'):
        found = sum(matches(name, pattern) for name in names)
        if not found:
            kernel_somewhere(context, pattern)
        yield expected.holds(found), f"{pattern} {expected.text}", f"{pattern} {found}"


def has_ops(context: Context, value: object) -> Iterator[Row]:
    """CPU ops that occur in a step."""
    return op_presence(context, a_list(value, "has_ops"), wanted=True)


def no_ops(context: Context, value: object) -> Iterator[Row]:
    """CPU ops that do not occur, though another of the recordings has them."""
    return op_presence(context, a_list(value, "no_ops"), wanted=False)


def op_presence(context: Context, names: list[str], *, wanted: bool) -> Iterator[Row]:
    """Yield whether each op occurs (or none does)."""
    recording = context.recording
    for name in names:
        known_somewhere(context, name)
    if not recording.ops:
        raise NotRecorded(listed(names), "the recording has no CPU ops")
    first = index_of(recording).typical_step
    for name in names:
        count = sum(op.step == first and select.op_named(op, name) for op in recording.ops)
        yield bool(count) == wanted, name if wanted else f"no {name}", f"{count} × {name}"


def launches_none(context: Context, value: object) -> Iterator[Row]:
    """Ops under which nothing runs on the device."""
    for name in a_list(value, "launches_none"):
        select.require(context.recording, name)
        under = launched_under(context.recording, name)
        if under is None:
            raise NotRecorded("launches nothing", "neither launches nor kernel calls tell what became of it")
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


def launches(context: Context, value: object) -> Iterator[Row]:
    """Device events under an op per step: `launches = { "aten::linear" = 3 }`; kernels only."""
    for name, expected in quantities(value, "launches", '{ "aten::linear" = 3 }'):
        select.require(context.recording, name)
        under = [u for u in select.units_matching(context.recording, name) if u.is_kernel]
        yield expected.holds(len(under)), f"{name} {expected.text}", f"{name} {len(under)}"


def matches(kernel: str, pattern: str) -> bool:
    """Return whether a kernel's name is the pattern, or fits it as a glob."""
    return kernel == pattern or fnmatchcase(kernel, pattern)


def known_somewhere(context: Context, name: str) -> None:
    """Raise PassError where no recording of this check has the op."""
    if any(select.known(recording, name) for recording in context.recordings.values()):
        return
    every = (word for recording in context.recordings.values() for word in select.words(recording))
    raise select.missing(f"{name!r} occurs in no recording", name, every)


def kernel_somewhere(context: Context, pattern: str) -> None:
    """Raise PassError where no recording of this check has such a kernel."""
    every = {unit.kernel for recording in context.recordings.values() for unit in select.units(recording)}
    if not any(matches(name, pattern) for name in every):
        raise select.missing(f"no kernel of the recordings matches {pattern!r}", pattern, every)
