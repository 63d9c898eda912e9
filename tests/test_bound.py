"""CPU-bound or GPU-bound: one rule, one wording, wherever it is said."""

from pathlib import Path

import msgspec
import pytest

from fxscope.analysis import advice, report as report_of
from fxscope.analysis.groups import KernelGroup
from fxscope.analysis.report import CompileRow, KernelRow, Report, compile_rows, report, step_basis
from fxscope.model import (
    Compile,
    Environment,
    Gap,
    Graph,
    KernelCall,
    KernelStats,
    Op,
    Recording,
    Source,
    Step,
    StepStats,
    StepTimes,
    Summary,
    replace,
)
from fxscope.passes import bound
from fxscope.readers.join import read_trace
from fxscope.render import tables, terminal, why as why_text
from fxscope.text import microseconds, percent
from tests import build, captures

H200 = Path(__file__).parent / "data" / "h200"
UNKNOWN = "cause of idle time unknown: launches not recorded"


@pytest.mark.parametrize(
    ("busy", "launched", "words"),
    [
        (12, 9, "CPU-bound (device busy 12 % of 100.0 µs)"),
        (40, 5, "CPU-bound (device busy 40 % of 100.0 µs)"),
        (12, 0, f"{UNKNOWN} (device busy 12 % of 100.0 µs)"),
        (49, 9, "neither CPU- nor GPU-bound (device busy 49 % of 100.0 µs)"),
        (51, 3, f"{UNKNOWN} (device busy 51 % of 100.0 µs)"),
        (93, 0, "GPU-bound (device busy 93 % of 100.0 µs)"),
    ],
)
def test_the_verdict_and_the_share(tmp_path, busy, launched, words):
    """Ten kernels in 100 µs, of which some have a launch."""
    events = [build.event("user_annotation", "whole", 0, 100)]
    events += [build.event("kernel", "k", 10.0 * i, busy / 10, correlation=i + 1) for i in range(10)]
    events += [build.event("cuda_runtime", "cudaLaunchKernel", 10.0 * i, 2, correlation=i + 1) for i in range(launched)]
    recording = read_trace(build.write_trace(tmp_path / "t.json", events))
    assert recording.summary.verdict == words == bound.of_recording(recording).words
    made = report(recording)
    assert [group.shape for group in made.groups] == ["k"]  # its kernels have neither an op nor a grid
    assert any("reduce-overhead" in item.text for item in made.advice) == words.startswith("CPU")
    assert made.cuda_graphs.state == ("off" if launched else "unknown")


def summary_of(*steps: tuple[float, float]) -> Summary:
    """A summary of steps of (wall time, time in which the device was busy), in µs."""
    made = tuple(
        StepStats(step=number, name="", wall_us=wall, device_busy_us=busy, device_idle_us=wall - busy, num_launches=1)
        for number, (wall, busy) in enumerate(steps)
    )
    return Summary(steps=made, bound="gpu", verdict="?")


def test_every_view_says_the_same():
    assert bound.of_summary(summary_of((0.0, 0.0))) is None and bound.of_summary(None) is None  # no time, no verdict
    recording = captures.read("mlp_eager")
    words = bound.of_summary(recording.summary).words
    assert words == recording.summary.verdict
    shown = report(recording).step
    assert words == f"{shown.verdict} (device busy {percent(shown.busy_share)} of {microseconds(shown.wall_us)})"
    assert shown.verdict in terminal.render(recording)
    assert words in tables.of_trace(recording.summary, width=120)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("after", "CPU-bound (device busy 25 % of 400.0 µs)"),
        ("calls", "CPU-bound (device busy 25 % of 400.0 µs)"),
        ("recording", "neither CPU- nor GPU-bound (device busy 50 % of 200.0 µs while recording)"),
    ],
)
def test_the_wall_time_is_that_of_steps_without_a_profiler(when, words):
    times = StepTimes(count=3, when=when, total_us=1200.0, median_us=400.0, p95_us=1.0, max_us=1.0)
    recording = Recording(summary=summary_of((200.0, 100.0)), step_times=times)
    assert bound.of_recording(recording).words == words
    assert bound.judged(recording).summary.verdict == words


AFTER = "median of 10 steps after the profiled ones"


