"""What changed between two recordings: which kernels stayed, collapsed, split, are new or gone, and what that costs."""

from __future__ import annotations

from bisect import bisect
from typing import TYPE_CHECKING, NamedTuple

from fxscope import op_names
from fxscope.analysis import select
from fxscope.analysis.compare.decisions import decision_changes
from fxscope.analysis.compare.nodes import regrouped
from fxscope.analysis.compare.order import common
from fxscope.analysis.compare.rest import collective_us, notes, op_changes, own_step_us, totals
from fxscope.analysis.compare.uses import sum_bytes, use
from fxscope.analysis.findings import Comparison, KernelMatch
from fxscope.analysis.stats import compare_runs, compare_wall, is_on_cpu
from fxscope.errors import PassError
from fxscope.index import index_of
from fxscope.model import replace
from fxscope.text import listed

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from fxscope.analysis.findings import AlignedBy, KernelUse, MatchKind, TimeComparison
    from fxscope.analysis.select import Unit
    from fxscope.model import Recording


def compare(
    a: Recording, b: Recording, *, runs_a: Sequence[Recording] = (), runs_b: Sequence[Recording] = ()
) -> Comparison:
    """Align the kernels of A and B by the nodes of a graph that both compiled, else by name, source line, module and op, in
    that order of trust; count the rest.

    Args:
        a: the recording that is compared.
        b: the one it is compared with.
        runs_a: more recordings of A's program, each of a process of its own: times are those of all of them.
        runs_b: the same of B's.

    Raises:
        PassError: recordings of one side launch different kernels.
    """
    sides = (a, *runs_a), (b, *runs_b)
    rows_a, rows_b = map(units_of, sides)
    matches = [build(sides, (rows_a, rows_b), *group) for group in align_both((a, b), rows_a[0], rows_b[0])]
    # A collective's kernel runs until the last rank is there: the late rank has the least of it
    apart = collective_us(a) is not None or collective_us(b) is not None
    steps = [[own_step_us(item) if apart else index_of(item).step_us for item in side] for side in sides]
    gone, added = op_changes(a, b)
    return Comparison(
        a_title=a.title or "A",
        b_title=b.title or "B",
        kernels=tuple(matches),
        totals=totals(*sides),
        step_time=compare_runs(*steps, on_cpu=is_on_cpu(a) or is_on_cpu(b)) if a.launches and b.launches else None,
        without_collectives=apart,
        wall_time=compare_wall(*sides),
        ops_gone=gone,
        ops_added=added,
        decisions=decision_changes(a, b),
        notes=notes(a, b, of_runs=bool(runs_a or runs_b)),
    )


def units_of(side: Sequence[Recording]) -> list[tuple[Unit, ...]]:
    """The kernels of each recording of one side, the same in all. Raises PassError."""
    rows = [select.units(recording) for recording in side]
    for recording, row in zip(side, rows, strict=True):
        if names_of(row) != names_of(rows[0]):
            raise PassError(
                f"{recording.title or 'a recording'} launches other kernels than {side[0].title or 'the first'}: "
                "the recordings of one side must be of one program."
            )
    return rows


# Any kernel may write its result in another layout: that says little of what it is.
COPIES = {"clone", "copy_", "contiguous"}


class Aligned(NamedTuple):
    """Kernels of A and of B that belong together, and what says so."""

    a: list[Unit]
    b: list[Unit]
    how: AlignedBy | None


def align_both(recordings: tuple[Recording, Recording], a: Sequence[Unit], b: Sequence[Unit]) -> list[Aligned]:
    """Pair by the nodes of graphs that both compiled, and what lies between such pairs by what else is known of it."""
    groups = [Aligned(x, y, "name" if names_of(x) == names_of(y) else "nodes") for x, y in regrouped(recordings, a, b)]
    cuts: list[tuple[int, int]] = []
    for x, y in sorted((group.a[0].position, group.b[0].position) for group in groups if len(group.a + group.b) == 2):
        if not cuts or y > cuts[-1][1]:
            cuts.append((x, y))
    stretches: dict[int, tuple[list[Unit], list[Unit]]] = {}
    for number, units in enumerate((a, b)):
        taken = {unit.position for group in groups for unit in (group.a, group.b)[number]}
        places = [cut[number] for cut in cuts]
        for unit in units:
            if unit.position not in taken:
                stretches.setdefault(bisect(places, unit.position), ([], []))[number].append(unit)
    groups += [group for stretch in stretches.values() for group in align(*stretch)]
    return rejoin(moved(recordings, groups))


