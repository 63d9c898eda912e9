"""What changed between two recordings: which kernels stayed, collapsed, split, are new or gone, and what that costs."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from fxscope import op_names
from fxscope.analysis import select
from fxscope.analysis.compare.rest import collective_us, decision_changes, notes, op_changes, own_step_us, totals
from fxscope.analysis.compare.uses import sum_bytes, use
from fxscope.analysis.findings import Comparison, KernelMatch
from fxscope.analysis.stats import compare_runs, compare_wall, is_on_cpu
from fxscope.errors import PassError
from fxscope.index import index_of
from fxscope.model import replace
from fxscope.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.findings import AlignedBy, KernelUse, MatchKind, TimeComparison
    from fxscope.analysis.select import Unit
    from fxscope.model import Recording


def compare(
    a: Recording, b: Recording, *, runs_a: Sequence[Recording] = (), runs_b: Sequence[Recording] = ()
) -> Comparison:
    """Align the kernels of A and B by name, source line, module and op, in that order of trust; count the rest.

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
    matches = [build(sides, (rows_a, rows_b), *group) for group in align(rows_a[0], rows_b[0])]
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
        notes=notes(a, b),
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


class Aligned(NamedTuple):
    """Kernels of A and of B that belong together, and what says so."""

    a: list[Unit]
    b: list[Unit]
    how: AlignedBy | None


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
    """Pair kernels: equal names in the same order first; what lies between two such pairs by source, module and op."""
    matcher = difflib.SequenceMatcher(None, names_of(a), names_of(b), autojunk=False)
    groups: list[Aligned] = []
    anchored = any(block.size for block in matcher.get_matching_blocks())
    for tag, a_low, a_high, b_low, b_high in matcher.get_opcodes():
        if tag == "equal":
            groups += [Aligned([x], [y], "name") for x, y in zip(a[a_low:a_high], b[b_low:b_high], strict=True)]
        else:
            groups += between(list(a[a_low:a_high]), list(b[b_low:b_high]), anchored=anchored)
    return rejoin(completed(groups))


def names_of(units: Sequence[Unit]) -> list[str]:
    """What kernels are called, whichever graph of their process they are in."""
    return [op_names.without_graph_number(unit.kernel) for unit in units]


def completed(groups: list[Aligned]) -> list[Aligned]:
    """Add to each pair the kernels left alone, of one side, that run what only its other side runs: whole against whole.

    A fused kernel of B can stand at one of the kernels of A that it replaces; beside that one alone it looks slow.
    """
    alone_a = [group.a[0] for group in groups if group.a and not group.b]
    alone_b = [group.b[0] for group in groups if group.b and not group.a]
    found: list[Aligned] = []
    for group in groups:
        if not (group.a and group.b):
            continue
        more_a = taken_for(work(group.b) - work(group.a), alone_a, group.a)
        more_b = taken_for(work(group.a) - work(group.b), alone_b, group.b)
        if more_a or more_b:
            a, b = (sorted(units, key=lambda unit: unit.position) for units in (group.a + more_a, group.b + more_b))
            group = Aligned(a, b, "op")
        found.append(group)
    return found + [Aligned([x], [], None) for x in alone_a] + [Aligned([], [y], None) for y in alone_b]


def taken_for(missing: set[str], alone: list[Unit], group: list[Unit]) -> list[Unit]:
    """Take out of `alone` the nearest kernel for each missing op, where it runs nothing else."""
    found: list[Unit] = []
    for op in sorted(missing):
        candidates = [unit for unit in alone if op in work([unit]) <= missing and compatible(unit, group[0])]
        if candidates and not any(op in work([unit]) for unit in found):
            nearest = min(candidates, key=lambda unit: abs(unit.position - group[0].position))
            alone.remove(nearest)
            found.append(nearest)
    return found


def work(units: Sequence[Unit]) -> set[str]:
    """The ops that kernels run, empty where one does not say."""
    ops = [{op for op in unit.ops if not op.startswith(("triton_", "cpp_fused"))} for unit in units]
    return set().union(*ops) if all(ops) else set()


