"""What observing a script costs: `fxscope run script.py` beside `python script.py`, in fresh processes that alternate.

    python benchmarks/observing.py [--layers 12] [--repeats 3] [--iterations 3000,100000,1000000] [--only cold,warm,loops]
                                   [--json OUT.json]

cold    a transformer of 12 layers is compiled with an empty cache and called: at most 1.1 times the wall time
warm    the same once more, each way with the cache that it left: at most 1.5 times
loops   an eager training loop of so many iterations (a tiny model, so that a million take minutes): after the observed
        steps an iteration takes at most 1.3 times as long (the median of the last half), and the process at most 300 MB
        more memory than the plain one, however long the loop

A Markdown table goes to stdout; the exit code is 1 where a bound does not hold. Beside wall times stand CPU seconds, of the
process and of the compilers that it starts: on a busy machine they are the ones to trust. The loop's own clock is read in
the script; memory is the largest resident set of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

LIMITS = {"cold": 1.1, "warm": 1.5, "after": 1.3, "memory": 300e6}
WAYS = ("plain", "observed")
BLOCK = 100  # iterations between two readings of the loop's clock
HEADINGS = ("what", "plain", "observed", "ratio or difference", "at most", "holds")

COMPILE = """
import sys
import torch
from torch import nn
torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
model = torch.compile(nn.TransformerEncoder(layer, int(sys.argv[1]), enable_nested_tensor=False))
x = torch.randn(2, 32, 64)
with torch.no_grad():
    for _ in range(5):
        model(x)
