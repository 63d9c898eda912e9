"""Numbers and names for people: text_cases.json is held for the page's text.js by tests/js/text.test.mjs."""

import json
from pathlib import Path

import pytest

from fxscope import text

CASES = json.loads(Path(__file__).with_name("text_cases.json").read_text())
PYTHON = {
    "microseconds": text.microseconds,
    "bytes": text.num_bytes,
    "rate": text.rate,
    "flop": text.flop,
    "flops": lambda value: text.rate(value, "FLOP/s"),
    "share": text.percent,
    "roof": text.roof_share,
    "ofRoof": text.of_roof,
    "plural": text.counted,
    "shorten": text.shorten,
}


@pytest.mark.parametrize("kind", CASES)
def test_python_writes_the_table(kind):
    assert [PYTHON[kind](*row[:-1]) for row in CASES[kind]] == [row[-1] for row in CASES[kind]]


def test_a_change_has_its_sign():
    assert [text.percent(x, signed=True) for x in (0.12, -0.034, 0.0)] == ["+12 %", "-3.4 %", "0 %"]


@pytest.mark.parametrize(
    ("items", "prose"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abc"), "a, b and c"), (list("abcd"), "a, b and 2 more")],
)
def test_lists_in_prose(items, prose):
    assert text.listed(items, limit=2 if len(items) == 4 else 6) == prose


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("triton_poi_fused_gelu_mul_0", "triton_poi_fused_gelu_mul_0"),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"),
        ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
            "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
            "vectorized_elementwise_kernel<add>",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
            "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)",
            "vectorized_elementwise_kernel<mul>",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x6_tn_align8>(Params)",
            "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x6_tn_align8",
        ),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)", "splitKreduce_kernel"),
        ("graph_0_cpp_fused_gelu_mul_0", "cpp_fused_gelu_mul_0"),  # as its call is named, and in every view
    ],
)
def test_kernel_names_keep_what_tells_them_apart(name, short):
    assert text.kernel_name(name) == short
    assert len(text.kernel_name(name, 20)) <= 20


def test_where_room_is_short_what_a_kernel_applies_stays():
    name = "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)::x>(int)"
    assert text.kernel_name(name, 24) == "vectorized_…kernel<gelu>"
    assert text.shorten("·".join(["mul"] * 200_000), 14) == "mul·mul·…·mul"  # in linear time
