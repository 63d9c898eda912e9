"""GEMM names: cuBLAS's nvjet, xmma and older kernels, CUTLASS 2.x and 3.x, gemv, split-K reductions, Tensile.

Conventions, each held by a test on kernels whose operands are known: cuBLAS computes column-major, so for torch's
row-major `x @ w` it is handed `w` as A and `x` as B. The two layout letters say how A and B are read, N as they lie
and T transposed: `x[M,K] @ w` with `w` a transposed view is `TN`.
"""

import re
from typing import Any

from fxscope.kernel_names import cpp
from fxscope.kernel_names.tables import LETTERS, WORDS, direction, dtypes, of_word, pair, pattern, tables

ARCHITECTURES: dict[str, str] = tables()["architectures"]
_EPILOGUE = pattern("epilogue")


def decode(name: str) -> dict[str, Any] | None:
    """Decode a GEMM's or a convolution's name, `None` if it is neither."""
    return next((found for decoder in _DECODERS if (found := decoder(name)) is not None), None)


def _ints(*texts: str | None) -> list[int] | None:
    return [int(text or 0) for text in texts] if texts[0] else None


def _words(found: re.Match[str] | None, count: int) -> tuple[str | None, ...]:
    return found.groups() if found else (None,) * count


def _sized(family: str, rest: str, *sizes: str | None, way: dict[str, str] | None = None) -> dict[str, Any]:
    """Return what every GEMM's name is asked for; `rest` holds its words, `sizes` m, n, k, stages; `way`: a convolution's."""
    m, n, k, stages = (*sizes, None, None, None, None)[:4]
    return {
        "family": family,
        "role": "convolution" if way else "gemm",
        "tile": _ints(m, n),
        "tile_k": int(k) if k else None,
        # A split along K is often an argument of the launch: only some names say it.
        "split_k": True if re.search(r"(?i)split_?k", rest) else None,
        "stages": int(stages) if stages else None,
        # As the name writes it: `gelubias`, `bias_relu`.
        "epilogue": "_".join(_EPILOGUE.findall(rest)) or None,
        **(way or {}),
    }


def _layout(letters: str | None, conjugated: str = "N") -> str | None:
    """Return `TN` for `tn`; C and H are conjugated operands."""
    return letters[:2].upper().replace("C", conjugated).replace("H", "T") if letters else None


# nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_gelubias_TNT: dtypes of A (and B, if it differs), of the sum and of the
# output; tile; depth of a step × stages; cluster; order of the tiles; epilogue; layouts of A, B and of the tile.
_NVJET = pattern("nvjet")


def _nvjet(name: str) -> dict[str, Any] | None:
    found = _NVJET.match(name)
    if not found:
        return {"family": "nvjet", "role": "gemm"} if name.startswith("nvjet_") else None
    rest = found["rest"]
    # Three letters: operands, sum, output. Five: A, B, C, sum, output. Four would be A, B, sum, output.
    types = [LETTERS.get(letter) for letter in found["letters"]]
    count = len(types)
    b = types[0] if count == 3 else types[1] if count > 3 else None
    layout = re.search(r"_([NT]{2})[NT]{0,2}(?=$|[^A-Za-z])", rest)
    cluster = None if found["mma"] else re.search(r"_(\d+)x(\d+)(?=_|$)", rest)
    return {
        **_sized("nvjet", rest, found["m"], found["n"], found["k3"] or found["k"], found["stages3"] or found["stages"]),
        "arch": found["arch"],
        "dtypes": dtypes(types[0], b, *((types[-1], types[-2]) if count >= 3 else ())),
        "layout": layout[1] if layout else None,
        "cluster": _ints(*_words(cluster, 2)),
        "split_k": "splitk" in rest.lower(),
    }


# sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x128x128_…: (operand, output), (arithmetic, sum), epilogue's type.
_WORD = r"(?:tf32|bf16|f16|f32|f64|cf32|cf64|i8|s8|u8|i4|s4|i32|s32|e4m3|e5m2|e2m1)"
_XMMA = re.compile(
    rf"(?:^|[^A-Za-z0-9])(?P<arch>sm\d+[a-z]?)_xmma_(?P<kind>gemm|fprop|dgrad|wgrad|deconv)\w*?_"
    rf"(?P<types>{_WORD}{{2}}_{_WORD}{{2}})_{_WORD}_(?P<rest>.*)$"
)


