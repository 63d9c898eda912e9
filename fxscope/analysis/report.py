"""The answer to "what limits this step, and what should I try first": typed rows, every number of them computed here.

`Report` is the one view model: the terminal, the page, Markdown, `--json`, the notebook and tools draw it and compute
nothing. Times are µs per step, medians over the steps that count (`fxscope.index`). Rows are sorted by what they print.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Literal

from fxscope.analysis import select, traced_regions
from fxscope.analysis.groups import KernelGroup, Phase, ends_of, groups, pattern
from fxscope.analysis.numerics import NumericsReport, numerics
from fxscope.analysis.purposes import PurposeRow, purpose_rows
from fxscope.analysis.rewrites import RewriteRow, rewrite_rows
from fxscope.analysis.serving import Serving, serving
from fxscope.columns import column
from fxscope.english import cudagraph_text, reason_text
from fxscope.index import grouped, index_of, kept
from fxscope.model import WHOLE, Item, Printed, encoded, replace
from fxscope.passes import bound
from fxscope.passes.predicted import pair_runs
from fxscope.passes.unfused import is_library
from fxscope.text import counted, kernel_name, listed, microseconds, num_bytes, of_roof, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fxscope.model import Decision, Recording, Source

SCHEMA = "fxscope-report/1"
NO_GAIN = "record_fusion_log"  # a hint that saves no time
BY_COMPILING = ("compile", "compile_template")  # hints to compile eager code
BREAKS = {"step_unsupported": "a call in this line cannot be traced"}  # torch gives no other words
IMPOSSIBLE = ("fallback", "extern_attention", "extern_convolution", "epilogue_not_pointwise", "prologue_not_pointwise")
WHOLE_RUN = "the whole run: no steps were recorded"
NO_PLACE = "place not recorded"
MIN_SHARE = 0.02  # of a step: what gains less is no advice
MAX_NAMES = 50  # characters of the names in a command
LONG_IDLE_NS = 1_000_000  # an op takes the CPU some 5 to 200 µs: the launch of one kernel explains no longer idle time
HAVE_FUSED = ("Adam", "AdamW", "SGD")  # optimizers with fused=True on a GPU (torch 2.11)


class StepRow(Item, frozen=True, kw_only=True):
    """The length of a step, and which side limits it."""

    wall_us: float | None = None
    basis: str = ""  # "median of 23 steps after the profiled ones"
    busy_us: float | None = None  # some stream of the device runs something
    busy_share: float | None = None
    idle_us: float | None = None
    device_us: float | None = None  # sum of the kernels
    launches: float = 0  # kernels, copies and fills that ran
    launch_calls: float = 0  # of the CPU: a graph's replay is one
    launches_range: tuple[int, int] | None = None  # of the steps, where they differ
    ops: float = 0  # dispatched
    on_cpu: bool = False
    predicted: bool = False
    bound: Literal["cpu", "gpu", "neither"] | None = None
    verdict: str = ""
    steps: int = 0  # that count
    left_out: int = 0  # observed steps that do not

    @property
    def is_whole(self) -> bool:
        """Return whether no steps were recorded."""
        return self.basis == WHOLE_RUN


class KernelRow(Item, frozen=True, kw_only=True):
    """Groups of one op and phase."""

    id: str
    label: str
    phase: Phase | None = None
    module: str | None = None
    count: int = 1
    launches: float = 0
    time_us: float | None = None
    share: float | None = None
    roof: float | None = None
    groups: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    attributed: bool = True


class MissedRow(Item, frozen=True, kw_only=True):
    """Equal pairs that were not fused."""

    id: str
    producer: str
    consumer: str
    module: str | None = None
    names: tuple[str, ...] = ()  # for `fxscope why`
    count: int = 1
    time_us: float | None = None  # that one kernel would save per step; None where no model predicts it
    is_least: bool = False  # time_us is a lower bound; else an expectation
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
    bytes: float | None = None


class CompileRow(Item, frozen=True, kw_only=True):
    """A graph break, a recompile or a compile that failed: where, how often, what it costs."""

    id: str
    where: str
    reason: str
    count: int = 1
    cost_us: float | None = None  # compile time
    hints: tuple[str, ...] = ()


class CudaGraphs(Item, frozen=True, kw_only=True):
    """The state of CUDA graphs: whether kernels are replayed from one."""

    state: Literal["on", "off", "skipped", "unknown"]
    reason: str = ""
    share: float | None = None  # of the kernels, copies and fills


class GraphMemory(Item, frozen=True, kw_only=True):
    """The most memory that a compiled graph needs at once, where, and for which buffers."""

    graph: str
    bytes: int
    call: str | None  # the kernel that runs then
    buffers: tuple[tuple[str, int], ...]  # (name, bytes), largest first


class Advice(Item, frozen=True, kw_only=True):
    """Something to try, and what it can gain at most per step."""

    text: str
    why: str
    gain_us: float | None = None


class Report(Printed, frozen=True, kw_only=True):
    """A recording's answer; see the module."""

    schema: str = SCHEMA
    title: str
    device: str | None = None
    torch: str | None = None
    contents: str = ""  # "1 compiled graph (forward + backward), eager AdamW"
    step: StepRow
    advice: tuple[Advice, ...] = ()
    next: tuple[str, ...] = ()  # commands; RECORDING stands for the input
    compile_us: float | None = None
    num_compiles: int = 0
    cold: bool | None = None  # nothing came from a cache
    cuda_graphs: CudaGraphs
    memory_peak_bytes: int | None = None
    kernels: tuple[KernelRow, ...] = ()
    missed: tuple[MissedRow, ...] = ()
    brackets: tuple[Bracket, ...] = ()
    failures: tuple[CompileRow, ...] = ()  # compiles that made no graph
    breaks: tuple[CompileRow, ...] = ()
    recompiles: tuple[CompileRow, ...] = ()
    unknown: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    serving: Serving | None = None
    purposes: tuple[PurposeRow, ...] = ()
    graph_memory: tuple[GraphMemory, ...] = ()
    numerics: NumericsReport | None = None
    rewrites: tuple[RewriteRow, ...] = ()
    groups: tuple[KernelGroup, ...] = ()

    def to_json(self) -> str:
        return encoded(self).decode()


