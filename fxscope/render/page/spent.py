"""Where the time of a step goes: by module, by kernel, and in order of launch.

Repeated modules are found by structure: siblings in which the same ops ran in the same order are one box with a range.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fxscope.index import grouped, index_of
from fxscope.model import KERNELS
from fxscope.op_names import is_generated, op_name
from fxscope.passes.predicted import as_run, runs_a_step
from fxscope.passes.unfused import is_library, nodes_of
from fxscope.render import labels
from fxscope.render.page import scene
from fxscope.text import kernel_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fxscope.model import Decision, KernelCall, Launch, Node, Recording

MAX_CHILDREN = 14
MAX_SEGMENTS = 30
SMALL = 0.004  # of all time: what is less is summed up, unless it is all there is
MOSTLY = 0.8  # of the time for which a floor has to be known before a share of the roof is said


@dataclass
class Spent:
    """Time of a step spent in one module or kernel: µs, and µs at the roof of the part for which that is known."""

    label: str
    us: float = 0.0
    floor_us: float = 0.0
    floor_of_us: float = 0.0  # the part of `us` whose floor is known
    ref: tuple[str, Any] | None = None
    times: int = 1
    low_us: float | None = None  # of one of `times`
    high_us: float | None = None
    modules: dict[str, Spent] = field(default_factory=dict)
    kernels: dict[str, Spent] = field(default_factory=dict)

    def add(self, us: float, floor_us: float | None) -> None:
        self.us += us
        if floor_us is not None:
            self.floor_us += floor_us
            self.floor_of_us += us

    def share(self) -> float | None:
        """The floor over the time, where the floor of most of it is known."""
        return self.floor_us / self.floor_of_us if self.us and self.floor_of_us >= MOSTLY * self.us else None

    def structure(self) -> tuple[Any, ...]:
        """What ran inside, without names of modules, numbers of kernels, and times."""
        return (
            tuple((name, inner.structure()) for name, inner in self.modules.items()),
            tuple(kernel.label for kernel in self.kernels.values()),
        )


@dataclass(frozen=True)
class Run:
    """One kernel as it ran, or is planned: where it belongs, µs per step, µs at the roof."""

    path: tuple[str, ...]
    label: str
    kernel: str
    us: float
    floor_us: float | None
    ref: tuple[str, Any]
    style: str
    count: float  # per step
    launch: int | None = None
    phase: str | None = None  # forward or backward, where a step has both


class Runs:
    """What ran in a step, in order, each with what is known of it."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.nodes: dict[str, dict[str, Node]] = index_of(recording).nodes
        self.position: dict[str, int] = {call.id: i for i, call in enumerate(recording.calls)}
        self.steps: int = index_of(recording).num_steps
        directions = {graph.direction for graph in recording.graphs} & {"forward", "backward"}
        self.phases: dict[str, str | None] = {
            g.id: g.direction for g in recording.graphs if len(directions) > 1 and g.direction in directions
        }
        self.by_step: list[list[Launch]] = [found for found in index_of(recording).launches_of_step.values() if found]
        names = [[launch.name for launch in launches] for launches in self.by_step]
        # Then each launch has a mean over the steps
        self.alike: bool = len(names) == self.steps and all(name == names[0] for name in names)

    def all(self) -> list[Run]:
        """Every launch of every step at its share of a mean step; calls of a plan; eager ops that were timed."""
        if self.recording.launches:
            return [self.of_launch(x, x.duration_ns / 1e3 / self.steps, 1 / self.steps) for x in self.launches()]
        planned = [call for call in self.recording.calls if call.estimated_us is not None]
        if planned:
            return [self.of_call(call) for call in as_run(planned, self.recording.compiles)]
        return [
            Run(
                scene.node_path(node),
                op_name(node.target),
                node.target,
                node.timing.mean_us,
                None,
                ("node", [position, at]),
                "kernel",
                1.0,
            )
            for position, graph in enumerate(self.recording.graphs)
            if graph.stage == "eager"
            for at, node in enumerate(graph.nodes)
            if node.timing and scene.works(node)
        ]

    def launches(self) -> list[Launch]:
        """The launches of all steps, in order."""
        return [launch for launches in self.by_step for launch in launches]

    def of_call(self, call: KernelCall) -> Run:
        """A call that was planned, not run."""
        us = call.estimated_us or 0.0
        ref = ("call", self.position[call.id])
        phase = self.phases.get(call.graph)  # no floor: what is planned is the floor
        path, label = scene.call_path(call, self.nodes.get(call.graph, {})), self.call_label(call)
        return Run(path, label, call.kernel, us, None, ref, "kernel" if call.is_extern else "fused", 1.0, phase=phase)

    def of_launch(self, launch: Launch, us: float, count: float) -> Run:
        """A launch, with `us` as its time."""
        call = self.recording.calls[self.position[launch.call]] if launch.call in self.position else None
        kernel = launch.category in KERNELS
        floor = call.roof.floor_us * count if call and call.roof and call.roof.floor_us and kernel else None
        ref = ("call", self.position[call.id]) if call else ("kernel", launch.name)
        if call is not None:
            path = scene.call_path(call, self.nodes.get(call.graph, {}))
        else:
            nodes = self.nodes.get(launch.graph or "", {})
            path = scene.common([scene.node_path(nodes[name]) for name in launch.nodes if name in nodes])
        style, phase = style_of(launch, call), self.phases.get((call.graph if call else launch.graph) or "")
        return Run(path, self.label(launch, call), launch.name, us, floor, ref, style, count, launch.id, phase)

    def call_label(self, call: KernelCall) -> str:
        """The ops of a call in few words."""
        return labels.ops_words(labels.ops_of(call, self.nodes.get(call.graph, {})))

    def label(self, launch: Launch, call: KernelCall | None) -> str:
        """A short word for a launch: the ops in it, else the op that launched it."""
        if launch.category == "gpu_memset":
            return "memset"
        if launch.category == "gpu_memcpy":
            return "copy"
        if call is not None:
            return self.call_label(call)
        return op_name(launch.op) if launch.op else kernel_name(launch.name, 24)


