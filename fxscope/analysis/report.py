"""The answer to "what limits this step, and what should I try first": typed rows, every number of them computed here.

`Report` is the one view model: the terminal, the page, Markdown, `--json`, the notebook and tools draw it and compute
nothing. Times are µs per step: of a kernel, an op, a module or the step itself, the median over the steps that count of
what it takes in one (`fxscope.index`); such medians need not add up. Rows are sorted by what they print.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median, median_low
from typing import Any, Literal

from fxscope import gpus
from fxscope.analysis import select, traced_regions
from fxscope.analysis.advice import Advice, advise, next_commands
from fxscope.analysis.groups import KernelGroup, Phase, groups, pattern, time_of
from fxscope.analysis.missed import Bracket, MissedRow, missed_rows
from fxscope.analysis.numerics import NumericsReport, numerics
from fxscope.analysis.purposes import PurposeRow, purpose_rows
from fxscope.analysis.serving import Serving, serving
from fxscope.analysis.stats import is_whole_run
from fxscope.columns import array, column, distinct, positions, rows_of, uncollected
from fxscope.english import cudagraph_text, explained, guard_hint, guard_text, headline, hints_in
from fxscope.index import grouped, index_of, kept, known_sum
from fxscope.model import Compile, Item, Memory, MemoryRange, Printed, Recording, Schedule, replace
from fxscope.op_names import PACKAGE, REGION_KEY, expected_nature, ops_of
from fxscope.passes import bound
from fxscope.text import counted, first_line, listed, microseconds

SCHEMA = "fxscope-report/1"
MIN_FOR_PERCENTILE = 20  # steps; of fewer the 95th percentile is the longest
MAX_RANGES = 24  # of a compiled graph's memory, the largest
# Kineto does not detach CUPTI when a session ends (docs/benchmarks.md has what that costs).
CUPTI = "CUPTI stays attached and slows launches: use `fxscope run --wait 20`"
WHOLE_RUN = "the whole run: no steps were recorded"
PART = "the observed part of the run: no steps were recorded"
NO_PLACE = "place not recorded"
_VALUE = re.compile(r"(==|expected) \S+.*| changed: .*", re.DOTALL)
_AGAIN = re.compile(r"/[1-9]\d*(_\d+)?$")  # a compile id
_VERSION = re.compile(r"(?:^|; )(\d+/\d+): (.*?)(?=; \d+/\d+: |$)", re.MULTILINE)  # a guard of one compiled version


class StepRow(Item, frozen=True, kw_only=True):
    """The length of a step, and which side limits it."""

    wall_us: float | None = None
    basis: str = ""  # "median of 23 steps after the profiled ones"
    spread: str = ""  # "mean 800.0 µs, 5 % take ≥ 2.00 ms", where steps differ; "the longest 9.00 ms" of few
    slowed_by: str = ""  # what makes these steps longer than those of the program alone
    busy_us: float | None = None  # some stream of the device runs something
    busy_share: float | None = None
    idle_us: float | None = None
    device_us: float | None = None  # sum of the kernels
    recorded_us: float | None = None  # of a CPU: wall time of the profiled step whose kernels these are
    launches: float = 0  # kernels, copies and fills that ran
    launch_calls: float = 0  # of the CPU: a graph's replay is one
    launches_range: tuple[int, int] | None = None  # of the steps, where they differ
    ops: float = 0  # dispatched
    compiling_us: float = 0.0  # left out of the wall time, where every step compiles
    num_devices: int = 1  # that ran something; busy and idle are their means; of a CPU its threads
    on_cpu: bool = False
    predicted: bool = False
    is_lower_bound: bool = False  # device_us adds lower bounds alone
    bound: Literal["cpu", "gpu", "neither", "queued", "unknown"] | None = None
    verdict: str = ""
    steps: int = 0  # that count
    left_out: int = 0  # observed steps that do not
    is_whole: bool = False  # no steps were recorded

    @property
    def parts_us(self) -> tuple[float, float] | None:
        """Time of the step in which kernels run, and in which none does; `None` where that is not known."""
        if self.busy_us is not None:
            return None if self.idle_us is None else (self.busy_us, self.idle_us)
        if self.recorded_us is None or self.device_us is None or self.device_us > self.recorded_us:
            return None
        return self.device_us, self.recorded_us - self.device_us

    @property
    def each(self) -> str:
        """Return what follows a figure of a step; nothing where the whole run is one."""
        return "" if self.is_whole else " per step"

    @property
    def clock(self) -> str:
        """Return whose time the kernels take: "CPU time", "CPU time of 4 threads", "device time of 2 GPUs"."""
        kind, unit = ("CPU", "threads") if self.on_cpu else ("device", "GPUs")
        return f"{kind} time" + (f" of {self.num_devices} {unit}" if self.num_devices > 1 else "")

    @property
    def busy_notes(self) -> list[str]:
        """Notes on a busy time that is not the union of this step's kernels on one GPU."""
        outside_us = (self.busy_us or 0.0) * self.num_devices - (self.device_us or 0.0)
        mean = [f"mean of {self.num_devices} GPUs"] if self.num_devices > 1 else []
        is_long = outside_us > 0.02 * (self.device_us or 0.0)
        return [*mean, f"≥ {microseconds(outside_us)} of the busy time launched outside the step"] if is_long else mean


