"""Chooses the kernel of `scaled_dot_product_attention` as a CUDA build of torch would.

A CUDA build asks the device in C++ (`aten/src/ATen/native/transformers/cuda/sdp_utils.cpp`, `sdp_utils_cpp.h`). These are the
constraints there that dense tensors on an NVIDIA device can meet, held against 3,996 choices of an H200
(`tests/target/test_sdpa.py`). The other machine's cuDNN is not known: each choice is noted as an assumption.
"""

import contextlib
import os
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch.backends import cuda
from torch.nested._internal import sdpa as jagged
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.torch_version import TorchVersion

from fxscope._torch.target.plan import Plan

_HALF = (torch.float16, torch.bfloat16)
_DEFAULT_ORDER = ("flash", "efficient", "math", "cudnn")
_BACKENDS = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn"}  # at::SDPBackend
_LATENT = (192, 128)  # DeepSeek's head sizes of query and value


@contextlib.contextmanager
def choice(plan: Plan) -> Generator[None]:
    """Let the target's rules decide wherever the op is decomposed (in AOTAutograd and in Inductor's patterns)."""
    op: Any = torch.ops.aten.scaled_dot_product_attention.default
    dispatch_key = torch._C.DispatchKey.CompositeImplicitAutograd
    rules = Rules.installed()
    order = priority_order(plan.gpu.capability)
    asked: Any = partial(AttentionCall, plan.gpu.capability, rules)

    def assume(backend: str, call: AttentionCall) -> None:
        shape, (major, minor) = "×".join(str(size) for size in call.query.shape), plan.gpu.capability
        plan.assume(
            "sdpa backend",
            f"{backend} for [{shape}] {str(call.query.dtype).removeprefix('torch.')}",
            f"torch chooses it on the device; these are its rules for compute capability {major}.{minor} with a recent cuDNN",
        )

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
        unbatched = rules.recent and query.dim() == key.dim() == value.dim() == 3  # such get a batch of one first
        if unbatched:
            query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
            while attn_mask is not None and attn_mask.dim() < 4:
                attn_mask = attn_mask.unsqueeze(0)
        call = asked(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa)
        assume(backend := select(call, order), call)
        result = _run(backend, call, scale)
        return result.squeeze(0) if unbatched else result

    def takes_jagged(backend: str, params: Any, debug: bool = False) -> bool:
        rows = [tensor._values.unsqueeze(0) for tensor in (params.query, params.key, params.value)]
        call = asked(*rows, params.attn_mask, params.dropout, params.is_causal)
        if found := is_usable(backend, call):
            assume(backend, call)
        return found

    checks: Any = {f"can_use_{name}_attention": partial(takes_jagged, name) for name in ("flash", "efficient")}
    try:
        with mock.patch.dict(op.py_kernels, {dispatch_key: attention}), mock.patch.multiple(jagged, **checks):
            op._dispatch_cache.clear()
            yield
    finally:
        op._dispatch_cache.clear()


class Rules(NamedTuple):
    """Differences between releases in compiled code: those that the CPU's chooser shares are asked of it."""

    sixteenths: bool  # cuDNN takes a dropout of n/16 only (2.12)
    # 2.14: heads of 256 need cuDNN 9.22.1; inputs of three dimensions are taken; the memory-efficient kernel takes grouped
    # queries and wants aligned offsets; one head of keys and values is broadcast.
    recent: bool

    @classmethod
    def installed(cls) -> "Rules":
        query, one_head = (torch.zeros(1, heads, 8, 8, device="cpu") for heads in (2, 1))
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            recent = torch._fused_sdp_choice(query, one_head, one_head) == SDPBackend.FLASH_ATTENTION.value
        # Only CUDA's library has cuDNN's rules, and nothing that a CPU build has changed with this one.
        return cls(sixteenths=TorchVersion(torch.__version__) >= "2.12", recent=recent)