def moved(recordings: tuple[Recording, Recording], groups: list[Aligned]) -> list[Aligned]:
    """Pair what is alone on both sides and the same (name, op, shapes of its inputs): it runs at another place of the step.

    As many on either side, in order; of another number nothing tells which is which.
    """
    alone: dict[Hashable, tuple[list[Aligned], list[Aligned]]] = {}
    for group in groups:
        if group.how is None:
            side, unit = (0, group.a[0]) if group.a else (1, group.b[0])
            op = select.op_launching(recordings[side], unit)
            if op is not None and op.shapes:
                key = *names_of([unit]), unit.ops, op.name, repr(op.shapes), op.dtypes, unit.modules, unit.backward
                alone.setdefault(key, ([], []))[side].append(group)
    found: list[Aligned] = []
    taken: set[int] = set()
    for xs, ys in alone.values():
        if len(xs) == len(ys):
            found += [Aligned(x.a, y.b, "shapes") for x, y in zip(xs, ys, strict=True)]
            taken.update(map(id, (*xs, *ys)))
    return found + [group for group in groups if id(group) not in taken]


def align(a: Sequence[Unit], b: Sequence[Unit]) -> list[Aligned]:
    """Pair the kernels of the forward and those of the backward, each with their like."""
    sides = [by_direction(units) for units in (a, b)]
    if any(all(unit.backward is None for unit in units) for units in (a, b)):
        return align_pass(a, b)  # nothing tells which is which
    return rejoin([group for backward in (False, True) for group in align_pass(*(side[backward] for side in sides))])


def by_direction(units: Sequence[Unit]) -> dict[bool, list[Unit]]:
    """Forward and backward work; what does not say goes with what ran before it."""
    found: dict[bool, list[Unit]] = {False: [], True: []}
    backward = False
    for unit in units:
        backward = backward if unit.backward is None else unit.backward
        found[backward].append(unit)
    return found


def align_pass(a: Sequence[Unit], b: Sequence[Unit]) -> list[Aligned]:
    """Pair kernels: equal names in the same order first; what lies between two such pairs by source, module and op.

    A compiler may move work past a kernel that stayed: what a module is left with on both sides belongs together too.
    """
    pairs = same_names(a, b)
    groups = [Aligned([a[x]], [b[y]], "name") for x, y in pairs]
    groups += crossed(a, b, groups)
    done_a, done_b = ({unit.position for group in groups for unit in (group.a, group.b)[side]} for side in (0, 1))
    left: list[tuple[list[Unit], list[Unit]]] = []
    to_a = to_b = 0
    for at_a, at_b in [*pairs, (len(a), len(b))]:
        xs = [unit for unit in a[to_a:at_a] if unit.position not in done_a]
        ys = [unit for unit in b[to_b:at_b] if unit.position not in done_b]
        left.append(take(groups, xs, ys, "source", "module"))
        to_a, to_b = at_a + 1, at_b + 1
    rest = take(groups, [x for gap in left for x in gap[0]], [y for gap in left for y in gap[1]], "module")
    places = [{unit.position for unit in units} for units in rest]
    for gap in left:
        still = [[unit for unit in units if unit.position in at] for units, at in zip(gap, places, strict=True)]
        groups += between(still[0], still[1], anchored=bool(pairs))
    return rejoin(completed(at_home(groups)))


def same_names(a: Sequence[Unit], b: Sequence[Unit]) -> list[tuple[int, int]]:
    """The places of kernels with equal names in the same order, those of the same modules first.

    A library's kernel has one name wherever it runs: of two modules that both recordings have, it is other work.
    """
    shared = {module for unit in a for module in unit.modules} & {module for unit in b for module in unit.modules}
    of_a, of_b = ([shared.intersection(unit.modules) for unit in units] for units in (a, b))
    rows = [
        [(name, frozenset(modules)) for name, modules in zip(names_of(units), found, strict=True)]
        for units, found in ((a, of_a), (b, of_b))
    ]
    sure = [(x + at, y + at) for x, y, length in common(*rows) for at in range(length)]
    found: list[tuple[int, int]] = []
    to_a = to_b = 0
    for end_a, end_b in [*sure, (len(a), len(b))]:
        inside = common(names_of(a[to_a:end_a]), names_of(b[to_b:end_b])) if end_a > to_a and end_b > to_b else []
        for x, y, length in inside:
            places = [(to_a + x + at, to_b + y + at) for at in range(length)]
            found += [(x, y) for x, y in places if not (of_a[x] and of_b[y]) or of_a[x] & of_b[y]]
        found.append((end_a, end_b))
        to_a, to_b = end_a + 1, end_b + 1
    return found[:-1]


