"""Passes of a serving engine: phase, layout of graphs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fxscope.analysis.report import report
from fxscope.analysis.serving import parsed
from fxscope.readers.join import read_trace
from fxscope.render import terminal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("execute_32_context_0(sq0sk0)_generation_32(sq32sk55086)", ("decode", 32, 32)),
        ("execute_8192_context_9(sq8155sk8430)_generation_37(sq37sk34489)", ("mixed", 46, 8192)),
        ("execute_context_1(888_788544)_generation_0(0)", ("prefill", 1, None)),
        ("step[DECODE bs=32]", ("decode", 32, None)),
        ("step[EXTEND bs=15 toks=15360]", ("prefill", 15, 15360)),
        ("step[IDLE bs=0]", None),
        ("execute_diffusion_1_256x256", None),
    ],
)
def test_a_pass_by_its_annotation(name: str, found: object) -> None:
    assert parsed(name) == found


def served(path: Path) -> Path:
    """A prefill launched kernel by kernel in two layers, a decode as one replay, and a copy between them."""
    events: list[dict[str, Any]] = []
    host: dict[str, Any] = {"ph": "X", "pid": 1, "tid": 1}

    def device(name: str, at: float, correlation: int, **args: Any) -> None:
        places = {"stream": 7, "device": 0, "correlation": correlation, **args}
        events.append(
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": 10, "args": places}
        )

    def call(name: str, at: float, correlation: int) -> None:
        events.append(
            {**host, "cat": "cuda_runtime", "name": name, "ts": at, "dur": 1, "args": {"correlation": correlation}}
        )

    def around(category: str, name: str, at: float, duration: float, **args: Any) -> None:
        events.append({**host, "cat": category, "name": name, "ts": at, "dur": duration, "args": args})

    around("user_annotation", "execute_64_context_2(sq64sk64)_generation_0(sq0sk0)", 0, 100)
    for layer in range(2):
        at = 10 + 40.0 * layer
        around("python_function", f"nn.Module: Layer_{layer}", at, 30, **{"Python id": 10 * layer + 1})
        for place, module in enumerate(("Attention", "MLP")):
            start = at + 1 + 12 * place
            python = {"Python id": 10 * layer + 2 + place, "Python parent id": 10 * layer + 1}
            around("python_function", f"nn.Module: {module}_{layer}", start, 10, **python)
            around("cpu_op", "aten::mm", start + 1, 8, **{"External id": 10 * layer + place + 1})
            call("cudaLaunchKernel", start + 2, 10 * layer + place + 1)
            device("gemm", start + 5, 10 * layer + place + 1)
    call("cudaLaunchKernel", 150, 98)
    device("copy", 160, 98)
    around("user_annotation", "execute_4_context_0(sq0sk0)_generation_4(sq4sk400)", 200, 50)
    call("cudaGraphLaunch", 210, 99)
    for node in range(3):
        device("k", 220 + 10 * node, 99, **{"graph id": 1, "graph node id": node})
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_phases_and_layouts(tmp_path: Path) -> None:
    recording = read_trace(served(tmp_path / "t.json"))
    found = report(recording).serving
    assert found is not None and found.engine is None
    phases = {row.phase: row for row in found.phases}
    prefill, decode, outside = phases["prefill"], phases["decode"], phases[None]
    assert (prefill.requests, prefill.tokens, prefill.layout, prefill.time_us) == (2, 64, "no graph", 40)
    assert (decode.requests, decode.tokens, decode.layout, decode.replays, decode.time_us) == (
        4,
        4,
        "full graph",
        1,
        30,
    )
    assert outside.time_us == 10
    text = terminal.render(recording)
    assert "Passes of a serving engine, device time" in text and "full graph (1 replay)" in text
    assert len(text.splitlines()) <= 40
