"""Equal work in equal layers as one thing: kernels with the same module pattern, ops, shapes and dtype.

A place is one kernel call, or one eager op, of a step. Places are equal when everything but the numbers in their module
paths is equal: `layers.0.fc1` and `layers.1.fc1` are `layers.[0..1].fc1`. A kernel's name alone never makes two places equal.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fxscope import op_names
from fxscope.analysis.select import collective_label, nodes_by_key, ops_in, ran_backward
from fxscope.columns import array, coded, column, different, marked, positions, rows_of
from fxscope.index import grouped, index_of, kept, per_step
from fxscope.model import Decision, Item, KernelCall, Node, Recording, TensorMeta, replace
from fxscope.passes.predicted import runs_of
from fxscope.text import kernel_name, sizes

Phase = Literal["forward", "backward", "optimizer"]
Outside = Literal["eager", "wrapper_copy", "unknown"]  # a copy into a compiled graph; in one whose calls are not known

MAX_OPS = 4  # ops of a label
VARY = "shapes vary"
# The number of a part, "3", and "Linear_12" as torch's profiler counts the instances of a class.
_NUMBER = re.compile(r"(?<![^_.])\d+(?![^.])")
_FAMILIAR = re.compile(
    r"^_?native_|^_(?=[a-z])|_legit(_functional|_no_training|_no_stats)?$|(?<=sdpa)_for_cpu$"
)  # native_layer_norm, _softmax


class KernelGroup(Item, frozen=True, kw_only=True):
    """Equal places of a step. Times are µs per step: the median of what they take in a step (`time_of`)."""

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
    outside: Outside = "eager"  # what it is where no kernel call is known


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
    outside: Outside = "eager"

    @property
    def key(self) -> tuple[object, ...]:
        purpose = self.call.purpose if self.call else None
        return self.label, self.phase, purpose, tuple(dict.fromkeys(map(numberless, self.modules))), self.shape


def groups(recording: Recording) -> tuple[KernelGroup, ...]:
    """Recording → its groups, most device time first."""
    return kept(recording, "groups", _groups)[0]


def time_of(recording: Recording, some: Iterable[KernelGroup]) -> float | None:
    """The µs per step of some groups together: the median of their sums, not the sum of their medians."""
    by_step, total = kept(recording, "groups", _groups)[1], defaultdict[int, float](float)
    for group in some:
        for step, time in by_step[group.order].items():
            total[step] += time
    return per_step(total.values(), index_of(recording).num_steps) if total else None


@lru_cache(maxsize=1 << 16)
def numberless(module: str) -> str:
    """ "layers.3.fc1" → "layers.#.fc1"."""
    return _NUMBER.sub("#", module)


def pattern(modules: Iterable[str]) -> str | None:
    """The common pattern of module paths: "layers.[0..11].fc1", only as deep as all of them agree; "[1]" of "1" alone."""
    paths = list(dict.fromkeys(filter(None, modules)))
    if len(paths) < 2:
        return (f"[{paths[0]}]" if paths[0].isdigit() else paths[0]) if paths else None
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
    return f"[{numbers[0]}…{numbers[-1]}]" if len(numbers) > 3 else f"[{','.join(map(str, numbers))}]"


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
        self.seen: dict[tuple[str | None, str], Node] = {}  # made before they are looked up

    def of_call(self, call: KernelCall) -> PlaceFacts:
        if call.id not in self._known:
            nodes = self._index.nodes.get(call.graph, {})
            inside = [nodes[name] for name in call.nodes if name in nodes]
            biases = ["bias of convolution"] if call.biases else []
            ran = ops_in(call, nodes) if call.nodes else []
            named = [op_names.op_name(call.kernel)] if call.is_extern else call.purpose_arguments.get("ops", ())
            ops = tuple([*biases, *ran] or named)  # a layout copy has none
            # A Triton kernel of the user's is called by its own name, without Inductor's number.
            kernel = op_names.without_number(call.kernel)
            shown = tuple(kernel if op.startswith(op_names.USERS_TRITON) else op for op in ops)
            self._known[call.id] = PlaceFacts(
                label=label_of(shown) or ("layout copy" if call.purpose == "layout_copy" else call.kernel),
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
            self._phases[graph_id, chain] = "optimizer" if op_names.phase_of(chain) == "optimizer" else ran
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
                tuple(op_names.ops_of(inside)) or tuple(map(op_names.op_name, names)),
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
            is_named = op_names.is_dispatched(op) or collective_label(chain, (op,))
            ops = (op_names.op_name(op),) if is_named else (kernel_label(op, kernel),)
            modules = (module,) if module else ()
            in_graph = any(name.startswith(op_names.INDUCTOR_RUNS) for name in chain)
            is_copy = self._index.calls and op_names.copies_around_graph(op, chain)
            outside: Outside = "wrapper_copy" if is_copy else "unknown" if in_graph else "eager"
            self._known[key] = self._facts(ops, chain, self.phase(graph, chain), modules, shape, outside=outside)
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
    name = op_names.without_graph_number(op if op_names.is_generated(op) else kernel)
    return op_names.without_number(name) if op_names.is_generated(name) else kernel_name(name, 40)


def optimizer_label(chain: Sequence[str], ops: Sequence[str]) -> str:
    """ "AdamW (foreach)"; "" outside an optimizer's step."""
    found = next((found["name"] for name in chain if (found := op_names.OPTIMIZER_STEP.search(name))), "")
    how = next((f" ({how})" for how in ("fused", "foreach") if any(how in op for op in ops)), "")
    return f"{found}{how}" if found else ""


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
            words for side in sides for words in sorted(f"{item.dtype} {sizes(item.shape or ())}" for item in side)
        )
    outputs = (meta for node in inside for meta in node.outputs)
    inputs = (meta for node in inside for name in node.inputs if name in nodes for meta in nodes[name].outputs)
    return tensors_words([outputs, inputs])


