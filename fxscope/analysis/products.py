"""The table of GEMMs, convolutions and attentions: shape, kernel, tile, rate, share of the peak."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, cast

from fxscope import gpus
from fxscope.gpus import Gpu
from fxscope.index import grouped, index_of, kept
from fxscope.kernel_names import decode
from fxscope.model import Item, Launch, Node, Op, Recording, TensorMeta
from fxscope.op_names import GEMMS, is_attention, is_convolution, is_dispatched, is_gemm, op_name
from fxscope.passes import flops as flop_counts
from fxscope.passes.cost import multiplies_by_tf32
from fxscope.text import counted, flop, listed
from fxscope.text import rate as per_second


class GemmRow(Item, frozen=True, kw_only=True):
    """One GEMM, convolution or attention, over every time it ran. Unknown values are `None`."""

    op: str
    module: str | None = None
    node: str | None = None
    call: str | None = None
    batch: int | None = None
    m: int | None = None
    k: int | None = None
    n: int | None = None
    flops: int | None = None  # as torch counts them, of an attention for all pairs of a query and a key
    kernel: str
    tile: tuple[int, ...] | None = None
    num_launches: int = 1  # launches of one execution: the GEMM, and a memset or a split-K reduction
    count: int = 1  # executions
    duration_us: float = 0.0  # median of the executions, everything that the op launched
    flops_per_second: float | None = None  # in `duration_us`, without the FLOPs that a causal mask saves
    share_of_peak: float | None = None
    peak: str | None = None  # which rate, and where it comes from
    note: str | None = None

    @property
    def label(self) -> str:
        """ "layers.0.fc1 mm_3"."""
        return " ".join(filter(None, (self.module, self.node or op_name(self.op))))


def gemms(recording: Recording) -> tuple[GemmRow, ...]:
    """Recording → one row for each product that reached a device, in the order of the first step."""
    return kept(recording, "gemms", _gemms)


def _gemms(recording: Recording) -> tuple[GemmRow, ...]:
    found: dict[tuple[Any, ...], list[list[Launch]]] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for launches in grouped(recording.launches, _execution).values():
        main = main_kernel(launches)
        if main is None:
            continue
        key = (main.call or main.nodes or main.op, main.graph)
        # A call or node that runs several times in a step is one row. Ops that nothing else tells apart differ by their
        # place in the step, the products inside a call of a library by their place in the call.
        if (not main.call and not main.nodes) or (main.call and main.invocation is not None):
            where = (main.step, main.invocation, *key)
            key = (*key, seen[where])
            seen[where] += 1
        found.setdefault(key, []).append(launches)
    gpu = gpus.find(recording.environment.device)
    return tuple(_row(runs, recording, gpu) for runs in found.values())


def _execution(launch: Launch) -> tuple[Any, ...]:
    """Return what the launches of one execution share: a memset, the GEMM, a split-K reduction."""
    if launch.evidence.op == "order" or launch.op_id is None:
        return "call", launch.step, launch.invocation, launch.call or launch.id
    return "op", launch.op_id, launch.call


def main_kernel(launches: Sequence[Launch]) -> Launch | None:
    """The launch that computes the product, `None` where none of them does."""
    found = [launch for launch in launches if role(launch) in flop_counts.PRODUCTS]
    return max(found, key=lambda launch: launch.duration_ns) if found else None


def role(launch: Launch) -> str:
    """The role of a launch's kernel; on the CPU the op's name is all there is, and a generated kernel's has no role."""
    if launch.category == "cpu_kernel":
        name = launch.op or launch.name
        kinds = {"gemm": is_gemm, "convolution": is_convolution, "attention": is_attention}
        return next((kind for kind, matches in kinds.items() if is_dispatched(name) and matches(name)), "other")
    decoded = launch.decoded or decode(launch.name)
    return decoded["role"] if decoded else "other"