def style_of(launch: Launch, call: KernelCall | None) -> str:
    """How a launch is coloured: fused, kernel, or input for what is no kernel."""
    if launch.category in ("gpu_memset", "gpu_memcpy"):
        return "input"
    if call is not None:
        return "kernel" if call.is_extern else "fused"
    return "fused" if is_generated(launch.name) else "kernel"


def by_module(runs: Sequence[Run], types: Mapping[tuple[str, ...], str]) -> dict[str, Any] | None:
    """The tree of modules and kernels, repeated modules as one; None where no time is known."""
    root = Spent("all")
    for run in runs:
        here = root
        here.add(run.us, run.floor_us)
        if run.phase:
            here = here.modules.setdefault(run.phase, Spent(run.phase))
            here.add(run.us, run.floor_us)
        for depth, part in enumerate(run.path):
            inner = here.modules.get(part)
            if inner is None:
                path = run.path[: depth + 1]
                inner = here.modules[part] = Spent(part, ref=("module", ".".join(path)))
            here = inner
            here.add(run.us, run.floor_us)
        key = f"{run.label}|{run.ref}"
        leaf = here.kernels.setdefault(key, Spent(run.label, ref=run.ref))
        leaf.add(run.us, run.floor_us)
    if not root.us:
        return None
    return as_data(root, root.us, types)


def as_data(spent: Spent, total: float, types: Mapping[tuple[str, ...], str]) -> dict[str, Any]:
    """A module and what is in it, the most time first; a lone inner module is joined with it."""
    found = [as_data(item, total, types) for item in repeated(list(spent.modules.values()))]
    found += [leaf(item) for item in repeated_kernels(list(spent.kernels.values()))]
    found.sort(key=lambda item: -item["us"])
    keep = [item for item in found[:MAX_CHILDREN] if item["us"] >= SMALL * total or len(found) == 1]
    rest = found[len(keep) :]
    if rest:
        us = sum(item["us"] for item in rest)
        keep.append({"label": f"… {len(rest)} more", "us": us, "share": None, "ref": None, "children": []})
    data = {
        "label": spent.label,
        "type": types.get(tuple(spent.ref[1].split("."))) if spent.ref else None,
        "us": spent.us,
        "share": spent.share(),
        "ref": spent.ref,
        "children": keep,
        **span(spent),
    }
    inner = keep[0] if len(keep) == 1 and not spent.kernels and len(spent.modules) else None
    if inner and spent.ref and spent.times == 1:  # nothing else is in here: one box for both
        return {**inner, "label": f"{spent.label}.{inner['label']}"}
    return data


