"""How often the slice from a wrapper's text says the same as what Inductor executed: `python tools/measure_slices.py`.

Each program of `tests/provenance` is planned for an H200, which records the nodes that run in each generated kernel. Then
the calls are read again from the wrapper's text and the post-grad graph alone, as from files. Views do not count.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fxscope.errors
from fxscope.model import Recording, replace
from fxscope.passes.schedules import schedules
from fxscope.readers import output_code
from tests.data.programs.fused import PROGRAMS, TRAINED


def ran_in(recording: Recording) -> set[tuple[str, str]]:
    """Return each generated call with each node that ran in it and is not a view."""
    nodes = {(graph.id, node.name): node for graph in recording.graphs for node in graph.nodes}
    return {
        (call.id, name)
        for call in recording.calls
        if call.is_generated
        for name in call.nodes
        if (call.graph, name) in nodes and nodes[call.graph, name].nature != "view"
    }


def from_text(recording: Recording) -> Recording:
    """Return the recording with its calls as files have them: the wrapper's text, and torch's origins of each call."""
    origins = {(s.graph, node.name): node.origins for s in recording.schedules for node in s.nodes}
    known = {call.id: call for call in recording.calls}
    calls = []
    for source in recording.sources:
        if source.kind != "output_code" or source.graph is None:
            continue
        for call in output_code.kernel_calls(output_code.parse(source.text), source.graph):
            members = known[call.id].scheduler_nodes
            stems = dict.fromkeys(name for item in members for name in origins.get((call.graph, item), ()))
            calls.append(replace(call, nodes=tuple(stems), nodes_evidence="debug_handle" if stems else None))
    return schedules(replace(recording, calls=tuple(calls), schedules=()))


def main() -> None:
    """Print the counts of each program and of all."""
    total = [0, 0, 0]
    for name in PROGRAMS:
        torch.manual_seed(0)
        torch._dynamo.reset()
        model, inputs = PROGRAMS[name]()
        try:
            recording = fxscope.record(model, *inputs, target="h200", backward=name in TRAINED)
        except fxscope.errors.CaptureError as error:
            print(f"{name}: {str(error).splitlines()[0]}", flush=True)
            continue
        true, said = ran_in(recording), ran_in(from_text(recording))
        counts = len(true & said), len(said - true), len(true - said)
        total = [a + b for a, b in zip(total, counts, strict=True)]
        print(f"{name}: {counts[0]} right, {counts[1]} false, {counts[2]} missing", flush=True)
    right, false, missing = total
    print(f"precision {right / (right + false):.1%}, recall {right / (right + missing):.1%} of {right + missing} pairs")


if __name__ == "__main__":
    main()
