"""How libraries spell dtypes, in torch's words."""

from __future__ import annotations

import re

# C++ types in template arguments
_CPP = {
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "long": "int64",
    "long int": "int64",
    "long long": "int64",
    "short": "int16",
    "short int": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "char": "int8",
    "bool": "bool",
    "unsigned short": "uint16",
    "unsigned int": "uint32",
    "unsigned long": "uint64",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "int16_t": "int16",
    "int32_t": "int32",
    "int64_t": "int64",
    "half": "float16",
    "__half": "float16",
    "_Float16": "float16",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "bfloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "hip_bfloat16": "bfloat16",
    "__hip_bfloat16": "bfloat16",
    "bf16_t": "bfloat16",
    "fp16_t": "float16",
    "half_t": "float16",
    "bfloat16_t": "bfloat16",
    "tfloat32_t": "float32",
    "float_e4m3_t": "float8_e4m3fn",
    "float_e5m2_t": "float8_e5m2",
    "float_e2m1_t": "float4_e2m1fn",
    "__nv_fp8_e4m3": "float8_e4m3fn",
    "__nv_fp8_e5m2": "float8_e5m2",
    "Float8_e4m3fn": "float8_e4m3fn",
    "Float8_e5m2": "float8_e5m2",
    "Float8_e4m3fnuz": "float8_e4m3fnuz",
    "Float8_e5m2fnuz": "float8_e5m2fnuz",
    "cuComplex": "complex64",
    "cuFloatComplex": "complex64",
    "cuDoubleComplex": "complex128",
    "float2": "complex64",
    "double2": "complex128",
    "int4b_t": "int4",
    "uint4b_t": "uint4",
    "__nv_fp4_e2m1": "float4_e2m1fn",
}

# Words of GEMM and convolution names
_WORDS = {
    "f16": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "fp32": "float32",
    "f64": "float64",
    "fp64": "float64",
    "tf32": "float32",
    "i8": "int8",
    "s8": "int8",
    "u8": "uint8",
    "int8": "int8",
    "uint8": "uint8",
    "s4": "int4",
    "u4": "uint4",
    "i4": "int4",
    "int4": "int4",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "s32": "int32",
    "int32": "int32",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e2m1": "float4_e2m1fn",
    "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn",
    "cf32": "complex64",
    "cf64": "complex128",
    "b1": "bool",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float32": "float32",
    "fp8": None,
    "f8": None,
    "void": None,
    "ue4m3": "float8_e4m3fn",
}

# One letter each: BLAS's s, d, h, c, z, i, and cuBLASLt's own for the narrow types
LETTERS = {
    "s": "float32",
    "d": "float64",
    "h": "float16",
    "t": "bfloat16",
    "c": "complex64",
    "z": "complex128",
    "i": "int32",
    "q": "float8_e4m3fn",
    "r": "float8_e5m2",
    "b": "int8",
}

_WORD_PATTERN = "|".join(sorted(_WORDS, key=len, reverse=True))


def of_cpp(text: str | None) -> str | None:
    """Return the dtype of a C++ type such as `c10::BFloat16 const*`, `None` where it is none."""
    if not text:
        return None
    base = re.sub(r"\b(const|volatile|__restrict__|struct)\b|[*&]", "", text).strip()
    if base.startswith(("c10::complex<", "thrust::complex<", "cutlass::complex<", "std::complex<")):
        inner = of_cpp(base[base.index("<") + 1 :].rstrip("> "))
        return {"float32": "complex64", "float64": "complex128", "float16": "complex32"}.get(inner or "")
    base = re.sub(r"\s+", " ", base)
    return _CPP.get(base) or _CPP.get(base.rsplit("::", 1)[-1])


def of_word(word: str | None) -> str | None:
    """Return the dtype of a word such as `bf16` or `e4m3`."""
    return _WORDS.get(word or "")


def is_word(word: str) -> bool:
    return word in _WORDS


def pair(text: str) -> tuple[str, str] | None:
    """Split `bf16f32` into its two words, `None` where it is not two dtypes."""
    found = re.fullmatch(rf"({_WORD_PATTERN})({_WORD_PATTERN})", text)
    return (found[1], found[2]) if found else None


def dtypes(
    a: str | None = None, b: str | None = None, out: str | None = None, accumulate: str | None = None
) -> dict[str, str | None]:
    """Return the `dtypes` value of a decoded name."""
    return {"a": a, "b": b, "out": out, "accumulate": accumulate}
