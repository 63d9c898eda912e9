"""The first page: the report and its strip; and the comparison's rows."""

from collections.abc import Sequence
from typing import Any

import msgspec

from fxscope.analysis.advice import gaps_of_step
from fxscope.analysis.findings import Comparison, KernelUse, TimeComparison
from fxscope.analysis.report import Report, others, report
from fxscope.model import Recording
from fxscope.render import axis, diff, labels, strip
from fxscope.render.diff import decision_title, kind_words, number
from fxscope.render.report import MAX_ADVICE, MAX_KERNELS, MAX_MISSED, note_of_sum
from fxscope.text import sentence

MAX_GAPS = 5
KERNEL = ("label", "phase", "module", "count", "launches", "time_us", "share", "roof")
MISSED = ("producer", "consumer", "count", "decisions", "reason", "hint", "bracket")
COMPILE = "compile_id cache dynamic cudagraphs cudagraph_rerecords cudagraph_skip guard_us duration_us".split()


def first_page(recording: Recording) -> dict[str, Any]:
    made = report(recording)
    return {
        "what": what(recording, made),
        "times": "Lower bound" if made.step.is_lower_bound else "Predicted" if made.step.predicted else "Time",
        "unknown": made.unknown,
        "figures": strip.figures(made),
        "strip": strip.render(recording, head=False, in_page=True) if made.groups else None,
        "kernels": kernels(recording, made),
        "note": note_of_sum(made),
        "advice": [[item.text, item.why] for item in made.advice[:MAX_ADVICE]],
        "missed": missed(made)[:MAX_MISSED],
        "bound": made.step.bound,
        "each": ", median per step" if made.step.steps > 1 else made.step.each and ", per step",
        "coverage": labels.coverage_line(recording),
        "covered": recording.coverage and msgspec.to_builtins(recording.coverage),
        "assumptions": [[a.subject, a.assumed, a.because] for a in recording.assumptions],
        "problems": [[p.where, p.message, p.remedy] for p in recording.problems],
        "compiles": [
            {**{key: getattr(c, key) for key in COMPILE}, "guards": c.guards[:200], "num_guards": len(c.guards)}
            for c in recording.compiles
        ],
        "breaks": msgspec.to_builtins(made.breaks),
        "recompiles": msgspec.to_builtins(made.recompiles),
        "memory": msgspec.to_builtins(made.graph_memory),
        "gaps": msgspec.to_builtins(gaps_of_step(recording)[1][:MAX_GAPS]),
    }


def beside(recordings: Sequence[Recording]) -> str | None:
    if not 1 < len(recordings) <= strip.MAX_STRIPS or not all(report(item).groups for item in recordings):
        return None
    return strip.render(recordings[0], others=recordings[1:], in_page=True)


def kernels(recording: Recording, made: Report) -> list[dict[str, Any]]:
    position = {call.id: place for place, call in enumerate(recording.calls)}
    names = {group.id: group.kernels for group in made.groups}
    rest = others(made.kernels, MAX_KERNELS, made.step)
    out: list[dict[str, Any]] = []
    for row in [*made.kernels[:MAX_KERNELS], *([rest] if rest else [])]:
        kernel = next((name for group in row.groups for name in names[group]), None)
        ref = ["call", position[row.calls[0]]] if row.calls else ["kernel", kernel] if kernel else None
        fields = {field: getattr(row, field) for field in KERNEL}
        out.append(fields | {"kernel": kernel, "ref": None if row is rest else ref})
    return out


def missed(made: Report) -> list[dict[str, Any]]:
    """The missed fusions that can be had; of those that exclude each other, the first has the saving of all."""
    rows = axis.possible(made)
    first = {row.bracket or id(row): row for row in reversed(rows)}
    priced = {id(row): {"price": axis.saving(made, row), "or": axis.rivals(made, row)} for row in first.values()}
    return [{field: getattr(row, field) for field in MISSED} | priced.get(id(row), {"price": None}) for row in rows]


def what(recording: Recording, made: Report) -> str:
    if target := recording.environment.target:
        return f"A plan for {target}: what Inductor would write for it. Nothing was run."
    ran = [made.contents, made.device, made.step.verdict] if recording.launches or recording.ops else ["nothing ran"]
    return sentence(" · ".join(part for part in ran if part) or "a trace alone: kernels and times, no graph")


def comparison(recordings: Sequence[Recording], position: int, item: Comparison) -> dict[str, Any]:
    index = [{c.id: i for i, c in enumerate(r.calls)} for r in (recordings[0], recordings[position + 1])]

    def use(item: KernelUse, side: int) -> dict[str, Any]:
        return {**msgspec.structs.asdict(item), "call": index[side].get(item.call or "", -1)}

    def time(item: TimeComparison | None) -> dict[str, str] | None:
        return item and {"verdict": item.verdict, "reason": item.reason, "words": diff.factor(item) or item.verdict}

    return {
        "a": item.a_title,
        "b": item.b_title,
        "step": time(item.step_time),
        "wall": time(item.wall_time),
        "kernels": [
            {
                "kind": m.kind,
                "by": m.aligned_by,
                "a": [use(u, 0) for u in m.a],
                "b": [use(u, 1) for u in m.b],
                "time": time(m.time) if m.time and m.time.ratio is not None else None,
                "saved": m.saved_bytes,
                "change": kind_words(m),
            }
            for m in item.kernels
        ],
        "totals": [[c.subject, number(c.a, c.unit), number(c.b, c.unit)] for c in item.totals],
        "ops": [[c.subject, round(c.a or 0, 2), round(c.b or 0, 2)] for c in item.ops],
        "decisions": [[decision_title(d), d.a_verdict, d.b_verdict, d.a_reason, d.b_reason] for d in item.decisions],
        "notes": item.notes,
    }
