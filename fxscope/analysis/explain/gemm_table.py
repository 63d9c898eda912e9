"""The table of GEMMs, convolutions and attentions: shape, kernel, tile, waves, rate, share of the peak."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fxscope import gpus
from fxscope.analysis.story import GemmRow
from fxscope.index import index_of
from fxscope.kernel_names import decode
from fxscope.op_names import GEMMS, is_convolution, is_gemm, op_name
from fxscope.passes import flops as flop_counts
from fxscope.text import rate as per_second

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fxscope.gpus import Gpu
    from fxscope.model import Graph, Launch, Node, Op, Recording

ROLES = ("gemm", "gemv", "convolution", "attention")


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
    return tuple(_row(runs, recording, ops, nodes, gpu) for runs in grouped.values())


def main_kernel(launches: Sequence[Launch]) -> Launch | None:
    """The launch that does the product, `None` where none of them does."""
    found = [launch for launch in launches if role(launch) in ROLES]
    return max(found, key=lambda launch: launch.duration_ns) if found else None


def role(launch: Launch) -> str:
    """What a launch's kernel is for; on the CPU the op's name is all there is."""
    if launch.category == "cpu_kernel":
        name = op_name(launch.op or launch.name)
        return "gemm" if is_gemm(name) else "convolution" if is_convolution(name) else "other"
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
    batch, m, k, n, flops, note = _shape(op, node, graph, decoded.get("role"))
    dtype = _dtype(op, node, graph, decoded)
    kernel_us = sum(launch.duration_ns for launch in mains) / len(mains) / 1000
    duration_us = sum(launch.duration_ns for launches in runs for launch in launches) / len(runs) / 1000
    tiles = _tiles(decoded, batch, m, n)
    blocks = math.prod(main.grid) if main.grid and tiles else None
    rate = flops / kernel_us * 1e6 if flops and kernel_us else None
    arithmetic = "tfloat32" if decoded.get("math") == "tf32" else dtype
    peak = gpu.matrix_rate(arithmetic) if gpu is not None and arithmetic else None
    names = {launch.name for launch in mains}
    if len(names) > 1:
        note = f"{len(names)} different kernels ran for it; the first is shown" + (f"; {note}" if note else "")
    source = node.source if node is not None else None
    source = source or (op.source if op is not None else None)
    return GemmRow(
        op=main.op or (node.target if node is not None else main.name),
        role=decoded.get("role") or "gemm",
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
        evidence=_evidence(main, first, node, graph),
    )


def _split_k(decoded: dict[str, Any], launches: Iterable[Launch]) -> bool | None:
    """A reduction kernel beside the GEMM proves the split, whether the name says it or not."""
    if any(role(launch) == "split_k_reduce" for launch in launches):
        return True
    return decoded.get("split_k")


def _evidence(main: Launch, launches: Sequence[Launch], node: Node | None, graph: Graph | None) -> tuple[str, ...]:
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
    found = [pair for pair in found if flop_counts.is_product(pair[0])]
    return found[0] if len(found) == 1 else (None, None)


def _shape(
    op: Op | None, node: Node | None, graph: Graph | None, kind: str | None
) -> tuple[int | None, int | None, int | None, int | None, int | None, str | None]:
    """Batch, M, K, N, FLOPs and a note, from the op's shapes, else from the graph's."""
    found = product_of(op) if op is not None else None
    if found:
        return (*found, None)
    if node is not None and graph is not None:
        by_name = {item.name: item for item in graph.nodes}
        name = op_name(node.target)
        shapes = [by_name[item].outputs[0].shape for item in node.inputs if item in by_name and by_name[item].outputs]
        if name in GEMMS:
            matrices = [shape for shape in shapes if len(shape) >= 2][-2:]
            found = _product(matrices) if len(matrices) == 2 else None
            if found:
                return (*found, None)
        count = flop_counts.of_node(node, by_name)
        if count:
            return None, None, None, None, count, None
    if kind == "attention" and op is not None and op.shapes and len(op.shapes) >= 3:
        return _attention(op)
    return None, None, None, None, None, None


def product_of(op: Op) -> tuple[int | None, int, int, int, int] | None:
    """Batch, M, K, N and FLOPs of a GEMM op from its recorded shapes; `None` where they do not say."""
    operands = GEMMS.get(op_name(op.name))
    if operands is None or not op.shapes:
        return None
    return _product([op.shapes[index] if index < len(op.shapes) else () for index in operands])


def _product(shapes: Sequence[Any]) -> tuple[int | None, int, int, int, int] | None:
    try:
        a, b = ([int(size) for size in shape] for shape in shapes)
    except (TypeError, ValueError):
        return None
    if not a or len(a) < 2 or not b or len(b) > len(a) or (len(b) >= 2 and a[-1] != b[-2]):
        return None
    batch = math.prod(a[:-2]) if len(a) > 2 else None
    m, k, n = a[-2], a[-1], b[-1] if len(b) > 1 else 1
    return batch, m, k, n, 2 * (batch or 1) * m * k * n


def _attention(op: Op) -> tuple[int | None, int | None, int | None, int | None, int | None, str | None]:
    """q, k, v of [batch, heads, length, head]: two products of length × length × head."""
    try:
        q, k = ([int(size) for size in shape] for shape in (op.shapes or ())[:2])
    except (TypeError, ValueError):
        return None, None, None, None, None, None
    # The entries that take [batch, length, heads, head] (flash's and cuDNN's inner ops) say so in their names.
    if len(q) != 4 or len(k) != 4 or not op.name.startswith("aten::_scaled_dot_product"):
        return None, None, None, None, None, None
    if "backward" in op.name:
        return None, None, None, None, None, None
    batch, heads, length, head = q
    flops = 4 * batch * heads * length * k[2] * head
    return batch * heads, length, head, k[2], flops, "FLOPs of all pairs; a causal mask may skip half"


def _dtype(op: Op | None, node: Node | None, graph: Graph | None, decoded: dict[str, Any]) -> str | None:
    if op is not None and op.dtypes:
        name = op_name(op.name)
        index = GEMMS.get(name, (0, 0))[0]
        if index < len(op.dtypes) and op.dtypes[index] not in ("", "Scalar", "ScalarList"):
            return op.dtypes[index]
    if node is not None and graph is not None:
        by_name = {item.name: item for item in graph.nodes}
        for name in node.inputs:
            if name in by_name and by_name[name].outputs:
                return by_name[name].outputs[0].dtype
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
