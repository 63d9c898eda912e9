"""Two verbs asked the same thing of one capture give one answer; the trace's own columns decide which is right."""

import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from fxscope.analysis.check import check
from fxscope.analysis.compare import compare
from fxscope.analysis.compare.rows import change_rows, num_kernels, ops_of, total_us
from fxscope.analysis.report import Report, compile_rows, report
from fxscope.analysis.select import Place
from fxscope.analysis.why import decide, why
from fxscope.commands import common
from fxscope.index import grouped, index_of
from fxscope.model import KERNELS, Recording
from fxscope.op_names import may_multiply, only_named
from fxscope.passes import bound
from fxscope.render import labels, tables, terminal, why as why_text
from fxscope.text import flop, microseconds, num_bytes, percent, rate
from tests import build
from tests.captures import CAPTURES, read


def holds(recording: Recording, **expected: object) -> list[str]:
    return [item.status for item in check({"it": recording}, expected).outcomes]


@cache
def totals(name: str) -> dict[str, float | None]:
    return {change.subject: change.a for change in compare(read(name), read(name)).totals}


@cache
def reported(name: str) -> Report:
    return report(read(name))


@cache
def shown(name: str) -> str:
    return terminal.render(read(name), width=120)


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
    found = totals(name)
    assert found["kernels per step"] == kernels and (found.get("memsets per step") or 0) == memsets
    assert set(index_of(recording).counts(*KERNELS)) == {kernels} and reported(name).step.launches == sum(
        dict(each).values()
    )
    assert sum(row.launches for row in reported(name).kernels) == sum(dict(each).values())


@pytest.mark.parametrize("name", CAPTURES)
def test_how_long_the_device_works_in_a_step(name: str) -> None:
    """`diff`, `explain`, the tables of `trace`; streams that overlap are busy once."""
    recording = read(name)
    by_step: Counter[int] = Counter()
    for launch in recording.launches:
        by_step[launch.step] += launch.duration_ns
    true = median(by_step.values()) / 1e3
    assert index_of(recording).device_us == reported(name).step.device_us == pytest.approx(true)
    assert f"Kernels, {microseconds(true)} of device time per step" in shown(name)
    assert totals(name)["device time per step"] == pytest.approx(true)
    streams = {launch.stream for launch in recording.launches}
    busy = reported(name).step.busy_us or 0
    assert busy == pytest.approx(true, rel=0.01) if len(streams) == 1 else busy <= true * 1.01
    assert recording.summary is not None
    table = sum(item.total_us for item in recording.summary.kernels) / len(by_step)
    assert table == pytest.approx(true, rel=0.02)


@pytest.mark.parametrize("name", CAPTURES)
def test_which_kernel_takes_most_time(name: str) -> None:
    recording = read(name)
    time: Counter[str] = Counter()
    for launch in recording.launches:
        time[launch.name] += launch.duration_ns
    (first, most), *_ = time.most_common(1)
    assert recording.summary is not None
    top = max(recording.summary.kernels, key=lambda item: item.total_us)
    assert top.name == first and top.total_us == pytest.approx(most / 1e3, rel=1e-3)


@pytest.mark.parametrize("name", CAPTURES)
def test_how_many_ops_a_step_dispatches(name: str) -> None:
    recording = read(name)
    by_step = index_of(recording).dispatched
    assert by_step == Counter(op.step for op in recording.ops if re.fullmatch(r"\w+::\w+(\.\w+)?", op.name))
    assert reported(name).step.ops == median(by_step.get(step, 0) for step in index_of(recording).steps)


@pytest.mark.parametrize("name", CAPTURES)
def test_which_side_sets_the_length_of_a_step(name: str) -> None:
    """`view`, the tables of `trace`, `explain` and the page's overview."""
    recording = read(name)
    found = bound.of_summary(recording.summary)
    assert found is not None and recording.summary is not None
    assert found.words == recording.summary.verdict
    assert found.words in tables.of_trace(recording.summary, width=120)
    assert found.short in shown(name) and f"({percent(found.busy)})" in shown(name)
    step = reported(name).step
    assert (step.bound, step.busy_share, step.wall_us) == (found.side, found.busy, pytest.approx(found.wall_us))


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


