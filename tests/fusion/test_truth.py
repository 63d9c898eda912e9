"""What is said of small programs that store by index, concatenate and multiply integers, held against what they do."""

import pytest
import torch

import fxscope
from fxscope.model import Recording
from fxscope.op_names import op_name


def program(x, ids, weight, integers):
    gathered = torch.relu(x[ids])
    summed = torch.zeros(20, 8).index_add_(0, ids % 20, gathered)
    product = torch.cat([x, summed], 1) @ weight
    counts = torch._int_mm(integers, integers.t()).float() * 0.5
    return product.sigmoid(), counts


@pytest.fixture(scope="module")
def inputs() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    integers = torch.randint(-5, 5, (32, 16), dtype=torch.int8)
    return torch.randn(20, 8), torch.randint(20, (40,)), torch.randn(16, 16), integers


@pytest.fixture(scope="module")
def compiled(inputs) -> Recording:
    return fxscope.record(program, *inputs, compile=True, steps=1, warmup=0)


@pytest.mark.slow
def test_a_concatenation_is_one_intermediate(compiled: Recording) -> None:
    """20 rows of 16 floats that the parts' loops write and the product reads, whatever the parts are called."""
    product = next(call for call in compiled.calls if op_name(call.kernel) == "mm")
    cost = next(item for item in compiled.decisions if item.b_call == product.id and item.a_call != product.id)
    assert cost.saved_bytes == 2 * 20 * 16 * 4


def test_a_lookup_is_no_broadcast(compiled: Recording) -> None:
    texts = [item.reason for item in compiled.decisions]
    assert not any("broadcast" in text or "written again" in text for text in texts)


def test_an_integer_product_has_no_template_on_a_cpu(compiled: Recording, inputs) -> None:
    call = next(call for call in compiled.calls if "_int_mm" in call.kernel)
    assert call.flops == 2 * 32 * 16 * 32
    assert {item.hint for item in compiled.decisions if item.a_call == call.id} == {None}
    eager = fxscope.record(program, *inputs, steps=1, warmup=0)
    assert not any("max-autotune" in (item.hint or "") for item in eager.decisions)
