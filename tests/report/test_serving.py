"""Passes of a serving engine: phase, layout of graphs."""

from pathlib import Path
from typing import Any

import pytest

from fxscope.analysis import why
from fxscope.analysis.report import report
from fxscope.analysis.serving import parsed
from fxscope.model import Recording, replace
from fxscope.readers.join import read_trace
from fxscope.render import terminal
from tests import build

VENDORS = Path(__file__).parent.parent / "data" / "vendors"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("execute_32_context_0(sq0sk0)_generation_32(sq32sk55086)", ("decode", 32, 32)),
        ("execute_8192_context_9(sq8155sk8430)_generation_37(sq37sk34489)", ("mixed", 46, 8192)),
        ("execute_context_1(888_788544)_generation_0(0)", ("prefill", 1, None)),
        ("execute_new_2_cached_30", ("mixed", 32, None)),
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

    def around(category: str, name: str, at: float, duration: float, **args: Any) -> None:
        events.append(build.event(category, name, at, duration, **args))

    def device(name: str, at: float, correlation: int, **args: Any) -> None:
        around("kernel", name, at, 10, correlation=correlation, **args)

    def call(name: str, at: float, correlation: int) -> None:
        around("cuda_runtime", name, at, 1, correlation=correlation)

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
    return build.write_trace(path, events)


def test_phases_and_layouts(tmp_path: Path) -> None:
    recording = read_trace(served(tmp_path / "t.json"))
    found = report(recording).serving
    assert found is not None and found.engine is None
    assert report(replace(recording, launches=recording.launches[-3:])).contents == "CUDA graphs"  # eager ops are few
    phases = {row.phase: row for row in found.phases}
    prefill, decode, outside = phases["prefill"], phases["decode"], phases[None]
    assert (prefill.requests, prefill.tokens, prefill.layout, prefill.time_us) == (2, 64, "no graph", 40)
    assert (decode.requests, decode.tokens, decode.layout) == (4, 4, "full graph")
    assert (decode.replays, decode.time_us) == (1, 30)
    assert outside.time_us == 10
    text = terminal.render(recording)
    assert "Passes of a serving engine, device time" in text and "1 full graph" in text
    assert len(text.splitlines()) <= 40


def test_a_replay_of_an_engine_that_compiles(command) -> None:
    path = VENDORS / "vllm_replay.json.gz"
    recording = read_trace(path)
    assert report(recording).contents == "compiled, its graphs not recorded"
    text = terminal.render(recording)
    (row,) = (line for line in text.splitlines() if line.startswith("  mixed"))
    assert "156.1 ms  100 %" in row and row.endswith("25 piecewise graphs")
    told = command("why", path, "matmul_ogs_NNT_bf16xbf16").out
    assert "its op is not known; 24 launches" in " ".join(told.split())


def test_a_composite_op_has_the_time_of_what_it_calls(tmp_path: Path, command) -> None:
    ops = [("aten::linear", 10, 30), ("aten::addmm", 12, 20)]
    steps = [("user_annotation", f"ProfilerStep#{number}", at, 90, {}) for number, at in enumerate((0, 100))]
    events = [("cpu_op", name, at + begin, took, {}) for at in (0, 100) for name, begin, took in ops]
    for at, number in ((0, 7), (100, 8)):
        events.append(("cuda_runtime", "cudaLaunchKernel", at + 15, 2, {"correlation": number}))
        events.append(("kernel", "gemm", at + 20, 10 * (number - 6), {"correlation": number}))
    written(tmp_path / "trace.json", [*steps, *events])
    said = " ".join(command("why", tmp_path / "trace.json", "linear").out.split())
    assert "all aten::linear: 15.0 µs per step on average (100 % of the device time)" in said


def written(path: Path, events: list[tuple[str, str, float, float, dict[str, Any]]]) -> Recording:
    return read_trace(build.write_trace(path, [build.event(*places, **args) for *places, args in events]))


