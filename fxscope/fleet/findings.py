"""Digests of a job → what is uneven about it. Ranks are compared by step, never by clock.

A collective makes everybody's step equally long, so the length of a step says nothing of who was late. Nor does the time
that a rank waited: where the host is the limit, the slowest rank by a hair waits for nobody and all others wait for it. What
decides is the work that a rank did itself: on the device, in its data loading, on its host. A rank is late where it needed
more of one of these than its peers, beyond what these differ by among themselves, and the others waited for it.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from fxscope.fleet import plans
from fxscope.fleet.model import Cause, Digest, Finding, Fleet, PlanGroup, RankLine, headline
from fxscope.fleet.quantities import FLOOR, FLOOR_OF_FEW, SIGMAS, WORDS, Excess, Peers, Table, median, table_of, typical
from fxscope.index import grouped
from fxscope.model import Problem
from fxscope.text import listed, microseconds

STEPS_OF_HOST = 3  # with fewer, a host that needed longer may be chance: what else differs comes first
LARGE_GROUP = 32
FEW_LAUNCHES = 0.02  # of a step's: so many more are work of their own
MAX_LISTED = 8
CHANGES = {"added": "here only", "missing": "missing here", "other_count": "run more or less often"}
SHOWN = ("own", "exposed", "wall", "compute", "idle_host", "idle_input", "idle_queued")
RULE = (
    f"A rank is late if, in the median step (in every step if there are two), it needs more device work, data loading, "
    f"waiting launched work or host work than the median of its peers, by more than {SIGMAS:g} robust standard deviations "
    f"of the peers' spread over ranks and steps (more for few samples) and more than {100 * FLOOR:.0f} % of a step "
    f"({100 * FLOOR_OF_FEW:.0f} % with fewer than three peers or a single step), and the others waited for it."
)


def examine(digests: Iterable[Digest], *, title: str = "") -> Fleet:
    """Return what the digests of one job show. Damaged and missing ranks are problems; the rest is compared without them."""
    everything = list(digests)
    problems = [problem for item in everything for problem in item.problems]

    def say(message: str) -> None:
        problems.append(Problem(where="fleet", message=message))

    by_rank = _by_rank(everything, problems)
    world = _world(by_rank, say)
    table = table_of(by_rank, problems)
    walls = table.columns["wall"]
    empty = [str(rank) for rank, row in zip(table.ranks, walls, strict=True) if np.isnan(row).all()]
    if empty and table.steps:
        say(f"ranks without a step to compare: {listed(empty, MAX_LISTED)}; a late one among them is not found")
    groups = plans.groups_of(by_rank)
    peers = _peers(table, groups)
    alone = [str(rank) for rank, others in peers.items() if not len(others.rows)] if len(peers) > 1 else []
    if any(group.program for group in groups):
        without = f"; no other rank runs the program of {listed(alone, MAX_LISTED)}" if alone else ""
        say(f"ranks send to each other and run different programs: equal ones are compared{without}")
    step_us = median(walls)

    def named() -> dict[int, Finding]:
        compared = [(row, rank) for row, rank in enumerate(by_rank) if len(peers[rank].rows)]
        found = {rank: _judge(peers[rank], row, step_us or 0.0, by_rank, groups) for row, rank in compared}
        return {rank: item for rank, item in found.items() if item is not None}

    late = named()
    if late and len(groups) > 1 and len(groups[0].ranks) == len(groups[1].ranks):
        groups = plans.groups_of(by_rank, late=late)  # no majority: who is on time is the rule
        late = named()
    findings = [*late.values(), *_plan_findings(groups, late)]
    few = len(table.steps) < STEPS_OF_HOST
    findings.sort(key=lambda x: (few and x.cause == "host", -(x.cost_us or 0.0), x.kind != "late", x.ranks))
    exposed = median(table.columns["exposed"])
    return Fleet(
        title=title,
        world=world,
        ranks=_lines(by_rank, peers, groups),
        steps=tuple(table.steps),
        even=not findings,
        verdict=_verdict(findings, table, by_rank, all_alone=len(alone) == len(peers)),
        rule=RULE,
        step_us=step_us,
        exposed_share=exposed / step_us if step_us and exposed is not None else None,
        findings=tuple(findings),
        plans=groups,
        problems=tuple(problems),
    )


# ---------------------------------------------------------------------- who is there


def _by_rank(digests: Sequence[Digest], problems: list[Problem]) -> dict[int, Digest]:
    found: dict[int, Digest] = {}
    for item in digests:
        if item.num_events is None or item.incomplete:  # a problem says why
            continue
        if item.rank is None:
            problems.append(Problem(where=item.file, message="left out: its rank is not known"))
        elif item.rank in found:
            message = f"left out: {found[item.rank].file} is of rank {item.rank} too"
            remedy = "Give the traces of one run, one a rank (--pattern)."
            problems.append(Problem(where=item.file, message=message, remedy=remedy))
        else:
            found[item.rank] = item
    return dict(sorted(found.items()))


def _world(by_rank: Mapping[int, Digest], say: Callable[[str], None]) -> int | None:
    """Return how many ranks the traces say that there are; note those that are not here."""
    worlds = sorted({item.world for item in by_rank.values() if item.world})
    if len(worlds) > 1:
        say(f"the traces say different world sizes ({', '.join(map(str, worlds))}): is this one job?")
    world = worlds[-1] if worlds else 0
    num_absent = world - sum(rank < world for rank in by_rank)
    if num_absent:  # a header may say any number
        absent = (str(rank) for rank in itertools.count() if rank not in by_rank)
        who = listed(list(itertools.islice(absent, min(num_absent, MAX_LISTED))), MAX_LISTED)
        who += f" ({num_absent - MAX_LISTED:,} more)" if num_absent > MAX_LISTED else ""
        say(f"{num_absent} of {world} ranks cannot be compared: {who}; a late one among them is not found")
    return world or None


def _peers(table: Table, groups: Sequence[PlanGroup]) -> dict[int, Peers]:
    """Return for each rank the ranks to compare it with: those of its program."""
    program = {rank: group.program for group in groups for rank in group.ranks}
    without_plan = -1 if any(program.values()) else 0
    rows = grouped(range(len(table.ranks)), lambda row: program.get(table.ranks[row], without_plan))
    found: dict[int, Peers] = {}
    for members in (np.array(members, np.intp) for members in rows.values()):
        shared = Peers(table, members)  # in a large group one rank moves no median: the group serves for all of them
        for row in members.tolist():
            is_large = len(members) > LARGE_GROUP
            found[table.ranks[row]] = shared if is_large else Peers(table, members[members != row])
    return found


# ---------------------------------------------------------------------- who is late


def _judge(
    peers: Peers, row: int, step_us: float, by_rank: Mapping[int, Digest], groups: Sequence[PlanGroup]
) -> Finding | None:
    """Return the lateness of one rank, `None` where it is within the spread or nobody waited."""
    excesses = {name: peers.excess(name, row, step_us) for name in WORDS}
    outside = {name: excess.typical for name, excess in excesses.items() if excess.typical > excess.limit}
    cost = typical(peers.lateness(row))
    if not outside or cost <= peers.floor * step_us:
        return None
    rank = peers.table.ranks[row]
    planned, changes, slower_us = None, (), 0.0
    if (reference := _reference(rank, groups)) is not None:
        here, there = by_rank[rank].plan, by_rank[reference].plan
        slower_us = plans.slower_us(here, there)
        changes, planned = plans.compare(here, there)
    parts = _parts(peers, row, planned, slower_us, outside)
    cause = max(parts, key=lambda name: parts[name])
    changes = changes if planned is not None else ()
    return Finding(
        kind="late",
        ranks=(rank,),
        cause=cause if parts[cause] > 0 else None,
        cost_us=round(cost, 1),
        evidence=_sentences(peers, row, excesses),
        changes=changes[: plans.MAX_CHANGES],
        num_changes=len(changes),
    )


def _parts(
    peers: Peers, row: int, planned: Cause | None, slower_us: float, outside: Mapping[str, float]
) -> dict[Cause, float]:
    """Return what a rank's excess consists of. Launching what others do not launch is work of the plan, not of the host."""
    device_us, host_us = outside.get("compute", 0.0), outside.get("host_work", 0.0)
    memory_us = typical(peers.over("allocation", row))
    parts: dict[Cause, float] = {name: outside.get(f"idle_{name}", 0.0) for name in ("input", "queued")}
    slower_us = min(device_us, max(0.0, slower_us))
    planned_us = max(0.0, device_us - slower_us) if planned else 0.0
    launches = peers.overall("launches") or 0.0
    more = typical(peers.over("launches", row))
    if planned is None and device_us:
        # Launches that not every step has are in no plan; they show here.
        if more > FEW_LAUNCHES * launches:
            planned, planned_us = "device_work", device_us
        else:
            slower_us = device_us
    if planned and host_us:
        each = (peers.overall("host_work") or 0.0) / max(1.0, launches)
        share = min(host_us, max(0.0, more) * each)
        planned_us, host_us = planned_us + share, host_us - share
    if memory_us > host_us / 2 > 0:
        parts["memory"], host_us = min(memory_us, host_us), max(0.0, host_us - memory_us)
    if planned:
        parts[planned] = planned_us
    return {**parts, "slower_kernels": slower_us, "host": host_us}


