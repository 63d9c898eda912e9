"""The kept steps of a trace as `Op`s and `Launch`es: only these become objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from fxscope.aten_ops import MAY_COPY, base_name, expected_nature
from fxscope.errors import TraceError
from fxscope.model import Environment, Launch, LaunchEvidence, Op, Problem, Recording, Source, Step
from fxscope.readers.trace import table as t
from fxscope.readers.trace.columns import Trace, nearest_ops, read
from fxscope.readers.trace.reader import MAX_BYTES, Args
from fxscope.readers.trace.summary import summarize
from fxscope.readers.trace.table import identifier, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from fxscope.model import LaunchCategory

_DEVICE_CATEGORY: dict[int, LaunchCategory] = {t.KERNEL: "kernel", t.MEMSET: "gpu_memset", t.MEMCPY: "gpu_memcpy"}
_HOST_CATEGORY = {t.CPU_OP: "cpu_op", t.ANNOTATION: "user_annotation", t.RUNTIME: "runtime"}
_FRAME = re.compile(r"^(?P<file>.+)\((?P<line>\d+)\): (?P<function>.+)$")
_LIBRARY = re.compile(r"(^|/)(site-packages|dist-packages|torch|lib/python\d[^/]*)/|^<|^torch/")
_DTYPES = {
    "c10::BFloat16": "bfloat16",
    "c10::Half": "float16",
    "float": "float32",
    "double": "float64",
    "long int": "int64",
    "long": "int64",
    "long long": "int64",
    "int": "int32",
    "short": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
    "c10::Float8_e4m3fn": "float8_e4m3fn",
    "c10::Float8_e5m2": "float8_e5m2",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "unsigned int": "uint32",
}


def recording(
    source: Trace | str | Path,
    *,
    steps: Iterable[int] | None = None,
    strict: bool = False,
    max_bytes: int = MAX_BYTES,
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
    if len(trace) == 0:
        raise TraceError(f"{trace.path} holds no events. Was the profiler active (schedule, `prof.step()`)?")
    kept = _kept_steps(trace, steps)
    step_of = _steps_of_rows(trace, kept)
    problems = list(trace.problems)
    ops = _ops(trace, step_of)
    on_device = bool((trace.category >= t.KERNEL).any())
    launches = _launches(trace, step_of) if on_device else _cpu_launches(trace, step_of, ops)
    ids = {row: position for position, row in enumerate(op.id for op in ops)}
    # Ids count from 0 in the kept steps; until here they were rows.
    ops = [_renumbered(op, ids) for op in ops]
    launches = [
        _with(launch, id=position, op_id=ids.get(launch.op_id) if launch.op_id is not None else None)
        for position, launch in enumerate(launches)
    ]
    lost = sum(launch.op is None for launch in launches)
    if lost:
        problems.append(
            Problem(
                where=trace.path.name,
                message=f"{lost} of {len(launches)} device events have neither a "
                "launch nor an external id: they are unattributed",
            )
        )
    step_items = tuple(
        Step(index=index, name=trace.name_of(row) if row >= 0 else "whole trace", start_ns=start, duration_ns=duration)
        for index, row, start, duration in kept
    )
    result = Recording(
        title=_title(trace.path),
        environment=_environment(trace, on_device),
        launches=tuple(launches),
        ops=tuple(ops),
        steps=step_items,
        base_time_ns=trace.base_time_ns,
        problems=tuple(problems),
    )
    return _with(result, summary=summarize(result, num_events=len(trace)))


def _title(path: Path) -> str:
    """Return the file's stem; with its folder where the stem says nothing."""
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    return path.resolve().parent.name if stem in ("trace", "profile", "chrome_trace") else stem


def _with(item: Any, **changes: Any) -> Any:
    from fxscope.model import replace

    return replace(item, **changes)


def _renumbered(op: Op, ids: dict[int, int]) -> Op:
    return _with(op, id=ids[op.id], parent=ids.get(op.parent) if op.parent is not None else None)


