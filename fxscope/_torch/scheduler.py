"""Listens to Inductor's scheduler during a compile: which pairs it was asked about, what it said, what it joined.

`Watch(hooks)` puts hooks around the scheduler's methods; `Watch.collect(graph)` returns a `Schedule` after
`GraphLowering.codegen`. Names and behaviour: torch/_inductor/scheduler.py and choices.py of torch 2.11 to 2.15.
"""

from collections.abc import Callable
from typing import Any

from fxscope._torch import fusion_trials, scheduler_facts
from fxscope._torch.hooks import Hooks, hook_after, hook_around
from fxscope._torch.made_for import Demands
from fxscope._torch.tap import Tap
from fxscope.model import Schedule

SCHEDULER = "torch._inductor.scheduler:Scheduler"


class Watch:
    """Facts of the scheduler, per graph being lowered, while the hooks are installed."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.tap = Tap(hooks)
        Demands(hooks)
        self._graphs: dict[int, scheduler_facts.ObservedGraph] = {}
        self._saved: dict[str, scheduler_facts.Saved] = {}  # compile id → what its forward returned
        self._reasons: list[str] | None = None  # of the `can_fuse` now running
        hooks.install(self)

    def collect(self, graph_lowering: Any, *, graph: str = "") -> tuple[Schedule | None, scheduler_facts.Lines]:
        """The schedule of a `GraphLowering` whose code is written, `None` if it has no scheduler; its kernels' lines."""
        observed = self._graphs.pop(id(graph_lowering), None) or scheduler_facts.ObservedGraph()
        if getattr(graph_lowering, "scheduler", None) is None:
            return None, observed.lines
        problems = self.hooks.problems
        compile_id = graph.partition(":")[0]
        live = (graph_lowering, observed, self.tap, problems, self._saved.get(compile_id, {}))
        schedule = self.hooks.guard("the scheduler's nodes", scheduler_facts.schedule_of, *live, graph_id=graph)
        if schedule is not None:
            if ":forward" in graph:
                saved = self.hooks.guard("saved tensors", scheduler_facts.returned, graph_lowering, schedule)
                self._saved[compile_id] = saved or {}
            asked = (graph_lowering, schedule, observed.refused)
            schedule = self.hooks.guard("trial fusions", fusion_trials.tried, *asked) or schedule
            self._graphs.pop(id(graph_lowering), None)  # what was heard of the trials
        return schedule, observed.lines

    def _observed(self) -> scheduler_facts.ObservedGraph:
        from torch._inductor.virtualized import V

        graph = V.graph
        if not hasattr(graph, "name_to_buffer"):  # no graph is being lowered: V's null handler
            return scheduler_facts.ObservedGraph()
        found = self._graphs.get(id(graph))
        if found is None or found.graph is not graph:
            found = self._graphs[id(graph)] = scheduler_facts.ObservedGraph(graph)
        return found

    # --- what the hooks do ---

    @hook_around(f"{SCHEDULER}.can_fuse", "which pairs the scheduler was asked about")
    def _can_fuse(
        self, original: Callable[..., Any], scheduler: Any, node1: Any, node2: Any, *args: Any, **kwargs: Any
    ) -> Any:
        # `can_fuse` may ask itself about other pairs (mix-order reductions): their reasons are not this pair's.
        outer, self._reasons = self._reasons, []
        try:
            answer = original(scheduler, node1, node2, *args, **kwargs)
            if outer is None:
                how = (self._reasons, *args, *kwargs.items())
                self.hooks.guard("Scheduler.can_fuse", self._asked, node1, node2, answer, *how)
            return answer
        finally:
            self._reasons = outer

    def _asked(self, node1: Any, node2: Any, answer: Any, reasons: list[str], *how: Any) -> None:
        self._observed().asked(node1, node2, bool(answer), reasons, *how)

    @hook_after("torch._inductor.codegen.wrapper:SubgraphPythonWrapperCodegen.generate", "reused memory", optional=True)
    def _part(self, _: Any, wrapper: Any, *args: Any, **kwargs: Any) -> None:
        from torch._inductor.virtualized import V

        vars(V.graph).setdefault(scheduler_facts.PARTITIONS, []).append(wrapper)

    @hook_after(f"{SCHEDULER}.fuse_two_nodes", "how nodes were joined")
    def _joined(self, joined: Any, _: Any, node1: Any, node2: Any, *args: Any, **kwargs: Any) -> None:
        self._observed().joined(node1, node2, scheduler_facts.JOINED.get(type(joined).__name__))

    @hook_after(f"{SCHEDULER}.will_fusion_create_cycle", "pairs kept apart because joining them would make a cycle")
    def _cycle(self, result: Any, _: Any, node1: Any, node2: Any, *args: Any, **kwargs: Any) -> None:
        if result:
            self._asked(node1, node2, False, [scheduler_facts.CYCLE], scheduler_facts.CYCLE)

    @hook_after("torch._inductor.scheduler:WhyNoFuse.__call__", "the reasons for keeping a pair apart")
    def _why(self, _: Any, reason_object: Any, reason: str, *args: Any) -> None:
        words = reason % args if args else reason
        if self._reasons is not None:
            self._reasons.append(words)
        else:  # outside `can_fuse`: the benchmark of a pair that could be fused
            self._observed().benchmarked[reason_object.name1, reason_object.name2] = words

    @hook_after(f"{SCHEDULER}.codegen_extern_call", "which extern call belongs to which scheduler node")
    def _extern_call(self, _: Any, scheduler: Any, node: Any, *args: Any, **kwargs: Any) -> None:
        self._observed().emitted(scheduler_facts.extern_kernel_name(node), [node])

    @hook_after("torch._inductor.codegen.triton:TritonScheduling.define_kernel", optional=True)
    @hook_after("torch._inductor.codegen.cpp:CppScheduling.define_kernel", optional=True)
    @hook_after("torch._inductor.codegen.cutlass.scheduling:CUTLASSScheduling.define_kernel", optional=True)
    @hook_after("torch._inductor.codegen.cutedsl.cutedsl_scheduling:CuteDSLScheduling.define_kernel", optional=True)
    def _define(self, name: Any, backend: Any, source: Any, nodes: Any, *args: Any, **kwargs: Any) -> None:
        observed, kernel = self._observed(), args[0] if args else kwargs.get("kernel")
        if observed.graph is not None:
            lines = self.tap.lines(str(source), observed.graph.module.graph)
            observed.emitted(str(name), scheduler_facts.written_into(kernel, nodes, observed.graph.scheduler), lines)
            observed.partials |= scheduler_facts.partials_of(kernel)
