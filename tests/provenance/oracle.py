"""Which FX nodes' code is executed when Inductor traces the loops of each buffer: the truth, from inside a compile.

So are the FLOPs of each node, as torch counts them, and which nodes are views: their value shares the storage of an operand.

Inductor inlines by calling: the `inner_fn` of a loop calls the loaders of its inputs, and a loader of something that was
not stored is that thing's own `inner_fn`. So each `inner_fn` is made to say which FX node was being lowered when it was
written, and each buffer's store function to say whose loops are being traced.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch._inductor import ir
from torch._inductor.fx_utils import count_flops_fx
from torch._inductor.graph import GraphLowering, SubgraphLowering
from torch._inductor.output_code import CompiledFxGraph
from torch._inductor.virtualized import V
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Generator

    from torch.fx import Node


@contextlib.contextmanager
def listening(path: Path) -> Generator[None]:
    """Write a line of JSON per lowered graph to `path`: its nodes' names, and buffer → names of the nodes that ran in it.

    The hooks are there in a forked child as well, which is where another device's code is planned.
    """
    current: list[str] = []
    ran: dict[int, dict[str, set[str]]] = {}  # id of a GraphLowering → buffer → nodes
    post_init, store, codegen = ir.IRNode.__post_init__, ir.ComputedBuffer.get_store_function, GraphLowering.codegen

    def made(self: Any) -> None:
        post_init(self)
        if isinstance(self, ir.Loops):
            node = getattr(V, "current_node", None)
            inner, name = self.inner_fn, getattr(node, "name", None)

            @functools.wraps(inner)
            def told(*args: Any, **kwargs: Any) -> Any:
                if current and name is not None:
                    ran.setdefault(id(V.graph), {}).setdefault(current[-1], set()).add(name)
                return inner(*args, **kwargs)

            object.__setattr__(self, "inner_fn", told)

    def stored(self: Any) -> Any:
        function = store(self)

        def told(*args: Any, **kwargs: Any) -> Any:
            current.append(self.name or "")
            try:
                return function(*args, **kwargs)
            finally:
                current.pop()

        return told

    def written(self: Any, *args: Any, **kwargs: Any) -> Any:
        ran.pop(id(self), None)
        result = codegen(self, *args, **kwargs)
        if type(self) in (GraphLowering, SubgraphLowering):
            line = {
                "names": [node.name for node in self.module.graph.nodes],
                "ran": {name: sorted(nodes) for name, nodes in ran.get(id(self), {}).items()},
                "flops": {node.name: int(n) for node in self.module.graph.nodes if (n := count_flops_fx(node))},
                "views": [node.name for node in self.module.graph.nodes if is_view(node)],
            }
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        return result

    ir.IRNode.__post_init__, ir.ComputedBuffer.get_store_function, GraphLowering.codegen = made, stored, written
    try:
        yield
    finally:
        ir.IRNode.__post_init__, ir.ComputedBuffer.get_store_function, GraphLowering.codegen = post_init, store, codegen


def is_view(node: Node) -> bool:
    """Return whether a value shares the storage of an operand, or must by the op's schema: passes make nodes without one."""
    schema = getattr(node.target, "_schema", None)
    aliases = [
        item.alias_info for item in (schema.returns if schema is not None else ()) if item.alias_info is not None
    ]
    shared = storages(node) & set().union(*map(storages, node.all_input_nodes))
    return bool(shared or aliases) and not any(item.is_write for item in aliases)


def storages(node: Node) -> set[int]:
    tensors = (value for value in tree_leaves(node.meta.get("val")) if isinstance(value, torch.Tensor))
    return {value.untyped_storage()._cdata for value in tensors}


class Lines:
    """How often each line of the wrappers in Inductor's cache folder is executed: file → line → count.

    `entries` counts the runs of each wrapper as a whole.
    """

    def __init__(self) -> None:
        self.counts: dict[str, Counter[int]] = defaultdict(Counter)
        self.entries: Counter[str] = Counter()

    def __enter__(self) -> Lines:
        self.run = run = CompiledFxGraph.__call__

        def traced(graph: Any, *args: Any, **kwargs: Any) -> Any:
            before = sys.gettrace()
            sys.settrace(self.called)
            try:
                return run(graph, *args, **kwargs)
            finally:
                sys.settrace(before)

        CompiledFxGraph.__call__ = traced
        return self

    def __exit__(self, *_: object) -> None:
        CompiledFxGraph.__call__ = self.run

    def called(self, frame: Any, event: str, argument: Any) -> Any:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if "torchinductor" not in file or name == "<module>":
            return None
        if name == "call":
            self.entries[file] += 1
        return self.line

    def line(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "line":
            self.counts[frame.f_code.co_filename][frame.f_lineno] += 1
        return self.line
