"""The report's first page in words: what ran where, in five lines; and the comparison's rows."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec

from fxscope.analysis import traced_regions
from fxscope.analysis.stats import stall
from fxscope.index import index_of
from fxscope.model import KERNELS
from fxscope.op_names import op_name
from fxscope.passes import bound
from fxscope.render import labels
from fxscope.render.findings import (
    CHANGES,
    change_word,
    change_words,
    change_words_of,
    decision_title,
    match_line,
    op_change_words,
)
from fxscope.render.page import spent
from fxscope.text import (
    FASTER,
    counted,
    faster_than_limit,
    kernel_name,
    listed,
    microseconds,
    num_bytes,
    of_roof,
    percent,
    sentence,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.findings import Comparison, KernelUse
    from fxscope.model import Compile, KernelCall, Recording, Source


def overview(recordings: Sequence[Recording], comparison: Sequence[Comparison] | None) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for position, recording in enumerate(recordings):
        against = comparison[position - 1] if comparison and position else None
        runs = spent.Runs(recording)
        each = runs.all()
        out.append(
            {
                "what": what_it_is(recording),
                "predicted": recording.predicted is not None,
                "unknown": unknown(recording),
                "tiles": tiles(recording),
                "lines": lines(recording, against, each),
                "strip": spent.strip(runs),
                "modules": spent.by_module(each, spent.module_types(recording)),
                "kernels": spent.top_kernels(each),
                "missed": spent.missed(recording)[:8],
                "num_missed": len(spent.missed(recording)),
                "coverage": labels.coverage_line(recording),
                "covered": recording.coverage and msgspec.to_builtins(recording.coverage),
                "assumptions": [[a.subject, a.assumed, a.because] for a in recording.assumptions],
                "choices": [[c.subject, labels.choice_words(c), c.basis] for c in recording.choices],
                "problems": [[p.where, p.message, p.remedy] for p in recording.problems],
                "compiles": [compile_words(c) for c in recording.compiles],
                "breaks": graph_breaks(recording),
                "history": recording.history,
                "changes": [[c.subject, change_words(c)] for c in against.totals] if against else [],
                "gaps": gaps(recording),
            }
        )
    return out


def what_it_is(recording: Recording) -> str:
    """In one line what the page shows: compiled, eager, a plan or a trace alone, and where it ran."""
    where = recording.environment.device
    steps = counted(index_of(recording).num_steps, "step")
    measured = f"measured over {steps}{f' on {where}' if where else ''}"
    stages = {graph.stage for graph in recording.graphs}
    if recording.environment.target:
        return f"A plan for {recording.environment.target}: what Inductor would write for it. Nothing was run on one."
    if recording.calls or stages & {"post_grad", "pre_grad", "forward", "joint"}:
        return f"Compiled, {measured}." if recording.launches else "Compiled; no run was measured."
    if regions := traced_regions.regions_of(recording):
        names = listed(list(dict.fromkeys(region.compile_id or "?" for region in regions)), 3)
        outside = ", with eager ops around it" if "eager" in stages else ""
        return f"Compiled code (region {names}){outside}, {measured}; a trace alone: no graph of it, no reasons."
    if "eager" in stages:
        timed = recording.launches or any(node.timing for graph in recording.graphs for node in graph.nodes)
        return f"Eager, {measured}." if timed else "Eager; no time was measured."
    if recording.launches or recording.ops:
        return f"A trace alone, {measured}: kernels and times, no graph."
    return "Nothing was run and nothing compiled."


def unknown(recording: Recording) -> list[str]:
    """What could not be known, in a few words each."""
    out: list[str] = []
    nodes = [n for g in recording.graphs for n in g.nodes if n.op not in ("placeholder", "output", "get_attr")]
    if recording.launches and not recording.graphs:
        out.append("which graph nodes the kernels ran")
    if traced_regions.regions_of(recording):
        out.append(
            "why kernels were not fused: that takes the compile's log (TORCH_TRACE=FOLDER, --compile-log FOLDER)"
        )
    if nodes and not any(n.source and n.source.file for n in nodes):
        out.append("source lines")
    if nodes and not any(n.source and n.source.module for n in nodes):
        out.append("modules")
    lost = [n for g in recording.graphs if g.stage in ("post_grad", "eager") for n in g.nodes if n.kind == "unknown"]
    if lost:
        out.append(f"whether {counted(len(lost), 'node')} ran, and where ({listed([n.name for n in lost], 3)})")
    covered = recording.coverage
    if covered and covered.unattributed:
        out.append(f"the op of {covered.unattributed} of {covered.device_events} device events")
    if covered and recording.calls and covered.to_call is not None and covered.to_call < covered.device_events:
        out.append(f"the kernel call of {covered.device_events - covered.to_call} of {covered.device_events} events")
    without = [c for c in recording.calls if c.bytes_read is None or c.bytes_written is None]
    if without:
        out.append(f"the bytes of {len(without)} of {counted(len(recording.calls), 'kernel call')}")
    ran = recording.calls or recording.launches
    if ran and not any(c.roof and c.roof.share is not None for c in recording.calls):
        out.append("how near to the device's limits the kernels run")
    if recording.calls and not recording.decisions:
        out.append("what was not fused")
    return out


def moved(recording: Recording) -> int | None:
    """What one run of every call moves; `None` unless it is known of each."""
    totals = [
        c.bytes_read + c.bytes_written
        for c in recording.calls
        if c.bytes_read is not None and c.bytes_written is not None
    ]
    return sum(totals) if totals and len(totals) == len(recording.calls) else None


def time_of(call: KernelCall) -> float | None:
    """Measured time of a call, else the planned one."""
    return call.timing.mean_us if call.timing else call.estimated_us


def roof_share(recording: Recording) -> float | None:
    """The floor of the calls over their time, where both are known of each."""
    pairs = [(c.roof.floor_us, c.timing.mean_us) for c in recording.calls if c.roof and c.roof.floor_us and c.timing]
    if not pairs or len(pairs) != len(recording.calls):
        return None
    return sum(floor for floor, _ in pairs) / sum(time for _, time in pairs)


def tiles(recording: Recording) -> list[list[str]]:
    """The numbers at the top: value, label, a remark."""
    out: list[list[str]] = []
    steps = index_of(recording).num_steps
    if recording.launches:
        kernels = sum(x.category in KERNELS for x in recording.launches) / steps
        other = len(recording.launches) / steps - kernels
        words = f"and {other:g} memsets or copies" if other else "launched each step"
        out.append([f"{kernels:g}", "kernels per step", words])
        time = index_of(recording).device_us
        uneven = stall(index_of(recording).step_us)
        most = f", median {microseconds(uneven[1])}, most {microseconds(uneven[0])}" if uneven else ""
        on_cpu = all(x.category == "cpu_kernel" for x in recording.launches)
        out.append(
            [microseconds(time), "CPU kernel time" if on_cpu else "device time", f"per step, mean of {steps}{most}"]
        )
    walls = index_of(recording).wall_us if recording.summary else ()
    if walls:
        limit = bound.of_summary(recording.summary)
        which = f"the {len(walls)} after the first" if len(walls) < steps else f"{len(walls)}"
        words = f"per step, mean of {which}" + (f"; {limit.short}" if limit else "")
        out.append([microseconds(fmean(walls)), "wall time", words])
    if recording.calls:
        fused = [c for c in recording.calls if not c.is_extern]
        ops = sum(len(c.nodes) for c in fused)
        out.append(
            [
                f"{len(recording.calls)}",
                "kernel calls compiled",
                f"{counted(ops, 'node')} inside {counted(len(fused), 'generated kernel')}",
            ]
        )
    total = moved(recording)
    if total is not None:
        out.append([num_bytes(total), "moved by the calls", "inputs, weights and results, each call once"])
    share = roof_share(recording)
    if share is not None:
        remark = f"; {FASTER}" if faster_than_limit(share) else ""
        out.append([percent(share), "of the roof", f"floor over measured time, all calls{remark}"])
    if not recording.launches and recording.calls:
        step = recording.predicted
        if step is not None:
            times = step.device_range_us
            remark = f"{labels.span(times)} in 80 of 100; {labels.sum_words(step)}" if times is not None else step.basis
            out.append([f"≈ {microseconds(step.device_us)}", "predicted device time of a step", remark])
        elif missing := labels.no_step(recording):
            out.append(["–", "device time of a step", missing])
    if recording.memory and recording.memory.peak_bytes is not None:
        out.append([num_bytes(recording.memory.peak_bytes), "peak memory", recording.memory.device or ""])
    if not out:
        nodes = sum(len(g.nodes) for g in recording.graphs)
        out.append([str(nodes), "nodes recorded", counted(len(recording.graphs), "graph")])
    return out


def lines(recording: Recording, against: Comparison | None, runs: Sequence[spent.Run]) -> list[list[str]]:
    """The story: (glyph, text, reference or ""); what is not known has no line."""
    limit = bound.of_summary(recording.summary)
    found = (
        against_line(against) if against is not None else None,
        biggest_line(recording),
        most_time_line(runs),
        launchless_line(recording),
        ["◷", sentence(limit.words), "timeline"] if limit else None,
    )
    return [line for line in found if line]


def against_line(against: Comparison) -> list[str]:
    """Say whether a step became faster, and what became of the kernels."""
    time = against.step_time or against.wall_time
    said = f"{time.verdict}, {time.reason}" if time else "times were not compared"
    counts = Counter(map(change_word, against.kernels))
    kinds = ", ".join(f"{counts[word]} {word}" for word in CHANGES if counts[word])
    return ["⇄", f"Against {against.a_title}: {said}; kernels: {kinds}.", "compare"]


def biggest_line(recording: Recording) -> list[str] | None:
    """Name the fused kernel that takes longest."""
    fused = [(time_of(c) or 0, -i) for i, c in enumerate(recording.calls) if not c.is_extern and len(c.nodes) > 1]
    if not fused:
        return None
    position = -max(fused)[1]
    call = recording.calls[position]
    ops = " · ".join(labels.ops_of(call, index_of(recording).nodes.get(call.graph, {}))[:6])
    time, share = time_of(call), call.roof.share if call.roof else None
    facts = [microseconds(time)] if time is not None else []
    if call.bytes_read is not None and call.bytes_written is not None:
        facts.append(num_bytes(call.bytes_read + call.bytes_written))
    if share is not None:
        facts.append(of_roof(share))
    tail = f" ({', '.join(facts)})" if facts else ""
    return ["◆", f"{len(call.nodes)} nodes became one kernel: {ops}{tail}.", f"call={position}"]


def most_time_line(runs: Sequence[spent.Run]) -> list[str] | None:
    """Name the kernel with the most device time."""
    top = next(iter(spent.top_kernels(runs, 1)), None)
    if top is None or not top["share"]:
        return None
    name = top["kernel"]
    text = f"{kernel_name(name, 72)}, {microseconds(top['us'])} per step, {percent(top['share'])} of it"
    return ["■", f"Most device time: {text}.", f"kernel={name}"]


def launchless_line(recording: Recording) -> list[str] | None:
    """Count the ops that launch nothing."""
    kinds = [
        node.kind
        for graph in recording.graphs
        if graph.stage in ("eager", "post_grad")
        for node in graph.nodes
        if node.op in ("call_function", "dispatch")
    ]
    count = sum(kind in ("view", "folded", "eliminated") for kind in kinds)
    what = "views, strides of other calls, or gone before code generation"
    return ["·", f"{count} of {len(kinds)} ops launch nothing: {what}.", ""] if count else None


def compile_words(item: Any) -> dict[str, Any]:
    """One compile: id, cache, reasons, guards."""
    where = item.break_source
    return {
        "id": item.compile_id,
        "cache": item.cache,
        "recompile": item.recompile_reason,
        "break": item.break_reason,
        "where": f"{where.file}:{where.line}" if where and where.file else None,
        "guards": item.guards[:200],
        "num_guards": len(item.guards),
        "us": item.duration_us,
        "dynamic": item.dynamic,
        "cudagraphs": item.cudagraphs,
        "config": {key: str(value) for key, value in item.config.items()},
    }


def graph_breaks(recording: Recording) -> list[dict[str, Any]]:
    """Where a graph ended early: place, reason, hints, and what was compiled before and after."""
    out: list[dict[str, Any]] = []
    for item in recording.compiles:
        if not item.break_reason:
            continue
        where = item.break_source
        said = [line.strip() for line in item.break_reason.splitlines() if line.strip()]
        goes_on = resumed(recording, where) if where else None
        out.append(
            {
                "place": [where.file, where.line] if where and where.file else None,
                "code": where.code if where else None,
                "reason": said[0] if said else "no reason recorded",
                "hints": [line.removeprefix("Hint: ") for line in said if line.startswith("Hint: ")],
                "before": side_of(recording, item.compile_id),
                "after": side_of(recording, goes_on.compile_id) if goes_on else None,
            }
        )
    return out


def resumed(recording: Recording, where: Source) -> Compile | None:
    """The compile of the function that goes on at a line: Dynamo puts the line into the function's name."""
    for item in recording.compiles:
        source = item.source
        name = (source.function or "") if source and source.file == where.file else ""
        if name.startswith("torch_dynamo_resume_in_") and name.endswith(f"_at_{where.line}"):
            return item
    return None