def report(recording: Recording) -> Report:
    """Recording → its report."""
    return kept(recording, "report", _report)


def _report(recording: Recording) -> Report:
    found = groups(recording)
    step = step_row(recording)
    rows = kernel_rows(found, step.device_us)
    missed, brackets = missed_rows(recording)
    breaks, failures, recompiles = compile_rows(recording)
    environment = recording.environment
    made = Report(
        title=recording.title or "recording",
        device=f"plan for {environment.target}" if environment.target else environment.device,
        torch=environment.torch,
        contents=contents(recording, failures),
        step=step,
        compile_us=compile_us(recording),
        num_compiles=sum(item.failure is None for item in recording.compiles),
        cold=is_cold(recording),
        kernels=rows,
        groups=found,
        serving=serving(recording),
        purposes=purpose_rows(recording, found),
        rewrites=rewrite_rows(recording),
        missed=missed,
        brackets=brackets,
        failures=failures,
        breaks=breaks,
        recompiles=recompiles,
        cuda_graphs=cuda_graphs(recording),
        memory_peak_bytes=recording.memory.peak_bytes if recording.memory else None,
        graph_memory=graph_memory(recording),
        numerics=numerics(recording),
        unknown=tuple(unknown(recording)),
        problems=tuple(problem.message for problem in recording.problems),
    )
    made = replace(made, advice=tuple(advise(recording, made)))
    return replace(made, next=tuple(next_commands(recording, made)))


def is_compiled(recording: Recording) -> bool:
    """Return whether a recorded or planned step runs compiled code."""
    compiled = index_of(recording).compiled
    runs = {item.compile_id: item.runs for item in recording.compiles}
    return any(runs.get(item) != 0 for item in compiled) or bool(traced_regions.regions_of(recording))


def contents(recording: Recording, failures: Sequence[CompileRow]) -> str:
    """Return what ran, in a few words."""
    compiled = index_of(recording).compiled
    directions = {graph.direction for graph in recording.graphs if graph.stage == "post_grad"}
    parts: list[str] = []
    if compiled:
        both = " (forward + backward)" if "backward" in directions else ""
        parts.append(f"{counted(len(compiled), 'compiled graph')}{both}")
    elif traced_regions.regions_of(recording):
        regions = {title.partition(",")[0] for title in traced_regions.regions_of(recording)}
        parts.append(counted(len(regions), "compiled region"))
    if compiled and not is_compiled(recording):
        if failures:
            return f"{parts[0]}, none ran: {failures[0].reason} at {failures[0].where}"
        return f"{parts[0]}, none ran in the recorded steps"
    if failures and not parts:
        return "eager: torch.compile made no graph"
    optimizers = list(dict.fromkeys(group.label for group in groups(recording) if group.phase == "optimizer"))
    eager = any(graph.stage == "eager" for graph in recording.graphs)
    parts += [f"eager {listed(optimizers, 2)}"] if optimizers and parts else [] if parts or not eager else ["eager"]
    return ", ".join(parts)


