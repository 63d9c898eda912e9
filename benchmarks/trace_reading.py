"""What a user types about a trace, beside two peers asked the same: top ops and kernels, busy, idle and communication.

    python benchmarks/trace_reading.py TRACE… [--traceinsight PYTHON] [--tracelens PYTHON] [--runs 3] [--json FILE]

`--traceinsight` is an interpreter with `traceinsight` (HolisticTraceAnalysis's name today), `--tracelens` one with AMD's
TraceLens. Each measurement is a whole process, imports and all, as a user pays for it: CPU seconds (user and system, of
all its threads) and peak memory as the kernel accounts them. A trace has one step of `ProfilerStep#N` or more.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FXSCOPE = [sys.executable, "-m", "fxscope"]
OURS = {
    "fxscope view --tables": [*FXSCOPE, "view", "{}", "--tables"],
    "fxscope view --step 0": [*FXSCOPE, "view", "{}", "--step", "0"],
    "fxscope view": [*FXSCOPE, "view", "{}"],
}
TRACEINSIGHT = """
import logging, os, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
path = sys.argv[1]
analysis = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path))
print(analysis.get_temporal_breakdown(visualize=False))
print(analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=10))
print(analysis.get_comm_comp_overlap(visualize=False))
"""
TRACELENS = """
import sys
from TraceLens import TreePerfAnalyzer
analyzer = TreePerfAnalyzer.from_file(sys.argv[1])
print(analyzer.get_df_gpu_timeline())
print(analyzer.get_df_kernel_launchers_summary(analyzer.get_df_kernel_launchers()).head(10))
"""


def main() -> None:
    """Measure each trace and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--traceinsight", metavar="PYTHON")
    parser.add_argument("--tracelens", metavar="PYTHON")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    commands = dict(OURS)
    if arguments.traceinsight:
        commands["traceinsight"] = [arguments.traceinsight, "-c", TRACEINSIGHT, "{}"]
    if arguments.tracelens:
        commands["TraceLens"] = [arguments.tracelens, "-c", TRACELENS, "{}"]
    report = []
    for trace in arguments.traces:
        print(f"{trace.name} ({trace.stat().st_size / 1e6:.0f} MB)", flush=True)
        lines: dict[str, dict[str, float]] = {}
        for name, command in commands.items():
            lines[name] = measure(command, trace, arguments.runs if name in OURS else 1)
            print_line(name, lines)
        report.append({"trace": trace.name, "megabytes": trace.stat().st_size / 1e6, "commands": lines})
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


def measure(command: list[str], trace: Path, runs: int) -> dict[str, float]:
    """Return the median CPU seconds and peak megabytes of a process, over some runs."""
    results = []
    # What is installed is compiled: no process pays for that
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(runs):
        # A folder of its own: peers write their indices beside the trace, and read them the second time
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
            copy = Path(folder) / trace.name
            copy.symlink_to(trace.resolve())
            process = subprocess.Popen(
                [str(copy) if part == "{}" else part for part in command],
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment,
            )
            _, status, usage = os.wait4(process.pid, 0)
            if status:
                errors.seek(0)
                tail = errors.read().decode(errors="replace")[-2000:]
                sys.exit(f"{command[:3]} failed on {trace}: exit status {os.waitstatus_to_exitcode(status)}\n{tail}")
            results.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000))
    return {
        "cpu_s": statistics.median(cpu for cpu, _ in results),
        "peak_mb": statistics.median(peak for _, peak in results),
    }


def print_line(name: str, lines: dict[str, dict[str, float]]) -> None:
    """Print one command's line; the ratio is to the tables, which answer the same question as the peers."""
    line, tables = lines[name], next(iter(lines.values()))
    ratio = f"{line['cpu_s'] / tables['cpu_s']:6.1f} × the CPU, {line['peak_mb'] / tables['peak_mb']:5.1f} × the memory"
    print(f"  {name:34} {line['cpu_s']:8.2f} s CPU  {line['peak_mb']:8.0f} MB   {ratio}", flush=True)


if __name__ == "__main__":
    main()