class KernelRow(Item, frozen=True, kw_only=True):
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


class CompileRow(Item, frozen=True, kw_only=True):
    """A graph break, a recompile or a compile that failed: where, how often, what it costs."""

    id: str = ""
    where: str
    reason: str
    count: int = 1
    cost_us: float | None = None  # compile time; of a break: between the kernels before and after it, per step
    kernels: int | None = None  # of a break: those that run between, per step
    busy_us: float | None = None  # their time
    hints: tuple[str, ...] = ()  # what would avoid it
    also: tuple[str, ...] = ()  # of a recompile: the other guards that failed


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
    owners: tuple[str, ...] = ()  # of each buffer: "mm, saved for the backward"
    position: int = 0  # of that kernel
    ranges: tuple[tuple[MemoryRange, str], ...] = ()  # its largest memory, with the owner


class Report(Printed, frozen=True, kw_only=True):
    schema: str = SCHEMA
    title: str
    device: str | None = None
    torch: str | None = None
    contents: str = ""  # "1 compiled graph (forward + backward), eager AdamW"
    step: StepRow
    advice: tuple[Advice, ...] = ()
    next: tuple[str, ...] = ()  # commands; RECORDING stands for the input
    compile_us: float | None = None
    phases: tuple[tuple[str, float], ...] = ()  # phases of compiling, µs, longest first; they sum to `compile_us`
    num_compiles: int = 0
    cold: bool | None = None  # nothing came from a cache; None where some did and some did not, or nothing is known
    num_cached: int = 0
    cuda_graphs: CudaGraphs
    memory: Memory | None = None
    memory_peak_in: str | None = None  # the compiled graph or the op that runs at the steps' peak
    kernels: tuple[KernelRow, ...] = ()
    missed: tuple[MissedRow, ...] = ()
    brackets: tuple[Bracket, ...] = ()
    failures: tuple[CompileRow, ...] = ()  # compiles that made no graph
    breaks: tuple[CompileRow, ...] = ()
    recompiles: tuple[CompileRow, ...] = ()
    cache_keys: tuple[CompileRow, ...] = ()  # compiles that no cache can hold, or had only for another key
    unknown: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    serving: Serving | None = None
    purposes: tuple[PurposeRow, ...] = ()
    graph_memory: tuple[GraphMemory, ...] = ()
    numerics: NumericsReport | None = None
    groups: tuple[KernelGroup, ...] = ()


def report(recording: Recording) -> Report:
    return kept(recording, "report", _report)


@uncollected()
def _report(recording: Recording) -> Report:
    found = groups(recording)
    step = step_row(recording)
    rows = kernel_rows(recording, step.device_us)
    missed, brackets = missed_rows(recording)
    breaks, failures, recompiles = compile_rows(recording)
    environment = recording.environment
    written = {graph.compile_id for graph in recording.graphs if graph.stage == "post_grad"}  # torch.export writes none
    compiled = [item for item in recording.compiles if not item.failure]
    hits = {item.cache == "hit" for item in recording.compiles if item.cache is not None}
    made = Report(
        title=recording.title or "recording",
        device=f"plan for {environment.target}" if environment.target else environment.device,
        torch=environment.torch,
        contents=contents(recording, failures),
        step=step,
        compile_us=compile_us(recording),
        phases=phases(recording),
        num_compiles=sum(item.compile_id in written or not item.compile_id.startswith("aot/") for item in compiled),
        cold=not hits.pop() if len(hits) == 1 else None,
        num_cached=sum(item.cache == "hit" for item in recording.compiles),
        kernels=rows,
        groups=found,
        serving=serving(recording),
        purposes=purpose_rows(recording, found, step.device_us),
        missed=missed,
        brackets=brackets,
        failures=failures,
        breaks=breaks,
        recompiles=recompiles,
        cache_keys=cache_rows(recording),
        cuda_graphs=cuda_graphs(recording),
        memory=recording.memory,
        memory_peak_in=memory_peak_in(recording),
        graph_memory=graph_memory(recording),
        numerics=numerics(recording),
        unknown=tuple(unknown(recording)),
        problems=tuple(problem.message for problem in recording.problems),
    )
    made = replace(made, advice=tuple(advise(recording, made)))
    return replace(made, next=tuple(next_commands(made)))


