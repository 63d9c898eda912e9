"""Each constraint of torch's fused attention kernels: one call that it lets through, one that it stops.

What the CPU shares with CUDA (`sdp_utils_cpp.h`) is held against the installed torch's own choice; the rest, on a GPU,
against `can_use_*` and the dispatcher.
"""

import json
import lzma
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from fxscope._torch.target import sdpa

OLD, MIDDLE, NEW = (sdpa.Rules(*has) for has in ((False, False), (True, False), (True, True)))  # 2.11, 2.12, 2.14
SQUARE = (2, 8, 256, 64)


def tensor(*shape: int, dtype: torch.dtype = torch.bfloat16, device: str = "meta") -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device=device)


def call(
    *shapes: tuple[int, ...],
    capability: tuple[int, int] = (9, 0),
    rules: Any = OLD,
    dtype: torch.dtype = torch.bfloat16,
    grad: bool = False,
    **options: Any,
) -> sdpa.AttentionCall:
    query, key, value = (tensor(*shape, dtype=dtype) for shape in (shapes if len(shapes) == 3 else shapes * 3))
    return sdpa.AttentionCall(capability, rules, query.requires_grad_(grad), key, value, **options)


def strided(size: int = 64) -> torch.Tensor:
    return tensor(2, 8, size, 256).transpose(2, 3)


def with_query(query: torch.Tensor, size: int = 64, **options: Any) -> sdpa.AttentionCall:
    given = call((*SQUARE[:3], size), **options)
    return sdpa.AttentionCall(given.capability, given.rules, query, given.key, given.value, given.mask)


GROUPED = ((2, 8, 256, 64), (2, 2, 256, 64), (2, 2, 256, 64))
ONE_HEAD = ((2, 8, 256, 64), (2, 1, 256, 64), (2, 1, 256, 64))
UNEQUAL = ((2, 8, 256, 64), (2, 4, 256, 64), (2, 2, 256, 64))
LATENT = ((2, 8, 256, 192), (2, 8, 256, 192), (2, 8, 256, 128))
OFFSET = tensor(2 * 8 * 256 * 64 + 3)[3:].view(SQUARE)

