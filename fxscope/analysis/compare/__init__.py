"""Differences between two recordings: kernels that stayed, collapsed, split, are new or gone, and their cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope import op_names
from fxscope.analysis import select
from fxscope.analysis.compare.assign import assign, names_of, work
from fxscope.analysis.compare.decisions import decision_changes
from fxscope.analysis.compare.rest import collective_us, notes, op_changes, own_step_us, settings, totals
from fxscope.analysis.compare.uses import sum_bytes, use
from fxscope.analysis.findings import Comparison, KernelMatch
from fxscope.analysis.stats import compare_runs, compare_wall, is_on_cpu
from fxscope.columns import uncollected
from fxscope.errors import PassError
from fxscope.index import index_of
from fxscope.model import replace
from fxscope.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.findings import AlignedBy, KernelUse, MatchKind, TimeComparison
    from fxscope.analysis.select import Unit
    from fxscope.model import Recording


@uncollected()
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
    matches = [build(sides, (rows_a, rows_b), *group) for group in assign((a, b), rows_a[0], rows_b[0])]
    # A collective's kernel runs until the last rank is there: the late rank has the least of it
    apart = collective_us(a) is not None or collective_us(b) is not None
    steps = [[own_step_us(item) if apart else index_of(item).step_us for item in side] for side in sides]
    gone, added = op_changes(a, b)
    return Comparison(
        a_title=a.title or "A",
        b_title=b.title or "B",
        settings=settings(a, b),
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
    not_predicted = tuple(item.kernel for item in (*uses_a, *uses_b) if planned and item.time_us is None)
    return KernelMatch(
        kind=kind,
        a=uses_a,
        b=uses_b,
        aligned_by=how,
        time=time,
        saved_bytes=saved,
        predicted_us=None if not_predicted or not planned else _total_us(uses_b) - _total_us(uses_a),
        not_predicted=not_predicted,
    )


def _total_us(uses: Sequence[KernelUse]) -> float:
    return sum((item.time_us or 0.0) * item.runs for item in uses)


def other_work(a: set[str], b: set[str]) -> bool:
    """Return whether two sets of ops differ, and all are torch's: what a program's own op does is not known."""
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
    """Return what happened between two groups; `whole`: they run the same nodes."""
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
