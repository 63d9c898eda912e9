"""Inductor's words for "no" as codes, with the switch of `torch._inductor.config` that would change the answer; and
whether that switch can help, where torch cannot be asked (`_torch/fusion_trials.py` asks it): in files, and of a template
that is not there. Such hints are marked "not verified".

The rules are in `data/fusion_reasons.json`, the words of each code in `data/english.json`. Reasons:
torch/_inductor/scheduler.py (`_can_fuse`, `can_fuse_vertical`), choices.py, codegen/simd.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from math import prod
from typing import Any, NamedTuple

from fxscope.kernel_names.cpp import split
from fxscope.model import EXTERN, Decision, KernelCall, Node, SchedulerNode, Verdict
from fxscope.op_names import GEMMS, RESIZES, TRANSPOSES, is_attention, is_convolution, is_gemm, op_name, reductions
from fxscope.passes.flops import numbers


class Reason(NamedTuple):
    """The reason why a pair was not fused, a hint, and the switch of either."""

    code: str
    arguments: Mapping[str, Any] = {}
    hint: str | None = None
    config: str | None = None
    notes: tuple[str, ...] = ()

    def noted(self, *notes: str, **arguments: Any) -> Reason:
        """The same with more notes."""
        return self._replace(notes=(*self.notes, *notes), arguments={**self.arguments, **arguments})

    def without_hint(self) -> Reason:
        return self._replace(hint=None, config=None)


def decision(verdict: Verdict | None, reason: Reason, **fields: Any) -> Decision:
    """The decision that a reason gives; the other fields by name."""
    return Decision(
        verdict=verdict,
        reason_code=reason.code,
        reason_arguments=dict(reason.arguments),
        notes=reason.notes,
        hint_code=reason.hint,
        config=reason.config,
        **fields,
    )


class Rule(NamedTuple):
    """A pattern of Inductor's words; its named groups are the arguments of the reason."""

    pattern: str
    code: str
    hint: str | None = None
    config: str | None = None


def _rules(kind: str) -> tuple[Rule, ...]:
    text = (resources.files("fxscope") / "data" / "fusion_reasons.json").read_text(encoding="utf-8")
    return tuple(Rule(*row) for row in json.loads(text)[kind])


RAW_REASONS = _rules("raw")
# What `decide_fusion_fail_reason` says of a common buffer without common data. `expand_dimension_for_pointwise_nodes` is not
# a hint for a broadcast: it needs equally many loops on both sides.
CAUSES = _rules("causes")
WANTED = {"enable": True, "disable": False}  # hint → the value that it wants


def translate(
    raw: str, cause: str | None, limits: dict[str, Any], refused: frozenset[str] = frozenset(), *, swapped: bool = False
) -> Reason:
    """Inductor's reason as a code; unknown words are quoted as they are.

    Args:
        refused: switches that torch does not try for this pair.
        swapped: the scheduler was asked about the reader's second node and its first.
    """
    if raw.startswith("no shared data"):
        return no_shared_data(cause, limits, refused)
    for rule in RAW_REASONS:
        found = re.search(rule.pattern, raw)
        if found:
            arguments: dict[str, Any] = found.groupdict()
            if "spaces" in arguments:
                arguments["spaces"] = spaces(arguments["spaces"], swapped=swapped)
            return with_value(Reason(rule.code, arguments, rule.hint, rule.config), limits, refused)
    return Reason("torch_says", {"words": raw})


def spaces(printed: str, *, swapped: bool) -> list[tuple[str, str]] | None:
    """(numel, rnumel) of each of the two, `None` where they cannot be read: Inductor prints both `numel`s, then both
    `rnumel`s (codegen/simd.py, can_fuse), each an integer or an expression.
    """
    sizes = [split(pair[1:-1]) for pair in split(printed) if pair.startswith("(")]
    if len(sizes) != 2 or any(len(pair) != 2 for pair in sizes):
        return None
    return list(zip(*sizes, strict=True))[:: -1 if swapped else 1]


Loops = tuple[tuple[str, ...], tuple[str, ...]]  # the extents of the loops around a reduction, and of those inside it


def cpp_loops(ranges: Iterable[str | None]) -> Loops | None:
    """The loops of a (fused) node of the C++ backend: those of its first reduction, else of its first node."""
    found: list[Loops] = []
    for printed in ranges:
        sides = split((printed or "")[1:-1])
        if len(sides) != 2 or not all(side.startswith("(") for side in sides):
            return None
        outer, inner = (tuple(size for size in split(side[1:-1]) if size) for side in sides)
        found.append((outer, inner))
    return next((item for item in found if item[1]), found[0]) if found else None


