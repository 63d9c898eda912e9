"""Look-ups over a recording: by id, by user, by kernel call, by step. Built when first asked for, and kept with the recording.

**Steps.** A step counts when it is whole: nothing was compiled in it, and it is not an incomplete one at the ends. A step
without work between others counts. Steps that do not count are in no figure "per step". Times are medians over the others;
of what only some of them run, the median over those, times their share (`per_step`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import cached_property
from statistics import median, median_low
from typing import Any, TypeVar

from fxscope.columns import array, by_name, column, different, distinct, marked, rows_of
from fxscope.model import Graph, KernelCall, Launch, Node, Recording, StepStats, replace
from fxscope.op_names import is_dispatched

T = TypeVar("T")
K = TypeVar("K")
N = TypeVar("N", int, float)
Key = tuple[str, str]  # graph id and node name
COMPILING = " (dynamo_timed)"  # ends the names of the events in which torch compiles
COMPILES_DATA = "_data: compile_id="  # behind a phase's name: an event within it
COMPILED = f"compile{COMPILING}"  # the one event that fxscope's own sessions keep of them


def index_of(recording: Recording) -> "Index":
    """The recording's index; asking twice gives the same one."""
    return kept(recording, "index", Index)


def kept(recording: Recording, key: Hashable, build: Callable[[Recording], T]) -> T:
    """Return what `build` makes of the recording, made once and dropped with it; it is no part of the recording's value."""
    store: dict[Any, Any] = vars(recording)
    if key not in store:
        store[key] = build(recording)
    return store[key]