def _reference(rank: int, groups: Sequence[PlanGroup]) -> int | None:
    """A rank of the largest group of the rank's program; where it is alone in that one, of the next."""
    mine = next((group for group in groups if rank in group.ranks), None)
    program = [other for group in groups if mine and group.program == mine.program for other in group.ranks[:2]]
    return next((other for other in program if other != rank), None)


def _sentences(peers: Peers, row: int, excesses: Mapping[str, Excess]) -> tuple[str, ...]:
    columns = peers.table.columns
    found: list[str] = []
    for name, excess in excesses.items():
        if excess.typical > excess.limit:
            mine, theirs = (microseconds(us or 0.0) for us in (median(columns[name][row]), peers.overall(name)))
            found.append(f"{WORDS[name]} {mine} a step, peers {theirs} (spread ±{microseconds(excess.spread)})")
    waited, mine = peers.overall("exposed"), median(columns["exposed"][row])
    if waited is not None and mine is not None and waited > mine:
        exposed = f"{microseconds(waited)} a step in exposed communication, this rank {microseconds(mine)}"
        found.append(f"peers spent {exposed}")
    return tuple(found)


# ---------------------------------------------------------------------- plans


def _plan_findings(groups: Sequence[PlanGroup], late: Collection[int]) -> Iterator[Finding]:
    """Yield a finding for the ranks on time of each plan that differs in its work; a tuned launch configuration is none."""
    for group in groups:
        ranks = tuple(rank for rank in group.ranks if rank not in late)
        if group.cause is None or not ranks:
            continue
        majority, *others = (other for other in groups if other.program == group.program)
        total = sum(len(other.ranks) for other in (majority, *others))
        counts = Counter(CHANGES.get(change.change, change.change.replace("_", " ")) for change in group.changes)
        said = ", ".join(f"{number} {change}" for change, number in counts.items())
        yield Finding(
            kind="plan_differs",
            ranks=ranks,
            cause=group.cause,
            cost_us=None,
            evidence=(
                f"{group.num_kernels} kernels a step, {majority.num_kernels} on {len(majority.ranks)} of {total} ranks",
                *([f"kernels and ops: {said}"] if said else []),
            ),
            changes=group.changes,
            num_changes=group.num_changes,
        )


