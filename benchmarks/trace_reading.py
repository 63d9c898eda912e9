"""How fast and how small a trace is read, beside HolisticTraceAnalysis on the same file in one run.

    python benchmarks/trace_reading.py TRACE… [--peer PYTHON] [--runs 3] [--json FILE]

PYTHON is an interpreter that has `HolisticTraceAnalysis` and pandas 2 (`pip install "pandas<3" HolisticTraceAnalysis`);
without it only fxscope is measured. Each measurement is a process of its own: CPU seconds (user and system, of all its
threads) and peak memory as the kernel accounts them, less what the imports alone cost. fxscope's figure includes
nesting, launch ↔ kernel ↔ op links and steps; HTA's is `load_traces` (its call graph would come on top).
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

OURS = "from fxscope import trace\nimport sys\nif len(sys.argv) > 1: print(len(trace.read(sys.argv[1])))"
# HTA reads a folder with one trace of each rank.
PEER = """
import sys, logging, os
logging.disable(logging.CRITICAL)
from hta.common.trace import Trace
if len(sys.argv) > 1:
    t = Trace(trace_dir=os.path.dirname(sys.argv[1]), trace_files={0: sys.argv[1]})
    t.parse_traces(use_multiprocessing=False)
    print(len(t.get_trace(0)))
"""


def main() -> None:
    """Measure each trace and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--peer", help="a Python that has HolisticTraceAnalysis")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    setups = {
        "fxscope": (sys.executable, OURS, {}),
        "fxscope, no native scanner": (sys.executable, OURS, {"FXSCOPE_NO_NATIVE": "1"}),
    }
    if arguments.peer:
        setups["HTA"] = (arguments.peer, PEER, {})
    empty = {name: measure(*setup, None, arguments.runs) for name, setup in setups.items()}
    report = []
    for trace in arguments.traces:
        lines = {name: measure(*setup, trace, 1 if name == "HTA" else arguments.runs) for name, setup in setups.items()}
        for name, line in lines.items():
            line["cpu_s"] = max(0.0, line["cpu_s"] - empty[name]["cpu_s"])
        report.append({"trace": trace.name, "megabytes": trace.stat().st_size / 1e6, "setups": lines})
        print_lines(trace, lines)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


def measure(python: str, code: str, environment: dict[str, str], trace: Path | None, runs: int) -> dict[str, float]:
    """Return the median CPU seconds and peak megabytes of a process, over some runs."""
    results = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            command = [python, "-c", code]
            if trace is not None:
                copy = Path(folder) / trace.name
                copy.symlink_to(trace.resolve())
                command.append(str(copy))
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
            )
            _, status, usage = os.wait4(process.pid, 0)
            if status:
                sys.exit(f"{' '.join(command[:1])} failed on {trace}: exit status {os.waitstatus_to_exitcode(status)}")
            results.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000))
    return {
        "cpu_s": statistics.median(cpu for cpu, _ in results),
        "peak_mb": statistics.median(peak for _, peak in results),
    }


def print_lines(trace: Path, lines: dict[str, dict[str, float]]) -> None:
    """Print one trace's lines; the ratio is to fxscope."""
    print(f"{trace.name} ({trace.stat().st_size / 1e6:.0f} MB)")
    ours = lines["fxscope"]
    for name, line in lines.items():
        ratio = f"{line['cpu_s'] / ours['cpu_s']:6.1f} × the CPU, {line['peak_mb'] / ours['peak_mb']:5.1f} × the memory"
        print(
            f"  {name:28} {line['cpu_s']:8.2f} s CPU  {line['peak_mb']:8.0f} MB   {'' if name == 'fxscope' else ratio}",
            flush=True,
        )


if __name__ == "__main__":
    main()
