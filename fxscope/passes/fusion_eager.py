"""Eager neighbours: each op launches its own kernel, so what one writes the next reads back from memory.

Where the dispatcher was recorded, it is known which op reads what. A trace alone records shapes but not which tensor:
there only launches that follow each other are paired, where the first op's result has the shape and dtype of an input
of the second, and the decision's evidence is "order".
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fxscope.model import Decision, Graph, Launch, Node, Op, Recording, TensorMeta
from fxscope.passes import flops
from fxscope.passes.fusion_reasons import GEMMS

if TYPE_CHECKING:
    from collections.abc import Mapping

REASON = "eager: each op launches its own kernel, and nothing looks at two ops together"
# Ops whose result has the shape of their largest input; not all are elementwise (softmax is not).
KEEP_SHAPE = frozenset({
    "add", "sub", "mul", "div", "pow", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tanh",
    "sigmoid", "relu", "gelu", "silu", "hardswish", "elu", "leaky_relu", "softplus", "mish", "clamp", "clamp_min",
    "clamp_max", "where", "maximum", "minimum", "erf", "threshold_backward", "gelu_backward", "silu_backward",
    "tanh_backward", "sigmoid_backward", "addcmul", "addcdiv", "lerp", "floor", "ceil", "round", "masked_fill",
    "_softmax", "_log_softmax", "cumsum",
})  # fmt: skip
PRODUCTS = {"mm": (0, 1), "addmm": (1, 2), "bmm": (0, 1), "baddbmm": (1, 2)}
DTYPES = {
    "c10::BFloat16": "bfloat16", "c10::Half": "float16", "float": "float32", "double": "float64", "long int": "int64",
    "int": "int32", "unsigned char": "uint8", "bool": "bool", "signed char": "int8", "short int": "int16",
}  # fmt: skip


def decisions(recording: Recording) -> list[Decision]:
    """Return one decision for each pair of eager launches between which a tensor passes."""
    found: list[Decision] = []
    for graph in recording.graphs:
        if graph.stage == "eager" and any(node.outputs for node in graph.nodes):
            found += of_graph(graph)
    if found or recording.calls:
        return found
    return of_trace(recording)


def of_graph(graph: Graph) -> list[Decision]:
    """Pair the ops of a recorded dispatch graph: the reader with the writer, and readers of one tensor."""
    nodes = {node.name: node for node in graph.nodes}
    readers: dict[str, list[str]] = {}
    for node in graph.nodes:
        if node.kind == "kernel" and node.outputs:
            for name in dict.fromkeys(writer(source, nodes) for source in node.inputs):
                if name != node.name:
                    readers.setdefault(name, []).append(node.name)
    found: dict[tuple[str, str], Decision] = {}
    for name, users in readers.items():
        source = nodes[name]
        size = flops.tensor_bytes(source.outputs[:1])
        if source.kind == "kernel":
            for user in users:
                once = len(users) == 1 and name not in graph.outputs
                keep(found, flow(graph, source, nodes[user], size, once=once))
        for one, other in pairwise(users):
            keep(found, siblings(graph, source, nodes[one], nodes[other], size))
    return list(found.values())


def keep(found: dict[tuple[str, str], Decision], decision: Decision) -> None:
    """Keep one decision per pair, the dearest."""
    key = (decision.a[0], decision.b[0])
    before = found.get(key)
    if before is None or (before.saved_bytes or 0) < (decision.saved_bytes or 0):
        found[key] = decision


def writer(name: str, nodes: Mapping[str, Node]) -> str:
    """Return the op that wrote the memory behind a name: through views, down to what launched or came from outside."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        node = nodes[name]
        if node.kind == "kernel" or not node.aliases or node.aliases[0] not in nodes:
            return name
        name = node.aliases[0]
    return name


def flow(graph: Graph, a: Node, b: Node, size: int | None, *, once: bool) -> Decision:
    """Return the decision for a writer and a reader of its result."""
    words = "written once and read once" if once else "which others read too"
    return Decision(
        graph=graph.id, a=(a.name,), b=(b.name,), verdict="never_considered",
        reason=f"{REASON}; between them a tensor of {amount(size)}, {words}",
        hint=hint(a, b), shared_buffers=(a.name,),
        # Nobody else reads it: fused, it need not be written either.
        saved_bytes=None if size is None else (2 if once else 1) * size,
        saved_launches=1, evidence="external_id",
    )  # fmt: skip


