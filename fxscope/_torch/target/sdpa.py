"""Chooses the kernel of `scaled_dot_product_attention` as a CUDA build of torch would.

A CUDA build asks the device in C++ (`aten/src/ATen/native/transformers/cuda/sdp_utils.cpp`); a CPU build has no such
code and decomposes the op into GEMMs. The rules below are that file's, for dense tensors. Which library
versions the other machine has is not known here, so each choice is noted as an assumption.
"""

# torch's insides are untyped: what comes from there is Any.

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Generator

    from fxscope._torch.target.simulate import Plan, Target

_HALF = (torch.float16, torch.bfloat16)


@contextlib.contextmanager
def choice(target: Target, plan: Plan) -> Generator[None]:
    """Let the target's rules decide wherever the op is decomposed (in AOTAutograd and in Inductor's patterns)."""
    op: Any = torch.ops.aten.scaled_dot_product_attention.default
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    before = op.py_kernels.get(key)

    def attention(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: Any = None,
        enable_gqa: bool = False,
    ) -> Any:
        arguments = (query, key, value, attn_mask, dropout_p, is_causal)
        backend = select(target.capability, *arguments, enable_gqa=enable_gqa)
        shape = "×".join(str(size) for size in query.shape)
        dtype = str(query.dtype).removeprefix("torch.")
        plan.assume(
            "sdpa backend",
            f"{backend} for [{shape}] {dtype}",
            f"torch chooses it on the device; these are its rules for compute capability {target.capability[0]}."
            f"{target.capability[1]} with a recent cuDNN",
        )
        return _CALLS[backend](*arguments, scale=scale, enable_gqa=enable_gqa)

    op.py_kernels[key] = attention
    op._dispatch_cache.clear()
    try:
        yield
    finally:
        if before is None:
            op.py_kernels.pop(key)
        else:
            op.py_kernels[key] = before
        op._dispatch_cache.clear()


def select(
    capability: tuple[int, int],
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    enable_gqa: bool = False,
) -> str:
    """Return "cudnn", "flash", "efficient" or "math"."""
    order = ("cudnn", "flash", "efficient") if capability[0] in (9, 10) else ("flash", "efficient")
    rules = {"cudnn": _cudnn, "flash": _flash, "efficient": _efficient}
    if query.dim() == 4 and key.dim() == 4 and value.dim() == 4 and capability[0] >= 8:
        for backend in order:
            if rules[backend](query, key, value, attn_mask, dropout_p, is_causal, enable_gqa):
                return backend
    return "math"


def _common(query: Any, key: Any, value: Any, enable_gqa: bool) -> bool:
    """Dense rules of every fused kernel: one batch size, matching heads, no empty sequence, unit last stride."""
    if any(tensor.stride(-1) != 1 and tensor.size(-1) != 1 for tensor in (query, key, value)):
        return False
    if query.size(-2) == 0 or key.size(-2) == 0:
        return False
    if not query.size(0) == key.size(0) == value.size(0):
        return False
    heads = [tensor.size(1) for tensor in (query, key, value)]
    if enable_gqa:
        return heads[1] == heads[2] and heads[0] % heads[1] == 0
    return heads[0] == heads[1] == heads[2]


def _cudnn(query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, gqa: bool) -> bool:
    d_query, d_value = query.size(-1), value.size(-1)
    return (
        torch.backends.cuda.cudnn_sdp_enabled()
        and torch.get_deterministic_debug_mode() != 2
        and query.dtype in _HALF
        and _common(query, key, value, gqa)
        and not (causal and mask is not None)
        and (dropout * 16).is_integer()
        and d_query <= 128
        and d_value <= 128
        and d_query % 8 == 0
        and d_value % 8 == 0
        and key.size(-2) != 1
        and not (dropout > 0 and query.size(-2) == 1)
    )


def _flash(query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, gqa: bool) -> bool:
    return (
        torch.backends.cuda.flash_sdp_enabled()
        and query.dtype in _HALF
        and mask is None
        and _common(query, key, value, gqa)
        and query.size(-1) == key.size(-1) == value.size(-1)
        and query.size(-1) <= 256
        and not (causal and query.size(-2) != key.size(-2))
    )


def _efficient(query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, gqa: bool) -> bool:
    alignment = 8 if query.dtype in _HALF else 4
    return (
        torch.backends.cuda.mem_efficient_sdp_enabled()
        and query.dtype in (*_HALF, torch.float32)
        and not gqa  # since torch 2.14 only
        and _common(query, key, value, gqa)
        and query.size(-1) == key.size(-1)
        and query.size(-1) % alignment == 0
        and value.size(-1) % alignment == 0
    )


def _added_mask(query: Any, mask: Any, lowest: float) -> Any:
    """A fused kernel adds its mask: a boolean one becomes zeros and the lowest number that the backend is given."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    forbidden = torch.scalar_tensor(lowest, dtype=query.dtype, device=query.device)
    allowed = torch.scalar_tensor(0.0, dtype=query.dtype, device=query.device)
    return torch.where(mask, allowed, forbidden)


def _needs_logsumexp(*tensors: Any) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _call_cudnn(
    q: Any, k: Any, v: Any, mask: Any, dropout: float, causal: bool, *, scale: Any, enable_gqa: bool
) -> Any:
    op = torch.ops.aten._scaled_dot_product_cudnn_attention
    # cuDNN is given -65504, half precision's lowest, where the others get -inf; seen on an H200 with torch 2.11.
    mask = _added_mask(q, mask, -65504.0)
    return op(q, k, v, mask, _needs_logsumexp(q, k, v), dropout, causal, False, scale=scale)[0]


def _call_flash(
    q: Any, k: Any, v: Any, mask: Any, dropout: float, causal: bool, *, scale: Any, enable_gqa: bool
) -> Any:
    size = q.size(-1)
    padding = -size % 8
    if padding:
        scale = scale if scale is not None else size**-0.5
        q, k, v = (torch.nn.functional.pad(tensor, (0, padding)) for tensor in (q, k, v))
    out = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, dropout, causal, False, scale=scale)[0]
    return out[..., :size] if padding else out


def _call_efficient(
    q: Any, k: Any, v: Any, mask: Any, dropout: float, causal: bool, *, scale: Any, enable_gqa: bool
) -> Any:
    op = torch.ops.aten._scaled_dot_product_efficient_attention
    # cuDNN is given -65504, half precision's lowest, where the others get -inf; seen on an H200 with torch 2.11.
    mask = _added_mask(q, mask, -65504.0)
    return op(q, k, v, mask, _needs_logsumexp(q, k, v), dropout, causal, scale=scale)[0]


def _call_math(q: Any, k: Any, v: Any, mask: Any, dropout: float, causal: bool, *, scale: Any, enable_gqa: bool) -> Any:
    op = torch.ops.aten._scaled_dot_product_attention_math
    return op(q, k, v, mask, dropout, causal, scale=scale, enable_gqa=enable_gqa)[0]


_CALLS = {"cudnn": _call_cudnn, "flash": _call_flash, "efficient": _call_efficient, "math": _call_math}
