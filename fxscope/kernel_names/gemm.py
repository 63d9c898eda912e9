"""Matrix products and convolutions: cuBLAS nvjet, CUTLASS 2 and 3, xmma, the older cuBLAS names, gemv, Tensile, ck."""

from __future__ import annotations

import re
from typing import Any

from fxscope.kernel_names.dtypes import CPP, NVJET, WORDS, template_arguments

_NVJET = re.compile(
    r"nvjet_(?:(?P<arch>sm\d+a?)_)?(?P<types>[a-z]{3,6})_(?:mma_)?(?P<m>\d+)x(?P<n>\d+)_(?P<k>\d+)x(?P<stages>\d+)"
    r"(?:_(?P<c1>\d+)x(?P<c2>\d+))?(?:_\dcta)?(?P<rest>\w*)"
)
_XMMA = re.compile(
    r"(?P<arch>sm\d+)_xmma_(?P<what>gemm|fprop|dgrad|wgrad|convolution)\w*?_"
    r"(?P<a>tf32|bf16|f16|f32|f64|i8|s8|u8|e4m3|e5m2|i32|cf32|cf64)(?P<b>tf32|bf16|f16|f32|f64|i8|s8|u8|e4m3|e5m2|i32|cf32|cf64)_"
    r"(?P<c>tf32|bf16|f16|f32|f64|i8|s8|i32|e4m3|e5m2|cf32|cf64)(?P<d>tf32|bf16|f16|f32|f64|i8|i32|cf32|cf64)_(?P<acc>bf16|f16|f32|f64|i32|cf32|cf64)_(?P<rest>\w+)"
)
# cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8, cutlass_80_simt_sgemm_256x128_8x4_nn_align1
_CUTLASS2 = re.compile(
    r"cutlass_(?:(?P<arch>\d\d\d?)_)?(?P<unit>simt|tensorop|wmma_tensorop|mixed_tensorop)_"
    r"(?:(?P<in>bf16|f16|tf32|s8|u8|s4|e4m3|e5m2|f32|f64)_)?(?P<acc>[a-z]*?)(?P<shape>\d{3,6})?"
    r"(?P<math>tf32|bf16|f16)?(?P<what>gemm|fprop|dgrad|wgrad)(?P<mid>\w*?)_(?:(?P<out>bf16|f16|f32|tf32|s8|s32|f64|e4m3|e5m2)_)?"
    r"(?P<m>\d+)x(?P<n>\d+)_(?P<k>\d+)x(?P<stages>\d+)_(?P<rest>\w+)"
)
# cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_bf16_bf16_128x128x64_2x1x1_0_tnn_align8_warpspecialized…
_CUTLASS3 = re.compile(
    r"cutlass3x_(?P<arch>sm\d+a?)_(?P<unit>\w+?)_(?:\w*?)(?P<what>gemm|fprop|dgrad|wgrad)_(?P<types>(?:(?:bf16|f16|f32|tf32|s8|u8|s32|f64|e4m3|e5m2|void|ue8m0|e2m1)_){3,6})"
    r"(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_(?P<c1>\d+)x(?P<c2>\d+)x\d+_(?P<stages>\d+|auto)_(?P<layout>[tn]{2,3})_(?P<rest>\w+)"
)
# ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn, volta_sgemm_128x64_nn, ampere_sgemm_32x128_tn
_CUBLAS = re.compile(
    r"(?P<arch>maxwell|pascal|volta|turing|ampere|ada|hopper)_(?:(?P<in>bf16|fp16|int8|tf32|gcgemm|zgemm)_)?"
    r"(?P<acc>[a-z]?)(?P<shape>\d{3,6})?(?P<what>gemm|cudnn_winograd|cudnn|scudnn|hcudnn)_?(?P<rest>\w+)"
)
_ARCH = {
    "maxwell": "sm50",
    "pascal": "sm60",
    "volta": "sm70",
    "turing": "sm75",
    "ampere": "sm80",
    "ada": "sm89",
    "hopper": "sm90",
}
_ACCUMULATE = {
    "s": "float32",
    "h": "float16",
    "d": "float64",
    "i": "int32",
    "c": "complex64",
    "z": "complex128",
    "g": None,
}
_LAYOUT = re.compile(r"(?:^|_)([tnc]{2})(?:[tn])?(?:_|$)")
_EPILOGUES = (
    ("gelubias", "gelu_bias"), ("relubias", "relu_bias"), ("bias_gelu", "gelu_bias"), ("bias_relu", "relu_bias"),
    ("drelu", "drelu"), ("dgelu", "dgelu"), ("gelu", "gelu"), ("relu", "relu"), ("bias", "bias"),
)  # fmt: skip
_TENSILE_TYPES = {
    "BBS": ("bfloat16", "bfloat16", "float32"), "HHS": ("float16", "float16", "float32"), "HBH": ("float16", "float16", "float16"),
    "BSS": ("bfloat16", "float32", "float32"), "HSS": ("float16", "float32", "float32"), "SS": ("float32", "float32", "float32"),
    "HH": ("float16", "float16", "float16"), "DB": ("float64", "float64", "float64"), "SB": ("float32", "float32", "float32"),
    "F8BS": ("float8_e4m3fn", "bfloat16", "float32"), "HB": ("float16", "float16", "float16"), "BB": ("bfloat16", "bfloat16", None),
    "I8II": ("int8", "int32", "int32"), "S": ("float32", "float32", "float32"), "D": ("float64", "float64", "float64"),
}  # fmt: skip


