"""Decides what became of every node, by what ran and by storage identity; the op's name is only the expectation."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from fxscope.columns import column, distinct, marked, rows_of, with_columns
from fxscope.index import by_each, index_of, reachable
from fxscope.model import Graph, KernelCall, Kind, Nature, Node, Problem, Recording, Rewrite, replace
from fxscope.op_names import CASTS, CONSTANTS, MAY_COPY, MOVES, expected_nature, is_dispatched, op_name, out_of_place
from fxscope.passes.slices import is_number, written_by
from fxscope.text import kernel_name

RETURNS = "what the graph returns: it launches nothing"


def classify(recording: Recording) -> Recording:
    """Recording → Recording whose nodes all have expected, nature, kind and reason; disagreements are problems."""
    problems: list[Problem] = []
    done: dict[str, Graph] = {}
    for graph in recording.graphs:
        if graph.stage == "eager":
            done[graph.id] = eager(graph, recording, problems)
        elif graph.stage == "post_grad":
            done[graph.id] = compiled(graph, index_of(recording).calls_of_graph.get(graph.id, []))
    for graph in reversed(recording.graphs):  # what a node became may be taken away by a later graph's passes
        if graph.id not in done:
            done[graph.id] = earlier(graph, recording, done)
    known = set(recording.problems)
    fresh = tuple(problem for problem in problems if problem not in known)
    return replace(
        recording, graphs=tuple(done[graph.id] for graph in recording.graphs), problems=(*recording.problems, *fresh)
    )


# ---------------------------------------------------------------------- compiled graphs


def compiled(graph: Graph, calls: list[KernelCall]) -> Graph:
    homes = by_each(calls, lambda call: call.nodes)
    folded = by_each(calls, lambda call: call.folded)
    used = used_in(graph)
    by_name = {node.name: node for node in graph.nodes}
    nodes = tuple(_compiled_node(node, homes, folded, used, by_name, bool(homes)) for node in graph.nodes)
    if calls and all(call.nodes_evidence == "lowering" for call in calls if call.is_generated):
        nodes = tuple(_without_code(node) if node.kind == "unknown" else node for node in nodes)
    return replace(graph, nodes=nodes)


def _without_code(node: Node) -> Node:
    """Classify a node that ran in no call, where it is known of each call what ran in it."""
    if out_of_place(op_name(node.target)) not in MOVES:
        return replace(node, kind="eliminated", reason="no kernel computes it: nothing that ran uses its result")
    if len(node.inputs) == 1 and op_name(node.target) == "copy_":
        return replace(node, kind="eliminated", reason="copies a tensor to itself")
    return replace(node, kind="folded", reason="moves nothing: what uses its result uses its operand")


def _compiled_node(
    node: Node,
    homes: Mapping[str, list[KernelCall]],
    folded: Mapping[str, list[KernelCall]],
    used: set[str],
    by_name: Mapping[str, Node],
    known: bool,
) -> Node:
    if (edge := _edge(node)) is not None:
        return edge
    expected = _expected(node)
    nature = nature_of(node, by_name, expected)
    calls = homes.get(node.name, [])
    is_joined = op_name(node.target) in ("cat", "stack") and node.inputs
    if calls:
        kind, reason = _in_calls(node, calls, nature, by_name)
    elif node.name in folded:
        call = folded[node.name][0]
        stride = node.outputs[0].stride if node.outputs else None
        what = "an argument" if stride is None else f"strides ({', '.join(map(str, stride))})"
        kind, reason = "folded", f"became {what} of {call.handle}"
    elif node.target.startswith("higher_order.") and (
        subgraphs := [name for name in node.inputs if name in by_name and by_name[name].op == "get_attr"]
    ):
        kind, nature, reason = "kernel", "composite", f"runs {', '.join(subgraphs)}: their calls are its own"
    elif nature == "view":
        kind, reason = "view", "new metadata over the same storage: no call ran it"
    elif nature == "host":
        kind, reason = "host", "computed on the CPU when the wrapper runs"
    elif node.name not in used and not written_by(node):
        kind, reason = "eliminated", "nothing uses its result, and no call ran it"
    elif op_name(node.target) in CONSTANTS:
        kind, reason = "folded", "its value is known at compile time: a constant in the kernels that use it"
    elif known and expected != "kernel" and node.aliases is None:
        kind, reason = "view", "no call ran it, so it launched nothing"
    elif is_joined and all(_reaches(n, homes, by_name) for n in node.inputs):
        kind, reason = "folded", "the kernels of its inputs write straight into its result"
    else:
        kind, reason = "unknown", "no call names it" if known else "the files do not say which node ran in which call"
    return replace(node, kind=kind, reason=reason, nature=nature, expected=expected)


def used_in(graph: Graph, changes: Iterable[Rewrite] = (), *, values: bool = False) -> set[str]:
    """The nodes that are returned or, also after changes, taken by those or by writes; `values`: not to be differentiated."""
    told = [item for item in changes if len(item.added) == len(item.added_inputs)]
    removed = {name for item in told for name in item.removed}
    used = {*graph.outputs, *(name for item in told for taken in item.added_inputs for name in taken)}
    derived: set[str] = set()
    for node in reversed(graph.nodes):
        if node.name in removed:
            continue
        if node.name not in used and node.name in derived:
            derived.update(node.inputs)
        elif node.name in used or not node.target.startswith(_PURE) or written_by(node):
            first = _FIRST.match(node.arguments or "") if values and op_name(node.target) == "_autograd_grad" else None
            derived.update(outputs := first[1].split(", ") if first else ())
            used.update({*node.inputs}.difference(outputs))
    return used


def _expected(node: Node) -> Nature:
    return node.expected or ("host" if is_number(node) else expected_nature(node.target))


def _edge(node: Node) -> Node | None:
    if node.op in ("placeholder", "get_attr"):
        what = "graph input" if node.op == "placeholder" else "attribute of the module"
        return replace(node, kind="input", nature=None, expected=None, reason=what)
    if node.op == "output":
        return replace(node, kind="view", nature="view", expected=_expected(node), reason=RETURNS)
    return None


def _reaches(name: str, homes: Mapping[str, list[KernelCall]], by_name: Mapping[str, Node]) -> bool:
    """Return whether a node, or the one it is a view or a part of, ran in a call."""
    for _ in range(8):
        if name in homes:
            return True
        node = by_name.get(name)
        if node is None or len(node.inputs) != 1:
            return False
        name = node.inputs[0]
    return False


def _in_calls(node: Node, calls: list[KernelCall], nature: Nature, by_name: Mapping[str, Node]) -> tuple[Kind, str]:
    first = calls[0]
    again = f"; recomputed in {', '.join(call.handle for call in calls[1:])}" if len(calls) > 1 else ""
    if not first.is_generated:
        if nature == "view":
            return "view", f"an argument of {first.handle}{again}"
        return "kernel", f"is {first.handle}{again}"
    if any(name != node.name and name in by_name for name in first.nodes):
        return "fused", f"runs inside {first.handle}{again}"
    return "kernel", f"runs alone in {first.handle}{again}"


def nature_of(node: Node, by_name: Mapping[str, Node], expected: Nature) -> Nature:
    """Return what an op is: storage identity where it was recorded, else layout, else what the name lets one expect."""
    if node.aliases is not None and expected in ("view", "unknown"):
        # Storage identity was compared: an output that shares its input's storage moved nothing.
        return "view" if node.aliases else "kernel"
    if expected != "unknown":
        return expected
    if op_name(node.target) == "getitem":
        return "view"
    return "view" if op_name(node.target) in MAY_COPY and _same_memory(node, by_name) else expected


def _same_memory(node: Node, by_name: Mapping[str, Node]) -> bool:
    """Return whether a may-copy op need not copy: same number of elements and dtype, and dense in the same order."""
    source = by_name.get(node.inputs[0]) if node.inputs else None
    if source is None or not source.outputs or not node.outputs:
        return False
    before, after = source.outputs[0], node.outputs[0]
    if (before.device, before.dtype) != (after.device, after.dtype):
        return False
    if before.stride is None or after.stride is None:
        # Printed graphs may leave strides out; Inductor only keeps `reshape` where a view is possible or copies by a call.
        return op_name(node.target) in ("reshape", "flatten", "ravel", "reshape_as")
    is_alone = not any(by_name[name].outputs for name in node.inputs[1:] if name in by_name)  # others are sizes
    return is_alone and _dense(before.shape, before.stride) and _dense(after.shape, after.stride)


def _dense(shape: tuple[int | str, ...], stride: tuple[int | str, ...]) -> bool:
    """Return whether a tensor is contiguous; symbolic sizes are taken as consistent with their strides' order."""
    expected: int | None = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=False):
        if size == 1:
            continue
        if step != expected and (expected is not None or isinstance(step, int)):
            return False
        expected = expected * size if isinstance(size, int) and expected is not None else None
    return True


