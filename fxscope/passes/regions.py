"""Regions of a trace in which one compiled graph ran, and the alignment of what they launched with the wrapper's calls."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fxscope.columns import array, column, marked, positions
from fxscope.index import grouped
from fxscope.model import Graph, KernelCall, Launch, Recording
from fxscope.op_names import REGION_ID, REGION_KEY, runs_as, without_graph_number, without_number
from fxscope.passes.alignment import longest


@dataclass(kw_only=True)
class OpGroup:
    name: str
    start_ns: int
    launches: list[Launch] = field(default_factory=list)


@dataclass(kw_only=True)
class Region:
    start_ns: int
    key: str | None
    compile_id: str | None
    backward: bool
    step: int
    groups: list[OpGroup] = field(default_factory=list)
    replayed: list[Launch] = field(default_factory=list)  # of a CUDA graph's replay, see `as_captured`


def regions_of(recording: Recording, launches: dict[int, Launch]) -> list[Region]:
    are_host = marked(recording.ops, "category", ("user_annotation", "cpu_op").__contains__)
    rows = (marked(recording.ops, "name", REGION_KEY.match) & are_host).nonzero()[0].tolist()
    if not rows:
        return []
    ops = _Ops(recording)
    regions = {row: _region(row, ops) for row in rows}
    runtime: dict[int | None, int] = {
        correlation: row
        for row, correlation in enumerate(column(recording.ops, "correlation"))
        if correlation is not None and ops.category[row] == "runtime"
    }
    groups: dict[tuple[int, int], OpGroup] = {}
    for launch in launches.values():
        issuer = ops.row.get(launch.op_id, -1)
        call = runtime.get(launch.correlation, -1)
        # A replay's kernels belong where they were captured, not to what launched the graph
        captured = issuer >= 0 and launch.evidence.op == "order"
        around, child = _region_around(issuer if call < 0 or captured else call, regions, ops)
        if around is None:
            continue
        region = regions[around]
        if child is None or ops.category[child] == "runtime":
            # Launched by the region itself, under no op: a CUDA graph's replay
            region.replayed.append(launch)
            continue
        group = groups.get((around, child))
        if group is None:
            group = groups[around, child] = OpGroup(name=ops.name[child], start_ns=ops.start_ns[child])
            region.groups.append(group)
        group.launches.append(launch)
    for region in regions.values():
        region.groups.sort(key=lambda group: group.start_ns)
        region.replayed = as_captured(region.replayed)
    return sorted(regions.values(), key=lambda region: region.start_ns)


def as_captured(launches: Iterable[Launch]) -> list[Launch]:
    """The device events of a replay in the order of capture where their nodes are known, else of their start.

    Branches of a graph start in any order. A node's id (Kineto: `graph node id`) is the graph's number, then one that
    counts up as nodes are captured. What is outside of the graph, such as a copy of its inputs, keeps its place.
    """
    found = sorted(launches, key=lambda launch: launch.start_ns)
    places = [place for place, launch in enumerate(found) if launch.cuda_graph_node is not None]
    first: dict[int | None, int] = {}  # start of each replay
    for place in places:
        first.setdefault(found[place].correlation, found[place].start_ns)
    nodes = [found[place] for place in places]
    nodes.sort(key=lambda launch: (first[launch.correlation], launch.cuda_graph_node or 0))
    for place, launch in zip(places, nodes, strict=True):
        found[place] = launch
    return found


def replays_in(launches: Iterable[Launch]) -> list[list[Launch]]:
    """The device events of each run: the region that captured a graph has those of all replays of it."""
    seen: dict[int | None, dict[int | None, int]] = {}
    found: dict[int, list[Launch]] = {}
    for launch in launches:
        replays = seen.setdefault(launch.cuda_graph, {})
        number = 0 if launch.cuda_graph is None else replays.setdefault(launch.correlation, len(replays))
        found.setdefault(number, []).append(launch)
    return list(found.values())


class _Ops:
    def __init__(self, recording: Recording) -> None:
        ops = recording.ops
        self.name, self.category = column(ops, "name"), column(ops, "category")
        self.step, self.start_ns = column(ops, "step"), column(ops, "start_ns")
        self.row: dict[int | None, int] = {op_id: row for row, op_id in enumerate(column(ops, "id"))}
        self.around = positions(ops, "id", array(ops, "parent")).tolist()  # -1 for none


def _region(row: int, ops: _Ops) -> Region:
    key = REGION_KEY.sub(r"\g<key>", ops.name[row])
    compile_id, backward = None, False
    around = ops.around[row]
    while around >= 0:
        found = REGION_ID.match(ops.name[around])
        if found and compile_id is None:
            compile_id = found["id"]
        backward = backward or "CompiledFunctionBackward" in ops.name[around]
        around = ops.around[around]
    return Region(
        start_ns=ops.start_ns[row],
        key=None if key in ("None", "") else key,
        compile_id=compile_id,
        backward=backward,
        step=ops.step[row],
    )


def _region_around(row: int, regions: dict[int, Region], ops: _Ops) -> tuple[int | None, int | None]:
    """(innermost region, its direct child on the way to the op); annotations below a region are looked through."""
    child: int | None = None
    while row >= 0:
        if row in regions:
            return row, child
        if ops.category[row] != "user_annotation":
            child = row
        row = ops.around[row]
    return None, None


def pick_graph(region: Region, calls: dict[str, list[KernelCall]], graphs: dict[str, Graph]) -> str | None:
    """The post-grad graph that ran in a region: by its key, else by compile id, direction and what it launched."""
    if region.key is not None:
        for graph_id, graph in graphs.items():
            if graph.cache_key == region.key and graph_id in calls:
                return graph_id
    scores: dict[str, float] = {}
    for graph_id, mine in calls.items():
        graph = graphs.get(graph_id)
        same_id = graph is not None and graph.compile_id == region.compile_id
        same_way = (graph is not None and graph.direction == "backward") == region.backward
        if (share := agreement(region, mine)) > 0:
            scores[graph_id] = share + 0.25 * same_id + 0.25 * same_way
    return max(scores, key=scores.__getitem__, default=None)


def agreement(region: Region, calls: Sequence[KernelCall]) -> float:
    """Return which share of the region's launching ops and of the calls fit each other in order; 0 where too few do."""
    if region.replayed:
        pairs = [pair for replay in replays_in(region.replayed) for pair in match_replay(replay, calls)]
        fitting, num = len({call.id for _, call in pairs}), len(calls)
    else:
        fitting, num = len(match_sequence([g.name for g in region.groups], calls)), max(len(region.groups), len(calls))
    share = fitting / num if num else 0.0
    return share if share >= 0.5 else 0.0


