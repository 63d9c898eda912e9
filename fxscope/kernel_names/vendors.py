"""Memory operations, collectives, attention libraries, cuDNN, ROCm, CUB and Thrust, cuFFT, cuSOLVER."""

from __future__ import annotations

import re
from typing import Any

from fxscope.kernel_names import cpp
from fxscope.kernel_names.dtypes import dtypes, of_cpp, of_word
from fxscope.kernel_names.tables import direction, family, first, role, tables


def memory(name: str) -> dict[str, Any] | None:
    """`Memset (Device)`, `Memcpy HtoD (Pinned -> Device)`, `[CUDA memcpy DtoH]`, HIP's `CopyHostToDevice`."""
    library = "rocm" if name.startswith(("__amd", "FillBuffer", "Copy", "hip")) else "cuda"
    if re.match(r"(?i)\[?(?:CUDA |HIP )?memset\b|FillBuffer$|__amd_rocclr_fill|hipMemset", name):
        kind = re.search(r"\((?!Unknown)(\w+)\)", name)
        return {"family": library, "role": "memset", **({"memory": kind[1].lower()} if kind else {})}
    copies = r"(?i)\[?(?:CUDA |HIP )?memcpy\b|Copy(?:Host|Device)To(?:Host|Device)|__amd_rocclr_copy|hipMemcpy"
    if not re.match(copies, name):
        return None
    result: dict[str, Any] = {"family": library, "role": "memcpy"}
    if ends := re.search(r"\b([HDPA])to([HDPA])\b|Copy(?=Host|Device)(\w)\w+?To(\w)", name):
        way = result["direction"] = f"{ends[1] or ends[3]}to{ends[2] or ends[4]}"
        if way in tables()["copies"]:
            result["from"], result["to"] = tables()["copies"][way]
    if kinds := re.search(r"\((\w+) -> (\w+)\)", name):
        result["from_memory"], result["to_memory"] = kinds[1].lower(), kinds[2].lower()
    return result


_NCCL = re.compile(
    r"nccl(?:Dev)?Kernel(?:_|s?_)?(?P<rest>\w*)|(?<![A-Za-z])nccl(?P<plain>AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv)\w*Kernel"
)
_OTHER_COLLECTIVES = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|cross_device_reduce|one_shot|two_shot|multimem|nvshmem|deep_ep|alltoall|all_to_all"
)
_OPERATIONS = ("AllReduce", "AllGather", "ReduceScatter", "SendRecv", "Broadcast", "Reduce", "Generic", "AllToAll")
_WORDS_OF_NCCL = {
    "reduction": "Sum Prod MinMax Max Min PreMulSum SumPostDiv",
    "algorithm": "RING TREE NVLS COLLNET NVLSTREE PAT DIRECT CHAIN",
    "protocol": "LL128 LL SIMPLE",
}


def collective(name: str) -> dict[str, Any] | None:
    """NCCL and RCCL: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)`; others by name."""
    if found := _NCCL.search(name):
        text = found["rest"] or found["plain"] or ""
        words = text.split("_")
        dtype = next(filter(None, (of_word(word) or of_cpp(word) for word in words)), None)
        operation = next((operation for operation in _OPERATIONS if operation in text), None)
        result = {"family": "nccl", "role": "collective", "operation": operation, "dtypes": dtypes(dtype, out=dtype)}
        said = {key: set(values.split()) & {*words} for key, values in _WORDS_OF_NCCL.items()}
        return result | {key: values.pop() for key, values in said.items() if values}
    low = name.lower()
    is_reduction = "at::native" in name and "reduce_kernel" in name
    if low.startswith("triton_") or is_reduction or not _OTHER_COLLECTIVES.search(low):
        return None
    return {
        "family": family("collective", low) or ("vllm" if "cross_device_reduce" in low else None),
        "role": "collective",
    }


