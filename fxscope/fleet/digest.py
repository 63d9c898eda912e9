"""One rank's trace → its digest: a pure function of the file (and the compile log beside it), from columns."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fxscope.fleet.model import Collectives, Digest, DigestCoverage, Group, Plan, PlanKernel, PlanOp, RankStep
from fxscope.kernel_names.vendors import collective
from fxscope.model import Problem
from fxscope.readers.trace import columns, intervals
from fxscope.readers.trace import table as t
from fxscope.readers.trace.kept import kept_steps, of_names, steps_of_rows
from fxscope.readers.trace.reader import MAX_BYTES
from fxscope.readers.trace.table import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from fxscope.readers.trace.columns import Trace
    from fxscope.readers.trace.intervals import Times
    from fxscope.readers.trace.reader import Args

# Waiting for the device, or a copy that the host waits for. A launch takes a few µs: one that takes far longer met a full
# queue.
BLOCKING = re.compile(r"Synchronize|^(cuda|hip)Memcpy(?!.*Async)|hipMemcpyWithStream|^cuMemcpy(?!.*Async)")
ALLOCATION = re.compile(r"^(cuda|hip)(Malloc|Free)(?!Host)|^cuMem(Create|Map|Unmap|Release|AddressReserve|Alloc|Free)")
LONG_CALL_NS = 200_000
CPU_COLLECTIVE = re.compile(r"^(gloo|mpi|ucc):|monitored_?barrier", re.IGNORECASE)
# A data annotation by its words: what torch's DataLoader writes, and what people call theirs. Written together or apart.
INPUT_WORDS = frozenset(
    "data dataloader dataloading dataset datapipe loader input inputs fetch prefetch collate tokenize".split()
    + "getbatch nextbatch loadbatch".split()
)
NOT_INPUT = re.compile(r"(?i:parallel)|zero_grad|^##|^nccl:|^FSDP::|^Optimizer\.|^ProfilerStep#|^Torch-Compiled")
STEP = re.compile(r"#(\d+)")
RANK_IN_NAME = re.compile(r"rank[-_.]?(\d+)", re.IGNORECASE)
HOST_IN_NAME = re.compile(r"^(?P<host>.+)_\d+\.\d+\.pt\.trace\.json")
MAX_PLAN_LAUNCHES = 4_000  # whose arguments are read: whole steps, two at least
MAX_PLAN_OPS = 400


def digest(
    path: str | Path,
    *,
    input_annotation: str | None = None,
    max_bytes: int = MAX_BYTES,
    progress: Callable[[int], None] | None = None,
) -> Digest:
    """The digest of one rank's trace.

    Args:
        path: what `torch.profiler` exported on that rank, .json or .json.gz.
        input_annotation: a pattern; annotations that match it count as data loading, beside those known by their words.
        max_bytes: largest trace, unpacked.

    Raises:
        TraceError: no such file, not a trace, too large, or no events. What is merely damaged is a problem in the digest.
    """
    path = Path(path)
    trace = columns.read(path, args_of=_tells_of_communication, max_bytes=max_bytes, progress=progress)
    return _Reading(trace, re.compile(input_annotation) if input_annotation else None).digest()


def unreadable(file: str, message: str) -> Digest:
    """The digest of a rank whose trace gave nothing: it still counts as one."""
    return Digest(file=file, rank=rank_in(file), problems=(Problem(where=file, message=message),))


def rank_in(file: str) -> int | None:
    """The rank that a file's name says."""
    found = RANK_IN_NAME.search(Path(file).name)
    return int(found[1]) if found else None


def is_input(name: str, extra: re.Pattern[str] | None = None) -> bool:
    """Whether an annotation's name says that data is loaded inside."""
    if extra is not None and extra.search(name):
        return True
    if NOT_INPUT.search(name):
        return False
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    words = re.findall(r"[a-z]+", apart)
    pairs = {a + b for a, b in itertools.pairwise(words)}
    return bool(INPUT_WORDS & ({*words, *pairs}))


class _Window(NamedTuple):
    """A step: its number, its times on the host, and on the device. Steps without communication count to the next with some."""

    number: int
    first: int  # indices of the host steps that it is made of
    last: int
    host: tuple[int, int]
    device: tuple[int, int]
    whole: bool


