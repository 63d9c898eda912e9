"""Every call has its time or a reason why not; what is counted as a kernel is what did the work itself."""

import functools
from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch._C._profiler import _EventType as EventType
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

import fxscope
from fxscope import passes
from fxscope._torch.op_lines import lines_of_operators
from fxscope.assertions import Recorded
from fxscope.model import replace
from fxscope.passes import attribute
from fxscope.render import why
from fxscope.text import microseconds


@torch.library.custom_op("who_ran::silu", mutates_args=())
def own_silu(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)


own_silu.register_fake(torch.empty_like)


@pytest.mark.slow
def test_a_custom_op_in_compiled_code_has_its_time() -> None:
    inputs = torch.randn(4, 16), torch.randn(16, 16)
    recording = fxscope.record(lambda x, w: torch.ops.who_ran.silu((x @ w).relu()) + 1, *inputs, compile=True)
    call = next(call for call in recording.calls if "who_ran" in call.kernel)
    mine = [launch for launch in recording.launches if launch.call == call.id]
    # What the op's Python calls inside is the op's.
    assert {launch.name for launch in mine} == {"aten::sigmoid", "aten::mul"}
    spent = sum(launch.duration_ns for launch in mine) / 1e3
    assert call.timing.count == 3 and call.timing.total_us == pytest.approx(spent)
    assert all(c.timing is not None for c in recording.calls)


@pytest.mark.slow
def test_a_cpu_template_has_its_time_and_the_compilers_own_work_is_none_of_the_programs() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    compiled = torch.compile(flex_attention)
    q, k, v = (torch.randn(1, 2, 32, 16) for _ in range(3))
    with torch.no_grad(), fxscope.record() as recorder:
        for _ in range(2):
            compiled(q, k, v)
    recording = recorder.recording
    call = next(call for call in recording.calls if "flex_attention" in call.kernel)
    assert call.profiled_as not in (None, call.kernel)  # a template's event has a name of its own
    assert call.timing is not None and call.timing.count == 2
    assert {launch.name for launch in recording.launches if launch.call == call.id} == {call.profiled_as}
    names = {op.name for op in recording.ops} | {launch.name for launch in recording.launches}
    assert not any("compile_file" in name for name in names)


def test_ops_that_hand_their_work_on_are_no_kernels_of_the_cpu() -> None:
    def function(x):
        y = torch.stack([x, x]).relu().mean() + nn.functional.embedding(torch.tensor([1]), x).sum()
        return checkpoint(nn.functional.relu, torch.addmm(x[0], x, x) + y, use_reentrant=False).sin()  # ended by a hook

    run = functools.partial(checkpoint, function, use_reentrant=False)
    recording = fxscope.record(run, torch.randn(4, 4, requires_grad=True), backward=True)
    launched = {launch.name for launch in recording.launches if launch.nodes}
    assert not launched & {"aten::stack", "aten::relu", "aten::mean", "aten::embedding"}
    assert launched >= {"aten::cat", "aten::clamp_min", "aten::sum", "aten::div_", "aten::index_select", "aten::addmm"}
    assert {stats.name for stats in recording.summary.kernels} == launched


class Doubled(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(args[0].mul(2), *args[1:], **(kwargs or {}))


def test_what_a_mode_calls_for_an_op_is_in_the_graph() -> None:
    def function(x, y):
        torch.nested.nested_tensor_from_jagged(x, y)  # whose own Python launches nothing
        with Doubled():
            return x.sin()

    recording = fxscope.record(function, torch.randn(4, 4), torch.tensor([0, 1, 4]))
    assert {launch.nodes for launch in recording.launches} == {("mul",), ("sin_1",)} and not recording.problems
    assert {node.outputs[0].shape for node in recording.graph("eager").nodes if node.name in ("mul", "sin_1")} == {
        (4, 4)
    }


class Scaled(torch.Tensor):
    @staticmethod
    def __new__(cls, inner, factor):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner, factor):
        self.inner, self.factor = inner, factor

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.mm.default:
            return (args[0].inner @ args[1]) * args[0].factor
        return func(*(item.inner * item.factor if isinstance(item, cls) else item for item in args))


def test_what_a_subclass_calls_for_an_op_is_in_the_graph() -> None:
    def function(x, y):
        return (Scaled(x, 2.0) @ y).sin() + torch.addmm(y, Scaled(x, 3.0), y)

    recording = fxscope.record(function, torch.randn(4, 4), torch.randn(4, 4), steps=1)
    launched = Counter((launch.name.removeprefix("aten::"), len(launch.nodes)) for launch in recording.launches)
    assert launched == {("mm", 1): 1, ("mul", 1): 2, ("sin", 1): 1, ("addmm", 1): 1, ("add", 1): 1}
    assert sum(node.flops or 0 for node in recording.graph("eager").nodes) == 2 * 2 * 4**3 and not recording.problems


