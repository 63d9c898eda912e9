"""Torch is asked about each hint: what it accepts is one kernel with the switch, what it refuses is not hinted at.

The whole battery is `tools/try_hints.py`; here a sample of it.
"""

import pytest
import torch
import torch.nn.functional as F

from tools import try_hints as battery


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32])
def test_templates_take_what_torch_accepts_and_nothing_else(dtype):
    product = battery.PRODUCTS["mm"]
    after = [battery.AFTER[name] for name in ("relu", "sum", "returned_too", "half")]
    parts = [lambda t, a=a: a(product(t), t) for a in after]
    relu = battery.BEFORE["relu"]
    parts += [lambda t: relu(t) @ t(256, 384), lambda t: ((y := relu(t)), y @ t(256, 384))]  # a prologue; also returned
    parts.append(lambda t: F.silu(product(t)) * product(t))  # one kernel between two GEMMs joins one of them
    program = battery.Battery(parts, dtype)
    before = battery.plan_of(program, {})
    assert not before.problems
    templates = battery.plan_of(program, battery.TEMPLATES)
    pairs = [item for item in before.decisions if item.reason_code == "extern_gemm" and "share_input" not in item.notes]
    assert len(pairs) == 8
    assert sum(bool(item.hint_verified) for item in pairs) == 4
    for item in pairs:
        assert bool(item.hint_verified) == battery.is_joined(item, templates) == bool(item.hint), item


@pytest.mark.slow
@pytest.mark.parametrize("name", ["half_and_sum", "rows_and_transposed"])
def test_a_switch_joins_what_torch_accepts(name):
    program, options = battery.Battery([lambda t: battery.APART[name](t(1024, 512), t)], torch.float32), battery.OFF
    verified = [item for item in battery.plan_of(program, options).decisions if item.hint_verified]
    assert bool(verified) == (name != "half_and_sum")
    for item in verified:
        assert battery.is_joined(item, battery.plan_of(program, battery.with_switch(options, item)))
