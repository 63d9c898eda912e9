"""Asks torch's scheduler, before it is gone, whether two kernels would be one with a switch set: a hint is then a fact.

A trial is the scheduler's own `can_fuse` under `config.patch`, of the final groups; for a library's GEMM, of a template
in its place. Everything it changes is restored.
"""

# torch's insides are untyped: what comes from there is Any.

import contextlib
from collections import defaultdict
from collections.abc import Generator, Iterator
from itertools import combinations
from operator import attrgetter
from typing import Any
from unittest import mock

from fxscope.model import FusionTrial, Problem, Schedule, replace
from fxscope.passes.fusion.reasons import translate

MOST_PAIRS = 2000  # of one graph's groups, nearest first; the hints of further pairs are not verified
TEMPLATES = "max_autotune_gemm"
LOOPS = ("loop_ordering_after_fusion", "loop_reindexing_after_fusion")
USERS = "epilogue_fusion_user_defined_triton_kernel"
HUGE = 1 << 40
_WITH_TEMPLATE = tuple(f"extern_kernels.{name}" for name in ("mm", "addmm", "bmm", "baddbmm", "convolution"))
_LOADED_WITH_PROLOGUE = _WITH_TEMPLATE[:2]  # whose template reads its operands by `load_input` (kernel/templates)


def tried(graph: Any, schedule: Schedule, problems: list[Problem]) -> Schedule:
    """The schedule with a trial for each pair of its groups and each switch that could be named to join them."""
    from torch._inductor.virtualized import V

    scheduler = graph.scheduler
    groups: list[Any] = list(scheduler.nodes)
    pairs = _pairs(groups)
    if (untried := len(pairs) - MOST_PAIRS) > 0:
        message = f"{untried} pairs of kernels were not tried with other switches: their hints are not verified"
        problems.append(Problem(where=f"trial fusions of {schedule.graph}", message=message))
    pairs, switches, found = pairs[:MOST_PAIRS], _switches(schedule), list[FusionTrial]()
    # What code generation left in the scheduler is as it was before fusion, for as long as it is asked.
    fused = {node.get_name(): group for group in groups for node in group.get_nodes()}
    with V.set_graph_handler(graph), mock.patch.dict(scheduler.name_to_fused_node, fused):
        for one, other in pairs:
            for config in _candidates(groups[one], groups[other], switches.get((one, other), set())):
                accepted = _accepts(scheduler, groups[one], groups[other], config)
                if accepted is not None:
                    found.append(FusionTrial(a=one, b=other, config=config, accepted=accepted))
    return replace(schedule, trials=tuple(found))


def _pairs(groups: list[Any]) -> list[tuple[int, int]]:
    users: dict[str, list[int]] = defaultdict(list)
    for position, group in enumerate(groups):
        for name in group.used_buffer_names():
            users[name].append(position)
    pairs = {pair for positions in users.values() for pair in combinations(positions, 2)}
    return sorted(pairs, key=lambda pair: (pair[1] - pair[0], pair))


def _switches(schedule: Schedule) -> dict[tuple[int, int], set[str]]:
    """Pair of groups → the switches that torch's own words of it point at."""
    group_of = {node.name: node.group for node in schedule.nodes}
    found: dict[tuple[int, int], set[str]] = {}
    for attempt in schedule.attempts:
        if attempt.fused or attempt.raw_reason is None:
            continue
        reason = translate(attempt.raw_reason, attempt.cause, schedule.limits)
        key = tuple(sorted((group_of.get(attempt.a[0], -1), group_of.get(attempt.b[0], -1))))
        if reason.hint and reason.config not in (None, "benchmark_fusion"):
            found.setdefault((key[0], key[1]), set()).add(reason.config or "")
    return found


def _candidates(a: Any, b: Any, named: set[str]) -> Iterator[str]:
    yield from sorted(named)
    if "loop_ordering_after_fusion" in named:
        yield "loop_reindexing_after_fusion"
    if _may_be_template(a) or _may_be_template(b):
        yield TEMPLATES
    elif a.is_extern() and USERS not in named:
        yield USERS


