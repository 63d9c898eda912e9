"""Small recordings made by hand, and the pieces they are made of: a test says all of what goes in, and knows all of it.

The pieces (`tensor`, `placeholder`, `node`, `call`, `timing`, `op`, `launch`, `step`) fill in what a test does not care about.
`mlp_compiled` and `linear_eager` are drawn by the renderers' tests; `gelu_mul_eager` and `gelu_mul_compiled` are one program
run both ways, for comparisons and checks.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fxscope.model import (
    Assumption,
    Compile,
    Coverage,
    Decision,
    Environment,
    Graph,
    KernelCall,
    Kind,
    Launch,
    LaunchEvidence,
    Memory,
    Nature,
    Node,
    Op,
    Problem,
    Recording,
    Roof,
    ScheduledGroup,
    SchedulerNode,
    Source,
    Step,
    TensorMeta,
    Timing,
    replace,
)

GRAPH = "0/0:inference:post_grad"
H200 = Environment(device="NVIDIA H200", torch="2.11.0+cu130", triton="3.6.0")


def tensor(*shape: int, dtype: str = "bfloat16", stride: tuple[int, ...] | None = None) -> TensorMeta:
    return TensorMeta(shape=shape, dtype=dtype, stride=stride, device="cuda:0")


def placeholder(name: str, *shape: int, **more: Any) -> Node:
    outputs = (tensor(*shape),) if shape else ()
    return Node(name=name, op="placeholder", target=name, **{"outputs": outputs, "kind": "input", **more})


def node(name: str, target: str, *inputs: str, shape: tuple[int, ...] | None = None, **more: Any) -> Node:
    """A node of a post-grad graph: `node("mm", "aten.mm.default", "x", "w", shape=(8, 4), kind="kernel")`."""
    outputs = (tensor(*shape),) if shape is not None else ()
    return Node(name=name, op="call_function", target=target, inputs=inputs, **{"outputs": outputs, **more})


def dispatched(name: str, target: str, *inputs: str, **more: Any) -> Node:
    """A node of an eager graph: one op that the dispatcher was given."""
    return Node(name=name, op="dispatch", target=target, inputs=inputs, **{"kind": "kernel", **more})


def call(number: int, kernel: str, *nodes: str, graph: str = GRAPH, **more: Any) -> KernelCall:
    """The `number`-th call of a wrapper; what `kernel` is called says whether it is a library's."""
    known = {"type": "extern" if kernel.startswith("extern") else "triton_pointwise", "handle": f"{kernel}:{number}"}
    compiled = graph.removesuffix(":post_grad")
    return KernelCall(id=f"{compiled}:{number}", graph=graph, kernel=kernel, nodes=nodes, **{**known, **more})


def timing(mean_us: float, count: int = 3) -> Timing:
    return Timing(
        count=count, total_us=count * mean_us, mean_us=mean_us, min_us=mean_us, max_us=mean_us, median_us=mean_us
    )


def op(number: int, name: str, *, start_ns: int = 0, duration_ns: int = 1, **more: Any) -> Op:
    return Op(id=number, name=name, category="cpu_op", start_ns=start_ns, duration_ns=duration_ns, **more)


def launch(number: int, name: str = "k", duration_ns: int = 50, **more: Any) -> Launch:
    """A kernel on the device: 10 µs after the one before it, unless `start_ns` is given."""
    return Launch(
        id=number, name=name, duration_ns=duration_ns, **{"category": "kernel", "start_ns": number * 10_000, **more}
    )


def steps(count: int, every_ns: int = 100_000) -> tuple[Step, ...]:
    return tuple(
        Step(index=i, name=f"ProfilerStep#{i}", start_ns=i * every_ns, duration_ns=every_ns // 2) for i in range(count)
    )


def pair(a: KernelCall, b: KernelCall, **more: Any) -> Decision:
    """What was decided about two calls: eager neighbours that nobody considered, unless `more` says another thing."""
    sides: dict[str, Any] = {"a": a.nodes, "b": b.nodes, "a_call": a.id, "b_call": b.id}
    return Decision(graph=a.graph, **sides, **{"verdict": "never_considered", "reason_code": "eager", **more})


def event(category: str, name: str, start: float, duration: float, *, tid: int = 1, **args: Any) -> dict[str, Any]:
    """An event of a trace, in µs: of a thread of the host, or of stream 7 of device 0."""
    place = {"pid": 1, "tid": tid}
    if category in ("kernel", "gpu_memcpy", "gpu_memset"):
        place, args = {"pid": 0, "tid": args.get("stream", 7)}, {"stream": 7, "device": 0, **args}
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, "args": args, **place}


def write_trace(path: Path, events: Sequence[object], **header: object) -> Path:
    path.write_text(json.dumps({**header, "traceEvents": events}))
    return path


