"""Against the roof: the numbers of the H200 captures, and null where nothing is known."""

import re

import pytest

from fxscope import gpus
from fxscope.analysis.compare import compare
from fxscope.analysis.report import report
from fxscope.model import (
    BufferAccess,
    Compile,
    Decision,
    Environment,
    Graph,
    MemoryDep,
    Node,
    Op,
    Recording,
    Schedule,
    SchedulerNode,
    TensorMeta,
    Workload,
    replace,
)
from fxscope.passes import flops
from fxscope.passes.cost import cost
from fxscope.passes.fusion import fusion
from fxscope.passes.schedules import schedules
from fxscope.render import labels, why
from fxscope.text import microseconds
from tests import build
from tests.build import timing

MEGABYTES_50 = 8192 * 3072 * 2


def pointwise(mean_us=None):
    traffic = {"bytes_read": 2 * MEGABYTES_50, "bytes_written": MEGABYTES_50, "device": "cuda:0"}
    return build.call(
        3, "triton_poi_fused_gelu_mul_0", graph="g", timing=timing(mean_us) if mean_us else None, **traffic
    )


def on_h200(*calls, **fields):
    return cost(Recording(environment=Environment(device="NVIDIA H200"), calls=calls, **fields))


@pytest.mark.parametrize(("mean_us", "terabytes", "share"), [(56.0, 2.70, 0.58), (38.4, 3.93, 0.85)])
def test_gelu_mul_against_the_measured_bandwidth(mean_us, terabytes, share):
    roof = on_h200(pointwise(mean_us)).calls[0].roof
    assert roof.bytes_per_second == pytest.approx(terabytes * 1e12, rel=0.01)
    assert roof.share == pytest.approx(share, abs=0.01)
    assert roof.floor_us == pytest.approx(32.6, abs=0.5)
    assert roof.bound == "memory"
    assert "measured" in roof.basis