_CUTLASS_ATTENTION = re.compile(
    r"fmha_cutlass([FB])_(bf16|f16|f32)_(?:aligned|notaligned)_(\d+)x(\d+)(?:_k\d+)?(?:_(?:rf|smem|gmem))?.*?_sm(\d+)"
)
_ATTENTION = re.compile(
    r"fmha|flashinfer::\w*(?:prefill|decode|attention)|BatchPrefill|BatchDecode|SinglePrefill|SingleDecode|paged_attention"
    r"|multi_?head_?attention|mha_fwd|mha_bwd|masked_multihead|(?:^|[^a-z])attn_(?:fwd|bwd)\b|mla_\w*kernel|scaled_dot_product",
    re.IGNORECASE,
)


def attention(name: str) -> dict[str, Any] | None:
    """Flash attention 2 and 3, PyTorch's memory-efficient attention, cuDNN's, CK's, FlashInfer's, TensorRT's."""
    if generated := re.search(r"cudnn_generated_\w*?sdpa(.*)", name):
        return _cudnn_attention(generated[1])
    low, text = name.lower(), cpp.normalize(name)
    if found := _CUTLASS_ATTENTION.search(name):
        dtype = of_word(found[2])
        return {
            "family": "mem_efficient",
            "role": "attention",
            "arch": f"sm{found[5]}",
            "direction": "forward" if found[1] == "F" else "backward",
            "dtypes": dtypes(dtype, dtype, dtype if found[1] == "F" else None),
            "tile": [int(found[3]), int(found[4])],
        }
    if re.search(r"(?i)attention(?:backward)?kernel<|attention_kernel_batched|fmha_cutlass", name):
        parts = cpp.template(text, "AttentionKernel") or cpp.template(text, "AttentionBackwardKernel") or ()
        dtype = next(filter(None, map(of_cpp, parts)), None)
        return {
            "family": "mem_efficient",
            "role": "attention",
            "arch": _arch(name, r"Sm(\d+)|_sm(\d+)"),
            "direction": "backward" if "backward" in low or "cutlassB" in name else "forward",
            "dtypes": dtypes(dtype, dtype),
        }
    flash = re.search(r"flash_(fwd|bwd)_\w*|FlashAttn(Fwd|Bwd)\w*|flash_attn\w*|FlashAttention\w*|flashattn\w*", name)
    if flash and not re.fullmatch(r"_\w+", name):
        return _flash(name, flash[0])
    dtype = _first_type(name)
    if re.search(r"ck_tile::Fmha|FmhaFwd|FmhaBwd|fmha_(?:fwd|bwd)_|aiter::fmha|fmha_v3", text):
        return {
            "family": "ck" if re.search(r"(?<![a-z])ck_tile", name) else "aiter" if "aiter" in name else None,
            "role": "attention",
            "direction": "backward" if "bwd" in low else "forward",
            "dtypes": dtypes(dtype, dtype),
        }
    if not _ATTENTION.search(name) or re.fullmatch(r"_?[a-z0-9_]+", name):
        return None
    return {
        "family": family("attention", low),
        "role": "attention",
        "arch": _arch(name, r"(?i)sm_?(\d{2,3})"),
        "dtypes": dtypes(dtype),
        **direction("library", low),
    }


def _arch(name: str, pattern: str) -> str | None:
    found = re.search(pattern, name)
    return f"sm{next(filter(None, found.groups()))}" if found else None


def _cudnn_attention(rest: str) -> dict[str, Any]:
    tile = re.search(r"_(\d+)x(\d+)x(\d+)_", rest)
    cluster = re.search(r"cga(\d+)x(\d+)x(\d+)", rest)
    words = re.search(r"_(bf16|e4m3|e5m2|f32)_", rest)  # f16 stands for both kinds of sixteen bits
    dtype = of_word(words[1]) if words else None
    return {
        "family": "cudnn",
        "role": "attention",
        "arch": _arch(rest, r"_sm(\d+)"),
        "dtypes": dtypes(dtype, dtype),
        "tile": [int(tile[1]), int(tile[2])] if tile else None,
        "tile_k": int(tile[3]) if tile else None,
        **direction("cudnn attention", rest),
        **({"cluster": [int(size) for size in cluster.groups()]} if cluster else {}),
    }


