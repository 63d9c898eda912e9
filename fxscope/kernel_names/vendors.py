"""Memory operations, collectives, attention libraries, cuDNN, ROCm, CUB and Thrust, cuFFT, cuSOLVER."""

from __future__ import annotations

import re
from typing import Any

from fxscope.kernel_names import cpp
from fxscope.kernel_names.dtypes import dtypes, of_cpp, of_word

_COPIES = {
    "HtoD": ("host", "device"),
    "DtoH": ("device", "host"),
    "DtoD": ("device", "device"),
    "HtoH": ("host", "host"),
    "PtoP": ("device", "device"),
    "AtoD": ("array", "device"),
    "DtoA": ("device", "array"),
}


def memory(name: str) -> dict[str, Any] | None:
    """`Memset (Device)`, `Memcpy HtoD (Pinned -> Device)`, `[CUDA memcpy DtoH]`, HIP's `CopyHostToDevice`."""
    if re.match(r"^\[?(?:CUDA |HIP )?memset\b|^FillBuffer$|^__amd_rocclr_fill|^hipMemset", name, re.IGNORECASE):
        kind = re.search(r"\((\w+)\)", name)
        rocm = name.startswith(("__amd", "FillBuffer", "hip"))
        result: dict[str, Any] = {"family": "rocm" if rocm else "cuda", "role": "memset"}
        if kind and kind[1] != "Unknown":
            result["memory"] = kind[1].lower()
        return result
    if re.match(
        r"^\[?(?:CUDA |HIP )?memcpy\b|^Copy(?:Host|Device)To(?:Host|Device)|^__amd_rocclr_copy|^hipMemcpy",
        name,
        re.IGNORECASE,
    ):
        rocm = name.startswith(("__amd", "Copy", "hip"))
        result = {"family": "rocm" if rocm else "cuda", "role": "memcpy"}
        short = re.search(r"\b([HDPA]to[HDPA])\b", name)
        long = re.search(r"Copy(Host|Device)To(Host|Device)", name)
        if short:
            result["direction"] = short[1]
        elif long:
            result["direction"] = f"{long[1][0]}to{long[2][0]}"
        if result.get("direction") in _COPIES:
            result["from"], result["to"] = _COPIES[result["direction"]]
        kinds = re.search(r"\((\w+) -> (\w+)\)", name)
        if kinds:
            result["from_memory"], result["to_memory"] = kinds[1].lower(), kinds[2].lower()
        return result
    return None


_NCCL = re.compile(
    r"nccl(?:Dev)?Kernel(?:_|s?_)?(?P<rest>\w*)|(?<![A-Za-z])nccl(?P<plain>AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv)\w*Kernel"
)
_OPERATIONS = ("AllReduce", "AllGather", "ReduceScatter", "SendRecv", "Broadcast", "Reduce", "Generic", "AllToAll")


def collective(name: str) -> dict[str, Any] | None:
    """NCCL and RCCL: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)`; others by name."""
    found = _NCCL.search(name)
    if found:
        words = (found["rest"] or found["plain"] or "").split("_")
        result: dict[str, Any] = {"family": "nccl", "role": "collective"}
        text = "_".join(words)
        operation = next((operation for operation in _OPERATIONS if operation in text), None)
        result["operation"] = operation
        dtype = next(filter(None, (of_word(word) or of_cpp(word) for word in words)), None)
        result["dtypes"] = dtypes(dtype, None, dtype, None)
        for key, values in (
            ("reduction", ("Sum", "Prod", "MinMax", "Max", "Min", "PreMulSum", "SumPostDiv")),
            ("algorithm", ("RING", "TREE", "NVLS", "COLLNET", "NVLSTREE", "PAT", "DIRECT", "CHAIN")),
            ("protocol", ("LL128", "LL", "SIMPLE")),
        ):
            value = next((word for word in words if word in values), None)
            if value:
                result[key] = value
        return result
    low = name.lower()
    if re.search(
        r"all_?reduce|all_?gather|reduce_?scatter|cross_device_reduce|one_shot|two_shot|multimem|nvshmem|deep_ep|alltoall|all_to_all",
        low,
    ) and not low.startswith("triton_"):
        if "at::native" in name and "reduce_kernel" in name:
            return None
        family = next(
            (
                family
                for family in ("flashinfer", "vllm", "sglang", "tensorrt_llm", "nvshmem", "deep_ep")
                if family in low
            ),
            None,
        )
        family = family or ("vllm" if "cross_device_reduce" in low else None)
        return {"family": family, "role": "collective"}
    return None


