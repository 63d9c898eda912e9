"""The kept steps of a trace as `Op`s and `Launch`es: only these become objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fxscope.columns import BLOCK, Chosen, Column, Given, Items, Made, Numbers
from fxscope.kernel_names.tables import of_cpp
from fxscope.model import Environment, Launch, LaunchEvidence, Op, Recording, Source
from fxscope.readers.trace import table as t
from fxscope.readers.trace.columns import Trace, nearest, read
from fxscope.readers.trace.kept import Kept, keep, of_names
from fxscope.readers.trace.summary import LAUNCH_CATEGORY, summarize
from fxscope.readers.trace.table import device_and_stream, whole

if TYPE_CHECKING:
    from fxscope.readers.trace.reader import Args


_HOST_CATEGORY = ("cpu_op", "user_annotation", "runtime")  # by t.CPU_OP, t.ANNOTATION, t.RUNTIME
_MODULE = "nn.Module: "
_FRAME = re.compile(r"^(?P<file>.+)\((?P<line>\d+)\): (?P<function>.+)$")
_LIBRARY = re.compile(r"(^|/)(site-packages|dist-packages|torch|lib/python\d[^/]*)/|^<|^torch/")
MAX_CHAIN = 100  # names around a launch
MAX_CHAIN_NAME = 200  # characters of each: every launch repeats them in JSON


def recording(
    path: str | Path,
    *,
    steps: Iterable[int] | None = None,
    max_bytes: int | None = None,
    capture: str | Path | None = None,
) -> Recording:
    """Return a trace's own facts: environment, steps, ops, launches, summary. No pass has run.

    The arguments are those of `read_trace`. Raises TraceError where the trace cannot be read, or has no such step.
    """
    trace = read(path, max_bytes=max_bytes, capture=capture)
    kept = keep(trace, steps)
    return Recording(
        title=_title(trace.path),
        environment=_environment(trace, kept.on_device),
        launches=launches(kept),  # type: ignore[arg-type]
        ops=ops(kept),  # type: ignore[arg-type]
        steps=kept.steps,
        summary=summarize(kept),
        base_time_ns=trace.base_time_ns,
        problems=kept.problems,
    )


def _title(path: Path) -> str:
    """The file's stem; with its folder where the stem says nothing."""
    stem = path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".json")
    return path.resolve().parent.name if stem in ("trace", "profile", "chrome_trace") else stem


def ops(kept: Kept) -> Items[Op]:
    """Ops, annotations and runtime calls of the kept steps in order of time."""
    trace, rows = kept.trace, kept.rows
    sources, details = _Sources(trace), _Details(trace, rows)
    threads = [whole(thread) for _, thread in trace.threads]
    return Items(
        Op,
        len(rows),
        {
            "id": Given(range(len(rows))),
            "name": Chosen(kept.name, trace.names),
            "category": Chosen(kept.category, _HOST_CATEGORY),
            "step": Numbers(kept.step),
            "thread": Chosen(trace.thread[rows], threads),
            "start_ns": Numbers(trace.start_ns[rows]),
            "duration_ns": Numbers(trace.duration_ns[rows]),
            "parent": Numbers(kept.parent, none=-1),
            "external_id": Numbers(trace.external_id[rows], none=-1),
            "correlation": Numbers(trace.correlation[rows], none=-1),
            "source": Made(lambda which: [sources.of(row) for row in rows[which].tolist()]),
            "shapes": details.made(lambda args: _shapes(args.shapes)),
            "strides": details.made(lambda args: _shapes(args.strides)),
            "dtypes": details.made(lambda args: _torch_names(names) if (names := _strings(args.dtypes)) else names),
            "concrete_inputs": details.made(lambda args: _strings(args.concrete)),
            "sequence_number": details.made(lambda args: whole(args.sequence_number)),
            "config": details.made(_config),
            "captured": Chosen(kept.captured.astype(np.int8), (False, True)),
        },
    )


class _Details:
    """Columns out of the arguments of some rows, which are decoded a block at a time."""

    def __init__(self, trace: Trace, rows: NDArray[np.int64]) -> None:
        self._trace = trace
        self._rows = rows
        self._last: tuple[slice | list[int], list[Args | None]] = ([], [])

    def made(self, field: Callable[[Args], Any]) -> Made:
        """The column that a function of the arguments gives; `None` where an event has none."""
        return Made(lambda which: [None if args is None else field(args) for args in self._of(which)])

    def _of(self, which: slice | list[int]) -> list[Args | None]:
        last, block = self._last
        if last is not which:  # an item's fields are asked for one after the other, of the same items
            rows = self._rows[which].tolist()
            found = self._trace.details(rows)
            block = [found.get(row) for row in rows]
            self._last = (which, block) if len(block) <= BLOCK else ([], [])
        return block


