"""Recordings for the page's tests: a large transformer-like graph, a long timeline, and hostile names everywhere."""

from fxscope.model import (
    Assumption,
    CodeLines,
    Compile,
    Coverage,
    Environment,
    Graph,
    KernelCall,
    Launch,
    LaunchEvidence,
    Link,
    Node,
    Problem,
    Recording,
    Roof,
    Source,
    SourceText,
    Step,
    TensorMeta,
    replace,
)
from tests import build
from tests.build import GRAPH

TENSOR = build.tensor(8192, 3072, stride=(3072, 1))
HOSTILE = (
    "</script><script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "' onmouseover='window.hacked=1",
    "line\u2028paragraph\u2029end",
    "evil\u202egnp.exe\u202c",
    "zero\u200bwidth",
    "<!--<script>",
    "${window.hacked=1}",
    "nul\x00bell\x07",
)


def large(num_nodes: int = 5000, *, layers: int = 50) -> Recording:
    """Return a post-grad graph of `num_nodes` nodes in `layers` modules: a GEMM, then chains that fuse."""
    nodes: list[Node] = [Node(name="x", op="placeholder", target="x", outputs=(TENSOR,), kind="input")]
    calls: list[KernelCall] = []
    previous, per_layer = "x", (num_nodes - 1) // layers
    for layer in range(layers):
        group: list[str] = []
        residual = previous
        for position in range(per_layer if layer < layers - 1 else num_nodes - len(nodes)):
            module = f"model.layers.{layer}.{'attention' if position < per_layer // 2 else 'mlp'}"
            source = Source(
                file="transformer.py", line=10 + position % 40, code="x = block(x)", module=module, module_type="Block"
            )
            gemm, view = position % 10 == 0, position % 10 in (1, 7)
            name = f"{'mm' if gemm else 'view' if view else 'add'}_{layer}_{position}"
            inputs = (previous, residual) if position % 5 == 4 else (previous,)
            target = "aten.mm.default" if gemm else "aten.view.default" if view else "aten.add.Tensor"
            kind = "kernel" if gemm else "view" if view else "fused"
            nature = "view" if view else "kernel"
            nodes.append(build.node(name, target, *inputs, outputs=(TENSOR,), kind=kind, nature=nature, source=source))
            if gemm:
                if group:
                    calls.append(timed(len(calls) + 1, "triton_poi_fused_add", *group))
                group = []
                calls.append(timed(len(calls) + 1, "extern_kernels.mm", name))
            elif not view:
                group.append(name)
            previous = name
        if group:
            calls.append(timed(len(calls) + 1, "triton_poi_fused_add", *group))
    graph = Graph(id=GRAPH, stage="post_grad", compile_id="0/0", direction="inference", nodes=tuple(nodes))
    return Recording(title="large", environment=Environment(device="NVIDIA H200"), graphs=(graph,), calls=tuple(calls))


def timed(number: int, kernel: str, *nodes: str) -> KernelCall:
    known = {"nodes_evidence": "debug_handle", "bytes_read": 100, "bytes_written": 50}
    timing = replace(build.timing(10.0 + number % 7, 1), min_us=9.0, max_us=20.0)
    return build.call(number, kernel, *nodes, timing=timing, **known)


def long_timeline(num_launches: int = 100_000) -> Recording:
    """Return one step with a CPU op, a runtime call and a launch for each of `num_launches` kernels on two streams."""
    whole = build.op(0, "train_step", thread=1, duration_ns=num_launches * 10_000)
    ops = [replace(whole, category="user_annotation")]
    launches: list[Launch] = []
    for number in range(num_launches):
        start = number * 10_000
        if number % 4 == 0:
            place = {"thread": 1, "start_ns": start, "duration_ns": 9000, "parent": 0}
            ops.append(build.op(2 * number + 1, f"aten::op_{number % 13}", **place))
        launches.append(
            build.launch(
                number,
                f"kernel_{number % 31}",
                start_ns=start + 20_000,
                duration_ns=4000 + number % 5000,
                stream=7 + number % 2,
                device=0,
                op_id=2 * (number - number % 4) + 1,
                launched_ns=start + 3000,
                evidence=LaunchEvidence(op="correlation"),
            )
        )
    return Recording(
        title="long",
        launches=tuple(launches),
        ops=tuple(ops),
        steps=(Step(index=0, name="ProfilerStep#0", start_ns=0, duration_ns=num_launches * 10_000),),
        coverage=Coverage(device_events=num_launches, to_op=num_launches, to_call=None, to_node=None, unattributed=0),
    )


