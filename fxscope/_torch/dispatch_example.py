"""Runs one op on example inputs and returns what it really called, with the launches."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils._pytree import tree_map_only

from fxscope._torch import dispatch_table
from fxscope.dispatch_model import Called
from fxscope.errors import FxscopeError, one_line

_MARK = "fxscope::example"
_VALUES: dict[str, tuple[Any, ...]] = {
    "int": (1, 0),
    "SymInt": (1, 0),
    "float": (0.5,),
    "number": (1,),
    "Scalar": (1,),
    "bool": (False,),
    "str": ("none",),
    "Optional[bool]": (None,),
}


def example(
    name: str, shapes: tuple[tuple[int, ...], ...], dtype: str, device: str, *, requires_grad: bool
) -> tuple[list[Any], list[str]]:
    """Return arguments that the op accepts, its tensors having these shapes, and them in words. Raises FxscopeError."""
    op = dispatch_table.overload(name)
    if op is None:
        raise FxscopeError(f"{name} cannot be called from Python: it has no overload there.")
    if not shapes and any("Tensor" in str(item.type) for item in op._schema.arguments):
        raise FxscopeError(f"--trace runs {name}: give a --shape for each tensor, such as --shape 8x16 --shape 16x4.")
    kind = _dtype(dtype)
    failure = "another number of tensors"
    for integers, variant in itertools.product(((), (1,), (0,), (0, 1, 2)), (0, 1)):
        arguments = _arguments(op, kind, shapes, integers, variant=variant)
        if arguments is None:
            continue
        try:
            op(*tree_map_only(torch.Tensor, lambda item: item.to("meta"), arguments))
            real = tree_map_only(torch.Tensor, lambda item: _on(item, device, grad=requires_grad), arguments)
            op(*tree_map_only(torch.Tensor, torch.clone, real))
        except Exception as error:
            failure = one_line(error)
            continue
        return real, words(op, real)
    what = ", ".join(map(str, shapes))
    raise FxscopeError(f"{name} did not take the shapes {what} ({failure[:160]}). Give others with --shape.")


def as_function(found: Any) -> Any:
    """Return what calls it: a `torch.autograd.Function` runs by its `apply`, calling the class would only make one."""
    if isinstance(found, type) and issubclass(found, torch.autograd.Function):
        return lambda first, *rest: found.apply(first, *rest)
    return found


def tensors(
    shapes: tuple[tuple[int, ...], ...], dtype: str, device: str, *, requires_grad: bool
) -> tuple[torch.Tensor, ...]:
    """A tensor of each shape. Raises FxscopeError for a dtype that torch has not."""
    kind = _dtype(dtype)
    return tuple(_on(torch.ones(shape, dtype=kind), device, grad=requires_grad) for shape in shapes)


def _dtype(name: str) -> torch.dtype:
    kind = getattr(torch, name, None)
    if not isinstance(kind, torch.dtype):
        raise FxscopeError(f"torch has no dtype {name!r}: use float32, bfloat16, …")
    return kind


def _arguments(
    op: Any, dtype: torch.dtype, shapes: tuple[tuple[int, ...], ...], integers: tuple[int, ...], *, variant: int
) -> list[Any] | None:
    """Arguments of these shapes, `integers` being the tensors of indices; None where there are too many or too few."""
    arguments: list[Any] = []
    left = list(shapes)
    for item in op._schema.arguments:
        if item.kwarg_only:
            break
        kind = str(item.type)
        if kind == "Tensor" or (kind == "Optional[Tensor]" and left):
            if not left:
                return None
            index = len(shapes) - len(left)
            arguments.append(torch.ones(left.pop(0), dtype=torch.int64 if index in integers else dtype))
        elif kind == "List[Tensor]":
            arguments.append([torch.ones(left[0] if left else (4,), dtype=dtype) for _ in range(2)])
            left = left[1:]
        elif item.has_default_value():
            arguments.append(item.default_value)
        elif kind.startswith("Optional"):
            arguments.append(None)
        elif kind.startswith(("List[int]", "List[SymInt]")):
            arguments.append([-1] if variant or item.name in ("size", "shape") else [1])
        elif kind in _VALUES:
            values = _VALUES[kind]
            arguments.append(values[min(variant, len(values) - 1)])
        else:
            return None
    return None if left else arguments


def _on(item: torch.Tensor, device: str, *, grad: bool) -> torch.Tensor:
    moved = item.to(device)
    return torch.rand_like(moved).requires_grad_(grad) if moved.is_floating_point() else moved


def words(op: Any, arguments: list[Any]) -> list[str]:
    """The arguments as `bias float32[64]`; those left at their default are not worth a word."""
    return [
        f"{item.name} {_words(value)}"
        for item, value in zip(op._schema.arguments, arguments, strict=False)
        if not (
            item.has_default_value() and not isinstance(value, (torch.Tensor, list)) and value == item.default_value
        )
    ]


def _words(item: Any) -> str:
    if isinstance(item, torch.Tensor):
        return f"{str(item.dtype).removeprefix('torch.')}{list(item.shape)}"
    if isinstance(item, list) and item and isinstance(item[0], torch.Tensor):
        return f"[{', '.join(map(_words, item))}]"
    return repr(item)


def run(name: str, arguments: list[Any]) -> Called:
    """Run the op under the profiler and return the tree of ops that it called."""
    op = dispatch_table.overload(name)
    on_cuda = any(isinstance(item, torch.Tensor) and item.is_cuda for item in arguments)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_cuda else [])]
    for _ in range(2):  # warm: lazily made handles and workspaces are not the op's
        op(*arguments)
    if on_cuda:
        torch.cuda.synchronize()
    with profile(activities=activities, record_shapes=True) as profiler:
        with record_function(_MARK):
            op(*arguments)
        if on_cuda:
            torch.cuda.synchronize()
    events = [event for event in profiler.events() or () if event.device_type == DeviceType.CPU]
    mark = next((event for event in events if event.name == _MARK), None)
    roots = [_called(event) for event in (mark.cpu_children if mark is not None else []) if "::" in event.name]
    if len(roots) == 1:
        return roots[0]
    return Called(name=name, children=tuple(roots))


def _called(event: Any) -> Called:
    shapes = tuple(tuple(shape) for shape in (event.input_shapes or ()) if shape)
    return Called(
        name=event.name,
        shapes=shapes,
        kernels=tuple(kernel.name for kernel in event.kernels),
        children=tuple(_called(child) for child in event.cpu_children if "::" in child.name),
    )
