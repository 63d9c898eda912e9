"""A compiled GeGLU MLP and an eager Linear made by hand, so that a renderer's test says all of what goes in."""

from __future__ import annotations

from fxscope.model import (
    Assumption,
    Coverage,
    Decision,
    Environment,
    Graph,
    KernelCall,
    Kind,
    Launch,
    LaunchEvidence,
    Nature,
    Node,
    Problem,
    Recording,
    Roof,
    Source,
    Step,
    TensorMeta,
    Timing,
)

GRAPH = "0/0:inference:post_grad"
ENVIRONMENT = Environment(device="NVIDIA H200", torch="2.11.0+cu130", triton="3.6.0")


def tensor(*shape: int, dtype: str = "bfloat16", stride: tuple[int, ...] | None = None) -> tuple[TensorMeta, ...]:
    return (TensorMeta(shape=shape, dtype=dtype, stride=stride, device="cuda:0"),)


def node(
    name: str,
    target: str,
    inputs: tuple[str, ...],
    shape: tuple[int, ...],
    kind: Kind,
    *,
    dtype: str = "bfloat16",
    op: str = "call_function",
    original: str | None = None,
    nature: Nature | None = "kernel",
) -> Node:
    source = Source(file="model.py", line=17, code="m = h * u", module="mlp")
    return Node(
        name=name,
        op=op,
        target=target,
        inputs=inputs,
        outputs=tensor(*shape, dtype=dtype),
        kind=kind,
        original_aten=original,
        nature=nature,
        source=source,
        reason=f"because {name}",
    )


def call(
    number: int, kernel: str, nodes: tuple[str, ...], folded: tuple[str, ...], mean_us: float, read: int, written: int
) -> KernelCall:
    return KernelCall(
        id=f"0/0:inference:{number}",
        graph=GRAPH,
        handle=f"{kernel}:{number}",
        kernel=kernel,
        type="extern" if kernel.startswith("extern") else "triton_pointwise",
        nodes=nodes,
        folded=folded,
        bytes_read=read,
        bytes_written=written,
        roof=Roof(share=0.63),
        timing=Timing(
            count=3,
            total_us=3 * mean_us,
            mean_us=mean_us,
            min_us=0.9 * mean_us,
            max_us=1.5 * mean_us,
            median_us=mean_us,
        ),
    )


