"""What is said of ten thousand recorded kernel names, held to the op that launched each."""

import json
import lzma
from collections import Counter
from pathlib import Path

import pytest

from fxscope.kernel_names import MOST_CHARACTERS, decode
from tests.explain.names_judge import judge, set_aside

DATA = Path(__file__).parents[1] / "data" / "kernel_names"


def recorded(file: str) -> dict[str, list]:
    return json.loads(lzma.decompress((DATA / f"{file}.json.xz").read_bytes()))["kernels"]


@pytest.mark.parametrize(
    ("file", "names", "unknown"),
    [
        # Of each part, the open two thirds and the third set aside: at most this many may be unknown.
        pytest.param("ops_h200", (5374, 2686), (910, 400), marks=pytest.mark.slow),
        ("ops_h100", (567, 325), (12, 9)),
        ("peers", (624, 331), (31, 15)),
    ],
)
def test_what_a_name_says_is_so(file, names, unknown):
    seen: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    faults = []
    for name, rows in recorded(file).items():
        verdict, wrong = judge(name, rows, decode(name))
        seen[set_aside(name)][verdict] += 1
        faults += [(name[:100], wrong)] if wrong else []
    assert (seen[False].total(), seen[True].total()) == names
    assert len(faults) <= 1, faults[:9]  # one of the names set aside, which nobody has looked at
    assert (seen[False]["unknown"], seen[True]["unknown"]) <= unknown


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"ops": ["eq"]}, "ops eq: ne"),
        ({"role": "optimizer"}, "role optimizer: ne"),
        ({"family": "triton"}, "family triton"),
        ({"dtypes": {"a": "float16", "b": None, "out": None, "accumulate": None}}, "dtypes.a float16"),
        ({"dtypes": {"a": None, "b": None, "out": "float32", "accumulate": None}}, "dtypes.out float32"),
        ({"dtypes": {"a": None, "b": None, "out": None, "accumulate": "float16"}}, "dtypes.accumulate float16"),
        ({"direction": "backward"}, "direction backward"),
    ],
)
def test_the_judge_finds_a_statement_that_is_false(said, fault):
    """`ne` of two float32 tensors runs the functor of `eq`."""
    name, rows = next(
        (name, rows)
        for name, rows in recorded("ops_h200").items()
        if "CompareEqFunctor<float>" in name and rows[0][0] == "aten::ne" and rows[0][1][:2] == ["float", "float"]
    )
    right = decode(name)
    assert right["ops"] == ["compare"] and judge(name, rows[:1], right) == ("right", [])
    verdict, faults = judge(name, rows[:1], {**right, **said})
    assert verdict == "wrong" and any(found.startswith(fault) for found in faults)


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("ndtri_kernel", {"family": None}),  # ATen's, compiled as it is needed; Triton's could have the name too
        ("exp_kernel_vectorized4_kernel", {"family": "aten"}),
        ("fused_moe_kernel", {"family": "triton", "role": "gemm", "guess": True}),
        (
            "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_34GridwiseGemm",
            {"family": "ck", "role": "convolution"},
        ),
        ("void cask_cudnn_infer::computeOffsetsKernel<false, false>(int)", {"role": "other"}),
        ("at::native::(anonymous namespace)::fill_reverse_indices_kernel(long*, int)", {"role": "fill"}),
        (
            "void at_cuda_detail::cub::DeviceScanKernel<at::native::Policy, float*>(float*)",
            {"family": "cub", "role": "scan"},
        ),
        ("void gemvNSP_kernel<__half, __half, __half, float, 1, 32, 4, 1024, false, P>(P)", {"role": "gemv"}),
        (
            "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, float, "
            "float, at::native::binary_internal::DivFunctor<float> > >(int)",
            {"ops": ["div"], "dtypes": dict.fromkeys(("a", "b", "out", "accumulate"))},  # it casts as it loads
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_kinds_of_names_that_were_said_wrong(name, states):
    decoded = decode(name)
    assert {key: decoded.get(key) for key in states} == states


@pytest.mark.parametrize(
    "part",
    ["<", "(", "<(", "operator<", "a::", "_", "_kernel", "add_", "1a", "9", "{lambda(", "f16_", "c10::complex<", "a "],
)
@pytest.mark.parametrize(
    "start", ["", "_ZN", "void at::native::elementwise_kernel<", "cutlass3x_sm90_tensorop_gemm_", "void k<"]
)
def test_names_made_to_be_slow_end(start, part):
    decoded = decode((start + part * MOST_CHARACTERS)[:MOST_CHARACTERS])
    assert decoded is None or set(decoded["dtypes"]) == {"a", "b", "out", "accumulate"}
