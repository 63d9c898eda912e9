"""CUDA and HIP graphs in a trace: what each capture recorded, which kernels a replay ran, and which is which.

A replay is one `cudaGraphLaunch` or `hipGraphLaunch`, whose correlation id all its kernels carry. A kernel of a replay belongs
to a captured call where the profiler's node ids or the order of start put it there, and number, names and grids agree (a CUDA
trace has only the number). Else it is unknown.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fxscope.index import grouped
from fxscope.readers.trace import table as t
from fxscope.readers.trace.table import whole

if TYPE_CHECKING:
    from fxscope.readers.trace.columns import Trace
    from fxscope.readers.trace.reader import Args

REPLAY = re.compile(r"(cuda|cu|hip)GraphLaunch")
_CAPTURE = re.compile(r"(cuda|cu|hip)(Thread)?Stream(Begin|End)Capture")
LAUNCHES = re.compile(
    r"(cuda|cu|hip)(Ext)?(Module)?Launch(Cooperative)?Kernel|(cuda|cu|hip)(Memcpy|Memset)\w*Async|hip(Memcpy)WithStream"
)
MIN_NAMED = 8  # kernels of a replay whose names alone show which capture it is of
HIP_LAUNCH = re.compile(r"hip\w*LaunchKernel")  # the calls whose arguments name the kernel


@dataclass(kw_only=True)
class Capture:
    """One capture: its calls in order, the op of each (-1 for none), and what each launched, `None` where unsaid."""

    calls: NDArray[np.int64]
    ops: NDArray[np.int64]
    window: tuple[int, int]  # start and end in ns
    kernels: list[tuple[str, object] | None]
    label: str  # the annotation around it, such as "capture_32_FULL"


@dataclass(kw_only=True)
class Replay:
    """One replay: its device rows in the order of the graph's nodes."""

    rows: NDArray[np.int64]
    graph: int | None  # as the profiler numbers it
    nodes: list[int] | None
    label: str


def captures_of(trace: Trace) -> list[Capture]:
    from fxscope.readers.trace.columns import ops_of

    marks = rows_named(trace, _CAPTURE)
    open_since: dict[int, int] = {}
    windows: list[tuple[int, int, int]] = []
    for row in marks[np.argsort(trace.start_ns[marks], kind="stable")].tolist():
        thread, start = int(trace.thread[row]), int(trace.start_ns[row])
        if "Begin" in trace.name_of(row):
            open_since[thread] = row
        elif thread in open_since:
            begin = open_since.pop(thread)
            windows.append((int(trace.start_ns[begin]), start, begin))
    if not windows:
        return []
    calls = rows_named(trace, LAUNCHES)
    launched = np.unique(trace.launcher[trace.launcher >= 0])
    calls = calls[~np.isin(calls, launched)]
    calls = calls[np.argsort(trace.start_ns[calls], kind="stable")]
    starts = trace.start_ns[calls]
    found: list[Capture] = []
    for begin, end, mark in sorted(windows):
        mine = calls[np.searchsorted(starts, begin) : np.searchsorted(starts, end)]
        if len(mine):
            details = trace.details([row for row in mine.tolist() if HIP_LAUNCH.match(trace.name_of(row))])
            of_calls = map(details.get, mine.tolist())
            kernels = [(a.kernel, a.grid) if a is not None and isinstance(a.kernel, str) else None for a in of_calls]
            found.append(
                Capture(
                    calls=mine,
                    ops=ops_of(trace, mine, trace.external_id[mine])[1].astype(np.int64),
                    window=(begin, end),
                    kernels=kernels,
                    label=_label(trace, mark),
                )
            )
    return found


def replays_of(trace: Trace) -> Iterator[Replay]:
    launches = rows_named(trace, REPLAY)
    if not len(launches):
        return
    device = np.flatnonzero((trace.category >= t.KERNEL) & np.isin(trace.launcher, launches))
    device = device[np.lexsort((trace.start_ns[device], trace.launcher[device]))]
    details = trace.details(device.tolist())
    for launch in launches[np.argsort(trace.start_ns[launches], kind="stable")].tolist():
        rows = device[slice(*np.searchsorted(trace.launcher[device], [launch, launch + 1]))]
        if not len(rows):
            continue
        found = [_number(details.get(row), "graph_node") for row in rows.tolist()]
        known = [node for node in found if node is not None]
        nodes = sorted(known) if len(known) == len(rows) else None
        rows = rows if nodes is None else rows[np.argsort(known, kind="stable")]
        graph = _number(details.get(int(rows[0])), "graph_id")
        yield Replay(rows=rows, graph=graph, nodes=nodes, label=_label(trace, launch))


def link_replays(trace: Trace, captures: Sequence[Capture]) -> None:
    """Fill `graph` and `node` of the device rows of every replay; with a capture, their `op` and `issuer`, too."""
    graphs: dict[object, list[Replay]] = {}
    for replay in replays_of(trace):
        # What a graph is known by: the profiler's number, else which kernels it runs how often.
        ran = replay.graph if replay.graph is not None else Counter(trace.name[replay.rows].tolist())
        graphs.setdefault(tuple(sorted(ran.items())) if isinstance(ran, Counter) else ran, []).append(replay)
    numbers = _numbers(graphs)
    for identity, members in graphs.items():
        first = members[0].rows
        for replay in members:
            trace.graph[replay.rows] = numbers[identity]
            trace.graph_node[replay.rows] = replay.nodes or _places(trace, first, replay.rows)
    for replay, capture, places in _matched(trace, list(graphs.values()), captures):
        ops = capture.ops[places]
        trace.issuer[replay.rows] = capture.calls[places]
        known = ops >= 0
        trace.op[replay.rows[known]] = ops[known]
        trace.op_evidence[replay.rows[known]] = t.BY_ORDER


