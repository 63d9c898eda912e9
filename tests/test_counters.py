"""What Nsight Compute printed of programs on an H200, joined to what was recorded of them; and what has to agree for that."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from fxscope import load
from fxscope.cli import main
from fxscope.commands import counting
from fxscope.errors import FxscopeError
from fxscope.model import replace
from fxscope.passes.counters import counters
from fxscope.readers.counters import read

HOME = Path(__file__).parent / "data" / "h200" / "counters"


def log(name: str) -> str:
    return (HOME / f"{name}.csv").read_text()


def rows(name: str) -> list[dict[str, str]]:
    """The table by other code than the reader's."""
    table = list(csv.reader(line for line in log(name).splitlines() if not line.startswith("==")))
    return [dict(zip(table[0], row, strict=True)) for row in table[2:]]


def joined(name: str, change=lambda kernels: kernels):
    return counters(load(HOME / f"{name}.fxscope"), change(read(log(name))), step=1)


@pytest.fixture(scope="module")
def large():
    return joined("large")


def test_every_call_of_a_compiled_block_has_the_counters_of_its_kernel() -> None:
    recording = joined("block")
    assert not recording.problems
    assert len(recording.calls) == len(rows("block")) == 10
    for call, row in zip(recording.calls, rows("block"), strict=True):
        found = call.counters
        assert found.evidence == "order" and found.launches == 1
        assert found.dram_bytes_read == int(row["dram__bytes_read.sum"].replace(",", ""))
        assert found.l2_bytes == int(row["lts__t_bytes.sum"].replace(",", ""))
        assert found.time_us == pytest.approx(float(row["gpu__time_duration.sum"].replace(",", "")) / 1000)
        assert found.registers == int(row["launch__registers_per_thread"])
        assert found.occupancy == pytest.approx(float(row["sm__warps_active.avg.pct_of_peak_sustained_active"]) / 100)
        assert 0 < found.memory_share < 1 and 0 < found.compute_share < 1
        samples = {
            key.removeprefix("smsp__pcsamp_warps_issue_stalled_"): int(value)
            for key, value in row.items()
            if "pcsamp" in key and "not_issued" not in key
        }
        reason, share = found.stalls[0]
        assert share == pytest.approx(samples[reason] / sum(samples.values()))
        waiting = {key: value for key, value in samples.items() if key not in ("selected", "not_selected")}
        assert samples[reason] == max(waiting.values())
    gemm = next(call for call in recording.calls if call.kernel == "extern_kernels.addmm")
    assert gemm.counters.tensor_share > 0.1


def test_every_kernel_of_an_eager_block_is_on_its_op() -> None:
    recording = joined("block_eager")
    nodes = [node for node in recording.graph("eager").nodes if node.counters]
    assert len(nodes) == len(rows("block_eager")) == 12
    assert [node.target for node in nodes].count("aten::addmm") == 5
    assert {node.kind for node in nodes} == {"kernel"}


def test_bytes_of_large_tensors_are_what_the_memory_moved(large) -> None:
    """Far above the L2 cache a kernel that reads and writes whole rows moves what its arguments hold."""
    by_kernel = {call.kernel: call for call in large.calls}
    for kernel in ("triton_red_fused_native_layer_norm_0", "triton_poi_fused_embedding_2", "triton_poi_fused_cat_3"):
        call = by_kernel[kernel]
        assert call.counters.dram_bytes_read == pytest.approx(call.bytes_read, rel=0.01)
    # What was written last may still be in the cache: only the largest result is sure to have left it.
    largest = by_kernel["triton_poi_fused_cat_3"]
    assert largest.counters.dram_bytes_written == pytest.approx(largest.bytes_written, rel=0.05)
    # Slices of two large tensors, 33.5 MB each: less cannot be moved.
    product = by_kernel["extern_kernels.mm"]
    assert product.bytes_read == 2 * 4096 * 4096 * 2 <= product.counters.dram_bytes_read
    # A transposed copy inside a reduction's kernel writes scattered elements: the counters alone show what it costs.
    scattered = next(call for call in large.calls if "softmax" in call.kernel)
    assert scattered.counters.dram_bytes_written > 3 * scattered.bytes_written


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda k: k[:-1], "10 kernels in the step, and 9 that were counted"),
        (lambda k: [k[0]._replace(grid=(7, 1, 1)), *k[1:]], "had the grid (1024, 1, 1) and (7, 1, 1)"),
        (lambda k: [k[1], k[0], *k[2:]], "kernel 1 of the step was"),
        (lambda k: [*k[:3], k[3]._replace(name="void other<4>(int)"), *k[4:]], "kernel 4 of the step was"),
    ],
)
def test_where_the_runs_differ_nothing_is_joined(change, says: str) -> None:
    recording = joined("block", change)
    assert not any(call.counters for call in recording.calls)
    (problem,) = recording.problems
    assert says in problem.message and problem.remedy


