"""Differences between two recordings: kernels that stayed, collapsed, split, are new or gone, and their cost."""

from collections.abc import Sequence

from fxscope import op_names
from fxscope.analysis import select
from fxscope.analysis.compare.assign import assign, names_of, work
from fxscope.analysis.compare.decisions import decision_changes
from fxscope.analysis.compare.rest import collective_us, notes, op_changes, own_step_us, settings, totals
from fxscope.analysis.compare.uses import sum_bytes, use
from fxscope.analysis.findings import AlignedBy, Comparison, KernelMatch, KernelUse, MatchKind, TimeComparison
from fxscope.analysis.select import Unit
from fxscope.analysis.stats import compare_recorded, compare_wall, is_on_cpu
from fxscope.columns import uncollected
from fxscope.index import index_of
from fxscope.model import Recording, replace
from fxscope.text import listed


@uncollected()
def compare(a: Recording, b: Recording) -> Comparison:
    """Align the kernels of A and B by the nodes of a graph that both compiled, else by name, source line, module and op, in
    that order of trust; count the rest.
    """
    matches = [build((a, b), *group) for group in assign((a, b), select.units(a), select.units(b))]
    # A collective's kernel runs until the last rank is there: the late rank has the least of it
    apart = collective_us(a) is not None or collective_us(b) is not None
    steps = [own_step_us(item) if apart else index_of(item).step_us for item in (a, b)]
    gone, added = op_changes(a, b)
    return Comparison(
        a_title=a.title or "A",
        b_title=b.title or "B",
        settings=settings(a, b),
        kernels=tuple(matches),
        totals=totals(a, b),
        step_time=compare_recorded(*steps, on_cpu=is_on_cpu(a) or is_on_cpu(b)) if a.launches and b.launches else None,
        without_collectives=apart,
        wall_time=compare_wall(a, b),
        ops_gone=gone,
        ops_added=added,
        decisions=decision_changes(a, b),
        notes=notes(a, b),
    )


def build(
    sides: tuple[Recording, Recording], group_a: list[Unit], group_b: list[Unit], how: AlignedBy | None
) -> KernelMatch:
    """One match with its times and bytes."""
    uses_a, uses_b = (
        tuple(use(side, unit) for unit in group) for side, group in zip(sides, (group_a, group_b), strict=True)
    )
    time, samples = None, (together(group_a), together(group_b))
    if group_a and group_b and any(samples):
        on_cpu = any(unit.category == "cpu_kernel" for unit in (*group_a, *group_b))
        alike = len({unit.call is None for unit in (*group_a, *group_b)}) == 1
        time = compare_recorded(*samples, on_cpu=on_cpu)
        time = like_with_like(time, work(group_a), work(group_b), how, comparable=alike)
    bytes_a, bytes_b = sum_bytes(uses_a), sum_bytes(uses_b)
    kind = "moved" if how == "shapes" else kind_of(group_a, group_b, whole=how == "nodes")
    comparable = group_a and group_b and (kind != "replaced" or len(group_a) == len(group_b))
    saved = bytes_a - bytes_b if comparable and bytes_a is not None and bytes_b is not None else None
    planned = not any(side.launches for side in sides)
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
