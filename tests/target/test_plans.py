"""The plan is what a real H200's compile wrote: 25 programs, recorded with torch 2.11.0 and Triton 3.6.0.

With the same torch the plan is the same to the letter (call list, kernel names and sources):
`test_same_torch_same_plan`, which needs that torch, as FXSCOPE_PYTHON_2_11.
Another torch writes other code on a real GPU too; then what is read and written by which kind of kernel must be equal,
and every difference beyond that is listed below with its cause. One that is gone fails as well.
"""

import os
import sys
from pathlib import Path

import pytest
import torch

from fxscope.readers import output_code
from tests.target import plans
from tests.target.conftest import make

pytestmark = pytest.mark.slow

PROGRAMS = sorted(folder.name for folder in plans.REAL.iterdir())

# Where torch 2.13.0 differs from the recorded 2.11.0, and why.
EVICT = "torch 2.13 loads `evict_first` what a persistent reduction reads once, and folds constants earlier"
ROWS = "torch 2.13 masks the rows of a persistent reduction even where they fill the block"
ONLINE = "torch 2.13 names a kernel after fewer parts of the online softmax"
CAST = "torch 2.13 casts an index to int32 before it compares it"
WRAP = "torch 2.13 knows that an index is not negative and does not wrap it"
STABLE = "torch 2.13 multiplies inside softmax only where the factor keeps infinities apart (`abs`, `ne`, `all`)"
RANDOM = "torch 2.13 draws four random numbers at a time (`rand4x`)"

ACCEPTED: dict[str, dict[str, str]] = {
    "attention": {"sources": EVICT, "names": ONLINE},
    "autocast": {"sources": EVICT, "names": ONLINE},
    "big_sum": {"sources": EVICT},
    "block": {"sources": EVICT},
    "block_train": {"sources": f"{EVICT}; {ROWS}, so that two kernels became one text; {CAST}"},
    "cache_update": {"sources": EVICT},
    "conv_norm": {"sources": EVICT},
    "dropout": {"sources": RANDOM},
    "embedding_loss": {"sources": f"{WRAP}; {EVICT}", "names": ONLINE},
    "layer_norm": {"sources": EVICT},
    "mixture_of_experts": {"sources": f"{ROWS}; {WRAP}", "names": ONLINE},
    "odd_matmul": {"sources": CAST},
    "softmax": {"sources": STABLE, "names": STABLE},
    "sort_scan_cat": {"sources": f"{EVICT}; {WRAP}"},
    "transpose_reduce": {"sources": ROWS},
}


