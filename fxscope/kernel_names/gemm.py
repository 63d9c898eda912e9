"""GEMM names: cuBLAS's nvjet, xmma and older kernels, CUTLASS 2.x and 3.x, gemv, split-K reductions, Tensile.

Conventions, each held by a test on kernels whose operands are known: cuBLAS computes column-major, so for torch's
row-major `x @ w` it is handed `w` as A and `x` as B. The two layout letters say how A and B are read, N as they lie
and T transposed: `x[M,K] @ w` with `w` a transposed view is `TN`.
"""

from __future__ import annotations

import re
from typing import Any

from fxscope.kernel_names import cpp
from fxscope.kernel_names.dtypes import LETTERS, dtypes, is_word, of_cpp, of_word, pair

ARCHITECTURES = {
    "kepler": "sm35",
    "maxwell": "sm50",
    "pascal": "sm60",
    "volta": "sm70",
    "turing": "sm75",
    "ampere": "sm80",
    "ada": "sm89",
    "hopper": "sm90",
    "blackwell": "sm100",
}

_EPILOGUE = re.compile(
    r"_((?:d?(?:gelu|relu|silu|swish|sigmoid|tanh))?(?:aux)?(?:bias[a-z]?|bgrad[ab]?|gelu|relu|silu|swish|sigmoid)(?:aux)?)(?:_f\d+|_bf16)?(?=_|$)",
    re.IGNORECASE,
)


def _joined(words: list[str]) -> str | None:
    """The epilogue as the name writes it: `gelubias`, `bias_relu`."""
    return "_".join(words) or None


def decode(name: str) -> dict[str, Any] | None:
    """Decode a GEMM's or a convolution's name, `None` if it is neither."""
    for function in (
        _nvjet,
        _xmma,
        _cutlass_template,
        _cutlass3,
        _cutlass2,
        _split_k_reduce,
        _gemv,
        _generation,
        _tensile,
        _small,
    ):
        found = function(name)
        if found is not None:
            return found
    return None


# nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_gelubias_TNT: dtypes of A (and B, if it differs), of the sum and of the
# output; tile; depth of a step × stages; cluster; order of the tiles; epilogue; layouts of A, B and of the tile.
_NVJET = re.compile(
    r"^nvjet_(?:(?P<arch>sm\d+[a-z]?)_)?(?P<letters>[a-z]+)_(?:(?P<mma>mma)_)?(?P<m>\d+)x(?P<n>\d+)"
    r"(?:x(?P<k3>\d+)_(?P<stages3>\d+))?(?:_(?P<k>\d+)x(?P<stages>\d+))?(?P<rest>.*)$"
)


def _nvjet(name: str) -> dict[str, Any] | None:
    found = _NVJET.match(name)
    if not found:
        return {"family": "nvjet", "role": "gemm"} if name.startswith("nvjet_") else None
    rest = found["rest"]
    letters = found["letters"]
    a = LETTERS.get(letters[0])
    # Three letters: operands, sum, output. Five: A, B, C, sum, output. Four would be A, B, sum, output.
    b = a if len(letters) == 3 else LETTERS.get(letters[1]) if len(letters) >= 4 else None
    accumulate = LETTERS.get(letters[-2]) if len(letters) >= 3 else None
    layout = re.search(r"_([NT])([NT])[NT]{0,2}(?=$|[^A-Za-z])", rest)
    sizes = re.findall(r"_(\d+)x(\d+)(?=_|$)", rest)
    epilogue = _EPILOGUE.findall(rest)
    order = re.search(r"_([hv])_", rest)
    stages = found["stages3"] or found["stages"]
    depth = found["k3"] or found["k"]
    result: dict[str, Any] = {
        "family": "nvjet",
        "role": "gemm",
        "arch": found["arch"],
        "dtypes": dtypes(a, b, LETTERS.get(letters[-1]) if len(letters) >= 3 else None, accumulate),
        "layout": layout[1] + layout[2] if layout else None,
        "tile": [int(found["m"]), int(found["n"])],
        "tile_k": int(depth) if depth else None,
        "stages": int(stages) if stages else None,
        "cluster": [int(sizes[0][0]), int(sizes[0][1])] if sizes and not found["mma"] else None,
        "epilogue": _joined(epilogue),
        "split_k": "splitk" in rest.lower(),
        "cooperative": bool(re.search(r"_coop[AB]?(?=_|$)", rest)),
    }
    if order:
        result["raster"] = {"h": "horizontal", "v": "vertical"}[order[1]]
    if "_2cta" in rest:
        result["ctas"] = 2
    if "streamk" in rest.lower():
        result["stream_k"] = True
    return result


# sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x128x128_…: (operand, output), (arithmetic, sum), epilogue's type.
_WORD = r"(?:tf32|bf16|f16|f32|f64|cf32|cf64|i8|s8|u8|i4|s4|i32|s32|e4m3|e5m2|e2m1)"
_XMMA = re.compile(
    rf"(?:^|[^A-Za-z0-9])(?P<arch>sm\d+[a-z]?)_xmma_(?P<kind>gemm|fprop|dgrad|wgrad|deconv)(?P<how>\w*?)_"
    rf"(?P<types>{_WORD}{{2}}_{_WORD}{{2}})_(?P<epilogue_type>{_WORD})_(?P<rest>.*)$"
)
_CONVOLUTIONS = {"fprop": "forward", "dgrad": "backward_data", "deconv": "backward_data", "wgrad": "backward_weight"}


def _xmma(name: str) -> dict[str, Any] | None:
    found = _XMMA.search(name)
    if not found:
        kind = re.search(r"(sm\d+[a-z]?)_xmma_(\w+)", name)
        if not kind:
            return None
        convolution = next((word for word in _CONVOLUTIONS if kind[2].startswith(word)), None)
        return {
            "family": "xmma",
            "arch": kind[1],
            "role": "convolution" if convolution else "gemm",
            **({"direction": _CONVOLUTIONS[convolution]} if convolution else {}),
        }
    first, second = (pair(part) for part in found["types"].split("_"))
    rest = found["rest"]
    a, out = (of_word(first[0]), of_word(first[1])) if first else (None, None)
    arithmetic, accumulate = second or (None, None)
    # A tf32 GEMM reads float32 and rounds it on the way to the tensor cores.
    b = of_word(arithmetic) if arithmetic in ("e4m3", "e5m2", "e2m1") else a
    tile = re.search(r"tilesize(\d+)x(\d+)x(\d+)", rest)
    stages = re.search(r"_stage(\d+)", rest)
    layout = re.match(r"([nt])([nt])(?:_[nt])?_", rest)
    epilogue = _EPILOGUE.findall(rest)
    result: dict[str, Any] = {
        "family": "xmma",
        "role": "gemm" if found["kind"] == "gemm" else "convolution",
        "arch": found["arch"],
        "dtypes": dtypes(a, b, out, a if str(a).startswith("complex") else of_word(accumulate)),
        "layout": (layout[1] + layout[2]).upper() if layout and found["kind"] == "gemm" else None,
        "tile": [int(tile[1]), int(tile[2])] if tile else None,
        "tile_k": int(tile[3]) if tile else None,
        "stages": int(stages[1]) if stages else None,
        "epilogue": _joined(epilogue),
        "split_k": bool(re.search(r"split_?k", rest, re.IGNORECASE)) if "execute" in rest or "split" in rest else None,
    }
    if arithmetic == "tf32":
        result["math"] = "tf32"
    if "tensor" in rest or "warpgroup" in rest:
        result["tensor_cores"] = True
    elif "_ffma" in rest or "_simt" in rest:
        result["tensor_cores"] = False
    if found["kind"] != "gemm":
        result["direction"] = _CONVOLUTIONS[found["kind"]]
        whole = re.match(r"(nhwc|nchw|ndhwc|ncdhw)(k[a-z]+)_(nhwc|nchw|ndhwc|ncdhw)", rest)
        if whole:
            result["tensor_layout"] = {"input": whole[1], "weight": whole[2], "output": whole[3]}
        groups = re.search(r"_g(\d+)_", rest)
        if groups:
            result["groups_at_once"] = int(groups[1])
    warps = re.search(r"warpsize(\d+)x(\d+)x(\d+)", rest)
    if warps:
        result["warps"] = [int(warps[1]), int(warps[2]), int(warps[3])]
    if library := re.search(r"_(cublas|cudnn|trt)\b", rest):
        result["library"] = {"cublas": "cuBLAS", "cudnn": "cuDNN", "trt": "TensorRT"}[library[1]]
    return result


# cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_2x1x1_0_tnn_align8_…: A, B, sum, C, D.
_CUTLASS3 = re.compile(
    r"cutlass3x_(?P<arch>sm\d+[a-z]?)_(?P<unit>[a-z]+)_(?P<core>[a-z0-9]*?gemm|gemm)_(?P<types>(?:[a-z0-9]+?_)+?)"
    r"(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_(?P<cluster>\d+x\d+x\d+)_(?P<stages>\d+)_(?P<layout>[ntch]{2,4})(?P<rest>.*)"
)


def _cutlass3(name: str) -> dict[str, Any] | None:
    found = _CUTLASS3.search(name)
    if not found:
        return None
    words = [re.sub(r"^.*x(?=u?e\dm\d)", "", word) for word in found["types"].strip("_").split("_")]
    words = [word for word in words if is_word(word)]  # "block_scaled" and the like say how, not what
    a, b, accumulate, _, out = [of_word(word) for word in words[:5]] + [None] * max(0, 5 - len(words))
    rest = found["rest"]
    result: dict[str, Any] = {
        "family": "cutlass",
        "api": "3.x",
        "role": "gemm",
        "arch": found["arch"],
        "dtypes": dtypes(a, b, out, accumulate),
        "layout": found["layout"][:2].upper().replace("C", "N").replace("H", "T"),
        "tile": [int(found["m"]), int(found["n"])],
        "tile_k": int(found["k"]),
        "cluster": [int(size) for size in found["cluster"].split("x")],
        # 0 stands for "as many as fit", decided when it was compiled.
        "stages": int(found["stages"]) or None,
        "split_k": True if re.search(r"split_?k", rest, re.IGNORECASE) else None,
        "epilogue": None,
        "tensor_cores": found["unit"] in ("tensorop", "spmmatensorop", "bstensorop"),
        "cooperative": "cooperative" in rest,
    }
    if align := re.search(r"align(\d+)", rest):
        result["alignment"] = int(align[1])
    for schedule in ("pingpong", "cooperative"):
        if schedule in rest:
            result["schedule"] = schedule
    if "stream_k" in rest or "streamk" in rest:
        result["stream_k"] = True
    result["epilogue"] = _joined(_EPILOGUE.findall(rest))
    return result


# cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x4_tn_align8: the output's type stands before the core where
# it is not the sum's, A's type after it where it is not the sum's; the core's letter is the sum's type.
_CORE = (
    r"(?:(?P<out>[a-z]+\d+[a-z0-9]*)_)?(?P<sum>[sdhiczgb]+?)?(?P<shape>\d{3,6})?(?P<math>tf32|bf16|f16|fastbf16|fastf16)?"
    r"(?P<kind>gemm|gemm_grouped|fprop|dgrad|wgrad|symm|syrk|trmm|cudnn|gemv)"
)
_CUTLASS2 = re.compile(
    r"cutlass_(?:(?P<arch>\d{2,3})_)?(?P<unit>wmma_tensorop|sparse_tensorop|tensorop|simt)_"
    + _CORE
    + r"(?:_(?P<how>optimized|analytic|fixed_channels|few_channels|grouped|planar_complex|precomputed))?"
    r"(?P<before>(?:_[a-z]+(?:\dx\d)?)*?)(?:_(?P<a>bf16|f16|f32|tf32|s8|u8|s4|u4|f64|cf32|cf64|e4m3|e5m2|b1))?(?P<after>(?:_[a-z]+)*?)"
    r"_(?P<m>\d+)x(?P<n>\d+)(?:_(?P<k>\d+)x(?P<stages>\d+))?(?P<rest>[A-Za-z0-9_]*)"
)


