"""The events of the wanted steps, still as columns: which rows, in which step, under which op, and what was launched."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fxscope import op_names
from fxscope.errors import TraceError
from fxscope.index import COMPILES_DATA, COMPILING, whole_steps
from fxscope.model import WHOLE, Problem, Step
from fxscope.readers.trace import table as t
from fxscope.readers.trace.columns import Trace, nearest, of_names
from fxscope.readers.trace.reader import HEAD_BYTES, refusal
from fxscope.readers.trace.unpacked import open_trace
from fxscope.text import counted, listed

NO_WORK = ("Trace", "ac2g", "cuda_event", "cuda_sync", "fwdbwd", "gpu_user_annotation")  # marks, and arrows
# Events around what a mode or a subclass runs for an op, in Python: the program's, or torch's around a compiled function
HANDLERS = ("PythonDispatchMode", "PythonSubclass")


@dataclass(kw_only=True)
class Kept:
    """Two tables of columns. Host events (ops, annotations, runtime calls) in order of time, parents first; and launches.

    A launch is an event of the device; in a trace without a device, an op that does work itself. Positions count from 0
    in these tables, rows in the whole trace; -1 means none.
    """

    trace: Trace
    steps: tuple[Step, ...]
    on_device: bool
    rows: NDArray[np.int64]
    step: NDArray[np.int32]  # index of the step; -1 while a graph was captured outside of them
    parent: NDArray[np.int32]  # position of the nearest kept host event around it
    launch_rows: NDArray[np.int64]
    launch_step: NDArray[np.int32]
    launch_op: NDArray[np.int32]  # position of the op that launched it

    @property
    def category(self) -> NDArray[np.int8]:
        return self.trace.category[self.rows]

    @property
    def name(self) -> NDArray[np.int32]:
        """Index into `trace.names` of each host event."""
        return self.trace.name[self.rows]

    @property
    def launch_name(self) -> NDArray[np.int32]:
        """Index into `trace.names` of each launch."""
        return self.trace.name[self.launch_rows]

    @property
    def launch_start(self) -> NDArray[np.int64]:
        return self.trace.start_ns[self.launch_rows]

    @property
    def launch_ns(self) -> NDArray[np.int64]:
        return self.trace.duration_ns[self.launch_rows]

    @property
    def launch_end(self) -> NDArray[np.int64]:
        return self.launch_start + self.launch_ns

    @property
    def problems(self) -> tuple[Problem, ...]:
        trace = self.trace
        found = list(trace.problems)

        def say(message: str, remedy: str | None = None) -> None:
            found.append(Problem(where=trace.path.name, message=message, remedy=remedy))

        others = listed(sorted(trace.categories - {*t.CATEGORIES, *NO_WORK}))
        if (unread := trace.unread_device) is not None:
            what = f"{'kernel' if trace.on_device else 'device event'} of a known kind"
            say(f"{unread}: no {what} (it has: {others or 'none'}); its work is not shown", "Profile it, too.")
        elif others:
            say(f"events of unknown categories are not shown: {others}")
        if not self.on_device:
            if trace.header.get("deviceProperties") and not (trace.category == t.RUNTIME).any():
                say("the machine has a GPU, and no event of it was recorded: its work is not shown", "Profile it, too.")
            return tuple(found)
        rows = self.launch_rows[trace.op[self.launch_rows] < 0]
        in_graph = self.launch_rows[trace.graph[self.launch_rows] >= 0]
        fits_none = trace.num_own < len(trace) and bool((trace.issuer[in_graph] == trace.launcher[in_graph]).all())
        has_call = (trace.graph[rows] < 0) | (trace.issuer[rows] != trace.launcher[rows])  # of a capture, in a replay
        replayed = in_graph if fits_none else rows[~has_call]
        launcher = trace.issuer[rows[has_call]]
        calls = Counter(trace.name_of(row) for row in launcher[launcher >= 0].tolist())
        lost = int((launcher < 0).sum())
        of_all = f"of {len(self.launch_rows)} device events"
        if len(replayed):
            replays = counted(len(np.unique(trace.launcher[replayed])), "graph replay")
            has_capture = trace.num_own < len(trace) or trace.windows
            end = " that no capture here fits: their ops are unknown"
            end = end if has_capture else ": ops unknown without the trace of the capture"
            say(f"{len(replayed)} {of_all} in {replays}{end}", "Give the capture's trace: --capture FILE.")
        if (trace.graph[rows] < 0).any() and not (trace.category[: trace.num_own] == t.CPU_OP).any():
            say("no CPU op was recorded: the ops of device events are unknown", "Profile ProfilerActivity.CPU, too.")
        elif calls:
            by = ", ".join(f"{name} ×{number:,}" for name, number in calls.most_common(3))
            say(f"{calls.total()} {of_all} were launched outside of any op ({by})")
        ids = trace.correlation[: trace.num_own][trace.category[: trace.num_own] == t.RUNTIME]
        if len(ids := ids[ids > 0]) > len(np.unique(ids)):
            say("correlation ids come twice, as in files of several processes: ops may be wrong", "Read each alone.")
        if trace.steps and len(early := launched_before(trace)):
            say(
                f"{counted(len(early), 'device event')} launched before the recording: counted as busy time, not in a step"
            )
        if lost:
            say(f"{lost} {of_all} with neither a launch nor an external id: op unknown")
        return tuple(found)


def keep(trace: Trace, steps: Iterable[int] | None = None) -> Kept:
    """The events of some steps, of all by default. Raises TraceError where the trace has no event, or no such step."""
    if not len(trace):
        for problem in trace.problems:
            raise TraceError(f"{trace.path} holds no events that can be read: {problem.message}. Export it again.")
        with open_trace(trace.path) as file:
            raise TraceError(refusal(trace.path, file.read(HEAD_BYTES), trace.header))
    kept = kept_steps(trace, steps)
    step_of = steps_of_rows(trace, kept)
    inside = (step_of >= 0) | captured(trace, _replayed_windows(trace))
    rows = np.flatnonzero(inside & (trace.category < t.PYTHON))
    rows = rows[np.lexsort((rows, -trace.duration_ns[rows], trace.start_ns[rows]))]
    position = np.full(len(trace), -1, np.int32)
    position[rows] = np.arange(len(rows), dtype=np.int32)
    around = nearest(trace.parent, position >= 0)[rows]
    parent = np.where(around >= 0, position[around], -1).astype(np.int32)
    # Kernels come last in a file, and a header that follows the events is lost with them
    lost = trace.incomplete and (bool(trace.header.get("deviceProperties")) or "schemaVersion" not in trace.header)
    on_device = trace.on_device or trace.unread_device is not None or lost
    result = Kept(
        trace=trace,
        steps=kept,
        on_device=on_device,
        rows=rows,
        step=step_of[rows],
        parent=parent,
        launch_rows=rows[:0],
        launch_step=step_of[:0],
        launch_op=parent[:0],
    )
    if not on_device:
        return _with_cpu_launches(result)
    is_read = trace.unread_device is None  # copies beside kernels that are not known are no device time
    launches = np.flatnonzero((trace.category >= t.KERNEL) & (step_of >= 0) & is_read)
    counts = {step.index: int((step_of[launches] == step.index).sum()) for step in kept}
    if steps is None and (left := counts.keys() - (whole := whole_steps(counts))):
        names = ", ".join(f"{step.name} ({counts[step.index]})" for step in kept if step.index in left)
        message = f"left out as incomplete, with its device events: {names}; other steps have twice as many and more"
        trace.problems.append(Problem(where=trace.path.name, message=message, remedy="Choose steps with --steps."))
        return keep(trace, whole)
    launches = launches[np.lexsort((launches, trace.start_ns[launches]))]
    op = trace.op[launches]
    result.launch_rows, result.launch_step = launches, step_of[launches]
    result.launch_op = np.where(op >= 0, position[op], -1).astype(np.int32)
    return result


def kept_steps(trace: Trace, steps: Iterable[int] | None = None) -> tuple[Step, ...]:
    """The wanted steps; one, "whole trace", where the trace has none. Raises TraceError for others."""
    found = trace.steps
    if not found:
        own = np.flatnonzero(trace.category[: trace.num_own] != t.OVERHEAD)
        start = int(trace.start_ns[own].min())
        end = int((trace.start_ns + trace.duration_ns)[own].max())
        found = [Step(index=0, name=WHOLE, start_ns=start, duration_ns=end - start)]
    if steps is None:
        return tuple(found)
    wanted: set[int] = set()
    for step in steps:  # which may be a range of any length
        if not 0 <= step < len(found):
            raise TraceError(f"{trace.path} has no step {step}: its active steps are 0 to {len(found) - 1}.")
        wanted.add(step)
    return tuple(found[step] for step in sorted(wanted))


def steps_of_rows(trace: Trace, steps: tuple[Step, ...]) -> NDArray[np.int32]:
    """The step of each row, -1 outside: host events by their start, device events by their launch's."""
    if not trace.steps:
        return np.where(np.arange(len(trace)) < trace.num_own, 0, -1).astype(np.int32)
    step_of = np.full(len(trace), -1, np.int32)
    start = np.array([step.start_ns for step in steps], np.int64)
    end = start + np.array([step.duration_ns for step in steps], np.int64)
    last = np.searchsorted(start, trace.start_ns, "right") - 1  # of steps that overlap the later one
    inside = (last >= 0) & (trace.start_ns < end[last])
    step_of[inside] = np.array([step.index for step in steps], np.int32)[last[inside]]
    step_of[trace.num_own :] = -1
    device = np.flatnonzero(trace.category >= t.KERNEL)
    # What is only known by its external id belongs to its op's step; what has neither, to the step it ran in.
    for source in (trace.op, trace.launcher):
        known = device[source[device] >= 0]
        step_of[known] = step_of[source[known]]
    step_of[launched_before(trace)] = -1
    return step_of


