"""Plans of ranks: which ranks launch the same kernels, and in what the others differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fxscope.fleet.model import Cause, Digest, Plan, PlanChange, PlanGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_CHANGES = 40


class Interval(NamedTuple):
    """How often something is launched in a step: least and most over steps."""

    least: int = 0
    most: int = 0

    def plus(self, least: int, most: int) -> Interval:
        """Add end to end."""
        return Interval(self.least + least, self.most + most)

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
    net_us: float  # device time a step of what differs, here less there


def groups_of(digests: Mapping[int, Digest]) -> tuple[PlanGroup, ...]:
    """Return the ranks by plan, the largest group first; the others with what differs from it.

    Groups that are whole process groups (a pipeline stage has a plan of its own) are `by_role`.
    """
    by_signature: dict[str, list[int]] = {}
    for rank, digest in sorted(digests.items()):
        if digest.plan.signature is not None:
            by_signature.setdefault(digest.plan.signature, []).append(rank)
    ordered = sorted(by_signature.items(), key=lambda item: (-len(item[1]), item[1][0]))
    found: list[PlanGroup] = []
    kept: list[tuple[PlanGroup, Plan]] = []
    for signature, ranks in ordered:
        plan = digests[ranks[0]].plan
        same = next((i for i, (_, other) in enumerate(kept) if not compare(plan, other).changes), None)
        if same is not None:  # the counts vary from step to step, and nothing more is different
            kept[same] = (_with_ranks(kept[same][0], [*kept[same][0].ranks, *ranks]), kept[same][1])
            continue
        comparison = compare(plan, kept[0][1]) if kept else Comparison((), None, 0.0)
        group = PlanGroup(
            signature=signature,
            ranks=tuple(ranks),
            num_kernels=sum(item.most for item in plan.kernels),
            num_distinct=len(plan.kernels),
            cause=comparison.cause,
            changes=comparison.changes[:MAX_CHANGES],
            num_changes=len(comparison.changes),
        )
        kept.append((group, plan))
    roles = _are_roles([group for group, _ in kept], digests)
    for group, _ in kept:
        found.append(_as_role(group) if roles else group)
    return tuple(found)


def _with_ranks(group: PlanGroup, ranks: Iterable[int]) -> PlanGroup:
    from fxscope.model import replace

    return replace(group, ranks=tuple(sorted(ranks)))


def _as_role(group: PlanGroup) -> PlanGroup:
    from fxscope.model import replace

    return replace(group, by_role=True)


def _are_roles(groups: Sequence[PlanGroup], digests: Mapping[int, Digest]) -> bool:
    """Return whether each plan belongs to whole process groups of at least two ranks, smaller than the job."""
    if len(groups) < 2 or any(len(group.ranks) < 2 for group in groups):
        return False
    sets = {
        frozenset(item.ranks)
        for digest in digests.values()
        for item in digest.groups
        if item.ranks and 2 <= len(item.ranks) < len(digests)
    }
    for group in groups:
        ranks = frozenset(group.ranks)
        covered = frozenset().union(*(item for item in sets if item <= ranks))
        if covered != ranks:
            return False
    return True


def compare(here: Plan, there: Plan) -> Comparison:
    """Return in what a plan differs from another; what varies from step to step alike in both is no difference."""
    kernels, configurations, net_us = _kernel_changes(here, there)
    ops, shapes, same_ops = _op_changes(here, there)
    nodes = _node_changes(here, there)
    cause: Cause | None = None
    grown = _grown(here, there) if not here.ops and not there.ops else False
    # Another batch: the same ops, as often, on other shapes. Kernels may then be other ones too: libraries choose by shape.
    if (shapes and same_ops) or grown:
        cause = "shapes"
    elif kernels:
        more = all(
            change.change == "added" or (change.change == "other_count" and (change.total_us or 0) >= 0)
            for change in kernels
        )
        cause = "device_work" if more else "other_kernels"
    order = {"shapes": (*shapes, *kernels, *configurations, *ops)}.get(
        cause or "", (*kernels, *ops, *shapes, *configurations)
    )
    return Comparison((*nodes, *order), cause, net_us)


def _totals(plan: Plan) -> dict[str, Interval]:
    found: dict[str, Interval] = {}
    for item in plan.kernels:
        found[item.name] = found.get(item.name, NONE).plus(item.least, item.most)
    return found


def _kernel_changes(here: Plan, there: Plan) -> tuple[list[PlanChange], list[PlanChange], float]:
    """Return (kernels added, missing or launched another number of times; other configurations; device time of both)."""
    mine, theirs = _totals(here), _totals(there)
    us_here, us_there = _times(here), _times(there)
    kernels: list[PlanChange] = []
    net_us = 0.0
    for name in sorted({*mine, *theirs}):
        a, b = mine.get(name, NONE), theirs.get(name, NONE)
        if not a.apart(b):
            continue
        change = "added" if b == NONE else "missing" if a == NONE else "other_count"
        delta = us_here.get(name, 0.0) - us_there.get(name, 0.0)
        net_us += delta
        kernels.append(
            PlanChange(what="kernel", change=change, name=name, majority=str(b), here=str(a), total_us=round(delta, 3))
        )
    changed = {change.name for change in kernels}
    configurations: list[PlanChange] = []
    for name in sorted({*mine, *theirs} - changed):
        a_configs, b_configs = (
            {(k.grid, k.block): Interval(k.least, k.most) for k in p.kernels if k.name == name} for p in (here, there)
        )
        if any(a_configs.get(key, NONE).apart(b_configs.get(key, NONE)) for key in {*a_configs, *b_configs}):
            delta = us_here.get(name, 0.0) - us_there.get(name, 0.0)
            configurations.append(
                PlanChange(
                    what="kernel",
                    change="other_configuration",
                    name=name,
                    majority=_configs(b_configs),
                    here=_configs(a_configs),
                    total_us=round(delta, 3),
                )
            )
    kernels.sort(key=lambda change: -abs(change.total_us or 0))
    configurations.sort(key=lambda change: -abs(change.total_us or 0))
    return kernels, configurations, net_us


def _times(plan: Plan) -> dict[str, float]:
    found: dict[str, float] = {}
    for item in plan.kernels:
        found[item.name] = found.get(item.name, 0.0) + item.total_us
    return found


def _configs(configs: Mapping[tuple[str | None, str | None], Interval]) -> str:
    return "; ".join(
        f"grid {grid or '?'} block {block or '?'} ×{n}" for (grid, block), n in sorted(configs.items(), key=str)[:3]
    )


def _op_changes(here: Plan, there: Plan) -> tuple[list[PlanChange], list[PlanChange], bool]:
    """Return (ops added, missing or another number of times; ops on other shapes; whether the ops are the same)."""
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
        a, b = (
            Interval(sum(i.least for i in side.values()), sum(i.most for i in side.values())) for side in (mine, theirs)
        )
        if a.apart(b):
            if "::" in name:  # a generated kernel's own launch is among the kernels
                same = False
                change = "added" if b == NONE else "missing" if a == NONE else "other_count"
                ops.append(PlanChange(what="op", change=change, name=name, majority=str(b), here=str(a)))
            continue
        gone = [key for key in theirs if theirs[key].apart(mine.get(key, NONE))]
        new = [key for key in mine if mine[key].apart(theirs.get(key, NONE))]
        if gone and new:
            shapes.append(PlanChange(what="op", change="other_shapes", name=name, majority=gone[0], here=new[0]))
    shapes.sort(key=lambda change: "::" not in change.name)
    return ops, shapes, same


def _grown(here: Plan, there: Plan) -> bool:
    """Return whether, where no shapes were recorded, most kernels run another number of threads: another batch.

    A tuned kernel trades grid for block, and few do; a larger batch widens most grids at the same block.
    """
    a, b = ({(k.name, k.block): k for k in plan.kernels} for plan in (here, there))
    common = [key for key in a if key in b]
    other = [key for key in common if a[key].grid != b[key].grid and a[key].least == b[key].least == b[key].most]
    return len(other) >= 3 and 2 * len(other) > len(common)


def _node_changes(here: Plan, there: Plan) -> list[PlanChange]:
    """Return the first node at which the compiled graphs part, from the compile logs of both."""
    mine, theirs = dict(here.compiled), dict(there.compiled)
    for graph in [name for name in theirs if name in mine and mine[name] != theirs[name]]:
        a, b = dict(here.nodes).get(graph, ()), dict(there.nodes).get(graph, ())
        at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        return [
            PlanChange(
                what="node",
                change="other_configuration" if at < min(len(a), len(b)) else "added" if len(a) > len(b) else "missing",
                name=f"{graph}, node {at}",
                majority=b[at] if at < len(b) else None,
                here=a[at] if at < len(a) else None,
            )
        ]
    only = sorted(set(mine) ^ set(theirs)) if mine and theirs else []
    if only:
        side = "added" if only[0] in mine else "missing"
        return [PlanChange(what="node", change=side, name=f"graph {only[0]}", majority=None, here=None)]
    return []
