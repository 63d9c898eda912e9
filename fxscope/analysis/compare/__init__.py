"""Differences between two recordings: kernels that stayed, collapsed, split, are new or gone, and their cost."""

from collections import Counter
from collections.abc import Sequence

from fxscope import op_names
from fxscope.analysis import select
from fxscope.analysis.compare.assign import are_torchs, assign, name_of, work
from fxscope.analysis.compare.decisions import decision_changes
from fxscope.analysis.compare.rest import collective_us, notes, op_changes, own_step_us, settings, totals
from fxscope.analysis.compare.uses import sum_bytes, sums, use, without_memsets
from fxscope.analysis.findings import AlignedBy, Comparison, KernelMatch, KernelUse, MatchKind, TimeComparison
from fxscope.analysis.select import Unit
from fxscope.analysis.stats import compare_recorded, compare_wall, is_whole_run
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
    steps = [own_step_us(item) if apart else index_of(item).us_without(()) for item in (a, b)]
    on_cpu = index_of(a).is_on_cpu or index_of(b).is_on_cpu
    each = "" if is_whole_run(a) and is_whole_run(b) else " per step"
    return Comparison(
        a_title=a.title or "A",
        b_title=b.title or "B",
        settings=settings(a, b),
        kernels=tuple(matches),
        totals=totals(a, b, each),
        step_time=compare_recorded(*steps, on_cpu=on_cpu) if a.launches and b.launches else None,
        each=each,
        without_collectives=apart,
        wall_time=compare_wall(a, b),
        ops=op_changes(a, b),
        decisions=decision_changes(a, b),
        notes=notes(a, b),
    )


def build(
    sides: tuple[Recording, Recording], group_a: list[Unit], group_b: list[Unit], how: AlignedBy | None
) -> KernelMatch:
    a, b = (tuple(use(side, unit) for unit in group) for side, group in zip(sides, (group_a, group_b), strict=True))
    kind = kind_of(a, b, how)
    time, samples = None, (sums(unit.samples_us for unit in group_a), sums(unit.samples_us for unit in group_b))
    if a and b and any(samples):
        time = compare_recorded(*samples, on_cpu=any(item.category == "cpu_kernel" for item in (*a, *b)))
        if how != "nodes":
            time = of_equal_work(time, work(group_a), work(group_b))
    bytes_a, bytes_b = sum_bytes(a), sum_bytes(b)
    comparable = a and b and (kind != "regrouped" or len(a) == len(b))
    return KernelMatch(
        kind=kind,
        a=a,
        b=b,
        aligned_by=how,
        time=time,
        saved_bytes=bytes_a - bytes_b if comparable and bytes_a is not None and bytes_b is not None else None,
    )


def of_equal_work(time: TimeComparison, a: set[str], b: set[str]) -> TimeComparison:
    """Withhold a verdict on kernels one of which does more work; the ops that each runs, none where they are not known."""
    more, less = (b - a, a - b) if time.verdict == "slower" else (a - b, b - a)
    is_known = a and b and (not less or are_torchs(a | b))
    if not (is_known and more) or time.ratio is None or time.verdict not in ("slower", "faster"):
        return time
    side = "second" if time.verdict == "slower" else "first"
    reason = f"only the {side} recording's kernel also runs {listed(sorted(more))}"
    return replace(time, verdict="not the same work", reason=f"{time.reason}; {reason}")


def kind_of(a: Sequence[KernelUse], b: Sequence[KernelUse], how: AlignedBy | None = None) -> MatchKind:
    """Return what became of kernels; "fused" only if one kernel is known to do the work of all."""
    if not a or not b:
        return "gone" if a else "new"
    a, b = ([item for item in side if not item.is_rare] or side for side in (a, b))
    main_a, main_b = map(without_memsets, (a, b))
    if [_named(item) for item in a] == [_named(item) for item in b]:
        return "moved" if how == "shapes" else "same"
    if len(a) > len(b) == 1 and does_all(b[0], a, how):
        return "fused"
    if len(main_a) == len(main_b) == 1:
        return "replaced"
    ran_a, ran_b = work(a), work(b)
    is_other = ran_a and ran_b and ran_a != ran_b and (ran_a & ran_b or are_torchs(ran_a | ran_b))
    if len(a) == len(b) or (is_other and how != "nodes"):
        return "regrouped"
    return "merged" if len(a) > len(b) else "split"


def _named(item: KernelUse) -> tuple[str, tuple[str, ...]]:
    """A kernel's name; of a generated one without the number that says which of its graph it is, but with its ops."""
    if item.kernel.startswith(("triton_", "cpp_")) or "_cpp_fused_" in item.kernel:
        return op_names.without_number(name_of(item)), item.ops
    return name_of(item), ()


def does_all(kernel: KernelUse, others: Sequence[KernelUse], how: AlignedBy | None) -> bool:
    """Return whether a kernel runs all ops of others, each of which runs some: what a library's call launches besides a
    kernel (a memset, a reduction of its partial results) shares its ops, and is not fused.
    """
    if not all(item.ops for item in others):
        return False
    if how == "nodes":
        calls = [item.call for item in others]
        return None not in calls and len(set(calls)) == len(calls)
    ran, wanted = (
        Counter(op_names.out_of_place(op) for item in side for op in item.ops) for side in ([kernel], others)
    )
    return wanted <= ran
