"""On a real GPU with Nsight Compute: `fxscope run --counters` of a factory and of scripts, from the command line on."""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from fxscope import load  # noqa: E402
from fxscope.cli import main  # noqa: E402
from fxscope.commands import counting  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU"),
    pytest.mark.skipif(counting.find() is None, reason="needs Nsight Compute"),
]

PROGRAM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4096, 4096, bias=False)
    def forward(self, x):
        return torch.relu(self.linear(x) * 2) + x

def net():
    return Net().cuda().bfloat16(), torch.randn(32768, 4096, device="cuda", dtype=torch.bfloat16)
"""
SERVING = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU()).cuda()
COMPILED = False
with torch.no_grad():
    run = torch.compile(model) if COMPILED else model
    for step in range(6):
        print(run(torch.randn(8192, 1024, device="cuda")).shape)
"""
TRAINING = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    optimizer.zero_grad()
    model(torch.randn(4096, 512, device="cuda")).sum().backward()
    optimizer.step()
with open("finished", "a") as file:
    file.write("x")
"""


def launching(recording):
    """The eager ops that launched kernels themselves: `aten::linear` has them launched by what it calls."""
    names = {name for launch in recording.launches if launch.graph == "eager" for name in launch.nodes}
    return [node for node in recording.graph("eager").nodes if node.name in names]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_factory(tmp_path, monkeypatch, compiled: bool) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(PROGRAM)
    words = ["run", "net.py:net", "--counters", "-o", "net.fxscope", *(["--compile"] if compiled else [])]
    assert main(words) == 0
    recording = load(tmp_path / "net.fxscope")
    assert not recording.problems
    counted = recording.calls if compiled else launching(recording)
    assert counted and all(item.counters for item in counted)
    for item in counted:
        counters = item.counters
        assert counters.registers and counters.occupancy and counters.l2_bytes and counters.stalls
        assert 0 < counters.memory_share <= 1 and 0 < counters.compute_share <= 1
        if "mm" in (item.kernel if compiled else item.target):
            assert counters.tensor_share > 0.5
        elif item.bytes_read is not None:  # elementwise, far above the L2; what an op calls has no bytes of its own
            tensors = item.bytes_read + item.bytes_written
            assert counters.dram_bytes_read + counters.dram_bytes_written == pytest.approx(tensors, rel=0.05)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_script_that_serves(tmp_path, monkeypatch, compiled: bool) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "serve.py").write_text(SERVING.replace("False", str(compiled)))
    # In a process of its own, with Inductor's caches in a place of its own: the second run finds what the first one chose.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "caches"))
    words = ["run", "--counters", "-o", "serve.fxscope", "serve.py"]
    done = subprocess.run([sys.executable, "-m", "fxscope", *words], stdout=subprocess.PIPE, text=True, check=True)
    recording = load(tmp_path / "serve.fxscope")
    assert not [problem for problem in recording.problems if problem.where == "counters"], recording.problems
    counted = recording.calls if compiled else recording.graph("eager").nodes
    assert any(item.counters for item in counted)
    assert done.stdout.count("torch.Size") == 6  # the second run says nothing on the first one's behalf


def test_a_script_that_trains_is_run_again_up_to_the_counted_step_only(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAINING)
    assert main(["run", "--counters", "-o", "train.fxscope", "train.py"]) == 0
    recording = load(tmp_path / "train.fxscope")
    assert not [problem for problem in recording.problems if problem.where == "counters"], recording.problems
    nodes = [node for node in recording.graph("eager").nodes if node.counters]
    assert {"aten::addmm", "aten::mm"} <= {node.target for node in nodes}
    assert (tmp_path / "finished").read_text() == "x"