"""
LOOP = """
import json, sys, time
import torch
from torch import nn
count, block, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(4, 8), torch.randn(4, 1)
times = []
for index in range(count):
    if index % block == 0:
        times.append(time.perf_counter())
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
times.append(time.perf_counter())
json.dump([b - a for a, b in zip(times, times[1:])], open(path, "w"))
"""


class Spent(NamedTuple):
    """What one process took."""

    wall: float  # seconds
    cpu: float
    memory: float  # bytes, the largest resident set of the process itself
    blocks: list[float]  # seconds of each BLOCK iterations


def run_once(how: str, source: str, words: list[str], cache: str | None = None) -> Spent:
    """Run a script in a fresh process, plain or observed."""
    with tempfile.TemporaryDirectory() as folder:
        # Beside its cache: a script that lies elsewhere is another one, with lines of its own to explain.
        script, times = Path(cache or folder, "script.py"), Path(folder, "times.json")
        script.write_text(source)
        before = ["-m", "fxscope", "run", "-o", str(Path(folder, "out.fxscope"))] if how == "observed" else []
        command = [sys.executable, *before, str(script), *words, str(times)]
        environment = {**os.environ, "KINETO_LOG_LEVEL": "6"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # torch's wheel brings its bytecode; fxscope's is kept as well
        if cache is not None:
            environment["TORCHINDUCTOR_CACHE_DIR"] = cache
        with Path(folder, "said").open("w+") as said:
            began = time.perf_counter()
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=said)
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                raise SystemExit(said.read())
        blocks = json.loads(times.read_text()) if times.exists() else []
        return Spent(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024.0, blocks)


def compiles(arguments: argparse.Namespace, say: Any) -> dict[str, dict[str, list[Spent]]]:
    """Return the times of cold and warm compiles; each way has a cache of its own."""
    found: dict[str, dict[str, list[Spent]]] = {name: {how: [] for how in WAYS} for name in ("cold", "warm")}
    for _ in range(arguments.repeats):
        for how in WAYS:
            with tempfile.TemporaryDirectory() as cache:
                for name in found:
                    spent = run_once(how, COMPILE, [str(arguments.layers)], cache)
                    found[name][how].append(spent)
                    say(f"{name} {how}: {spent.wall:.1f} s, {spent.cpu:.1f} CPU s")
    return found


def loops(count: int, repeats: int, say: Any) -> dict[str, list[Spent]]:
    """Return what loops of so many iterations took."""
    found: dict[str, list[Spent]] = {how: [] for how in WAYS}
    for _ in range(repeats):
        for how in WAYS:
            spent = run_once(how, LOOP, [str(count), str(BLOCK)])
            found[how].append(spent)
            say(f"{count:,} iterations, {how}: {spent.wall:.1f} s, {spent.memory / 1e6:.0f} MB")
    return found


def after(spent: Spent) -> float:
    """Return the median time of an iteration in the last half of a loop, in seconds."""
    return statistics.median(spent.blocks[len(spent.blocks) // 2 :]) / BLOCK


def median_of(items: list[Spent], read: Any) -> float:
    """Return the median over the repeats."""
    return statistics.median(read(item) for item in items)


def rows_of_compiles(found: dict[str, dict[str, list[Spent]]], layers: int) -> list[dict[str, Any]]:
    """Return the rows of the table: wall time, held to its bound, and CPU seconds."""
    rows: list[dict[str, Any]] = []
    for name, ways in found.items():
        for what, read, limit in (("wall", lambda s: s.wall, LIMITS[name]), ("CPU", lambda s: s.cpu, None)):
            a, b = (median_of(ways[how], read) for how in WAYS)
            rows.append(row(f"{layers} layers, {name}, {what}", a, b, b / a, limit, "s"))
    return rows


def rows_of_loops(count: int, ways: dict[str, list[Spent]]) -> list[dict[str, Any]]:
    """Return the rows of a loop."""
    a, b = (median_of(ways[how], lambda s: s.wall) for how in WAYS)
    rows = [row(f"{count:,} iterations, whole process", a, b, b / a, None, "s")]
    a, b = (median_of(ways[how], after) * 1e6 for how in WAYS)
    rows.append(row(f"{count:,} iterations, one of the last half", a, b, b / a, LIMITS["after"], "µs"))
    a, b = (median_of(ways[how], lambda s: s.memory) / 1e6 for how in WAYS)
    rows.append(row(f"{count:,} iterations, memory", a, b, b - a, LIMITS["memory"] / 1e6, "MB"))
    return rows


def row(what: str, plain: float, observed: float, figure: float, limit: float | None, unit: str) -> dict[str, Any]:
    """Return one line of the table; `figure` is held to the limit."""
    holds = None if limit is None else figure <= limit
    return dict(zip(("what", "plain", "observed", "figure", "limit", "holds", "unit"),
                    (what, plain, observed, figure, limit, holds, unit), strict=True))  # fmt: off


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as Markdown."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---|--:|--:|--:|--:|---|"]
    for item in rows:
        unit = item["unit"]
        figure = f"+{item['figure']:.0f} MB" if unit == "MB" else f"{item['figure']:.2f}"
        limit = "" if item["limit"] is None else f"{item['limit']:g}" + (" MB" if unit == "MB" else "")
        holds = {None: "", True: "yes", False: "no"}[item["holds"]]
        times = f"{item['plain']:.1f} {unit} | {item['observed']:.1f} {unit}"
        lines.append(f"| {item['what']} | {times} | {figure} | {limit} | {holds} |")
    return "\n".join(lines)


def main() -> int:
    """Run what was asked for, print the table, and hold the bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3, help="of the compiles; loops of 100,000 and more run once")
    parser.add_argument("--iterations", default="3000,100000,1000000")
    parser.add_argument(
        "--only", default="cold,warm,loops", help="some of cold, warm, loops (cold and warm go together)"
    )
    parser.add_argument("--json", metavar="OUT.json", help="write every measurement as well")
    arguments = parser.parse_args()

    chosen = set(arguments.only.split(","))
    counts = [int(word) for word in arguments.iterations.split(",")] if "loops" in chosen else []
    num_runs = 4 * arguments.repeats if chosen & {"cold", "warm"} else 0
    num_runs += sum(len(WAYS) * (arguments.repeats if count < 100_000 else 1) for count in counts)
    began, done = time.perf_counter(), 0

    def say(text: str) -> None:
        nonlocal done
        done += 1
        elapsed = time.perf_counter() - began
        print(f"[{done}/{num_runs}, {elapsed:.0f} s] {text}", file=sys.stderr, flush=True)

    run_once("observed", "import torch\ntorch.ones(3).sin()\n", [])  # bytecode and the disk's cache
    rows: list[dict[str, Any]] = []
    every: dict[str, Any] = {}
    if chosen & {"cold", "warm"}:
        found = compiles(arguments, say)
        rows += rows_of_compiles(found, arguments.layers)
        every |= found
    for count in counts:
        ways = loops(count, arguments.repeats if count < 100_000 else 1, say)
        rows += rows_of_loops(count, ways)
        every[f"{count} iterations"] = ways
    print(table(rows))
    if arguments.json:
        kept = {"rows": rows, "measured": every, "python": sys.version.split()[0], "cpus": os.cpu_count()}
        Path(arguments.json).write_text(json.dumps(kept, indent=1, default=str) + "\n")
    return 0 if all(item["holds"] is not False for item in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