def _may_be_template(node: Any) -> bool:
    if not node.is_extern() or node.get_device().type == "cpu":  # a C++ template wants a frozen weight as well
        return False
    return getattr(node.node, "python_kernel_name", None) in _WITH_TEMPLATE


def _accepts(scheduler: Any, a: Any, b: Any, config: str) -> bool | None:
    """Return whether the scheduler would join the two with this switch; `None` where it cannot be asked."""
    import torch._inductor.config as inductor
    import torch._inductor.utils as utils

    try:
        before = attrgetter(config)(inductor)
    except AttributeError:
        return None
    with inductor.patch({config: _wanted(config, before)}), contextlib.ExitStack() as stack:
        for item in {node for group in (a, b) for node in (group, *group.get_nodes())}:
            stack.enter_context(mock.patch.dict(vars(item)))  # a trial may lay out loops anew
        if config in LOOPS:
            _lay_out_anew(a, b)
        if config == USERS:
            extern = a if a.is_extern() else b
            fresh = type(extern)(scheduler, extern.node)  # only with the switch it has a place in a kernel
            if not hasattr(fresh, "group"):
                return False
            extern.group = fresh.group
        if config != TEMPLATES:
            return _joins(scheduler, a, b)
        products = [_may_be_template(a), _may_be_template(b)]
        product = a if products[0] else b
        if all(products) or not utils.use_triton_template(product.node.get_layout()):
            return False
        with _as_template(scheduler, product) as template:
            return _joins(scheduler, *((template, b) if products[0] else (a, template)))


def _lay_out_anew(*nodes: Any) -> None:
    """Undo the merging of loops that follows fusion: only loops that are apart can be reordered."""
    import torch._inductor.ir as ir
    from torch._inductor import scheduler

    for node in nodes:
        members = [item for item in node.get_nodes() if isinstance(item.node, ir.ComputedBuffer)]
        for member in members:
            member.recompute_size_and_body()
        if members and len(node.get_nodes()) > 1:
            scheduler.refresh_group_node_dependencies(node)


def _wanted(config: str, before: Any) -> Any:
    if isinstance(before, bool):
        return config not in ("triton.tiling_prevents_pointwise_fusion", "triton.tiling_prevents_reduction_fusion")
    return 0 if config == "score_fusion_memory_threshold" else HUGE


def _joins(scheduler: Any, a: Any, b: Any) -> bool:
    first, second = (b, a) if a.ancestors & b.get_operation_names() else (a, b)
    return bool(scheduler.can_fuse(first, second, True)) and not scheduler.will_fusion_create_cycle(first, second)


# ---------------------------------------------------------------------- templates


@contextlib.contextmanager
def _as_template(scheduler: Any, extern: Any) -> Generator[Any]:
    """A Triton template in the place of a library's call, for the scheduler alone; the graph does not keep it."""
    import torch._inductor.ir as ir
    from torch._inductor.scheduler import NodeUser
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
    # Loops are merged when they are scheduled: so are those that the others are compared with.
    template.set_read_writes(inside.extract_read_writes(normalize=True).rename(scheduler.mutation_renames))
    for name in ("ancestors", "min_order", "max_order", "last_usage"):
        setattr(template, name, getattr(extern, name))
    unmet = {dependency.name for dependency in extern.unmet_dependencies}
    template.unmet_dependencies = OrderedSet(item for item in template.read_writes.reads if item.name in unmet)
    for own, theirs in zip(template.outputs, extern.outputs, strict=True):
        own.users = theirs.users
    names = dict.fromkeys(item.get_name() for item in operation.inputs)
    buffers = [scheduler.name_to_buf[name] for name in names if name in scheduler.name_to_buf]
    users = [buffer.users for buffer in buffers]
    try:
        for buffer in buffers:
            buffer.users = [
                NodeUser(template, user.can_inplace, user.is_weak) if user.node is extern else user
                for user in buffer.users
            ]
        with mock.patch.dict(scheduler.name_to_fused_node, {extern.get_name(): template}):
            yield template
    finally:
        for buffer, before in zip(buffers, users, strict=True):
            buffer.users = before