def compare(name: str, plan: dict, real: dict) -> dict[str, bool]:
    ours, theirs = plans.sources(plan["codes"]), plans.sources(real["codes"])
    return {
        "grouping": plans.grouping(plan["codes"]) == plans.grouping(real["codes"]),
        "sources": [text for _, _, text in ours] == [text for _, _, text in theirs],
        "names": [kernel for _, kernel, _ in ours] == [kernel for _, kernel, _ in theirs],
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_plan_is_the_real_one(name: str, planned: dict) -> None:
    real = plans.real(name)
    equal = compare(name, planned["plans"][name], real)
    assert equal["grouping"], "kernels of other kinds, or over other tensors, than on the real GPU"
    if planned["torch"].split("+")[0] == real["torch"].split("+")[0]:
        assert all(equal.values()), equal
    elif planned["torch"].startswith("2.13.0"):
        differing = {what for what in ("sources", "names") if not equal[what]}
        assert differing == set(ACCEPTED.get(name, {})), "list the difference with its cause, or take it off the list"


def test_most_programs_are_equal_to_the_letter(planned: dict) -> None:
    if not planned["torch"].startswith(("2.11", "2.12", "2.13")):
        pytest.skip(f"the H200's plans are of torch 2.11; torch {planned['torch']} writes other code on a GPU too")
    same = [name for name in PROGRAMS if all(compare(name, planned["plans"][name], plans.real(name)).values())]
    assert {"geglu", "geglu_train", "dynamic", "graph_break", "sdpa", "two_chains", "user_kernel"} <= set(same)


def test_grouping_tells_plans_apart(planned: dict) -> None:
    """The comparison itself can fail: another program, another order, another stride."""
    geglu = planned["plans"]["geglu"]["codes"]
    assert plans.grouping(geglu) != plans.grouping(plans.real("dynamic")["codes"])
    swapped = geglu[0].replace("(8192, 768), (768, 1)", "(8192, 768), (1, 8192)")
    assert plans.grouping([swapped]) != plans.grouping(geglu)
    assert plans.sources([geglu[0].replace("0.044715", "0.044714")]) != plans.sources(geglu)


def test_same_torch_same_plan() -> None:
    python = os.environ.get("FXSCOPE_PYTHON_2_11")
    if not python:
        pytest.skip("FXSCOPE_PYTHON_2_11 does not name a Python with torch 2.11.0 and Triton 3.6.0")
    result = make(python, PROGRAMS)
    assert result["torch"].startswith("2.11.0")
    for name in PROGRAMS:
        equal = compare(name, result["plans"][name], plans.real(name))
        assert all(equal.values()), (name, equal)


def test_assumptions_say_what_the_device_would_have_decided(planned: dict) -> None:
    assumed = {name: plan["assumptions"] for name, plan in planned["plans"].items()}
    assert [a[:2] for a in assumed["sdpa"]] == [["sdpa backend", "cudnn for [8×12×256×64] bfloat16"]]
    assert [a[:2] for a in assumed["sdpa_float32"]] == [["sdpa backend", "efficient for [4×8×256×64] float32"]]
    ((subject, padded, _),) = assumed["odd_matmul"]
    assert subject.startswith("pad_mm: ") and padded == "padded to aligned sizes"
    assert [a[0] for a in assumed["block_train"]] == ["training", "sdpa backend"]
    assert assumed["geglu"] == []


# Recorded later. With the same torch, one process with the GPU and one without, the kernels of encoder_layer_train were
# equal too; torch 2.13 decomposes the attention of its training in another way than 2.11, so it is not compared here.
LATER = ("conv_norm_train", "depthwise", "encoder_layer", "flex", "grouped_queries")


def test_programs_that_were_recorded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "REAL", plans.REAL.parent / "more")
    # A CUDA build asks the driver about the fused layer's kernel, and there is none.
    later = [name for name in LATER if name != "encoder_layer" or not torch.version.cuda]
    result = make(sys.executable, later)
    if not result["torch"].startswith(("2.11", "2.12", "2.13")):
        pytest.skip(f"the H200's plans are of torch 2.11; torch {result['torch']} writes other code on a GPU too")
    equal = {name: compare(name, result["plans"][name], plans.real(name)) for name in later}
    assert [name for name in later if not equal[name]["grouping"]] == []
    assert {name for name in later if equal[name]["sources"]} >= {"flex", "grouped_queries"}


def test_data_is_of_one_torch() -> None:
    assert {plans.real(name)["torch"] for name in PROGRAMS} == {"2.11.0+cu130"}
    assert len(PROGRAMS) == 25
    assert Path(plans.REAL, "geglu", "real", "trace.json.gz").exists()


def test_calls_read_what_torch_2_12_asserts_between_calls() -> None:
    text = (
        "class Runner:\n"
        "    def call(self, args):\n"
        "        arg0_1, arg1_1 = args\n"
        "        assert_size_stride(arg0_1, (8, 4), (4, 1))\n"
        "        arg0_1 = copy_misaligned(arg0_1)\n"
        "        buf0 = torch.ops.aten.sort.stable(arg0_1, stable=False)\n"
        "        assert_size_stride(buf0, (8, 4), (1, 8), 'torch.ops.aten.sort.stable')\n"
        "        assert_size_stride(arg1_1, (4, ), (1, ))\n"
        "        buf1 = torch.ops.aten.sort.stable(arg1_1, stable=False)\n"
        "        return (buf0, buf1, )\n"
    )
    found = output_code.parse(text)
    assert [call.reads[0].shape for call in found.calls] == [(8, 4), (4,)]