def crossed(a: Sequence[Unit], b: Sequence[Unit], pairs: list[Aligned]) -> list[Aligned]:
    """Pair what runs at another place of the step: as many kernels of one name, op, module and line on both sides."""
    paired = [{unit.position for pair in pairs for unit in (pair.a, pair.b)[side]} for side in (0, 1)]
    rows: dict[Hashable, tuple[list[Unit], list[Unit]]] = {}
    for side, units in enumerate((a, b)):
        for name, unit in zip(names_of(units), units, strict=True):
            if unit.modules and unit.ops:
                rows.setdefault((name, unit.ops, unit.modules, unit.sources), ([], []))[side].append(unit)
    found: list[Aligned] = []
    for xs, ys in rows.values():
        if len(xs) == len(ys):
            still = [
                [unit for unit in units if unit.position not in at] for units, at in zip((xs, ys), paired, strict=True)
            ]
            if len(still[0]) == len(still[1]):
                found += [Aligned([x], [y], "module") for x, y in zip(*still, strict=True)]
    return found


def at_home(groups: list[Aligned]) -> list[Aligned]:
    """Move each kernel that stands alone, or by kernels that do not run its op, to the one that runs that op of its line.

    A compiler gathers work from several places of a step (the routing of all experts): a line alone, or an op alone, then
    ties it to the wrong kernel or to none. Where several kernels could be meant, nothing is moved.
    """
    sides = [list(group.a) for group in groups], [list(group.b) for group in groups]
    for mine, theirs in (sides, sides[::-1]):
        homes: dict[tuple[str, str], set[int]] = {}  # (line, op) → groups whose other side has a kernel that runs it
        for number, group in enumerate(groups):
            for unit in theirs[number] if group.how != "name" else ():
                for line in unit.sources:
                    for op in unit.ops:
                        homes.setdefault((line, op), set()).add(number)
        for number, group in enumerate(groups):
            for unit in list(mine[number]) if group.how not in ("name", "nodes") else ():
                names = called(unit)
                if any(names & called(other) or not other.ops for other in theirs[number]):
                    continue
                ties: dict[int, set[tuple[str, str]]] = {}
                for tie in ((line, op) for line in unit.sources for op in names - COPIES or names):
                    for home in homes.get(tie, ()):
                        ties.setdefault(home, set()).add(tie)
                best = max(ties, key=lambda home: len(ties[home]), default=None)
                # What ties it to another group ties it to this one, too, and more does.
                sure = best is not None and all(ties[best] > ties[home] for home in ties.keys() - {best})
                if best is not None and sure and all(compatible(unit, other) for other in theirs[best]):
                    mine[number].remove(unit)
                    mine[best].append(unit)
    result: list[Aligned] = []
    for group, *both in zip(groups, *sides, strict=True):
        a, b = (sorted(units, key=lambda unit: unit.position) for units in both)
        if a and b:
            result.append(Aligned(a, b, group.how or "source"))
        else:  # what is left of a group stands alone
            result += [Aligned([x], [], None) for x in a] + [Aligned([], [y], None) for y in b]
    return result


def called(unit: Unit) -> set[str]:
    """The ops that a kernel runs and those that called them: what is `clone` in a graph ran as its `copy_`."""
    callers = [name for name in unit.chain if "::" in name and not name.startswith("autograd::")]
    return {op_names.op_name(name) for name in (*unit.ops, *callers)}


def take(groups: list[Aligned], a: list[Unit], b: list[Unit], *order: AlignedBy) -> tuple[list[Unit], list[Unit]]:
    """Add to `groups` what is connected by one or the other, and return what is not."""
    for how in order:
        # Equal names can cross the order (a kernel moved); then what they are called comes before what they share.
        taken, a, b = connected(a, b, how) if a and b else ([], a, b)
        groups += taken
    return a, b


