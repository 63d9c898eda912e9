"""The life of an op in the compiler's passes: which pattern replaced it by what, and where that ran."""

from collections.abc import Iterable
from difflib import get_close_matches

from fxscope.english import near_miss_text, rewrite_text
from fxscope.errors import PassError
from fxscope.index import Key, grouped, index_of, reachable
from fxscope.model import Recording, Rewrite
from fxscope.op_names import expected_nature, is_called, op_name
from fxscope.text import counted, listed


def life(recording: Recording, name: str) -> list[str]:
    """Return the patterns that replaced the nodes called `name`, with the resulting kernels; else what became of them."""
    index, starts = index_of(recording), _starts(recording, name)
    changes = followed(recording, lowered(recording, starts))
    lines: list[str] = []
    for key, same in grouped(changes, lambda item: (item.stage, item.by, item.pattern)).items():
        made = _working(op for item in same for op in item.added_ops)
        line = rewrite_text([name], made, *key)
        lines.append(f"{line}; {counted(len(same), 'time')}" if len(same) > 1 else line)
    if homes := dict.fromkeys(index.calls[call].handle for key in starts for call in index.nodes[key[0]][key[1]].calls):
        lines += [f"It runs in {listed(list(homes), 3)}."] if lines else []
    if not lines:
        named = [(graph.id, node) for graph in recording.graphs for node in graph.nodes if node.name == name]
        lines = [f"{name} ({node.target}) in {graph}: {node.kind}, {node.reason}" for graph, node in named]
    return lines


def put_there(recording: Recording, keys: Iterable[Key]) -> list[str]:
    """Say which passes put these nodes of lowered graphs there, and in the place of what."""
    names = {(graph.removesuffix(":post_grad"), name) for graph, name in keys}
    names |= {(f"{graph.partition(':')[0]}:joint", name) for graph, name in names}
    changes = [item for item in recording.rewrites if names & {(item.graph, name) for name in item.added}]
    return [
        rewrite_text(_working(item.removed_ops), _working(item.added_ops), item.stage, item.by, item.pattern)
        for item in changes
        if item.removed
    ]


def _starts(recording: Recording, name: str) -> list[Key]:
    """The nodes of the graphs before Inductor's passes that are called so, or are that op."""
    return [
        (graph.id, node.name)
        for graph in recording.graphs
        if graph.stage in ("pre_grad", "joint", "forward", "backward")
        for node in graph.nodes
        if node.op.startswith("call_") and (node.name == name or is_called(node.target, name))
    ]


def pattern_story(recording: Recording, pattern: str, name: str | None = None) -> str:
    """Say what a registered pattern did: what it replaced, or the closest candidate and the first check that failed.

    `pattern` may be the beginning of a name: torch registers variants ("_sfdp_pattern_14_half_inference"). With the `name`
    of a node or op that it should have replaced, only candidates in that node's graph count. Raises PassError: not tried.
    """
    graphs = {graph for graph, _ in _starts(recording, name)} if name else None

    def is_meant(graph: str, known: str | None) -> bool:
        exact = known is not None and (known == pattern or known.startswith(f"{pattern}_"))
        return exact and (graphs is None or graph in graphs)

    used = [item for item in recording.rewrites if is_meant(item.graph, item.pattern)]
    if used:
        same = grouped(used, lambda item: (item.stage, item.by, item.pattern, item.removed_ops, item.added_ops))
        lines: list[str] = []
        for alike in same.values():
            first, *rest = before_and_after(alike[0])
            lines += [f"×{len(alike)}: {first}" if len(alike) > 1 else first, *rest]
        return "\n".join(lines)
    missed = [item for item in recording.near_misses if is_meant(item.graph, item.pattern)]
    missed.sort(key=lambda item: item.rank, reverse=True)
    fired = [item for item in recording.rewrites if item.pattern and (graphs is None or item.graph in graphs)]
    if not missed:
        known = sorted({item.pattern for item in recording.near_misses})
        near = get_close_matches(pattern, known, n=3, cutoff=0.4) or known
        hint = f"Tried: {listed(near, 3)}." if near else "The recording has no patterns: record with `fxscope run`."
        first = listed(sorted({item.pattern or "" for item in fired}), 3)
        why = f"no such pattern, or the graph has no op that ends it{f', or {first} matched first' if first else ''}"
        raise PassError(f"{pattern} was not tried: {why}. {hint}")
    lines = [near_miss_text(x.pattern, x.node, x.matched, x.total, x.code, x.arguments) for x in missed[:3]]
    gone = {(item.graph, name): item for item in fired for name in item.removed}
    others = {place: gone[place] for x in missed[:3] if (place := (x.graph, x.node)) in gone}
    return "\n".join(lines + [before_and_after(item)[0] for item in others.values()])


def before_and_after(item: Rewrite) -> list[str]:
    """List the nodes of a graph that a pass or a pattern took away, and those that it put there."""
    lines = [rewrite_text(item.removed, item.added, item.stage, item.by, item.pattern)]
    sides = (
        ("-", item.removed, item.removed_ops, item.removed_inputs),
        ("+", item.added, item.added_ops, item.added_inputs),
    )
    for sign, names, ops, inputs in sides:
        nodes = zip(names, ops, inputs, strict=False)
        lines += [f"  {sign} {name} = {op}({', '.join(taken)})" for name, op, taken in nodes]
        lines += [f"  {sign} … {counted(more, 'more node')}"] if (more := len(names) - len(inputs)) > 0 else []
    return lines


def lowered(recording: Recording, starts: Iterable[Key]) -> dict[Key, None]:
    """The nodes, and those of later graphs that came from them."""
    later = grouped(
        (link for link in recording.links if link.relation == "lowered_to" and not link.to[0].endswith(":post_grad")),
        lambda link: link.from_,
    )
    return reachable(starts, lambda key: [link.to for link in later.get(key, ())])


def followed(recording: Recording, nodes: Iterable[Key]) -> list[Rewrite]:
    """The changes that took these nodes away, or what stood in their place then; those of views alone are left out."""
    alive, changes = set(nodes), list[Rewrite]()
    for item in recording.rewrites:
        ops = [op for name, op in zip(item.removed, item.removed_ops, strict=True) if (item.graph, name) in alive]
        if any(expected_nature(op) != "view" for op in ops):
            changes.append(item)
            alive -= {(item.graph, name) for name in item.removed}
            alive |= {(item.graph, name) for name in item.added}
    return changes


def _working(ops: Iterable[str]) -> list[str]:
    """The ops by their names, views and items left out unless there is nothing else."""
    every = list(dict.fromkeys(map(op_name, ops)))
    return [op for op in every if op != "getitem" and expected_nature(f"aten::{op}") != "view"] or every
