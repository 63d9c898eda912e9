"""The dtypes of libraries, in torch's words."""

from __future__ import annotations

import re

from fxscope.kernel_names.tables import tables

_CPP: dict[str, str] = tables()["dtypes"]["cpp"]  # C++ types in template arguments
_WORDS: dict[str, str | None] = tables()["dtypes"]["words"]  # of GEMM and convolution names
# One letter each: BLAS's s, d, h, c, z, i, and cuBLASLt's own for the narrow types
LETTERS: dict[str, str] = tables()["dtypes"]["letters"]
_COMPLEX = {"float32": "complex64", "float64": "complex128", "float16": "complex32"}
_WORD_PATTERN = "|".join(sorted(_WORDS, key=len, reverse=True))


def of_cpp(text: str | None) -> str | None:
    """Return the dtype of a C++ type such as `c10::BFloat16 const*`, `None` where it is none."""
    if not text:
        return None
    base = re.sub(r"\b(const|volatile|__restrict__|struct)\b|[*&]", "", text).strip()
    if base.startswith(("c10::complex<", "thrust::complex<", "cutlass::complex<", "std::complex<")):
        return _COMPLEX.get(of_cpp(base[base.index("<") + 1 :].rstrip("> ")) or "")
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
    return {"a": a, "b": b, "out": out, "accumulate": accumulate}
