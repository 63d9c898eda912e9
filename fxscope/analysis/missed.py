"""Missed fusions as rows: equal pairs are one row, pairs that exclude each other stand in a bracket."""

from collections.abc import Iterable

from fxscope.analysis.groups import Phase, ends_of, groups, pattern, time_of
from fxscope.english import reason_text
from fxscope.index import grouped
from fxscope.model import Decision, Item, Recording, replace
from fxscope.passes.predicted import pair_runs
from fxscope.passes.unfused import TEMPLATES, stood_in_for

IMPOSSIBLE = "fallback cycle extern_attention extern_convolution epilogue_not_pointwise prologue_not_pointwise".split()
Pairs = list[tuple[int, Decision, float]]  # its position in `Recording.decisions`, a decision, its runs per step


class MissedRow(Item, frozen=True, kw_only=True):
    id: str
    producer: str
    consumer: str
    module: str | None = None
    names: tuple[str, ...] = ()  # for `fxscope why`
    count: int = 1
    time_us: float | None = None  # that one kernel would save per step; None where no model predicts it
    bytes: float | None = None  # per step
    reason_code: str = ""
    reason: str = ""
    hint_code: str | None = None
    hint: str | None = None
    decisions: tuple[int, ...] = ()  # positions in `Recording.decisions`
    bracket: int | None = None  # rows of one bracket exclude each other

    @property
    def is_possible(self) -> bool:
        """Return whether a pair could be fused: not of two library kernels; with a hint, or a reason that allows it.

        Eager pairs need a hint: without one, no known rule fuses them.
        """
        undecided = self.reason_code in (*IMPOSSIBLE, "eager") and self.hint_code is None
        return self.reason_code != "both_extern" and not undecided


class Bracket(Item, frozen=True, kw_only=True):
    """Missed fusions of which a kernel can join only one, and what they save together."""

    number: int
    time_us: float | None
    bytes: float | None


def short_reason(decisions: Iterable[Decision]) -> str:
    """The reason of decisions of one code without notes; without the details where these differ."""
    every = list(decisions)
    words = {reason_text(item.reason_code, item.reason_arguments, (), item.config) for item in every}
    first, is_general = every[0], len(words) > 1
    return reason_text(first.reason_code, first.reason_arguments, (), first.config, is_general=is_general)


def missed_rows(recording: Recording) -> tuple[tuple[MissedRow, ...], tuple[Bracket, ...]]:
    """Return the pairs that were not fused, most time saved first, equal ones as one row; and which exclude each other."""
    ends = ends_of(recording)
    by_label = grouped(groups(recording), lambda group: (group.label, group.phase))
    times: dict[object, float | None] = {key: time_of(recording, same) for key, same in by_label.items()}
    found: dict[object, Pairs] = {}
    for position, decision in enumerate(recording.decisions):
        if decision.verdict != "fused" and decision.saved_bytes != 0:
            a, b = ends(decision)
            runs = pair_runs(recording, decision)
            if runs == 0:
                continue
            old = short_reason([decision]) if decision.reason_code == "recorded" else ""
            key = (a.label, a.phase, b.label, b.phase, decision.reason_code, old, decision.hint_code)
            found.setdefault(key, []).append((position, decision, runs))
    rows: list[tuple[MissedRow, Pairs]] = []
    for same in found.values():
        first = same[0][1]
        a, b = ends(first)
        time_us = saved(recording, same, "expected_us")
        spent = [times.get(side) for side in {(a.label, a.phase), (b.label, b.phase)}]
        if time_us is not None and all(spent):
            time_us = min(time_us, sum(time or 0.0 for time in spent))
        modules = [module for _, decision, _ in same for end in ends(decision) for module in end.modules]
        sides = with_phase(a.label, a.phase if a.phase != b.phase else None), with_phase(b.label, b.phase)
        row = MissedRow(
            id="/".join(filter(None, ("→".join(sides), first.reason_code, first.hint_code))),
            producer=sides[0],
            consumer=sides[1],
            module=pattern(modules),
            names=(a.label, b.label) if a.ops and b.ops and "optimizer" not in (a.phase, b.phase) else (),
            count=max(1, round(sum(min(1.0, runs) for _, _, runs in same))),
            time_us=time_us,
            bytes=saved(recording, same, "saved_bytes"),
            reason_code=first.reason_code,
            reason=short_reason(decision for _, decision, _ in same),
            hint_code=first.hint_code,
            hint=first.hint,
            decisions=tuple(position for position, _, _ in same),
        )
        rows.append((row, same))
    rows.sort(key=lambda item: (-(item[0].time_us or 0.0), -(item[0].bytes or 0.0)))
    return _bracketed(recording, rows)


