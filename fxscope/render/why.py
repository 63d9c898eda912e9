"""The answer to "why" as text: the largest group of equal places, then the others in one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope import english
from fxscope.analysis import traced_regions
from fxscope.analysis.report import buffers_unknown
from fxscope.analysis.report import report as report_of
from fxscope.analysis.select import Place
from fxscope.analysis.why import what_became
from fxscope.index import index_of
from fxscope.render import decisions, labels, report
from fxscope.text import shorten, wrapped

if TYPE_CHECKING:
    from fxscope.analysis.why import Same, WhyAnswer
    from fxscope.model import Recording


def words(
    recording: Recording, answer: WhyAnswer, *, width: int, limit: int | None = 3, everything: bool = False
) -> str:
    """The answer as text: the largest group of equal places first, the exceptions after it."""
    parts = ["\n".join(wrapped(seen, width))] if (seen := traced_regions.lines(recording)) else []
    if not answer.names:
        rows = report.missed(report_of(recording), width, everything=everything, limit=limit or 12)
        parts += ["\n".join(rows)] if rows else [] if parts else [nothing(recording)]
    shown = answer.same if everything else answer.same[:1]
    for item in shown:
        several = len(answer.same) > 1 or item.count > 1
        parts += [f"×{item.count} {item.module or ''}".rstrip() + ":"] if several else []
        parts += same_words(recording, item, width=width, limit=limit)
    if rest := [line for item in answer.same[len(shown) :] for line in exception(recording, item, width)]:
        parts.append("\n".join(["Other places (--all shows each):", *rest]))
    return "\n\n".join(parts) + "\n"


def exception(recording: Recording, item: Same, width: int) -> list[str]:
    """One line of a group that is not the largest: how many places, where, what was decided."""
    place = f"  ×{item.count} {item.module or ''}".rstrip()
    if item.call is not None:
        calls, nodes = index_of(recording).calls, index_of(recording).nodes
        call = calls[item.call]
        return [shorten(f"{place}: {labels.kernel_title(call, nodes.get(call.graph, {}))}", width)]
    pairs = [f"{' → '.join(labels.Ends(recording)(one))}: {english.VERDICTS[one.verdict]}" for one in item.decisions]
    return [shorten(f"{place}: {pairs[0] if pairs else item.note}", width)]


def same_words(recording: Recording, item: Same, *, width: int, limit: int | None) -> list[str]:
    """Return what is known of one group of equal places."""
    parts: list[str] = []
    if item.note:
        parts.append("\n".join(wrapped(item.note.splitlines(), width)))
    if item.call is not None:
        parts.append(decisions.call_story(recording, index_of(recording).calls[item.call], width=width))
        lines = [
            f"{choice.subject}: a benchmark on the device will choose. Predicted: {labels.choice_words(choice)} "
            f"({choice.basis})"
            for choice in recording.choices
            if item.call in choice.calls
        ]
        parts += ["\n".join(wrapped(lines, width))] if lines else []
    elif not item.note and not (item.decisions and item.calls):
        parts += apart(recording, item, width)
    if item.decisions:
        shown = list(item.decisions[:limit])
        parts.append(decisions.render(recording, shown, width=width, asked=frozenset(item.nodes)).rstrip())
        if len(item.decisions) > len(shown):
            parts.append(f"… {len(item.decisions) - len(shown)} more: --limit 0 or --all")
    return parts


def apart(recording: Recording, item: Same, width: int) -> list[str]:
    """Return what became of nodes that ran in no kernel call."""
    place = Place(item.graph or "", tuple(node for _, node in item.nodes), None)
    parts = ["\n".join(wrapped(what_became(recording, place), width))]
    return parts


def nothing(recording: Recording) -> str:
    """Say why there is no decision to show."""
    if not recording.decisions:
        return "no decisions: nothing was compiled, and no eager ops pass a tensor on."
    if left := buffers_unknown(recording):
        return f"missed fusions unknown: {left}."
    return "no missed fusions: all kernels that share memory were fused, or there is one."
