"""Recordings made by hand: two gate-and-multiply programs, eager and compiled, small enough to know all of."""

from __future__ import annotations

from fxscope.model import (
    Compile,
    Decision,
    Environment,
    Graph,
    KernelCall,
    KernelConfig,
    Launch,
    Memory,
    Node,
    Op,
    Recording,
    Resources,
    Roof,
    Source,
    Step,
)

GRAPH = "0/0:inference:post_grad"
HERE = Source(file="/somewhere/model.py", line=7, code="return self.down(gelu(g) * u)", module="mlp.act")


def op(number: int, name: str, step: int, parent: int | None = None, **more) -> Op:
    start = step * 1_000_000 + number * 1000
    return Op(
        id=step * 100 + number,
        name=name,
        category="cpu_op",
        step=step,
        start_ns=start,
        duration_ns=900,
        parent=None if parent is None else step * 100 + parent,
        **more,
    )


def launch(number: int, step: int, name: str, duration_ns: int, chain: tuple[str, ...], **more) -> Launch:
    return Launch(
        id=step * 100 + number,
        name=name,
        category=more.pop("category", "kernel"),
        step=step,
        start_ns=step * 1_000_000 + number * 10_000,
        duration_ns=duration_ns,
        op=chain[-1],
        chain=chain,
        **more,
    )


STEPS = tuple(
    Step(index=i, name=f"ProfilerStep#{i}", start_ns=i * 1_000_000, duration_ns=500_000 + i * 100) for i in range(3)
)


def eager(*, gelu_ns: int = 30_000) -> Recording:
    """mm, gelu, mul: three kernels and a memset per step, in three steps; aten::t is a view."""
    ops, launches = [], []
    for step in range(3):
        ops += [
            op(1, "aten::linear", step),
            op(2, "aten::t", step, 1, strides=((4, 1),)),
            op(3, "aten::mm", step, 1, shapes=((8, 4), (4, 16)), strides=((4, 1), (1, 4))),
            op(4, "aten::gelu", step, shapes=((8, 16),)),
            op(5, "aten::mul", step, shapes=((8, 16), (8, 16))),
        ]
        chain = ("mlp_fwd", "aten::linear", "aten::mm")
        launches += [
            launch(
                0,
                step,
                "Memset (Device)",
                700 + step,
                chain,
                category="gpu_memset",
                runtime=("cudaMemsetAsync", "cuLaunchKernelEx"),
            ),
            launch(
                1,
                step,
                "gemm_tn",
                50_000 + 100 * step,
                chain,
                registers=168,
                grid=(2, 66, 1),
                block=(384, 1, 1),
                runtime=("cudaMemsetAsync", "cuLaunchKernelEx"),
                decoded={"role": "gemm", "layout": "TN", "tile": [256, 128], "stages": 4, "epilogue": None},
            ),
            launch(
                2,
                step,
                "elementwise<gelu>",
                gelu_ns + 100 * step,
                ("mlp_fwd", "aten::gelu"),
                registers=32,
                runtime=("cudaLaunchKernel",),
                block=(128, 1, 1),
                grid=(4, 1, 1),
            ),
            launch(
                3,
                step,
                "elementwise<mul>",
                35_000 + 100 * step,
                ("mlp_fwd", "aten::mul"),
                registers=40,
                runtime=("cudaLaunchKernel",),
                block=(128, 1, 1),
                grid=(4, 1, 1),
            ),
        ]
    return Recording(
        title="eager",
        environment=Environment(device="H"),
        ops=tuple(ops),
        launches=tuple(launches),
        steps=STEPS,
        memory=Memory(peak_bytes=2_000_000),
        graphs=(
            Graph(
                id="eager",
                stage="eager",
                nodes=(
                    Node(
                        name="t",
                        op="dispatch",
                        target="aten::t",
                        nature="view",
                        kind="view",
                        aliases=("weight",),
                        outputs=({"shape": (4, 16)},),
                    ),  # type: ignore[arg-type]
                    Node(
                        name="gelu",
                        op="dispatch",
                        target="aten::gelu",
                        nature="kernel",
                        kind="kernel",
                        aliases=(),
                        outputs=({"shape": (8, 16)},),
                    ),  # type: ignore[arg-type]
                ),
            ),
        ),
    )