def test_what_a_shared_graph_costs_a_step():
    """Several modules of a plan share a graph: each time costs what once costs, a step all of them."""
    work = Workload(family="pointwise", dtype="bfloat16", num_bytes=2 * MEGABYTES_50, elements=MEGABYTES_50 // 2)
    traffic = {"bytes_read": MEGABYTES_50, "bytes_written": MEGABYTES_50, "device": "cuda:0", "workload": work}
    calls = tuple(build.call(number, "triton_poi_fused", **traffic) for number in (0, 1))
    pair = build.pair(*calls, saved_bytes=2 * MEGABYTES_50, saved_launches=1)
    plan = Recording(environment=Environment(target="h200"), calls=calls, decisions=(pair,))
    once, often = (cost(replace(plan, compiles=(Compile(compile_id="0/0", runs=runs),))) for runs in (None, 12))
    assert once.decisions == often.decisions
    us = once.decisions[0].expected_us
    assert labels.price(once.decisions[0], once) == f"100.7 MB, about {microseconds(us)}"
    assert labels.price(often.decisions[0], often) == f"100.7 MB, about {microseconds(us)}, 12 times a step"
    said = why.cost(often.decisions[0], often)
    assert said == (why.cost(once.decisions[0], once) + f"; 12 times per step: ~{microseconds(12 * us)}")
    (row,) = report(often).missed
    assert row.time_us == pytest.approx(12 * us) and row.bytes == 12 * 2 * MEGABYTES_50
    matches = compare(once, often).kernels
    assert [(use.time_us, use.runs) for match in matches for use in match.b] == [
        (c.estimated_us, 12) for c in once.calls
    ]
    assert [match.saved_bytes for match in matches] == [-11 * 2 * MEGABYTES_50] * 2


@pytest.mark.parametrize(
    ("kernel", "kind", "whose"),
    [
        ("extern_kernels.mm", "extern", "library kernels"),
        ("triton_tem_fused_mm", "triton_template", "Inductor's templates"),
        ("mine", "user_triton", "the program's own kernels"),
        ("triton_poi_fused_1", "triton_pointwise", ""),
    ],
)
def test_whose_kernel_one_that_fuses_would_stand_in_for(kernel, kind, whose):
    traffic = {"bytes_read": MEGABYTES_50, "bytes_written": MEGABYTES_50, "device": "cuda:0", "timing": timing(40, 1)}
    calls = (build.call(0, kernel, **traffic, type=kind), build.call(1, "triton_poi_fused_2", **traffic))
    recording = on_h200(*calls, decisions=(build.pair(*calls, saved_bytes=MEGABYTES_50),))
    said = why.cost(recording.decisions[0], recording)
    assert said.endswith(f"(estimate; not validated for {whose})" if whose else "(estimate)")


def test_a_long_kernel_that_moves_little_is_not_saved_by_its_neighbour():
    """A sort takes what it takes; one kernel with the gather after it saves at most the gather and its traffic."""
    calls = (
        build.call(0, "triton_per_fused_sort_0", bytes_read=10**6, bytes_written=10**6, timing=timing(80, 1)),
        build.call(1, "triton_poi_fused_gather_1", bytes_read=10**5, bytes_written=10**5, timing=timing(1.2, 1)),
    )
    expected = on_h200(*calls, decisions=(build.pair(*calls, saved_bytes=10**5),)).decisions[0].expected_us
    assert expected is not None and 0 < expected <= 1.2 + 80 * 0.5e5 / 2e6 + 1e-9


def two_of(a_us, b_us, *, saved, a_writes="t", b_reads="t", **decided):
    """Two generated kernels of 2 MB each, the first's result or an input of both between them: their decision, priced."""
    size = 10**6
    accesses = [
        tuple(BufferAccess(buffer=name, bytes=size) for name in names)
        for names in (("x", "s"), (a_writes,), (b_reads, "s"), ("y",))
    ]
    calls = tuple(
        build.call(
            number,
            f"triton_poi_fused_{number}",
            reads=accesses[2 * number],
            writes=accesses[2 * number + 1],
            bytes_read=2 * size,
            bytes_written=size,
            timing=timing(us, 1),
            graph="g0",
        )
        for number, us in enumerate((a_us, b_us))
    )
    recording = on_h200(*calls, decisions=(build.pair(*calls, saved_bytes=saved, **decided),))
    return recording.decisions[0], recording


def test_the_longer_kernel_saves_only_the_traffic_that_goes():
    flows, _ = two_of(1.1, 40.0, saved=10**6)
    assert 1.1 < flows.expected_us < 1.1 + 0.5  # 0.44 µs for 1 MB


def test_what_a_loop_of_a_function_wrote_is_not_read_from_outside():
    """The second loop reads the first one's result, and all of an input of which the first read and wrote a half in place."""

    def access(buffer, index, size=8192):
        deps = (MemoryDep(index=index, ranges=tuple((name, sizes[name]) for name in re.findall(r"c\d", index))),)
        return BufferAccess(buffer=buffer, bytes=size, shape=(2048,), dtype="float32", deps=deps)

    sizes = {"c0": 2048, "c1": 2, "c2": 1024}
    half = access("y", "c2", 4096)
    loops = (
        ((access("x", "c0"), half), (access("buf0", "c0"), half)),
        ((access("x", "c0"), access("buf0", "1024*c1 + c2"), access("y", "2*c2 + c1")), (access("buf1", "c0"),)),
        ((half,), (access("buf2", "c0"),)),
    )
    nodes = tuple(
        SchedulerNode(name=f"op{number}", type="pointwise", group=number, reads=reads, writes=writes, ran=())
        for number, (reads, writes) in enumerate(loops)
    )
    kernels = (("cpp_fused", tuple(node.name for node in nodes)),)
    schedule = Schedule(graph=build.GRAPH, nodes=nodes, groups=build.alone(nodes), kernels=kernels)
    (call,) = schedules(Recording(calls=(build.call(0, "cpp_fused", type="cpp"),), schedules=(schedule,))).calls
    assert {item.buffer: item.bytes for item in call.reads} == {"x": 8192, "y": 8192}
    assert (call.bytes_read, call.bytes_written) == (2 * 8192, 3 * 8192 + 4096)


def product_graph():
    mm = build.node("mm", "aten.mm.default", "x", "w", shape=(8192, 3072))
    inputs = (build.placeholder("x", 8192, 768), build.placeholder("w", 768, 3072))
    return Graph(id="g", stage="post_grad", nodes=(*inputs, mm))


def test_a_gemm_is_held_against_the_matrix_rate():
    traffic = {"bytes_read": 17_301_504, "bytes_written": MEGABYTES_50}
    call = build.call(1, "extern_kernels.mm", "mm", graph="g", timing=timing(70.0), **traffic)
    found = on_h200(call, graphs=(product_graph(),)).calls[0]
    assert found.flops == 2 * 8192 * 768 * 3072
    assert found.roof.flops_per_second == pytest.approx(552e12, rel=0.01)
    peak = gpus.load("h200").matrix_rate("bfloat16").value
    assert found.roof.floor_us == pytest.approx(found.flops / peak * 1e6)
    assert found.roof.bound == "compute"
    assert "798.0 TFLOP/s in bfloat16" in found.roof.basis


def test_a_device_that_nobody_measured_has_rates_and_no_share():
    roof = cost(Recording(environment=Environment(device="NVIDIA X9000"), calls=(pointwise(50.0),))).calls[0].roof
    assert roof.bytes_per_second == pytest.approx(3.02e12, rel=0.01)
    assert (roof.share, roof.floor_us, roof.bound, roof.basis) == (None, None, None, None)


def test_a_call_of_the_cpu_is_not_held_against_the_gpu():
    from fxscope.model import replace

    assert on_h200(replace(pointwise(50.0), device="cpu")).calls[0].roof.share is None


def test_unknown_bytes_stay_unknown():
    call = build.call(1, "k", graph="g", timing=timing(3.0))
    assert on_h200(call).calls[0].roof is None


def eager_pair(rows: int, first: str, second: str, times: tuple[float, float]):
    """An eager graph of two ops in a row over [rows, 1024] bfloat16, the second with another operand, and their decision."""
    size = rows * 1024 * 2
    x, y = (build.placeholder(name, rows, 1024) for name in "xy")
    a = build.dispatched("a", first, "x", outputs=x.outputs, timing=timing(times[0]))
    b = build.dispatched("b", second, "a", "y", outputs=x.outputs, timing=timing(times[1]))
    decision = Decision(graph="g", a=("a",), b=("b",), reason_code="eager", saved_bytes=2 * size)
    graph = Graph(id="g", stage="eager", nodes=(x, y, a, b))
    return on_h200(graphs=(graph,), decisions=(decision,)).decisions[0]


@pytest.mark.parametrize(
    ("megabytes", "times", "saved"),
    [(0.25, (1.22, 0.99), 0.99), (8, (5.95, 4.0), 2.82), (32, (22.86, 23.98), 19.2), (512, (336.3, 348.0), 269.9)],
)
def test_what_one_kernel_would_save_on_an_h200(megabytes, times, saved):
    """gelu(a)·b as an H200 ran it apart and fused: below the cache's size and above it."""
    found = eager_pair(int(megabytes * 1e6 / 2048) // 8 * 8, "aten::gelu", "aten::mul", times)
    assert found.expected_us == pytest.approx(saved, rel=0.5)


def test_a_template_is_expected_to_be_as_fast_as_the_library_kernel():
    found = eager_pair(8192, "aten::mm", "aten::gelu", (50.0, 12.0))
    assert 0 < found.expected_us < 62.0


@pytest.mark.parametrize("order", [("aten::mm", "aten::sum"), ("aten::sum", "aten::mm")])
def test_the_saving_of_a_reduction_beside_a_product_is_not_known(order):
    """A tile of the product has a part of a row: a kernel still brings the parts together."""
    found = eager_pair(8192, *order, (50.0, 12.0))
    assert found.expected_us is None


def test_a_gpu_that_was_not_calibrated_gets_bytes_and_no_time():
    decision = Decision(graph="g", a=("a",), b=("b",), reason_code="eager", saved_bytes=10**9)
    found = cost(Recording(environment=Environment(device="NVIDIA A100-SXM4-80GB"), decisions=(decision,))).decisions[0]
    assert (found.saved_bytes, found.expected_us) == (10**9, None)


def test_fused_pairs_cost_nothing():
    decision = Decision(graph="g", a=("a",), b=("b",), verdict="fused", reason_code="eager", expected_us=1.0)
    assert on_h200(decisions=(decision,)).decisions[0].expected_us is None


def test_a_plan_whose_code_is_not_known_has_a_roofline_of_its_traffic():
    found = cost(Recording(environment=Environment(target="h200"), calls=(pointwise(),)))
    low, high = found.calls[0].estimated_range_us
    assert low < found.calls[0].roof.floor_us < high
    assert found.calls[0].estimated_basis.startswith("roofline of the h200: ")
    assert found.calls[0].roof.share is None


def test_a_kernel_that_ends_before_the_next_can_be_launched_is_launch_bound():
    traffic = {"bytes_read": 4096, "bytes_written": 4096, "device": "cuda:0"}
    small = build.call(1, "k", graph="g", timing=timing(1.5), **traffic)
    launches = tuple(build.launch(number, duration_ns=1500, start_ns=0, correlation=number) for number in (1, 2, 3))
    ops = tuple(
        Op(id=number, name="cudaLaunchKernel", category="runtime", start_ns=0, duration_ns=4000, correlation=number)
        for number in (1, 2, 3)
    )
    found = on_h200(small, launches=launches, ops=ops).calls[0]
    assert found.roof.bound == "launch"


def test_doing_it_twice_changes_nothing():
    once = on_h200(pointwise(56.0), graphs=(product_graph(),))
    assert cost(once) == once


def test_eager_ops_have_bytes_and_a_roof():
    tensor = build.tensor(8192, 3072, stride=(3072, 1))
    source = build.placeholder("g", outputs=(tensor,))
    gelu = build.dispatched("gelu", "aten::gelu", "g", outputs=(tensor,), timing=timing(30.0))
    recording = on_h200(graphs=(Graph(id="eager", stage="eager", nodes=(source, gelu)),))
    node = recording.graphs[0].nodes[1]
    assert (node.bytes_read, node.bytes_written) == (MEGABYTES_50, MEGABYTES_50)
    assert node.roof.share == pytest.approx(node.roof.floor_us / 30)
    assert node.roof.floor_us == pytest.approx(2 * MEGABYTES_50 / 4.29e12 * 1e6, rel=0.2)  # twice the cache: memory's


@pytest.mark.parametrize(
    ("target", "inputs", "result", "expected"),
    [
        ("aten.addmm.default", ((64,), (16, 32), (32, 64)), (16, 64), 2 * 16 * 32 * 64),
        ("aten::bmm", ((4, 8, 16), (4, 16, 8)), (4, 8, 8), 2 * 4 * 8 * 8 * 16),
        ("aten.convolution.default", ((2, 3, 8, 8), (8, 3, 3, 3), (8,)), (2, 8, 6, 6), 2 * 2 * 8 * 36 * 27),
        ("aten.mul.Tensor", ((4, 4), (4, 4)), (4, 4), None),
        ("aten.mm.default", (("s0", 8), (8, 4)), ("s0", 4), None),
    ],
)
def test_flops_of_ops(target, inputs, result, expected):
    nodes = [build.placeholder(f"i{number}", *shape) for number, shape in enumerate(inputs)]
    node = build.node("n", target, *(item.name for item in nodes), outputs=(TensorMeta(shape=result),))
    assert flops.of_node(node, {item.name: item for item in (*nodes, node)}) == expected


def test_a_broadcast_dimension_is_stored_once():
    tensor = TensorMeta(shape=(128, 64), stride=(0, 1), dtype="float32")
    assert flops.tensor_bytes([tensor]) == 64 * 4
    assert flops.tensor_bytes([TensorMeta(shape=("s0",), dtype="float32")]) is None
    assert BufferAccess(buffer="b").bytes is None


@pytest.mark.parametrize(("read", "saved"), [(8192, 0), (24576, 24576), (16384, 8192)])
def test_of_two_parts_of_a_memory_only_what_must_be_the_same_is_read_twice(read: int, saved: int) -> None:
    """q, k and v of one product of 24,576 bytes: thirds may have nothing in common, two thirds have a third."""
    whole, part = ((BufferAccess(buffer="buf0", bytes=size),) for size in (24576, read))
    product = build.call(0, "extern_kernels.mm", "mm", writes=whole)
    readers = [build.call(n, f"triton_poi_fused_{n}", name, reads=part) for n, name in ((1, "sin"), (2, "cos"))]
    graph = Graph(
        id=build.GRAPH,
        stage="post_grad",
        nodes=tuple(build.node(name, f"aten.{name}.default") for name in ("mm", "sin", "cos")),
    )
    recording = fusion(Recording(graphs=(graph,), calls=(product, *readers)))
    found = [item for item in recording.decisions if (item.a_call, item.b_call) == tuple(call.id for call in readers)]
    assert [(item.saved_bytes, item.saved_bytes_least) for item in found] == [(saved, 0 < saved < read)]


def test_bytes_of_which_more_may_be_saved_are_a_lower_bound_in_every_view() -> None:
    """Files without a schedule do not tell whether the graph returns a product, so whether it must be written."""
    result = (BufferAccess(buffer="buf0", bytes=8192),)
    product = build.call(0, "extern_kernels.mm", "mm", writes=result)
    reader = build.call(1, "triton_poi_fused_sin_0", "sin", reads=result)
    nodes = tuple(build.node(name, f"aten.{name}.default") for name in ("mm", "sin"))
    graph = Graph(id=build.GRAPH, stage="post_grad", nodes=nodes)
    recording = fusion(Recording(graphs=(graph,), calls=(product, reader)))
    (found,) = recording.decisions
    assert (found.saved_bytes, found.saved_bytes_least) == (8192, True)
    assert "Cost: at least 8.19 kB of memory traffic" in str(why.cost(found, recording))
    assert labels.price(found, recording) == "at least 8.19 kB"
    assert [row.bytes for row in report(recording).missed] == [8192]
    told = replace(recording, schedules=(Schedule(graph=graph.id),))
    (sure,) = fusion(replace(told, decisions=())).decisions
    assert (sure.saved_bytes, sure.saved_bytes_least) == (2 * 8192, False)


def test_who_reads_a_whole_concatenation_has_of_each_part_what_its_writer_wrote() -> None:
    """Two kernels write 8 and 16 kB of one memory of 24 kB; one reads the first part, and one the whole."""

    def access(buffer: str, rows: int) -> BufferAccess:
        return BufferAccess(buffer=buffer, bytes=rows * 1024, shape=(rows, 256), stride=(256, 1), dtype="float32")

    first, second, whole = access("buf0", 8), access("buf1", 16), access("buf2", 24)
    made = (
        ("sin", (), (first,), "pointwise"),
        ("cos", (), (second,), "pointwise"),
        ("exp", (first,), (access("buf3", 8),), "pointwise"),
        ("cat", (replace(first, bytes=None), replace(second, bytes=None)), (replace(whole, bytes=None),), "nop"),
        ("mm", (whole,), (access("buf4", 24),), "extern"),
    )
    nodes = tuple(
        SchedulerNode(name=f"op{n}", type=kind, group=n, reads=reads, writes=writes, origins=(name,), origin_node=name)
        for n, (name, reads, writes, kind) in enumerate(made)
    )
    graph = Graph(
        id=build.GRAPH, stage="post_grad", nodes=tuple(build.node(name, f"aten.{name}.default") for name, *_ in made)
    )
    calls = {
        name: build.call(
            n,
            "extern_kernels.mm" if name == "mm" else f"triton_poi_fused_{name}",
            name,
            scheduler_nodes=(f"op{n}",),
            reads=reads,
            writes=writes,
        )
        for n, (name, reads, writes, _) in enumerate(made)
        if name != "cat"
    }
    schedule = Schedule(graph=graph.id, nodes=nodes, groups=build.alone(nodes), outputs=("buf3", "buf4"))
    found = fusion(Recording(graphs=(graph,), calls=tuple(calls.values()), schedules=(schedule,))).decisions
    names = {call.id: name for name, call in calls.items()}
    saved = {(names[item.a_call], names[item.b_call]): (item.saved_bytes, item.saved_bytes_least) for item in found}
    # Which part a third kernel reads is not looked at, so whether what was written must be in memory for it is not known.
    assert saved["sin", "exp"] == saved["sin", "mm"] == (8192, True)
    assert saved["cos", "mm"] == (16384, True)
    assert saved["exp", "mm"] == (8192, False)


@pytest.mark.parametrize(
    ("target", "arguments", "expected"),
    [  # a trace alone has no outputs: two factors and the result of a GEMM, a broadcast dimension once
        ("aten::mm", "bfloat16[32,4096] strides (4096,1), bfloat16[4096,6144] strides (1,4096)", 50_987_008),
        ("aten::addmm", "float32[8], float32[4,16], float32[16,8], , , 1, 1", 4 * (64 + 128 + 32)),
        ("aten::bmm", "float16[8,4,2] strides (0,2,1), float16[8,2,4] strides (8,4,1)", 2 * (8 + 64 + 128)),
        ("aten::mm", "bfloat16[32,4096]", None),
    ],
)
def test_a_product_of_a_bare_trace_is_held_against_its_memory_too(target, arguments, expected):
    node = Node(name="n", op="dispatch", target=target, arguments=arguments)
    count = flops.of_node(node, {}, certain=True)
    assert (flops.factor_bytes(node, {}, count) if count else None) == expected