@pytest.mark.parametrize("name", CAPTURES)
def test_what_ran_in_a_call(name: str) -> None:
    """`view` and `why` give the ops that ran, and what is only in the name; an op is one or the other."""
    recording = read(name)
    for call in recording.calls:
        nodes = index_of(recording).nodes.get(call.graph, {})
        assert not any(nodes[item].op == "get_attr" for item in call.nodes if item in nodes), call.nodes
        ran, named = labels.ops_of(call, nodes), only_named(call, nodes)
        assert not set(ran) & set(named), (call.kernel, ran, named)
        if not call.is_extern and len(call.nodes) == 1:
            assert len(ran) == 1, (call.kernel, ran)  # one node comes from one op


@pytest.mark.parametrize("name", CAPTURES)
def test_what_a_call_moves_computes_and_takes(name: str) -> None:
    """`why` of each call (bytes, FLOPs, its rate at the time that stands beside it), `explain`, and the record."""
    recording = read(name)
    for call in recording.calls:
        told = " ".join(why_text.call_story(recording, call, width=200).split())
        if call.bytes_read is not None and call.bytes_written is not None:
            both = f"reads {num_bytes(call.bytes_read)}, writes {num_bytes(call.bytes_written)}"
            assert both in told and (not call.flops or f"{both}, {flop(call.flops)}" in told)
        if call.timing is not None and call.roof is not None and call.roof.flops_per_second and call.flops:
            assert f"{microseconds(call.timing.median_us)} " in told
            assert call.roof.flops is not None and call.roof.flops <= call.flops
            assert rate(call.roof.flops / call.timing.median_us * 1e6, "FLOP/s") in told
        if call.roof is not None and call.roof.bound is not None:
            assert f"{call.roof.bound}-bound" in told
            assert not call.is_extern or call.flops or call.roof.bound != "memory" or not may_multiply(call.kernel)


@pytest.mark.parametrize("name", CAPTURES)
def test_the_time_of_several_kernels_is_the_median_of_their_sums(name: str) -> None:
    """A row of `diff`, `check`, and the launches themselves, as a group of `view`: neither a sum of medians nor a mean."""
    recording = read(name)
    steps = grouped(sorted(recording.launches, key=lambda launch: launch.start_ns), lambda launch: launch.step)
    took = [[launch.duration_ns / 1e3 for launch in step] for step in steps.values()]
    chains = [launch.chain for launch in next(iter(steps.values()))]
    for row in change_rows(compare(Recording(), recording)):
        places = [use.position for match in row.matches for use in match.b]
        assert row.b_us == pytest.approx(median(sum(step[place] for place in places) for step in took))
    for op in {name for chain in chains for name in chain if name.startswith("aten::")}:
        true = median(sum(us for us, chain in zip(step, chains, strict=True) if op in chain) for step in took)
        assert holds(recording, device_us={op: f"{0.9999 * true}..{1.0001 * true}"}) == ["met"], op


@pytest.mark.parametrize("name", CAPTURES)
def test_a_group_has_the_times_and_roofs_of_its_calls(name: str) -> None:
    """The report's groups, `why` of each call, and the record; every call is in one group."""
    recording = read(name)
    calls = index_of(recording).calls
    found = [call for group in reported(name).groups for call in group.calls]
    assert len(found) == len(set(found)) and set(found) == set(index_of(recording).launches_of_call)
    for group in reported(name).groups:
        ran = [calls[call] for call in group.calls]
        if len(ran) == 1 and ran[0].timing and ran[0].timing.count == len(index_of(recording).steps):
            assert group.time_us == pytest.approx(ran[0].timing.median_us, rel=0.02)
        shares = [call.roof.share for call in ran if call.roof and call.roof.share is not None]
        if ran:
            assert (group.roof is None) == (len(shares) < len(ran))
            assert group.roof is None or min(shares) - 1e-9 <= group.roof <= max(shares) + 1e-9


