"""Assign the kernels of one step to those of another, by keys from the most to the least trusted.

Each kernel is a row of atoms, the ops that it runs with their module and line. An atom is assigned once: by the first key
under which it has a counterpart. A kernel belongs to the one with which it shares most atoms.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from fxscope import op_names
from fxscope.analysis import select
from fxscope.analysis.compare.order import common
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


class Atom(NamedTuple):
    """One op of a kernel."""

    unit: int  # place in its side
    op: str
    module: str | None
    line: str | None


def assign(recordings: tuple[Recording, Recording], a: Sequence[Unit], b: Sequence[Unit]) -> list[Aligned]:
    """The groups of kernels that belong together, in the order of A; those only in B behind what runs before them."""
    links = _Links(recordings, (a, b))
    links.take_nodes()
    links.take_names()
    links.take_moved()
    links.take_same_ops()
    links.split()
    lines, modules = links.lines, links.modules
    keys: list[tuple[AlignedBy, Callable[[Atom], tuple[Hashable, ...] | None]]] = [
        ("source", lambda atom: (atom.module in modules and atom.module, atom.line) if atom.line in lines else None),
        ("source", lambda atom: (atom.line,) if atom.line in lines else None),
        ("module", lambda atom: (atom.module,) if atom.module in modules else None),
        ("op", lambda atom: ()),
    ]
    for how, key in keys:
        links.take_atoms(how, key)
    links.take_left_over()
    links.take_places()
    return rejoin(links.groups())


class _Links:
    """The assignment of the kernels of two sides, as far as it is known."""

    def __init__(self, recordings: tuple[Recording, Recording], sides: tuple[Sequence[Unit], Sequence[Unit]]) -> None:
        self.recordings, self.sides = recordings, sides
        known = not any(all(unit.backward is None for unit in side) for side in sides)
        self.backward = [_directions(side) if known else [False] * len(side) for side in sides]
        self.free: list[list[Atom]] = [[], []]
        self.modules, self.lines = self._common(lambda unit: unit.modules), self._common(lambda unit: unit.sources)
        self.votes: tuple[dict[int, Counter[int]], ...] = (defaultdict(Counter), defaultdict(Counter))
        self.how: dict[tuple[int, int], AlignedBy] = {}
        self.cuts: list[tuple[int, int]] = []

    def link(self, x: int, y: int, how: AlignedBy, weight: int = 1) -> None:
        self.votes[0][x][y] += weight
        self.votes[1][y][x] += weight
        self.how.setdefault((x, y), how)

    def split(self) -> None:
        """Split the kernels without a counterpart into atoms, which are assigned one by one."""
        self.free = [
            [atom for at in self.unlinked(n) for atom in _atoms(self.recordings[n], at, self.sides[n][at])]
            for n in (0, 1)
        ]

    def unlinked(self, side: int) -> list[int]:
        return [place for place in range(len(self.sides[side])) if place not in self.votes[side]]

    def _common(self, trait: Callable[[Unit], Iterable[str]]) -> set[str]:
        """The names that units of both sides have."""
        return set.intersection(*({name for unit in side for name in trait(unit)} for side in self.sides))

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

    def take_nodes(self) -> None:
        """Link kernels that run the same nodes of a graph that both recordings hold."""
        graphs = same_graphs(*self.recordings)
        rows = [_node_keys(side, graphs) for side in self.sides] if graphs else []
        for key in rows[0].keys() & rows[1].keys() if rows else ():
            (xs, ys) = rows[0][key], rows[1][key]
            if len(xs) == len(ys) == 1:
                self.link(xs[0], ys[0], "nodes", WHOLE)
        self.cut()

    def take_names(self) -> None:
        """Link kernels of equal names in the same order, those of the same modules first."""
        for of in (self.modules, set[str]()):
            self._take_in_order(
                lambda _: "name", lambda unit, of=of: (name_of(unit), frozenset(of.intersection(unit.modules)))
            )
            self.cut()

    def take_same_ops(self) -> None:
        """Link kernels that run the same ops of the same place in the same order."""
        modules, lines = self.modules, self.lines

        def key(unit: Unit) -> Hashable:
            ops = frozenset(map(canonical, unit.ops)) if work([unit]) else (name_of(unit), unit.ops)
            return ops, frozenset(modules.intersection(unit.modules)), frozenset(lines.intersection(unit.sources))

        def how(unit: Unit) -> AlignedBy:
            return "source" if lines.intersection(unit.sources) else "module" if unit.modules else "op"

        self._take_in_order(how, key)

    def _take_in_order(self, how: Callable[[Unit], AlignedBy], key: Callable[[Unit], Hashable]) -> None:
        """Link whole kernels of equal keys, between two certain pairs, in the order in which both sides have them."""
        rows = [self.unlinked(side) for side in (0, 1)]
        keys: list[list[Hashable]] = [
            [
                (self.gap(n, at), self.backward[n][at], self.sides[n][at].is_kernel, key(self.sides[n][at]))
                for at in rows[n]
            ]
            for n in (0, 1)
        ]
        for x, y in ((rows[0][x], rows[1][y]) for x, y in _pairs_in_order(*keys)):
            mine, theirs = (self.modules.intersection(self.sides[n][at].modules) for n, at in enumerate((x, y)))
            if not (mine and theirs) or mine & theirs:
                self.link(x, y, how(self.sides[0][x]), WHOLE)

    def take_moved(self) -> None:
        """Link what runs at another place of the step: as many kernels of one name, op, place and shapes on both sides."""
        rows: dict[Hashable, tuple[list[int], list[int]]] = {}
        for side in (0, 1):
            for place in self.unlinked(side):
                unit = self.sides[side][place]
                shapes = self._shapes(side, place)
                if (unit.ops and (unit.modules or shapes)) or unit.category in COPIED:
                    key = name_of(unit), unit.ops, unit.modules, unit.sources, shapes, self.backward[side][place]
                    rows.setdefault(key, ([], []))[side].append(place)
        for xs, ys in rows.values():
            for x, y in zip(xs, ys, strict=True) if len(xs) == len(ys) else ():
                self.link(x, y, "shapes", WHOLE)

    def take_atoms(self, how: AlignedBy, key: Callable[[Atom], tuple[Hashable, ...] | None]) -> None:
        """Link the kernels of atoms that have the same key: in order between two certain pairs, then anywhere."""
        for anywhere in (False, True):
            rows = [[atom for atom in row if key(atom) is not None] for row in self.free]
            keys: list[list[Hashable]] = [
                [
                    (0 if anywhere else self.gap(n, atom.unit), self._kind(n, atom), *(key(atom) or ()))
                    for atom in rows[n]
                ]
                for n in (0, 1)
            ]
            runs = _equally_often(*keys) if anywhere else list(_pairs_in_order(*keys))
            runs = [(x, y) for x, y in runs if not self._contradict(rows[0][x], rows[1][y], moved=anywhere)]
            for x, y in runs:
                self.link(rows[0][x].unit, rows[1][y].unit, how)
            used = [{id(rows[n][pair[n]]) for pair in runs} for n in (0, 1)]
            self.free = [[atom for atom in self.free[n] if id(atom) not in used[n]] for n in (0, 1)]

    def _contradict(self, x: Atom, y: Atom, *, moved: bool) -> bool:
        if moved:
            mine, theirs = self._shapes(0, x.unit), self._shapes(1, y.unit)
            if mine and theirs and mine != theirs:
                return True
        return _contradict(x, y, self.lines, self.modules)

    def _shapes(self, side: int, place: int) -> str | None:
        """The shapes and dtypes of the launching op's inputs, where they were recorded."""
        op = self.sides[side][place].op
        return f"{op.shapes} {op.dtypes}" if op is not None and op.shapes else None

    def _kind(self, side: int, atom: Atom) -> Hashable:
        """Return what an atom is, wherever it runs. The copy of a bias before `addmm` is not a product, nor is a memset."""
        unit = self.sides[side][atom.unit]
        product = op_names.is_gemm(atom.op) and is_gemm(unit)
        return self.backward[side][atom.unit], unit.category == "gpu_memset", atom.op, product

    def take_left_over(self) -> None:
        """Link a kernel that has no counterpart with the one that ran more of its ops, or the rest of its line or module.

        A fused kernel of B does the work of several of A; an op that B computes twice is in two of its kernels.
        """
        tables = [self._table(side) for side in (0, 1)]
        taken: Counter[tuple[int, int]] = Counter()
        for side in (0, 1):
            linked = sorted(self.votes[side])
            for place in self.unlinked(side):
                other = self._home(side, place, self._expected(side, place, linked), tables[1 - side])
                if other is not None and taken[1 - side, other[0]] < FEW:
                    other_place, how = other
                    taken[1 - side, other_place] += 1
                    self.link(*((place, other_place) if side == 0 else (other_place, place)), how)

    def _table(self, side: int) -> dict[Hashable, list[int]]:
        found: dict[Hashable, list[int]] = defaultdict(list)
        for place, unit in enumerate(self.sides[side]):
            if not self._is_kept(side, place):
                for _, key in self._traits(side, place, unit):
                    found[key].append(place)
        return found

    def _is_kept(self, side: int, place: int) -> bool:
        """Return whether a kernel is paired with the same kernel: nothing else belongs to the two."""
        return any(
            self.how[(place, other) if side == 0 else (other, place)] in ("name", "shapes")
            for other in self.votes[side].get(place, ())
        )

    def _traits(self, side: int, place: int, unit: Unit) -> Iterator[tuple[AlignedBy, Hashable]]:
        """Yield what can tie a kernel to another, the most trusted first."""
        direction, ops = self.backward[side][place], {canonical(op) for op in called(unit)}
        ops = sorted(ops - {"copy"} or ops)  # any kernel may write its result in another layout
        places: list[tuple[AlignedBy, tuple[str, ...]]] = [("source", unit.sources), ("module", unit.modules)]
        for how, names in places:
            for at, op in product(names, ops):
                yield how, (how, direction, at, op)
        for op in ops:
            yield "op", ("op", direction, self.gap(side, place), op)
        for line in unit.sources if ops != ["copy"] else ():
            yield "source", ("line", direction, line)

    def _home(
        self, side: int, place: int, expected: int, table: dict[Hashable, list[int]]
    ) -> tuple[int, AlignedBy] | None:
        unit = self.sides[side][place]
        if not unit.is_kernel:
            return None
        others = self.sides[1 - side]
        for how, keys in grouped(self._traits(side, place, unit), lambda trait: trait[1][0]).items():  # type: ignore[index]
            shared: Counter[int] = Counter()
            for _, key in keys:
                row = table.get(key, [])
                at = bisect(row, expected)
                shared.update(
                    other
                    for other in row[max(0, at - 2) : at + 2]
                    if compatible(unit, others[other])
                    and (set(unit.modules) & set(others[other].modules) or not (unit.modules and others[other].modules))
                    and (how != "op" or max(len(others[other].ops), len(unit.ops)) > 1)
                )
            if shared:
                best = max(shared, key=lambda other: (shared[other], -abs(other - expected)))
                return best, keys[0][0]
        return None

    def _expected(self, side: int, place: int, linked: Sequence[int]) -> int:
        """Return where the other side has the next kernel with a counterpart: a kernel without one is looked for there."""
        if not linked:
            return place
        near = linked[min(bisect(linked, place), len(linked) - 1)]
        return next(iter(self.votes[side][near]))

    def take_places(self) -> None:
        """Link what is left between two certain pairs: a hand-written kernel shows no ops."""
        self.cut()
        rows = [grouped(filter(self._is_kernel(n), self.unlinked(n)), lambda at, n=n: self.gap(n, at)) for n in (0, 1)]
        for gap in rows[0].keys() & rows[1].keys() if self.cuts else ():
            if max(len(rows[0][gap]), len(rows[1][gap])) > FEW:
                continue
            directions = [{self.backward[n][at] for at in rows[n][gap]} for n in (0, 1)]
            if directions[0] == directions[1]:
                for x in rows[0][gap]:
                    self.link(x, rows[1][gap][0], "order")
                for y in rows[1][gap]:
                    self.link(rows[0][gap][0], y, "order")

    def _is_kernel(self, side: int) -> Callable[[int], bool]:
        return lambda place: self.sides[side][place].is_kernel

    def groups(self) -> list[Aligned]:
        """Kernels with the one for which each has most votes; with all of them where the graph's nodes say so."""
        parent: dict[tuple[int, int], tuple[int, int]] = {}

        def root(item: tuple[int, int]) -> tuple[int, int]:
            while (above := parent.setdefault(item, item)) != item:
                parent[item] = item = parent[above]
            return item

        ties: list[tuple[int, int]] = []
        for side in (0, 1):
            for place, votes in self.votes[side].items():
                best = max(votes, key=lambda other: (votes[other], -abs(other - place)))
                chosen = [other for other in votes if votes[other] >= WHOLE and votes[best] >= WHOLE] or [best]
                for other in chosen:
                    ties.append((place, other) if side == 0 else (other, place))
                    parent[root((side, place))] = root((1 - side, other))
        members: dict[tuple[int, int], tuple[list[Unit], list[Unit]]] = {}
        for side in (0, 1):
            for place, unit in enumerate(self.sides[side]):
                members.setdefault(root((side, place)), ([], []))[side].append(unit)
        weakest: dict[tuple[int, int], AlignedBy] = {}
        for tie in ties:
            key = root((0, tie[0]))
            if TRUST.index(self.how[tie]) >= TRUST.index(weakest.get(key, "nodes")):
                weakest[key] = self.how[tie]
        found: list[Aligned] = []
        for key, (xs, ys) in members.items():
            how = weakest.get(key) if xs and ys else None
            found.append(Aligned(xs, ys, "name" if how == "nodes" and names_of(xs) == names_of(ys) else how))
        return found


