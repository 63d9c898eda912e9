"""A trace as numpy columns: one row an event, times in int64 nanoseconds, names interned; nesting and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fxscope.trace.reader import MAX_BYTES, Args, Reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fxscope.model import Problem

# Kineto's categories, and the capitalised ones of traces before torch 1.13.
CPU_OP, ANNOTATION, RUNTIME, PYTHON, KERNEL, MEMSET, MEMCPY = range(7)
CATEGORIES = {
    "cpu_op": CPU_OP, "Operator": CPU_OP, "user_annotation": ANNOTATION, "cuda_runtime": RUNTIME, "cuda_driver": RUNTIME,
    "Runtime": RUNTIME, "hip_runtime": RUNTIME, "xpu_runtime": RUNTIME, "privateuse1_runtime": RUNTIME,
    "privateuse1_driver": RUNTIME, "mtia_runtime": RUNTIME, "python_function": PYTHON, "kernel": KERNEL, "Kernel": KERNEL,
    "gpu_memset": MEMSET, "Memset": MEMSET, "gpu_memcpy": MEMCPY, "Memcpy": MEMCPY,
}  # fmt: skip
NUM_HOST = KERNEL  # categories below run on the host
INT64_MAX = 2**63 - 1


@dataclass(kw_only=True)
class Trace:
    """The columns. Row i is event i in the order of the file; -1 means none."""

    path: Path
    category: NDArray[np.int8]
    name: NDArray[np.int32]  # index into `names`
    thread: NDArray[np.int32]  # index into `threads`
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    correlation: NDArray[np.int64]
    external_id: NDArray[np.int64]
    parent: NDArray[np.int32]  # row of the enclosing host event
    launcher: NDArray[np.int32]  # device rows: row of the runtime call with the same correlation id
    op: NDArray[np.int32]  # device rows: row of the op that caused it
    op_by_external: NDArray[np.bool_]  # that was found by the external id alone
    names: list[str]
    threads: list[tuple[Any, Any]]
    args: list[Args | None]
    steps: list[int]  # rows of ProfilerStep#N, in order of time
    header: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.category)

    def name_of(self, row: int) -> str:
        """Return an event's name."""
        return self.names[self.name[row]]

    @property
    def base_time_ns(self) -> int | None:
        """Nanoseconds since the epoch of time 0; `None` where the file does not say."""
        return whole(self.header.get("baseTimeNanoseconds"))


def read(
    path: str | Path, *, strict: bool = False, max_bytes: int = MAX_BYTES, progress: Callable[[int], None] | None = None
) -> Trace:
    """Read a trace (.json or .json.gz) into columns.

    Args:
        path: what `torch.profiler` exported.
        strict: raise on any damage instead of recovering around it.
        max_bytes: largest size after unpacking.
        progress: called with the number of bytes read so far.

    Raises:
        TraceError: no such file, not a trace, too large; with `strict`, damaged.
    """
    reader = Reader(Path(path), strict=strict, max_bytes=max_bytes, progress=progress)
    rows: list[tuple[int, int, int, int, int, int, int]] = []
    args: list[Args | None] = []
    names: dict[str, int] = {}
    threads: dict[tuple[Any, Any], int] = {}
    for events in reader:
        for event in events:
            if event.ph != "X":
                continue
            category = CATEGORIES.get(event.cat) if isinstance(event.cat, str) else None
            if category is None:
                continue
            start, duration = nanoseconds(event.ts), nanoseconds(event.dur)
            if start is None or duration is None:
                reader.lost += 1
                continue
            detail = event.args
            name = event.name if isinstance(event.name, str) else str(event.name)
            thread = (event.pid, event.tid) if category < NUM_HOST else device_of(event)
            correlation = external = -1
            if detail is not None:
                correlation = identifier(detail.correlation)
                external = identifier(detail.external_id if detail.external_id is not None else detail.old_external_id)
            key = thread if _hashable(thread) else (str(thread[0]), str(thread[1]))
            row = (category, names.setdefault(name, len(names)), threads.setdefault(key, len(threads)), start,
                   max(0, duration), correlation, external)  # fmt: skip
            rows.append(row)
            args.append(detail)
    table = np.array(rows, dtype=np.int64).reshape(-1, 7)
    del rows
    trace = Trace(
        path=Path(path), category=table[:, 0].astype(np.int8), name=table[:, 1].astype(np.int32),
        thread=table[:, 2].astype(np.int32), start_ns=table[:, 3].copy(), duration_ns=table[:, 4].copy(),
        correlation=table[:, 5].copy(), external_id=table[:, 6].copy(), parent=np.full(len(table), -1, np.int32),
        launcher=np.full(len(table), -1, np.int32), op=np.full(len(table), -1, np.int32),
        op_by_external=np.zeros(len(table), np.bool_), names=list(names), threads=list(threads), args=args, steps=[],
        header=reader.header, problems=reader.problems,
    )  # fmt: skip
    nest(trace)
    link(trace)
    trace.steps = find_steps(trace)
    return trace