@dataclass(frozen=True)
class AttentionCall:
    """One call of the op on a device of a compute capability: `sdp_params` of the C++."""

    capability: tuple[int, int]
    rules: Rules
    query: Any
    key: Any
    value: Any
    mask: Any = None
    dropout: float = 0.0
    causal: bool = False
    gqa: bool = False

    @property
    def tensors(self) -> tuple[Any, Any, Any]:
        return self.query, self.key, self.value

    @property
    def heads(self) -> tuple[int, int]:
        """Elements of a head of the query and of the value."""
        return self.query.size(-1), self.value.size(-1)

    @property
    def needs_grad(self) -> bool:
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in self.tensors)

    def has_dtype(self, *allowed: torch.dtype) -> bool:
        """Return whether all three are of one allowed dtype; before sm_80 bfloat16 is not."""
        kept = [dtype for dtype in allowed if self.capability[0] >= 8 or dtype != torch.bfloat16]
        return self.query.dtype in kept and all(tensor.dtype == self.query.dtype for tensor in self.tensors)

    def is_dense(self, *, one_element: bool) -> bool:
        """Return whether there is something to attend to, along rows without gaps; `one_element`: or heads of one."""
        if any(tensor.dim() != 4 for tensor in self.tensors) or 0 in (self.query.size(-2), self.key.size(-2)):
            return False
        if self.mask is not None and self.mask.stride(-1) != 1:  # such as one expanded in its last dimension
            return False
        return (one_element and self.heads[0] == 1) or all(tensor.stride(-1) == 1 for tensor in self.tensors)

    def has_heads(self, *, grouped: bool, differing: bool = False) -> bool:
        """Return whether batches and heads agree; `grouped`: queries may share keys; `differing`: keys and values apart."""
        if not self.query.size(0) == self.key.size(0) == self.value.size(0):
            return False
        queries, keys, values = (tensor.size(-3) for tensor in self.tensors)
        if self.gqa and grouped:
            return (differing or keys == values) and min(keys, values) > 0 and queries % keys == queries % values == 0
        return queries == keys == values or (self.rules.recent and queries > 0 and keys == values == 1)


def cudnn_version() -> int:
    """The version of cuDNN as it writes it (91900); a build without it counts as one with a recent one."""
    return torch.backends.cudnn.version() or 92600


def priority_order(capability: tuple[int, int]) -> tuple[str, ...]:
    """The backends in the order in which torch tries them, the user's (`sdpa_kernel(…, set_priority=True)`) first."""
    asked = getattr(torch._C, "_get_sdp_priority_order", None)
    order = tuple(_BACKENDS[number] for number in asked() if number in _BACKENDS) if asked else _DEFAULT_ORDER
    major, minor = capability
    prefers_cudnn = (  # `check_prefer_cudnn_attention`
        os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") != "1"
        and cudnn_version() > 91500
        and major in (9, 10)
        and (minor in (0, 3) or (torch.version.cuda or "13") >= "13")
    )
    return ("cudnn", "flash", "efficient", "math") if order == _DEFAULT_ORDER and prefers_cudnn else order


def select(call: AttentionCall, order: tuple[str, ...]) -> str:
    for backend in order:
        if is_usable(backend, call):
            return backend
    raise RuntimeError("No available kernel. Aborting execution.")  # torch's own words


def is_usable(backend: str, call: AttentionCall) -> bool:
    """Return whether a kernel takes the call, as `torch.backends.cuda.can_use_*` says on the device."""
    if backend == "math":
        return cuda.math_sdp_enabled()
    return {"cudnn": _cudnn, "flash": _flash, "efficient": _efficient}[backend](call)


def _flash(call: AttentionCall) -> bool:
    size, capability = call.heads[0], call.capability
    # On sm 8.6 to 8.9 and 12.0 to 12.1 the backward has limits of its own.
    is_small = (8, 6) <= capability <= (8, 9) or capability >= (12, 0)
    return (
        cuda.flash_sdp_enabled()
        and (8, 0) <= capability <= (12, 1)
        and call.has_dtype(*_HALF)
        and call.mask is None
        and call.is_dense(one_element=True)
        and call.has_heads(grouped=True)
        and size == call.key.size(-1) == call.heads[1] <= 256
        and not (call.needs_grad and is_small and size > 192 and (call.dropout != 0 or size <= 224))
        and (not call.causal or call.query.size(-2) == call.key.size(-2))
    )


def _efficient(call: AttentionCall) -> bool:
    major = call.capability[0]
    # How many elements its rows are multiples of: `minimum_gemm_alignment`.
    half = call.query.dtype in _HALF
    aligned = (8 if half else 4) if major >= 8 or (major == 7 and half) else 1
    return (
        cuda.mem_efficient_sdp_enabled()
        and (5, 0) <= call.capability <= (12, 1)
        and call.has_dtype(*_HALF, torch.float32)
        and call.is_dense(one_element=False)
        and call.has_heads(grouped=call.rules.recent)
        and call.heads[0] == call.key.size(-1)
        and all(size > 0 and size % aligned == 0 for size in call.heads)
        and not (
            call.rules.recent and major >= 8 and any(t.numel() and t.storage_offset() % aligned for t in call.tensors)
        )
    )