def contents(recording: Recording, failures: Sequence[CompileRow]) -> str:
    compiled = index_of(recording).compiled
    directions = {graph.direction for graph in recording.graphs if graph.stage == "post_grad"}
    parts: list[str] = []
    if compiled:
        both = " (forward + backward)" if "backward" in directions else ""
        parts.append(f"{counted(len(compiled), 'compiled graph')}{both}")
    elif regions := traced_regions.regions_of(recording):
        kinds = Counter("AOTInductor package" if name.startswith(PACKAGE) else "compiled region" for name in regions)
        parts += [counted(number, kind) for kind, number in sorted(kinds.items())]
        if others := traced_regions.every_region(recording) - regions:
            parts.append(f"{len(others)} more without Inductor")
    elif traced_regions.runs_generated(recording):
        parts.append("compiled, its graphs not recorded")
    elif traced_regions.runs_other_backend(recording):
        parts.append("torch.compile without Inductor")
    if compiled and not traced_regions.is_compiled(recording):
        if failures:
            return f"{parts[0]}, none ran: {failures[0].reason} at {failures[0].where}"
        return f"{parts[0]}, none ran in the recorded steps"
    if not parts and (others := _uncompiled(recording)):
        return others
    if failures and not parts and all(item.failure for item in recording.compiles):
        return "eager: every compile failed"
    labels = dict.fromkeys(group.label for group in groups(recording) if group.phase == "optimizer")
    optimizers = [label for label in labels if label.replace("(foreach)", "(fused)") not in {*labels} - {label}]
    if optimizers and parts:  # a fused one counts its steps by foreach
        parts.append(f"eager {listed(optimizers, 2)}")
    is_replayed = (cuda_graphs(recording).share or 0.0) > 0.5
    eager = "CUDA graphs" if is_replayed else "eager" if any(item.stage == "eager" for item in recording.graphs) else ""
    return ", ".join(parts) or eager


def _uncompiled(recording: Recording) -> str:
    """ "1 exported graph, 12 ops": the graphs of a log in which Inductor wrote no code."""
    failed = {item.compile_id for item in recording.compiles if item.failure}
    rows = (graph for graph in reversed(recording.graphs) if graph.stage != "eager" and graph.compile_id not in failed)
    graphs = {graph.compile_id: graph for graph in rows}  # of each compile the first, as the program has it
    if not graphs or recording.launches:
        return ""
    ops = sum(op.startswith("call_") for graph in graphs.values() for op in column(graph.nodes, "op"))
    is_export = all((name or "").startswith("aot/") for name in graphs)
    number = counted(len(graphs), "exported graph" if is_export else "graph")
    return f"{number}, {counted(ops, 'op')}" + ("" if is_export else ", no Inductor code recorded")


def step_row(recording: Recording) -> StepRow:
    index = index_of(recording)
    if recording.predicted is not None or (recording.environment.target and not recording.launches):
        return _planned_step(recording)
    times, walls = recording.step_times, index.wall_us
    wall = times.median_us if times is not None and not times.while_recording else median(walls) if walls else None
    limit = bound.of_recording(recording)
    busy = None if limit is None else limit.busy * limit.wall_us
    number = _num_devices(recording)
    recorded = [item.wall_us for item in index.step_stats] if index.is_on_cpu and number == 1 else []
    is_cut = any(item.what in ("ops", "after") for item in recording.unobserved)
    is_after = times is not None and times.when == "after" and recording.environment.cuda is not None
    return StepRow(
        wall_us=wall,
        basis=(PART if is_cut else WHOLE_RUN) if is_whole_run(recording) else step_basis(recording),
        spread=spread(recording),
        is_whole=is_whole_run(recording),
        slowed_by=CUPTI if is_after and limit is not None and limit.side != "gpu" else "",
        busy_us=busy,
        busy_share=limit.busy if limit else None,
        idle_us=max(0.0, limit.wall_us - busy) if limit is not None and busy is not None else None,
        device_us=index.device_us if recording.launches else total_us(groups(recording)),
        recorded_us=median(recorded) if recorded else None,
        launches=index.num_launches if recording.launches else 0,
        launches_range=index.launches_range if recording.launches else None,
        launch_calls=index.launch_calls if recording.launches else 0,
        ops=median(index.dispatched.get(step, 0) for step in index.steps),
        compiling_us=median(index.compiling_us.get(step, 0.0) for step in index.steps),
        num_devices=number,
        on_cpu=index.is_on_cpu,
        bound=limit.side if limit else None,
        verdict=limit.short if limit else "",
        steps=len(index.steps),
        left_out=len(index.launch_counts) - len(index.steps) if index.launch_counts else 0,
    )


