"""Programs with control flow and the like: "ran in" against what Inductor executed, time against the lines that ran."""

import json
from pathlib import Path

import pytest
import torch

import fxscope
from fxscope.index import grouped, index_of
from fxscope.model import Recording
from tests.provenance.oracle import Lines, listening
from tests.provenance.test_ran_in import differences
from tests.provenance.unusual import PROGRAMS, TRAINED


def recorded(name: str, path: Path) -> tuple[Recording, list[dict], Lines]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    function, shapes = {**PROGRAMS, **TRAINED}[name]
    inputs = [torch.randn(shape).requires_grad_(name in TRAINED) for shape in shapes]
    with listening(path), Lines() as lines:
        recording = fxscope.record(function, *inputs, compile=True, steps=2, warmup=1, backward=name in TRAINED)
    return recording, [json.loads(line) for line in path.read_text().splitlines()], lines


def timed_falsely(recording: Recording, lines: Lines) -> tuple[list[str], int]:
    """Return the calls whose launches are not as many as the executions of their line, and how many have none."""
    files = {Path(file).read_text(): file for file in lines.entries}
    faults, unknown = [], 0
    for source in recording.sources:
        if source.kind != "output_code" or source.text not in files:
            continue
        file = files[source.text]
        mine = grouped((c for c in recording.calls if c.wrapper == source.graph), lambda call: call.code.call)
        for place, calls in mine.items():
            executed = sum(lines.counts[file][line] for line in range(place[0], place[1] + 1)[:1]) / lines.entries[file]
            launches = [launch for call in calls for launch in index_of(recording).launches_of_call.get(call.id, [])]
            unknown += bool(executed) and not launches
            for step, run in grouped(launches, lambda launch: launch.step).items():
                runs = len({(launch.call, launch.invocation) for launch in run})
                if not executed or runs % executed:
                    faults.append(f"{calls[0].handle}: {runs} times in step {step}, executed {executed:g} times")
    return faults, unknown


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PROGRAMS, *TRAINED])
def test_nothing_false_is_said(name: str, tmp_path: Path) -> None:
    recording, truth, lines = recorded(name, tmp_path / "truth")
    compared, found = differences(recording, truth)
    assert not found, "\n".join(found)
    assert compared or not any(call.is_generated for call in recording.calls)
    nodes = index_of(recording).nodes
    for call in recording.calls:
        assert call.graph in nodes and set(call.nodes) <= set(nodes[call.graph]), call.handle
        assert {name for _, name in call.lines} <= set(nodes[call.graph])
    faults, unknown = timed_falsely(recording, lines)
    assert not faults, "\n".join(faults)
    assert not unknown
