"""Predicted times: the workload that code states, the formulas, the fit, and what `calibrate` writes."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fxscope import gpus
from fxscope.analysis.compare import compare
from fxscope.analysis.report import step_row
from fxscope.commands.calibrate import calibrated
from fxscope.gpus import fitting
from fxscope.gpus.prediction import FORMULAS, Works, corrected, family_of, predict, stretch_of, times_of
from fxscope.model import Environment, Graph, KernelCall, Recording, Workload, replace
from fxscope.passes.cost import cost
from fxscope.readers import output_code
from fxscope.readers.triton_accesses import accesses, accesses_of, requests_of
from fxscope.readers.workload import operations
from tests import captures
from tools import fit_prediction
from tools.measured import measured_calls

ROOT = Path(__file__).parents[2]
OUTPUT_CODE = ROOT / "tests" / "data" / "output_code"
KERNEL = (OUTPUT_CODE / "additions.txt").read_text()


def zoo(name: str):
    return fit_prediction.read(ROOT / f"tests/data/zoo/h200/{name}.json.xz")


def planned(*calls: KernelCall, target: str = "h200") -> Recording:
    return cost(Recording(environment=Environment(target=target), calls=calls))


@pytest.fixture(scope="module")
def bert():
    return list(measured_calls(zoo("bert")))


def test_every_call_of_a_recording_has_a_workload(bert):
    assert len(bert) == len(zoo("bert")["calls"])
    assert {item.call.workload.family for item in bert} == {"pointwise", "reduction", "gemm", "attention"}


@pytest.mark.parametrize(
    ("program", "op", "stated"),
    [
        ("bert", "addmm", (512, 256, 256, 1, "bfloat16", "nt", "bias")),
        ("resnet18_train", "convolution", (4 * 48 * 48, 64, 147, 49, "bfloat16", "last", "")),
    ],
)
def test_a_product_and_a_convolution_state_their_sizes_dtype_and_layout(program: str, op: str, stated: Any) -> None:
    calls = [item.call for item in measured_calls(zoo(program))]
    first, *others = [call.workload for call in calls if call.kernel == f"extern_kernels.{op}"]
    assert None not in others, "the result of one feeds the next"
    assert (first.m, first.n, first.k, first.taps, first.dtype, first.layout, first.variant) == stated
    assert first.flops == 2 * first.m * first.n * first.k


def test_a_symbolic_size_gives_no_workload_and_no_time():
    dynamic = [item.call for item in measured_calls(zoo("gpt2_dynamic")) if item.call.workload is None]
    found = planned(dynamic[0])
    assert found.predicted is found.calls[0].estimated_range_us is None


GEMM = Workload(family="gemm", dtype="bfloat16", m=4096, n=4096, k=4096, num_bytes=3 * 2 * 4096**2, layout="nt")


def test_a_prediction_lies_in_its_interval_and_says_what_it_stands_on():
    found = predict(gpus.load("h200"), GEMM)
    assert found.low < found.us < found.high and "h200" in found.basis
    # Between the measured peak and a quarter of it.
    assert 2 * 4096**3 / 8e14 * 1e6 < found.us < 4 * 2 * 4096**3 / 8e14 * 1e6


def test_a_gpu_that_nothing_was_measured_on_has_bounds_and_says_so():
    assert predict(gpus.load("a100"), GEMM) == "nothing was measured on the a100"
    call = KernelCall(id="1", graph="g", handle="k:1", kernel="k", type="extern", device="cuda:0", workload=GEMM)
    plan = planned(replace(call, bytes_read=2**26, bytes_written=2**25), target="a100")
    (call,) = plan.calls
    assert call.estimated_us == call.roof.floor_us > 0 and call.estimated_range_us is None
    assert call.estimated_basis.startswith("lower bound: 2.04 TB/s")
    assert call.estimated_basis.endswith("; no prediction: nothing was measured on the a100")
    assert step_row(plan).is_lower_bound and step_row(plan).basis == "lower bound: nothing was measured on the a100"
    assert step_row(replace(plan, environment=Environment(target="h200"))).basis.endswith("call has a predicted time")


@pytest.mark.parametrize("gpu", ["h200", "h100"])
def test_more_work_never_takes_less_time(gpu):
    model = gpus.load(gpu).calibration
    for family, (_, start) in FORMULAS.items():
        parameters = model.families[family].parameters
        assert set(parameters) == set(start)
        kind, dtype = family.removesuffix("_float32"), "float32" if family.endswith("float32") else "bfloat16"
        variant, k = ("cudnn", 64) if "attention" in kind else ("", 1024)
        one = Workload(family=kind, variant=variant, dtype=dtype, loads=2, statements=4, n=4096, k=k, layout="last")
        works = [
            replace(one, num_bytes=6 * size, elements=size, outer=size, requests=size // 2, sectors=size // 4, m=m)
            for m, size in ((m, m * 4096) for m in (64, 512, 4096, 32768))
        ]
        times = times_of(family, parameters, works, 132).tolist()
        assert times == sorted(times), family


def test_a_fit_finds_the_parameters_that_made_the_times():
    truth = {**FORMULAS["pointwise"][1], "floor": 2.0, "dram": 1.5, "l2": 3.0}
    works = [
        Workload(family="pointwise", num_bytes=size, elements=size // 4, outer=size // 4, loads=2, statements=3)
        for size in (int(10 ** (3 + number / 5)) for number in range(31))
    ]
    times = times_of("pointwise", truth, works, 132)
    odd = [10 if number % 10 == 5 else 1 for number in range(31)]  # one of ten is off by ten times
    seen = [fitting.Observation("p", *call, "k") for call in zip(works, times * odd, strict=True)]
    found = fitting.fit_family("pointwise", fitting.groups_of(seen)["pointwise"], 132)
    assert times_of("pointwise", found, works, 132) == pytest.approx(times, rel=0.1)


def test_intervals_hold_eight_of_ten_and_each_kind_counts_the_same():
    ratios = [(0.6 + 0.01 * number, "k") for number in range(100)]
    (low, high) = fitting.range_of(None, None, ratios)
    assert sum(low <= ratio <= high for ratio, _ in ratios) in range(78, 83)
    usual = [(1.0 + 0.001 * number, "one") for number in range(100)]
    assert fitting.quantile([*usual, (3.0, "another")], 0.9) > 2 > fitting.quantile(usual, 0.9)


def held(ratios: list[float], *, distance: float = 0.0) -> list[fit_prediction.LeftOut]:
    named = ((f"{distance} {at}", ratio) for at, ratio in enumerate(ratios))
    return [fit_prediction.LeftOut(fitting.Observation(at, GEMM, ratio, at), 1.0, distance) for at, ratio in named]


def test_a_steps_range_holds_eight_of_ten_whatever_its_odd_programs():
    usual = [1.02 * 1.01**number for number in range(-21, 22)]  # 43 of 51
    step = fit_prediction.step_fit(held([*usual, *(float(number) for number in range(2, 10))]))
    assert step.middle == pytest.approx(1.02 * 1.01**4, abs=1e-2), "eight are far above"
    assert step.factor < 2, "eight odd ones of 51 do not set it"
    assert sum(1 / step.factor <= ratio / step.middle <= step.factor for ratio in usual) >= 0.78 * 51
    assert fit_prediction.step_fit(held([1.0, 2.0, 4.0])) is None, "of too few nothing is said"
    near = fit_prediction.step_fit(held(usual))
    assert fit_prediction.step_fit([*held(usual), *held([9.0] * 20, distance=99.0)]) == near
    far = fit_prediction.step_fit(held([ratio ** stretch_of(2.0) for ratio in usual], distance=2.0))
    assert far.factor == pytest.approx(near.factor, rel=0.02), "as far off as distance says"


def test_what_is_unlike_the_measured_calls_widens_a_step_by_its_own_range(bert):
    calls = tuple(item.call for item in bert)
    unknown = Workload(family="other", variant="torch.ops.mylib.route.default", num_bytes=10**7)
    one = replace(calls[0], id="x", workload=unknown)
    step, more = planned(*calls).predicted, planned(*calls, one).predicted
    low, high = (b - a for a, b in zip(step.device_range_us, more.device_range_us, strict=True))
    found = predict(gpus.load("h200"), unknown)
    assert (low, high) == pytest.approx((found.low, found.high))
    assert more.device_us - step.device_us == pytest.approx(found.us)


def test_a_planned_step_has_a_time_with_a_range(bert):
    calls = tuple(item.call for item in bert)
    step = planned(*calls).predicted
    assert step.device_range_us[0] < step.device_us < step.device_range_us[1]
    assert step.wall_range_us[0] >= step.cpu_range_us[0] and step.num_calls == len(calls)
    total = sum(call.estimated_us for call in planned(*calls).calls)
    assert step.device_us == pytest.approx(total) and step.basis.startswith("the sum of the calls; ")
    assert step.bound == "cpu", "small kernels are over before the CPU has launched the next"
    assert planned(*calls, target="a100").predicted is None


def test_a_floor_is_no_prediction_in_a_comparison(bert):
    calls = tuple(item.call for item in bert)[:4]
    graph = Graph(id=calls[0].graph, stage="post_grad")
    plan = cost(Recording(title="a", environment=Environment(target="h200"), graphs=(graph,), calls=calls))
    floors = tuple(replace(call, estimated_range_us=None, estimated_basis="a floor") for call in plan.calls)
    shown = compare(plan, replace(plan, title="b", calls=floors))
    assert {use.time_us for match in shown.kernels for use in match.b} == {None}
    totals = {change.subject: change.a for change in shown.totals}
    assert (totals["kernels per step"], totals.get("device events per step")) == (4, None)
    assert shown.notes == tuple(f"{side} is a plan for h200: its times are predicted" for side in "ab")


def measured() -> dict[str, Any]:
    """Two recorded programs on a card that nobody knows, in the form of `battery.measure`."""
    gpu = replace(gpus.load("h200"), device_name="NVIDIA H999", bandwidths=(), matrix={}, calibration=None)
    calls = {name: [(i.call.workload, i.us) for i in measured_calls(zoo(name))] for name in ("bert", "gpt2")}
    rates = {"copy_bytes_per_s": 4e12, "bfloat16": 7e14}
    return {"gpu": gpu, "torch": "2.11.0", "calls": calls, "failed": {}, "replay_us": 0.5, "rates": rates}


def test_calibrate_writes_a_gpu_that_plans_can_be_made_for(tmp_path, command, monkeypatch):
    battery = pytest.importorskip("fxscope._torch.programs.battery")
    monkeypatch.setattr(battery, "measure", lambda say: measured())
    out = tmp_path / "mine.json"
    command("calibrate", "-o", out)
    gpu = gpus.load(str(out))
    assert (gpu.name, gpu.device_name, gpu.target) == ("mine", "NVIDIA H999", True)
    assert gpu.calibration.families["gemm"].count > 3 and gpu.calibration.replay_us == 0.5
    assert gpu.bandwidth().value == 4e12 and gpu.matrix_rate("bfloat16").kind == "measured"
    assert gpus.load("mine") == gpu, "by its name from here on"
    work = next(i.call.workload for i in measured_calls(zoo("gpt2")) if family_of(i.call.workload) == "gemm")
    assert predict(gpu, work).basis.startswith("gemm model of the mine")
    assert "exists" in command("calibrate", "-o", out, status=2).err


def test_a_card_that_is_known_keeps_the_rates_of_its_data_sheet_and_what_was_not_measured() -> None:
    known = gpus.load("h200")
    gpu = calibrated({**measured(), "gpu": replace(known, bandwidths=(), matrix={}, calibration=None)}, "mine")
    assert (gpu.bandwidths, gpu.matrix) == (known.bandwidths, known.matrix)
    assert gpu.calibration.families["convolution"] == known.calibration.families["convolution"]
    assert gpu.calibration.families["gemm"] != known.calibration.families["gemm"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"calls": {}, "failed": {"gemm_large": "RuntimeError: no memory"}}, "gemm_large: RuntimeError: no memory"),
        ({"rates": {}}, "memory's rate could not be measured"),
    ],
)
def test_what_calibrate_could_not_measure_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(gpus.FxscopeError, match=words):
        calibrated(measured() | change, "mine")


def test_calibrate_takes_the_work_and_the_time_of_each_recorded_call():
    battery = pytest.importorskip("fxscope._torch.programs.battery")
    gemm, _, pointwise, _ = battery.timed_calls(captures.read("mlp_compiled"))
    assert (gemm[0].family, gemm[0].dtype, gemm[0].m) == ("gemm", "bfloat16", 8192) and 40 < gemm[1] < 70
    assert (pointwise[0].family, pointwise[0].num_bytes) == ("pointwise", 3 * 50331648) and 50 < pointwise[1] < 60


def test_without_a_gpu_calibrate_is_one_sentence(tmp_path, command):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    error = command("calibrate", "-o", tmp_path / "out.json", status=2).err
    assert "run this where there is one" in error and len(error.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_target_file_that_is_none_is_one_sentence(tmp_path):
    path = tmp_path / "gpu.json"
    path.write_text('{"name": "x"}')
    with pytest.raises(gpus.FxscopeError, match="describes no GPU"):
        gpus.load(str(path))
    with pytest.raises(gpus.FxscopeError, match="cannot read"):
        gpus.load(str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("user_triton", "generated code does not say what a user's own kernel does"),
        ("fallback", "the generated code does not give its sizes"),
    ],
)
def test_a_call_without_sizes_has_a_floor_and_no_prediction_and_a_function_a_roofline(kind: Any, why: str) -> None:
    call = KernelCall(id="1", graph="g", handle="k:1", kernel="aten.full", type=kind, device="cuda:0")
    found = planned(call, replace(call, id="2", bytes_read=0, bytes_written=10**8))
    assert found.predicted is found.calls[0].estimated_range_us is None and 0.5 < found.calls[0].estimated_us < 3
    assert found.calls[0].estimated_basis == f"lower bound: the smallest kernels of the h200; no prediction: {why}"
    if kind == "fallback":
        assert found.calls[1].estimated_basis == "roofline of the h200: nothing was measured of full"
        assert found.calls[1].estimated_range_us[0] < 10**8 / 4.2e6 < found.calls[1].estimated_range_us[1]


def test_a_plan_for_a_gpu_that_is_not_here_keeps_its_times(bert):
    plan = planned(*(item.call for item in bert))
    elsewhere = replace(plan, environment=Environment(target="a_gpu_of_somebody"))
    assert cost(elsewhere).calls[0].estimated_range_us == plan.calls[0].estimated_range_us
    assert cost(elsewhere).predicted == plan.predicted
    symbolic = KernelCall(id="1", graph="g", handle="k:1", kernel="k", type="triton_template", device="cuda:0")
    unknown = cost(replace(plan, calls=(symbolic,)))
    assert "does not give its sizes" in unknown.calls[0].estimated_basis
    assert cost(replace(elsewhere, calls=unknown.calls)).calls == unknown.calls


@pytest.mark.parametrize(
    "work",
    [
        Workload(family="gemm", dtype="float64", num_bytes=3 * 8 * 512**2, m=512, n=512, k=512, flops=2 * 512**3),
        Workload(family="other", variant="torch.ops.mylib.topk.default", num_bytes=10**7, elements=10**6),
    ],
)
def test_what_was_never_measured_has_a_roofline_with_a_wide_interval(work: Workload) -> None:
    found = predict(gpus.load("h200"), work)
    assert found.basis.startswith("roofline of the h200: nothing was measured of "), "aten's topk was"
    assert found.low < found.us < found.high and found.high / found.low > 2
    bigger = replace(work, num_bytes=work.num_bytes * 100, flops=work.flops * 100)
    assert predict(gpus.load("h200"), bigger).us > found.us


def test_8_bit_floats_take_one_byte_and_half_the_time_of_a_product() -> None:
    for item in measured_calls(fit_prediction.read(ROOT / "tests/data/first_look_4/h200/float8.json.xz")):
        assert predict(gpus.load("h200"), item.call.workload).us == pytest.approx(item.us, rel=0.5)


def of_library(call: str) -> Workload:
    """The work of a call, in which `V(shape, stride)` stands for a view of one large buffer."""
    views = re.sub(r"V\(", "reinterpret_tensor(buf0, ", call)
    text = "def call(args):\n    buf0 = empty_strided_cuda((1048576, ), (1, ), torch.bfloat16)\n"
    text += f"    view = reinterpret_tensor(buf0, (128, 256), (264, 1), 1)\n    buf1 = {views}\n"
    (found,) = output_code.kernel_calls(output_code.parse(text), "g")
    return replace(found.workload, dtype=found.workload.dtype or "bfloat16")


@pytest.mark.parametrize(
    ("call", "layout", "family"),
    [
        ("mm(V((128, 512), (512, 1), 0), V((512, 256), (1, 512), 0))", "nt", "gemm"),
        ("mm(V((128, 512), (1024, 1), 1), V((512, 256), (1, 512), 0))", "ntu", "gemm"),  # begins after one element
        ("mm(V((128, 512), (514, 1), 0), V((512, 256), (1, 512), 0))", "nte", "gemm"),
        ("mm(V((128, 512), (512, 1), 0), V((512, 256), (1, 512), 0), out=view)", "ntu", "gemm"),  # into a concatenation
        ("_weight_int8pack_mm(V((128, 512), (512, 1), 0), V((256, 512), (512, 1), 0), s)", "nn", "gemm in int8 nn"),
    ],
)
def test_a_product_states_how_its_rows_are_aligned(call: str, layout: str, family: str) -> None:
    work = of_library(f"extern_kernels.{call}")
    assert (work.m, work.k, work.n, work.layout, family_of(work)) == (128, 512, 256, layout, family)
    gpu, aligned = gpus.load("h200"), replace(work, dtype="bfloat16", layout="nt")
    assert predict(gpu, work).us > predict(gpu, aligned).us or layout == "nt"


@pytest.mark.parametrize(
    ("channels", "size", "stride", "groups", "slow", "family"),
    [
        (64, 8, 1, 64, False, "convolution"),
        (128, 8, 1, -64, True, "convolution of narrow groups"),  # two outputs for each of 64 channels
        (64, 2, 2, 64, True, "convolution"),  # an image smaller than the window
        (64, 2, 1, 64, False, "convolution"),
        (40, 2, 1, 40, True, "convolution"),
        (8, 8, 1, 8, True, "convolution"),
        (128, 8, 1, 8, False, "convolution of narrow groups"),
        (128, 8, 1, 4, False, "convolution in groups"),
    ],
)
def test_cudnn_launches_a_kernel_for_each_channel_or_group_where_it_has_none_for_all(
    channels: int, size: int, stride: int, groups: int, slow: bool, family: str
) -> None:
    inputs, groups = (channels if groups > 0 else -groups), abs(groups)
    width = inputs // groups
    image = f"V((1, {inputs}, {size}, {size}), ({inputs * size**2}, 1, {inputs * size}, {inputs}), 0)"
    taps = f"V(({channels}, {width}, 3, 3), ({width * 9}, 1, {width * 3}, {width}), 0)"
    window = f"stride=({stride}, {stride}), padding=(1, 1), dilation=(1, 1), transposed=False, output_padding=(0, 0)"
    work = of_library(f"extern_kernels.convolution({image}, {taps}, {window}, groups={groups}, bias=None)")
    assert (work.variant in ("each channel", "multiplied"), family_of(work)) == (slow, family)
    each = predict(gpus.load("h200"), work).us / groups
    assert each > 1 if slow or family.endswith("in groups") else each < 2


@pytest.mark.parametrize("kernel", ["flash", "efficient", "cudnn"])
@pytest.mark.parametrize("suffix", ["", "_backward"])
def test_attention_states_its_mask_and_its_dropout(kernel: str, suffix: str) -> None:
    op = getattr(pytest.importorskip("torch").ops.aten, f"_scaled_dot_product_{kernel}_attention{suffix}").default
    view = "V((2, 8, 512, 64), (262144, 32768, 64, 1), 0)"
    for mask, dropout in ((None, 0.0), ("buf0", 0.0), (None, 0.1)):
        given = {"attn_bias": mask, "dropout_p": dropout}
        words = [str(given.get(item.name, view)) for item in op._schema.arguments if not item.kwarg_only]
        work = of_library(f"torch.ops.{op}({', '.join(words)})")
        assert (work.m, work.loads, work.slowest_ops) == (512, mask is not None and kernel != "flash", dropout > 0)


@pytest.mark.parametrize(
    ("pixels", "last", "groups", "layout"),
    [(304, 0, 1, "first"), (300, 0, 1, "firste"), (301, 0, 1, "firstu"), (304, 1, 1, "last"), (304, 1, 512, "first")],
)
def test_a_convolution_states_how_its_rows_of_pixels_are_aligned(pixels, last, groups, layout) -> None:
    """A depthwise convolution over one dimension copies channels last."""
    window = "stride=(1,), padding=(0,), dilation=(1,), transposed=False, output_padding=(0,), bias=None"
    image = f"V((4, 512, {pixels}), ({512 * pixels}, {'1, 512' if last else f'{pixels}, 1'}), 0)"
    taps = f"V((512, {512 // groups}, 1), ({512 // groups}, 1, 1), 0)"
    work = of_library(f"extern_kernels.convolution({image}, {taps}, {window}, groups={groups})")
    assert work.layout == layout and (work.num_bytes > 6 * work.elements) == (groups > 1)
    gpu, even = gpus.load("h200"), replace(work, layout="first")
    assert predict(gpu, work).us > 1.2 * predict(gpu, even).us or layout in ("first", "last")


def test_a_kernel_over_three_dimensions_moves_what_all_of_them_reach() -> None:
    works = [item.call.workload for item in measured_calls(zoo("mamba")) if item.call.type == "triton_pointwise"]
    assert works and all(work.num_bytes >= work.elements for work in works)


def test_a_kind_is_held_against_times_and_errors_of_all_others(capsys: pytest.CaptureFixture[str]) -> None:
    """Twelve kinds, one three times as slow as the formula, and one with a function that no other has."""
    works = [Workload(family="pointwise", num_bytes=10**size, elements=10**size, outer=1) for size in (4, 5, 6, 7)]
    times = times_of("pointwise", FORMULAS["pointwise"][1], works, 132)
    seen = [
        fitting.Observation(f"p{kind}", work, us * (3 if kind == 5 else 1 + kind / 200), f"k{kind}")
        for kind in range(12)
        for work, us in zip(works, times, strict=True)
    ]
    sorts = [Workload(family="other", variant=f"aten.f{at}.default", num_bytes=10**6) for at in range(12)]
    seen += [fitting.Observation(f"p{at}", work, 9.0, f"k{at}") for at, work in enumerate(sorts)]
    groups = fitting.groups_of(seen)
    parameters = fitting.fit_all(groups, 132, start={})
    fit_prediction.print_left_out(groups, parameters, fit_prediction.left_out(groups, 132, parameters), 132)
    *_, kinds, of_zoo, _, functions = capsys.readouterr().out.splitlines()
    assert kinds.startswith("| further kinds | 12 | 92%") and of_zoo.startswith("| kinds of the zoo | 0 |")
    assert " of 12 in the interval" in functions


@pytest.mark.parametrize(
    ("m", "layout", "factor"), [(1000, "nn", 1), (66, "nn", 2), (2**18, "nn", None), (64, "tt", None)]
)
def test_a_call_is_corrected_as_calls_like_it_took(m: int, layout: str, factor: float | None) -> None:
    def product(m: int, n: int = 64, k: int = 64) -> Workload:
        return replace(GEMM, m=m, n=n, k=k, elements=m * n, flops=2 * m * n * k, layout="nn")

    works = [product(m, n, k) for m in (64, 1024) for n in (64, 4096) for k in (64, 4096)]
    seen = [fitting.Observation("p", work, 2.0 if work.m == 64 else 1.0, "k") for work in works]
    group, asked = fitting.groups_of(seen)["gemm"], [replace(product(m), layout=layout)]
    (found,), (distance,) = corrected(fitting.corrections_of(group, np.ones(8)), asked, Works(asked))
    assert found == pytest.approx(factor or 1, rel=0.2) and math.isinf(stretch_of(distance)) == (factor is None)
    assert (distance < 1) == (m in (66, 1000)), "the nearest measured one has 64 or 1024 rows"


def test_a_call_outside_what_was_measured_has_a_wider_interval_and_says_so() -> None:
    gpu = gpus.load("h200")
    work = next(i.call.workload for i in measured_calls(zoo("gpt2")) if family_of(i.call.workload) == "gemm")
    found = [predict(gpu, replace(work, m=work.m * times)) for times in (1, 32, 2**20)]
    said = [one.basis.rpartition(" calls")[2] for one in found]
    assert said == ["", ", far from what was measured", ", outside what was measured"]
    widths = [one.high / one.low for one in found]
    assert widths[0] < widths[1] < widths[2], "the farther, the wider"
    rows = gpu.calibration.families["gemm"].corrections
    fewer = {traits: tuple(row.rpartition(" ")[0] for row in rows) for traits, rows in rows.items()}
    assert corrected(fewer, [work], Works([work]))[1] < 1, "files of earlier versions compare fewer sizes"


def test_an_index_is_read_to_its_own_bracket() -> None:
    body = "tmp0 = tl.load(in_ptr0 + (x0 + 64*((x1 % 4)) + 256*x2), xmask)\ntl.store(out_ptr0 + (x3), tmp0, None)"
    load, store = (found[:3] for found in accesses(body))
    assert load == ("load", "in_ptr0", "x0 + 64*((x1 % 4)) + 256*x2") and store == ("store", "out_ptr0", "x3")
    assert list(accesses("tl.load(p + (" + "(" * 2000)) == []


@pytest.mark.parametrize(
    ("index", "item", "size", "found"),
    [
        ("x0 + 64*x1", 4, 4096, (4096, 1024, 512)),  # four numbers a load, eight in each sector
        ("x0 + 64*x1", 2, 4096, (4096, 512, 256)),
        ("x0 + 66*x1", 4, 4096, (4096, 2048, 512)),  # rows begin at whole eight bytes
        ("x1 + 64*x0", 4, 4096, (4096, 4096, 4096)),  # a sector for each thread
        ("x1 + 64*x0", 4, 8, (4096, 4096, 128)),  # no more than the tensor has
        ("x1", 4, 64, (4096, 4096, 128)),  # the same for a warp
        ("x0 // 4 + 64*x1", 4, 4096, (4096, 4096, 128)),
        ("(x0 + 64*x1) // 2048", 4, 2, (4096, 4096, 128)),
        ("tmp1", 4, 4096, (4096, 4096, 4096)),  # looked up
        ("tmp2", 4, 4096, (4096, 4096, 128)),  # … the same place by 64 threads beside each other
        ("tl.broadcast_to(tmp1, [XBLOCK, R0_BLOCK])", 4, 4096, (131072, 131072, 4096)),  # … for each element of a row
        ("x0 + 64*tmp1", 4, 4096, (4096, 1024, 512)),  # … in rows
        ("x1 + 64*r0_2", 4, 2048, (131072, 131072, 4096)),  # along the index with the fewest
        ("x0 + 64*x1), tmp2, (x0", 4, 1024, (4096, 256, 128)),  # a mask leaves each place of a piece once
    ],
)
def test_warps_ask_for_whole_sectors(index: str, item: int, size: int, found: tuple[int, ...]) -> None:
    body = "    x0 = (xindex % 64)\n    x1 = xindex // 64\n    r0_2 = r0_index\n    tmp2 = tl.load(p + (x1), None)\n"
    body += f"    tmp1 = tl.load(in_ptr1 + (x0 + x1), None)\n    tl.load(in_ptr0 + ({index}), None)"
    *_, access = accesses_of(body, {"xnumel": 4096, "r0_numel": 32})
    assert requests_of(access, {"x": 4096, "r0_": 32}, item, size) == found


ROWS = """
    tmp0 = tl.load(in_ptr0 + (r0_1 + 128*x0), xmask, other=0.0)
    tmp1 = tl.load(in_ptr1 + (x0), xmask)
    tmp2 = tl_math.exp(tmp1)
    tmp3 = tmp0.to(tl.float32)
    tmp4 = tmp3 * tmp2
    tmp5 = tl.sum(tmp4, 1)[:, None]
    tmp6 = tmp5 + tmp2
    tmp7 = libdevice.erf(tmp4)
