"""Assign the kernels of one step to those of another, by keys from the most to the least trusted.

An item is a kernel, or an op of a kernel, with its modules and lines. An item is assigned once: by the first key under which it
has a counterpart. A kernel belongs to the one with which it shares most items.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope import op_names
from fxscope.analysis import select
from fxscope.analysis.compare.order import common, equally_often
from fxscope.index import grouped, index_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from fxscope.analysis.findings import AlignedBy
    from fxscope.analysis.select import Unit
    from fxscope.model import Node, Recording

# One op under several names: which one a graph has depends on how it was made.
COPIES = {"clone", "copy_", "contiguous", "_to_copy", "to", "copy"}
TRUST: tuple[AlignedBy, ...] = ("nodes", "name", "source", "module", "shapes", "op", "order")
COPIED = ("gpu_memcpy", "gpu_memset")  # which their kind names in full
FEW = 16  # kernels that one may stand against; more say that nothing is known
WHOLE = 1000  # votes of a key that is about whole kernels


class Aligned(NamedTuple):
    """Kernels of A and of B that belong together, and the least trusted key that ties them."""

    a: list[Unit]
    b: list[Unit]
    how: AlignedBy | None


class Piece(NamedTuple):
    """A kernel, or a part of it, with the modules and lines that both sides know."""

    unit: int  # place in its side
    what: Hashable
    modules: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()


Key = tuple["AlignedBy", "Callable[[Piece], tuple[Hashable, ...] | None]"]
KEYS: tuple[Key, ...] = (
    ("source", lambda item: (item.modules, item.lines) if item.lines else None),
    ("module", lambda item: (item.modules,) if item.modules else None),
    ("op", lambda _: ()),
)


def assign(recordings: tuple[Recording, Recording], a: Sequence[Unit], b: Sequence[Unit]) -> list[Aligned]:
    """The groups of kernels that belong together, in the order of A; those only in B behind what runs before them."""
    links = _Links(recordings, (a, b))
    links.take(links.nodes(), ("nodes", lambda _: ()), WHOLE, anywhere=True)
    links.cut()
    names = links.kernels(lambda unit, _: (unit.is_kernel, name_of(unit)), lines=False)
    for key in (lambda item: (item.modules,)), (lambda _: ()):
        links.take(names, ("name", key), WHOLE)
        links.cut()
    links.take(links.kernels(identity), ("shapes", lambda _: ()), WHOLE, anywhere=True)
    same_ops = links.kernels(lambda unit, _: frozenset(map(canonical, unit.ops)) if work([unit]) else None)
    for key in KEYS:
        links.take(same_ops, key, WHOLE)
    ops = links.ops()
    for key in KEYS:
        links.take(ops, key)
        links.take(ops, key, anywhere=True)
    links.take_left_over()
    links.take_places()
    return rejoin(links.groups())


class _Links:
    """The assignment of the kernels of two sides, as far as it is known."""

    def __init__(self, recordings: tuple[Recording, Recording], sides: tuple[Sequence[Unit], Sequence[Unit]]) -> None:
        self.recordings, self.sides = recordings, sides
        known = not any(all(unit.backward is None for unit in side) for side in sides)
        self.backward = [_directions(side) if known else [False] * len(side) for side in sides]
        self.modules, self.lines = self._common(lambda unit: unit.modules), self._common(lambda unit: unit.sources)
        self.votes: tuple[dict[int, Counter[int]], ...] = (defaultdict(Counter), defaultdict(Counter))
        self.how: dict[tuple[int, int], AlignedBy] = {}
        self.cuts: list[tuple[int, int]] = []

    def _common(self, trait: Callable[[Unit], Iterable[str]]) -> frozenset[str]:
        """The names that units of both sides have."""
        return frozenset.intersection(
            *(frozenset(name for unit in side for name in trait(unit)) for side in self.sides)
        )

    def unlinked(self, side: int) -> list[int]:
        return [place for place in range(len(self.sides[side])) if place not in self.votes[side]]

    def nodes(self) -> list[list[Piece]]:
        """The nodes of graphs that both recordings hold, each time they run in a step."""
        graphs = same_graphs(*self.recordings)
        found: list[list[Piece]] = [[], []]
        for side, units in enumerate(self.sides if graphs else ()):
            runs: Counter[tuple[str | None, str]] = Counter()
            for place, unit in enumerate(units):
                if unit.graph in graphs and unit.is_kernel:
                    runs[unit.call, unit.kernel] += 1
                    turn = runs[unit.call, unit.kernel]
                    found[side] += [Piece(place, (unit.graph, name, turn)) for name in unit.nodes]
        return found

    def kernels(self, what: Callable[[Unit, str | None], Hashable], *, lines: bool = True) -> list[list[Piece]]:
        """The kernels without a counterpart, keyed by a function of a unit and its shapes; those without a key are left out."""
        return [
            [
                Piece(at, said, self.modules & {*unit.modules}, self.lines & {*unit.sources} if lines else frozenset())
                for at, unit in ((at, self.sides[side][at]) for at in self.unlinked(side))
                if (said := what(unit, _shapes(unit))) is not None
            ]
            for side in (0, 1)
        ]

    def ops(self) -> list[list[Piece]]:
        """The ops of the kernels without a counterpart. The copy of a bias before `addmm` is not a product."""
        found: list[list[Piece]] = [[], []]
        for side in (0, 1):
            for place in self.unlinked(side):
                unit = self.sides[side][place]
                for op, module, line in _ops_of(self.recordings[side], unit):
                    what = unit.category == "gpu_memset", op, op_names.is_gemm(op) and is_gemm(unit)
                    found[side].append(Piece(place, what, self.modules & {module}, self.lines & {line}))
        return found

    def take(self, rows: list[list[Piece]], key: Key, weight: int = 1, *, anywhere: bool = False) -> None:
        """Link items of equal keys, and take them out of `rows`.

        Args:
            rows: the items of both sides.
            key: by what, and the function that says it; `None` for an item that has no such key.
            weight: votes of a pair.
            anywhere: where both sides have as many; else between two certain pairs, in the order in which both have them.
        """
        how, of = key
        items = [[item for item in row if of(item) is not None] for row in rows]
        keys: list[list[Hashable]] = [
            [
                (0 if anywhere else self.gap(n, item.unit), self.backward[n][item.unit], item.what, of(item))
                for item in items[n]
            ]
            for n in (0, 1)
        ]
        pairs = (equally_often if anywhere else common)(*keys)
        used = set[int]()
        for x, y in ((items[0][x], items[1][y]) for x, y in pairs):
            if not self._contradict(x, y, moved=anywhere):
                self.link(x.unit, y.unit, how, weight)
                used |= {id(x), id(y)}
        rows[:] = [[item for item in row if id(item) not in used] for row in rows]

    def _contradict(self, x: Piece, y: Piece, *, moved: bool) -> bool:
        """Return whether two items are of other lines or modules, or where they moved, of other shapes."""
        shapes = [_shapes(self.sides[n][item.unit]) for n, item in enumerate((x, y)) if moved]
        return any(
            mine and theirs and not mine & theirs for mine, theirs in ((x.modules, y.modules), (x.lines, y.lines))
        ) or (all(shapes) and len(set(shapes)) > 1)

    def link(self, x: int, y: int, how: AlignedBy, weight: int = 1) -> None:
        self.votes[0][x][y] += weight
        self.votes[1][y][x] += weight
        self.how.setdefault((x, y), how)

    def gap(self, side: int, place: int) -> int:
        """Between which two of the pairs that are certain a kernel runs."""
        return bisect(self.cuts, place, key=lambda cut: cut[side])

    def cut(self) -> None:
        """Divide both steps at the pairs that are in the same order on both sides."""
        self.cuts = []
        for x, votes in sorted(self.votes[0].items()):
            y = next(iter(votes))
            if len(votes) == len(self.votes[1][y]) == 1 and (not self.cuts or y > self.cuts[-1][1]):
                self.cuts.append((x, y))

    def take_left_over(self) -> None:
        """Link a kernel that has no counterpart with the one that ran more of its ops, or the rest of its line or module.

        A fused kernel of B does the work of several of A; an op that B computes twice is in two of its kernels.
        """
        tables: list[dict[Hashable, list[int]]] = [defaultdict(list), defaultdict(list)]
        kept = {(side, pair[side]) for pair, how in self.how.items() if how in ("name", "shapes") for side in (0, 1)}
        for side, units in enumerate(self.sides):
            for place in (place for place in range(len(units)) if (side, place) not in kept):
                for _, keys in self._traits(side, place):
                    for key in keys:
                        tables[side][key].append(place)
        taken: Counter[tuple[int, int]] = Counter()
        for side in (0, 1):
            linked = sorted(self.votes[side])
            for place in filter(self._is_kernel(side), self.unlinked(side)):
                # Where the other side has the next kernel with a counterpart.
                near = linked[min(bisect(linked, place), len(linked) - 1)] if linked else None
                expected = place if near is None else next(iter(self.votes[side][near]))
                other, how = self._home(side, place, expected, tables[1 - side])
                if other is not None and taken[1 - side, other] < FEW:
                    taken[1 - side, other] += 1
                    self.link(*((place, other) if side == 0 else (other, place)), how)

    def _traits(self, side: int, place: int) -> list[tuple[AlignedBy, list[Hashable]]]:
        """Return what can tie a kernel to another, the most trusted first."""
        unit, direction = self.sides[side][place], self.backward[side][place]
        named = set(map(canonical, unit.ops))
        ops = named - {"copy"} or named  # any kernel may write its result in another layout
        return [
            ("source", [("source", direction, line, op) for line in unit.sources for op in ops]),
            ("module", [("module", direction, module, op) for module in unit.modules for op in ops]),
            ("op", [("op", direction, self.gap(side, place), op) for op in ops]),
            ("source", [("line", direction, line) for line in unit.sources if ops != {"copy"}]),
        ]

    def _home(
        self, side: int, place: int, expected: int, table: dict[Hashable, list[int]]
    ) -> tuple[int | None, AlignedBy]:
        unit, others = self.sides[side][place], self.sides[1 - side]
        for how, keys in self._traits(side, place):
            shared: Counter[int] = Counter()
            for row in (table.get(key, []) for key in keys):
                at = bisect(row, expected)
                for place_, other in ((item, others[item]) for item in row[max(0, at - 2) : at + 2]):
                    apart = unit.modules and other.modules and not {*unit.modules} & {*other.modules}
                    enough = how != "op" or max(len(other.ops), len(unit.ops)) > 1
                    shared[place_] += enough and not apart and compatible(unit, other)
            if +shared:
                return max(+shared, key=lambda other: (shared[other], -abs(other - expected))), how
        return None, "op"

    def take_places(self) -> None:
        """Link what is left between two certain pairs: a hand-written kernel shows no ops."""
        self.cut()
        rows = [grouped(filter(self._is_kernel(n), self.unlinked(n)), lambda at, n=n: self.gap(n, at)) for n in (0, 1)]
        for gap in rows[0].keys() & rows[1].keys() if self.cuts else ():
            xs, ys = rows[0][gap], rows[1][gap]
            directions = [{self.backward[n][at] for at in row} for n, row in enumerate((xs, ys))]
            if max(len(xs), len(ys)) <= FEW and directions[0] == directions[1]:
                for x, y in [*((x, ys[0]) for x in xs), *((xs[0], y) for y in ys)]:
                    self.link(x, y, "order")

    def _is_kernel(self, side: int) -> Callable[[int], bool]:
        return lambda place: self.sides[side][place].is_kernel

    def groups(self) -> list[Aligned]:
        """Kernels with the one for which each has most votes; with all of them where the graph's nodes say so."""
        from networkx import Graph, connected_components

        ties: Graph[Any] = Graph()
        for side in (0, 1):
            ties.add_nodes_from((side, place) for place in range(len(self.sides[side])))
            for place, votes in self.votes[side].items():
                best = max(votes, key=lambda other: (votes[other], -abs(other - place)))
                for other in [other for other in votes if min(votes[other], votes[best]) >= WHOLE] or [best]:
                    ties.add_edge((side, place), (1 - side, other))
        found: list[Aligned] = []
        for members in connected_components(ties):
            xs, ys = ([self.sides[n][place] for side, place in sorted(members) if side == n] for n in (0, 1))
            tied = (sorted(tie) for tie in ties.edges(members))
            hows: list[AlignedBy] = [self.how[x, y] for (_, x), (_, y) in tied]
            how = max(hows, key=TRUST.index, default=None)
            found.append(Aligned(xs, ys, "name" if how == "nodes" and names_of(xs) == names_of(ys) else how))
        return found