def tensors_words(parts: Iterable[Iterable[TensorMeta]]) -> str:
    """ "bfloat16 (64, 768) float32 (768,)"."""
    return " ".join(f"{meta.dtype} {sizes(meta.shape)}" for part in parts for meta in part)


class _Total(NamedTuple):
    """Totals of one group, by step; those of a plan are the same in each."""

    facts: Sequence[PlaceFacts]
    shape: str
    by_step: Mapping[int, float]  # µs of launches
    launches: Mapping[int, int]
    places: Mapping[int, int]
    kernels: Iterable[str]  # of each call or launch
    roof: float | None  # the share by time; None where a place has none
    start_ns: float = math.inf  # in the typical step
    is_predicted: bool = False
    is_lower_bound: bool = False


def _groups(recording: Recording) -> tuple[tuple[KernelGroup, ...], Sequence[Mapping[int, float]]]:
    """The groups, with shares of a step's device time, else of their sum; and the times of each by step, in their order."""
    places = kept(recording, "places", Places)
    totals = _ran(recording, places) if len(recording.launches) else _planned(recording, places)
    num_steps, device_us = index_of(recording).num_steps, index_of(recording).device_us
    times = [per_step(total.by_step.values(), num_steps) if total.by_step else None for total in totals]
    whole = device_us if device_us is not None else sum(time or 0.0 for time in times)
    found: list[KernelGroup] = []
    for order, (total, time) in enumerate(zip(totals, times, strict=True)):
        facts = total.facts[0]
        modules = dict.fromkeys(module for item in total.facts for module in item.modules)
        module = pattern(modules)
        found.append(
            KernelGroup(
                id="/".join(part for part in (facts.phase, module, facts.label) if part),
                label=facts.label,
                ops=facts.ops,
                phase=facts.phase,
                module=module,
                modules=tuple(modules),
                count=round(median(total.places.values())),
                order=order,
                launches=per_step(total.launches.values(), num_steps),
                time_us=time,
                predicted=total.is_predicted,
                is_lower_bound=total.is_lower_bound,
                share=time / whole if time and whole else None,
                roof=total.roof,
                shape=total.shape or None,
                kernels=tuple(dict.fromkeys(total.kernels)),
                calls=tuple(item.call.id for item in total.facts if item.call is not None),
                nodes=tuple(dict.fromkeys(node for item in total.facts for node in item.nodes)),
                attributed=facts.attributed,
                outside=facts.outside,
            )
        )
    ids: dict[str, int] = {}
    out: list[KernelGroup] = []
    for group in sorted(found, key=lambda item: (-(item.time_us or 0.0), item.label)):
        ids[group.id] = ids.get(group.id, 0) + 1
        out.append(group if ids[group.id] == 1 else replace(group, id=f"{group.id}#{ids[group.id]}"))
    return tuple(out), [total.by_step for total in totals]


