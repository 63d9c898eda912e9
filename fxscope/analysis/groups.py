"""Equal work in equal layers as one thing: kernels with the same module pattern, ops, shapes and dtype.

A place is one kernel call, or one eager op, of a step. Places are equal when everything but the numbers in their module
paths is equal: `layers.0.fc1` and `layers.1.fc1` are `layers.[0..1].fc1`. A kernel's name alone never makes two places equal.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from statistics import median
from typing import Any, Literal, NamedTuple

from fxscope.analysis.select import collective_label, ops_in, ran_backward
from fxscope.columns import Items, column, rows_of
from fxscope.index import index_of, kept, per_step
from fxscope.model import Decision, Item, KernelCall, Node, Recording, TensorMeta, replace
from fxscope.op_names import (
    OPTIMIZER_STEP,
    USERS_TRITON,
    copies_around_graph,
    is_dispatched,
    is_generated,
    op_name,
    ops_of,
    phase_of,
    without_graph_number,
    without_number,
)
from fxscope.passes.predicted import runs_of
from fxscope.text import kernel_name, sizes

Phase = Literal["forward", "backward", "optimizer"]

MAX_OPS = 4  # ops of a label
VARY = "shapes vary"
NODE_FIELDS = ("name", "op", "target", "nature", "source", "roof")  # what the facts of a trace's node are made of
# The number of a part, "3", and "Linear_12" as torch's profiler counts the instances of a class.
_NUMBER = re.compile(r"(?<![^_.])\d+(?![^.])")
_FAMILIAR = re.compile(
    r"^_?native_|^_(?=[a-z])|_legit(_functional|_no_training|_no_stats)?$|(?<=sdpa)_for_cpu$"
)  # native_layer_norm, _softmax


class KernelGroup(Item, frozen=True, kw_only=True):
    """Equal places of a step. Times are µs per step: shares of its device time, as the medians of the groups are."""

    id: str
    label: str  # the user's ops: "gelu·mul"
    ops: tuple[str, ...] = ()
    phase: Phase | None = None  # None: inference, or not known
    module: str | None = None  # "layers.[0..11].fc1"; None where no module is known
    modules: tuple[str, ...] = ()
    count: int = 1  # places in a step that has any
    order: int = 0  # place in the step, by the first launch
    launches: float = 0  # per step
    time_us: float | None = None
    predicted: bool = False  # time_us is a plan's
    is_lower_bound: bool = False  # … and of its calls only lower bounds are known
    share: float | None = None  # of the step's device time
    roof: float | None = None  # share of the nearer roof, by time; None where a place has none
    shape: str | None = None  # "float32 (32, 64) (64, 256)"
    kernels: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    nodes: tuple[tuple[str, str], ...] = ()  # (graph, node)
    attributed: bool = True  # whether the op that launched it is known
    around_graph: bool = False  # a copy that the wrapper of a compiled graph makes

    @property
    def about(self) -> str:
        """The mark before the time."""
        return about(predicted=self.predicted, is_lower_bound=self.is_lower_bound)


def about(*, predicted: bool, is_lower_bound: bool) -> str:
    return "≥ " if is_lower_bound else "~" if predicted else ""


class PlaceFacts(NamedTuple):
    label: str
    ops: tuple[str, ...]
    phase: Phase | None
    modules: tuple[str, ...]
    shape: str
    call: KernelCall | None = None
    nodes: tuple[tuple[str, str], ...] = ()
    roof: float | None = None
    attributed: bool = True
    around_graph: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        return self.label, self.phase, tuple(dict.fromkeys(map(numberless, self.modules))), self.shape


def groups(recording: Recording) -> tuple[KernelGroup, ...]:
    """Recording → its groups, most device time first."""
    return kept(recording, "groups", _groups)


@lru_cache(maxsize=1 << 16)
def numberless(module: str) -> str:
    """ "layers.3.fc1" → "layers.#.fc1"."""
    return _NUMBER.sub("#", module)


def pattern(modules: Iterable[str]) -> str | None:
    """The common pattern of module paths: "layers.[0..11].fc1", only as deep as all of them agree."""
    paths = list(dict.fromkeys(filter(None, modules)))
    if len(paths) < 2:
        return paths[0] if paths else None
    parts: list[str] = []
    for place in zip(*(path.split(".") for path in paths), strict=False):
        bare, *others = dict.fromkeys(map(numberless, place))
        if others:
            break
        numbers = sorted({int(number) for part in place for number in _NUMBER.findall(part)})
        parts.append(bare.replace("#", span(numbers)))
    return ".".join(parts) or None


def span(numbers: Sequence[int]) -> str:
    """ "3", "[0..11]", "[0,2,5]"."""
    if len(numbers) < 2:
        return "".join(map(str, numbers))
    if list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"[{numbers[0]}..{numbers[-1]}]"
    if len(numbers) > 3:
        return f"[{numbers[0]}…{numbers[-1]}]"
    return f"[{','.join(map(str, numbers))}]"


@lru_cache(maxsize=4096)
def label_of(ops: tuple[str, ...]) -> str:
    """ "gelu·mul", in the names that people use; the first ops and the last where there are many."""
    names = [_FAMILIAR.sub("", op.replace("_scaled_dot_product", "sdpa")) for op in ops]
    return "·".join(names if len(names) <= MAX_OPS else [*names[: MAX_OPS - 1], "…", names[-1]])


class Places:
    """Looks up the facts of calls, nodes and ops of one recording; each is made once."""

    def __init__(self, recording: Recording) -> None:
        self._index = index_of(recording)
        directions = {graph.direction for graph in recording.graphs}
        self._trains = bool(directions & {"forward", "backward"})
        self._known: dict[Any, PlaceFacts] = {}
        self._phases: dict[Any, Phase | None] = {}
        self.seen: dict[tuple[str, str], Node] = {}  # of a trace, with `NODE_FIELDS` alone

    def of_call(self, call: KernelCall) -> PlaceFacts:
        if call.id not in self._known:
            nodes = self._index.nodes.get(call.graph, {})
            inside = [nodes[name] for name in call.nodes if name in nodes]
            biases = ["bias of convolution"] if call.biases else []
            ran = ops_in(call, nodes) if call.nodes else []
            ops = tuple([*biases, *ran] or ([op_name(call.kernel)] if call.is_extern else []))  # a layout copy has none
            # A Triton kernel of the user's is called by its own name, without Inductor's number.
            shown = tuple(without_number(call.kernel) if op.startswith(USERS_TRITON) else op for op in ops)
            self._known[call.id] = PlaceFacts(
                label=label_of(shown) or ("layout copy" if call.purpose is not None else call.kernel),
                ops=ops,
                phase=self.phase(call.graph, ()) if call.graph in self._index.graphs else None,
                modules=modules_of(inside),
                shape=call_shape(call, inside, nodes),
                call=call,
                nodes=tuple((call.graph, name) for name in call.nodes),
                roof=call.roof.share if call.roof else None,
            )
        return self._known[call.id]

    def phase(self, graph_id: str | None, chain: tuple[str, ...]) -> Phase | None:
        """Forward, backward or optimizer; `None` in inference."""
        if (graph_id, chain) not in self._phases:
            backward = ran_backward(self._index.graphs.get(graph_id or ""), chain)
            ran = "backward" if backward else "forward" if self._trains and backward is False and graph_id else None
            self._phases[graph_id, chain] = "optimizer" if phase_of(chain) == "optimizer" else ran
        return self._phases[graph_id, chain]

    def of_nodes(
        self, graph_id: str, names: tuple[str, ...], chain: tuple[str, ...] = (), shape: str = ""
    ) -> PlaceFacts:
        """The facts of eager nodes, or of nodes of a compiled graph that no call runs; in a trace the op has the shape."""
        key = (graph_id, names)
        if key not in self._known:
            nodes = self._index.nodes.get(graph_id, {})
            inside = [self.seen.get((graph_id, name)) or nodes[name] for name in names if name in nodes]
            roofs = [node.roof.share for node in inside if node.roof is not None]
            self._known[key] = self._facts(
                tuple(ops_of(inside)) or tuple(map(op_name, names)),
                chain,
                self.phase(graph_id, chain),
                modules_of(inside),
                tensors_words([(meta for node in inside for meta in node.outputs)]) or shape,
                nodes=tuple((graph_id, name) for name in names),
                roof=roofs[-1] if roofs else None,
            )
        return self._known[key]

    def of_op(
        self, op: str, kernel: str, graph: str | None, chain: tuple[str, ...], module: str, shape: str
    ) -> PlaceFacts:
        """The facts of an op that no graph has, by its shapes and dtypes."""
        key = (op, kernel, graph, chain, module, shape)
        if key not in self._known:
            ops = (op_name(op),) if is_dispatched(op) else (kernel_label(op, kernel),)
            modules = (module,) if module else ()
            around = bool(self._index.calls) and copies_around_graph(op, chain)
            self._known[key] = self._facts(ops, chain, self.phase(graph, chain), modules, shape, around_graph=around)
        return self._known[key]

    def _facts(
        self,
        ops: tuple[str, ...],
        chain: tuple[str, ...],
        phase: Phase | None,
        modules: tuple[str, ...],
        shape: str,
        **more: Any,
    ) -> PlaceFacts:
        """The facts of ops; an optimizer's are one place, of any shape."""
        label, is_optimizer = _label_in(chain, ops)
        return PlaceFacts(label, ops, phase, () if is_optimizer else modules, "" if is_optimizer else shape, **more)


