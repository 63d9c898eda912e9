"""The trace of fxscope's own session: what it says of the program's ops and steps, and the file without our own work.

Out of the file go the Python calls, the allocations and what the compiler did; the steps to keep go into it as the
profiler's own `ProfilerStep#N` are.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fxscope._torch.event_tree import MODE, EventTree, SeenOp, SessionCut, Stretches, concrete_inputs, facts_of
from fxscope._torch.module_names import ModuleNames
from fxscope._torch.steps import STEP_ENDS
from fxscope.columns import uncollected
from fxscope.index import COMPILED, COMPILING
from fxscope.model import Problem
from fxscope.op_names import is_dispatched
from fxscope.passes.program_steps import StepPlan, plan
from fxscope.readers.eager_graph import COMPILED_REGIONS, INDUCTOR_RUNS
from fxscope.readers.trace.graphs import REPLAY
from fxscope.readers.trace.reader import Event, decode_args, document

_ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCHERS = ("cuda_runtime", "cuda_driver")
_NOT_KEPT = ("python_function", "cpu_instant_event")
_SPANS = ("cpu_op", "user_annotation")


@dataclasses.dataclass
class Observed:
    """Facts of the session that its trace does not contain."""

    facts: dict[int, SeenOp]  # by external id
    steps: StepPlan = dataclasses.field(default_factory=StepPlan)
    problems: list[Problem] = dataclasses.field(default_factory=list)
    num_early: int = 0  # outermost ops before the first step
    num_cut: int = 0  # ops after the part that is read
    num_tuned: int = 0  # device events of the compiler's benchmarks
    tuned_us: float = 0.0


@uncollected()
def prepare(path: Path, tree: EventTree, names: ModuleNames, *, mark: str = "", **options: Any) -> Observed:
    """Read a session's facts, and rewrite its trace for the reader; with a mark at their ends, plan and write steps."""
    import msgspec

    left_out: list[str] = []
    trace, problems = document(path, functools.partial(_is_read, tree.cut, left_out))
    events: list[dict[str, Any]] = trace["traceEvents"]
    facts = facts_of(tree, concrete_inputs(events), names)
    observed = Observed(facts, problems=problems, num_cut=sum(map(is_dispatched, left_out)))
    found = Program(events)
    observed.num_tuned, observed.tuned_us = len(found.tuned), sum(event["dur"] for event in found.tuned)
    if mark and tree.outer:
        base = trace.get("baseTimeNanoseconds", 0)
        _plan_steps(observed, tree, base, replays=found.replays(), step_ends=tree.marks[mark], **options)
        found.events += _step_events(observed.steps, next(item for item in found.events if item.get("cat") == "cpu_op"))
    trace["traceEvents"] = found.events
    path.write_bytes(msgspec.json.encode(trace))
    return observed


def _is_read(cut: SessionCut | None, left_out: list[str], event: Event, base_ns: int) -> bool:
    """Return whether an event goes into the recording; collect the names of ops that the session's cut leaves out."""
    if event.cat in _NOT_KEPT:
        return False
    if cut is None or event.ph == "M" or (event.ts or 0.0) < (cut.ends_ns - base_ns) / 1e3:
        return True
    if event.cat in _ON_DEVICE and (arguments := decode_args(bytes(event.args))) is not None:
        return 0 < (arguments.correlation or 0) <= cut.last_launch  # launched before, run later
    if event.ph == "X" and event.cat == "cpu_op":
        left_out.append(event.name)
    return False


class Program:
    """The events of a trace without what the compiler did; names are as in sessions that were not asked for overloads."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        drop: set[int] = set()
        phases, self._ops = Stretches(), Stretches()
        spans = [event for event in events if event.get("ph") == "X" and event.get("cat") in _SPANS]
        for event in sorted(spans, key=lambda event: (event["ts"], -event["dur"])):
            place = event["tid"], event["ts"]
            if phases.hold(*place) or event["name"] == MODE or event["name"].startswith(STEP_ENDS):
                drop.add(id(event))
            elif event["name"].endswith(COMPILING):
                phases.add(*place, event["ts"] + event["dur"])
                event["cat"], event["name"] = "user_annotation", COMPILED
            else:
                event["name"] = without_overload(event["name"])
                if event["name"].startswith(INDUCTOR_RUNS):
                    event["cat"] = "cpu_op"  # with shapes Kineto calls it an annotation
                if event["cat"] == "cpu_op":
                    self._ops.add(*place, event["ts"] + event["dur"])
        theirs = [event for event in _of(events, _LAUNCHERS) if phases.hold(event["tid"], event["ts"])]
        calls = {event["args"].get("correlation") for event in theirs}  # mostly of benchmarks of candidates
        self.tuned = [event for event in _of(events, _ON_DEVICE) if event["args"].get("correlation") in calls]
        drop.update(map(id, (*theirs, *self.tuned, *(item for item in _of(events, ("ac2g",)) if item["id"] in calls))))
        self.events = [event for event in events if id(event) not in drop]

    def replays(self) -> list[tuple[float, str]]:
        """Return when each CUDA graph was replayed, and the kernels that it ran: equal graphs have equal ones.

        The replay of a compiled function is a part of its call: one that begins in an op is left out.
        """
        calls = [event for event in _of(self.events, _LAUNCHERS) if REPLAY.match(event["name"])]
        alone = [event for event in calls if not self._ops.hold(event["tid"], event["ts"])]
        launched = {event["args"]["correlation"]: event["ts"] for event in alone}
        kernels: defaultdict[int, list[str]] = defaultdict(list)
        for event in _of(self.events, ("kernel",)):
            if (number := event["args"].get("correlation")) in launched:
                kernels[number].append(event["name"])
        return sorted((launched[number], " ".join(sorted(names))) for number, names in kernels.items())


def _of(events: Iterable[dict[str, Any]], categories: tuple[str, ...]) -> list[dict[str, Any]]:
    return [event for event in events if event.get("cat") in categories]


def without_overload(name: str) -> str:
    """An op's name as sessions write it that were not asked for overloads: "aten::add.Tensor" → "aten::add"."""
    if not is_dispatched(name):
        return name
    namespace, _, rest = name.partition("::")
    return f"{namespace}::{rest.partition('.')[0]}"


def _plan_steps(observed: Observed, tree: EventTree, base: int, *, step_ends: list[int], **options: Any) -> None:
    """Plan the steps on the trace's clock."""

    def timed(items: Iterable[tuple[int, Any]]) -> list[tuple[float, str]]:
        return [((start - base) / 1e3, str(name)) for start, name in sorted(items)]

    ops, regions = timed(tree.outer), [item for item in tree.outer if item[1].startswith(COMPILED_REGIONS)]
    steps = observed.steps = plan(
        ops,
        begins=(tree.begins - base) / 1e3,
        ends=(tree.ends - base) / 1e3,
        calls=timed([*((start, f"{number}") for start, number in tree.calls), *tree.functions] or regions),
        step_ends=[(end - base) / 1e3 for end in step_ends],
        compiles=[(start - base) / 1e3 for start in tree.compiles],
        **options,
    )
    if steps.start_up is not None:
        observed.num_early = sum(start < steps.start_up.end for start, _ in ops)


def _step_events(steps: StepPlan, like: dict[str, Any]) -> list[dict[str, Any]]:
    place = {"ph": "X", "cat": "user_annotation", "pid": like["pid"], "tid": like["tid"], "args": {}}
    return [
        {**place, "name": f"ProfilerStep#{span.number}", "ts": span.start, "dur": span.end - span.start}
        for span in steps.kept
    ]