def launched_before(trace: Trace) -> NDArray[np.intp]:
    """The device rows that were launched before the recording: without a launch, ahead of all launched ones of their stream."""
    device = np.flatnonzero(trace.category >= t.KERNEL)
    launched = device[trace.launcher[device] >= 0]
    first = np.full(len(trace.threads), np.iinfo(np.int64).max)
    np.minimum.at(first, trace.thread[launched], trace.start_ns[launched])
    first[first == np.iinfo(np.int64).max] = np.iinfo(np.int64).min  # nothing is known of a stream without a launch
    unknown = device[(trace.launcher[device] < 0) & (trace.op[device] < 0)]
    return unknown[trace.start_ns[unknown] < first[trace.thread[unknown]]]


def _replayed_windows(trace: Trace) -> list[tuple[int, int, int, int]]:
    used = np.unique(trace.issuer[(trace.graph >= 0) & (trace.op_evidence == t.BY_ORDER)])
    times = trace.start_ns[used]
    return [
        window
        for window in trace.windows
        if ((times >= window[0]) & (times < window[1]) & (used >= window[2]) & (used < window[3])).any()
    ]


def captured(trace: Trace, windows: list[tuple[int, int, int, int]]) -> NDArray[np.bool_]:
    found = np.zeros(len(trace), np.bool_)
    for begin, end, first, after in windows:
        start = trace.start_ns[first:after]
        found[first:after] |= (start >= begin) & (start < end)
    return found


