"""A kernel that is taken away runs alone, on inputs like those it had, and computes what it computed."""

import ast
import runpy

import pytest
import torch

import fxscope
from fxscope.cli import main
from tests.compiler import functions
from tests.processes import printed, run_python

pytestmark = pytest.mark.slow


def program(x, w):
    return torch.relu(x.t() + 1) @ w


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    torch._dynamo.reset()
    recording = fxscope.record(program, torch.randn(16, 24), torch.randn(16, 8), compile=True, steps=1)
    return str(recording.save(tmp_path_factory.mktemp("reproduce") / "program.fxscope"))


CASES = functions("reproduce.txt")
ALONE = """
import runpy, sys, torch
for path in sys.argv[1:]:
    names = runpy.run_path(path, run_name="__main__")
    was = {name: value.clone() for name, value in names.items() if isinstance(value, torch.Tensor)}
    made = names["run"]()
    torch.save((was, {name: names[name] for name in was} | {"made": made}), path + ".pt")
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The scripts of all cases, run one after the other in a process of their own."""
    folder, names = tmp_path_factory.mktemp("alone"), {"torch": torch, "rows": torch.randn}
    for name, (program, (_, inputs, options, number, *_)) in CASES.items():
        torch._dynamo.reset()
        program.__globals__.update(torch=torch, F=torch.nn.functional)
        arguments = eval(f"({inputs},)", names)
        made = fxscope.record(program, *arguments, compile={"dynamic": False, **eval(options)}, steps=1, warmup=0)
        path = str(made.save(folder / f"{name}.fxscope"))
        assert main(["reproduce", path, f"call:0/0:inference:{number}", "-o", str(folder / f"{name}.py")]) == 0
    paths = [str(folder / f"{name}.py") for name in CASES]
    assert printed("-c", ALONE, *paths, timeout_s=500).count(" µs") == len(CASES)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_runs_alone_and_computes_the_same_as_eager(name: str, alone) -> None:
    *_, result, expected = CASES[name][1]
    was, names = torch.load(alone / f"{name}.py.pt")
    names |= {"was": was, "torch": torch, "F": torch.nn.functional}
    torch.testing.assert_close(eval(result, names), eval(expected, names))


def test_a_pair_that_was_not_fused_runs_as_two_kernels_and_in_one_graph(path: str, tmp_path, command) -> None:
    file = tmp_path / "pair.py"
    command("reproduce", path, "relu", "mm", "-o", file)
    said = printed(file, timeout_s=400)
    assert [line.partition(":")[0] for line in said.splitlines()] == ["apart", "together"]
    assert "1 generated kernels" in said and "Not fused: " in file.read_text()
    names = runpy.run_path(str(file))
    for made in (names["apart"](), names["together"]()):
        torch.testing.assert_close(made[-1], torch.relu(names["arg0_1"].t() + 1) @ names["arg1_1"])
    command("reproduce", path, "no_such_kernel", status=2)
    command("reproduce", path, "mm", "-o", alone := tmp_path / "alone.py")
    alone.write_text(alone.read_text().replace("def run():\n", "def run():\n    torch.ops.not_here.op()\n"))
    assert "import the module that registers" in run_python(alone).stderr
    said = command("reproduce", path, "add", "relu", status=2).err  # those are fused
    assert "no missed fusion of add and relu" in said


@pytest.mark.parametrize(
    ("program", "names"), [(lambda x: x.topk(3)[0] * 2, ("topk", "mul")), (lambda x: (x @ x).var(1) + 1, ("mm", "add"))]
)
def test_the_second_of_a_pair_takes_the_items_that_the_first_returns(program, names, tmp_path, command) -> None:
    path = str(fxscope.record(program, torch.randn(16, 16), compile=True, steps=1).save(tmp_path / "pair.fxscope"))
    command("reproduce", path, *names, "-o", tmp_path / "pair.py")
    made = runpy.run_path(str(tmp_path / "pair.py"))
    torch.testing.assert_close(made["both"](made["arg0_1"])[-1], program(made["arg0_1"]))


def test_a_triton_kernel_of_a_plan_brings_its_code_and_the_inputs_of_the_wrapper(tmp_path, command) -> None:
    recording = fxscope.record(torch.sum, torch.ones(4096, 4096), compile=True, target="h200")
    saved = str(recording.save(tmp_path / "sum.fxscope"))
    text = command("reproduce", saved, "call:0/0:inference:2").out
    ast.parse(text)
    assert "triton_per_fused_sum_1.run(buf0, buf1, 1, 512, stream=raw_stream0)" in text
    assert "buf0 = fill(empty_strided_cuda((512,), (1,), torch.float32))" in text
    assert "triton_red_fused_sum_0 = " not in text and "def triton_per_fused_sum_1(" in text