def attention(name: str) -> dict[str, Any] | None:
    """Flash attention 2 and 3, PyTorch's memory-efficient attention, cuDNN's, CK's, FlashInfer's, TensorRT's."""
    if cudnn := re.search(r"cudnn_generated_\w*?sdpa(.*)", name):
        return _cudnn_attention(cudnn[1])
    low = name.lower()
    if found := re.search(
        r"fmha_cutlass([FB])_(bf16|f16|f32)_(aligned|notaligned)_(\d+)x(\d+)(?:_k(\d+))?(?:_(rf|smem|gmem))?(.*?)_sm(\d+)",
        name,
    ):
        dtype = of_word(found[2])
        return {
            "family": "mem_efficient",
            "role": "attention",
            "arch": f"sm{found[9]}",
            "direction": "forward" if found[1] == "F" else "backward",
            "dtypes": dtypes(dtype, dtype, dtype if found[1] == "F" else None, None),
            "tile": [int(found[4]), int(found[5])],
            **({"max_head_dim": int(found[6])} if found[6] else {}),
            **({"dropout": True} if "dropout" in found[8] else {}),
        }
    if (
        "attentionkernel<" in low
        or "attentionbackwardkernel<" in low
        or "attention_kernel_batched" in low
        or "fmha_cutlass" in low
        or ("kernel_forward" in low and "AttentionKernel" in name)
    ):
        parsed = (
            cpp.template(cpp.normalize(name), "AttentionKernel")
            or cpp.template(cpp.normalize(name), "AttentionBackwardKernel")
            or ()
        )
        dtype = next((dtype for dtype in map(of_cpp, parsed) if dtype), None)
        unit = re.search(r"Sm(\d+)|_sm(\d+)", name)
        return {
            "family": "mem_efficient",
            "role": "attention",
            "arch": f"sm{unit[1] or unit[2]}" if unit else None,
            "direction": "backward" if "backward" in low or "cutlassB" in name else "forward",
            "dtypes": dtypes(dtype, dtype, None, None),
        }
    flash = re.search(r"flash_(fwd|bwd)_\w*|FlashAttn(Fwd|Bwd)\w*|flash_attn\w*|FlashAttention\w*|flashattn\w*", name)
    if flash and not re.fullmatch(r"_\w+", name):
        return _flash(name, flash[0])
    if re.search(r"ck_tile::Fmha|FmhaFwd|FmhaBwd|fmha_(?:fwd|bwd)_|aiter::fmha|fmha_v3", cpp.normalize(name)):
        backward = "bwd" in low
        return {
            "family": "ck" if re.search(r"(?<![a-z])ck_tile", name) else "aiter" if "aiter" in name else None,
            "role": "attention",
            "direction": "backward" if backward else "forward",
            "dtypes": dtypes(*[_first_type(name)] * 2),
        }
    if re.search(
        r"fmha|flashinfer::\w*(?:prefill|decode|attention)|BatchPrefill|BatchDecode|SinglePrefill|SingleDecode|paged_attention|multi_?head_?attention|mha_fwd|mha_bwd|masked_multihead|(?:^|[^a-z])attn_(?:fwd|bwd)\b|mla_\w*kernel|scaled_dot_product",
        name,
        re.IGNORECASE,
    ) and not re.fullmatch(r"_?[a-z0-9_]+", name):
        family = next(
            (family for family in ("flashinfer", "vllm", "tensorrt_llm", "aiter", "sglang") if family in low), None
        )
        unit = re.search(r"(?i)sm_?(\d{2,3})", name)
        dtype = _first_type(name)
        return {
            "family": family,
            "role": "attention",
            "arch": f"sm{unit[1]}" if unit else None,
            "dtypes": dtypes(dtype, None, None, None),
            **_direction(low),
        }
    return None


