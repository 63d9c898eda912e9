"""ATen's native CUDA kernels: a few templates, and what they are applied to is in the template arguments."""

from __future__ import annotations

import re
from typing import Any

from fxscope.kernel_names import cpp
from fxscope.kernel_names.dtypes import dtypes, of_cpp

# By the kernel's own name; the first match counts.
_FUNCTIONS = (
    (r"multi_tensor_apply_kernel", "optimizer?"),
    (r"fused_?adam|fused_?sgd|fused_?adagrad|amp_update_scale", "optimizer"),
    (r"cat_?array|catarray|vectorized_cat|copy_kernel|chunk_cat|split_with_sizes|_copy_", "copy"),
    (r"nll_loss|cross_entropy|ctc_loss|multi_margin|multilabel|mse_loss|smooth_l1", "reduction"),
    (r"softmax", "softmax"),
    (
        r"layer_?norm|group_?norm|batch_?norm|rms_?norm|gammabeta|rowwisemoments|computeinternalgradients|computefusedparams|computebackwardfused|instance_?norm|weight_norm|compute1dbackward|cunn_batchnorm|renorm|_norm_(?:grad|fwd|bwd)",
        "normalization",
    ),
    (r"embedding|compute_grad_weight|sum_and_scatter|krn_partial", "embedding"),
    (r"dropout", "random"),
    (r"distribution_|rand|philox|bernoulli|multinomial|rrelu", "random"),
    (
        r"radixfindkth|gathertopk|topk|bitonic|radixsort|mergesort|segmented_sort|sort|computeblockwise|kthvalue|median|mode_kernel|fill_reverse_indices|fill_index_and_segment|gathermedian",
        "sort",
    ),
    (r"scan|cumsum|cumprod|cummax|logcumsumexp", "scan"),
    (
        r"index_?(?:elementwise|put|select|add|copy|fill|reduce)|indexselect|indexfunc|indexing_backward|scatter|gather|index|take_|masked_select|write_indices|nonzero|flatten|unique|histogram|bincount|searchsorted|compute_cuda_kernel|repeat_interleave",
        "index",
    ),
    (r"conv_?depthwise|im2col|col2im|vol2col|slow_conv|convolution|conv_", "convolution"),
    (r"max_?pool|avg_?pool|adaptive|pooling|pool", "reduction"),
    (r"upsample|interp|grid_?sampl|reflection_pad|replication_pad|constant_pad|pad", "elementwise"),
    (r"reduce_kernel|reduce|aminmax|norm_kernel|welford|cleanup_kernel", "reduction"),
    (r"gemm|matmul|bmm|int4mm|weight_?int|tinygemm", "gemm"),
    (r"gemv", "gemv"),
    (r"triu|tril|transpose|copy|flip|roll", "copy"),
    (r"arange|linspace|eye|fill|range_", "fill"),
    (r"elementwise|lstm|gru|pointwise|apply|glu|kernel_pointwise", "elementwise"),
)
_ELEMENTWISE = re.compile(
    r"^(?:vectorized_|unrolled_|legacy_|elementwise_|vectorized|_elemwise)?.*elementwise_kernel|^elementwise_kernel|^vectorized_elementwise"
)

# What an elementwise template does when it is not arithmetic
_FUNCTORS = (
    (r"FillFunctor|fill_", "fill"),
    (r"arange|linspace|eye_|range_cuda", "fill"),
    (r"copy_kernel|direct_copy|LoadWithCast.*copy|CopyFunctor|clone", "copy"),
    (r"masked_scale|dropout", "random"),
    (r"random|uniform|normal_|bernoulli|exponential|cauchy|geometric|log_normal|transformation::", "random"),
    (r"index_|scatter|gather|take_|put_|masked_select", "index"),
    (r"batch_?norm", "normalization"),
)
_FOREACH = (
    (r"FusedAdam|FusedSgd|FusedAdagrad|AdamFunctor|Adam\b|Sgd|Lamb|Lion|adam", "optimizer"),
    (r"LpNorm|LpMax|foreach_norm|ReduceFunctor|Max", "reduction"),
    (r"Copy<|UnaryOpFunctor<.*Copy|CopyFunctor", "copy"),
    (r"ZeroFunctor|Zero", "fill"),
)

