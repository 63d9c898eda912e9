"""The tap: which post-grad nodes Inductor executes in each loop body and writes into each line of a kernel.

Inductor inlines by calling: the `inner_fn` of a loop calls the loaders of its inputs, and the loader of a value that was
not stored is that value's own `inner_fn`. Each `inner_fn` is tagged with the node that was being lowered when it was made;
`LoopBodyBlock` keeps the tags that were entered while it was traced, and `CSE.generate` the tag of each line.
"""

import functools
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import torch

from fxscope._torch.hooks import Hooks, hook_after, hook_around, hook_before

NO_NODES = "which nodes ran in which kernel"
NO_LINES = "which node each line of a kernel computes"

_TAG = "fxscope_node"
_RAN = "fxscope_ran"
_MOVES = frozenset("load store index_expr value_expr constant load_seed output".split())
_ASSIGNMENT = re.compile(r"^(?:auto |[\w:<>,]+ )?(\w+) = ")
_STORES = (
    re.compile(r"^tl\.(?:store|atomic_\w+)\(.*?, (tmp\w+)[,)]"),
    re.compile(r"^(tmp\w+)\.store\("),
    re.compile(r"^\w+\[.*?\] = (?:[\w<>]+\()?(tmp\w+)\)*;?$"),
)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.tags: list[torch.fx.Node | None] = []  # of the inner functions that run now, the innermost last
        self.blocks: list[dict[torch.fx.Node, None]] = []  # tags entered in the loop bodies that are traced now
        self.texts: dict[str, set[torch.fx.Node]] = defaultdict(set)  # "tmp2 = tmp0 + tmp1" → nodes
        self.variables: dict[str, set[torch.fx.Node]] = defaultdict(set)