@pytest.mark.parametrize(
    ("fields", "basis", "spread"),
    [
        ({}, AFTER, ""),
        ({"total_us": 8e3}, AFTER, "mean 800.0 µs"),
        ({"total_us": 8e3, "p95_us": 2e3, "samples_us": (400.0,) * 20}, AFTER, "mean 800.0 µs, 5 % take ≥ 2.00 ms"),
        ({"max_us": 9e3}, AFTER, "the longest 9.00 ms"),
        ({"when": "device", "launching_us": 300.0}, "the device's time", "the CPU launches a step in 300.0 µs"),
    ],
)
def test_the_basis_of_a_step_says_where_its_time_is_from(fields, basis, spread):
    times = StepTimes(**{"count": 10, "median_us": 400.0, "total_us": 4e3, "p95_us": 500.0, "max_us": 500.0, **fields})
    recording = Recording(step_times=times)
    assert (step_basis(recording), report_of.spread(recording)) == (basis, spread)


@pytest.mark.parametrize(
    ("when", "cuda", "busy", "is_slowed"),
    [
        ("after", "13.0", 20.0, True),
        ("after", "13.0", 59.0, True),
        ("after", "13.0", 99.0, False),
        ("calls", "13.0", 20.0, False),
        ("after", None, 20.0, False),
    ],
)
def test_a_step_that_the_gpu_does_not_limit_is_slowed_by_cupti(when, cuda, busy, is_slowed):
    times = StepTimes(count=9, when=when, total_us=900.0, median_us=100.0, p95_us=1.0, max_us=1.0)
    environment = Environment(cuda=cuda)
    recording = Recording(summary=summary_of((100.0, busy)), step_times=times, environment=environment)
    assert bool(report(recording).step.slowed_by) == is_slowed
    assert ("run --wait 20`" in terminal.render(recording)) == is_slowed


def test_a_triton_kernel_of_the_users_has_its_own_name():
    found = report(read_trace(Path(__file__).parent / "data" / "h200" / "plans" / "user_kernel" / "real"))
    assert [row.label for row in found.kernels] == ["relu·mul", "scale_and_shift"]


def test_busy_wall_and_device_time_are_medians_of_the_steps_that_count():
    """A first step that took long is no median; one that compiled does not count."""
    times = (8_000.0, 500.0), (2_000.0, 1_900.0), (9_000.0, 100.0), (1_000.0, 900.0)
    launches = tuple(build.launch(at, step=at, duration_ns=int(us * 1e3)) for at, (_, us) in enumerate(times))
    ops = (build.op(0, "compile (dynamo_timed)", step=2),)
    row = report(Recording(summary=summary_of(*times), launches=launches, ops=ops)).step
    assert (row.steps, row.wall_us, row.busy_us, row.device_us, row.busy_notes) == (3, 2e3, 900.0, 900.0, [])


def trace_of(path: Path, gaps_us: list[float], *, replayed: bool | str | None) -> Path:
    """A trace of kernels of 5 µs with this idle time between them, launched one by one, by one replay or by a replay each."""
    launch = "cudaGraphLaunch" if replayed else "cudaLaunchKernel"
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if replayed is None else "k"
    events, now = [], 10.0
    for number, gap in enumerate([*gaps_us, 0.0], 1):
        correlation = 1 if replayed is True else number
        if number == 1 or replayed is not True:
            events.append(build.event("cuda_runtime", launch, now - 3, 2, correlation=correlation))
        events.append(build.event("kernel", name, now, 5, correlation=correlation))
        now += 5 + gap
    return build.write_trace(path, events)


LONG_IDLE = "Look at what the CPU does before k"


@pytest.mark.parametrize(
    ("gaps_us", "replayed", "text", "why"),
    [
        ([50.0] * 40, False, 'torch.compile(mode="reduce-overhead")', "of the run while the CPU makes 41 launches"),
        ([50.0] * 40, True, "Look at what delays launched work before k", "another stream or process"),
        ([500.0] * 9, "each", "Look at what the CPU does between replays", "the GPU idles"),
        ([50.0] * 4 + [4000.0], False, LONG_IDLE, "95 % of the idle time"),
        ([4000.0], True, "Look at what delays launched work before k", "kernels that the trace lacks"),
        ([2000.0] * 200, False, LONG_IDLE, "100 % of the idle time"),  # more gaps than the table holds
        ([1.0] * 9, None, "Compare the ranks", "of the run is exposed"),
    ],
)
def test_cuda_graphs_are_advised_where_launches_make_the_device_idle(tmp_path, gaps_us, replayed, text, why):
    found = report(read_trace(trace_of(tmp_path / "t.json", gaps_us, replayed=replayed))).advice[0]
    assert found.text.startswith(text) and why in found.why


