"""Triton kernels: Inductor's `triton_{poi,red,per,tem,for,…}` with the ops they name, and hand-written ones."""

from __future__ import annotations

import re
from typing import Any

_INDUCTOR = re.compile(
    r"^(?:void )?triton_(?P<kind>poi|red|per|tem|for|mm|bmm|split_scan|spl|unk|convolution2d|flex_attention|flex_attention_backward|flex_decoding|mix|combo)_(?P<rest>\w*)$"
)
_KINDS = {
    "poi": ("pointwise", "elementwise"), "red": ("reduction", "reduction"), "per": ("persistent_reduction", "reduction"),
    "tem": ("template", "gemm"), "for": ("foreach", "elementwise"), "mm": ("template", "gemm"), "bmm": ("template", "gemm"),
    "spl": ("split_scan", "scan"), "split_scan": ("split_scan", "scan"), "unk": ("unknown", None),
    "convolution2d": ("template", "convolution"), "flex_attention": ("template", "attention"),
    "flex_attention_backward": ("template", "attention"), "flex_decoding": ("template", "attention"), "mix": ("mix_order", "reduction"),
    "combo": ("combo", None),
}  # fmt: skip
# ATen names with underscores, which the kernel's name joins with underscores too: longest first
_LONG_OPS = sorted(
    """_unsafe_view native_layer_norm native_layer_norm_backward _native_batch_norm_legit_no_training _native_batch_norm_legit
    native_batch_norm_backward native_group_norm native_dropout native_dropout_backward _softmax _log_softmax
    _softmax_backward_data _log_softmax_backward_data gelu_backward silu_backward tanh_backward sigmoid_backward
    threshold_backward hardtanh_backward leaky_relu_backward nll_loss_forward nll_loss_backward nll_loss embedding_dense_backward
    masked_fill index_put index_select index_add index_copy scatter_add scatter_reduce slice_scatter select_scatter
    convert_element_type prepare_softmax_online inductor_random inductor_seeds inductor_lookup_seed scalar_tensor
    floor_divide true_divide bitwise_and bitwise_or bitwise_not logical_and logical_not logical_or zeros_like ones_like full_like
    empty_like new_zeros constant_pad_nd max_pool2d_with_indices max_pool2d_with_indices_backward avg_pool2d
    _adaptive_avg_pool2d upsample_nearest2d upsample_bilinear2d split_with_sizes _to_copy squeeze_ as_strided
    binary_cross_entropy_with_logits mse_loss smooth_l1_loss clamp_min clamp_max log1p expm1 pow_scalar where_self var_mean
    std_mean linalg_vector_norm _scaled_mm _weight_norm_interface rms_norm _fused_rms_norm lift_fresh_copy add_ mul_ copy_ fill_
    _foreach_add _foreach_mul sqrt_ repeat_interleave cumsum cumprod sort topk argmax argmin any all amax amin""".split(),
    key=len, reverse=True,
)  # fmt: skip
_CATEGORIES = (
    ("softmax", "softmax"), ("layer_norm", "normalization"), ("batch_norm", "normalization"), ("group_norm", "normalization"),
    ("rms_norm", "normalization"),
)  # fmt: skip
# Hand-written Triton kernels of libraries: names are functions' names, so the words in them decide.
_HAND_WRITTEN = (
    (r"geglu|swiglu|silu|gelu|relu|_act\b|rope|rotary|_mul_|residual_add|dropout", "elementwise"),
    (r"attn|attention|flash|mha|paged|decode_grouped|_fwd_kernel_stage", "attention"),
    (r"layer_?norm|rms_?norm|group_?norm|fused_add_norm", "normalization"),
    (r"softmax|cross_entropy|_ce_", "softmax"),
    (r"fused_moe|_gemm|matmul|grouped_mm|bmm|_mm_kernel|w8a8|scaled_mm|awq|gptq|linear_kernel", "gemm"),
    (r"embedding", "embedding"), (r"adam|sgd|lion|muon|optimizer", "optimizer"), (r"scan|cumsum", "scan"), (r"sort|topk", "sort"),
    (r"reduce|_sum_|_mean_|jsd|kl_div|tvd", "reduction"), (r"quant|scale|cast|convert", "elementwise"), (r"copy|reshape_and_cache", "copy"),
)  # fmt: skip


def read(name: str) -> dict[str, Any] | None:
    """Return what a Triton kernel's name says, `None` for a name that is no Triton kernel's."""
    found = _INDUCTOR.match(name)
    if found:
        return _inductor(found)
    bare = re.sub(r"^void ", "", name)
    # A Triton kernel is a plain identifier, as nobody else's demangled names are; xmma and the like were read before.
    if (
        not re.match(r"cudnn|fmha|sm\d+_|nccl|ampere|volta|cutlass|xxtrf", bare)
        and re.fullmatch(r"_?[a-z]\w*", bare)
        and re.search(r"_kernel\w*$|_fwd\b|_bwd\b|^_\w*(fwd|bwd|forward|backward)", bare)
    ):
        return _hand_written(bare)
    return None


def _inductor(found: re.Match[str]) -> dict[str, Any]:
    kind, role = _KINDS[found["kind"]]
    rest = re.sub(r"^fused_?", "", found["rest"])
    rest = re.sub(r"_?\d+$", "", rest)
    ops = ops_in(rest)
    result: dict[str, Any] = {"family": "triton", "kind": kind, "role": role, "ops": ops}
    text = "_".join(ops)
    if role in ("reduction", None):
        for word, category in _CATEGORIES:
            if word in text:
                result["role"] = category
                break
    if kind == "template":
        if "convolution" in text:
            result["role"] = "convolution"
        elif "flex_attention" in rest or "attention" in text:
            result["role"] = "attention"
        result["split_k"] = None
    if result["role"] is None:
        result["role"] = "other"
    return result


def ops_in(text: str) -> list[str]:
    """Split `_unsafe_view_gelu_mul` into ATen's names; the names themselves may have underscores."""
    ops: list[str] = []
    rest = text
    while rest:
        for op in _LONG_OPS:
            if rest == op or rest.startswith(op + "_"):
                ops.append(op)
                rest = rest[len(op) + 1 :]
                break
        else:
            head, _, rest = rest.partition("_")
            if head:
                ops.append(head)
            elif rest:
                # an op that starts with an underscore and is not in the list
                head, _, rest = rest.partition("_")
                ops.append("_" + head)
    return ops


def _hand_written(name: str) -> dict[str, Any]:
    lower = name.lower()
    role = next((role for pattern, role in _HAND_WRITTEN if re.search(pattern, lower)), "other")
    direction = (
        "backward" if re.search(r"bwd|backward", lower) else "forward" if re.search(r"fwd|forward", lower) else None
    )
    result: dict[str, Any] = {"family": "triton", "kind": "hand_written", "role": role}
    if direction:
        result["direction"] = direction
    functor = re.search(
        r"(geglu|swiglu|gelu|silu|relu|rms_?norm|layer_?norm|softmax|cross_entropy|rope)(?:_(tanh|exact))?", lower
    )
    if functor:
        result["functor"] = functor[1] + (f"_{functor[2]}" if functor[2] else "")
    return result
