"""The planted rank and cause are named first, an even job names nobody; real traces, and faults replayed into them."""

import gzip
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from fxscope.errors import FxscopeError, TraceError
from fxscope.fleet import findings, run, sources
from fxscope.fleet.digest import digest, is_input
from fxscope.fleet.model import Digest, Fleet
from fxscope.model import replace
from fxscope.render import axis, fleet_strip

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from make_fleet import Fault, make

JOBS = Path(__file__).parent.parent / "data" / "fleet"
OTHER = JOBS / "ddp_other_plan" / "rank3.json.gz"
SVG = "{http://www.w3.org/2000/svg}"


def digests(folder: Path) -> list[Digest]:
    return [digest(path) for path in sorted(folder.glob("rank*.json.gz"))]


def examined(folder: Path) -> Fleet:
    return findings.examine(digests(folder), title=folder.name)


@pytest.mark.parametrize(
    ("job", "rank", "cause"), [("ddp_slow_gpu", 2, "device_work"), ("ddp_other_plan", 3, "other_kernels")]
)
def test_the_planted_rank_and_cause_come_first(job: str, rank: int, cause: str) -> None:
    fleet = examined(JOBS / job)
    first = fleet.findings[0]
    assert (first.kind, first.ranks, first.cause) == ("late", (rank,), cause)
    assert {item.ranks for item in fleet.findings} == {(rank,)} and not fleet.even and not fleet.problems
    assert [group.ranks for group in fleet.plans][1:] == [(rank,)]


@pytest.mark.parametrize("job", ["ddp_even", "fsdp_even"])
def test_an_even_job_names_nobody_and_says_the_spread(job: str) -> None:
    fleet = examined(JOBS / job)
    assert fleet.even and fleet.findings == () and "no rank stands out" in fleet.verdict


def test_what_a_late_rank_costs_is_what_the_even_job_gains() -> None:
    # The same program takes 7.2 ms a step when even. Much of the 6.5 ms more device work hides behind launches.
    even = examined(JOBS / "ddp_even").step_us
    for job in ("ddp_slow_gpu", "ddp_other_plan"):
        fleet = examined(JOBS / job)
        assert fleet.step_us and even and fleet.findings[0].cost_us == pytest.approx(fleet.step_us - even, rel=0.25)


def test_a_tuned_launch_configuration_is_shown_and_is_no_finding() -> None:
    fleet = examined(JOBS / "fsdp_even")
    assert [group.ranks for group in fleet.plans] == [(0, 3), (1, 2)]
    assert [change.change for change in fleet.plans[1].changes] == ["other_configuration"]


def test_the_plan_says_what_differs() -> None:
    changes = examined(JOBS / "ddp_slow_gpu").findings[0].changes
    gemm = changes[0]
    assert gemm.name.startswith("nvjet_") and (gemm.majority, gemm.here) == ("4", "44") and (gemm.total_us or 0) > 6000
    changes = examined(JOBS / "ddp_other_plan").findings[0].changes
    assert {change.change for change in changes if change.what == "kernel"} >= {"added", "missing"}


@pytest.mark.parametrize(("job", "named"), [("ddp_slow_gpu", ["2"]), ("ddp_other_plan", ["3"]), ("fsdp_even", [])])
def test_the_strip_has_a_row_per_rank_with_its_times_to_scale(job: str, named: list[str]) -> None:
    fleet = examined(JOBS / job)
    drawn = ElementTree.fromstring(fleet_strip.render(fleet))
    rows = [item for item in drawn.iter(f"{SVG}g") if item.get("data-rank")]
    assert [row.get("data-rank") for row in rows] == [str(line.rank) for line in fleet.ranks]
    assert [row.get("data-rank") for row in rows if row.find(f"{SVG}rect[@class='fx-cut']") is not None] == named
    bars = [[float(bar.get("width", "")) for bar in row.findall(f"{SVG}g/{SVG}rect")] for row in rows]
    longest = max(map(sum, bars))
    assert longest == pytest.approx(axis.SPAN, rel=0.001)
    fields = ("compute_us", "idle_input_us", "idle_queued_us", "idle_host_us", "exposed_us")
    every = [[time for field in fields if (time := getattr(line, field))] for line in fleet.ranks]
    for times, widths in zip(every, bars, strict=True):
        shares = [time / max(map(sum, every)) for time in times]
        assert [width / longest for width in widths] == pytest.approx(shares, abs=1e-4)