def declined(a: Loops | None, b: Loops | None, *, flows: bool) -> Reason:
    """Return why the C++ backend does not fuse two nodes of these loops, as far as its rules say (codegen/cpp.py,
    _why_fuse_nodes and can_fuse_vertical_outer_loop).

    Args:
        flows: the second reads the first's result.
    """
    if a is None or b is None:
        return Reason("declined")
    depth = min(len(a[0]), len(b[0]))
    if flows and depth and a[0][:depth] == b[0][:depth]:
        return Reason("declined")  # their outer loops could be shared
    if flows and a[1]:
        return Reason("needs_reduction", {"loops": (a, b)})
    flat = not a[1] and not b[1] and 1 in (len(a[0]), len(b[0]))
    if flat and all(size.isdigit() for size in (*a[0], *b[0])):  # a symbol may have any size
        flat = prod(map(int, a[0])) == prod(map(int, b[0]))
    if a == b or flat or (not a[1] and a[0] == b[0] + b[1]):
        return Reason("declined")
    return Reason("cpp_loops_differ", {"loops": (a, b)})


def no_shared_data(cause: str | None, limits: dict[str, Any], refused: frozenset[str] = frozenset()) -> Reason:
    """Refine "no shared data" to what really keeps the pair apart."""
    for buffer, words in re.findall(r"'(\w+)': (?:'|\")(.*?)(?:'|\")(?=, '\w+':|\}$)", cause or ""):
        for rule in CAUSES:
            found = re.search(rule.pattern, words)
            if found:
                hint, config = rule.hint, rule.config
                if config is None or config in refused:
                    hint, config = "enable", "combo_kernels"
                reason = Reason(rule.code, {**found.groupdict(), "buffer": buffer}, hint, config)
                return with_value(reason, limits, refused)
    return with_value(Reason("no_shared_data", {}, "enable", "aggressive_fusion"), limits, refused)


def with_value(reason: Reason, limits: dict[str, Any], refused: frozenset[str] = frozenset()) -> Reason:
    """Add the limit's value, and drop a hint to set what is set already, or what changes nothing for this pair."""
    config = reason.config
    if config is None:
        return reason
    if config in refused or (config == "combo_kernels" and limits.get(config) is True):
        return reason.without_hint()
    if limits and config not in limits:
        return reason.without_hint()  # the recorded torch has no such switch, or its value was not recorded
    value = limits.get(config)
    if value is not None and value is WANTED.get(reason.hint or ""):
        other = "loop_reindexing_after_fusion"
        if config == "loop_ordering_after_fusion" and limits.get(other) is False and other not in refused:
            return reason._replace(config=other)
        return reason._replace(hint=None).noted("is_set")
    if isinstance(value, int) and not isinstance(value, bool):
        return reason._replace(arguments={**reason.arguments, "limit": value})
    return reason


def opaque(kernel: str, type: str, *, producer: bool, device: str | None, limits: dict[str, Any]) -> Reason:
    """Say why the scheduler never asks about a call of this kernel.

    Args:
        kernel: as the wrapper calls it.
        type: the call's type.
        producer: whether the other node of the pair consumes this one's result (it would be an epilogue).
        device: "cuda:0", "cpu".
        limits: Inductor's switches as they were.
    """
    arguments = {"kernel": kernel}
    if type == "user_triton":
        reason = Reason("user_triton", arguments)
        switch = "epilogue_fusion_user_defined_triton_kernel"
        return reason._replace(hint="enable", config=switch) if producer else reason
    on_cpu = (device or "").startswith("cpu")
    if is_gemm(kernel):
        library = "cuBLAS" if (device or "").startswith("cuda") else "BLAS" if on_cpu else "vendor"
        reason = Reason("extern_gemm", {**arguments, "library": library})
        if limits.get("max_autotune") or limits.get("max_autotune_gemm"):
            return reason.noted("autotuned")
        hint = "template_cpp" if on_cpu else "template_epilogue"
        if not producer:  # Inductor's C++ GEMM takes no prologue
            return reason if on_cpu else reason._replace(hint="template_prologue", config="max_autotune_gemm")
        return reason._replace(hint=hint, config="max_autotune_gemm")
    if is_convolution(kernel):
        return Reason("extern_convolution", arguments)
    # A fallback may be of an op that Inductor lowers elsewhere: complex numbers, other dtypes and devices.
    return Reason("extern_attention" if is_attention(kernel) else "fallback", arguments)


# ---------------------------------------------------------------------- hints

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


def refused_switches(a: PairSide, b: PairSide, *, flows: bool) -> frozenset[str]:
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
