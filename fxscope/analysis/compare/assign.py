"""Assign the kernels of one step to those of another, by keys from the most to the least trusted.

An item is a kernel, or an op of a kernel, with its modules and lines. An item is assigned once: by the first key under which it
has a counterpart. A kernel belongs to the one with which it shares most items.
"""

import itertools
import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fxscope import op_names
from fxscope.analysis import select
from fxscope.analysis.findings import AlignedBy, KernelUse
from fxscope.analysis.select import Unit
from fxscope.index import grouped
from fxscope.kernel_names.vendors import collective
from fxscope.model import Node, Recording
from fxscope.passes.alignment import common, equally_often

# One op under several names: which one a graph has depends on how it was made.
COPIES = {"clone", "copy_", "contiguous", "_to_copy", "to", "copy"}
LIBRARY = re.compile("^(cudnn|miopen|mkldnn|native)_")  # of `cudnn_convolution`
TRUST: tuple[AlignedBy, ...] = ("nodes", "name", "source", "module", "shapes", "op", "order")
COPIED = ("gpu_memcpy", "gpu_memset")  # which their kind names in full
ACCUMULATION = "torch::autograd::AccumulateGrad"  # no part of a compiled backward


class Aligned(NamedTuple):
    """Kernels of A and of B that belong together, and the least trusted key that ties them."""

    a: list[Unit]
    b: list[Unit]
    how: AlignedBy | None


class Piece(NamedTuple):
    """A kernel, or a node or an op of one; of modules and lines those that both sides know."""

    unit: int  # place in its side
    name: Hashable = None
    ops: Hashable = None
    modules: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()
    shapes: str | None = None
    is_named: bool = False  # its name and shapes, or modules, say which it is wherever it runs


class PairKey(NamedTuple):
    """What two items must have in common, and where they may be."""

    how: AlignedBy
    of: Callable[[Piece], Hashable]  # falsy for an item without such a key
    moved: bool = False  # anywhere, if both sides have as many; else in the order of both, between two certain pairs


NODES = (PairKey("nodes", lambda item: item.name, moved=True),)
KERNELS = (
    PairKey("name", lambda item: item[1:]),
    PairKey("shapes", lambda item: item.is_named and item[1:], moved=True),
    PairKey("name", lambda item: (item.modules or item.lines) and (item.name, item.modules, item.lines)),
    PairKey("source", lambda item: item.ops and item.lines and (item.ops, item.modules, item.lines)),
    PairKey("module", lambda item: item.ops and item.modules and (item.ops, item.modules)),
    PairKey("name", lambda item: (item.name,)),
    PairKey("op", lambda item: item.ops and (item.ops,)),
)
OPS = (
    PairKey("source", lambda item: item.lines and (item.ops, item.modules, item.lines)),
    PairKey("source", lambda item: item.lines and (item.ops, item.modules, item.lines), moved=True),
    PairKey("module", lambda item: item.modules and (item.ops, item.modules)),
    PairKey("module", lambda item: item.modules and (item.ops, item.modules), moved=True),
    PairKey("op", lambda item: (item.ops,)),
    PairKey("op", lambda item: (item.ops,), moved=True),
)


def assign(recordings: tuple[Recording, Recording], a: Sequence[Unit], b: Sequence[Unit]) -> list[Aligned]:
    """The groups of kernels that belong together, in the order of A; those only in B by their place there."""
    links = _Links(recordings, (a, b))
    for items, keys in ((links.nodes, NODES), (links.kernels, KERNELS), (links.ops, OPS)):
        rows = [items(side) for side in (0, 1)]
        for key in keys:
            rows = links.take(rows, key) if all(rows) else rows
    links.share()
    links.take_places()
    return sorted(links.groups(), key=lambda group: ((group.a or group.b)[0].position, not group.a))


