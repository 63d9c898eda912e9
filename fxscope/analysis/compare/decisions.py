"""Decisions about pairs of ops that changed: each is held against the one about the same place of the program."""

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from fxscope.analysis import select
from fxscope.analysis.compare.assign import same_graphs
from fxscope.analysis.findings import DecisionChange
from fxscope.english import reason_text, without_names
from fxscope.index import Index, grouped, index_of
from fxscope.model import Decision, Recording
from fxscope.op_names import op_of

Ends = tuple[frozenset[str], frozenset[str]]  # of the writer and of the reader


class Placed(NamedTuple):
    """A decision, and its place in the program."""

    item: Decision
    ops: tuple[str, str]  # of the writer and of the reader, with their direction
    nodes: Ends  # and the graphs; empty unless both recordings have these graphs
    modules: Ends
    lines: Ends
    said: Hashable  # verdict and reason as data, without names that another compile gives otherwise


def decision_changes(a: Recording, b: Recording) -> tuple[DecisionChange, ...]:
    """The pairs of ops whose verdict or reason differs; pairs that one side never met, or cannot tell, are left out."""
    graphs = same_graphs(a, b)
    found: dict[Hashable, list[tuple[Placed, Placed, tuple[str, ...]]]] = defaultdict(list)
    for x, y, where in pairs(placed(a, graphs), placed(b, graphs)):
        if None in (x.item.verdict, y.item.verdict) or x.said == y.said:
            continue
        if x.item.verdict == y.item.verdict == "fused" and None in (x.item.how, y.item.how):
            continue  # files of less detail, not another decision
        found[x.ops, x.said, y.said].append((x, y, where))
    return tuple(map(change_of, found.values()))


def change_of(alike: Sequence[tuple[Placed, Placed, tuple[str, ...]]]) -> DecisionChange:
    x, y, _ = alike[0]
    return DecisionChange(
        pair=x.ops,
        a_verdict=x.item.verdict,
        b_verdict=y.item.verdict,
        a_reason=_reason_of([x.item for x, *_ in alike]),
        b_reason=_reason_of([y.item for _, y, _ in alike]),
        where=tuple(dict.fromkeys(name for *_, where in alike for name in where)),
        count=len(alike),
    )


def _reason_of(decisions: Sequence[Decision]) -> str:
    """The reason of decisions that differ at most in names."""
    item = decisions[0]
    if len({item.reason for item in decisions}) == 1:
        return item.reason
    return reason_text(
        item.reason_code, without_names(item.reason_code, item.reason_arguments), item.notes, item.config
    )


def pairs(a: Sequence[Placed], b: Sequence[Placed]) -> Iterator[tuple[Placed, Placed, tuple[str, ...]]]:
    """Decisions about the same ops and place, and what the place is called.

    The place is the nodes, modules or lines: the first of them that all decisions about these ops know. Where one of several
    could be meant, there is none, unless all say the same.
    """
    theirs = grouped(b, lambda item: item.ops)
    for ops, xs in grouped(a, lambda item: item.ops).items():
        both = [xs, theirs.get(ops, [])]
        trait = next((t for t in TRAITS if all(any(getattr(item, t)) for side in both for item in side)), "ops")
        place_of = attrgetter(trait) if trait != "nodes" else attrgetter("nodes", "item.graph", "item.other_graph")
        sides = [grouped(side, place_of) for side in both]
        for place, mine in sides[0].items():
            other = sides[1].get(place, [])
            if len(mine) != len(other) or any(len({item.said for item in side}) > 1 for side in (mine, other)):
                continue
            first = mine[0]
            where = place if trait != "nodes" else next(filter(any, (first.modules, first.lines, first.nodes)))
            yield from ((x, y, _called(where) if trait != "ops" else ()) for x, y in zip(mine, other, strict=True))


TRAITS = ("nodes", "modules", "lines")


def _called(ends: Iterable[Iterable[str]]) -> tuple[str, ...]:
    names = [" and ".join(sorted(end)) for end in ends]
    return (" + ".join(dict.fromkeys(filter(None, names))),) if any(names) else ()


def placed(recording: Recording, same: set[str]) -> list[Placed]:
    """The decisions of a recording with their places; `same`: the ids of the graphs that the other recording has too."""
    index = index_of(recording)
    found: list[Placed] = []
    for item in recording.decisions:
        if item.graph in index.graphs and index.graphs[item.graph].stage == "eager":
            continue  # eager mode decides nothing
        ends = [_end_of(index, end.graph, end.nodes) for end in item.ends]
        ops, nodes, modules, lines = zip(*ends, strict=True)
        if not same.issuperset(end.graph for end in item.ends):
            nodes = (frozenset[str](), frozenset[str]())
        arguments = without_names(item.reason_code, item.reason_arguments)
        said = item.verdict, item.reason_code, json.dumps(arguments, sort_keys=True), item.notes, item.config
        found.append(Placed(item, ops, nodes, modules, lines, said))
    return found


def _end_of(
    index: Index, graph: str, names: tuple[str, ...]
) -> tuple[str, frozenset[str], frozenset[str], frozenset[str]]:
    """Return (ops, nodes, modules, lines) of one side of a decision; views do not determine its place."""
    nodes = index.nodes.get(graph, {})
    inside = [node for name in names if (node := nodes.get(name)) is not None and node.nature != "view"]
    sources = [node.source for node in inside if node.source is not None]
    ops = "·".join(dict.fromkeys(map(op_of, inside))) or "·".join(names[:2])
    return (
        ops + (" (backward)" if select.ran_backward(index.graphs.get(graph), ()) else ""),
        frozenset(node.name for node in inside) or frozenset(names),
        frozenset(source.module for source in sources if source.module),
        frozenset(line for source in sources if (line := select.place(source))),
    )