class Tap:
    def __init__(self, hooks: Hooks) -> None:
        self._here = _Thread()
        self.works = NO_NODES not in hooks.install(self)

    # --- what was heard ---

    def ran(self, node: Any, graph: torch.fx.Graph) -> dict[torch.fx.Node, bool] | None:
        """The graph's nodes whose code runs in a scheduler node → whether it computes something, or only loads and
        stores; `None` where torch does not say.
        """
        if not self.works:
            return None
        body, own = getattr(node, "_body", None), self._of_operation(node.node) or ()
        entered = own or None if body is None else getattr(getattr(body, "root_block", None), _RAN, None)
        if entered is None:
            return None
        computing = {*(own if body is None else _computing(body))}
        if type(getattr(node.node, "data", None)).__name__ == "Scatter":  # not the copy of what it writes into
            computing.update(own)
        return {item: item in computing for item in (*entered, *computing) if item.graph is graph}

    @staticmethod
    def _of_operation(operation: Any) -> tuple[torch.fx.Node, ...] | None:
        """The node that a library's or a user's kernel, or a template, was made for."""
        tag = getattr(operation, _TAG, None) or getattr(operation, "origin_node", None)
        origins = (tag,) if tag is not None else tuple(getattr(operation, "origins", None) or ())
        return origins if len(origins) == 1 else None

    def lines(self, source: str, graph: torch.fx.Graph) -> dict[int, tuple[str, str]]:
        """Line of a kernel (from its first that is not empty) → its text, and the one node that it computes, if it is one."""
        found: dict[int, tuple[str, str]] = {}
        for position, line in enumerate(source.lstrip("\n").splitlines()):
            text = line.strip()
            nodes = self._of_line(text)
            if len(nodes) == 1 and (node := next(iter(nodes))).graph is graph:
                found[position] = (text, node.name)
        self._here.texts, self._here.variables = defaultdict(set), defaultdict(set)
        return found

    def _of_line(self, text: str) -> set[torch.fx.Node]:
        texts, variables = self._here.texts, self._here.variables
        if assigned := _ASSIGNMENT.match(text):
            written = text[assigned.start(1) :].rstrip(";")
            return texts.get(written) or variables.get(assigned[1].lstrip("_"), set())
        stored = next(filter(None, (pattern.match(text) for pattern in _STORES)), None)
        return variables.get(stored[1], set()) if stored else set()

    # --- what the hooks do ---

    @hook_after("torch._inductor.ir:IRNode.__post_init__", NO_NODES)
    def _made(self, _: Any, node: Any) -> None:
        """Tag an IR node, and the functions of a loop, with the node that is being lowered."""
        tag = being_lowered()
        if tag is None:
            return
        object.__setattr__(node, _TAG, tag)
        for name in ("inner_fn", "inner_fns"):
            value = getattr(node, name, None) if name in getattr(type(node), "__dataclass_fields__", ()) else None
            if isinstance(value, tuple):
                object.__setattr__(node, name, tuple(self._tagged(item, tag) for item in value))
            elif callable(value):
                object.__setattr__(node, name, self._tagged(value, tag))

    def _tagged(self, function: Callable[..., Any], tag: torch.fx.Node | None) -> Callable[..., Any]:
        here = self._here

        @functools.wraps(function)
        def tagged(*args: Any, **kwargs: Any) -> Any:
            here.tags.append(tag)
            if here.blocks and tag is not None:
                here.blocks[-1][tag] = None
            try:
                return function(*args, **kwargs)
            finally:
                here.tags.pop()

        return tagged

    @hook_around("torch._inductor.ir:ComputedBuffer.get_store_function", NO_NODES)
    def _store_function(self, original: Callable[..., Any], buffer: Any) -> Any:
        """Tag what a loop does outside of its inner function: the reduction, the store."""
        return self._tagged(original(buffer), getattr(buffer.data, _TAG, None))

    @hook_around("torch._inductor.loop_body:LoopBodyBlock.__init__", NO_NODES)
    def _traced(self, original: Callable[..., Any], block: Any, *args: Any, **kwargs: Any) -> Any:
        blocks = self._here.blocks
        blocks.append({})
        try:
            return original(block, *args, **kwargs)
        finally:
            entered = blocks.pop()
            setattr(block, _RAN, entered)
            if blocks:
                blocks[-1].update(entered)

    @hook_before("torch._inductor.loop_body:LoopBodyBlock.__call__", NO_NODES)
    def _replayed(self, block: Any, *_: Any, **__: Any) -> None:
        if self._here.blocks:
            self._here.blocks[-1].update(getattr(block, _RAN, {}))

    @hook_after("torch._inductor.loop_body:LightTracer.create_node", NO_LINES)
    def _created(self, node: Any, *_: Any, **__: Any) -> None:
        tag = self._here.tags[-1] if self._here.tags else None
        tag = tag or _interpreted_tag()  # a loop body that is traced again
        if tag is not None:
            node.meta[_TAG] = tag

    @hook_after("torch._inductor.codegen.common:CSE.generate", NO_LINES)
    def _generated(self, variable: Any, _: Any, __: Any, expression: Any, *___: Any, **____: Any) -> None:
        tag = _interpreted_tag()
        if tag is not None and isinstance(expression, str):
            self._here.texts[f"{variable} = {expression}"].add(tag)

    @hook_after("torch._inductor.codegen.common:CSE.newvar", NO_LINES)
    def _named(self, variable: Any, *_: Any, **__: Any) -> None:
        if (tag := _interpreted_tag()) is not None:
            self._here.variables[str(variable)].add(tag)


def _computing(body: Any) -> Iterator[torch.fx.Node]:
    """Yield the tags of the operations of a loop body that do more than move data."""
    for block in (body.root_block, *body.subblocks.values()):
        for node in block.graph.nodes:
            adds = node.target == "store" and "atomic_add" in node.args
            if node.op == "call_method" and (adds or node.target not in _MOVES) and _TAG in node.meta:
                yield node.meta[_TAG]


def being_lowered() -> torch.fx.Node | None:
    """The node of the present graph that is being lowered; that of a graph which is inlined there is its caller's."""
    from torch._inductor import ir
    from torch._inductor.virtualized import V

    node = getattr(V, "current_node", None)
    if not isinstance(node, torch.fx.Node):
        return None
    graph = getattr(getattr(V.graph, "module", None), "graph", None)
    if graph is None or node.graph is graph:
        return node
    outer = [item for item in getattr(ir.IRNode, "_current_origins", ()) if item.graph is graph]
    order = {item: position for position, item in enumerate(graph.nodes)} if len(outer) > 1 else {}
    return max(outer, key=lambda item: order.get(item, 0), default=node)


def _interpreted_tag() -> torch.fx.Node | None:
    from torch._inductor.virtualized import V

    current = getattr(V.interpreter, "current_node", None)
    return current.meta.get(_TAG) if isinstance(current, torch.fx.Node) else None