def side_of(recording: Recording, compile_id: str) -> dict[str, Any]:
    """What one compile holds: its ops in order, its kernel calls and the graph to show."""
    own = [(i, graph) for i, graph in enumerate(recording.graphs) if graph.compile_id == compile_id]
    graphs = [(i, graph) for i, graph in own if graph.direction != "backward"]
    by_stage = {graph.stage: (i, graph) for i, graph in reversed(graphs)}
    stages = ("pre_grad", "joint", "forward", "post_grad")
    position, graph = next((by_stage[stage] for stage in stages if stage in by_stage), (-1, None))
    ops = [op_name(n.target) for n in graph.nodes if n.op not in ("placeholder", "get_attr", "output")] if graph else []
    ids = {graph.id for _, graph in graphs}
    calls = sum(call.graph in ids for call in recording.calls)
    return {"id": compile_id, "graph": position, "ops": ops, "calls": calls}


def gaps(recording: Recording) -> list[list[Any]]:
    """The longest times in which the device had nothing to do."""
    found = sorted(recording.summary.gaps if recording.summary else (), key=lambda g: -g.duration_ns)[:8]
    return [[g.duration_ns / 1e3, g.before, g.after, g.during] for g in found]


def comparison(recordings: Sequence[Recording], position: int, item: Comparison) -> dict[str, Any]:
    other = position + 1
    index: list[dict[str, int]] = (
        [{c.id: i for i, c in enumerate(r.calls)} for r in (recordings[0], recordings[other])]
        if other < len(recordings)
        else [{}, {}]
    )

    def use(item: KernelUse, side: int) -> dict[str, Any]:
        return {
            "position": item.position,
            "kernel": item.kernel,
            "category": item.category,
            "us": item.mean_us,
            "bytes": item.bytes,
            "ops": item.ops,
            "modules": item.modules,
            "sources": item.sources,
            "registers": item.registers,
            "share": item.share_of_roof,
            "config": item.config,
            "call": index[side].get(item.call or "", -1),
        }

    def time(item: Any) -> Any:
        return item and msgspec.to_builtins(item)

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
                "time": time(m.time),
                "saved": m.saved_bytes,
                "change": change_words_of(m),
                "words": match_line(m),
            }
            for m in item.kernels
        ],
        "totals": [[c.subject, c.a, c.b, c.unit, c.verdict] for c in item.totals],
        "gone": [[c.name, *op_change_words(c)] for c in item.ops_gone],
        "added": [[c.name, *op_change_words(c)] for c in item.ops_added],
        "decisions": [[decision_title(d), d.a_verdict, d.b_verdict, d.a_reason, d.b_reason] for d in item.decisions],
        "notes": item.notes,
    }
