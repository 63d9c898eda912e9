"""A job of many ranks as one offline page: findings, ranks × steps, ranks × causes, plans, and each rank."""

from collections.abc import Iterable
from typing import Any

import msgspec

from fxscope.fleet.model import Digest, Finding, Fleet, PlanGroup, headline, ranges
from fxscope.render import fleet_strip
from fxscope.render.fleet import change_line, facts, marks, plan_line, scale
from fxscope.render.page import html
from fxscope.text import counted, kernel_name, sentence

MAX_KERNELS = 12
MAX_CHANGES = 30


def render(fleet: Fleet, digests: Iterable[Digest]) -> str:
    title = f"{fleet.title or 'fleet'} · fxscope fleet"
    return html.document(title, payload(fleet, digests), scripts="text base fleet", sheet="fleet.css")


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
            {
                "headline": f"plan {number}: {counted(len(item.ranks), 'rank')} ({ranges(item.ranks)})",
                "line": plan_line(item).partition(": ")[2].partition(";")[0],
                "cause": item.cause,
                **_changes(item),
            }
            for number, item in enumerate(fleet.plans)
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
    changes = [change_line(change, 90) for change in item.changes[:MAX_CHANGES]]
    return {"changes": changes, "num_changes": item.num_changes}


def _kernels(digest: Digest) -> list[tuple[str, int, float]]:
    most = sorted(digest.plan.kernels, key=lambda item: -item.total_us)[:MAX_KERNELS]
    return [(kernel_name(item.name, 90), item.most, item.total_us) for item in most]