def _num_devices(recording: Recording) -> int:
    """Return how many GPUs ran something; on a CPU, how many threads."""
    if not index_of(recording).is_on_cpu:
        return len(distinct(recording.launches, "device") - {None}) or 1
    ops = positions(recording.ops, "id", array(recording.launches, "op_id"))
    return len({*column(recording.ops, "thread", ops[ops >= 0].tolist())}) or 1


def total_us(rows: Iterable[KernelGroup | KernelRow]) -> float | None:
    times = [row.time_us for row in rows if row.time_us is not None]
    return sum(times) if times else None


def _planned_step(recording: Recording) -> StepRow:
    planned = recording.predicted
    device_us = planned.device_us if planned else total_us(groups(recording))
    wall = sum(planned.wall_range_us) / 2 if planned and planned.wall_range_us else None
    is_lower_bound = device_us is not None and (
        recording.is_partial or all(group.is_lower_bound for group in groups(recording))
    )
    target = recording.environment.target or ""
    is_unmeasured = gpus.known(target) and gpus.load(target).calibration is None
    why = f"nothing was measured on the {target}" if is_unmeasured else "no call has a predicted time"
    why = "the plan is not whole" if recording.is_partial else why
    return StepRow(
        wall_us=wall,
        basis=f"lower bound: {why}" if is_lower_bound else "predicted: nothing ran",
        busy_us=device_us,
        busy_share=min(1.0, device_us / wall) if wall and device_us else None,
        idle_us=max(0.0, wall - device_us) if wall and device_us else None,
        device_us=device_us,
        launches=sum(group.launches for group in groups(recording)),
        predicted=True,
        is_lower_bound=is_lower_bound,
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
    if times.when == "device":
        return "the device's time"
    after = {"before": "before the profiled ones", "after": "after the profiled ones", "calls": "without a profiler"}
    median_of = "median of " if times.count > 1 else ""
    return f"{median_of}{counted(times.count, 'step')} {after.get(times.when, '')}".rstrip()


def spread(recording: Recording) -> str:
    times = recording.step_times
    if times is None or times.while_recording or is_whole_run(recording):
        return ""
    if times.when == "device":
        return f"the CPU launches a step in {microseconds(times.launching_us)}"
    is_many, mean_us = len(times.samples_us) >= MIN_FOR_PERCENTILE, times.total_us / times.count
    tail_us = times.p95_us if is_many else times.max_us
    parts = [f"eager {microseconds(item.duration_us)}" for item in recording.unobserved if item.what == "eager"]
    parts += [f"mean {microseconds(mean_us)}"] if mean_us > 1.5 * times.median_us else []
    tail = f"{'5 % take ≥' if is_many else 'the longest'} {microseconds(tail_us)}"
    return ", ".join([*parts, *([tail] if tail_us > 2 * times.median_us else [])])


def kernel_rows(recording: Recording, device_us: float | None) -> tuple[KernelRow, ...]:
    """The groups by op and phase, most device time first."""
    rows: list[KernelRow] = []
    for (label, phase), same in grouped(groups(recording), lambda group: (group.label, group.phase)).items():
        roofs = [(group.roof, group.time_us) for group in same if group.roof is not None and group.time_us]
        modules = [module for group in same for module in group.modules] if all(item.modules for item in same) else []
        rows.append(
            _together(
                same,
                time_of(recording, same),
                device_us,
                id="/".join(part for part in (phase, label) if part),
                label=label,
                phase=phase,
                module=pattern(modules),
                roof=sum(roof * time for roof, time in roofs) / sum(time for _, time in roofs)
                if roofs and len(roofs) == len(same)
                else None,
                groups=tuple(group.id for group in same),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-(row.time_us or 0.0), -row.launches, row.label)))


