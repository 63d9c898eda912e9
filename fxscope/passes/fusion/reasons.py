"""Inductor's words for "no" as codes, with the switch of `torch._inductor.config` that would change the answer; and
whether that switch can help, where torch cannot be asked (`_torch/fusion_trials.py` asks it): in files, and of a template
that is not there. Such hints are marked "not verified".

The rules are in `data/fusion_reasons.json`, the words of each code in `data/english.json`. Reasons:
torch/_inductor/scheduler.py (`_can_fuse`, `can_fuse_vertical`), choices.py, codegen/simd.py.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fxscope.data import read_table
from fxscope.kernel_names.cpp import split
from fxscope.model import EXTERN, Decision, KernelCall, Node, SchedulerNode, Verdict
from fxscope.op_names import is_attention, is_convolution, is_gemm, reductions
from fxscope.passes.flops import numbers


class Reason(NamedTuple):
    """The reason why a pair was not fused, a hint, and the switch of either."""

    code: str
    arguments: Mapping[str, Any] = {}
    hint: str | None = None
    config: str | None = None
    notes: tuple[str, ...] = ()

    def noted(self, *notes: str, **arguments: Any) -> "Reason":
        return self._replace(notes=(*self.notes, *notes), arguments={**self.arguments, **arguments})

    def without_hint(self) -> "Reason":
        return self._replace(hint=None, config=None)


def decision(verdict: Verdict | None, reason: Reason, **fields: Any) -> Decision:
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


_DATA = read_table("fusion_reasons.json")
LIMITS: tuple[str, ...] = tuple(_DATA["limits"])  # switches that bear on fusion
RAW_REASONS = tuple(Rule(*row) for row in _DATA["raw"])
# What `decide_fusion_fail_reason` says of a common buffer without common data. `expand_dimension_for_pointwise_nodes` is not
# a hint for a broadcast: it needs equally many loops on both sides.
CAUSES = tuple(Rule(*row) for row in _DATA["causes"])
WANTED = {"enable": True, "disable": False}  # hint → the value that it wants


def translate(raw: str, cause: str | None, limits: dict[str, Any], *, swapped: bool = False) -> Reason:
    """Inductor's reason as a code; unknown words are quoted as they are.

    Args:
        swapped: the scheduler was asked about the reader's second node and its first.
    """
    if raw.startswith("no shared data"):
        return no_shared_data(cause, limits)
    for rule in RAW_REASONS:
        found = re.search(rule.pattern, raw)
        if found:
            arguments: dict[str, Any] = found.groupdict()
            if "spaces" in arguments:
                arguments["spaces"] = spaces(arguments["spaces"], swapped=swapped)
            return with_value(Reason(rule.code, arguments, rule.hint, rule.config), limits)
    return Reason("torch_says", {"words": raw})


def spaces(printed: str, *, swapped: bool) -> list[tuple[str, str]] | None:
    """(numel, rnumel) of each of the two, `None` where they cannot be read: Inductor prints both `numel`s, then both
    `rnumel`s (codegen/simd.py, can_fuse), each an integer or an expression.
    """
    sizes = [split(pair[1:-1]) for pair in split(printed) if pair.startswith("(")]
    if len(sizes) != 2 or any(len(pair) != 2 for pair in sizes):
        return None
    return list(zip(*sizes, strict=True))[:: -1 if swapped else 1]


def no_shared_data(cause: str | None, limits: dict[str, Any]) -> Reason:
    """Refine "no shared data" to what really keeps the pair apart."""
    for buffer, words in re.findall(r"'(\w+)': (?:'|\")(.*?)(?:'|\")(?=, '\w+':|\}$)", cause or ""):
        for rule in CAUSES:
            found = re.search(rule.pattern, words)
            if found:
                arguments = {**found.groupdict(), "buffer": buffer}
                return with_value(Reason(rule.code, arguments, rule.hint, rule.config), limits)
    return with_value(Reason("no_shared_data", {}, "enable", "aggressive_fusion"), limits)


def with_value(reason: Reason, limits: dict[str, Any]) -> Reason:
    """Add the limit's value, and drop a hint to set what is set already."""
    config = reason.config
    if config is None:
        return reason
    if limits and config not in limits:
        return reason.without_hint()  # the recorded torch has no such switch, or its value was not recorded
    value = limits.get(config)
    if value is not None and value is WANTED.get(reason.hint or ""):
        other = "loop_reindexing_after_fusion"
        if config == "loop_ordering_after_fusion" and limits.get(other) is False:
            return reason._replace(config=other)
        return reason._replace(hint=None).noted("is_set")
    if isinstance(value, int) and not isinstance(value, bool):
        return reason._replace(arguments={**reason.arguments, "limit": value})
    return reason