def read(name: str) -> dict[str, Any] | None:
    """Return what the name of a matrix product or convolution says, `None` for any other name."""
    for reader in (_nvjet, _xmma, _cutlass3, _cutlass2, _cublas, _gemv, _split_k, _tensile, _templates):
        found = reader(name)
        if found is not None:
            return found
    return None


def _dtypes(a: str | None, b: str | None, out: str | None, accumulate: str | None) -> dict[str, str | None]:
    return {"a": a, "b": b, "out": out, "accumulate": accumulate}


def epilogue_of(text: str) -> str | None:
    """Return the epilogue that a name's words state."""
    return next((label for word, label in _EPILOGUES if word in text), None)


def _nvjet(name: str) -> dict[str, Any] | None:
    found = _NVJET.search(name)
    if not found:
        return None
    types = found["types"]
    # three letters: operands, accumulator, result; five: each operand, C, accumulator, result
    letters = [NVJET.get(letter) for letter in types]
    if len(types) == 3:
        dtypes = _dtypes(letters[0], letters[0], letters[2], letters[1])
    elif len(types) == 5:
        dtypes = _dtypes(letters[0], letters[1], letters[4], letters[3])
    else:
        dtypes = _dtypes(letters[0], None, letters[-1], None)
    if len(types) == 5 and types[3:] == "st":
        dtypes = _dtypes(letters[0], letters[1], letters[4], letters[3])
    layout = re.search(r"_([TN])([TN])([TN])$", name)
    result: dict[str, Any] = {
        "family": "nvjet", "role": "gemm", "arch": found["arch"], "dtypes": dtypes,
        "layout": layout[1] + layout[2] if layout else None, "tile": [int(found["m"]), int(found["n"])],
        "tile_k": int(found["k"]), "stages": int(found["stages"]), "epilogue": epilogue_of(found["rest"]),
        "split_k": "splitk" in found["rest"].lower(),
    }  # fmt: skip
    if found["c1"]:
        result["cluster"] = [int(found["c1"]), int(found["c2"])]
    return result


def _xmma(name: str) -> dict[str, Any] | None:
    found = _XMMA.search(name)
    if not found:
        return None
    rest = found["rest"]
    tile = re.search(r"tilesize(\d+)x(\d+)x(\d+)", rest)
    stage = re.search(r"stage(\d+)", rest)
    layout = re.match(r"([tn])([tn])_[tn]_", rest)
    tf32 = "tf32" in (found["a"], found["c"])
    result: dict[str, Any] = {
        "family": "xmma", "role": "gemm" if found["what"] == "gemm" else "convolution", "arch": found["arch"],
        "dtypes": _dtypes(
            _word(found["a"], "tf32"), _word(found["b"], "tf32"), _word(found["c"], "tf32"), _word(found["acc"]),
        ),
        "layout": (layout[1] + layout[2]).upper() if layout else None, "tile": [int(tile[1]), int(tile[2])] if tile else None,
        "stages": int(stage[1]) if stage else None, "epilogue": epilogue_of(rest), "split_k": "splitk" in rest.lower(),
    }  # fmt: skip
    if tile:
        result["tile_k"] = int(tile[3])
    if tf32:
        result["math"] = "tf32"
    if found["what"] != "gemm":
        result["direction"] = found["what"]
        data = re.search(r"_(nhwc|nchw|ndhwc|ncdhw)(?:_|krsc|kcrs)", "_" + rest)
        result["data_layout"] = data[1] if data else None
    return result


def _word(word: str | None, inner: str | None = None) -> str | None:
    """Return the dtype of a word; tf32 is how float32 operands are multiplied, not what they are."""
    if word is None:
        return None
    return "float32" if word == inner else WORDS.get(word)


