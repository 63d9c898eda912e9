"""The kept steps of a trace as `Op`s and `Launch`es: only these become objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from fxscope.kernel_names.dtypes import of_cpp
from fxscope.model import Environment, Launch, LaunchEvidence, Op, Recording, Source
from fxscope.readers.trace import table as t
from fxscope.readers.trace.columns import Trace, nearest, read
from fxscope.readers.trace.kept import Kept, keep
from fxscope.readers.trace.summary import LAUNCH_CATEGORY, summarize
from fxscope.readers.trace.table import device_and_stream, identifier, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from fxscope.readers.trace.reader import Args


_HOST_CATEGORY = {t.CPU_OP: "cpu_op", t.ANNOTATION: "user_annotation", t.RUNTIME: "runtime"}
_FRAME = re.compile(r"^(?P<file>.+)\((?P<line>\d+)\): (?P<function>.+)$")
_LIBRARY = re.compile(r"(^|/)(site-packages|dist-packages|torch|lib/python\d[^/]*)/|^<|^torch/")


def recording(
    source: Trace | str | Path,
    *,
    steps: Iterable[int] | None = None,
    strict: bool = False,
    max_bytes: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Recording:
    """Return what a trace says by itself: environment, steps, ops, launches, summary. No pass has run.

    Args:
        source: a `Trace`, or the path of one.
        steps: indices of the active steps to keep, counted from 0; all of them by default.
        strict: raise on any damage instead of recovering around it.
        max_bytes: largest size after unpacking.
        progress: called with the number of bytes read so far.

    Raises:
        TraceError: the trace cannot be read, has no event, or has no such step.
    """
    trace = source if isinstance(source, Trace) else read(source, strict=strict, max_bytes=max_bytes, progress=progress)
    kept = keep(trace, steps)
    ops = _ops(kept)
    launches = _launches(kept) if kept.on_device else _cpu_launches(kept, ops)
    return Recording(
        title=_title(trace.path),
        environment=_environment(trace, kept.on_device),
        launches=tuple(launches),
        ops=tuple(ops),
        steps=kept.steps,
        summary=summarize(kept),
        base_time_ns=trace.base_time_ns,
        problems=kept.problems,
    )


def _title(path: Path) -> str:
    """Return the file's stem; with its folder where the stem says nothing."""
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    return path.resolve().parent.name if stem in ("trace", "profile", "chrome_trace") else stem


def _ops(kept: Kept) -> list[Op]:
    """Return ops, annotations and runtime calls of the kept steps in order of time."""
    trace = kept.trace
    sources = _Sources(trace)
    rows = kept.rows.tolist()
    details = trace.details(rows)
    found: list[Op] = []
    for position, (row, step, parent) in enumerate(zip(rows, kept.step.tolist(), kept.parent.tolist(), strict=True)):
        args = details.get(row)
        thread = trace.threads[trace.thread[row]][1]
        found.append(
            Op(
                id=position,
                name=trace.name_of(row),
                category=_HOST_CATEGORY[int(trace.category[row])],
                step=step,
                thread=whole(thread),
                start_ns=int(trace.start_ns[row]),
                duration_ns=int(trace.duration_ns[row]),
                parent=parent if parent >= 0 else None,
                source=sources.of(row),
                **(_details(args) if args is not None else {}),
            )
        )
    return found


def _details(args: Any) -> dict[str, Any]:
    """Return the fields of an `Op` that its arguments fill."""
    dtypes = _strings(args.dtypes)
    config = {
        key: getattr(args, key)
        for key in ("kernel_backend", "kernel_file", "kernel_hash", "kernel_kwargs", "num_warps", "num_stages", "grid")
        if getattr(args, key) is not None
    }
    return {
        "shapes": _tuples(args.shapes),
        "strides": _tuples(args.strides),
        "dtypes": tuple(of_cpp(name) or name for name in dtypes) if dtypes is not None else None,
        "concrete_inputs": _strings(args.concrete),
        "external_id": positive(identifier(args.external_id)),
        "correlation": positive(identifier(args.correlation)),
        "sequence_number": whole(args.sequence_number),
        "config": config if "kernel_file" in config or "kernel_backend" in config else None,
    }