def test_what_python_calls_in_an_op_is_no_part_of_it() -> None:
    def function(x, w):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t @ w.new_ones(256, 256) * w, lambda t: t):
            return torch.ops.who_ran.silu(w @ w) + (x @ w).sin() * w

    recording = fxscope.record(function, torch.randn(256, 256, requires_grad=True), torch.randn(256, 256), steps=1)
    done = {
        name: [launch for launch in recording.launches if launch.name == name] for name in ("aten::mm", "aten::mul")
    }
    assert [len(launches) for launches in done.values()] == [5, 5]  # two of the program's, three of hooks
    nodes = [node for graph in recording.graphs for node in graph.nodes if node.target in done]
    assert [(node.kind, node.flops) for node in nodes if node.flops] == [("kernel", 2 * 256**3)] * 5
    spans = sorted((launch.start_ns, launch.start_ns + launch.duration_ns) for launch in recording.launches)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))  # what hooks take is no time of the op's


def test_a_compiled_function_that_a_hook_runs_is_no_part_of_the_op() -> None:
    def function(x, w):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t / 1):
            return (x @ w).sigmoid()

    recording = fxscope.record(function, torch.ones(8, 8, requires_grad=True), torch.ones(8, 8), compile=True, steps=1)
    assert sum(call.timing.count for call in recording.calls) == 2  # of the product's and the sigmoid's hook
    assert [launch.name for launch in recording.launches if launch.call is None] == ["aten::mm", "aten::sigmoid"]


def test_an_op_of_a_mode_with_hooks_has_no_work_of_its_own() -> None:
    context = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    options = {"use_reentrant": False, "context_fn": context}
    function = functools.partial(checkpoint, lambda x: (x @ x).exp().sin().exp().sum(), **options)
    recording = fxscope.record(function, torch.randn(8, 8, requires_grad=True), backward=True, steps=1)
    launched = Counter(launch.name for launch in recording.launches)
    assert [launched[f"aten::{name}"] for name in ("mm", "exp", "sin")] == [3, 4, 2]  # all but `mm` run again
    assert all(launch.nodes for launch in recording.launches) and not recording.problems


@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
def test_ops_hand_their_work_on_only_where_they_call_what_does_it() -> None:
    rows, index = torch.randn(6, 4), torch.tensor([0, 2, 2])
    waves, parts = torch.randn(6, 4, dtype=torch.complex64), (index[None], torch.ones(3), (4,))
    handed = {
        "abs": lambda: waves.abs(),  # which computes in complex, and copies the real part
        "_coalesce": lambda: torch.sparse_coo_tensor(*parts, check_invariants=False).coalesce(),
        "scatter_add_": lambda: rows.index_add_(0, index, torch.ones(3, 4)),
        "sub": lambda: 1 - rows,
        "maximum": lambda: torch.max(rows, rows),
        "cat": lambda: rows.roll(1, 0),
        "clamp": lambda: nn.functional.relu6(rows),
        "copy_": lambda: rows.repeat_interleave(2, dim=0),  # which views, and clones
        "index_add": lambda: rows[:, 0].index_add(0, index, torch.ones(3)),  # which copies, and then adds by itself
        "mse_loss": lambda: nn.functional.mse_loss(rows, rows),  # which calls `mean` for its own result
        "index_reduce": lambda: rows.index_reduce(0, index, rows[:3], "mean"),  # which counts by `index_add_`
    }
    for name, function in handed.items():
        recording = fxscope.record(function, steps=1)
        launched = [launch.name.removeprefix("aten::") for launch in recording.launches]
        assert [item for item in launched if item not in ("ones", "fill_")] == [name], launched


def test_what_has_no_kernel_on_a_cpu_runs_none() -> None:
    """RMSNorm is fused on a GPU only, as `fxscope dispatch` says; broadcast_tensors of equal shapes calls nothing at all."""
    norm = nn.RMSNorm(8)
    recording = fxscope.record(lambda x, y: nn.functional.mse_loss(norm(x), y), torch.randn(4, 8), torch.randn(4, 8))
    launched = {launch.name for launch in recording.launches}
    assert {"aten::pow", "aten::rsqrt", "aten::mul", "aten::mse_loss"} <= launched
    assert not launched & {"aten::_fused_rms_norm", "aten::broadcast_tensors"}


def test_a_convolution_is_not_the_copy_of_its_weight() -> None:
    kinds = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(8, 8, 3, groups=8), nn.Conv1d(8, 4, 3).double()
    for kind in kinds:
        given = (
            torch.randn(2, 8, 6, dtype=kind.weight.dtype) if isinstance(kind, nn.Conv1d) else torch.randn(2, 8, 6, 6)
        )
        recording = fxscope.record(kind, given, steps=1)
        assert ["conv" in launch.name for launch in recording.launches] == [True], [x.name for x in recording.launches]


@pytest.mark.filterwarnings("ignore:Sparse CSR:UserWarning")
def test_a_copy_in_a_library_op_is_no_view() -> None:
    rows = torch.eye(4).to_sparse_csr()  # whose places MKL takes as int32
    nodes = fxscope.record(lambda x: rows @ x, torch.randn(4, 4), steps=1).graph("eager").nodes
    assert {node.kind for node in nodes if node.target == "aten::to"} == {"host"}


