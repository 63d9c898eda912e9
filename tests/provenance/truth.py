"""What ran, without fxscope: writes and FLOPs from a mode of torch's, times from the trace that the profiler wrote."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.autograd.profiler import profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from fxscope.index import index_of
from fxscope.model import Recording
from tests.provenance.checker import EXTERNAL

ROUNDED = 3  # ns: Kineto writes µs


class Watch(TorchDispatchMode):
    """What autograd dispatches: op → how many calls of it gave new memory or wrote into what they were given."""

    def __init__(self) -> None:
        super().__init__()
        self.wrote: Counter[str] = Counter()
        self.flops = 0

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = op(*args, **(kwargs or {}))  # one that raises has written nothing
        new = memory(result) - memory((args, kwargs))
        schema = op._schema
        if any(isinstance(item, torch.Tensor) for item in tree_leaves(result)):
            self.wrote[plain(schema.name)] += bool(new or schema.is_mutable) and not makes_room(schema.name)
        if op.overloadpacket in flop_registry and all(is_dense(item) for item in tree_leaves(args)):
            self.flops += flop_registry[op.overloadpacket](*args, **(kwargs or {}), out_val=result)
        return result


def plain(name: str) -> str:
    return name.rstrip("_")  # autograd adds in place where nobody looks


def makes_room(name: str) -> bool:
    return "empty" in name or "resize_" in name


def is_dense(item: object) -> bool:
    return not isinstance(item, torch.Tensor) or item.layout == torch.strided


def memory(value: Any) -> set[int]:
    return {part.untyped_storage()._cdata for item in tree_leaves(value) for part in parts(item) if part.numel()}


def parts(item: Any) -> list[torch.Tensor]:
    if not isinstance(item, torch.Tensor):
        return []
    if item.layout == torch.sparse_coo:
        return [item._indices(), item._values()]
    return [item] if is_dense(item) else [item.values(), item.crow_indices(), item.col_indices()]


def false_kinds(recording: Recording, watch: Watch) -> list[str]:
    """Compare how often each op that autograd dispatched ran a kernel with how often it wrote."""
    children = defaultdict(list)
    for node in recording.graph("eager").nodes:
        children[node.parent].append(node)
    ran = {name for launch in recording.launches for name in launch.nodes}
    said: dict[str, list[bool]] = defaultdict(list)

    def works(node: Any) -> bool:
        return node.name in ran or any(map(works, children[node.name]))

    def descend(name: str | None) -> None:
        for node in children[name]:
            if plain(node.target) in watch.wrote:
                said[plain(node.target)].append(works(node))
            else:
                descend(node.name)

    descend(None)
    counts = ((name, sum(said[name]), number) for name, number in watch.wrote.items() if name in said)
    faults = [f"{name} is a kernel {kernels} times, and wrote {number} times" for name, kernels, number in counts
              if kernels != number]  # fmt: skip
    views = {node.name for node in recording.graph("eager").nodes if node.kind in ("view", "host")} & ran
    return faults + [f"{name} launched, and is said not to" for name in views]


# ---------------------------------------------------------------------- time


class Span(NamedTuple):
    """An event of the profiler's trace, in ns as a recording has them."""

    start: int
    end: int
    name: str
    thread: object
    is_python: bool

    def holds(self, start: int, end: int) -> bool:
        return self.start - ROUNDED <= start and end <= self.end + ROUNDED


class Traces:
    """The traces that the profiler writes: the last one, as it is in the file."""

    def __enter__(self) -> "Traces":
        self.export = export = profile.export_chrome_trace

        def copied(session: Any, path: str, *args: Any, **kwargs: Any) -> None:
            export(session, path, *args, **kwargs)
            self.last = json.loads(Path(path).read_text())

        profile.export_chrome_trace = copied  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        profile.export_chrome_trace = self.export  # type: ignore[method-assign]

    def spans(self, base_ns: int) -> tuple[list[Span], list[tuple[int, object]]]:
        """Return ops and Python calls, and when and in which thread memory was allocated."""
        shift = self.last.get("baseTimeNanoseconds", 0) - base_ns
        found, allocated = [], []
        for event in self.last["traceEvents"]:
            start = round(event.get("ts", 0) * 1000) + shift
            if event["name"] == "[memory]" and event["args"]["Bytes"] > 0:
                allocated.append((start, event["tid"]))
            elif event.get("cat") in ("cpu_op", "user_annotation", "python_function"):
                library, colons, op = event["name"].partition("::")
                name = f"{library}::{op.partition('.')[0]}" if colons else library
                end = start + round(event.get("dur", 0) * 1000)
                found.append(Span(start, end, name, event["tid"], event["cat"] == "python_function"))
        return sorted(found), allocated


