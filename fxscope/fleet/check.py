"""Expectations on a job, for CI: the same plan everywhere, nobody late by more than so much, little exposed communication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxscope.analysis import select
from fxscope.analysis.check.context import Answer, met, unknown
from fxscope.analysis.check.quantity import parse
from fxscope.analysis.findings import CheckReport
from fxscope.errors import PassError
from fxscope.text import listed, microseconds, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fxscope.fleet.model import Fleet


def check(fleet: Fleet, expectations: Mapping[str, Any], *, where: str = "the expectations") -> CheckReport:
    """Hold a job against expectations: `same_plan`, `even`, `lateness`, `exposed`, `ranks` (see `KINDS`).

    Raises:
        PassError: an unknown key or value, with the nearest known one.
    """
    wanted = {key: value for key, value in expectations.items() if key != "title"}
    if not wanted:
        raise PassError(f"{where}: nothing is expected. Write same_plan = true, or lateness = '<= 5 %'.")
    answers: dict[str, Answer] = {}
    for kind, value in wanted.items():
        if kind not in KINDS:
            raise PassError(f"{where}: unknown key {kind!r}. {select.nearest(kind, KINDS)}")
        try:
            answers[kind] = KINDS[kind](fleet, value)
        except PassError as error:
            raise PassError(f"{where}: {kind}: {error}") from None
    outcomes = tuple(answer.outcome(kind, fleet.title) for kind, answer in answers.items())
    return CheckReport(title=str(expectations.get("title") or fleet.title) or None, outcomes=outcomes)


def _yes(value: object, kind: str) -> None:
    if value is not True:
        raise PassError(f"write {kind} = true.")


def same_plan(fleet: Fleet, value: object) -> Answer:
    """`same_plan = true`: every rank launches the same kernels (stages of a pipeline: every rank of a stage)."""
    _yes(value, "same_plan")
    if not fleet.plans:
        return unknown("the same plan", "no trace holds launches that belong to a step")
    others = [group for group in fleet.plans if group.cause is not None and not group.by_role]
    ranks = [str(rank) for group in others for rank in group.ranks]
    expected = "the same plan on every rank"
    return met(not others, expected, f"another plan on ranks {listed(ranks)}" if ranks else expected)


def even(fleet: Fleet, value: object) -> Answer:
    """`even = true`: no rank stands out."""
    _yes(value, "even")
    if not fleet.steps or len(fleet.ranks) < 2:
        return unknown("no rank stands out", fleet.verdict)
    return met(fleet.even, "no rank stands out", fleet.verdict)


def lateness(fleet: Fleet, value: object) -> Answer:
    """`lateness = "<= 5 %"` (of a step) or `"<= 200 us"`: what the latest rank costs a step; 0 where none is named."""
    expected = parse(value)
    if not fleet.steps or fleet.step_us is None or len(fleet.ranks) < 2:
        return unknown(expected.text, fleet.verdict)
    late = [item for item in fleet.findings if item.kind == "late"]
    latest = max(late, key=lambda item: item.cost_us or 0.0, default=None)
    cost = (latest.cost_us or 0.0) if latest else 0.0
    share = isinstance(value, str) and "%" in value
    found = f"{percent(cost / fleet.step_us)} ({microseconds(cost)})" if share else microseconds(cost)
    reason = f"rank {latest.ranks[0]}: {latest.evidence[0]}" if latest and latest.evidence else None
    return met(expected.holds(cost / fleet.step_us if share else cost), expected.text, found, reason)


def exposed(fleet: Fleet, value: object) -> Answer:
    """`exposed = "<= 20 %"`: of a step, communication with nothing else running, waiting included (median over ranks)."""
    expected = parse(value)
    if fleet.exposed_share is None:
        return unknown(expected.text, "no step with communication could be compared")
    return met(expected.holds(fleet.exposed_share), expected.text, percent(fleet.exposed_share))


def ranks(fleet: Fleet, value: object) -> Answer:
    """`ranks = 8`: so many ranks could be compared."""
    expected = parse(value)
    return met(expected.holds(len(fleet.ranks)), expected.text, str(len(fleet.ranks)))


KINDS: dict[str, Callable[[Fleet, object], Answer]] = {
    kind.__name__: kind for kind in (same_plan, even, lateness, exposed, ranks)
}
