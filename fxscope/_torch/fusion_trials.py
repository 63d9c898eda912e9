"""Asks torch's scheduler, before it is gone, which kernels would be one with a switch set: a hint is then a fact.

A trial is the scheduler's own `fuse_nodes` under `config.patch`, of the nodes as they were before fusion. A library's GEMMs
are templates then. Everything a trial changes is restored.
"""

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, MutableSet
from copy import copy
from itertools import combinations
from typing import Any
from unittest import mock

from fxscope._torch.hooks import switches
from fxscope._torch.scheduler_facts import members_of
from fxscope.model import FusionTrial, Schedule, replace
from fxscope.passes.fusion.reasons import translate

TEMPLATES = "max_autotune_gemm"
LOOPS = ("loop_ordering_after_fusion", "loop_reindexing_after_fusion")
USERS = "epilogue_fusion_user_defined_triton_kernel"
_WITH_TEMPLATE = tuple(f"extern_kernels.{name}" for name in ("mm", "addmm", "bmm", "baddbmm"))
_LOADED_WITH_PROLOGUE = _WITH_TEMPLATE[:2]  # whose template reads its operands by `load_input` (kernel/templates)
# Attributes that say where in the program a scheduler node is
_PLACE = {"ancestors", "min_order", "max_order", "min_input_distance", "max_input_distance", "last_usage"}


def tried(graph: Any, schedule: Schedule, refused: set[Any]) -> Schedule:
    """The schedule with a trial for each two of its groups that would be one kernel with a switch that could be named."""
    from torch._inductor.virtualized import V

    groups: list[Any] = list(graph.scheduler.nodes)
    found: list[FusionTrial] = []
    with V.set_graph_handler(graph):
        for config in sorted(_switches(schedule, groups)):
            for joined in _joined_with(graph.scheduler, groups, config, refused):
                found += [FusionTrial(a=a, b=b, config=config) for a, b in combinations(joined, 2)]
    return replace(schedule, trials=tuple(found))


def _switches(schedule: Schedule, groups: list[Any]) -> set[str]:
    """The switches that torch's own words point at, and those for kernels that torch says nothing of."""
    refused = [item for item in schedule.attempts if not item.fused and item.raw_reason is not None]
    reasons = [translate(item.raw_reason or "", item.cause, schedule.limits) for item in refused]
    found = {reason.config for reason in reasons if reason.config is not None and reason.hint} - {"benchmark_fusion"}
    if LOOPS[0] in found:
        found.add(LOOPS[1])
    if any(map(_may_be_template, groups)):
        found.add(TEMPLATES)
    if any(map(_is_users_kernel, groups)):
        found.add(USERS)
    return found & switches().keys()


def _may_be_template(node: Any) -> bool:
    if not node.is_extern() or node.get_device().type == "cpu":  # a C++ template wants a frozen weight as well
        return False
    return getattr(node.node, "python_kernel_name", None) in _WITH_TEMPLATE


def _is_users_kernel(node: Any) -> bool:
    return type(node.node).__name__ == "UserDefinedTritonKernel"


def _joined_with(scheduler: Any, groups: list[Any], config: str, refused: set[Any]) -> Iterator[list[int]]:
    """Yield the numbers of the groups that are in one kernel with this switch."""
    import torch._inductor.config as inductor

    with inductor.patch({config: _wanted(config), "benchmark_fusion": False}), _undone(scheduler):
        scheduler.nodes = _parts_of(scheduler, groups)
        if config == USERS:
            for node in filter(_is_users_kernel, scheduler.nodes):
                if group := getattr(type(node)(scheduler, node.node), "group", None):  # made with the switch set
                    node.group = group
        elif config == TEMPLATES:
            _as_templates(scheduler)
        # Templates in the place of calls do not change what torch has said of two loops.
        scheduler.can_fuse = _asked_once(scheduler.can_fuse, set(refused if config == TEMPLATES else ()))
        kernels = [kernel.get_operation_names() for kernel in scheduler.fuse_nodes(scheduler.nodes)]
    group_of = {name: number for number, group in enumerate(groups) for name in group.get_operation_names()}
    for names in kernels:
        yield sorted({group_of[name] for name in names if name in group_of})


def _asked_once(can_fuse: Callable[..., Any], refused: set[Any]) -> Callable[..., Any]:
    """Return `can_fuse` for one trial: torch asks about each pair again in every round, which is most of a trial's time."""

    def asked(node1: Any, node2: Any, *args: Any, **kwargs: Any) -> Any:
        question = (members_of(node1), members_of(node2), *args, *kwargs.items())
        answer = question not in refused and can_fuse(node1, node2, *args, **kwargs)
        refused.update([] if answer else [question])
        return answer

    return asked


