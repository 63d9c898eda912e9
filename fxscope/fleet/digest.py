"""One rank's trace → its digest: a pure function of the file (and the compile log beside it), from columns."""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fxscope.fleet.model import Digest, Plan, PlanKernel, PlanOp, RankStep
from fxscope.kernel_names.vendors import collective
from fxscope.model import Problem
from fxscope.readers.trace import columns, intervals, table as t
from fxscope.readers.trace.columns import Trace, of_names
from fxscope.readers.trace.intervals import Times, covered
from fxscope.readers.trace.kept import kept_steps, steps_of_rows
from fxscope.readers.trace.reader import Args, made_of
from fxscope.readers.trace.summary import BLOCKING, busy_and_launched, by_step
from fxscope.readers.trace.table import whole

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
SENDING = ("send", "recv", "sendrecv")


def digest(path: str | Path) -> Digest:
    """Return the digest of one rank's trace. Raises TraceError as `columns.read` does; damage is a problem in the digest."""
    return _Reading(columns.read(path)).digest()


def unreadable(file: str, message: str) -> Digest:
    """The digest of a rank whose trace gave nothing: it still counts as one."""
    return Digest(file=file, rank=rank_in(file), problems=(Problem(where=file, message=message),))


def rank_in(file: str) -> int | None:
    found = RANK_IN_NAME.search(Path(file).name)
    return int(found[1]) if found else None


def _may_send(name: str) -> bool:
    """Return whether a kernel may send to one rank; an all-to-all has a kernel of the same name."""
    found = collective(name)
    return found is not None and (found.get("operation") or "Generic") in ("SendRecv", "Generic")


