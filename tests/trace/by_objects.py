"""The tables of a trace object by object, as plainly as can be: what the tables from columns are held against."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from fxscope.model import Gap, KernelStats, OpStats, StepStats, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fxscope.model import Launch, Op, Recording

MAX_GAPS = 50


def op_table(recording: Recording) -> tuple[OpStats, ...]:
    """Return one line per op name; device self time is the op's own launches, total adds those of ops it called."""
    kept, repeats = without_repeats(recording.ops)
    recording = replace(recording, ops=kept)
    ops = [op for op in kept if op.category == "cpu_op"]
    by_id = {op.id: op for op in recording.ops}
    own: dict[int, int] = {}
    count: dict[int, int] = {}
    for launch in recording.launches:
        if launch.op_id is not None:
            op_id = repeats.get(launch.op_id, launch.op_id)
            own[op_id] = own.get(op_id, 0) + launch.duration_ns
            count[op_id] = count.get(op_id, 0) + 1
    children: dict[int, int] = {}
    for op in recording.ops:
        # As in torch's table: time inside an annotation or the driver is not the op's own either
        if op.parent is not None:
            children[op.parent] = children.get(op.parent, 0) + op.duration_ns
    total = dict(own)
    for op_id, duration in own.items():
        names = {by_id[op_id].name}
        parent = _op_parent(by_id[op_id], by_id)
        while parent is not None:
            # an op inside one of its own name must not count twice in that name's line
            if by_id[parent].name not in names:
                total[parent] = total.get(parent, 0) + duration
            names.add(by_id[parent].name)
            parent = _op_parent(by_id[parent], by_id)
    lines: dict[str, list[float]] = {}
    for op in ops:
        line = lines.setdefault(op.name, [0, 0, 0, 0, 0, 0])
        line[0] += 1
        line[1] += op.duration_ns
        line[2] += op.duration_ns - children.get(op.id, 0)
        line[3] += total.get(op.id, 0)
        line[4] += own.get(op.id, 0)
        line[5] += count.get(op.id, 0)
    found = [
        OpStats(
            name=name,
            count=int(line[0]),
            cpu_total_us=line[1] / 1e3,
            cpu_self_us=line[2] / 1e3,
            device_total_us=line[3] / 1e3,
            device_self_us=line[4] / 1e3,
            num_launches=int(line[5]),
        )
        for name, line in lines.items()
    ]
    return tuple(sorted(found, key=lambda item: (-item.device_total_us, -item.cpu_total_us, item.name)))


def without_repeats(ops: tuple[Op, ...]) -> tuple[tuple[Op, ...], dict[int, int]]:
    """Return (ops, repeats → their callers) without ops that only repeat their caller: `aten::mul ⊃ aten::mul`.

    torch's table does the same (torch 2.13, `autograd/profiler_util.py`, `_remove_dup_nodes`). Their launches and
    children become the caller's; ids stay.
    """
    by_id = {op.id: op for op in ops}
    num_children: dict[int, int] = {}
    for op in ops:
        if op.parent is not None:
            num_children[op.parent] = num_children.get(op.parent, 0) + 1
    home: dict[int, int] = {}
    for op in ops:
        parent = by_id.get(op.parent) if op.parent is not None else None
        if (
            parent is not None
            and parent.name == op.name
            and parent.category == op.category == "cpu_op"
            and num_children[parent.id] == 1
        ):
            home[op.id] = home.get(parent.id, parent.id)
    kept = [op for op in ops if op.id not in home]
    return tuple(replace(op, parent=home[op.parent]) if op.parent in home else op for op in kept), home


def _op_parent(op: Op, by_id: dict[int, Op]) -> int | None:
    parent = op.parent
    while parent is not None and by_id[parent].category != "cpu_op":
        parent = by_id[parent].parent
    return parent


def kernel_table(launches: Iterable[Launch]) -> tuple[KernelStats, ...]:
    groups: dict[tuple[str, str], list[int]] = {}
    for launch in launches:
        groups.setdefault((launch.name, launch.category), []).append(launch.duration_ns)
    everything = sum(map(sum, groups.values())) or 1
    found = [
        KernelStats(
            name=name,
            category=category,
            count=len(times),
            total_us=sum(times) / 1e3,
            mean_us=sum(times) / len(times) / 1e3,
            min_us=min(times) / 1e3,
            max_us=max(times) / 1e3,
            share=sum(times) / everything,
            median_us=median(times) / 1e3,
        )
        for (name, category), times in groups.items()
    ]
    return tuple(sorted(found, key=lambda item: (-item.total_us, item.name)))


