"""What is recorded is bounded, whoever runs it: the main thread, other threads, a loop that calls no function."""

from __future__ import annotations

import cProfile
import threading
import time
from typing import TYPE_CHECKING

import pytest
import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from fxscope._torch import event_bound, hooks
from fxscope._torch.op_recorder import OpRecorder
from fxscope.capture import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

PLENTY = 20_000  # ops, of which a bounded recording holds some


def until_it_ends(recorder: Recorder, pause_s: float = 0) -> int:
    """Add until nothing records it any more, and return how often; no step of the loop itself is an op."""
    x, count, end = torch.ones(2), 0, time.monotonic() + 30
    assert recorder._session is not None
    while recorder._session.is_on() and time.monotonic() < end:
        x.add(1)
        count += 1
        time.sleep(pause_s)
    return count


def operators(recorder: Recorder) -> int:
    x = torch.ones(2)
    for _ in range(PLENTY):
        x = x + 1  # a profile function is told of no call here
    return PLENTY


def profiled(recorder: Recorder) -> int:
    return cProfile.Profile().runcall(until_it_ends, recorder)


def in_threads(recorder: Recorder) -> int:
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(until_it_ends(recorder, 0.001))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


@pytest.mark.skipif(event_bound._blocks() is None, reason="this torch does not show how much its profiler recorded")
@pytest.mark.parametrize(
    ("program", "bound"),
    [
        (until_it_ends, "100 observed ops"),
        (operators, "100 observed ops"),
        (profiled, "100 observed ops"),
        (in_threads, "1,000 recorded events of all threads"),
    ],
)
def test_a_recording_of_any_length_is_bounded_and_says_so(program: Callable[[Recorder], int], bound: str) -> None:
    with Recorder(max_ops=100) as recorder:
        began = time.perf_counter_ns()
        count = program(recorder)
        torch.ones(2).add(1)
        took = (time.perf_counter_ns() - began) / 1e3
    recording = recorder.recording
    assert recorder.failure is None and recording is not None and not recording.problems
    assert not hooks.active() and not _get_current_dispatch_mode_stack()
    added = sum(launch.op == "aten::add" for launch in recording.launches)
    assert 100 <= added <= count + 1 and added < PLENTY
    (after,) = (missing for missing in recording.unobserved if missing.what == "after")
    assert after.detail.endswith(f"after the observed part, which ended at the bound of {bound}")
    assert after.duration_us is not None and after.duration_us <= took  # reading the trace is no time of the program's


def test_what_the_observer_steps_aside_for_is_bounded_as_well() -> None:
    ended: list[str] = []
    recorder = OpRecorder()
    recorder.on_full, recorder.is_crowded = lambda: ended.append("now"), lambda: True
    with recorder:
        torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.ones(2),))
    assert ended == ["now"]


def test_many_threads_of_few_ops_reach_no_bound() -> None:
    with Recorder(max_ops=100) as recorder:
        for _ in range(20):  # each takes a block of 512 events
            thread = threading.Thread(target=lambda: torch.ones(2).add(1))
            thread.start()
            thread.join()
    assert recorder.recording is not None
    assert sum(launch.op == "aten::add" for launch in recorder.recording.launches) == 20
    assert not [missing for missing in recorder.recording.unobserved if missing.what == "after"]