def step_row(recording: Recording) -> StepRow:
    """The length of a step, and which side limits it."""
    index = index_of(recording)
    if recording.predicted is not None or (recording.environment.target and not recording.launches):
        return _planned_step(recording)
    times, walls = recording.step_times, index.wall_us
    wall = times.median_us if times is not None and not times.while_recording else median(walls) if walls else None
    on_cpu = "cpu_kernel" in set(column(recording.launches, "category"))
    limit = bound.of_recording(recording)
    busy = None if limit is None else limit.busy * limit.wall_us
    whole = [step.name for step in recording.steps] == [WHOLE]
    ops = [index.dispatched.get(step, 0) for step in index.steps]
    return StepRow(
        wall_us=wall,
        basis=WHOLE_RUN if whole else step_basis(recording),
        busy_us=busy,
        busy_share=limit.busy if limit else None,
        idle_us=max(0.0, limit.wall_us - busy) if limit is not None and busy is not None else None,
        device_us=index.device_us if recording.launches else total_us(groups(recording)),
        launches=index.num_launches if recording.launches else 0,
        launches_range=index.launches_range if recording.launches else None,
        launch_calls=index.launch_calls if recording.launches else 0,
        ops=median(ops),
        on_cpu=on_cpu,
        bound=limit.side if limit else None,
        verdict=limit.short if limit else "",
        steps=len(index.steps),
        left_out=len(index.launch_counts) - len(index.steps) if index.launch_counts else 0,
    )


def total_us(rows: Iterable[KernelGroup | KernelRow]) -> float | None:
    """The time of all rows; `None` where none is known."""
    times = [row.time_us for row in rows if row.time_us is not None]
    return sum(times) if times else None


def _planned_step(recording: Recording) -> StepRow:
    planned = recording.predicted
    device_us = planned.device_us if planned else total_us(groups(recording))
    wall = sum(planned.wall_range_us) / 2 if planned and planned.wall_range_us else None
    return StepRow(
        wall_us=wall,
        basis="predicted: nothing ran",
        busy_us=device_us,
        busy_share=min(1.0, device_us / wall) if wall and device_us else None,
        idle_us=max(0.0, wall - device_us) if wall and device_us else None,
        device_us=device_us,
        launches=sum(group.launches for group in groups(recording)),
        predicted=True,
        bound=planned.bound if planned else None,
        verdict={"cpu": "CPU-bound", "gpu": "GPU-bound"}.get((planned.bound if planned else None) or "", ""),
        steps=1,
    )


def step_basis(recording: Recording) -> str:
    """ "median of 23 steps after the profiled ones"."""
    times, number = recording.step_times, len(index_of(recording).wall_us)
    if times is None or times.while_recording:
        when = " while recording" if times is not None else ""
        return f"{'median of ' if number > 1 else ''}{counted(number, 'profiled step')}{when}"
    after = {"before": "before the profiled ones", "after": "after the profiled ones", "calls": "without a profiler"}
    median_of = "median of " if times.count > 1 else ""
    return f"{median_of}{counted(times.count, 'step')} {after.get(times.when, '')}".rstrip()


def kernel_rows(found: Sequence[KernelGroup], device_us: float | None) -> tuple[KernelRow, ...]:
    """The groups by op and phase, most device time first."""
    rows: list[KernelRow] = []
    for (label, phase), same in grouped(found, lambda group: (group.label, group.phase)).items():
        time_us = total_us(same)
        roofs = [(group.roof, group.time_us) for group in same if group.roof is not None and group.time_us]
        modules = [module for group in same for module in group.modules]
        rows.append(
            KernelRow(
                id="/".join(part for part in (phase, label) if part),
                label=label,
                phase=phase,
                module=pattern(modules),
                count=sum(group.count for group in same),
                launches=sum(group.launches for group in same),
                time_us=time_us,
                share=time_us / device_us if time_us is not None and device_us else None,
                roof=sum(roof * time for roof, time in roofs) / sum(time for _, time in roofs)
                if roofs and len(roofs) == len(same)
                else None,
                groups=tuple(group.id for group in same),
                calls=tuple(call for group in same for call in group.calls),
                attributed=all(group.attributed for group in same),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-(row.time_us or 0.0), -row.launches, row.label)))


