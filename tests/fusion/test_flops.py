"""FLOPs are those of `torch.utils.flop_counter`: of ops on fake tensors, and of programs that ran."""

import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
from torch.utils.flop_counter import FlopCounterMode, flop_registry

import fxscope
from fxscope._torch.nodes import tensors
from fxscope.model import Node, replace
from fxscope.op_names import is_gemm, op_name
from fxscope.passes import flops
from tests import build

aten = torch.ops.aten


def _arguments(args, kwargs):
    return ", ".join([*map(_argument, args), *(f"{name}={_argument(value)}" for name, value in kwargs.items())])


def _argument(value):
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return f"[{', '.join(map(_argument, value))}]" if isinstance(value, (list, tuple)) else str(value)


def fake(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def conv(shape, weight, *, stride=1, padding=0, dilation=1, transposed=False, out=0, groups=1, bias=None):
    each = [[value] * (len(shape) - 2) for value in (stride, padding, dilation)]
    return [fake(*shape), fake(*weight), bias, *each, transposed, [out] * (len(shape) - 2), groups]


CONVOLUTIONS = {
    "1d": conv((2, 4, 20), (8, 4, 3), stride=2),
    "2d": conv((2, 4, 9, 11), (8, 4, 3, 5), padding=1, bias=fake(8)),
    "3d dilated": conv((1, 3, 7, 8, 9), (5, 3, 2, 2, 2), dilation=2),
    "pointwise, square": conv((4, 4, 4, 4), (4, 4, 1, 1)),
    "grouped": conv((2, 8, 9, 9), (12, 2, 3, 3), groups=4),
    "depthwise": conv((2, 8, 30), (8, 1, 4), groups=8, padding=3),
    "transposed": conv((2, 6, 5, 7), (6, 4, 3, 3), transposed=True, stride=2, out=1),
    "transposed, grouped": conv((2, 6, 5), (6, 2, 3), transposed=True, stride=3, groups=2),
}


def backward(name: str, mask: list[bool]) -> tuple:
    x, w, _, stride, padding, dilation, transposed, out, groups = CONVOLUTIONS[name]
    grad = aten.convolution.default(x, w, None, stride, padding, dilation, transposed, out, groups)
    return aten.convolution_backward, (grad, x, w, None, stride, padding, dilation, transposed, out, groups, mask)


def heads(backend: str, q, k, v, *, causal: bool = False, gradient: bool = False) -> tuple:
    q, k, v = (fake(*shape, dtype=torch.bfloat16) for shape in (q, k, v))
    op = getattr(aten, f"_scaled_dot_product_{backend}_attention")
    forward = (q, k, v, 0.0, causal) if backend == "flash" else (q, k, v, None, True, 0.0, causal)
    if not gradient:
        return op, forward
    out, lse, *rest = op(*forward)
    if backend == "flash":
        more = (*rest[:4], 0.0, causal, *rest[4:6])
    elif backend == "cudnn":
        more = (rest[4], rest[5], None, *rest[:4], 0.0, causal)
    else:
        return getattr(aten, op.__name__ + "_backward"), (
            *(out, q, k, v, None, out, lse, *rest[:2], 0.0, [True, True, True, False], causal),
        )
    return getattr(aten, op.__name__ + "_backward"), (out, q, k, v, out, lse, *more)


SAME, CROSS = [(2, 4, 32, 16)] * 3, [(2, 4, 8, 16), (2, 4, 64, 16), (2, 4, 64, 16)]
OPS = {
    "mm": (aten.mm, (fake(5, 7), fake(7, 3))),
    "mm with itself": (aten.mm, (fake(6, 6), fake(6, 6))),
    "addmm": (aten.addmm, (fake(3), fake(5, 7), fake(7, 3))),
    "addmm of a square bias": (aten.addmm, (fake(8, 8), fake(8, 32), fake(32, 8))),
    "bmm": (aten.bmm, (fake(4, 5, 7), fake(4, 7, 3))),
    "baddbmm of square scores": (aten.baddbmm, (fake(4, 8, 8), fake(4, 8, 2), fake(4, 2, 8))),
    **{f"convolution {name}": (aten.convolution, tuple(each)) for name, each in CONVOLUTIONS.items()},
    **{f"convolution {name}, backward": backward(name, [True, True, False]) for name in CONVOLUTIONS},
    **{f"convolution {name}, gradient of input": backward(name, [True, False, False]) for name in CONVOLUTIONS},
    **{f"{backend} attention": heads(backend, *SAME) for backend in ("flash", "efficient", "cudnn")},
    **{f"{backend} attention, backward": heads(backend, *SAME, gradient=True) for backend in ("flash", "efficient")},
    **{f"{backend} cross attention": heads(backend, *CROSS) for backend in ("flash", "efficient")},
    "cross attention, backward": heads("flash", *CROSS, gradient=True),
    "causal attention": heads("flash", *SAME, causal=True),
    "narrow values": heads("efficient", (2, 4, 32, 16), (2, 4, 32, 16), (2, 4, 32, 8)),
    "grouped queries": heads("flash", (2, 4, 32, 16), (2, 2, 32, 16), (2, 2, 32, 16)),
}


@pytest.fixture(autouse=True)
def _groups_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch counts the weight's gradient as if every group met every other; both gradients need what the input's needs."""
    theirs = flop_registry[aten.convolution_backward]

    def count(*args, **kwargs):
        masks = [args[10]] if args[9] == 1 else [[True, False, False]] * sum(args[10][:2])
        return sum(theirs(*args[:10], mask, **kwargs) for mask in masks)

    monkeypatch.setitem(flop_registry, aten.convolution_backward, count)


@pytest.mark.parametrize("name", OPS)
def test_an_op_has_the_flops_that_torch_counts(name: str) -> None:
    op, arguments = OPS[name]
    try:
        with FlopCounterMode(display=False) as counter:
            result = op(*arguments)
    except AssertionError as error:
        pytest.skip(f"this torch counts no such call: {error}")
    inputs = [
        Node(name=f"i{at}", op="placeholder", target="i", outputs=tensors(item))
        for at, item in enumerate(arguments)
        if isinstance(item, torch.Tensor)
    ]
    said = _arguments(arguments, {})
    node = Node(name="n", op="dispatch", target=f"aten::{op.__name__}", arguments=said, outputs=tensors(result))
    names = iter(inputs)
    by_name = ", ".join(next(names).name if isinstance(i, torch.Tensor) else _arguments([i], {}) for i in arguments)
    in_graph = Node(name="n", op="call_function", target=str(op.default), arguments=by_name, outputs=tensors(result))
    in_trace = build.op(
        0,
        node.target,
        shapes=tuple(tuple(item.shape) if isinstance(item, torch.Tensor) else () for item in arguments),
        concrete_inputs=tuple("" if isinstance(item, torch.Tensor | None) else str(item) for item in arguments),
    )
    assert (expected := counter.get_total_flops()) > 0
    assert flops.of_node(node, {}) == expected
    assert flops.of_node(in_graph, {item.name: item for item in inputs}) == expected
    assert flops.of_op(in_trace) == expected


def test_a_causal_mask_may_save_half() -> None:
    op, arguments = OPS["causal attention"]
    node = Node(name="n", op="dispatch", target=f"aten::{op.__name__}", arguments=_arguments(arguments, {}))
    assert flops.of_node(node, {}) == 4 * 8 * 32 * 32 * 16
    assert flops.of_node(node, {}, certain=True) == 4 * 8 * (32 * 33 // 2) * 16


@pytest.mark.parametrize("arguments", [None, "float32[4, s0], float32[s0, 4]", "float32[4, 8]", "…", "x, y", "[[[", ""])
def test_what_is_not_known_has_no_flops(arguments: str | None) -> None:
    for op in ("mm", "bmm", "convolution", "convolution_backward", "_scaled_dot_product_flash_attention_backward"):
        node = Node(name="n", op="call_function", target=f"aten.{op}.default", arguments=arguments)
        assert flops.of_node(node, {}) is None


@pytest.mark.parametrize("stride", ["[0, 0]", "[²]", f"[{'9' * 5000}]", "[s0, 1]", "None"])
def test_a_convolution_with_a_damaged_stride_has_no_flops(stride: str) -> None:
    said = "float32[2, 3, 8, 8], float32[4, 3, 3, 3], None, {}, [0, 0], [1, 1], False, [0, 0], 1"
    damaged, whole = (
        Node(name="n", op="call_function", target="aten.convolution.default", arguments=said.format(text))
        for text in (stride, "[2, 2]")
    )
    assert flops.of_node(damaged, {}) is None
    assert flops.of_node(whole, {}) == 2 * 2 * 9 * 4 * 27


class Everything(torch.nn.Module):
    """One of each product, in a shape where mistaking an operand shows."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(24, 16)
        self.conv = torch.nn.Conv1d(6, 8, 5, stride=2, bias=False)
        self.back = torch.nn.ConvTranspose2d(4, 6, 3, stride=2)
        self.depthwise = torch.nn.Conv2d(6, 6, 3, groups=6)
        self.bag = torch.nn.EmbeddingBag(30, 24, mode="sum")

    def forward(self, ids, image, q, k):
        rows = self.linear(self.bag(ids))
        square = torch.addmm(rows @ rows.t(), rows, rows.t())
        scores = torch.baddbmm(q @ k.transpose(1, 2), q, k.transpose(1, 2))
        mixed = torch.einsum("bqk,bke->qbe", scores, k)
        line = self.conv(image.flatten(2)[:, :, :40].repeat(1, 2, 1)[:, :6])
        picture = self.depthwise(self.back(image))
        attended = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], k[None])
        return [item.float().square().mean() for item in (square, mixed, line, picture, attended)]


