"""How much one program differs from itself between processes, and whether a real difference of 10 % is still seen.

    python3 benchmarks/run_to_run.py OUT.json --processes 6            # on the GPU where there is one, else on the CPU

Repeats inside a process are not runs: clocks, memory placement and what else the machine does differ between processes.
Each program is recorded in several fresh processes; every pair of recordings is compared as `fxscope diff` compares
them. A kernel that is called faster or slower there is a false claim. The same programs with 10 % more rows show what is
missed. For every kernel: its mean time in each process, in µs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

STEPS = 5
PROGRAMS = ("linear", "mlp", "block", "conv", "softmax", "small")


def program(name: str, more: float, device: str) -> tuple[Any, Any]:
    """Return (module, input) with `more` times the usual rows."""
    import torch
    from torch import nn

    large = device == "cuda"
    dtype = torch.bfloat16 if large else torch.float32
    rows = int((16384 if large else 512) * more)
    torch.manual_seed(0)
    made: dict[str, tuple[Any, tuple[int, ...]]] = {
        "linear": (nn.Linear(1024, 1024), (rows, 1024)),
        "mlp": (nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)), (rows, 512)),
        "block": (nn.TransformerEncoderLayer(256, 4, batch_first=True), (int(rows / 128), 128, 256)),
        "conv": (nn.Sequential(nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU()), (int(rows / 64), 16, 56, 56)),
        "softmax": (nn.Sequential(nn.LayerNorm(1024), nn.Softmax(-1)), (rows, 1024)),
        "small": (nn.Sequential(nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 64)), (int(64 * more), 64)),
    }
    module, shape = made[name]
    return module.to(device, dtype).eval(), torch.randn(*shape, device=device, dtype=dtype)


def child(out: str, names: list[str], more: float) -> None:
    """Record every program, eager and compiled, in this process."""
    import torch

    import fxscope

    device = "cuda" if torch.cuda.is_available() else "cpu"
    for name in names:
        for setup in ("eager", "compiled"):
            torch._dynamo.reset()
            module, value = program(name, more, device)
            with torch.no_grad():
                model = torch.compile(module) if setup == "compiled" else module
                recording = fxscope.record(model, value, warmup=3, steps=STEPS)
            recording.save(f"{out}/{name}.{setup}.fxscope", force=True)


def claims(a: Path, b: Path) -> tuple[int, int, list[tuple[str, float, float]]]:
    """Return (kernels compared, kernels called faster or slower, (name, µs in A, µs in B) of each)."""
    from fxscope import load
    from fxscope.analysis.compare import compare

    compared = claimed = 0
    rows: list[tuple[str, float, float]] = []
    for match in compare(load(a), load(b)).kernels:
        if match.time is None or match.time.verdict == "not measured":
            continue
        compared += 1
        claimed += match.time.verdict in ("faster", "slower")
        rows.append((match.a[0].kernel, match.time.a_us or 0.0, match.time.b_us or 0.0))
    return compared, claimed, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--processes", type=int, default=6, help="fresh processes for each program (default 6)")
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=PROGRAMS)
    parser.add_argument("--child", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        return child(str(arguments.output), arguments.programs, arguments.child)
    with tempfile.TemporaryDirectory() as place:
        folders: dict[float, list[Path]] = {1.0: [], 1.1: []}
        for more, number in [(1.0, n) for n in range(arguments.processes)] + [(1.1, n) for n in range(2)]:
            folder = Path(place, f"{more}.{number}")
            folder.mkdir()
            print(f"process {number} with {more:g} × the rows", file=sys.stderr)
            command = [sys.executable, __file__, str(folder), "--child", str(more), "--programs", *arguments.programs]
            subprocess.run(command, check=True)
            folders[more].append(folder)
        result: dict[str, Any] = {"programs": {}, "noise": []}
        totals = {"compared": 0, "claimed": 0, "real": 0, "found": 0, "pairs": 0, "pairs_with_a_claim": 0}
        for name in sorted(path.name for path in folders[1.0][0].iterdir()):
            for a, b in itertools.combinations(folders[1.0], 2):
                compared, claimed, rows = claims(a / name, b / name)
                totals["compared"] += compared
                totals["claimed"] += claimed
                totals["pairs"] += 1
                totals["pairs_with_a_claim"] += claimed > 0
                result["noise"] += [(name, *row) for row in rows]
            for a, b in itertools.product(folders[1.0], folders[1.1]):
                compared, claimed, _ = claims(a / name, b / name)
                totals["real"] += compared
                totals["found"] += claimed
    result["totals"] = totals
    arguments.output.write_text(json.dumps(result))
    print(f"same program: {totals['claimed']} of {totals['compared']} kernels are called faster or slower, in", end=" ")
    print(f"{totals['pairs_with_a_claim']} of {totals['pairs']} comparisons")
    print(f"10 % more rows: {totals['found']} of {totals['real']} kernels are called faster or slower")
    for low, high in ((0, 3), (3, 10), (10, 30), (30, 100), (100, math.inf)):
        ratios = sorted(abs(math.log(b / a)) for _, _, a, b in result["noise"] if a and b and low <= a < high)
        if ratios:
            quantiles = ", ".join(
                f"{q:.0%} {math.exp(ratios[int(q * (len(ratios) - 1))]):.3f}" for q in (0.5, 0.9, 0.95)
            )
            print(f"  kernels of {low} to {high} µs ({len(ratios)}): ratio between processes {quantiles}")


if __name__ == "__main__":
    main()