def _xmma(name: str) -> dict[str, Any] | None:
    found = _XMMA.search(name)
    if not found:
        kind = re.search(r"(sm\d+[a-z]?)_xmma_(\w+)", name)
        way = direction("xmma", kind[2]) if kind else {}
        return {"family": "xmma", "arch": kind[1], "role": "convolution" if way else "gemm", **way} if kind else None
    first, second = (pair(part) for part in found["types"].split("_"))
    rest, way = found["rest"], direction("xmma", found["kind"])
    a, out = map(of_word, first or (None, None))
    arithmetic, accumulate = second or (None, None)
    # A tf32 GEMM reads float32 and rounds it on the way to the tensor cores.
    b = of_word(arithmetic) if arithmetic in ("e4m3", "e5m2", "e2m1") else a
    layout = re.match(r"([nt]{2})(?:_[nt])?_", rest)
    m, n, k = _words(re.search(r"tilesize(\d+)x(\d+)x(\d+)", rest), 3)
    result: dict[str, Any] = {
        **_sized("xmma", rest, m, n, k, *_words(re.search(r"_stage(\d+)", rest), 1), way=way),
        "arch": found["arch"],
        "dtypes": dtypes(a, b, out, a if str(a).startswith("complex") else of_word(accumulate)),
        "layout": _layout(layout[1]) if layout and not way else None,
    }
    if "execute" in rest:
        result["split_k"] = bool(result["split_k"])
    if arithmetic == "tf32":
        result["math"] = "tf32"
    if "tensor" in rest or "warpgroup" in rest:
        result["tensor_cores"] = True
    elif "_ffma" in rest or "_simt" in rest:
        result["tensor_cores"] = False
    return result


# cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_2x1x1_0_tnn_align8_…: A, B, sum, C, D.
_CUTLASS3 = pattern("cutlass3")


def _cutlass3(name: str) -> dict[str, Any] | None:
    found = _CUTLASS3.search(name)
    if not found:
        return None
    words = [re.sub(r"^.*x(?=u?e\dm\d)", "", word) for word in found["types"].strip("_").split("_")]
    types = [of_word(word) for word in words if word in WORDS]  # "block_scaled" and the like say how, not what
    a, b, accumulate, _, out = (*types[:5], *[None] * (5 - len(types)))
    rest = found["rest"]
    result = _sized("cutlass", rest, *found.group("m", "n", "k", "stages"))
    return {
        **result,
        "arch": found["arch"],
        "dtypes": dtypes(a, b, out, accumulate),
        "layout": _layout(found["layout"]),
        "cluster": [int(size) for size in found["cluster"].split("x")],
        "stages": result["stages"] or None,  # 0 stands for "as many as fit", decided when it was compiled
        "tensor_cores": found["unit"] in ("tensorop", "spmmatensorop", "bstensorop"),
    }


# cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x4_tn_align8: the output's type stands before the core where
# it is not the sum's, A's type after it where it is not the sum's; the core's letter is the sum's type.
_CUTLASS2 = pattern("cutlass2")


def _cutlass2(name: str) -> dict[str, Any] | None:
    found = _CUTLASS2.search(name)
    if not found:
        return None
    rest, way = found["rest"], direction("xmma", found["kind"])
    accumulate = LETTERS.get((found["sum"] or "").replace("g", ""))
    a = of_word(found["a"]) if found["a"] else accumulate
    layout = re.match(r"_([ntch]{2})[ntch]?(?=_|$)", rest)
    tensor_cores = found["unit"] != "simt"
    result: dict[str, Any] = {
        **_sized("cutlass", found["before"] + found["after"] + rest, *found.group("m", "n", "k", "stages"), way=way),
        "arch": f"sm{found['arch']}" if found["arch"] else None,
        "dtypes": dtypes(a, a, of_word(found["out"]) if found["out"] else accumulate, accumulate),
        "layout": _layout(layout[1]) if layout and not way else None,
        "tensor_cores": tensor_cores,
        **({"role": "convolution"} if found["kind"] == "cudnn" else {}),
    }
    if found["math"] in ("tf32", "fastbf16", "fastf16"):
        result["math"] = found["math"]
    elif found["a"] == "tf32" or (tensor_cores and a == "float32"):
        result["math"] = "tf32"  # tensor cores multiply no full float32
    return result


_OF_CUTLASS = pattern("cutlass template")


def _cutlass_type(name: str) -> dict[str, Any] | None:
    """CUTLASS kernels whose name is their whole type: `cutlass::device_kernel<…GemmUniversal<…CollectiveMma<…>>>`."""
    if "cutlass" not in name or re.search(r"(?i:fmha|flash)|Attention", name) or not _OF_CUTLASS.search(name):
        return None
    arch = re.search(r"arch::Sm(\d+)|MainloopSm(\d+)", name)
    return {
        "family": "cutlass",
        "role": "convolution" if "conv::kernel" in name or "ImplicitGemm" in name else "gemm",
        "arch": f"sm{arch[1] or arch[2]}" if arch else None,
    }


# ampere_bf16_s16816gemm_bf16_128x64_ldg8_relu_f2f_stages_64x4_tn, volta_scudnn_winograd_…, maxwell_sgemm_128x64_nn
_GENERATION = re.compile(
    r"(?:^|[^A-Za-z0-9_])(?P<generation>"
    + "|".join(ARCHITECTURES)
    + r")_(?:(?P<out>fp16|bf16|fp32|fp64|int8x4|int8x32|int8|int32|s8|u8|tf32)_)?"
    r"(?P<sum>[sdhiczg]+?)(?P<shape>\d{3,6})?(?P<kind>gemm|cudnn|cgemm|gemmEx)(?P<rest>[A-Za-z0-9_]*)"
)


