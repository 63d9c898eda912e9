"""CUDA graph nodes: a replay's kernels are attributed by the node that each is, where the profiler writes it.

The trace is an H200's of a replayed GeGLU MLP, by a torch that did not write nodes yet; to it are added the two fields as
Kineto writes them (`graph id`, and `graph node id` with the graph's number in the upper half; 0 outside of graphs).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fxscope.readers.join import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from fxscope.model import Recording

HOME = Path(__file__).parent.parent / "data" / "h200" / "mlp_reduce_overhead"
GRAPH = 17
CALLS = ["1", "1", "2", "2", "3", "4"]  # of a replay: memset and GEMM, memset and GEMM, Triton, GEMM


def traced(folder: Path, change: Callable[[list[dict[str, Any]], list[dict[str, Any]]], None]) -> Recording:
    """Return the recording of the capture after a change of its events, given them and those of the second replay."""
    trace = json.loads(gzip.decompress((HOME / "trace.json.gz").read_bytes()))
    events = trace["traceEvents"]
    device = [event for event in events if event.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    replays: dict[int, list[dict[str, Any]]] = {}
    for event in sorted(device, key=lambda event: event["ts"]):
        event["args"] |= {"graph id": 0, "graph node id": 0}
        replays.setdefault(event["args"]["correlation"], []).append(event)
    found = [replay for replay in replays.values() if len(replay) == len(CALLS)]
    assert len(found) == 3
    for replay in found:
        for position, event in enumerate(replay):
            event["args"] |= {"graph id": GRAPH, "graph node id": GRAPH << 32 | position}
    change(events, found[1])
    path = folder / "trace.json"
    path.write_text(json.dumps(trace))
    return read_trace(path, compile_log=HOME / "torch_trace.log.gz")


def calls_of_step(recording: Recording, step: int) -> list[tuple[int | None, str]]:
    """Return (node, call) of the replay's launches in the order of their start."""
    return [
        ((launch.cuda_graph_node or 0) & 0xFFFFFFFF, (launch.call or "none").rsplit(":", 1)[-1])
        for launch in recording.launches
        if launch.step == step and launch.cuda_graph is not None
    ]


def without_nodes(events: list[dict[str, Any]]) -> None:
    for event in events:
        for key in ("graph id", "graph node id"):
            event.get("args", {}).pop(key, None)


def swapped(replay: list[dict[str, Any]]) -> None:
    """Let the second GEMM's branch, nodes 2 and 3, start before the first one's."""
    for one, other in zip(replay[:2], replay[2:4], strict=True):
        one["ts"], other["ts"] = other["ts"], one["ts"]


def test_nodes_are_stored_and_zero_is_none(tmp_path: Path) -> None:
    recording = traced(tmp_path, lambda events, replay: None)
    of_graph = [launch for launch in recording.launches if launch.cuda_graph_node is not None]
    assert {launch.cuda_graph for launch in of_graph} == {GRAPH}
    assert {(launch.cuda_graph_node or 0) >> 32 for launch in of_graph} == {GRAPH}
    others = [launch for launch in recording.launches if launch.cuda_graph_node is None]
    assert len(of_graph) == 18 and len(others) == 3 and {launch.cuda_graph for launch in others} == {None}
    for step in range(3):
        assert calls_of_step(recording, step) == list(enumerate(CALLS))


def test_branches_that_start_in_another_order_keep_their_calls(tmp_path: Path) -> None:
    recording = traced(tmp_path, lambda events, replay: swapped(replay))
    assert calls_of_step(recording, 1) == [(2, "2"), (3, "2"), (0, "1"), (1, "1"), (4, "3"), (5, "4")]

    def nameless(events: list[dict[str, Any]], replay: list[dict[str, Any]]) -> None:
        swapped(replay)
        without_nodes(events)

    by_start = [launch for launch in traced(tmp_path, nameless).launches if launch.step == 1 and launch.call]
    assert [launch.call.rsplit(":", 1)[-1] for launch in by_start if launch.call] == CALLS  # order alone cannot tell


@pytest.mark.parametrize("named", [True, False])
def test_a_replay_that_lost_an_event_is_known_from_the_others(named: bool, tmp_path: Path) -> None:
    def damaged(events: list[dict[str, Any]], replay: list[dict[str, Any]]) -> None:
        for event in replay[:2]:
            events.remove(event)
        if not named:
            without_nodes(events)

    recording = traced(tmp_path, damaged)
    if named:
        assert calls_of_step(recording, 1) == [(2, "2"), (3, "2"), (4, "3"), (5, "4")]
    else:  # one GEMM is left of two: by order it is not known which
        found = [launch.call for launch in recording.launches if launch.step == 1]
        assert [call and call.rsplit(":", 1)[-1] for call in found] == [None, None, None, "3", "4"]


def test_a_node_that_replays_disagree_on_decides_nothing(tmp_path: Path) -> None:
    """A graph that was destroyed may leave its number to another."""

    def renumbered(events: list[dict[str, Any]], replay: list[dict[str, Any]]) -> None:
        without_nodes([event for event in events if event.get("args", {}).get("correlation") is None])
        for event, node in zip(replay, (2, 3, 0, 1, 4, 5), strict=True):
            event["args"]["graph node id"] = GRAPH << 32 | node
            event["args"]["correlation"] = replay[0]["args"]["correlation"]

    recording = traced(tmp_path, renumbered)
    assert [call for _, call in calls_of_step(recording, 0)] == CALLS
