"""What a trace alone shows of compiled code: its regions, the kernels they launched, and what each kernel was given.

A trace holds `Torch-Compiled Region: 0/0`, `## Call CompiledFxGraph KEY ##` and, for a Triton kernel, the shapes, strides
and dtypes of its arguments. It does not hold the graph, nor what the scheduler considered: reasons are not in it.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

from fxscope.columns import column, picked
from fxscope.dtypes import ITEM_BYTES
from fxscope.index import index_of, kept
from fxscope.kernel_names import decode
from fxscope.model import Item
from fxscope.passes.cost import find_limits
from fxscope.text import counted, microseconds, num_bytes, percent

if TYPE_CHECKING:
    from fxscope.model import Launch, Op, Recording

_REGION = re.compile(r"^Torch-Compiled Region: (?P<id>\S+)")
_CALL = re.compile(r"^## Call CompiledFxGraph (?P<key>.*) ##$")
MORE = (
    "Which nodes ran in which kernel, and why two kernels were not fused, is in the compile's files: run once more with "
    "TORCH_TRACE=FOLDER, then fxscope view TRACE --compile-log FOLDER; or record the run: fxscope run SCRIPT."
)


class TracedKernel(Item, frozen=True, kw_only=True):
    """What one op of a region launched in one step: a Triton kernel, or a library's kernels and memsets."""

    op: str  # the op that launched it: a Triton kernel's own name, "aten::mm"
    named: tuple[str, ...] = ()  # ops in a Triton kernel's name: a claim, not a fact
    runs: int  # launches
    total_us: float
    argument_bytes: int | None = None  # distinct elements of the arguments of one run
    bytes_per_second: float | None = None  # if each argument is moved once
    share: float | None = None  # of the device's memory bandwidth, 0 to 1


class TracedRegion(Item, frozen=True, kw_only=True):
    """One compiled graph as a trace shows it in the first step."""

    compile_id: str | None
    key: str | None  # of the FX graph cache
    backward: bool
    kernels: tuple[TracedKernel, ...]

    @property
    def title(self) -> str:
        """ "compiled region 0/0, backward (cache key fabc…)"."""
        direction = ", backward" if self.backward else ""
        return f"compiled region {self.compile_id or '?'}{direction}" + (f" (cache key {self.key})" if self.key else "")


def regions_of(recording: Recording) -> tuple[TracedRegion, ...]:
    """The regions of the first step; none where the compile's files tell more, or nothing was compiled."""
    return () if recording.calls else kept(recording, "traced regions", _regions)


def _regions(recording: Recording) -> tuple[TracedRegion, ...]:
    if not any(_REGION.match(name) or _CALL.match(name) for name in set(column(recording.ops, "name"))):
        return ()
    first = index_of(recording).first_step
    rows = [position for position, step in enumerate(column(recording.launches, "step")) if step == first]
    groups: dict[tuple[str | None, str | None, bool], dict[str, list[Launch]]] = {}
    for launch in picked(recording.launches, rows, ("chain", "op", "op_id")):
        ids = [found["id"] for name in launch.chain if (found := _REGION.match(name))]
        keys = [found["key"] for name in launch.chain if (found := _CALL.match(name))]
        if not ids and not keys:
            continue
        key = keys[-1] if keys and keys[-1] != "None" else None
        backward = any("CompiledFunctionBackward" in name for name in launch.chain)
        region = groups.setdefault((ids[-1] if ids else None, key, backward), {})
        # A replayed CUDA graph launches under no op: its kernels go by their own names
        name = launch.op if launch.op and not _REGION.match(launch.op) and not _CALL.match(launch.op) else launch.name
        region.setdefault(name, []).append(launch)
    wanted = {launch.op_id for region in groups.values() for runs in region.values() for launch in runs}
    rows = [position for position, op_id in enumerate(column(recording.ops, "id")) if op_id in wanted]
    ops = {op.id: op for op in picked(recording.ops, rows, ("shapes", "strides", "dtypes"))}
    limits = find_limits(recording)
    rate = limits.bytes_per_second if limits else None
    return tuple(
        TracedRegion(
            compile_id=compile_id,
            key=key,
            backward=backward,
            kernels=tuple(_kernel(name, runs, ops, rate) for name, runs in region.items()),
        )
        for (compile_id, key, backward), region in groups.items()
    )


def _kernel(name: str, runs: list[Launch], ops: dict[int, Op], limit: float | None) -> TracedKernel:
    decoded = decode(name) or {}
    generated = decoded.get("origin") == "inductor"
    total_us = sum(launch.duration_ns for launch in runs) / 1e3
    sizes = {_argument_bytes(ops.get(launch.op_id or -1)) for launch in runs} if generated else {None}
    size = sizes.pop() if len(sizes) == 1 else None  # runs of other shapes have no one size
    rate = size * len(runs) / total_us * 1e6 if size and total_us else None
    return TracedKernel(
        op=name,
        named=tuple(decoded.get("ops") or ()) if generated else (),
        runs=len(runs),
        total_us=total_us,
        argument_bytes=size,
        bytes_per_second=rate,
        share=rate / limit if rate and limit else None,
    )


def _argument_bytes(op: Op | None) -> int | None:
    """The bytes of a Triton launch's tensors, an expanded dimension counted once; `None` where one is not known."""
    if op is None or op.shapes is None or op.dtypes is None:
        return None
    total = 0
    for position, (shape, dtype) in enumerate(zip(op.shapes, op.dtypes, strict=False)):
        if dtype in ("Scalar", "") or not isinstance(shape, tuple):
            continue
        if dtype not in ITEM_BYTES or not all(isinstance(size, int) for size in shape):
            return None
        strides = op.strides[position] if op.strides and position < len(op.strides) else ()
        distinct = [
            size
            for axis, size in enumerate(shape)
            if not (isinstance(strides, tuple) and axis < len(strides) and strides[axis] == 0)
        ]
        total += prod(distinct) * ITEM_BYTES[dtype]
    return total or None


def lines(recording: Recording) -> list[str]:
    """In plain words what a trace alone shows of its compiled regions; nothing where it has none."""
    found: list[str] = []
    for region in regions_of(recording):
        generated = sum((decode(kernel.op) or {}).get("origin") == "inductor" for kernel in region.kernels)
        launches = counted(sum(kernel.runs for kernel in region.kernels), "launch", "launches")
        found.append(
            f"{region.title}: {launches} in the first step, of {counted(len(region.kernels), 'op')}, {generated} of them "
            "generated by Inductor"
        )
        for kernel in sorted(region.kernels, key=lambda item: -item.total_us):
            parts = [f"{microseconds(kernel.total_us)}" + (f" in {kernel.runs} launches" if kernel.runs > 1 else "")]
            if kernel.named:
                parts.append(f"its name claims {', '.join(kernel.named)}")
            if kernel.argument_bytes:
                parts.append(f"arguments of {num_bytes(kernel.argument_bytes)}")
            if kernel.share is not None:
                parts.append(f"{percent(kernel.share)} of the memory bandwidth if it moves each once")
            found.append(f"  {kernel.op}: {'; '.join(parts)}")
    known = any(graph.stage == "post_grad" for graph in recording.graphs)  # the files are there, and hold no more
    return [*found, MORE] if found and not known else found