def _cudnn_attention(rest: str) -> dict[str, Any]:
    direction = "backward" if "bprop" in rest else "forward" if "fprop" in rest else None
    arch = re.search(r"_sm(\d+)", rest)
    tile = re.search(r"_(\d+)x(\d+)x(\d+)_", rest)
    cluster = re.search(r"cga(\d+)x(\d+)x(\d+)", rest)
    words = re.search(r"_(bf16|e4m3|e5m2|f32)_", rest)  # f16 stands for both kinds of sixteen bits
    dtype = of_word(words[1]) if words else None
    return {
        "family": "cudnn",
        "role": "attention",
        "arch": f"sm{arch[1]}" if arch else None,
        "direction": direction,
        "dtypes": dtypes(dtype, dtype, None, None),
        "tile": [int(tile[1]), int(tile[2])] if tile else None,
        "tile_k": int(tile[3]) if tile else None,
        **({"bits": 16} if "_f16_" in rest else {}),
        **({"cluster": [int(size) for size in cluster.groups()]} if cluster else {}),
    }


def _flash(name: str, function: str) -> dict[str, Any]:
    text = cpp.normalize(name)
    result: dict[str, Any] = {"family": "flash_attention", "role": "attention", **_direction(function.lower())}
    if "direction" not in result:
        result |= _direction(name.lower())
    # Flash_fwd_kernel_traits<head dim, rows of Q, rows of K, warps, …, type>
    traits = None
    for kind in ("Flash_fwd_kernel_traits", "Flash_bwd_kernel_traits"):
        traits = traits or cpp.template(text, kind)
    dtype = None
    if traits:
        numbers = [int(value) if value.isdigit() else None for value in traits[:4]]
        result["head_dim"], result["warps"] = numbers[0], numbers[3] if len(numbers) > 3 else None
        if len(numbers) > 2 and numbers[1] and numbers[2]:
            result["tile"] = [numbers[1], numbers[2]]
        dtype = next((dtype for dtype in map(of_cpp, traits) if dtype), None)
    dtype = dtype or _first_type(text)
    out = dtype if result.get("direction") == "forward" and traits and "combine" not in function else None
    result["dtypes"] = dtypes(dtype, dtype, out, None)
    if "splitkv" in function:
        result["split_kv"] = True
    unit = re.search(r"(?i)(?:FlashAttn(?:Fwd|Bwd)|arch::)Sm(\d+)|enable_sm(\d+)", name)
    if unit:
        result["arch"] = f"sm{unit[1] or unit[2]}"
    if mainloop := cpp.template(text, "CollectiveMainloopFwdSm90"):
        sizes = [int(value) for value in re.findall(r"C<(\d+)>", ",".join(mainloop))]
        stages = mainloop[0].strip()
        result["stages"] = int(stages) if stages.isdigit() else None
        if len(sizes) >= 4:
            result["tile"], result["head_dim"] = sizes[-3:-1], sizes[-1]
    return result


