"""Predicts what Inductor's benchmarks would decide on a device that is not here; each candidate is listed.

Under max-autotune Inductor times a library's kernel and its own templates for every matrix product. Here each candidate
gets the time that such a benchmark is predicted to find (`gpus/prediction.py`, fitted to recorded benchmarks), and the
rest is Inductor's own: which of them it takes, and whether an epilogue is fused into it. Names: torch 2.11 to 2.15.
"""

# torch's insides are untyped: what comes from there is Any.

from __future__ import annotations

import contextlib
import re
from math import prod
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch

from fxscope.gpus import prediction
from fxscope.model import Candidate, Choice, Workload, replace
from fxscope.readers.workload import product

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from fxscope._torch.target.simulate import Plan
    from fxscope.gpus import Gpu

_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")
_TILE = tuple(re.compile(rf"\b{name}=(\d+)") for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"))


@contextlib.contextmanager
def predicted(plan: Plan) -> Generator[None]:
    """Put predictions in the place of Inductor's benchmarks of whole kernels."""
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
        self: Any, name: str, input_nodes: Any, layout: Any, gen: Any, key: Any, choices: Any, *args: Any, **kw: Any
    ) -> Any:
        return _times(plan, name, input_nodes, layout, choices, known)

    def by_fusion(self: Any, node1: Any, node2: Any) -> Any:
        result = _epilogue(self, plan, node1, node2)
        if result is not None:
            return scheduler.FusionResult.fuse(result)
        if torch._inductor.config.benchmark_fusion:
            plan.assume(
                "benchmark_fusion",
                "every fusion that Inductor allows is made",
                "on the device it times fused and unfused kernels and keeps the faster; nothing was measured of that",
            )
            with torch._inductor.config.patch(benchmark_fusion=False):
                return speedup(self, node1, node2)
        return speedup(self, node1, node2)

    with (
        mock.patch.object(cache, "__call__", choose),
        mock.patch.object(cache, "do_autotuning", times),
        mock.patch.object(cache, "make_precompile_fn", lambda self, *args, **kwargs: dict),
        mock.patch.object(scheduler.Scheduler, "speedup_by_fusion", by_fusion),
    ):
        yield


def _times(
    plan: Plan, name: str, inputs: Sequence[Any], layout: Any, choices: Sequence[Any], known: dict[int, tuple[Any, str]]
) -> dict[Any, float]:
    """The predicted benchmark of each candidate in ms, as Inductor's own would, and note the choice."""
    work = _product(name, inputs, layout)
    found: dict[Any, float] = {}
    if work is not None:
        for choice in choices:
            own = _as_candidate(choice, work, plan.gpu)
            us = prediction.benchmarked(plan.gpu, own) if own is not None else None
            if us is not None:
                found[choice] = us / 1e3
    library = [choice for choice in choices if _is_library(choice)]
    # One without the other is no comparison: of float32, say, no template was measured.
    measured = all(choice in found for choice in library) and any(choice not in library for choice in found)
    if not measured:
        found = {(library or list(choices))[0]: 0.0}
    first = min(found, key=found.__getitem__)
    node = known.get(id(first), (None, ""))[1]
    subject = f"{name} {_sizes(work)}" if work is not None else name
    plan.choose(
        node,
        Choice(
            kind="algorithm",
            subject=f"{subject} ({node})" if node else subject,
            candidates=_listed(choices, found if measured else {}),
            predicted=_name(first),
            confidence=_confidence(plan.gpu, found) if measured else None,
            basis=_basis(plan.gpu) if measured else "nothing was measured of its kind: a library's kernel first",
        ),
    )
    return found


def _listed(choices: Sequence[Any], times: dict[Any, float]) -> tuple[Candidate, ...]:
    order = sorted(choices, key=lambda choice: times.get(choice, float("inf")))
    return tuple(
        Candidate(name=_name(choice), predicted_us=times[choice] * 1e3 if choice in times else None) for choice in order
    )


def _confidence(gpu: Gpu, times: dict[Any, float]) -> float | None:
    """Return how often, of the measured products that the fit had not seen, such a prediction was right."""
    found = prediction.choices_of(gpu)
    if found is None:
        return None
    fit, _ = found
    share = fit.kind.right / fit.kind.count
    if not _is_library(min(times, key=times.__getitem__)):
        share *= fit.best_template.right / fit.best_template.count
    return round(share, 2)


