"""ATen's native CUDA kernels: a few templates, and what they are applied to is in the template arguments."""

from __future__ import annotations

import re
from typing import Any

from fxscope.kernel_names import cpp
from fxscope.kernel_names.dtypes import dtypes, of_cpp
from fxscope.op_names import table

# By the kernel's own name; the first match counts.
_FUNCTIONS = (
    (r"multi_tensor_apply_kernel", "optimizer?"),
    (r"^fill_", "fill"),
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
    (r"distribution_|rand(?!accessor)|bernoulli|multinomial|rrelu", "random"),
    (
        r"radixfindkth|gathertopk|topk|bitonic|radixsort|mergesort|segmented_sort|sort|computeblockwise|kthvalue|median|mode_kernel|gathermedian",
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
    (r"(?i)(?:batch|group|layer)_?norm", "normalization"),
)
_FOREACH = (
    (r"FusedAdam|FusedSgd|FusedAdagrad|AdamFunctor|Adam\b|Sgd|Lamb|Lion|adam", "optimizer"),
    (r"LpNorm|LpMax|foreach_norm|ReduceFunctor|Max", "reduction"),
    (r"Copy<|UnaryOpFunctor<.*Copy|CopyFunctor", "copy"),
    (r"ZeroFunctor|Zero", "fill"),
)

# Functors by what they compute; any other is named after its op: `hardswish_backward_kernel`, `acosh_kernel_cuda`. Two
# ops can share one: the six comparisons, `add` and `sub`.
_OPS = {
    functor: op
    for pair in """CUDAFunctor_add:add CUDAFunctorOnSelf_add:add CUDAFunctorOnOther_add:add AddFunctor:add MulFunctor:mul
    DivFunctor:div div_true:div div_trunc:div div_floor:div FillFunctor:fill CompareEqFunctor:compare CompareFunctor:compare
    compare_scalar:compare BitwiseAndFunctor:bitwise_and BitwiseOrFunctor:bitwise_or BitwiseXorFunctor:bitwise_xor
    AbsFunctor:abs GeluCUDAKernelImpl:gelu GeluBackwardCUDAKernelImpl:gelu_backward clamp_scalar:clamp
    pow_tensor_scalar:pow pow_tensor_tensor:pow pow_scalar_tensor:pow direct_copy:copy bfloat16_copy:copy
    float16_copy:copy float8_copy:copy lshift:bitwise_left_shift rshift:bitwise_right_shift lerp_tensor:lerp
    lerp_scalar:lerp mse:mse_loss mse_backward:mse_loss_backward smooth_l1:smooth_l1_loss huber:huber_loss
    smooth_l1_backward:smooth_l1_loss_backward huber_backward:huber_loss_backward prelu:prelu
    prelu_backward:prelu_backward masked_scale:masked_scale conj:conj_physical MeanOps:mean sum_functor:sum
    prod_functor:prod ArgMaxOps:argmax ArgMinOps:argmin NormTwoOps:norm NormOneOps:norm NormOps:norm NormZeroOps:norm
    AbsMaxOps:norm AbsMinOps:norm WelfordOps:var MaxNanFunctor:amax MinNanFunctor:amin MaxOps:amax MinOps:amin and:all
    or:any NanSumOps:nansum MinMaxOps:aminmax random_from_to:random random_full_64_bits_range:random plus:add minus:sub
    multiplies:mul divides:div power_functor:pow reverse_power_functor:pow negate:neg Truncf:trunc Trunc:frac
    LerpFunctor:lerp LpNormFunctor:norm LpMaxFunctor:max ZeroFunctor:zero""".split()
    for functor, op in [pair.split(":")]
}


def decode(name: str) -> dict[str, Any] | None:
    """Decode one of ATen's kernels, `None` if it is not one."""
    text = cpp.normalize(name)
    parsed = cpp.parse(name)
    inside = "at::native" in text or "at::cuda" in text or "at::functorch" in text
    known = re.match(
        r"(?:softmax_warp|masked_softmax|cunn_SoftMax|cunn_Softmax|elementwise_kernel_with_index|vectorized_elementwise_kernel|unrolled_elementwise_kernel|distribution_elementwise|multi_tensor_apply_kernel|reduce_kernel|indexing_backward_kernel|CatArrayBatchedCopy|indexSelect|elementwise_kernel|fused_dropout)",
        parsed.function,
    )
    if (not inside and not known) or re.match(r"(?:at_cuda_detail::)?(?:cub|thrust)::", parsed.symbol):
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
    if re.search(r"elementwise_kernel", low) and not re.search(
        r"index_elementwise|scatter_gather|distribution|unfold_backward", low
    ):
        role = _elementwise(text, function, arguments, result)
    elif low == "reduce_kernel":
        _reduction(text, result)
    elif role == "optimizer?":
        role = _foreach(arguments, result)
    elif "distribution" in low:
        role = "random"
        drawn = re.search(r"templates::cuda::(\w+)_kernel\b", text)
        _op(drawn[1] if drawn else "", result)
    elif "::index_elementwise_kernel" in text or "scatter_gather" in low:
        role = "index"
    if "dtypes" not in result:
        width = re.search(r"OpaqueType<(\d+)u?>", text)
        result["dtypes"] = dtypes() if width or role == "random" else _types(low, role, arguments)
        if width:
            result["element_bytes"] = int(width[1])
    if role == "index":
        pass  # indexing_backward_kernel is index_put's, forward too
    elif re.search(r"backward|_grad_|grad_input|gammabeta|bwd", low):
        result["direction"] = "backward"
    elif "forward" in low or "fwd" in low:
        result["direction"] = "forward"
    result["role"] = role
    del result["mangled"]
    return result


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


def _elementwise(text: str, function: str, arguments: tuple[str, ...], result: dict[str, Any]) -> str:
    """The functor says what is computed on what; the leading number how many elements a thread loads at once."""
    if arguments and arguments[0].isdigit():
        if function.startswith("vectorized"):
            result["vector_width"] = int(arguments[0])
        elif len(arguments) > 1 and arguments[1].isdigit():
            result["threads"], result["unroll"] = int(arguments[0]), int(arguments[1])
    cast = "LoadWithCast" in text or "StoreWithCast" in text or "gpu_kernel_impl<" in text or "type_specialized" in text
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
    # What casts as it loads, or computes an index, has the types of its arithmetic and not of its tensors.
    role = next((role for pattern, role in _FUNCTORS if re.search(pattern, functor)), "elementwise")
    unknown = cast or function.endswith("with_index") or "CUDAKernelLauncher" in functor or role == "normalization"
    result["dtypes"] = dtypes() if unknown and "FillFunctor" not in functor else _functor_types(functor)
    return role


def _functor_types(functor: str) -> dict[str, Any]:
    kind = re.match(r"(?:\w+::)*(\w+)", functor)
    head = kind[1] if kind else ""
    arguments = cpp.template(functor, head) or ()
    types = [of_cpp(argument) for argument in arguments]
    if head == "BinaryFunctor" and len(types) >= 3:
        return dtypes(types[0], types[1], types[2], _first(types[3:], arguments[3:]))
    if head == "AUnaryFunctor" and len(types) >= 3:  # the first operand is a bound scalar
        return dtypes(types[1], None, types[2], _first(types[3:], arguments[3:]))
    if head == "BUnaryFunctor" and len(types) >= 3:
        return dtypes(types[0], None, types[2], _first(types[3:], arguments[3:]))
    if head == "FillFunctor" and types:
        return dtypes(None, None, types[0])
    if head == "CUDAFunctor_add" and types:
        return dtypes(types[0], types[0], types[0], types[1] if len(types) > 1 else None)
    if re.match(r"CUDAFunctorOn(?:Self|Other)_add", head) and types:
        return dtypes(types[0], None, types[0], types[1] if len(types) > 1 else None)
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
    return next((role for pattern, role in _FOREACH if re.search(pattern, " ".join(arguments[1:3]))), "elementwise")


def _op(functor: str, result: dict[str, Any]) -> None:
    """The op that a functor's name is made of: `launch_clamp_scalar`, `(…)::leaky_relu_backward_kernel(at::…)::{lambda…}`."""
    head = re.match(r"(?:\w+::)*(BinaryFunctor|[AB]UnaryFunctor)<", functor)
    inner = cpp.template(functor, head[1]) if head else None
    name = _short(inner[-1] if inner else functor)
    stem = re.sub(r"^launch_|(?:_kernel|_cuda|_impl|_out)+$", "", name)
    op = _OPS.get(name) or _OPS.get(stem)
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
