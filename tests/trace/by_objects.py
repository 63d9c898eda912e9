"""The tables of a trace object by object, as plainly as can be: what the tables from columns are held against."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from fxscope.index import grouped
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
    own, count, children = Counter[int](), Counter[int](), Counter[int | None]()
    for launch in recording.launches:
        if launch.op_id is not None:
            op_id = repeats.get(launch.op_id, launch.op_id)
            own[op_id] += launch.duration_ns
            count[op_id] += 1
    for op in recording.ops:
        # As in torch's table: time inside an annotation or the driver is not the op's own either
        children[op.parent] += op.duration_ns
    total = own.copy()
    for op_id, duration in own.items():
        names = {by_id[op_id].name}
        parent = _op_parent(by_id[op_id], by_id)
        while parent is not None:
            # an op inside one of its own name must not count twice in that name's line
            if by_id[parent].name not in names:
                total[parent] += duration
            names.add(by_id[parent].name)
            parent = _op_parent(by_id[parent], by_id)
    found = [
        OpStats(
            name=name,
            count=len(same),
            cpu_total_us=sum(op.duration_ns for op in same) / 1e3,
            cpu_self_us=sum(op.duration_ns - children[op.id] for op in same) / 1e3,
            device_total_us=sum(total[op.id] for op in same) / 1e3,
            device_self_us=sum(own[op.id] for op in same) / 1e3,
            num_launches=sum(count[op.id] for op in same),
        )
        for name, same in grouped(ops, lambda op: op.name).items()
    ]
    return tuple(sorted(found, key=lambda item: (-item.device_total_us, -item.cpu_total_us, item.name)))


def without_repeats(ops: tuple[Op, ...]) -> tuple[tuple[Op, ...], dict[int, int]]:
    """Return (ops, repeats → their callers) without ops that only repeat their caller: `aten::mul ⊃ aten::mul`.

    torch's table does the same (torch 2.13, `autograd/profiler_util.py`, `_remove_dup_nodes`). Their launches and
    children become the caller's; ids stay.
    """
    by_id = {op.id: op for op in ops}
    num_children = Counter(op.parent for op in ops)
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
    same = grouped(launches, lambda launch: (launch.name, launch.category))
    groups = {key: [launch.duration_ns for launch in found] for key, found in same.items()}
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


def windows(recording: Recording) -> list[tuple[int, int]]:
    """Return begin and end of each step. Work that a step launched may end after it: the next one begins there."""
    found: list[tuple[int, int]] = []
    reached = -(2**63)
    for step in recording.steps:
        mine = [launch for launch in recording.launches if launch.step == step.index]
        begin = max(reached, min([step.start_ns, *(launch.start_ns for launch in mine)]))
        ends = [launch.start_ns + launch.duration_ns for launch in mine]
        reached = max([begin, step.start_ns + step.duration_ns, *ends])
        found.append((begin, reached))
    return found


def step_table(recording: Recording, everything: Sequence[Launch]) -> tuple[StepStats, ...]:
    """Return one line per step: wall time, device busy (union over streams, mean over devices) and idle, launches."""
    lines: list[StepStats] = []
    devices = {launch.device for launch in recording.launches}
    busy_times = [merged(item for item in everything if item.device == device) for device in devices]
    for step, (start, end) in zip(recording.steps, windows(recording), strict=True):
        busy = sum(max(0, min(b, end) - max(a, start)) for times in busy_times for a, b in times) // len(devices)
        lines.append(
            StepStats(
                step=step.index,
                name=step.name,
                wall_us=(end - start) / 1e3,
                device_busy_us=busy / 1e3,
                device_idle_us=(end - start - busy) / 1e3,
                num_launches=sum(launch.step == step.index for launch in recording.launches),
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
    found: list[Gap] = []
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
        for step, (first, end) in zip(recording.steps, windows(recording), strict=True):
            for begin, until, before, after in idle:
                start, stop = max(begin, first), min(until, end)
                if start < stop and begin < until:
                    gap = Gap(
                        device=device,
                        start_ns=start,
                        duration_ns=stop - start,
                        step=step.index,
                        before=before.name if before and begin >= first else None,
                        after=after.name if after and until <= end else None,
                    )
                    found.append(gap)
    return tuple(sorted(found, key=lambda gap: (-gap.duration_ns, gap.start_ns))[:MAX_GAPS])


def _is_sync(op: Op) -> bool:
    return op.category == "runtime" and (op.name.endswith("Synchronize") or op.name == "hipMemcpyWithStream")


def sync_table(ops: Iterable[Op]) -> list[OpStats]:
    found: list[OpStats] = []
    for name, same in grouped(filter(_is_sync, ops), lambda op: op.name).items():
        time_us = sum(op.duration_ns for op in same) / 1e3
        found.append(OpStats(name=name, count=len(same), cpu_total_us=time_us, cpu_self_us=time_us))
    return sorted(found, key=lambda item: -item.cpu_total_us)