def _kept_steps(trace: Trace, steps: Iterable[int] | None) -> list[tuple[int, int, int, int]]:
    """Return (index, row, start, duration) of the wanted steps; one step, the whole trace, where there are none."""
    if not trace.steps:
        start = int(trace.start_ns.min())
        found = [(0, -1, start, int((trace.start_ns + trace.duration_ns).max()) - start)]
    else:
        found = [(i, row, int(trace.start_ns[row]), int(trace.duration_ns[row])) for i, row in enumerate(trace.steps)]
    if steps is None:
        return found
    wanted = sorted(set(steps))
    missing = [step for step in wanted if not 0 <= step < len(found)]
    if missing:
        raise TraceError(f"{trace.path} has no step {missing[0]}: its active steps are 0 to {len(found) - 1}.")
    return [found[step] for step in wanted]


def _steps_of_rows(trace: Trace, kept: list[tuple[int, int, int, int]]) -> Any:
    """Return the step of each row, -1 outside: host events by their start, device events by their launch's."""
    step_of = np.full(len(trace), -1, np.int32)
    if len(kept) == 1 and kept[0][1] < 0:
        step_of[:] = 0
        return step_of
    for index, _, start, duration in kept:
        step_of[(trace.start_ns >= start) & (trace.start_ns < start + duration)] = index
    device = np.flatnonzero(trace.category >= t.KERNEL)
    # What is only known by its external id belongs to its op's step; what has neither, to the step it ran in.
    for source in (trace.op, trace.launcher):
        known = device[source[device] >= 0]
        step_of[known] = step_of[source[known]]
    return step_of


def _ops(trace: Trace, step_of: Any) -> list[Op]:
    """Return ops, annotations and runtime calls of the kept steps in order of time, ids still rows."""
    rows = np.flatnonzero((step_of >= 0) & np.isin(trace.category, list(_HOST_CATEGORY)))
    rows = rows[np.lexsort((rows, -trace.duration_ns[rows], trace.start_ns[rows]))]
    kept = set(rows.tolist())
    sources = _Sources(trace)
    details = trace.details(rows.tolist())
    found: list[Op] = []
    for row in rows.tolist():
        parent = int(trace.parent[row])
        while parent >= 0 and parent not in kept:
            parent = int(trace.parent[parent])
        args = details.get(row)
        thread = trace.threads[trace.thread[row]][1]
        item = Op(
            id=row,
            name=trace.name_of(row),
            category=_HOST_CATEGORY[int(trace.category[row])],
            step=int(step_of[row]),
            thread=whole(thread),
            start_ns=int(trace.start_ns[row]),
            duration_ns=int(trace.duration_ns[row]),
            parent=parent if parent >= 0 else None,
            source=sources.of(row),
        )
        found.append(_with(item, **_details(args)) if args is not None else item)
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
        "dtypes": tuple(_DTYPES.get(name, name) for name in dtypes) if dtypes is not None else None,
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


def _launches(trace: Trace, step_of: Any) -> list[Launch]:
    rows = np.flatnonzero((trace.category >= t.KERNEL) & (step_of >= 0))
    rows = rows[np.lexsort((rows, trace.start_ns[rows]))]
    runtime_of: dict[int, list[int]] = {}
    calls = np.flatnonzero(trace.category == t.RUNTIME)
    for row, op in zip(calls.tolist(), nearest_ops(trace, calls).tolist(), strict=True):
        if op >= 0:
            runtime_of.setdefault(op, []).append(row)
    details = trace.details(rows.tolist())
    return [_launch(trace, row, int(step_of[row]), runtime_of, details) for row in rows.tolist()]