class Index:
    """The look-ups. It holds the recording's parts, not the recording: the two are freed together."""

    def __init__(self, recording: Recording) -> None:
        self._graphs, self._calls = recording.graphs, recording.calls
        self._launches, self._ops, self._steps = recording.launches, recording.ops, recording.steps
        self._summary, self._times = recording.summary, recording.step_times

    @cached_property
    def graphs(self) -> dict[str, Graph]:
        return {graph.id: graph for graph in self._graphs}

    @cached_property
    def nodes(self) -> dict[str, Mapping[str, Node]]:
        return {graph.id: by_name(graph.nodes) for graph in self._graphs}

    @cached_property
    def views(self) -> dict[str, frozenset[str]]:
        """Graph id → the names of its nodes that are views."""
        natures = {graph.id: rows_of(graph.nodes, "name", "nature") for graph in self._graphs}
        return {graph: frozenset(name for name, kind in rows if kind == "view") for graph, rows in natures.items()}

    def node(self, key: Key) -> Node | None:
        """Return a node by graph id and name; those of a trace are made when they are asked for."""
        return self.nodes.get(key[0], {}).get(key[1])

    @cached_property
    def users(self) -> dict[Key, list[Node]]:
        """Node → the nodes of its graph that take its result."""
        graphs = ((graph.id, by_each(graph.nodes, lambda node: dict.fromkeys(node.inputs))) for graph in self._graphs)
        return {(graph, name): nodes for graph, users in graphs for name, nodes in users.items()}

    @cached_property
    def calls(self) -> dict[str, KernelCall]:
        return {call.id: call for call in self._calls}

    @cached_property
    def calls_of_graph(self) -> dict[str, list[KernelCall]]:
        """Id of a post-grad graph → its kernel calls, in the order of the wrapper."""
        return grouped(self._calls, lambda call: call.graph)

    @cached_property
    def compiled(self) -> frozenset[str]:
        """Compile ids of the graphs that call kernels: a forward and its backward are one."""
        return frozenset(call.graph.partition(":")[0] for call in self._calls)

    @cached_property
    def calls_of_node(self) -> dict[Key, list[KernelCall]]:
        return by_each(self._calls, lambda call: [(call.graph, name) for name in call.nodes])

    @cached_property
    def folded_into(self) -> dict[Key, list[KernelCall]]:
        """Node → the calls of which it became an argument."""
        return by_each(self._calls, lambda call: [(call.graph, name) for name in call.folded])

    @cached_property
    def dispatched(self) -> dict[int, int]:
        """Step → how many ops were dispatched in it, without those on a compile's fake tensors."""
        is_op = marked(self._ops, "name", is_dispatched) & marked(self._ops, "category", "cpu_op".__eq__)
        starts, threads, ends = array(self._ops, "start_ns"), array(self._ops, "thread"), Counter[int | None]()
        for start, took, _, thread in self.compiles:
            if start + took > ends[thread]:  # not inside of the thread's one before
                ends[thread] = start + took
                is_op &= (starts < start) | (starts >= ends[thread]) | (threads != (-1 if thread is None else thread))
        return Counter(array(self._ops, "step")[is_op].tolist())

    @cached_property
    def launches_of_call(self) -> dict[str, list[Launch]]:
        return by_each(self._launches, lambda launch: [launch.call] if launch.call else [])

    @cached_property
    def executions(self) -> dict[str, Counter[tuple[int, int | None]]]:
        """Call → (step, invocation) of each execution in a step that counts → nanoseconds of all its events."""
        found: dict[str, Counter[tuple[int, int | None]]] = {}
        for call, step, run, duration in rows_of(self._launches, "call", "step", "invocation", "duration_ns"):
            if call is not None and step in self.step_set:
                found.setdefault(call, Counter())[step, run] += duration
        return found

    @cached_property
    def runs_of_node(self) -> dict[str, dict[str, dict[str, list[tuple[int, int]]]]]:
        """Graph id → name → kernel → (step, nanoseconds) of each launch attributed to the node."""
        found: dict[str, dict[str, dict[str, list[tuple[int, int]]]]] = {graph.id: {} for graph in self._graphs}
        columns = rows_of(self._launches, "graph", "nodes", "name", "step", "duration_ns")
        for graph, nodes, kernel, step, duration in columns:
            for node in nodes if graph in found else ():
                found[graph].setdefault(node, {}).setdefault(kernel, []).append((step, duration))
        return found

    @cached_property
    def launch_counts(self) -> dict[int, int]:
        return {step.index: 0 for step in self._steps} | dict(Counter(column(self._launches, "step")))

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The steps that count, see above; one where no step was recorded."""
        return tuple(whole_steps(self.launch_counts, self.compiling_us)) or (0,)

    @cached_property
    def compiles(self) -> list[tuple[int, int, int, int | None]]:
        """Start, duration, step and thread of each event in which something was compiled, in order of time."""
        compiles = marked(self._ops, "name", lambda name: name.endswith(COMPILING) and "ompile" in name)
        fields = "start_ns", "duration_ns", "step", "thread"
        return sorted(rows_of(self._ops, *fields, which=compiles.nonzero()[0].tolist()), key=lambda row: row[0])

    @cached_property
    def compiling_us(self) -> Mapping[int, float]:
        """Step → the time in which something was compiled."""
        found, until = Counter[int](), 0
        for start, took, step, _ in self.compiles:
            found[step] += max(0, start + took - max(start, until))
            until = max(until, start + took)
        return {step: total / 1e3 for step, total in found.items()}

    @property
    def num_steps(self) -> int:
        return len(self.steps)

    @cached_property
    def typical_step(self) -> int:
        """The step that stands for the others: the first with the median number of launches, else the first with ops."""
        with_launches = [step for step in self.steps if self.launch_counts.get(step)]
        if not with_launches:
            return min(column(self._ops, "step"), default=self.steps[0])
        most_common = median_low(self.launch_counts[step] for step in with_launches)
        return next(step for step in with_launches if self.launch_counts[step] == most_common)

    @cached_property
    def step_set(self) -> frozenset[int]:
        return frozenset(self.steps)

    @cached_property
    def step_stats(self) -> tuple[StepStats, ...]:
        """The figures of the profiled steps that count, without the idle time in which something was compiled."""
        found: list[StepStats] = []
        for item in self._summary.steps if self._summary else ():
            us = min(self.compiling_us.get(item.step, 0.0), item.device_idle_us)
            if item.step in self.step_set:
                found.append(replace(item, wall_us=item.wall_us - us, device_idle_us=item.device_idle_us - us))
        return tuple(found)

    def us_without(self, kernels: Collection[str]) -> tuple[float, ...]:
        rows = marked(self._launches, "name", lambda name: name not in kernels).nonzero()[0].tolist()
        total = Counter[int]()
        for step, time in rows_of(self._launches, "step", "duration_ns", which=rows):
            total[step] += time
        return tuple(total[step] / 1e3 for step in self.steps)

    @cached_property
    def device_us(self) -> float | None:
        """Device time of a step, the median; `None` where nothing ran."""
        return median(self.us_without(())) if self._launches else None

    @cached_property
    def num_launches(self) -> float:
        return median(self.counts())

    @cached_property
    def launches_range(self) -> tuple[int, int] | None:
        """Fewest and most launches of a step where steps differ by a tenth of the median and more."""
        counts = self.counts()
        differ = max(counts) - min(counts) >= max(1, self.num_launches / 10)
        return (min(counts), max(counts)) if differ else None

    @cached_property
    def launch_calls(self) -> float:
        """Calls of the CPU that launched what a step ran, the median: what has one correlation id was one call."""
        steps, calls = array(self._launches, "step"), array(self._launches, "correlation")
        found = Counter(steps[calls < 0].tolist())
        steps, calls = steps[calls >= 0], calls[calls >= 0]
        found.update(steps[different(steps, calls)[1]].tolist())
        return median(found[step] for step in self.steps)

    def counts(self, *categories: str) -> list[int]:
        """Launches of these categories in each step that counts, of any where none is named."""
        chosen = marked(self._launches, "category", lambda kind: not categories or kind in categories)
        found = Counter(array(self._launches, "step")[chosen].tolist())
        return [found[step] for step in self.steps]

    @cached_property
    def wall_us(self) -> tuple[float, ...]:
        """Wall time of unprofiled steps, else of profiled ones: with the profiler's cost, until the device is done."""
        if self._times is not None and not self._times.while_recording:
            return self._times.samples_us or (self._times.median_us,)
        return tuple(step.wall_us for step in self.step_stats)

    @cached_property
    def is_on_cpu(self) -> bool:
        return "cpu_kernel" in distinct(self._launches, "category")