class _Links:
    """The assignment of the kernels of two sides, as far as it is known."""

    def __init__(self, recordings: tuple[Recording, Recording], sides: tuple[Sequence[Unit], Sequence[Unit]]) -> None:
        self.recordings, self.sides = recordings, sides
        known = not any(all(unit.backward is None for unit in side) for side in sides)
        self.phases = [_phases(side, known=known) for side in sides]
        self.modules, self.lines = self._common(lambda unit: unit.modules), self._common(lambda unit: unit.sources)
        self.graphs = same_graphs(*recordings)
        self.votes: tuple[dict[int, Counter[int]], ...] = (defaultdict(Counter), defaultdict(Counter))
        self.how: dict[tuple[int, int], AlignedBy] = {}
        self.names = [list(map(name_of, side)) for side in sides]
        self.cuts: tuple[list[int], list[int]] = ([], [])  # places in A, and in B, of the pairs that are certain

    def _common(self, trait: Callable[[Unit], Iterable[str]]) -> frozenset[str]:
        return frozenset.intersection(
            *(frozenset(name for unit in side for name in trait(unit)) for side in self.sides)
        )

    def unlinked(self, side: int) -> list[int]:
        return [place for place in range(len(self.sides[side])) if place not in self.votes[side]]

    def unlinked_kernels(self, side: int) -> list[int]:
        return [place for place in self.unlinked(side) if self.sides[side][place].is_kernel]

    def nodes(self, side: int) -> list[Piece]:
        """The nodes of graphs that both recordings hold, each time they run in a step."""
        found: list[Piece] = []
        runs: Counter[tuple[str | None, str]] = Counter()
        for place, unit in enumerate(self.sides[side]):
            if unit.graph in self.graphs and unit.is_kernel:
                runs[unit.call, unit.kernel] += 1
                turn = runs[unit.call, unit.kernel]
                found += [Piece(place, (unit.graph, name, turn)) for name in unit.nodes]
        return found

    def kernels(self, side: int) -> list[Piece]:
        return [
            Piece(
                at,
                (unit.is_kernel, self.names[side][at]),
                (unit.category == "gpu_memset", frozenset(map(canonical, unit.ops))) if work([unit]) else None,
                self.modules & {*unit.modules},
                self.lines & {*unit.sources},
                (shapes := _shapes(unit)),
                bool(unit.ops and (unit.modules or shapes)) or unit.category in COPIED,
            )
            for at, unit in ((at, self.sides[side][at]) for at in self.unlinked(side))
        ]

    def ops(self, side: int) -> list[Piece]:
        """The ops of the kernels without a counterpart. The copy of a bias before `addmm` is not a product."""
        found: list[Piece] = []
        units = [(place, self.sides[side][place]) for place in self.unlinked(side)]
        keys = {(unit.graph, name) for _, unit in units for name in unit.nodes}
        nodes = select.nodes_by_key(self.recordings[side], keys)
        for place, unit in units:
            for op, module, line in _ops_of(nodes, unit):
                what = unit.category == "gpu_memset", op, op_names.is_gemm(op) and is_gemm(unit)
                found.append(Piece(place, None, what, self.modules & {module}, self.lines & {line}))
        return found

    def take(self, rows: list[list[Piece]], key: PairKey) -> list[list[Piece]]:
        """Link the items of equal keys, divide the steps there, and return the items that are left."""
        known = [[(item, what) for item in row if (what := key.of(item))] for row in rows]
        items = [[item for item, _ in row] for row in known]
        keys: list[list[Hashable]] = [
            [(0 if key.moved else self.gap(n, item.unit), self.phases[n][item.unit], what) for item, what in row]
            for n, row in enumerate(known)
        ]
        used = set[int]()
        for x, y in (equally_often if key.moved else common)(*keys):
            one, two = items[0][x], items[1][y]
            if not self._contradict(one, two, key):
                self.link(one.unit, two.unit, key.how)
                used |= {id(one), id(two)}
        if used:
            self.cut()
        return [[item for item in row if id(item) not in used] for row in rows]

    def _contradict(self, x: Piece, y: Piece, key: PairKey) -> bool:
        """Return whether two items are of other modules, of other lines and names, or moved and of other shapes."""
        shapes = {_shapes(self.sides[n][item.unit]) for n, item in enumerate((x, y)) if key.moved}
        traits = [(x.modules, y.modules), *([(x.lines, y.lines)] if key.how != "name" else [])]
        return len(shapes - {None}) > 1 or any(mine and theirs and not mine & theirs for mine, theirs in traits)

    def link(self, x: int, y: int, how: AlignedBy) -> None:
        self.votes[0][x][y] += 1
        self.votes[1][y][x] += 1
        self.how.setdefault((x, y), how)

    def gap(self, side: int, place: int) -> int:
        """Between which two of the pairs that are certain a kernel runs."""
        return bisect(self.cuts[side], place)

    def cut(self) -> None:
        """Divide both steps at the pairs of one name that are in the same order on both sides."""
        xs, ys = self.cuts = [], []
        for x, y in sorted(self._kept()):
            alone = len(self.votes[0][x]) == len(self.votes[1][y]) == 1
            if alone and (not ys or y > ys[-1]):
                xs.append(x)
                ys.append(y)

    def _kept(self) -> list[tuple[int, int]]:
        a, b = self.names
        return [(x, y) for x, y in self.how if a[x] == b[y]]

    def share(self) -> None:
        """Link a kernel that has no counterpart with the one that ran more of its ops, or the rest of its line or module.

        A fused kernel of B does the work of several of A; an op that B computes twice is in two of its kernels.
        """
        tables: list[dict[Hashable, list[int]]] = [defaultdict(list), defaultdict(list)]
        for side, kept in enumerate(zip(*self._kept(), strict=True) if self._kept() else ((), ())):
            for place in sorted({*range(len(self.sides[side]))}.difference(kept)):
                for _, keys in self._traits(side, place):
                    for key in keys:
                        tables[side][key].append(place)
        for side in (0, 1):
            linked = sorted(self.votes[side])
            for place in self.unlinked_kernels(side):
                # Where the other side has the next kernel with a counterpart.
                near = linked[min(bisect(linked, place), len(linked) - 1)] if linked else None
                expected = place if near is None else next(iter(self.votes[side][near]))
                other, how = self._home(side, place, expected, tables[1 - side])
                if other is not None:
                    self.link(*((place, other) if side == 0 else (other, place)), how)

    def _traits(self, side: int, place: int) -> list[tuple[AlignedBy, list[Hashable]]]:
        unit, direction = self.sides[side][place], self.phases[side][place]
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
        """Link a kernel alone between two certain pairs with what is there, if its op is unknown or not torch's."""
        self.cut()
        places = [
            grouped(self.unlinked_kernels(n), lambda at, n=n: (self.gap(n, at), self.phases[n][at])) for n in (0, 1)
        ]
        for key in places[0].keys() & places[1].keys() if self.cuts[0] else ():
            xs, ys = places[0][key], places[1][key]
            alone = [work([self.sides[n][row[0]]]) for n, row in enumerate((xs, ys)) if len(row) == 1]
            if any(not ran or not are_torchs(ran) for ran in alone):
                for x, y in itertools.product(xs, ys):
                    self.link(x, y, "order")

    def groups(self) -> list[Aligned]:
        """Kernels with the one with which each shares most items; with all of them where the graph's nodes say so."""
        from networkx import Graph, connected_components

        ties = {pair for pair, how in self.how.items() if how == "nodes"}
        for side in (0, 1):
            for place, votes in self.votes[side].items():
                best = max(votes, key=lambda other: (votes[other], -abs(other - place)))
                ties.add((best, place) if side else (place, best))
        tied_to = grouped(ties, lambda tie: tie[0])
        tied: Graph[tuple[int, int]] = Graph()
        tied.add_nodes_from((side, place) for side in (0, 1) for place in range(len(self.sides[side])))
        tied.add_edges_from(((0, x), (1, y)) for x, y in ties)
        found: list[Aligned] = []
        for members in connected_components(tied):
            xs, ys = ([self.sides[n][place] for side, place in sorted(members) if side == n] for n in (0, 1))
            hows: list[AlignedBy] = [self.how[tie] for side, x in members if side == 0 for tie in tied_to.get(x, ())]
            how = max(hows, key=TRUST.index, default=None)
            are_named_alike = list(map(name_of, xs)) == list(map(name_of, ys))
            found.append(Aligned(xs, ys, "name" if how != "shapes" and are_named_alike else how))
        return found