def hostile() -> Recording:
    """Return a recording in which every string that a trace, a source or a name can bring is an attack."""
    evil = list(HOSTILE)

    def pick(number: int) -> str:
        return evil[number % len(evil)]

    told = ("code", "function", "module_type")
    nodes = tuple(
        build.node(
            f"n{i}{text}",
            f"aten.{text}.Tensor",
            *([f"n{i - 1}{evil[i - 1]}"] if i else []),
            outputs=(TensorMeta(shape=(text, 2), dtype=text),),
            kind="fused",
            nature="kernel",
            reason=text,
            arguments=text,
            original_aten=text,
            source=Source(file=f"{pick(i + 1)}.py", line=i + 1, module=f"m.{pick(i + 2)}", **dict.fromkeys(told, text)),
        )
        for i, text in enumerate(evil)
    )
    handle, names = f"triton{evil[0]}", [node.name for node in nodes]
    known = {"code": CodeLines(kernel=(1, 3), call=(4, 4)), "sources": (Source(file=evil[3], line=1, code=evil[0]),)}
    made = build.call(0, handle, *names, handle=handle, roof=Roof(share=0.5, basis=evil[2]), **known)
    calls = (replace(made, id=f"c{evil[1]}"),)
    where = {"call": calls[0].id, "graph": GRAPH, "nodes": (names[0],)}
    where["evidence"] = LaunchEvidence(op="correlation", call="order", nodes="debug_handle")
    launches = tuple(
        replace(
            build.launch(i, text, 900, start_ns=i * 1000, op=text, op_id=i, **where),
            chain=(text, text),
            runtime=(text,),
            decoded={"family": text, "role": "gemm"},
        )
        for i, text in enumerate(evil)
    )
    ops = tuple(build.op(i, text, thread=1, start_ns=i * 1000, duration_ns=950) for i, text in enumerate(evil))
    words = {"raw_reason": evil[1], "reason_arguments": {"words": evil[0], "hint": evil[2]}, "hint_code": "recorded"}
    decided = {"verdict": "rejected", "reason_code": "recorded", "saved_bytes": 1000, "expected_us": 1.0, **words}
    return Recording(
        title=evil[0],
        environment=Environment(device=evil[1], torch=evil[2]),
        calls=calls,
        launches=launches,
        ops=ops,
        graphs=(Graph(id=GRAPH, stage="post_grad", compile_id="0/0", direction="inference", nodes=nodes),),
        sources=(
            SourceText(id=f"code{evil[0]}", kind="output_code", text="\n".join(evil), graph=GRAPH),
            SourceText(id="u", kind="user", file=f"{evil[1]}.py", text="\n".join(evil)),
        ),
        decisions=(replace(build.pair(made, made, **decided), a=(names[0],), b=(names[1],), a_call=None, b_call=None),),
        steps=(Step(index=0, name=evil[0], start_ns=0, duration_ns=10_000),),
        assumptions=(Assumption(subject=evil[0], assumed=evil[1], because=evil[2]),),
        problems=(Problem(where=evil[0], message=evil[1], remedy=evil[4]),),
    )


def training() -> Recording:
    """Return a compiled training step with two graph breaks: a forward and a backward graph, then two more compiles."""

    def node(name: str, target: str, *inputs: str, op: str = "call_function") -> Node:
        return Node(name=name, op=op, target=target, inputs=inputs, outputs=(TENSOR,), kind="kernel", nature="kernel")

    def graph(id: str, stage: str, direction: str | None, *nodes: Node) -> Graph:
        return Graph(id=id, stage=stage, compile_id=id.split(":")[0], direction=direction, nodes=nodes)

    x, w, tangents = (node(name, name, op="placeholder") for name in ("x", "w", "tangents_1"))
    mm = replace(node("mm", "aten.mm.default", "x", "w"), replaced_by=("pattern_matcher",))
    forward = (x, w, mm, node("relu", "aten.relu.default", "mm"))
    backward = (tangents, node("le", "aten.le.Scalar", "tangents_1"), node("mm_1", "aten.mm.default", "le"))
    linear = node("linear", "torch.nn.functional.linear", "x", "w")
    pre = (x, w, linear, node("relu", "aten.relu.default", "linear"), node("unused", "torch.zeros"))
    graphs = (
        graph("0/0:pre_grad", "pre_grad", None, *pre),
        graph("0/0:forward:post_grad", "post_grad", "forward", *forward),
        graph("0/0:backward:post_grad", "post_grad", "backward", *backward),
        graph("1/0:pre_grad", "pre_grad", None, x, node("mul", "operator.mul", "x")),
    )
    links = tuple(
        Link(from_=("0/0:pre_grad", a), to=("0/0:forward:post_grad", b), relation="lowered_to", evidence="from_node")
        for a, b in (("linear", "mm"), ("relu", "relu"))
    )

    breaks = (
        ("step", 10, 14, "Unsupported Tensor.item() call\n  Hint: keep the loss a tensor\n"),
        ("torch_dynamo_resume_in_step_at_14", 14, 20, "Call to `torch._dynamo.graph_break()`"),
    )
    compiles = tuple(
        Compile(
            compile_id=f"{number}/0",
            source=Source(file="train.py", line=line, function=name),
            break_reason=why,
            break_source=Source(file="train.py", line=at, code="print(loss.item())"),
        )
        for number, (name, line, at, why) in enumerate(breaks)
    )
    return Recording(title="training", graphs=graphs, links=links, compiles=compiles)
