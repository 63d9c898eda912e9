"""Chooses the kernel of `scaled_dot_product_attention` as a CUDA build of torch would.

A CUDA build asks the device in C++ (`aten/src/ATen/native/transformers/cuda/sdp_utils.cpp`, `sdp_utils_cpp.h`); a CPU
build has no such code and decomposes the op into GEMMs. Here is each constraint of those files that dense tensors on an
NVIDIA device can meet, under its name there and in its order. What nobody can probe without that code, because it is
compiled into it (`_Rules`), goes by torch's version; which cuDNN the other machine has is not known, so each choice is
noted as an assumption.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.torch_version import TorchVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from fxscope._torch.target.simulate import Plan, Target

_HALF = (torch.float16, torch.bfloat16)
_DEFAULT_ORDER = ("flash", "efficient", "math", "cudnn")
_BACKENDS = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn"}  # at::SDPBackend


@contextlib.contextmanager
def choice(target: Target, plan: Plan) -> Generator[None]:
    """Let the target's rules decide wherever the op is decomposed (in AOTAutograd and in Inductor's patterns)."""
    op: Any = torch.ops.aten.scaled_dot_product_attention.default
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    before = op.py_kernels.get(key)
    rules = _Rules.of(torch.__version__)
    order = priority_order(target.capability)

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
        unbatched = rules.unbatched and query.dim() == key.dim() == value.dim() == 3
        if unbatched:
            query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
            while attn_mask is not None and attn_mask.dim() < 4:
                attn_mask = attn_mask.unsqueeze(0)
        arguments = (query, key, value, attn_mask, dropout_p, is_causal)
        backend = select(AttentionCall(target.capability, rules, *arguments, enable_gqa), order)
        shape = "×".join(str(size) for size in query.shape)
        dtype = str(query.dtype).removeprefix("torch.")
        plan.assume(
            "sdpa backend",
            f"{backend} for [{shape}] {dtype}",
            f"torch chooses it on the device; these are its rules for compute capability {target.capability[0]}."
            f"{target.capability[1]} with a recent cuDNN",
        )
        result = _CALLS[backend](*arguments, scale=scale, enable_gqa=enable_gqa)
        return result.squeeze(0) if unbatched else result

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


@dataclass(frozen=True)
class _Rules:
    """What differs between releases in code that a CPU build does not contain; checked against the CUDA wheels.

    Attributes:
        cudnn_dropout_sixteenths: cuDNN takes a dropout of n/16 only (2.12).
        head_256: cuDNN's limit of 256 needs cuDNN 9.22.1 and has a rule for the backward (2.14); before, any since 9.10.
        unbatched: three-dimensional inputs get a batch of one first (2.14).
        efficient_heads: the memory-efficient kernel takes grouped queries (2.14).
        one_head: keys and values of one head are broadcast without being asked to (2.14).
        aligned_offsets: the memory-efficient kernel wants aligned storage offsets (2.14).
    """

    cudnn_dropout_sixteenths: bool
    head_256: bool
    unbatched: bool
    efficient_heads: bool
    one_head: bool
    aligned_offsets: bool

    @classmethod
    def of(cls, version: str) -> _Rules:
        torch_version = TorchVersion(version)
        return cls(torch_version >= "2.12", *(torch_version >= "2.14" for _ in range(5)))


@dataclass(frozen=True)
class AttentionCall:
    """One call of the op on a device: `sdp_params` of the C++, and what it asks the device.

    Attributes:
        capability: the device's compute capability.
        rules: what differs between releases.
    """

    capability: tuple[int, int]
    rules: _Rules
    query: Any
    key: Any
    value: Any
    mask: Any = None
    dropout: float = 0.0
    causal: bool = False
    gqa: bool = False

    @property
    def tensors(self) -> tuple[Any, Any, Any]:
        """Query, key and value."""
        return self.query, self.key, self.value

    @property
    def needs_grad(self) -> bool:
        """Whether a backward will follow."""
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in self.tensors)


def cudnn_version() -> int:
    """The version of cuDNN as it writes it (91900); a build without it counts as one with a recent one."""
    return torch.backends.cudnn.version() or 92600


def priority_order(capability: tuple[int, int]) -> tuple[str, ...]:
    """The backends in the order in which torch tries them, the user's (`sdpa_kernel(…, set_priority=True)`) first."""
    asked = getattr(torch._C, "_get_sdp_priority_order", None)
    order = tuple(_BACKENDS[number] for number in asked() if number in _BACKENDS) if asked else _DEFAULT_ORDER
    if order == _DEFAULT_ORDER and prefers_cudnn(capability):
        return ("cudnn", "flash", "efficient", "math")
    return order


