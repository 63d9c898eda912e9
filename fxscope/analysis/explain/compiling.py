# ruff: noqa: E501 (a sentence stays on one line, so that it can be read and searched)
"""What compiling changed: what was fused, what the intermediates cost, what a call pays, what the code asserts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope import gpus
from fxscope.analysis import traced_regions
from fxscope.analysis.explain import launch_cost
from fxscope.analysis.stats import compare_wall, mean
from fxscope.analysis.story import CompileCost, Sentence
from fxscope.gpus import timing as device_times
from fxscope.index import grouped, index_of
from fxscope.op_names import only_named, perhaps_ran
from fxscope.passes.flops import tensor_bytes
from fxscope.passes.schedules import aliases
from fxscope.text import at_least, counted, listed, microseconds, num_bytes, of_roof, percent, sentence, sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.story import Topic
    from fxscope.model import KernelCall, Node, Recording, Stage


def story(recording: Recording, costs: Sequence[CompileCost]) -> list[Sentence]:
    """Every sentence about compiled code; none where nothing was compiled."""
    return [
        *_traced(recording),
        *_fusion(recording),
        *_intermediates(recording),
        *_eager_intermediates(recording),
        *_folded(recording),
        *undetermined(recording, "post_grad", "compile"),
        *_added(costs),
        *_asserted(recording),
        *_recompiles(recording),
    ]


def _traced(recording: Recording) -> list[Sentence]:
    """What a trace alone shows of compiled code, and what would tell the rest."""
    return [
        Sentence(topic="compile", text=f"{line.strip()}." if line.startswith(" ") else sentence(line))
        for line in traced_regions.lines(recording)
    ]


def _fusion(recording: Recording) -> list[Sentence]:
    """Which kernel call runs which nodes, and how near it is to its roof."""
    found: list[Sentence] = []
    for call in recording.calls:
        if len(call.nodes) < 2 or call.is_extern:
            continue
        text = f"`{call.kernel}` runs {counted(len(call.nodes), 'node')} in one kernel ({listed(list(call.nodes), limit=3)})"
        if call.timing:
            text += f", {microseconds(call.timing.typical_us)} at the median"
        if call.bytes_read is not None and call.bytes_written is not None:
            text += f" for {num_bytes(call.bytes_read + call.bytes_written)} of memory traffic"
        if call.roof and call.roof.share is not None and call.roof.bound:
            of_what = "the roof, launch-bound" if call.roof.bound == "launch" else f"its {call.roof.bound} roof"
            text += f", {of_roof(call.roof.share, of_what)}"
        text += "."
        if call.biases:
            text += f" It also adds the bias of {listed(call.biases)}."
        nodes = index_of(recording).nodes.get(call.graph, {})
        open_ones = perhaps_ran(call, nodes)
        if named := [op for op in only_named(call, nodes) if op not in open_ones]:
            text += f" Its name or origins also mention {listed(named)}, which {'does' if len(named) == 1 else 'do'} not run in it."
        if open_ones:
            text += f" Its name or origins also mention {listed(open_ones)}; it is not known whether that ran in it."
        found.append(
            Sentence(
                topic="fusion",
                text=text,
                evidence=(f"call:{call.id}",),
                weakest=call.nodes_evidence,
                values={"nodes": len(call.nodes)},
            )
        )
    return found


def _folded(recording: Recording) -> list[Sentence]:
    """Views that became an argument of a call, nodes that are gone."""
    found: list[Sentence] = []
    for graph in recording.graphs:
        if graph.stage != "post_grad":
            continue
        folded = [node for node in graph.nodes if node.kind == "folded"]
        gone = [node for node in graph.nodes if node.kind == "eliminated"]
        kernels = index_of(recording).calls_of_graph.get(graph.id, [])
        work = [node for node in graph.nodes if node.kind != "input" and node.op != "output"]
        if not kernels:
            continue
        text = f"{graph.id}: {counted(len(work), 'node')} became {counted(len(kernels), 'kernel call')}"
        parts: list[str] = []
        strided = [node for node in folded if (graph.id, node.name) in index_of(recording).folded_into]
        free = [node for node in folded if node not in strided]
        for nodes, what, became in (
            (strided, "view", "became strides of another call"),
            (free, "node", "needed no kernel"),
            (gone, "node", "disappeared"),
        ):
            if nodes:
                parts.append(f"{counted(len(nodes), what)} {became} ({listed([node.name for node in nodes], limit=3)})")
        text += f"; {listed(parts)}." if parts else "."
        found.append(
            Sentence(
                topic="compile",
                text=text,
                evidence=(f"graph:{graph.id}", *(f"node:{graph.id}/{node.name}" for node in (*folded, *gone))),
                weakest="origins",
                values={"nodes": len(work), "calls": len(kernels)},
            )
        )
    return found


def undetermined(recording: Recording, stage: Stage, topic: Topic) -> list[Sentence]:
    """Of which nodes that were to run nothing is known."""
    found: list[Sentence] = []
    for graph in recording.graphs:
        nodes = [node for node in graph.nodes if node.kind == "unknown" and graph.stage == stage]
        if nodes:
            work = sum(node.kind != "input" and node.op != "output" for node in graph.nodes)
            names = listed([node.name for node in nodes], limit=12)
            text = (
                f"{graph.id}: it is not known whether {len(nodes)} of {counted(work, 'node')} ran, nor where ({names})."
            )
            evidence = (f"graph:{graph.id}", *(f"node:{graph.id}/{node.name}" for node in nodes))
            values = {"unknown": len(nodes), "nodes": work}
            found.append(Sentence(topic=topic, text=text, evidence=evidence, values=values))
    return found


def _intermediates(recording: Recording) -> list[Sentence]:
    """Buffers that one kernel writes and another reads: traffic that more fusion could save."""
    by_graph = grouped(recording.calls, lambda call: call.id.rsplit(":", 1)[0])
    found: list[Sentence] = []
    memory = {schedule.graph: aliases(schedule) for schedule in recording.schedules}
    for name, calls in by_graph.items():
        sizes: list[int] = []
        evidence: list[str] = []
        buffers: list[str] = []
        one_memory = memory.get(calls[0].graph, {})  # the parts of a concatenation are one buffer
        written: dict[str, list[tuple[int, KernelCall, int | None]]] = {}
        read: dict[str, list[tuple[int, KernelCall, int | None]]] = {}
        for position, call in enumerate(calls):
            for access in call.reads or ():
                buffer = one_memory.get(access.buffer, access.buffer)
                if any(before < position for before, _, _ in written.get(buffer, ())):
                    read.setdefault(buffer, []).append((position, call, access.bytes))
            for access in call.writes or ():
                buffer = one_memory.get(access.buffer, access.buffer)
                written.setdefault(buffer, []).append((position, call, access.bytes))
        for buffer, readers in read.items():
            # What is written after its last reader is no intermediate any more.
            traffic = [*(item for item in written[buffer] if item[0] < readers[-1][0]), *readers]
            known = [size for _, _, size in traffic if size is not None]
            if len(known) == len(traffic):
                sizes.append(sum(known))
                buffers.append(buffer)
                evidence += [f"call:{call.id}" for _, call, _ in traffic]
        if buffers:
            text = f"{name}: {counted(len(buffers), 'intermediate')} ({listed(buffers, limit=4)}) {'is' if len(buffers) == 1 else 'are'} written to memory by one kernel and read by another, {num_bytes(sum(sizes))} in all"
            values: dict[str, object] = {"bytes": sum(sizes)}
            floor, words = _floor(recording, sizes)
            if floor is not None:
                values["floor_us"] = floor
                text += words
            found.append(
                Sentence(topic="intermediate", text=text + ".", evidence=tuple(dict.fromkeys(evidence)), values=values)
            )
    return found


def _floor(recording: Recording, sizes: Sequence[int]) -> tuple[float | None, str]:
    """The time that moving tensors of these sizes takes at least, in µs, and its words; nothing is said of a GPU
    that was not calibrated: what one kernel writes the next may find in the L2 cache.
    """
    gpu = gpus.find(recording.environment.device)
    floors = [device_times.floor_us(gpu, size) for size in sizes] if gpu is not None else []
    known = [floor for floor in floors if floor is not None]
    least = at_least(sum(known))
    if gpu is None or not least or len(known) < len(floors):
        return None, ""
    return (
        sum(known),
        f": {least}, by the fastest traffic measured on an {gpu.device_name}, through its L2 cache or beyond it",
    )


def _eager_intermediates(recording: Recording) -> list[Sentence]:
    """In an eager run: results that one kernel writes and the next op's kernel reads."""
    if recording.calls:
        return []
    moved: dict[tuple[str, str], int] = {}  # the writer → bytes written once, and read by each
    readers: dict[tuple[str, str], list[str]] = {}
    evidence: list[str] = []
    for graph in recording.graphs:
        if graph.stage != "eager":
            continue
        by_name = {node.name: node for node in graph.nodes}
        for node in graph.nodes:
            if node.kind != "kernel":
                continue
            for name in dict.fromkeys(node.inputs):
                source = _producer(name, by_name)
                written, read = (
                    tensor_bytes(item.outputs[:1]) if item else None for item in (source, by_name.get(name))
                )
                if source is None or not written or not read:
                    continue
                moved[graph.id, source.name] = moved.get((graph.id, source.name), written) + read
                readers.setdefault((graph.id, source.name), []).append(node.name)
                evidence += [f"node:{graph.id}/{source.name}", f"node:{graph.id}/{node.name}"]
    if not moved:
        return []
    sizes = list(moved.values())
    # One item a result, however many read it: the list and the number before it count the same.
    who = [f"{writer} → {_joined(list(dict.fromkeys(names)))}" for (_, writer), names in readers.items()]
    text = f"{counted(len(sizes), 'result')} of one kernel {'is' if len(sizes) == 1 else 'are'} read by another ({listed(who, limit=3)}): {num_bytes(sum(sizes))} written and read"
    text += _floor(recording, sizes)[1].replace(":", ",", 1)
    return [
        Sentence(
            topic="intermediate", text=text + ".", evidence=tuple(dict.fromkeys(evidence)), values={"bytes": sum(sizes)}
        )
    ]