def opaque(
    kernel: str, type: str, *, producer: bool, device: str | None, limits: dict[str, Any], library: str = "cuBLAS"
) -> Reason:
    """Say why the scheduler never asks about a call of this kernel.

    `producer`: the other node of the pair consumes this one's result (an epilogue). `library`: of GEMMs on "cuda".
    """
    arguments = {"kernel": kernel}
    if type == "user_triton":
        reason = Reason("user_triton", arguments)
        switch = "epilogue_fusion_user_defined_triton_kernel"
        return reason._replace(hint="enable", config=switch) if producer else reason
    on_cpu = (device or "").startswith("cpu")
    if is_gemm(kernel):
        known = library if (device or "").startswith("cuda") else "BLAS" if on_cpu else "vendor"
        reason = Reason("extern_gemm", {**arguments, "library": known})
        if limits.get("max_autotune") or limits.get("max_autotune_gemm"):
            return reason.noted("autotuned")
        hint = "template_epilogue" if producer else "template_prologue"
        return reason if on_cpu else reason._replace(hint=hint, config="max_autotune_gemm")
    if is_convolution(kernel):
        return Reason("extern_convolution", arguments)
    # A fallback may be of an op that Inductor lowers elsewhere: complex numbers, other dtypes and devices.
    return Reason("extern_attention" if is_attention(kernel) else "fallback", arguments)


# ---------------------------------------------------------------------- hints

_REDUCES = ("reduction", "triton_reduction", "triton_persistent_reduction", "triton_scan", "scan", "split_scan")


class PairSide(NamedTuple):
    """One call of a pair, with what the schedule and the graph know of it."""

    call: KernelCall
    position: int  # in the wrapper
    members: tuple[SchedulerNode, ...]
    nodes: tuple[Node, ...]
    reads: dict[str, int | None]  # memory → bytes
    writes: dict[str, int | None]

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(node.type for node in self.members) or (self.call.type,)

    @property
    def groups(self) -> set[int]:
        return {node.group for node in self.members}

    @property
    def opaque(self) -> bool:
        """Return whether it calls a kernel that Inductor does not write."""
        return not self.call.is_generated or self.types[0] in (*EXTERN, "user_triton")

    @property
    def reduces(self) -> bool:
        return any(kind in _REDUCES for kind in self.types) or any(reductions(node.target) for node in self.nodes)


def can_help(config: str, a: PairSide, b: PairSide, shared: Iterable[str]) -> bool:
    """Return whether a switch may join two calls from files, of which torch cannot be asked, that share these buffers."""
    if (a.call.device or "").startswith("cpu"):
        return False
    if config == "max_autotune_gemm":
        return a.opaque and a.call.type != "user_triton" and can_be_epilogue(a, b, shared)
    if config == "epilogue_fusion_user_defined_triton_kernel":
        return False  # what the kernel's epilogue may read torch alone knows
    return not a.opaque and not b.opaque and not (config == "aggressive_fusion" and (a.reduces or b.reduces))


def can_be_epilogue(gemm: PairSide, consumer: PairSide, shared: Iterable[str]) -> bool:
    """Return whether a template of the producer could take the consumer."""
    if consumer.reduces or consumer.opaque or {"template", "foreach"} & set(consumer.types):
        return False
    results = [access for access in gemm.call.writes or () if access.buffer in shared]
    made, taken = (
        {None if item.shape is None else numbers(*item.shape) for item in items}
        for items in (results, consumer.call.writes or ())
    )
    return not results or None in taken or bool(made & {None, *taken})
