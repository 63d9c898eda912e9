"""Programs of the zoo that need torch alone, planned here and held against what an H200 and an H100 compiled.

The recorded torch is 2.11.0. With that one everything must be equal (FXSCOPE_PYTHON_2_11 names a Python that has it);
another torch writes other code on a GPU too, and then the kind and the tensors of every call must be.
"""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import run_program
from tests.target import plans

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "data" / "zoo"
PLAIN = ("recurrent", "frozen_backbone_train", "mlp_autocast_train")


def planned(python: str, gpu: str, folder: Path) -> dict[str, dict]:
    words = (ROOT / "tools/zoo.py", "plan", folder, "--gpu", gpu, "--only", *PLAIN)
    done = run_program(python, *words, timeout_s=600)
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
    real = plans.unpacked(RECORDED / "h200" / "recurrent.json.xz")
    assert all(plans.compare(real, real).values())
    other = [code.replace("tl.sigmoid", "tl.exp") for code in real["codes"]]
    equal = plans.compare({"codes": other}, real)
    assert [column for column, same in equal.items() if not same] == ["sources"]


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
