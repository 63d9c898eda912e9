"""Totals of a trace, from columns: ops, kernels, steps, gaps, and whether the CPU or the GPU was the limit."""

import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fxscope.index import grouped
from fxscope.kernel_names.vendors import collective
from fxscope.model import Gap, KernelStats, LaunchCategory, OpStats, StepStats, Summary, replace
from fxscope.passes import bound
from fxscope.readers.trace import intervals, table as t
from fxscope.readers.trace.columns import Trace, nearest, of_names
from fxscope.readers.trace.kept import Kept
from fxscope.readers.trace.table import device_and_stream

MAX_GAPS = 50
LATENCY_NS = 100_000  # within which launched work reaches an idle device: some 5 to 60 µs
# Runtime calls that return when the device has done what was asked
BLOCKING = re.compile(r".*Synchronize$|(cuda|cu|hip)Memcpy(?!.*(Async|DtoD))|ur(QueueFinish|EventWait)$")
_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
LAUNCH_CATEGORY: dict[int, LaunchCategory] = {
    t.KERNEL: "kernel",
    t.MEMSET: "gpu_memset",
    t.MEMCPY: "gpu_memcpy",
    t.CPU_OP: "cpu_kernel",
}


def summarize(kept: Kept) -> Summary:
    """The tables of the kept steps; device time is that of launches, CPU time that of ops."""
    steps = step_table(kept)
    has_events = kept.on_device and len(kept.launch_rows) > 0
    launched = (kept.trace.launcher[kept.launch_rows] >= 0) | (kept.launch_op >= 0)
    limit = bound.of_steps(steps, launched=2 * launched.sum() >= len(launched)) if has_events else None
    return Summary(
        ops=op_table(kept),
        kernels=kernel_table(kept),
        steps=steps,
        gaps=gaps(kept) if has_events else (),
        syncs=sync_table(kept),
        bound=limit.side if limit else None,
        verdict=limit.words if limit else None,
    )


def op_table(kept: Kept) -> tuple[OpStats, ...]:
    """One line per op name; device self time is the op's own launches, total adds those of ops it called."""
    num_rows = len(kept.rows)
    is_op, name = kept.category == t.CPU_OP, kept.name
    ran = kept.step >= 0  # what was captured before the steps took no time in them; its replays did
    duration = np.where(ran, kept.trace.duration_ns[kept.rows], 0)
    home = without_repeats(kept)
    left = home == np.arange(num_rows)
    parent = np.where(kept.parent >= 0, home[kept.parent], -1).astype(np.int32)
    launched = kept.launch_op >= 0
    own = _sums(home[kept.launch_op[launched]], kept.launch_ns[launched], num_rows)
    count = np.bincount(home[kept.launch_op[launched]], minlength=num_rows)
    # As in torch's table: time inside an annotation or the driver is not the op's own either
    inner = np.flatnonzero(left & (parent >= 0))
    children = _sums(parent[inner], duration[inner], num_rows)

    ops = np.flatnonzero(left & is_op)
    among = np.full(num_rows, -1, np.int32)
    among[ops] = np.arange(len(ops), dtype=np.int32)
    around = nearest(parent, left & is_op)[ops]
    total = np.zeros(num_rows, np.int64)
    total[ops] = _once_a_name(
        kept.trace.thread[kept.rows[ops]], name[ops], np.where(around >= 0, among[around], -1), own[ops]
    )
    lines, which = np.unique(name[ops], return_inverse=True)
    values = (ran, duration, duration - children, total, own, count)
    rows = zip(lines.tolist(), *(_sums(which, column[ops], len(lines)).tolist() for column in values), strict=True)
    found = [
        OpStats(
            name=kept.trace.names[index],
            count=calls,
            cpu_total_us=cpu_total / 1e3,
            cpu_self_us=cpu_self / 1e3,
            device_total_us=device_total / 1e3,
            device_self_us=device_self / 1e3,
            num_launches=launches,
        )
        for index, calls, cpu_total, cpu_self, device_total, device_self, launches in rows
    ]
    return tuple(sorted(found, key=lambda item: (-item.device_total_us, -item.cpu_total_us, item.name)))


