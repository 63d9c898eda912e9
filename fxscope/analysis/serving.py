"""Passes of a serving engine in a trace: prefill or decode, with which graphs, and device time per phase.

vLLM and SGLang annotate each pass of the model. A device event belongs to the pass during which the CPU launched it.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from typing import Literal, NamedTuple

from fxscope.columns import column, distinct, marked, rows_of
from fxscope.index import known_sum
from fxscope.model import Item, Recording

ServingPhase = Literal["prefill", "decode", "mixed"]
_EXECUTE = re.compile(
    r"execute_(?:(?P<tokens>\d+)_)?(context|new)_(?P<context>\d+)(\(.*\))?_(generation|cached)_(?P<generation>\d+)"
)
_STEP = re.compile(r"step\[(?P<phase>\w+) bs=(?P<requests>\d+)(?: toks=(?P<tokens>\d+))?")
_PHASE_OF: dict[str, ServingPhase] = {"EXTEND": "prefill", "PREFILL": "prefill", "DECODE": "decode", "MIXED": "mixed"}
_ENGINES = {"vllm": "vLLM", "_C": "vLLM", "sglang": "SGLang", "sgl_kernel": "SGLang"}


class PhaseRow(Item, frozen=True, kw_only=True):
    """The passes of one phase; times are their device events', µs in all."""

    phase: ServingPhase | None  # None: outside of the annotated passes
    passes: int = 0
    requests: int = 0
    tokens: int | None = None
    replays: int = 0  # of CUDA or HIP graphs
    launches: int = 0
    layout: Literal["full graph", "piecewise graphs", "no graph"] = "no graph"
    time_us: float = 0.0


class Serving(Item, frozen=True, kw_only=True):
    engine: str | None
    phases: tuple[PhaseRow, ...]


class Pass(NamedTuple):
    start_ns: int
    end_ns: int
    phase: ServingPhase
    requests: int
    tokens: int | None


def parsed(name: str) -> tuple[ServingPhase, int, int | None] | None:
    """Parse an annotation (older vLLM: "execute_new_1_cached_31"): phase, requests, tokens; `None` where it names no pass."""
    if found := _EXECUTE.match(name):
        context, generation = int(found["context"]), int(found["generation"])
        phase: ServingPhase = "mixed" if context and generation else "prefill" if context else "decode"
        return phase, context + generation, int(found["tokens"]) if found["tokens"] else None
    if (found := _STEP.match(name)) and found["phase"] in _PHASE_OF:
        return _PHASE_OF[found["phase"]], int(found["requests"]), int(found["tokens"]) if found["tokens"] else None
    return None


def passes_of(recording: Recording) -> list[Pass]:
    """The annotated passes in order of time; one within another is the same pass."""
    known = {name: found for name in distinct(recording.ops, "name") if (found := parsed(name)) is not None}
    which = marked(recording.ops, "name", known.__contains__).nonzero()[0].tolist() if known else []
    rows = rows_of(recording.ops, "name", "start_ns", "duration_ns", which=which)
    found = [Pass(start, start + duration, *known[name]) for name, start, duration in rows]
    out: list[Pass] = []
    for item in sorted(found, key=lambda item: (item.start_ns, -item.end_ns)):
        if not out or item.start_ns >= out[-1].end_ns:
            out.append(item)
    return out


def serving(recording: Recording) -> Serving | None:
    """The passes, phases and layers of a recording; `None` without an annotated pass."""
    passes = passes_of(recording)
    if not passes or not recording.launches:
        return None
    rows: dict[ServingPhase | None, list[int]] = defaultdict(list)
    starts = [item.start_ns for item in passes]
    for row, launched in enumerate(column(recording.launches, "launched_ns")):
        at = -1 if launched is None else launched
        place = bisect_right(starts, at) - 1
        inside = place >= 0 and at < passes[place].end_ns
        rows[passes[place].phase if inside else None].append(row)
    durations, graphs, calls = (
        column(recording.launches, field) for field in ("duration_ns", "cuda_graph", "correlation")
    )
    phases: list[PhaseRow] = []
    for phase, mine in rows.items():
        members = [item for item in passes if item.phase == phase]
        replays = len({calls[row] for row in mine if graphs[row] is not None})
        phases.append(
            PhaseRow(
                phase=phase,
                passes=len(members),
                requests=sum(item.requests for item in members),
                tokens=known_sum(item.tokens for item in members) if members else None,
                replays=replays,
                launches=len(mine),
                layout="no graph" if not replays else "piecewise graphs" if replays > len(members) else "full graph",
                time_us=sum(durations[row] for row in mine) / 1e3,
            )
        )
    spaces = {name.partition("::")[0] for name in distinct(recording.ops, "name") if "::" in name}
    engines = {engine for space, engine in _ENGINES.items() if space in spaces}
    return Serving(
        engine=engines.pop() if len(engines) == 1 else None,
        phases=tuple(sorted(phases, key=lambda item: -item.time_us)),
    )
