"""A kernel at its place, with what is known of its cost: the row that comparisons and tables show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeVar

from fxscope.analysis import select
from fxscope.analysis.findings import KernelUse
from fxscope.analysis.stats import of_runs
from fxscope.passes.predicted import runs_a_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.select import Unit
    from fxscope.model import KernelCall, Recording, Resources

T = TypeVar("T")


def use(recording: Recording, unit: Unit, runs: Sequence[Unit] = ()) -> KernelUse:
    """The row of one unit, with the time of all its runs; what was not recorded stays `None`."""
    call = select.call_of(recording, unit)
    launch = unit.launches[0] if unit.launches else None
    resources = call.resources if call else None
    samples = [item.samples_us for item in runs or (unit,)]
    config, chosen_by = configuration(recording, unit, resources)
    return KernelUse(
        position=unit.position,
        kernel=unit.kernel,
        category=unit.category,
        call=unit.call,
        ops=unit.ops,
        modules=unit.modules,
        sources=unit.sources,
        num_samples=sum(map(len, samples)),
        mean_us=of_runs(samples) if any(samples) else predicted_us(call),
        # A memset beside a GEMM moves its own few bytes; the call's traffic is the kernel's.
        bytes=call_bytes(call) if call and unit.category != "gpu_memset" else (launch.bytes if launch else None),
        registers=first(launch.registers if launch else None, resources.registers if resources else None),
        spill_bytes=resources.spill_bytes if resources else None,
        shared_bytes=first(launch.shared_bytes if launch else None, resources.shared_bytes if resources else None),
        occupancy=first(resources.occupancy if resources else None, launch.occupancy if launch else None),
        grid=first(launch.grid if launch else None, resources.grid if resources else None),
        block=first(launch.block if launch else None, resources.block if resources else None),
        num_warps=num_warps(recording, unit, resources),
        num_stages=num_stages(recording, unit, resources),
        config=config,
        chosen_by=chosen_by,
        runs=1 if unit.launches else runs_a_step(recording, unit.call),
        share_of_roof=call.roof.share if call and call.roof and unit.category != "gpu_memset" else None,
    )


def predicted_us(call: KernelCall | None) -> float | None:
    """The predicted time of a planned call; a floor of the roof is no prediction, and stands beside none."""
    return call.estimated_us if call is not None and call.estimated_range_us is not None else None


def first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


def call_bytes(call: KernelCall) -> int | None:
    """Bytes read plus written, `None` unless both are known."""
    if call.bytes_read is None or call.bytes_written is None:
        return None
    return call.bytes_read + call.bytes_written


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


def configuration(recording: Recording, unit: Unit, resources: Resources | None) -> tuple[str | None, str | None]:
    """(launch configuration in words, who chose it)."""
    chosen = next((config for config in resources.configs if config.chosen), None) if resources else None
    kwargs = dict(chosen.kwargs) if chosen else {}
    op = select.op_launching(recording, unit)
    if not kwargs and op is not None and op.config and isinstance(op.config.get("kernel_kwargs"), str):
        return op.config["kernel_kwargs"], chosen_by(recording, unit, resources)
    text = ", ".join(f"{key}={value}" for key, value in kwargs.items()) or None
    return text, chosen_by(recording, unit, resources)


def chosen_by(recording: Recording, unit: Unit, resources: Resources | None) -> str | None:
    """Who chose the launch configuration, `None` where nothing tells.

    Inductor's pointwise heuristic offers two or more configurations and times them when `autotune_pointwise` is on. The
    generated code says so of itself (torch 2.11, `triton_heuristics.pointwise`): that is why it varies between runs.
    """
    if resources and resources.chosen_by:
        return resources.chosen_by
    if unit.category != "kernel":
        return None
    if unit.kernel.startswith("triton_"):
        codes = [source.text for source in recording.sources if source.kind == "output_code"]
        meta = next((meta for code in codes if (meta := meta_of(code, unit.kernel))), "")
        if not meta:
            return None
        timed = any(
            f"'{key}': True" in meta for key in ("autotune_pointwise", "max_autotune", "max_autotune_pointwise")
        )
        return "autotuner" if timed else "heuristic"
    if not unit.chain:
        return None
    return "library" if is_library(unit) else "author"


def meta_of(code: str, kernel: str) -> str:
    """The line of generated code that holds a kernel's `inductor_meta`."""
    wanted = f"'kernel_name': '{kernel}'"
    return next((line for line in code.splitlines() if wanted in line), "")


def is_library(unit: Unit) -> bool:
    """Whether the kernel belongs to PyTorch or a vendor's library: an ATen op launched it."""
    return unit.chain[-1].startswith(("aten::", "_c10d", "c10d", "cudnn"))


def num_warps(recording: Recording, unit: Unit, resources: Resources | None) -> int | None:
    """Warps per block: as configured, else from the block of the launch."""
    configured = _configured("num_warps", recording, unit, resources)
    block = unit.launches[0].block if unit.launches else None
    if configured is not None or not block:
        return configured
    warps, rest = divmod(math.prod(block), 32)
    return None if rest else warps


def num_stages(recording: Recording, unit: Unit, resources: Resources | None) -> int | None:
    """Pipeline stages: as configured, else from a GEMM kernel's name."""
    configured = _configured("num_stages", recording, unit, resources)
    decoded = unit.launches[0].decoded if unit.launches else None
    stages = decoded.get("stages") if decoded else None
    return configured if configured is not None else stages if isinstance(stages, int) else None


def _configured(
    name: Literal["num_warps", "num_stages"], recording: Recording, unit: Unit, resources: Resources | None
) -> int | None:
    """Of the chosen config, or of the launch's record."""
    chosen = next((c for c in resources.configs if c.chosen), None) if resources else None
    if chosen and (value := getattr(chosen, name)) is not None:
        return value
    op = select.op_launching(recording, unit)
    value = op.config.get(name) if op is not None and op.config else None
    return value if isinstance(value, int) else None
