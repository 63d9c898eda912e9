"""Try every verified hint of a battery of programs: plan each again with the switch that the hint names.

    python tools/try_hints.py [NAME …] [--models] [-o FILE]

A hint holds where the two ops of its pair are in one kernel then. Needs no GPU. `--models`: models of `tests/zoo` instead,
those whose library is here; NAME is then theirs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import nn

import fxscope
from tests.zoo.programs import PROGRAMS, Program

if TYPE_CHECKING:
    from fxscope.model import Decision, Recording

Make = Callable[..., torch.Tensor]

TEMPLATES = {
    "max_autotune_gemm": True,
    "max_autotune_gemm_backends": "TRITON",
    "max_autotune_conv_backends": "ATEN",
    "benchmark_epilogue_fusion": False,
    "benchmark_template_fusion": False,
}
LIMITS = {"max_fusion_size": 64, "max_fusion_unique_io_buffers": 1 << 20, "score_fusion_memory_threshold": 1}

PRODUCTS: dict[str, Callable[[Make], torch.Tensor]] = {
    "mm": lambda t: t(512, 256) @ t(256, 384),
    "mm_transposed": lambda t: t(512, 256) @ t(384, 256).t(),
    "addmm": lambda t: F.linear(t(512, 256), t(384, 256), t(384)),
    "bmm": lambda t: t(8, 128, 64) @ t(8, 64, 96),
    "convolution": lambda t: F.conv2d(t(4, 32, 28, 28), t(64, 32, 3, 3), padding=1),
}
AFTER: dict[str, Callable[[torch.Tensor, Make], Any]] = {
    "relu": lambda y, t: torch.relu(y),
    "gelu_mul": lambda y, t: F.gelu(y) * t(*y.shape),
    "returned_too": lambda y, t: (y, y.sigmoid()),
    "sum": lambda y, t: y.sum(-1),
    "softmax": lambda y, t: torch.softmax(y, -1),
    "norm": lambda y, t: F.layer_norm(y, y.shape[-1:]),
    "transposed": lambda y, t: (y.transpose(-1, -2) * 2).contiguous(),
    "half": lambda y, t: y[..., : y.shape[-1] // 2] * 2,
    "cast": lambda y, t: y.to(torch.float16),
    "chunks": lambda y, t: (lambda a, b: a * b.sigmoid())(*y.chunk(2, -1)),
    "cat": lambda y, t: torch.cat((y, t(*y.shape)), -1) + 1,
    "broadcast": lambda y, t: y.unsqueeze(0) * t(3, *y.shape),
    "cumsum": lambda y, t: y.float().cumsum(-1),
    "two_readers": lambda y, t: (y.sin(), y.cos().sum(-1)),
    "gathered": lambda y, t: y.flatten()[torch.arange(0, y.numel(), 3, device=y.device)] * 2,
    "silu": lambda y, t: F.silu(y),
    "clamped": lambda y, t: y.clamp(-1, 1) / 3,
    "residual": lambda y, t: (y + t(*y.shape), y.tanh()),
    "where": lambda y, t: torch.where(t(*y.shape) > 0, y, y * 0),
    "int8": lambda y, t: (y * 10).round().to(torch.int8),
    "scaled": lambda y, t: y * t(y.shape[-1]) + t(*y.shape[:-1], 1),
    "flat": lambda y, t: y.reshape(-1) * 3,
    "permuted": lambda y, t: y.transpose(-1, -2) + 1,
    "padded": lambda y, t: F.pad(y, (1, 1)) + 1,
    "flipped": lambda y, t: y.flip(-1) * 2,
    "stacked": lambda y, t: torch.stack([y, y * 2]),
    "quantized": lambda y, t: (y / (y.abs().amax(-1, keepdim=True) + 1)).round(),
    "largest": lambda y, t: y.argmax(-1),
}
BEFORE: dict[str, Callable[[Make], torch.Tensor]] = {
    "relu": lambda t: torch.relu(t(512, 256)),
    "gelu_mul": lambda t: F.gelu(t(512, 256)) * t(512, 256),
    "scaled": lambda t: t(512, 256) * t(256),
    "cast": lambda t: t(512, 256).half().to(t.dtype),  # type: ignore[attr-defined]
    "norm": lambda t: F.layer_norm(t(512, 256), (256,)),
    "padded": lambda t: F.pad(t(512, 255), (0, 1)),
    "embedded": lambda t: t(1000, 256)[torch.arange(512, device=t(1).device)],
    "negated": lambda t: -t(512, 256),
    "silu": lambda t: F.silu(t(512, 256)),
    "dequantized": lambda t: t(512, 256) * t(512, 1) + t(256),
    "where": lambda t: torch.where(t(512, 256) > 0, t(512, 256), t(256)),
    "transposed": lambda t: t(256, 512).t() * 2,
    "cat": lambda t: torch.cat([t(512, 128), t(512, 128).relu()], -1),
    "softmax": lambda t: t(512, 256).softmax(-1),
    "sum": lambda t: t(4, 512, 256).sum(0),
}
APART: dict[str, Callable[[torch.Tensor, Make], Any]] = {
    "rows_and_transposed": lambda x, t: (x.sum(-1), x.t().contiguous()),
    "rows_and_columns": lambda x, t: (x.sum(-1), x.sum(0)),
    "halves": lambda x, t: (x[:100] * 3, x[100:] * 2),
    "half_and_sum": lambda x, t: (x[:100] * 3, x[100:].sum(-1)),
    "groups": lambda x, t: ((y := x * t(512)), y.view(-1, 128).pow(2).mean(-1)),
    "nested": lambda x, t: ((y := F.rms_norm(x, (512,))), y.view(1024, 8, 64).abs().amax(-1)),
    "two_norms": lambda x, t: (F.layer_norm(x, (512,)), F.layer_norm(x.view(-1, 256), (256,))),
    "strided": lambda x, t: (x[::2] + 1, x[1::2] + 2),
    "windows": lambda x, t: (x[:, :-1] * 2, x[:, 1:] * 3),
    "reduced_then_used": lambda x, t: ((s := x.sum(0)), x * s),
    "views": lambda x, t: (x.view(2048, 256).sum(-1), x * 2),
    "sorted": lambda x, t: (x.sort(-1)[0], x.sin()),
    "scan_and_sum": lambda x, t: (x.cumsum(-1), x.sum(0)),
    "many_limits": lambda x, t: tuple((x + i).sum(-1) if i % 2 else x[i:] * i for i in range(1, 9)),
    "wide": lambda x, t: tuple((x * i).relu() for i in range(1, 9)),
    "norm_chain": lambda x, t: F.layer_norm(F.layer_norm(x, (512,)) + x, (512,)),
    "softmaxes": lambda x, t: (x.softmax(-1), x.softmax(0)),
    "group_norm": lambda x, t: F.group_norm(x.view(4, 256, 512), 8) * 2,
    "broadcast": lambda x, t: ((s := x.mean(-1, keepdim=True)), x - s, (x - s).pow(2).sum(0)),
    "gathered": lambda x, t: (x.gather(-1, x.abs().long().clamp(max=5)), x.sum(-1)),
    "row_blocks": lambda x, t: ((y := x * 2), y.view(1024, 8, 64).sum(-1), y.sum(-1)),
}
OFF = {"loop_ordering_after_fusion": False, "loop_reindexing_after_fusion": False}
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {  # parts of the battery → the switches they are planned with first
    "product": {"": {}, "_no_epilogue": {**TEMPLATES, "epilogue_fusion": False}},
    "before": {"": {}, "_no_prologue": {**TEMPLATES, "prologue_fusion": False}},
    "apart": {
        "": {},
        "_off": OFF,
        "_small": {"max_fusion_size": 4},
        "_narrow": {"max_fusion_unique_io_buffers": 2},
        "_picky": {"score_fusion_memory_threshold": 1 << 30},
        "_flat": {"triton.nested_reduction": False},
    },
}


class Battery(nn.Module):
    """Independent parts in one program; each takes its own inputs."""

    def __init__(self, parts: list[Callable[[Make], Any]], dtype: torch.dtype) -> None:
        super().__init__()
        self.parts = parts
        self.dtype = dtype
        self.shapes: list[tuple[int, ...]] = []

        def note(*shape: int) -> torch.Tensor:
            self.shapes.append(shape)
            return torch.randn(shape, dtype=dtype)

        note.dtype = dtype  # type: ignore[attr-defined]
        for part in parts:
            part(note)

    def forward(self, *tensors: torch.Tensor) -> Any:
        left = iter(tensors)

        def take(*shape: int) -> torch.Tensor:
            return next(left)

        take.dtype = tensors[0].dtype  # type: ignore[attr-defined]
        return tuple(part(take) for part in self.parts)


def programs() -> dict[str, tuple[Battery, dict[str, Any]]]:
    """Name → program and the switches it is planned with first."""
    found: dict[str, tuple[Battery, dict[str, Any]]] = {}
    for dtype in (torch.float32, torch.bfloat16):
        parts: dict[str, list[Callable[[Make], Any]]] = {
            name: [lambda t, p=product, a=after: a(p(t), t) for after in AFTER.values()]
            for name, product in PRODUCTS.items()
        }
        parts["before"] = [lambda t, b=before: b(t) @ t(256, 384) for before in BEFORE.values()]
        parts["before"] += [lambda t, b=before: ((y := b(t)), y @ t(256, 384)) for before in BEFORE.values()]
        parts["before"] += [lambda t, b=before: F.linear(b(t), t(384, 256), t(384)) for before in BEFORE.values()]
        parts["apart"] = [lambda t, a=apart: a(t(1024, 512), t) for apart in APART.values()]
        for name, these in parts.items():
            for how, options in SETTINGS.get(name, SETTINGS["product"]).items():
                found[f"{name}{how}_{dtype}".replace("torch.", "")] = (Battery(these, dtype), options)
    return found


def models() -> dict[str, tuple[Program, dict[str, Any]]]:
    here = {name: program for name, program in PROGRAMS.items() if find_spec(program.library)}
    options = {how: switches for settings in SETTINGS.values() for how, switches in settings.items()}
    return {name + how: (program, switches) for how, switches in options.items() for name, program in here.items()}


def planned(program: Battery | Program, options: dict[str, Any]) -> Recording | None:
    """The plan with these switches; `None`, and a line, where there is none."""
    try:
        return plan_of(program, options)
    except fxscope.FxscopeError as error:
        print(error, flush=True)
        return None


def plan_of(program: Battery | Program, options: dict[str, Any]) -> Recording:
    torch._dynamo.reset()
    torch.manual_seed(0)
    known = {name: value for name, value in options.items() if hasattr(torch._inductor.config, name.split(".")[0])}
    compile = {"options": known} if known else {}
    if isinstance(program, Battery):
        given = [torch.randn(shape, dtype=program.dtype) for shape in program.shapes]
        return fxscope.record(program, *given, compile=compile or True, target="h200")
    module, inputs = program.make("cpu")
    if program.train:
        inputs = tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)
    compile = {**program.compile, "options": {**program.compile.get("options", {}), **known}}
    return fxscope.record(module, *inputs, compile=compile, backward=program.train, target="h200")


def with_switch(options: dict[str, Any], item: Decision) -> dict[str, Any]:
    """The options with what a hint says."""
    config = item.config or ""
    if config == "max_autotune_gemm":
        return {**options, **TEMPLATES}
    return {**options, config: LIMITS.get(config, item.hint_code != "disable")}


def is_joined(item: Decision, after: Recording) -> bool:
    """Whether one kernel runs ops of both sides."""
    calls = [set(call.nodes) for call in after.calls if call.graph == item.graph]
    return any(set(item.a) & nodes and set(item.b) & nodes for nodes in calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--models", action="store_true", help="try models instead of the battery")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    every: Mapping[str, tuple[Battery | Program, dict[str, Any]]] = models() if arguments.models else programs()
    counts: Counter[tuple[str, bool]] = Counter()
    false: list[list[Any]] = []
    unverified = 0
    for name in arguments.names or every:
        program, options = every[name]
        started = time.time()
        before = planned(program, options)
        if before is None:
            continue
        claimed = [item for item in before.decisions if item.hint_verified]
        unverified += sum(item.hint_code is not None and not item.hint_verified for item in before.decisions)
        for config in dict.fromkeys(item.config for item in claimed):
            mine = [item for item in claimed if item.config == config]
            after = planned(program, with_switch(options, mine[0]))
            for item in mine if after is not None else ():
                holds = is_joined(item, after)
                counts[str(config), holds] += 1
                if not holds:
                    false.append([name, config, item.a, item.b, item.reason])
                    print("FALSE", *false[-1], flush=True)
        print(f"{name}: {len(claimed)} hints, {time.time() - started:.0f} s, problems {before.problems}", flush=True)
    total, held = sum(counts.values()), sum(count for (_, holds), count in counts.items() if holds)
    print(f"{held} of {total} verified hints do what they say; {unverified} hints were not verified")
    for (config, holds), count in sorted(counts.items()):
        print(f"  {config}: {count} {'held' if holds else 'false'}")
    if arguments.output:
        arguments.output.write_text(json.dumps({"held": held, "of": total, "false": false}, indent=1))


if __name__ == "__main__":
    main()
