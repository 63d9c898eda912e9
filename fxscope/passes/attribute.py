"""Attributes every device event: to its op (the trace knew), to the kernel call, to the graph's nodes.

Inside one `## Call CompiledFxGraph … ##` region the ops that launch device work come in the order of the wrapper's calls.
A kernel's name is never enough: the same kernel may run in every layer.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from statistics import median

from fxscope.columns import array, column, distinct, marked, positions, rows_of, with_columns
from fxscope.index import grouped, index_of
from fxscope.kernel_names import decode
from fxscope.model import Coverage, Graph, KernelCall, Launch, LaunchEvidence, Problem, Recording, Timing, replace
from fxscope.op_names import COMPILED_REGION, copies_around_graph, expected_nature
from fxscope.passes.regions import Region, fits, match_replay, match_sequence, pick_graph, regions_of, replays_in
from fxscope.text import counted, microseconds, percent

REMAINDER = "attribution"
CudaGraphNode = tuple[int | None, int | None, int | None]  # device, graph, node
Linked = tuple[str | None, tuple[str, ...], str | None, int | None, LaunchEvidence]  # of a launch, see `_LINKED`
_LINKED = ("call", "nodes", "graph", "invocation", "evidence")


def attribute(recording: Recording) -> Recording:
    """Recording → Recording whose launches know call and nodes with evidence; calls and nodes their times; coverage."""
    recording = without_idle(recording)
    launches = recording.launches
    if not launches:
        return recording
    links: list[Linked] = [(None, (), None, None, evidence) for evidence in column(launches, "evidence")]
    with_eager_nodes(links, recording)
    runs = with_calls(links, recording)
    decoded = {name: decode(name) for name in distinct(launches, "name")}
    linked = dict(zip(_LINKED, map(list, zip(*links, strict=True)), strict=True))
    # On a CPU a kernel goes by its op's name, or by the function that Inductor wrote: neither is coded.
    names = rows_of(launches, "name", "category")
    said = [None if category == "cpu_kernel" else decoded[name] for name, category in names]
    recording = replace(recording, launches=with_columns(launches, **linked, decoded=said))
    recording = replace(recording, coverage=coverage_of(recording))
    return with_idle_compiles(with_timing(with_remainder(recording)), runs)


def without_idle(recording: Recording) -> Recording:
    """The recording without CPU executions of ops that computed nothing; their nodes are expected to be the host's."""
    idle = {
        (graph.id, name)
        for graph in recording.graphs
        if graph.stage == "eager"
        for name, expected, target in rows_of(graph.nodes, "name", "expected", "target")
        if expected == "host" and expected_nature(target) == "kernel"
    }
    if not idle:
        return recording
    ops = {op for op, *key in rows_of(recording.ops, "id", "graph", "node") if tuple(key) in idle}
    kept = (item for item in recording.launches if item.category != "cpu_kernel" or item.op_id not in ops)
    return replace(recording, launches=tuple(kept))


def with_calls(links: list[Linked], recording: Recording) -> dict[str, int]:
    """Fill in the launches inside compiled regions: their call and its nodes; return how often each graph ran."""
    calls = grouped(recording.calls, lambda call: call.wrapper)
    if not calls:
        return {}
    launches = {launch.id: launch for launch in recording.launches}
    position = {launch_id: index for index, launch_id in enumerate(launches)}
    graphs = {graph.id: graph for graph in recording.graphs}
    by_id = index_of(recording).calls
    regions = regions_of(recording, launches)
    picked = [pick_graph(region, calls, graphs) for region in regions]
    assigned = [
        {} if graph_id is None else assign(region, calls[graph_id])
        for region, graph_id in zip(regions, picked, strict=True)
    ]
    by_node = calls_of_nodes(regions, assigned)
    runs: Counter[tuple[int, str]] = Counter()  # of a step's runs of a graph
    turns: dict[tuple[int, str], dict[object, int]] = {}  # of a step's runs of a call in a branch or a loop
    for region, graph_id, known in zip(regions, picked, assigned, strict=True):
        for launch in region.replayed:
            call_id = by_node.get(node_of(launch))
            if call_id is not None and graph_id in (None, by_id[call_id].wrapper):
                known.setdefault(launch.id, call_id)
                graph_id = by_id[call_id].wrapper
        if graph_id is None:
            continue
        captured = any(launches[launch_id].evidence.op == "order" for launch_id in known)
        if not captured:
            runs[region.step, graph_id] += 1
        numbers: dict[object, int] = {}  # of each replay, or of the one run, in its step
        groups = {launch.id: group.start_ns for group in region.groups for launch in group.launches}
        for launch_id, call_id in known.items():
            call, launch = by_id[call_id], launches[launch_id]
            step = launch.step if captured else region.step
            replay = (step, launch.correlation) if captured else None
            if replay not in numbers:
                runs[step, graph_id] += captured
                numbers[replay] = runs[step, graph_id] - 1
            how = LaunchEvidence(op=launch.evidence.op, call="order", nodes=call.nodes_evidence if call.nodes else None)
            graph = call.graph if call.nodes else None
            number = numbers[replay]
            if call.conditional:
                mine = turns.setdefault((step, call_id), {})
                number = mine.setdefault(groups[launch_id], len(mine))
            links[position[launch_id]] = call_id, call.nodes, graph, number, how
    totals: Counter[str] = Counter()
    for (_, graph_id), number in runs.items():
        totals[graph_id] += number
    return totals