def test_the_strip_of_many_ranks_holds_the_named_one_and_says_how_many_it_left_out() -> None:
    fleet = examined(JOBS / "ddp_slow_gpu")
    lines = tuple(replace(fleet.ranks[number % 2], rank=number) for number in range(500))
    many = replace(
        fleet, ranks=(*lines, replace(fleet.ranks[2], rank=500)), findings=(replace(fleet.findings[0], ranks=(500,)),)
    )
    drawn = fleet_strip.render(many)
    assert 'data-rank="500"' in drawn and drawn.count("data-rank=") == fleet_strip.MAX_ROWS
    assert "485 ranks more" in drawn


FAULTS = [
    ("ddp_even", Fault("host", 5, 3000.0), 1.0, "host"),
    ("ddp_even", Fault("slow_host", 1, 1.4), 1.0, "host"),
    ("fsdp_even", Fault("host", 0, 4000.0), 1.0, "host"),
    ("ddp_even", Fault("input", 4, 3000.0), 1.0, "input"),
    ("fsdp_even", Fault("input", 7, 4000.0), 1.0, "input"),
    ("ddp_even", Fault("slower_kernels", 2, 1.4), 5.0, "slower_kernels"),
    ("ddp_even", Fault("device_work", 3, 60.0), 1.0, "device_work"),
    ("ddp_even", Fault("shapes", 6, 3.0), 5.0, "shapes"),
    ("ddp_even", Fault("other_kernels", 0, 1.0), 1.0, "other_kernels"),
    ("fsdp_even", Fault("memory", 5, 4000.0), 1.0, "memory"),
    ("ddp_even", Fault("queued", 2, 9000.0), 1.0, "queued"),
]


@pytest.mark.parametrize(
    ("job", "fault", "scale", "cause"),
    [case if case[0] == "ddp_even" else pytest.param(*case, marks=pytest.mark.slow) for case in FAULTS],
    ids=lambda value: getattr(value, "kind", None),
)
def test_replayed_faults_are_named_with_their_cause(
    job: str, fault: Fault, scale: float, cause: str, tmp_path: Path
) -> None:
    truth = make(JOBS / job, tmp_path, ranks=8, steps=4, faults=[fault], other=OTHER, seed=11, scale=scale)
    fleet = examined(tmp_path)
    first = fleet.findings[0]
    assert (first.kind, first.ranks, first.cause) == ("late", (fault.rank,), cause)
    assert {rank for item in fleet.findings for rank in item.ranks} == {fault.rank}
    assert first.cost_us == pytest.approx(truth["cost_us"], rel=0.25)


def test_a_fault_that_costs_nobody_anything_names_nobody(tmp_path: Path) -> None:
    truth = make(JOBS / "fsdp_even", tmp_path, ranks=6, steps=4, faults=[Fault("slower_kernels", 2, 3.0)], seed=5)
    assert truth["cost_us"] < 100 and examined(tmp_path).even  # hidden behind the launches of a host-bound job


def test_another_batch_that_is_not_late_is_another_plan_without_cost(tmp_path: Path) -> None:
    make(JOBS / "fsdp_even", tmp_path, ranks=4, steps=3, faults=[Fault("shapes", 1, 0.5)], seed=5)
    fleet = examined(tmp_path)
    assert [(item.kind, item.ranks, item.cause, item.cost_us) for item in fleet.findings] == [
        ("plan_differs", (1,), "shapes", None)
    ]


def test_two_late_ranks_are_both_named(tmp_path: Path) -> None:
    faults = [Fault("input", 1, 4000.0), Fault("host", 6, 3500.0)]
    make(JOBS / "ddp_even", tmp_path, ranks=8, steps=5, faults=faults, seed=8)
    late = {item.ranks: item.cause for item in examined(tmp_path).findings if item.kind == "late"}
    assert late == {(1,): "input", (6,): "host"}


