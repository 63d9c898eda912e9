"""Inductor's words for "no", in the user's terms, with the documented switch that would change the answer.

Each `Switch` names an attribute of `torch._inductor.config`; a test asserts that the installed torch has them all.
Reasons: torch/_inductor/scheduler.py (`_can_fuse`, `can_fuse_vertical`), choices.py, codegen/simd.py of 2.11 to 2.15.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope.kernel_names.cpp import split
from fxscope.op_names import is_attention, is_convolution, is_gemm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Reason(NamedTuple):
    """Why a pair stayed apart: the words, a hint, and the switch that either is about."""

    text: str
    hint: str | None = None
    config: str | None = None


COMBO = "combo_kernels puts kernels that do not depend on each other into one launch (CUDA)"
# Pattern of Inductor's reason → what it means, hint, switch. `{0}`, `{1}` are the pattern's groups, `spaces` in words.
RAW_REASONS: tuple[tuple[str, str, str | None, str | None], ...] = (
    (
        r"exceeds max fusion",
        "together they hold more scheduler nodes than the limit",
        "raise max_fusion_size",
        "max_fusion_size",
    ),
    (
        r"score_fusion_memory_threshold",
        "they share too few bytes to be worth a common kernel",
        "lower score_fusion_memory_threshold",
        "score_fusion_memory_threshold",
    ),
    (
        r"Nodes are too far away",
        "more than 64 scheduler nodes lie between them; joining them could raise peak memory",
        None,
        None,
    ),
    (
        r"Fusion will increase peak memory",
        "joining them would keep more memory alive than it saves in traffic",
        None,
        None,
    ),
    (
        r"fusion_prevent_too_many_reads_and_writes",
        "the joined kernel would touch more buffers than the limit",
        "raise max_fusion_unique_io_buffers",
        "max_fusion_unique_io_buffers",
    ),
    (
        r"fusing the two would make a cycle|will create cycle",
        "another kernel must run between them: joining them would make a cycle",
        None,
        None,
    ),
    (
        r"memory deps did not match",
        "the second reads other elements of the buffer than the first's loop has just written",
        "loop_ordering_after_fusion lets the scheduler try other loop orders",
        "loop_ordering_after_fusion",
    ),
    (
        r"intermediate nodes between node1 & node2",
        "the second also needs a result that is computed between the two",
        None,
        None,
    ),
    (
        r"numel/rnumel mismatch \(reduce\) ?(?P<spaces>.*)$",
        "both run along an axis (a reduction, a scan or a sort), but over different iteration spaces{0}",
        "triton.nested_reduction lets the one reduce groups inside the other's loop",
        "triton.nested_reduction",
    ),
    (
        r"numel/rnumel mismatch \(non-reduce\) ?(?P<spaces>.*)$",
        "their iteration spaces differ{0}",
        COMBO,
        "combo_kernels",
    ),
    (
        r"numel/rnumel mismatch prologue mismatch ?(?P<spaces>.*)$",
        "as a prologue its iteration space differs from that of the prologue that the template has{0}",
        None,
        None,
    ),
    (
        r"nodes numel/rnumel incompatibility",
        "the pointwise loop does not cover the same elements as the reduction",
        "loop_reindexing_after_fusion lets the scheduler reindex the pointwise loop",
        "loop_reindexing_after_fusion",
    ),
    (r"nodes numel incompatibility", "the two loops do not cover the same number of elements", None, None),
    (
        r"tiling mismatch ?(.*)$",
        "they want different tilings: {0}",
        "set triton.tiling_prevents_pointwise_fusion to false",
        "triton.tiling_prevents_pointwise_fusion",
    ),
    (
        r"invalid tiling for reduction",
        "the pointwise part wants a tiling that the reduction cannot have",
        "set triton.tiling_prevents_reduction_fusion to false",
        "triton.tiling_prevents_reduction_fusion",
    ),
    (
        r"invalid loop order and tiling for native matmul",
        "a native matmul fixes the loop order and tiling, and the other node does not fit",
        None,
        None,
    ),
    (r"Split scan cannot fuse with reductions", "a split scan cannot share a kernel with a reduction", None, None),
    (r"device mismatch \((.*) vs (.*)\)", "they run on different devices: {0} and {1}", None, None),
    (r"node1 must go before node2", "the one needs the other's result, so they cannot run in this order", None, None),
    (r"fusion for buffer explicit disabled", "fusion of this buffer is switched off by torch itself", None, None),
    (r"grouped node must not be fused", "the node belongs to a group that must stay as it is", None, None),
    (
        r"node1 is (?:extern or )?nop|node2 is extern or nop",
        "one of them launches nothing or calls a kernel as it is",
        None,
        None,
    ),
    (
        r"node1 is extern but not a triton kernel",
        "one of them is an extern kernel, opaque to the scheduler",
        None,
        None,
    ),
    (
        r"triton kernel doesn't support epilogue fusion",
        "a user-written Triton kernel: Inductor calls it as it is",
        "epilogue_fusion_user_defined_triton_kernel lets it take a pointwise epilogue",
        "epilogue_fusion_user_defined_triton_kernel",
    ),
    (
        r"epilogue reads from buffers other than the mutated output|node1 and node2 uses different buf layouts|"
        r"node1 is extern but node2|epilogue is not a unary read of the output buffer|"
        r"epilogue's read and write indices differ",
        "a user-written Triton kernel only takes a pointwise epilogue that reads nothing but its output",
        None,
        None,
    ),
    (
        r"strict (?:reduction|sum) ordering",
        "a reduction whose order of additions is prescribed (numerics) stays in a kernel of its own",
        "numerics='default' allows it",
        None,
    ),
    (
        r"incompatible reduction contracts",
        "the backend cannot keep what each of the two reductions prescribes in one kernel",
        None,
        None,
    ),
    (
        r"a consumer depends on another producer sub-node",
        "the parts of a foreach kernel run in parallel, and one needs another's result",
        None,
        None,
    ),
    (
        r"(?:nested reduction append|sub-parent epilogue) planning failed|invalid sub-parent epilogue fusion|"
        r"nested reduction append producer placement mismatch|consumer is not wholly in the sub-parent epilogue|"
        r"staged fusion dependency proof failed|staged reduction plan would be lost",
        "no plan puts the reduction and what follows it into the stages of one kernel",
        None,
        None,
    ),
    (r"prologue fusion turned off", "prologue fusion is switched off", "set prologue_fusion", "prologue_fusion"),
    (
        r"prologue fusion only supported for TritonTemplates",
        "only a Triton template takes a prologue, and the second is none",
        None,
        None,
    ),
    (
        r"prologue fusion only supported for pointwise nodes",
        "a template takes only pointwise work as its prologue",
        None,
        None,
    ),
    (
        r"template has no allowed prologue inputs|prologue fusion not implemented for kernel for these inputs",
        "the template takes no prologue on this input",
        None,
        None,
    ),
    (
        r"template prologue can only fuse functional pointwise nodes",
        "a prologue may not write in place or alias its input",
        None,
        None,
    ),
    (
        r"template prologue can only fuse nodes with a single use",
        "the result is used elsewhere too, so it must be stored anyway",
        None,
        None,
    ),
    (
        r"prologue fusion will not increase amount of bytes read",
        "as a prologue it would make the template read more bytes than it reads now",
        None,
        None,
    ),
    (
        r"prologue fusion will not increase attempt to fuse in padding",
        "padding inside the template would make its reads unaligned",
        None,
        None,
    ),
    (
        r"prologue fusion that must be upcast to fp32",
        "as a prologue it would be computed in fp32 inside a low-precision template",
        None,
        None,
    ),
    (
        r"template epilogue not satisfied",
        "the template takes as epilogue only pointwise work that writes nothing in place",
        "epilogue_fusion must be set for epilogues at all",
        "epilogue_fusion",
    ),
    (r"multi-output template epilogue", "a template with several outputs takes no such epilogue", None, None),
    (
        r"register spilling of the (.*)",
        "benchmarked: {0} would spill registers",
        "benchmark_fusion decides by measuring; unset, such pairs are joined",
        "benchmark_fusion",
    ),
    (
        r"foreach do not have same length|.*foreach.*",
        "a foreach kernel's lists do not pair up with the other node",
        None,
        None,
    ),
)

# What `decide_fusion_fail_reason` says of a common buffer without common data.
CAUSES: tuple[tuple[str, str, str | None, str | None], ...] = (
    (
        r"different numel: (.*?) v\.s\. (.*?)(?:['\"]|$)",
        "their loops go over {buffer} a different number of times: {0} and {1} elements",
        None,
        None,
    ),
    (
        r"broadcast",
        # `expand_dimension_for_pointwise_nodes` is no hint: it wants as many loops on both sides (scheduler.py:7201).
        "one of them reads {buffer} broadcast over another iteration space",
        None,
        None,
    ),
    (
        r"different offset: (.*?) v\.s\. (.*?)(?:['\"]|$)",
        "they touch different parts of {buffer}: from element {0} and from element {1}",
        COMBO,
        "combo_kernels",
    ),
    (
        r"Mismatch loop orders: (.*)",
        "they walk {buffer} in different loop orders",
        "loop_ordering_after_fusion lets the scheduler reorder one of the loops",
        "loop_ordering_after_fusion",
    ),
    (r"indirect", "one of them looks {buffer} up at addresses that it loads", None, None),
    (r"not MemoryDep", "one of them uses {buffer} as a whole, not element by element", None, None),
    (r"Unknown reason: (.*?)\. Layout", "they index {buffer} differently: {0}", None, None),
    (r"Unknown reason: (.*)", "they index {buffer} differently: {0}", None, None),
)


def translate(
    raw: str, cause: str | None, limits: dict[str, Any], refused: frozenset[str] = frozenset(), *, swapped: bool = False
) -> Reason:
    """Inductor's reason in the user's terms; unknown words are quoted as they are, never dropped.

    Args:
        refused: switches that torch does not try for this pair.
        swapped: the scheduler was asked about the reader's second node and its first.
    """
    if raw.startswith("no shared data"):
        return no_shared_data(cause, limits, refused)
    for pattern, text, hint, switch in RAW_REASONS:
        found = re.search(pattern, raw)
        if found:
            groups = [spaces(found[1], swapped=swapped)] if "spaces" in found.groupdict() else found.groups()
            return with_value(Reason(text.format(*groups), hint, switch), limits, refused)
    return Reason(f"Inductor: {raw}")


def spaces(printed: str, *, swapped: bool) -> str:
    """The iteration space of each of the two, "" where they cannot be read: Inductor prints both `numel`s, then both
    `rnumel`s (codegen/simd.py, can_fuse), each an integer or an expression.
    """
    sizes = [split(pair[1:-1]) for pair in split(printed) if pair.startswith("(")]
    if len(sizes) != 2 or any(len(pair) != 2 for pair in sizes):
        return ""
    first, second = list(zip(*sizes, strict=True))[:: -1 if swapped else 1]
    if first[1] == second[1] == "1":
        return f": {first[0]} and {second[0]} elements"
    return f": (numel, rnumel) is ({', '.join(first)}) in the first and ({', '.join(second)}) in the second"


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
    """Why the C++ backend joins two nodes of these loops not, as far as its rules say (codegen/cpp.py, _why_fuse_nodes and
    can_fuse_vertical_outer_loop).

    Args:
        flows: the second reads the first's result.
    """
    unknown = Reason("the backend declined without giving a reason: its loops for the two do not fit together")
    if a is None or b is None:
        return unknown
    depth = min(len(a[0]), len(b[0]))
    if flows and depth and a[0][:depth] == b[0][:depth]:
        return unknown  # their outer loops could be shared
    if flows and a[1]:
        return Reason(
            f"the second needs the result of the first's reduction, and they share no outer loop: {loop_words(a)}, then "
            f"{loop_words(b)}"
        )
    flat = not a[1] and not b[1] and 1 in (len(a[0]), len(b[0])) and same_number(a[0], b[0])
    if a == b or flat or (not a[1] and a[0] == b[0] + b[1]):
        return unknown
    return Reason(f"the backend declined: their loops differ, {loop_words(a)} and {loop_words(b)}")


def same_number(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether two loop nests may run as often: so they may where a size is a symbol."""
    sizes = (*a, *b)
    return not all(size.isdigit() for size in sizes) or prod(map(int, a)) == prod(map(int, b))