def _directions(units: Sequence[Unit]) -> list[bool]:
    """Return whether each is backward work; what does not say goes with what ran before it."""
    found: list[bool] = []
    for unit in units:
        found.append((found[-1] if found else False) if unit.backward is None else unit.backward)
    return found


def _atoms(recording: Recording, place: int, unit: Unit) -> Iterator[Atom]:
    """The ops of a kernel with their places: of its nodes, where the recording has them."""
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
    for (op, module, line), count in found.items():
        yield from (Atom(place, op, module, line) for _ in range(count))


def _contradict(x: Atom, y: Atom, lines: set[str], modules: set[str]) -> bool:
    """Return whether two atoms are of other lines or modules that both sides have."""
    if x.module != y.module and x.module in modules and y.module in modules:
        return True
    return x.line != y.line and x.line in lines and y.line in lines


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


def _node_keys(units: Sequence[Unit], graphs: set[str]) -> dict[Hashable, list[int]]:
    """(Graph, node, the how many-eth time in a step) → the kernels that run it."""
    runs: Counter[tuple[str | None, str]] = Counter()
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        if unit.graph in graphs and unit.is_kernel:
            turn = runs[unit.call, unit.kernel]
            runs[unit.call, unit.kernel] += 1
            for name in unit.nodes:
                found[unit.graph, name, turn].append(place)
    return found


def _pairs_in_order(a: Sequence[Hashable], b: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    for x, y, length in common(a, b):
        yield from zip(range(x, x + length), range(y, y + length), strict=True)


def _equally_often(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The places of keys that both sides have as often, in order; of another number nothing says which is which."""
    mine, theirs = (grouped(range(len(row)), row.__getitem__) for row in (a, b))
    rows = [(places, theirs.get(key, ())) for key, places in mine.items()]
    return [pair for xs, ys in rows if len(xs) == len(ys) for pair in zip(xs, ys, strict=True)]


def name_of(unit: Unit) -> str:
    """Return what a kernel is called, whichever graph of its process it is in."""
    return op_names.without_graph_number(unit.kernel)


def names_of(units: Sequence[Unit]) -> list[str]:
    return list(map(name_of, units))


def called(unit: Unit) -> set[str]:
    """The ops that a kernel runs and those that called them: `clone` in a graph ran as its `copy_`."""
    callers = [name for name in unit.chain if "::" in name and not name.startswith("autograd::")]
    return {op_names.op_name(name) for name in (*unit.ops, *callers)}


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
