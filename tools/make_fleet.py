"""Make a job of any number of ranks and steps out of real traces, with faults planted, by replaying it.

    python tools/make_fleet.py FOLDER-OF-REAL-RANKS OUT --ranks 8 --steps 6 --fault host:3:2000 --seed 1

A step of each real rank is taken apart: what its host did when, which kernel each launch gave, on which stream, and what
that waited for. The replay then runs the step again, several times, on every rank at once. A kernel starts when it has been
launched, its stream is free and what it depends on has ended; a collective ends when its last rank has arrived and the data
has been moved; a host that waits for the device goes on when the device has got there. So the consequences of a fault (who
waits where, whose launches now run ahead) are those of the machine, not of the fault's name. Whether a fault costs the job
anything is measured as well: the same replay without it (`cost_us`).
"""

from __future__ import annotations

import argparse
import bisect
import copy
import gzip
import json
import random
import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Generator

LAUNCH_US = 4.0  # from the launch call to the kernel, at least
BLOCKING = re.compile(r"Synchronize")
COMMUNICATION = re.compile("nccl", re.IGNORECASE)
FAULTS = ("host", "slow_host", "input", "slower_kernels", "device_work", "shapes", "other_kernels", "memory")


@dataclass
class Fault:
    """One thing wrong with one rank; `size` is µs a step, or a factor (slow_host, slower_kernels, shapes)."""

    kind: str
    rank: int
    size: float


@dataclass
class Kernel:
    """A device event of the step: times in µs of the real trace."""

    event: dict[str, Any]
    launch: float
    start: float
    duration: float
    stream: Any
    is_comm: bool
    after: int | None = None  # index of the kernel on another stream that it waits for


@dataclass
class Step:
    """One step of a real rank."""

    begin: float
    end: float
    host: list[dict[str, Any]]
    kernels: list[Kernel]
    syncs: list[tuple[float, float, int | None]]  # start, end, index of the kernel that it waited for
    header: dict[str, Any]


@dataclass
class Replayed:
    """What the replay gives for one rank."""

    starts: list[list[float]] = field(default_factory=list)  # by step and kernel
    ends: list[list[float]] = field(default_factory=list)
    breaks: list[tuple[float, float]] = field(
        default_factory=list
    )  # host time in the unrolled trace, shift from there on


