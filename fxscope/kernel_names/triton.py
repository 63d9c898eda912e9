"""Triton kernels: Inductor's, whose names list the ops they came from, and those people wrote."""

import re
from typing import Any

from fxscope.kernel_names.tables import direction, pattern, role, tables
from fxscope.op_names import split_joined, table, without_graph_number

_INDUCTOR = pattern("inductor")
_TEMPLATE = pattern("inductor template")
# ATen's kernels that are compiled as they are needed: `exp_kernel_vectorized4_kernel`. Triton's can have such names too.
_JIT = pattern("jit")


def inductor(name: str) -> dict[str, Any] | None:
    name = without_graph_number(name)
    if cpp := re.match(r"(?:kernel_)?cpp_(?:fused_)?", name):
        body = re.sub(r"_\d+$", "", name[cpp.end() :])
        ops = split_joined(body) if body and not body.isdigit() else []
        return {"family": "inductor_cpp", "origin": "inductor", "role": "other", "ops": ops}
    if template := _TEMPLATE.match(name):
        kind, does, ops = "template", "gemm", [template["op"]]
    elif found := _INDUCTOR.match(name):
        kind, does = tables()["inductor_kinds"][found["kind"]]
        # `_0` numbers the kernel; `_0d1d2de` is an older Triton's specialization of its arguments.
        body = re.sub(r"(?:^|_)\d+$", "", re.sub(r"_(?:\d+d[\de]*[a-z0-9]*)$", "", found["ops"]))
        ops = split_joined(body) if body else []
    else:
        return None
    if kind == "template":
        if any("conv" in op for op in ops) and not any(op.endswith("mm") for op in ops):
            does = "convolution"
        elif any(op.startswith("flex_") for op in ops):
            does = "attention"
    return {"family": "triton", "origin": "inductor", "kind": kind, "role": does, "ops": ops}


def user(name: str) -> dict[str, Any] | None:
    """Decode a bare identifier: what people's Triton kernels are called. The language itself is not in the name."""
    if not re.fullmatch(r"(?!_Z)[A-Za-z_]\w*", name):
        return None
    base = re.sub(r"_\d+d[\dedc]*$", "", name)
    low = base.lower()
    does = role("triton", low) or "other"
    if does == "other" and re.fullmatch(r"_(?:fwd|bwd)_kernel(?:_\w+)?|_bwd_(?:dq|dkdv|kernel\w*)", base):
        does = "attention"  # the names of Triton's own attention tutorial and of flash-attn's Triton port
    # A leading underscore, a `_kernel` ending or the name itself: Triton's habits. Anything else says nothing.
    habit = r"(?:_|triton_|kernel_).*|[a-z0-9_]+_(?:kernel|fwd|bwd|forward|backward)(?:_[a-z0-9_]+)?"
    triton = bool(re.fullmatch(habit, base))
    jit = _JIT.search(base)
    stem = re.sub(r"^(?:calc|reduction)_|(?:_impl|_kernel|_forward|_complex|_scalar|_vectorized\d+)+$", "", base)
    triton = triton and not jit and not {stem, f"special_{stem}"} & {*table(), "trigamma"}
    result: dict[str, Any] = {"family": "triton" if triton else "aten" if jit else None, "role": does}
    if does != "other" or triton:
        result["guess"] = True
    if triton:
        result["origin"] = "user"
    return result | direction("triton", low)
