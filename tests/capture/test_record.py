"""`fxscope.record`: the whole way from a program to a recording, and that the program is left as it was."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import fxscope
from fxscope._torch import hooks
from fxscope.errors import CaptureError, NothingCapturedError
from tests.capture.programs import Breaks, GeGLU, Raises, Tied, moves
from tests.compiler import functions

BREAKS = functions("breaks.txt")


@pytest.fixture(scope="module")
def eager():
    torch.manual_seed(0)
    return fxscope.record(GeGLU(), torch.randn(4, 8), steps=2)


@pytest.fixture(scope="module")
def compiled():
    torch.manual_seed(0)
    return fxscope.record(GeGLU(), torch.randn(4, 8), compile=True, steps=2)


def test_the_eager_chain_has_times_lines_and_storage(eager) -> None:
    graph = eager.graph("eager")
    nodes = {node.name: node for node in graph.nodes}
    chain = [nodes["mm"].parent, nodes[nodes["mm"].parent].parent]
    assert [nodes[name].target for name in chain] == ["aten::matmul", "aten::linear"]
    assert nodes["mm"].inputs == ("x", "t") and nodes["t"].aliases == ("gate_proj_weight",)
    assert nodes["t"].kind == "view" and nodes["mm"].kind == "kernel"
    assert nodes["mm"].source.module == "gate_proj"
    assert nodes["gelu"].source.code == 'gate = functional.gelu(self.gate_proj(x), approximate="tanh")'
    assert {nodes[name].timing.count for name in ("mm", "gelu", "mul")} == {2}
    assert eager.problems == ()


def test_each_step_of_an_eager_run_is_attributed(eager) -> None:
    assert [step.index for step in eager.steps] == [0, 1]
    per_step = [[launch.name for launch in eager.launches if launch.step == step] for step in (0, 1)]
    assert per_step[0] == per_step[1] == ["aten::mm", "aten::gelu", "aten::mm", "aten::mul", "aten::mm"]
    assert eager.coverage.device_events == eager.coverage.to_op == eager.coverage.to_node == 10
    assert eager.coverage.unattributed == 0
    tied = [op for op in eager.ops if op.category == "cpu_op"]
    assert tied and all(op.graph == "eager" and op.node is not None for op in tied)


def test_a_compiled_run_is_attributed_to_calls_and_nodes(compiled) -> None:
    assert compiled.coverage.device_events == compiled.coverage.to_call == compiled.coverage.to_node == 8
    calls = {call.id: call for call in compiled.calls}
    launched = [calls[launch.call].kernel for launch in compiled.launches if launch.step == 0]
    assert [name.startswith("cpp_fused") for name in launched] == [False, False, True, False]
    fused = next(call for call in compiled.calls if call.type == "cpp")
    assert fused.timing.count == 2 and fused.timing.mean_us > 0
    post_grad = compiled.graph(fused.graph)
    kinds = {node.name: node.kind for node in post_grad.nodes}
    assert {kinds[name] for name in fused.nodes} == {"fused"}
    folded = [node for node in post_grad.nodes if node.kind == "folded"]
    assert [node.target for node in folded] == ["aten.permute.default"] * 3
    assert compiled.problems == ()


def test_a_recording_survives_the_disk(compiled, tmp_path) -> None:
    path = compiled.save(tmp_path / "mlp.fxscope")
    assert fxscope.load(path).to_json() == compiled.to_json()


@pytest.mark.slow
def test_training_is_attributed_in_both_directions() -> None:
    recording = fxscope.record(GeGLU(), torch.randn(4, 8), compile=True, backward=True, steps=1)
    ran = {launch.call for launch in recording.launches if launch.call}
    assert ran == {call.id for call in recording.calls}
    assert {call.split(":")[1] for call in ran} == {"forward", "backward"}


def test_a_function_that_compiles_in_each_step_shows_its_own_work_only() -> None:
    linear = torch.nn.Linear(8, 4)

    def program(x):
        torch._dynamo.reset()
        with torch.no_grad():
            return torch.compile(linear)(x)

    recording = fxscope.record(program, torch.randn(2, 8), steps=2, warmup=0)
    per_step = [[launch.name for launch in recording.launches if launch.step == step] for step in (0, 1)]
    assert per_step[0] == per_step[1] and sorted(per_step[0]) == ["aten::addmm"]


def test_graph_breaks_give_two_compiles() -> None:
    recording = fxscope.record(Breaks(), torch.randn(2, 8), compile=True, steps=1)
    assert len(recording.compiles) == 2 and recording.compiles[0].break_reason
    assert recording.coverage.to_call == recording.coverage.device_events


def test_views_are_decided_by_what_happened() -> None:
    recording = fxscope.record(moves, torch.randn(8, 8), steps=1)
    nodes = [node for node in recording.graph("eager").nodes if node.parent is None and node.op == "dispatch"]
    kinds = [(node.target, node.kind) for node in nodes]
    assert kinds == [
        ("aten::reshape", "view"),
        ("aten::transpose", "view"),
        ("aten::reshape", "kernel"),
        ("aten::contiguous", "kernel"),  # the other contiguous() had nothing to do and called nothing
        ("aten::add_", "kernel"),
        ("aten::flatten", "view"),
        ("aten::add", "kernel"),
    ]


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_models_own_error_comes_through(compile, error) -> None:
    with pytest.raises(error, match="the model's own error"):
        fxscope.record(Raises(error), torch.randn(2, 8), compile=compile)
    assert hooks.active() == ()
    fxscope.record(lambda x: x + 1, torch.ones(2), steps=1)  # and the next recording works


@pytest.mark.parametrize(("number", "error"), [(2, KeyError), (4, StopIteration), (86, torch.OutOfMemoryError)])
def test_what_a_function_raises_after_its_first_call_is_a_problem(number, error) -> None:
    calls: list[None] = []  # to warm up, to be timed, in the profiler

    def program(x: torch.Tensor) -> torch.Tensor:
        calls.append(None)
        if len(calls) == number:
            raise error
        return x + 1

    recording = fxscope.record(program, torch.ones(2))
    (problem,) = recording.problems
    assert f"raised {error.__name__}" in problem.message and problem.where == "calls of the function"
    assert calls == list(hooks.active()) == [] and "aten::add" in {op.name for op in recording.ops}


def test_shapes_are_dynamic_where_that_is_asked_for_and_not_because_of_earlier_recordings() -> None:
    model = torch.nn.Linear(8, 4)
    shapes = []
    for batch, compile in ((2, True), (3, True), (5, {"dynamic": True})):
        recording = fxscope.record(model, torch.randn(batch, 8), compile=compile, steps=1, warmup=0)
        post_grad = next(graph for graph in recording.graphs if graph.stage == "post_grad")
        addmm = next(node for node in post_grad.nodes if node.target == "aten.addmm.default")
        shapes.append(addmm.outputs[0].shape)
        assert recording.coverage.to_call == recording.coverage.device_events > 0
    assert shapes[:2] == [(2, 4), (3, 4)] and isinstance(shapes[2][0], str)


def test_tied_weights_are_one_input() -> None:
    graph = fxscope.record(Tied(), torch.tensor([1, 2]), steps=1).graph("eager")
    inputs = [node.target for node in graph.nodes if node.op == "placeholder"]
    assert sorted(inputs) == ["embedding.weight", "tokens"]


def test_the_users_own_compiled_function_is_still_compiled_for_the_user() -> None:
    function = torch.compile(lambda x: x.sin() + 1)
    x = torch.ones(3)
    expected = function(x)
    with fxscope.record() as recorder:
        torch.compile(torch.cos)(function(x))
    for recording in (fxscope.record(function, x, steps=1), recorder.recording):
        messages = [item.message for item in recording.problems if "compiled before the recording" in item.message]
        assert len(messages) == 1 and ": <lambda> (test_record.py:" in messages[0]
    assert torch.equal(function(x), expected)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3,), {}, "needs a module or a function first, not int"),
        ((torch.sin, torch.ones(2)), {"compile": "quick"}, "no mode 'quick'. Choose one of default"),
        ((torch.sin, torch.ones(2)), {"compile": {"speed": 1}}, "no option 'speed'"),
        ((torch.sin, torch.ones(2)), {"compile": {"options": {"epilogue_fuson": 1}}}, "Did you mean epilogue_fusion"),
        ((torch.sin, torch.ones(2)), {"steps": 0}, "steps must be at least 1"),
        ((torch.sin, torch.ones(2)), {"backward": True}, "no output needs a gradient"),
        ((None, torch.ones(2)), {}, "without a model is a context manager"),
    ],
)
def test_arguments_that_make_no_sense(arguments, options, message) -> None:
    with pytest.raises(CaptureError, match=message):
        fxscope.record(*arguments, **options)


@pytest.mark.parametrize(
    ("program", "inputs", "compile", "words"),
    [
        (lambda: 3, (), False, "no op was captured: does it call PyTorch in this process"),
        (lambda: ThreadPoolExecutor(1).submit(torch.ones, 3).result(), (), False, "Not recorded: any ops in 1 thread"),
        (lambda: 3, (), {"backend": "eager"}, "Dynamo met no op"),
        (torch.jit.trace(torch.nn.ReLU(), torch.ones(4)), (torch.ones(4),), {"backend": "eager"}, "compiled no frame"),
        (lambda: (yield), (), {"backend": "eager"}, "Generators"),
        (BREAKS["in_a_loop"][0], (torch.ones(4),), {"backend": "eager"}, r"operator `print`.* \(breaks.txt:\d"),
    ],
)
def test_nothing_captured_is_an_error_of_its_own(program, inputs, compile, words) -> None:
    with pytest.raises(NothingCapturedError, match=words) as caught:
        fxscope.record(program, *inputs, compile=compile)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("running", "words"),
    [
        (lambda: fxscope.record(title="outer"), r"\(outer\) is already running"),
        (torch.profiler.profile, "call fxscope.record outside"),
    ],
)
def test_one_recording_at_a_time(running, words) -> None:
    with running(), pytest.raises(CaptureError, match=words):
        torch.ones(2) + 1
        fxscope.record(torch.sin, torch.ones(2))