def prefers_cudnn(capability: tuple[int, int]) -> bool:
    """`check_prefer_cudnn_attention`."""
    major, minor = capability
    if os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") == "1" or cudnn_version() <= 91500 or major not in (9, 10):
        return False
    return minor in (0, 3) or (torch.version.cuda or "13") >= "13"


def select(call: AttentionCall, order: tuple[str, ...]) -> str:
    """ "cudnn", "flash", "efficient" or "math"."""
    for backend in order:
        if backend == "math":
            if torch.backends.cuda.math_sdp_enabled():
                return backend
        elif first_obstacle(backend, call) is None:
            return backend
    raise RuntimeError("No available kernel. Aborting execution.")  # torch's own words


def first_obstacle(backend: str, call: AttentionCall) -> str | None:
    """The first constraint that keeps a fused kernel from being used, None where it can be."""
    return next((rule.__name__ for rule in CONSTRAINTS[backend] if not rule(call)), None)


# ---------------------------------------------------------------------- constraints, with their names in torch


def check_runtime_disabled_cudnn(call: AttentionCall) -> bool:
    return torch.backends.cuda.cudnn_sdp_enabled()


def check_runtime_disabled_flash(call: AttentionCall) -> bool:
    return torch.backends.cuda.flash_sdp_enabled()


def check_runtime_disabled_mem_efficient(call: AttentionCall) -> bool:
    return torch.backends.cuda.mem_efficient_sdp_enabled()


def check_cudnn_dropout_version(call: AttentionCall) -> bool:
    """cuDNN 9.11 to 9.13 has no dropout."""
    return not (call.dropout > 0 and 91100 < cudnn_version() < 91400)


def check_tensor_shapes(call: AttentionCall) -> bool:
    return all(tensor.dim() == 4 for tensor in call.tensors)


def check_cudnn_deterministic(call: AttentionCall) -> bool:
    return torch.get_deterministic_debug_mode() != 2


def check_dtypes_low_precision(call: AttentionCall) -> bool:
    return _dtype_in(call, _HALF if call.capability[0] >= 8 else (torch.float16,))


def check_dtypes_mem_efficient(call: AttentionCall) -> bool:
    return _dtype_in(call, (*_HALF, torch.float32) if call.capability[0] >= 8 else (torch.float16, torch.float32))


def _dtype_in(call: AttentionCall, allowed: tuple[torch.dtype, ...]) -> bool:
    return call.query.dtype in allowed and all(tensor.dtype == call.query.dtype for tensor in call.tensors)


def check_attn_mask_shape(call: AttentionCall) -> bool:
    """A mask that wants a gradient goes elsewhere; the others broadcast to [batch, heads, queries, keys]."""
    mask = call.mask
    if mask is None:
        return True
    if mask.requires_grad:
        return False
    batch, heads, queries, keys = *call.query.shape[:3], call.key.size(2)
    if mask.size(-2) not in (queries, 1) or mask.size(-1) not in (keys, 1):
        return False
    return mask.dim() == 2 or (mask.dim() == 4 and mask.size(0) in (1, batch) and mask.size(1) in (1, heads))


def check_for_attn_mask(call: AttentionCall) -> bool:
    return call.mask is None


def check_cudnn_hardware_support(call: AttentionCall) -> bool:
    return (8, 0) <= call.capability <= (12, 1)


def check_flash_attention_hardware_support(call: AttentionCall) -> bool:
    return (8, 0) <= call.capability <= (12, 1)


