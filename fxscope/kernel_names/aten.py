"""ATen's own templates: which functor, which dtype, how many elements a thread takes at once."""

from __future__ import annotations

import re
from typing import Any

from fxscope.kernel_names.dtypes import CPP, first_of, template_arguments
from fxscope.kernel_names.roles import role_of

_VECTOR = re.compile(r"vectorized_elementwise_kernel<(\d+)")
_TEMPLATES = (
    "vectorized_elementwise_kernel", "unrolled_elementwise_kernel", "elementwise_kernel_with_index", "elementwise_kernel",
    "reduce_kernel", "index_elementwise_kernel", "multi_tensor_apply_kernel", "softmax_warp_forward", "softmax_warp_backward",
    "cunn_SoftMaxForward", "cunn_SoftMaxBackward", "vectorized_layer_norm_kernel", "legacy::elementwise_kernel",
)  # fmt: skip


def read(name: str) -> dict[str, Any] | None:
    """Return what the name of an ATen kernel says, `None` for any other name."""
    if "at::native" not in name and not re.search(
        r"\bsoftmax_warp_|cunn_SoftMax|\(anonymous namespace\)::(softmax|elementwise)", name
    ):
        return None
    dtype = dtype_of(name)
    result: dict[str, Any] = {"family": "aten", "role": role_of(name), "functor": functor_of(name)}
    if dtype is not None:
        result["dtypes"] = {"a": dtype, "b": None, "out": out_of(name, dtype), "accumulate": None}
    vector = _VECTOR.search(name)
    if vector:
        result["vector_width"] = int(vector[1])
    template = next((item for item in _TEMPLATES if item in name), None)
    if template:
        result["template"] = template
    return result


def functor_of(name: str) -> str | None:
    """Return what an ATen kernel computes on each element, as its functor's name says it."""
    # `sin_kernel_cuda(…)::{lambda…}`, `launch_clamp_scalar(…)`, `arange_cuda_out(…)`
    inside = re.findall(r"(?:at::native::|\(anonymous namespace\)::)+([A-Za-z]\w*)", name)
    for word in inside:
        found = re.fullmatch(
            r"(\w+?)_?(?:kernel_cuda|kernel_impl|cuda_kernel|cuda_out|kernel_cuda_impl|CUDAKernelImpl)", word
        )
        if found and found[1] not in ("gpu", "index"):
            return found[1].lower()
    for pattern in (
        r"binary_internal::(\w+?)Functor", r"(?:CUDAFunctor|CUDAFunctorOnSelf|CUDAFunctorOnOther)_(\w+?)<", r"launch_(\w+?)\(",
        r"\b(\w+?)_functor<", r"::(\w+?)Ops<", r"\b(Fill)Functor", r"foreach::\w+|(\w+?)Functor(?:List)?<", r"std::(plus|multiplies|minus)<",
    ):  # fmt: skip
        for word in re.findall(pattern, name):
            word = word if isinstance(word, str) else word[0]
            word = {"NormTwo": "norm"}.get(word, word)
            if word and word not in (
                "Unary",
                "Binary",
                "BUnary",
                "AUnary",
                "Opaque",
                "UnaryOp",
                "BinaryOp",
                "BinaryOpScalar",
            ):
                return word.lower() if word[0].isupper() else word
    return None


def dtype_of(name: str) -> str | None:
    """Return the dtype of the elements, as the first template argument that is one states it."""
    for template in _TEMPLATES:
        arguments = template_arguments(name, template)
        for argument in arguments:
            if argument in CPP and argument != "int":
                return CPP[argument]
            found = first_of(argument)
            if found and "lambda" not in argument.split("(")[0]:
                return found
    body = name[: name.find(">(")] if ">(" in name else name
    lambda_type = re.search(r"lambda\(([\w: ]+?)(?:, [\w: ]+)?\)#\d+\}>?", name)
    if lambda_type and lambda_type[1] in CPP and lambda_type[1] != "int":
        return CPP[lambda_type[1]]
    return first_of(body)


def out_of(name: str, dtype: str) -> str | None:
    """Return the result's dtype where the template names it after the operands'."""
    arguments = template_arguments(name, "BinaryFunctor")
    if len(arguments) >= 3 and arguments[2] in CPP:
        return CPP[arguments[2]]
    arguments = template_arguments(name, "softmax_warp_forward")
    if len(arguments) >= 2 and arguments[1] in CPP:
        return CPP[arguments[1]]
    return dtype if "FillFunctor" in name else None