def leaf(spent: Spent) -> dict[str, Any]:
    known = {"share": spent.share(), "ref": spent.ref}
    return {"label": spent.label, "us": spent.us, **known, "children": [], **span(spent)}


def span(spent: Spent) -> dict[str, Any]:
    """How often something is repeated, and its least and most time."""
    return {"times": spent.times, "low": spent.low_us, "high": spent.high_us} if spent.times > 1 else {}


def repeated(items: list[Spent]) -> list[Spent]:
    """Join siblings of one structure: those that are numbered, or three and more."""
    groups = grouped(items, lambda item: item.structure())
    out: list[Spent] = []
    for found in groups.values():
        many = len(found) > 2 or (len(found) == 2 and all(item.label.isdigit() for item in found))
        out += [joined(found)] if many else found
    return out


def repeated_kernels(items: list[Spent]) -> list[Spent]:
    """Join the kernels of one module that ran the same ops."""
    groups = grouped(items, lambda item: item.label)
    return [joined(found) if len(found) > 1 else found[0] for found in groups.values()]


def joined(items: Sequence[Spent]) -> Spent:
    """Several of one structure as one: sums, and the range of one of them."""
    names = list(dict.fromkeys(item.label for item in items))
    label = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
    out = Spent(label, ref=items[0].ref, times=len(items))
    for item in items:
        out.us += item.us
        out.floor_us += item.floor_us
        out.floor_of_us += item.floor_of_us
    out.low_us, out.high_us = min(item.us for item in items), max(item.us for item in items)
    for name in items[0].modules:
        out.modules[name] = summed([item.modules[name] for item in items])
    for kernels in zip(*(item.kernels.values() for item in items), strict=True):
        out.kernels[f"{len(out.kernels)}"] = summed(kernels)
    return out


def summed(items: Sequence[Spent]) -> Spent:
    """The same part of several modules of one structure: its time in all of them."""
    out = joined(items)
    out.times, out.label = items[0].times, items[0].label
    out.low_us = out.high_us = None
    return out


def top_kernels(runs: Sequence[Run], most: int = 6) -> list[dict[str, Any]]:
    """The kernels with the most time: name, ops, calls and µs a step, share of all, of the roof."""
    found: dict[str, Spent] = {}
    counts: dict[str, float] = {}
    words: dict[str, dict[str, None]] = {}
    for run in runs:
        found.setdefault(run.kernel, Spent(run.kernel, ref=("kernel", run.kernel))).add(run.us, run.floor_us)
        counts[run.kernel] = counts.get(run.kernel, 0) + run.count
        words.setdefault(run.kernel, {})[run.label] = None
    total = sum(item.us for item in found.values())
    best = sorted(found.values(), key=lambda item: -item.us)[:most]
    return [
        {
            "kernel": item.label,
            "ops": " | ".join(list(words[item.label])[:3]) + (" | …" if len(words[item.label]) > 3 else ""),
            "calls": round(counts[item.label], 2),
            "us": item.us,
            "share": item.us / total if total else None,
            "roof": item.share(),
            "ref": item.ref,
        }
        for item in best
    ]


def step_of(runs: Runs) -> list[Run]:
    """A step in order: each launch at its mean over the steps where all launch the same, else the first step."""
    launches, steps = runs.by_step, len(runs.by_step)
    if not launches:
        return runs.all()
    if not runs.alike:
        return [runs.of_launch(x, x.duration_ns / 1e3, 1.0) for x in launches[0]]
    return [
        runs.of_launch(same[0], sum(x.duration_ns for x in same) / 1e3 / steps, 1.0)
        for same in zip(*launches, strict=True)
    ]


def strip(runs: Runs) -> dict[str, Any]:
    """What ran in a step, in order and to scale, small neighbours as one segment beyond 30.

    Where every step launches the same kernels each segment is a mean over the steps, so that their sum is the step's;
    else it is the first step, and says so.
    """
    launches, steps = runs.by_step, len(runs.by_step)
    shown = step_of(runs)
    total = sum(run.us for run in shown)
    segments = [
        {"kernel": r.kernel, "us": r.us, "style": r.style, "ref": r.ref, "label": r.label, "launch": r.launch}
        if not rest
        else {"kernel": "", "us": sum(x.us for x in rest), "style": "rest", "label": f"… {len(rest)} more"}
        for r, rest in segmented(shown)
    ]
    of = "plan" if not launches else "mean" if runs.alike else "first"
    return {"segments": segments, "total": total, "count": len(shown), "of": of, "steps": steps}


