"""Data that a plan knows: integers and masks that the program was given, and what is computed from them alone.

Between two graphs Python asks tensors: `int(lengths.max())` becomes a size, `edges[:, mask]` drops what a mask says. So the
example's indices, lengths and masks are kept beside their fake tensors, and an op that reads nothing else is computed on the
CPU, too; never while Dynamo traces.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary

from fxscope._torch.target.plan import Plan

MOST_ELEMENTS = 1 << 22  # of one tensor whose values are kept


class Values:
    def __init__(self, known: WeakTensorKeyDictionary) -> None:
        self._known: Any = known

    def learn(self, fake: torch.Tensor, real: torch.Tensor) -> None:
        """Keep the values of an index, a length or a mask that the program was given."""
        if not real.dtype.is_floating_point and not real.dtype.is_complex and real.device.type == "cpu":
            self._keep(fake, real.detach())

    def _keep(self, fake: torch.Tensor, real: torch.Tensor) -> None:
        if real.numel() <= MOST_ELEMENTS:
            self._known[fake] = real

    def followed(self, mode: Any, plan: Plan, asked_at: Callable[[], str]) -> AbstractContextManager[Any]:
        """Compute, for a `with` block, what ops between graphs make of known values."""
        original: Any = mode.dispatch

        def dispatch(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if torch._guards.TracingContext.try_get() is not None:
                return original(func, types, args, kwargs or {})
            real = self._computed(func, args, kwargs or {})
            if isinstance(real, bool | int | float):
                plan.assume("value", f"{real}{asked_at()}", "computed from the integers and masks of the inputs")
                return real
            try:
                fake = original(func, types, args, kwargs or {})
            except (DynamicOutputShapeException, DataDependentOutputException):
                made = real if real is not None else self._sized(func, args, plan, asked_at)
                if made is None:
                    if (largest := _largest(mode, original, func, types, args, kwargs)) is None:
                        raise
                    most = f"{', '.join(str(tuple(item.shape)) for item in tree_leaves(largest))}{asked_at()}"
                    plan.assume("size", most, f"the most that {func} can give, so times are upper bounds")
                    return largest

                def unwritten(item: torch.Tensor) -> torch.Tensor:
                    return torch.empty_strided(item.size(), item.stride(), dtype=item.dtype, device=args[0].device)

                with mode:
                    fake = tree_map_only(torch.Tensor, unwritten, made)
            self._follow(func, fake, real)
            return fake

        return mock.patch.object(mode, "dispatch", dispatch)

    def _computed(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return what an op makes of its arguments on the CPU; None where a tensor's values are not known, or it draws."""
        if not isinstance(func, torch._ops.OpOverload) or func.namespace != "aten":  # `prim.device` is not about values
            return None
        leaves = tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        is_known = bool(tensors) and all(tensor in self._known for tensor in tensors)
        is_symbolic = any(isinstance(leaf, torch.SymInt | torch.SymFloat | torch.SymBool) for leaf in leaves)
        if not is_known or is_symbolic or torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
            return None

        def convert(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return self._known[value]
            return torch.device("cpu") if isinstance(value, torch.device) else value

        with torch._C._DisableTorchDispatch():
            return func(*tree_map(convert, args), **tree_map(convert, kwargs))

    def _sized(self, func: Any, args: Any, plan: Plan, asked_at: Callable[[], str]) -> Any:
        """Something of the size that indexing by known masks gives, or as many counts as `minlength` asks for."""
        of_one = torch.zeros(1, dtype=torch.int64, device="cpu")
        with torch._C._DisableTorchDispatch():
            if func is torch.ops.aten.bincount.default and len(args) > 2 and args[2]:
                plan.assume("size", f"{args[2]} counts{asked_at()}", "bincount's minlength: larger values add to it")
                return func(of_one, args[1] if args[1] is None else of_one.to(args[1].dtype), args[2])
            indices = args[1] if func is torch.ops.aten.index.Tensor else ()
            known = [None if index is None else self._known.get(index) for index in indices]
            if not known or [index is None for index in known] != [index is None for index in indices]:
                return None
            chosen = tuple(slice(None) if index is None else index for index in known)
            return torch.empty(tuple(args[0].shape), device="cpu", dtype=torch.bool)[chosen].to(args[0].dtype)

    def _follow(self, func: Any, fake: Any, real: Any) -> None:
        schema = getattr(func, "_schema", None)
        if real is None and schema is not None and schema.is_mutable:
            self._known.clear()  # something unknown may have been written into what was known
        outputs, values = tree_leaves(fake), tree_leaves(real)
        if len(outputs) != len(values):
            return
        for output, value in zip(outputs, values, strict=True):
            if isinstance(output, torch.Tensor) and isinstance(value, torch.Tensor) and output.shape == value.shape:
                self._keep(output, value)


def _largest(mode: Any, original: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Return what an op gives at most, where torch bounds the sizes that only data could tell; else None."""
    with mock.patch.object(mode, "shape_env", ShapeEnv(allow_scalar_outputs=False)):
        try:
            result = original(func, types, args, kwargs or {})
        except (DynamicOutputShapeException, DataDependentOutputException):
            return None

    def most(size: Any) -> Any:
        return size if isinstance(size, int) else size.node.shape_env.bound_sympy(size.node.expr).upper

    def largest(item: torch.Tensor) -> torch.Tensor:
        sizes = [int(most(size)) for size in (*item.size(), *item.stride())]
        return torch.empty_strided(sizes[: item.dim()], sizes[item.dim() :], dtype=item.dtype, device=item.device)

    tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    if not all(math.isfinite(most(size)) for item in tensors for size in item.size()):
        return None
    with mode:
        return tree_map_only(torch.Tensor, largest, result)