def names_of(units: Sequence[Unit]) -> list[str]:
    """What kernels are called, whichever graph of their process they are in."""
    return [op_names.without_graph_number(unit.kernel) for unit in units]


def completed(groups: list[Aligned]) -> list[Aligned]:
    """Add to each pair the kernels left alone, of one side, that run what only its other side runs: whole against whole.

    A fused kernel of B can stand at one of the kernels of A that it replaces; beside that one alone it looks slow.
    """
    alone_a = Alone([group.a[0] for group in groups if group.a and not group.b])
    alone_b = Alone([group.b[0] for group in groups if group.b and not group.a])
    found: list[Aligned] = []
    for group in groups:
        if not (group.a and group.b):
            continue
        more_a = [*taken_for(missing(group.a, group.b), alone_a, group.a), *of_modules(group.a, group.b, alone_a)]
        more_b = [*taken_for(missing(group.b, group.a), alone_b, group.b), *of_modules(group.b, group.a, alone_b)]
        if more_a or more_b:
            a, b = (sorted(units, key=lambda unit: unit.position) for units in (group.a + more_a, group.b + more_b))
            group = Aligned(a, b, "op")
        found.append(group)
    left = [Aligned([x], [], None) for x in alone_a.left.values()]
    return found + left + [Aligned([], [y], None) for y in alone_b.left.values()]


def missing(ours: list[Unit], theirs: list[Unit]) -> set[str]:
    """The ops that only the other side runs, under any name."""
    mine = work(ours)
    under_another = {op for unit in theirs if (called(unit) - set(unit.ops)) & mine for op in unit.ops}
    return work(theirs) - mine - under_another.union(*map(called, ours))


class Alone:
    """Kernels that nothing of the other side was found for, in their order, by what they run and by their modules.

    Steps of 100,000 kernels have as many of them as of pairs: none is looked at for each pair.
    """

    def __init__(self, units: list[Unit]) -> None:
        self.left: dict[int, Unit] = dict(enumerate(units))
        self._alike: dict[Hashable, list[tuple[int, int]]] = {}  # positions and numbers of kernels of one kind
        self._kinds: dict[str, dict[Hashable, set[str]]] = {}  # by op → all ops that kernels of such a kind run
        self._of_module: dict[str, list[int]] = {}
        for number, unit in self.left.items():
            kind = _kind(unit)
            if kind not in self._alike:
                runs = work([unit])
                for op in runs:
                    self._kinds.setdefault(op, {})[kind] = runs
            self._alike.setdefault(kind, []).append((unit.position, number))
            for module in unit.modules:
                self._of_module.setdefault(module, []).append(number)
        for row in self._alike.values():
            row.sort()

    def nearest(self, op: str, within: set[str], to: Unit) -> int | None:
        """The number of the kernel nearest to another one that runs an op, and nothing but some."""
        found: list[tuple[int, int]] = []
        for kind, runs in self._kinds.get(op, {}).items():
            row = self._alike[kind]
            if row and runs <= within and compatible(self.left[row[0][1]], to):
                at = bisect(row, (to.position, -1))
                near = row[at : at + 1] + ([row[bisect(row, (row[at - 1][0], -1))]] if at else [])
                found += [(abs(position - to.position), number) for position, number in near]
        return min(found)[1] if found else None

    def of_modules(self, modules: set[str]) -> list[int]:
        """The numbers of the kernels that are of some of these modules, and of no other."""
        numbers = {number for module in modules for number in self._of_module.get(module, ())} & self.left.keys()
        return sorted(number for number in numbers if modules.issuperset(self.left[number].modules))

    def take(self, number: int) -> Unit:
        unit = self.left.pop(number)
        row = self._alike[_kind(unit)]
        del row[bisect(row, (unit.position, number)) - 1]
        return unit


def _kind(unit: Unit) -> Hashable:
    """What `work` and `compatible` look at."""
    return unit.ops, unit.all_ops, unit.chain[-1:], unit.category, is_gemm(unit)


def taken_for(missing: set[str], alone: Alone, group: list[Unit]) -> list[Unit]:
    """Take out of `alone` the nearest kernel for each missing op, where it runs nothing else."""
    found: list[Unit] = []
    for op in sorted(missing):
        nearest = alone.nearest(op, missing, group[0])
        if nearest is not None and not any(op in work([unit]) for unit in found):
            found.append(alone.take(nearest))
    return found