def first_rows(rows: Sequence[KernelRow], most: int) -> Sequence[KernelRow]:
    """The first rows of a table that ran. A single row is not summed up as the rest."""
    ran = [row for row in rows if row.launches or row.time_us]
    return ran if len(ran) <= most + 1 else ran[:most]


def others(rows: Sequence[KernelRow], shown: int, step: StepRow) -> KernelRow | None:
    """The row of all rows but the first `shown`: what is left of the step's device time."""
    rest = rows[shown:]
    if not any(row.launches or row.time_us for row in rest):
        return None
    time_us = total_us(rest)
    return KernelRow(
        id="others",
        label=f"others ({counted(len(rest), 'row')})",
        count=sum(row.count for row in rest),
        launches=sum(row.launches for row in rest),
        time_us=time_us,
        share=time_us / step.device_us if time_us is not None and step.device_us else None,
        groups=tuple(group for row in rest for group in row.groups),
        calls=tuple(call for row in rest for call in row.calls),
    )


def short_reason(decision: Decision) -> str:
    """The reason in a few words, for a row of a table: without its notes."""
    words = reason_text(decision.reason_code, decision.reason_arguments, (), decision.config)
    return words.partition(";")[0].strip()


def common_reason(decisions: Iterable[Decision]) -> str:
    """The reason of several decisions of one code; without the details where these differ."""
    words = list(dict.fromkeys(map(short_reason, decisions)))
    return words[0] if len(words) == 1 else words[0].partition(":")[0]


def missed_rows(recording: Recording) -> tuple[tuple[MissedRow, ...], tuple[Bracket, ...]]:
    """Return the pairs that were not fused, most time saved first, equal ones as one row; and which exclude each other."""
    ends = ends_of(recording)
    times: dict[tuple[str, str | None], float] = {}
    for group in groups(recording):
        times[group.label, group.phase] = times.get((group.label, group.phase), 0.0) + (group.time_us or 0.0)
    found: dict[object, list[tuple[int, Decision, float]]] = {}
    for position, decision in enumerate(recording.decisions):
        if decision.verdict != "fused" and decision.saved_bytes != 0:
            a, b = ends(decision)
            runs = pair_runs(recording, decision)
            if runs == 0:
                continue
            old = short_reason(decision) if decision.reason_code == "recorded" else ""
            key = (a.label, a.phase, b.label, b.phase, decision.reason_code, old, decision.hint_code)
            found.setdefault(key, []).append((position, decision, runs))
    rows: list[tuple[MissedRow, list[tuple[int, Decision, float]]]] = []
    for same in found.values():
        first = same[0][1]
        a, b = ends(first)
        time_us, is_least = saved_us(recording, same)
        spent = [times.get(side) for side in {(a.label, a.phase), (b.label, b.phase)}]
        if time_us is not None and all(spent):
            time_us = min(time_us, sum(time or 0.0 for time in spent))
        modules = [module for _, decision, _ in same for end in ends(decision) for module in end.modules]
        sizes = [None if item.saved_bytes is None else item.saved_bytes * runs for _, item, runs in same]
        row = MissedRow(
            id=f"{a.label}→{b.label}/{first.reason_code}",
            producer=_with_phase(a.label, a.phase if a.phase != b.phase else None),
            consumer=_with_phase(b.label, b.phase),
            module=pattern(modules),
            names=(a.label, b.label) if a.ops and b.ops and "optimizer" not in (a.phase, b.phase) else (),
            count=max(1, round(sum(min(1.0, runs) for _, _, runs in same))),
            time_us=time_us,
            is_least=is_least,
            bytes=None if None in sizes else sum(size for size in sizes if size is not None),
            reason_code=first.reason_code,
            reason=common_reason(decision for _, decision, _ in same),
            hint_code=first.hint_code,
            hint=first.hint,
            decisions=tuple(position for position, _, _ in same),
        )
        rows.append((row, same))
    rows.sort(key=lambda item: (-(item[0].time_us or 0.0), -(item[0].bytes or 0.0)))
    return _bracketed(recording, rows)


def _with_phase(label: str, phase: Phase | None) -> str:
    return f"{label} (backward)" if phase == "backward" and "backward" not in label else label


def joins_library(recording: Recording, decision: Decision) -> bool:
    """Return whether one side is a library kernel: such a pair excludes others of the same kernel."""
    index = index_of(recording)
    for end in decision.ends:
        call = index.calls.get(end.call or "")
        nodes = index.nodes.get(end.graph, {})
        if call is not None and not call.is_generated:
            return True
        if call is None and any(is_library(nodes[name].target) for name in end.nodes if name in nodes):
            return True
    return False