# kernel: constraint → (a call that the kernel takes, a call that it does not take for this)
PAIRS: dict[str, list[tuple[sdpa.AttentionCall, sdpa.AttentionCall]]] = {
    "cudnn: tensor_shapes": [(call(SQUARE), call((8, 256, 64)))],
    "flash: dtypes_low_precision": [(call(SQUARE), call(SQUARE, dtype=torch.float32))],
    "efficient: dtypes_mem_efficient": [
        (call(SQUARE, dtype=torch.float32), call(SQUARE, dtype=torch.float64)),
        (call(SQUARE, capability=(7, 5), dtype=torch.float16), call(SQUARE, capability=(7, 5))),
    ],
    "cudnn: attn_mask_shape": [
        (call(SQUARE, mask=tensor(256, 256)), call(SQUARE, mask=tensor(256, 256).requires_grad_())),
        (call(SQUARE, mask=tensor(1, 256)), call(SQUARE, mask=tensor(2, 256))),
        (call(SQUARE, mask=tensor(256, 1)), call(SQUARE, mask=tensor(256, 2))),
        (call(SQUARE, mask=tensor(2, 1, 256, 256)), call(SQUARE, mask=tensor(2, 256, 256))),
        (call(SQUARE, mask=tensor(1, 8, 256, 256)), call(SQUARE, mask=tensor(1, 2, 256, 256))),
    ],
    "flash: for_attn_mask": [(call(SQUARE), call(SQUARE, mask=tensor(256, 256)))],
    "cudnn: cudnn_hardware_support": [(call(SQUARE, capability=(8, 0)), call(SQUARE, capability=(7, 5)))],
    "flash: flash_attention_hardware_support": [(call(SQUARE, capability=(12, 1)), call(SQUARE, capability=(7, 5)))],
    "efficient: mem_efficient_hardware_support": [
        (call(SQUARE, capability=(7, 5), dtype=torch.float16), call(SQUARE, capability=(13, 0), dtype=torch.float16))
    ],
    "cudnn: cudnn_dropout": [
        (call(SQUARE, rules=MIDDLE, dropout=0.125), call(SQUARE, rules=MIDDLE, dropout=0.1)),
        (call(SQUARE, rules=OLD, dropout=0.1), call(SQUARE, rules=NEW, dropout=0.1)),
    ],
    "flash: nonzero_sequence_lengths_dense": [(call(SQUARE), call((2, 8, 0, 64)))],
    "flash: last_dim_stride_equals_1_dense": [
        (call(SQUARE), with_query(strided())),
        (with_query(strided(1), size=1), with_query(strided(2), size=2)),
    ],
    "cudnn: last_dim_stride_of_the_mask": [
        (call(SQUARE, mask=tensor(256, 256)), call(SQUARE, mask=tensor(256, 1).expand(256, 256)))
    ],
    "efficient: last_dim_stride_of_all": [
        (call(SQUARE), with_query(strided(1))),
        (call(SQUARE, mask=tensor(256, 256)), call(SQUARE, mask=tensor(256, 1).expand(256, 256))),
    ],
    "flash: batch_size_and_num_heads_dense": [
        (call(SQUARE), call(SQUARE, (1, 8, 256, 64), SQUARE)),
        (call(*GROUPED, gqa=True), call(*GROUPED)),
        (call(*GROUPED, gqa=True), call(*UNEQUAL, gqa=True)),
        (call(*ONE_HEAD, rules=NEW), call(*ONE_HEAD, rules=OLD)),
    ],
    "cudnn: batch_size_and_num_heads_dense_cudnn": [
        (call(*UNEQUAL, gqa=True), call(SQUARE, (2, 4, 256, 64), (2, 3, 256, 64), gqa=True))
    ],
    "efficient: batch_size_and_num_heads_dense_mem_efficient": [
        (call(SQUARE), call(*GROUPED, gqa=True)),
        (call(*GROUPED, gqa=True, rules=NEW), call(*GROUPED, gqa=True, rules=OLD)),
    ],
    "cudnn: cudnn_tensor_shapes": [
        (call((2, 8, 256, 256)), call((2, 8, 256, 264))),
        (call((2, 8, 256, 128), capability=(8, 0)), call((2, 8, 256, 136), capability=(8, 0))),
        (call(*LATENT, capability=(10, 0)), call((2, 8, 256, 192), capability=(10, 0))),
        (call(SQUARE), call((2, 8, 256, 60))),
        (call(SQUARE), call(SQUARE, (2, 8, 1, 64), (2, 8, 1, 64))),
        (call((2, 8, 1, 64), SQUARE, SQUARE), call((2, 8, 1, 64), SQUARE, SQUARE, dropout=0.5)),
        (call((65536, 1, 8, 64)), call((65536, 1, 8, 64), rules=NEW)),
    ],
    "cudnn: cudnn_d256_bprop_head_dim": [
        (call((2, 8, 256, 256), rules=NEW, grad=True), call((2, 8, 256, 160), rules=NEW, grad=True)),
        (call((2, 8, 256, 160), rules=NEW), call((2, 8, 256, 160), rules=NEW, grad=True)),
    ],
    "flash: head_dim_size_flash": [(call((2, 8, 256, 256)), call((2, 8, 256, 264))), (call(SQUARE), call(*LATENT))],
    "flash: requires_grad_and_head_dim_gt192_constraints": [
        (call((2, 8, 256, 200), capability=(8, 9)), call((2, 8, 256, 200), capability=(8, 9), grad=True)),
        (
            call((2, 8, 256, 256), capability=(8, 6), grad=True),
            call((2, 8, 256, 256), capability=(8, 6), grad=True, dropout=0.5),
        ),
    ],
    "flash: flash_causal_non_square_seqlens": [
        (call(SQUARE, causal=True), call(SQUARE, (2, 8, 128, 64), (2, 8, 128, 64), causal=True))
    ],
    "efficient: head_dim_size_mem_efficient": [
        (call((2, 8, 256, 8)), call((2, 8, 256, 4))),
        (call((2, 8, 256, 4), dtype=torch.float32), call((2, 8, 256, 2), dtype=torch.float32)),
        (call(*LATENT), call((2, 8, 256, 64), (2, 8, 256, 32), SQUARE)),
    ],
    "efficient: data_ptr_alignment_mem_efficient": [(with_query(OFFSET), with_query(OFFSET, rules=NEW))],
}
SWITCHES = {
    "cudnn": (torch.backends.cuda.enable_cudnn_sdp, (True, False)),
    "flash": (torch.backends.cuda.enable_flash_sdp, (True, False)),
    "efficient": (torch.backends.cuda.enable_mem_efficient_sdp, (True, False)),
    "cudnn, deterministic": (torch.set_deterministic_debug_mode, (0, 2)),
}