def load(path: Path, which: int) -> Step:
    """Return the `which`-th step of a real trace."""
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X" and "dur" in event]
    steps = sorted(
        (e for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"),
        key=lambda e: e["ts"],
    )
    begin = steps[which]["ts"]
    end = steps[which + 1]["ts"] if which + 1 < len(steps) else begin + steps[which]["dur"]
    categories = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")
    host = [e for e in events if e.get("cat") in categories and begin <= e["ts"] < end]
    launches = {e["args"]["correlation"]: e["ts"] for e in host if "correlation" in e.get("args", {})}
    kernels: list[Kernel] = []
    for event in events:
        launch = launches.get(event.get("args", {}).get("correlation"))
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and launch is not None:
            comm = bool(COMMUNICATION.search(event["name"])) and event["cat"] == "kernel"
            kernels.append(Kernel(event, launch, event["ts"], event["dur"], event["args"].get("stream"), comm))
    kernels.sort(key=lambda k: (k.launch, k.start))
    syncs: list[tuple[float, float, int | None]] = []
    for event in host:
        if event["cat"].startswith("cuda") and BLOCKING.search(event["name"]) and event["dur"] > 5:
            a, b = event["ts"], event["ts"] + event["dur"]
            ended = [
                (k.start + k.duration, i)
                for i, k in enumerate(kernels)
                if k.launch < a and k.start + k.duration <= b + 3
            ]
            syncs.append((a, b, max(ended)[1] if ended else None))
    header = {key: value for key, value in trace.items() if key not in ("traceEvents", "traceName")}
    return Step(begin, end, host, kernels, sorted(syncs), header)


def tie(steps: list[Step]) -> None:
    """Fill `after`: a collective waits for work launched before it; work for a collective where some rank shows it."""
    waits: set[tuple[int, int]] = set()
    same = {len(step.kernels) for step in steps}
    for step in steps:
        free: dict[Any, float] = {}
        for i, kernel in enumerate(step.kernels):
            earlier = [
                j
                for j in range(i)
                if step.kernels[j].stream != kernel.stream and _end(step.kernels[j]) <= kernel.start + 1
            ]
            if kernel.is_comm:
                earlier = [j for j in earlier if not step.kernels[j].is_comm]
                kernel.after = max(earlier, key=lambda j: _end(step.kernels[j]), default=None)
            else:
                comm = [j for j in earlier if step.kernels[j].is_comm]
                last = max(comm, key=lambda j: _end(step.kernels[j]), default=None)
                ready = max(free.get(kernel.stream, 0.0), kernel.launch + LAUNCH_US)
                if last is not None and kernel.start - ready > 10 and kernel.start - _end(step.kernels[last]) < 15:
                    kernel.after = last
                    waits.add((i, last))
            free[kernel.stream] = max(free.get(kernel.stream, 0.0), _end(kernel))
    if len(same) == 1:
        for step in steps:
            for i, last in waits:
                step.kernels[i].after = last


def _end(kernel: Kernel) -> float:
    return kernel.start + kernel.duration


# ---------------------------------------------------------------------- faults, planted in a rank's own step


def planted(step: Step, fault: Fault, other: Step | None) -> Step:
    """Return the step with what changes its shape: other kernels, more kernels, other shapes. Delays are the replay's."""
    if fault.kind == "other_kernels":
        assert other is not None, "no source with another plan"
        return copy.deepcopy(other)
    if fault.kind == "shapes":
        return _other_shapes(copy.deepcopy(step), fault.size)
    if fault.kind == "device_work":
        return _more_work(copy.deepcopy(step), int(fault.size))
    return step


def _other_shapes(step: Step, factor: float) -> Step:
    """Return the step on another batch: other leading sizes before the optimizer, longer kernels in wider grids."""
    optimizer = min((e["ts"] for e in step.host if e["name"].startswith("Optimizer.step")), default=step.end)
    for event in step.host:
        dims = event.get("args", {}).get("Input Dims")
        if dims and event["ts"] < optimizer and event["name"] != "record_param_comms":
            event["args"]["Input Dims"] = [
                [int(d[0] * factor), *d[1:]] if isinstance(d, list) and d and isinstance(d[0], int) and d[0] > 1 else d
                for d in dims
            ]
    for kernel in step.kernels:
        if kernel.is_comm or kernel.launch >= optimizer:
            continue
        kernel.duration *= factor
        if kernel.event["cat"] == "kernel":
            grid = kernel.event["args"]["grid"]
            kernel.event["args"]["grid"] = [max(1, int(grid[0] * factor)), *grid[1:]]
            if kernel.event["name"].startswith("nvjet"):  # libraries choose by shape
                kernel.event["name"] = kernel.event["name"].replace("64x", "128x", 1)
    return step


def _more_work(step: Step, count: int) -> Step:
    """Return the step with a GEMM of it run `count` times more, launched one after the other."""
    gemms = [k for k in step.kernels if k.event["cat"] == "kernel" and re.search("gemm|nvjet|cutlass", k.event["name"])]
    model = max(gemms, key=lambda k: k.duration)
    launcher = next(e for e in step.host if e.get("args", {}).get("correlation") == model.event["args"]["correlation"])
    around = [
        e
        for e in step.host
        if e["cat"] == "cpu_op"
        and e["ts"] <= launcher["ts"]
        and launcher["ts"] < e["ts"] + e["dur"]
        and e["tid"] == launcher["tid"]
    ]
    op = max(around, key=lambda e: e["ts"])
    each, at = op["dur"] + 2.0, op["ts"] + op["dur"] + 1.0
    room = each * count
    for event in step.host:
        if event["ts"] >= at:
            event["ts"] += room
        elif event["ts"] + event["dur"] > at:
            event["dur"] += room
    for kernel in step.kernels:
        if kernel.launch >= at:
            kernel.launch, kernel.start = kernel.launch + room, kernel.start + room
    step.syncs = [(a + room if a >= at else a, b + room if b >= at else b, i) for a, b, i in step.syncs]
    step.end += room
    for n in range(count):
        shift = at + n * each - op["ts"]
        number = 900_000_000 + n
        for source in (op, launcher):
            event = copy.deepcopy(source)
            event["ts"] += shift
            for key in ("External id", "correlation"):
                if key in event["args"]:
                    event["args"][key] = number
            step.host.append(event)
        event = copy.deepcopy(model.event)
        event["args"] |= {"correlation": number, "External id": number}
        step.kernels.append(
            Kernel(
                event, launcher["ts"] + shift, launcher["ts"] + shift + LAUNCH_US, model.duration, model.stream, False
            )
        )
    order = sorted(range(len(step.kernels)), key=lambda i: (step.kernels[i].launch, step.kernels[i].start))
    place = {old: new for new, old in enumerate(order)}
    step.kernels = [step.kernels[i] for i in order]
    for kernel in step.kernels:
        kernel.after = place[kernel.after] if kernel.after is not None else None
    step.syncs = [(a, b, place[i] if i is not None else None) for a, b, i in step.syncs]
    return step


def _said(step: Step, shapes: bool, annotation: str | None) -> None:
    """Write the step's events as another program and another profiler's settings would."""
    for event in step.host:
        if annotation and event["name"] == "data" and event["cat"] == "user_annotation":
            event["name"] = annotation
        if not shapes:
            event.get("args", {}).pop("Input Dims", None)


# ---------------------------------------------------------------------- the replay


def delays(step: Step, faults: list[Fault], number: int) -> list[tuple[float, float]]:
    """Return (host time in the step, µs) at which a rank's host stops."""
    found: list[tuple[float, float]] = []
    data = next((e for e in step.host if e["cat"] == "user_annotation" and e["name"] == "data"), None)
    inside = data["ts"] + data["dur"] / 2 if data else step.begin
    outside = data["ts"] + data["dur"] + 1 if data else step.begin
    for fault in faults:
        if fault.kind in ("host", "memory"):
            found.append((outside, fault.size))
        elif fault.kind == "input":
            found.append((inside, fault.size))
    return found


def replay(
    ranks: list[Step], num_steps: int, faults: list[Fault], *, seed: int, noise: float, scale: float
) -> list[Replayed]:
    """Run every rank's step again, `num_steps` times, together.

    Args:
        ranks: the step of each rank.
        num_steps: how often.
        faults: the delays and factors to apply (the shape of steps has been changed already).
        seed: of the noise.
        noise: standard deviation of kernel durations and of the host's speed, by rank and by step.
        scale: factor on all device work: above 1 the device is the limit rather than the host.
    """
    transfers = [
        min(k.duration for k in column)
        for column in zip(*([k for k in s.kernels if k.is_comm] for s in ranks), strict=True)
    ]
    results = [Replayed() for _ in ranks]
    running: dict[int, Generator[float, float, None]] = {}
    for rank, step in enumerate(ranks):
        mine = [fault for fault in faults if fault.rank == rank]
        running[rank] = _rank(step, num_steps, mine, results[rank], random.Random(f"{seed}/{rank}"), noise, scale)
    arrivals = {rank: next(one, None) for rank, one in running.items()}
    n = 0
    while any(value is not None for value in arrivals.values()):
        end = max(value for value in arrivals.values() if value is not None) + transfers[n % len(transfers)]
        n += 1
        for rank, one in running.items():
            try:
                arrivals[rank] = one.send(end)
            except StopIteration:
                arrivals[rank] = None
    return results


def _rank(
    step: Step, num_steps: int, faults: list[Fault], result: Replayed, rng: random.Random, noise: float, scale: float
) -> Generator[float, float, None]:
    """Replay one rank; yields when it arrives at a collective and is sent when that ends."""
    length = step.end - step.begin
    own_speed = 1 + max(-0.5, rng.gauss(0, noise / 2))
    for fault in faults:
        if fault.kind == "slow_host":
            own_speed *= fault.size
    shift, free = 0.0, dict.fromkeys((k.stream for k in step.kernels), 0.0)
    begin = step.begin
    for number in range(num_steps):
        speed = own_speed * (1 + max(-0.5, rng.gauss(0, noise)))
        slower = scale
        for fault in faults:
            slower *= fault.size if fault.kind == "slower_kernels" else 1.0
        starts, ends = [0.0] * len(step.kernels), [0.0] * len(step.kernels)
        items = [(k.launch, 1, i, 0.0) for i, k in enumerate(step.kernels)]
        items += [(a, 2, -1 if i is None else i, b) for a, b, i in step.syncs]
        items += [(at, 0, 0, us) for at, us in delays(step, faults, number)]
        # The host's clock of this step: begins where the last ended, runs at its own speed, is stopped by `shift`.
        last_at = step.begin
        for at, what, index, value in sorted(items):
            slip = (at - last_at) * (speed - 1)
            if slip:
                shift += slip
                result.breaks.append((begin + at - step.begin, shift))
                last_at = at
            now = begin + (at - step.begin) + shift
            if what == 0:
                shift += value
                result.breaks.append((begin + at - step.begin, shift))
            elif what == 1:
                kernel = step.kernels[index]
                ready = max(now + LAUNCH_US, free[kernel.stream])
                if kernel.after is not None:
                    ready = max(ready, ends[kernel.after])
                # Another process has the device: what was launched waits.
                ready += sum(fault.size for fault in faults if fault.kind == "queued" and index == 0)
                starts[index] = ready
                if kernel.is_comm:
                    ends[index] = yield ready
                else:
                    ends[index] = ready + kernel.duration * slower * max(0.2, 1 + rng.gauss(0, noise))
                free[kernel.stream] = ends[index]
            else:
                waited_for = ends[index] + 5.0 if index >= 0 else now
                took = max(waited_for, now + min(8.0, value - at))
                shift = took - (begin + value - step.begin)
                result.breaks.append((begin + value - step.begin, shift))
                last_at = value
        slip = (step.end - last_at) * (speed - 1)
        shift += slip
        begin += length
        result.breaks.append((begin, shift))
        result.starts.append(starts)
        result.ends.append(ends)


def length_of(results: list[Replayed]) -> float:
    """Return the mean step in µs, from the end of the first to the end of the last, on the device."""
    ends = [max(step) for step in results[0].ends]
    return (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else ends[0]


# ---------------------------------------------------------------------- writing


def write(
    path: Path,
    rank: int,
    world: int,
    step: Step,
    replayed: Replayed,
    faults: list[Fault],
    *,
    clock_us: float,
    first: int,
    level: int,
) -> None:
    """Write one rank's trace, as torch.profiler would have. Clocks of ranks are not each other's."""
    at = [place for place, _ in replayed.breaks]
    shifts = [shift for _, shift in replayed.breaks]
    length = step.end - step.begin

    def moved(moment: float) -> float:
        index = bisect.bisect_right(at, moment) - 1
        return moment + (shifts[index] if index >= 0 else 0.0)

    events: list[dict[str, Any]] = []
    ids = 1_000_000_000
    for number in range(len(replayed.starts)):
        offset = number * length
        for event in step.host:
            start, end = event["ts"] + offset, event["ts"] + offset + event["dur"]
            new = {
                **event,
                "ts": round(moved(start) + clock_us, 3),
                "dur": round(max(0.001, moved(end) - moved(start)), 3),
            }
            if event["name"].startswith("ProfilerStep#"):
                new["name"] = f"ProfilerStep#{first + number}"
            events.append(_numbered(new, number, ids, rank))
        for kernel, start, end in zip(step.kernels, replayed.starts[number], replayed.ends[number], strict=True):
            new = {**kernel.event, "ts": round(start + clock_us, 3), "dur": round(max(0.5, end - start), 3)}
            new["args"] = {**new["args"], "device": rank % 8}
            if kernel.is_comm and "Process Group Ranks" in new["args"]:
                new["args"]["Process Group Ranks"] = str(list(range(world)))
                new["args"]["Group size"] = world
            events.append(_numbered(new, number, ids, rank))
        for fault in faults:
            if fault.kind == "memory":
                place, us = delays(step, [fault], number)[0]
                main = next(e for e in step.host if e["name"].startswith("ProfilerStep#"))
                start = moved(place + offset) + clock_us - us
                events += [
                    {
                        "ph": "X",
                        "cat": "cuda_runtime",
                        "name": "cudaMalloc",
                        "pid": main["pid"],
                        "tid": main["tid"],
                        "ts": round(start + n * us / 4, 3),
                        "dur": round(us / 4, 3),
                        "args": {"cbid": 20},
                    }
                    for n in range(4)
                ]
    header = copy.deepcopy(step.header)
    info = header.get("distributedInfo") or {"backend": "nccl"}
    info |= {"rank": rank, "world_size": world}
    for group in info.get("pg_config", []):
        group |= {"ranks": list(range(world)), "pg_size": world}
    header["distributedInfo"] = info
    header["traceEvents"] = events
    path.write_bytes(gzip.compress(msgspec.json.encode(header), compresslevel=level, mtime=0))


def _numbered(event: dict[str, Any], number: int, ids: int, rank: int) -> dict[str, Any]:
    """Return the event with ids of its own step, on its own rank."""
    args = event.get("args")
    if args and number:
        args = dict(args)
        for key in ("correlation", "External id", "Sequence number"):
            if isinstance(args.get(key), int) and args[key] > 0:
                args[key] += ids * number
        event = {**event, "args": args}
    return event


def make(
    source: Path,
    out: Path,
    *,
    ranks: int = 8,
    steps: int = 6,
    faults: list[Fault] | None = None,
    other: Path | None = None,
    seed: int = 0,
    noise: float = 0.01,
    scale: float = 1.0,
    absent: tuple[int, ...] = (),
    damaged: tuple[int, ...] = (),
    shapes: bool = True,
    annotation: str | None = None,
    level: int = 1,
) -> dict[str, Any]:
    """Write a job's traces and its truth.json, and return the truth.

    Args:
        source: a folder of real traces, one a rank, of an even job.
        out: where the traces go.
        ranks: how many.
        steps: how many.
        faults: what is wrong.
        other: a trace with another plan, for `other_kernels`.
        seed: of everything random.
        noise: see `replay`.
        scale: see `replay`.
        absent: ranks whose traces are missing.
        damaged: ranks whose traces are cut off.
        shapes: whether the shapes of ops are in the traces.
        annotation: what the program calls its data annotation, where not "data".
        level: of compression.

    `cost_us` in the truth is what all faults together cost a step; each fault's is what it
    costs by itself, and `marginal_us` what the job would gain if only that one were mended.
    """
    faults = faults or []
    rng = random.Random(seed)
    files = sorted(source.glob("*.json.gz"))
    templates = [load(path, 1) for path in files]
    tie(templates)
    if (
        len({len(step.kernels) for step in templates}) == 1
    ):  # an even job is even: no real rank's own differences, scaled up
        for column in zip(*(step.kernels for step in templates), strict=True):
            middle = statistics.median(kernel.duration for kernel in column)
            for kernel in column:
                kernel.duration = kernel.duration if kernel.is_comm else middle
    another = None
    if other is not None:
        another = load(other, 1)
        tie([another])
    plain = [templates[rank % len(templates)] for rank in range(ranks)]
    faulty = list(plain)
    for fault in faults:
        faulty[fault.rank] = planted(faulty[fault.rank], fault, another)
    without = replay(plain, steps, [], seed=seed, noise=noise, scale=scale)
    results = replay(faulty, steps, faults, seed=seed, noise=noise, scale=scale)
    costs: list[tuple[float, float]] = []
    for fault in faults:
        rest = [plain[rank] if rank == fault.rank else faulty[rank] for rank in range(ranks)]
        others = [one for one in faults if one is not fault]
        marginal = length_of(results) - length_of(replay(rest, steps, others, seed=seed, noise=noise, scale=scale))
        alone = [faulty[rank] if rank == fault.rank else plain[rank] for rank in range(ranks)]
        with_it = replay(alone, steps, [fault], seed=seed, noise=noise, scale=scale)
        costs.append((length_of(with_it) - length_of(without), marginal))
    for step in {id(step): step for step in (*plain, *faulty)}.values():
        _said(step, shapes, annotation)
    out.mkdir(parents=True, exist_ok=True)
    first = rng.randrange(2, 500)
    for rank in range(ranks):
        if rank in absent:
            continue
        path = out / f"rank{rank}.json.gz"
        mine = [fault for fault in faults if fault.rank == rank]
        write(
            path,
            rank,
            ranks,
            faulty[rank],
            results[rank],
            mine,
            clock_us=rng.uniform(-1e9, 1e9),
            first=first,
            level=level,
        )
        if rank in damaged:
            data = path.read_bytes()
            path.write_bytes(data[: len(data) // 3])
    truth = {
        "source": source.name,
        "ranks": ranks,
        "steps": steps,
        "faults": [
            {**vars(fault), "cost_us": alone, "marginal_us": marginal}
            for fault, (alone, marginal) in zip(faults, costs, strict=True)
        ],
        "step_us": length_of(results),
        "even_step_us": length_of(without),
        "cost_us": length_of(results) - length_of(without),
        "absent": list(absent),
        "damaged": list(damaged),
    }
    (out / "truth.json").write_text(json.dumps(truth, indent=1))
    return truth


def main() -> None:
    """Make one job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a folder of real traces, one a rank")
    parser.add_argument("out", type=Path)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument(
        "--fault", action="append", default=[], metavar="KIND:RANK:SIZE", help=f"KIND is one of {', '.join(FAULTS)}"
    )
    parser.add_argument("--other", type=Path, help="a trace with another plan, for other_kernels")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--scale", type=float, default=1.0, help="factor on all device work")
    arguments = parser.parse_args()
    faults = [Fault(kind, int(rank), float(size)) for kind, rank, size in (text.split(":") for text in arguments.fault)]
    truth = make(
        arguments.source,
        arguments.out,
        ranks=arguments.ranks,
        steps=arguments.steps,
        faults=faults,
        other=arguments.other,
        seed=arguments.seed,
        noise=arguments.noise,
        scale=arguments.scale,
    )
    print(json.dumps(truth, indent=1))


if __name__ == "__main__":
    main()