def cudnn(name: str) -> dict[str, Any] | None:
    """cuDNN's own kernels: batch norm, layout changes, convolutions of older engines, RNN cells."""
    if name.removeprefix("void ").startswith(("at::native", "at::cuda")):
        return None
    low = name.lower()
    rnn = re.search(r"RNN_block|elemWiseRNNcell|RNNcell|LSTM_elementWise|GRU_elementWise|rnn_\w*persist", name)
    conv = re.search(
        r"implicit_convolve|precomputed_convolve|_scudnn_|convolve_|fft2d_|dgrad_engine|wgrad_alg|dgrad_alg|dgrad2d|wgrad2d|conv2d_grouped|winograd|Winograd|conv2d_c1_k1|convolveNd|conv_depthwise|cudnn\w*conv\w*|grouped_direct|genericTransposed|generic_conv|im2col4d|computeWgrad|first_layer|xmma_cudnn|DepthwiseConv|bf16x\d+_conv",
        name,
    )
    if (
        "cudnn" not in low
        and not rnn
        and not re.search(
            r"nchwTo|nhwcTo|NhwcTo|NchwTo|convertTensor_kernel|scalePackedTensor|implicit_convolve|precomputed_convolve|[dw]grad_alg\d|[dw]grad_engine",
            name,
        )
    ):
        return None
    kinds = [
        kind for kind in map(of_cpp, cpp.parse(name).templates) if kind and kind.startswith(("float", "bfloat", "int8"))
    ]
    # Where a kernel multiplies and adds in float32, that stands first.
    dtype = next((kind for kind in kinds if kind.endswith("float16")), kinds[0] if kinds else None)
    unit = re.search(r"(?<![a-z0-9])sm_?(\d{2,3})(?![0-9])", low)
    result: dict[str, Any] = {
        "family": "cudnn",
        "role": "other",
        "arch": f"sm{unit[1]}" if unit else None,
        "dtypes": dtypes(dtype),
    }
    if re.search(r"nchwTo|nhwcTo|NhwcTo|NchwTo|convertTensor|transpose|tensor_?transform|foldedNhwc|AddPadding", name):
        result["role"] = "copy"
        result["dtypes"] = dtypes(*kinds[:1], out=kinds[1] if len(kinds) > 1 else None)
    elif re.search(
        r"bn_(?:fw|bw)|batch_?norm|batchnorm|bnfw|layer_?norm|rms_?norm|group_?norm|instance_?norm|lrn", low
    ):
        result["role"] = "normalization"
        result |= (
            {"direction": "backward"}
            if re.search(r"bn_bw|bwd|bprop|backward", low)
            else {"direction": "forward"}
            if re.search(r"bn_fw|fwd|fprop|forward", low)
            else {}
        )
    elif re.search(r"sdpa|fmha|attention|dot_do_o|convert_dq|compute_odo|mha", low):
        result["role"] = "attention"
        result |= {"direction": "backward"} if re.search(r"dot_do_o|convert_dq|bprop", low) else {}
    elif "softmax" in low:
        result["role"] = "softmax"
    elif conv:
        result["role"] = "convolution"
        result |= {"direction": _convolution(low)} if _convolution(low) else {}
        if "winograd" in low:
            result["algorithm"] = "winograd"
    elif re.search(r"scalepackedtensor|op_?tensor|pointwise|activation|addtensor|add_tensor|elemwise|dropout", low):
        result["role"] = "random" if "dropout" in low else "elementwise"
    elif re.search(r"pool|reduce", cpp.parse(name).symbol.lower()):
        result["role"] = "reduction"
    elif re.search(r"generated_fort_native_(?:conv|\w*conv)|fprop|dgrad|wgrad|convfwd|convd|convw", low):
        result["role"] = "convolution"
        result |= {"direction": _convolution(low)} if _convolution(low) else {}
    elif re.search(r"gemm|matmul", low):
        result["role"] = "gemm"
    if rnn:
        result["cell"] = next((cell for cell in ("LSTM", "GRU") if cell in name), None)
    return result


def _convolution(low: str) -> str | None:
    for words, direction in (
        ("convfwd", "forward"),
        ("wgrad", "backward_weight"),
        ("dgrad", "backward_data"),
        ("fprop", "forward"),
        ("implicit_convolve", "forward"),
        ("precomputed_convolve", "forward"),
    ):
        if words in low:
            return direction
    return None