_OPS = (
    (r"CUDAFunctor_add|CUDAFunctorOnSelf_add|CUDAFunctorOnOther_add|AddFunctor", "add"),
    (r"MulFunctor", "mul"),
    (r"DivFunctor|div_true|div_trunc|div_floor", "div"),
    (r"FillFunctor", "fill"),
    (r"CompareEqFunctor", "eq"),
    (r"CompareFunctor", "compare"),
    (r"MaximumFunctor|maximum", "maximum"),
    (r"MinimumFunctor|minimum", "minimum"),
    (r"BitwiseAndFunctor", "bitwise_and"),
    (r"BitwiseOrFunctor", "bitwise_or"),
    (r"BitwiseXorFunctor", "bitwise_xor"),
    (r"GeluBackward", "gelu_backward"),
    (r"GeluCUDA", "gelu"),
    (r"launch_clamp_scalar|clamp", "clamp"),
    (r"silu_backward", "silu_backward"),
    (r"silu_kernel", "silu"),
    (r"sigmoid_backward", "sigmoid_backward"),
    (r"sigmoid_kernel|sigmoid", "sigmoid"),
    (r"tanh_backward", "tanh_backward"),
    (r"tanh_kernel", "tanh"),
    (r"threshold_kernel", "threshold"),
    (r"pow_tensor_scalar|pow_tensor_tensor|pow_scalar|pow_", "pow"),
    (r"(?:direct|bfloat16|float16|float8\w*)_copy_kernel", "copy"),
    (r"masked_scale", "masked_scale"),
    (r"masked_fill", "masked_fill"),
    (r"where_kernel", "where"),
    (r"remainder", "remainder"),
    (r"fmod", "fmod"),
    (r"addcmul", "addcmul"),
    (r"addcdiv", "addcdiv"),
    (r"lerp", "lerp"),
    (r"leaky_relu_backward", "leaky_relu_backward"),
    (r"leaky_relu", "leaky_relu"),
    (r"elu_backward", "elu_backward"),
    (r"elu_kernel", "elu"),
    (r"hardswish", "hardswish"),
    (r"hardsigmoid", "hardsigmoid"),
    (r"hardtanh", "hardtanh"),
    (r"softplus", "softplus"),
    (r"mish", "mish"),
    (r"log1p", "log1p"),
    (r"log2", "log2"),
    (r"log10", "log10"),
    (r"expm1", "expm1"),
    (r"exp2", "exp2"),
    (r"rsqrt", "rsqrt"),
    (r"sqrt", "sqrt"),
    (r"reciprocal", "reciprocal"),
    (r"neg_kernel", "neg"),
    (r"abs_kernel|AbsFunctor", "abs"),
    (r"sign_kernel", "sign"),
    (r"floor_kernel", "floor"),
    (r"ceil_kernel", "ceil"),
    (r"round_kernel|round_decimals", "round"),
    (r"trunc_kernel", "trunc"),
    (r"erfinv", "erfinv"),
    (r"erf_kernel", "erf"),
    (r"exp_kernel", "exp"),
    (r"log_kernel", "log"),
    (r"asin", "asin"),
    (r"acos", "acos"),
    (r"atan2", "atan2"),
    (r"atan", "atan"),
    (r"sin_kernel", "sin"),
    (r"cos_kernel", "cos"),
    (r"bitwise_not", "bitwise_not"),
    (r"logical_not", "logical_not"),
    (r"logical_and", "logical_and"),
    (r"logical_or", "logical_or"),
    (r"isnan", "isnan"),
    (r"nan_to_num", "nan_to_num"),
    (r"mse_", "mse_loss"),
    (r"huber", "huber_loss"),
    (r"smooth_l1", "smooth_l1_loss"),
    (r"binary_cross_entropy_backward", "binary_cross_entropy_backward"),
    (r"binary_cross_entropy", "binary_cross_entropy"),
    (r"arange", "arange"),
    (r"linspace", "linspace"),
    (r"compare_scalar", "compare"),
    (r"glu_backward", "glu_backward"),
    (r"glu_kernel", "glu"),
    (r"MeanOps", "mean"),
    (r"sum_functor", "sum"),
    (r"ArgMaxOps", "argmax"),
    (r"ArgMinOps", "argmin"),
    (r"NormTwoOps|NormOneOps|NormOps|NormZeroOps|AbsMaxOps|AbsMinOps", "norm"),
    (r"WelfordOps", "var"),
    (r"prod_functor|prod_kernel", "prod"),
    (r"MaxNanFunctor|max_values|MaxOps", "amax"),
    (r"MinNanFunctor|min_values|MinOps", "amin"),
    (r"and_kernel", "all"),
    (r"or_kernel", "any"),
    (r"NanSumOps|nansum", "nansum"),
    (r"MinMaxOps|aminmax", "aminmax"),
    (r"uniform", "uniform"),
    (r"normal", "normal"),
    (r"bernoulli", "bernoulli"),
    (r"random_from_to", "randint"),
    (r"exponential", "exponential"),
)