def of_modules(ours: list[Unit], theirs: list[Unit], alone: Alone) -> list[Unit]:
    """Take out of `alone` the kernels of modules of which only the other side has some work here, and the same ops."""
    mine, other = ({module for unit in side for module in unit.modules} for side in (ours, theirs))
    if not (alone.left and mine & other and other - mine):
        return []
    run = work(theirs)
    numbers = alone.of_modules(other - mine)
    fits = [number for number in numbers if set() != work([alone.left[number]]) <= run]
    return [alone.take(number) for number in fits if compatible(alone.left[number], ours[0])]


def work(units: Sequence[Unit]) -> set[str]:
    """The ops that kernels run, empty where one does not say."""
    ops = [{op for op in unit.ops if not op_names.is_generated(op)} for unit in units]
    return set().union(*ops) if all(ops) else set()


def between(a: list[Unit], b: list[Unit], *, anchored: bool) -> list[Aligned]:
    """Group what is left between two kernels that stayed: connected by an op, else by their place."""
    groups: list[Aligned] = []
    a, b = take(groups, a, b, "op")
    real_a = [u for u in a if u.is_kernel]
    real_b = [u for u in b if u.is_kernel]
    if anchored and real_a and real_b:
        # Nothing names the link (a hand-written kernel shows no ops): same place between the same neighbours.
        groups.append(Aligned(real_a, real_b, "order"))
        a, b = ([u for u in side if not u.is_kernel] for side in (a, b))
    groups += [Aligned([x], [], None) for x in a] + [Aligned([], [y], None) for y in b]
    return groups


def connected(a: list[Unit], b: list[Unit], how: AlignedBy) -> tuple[list[Aligned], list[Unit], list[Unit]]:
    """The groups of A and B that share a source line, module or op, and what is left of both."""
    left_a, left_b = Left(a, how), Left(b, how)
    groups: list[Aligned] = []
    for at, y in enumerate(b):
        if at not in left_b.units:
            continue
        mine = [x for x in left_a.sharing(left_b.traits[at]) if compatible(a[x], y)]
        if not mine:
            continue
        if how == "op" and not y.is_kernel:
            mine = mine[:1]
        theirs = [at]
        alike = [z for z in left_b.alike(at) if compatible(a[mine[0]], b[z])]
        turns = left_a.turns(mine)
        if len(alike) > 1 and len(turns) > 1:  # the same again and again: the layers of a network
            for xs, zs in layers([[(x, a[x]) for x in turn] for turn in turns], [(z, b[z]) for z in alike]):
                groups.append(Aligned([left_a.units.pop(x) for x in xs], [left_b.units.pop(z) for z in zs], how))
            continue
        if len(mine) == 1:
            # The other way round: one kernel of A whose ops several kernels of B run.
            theirs = closest(
                a[mine[0]], {z: b[z] for z in left_b.sharing(left_a.traits[mine[0]]) if compatible(a[mine[0]], b[z])}
            )
            if left_a.sharing(set().union(*(left_b.traits[z] for z in theirs))) != mine:
                theirs = [at] if at in theirs else theirs[:1]
        groups.append(Aligned([left_a.units.pop(x) for x in mine], [left_b.units.pop(z) for z in theirs], how))
    return groups, list(left_a.units.values()), list(left_b.units.values())


def closest(unit: Unit, others: dict[int, Unit]) -> list[int]:
    """Of kernels that share a line those that run just the unit's ops, else those that run some of them, else all."""
    mine = work([unit])
    alike = [at for at, other in others.items() if mine and work([other]) == mine]
    return alike or [at for at, other in others.items() if work([other]) & mine] or list(others)


def layers(turns: list[list[tuple[int, Unit]]], alike: list[tuple[int, Unit]]) -> list[tuple[list[int], list[int]]]:
    """Pair what repeats, by the module that each is of; else in order where the counts divide; else all with all.

    Args:
        turns: of A, each a list of (place, kernel).
        alike: of B, one for each repetition or several.
    """
    places = [[x for x, _ in turn] for turn in turns]
    of_a = [{module for _, unit in turn for module in unit.modules} for turn in turns]
    of_b = [set(unit.modules) for _, unit in alike]
    shared = [[at for at, modules in enumerate(of_b) if modules & own] for own in of_a]
    if all(len(found) < 2 for found in shared) and any(shared) and all(of_a) and all(of_b):
        by_layer = {
            at: [x for turn, found in zip(places, shared, strict=True) if at in found for x in turn]
            for at in range(len(alike))
        }
        return [(xs, [alike[at][0]]) for at, xs in by_layer.items() if xs]
    more, fewer = max(len(turns), len(alike)), min(len(turns), len(alike))
    each = more // fewer
    if more % fewer:  # which is which cannot be told: whole against whole
        return [([x for turn in places for x in turn], [z for z, _ in alike])]
    if len(turns) == more:
        return [
            ([x for turn in places[i * each : (i + 1) * each] for x in turn], [z]) for i, (z, _) in enumerate(alike)
        ]
    return [(turn, [z for z, _ in alike[i * each : (i + 1) * each]]) for i, turn in enumerate(places)]