def node_of(launch: Launch) -> CudaGraphNode:
    """Return what tells a CUDA graph's node from all others of the process."""
    return launch.device, launch.cuda_graph, launch.cuda_graph_node


def calls_of_nodes(regions: Sequence[Region], assigned: Sequence[Mapping[int, str]]) -> dict[CudaGraphNode, str]:
    """Return which call each node of a CUDA graph runs, as all replays in which that is known agree on."""
    found: dict[CudaGraphNode, set[str]] = {}
    for region, known in zip(regions, assigned, strict=True):
        for launch in region.replayed:
            if launch.cuda_graph_node is not None and launch.id in known:
                found.setdefault(node_of(launch), set()).add(known[launch.id])
    return {node: next(iter(calls)) for node, calls in found.items() if len(calls) == 1}


def assign(region: Region, calls: list[KernelCall]) -> dict[int, str]:
    """Launch id → call id for one region: ops by their order, a graph replay's kernels by order and name."""
    result: dict[int, str] = {}
    if any(call.conditional for call in calls):
        return by_paths(region, calls)
    for replay in replays_in(region.replayed):
        for launch, call in match_replay(replay, calls):
            result[launch.id] = call.id
    pairs = match_sequence([group.name for group in region.groups], calls)
    for position, call in [*pairs, *between_neighbours(pairs, calls)]:
        for launch in region.groups[position].launches:
            result.setdefault(launch.id, call.id)
    return result


def by_paths(region: Region, calls: list[KernelCall]) -> dict[int, str]:
    """Launch id → call id where a wrapper has branches or loops: what all ways agree on in which it can have run these ops.

    A branch, or the body of a loop, runs as a whole, any number of times. A trace may begin anywhere.
    """
    names = [group.name for group in region.groups]
    fitting = {name: {place for place, call in enumerate(calls) if fits(name, call)} for name in {*names}}
    following = next_calls(calls, {*range(len(calls))}.difference(*fitting.values()))
    found, reached = dict[int, set[int]](), {*range(len(calls))}
    for row, name in enumerate(names):
        if fitting[name]:
            found[row] = reached & fitting[name]
            reached = set[int]().union(*(following[place] for place in found[row]))
    reached = {len(calls)}
    for row, places in reversed(found.items()):
        found[row] = reached = {place for place in places if following[place] & reached}
    only = {row: calls[min(places)].id for row, places in found.items() if len(places) == 1}
    return {launch.id: call_id for row, call_id in only.items() for launch in region.groups[row].launches}


def next_calls(calls: Sequence[KernelCall], silent: Set[int]) -> dict[int, set[int]]:
    """Return for each call which ones, or the end, can run next; of those that run once, `silent` ones may not."""
    following, after = dict[int, set[int]](), {len(calls)}
    functions = itertools.groupby(range(len(calls)), lambda place: (calls[place].conditional, calls[place].graph))
    blocks = [[*places] for _, places in functions]
    for is_conditional, same in itertools.groupby(reversed(blocks), lambda block: calls[block[0]].conditional):
        beside = [*same]
        after = after | {block[0] for block in beside if is_conditional}
        for block in beside:
            here = after
            for place in reversed(block):
                following[place] = here
                here = {place} | (here if place in silent and not is_conditional else set[int]())
            after = after if is_conditional else here
    return following


def between_neighbours(
    pairs: Sequence[tuple[int, KernelCall]], calls: list[KernelCall]
) -> list[tuple[int, KernelCall]]:
    """A fallback's ops are those between two known calls around it: since torch 2.14 no event of a custom op is around them."""
    order = {call.id: number for number, call in enumerate(calls)}
    gaps = [
        (range(before + 1, after), calls[order[a.id] + 1 : order[b.id]])
        for (before, a), (after, b) in itertools.pairwise(pairs)
    ]
    lone = [(places, passed[0]) for places, passed in gaps if len(passed) == 1 and passed[0].type == "fallback"]
    return [(place, call) for places, call in lone for place in places]