def _shapes(unit: Unit) -> str | None:
    """The shapes and dtypes of the launching op's inputs, where they were recorded."""
    return f"{unit.op.shapes} {unit.op.dtypes}" if unit.op is not None and unit.op.shapes else None


def _phases(units: Sequence[Unit], *, known: bool) -> list[Hashable]:
    """Return whether each is backward work or adds gradients up (unknown: as the one before), and whether it communicates."""
    found: list[Hashable] = []
    phase: Hashable = False
    for unit in units:
        here = ACCUMULATION if ACCUMULATION in unit.chain else unit.backward
        phase = here if known and here is not None else phase
        found.append((phase, bool(collective(unit.kernel))))
    return found


def _ops_of(nodes: Mapping[tuple[str | None, str], Node], unit: Unit) -> Iterator[tuple[str, str | None, str | None]]:
    """(Op, module, line) of what a kernel runs: of its nodes, where the recording has them."""
    found: Counter[tuple[str, str | None, str | None]] = Counter()
    for node in (nodes[unit.graph, name] for name in unit.nodes if (unit.graph, name) in nodes):
        if node.nature != "view" and op_names.op_of(node) in unit.ops:
            module = node.source.module if node.source is not None else None
            key = canonical(op_names.op_of(node)), module, select.place(node.source)
            found[key] = found[key] + 1 if op_names.op_of(node) == op_names.op_name(node.target) else 1
    if not found:
        module, line = (names[0] if len(names) == 1 else None for names in (unit.modules, unit.sources))
        found.update((canonical(op), module, line) for op in unit.ops if not op_names.is_generated(op))
    return found.elements()


