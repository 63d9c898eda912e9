"""What Nsight Compute counted of each kernel of a step, on the call or the eager op that launched it.

The kernels were counted in another run of the program. Nothing but their order ties the two runs, so all of it has to
agree: the number of kernels in a step, and of each the function, the grid and the block. Otherwise nothing is joined.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from fxscope.index import index_of
from fxscope.kernel_names import cpp
from fxscope.model import Counters, Problem, Recording, replace
from fxscope.text import counted, kernel_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    return replace(
        recording,
        calls=tuple(replace(call, counters=together(by_call.get(call.id, ()))) for call in recording.calls),
        graphs=tuple(
            replace(
                graph,
                nodes=tuple(
                    replace(node, counters=together(by_node.get((graph.id, node.name), ()))) for node in graph.nodes
                ),
            )
            if any(key[0] == graph.id for key in by_node)
            else graph
            for graph in recording.graphs
        ),
    )


def kernels_of(recording: Recording, step: int) -> list[Launch]:
    """The kernels of a step in order of launch; copies and memsets are no kernels."""
    launches = [item for item in index_of(recording).launches_of_step.get(step, ()) if item.category == "kernel"]
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


def together(parts: Sequence[tuple[Launch, Counters]]) -> Counters | None:
    """The counters of one execution: sums of what is moved, the rest weighted by time; `None` of nothing."""
    if not parts:
        return None
    items = [item for _, item in parts]
    times = len({launch.invocation for launch, _ in parts})
    if len(items) % times:  # executions of different kernels: which of them would it be?
        return None

    def total(field: Callable[[Counters], float | None]) -> float | None:
        values = [field(item) for item in items]
        return None if None in values else sum(value for value in values if value is not None) / times

    def whole(field: Callable[[Counters], int | None]) -> int | None:
        value = total(field)
        return None if value is None else round(value)

    time = total(lambda item: item.time_us)

    def weighted(field: Callable[[Counters], float | None]) -> float | None:
        if len(items) == 1:
            return field(items[0])
        part = total(lambda item: None if (share := field(item)) is None else share * (item.time_us or 0.0))
        return part / time if part is not None and time else None

    reasons = dict.fromkeys(reason for item in items for reason, _ in item.stalls)
    stalls = [(reason, weighted(lambda item, at=reason: dict(item.stalls).get(at, 0.0)) or 0.0) for reason in reasons]
    registers = [item.registers for item in items if item.registers is not None]
    return Counters(
        launches=len(items) // times,
        time_us=time,
        dram_bytes_read=whole(lambda item: item.dram_bytes_read),
        dram_bytes_written=whole(lambda item: item.dram_bytes_written),
        l2_bytes=whole(lambda item: item.l2_bytes),
        memory_share=weighted(lambda item: item.memory_share),
        compute_share=weighted(lambda item: item.compute_share),
        tensor_share=weighted(lambda item: item.tensor_share),
        occupancy=weighted(lambda item: item.occupancy),
        registers=max(registers, default=None),
        local_bytes=whole(lambda item: item.local_bytes),
        stalls=tuple(sorted((item for item in stalls if item[1] > 0), key=lambda item: -item[1])[:MOST_STALLS]),
    )
