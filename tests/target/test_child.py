"""A plan is a recording like any other; what cannot be planned is one line; the caller's process stays as it was."""

import json
import re
from pathlib import Path

import pytest
import torch
from torch import nn

import fxscope
from fxscope import gpus
from fxscope._torch.target import child, simulate
from fxscope.analysis.report import report
from fxscope.errors import CaptureError, FxscopeError
from fxscope.model import PARTIAL
from fxscope.passes import verify
from fxscope.readers import output_code
from tests.processes import printed, run_python
from tests.target import factories

FACTORIES = Path(__file__).with_name("factories.py")
PROGRAMS = Path(__file__).parents[1] / "data" / "programs" / "planned.py"


def plan(factory: str, target: str = "h200", **options):
    return child.record(f"{FACTORIES}:{factory}", target=target, **options)


def forked(factory: str, target: str = "h200", **options):
    """Plan a model of this process, which has torch already; one of `PROGRAMS` is made in the copy."""
    if not hasattr(factories, factory):
        return child.record(f"{PROGRAMS}:{factory}", target=target, **options)
    model, inputs = getattr(factories, factory)()
    return child.record(model, *inputs, target=target, **options)


@pytest.mark.slow
def test_geglu_is_planned_like_the_real_one(geglu) -> None:
    recording, lines = geglu
    verify(recording)
    assert recording.environment.target == "h200"
    assert recording.launches == ()
    assert [(call.kernel, call.type) for call in recording.calls] == [
        ("extern_kernels.mm", "extern"),
        ("extern_kernels.mm", "extern"),
        ("triton_poi_fused__unsafe_view_gelu_mul_0", "triton_pointwise"),
        ("extern_kernels.mm", "extern"),
    ]
    fused = recording.calls[2]
    assert (fused.bytes_read, fused.bytes_written) == (2 * 50331648, 50331648)
    assert fused.handle == "triton_poi_fused__unsafe_view_gelu_mul_0:3"
    assert {"tanh", "mul_6"} <= set(fused.nodes)
    assert recording.calls[0].flops == 2 * 8192 * 768 * 3072
    assert {graph.stage for graph in recording.graphs} >= {"pre_grad", "forward", "post_grad"}
    assert {"provenance", "attribute", "classify", "fusion", "cost"} <= set(recording.history)
    assert recording.assumptions == recording.problems == ()
    assert lines[0] == "starting a process for the plan"
    assert "tracing for NVIDIA H200" in lines
    assert any(line.startswith("writing the kernels of graph") for line in lines)


@pytest.mark.slow
def test_every_call_has_a_predicted_time_near_the_real_one(geglu) -> None:
    recording, _ = geglu
    real = fxscope.load(Path(fxscope.__file__).parent / "data" / "h200" / "mlp_compiled.fxscope")
    for call, measured in zip(recording.calls, real.calls, strict=True):
        assert call.estimated_us == pytest.approx(measured.timing.mean_us, rel=0.3)
        assert call.estimated_range_us[0] < call.estimated_us < call.estimated_range_us[1]
        assert "h200" in call.estimated_basis
    assert recording.predicted.num_calls == len(recording.calls)


@pytest.mark.slow
def test_other_gpu_other_code() -> None:
    recording = plan("small", "a100")
    assert any("cc=80" in source.text for source in recording.sources if source.kind == "output_code")
    assert [call.type for call in recording.calls] == ["extern", "triton_pointwise"]
    assert recording.title == "small"


@pytest.mark.slow
def test_factory_that_asks_for_cuda() -> None:
    recording = plan("asks_for_cuda")
    assert [call.type for call in recording.calls] == ["extern", "triton_pointwise"]
    assert any(a.subject == "model" and "CUDA device" in a.because for a in recording.assumptions)
    assert any(output.dtype == "bfloat16" for node in recording.graphs[0].nodes for output in node.outputs)


@pytest.mark.slow
def test_autocast_in_training_casts_what_the_forward_alone_casts() -> None:
    """The forward's autocast is CUDA's own; the one of a training is ours. Both write the same kernels."""
    alone, trained = forked("autocast"), forked("autocast", backward=True)
    assert [call.kernel for call in trained.calls if call.graph.startswith("0/0:forward")] == [
        call.kernel for call in alone.calls
    ]
    assert "autocast" in {a.subject for a in trained.assumptions}


def test_each_module_keeps_its_own_mode() -> None:
    """A wrapper in training mode does not put dropout into a model in evaluation mode, nor the other way round."""

    def drawn(factory: str) -> bool:
        return any("randint" in call.kernel for call in forked(factory).calls)  # the seeds of the draws

    assert not drawn("evaluated_inside_of_training")
    assert drawn("training_inside_of_evaluated")


