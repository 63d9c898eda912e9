"""What a kernel's name says about it: family, role, dtypes, layout, tile, epilogue, stages. What it does not say is None.

`decode` never guesses: a field is filled only from letters that state it. The conventions were read off kernels of known
operands on an H200 (139 of them are in the tests), and from the sources of CUTLASS, ATen, Triton's Inductor templates,
Tensile and NCCL.
"""

from __future__ import annotations

from typing import Any

from fxscope.kernel_names import aten, gemm, triton
from fxscope.kernel_names.roles import family_of, role_of

KEYS = ("family", "role", "arch", "dtypes", "layout", "tile", "epilogue", "split_k", "stages")


def decode(name: str) -> dict[str, Any] | None:
    """Return what a name says, `None` for a name that says nothing.

    Keys: family, role, arch ("sm90"), dtypes (a, b, out, accumulate), layout ("TN": the BLAS pair in column-major
    convention), tile ([M, N]), epilogue, split_k, stages; and where the name states them tile_k, cluster, functor,
    vector_width, ops, direction, collective, algorithm, protocol, math.
    """
    name = name.strip()
    if not name:
        return None
    found: dict[str, Any] | None = None
    for reader in (gemm.read, triton.read, aten.read):
        found = reader(name)
        if found is not None:
            break
    role = (found or {}).get("role") or role_of(name)
    if found is None and role == "other" and family_of(name) == "other":
        return None
    result: dict[str, Any] = dict.fromkeys(KEYS)
    result.update(found or {"family": family_of(name)})
    result["role"] = role
    if result["split_k"] is None and role in ("gemm", "gemv", "convolution", "split_k_reduce"):
        result["split_k"] = "splitk" in name.lower() or "split_k" in name.lower()
    return result
