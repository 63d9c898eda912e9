"""ATen's native CUDA kernels: a few templates, and what they are applied to is in the template arguments."""

from __future__ import annotations

import re
from typing import Any

from fxscope.kernel_names import cpp, tables
from fxscope.kernel_names.dtypes import dtypes, of_cpp
from fxscope.op_names import table

_BY_NAME = re.compile(
    r"(?:softmax_warp|masked_softmax|cunn_SoftMax|cunn_Softmax|elementwise_kernel_with_index|vectorized_elementwise_kernel|unrolled_elementwise_kernel|distribution_elementwise|multi_tensor_apply_kernel|reduce_kernel|indexing_backward_kernel|CatArrayBatchedCopy|indexSelect|elementwise_kernel|fused_dropout)"
)
_NOT_POINTWISE = re.compile(r"index_elementwise|scatter_gather|distribution|unfold_backward")


def decode(name: str) -> dict[str, Any] | None:
    """Decode one of ATen's kernels, `None` if it is not one."""
    text = cpp.normalize(name)
    parsed = cpp.parse(name)
    inside = "at::native" in text or "at::cuda" in text or "at::functorch" in text
    if not inside and not _BY_NAME.match(parsed.function):
        return None
    if re.match(r"(?:at_cuda_detail::)?(?:cub|thrust)::", parsed.symbol):
        return None
    function = parsed.function or text
    low = function.lower()
    # a helper of an op's own namespace: mbtopk::computeBlockDigitCounts
    role = tables.role("aten", low) or tables.role("aten", parsed.symbol.lower()) or "other"
    result: dict[str, Any] = {"family": "aten", "function": function}
    arguments = parsed.templates
    if "elementwise_kernel" in low and not _NOT_POINTWISE.search(low):
        role = _elementwise(text, name, function, arguments, result)
    elif low == "reduce_kernel":
        _reduction(text, result)
    elif "multi_tensor_apply_kernel" in low:
        role = _foreach(arguments, result)
    elif "distribution" in low:
        role = "random"
        drawn = re.search(r"templates::cuda::(\w+)_kernel\b", text)
        _op(drawn[1] if drawn else "", result)
    elif "::index_elementwise_kernel" in text or "scatter_gather" in low:
        role = "index"
    if "dtypes" not in result:
        unknown = role == "random" or "OpaqueType<" in text
        result["dtypes"] = dtypes() if unknown else _types(low, role, arguments)
    if role != "index":  # indexing_backward_kernel is index_put's, forward too
        result |= tables.direction("aten", low)
    return result | {"role": role}


def _types(low: str, role: str, arguments: tuple[str, ...]) -> dict[str, str | None]:
    found = [dtype for dtype in map(of_cpp, arguments) if dtype not in (None, "uint32", "uint64")]
    floats = [dtype for dtype in found if dtype and not dtype.startswith(("int", "uint", "bool"))]
    if role == "softmax" and len(floats) >= 3:
        # softmax_warp_forward<input, output, sum, …>; cunn_SoftMaxForward<vector, input, sum, output>, its backward turned
        order = (0, 1, 2) if "warp" in low else (2, 0, 1) if "backward" in low else (0, 2, 1)
        a, out, accumulate = (floats[position] for position in order)
        return dtypes(a, None, out, accumulate)
    if role == "normalization" and len(floats) >= 2:
        return dtypes(floats[0], None, None, floats[1] if "layer_norm" in low else [*floats, None][2])
    if role == "index" and not floats and not re.match(r"index|_?scatter|gather|take|put", low):
        return dtypes()  # indices of indices: `write_indices<long>`
    # The first type is an index's in some: adaptive_average_gradinput_nhwc<int, c10::BFloat16>
    return dtypes(floats[0] if floats and found[0] == "int32" else found[0] if found else None)


def _elementwise(text: str, name: str, function: str, arguments: tuple[str, ...], result: dict[str, Any]) -> str:
    """The functor says what is computed on what; the leading number how many elements a thread loads at once."""
    if arguments and arguments[0].isdigit() and function.startswith("vectorized"):
        result["vector_width"] = int(arguments[0])
    cast = "LoadWithCast" in text or "StoreWithCast" in text or "gpu_kernel_impl<" in text or "type_specialized" in text
    functor = next((argument for argument in arguments if not re.fullmatch(r"-?\d+|true|false", argument)), "")
    if not arguments and name.startswith("_Z"):
        named = re.search(r"\d([A-Z]\w*?Functor|[a-z_]+_kernel_cuda)", name)
        functor = named[1] if named else ""
    if inner := cpp.template(functor, "gpu_kernel_impl_nocast") or cpp.template(functor, "gpu_kernel_impl"):
        functor = inner[0]
    if function.endswith("with_index") and len(arguments) > 1:
        functor = arguments[1]
    result["functor"] = _short(functor) or None
    _op(functor, result)
    # What casts as it loads, or computes an index, has the types of its arithmetic and not of its tensors.
    role = tables.role("aten functor", functor) or "elementwise"
    unknown = cast or function.endswith("with_index") or "CUDAKernelLauncher" in functor or role == "normalization"
    result["dtypes"] = dtypes() if unknown and "FillFunctor" not in functor else _functor_types(functor)
    return role