@pytest.mark.parametrize(
    ("kernel_us", "ahead", "wall_us", "busy", "side"),
    [
        (20, 0, 100.0, 0.2, "cpu"),  # the device waits
        (150, 0, 150.0, 1.0, "gpu"),  # and lags behind the CPU, which runs ahead
        (150, 4, 150.0, 1.0, "gpu"),  # on work of before the recording
    ],
)
def test_a_device_that_lags_behind_is_busy(tmp_path, kernel_us, ahead, wall_us, busy, side):
    """Steps of 100 µs on the CPU, each of which launches one kernel; `ahead` kernels were launched before the first."""
    events, free = [], 0.0
    for number in range(-ahead, 5):
        start = max(free, 10 + 100.0 * max(0, number))
        free = start + kernel_us
        events.append(build.event("kernel", "k", start, kernel_us, correlation=number + 100))
        if number >= 0:
            at = 100.0 * number
            events.append(build.event("user_annotation", f"ProfilerStep#{number}", at, 100))
            events.append(build.event("cuda_runtime", "cudaLaunchKernel", at + 5, 2, correlation=number + 100))
    recording = read_trace(build.write_trace(tmp_path / "t.json", events))
    limit = bound.of_recording(recording)
    assert (limit.side, limit.wall_us, round(limit.busy, 2)) == (side, wall_us, busy)
    row = report(recording).step
    assert row.launches == row.launch_calls == 1 and row.device_us == kernel_us
    assert sum(gap.duration_ns for gap in recording.summary.gaps if gap.step == 3) / 1e3 == wall_us - kernel_us
    assert any(f"{ahead} device events launched before" in x.message for x in recording.problems) == bool(ahead)


@pytest.mark.parametrize(
    ("step_us", "advised"),
    [(10_000.0, True), (5_500.0, True), (2_000.0, False)],  # the profiled step: 10 ms, 8 of them in one gap
)
def test_gaps_of_a_step_that_the_profiler_slowed_down_much_are_not_those_of_others(step_us, advised) -> None:
    gap = Gap(device=0, start_ns=0, duration_ns=8_000_000, step=0, after="k")
    recording = Recording(
        steps=(Step(index=0, name="s", start_ns=0, duration_ns=10_000_000),),
        summary=replace(summary_of((10_000.0, 500.0)), gaps=(gap,)),
        launches=(build.launch(0, duration_ns=500_000, step=0),),
        step_times=StepTimes(
            count=3, when="after", total_us=3 * step_us, median_us=step_us, p95_us=step_us, max_us=step_us
        ),
    )
    assert any(item.text == LONG_IDLE for item in report(recording).advice) == advised


@pytest.mark.parametrize(
    ("bound_by", "share", "roof", "texts"),
    [
        ("gpu", 0.8, 0.011, ["Look at gather first"]),
        ("gpu", 0.8, 0.87, ["Nothing stands out"]),
        ("gpu", 0.2, 0.011, ["Nothing stands out"]),
        ("gpu", 0.8, None, ["Nothing stands out"]),
        ("neither", 0.2, None, ['torch.compile(mode="reduce-overhead")']),
        ("neither", 0.8, 0.011, ['torch.compile(mode="reduce-overhead")', "Look at gather first"]),
    ],
)
def test_idle_time_and_a_large_kernel_far_below_its_roof_are_worth_a_look(bound_by, share, roof, texts) -> None:
    recording = Recording(launches=(build.launch(0, "gather", step=0),))
    made = report(recording)
    row = KernelRow(id="gather", label="gather", share=share, roof=roof)
    step = replace(made.step, bound=bound_by, wall_us=1_000.0, idle_us=400.0, device_us=600.0, launches=9)
    found = advice.advise(recording, replace(made, kernels=(row,), step=step))
    assert [item.text for item in found] == texts


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("AdamW", "AdamW(fused=True), or compile the optimizer step"),
        ("Muon", "Compile the optimizer step"),
        ("Adam SGD", "Adam(fused=True) and SGD(fused=True), or compile the optimizer step"),  # of two models
        ("SparseAdam", "Nothing stands out"),  # torch never compiles its step
    ],
)
def test_an_optimizer_step_is_compiled_where_torch_can(label, text) -> None:
    recording = Recording(launches=(build.launch(0, step=0),))
    made = report(recording)
    row = KernelRow(id=label, label=label, phase="optimizer", time_us=300.0, share=0.4, launches=9)
    rows = tuple(replace(row, label=name) for name in label.split())
    step = replace(made.step, bound="gpu", wall_us=1_000.0, device_us=900.0)
    assert [item.text for item in advice.advise(recording, replace(made, kernels=rows, step=step))] == [text]