class Each(FlopCounterMode):
    """The counts one by one, in order."""

    def __enter__(self):
        self.each: dict[str, list[int]] = defaultdict(list)
        return super().__enter__()

    def _count_flops(self, func_packet, out, args, kwargs):
        if func_packet in self.flop_registry:
            self.each[func_packet.__name__].append(self.flop_registry[func_packet](*args, **kwargs, out_val=out))
        return out


@pytest.fixture(scope="module")
def everything():
    torch.manual_seed(0)
    inputs = (torch.randint(30, (16, 3)), torch.randn(2, 4, 9, 9), torch.randn(3, 8, 32), torch.randn(3, 8, 32))
    for tensor in inputs[2:]:
        tensor.requires_grad_()
    return Everything(), inputs


def test_eager_ops_have_the_flops_that_torch_counts(everything) -> None:
    module, inputs = everything
    with Each(display=False) as counter:
        sum(module(*inputs)).backward()
    recording = fxscope.record(lambda *x: sum(module(*x)), *inputs, backward=True, steps=1)
    (graph,) = recording.graphs
    by_name = {node.name: node for node in graph.nodes}
    found: dict[str, list[int | None]] = defaultdict(list)
    for node in graph.nodes:
        if flops.first_operand(node.target) is not None and node.outputs:
            found[op_name(node.target)].append(flops.of_node(node, by_name))
            assert node.flops in (None, found[op_name(node.target)][-1])
    assert {name: found[name] for name in counter.each} == counter.each
    assert all(None not in counts for counts in found.values())
    assert found["_scaled_dot_product_flash_attention_for_cpu"] == [2 * 2 * 3 * 8 * 8 * 32]
    assert {"mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward"} <= counter.each.keys()