def compiled(*, fused_ns: int = 40_000, break_reason: str | None = None) -> Recording:
    """The same, compiled: one extern mm and one kernel in which gelu (decomposed into tanh) and mul run."""
    nodes = (
        Node(name="x", op="placeholder", target="x", kind="input"),
        Node(
            name="permute",
            op="call_function",
            target="aten.permute.default",
            inputs=("x",),
            nature="view",
            kind="folded",
        ),
        Node(
            name="mm",
            op="call_function",
            target="aten.mm.default",
            inputs=("x", "permute"),
            nature="kernel",
            kind="kernel",
            original_aten="aten.mm",
            calls=("0/0:inference:1",),
        ),
        Node(
            name="tanh",
            op="call_function",
            target="aten.tanh.default",
            inputs=("mm",),
            nature="kernel",
            kind="fused",
            original_aten="aten.gelu",
            source=HERE,
            calls=("0/0:inference:2",),
        ),
        Node(
            name="mul_6",
            op="call_function",
            target="aten.mul.Tensor",
            inputs=("tanh", "mm"),
            nature="kernel",
            kind="fused",
            original_aten="aten.mul",
            source=HERE,
            calls=("0/0:inference:2",),
        ),
    )
    calls = (
        KernelCall(
            id="0/0:inference:1",
            graph=GRAPH,
            handle="extern_kernels.mm:1",
            kernel="extern_kernels.mm",
            type="extern",
            nodes=("mm",),
            bytes_read=384,
            bytes_written=256,
            roof=Roof(share=0.85),
        ),
        KernelCall(
            id="0/0:inference:2",
            graph=GRAPH,
            handle="triton_poi_fused_gelu_mul_0:2",
            kernel="triton_poi_fused_gelu_mul_0",
            type="triton_pointwise",
            nodes=("tanh", "mul_6"),
            bytes_read=512,
            bytes_written=256,
            roof=Roof(share=0.63),
            resources=Resources(
                registers=31,
                spill_bytes=0,
                chosen_by="heuristic",
                configs=(KernelConfig(kwargs={"XBLOCK": 512}, num_warps=8, num_stages=1, registers=31, chosen=True),),
            ),
        ),
    )
    ops, launches = [], []
    for step in range(3):
        ops += [
            op(1, "TorchDynamo Cache Lookup", step),
            op(2, "aten::mm", step),
            op(3, "triton_poi_fused_gelu_mul_0", step),
        ]
        launches += [
            launch(
                1,
                step,
                "gemm_tn",
                50_200 + 100 * step,
                ("mlp_fwd", "aten::mm"),
                call="0/0:inference:1",
                registers=168,
                grid=(2, 66, 1),
                block=(384, 1, 1),
                launched_ns=step * 1_000_000 + 2500,
                decoded={"role": "gemm", "layout": "TN", "tile": [256, 128], "stages": 4, "epilogue": None},
            ),
            launch(
                2,
                step,
                "triton_poi_fused_gelu_mul_0",
                fused_ns + 100 * step,
                ("triton_poi_fused_gelu_mul_0",),
                call="0/0:inference:2",
                registers=31,
                launched_ns=step * 1_000_000 + 3500,
            ),
        ]
    return Recording(
        title="compiled",
        environment=Environment(device="H"),
        ops=tuple(ops),
        launches=tuple(launches),
        steps=STEPS,
        graphs=(Graph(id=GRAPH, stage="post_grad", compile_id="0/0", direction="inference", nodes=nodes),),
        calls=calls,
        memory=Memory(peak_bytes=1_000_000),
        compiles=(Compile(compile_id="0/0", source=HERE, break_reason=break_reason),),
        decisions=(
            Decision(
                graph=GRAPH,
                a=("mm",),
                b=("tanh", "mul_6"),
                verdict="never_considered",
                saved_bytes=512,
                reason="extern kernel: opaque to the scheduler",
                hint="max_autotune can try a template",
            ),
            Decision(
                graph=GRAPH,
                a=("tanh",),
                b=("mul_6",),
                verdict="fused",
                how="inlined",
                reason="inlined",
                saved_bytes=512,
            ),
        ),
    )


def recompiled() -> Recording:
    """Compiled twice, with a break."""
    base = compiled(break_reason="print() is not in the graph")
    again = Compile(compile_id="0/1", recompile_reason="size of x[0]: 8 is now 9")
    return Recording(**{**{f: getattr(base, f) for f in base.__struct_fields__}, "compiles": (*base.compiles, again)})
