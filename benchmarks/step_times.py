"""Compare the wall time of a step in a recording with the program's own timing loop: `python benchmarks/step_times.py`.

Each script runs under `fxscope run` and times its own steps, those after the observation, so the comparison holds on a
busy machine too. A ratio above 1: the recording says longer.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from fxscope import load
from fxscope.analysis.report import step_row

STEPS, LAST = 100, 66  # steps of a script, and the last ones of them that it times
HEAD = """
import statistics, time, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
def mlp(): return nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).to(device)
def encoder():
    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).to(device)
def conv(): return nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3)).to(device)
flat, words, images = (torch.randn(*n, device=device) for n in ((64, 256), (2, 32, 128), (2, 3, 32, 32)))
"""
TRAINS = """
model = {model}
optimizer = torch.optim.{optimizer}(model.parameters(), lr=1e-4)
def step(i):
    optimizer.zero_grad()
    model({x}).square().mean().backward()
    optimizer.step()
"""
INFERS = """
model = {model}.eval()
def step(i):
    with torch.no_grad(): model({x})
"""
FOOT = f"""
ends = []
for i in range({STEPS}):
    step(i)
    if device == "cuda": torch.cuda.synchronize()
    ends.append(time.perf_counter())
print(statistics.median(b - a for a, b in zip(ends[-{LAST} - 1:], ends[-{LAST}:])))
"""
SCRIPTS = {
    "train MLP": TRAINS.format(model="mlp()", optimizer="SGD", x="flat"),
    "train encoder": TRAINS.format(model="encoder()", optimizer="AdamW", x="words"),
    "train convolutions": TRAINS.format(model="conv()", optimizer="Adam", x="images"),
    "train, accumulate": TRAINS.format(model="mlp()", optimizer="SGD", x="flat").replace(
        "    model", "    for _ in range(4): model"
    ),
    "train, evaluate": TRAINS.format(model="encoder()", optimizer="SGD", x="words")
    + "    if i % 10 == 9:\n        with torch.no_grad(): model(words)\n",
    "train MLP, compiled": TRAINS.format(model="torch.compile(mlp())", optimizer="SGD", x="flat"),
    "train encoder, compiled": TRAINS.format(model="torch.compile(encoder())", optimizer="AdamW", x="words"),
    "infer encoder": INFERS.format(model="encoder()", x="words"),
    "infer MLP, compiled": INFERS.format(model="torch.compile(mlp())", x="flat"),
    "infer encoder, compiled": INFERS.format(model="torch.compile(encoder())", x="words"),
}


def compare(name: str, folder: Path) -> str:
    script, recorded = folder / "script.py", folder / "out.fxscope"
    script.write_text(HEAD + SCRIPTS[name] + FOOT)
    command = [sys.executable, "-m", "fxscope", "run", "--force", "-o", str(recorded), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"{name:24} failed: {done.stderr.strip().splitlines()[-1]}"
    own, row = float(done.stdout.split()[-1]) * 1e6, step_row(load(recorded))
    if row.wall_us is None:
        return f"{name:24} no wall time"
    busy = "" if row.busy_share is None else f", busy {row.busy_share:.0%} against {(row.busy_us or 0.0) / own:.0%}"
    return (
        f"{name:24} {row.wall_us / 1e3:8.2f} ms, own {own / 1e3:8.2f} ms: {row.wall_us / own:.3f}{busy} ({row.basis})"
    )


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(SCRIPTS)
    with tempfile.TemporaryDirectory() as temporary:
        for each in wanted:
            print(compare(each, Path(temporary)), flush=True)