def _cutlass2(name: str) -> dict[str, Any] | None:
    found = _CUTLASS2.search(name)
    if not found:
        return None
    rest = found["rest"]
    accumulate = LETTERS.get((found["sum"] or "").replace("g", ""))
    a = of_word(found["a"]) if found["a"] else accumulate
    out = of_word(found["out"]) if found["out"] else accumulate
    kind = found["kind"]
    tensor_cores = found["unit"] != "simt"
    layout = re.match(r"_([ntch])([ntch])[ntch]?(?=_|$)", rest)
    words = (found["before"] or "") + (found["after"] or "") + rest
    epilogue = _EPILOGUE.findall(words)
    convolution = kind in _CONVOLUTIONS
    result: dict[str, Any] = {
        "family": "cutlass",
        "api": "2.x",
        "role": "convolution" if convolution or kind == "cudnn" else "gemm",
        "arch": f"sm{found['arch']}" if found["arch"] else None,
        "dtypes": dtypes(a, a, out, accumulate),
        "layout": (layout[1] + layout[2]).upper().replace("C", "N").replace("H", "T")
        if layout and not convolution
        else None,
        "tile": [int(found["m"]), int(found["n"])],
        "tile_k": int(found["k"]) if found["k"] else None,
        "stages": int(found["stages"]) if found["stages"] else None,
        # A split along K is an argument of the launch here; only some names say it.
        "split_k": True if re.search(r"split_?k", name, re.IGNORECASE) else None,
        "epilogue": _joined(epilogue),
        "tensor_cores": tensor_cores,
    }
    if found["math"] in ("tf32", "fastbf16", "fastf16") or found["a"] == "tf32":
        result["math"] = found["math"] or "tf32"
    elif tensor_cores and a == "float32":
        result["math"] = "tf32"  # tensor cores multiply no full float32
    if convolution:
        result["direction"] = _CONVOLUTIONS[kind]
        if tensor := re.search(r"_(nhwc|nchw|ndhwc|ncdhw)", rest):
            result["tensor_layout"] = {"input": tensor[1], "weight": None, "output": tensor[1]}
    if align := re.search(r"align(\d+)", rest):
        result["alignment"] = int(align[1])
    return result


_UNITS = re.compile(r"Sm(\d{2,3})")


def _cutlass_template(name: str) -> dict[str, Any] | None:
    """CUTLASS kernels whose name is their whole type: `cutlass::device_kernel<…GemmUniversal<…CollectiveMma<…>>>`."""
    if "cutlass" not in name or "fmha" in name.lower() or "flash" in name.lower() or "Attention" in name:
        return None
    if not re.search(
        r"gemm::kernel::|conv::kernel::|gemm::collective|CollectiveMma|threadblock::Mma|ImplicitGemm", name
    ):
        return None
    text = cpp.normalize(name)
    result: dict[str, Any] = {
        "family": "cutlass",
        "role": "convolution" if "conv::kernel" in text or "ImplicitGemm" in text else "gemm",
        "api": "3.x" if "collective" in text else "2.x",
        "split_k": True if re.search(r"split_?k", text, re.IGNORECASE) and "SplitKAlgorithm" not in text else None,
    }
    collective = cpp.template(text, "CollectiveMma")
    if collective:
        policy = collective[0]
        unit = _UNITS.search(policy)
        result["arch"] = f"sm{unit[1]}" if unit else None
        arguments = re.match(r"[^<]*<\s*(\d+)", policy)
        result["stages"] = int(arguments[1]) if arguments else None
        sizes = _sizes(collective[1]) if len(collective) > 1 else None
        if sizes and len(sizes) >= 2:
            result["tile"], result["tile_k"] = sizes[:2], sizes[2] if len(sizes) > 2 else None
        inner = policy[policy.find("<") + 1 :] if "<" in policy else ""
        cluster = next((_sizes(part) for part in cpp.split(inner.rstrip(">")) if "tuple" in part), None)
        result["cluster"] = cluster
        a = of_cpp(collective[2]) if len(collective) > 2 else None
        b = of_cpp(collective[4]) if len(collective) > 4 else None
        layout = [
            _stride(collective[position], operand) if len(collective) > position else None
            for position, operand in ((3, "A"), (5, "B"))
        ]
        result["layout"] = "".join(letter for letter in layout if letter) if all(layout) else None
        epilogue = cpp.template(text, "CollectiveEpilogue")
        out = accumulate = None
        if epilogue:
            out = next((dtype for dtype in map(of_cpp, reversed(epilogue)) if dtype), None)
        atom = re.search(r"MMA_\d+x\d+x\d+_([A-Z0-9]+?)(?:E4M3|E5M2|F16|BF16|TF32|S8|U8|F32)", text)
        accumulate = {"F32": "float32", "F16": "float16", "S32": "int32"}.get(atom[1]) if atom else None
        result["dtypes"] = dtypes(a, b, out, accumulate)
        if "Cooperative" in policy or "Pingpong" in policy:
            result["schedule"] = "cooperative" if "Cooperative" in policy else "pingpong"
    else:
        shape = re.search(r"GemmShape<\s*(\d+),\s*(\d+),\s*(\d+)\s*>", text)
        if shape:
            result["tile"], result["tile_k"] = [int(shape[1]), int(shape[2])], int(shape[3])
        unit = re.search(r"arch::Sm(\d+)", text)
        result["arch"] = f"sm{unit[1]}" if unit else None
    if "GroupProblemShape" in text or "GemmGrouped" in text:
        result["grouped"] = True
    return result