def _matched(
    trace: Trace, graphs: Sequence[Sequence[Replay]], captures: Sequence[Capture]
) -> list[tuple[Replay, Capture, list[int]]]:
    """Each replay, its capture and the call of each row: the only capture that fits, or one of as many as are to choose for."""
    places = [[_fitting(trace, members[0], item) for item in captures] for members in graphs]
    fitting = [tuple(i for i, each in enumerate(found) if each is not None) for found in places]
    rivals, turn = Counter(fitting), Counter[tuple[int, ...]]()
    found: list[tuple[Replay, Capture, list[int]]] = []
    for members, candidates, calls in zip(graphs, fitting, places, strict=True):
        chosen: Iterable[int] = ()
        if rivals[candidates] == len(candidates):  # as many graphs as captures: both in the order of their numbers
            chosen = itertools.repeat(candidates[turn[candidates]])
            turn[candidates] += 1
        elif candidates:
            labelled = tuple(i for i in candidates if _batch(captures[i].label) & _batch(members[0].label))
            fit = labelled if rivals[candidates] == 1 and labelled else candidates
            # Pieces of one model that run the same kernels: they are replayed in the order in which they were captured
            chosen = itertools.cycle(fit) if rivals[candidates] == 1 and len(members) % len(fit) == 0 else ()
        found += [(replay, captures[i], calls[i] or []) for replay, i in zip(members, chosen, strict=False)]
    return found


def _fitting(trace: Trace, replay: Replay, capture: Capture) -> list[int] | None:
    """Return which call of a capture each row of a replay is of; `None` where it ran something else, or in another order.

    A memset of no bytes runs nothing. A HIP trace may lack the last kernel of each replay.
    """
    rows, calls = replay.rows.tolist(), [trace.name_of(call) for call in capture.calls.tolist()]
    lacks_last = len(rows) == len(calls) - 1 >= MIN_NAMED and None not in capture.kernels
    places: list[int] | None = [*range(len(rows))]
    if len(rows) != len(calls) and not lacks_last:
        letters = ("M" if trace.category[row] == t.MEMSET else "K" for row in rows)
        places = _places_of("".join("M" if "Memset" in call else "K" for call in calls), "".join(letters))
    # Streams of a replay run side by side: the order of their kernels is that of the calls only if their names are
    if replay.nodes is None and None in capture.kernels and len(set(trace.thread[replay.rows].tolist())) > 1:
        return None
    details = trace.details(rows) if any(capture.kernels) else {}
    for row, place in zip(rows, places or (), strict=False):
        call, kernel, is_kernel = calls[place], capture.kernels[place], trace.category[row] == t.KERNEL
        if ("Kernel" in call) != is_kernel and not (is_kernel and "Memset" in call):
            return None
        if kernel is not None and is_kernel:
            name, grid = kernel
            seen = getattr(details.get(row), "grid", None)
            if name != trace.name_of(row) or (seen is not None and grid is not None and seen != grid):
                return None
    return places


def _places_of(calls: str, rows: str) -> list[int] | None:
    """Return which call each row is of, where all but some memsets ran; both are a letter each, M for a memset."""
    found = re.fullmatch(re.sub("M+", r"(\g<0>)?", calls), rows)
    ran = iter(found.groups() if found else ())
    missing = {place for memsets in re.finditer("M+", calls) if not next(ran, "") for place in range(*memsets.span())}
    return [place for place in range(len(calls)) if place not in missing] if found else None


def _numbers(graphs: dict[object, list[Replay]]) -> dict[object, int]:
    """A number for each graph: the profiler's, else counted from 1 in the order of their first replay."""
    taken = {replays[0].graph for replays in graphs.values()}
    free = (number for number in range(1, len(graphs) + len(taken) + 1) if number not in taken)
    return {key: replays[0].graph if replays[0].graph is not None else next(free) for key, replays in graphs.items()}


def _places(trace: Trace, first: NDArray[np.int64], rows: NDArray[np.int64]) -> list[int]:
    """The node of each row, from 1: the place in the graph's first replay of the n-th kernel of that name."""
    names: list[int] = trace.name[first].tolist()
    places = grouped(range(1, len(names) + 1), lambda place: names[place - 1])
    left = {name: iter(found) for name, found in places.items()}
    return [next(left[name]) for name in trace.name[rows].tolist()]


def _batch(label: str) -> set[int]:
    """The numbers in an annotation of vLLM or SGLang: "capture_32_FULL", "step[DECODE bs=32]", "execute_32_context_0…"."""
    found = re.match(r"(?:capture|execute)_(\d+)_|step\[\w+ bs=(\d+)", label)
    return {int(number) for number in found.groups() if number} if found else set()


def _label(trace: Trace, row: int) -> str:
    """The innermost annotation around a row that names a batch, else the innermost of all."""
    innermost = ""
    while (row := int(trace.parent[row])) >= 0:
        if trace.category[row] == t.ANNOTATION:
            innermost = innermost or trace.name_of(row)
            if _batch(trace.name_of(row)):
                return trace.name_of(row)
    return innermost


def _number(args: Args | None, field: str) -> int | None:
    return whole(getattr(args, field)) or None if args is not None else None


def rows_named(trace: Trace, pattern: re.Pattern[str]) -> NDArray[np.int64]:
    from fxscope.readers.trace.columns import of_names

    return np.flatnonzero((trace.category == t.RUNTIME) & of_names(trace, trace.name, pattern.match))
