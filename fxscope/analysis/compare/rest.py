"""The parts of a comparison that are neither kernels nor decisions: totals, CPU ops, and what could not be compared."""

from collections import Counter, defaultdict
from collections.abc import Callable
from statistics import median
from typing import Literal

from fxscope.analysis import select
from fxscope.analysis.compare.uses import call_bytes
from fxscope.analysis.findings import Change
from fxscope.analysis.report import compile_rows
from fxscope.columns import distinct, rows_of
from fxscope.index import index_of, kept, known_sum, per_step as index_per_step
from fxscope.kernel_names.vendors import collective
from fxscope.model import KERNELS, Recording
from fxscope.op_names import without_graph_number
from fxscope.passes.predicted import as_run


def totals(a: Recording, b: Recording, each: str = " per step") -> tuple[Change, ...]:
    """The numbers of both sides; those that neither has are left out. `each`: see `Comparison`."""
    both = a, b
    planned = all(item.environment.target is not None and not item.launches for item in both)
    one_ran = len({bool(item.launches) for item in both}) > 1  # no calls of the one beside kernels of the other
    rows: list[tuple[str, str, Callable[[Recording], float | None], Literal["count", "us", "bytes"]]] = [
        ("events", f"device events{each}", per_step, "count"),
        ("kernels", f"kernels{each}", lambda r: None if one_ran and not r.launches else per_step(r, *KERNELS), "count"),
        ("memsets", f"memsets{each}", lambda r: per_step(r, "gpu_memset"), "count"),
        ("copies", f"copies{each}", lambda r: per_step(r, "gpu_memcpy"), "count"),
        ("calls", "kernel calls in compiled code", lambda r: len(r.calls) or None, "count"),
        ("device_us", f"device time{each}", lambda r: index_of(r).device_us, "us"),
        ("collectives_us", f"collectives{each}, with waiting", collective_us, "us"),
        (
            "predicted_us",
            f"predicted device time{each}",
            lambda r: r.predicted.device_us if planned and r.predicted else None,
            "us",
        ),
        ("wall_us", f"wall time{each} (profiled)", lambda r: median(index_of(r).wall_us or [0.0]) or None, "us"),
        ("bytes", "bytes read and written by kernel calls", traffic, "bytes"),
        ("peak_memory", "peak memory", lambda r: r.memory.peak_bytes if r.memory else None, "bytes"),
        ("graphs", "compiled graphs", lambda r: len(index_of(r).compiled) or None, "count"),
        ("graph_breaks", "graph breaks", graph_breaks, "count"),
    ]
    found = [Change(key=key, subject=subject, a=of(a), b=of(b), unit=unit) for key, subject, of, unit in rows]
    return tuple(item for item in found if (item.a, item.b) not in ((None, None), (0, 0)))


def per_step(recording: Recording, *categories: str) -> float | None:
    """Device events of these categories per step (all where none is named); planned calls where nothing ran, as kernels."""
    if not recording.launches:
        return float(len(as_run(recording.calls, recording.compiles))) or None if "kernel" in categories else None
    return median(index_of(recording).counts(*categories))


def own_step_us(recording: Recording) -> tuple[float, ...]:
    """Device time of each step without collectives, whose kernels run while they wait for other ranks."""
    return kept(recording, "time without collectives", lambda item: index_of(item).us_without(collectives(item)))


def collectives(recording: Recording) -> set[str]:
    return set(filter(collective, distinct(recording.launches, "name")))


def collective_us(recording: Recording) -> float | None:
    """Device time in collectives per step, `None` where none ran."""
    if not collectives(recording):
        return None
    every = index_of(recording).us_without(())
    return median(whole - own for whole, own in zip(every, own_step_us(recording), strict=True))


def traffic(recording: Recording) -> int | None:
    """Bytes moved by all kernel calls, `None` unless each is known."""
    return known_sum(map(call_bytes, recording.calls)) if recording.calls else None


def tells_of_dynamo(recording: Recording) -> bool:
    """Return whether the compiles say where their frames are and what guards them; a debug folder says neither."""
    return any(item.source or item.guards or item.break_reason for item in recording.compiles)


def graph_breaks(recording: Recording) -> int | None:
    """Return how many breaks an overview has; `None` where nothing was compiled, or nothing tells of Dynamo."""
    return sum(row.count for row in compile_rows(recording)[0]) if tells_of_dynamo(recording) else None


def op_counts(recording: Recording) -> dict[str, float]:
    """CPU op, without the number of its graph → occurrences per step; no runtime calls or marks of the profiler."""
    index = index_of(recording)
    total = defaultdict[str, Counter[int]](Counter)
    for kind, name, step in rows_of(recording.ops, "category", "name", "step"):
        if kind == "cpu_op" and step in index.step_set:
            total[without_graph_number(name)][step] += 1
    return {name: index_per_step(by_step.values(), index.num_steps) for name, by_step in total.items()}


def op_changes(a: Recording, b: Recording) -> tuple[Change, ...]:
    """CPU ops that a step of B runs more or less often than one of A; `None` where a side runs none."""
    if not a.ops or not b.ops:
        return ()
    sides = op_counts(a), op_counts(b)
    rows = [(name, *(side.get(name) for side in sides)) for name in dict.fromkeys((*sides[0], *sides[1]))]
    return tuple(Change(subject=name, a=left, b=right) for name, left, right in rows if left != right)


def notes(a: Recording, b: Recording) -> tuple[str, ...]:
    """Return what makes the comparison weaker than it looks."""
    found: list[str] = []
    if not select.units(a) and not select.units(b):
        return ("neither recording holds a kernel: there is nothing to align",)
    for side in (a, b):
        if side.environment.target:
            found.append(f"{side.title or 'one side'} is a plan for {side.environment.target}: its times are predicted")
        elif not side.launches:
            known = "those of its code, untimed" if side.calls else "unknown, and the other's are listed as new or gone"
            found.append(f"{side.title or 'one side'} has no device events: its kernels are {known}")
    return tuple(dict.fromkeys(found))


def settings(a: Recording, b: Recording) -> tuple[tuple[str, str, str], ...]:
    """(Name, value of A, value of B) of versions, devices and Inductor's switches that are known to differ."""
    names = ("torch", "triton", "cuda", "float32_matmul_precision")
    devices = [f"plan for {to.target}" if to.target else to.device for to in (a.environment, b.environment)]
    rows = [(name, getattr(a.environment, name), getattr(b.environment, name)) for name in names]
    found = [(name, str(x), str(y)) for name, x, y in [("device", *devices), *rows] if x and y and x != y]
    if a.compiles and b.compiles:
        sides = [{key: value for item in side.compiles for key, value in item.config.items()} for side in (a, b)]
        for key in sorted(sides[0].keys() | sides[1].keys()):
            x, y = (repr(side[key]) if key in side else "default" for side in sides)
            found += [(key, x, y)] if x != y else []
    return tuple(found)