# ---------------------------------------------------------------------- the graphs before


def earlier(graph: Graph, recording: Recording, done: Mapping[str, Graph]) -> Graph:
    """Classify a pre-grad, joint, forward or backward graph by what its nodes were lowered to."""
    later = {(graph_id, node.name): node for graph_id, item in done.items() for node in item.nodes}
    targets: dict[str, list[Node]] = {}
    between: dict[str, list[Node]] = {}  # the same in graphs before the lowered ones
    for link in recording.links:
        if link.relation == "lowered_to" and link.from_[0] == graph.id and link.to in later:
            into = targets if done[link.to[0]].stage == "post_grad" else between
            into.setdefault(link.from_[1], []).append(later[link.to])
    replaced = Replaced(graph, recording, done.values(), between)
    used, same = used_in(graph, replaced.changes), same_values(graph)
    nodes = tuple(_edge(node) or _earlier_node(node, targets, same, used, replaced) for node in graph.nodes)
    return replace(graph, nodes=nodes)


def same_values(graph: Graph) -> dict[str, str]:
    """Node → the first node that computes the same, which AOTAutograd keeps (`fx_graph_cse`); no draws or writes in place."""
    first: dict[str, str] = {}
    known: dict[tuple[object, ...], str] = {}
    for node in graph.nodes:
        name = op_name(node.target)
        if written_by(node) or out_of_place(name) != name:
            known.clear()
        elif node.op.startswith("call_") and not _DRAWS.search(name):
            inputs = tuple(first.get(item, item) for item in node.inputs)
            words = re.sub(r"\w+", lambda found: first.get(found[0], found[0]), node.arguments or "")
            is_alias = name in ("alias", "detach") and len(inputs) == 1
            earlier_one = inputs[0] if is_alias else known.setdefault((node.op, name, inputs, words), node.name)
            if earlier_one != node.name:
                first[node.name] = earlier_one
    return first