def alone(nodes: Sequence[SchedulerNode]) -> tuple[ScheduledGroup, ...]:
    return tuple(
        ScheduledGroup(members=(node.name,), type=node.type, reads=node.reads, writes=node.writes) for node in nodes
    )


def mlp_compiled() -> Recording:
    """Gate and up projections, gelu and mul fused, and the down projection, on an H200."""
    source = Source(file="model.py", line=17, code="m = h * u", module="mlp")

    def made(name: str, target: str, *inputs: str, shape: tuple[int, ...], kind: Kind, **more: Any) -> Node:
        outputs = (tensor(*shape, dtype=more.pop("dtype", "bfloat16")),)
        known = {"nature": "kernel", "source": source, "reason": f"because {name}", "outputs": outputs}
        return node(name, target, *inputs, kind=kind, **{**known, **more})

    def timed(number: int, kernel: str, *nodes: str, us: float, **more: Any) -> KernelCall:
        spread = replace(timing(us), min_us=0.9 * us, max_us=1.5 * us)
        return call(number, kernel, *nodes, roof=Roof(share=0.63), timing=spread, **more)

    view, permute, mul = "aten.reshape.default", "aten.permute.default", "aten.mul.Tensor"
    flat, wide = (8192, 3072), (64, 128, 3072)
    inputs = {"x": (64, 128, 768), "gate_w": (3072, 768), "up_w": (3072, 768), "down_w": (768, 3072)}
    nodes = (
        *(placeholder(name, *shape, source=source, reason=f"because {name}") for name, shape in inputs.items()),
        made("view", view, "x", shape=(8192, 768), kind="view", nature="view"),
        made("permute", permute, "gate_w", shape=(768, 3072), kind="folded", nature="view"),
        made("mm", "aten.mm.default", "view", "permute", shape=flat, kind="kernel", original_aten="aten.mm"),
        made("permute_1", permute, "up_w", shape=(768, 3072), kind="folded", nature="view"),
        made("mm_1", "aten.mm.default", "view", "permute_1", shape=flat, kind="kernel", original_aten="aten.mm"),
        made("view_1", view, "mm", shape=wide, kind="fused", nature="view"),
        made(
            "tanh", "aten.tanh.default", "view_1", shape=wide, kind="fused", dtype="float32", original_aten="aten.gelu"
        ),
        made("mul_5", mul, "tanh", "view_1", shape=wide, kind="fused", original_aten="aten.gelu"),
        made("view_3", view, "mm_1", shape=wide, kind="fused", nature="view"),
        made("mul_6", mul, "mul_5", "view_3", shape=wide, kind="fused", original_aten="aten.mul"),
        made("view_4", view, "mul_6", shape=flat, kind="view", nature="view"),
        made("permute_2", permute, "down_w", shape=(3072, 768), kind="folded", nature="view"),
        made(
            "mm_2", "aten.mm.default", "view_4", "permute_2", shape=(8192, 768), kind="kernel", original_aten="aten.mm"
        ),
        made("dead", "aten.add.Tensor", "mm_2", shape=(8192, 768), kind="eliminated"),
    )
    fused = ("view_1", "tanh", "mul_5", "view_3", "mul_6")
    triton, mm = "triton_poi_fused__unsafe_view_gelu_mul_0", "extern_kernels.mm"
    opaque = "extern kernel: cuBLAS GEMM, opaque to the scheduler"
    refused: dict[str, Any] = {
        "graph": GRAPH,
        "verdict": "never_considered",
        "reason_code": "recorded",
        "reason_arguments": {"words": opaque},
    }
    return Recording(
        title="mlp_compiled",
        environment=H200,
        graphs=(Graph(id=GRAPH, stage="post_grad", compile_id="0/0", direction="inference", nodes=nodes),),
        calls=(
            timed(1, mm, "mm", folded=("permute",), us=56.5, bytes_read=17301504, bytes_written=50331648),
            timed(2, mm, "mm_1", folded=("permute_1",), us=59.7, bytes_read=17301504, bytes_written=50331648),
            timed(3, triton, *fused, us=56.2, bytes_read=100663296, bytes_written=50331648),
            timed(4, mm, "mm_2", folded=("permute_2",), us=50.0, bytes_read=55050240, bytes_written=12582912),
        ),
        decisions=(
            Decision(a=("mm",), b=fused, saved_bytes=100663296, expected_us=31.3, **refused),
            Decision(a=fused, b=("mm_2",), saved_bytes=1000, **refused),
            Decision(graph=GRAPH, a=("tanh",), b=("mul_5",), verdict="fused", how="inlined", reason_code="eager"),
        ),
        coverage=Coverage(device_events=6, to_op=6, to_call=6, to_node=6, unattributed=0),
        assumptions=(Assumption(subject="pad_mm", assumed="not padded", because="a GPU would benchmark it"),),
        problems=(Problem(where="trace", message="2 events were lost", remedy="Record it again."),),
    )


