"""Lists the candidates of Inductor's benchmarks, and assumes the library's kernel: nothing is measured in a plan.

Names: torch 2.11 to 2.15.
"""

# torch's insides are untyped: what comes from there is Any.

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch

from fxscope.model import Candidate, Choice

if TYPE_CHECKING:
    from collections.abc import Generator

    from fxscope._torch.target.simulate import Plan


@contextlib.contextmanager
def library_kernels(plan: Plan) -> Generator[None]:
    """Take the library's kernel, or else the first candidate, where Inductor would time whole kernels."""
    import torch._inductor.ir as ir
    import torch._inductor.scheduler as scheduler
    import torch._inductor.select_algorithm as select

    cache: Any = select.AlgorithmSelectorCache
    known: dict[int, tuple[Any, str]] = {}  # a candidate, kept as long as its id counts → the node that it is for
    call: Any = cache.__call__
    speedup: Any = scheduler.Scheduler.speedup_by_fusion

    def choose(self: Any, name: str, choices: list[Any], *args: Any, **kwargs: Any) -> Any:
        node = getattr(torch._inductor.virtualized.V.graph, "current_node", None)
        known.update({id(choice): (choice, getattr(node, "name", "")) for choice in choices})
        return call(self, name, choices, *args, **kwargs)

    def times(
        self: Any, name: str, inputs: Any, layout: Any, gen: Any, key: Any, choices: Any, *args: Any, **kwargs: Any
    ) -> Any:
        first = next((choice for choice in choices if "Extern" in type(choice).__name__), choices[0])
        node = known.get(id(first), (None, ""))[1]
        chosen = Choice(
            kind="algorithm",
            subject=f"{name} ({node})" if node else name,
            candidates=tuple(Candidate(name=name_of(choice)) for choice in choices),
            predicted=name_of(first),
            confidence=None,
            basis="assumed: the library's kernel, else the first candidate; a plan measures nothing",
        )
        plan.choose(node, chosen)
        return {first: 0.0}

    def by_fusion(self: Any, node1: Any, node2: Any) -> Any:
        if any(n.is_template() and isinstance(n.get_template_node(), ir.MultiTemplateBuffer) for n in (node1, node2)):
            return scheduler.FusionResult.fuse(False)  # nothing is fused into a library's kernel
        if torch._inductor.config.benchmark_fusion:
            plan.assume(
                "benchmark_fusion",
                "every fusion that Inductor allows is made",
                "on the device it times fused and unfused kernels and keeps the faster; nothing was measured of that",
            )
        with torch._inductor.config.patch(benchmark_fusion=False):
            return speedup(self, node1, node2)

    with (
        mock.patch.object(cache, "__call__", choose),
        mock.patch.object(cache, "do_autotuning", times),
        mock.patch.object(cache, "make_precompile_fn", lambda self, *args, **kwargs: dict),
        mock.patch.object(scheduler.Scheduler, "speedup_by_fusion", by_fusion),
    ):
        yield


def name_of(choice: Any) -> str:
    """Return what a candidate is called: a library's function, or a template's tile."""
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
    found = [re.search(rf"\b{name}=(\d+)", str(getattr(choice, "description", ""))) for name in names]
    tile = [int(item[1]) for item in found if item is not None]
    if "Extern" in type(choice).__name__ or len(tile) < len(names):
        return str(choice.name)
    rows, columns, depth, warps, stages = tile
    return f"template {rows}×{columns}×{depth}, {warps} warps, {stages} stages"