def _together(
    rows: Sequence[KernelGroup | KernelRow], time_us: float | None, device_us: float | None, **fields: Any
) -> KernelRow:
    """Some rows as one. Of places that run in few steps no more count than launches of a step."""
    launches = sum(row.launches for row in rows)
    return KernelRow(
        **fields,
        count=min(sum(row.count for row in rows), max(1, round(launches))),
        launches=launches,
        time_us=time_us,
        share=time_us / device_us if time_us is not None and device_us else None,
        calls=tuple(call for row in rows for call in row.calls),
    )


def first_rows(rows: Sequence[KernelRow], most: int) -> Sequence[KernelRow]:
    """The first rows of a table that ran. A single row is not summed up as the rest."""
    ran = [row for row in rows if row.launches or row.time_us]
    return ran if len(ran) <= most + 1 else ran[:most]


def others(rows: Sequence[KernelRow], shown: int, step: StepRow) -> KernelRow | None:
    """The row of all rows but the first `shown`, their sum."""
    rest = rows[shown:]
    if not any(row.launches or row.time_us for row in rest):
        return None
    return _together(rest, total_us(rest), step.device_us, id="others", label=f"others ({counted(len(rest), 'row')})")


def compile_us(recording: Recording) -> float | None:
    """Return how long compiling took in all, `None` where it is not known of each compile."""
    return known_sum(item.duration_us for item in recording.compiles) if recording.compiles else None


def phases(recording: Recording) -> tuple[tuple[str, float], ...]:
    found = sum((Counter(item.phases) for item in recording.compiles), Counter[str]())
    total = sum(found.values())  # in recordings of older versions, some are inside others
    is_sum = len(found) > 1 and abs(total - (compile_us(recording) or 0.0)) <= total / 100
    return tuple(found.most_common()) if is_sum else ()


def compile_rows(recording: Recording) -> tuple[tuple[CompileRow, ...], ...]:
    """The graph breaks; the compiles that made no graph, so that it runs eagerly; the recompiles, longest first."""
    breaks, failures, recompiles = list[CompileRow](), list[CompileRow](), list[CompileRow]()
    guards, whole = _failed_guards(recording.compiles), defaultdict[tuple[str, str], dict[str, None]](dict)
    broken = {(select.place(item.source), explained(item.break_reason or "")) for item in recording.compiles}
    pairs = list(zip(recording.compiles, guards, strict=True))  # a log without times has no settings, either
    again = Counter((item.source, _VALUE.sub("", failed[0])) for item, failed in pairs if failed and item.duration_us)
    for item, failed in pairs:
        where, cost_us = select.place(item.source) or NO_PLACE, item.duration_us
        if item.untraced and (text := item.failure):
            function = (item.source and item.source.function) or "the function"
            function = re.sub("^torch_dynamo_resume_in_(.+)_at_[0-9]+$", r"the rest of \1", function)
            whole[where, explained(text)][function] = None
            breaks.append(CompileRow(where=where, reason=explained(text), hints=hints_in(text)))
        elif text := item.break_reason:
            line = select.place(item.break_source or item.source) or NO_PLACE
            breaks.append(CompileRow(where=line, reason=explained(text), hints=hints_in(text)))
        if text := item.failure:
            if (where, explained(text)) not in broken:
                failures.append(CompileRow(where=where, reason=headline(text), hints=hints_in(text), cost_us=cost_us))
        elif failed or (item.recompile_reason is None and item.source and _AGAIN.search(item.compile_id)):
            failed = failed or ["for a reason that was not recorded"]
            versions = [(line, _VERSION.match(line)) for line in (item.recompile_reason or "").splitlines()]
            told = [line for line, found in versions if not found or guard_of(found[2]) == failed[0]]
            is_again = item.dynamic is None and again[item.source, _VALUE.sub("", failed[0])] > 1
            hint = guard_hint(failed[0], was_symbolic=item.dynamic or is_again)
            hints = hints_in("\n".join(told)) or tuple(filter(None, [hint]))
            reason, *also = map(guard_text, failed)
            recompiles.append(CompileRow(where=where, reason=reason, also=tuple(also), hints=hints, cost_us=cost_us))
    parts = _between_parts(recording)
    for place, row in enumerate(breaks):  # what breaks a caller's graph, too, is one row
        if functions := whole.get((row.where, row.reason)):
            breaks[place] = replace(row, reason=f"made no graph of {listed([*functions], 3)}: {row.reason}")
    rows = tuple(replace(row, **parts.get(row.where, {})) for row in _together_by_reason("break", breaks))
    return rows, _together_by_reason("failure", failures), _together_by_reason("recompile", recompiles)


