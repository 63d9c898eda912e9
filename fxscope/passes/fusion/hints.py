"""Checks of hints where torch cannot be asked (`_torch/fusion_trials.py` asks it): in files, and of a template
that is not there. Such hints are marked "not verified".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fxscope.model import EXTERN
from fxscope.op_names import GEMMS, RESIZES, TRANSPOSES, op_name, reductions
from fxscope.passes.flops import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fxscope.model import KernelCall, Node, SchedulerNode

_REDUCES = ("reduction", "triton_reduction", "triton_persistent_reduction", "triton_scan", "scan", "split_scan")


class PairSide(NamedTuple):
    """One call of a pair, or one loop of a C++ function, with what the schedule and the graph know of it."""

    call: KernelCall
    position: int  # in the wrapper
    members: tuple[SchedulerNode, ...]
    nodes: tuple[Node, ...]
    reads: dict[str, int | None]  # memory → bytes
    writes: dict[str, int | None]

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its scheduler nodes, else of the call."""
        return tuple(node.type for node in self.members) or (self.call.type,)

    @property
    def groups(self) -> set[int]:
        return {node.group for node in self.members}

    @property
    def ranges(self) -> tuple[str | None, ...]:
        """The iteration spaces of its scheduler nodes, as printed: "(elements, reduced)"."""
        return tuple(node.ranges for node in self.members)

    @property
    def opaque(self) -> bool:
        """Return whether it calls a kernel that Inductor does not write."""
        return not self.call.is_generated or self.types[0] in (*EXTERN, "user_triton")

    @property
    def reduces(self) -> bool:
        return any(kind in _REDUCES for kind in self.types) or any(reductions(node.target) for node in self.nodes)


def refused(a: PairSide, b: PairSide, *, flows: bool) -> frozenset[str]:
    """The switches that change nothing for a pair that torch was not asked about."""
    # Of kernels of one kind that do not depend on each other (`ComboKernel.horizontal_partition`).
    found: set[str] = {"combo_kernels"} if flows or a.reduces != b.reduces else set()
    if (a.call.device or "").startswith("cpu") or a.opaque or b.opaque:
        found |= {
            "loop_ordering_after_fusion",
            "loop_reindexing_after_fusion",
            "combo_kernels",
            "triton.nested_reduction",
        }
    if a.reduces or b.reduces or a.opaque or b.opaque or set(a.ranges) != set(b.ranges):
        found.add("aggressive_fusion")
    return frozenset(found)


def can_be_epilogue(gemm: PairSide, consumer: PairSide, shared: Iterable[str], *, mutates: bool) -> bool:
    """Return whether a template of the producer could take the consumer."""
    if consumer.reduces or consumer.opaque or mutates or {"template", "foreach"} & set(consumer.types):
        return False
    results = [access for access in gemm.call.writes or () if access.buffer in shared]
    made, taken = (
        {None if item.shape is None else numbers(*item.shape) for item in items}
        for items in (results, consumer.call.writes or ())
    )
    return not results or None in taken or bool(made & {None, *taken})


def can_be_cpp_epilogue(gemm: PairSide) -> bool:
    """Return whether Inductor's C++ GEMM could be tried at all: it needs a frozen weight, so no training."""
    if op_name(gemm.call.kernel) not in ("mm", "addmm", "bias_addmm", "bmm") or ":inference" not in gemm.call.graph:
        return False
    accesses = (*(gemm.call.reads or ()), *(gemm.call.writes or ()))
    return not any(isinstance(size, str) for access in accesses for size in access.shape or ())


def share_the_activation(a: Sequence[Node], b: Sequence[Node], nodes: Mapping[str, Node]) -> bool:
    """Return whether two GEMMs multiply the same matrix, in the same layout, with a weight each that the program was given.

    Args:
        a, b: what runs in each.
        nodes: the graph's.
    """
    one, other = matrices(a, nodes), matrices(b, nodes)
    if one is None or other is None:
        return False
    (left_a, right_a), (left_b, right_b) = one, other
    weights = {source(name, nodes, TRANSPOSES) for name in (right_a, right_b)}
    given = [not nodes[name].inputs for name in weights if name in nodes]  # a parameter, not a result
    return source(left_a, nodes) == source(left_b, nodes) and len(given) == 2 and all(given)


def matrices(ran: Sequence[Node], nodes: Mapping[str, Node]) -> tuple[str, str] | None:
    """The two operands of a call that runs one mm or addmm, `None` where it is none or the graph does not say."""
    products = [node for node in ran if op_name(node.target) in ("mm", "addmm")]
    if len(products) != 1:
        return None
    (product,) = products
    left, right = GEMMS[op_name(product.target)]
    if len(product.inputs) != right + 1 or not all(name in nodes for name in product.inputs):
        return None
    return product.inputs[left], product.inputs[right]


def source(name: str, nodes: Mapping[str, Node], through: frozenset[str] = frozenset()) -> str:
    """Return what a node is a view of, through views that keep the order of elements and those named besides."""
    while name in nodes and nodes[name].inputs and op_name(nodes[name].target) in (RESIZES | through):
        name = nodes[name].inputs[0]
    return name