@pytest.mark.slow
def test_compiled_calls_have_the_flops_that_torch_counts(everything) -> None:
    from torch._inductor import config
    from torch._inductor.fx_utils import count_flops_fx

    module, inputs = everything
    counted: list[dict[str, int]] = []

    def count(graph) -> None:
        counted.append({node.name: count_flops_fx(node) or 0 for node in graph.nodes if node.op == "call_function"})

    with config.patch(post_grad_custom_post_pass=count):
        recording = fxscope.record(lambda *x: sum(module(*x)), *inputs, compile=True, backward=True, steps=1, warmup=0)
    graphs = [graph for graph in recording.graphs if graph.stage == "post_grad"]
    assert len(graphs) == len(counted) == 2
    said = 0
    for graph in graphs:
        names = {node.name for node in graph.nodes if node.op == "call_function"}
        expected = next(item for item in counted if item.keys() >= names)
        for call in (call for call in recording.calls if call.graph == graph.id):
            if call.flops is not None:
                known = sum(expected[name] for name in call.nodes)
                if "_for_cpu" in call.kernel:  # torch counts none: two products, or five
                    known = prod([2, 3, 8, 8, 32]) * (5 if "backward" in call.kernel else 2)
                assert call.flops == known, call.handle
                said += 1
    assert said >= 12


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_a_sparse_product_has_no_dense_flops(layout: torch.layout) -> None:
    class Product(torch.nn.Module):
        def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return x @ w

    recording = fxscope.record(Product(), torch.eye(64).to_sparse(layout=layout), torch.randn(64, 32))
    products = [op for op in recording.ops if op.name in ("aten::mm", "aten::addmm")]
    assert products and {flops.of_op(op) for op in products} == {None}
    assert not any(node.flops for graph in recording.graphs for node in graph.nodes)
    assert flops.of_op(replace(products[0], strides=((64, 1), (32, 1)))) == 2 * 64 * 64 * 32


def selective(x, w):
    save = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    checkpoint(lambda x: (x @ w).tanh() @ w, x, use_reentrant=False, context_fn=save).sum().backward()


def ended_early(x, w):
    def outer(x):
        return checkpoint(lambda x: (x @ w).sigmoid(), (x @ w).sin(), use_reentrant=False) @ w

    checkpoint(outer, x, use_reentrant=False).sum().backward()


def of_a_batch(x, w):
    return torch.vmap(lambda a, b: (a @ b).sum())(x.view(4, 8, 32), w.view(4, 32, 8))


def refused(x, w):
    with contextlib.suppress(RuntimeError):
        torch.mm(x, w[:5])
    return x @ w


class Multiplies(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return args[0] @ args[0]


def of_a_mode(x, w):
    with Multiplies():
        return x.sin() @ w


@pytest.mark.parametrize("program", [selective, ended_early, of_a_batch, refused, of_a_mode])
def test_a_product_counts_only_if_it_was_computed(program: Callable[..., Any]) -> None:
    """Checkpointing returns saved results, and ends a recomputation inside an op; a batch is one product; a mode adds some."""
    inputs = [torch.randn(32, 32, requires_grad=True) for _ in range(2)]
    with FlopCounterMode(display=False) as counter:
        program(*inputs)
    recording = fxscope.record(program, *inputs, steps=1, warmup=1)
    (graph,) = recording.graphs
    counted = [node for node in graph.nodes if node.flops]
    assert sum(node.flops for node in counted) == counter.get_total_flops()
    products = [launch for launch in recording.launches if is_gemm(launch.name)]
    assert len(products) == len(counted) == sum(map(len, (launch.nodes for launch in products)))