def whole_steps(launches: Mapping[int, int], compiling: Collection[int] = ()) -> list[int]:
    """Return the steps without a compile (all, if each compiled), less incomplete ones at the ends.

    Incomplete: fewer than half the launches of the median step. `launches`: step → number.
    """
    found = sorted(set(launches) - set(compiling)) or sorted(launches)
    while len(found) > 1:
        typical = median(launches[step] for step in found)
        end = min(found[0], found[-1], key=lambda step: launches[step])
        if 2 * launches[end] >= typical:
            break
        found.remove(end)
    return found


def per_step(values: Collection[float], steps: int) -> float:
    """Return what a step has of something: the median over the steps that have it, times their share."""
    return median(values) * (len(values) / steps) if values else 0.0


def known_sum(values: Iterable[N | None]) -> N | int | None:
    every = list(values)
    known = [value for value in every if value is not None]
    return sum(known) if len(known) == len(every) else None


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Key → its items; both in the order in which they come."""
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def reachable(starts: Iterable[T], after: Callable[[T], Iterable[T]]) -> dict[T, None]:
    """The starts, and all that comes after them, in the order in which it is found."""
    found: dict[T, None] = {}
    waiting = list(starts)
    for item in waiting:
        if item not in found:
            found[item] = None
            waiting += after(item)
    return found


def by_each(items: Iterable[T], keys: Callable[[T], Iterable[K]]) -> dict[K, list[T]]:
    """Key → the items that have it, where one has several or none."""
    found: dict[K, list[T]] = defaultdict(list)
    for item in items:
        for key in keys(item):
            found[key].append(item)
    return dict(found)