def _joined(names: Sequence[str], limit: int = 4) -> str:
    rest = [f"{len(names) - limit:,} more"] if len(names) > limit + 1 else []
    return " + ".join([*(names[:limit] if rest else names), *rest])


def _producer(name: str, by_name: dict[str, Node]) -> Node | None:
    """Follow views back to the kernel that wrote the memory; `None` where it is an input."""
    seen: set[str] = set()
    while name in by_name and name not in seen:
        seen.add(name)
        node = by_name[name]
        kind, inputs = node.kind, node.inputs
        if kind == "kernel":
            return node
        if kind != "view" or not inputs:
            return None
        name = inputs[0]
    return None


def _added(costs: Sequence[CompileCost]) -> list[Sentence]:
    if not costs:
        return []
    known = {cost.what: cost.median_us for cost in costs if cost.median_us is not None}
    if not known:
        return []
    total = sum(known.values())
    parts = [f"{microseconds(time)} for {what}" for what, time in known.items()]
    least = "at least " if len(known) < len(costs) else ""
    text = f"A call of the compiled code costs {least}{microseconds(total)} of CPU time besides its ops, each part at its median: {listed(parts)}."
    text += "".join(f" What {cost.what} costs is not known: {cost.unknown}." for cost in costs if cost.unknown)
    text += " In return, only what the generated wrapper calls is dispatched."
    return [
        Sentence(
            topic="compile",
            text=text,
            evidence=tuple(item for cost in costs for item in cost.evidence),
            values={"overhead_us": total},
        )
    ]