def compiled() -> Recording:
    """Return gate and up projections, gelu and mul fused, and the down projection."""
    nodes = (
        node("x", "x", (), (64, 128, 768), "input", op="placeholder", nature=None),
        node("gate_w", "gate_w", (), (3072, 768), "input", op="placeholder", nature=None),
        node("up_w", "up_w", (), (3072, 768), "input", op="placeholder", nature=None),
        node("down_w", "down_w", (), (768, 3072), "input", op="placeholder", nature=None),
        node("view", "aten.reshape.default", ("x",), (8192, 768), "view", nature="view"),
        node("permute", "aten.permute.default", ("gate_w",), (768, 3072), "folded", nature="view"),
        node("mm", "aten.mm.default", ("view", "permute"), (8192, 3072), "kernel", original="aten.mm"),
        node("permute_1", "aten.permute.default", ("up_w",), (768, 3072), "folded", nature="view"),
        node("mm_1", "aten.mm.default", ("view", "permute_1"), (8192, 3072), "kernel", original="aten.mm"),
        node("view_1", "aten.reshape.default", ("mm",), (64, 128, 3072), "fused", nature="view"),
        node("tanh", "aten.tanh.default", ("view_1",), (64, 128, 3072), "fused", dtype="float32", original="aten.gelu"),
        node("mul_5", "aten.mul.Tensor", ("tanh", "view_1"), (64, 128, 3072), "fused", original="aten.gelu"),
        node("view_3", "aten.reshape.default", ("mm_1",), (64, 128, 3072), "fused", nature="view"),
        node("mul_6", "aten.mul.Tensor", ("mul_5", "view_3"), (64, 128, 3072), "fused", original="aten.mul"),
        node("view_4", "aten.reshape.default", ("mul_6",), (8192, 3072), "view", nature="view"),
        node("permute_2", "aten.permute.default", ("down_w",), (3072, 768), "folded", nature="view"),
        node("mm_2", "aten.mm.default", ("view_4", "permute_2"), (8192, 768), "kernel", original="aten.mm"),
        node("dead", "aten.add.Tensor", ("mm_2",), (8192, 768), "eliminated"),
    )
    fused = ("view_1", "tanh", "mul_5", "view_3", "mul_6")
    triton = "triton_poi_fused__unsafe_view_gelu_mul_0"
    opaque = "extern kernel: cuBLAS GEMM, opaque to the scheduler"
    return Recording(
        title="mlp_compiled",
        environment=ENVIRONMENT,
        graphs=(Graph(id=GRAPH, stage="post_grad", compile_id="0/0", direction="inference", nodes=nodes),),
        calls=(
            call(1, "extern_kernels.mm", ("mm",), ("permute",), 56.5, 17301504, 50331648),
            call(2, "extern_kernels.mm", ("mm_1",), ("permute_1",), 59.7, 17301504, 50331648),
            call(3, triton, fused, (), 56.2, 100663296, 50331648),
            call(4, "extern_kernels.mm", ("mm_2",), ("permute_2",), 50.0, 55050240, 12582912),
        ),
        decisions=(
            Decision(
                graph=GRAPH,
                a=("mm",),
                b=fused,
                verdict="never_considered",
                reason=opaque,
                saved_bytes=100663296,
                saved_us=22.2,
                expected_us=31.3,
            ),
            Decision(graph=GRAPH, a=fused, b=("mm_2",), verdict="never_considered", reason=opaque, saved_bytes=1000),
            Decision(graph=GRAPH, a=("tanh",), b=("mul_5",), verdict="fused", how="inlined", reason="inlined"),
        ),
        coverage=Coverage(device_events=6, to_op=6, to_call=6, to_node=6, unattributed=0),
        assumptions=(Assumption(subject="pad_mm", assumed="not padded", because="a GPU would benchmark it"),),
        problems=(Problem(where="trace", message="2 events were lost", remedy="Record it again."),),
    )


def eager() -> Recording:
    """Return an eager Linear: a chain of views and one addmm with a memset and a kernel under it, in two steps."""

    def op(name: str, parent: str | None, kind: Kind, nature: Nature, out: tuple[TensorMeta, ...]) -> Node:
        source = Source(file="linear.py", line=4, code="return self.fc(x)", module="fc")
        target = f"aten::{name.split('#')[0]}"
        return Node(
            name=name, op="dispatch", target=target, parent=parent, outputs=out, kind=kind, nature=nature, source=source
        )

    weight = tensor(32, 64, stride=(1, 32))
    nodes = (
        op("linear#1", None, "kernel", "composite", tensor(1024, 64)),
        op("t#2", "linear#1", "view", "view", weight),
        op("transpose#3", "t#2", "view", "view", weight),
        op("as_strided#4", "transpose#3", "view", "view", weight),
        op("addmm#5", "linear#1", "kernel", "kernel", tensor(1024, 64)),
    )
    kernel = "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT"
    launches = tuple(
        Launch(
            id=number,
            name=name,
            category=category,
            step=step,
            start_ns=1000 * number,
            duration_ns=duration,
            op="aten::addmm",
            graph="eager",
            nodes=("addmm#5",),
            evidence=LaunchEvidence(op="correlation", nodes="correlation"),
        )
        for number, (name, category, step, duration) in enumerate(
            [
                ("Memset (Device)", "gpu_memset", 0, 700),
                (kernel, "kernel", 0, 2600),
                ("Memset (Device)", "gpu_memset", 1, 800),
                (kernel, "kernel", 1, 2800),
            ]
        )
    )
    return Recording(
        title="linear_eager",
        environment=ENVIRONMENT,
        graphs=(Graph(id="eager", stage="eager", nodes=nodes),),
        launches=launches,
        coverage=Coverage(device_events=4, to_op=4, to_call=None, to_node=4, unattributed=0),
        steps=tuple(Step(index=i, name=f"ProfilerStep#{i}", start_ns=0, duration_ns=10) for i in range(2)),
    )
