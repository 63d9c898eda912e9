"""Fleets: whether the right rank is named with the right cause, what a digest and a thousand ranks cost, and what peers find.

    python benchmarks/fleet.py accuracy [--jobs 64]                precision and recall over generated jobs
    python benchmarks/fleet.py digest [--events 1000000]           CPU and memory of one digest
    python benchmarks/fleet.py scale [--ranks 1000]                time and peak memory of a job, for 250, 500 and all ranks
    python benchmarks/fleet.py peers FOLDER… --hta PYTHON --tracelens PYTHON     the same folders read by three tools

The generated jobs are replays of real traces (`tools/make_fleet.py`); whether a fault costs the job anything is measured
there, by the same replay without it. One that costs less than 3 % of a step must not be named as late, one that costs more
than 8 % must be, with its cause; what lies between, or is hidden behind a worse fault, may be named or not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from make_fleet import Fault, make  # noqa: E402

from fxscope.fleet import findings  # noqa: E402
from fxscope.fleet.digest import digest  # noqa: E402

DATA = ROOT / "tests" / "data" / "fleet"
MUST, MUST_NOT = 0.08, 0.03
PLAN = {"device_work", "shapes", "other_kernels"}  # these show in the plan, whether they cost anything or not
CAUSES = {"slow_host": "host"}
ANNOTATIONS = (
    None,
    "dataloader",
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    "fetch_batch",
    "load batch",
)


def plant(rng: random.Random, ranks: int, step_us: float, with_other: bool) -> list[Fault]:
    """Return none, one or two random faults on different ranks."""
    count = rng.choices((0, 1, 2), (25, 55, 20))[0]
    kinds = [
        "host",
        "slow_host",
        "input",
        "slower_kernels",
        "device_work",
        "shapes",
        "memory",
        *(["other_kernels"] if with_other else []),
    ]
    found: list[Fault] = []
    for rank in rng.sample(range(ranks), min(count, max(0, (ranks - 1) // 2))):
        kind = rng.choice(kinds)
        size = {
            "slow_host": rng.uniform(1.15, 1.8),
            "slower_kernels": rng.uniform(1.2, 4),
            "device_work": rng.randint(20, 90),
            "shapes": rng.choice((0.5, 2, 3, 4)),
        }.get(kind, rng.uniform(0.1, 0.6) * step_us)
        found.append(Fault(kind, rank, size))
    return found


def one(seed: int) -> dict[str, Any]:
    """Make a job, examine it, and say what was right."""
    rng = random.Random(f"fleet {seed}")
    job = rng.choice(("ddp_even", "fsdp_even"))
    ranks, steps = rng.randint(4, 16), rng.randint(3, 9)
    faults = plant(rng, ranks, 7200 if job == "ddp_even" else 18000, job == "ddp_even")
    bad = {fault.rank for fault in faults}
    spare = [rank for rank in range(ranks) if rank not in bad]
    absent = tuple(rng.sample(spare, 1)) if ranks > 5 and rng.random() < 0.15 else ()
    damaged = (
        tuple(rank for rank in rng.sample(spare, 1) if rank not in absent) if ranks > 5 and rng.random() < 0.15 else ()
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        truth = make(
            DATA / job,
            out,
            ranks=ranks,
            steps=steps,
            faults=faults,
            other=DATA / "ddp_other_plan" / "rank3.json.gz",
            seed=seed,
            noise=rng.uniform(0.003, 0.03),
            scale=rng.choice((1.0, 1.0, 3.0, 6.0)) if job == "ddp_even" else rng.choice((1.0, 6.0, 15.0)),
            absent=absent,
            damaged=damaged,
            shapes=rng.random() < 0.7,
            annotation=rng.choice(ANNOTATIONS),
        )
        fleet = findings.examine([digest(path) for path in sorted(out.glob("rank*.json.gz"))])
    return {"seed": seed, "truth": truth, **judged(truth, fleet)}


def judged(truth: dict[str, Any], fleet: Any) -> dict[str, Any]:
    """Return what was named rightly, wrongly, and missed: (rank, cause)."""
    step = truth["even_step_us"]
    named: dict[int, str | None] = {}
    for item in fleet.findings:
        for rank in item.ranks:
            named.setdefault(rank, item.cause)
    right: list[Any] = []
    missed: list[Any] = []
    wrong: list[Any] = []
    expected: dict[int, str] = {}
    causes = {f["rank"]: (CAUSES.get(f["kind"], f["kind"]),) for f in truth["faults"]}
    open_: set[int] = set()
    for fault in truth["faults"]:
        alone, marginal, cause = (
            fault["cost_us"] / step,
            fault["marginal_us"] / step,
            CAUSES.get(fault["kind"], fault["kind"]),
        )
        if min(alone, marginal) > MUST or fault["kind"] in PLAN:
            expected[fault["rank"]] = cause
        elif (
            max(alone, marginal) > MUST_NOT
        ):  # small, or hidden behind a worse one: to name it is right, not to is no miss
            open_.add(fault["rank"])
    for rank, cause in expected.items():
        (right if named.get(rank) == cause else missed).append((rank, cause, named.get(rank, "–")))
    for rank, cause in named.items():
        if expected.get(rank) != cause and not (rank in open_ and cause in causes.get(rank, ())):
            wrong.append((rank, cause))
    first = fleet.findings[0] if fleet.findings else None
    dearest = max(
        (f for f in truth["faults"] if f["marginal_us"] / step > MUST), key=lambda f: f["cost_us"], default=None
    )
    return {
        "right": right,
        "missed": missed,
        "wrong": wrong,
        "first": None if dearest is None else bool(first and first.ranks == (dearest["rank"],)),
    }


def accuracy(arguments: argparse.Namespace) -> None:
    """Print precision and recall over generated jobs."""
    seeds = range(arguments.seed, arguments.seed + arguments.jobs)
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(one, seeds))
    for item in results:
        if item["missed"] or item["wrong"] or item["first"] is False:
            faults = [
                (
                    f["kind"],
                    f["rank"],
                    round(f["size"], 2),
                    f"{f['cost_us'] / item['truth']['even_step_us']:.0%}",
                    f"{f['marginal_us'] / item['truth']['even_step_us']:.0%}",
                )
                for f in item["truth"]["faults"]
            ]
            where = f"{item['truth']['source']} {item['truth']['ranks']}×{item['truth']['steps']}"
            print(f"  seed {item['seed']} {where} planted {faults}")
            print(f"    missed {item['missed']} wrong {item['wrong']} first {item['first']}")
    right, missed, wrong = (sum(len(item[key]) for item in results) for key in ("right", "missed", "wrong"))
    even = [item for item in results if not item["truth"]["faults"]]
    firsts = [item["first"] for item in results if item["first"] is not None]
    print(
        f"{len(results)} jobs, {right + missed} faults to name, with cause: {right} named, {missed} missed, {wrong} wrong"
    )
    print(f"precision {right / max(1, right + wrong):.3f}, recall {right / max(1, right + missed):.3f}")
    quiet = sum(not item["wrong"] for item in even)
    print(
        f"the most expensive one first: {sum(firsts)} of {len(firsts)}; even jobs with nobody named: {quiet} of {len(even)}"
    )


def measured(command: list[str], **options: Any) -> tuple[float, float, float]:
    """Return (wall s, CPU s, peak MB) of a process and its children."""
    begin = time.perf_counter()
    process = subprocess.Popen(["/usr/bin/env", *command], stdout=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command[:6])} failed")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def big_job(folder: Path, ranks: int, steps: int) -> None:
    """Write a job of many ranks: four replayed ranks over and over, each with its own rank in the header."""
    with tempfile.TemporaryDirectory() as source:
        make(DATA / "ddp_even", Path(source), ranks=4, steps=steps, faults=[Fault("input", 1, 3000.0)], seed=1)
        bodies = []
        for path in sorted(Path(source).glob("rank*.json.gz")):
            trace = json.loads(gzip.decompress(path.read_bytes()))
            events = json.dumps(trace.pop("traceEvents"), separators=(",", ":"))
            bodies.append((trace, gzip.compress(f',"traceEvents":{events}}}'.encode(), 1)))
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        # One late rank in the whole job: the faulty template is rank 1's only.
        header, body = bodies[1 if rank == 1 else (0, 2, 3)[rank % 3]]
        info = {
            **header["distributedInfo"],
            "rank": rank,
            "world_size": ranks,
            "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": ranks}],
        }
        head = json.dumps({**header, "distributedInfo": info}, separators=(",", ":"))[:-1]
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(head.encode()) + body)


def scale(arguments: argparse.Namespace) -> None:
    """Print time and peak memory of a job of a quarter, half and all of the ranks, on two processes."""
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        big_job(folder / "job", arguments.ranks, arguments.steps)
        size = sum(path.stat().st_size for path in (folder / "job").iterdir())
        sample = digest(folder / "job" / "rank0.json.gz")
        print(f"{arguments.ranks} ranks, {sample.num_events:,} events each, {size / 1e9:.2f} GB of .json.gz")
        for count in arguments.parts or (arguments.ranks // 4, arguments.ranks // 2, arguments.ranks):
            part = folder / f"job{count}"
            part.mkdir()
            for rank in range(count):
                (part / f"rank{rank}.json.gz").hardlink_to(folder / "job" / f"rank{rank}.json.gz")
            out = folder / f"out{count}.json"
            command = [
                sys.executable,
                "-m",
                "fxscope",
                "fleet",
                str(part),
                "--jobs",
                "2",
                "--memory",
                "2G",
                "-o",
                str(out),
            ]
            begin = time.perf_counter()
            process = subprocess.Popen(
                command, cwd=ROOT, stderr=sys.stderr if arguments.progress else subprocess.DEVNULL
            )
            peak = watched(process)
            wall = time.perf_counter() - begin
            fleet = json.loads(out.read_text())
            first = fleet["findings"][0] if fleet["findings"] else None
            named = (first["ranks"], first["cause"]) if first else None
            cpu = process.cpu_s  # type: ignore[attr-defined]
            print(
                f"{count}: {wall:.0f} s, {cpu:.0f} CPU s ({cpu / count:.3f} a rank), peak {peak:.0f} MB in all; first: {named}",
                flush=True,
            )
            shutil.rmtree(part)


def watched(process: Any) -> float:
    """Return the peak memory, in MB, of a process and its children together; its CPU seconds become `process.cpu_s`."""
    peak = 0.0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    while process.poll() is None:
        total = 0
        try:
            children: list[str] = []
            # A worker is started by a thread: it is that thread's child.
            for task in Path(f"/proc/{process.pid}/task").iterdir():
                children += (task / "children").read_text().split()
            for pid in {str(process.pid), *children}:
                found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
                total += int(found[1]) if found else 0
        except OSError:  # it ended meanwhile
            continue
        peak = max(peak, total / 1024)
        time.sleep(0.5)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    process.cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return peak


def big_trace(folder: Path, num_events: int) -> int:
    """Write rank0.json with about so many events, and return how many it has."""
    each = digest(DATA / "ddp_even" / "rank0.json.gz")
    steps = max(3, round(num_events / (each.num_events / max(1, len(each.steps) - 1))))
    make(DATA / "ddp_even", folder, ranks=2, steps=steps, seed=1)
    path = folder / "rank0.json"
    path.write_bytes(gzip.decompress((folder / "rank0.json.gz").read_bytes()))
    return digest(path).num_events


DIGEST = "import sys\nfrom fxscope.fleet.digest import digest\nif len(sys.argv) > 1: digest(sys.argv[1])"


def one_digest(arguments: argparse.Namespace) -> None:
    """Print CPU and memory of one digest, and of reading the trace alone."""
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        path = folder / "rank0.json"
        # In a process of its own: a child's peak begins at what its parent holds.
        with ProcessPoolExecutor(1) as pool:
            num_events = pool.submit(big_trace, folder, arguments.events).result()
        print(f"{num_events:,} events, {path.stat().st_size / 1e6:.0f} MB")
        reading = DIGEST.replace(
            "from fxscope.fleet.digest import digest", "from fxscope.readers.trace import read as digest"
        )
        for words, code in (("digest", DIGEST), ("of this, trace.read", reading)):
            runs = sorted(measured([sys.executable, "-c", code, str(path)], cwd=ROOT) for _ in range(3))
            empty = min(measured([sys.executable, "-c", code], cwd=ROOT)[1] for _ in range(3))
            cpu = sorted(run[1] for run in runs)
            print(
                f"{words}: {cpu[0] - empty:.2f} to {cpu[-1] - empty:.2f} CPU s beside its imports, peak {runs[0][2]:.0f} MB"
            )


# What each tool says of a folder (`files`), in words; imports are not counted, children are.
TOOLS = {
    "fxscope": """