def _asserted(recording: Recording) -> list[Sentence]:
    """Which sizes and strides the code holds its inputs to, and what happens to an input that differs."""
    found: list[Sentence] = []
    for compile in recording.compiles:
        if not compile.assertions and not compile.guards:
            continue
        text = f"{compile.compile_id}: "
        if compile.assertions:
            held = [
                f"{item.name} of {sizes(item.shape)} with strides {sizes(item.stride)}" for item in compile.assertions
            ]
            symbolic = [
                item.name
                for item in compile.assertions
                if any(isinstance(size, str) for size in (*item.shape, *item.stride))
            ]
            text += f"the generated code asserts {listed(held, limit=4)}. "
            if symbolic:
                text += f"{listed(symbolic)} {'has' if len(symbolic) == 1 else 'have'} symbolic sizes: other sizes run the same code. "
        if compile.guards:
            text += f"{counted(len(compile.guards), 'guard')} {'is' if len(compile.guards) == 1 else 'are'} checked first, so an input that fails one never reaches the asserts: Dynamo recompiles for it, up to its recompile limit, and runs it eagerly from there on."
        found.append(
            Sentence(
                topic="guards",
                text=text.strip(),
                evidence=(f"compile:{compile.compile_id}",),
                values={"guards": len(compile.guards), "assertions": len(compile.assertions)},
            )
        )
    return found