def _functor_types(functor: str) -> dict[str, Any]:
    kind = re.match(r"(?:\w+::)*(\w+)", functor)
    head = kind[1] if kind else ""
    arguments = cpp.template(functor, head) or ()
    types = [of_cpp(argument) for argument in arguments]
    if re.fullmatch(r"(?:Binary|AUnary|BUnary)Functor", head) and len(types) >= 3:
        # the first operand of an AUnaryFunctor, the second of a BUnaryFunctor is a bound scalar
        first, second = types[head.startswith("AU")], types[1] if head == "BinaryFunctor" else None
        return dtypes(first, second, types[2], _first(types[3:], arguments[3:]))
    if head == "FillFunctor" and types:
        return dtypes(None, None, types[0])
    if head.startswith("CUDAFunctor") and types:
        second = types[0] if head == "CUDAFunctor_add" else None
        return dtypes(types[0], second, types[0], types[1] if len(types) > 1 else None)
    lambdas = re.findall(r"[{\[]lambda\(([^()]*)\)(?:#\d+| \(instance \d+\))[}\]]", functor)
    parameters = [of_cpp(part) for part in cpp.split(lambdas[-1])] if lambdas else []
    target = re.search(r"(bfloat16|float16)_copy_kernel", functor)
    if target:
        return dtypes(parameters[0] if parameters else None, None, target[1])
    if "arange" in functor or "linspace" in functor:
        return dtypes()
    if "direct_copy_kernel" in functor and parameters:
        return dtypes(parameters[0], None, parameters[0])
    a = parameters[0] if parameters else None
    b = parameters[1] if len(parameters) > 1 else None
    if a is None and types:
        a = next((dtype for dtype in types if dtype), None)
    return dtypes(a, b)


def _first(types: list[str | None], arguments: tuple[str, ...]) -> str | None:
    """The type that the arithmetic is done in: `binary_internal::MulFunctor<float>`."""
    for argument in arguments:
        inner = re.search(r"(?:Mul|Div|Add)Functor<([^<>]*)>", argument)
        if inner:
            return of_cpp(inner[1])
    return None


def _reduction(text: str, result: dict[str, Any]) -> None:
    operation = cpp.template(text, "ReduceOp")
    if not operation:
        return
    a = of_cpp(operation[0])
    inner = operation[1] if len(operation) > 1 else ""
    out = of_cpp(operation[3]) if len(operation) > 3 else None
    kind = re.search(r"\b(sum_functor|MeanOps|Norm\w*Ops|WelfordOps|prod_functor|Arg(?:Max|Min)Ops)\s*<", inner)
    types = (cpp.template(inner, kind[1]) if kind else None) or ()
    position = 0 if "Arg" in inner else 1
    accumulate = of_cpp(types[position]) if len(types) > position else None
    # a hash is written as bits: its `double` is no number
    result["dtypes"] = dtypes(a, None, None if "xor_sum" in inner else out, accumulate)
    result["functor"] = _short(inner) or None
    if len(operation) > 5 and operation[5].isdigit():
        result["vector_width"] = int(operation[4])
    _op(inner, result)


def _foreach(arguments: tuple[str, ...], result: dict[str, Any]) -> str:
    functor = arguments[1] if len(arguments) > 1 else ""
    result["functor"] = _short(functor) or None
    head = re.match(r"(?:\w+::)*(\w+)", functor)
    inside = cpp.template(functor, head[1]) if head else None
    types = [dtype for dtype in map(of_cpp, inside or ()) if dtype]
    result["dtypes"] = dtypes(types[0] if types else None)
    done = [_short(argument) for argument in (functor, *arguments[2:])]
    if "PointwiseOp" in functor:
        done = ["addcmul" if "multiplies" in done else "addcdiv" if "divides" in done else ""]
    for name in done:
        if "ops" not in result:
            _op(name, result)
    result["foreach"] = True
    return tables.role("aten foreach", " ".join(arguments[1:3])) or "elementwise"


def _op(functor: str, result: dict[str, Any]) -> None:
    """The op that a functor's name is made of: `launch_clamp_scalar`, `(…)::leaky_relu_backward_kernel(at::…)::{lambda…}`."""
    head = re.match(r"(?:\w+::)*(BinaryFunctor|[AB]UnaryFunctor)<", functor)
    inner = cpp.template(functor, head[1]) if head else None
    name, ops = _short(inner[-1] if inner else functor), tables.tables()["aten_ops"]
    stem = re.sub(r"^launch_|(?:_kernel|_cuda|_impl|_out)+$", "", name)
    op = ops.get(name) or ops.get(stem)
    if op is None:
        op = next((word for word in (stem, stem.lower()) if word in table()), None)
    if op:
        result["ops"] = [op]


def _short(functor: str) -> str:
    """`at::native::BinaryFunctor<…>` → `BinaryFunctor`; `at::native::tanh_kernel_cuda(…)::{lambda…}` → its function."""
    found = re.match(r"(?:[\w]+::)*(\w+)", functor)
    if not found:
        return ""
    wrapped = cpp.template(functor, "func_wrapper_t")
    if wrapped and len(wrapped) > 1:
        return _short(wrapped[1])
    return found[1]