class _Reading:
    """The trace, and what several parts of the digest need of it."""

    def __init__(self, trace: Trace, extra: re.Pattern[str] | None) -> None:
        self.trace = trace
        self.extra = extra
        self.problems = list(trace.problems)
        self.start, self.end = trace.start_ns, trace.start_ns + trace.duration_ns
        self.device = np.flatnonzero(trace.category >= t.KERNEL)
        comm = of_names(trace, trace.name[self.device], lambda name: collective(name) is not None)
        self.comm, self.work = self.device[comm], self.device[~comm]
        steps = kept_steps(trace) if len(trace) else ()
        self.numbers = [int(found[1]) if (found := STEP.search(step.name)) else step.index for step in steps]
        self.hosts = [(step.start_ns, step.start_ns + step.duration_ns) for step in steps]
        # Index of the step that launched a device row; -1 where the trace does not hold the launch.
        launched = (trace.launcher >= 0) | (trace.op >= 0)
        self.launch_step = np.where(launched, steps_of_rows(trace, steps), -1)
        if steps and not trace.steps:
            self.problems.append(
                Problem(
                    where=trace.path.name,
                    message="the trace has no ProfilerStep: all of it is one step, and nothing can be compared over steps",
                    remedy="Call prof.step() after each step.",
                )
            )
        self.comm_args = trace.details(self._comm_sources().tolist())

    # ------------------------------------------------------------------ steps

    def windows(self) -> list[_Window]:
        """The steps on the device, cut where the last collective of each ends."""
        boundaries: list[int | None] = []
        steps = self.launch_step[self.comm]
        before = self.comm[steps < 0]
        for mine in self._by_step(self.comm):
            boundaries.append(int(self.end[mine].max()) if len(mine) else None)
        launched = self._by_step(self.device)
        found: list[_Window] = []
        # Communication of a step that was not recorded may still end in the trace; it ends at the same moment everywhere too.
        early = before[self.start[before] < self.hosts[0][1]] if self.hosts else before
        last = int(self.end[early].max()) if len(early) and boundaries and boundaries[0] is not None else None
        first_is_edge, since = True, 0
        for index, (number, host) in enumerate(zip(self.numbers, self.hosts, strict=True)):
            work, boundary = launched[index], boundaries[index]
            if boundary is None:
                if any(item is not None for item in boundaries) or not len(work):
                    continue  # a step without communication belongs to the next that has some
                device = (host[0], int(max(self.end[work].max(), host[1])))
                found.append(_Window(number, index, index, host, device, False))
                continue
            host = (self.hosts[since][0], host[1])
            begin = last if last is not None else min(host[0], int(self.start[work].min()))
            if boundary > begin:
                found.append(_Window(number, since, index, host, (begin, boundary), not first_is_edge))
            last, first_is_edge, since = boundary, False, index + 1
        return found

    def _by_step(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Device rows by the index of the step that launched them; those of no step are left out."""
        steps = self.launch_step[rows]
        order = np.argsort(steps, kind="stable")
        cuts = np.searchsorted(steps[order], np.arange(len(self.hosts) + 1))
        return [rows[order[a:b]] for a, b in itertools.pairwise(cuts.tolist())]

    def rank_steps(self, windows: list[_Window]) -> list[RankStep]:
        trace = self.trace
        every = intervals.union(self.start[self.device], self.end[self.device])
        work = intervals.union(self.start[self.work], self.end[self.work])
        runtime = np.flatnonzero(trace.category == t.RUNTIME)
        allocating = of_names(trace, trace.name[runtime], lambda name: bool(ALLOCATION.search(name)))
        blocking = of_names(trace, trace.name[runtime], lambda name: bool(BLOCKING.search(name)))
        allocations = runtime[allocating]
        blocked_rows = runtime[(blocking | (trace.duration_ns[runtime] > LONG_CALL_NS)) & ~allocating]
        blocked = intervals.union(self.start[blocked_rows], self.end[blocked_rows])
        inputs = self._annotations(lambda name: is_input(name, self.extra), launches_nothing=True)
        waits = self._annotations(lambda name: bool(CPU_COLLECTIVE.search(name)))
        # A host that is stuck in a call while the device has nothing to do does not wait for the device.
        blocked = intervals.common(blocked, every)
        host_free = intervals.union(
            np.concatenate((blocked[0], inputs[0], waits[0])), np.concatenate((blocked[1], inputs[1], waits[1]))
        )
        launched = self._by_step(self.work)
        starts = np.sort(self.start[allocations])
        allocations = allocations[np.argsort(self.start[allocations], kind="stable")]
        on_device = np.array([window.device for window in windows], np.int64).reshape(-1, 2)
        on_host = np.array([window.host for window in windows], np.int64).reshape(-1, 2)
        idle = _gaps_of(every, on_device)
        measured = {
            "wall": on_device[:, 1] - on_device[:, 0],
            "busy": _covered(every, on_device),
            "compute": _covered(work, on_device),
            "idle_input": _covered(intervals.common(idle, inputs), on_device),
            "idle_waiting": _covered(intervals.common(idle, waits), on_device),
            "host": on_host[:, 1] - on_host[:, 0] - _covered(host_free, on_host),
        }
        found: list[RankStep] = []
        for place, window in enumerate(windows):
            us = {name: float(values[place]) / 1e3 for name, values in measured.items()}
            mine = allocations[slice(*np.searchsorted(starts, window.host).tolist())]
            found.append(
                RankStep(
                    number=window.number,
                    whole=window.whole,
                    wall_us=us["wall"],
                    busy_us=us["busy"],
                    compute_us=us["compute"],
                    exposed_us=us["busy"] - us["compute"],
                    idle_host_us=max(0.0, us["wall"] - us["busy"] - us["idle_input"] - us["idle_waiting"]),
                    idle_input_us=us["idle_input"],
                    host_work_us=us["host"],
                    num_launches=sum(len(launched[index]) for index in range(window.first, window.last + 1)),
                    allocation_us=float(trace.duration_ns[mine].sum()) / 1e3,
                )
            )
        return found

    def _annotations(self, wanted: Callable[[str], bool], *, launches_nothing: bool = False) -> Times:
        """When the host was inside annotations or ops of some names.

        With `launches_nothing`, names under which more than a tenth of all kernels are launched are left out: an annotation
        called "data parallel step" holds the step itself.
        """
        trace = self.trace
        rows = np.flatnonzero(trace.category <= t.ANNOTATION)
        rows = rows[of_names(trace, trace.name[rows], wanted)]
        if launches_nothing and len(rows):
            launches = np.sort(self.start[trace.launcher[self.work[trace.launcher[self.work] >= 0]]])
            kept: list[NDArray[np.intp]] = []
            for code in np.unique(trace.name[rows]).tolist():
                mine = rows[trace.name[rows] == code]
                inside = np.searchsorted(launches, self.end[mine]) - np.searchsorted(launches, self.start[mine])
                if inside.sum() <= 0.1 * len(launches):
                    kept.append(mine)
            rows = np.concatenate(kept) if kept else rows[:0]
        return intervals.union(self.start[rows], self.end[rows])

    # ------------------------------------------------------------------ communication

    def _comm_sources(self) -> NDArray[np.int64]:
        """The rows whose arguments tell what a communication kernel is: itself, and the op that launched it."""
        op = self.trace.op[self.comm]
        return np.concatenate((self.comm, op[op >= 0])).astype(np.int64)

    def collectives(self) -> tuple[Collectives, tuple[Group, ...]]:
        """The communication of the steps, and its groups."""
        trace = self.trace
        groups = {group.name: group for group in self.header_groups()}
        rows = self.comm[self.launch_step[self.comm] >= 0]
        rows = rows[np.lexsort((rows, self.start[trace.launcher[rows]]))] if len(rows) else rows
        order: Counter[tuple[int, str | None]] = Counter()
        columns_: dict[str, list[Any]] = {name: [] for name in ("step", "group", "kind", "sequence", "place")}
        for row in rows.tolist():
            own, op = self.comm_args.get(row), self.comm_args.get(int(trace.op[row]))
            name = _text(_first("group_name", own, op))
            if name is not None and name not in groups:
                groups[name] = Group(name=name, ranks=_ranks(_first("group_ranks", own, op)))
            step = self.numbers[int(self.launch_step[row])]
            columns_["step"].append(step)
            columns_["group"].append(list(groups).index(name) if name is not None else -1)
            columns_["kind"].append(_text(_first("collective", own, op)) or _kind_of(trace.name_of(row)))
            columns_["sequence"].append(whole(_first("sequence", own, op)))
            columns_["place"].append(order[step, name])
            order[step, name] += 1
        found = Collectives(
            **{name: tuple(values) for name, values in columns_.items()},
            duration_us=tuple((trace.duration_ns[rows] / 1e3).tolist()),
        )
        return found, tuple(groups.values())

    def header_groups(self) -> list[Group]:
        info = self.trace.header.get("distributedInfo")
        config = info.get("pg_config") if isinstance(info, dict) else None
        return [
            Group(name=str(item["pg_name"]), ranks=_ranks(item.get("ranks")))
            for item in (config if isinstance(config, list) else [])
            if isinstance(item, dict) and item.get("pg_name") is not None
        ]

    # ------------------------------------------------------------------ plan

    def plan(self, windows: list[_Window]) -> Plan:
        """Which kernels a step launches, from as many compared steps as are cheap to read, at least two."""
        chosen = [window for window in windows if window.whole] or windows  # those that ranks are compared in
        steps = [window.last for window in chosen] or list(range(len(self.numbers)))
        rows_of: dict[int, NDArray[np.int64]] = {}
        total = 0
        # From the last: the first step after a start may still compile, tune or allocate.
        launched = self._by_step(self.work)
        for index in reversed(steps):
            mine = launched[index]
            if len(rows_of) >= 2 and total + len(mine) > MAX_PLAN_LAUNCHES:
                break
            rows_of[index] = mine
            total += len(mine)
        rows_of = {index: rows_of[index] for index in sorted(rows_of)}
        if not total:
            return Plan(signature=None)
        every = np.concatenate(list(rows_of.values()))
        ops = self.trace.op[every]
        details = self.trace.details([*every.tolist(), *np.unique(ops[ops >= 0]).tolist()])
        kernels = self._plan_kernels(rows_of, details)
        return Plan(
            signature=signature((item.name, item.grid, item.block, item.least, item.most) for item in kernels),
            kernels=kernels,
            ops=self._plan_ops(rows_of, details),
            steps=tuple(self.numbers[index] for index in rows_of),
        )

    def _plan_kernels(self, rows_of: dict[int, NDArray[np.int64]], details: dict[int, Args]) -> tuple[PlanKernel, ...]:
        counts: dict[tuple[str, str | None, str | None], list[int]] = {}
        times: dict[tuple[str, str | None, str | None], list[float]] = {}
        for place, rows in enumerate(rows_of.values()):
            durations = self.trace.duration_ns[rows].tolist()
            for row, duration in zip(rows.tolist(), durations, strict=True):
                key = self._kernel_key(row, details)
                if key not in counts:
                    counts[key], times[key] = [0] * len(rows_of), [0.0] * len(rows_of)
                counts[key][place] += 1
                times[key][place] += duration / 1e3
        return tuple(
            PlanKernel(
                name=key[0],
                grid=key[1],
                block=key[2],
                least=min(counts[key]),
                most=max(counts[key]),
                total_us=round(float(np.median(times[key])), 3),
            )
            for key in sorted(counts, key=lambda key: (key[0], key[1] or "", key[2] or ""))
        )

    def _kernel_key(self, row: int, details: dict[int, Args]) -> tuple[str, str | None, str | None]:
        args = details.get(row)
        return self.trace.name_of(row), _dims(args.grid if args else None), _dims(args.block if args else None)

    def _plan_ops(self, rows_of: dict[int, NDArray[np.int64]], details: dict[int, Args]) -> tuple[PlanOp, ...]:
        counts: dict[tuple[str, str], list[int]] = {}
        for place, rows in enumerate(rows_of.values()):
            ops = self.trace.op[rows]
            for row in np.unique(ops[ops >= 0]).tolist():
                name, args = self.trace.name_of(row), details.get(row)
                if args is None or not isinstance(args.shapes, list) or not _any_shape(args.shapes):
                    continue
                key = (name, str(args.shapes).replace(" ", ""))
                counts.setdefault(key, [0] * len(rows_of))[place] += 1
        found = [
            PlanOp(name=name, shapes=shapes[:300], least=min(n), most=max(n))
            for (name, shapes), n in sorted(counts.items())
        ]
        if len(found) > MAX_PLAN_OPS:
            self.problems.append(
                Problem(
                    where=self.trace.path.name,
                    message=f"{len(found)} distinct ops and shapes: the first {MAX_PLAN_OPS} by name are in the digest",
                )
            )
        return tuple(found[:MAX_PLAN_OPS])

    # ------------------------------------------------------------------ the whole

    def digest(self) -> Digest:
        trace = self.trace
        file = trace.path.name
        info = trace.header.get("distributedInfo")
        info = info if isinstance(info, dict) else {}
        rank, world = _natural(info.get("rank")), _natural(info.get("world_size"))
        if rank is None:
            rank = rank_in(file)
            said = f"the file's name says rank {rank}" if rank is not None else "neither does the file's name"
            self.problems.append(
                Problem(
                    where=file,
                    message=f"the trace does not say which rank it is of; {said}",
                    remedy="Initialise torch.distributed before the profiler starts, or name the files rank0.json.gz, ….",
                )
            )
        windows = self.windows()
        collectives, groups = self.collectives()
        host = HOST_IN_NAME.match(file)
        return Digest(
            file=file,
            rank=rank,
            world=world,
            host=_text(trace.header.get("hostname")) or (host["host"] if host else None),
            device=self._device_name(),
            groups=groups,
            steps=tuple(self.rank_steps(windows)),
            collectives=collectives,
            plan=self.plan(windows),
            coverage=DigestCoverage(
                num_events=len(trace),
                num_device_events=len(self.device),
                num_collectives=len(collectives.kind),
                incomplete=trace.incomplete,
            ),
            problems=tuple(self.problems),
        )

    def _device_name(self) -> str | None:
        devices = self.trace.header.get("deviceProperties")
        used = {
            place[1]
            for i in np.unique(self.trace.thread[self.device]).tolist()
            if isinstance(place := self.trace.threads[i][0], tuple)
        }
        for device in devices if isinstance(devices, list) else []:
            if isinstance(device, dict) and device.get("id") in used:
                return _text(device.get("name"))
        return None


def signature(items: Iterable[Any]) -> str:
    """A short hash of a multiset of plain values."""
    text = "\n".join(sorted(map(repr, items)))
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()[:16]


def _covered(times: Times, windows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How much of each window (a row: from, to) the union covers."""
    return intervals.covered_until(times, windows[:, 1]) - intervals.covered_until(times, windows[:, 0])


def _gaps_of(times: Times, windows: NDArray[np.int64]) -> Times:
    """The times between the first and the last window's ends in which the union has nothing."""
    if not len(windows):
        return times[0][:0], times[1][:0]
    start, end = np.append(times[0], windows.max()), np.insert(times[1], 0, windows.min())
    return end[start > end], start[start > end]


def _tells_of_communication(name: str) -> bool:
    """Whether an event's arguments say which collective ran: the kernel itself, or what launched it."""
    return name == "record_param_comms" or collective(name) is not None


def _first(field: str, *args: Args | None) -> Any:
    return next((value for item in args if item is not None and (value := getattr(item, field)) is not None), None)


def _natural(value: Any) -> int | None:
    found = whole(value)
    return found if found is not None and found >= 0 else None


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _dims(value: Any) -> str | None:
    return ",".join(map(str, value)) if isinstance(value, list) and value else None


def _any_shape(shapes: list[Any]) -> bool:
    return any(isinstance(item, list) and item for item in shapes)


def _ranks(value: Any) -> tuple[int, ...] | None:
    """The ranks of a group: a list, or text such as "[0, 1, 2]"; `None` where the text was cut ("[0, 1, ...]")."""
    if isinstance(value, str):
        if not re.fullmatch(r"\[\s*\d+(\s*,\s*\d+)*\s*\]", value):
            return None
        value = [int(number) for number in re.findall(r"\d+", value)]
    return tuple(value) if isinstance(value, list) and value and all(isinstance(item, int) for item in value) else None


def _kind_of(name: str) -> str:
    """What kind of collective a kernel's name says: "AllReduce" of ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)."""
    return str((collective(name) or {}).get("operation") or name.split("(")[0])
