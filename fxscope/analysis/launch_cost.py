"""What it costs to launch an op on the device, and what a call of compiled code costs on the CPU."""

from __future__ import annotations

from collections import Counter
from math import inf
from statistics import median
from typing import TYPE_CHECKING

from fxscope.analysis.stats import is_on_cpu
from fxscope.columns import column
from fxscope.model import Item
from fxscope.op_names import is_generated
from fxscope.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fxscope.model import Launch, Op, Recording

_SYNCHRONIZING = ("Synchronize", "EventQuery", "StreamQuery", "WaitEvent")

# What the trace calls the parts of a compiled call, in the order they run
COMPILED_PARTS = (
    ("TorchDynamo Cache Lookup", "the cache lookup with its guards"),
    ("Pregraph bytecode", "the bytecode before the graph"),
    ("AOTDispatcher Runtime Wrapper Prologue", "AOTDispatcher's prologue"),
)
_REGION = "Torch-Compiled Region"
_GRAPH_CALL = "## Call CompiledFxGraph"


class OpLaunch(Item, frozen=True, kw_only=True):
    """How one op came to the GPU: what it asked of the runtime, and how long each part took, in one execution."""

    op: str
    step: int
    runtime: tuple[str, ...] = ()
    num_kernels: int = 0
    cpu_us: float | None = None  # from the op's start until its first launch call
    runtime_us: float | None = None  # inside runtime calls
    queue_us: float | None = None  # from the first launch call until the kernel starts
    device_us: float = 0.0
    evidence: tuple[str, ...] = ()


class CompileCost(Item, frozen=True, kw_only=True):
    """One thing that a call of compiled code pays for, per execution."""

    what: str
    name: str  # as the trace calls it
    count: int
    median_us: float | None  # of the calls that compiled nothing inside; `None`, with `unknown`, where none is known to
    first_us: float | None
    unknown: str | None = None  # why the cost is not known
    evidence: tuple[str, ...] = ()


def launched(launches: Iterable[Launch]) -> list[str]:
    """What launches are, counted: "2 kernels", "1 memset", …"""
    words = {"kernel": "kernel", "cpu_kernel": "kernel", "gpu_memset": "memset", "gpu_memcpy": "memory copy"}
    counts = Counter(words[launch.category] for launch in launches)
    return [counted(counts[word], word) for word in dict.fromkeys(words.values()) if counts[word]]


def op_launches(recording: Recording) -> tuple[OpLaunch, ...]:
    """Recording → one row for each op execution that launched something, in order of time."""
    launching = set(column(recording.launches, "op_id"))
    ops: dict[int, Op] = {}
    runtime: dict[int, list[Op]] = {}
    for op in recording.ops:
        if op.id in launching:
            ops[op.id] = op
        if op.category == "runtime" and op.parent is not None:
            runtime.setdefault(op.parent, []).append(op)
    by_op: dict[int, list[Launch]] = {}
    for launch in recording.launches:
        if launch.op_id is not None and launch.op_id in ops and launch.category != "cpu_kernel":
            by_op.setdefault(launch.op_id, []).append(launch)
    rows = [_op_row(ops[op_id], launches, runtime.get(op_id, [])) for op_id, launches in by_op.items()]
    return tuple(sorted(rows, key=lambda row: (row.step, ops[_op_id(row)].start_ns)))


def _op_id(row: OpLaunch) -> int:
    return int(row.evidence[0].removeprefix("op:"))