def _generation(name: str) -> dict[str, Any] | None:
    found = _GENERATION.search(name)
    if not found:
        return None
    rest, is_cudnn = found["rest"], found["kind"] == "cudnn"
    accumulate = LETTERS.get(found["sum"].replace("g", "")[-1:])
    after = re.match(r"_(fp16|bf16|fp32|fp64|tf32|int8|s8|u8)(?:x4|x32)?(?=_|$)", rest)
    out = of_word(re.sub(r"x\d+$", "", found["out"])) if found["out"] else accumulate
    a = of_word(after[1]) if after else None if found["out"] else accumulate
    m, n = _words(re.search(r"_(\d{2,3})x(\d{1,3})(?=_|$)", rest), 2)
    k, stages = _words(re.search(r"_stages_(\d+)x(\d+)", rest), 2)
    layout = re.search(r"_([ntc]{2})(?=_v\d+$|$)", rest)
    result = {
        **_sized("cudnn" if is_cudnn else "cublas", rest, m, n, k, stages),
        "arch": ARCHITECTURES[found["generation"]],
        "dtypes": dtypes(a, a, out, accumulate),
        "layout": _layout(layout[1], "T") if layout and not is_cudnn else None,
        "tensor_cores": bool(found["shape"]),
    }
    if is_cudnn or "winograd" in rest:
        result["role"] = "convolution"
    if found["shape"] and a == "float32":
        result["math"] = "tf32"
    return result


def _split_k_reduce(name: str) -> dict[str, Any] | None:
    if re.match(r"Cijk_\w+_PostGSU\d", name):
        return {"family": "tensile", "role": "split_k_reduce", "split_k": True}
    if not re.search(r"(?i:split_?k_?(?:ping_?pong_?)?reduc)|ReduceSplitK", name):
        return None
    return {"family": "cutlass" if "cutlass" in name else "cublas", "role": "split_k_reduce", "split_k": True}


_OF_GEMV = pattern("gemv")


def _gemv(name: str) -> dict[str, Any] | None:
    if not _OF_GEMV.search(name.lower()):
        return None
    parsed = cpp.parse(name)
    if not re.search(r"(?i)gemv|gevm|vec", parsed.symbol):
        is_dot = parsed.function in ("dot_kernel", "reduce_1Block_kernel")
        return {"family": "cublas", "role": "reduction"} if is_dot else None
    is_cublas = re.search(r"cublas|gemvx|gemv2|gemvNSP|gemvn", name) or parsed.function.startswith("gemv")
    family = "cusolver" if "cusolver" in parsed.symbol else "cublas" if is_cublas else None
    return {"family": family, "role": "gemv"}


_TENSILE = {"H": "float16", "B": "bfloat16", "S": "float32"}


def _tensile(name: str) -> dict[str, Any] | None:
    """Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI16x16x16x1_…: A(i,l), B(l,j) read plainly are N, N."""
    found = re.search(r"Cijk_A(ilk|lik)C?_B(ljk|jlk)C?_", name)
    if not found:
        of_tensile = re.search(r"\bTensile\b|^Custom_Cijk|tensile", name)
        return {"family": "tensile", "role": "gemm"} if of_tensile else None
    types = re.search(r"_([HBS])([HBS])S_BH?(?=_)", name)  # of operands and result; products are summed in float32
    operand, out = (_TENSILE[letter] for letter in types.groups()) if types else (None, None)
    isa = re.search(r"_ISA([0-9a-c]+)(?=[_.]|$)", name) or re.search(r"_gfx(\w+)", name)
    return {
        **_sized("tensile", "", *_words(re.search(r"_MT(\d+)x(\d+)x(\d+)", name), 3)),
        # ISA90a is written 90a, ISA942 942; ISA9010 (9, 0, 10) is 90a.
        "arch": f"gfx{'90a' if isa[1] == '9010' else isa[1]}" if isa and isa[1].strip("0") else None,
        "layout": ("N" if found[1] == "ilk" else "T") + ("N" if found[2] == "ljk" else "T"),
        "dtypes": dtypes(operand, operand, out, "float32" if types else None),
    }


def _small(name: str) -> dict[str, Any] | None:
    """cuBLAS's kernels for narrow results: `gemmSN_TN_kernel<float, …>`, `gemmk1_kernel<int, float, …>`."""
    found = re.fullmatch(r"gemm(?:SN|k1|LN)(?:_([NTC]{2}))?_kernel\w*", cpp.parse(name).function)
    return {"family": "cublas", "role": "gemm", "layout": _layout(found[1], "T")} if found else None


_DECODERS = (_nvjet, _xmma, _cutlass_type, _cutlass3, _cutlass2, _split_k_reduce, _gemv, _generation, _tensile, _small)