@pytest.mark.parametrize(
    ("device", "precision", "shape", "bound_by", "advised"),
    [
        ("NVIDIA H200", "highest", "float32 (64, 64)", "gpu", True),
        ("NVIDIA H200", "high", "float32 (64, 64)", "gpu", False),
        ("NVIDIA H200", None, "float32 (64, 64)", "gpu", False),
        ("NVIDIA H200", "highest", "bfloat16 (64, 64)", "gpu", False),
        ("NVIDIA H200", "highest", "float32 (64, 64)", "cpu", False),
        ("AMD EPYC", "highest", "float32 (64, 64)", "gpu", False),
    ],
)
def test_tf32_is_advised_for_float32_gemms_of_a_gpu_that_has_it(device, precision, shape, bound_by, advised) -> None:
    recording = Recording(environment=Environment(device=device, float32_matmul_precision=precision))
    made = report(recording)
    group = KernelGroup(id="mm", label="mm", ops=("mm",), shape=shape, time_us=900.0)
    made = replace(made, groups=(group,), step=replace(made.step, bound=bound_by, wall_us=1_000.0))
    found = [*advice._precision_advice(recording, made)]
    assert [500 < (item.gain_us or 0.0) < 900 for item in found] == [True] * advised


def test_layouts_that_cudnn_converts_are_advised_against() -> None:
    kernels = tuple(
        KernelStats(name=name, category="kernel", share=us / 400, **msgspec.structs.asdict(build.timing(us / 4, 4)))
        for name, us in (("void cudnn::ops::nchwToNhwcKernel<float>", 100.0), ("conv", 300.0))
    )
    recording = Recording(summary=Summary(kernels=kernels))
    made = report(recording)
    made = replace(made, step=replace(made.step, device_us=200.0, steps=2, bound="gpu"))
    (found,) = advice._layout_advice(recording, made)
    assert found.why == "cuDNN converts layouts in 2 kernels, 50.0 µs" and found.gain_us == 50.0
    assert [*advice._layout_advice(Recording(), made)] == []


def eager_rows(*rows: tuple[str, int, float]) -> tuple[Recording, Report]:
    """A recording, and a report of it with a kernel row and a group for each (op, count, µs) in a step of 1 ms."""
    recording = Recording(launches=(build.launch(0, step=0),))
    made = report(recording)
    groups = tuple(
        KernelGroup(id=op, label=name, kernels=(more,), shape=more, ops=(op,), time_us=us, count=count)
        for op, count, us in rows
        for name, _, more in [op.partition(":")]
    )
    kernels = tuple(KernelRow(id=op, label=op, time_us=us, count=count, share=us / 1e3) for op, count, us in rows)
    step = replace(made.step, bound="gpu", wall_us=1_000.0, device_us=1_000.0)
    return recording, replace(made, kernels=kernels, groups=groups, step=step)


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        ([("mm", 8, 700.0), ("mul", 8, 250.0), ("gelu", 4, 50.0)], ["torch.compile"]),
        ([("mm", 8, 990.0), ("mul", 8, 10.0)], ["Nothing stands out"]),
        ([("bmm", 8, 400.0), ("softmax", 4, 300.0), ("mm", 8, 300.0)], ["F.scaled_dot_product_attention"]),
        ([("bmm", 4, 400.0), ("softmax", 4, 300.0), ("mm", 8, 300.0)], ["Nothing stands out"]),  # one product each
        ([("bmm", 8, 50.0), ("softmax", 4, 40.0), ("mm", 8, 910.0)], ["Nothing stands out"]),
        ([("copy_:elementwise_kernel", 8, 100.0), ("mm", 8, 900.0)], ["Keep one layout and dtype"]),
        ([("copy_:Memcpy HtoD (Pinned -> Device)", 8, 100.0), ("mm", 8, 900.0)], ["Nothing stands out"]),
        ([("sum:float64 (8,)", 8, 100.0), ("mm:float32 (8, 8)", 8, 900.0)], ["Use float32"]),
    ],
)
def test_eager_time_that_one_kernel_would_save_is_advice(rows: list[tuple[str, int, float]], texts: list[str]) -> None:
    assert [item.text for item in advice.advise(*eager_rows(*rows))] == texts


