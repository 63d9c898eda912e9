"""Autocast of a training: the CPU's casts follow CUDA's lists, which are those of this torch's headers."""

from pathlib import Path

import pytest
import torch

from fxscope._torch.target import training

HALF, FULL = torch.bfloat16, torch.float32


def test_lists_are_read_from_the_header(tmp_path: Path) -> None:
    found = training.lists()
    assert {"mm", "addmm", "convolution", "scaled_dot_product_attention"} <= found["lower"]
    assert {"exp", "layer_norm", "mse_loss", "pow.Tensor_Scalar"} <= found["fp32"]
    assert {"softmax.int", "sum", "cumsum"} <= found["dtype"]
    assert {"addcmul", "index_put"} <= found["promote"]
    header = tmp_path / "autocast_mode.h"
    for text in ("", "#define AT_FORALL_FP32(_) _(exp)\n"):
        with pytest.raises(LookupError, match="does not have CUDA's lists"):
            training.lists(header)
        header.write_text(text)


def cases():
    full, half = torch.rand(4, 4), torch.rand(4, 4, dtype=HALF)
    double = full.double()
    return {
        "mm": (lambda: full @ full, HALF),
        "linear": (lambda: torch.nn.functional.linear(full, half), HALF),
        "exp": (lambda: half.exp(), FULL),
        "layer_norm": (lambda: torch.nn.functional.layer_norm(half, (4,)), FULL),
        "softmax": (lambda: half.softmax(-1), FULL),
        "sum over a dimension": (lambda: half.sum(0), FULL),
        "sum with its own dtype": (lambda: half.sum(0, dtype=HALF), HALF),
        "prod": (lambda: half.prod(), FULL),
        "norm": (lambda: torch.ops.aten.norm.Scalar(half), FULL),
        "norm over a dimension": (lambda: torch.ops.aten.norm.ScalarOpt_dim(half, 2, [0]), FULL),
        "addcmul promotes": (lambda: torch.addcmul(half, full, half), FULL),
        "gelu is left alone": (lambda: torch.nn.functional.gelu(half), HALF),
        "float64 is left alone": (lambda: double @ double, torch.float64),
    }


@pytest.mark.parametrize("name", cases())
def test_cpu_tensors_are_cast_as_cuda_would(name: str) -> None:
    run, dtype = cases()[name]
    with training.like_cuda(), torch.autocast("cpu", dtype=HALF):
        assert run().dtype == dtype


def test_the_cpus_own_lists_are_back_afterwards() -> None:
    half = torch.rand(4, 4, dtype=HALF)
    with torch.autocast("cpu", dtype=HALF):
        before = half.softmax(-1).dtype
    with training.like_cuda(), torch.autocast("cpu", dtype=HALF):
        pass
    with torch.autocast("cpu", dtype=HALF):
        assert half.softmax(-1).dtype == before