def identity(unit: Unit, shapes: str | None) -> Hashable:
    """The name, op, place and shapes of a kernel that may run at another place of the step."""
    if (unit.ops and (unit.modules or shapes)) or unit.category in COPIED:
        return name_of(unit), unit.ops, unit.modules, unit.sources, shapes
    return None


def _shapes(unit: Unit) -> str | None:
    """The shapes and dtypes of the launching op's inputs, where they were recorded."""
    return f"{unit.op.shapes} {unit.op.dtypes}" if unit.op is not None and unit.op.shapes else None


def _directions(units: Sequence[Unit]) -> list[bool]:
    """Return whether each is backward work; what does not say goes with what ran before it."""
    found: list[bool] = []
    for unit in units:
        found.append((found[-1] if found else False) if unit.backward is None else unit.backward)
    return found


def _ops_of(recording: Recording, unit: Unit) -> Iterator[tuple[str, str | None, str | None]]:
    """(Op, module, line) of what a kernel runs: of its nodes, where the recording has them."""
    nodes = index_of(recording).nodes.get(unit.graph or "", {})
    found: Counter[tuple[str, str | None, str | None]] = Counter()
    for node in (nodes[name] for name in unit.nodes if name in nodes):
        if node.nature != "view" and op_names.op_of(node) in unit.ops:
            module = node.source.module if node.source is not None else None
            key = canonical(op_names.op_of(node)), module, select.place(node.source)
            found[key] = found[key] + 1 if op_names.op_of(node) == op_names.op_name(node.target) else 1
    if not found:
        module, line = (names[0] if len(names) == 1 else None for names in (unit.modules, unit.sources))
        found.update((canonical(op), module, line) for op in unit.ops if not op_names.is_generated(op))
    return found.elements()