def linear_eager() -> Recording:
    """A Linear in eager mode: a chain of views, and one addmm with a memset and a kernel under it, in two steps."""
    source = Source(file="linear.py", line=4, code="return self.fc(x)", module="fc")

    def ran(name: str, parent: str | None, kind: Kind, nature: Nature, out: TensorMeta) -> Node:
        known = {"parent": parent, "kind": kind, "nature": nature, "outputs": (out,), "source": source}
        return dispatched(name, f"aten::{name.split('#')[0]}", **known)

    weight = tensor(32, 64, stride=(1, 32))
    nodes = (
        ran("linear#1", None, "kernel", "composite", tensor(1024, 64)),
        ran("t#2", "linear#1", "view", "view", weight),
        ran("transpose#3", "t#2", "view", "view", weight),
        ran("as_strided#4", "transpose#3", "view", "view", weight),
        ran("addmm#5", "linear#1", "kernel", "kernel", tensor(1024, 64)),
    )
    known: dict[str, Any] = {
        "op": "aten::addmm",
        "graph": "eager",
        "nodes": ("addmm#5",),
        "evidence": LaunchEvidence(op="correlation", nodes="correlation"),
    }
    memset: dict[str, Any] = {"name": "Memset (Device)", "category": "gpu_memset", **known}
    gemm: dict[str, Any] = {"name": "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT", **known}
    return Recording(
        title="linear_eager",
        environment=H200,
        graphs=(Graph(id="eager", stage="eager", nodes=nodes),),
        launches=(
            launch(0, duration_ns=700, start_ns=0, step=0, **memset),
            launch(1, duration_ns=2600, start_ns=1000, step=0, **gemm),
            launch(2, duration_ns=800, start_ns=2000, step=1, **memset),
            launch(3, duration_ns=2800, start_ns=3000, step=1, **gemm),
        ),
        coverage=Coverage(device_events=4, to_op=4, to_call=None, to_node=4, unattributed=0),
        steps=tuple(Step(index=i, name=f"ProfilerStep#{i}", start_ns=0, duration_ns=10) for i in range(2)),
    )


GELU_MUL = Source(file="/somewhere/model.py", line=7, code="return self.down(gelu(g) * u)", module="mlp.act")
THREE_STEPS = tuple(
    Step(index=i, name=f"ProfilerStep#{i}", start_ns=i * 1_000_000, duration_ns=500_000 + i * 100) for i in range(3)
)
ON_H: dict[str, Any] = {"environment": Environment(device="H"), "steps": THREE_STEPS}
GEMM: dict[str, Any] = {
    "registers": 168,
    "grid": (2, 66, 1),
    "block": (384, 1, 1),
    "decoded": {"role": "gemm", "layout": "TN", "tile": [256, 128], "stages": 4, "epilogue": None},
}


def op_of(step: int, number: int, name: str, parent: int | None = None, **more: Any) -> Op:
    start_ns = step * 1_000_000 + number * 1000
    known = {"step": step, "parent": None if parent is None else step * 100 + parent, **more}
    return op(step * 100 + number, name, start_ns=start_ns, duration_ns=900, **known)


def launch_of(step: int, number: int, name: str, duration_ns: int, *chain: str, **more: Any) -> Launch:
    """The `number`-th launch of a step of `THREE_STEPS`, 100 ns longer in each, by the last op of the chain."""
    start_ns = step * 1_000_000 + number * 10_000
    known = {"step": step, "start_ns": start_ns, "op": chain[-1], "chain": chain, **more}
    return launch(step * 100 + number, name, duration_ns + 100 * step, **known)


