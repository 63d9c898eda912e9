"""Autocast of a training that is traced on CPU tensors, by CUDA's rules.

`torch.autocast("cuda")` casts CUDA tensors only, and the CPU's own autocast has other lists. So a graph that enters the
one is made to enter the other, and the CPU's casts follow CUDA's lists while the plan is made. The lists are those of the
installed torch: its header `ATen/autocast_mode.h` has them as macros.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_HEADER = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
_MACROS = {
    "lower": "AT_FORALL_LOWER_PRECISION_FP",
    "fp32": "AT_FORALL_FP32",
    "dtype": "AT_FORALL_FP32_SET_OPT_DTYPE",
    "promote": "AT_FORALL_PROMOTE",
}


def lists(header: Path = _HEADER) -> dict[str, set[str]]:
    """CUDA's lists as kind → names such as "softmax.int".

    Kinds: "lower" (run in the lower precision), "fp32", "dtype" (the result is float32), "promote" (to the widest).

    Raises:
        LookupError: the header is absent or has another form.
    """
    text = header.read_text(encoding="utf-8").replace("\\\n", " ") if header.is_file() else ""
    found: dict[str, set[str]] = {}
    for kind, macro in _MACROS.items():
        body = re.search(rf"#define {macro}\(_\)(.*)", text)
        if body is None:
            raise LookupError(f"{header} does not have CUDA's lists")
        entries = re.findall(r"_\((\w+)(?:,\s*(\w+))?\)", body[1])
        found[kind] = {f"{name}.{overload}" if overload else name for name, overload in entries}
    return found


@contextlib.contextmanager
def like_cuda() -> Generator[None]:
    """Let the CPU's autocast cast what CUDA's would, for a `with` block.

    Raises:
        LookupError: this torch does not say what CUDA's lists are.
    """
    rule_of = {name: kind for kind, names in lists().items() for name in names}
    rule_of |= {"norm.Scalar": "norm", "norm.ScalarOpt_dim": "norm"}
    names = {name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")}
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each of these takes the place of the CPU's own kernel
        for name in sorted(names):
            rule = rule_of.get(name)
            if rule is None and not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "AutocastCPU"):
                continue
            packet, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, packet), overload or "default")
            library.impl(op, _kernel(op, rule), "AutocastCPU")
    try:
        yield
    finally:
        library._destroy()


def _kernel(op: Any, rule: str | None) -> Callable[..., Any]:
    exclude = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(exclude):
            lower = torch.get_autocast_dtype("cpu")
            if rule == "lower":
                args, kwargs = _cast((args, kwargs), lower)
            elif rule == "fp32":
                args, kwargs = _cast((args, kwargs), torch.float32)
            elif rule == "promote":
                widest = torch.float32 if any(t.dtype == torch.float32 for t in _tensors((args, kwargs))) else lower
                args, kwargs = _cast((args, kwargs), widest)
            elif rule in ("dtype", "norm") and _eligible(args[0]):
                return _in_float32(op, rule, args, kwargs)
            return op(*args, **kwargs)

    return kernel


def _in_float32(op: Any, rule: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an op whose result is to be float32: by its `dtype`, or by the overload that has one."""
    if rule == "dtype":
        arguments = op._schema.arguments
        place = next((place for place, argument in enumerate(arguments) if argument.name == "dtype"), None)
        if place is None or kwargs.get("dtype") is not None or (len(args) > place and args[place] is not None):
            return op(*args, **kwargs)
        if arguments[place].kwarg_only:
            return op(*args, **{**kwargs, "dtype": torch.float32})
        before = [*args[:place], *(argument.default_value for argument in arguments[len(args) : place])]
        return op(*before, torch.float32, **{name: value for name, value in kwargs.items() if name != "dtype"})
    if op is torch.ops.aten.norm.Scalar:
        return torch.ops.aten.norm.ScalarOpt_dtype(args[0], *(args[1:] or (2,)), dtype=torch.float32)
    p, dim, *keep = args[1:]
    return torch.ops.aten.norm.ScalarOpt_dim_dtype(args[0], p, dim, *(keep or (False,)), dtype=torch.float32)


def _eligible(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64


def _tensors(values: Any) -> list[torch.Tensor]:
    return [value for value in torch.utils._pytree.tree_leaves(values) if _eligible(value)]


def _cast(values: Any, dtype: torch.dtype) -> Any:
    def cast(value: Any) -> Any:
        return value.to(dtype) if _eligible(value) and value.dtype != dtype else value

    return torch.utils._pytree.tree_map(cast, values)


def enter_on_cpu(graph_module: Any) -> None:
    """Make every `autocast("cuda")` that a Dynamo graph enters one of the CPU, in place."""
    for node in (node for part in graph_module.modules() if hasattr(part, "graph") for node in part.graph.nodes):
        if "_enter_autocast" in str(node.target) and node.args and node.args[0] == "cuda":
            dtype = (
                node.args[1] if len(node.args) > 1 and node.args[1] is not None else torch.get_autocast_dtype("cuda")
            )
            node.args = ("cpu", dtype, *node.args[2:])
    for part in graph_module.modules():
        if hasattr(part, "recompile"):
            part.recompile()