def loop_words(loops: Loops) -> str:
    """ "64 × 64", "16 that reduce 256 each", "one that reduces 4096"."""
    outer, inner = (" × ".join(sizes) for sizes in loops)
    if not inner:
        return outer or "one element"
    return f"{outer} that reduce {inner} each" if outer else f"one that reduces {inner}"


def no_shared_data(cause: str | None, limits: dict[str, Any], refused: frozenset[str] = frozenset()) -> Reason:
    """Refine "no shared data" to what really keeps the pair apart."""
    for buffer, words in re.findall(r"'(\w+)': (?:'|\")(.*?)(?:'|\")(?=, '\w+':|\}$)", cause or ""):
        for pattern, text, hint, switch in CAUSES:
            found = re.search(pattern, words)
            if found:
                if switch is None or switch in refused:
                    hint, switch = COMBO, "combo_kernels"
                return with_value(Reason(text.format(*found.groups(), buffer=buffer), hint, switch), limits, refused)
    reason = Reason(
        "they share no data: each reads and writes other buffers",
        "aggressive_fusion lets the scheduler join pointwise kernels that share nothing",
        "aggressive_fusion",
    )
    return with_value(reason, limits, refused)


def with_value(reason: Reason, limits: dict[str, Any], refused: frozenset[str] = frozenset()) -> Reason:
    """Say the limit's value, and drop a hint to set what is set already, or what changes nothing for this pair."""
    if reason.config in refused or (reason.config == "combo_kernels" and limits.get("combo_kernels") is True):
        return Reason(reason.text)
    if limits and reason.config is not None and reason.config not in limits:
        return Reason(reason.text)  # the torch that was recorded has no such switch, or its value was not recorded
    value = limits.get(reason.config or "")
    if reason.config is None or value is None:
        return reason
    if value is True and reason.hint and ("lets" in reason.hint or reason.hint.startswith("set ")):
        if "false" in reason.hint:
            return reason
        text = f"{reason.text} ({reason.config} is on, and found nothing that fits both)"
        other = "loop_reindexing_after_fusion"
        if reason.config == "loop_ordering_after_fusion" and limits.get(other) is False and other not in refused:
            return Reason(text, f"{other} lets the scheduler reindex the pointwise loop", other)
        return Reason(text, None, reason.config)
    if isinstance(value, int) and not isinstance(value, bool):
        return Reason(f"{reason.text} ({reason.config} = {value})", reason.hint, reason.config)
    return reason