def test_a_collective_has_the_name_of_its_mark(tmp_path: Path) -> None:
    events = [
        ("cpu_op", "c10d::allreduce_", 0.0, 90.0, {"External id": 1}),
        ("cpu_op", "record_param_comms", 1.0, 80.0, {"External id": 2}),
        ("user_annotation", "nccl:all_reduce", 2.0, 70.0, {}),
        ("cuda_runtime", "cudaLaunchKernelExC", 3.0, 5.0, {"correlation": 5}),
        ("kernel", "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 20.0, 60.0, {"correlation": 5}),
    ]
    (row,) = report(written(tmp_path / "t.json", events)).kernels
    assert row.label == "nccl:all_reduce"


def test_exposed_communication_is_the_first_advice_where_it_takes_the_step(tmp_path: Path) -> None:
    events: list[tuple[str, str, float, float, dict[str, Any]]] = []
    ran = (("gemm", "aten::mm"), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "c10d::x")) * 3
    for step, (name, op) in enumerate(ran):
        at, number = 100.0 * step, {"correlation": step + 1}
        events += [("user_annotation", f"ProfilerStep#{step // 2}", at, 200.0, {})] if step % 2 == 0 else []
        events += [
            ("cpu_op", op, at + 1, 9.0, {"External id": step + 1}),
            ("cuda_runtime", "cudaLaunchKernel", at + 2, 1.0, number),
            ("kernel", name, at + 3, 95.0, number),
        ]
    found = report(written(tmp_path / "t.json", events))
    assert found.advice[0].text.endswith("then overlap communication") and found.advice[0].gain_us == 95


def test_a_graph_in_a_compiled_region_is_not_the_op_of_its_kernels(tmp_path: Path) -> None:
    events = [
        ("cpu_op", "Torch-Compiled Region: 0/0", 0.0, 50.0, {"External id": 1}),
        ("cuda_runtime", "cudaGraphLaunch", 1.0, 5.0, {"correlation": 5}),
        ("kernel", "gemm", 20.0, 10.0, {"correlation": 5, "graph id": 1, "graph node id": 7}),
    ]
    made = report(written(tmp_path / "t.json", events))
    assert "the op of 1 of 1 device events (graph replays: --capture)" in made.unknown


@pytest.mark.parametrize(
    ("load_us", "said"), [(38_000.0, "the longest there, while the CPU is in load"), (15_000.0, "the longest there")]
)
def test_a_long_gap_is_worth_a_look_where_no_side_is_the_limit(tmp_path, load_us, said) -> None:
    events: list[tuple[str, str, float, float, dict[str, Any]]] = []
    for step in range(3):
        at = 100_000.0 * step
        events += [
            ("user_annotation", f"ProfilerStep#{step}", at, 100_000.0, {}),
            ("user_annotation", "load", at + 100, load_us, {}),
            ("cpu_op", "decode", at + 200, 100.0, {}),
            ("cpu_op", "elsewhere", at + 200, 39_000.0, {"tid": 9}),
            ("cpu_op", "aten::mm", at + 40_000, 100.0, {"External id": step + 1}),
            ("cuda_runtime", "cudaLaunchKernel", at + 40_010, 10.0, {"correlation": step + 1}),
            ("kernel", "gemm", at + 40_100, 59_000.0, {"correlation": step + 1}),
        ]
    found = report(written(tmp_path / "t.json", events))
    assert found.step.bound not in ("cpu", "gpu")
    assert found.advice[0].text == "Look at what the CPU does before mm" and found.advice[0].why.endswith(said)


@pytest.mark.parametrize(("name", "is_known"), [("matmul", True), ("ogs", True), ("mul", False), ("norm", False)])
def test_a_kernel_without_an_op_is_found_by_a_word_of_its_name(name: str, is_known: bool) -> None:
    recording = read_trace(VENDORS / "vllm_replay.json.gz")
    assert bool(why.labelled(recording, name)) == is_known


def test_a_node_says_the_function_of_its_kernel(tmp_path: Path) -> None:
    kernel = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, A<char*, 2ul>>(int)"
    events = [
        ("cpu_op", "aten::add", 0.0, 9.0, {"External id": 1}),
        ("cuda_runtime", "cudaLaunchKernel", 1.0, 1.0, {"correlation": 7}),
        ("kernel", kernel, 3.0, 4.0, {"correlation": 7}),
    ]
    (node,) = written(tmp_path / "t.json", events).graphs[0].nodes
    assert node.reason == "launched vectorized_elementwise_kernel<add>"
