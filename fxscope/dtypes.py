"""The dtypes of torch: name, the short name that FX prints (`torch.utils._dtype_abbrs`), bytes of an element; how shapes
are printed.

How libraries spell them in the names of their kernels is `kernel_names/tables.py`'s.
"""

from __future__ import annotations

import re

_TABLE = """
bool b8 1
uint8 u8 1
uint16 u16 2
uint32 u32 4
uint64 u64 8
int8 i8 1
int16 i16 2
int32 i32 4
int64 i64 8
float16 f16 2
bfloat16 bf16 2
float32 f32 4
float64 f64 8
complex32 c32 4
complex64 c64 8
complex128 c128 16
float8_e4m3fn f8e4m3fn 1
float8_e5m2 f8e5m2 1
float8_e4m3fnuz f8e4m3fnuz 1
float8_e5m2fnuz f8e5m2fnuz 1
float8_e8m0fnu f8e8m0fnu 1
float4_e2m1fn_x2 f4e2m1fnx2 1
"""
_ROWS = [row.split() for row in _TABLE.strip().splitlines()]
ITEM_BYTES = {name: int(size) for name, _, size in _ROWS}
_SHORT = {name: word for name, word, _ in _ROWS}
_LONG = {word: name for name, word, _ in _ROWS}


def short_dtype(name: str | None) -> str:
    """A dtype the way FX prints it: "bf16"; "?" where it is not known."""
    return "?" if name is None else _SHORT.get(name, name)


def long_dtype(word: str) -> str:
    """Torch's name of a dtype that FX printed: "bfloat16" of "bf16"."""
    return _LONG.get(word, word)


def short_tensor(shape: tuple[int | str, ...] | None, dtype: str | None) -> str:
    """A tensor's dtype and shape the way FX prints it: "bf16[64,128,3072]"."""
    return f"{short_dtype(dtype)}[{','.join(map(str, shape or ()))}]"


def read_sizes(text: str) -> tuple[int | str, ...]:
    """The shape that was printed as `64, s0, 3072`; what is no number that a tensor can have stays text."""
    parts = (part.strip() for part in text.split(","))
    return tuple(int(part) if re.fullmatch(r"-?[0-9]{1,19}", part) else part for part in parts if part)