def with_eager_nodes(links: list[Linked], recording: Recording) -> None:
    """Fill in the launches outside compiled regions: the eager graph's node of their op."""
    rows = positions(recording.ops, "id", array(recording.launches, "op_id"))
    has_op = (rows >= 0).nonzero()[0]
    graphs, names = (column(recording.ops, field, rows[has_op].tolist()) for field in ("graph", "node"))
    evidence = {how: replace(how, call=None, nodes=how.op) for how in {link[-1] for link in links}}
    for position, graph, name in zip(has_op.tolist(), graphs, names, strict=True):
        if graph is not None and name is not None:
            links[position] = None, (name,), graph, None, evidence[links[position][-1]]


def coverage_of(recording: Recording) -> Coverage:
    """Count what was attributed; calls and nodes are null where there is nothing that they could be attributed to."""
    launches = recording.launches
    has_call, has_op = (marked(launches, field, lambda value: value is not None) for field in ("call", "op"))
    # What replays a CUDA graph is not the op of its kernels
    is_region = marked(launches, "op", lambda op: op is not None and op.startswith(COMPILED_REGION))
    to_op = int((has_call | has_op & ~(is_region & (array(launches, "cuda_graph") >= 0))).sum())
    has_nodes = bool(recording.calls) or any(graph.stage == "eager" for graph in recording.graphs)
    return Coverage(
        device_events=len(launches),
        to_op=to_op,
        to_call=int(has_call.sum()) if recording.calls else None,
        to_node=int(marked(launches, "nodes", bool).sum()) if has_nodes else None,
        unattributed=len(launches) - to_op,
    )


def with_remainder(recording: Recording) -> Recording:
    """The recording with a problem that states the time of ops that are no node of its graphs, where it has any.

    The ops of a CUDA graph's kernels ran when it was captured: they are no remainder of a recording of its replays.
    """
    has_facts = recording.calls or any(any(column(graph.nodes, "outputs")) for graph in recording.graphs)
    if recording.coverage is None or not has_facts:  # a trace alone has no graph but that of its ops in one step
        return recording
    launches = recording.launches
    has_owner = marked(launches, "call", bool) | marked(launches, "nodes", bool) | (array(launches, "cuda_graph") >= 0)
    places = (marked(launches, "op", bool) & ~has_owner).nonzero()[0].tolist()
    unowned = rows_of(launches, "op", "chain", "duration_ns", which=places)
    left = [time for op, chain, time in unowned if not copies_around_graph(op, chain)]
    problems = [item for item in recording.problems if item.where != REMAINDER]
    if left:
        share = sum(left) / (sum(column(launches, "duration_ns")) or 1)
        time = f"{microseconds(sum(left) / 1e3)}, {percent(share)} of all"
        what = counted(len(left), f"kernel ({time}) is", f"kernels ({time}) are")
        problems.append(Problem(where=REMAINDER, message=f"{what} of ops in no recorded graph"))
    return replace(recording, problems=tuple(problems))


def with_timing(recording: Recording) -> Recording:
    index = index_of(recording)
    calls = tuple(
        replace(call, timing=timing(index.executions[call.id].values()) if call.id in index.executions else None)
        for call in recording.calls
    )
    graphs = tuple(with_times(graph, recording) if graph.stage == "eager" else graph for graph in recording.graphs)
    return replace(recording, calls=calls, graphs=graphs)


def with_times(graph: Graph, recording: Recording) -> Graph:
    totals: dict[str, Counter[int]] = {}  # node → nanoseconds by step
    steps = index_of(recording).step_set
    for of, nodes, step, time in rows_of(recording.launches, "graph", "nodes", "step", "duration_ns"):
        for name in nodes if of == graph.id and step in steps else ():
            totals.setdefault(name, Counter())[step] += time
    if not totals:
        return graph
    found = {name: timing(per_step.values()) for name, per_step in totals.items()}
    times = [found.get(name, before) for name, before in rows_of(graph.nodes, "name", "timing")]
    return replace(graph, nodes=with_columns(graph.nodes, timing=times))


def with_idle_compiles(recording: Recording, runs: Mapping[str, int]) -> Recording:
    """Mark the compiles of which no graph ran; `runs` counts the runs of each graph in the recorded steps."""
    ran = {call.graph.partition(":")[0] for call in recording.calls if runs.get(call.wrapper)}  # compile ids
    idle = {item for item in index_of(recording).compiled - ran if not item.startswith("aot/")}  # a package may run it
    compiles = tuple(replace(item, runs=0 if item.compile_id in idle else None) for item in recording.compiles)
    return replace(recording, compiles=compiles)


def timing(durations_ns: Iterable[int]) -> Timing:
    times = [duration / 1e3 for duration in durations_ns]
    return Timing(
        count=len(times),
        total_us=sum(times),
        mean_us=sum(times) / len(times),
        min_us=min(times),
        max_us=max(times),
        median_us=median(times),
    )
