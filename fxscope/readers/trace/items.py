"""The kept steps of a trace as `Op`s and `Launch`es: only these become objects."""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fxscope.columns import BLOCK, Chosen, Column, Items, Made, Numbers
from fxscope.kernel_names.tables import of_cpp
from fxscope.model import Environment, Launch, LaunchEvidence, Memory, Op, Recording, Source, Step
from fxscope.readers.trace import table as t
from fxscope.readers.trace.columns import Trace, args_of, nearest, of_names, read
from fxscope.readers.trace.kept import Kept, captured, keep
from fxscope.readers.trace.reader import Args, made_of
from fxscope.readers.trace.summary import LAUNCH_CATEGORY, summarize
from fxscope.readers.trace.table import device_and_stream, whole

_HOST_CATEGORY = ("cpu_op", "user_annotation", "runtime")  # by t.CPU_OP, t.ANNOTATION, t.RUNTIME
_MODULE = "nn.Module: "
_FRAME = re.compile(r"^(?P<file>.+)\((?P<line>\d+)\): (?P<function>.+)$")
_ENGINE = "autograd::engine::evaluate_function"  # what autograd calls around each node of the backward pass
_SEQUENCE = re.compile(rb'"Sequence number": ?(\d+)')
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
        memory=_memory(trace, kept.steps),
        base_time_ns=whole(trace.header.get("baseTimeNanoseconds")),
        problems=kept.problems,
    )


def _memory(trace: Trace, steps: tuple[Step, ...]) -> Memory | None:
    """The most bytes allocated on a device in the steps, and when; on a CPU since the recording began. `None`: not recorded."""
    times, *places = trace.allocations
    in_steps = np.zeros(len(times), np.bool_)
    for step in steps:
        in_steps |= (times >= step.start_ns) & (times <= step.start_ns + step.duration_ns)
    found = zip(times.tolist(), in_steps.tolist(), args_of(trace.args, *places), strict=True)
    rows = [(at, is_in, a.device_type, a.total_allocated, a.allocated) for at, is_in, a in found if a is not None]
    rows = [row for row in rows if {*map(type, row[2:])} == {int}]
    rows = [row for row in rows if row[2] != 0] or rows  # 0: the CPU
    _, _, device, total, change = min(rows, default=(0, 0, 0, 0, 0))
    before = total - change if device == 0 else 0
    inside = ((max(total, total - change) - before, at) for at, is_in, _, total, change in rows if is_in)
    size, at = max(inside, key=itemgetter(0), default=(0, 0))
    return Memory(step_bytes=size, step_peak_ns=at) if size else None


def _title(path: Path) -> str:
    """The file's stem; with its folder where the stem says nothing."""
    stem = path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".json")
    return path.resolve().parent.name if stem in ("trace", "profile", "chrome_trace") else stem


def ops(kept: Kept) -> Items[Op]:
    """Ops, annotations and runtime calls of the kept steps in order of time."""
    trace, rows = kept.trace, kept.rows
    details = _Details(trace, rows)
    threads = [whole(thread) for _, thread in trace.threads]
    return Items(
        Op,
        len(rows),
        {
            "id": Numbers(np.arange(len(rows))),
            "name": Chosen(kept.name, trace.names),
            "category": Chosen(kept.category, _HOST_CATEGORY),
            "step": Numbers(kept.step),
            "thread": Chosen(trace.thread[rows], threads),
            "start_ns": Numbers(trace.start_ns[rows]),
            "duration_ns": Numbers(trace.duration_ns[rows]),
            "parent": Numbers(kept.parent, none=-1),
            "external_id": Numbers(trace.external_id[rows], none=-1),
            "correlation": Numbers(trace.correlation[rows], none=-1),
            "source": _sources(trace, rows),
            "shapes": details.made(lambda args: made_of(args.shapes, _shapes)),
            "strides": details.made(lambda args: made_of(args.strides, _shapes)),
            "dtypes": details.made(lambda args: made_of(args.dtypes, _torch_names)),
            "concrete_inputs": details.made(lambda args: made_of(args.concrete, _strings)),
            "sequence_number": details.made(lambda args: whole(args.sequence_number)),
            "config": details.made(_config),
            "captured": Chosen(captured(trace, trace.windows)[kept.rows].astype(np.int8), (False, True)),
        },
    )


