"""The words of kernel names, `data/kernel_names.json`: patterns, rules, of which the first found decides, and dtypes."""

import re
from functools import cache, lru_cache
from typing import Any

from fxscope.data import read_table


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    return read_table("kernel_names.json")


def pattern(name: str) -> re.Pattern[str]:
    return re.compile("".join(tables()["patterns"][name]))


@cache
def rules(table: str, name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the compiled rules of `tables()[table][name]`: (pattern, value)."""
    return tuple((re.compile(pattern), value) for pattern, value in tables()[table][name])


def first(table: str, name: str, text: str) -> str | None:
    return next((value for pattern, value in rules(table, name) if pattern.search(text)), None)


def role(name: str, text: str) -> str | None:
    return first("roles", name, text)


def direction(name: str, text: str) -> dict[str, str]:
    """Return `{"direction": …}`, empty where no rule is met."""
    found = first("directions", name, text)
    return {"direction": found} if found else {}


def family(name: str, text: str) -> str | None:
    """Return the first family whose word (`vllm::`) is in the text."""
    return next((word.rstrip(":") for word in tables()["families"][name] if word in text), None)


_CPP: dict[str, str] = tables()["dtypes"]["cpp"]  # C++ types in template arguments
WORDS: dict[str, str | None] = tables()["dtypes"]["words"]  # of GEMM and convolution names
# One letter each: BLAS's s, d, h, c, z, i, and cuBLASLt's own for the narrow types
LETTERS: dict[str, str] = tables()["dtypes"]["letters"]
_COMPLEX = {"float32": "complex64", "float64": "complex128", "float16": "complex32"}
_WORD_PATTERN = "|".join(sorted(WORDS, key=len, reverse=True))


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
    return WORDS.get(word or "")


def pair(text: str) -> tuple[str, str] | None:
    """Split `bf16f32` into its two words, `None` where it is not two dtypes."""
    found = re.fullmatch(rf"({_WORD_PATTERN})({_WORD_PATTERN})", text)
    return (found[1], found[2]) if found else None


def dtypes(
    a: str | None = None, b: str | None = None, out: str | None = None, accumulate: str | None = None
) -> dict[str, str | None]:
    return {"a": a, "b": b, "out": out, "accumulate": accumulate}