_PURE = ("aten.", "torch._functorch.", "operator.getitem")
_FIRST = re.compile(r"[(\[]([^)\]]*)")  # argument, which is a list
_DRAWS = re.compile(r"rand|dropout|bernoulli|normal|multinomial|attention|rnn|lstm|gru|::")


_STRONGEST: tuple[Kind, ...] = ("kernel", "fused", "host", "folded", "view", "unknown", "eliminated", "input")


class Replaced:
    """Return what passes took away from a graph, and the nodes of the lowered graphs that stand in its place."""

    def __init__(
        self, graph: Graph, recording: Recording, done: Iterable[Graph], between: Mapping[str, list[Node]]
    ) -> None:
        self.between, self.nodes = between, {node.name: node for node in graph.nodes}
        self.changes = [item for item in recording.rewrites if item.graph == graph.id]
        self.values_used = used_in(graph, self.changes, values=True)
        self.by = {name: item for item in reversed(self.changes) for name in item.removed}
        others = [item for item in recording.rewrites if item.graph.startswith(f"{graph.compile_id}:")]
        self.removed = {name for item in others if item.graph != graph.id for name in item.removed}
        lowered = [item for item in done if item.stage == "post_grad" and item.compile_id == graph.compile_id]
        self.later = {node.name: node for item in lowered for node in item.nodes}

    def into(self, name: str) -> list[Node]:
        seen = reachable([name], lambda here: self.by[here].added if here in self.by else ())
        return [node for here, node in self.later.items() if here in seen]

    def words(self, name: str) -> str:
        found = self.by[name]
        return f"pattern {found.pattern}" if found.pattern else f"pass {found.by}"


