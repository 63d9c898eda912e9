"""The table of GEMMs, convolutions and attentions: shape, kernel, tile, waves, rate, share of the peak."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fxscope import gpus
from fxscope.analysis import select
from fxscope.analysis.launch_cost import launched
from fxscope.index import index_of
from fxscope.kernel_names import decode
from fxscope.model import Item
from fxscope.op_names import GEMMS, is_attention, is_convolution, is_dispatched, is_gemm, op_name
from fxscope.passes import flops as flop_counts
from fxscope.passes.cost import multiplies_by_tf32
from fxscope.text import flop, listed
from fxscope.text import rate as per_second

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fxscope.gpus import Gpu
    from fxscope.model import Graph, Launch, Node, Op, Recording, TensorMeta


class GemmRow(Item, frozen=True, kw_only=True):
    """One GEMM, convolution or attention, over every time it ran. What is not known is `None`."""

    op: str
    role: str  # "gemm", "gemv", "convolution", "attention"
    label: str = ""  # what it is called, as no other row: "a.q", "a.q (backward) mm_13"
    backward: bool | None = None  # whether autograd ran it; None where nothing tells
    module: str | None = None
    line: str | None = None  # the user's code
    node: str | None = None
    call: str | None = None
    batch: int | None = None
    m: int | None = None
    k: int | None = None
    n: int | None = None
    flops: int | None = None  # as torch counts them, of an attention for all pairs of a query and a key
    dtype: str | None = None
    kernel: str
    family: str | None = None
    layout: str | None = None
    tile: tuple[int, ...] | None = None
    tiles: int | None = None
    blocks: int | None = None  # that the kernel was launched with
    waves: float | None = None  # tiles, or blocks where those are more, over as many as the device runs at once
    split_k: bool | None = None
    epilogue: str | None = None
    num_launches: int = 1  # launches of one execution: the GEMM, and a memset or a split-K reduction
    count: int = 1  # executions
    duration_us: float = 0.0  # median of the executions, everything the op launched: what every other view gives, too
    kernel_us: float = 0.0  # median of the kernels that multiply, mostly one
    flops_per_second: float | None = None  # in `duration_us`, without the FLOPs that a causal mask saves
    share_of_peak: float | None = None
    peak: str | None = None  # which rate, and where it comes from
    note: str | None = None
    evidence: tuple[str, ...] = ()


def gemms(recording: Recording) -> tuple[GemmRow, ...]:
    """Recording → one row for each product that reached a device, in the order of the first step."""
    ops = index_of(recording).ops
    nodes = {(graph.id, node.name): (node, graph) for graph in recording.graphs for node in graph.nodes}
    gpu = gpus.find(recording.environment.device)
    executions = _executions(recording)
    grouped: dict[tuple[Any, ...], list[list[Launch]]] = {}
    seen: dict[tuple[Any, ...], int] = {}
    for launches in executions:
        main = main_kernel(launches)
        if main is None:
            continue
        base = (main.call or main.nodes or main.op, main.graph)
        # The same call or node may run several times in a step (a loop, a graph run twice): they are one row. Ops
        # that nothing else tells apart are told apart by their place in the step, the products inside a call of a
        # library by their place in the call.
        place = None
        if (not main.call and not main.nodes) or (main.call and main.invocation is not None):
            where = (main.step, main.invocation, base)
            place = seen[where] = seen.get(where, -1) + 1
        grouped.setdefault((base, place), []).append(launches)
    return labelled([_row(runs, recording, ops, nodes, gpu) for runs in grouped.values()])


def labelled(rows: Sequence[GemmRow]) -> tuple[GemmRow, ...]:
    """Give each row a name of its own: those of one module, or one call of a library, by direction, node, op or number."""
    names = [
        f"{row.module}{' (backward)' if row.backward else ''}" if row.module else row.node or row.op for row in rows
    ]
    for more in ([row.node for row in rows], [row.op for row in rows]):
        shared = Counter(names)
        full = [f"{name} {item}" if item and item != name else name for name, item in zip(names, more, strict=True)]
        alone = Counter(full)
        unsure = {name for name, item in zip(names, full, strict=True) if alone[item] > 1}
        names = [
            item if shared[name] > 1 and name not in unsure else name for name, item in zip(names, full, strict=True)
        ]
    shared, place = Counter(names), Counter[str]()
    found: list[GemmRow] = []
    for row, name in zip(rows, names, strict=True):
        place[name] += 1
        found.append(msgspec.structs.replace(row, label=f"{name} #{place[name]}" if shared[name] > 1 else name))
    return tuple(found)


def main_kernel(launches: Sequence[Launch]) -> Launch | None:
    """The launch that does the product, `None` where none of them does."""
    found = [launch for launch in launches if role(launch) in flop_counts.PRODUCTS]
    return max(found, key=lambda launch: launch.duration_ns) if found else None


def role(launch: Launch) -> str:
    """What a launch's kernel is for; on the CPU the op's name is all there is, and a generated kernel's says no role."""
    if launch.category == "cpu_kernel":
        name = launch.op or launch.name
        kinds = {"gemm": is_gemm, "convolution": is_convolution, "attention": is_attention}
        return next((kind for kind, matches in kinds.items() if is_dispatched(name) and matches(name)), "other")
    decoded = launch.decoded or decode(launch.name)
    return decoded["role"] if decoded else "other"