def nanoseconds(value: Any) -> int | None:
    """Convert microseconds, float or decimal, to whole nanoseconds; `None` for what is no time in int64."""
    try:
        result = round(value * 1000)
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return None
    return result if -INT64_MAX <= result <= INT64_MAX else None


def whole(value: Any) -> int | None:
    """Return an int64 as it is, `None` for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT64_MAX else None


def identifier(value: Any) -> int:
    """Return a correlation or external id, -1 for none. 0 means "not linked" in Kineto."""
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    found = whole(value)
    return found if found is not None and found > 0 else -1


def device_of(event: Any) -> tuple[Any, Any]:
    """Return (device, stream) of a device event: its arguments, else Kineto's pid and tid."""
    detail = event.args
    device = detail.device if detail is not None and detail.device is not None else event.pid
    stream = detail.stream if detail is not None and detail.stream is not None else event.tid
    return ("device", device), ("stream", stream)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def nest(trace: Trace) -> None:
    """Fill `parent`: per host thread, the innermost event that is still open when an event starts.

    Host events may end a little after their parent (clock reads): an event belongs to what was open at its start.
    """
    host = np.flatnonzero(trace.category < NUM_HOST)
    order = host[np.lexsort((host, -trace.duration_ns[host], trace.start_ns[host], trace.thread[host]))]
    parent = trace.parent
    end_ns = (trace.start_ns + trace.duration_ns).tolist()
    starts, threads = trace.start_ns.tolist(), trace.thread.tolist()
    stack: list[int] = []
    current = -1
    for row in order.tolist():
        if threads[row] != current:
            current = threads[row]
            stack.clear()
        start = starts[row]
        while stack and (end_ns[stack[-1]] <= start and not (end_ns[row] == start == starts[stack[-1]])):
            stack.pop()
        if stack:
            parent[row] = stack[-1]
        stack.append(row)


def link(trace: Trace) -> None:
    """Fill `launcher` and `op` of device rows: correlation id first, external id where that leads nowhere."""
    runtime = np.flatnonzero((trace.category == RUNTIME) & (trace.correlation >= 0))
    by_correlation = dict(zip(trace.correlation[runtime].tolist(), runtime.tolist(), strict=True))
    ops = np.flatnonzero((trace.category == CPU_OP) & (trace.external_id >= 0))
    by_external: dict[int, int] = {}
    ambiguous: set[int] = set()
    for row, external in zip(ops.tolist(), trace.external_id[ops].tolist(), strict=True):
        if external in by_external:
            ambiguous.add(external)
        by_external[external] = row
    for row in np.flatnonzero(trace.category >= KERNEL).tolist():
        launcher = by_correlation.get(int(trace.correlation[row]), -1) if trace.correlation[row] >= 0 else -1
        trace.launcher[row] = launcher
        op = nearest_op(trace, launcher) if launcher >= 0 else -1
        if op < 0:
            external = int(trace.external_id[row])
            if external in by_external and external not in ambiguous:
                op = by_external[external]
                trace.op_by_external[row] = True
        trace.op[row] = op


def nearest_op(trace: Trace, row: int) -> int:
    """Return the innermost CPU op around a host event, -1 for none; annotations and Python frames are looked through."""
    row = int(trace.parent[row])
    while row >= 0 and trace.category[row] != CPU_OP:
        row = int(trace.parent[row])
    return row


def find_steps(trace: Trace) -> list[int]:
    """Return the rows of `ProfilerStep#N`, one each, in order of time."""
    wanted = {index for index, name in enumerate(trace.names) if name.startswith("ProfilerStep#")}
    if not wanted:
        return []
    rows = np.flatnonzero((trace.category == ANNOTATION) & np.isin(trace.name, list(wanted)))
    longest: dict[int, int] = {}
    for row in rows.tolist():
        known = longest.get(int(trace.name[row]))
        if known is None or trace.duration_ns[row] > trace.duration_ns[known]:
            longest[int(trace.name[row])] = row
    return sorted(longest.values(), key=lambda row: int(trace.start_ns[row]))
