"""Eager neighbours: each op launches its own kernel, so what one writes the next reads back from memory.

They are known where the dispatcher was recorded. A trace alone records shapes, not which op reads which tensor: it has
no pairs.
"""

from collections.abc import Iterator, Mapping

from fxscope.columns import column, rows_of
from fxscope.index import known_sum
from fxscope.model import Decision, Graph, Node, Recording
from fxscope.op_names import is_convolution, is_gemm, keeps_shape, phase_of, reductions
from fxscope.passes import flops
from fxscope.passes.fusion.reasons import Reason, decision


def decisions(recording: Recording) -> list[Decision]:
    """One decision for each pair of eager ops between which a tensor passes."""
    graphs = [graph for graph in recording.graphs if graph.stage == "eager" and any(column(graph.nodes, "outputs"))]
    return [item for graph in graphs for item in of_graph(graph, phases(recording, graph.id))]


def phases(recording: Recording, graph: str) -> dict[str, str | None]:
    """Node → the phase of training that its launches ran in; no compile makes one kernel of two phases."""
    rows = [position for position, name in enumerate(column(recording.launches, "graph")) if name == graph]
    launches = rows_of(recording.launches, "nodes", "chain", which=rows)
    return {name: phase_of(chain) for nodes, chain in launches for name in nodes}


def of_graph(graph: Graph, phase: Mapping[str, str | None]) -> Iterator[Decision]:
    """Pair the ops of a recorded dispatch graph, within a phase: each reader of a tensor with its writer."""
    nodes = {node.name: node for node in graph.nodes}
    home = homes(graph)
    readers: dict[str, dict[str, list[str]]] = {}  # writer → reader → as what it reads it: itself, or views of it
    for node in graph.nodes:
        if node.kind == "kernel" and node.outputs:
            for source in dict.fromkeys(node.inputs):
                if (name := writer(source, nodes)) != node.name:
                    readers.setdefault(name, {}).setdefault(node.name, []).append(source)
    for name, users in readers.items():
        source = nodes[name]
        size = flops.tensor_bytes(source.outputs[:1])
        once = len(users) == 1 and name not in graph.outputs
        for user, views in users.items():
            if source.kind == "kernel" and phase.get(name) == phase.get(user):
                passed = least(size, nodes[user].bytes_read if source.outputs[1:] else None)  # maybe another result
                read = least(passed, known_sum(flops.tensor_bytes(nodes[view].outputs[:1]) for view in views))
                stays = home[name] not in {name, *(home.get(item, item) for item in nodes[user].mutates)}
                yield flow(graph, source, nodes[user], passed, read, once=once, stays=stays)


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


def least(size: int | None, other: int | None) -> int | None:
    return size if size is None or other is None else min(size, other)


def flow(
    graph: Graph, a: Node, b: Node, size: int | None, read: int | None, *, once: bool, stays: bool = False
) -> Decision:
    """The decision for a writer and a reader of its result, which `stays` where it is memory that was there before."""
    # An op that calls others may read it several times.
    note = ("passes_alone" if b.nature == "composite" else "passes_once") if once else "passes_shared"
    if once and stays:
        note, once = "passes_in_place", False
    in_part = read is not None and size is not None and read < size
    # Nobody else reads it: fused, it need not be written either.
    saved = None if size is None or read is None else (size if once else 0) + read
    on_cpu = any((item.device or "").startswith("cpu") for item in a.outputs)
    notes = (note, "read_in_part") if in_part else (note,)
    reason = Reason("eager", {"size": size, "read": read}, hint(a, b, on_cpu=on_cpu), notes=notes)
    return decision(
        "never_considered",
        reason,
        graph=graph.id,
        a=(a.name,),
        b=(b.name,),
        saved_bytes=saved,
        saved_launches=1,
        evidence="external_id",
    )


def hint(a: Node, b: Node, *, on_cpu: bool) -> str | None:
    """Say what would join a writer and its reader, as far as rules decide it; `None` where they do not."""
    first, second = a.target, b.target
    if any(is_gemm(name) or is_convolution(name) for name in (first, second)):
        # A template takes pointwise work after it; what it takes before it depends on dtypes and sizes.
        # On a CPU a GEMM has a template only where its weight is frozen (Inductor's `use_cpp_gemm_template`).
        takes = (
            not on_cpu and (is_gemm(first) or is_convolution(first)) and keeps_shape(second) and not reductions(second)
        )
        return "compile_template" if takes else None
    return "compile" if joined(first, second) else None


def joined(first: str, second: str) -> bool:
    """Return whether torch.compile makes one loop nest of two ops: at most one of them reduces, and the other is pointwise."""
    reduce = [bool(reductions(name)) for name in (first, second)]
    pointwise = [keeps_shape(name) and not reductions(name) for name in (first, second)]
    return all(r or p for r, p in zip(reduce, pointwise, strict=True)) and not all(reduce)