def _sides(decision: Decision) -> set[object]:
    return {end.call or (end.graph, end.nodes) for end in decision.ends}


def saved_us(recording: Recording, pairs: Iterable[tuple[int, Decision, float]]) -> tuple[float | None, bool]:
    """Return what fusing pairs saves per step in µs, and whether that is a lower bound.

    A kernel joins one library kernel only: such pairs count in order of their price until their kernels are taken.
    """
    every = list(pairs)
    expected = all(decision.expected_us is not None for _, decision, _ in every)
    priced = [
        (runs * time, decision)
        for _, decision, runs in every
        if (time := decision.expected_us if expected else decision.saved_us) is not None
    ]
    if not priced or (not expected and len(priced) < len(every)):
        return None, False
    total, taken = 0.0, set[object]()
    for time, decision in sorted(priced, key=lambda pair: -pair[0]):
        if joins_library(recording, decision):
            if _sides(decision) & taken:
                continue
            taken |= _sides(decision)
        total += time
    return total, not expected


def _bracketed(
    recording: Recording, rows: list[tuple[MissedRow, list[tuple[int, Decision, float]]]]
) -> tuple[tuple[MissedRow, ...], tuple[Bracket, ...]]:
    """Number the rows whose pairs share a kernel that can join only one of them, rows of a bracket side by side."""
    from networkx import Graph, connected_components

    home: dict[object, int] = {}
    sharing: Graph[int] = Graph()
    sharing.add_nodes_from(range(len(rows)))
    for place, (_, pairs) in enumerate(rows):
        for _, decision, _ in pairs:
            sides = _sides(decision) if joins_library(recording, decision) else ()
            sharing.add_edges_from((place, home.setdefault(side, place)) for side in sides)
    members = list(map(sorted, connected_components(sharing)))
    together: list[float | None] = []
    for same in members:
        pairs = [pair for item in same for pair in rows[item][1] if pair[1].expected_us is not None]
        known = [time for item in same if (time := rows[item][0].time_us) is not None]
        total = saved_us(recording, pairs)[0]
        together.append(min(total, sum(known)) if total is not None and known else total)
    out: list[MissedRow] = []
    brackets: list[Bracket] = []
    # The rows of a bracket can save more together than a row before them alone.
    order = [
        (-(time or rows[same[0]][0].time_us or 0.0), place)
        for place, (same, time) in enumerate(zip(members, together, strict=True))
    ]
    for _, place in sorted(order):
        same = members[place]
        number = len(brackets) + 1 if len(same) > 1 else None
        out += [replace(rows[item][0], bracket=number) for item in same]
        if number is not None:
            brackets.append(Bracket(number=number, time_us=together[place]))
    return tuple(out), tuple(brackets)


def compile_us(recording: Recording) -> float | None:
    """Return how long compiling took in all, `None` where it is not known of each compile."""
    times = [item.duration_us for item in recording.compiles]
    return sum(time for time in times if time is not None) if times and None not in times else None


def is_cold(recording: Recording) -> bool | None:
    """Return whether no compile came from a cache; `None` where some did and some did not, or nothing is known."""
    hits = {item.cache == "hit" for item in recording.compiles if item.cache is not None}
    return not hits.pop() if len(hits) == 1 else None


def compile_rows(recording: Recording) -> tuple[tuple[CompileRow, ...], ...]:
    """The graph breaks; the compiles that made no graph, so that it runs eagerly; the recompiles, longest first."""
    every = recording.compiles
    breaks = [(item.break_source or item.source, item.break_reason, None) for item in every if item.break_reason]
    failures = [(item.source, item.failure, item.duration_us) for item in every if item.failure]
    recompiles = [
        (item.source, item.recompile_reason, item.duration_us)
        for item in every
        if item.recompile_reason and not item.failure
    ]
    return (
        _compile_rows("break", breaks, lambda text: BREAKS.get(first := _lines(text)[0], first)),
        _compile_rows("failure", failures, lambda text: re.sub("^Unsupported: (Dynamo )?", "", _lines(text)[0])),
        _compile_rows("recompile", recompiles, guard_of),
    )