def false_times(recording: Recording, traces: Traces) -> list[str]:
    """Compare each launch with the longest part of its event that runs no Python; what wrote in a step is in a launch."""
    spans, allocated = traces.spans(recording.base_time_ns or 0)
    faults, covered = [], []
    for launch in recording.launches:
        last = launch.start_ns + launch.duration_ns
        around = [item for item in spans if item.name == launch.name and item.holds(launch.start_ns, last)]
        if not around:
            faults.append(f"no event has the name and the time of {launch.name} at {launch.start_ns}")
            continue
        covered.append(event := around[-1])
        longest, done = 0, event.start
        for item in spans:
            if item.is_python and item.thread == event.thread and item.start >= done and event.holds(*item[:2]):
                longest, done = max(longest, item.start - done), item.end
        longest = max(longest, event.end - done)
        if abs(longest - launch.duration_ns) > ROUNDED:
            faults.append(f"{launch.name} takes {launch.duration_ns} ns, its event {longest} ns")
    for start, thread in allocated:
        in_step = any(step.start_ns <= start <= step.start_ns + step.duration_ns for step in recording.steps)
        around = [item for item in spans if item.thread == thread and "::" in item.name and item.holds(start, start)]
        maker = around[-1] if in_step and around and not makes_room(around[-1].name) else None
        if maker is not None and not any(item.holds(*maker[:2]) or maker.holds(*item[:2]) for item in covered):
            faults.append(f"{maker.name} wrote, and neither it nor what it calls is a launch")
    return faults


# ---------------------------------------------------------------------- compiled code


def of_compiled(recording: Recording, truth: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return what is said falsely of the kinds of nodes and the FLOPs of calls, and what is not known."""
    faults, unknown = [], []
    calls_of = index_of(recording).calls_of_graph
    written = {item.graph: {a.buffer for node in item.nodes for a in node.writes} for item in recording.schedules}
    for graph in (graph for graph in recording.graphs if graph.stage == "post_grad"):
        same = [item for item in truth if item["names"] == [node.name for node in graph.nodes]]
        buffers = written.get(graph.id, set())
        true = next((item for item in same if buffers & item["ran"].keys()), same[0])
        calls = calls_of.get(graph.id, [])
        ran = {name for buffer in buffers & true["ran"].keys() for name in true["ran"][buffer]}
        ran |= {name for call in calls if call.type in EXTERNAL for name in call.nodes}
        for node in (node for node in graph.nodes if node.op == "call_function"):
            is_view, runs = node.name in true["views"], node.kind in ("kernel", "fused")
            is_judged = node.kind != "folded" and not node.target.startswith("higher_order.")
            if node.kind == "unknown":
                unknown.append(f"kind of {node.name}")
            elif is_judged and runs != (
                node.name in ran and (runs or not is_view)
            ):  # a kernel may move what a view is of
                faults.append(f"{node.name} ({node.target}) is said to be {node.kind}: {node.reason}")
            elif "view" in (node.kind, node.nature) and not is_view:
                faults.append(f"{node.name} ({node.target}) is said to be a view")
        for call in calls:
            flops = sum(true["flops"].get(name, 0) for name in call.nodes)
            if call.flops is None and flops:
                unknown.append(f"FLOPs of {call.nodes[-1]}")
            elif (call.flops or 0) != flops:
                faults.append(f"{call.handle} has {call.flops} FLOPs, torch counts {flops}")
    return faults, unknown