def _recompiles(recording: Recording) -> list[Sentence]:
    found: list[Sentence] = []
    for compile in recording.compiles:
        where = f" at {compile.source.code}" if compile.source and compile.source.code else ""
        if compile.recompile_reason:
            text = f"{compile.compile_id} is a recompile{where}: the guard that failed was `{compile.recompile_reason.strip()}`."
            found.append(
                Sentence(
                    topic="recompile",
                    text=text,
                    evidence=(f"compile:{compile.compile_id}",),
                    values={"reason": compile.recompile_reason},
                )
            )
        if compile.break_reason:
            broken = compile.break_source.code if compile.break_source and compile.break_source.code else None
            text = f"The graph {compile.compile_id} ends early{f' at `{broken}`' if broken else ''}: {compile.break_reason.strip()}."
            found.append(Sentence(topic="recompile", text=text, evidence=(f"compile:{compile.compile_id}",)))
    return found


def worth(side: Sequence[Recording], others: Sequence[Recording]) -> list[Sentence]:
    """Whether it was worth it: against recordings of another program, else what this one can say."""
    recording, against = side[0], others[0] if others else None
    durations = [item.duration_us for item in recording.compiles if item.duration_us is not None]
    evidence = tuple(f"compile:{item.compile_id}" for item in recording.compiles)
    if against is None:
        if not durations:
            return []
        text = f"Compiling took {microseconds(sum(durations))}. To tell whether that was worth it, compare with a recording of the eager program: `fxscope explain THIS --against EAGER`."
        return [Sentence(topic="worth", text=text, evidence=evidence, values={"compile_us": sum(durations)})]
    found: list[Sentence] = []
    before, after = index_of(against).dispatched, index_of(recording).dispatched
    if before and after:
        a, b = next(iter(before.values())), next(iter(after.values()))
        text = f"A step dispatches {counted(b, 'op')} instead of {a}, and launches {_launches(recording)} instead of {_launches(against)}."
        found.append(Sentence(topic="worth", text=text, evidence=("step:0",), values={"ops": b, "ops_before": a}))
    time = compare_wall(others, side)
    if time is not None:
        old_busy, new_busy = _busy(against), _busy(recording)
        if time.verdict in ("faster", "slower"):
            text = f"A step takes {microseconds(time.b_us)} instead of {microseconds(time.a_us)}: {time.verdict}, {time.reason}"
        else:
            unknown = time.verdict == "cannot tell"
            words = (
                f"Whether a step is shorter ({microseconds(time.b_us)} instead of {microseconds(time.a_us)}) cannot be told"
                if unknown
                else "No difference in the length of a step is shown"
            )
            text = f"{words}: {time.reason}"
        if old_busy and new_busy:
            text += f". The device is busy for {microseconds(new_busy)} of it instead of {microseconds(old_busy)} ({percent(new_busy / old_busy - 1, signed=True)})"
        text += "."
        found.append(
            Sentence(
                topic="worth",
                text=text,
                evidence=tuple(f"step:{step.index}" for step in recording.steps),
                values={"before_us": time.a_us, "after_us": time.b_us},
            )
        )
    if recording.compiles:
        steps, why = launch_cost.break_even(time, durations)
        text = f"Compilation has paid for itself after {steps:,.0f} steps: {why}." if steps is not None else why
        found.append(Sentence(topic="worth", text=text, evidence=evidence, values={"steps": steps}))
    return found


def _launches(recording: Recording) -> int:
    return len(index_of(recording).launches_of_step[index_of(recording).first_step])


def _busy(recording: Recording) -> float | None:
    rows = launch_cost.step_costs(recording)
    return mean([row.device_us for row in rows])