def _launch(trace: Trace, row: int, step: int, runtime_of: dict[int, list[int]], details: dict[int, Args]) -> Launch:
    op, launcher, args = int(trace.op[row]), int(trace.launcher[row]), details.get(row)
    if op >= 0:
        runtime = tuple(trace.name_of(item) for item in sorted(runtime_of.get(op, ()), key=lambda i: trace.start_ns[i]))
    else:
        runtime = (trace.name_of(launcher),) if launcher >= 0 else ()
    evidence = None if op < 0 else "external_id" if trace.op_by_external[row] else "correlation"
    (_, device), (_, stream) = trace.threads[trace.thread[row]]
    share = args.occupancy if args is not None else None
    return Launch(
        id=row,
        name=trace.name_of(row),
        category=_DEVICE_CATEGORY[int(trace.category[row])],
        step=step,
        start_ns=int(trace.start_ns[row]),
        duration_ns=int(trace.duration_ns[row]),
        stream=whole(stream),
        device=whole(device),
        correlation=positive(int(trace.correlation[row])),
        external_id=positive(int(trace.external_id[row])),
        op=trace.name_of(op) if op >= 0 else None,
        op_id=op if op >= 0 else None,
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


# Ops that hand all their work to an op they call; other ops may call one for a detail (`addmm` copies its bias) and then
# do their own work.
_DELEGATES = frozenset(
    """clone _to_copy to contiguous reshape flatten copy zero_ zeros ones full zeros_like ones_like full_like empty_like
    new_zeros new_ones new_full rand randn rand_like randn_like randint arange dropout normal convolution _convolution
    scalar_tensor pad constant_pad_nd cross_entropy_loss softmax log_softmax""".split()
)


def _cpu_launches(trace: Trace, step_of: Any, ops: list[Op]) -> list[Launch]:
    """Return the executions of a CPU-only trace: ops that do more than change metadata, without what they hand on.

    The duration is the op's own: what an op that it calls did is that op's launch.
    """
    by_id = {op.id: op for op in ops}
    working: dict[int, list[Op]] = {}  # op → the nearest ops below it that do work
    for op in ops:
        if op.category != "cpu_op" or not _does_work(op.name):
            continue
        parent = op.parent
        while parent is not None and parent in by_id:
            working.setdefault(parent, []).append(op)
            if _does_work(by_id[parent].name):
                break
            parent = by_id[parent].parent
    found: list[Launch] = []
    for op in ops:
        if op.category != "cpu_op" or not _does_work(op.name):
            continue
        below = working.get(op.id, [])
        if below and (op.name.removeprefix("aten::") in _DELEGATES or expected_nature(op.name) != "kernel"):
            continue
        if any(item.name.rstrip("_") == op.name.rstrip("_") for item in below):
            continue  # `aten::sum ⊃ aten::sum`, `aten::add_ ⊃ aten::add`
        found.append(
            Launch(
                id=op.id,
                name=op.name,
                category="cpu_kernel",
                step=op.step,
                start_ns=op.start_ns,
                duration_ns=max(0, op.duration_ns - sum(item.duration_ns for item in below)),
                op=op.name,
                op_id=op.id,
                chain=_chain(trace, op.id),
                external_id=op.external_id,
                evidence=LaunchEvidence(op="correlation"),
            )
        )
    return found


_BOOKKEEPING = re.compile(
    r"^(entire_(frame|backward)_compile|dynamo$|torch::autograd::|TorchDynamo|Torch-Compiled Region|Pregraph bytecode|"
    r"AOTDispatcher|CompiledFunction|## Call|"
    r"autograd::engine|Optimizer\.|ProfilerStep|PyTorch Profiler|enumerate|\[memory\]|Inductor|"
    r"FX codegen|torch/|CompiledFxGraph)"
)


def _does_work(name: str) -> bool:
    if _BOOKKEEPING.match(name) or name.endswith("Backward") or re.search(r"Backward\d+$", name):
        return False
    # reshape, contiguous, to: where they copy, an op below them does it
    return expected_nature(name) not in ("view", "host") and base_name(name) not in MAY_COPY


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