def between(a: list[Unit], b: list[Unit], *, anchored: bool) -> list[Aligned]:
    """Group what lies between two kernels that stayed: connected by what they share, else by their place."""
    if not a or not b:
        return [Aligned([x], [], None) for x in a] + [Aligned([], [y], None) for y in b]
    groups: list[Aligned] = []
    order: tuple[AlignedBy, ...] = ("source", "module", "op")
    for how in order:
        # Equal names can cross the order (a kernel moved); then what they are called comes before what they share.
        taken, a, b = connected(a, b, how)
        groups += taken
    real_a = [u for u in a if u.category in ("kernel", "cpu_kernel")]
    real_b = [u for u in b if u.category in ("kernel", "cpu_kernel")]
    if anchored and real_a and real_b:
        # Nothing names the link (a hand-written kernel shows no ops): same place between the same neighbours.
        groups.append(Aligned(real_a, real_b, "order"))
        a, b = [u for u in a if u not in real_a], [u for u in b if u not in real_b]
    groups += [Aligned([x], [], None) for x in a] + [Aligned([], [y], None) for y in b]
    return groups


def connected(a: list[Unit], b: list[Unit], how: AlignedBy) -> tuple[list[Aligned], list[Unit], list[Unit]]:
    """The groups of A and B that share a source line, module or op, and what is left of both."""
    left_a, left_b = list(a), list(b)
    groups: list[Aligned] = []
    for y in b:
        if y not in left_b:
            continue
        keys = traits(y, how)
        mine = [x for x in left_a if keys & traits(x, how) and compatible(x, y)]
        if not mine:
            continue
        if how == "op" and y.category != "kernel" and y.category != "cpu_kernel":
            mine = mine[:1]
        theirs = [y]
        if len(mine) == 1:
            # The other way round: one kernel of A whose ops several kernels of B run.
            theirs = [z for z in left_b if traits(z, how) & traits(mine[0], how) and compatible(mine[0], z)]
            others = [x for x in left_a if x is not mine[0] and any(traits(x, how) & traits(z, how) for z in theirs)]
            theirs = [y] if others else theirs
        groups.append(Aligned(mine, theirs, how))
        left_a = [x for x in left_a if x not in mine]
        left_b = [z for z in left_b if z not in theirs]
    return groups, left_a, left_b


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
    return {op for op in unit.ops if not op.startswith(("triton_", "cpp_fused"))} | (unit.all_ops - {"view", "reshape"})


def rejoin(groups: list[Aligned]) -> list[Aligned]:
    """Order groups by where they are in A, those only in B by their place there."""
    return sorted(groups, key=lambda g: (g[0][0].position if g[0] else g[1][0].position, not g[0]))


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
        time = like_with_like(time, work(group_a), work(group_b)) if time else None
    bytes_a, bytes_b = sum_bytes(uses_a), sum_bytes(uses_b)
    saved = bytes_a - bytes_b if bytes_a is not None and bytes_b is not None and group_a and group_b else None
    planned = not a.launches and not b.launches
    return KernelMatch(
        kind=kind_of(group_a, group_b),
        a=uses_a,
        b=uses_b,
        aligned_by=how,
        time=time,
        saved_bytes=saved,
        predicted_us=predicted_difference(uses_a, uses_b) if planned else None,
        not_predicted=tuple(item.kernel for item in (*uses_a, *uses_b) if planned and item.mean_us is None),
    )


def predicted_difference(a: Sequence[KernelUse], b: Sequence[KernelUse]) -> float | None:
    """How much longer B is predicted to take; `None` where a kernel's time is not predicted."""
    times_a, times_b = [item.mean_us for item in a], [item.mean_us for item in b]
    if None in times_a or None in times_b:
        return None
    return sum(time or 0.0 for time in times_b) - sum(time or 0.0 for time in times_a)


def like_with_like(time: TimeComparison, a: set[str], b: set[str]) -> TimeComparison:
    """Withhold a verdict that only says that one side does more work."""
    more = b - a if time.verdict == "slower" and a < b else a - b if time.verdict == "faster" and b < a else set[str]()
    if not more or not a or not b:
        return time
    side = "second" if a < b else "first"
    reason = f"{time.reason}; only the {side} recording's kernel also runs {listed(sorted(more))}"
    return replace(time, verdict="not the same work", reason=reason)


def together(group: Sequence[Unit]) -> list[float]:
    """One sample per step: the sum over the group; nothing where a member was not measured in each step."""
    rows = [unit.samples_us for unit in group]
    if not rows or not all(rows) or len({len(row) for row in rows}) > 1:
        return []
    return [sum(column) for column in zip(*rows, strict=True)]


def kind_of(a: Sequence[Unit], b: Sequence[Unit]) -> MatchKind:
    """What happened between two groups."""
    if not a or not b:
        return "gone" if a else "new"
    if len(a) == len(b) == 1:
        return "same" if names_of(a) == names_of(b) else "replaced"
    if names_of(a) == names_of(b):
        return "same"
    return "collapsed" if len(a) > len(b) else "split" if len(a) < len(b) else "replaced"