def _sums(which: NDArray[np.integer], values: NDArray[Any], length: int) -> NDArray[np.int64]:
    found = np.zeros(length, np.int64)
    np.add.at(found, which, values.astype(np.int64))  # of other types numpy adds one by one
    return found


def without_repeats(kept: Kept) -> NDArray[np.int32]:
    """Return where each host event is counted: itself, or its caller's caller if it only repeats it.

    `aten::mul ⊃ aten::mul` is one line of torch's table (torch 2.13, `autograd/profiler_util.py`, `_remove_dup_nodes`);
    the inner op's launches and children become the caller's.
    """
    positions = np.arange(len(kept.rows), dtype=np.int32)
    inner = kept.parent >= 0
    alone = np.bincount(kept.parent[inner], minlength=len(positions)) == 1
    is_op, name = kept.category == t.CPU_OP, kept.name
    caller = np.where(inner, kept.parent, positions)
    repeats = inner & alone[caller] & is_op & is_op[caller] & (name == name[caller])
    outer = nearest(kept.parent, ~repeats)
    return np.where(repeats, outer, positions)


def _once_a_name(
    thread: NDArray[np.int32], name: NDArray[np.int32], parent: NDArray[np.int32], own: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return what an op and all below it took; 0 inside an op of the same name. Ops are in order of time, parents first."""
    depth = (parent >= 0).astype(np.int32)
    jump = parent
    while (jump >= 0).any():  # each round looks twice as far up
        depth += np.where(jump >= 0, depth[jump], 0)
        jump = np.where(jump >= 0, jump[jump], -1)
    total, size = own.copy(), np.ones(len(own), np.int64)
    by_depth = np.argsort(depth, kind="stable")
    ends = np.searchsorted(depth[by_depth], np.arange(depth.max(initial=0) + 2))
    for level in range(len(ends) - 2, 0, -1):
        rows = by_depth[ends[level] : ends[level + 1]]
        np.add.at(total, parent[rows], total[rows])
        np.add.at(size, parent[rows], size[rows])
    # In the order in which a thread's ops began, an op and all below it are one range; ranges are nested or apart
    begin = np.empty(len(own), np.int64)
    begin[np.argsort(thread, kind="stable")] = np.arange(len(own))
    order = np.lexsort((begin, name))
    # Each name has numbers of its own, so that the largest end so far starts anew with it
    offset = name[order].astype(np.int64) * (len(own) + 1)
    reached = np.maximum.accumulate((begin + size)[order] + offset)
    total[order[1:][begin[order[1:]] + offset[1:] < reached[:-1]]] = 0
    return total


def kernel_table(kept: Kept) -> tuple[KernelStats, ...]:
    """One line per kernel name, the most expensive first."""
    key = kept.launch_name * np.int64(16) + kept.trace.category[kept.launch_rows]
    keys, counts = np.unique(key, return_counts=True)
    times = kept.launch_ns[np.lexsort((kept.launch_ns, key))]
    everything = int(times.sum()) or 1
    each = [some.tolist() for some in np.split(times, np.cumsum(counts))[:-1]]
    found = [
        KernelStats(
            name=kept.trace.names[code >> 4],
            category=LAUNCH_CATEGORY[code & 15],
            count=len(mine),
            total_us=sum(mine) / 1e3,
            mean_us=sum(mine) / len(mine) / 1e3,
            min_us=mine[0] / 1e3,
            max_us=mine[-1] / 1e3,
            share=sum(mine) / everything,
            median_us=median(mine) / 1e3,
        )
        for code, mine in zip(keys.tolist(), each, strict=True)
    ]
    return tuple(sorted(found, key=lambda item: (-item.total_us, item.name)))


def step_table(kept: Kept) -> tuple[StepStats, ...]:
    """One line per step: wall time, device busy (union over streams) and idle, launches; of several devices the mean.

    Communication is the union of the collectives' kernels; what no other kernel ran beside is exposed.
    """
    trace, start, end = kept.trace, kept.launch_start, kept.launch_end
    talks = of_names(trace, kept.launch_name, collective)
    has_communication = kept.on_device and bool(talks.any())
    of_launch = by_step(kept.launch_step, (step.index for step in kept.steps))
    device_of = _devices(trace)[trace.thread[kept.launch_rows]]
    ran = {device: busy_and_launched(trace, rows) for device, rows in _rows_by_device(kept).items()}
    lines: list[StepStats] = []
    for step, mine, (begin, until) in zip(kept.steps, of_launch, windows(kept, of_launch), strict=True):
        sums = np.zeros(4, np.int64)
        for device, (times, launched) in ran.items():
            here = mine[device_of[mine] == device]
            busy, given = (intervals.covered(item, np.array([[begin, until]]))[0] for item in (times, launched))
            some = (here[talks[here]], here[~talks[here]], here)
            talking, other, both = (-np.subtract(*intervals.union(start[rows], end[rows])).sum() for rows in some)
            sums += busy, talking, both - other, given - busy
        busy, talking, exposed, queued = (sums // max(1, len(ran))).tolist()
        wall = until - begin
        lines.append(
            StepStats(
                step=step.index,
                name=step.name,
                wall_us=wall / 1e3,
                device_busy_us=busy / 1e3,
                device_idle_us=(wall - busy) / 1e3,
                num_launches=len(mine),
                communication_us=talking / 1e3 if has_communication else None,
                exposed_communication_us=exposed / 1e3 if has_communication else None,
                queued_us=queued / 1e3,
            )
        )
    return tuple(lines)


def busy_and_launched(trace: Trace, rows: NDArray[np.intp]) -> tuple[intervals.Times, intervals.Times]:
    """When a device ran some events; and when it ran them or had them in its queues, launched before the latency."""
    start, end = trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows]
    launch = trace.launcher[rows]
    reached = trace.start_ns[launch] + trace.duration_ns[launch] + LATENCY_NS
    launched = np.where(launch >= 0, np.minimum(reached, start), start)
    return intervals.union(start, end), intervals.union(launched, end)


def _devices(trace: Trace) -> NDArray[np.int64]:
    """The device of each thread, -1 for the host."""
    return np.array([-1 if device is None else device for device, _ in map(device_and_stream, trace.threads)], np.int64)


def _rows_by_device(kept: Kept) -> dict[int, NDArray[np.intp]]:
    """All events of each device that the steps used, those outside of steps too; ops on the CPU are a device's."""
    trace, devices = kept.trace, _devices(kept.trace)
    every = np.flatnonzero(trace.category[: trace.num_own] >= t.KERNEL) if kept.on_device else kept.launch_rows
    used = np.unique(devices[trace.thread[kept.launch_rows]]).tolist()
    return {device: every[devices[trace.thread[every]] == device] for device in used}


def windows(kept: Kept, of_launch: Sequence[NDArray[np.intp]]) -> list[tuple[int, int]]:
    """The time of each step: until the device has done what the step launched, from where the step before it ended.

    A device that lags behind the CPU works for the step before while a step begins: that time is not idle, and not this step's.
    """
    found: list[tuple[int, int]] = []
    starts, ends = kept.launch_start, kept.launch_end
    for step, mine in zip(kept.steps, of_launch, strict=True):
        begin, last = step.start_ns, step.start_ns + step.duration_ns
        begin = min(begin, int(starts[mine].min(initial=begin)))
        begin = max(begin, found[-1][1]) if found else begin
        found.append((begin, max(begin, last, int(ends[mine].max(initial=last)))))
    return found


def by_step(step_of: NDArray[np.integer], steps: Iterable[int]) -> list[NDArray[np.intp]]:
    order = np.argsort(step_of, kind="stable")
    ordered = step_of[order]
    return [order[slice(*np.searchsorted(ordered, [step, step + 1]))] for step in steps]


def gaps(kept: Kept) -> tuple[Gap, ...]:
    """The longest times of a step in which a device ran nothing; before its first and after its last launch too."""
    trace = kept.trace
    times = windows(kept, by_step(kept.launch_step, (step.index for step in kept.steps)))
    found: list[tuple[Gap, int]] = []  # each with the row that ended it, else the one before it
    for device, rows in _rows_by_device(kept).items():
        rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
        start, end = trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows]
        by_end = np.argsort(end, kind="stable")
        busy_from, busy_until = intervals.union(start, end)
        # Between two busy times; the first one's left and the last one's right have no end.
        begins, ends = np.insert(busy_until, 0, _LEAST), np.append(busy_from, _MOST)
        left = rows[by_end[np.searchsorted(end[by_end], busy_until)]]
        right = rows[np.searchsorted(start, busy_from)]
        for step, (first, last) in zip(kept.steps, times, strict=True):
            here = np.flatnonzero((ends > first) & (begins < last))
            length = np.minimum(ends[here], last) - np.maximum(begins[here], first)
            for place in here[np.argsort(-length, kind="stable")[:MAX_GAPS]].tolist():
                begin, until = max(first, int(begins[place])), min(last, int(ends[place]))
                before = int(left[place - 1]) if begins[place] >= first else -1
                after = int(right[place]) if ends[place] <= last else -1
                gap = Gap(
                    device=device if device >= 0 else None,
                    start_ns=begin,
                    duration_ns=until - begin,
                    step=step.index,
                    before=trace.name_of(before) if before >= 0 else None,
                    after=trace.name_of(after) if after >= 0 else None,
                )
                found.append((gap, after if after >= 0 else before))
    found = sorted(found, key=lambda item: (-item[0].duration_ns, item[0].start_ns))[:MAX_GAPS]
    least = min((gap.duration_ns // 2 for gap, _ in found), default=0)
    long = np.flatnonzero((trace.category < t.NUM_HOST) & (trace.duration_ns >= least))
    return tuple(replace(gap, during=_during(trace, gap, near, long)) for gap, near in found)


def _during(trace: Trace, gap: Gap, near: int, rows: NDArray[np.intp]) -> str | None:
    """Return the innermost of some host events that lasted for half of an idle time, on the thread of a kernel's launch.

    The profiler's own work is on no thread of the program. Steps say nothing; None where no single event, or no launch,
    is known.
    """
    launcher = trace.launcher[near] if near >= 0 else -1
    if launcher < 0:
        return None
    rows = rows[(trace.thread[rows] == trace.thread[launcher]) | (trace.category[rows] == t.OVERHEAD)]
    start, end = trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows]
    half, until = gap.duration_ns // 2, gap.start_ns + gap.duration_ns
    lasted = np.minimum(end, until) - np.maximum(start, gap.start_ns) >= half
    named = [row for row in rows[lasted].tolist() if not trace.name_of(row).startswith(t.STEP)]
    if not named:
        return None
    row = max(named, key=lambda row: (trace.start_ns[row], -trace.duration_ns[row]))
    return ("the profiler's " if trace.category[row] == t.OVERHEAD else "") + trace.name_of(row)


def sync_table(kept: Kept) -> tuple[OpStats, ...]:
    """The runtime calls that wait for the device, the longest first."""
    blocks = of_names(kept.trace, kept.name, BLOCKING.match)
    waits = kept.rows[(kept.category == t.RUNTIME) & (kept.step >= 0) & blocks].tolist()
    of_name = grouped(waits, kept.trace.name_of)
    times = {name: int(kept.trace.duration_ns[rows].sum()) / 1e3 for name, rows in of_name.items()}
    found = [
        OpStats(name=name, count=len(of_name[name]), cpu_total_us=us, cpu_self_us=us) for name, us in times.items()
    ]
    return tuple(sorted(found, key=lambda item: -item.cpu_total_us))
