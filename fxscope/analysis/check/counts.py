"""Numbers of kernels, ops and graphs in a step, each with its words."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from fxscope.analysis import select
from fxscope.analysis.check.context import Context, NotRecorded, listed
from fxscope.analysis.compare.assign import is_gemm
from fxscope.analysis.compare.rest import tells_of_dynamo
from fxscope.analysis.report import compile_rows
from fxscope.index import index_of
from fxscope.model import Recording
from fxscope.op_names import is_called
from fxscope.text import counted

Found = tuple[float, str]  # a number, and what is shown of it
Reason = tuple[float, str, str | None]  # and why it is so


def events(context: Context, _: str, *, noun: str, categories: Sequence[str]) -> Iterator[Found]:
    """Count device events of some categories in each step, of all where none is named; planned kernels where nothing ran."""
    recording = context.recording
    if recording.launches:
        counts = index_of(recording).counts(*categories)
    elif "kernel" in categories and recording.calls:
        counts = [len(recording.calls)]
    else:
        raise NotRecorded("the recording has no device events")
    yield from ((count, counted(count, noun)) for count in dict.fromkeys(counts))


def gemms(context: Context, _: str) -> Iterator[Found]:
    units = [unit for unit in select.units(context.recording) if unit.is_kernel]
    if not units:
        raise NotRecorded("nothing ran and nothing was compiled in this recording")
    found = [unit.kernel for unit in units if is_gemm(unit)]
    yield len(found), f"{counted(len(found), 'GEMM')}: {listed(found)}"


def kernel_calls(context: Context, _: str) -> Iterator[Found]:
    recording = context.recording
    if not recording.calls and not recording.compiles:
        raise NotRecorded("nothing was compiled in this recording")
    yield len(recording.calls), counted(len(recording.calls), "kernel call")


def graphs(context: Context, _: str) -> Iterator[Found]:
    number = len(context.recording.compiles)
    if not number:
        raise NotRecorded("no compile was recorded: an eager run, or files without a compile log")
    yield number, counted(number, "graph")


def compiles(context: Context, _: str, *, noun: str, rows: int) -> Iterator[Reason]:
    """Count rows of `compile_rows`, as an overview does. Raises NotRecorded where nothing says what Dynamo did."""
    next(graphs(context, ""))
    if not tells_of_dynamo(context.recording):
        raise NotRecorded("a debug folder does not contain it: give the compile log (TORCH_TRACE=FOLDER)")
    found = compile_rows(context.recording)[rows]
    number = sum(row.count for row in found)
    yield number, counted(number, noun), "; ".join(f"{row.where} ×{row.count}: {row.reason}" for row in found)


def ops(context: Context, place: str) -> Iterator[Found]:
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


def kernel_counts(context: Context, place: str) -> Iterator[Found]:
    rows = {name: [unit.kernel for unit in select.units(item)] for name, item in context.recordings.items()}
    every = {kernel for row in rows.values() for kernel in row}
    if not any(kernel == place or fnmatchcase(kernel, place) for kernel in every):
        raise select.missing(f"no kernel of the recordings matches {place!r}", place, every)
    found = sum(kernel == place or fnmatchcase(kernel, place) for kernel in rows[context.here])
    yield found, f"{place} {found}"


def launches(context: Context, place: str) -> Iterator[Found]:
    select.require(context.recording, place)
    under = [unit for unit in select.units_matching(context.recording, place) if unit.is_kernel]
    yield len(under), f"{place} {len(under)}"


def launched(context: Context, place: str) -> Iterator[Found]:
    """Count what runs on the device under an op or what it called; by plan where nothing ran."""
    recording = context.recording
    select.require(recording, place)
    under = [unit.kernel for unit in select.units(recording) if any(is_called(name, place) for name in unit.chain)]
    if not under and not (recording.launches and any(select.op_named(op, place) for op in recording.ops)):
        under = calls_of_nodes(recording, place)
    yield len(under), f"{place} → {listed(under) or 'nothing'}"


def calls_of_nodes(recording: Recording, name: str) -> list[str]:
    """Return the kernels that the nodes of an op run in. Raises NotRecorded where there is no such node."""
    nodes = select.nodes_named(recording, name)
    if not nodes:
        raise NotRecorded("neither launches nor kernel calls show how it ran")
    calls = index_of(recording).calls
    by_node = {(launch.graph, node) for launch in recording.launches for node in launch.nodes}
    found: list[str] = []
    for graph_id, node in nodes:
        if node.nature != "view" and node.kind not in ("view", "folded", "eliminated", "input"):
            found += [calls[item].kernel for item in node.calls if item in calls]
            found += [node.name] if not node.calls and (graph_id, node.name) in by_node else []
    return found