def test_missing_and_damaged_ranks_are_problems_and_the_rest_is_compared(tmp_path: Path) -> None:
    make(JOBS / "ddp_even", tmp_path, ranks=8, steps=4, faults=[Fault("input", 2, 4000.0)], absent=(4,), damaged=(6,))
    fleet = findings.examine(run.digests(sources.listed([str(tmp_path)]), jobs=2))
    assert fleet.findings[0].ranks == (2,) and fleet.findings[0].cause == "input"
    said = " ".join(problem.message for problem in fleet.problems)
    assert "ends early" in said and "2 of 8 ranks cannot be compared: 4 and 6" in said


def test_digests_of_one_job_do_not_depend_on_clocks(tmp_path: Path) -> None:
    # The same bytes with every time moved by an hour, on one rank only: the same findings.
    for path in sorted((JOBS / "ddp_slow_gpu").glob("*.json.gz")):
        trace = msgspec.json.decode(gzip.decompress(path.read_bytes()))
        for event in trace["traceEvents"] if path.name == "rank1.json.gz" else []:
            event["ts"] += 3.6e9
        (tmp_path / path.name).write_bytes(gzip.compress(msgspec.json.encode(trace), 1))
    moved, still = examined(tmp_path), examined(JOBS / "ddp_slow_gpu")
    assert [(f.kind, f.ranks, f.cause) for f in moved.findings] == [(f.kind, f.ranks, f.cause) for f in still.findings]
    for one, other in zip(moved.ranks, still.ranks, strict=True):
        assert one.own_us == pytest.approx(other.own_us, abs=1.0)


def test_one_rank_alone_and_none_at_all() -> None:
    assert "nothing to compare" in findings.examine(digests(JOBS / "ddp_even")[:1]).verdict
    assert findings.examine([]).verdict == "no rank's trace could be read"


def test_a_rank_twice_is_said_and_the_first_is_taken() -> None:
    every = digests(JOBS / "ddp_even")
    fleet = findings.examine([*every, every[2]])
    assert len(fleet.ranks) == 4 and any("is of rank 2 too" in problem.message for problem in fleet.problems)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("data", True),
        ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", True),
        ("load_batch", True),
        ("getNextBatch", True),
        ("DistributedDataParallel.forward", False),
        ("train_batch", False),
        ("Optimizer.zero_grad#AdamW.zero_grad", False),
        ("FSDP::all_gather (input)", False),
        ("forward", False),
    ],
)
def test_which_annotations_are_data_loading(name: str, expected: bool) -> None:
    assert is_input(name) is expected


def test_a_folder_that_is_none_and_one_without_traces(tmp_path: Path) -> None:
    with pytest.raises(FxscopeError, match="does not exist"):
        sources.listed([str(tmp_path / "nowhere")])
    (tmp_path / "truth.json").write_text('{"ranks": 4}')
    with pytest.raises(FxscopeError, match="holds no trace"):
        sources.listed([str(tmp_path)])
    with pytest.raises(FxscopeError, match="not a regular expression"):
        sources.listed([str(tmp_path)], pattern="(")


def test_a_trace_that_is_none_costs_its_own_rank(tmp_path: Path) -> None:
    for path in (JOBS / "ddp_even").glob("*.json.gz"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "rank2.json.gz").write_bytes(b"\x1f\x8bnot gzip at all")
    with pytest.raises(TraceError):
        digest(tmp_path / "rank2.json.gz")
    fleet = findings.examine(run.digests(sources.listed([str(tmp_path)]), jobs=2))
    assert [line.rank for line in fleet.ranks] == [0, 1, 3]
    assert any(problem.where == "rank2.json.gz" for problem in fleet.problems)