def _sizes(text: str) -> list[int] | None:
    """`cute::tuple<cute::C<128>, cute::C<64> >`, `tuple<_1, _2>` → [128, 64]."""
    found = re.findall(r"C<(\d+)>|(?:cute::)?_(\d+)\b|\bconstant<int, (\d+)>", text)
    return [int(next(part for part in group if part)) for group in found] or None


def _stride(text: str, operand: str) -> str | None:
    """Which way a stride's constant 1 points: K-major A is transposed in BLAS terms, K-major B is not."""
    parts = cpp.split(text[text.find("<") + 1 : text.rfind(">")])
    if len(parts) < 2:
        return None
    ones = [bool(re.search(r"C<1>|_1\b", part)) for part in parts[:2]]
    if ones == [False, True]:
        return "T" if operand == "A" else "N"
    if ones == [True, False]:
        return "N" if operand == "A" else "T"
    return None


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
    rest = found["rest"]
    letter = found["sum"].replace("g", "")[-1:]
    accumulate = LETTERS.get(letter)
    after = re.match(r"_(fp16|bf16|fp32|fp64|tf32|int8x4|int8x32|int8|s8|u8)(?=_|$)", rest)
    word = after[1] if after else None
    a = of_word(re.sub(r"x\d+$", "", word)) if word else None if found["out"] else accumulate
    out = of_word(re.sub(r"x\d+$", "", found["out"])) if found["out"] else accumulate
    size = re.search(r"_(\d{2,3})x(\d{1,3})(?=_|$)", rest)
    stages = re.search(r"_stages_(\d+)x(\d+)", rest)
    layout = re.search(r"_([ntc])([ntc])(?=_v\d+$|$)", rest)
    epilogue = _EPILOGUE.findall(rest)
    result: dict[str, Any] = {
        "family": "cudnn" if found["kind"] == "cudnn" else "cublas",
        "role": "convolution" if found["kind"] == "cudnn" or "winograd" in rest else "gemm",
        "arch": ARCHITECTURES[found["generation"]],
        "generation": found["generation"],
        "dtypes": dtypes(a, a, out, accumulate),
        "layout": (layout[1] + layout[2]).upper().replace("C", "T") if layout and found["kind"] != "cudnn" else None,
        "tile": [int(size[1]), int(size[2])] if size else None,
        "tile_k": int(stages[1]) if stages else None,
        "stages": int(stages[2]) if stages else None,
        # A splitKreduce kernel may follow although the name does not say that K is split.
        "split_k": True if re.search(r"split_?k", rest, re.IGNORECASE) else None,
        "epilogue": _joined(epilogue),
        "tensor_cores": bool(found["shape"]),
    }
    if found["shape"] and a == "float32":
        result["math"] = "tf32"
    if sliced := re.search(r"sliced(\d+)x(\d+)", rest):
        result["sliced"] = [int(sliced[1]), int(sliced[2])]
    if load := re.search(r"_ldg(\d+)", rest):
        result["load_width"] = int(load[1])
    if "winograd" in rest:
        result["algorithm"] = "winograd"
    return result


