"""Plans of ranks: which ranks launch the same kernels, and in what the others differ."""

import functools
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from fxscope.fleet.model import Cause, Digest, Plan, PlanChange, PlanGroup
from fxscope.index import grouped

MAX_CHANGES = 40


class Interval(NamedTuple):
    least: int = 0
    most: int = 0

    def apart(self, other: "Interval") -> bool:
        """Return whether no count is in both: only then do two ranks differ, whatever varies from step to step."""
        return self.most < other.least or other.most < self.least

    def __str__(self) -> str:
        """Format "4" or "3–5"."""
        return str(self.least) if self.least == self.most else f"{self.least}–{self.most}"


NONE = Interval()
Counts = dict[str, dict[str, Interval]]


class Comparison(NamedTuple):
    """In what one plan differs from another, and what kind of difference it is."""

    changes: tuple[PlanChange, ...]
    cause: Cause | None  # None: they do the same work; at most launch configurations differ


def groups_of(digests: Mapping[int, Digest], *, late: Collection[int] = ()) -> tuple[PlanGroup, ...]:
    """The ranks by plan, the largest group first; the others with what differs from it.

    Ranks that send to each other may run different programs on purpose, as the stages of a pipeline do. Whether they do is
    not known, so there each plan that does other work is a program of its own. Of groups equally large, the one with fewest
    late ranks counts as the majority.
    """
    signed = sorted(rank for rank, digest in digests.items() if digest.plan.signature is not None)
    by_signature = grouped(signed, lambda rank: digests[rank].plan.signature)

    def order(ranks: Sequence[int]) -> tuple[int, int, int]:
        return -len(ranks), len({*ranks} & {*late}), min(ranks)

    kept: list[tuple[list[int], Plan]] = []
    for ranks in sorted(by_signature.values(), key=order):
        plan = digests[ranks[0]].plan
        same = next((mine for mine, other in kept if _same(plan, other)), None)
        if same is None:
            kept.append((list(ranks), plan))
        else:  # the counts vary from step to step, and nothing more is different
            same += ranks
    kept.sort(key=lambda item: order(item[0]))
    is_one_program = not any(digest.sends for digest in digests.values())
    programs: list[Plan] = []  # the plan that most ranks of each program run
    found: list[PlanGroup] = []
    for ranks, plan in kept:
        compared = ((number, compare(plan, first)) for number, first in enumerate(programs))
        known = next((item for item in compared if is_one_program or item[1].cause is None), None)
        if known is None:
            programs.append(plan)
        program, comparison = known or (len(programs) - 1, Comparison((), None))
        found.append(
            PlanGroup(
                signature=plan.signature or "",
                ranks=tuple(sorted(ranks)),
                num_kernels=sum(item.most for item in plan.kernels),
                cause=comparison.cause,
                changes=comparison.changes[:MAX_CHANGES],
                num_changes=len(comparison.changes),
                program=program,
            )
        )
    return tuple(found)


def _same(here: Plan, there: Plan) -> bool:
    """Return whether nothing in which two plans differ is more than a count that varies from step to step."""
    mine, theirs = ({kernel.name for kernel in plan.kernels if kernel.least} for plan in (here, there))
    has_own = mine - {k.name for k in there.kernels} or theirs - {k.name for k in here.kernels}  # quick: asked first
    return not has_own and not compare(here, there).changes


def compare(here: Plan, there: Plan) -> Comparison:
    """Return in what a plan differs from another; what varies from step to step alike in both is no difference."""
    times: defaultdict[str, float] = defaultdict(float)
    for sign, plan in ((1, here), (-1, there)):
        for kernel in plan.kernels:
            times[kernel.name] += sign * kernel.total_us
    kernels, configurations = _changes("kernel", _launched(here), _launched(there), times)
    ops, shapes = _changes("op", _called(here), _called(there)) if here.ops and there.ops else ([], [])
    ops = [change for change in ops if "::" in change.name]  # a generated kernel's own launch is among the kernels
    for found in (kernels, configurations):
        found.sort(key=lambda change: -abs(change.total_us or 0))
    shapes.sort(key=lambda change: "::" not in change.name)
    # Another batch: the same ops, as often, on other shapes. Kernels may then be other ones too: libraries choose by shape.
    if shapes and not ops:
        return Comparison((*shapes, *kernels, *configurations), "shapes")
    more = all(x.change == "added" or (x.change == "other_count" and (x.total_us or 0) >= 0) for x in kernels)
    cause = ("device_work" if more else "other_kernels") if kernels else None
    return Comparison((*kernels, *ops, *shapes, *configurations), cause)


def slower_us(here: Plan, there: Plan) -> float:
    """Return how much longer a step's launches take that both ranks make alike, in configuration and number."""
    theirs = {(k.name, k.grid, k.block, k.least, k.most): k.total_us for k in there.kernels}
    mine = {(k.name, k.grid, k.block, k.least, k.most): k.total_us for k in here.kernels}
    return sum(us - theirs[key] for key, us in mine.items() if key in theirs)


def _launched(plan: Plan) -> Counts:
    """Kernel → launch configuration → launches a step."""
    return {
        name: {f"grid {k.grid or '?'} block {k.block or '?'}": Interval(k.least, k.most) for k in kernels}
        for name, kernels in grouped(plan.kernels, lambda kernel: kernel.name).items()
    }


def _called(plan: Plan) -> Counts:
    """Op → shapes of its inputs → calls a step."""
    return {
        name: {op.shapes: Interval(op.least, op.most) for op in ops}
        for name, ops in grouped(plan.ops, lambda op: op.name).items()
    }


def _changes(
    what: Literal["kernel", "op"], here: Counts, there: Counts, times: Mapping[str, float] | None = None
) -> tuple[list[PlanChange], list[PlanChange]]:
    """(What is added, missing or runs another number of times; what runs as often, in other configurations or shapes)."""
    counts: list[PlanChange] = []
    configurations: list[PlanChange] = []
    other: Literal["other_configuration", "other_shapes"]
    other = "other_configuration" if what == "kernel" else "other_shapes"
    for name in sorted({*here, *there}):
        mine, theirs = here.get(name, {}), there.get(name, {})
        change = functools.partial(PlanChange, what=what, name=name, total_us=round(times[name], 3) if times else None)
        a, b = (
            Interval(sum(x.least for x in each), sum(x.most for x in each)) for each in (mine.values(), theirs.values())
        )
        if a.apart(b):
            word = "added" if b == NONE else "missing" if a == NONE else "other_count"
            counts.append(change(change=word, majority=str(b), here=str(a)))
            continue
        gone = [key for key in theirs if theirs[key].apart(mine.get(key, NONE))]
        new = [key for key in mine if mine[key].apart(theirs.get(key, NONE))]
        if gone and new:
            configurations.append(change(change=other, majority=gone[0], here=new[0]))
    return counts, configurations
