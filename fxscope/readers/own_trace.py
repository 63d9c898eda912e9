"""The trace of fxscope's own session, rewritten for the reader of traces, with the steps of the program.

Out of the file go the Python calls and what the compiler did; the steps to keep go into it as the profiler's own
`ProfilerStep#N` are.
"""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from fxscope.columns import uncollected
from fxscope.index import COMPILED, COMPILES_DATA, COMPILING
from fxscope.op_names import COMPILED_REGIONS, INDUCTOR_RUNS, OPTIMIZER_STEP, is_dispatched, qualified
from fxscope.passes.program_steps import StepPlan, plan
from fxscope.readers.trace.graphs import REPLAY
from fxscope.readers.trace.kept import HANDLERS
from fxscope.readers.trace.reader import Event, decode_args, document

STEP_ENDS = "fxscope: step ends"  # events that fxscope leaves in the trace
_ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCHERS = ("cuda_runtime", "cuda_driver")
_SPANS = ("cpu_op", "user_annotation")


class SessionCut(NamedTuple):
    """End of the part of a session that is read."""

    ends_ns: int
    bound: str  # what a thread ran before: "50,000 ops"
    last_launch: int  # correlation id: what it launched may run after the end


@dataclass
class Timeline:
    """When what of a session's program began, in ns."""

    outer: list[tuple[int, str]] = field(default_factory=list)  # ops that no op called
    calls: list[tuple[int, str]] = field(default_factory=list)  # of modules that no other called
    functions: list[tuple[int, str]] = field(default_factory=list)  # compiled, in no module, by their regions
    marks: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))  # ends of steps
    compiles: list[int] = field(default_factory=list)  # and other phases of the compiler
    closures: list[tuple[int, int]] = field(default_factory=list)  # begin and end of those that an optimizer calls
    python: dict[int, list[int]] = field(default_factory=dict)  # op → when Python in it begins and ends
    has_memory: bool = False  # allocations were recorded
    fake: set[int] = field(default_factory=set)  # external ids of outermost ops on tensors without memory
    begins: float = math.inf  # of the first op or annotation
    ends: float = 0.0
    cut: SessionCut | None = None


