"""Memory operations, collectives, attention libraries, cuDNN, ROCm, CUB and Thrust, cuFFT, cuSOLVER."""

import re
from functools import lru_cache
from typing import Any

from fxscope.kernel_names import cpp
from fxscope.kernel_names.tables import direction, dtypes, family, first, of_cpp, of_word, pattern, role


def memory(name: str) -> dict[str, Any] | None:
    """`Memset (Device)`, `Memcpy HtoD (Pinned -> Device)`, `[CUDA memcpy DtoH]`, HIP's `CopyHostToDevice`."""
    library = "rocm" if name.startswith(("__amd", "FillBuffer", "Copy", "hip")) else "cuda"
    if re.match(r"(?i)\[?(?:CUDA |HIP )?memset\b|FillBuffer$|__amd_rocclr_fill|hipMemset", name):
        return {"family": library, "role": "memset"}
    copies = r"(?i)\[?(?:CUDA |HIP )?memcpy\b|Copy(?:Host|Device)To(?:Host|Device)|__amd_rocclr_copy|hipMemcpy"
    if not re.match(copies, name):
        return None
    ends = re.search(r"\b([HDPA])to([HDPA])\b|Copy(?=Host|Device)(\w)\w+?To(\w)", name)
    way = {"direction": f"{ends[1] or ends[3]}to{ends[2] or ends[4]}"} if ends else {}
    return {"family": library, "role": "memcpy", **way}


_NCCL = pattern("nccl")
_OTHER_COLLECTIVES = pattern("other collectives")
_OPERATIONS = ("AllReduce", "AllGather", "ReduceScatter", "SendRecv", "Broadcast", "Reduce", "Generic", "AllToAll")


@lru_cache(maxsize=4096)  # asked of every launch
def collective(name: str) -> dict[str, Any] | None:
    """NCCL and RCCL: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)`; others by name."""
    if found := _NCCL.search(name):
        text = found["rest"] or found["plain"] or ""
        dtype = next(filter(None, (of_word(word) or of_cpp(word) for word in text.split("_"))), None)
        operation = next((operation for operation in _OPERATIONS if operation in text), None)
        return {"family": "nccl", "role": "collective", "operation": operation, "dtypes": dtypes(dtype, out=dtype)}
    low = name.lower()
    is_reduction = "at::native" in name and "reduce_kernel" in name
    if low.startswith("triton_") or is_reduction or not _OTHER_COLLECTIVES.search(low):
        return None
    library = family("collective", low) or ("vllm" if "cross_device_reduce" in low else None)
    return {"family": library, "role": "collective"}


_CUTLASS_ATTENTION = pattern("cutlass attention")
_ATTENTION = pattern("attention")


def attention(name: str) -> dict[str, Any] | None:
    """Flash attention 2 and 3, PyTorch's memory-efficient attention, cuDNN's, CK's, FlashInfer's, TensorRT's."""
    result: dict[str, Any] = {"role": "attention"}
    if generated := re.search(r"cudnn_generated_\w*?sdpa(.*)", name):
        found = direction("cudnn attention", generated[1])
        return result | {"family": "cudnn", "arch": _arch(generated[1], r"_sm(\d+)"), **found}
    low, text = name.lower(), cpp.normalize(name)
    if found := _CUTLASS_ATTENTION.search(name):
        return result | {
            "family": "mem_efficient",
            "arch": f"sm{found[5]}",
            "direction": "forward" if found[1] == "F" else "backward",
            "dtypes": dtypes(of_word(found[2]), of_word(found[2])),
            "tile": [int(found[3]), int(found[4])],
        }
    if re.search(r"(?i)attention(?:backward)?kernel<|attention_kernel_batched|fmha_cutlass", name):
        way = "backward" if "backward" in low or "cutlassB" in name else "forward"
        return result | {"family": "mem_efficient", "arch": _arch(name, r"Sm(\d+)|_sm(\d+)"), "direction": way}
    flash = re.search(r"flash_(fwd|bwd)_\w*|FlashAttn(Fwd|Bwd)\w*|flash_attn\w*|FlashAttention\w*|flashattn\w*", name)
    if flash and not re.fullmatch(r"_\w+", name):
        return result | _flash(name, flash[0])
    if re.search(r"ck_tile::Fmha|FmhaFwd|FmhaBwd|fmha_(?:fwd|bwd)_|aiter::fmha|fmha_v3", text):
        library = "ck" if re.search(r"(?<![a-z])ck_tile", name) else "aiter" if "aiter" in name else None
        return result | {"family": library, "direction": "backward" if "bwd" in low else "forward"}
    if not _ATTENTION.search(name) or re.fullmatch(r"_?[a-z0-9_]+", name):
        return None
    arch = _arch(name, r"(?i)sm_?(\d{2,3})")
    return result | {"family": family("attention", low), "arch": arch, **direction("library", low)}