# ---------------------------------------------------------------------- the overview


def _lines(
    by_rank: Mapping[int, Digest], peers: Mapping[int, Peers], groups: Sequence[PlanGroup]
) -> tuple[RankLine, ...]:
    plan_of = {rank: i for i, group in enumerate(groups) for rank in group.ranks}
    return tuple(
        RankLine(
            rank=rank,
            file=digest.file,
            host=digest.host,
            plan=plan_of.get(rank),
            **{f"{name}_us": median(peers[rank].table.columns[name][row]) for name in SHOWN},
            late_us=round(typical(late), 1),
            lateness_us=tuple(None if us != us else round(us, 1) for us in late.tolist()),
        )
        for row, (rank, digest) in enumerate(by_rank.items())
        for late in [peers[rank].lateness(row)]
    )


def _verdict(findings: Sequence[Finding], table: Table, by_rank: Mapping[int, Digest], *, all_alone: bool) -> str:
    if not by_rank:
        return "no rank's trace could be read"
    if len(by_rank) == 1:
        return "one rank: nothing to compare"
    if not table.steps:
        return "no step that all ranks have could be compared"
    if not findings and all_alone:
        return "no two ranks run the same program: nothing to compare"
    if not findings:
        return f"no rank stands out among {len(by_rank)}, over {len(table.steps)} steps"
    return headline(findings[0])
