"""Arrivals at a job's collectives: which rank is last."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from fxscope.model import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fxscope.fleet.model import Digest


class Arrivals(NamedTuple):
    """The last rank at each collective that could be aligned."""

    last: dict[int, int]
    total: dict[int, int]
    wait_us: dict[int, float]  # median over the others and over the collectives at which the rank is last


# Of these, members do not all end together: a receiver may be long done, or one rank sends to one.
_NOT_TOGETHER = ("send", "recv", "sendrecv", "broadcast", "gather", "scatter", "reduce")


def arrivals_of(by_rank: Mapping[int, Digest], problems: list[Problem]) -> Arrivals:
    """Align collectives by group and sequence number (by step and place in it where the trace has none)."""
    meetings: dict[tuple[object, ...], list[tuple[int, float, str]]] = {}
    for rank, digest in by_rank.items():
        known = {step.number for step in digest.steps if step.whole}
        c = digest.collectives
        for step, group, kind, sequence, place, duration in zip(
            c.step, c.group, c.kind, c.sequence, c.place, c.duration_us, strict=True
        ):
            if group < 0 or step not in known or kind.strip("_").lower() in _NOT_TOGETHER:
                continue
            info = digest.groups[group]
            key = (
                (info.name, info.ranks, sequence)
                if sequence is not None
                else (info.name, info.ranks, step, place, None)
            )
            meetings.setdefault(key, []).append((rank, duration, kind))
    last: Counter[int] = Counter()
    total: Counter[int] = Counter()
    waits: defaultdict[int, list[float]] = defaultdict(list)
    torn = 0
    for members in meetings.values():
        ranks, durations, kinds = zip(*members, strict=True)
        if len(members) < 2 or len({*kinds}) > 1 or len({*ranks}) < len(ranks):
            torn += len(members) > 1
            continue
        shortest = durations.index(min(durations))
        total.update(ranks)
        last[ranks[shortest]] += 1
        others = (*durations[:shortest], *durations[shortest + 1 :])
        waits[ranks[shortest]].append(median(others) - durations[shortest])
    if torn:
        message = f"{torn} collectives do not match between ranks (other kinds at the same place): left out"
        problems.append(Problem(where="fleet", message=message))
    return Arrivals(last, total, {rank: median(values) for rank, values in waits.items()})