def _compile_rows(
    kind: str, found: Iterable[tuple[Source | None, str, float | None]], reason_of: Callable[[str], str]
) -> tuple[CompileRow, ...]:
    """One row for each place and reason; reasons that differ only in numbers are one."""
    rows: list[CompileRow] = []
    for (where, _), same in grouped(
        found, lambda item: (select.place(item[0]) or NO_PLACE, re.sub(r"\d+", "#", reason_of(item[1])))
    ).items():
        text, costs = same[0][1], [cost for _, _, cost in same]
        rows.append(
            CompileRow(
                id=f"{kind}/{where}",
                where=where,
                reason=reason_of(text),
                count=len(same),
                cost_us=None if None in costs else sum(cost for cost in costs if cost is not None),
                hints=tuple(line.removeprefix("Hint: ") for line in _lines(text) if line.startswith("Hint: ")),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-(row.cost_us or 0.0), -row.count)))


def guard_of(reason: str) -> str:
    """The guard that failed and its line, "s.flag == 2 (train.py:9)", of Dynamo's words."""
    words = re.sub(r"^\d+/\d+: ", "", _lines(reason)[0])
    guard, _, comment = words.partition("  # ")
    at = re.search(r"([\w.-]+\.py:\d+)", comment)
    return f"{guard.strip()} ({at[1]})" if at else guard.strip()


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()] or ["reason not recorded"]


def replays(recording: Recording) -> int:
    """Return how many launches are replays of a CUDA graph."""
    runtimes = column(recording.launches, "runtime")
    replaying = {names for names in set(runtimes) if any("GraphLaunch" in name for name in names)}
    pairs = zip(column(recording.launches, "cuda_graph"), runtimes, strict=True)
    return sum(graph is not None or names in replaying for graph, names in pairs)


def cuda_graphs(recording: Recording) -> CudaGraphs:
    """Return whether kernels are replayed, from the launches; else what the compile was told."""
    replayed = replays(recording)
    if replayed:
        return CudaGraphs(state="on", share=replayed / len(recording.launches))
    asked = {item.cudagraphs for item in recording.compiles} - {None}
    told = next((item.cudagraph_skip for item in recording.compiles if item.cudagraph_skip), None)
    if told and asked != {False}:
        return CudaGraphs(state="skipped", reason=cudagraph_text(told))
    if recording.environment.target and True in asked:
        return CudaGraphs(state="on", reason="predicted: torch's checks find nothing that forbids a replay")
    skipped = next((item.message for item in recording.problems if "cudagraph" in item.message.lower()), None)
    if skipped or True in asked:
        return CudaGraphs(state="skipped", reason=skipped or "asked for, and nothing was replayed")
    if True in column(recording.ops, "captured"):
        return CudaGraphs(state="off", reason="captured here, not replayed")
    if not is_compiled(recording) and recording.launches:
        return CudaGraphs(state="off", reason="eager")
    if asked == {False}:
        return CudaGraphs(state="off", reason="mode does not ask for them")
    return CudaGraphs(
        state="off" if recording.launches else "unknown", reason="" if recording.launches else "nothing ran"
    )


def graph_memory(recording: Recording) -> tuple[GraphMemory, ...]:
    """The peak of each compiled graph, the largest first."""
    calls = index_of(recording).calls_of_graph
    found = [
        GraphMemory(
            graph=item.graph.removesuffix(":post_grad"),
            bytes=item.peak_memory.bytes,
            call=next(
                (
                    call.handle
                    for call in calls.get(item.graph, ())
                    if set(call.scheduler_nodes) & set(item.peak_memory.scheduler_nodes)
                ),
                None,
            ),
            buffers=item.peak_memory.buffers,
        )
        for item in recording.schedules
        if item.peak_memory is not None
    ]
    return tuple(sorted(found, key=lambda item: -item.bytes))


def advise(recording: Recording, made: Report) -> list[Advice]:
    """Return what to try, by what it can gain at most; nothing that cannot be done here."""
    step = made.step
    idle = _idle_advice(recording, made)
    failed, is_eager = _failure_advice(made), bool(recording.launches) and not is_compiled(recording)
    first = (failed or _eager_advice(made, idle)) if is_eager else []
    found = [*_optimizer_advice(made), *([] if is_eager else failed), *_compile_advice(made), *([] if first else idle)]
    library = next(
        (row for row in made.missed if row.time_us and row.hint_code not in (None, *BY_COMPILING, NO_GAIN)), None
    )
    if library is not None:
        total = next((item.time_us for item in made.brackets if item.number == library.bracket), library.time_us)
        found.append(
            Advice(
                text=f"{library.producer} → {library.consumer} ×{library.count}: {(library.hint or '').rstrip('.')}",
                why=f"~{microseconds(library.time_us)} (estimate)",
                gain_us=total or library.time_us,
            )
        )
    least = MIN_SHARE * (step.wall_us or step.device_us or 0.0)
    kept_ = [item for item in found if item.gain_us is None or item.gain_us >= least]
    return [*first, *sorted(kept_, key=lambda item: -(item.gain_us or 0.0))] or _no_advice(recording, made)