@lru_cache(maxsize=4096)
def _torch_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(of_cpp(name) or name for name in names)


_CONFIG = ("kernel_backend", "kernel_file", "kernel_hash", "kernel_kwargs", "num_warps", "num_stages", "grid")


def _config(args: Args) -> dict[str, Any] | None:
    """Return what torch says of a Triton launch, `None` of other ops."""
    if args.kernel_file is None and args.kernel_backend is None:
        return None
    return {key: value for key in _CONFIG if (value := getattr(args, key)) is not None}


def _shapes(value: Any) -> tuple[Any, ...] | None:
    """One tuple for each input, of a list of tensors one of tuples; `None` for what is no list.

    An input for which there is no list has no shape: `()`, as the profiler writes it of scalars.
    """
    if type(value) is not list:
        return None
    return tuple(
        [() if type(item) is not list else _shapes(item) if list in map(type, item) else tuple(item) for item in value]
    )


def _strings(value: Any) -> tuple[str, ...] | None:
    return tuple(map(str, value)) if type(value) is list else None


def launches(kept: Kept) -> Items[Launch]:
    """The events of the device in the kept steps, in order of their start; without a device, the ops that do work."""
    trace, rows = kept.trace, kept.launch_rows
    launcher, issuer = trace.launcher[rows], trace.issuer[rows]
    op = trace.op[rows] if kept.on_device else rows
    chains, details = _Chains(trace), _Details(trace, rows)
    places = [device_and_stream(thread) for thread in trace.threads]
    around = np.where(issuer >= 0, issuer, op)
    in_replay = trace.graph[rows] >= 0
    common: dict[str, Column] = {
        "id": Given(range(len(rows))),
        "name": Chosen(kept.launch_name, trace.names),
        "category": Chosen(trace.category[rows], LAUNCH_CATEGORY),
        "step": Numbers(kept.launch_step),
        "start_ns": Numbers(kept.launch_start),
        "duration_ns": Numbers(kept.launch_ns),
        "external_id": Numbers(trace.external_id[rows], none=-1),
        "op": Chosen(np.where(op >= 0, trace.name[op], -1), trace.names),
        "op_id": Numbers(kept.launch_op, none=-1),
        "chain": Made(lambda which: [chains.of(row) for row in around[which].tolist()]),
        "evidence": Chosen(
            trace.op_evidence[rows] if kept.on_device else np.full(len(rows), t.BY_CORRELATION), _EVIDENCE
        ),
    }
    if not kept.on_device:
        return Items(Launch, len(rows), common)
    return Items(
        Launch,
        len(rows),
        common
        | {
            "stream": Chosen(trace.thread[rows], [stream for _, stream in places]),
            "device": Chosen(trace.thread[rows], [device for device, _ in places]),
            "correlation": Numbers(trace.correlation[rows], none=-1),
            "runtime": Made(_runtime_calls(trace, op, launcher)),
            "launched_ns": Numbers(np.where(launcher >= 0, trace.start_ns[launcher], _NEVER), none=_NEVER),
            "grid": details.made(lambda args: _ints(args.grid)),
            "block": details.made(lambda args: _ints(args.block)),
            "registers": details.made(lambda args: whole(args.registers)),
            "shared_bytes": details.made(lambda args: whole(args.shared_bytes)),
            "bytes": details.made(lambda args: whole(args.bytes)),
            "occupancy": details.made(
                lambda args: share / 100 if isinstance(share := args.occupancy, int | float) and share > 0 else None
            ),
            "cuda_graph": Numbers(np.where(in_replay, trace.graph[rows], -1), none=-1),
            "cuda_graph_node": Numbers(np.where(in_replay, trace.graph_node[rows], -1), none=-1),
        },
    )


_NEVER = -(2**63)
_EVIDENCE = tuple(LaunchEvidence(op=known) for known in (None, "external_id", "correlation", "order"))