def test_a_step_that_was_cut_elsewhere_is_turned_back() -> None:
    assert joined("block", lambda kernels: [*kernels[3:], *kernels[:3]]) == joined("block")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access", "run as root"),
        ("==PROF== Connected to process 1\n==WARNING== No kernels were profiled.\n", "counted no kernel"),
        ("==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n", "LibraryNotLoaded"),
        ('"ID","Kernel Name","gpu__time_duration.sum"\n"","","us"\n"0","f","1"\n', "print base units"),
    ],
)
def test_what_nsight_compute_refuses_is_said(text: str, says: str) -> None:
    with pytest.raises(FxscopeError, match=says):
        read(text)


def test_why_and_the_page_show_them(tmp_path, capsys, large) -> None:
    from fxscope.render.page.payload import Encoder

    path = large.save(tmp_path / "large.fxscope")
    assert load(path).calls[1].counters == large.calls[1].counters
    assert main(["why", str(path), "embedding"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Nsight Compute, one execution: DRAM reads 67." in text and "of the speed of light" in text
    shown = Encoder(large).call_columns()["counters"]
    assert shown[1]["dram_bytes_written"] == large.calls[1].counters.dram_bytes_written
    assert json.loads(large.to_json())["calls"][1]["counters"]["stalls"]


def test_a_program_without_a_gpu_keeps_its_exit_code_and_its_recording(tmp_path, monkeypatch, capsys) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.py").write_text("import sys, torch\ntorch.ones(3).sum()\nsys.exit(3)\n")
    assert main(["run", "--counters", "-o", "s.fxscope", "s.py"]) == 3
    assert "no counters: the recorded step ran no kernel on a GPU" in capsys.readouterr().err
    assert [problem.where for problem in load(tmp_path / "s.fxscope").problems] == ["counters"]
    assert main(["run", "s.py:f", "--target", "h200", "--counters"]) == 2
    assert "--target plans, and nothing is run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"device": "AMD Instinct MI300X", "cuda": None}, "NVIDIA's GPUs, and not AMD Instinct MI300X"),
        ({}, "neither on PATH nor in CUDA's folder"),
    ],
)
def test_what_is_missing_is_one_sentence(monkeypatch, capsys, environment, says: str) -> None:
    monkeypatch.setattr(counting, "find", lambda: None)
    recording = load(HOME / "block.fxscope")
    recording = replace(recording, environment=replace(recording.environment, **environment))
    found = counting.with_counters(recording, None, "model", lambda _: None)
    assert says in found.problems[-1].message and says in capsys.readouterr().err
    assert replace(found, problems=recording.problems) == recording


def test_the_second_run_counts_between_the_marks_and_ends(monkeypatch) -> None:
    pytest.importorskip("torch")
    from fxscope._torch import counted, steps

    heard: list[str] = []
    monkeypatch.setattr(counted, "start", lambda: heard.append("start"))
    monkeypatch.setattr(counted, "stop", lambda: heard.append("stop"))
    window = counted.CountedStep(counted.bounds("optimizer", 2))
    window.open()
    try:
        for number in range(2):
            steps.mark(f"{steps.CALL_BEGINS} 0")
            steps.mark(steps.STEP_ENDS)
            assert heard == ["start"] * number
        with pytest.raises(SystemExit):
            steps.mark(steps.STEP_ENDS)
    finally:
        window.close()
    assert heard == ["start", "stop"] and not steps.listeners
    assert counted.bounds("call", 0) == ((steps.CALL_BEGINS, 1), (steps.CALL_BEGINS, 2))
    assert counted.bounds("first call", 0) == ((steps.CALL_BEGINS, 1), None)
    assert counted.bounds("", 0) == (None, None)


def test_a_library_call_reads_its_slices_not_the_whole_tensors() -> None:
    torch = pytest.importorskip("torch")
    from fxscope import record

    recording = record(
        lambda x, y: x[:64] @ y[:, :32], torch.randn(512, 128), torch.randn(128, 256), compile=True, steps=1
    )
    (call,) = recording.calls
    assert {access.buffer: access.bytes for access in call.reads} == {"arg0_1": 64 * 128 * 4, "arg1_1": 128 * 32 * 4}