def extern_kind(kernel: str) -> str:
    """Name what an extern kernel is: gemm, convolution, attention, or fallback."""
    if is_gemm(kernel):
        return "gemm"
    if is_convolution(kernel):
        return "convolution"
    return "attention" if is_attention(kernel) else "fallback"


def opaque(kernel: str, type: str, *, producer: bool, device: str | None, limits: dict[str, Any]) -> Reason:
    """Say why the scheduler never asks about a call of this kernel.

    Args:
        kernel: as the wrapper calls it.
        type: the call's type.
        producer: whether the other node of the pair consumes this one's result (it would be an epilogue).
        device: "cuda:0", "cpu".
        limits: Inductor's switches as they were.
    """
    side = "epilogue" if producer else "prologue"
    if type == "user_triton":
        return Reason(
            f"user-written Triton kernel {kernel}: Inductor calls it as it is",
            "epilogue_fusion_user_defined_triton_kernel lets it take a pointwise epilogue" if producer else None,
            "epilogue_fusion_user_defined_triton_kernel" if producer else None,
        )
    kind = extern_kind(kernel)
    on_gpu = not (device or "").startswith("cpu")
    if kind == "gemm":
        library = "cuBLAS" if (device or "").startswith("cuda") else "BLAS" if not on_gpu else "vendor"
        text = f"extern kernel: {library} GEMM ({kernel}), opaque to the scheduler"
        if limits.get("max_autotune") or limits.get("max_autotune_gemm"):
            return Reason(
                f"{text}; max_autotune was on, and the library's kernel was taken all the same", None, "max_autotune"
            )
        if on_gpu:
            return Reason(text, f"max_autotune can try a Triton GEMM with this as its {side}", "max_autotune")
        if not producer:  # Inductor's C++ GEMM takes no prologue
            return Reason(text)
        hint = (
            "max_autotune with freezing can try a C++ GEMM with this as its epilogue, where the weight is a parameter"
        )
        return Reason(text, hint, "max_autotune")
    if kind == "convolution":
        text = f"extern kernel: convolution ({kernel}), opaque to the scheduler"
        if not on_gpu or not producer or limits.get("max_autotune"):  # the Triton convolution takes no prologue
            return Reason(text)
        return Reason(text, "max_autotune can try a Triton convolution with this as its epilogue", "max_autotune")
    if kind == "attention":
        return Reason(f"extern kernel: attention ({kernel}), opaque to the scheduler")
    # Of an op that it can lower, too: complex numbers, dtypes and devices that it leaves alone.
    return Reason(f"extern kernel: Inductor writes no kernel for {kernel} here and calls it as it is (fallback)")