def canonical(op: str) -> str:
    """One name for an op, in place or not, and for every kind of copy."""
    return "copy" if op in COPIES else op_names.out_of_place(op)


def same_graphs(a: Recording, b: Recording) -> set[str]:
    """The ids of the graphs that both recordings hold with the same nodes."""
    theirs = {graph.id: graph for graph in b.graphs if graph.stage == "post_grad"}
    return {
        graph.id
        for graph in a.graphs
        if graph.id in theirs and list(map(_what, graph.nodes)) == list(map(_what, theirs[graph.id].nodes))
    }


def _what(node: Node) -> tuple[object, ...]:
    return node.name, node.target, node.inputs, [(output.shape, output.dtype) for output in node.outputs]


def name_of(unit: Unit) -> str:
    """Return what a kernel is called, whichever graph of its process it is in."""
    return op_names.without_graph_number(unit.kernel)


def names_of(units: Sequence[Unit]) -> list[str]:
    return list(map(name_of, units))


def work(units: Sequence[Unit]) -> set[str]:
    """The ops that kernels run, empty where one does not say."""
    ops = [{op for op in unit.ops if not op_names.is_generated(op)} for unit in units]
    return set().union(*ops) if all(ops) else set()


def compatible(x: Unit, y: Unit) -> bool:
    """Return whether two kernels could be the same work: neither is a memset alone, and their ops do not contradict."""
    if (x.category == "gpu_memset") != (y.category == "gpu_memset"):
        return False
    known = bool(x.ops) and bool(y.ops) and not any(op.startswith("triton") for op in (*x.ops, *y.ops))
    return not known or bool(set(x.all_ops) & set(y.all_ops)) or is_gemm(x) == is_gemm(y)


def is_gemm(unit: Unit) -> bool:
    """Return whether the unit is a GEMM: by its decoded name, else by the op that launched it."""
    if unit.category == "cpu_kernel":
        return op_names.is_gemm(unit.kernel)  # addmm copies its bias first, and that copy is not a product
    decoded = unit.launch.decoded if unit.launch else None
    if decoded and decoded.get("role") not in (None, "other"):
        return decoded["role"] in ("gemm", "gemv")
    return any(map(op_names.is_gemm, unit.all_ops))


def rejoin(groups: list[Aligned]) -> list[Aligned]:
    """Order groups by where they are in A, those only in B behind what runs before them in B."""
    at = {unit.position: group.a[0].position if group.a else None for group in groups for unit in group.b}
    behind: dict[int, int] = {}
    before = -1
    for position in sorted(at):
        before = behind[position] = before if (place := at[position]) is None else place

    def order(group: Aligned) -> tuple[int, bool, int]:
        return (group.a[0].position, False, 0) if group.a else (behind[group.b[0].position], True, group.b[0].position)

    return sorted(groups, key=order)