def is_input(name: str) -> bool:
    """Return whether an annotation's name says that data is loaded inside."""
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

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        info = trace.header.get("distributedInfo")
        self.info: dict[str, Any] = info if isinstance(info, dict) else {}
        self.problems = list(trace.problems)
        self.start, self.end = trace.start_ns, trace.start_ns + trace.duration_ns
        self.device = np.flatnonzero(trace.category >= t.KERNEL)
        comm = of_names(trace, trace.name[self.device], collective)
        self.comm, self.work = self.device[comm], self.device[~comm]
        trace.steps = [step for step in trace.steps if STEP.search(step.name)]  # others have no number that ranks share
        steps = kept_steps(trace) if len(trace) else ()
        self.numbers = [int(found[1]) if (found := STEP.search(step.name)) else step.index for step in steps]
        self.hosts = [(step.start_ns, step.start_ns + step.duration_ns) for step in steps]
        # Index of the step that launched a device row; -1 where the trace does not hold the launch.
        launched = (trace.launcher >= 0) | (trace.op >= 0)
        self.launch_step = np.where(launched, steps_of_rows(trace, steps), -1)
        if not len(self.device):
            self.note("the trace holds no device event: its steps cannot be compared", "Profile the device, too.")
        if steps and not trace.steps:
            message = "the trace has no ProfilerStep: all of it is one step, and nothing can be compared over steps"
            self.note(message, "Call prof.step() after each step.")

    def note(self, message: str, remedy: str | None = None) -> None:
        self.problems.append(Problem(where=self.trace.path.name, message=message, remedy=remedy))

    # ------------------------------------------------------------------ steps

    def windows(self) -> list[_Window]:
        """The steps on the device, cut where the last collective of each ends; the hosts' steps where there is none."""
        collectives, launched = self._by_step(self.comm), self._by_step(self.device)
        if not any(map(len, collectives)):
            return [
                _Window(number, index, index, host, (host[0], max(host[1], int(self.end[rows].max()))), False)
                for index, (number, host, rows) in enumerate(zip(self.numbers, self.hosts, launched, strict=True))
                if len(rows)
            ]
        # Communication of a step that was not recorded may still end in the trace; it ends at the same moment everywhere too.
        early = self.comm[(self.launch_step[self.comm] < 0) & (self.start[self.comm] < self.hosts[0][1])]
        last = int(self.end[early].max()) if len(early) and len(collectives[0]) else None
        found: list[_Window] = []
        since = 0
        for index, rows in enumerate(collectives):
            if not len(rows):
                continue  # a step without communication belongs to the next that has some
            boundary = int(self.end[rows].max())
            host = self.hosts[since][0], self.hosts[index][1]
            begin = last if last is not None else min(host[0], int(self.start[launched[index]].min()))
            if boundary > begin:
                found.append(_Window(self.numbers[index], since, index, host, (begin, boundary), since > 0))
            last, since = boundary, index + 1
        return found

    def _by_step(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Device rows by the index of the step that launched them; those of no step are left out."""
        return [rows[mine] for mine in by_step(self.launch_step[rows], range(len(self.hosts)))]

    def rank_steps(self, windows: list[_Window]) -> list[RankStep]:
        trace = self.trace
        every, reached = busy_and_launched(trace, self.device)
        work = intervals.union(self.start[self.work], self.end[self.work])
        runtime = np.flatnonzero(trace.category == t.RUNTIME)
        names = trace.name[runtime]
        allocating, blocking = (of_names(trace, names, pattern.match) for pattern in (ALLOCATION, BLOCKING))
        blocked_rows = runtime[(blocking | (trace.duration_ns[runtime] > LONG_CALL_NS)) & ~allocating]
        # A host that is stuck in a call while the device has nothing to do does not wait for the device.
        blocked = intervals.common(intervals.union(self.start[blocked_rows], self.end[blocked_rows]), reached)
        inputs = self._annotations(is_input, launches_nothing=True)
        waits = self._annotations(CPU_COLLECTIVE.search)
        free = [np.concatenate(ends) for ends in zip(blocked, inputs, waits, strict=True)]
        on_device = np.array([window.device for window in windows], np.int64).reshape(-1, 2)
        on_host = np.array([window.host for window in windows], np.int64).reshape(-1, 2)
        idle = _gaps_of(reached, on_device)
        wall, busy, compute = np.diff(on_device)[:, 0], covered(every, on_device), covered(work, on_device)
        idle_input, idle_waiting = (covered(intervals.common(idle, times), on_device) for times in (inputs, waits))
        allocations = runtime[allocating]
        allocations = allocations[np.argsort(self.start[allocations], kind="stable")]
        spent = np.concatenate(([0], np.cumsum(trace.duration_ns[allocations])))
        columns_ = {
            "wall_us": wall,
            "compute_us": compute,
            "exposed_us": busy - compute,
            "idle_host_us": np.maximum(0, covered(idle, on_device) - idle_input - idle_waiting),
            "idle_queued_us": covered(reached, on_device) - busy,
            "idle_input_us": idle_input,
            "host_work_us": np.diff(on_host)[:, 0] - covered(intervals.union(free[0], free[1]), on_host),
            "allocation_us": np.diff(spent[np.searchsorted(self.start[allocations], on_host)])[:, 0],
        }
        launched = [len(rows) for rows in self._by_step(self.work)]
        return [
            RankStep(
                number=window.number,
                whole=window.whole,
                num_launches=sum(launched[window.first : window.last + 1]),
                **{name: float(values[place]) / 1e3 for name, values in columns_.items()},
            )
            for place, window in enumerate(windows)
        ]

    def _annotations(self, wanted: Callable[[str], object], *, launches_nothing: bool = False) -> Times:
        """Return when the host was inside annotations or ops of some names; `launches_nothing`: that launch few kernels."""
        trace = self.trace
        rows = np.flatnonzero(trace.category <= t.ANNOTATION)
        rows = rows[of_names(trace, trace.name[rows], wanted)]
        if launches_nothing and len(rows):
            launches = np.sort(self.start[trace.launcher[self.work[trace.launcher[self.work] >= 0]]])
            kept: list[NDArray[np.intp]] = []
            for code in np.unique(trace.name[rows]).tolist():
                mine = rows[trace.name[rows] == code]
                inside = np.searchsorted(launches, self.end[mine]) - np.searchsorted(launches, self.start[mine])
                if inside.sum() <= 0.1 * len(launches):  # one called "data parallel step" holds the step itself
                    kept.append(mine)
            rows = np.concatenate(kept) if kept else rows[:0]
        return intervals.union(self.start[rows], self.end[rows])

    def sends(self) -> bool:
        """Return whether the rank sends to single ranks, by what the op or the kernel says; by its name where neither does."""
        names = of_names(self.trace, self.trace.name[self.comm], _may_send)
        rows = self.comm[names & (self.launch_step[self.comm] >= 0)]
        ops = self.trace.op[rows]
        details = self.trace.details([*rows.tolist(), *np.unique(ops[ops >= 0]).tolist()])
        for row, op in zip(rows.tolist(), ops.tolist(), strict=True):
            told = (args.collective for item in (row, op) if (args := details.get(item)) is not None)
            operation = (collective(self.trace.name_of(row)) or {}).get("operation")
            if str(next((kind for kind in told if kind is not None), operation)).strip("_").lower() in SENDING:
                return True
        return False

    # ------------------------------------------------------------------ plan

    def plan(self, windows: list[_Window]) -> Plan:
        """Return which kernels a step launches, from as many compared steps as are cheap to read, at least two."""
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
        found: dict[tuple[str, str | None, str | None], NDArray[np.float64]] = {}  # launches and µs by step
        for place, rows in enumerate(rows_of.values()):
            for row, duration in zip(rows.tolist(), self.trace.duration_ns[rows].tolist(), strict=True):
                args = details.get(row)
                grid, block = (_dims(args.grid), _dims(args.block)) if args else (None, None)
                key = (self.trace.name_of(row), grid, block)
                found.setdefault(key, np.zeros((2, len(rows_of))))[:, place] += 1, duration / 1e3
        return tuple(
            PlanKernel(
                name=key[0],
                grid=key[1],
                block=key[2],
                least=int(counts.min()),
                most=int(counts.max()),
                total_us=round(float(np.median(times)), 3),
            )
            for key, (counts, times) in sorted(found.items(), key=lambda item: [part or "" for part in item[0]])
        )

    def _plan_ops(self, rows_of: dict[int, NDArray[np.int64]], details: dict[int, Args]) -> tuple[PlanOp, ...]:
        counts: dict[tuple[str, str], list[int]] = {}
        for place, rows in enumerate(rows_of.values()):
            ops = self.trace.op[rows]
            for row in np.unique(ops[ops >= 0]).tolist():
                if shapes := made_of(args.shapes, _shapes_text) if (args := details.get(row)) else "":
                    key = (self.trace.name_of(row), shapes)
                    counts.setdefault(key, [0] * len(rows_of))[place] += 1
        if len(counts) > MAX_PLAN_OPS:
            self.note(f"{len(counts)} distinct ops and shapes: the first {MAX_PLAN_OPS} by name are in the digest")
        return tuple(
            PlanOp(name=name, shapes=shapes[:300], least=min(n), most=max(n))
            for (name, shapes), n in sorted(counts.items())[:MAX_PLAN_OPS]
        )

    # ------------------------------------------------------------------ the whole

    def digest(self) -> Digest:
        trace = self.trace
        file = trace.path.name
        rank, world = _natural(self.info.get("rank")), _natural(self.info.get("world_size"))
        if rank is None:
            rank = rank_in(file)
            said = f"the file's name says rank {rank}" if rank is not None else "neither does the file's name"
            self.note(
                f"the trace does not say which rank it is of; {said}",
                "Initialise torch.distributed before the profiler starts, or name the files rank0.json.gz, ….",
            )
        windows = self.windows()
        host = HOST_IN_NAME.match(file)
        return Digest(
            file=file,
            rank=rank,
            world=world,
            host=_text(trace.header.get("hostname")) or (host["host"] if host else None),
            steps=tuple(self.rank_steps(windows)),
            plan=self.plan(windows),
            sends=self.sends(),
            num_events=len(trace),
            incomplete=trace.incomplete,
            problems=tuple(self.problems),
        )


def signature(items: Iterable[Any]) -> str:
    """A short hash of a multiset of plain values."""
    text = "\n".join(sorted(map(repr, items)))
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()[:16]


def _gaps_of(times: Times, windows: NDArray[np.int64]) -> Times:
    """The times between the first and the last window's ends in which the union has nothing."""
    if not len(windows):
        return times[0][:0], times[1][:0]
    start, end = np.append(times[0], windows.max()), np.insert(times[1], 0, windows.min())
    return end[start > end], start[start > end]


def _natural(value: Any) -> int | None:
    found = whole(value)
    return found if found is not None and found >= 0 else None


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _shapes_text(shapes: Any) -> str:
    """The shapes of an op's inputs without spaces; "" where it takes no tensor."""
    has_tensor = isinstance(shapes, list) and any(isinstance(item, list) and item for item in shapes)
    return str(shapes).replace(" ", "") if has_tensor else ""


def _dims(value: Any) -> str | None:
    return ",".join(map(str, value)) if isinstance(value, list) and value else None
