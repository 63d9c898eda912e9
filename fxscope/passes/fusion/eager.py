"""Eager neighbours: each op launches its own kernel, so what one writes the next reads back from memory.

Where the dispatcher was recorded, it is known which op reads what. A trace alone records shapes but not which tensor:
there results are paired with the inputs of their size and dtype that follow, and the decision's evidence is "order".
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope.columns import column, picked
from fxscope.dtypes import ITEM_BYTES
from fxscope.index import index_of
from fxscope.model import KERNELS, Decision, Graph, Node, Op, Recording, TensorMeta, replace
from fxscope.op_names import (
    GEMMS,
    is_attention,
    is_collective,
    is_convolution,
    is_gemm,
    is_generated,
    keeps_shape,
    op_name,
    phase_of,
    reductions,
)
from fxscope.passes import flops
from fxscope.passes.fusion.hints import share_the_activation
from fxscope.passes.unfused import is_library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COMPILED = ("Torch-Compiled Region", "## Call CompiledFxGraph")  # what a trace calls compiled code


def decisions(recording: Recording) -> list[Decision]:
    """One decision for each pair of eager launches between which a tensor passes."""
    found: list[Decision] = []
    for graph in recording.graphs:
        if graph.stage == "eager" and any(node.outputs for node in graph.nodes):
            found += of_graph(graph, phases(recording, graph.id))
    return found or of_trace(recording)


def phases(recording: Recording, graph: str) -> dict[str, str | None]:
    """Node → the phase of training that its launches ran in; no compile makes one kernel of two phases."""
    rows = [position for position, name in enumerate(column(recording.launches, "graph")) if name == graph]
    launches = picked(recording.launches, rows, ("nodes", "chain"))
    return {name: phase_of(launch.chain) for launch in launches for name in launch.nodes}


def of_graph(graph: Graph, phase: Mapping[str, str | None]) -> list[Decision]:
    """Pair the ops of a recorded dispatch graph: the reader with the writer, and readers of one tensor.

    Args:
        phase: of each node that launched; the forward pass, the backward pass and the optimizer are not paired.
    """
    nodes = {node.name: node for node in graph.nodes}
    home = homes(graph)
    readers: dict[str, dict[str, list[str]]] = {}  # writer → reader → as what it reads it: itself, or views of it
    for node in graph.nodes:
        if node.kind == "kernel" and node.outputs:
            for source in dict.fromkeys(node.inputs):
                if (name := writer(source, nodes)) != node.name:
                    readers.setdefault(name, {}).setdefault(node.name, []).append(source)
    found: dict[tuple[str, str], Decision] = {}
    for name, users in readers.items():
        source = nodes[name]
        size = flops.tensor_bytes(source.outputs[:1])
        reads = {user: part(size, [nodes[view] for view in views]) for user, views in users.items()}
        if source.kind == "kernel":
            for user in users:
                if phase.get(name) != phase.get(user):
                    continue
                once = len(users) == 1 and name not in graph.outputs
                stays = home[name] not in {name, *(home.get(item, item) for item in nodes[user].mutates)}
                keep(found, flow(graph, source, nodes[user], size, reads[user], once=once, stays=stays))
        for one, other in pairwise(users):
            # Two parts of a tensor may have nothing in common: the halves of a gate.
            if phase.get(one) != phase.get(other):
                continue
            meet = users[one] == users[other] or size in (reads[one], reads[other])
            least = None if size is None or not meet else min(reads[one] or 0, reads[other] or 0)
            keep(found, siblings(graph, source, nodes[one], nodes[other], least, meet=meet))
    return list(found.values())


def keep(found: dict[tuple[str, str], Decision], decision: Decision) -> None:
    """Keep one decision per pair, the most expensive."""
    key = (decision.a[0], decision.b[0])
    before = found.get(key)
    if before is None or (before.saved_bytes or 0) < (decision.saved_bytes or 0):
        found[key] = decision


def writer(name: str, nodes: Mapping[str, Node]) -> str:
    """The op that wrote the memory behind a name: through views, down to what launched or came from outside."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        node = nodes[name]
        if node.kind == "kernel" or not node.aliases or node.aliases[0] not in nodes:
            return name
        name = node.aliases[0]
    return name