def _cutlass2(name: str) -> dict[str, Any] | None:
    found = _CUTLASS2.search(name)
    if not found:
        return None
    accumulate = _ACCUMULATE.get(found["acc"][:1]) if found["acc"] else None
    operand = _word(found["in"], "tf32") or (accumulate if not found["shape"] or found["acc"] in ("s", "d") else None)
    if found["acc"].startswith("i") and not found["in"]:
        # cutlass_80_tensorop_i16832gemm_s8: the integer accumulator is named first, the operands after the op
        operand = _word(found["out"])
    out = _word(found["out"], "tf32") or (operand if found["unit"] == "simt" or not found["out"] else None)
    if found["acc"].startswith("i") and not found["in"]:
        out = None
    layout = re.match(r"([tn])([tn])(?:_|$)", found["rest"]) or re.search(
        r"_([tn])([tn])(?:[tn])?_align", "_" + found["rest"]
    )
    result: dict[str, Any] = {
        "family": "cutlass", "role": "gemm" if found["what"] == "gemm" else "convolution",
        "arch": f"sm{found['arch']}" if found["arch"] else None, "dtypes": _dtypes(operand, operand, out, accumulate),
        "layout": (layout[1] + layout[2]).upper() if layout else None, "tile": [int(found["m"]), int(found["n"])],
        "tile_k": int(found["k"]), "stages": int(found["stages"]), "epilogue": epilogue_of(found["mid"] + "_" + found["rest"]),
        "split_k": "splitk" in name.lower() or "split_k" in name.lower(),
    }  # fmt: skip
    if found["math"] or found["in"] == "tf32":
        result["math"] = found["math"] or "tf32"
    if found["what"] != "gemm":
        result["direction"] = found["what"]
    return result


def _cutlass3(name: str) -> dict[str, Any] | None:
    found = _CUTLASS3.search(name)
    if not found:
        return None
    types = [_word(word, "tf32") for word in found["types"].strip("_").split("_")]
    layout = found["layout"].upper()
    return {
        "family": "cutlass3x", "role": "gemm" if found["what"] == "gemm" else "convolution", "arch": found["arch"],
        "dtypes": _dtypes(types[0], types[1], types[-1], types[2]), "layout": layout[:2],
        "tile": [int(found["m"]), int(found["n"])], "tile_k": int(found["k"]), "cluster": [int(found["c1"]), int(found["c2"])],
        # 0 and "auto" mean: as many as fit, which the name does not say
        "stages": int(found["stages"]) if found["stages"].isdigit() and int(found["stages"]) else None,
        "epilogue": epilogue_of(found["rest"]), "split_k": "splitk" in found["rest"] or "stream_k" in found["rest"],
    }  # fmt: skip


def _cublas(name: str) -> dict[str, Any] | None:
    found = _CUBLAS.search(name)
    if not found:
        return None
    rest = found["rest"]
    tile = re.search(r"(\d+)x(\d+)", rest)
    stages = re.search(r"stages_(\d+)x(\d+)", rest)
    layout = re.search(r"(?:^|_)([tn])([tn])(?:_v\d+|_align\d+)?$", rest) or re.search(r"_([tn])([tn])(?:_|$)", rest)
    accumulate = _ACCUMULATE.get(found["acc"]) if found["acc"] else None
    words = re.match(r"(bf16|fp16|f16|f32|fp32|int8|tf32)_", rest)
    operand = _word(found["in"], "tf32") or (accumulate if not found["shape"] else None)
    if operand is None and found["acc"] == "h" and found["shape"] == "884":
        operand = "float16"
    out = _word(words[1]) if words else operand if not found["shape"] else None
    convolution = "cudnn" in found["what"]
    if convolution:
        operand = out = "float16" if found["what"].startswith("h") or found["in"] == "fp16" else "float32"
        accumulate = accumulate or ("float32" if operand == "float32" else None)
    result: dict[str, Any] = {
        "family": "cudnn" if convolution else "cublas", "role": "convolution" if convolution else "gemm", "arch": _ARCH[found["arch"]],
        "dtypes": _dtypes(operand, operand, out, accumulate), "layout": (layout[1] + layout[2]).upper() if layout else None,
        "tile": [int(tile[1]), int(tile[2])] if tile else None, "stages": int(stages[2]) if stages else None,
        "epilogue": epilogue_of(rest), "split_k": "splitk" in rest.lower(),
    }  # fmt: skip
    if stages:
        result["tile_k"] = int(stages[1])
    return result