def decode(name: str) -> dict[str, Any] | None:
    """Decode one of ATen's kernels, `None` if it is not one."""
    text = cpp.normalize(name)
    parsed = cpp.parse(name)
    inside = "at::native" in text or "at::cuda" in text or "at::functorch" in text
    known = re.match(
        r"(?:softmax_warp|masked_softmax|cunn_SoftMax|cunn_Softmax|elementwise_kernel_with_index|vectorized_elementwise_kernel|unrolled_elementwise_kernel|distribution_elementwise|multi_tensor_apply_kernel|reduce_kernel|CatArrayBatchedCopy|indexSelect|elementwise_kernel|fused_dropout)",
        parsed.function,
    )
    if not inside and not known:
        return None
    function = parsed.function or text
    low = function.lower()
    role = next((role for pattern, role in _FUNCTIONS if re.search(pattern, low)), None)
    # a helper of an op's own namespace: mbtopk::computeBlockDigitCounts
    role = role or next((role for pattern, role in _FUNCTIONS if re.search(pattern, parsed.symbol.lower())), "other")
    result: dict[str, Any] = {
        "family": "aten",
        "function": function,
        "mangled": name if name.startswith("_Z") else None,
    }
    arguments = parsed.templates
    if re.search(r"elementwise_kernel", low) and not re.search(r"index_elementwise|scatter_gather|distribution", low):
        role = _elementwise(text, function, arguments, result)
    elif low == "reduce_kernel":
        _reduction(text, arguments, result)
    elif role == "optimizer?":
        role = _foreach(text, arguments, result)
    elif "distribution" in low:
        role = "random"
        _op(text, result)
    elif "::index_elementwise_kernel" in text or "scatter_gather" in low:
        role = "index"
    if "dtypes" not in result:
        found = [dtype for dtype in map(of_cpp, arguments) if dtype not in (None, "bool")]
        width = re.search(r"OpaqueType<(\d+)u?>", text)
        if role in ("softmax",) and len(found) >= 3:
            # softmax_warp_forward<input, output, accumulated, …>; cunn_SoftMaxForward<vector, input, accumulated, output>
            a, out, accumulate = (found[0], found[1], found[2]) if "warp" in low else (found[0], found[2], found[1])
            result["dtypes"] = dtypes(a, None, out, accumulate)
        elif role == "normalization" and len(found) >= 2:
            result["dtypes"] = dtypes(
                found[0], None, None, found[1] if "layer_norm" in low else found[2] if len(found) > 2 else None
            )
        else:
            found = [dtype for dtype in found if not dtype.startswith("uint")]
            result["dtypes"] = dtypes(found[0] if found and role != "random" and not width else None)
        if width:
            result["element_bytes"] = int(width[1])
    if re.search(r"backward|_grad_|grad_input|gammabeta|bwd", low):
        result["direction"] = "backward"
    elif "forward" in low or "fwd" in low:
        result["direction"] = "forward"
    result["role"] = role
    del result["mangled"]
    return result


def _elementwise(text: str, function: str, arguments: tuple[str, ...], result: dict[str, Any]) -> str:
    """The functor says what is computed on what; the leading number how many elements a thread loads at once."""
    if arguments and arguments[0].isdigit():
        if function.startswith("vectorized"):
            result["vector_width"] = int(arguments[0])
        elif len(arguments) > 1 and arguments[1].isdigit():
            result["threads"], result["unroll"] = int(arguments[0]), int(arguments[1])
    functor = next((argument for argument in arguments if not re.fullmatch(r"-?\d+|true|false", argument)), "")
    if not arguments and result["mangled"]:
        named = re.search(r"\d([A-Z]\w*?Functor|[a-z_]+_kernel_cuda)", result["mangled"])
        functor = named[1] if named else ""
    if inner := cpp.template(functor, "gpu_kernel_impl_nocast") or cpp.template(functor, "gpu_kernel_impl"):
        functor = inner[0]
    if function.endswith("with_index") and len(arguments) > 1:
        functor = arguments[1]
    result["functor"] = _short(functor) or None
    _op(functor, result)
    result["dtypes"] = _functor_types(functor, text)
    return next((role for pattern, role in _FUNCTORS if re.search(pattern, functor)), "elementwise")