def _earlier_node(
    node: Node, lowered: Mapping[str, list[Node]], same: Mapping[str, str], used: set[str], replaced: Replaced
) -> Node:
    expected = _expected(node)
    is_named = node.target.startswith("higher_order.") or op_name(node.target) == "getitem"
    if not (lowered or replaced.between or is_named):
        return replace(
            node, kind="unknown", nature=expected, expected=expected, reason="nothing ties it to later graphs"
        )
    targets = lowered.get(node.name, [])
    working = [target for target in targets if target.kind != "input"]
    word = "became"
    is_replaced = node.name in replaced.by and expected not in ("view", "host")
    if is_replaced and all(target.kind == "view" for target in working):  # an item of what stands in its place
        working, word = replaced.into(node.name), f"{replaced.words(node.name)} replaced it by"
    twin = same.get(node.name, "") if node.name in used and expected not in ("view", "host") else ""
    once = f"is computed once, as {twin}, which became"
    if not working and twin in lowered:
        targets = working = [target for target in lowered[twin] if target.kind != "input"]
        word = once
    if not working or (expected not in ("view", "host") and all(target.kind == "view" for target in working)):
        found = replaced.between.get(node.name) or replaced.between.get(twin, ())
        if ran := [item for item in found if item.kind in ("kernel", "fused")]:
            word = word if node.name in replaced.between else once
            targets = working = ran
    if working:
        kind = min((target.kind for target in working), key=_STRONGEST.index)
        named = list(dict.fromkeys(target.name for target in working))  # a forward and a backward have equal names
        names = ", ".join(named[:6]) + (", …" if len(named) > 6 else "")
        homes = list(dict.fromkeys(call for target in working for call in target.calls))
        nature: Nature = expected if len(working) == 1 or not targets else "composite"
        if targets and {target.nature for target in working} == {"view"}:
            nature = "view"
        return replace(node, kind=kind, nature=nature, expected=expected, reason=f"{word} {names}", calls=tuple(homes))
    kind, reason = _without_target(node, expected, used, replaced)
    return replace(node, kind=kind, nature=expected, expected=expected, reason=reason)


def _without_target(node: Node, expected: Nature, used: set[str], replaced: Replaced) -> tuple[Kind, str]:
    """Return what is certain of a node that no later one is tied to: passes make nodes that do not say what they replace."""
    if node.name not in used and not written_by(node):
        return "eliminated", "nothing uses its result"
    if node.name in replaced.by and node.target.startswith(("aten.", "prims.")):
        what = "replaced" if replaced.by[node.name].added else "removed"  # by what is in no lowered graph
        kind = expected if expected in ("view", "host") else "eliminated"
        return kind, f"{replaced.words(node.name)} {what} it"
    for item in replaced.between.get(node.name, ()):
        if item.kind == "eliminated" or (item.name in replaced.removed and item.kind not in (None, "unknown")):
            return item.kind, f"became {item.name}: {item.reason}"
    if expected in ("view", "host"):
        return expected, "no later node came from it"
    if node.name not in replaced.values_used and not written_by(node):
        return "eliminated", "its value is not used, only its derivative"
    if op_name(node.target) == "getitem":
        return "view", "takes an item of a result"
    operands = [replaced.nodes[name].outputs for name in node.inputs]
    if op_name(node.target) in MAY_COPY | CASTS and node.outputs and operands == [node.outputs]:
        return "view", "its operand has that layout and dtype already"
    if node.target.startswith("higher_order."):
        return "host", "its ops are those of the later graphs"
    return "unknown", "no later node is known to come from it: a pass replaced it, or that part was not compiled"


# ---------------------------------------------------------------------- eager chains