def siblings(graph: Graph, source: Node, a: Node, b: Node, size: int | None) -> Decision:
    """Return the decision for two readers of one tensor."""
    return Decision(
        graph=graph.id, a=(a.name,), b=(b.name,), verdict="never_considered",
        reason=f"{REASON}; both read {source.name}, {amount(size)}", hint=hint(a, b), shared_buffers=(source.name,),
        saved_bytes=size, saved_launches=1, evidence="external_id",
    )  # fmt: skip


def amount(size: int | None) -> str:
    """Return a size in words."""
    return "unknown size" if size is None else f"{size / 1e6:.3g} MB" if size >= 1e5 else f"{size} bytes"


def hint(a: Node | Op, b: Node | Op) -> str:
    """Say what would join them."""
    names = [base(item.target if isinstance(item, Node) else item.name) for item in (a, b)]
    if any(GEMMS.match(name) or "conv" in name for name in names):
        return (
            "torch.compile calls the same library kernel here; mode='max-autotune' can try a template that takes both"
        )
    return "torch.compile joins such neighbours"


def base(name: str) -> str:
    """Return an op's bare name, without the in-place underscore."""
    return name.removeprefix("aten::").removeprefix("aten.").split(".")[0].rstrip("_")


def of_trace(recording: Recording) -> list[Decision]:
    """Pair the launches of the first step that follow each other, where shapes say that a tensor may pass."""
    ops = {op.id: op for op in recording.ops}
    first = min((launch.step for launch in recording.launches), default=0)
    kernels: dict[int, Launch] = {}
    for launch in sorted(recording.launches, key=lambda item: item.start_ns):
        if launch.step == first and launch.category in ("kernel", "cpu_kernel") and launch.op_id in ops:
            kernels.setdefault(launch.op_id or 0, launch)
    graph = next((graph for graph in recording.graphs if graph.stage == "eager"), None)
    found: list[Decision] = []
    for (a_id, a_launch), (b_id, b_launch) in pairwise(kernels.items()):
        a, b = ops[a_id], ops[b_id]
        result = result_of(a)
        if a_launch.stream != b_launch.stream or result is None or not takes(b, result):
            continue
        size = flops.tensor_bytes([result])
        found.append(
            Decision(
                graph=graph.id if graph is not None else "eager", a=(a.node or a.name,), b=(b.node or b.name,),
                verdict="never_considered",
                reason=f"{REASON}; by order and shape, a tensor of {amount(size)} passes between them (a trace does "
                "not record which tensor)",
                hint=hint(a, b), saved_bytes=None if size is None else 2 * size, saved_launches=1, evidence="order",
            )
        )  # fmt: skip
    return found


def result_of(op: Op) -> TensorMeta | None:
    """Return the shape and dtype of an op's result, where its inputs tell."""
    shapes, dtypes = tensors(op)
    if not shapes or op.dtypes is None:
        return None
    name = base(op.name)
    if name in PRODUCTS:
        left, right = PRODUCTS[name]
        given = [tuple(shape) for shape in op.shapes or ()]
        if len(given) > right and len(given[left]) >= 2 and len(given[right]) >= 2:
            return TensorMeta(shape=(*given[left][:-1], given[right][-1]), dtype=dtypes[0])
        return None
    if name in KEEP_SHAPE:
        largest = max(shapes, key=lambda shape: (len(shape), flops.numbers(*shape) or 0))
        return TensorMeta(shape=largest, dtype=dtypes[shapes.index(largest)])
    return None


def takes(op: Op, tensor: TensorMeta) -> bool:
    """Return whether an op has an input with as many elements of this dtype (a view may lie between)."""
    shapes, dtypes = tensors(op)
    count = flops.numbers(*tensor.shape)
    return any(
        flops.numbers(*shape) == count and dtype == tensor.dtype for shape, dtype in zip(shapes, dtypes, strict=True)
    )


def tensors(op: Op) -> tuple[list[tuple[int, ...]], list[str]]:
    """Return shapes and dtypes of an op's tensor inputs; the profiler writes scalars and lists between them."""
    shapes: list[tuple[int, ...]] = []
    dtypes: list[str] = []
    for shape, dtype in zip(op.shapes or (), op.dtypes or (), strict=False):
        name = DTYPES.get(dtype, dtype)
        if name in flops.ITEM_BYTES and isinstance(shape, (list, tuple)):
            shapes.append(tuple(shape))  # pyright: ignore[reportUnknownArgumentType]
            dtypes.append(name)
    return shapes, dtypes