def _functor_types(functor: str, text: str) -> dict[str, Any]:
    kind = re.match(r"(?:\w+::)*(\w+)", functor)
    head = kind[1] if kind else ""
    arguments = cpp.template(functor, head) or ()
    types = [of_cpp(argument) for argument in arguments]
    cast = "LoadWithCast" in text or "StoreWithCast" in text
    if head == "BinaryFunctor" and len(types) >= 3:
        return dtypes(types[0], types[1], types[2], _first(types[3:], arguments[3:]))
    if head == "AUnaryFunctor" and len(types) >= 3:  # the first operand is a bound scalar
        return dtypes(types[1], None, types[2], _first(types[3:], arguments[3:]))
    if head == "BUnaryFunctor" and len(types) >= 3:
        return dtypes(types[0], None, types[2], _first(types[3:], arguments[3:]))
    if head == "FillFunctor" and types:
        return dtypes(None, None, types[0])
    if head == "CUDAFunctor_add" and types and not cast:
        return dtypes(types[0], types[0], types[0], types[1] if len(types) > 1 else None)
    if re.match(r"CUDAFunctorOn(?:Self|Other)_add", head) and types and not cast:
        return dtypes(types[0], None, types[0], types[1] if len(types) > 1 else None)
    lambdas = re.findall(r"[{\[]lambda\(([^()]*)\)(?:#\d+| \(instance \d+\))[}\]]", functor)
    parameters = [of_cpp(part) for part in cpp.split(lambdas[-1])] if lambdas else []
    target = re.search(r"(bfloat16|float16)_copy_kernel", functor)
    if target:
        return dtypes(parameters[0] if parameters else None, None, target[1])
    if "arange" in functor or "linspace" in functor or cast:
        return dtypes()  # a cast on loading or storing: the lambda's types are not the tensors'
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


def _reduction(text: str, arguments: tuple[str, ...], result: dict[str, Any]) -> None:
    operation = cpp.template(text, "ReduceOp")
    if not operation:
        return
    a = of_cpp(operation[0])
    inner = operation[1] if len(operation) > 1 else ""
    out = of_cpp(operation[3]) if len(operation) > 3 else None
    accumulate = None
    for kind, position in (
        ("sum_functor", 1),
        ("MeanOps", 1),
        ("NormTwoOps", 1),
        ("NormOneOps", 1),
        ("NormOps", 1),
        ("WelfordOps", 1),
        ("ArgMaxOps", 0),
        ("ArgMinOps", 0),
        ("prod_functor", 1),
    ):
        found = cpp.template(inner, kind)
        if found and len(found) > position:
            accumulate = of_cpp(found[position])
            break
    result["dtypes"] = dtypes(a, None, out, accumulate)
    result["functor"] = _short(inner) or None
    if len(operation) > 5 and operation[5].isdigit():
        result["vector_width"] = int(operation[4])
    _op(inner, result)


def _foreach(text: str, arguments: tuple[str, ...], result: dict[str, Any]) -> str:
    functor = arguments[1] if len(arguments) > 1 else ""
    result["functor"] = _short(functor) or None
    head = re.match(r"(?:\w+::)*(\w+)", functor)
    inside = cpp.template(functor, head[1]) if head else None
    types = [dtype for dtype in map(of_cpp, inside or ()) if dtype]
    result["dtypes"] = dtypes(types[0] if types else None)
    operation = re.search(
        r"(?:std|native)::(plus|minus|multiplies|divides|Sqrt|Copy|Lerp\w*|Abs|Neg|Reciprocal|Exp|minimum|maximum)\b",
        text,
    )
    if operation:
        result["ops"] = [operation[1].lower().removesuffix("functor")]
    result["foreach"] = True
    return next((role for pattern, role in _FOREACH if re.search(pattern, " ".join(arguments[1:3]))), "elementwise")


def _op(text: str, result: dict[str, Any]) -> None:
    op = next((op for pattern, op in _OPS if re.search(pattern, text)), None)
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