def _gemv(name: str) -> dict[str, Any] | None:
    found = re.search(
        r"(gemvx::kernel|gemv2T_kernel_val|gemv2N_kernel|gemvNSP_kernel|gemv\w*kernel\w*|gemmSN_\w+_kernel|gemmk1_kernel|\bdot_kernel)",
        name,
    )
    if not found or name.startswith("triton"):
        return None
    word = found[1]
    types = [CPP[arg] for arg in template_arguments(name, word) if arg in CPP and arg != "int"]
    role = "gemm" if word.startswith("gemm") else "gemv" if "gemv" in word else "reduction"
    layout = re.search(r"gemmSN_([TN])([TN])", word)
    dtypes = None
    if types:
        dtypes = _dtypes(
            types[0],
            types[1] if len(types) > 1 else types[0],
            types[2] if len(types) > 2 else None,
            types[3] if len(types) > 3 else None,
        )
        if len(types) == 1:
            dtypes = _dtypes(types[0], types[0], None, None)
    return {
        "family": "cublas", "role": role, "dtypes": dtypes, "layout": layout[1] + layout[2] if layout else None, "split_k": False,
        "transposed": {"gemv2T": True, "gemv2N": False}.get(word[:6]),
    }  # fmt: skip


def _split_k(name: str) -> dict[str, Any] | None:
    if not re.search(r"splitK_?reduce|split_?k_?reduce|SplitKReduce|reduceSplitK", name, re.IGNORECASE):
        return None
    arguments = template_arguments(name, "splitKreduce_kernel")
    types = [CPP[arg] for arg in arguments if arg in CPP and arg != "int"]
    # <…, compute, operand, accumulate, result, …>: what is summed are partial products in float32
    out = types[3] if len(types) > 3 else None
    return {
        "family": "cublas" if "cublas" in name else "cutlass" if "cutlass" in name else "other", "role": "split_k_reduce",
        "dtypes": _dtypes(types[0] if types else None, None, out, types[0] if types else None) if types else None, "split_k": True,
    }  # fmt: skip


def _tensile(name: str) -> dict[str, Any] | None:
    """Cijk_Alik_Bljk_BBS_BH_…_MT128x128x32_…: Ailk is A not transposed, Alik transposed; Bljk not, Bjlk transposed."""
    found = re.search(r"Cijk_A(ilk|lik)_B(ljk|jlk)_([A-Z0-9]+)_", name)
    if found:
        layout = ("N" if found[1] == "ilk" else "T") + ("N" if found[2] == "ljk" else "T")
        types = next(
            (
                value
                for key, value in sorted(_TENSILE_TYPES.items(), key=lambda kv: -len(kv[0]))
                if found[3].startswith(key)
            ),
            None,
        )
        tile = re.search(r"_MT(\d+)x(\d+)(?:x(\d+))?", name)
        split = re.search(r"_GSU(\d+)", name)
        return {
            "family": "tensile", "role": "gemm", "layout": layout, "arch": (re.search(r"ISA(\d+)", name) or [None, None])[1],
            "dtypes": _dtypes(types[0], types[0], types[1], types[2]) if types else None,
            "tile": [int(tile[1]), int(tile[2])] if tile else None, "tile_k": int(tile[3]) if tile and tile[3] else None,
            "epilogue": "bias" if re.search(r"_Bias", name) else None, "split_k": int(split[1]) > 1 if split else None,
        }  # fmt: skip
    if re.search(r"(^|[^\w])ck(_tile)?::", name) and re.search(r"gemm|Gemm", name):
        convolution = re.search(r"conv|Conv", name)
        return {
            "family": "composable_kernel",
            "role": "convolution" if convolution else "attention" if "fmha" in name.lower() else "gemm",
        }
    return None


def _templates(name: str) -> dict[str, Any] | None:
    """cutlass::device_kernel<…GemmUniversal<…>>, cutlass::Kernel2<…> whose instance has no systematic name."""
    if (
        "cutlass" not in name
        or not re.search(r"[Gg]emm|Conv", name)
        or "fmha" in name.lower()
        or "flash" in name.lower()
    ):
        return None
    arch = re.search(r"arch::Sm(\d+)|cutlass_(\d\d)_|[sS]m(\d{2,3})", name)
    tile = re.search(r"GemmShape<(\d+), ?(\d+), ?(\d+)>", name) or re.search(
        r"tuple<(?:cute::)?C<(\d+)>, ?(?:cute::)?C<(\d+)>, ?(?:cute::)?C<(\d+)>>", name
    )
    convolution = "conv::" in name or "ImplicitGemm" in name
    number = next((group for group in arch.groups() if group), None) if arch else None
    return {
        "family": "cutlass", "role": "convolution" if convolution else "gemm", "arch": f"sm{number}" if number else None,
        "tile": [int(tile[1]), int(tile[2])] if tile else None, "tile_k": int(tile[3]) if tile else None,
    }  # fmt: skip