def _tuples(value: Any) -> tuple[Any, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(
        tuple(_tuples(item) if isinstance(item, list) else item for item in v) if isinstance(v, list) else v
        for v in value
    )


def _strings(value: Any) -> tuple[str, ...] | None:
    return tuple(str(item) for item in value) if isinstance(value, list) else None


def positive(value: int) -> int | None:
    """Return the id, `None` for the columns' -1."""
    return value if value >= 0 else None


def _launches(kept: Kept) -> list[Launch]:
    trace = kept.trace
    runtime_of: dict[int, list[int]] = {}
    calls = np.flatnonzero(trace.category == t.RUNTIME)
    around = nearest(trace.parent, trace.category == t.CPU_OP)[calls]
    for row, op in zip(calls.tolist(), around.tolist(), strict=True):
        if op >= 0:
            runtime_of.setdefault(op, []).append(row)
    details = trace.details(kept.launch_rows.tolist())
    return [_launch(kept, position, runtime_of, details) for position in range(len(kept.launch_rows))]


def _launch(kept: Kept, position: int, runtime_of: dict[int, list[int]], details: dict[int, Args]) -> Launch:
    trace, row, op_id = kept.trace, int(kept.launch_rows[position]), int(kept.launch_op[position])
    op, launcher, args = int(trace.op[row]), int(trace.launcher[row]), details.get(row)
    if op >= 0:
        runtime = tuple(trace.name_of(item) for item in sorted(runtime_of.get(op, ()), key=lambda i: trace.start_ns[i]))
    else:
        runtime = (trace.name_of(launcher),) if launcher >= 0 else ()
    evidence = None if op < 0 else "external_id" if trace.op_by_external[row] else "correlation"
    device, stream = device_and_stream(trace.threads[trace.thread[row]])
    share = args.occupancy if args is not None else None
    return Launch(
        id=position,
        name=trace.name_of(row),
        category=LAUNCH_CATEGORY[int(trace.category[row])],
        step=int(kept.launch_step[position]),
        start_ns=int(trace.start_ns[row]),
        duration_ns=int(trace.duration_ns[row]),
        stream=stream,
        device=device,
        correlation=positive(int(trace.correlation[row])),
        external_id=positive(int(trace.external_id[row])),
        op=trace.name_of(op) if op >= 0 else None,
        op_id=op_id if op_id >= 0 else None,
        chain=_chain(trace, launcher if launcher >= 0 else op),
        runtime=runtime,
        launched_ns=int(trace.start_ns[launcher]) if launcher >= 0 else None,
        grid=_ints(args and args.grid),
        block=_ints(args and args.block),
        registers=whole(args and args.registers),
        shared_bytes=whole(args and args.shared_bytes),
        bytes=whole(args and args.bytes),
        occupancy=share / 100 if isinstance(share, int | float) and share > 0 else None,
        evidence=LaunchEvidence(op=evidence),
    )


def _ints(value: Any) -> tuple[int, ...] | None:
    return tuple(value) if isinstance(value, list) and all(isinstance(item, int) for item in value) else None


def _chain(trace: Trace, row: int) -> tuple[str, ...]:
    """Return the names from the outermost annotation down to an op; steps, Python frames and runtime calls left out."""
    names: list[str] = []
    while row >= 0:
        if trace.category[row] in (t.CPU_OP, t.ANNOTATION) and not trace.name_of(row).startswith("ProfilerStep#"):
            names.append(trace.name_of(row))
        row = int(trace.parent[row])
    return tuple(reversed(names))


def _cpu_launches(kept: Kept, ops: list[Op]) -> list[Launch]:
    """Return the executions of a CPU-only trace, one of each op that does work itself."""
    return [
        Launch(
            id=position,
            name=op.name,
            category="cpu_kernel",
            step=op.step,
            start_ns=op.start_ns,
            duration_ns=duration,
            op=op.name,
            op_id=op.id,
            chain=_chain(kept.trace, int(kept.rows[op.id])),
            external_id=op.external_id,
            evidence=LaunchEvidence(op="correlation"),
        )
        for position, (op, duration) in enumerate(
            (ops[index], duration)
            for index, duration in zip(kept.launch_op.tolist(), kept.launch_ns.tolist(), strict=True)
        )
    ]


class _Sources:
    """The user's line and module around a host event, from Python frames where the trace has them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._has_frames = bool((trace.category == t.PYTHON).any())
        self._known: dict[int, Source | None] = {}

    def of(self, row: int) -> Source | None:
        if not self._has_frames:
            return None
        frame = int(self._trace.parent[row])
        while frame >= 0 and self._trace.category[frame] != t.PYTHON:
            frame = int(self._trace.parent[frame])
        if frame not in self._known:
            self._known[frame] = self._from(frame)
        return self._known[frame]

    def _from(self, frame: int) -> Source | None:
        place: re.Match[str] | None = None
        modules: list[str] = []
        while frame >= 0:
            if self._trace.category[frame] == t.PYTHON:
                name = self._trace.name_of(frame)
                if name.startswith("nn.Module: "):
                    modules.append(name.removeprefix("nn.Module: "))
                elif place is None:
                    match = _FRAME.match(name)
                    if match and not _LIBRARY.search(match["file"]):
                        place = match
            frame = int(self._trace.parent[frame])
        if place is None and not modules:
            return None
        return Source(
            file=place["file"] if place else None,
            line=int(place["line"]) if place else None,
            function=place["function"] if place else None,
            module=".".join(reversed(modules)) or None,
            module_type=re.sub(r"_\d+$", "", modules[0]) if modules else None,
        )


def _environment(trace: Trace, on_device: bool) -> Environment:
    devices = [item for item in trace.header.get("deviceProperties") or () if isinstance(item, dict)]
    used = {
        device for (_, device), _ in (trace.threads[t] for t in set(trace.thread[trace.category >= t.KERNEL].tolist()))
    }
    first = next((item for item in devices if item.get("id") in used), devices[0] if devices else None)
    version = trace.header.get("cuda_runtime_version")
    cuda = f"{version // 1000}.{version % 1000 // 10}" if isinstance(version, int) and version > 1000 else None
    return Environment(
        device=first.get("name") if first and on_device else None if on_device else "CPU",
        device_properties=first,
        cuda=cuda,
    )