@lru_cache(maxsize=4096)
def _label_in(chain: tuple[str, ...], ops: tuple[str, ...]) -> tuple[str, bool]:
    optimizer = optimizer_label(chain, ops)
    return optimizer or collective_label(chain, ops) or label_of(ops), bool(optimizer)


def kernel_label(op: str, kernel: str) -> str:
    """Return what to call a kernel that no dispatched op launched: Triton kernels without their number."""
    name = without_graph_number(op if is_generated(op) else kernel)
    return without_number(name) if is_generated(name) else kernel_name(name, 40)


def optimizer_label(chain: Sequence[str], ops: Sequence[str]) -> str:
    """ "AdamW (foreach)"; "" outside an optimizer's step."""
    found = next((found["name"] for name in chain if (found := OPTIMIZER_STEP.search(name))), "")
    if not found:
        return ""
    how = " (fused)" if any("fused" in op for op in ops) else " (foreach)" if any("foreach" in op for op in ops) else ""
    return f"{found}{how}"


def modules_of(nodes: Sequence[Node]) -> tuple[str, ...]:
    """The module paths of nodes, views left out where there is other work."""
    working = [node for node in nodes if node.nature != "view"] or nodes
    return tuple(dict.fromkeys(node.source.module for node in working if node.source and node.source.module))