def _flash(name: str, function: str) -> dict[str, Any]:
    text = cpp.normalize(name)
    result: dict[str, Any] = {"family": "flash_attention", "role": "attention"}
    result |= direction("library", function.lower()) or direction("library", name.lower())
    # Flash_fwd_kernel_traits<head dim, rows of Q, rows of K, warps, …, type>
    traits = cpp.template(text, "Flash_fwd_kernel_traits") or cpp.template(text, "Flash_bwd_kernel_traits") or ()
    numbers = [int(value) if value.isdigit() else None for value in traits[:3]]
    if numbers:
        result["head_dim"] = numbers[0]
    if len(numbers) > 2 and numbers[1] and numbers[2]:
        result["tile"] = [numbers[1], numbers[2]]
    dtype = next(filter(None, map(of_cpp, traits)), None) or _first_type(text)
    is_whole = result.get("direction") == "forward" and traits and "combine" not in function
    result["dtypes"] = dtypes(dtype, dtype, dtype if is_whole else None)
    if arch := _arch(name, r"(?i)(?:FlashAttn(?:Fwd|Bwd)|arch::)Sm(\d+)|enable_sm(\d+)"):
        result["arch"] = arch
    if mainloop := cpp.template(text, "CollectiveMainloopFwdSm90"):
        sizes = [int(value) for value in re.findall(r"C<(\d+)>", ",".join(mainloop))]
        stages = mainloop[0].strip()
        result["stages"] = int(stages) if stages.isdigit() else None
        if len(sizes) >= 4:
            result["tile"], result["head_dim"] = sizes[-3:-1], sizes[-1]
    return result


_RNN = re.compile(r"RNN_block|elemWiseRNNcell|RNNcell|LSTM_elementWise|GRU_elementWise|rnn_\w*persist")
_OF_CUDNN = re.compile(
    r"nchwTo|nhwcTo|NhwcTo|NchwTo|convertTensor_kernel|scalePackedTensor|implicit_convolve|precomputed_convolve|[dw]grad_alg\d|[dw]grad_engine"
)


def cudnn(name: str) -> dict[str, Any] | None:
    """cuDNN's own kernels: batch norm, layout changes, convolutions of older engines, RNN cells."""
    if name.removeprefix("void ").startswith(("at::native", "at::cuda")):
        return None
    low = name.lower()
    if "cudnn" not in low and not _RNN.search(name) and not _OF_CUDNN.search(name):
        return None
    parsed = cpp.parse(name)
    kinds = [kind for kind in map(of_cpp, parsed.templates) if kind and kind.startswith(("float", "bfloat", "int8"))]
    # Where a kernel multiplies and adds in float32, that stands first.
    dtype = next((kind for kind in kinds if kind.endswith("float16")), kinds[0] if kinds else None)
    does = role("cudnn", low) or "other"
    if does == "reduction" and role("cudnn", parsed.symbol.lower()) != "reduction":
        does = "other"
    result: dict[str, Any] = {
        "family": "cudnn",
        "role": does,
        "arch": _arch(low, r"(?<![a-z0-9])sm_?(\d{2,3})(?![0-9])"),
        "dtypes": dtypes(dtype),
    }
    if does == "copy":
        result["dtypes"] = dtypes(*kinds[:1], out=kinds[1] if len(kinds) > 1 else None)
    elif does == "normalization":
        result |= direction("cudnn norm", low)
    elif does == "attention" and re.search(r"dot_do_o|convert_dq|bprop", low):
        result["direction"] = "backward"
    elif does == "convolution":
        result |= direction("cudnn convolution", low)
        if "winograd" in low:
            result["algorithm"] = "winograd"
    return result


_MIOPEN = re.compile(
    r"(?i)miopen|^Im2d2Col|^Col2Im2d|^gridwise_convolution|igemm_(?:fwd|bwd|wrw)|^naive_conv|^batched_transpose_\d|SubTensorOp|^transpose_N[CH]"
)


