"""Decisions about pairs of ops that changed: each is held against the one about the same place of the program."""

import json
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from fxscope.analysis import select
from fxscope.analysis.compare.assign import same_graphs
from fxscope.analysis.findings import DecisionChange
from fxscope.english import reason_text, without_names
from fxscope.index import Index, grouped, index_of
from fxscope.model import Decision, Recording
from fxscope.op_names import op_of

TRAITS = ("nodes", "modules", "lines")  # what a place is called, the most exact first
Ends = tuple[frozenset[str], ...]  # of the writer and of the reader
Alike = tuple["Placed", "Placed", tuple[str, ...]]  # a decision of A, that of B, and where they are


class Placed(NamedTuple):
    item: Decision
    ops: tuple[str, ...]  # of the writer and of the reader, with their direction
    nodes: Ends  # empty unless both recordings have these graphs
    modules: Ends
    lines: Ends
    said: Hashable  # verdict and reason as data, without names that another compile gives otherwise


def decision_changes(a: Recording, b: Recording) -> tuple[DecisionChange, ...]:
    """The pairs of ops whose verdict or reason differs; pairs that one side never met, or cannot tell, are left out."""
    graphs = same_graphs(a, b)
    found: dict[Hashable, list[Alike]] = defaultdict(list)
    for x, y, where in pairs(placed(a, graphs), placed(b, graphs)):
        if None in (x.item.verdict, y.item.verdict) or x.said == y.said:
            continue
        if x.item.verdict == y.item.verdict == "fused" and None in (x.item.how, y.item.how):
            continue  # files of less detail, not another decision
        found[x.ops, x.said, y.said].append((x, y, where))
    return tuple(map(change_of, found.values()))


def change_of(alike: Sequence[Alike]) -> DecisionChange:
    ours, theirs, places = zip(*alike, strict=True)
    return DecisionChange(
        pair=ours[0].ops,
        a_verdict=ours[0].item.verdict,
        b_verdict=theirs[0].item.verdict,
        a_reason=_reason_of(ours),
        b_reason=_reason_of(theirs),
        where=tuple(dict.fromkeys(chain(*places))),
        count=len(alike),
    )


def _reason_of(decisions: Sequence[Placed]) -> str:
    item = decisions[0].item
    if len({placed.item.reason for placed in decisions}) == 1:
        return item.reason
    arguments = without_names(item.reason_code, item.reason_arguments)
    return reason_text(item.reason_code, arguments, item.notes, item.config)


def pairs(a: Sequence[Placed], b: Sequence[Placed]) -> Iterator[Alike]:
    """Decisions about the same ops and place, and what the place is called.

    The place is the first trait that all decisions about these ops know. Where one of several could be meant, there is
    none, unless all say the same.
    """
    theirs = grouped(b, lambda item: item.ops)
    for ops, ours in grouped(a, lambda item: item.ops).items():
        sides = ours, theirs.get(ops, [])
        trait = next((name for name in TRAITS if all(any(getattr(x, name)) for side in sides for x in side)), "ops")
        place_of = attrgetter(trait, "item.graph", "item.other_graph") if trait == "nodes" else attrgetter(trait)
        by_place = [grouped(side, place_of) for side in sides]
        for place, xs in by_place[0].items():
            ys = by_place[1].get(place, [])
            if len(xs) == len(ys) and all(len({item.said for item in side}) == 1 for side in (xs, ys)):
                ends = next(filter(any, (xs[0].modules, xs[0].lines, xs[0].nodes)), ()) if trait == "nodes" else place
                names = filter(None, (" and ".join(sorted(end)) for end in ends if trait != "ops"))
                where = " + ".join(dict.fromkeys(names))
                yield from ((x, y, (where,) if where else ()) for x, y in zip(xs, ys, strict=True))


def placed(recording: Recording, same: set[str]) -> list[Placed]:
    """The decisions of a recording with their places; `same`: the ids of the graphs that the other recording has too."""
    index = index_of(recording)
    found: list[Placed] = []
    for item in recording.decisions:
        if item.graph in index.graphs and index.graphs[item.graph].stage == "eager":
            continue  # eager mode decides nothing
        ops, nodes, modules, lines = zip(*(_end_of(index, end.graph, end.nodes) for end in item.ends), strict=True)
        known = same.issuperset(end.graph for end in item.ends)
        arguments = without_names(item.reason_code, item.reason_arguments)
        said = item.verdict, item.reason_code, json.dumps(arguments, sort_keys=True), item.notes, item.config
        found.append(Placed(item, ops, nodes if known else (), modules, lines, said))
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