def _split_k_reduce(name: str) -> dict[str, Any] | None:
    if not re.search(r"split_?k_?(?:ping_?pong_?)?reduc", name, re.IGNORECASE) and "ReduceSplitK" not in name:
        return None
    parsed = cpp.parse(name)
    found = [of_cpp(argument) for argument in parsed.templates]
    out = accumulate = None
    # cublasLt::splitKreduce_kernel<32, 16, int, sum, output, …>
    if "cublasLt" in name and len(found) >= 5:
        accumulate, out = found[3], found[4]
        computed = re.search(r"cublasSplitKParams<(\w+)>", name)
        accumulate = of_cpp(computed[1]) if computed else accumulate
    return {
        "family": "cutlass" if "cutlass" in name else "cublas",
        "role": "split_k_reduce",
        "split_k": True,
        "dtypes": dtypes(None, None, out, accumulate),
    }


def _gemv(name: str) -> dict[str, Any] | None:
    low = name.lower()
    if not re.search(
        r"gemv(?!er)|gemvx|(?<![a-z])(?:dot_kernel|reduce_1block_kernel)(?![a-z])|gevm|gemvn|matvec|mul_mat_vec", low
    ):
        return None
    parsed = cpp.parse(name)
    function = parsed.symbol
    if "gemv" not in function.lower() and "gevm" not in function.lower() and "vec" not in function.lower():
        if parsed.function in ("dot_kernel", "reduce_1Block_kernel"):
            return {"family": "cublas", "role": "reduction", "dtypes": _handed(parsed)}
        return None
    found = [of_cpp(argument) for argument in parsed.templates]
    a = b = out = accumulate = matrix = None
    if parsed.function == "kernel" and "gemvx" in function and len(found) >= 6:
        # <int, int, A, x, y, sum, conjugated, …, transposed, …>
        a, b, out, accumulate = found[2:6]
        matrix = {"true": "T", "false": "N"}.get(parsed.templates[8]) if len(parsed.templates) > 8 else None
    elif re.match(r"gemv(?:2T|2N|NSP|N|T)", parsed.function):
        # <int, int, A, x, y, sum, …>, without the indices' types, or the one type of all
        kept = [dtype for dtype in found if dtype and dtype != "int32"]
        if len(kept) >= 4:
            a, b, out, accumulate = kept[:4]
        elif len(set(kept)) == 1:
            a = kept[0]
        letter = re.match(r"gemv2?([TN])", parsed.function)
        matrix = letter[1] if letter else None
    elif (kept := [dtype for dtype in found if dtype and dtype not in ("int32", "int64", "bool")]) and kept:
        a = kept[0]
    return {
        "family": "cusolver"
        if "cusolver" in function
        else "cublas"
        if re.search(r"cublas|gemvx|gemv2|gemvNSP|gemvn", name) or parsed.function.startswith("gemv")
        else None,
        "role": "gemv",
        "dtypes": dtypes(a, b, out, accumulate),
        "matrix_layout": matrix,
    }


# Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI16x16x16x1_…: A(i,l), B(l,j) read plainly are N, N.
_TENSILE_TYPES = {
    "S": "float32",
    "D": "float64",
    "H": "float16",
    "B": "bfloat16",
    "C": "complex64",
    "Z": "complex128",
    "I": "int32",
    "I8": "int8",
    "F8": "float8_e4m3",
    "B8": "float8_e5m2",
    "F8N": "float8_e4m3fnuz",
    "B8N": "float8_e5m2fnuz",
    "X": "float32",
}


