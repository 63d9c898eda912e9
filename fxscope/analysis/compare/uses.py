"""A kernel at its place, with what is known of its cost: the row that comparisons and tables show."""

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, TypeVar

from fxscope.analysis.findings import KernelUse
from fxscope.analysis.select import Unit
from fxscope.index import index_of, known_sum, per_step
from fxscope.model import KernelCall, Recording
from fxscope.passes.predicted import runs_a_step

T = TypeVar("T")
LAUNCH_FIELDS = ("registers", "shared_bytes", "occupancy", "grid", "block")


def use(recording: Recording, unit: Unit) -> KernelUse:
    """The row of one unit, with its median time; what was not recorded stays `None`."""
    call = index_of(recording).calls.get(unit.call or "")
    launch, samples = unit.launch, measured(unit.samples_us)
    config, num_warps, num_stages = settings_of(unit)
    return KernelUse(
        position=unit.position,
        kernel=unit.kernel,
        category=unit.category,
        call=unit.call,
        ops=unit.ops,
        is_backward=bool(unit.backward),
        modules=unit.modules,
        sources=unit.sources,
        time_us=median(samples) if samples else predicted_us(call),
        samples_us=unit.samples_us,
        # A memset beside a GEMM moves its own few bytes; the call's traffic is the kernel's.
        bytes=call_bytes(call) if call and unit.category != "gpu_memset" else (launch.bytes if launch else None),
        **{field: getattr(launch, field, None) for field in LAUNCH_FIELDS},
        num_warps=num_warps,
        num_stages=num_stages,
        config=config,
        runs=len(samples) / len(unit.samples_us) if samples else runs_a_step(recording, unit.call),
        share_of_roof=call.roof.share if call and call.roof and unit.category != "gpu_memset" else None,
    )


def predicted_us(call: KernelCall | None) -> float | None:
    """The predicted time of a planned call; a floor of the roof is no prediction, and stands beside none."""
    return call.estimated_us if call is not None and call.estimated_range_us is not None else None


def call_bytes(call: KernelCall) -> int | None:
    return known_sum((call.bytes_read, call.bytes_written))


def sum_bytes(uses: Sequence[KernelUse]) -> int | None:
    """The traffic of a group in a step, `None` where a member's is not known; of a call's several kernels it is the call's."""
    if not uses or any(item.bytes is None for item in uses):
        return None
    total = 0.0
    running: dict[str, set[str]] = {}  # call → its kernels so far; one that comes again is the call's next run
    for item in uses:
        kernels = running.setdefault(item.call, set()) if item.call and item.category != "gpu_memset" else set[str]()
        if item.kernel in kernels:
            kernels.clear()
        total += 0 if kernels else (item.bytes or 0) * item.runs
        kernels.add(item.kernel)
    return round(total)


def measured(samples: Iterable[float | None]) -> tuple[float, ...]:
    return tuple(time for time in samples if time is not None)


def sums(parts: Iterable[Sequence[float | None]]) -> tuple[float, ...]:
    """Samples of some parts, one per step → samples of their sum, of the steps that have any of them."""
    steps = map(measured, zip(*filter(None, parts), strict=True))
    return tuple(sum(times) for times in steps if times)


def per_step_of(parts: Sequence[Sequence[float | None]]) -> float | None:
    """Sum the samples of some parts in each step, and count them per step as a report does; `None` without samples."""
    return per_step(samples, max(map(len, parts))) if (samples := sums(parts)) else None


def without_memsets(uses: Sequence[KernelUse]) -> Sequence[KernelUse]:
    """The kernels that do the work; the memsets where there is nothing else."""
    return [use for use in uses if use.category != "gpu_memset"] or uses


def settings_of(unit: Unit) -> tuple[str | None, int | None, int | None]:
    """(Launch configuration in words, warps per block, pipeline stages), as the trace or the name says."""
    launch = unit.launch
    op = unit.op if launch is not None and launch.op == unit.kernel else None  # around a Triton kernel
    traced = (op.config if op is not None else None) or {}
    warps, rest = divmod(math.prod(launch.block), 32) if launch and launch.block else (None, 0)
    decoded = (launch.decoded if launch else None) or {}
    return (
        first_of(str, traced.get("kernel_kwargs")),
        first_of(int, traced.get("num_warps"), None if rest else warps),
        first_of(int, traced.get("num_stages"), decoded.get("stages")),
    )


def first_of(kind: type[T], *values: Any) -> T | None:
    """The first value of a type: a trace may hold anything."""
    return next((value for value in values if isinstance(value, kind)), None)