class _Details:
    """Columns out of the arguments of some rows, which are decoded a block at a time. The trace itself is not kept."""

    def __init__(self, trace: Trace, rows: NDArray[np.int64]) -> None:
        self._texts, self._at, self._length = trace.args, trace.args_at[rows], trace.args_length[rows]
        self._last: tuple[slice | list[int], list[Args | None]] = ([], [])
        self._makers: list[Callable[[Args], Any]] = []
        self._every: list[Chosen] = []  # what each makes of all rows, once one was asked for all

    def made(self, field: Callable[[Args], Any]) -> Made:
        """The column that a function of the arguments gives; `None` where an event has none."""
        self._makers.append(field)
        return Made(partial(self._values, len(self._makers) - 1))

    def _values(self, place: int, which: slice | list[int]) -> list[Any]:
        if which == slice(None) and not self._every:
            codes: list[list[int]] = [[] for _ in self._makers]
            known: list[dict[int, tuple[int, Any]]] = [{} for _ in self._makers]  # equal texts make one object
            for start in range(0, len(self._at), BLOCK):
                block = slice(start, start + BLOCK)
                for maker, table in enumerate(known):
                    values = self._values(maker, block)
                    codes[maker] += [table.setdefault(id(value), (len(table), value))[0] for value in values]
            tables = [[value for _, value in table.values()] for table in known]
            self._every = [Chosen(np.array(found, np.int32), table) for found, table in zip(codes, tables, strict=True)]
        if self._every:
            return self._every[place].take(which)
        last, block = self._last
        if last is not which:  # an item's fields are asked for one after the other, of the same items
            block = args_of(self._texts, self._at[which], self._length[which])
            self._last = (which, block) if len(block) <= BLOCK else ([], [])
        return [None if args is None else self._makers[place](args) for args in block]


def _torch_names(value: Any) -> tuple[str, ...] | None:
    names = _strings(value)
    return names and tuple(of_cpp(name) or name for name in names)


_CONFIG = ("kernel_backend", "kernel_file", "kernel_hash", "kernel_kwargs", "num_warps", "num_stages", "grid")


def _config(args: Args) -> dict[str, Any] | None:
    if args.kernel_file is None and args.kernel_backend is None:
        return None
    return {key: value for key in _CONFIG if (value := getattr(args, key)) is not None}


def _shapes(value: Any) -> tuple[Any, ...] | None:
    """One tuple for each input, of a list of tensors one of tuples, `()` of a scalar; `None` for what is no list."""
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
    details = _Details(trace, rows)
    places = [device_and_stream(thread) for thread in trace.threads]
    around = np.where(issuer >= 0, issuer, op)
    in_replay = trace.graph[rows] >= 0
    evidence = trace.op_evidence[rows] if kept.on_device else np.full(len(rows), t.BY_CORRELATION)
    columns: dict[str, Column] = {
        "id": Numbers(np.arange(len(rows))),
        "name": Chosen(kept.launch_name, trace.names),
        "category": Chosen(trace.category[rows], LAUNCH_CATEGORY),
        "step": Numbers(kept.launch_step),
        "start_ns": Numbers(kept.launch_start),
        "duration_ns": Numbers(kept.launch_ns),
        "external_id": Numbers(trace.external_id[rows], none=-1),
        "op": Chosen(np.where(op >= 0, trace.name[op], -1), trace.names),
        "op_id": Numbers(kept.launch_op, none=-1),
        "chain": _chains(trace, around),
        "evidence": Chosen(evidence, _EVIDENCE),
    }
    if kept.on_device:
        columns |= {
            "stream": Chosen(trace.thread[rows], [stream for _, stream in places]),
            "device": Chosen(trace.thread[rows], [device for device, _ in places]),
            "correlation": Numbers(trace.correlation[rows], none=-1),
            "runtime": _runtime_calls(trace, op, launcher),
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
        }
    return Items(Launch, len(rows), columns)


_NEVER = -(2**63)
_EVIDENCE = tuple(LaunchEvidence(op=known) for known in (None, "external_id", "correlation", "order"))


def _runtime_calls(trace: Trace, ops: NDArray[Any], launchers: NDArray[np.int32]) -> Made:
    """The names of all runtime calls of each launch's op, in order of time; without an op, of its own."""
    calls = np.flatnonzero(trace.category == t.RUNTIME)
    around = nearest(trace.parent, trace.category == t.CPU_OP)[calls]
    order = np.lexsort((trace.start_ns[calls], around))
    calls, around = calls[order], around[order]
    first = np.searchsorted(around, ops, "left")
    after = np.where(ops >= 0, np.searchsorted(around, ops, "right"), first)
    codes, names = trace.name, trace.names

    def named(which: Any) -> list[tuple[str, ...]]:
        rows = zip(*(column[which].tolist() for column in (first, after, launchers)), strict=True)
        mine = (calls[begin:end] if end > begin else [launcher][: launcher >= 0] for begin, end, launcher in rows)
        return [tuple(names[code] for code in codes[row].tolist()) for row in mine]

    return Made(named)


def _ints(value: Any) -> tuple[int, ...] | None:
    return tuple(value) if isinstance(value, list) and {*map(type, value)} <= {int} else None


def _downwards(rows: Iterable[int], above: Callable[[int], int], known: Container[int]) -> Iterator[tuple[int, int]]:
    """Yield what is not `known` of rows and of those above them, the highest first; each with the one above it."""
    for row in rows:
        path = [row]
        while path[-1] not in known:
            path.append(above(path[-1]))
        yield from zip(path[-2::-1], path[:0:-1], strict=True)