def _cudnn(call: AttentionCall) -> bool:
    queries, keys = call.query.size(-2), call.key.size(-2)
    return (
        cuda.cudnn_sdp_enabled()
        and (8, 0) <= call.capability <= (12, 1)
        and call.has_dtype(*_HALF)
        and call.is_dense(one_element=True)
        and call.has_heads(grouped=True, differing=True)
        and torch.get_deterministic_debug_mode() != 2
        and not (call.dropout > 0 and 91100 < cudnn_version() < 91400)  # 9.11 to 9.13 have no dropout
        and (not call.rules.sixteenths or (call.dropout * 16).is_integer())
        and not (call.dropout != 0 and queries == 1)
        and keys != 1
        and _has_cudnn_mask(call)
        and _has_cudnn_heads(call)
    )


def _has_cudnn_mask(call: AttentionCall) -> bool:
    """A mask that wants a gradient goes elsewhere; the others broadcast to [batch, heads, queries, keys]."""
    mask = call.mask
    if mask is None:
        return True
    batch, heads, queries, keys = *call.query.shape[:3], call.key.size(2)
    if mask.requires_grad or mask.size(-2) not in (queries, 1) or mask.size(-1) not in (keys, 1):
        return False
    return mask.dim() == 2 or (mask.dim() == 4 and mask.size(0) in (1, batch) and mask.size(1) in (1, heads))


def _has_cudnn_heads(call: AttentionCall) -> bool:
    version, (major, _), is_hopper = cudnn_version(), call.capability, call.capability == (9, 0)
    limit = 192 if major == 10 and version >= 91100 and call.heads == _LATENT else 128
    if not call.rules.recent:
        limit = 256 if is_hopper and version >= 91000 else limit
    else:
        has_256 = (is_hopper or major == 10) and version > (92500 if call.capability == (10, 7) else 92200)
        if max(call.query.size(0), call.query.size(1)) > 65535:
            return False
        if has_256 and call.needs_grad and max(call.heads) > 128 and call.heads not in (_LATENT, (256, 256)):
            return False
        limit = 256 if has_256 else 192 if is_hopper and version >= 91100 and call.heads == _LATENT else limit
    return max(call.heads) <= limit and not any(size % 8 for size in call.heads)


# ---------------------------------------------------------------------- what each kernel is given


def _run(backend: str, call: AttentionCall, scale: float | None) -> Any:
    """Call the kernel's op as torch does: with its form of the mask, and rows that it takes."""
    aten, (q, k, v), mask, dropout, causal = torch.ops.aten, call.tensors, call.mask, call.dropout, call.causal
    if backend == "math":
        mask = _added_mask(q, mask, float("-inf"))
        options = {"scale": scale, "enable_gqa": call.gqa}
        return aten._scaled_dot_product_attention_math(q, k, v, mask, dropout, causal, **options)[0]
    if backend == "efficient":
        mask = _efficient_mask(q, k, mask)
        op = aten._scaled_dot_product_efficient_attention
        return op(q, k, v, mask, call.needs_grad, dropout, causal, scale=scale)[0]
    if backend == "cudnn":
        # -65504, half precision's lowest, where the others get -inf: seen on an H200 with 2.11.
        mask = _added_mask(q, mask, -65504.0)
        op = aten._scaled_dot_product_cudnn_attention
        return op(q, k, v, mask, call.needs_grad, dropout, causal, False, scale=scale)[0]
    size = q.size(-1)
    padding = -size % 8
    if padding:
        scale = scale if scale is not None else size**-0.5
        q, k, v = (torch.nn.functional.pad(tensor, (0, padding)) for tensor in (q, k, v))
    out = aten._scaled_dot_product_flash_attention(q, k, v, dropout, causal, False, scale=scale)[0]
    return out[..., :size] if padding else out


def _added_mask(query: Any, mask: Any, lowest: float) -> Any:
    """Each kernel adds its mask: a boolean one becomes zeros and the lowest number that the backend is given."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    forbidden = torch.scalar_tensor(lowest, dtype=query.dtype, device=query.device)
    allowed = torch.scalar_tensor(0.0, dtype=query.dtype, device=query.device)
    return torch.where(mask, allowed, forbidden)


def _efficient_mask(query: Any, key: Any, mask: Any) -> Any:
    """The memory-efficient kernel's mask has aligned rows (padded where they are not) and is expanded to every head."""
    mask = _added_mask(query, mask, float("-inf"))
    if mask is None:
        return None
    if mask.stride(-1) != 1 or any(stride % 8 for stride in mask.stride()[:-1]):
        size = mask.size(-1)
        mask = torch.nn.functional.pad(mask, (0, 8 - size % 8))[..., :size]
    return mask.expand(query.size(0), query.size(1), query.size(2), key.size(2))
