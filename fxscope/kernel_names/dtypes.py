"""Spellings of dtypes in kernel names."""

from __future__ import annotations

import re

# C++ spellings in demangled templates
CPP = {
    "c10::BFloat16": "bfloat16", "__nv_bfloat16": "bfloat16", "cutlass::bfloat16_t": "bfloat16", "nv_bfloat16": "bfloat16",
    "hip_bfloat16": "bfloat16", "__hip_bfloat16": "bfloat16", "at::BFloat16": "bfloat16", "BFloat16": "bfloat16",
    "c10::Half": "float16", "__half": "float16", "cutlass::half_t": "float16", "half": "float16", "at::Half": "float16",
    "float": "float32", "double": "float64", "long": "int64", "long long": "int64", "int": "int32", "short": "int16",
    "signed char": "int8", "char": "int8", "unsigned char": "uint8", "bool": "bool", "cutlass::tfloat32_t": "tf32",
    "c10::Float8_e4m3fn": "float8_e4m3fn", "__nv_fp8_e4m3": "float8_e4m3fn", "cutlass::float_e4m3_t": "float8_e4m3fn",
    "c10::Float8_e5m2": "float8_e5m2", "__nv_fp8_e5m2": "float8_e5m2", "cutlass::float_e5m2_t": "float8_e5m2",
    "c10::complex<float>": "complex64", "c10::complex<double>": "complex128", "float2": "complex64", "double2": "complex128",
    "int8_t": "int8", "uint8_t": "uint8", "int32_t": "int32", "int64_t": "int64", "unsigned int": "uint32",
}  # fmt: skip
# Words in mangled-by-underscore names
WORDS = {
    "bf16": "bfloat16", "b16": "bfloat16", "bfloat16": "bfloat16", "f16": "float16", "fp16": "float16", "half": "float16",
    "h": "float16", "f32": "float32", "fp32": "float32", "s": "float32", "float": "float32", "tf32": "tf32", "f64": "float64",
    "d": "float64", "s8": "int8", "i8": "int8", "u8": "uint8", "s32": "int32", "i32": "int32", "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2", "fp8": None, "z": "complex128", "c": "complex64", "cf32": "complex64", "cf64": "complex128",
}  # fmt: skip
# cuBLAS nvjet spells each operand with one letter
NVJET = {
    "t": "bfloat16", "h": "float16", "s": "float32", "d": "float64", "q": "float8_e4m3fn", "r": "float8_e5m2", "i": "int32",
    "b": "int8", "o": "float4_e2m1fn", "e": "float8_e8m0fnu", "c": "complex64", "z": "complex128",
}  # fmt: skip

_TOKEN = re.compile("|".join(sorted((re.escape(word) for word in CPP if len(word) > 3), key=len, reverse=True)))


def first_of(text: str) -> str | None:
    """Return the first dtype that is spelled in C++ in a piece of a name."""
    found = re.search(r"(?<![\w:])(" + _TOKEN.pattern + r")(?![\w])", text)
    return CPP[found[1]] if found else None


def all_of(text: str) -> list[str]:
    """Return every dtype that is a template argument of its own, in order."""
    return [CPP[item] for item in (part.strip() for part in split_arguments(text)) if item in CPP]


def split_arguments(text: str) -> list[str]:
    """Split template arguments at the commas that are outside brackets."""
    parts: list[str] = []
    depth, start = 0, 0
    for position, char in enumerate(text):
        if char in "<({[":
            depth += 1
        elif char in ">)}]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return parts


def template_arguments(name: str, template: str) -> list[str]:
    """Return the arguments of the first `template<…>` in a name, `[]` where it has none."""
    start = name.find(template + "<")
    if start < 0:
        return []
    begin = start + len(template) + 1
    depth = 1
    for position in range(begin, len(name)):
        if name[position] == "<":
            depth += 1
        elif name[position] == ">" and name[position - 1] != "-":
            depth -= 1
            if depth == 0:
                return [part.strip() for part in split_arguments(name[begin:position])]
    return [part.strip() for part in split_arguments(name[begin:])]
