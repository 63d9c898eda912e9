"""Triton kernels: Inductor's, whose names list the ops they came from, and those people wrote."""

from __future__ import annotations

import re
from typing import Any

from fxscope.op_names import split_joined, table, without_graph_number

_INDUCTOR = re.compile(
    r"^triton_(?P<kind>poi|red|per|tem|for|spl|mix|unk|cooperative_red|cooperative|user|helion)_?(?:fused_?)?(?P<ops>.*)$"
)
_TEMPLATE = re.compile(
    r"^triton_(?P<op>mm|bmm|addmm|baddbmm|convolution|conv2d|flex_attention|flex_decoding|mm_plus_mm|scaled_mm|grouped_mm)(?=_|\d|$)"
)
_KINDS = {
    "poi": ("pointwise", "elementwise"),
    "red": ("reduction", "reduction"),
    "per": ("persistent_reduction", "reduction"),
    "cooperative_red": ("cooperative_reduction", "reduction"),
    "cooperative": ("cooperative_reduction", "reduction"),
    "tem": ("template", "gemm"),
    "for": ("foreach", "elementwise"),
    "spl": ("split_scan", "scan"),
    "mix": ("mix_order_reduction", "reduction"),
    "unk": ("unknown", "other"),
    "user": ("user", "other"),
    "helion": ("user", "other"),
}

# Liger's kernels are known by name; the rest of the world's follow a rule of thumb below.
_LIGER = (
    "geglu_tanh",
    "swiglu",
    "rms_norm_forward",
    "rms_norm_backward",
    "layer_norm_forward",
    "layer_norm_backward",
    "liger_",
    "block_rms_norm",
    "fused_add_rms_norm",
    "group_norm_forward",
    "group_norm_backward",
    "triton_rope",
    "triton_qwen2vl_mrope",
    "kldiv_kernel",
    "_jsd_kernel",
    "tv_distance",
    "_grpo_loss",
    "dyt_fwd",
    "dyt_bwd",
    "softmax_single_block",
    "softmax_multi_block",
    "sparsemax",
    "element_mul_kernel",
    "embedding_forward_kernel",
    "embedding_backward_kernel",
    "fused_neighborhood",
    "llama4_rope",
    "poly_norm",
    "mhc_",
)
_ROLES = (
    (
        r"attn|attention|mha|sdpa|mqa_|gqa|_flash|^flash|paged|decode_stage|bwd_kernel_dk_dv|bwd_kernel_dq|mla_|flex_|bwd_preprocess|attn_bwd",
        "attention",
    ),
    (r"cross_entropy|kldiv|kl_div|jsd|logsumexp|nll|loss|tv_distance|grpo", "reduction"),
    (r"softmax|sparsemax", "softmax"),
    (
        r"rms_?norm|layer_?norm|group_?norm|batch_?norm|rms_|layernorm|l2norm|_norm|norm_|layer_norm|dyt_",
        "normalization",
    ),
    (r"rope|rotary", "elementwise"),
    (r"embedding|embed_", "embedding"),
    (r"conv", "convolution"),
    (r"gemv|matvec", "gemv"),
    (
        r"matmul|gemm|_mm_|^mm_|_mm$|bmm|scaled_mm|moe_kernel|w8a8|int8_mm|linear_kernel|lora_(expand|shrink)|sgmv|grouped_mm",
        "gemm",
    ),
    (r"all_?reduce|all_?gather|reduce_?scatter|all_to_all", "collective"),
    (r"adam|sgd|lamb|lion|optimizer|muon", "optimizer"),
    (r"dropout|rand|philox|seeded|sample|gumbel", "random"),
    (r"topk|top_k|sort|align_block", "sort"),
    (r"cumsum|scan|chunk_state|prefix_sum|selective_state|recurrent", "scan"),
    (r"gather|scatter|index|permute_kernel|slot|reshape_and_cache", "index"),
    (r"copy|transpose|cat_|concat|pack", "copy"),
    (r"fill|zero|memset|init_", "fill"),
    (r"_sum|sum_|reduce|mean|amax|argmax|norm", "reduction"),
    (
        r"glu|gelu|silu|relu|rope|rotary|quant|cast|add|mul|element|sigmoid|tanh|swish|act_|activation|scale",
        "elementwise",
    ),
)


