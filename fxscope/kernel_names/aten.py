"""ATen's native CUDA kernels: a few templates, and what they are applied to is in the template arguments."""

import re
from typing import Any

from fxscope.kernel_names import cpp, tables
from fxscope.kernel_names.tables import pattern
from fxscope.op_names import table

_BY_NAME = pattern("at::native")
_NOT_POINTWISE = pattern("not pointwise")


def decode(name: str) -> dict[str, Any] | None:
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
    result: dict[str, Any] = {"family": "aten"}
    if "elementwise_kernel" in low and not _NOT_POINTWISE.search(low):
        functor = _pointwise_functor(name, function, parsed.templates)
        role = tables.role("aten functor", functor) or "elementwise"
        result |= {"functor": _short(functor) or None, **_ops(functor)}
    elif low == "reduce_kernel":
        functor = (*(cpp.template(text, "ReduceOp") or ()), "", "")[1]
        result |= {"functor": _short(functor) or None, **_ops(functor)}
    elif "multi_tensor_apply_kernel" in low:
        role = tables.role("aten foreach", " ".join(parsed.templates[1:3])) or "elementwise"
        result |= _foreach(parsed.templates)
    elif "distribution" in low:
        role = "random"
        drawn = re.search(r"templates::cuda::(\w+)_kernel\b", text)
        result |= _ops(drawn[1] if drawn else "")
    if role != "index":  # indexing_backward_kernel is index_put's, forward too
        result |= tables.direction("aten", low)
    return result | {"role": role}


def _pointwise_functor(name: str, function: str, arguments: tuple[str, ...]) -> str:
    """The template argument that says what is computed; of a mangled name what looks like it."""
    if function.endswith("with_index") and len(arguments) > 1:
        return arguments[1]
    if not arguments and name.startswith("_Z"):
        named = re.search(r"\d([A-Z]\w*?Functor|[a-z_]+_kernel_cuda)", name)
        return named[1] if named else ""
    functor = next((argument for argument in arguments if not re.fullmatch(r"-?\d+|true|false", argument)), "")
    inner = cpp.template(functor, "gpu_kernel_impl_nocast") or cpp.template(functor, "gpu_kernel_impl")
    return inner[0] if inner else functor


def _foreach(arguments: tuple[str, ...]) -> dict[str, Any]:
    functor = arguments[1] if len(arguments) > 1 else ""
    done = [_short(argument) for argument in (functor, *arguments[2:])]
    if "PointwiseOp" in functor:
        done = ["addcmul" if "multiplies" in done else "addcdiv" if "divides" in done else ""]
    found = next((ops for name in done if (ops := _ops(name))), {})
    return {"functor": _short(functor) or None, **found}


def _ops(functor: str) -> dict[str, list[str]]:
    """The op that a functor's name is made of: `launch_clamp_scalar`, `(…)::leaky_relu_backward_kernel(at::…)::{lambda…}`."""
    head = re.match(r"(?:\w+::)*(BinaryFunctor|[AB]UnaryFunctor)<", functor)
    inner = cpp.template(functor, head[1]) if head else None
    name, ops = _short(inner[-1] if inner else functor), tables.tables()["aten_ops"]
    stem = re.sub(r"^launch_|(?:_kernel|_cuda|_impl|_out)+$", "", name)
    op = ops.get(name) or ops.get(stem)
    if op is None:
        op = next((word for word in (stem, stem.lower()) if word in table()), None)
    return {"ops": [op]} if op else {}


def _short(functor: str) -> str:
    """`at::native::BinaryFunctor<…>` → `BinaryFunctor`; `at::native::tanh_kernel_cuda(…)::{lambda…}` → its function."""
    found = re.match(r"(?:[\w]+::)*(\w+)", functor)
    if not found:
        return ""
    wrapped = cpp.template(functor, "func_wrapper_t")
    return _short(wrapped[1]) if wrapped and len(wrapped) > 1 else found[1]
