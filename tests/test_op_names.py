"""One op has one name, however torch, a trace, a wrapper or a user spells it; and what the name lets one expect."""

import pytest

from fxscope import op_names
from fxscope.model import replace
from tests import build


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("aten::mul", "mul"),
        ("aten.mul.Tensor", "mul"),
        ("torch.ops.aten.sort.stable", "sort"),
        ("aten.randint.low_out", "randint"),
        ("prims.convert_element_type.default", "convert_element_type"),
        ("extern_kernels.bias_addmm", "bias_addmm"),
        ("torch._C._nn.gelu", "gelu"),
        ("torch.nn.functional.gelu", "gelu"),
        ("F.gelu", "gelu"),
        ("torch.relu", "relu"),
        ("operator.getitem", "getitem"),
        ("higher_order.flex_attention", "flex_attention"),
        ("torch._functorch.predispatch._add_batch_dim", "_add_batch_dim"),
        ("mkldnn._linear_pointwise.default", "_linear_pointwise"),
        ("_c10d_functional.all_reduce.default", "all_reduce"),
        ("mylib.foo.default", "mylib::foo"),
        ("mylib::foo", "mylib::foo"),
        ("torch.ops.mylib.foo", "mylib::foo"),
        ("torch.ops.torchvision.nms.default", "torchvision::nms"),
        ("otherlib.foo.default", "otherlib::foo"),
        ("torch::autograd::CppNode<at::(anonymous namespace)::ScaleGradient>", "ScaleGradient"),
        ("torch::autograd::CppNode<fbgemm_gpu::Permute<&fbgemm_gpu::permute> >", "Permute"),
        ("relu", "relu"),
        ("<built-in function add>", "<built-in function add>"),
        ("autograd::engine::evaluate_function: MmBackward0", "autograd::engine::evaluate_function: MmBackward0"),
        ("void at::native::vectorized_elementwise_kernel<4>", "void at::native::vectorized_elementwise_kernel<4>"),
    ],
)
def test_an_op_has_one_name(text: str, name: str) -> None:
    assert op_names.op_name(text) == name


def test_what_a_user_writes_means_the_op_but_no_other_of_that_name() -> None:
    assert op_names.is_called("mylib.foo.default", "foo") and op_names.is_called("mylib.foo.default", "mylib::foo")
    assert not op_names.is_called("mylib.foo.default", "otherlib::foo")
    assert not op_names.is_called("mylib.foo.default", "aten::foo")
    assert op_names.is_called("aten::mm", "mm") and op_names.is_called("aten.mm.default", "aten::mm")
    assert not op_names.is_called("aten::mm", "addmm") and not op_names.is_called("aten::mm", "model.mm.weight")


def test_an_extern_kernel_is_known_by_the_ops_it_shows_as() -> None:
    assert op_names.runs_as("extern_kernels.mm", "aten.mm.default")
    assert op_names.runs_as("extern_kernels.bias_addmm", "aten::addmm")
    assert op_names.runs_as("extern_kernels.convolution", "aten::_convolution")
    assert op_names.runs_as("torch.ops.mylib.foo.default", "mylib::foo")
    assert not op_names.runs_as("torch.ops.mylib.foo.default", "otherlib::foo")
    assert not op_names.runs_as("extern_kernels.mm", "aten::bmm")


@pytest.mark.parametrize(
    ("name", "nature"),
    [
        ("aten::view", "view"),
        ("aten.t.default", "view"),
        ("aten::squeeze_", "view"),
        ("aten._unsafe_view.default", "view"),
        ("aten::reshape", "unknown"),  # a view or a copy
        ("aten::contiguous", "unknown"),
        ("aten::linear", "composite"),
        ("quantized::linear", "unknown"),
        ("aten::argsort", "composite"),
        ("aten::convolution", "composite"),
        ("aten::empty_strided", "host"),
        ("aten::resize_", "host"),
        ("aten::cudnn_is_acceptable", "host"),  # an answer, no tensor
        ("aten::_coalesced_", "host"),  # sets a flag
        ("aten::sparse_coo_tensor", "composite"),  # keeps the tensors that it is given
        ("aten::std", "kernel"),  # one overload calls the other, which has a kernel
        ("aten::mm", "kernel"),
        ("mylib::view", "unknown"),
        ("mylib.foo.default", "unknown"),
    ],
)
def test_what_a_name_lets_one_expect(name: str, nature: str) -> None:
    assert op_names.expected_nature(name) == nature


