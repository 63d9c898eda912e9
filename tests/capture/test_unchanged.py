"""A recorded program runs the same operators and gives the same bits as under a bare profiler; torch's own op_db."""

# ruff: noqa: E501
import copy
import gc
import weakref
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

import fxscope
from tests.processes import run_python

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(8))
def test_ops_are_the_same_forward_and_backward(number: int) -> None:
    compare_op_db(number, "cpu")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
@pytest.mark.parametrize("number", range(8))
def test_kernels_on_a_gpu_are_the_same(number: int) -> None:
    compare_op_db(number, "cuda")


def compare_op_db(number: int, device: str) -> None:
    done = run_python("-m", "tests.capture.op_db", number, device, cwd=ROOT, timeout_s=3600)
    assert done.returncode == 0 and done.stdout.startswith("the same"), done.stderr[-3000:]


SCRIPTS = {
    "residual": "x = torch.randn(4, 8, requires_grad=True)\ny = x + x.relu()\n(y + y.sin()).sum().backward()\nout = x.grad",
    "embedding": "e = torch.nn.Embedding(9, 4)\ne(torch.tensor([1, 2, 2])).pow(2).sum().backward()\nout = e.weight.grad",
    "gather loss": "x = torch.randn(4, 9, requires_grad=True)\n-x.log_softmax(1).gather(1, torch.tensor([[1], [2], [3], [0]])"
    ").mean()\nx.log_softmax(1).gather(1, torch.ones(4, 1, dtype=torch.long)).mean().backward()\nout = x.grad",
    "checkpoint": "from torch.utils.checkpoint import checkpoint\nm = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU())\n"
    "checkpoint(m, torch.randn(2, 4), use_reentrant=False).sum().backward()\nout = m[0].weight.grad",
    "hooks": "m = torch.nn.Linear(4, 4)\nm.register_forward_hook(lambda m, a, o: o * 2)\nm.weight.register_hook(lambda g: g + 1)\n"
    "m(torch.randn(2, 4)).sum().backward()\nout = m.weight.grad",
    "torch.func": "out = torch.func.vmap(torch.func.grad(lambda x: x.sin().prod()))(torch.randn(3, 4))",
    "jit.trace": "out = torch.jit.trace(lambda x: x.sin() + 1, torch.ones(2))(torch.randn(2))",
    "jit.script": "@torch.jit.script\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return x * 2 if bool(x.sum() > 0) else x.sin()\n"
    "out = f(torch.randn(3))",
    "export": "out = torch.export.export(torch.nn.Linear(4, 4), (torch.randn(2, 4),)).module()(torch.ones(2, 4))",
    "optimizer": "m = torch.nn.Linear(4, 4)\no = torch.optim.Adam(m.parameters())\nfor _ in range(8):\n    o.zero_grad()\n"
    "    m(torch.randn(2, 4)).prod().backward()\n    o.step()\nout = m.weight",
    "loader": "from torch.utils.data import DataLoader, TensorDataset\nd = DataLoader(TensorDataset(torch.randn(8, 4)), 2, "
    "num_workers=1, shuffle=True)\nout = torch.stack([x for (x,) in d]).cumsum(0)",
    "attention": "m = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5)\nm(torch.randn(3, 2, 8)).sum().backward()\n"
    "out = m.linear1.weight.grad",
    "attention, inference": "m = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()\n"
    "with torch.no_grad():\n    out = m(torch.randn(3, 2, 8))",
    "double backward": "x = torch.randn(3, requires_grad=True)\ng, = torch.autograd.grad(x.prod().exp(), x, create_graph=True)\n"
    "g.sum().backward()\nout = x.grad",
    "index": "x = torch.randn(5, 5, requires_grad=True)\n(x[[0, 2]] * x.max(0).values).sum().backward()\nout = x.grad",
    "custom function": "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(c, x):\n        c.save_for_backward(x)\n"
    "        return x.exp()\n    @staticmethod\n    def backward(c, g):\n        return g * c.saved_tensors[0]\n"
    "x = torch.randn(3, requires_grad=True)\nF.apply(x).sum().backward()\nout = x.grad",
    "no_grad, in place": "x = torch.randn(4, 4)\nwith torch.inference_mode():\n    out = x.t().contiguous().add_(1).masked_fill_(x > 0, 2)",
    "complex": "x = torch.randn(4, 2, requires_grad=True)\ntorch.view_as_complex(x).abs().sum().backward()\nout = x.grad",
    "lstm": "m = torch.nn.LSTM(4, 4)\nm(torch.randn(3, 2, 4))[0].sum().backward()\nout = m.weight_hh_l0.grad",
    "ddp": "import os, tempfile, torch.distributed as d\nfrom torch.nn.parallel import DistributedDataParallel\n"
    "d.init_process_group('gloo', init_method='file://' + tempfile.mktemp(), rank=0, world_size=1)\n"
    "m = DistributedDataParallel(torch.nn.Linear(4, 4))\nm(torch.randn(2, 4)).sum().backward()\nout = m.module.weight.grad\n"
    "d.destroy_process_group()",
}
RUN = """
import sys, torch
{imports}
def names(results):
    events = sorted(results.events(), key=lambda event: event.start_ns())
    found = [event.name().partition("::")[2].partition(".")[0] for event in events if not event.is_python_function() and event.name().startswith("aten::")]
    return found
torch.manual_seed(0)
with {around} as session:
{code}
state = torch.get_rng_state().sum().item()
results = {results}
print(names(results), out.detach().flatten().tolist(), state, sep="\\n")
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_run_the_same_operators_and_give_the_same_bits(name: str, tmp_path: Path) -> None:
    code = "\n".join(f"    {line}" for line in SCRIPTS[name].splitlines())
    bare = "torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])"
    programs = (
        RUN.format(imports="", around=bare, code=code, results="session.profiler.kineto_results"),
        RUN.format(
            imports="from fxscope.capture import EventTree, Recorder, profiler\nseen = []\n"
            "profiler.EventTree = lambda results: seen.append(results) or EventTree(results)",
            around="Recorder(steps=100)",
            code=code,
            results="seen[0]",
        ),
    )
    files = [tmp_path / "plain.py", tmp_path / "ours.py"]  # `torch.jit.script` reads the source
    plain, ours = (run_python(file) for file, text in zip(files, programs, strict=True) if file.write_text(text))
    assert plain.returncode == 0, plain.stderr
    assert ours.stdout == plain.stdout, ours.stderr


def test_modules_at_the_address_of_earlier_ones_have_their_own_names_and_classes() -> None:
    class First(torch.nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).sin()

    class Second(torch.nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).cos()

    makers = {
        ("sin", "", "First"): lambda: First(OrderedDict(a=torch.nn.Linear(4, 4))),
        ("cos", "", "Second"): lambda: Second(OrderedDict(b=torch.nn.Tanh())),
        ("relu", "", "ReLU"): torch.nn.ReLU,
        ("sigmoid", "", "Sigmoid"): torch.nn.Sigmoid,
    }
    addresses, copies = list[int](), list[torch.nn.Module]()
    with fxscope.record() as recorder:
        for make in 10 * [*makers.values()]:
            model = make()
            addresses.append(id(model))
            copies.append(copy.deepcopy(model))
            copies[-1](torch.ones(2, 4))
            model(torch.ones(2, 4))
            del model
    assert len({*addresses}) < len(addresses)
    nodes = [node for node in recorder.recording.graph("eager").nodes if node.source]
    found = {(node.target.removeprefix("aten::"), node.source.module, node.source.module_type) for node in nodes}
    wanted = {*makers, ("addmm", "a", "Linear"), ("tanh", "b", "Tanh")}
    assert {item for item in found if item[0] in {name for name, *_ in wanted}} == wanted
    # A module that is called once is a part of steps as others like it.
    assert len(recorder.recording.summary.steps) == 3


class Data(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.ones(4)


def trained() -> dict[str, weakref.ref]:
    model, data = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)), Data()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def closure(x: torch.Tensor) -> torch.Tensor:
        return model(x).sum()

    loss = sum(closure(x) for x in torch.utils.data.DataLoader(data, 2))
    loss.backward(retain_graph=True)
    optimizer.step()
    made = {"model": model, "weight": model[0].weight, "data set": data, "optimizer": optimizer, "closure": closure}
    made["graph's end"] = loss
    return {name: weakref.ref(item) for name, item in made.items()}


def test_models_closures_data_sets_and_graphs_are_freed_while_they_are_recorded() -> None:
    kept: set[str] = set()
    with fxscope.record() as recorder:
        for _ in range(3):
            dropped = trained()
            gc.collect()
            kept.update(name for name, item in dropped.items() if item() is not None)
    assert not kept
    modules = {node.source.module for node in recorder.recording.graph("eager").nodes if node.source}
    assert {"0", "1"} <= modules
