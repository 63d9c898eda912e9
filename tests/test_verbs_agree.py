"""Two verbs asked the same thing of one capture give one answer; the trace's own columns decide which is right."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from fxscope.analysis.check import check
from fxscope.analysis.compare import compare
from fxscope.analysis.explain import explain
from fxscope.analysis.select import Place
from fxscope.commands import common
from fxscope.commands.why import decide
from fxscope.index import index_of
from fxscope.model import Recording
from fxscope.passes import bound
from fxscope.render import terminal, trace_tables
from fxscope.render.page import overview

HOME = Path(__file__).parent / "data" / "h200"
CAPTURES = {"/".join(path.parent.relative_to(HOME).parts): path.parent for path in sorted(HOME.rglob("trace.json.gz"))}


@cache
def read(name: str) -> Recording:
    return common.read(str(CAPTURES[name]))


def holds(recording: Recording, **expected: object) -> list[str]:
    return [item.status for item in check({"it": recording}, expected).outcomes]


def totals(recording: Recording) -> dict[str, float | None]:
    return {change.subject: change.a for change in compare(recording, recording).totals}


@pytest.mark.parametrize("name", CAPTURES)
def test_how_many_kernels_a_step_has(name: str) -> None:
    """`check`, `explain`, `diff`, and the launches themselves."""
    recording = read(name)
    steps: dict[int, Counter[str]] = defaultdict(Counter)
    for launch in recording.launches:
        steps[launch.step][launch.category] += 1
    (each,) = {tuple(sorted(kinds.items())) for kinds in steps.values()}
    kernels, memsets = dict(each).get("kernel", 0), dict(each).get("gpu_memset", 0)
    assert holds(recording, kernels=kernels) == holds(recording, memsets=memsets) == ["met"]
    assert holds(recording, kernels=kernels + 1) == ["not_met"]
    found = totals(recording)
    assert found["kernels per step"] == kernels and (found.get("memsets per step") or 0) == memsets
    text = next(item.text for item in explain(recording).sentences if item.topic == "overview")
    assert re.findall(r"(\d+) kernels?\b", text) == [str(kernels)]
    assert re.findall(r"(\d+) memsets?\b", text) == ([str(memsets)] if memsets else [])


@pytest.mark.parametrize("name", CAPTURES)
def test_how_long_the_device_works_in_a_step(name: str) -> None:
    """`diff`, `explain`, the tables of `trace`; streams that overlap are busy once."""
    recording = read(name)
    steps = {launch.step for launch in recording.launches}
    true = sum(launch.duration_ns for launch in recording.launches) / 1e3 / len(steps)
    said = totals(recording)["device time per step"]
    assert said == pytest.approx(true)
    busy = sum(step.device_us for step in explain(recording).steps) / len(steps)
    streams = {launch.stream for launch in recording.launches}
    assert busy == pytest.approx(true, rel=1e-3) if len(streams) == 1 else busy <= true * 1.001
    assert recording.summary is not None
    table = sum(item.total_us for item in recording.summary.kernels) / len(steps)
    assert table == pytest.approx(true, rel=1e-3)


@pytest.mark.parametrize("name", CAPTURES)
def test_which_kernel_takes_most_time(name: str) -> None:
    """The tables of `trace`, and the launches."""
    recording = read(name)
    time: Counter[str] = Counter()
    for launch in recording.launches:
        time[launch.name] += launch.duration_ns
    (first, most), *_ = time.most_common(1)
    assert recording.summary is not None
    top = max(recording.summary.kernels, key=lambda item: item.total_us)
    assert top.name == first and top.total_us == pytest.approx(most / 1e3, rel=1e-3)


@pytest.mark.parametrize("name", CAPTURES)
def test_which_side_sets_the_length_of_a_step(name: str) -> None:
    """`view`, the tables of `trace`, `explain` and the page's overview."""
    recording = read(name)
    found = bound.of_summary(recording.summary)
    assert found is not None and recording.summary is not None
    assert found.words == recording.summary.verdict
    assert found.words in trace_tables.render(recording.summary, width=120)
    shown = terminal.render(recording, width=120)
    assert found.words in shown or "-bound" not in shown  # compiled code is shown by its calls
    assert any(text.lower().startswith(found.words.lower()) for _, text, _ in overview.lines(recording, None, []))
    last = recording.summary.steps[-1]
    own = bound.bound(last.wall_us, last.device_busy_us)
    assert own is not None and (explain(recording).steps[-1].verdict or "").startswith(own.words)


@pytest.mark.parametrize("name", CAPTURES)
def test_whether_two_calls_are_one_kernel(name: str) -> None:
    """`why` and `check`, for every pair of generated calls that a decision keeps apart, and every op of each call."""
    recording = read(name)
    calls = {call.id: call for call in recording.calls}
    asked = 0
    for item in recording.decisions:
        if item.a_call not in calls or item.b_call not in calls or item.other_graph:
            continue
        a, b = (Place(item.graph, side, call) for side, call in ((item.a, item.a_call), (item.b, item.b_call)))
        answered = decide(recording, a, b)
        assert answered, item
        if item.a_call != item.b_call:
            assert {found.verdict for found in answered} == {item.verdict} and item.verdict != "fused"
            names = [f"node:{item.graph}/{side[-1]}" for side in (item.a, item.b) if side]
            homes = [
                index_of(recording).calls_of_node.get((item.graph, side[-1]), ()) for side in (item.a, item.b) if side
            ]
            if len(names) == 2 and all(len(home) == 1 for home in homes) and asked < 12:
                asked += 1
                assert holds(recording, not_fused=names) == ["met"], names
                assert holds(recording, fused=names) == ["not_met"], names