def _chains(trace: Trace, rows: NDArray[np.integer]) -> Chosen:
    """The names from the outermost annotation down to each row; no steps, Python frames, runtime calls. Cut, else quadratic."""
    is_step = of_names(trace, trace.name, lambda name: name.startswith(t.STEP))
    named = np.isin(trace.category, (t.CPU_OP, t.ANNOTATION)) & ~is_step
    around = np.where(named, np.arange(len(trace), dtype=np.int32), nearest(trace.parent, named))
    lowest, which = np.unique(np.where(rows >= 0, around[rows], -1), return_inverse=True)
    table: list[tuple[str, ...]] = [()]
    code_of: dict[int, int] = {-1: 0}  # row → place in the table
    known: dict[tuple[int, int], int] = {}  # chain above and name → place in the table
    up = np.where(trace.parent >= 0, around[trace.parent], -1)
    for row, above in _downwards(lowest.tolist(), up.item, code_of):
        key = code_of[above], trace.name.item(row)
        if key not in known:
            known[key] = len(table)
            name = trace.names[key[1]]
            chain = (*table[key[0]], name if len(name) <= MAX_CHAIN_NAME else f"{name[: MAX_CHAIN_NAME - 1]}…")
            if len(chain) > MAX_CHAIN:
                chain = (*chain[: MAX_CHAIN // 2], "…", *chain[MAX_CHAIN // 2 + 2 :])
            table.append(chain)
        code_of[row] = known[key]
    return Chosen(np.array([code_of[row] for row in lowest.tolist()])[which], table)


def _sources(trace: Trace, rows: NDArray[np.int64]) -> Chosen:
    """The user's line and module around host events, from Python frames where the trace has them."""
    frames = trace.category == t.PYTHON
    if not frames.any():
        return Chosen(np.full(len(rows), -1), ())
    place = nearest(trace.parent, frames & of_names(trace, trace.name, _place))[rows]
    above = nearest(trace.parent, frames & of_names(trace, trace.name, lambda name: name.startswith(_MODULE)))
    modules, which = np.unique(_of_forward(trace, above)[rows], return_inverse=True)
    paths: dict[int, tuple[str, ...]] = {-1: ()}  # row of a module → names from the outermost one down
    for row, outer in _downwards(modules.tolist(), above.item, paths):
        paths[row] = (*paths[outer], trace.name_of(row).removeprefix(_MODULE))
    codes: dict[tuple[str, ...], int] = {}
    of_module = np.array([codes.setdefault(paths[row], len(codes)) for row in modules.tolist()], np.int64)
    names = np.where(place >= 0, trace.name[place], -1).astype(np.int64)
    keys, which = np.unique(names * len(codes) + of_module[which], return_inverse=True)
    every = list(codes)
    table = [
        _source(trace.names[name] if name >= 0 else "", every[code])
        for name, code in (divmod(k, len(codes)) for k in keys.tolist())
    ]
    return Chosen(which, table)


def _of_forward(trace: Trace, modules: NDArray[np.int32]) -> NDArray[np.int32]:
    """The module around each row, around those of a backward pass that of the forward op with the same sequence number."""
    is_engine = (trace.category == t.CPU_OP) & of_names(trace, trace.name, lambda name: name.startswith(_ENGINE))
    if not is_engine.any() or (modules < 0).all():
        return modules
    around = np.where(is_engine, np.arange(len(trace), dtype=np.int32), nearest(trace.parent, is_engine))
    # A forward pass that is run again for its backward has modules of its own
    is_backward = (around >= 0) & (modules == modules[around])
    found = list(_SEQUENCE.finditer(trace.args))
    texts = np.argsort(trace.args_at)
    which = np.searchsorted(trace.args_at, [match.start() for match in found], "right", texts) - 1
    numbers = np.full(len(trace), -1)
    numbers[texts[which]] = [int(match[1]) for match in found]
    # Of the ops with a number the last one made the node; the numbers are a thread's own
    forward = np.flatnonzero((numbers >= 0) & ~is_backward)
    forward = forward[np.lexsort((trace.start_ns[forward], trace.thread[forward], numbers[forward]))]
    engine = np.flatnonzero(is_engine)
    first, after = (np.searchsorted(numbers[forward], numbers[engine], side) for side in ("left", "right"))
    has_one = after > first
    engine, first, last = engine[has_one], forward[first[has_one]], forward[after[has_one] - 1]
    engine, last = (rows[trace.thread[first] == trace.thread[last]] for rows in (engine, last))
    of_forward = np.full(len(trace), -1, np.int32)
    of_forward[engine] = modules[last]
    return np.where(is_backward & (of_forward[around] >= 0), of_forward[around], modules)


def _source(frame: str, modules: tuple[str, ...]) -> Source | None:
    place = _place(frame)
    if place is None and not modules:
        return None
    file, line, function = place or (None, None, None)
    kind = modules[-1].rstrip("0123456789").removesuffix("_") if modules else None
    return Source(file=file, line=line, function=function, module=".".join(modules) or None, module_type=kind)


@lru_cache(maxsize=4096)
def _place(name: str) -> tuple[str, int, str] | None:
    match = None if name.startswith(_MODULE) else _FRAME.match(name)
    return (
        (match["file"], int(match["line"]), match["function"]) if match and not _LIBRARY.search(match["file"]) else None
    )


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
