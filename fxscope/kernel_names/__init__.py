"""Decode kernel names. Standard library only; fields that a name does not contain are `None`.

    decode("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT")["layout"]      # "TN"

`layout` is the BLAS pair in column-major convention: `TN` for `x[M,K] @ w` with `w` a transposed view. A fused Triton kernel's
name can list an op that runs elsewhere, and `f16` in a cuDNN attention kernel means sixteen bits of either kind.
"""

from functools import lru_cache
from typing import Any

from fxscope.kernel_names import aten, gemm, tables, triton, vendors

__all__ = ["ROLES", "decode"]

ROLES = tuple(tables.tables()["role_names"])
# The longest of the names in tests has 2,000; time grows with the square of a name made to be slow.
MOST_CHARACTERS = 8192
_KEYS = ("family", "role", "arch", "dtypes", "layout", "tile", "epilogue", "split_k", "stages")
_BY_GRAMMAR = (vendors.memory, vendors.collective, triton.inductor, vendors.attention, gemm.decode)
_DECODERS = (*_BY_GRAMMAR, vendors.cudnn, vendors.rocm, aten.decode, vendors.other, triton.user)


def decode(name: str) -> dict[str, Any] | None:
    """Return what a kernel's name says, `None` for an empty name; of a very long one, what its beginning says.

    The keys of SCHEMA's `decoded` and `role` are always there; others (`tile_k`, `cluster`, `functor`, `vector_width`,
    `ops`, …) where the name has them. `guess` is true where family and role are guessed from words.
    """
    name = " ".join(name[:MOST_CHARACTERS].split())
    if not name:
        return None
    return {key: dict(value) if isinstance(value, dict) else value for key, value in _decode(name).items()}


@lru_cache(maxsize=4096)
def _decode(name: str) -> dict[str, Any]:
    found = next((found for decoder in _DECODERS if (found := decoder(name)) is not None), {})
    result: dict[str, Any] = {**dict.fromkeys(_KEYS), "dtypes": tables.dtypes(), "role": "other", **found}
    assert result["role"] in ROLES
    return result