def eager(graph: Graph, recording: Recording, problems: list[Problem]) -> Graph:
    """Classify an eager chain: what launched work is a kernel; storage identity tells a view from a host op."""
    launched = index_of(recording).runs_of_node.get(graph.id, {})
    names, parents = column(graph.nodes, "name"), column(graph.nodes, "parent")
    above: set[str | None] = set()  # ops that call, at any depth, one that launched work
    for name, parent in zip(reversed(names), reversed(parents), strict=True):  # children come after their parent
        if name in launched or name in above:
            above.add(parent)
    callers = set(parents)
    rows = marked(recording.ops, "captured", bool).nonzero()[0].tolist()
    captured = {node for of, node in rows_of(recording.ops, "graph", "node", which=rows) if of == graph.id}
    ran, on_cpu = bool(recording.launches), "cpu_kernel" in distinct(recording.launches, "category")
    parts: dict[str | None, str] = {}  # op inside one that is a kernel of the CPU → that one
    found: list[tuple[Kind, Nature | None, Nature | None, str]] = []
    fields = ("name", "parent", "op", "target", "aliases", "mutates", "expected")
    for name, parent, op, target, aliases, mutates, known in rows_of(graph.nodes, *fields):
        expected = None if op != "dispatch" else known or expected_nature(target)
        kernels = list(launched.get(name, ()))
        if expected is None:
            kind, nature, reason = "input", None, "a tensor from outside"
        elif kernels:
            shown = ", ".join(map(kernel_name, kernels[:3])) + " …" * (len(kernels) > 3)
            kind, nature, reason = "kernel", "kernel", f"launched {shown}"
            if expected == "view" or (aliases and not mutates):  # an in-place op returns what it wrote
                message = f"{target} should only be a view, but the trace shows that it launched {kernels[0]}"
                remedy = "The recording keeps both: `expected` and `nature`."
                problems.append(Problem(where=name, message=message, remedy=remedy))
        elif name in above:
            kind, nature, reason = "kernel", "composite", "the ops it calls launch work"
        else:
            idle, may_copy = expected_nature(target) == "kernel", op_name(target) in MAY_COPY
            calls = name in callers or not is_dispatched(target)  # a region's or autograd's mark
            kind, nature, reason = _without_launch(expected, aliases, calls, ran, idle, may_copy)
        if on_cpu and (whole := parts.get(parent) or (parent if parent in launched else None)):  # its time holds theirs
            parts[name] = whole
            if (kind in ("host", "kernel") or (expected == "unknown" and not aliases)) and not kernels:
                kind, reason = "host", f"a part of {whole}, which is one kernel of the CPU"
        if name in captured and kind == "host" and expected == "kernel":
            kind, reason = "kernel", "captured in a graph: its kernels run when that is replayed"
        found.append((kind, nature, expected, reason))
    columns = dict(zip(("kind", "nature", "expected", "reason"), zip(*found, strict=True), strict=False))
    return replace(graph, nodes=with_columns(graph.nodes, **columns))


@cache
def _without_launch(
    expected: Nature, aliases: tuple[str, ...] | None, calls: bool, ran: bool, idle: bool, may_copy: bool
) -> tuple[Kind, Nature, str]:
    """Classify an eager op that launched nothing, nor what it `calls`; without a profile nothing `ran`."""
    if aliases:
        return "view", "view", f"its result shares the storage of {', '.join(aliases)}"
    if expected == "view" or (expected == "unknown" and may_copy and aliases is None):
        return "view", "view", "launched nothing" if ran else "expected to be a view"
    if expected == "host":
        nothing = "computed nothing: no memory was made for a result (saved, ended early, or zeros)"
        return "host", "host", nothing if idle else "allocates or asks; launches nothing"
    if calls:
        return "host", "composite", "neither it nor an op that it calls here launched anything"
    if not ran:
        return "unknown", expected, "nothing was profiled"
    if expected == "unknown":
        return "view" if may_copy else "unknown", "unknown", "launched nothing"
    return "host", expected, "launched nothing in this run"
