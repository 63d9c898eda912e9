"""fxscope beside TraceLens, HolisticTraceAnalysis and tlparse on their own samples, from folders that are given.

    python benchmarks/peers.py --tracelens DIR --hta DIR --tlparse DIR [--shown DIR] [--docs docs/benchmarks.md]

Nothing is fetched. Of TraceLens' reference tables the busy time, the kernel table and the op table are compared; of every trace
the share of device time with an owner (an op or a graph's node), CPU seconds and peak memory; of tlparse's logs how many open,
and how much of what tlparse shows of each is in the recording. What it shows is made with `tlparse LOG -o SHOWN/PATH`, where
PATH is the log's path in its repository's `tests/inputs`.
"""

from __future__ import annotations

import argparse
import ast
import csv
import html
import json
import re
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fxscope.model import Recording

BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"
ONE = """
import json, resource, sys
import numpy as np
from fxscope.columns import column
from fxscope.readers.join import read_trace
from fxscope.readers.trace import intervals
recording = read_trace(sys.argv[1], capture=sys.argv[2] or None)
launches, summary = recording.launches, recording.summary
total = sum(item.duration_ns for item in launches) or 1
start, duration = (np.array(column(launches, name), np.int64) for name in ("start_ns", "duration_ns"))
kernels = {}
for item in launches:
    if item.category == "kernel":
        count, time = kernels.get(item.name, (0, 0.0))
        kernels[item.name] = (count + 1, time + item.duration_ns / 1e3)
print(json.dumps({
    "busy": np.subtract(*intervals.union(start, start + duration)[::-1]).sum() / 1e6 if launches else None,
    "owner": sum(item.duration_ns for item in launches if item.op or item.cuda_graph) / total if launches else None,
    "op": sum(item.duration_ns for item in launches if item.op) / total if launches else None,
    "ops": {op.name: op.num_launches for op in summary.ops if op.num_launches} if summary else {},
    "kernels": kernels,
    "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "seconds": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
}))
"""


