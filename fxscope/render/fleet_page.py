"""A job of many ranks as one offline page: findings, ranks × steps, ranks × causes, plans, and each rank."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from fxscope.render import fleet_strip
from fxscope.render.fleet import change_line, facts, headline, marks, plan_line, ranges, scale, typical
from fxscope.render.legible import legible
from fxscope.render.page import html
from fxscope.text import counted, kernel_name, microseconds, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fxscope.fleet.model import Digest, Finding, Fleet, PlanGroup, RankLine

MAX_KERNELS = 12
MAX_CHANGES = 30
MAX_PROBLEMS = 40
STEP_COLUMNS = ("wall", "compute", "exposed", "idle_host", "idle_input", "host_work")


def render(fleet: Fleet, digests: Iterable[Digest]) -> str:
    script = "(() => {\n'use strict';\n" + html.asset("text.js") + "\n" + html.asset("fleet.js") + "\n})();"
    style = html.palette() + html.asset("fleet.css")
    data = json.dumps(payload(fleet, digests), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    title = escape(legible(fleet.title or "fleet"))
    problems = "".join(
        f"<li>{escape(legible(f'{p.where}: {sentence(p.message)} {p.remedy or str()}'))}</li>"
        for p in fleet.problems[:MAX_PROBLEMS]
    )
    more = f"<li>and {len(fleet.problems) - MAX_PROBLEMS} more</li>" if len(fleet.problems) > MAX_PROBLEMS else ""
    heading = counted(len(fleet.findings), "finding") if fleet.findings else "No finding"
    page = f"{legible(fleet.title or 'fleet')} · fxscope fleet"
    head = html.head(page, script, style, images="data:")
    return f"""{head}<body><main><div class="muted">{title}</div><h1>{escape(sentence(fleet.verdict))}</h1>
<div class="muted">{escape(facts(fleet))}</div>
<div class="scroll strip" tabindex="0">{fleet_strip.render(fleet, head=False)}</div>
<section aria-label="findings"><h2>{heading}</h2><div id="findings" class="cards"></div></section>
<section aria-label="ranks and steps"><h2>Ranks × steps: how late each rank came by its own work</h2>
<div>order by <button data-sort="rank">rank</button> <button data-sort="late">late</button>
<span class="muted">not late <span class="legend"></span> {escape(microseconds(scale(fleet)))} late</span></div>
<div id="tip" class="muted" role="status"></div>
<div id="heatbox" class="scroll" tabindex="0">
<canvas id="heat" role="img" aria-label="lateness by rank and step"></canvas></div>
<div id="rank" aria-live="polite"></div></section>
<section aria-label="ranks"><h2>Ranks × causes, a step (medians; a full bar is a whole step)</h2>
<div class="scroll" tabindex="0"><table id="table"></table></div><p id="more"></p></section>
<section aria-label="plans"><h2>{counted(len(fleet.plans), "plan")}</h2><div id="plans" class="cards"></div></section>
<section aria-label="rule"><h2>When a rank is named</h2><p class="muted">{escape(fleet.rule)}</p></section>
{f'<section aria-label="problems"><h2>Problems</h2><ul>{problems}{more}</ul></section>' if problems else ""}
</main><noscript>This page draws itself with a script inside this file. Allow scripts to see it.</noscript>
<script type="application/json" id="fleet">{data}</script>
<script>{script}</script></body></html>
"""


def payload(fleet: Fleet, digests: Iterable[Digest]) -> dict[str, Any]:
    by_rank = {item.rank: item for item in digests if item.rank is not None}
    said = marks(fleet)
    return {
        "steps": fleet.steps,
        "step": fleet.step_us or 1.0,
        "scale": round(scale(fleet), 1) or 1.0,
        "findings": [
            _changes(item)
            | {"headline": headline(item), "evidence": [legible(line) for line in item.evidence], "ranks": item.ranks}
            for item in fleet.findings
        ],
        "plans": [
            _changes(item)
            | {
                "headline": f"plan {number}: {counted(len(item.ranks), 'rank')} ({ranges(item.ranks)})",
                "line": plan_line(item).partition(": ")[2].partition(";")[0],
                "cause": item.cause,
            }
            for number, item in enumerate(fleet.plans)
        ],
        "ranks": [_rank(line, by_rank[line.rank], said) for line in fleet.ranks],
    }


def _changes(item: Finding | PlanGroup) -> dict[str, Any]:
    changes = [legible(change_line(change, 90)) for change in item.changes[:MAX_CHANGES]]
    return {"changes": changes, "num_changes": item.num_changes}


def _rank(line: RankLine, digest: Digest, said: Mapping[int, str]) -> dict[str, Any]:
    most = sorted(digest.plan.kernels, key=lambda item: -item.total_us)[:MAX_KERNELS]
    return {
        "rank": line.rank,
        "file": legible(line.file),
        "hostname": line.host and legible(line.host),
        "plan": line.plan,
        "late": round(typical(line), 1),
        "device": _round(line.compute_us),
        "data": _round(line.idle_input_us),
        "host": _round(line.idle_host_us),
        "exposed": _round(line.exposed_us),
        "lateness": line.lateness_us,
        "said": said.get(line.rank, ""),
        "steps": [
            [step.number, *(_round(getattr(step, f"{name}_us")) for name in STEP_COLUMNS), step.num_launches]
            for step in digest.steps
        ],
        "kernels": [[legible(kernel_name(item.name, 90)), item.most, round(item.total_us, 1)] for item in most],
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