"""
COMBINE = "    m_next, s_next = triton_helpers.online_softmax_combine(\n        m, s, tmp0\n"
SORT = "    tmp1, tmp2, = triton_helpers.sort_with_index(tmp0, tmp9, None, 1, stable=False, descending=True)\n"


@pytest.mark.parametrize(
    ("body", "inner", "counts"),
    [
        (ROWS, 128, (2, 0, 1, 0, 1)),  # the product and erf; not what each row has one of
        (ROWS, 1, (5, 1, 1, 0, 1)),  # without rows each value is for an element
        (ROWS.replace("erf(", "sin("), 128, (2, 0, 0, 1, 1)),
        (ROWS.replace("libdevice.erf(", "tl.randn(tmp5, "), 128, (2, 0, 5, 0, 1)),  # of five functions' instructions
        (SORT, 128, (421, 0, 0, 0, 0)),  # 28 exchanges between threads
        (SORT, 8, (91, 0, 0, 0, 0)),
        (ROWS + COMBINE, 128, (17, 0, 1, 0, 1)),
        (ROWS + "    tl.device_assert(tmp4 < 8)\n", 128, (9, 0, 1, 0, 1)),
        (ROWS + "    tl.device_assert(tmp1 < 8)\n", 128, (2, 0, 1, 0, 1)),  # once a row
        (ROWS.replace("r0_1", "y1"), 1, (4, 0, 1, 0, 1)),  # a tile has one exp a row
    ],
)
def test_arithmetic_counts_values_of_elements_and_what_takes_many_statements(
    body: str, inner: int, counts: tuple
) -> None:
    assert tuple(operations(body, inner).values()) == counts


@pytest.mark.parametrize(
    ("name", "dtype", "index", "sectors", "crowded"),
    [
        ("fp32", "float32", "x0 + 16*tmp0", 512, 0.0),  # rows of 16 beside each other
        ("bf16", "bfloat16", "x1 + 16*tmp0", 1024, 1024.0),  # of two bytes are retried
        ("fp32", "float32", "tl.broadcast_to(x1 + 16*tmp0, [XBLOCK, R0_BLOCK])", 2048, 32.0),  # along each row
        ("fp32", "float32", "tmp0 + 32*x1", 512, 32.0),  # looked up along the last dimension
        ("fp32", "float32", "tmp0 + 32*x0", 2048, 32.0),  # … across it
    ],
)
def test_additions_wait_where_they_meet(name: str, dtype: str, index: str, sectors: int, crowded: float) -> None:
    text = KERNEL.replace("*TYPE", f"*{name}").replace("DTYPE", dtype).replace("(x0 + 16*tmp0)", f"({index})")
    if "R0_BLOCK" in index:
        text = text.replace("xnumel, XB", "xnumel, r0_numel, XB").replace("= 4096\n", "= 64\n    r0_numel = 64\n")
    work = output_code.kernel_calls(output_code.parse(text), "g")[0].workload
    assert (work.atomics, work.crowded) == (sectors, crowded)
    times = [predict(gpus.load("h200"), replace(work, crowded=value)).us for value in (0.0, 32.0)]
    assert times[1] > times[0] + 1


def test_loads_beside_each_other_ask_for_sectors_once() -> None:
    text, plain = KERNEL.replace("*TYPE", "*fp32").replace("DTYPE", "float32"), "in_ptr1 + (x2), None"
    texts = [text, text.replace(plain, f"{plain})\n    tl.load(in_ptr1 + (4 + x2), None")]
    one, shifted = (output_code.kernel_calls(output_code.parse(each), "g")[0].workload for each in texts)
    assert shifted.sectors == one.sectors


def test_a_reduction_is_strided_where_its_rows_lie_apart() -> None:
    sizes = "xnumel = 64\n    r0_numel = 64\n    r0_1 = r0_index\n"
    text = KERNEL.replace("*TYPE", "*fp32").replace("DTYPE", "float32").replace("xnumel = 4096\n", sizes)
    text = text.replace("xnumel, XB", "xnumel, r0_numel, XB")
    for index, strided in (("r0_1 + 64*x2", 0), ("2*r0_1 + 128*x2", 0), ("x2 + 64*r0_1", 1), ("x2", 0)):
        code = output_code.parse(text.replace("in_ptr1 + (x2)", f"in_ptr1 + ({index})"))
        assert output_code.kernel_calls(code, "g")[0].workload.strided == strided


def test_a_function_with_a_number_for_each_column_has_a_fit_of_its_own() -> None:
    rows = Workload(family="other", variant="torch.ops.aten._weight_norm_interface_backward.default", outer=16384)
    families = {family_of(rows), family_of(replace(rows, strided=True))}
    assert families <= gpus.load("h200").calibration.families.keys() and len(families) == 2


def test_flex_attention_and_the_gradients_of_grouped_products_and_look_ups_have_times() -> None:
    text = (OUTPUT_CODE / "attention.txt").read_text()
    code = output_code.parse(text)
    flex, grouped, bags, lists = (call.workload for call in output_code.kernel_calls(code, "g"))
    assert (flex.family, flex.variant, flex.batch, flex.m, flex.n, flex.k) == ("attention", "flex", 16, 1024, 512, 64)
    assert (grouped.variant, grouped.batch, grouped.m, grouped.n, grouped.k) == ("grouped", 8, 1024, 512, 256)
    symbolic = output_code.parse(text.replace("Q_LEN = 1024", "Q_LEN = ks0"))
    assert output_code.kernel_calls(symbolic, "g")[0].workload is None
    assert (bags.num_bytes, bags.outer, bags.loops) == (64 * (2 * 5000 + 4 * 500) + 8 * 5000, 5000, 1), "rows looked up"
    assert lists.num_bytes == 2 * 2 * 8 * 1024 * 64 + 4 * 8, "an argument may be a list"
    for work in (flex, grouped, bags):
        assert "model of the h200" in predict(gpus.load("h200"), work).basis