def test_what_a_library_op_calls_for_itself_is_a_part_of_it() -> None:
    recording = fxscope.record(nn.Linear(8, 4), torch.randn(2, 8))  # on a CPU, addmm copies the bias first
    assert [launch.name for launch in recording.launches if launch.step == 0] == ["aten::addmm"]
    copy = next(node for node in recording.graph("eager").nodes if node.target == "aten::copy_")
    assert copy.kind == "host" and copy.reason == "a part of addmm, which is one kernel of the CPU"
    Recorded(recording).check(kernels=1, kernel_counts={"aten::addmm": 1}, launches_none=["aten::t"])


def test_an_op_under_a_transform_has_the_shapes_of_what_ran() -> None:
    """Five products of [1,8] × [8,4] run as one; a product and its derivative along a direction are three."""
    x, w = torch.randn(5, 8), torch.randn(8, 4)
    batched = fxscope.record(torch.vmap(lambda row, w: (row @ w).tanh(), (0, None)), x, w, steps=1, warmup=0)
    nodes = {node.name: node for node in batched.graph("eager").nodes}
    (product,) = (node for node in nodes.values() if node.flops)
    assert (product.flops, product.target, product.inputs) == (2 * 5 * 8 * 4, "aten::mm", ("view", "w"))
    both = fxscope.record(lambda x, t: torch.func.jvp(lambda x: x @ w, (x,), (t,)), x, x + 1, steps=1, warmup=0)
    assert [node.flops for node in both.graph("eager").nodes if node.flops] == [320] * 3


def test_calls_of_a_region_compiled_once_are_pairs_in_one_run_only() -> None:

    @torch.compiler.nested_compile_region
    def block(x, w):
        return (x @ w).relu() + x

    def program(x, w):
        return block(block(block(x, w), w), w)

    recording = fxscope.record(program, torch.ones(8, 8), torch.ones(8, 8), compile=True, steps=1, warmup=0)
    products, loops = recording.calls[::2], recording.calls[1::2]
    pairs = [(item.a_call, item.b_call) for item in recording.decisions if item.verdict != "fused"]
    assert sorted(pairs) == [(a.id, b.id) for a, b in zip(products, loops, strict=True)]
    assert [call.flops for call in products] == [2 * 8 * 8 * 8] * 3


class Detaches(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.detach().view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def test_an_autograd_function_that_only_makes_views_is_no_kernel() -> None:
    x = torch.ones(8, requires_grad=True)
    recording = fxscope.record(lambda x: Detaches.apply(x).sin(), x, steps=1, warmup=0, backward=True)
    assert "aten::sin" in {launch.name for launch in recording.launches}
    assert not [launch.name for launch in recording.launches if "Detaches" in launch.name]


@pytest.mark.cpp
def test_ops_in_other_loops_of_a_c_function_are_not_called_fused() -> None:
    def program(x):
        y = torch.zeros(16, 8)
        y[:8], y[8:] = x.exp(), x.tanh()
        return y * 2, x.sum(1)

    recording = fxscope.record(program, torch.ones(8, 8), compile=True, steps=1, warmup=0)
    (call,) = recording.calls
    answers = {name: why.words(recording, recording.why(name), width=200) for name in ("exp", "sum")}
    assert answers["exp"].startswith(f"exp: fused with mul, tanh and zeros in {call.handle}")
    assert answers["sum"].startswith(f"sum: runs in {call.handle}")
    assert "not in one loop" in why.words(recording, recording.why("exp", "sum"), width=200)


def test_a_function_of_very_many_ops_takes_no_square_of_their_number() -> None:
    place = SimpleNamespace(file_name=__file__, function_name="nobody", line_number=1)
    op = SimpleNamespace(tag=EventType.TorchOp, name="aten::mul.Tensor")
    call = SimpleNamespace(tag=EventType.PyCall, extra_fields=SimpleNamespace(caller=SimpleNamespace(line_number=7)))
    children = [call, *[op] * 300_000, call]
    found = lines_of_operators(SimpleNamespace(extra_fields=SimpleNamespace(callsite=place)), children)
    assert len(found) == 300_000 and set(found.values()) == {7}


def test_time_of_ops_that_are_no_node_is_a_problem_with_its_amount() -> None:
    recording = fxscope.record(nn.Sequential(nn.Linear(8, 4), nn.Tanh()), torch.randn(2, 8), steps=1)
    assert attribute.REMAINDER not in {problem.where for problem in recording.problems}
    lost = [replace(item, node=None, graph=None) if item.name == "aten::tanh" else item for item in recording.ops]
    recording = replace(recording, ops=tuple(lost))
    for _ in range(2):
        recording = passes.run(recording)
        (problem,) = (item for item in recording.problems if item.where == attribute.REMAINDER)
    (tanh,) = (item for item in recording.launches if item.name == "aten::tanh")
    assert problem.message.startswith(f"1 kernel ({microseconds(tanh.duration_ns / 1e3)}, ")
