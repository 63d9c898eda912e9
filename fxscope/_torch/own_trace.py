"""The trace of fxscope's own session: what it says of the program's ops and steps, and the file without our own work.

Out of the file go the Python calls, the allocations and the compiler's own phases; the steps to keep go into it as the
profiler's own `ProfilerStep#N` are.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from pathlib import Path
from typing import Any

from fxscope._torch.event_tree import EventTree, SeenOp, SessionCut, Stretches, concrete_inputs, facts_of
from fxscope._torch.module_names import ModuleNames
from fxscope._torch.steps import STEP_ENDS, StepPlan, plan
from fxscope.columns import uncollected
from fxscope.index import COMPILING
from fxscope.model import Problem
from fxscope.op_names import is_dispatched
from fxscope.readers.eager_graph import COMPILED_REGIONS, INDUCTOR_RUNS
from fxscope.readers.trace.graphs import REPLAY
from fxscope.readers.trace.reader import Event, decode_args, document

# Dynamo's own phases: the outermost ones by name (torch 2.13), those inside by how their names end.
COMPILE_SPANS = ("dynamo", "entire_frame_compile", "entire_backward_compile")
COMPILED = "compile (dynamo_timed)"  # an outermost phase: something was compiled in the step
_MODE = "PythonDispatchMode"
_ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_NOT_KEPT = ("python_function", "cpu_instant_event")


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

    left_out: list[Event] = []
    trace, problems = document(path, functools.partial(_is_read, tree.cut, left_out))
    events: list[dict[str, Any]] = trace["traceEvents"]
    found = _Spans()
    spans = _sorted_spans(events, found)
    facts = facts_of(tree, concrete_inputs(spans), names)
    observed = Observed(facts, problems=[*problems, *_checked(spans, facts)])
    tuned = _launched_by_compiler(events, found)
    observed.num_cut = _num_ops(left_out)
    observed.num_tuned, observed.tuned_us = len(tuned), sum(event["dur"] for event in tuned)
    if mark and found.outer:
        seen = {"calls": found.calls(tree), "replays": _replays(events, found), "step_ends": found.marks[mark]}
        events.extend(_with_steps(observed, found, **seen, **options))
    trace["traceEvents"] = [event for event in events if id(event) not in found.drop]
    path.write_bytes(msgspec.json.encode(trace))
    return observed


def _is_read(cut: SessionCut | None, left_out: list[Event], event: Event, base_ns: int) -> bool:
    """Return whether an event goes into the recording; collect those that the session's cut leaves out."""
    if event.cat in _NOT_KEPT:
        return False
    if cut is None or event.ph == "M" or (event.ts or 0.0) < (cut.ends_ns - base_ns) / 1e3:
        return True
    if event.cat in _ON_DEVICE and (arguments := decode_args(bytes(event.args))) is not None:
        return 0 < (arguments.correlation or 0) <= cut.last_launch  # launched before, run later
    left_out.append(event)
    return False


def _num_ops(left_out: list[Event]) -> int:
    """Number of the program's ops among events: those within the compiler's phases are not its own."""
    ops = [event for event in left_out if event.ph == "X" and event.cat == "cpu_op"]
    phases = Stretches()
    for event in sorted(ops, key=lambda item: item.ts):
        if event.name.endswith(COMPILING):
            phases.add(event.tid, event.ts, event.ts + event.dur)
    return sum(is_dispatched(event.name) and not phases.hold(event.tid, event.ts) for event in ops)


def _stretches(events: list[dict[str, Any]]) -> Stretches:
    found = Stretches()
    for event in events:
        found.add(event["tid"], event["ts"], event["ts"] + event["dur"])
    return found


def _launched_by_compiler(events: list[dict[str, Any]], found: _Spans) -> list[dict[str, Any]]:
    """Drop the compiler's launches, mostly benchmarks of candidates; return its device events."""
    phases = _stretches(found.phase_events)
    calls: set[int] = set()
    for event in events:
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and phases.hold(event["tid"], event["ts"]):
            calls.add(event["args"].get("correlation"))
            found.drop.add(id(event))
    tuned = [event for event in events if event.get("cat") in _ON_DEVICE and event["args"].get("correlation") in calls]
    found.drop.update(id(event) for event in events if event.get("cat") == "ac2g" and event.get("id") in calls)
    found.drop.update(map(id, tuned))
    return tuned