@pytest.mark.parametrize(
    ("factory", "subject", "assumed"),
    [
        ("checks_its_input", "branch", "is false (factories.py:"),
        ("number_of_the_data", "number", "is 0.73 (planned.py:"),
        ("rows_by_mask", "size", "(8, 1) (planned.py:"),  # as many as there can be
    ],
)
def test_what_only_data_decides_is_assumed_and_said(factory: str, subject: str, assumed: str) -> None:
    recording = forked(factory)
    assert assumed in {item.subject: item.assumed for item in recording.assumptions}[subject]
    assert len({call.graph for call in recording.calls}) == 2  # the graph breaks there, as it does on the device
    assert not recording.problems


def test_a_plan_ends_where_an_integer_is_asked_of_the_data() -> None:
    recording = forked("size_of_the_data")
    (problem,) = recording.problems
    assert (problem.where, recording.predicted) == (PARTIAL, None)
    assert "at aten._local_scalar_dense.default (planned.py:" in problem.message
    assert recording.calls and report(recording).step.is_lower_bound


def test_values_of_integers_that_the_program_was_given() -> None:
    """Sizes that only lengths and masks can tell are theirs: as on the device, whatever stands in the tensors."""
    recording = forked("longest")
    (value,) = (a for a in recording.assumptions if a.subject == "value")
    assert value.assumed.startswith("5 (planned.py:")
    assert any(output.shape == (2, 5) for graph in recording.graphs for node in graph.nodes for output in node.outputs)
    recording = forked("without_loops")
    assert any(access.shape == (2, 2) for call in recording.calls for access in call.reads)  # two of four edges
    assert not recording.problems
    recording = forked("counted")
    (size,) = (a for a in recording.assumptions if a.subject == "size")
    assert size.assumed.startswith("4 counts (planned.py:")
    written = [access.shape for call in recording.calls for access in call.writes]
    assert {(3,), (4,), (4, 6)} <= {*written}  # the chosen of three rows, doubled counts, a row for each id


def test_dropout_in_place_keeps_its_dtype() -> None:
    recording = forked("dropout_in_place", backward=True)
    (drawn,) = (call for call in recording.calls if "bernoulli" in call.kernel)
    assert {access.dtype for access in drawn.writes} == {"bool", "bfloat16"}


def test_a_dropout_of_none_copies_as_on_the_device() -> None:
    """torch's own rule for both (`dropout` in torch/_decomp/decompositions.py): a draw, or a copy; since 2.14 the input."""
    recording = forked("drops_nothing", backward=True)
    assert any("randint" in call.kernel for call in recording.calls)
    (head,) = (
        call for call in recording.calls if call.kernel == "extern_kernels.addmm" and (8, 16) in shapes(call.writes)
    )
    dense = [access.stride for access in head.reads if access.shape == (8, 64)]
    assert dense == ([(64, 1)] if torch.__version__ < "2.14" else [])  # 2.14 reads a view of rows


def shapes(accesses) -> list:
    return [access.shape for access in accesses]


@pytest.mark.slow
def test_backwards_come_in_the_order_in_which_they_run(tmp_path: Path) -> None:
    target = gpus.load("h200")
    with simulate.planning(target) as planned:
        simulate.compile_for_target(factories.TwoGraphs(), (torch.randn(8, 64),), planned, train=True)
    written = [
        {access.shape for call in output_code.parse(code).calls for access in call.writes} for code in planned.codes
    ]
    assert [(8, 32) in written[0], (8, 16) in written[1]] == [True, True]
    assert [(16, 32) in written[2], (32, 64) in written[3]] == [True, True]  # the second graph's weights come first


