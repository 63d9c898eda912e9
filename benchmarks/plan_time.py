"""How long a plan takes beside a real cold compile of the same model on the same machine.

    python benchmarks/plan_time.py [--target h200] [--layers 12] [--repeats 3]

Each in a fresh process with empty caches: the plan (`simulate`, every configuration compiled to a cubin), and
`torch.compile` of a transformer with its first call. On a machine with a GPU that is the GPU's compile; without
one it is the CPU's, which writes C++ in place of Triton: then the ratio compares two different compilers, and is printed
with that word.
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

ROOT = Path(__file__).resolve().parents[1]
MODEL = """
import json, sys, time
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, size=256):
        super().__init__()
        self.one, self.two = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(self.one(x)).chunk(3, -1))
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.two(x))))

torch.manual_seed(0)
model = nn.Sequential(*(Block() for _ in range(int(sys.argv[1])))).eval().to(torch.bfloat16)
x = torch.randn(2, 128, 256, dtype=torch.bfloat16)
"""
PLAN = """
import fxscope._torch.target.simulate as simulate
target = simulate.read_target(sys.argv[2])
start = time.perf_counter()
with simulate.planning(target) as plan:
    simulate.compile_for_target(model, (x,), plan)
    written = time.perf_counter() - start
    for code in plan.codes:
        simulate.triton_resources(code, plan)
print(json.dumps({"s": time.perf_counter() - start, "code_s": written}))
"""
COMPILE = """
device = "cuda" if torch.cuda.is_available() else "cpu"
model, x = model.to(device), x.to(device)
if device == "cuda":
    (x @ x.mT).sum().item()
start = time.perf_counter()
with torch.no_grad():
    torch.compile(model)(x)
if device == "cuda":
    torch.cuda.synchronize()
print(json.dumps({"s": time.perf_counter() - start, "device": device}))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="h200", help="a GPU of fxscope/gpus")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    target = ROOT / "fxscope" / "gpus" / f"{arguments.target}.json"
    plans, compiles = [], []
    for _ in range(arguments.repeats):  # one after the other, so that a busy moment meets both
        plans.append(run(MODEL + PLAN, str(arguments.layers), str(target), hidden=True))
        compiles.append(run(MODEL + COMPILE, str(arguments.layers), hidden=False))
    plan = statistics.median(item["s"] for item in plans)
    code = statistics.median(item["code_s"] for item in plans)
    real = statistics.median(item["s"] for item in compiles)
    device = compiles[0]["device"]
    print(f"plan for {arguments.target}, {arguments.layers} layers: {plan:.1f} s, of which code {code:.1f} s")
    print(f"cold torch.compile on this machine's {device}, first call: {real:.1f} s")
    kind = "" if device == "cuda" else " (Triton for a GPU over C++ for a CPU: another compiler)"
    print(f"ratio {plan / real:.2f}{kind}; medians of {arguments.repeats}")
    return 0


def run(code: str, *words: str, hidden: bool) -> dict:
    """Run it in a fresh process with caches of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
            "TRITON_CACHE_DIR": f"{folder}/triton",
            **({"CUDA_VISIBLE_DEVICES": ""} if hidden else {}),
        }
        done = subprocess.run(
            [sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
