"""A kernel that is taken away runs alone, on inputs like those it had, and computes what it computed."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys

import pytest
import torch

import fxscope
from fxscope.cli import main

pytestmark = pytest.mark.slow


def program(x, w):
    return torch.relu(x.t() + 1) @ w


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    torch._dynamo.reset()
    recording = fxscope.record(program, torch.randn(16, 24), torch.randn(16, 8), compile=True, steps=1)
    return str(recording.save(tmp_path_factory.mktemp("reproduce") / "program.fxscope"))


def test_a_generated_kernel_runs_alone_and_computes_the_same(path: str, tmp_path) -> None:
    file = tmp_path / "repro.py"
    assert main(["reproduce", path, "relu", "-o", str(file)]) == 0
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=200, check=True)
    assert " µs" in done.stdout and "3,072 bytes" in done.stdout  # 16 × 24 numbers read, as many written
    names = runpy.run_path(str(file))
    names["run"]()
    read, written = names["arg0_1"], names["buf0"]
    assert read.shape == (16, 24) and written.shape == (24, 16)
    torch.testing.assert_close(written, torch.relu(read.t() + 1))


def test_a_librarys_kernel_runs_alone(path: str, tmp_path) -> None:
    file = tmp_path / "repro.py"
    assert main(["reproduce", path, "mm", "-o", str(file)]) == 0
    names = runpy.run_path(str(file))
    names["run"]()
    torch.testing.assert_close(names["buf1"], names["buf0"] @ names["arg1_1"])


def test_a_pair_that_was_not_fused_runs_as_two_kernels_and_in_one_graph(path: str, tmp_path, command) -> None:
    file = tmp_path / "pair.py"
    command("reproduce", path, "relu", "mm", "-o", file)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=400, check=True)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["apart", "together"]
    assert "1 generated kernels" in done.stdout and "Not fused: " in file.read_text()
    names = runpy.run_path(str(file))
    for made in (names["apart"](), names["together"]()):
        torch.testing.assert_close(made[-1], torch.relu(names["arg0_1"].t() + 1) @ names["arg1_1"])
    said = command("reproduce", path, "add", "relu", status=2).err  # those are fused
    assert "no missed fusion of add and relu" in said


def test_what_is_no_call_and_a_file_that_exists_are_refused(path: str, tmp_path, command) -> None:
    file = tmp_path / "repro.py"
    file.write_text("mine")
    command("reproduce", path, "relu", "-o", file, status=2)
    assert file.read_text() == "mine"
    command("reproduce", path, "no_such_kernel", status=2)


def test_a_triton_kernel_of_a_plan_brings_its_code_and_the_inputs_of_the_wrapper(tmp_path, command) -> None:
    torch._dynamo.reset()
    recording = fxscope.record(torch.sum, torch.ones(4096, 4096), compile=True, target="h200")
    saved = str(recording.save(tmp_path / "sum.fxscope"))
    text = command("reproduce", saved, "call:0/0:inference:2").out
    ast.parse(text)
    assert "triton_per_fused_sum_1.run(buf0, buf1, 1, 512, stream=raw_stream0)" in text
    assert "buf0 = fill(empty_strided_cuda((512,), (1,), torch.float32))" in text
    assert "triton_red_fused_sum_0 = " not in text and "def triton_per_fused_sum_1(" in text