def _executions(recording: Recording) -> list[list[Launch]]:
    """Group the launches of one op's execution: a memset, the GEMM, a split-K reduction."""
    groups: dict[tuple[Any, ...], list[Launch]] = {}
    for launch in recording.launches:
        if launch.evidence.op == "order" or launch.op_id is None:
            key: tuple[Any, ...] = ("call", launch.step, launch.invocation, launch.call or launch.id)
        else:
            key = ("op", launch.op_id, launch.call)
        groups.setdefault(key, []).append(launch)
    return list(groups.values())


def _row(
    runs: list[list[Launch]],
    recording: Recording,
    ops: Mapping[int, Op],
    nodes: dict[tuple[str, str], tuple[Node, Graph]],
    gpu: Gpu | None,
) -> GemmRow:
    first = runs[0]
    mains = [main for launches in runs if (main := main_kernel(launches)) is not None]
    main = mains[0]
    decoded = main.decoded or decode(main.name) or {}
    op = ops.get(main.op_id) if main.op_id is not None else None
    node, graph = _node(main, nodes)
    batch, m, k, n, flops, certain = _shape(op, node, graph)
    note = None
    if flops and certain and certain < flops:
        note = f"under its causal mask {flop(certain)}, of which its rate and its share are"
    dtype = _dtype(op, node, graph, decoded)
    products = [[launch for launch in launches if role(launch) in flop_counts.PRODUCTS] for launches in runs]
    kernel_us = median(sum(launch.duration_ns for launch in launches) for launches in products if launches) / 1000
    if len(first) > 1:
        whole = f"the time is of all that it launches, {listed(launched(first))}"
        note = f"{whole}; {note}" if note else whole
    duration_us = median(sum(launch.duration_ns for launch in launches) for launches in runs) / 1000
    tiles = _tiles(decoded, batch, m, n)
    blocks = math.prod(main.grid) if main.grid and tiles else None
    rate = certain / duration_us * 1e6 if certain and duration_us else None
    arithmetic = flop_counts.arithmetic(
        dtype,
        [item for item in (op.name if op else None, node.target if node else None) if item],
        {launch.name for launch in first},
        tf32=multiplies_by_tf32(recording),
    )
    peak = gpu.matrix_rate(arithmetic) if gpu is not None and arithmetic else None
    names = {launch.name for launch in mains}
    if len(names) > 1:
        note = f"{len(names)} different kernels ran for it; the first is shown" + (f"; {note}" if note else "")
    source = node.source if node is not None else None
    source = source or (op.source if op is not None else None)
    return GemmRow(
        op=main.op or (node.target if node is not None else main.name),
        role="convolution" if is_convolution(main.op or "") else role(main),
        backward=select.ran_backward(graph or index_of(recording).graphs.get(main.graph or ""), main.chain),
        module=source.module if source else None,
        line=source.code if source else None,
        node=node.name if node is not None else None,
        call=main.call,
        batch=batch,
        m=m,
        k=k,
        n=n,
        flops=flops,
        dtype=dtype,
        kernel=main.name,
        family=decoded.get("family"),
        layout=decoded.get("layout"),
        tile=tuple(decoded["tile"]) if decoded.get("tile") else None,
        tiles=tiles,
        blocks=blocks,
        waves=_waves(main, max(tiles, blocks), gpu) if tiles and blocks else None,
        split_k=_split_k(decoded, first),
        epilogue=decoded.get("epilogue"),
        num_launches=len(first),
        count=len(runs),
        duration_us=duration_us,
        kernel_us=kernel_us,
        flops_per_second=rate,
        share_of_peak=rate / peak.value if rate and peak else None,
        peak=f"{per_second(peak.value, 'FLOP/s')} {arithmetic} ({gpu.basis(peak)})" if peak and gpu else None,
        note=note,
        evidence=evidence(main, first, node, graph),
    )