def test_kinds_of_ops() -> None:
    assert op_names.is_gemm("aten::addmm") and op_names.is_gemm("mkldnn::_linear_pointwise")
    assert not op_names.is_gemm("mylib::mm") and not op_names.is_gemm("aten::mul")
    assert op_names.is_convolution("aten.convolution.default") and not op_names.is_convolution("aten::mm")
    assert op_names.is_attention("aten._scaled_dot_product_flash_attention.default")
    assert op_names.keeps_shape("aten::add_") and op_names.keeps_shape("aten::_softmax")
    assert not op_names.keeps_shape("aten::sum")
    assert all(map(op_names.is_pointwise, ("gelu_backward", "masked_fill_", "aten::where", "threshold_backward")))


def test_every_op_named_by_hand_is_one_that_torch_has() -> None:
    torch = pytest.importorskip("torch")
    known = {name.partition("::")[2].split(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    known |= {*dir(torch.Tensor), *dir(torch.nn.functional), *dir(torch.amp.autocast_mode)}
    known |= {*dir(torch._C._functorch), *dir(torch._functorch.eager_transforms)}
    by_hand = op_names._MORE_VIEWS | op_names.MAY_COPY | op_names._HOST | op_names._MORE_COMPOSITES
    by_hand |= op_names._MORE_KEEP_SHAPE | op_names._SETS["pointwise"]
    assert not by_hand - known
    assert not {name for name in op_names.GEMMS if not name.startswith("bias_")} - known


def test_the_table_is_what_the_yaml_says() -> None:
    from tools.make_op_table import from_yaml

    found = from_yaml(
        [
            {"func": "t(Tensor(a) self) -> Tensor(a)", "dispatch": {"CompositeExplicitAutograd": "t"}},
            {"func": "linear(Tensor x) -> Tensor"},
            {"func": "add.T(Tensor x) -> Tensor", "structured_delegate": "add.out", "tags": ["core", "pointwise"]},
            {"func": "add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "dispatch": {"CPU": "add_out"}},
            {"func": "relu_b.grad_input(Tensor x, *, Tensor(a!) grad_input) -> Tensor(a!)", "dispatch": {"CPU": "r"}},
            {"func": "relu_b(Tensor x) -> Tensor", "dispatch": {"CPU": "r"}, "tags": "pointwise"},
            {"func": "pool_b.grad_input(Tensor x, *, Tensor(a!) grad_input) -> Tensor(a!)", "dispatch": {"CPU": "r"}},
            {"func": "std(Tensor self) -> Tensor"},
            {"func": "std.correction(Tensor self) -> Tensor", "dispatch": {"CPU, CUDA": "std"}},
        ]
    )
    pointwise = {"add": {"pointwise"}, "relu_b": {"pointwise"}}
    assert found == {"t": {"view"}, "linear": {"composite"}, "pool_b": set(), "std": set(), **pointwise}


def test_a_name_that_says_what_did_not_run() -> None:
    """Parts of silu were computed elsewhere, and another exp ran here: "exp" is not said to be missing."""
    nodes = {
        name: build.node(name, f"aten.{op}.default", original_aten=original)
        for name, op, original in (
            ("exp", "exp", "aten.silu"),
            ("exp_1", "exp", "aten.exp"),
            ("neg", "neg", "aten.silu"),
        )
    }
    call = build.call(1, "cpp_fused_exp_silu_0", "exp_1", named_only=("neg", "exp"))
    assert op_names.only_named(call, nodes) == ["silu"]
    assert op_names.only_named(replace(call, nodes=("exp_1", "exp")), nodes) == []
    assert op_names.only_named(replace(call, type="extern"), nodes) == []
