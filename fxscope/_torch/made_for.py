"""Reasons for buffers that no op of the graph asks for: whose layout demanded a copy, why an op fell back."""

import threading
from typing import Any

from fxscope._torch.hooks import Hooks, hook_after, hook_around
from fxscope._torch.tap import being_lowered
from fxscope.model import MadeFor

_MARK = "fxscope_made_for"


class Demands:
    """The demands of all compiles while the hooks are on, kept at the buffers that were made for them."""

    def __init__(self, hooks: Hooks) -> None:
        self._here = threading.local()
        hooks.install(self)

    @hook_around("torch._inductor.ir:ExternKernel.require_strides", "which strides a layout copy is made for")
    def _require_strides(
        self, original: Any, kind: Any, x: Any, order: Any = None, exact_strides: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        outer = getattr(self._here, "demand", None)
        self._here.demand = order, exact_strides
        try:
            return original(kind, x, order, exact_strides, *args, **kwargs)
        finally:
            self._here.demand = outer

    @hook_after("torch._inductor.ir:ExternKernel.copy_input", "which kernels are layout copies")
    def _copied(self, result: Any, *_: Any, **__: Any) -> None:
        """Mark the buffer of a copy with the strides that are demanded now, and the node that is being lowered."""
        node, demand = being_lowered(), getattr(self._here, "demand", None)
        order, exact = demand or (None, None)
        made_for = MadeFor(
            cause="input" if demand is None else "layout",
            node=node.name if node is not None else None,
            stride_order=None if order is None else tuple(map(int, order)),
            strides=None if exact is None else tuple(int(item) if str(item).isdigit() else str(item) for item in exact),
        )
        object.__setattr__(result.data.data, _MARK, made_for)

    @staticmethod
    @hook_after("torch._inductor.graph:fallback_node_due_to_unsupported_type", "which ops fell back by dtype or device")
    def _unsupported(result: Any, node: Any, *_: Any, **__: Any) -> None:
        if result:
            node.meta[_MARK] = "unsupported"


def of(operation: Any) -> MadeFor | None:
    """Return why an operation of Inductor's IR was made; `None` for one that an op of the graph is."""
    is_fallback = any("Fallback" in base.__name__ for base in type(operation).__mro__)  # of scatter and index_put, too
    return getattr(operation, _MARK, None) or (fallback(operation) if is_fallback else None)


def fallback(operation: Any) -> MadeFor:
    """Return why a fallback calls ATen, or a custom op, instead of a generated kernel."""
    from torch._inductor import lowering

    node = getattr(operation, "origin_node", None)
    # `lowering.fallbacks` also has ops whose lowering falls back for some arguments (`cumsum`, torch 2.13).
    lowered = lowering.lowerings.get(getattr(operation, "op_overload", ""))
    has_lowering = lowered is not None and not getattr(lowered, "_is_fallback_handler", False)
    cause = "declined" if node is None else node.meta.get(_MARK, "declined")
    return MadeFor(cause=cause if has_lowering else "no_lowering", node=getattr(node, "name", None))
