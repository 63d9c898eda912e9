"""Plans of ranks: which ranks launch the same kernels, and in what the others differ."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal, NamedTuple

from fxscope.fleet.model import Cause, Digest, Plan, PlanChange, PlanGroup, PlanKernel
from fxscope.index import grouped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

MAX_CHANGES = 40


class Interval(NamedTuple):
    """Launches per step: least and most over steps."""

    least: int = 0
    most: int = 0

    def apart(self, other: Interval) -> bool:
        """Return whether no count is in both: only then do two ranks differ, whatever varies from step to step."""
        return self.most < other.least or other.most < self.least

    def __str__(self) -> str:
        """Format "4" or "3–5"."""
        return str(self.least) if self.least == self.most else f"{self.least}–{self.most}"


NONE = Interval()


class Comparison(NamedTuple):
    """In what one plan differs from another, and what kind of difference it is."""

    changes: tuple[PlanChange, ...]
    cause: Cause | None  # None: they do the same work; at most launch configurations differ


def groups_of(digests: Mapping[int, Digest], *, late: Collection[int] = ()) -> tuple[PlanGroup, ...]:
    """The ranks by plan, the largest group first; the others with what differs from it.

    Ranks that send to each other may run different programs on purpose, as the stages of a pipeline do. Whether they do is
    not known, so there each plan that does other work is a program of its own.

    Args:
        digests: by rank.
        late: ranks known to be late: of groups equally large, one without them counts as the majority.
    """
    by_signature: dict[str, list[int]] = {}
    for rank, digest in sorted(digests.items()):
        if digest.plan.signature is not None:
            by_signature.setdefault(digest.plan.signature, []).append(rank)

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
    is_one_program = not any(_sends(digest) for digest in digests.values())
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


def majority_of(groups: Sequence[PlanGroup], group: PlanGroup) -> PlanGroup:
    """The plan that a group is compared with: the first of its program."""
    return next(other for other in groups if other.program == group.program)


def _sends(digest: Digest) -> bool:
    """Return whether the rank sends to single ranks."""
    return any(kind.strip("_").lower() in ("send", "recv", "sendrecv") for kind in digest.collectives.kind)


def _same(here: Plan, there: Plan) -> bool:
    """Return whether nothing in which two plans differ is more than a count that varies from step to step."""
    mine, theirs = ({kernel.name for kernel in plan.kernels if kernel.least} for plan in (here, there))
    if mine - {k.name for k in there.kernels} or theirs - {k.name for k in here.kernels}:
        return False  # told at once: a job may have as many plans as ranks
    return not compare(here, there).changes


def compare(here: Plan, there: Plan) -> Comparison:
    """Return in what a plan differs from another; what varies from step to step alike in both is no difference."""
    kernels, configurations = _kernel_changes(here, there)
    ops, shapes, same_ops = _op_changes(here, there)
    cause: Cause | None = None
    # Another batch: the same ops, as often, on other shapes. Kernels may then be other ones too: libraries choose by shape.
    if shapes and same_ops:
        cause = "shapes"
    elif kernels:
        more = all(
            change.change == "added" or (change.change == "other_count" and (change.total_us or 0) >= 0)
            for change in kernels
        )
        cause = "device_work" if more else "other_kernels"
    of_shapes, others = (*shapes, *kernels, *configurations, *ops), (*kernels, *ops, *shapes, *configurations)
    return Comparison(of_shapes if cause == "shapes" else others, cause)


def _kernel_changes(here: Plan, there: Plan) -> tuple[list[PlanChange], list[PlanChange]]:
    """(kernels added, missing or launched another number of times; other configurations)."""
    mine, theirs = (grouped(plan.kernels, lambda kernel: kernel.name) for plan in (here, there))
    kernels: list[PlanChange] = []
    configurations: list[PlanChange] = []
    for name in sorted({*mine, *theirs}):
        sides = mine.get(name, []), theirs.get(name, [])
        a, b = map(_total, sides)
        a_us, b_us = (sum(kernel.total_us for kernel in side) for side in sides)
        total_us = round(a_us - b_us, 3)
        ours, others = ({(k.grid, k.block): Interval(k.least, k.most) for k in side} for side in sides)
        change = functools.partial(PlanChange, what="kernel", name=name, total_us=total_us)
        if a.apart(b):
            kernels.append(change(change=_change(a, b), majority=str(b), here=str(a)))
        elif any(ours.get(key, NONE).apart(others.get(key, NONE)) for key in {*ours, *others}):
            other = change(change="other_configuration", majority=_configs(others), here=_configs(ours))
            configurations.append(other)
    for found in (kernels, configurations):
        found.sort(key=lambda change: -abs(change.total_us or 0))
    return kernels, configurations


def _total(items: Iterable[PlanKernel | Interval]) -> Interval:
    items = list(items)
    return Interval(sum(item.least for item in items), sum(item.most for item in items))


def _change(here: Interval, there: Interval) -> Literal["added", "missing", "other_count"]:
    return "added" if there == NONE else "missing" if here == NONE else "other_count"


def _configs(configs: Mapping[tuple[str | None, str | None], Interval]) -> str:
    return "; ".join(
        f"grid {grid or '?'} block {block or '?'} ×{n}" for (grid, block), n in sorted(configs.items(), key=str)[:3]
    )


def _op_changes(here: Plan, there: Plan) -> tuple[list[PlanChange], list[PlanChange], bool]:
    """(ops added, missing or another number of times; ops on other shapes; whether the ops are the same)."""
    if not here.ops or not there.ops:
        return [], [], False
    by_op: dict[str, tuple[dict[str, Interval], dict[str, Interval]]] = {}
    for side, plan in enumerate((here, there)):
        for item in plan.ops:
            by_op.setdefault(item.name, ({}, {}))[side][item.shapes] = Interval(item.least, item.most)
    ops: list[PlanChange] = []
    shapes: list[PlanChange] = []
    same = True
    for name, (mine, theirs) in sorted(by_op.items()):
        a, b = _total(mine.values()), _total(theirs.values())
        if a.apart(b):
            if "::" in name:  # a generated kernel's own launch is among the kernels
                same = False
                ops.append(PlanChange(what="op", change=_change(a, b), name=name, majority=str(b), here=str(a)))
            continue
        gone = [key for key in theirs if theirs[key].apart(mine.get(key, NONE))]
        new = [key for key in mine if mine[key].apart(theirs.get(key, NONE))]
        if gone and new:
            shapes.append(PlanChange(what="op", change="other_shapes", name=name, majority=gone[0], here=new[0]))
    shapes.sort(key=lambda change: "::" not in change.name)
    return ops, shapes, same