def call_shape(call: KernelCall, inside: Sequence[Node], nodes: Mapping[str, Node]) -> str:
    """The dtypes and shapes that a call writes and reads, in words."""
    if call.writes and any(access.shape for access in call.writes):
        sides = ([item for item in side if item.shape is not None] for side in (call.writes, call.reads or ()))
        # Not in Inductor's order, that of the buffers' names, which differ from layer to layer.
        return " ".join(
            words for side in sides for words in sorted(f"{item.dtype} {sizes(item.shape)}" for item in side)
        )
    outputs = (meta for node in inside for meta in node.outputs)
    inputs = (meta for node in inside for name in node.inputs if name in nodes for meta in nodes[name].outputs)
    return tensors_words([outputs, inputs])


def tensors_words(parts: Iterable[Iterable[TensorMeta]]) -> str:
    """ "bfloat16 (64, 768) float32 (768,)"."""
    return " ".join(f"{meta.dtype} {sizes(meta.shape)}" for part in parts for meta in part)


def _shape(dtypes: tuple[str, ...] | None, shapes: tuple[Any, ...]) -> str:
    try:
        return op_tensors(dtypes, shapes)
    except TypeError:  # from a file, where shapes are lists
        return op_tensors.__wrapped__(dtypes, shapes)


@lru_cache(maxsize=4096)  # layers and steps call with the same
def op_tensors(dtypes: tuple[str, ...] | None, shapes: tuple[Any, ...]) -> str:
    """The dtypes and shapes of an op's tensors, as `tensors_words` writes them."""
    pairs = zip_longest(dtypes or (), shapes, fillvalue="")
    return " ".join(f"{dtype} {sizes(shape)}" for dtype, shape in pairs if shape)


class _Total:
    def __init__(self, facts: PlaceFacts, shape: str) -> None:
        self.facts = facts
        self.shape = shape
        self.by_step: dict[int, float] = defaultdict(float)  # ns of launches, µs of planned calls
        self.launches: dict[int, int] = defaultdict(int)
        self.places: dict[int, set[Any]] = defaultdict(set)
        self.modules: dict[str, None] = {}
        self.kernels: dict[str, None] = {}
        self.calls: dict[str, None] = {}
        self.nodes: dict[tuple[str, str], None] = {}
        self.roofed, self.roof = 0.0, 0.0
        self.start_ns: int | None = None  # in the typical step


def _groups(recording: Recording) -> tuple[KernelGroup, ...]:
    places = kept(recording, "places", Places)
    found = _ran(recording, places) if len(recording.launches) else _planned(recording, places)
    ids: dict[str, int] = {}
    out: list[KernelGroup] = []
    for group in sorted(found, key=lambda item: (-(item.time_us or 0.0), item.label)):
        ids[group.id] = ids.get(group.id, 0) + 1
        out.append(group if ids[group.id] == 1 else replace(group, id=f"{group.id}#{ids[group.id]}"))
    return tuple(out)