@pytest.mark.parametrize(
    ("number", "bound_by", "idle_us", "behind_us", "advised"),
    [
        (9, "neither", 280.0, 250, True),
        (1, "neither", 280.0, 250, False),
        (9, "gpu", 280.0, 250, False),
        (9, "neither", 20.0, 250, False),
        (9, "neither", 280.0, 1, False),  # the device idles elsewhere
    ],
)
def test_item_is_advised_against_where_the_device_idles(
    number: int, bound_by, idle_us: float, behind_us: int, advised: bool
) -> None:
    recording, made = eager_rows(("local_scalar_dense", number, 14.0), ("mm", 8, 700.0))
    first = build.launch(0, op="aten::_local_scalar_dense", duration_ns=50)
    recording = replace(recording, launches=(first, build.launch(1, start_ns=50 + behind_us * 1000)))
    made = replace(made, step=replace(made.step, bound=bound_by, idle_us=idle_us))
    found = [item.why for item in advice.advise(recording, made) if item.text == "Avoid .item()"]
    assert found == ["the CPU waits for the GPU 9 times"] * advised


def step_of(number: int, end_us: float, length_us: float) -> list[dict[str, object]]:
    """A step on a CPU with a kernel of 100 µs at its end."""
    mark = build.event("user_annotation", f"ProfilerStep#{number}", end_us - length_us, length_us)
    return [mark, build.event("cpu_op", "aten::mm", end_us - 100, 100)]


def ops(*names: str) -> list[dict[str, object]]:
    """Ops of 100 µs, one after the other; a name with ">" is of an op with others inside."""
    inside = [(place, part) for place, name in enumerate(names) for part in name.split(">")]
    return [build.event("cpu_op", name, 100.0 * place, 100) for place, name in inside]


ATTENTION = ("aten::bmm", "aten::softmax>aten::_softmax", "aten::bmm")
REGIONS = ("Torch-Compiled Region: 0/0>aten::mm", "Torch-Compiled Region: 1/0>## Call CompiledFxGraph a ##>aten::mm")
COMPILES = ["_compile.compile_inner (dynamo_timed)>x (dynamo_timed)"] * 3
RECOMPILES = [*step_of(0, 400, 400), *step_of(1, 800, 400), *ops(*COMPILES, "aten::mm", *COMPILES)]
OVERHEAD = build.event("overhead", "Activity Buffer Request", 5, 1900, tid=0) | {"pid": -1}


def kernel(at: float, start: float, length_us: float) -> list[dict[str, object]]:
    call = build.event("cuda_runtime", "cudaLaunchKernel", at, 5, correlation=round(at))
    return [call, build.event("kernel", "k", start, length_us, correlation=round(at))]


EARLIER = [build.event("user_annotation", "ProfilerStep#0", 100, 1000), *kernel(50, 200, 500), *kernel(110, 700, 100)]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([*step_of(0, 9e3, 9e3), *step_of(1, 14e3, 5e3), *step_of(2, 18e3, 4e3)], "no kernel runs in 98 % of a step"),
        (ops(*ATTENTION), "1. F.scaled_dot_product_attention: 100 % of the CPU time"),
        (ops("aten::_scaled_dot_product_attention_math", *ATTENTION), "1. Let F.scaled_dot_product_attention run"),
        (ops("aten::mm", *COMPILES), "Run 100.0 µs the whole run: no steps were recorded left out: 300.0 µs"),
        (RECOMPILES, "Step 100.0 µs median of 2 profiled steps left out: 300.0 µs of compiling per step"),
        (step_of(6, 500, 500)[:1], "Record again: no kernel was observed; where a schedule"),
        (ops(*REGIONS), "t · CPU · 1 compiled region, 1 more without Inductor"),
        (ops("CompiledFunction>aten::mm"), "t · CPU · torch.compile without Inductor"),
        ([*EARLIER, build.event("kernel", "triton__0d1d2d", 900, 9)], "compiled, its graphs not recorded"),
        ([*ops("aten::mm"), build.event("user_annotation", "a|b", 0, 1)], "t · CPU · eager"),
        (EARLIER, "busy 600.0 µs (60 %), idle 400.0 µs ≥ 500.0 µs of the busy time launched outside the step"),
        ([*ops("aten::mm"), OVERHEAD, *kernel(2000, 2010, 5)], "the CPU is in the profiler's Activity Buffer Request"),
    ],
)
def test_the_first_screen_says_what_a_trace_shows(tmp_path, events, words) -> None:
    path = build.write_trace(tmp_path / "t.json", events, schemaVersion=1, deviceProperties=[])
    path.write_text(path.read_text().replace("|", '"'))  # a name that its writer did not escape
    for compiles in ((), (Compile(compile_id="0/0"),)):
        assert words in " ".join(terminal.render(replace(read_trace(path), compiles=compiles)).split())


