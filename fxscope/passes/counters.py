"""Join hardware counters of each kernel of a step to the call or the eager op that launched it.

The kernels were counted in another run of the program. Nothing but their order ties the two runs, so all of it has to
agree: the number of kernels in a step, and of each the function, the grid and the block. Otherwise nothing is joined.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from fxscope.columns import picked
from fxscope.index import index_of
from fxscope.kernel_names import cpp
from fxscope.model import Counters, Problem, Recording, replace
from fxscope.text import counted, kernel_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.model import Launch

MOST_STALLS = 3


class CountedKernel(NamedTuple):
    """One kernel under Nsight Compute, in order of launch."""

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    counters: Counters


def counters(recording: Recording, kernels: Sequence[CountedKernel], *, step: int) -> Recording:
    """Fill `counters` of the calls and eager ops that launched a kernel in this step; else say what does not agree."""
    launches = kernels_of(recording, step)
    kernels = in_order(launches, kernels)
    if difference := disagreement(launches, kernels):
        problem = Problem(
            where="counters",
            message=f"the run under Nsight Compute was another one ({difference}), so its counters are not joined",
            remedy="record a program that launches the same kernels each time it runs: fixed shapes and seeds, no "
            "autotuning that comes out differently",
        )
        return replace(recording, problems=(*recording.problems, problem))
    by_call: dict[str, list[tuple[Launch, Counters]]] = defaultdict(list)
    by_node: dict[tuple[str, str], list[tuple[Launch, Counters]]] = defaultdict(list)
    for launch, kernel in zip(launches, kernels, strict=True):
        if launch.call is not None:
            by_call[launch.call].append((launch, kernel.counters))
        elif launch.graph is not None and len(launch.nodes) == 1:
            by_node[launch.graph, launch.nodes[0]].append((launch, kernel.counters))
    graphs = list(recording.graphs)
    for at, graph in enumerate(graphs):
        if any(key[0] == graph.id for key in by_node):
            nodes = [replace(node, counters=together(by_node.get((graph.id, node.name), ()))) for node in graph.nodes]
            graphs[at] = replace(graph, nodes=tuple(nodes))
    calls = tuple(replace(call, counters=together(by_call.get(call.id, ()))) for call in recording.calls)
    return replace(recording, calls=calls, graphs=tuple(graphs))


def kernels_of(recording: Recording, step: int) -> list[Launch]:
    """The kernels of a step in order of launch; copies and memsets are no kernels."""
    rows = index_of(recording).launch_rows_of_step.get(step, [])
    launches = [item for item in picked(recording.launches, rows) if item.category == "kernel"]
    # Streams overlap: what was launched first may start later. The kernels of one graph's replay have one launch.
    return sorted(launches, key=lambda x: (x.start_ns if x.launched_ns is None else x.launched_ns, x.start_ns, x.id))


def in_order(launches: Sequence[Launch], kernels: Sequence[CountedKernel]) -> Sequence[CountedKernel]:
    """The counted kernels in the order of the step.

    A step that begins inside a call is cut elsewhere by the profiler than by the program: of steps that follow each other
    the second run may have counted the end of one and the beginning of the next.
    """
    turns = range(1, len(kernels)) if len(kernels) == len(launches) and disagreement(launches, kernels) else ()
    turned = ([*kernels[turn:], *kernels[:turn]] for turn in turns)  # one at a time: a step may have thousands
    fitting = [order for order in turned if not disagreement(launches, order)]
    return fitting[0] if len(fitting) == 1 else kernels


def disagreement(launches: Sequence[Launch], kernels: Sequence[CountedKernel]) -> str | None:
    """Say in what two runs of a step differ first; `None` where they do not."""
    for number, (launch, kernel) in enumerate(zip(launches, kernels, strict=False), 1):
        if function(launch.name) != function(kernel.name):
            names = " and ".join(f"`{kernel_name(name, 60)}`" for name in (launch.name, kernel.name))
            return f"kernel {number} of the step was {names}"
        for what, one, other in (("grid", launch.grid, kernel.grid), ("block", launch.block, kernel.block)):
            if one is not None and one != other:
                return (
                    f"kernel {number} of the step, `{kernel_name(launch.name, 60)}`, had the {what} {one} and {other}"
                )
    if len(launches) != len(kernels):
        return f"{counted(len(launches), 'kernel')} in the step, and {len(kernels)} that were counted"
    return None


def function(name: str) -> str:
    """The function's own name: profilers write namespaces and template arguments each in their own way."""
    return cpp.parse(name).function or name


SUMS = ("dram_bytes_read", "dram_bytes_written", "l2_bytes", "local_bytes")
SHARES = ("memory_share", "compute_share", "tensor_share", "occupancy")


def together(parts: Sequence[tuple[Launch, Counters]]) -> Counters | None:
    """The counters of one execution: sums of what is moved, the rest weighted by time; `None` of nothing."""
    times = len({launch.invocation for launch, _ in parts})
    if not parts or len(parts) % times:  # executions of different kernels: which of them would it be?
        return None
    items = [item for _, item in parts]
    weights = [item.time_us for item in items]

    def total(values: Sequence[float | None]) -> float | None:
        return None if None in values else sum(filter(None, values)) / times

    def weighted(values: Sequence[float | None]) -> float | None:
        if len(values) == 1:
            return values[0]
        whole = total(weights)
        part = total(
            [None if value is None else value * (time or 0) for value, time in zip(values, weights, strict=True)]
        )
        return part / whole if part is not None and whole else None

    sums = {name: total([getattr(item, name) for item in items]) for name in SUMS}
    reasons = dict.fromkeys(reason for item in items for reason, _ in item.stalls)
    stalls = [(name, weighted([dict(item.stalls).get(name, 0.0) for item in items]) or 0.0) for name in reasons]
    return Counters(
        launches=len(items) // times,
        time_us=total(weights),
        registers=max((item.registers for item in items if item.registers is not None), default=None),
        stalls=tuple(sorted((item for item in stalls if item[1] > 0), key=lambda item: -item[1])[:MOST_STALLS]),
        **{name: None if value is None else round(value) for name, value in sums.items()},
        **{name: weighted([getattr(item, name) for item in items]) for name in SHARES},
    )