def takes(name: str, given: sdpa.AttentionCall) -> bool:
    return sdpa.is_usable(re.match(r"\w+", name)[0], given)


@pytest.mark.parametrize("name", PAIRS)
def test_constraint_lets_one_through_and_stops_the_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdpa, "cudnn_version", lambda: 92600)  # the installed build's may be older
    for passes, fails in PAIRS[name]:
        assert takes(name, passes), passes
        assert not takes(name, fails), fails


@pytest.mark.parametrize("name", SWITCHES)
def test_switches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdpa, "cudnn_version", lambda: 92600)
    switch, (on, off) = SWITCHES[name]
    try:
        switch(off)
        assert not takes(name, call(SQUARE))
    finally:
        switch(on)
    assert takes(name, call(SQUARE))


def test_dropout_needs_a_cudnn_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, can in ((91000, True), (91200, False), (91900, True)):
        monkeypatch.setattr(sdpa, "cudnn_version", lambda version=version: version)
        assert takes("cudnn", call(SQUARE, dropout=0.5)) is can


def test_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sdpa.priority_order((9, 0))[0] == "cudnn"
    assert sdpa.priority_order((8, 0)) == ("flash", "efficient", "math", "cudnn")
    monkeypatch.setattr(sdpa, "cudnn_version", lambda: 91200)
    assert sdpa.priority_order((9, 0))[0] == "flash"
    with torch.nn.attention.sdpa_kernel(
        [torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION, torch.nn.attention.SDPBackend.MATH], set_priority=True
    ):
        assert sdpa.priority_order((9, 0))[0] == "efficient"


@pytest.mark.parametrize(
    ("given", "backend"),
    [
        (call(SQUARE), "cudnn"),
        (call(SQUARE, capability=(8, 0)), "flash"),
        (call((2, 8, 256, 256)), "cudnn"),
        (call(SQUARE, dtype=torch.float32), "efficient"),
        (call(SQUARE, dtype=torch.float64), "math"),
        (call(SQUARE, rules=MIDDLE, dropout=0.1), "flash"),
        (call(SQUARE, capability=(8, 0), mask=tensor(256, 256)), "efficient"),
        (call(SQUARE, mask=tensor(256, 1).expand(256, 256)), "math"),
        (call(SQUARE, mask=tensor(256, 256).requires_grad_()), "efficient"),
        (call(*GROUPED, gqa=True), "cudnn"),
        (call((2, 8, 256, 63), dtype=torch.float32), "math"),
        (call((2, 8, 256, 4)), "flash"),
        (call((8, 256, 64)), "math"),
        (call(SQUARE, capability=(7, 5), dtype=torch.float16), "efficient"),
    ],
)
def test_backend(given: sdpa.AttentionCall, backend: str) -> None:
    assert sdpa.select(given, sdpa.priority_order(given.capability)) == backend


def test_nothing_left_is_torchs_own_error() -> None:
    flash_only = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION)
    with flash_only, pytest.raises(RuntimeError, match="No available kernel"):
        sdpa.select(call(SQUARE, dtype=torch.float32), ("flash", "math"))


# What `select_sdp_backend_cpp`, the CPU's chooser, asks too (its masks may have any stride).
SHARED = {
    "cudnn: tensor_shapes": lambda given: given.is_dense(one_element=True),
    "cudnn: attn_mask_shape": sdpa._has_cudnn_mask,
    "flash: nonzero_sequence_lengths_dense": lambda given: given.is_dense(one_element=True),
    "flash: batch_size_and_num_heads_dense": lambda given: given.has_heads(grouped=True),
}