def _ran(recording: Recording, places: Places) -> list[_Total]:
    index, launches = index_of(recording), recording.launches
    every, facts_of = _facts_of_launches(recording, places)
    steps, times, starts, ops = (array(launches, field) for field in ("step", "duration_ns", "start_ns", "op_id"))
    rows = np.flatnonzero(np.isin(steps, index.steps))
    keys = _keys(every, facts_of[rows], steps[rows], index.num_steps)
    same_keys = grouped(keys, keys.__getitem__)
    numbers = np.zeros(len(every), np.int64)
    for number, same in enumerate(same_keys.values()):
        numbers[same] = number
    numbers = numbers[facts_of[rows]]
    members = np.split(rows[np.argsort(numbers, kind="stable")], np.cumsum(np.bincount(numbers)))[:-1]
    kinds = [marked(launches, "call", bool), ops >= 0]
    kind, place = np.select(kinds, [0, 1], 2), np.select(kinds, [coded(launches, "call")[0], ops], np.arange(len(ops)))
    names = column(launches, "name")
    roofs = np.array([facts.roof for facts in every], np.float64)[facts_of]
    found: list[_Total] = []
    for (key, same), mine in zip(same_keys.items(), members, strict=True):
        in_step, which = np.unique(steps[mine], return_inverse=True)
        total = _Total(
            [every[at] for at in same],
            key[-1],
            dict(zip(in_step.tolist(), (np.bincount(which, times[mine]) / 1e3).tolist(), strict=True)),
            dict(zip(in_step.tolist(), np.bincount(which).tolist(), strict=True)),
            Counter(steps[mine[different(steps[mine], kind[mine], place[mine])[1]]].tolist()),
            map(names.__getitem__, mine.tolist()),
            None if np.isnan(roofs[mine]).any() else float(roofs[mine] @ times[mine] / (times[mine].sum() or 1)),
            min(starts[mine[steps[mine] == index.typical_step]].tolist(), default=math.inf),
        )
        found.append(total)
    return sorted(found, key=lambda total: total.start_ns)


def _keys(
    every: Sequence[PlaceFacts], facts_of: NDArray[np.int64], steps: NDArray[Any], num_steps: int
) -> dict[int, tuple[Any, ...]]:
    """Number of facts → key of their group: what differs in shape only and runs in some steps only is one place."""
    first = np.sort(different(facts_of, steps)[1])
    keys = {at: every[at].key for at in dict.fromkeys(facts_of[first].tolist())}
    seen: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for at, step in zip(facts_of[first].tolist(), steps[first].tolist(), strict=True):
        seen[keys[at]].add(step)
    varying = Counter(key[:-1] for key, in_steps in seen.items() if len(in_steps) < num_steps)
    return {
        at: (*key[:-1], VARY) if len(seen[key]) < num_steps and varying[key[:-1]] > 1 else key
        for at, key in keys.items()
    }


def _facts_of_launches(recording: Recording, places: Places) -> tuple[list[PlaceFacts], NDArray[np.int64]]:
    """The different facts, and which each launch has. Of equal launches one is looked at: chains and shapes cost most."""
    index, launches = index_of(recording), recording.launches
    ops = positions(recording.ops, "id", array(launches, "op_id"))
    calls, graphs, nodes, names = (coded(launches, field)[0] for field in ("call", "graph", "nodes", "name"))
    has_nodes = marked(launches, "nodes", bool) & marked(launches, "graph", bool)
    kinds = [marked(launches, "call", index.calls.__contains__), has_nodes, ops >= 0]
    kind = np.select(kinds, [0, 1, 2], 3)
    grids, alone = np.zeros(len(launches), np.int64), np.flatnonzero(kind == 3)
    grids[alone] = coded(launches, "grid", alone.tolist())[0]
    key = kind, np.select(kinds, [calls, graphs, ops], names), np.select(kinds, [kind, nodes, names], grids)
    codes, first = different(*key)
    made = _first_facts(recording, places, first.tolist(), kind[first].tolist(), ops[first].tolist())
    by_id = {id(facts): facts for facts in made}
    numbers = {known: number for number, known in enumerate(by_id)}
    return list(by_id.values()), np.array([numbers[id(facts)] for facts in made], np.int64)[codes]