def rocm(name: str) -> dict[str, Any] | None:
    """Composable Kernel and MIOpen; Tensile is with the GEMMs."""
    low = name.lower()
    if re.search(r"\bck(?:_tile)?::", cpp.normalize(name)) or name.startswith("kernel_gemm_xdl"):
        role = "other"
        for pattern, found in (
            (r"conv", "convolution"),
            (r"softmax", "softmax"),
            (r"norm", "normalization"),
            (r"fmha|attention|gemm_softmax_gemm", "attention"),
            (r"gemm|gridwise_moe", "gemm"),
            (r"reduce|reduction", "reduction"),
            (r"elementwise", "elementwise"),
            (r"transpose|permute", "copy"),
        ):
            if re.search(pattern, low):
                role = found
                break
        layouts = re.findall(r"tensor_layout::gemm::(Row|Column)Major", name)
        dtype = _first_type(name)
        result: dict[str, Any] = {"family": "ck", "role": role, "dtypes": dtypes(dtype)}
        if role == "gemm" and len(layouts) >= 2:
            result["layout"] = "".join("T" if layout == "Row" else "N" for layout in layouts[:2])
        return result
    if (
        re.search(
            r"miopen|^Im2d2Col|^Col2Im2d|^gridwise_convolution|igemm_(?:fwd|bwd|wrw)|^naive_conv|^batched_transpose_\d|SubTensorOp|^transpose_N[CH]",
            name,
            re.IGNORECASE,
        )
        and "triton" not in low
    ):
        role = "convolution"
        if re.search(r"batch_?norm", low):
            role = "normalization"
        elif re.search(r"softmax", low):
            role = "softmax"
        elif re.search(r"pool", low):
            role = "reduction"
        elif re.search(r"transpose|im2d2col|col2im|subtensor", low):
            role = "copy"
        elif re.search(r"optensor|activ|neuron", low):
            role = "elementwise"
        result = {"family": "miopen", "role": role}
        if role == "convolution":
            for word, direction in (("wrw", "backward_weight"), ("bwd", "backward_data"), ("fwd", "forward")):
                if word in low:
                    result["direction"] = direction
        if typed := re.search(r"_(fp16|bf16|fp32)(?=_|$)", low):
            result["dtypes"] = dtypes(of_word(typed[1]))
        if arch := re.search(r"gfx(\w+?)(?=_|$)", low):
            result["arch"] = f"gfx{arch[1]}"
        return result
    return None


_OTHER = (
    (r"multi_?tensor|adam|lamb|sgd|optimizer", "optimizer"),
    (r"cross_?entropy|nll|loss", "reduction"),
    (r"softmax", "softmax"),
    (
        r"rms_?norm|layer_?norm|group_?norm|batch_?norm|cuapply(?:layer|rms)|ln_(?:fwd|bwd)|norm_kernel|cucompute(?:part)?grad(?:gamma|input)",
        "normalization",
    ),
    (r"rotary|rope", "elementwise"),
    (r"embedding", "embedding"),
    (r"radix_?sort|merge_?sort|bitonic|sort_?kernel|devicesegmentedsort|topk|top_?k|onesweep|sort", "sort"),
    (r"devicescan|scan|cumsum|cumprod|selective_scan|prefix", "scan"),
    (r"unique|select_?if|deviceselect|partition|run_?length|histogram|compact", "index"),
    (r"device_?reduce|reduce|reduction|argmax|argmin", "reduction"),
    (r"conv(?:olution)?(?:1d|2d|3d|_)|causal_conv|im2col|col2im|depthwise", "convolution"),
    (r"gemv|matvec", "gemv"),
    (r"(?<!fb)gemm|matmul|marlin|mm_kernel|wmma|syrk|trsm|trmm", "gemm"),
    (r"random|rand|philox|curand|dropout|bernoulli|sampling|sample", "random"),
    (r"gather|scatter|index|reshape_and_cache|permute|slot", "index"),
    (r"scal_kernel", "elementwise"),
    (r"copy|transpose|transform_to|pack|shuffle|concat|cat_", "copy"),
    (r"fill|uninitialized|memset|zero", "fill"),
    (
        r"for_each|parallel_for|transform|elementwise|gelu|silu|relu|swiglu|act_and|rotary|rope|quant|cast|add|mul|scale|activation|epilogue|pointwise",
        "elementwise",
    ),
)