_BOOKKEEPING = re.compile(
    r"^(entire_(frame|backward)_compile|dynamo$|torch::autograd::|TorchDynamo|Pregraph bytecode|"
    rf"AOTDispatcher|{'|'.join((*op_names.COMPILED_REGIONS, *HANDLERS))}|defaults$|"  # TorchScript's default arguments
    r"autograd::engine|Optimizer\.|ProfilerStep|PyTorch Profiler|enumerate|\[memory\]|Inductor|"
    r"FX codegen|torch/|CompiledFxGraph)"
)


def _with_cpu_launches(kept: Kept) -> Kept:
    """Fill in the executions of a CPU-only trace: the outermost ops that do their work themselves.

    An op that hands its work on is none; one that calls others for a detail is one, with the time of all that is in it.
    """
    trace, name = kept.trace, kept.name
    is_op = kept.category == t.CPU_OP
    calls = np.zeros(len(kept.rows), np.bool_)
    calls[kept.parent[is_op & (kept.parent >= 0)]] = True
    # The work of an autograd function in Python is that of its ops.
    phases = {text.partition(COMPILES_DATA)[0] for text in trace.names if COMPILES_DATA in text}
    compiles = of_names(trace, name, lambda text: text in phases or text.endswith(COMPILING))
    is_op &= ~compiles & (nearest(kept.parent, compiles) < 0)  # what runs there are fake tensors, and benchmarks
    works = of_names(trace, name, _does_work) & is_op & (of_names(trace, name, op_names.is_dispatched) | ~calls)
    around = nearest(kept.parent, works)  # the op that did the work around this one
    inner = np.flatnonzero(works & (around >= 0))
    passes_on = np.zeros(len(kept.rows), np.bool_)
    pairs, which = np.unique(np.stack([name[around[inner]], name[inner]]), axis=1, return_inverse=True)
    passed = [hands_on(trace.names[outer], trace.names[called]) for outer, called in pairs.T.tolist()]
    passes_on[around[inner[np.array(passed, np.bool_)[which.reshape(-1)]]]] = True
    passes_on[kept.parent[of_names(trace, name, HANDLERS.__contains__) & (kept.parent >= 0)]] = True
    # `aten::sum ⊃ aten::sum`, `aten::add_ ⊃ aten::add`, vmap's `mm ⊃ matmul ⊃ mm`: the inner one
    same = np.unique([op_names.out_of_place(text) for text in trace.names], return_inverse=True)[1][name]
    repeated = np.zeros(len(kept.rows), np.bool_)
    outer = around[inner]
    while inner.size:
        repeated[outer[same[inner] == same[outer]]] = True
        inner, outer = inner[passes_on[outer]], around[outer[passes_on[outer]]]
        inner, outer = inner[outer >= 0], outer[outer >= 0]
    does = works & ~passes_on & ~repeated
    chosen = np.flatnonzero(does & (nearest(kept.parent, does) < 0))
    kept.launch_rows, kept.launch_step = kept.rows[chosen], kept.step[chosen]
    kept.launch_op = chosen.astype(np.int32)
    return kept


