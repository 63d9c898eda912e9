"""A job of many ranks as one offline page: findings, ranks × steps, ranks × causes, plans, and each rank."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fxscope.analysis.compare import compare
from fxscope.fleet.model import Digest, Finding, Fleet, PlanGroup, headline
from fxscope.model import Recording
from fxscope.render import fleet_strip, strip
from fxscope.render.fleet import change_line, facts, marks, plan_line, scale
from fxscope.render.page import html
from fxscope.text import kernel_name, sentence

MAX_KERNELS = 12
MAX_CHANGES = 30


def render(fleet: Fleet, digests: Iterable[Digest], recordings: Mapping[int, Recording] | None = None) -> str:
    """Return the page. `recordings` (of ranks) are its report, which a click opens."""
    title = f"{fleet.title or 'fleet'} · fxscope fleet"
    data = payload(fleet, digests)
    if recordings:
        first, *others = recordings.values()
        found = [compare(first, other) for other in others]
        data |= {"reported": list(recordings), "report": html.render(first, others=others, comparison=found)}
    return html.document(title, data, scripts="text base fleet", sheet="fleet.css")


def reported(fleet: Fleet) -> list[int]:
    """The ranks whose own reports say most: the first of each finding and of each plan, at most three."""
    return list(dict.fromkeys(item.ranks[0] for item in (*fleet.findings, *fleet.plans)))[: strip.MAX_STRIPS]


def payload(fleet: Fleet, digests: Iterable[Digest]) -> dict[str, Any]:
    """What the page shows: the fleet's own fields, and what `fleet.py` says of them."""
    by_rank = {item.rank: item for item in digests if item.rank is not None}
    said = marks(fleet)
    return {
        **msgspec.structs.asdict(fleet),
        "verdict": sentence(fleet.verdict),
        "facts": facts(fleet),
        "strip": fleet_strip.render(fleet, head=False),
        "scale": scale(fleet) or 1.0,
        "findings": [
            {"headline": headline(item), "evidence": item.evidence, "ranks": item.ranks, **_changes(item)}
            for item in fleet.findings
        ],
        "plans": [
            {"headline": f"plan {at}, {plan_line(item).partition(';')[0]}", "cause": item.cause, **_changes(item)}
            for at, item in enumerate(fleet.plans)
        ],
        "ranks": [
            {
                **msgspec.structs.asdict(line),
                "said": said.get(line.rank, ""),
                "steps": by_rank[line.rank].steps,
                "kernels": _kernels(by_rank[line.rank]),
            }
            for line in fleet.ranks
        ],
    }


def _changes(item: Finding | PlanGroup) -> dict[str, Any]:
    return {"changes": [change_line(x, 90) for x in item.changes[:MAX_CHANGES]], "num_changes": item.num_changes}


def _kernels(digest: Digest) -> list[tuple[str, int, float]]:
    most = sorted(digest.plan.kernels, key=lambda item: -item.total_us)[:MAX_KERNELS]
    return [(kernel_name(item.name, 90), item.most, item.total_us) for item in most]