class Left:
    """Units that are in no group yet, by their place, and which of them share a trait."""

    def __init__(self, units: list[Unit], how: AlignedBy) -> None:
        self.units = dict(enumerate(units))
        self.traits = [traits(unit, how) for unit in units]
        self._what = [(frozenset(found), unit.ops) for found, unit in zip(self.traits, units, strict=True)]
        self._having: dict[str, list[int]] = {}
        self._alike: dict[object, list[int]] = {}
        for place, found in enumerate(self.traits):
            self._alike.setdefault(self._what[place], []).append(place)
            for trait in found:
                self._having.setdefault(trait, []).append(place)

    def alike(self, place: int) -> list[int]:
        """The places of those that have the same traits and run the same ops, in order."""
        return [other for other in self._alike[self._what[place]] if other in self.units]

    def turns(self, places: Sequence[int]) -> list[list[int]]:
        """Places in order, cut where what was there comes again: the layers of a network."""
        found: list[list[int]] = [[]]
        seen = set[object]()
        for place in places:
            if self._what[place] in seen:
                found.append([])
                seen.clear()
            seen.add(self._what[place])
            found[-1].append(place)
        return found

    def sharing(self, wanted: set[str]) -> list[int]:
        """The places of those that have one of the traits, in order."""
        found: set[int] = set()
        for trait in wanted & self._having.keys():
            self._having[trait] = [place for place in self._having[trait] if place in self.units]
            found.update(self._having[trait])
        return sorted(found)


def compatible(x: Unit, y: Unit) -> bool:
    """A memset is never a kernel's work; a line can hold a GEMM and a pointwise op, so ops must not contradict."""
    if (x.category == "gpu_memset") != (y.category == "gpu_memset"):
        return False
    known = bool(x.ops) and bool(y.ops) and all(not op.startswith("triton") for op in (*x.ops, *y.ops))
    plain = all("::" in item or not item for unit in (x, y) for item in unit.chain[-1:])
    return not (known and plain) or bool(set(x.all_ops) & set(y.all_ops)) or not (is_gemm(x) ^ is_gemm(y))


def is_gemm(unit: Unit) -> bool:
    """Whether the unit is a GEMM: by its decoded name, else by the op that launched it."""
    if unit.category == "cpu_kernel":
        # The op's own name: addmm copies its bias first, and that copy is no product.
        return op_names.is_gemm(unit.kernel)
    decoded = unit.launches[0].decoded if unit.launches else None
    if decoded and decoded.get("role") not in (None, "other"):
        return decoded["role"] in ("gemm", "gemv")
    return any(map(op_names.is_gemm, unit.all_ops))


def traits(unit: Unit, how: AlignedBy) -> set[str]:
    """What can connect a unit with one of the other side."""
    if how == "source":
        return set(unit.sources)
    if how == "module":
        return set(unit.modules)
    return {op for op in unit.ops if not op_names.is_generated(op)} | (unit.all_ops - {"view", "reshape"})


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