def check_mem_efficient_hardware_support(call: AttentionCall) -> bool:
    return (5, 0) <= call.capability <= (12, 1)


def check_cudnn_dropout(call: AttentionCall) -> bool:
    return not call.rules.cudnn_dropout_sixteenths or (call.dropout * 16).is_integer()


def check_nonzero_sequence_lengths_dense(call: AttentionCall) -> bool:
    return call.query.size(-2) != 0 and call.key.size(-2) != 0


def check_last_dim_stride_equals_1_dense(call: AttentionCall) -> bool:
    """Query, key, value and mask; a mask that is expanded in its last dimension has stride 0."""
    return (call.query.size(-1) == 1 and _mask_stride(call)) or check_last_dim_stride_of_all(call)


def check_last_dim_stride_of_all(call: AttentionCall) -> bool:
    """The same, for the memory-efficient kernel, which makes no exception of a head of one element."""
    return all(tensor.stride(-1) == 1 for tensor in call.tensors) and _mask_stride(call)


def _mask_stride(call: AttentionCall) -> bool:
    return call.mask is None or call.mask.stride(-1) == 1


def check_batch_size_and_num_heads_dense(call: AttentionCall) -> bool:
    return _batch_and_heads(call, grouped=True, same_key_and_value=True)


def check_batch_size_and_num_heads_dense_cudnn(call: AttentionCall) -> bool:
    """cuDNN takes keys and values of different heads, as long as both divide the query's."""
    return _batch_and_heads(call, grouped=True, same_key_and_value=False)


def check_batch_size_and_num_heads_dense_mem_efficient(call: AttentionCall) -> bool:
    return _batch_and_heads(call, grouped=call.rules.efficient_heads, same_key_and_value=True)


def _batch_and_heads(call: AttentionCall, *, grouped: bool, same_key_and_value: bool) -> bool:
    if not call.query.size(0) == call.key.size(0) == call.value.size(0):
        return False
    queries, keys, values = (tensor.size(-3) for tensor in call.tensors)
    if call.gqa and grouped:
        if same_key_and_value and keys != values:
            return False
        return keys > 0 and values > 0 and queries % keys == 0 and (same_key_and_value or queries % values == 0)
    if call.rules.one_head and queries > 0 and keys == values == 1:
        return True
    return queries == keys == values


def check_cudnn_tensor_shapes(call: AttentionCall) -> bool:
    d_query, d_value = call.query.size(-1), call.value.size(-1)
    queries, keys = call.query.size(-2), call.key.size(-2)
    if call.rules.head_256 and max(call.query.size(0), call.query.size(1)) > 65535:
        return False
    limit = _cudnn_head_limit(call)
    return (
        d_query <= limit
        and d_value <= limit
        and d_query % 8 == 0
        and d_value % 8 == 0
        and keys != 1
        and not (call.dropout != 0 and queries == 1)
    )


def _cudnn_head_limit(call: AttentionCall) -> int:
    major, minor = call.capability
    latent = call.query.size(-1) == 192 and call.value.size(-1) == 128
    if call.rules.head_256:
        if _cudnn_has_head_256(call):
            return 256
        return 192 if (call.capability == (9, 0) or major == 10) and cudnn_version() >= 91100 and latent else 128
    if major == 10 and cudnn_version() >= 91100 and latent:
        return 192
    return 256 if (major, minor) == (9, 0) and cudnn_version() >= 91000 else 128


def _cudnn_has_head_256(call: AttentionCall) -> bool:
    version = cudnn_version()
    known = call.capability == (9, 0) or call.capability[0] == 10
    return known and version > 92200 and not (call.capability == (10, 7) and version <= 92500)


def check_cudnn_d256_bprop_head_dim(call: AttentionCall) -> bool:
    if not (call.rules.head_256 and call.needs_grad and _cudnn_has_head_256(call)):
        return True
    d_query, d_value = call.query.size(-1), call.value.size(-1)
    return (d_query <= 128 and d_value <= 128) or (d_query, d_value) in ((192, 128), (256, 256))


def check_head_dim_size_flash(call: AttentionCall) -> bool:
    return call.query.size(-1) == call.key.size(-1) == call.value.size(-1) and call.query.size(-1) <= 256


