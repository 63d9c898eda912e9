"""Listens to Inductor's scheduler during a compile: which pairs it was asked about, what it said, what it joined.

`watch()` puts four thin wrappers around scheduler methods and takes them away again; `Watch.collect(graph)` turns what
is left after `GraphLowering.codegen` into a `Schedule`, which is plain data. Nothing here may break or slow the user's
compile: a wrapper does its own work after the original's, inside `try`, and a failure becomes a `Problem`.

Names and behaviour: torch/_inductor/scheduler.py and choices.py of torch 2.11 to 2.15.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from typing import TYPE_CHECKING, Any

from fxscope._torch import scheduler_facts
from fxscope.model import Problem, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

# Classes whose `define_kernel` returns the kernel's name and takes the scheduler nodes it runs as second argument.
KERNEL_WRITERS = (
    ("torch._inductor.codegen.triton", "TritonScheduling"),
    ("torch._inductor.codegen.cpp", "CppScheduling"),
    ("torch._inductor.codegen.cutlass.scheduling", "CUTLASSScheduling"),
    ("torch._inductor.codegen.cutedsl.cutedsl_scheduling", "CuteDSLScheduling"),
)
# What may be missing in another torch, and what is lost without it.
HOOKS = {
    "Scheduler.can_fuse": "which pairs the scheduler was asked about",
    "Scheduler.fuse_two_nodes": "how nodes were joined",
    "Scheduler.will_fusion_create_cycle": "pairs kept apart because joining them would make a cycle",
    "Scheduler.codegen_extern_call": "which extern call belongs to which scheduler node",
    "WhyNoFuse.__call__": "the reasons for keeping a pair apart",
}


class Watch:
    """What the scheduler did, per graph being lowered. Use it through `watch()`."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._graphs: dict[int, scheduler_facts.ObservedGraph] = {}
        self._reasons: list[str] | None = None  # of the `can_fuse` now running
        self._restore: list[tuple[Any, str, Any]] = []

    def collect(self, graph_lowering: Any, *, graph: str = "") -> Schedule | None:
        """The schedule of a graph whose `codegen()` has returned, `None` where it has no scheduler.

        Args:
            graph_lowering: torch's `GraphLowering`.
            graph: id of the post-grad graph in the recording.
        """
        observed = self._graphs.pop(id(graph_lowering), None) or scheduler_facts.ObservedGraph()
        try:
            return scheduler_facts.schedule_of(graph_lowering, observed, graph_id=graph, problems=self.problems)
        except Exception as error:
            self._problem("the scheduler's nodes", error)
            return None

    # --- the wrappers ---

    def _observed(self) -> scheduler_facts.ObservedGraph | None:
        from torch._inductor.virtualized import V

        graph = V.graph
        if not hasattr(graph, "name_to_buffer"):  # no graph is being lowered: V's null handler
            return None
        found = self._graphs.get(id(graph))
        if found is None or found.graph is not graph:
            found = self._graphs[id(graph)] = scheduler_facts.ObservedGraph(graph)
        return found

    def _problem(self, where: str, error: BaseException) -> None:
        message = f"{type(error).__name__}: {error}"
        if not any(item.where == where and item.message == message for item in self.problems):
            self.problems.append(
                Problem(
                    where=where, message=message, remedy="fusion decisions may lack reasons; `fxscope env` lists hooks"
                )
            )

    def _wrap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = owner.__dict__[name]
        setattr(owner, name, make(original))
        self._restore.append((owner, name, original))

    def install(self) -> None:
        """Put the wrappers in place. A hook that this torch lacks is a problem, not an error."""
        try:
            module = importlib.import_module("torch._inductor.scheduler")
        except Exception as error:
            self._problem("torch._inductor.scheduler", error)
            return
        makers: dict[str, Callable[[Any], Any]] = {
            "Scheduler.can_fuse": self._make_can_fuse,
            "Scheduler.fuse_two_nodes": self._make_fuse_two_nodes,
            "Scheduler.will_fusion_create_cycle": self._make_cycle,
            "Scheduler.codegen_extern_call": self._make_extern_call,
            "WhyNoFuse.__call__": self._make_why,
        }
        for hook, make in makers.items():
            class_name, _, method = hook.partition(".")
            try:
                self._wrap(getattr(module, class_name), method, make)
            except (AttributeError, KeyError) as error:
                self._problem(f"torch._inductor.scheduler.{hook} ({HOOKS[hook]})", error)
        with contextlib.suppress(Exception):
            simd = importlib.import_module("torch._inductor.codegen.simd")
            self._wrap(simd.SIMDScheduling, "generate_combo_kernel_code", self._make_combo)
        for module_name, class_name in KERNEL_WRITERS:
            # Backends that this build lacks are not a problem: they cannot write kernels here.
            with contextlib.suppress(Exception):
                self._wrap(
                    getattr(importlib.import_module(module_name), class_name), "define_kernel", self._make_define
                )

    def uninstall(self) -> None:
        """Put back what was there, whatever happened."""
        while self._restore:
            owner, name, original = self._restore.pop()
            setattr(owner, name, original)

    def _make_can_fuse(self, original: Any) -> Any:
        @functools.wraps(original)
        def can_fuse(scheduler: Any, node1: Any, node2: Any, *args: Any, **kwargs: Any) -> Any:
            # `can_fuse` may ask itself about other pairs (mix-order reductions): their reasons are not this pair's.
            outer, self._reasons = self._reasons, []
            try:
                result = original(scheduler, node1, node2, *args, **kwargs)
                try:
                    observed = self._observed() if outer is None else None
                    if observed is not None:
                        observed.asked(node1, node2, bool(result), self._reasons)
                except Exception as error:
                    self._problem("Scheduler.can_fuse", error)
                return result
            finally:
                self._reasons = outer

        return can_fuse

    def _make_fuse_two_nodes(self, original: Any) -> Any:
        @functools.wraps(original)
        def fuse_two_nodes(scheduler: Any, node1: Any, node2: Any, *args: Any, **kwargs: Any) -> Any:
            how = None
            try:
                how = scheduler_facts.how_joined(node1, node2)
            except Exception as error:
                self._problem("Scheduler.fuse_two_nodes", error)
            joined = original(scheduler, node1, node2, *args, **kwargs)
            try:
                observed = self._observed()
                if observed is not None:
                    observed.joined(node1, node2, scheduler_facts.how_of_type(joined) or how)
            except Exception as error:
                self._problem("Scheduler.fuse_two_nodes", error)
            return joined

        return fuse_two_nodes

    def _make_cycle(self, original: Any) -> Any:
        @functools.wraps(original)
        def will_fusion_create_cycle(scheduler: Any, node1: Any, node2: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(scheduler, node1, node2, *args, **kwargs)
            try:
                observed = self._observed() if result else None
                if observed is not None:
                    observed.asked(node1, node2, False, [scheduler_facts.CYCLE])
            except Exception as error:
                self._problem("Scheduler.will_fusion_create_cycle", error)
            return result

        return will_fusion_create_cycle

    def _make_why(self, original: Any) -> Any:
        @functools.wraps(original)
        def why(reason_object: Any, reason: str, *args: Any) -> Any:
            result = original(reason_object, reason, *args)
            try:
                words = reason % args if args else reason
                if self._reasons is not None:
                    self._reasons.append(words)
                else:  # outside `can_fuse`: the benchmark of a pair that could be fused
                    observed = self._observed()
                    if observed is not None:
                        observed.said(reason_object.name1, reason_object.name2, words)
            except Exception as error:
                self._problem("WhyNoFuse", error)
            return result

        return why

    def _make_extern_call(self, original: Any) -> Any:
        @functools.wraps(original)
        def codegen_extern_call(scheduler: Any, scheduler_node: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(scheduler, scheduler_node, *args, **kwargs)
            try:
                observed = self._observed()
                if observed is not None:
                    observed.emitted(scheduler_facts.extern_kernel_name(scheduler_node), [scheduler_node])
            except Exception as error:
                self._problem("Scheduler.codegen_extern_call", error)
            return result

        return codegen_extern_call

    def _make_define(self, original: Any) -> Any:
        @functools.wraps(original)
        def define_kernel(backend: Any, source: Any, nodes: Any, *args: Any, **kwargs: Any) -> Any:
            name = original(backend, source, nodes, *args, **kwargs)
            try:
                observed = self._observed()
                if observed is not None:
                    kernel = args[0] if args else kwargs.get("kernel")
                    observed.emitted(str(name), observed.combos.get(id(kernel), (None, nodes))[1])
            except Exception as error:
                self._problem("define_kernel", error)
            return name

        return define_kernel

    def _make_combo(self, original: Any) -> Any:
        @functools.wraps(original)
        def generate_combo_kernel_code(backend: Any, *args: Any, **kwargs: Any) -> Any:
            written = original(backend, *args, **kwargs)
            try:
                observed = self._observed()
                for _, kernel, nodes in written:
                    if observed is None:
                        break
                    # One group may be written as several kernels; `define_kernel` is told the whole group for each.
                    observed.combos[id(kernel)] = (kernel, nodes)
            except Exception as error:
                self._problem("generate_combo_kernel_code", error)
            return written

        return generate_combo_kernel_code


@contextlib.contextmanager
def watch() -> Generator[Watch]:
    """Listen to the scheduler for the duration of a `with` block; everything is put back afterwards."""
    listener = Watch()
    listener.install()
    try:
        yield listener
    finally:
        listener.uninstall()