def rocm(name: str) -> dict[str, Any] | None:
    """Composable Kernel and MIOpen; Tensile is with the GEMMs."""
    low = name.lower()
    if re.search(r"\bck(?:_tile)?::", cpp.normalize(name)) or name.startswith("kernel_gemm_xdl"):
        layouts = re.findall(r"tensor_layout::gemm::(Row|Column)Major", name)
        result: dict[str, Any] = {
            "family": "ck",
            "role": role("ck", low) or "other",
            "dtypes": dtypes(_first_type(name)),
        }
        if result["role"] == "gemm" and len(layouts) >= 2:
            result["layout"] = "".join("T" if layout == "Row" else "N" for layout in layouts[:2])
        return result
    if "triton" in low or not _MIOPEN.search(name):
        return None
    result = {"family": "miopen", "role": role("miopen", low)}
    if result["role"] == "convolution":
        result |= direction("miopen", low)
    if typed := re.search(r"_(fp16|bf16|fp32)(?=_|$)", low):
        result["dtypes"] = dtypes(of_word(typed[1]))
    if arch := re.search(r"gfx(\w+?)(?=_|$)", low):
        result["arch"] = f"gfx{arch[1]}"
    return result


def other(name: str) -> dict[str, Any] | None:
    """CUB and Thrust, cuFFT, cuSOLVER, cuSPARSE, and C++ kernels of other projects, by their words."""
    low = name.lower()
    parsed = cpp.parse(name)
    library = None if low.startswith("triton") else first("families", "by rule", name)
    if library:
        return {"family": library, "role": "other"}
    if re.match(r"(?:at_cuda_detail::)?(?:cub|thrust)::", parsed.symbol):
        return _cub(name)
    if "cusparse" in low:
        return {"family": "cusparse", "role": role("cusparse", low) or "other"}
    if "cub::" in name or "thrust::" in name or "cuda_cub" in name:
        return _cub(name)
    if re.fullmatch(r"(?!_Z)[A-Za-z_]\w*", name):
        return None
    kinds = {kind for kind in map(of_cpp, parsed.templates) if kind and "int" not in kind and kind != "bool"}
    return {
        "family": family("other", low),
        "role": role("other", parsed.symbol.lower()) or "other",
        "dtypes": dtypes(_first_type(name) if len(kinds) < 2 else None),
    }


def _cub(name: str) -> dict[str, Any]:
    parsed = cpp.parse(name)
    symbol = parsed.symbol
    # thrust's agents and cub's loops are called after what they are handed: `cuda_cub::__reduce_by_key::ReduceByKeyAgent<…>`
    agent = re.search(r"cuda_cub::(?:__)?(\w+)::", name[name.find("<") :]) if "agent" in symbol else None
    low = (agent[1] if agent else symbol or name).lower()
    if re.search(r"transform_kernel|for_each|parallel_for|for_kernel", low):
        low = f"loop {name.lower()}"
    kinds = [dtype for dtype in map(of_cpp, parsed.templates) if dtype]
    return {
        "family": "cub" if "cub::" in symbol and "thrust" not in symbol else "thrust",
        "role": role("cub", low) or "other",
        "dtypes": dtypes(kinds[0] if kinds and "radixsort" in low else None),
    }


_FLOATS = re.compile(
    r"(?<![A-Za-z0-9_])((?:\w+::)?complex<[\w:]+>|__nv_bfloat16|nv_bfloat16|__hip_bfloat16|BFloat16|bfloat16_t|bf16_t|__half|half_t|Half|half|_Float16|float_e4m3_t|float_e5m2_t|__nv_fp8_e4m3|fp16_t|float2?|double2?)(?![A-Za-z0-9_])"
)


def _first_type(name: str) -> str | None:
    """The first floating type in template arguments: what a library's kernels are instantiated for."""
    found = _FLOATS.search(",".join(cpp.parse(name).templates))
    return of_cpp(found[1]) if found else None