def _split_k(decoded: dict[str, Any], launches: Iterable[Launch]) -> bool | None:
    """A reduction kernel beside the GEMM proves the split, whether the name says it or not."""
    if any(role(launch) == "split_k_reduce" for launch in launches):
        return True
    return decoded.get("split_k")


def evidence(
    main: Launch, launches: Sequence[Launch], node: Node | None = None, graph: Graph | None = None
) -> tuple[str, ...]:
    found = [f"launch:{launch.id}" for launch in launches]
    if main.op_id is not None:
        found.append(f"op:{main.op_id}")
    if main.call:
        found.append(f"call:{main.call}")
    if node is not None and graph is not None:
        found.append(f"node:{graph.id}/{node.name}")
    return tuple(found)


def _node(launch: Launch, nodes: dict[tuple[str, str], tuple[Node, Graph]]) -> tuple[Node, Graph] | tuple[None, None]:
    """The product among the nodes that ran in a launch; with several, no single one is it."""
    found = [nodes[launch.graph or "", name] for name in launch.nodes if (launch.graph or "", name) in nodes]
    if len(found) == 1:
        return found[0]
    found = [pair for pair in found if flop_counts.first_operand(pair[0].target) is not None]
    return found[0] if len(found) == 1 else (None, None)


def _shape(
    op: Op | None, node: Node | None, graph: Graph | None
) -> tuple[int | None, int | None, int | None, int | None, int | None, int | None]:
    """Batch, M, K, N, FLOPs and those that its kernel cannot skip, from the op's shapes, else from the graph's."""
    name, operands, flops, certain = "", list[Any](), None, None
    if op is not None:
        name, operands, flops = op_name(op.name), flop_counts.operands_of_op(op), flop_counts.of_op(op)
        certain = flop_counts.of_op(op, certain=True)
    if flops is None and node is not None and graph is not None:
        by_name = {item.name: item for item in graph.nodes}
        name, operands = op_name(node.target), flop_counts.operands(node, by_name)
        flops = flop_counts.of_node(node, by_name)
        certain = flop_counts.of_node(node, by_name, certain=True)
    if flops is None:
        return None, None, None, None, None, None
    attention = is_attention(name)
    first = flop_counts.first_operand(name) or 0
    if not attention and name not in GEMMS:
        return None, None, None, None, flops, certain
    places = (first, first + 1) if attention else GEMMS[name]
    a, b = (cast("TensorMeta", operands[place]).shape for place in places)
    a, b = cast("Sequence[int]", a), cast("Sequence[int]", b)  # numbers: the FLOPs are known
    batch = math.prod(a[:-2]) if len(a) > 2 else None
    if attention:
        return batch, a[-2], a[-1], b[-2], flops, certain
    return batch, math.prod(a[-2:-1]), a[-1], b[-1] if len(b) > 1 else 1, flops, certain


def _dtype(op: Op | None, node: Node | None, graph: Graph | None, decoded: dict[str, Any]) -> str | None:
    if op is not None and op.dtypes:
        name = op_name(op.name)
        index = GEMMS.get(name, (0, 0))[0]
        if index < len(op.dtypes) and op.dtypes[index] not in ("", "Scalar", "ScalarList"):
            return op.dtypes[index]
    if node is not None and graph is not None:
        dtype = flop_counts.dtype_of(node, {item.name: item for item in graph.nodes})
        if dtype is not None:
            return dtype
    dtypes: dict[str, Any] = decoded.get("dtypes") or {}
    stated = dtypes.get("a")
    return stated if isinstance(stated, str) else None


def _tiles(decoded: dict[str, Any], batch: int | None, m: int | None, n: int | None) -> int | None:
    """The tiles of the result, where the kernel's name says their size.

    cuBLAS is handed the transposed problem: a tile of 256x128 covers 256 columns and 128 rows of torch's result.
    """
    tile = decoded.get("tile")
    if not tile or not m or not n or decoded.get("family") not in ("nvjet", "xmma", "cutlass", "cublas"):
        return None
    if decoded.get("role") != "gemm" or decoded.get("split_k") or decoded.get("api") == "3.x":
        return None
    return (batch or 1) * math.ceil(n / tile[0]) * math.ceil(m / tile[1])


def _waves(main: Launch, work: int, gpu: Gpu | None) -> float | None:
    """How often tiles or blocks fill the device, as many at once as registers and shared memory let in.

    There are fewer blocks than tiles where each takes several, more where K is split or a cluster is filled up.
    """
    if gpu is None or main.registers is None or main.shared_bytes is None or not main.block:
        return None
    fitting = gpus.occupancy(gpu, main.registers, main.shared_bytes, math.ceil(math.prod(main.block) / 32))
    count = gpu.limit("multi_processor_count")
    return work / (int(count) * fitting.blocks) if fitting is not None and count else None