def build(
    sides: tuple[Sequence[Recording], Sequence[Recording]],
    rows: tuple[Sequence[Sequence[Unit]], Sequence[Sequence[Unit]]],
    group_a: list[Unit],
    group_b: list[Unit],
    how: AlignedBy | None,
) -> KernelMatch:
    """One match with its times and bytes; `rows` are the kernels of each recording of the two sides."""
    (a, *_), (b, *_) = sides
    uses_a = tuple(use(a, unit, [row[unit.position] for row in rows[0]]) for unit in group_a)
    uses_b = tuple(use(b, unit, [row[unit.position] for row in rows[1]]) for unit in group_b)
    time = None
    if group_a and group_b:
        runs_a, runs_b = (
            [together([row[unit.position] for unit in group]) for row in side]
            for group, side in ((group_a, rows[0]), (group_b, rows[1]))
        )
        on_cpu = any(unit.category == "cpu_kernel" for unit in (*group_a, *group_b))
        time = compare_runs(runs_a, runs_b, on_cpu=on_cpu) if runs_a[0] or runs_b[0] else None
        alike = len({unit.call is None for unit in (*group_a, *group_b)}) == 1
        time = like_with_like(time, work(group_a), work(group_b), how, comparable=alike) if time else None
    bytes_a, bytes_b = sum_bytes(uses_a), sum_bytes(uses_b)
    kind = "moved" if how == "shapes" else kind_of(group_a, group_b, whole=how == "nodes")
    comparable = group_a and group_b and (kind != "replaced" or len(group_a) == len(group_b))
    saved = bytes_a - bytes_b if comparable and bytes_a is not None and bytes_b is not None else None
    planned = not a.launches and not b.launches
    return KernelMatch(
        kind=kind,
        a=uses_a,
        b=uses_b,
        aligned_by=how,
        time=time,
        saved_bytes=saved,
        predicted_us=predicted_difference(uses_a, uses_b) if planned else None,
        not_predicted=tuple(item.kernel for item in (*uses_a, *uses_b) if planned and item.mean_us is None),
    )


def predicted_difference(a: Sequence[KernelUse], b: Sequence[KernelUse]) -> float | None:
    """How much longer a step of B is predicted to take; `None` where a kernel's time is not predicted."""
    if any(item.mean_us is None for item in (*a, *b)):
        return None
    times_a, times_b = (sum((item.mean_us or 0.0) * item.runs for item in side) for side in (a, b))
    return times_b - times_a


def other_work(a: set[str], b: set[str]) -> bool:
    """Whether two sets of ops differ, and all are torch's: what a program's own op does is not known."""
    return bool(a and b) and a != b and are_torchs(a | b)


def are_torchs(ops: set[str]) -> bool:
    return set(map(op_names.out_of_place, ops)) <= op_names.table().keys()


def like_with_like(
    time: TimeComparison, a: set[str], b: set[str], how: AlignedBy | None = None, *, comparable: bool = False
) -> TimeComparison:
    """Withhold a verdict that only says that one side does more work, or other work in the same place.

    Args:
        time: the verdict.
        a: the ops that A runs, empty where they are not known.
        b: the same of B.
        how: what paired the two.
        comparable: ops are called the same on both sides; those of an eager run and of its compiled form may not be,
            nor those of a program's own kernel.
    """
    if how == "nodes":
        return time
    if how == "order" and other_work(a, b) and time.ratio is not None:
        reason = f"{time.reason}; only their place between the same kernels ties the two"
        return replace(time, verdict="not the same work", reason=reason)
    more, less = (b - a, a - b) if time.verdict == "slower" else (a - b, b - a)
    if time.verdict not in ("slower", "faster") or not (more and a and b):
        return time
    if less and not (comparable and are_torchs(a | b)):
        return time
    side = "second" if time.verdict == "slower" else "first"
    reason = f"{time.reason}; only the {side} recording's kernel also runs {listed(sorted(more))}"
    return replace(time, verdict="not the same work", reason=reason)


def together(group: Sequence[Unit]) -> list[float]:
    """One sample per step: the sum over the group; nothing where a member was not measured in each step."""
    rows = [unit.samples_us for unit in group]
    if not rows or not all(rows) or len({len(row) for row in rows}) > 1:
        return []
    return [sum(column) for column in zip(*rows, strict=True)]


def kind_of(a: Sequence[Unit], b: Sequence[Unit], *, whole: bool = False) -> MatchKind:
    """What happened between two groups; `whole`: they run the same nodes."""
    if not a or not b:
        return "gone" if a else "new"
    if len(a) == len(b) == 1:
        return "same" if names_of(a) == names_of(b) else "replaced"
    if names_of(a) == names_of(b):
        return "same"
    ran_a, ran_b = work(a), work(b)
    # What one side runs besides is elsewhere in the other recording.
    if not whole and ((ran_a & ran_b and ran_a != ran_b) or other_work(ran_a, ran_b)):
        return "replaced"
    return "collapsed" if len(a) > len(b) else "split" if len(a) < len(b) else "replaced"