def cache_rows(recording: Recording) -> tuple[CompileRow, ...]:
    """The compiles that no cache can hold, or whose key differs from that of another of their frame; why, and in what."""
    rows: list[CompileRow] = []
    for item in recording.compiles:
        kept = "not cached" if item.cache in (None, "bypassed") else "not in AOTAutograd's cache"
        reason, others = item.cache_bypass and f"{item.compile_id}: {kept}: {first_line(item.cache_bypass)}", []
        if item.cache_nearest is not None:
            first, *others = item.cache_differs or ("unknown (torch logged no components)",)
            reason = f"{item.compile_id}: key differs from that of {item.cache_nearest} in {first}"
        if item.cache_held and None not in item.cache_held:
            whose = f"compile {item.cache_held[0]}" if item.cache_held[0] else "an earlier process"
            reason, others = f"{item.compile_id}: same key as {whose}: a cache hit without fxscope", []
        if reason is not None:
            where = select.place(item.source) or NO_PLACE
            rows.append(CompileRow(id=f"cache/{item.compile_id}", where=where, reason=reason, also=tuple(others)))
    return tuple(rows)


def _between_parts(recording: Recording) -> dict[str, dict[str, Any]]:
    """Place of a graph break → what is between the last kernel before it and the first one after it, per step."""
    index, found = index_of(recording), defaultdict[str, Any](Counter)
    starts = sorted(rows_of(recording.launches, "start_ns", "duration_ns"))
    for item in recording.decisions:
        if item.reason_code == "graph_break" and "file" in item.reason_arguments:
            before, after = (index.launches_of_call.get(call or "", []) for call in (item.a_call, item.b_call))
            ends = {launch.step: launch.start_ns + launch.duration_ns for launch in before}
            gaps = [((ends[launch.step],), (launch.start_ns,)) for launch in after if launch.step in ends]
            inside = [starts[bisect_left(starts, end) : bisect_left(starts, start)] for end, start in gaps]
            if gaps:
                row = found[item.reason_arguments["file"]]
                row["cost_us"] += median(start - end for (end,), (start,) in gaps) / 1e3
                row["kernels"] += median_low(map(len, inside))
                row["busy_us"] += median(sum(took for _, took in launches) for launches in inside) / 1e3
    return {place: dict(row) for place, row in found.items() if row["cost_us"] > 0}


def _failed_guards(compiles: Iterable[Compile]) -> list[list[str]]:
    """Return the failed guards of each recompile, first the one that explains most versions.

    Of guards that fail equally often, one that was compiled with more than two values explains more.
    """
    reasons = [item.recompile_reason or "" for item in compiles]
    lines = [_VERSION.findall(text) or [("", first_line(text))] for text in reasons]
    listed = [[(version, guard_of(line)) for version, line in found if line] for found in lines]
    places = [select.place(item.source) or NO_PLACE for item in compiles]
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for place, guards in zip(places, listed, strict=True):
        for _, guard in guards:
            values[place, _VALUE.sub("", guard)].add(guard.partition(", actual")[0])
    found: list[list[str]] = []
    for place, guards in zip(places, listed, strict=True):
        failed = Counter(kind for _, kind in {(version, _kind(guard)) for version, guard in guards})
        counts = {guard: (len(values[place, _VALUE.sub("", guard)]), failed[_kind(guard)]) for _, guard in guards}
        ranks = {guard: (max(2, number), times, number) for guard, (number, times) in counts.items()}
        ordered = sorted((guard for _, guard in guards), key=ranks.__getitem__, reverse=True)
        found.append([same[0] for same in grouped(ordered, _kind).values()])
    return found


def _kind(guard: str) -> str:
    return _without_values(guard.partition(" changed: ")[0])


def _without_values(text: str) -> str:
    return re.sub(r"(==|expected) \S+|\d+", "#", text.partition(", actual")[0])