@pytest.mark.parametrize("sends", [True, False])
def test_ranks_that_send_to_each_other_are_compared_within_their_program(sends: bool, tmp_path: Path) -> None:
    faults = [Fault("input", 5, 4000.0), *(Fault("other_kernels", rank, 1.0) for rank in (4, 5, 6, 3))]
    make(JOBS / "ddp_even", tmp_path, ranks=7, steps=4, other=OTHER, faults=faults, seed=3)
    made = digests(tmp_path)
    if sends:
        made = [replace(item, sends=True) for item in made]
    fleet = findings.examine(made)
    differing = [item.ranks for item in fleet.findings if item.kind == "plan_differs"]
    if not sends:
        assert differing and not any(group.program for group in fleet.plans)
        return
    assert [(group.ranks, group.program) for group in fleet.plans] == [((3, 4, 5, 6), 0), ((0, 1, 2), 1)]
    assert not differing and fleet.findings[0].ranks == (5,) and fleet.findings[0].cause == "input"
    assert "run different programs" in fleet.problems[-1].message
    alone = findings.examine(made[2:4])
    assert not alone.findings and "nothing to compare" in alone.verdict
    assert alone.problems[-1].message.endswith("no other rank runs the program of 2 and 3")


@pytest.mark.parametrize(
    ("kind", "kernel", "sends"),
    [
        ("send", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", True),
        ("_recv", "ncclDevKernel_Generic(x)", True),
        ("alltoall_base", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", False),
        (None, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", True),
        (None, "ncclDevKernel_Generic(x)", False),
    ],
)
def test_a_rank_that_sends_to_single_ranks(kind: str | None, kernel: str, sends: bool, tmp_path: Path) -> None:
    trace = msgspec.json.decode(gzip.decompress((JOBS / "ddp_even" / "rank0.json.gz").read_bytes()))
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel" and event["name"].startswith("nccl"):
            event["name"] = kernel
        if "Collective name" in event.get("args", {}):
            event["args"]["Collective name"] = kind
    path = tmp_path / "rank0.json"
    path.write_bytes(msgspec.json.encode(trace))
    assert digest(path).sends is sends and not digest(JOBS / "ddp_even" / "rank0.json.gz").sends


def test_of_two_ranks_the_late_one_is_the_one_that_differs(tmp_path: Path) -> None:
    make(JOBS / "ddp_even", tmp_path, ranks=2, steps=4, faults=[Fault("device_work", 0, 60.0)], seed=9)
    fleet = examined(tmp_path)
    assert [(item.kind, item.ranks, item.cause) for item in fleet.findings] == [("late", (0,), "device_work")]
    assert [(group.ranks, group.cause) for group in fleet.plans] == [((1,), None), ((0,), "device_work")]


def test_a_host_that_is_stuck_in_a_driver_call_while_the_device_idles_is_late(tmp_path: Path) -> None:
    make(JOBS / "ddp_even", tmp_path, ranks=4, steps=4, faults=[Fault("host", 1, 4000.0)], seed=9)
    path = tmp_path / "rank1.json.gz"
    trace = msgspec.json.decode(gzip.decompress(path.read_bytes()))
    events = trace["traceEvents"]
    for data in [event for event in events if event["name"] == "data" and event["cat"] == "user_annotation"]:
        call = {**data, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": {"correlation": 7 << 30}}
        events.append({**call, "ts": data["ts"] + data["dur"] + 2, "dur": 3990.0})
    path.write_bytes(gzip.compress(msgspec.json.encode(trace), 1))
    first = examined(tmp_path).findings[0]
    assert (first.ranks, first.cause) == ((1,), "host")


@pytest.mark.parametrize(("steps", "first"), [(3, "device_work"), (4, "host")])
def test_with_fewer_than_three_steps_host_findings_come_last(steps: int, first: str, tmp_path: Path) -> None:
    faults = [Fault("host", 1, 6000.0), Fault("device_work", 2, 60.0)]
    make(JOBS / "ddp_even", tmp_path, ranks=5, steps=steps, faults=faults, seed=9)
    found = examined(tmp_path)
    assert len(found.steps) == steps - 1
    late = [item for item in found.findings if item.kind == "late"]
    assert {item.cause for item in late} == {"host", "device_work"}
    assert found.findings[0].cause == first and max(late, key=lambda item: item.cost_us or 0).cause == "host"
