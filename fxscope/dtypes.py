"""The dtypes of torch (`data/dtypes.txt`): name, the short name that FX prints (`torch.utils._dtype_abbrs`), bytes of an
element, and Triton's name where it is another (`torch._inductor.utils._type_of`); how shapes are printed.

How libraries spell them in the names of their kernels is `kernel_names/tables.py`'s.
"""

import re

from fxscope.data import read_text

_TABLE = read_text("dtypes.txt")
_ROWS = [row.split() for row in _TABLE.splitlines()]
ITEM_BYTES = {name: int(size) for name, _, size, *_ in _ROWS}
_SHORT = {name: word for name, word, *_ in _ROWS}
_LONG = {word: name for name, *words in _ROWS for word in words}


def long_dtype(word: str) -> str:
    """Torch's name of a dtype that FX or Triton printed: "bfloat16" of "bf16", "float8_e5m2" of "fp8e5"."""
    return _LONG.get(word, word)


def short_tensor(shape: tuple[int | str, ...] | None, dtype: str | None) -> str:
    """A tensor's dtype ("?" where it is not known) and shape the way FX prints it: "bf16[64,128,3072]"."""
    word = "?" if dtype is None else _SHORT.get(dtype, dtype)
    return f"{word}[{','.join(map(str, shape or ()))}]"


def read_sizes(text: str) -> tuple[int | str, ...]:
    """The shape that was printed as `64, s0, 3072`; what is no number that a tensor can have stays text."""
    parts = (part.strip() for part in text.split(","))
    return tuple(int(part) if re.fullmatch(r"-?[0-9]{1,19}", part) else part for part in parts if part)