def _row(runs: list[list[Launch]], recording: Recording, gpu: Gpu | None) -> GemmRow:
    first = runs[0]
    mains = [main for launches in runs if (main := main_kernel(launches)) is not None]
    main = mains[0]
    op = index_of(recording).op_of(main)
    nodes = index_of(recording).nodes.get(main.graph or "", {})
    node = _product([nodes[name] for name in main.nodes if name in nodes])
    sizes, certain = _sizes(op, node, nodes)
    duration_us = median(sum(launch.duration_ns for launch in launches) for launches in runs) / 1000
    rate = certain / duration_us * 1e6 if certain and duration_us else None
    arithmetic = flop_counts.arithmetic(
        _dtype(main, op, node, nodes),
        [item for item in (op.name if op else None, node.target if node else None) if item],
        {launch.name for launch in first},
        tf32=multiplies_by_tf32(recording),
    )
    peak = gpu.matrix_rate(arithmetic) if gpu is not None and arithmetic else None
    source = (node.source if node is not None else None) or (op.source if op is not None else None)
    tile = (main.decoded or decode(main.name) or {}).get("tile")
    return GemmRow(
        op=main.op or (node.target if node is not None else main.name),
        module=source.module if source else None,
        node=node.name if node is not None else None,
        call=main.call,
        **sizes,
        kernel=main.name,
        tile=tuple(tile) if tile else None,
        num_launches=len(first),
        count=len(runs),
        duration_us=duration_us,
        flops_per_second=rate,
        share_of_peak=rate / peak.value if rate and peak else None,
        peak=f"{per_second(peak.value, 'FLOP/s')} {arithmetic} ({gpu.basis(peak)})" if peak and gpu else None,
        note="; ".join(_notes(first, {launch.name for launch in mains}, sizes.get("flops"), certain)) or None,
    )


def _notes(first: Sequence[Launch], names: set[str], flops: int | None, certain: int | None) -> Iterable[str]:
    if len(names) > 1:
        yield f"{len(names)} different kernels ran for it; the first is shown"
    if len(first) > 1:
        words = {"kernel": "kernel", "cpu_kernel": "kernel", "gpu_memset": "memset", "gpu_memcpy": "memory copy"}
        counts = Counter(words[launch.category] for launch in first)
        launched = listed([counted(counts[word], word) for word in dict.fromkeys(words.values()) if counts[word]])
        yield f"the time includes all launches: {launched}"
    if flops and certain and certain < flops:
        yield f"rate and share count the FLOPs under its causal mask, {flop(certain)}"


def _product(nodes: Sequence[Node]) -> Node | None:
    """The product among the nodes that ran in a launch; with several, no single one is it."""
    found = nodes if len(nodes) == 1 else [node for node in nodes if flop_counts.first_operand(node.target) is not None]
    return found[0] if len(found) == 1 else None


def _sizes(op: Op | None, node: Node | None, nodes: dict[str, Node]) -> tuple[dict[str, int | None], int | None]:
    """The sizes and FLOPs of a product, from its op's shapes, else from the graph's; and the FLOPs that are certain."""
    name, operands, flops, certain = "", list[Any](), None, None
    if op is not None:
        name, operands = op_name(op.name), flop_counts.operands_of_op(op)
        flops, certain = flop_counts.of_op(op), flop_counts.of_op(op, certain=True)
    if flops is None and node is not None:
        name, operands = op_name(node.target), flop_counts.operands(node, nodes)
        flops, certain = flop_counts.of_node(node, nodes), flop_counts.of_node(node, nodes, certain=True)
    attention = is_attention(name)
    if flops is None or (not attention and name not in GEMMS):
        return {"flops": flops}, certain
    first = flop_counts.first_operand(name) or 0
    places = (first, first + 1) if attention else GEMMS[name]
    shapes = [cast("TensorMeta", operands[place]).shape for place in places]
    a, b = (cast("Sequence[int]", shape) for shape in shapes)  # numbers: the FLOPs are known
    batch = math.prod(a[:-2]) if len(a) > 2 else None
    m, n = (a[-2], b[-2]) if attention else (math.prod(a[-2:-1]), b[-1] if len(b) > 1 else 1)
    return {"batch": batch, "m": m, "k": a[-1], "n": n, "flops": flops}, certain


def _dtype(main: Launch, op: Op | None, node: Node | None, nodes: dict[str, Node]) -> str | None:
    if op is not None and op.dtypes:
        place = GEMMS.get(op_name(op.name), (0, 0))[0]
        if place < len(op.dtypes) and op.dtypes[place] not in ("", "Scalar", "ScalarList"):
            return op.dtypes[place]
    known = flop_counts.dtype_of(node, nodes) if node is not None else None
    stated = ((main.decoded or decode(main.name) or {}).get("dtypes") or {}).get("a")
    return known or (stated if isinstance(stated, str) else None)