def _first_facts(
    recording: Recording, places: Places, first: list[int], kinds: list[int], op_rows: list[int]
) -> list[PlaceFacts]:
    """The facts of some launches; a kind is 0 for one of a known call, 1 of nodes, 2 of an op, 3 of none of these."""
    seen = list(rows_of(recording.launches, "call", "graph", "nodes", "name", "chain", which=first))
    known = [row for row, kind in zip(op_rows, kinds, strict=True) if row >= 0 and kind in (1, 2)]
    fields = "name", "graph", "source", "dtypes", "shapes"
    ops = dict(zip(known, rows_of(recording.ops, *fields, which=known), strict=True))
    names = {(row[1], name) for row, kind in zip(seen, kinds, strict=True) if kind == 1 for name in row[2]}
    places.seen |= nodes_by_key(recording, names)
    made: list[PlaceFacts] = []
    for at, (call, graph, nodes, kernel, chain), op_row, kind in zip(first, seen, op_rows, kinds, strict=True):
        name, of_graph, source, dtypes, shapes = ops.get(op_row, ("", None, None, None, None))
        pairs = zip_longest(dtypes or (), shapes or (), fillvalue="")
        shape = " ".join(f"{dtype} {sizes(size)}" for dtype, size in pairs if size)
        if kind == 0:
            made.append(places.of_call(index_of(recording).calls[call]))
        elif kind == 1:
            made.append(places.of_nodes(graph, nodes, chain, shape))
        elif kind == 2:
            module = source.module or "" if source else ""
            made.append(places.of_op(name, kernel, of_graph, chain, module, kernel if shapes is None else shape))
        else:
            label, grid = kernel_label(kernel, kernel), column(recording.launches, "grid", [at])[0]
            made.append(PlaceFacts(label, (), None, (), f"{kernel} {grid or ''}".rstrip(), attributed=False))
    return made


def _planned(recording: Recording, places: Places) -> list[_Total]:
    """The totals of kernel calls without launches: a plan's, with predicted times, or those of a compile's files."""
    runs, steps = runs_of(recording.compiles), index_of(recording).steps
    found: list[_Total] = []
    for same in grouped(recording.calls, lambda call: places.of_call(call).key).values():
        facts, launches = [places.of_call(call) for call in same], sum(runs(call.graph) for call in same)
        each = [(call, call.timing.median_us if call.timing else call.estimated_us) for call in same]
        times = [(places.of_call(call).roof, time * runs(call.graph)) for call, time in each if time is not None]
        whole, under_roof = sum(time for _, time in times), [roof * time for roof, time in times if roof]
        roof = sum(under_roof) / (whole or 1) if times and len(under_roof) == len(times) else None
        by_step, counts = dict.fromkeys(steps, whole) if times else {}, dict.fromkeys(steps, launches)
        total = _Total(facts, facts[0].shape, by_step, counts, counts, [call.kernel for call in same], roof)
        if not any(call.timing for call in same):
            is_lower_bound = not any(call.estimated_range_us for call in same)
            total = total._replace(is_predicted=True, is_lower_bound=is_lower_bound)
        found.append(total)
    return found


def ends_of(recording: Recording) -> Callable[[Decision], tuple[PlaceFacts, PlaceFacts]]:
    """A function that names both sides of a decision as the groups name their places."""
    groups(recording)  # what launches are part of, an optimizer's step say, is known from here on
    places, index = kept(recording, "places", Places), index_of(recording)

    def end(names: tuple[str, ...], graph: str, call_id: str | None) -> PlaceFacts:
        call = index.calls.get(call_id or "")
        whole = call is not None and set(names) >= set(call.nodes)
        return places.of_call(call) if call is not None and whole else places.of_nodes(graph, names)

    return lambda decision: (end(*decision.ends[0]), end(*decision.ends[1]))