from fxscope.fleet import findings
from fxscope.fleet.digest import digest
def say():
    fleet = findings.examine([digest(path) for path in files])
    return [fleet.verdict]
""",
    "HTA": """
from hta.trace_analysis import TraceAnalysis
def say():
    job = TraceAnalysis(trace_files=dict(enumerate(files)))
    try:
        found = [f"stragglers: {job.get_potential_stragglers(num_candidates=1)}"]
    except Exception as error:
        found = [f"straggler search fails: {type(error).__name__}: {str(error)[:80]}"]
    table = job.get_temporal_breakdown(visualize=False)
    job.get_comm_comp_overlap(visualize=False)
    return [*found, f"compute % by rank: {[round(float(x), 1) for x in table['compute_time_pctg']]}"]
""",
    "TraceLens": """
from TraceLens.NcclAnalyser.nccl_analyser import NcclAnalyser
def say():
    first = NcclAnalyser(files, len(files)).build_df_straggler_summary().iloc[0]
    return [f"arrives last most: rank {int(first['rank'])}, at {first['pct_arrived_last']} %"]
""",
}
AROUND = """
import glob, os, re, sys, warnings, logging
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
files = sorted(glob.glob(sys.argv[1] + "/rank*.json.gz"))
{tool}
before = sum(os.times()[:4])
said = say()
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
print(f"SAID {{sum(os.times()[:4]) - before:.2f}} CPU s, peak {{peak:.0f}} MB: {{'; '.join(said)}}")
"""


def peers(arguments: argparse.Namespace) -> None:
    """Print what each tool finds in each folder, with its time and memory."""
    pythons = {"fxscope": sys.executable, "HTA": arguments.hta, "TraceLens": arguments.tracelens}
    for folder in arguments.folders:
        for name, python in pythons.items():
            if python is None:
                continue
            code = AROUND.format(tool=TOOLS[name])
            command = [python, "-c", code, str(Path(folder).resolve())]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
            said = [line[5:] for line in done.stdout.splitlines() if line.startswith("SAID ")]
            failed = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
            print(f"{Path(folder).name}, {name}: {said[0] if said else f'failed: {failed}'}", flush=True)


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("accuracy")
    verb.add_argument("--jobs", type=int, default=64)
    verb.add_argument("--seed", type=int, default=0)
    verb.set_defaults(run=accuracy)
    verb = verbs.add_parser("digest")
    verb.add_argument("--events", type=int, default=1_000_000)
    verb.add_argument("--folder", help="where the generated traces go for the time")
    verb.set_defaults(run=one_digest)
    verb = verbs.add_parser("scale")
    verb.add_argument("--ranks", type=int, default=1000)
    verb.add_argument("--parts", type=int, nargs="*", help="how many of them to examine (a quarter, half, all)")
    verb.add_argument("--steps", type=int, default=86, help="of each trace; 86 give some 100,000 events")
    verb.add_argument("--folder", help="where the generated traces go for the time")
    verb.add_argument("--progress", action="store_true", help="show how far each is")
    verb.set_defaults(run=scale)
    verb = verbs.add_parser("peers")
    verb.add_argument("folders", nargs="+", metavar="FOLDER")
    verb.add_argument("--hta", metavar="PYTHON", help="a Python that has traceinsight (HTA)")
    verb.add_argument("--tracelens", metavar="PYTHON", help="a Python that has TraceLens")
    verb.set_defaults(run=peers)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
