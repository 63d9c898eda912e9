# ruff: noqa: E501 (a sentence stays on one line, so that it can be read and searched)
"""What Nsight Compute counted of each call or eager op, beside the bytes of its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.analysis.story import Sentence
from fxscope.text import counted, num_bytes, percent

if TYPE_CHECKING:
    from fxscope.model import KernelCall, Node, Recording

MOST = 12  # sentences: those with the most time


def story(recording: Recording) -> list[Sentence]:
    """One sentence for each thing that was counted, the slowest first."""
    found = [(call.kernel, f"call:{call.id}", call) for call in recording.calls if call.counters]
    found += [
        (node.name, f"node:{graph.id}/{node.name}", node)
        for graph in recording.graphs
        for node in graph.nodes
        if node.counters
    ]
    found.sort(key=lambda item: -(item[2].counters.time_us or 0.0) if item[2].counters else 0.0)
    sentences = [_sentence(*item) for item in found[:MOST]]
    if len(found) > MOST:
        text = f"{counted(len(found) - MOST, 'more call or op', 'more calls or ops')} were counted, and took less time each."
        rest = tuple(evidence for _, evidence, _ in found[MOST:])
        sentences.append(Sentence(topic="counters", text=text, evidence=rest, values={"more": len(rest)}))
    return sentences


def _sentence(name: str, evidence: str, item: KernelCall | Node) -> Sentence:
    counters = item.counters
    assert counters is not None
    parts: list[str] = []
    values: dict[str, float] = {}
    if counters.dram_bytes_read is not None and counters.dram_bytes_written is not None:
        values["dram_bytes"] = counters.dram_bytes_read + counters.dram_bytes_written
        parts.append(f"moved {num_bytes(values['dram_bytes'])} of DRAM")
        if item.bytes_read is not None and item.bytes_written is not None:
            values["argument_bytes"] = item.bytes_read + item.bytes_written
            parts[-1] += f" for {num_bytes(values['argument_bytes'])} of tensors"
    if counters.memory_share is not None and counters.compute_share is not None:
        parts.append(
            f"used {percent(counters.memory_share)} of the memory's and {percent(counters.compute_share)} of the multiprocessors' speed of light"
        )
    if counters.stalls:
        reason, share = counters.stalls[0]
        parts.append(f"had warps wait most for `{reason}` ({percent(share)} of samples)")
    text = f"Under Nsight Compute `{name}` {', '.join(parts[:-1])}{' and ' if parts[1:] else ''}{''.join(parts[-1:])}."
    return Sentence(topic="counters", text=text, evidence=(evidence,), weakest=counters.evidence, values=values)