@pytest.mark.parametrize("name", SHARED)
def test_shared_constraints_against_torchs_own(name: str) -> None:
    checked = 0
    for pair in PAIRS[name]:
        for given in pair:
            if given.gqa or given.rules is not OLD:
                continue
            arguments = [
                torch.zeros(t.shape, dtype=torch.float32, requires_grad=t.requires_grad) if t is not None else None
                for t in (given.query, given.key, given.value, given.mask)
            ]
            own = torch._fused_sdp_choice(*arguments) != int(torch.nn.attention.SDPBackend.MATH)
            installed = replace(given, rules=sdpa.Rules.installed())
            if installed.rules.recent and installed.query.dim() == 3:
                batch = {name: getattr(given, name).unsqueeze(0) for name in ("query", "key", "value")}
                installed = replace(installed, **batch)
            assert own == SHARED[name](installed), installed
            checked += 1
    assert checked >= 2


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_rules_against_the_device() -> None:
    """Every call of the pairs, on the device: each kernel's `can_use_*`, and what the dispatcher chooses."""
    capability, rules = torch.cuda.get_device_capability(), sdpa.Rules.installed()
    numbers = {name: number for number, name in sdpa._BACKENDS.items()}
    can_use = {
        "cudnn": getattr(torch.backends.cuda, "can_use_cudnn_attention", None),
        "flash": torch.backends.cuda.can_use_flash_attention,
        "efficient": torch.backends.cuda.can_use_efficient_attention,
    }
    for given in (given for pairs in PAIRS.values() for pair in pairs for given in pair):
        tensors = [
            None if t is None else torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cuda")
            for t in (given.query, given.key, given.value, given.mask)
        ]
        for ours, theirs in zip(tensors, (given.query, given.key, given.value, given.mask), strict=True):
            if ours is not None:
                ours.requires_grad_(theirs.requires_grad)
        here = sdpa.AttentionCall(capability, rules, *tensors, given.dropout, given.causal, given.gqa)
        params = torch.backends.cuda.SDPAParams(*tensors, given.dropout, given.causal, given.gqa)
        for backend, ask in can_use.items():
            if ask is not None and here.query.dim() == 4:
                assert ask(params) == sdpa.is_usable(backend, here), (backend, here)
        chosen = torch._fused_sdp_choice(*tensors, given.dropout, given.causal, enable_gqa=given.gqa)
        assert chosen == numbers[sdpa.select(here, sdpa.priority_order(capability))], here


def test_the_rules_choose_as_a_real_h200_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,996 random calls: shapes, strides, dtypes, masks, gradients, grouped heads; each kernel's `can_use_*`, the choice."""
    path = Path(__file__).parent.parent / "data" / "sdpa" / "h200.json.xz"
    seen = json.loads(lzma.decompress(path.read_bytes()))
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: seen["cudnn"])
    tensors = [None if item is None else laid_out(*item) for item in seen["tensors"]]
    wrong: list[object] = []
    for *places, dropout, causal, gqa, grad_mode, usable, chosen in seen["calls"]:
        query, key, value, mask = (None if place is None else tensors[place] for place in places)
        with torch.set_grad_enabled(grad_mode):
            made = sdpa.AttentionCall((9, 0), OLD, query, key, value, mask, dropout, causal, gqa)
            can = [sdpa.is_usable(backend, made) for backend in ("cudnn", "flash", "efficient")]
            found = sdpa.select(made, ("cudnn", "flash", "efficient", "math"))
        if ("".join(".x"[it] for it in can), found) != (usable, chosen):
            wrong.append((places, usable, chosen, can, found))
    assert len(seen["calls"]) == 3996 and not wrong, wrong[:3]
    assert len({chosen for *_, chosen in seen["calls"]}) == 4


def laid_out(shape: list[int], stride: list[int], dtype: str, grad: bool, offset: int) -> torch.Tensor:
    length = offset + 1 + sum(max(size - 1, 0) * step for size, step in zip(shape, stride, strict=True))
    flat = tensor(length, dtype=getattr(torch, dtype))
    return flat.as_strided(shape, stride, offset).detach().requires_grad_(grad)