@pytest.mark.parametrize(
    ("factory", "graphs", "kernel"),
    [
        ("function_of_parameters", "0/0:forward", "triton_poi_fused_gelu_0"),  # without gradients `addmm_gelu`
        pytest.param("jacobian_of_parameters", "0/0:forward", "gelu_backward", marks=pytest.mark.slow),
        pytest.param(
            "part_of_a_training",
            "0/0:forward 1/0:forward 1/0:backward 0/0:backward 2/0:forward",
            "fused_gelu_0",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_function_has_gradients_and_the_backwards_that_run(factory: str, graphs: str, kernel: str) -> None:
    recording = forked(factory)
    assert list(dict.fromkeys(call.graph.removesuffix(":post_grad") for call in recording.calls)) == graphs.split()
    assert any(kernel in call.kernel for call in recording.calls)
    assert {item.runs for item in recording.compiles} <= {None, 1}


@pytest.mark.slow
def test_a_backward_may_be_replayed_where_its_forward_is_not() -> None:
    first = forked("training_that_counts", compile={"mode": "reduce-overhead"}).compiles[0]
    assert "mutated inputs" in (first.cudagraph_skip or "") and first.cudagraph_rerecords == 0


@pytest.mark.slow
def test_a_backward_reads_what_the_forward_left_in_its_layout() -> None:
    recording = forked("convolutions", backward=True)
    backward = [call for call in recording.calls if "aten.convolution_backward" in call.kernel]
    assert len(backward) == 3
    saved = [access for call in backward for access in call.reads if not access.buffer.startswith("buf")]
    assert len(saved) >= 3
    assert {access.stride[1] for access in saved} == {1}  # channels last


@pytest.mark.parametrize("backward", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_constants_that_a_program_makes_on_the_device(*, backward: bool) -> None:
    recording = forked("constant_on_the_device", backward=backward)
    forward = [call for call in recording.calls if ":backward" not in call.graph]
    assert [call.type for call in forward] == ["extern", "triton_pointwise"]  # no copy
    assert re.findall("lift_fresh|full", forward[1].kernel) == ["lift_fresh"]  # of `torch.tensor`, as on the device
    assert {access.shape for access in forward[1].reads} >= {(8, 64), (64,)}


@pytest.mark.parametrize(
    ("factory", "backward", "names"),
    [
        ("list_index", False, ["triton_poi_fused_index_lift_fresh_mul_0"]),
        ("constant_as_tensor", False, ["triton_poi_fused_lift_fresh_mul_0"]),
        ("constant_as_tensor", True, ["triton_poi_fused_lift_fresh_mul_0"] * 2),
    ],
)
def test_kernels_are_named_after_constants_as_on_an_h100(factory: str, backward: bool, names: list[str]) -> None:
    """A backward makes the constant again instead of saving it."""
    assert [call.kernel for call in forked(factory, backward=backward).calls] == names


def test_a_constant_that_a_program_copies_to_the_device_is_saved_for_the_backward() -> None:
    recording = forked("constant_from_the_cpu", backward=True)
    backward = [call.kernel for call in recording.calls if ":backward" in call.graph]
    assert backward and not any("lift_fresh" in name for name in backward)


def test_tensors_that_a_function_has_from_around_it_are_on_the_device() -> None:
    model, scale = nn.Linear(64, 64), torch.randn(64)
    parameters = {"weights": [*model.parameters()]}

    def linear(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, *parameters["weights"]) * scale

    recording = child.record(lambda y: linear(y).relu(), torch.randn(8, 64), target="a100")
    assert [call.type for call in recording.calls] == ["extern", "triton_pointwise"]
    assert linear(torch.randn(8, 64)).isfinite().all()  # they are fake in the copy only


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_lambda_is_planned_after_cuda_was_used() -> None:
    model = nn.Linear(64, 64, device="cuda")
    x = torch.randn(8, 64, device="cuda")
    model(x)
    recording = child.record(lambda y: model(y).relu(), x, target="a100")
    assert recording.environment.target == "a100"
    assert [call.type for call in recording.calls][-1] == "triton_pointwise"
    assert model(x).isfinite().all()  # the caller's CUDA still works


@pytest.mark.slow
def test_rms_norm_stays_whole_in_both_directions() -> None:
    x = torch.randn(8, 64, requires_grad=True)
    kernels = [call.kernel for call in child.record(nn.RMSNorm(64), x, target="h200", backward=True).calls]
    assert "_fused_rms_norm" in kernels[0] and "_fused_rms_norm_backward" in " ".join(kernels[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "options", "words"),
    [
        ("other_device", {}, ["at einsum (factories.py:", "cuda:0", "cpu"]),
        ("gradient_without_grad", {}, ["at torch.autograd (factories.py:", "does not require grad"]),
        ("aborts", {}, ["SIGABRT", "fxscope_tests.aborts", "tracing for NVIDIA H200"]),
        ("unsupported", {}, ["fxscope_tests.unsupported", "no fake impl"]),
        ("sparse", {}, ["sparse_coo", "make it dense"]),
        ("sparse_product", {}, ["aten._sparse_addmm", "must be dense", "(factories.py:"]),
        ("sparse_from_indices", {}, ["aten.mm.default", "(factories.py:", "must be dense"]),
        ("sparse_gradient", {"backward": True}, ["at aten._sparse_coo_tensor", "make them dense"]),
        ("nested", {}, ["a nested tensor cannot be planned", "jagged"]),
        ("jagged_without_lengths", {}, ["for NVIDIA H200: torch cannot guard its sizes", "max_seqlen"]),
        ("masked_tensor", {}, ["a MaskedTensor cannot be planned", "Give the tensors in it"]),
        (
            "scanned",
            {},
            ["at scan (factories.py:", "depends on the data", "_dynamo.config.capture_scalar_outputs = True"],
        ),
        ("generated", {}, ["at factories.py:", "torch.Generator(", "CUDA generator"]),
        ("optimizer_with_closure", {}, ["the step of LBFGS cannot be planned: its first step", "without it"]),
        ("distributed", {}, ["a DataParallel exchanges data", "plan the module without it"]),
        ("nothing_to_compile", {}, ["nothing was compiled"]),
        ("small", {"compile": {"options": {"benchmark_combo_kernel": True}}}, ["benchmark_combo_kernel", "benchmarks"]),
        ("small", {"compile": {"backend": "eager"}}, ["backend='eager'"]),
        ("small", {"compile": {"options": {"no_such_switch": 1}}}, ["no_such_switch"]),
        ("small", {"timeout_s": 0.01}, ["after 0.01 s"]),
    ],
)
def test_what_cannot_be_planned_is_one_line(factory: str, options: dict, words: list[str]) -> None:
    with pytest.raises(CaptureError) as caught:
        forked(factory, **options)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


@pytest.mark.slow
def test_factory_that_raises_or_takes_too_long() -> None:
    with pytest.raises(CaptureError, match="raises raised ValueError: no weights here"):
        plan("raises")
    with pytest.raises(CaptureError, match="no plan for NVIDIA H200 after 40 s while building the model"):
        plan("sleeps", timeout_s=40)  # importing torch takes a loaded machine half a minute


@pytest.mark.parametrize(
    ("target", "factory", "words"),
    [
        ("v100", f"{FACTORIES}:small", ["v100", "a100, b200"]),
        ("l4", f"{FACTORIES}:small", ["rates only", "a100, h100, h200"]),
        ("h200", "nowhere.py:small", ["cannot read nowhere.py: No such file"]),
        ("h200", "nonsense", ["write FILE.py:FACTORY"]),
    ],
)
def test_bad_requests_are_one_line(target: str, factory: str, words: list[str]) -> None:
    with pytest.raises(FxscopeError) as caught:
        child.record(factory, target=target)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.slow
def test_caller_is_left_alone() -> None:
    model, x = nn.Sequential(nn.Linear(16, 16), nn.ReLU()), torch.randn(4, 16)
    before = [parameter.clone() for parameter in model.parameters()]
    is_available = torch.cuda.is_available
    recording = child.record(model, x, target="h200")
    assert [call.type for call in recording.calls] == ["extern", "triton_pointwise"]
    assert recording.title == "Sequential"
    assert torch.cuda.is_available is is_available
    assert all(torch.equal(a, b) and b.device.type == "cpu" for a, b in zip(before, model.parameters(), strict=True))
    assert torch.equal(model(x), model(x))


def test_lambda_is_planned_in_a_copy_of_the_process() -> None:
    factor = torch.full((16,), 2.0)
    recording = child.record(lambda x, *, shift: (x + shift).relu(), factor, kwargs={"shift": 3}, target="h200")
    assert [call.kernel for call in recording.calls] == ["triton_poi_fused_add_relu_0"]
    assert torch.equal(factor, torch.full((16,), 2.0))


@pytest.mark.slow
def test_model_of_the_running_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, fxscope\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x): return torch.sin(x) + 1\n"
        "torch.randn(300, 300) @ torch.randn(300, 300)\n"
        "print([call.kernel for call in fxscope.record(Net(), torch.randn(8), target='h200').calls])\n"
    )
    done = run_python(script)
    assert done.stdout == "['triton_poi_fused_add_sin_0']\n", done.stderr[-500:]


def test_backward_has_both_directions() -> None:
    model, inputs = factories.small()
    recording = child.record(model, *inputs, target="h200", backward=True)
    directions = {graph.direction for graph in recording.graphs if graph.stage == "post_grad"}
    assert directions == {"forward", "backward"}
    assert any(assumption.subject == "training" for assumption in recording.assumptions)
    assert any(graph.stage == "joint" for graph in recording.graphs)
    nodes = next(graph for graph in recording.graphs if graph.id.endswith("backward:post_grad")).nodes
    assert {node.source.module for node in nodes if "mm" in node.target and node.source} == {"proj"}
    assert len({node.sequence_number for node in nodes if node.op == "call_function"}) > 1  # those of the forward


@pytest.mark.slow
def test_command_line(tmp_path: Path) -> None:
    words = ["-m", "fxscope", "run", f"{FACTORIES}:small", "--target", "h200"]
    assert json.loads(printed(*words, "--format", "json"))["environment"]["target"] == "h200"
    done = run_python(*words, "--set", "triton.multi_kernel=1")
    assert done.returncode == 2
    assert done.stderr.startswith("fxscope run: triton.multi_kernel needs benchmarks")


@pytest.mark.slow
def test_step_of_an_optimizer_is_kernels_over_several_parameters() -> None:
    recording = forked("optimizer_step")
    assert {call.type for call in recording.calls} == {"triton_foreach"}
    assert "every parameter" in {item.subject: item.assumed for item in recording.assumptions}["gradients"]
    assert {access.shape for call in recording.calls for access in call.reads} >= {(64, 64), (64,)}


def test_a_torch_without_what_plans_need_is_told_from_a_mistake_of_the_users() -> None:
    for file, said in ((child.__file__, "plans need torch 2.11 or newer. Missing"), ("model.py", "at model.py:2: ")):
        with pytest.raises(AttributeError) as error:
            exec(compile("import torch\ntorch._C.no_such_name", file, "exec"))
        assert child.explain(error.value, "H200").startswith(f"no plan for H200: {said}")


def test_a_graph_that_two_modules_share_runs_twice() -> None:
    recording = forked("shared_graph")
    (block,) = [item for item in recording.compiles if item.runs]
    assert block.runs == 2
    total = sum(call.estimated_us for call in recording.calls)
    assert recording.predicted.device_us == pytest.approx(2 * total)
    assert recording.predicted.num_calls == 2 * len(recording.calls)


@pytest.mark.parametrize(
    ("factory", "kernel"), [("eigenvalues", "_linalg_eigh"), ("third_smallest", "kthvalue"), ("distances", "_pdist")]
)
def test_an_op_without_a_shape_rule_is_planned_by_the_cpus_shapes(factory: str, kernel: str) -> None:
    recording = forked(factory)
    assert any(kernel in call.kernel and call.type == "fallback" for call in recording.calls)
    assert recording.calls[-1].nodes and recording.calls[-1].is_generated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "options", "kernels"),
    [
        ("while_loop", {}, "_lt_ mul_sin"),  # its condition and its body
        ("flex_attention", {"backward": True}, "triton_tem_fused_flex_attention_permute flex_attention_backward"),
        ("sum_of_products", {"compile": {"options": {"max_autotune_gemm": True}}}, "_mm_plus_mm"),
        ("adagrad", {}, "triton_for_fused"),
        ("scanned", {"compile": {"fullgraph": True}}, "triton_poi_fused"),
        ("data_dependent", {"compile": {"fullgraph": True}}, "nonzero"),
        ("empty_cache", {}, "triton_poi_fused"),  # a tensor that is made while the model runs
        ("sampled", {}, "aten.cudnn_grid_sampler."),  # a CPU build of torch does not choose cuDNN
        ("sampled", {"backward": True}, "aten.cudnn_grid_sampler_backward."),
        ("jagged", {}, "_efficient_attention_forward"),
        ("jagged_half", {"backward": True}, "_flash_attention_backward"),
        ("gru_cell", {}, "_thnn_fused_gru_cell"),
        ("evaluation", {}, "triton_poi_fused_addmm_mul_relu"),  # a model and a factor that objects and globals hold
        ("layer_of_a_closure", {}, "triton_poi_fused_addmm_relu"),
        ("training_step", {}, "triton_for_fused"),  # all parameters together
        ("two_tensors", {}, "triton_poi_fused_mul_relu_0"),
        ("parallel", {}, "extern_kernels.addmm"),
        ("hessian", {}, "triton_poi_fused"),  # autograd is asked while the program is traced
        ("forces", {}, "triton_poi_fused_expand_mul_pow"),  # and between two graphs
        ("gradient_of_a_function", {}, "triton_poi_fused_expand_mul_pow"),
    ],
)
def test_what_inductor_lowers_without_tensors_is_planned(factory: str, options: dict, kernels: str) -> None:
    recording = forked(factory, **options)
    assert all(any(kernel in call.kernel for call in recording.calls) for kernel in kernels.split()), recording.calls
    assert all(call.estimated_us and call.estimated_us > 0 for call in recording.calls if call.device != "cpu")