def homes(graph: Graph) -> dict[str, str]:
    """Node → the input whose memory it writes in place, through all that wrote there before; else the node itself."""
    found: dict[str, str] = {}
    for node in graph.nodes:
        into = node.mutates or node.aliases or ()
        found[node.name] = found.get(into[0], into[0]) if into and into[0] != node.name else node.name
    inputs = {node.name for node in graph.nodes if node.kind == "input"}
    return {name: home if home in inputs else name for name, home in found.items()}


def part(size: int | None, views: Sequence[Node]) -> int | None:
    """The bytes of a tensor that a reader of these views of it reads."""
    sizes = [flops.tensor_bytes(view.outputs[:1]) for view in views]
    if size is None or None in sizes:
        return size
    return min(size, sum(item or 0 for item in sizes))


def flow(
    graph: Graph, a: Node, b: Node, size: int | None, read: int | None, *, once: bool, stays: bool = False
) -> Decision:
    """The decision for a writer and a reader of its result, which `stays` where it is memory that was there before."""
    # An op that calls others may read it several times.
    note = ("passes_alone" if b.nature == "composite" else "passes_once") if once else "passes_shared"
    if once and stays:
        note, once = "passes_in_place", False
    in_part = read is not None and size is not None and read < size
    found = neighbours(graph, a, a, b, {"size": size, "read": read}, (note, "read_in_part") if in_part else (note,))
    # Nobody else reads it: fused, it need not be written either.
    saved = None if size is None or read is None else (size if once else 0) + read
    on_cpu = any((item.device or "").startswith("cpu") for item in a.outputs)
    if (no := refusal(a.target, b.target)) is not None:
        arguments = {**found.reason_arguments, **no[1]}
        return replace(found, reason_code=no[0], reason_arguments=arguments, saved_bytes=saved)
    return replace(found, hint_code=hint(a, b, on_cpu=on_cpu), saved_bytes=saved)


def neighbours(
    graph: Graph, source: Node, a: Node, b: Node, arguments: dict[str, Any], notes: tuple[str, ...]
) -> Decision:
    return Decision(
        graph=graph.id,
        a=(a.name,),
        b=(b.name,),
        verdict="never_considered",
        reason_code="eager",
        reason_arguments=arguments,
        notes=notes,
        shared_buffers=(source.name,),
        saved_launches=1,
        evidence="external_id",
    )


def siblings(graph: Graph, source: Node, a: Node, b: Node, size: int | None, *, meet: bool) -> Decision:
    """The decision for two readers of one tensor."""
    notes = ("both_read" if meet else "both_read_parts",)
    found = neighbours(graph, source, a, b, {"source": source.name, "size": size}, notes)
    products = [is_gemm(node.target) for node in (a, b)]
    advice = "compile" if joined(a.target, b.target) and not any(products) else None
    if all(products):
        nodes = {node.name: node for node in graph.nodes}
        advice = "concatenate_weights" if share_the_activation([a], [b], nodes) else None
    return replace(found, hint_code=advice, saved_bytes=size)


def hint(a: Node | Op, b: Node | Op, *, on_cpu: bool) -> str | None:
    """Say what would join a writer and its reader, as far as rules decide it; `None` where they do not."""
    first, second = (item.target if isinstance(item, Node) else item.name for item in (a, b))
    if any(is_gemm(name) or is_convolution(name) for name in (first, second)):
        # A template takes pointwise work after it; what it takes before it depends on dtypes and sizes.
        # On a CPU a GEMM has a template only where its weight is frozen (Inductor's `use_cpp_gemm_template`).
        takes = (
            not on_cpu and (is_gemm(first) or is_convolution(first)) and keeps_shape(second) and not reductions(second)
        )
        return "compile_template" if takes else None
    return "compile" if joined(first, second) else None