def _tensile(name: str) -> dict[str, Any] | None:
    found = re.search(r"Cijk_A(ilk|lik)C?_B(ljk|jlk)C?_(.*)", name)
    if not found:
        if re.search(r"\bTensile\b|^Custom_Cijk|tensile", name):
            return {"family": "tensile", "role": "gemm"}
        return None
    rest = found[3]
    words = rest.split("_")
    letters = re.findall(r"F8N?|B8N?|I8|[SDHBCZIX]", words[0])
    a = b = out = accumulate = None
    if "".join(letters) == words[0]:
        # One letter and B: everything of one type (SB, DB, HB: "B" is for batched). Three: operands, output, sum.
        if len(letters) == 3:
            a = b = _TENSILE_TYPES[letters[0]]
            out, accumulate = _TENSILE_TYPES[letters[1]], _TENSILE_TYPES[letters[2]]
        elif len(letters) == 4:
            a, b, out, accumulate = (_TENSILE_TYPES[letter] for letter in letters)
        elif len(letters) == 2 and letters[1] != "B":
            a, b = _TENSILE_TYPES[letters[0]], _TENSILE_TYPES[letters[1]]
        elif letters:
            a = b = out = accumulate = _TENSILE_TYPES[letters[0]]
    if len(letters) == 1 and len(words) > 1 and re.fullmatch(r"[SDHB]{2}", words[1]) and words[1] != "BH":
        out, accumulate = (_TENSILE_TYPES[letter] for letter in words[1])  # B_BS_BH: operands, output and sum
    if mixed := re.fullmatch(r"(F8N?|B8N?)(F8N?|B8N?)", words[0]):
        a, b = _TENSILE_TYPES[mixed[1]], _TENSILE_TYPES[mixed[2]]
        tail = re.findall(r"[SHB]", words[1]) if len(words) > 1 else []
        if len(tail) >= 2:
            out, accumulate = _TENSILE_TYPES[tail[0]], _TENSILE_TYPES[tail[1]]
    tile = re.search(r"_MT(\d+)x(\d+)x(\d+)", name)
    splits = re.search(r"_GSU(\d+)(?=_|$)", name)
    isa = re.search(r"_ISA([0-9a-c]+)(?=[_.]|$)", name) or re.search(r"_gfx(\w+)", name)
    result: dict[str, Any] = {
        "family": "tensile",
        "role": "gemm",
        "arch": f"gfx{_gfx(isa[1])}" if isa and isa[1].strip("0") else None,
        "dtypes": dtypes(a, b, out, accumulate),
        "layout": ("N" if found[1] == "ilk" else "T") + ("N" if found[2] == "ljk" else "T"),
        "tile": [int(tile[1]), int(tile[2])] if tile else None,
        "tile_k": int(tile[3]) if tile else None,
        "split_k": int(splits[1]) > 1 if splits else None,
        "stages": None,
        "epilogue": None,  # a word such as `Bias` is what the kernel can do; the op's arguments say whether it does
        "able": [word.lower() for word in words if word in ("Bias", "Gelu", "Relu")],
    }
    if mfma := re.search(r"_MI(\d+)x(\d+)x(\d+)", name):
        result["instruction"] = [int(mfma[1]), int(mfma[2]), int(mfma[3])]
    return result


def _gfx(digits: str) -> str:
    """ISA90a is written 90a, ISA942 942; ISA9010 (9, 0, 10) is 90a."""
    return "90a" if digits == "9010" else digits


def _small(name: str) -> dict[str, Any] | None:
    """cuBLAS's kernels for narrow results: `gemmSN_TN_kernel<float, …>`, `gemmk1_kernel<int, float, …>`."""
    parsed = cpp.parse(name)
    found = re.fullmatch(r"gemm(?:SN|k1|LN)(?:_([NTC])([NTC]))?_kernel\w*", parsed.function)
    if not found:
        return None
    return {
        "family": "cublas",
        "role": "gemm",
        "dtypes": _handed(parsed),
        "layout": (found[1] + found[2]).replace("C", "T") if found[1] else None,
    }


def _handed(parsed: cpp.Name) -> dict[str, str | None]:
    """The types of the tensors, where it says them: `dot_kernel<float, …, cublasDotParams<cublasGemvTensor<__half const>…`."""
    first = next((dtype for dtype in map(of_cpp, parsed.templates) if dtype and not dtype.startswith("int")), None)
    tensors = re.findall(r"cublasGemvTensor\w*<([^<>]+)>", ",".join(parsed.templates))
    if not tensors:
        return dtypes(first)
    if parsed.function in ("dot_kernel", "reduce_1Block_kernel"):  # what lies between the two is partial sums
        return dtypes(of_cpp(tensors[0])) if parsed.function == "dot_kernel" else dtypes(out=of_cpp(tensors[-1]))
    a, b, out = [*map(of_cpp, tensors), None, None][:3]
    return dtypes(a, b, out, first)