def segmented(runs: Sequence[Run]) -> list[tuple[Run, list[Run]]]:
    """Runs one by one; beyond 30 the smaller ones of a row as (first, all of them)."""
    if len(runs) <= MAX_SEGMENTS:
        return [(run, []) for run in runs]
    order = sorted(range(len(runs)), key=lambda i: -runs[i].us)
    for keep in range(MAX_SEGMENTS, -1, -1):
        large = set(order[:keep])
        out: list[tuple[Run, list[Run]]] = []
        for alone, group in groupby(range(len(runs)), key=lambda i: i if i in large else -1):
            members = [runs[i] for i in group]
            out.append((members[0], [] if alone >= 0 or len(members) == 1 else members))
        if len(out) <= MAX_SEGMENTS:
            return out
    return [(runs[0], list(runs))]


def missed(recording: Recording) -> list[dict[str, Any]]:
    """What was not fused, by pair of ops and reason: how often, bytes and µs a step; the most expensive first.

    `once`: some of the pairs exclude each other, and the time is that of those that do not.
    """
    ends = labels.Ends(recording)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    pairs: dict[tuple[str, str], list[tuple[Decision, float]]] = {}
    for position, decision in enumerate(recording.decisions):
        if decision.verdict == "fused" or decision.saved_bytes == 0:
            continue
        runs = runs_a_step(recording, decision.b_call or decision.a_call)
        key = (" → ".join(ends(decision)), decision.reason)
        row = found.setdefault(key, {"pair": key[0], "reason": decision.reason, "hint": decision.hint, "all": []})
        row["all"].append(position)
        for name, value in (("bytes", decision.saved_bytes), ("us", decision.saved_us)):
            before = row.get(name, 0.0)  # a sum of all of them, or none
            row[name] = None if value is None or before is None else before + value * runs
        row["config"] = decision.config
        pairs.setdefault(key, []).append((decision, runs))
    for key, row in found.items():
        row["expected"], row["once"] = expected_of(recording, pairs[key])
        row["price"] = labels.price_words(
            row["bytes"],
            row["expected"],
            row["us"],
            least_bytes=any(decision.saved_bytes_least for decision, _ in pairs[key]),
        )
    return sorted(found.values(), key=lambda row: (-(row["expected"] or row["us"] or 0), -(row["bytes"] or 0)))


def expected_of(recording: Recording, pairs: Sequence[tuple[Decision, float]]) -> tuple[float | None, bool]:
    """What pairs are expected to cost a step, in µs, and whether some of them exclude each other.

    A kernel that joins a library's goes once: two GEMMs before one pointwise kernel have one kernel to save, not two.
    Such pairs count in order of their price until a kernel is taken.
    """
    if any(decision.expected_us is None for decision, _ in pairs):
        return None, False
    total, taken, left_out = 0.0, set[Any](), False
    for decision, runs in sorted(pairs, key=lambda pair: -(pair[0].expected_us or 0.0) * pair[1]):
        if not all_generated(recording, decision):
            ends = {end.call or (end.graph, end.nodes) for end in decision.ends}
            if ends & taken:
                left_out = True
                continue
            taken |= ends
        total += (decision.expected_us or 0.0) * runs
    return total, left_out


def all_generated(recording: Recording, decision: Decision) -> bool:
    """Whether both sides are, or compiled would be, kernels that Inductor writes: any number of them can join."""
    index = index_of(recording)
    for end in decision.ends:
        call = index.calls.get(end.call or "")
        if call and not call.is_generated:
            return False
        if not call and any(is_library(node.target) for node in nodes_of(end, index.nodes)):
            return False
    return True


def module_types(recording: Recording) -> dict[tuple[str, ...], str]:
    """Module path → class."""
    return {
        scene.module_path(node.source.module): node.source.module_type
        for graph in recording.graphs
        for node in graph.nodes
        if node.source and node.source.module and node.source.module_type
    }
