"""Programs of the zoo that need torch alone, planned here and held against what an H200 and an H100 compiled.

The recorded torch is 2.11.0. With that one everything must be equal (FXSCOPE_PYTHON_2_11 names a Python that has it);
another torch writes other code on a GPU too, and then the kind and the tensors of every call must be.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.target import plans

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "data" / "zoo"
PLAIN = ("recurrent", "frozen_backbone_train", "mlp_autocast_train")


def planned(python: str, gpu: str, folder: Path) -> dict[str, dict]:
    command = [python, str(ROOT / "tools" / "zoo.py"), "plan", str(folder), "--gpu", gpu, "--only", *PLAIN]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: plans.unpacked(folder / f"{name}.json.xz") for name in PLAIN}


@pytest.mark.slow
def test_plain_programs_are_what_the_gpu_compiled(tmp_path: Path) -> None:
    found = planned(sys.executable, "h200", tmp_path)
    for name, plan in found.items():
        assert "error" not in plan, plan
        theirs = plans.unpacked(RECORDED / "h200" / f"{name}.json.xz")
        if plan["meta"]["torch"].split("+")[0] == theirs["meta"]["torch"].split("+")[0]:
            equal = plans.compare(plan, theirs)
            assert all(equal.values()), (name, equal)
        # Another torch orders a backward otherwise and fuses its ends otherwise; a library's calls are the model's.
        assert library(plan) == library(theirs), name


def library(plan: dict) -> list[str]:
    return sorted(repr(call) for call in plans.grouping(plan["codes"]) if call[1].startswith("extern_kernels"))


@pytest.mark.parametrize("gpu", ["h200", "h100"])
def test_same_torch_writes_the_same(gpu: str, tmp_path: Path) -> None:
    python = os.environ.get("FXSCOPE_PYTHON_2_11")
    if not python:
        pytest.skip("FXSCOPE_PYTHON_2_11 does not name a Python with torch 2.11.0 and Triton 3.6.0")
    for name, plan in planned(python, gpu, tmp_path).items():
        assert plan["meta"]["torch"].startswith("2.11.0")
        equal = plans.compare(plan, plans.unpacked(RECORDED / gpu / f"{name}.json.xz"))
        assert all(equal.values()), (name, equal)


def test_comparison_can_fail() -> None:
    """One other stride, grid, register or text shows in its column."""
    real = plans.unpacked(RECORDED / "h200" / "recurrent.json.xz")
    grids = [[kernel, {None: launches[0][1]}] for _, kernel, kind, _, launches in real["calls"] if "triton" in kind]
    for pair in grids:
        chosen = real["kernels"][pair[0]].get("chosen") or next(iter(real["kernels"][pair[0]]["configs"]))
        pair[1] = {chosen: pair[1][None]}
    plan = {"codes": real["codes"], "kernels": real["kernels"], "grids": grids}
    assert all(plans.compare(plan, real).values())
    kernel, config = grids[0][0], next(iter(grids[0][1]))
    assert not plans.compare({**plan, "grids": [[kernel, {config: [7, 7, 7]}], *grids[1:]]}, real)["grids"]
    other = [code.replace("tl.sigmoid", "tl.exp") for code in real["codes"]]
    equal = plans.compare({**plan, "codes": other}, real)
    assert [column for column, same in equal.items() if not same] == ["sources"]
    takes = {**real["kernels"], kernel: {"configs": {config: {"registers": 1, "spill_bytes": 0, "shared_bytes": 0}}}}
    assert not plans.compare({**plan, "kernels": takes}, real)["resources"]
    assert plans.compare({**plan, "kernels": {}, "grids": []}, real)["resources"] is None


def test_kernels_of_one_name_in_two_graphs_are_tuned_each_by_itself() -> None:
    """The recording has one winner for a name: 128 elements a block, which the forward's kernel did not take."""
    real = plans.unpacked(RECORDED / "h200" / "mlp_autocast_train.json.xz")
    launched = [(kernel, launches[0][1]) for _, kernel, kind, _, launches in real["calls"] if "triton" in kind]
    assert [grid for kernel, grid in launched if kernel == "triton_poi_fused__to_copy_4"] == [[1, 1, 1], [256, 1, 1]]
    small, large = "XBLOCK=128;warps=4;stages=1", "XBLOCK=256;warps=4;stages=1"
    assert real["kernels"]["triton_poi_fused__to_copy_4"]["chosen"] == small

    def grids(forward: dict) -> list:
        own = iter([forward, {small: [256, 1, 1], large: [128, 1, 1]}])
        return [[kernel, next(own) if kernel == "triton_poi_fused__to_copy_4" else {}] for kernel, _ in launched]

    assert plans.grids({"grids": grids({small: [2, 1, 1], large: [1, 1, 1]})}, real)
    assert not plans.grids({"grids": grids({small: [2, 1, 1], large: [3, 1, 1]})}, real)


def _tool() -> Any:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import zoo
    finally:
        sys.path.remove(str(ROOT / "tools"))
    return zoo


def test_a_third_is_set_aside_by_name_alone() -> None:
    zoo = _tool()
    names = [path.name.removesuffix(".json.xz") for path in (RECORDED / "h200").iterdir()]
    assert sorted(names) == sorted(path.name.removesuffix(".json.xz") for path in (RECORDED / "h100").iterdir())
    assert (len(names), sum(map(zoo.set_aside, names))) == (77, 24)


def test_a_helper_function_before_a_kernel_has_none_of_its_parameters() -> None:
    """The loop of a cumsum has a function that adds two; the sizes are parameters of the kernel."""
    real = plans.unpacked(RECORDED / "h200" / "gpt2.json.xz")
    grids_of = _tool().launch_grids
    launched = [item for code in real["codes"] for item in grids_of(code, real["kernels"])]
    (name,) = {kernel for kernel, _ in launched if "_cumsum_" in kernel}
    (recorded,) = [launches[0][1] for _, kernel, _, _, launches in real["calls"] if kernel == name]
    assert [[grid for _, grid in grids.items()] for kernel, grids in launched if kernel == name] == [[recorded]]