def _arch(name: str, pattern: str) -> str | None:
    found = re.search(pattern, name)
    return f"sm{next(filter(None, found.groups()))}" if found else None


def _flash(name: str, function: str) -> dict[str, Any]:
    result: dict[str, Any] = {"family": "flash_attention"}
    result |= direction("library", function.lower()) or direction("library", name.lower())
    # Flash_fwd_kernel_traits<head dim, rows of Q, rows of K, warps, …, type>
    text = cpp.normalize(name)
    traits = cpp.template(text, "Flash_fwd_kernel_traits") or cpp.template(text, "Flash_bwd_kernel_traits") or ()
    if len(traits) > 2 and all(value.isdigit() for value in traits[:3]):
        result |= {"head_dim": int(traits[0]), "tile": [int(traits[1]), int(traits[2])]}
    dtype = next(filter(None, map(of_cpp, traits)), None)
    result |= {"dtypes": dtypes(dtype, dtype)}
    return result | {"arch": _arch(name, r"(?i)(?:FlashAttn(?:Fwd|Bwd)|arch::)Sm(\d+)|enable_sm(\d+)")}


_RNN = pattern("rnn")
_OF_CUDNN = pattern("cudnn")


def cudnn(name: str) -> dict[str, Any] | None:
    """cuDNN's own kernels: batch norm, layout changes, convolutions of older engines, RNN cells."""
    if name.removeprefix("void ").startswith(("at::native", "at::cuda")):
        return None
    low = name.lower()
    if "cudnn" not in low and not _RNN.search(name) and not _OF_CUDNN.search(name):
        return None
    does = role("cudnn", low) or "other"
    if does == "reduction" and role("cudnn", cpp.parse(name).symbol.lower()) != "reduction":
        does = "other"
    result = {"family": "cudnn", "role": does, "arch": _arch(low, r"(?<![a-z0-9])sm_?(\d{2,3})(?![0-9])")}
    if does == "normalization":
        return result | direction("cudnn norm", low)
    if does == "attention" and re.search(r"dot_do_o|convert_dq|bprop", low):
        return result | {"direction": "backward"}
    return result | direction("cudnn convolution", low) if does == "convolution" else result


_MIOPEN = pattern("miopen")


def rocm(name: str) -> dict[str, Any] | None:
    """Composable Kernel and MIOpen; Tensile is with the GEMMs."""
    low = name.lower()
    if re.search(r"\bck(?:_tile)?::", cpp.normalize(name)) or name.startswith("kernel_gemm_xdl"):
        does = role("ck", low) or "other"
        return {"family": "ck", "role": does, **(direction("ck", low) if does == "convolution" else {})}
    if "triton" in low or not _MIOPEN.search(name):
        return None
    does = role("miopen", low)
    return {"family": "miopen", "role": does, **(direction("miopen", low) if does == "convolution" else {})}


def other(name: str) -> dict[str, Any] | None:
    """CUB and Thrust, cuFFT, cuSOLVER, cuSPARSE, and C++ kernels of other projects, by their words."""
    low = name.lower()
    symbol = cpp.parse(name).symbol
    library = None if low.startswith("triton") else first("families", "by rule", name)
    if library:
        return {"family": library, "role": "other"}
    is_cub = re.match(r"(?:at_cuda_detail::)?(?:cub|thrust)::", symbol)
    if "cusparse" in low and not is_cub:
        return {"family": "cusparse", "role": role("cusparse", low) or "other"}
    if is_cub or "cub::" in name or "thrust::" in name or "cuda_cub" in name:
        return _cub(name, symbol)
    if re.fullmatch(r"(?!_Z)[A-Za-z_]\w*", name):
        return None
    return {"family": family("other", low), "role": role("other", symbol.lower()) or "other"}


def _cub(name: str, symbol: str) -> dict[str, Any]:
    # thrust's agents and cub's loops are called after what they are handed: `cuda_cub::__reduce_by_key::ReduceByKeyAgent<…>`
    agent = re.search(r"cuda_cub::(?:__)?(\w+)::", name[name.find("<") :]) if "agent" in symbol else None
    low = (agent[1] if agent else symbol or name).lower()
    if re.search(r"transform_kernel|for_each|parallel_for|for_kernel", low):
        low = f"loop {name.lower()}"
    library = "cub" if "cub::" in symbol and "thrust" not in symbol else "thrust"
    return {"family": library, "role": role("cub", low) or "other"}