def refusal(first: str, second: str) -> tuple[str, dict[str, Any]] | None:
    """Say why no compile joins a writer and its reader; `None` where one may.

    An op is opaque to a compile if a library runs it, or the program's own code. A GEMM's template takes pointwise ops.
    """
    own = [
        not is_generated(name) and ("::" in op_name(name) or is_collective(name) or name == "record_param_comms")
        for name in (first, second)
    ]
    opaque = [mine or is_library(name) for mine, name in zip(own, (first, second), strict=True)]
    if all(opaque):
        return "both_extern", {"kernels": (op_name(first), op_name(second))}
    for name, mine, reads in ((first, own[0], False), (second, own[1], True)):
        if mine:
            return "fallback", {"kernel": op_name(name)}
        if is_attention(name):
            return "extern_attention", {"kernel": op_name(name)}
        if is_convolution(name) and reads:
            return "extern_convolution", {"kernel": op_name(name)}
    if opaque[0] and reductions(second):
        return "epilogue_not_pointwise", {}
    return ("prologue_not_pointwise", {}) if opaque[1] and reductions(first) else None


def joined(first: str, second: str) -> bool:
    """Return whether torch.compile makes one loop nest of two ops: at most one of them reduces, and the other is pointwise."""
    reduce = [bool(reductions(name)) for name in (first, second)]
    pointwise = [keeps_shape(name) and not reductions(name) for name in (first, second)]
    return all(r or p for r, p in zip(reduce, pointwise, strict=True)) and not all(reduce)


def of_trace(recording: Recording) -> list[Decision]:
    """Pair the launches of the first step by order and shape.

    It is taken that a result is read once, by one of the next ops with an input of its size and dtype. Where as many
    inputs of a size follow as results of it wait, each waiting result is read there; where fewer follow, it is only
    known that one of the waiting results is. Where the program brings tensors of that size of its own, only ops that
    follow each other are paired.
    """
    first = index_of(recording).typical_step
    rows = [position for position, step in enumerate(column(recording.launches, "step")) if step == first]
    mine = picked(recording.launches, rows, ("op_id", "stream", "chain", "call"))
    wanted = {launch.op_id for launch in mine}
    rows = [position for position, op_id in enumerate(column(recording.ops, "id")) if op_id in wanted]
    ops = {op.id: op for op in picked(recording.ops, rows, ("shapes", "dtypes", "node"))}
    graph = next((graph.id for graph in recording.graphs if graph.stage == "eager"), "eager")
    waiting: dict[tuple[int | None, str | None], list[Waiting]] = {}
    from_outside: set[tuple[int | None, str | None]] = set()
    before: set[str] = set()
    previous: Op | None = None
    streams: dict[int, int | None] = {}
    phase: dict[int, str | None] = {}
    regions: dict[int, str | None] = {}  # op → the compiled code around it
    copies: set[int] = set()
    found: list[Decision] = []
    for launch in sorted(mine, key=lambda item: item.start_ns):
        op = ops.get(launch.op_id) if launch.op_id is not None else None
        if op is not None and launch.category == "gpu_memcpy" and op_name(op.name) == "copy_" and (to := tensors(op)):
            # No kernel, and yet what follows may read its result, not the one that was waiting; what it read is not told.
            key = flops.numbers(*to[0].shape), to[0].dtype
            waiting.setdefault(key, []).append(Waiting((op,), 1, to[0]))
            from_outside.add(key)
            copies.add(op.id)
            previous = op
        if launch.category not in KERNELS or op is None or op.id in streams:
            continue
        streams[op.id] = launch.stream
        phase[op.id] = phase_of(launch.chain)
        regions[op.id] = next((name for name in launch.chain if name.startswith(_COMPILED)), None)
        if regions[op.id] is None and launch.call is not None:
            regions[op.id] = "compiled"
        given, signature = tensors(op), f"{op.name} {op.shapes} {op.dtypes}"
        for key, count in Counter((flops.numbers(*item.shape), item.dtype) for item in given).items():
            results = waiting.pop(key, [])
            left = sum(item.num_unread for item in results) - count
            sources = [item for item in results if streams.get(item.ops[0].id) == launch.stream]
            if left < 0:
                from_outside.add(key)
            if key in from_outside:
                # The program's own tensor may be what is read, and surely is where the same op read it before (the
                # projections of an attention); else what was written just now is the likelier.
                sources = [] if signature in before else [item for item in results if item.ops == (previous,)]
                sources = [item for item in sources if item.ops[0].id not in copies]
                left = 0
            if left > 0:
                every = tuple(source for item in results for source in item.ops)
                waiting[key] = [Waiting(every, left, results[0].result)]
                sources = [Waiting(every, 1, results[0].result)] if sources else []
            found += [
                passed(graph, item, op, regions, on_cpu=launch.category == "cpu_kernel")
                for item in sources
                # Between two ops of compiled code the compile's own files say more.
                if not recording.calls or None in {regions[end.id] for end in (*item.ops, op)}
                if {phase.get(end.id) for end in item.ops} == {phase[op.id]}
            ]
        result = result_of(op, given)
        previous = op
        before.add(signature)
        if result is not None:
            waiting.setdefault((flops.numbers(*result.shape), result.dtype), []).append(Waiting((op,), 1, result))
    return found