def test_why_is_about_the_op_that_ran_not_about_one_that_calls_it(tmp_path) -> None:
    recording = read_trace(build.write_trace(tmp_path / "t.json", ops("aten::mm>aten::mm", "aten::mm>aten::mm")))
    text = why_text.words(recording, recording.why("mm"), width=80)
    assert text == "mm ×2: launches aten::mm\n  200.0 µs (100 % of the CPU time)\n"  # of the run: no steps


ZERO_ONE = "f.py:3 in f (0/1 specialization; to avoid specialization try mark_unbacked(tensor, dim))"


@pytest.mark.parametrize(
    ("guard", "why"),
    [
        ("tensor 'x' size mismatch at index 1. expected 4, actual 5", "mark_dynamic(x, 1)"),
        (
            "tensor 'fn._modules['0']._parameters['bias']' size mismatch at index 0. expected 4, actual 5",
            "of their own",
        ),
        ("s.f() == 2", "keep s.f() constant"),
        (f"2 <= x.size()[0]  # {ZERO_ONE}", "×1; mark_unbacked(tensor, dim)"),
        (f"2 <= x.size()[0] <= 5  # {ZERO_ONE} and if x.shape[0] > 5:  # f.py:3", "2 <= x.size()[0] <= 5"),
        (f"(x.size()[0] % 4) == 0  # f.py:3\n0/1: 2 <= x.size()[0]  # {ZERO_ONE}", "(x.size()[0] % 4) == 0"),
    ],
)
def test_advice_on_a_recompile_is_what_avoids_it_else_its_guard(guard: str, why: str) -> None:
    made = report(Recording(compiles=(Compile(compile_id="0/1", recompile_reason=f"0/0: {guard}"),)))
    assert made.advice[0].text == "Stop the recompiles of place not recorded" and why in made.advice[0].why


RECOMPILES = {
    "most values": (
        [
            "0/0: n.calls == 0  # train.py:7",
            "0/1: n.calls == 1  # train.py:7\n0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0",
            "0/2: tensor 'x' requires_grad mismatch. expected requires_grad=1\n0/1: n.calls == 1  # train.py:7",
            "0/3: n.calls == 2  # train.py:7\n0/2: tensor 'x' requires_grad mismatch. expected requires_grad=1",
            "tensor 'L['y']' dtype mismatch",  # as older versions of torch write it
        ],
        {"n.calls == 0 (train.py:7)": 4, "tensor 'L['y']' dtype mismatch": 1},
    ),
    "most versions": (
        [
            "0/1: len(l) == 2\n0/0: len(l) == 2",
            "0/2: len(l) == 3\n0/1: tensor 'x' dtype mismatch\n0/0: tensor 'x' dtype mismatch",
        ],
        {"len(l) == 2": 1, "tensor 'x' dtype mismatch": 1},
    ),
    "newest": (
        [
            "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5",
            "0/1: n == 2.5\n0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6",
        ],
        {"tensor 'x' size mismatch at index 0. expected 4, actual 5": 1, "n == 2.5": 1},
    ),
    "in one line": (
        [
            "0/1: tensor 'x' size mismatch at index 0. expected 4, actual 5; 0/0: tensor 'x' size mismatch at index 0. "
            "expected 3, actual 5",
            "0/0: tensor 'x' size mismatch at index 0. expected 3, actual 4",
        ],
        {"tensor 'x' size mismatch at index 0. expected 4, actual 5": 2},
    ),
    "global state": (
        [
            "0/0: GLOBAL_STATE changed: num_threads",
            "0/2: GLOBAL_STATE changed: grad_mode\n"
            "0/1: GLOBAL_STATE changed: grad_mode num_threads\n0/0: GLOBAL_STATE changed: grad_mode num_threads",
        ],
        {"GLOBAL_STATE changed: num_threads": 1, "GLOBAL_STATE changed: grad_mode": 1},
    ),
}


