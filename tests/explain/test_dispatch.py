"""The dispatcher's tables against torch itself, and what is printed of them."""

import json

import pytest
import torch

from fxscope._torch import dispatch_table
from fxscope.commands import dispatch
from fxscope.errors import FxscopeError


@pytest.mark.parametrize(
    "name",
    """aten::linear torch.nn.functional.linear aten.linear.default linear torch.ops.aten.linear.default
        F.linear nn.Linear""".split(),
)
def test_one_op_has_many_names(name):
    assert dispatch_table.resolve(name) == "aten::linear"


def test_the_overload_with_tensors_stands_for_the_op():
    assert dispatch_table.resolve("torch.add") == "aten::add.Tensor"
    assert dispatch_table.resolve("cross_entropy") == "aten::cross_entropy_loss"


def test_an_unknown_op_names_the_nearest():
    with pytest.raises(FxscopeError, match="aten::linear"):
        dispatch_table.resolve("lineer")


def test_linear_is_composite_and_calls_addmm_for_a_bias():
    found = dispatch_table.describe("linear", device="cpu")
    assert found.inductor == "composite"
    calling = [key for key in found.keys if key.state == "calls"]
    assert [key.key for key in calling] == ["AutogradCPU"] and calling[0].kind == "math kernel"


def test_addmm_has_a_kernel_below_autograd():
    found = dispatch_table.describe("addmm", device="cpu")
    states = {key.key: key.state for key in found.keys}
    assert states["AutogradCPU"] == "calls, then goes on"
    assert states["ADInplaceOrView"] == states["BackendSelect"] == "falls through"
    assert states["CPU"] == "calls" and states["AutocastCPU"] == "excluded"
    assert dispatch_table.describe("addmm", device="cpu", autocast=True).keys[0].state == "calls, then goes on"


def test_places_are_torchs_own_and_no_folders_of_a_machine():
    for op in ("linear", "mm", "add", "softmax", "reshape"):
        for key in dispatch_table.describe(op, device="meta").keys:
            assert key.where.startswith(("aten/", "torch/", "build/aten/", "c10/", "functorch/")), key
            assert key.where.rsplit(":", 1)[1].isdigit()


@pytest.mark.parametrize(
    ("op", "inductor"),
    [("relu", "lowering"), ("gelu", "decomposition"), ("addmm", "decomposition or lowering"), ("conv2d", "composite")],
)
def test_what_inductor_makes_of_it(op, inductor):
    found = dispatch_table.describe(op, device="cpu")
    assert found.inductor == inductor
    assert all(place.startswith("torch/") for place in found.inductor_where)


@pytest.mark.skipif(torch.backends.cuda.is_built(), reason="only a build without CUDA lacks its kernels")
def test_a_build_without_cuda_says_what_it_cannot_tell():
    with torch.library._scoped_library("fxscope_test", "FRAGMENT") as library:
        library.define("unrecorded(Tensor x) -> Tensor")
        library.impl("unrecorded", torch.clone, "CompositeExplicitAutograd")
        found = dispatch_table.describe("fxscope_test::unrecorded", device="cuda")
    assert "CUDA" not in {key.key for key in found.keys}
    assert "no CUDA kernels" in found.note
    assert "is not known" in dispatch.prose(found)


def test_prose_and_table_are_printed_or_json(command):
    out = command("dispatch", "aten::linear", "--device", "cpu").out
    assert "aten::linear is CompositeImplicit for cpu tensors" in " ".join(out.split())
    assert "AutogradCPU" in out and "math kernel" in out
    assert json.loads(command("dispatch", "linear", "--json", "--device", "cpu").out)["name"] == "aten::linear"


@pytest.mark.parametrize(
    ("words", "message"),
    [("linear --device toaster", "no device 'toaster'"), ("model.py:chain", "Name one as torch does")],
)
def test_what_is_not_an_op_on_a_device_is_a_clear_error(words, message, command):
    error = command("dispatch", *words.split(), status=2).err
    assert message in error and error.count("\n") == 1


def test_the_chain_of_an_op_or_an_autograd_function_is_in_the_eager_stage_of_a_recording(tmp_path, command):
    file = tmp_path / "own_functions.py"
    file.write_text(
        "import torch\n\n\nclass GeluMul(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a, b):\n"
        "        return torch.nn.functional.gelu(a) * b\n\n    @staticmethod\n    def backward(ctx, g):\n        return g, g\n"
        "def own():\n    return GeluMul.apply, torch.randn(4, 8, requires_grad=True), torch.randn(4, 8)\n"
        "def linear():\n    return torch.nn.functional.linear, torch.ones(8, 4), torch.ones(2, 4), torch.ones(2)\n"
    )
    for name, ops in (("own", ["GeluMul", "aten::gelu", "aten::mul"]), ("linear", ["aten::linear", "aten::addmm"])):
        recorded = str(tmp_path / f"{name}.fxscope")
        command("run", f"{file}:{name}", "-o", recorded)
        shown = command("view", recorded, "--stage", "eager").out
        assert all(op in shown for op in ops), shown