class Waiting(NamedTuple):
    """Results that no op has read yet: so many of these ops' results."""

    ops: tuple[Op, ...]
    num_unread: int
    result: TensorMeta


def passed(graph: str, source: Waiting, op: Op, regions: Mapping[int, str | None], *, on_cpu: bool) -> Decision:
    """The decision for a waiting result and the op that reads it.

    In compiled code it is the scheduler that decided, and a trace does not hold why: no verdict.
    """
    size = flops.tensor_bytes([source.result])
    note = "by_shape" if len(source.ops) == source.num_unread else "by_shape_one_of"
    around = {regions[item.id] for item in (*source.ops, op)}
    arguments: dict[str, Any] = {"size": size}
    reason, advice = "eager", hint(source.ops[0], op, on_cpu=on_cpu)
    if (no := refusal(source.ops[0].name, op.name)) is not None and (around == {None} or no[0] == "both_extern"):
        reason, advice, arguments = no[0], None, {**arguments, **no[1]}
    elif len(around) > 1:
        reason, advice = "other_region", None
    elif around != {None}:
        reason, advice = "compiled_trace", "record_compile_log"
    return Decision(
        graph=graph,
        a=tuple(item.node or item.name for item in source.ops),
        b=(op.node or op.name,),
        verdict=None if reason == "compiled_trace" else "never_considered",
        reason_code=reason,
        reason_arguments=arguments,
        notes=(note,),
        hint_code=advice,
        saved_bytes=None if size is None else 2 * size,
        saved_launches=1,
        evidence="order",
    )


def result_of(op: Op, given: list[TensorMeta]) -> TensorMeta | None:
    """The shape and dtype of an op's result, where its inputs (`tensors`) tell."""
    if not given:
        return None
    if matrices := GEMMS.get(op_name(op.name)):
        shapes: list[Any] = [*(op.shapes or ()), (), ()]
        left, right = shapes[matrices[0]], shapes[matrices[1]]
        return TensorMeta(shape=(*left[:-1], right[-1]), dtype=given[0].dtype) if len(left) > 1 < len(right) else None
    if keeps_shape(op.name):
        return max(given, key=lambda item: (len(item.shape), flops.numbers(*item.shape) or 0))
    return None


def tensors(op: Op) -> list[TensorMeta]:
    """An op's tensor inputs; the profiler writes scalars, whose dtype is "Scalar", and lists between them."""
    pairs = zip(op.shapes or (), op.dtypes or (), strict=False)
    return [TensorMeta(shape=tuple(shape), dtype=dtype) for shape, dtype in pairs if dtype in ITEM_BYTES]
