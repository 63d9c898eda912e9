"""Kernels that run the same nodes of the same graph: where both recordings compiled one graph, its nodes pair them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fxscope.analysis.select import Unit
    from fxscope.model import Node, Recording

Place = tuple[int, int]  # side, position
Key = tuple[str, str, int]  # graph, node, the how many-eth time in a step


def regrouped(
    recordings: tuple[Recording, Recording], a: Sequence[Unit], b: Sequence[Unit]
) -> list[tuple[list[Unit], list[Unit]]]:
    """The smallest groups of kernels that run the same nodes on both sides.

    A node that several kernels of one side compute, each for itself, ties none of them together.
    """
    import networkx as nx

    graphs = same_graphs(*recordings)
    sides = [keys(units, graphs) for units in (a, b)]
    once = [Counter(key for found in side.values() for key in found) for side in sides]
    holders: dict[Key, list[Place]] = {}
    for number, side in enumerate(sides):
        for position, found in side.items():
            for key in found:
                if once[0][key] == once[1][key] == 1:
                    holders.setdefault(key, []).append((number, position))
    ties: nx.Graph[Place] = nx.Graph()
    for places in holders.values():
        nx.add_path(ties, places)
    by_position = [{unit.position: unit for unit in units} for units in (a, b)]
    groups: list[tuple[list[Unit], list[Unit]]] = []
    for members in nx.connected_components(ties):
        mine, theirs = ([by_position[n][at] for n, at in sorted(members) if n == number] for number in (0, 1))
        groups.append((mine, theirs))
    return groups


def same_graphs(a: Recording, b: Recording) -> set[str]:
    """The ids of the graphs that both recordings hold with the same nodes."""
    theirs = {graph.id: graph for graph in b.graphs if graph.stage == "post_grad"}
    return {
        graph.id
        for graph in a.graphs
        if graph.id in theirs
        and [_what(node) for node in graph.nodes] == [_what(node) for node in theirs[graph.id].nodes]
    }


def _what(node: Node) -> tuple[object, ...]:
    return node.name, node.target, node.inputs, [(output.shape, output.dtype) for output in node.outputs]


def keys(units: Iterable[Unit], graphs: set[str]) -> dict[int, list[Key]]:
    """Position of a kernel → the nodes that it runs."""
    runs: Counter[tuple[str | None, str]] = Counter()
    found: dict[int, list[Key]] = {}
    for unit in units:
        if unit.graph in graphs and unit.is_kernel:
            turn = runs[unit.call, unit.kernel]
            runs[unit.call, unit.kernel] += 1
            found[unit.position] = [(unit.graph, name, turn) for name in unit.nodes]
    return found