def step_table(recording: Recording, everything: Sequence[Launch]) -> tuple[StepStats, ...]:
    """Return one line per step: wall time, device busy (union over streams, mean over devices) and idle, launches."""
    lines: list[StepStats] = []
    devices = {launch.device for launch in recording.launches}
    busy_times = [merged(item for item in everything if item.device == device) for device in devices]
    reached = -(2**63)
    for step in recording.steps:
        mine = [launch for launch in recording.launches if launch.step == step.index]
        # Work that a step launched may end after it: its wall time lasts until then, and the next one's begins there.
        start = max(reached, min([step.start_ns, *(launch.start_ns for launch in mine)]))
        ends = [launch.start_ns + launch.duration_ns for launch in mine]
        end = reached = max([start, step.start_ns + step.duration_ns, *ends])
        busy = sum(max(0, min(b, end) - max(a, start)) for times in busy_times for a, b in times) // len(devices)
        lines.append(
            StepStats(
                step=step.index,
                name=step.name,
                wall_us=(end - start) / 1e3,
                device_busy_us=busy / 1e3,
                device_idle_us=(end - start - busy) / 1e3,
                num_launches=len(mine),
            )
        )
    return tuple(lines)


def merged(launches: Iterable[Launch]) -> list[tuple[int, int]]:
    """Return the union of the launches' times as disjoint (start, end) in nanoseconds."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((launch.start_ns, launch.start_ns + launch.duration_ns) for launch in launches):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def gaps(recording: Recording, everything: Sequence[Launch]) -> tuple[Gap, ...]:
    """Return the longest times of a step in which a device ran nothing."""
    found: list[Gap] = []
    reached = -(2**63)
    times: dict[int, tuple[int, int]] = {}
    for step in recording.steps:
        mine = [launch for launch in recording.launches if launch.step == step.index]
        begin = max(reached, min([step.start_ns, *(launch.start_ns for launch in mine)]))
        ends = [launch.start_ns + launch.duration_ns for launch in mine]
        times[step.index] = begin, max([begin, step.start_ns + step.duration_ns, *ends])
        reached = times[step.index][1]
    for device in {launch.device for launch in recording.launches}:
        ordered = sorted((item for item in everything if item.device == device), key=lambda item: item.start_ns)
        idle: list[tuple[int, int, Launch | None, Launch | None]] = []
        last: Launch | None = None
        for launch in ordered:
            idle.append((last.start_ns + last.duration_ns if last else -(2**63), launch.start_ns, last, launch))
            if last is None or launch.start_ns + launch.duration_ns > last.start_ns + last.duration_ns:
                last = launch
        if last is not None:
            idle.append((last.start_ns + last.duration_ns, 2**63, last, None))
        for number, (first, end) in times.items():
            for begin, until, before, after in idle:
                start, stop = max(begin, first), min(until, end)
                if start < stop and begin < until:
                    names = (
                        before.name if before and begin >= first else None,
                        after.name if after and until <= end else None,
                    )
                    found.append(
                        Gap(
                            device=device,
                            start_ns=start,
                            duration_ns=stop - start,
                            step=number,
                            before=names[0],
                            after=names[1],
                        )
                    )
    return tuple(sorted(found, key=lambda gap: (-gap.duration_ns, gap.start_ns))[:MAX_GAPS])


def _is_sync(op: Op) -> bool:
    return op.category == "runtime" and (op.name.endswith("Synchronize") or op.name == "hipMemcpyWithStream")


def sync_table(ops: Iterable[Op]) -> list[OpStats]:
    """Return the runtime calls that wait for the device, most expensive first."""
    groups: dict[str, list[int]] = {}
    for op in ops:
        if _is_sync(op):
            groups.setdefault(op.name, []).append(op.duration_ns)
    found = [
        OpStats(name=name, count=len(times), cpu_total_us=sum(times) / 1e3, cpu_self_us=sum(times) / 1e3)
        for name, times in groups.items()
    ]
    return sorted(found, key=lambda item: -item.cpu_total_us)