def inductor(name: str) -> dict[str, Any] | None:
    name = without_graph_number(name)
    template = _TEMPLATE.match(name)
    found = _INDUCTOR.match(name)
    if template:
        kind, role = "template", "gemm"
        ops = [template["op"]]
    elif found:
        kind, role = _KINDS[found["kind"]]
        # `_0` numbers the kernel; `_0d1d2de` is an older Triton's specialization of its arguments.
        body = re.sub(r"_(?:\d+d[\de]*[a-z0-9]*)$", "", found["ops"])
        body = re.sub(r"(?:^|_)\d+$", "", body)
        ops = split_joined(body) if body else []
    elif cpp := re.match(r"(?:kernel_)?cpp_(?:fused_)?", name):
        body = re.sub(r"_\d+$", "", name[cpp.end() :])
        return {
            "family": "inductor_cpp",
            "origin": "inductor",
            "role": "other",
            "ops": split_joined(body) if body and not body.isdigit() else [],
        }
    else:
        return None
    if kind == "template":
        if any("conv" in op for op in ops) and not any(op.endswith("mm") for op in ops):
            role = "convolution"
        elif any(op.startswith("flex_") for op in ops):
            role = "attention"
    return {"family": "triton", "origin": "inductor", "kind": kind, "role": role, "ops": ops}


def user(name: str) -> dict[str, Any] | None:
    """Decode a bare identifier: what people's Triton kernels are called. The language itself is not in the name."""
    if not re.fullmatch(r"(?!_Z)[A-Za-z_]\w*", name):
        return None
    base = re.sub(r"_\d+d[\dedc]*$", "", name)
    low = base.lower()
    role = next((role for pattern, role in _ROLES if re.search(pattern, low)), "other")
    if role == "other" and re.fullmatch(r"_(?:fwd|bwd)_kernel(?:_\w+)?|_bwd_(?:dq|dkdv|kernel\w*)", base):
        role = "attention"  # the names of Triton's own attention tutorial and of flash-attn's Triton port
    liger = base.startswith(("_", "liger", "element_mul", "embedding_", "triton_")) and any(
        part in low for part in _LIGER
    )
    # A leading underscore, a `_kernel` ending or the name itself: Triton's habits. Anything else says nothing.
    triton = (
        liger
        or base.startswith(("_", "triton_", "kernel_"))
        or bool(re.fullmatch(r"[a-z0-9_]+_(?:kernel|fwd|bwd|forward|backward)(?:_[a-z0-9_]+)?", base))
    )
    # ATen's kernels that are compiled as they are needed have such names too: `ndtri_kernel`, `exp_kernel_vectorized4_kernel`.
    jit = re.search(
        r"_vectorized\d+_kernel$|_kernel_kernel$|^(?:unary|binary|\w+_and|reduction)_\w*(?:outputs|prod)_kernel$", base
    )
    stem = re.sub(r"^(?:calc|reduction)_|(?:_impl|_kernel|_forward|_complex|_scalar|_vectorized\d+)+$", "", base)
    triton = triton and not jit and not {stem, f"special_{stem}"} & {*table(), "trigamma"}
    result: dict[str, Any] = {"family": "triton" if triton else "aten" if jit else None, "role": role}
    if role != "other" or triton:
        result["guess"] = True
    if triton:
        result["origin"] = "liger" if liger else "user"
    if re.search(r"backward|bwd|(?:^|_)grad|_dx|_dw", low):
        result["direction"] = "backward"
    elif re.search(r"forward|fwd", low):
        result["direction"] = "forward"
    return result
