# ruff: noqa: E501 (a sentence stays on one line, so that it can be read and searched)
"""The story of a recording: sentences made of its facts, each with the items that prove it.

Nothing here is told from what usually happens: where a fact is missing its sentence is missing, or says that it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxscope.analysis.explain import compiling, gemm_table, launch_cost
from fxscope.analysis.explain import counted as explain_counted
from fxscope.analysis.explain import gemms as explain_gemm
from fxscope.analysis.select import ran_backward
from fxscope.analysis.stats import is_on_cpu
from fxscope.analysis.story import Sentence, Story
from fxscope.columns import column
from fxscope.index import grouped, index_of
from fxscope.model import KERNELS, replace, weakest
from fxscope.op_names import MAY_COPY, expected_nature, is_dispatched, op_name
from fxscope.text import counted, kernel_name, listed, microseconds, tallied

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fxscope.model import Evidence, Launch, Op, Recording


def explain(
    recording: Recording, *, against: Recording | None = None, runs: tuple[Sequence[Recording], ...] = ((), ())
) -> Story:
    """Recording → its story; with `against` (the same program run eagerly, say) also whether compiling was worth it.

    `runs` are more recordings of the two programs, each of a process of its own.
    """
    gemms = gemm_table.gemms(recording)
    launches = launch_cost.op_launches(recording)
    steps = launch_cost.step_costs(recording)
    costs = launch_cost.compile_costs(recording)
    sentences = [
        *overview(recording),
        *compiling.undetermined(recording, "eager", "overview"),
        *dispatch(recording),
        *explain_gemm.story(recording, gemms),
        *compiling.story(recording, costs),
        *explain_counted.story(recording),
        *launch_story(launches, steps),
        *compiling.worth((recording, *runs[0]), (against, *runs[1]) if against else ()),
    ]
    return Story(
        title=recording.title,
        sentences=tuple(sentences),
        gemms=gemms,
        launches=launches,
        steps=steps,
        compile_costs=costs,
    )


_AUTOGRAD = "autograd::engine::evaluate_function: "  # before the name of a node of autograd


def overview(recording: Recording) -> list[Sentence]:
    """How many ops a step dispatches, and how many device events come of it."""
    if not recording.ops:
        return []
    step = index_of(recording).first_step
    launches = index_of(recording).launches_of_step[step]
    if not launches:
        return []
    launching = {launch.op_id for launch in launches}
    mine = [op for op in recording.ops if op.step == step and op.category == "cpu_op"]
    ops = [op for op in mine if is_dispatched(op.name)]
    # Dynamo's own spans have spaces in their names; what else launches is a Triton or C++ kernel's own call.
    compiled = [op for op in mine if "::" not in op.name and " " not in op.name and op.id in launching]
    reaching = launching & {op.id for op in (*ops, *compiled)}
    kinds = [launch.category for launch in launches]
    kernels = sum(kind in KERNELS for kind in kinds)
    parts = launch_cost.launched(launches)
    on_cpu = is_on_cpu(recording)
    does = [f"dispatches {counted(len(ops), 'op')}"] if ops else []
    does += [f"calls {counted(len(compiled), 'compiled kernel')}"] if compiled else []
    one = len(reaching) == 1
    if not ops and not compiled:
        text = f"A step runs {listed(parts)} on the {'CPU' if on_cpu else 'device'}."
    elif on_cpu:  # there every op runs, and nothing is launched
        text = f"A step {listed(does)} on the CPU; {len(reaching)} of them {'does' if one else 'do'} the work: {listed(parts)}."
    else:
        text = f"A step {listed(does)}; {len(reaching)} of them {'launches' if one else 'launch'} work on the device: {listed(parts)}."
    sentences = [
        Sentence(
            topic="overview",
            text=text,
            evidence=(f"step:{step}", *_ids(launches)),
            weakest=_weakest(launches),
            values={"ops": len(ops), "launching_ops": len(reaching), "kernels": kernels, "launches": len(launches)},
        )
    ]
    lost = [launch for launch in recording.launches if launch.op is None]
    if lost:
        sentences.append(
            Sentence(
                topic="overview",
                evidence=_ids(lost[:20]),
                values={"unattributed": len(lost)},
                text=f"{counted(len(lost), 'device event')} of {len(recording.launches)} cannot be tied to an op: the trace does not contain the calls that launched them.",
            )
        )
    return sentences


def dispatch(recording: Recording) -> list[Sentence]:
    """For each op that the program called: the ops it dispatches, and which of them launch device work."""
    if not recording.ops:
        return []
    step = index_of(recording).first_step
    children: dict[int, list[Op]] = {}
    inner = _inside_ops(recording)
    on_cpu = is_on_cpu(recording)
    for op in recording.ops:
        if op.parent is not None and op.step == step:
            children.setdefault(op.parent, []).append(op)
    launches: dict[int, list[Launch]] = {}
    for launch in recording.launches:
        if launch.op_id is not None and launch.step == step:
            launches.setdefault(launch.op_id, []).append(launch)
    sentences: list[Sentence] = []
    for op in recording.ops:
        if op.step != step or op.category != "cpu_op" or "::" not in op.name:
            continue
        if op.id in inner:
            continue
        everything = [
            item for item in (op, *_below(op, children)) if item.category == "cpu_op" and is_dispatched(item.name)
        ]
        ran = [launch for item in everything for launch in launches.get(item.id, [])]
        if ran or len(everything) > 1:
            sentences.append(_dispatch_sentence(op, everything, ran, recording, on_cpu=on_cpu))
    return _merged(sentences)


def _dispatch_sentence(
    op: Op, everything: list[Op], ran: list[Launch], recording: Recording, *, on_cpu: bool
) -> Sentence:
    reaching = list(dict.fromkeys(launch.op_id for launch in ran))
    module = (op.source.module if op.source else None) or _module(op, recording)
    who = f"{module}{_direction(op, recording)}" if module else op.name.removeprefix(_AUTOGRAD)
    head = f"{who}: {counted(len(everything), 'op')} ({tallied([item.name for item in everything], limit=4)})"
    names = listed(list(dict.fromkeys(launch.op or "?" for launch in ran)))
    if not ran:
        # A CPU tensor's op in a GPU program works as well, only not there.
        # What may copy launched nothing, so it was a view; `empty_like` allocates and `item` reads: nothing is said of them.
        natures = {"view" if op_name(item.name) in MAY_COPY else expected_nature(item.name) for item in everything} - {
            "composite"
        }
        what = ": only metadata changes" if natures == {"view"} else ""
        if not on_cpu:
            what = f", none of them launches device work{': they run on the CPU' if 'kernel' in natures else what}"
        text = f"{head}{what}."
    elif len(everything) == 1:
        what = "on the CPU" if on_cpu else f"{_as_kernels(ran)} on the device"
        text = f"{'' if who == everything[0].name else f'{who}: '}{everything[0].name} runs {what}."
    elif on_cpu:  # all of them run there
        verb = "does" if len({launch.op for launch in ran}) == 1 else "do"
        text = f"{head}; {names} {verb} the work, {counted(len(ran), 'kernel')}."
    else:
        verb = "runs" if len(reaching) == 1 else "run"
        text = f"{head}, {len(reaching)} of them {verb} on the device: {names}, as {_as_kernels(ran)}."
    return Sentence(
        topic="dispatch",
        text=text,
        evidence=(*(f"op:{item.id}" for item in everything), *_ids(ran)),
        weakest=_weakest(ran),
        values={"ops": len(everything), "reaching": len(reaching), "launches": len(ran)},
    )


def _as_kernels(launches: Sequence[Launch]) -> str:
    """What launches are: a single kernel by its name."""
    parts = launch_cost.launched(launches)
    kernels = [launch for launch in launches if launch.category == "kernel"]
    return listed([f"`{kernel_name(kernels[0].name, 60)}`", *parts[1:]] if len(kernels) == 1 else parts)


def _merged(sentences: list[Sentence]) -> list[Sentence]:
    """Join equal statements: the layers of a deep model say the same thing many times."""
    found = grouped(sentences, lambda sentence: sentence.text)
    merged: list[Sentence] = []
    for text, same in found.items():
        first = same[0]
        evidence = tuple(item for sentence in same for item in sentence.evidence)
        text = text if len(same) == 1 else f"{text[:-1]} ({len(same)} times)."
        values = {**first.values, "times": len(same)}
        merged.append(replace(first, text=text, evidence=evidence, values=values))
    return merged


def launch_story(launches: Iterable[Any], steps: Iterable[Any]) -> list[Sentence]:
    """What launching costs, and which side sets the length of a step."""
    sentences: list[Sentence] = []
    steps = list(steps)
    rows = [row for row in launches if steps and row.step == steps[-1].step]
    asked = [row for row in rows if launch_cost.queries(row)]
    if asked:
        sentences.append(
            Sentence(
                topic="launch",
                evidence=asked[0].evidence,
                text=f"{asked[0].op} queries the runtime before it launches: {listed(list(dict.fromkeys(launch_cost.queries(asked[0]))))}.",
            )
        )
    timed = [row for row in rows if row.cpu_us is not None and row.queue_us is not None]
    if timed:
        worst = max(timed, key=lambda row: row.cpu_us or 0)
        inside = sum(row.runtime_us or 0 for row in timed)
        text = (
            f"In the last step {counted(len(timed), 'op')} that {'launches' if len(timed) == 1 else 'launch'} work {'spends' if len(timed) == 1 else 'spend'} {microseconds(inside)} in runtime calls. The slowest launch is "
            f"{worst.op}'s: {microseconds(worst.cpu_us)} from the op's start to the launch call, {microseconds(worst.queue_us)} until the kernel starts, "
            f"{microseconds(worst.device_us)} of device time."
        )
        sentences.append(Sentence(topic="launch", text=text, evidence=worst.evidence, values={"runtime_us": inside}))
    if steps:
        last = steps[-1]
        sentences.append(
            Sentence(
                topic="launch",
                text=f"The last step is {last.verdict}.",
                evidence=(f"step:{last.step}",),
                values={"wall_us": last.wall_us, "device_us": last.device_us, "bound": last.bound},
            )
        )
    return sentences


def _weakest(launches: Iterable[Launch]) -> Evidence | None:
    links: list[Evidence | None] = [launch.evidence.op for launch in launches]
    return weakest(*links)


def _inside_ops(recording: Recording) -> set[int]:
    """The ids of what lies in a dispatched op, at any depth; each is looked at once, in whatever order they stand."""
    ids, parents, names, categories = (column(recording.ops, key) for key in ("id", "parent", "name", "category"))
    above = dict(zip(ids, parents, strict=True))
    dispatched = {
        item
        for item, name, category in zip(ids, names, categories, strict=True)
        if "::" in name and category == "cpu_op"
    }
    inside: dict[int | None, bool] = {None: False}
    for item in ids:
        way: list[int] = []
        while item not in inside and item in above:
            way.append(item)
            item = above[item]
        found = inside.get(item, False)
        for below in reversed(way):
            inside[below] = found = found or above[below] in dispatched
    return {item for item, is_inside in inside.items() if is_inside and item is not None}


def _below(op: Op, children: dict[int, list[Op]]) -> list[Op]:
    found: list[Op] = []
    stack = list(reversed(children.get(op.id, [])))
    while stack:
        item = stack.pop()
        found.append(item)
        stack.extend(reversed(children.get(item.id, [])))
    return found


def _module(op: Op, recording: Recording) -> str | None:
    """The module path, where the eager graph knows it for the op's node."""
    node = index_of(recording).by_key.get((op.graph or "", op.node or ""))
    return node.source.module if node is not None and node.source else None


def _direction(op: Op, recording: Recording) -> str:
    """What tells work of a module's backward, which its forward's module stands for, too."""
    ops, names = index_of(recording).ops, [op.name]
    above = ops.get(op.parent) if op.parent is not None else None
    while above is not None:
        names.append(above.name)
        above = ops.get(above.parent) if above.parent is not None else None
    return " (backward)" if ran_backward(None, names) else ""


def _ids(launches: Iterable[Launch]) -> tuple[str, ...]:
    return tuple(f"launch:{launch.id}" for launch in launches)