@contextlib.contextmanager
def _undone(scheduler: Any) -> Generator[None]:
    """Restore the scheduler, its nodes and buffers: a trial lays out loops anew, joins nodes and changes users."""
    from torch._inductor.scheduler import fusion_log

    groups = list(scheduler.nodes)
    nodes = {node for group in groups for node in (group, *getattr(group, "snodes", ()), *group.get_nodes())}
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(fusion_log, "disabled", True))
        for item in (scheduler, *nodes, *scheduler.name_to_buf.values()):
            stack.enter_context(mock.patch.dict(vars(item)))
            for name, value in [*vars(item).items()]:
                if isinstance(value, (dict, list, MutableSet)):
                    vars(item)[name] = copy(value)
        yield


def _parts_of(scheduler: Any, groups: Iterable[Any]) -> list[Any]:
    """The nodes that fusion joined, in their order before it, with loops as they were before they were merged."""
    import torch._inductor.ir as ir
    from torch._inductor.scheduler import ForeachKernelSchedulerNode, GroupedSchedulerNode, SchedulerNode

    made_before = (ForeachKernelSchedulerNode, GroupedSchedulerNode)
    parts = [part for group in groups for part in ([group] if isinstance(group, made_before) else group.get_nodes())]
    scheduler.available_buffer_names -= scheduler.name_to_buf.keys()  # code generation has made them
    for part in parts:
        if isinstance(part, SchedulerNode) and isinstance(part.node, ir.ComputedBuffer):
            part.recompute_size_and_body()
            part.update_mutated_names(part.mutation_renames)
    scheduler.name_to_fused_node.update({name: part for part in parts for name in part.get_operation_names()})
    return sorted(parts, key=lambda part: part.min_order)


def _wanted(config: str) -> Any:
    if isinstance(switches()[config], bool):
        return config not in ("triton.tiling_prevents_pointwise_fusion", "triton.tiling_prevents_reduction_fusion")
    return 0 if config == "score_fusion_memory_threshold" else 1 << 40  # beyond every size


# ---------------------------------------------------------------------- templates


def _as_templates(scheduler: Any) -> None:
    """Put Triton templates in the place of a library's calls, for the scheduler alone; the graph does not keep them."""
    import torch._inductor.utils as utils
    from torch._inductor.scheduler import NodeUser

    templates = {
        node: _template_of(scheduler, node)
        for node in scheduler.nodes
        if _may_be_template(node) and utils.use_triton_template(node.node.get_layout())
    }
    scheduler.nodes = [templates.get(node, node) for node in scheduler.nodes]
    for extern, template in templates.items():
        scheduler.name_to_fused_node[extern.get_name()] = template
        scheduler.name_to_buf.update(template.outputs_by_name)
    for buffer in scheduler.name_to_buf.values():
        buffer.users = [
            NodeUser(templates.get(user.node, user.node), user.can_inplace, user.is_weak) for user in buffer.users
        ]


def _template_of(scheduler: Any, extern: Any) -> Any:
    import torch._inductor.ir as ir
    from torch._inductor.virtualized import V
    from torch.utils._ordered_set import OrderedSet

    operation, graph = extern.node, V.graph
    kept = (list(graph.buffers), list(graph.operations))
    loaded = operation.inputs[-2:] if operation.python_kernel_name in _LOADED_WITH_PROLOGUE else ()
    operands = [item.get_name() for item in loaded]
    with mock.patch.dict(graph.name_to_buffer), mock.patch.dict(graph.name_to_op):
        inside = ir.TritonTemplateBuffer(
            operation.get_layout(), operation.inputs, None, allowed_prologue_inps=OrderedSet(operands)
        )
    inside.name, inside.operation_name = operation.get_name(), operation.get_operation_name()
    inside.epilogue_fusable_outputs = {inside.name: inside.name}
    inside.origins, inside.origin_node = operation.origins, operation.origin_node
    graph.buffers[:], graph.operations[:] = kept
    template = scheduler.create_scheduler_node(inside)
    template.update_mutated_names(scheduler.mutation_renames)
    for name in _PLACE & vars(extern).keys():
        setattr(template, name, getattr(extern, name))
    unmet = {dependency.name for dependency in extern.unmet_dependencies}
    template.unmet_dependencies = OrderedSet(item for item in template.read_writes.reads if item.name in unmet)
    for own, theirs in zip(template.outputs, extern.outputs, strict=True):
        own.users = theirs.users
    return template