def _ran(recording: Recording, places: Places) -> list[KernelGroup]:
    index = index_of(recording)
    facts_of = _facts_of_launches(recording, places)
    rows = rows_of(recording.launches, "step", "duration_ns", "start_ns", "name", "call", "op_id", "id")
    counted = [(facts, *row) for facts, row in zip(facts_of, rows, strict=True) if row[0] in index.step_set]
    keys = _keys(counted, index.num_steps)
    totals: dict[tuple[object, ...], _Total] = {}
    by_facts: dict[int, _Total] = {}
    for facts, step, duration, start, name, call, op_id, number in counted:
        total = by_facts.get(id(facts))
        if total is None:
            total = by_facts[id(facts)] = _total_of(totals, facts, keys[id(facts)])
        total.by_step[step] += duration
        total.launches[step] += 1
        total.places[step].add(call or (number if op_id is None else op_id))
        if step == index.typical_step:
            total.start_ns = start if total.start_ns is None else min(start, total.start_ns)
        total.kernels[name] = None
        if facts.roof is not None:
            total.roof += facts.roof * duration
            total.roofed += duration
    in_order = sorted(totals.values(), key=lambda total: (total.start_ns is None, total.start_ns or 0))
    return _finished(in_order, index.num_steps, index.device_us or 0.0)


def _keys(counted: Iterable[tuple[Any, ...]], num_steps: int) -> dict[int, tuple[object, ...]]:
    """Facts, by id → the key of their group: what differs in shape only and runs in some steps only is one place."""
    keys: dict[int, tuple[object, ...]] = {}
    steps: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for facts, step, *_ in counted:
        key = keys.get(id(facts))
        if key is None:
            key = keys[id(facts)] = facts.key
        steps[key].add(step)
    varying = Counter(key[:-1] for key, seen in steps.items() if len(seen) < num_steps)
    return {
        facts: (*key[:-1], VARY) if len(steps[key]) < num_steps and varying[key[:-1]] > 1 else key
        for facts, key in keys.items()
    }


def _finished(in_order: Sequence[_Total], num_steps: int, device_us: float | None) -> list[KernelGroup]:
    """The groups with their shares of the device time, of all groups together where there is none."""
    times = [per_step(total.by_step.values(), num_steps) if total.by_step else None for total in in_order]
    whole = sum(time or 0.0 for time in times)
    out: list[KernelGroup] = []
    for order, (total, time) in enumerate(zip(in_order, times, strict=True)):
        share = time / (whole or 1) if time is not None else None  # medians do not add up to the step's median
        time_us = share * device_us if share is not None and device_us is not None else time
        out.append(_group(total, num_steps, share, time_us, order))
    return out


def _total_of(totals: dict[tuple[object, ...], _Total], facts: PlaceFacts, key: tuple[Any, ...]) -> _Total:
    total = totals.get(key)
    if total is None:
        total = totals[key] = _Total(facts, key[-1])
    total.modules.update(dict.fromkeys(facts.modules))
    total.nodes.update(dict.fromkeys(facts.nodes))
    if facts.call is not None:
        total.calls[facts.call.id] = None
    return total


def _group(total: _Total, steps: int, share: float | None, time_us: float | None, order: int) -> KernelGroup:
    facts = total.facts
    everything = sum(total.by_step.values())
    module = pattern(total.modules)
    return KernelGroup(
        id="/".join(part for part in (facts.phase, module, facts.label) if part),
        label=facts.label,
        ops=facts.ops,
        phase=facts.phase,
        module=module,
        modules=tuple(total.modules),
        count=round(median(len(places) for places in total.places.values())),
        order=order,
        launches=per_step(total.launches.values(), steps),
        time_us=time_us,
        share=share if time_us else None,
        roof=total.roof / everything if everything and total.roofed == everything else None,
        shape=total.shape or None,
        kernels=tuple(total.kernels),
        calls=tuple(total.calls),
        nodes=tuple(total.nodes),
        attributed=facts.attributed,
        around_graph=facts.around_graph,
    )


