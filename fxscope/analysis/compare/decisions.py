"""Decisions about pairs of ops that changed: each is held against the one about the same place of the program."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fxscope.analysis import select
from fxscope.analysis.compare.assign import same_graphs
from fxscope.analysis.findings import DecisionChange
from fxscope.english import reason_text, without_names
from fxscope.index import grouped, index_of
from fxscope.op_names import op_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from fxscope.model import Decision, Recording

T = TypeVar("T")
Ends = tuple[frozenset[str], frozenset[str]]  # of the writer and of the reader


class Placed(NamedTuple):
    """A decision, and what tells the place that it is about."""

    item: Decision
    ops: tuple[str, str]  # of the writer and of the reader, their direction said
    nodes: tuple[str, str, frozenset[str], frozenset[str]] | None  # and their graphs, where both recordings have these
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
    """Decisions about the same place, and what the place is called.

    The nodes tell, where both recordings hold the graph; else the ops, in the same modules or on the same lines.
    """
    kinds = [grouped(side, lambda item: (item.ops, item.nodes)) for side in (a, b)]
    for key, xs in kinds[0].items():
        ys = kinds[1].get(key, [])
        if key[1] is None:
            yield from told_apart(xs, ys, (lambda item: item.modules, lambda item: item.lines), ())
        else:
            yield from told_apart(xs, ys, (), _called(xs[0].modules) or _called(xs[0].lines) or _called(key[1][2:]))


def told_apart(
    xs: list[Placed], ys: list[Placed], by: tuple[Callable[[Placed], Ends], ...], where: tuple[str, ...]
) -> Iterator[tuple[Placed, Placed, tuple[str, ...]]]:
    """Pairs by what both sides know of a place; nothing where one of several could be meant, unless all say the same."""
    if not by:
        alike = len({item.said for item in xs}) == len({item.said for item in ys}) == 1
        yield from ((x, y, where) for x, y in zip(xs, ys, strict=True)) if len(xs) == len(ys) and alike else ()
        return
    trait, *rest = by
    if not all(any(trait(item)) for item in (*xs, *ys)):
        yield from told_apart(xs, ys, tuple(rest), where)
        return
    sides = [grouped(side, trait) for side in (xs, ys)]
    for place, mine in sides[0].items():
        theirs = sides[1].get(place, [])
        yield from told_apart(
            mine, theirs, () if len(mine) == len(theirs) == 1 else tuple(rest), where or _called(place)
        )


def _called(ends: Iterable[Iterable[str]]) -> tuple[str, ...]:
    names = [" and ".join(sorted(end)) for end in ends]
    return (" + ".join(dict.fromkeys(filter(None, names))),) if any(names) else ()


def placed(recording: Recording, same: set[str]) -> list[Placed]:
    """The decisions of a recording with their places.

    Args:
        same: the ids of the graphs that the other recording has too.
    """
    found: list[Placed] = []
    eager = {graph.id for graph in recording.graphs if graph.stage == "eager"}
    for item in recording.decisions:
        ends = item.ends
        graphs = ends[0].graph, ends[1].graph
        if graphs[0] in eager:
            continue  # eager mode decides nothing
        a, b = (end_of(recording, end.graph, end.nodes) for end in ends)
        found.append(
            Placed(
                item,
                (a.ops, b.ops),
                (*graphs, a.nodes, b.nodes) if same.issuperset(graphs) else None,
                (a.modules, b.modules),
                (a.lines, b.lines),
                _said(item),
            )
        )
    return found


def _said(item: Decision) -> Hashable:
    arguments = without_names(item.reason_code, item.reason_arguments)
    return item.verdict, item.reason_code, json.dumps(arguments, sort_keys=True), item.notes, item.config


class End(NamedTuple):
    """One side of a decision."""

    ops: str
    nodes: frozenset[str]
    modules: frozenset[str]
    lines: frozenset[str]


def end_of(recording: Recording, graph: str, names: tuple[str, ...]) -> End:
    """Return what is known of one side; views say nothing of what it is about."""
    nodes = index_of(recording).nodes.get(graph, {})
    inside = [node for name in names if (node := nodes.get(name)) is not None and node.nature != "view"]
    sources = [node.source for node in inside if node.source is not None]
    ops = "·".join(dict.fromkeys(map(op_of, inside))) or "·".join(names[:2])
    return End(
        ops + (" (backward)" if select.ran_backward(index_of(recording).graphs.get(graph), ()) else ""),
        frozenset(node.name for node in inside) or frozenset(names),
        frozenset(source.module for source in sources if source.module),
        frozenset(line for source in sources if (line := select.place(source))),
    )
