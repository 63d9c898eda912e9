"""The role of a kernel from the words of its name, for every family; the first rule that fits decides."""

from __future__ import annotations

import re

# Order matters: what is more specific comes first. Patterns are searched in the whole name.
_RULES: tuple[tuple[str, str], ...] = (
    (r"^Memset|^memset", "memset"),
    (r"^Memcpy|^memcpy|^CopyHostToDevice|^CopyDeviceTo", "memcpy"),
    (r"ncclDevKernel|ncclKernel|nccl_|^rccl|nvshmem|all_?reduce|AllReduce|all_?gather|reduce_?scatter|ReduceScatter|AllGather|"
     r"cross_device_reduce|two_shot|one_shot|multimem_", "collective"),
    (r"splitK_?reduce|split_?k_?reduce|SplitKReduce", "split_k_reduce"),
    (r"flash_fwd|flash_bwd|flash::|pytorch_flash|fmha|AttentionKernel|AttentionBackwardKernel|sdpa|mha_|_attn_|attention|"
     r"FlashAttn|paged_attention|MaskedMultihead", "attention"),
    (r"AdamFunctor|FusedAdam|fused_adam|adam_|SgdMathFunctor|FusedSgd|LAMB|Lamb|adagrad|AdagradMath|rmsprop|optimizer|"
     r"Muon|lion_", "optimizer"),
    (r"gemv|gemvx|gemvNSP", "gemv"),
    (r"_fft|fft_", "other"),
    (r"nchwToNhwc|nhwcToNchw|nchwToFolded|foldedNhwc|nhwcAdd|convert_?[Ll]ayout|scalePackedTensor|transpose_readWrite|"
     r"CatArrayBatchedCopy|direct_copy_kernel|copy_kernel|batched_transpose|transpose_kernel|TensorAssign.*copy|flip_kernel|"
     r"roll_cuda|SubTensorOp", "copy"),
    (r"fprop|dgrad|wgrad|implicit_gemm|[cC]onv(?:olution)?(?:2d|3d|_|::|Fprop|Dgrad|Wgrad|Bias)|winograd|Winograd|cudnn::cnn|"
     r"depthwise|im2col|vol2col|col2im|dgrad_engine|wgrad_alg|MIOpenConv|miopenSp3|igemm_fwd|igemm_wrw|igemm_bwd", "convolution"),
    (r"nvjet|gemm|Gemm|GEMM|Cijk_|cutlass::Kernel2|cublasLt::epilogue|matmul|getrf|trsm|syrk|trmm|her2k", "gemm"),
    (r"[bB]atch_?[nN]orm|bn_fw|bn_bw|[lL]ayer_?[nN]orm|LayerNorm|[gG]roup_?[nN]orm|GroupNorm|rms_?[nN]orm|RMSNorm|RowwiseMoments|"
     r"GammaBeta|InstanceNorm|welford|weight_norm|ComputeInternalGradients|ComputeFusedParams|Compute1dBackwardFused|renorm",
     "normalization"),
    (r"[sS]oft[mM]ax|SoftMax|nll_loss|cross_entropy|log_softmax", "softmax"),
    (r"[sS]ort|topk|TopK|gatherTopK|radix|kthvalue|gatherKth|bitonic|median|mode_kernel|DeviceMerge|unique", "sort"),
    (r"[sS]can|cumsum|cumprod|cummax|logcumsumexp", "scan"),
    (r"[eE]mbedding|compute_grad_weight|krn_partial|sum_and_scatter|compute_num_of_partial", "embedding"),
    (r"distribution_elementwise|philox|[rR]andom|randperm|dropout|Dropout|curand|normal_and_transform|uniform_and_transform|bernoulli|"
     r"multinomial|exponential_kernel", "random"),
    (r"index|Index|gather|scatter|Scatter|take_kernel|put_kernel|masked_|nonzero|write_indices|searchsorted|bucketize", "index"),
    (r"FillFunctor|fill_|_fill|fill<|arange|zero_kernel|eye_kernel|linspace", "fill"),
    (r"reduce_kernel|[rR]educe|cub::.*Reduce|\bsum_|argmax|argmin|norm_kernel|[hH]istogram|bincount|count_nonzero|\bdot_kernel|cdist",
     "reduction"),
    (r"triu_tril|tril_kernel|cat_|CatArray|pad|copy", "copy"),
    (r"elementwise|multi_tensor_apply|foreach|where_kernel|clamp|[aA]ctivation|gelu|silu|relu|sigmoid|tanh|lerp|polar|"
     r"elemWiseRNN|pointwise|upsample|_kernel_cuda\(|Functor|GLU|glu|rotary|rope", "elementwise"),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), role) for pattern, role in _RULES)
# In a fused optimizer step the functor is an argument of multi_tensor_apply: look into it before "elementwise" decides.
_POOL = re.compile(r"pool|Pool")


def role_of(name: str) -> str:
    """Return the role, "other" where no word of the name states one."""
    # The call's own arguments repeat types that have words of their own (IndexBoundsCheck): they do not decide.
    head = name[: name.index(">(") + 1] if ">(" in name else name if name.startswith("Mem") else name.split("(int")[0]
    for pattern, role in _COMPILED:
        if pattern.search(head):
            if role == "index" and "elementwise_kernel_with_index" in name:
                return "fill" if "arange" in name or "linspace" in name else "elementwise"
            if role == "copy" and _POOL.search(name):
                return "other"
            return role
    return "other"


_FAMILIES: tuple[tuple[str, str], ...] = (
    (r"^Mem(set|cpy)|^mem(set|cpy)|^Copy(Host|Device)", "runtime"),
    (r"nccl|^rccl|ncclDev", "nccl"),
    (r"cudnn", "cudnn"),
    (r"flash", "flash_attention"),
    (r"fmha_cutlass|PyTorchMemEffAttention|fmha", "memory_efficient_attention"),
    (r"(^|[^\w])ck(_tile)?::", "composable_kernel"),
    (r"miopen|MIOpen", "miopen"),
    (r"cublas|gemvx|getrf|xxtrf|cusolver", "cublas"),
    (r"cub::|at_cuda_detail::cub|hipcub|rocprim", "cub"),
    (r"thrust::", "thrust"),
    (r"vector_fft|regular_fft|cufft", "cufft"),
    (r"cutlass", "cutlass"),
    (r"at::|c10::", "aten"),
)  # fmt: skip


def family_of(name: str) -> str:
    """Return the library that a name's words point at, "other" where none does."""
    return next((family for pattern, family in _FAMILIES if re.search(pattern, name)), "other")