def gelu_mul_eager(*, gelu_ns: int = 30_000) -> Recording:
    """mm, gelu, mul: three kernels and a memset per step, in three steps; aten::t is a view."""
    matrices: dict[str, Any] = {"shapes": ((8, 4), (4, 16)), "strides": ((4, 1), (1, 4))}
    mm, cleared = ("mlp_fwd", "aten::linear", "aten::mm"), ("cudaMemsetAsync", "cuLaunchKernelEx")
    pointwise: dict[str, Any] = {"runtime": ("cudaLaunchKernel",), "block": (128, 1, 1), "grid": (4, 1, 1)}
    ops, launches = [], []
    for i in range(3):
        ops += [
            op_of(i, 1, "aten::linear"),
            op_of(i, 2, "aten::t", 1, strides=((4, 1),)),
            op_of(i, 3, "aten::mm", 1, **matrices),
            op_of(i, 4, "aten::gelu", shapes=((8, 16),)),
            op_of(i, 5, "aten::mul", shapes=((8, 16), (8, 16))),
        ]
        memset = launch_of(i, 0, "Memset (Device)", 700, *mm, category="gpu_memset", runtime=cleared)
        launches += [
            replace(memset, duration_ns=700 + i),
            launch_of(i, 1, "gemm_tn", 50_000, *mm, runtime=cleared, **GEMM),
            launch_of(i, 2, "elementwise<gelu>", gelu_ns, "mlp_fwd", "aten::gelu", registers=32, **pointwise),
            launch_of(i, 3, "elementwise<mul>", 35_000, "mlp_fwd", "aten::mul", registers=40, **pointwise),
        ]
    weight, product = (TensorMeta(shape=shape, dtype="") for shape in ((4, 16), (8, 16)))
    nodes = (
        dispatched("t", "aten::t", nature="view", kind="view", aliases=("weight",), outputs=(weight,)),
        dispatched("gelu", "aten::gelu", nature="kernel", aliases=(), outputs=(product,)),
    )
    return Recording(
        title="eager",
        ops=tuple(ops),
        launches=tuple(launches),
        **ON_H,
        memory=Memory(peak_bytes=2_000_000),
        graphs=(Graph(id="eager", stage="eager", nodes=nodes),),
    )


def gelu_mul_compiled(*, fused_ns: int = 40_000, break_reason: str | None = None) -> Recording:
    """The same, compiled: one extern mm and one kernel in which gelu (decomposed into tanh) and mul run."""
    mm, fused = "0/0:inference:1", "0/0:inference:2"
    triton = "triton_poi_fused_gelu_mul_0"
    runs: dict[str, Any] = {"nature": "kernel", "kind": "fused", "source": GELU_MUL, "calls": (fused,)}
    runs_alone: dict[str, Any] = {"nature": "kernel", "kind": "kernel", "calls": (mm,)}
    nodes = (
        placeholder("x"),
        node("permute", "aten.permute.default", "x", nature="view", kind="folded"),
        node("mm", "aten.mm.default", "x", "permute", original_aten="aten.mm", **runs_alone),
        node("tanh", "aten.tanh.default", "mm", original_aten="aten.gelu", **runs),
        node("mul_6", "aten.mul.Tensor", "tanh", "mm", original_aten="aten.mul", **runs),
    )
    calls = (
        call(1, "extern_kernels.mm", "mm", bytes_read=384, bytes_written=256, roof=Roof(share=0.85)),
        call(2, triton, "tanh", "mul_6", bytes_read=512, bytes_written=256, roof=Roof(share=0.63)),
    )
    ops, launches = [], []
    for i in range(3):
        began = i * 1_000_000
        ops += [op_of(i, 1, "TorchDynamo Cache Lookup"), op_of(i, 2, "aten::mm")]
        ops += [op_of(i, 3, triton, config={"kernel_kwargs": "XBLOCK=512", "num_warps": 8})]
        launches += [
            launch_of(i, 1, "gemm_tn", 50_200, "mlp_fwd", "aten::mm", call=mm, launched_ns=began + 2500, **GEMM),
            launch_of(
                i, 2, triton, fused_ns, triton, op_id=i * 100 + 3, call=fused, launched_ns=began + 3500, registers=31
            ),
        ]
    return Recording(
        title="compiled",
        ops=tuple(ops),
        launches=tuple(launches),
        **ON_H,
        graphs=(Graph(id=GRAPH, stage="post_grad", compile_id="0/0", direction="inference", nodes=nodes),),
        calls=calls,
        memory=Memory(peak_bytes=1_000_000),
        compiles=(Compile(compile_id="0/0", source=GELU_MUL, break_reason=break_reason),),
        decisions=(
            pair(
                *calls,
                saved_bytes=512,
                reason_code="recorded",
                reason_arguments={
                    "words": "extern kernel: opaque to the scheduler",
                    "hint": "max_autotune can try a template",
                },
                hint_code="recorded",
            ),
            Decision(
                graph=GRAPH,
                a=("tanh",),
                b=("mul_6",),
                a_call="0/0:inference:2",
                b_call="0/0:inference:2",
                verdict="fused",
                how="inlined",
                reason_code="eager",
                saved_bytes=512,
            ),
        ),
    )


def gelu_mul_recompiled() -> Recording:
    """Compiled twice, with a break."""
    base = gelu_mul_compiled(break_reason="print() is not in the graph")
    again = Compile(compile_id="0/1", recompile_reason="size of x[0]: 8 is now 9")
    return replace(base, compiles=(*base.compiles, again))