def with_phase(label: str, phase: Phase | None) -> str:
    return f"{label} (backward)" if phase == "backward" and "backward" not in label else label


def joins_library(recording: Recording, decision: Decision) -> bool:
    """Return whether one side is a library's or the program's kernel: such a pair excludes others of the same kernel."""
    return bool(set(stood_in_for(decision, recording)) - {TEMPLATES})


def _sides(decision: Decision) -> set[object]:
    return {end.call or (end.graph, end.nodes) for end in decision.ends}


def saved(recording: Recording, pairs: Iterable[tuple[int, Decision, float]], field: str) -> float | None:
    """Return what fusing pairs saves per step of `expected_us` or `saved_bytes`, `None` where that is not known of one.

    A kernel joins one library kernel only: such pairs count in order of their price until their kernels are taken.
    """
    priced = [(runs * (getattr(decision, field) or 0.0), decision) for _, decision, runs in pairs]
    if not priced or any(getattr(decision, field) is None for _, decision in priced):
        return None
    total, taken = 0.0, set[object]()
    for price, decision in sorted(priced, key=lambda pair: -pair[0]):
        if joins_library(recording, decision):
            if _sides(decision) & taken:
                continue
            taken |= _sides(decision)
        total += price
    return total


def _bracketed(
    recording: Recording, rows: list[tuple[MissedRow, Pairs]]
) -> tuple[tuple[MissedRow, ...], tuple[Bracket, ...]]:
    """Number the rows whose pairs share a kernel that can join only one of them, rows of a bracket side by side."""
    if not rows:
        return (), ()
    from networkx import Graph, connected_components

    home: dict[object, int] = {}
    sharing: Graph[int] = Graph()
    sharing.add_nodes_from(range(len(rows)))
    for place, (_, pairs) in enumerate(rows):
        for _, decision, _ in pairs:
            sides = _sides(decision) if joins_library(recording, decision) else ()
            sharing.add_edges_from((place, home.setdefault(side, place)) for side in sides)
    found: list[tuple[float, float, list[MissedRow], float | None, float | None]] = []
    for places in connected_components(sharing):
        same = [rows[place] for place in sorted(places) if rows[place][0].is_possible]
        time_us = _together(recording, same, "expected_us", "time_us")
        size = _together(recording, same, "saved_bytes", "bytes")
        first = same[0][0] if same else rows[min(places)][0]
        # The rows of a bracket can save more together than a row before them alone.
        order = time_us or first.time_us or 0.0, size or first.bytes or 0.0
        found.append((*order, [rows[place][0] for place in sorted(places)], time_us, size))
    out, brackets = list[MissedRow](), list[Bracket]()
    for *_, same, time_us, size in sorted(found, key=lambda item: (-item[0], -item[1])):
        if len(same) > 1:
            brackets.append(Bracket(number=len(brackets) + 1, time_us=time_us, bytes=size))
        out += [replace(row, bracket=len(brackets) if len(same) > 1 else None) for row in same]
    return tuple(out), tuple(brackets)


def _together(recording: Recording, rows: list[tuple[MissedRow, Pairs]], of_pair: str, of_row: str) -> float | None:
    """Return what rows that share kernels save, where it is known of their pairs; at most the sum of the rows."""
    known = [saving for row, _ in rows if (saving := getattr(row, of_row)) is not None]
    total = saved(recording, [x for _, pairs in rows for x in pairs if getattr(x[1], of_pair) is not None], of_pair)
    return min(total, sum(known)) if total is not None and known else total