@pytest.mark.parametrize("name", RECOMPILES)
def test_the_guard_that_failed_in_most_versions_explains_a_recompile(name: str) -> None:
    reasons, shown = RECOMPILES[name]
    compiles = [Compile(compile_id=f"0/{number}", recompile_reason=text) for number, text in enumerate(reasons, 1)]
    _, _, recompiles = compile_rows(Recording(compiles=tuple(compiles)))
    assert {row.reason: row.count for row in recompiles} == shown


@pytest.mark.parametrize(("kernel", "is_unknown"), [("aten::mm", True), ("graph_0_cpp_fused_add_0", False)])
def test_times_that_a_cpu_trace_does_not_contain_are_unknown(kernel, is_unknown) -> None:
    region = Op(id=0, name="Torch-Compiled Region: 0/0", category="cpu_op", step=0, start_ns=0, duration_ns=9)
    launch = build.launch(0, kernel, category="cpu_kernel")
    call = KernelCall(id="1", graph="g", kernel="cpp_fused_add_0", type="cpp", handle="1")
    run = replace(region, id=1, name="## Call CompiledFxGraph f ##", parent=0)
    for known in ({"ops": (region, run)}, {"calls": (call,)}):  # a trace alone, and with its compile log
        made = report(Recording(launches=(launch,), **known))
        assert any("generated C++ kernels" in text for text in made.unknown) == is_unknown


def test_a_break_of_torchs_own_is_no_first_advice() -> None:
    breaks = (
        CompileRow(id="a", where="a.py:1", reason="torch"),
        CompileRow(id="b", where="b.py:2", reason="print", hints=("log",)),
    )
    made = replace(report(Recording()), breaks=breaks)
    assert [item.text for item in advice.advise(Recording(), made)][:1] == ["Remove the graph break at b.py:2"]


@pytest.mark.parametrize(("call", "is_trace", "is_said"), [("", False, True), ("c", False, False), ("", True, False)])
def test_pointwise_ops_beside_compiled_code_are_to_be_compiled(call: str, is_trace: bool, is_said: bool) -> None:
    made = report(build.gelu_mul_compiled())
    group = KernelGroup(id="g", label="add", ops=("aten::add",), time_us=made.step.device_us, calls=tuple(call))
    recording = replace(build.gelu_mul_compiled(), **({"calls": ()} if is_trace else {}))
    said = [item.text for item in advice.advise(recording, replace(made, groups=(group,)))]
    assert (advice.EAGER_OPS in said) == is_said


def test_time_without_kernels_is_compared_with_kernels_of_the_same_steps() -> None:
    steps = tuple(Step(index=i, name="", start_ns=i * 10**8, duration_ns=5 * 10**7) for i in range(2))
    kernels = [build.launch(i, category="cpu_kernel", step=i, start_ns=i * 10**8, duration_ns=10**6) for i in range(2)]
    nodes = (build.dispatched("a", "aten::add", source=Source(file="a.py", line=3)),)
    kernels = [replace(item, graph="g", nodes=("a",)) for item in kernels]
    backward = [replace(item, id=item.id + 2, graph=None, nodes=(), start_ns=item.start_ns + 10**6) for item in kernels]
    times = StepTimes(count=9, when="after", total_us=9e3, median_us=1e3, p95_us=1e3, max_us=1e3)
    graphs = (Graph(id="g", stage="eager", nodes=nodes),)
    made = Recording(graphs=graphs, launches=(*kernels, *backward), steps=steps, step_times=times)
    ops = tuple(
        build.op(i, "compile (dynamo_timed)", step=i, start_ns=i * 10**8 + 10**7, duration_ns=10**7) for i in (0, 1)
    )
    for recording, idle_us in ((made, 48e3), (replace(made, ops=ops), 38e3)):  # compiling is left out
        found = [item.gain_us for item in report(recording).advice if item.text.endswith("program does after a.py:3")]
        assert found == [idle_us]