@pytest.mark.parametrize("name", CAPTURES)
def test_what_is_missed_is_what_why_says(name: str) -> None:
    """The report's rows, and the decisions that `why` prints and the page lists."""
    recording = read(name)
    rows = reported(name).missed
    positions = sorted(position for row in rows for position in row.decisions)
    unfused = [item for item in why(recording).decisions if item.saved_bytes != 0]
    assert [recording.decisions[position] for position in positions] == unfused
    for row in rows:
        assert row.count == len(row.decisions)
        known = [recording.decisions[position].expected_us for position in row.decisions]
        assert row.time_us is None or row.time_us <= sum(time or 0 for time in known) + 1e-6
        if row.count > 1 and row.bytes and [{*other.names} for other in rows].count({*row.names}) == 1:
            said = why_text.words(recording, why(recording, *row.names), width=999)
            total = re.escape(num_bytes(row.bytes) + (f", ~{microseconds(row.time_us)}" if row.time_us else ""))
            each = rf"×{row.count}: .*\n  Cost: .*; ×{row.count} per step(, at most one per kernel)?: {total}"
            assert re.search(each, said), said


@pytest.mark.parametrize("name", ["other_backends", "recompile_limit", "recompiles"])
def test_how_often_dynamo_breaks_and_recompiles(name: str) -> None:
    recording = common.read(f"{Path(__file__).parent}/data/logs/{name}.log.gz")
    broken, again = (sum(row.count for row in rows) for rows in compile_rows(recording)[::2])
    assert holds(recording, graph_breaks=broken, recompiles=again) == ["met", "met"]
    changes = {change.key: change.a for change in compare(recording, recording).totals}
    assert changes.get("graph_breaks", 0) == broken and f"graph breaks {broken}" in terminal.render(recording)


@pytest.mark.parametrize("name", CAPTURES)
def test_no_kernel_of_a_replay_is_launch_bound(name: str) -> None:
    recording = read(name)
    replayed = {item.call for item in recording.launches if any("GraphLaunch" in runtime for runtime in item.runtime)}
    assert not any(call.id in replayed and call.roof and call.roof.bound == "launch" for call in recording.calls)
    assert (reported(name).cuda_graphs.state == "on") == bool(replayed)


def test_no_template_is_hinted_at_where_another_kernel_must_run_between() -> None:
    """A group norm's last kernel reads the convolution's result, and statistics that three kernels make of it."""
    recording = read("more/depthwise/real")
    hinted = {(item.a_call[-1:], item.b_call[-1:]) for item in recording.decisions if item.config}
    pairs = {(item.a_call[-1:], item.b_call[-1:]) for item in recording.decisions if item.a_call and item.b_call}
    assert ("3", "7") in pairs and not hinted


def test_kernels_that_some_steps_lack_count_the_same_in_view_and_diff() -> None:
    """Two ops launch one kernel; each in a part of the steps, and so each counts with its part of them."""
    ops = ("aten::mul aten::add record_param_comms", "aten::add", "aten::mul aten::add aten::add", "aten::add")
    each = [(step, name) for step, names in enumerate(ops) for name in names.split()]
    made = [build.op(at, name, start_ns=1000 * at, step=step) for at, (step, name) in enumerate(each)]
    launches = [
        build.launch(at, "k", 100 * at + 50, start_ns=1000 * at, op=name, op_id=at, step=step, chain=(name, "nccl:a2a"))
        for at, (step, name) in enumerate(each)
    ]
    recording = Recording(ops=tuple(made), launches=tuple(launches), steps=build.steps(4, 3000))
    rows = {row.label: row for row in report(recording).kernels}
    matches = compare(recording, recording).kernels
    uses = grouped((use for match in matches for use in match.a), lambda use: ops_of([use]))
    compared = {name: (num_kernels(same), total_us(same)) for name, same in uses.items()}
    assert {name: (row.launches, row.time_us) for name, row in rows.items()} == compared
    assert rows["mul"].launches == 0.5 and rows["nccl:a2a"].launches == 0.25