class OwnTrace:
    """A session's trace, rewritten. `mark`: of the ends of steps; without one, no steps are planned.

    Attributes:
        concrete: external id → "Concrete Inputs" of an op.
        num_early: outermost ops before the first step.
        num_cut: ops after the part that is read.
        num_fake: outermost ops on fake or meta tensors.
        tuned: device events of the compiler's benchmarks.
    """

    @uncollected()
    def __init__(self, path: Path, times: Timeline, *, mark: str = "", **options: Any) -> None:
        self._times, self._left_out = times, list[str]()
        trace, self.problems = document(path, self._is_read)
        self.num_cut, self.num_early, self.steps = sum(map(is_dispatched, self._left_out)), 0, StepPlan()
        self.num_fake = len(times.fake)
        self._base = trace.get("baseTimeNanoseconds", 0)
        self._sort(trace["traceEvents"])
        ops = _of(self.events, ("cpu_op",))
        arguments = (event.get("args", {}) for event in ops)
        self.concrete: dict[int, Sequence[str]] = {
            args["External id"]: args.get("Concrete Inputs", ()) for args in arguments if "External id" in args
        }
        if mark and times.outer and ops:
            self._plan(times.marks[mark], **options)
            place = {"ph": "X", "cat": "user_annotation", "pid": ops[0]["pid"], "tid": ops[0]["tid"], "args": {}}
            for span in self.steps.kept:  # 1 ns less: µs since Kineto's base are exact to about 1 ns
                step = {"name": f"ProfilerStep#{span.number}", "ts": span.start, "dur": span.end - span.start - 1e-3}
                self.events.append({**place, **step})
        trace["traceEvents"] = self.events
        path.write_bytes(msgspec.json.encode(trace))

    def _is_read(self, event: Event, base_ns: int) -> bool:
        """Return whether an event goes into the recording; note the names of ops that the session's cut leaves out."""
        cut = self._times.cut
        if event.cat == "python_function":
            return False
        if cut is None or event.ph == "M" or (event.ts or 0.0) < (cut.ends_ns - base_ns) / 1e3:
            return True
        if event.cat in _ON_DEVICE and (arguments := decode_args(bytes(event.args))) is not None:
            return 0 < (arguments.correlation or 0) <= cut.last_launch  # launched before, run later
        if event.ph == "X" and event.cat == "cpu_op":
            self._left_out.append(event.name)
        return False

    def _sort(self, events: list[dict[str, Any]]) -> None:
        """Part the program's events from the compiler's; names become those of sessions without overloads."""
        drop: set[int] = set()
        phases, self._ops = Stretches(), Stretches()
        spans = [event for event in _of(events, _SPANS) if event.get("ph") == "X"]
        names = (event["name"] for event in spans)
        phase_names = {name.partition(COMPILES_DATA)[0] for name in names if COMPILES_DATA in name}  # as of an export
        for event in sorted(spans, key=lambda event: (event["ts"], -event["dur"])):
            place = event["tid"], event["ts"]
            if phases.hold(*place) or event["name"].startswith(STEP_ENDS):
                drop.add(id(event))
            elif event["name"] in HANDLERS:
                event["cat"] = "user_annotation"
            elif event["name"].endswith(COMPILING) or event["name"] in phase_names:
                phases.add(*place, event["ts"] + event["dur"])
                event["cat"], event["name"] = "user_annotation", COMPILED
            elif event.get("args", {}).get("External id") in self._times.fake:
                phases.add(*place, event["ts"] + event["dur"])
                drop.add(id(event))
            else:
                if is_dispatched(event["name"]):
                    event["name"] = qualified(event["name"])
                if event["name"].startswith(INDUCTOR_RUNS):
                    event["cat"] = "cpu_op"  # with shapes Kineto calls it an annotation
                if event["cat"] == "cpu_op":
                    self._ops.add(*place, event["ts"] + event["dur"])
        theirs = [event for event in _of(events, _LAUNCHERS) if phases.hold(event["tid"], event["ts"])]
        calls = {event["args"].get("correlation") for event in theirs}  # mostly of benchmarks of candidates
        device_events = _of(events, _ON_DEVICE)
        self.tuned = [event for event in device_events if event["args"].get("correlation") in calls]
        flows = (event for event in _of(events, ("ac2g",)) if event.get("id") in calls)
        memory = (item for item in _of(events, ("cpu_instant_event",)) if phases.hold(item["tid"], item["ts"]))
        drop.update(map(id, (*theirs, *self.tuned, *flows, *memory)))
        kept = (event for event in events if id(event) not in drop)
        self.events = [part for event in kept for part in self._parts(event, on_cpu=not device_events)]

    def _parts(self, event: dict[str, Any], *, on_cpu: bool) -> Iterator[dict[str, Any]]:
        """Yield an event; of an optimizer's annotation the parts between closures: what those run is the model's.

        Hooks of autograd run in an op: what a CPU works for it is the longest part between them.
        """
        if on_cpu and (calls := self._times.python.get(event.get("args", {}).get("External id", -1))):
            # Whole ns: a difference of µs since Kineto's base is up to 1 ns too long, and what is called would be inside.
            start, took = (round(event[key] * 1e3) for key in ("ts", "dur"))
            ends = [start, *(call - self._base for call in calls), start + took]
            length, begins = max((end - begin, begin) for begin, end in zip(ends[::2], ends[1::2], strict=True))
            event = {**event, "ts": begins / 1e3, "dur": length / 1e3}
        if event.get("cat") == "user_annotation" and OPTIMIZER_STEP.match(event["name"]):
            end = event["ts"] + event["dur"]
            for closure in sorted(self._times.closures):
                begins, ends = map(self._us, closure)
                if event["ts"] <= begins < end:
                    yield {**event, "name": f"part of {event['name']}", "dur": begins - event["ts"], "args": {}}
                    event = {**event, "ts": ends, "dur": end - ends}
        yield event

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

    def _plan(self, step_ends: list[int], **options: Any) -> None:
        times = self._times
        regions = [item for item in times.outer if item[1].startswith(COMPILED_REGIONS)]
        calls = [*times.calls, *times.functions] or regions
        ops = self._timed(times.outer)
        self.steps = plan(
            ops,
            begins=self._us(times.begins),
            ends=self._us(times.ends),
            calls=self._timed(sorted(calls)),
            step_ends=[*map(self._us, step_ends)],
            replays=self.replays(),
            **dict[str, Any](compiles=[*map(self._us, times.compiles)]) | options,
        )
        if self.steps.start_up is not None:
            self.num_early = sum(start < self.steps.start_up.end for start, _ in ops)

    def _us(self, time_ns: float) -> float:
        return (time_ns - self._base) / 1e3

    def _timed(self, items: Iterable[tuple[int, str]]) -> list[tuple[float, str]]:
        return [(self._us(start), name) for start, name in items]


class Stretches:
    """Stretches of time of each thread, added in the order of their starts; one within the one before adds nothing."""

    def __init__(self) -> None:
        self._of: dict[Any, list[tuple[float, float]]] = {}

    def add(self, thread: Any, start: float, end: float) -> None:
        mine = self._of.setdefault(thread, [])
        if not mine or end > mine[-1][1]:
            mine.append((start, end))

    def hold(self, thread: Any, at: float) -> bool:
        mine = self._of.get(thread, ())
        place = bisect_right(mine, (at, math.inf)) - 1
        return place >= 0 and at < mine[place][1]


def _of(events: Iterable[dict[str, Any]], categories: tuple[str, ...]) -> list[dict[str, Any]]:
    return [event for event in events if event.get("cat") in categories]