def fits(op: str, call: KernelCall) -> bool:
    if call.is_extern:
        return runs_as(call.kernel, op)
    if call.profiled_as is not None and op == call.profiled_as:
        return True
    op = without_graph_number(op)
    return op == call.kernel or (call.type in ("user_triton", "triton_other") and without_number(call.kernel) == op)


def match_sequence(names: Sequence[str], calls: Sequence[KernelCall]) -> list[tuple[int, KernelCall]]:
    """Align the ops that launched something, in order, with the calls that did; copies into a graph's inputs are left out."""
    kinds = {(call.kernel, call.type): call for call in calls}
    fitting = {name: {kind for kind, call in kinds.items() if fits(name, call)} for name in set(names)}
    places = {
        name: int("".join("01"[(call.kernel, call.type) in found] for call in calls) or "0", 2)
        for name, found in fitting.items()
    }
    return [(row, calls[place]) for row, place in longest(names, places, len(calls))]


def match_replay(launches: Sequence[Launch], calls: Sequence[KernelCall]) -> list[tuple[Launch, KernelCall]]:
    """Align a replay's device events with the calls: generated kernels by name, what lies between them by order.

    Between two generated kernels the extern calls share the events there: a memset belongs to the kernel after it, a
    split-K reduction to the one before it. Where equal calls have unequal numbers of kernels, those have no call.
    """
    pairs: list[tuple[Launch, KernelCall]] = []
    position = 0
    pending: list[KernelCall] = []
    named = grouped(range(len(launches)), lambda index: launches[index].name)
    places: dict[tuple[str, str], list[int]] = {}
    for call in calls:
        if call.is_extern:
            pending.append(call)
            continue
        key = (call.kernel, call.type)
        if key not in places:
            places[key] = sorted(index for name, rows in named.items() if fits(name, call) for index in rows)
        after = bisect_left(places[key], position)
        if after == len(places[key]):
            continue
        found = places[key][after]
        pairs += [*_share(launches[position:found], pending), (launches[found], call)]
        position, pending = found + 1, []
    return pairs + _share(launches[position:], pending)


def _share(launches: Sequence[Launch], calls: Sequence[KernelCall]) -> list[tuple[Launch, KernelCall]]:
    each, rest = divmod(len(launches), len(calls)) if calls else (0, 0)
    names = [launch.name for launch in launches]
    if each and not rest and names == names[:each] * len(calls) and len({_work(call) for call in calls}) == 1:
        return [(launch, calls[position // each]) for position, launch in enumerate(launches)]
    groups: list[list[Launch]] = []
    waiting: list[Launch] = []
    for launch in launches:
        if launch.category != "kernel":
            waiting.append(launch)
        elif groups and re.search(r"splitK|splitk|reduce", launch.name) and "reduce_kernel<" not in launch.name:
            groups[-1] += [*waiting, launch]
            waiting = []
        else:
            groups.append([*waiting, launch])
            waiting = []
    if waiting and groups:
        groups[-1] += waiting
    if len(groups) == len(calls):
        return [(launch, call) for group, call in zip(groups, calls, strict=True) for launch in group]
    return []


def _work(call: KernelCall) -> object:
    """Return what equal calls of a library share; the call's own id where its buffers are unknown."""
    if call.reads is None or call.writes is None:
        return call.id
    buffers = (*call.reads, *call.writes)
    return call.kernel, tuple(sorted(str((access.shape, access.stride, access.dtype)) for access in buffers))