def _no_advice(recording: Recording, made: Report) -> list[Advice]:
    """Say why there is nothing to try: no kernel was observed, or the largest one leaves little to gain."""
    if not recording.launches and recording.step_times is not None:
        problem = f": {made.problems[0]}" if made.problems else ""
        return [Advice(text="Record again", why=f"no kernel was observed{problem}")]
    top = next((row for row in made.kernels if row.share), None)
    if top is None or made.step.wall_us is None:
        return []
    roof = f" at {of_roof(top.roof, 'its roof')}" if top.roof is not None else ""
    what = "kernels' time" if made.step.on_cpu else "device time"
    return [Advice(text="Nothing stands out", why=f"{top.label} takes {percent(top.share)} of the {what}{roof}")]


def _idle_advice(recording: Recording, made: Report) -> list[Advice]:
    """Advise CUDA graphs where the device waits for the CPU, unless most of the idle time is too long for launches."""
    step = made.step
    if step.bound != "cpu" or not step.idle_us or step.on_cpu:
        return []
    whole = [item.name for item in recording.steps] == [WHOLE]
    idle = f"the GPU idles {microseconds(step.idle_us)} of {'the run' if whole else 'each step'}"
    long_us, after = _long_idle(recording, step)
    replayed = (made.cuda_graphs.share or 0.0) >= 0.5 or (made.cuda_graphs.state == "on" and is_compiled(recording))
    if long_us > step.idle_us / 2:
        label = next((group.label for group in made.groups if after in group.kernels), after and kernel_name(after, 40))
        text = f"Look at what the CPU does {f'before {label}' if label else 'after the last kernel'}"
        why = f"{percent(min(1.0, long_us / step.idle_us))} of the idle time is in gaps ≥ 1 ms, the longest there"
    elif replayed:
        text, why = "Look at what the CPU does between replays", idle
    elif made.breaks and is_compiled(recording):
        return []
    elif (eager := _eager_share(recording, made)) > 0.5:
        text = "Compile the ops that run eagerly"
        why = f"{idle}, and {percent(eager)} of the launches are theirs"
    else:
        text = (
            'mode="reduce-overhead" (CUDA graphs)'
            if is_compiled(recording)
            else 'torch.compile(mode="reduce-overhead")'
        )
        why = f"{idle} while the CPU makes {counted(round(step.launch_calls), 'launch', 'launches')}"
    return [Advice(text=text, why=why, gain_us=step.idle_us)]


def _eager_share(recording: Recording, made: Report) -> float:
    """Return the share of launches beside compiled calls; 0 where no calls are known, as in a bare trace."""
    total = sum(row.launches for row in made.kernels)
    return sum(row.launches for row in made.kernels if not row.calls) / total if recording.calls and total else 0.0