def _replays(events: list[dict[str, Any]], found: _Spans) -> list[tuple[float, str]]:
    """Return when each CUDA graph was replayed, and the kernels that it ran: equal graphs have equal ones.

    The replay of a compiled function is a part of its call: one that begins in an op is left out.
    """
    ops = _stretches(found.outer)
    launched = {
        event["args"]["correlation"]: event["ts"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and REPLAY.match(event["name"])
        and not ops.hold(event["tid"], event["ts"])
    }
    kernels: defaultdict[int, list[str]] = defaultdict(list)
    for event in events:
        if event.get("cat") == "kernel" and (number := event["args"].get("correlation")) in launched:
            kernels[number].append(event["name"])
    return sorted((launched[number], " ".join(sorted(names))) for number, names in kernels.items())


def _sorted_spans(events: list[dict[str, Any]], found: _Spans) -> list[dict[str, Any]]:
    spans = [event for event in events if event.get("ph") == "X" and event.get("cat") in ("cpu_op", "user_annotation")]
    for event in spans:
        event["name"] = without_overload(event["name"])
        if event["name"].startswith(INDUCTOR_RUNS):
            event["cat"] = "cpu_op"  # with shapes Kineto calls it an annotation
    found.phases = compile_phases(spans)
    spans.sort(key=lambda event: (event["ts"], -event["dur"]))
    for event in spans:
        found.add(event)
    return spans


def without_overload(name: str) -> str:
    """An op's name as sessions write it that were not asked for overloads: "aten::add.Tensor" → "aten::add"."""
    if not is_dispatched(name):
        return name
    namespace, _, rest = name.partition("::")
    return f"{namespace}::{rest.partition('.')[0]}"


def _checked(spans: list[dict[str, Any]], facts: dict[int, SeenOp]) -> list[Problem]:
    """Drop the facts of ops that the trace and the tree call differently."""
    wrong = 0
    for event in spans:
        number = event.get("args", {}).get("External id")
        if event["cat"] == "cpu_op" and number in facts and facts[number].name != event["name"]:
            del facts[number]
            wrong += 1
    if not wrong:
        return []
    message = f"{wrong} ops have other names in the profiler's tree than in its trace"
    return [Problem(where="profiler", message=f"{message}: their tensors and lines are not known")]


def _with_steps(observed: Observed, found: _Spans, **options: Any) -> list[dict[str, Any]]:
    """Plan the steps; return their events."""
    outer = found.outer
    ends = max(event["ts"] + event["dur"] for event in found.spans)
    begins = min(event["ts"] for event in found.spans)
    steps = plan(
        [(event["ts"], event["name"]) for event in outer], begins=begins, ends=ends, compiles=found.compiles, **options
    )
    observed.steps = steps
    if steps.start_up is not None:
        observed.num_early = sum(event["ts"] < steps.start_up.end for event in outer)
    process, thread = outer[0]["pid"], outer[0]["tid"]
    return [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": f"ProfilerStep#{span.number}",
            "pid": process,
            "tid": thread,
            "ts": span.start,
            "dur": span.end - span.start,
            "args": {},
        }
        for span in steps.kept
    ]


def compile_phases(events: list[dict[str, Any]]) -> dict[Any, set[str]]:
    """The outermost phases of compiling by thread: elsewhere, a name like those of Dynamo's is the user's.

    A phase `X` has an annotation `X_data: compile_id=…` in it, also in a thread where Inductor runs a C++ compiler
    (torch 2.13: torch/_dynamo/utils.py, `log_event_start`).
    """
    found: dict[Any, set[str]] = {}
    for event in events:
        name = event["name"]
        if name.endswith(COMPILING):
            found.setdefault(event["tid"], set(COMPILE_SPANS))
        elif "compile_id=" in name and (phase := name.partition("_data: ")[0]) != name:
            found.setdefault(event["tid"], set(COMPILE_SPANS)).add(phase)
    return found


class _Spans:
    """The host events of a trace; fed in order of time, parents first."""

    def __init__(self) -> None:
        self.phases: dict[Any, set[str]] = {}  # of compiling, by thread
        self.drop: set[int] = set()
        self.spans: list[dict[str, Any]] = []  # of the program
        self.outer: list[dict[str, Any]] = []  # ops that no op calls
        self.compiles: list[tuple[float, float]] = []  # start and duration of the phases, one after the other
        self.phase_events: list[dict[str, Any]] = []  # the outermost phases of each thread, in order
        self.marks: defaultdict[str, list[float]] = defaultdict(
            list
        )  # when the steps of an optimizer ended, by its mark
        self._stacks: dict[Any, list[Any]] = {}
        self._outer_of: dict[int, dict[str, Any]] = {}  # external id → the outermost op that it is in
        self._compiling: set[int] = set()

    def add(self, event: dict[str, Any]) -> None:
        stack = self._stacks.setdefault(event["tid"], [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
            stack.pop()
        parent = stack[-1] if stack else None
        stack.append(event)
        if self._compiles(event, parent):
            return
        if self._is_mark(event):
            stack.pop()
            return
        self.spans.append(event)
        if event["cat"] != "cpu_op":
            return
        above = next((item for item in stack if item["cat"] == "cpu_op"), event)
        if above is event:
            self.outer.append(event)
        self._outer_of[event.get("args", {}).get("External id", -1)] = above

    def calls(self, tree: EventTree) -> list[tuple[float, str]]:
        """Return when each call of an outermost module or compiled function began its first op, and which one it was."""
        called = [(op, f"{module}") for op, module in tree.calls] + tree.functions
        return sorted((self._outer_of[op]["ts"], name) for op, name in called if op in self._outer_of) or [
            (event["ts"], event["name"]) for event in self.outer if event["name"].startswith(COMPILED_REGIONS)
        ]

    def _is_mark(self, event: dict[str, Any]) -> bool:
        if event["name"].startswith(STEP_ENDS):
            self.marks[event["name"]].append(event["ts"])
        elif event["name"] != _MODE:  # of the program's, or of torch's own around a compiled function's first call
            return False
        self.drop.add(id(event))
        return True

    def _compiles(self, event: dict[str, Any], parent: Any) -> bool:
        inside = parent is not None and id(parent) in self._compiling
        outermost = event["name"] in self.phases.get(event["tid"], ())
        if not (inside or outermost or event["name"].endswith(COMPILING)):
            return False
        self._compiling.add(id(event))
        if not inside and event["ts"] >= sum(self.compiles[-1] if self.compiles else (0.0, 0.0)):
            self.compiles.append((event["ts"], event["dur"]))  # not what other threads compile for it meanwhile
        if not inside:
            self.phase_events.append(event)
            event["cat"], event["name"] = "user_annotation", COMPILED
        else:
            self.drop.add(id(event))
        return True