def _op_row(op: Op, launches: list[Launch], calls: list[Op]) -> OpLaunch:
    calls = [call for call in calls if not any(word in call.name for word in _SYNCHRONIZING)]
    launched = [launch.launched_ns for launch in launches if launch.launched_ns is not None]
    queues = [launch.start_ns - launch.launched_ns for launch in launches if launch.launched_ns is not None]
    names = tuple(call.name for call in sorted(calls, key=lambda call: call.start_ns)) or launches[0].runtime
    return OpLaunch(
        op=op.name,
        step=op.step,
        runtime=names,
        num_kernels=sum(launch.category == "kernel" for launch in launches),
        cpu_us=(min(launched) - op.start_ns) / 1000 if launched else None,
        runtime_us=sum(call.duration_ns for call in calls) / 1000 if calls else None,
        queue_us=queues[0] / 1000 if queues else None,
        device_us=sum(launch.duration_ns for launch in launches) / 1000,
        evidence=(f"op:{op.id}", *(f"launch:{launch.id}" for launch in launches)),
    )


def compile_costs(recording: Recording) -> tuple[CompileCost, ...]:
    """Recording → what each call of compiled code pays on the CPU besides the ops that launch; () where nothing was."""
    rows: list[CompileCost] = []
    marks = (*(name for name, _ in COMPILED_PARTS), _GRAPH_CALL, _REGION)
    if not any(name.startswith(marks) for name in set(column(recording.ops, "name"))):
        return ()
    for name, what in COMPILED_PARTS:
        found = [op for op in recording.ops if op.name == name]
        if found:
            rows.append(_cost(what, name, found, [op.duration_ns for op in found]))
    children: dict[int, list[Op]] = {}
    for op in recording.ops:
        if op.parent is not None:
            children.setdefault(op.parent, []).append(op)
    compiling = _compiled_inside(recording)
    for what, prefix, unknown in (
        ("the generated wrapper (asserts, allocations, calls)", _GRAPH_CALL, _hidden_kernels(recording)),
        ("the rest of the compiled region", _REGION, None),
    ):
        found = [op for op in recording.ops if op.name.startswith(prefix)]
        own = {op.id: op.duration_ns - sum(child.duration_ns for child in children.get(op.id, [])) for op in found}
        known = [op for op in found if own[op.id] < compiling.get(op.id, inf)]
        if found and not known:
            unknown = "each call of it that was recorded compiled more code inside"
        if found:
            rows.append(_cost(what, prefix, known or found, [own[op.id] for op in known], unknown=unknown))
    return tuple(rows)


def _compiled_inside(recording: Recording) -> dict[int, float]:
    """Region → the shortest compilation, in ns, that may have been in it, of those that leave no event in what is recorded.

    Code that goes on after a graph break is compiled when it is first reached, inside the region before it.
    """
    took = {item.compile_id: item.duration_us * 1e3 for item in recording.compiles if item.duration_us}
    ops = {op.id: op for op in recording.ops} if took else {}
    found: dict[int, float] = {}
    first: set[str] = set()
    for op in sorted(ops.values(), key=lambda op: op.start_ns):
        compile_id = op.name.removeprefix(f"{_REGION}: ")
        if compile_id not in took or compile_id in first:
            continue
        first.add(compile_id)
        outer = op
        while outer.parent is not None and (outer := ops[outer.parent]):
            if outer.name.startswith(_REGION):
                found[outer.id] = min(took[compile_id], found.get(outer.id, inf))
    return found


def _hidden_kernels(recording: Recording) -> str | None:
    """Why a wrapper's own time is not known: on a CPU its C++ kernels run in it, and leave an event only where asked to."""
    names = set(column(recording.launches, "name")) | set(column(recording.ops, "name"))
    if not is_on_cpu(recording) or any(map(is_generated, names)):
        return None
    if recording.calls and not any(call.type == "cpp" for call in recording.calls):
        return None
    return "the C++ kernels that it may run left no events (torch._inductor.config.cpp.enable_kernel_profile)"


def _cost(what: str, name: str, ops: list[Op], own_ns: list[int], *, unknown: str | None = None) -> CompileCost:
    return CompileCost(
        what=what,
        name=name,
        count=len(ops),
        median_us=None if unknown else median(own_ns) / 1000,
        first_us=None if unknown else own_ns[0] / 1000,
        unknown=unknown,
        evidence=tuple(f"op:{op.id}" for op in ops),
    )