def _basis(gpu: Gpu) -> str:
    found = prediction.choices_of(gpu)
    assert found is not None
    fit, source = found
    scaled = "" if source.name == gpu.name else f", scaled to the {gpu.device_name} by the data sheets"
    return (
        f"benchmarks of products on the {source.device_name}{scaled}: library or template was right in {fit.kind.right} of "
        f"{fit.kind.count}, which template in {fit.best_template.right} of {fit.best_template.count}"
    )


def _product(name: str, inputs: Sequence[Any], layout: Any) -> Workload | None:
    if name not in _PRODUCTS or len(inputs) < 2:
        return None
    left, out = _numbers(inputs[-2].get_size()), _numbers(layout.size)
    if left is None or out is None or len(left) < 2:
        return None
    return product(
        out[-2],
        left[-1],
        out[-1],
        str(layout.dtype).removeprefix("torch."),
        batch=prod(out[:-2]),
        added=int(name.startswith("badd")),
    )


def _numbers(sizes: Sequence[Any]) -> list[int] | None:
    variables: Any = torch._inductor.virtualized.V.graph.sizevars
    hint = getattr(variables, "optimization_hint", None) or variables.size_hint  # the latter to 2.11
    try:
        return [int(hint(size)) for size in sizes]
    except (TypeError, ValueError):
        return None


def _as_candidate(choice: Any, work: Workload, gpu: Gpu) -> Workload | None:
    """The product as one candidate does it, None where the device could not run it or nothing was measured."""
    if _is_library(choice):
        return work
    tile = _tile(choice)
    if tile is None or not str(getattr(choice, "name", "")).startswith(("triton_mm", "triton_bmm", "triton_addmm")):
        return None
    rows, columns, depth, warps, stages = tile
    shared = stages * (rows + columns) * depth * 2
    if shared > int(gpu.limit("shared_memory_per_block_optin") or shared):
        return None
    return replace(work, family="template", variant=f"{rows}x{columns}x{depth} w{warps} s{stages}")


def _tile(choice: Any) -> tuple[int, ...] | None:
    found = [pattern.search(str(getattr(choice, "description", ""))) for pattern in _TILE]
    return tuple(int(item[1]) for item in found if item is not None) if all(found) else None


def _is_library(choice: Any) -> bool:
    return "Extern" in type(choice).__name__


def _name(choice: Any) -> str:
    """Return what a candidate is called: a library's function, or a template's tile."""
    tile = _tile(choice)
    if tile is None or _is_library(choice):
        return str(getattr(choice, "name", choice))
    rows, columns, depth, warps, stages = tile
    return f"template {rows}×{columns}×{depth}, {warps} warps, {stages} stages"


def _sizes(work: Workload) -> str:
    batch = f"{work.batch} × " if work.batch > 1 else ""
    return f"{batch}{work.m} × {work.k} × {work.n} {work.dtype}"


def _epilogue(scheduler: Any, plan: Plan, node1: Any, node2: Any) -> bool | None:
    """Decide whether a pointwise kernel goes into a product's template; None where none of the two is to be chosen.

    Inductor's rule with a benchmark: the fastest template with the epilogue against the fastest candidate and the
    epilogue on its own.
    """
    import torch._inductor.ir as ir

    def undecided(node: Any) -> Any:
        template = node.get_template_node() if node.is_template() else None
        return template if isinstance(template, ir.MultiTemplateBuffer) else None

    multiple, after = undecided(node1), undecided(node2) is None
    if multiple is None:
        return None if after else False  # prologues are not fused by default: generally slower
    conflict = getattr(scheduler, "_has_layout_conflict_for_template", None)
    if conflict is not None and conflict(multiple):
        return False
    times = multiple.choice_timings()
    templates = {choice: ms for choice, ms in times.items() if isinstance(choice, ir.TritonTemplateCallerBase)}
    alone = prediction.predict(plan.gpu, _pointwise(node2))
    if not templates or alone is None:
        return False
    best = min(templates, key=templates.__getitem__)
    if templates[best] >= min(times.values()) + alone.us / 1e3:
        return False
    multiple.finalize_as_triton_caller(best)
    multiple._choice_timings[None] = {best: templates[best]}
    plan.rechoose(_name(min(times, key=times.__getitem__)), _name(best), tuple(_name(choice) for choice in times))
    return True


def _pointwise(node: Any) -> Workload:
    num_bytes = int(node.get_read_write_buffers_sizes())
    return Workload(family="pointwise", num_bytes=num_bytes, elements=max(1, num_bytes // 4), loads=2, statements=8)