def _together_by_reason(kind: str, events: Iterable[CompileRow]) -> tuple[CompileRow, ...]:
    """One row for each place and reason; reasons that differ only in values are one."""
    rows: list[CompileRow] = []
    for same in grouped(events, lambda item: (item.where, _without_values(item.reason))).values():
        cost_us = known_sum(item.cost_us for item in same)
        hints = tuple(dict.fromkeys(hint for item in same for hint in item.hints))
        others = grouped(dict.fromkeys(reason for item in same for reason in item.also), _kind)
        name, also = f"{kind}/{same[0].where}", tuple(alike[0] for alike in others.values())
        rows.append(replace(same[0], id=name, count=len(same), cost_us=cost_us, hints=hints, also=also))
    return tuple(sorted(rows, key=lambda row: (-(row.cost_us or 0.0), -row.count)))


def guard_of(reason: str) -> str:
    """The guard that failed and its line, "s.flag == 2 (train.py:9)", of Dynamo's words."""
    guard, _, comment = first_line(reason).partition("  # ")
    guard, at = guard.partition(" (HINT: ")[0].strip(), re.search(r"([\w.-]+\.py:\d+)", comment)
    return f"{guard} ({at[1]})" if at else guard


def cuda_graphs(recording: Recording) -> CudaGraphs:
    """Return whether kernels are replayed, from the launches; else what the compile was told."""
    ran = [item for item in recording.compiles if item.runs != 0] or recording.compiles
    asked = {item.cudagraphs for item in ran} - {None}
    told = {x.compile_id: cudagraph_text(x.cudagraph_skip) for x in ran if x.cudagraph_skip and asked != {False}}
    again = {item.compile_id: item.cudagraph_rerecords for item in ran if item.cudagraph_rerecords is not None}
    replayed = len(recording.launches) - column(recording.launches, "cuda_graph").count(None)
    if replayed or again:
        parts = [f"{name} re-recorded {counted(times, 'time')}" for name, times in again.items() if times]
        parts += [f"{name} {'in part' if name in again else 'skipped'}: {why}" for name, why in told.items()]
        left = [x.compile_id for x in ran if x.cudagraphs and x.compile_id not in {*told, *again}] if again else []
        parts += [f"{listed(left)} not recorded: each size of its inputs is recorded at its second run"] if left else []
        if replayed:
            return CudaGraphs(state="on", reason="; ".join(parts), share=replayed / len(recording.launches))
        if not recording.environment.target:
            return CudaGraphs(state="off", reason="; ".join(["captured here, not replayed", *parts]))
        reason = "; ".join(parts) or "torch's checks find nothing that forbids a replay"
        return CudaGraphs(state="on", reason=f"predicted: {reason}")
    if told or True in asked:
        reason = next(iter(told.values()), "asked for, and nothing was replayed")
        return CudaGraphs(state="skipped", reason=reason)
    if True in distinct(recording.ops, "captured"):
        return CudaGraphs(state="off", reason="captured here, not replayed")
    if all(distinct(recording.launches, field) == {None} for field in ("op", "launched_ns")):
        return CudaGraphs(state="unknown", reason="launches not recorded")
    if not traced_regions.is_compiled(recording) and recording.launches:
        return CudaGraphs(state="off", reason="eager" if "eager" in column(recording.graphs, "stage") else "")
    if asked == {False}:
        return CudaGraphs(state="off", reason="the compile mode does not use them")
    return CudaGraphs(state="off") if recording.launches else CudaGraphs(state="unknown", reason="nothing ran")


def memory_peak_in(recording: Recording) -> str | None:
    """The compiled graph in whose run the steps have their memory peak, or the op outside of any; `None`: not known."""
    if recording.memory is None or (at := recording.memory.step_peak_ns) is None:
        return None
    graphs = {graph.cache_key or "": graph.id for graph in recording.graphs}
    rows = rows_of(recording.ops, "name", "category", "start_ns", "duration_ns")
    inside = [name for name, kind, start, length in rows if kind == "cpu_op" and start <= at <= start + length]
    keys = [found["key"] for name in inside if (found := REGION_KEY.match(name))]
    makers = [name for name in inside if expected_nature(name) != "host"] or inside  # not the `empty` of a copy
    return graphs.get(keys[-1], keys[-1]).removesuffix(":post_grad") if keys else makers[-1] if makers else None