def _runtime_calls(
    trace: Trace, ops: NDArray[Any], launchers: NDArray[np.int32]
) -> Callable[[Any], list[tuple[str, ...]]]:
    """Return what gives the names of all runtime calls of a launch's op, in order of time; without an op, of its own."""
    calls = np.flatnonzero(trace.category == t.RUNTIME)
    around = nearest(trace.parent, trace.category == t.CPU_OP)[calls]
    order = np.lexsort((trace.start_ns[calls], around))
    around, names = around[order], trace.name[calls[order]]
    first, after = np.searchsorted(around, ops, "left"), np.searchsorted(around, ops, "right")

    def named(which: Any) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        columns = (column[which].tolist() for column in (ops, launchers, first, after))
        for op, launcher, begin, end in zip(*columns, strict=True):
            rows = names[begin:end].tolist() if op >= 0 else [trace.name[launcher]] if launcher >= 0 else []
            found.append(tuple(trace.names[row] for row in rows))
        return found

    return named


def _ints(value: Any) -> tuple[int, ...] | None:
    return tuple(value) if isinstance(value, list) and {*map(type, value)} <= {int} else None


class _Chains:
    """The names from the outermost annotation down to an op; steps, Python frames and runtime calls left out.

    Of more than `MAX_CHAIN` the middle is one "…": a trace in which each op lies in the one before would else take the square
    of its size. Each has `MAX_CHAIN_NAME` characters at most.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        named = np.isin(trace.category, (t.CPU_OP, t.ANNOTATION)) & ~of_names(
            trace, trace.name, lambda name: name.startswith("ProfilerStep#")
        )
        self._around = np.where(named, np.arange(len(trace), dtype=np.int32), nearest(trace.parent, named))
        self._known: dict[int, tuple[str, ...]] = {-1: ()}

    def of(self, row: int) -> tuple[str, ...]:
        """The chain down to a row, -1 for none."""
        path: list[int] = []
        row = int(self._around[row]) if row >= 0 else -1
        while row not in self._known:
            path.append(row)
            above = int(self._trace.parent[row])
            row = int(self._around[above]) if above >= 0 else -1
        chain = self._known[row]
        for step in reversed(path):
            name = self._trace.name_of(step)
            chain = (*chain, name if len(name) <= MAX_CHAIN_NAME else f"{name[: MAX_CHAIN_NAME - 1]}…")
            if len(chain) > MAX_CHAIN:
                chain = (*chain[: MAX_CHAIN // 2], "…", *chain[MAX_CHAIN // 2 + 2 :])
            self._known[step] = chain
        return chain


class _Sources:
    """The user's line and module around a host event, from Python frames where the trace has them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._has_frames = bool((trace.category == t.PYTHON).any())
        self._known: dict[tuple[int, int], Source | None] = {(-1, -1): None}
        if self._has_frames:
            frames = trace.category == t.PYTHON
            self._place = nearest(trace.parent, frames & of_names(trace, trace.name, _place))
            is_module = of_names(trace, trace.name, lambda name: name.startswith(_MODULE))
            self._module = nearest(trace.parent, frames & is_module)

    def of(self, row: int) -> Source | None:
        """The place and the module around a row."""
        if not self._has_frames:
            return None
        key = self._place.item(row), self._module.item(row)
        if key not in self._known:
            self._known[key] = self._made(*key)
        return self._known[key]

    def _made(self, frame: int, module: int) -> Source:
        place = _place(self._trace.name_of(frame)) if frame >= 0 else None
        modules: list[str] = []
        while module >= 0:
            modules.append(self._trace.name_of(module).removeprefix(_MODULE))
            module = self._module.item(module)
        return Source(
            file=place["file"] if place else None,
            line=int(place["line"]) if place else None,
            function=place["function"] if place else None,
            module=".".join(reversed(modules)) or None,
            module_type=re.sub(r"_\d+$", "", modules[0]) if modules else None,
        )


def _place(name: str) -> re.Match[str] | None:
    """The place in the user's code that a Python frame's name says."""
    match = None if name.startswith(_MODULE) else _FRAME.match(name)
    return match if match and not _LIBRARY.search(match["file"]) else None


def _environment(trace: Trace, on_device: bool) -> Environment:
    if (unread := trace.unread_device) is not None:
        return Environment(device=unread)
    told = trace.header.get("deviceProperties")
    devices = [item for item in told if isinstance(item, dict)] if isinstance(told, list) else []
    threads = [trace.threads[thread] for thread in np.unique(trace.thread[trace.category >= t.KERNEL]).tolist()]
    used = {device for device, _ in map(device_and_stream, threads or trace.threads)}
    first = next((item for item in devices for device in used if item.get("id") == device), next(iter(devices), None))
    version = trace.header.get("cuda_runtime_version")
    cuda = f"{version // 1000}.{version % 1000 // 10}" if isinstance(version, int) and version > 1000 else None
    name = first.get("name") if first else None
    return Environment(
        device=(name if isinstance(name, str) else None) if on_device else "CPU", device_properties=first, cuda=cuda
    )