def canonical(op: str) -> str:
    """One name for an op, in place or not, of whichever library, and for every kind of copy."""
    return "copy" if op in COPIES else LIBRARY.sub("", op_names.out_of_place(op))


def same_graphs(a: Recording, b: Recording) -> set[str]:
    theirs = {graph.id: list(map(_what, graph.nodes)) for graph in b.graphs if graph.stage == "post_grad"}
    return {graph.id for graph in a.graphs if graph.id in theirs and theirs[graph.id] == list(map(_what, graph.nodes))}


def _what(node: Node) -> tuple[object, ...]:
    return node.name, node.target, node.inputs, [(output.shape, output.dtype) for output in node.outputs]


def name_of(unit: Unit | KernelUse) -> str:
    """Return what a kernel is called, whichever graph of its process it is in."""
    return op_names.without_graph_number(unit.kernel)


def work(units: Sequence[Unit | KernelUse]) -> set[str]:
    """The ops that kernels run, empty where one does not say."""
    ops = [{op for op in unit.ops if not op_names.is_generated(op)} for unit in units]
    return set().union(*ops) if all(ops) else set()


def are_torchs(ops: set[str]) -> bool:
    """Return whether all ops are torch's: what a program's own does is not known."""
    return {*map(op_names.out_of_place, ops)} <= op_names.table().keys()


def compatible(x: Unit, y: Unit) -> bool:
    """Return whether two kernels could be the same work: neither is a memset alone, and their ops do not contradict."""
    differ = (x.category == "gpu_memset") != (y.category == "gpu_memset")
    known = bool(x.ops) and bool(y.ops) and not any(op.startswith("triton") for op in (*x.ops, *y.ops))
    return not differ and (not known or bool(set(x.all_ops) & set(y.all_ops)) or is_gemm(x) == is_gemm(y))


def is_gemm(unit: Unit) -> bool:
    """Return whether the unit is a GEMM: by its decoded name, else by the op that launched it."""
    if unit.category == "cpu_kernel":
        return op_names.is_gemm(unit.kernel)  # addmm copies its bias first, and that copy is not a product
    decoded = unit.launch.decoded if unit.launch else None
    if decoded and decoded.get("role") not in (None, "other"):
        return decoded["role"] in ("gemm", "gemv")
    return any(map(op_names.is_gemm, unit.all_ops))