def other(name: str) -> dict[str, Any] | None:
    """CUB and Thrust, cuFFT, cuSOLVER, cuSPARSE, and C++ kernels of other projects, by their words."""
    low = name.lower()
    bare = re.fullmatch(r"(?!_Z)[A-Za-z_]\w*", name) is not None
    if re.search(
        r"vector_fft|regular_fft|multi_bluestein|bluestein|cufft|dpRadix|spRadix|spVector|fft_\w*kernel|fft_rtc|_fft_",
        name,
    ) and not low.startswith("triton"):
        return {"family": "cufft", "role": "other", "dtypes": dtypes()}
    if re.search(
        r"getrf|potrf|geqrf|trsv|trsm|cusolver|syevd|gesvd|xxtrf|getrs|larf|ormqr|syevj|laswp", low
    ) and not low.startswith("triton"):
        return {"family": "cublas" if "trsm" in low or "trsv" in low else "cusolver", "role": "other"}
    if re.match(r"(?:at_cuda_detail::)?(?:cub|thrust)::", cpp.parse(name).symbol):
        return _cub(name)
    if "cusparse" in low:
        role = "gemm" if re.search(r"spmm|csrmm|gemm", low) else "gemv" if re.search(r"spmv|csrmv", low) else "other"
        return {"family": "cusparse", "role": role}
    if "cub::" in name or "thrust::" in name or "cuda_cub" in name:
        return _cub(name)
    if bare:
        return None
    symbol = cpp.parse(name).symbol.lower()
    family = None
    for word, found in (
        ("cublas", "cublas"),
        ("vllm::", "vllm"),
        ("flashinfer::", "flashinfer"),
        ("apex", "apex"),
        ("sglang", "sglang"),
        ("tensorrt_llm", "tensorrt_llm"),
        ("transformer_engine", "transformer_engine"),
        ("marlin", "marlin"),
        ("bitsandbytes", "bitsandbytes"),
        ("deep_gemm", "deep_gemm"),
        ("cutlass::", "cutlass"),
    ):
        if word in low:
            family = found
            break
    role = next((role for pattern, role in _OTHER if re.search(pattern, symbol)), "other")
    kinds = {kind for kind in map(of_cpp, cpp.parse(name).templates) if kind and "int" not in kind and kind != "bool"}
    return {"family": family, "role": role, "dtypes": dtypes(_first_type(name) if len(kinds) < 2 else None)}


_CUB = (
    (r"^loop .*(?:uninitialized_fill|__fill|fill_functor)", "fill"),
    (r"^loop .*(?:gather|scatter)", "index"),
    (r"^loop .*(?:__copy|uninitialized_copy)", "copy"),
    (r"^loop ", "elementwise"),
    (r"sort|merge", "sort"),
    (r"reduce", "reduction"),
    (r"scan", "scan"),
    (r"histogram|select|unique|partition|runlength|compact|copy_if", "index"),
    (r"batchmemcpy|copy", "copy"),
)


def _cub(name: str) -> dict[str, Any]:
    symbol = cpp.parse(name).symbol
    family = "cub" if "cub::" in symbol and "thrust" not in symbol else "thrust"
    # thrust's agents and cub's loops are called after what they are handed: `cuda_cub::__reduce_by_key::ReduceByKeyAgent<…>`
    agent = re.search(r"cuda_cub::(?:__)?(\w+)::", name[name.find("<") :]) if "agent" in symbol else None
    low = (agent[1] if agent else symbol or name).lower()
    if re.search(r"transform_kernel|for_each|parallel_for|for_kernel", low):
        low = f"loop {name.lower()}"
    role = next((role for pattern, role in _CUB if re.search(pattern, low)), "other")
    parsed = [dtype for dtype in map(of_cpp, cpp.parse(name).templates) if dtype]
    return {"family": family, "role": role, "dtypes": dtypes(parsed[0] if parsed and "radixsort" in low else None)}


def _first_type(name: str) -> str | None:
    """The first floating type in template arguments: what a library's kernels are instantiated for."""
    text = ",".join(cpp.parse(name).templates)
    found = re.search(
        r"(?<![A-Za-z0-9_])((?:\w+::)?complex<[\w:]+>|__nv_bfloat16|nv_bfloat16|__hip_bfloat16|BFloat16|bfloat16_t|bf16_t|__half|half_t|Half|half|_Float16|float_e4m3_t|float_e5m2_t|__nv_fp8_e4m3|fp16_t|float2?|double2?)(?![A-Za-z0-9_])",
        text,
    )
    return of_cpp(found[1]) if found else None


def _direction(low: str) -> dict[str, str]:
    if re.search(r"bwd|backward|bprop", low):
        return {"direction": "backward"}
    return {"direction": "forward"} if re.search(r"fwd|forward|fprop", low) else {}
