"""The buffers that are alive when a compiled graph needs the most memory, from Inductor's own estimate of live ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxscope.model import PeakMemory

if TYPE_CHECKING:
    from torch._inductor.graph import GraphLowering


def peak_memory(graph: GraphLowering) -> PeakMemory | None:
    """Return the peak of a graph that is scheduled; `None` where it runs nothing. Nothing of the graph is changed."""
    from torch._inductor import memory
    from torch.utils._ordered_set import OrderedSet

    nodes: list[Any] = list(graph.scheduler.nodes)
    if not nodes:
        return None
    outputs = OrderedSet(str(name) for name in graph.get_output_names())
    inputs = memory.get_freeable_input_buf(nodes, OrderedSet(graph.graph_inputs.keys()))
    memory.assign_memory_planning_info_for_scheduler_buffers(nodes, graph.scheduler.name_to_buf)
    ranges, *_ = memory.compute_memory_timeline(nodes, inputs, outputs)
    peak, sizes = memory.estimate_peak_memory(nodes, inputs, outputs)
    step = max(range(len(nodes)), key=sizes.__getitem__)
    alive = [item for item in ranges if item.start_step <= step and (item.end_step == -1 or step <= item.end_step)]
    # The tuple of an extern's results is allocated as a whole and freed item by item.
    owners = sorted(((str(item.buffer.get_name()), int(item.size_free)) for item in alive), key=lambda item: -item[1])
    return PeakMemory(
        bytes=int(peak),
        scheduler_nodes=tuple(member.get_name() for member in nodes[step].get_nodes()),
        buffers=tuple((name, size) for name, size in owners if size),
    )