def _long_idle(recording: Recording, step: StepRow) -> tuple[float, str | None]:
    """Return the idle time in long gaps of the median step in µs, and the kernel after the longest of them.

    Gaps of profiled steps are put to the scale of the steps that nobody watched.
    """
    index = index_of(recording)
    if recording.summary is None or not index.steps:
        return 0.0, None
    scale = step.wall_us / median(index.wall_us) if step.wall_us and index.wall_us else 1.0
    long = {number: [] for number in index.steps}
    for gap in recording.summary.gaps:
        if gap.step in long and gap.duration_ns * scale >= LONG_IDLE_NS:
            long[gap.step].append(gap)
    gaps = sorted(long.values(), key=lambda same: sum(gap.duration_ns for gap in same))[len(long) // 2]
    longest = max(gaps, key=lambda gap: gap.duration_ns, default=None)
    return sum(gap.duration_ns for gap in gaps) * scale / 1e3, longest.after if longest else None


def _eager_advice(made: Report, idle: list[Advice]) -> list[Advice]:
    """`torch.compile`, for what it can fuse or replay; everything else comes after it."""
    if idle:
        return idle
    rows = [row for row in made.missed if row.hint_code in BY_COMPILING]
    if not rows:
        return []
    traffic = sum(row.bytes or 0.0 for row in rows)
    why = f"{counted(sum(row.count for row in rows), 'pair')} of ops that it can fuse"
    why += f", {num_bytes(traffic)} of memory traffic" if traffic else ""
    return [Advice(text="torch.compile", why=why, gain_us=sum(row.time_us or 0.0 for row in rows) or None)]


def _optimizer_advice(made: Report) -> list[Advice]:
    rows = [row for row in made.kernels if row.phase == "optimizer" and "fused" not in row.label.lower()]
    if not rows or not made.step.device_us:
        return []
    time_us, launches = sum(row.time_us or 0.0 for row in rows), sum(row.launches for row in rows)
    name = rows[0].label.partition(" ")[0]
    return [
        Advice(
            text=f"{name}(fused=True), or compile the optimizer step"
            if name in HAVE_FUSED
            else "Compile the optimizer step",
            why=f"{microseconds(time_us)} in {launches:,.0f} launches",
            gain_us=time_us,
        )
    ]


def _compile_advice(made: Report) -> list[Advice]:
    """Graph breaks and recompiles to remove."""
    found: list[Advice] = []
    for row in made.breaks[:1]:
        found.append(Advice(text=f"Remove the graph break at {row.where}", why=row.reason))
    failed = {row.where for row in made.failures[:1]}
    for row in [row for row in made.recompiles if row.where not in failed][:1]:
        cost = f", {microseconds(row.cost_us)} of compiling" if row.cost_us is not None else ""
        found.append(Advice(text=f"Stop the recompiles of {row.where}", why=f"{row.reason}; ×{row.count}{cost}"))
    return found


def _failure_advice(made: Report) -> list[Advice]:
    """Advice for the first compile that made no graph: to stop recompiles that reached the limit, else torch's hint."""
    for row in made.failures[:1]:
        guard = next((item.reason for item in made.recompiles if item.where == row.where), None)
        text = f"Stop the recompiles of {row.where}" if guard else f"Let torch.compile compile {row.where}"
        after = guard or " ".join(row.hints[:1])
        return [Advice(text=text, why=f"it runs eagerly: {row.reason}{'. ' if after else ''}{after}")]
    return []


def unknown(recording: Recording) -> list[str]:
    """Return what could not be known, in a few words each."""
    out: list[str] = []
    nodes = [n for g in recording.graphs for n in g.nodes if n.op not in ("placeholder", "output", "get_attr")]
    covered = recording.coverage
    if covered and covered.unattributed:
        out.append(f"the op of {covered.unattributed} of {covered.device_events} device events")
    if recording.launches and not recording.graphs:
        out.append("graph nodes")
    if traced_regions.regions_of(recording) and not recording.calls:
        out.append("fusion decisions (--compile-log)")
    elif recording.launches and not any(n.outputs for n in nodes) and not recording.calls:
        out.append("missed fusions (record with fxscope run)")
    if nodes and not any(n.source and n.source.file for n in nodes):
        out.append("source lines")
    if recording.launches and not any(group.modules for group in groups(recording)):
        out.append("modules")
    lost = [n for g in recording.graphs if g.stage in ("post_grad", "eager") for n in g.nodes if n.kind == "unknown"]
    if lost:
        out.append(f"where {counted(len(lost), 'node')} ran")
    if left := buffers_unknown(recording):
        out.append(f"missed fusions: {left}")
    undecided = Counter(item.verdict for item in recording.decisions)[None]
    if undecided:
        out.append(f"why {counted(undecided, 'pair')} were not fused (TORCH_LOGS=fusion)")
    if recording.memory is None and set(column(recording.launches, "category")) - {"cpu_kernel"}:
        out.append("memory peak")
    return out


def buffers_unknown(recording: Recording) -> str:
    """Return which kernel calls can have no missed fusions because their buffers are not known; nothing of a single call."""
    judged = {end.call for item in recording.decisions if item.verdict is not None for end in item.ends}
    left = sum(call.reads is None and call.id not in judged for call in recording.calls)
    return f"the buffers of {left} of {counted(len(recording.calls), 'kernel call')} were not read" if left > 1 else ""


def quoted(name: str) -> str:
    """A name for a shell."""
    return name if re.fullmatch(r"[\w.,:/@·…-]+", name) else shlex.quote(name)


def next_commands(recording: Recording, made: Report) -> list[str]:
    """Commands that go on from here; RECORDING stands for the input."""
    found: list[str] = []
    pairs = [" ".join(map(quoted, row.names)) for row in made.missed if row.names and row.is_possible]
    if short := [pair for pair in pairs if len(pair) < MAX_NAMES]:
        found.append(f"fxscope why RECORDING {short[0]}")
    found.append("fxscope view RECORDING --all")
    found.append("fxscope view RECORDING -o page.html")
    return found