def read(path: Path, capture: Path | None = None) -> dict[str, Any]:
    """What fxscope makes of one trace, in a process of its own; `error` where it cannot."""
    command = [sys.executable, "-c", ONE, str(path), str(capture or "")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    lines = done.stderr.strip().splitlines()
    return json.loads(done.stdout) if done.returncode == 0 else {"error": lines[-1] if lines else "?"}


def rows_of(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    csv.field_size_limit(1 << 24)
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def reference_of(trace: Path) -> Path | None:
    """TraceLens' tables of a trace: `NAME_perf_report_csvs` beside it, or `perf_csvs`."""
    stem = trace.name.removesuffix(".gz").removesuffix(".json")
    found = (trace.parent / f"{stem}_perf_report_csvs", trace.parent / "perf_csvs")
    return next((folder for folder in found if (folder / "gpu_timeline.csv").is_file()), None)


def busy_of(folder: Path) -> float | None:
    """Milliseconds of the reference in which the device computed, copied or communicated."""
    times = {row["type"]: float(row["time ms"]) for row in rows_of(folder / "gpu_timeline.csv") if row.get("time ms")}
    return times.get("busy_time")


def agreement(found: dict[str, Any], folder: Path) -> str:
    """How many lines of the reference's kernel table have the same count here."""
    rows = rows_of(folder / "kernel_summary.csv")
    names = next((key for key in ("Kernel name", "name", "kernel_name") if rows and key in rows[0]), None)
    counts = next((key for key in rows[0] if "count" in key.lower()), None) if rows else None
    if names is None or counts is None:
        return "–"
    theirs: dict[str, float] = {}
    for row in rows:
        theirs[row[names]] = theirs.get(row[names], 0.0) + float(row[counts] or 0)
    same = sum(found["kernels"].get(name, (0,))[0] == count for name, count in theirs.items())
    return f"{same}/{len(theirs)}"


def captured(trace: Path) -> Path | None:
    return next(iter(sorted((trace.parent / "capture_traces").glob("*.json.gz"))), None)


def trace_table(folders: list[Path]) -> list[str]:
    lines = [
        "| trace | busy ms | TraceLens | kernels alike | owner | op, with capture | CPU s | MB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for folder in folders:
        for path in sorted(folder.rglob("*.json.gz")):
            if "capture_traces" in path.parts or path.stat().st_size < 1024:
                continue
            found = read(path)
            name = str(path.relative_to(folder))
            if "error" in found:
                lines.append(f"| {name} | {found['error'].replace(str(path), path.name)[:80]} | | | | | | |")
                print(lines[-1], flush=True)
                continue
            reference, capture = reference_of(path), captured(path)
            theirs = busy_of(reference) if reference else None
            op = read(path, capture).get("op") if capture else None
            cells = [
                f"{found['busy']:.3f}" if found["busy"] else "–",
                f"{theirs:.3f}" if theirs is not None else "–",
                agreement(found, reference) if reference else "–",
                f"{found['owner']:.1%}" if found["owner"] is not None else "–",
                f"{op:.1%}" if op is not None else "–",
                f"{found['seconds']:.2f}",
                f"{found['mb']:.0f}",
            ]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return lines


# Files of tlparse's output that are graphs; those before a pass are printed again after it.
GRAPHS = re.compile(
    r"dynamo_output_graph|exported_program|aot_\w+_graph_\d|(?:after|inductor)_post_grad_graph|before_pre_grad"
)
RESULT = re.compile(r'^ +(\w+): "[^"]+" = (?!L_)', re.MULTILINE)  # of a line of a printed graph; Dynamo renames inputs
KERNEL = re.compile(r"(?:extern_kernels|torch\.ops|aten)\.(?!_?inductor\._)|cpp_fused|.*\.run$")


def called(code: str) -> list[str]:
    """The functions that the wrapper in a file of generated code calls to run kernels."""
    functions = [
        item for item in ast.walk(ast.parse(code)) if isinstance(item, ast.FunctionDef) and item.name == "call"
    ]
    calls = (ast.unparse(item.func) for item in ast.walk(functions[0]) if isinstance(item, ast.Call))
    return [name.removesuffix(".run").removeprefix("torch.ops.") for name in calls if KERNEL.match(name)]


def shown_of(folder: Path, recording: Recording) -> dict[str, tuple[int, int]]:
    """(How many the recording has, how many tlparse's output of the log shows) of each kind of thing."""
    names = [{node.name for node in graph.nodes} for graph in recording.graphs]
    calls = Counter(call.kernel.removeprefix("torch.ops.") for call in recording.calls)
    codes = {re.sub(r"\s+", "", item.text) for item in recording.sources}
    guards = {guard for item in recording.compiles for guard in item.guards}
    failed = "\n".join(item.recompile_reason or "" for item in recording.compiles)
    caches = {item.cache for item in recording.compiles} | {
        "bypass" for item in recording.compiles if item.cache_bypass
    }
    found: dict[str, list[bool]] = {}
    for path in sorted(folder.glob("*_*_*_*/*")):
        text = html.unescape(re.sub("<[^>]*>", "", path.read_text()))
        if GRAPHS.match(path.name):
            results = set(RESULT.findall(text))
            found.setdefault("graphs", []).append(any(results <= known for known in names))
        elif path.name.startswith("inductor_output_code"):
            found.setdefault("files of code", []).append(re.sub(r"\s+", "", text) in codes)
            times = Counter(called(text))
            found.setdefault("kernel calls", []).extend(calls[name] >= times[name] for name in times.elements())
        elif path.name.startswith("dynamo_cpp_guards"):
            lines = re.findall(r"\+- ([A-Z_]+: .*\S)", text)
            found.setdefault("guards", []).extend(line in guards for line in lines)
        elif path.name.startswith("recompile_reasons"):
            found.setdefault("guards that failed", []).extend(line in failed for line in json.loads(text))
        elif match := re.match(r"(?:fx_graph|aotautograd)_cache_(hit|miss|bypass)_\d", path.name):
            found.setdefault("results of caches", []).append(match[1] in caches)
        elif path.name.startswith("dynamo_error"):
            found.setdefault("errors", []).append(any(item.failure for item in recording.compiles))
    return {kind: (sum(each), len(each)) for kind, each in found.items()}


def log_lines(folder: Path, shown: Path | None) -> list[str]:
    from fxscope import read_trace
    from fxscope.errors import FxscopeError

    logs = [path for path in sorted(folder.rglob("*")) if path.suffix in (".log", ".txt") and path.stat().st_size]
    opened, calls, failed = 0, 0, list[str]()
    have, of = Counter[str](), Counter[str]()
    for path in logs:
        try:
            recording = read_trace(path)
        except FxscopeError as error:
            failed.append(f"{path.name}: {error}")
        else:
            opened, calls = opened + 1, calls + len(recording.calls)
            for kind, (mine, theirs) in shown_of(shown / path.relative_to(folder), recording).items() if shown else ():
                have[kind] += mine
                of[kind] += theirs
    times = resource.getrusage(resource.RUSAGE_SELF)
    text = f"tlparse's logs: {opened} of {len(logs)} open, {calls} kernel calls, {times.ru_utime:.1f} CPU s for all."
    kinds = ", ".join(f"{have[kind]} of {count} {kind}" for kind, count in of.items())
    return [text + (f" Of what tlparse shows of them the recordings have {kinds}." if kinds else ""), *failed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracelens", type=Path, help="its repository, or tests/traces of it")
    parser.add_argument("--hta", type=Path, help="its repository, or tests/data of it")
    parser.add_argument("--tlparse", type=Path, help="its repository, or tests of it")
    parser.add_argument("--shown", type=Path, help="the output of tlparse for each log, at the log's path")
    parser.add_argument("--docs", type=Path, help="the Markdown file whose table is replaced")
    arguments = parser.parse_args()
    folders = [folder for folder in (arguments.tracelens, arguments.hta) if folder]
    lines = trace_table(folders) if folders else []
    if arguments.tlparse:
        lines += ["", *log_lines(arguments.tlparse, arguments.shown)]
    text = "\n".join(lines)
    print(text if not folders else "", *lines[-2:], sep="\n")
    if arguments.docs:
        page = arguments.docs.read_text()
        head, tail = page.split(BEGIN)[0], page.split(END)[-1]
        arguments.docs.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}")


if __name__ == "__main__":
    main()