def graph_memory(recording: Recording) -> tuple[GraphMemory, ...]:
    index, found = index_of(recording), list[GraphMemory]()
    for schedule in recording.schedules:
        if (peak := schedule.peak_memory) is not None:
            calls, running = index.calls_of_graph.get(schedule.graph, ()), {*peak.scheduler_nodes}
            nodes = index.nodes.get(schedule.graph, {})
            made = [(call, ops_of(filter(None, map(nodes.get, call.nodes))) or [call.kernel]) for call in calls]
            ops = {access.buffer: listed(names, 2) for call, names in reversed(made) for access in call.writes or ()}
            owners = {item.buffer: _owner(schedule, nodes, ops, item) for item in peak.ranges}
            largest = sorted(peak.ranges, key=lambda item: -item.bytes)[:MAX_RANGES]
            row = GraphMemory(
                graph=schedule.graph.removesuffix(":post_grad"),
                bytes=peak.bytes,
                call=next((call.handle for call in calls if {*call.scheduler_nodes} & running), None),
                buffers=tuple((item.buffer, item.bytes) for item in peak.alive),
                owners=tuple(owners[item.buffer] for item in peak.alive),
                position=peak.position,
                ranges=tuple((item, owners[item.buffer]) for item in peak.ranges if item in largest),
            )
            found.append(row)
    return tuple(sorted(found, key=lambda item: -item.bytes))


def _owner(schedule: Schedule, nodes: Iterable[str], ops: Mapping[str, str], memory: MemoryRange) -> str:
    """The ops of the kernels that write a memory, and why it lives on; `ops`: buffer → those of its first kernel."""
    later = listed(list(dict.fromkeys(ops[name] for name in memory.reused_by if name in ops)), 2)
    first = ops.get(memory.buffer)  # None: kernels write parts of it (a concatenation), or only what reuses it
    kept = {"saved for the backward": schedule.saved, "returned": schedule.outputs, "input, freed here": nodes}
    own = {memory.buffer, *memory.reused_by}
    role = next((words for words, names in kept.items() if own & {*names}), "")
    reused = f"reused for {later}" if first and later else ""
    return ", ".join(filter(None, [first or later, reused, role]))


def _has_node(recording: Recording, field: str, test: Callable[[Any], Any]) -> bool:
    """Return whether a field of an op in a graph passes a test; inputs and outputs of graphs do not count."""
    edges = {"placeholder", "output", "get_attr"}
    rows = (row for graph in recording.graphs for row in rows_of(graph.nodes, "op", field))
    return any(op not in edges and test(value) for op, value in rows)


def unknown(recording: Recording) -> list[str]:
    out = [item.detail for item in recording.unobserved if item.what in ("threads", "later", "shapes", "rest")]
    if recording.launches and (idle := column(recording.compiles, "runs").count(0)):
        ran = "that no recorded step ran (record what runs them: `with fxscope.record():`)"
        out.append(f"{counted(idle, 'compiled graph')} {ran}")
    said = sum(op is call is None for op, call in rows_of(recording.launches, "op", "call"))  # a problem of the reader
    if (covered := recording.coverage) and (rest := covered.unattributed - said):
        out.append(f"the op of {rest} of {covered.device_events} device events (graph replays: --capture)")
    if traced_regions.regions_of(recording) and not recording.calls:
        out.append("graph nodes and fusion decisions (--compile-log)")
    elif recording.launches and not recording.graphs:
        out.append("graph nodes")
    elif recording.launches and not recording.calls and not _has_node(recording, "outputs", bool):
        out.append("missed fusions (record with fxscope run)")
    if traced_regions.hides_kernels(recording):
        out.append("the time of generated C++ kernels, which are not in a CPU trace")
    if _has_node(recording, "op", bool) and not _has_node(recording, "source", lambda source: source and source.file):
        out.append("source lines")
    if recording.launches and not any(group.modules for group in groups(recording)):
        out.append("module names")
    last = [graph for graph in recording.graphs if graph.stage in ("post_grad", "eager")]
    if lost := sum(column(graph.nodes, "kind").count("unknown") for graph in last):
        out.append(f"the kernels of {counted(lost, 'graph node')}")
    if left := buffers_unknown(recording):
        out.append(f"missed fusions: {left}")
    if undecided := [item.verdict for item in recording.decisions].count(None):
        out.append(f"the reason of {counted(undecided, 'pair')} not fused (TORCH_LOGS=fusion)")
    if recording.memory is None and set(column(recording.launches, "category")) - {"cpu_kernel"}:
        out.append("memory peak")
    return out


def buffers_unknown(recording: Recording) -> str:
    """Return which kernel calls can have no missed fusions because their buffers are not known; nothing of a single call."""
    judged = {end.call for item in recording.decisions if item.verdict is not None for end in item.ends}
    left = sum(call.reads is None and call.id not in judged for call in recording.calls)
    return f"the buffers of {left} of {counted(len(recording.calls), 'kernel call')} were not read" if left > 1 else ""