def _facts_of_launches(recording: Recording, places: Places) -> list[PlaceFacts]:
    """The facts of each launch; equal ones are one object. Of equal launches one is looked at: chains and shapes cost most."""
    index, launches = index_of(recording), recording.launches
    rows_of_ops: Mapping[int | None, int] = index.op_rows  # type: ignore[assignment]
    keys: list[tuple[Any, ...]] = []
    for call, graph, nodes, op_id, name in zip(
        *(column(launches, field) for field in ("call", "graph", "nodes", "op_id", "name")), strict=True
    ):
        if call is not None and call in index.calls:
            keys.append(("call", call))
        elif nodes and graph:
            keys.append(("nodes", graph, nodes))
        else:
            keys.append(("op", op_id, name) if op_id in rows_of_ops else ("kernel", name))
    unattributed = [row for row, key in enumerate(keys) if key[0] == "kernel"]
    for row, grid in zip(unattributed, column(launches, "grid", unattributed), strict=True):
        keys[row] = (*keys[row], grid)
    first: dict[tuple[Any, ...], int] = {}
    for row, key in enumerate(keys):
        first.setdefault(key, row)
    made = _first_facts(recording, places, first, rows_of_ops)
    return [made[key] for key in keys]


def _first_facts(
    recording: Recording, places: Places, first: Mapping[tuple[Any, ...], int], rows_of_ops: Mapping[int | None, int]
) -> dict[tuple[Any, ...], PlaceFacts]:
    rows = [row for key, row in first.items() if key[0] in ("nodes", "op")]
    seen = dict(zip(rows, rows_of(recording.launches, "chain", "op_id", which=rows), strict=True))
    op_rows = [rows_of_ops[op_id] for _, op_id in seen.values() if op_id in rows_of_ops]
    ops = dict(
        zip(op_rows, rows_of(recording.ops, "name", "graph", "source", "dtypes", "shapes", which=op_rows), strict=True)
    )
    names = {(key[1], name) for key in first if key[0] == "nodes" for name in key[2]}
    for graph in recording.graphs:
        if isinstance(graph.nodes, Items):
            wanted = [row for row, name in enumerate(column(graph.nodes, "name")) if (graph.id, name) in names]
            nodes = rows_of(graph.nodes, *NODE_FIELDS, which=wanted)
            fields = (dict(zip(NODE_FIELDS, row, strict=True)) for row in nodes)
            places.seen |= {(graph.id, row["name"]): Node(**row) for row in fields}
    made: dict[tuple[Any, ...], PlaceFacts] = {}
    for key, row in first.items():
        if key[0] == "call":
            made[key] = places.of_call(index_of(recording).calls[key[1]])
        elif key[0] == "kernel":
            made[key] = PlaceFacts(kernel_label(key[1], key[1]), (), None, (), f"{key[1]} {key[2]}", attributed=False)
        else:
            chain, op_id = seen[row]
            name, graph, source, dtypes, shapes = ops.get(rows_of_ops.get(op_id, -1), ("", None, None, None, None))
            shape = "" if shapes is None else _shape(dtypes, shapes)
            if key[0] == "nodes":
                made[key] = places.of_nodes(key[1], key[2], chain, shape)
            else:
                module = source.module or "" if source else ""
                made[key] = places.of_op(name, key[2], graph, chain, module, key[2] if shapes is None else shape)
    return made


def _planned(recording: Recording, places: Places) -> list[KernelGroup]:
    """The groups of kernel calls without launches: a plan's, with predicted times, or those of a compile's files."""
    runs = runs_of(recording.compiles)
    totals: dict[tuple[object, ...], _Total] = {}
    for call in recording.calls:
        facts, times = places.of_call(call), runs(call.graph)
        time_us = call.timing.median_us if call.timing else call.estimated_us
        total = _total_of(totals, facts, facts.key)
        total.kernels[call.kernel] = None
        total.launches[0] += times
        total.places[0].update((call.id, turn) for turn in range(times))
        if time_us is not None:
            total.by_step[0] += time_us * times
            total.roof += (facts.roof or 0.0) * time_us * times
            total.roofed += time_us * times if facts.roof else 0
    found = _finished(list(totals.values()), 1, None)
    timed = {call.id for call in recording.calls if call.timing}
    predicted = {call.id for call in recording.calls if call.estimated_range_us is not None}
    return [
        replace(group, predicted=True, is_lower_bound=predicted.isdisjoint(group.calls))
        if timed.isdisjoint(group.calls)
        else group
        for group in found
    ]


def ends_of(recording: Recording) -> Callable[[Decision], tuple[PlaceFacts, PlaceFacts]]:
    """A function that names both sides of a decision as the groups name their places."""
    groups(recording)  # what launches are part of, an optimizer's step say, is known from here on
    places, index = kept(recording, "places", Places), index_of(recording)

    def end(names: tuple[str, ...], graph: str, call_id: str | None) -> PlaceFacts:
        call = index.calls.get(call_id or "")
        whole = call is not None and set(names) >= set(call.nodes)
        return places.of_call(call) if call is not None and whole else places.of_nodes(graph, names)

    return lambda decision: (end(*decision.ends[0]), end(*decision.ends[1]))
