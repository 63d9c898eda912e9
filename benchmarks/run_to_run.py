"""How much one program differs from itself between processes, and whether a real difference of 10 % is still seen.

    python3 benchmarks/run_to_run.py OUT.json --processes 6            # on the GPU where there is one, else on the CPU

Repeats inside a process are not runs: clocks, memory placement and what else the machine does differ between processes.
Each program is recorded in several fresh processes; every two recordings (of many pairs, some) are compared as
`fxscope diff` compares them. A kernel or a step that is called faster or slower there is a false claim. The same
programs with 10 % more rows (`--more`) show what is missed: of the kernels whose time over all processes grew by 8 % or
more, how many two recordings call slower. With `--recordings FOLDER` what was recorded stays there, and a folder that
holds recordings is compared again without recording anything.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

STEPS = 5
MAX_PAIRS = 20  # of sides that are compared for each program
FELT = 0.8  # of the rows added: some kernels do not feel them, a memset, one whose last wave had room
PROGRAMS = ("linear", "mlp", "block", "conv", "softmax", "small")
SETUPS = ("eager", "compiled")


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


def child(out: str, names: list[str], more: float, setups: list[str]) -> None:
    """Record every program in this process."""
    import torch

    import fxscope

    device = "cuda" if torch.cuda.is_available() else "cpu"
    for name in names:
        for setup in setups:
            torch._dynamo.reset()
            module, value = program(name, more, device)
            with torch.no_grad():
                model = torch.compile(module) if setup == "compiled" else module
                recording = fxscope.record(model, value, warmup=3, steps=STEPS)
            recording.save(f"{out}/{name}.{setup}.fxscope", force=True)


def times(a: Path, b: Path) -> list[tuple[str, float, float, str]]:
    """Return (name, µs in A, µs in B, what is said of the two) of each kernel that both measured, and of the step."""
    from fxscope import load
    from fxscope.analysis.compare import compare

    found = compare(load(a), load(b))
    rows = [(match.a[0].kernel if match.a else "", match.time) for match in found.kernels]
    rows += [("device time of a step", found.step_time), ("wall time of a step", found.wall_time)]
    return [
        (name, time.a_us or 0.0, time.b_us or 0.0, time.verdict)
        for name, time in rows
        if time is not None and time.verdict != "not measured"
    ]


def recorded(place: Path, arguments: argparse.Namespace) -> dict[float, list[Path]]:
    """Return, for the usual rows and 10 % more, a folder of recordings for each process; made where there are none."""
    if not any(place.glob("*/*.fxscope")):
        usual, longer = arguments.processes, 2
        # In turns: what else the machine does changes slowly
        for number, more in [(n, more) for n in range(max(usual, longer)) for more in (1.0, arguments.more)]:
            if number >= (usual if more == 1.0 else longer):
                continue
            folder = place / f"{more}.{number}"
            folder.mkdir(parents=True)
            print(f"process {number} with {more:g} × the rows", file=sys.stderr)
            options = ["--programs", *arguments.programs, "--setups", *arguments.setups]
            subprocess.run([sys.executable, __file__, str(folder), "--child", str(more), *options], check=True)
    return {more: sorted(place.glob(f"{more}.*")) for more in (1.0, arguments.more)}


def pairs_of(a: Sequence[Path], b: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Return pairs of other folders: all where these are few, else MAX_PAIRS of them."""
    found = list(itertools.combinations(a, 2) if a is b else itertools.product(a, b))
    return found if len(found) <= 2 * MAX_PAIRS else random.Random(0).sample(found, MAX_PAIRS)


def compared(folders: dict[float, list[Path]]) -> dict[str, Any]:
    """Return the counts over all pairs of sides, and each kernel's times in each pair of the same program."""
    noise: list[tuple[Any, ...]] = []
    totals = {"compared": 0, "claimed": 0, "real": 0, "found": 0, "pairs": 0, "pairs_with_a_claim": 0}
    (_, usual), (more, longer) = sorted(folders.items())
    real = 1 + FELT * (more - 1)
    for name in sorted(path.name for path in usual[0].iterdir()):
        for a, b in pairs_of(usual, usual):
            rows = times(a / name, b / name)
            claimed = sum(verdict in ("faster", "slower") for *_, verdict in rows)
            totals["compared"] += len(rows)
            totals["claimed"] += claimed
            totals["pairs"] += 1
            totals["pairs_with_a_claim"] += claimed > 0
            noise += [(name, *row[:3]) for row in rows]
        pairs = [times(a / name, b / name) for a, b in pairs_of(usual, longer)]
        for same in zip(*pairs, strict=False):  # one kernel in every pair
            if len({kernel for kernel, *_ in same}) == 1 and geometric_mean(row[2] / row[1] for row in same) >= real:
                totals["real"] += len(same)
                totals["found"] += sum(verdict == "slower" for *_, verdict in same)
    return {"totals": totals, "noise": noise}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--processes", type=int, default=6, help="fresh processes for each program (default 6)")
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=PROGRAMS)
    parser.add_argument("--recordings", type=Path, metavar="FOLDER", help="keep the recordings here, or compare those")
    parser.add_argument("--setups", nargs="+", default=list(SETUPS), choices=SETUPS)
    parser.add_argument("--more", type=float, default=1.1, help="rows of the longer programs, over the usual (1.1)")
    parser.add_argument("--child", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        return child(str(arguments.output), arguments.programs, arguments.child, arguments.setups)
    if arguments.processes < 2:
        parser.error("two recordings take --processes 2")
    with tempfile.TemporaryDirectory() as place:
        folders = recorded(arguments.recordings or Path(place), arguments)
        result = compared(folders)
    totals = result["totals"]
    arguments.output.write_text(json.dumps(result))
    print(f"same program: {totals['claimed']} of {totals['compared']} times are called faster or slower, in", end=" ")
    print(f"{totals['pairs_with_a_claim']} of {totals['pairs']} comparisons")
    print(
        f"{arguments.more - 1:.0%} more rows: {totals['found']} of {totals['real']} times that are "
        f"{FELT * (arguments.more - 1):.0%} longer are called slower"
    )
    for low, high in ((0, 3), (3, 10), (10, 30), (30, 100), (100, math.inf)):
        ratios = sorted(abs(math.log(b / a)) for _, _, a, b in result["noise"] if a and b and low <= a < high)
        if ratios:
            quantiles = ", ".join(
                f"{q:.0%} {math.exp(ratios[int(q * (len(ratios) - 1))]):.3f}" for q in (0.5, 0.9, 0.95)
            )
            print(f"  kernels of {low} to {high} µs ({len(ratios)}): ratio between processes {quantiles}")


if __name__ == "__main__":
    main()