def check_requires_grad_and_head_dim_gt192_constraints(call: AttentionCall) -> bool:
    """On sm 8.6 to 8.9 and 12.0 to 12.1 the backward has limits of its own."""
    if not (call.needs_grad and ((8, 6) <= call.capability <= (8, 9) or (12, 0) <= call.capability <= (12, 1))):
        return True
    size = call.query.size(-1)
    return size <= 192 or (call.dropout == 0 and size > 224)


def check_flash_causal_non_square_seqlens(call: AttentionCall) -> bool:
    return not call.causal or call.query.size(-2) == call.key.size(-2)


def minimum_gemm_alignment(call: AttentionCall) -> int:
    """How many elements the memory-efficient kernel's rows are multiples of."""
    half = call.query.dtype in _HALF
    alignment = 4 if call.capability[0] >= 8 else 1
    tensor_cores = call.capability[0] >= 8 or (call.capability[0] == 7 and half)
    return max(alignment, 8 if half else 4) if tensor_cores else alignment


def check_head_dim_size_mem_efficient(call: AttentionCall) -> bool:
    alignment = minimum_gemm_alignment(call)
    d_query, d_value = call.query.size(-1), call.value.size(-1)
    return (
        d_query == call.key.size(-1)
        and d_query % alignment == 0
        and d_query > 0
        and d_value % alignment == 0
        and d_value > 0
    )


def check_data_ptr_alignment_mem_efficient(call: AttentionCall) -> bool:
    if not call.rules.aligned_offsets or call.capability[0] < 8:
        return True
    alignment = minimum_gemm_alignment(call)
    return all(tensor.numel() == 0 or tensor.storage_offset() % alignment == 0 for tensor in call.tensors)


CONSTRAINTS: dict[str, tuple[Callable[[AttentionCall], bool], ...]] = {
    "cudnn": (
        check_cudnn_dropout_version,
        check_runtime_disabled_cudnn,
        check_tensor_shapes,
        check_cudnn_deterministic,
        check_dtypes_low_precision,
        check_attn_mask_shape,
        check_cudnn_hardware_support,
        check_cudnn_dropout,
        check_nonzero_sequence_lengths_dense,
        check_last_dim_stride_equals_1_dense,
        check_batch_size_and_num_heads_dense_cudnn,
        check_cudnn_tensor_shapes,
        check_cudnn_d256_bprop_head_dim,
    ),
    "flash": (
        check_runtime_disabled_flash,
        check_tensor_shapes,
        check_for_attn_mask,
        check_head_dim_size_flash,
        check_flash_attention_hardware_support,
        check_requires_grad_and_head_dim_gt192_constraints,
        check_flash_causal_non_square_seqlens,
        check_dtypes_low_precision,
        check_batch_size_and_num_heads_dense,
        check_nonzero_sequence_lengths_dense,
        check_last_dim_stride_equals_1_dense,
    ),
    "efficient": (
        check_runtime_disabled_mem_efficient,
        check_mem_efficient_hardware_support,
        check_tensor_shapes,
        check_head_dim_size_mem_efficient,
        check_data_ptr_alignment_mem_efficient,
        check_nonzero_sequence_lengths_dense,
        check_last_dim_stride_of_all,
        check_batch_size_and_num_heads_dense_mem_efficient,
        check_dtypes_mem_efficient,
    ),
}


# ---------------------------------------------------------------------- what each kernel is given


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
    return op(q, k, v, _efficient_mask(q, k, mask), _needs_logsumexp(q, k, v), dropout, causal, scale=scale)[0]


def _call_math(q: Any, k: Any, v: Any, mask: Any, dropout: float, causal: bool, *, scale: Any, enable_gqa: bool) -> Any:
    op = torch.ops.aten._scaled_dot_product_attention_math
    return op(q, k, v, _added_mask(q, mask, float("-inf")), dropout, causal, scale=scale, enable_gqa=enable_gqa)[0]


_CALLS = {"cudnn": _call_cudnn, "flash": _call_flash, "efficient": _call_efficient, "math": _call_math}
