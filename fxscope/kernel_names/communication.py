"""What moves data: NCCL collectives, memory copies and sets; and attention kernels' directions and dtypes."""

from __future__ import annotations

import re
from typing import Any

from fxscope.kernel_names.dtypes import WORDS, first_of

_NCCL = re.compile(
    r"nccl(?:Dev)?Kernel_(?P<what>AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv|AllToAll|Generic)"
    r"(?:_(?P<op>Sum|Prod|Min|Max|MinMax|PreMulSum|SumPostDiv))?(?:_(?P<dtype>bf16|f16|f32|f64|i8|u8|i32|u32|i64|u64|f8e4m3|f8e5m2))?"
    r"(?:_(?P<algorithm>RING|TREE|COLLNET_DIRECT|COLLNET_CHAIN|NVLS|NVLS_TREE|PAT))?(?:_(?P<protocol>LL128|LL|SIMPLE))?"
)
_OLD_NCCL = re.compile(
    r"ncclKernel_(?P<what>\w+?)_(?P<algorithm>RING|TREE)_(?P<protocol>LL128|LL|SIMPLE)_(?P<op>\w+?)_(?P<dtype>\w+?)(?:\(|$)"
)
_COPY = re.compile(r"^Memcpy (?P<direction>HtoD|DtoH|DtoD|PtoP|HtoH|HtoA|AtoH)(?: \((?P<from>\w+) -> (?P<to>\w+)\))?")
_NCCL_TYPES = {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "i8": "int8", "u8": "uint8", "i64": "int64", "u64": "uint64",
               "u32": "uint32", "int8_t": "int8", "__nv_bfloat16": "bfloat16", "half": "float16", "float": "float32"}  # fmt: skip


def read(name: str) -> dict[str, Any] | None:
    """Return what the name of a collective, a copy or an attention kernel says, `None` for any other."""
    for reader in (_collective, _copy, _attention):
        found = reader(name)
        if found is not None:
            return found
    return None


def _collective(name: str) -> dict[str, Any] | None:
    found = _OLD_NCCL.search(name) or _NCCL.search(name)
    if not found:
        return None
    word = found["dtype"]
    dtype = None if word is None else _NCCL_TYPES.get(word) or WORDS.get(word)
    return {
        "family": "nccl", "role": "collective", "collective": found["what"], "algorithm": found["algorithm"],
        "protocol": found["protocol"], "functor": found["op"].lower() if found["op"] else None,
        "dtypes": {"a": dtype, "b": None, "out": dtype, "accumulate": None} if dtype else None,
    }  # fmt: skip


def _copy(name: str) -> dict[str, Any] | None:
    found = _COPY.match(name)
    if not found:
        return None
    return {
        "family": "runtime",
        "role": "memcpy",
        "direction": found["direction"],
        "from": found["from"],
        "to": found["to"],
    }


def _attention(name: str) -> dict[str, Any] | None:
    if not re.search(
        r"flash_(fwd|bwd)|fmha_cutlass|AttentionKernel|AttentionBackward|_sdpa_|fmha_[fb]|FlashAttn", name
    ):
        return None
    backward = re.search(r"bwd|bprop|Backward|cutlassB", name)
    # fmha_cutlassF_bf16_aligned_64x64_rf_sm80; cudnn_…_sdpa_sm90_flash_fprop_wgmma_f16_…
    short = re.search(r"fmha_cutlass[FB]_(bf16|f16|f32)_", name)
    # The word f16 in cuDNN's generated names is the unit's, also for bfloat16 operands: it is no dtype.
    dtype = WORDS[short[1]] if short else None if "cudnn" in name else first_of(name)
    arch = re.search(r"_(sm\d+)(?:_|\(|$)", name)
    family = (
        "cudnn"
        if "cudnn" in name
        else "memory_efficient_attention"
        if "fmha_cutlass" in name or "MemEff" in name
        else "flash_attention"
    )
    # a tile of queries × keys; Flash_fwd_kernel_traits<headdim, M, N, …>
    tile = re.search(r"aligned_(\d+)x(\d+)", name) or re.search(r"kernel_traits<\d+, ?(\d+), ?(\d+)", name)
    return {
        "family": family, "role": "attention", "arch": arch[1] if arch else None, "direction": "backward" if backward else "forward",
        "dtypes": {"a": dtype, "b": dtype, "out": dtype, "accumulate": None} if dtype else None,
        "tile": [int(tile[1]), int(tile[2])] if tile else None,
    }  # fmt: skip