def _does_work(name: str) -> bool:
    if _BOOKKEEPING.match(name) or name.endswith("Backward") or re.search(r"Backward\d+$", name):
        return False
    # reshape, contiguous, to: where they copy, an op below them does it
    # A composite op's kernels are those of the ops it calls; what MKL-DNN convolves in it is no op.
    none = ("view", "host") if op_names.is_convolution(name) else ("view", "host", "composite")
    return op_names.expected_nature(name) not in none and op_names.op_name(name) not in op_names.MAY_COPY


def hands_on(name: str, called: str) -> bool:
    """Return whether an op leaves all its work to the ops that it calls, of which this is one."""
    op = op_names.op_name(name)
    if op_names.is_gemm(name) and op_names.is_gemm(called):  # for a batch
        return True
    if op_names.is_convolution(name) and not op_names.may_multiply(called):
        return False  # MKL-DNN's transposed convolution is not an op: a copy of its weight is not its work
    bare, inner = map(op_names.out_of_place, (name, called))
    if (
        op in op_names.DELEGATES
        or inner in op_names.HANDS_TO.get(bare, ())
        or op_names.expected_nature(name) != "kernel"
    ):
        return True
    kinds = op_names.table().get(bare, ())
    copies = op_names.op_name(called) == "copy_" and "pointwise" in kinds  # the result of a complex `abs` is copied
    return op != "copy_" and "explicit" in kinds and not copies  # `copy_` is no `copy` in place
