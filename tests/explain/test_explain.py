# ruff: noqa: E501
"""The story follows the facts: it is compared on real recordings, then on the same ones with a fact changed."""

import json
import re

import pytest

from fxscope import cli
from fxscope.analysis.explain import explain, gemm_table
from fxscope.analysis.story import GemmRow
from fxscope.index import index_of
from fxscope.model import Compile, Graph, InputAssertion, Recording, Source, replace
from fxscope.render import story as text
from fxscope.text import FASTER
from tests import build


def told(recording, topic, **options):
    return [item.text for item in explain(recording, **options).sentences if item.topic == topic]


def renamed(recording, old, new):
    """The same recording, had the GPU run another kernel."""
    return replace(
        recording,
        launches=tuple(replace(item, name=item.name.replace(old, new), decoded=None) for item in recording.launches),
    )


def test_a_linear_is_five_names_and_one_kernel(read):
    [sentence] = told(read("linear_eager"), "dispatch")
    assert sentence.startswith(
        "aten::linear: 5 ops (aten::linear, aten::t, aten::transpose, aten::as_strided and aten::addmm)"
    )
    assert "1 of them runs on the device: aten::addmm" in sentence


def test_the_backward_of_a_module_is_told_from_its_forward_and_each_product_has_its_name(read):
    recording = read("mlp_train_eager")
    ops = tuple(replace(op, source=Source(module="ff")) for op in recording.ops)
    graphs = tuple(
        replace(graph, nodes=tuple(replace(node, source=None) for node in graph.nodes)) for graph in recording.graphs
    )
    known = replace(recording, ops=ops, graphs=graphs)
    texts = told(known, "dispatch")
    assert any(item.startswith("ff: 9 ops (aten::linear") for item in texts)
    assert (
        "ff (backward): aten::gelu_backward runs `vectorized_elementwise_kernel<gelu_backward>` on the device." in texts
    )
    assert not any("backward" in item for item in texts if item.startswith("ff:"))
    forward = [f"ff mm{number}" for number in ("", "_1", "_2")]
    backward = [f"ff (backward) mm_{number}" for number in (3, 4, 5, 6)]
    assert [row.label for row in explain(known).gemms] == [*forward, *backward]
    table = text.gemm_table(explain(known), width=120)
    assert all(f"] {name} " in re.sub(" +", " ", table) for name in (*forward, *backward))
    # Without modules a node's own name is enough.
    assert [row.label for row in explain(recording).gemms][:4] == ["mm", "mm_1", "mm_2", "mm_3"]


def test_products_of_one_call_are_told_apart_by_op_else_by_their_number():
    def row(op, node="sdpa", module=None):
        return GemmRow(op=op, role="gemm", kernel="k", node=node, module=module)

    def labels(*rows):
        return [row.label for row in gemm_table.labelled(rows)]

    assert labels(row("aten::bmm"), row("aten::mm")) == ["sdpa aten::bmm", "sdpa aten::mm"]
    assert labels(row("aten::bmm"), row("aten::bmm"), row("aten::mm")) == ["sdpa #1", "sdpa #2", "sdpa #3"]
    assert labels(row("aten::mm"), row("aten::bmm", "other")) == ["sdpa", "other"]
    assert labels(row("aten::mm", None), row("aten::mm", None)) == ["aten::mm #1", "aten::mm #2"]


def test_the_bias_is_the_epilogue_because_the_name_says_so(read):
    recording = read("linear_eager")
    assert told(recording, "bias") == [
        "The bias is added in the GEMM's epilogue, not by a kernel of its own: `bias` in the name of `nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT`."
    ]
    # The name says nothing: then it is there being no second kernel that proves it, and the story says that.
    assert "the op ran one kernel" in told(renamed(recording, "_bias", ""), "bias")[0]
    # An activation in the same epilogue is told too.
    assert "The bias and gelu are computed in the GEMM" in told(renamed(recording, "_bias", "_gelubias"), "bias")[0]


def test_without_a_bias_nothing_is_said_of_it(read):
    recording = renamed(read("linear_eager"), "_bias", "")
    ops = tuple(
        replace(op, name="aten::mm", shapes=op.shapes[1:3], strides=op.strides[1:3]) if op.name == "aten::addmm" else op
        for op in recording.ops
    )
    launches = tuple(replace(item, op="aten::mm") for item in recording.launches)
    assert told(replace(recording, ops=ops, launches=launches), "bias") == []


def test_an_added_kernel_changes_the_story(read):
    recording = renamed(read("linear_eager"), "_bias", "")
    first = recording.launches[0]
    name = "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)"
    added = replace(
        first, id=900, name=name, decoded=None, start_ns=first.start_ns + first.duration_ns + 10, duration_ns=2000
    )
    more = replace(recording, launches=(*recording.launches, added))
    assert (
        "runs the addition in a kernel of its own after the GEMM: `vectorized_elementwise_kernel<add>`, 2.00 µs"
        in told(more, "bias")[0]
    )
    assert "2 kernels" in told(more, "overview")[0] and "1 kernel." in told(recording, "overview")[0]


def test_nobody_transposed_the_weight_until_somebody_does(read):
    recording = read("mlp_eager")
    assert (
        told(recording, "transpose")[0]
        == "The second operand of aten::mm is transposed without a copy: it is a view with strides (1, 768), which the kernel's `TN` layout reads directly."
    )
    assert told(recording, "copy") == []
    # A copy of the weight, row by row, and the kernel that reads it so.
    ops = tuple(
        replace(op, strides=(op.strides[0], (op.shapes[1][1], 1))) if op.name == "aten::mm" else op
        for op in recording.ops
    )
    first = recording.launches[0]
    copy = replace(
        first,
        id=901,
        op="aten::copy_",
        op_id=None,
        bytes=None,
        category="kernel",
        decoded=None,
        duration_ns=5000,
        chain=("aten::linear", "aten::contiguous", "aten::copy_"),
        name="void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>(int)::{lambda(int)#1}>(int)",
    )
    changed = replace(renamed(recording, "_TNT", "_NNT"), ops=ops)
    changed = replace(changed, launches=(copy, *changed.launches))
    assert all("is row-major" in sentence and "`NN`" in sentence for sentence in told(changed, "transpose"))
    assert told(changed, "copy") == [
        "aten::copy_ copies memory, called by aten::contiguous: `elementwise_kernel<copy>`, 5.00 µs."
    ]
    steps = dict.fromkeys(launch.step for launch in recording.launches)
    copies = [replace(copy, id=901 + n, step=step, duration_ns=5000 + 2000 * n) for n, step in enumerate(steps)]
    assert len(copies) == 3  # the median of the steps, as `view` says it
    assert told(replace(changed, launches=(*copies, *recording.launches)), "copy")[0].endswith(", 7.00 µs.")


def test_strides_and_name_that_disagree_are_told_as_such(read):
    sentences = told(renamed(read("mlp_eager"), "_TNT", "_NNT"), "transpose")
    assert all("does not agree" in sentence for sentence in sentences)


def test_the_memsets_of_the_library_are_told_from_the_programs_work(read):
    recording = read("mlp_eager")
    assert told(recording, "workspace")[0].startswith("2 memsets (4 B each) per step are the GEMM library's own")
    kept = replace(recording, launches=tuple(item for item in recording.launches if item.category == "kernel"))
    assert told(kept, "workspace") == []


def test_a_split_k_reduction_is_told(read):
    assert any("K is split among blocks" in sentence for sentence in told(read("mlp_small_eager"), "workspace"))


def test_two_products_differ_by_shape_tile_and_waves(read):
    first = told(read("mlp_eager"), "gemm")[0]
    assert "8192·768·3072 in tiles of 256×128, 768 tiles in 132 blocks = 5.82 waves" in first
    assert "8192·3072·768 in tiles of 192×128, 256 tiles in 132 blocks = 1.94 waves" in first


def test_what_compiling_added_and_asserts(read):
    recording = read("linear_compiled")
    added = next(sentence for sentence in told(recording, "compile") if "of CPU time" in sentence)
    assert "for the cache lookup with its guards" in added and "AOTDispatcher's prologue" in added
    [guards] = told(recording, "guards")
    assert "arg2_1 of (1024, 32) with strides (32, 1)" in guards and "4 guards" in guards
    assert told(read("linear_eager"), "guards") == []
    # Another size, another sentence.
    compile = recording.compiles[0]
    other = replace(
        recording,
        compiles=(replace(compile, assertions=(InputAssertion(name="x", shape=("s0", 32), stride=(32, 1)),)),),
    )
    assert "x has symbolic sizes: other sizes run the same code" in told(other, "guards")[0]


def test_why_it_recompiled_is_the_guard_that_failed(read):
    recording = read("linear_compiled")
    again = Compile(
        compile_id="0/1",
        recompile_reason="tensor 'x' stride mismatch at index 0. expected 32, actual 1",
        duration_us=1e6,
    )
    assert told(recording, "recompile") == []
    [sentence] = told(replace(recording, compiles=(*recording.compiles, again)), "recompile")
    assert sentence.startswith("0/1 is a recompile") and "stride mismatch at index 0" in sentence


def test_compiled_but_slower_is_said_and_explained(read):
    scattered = told(read("linear_compiled"), "worth", against=read("linear_eager"))
    assert "1 op instead of 5" in scattered[0]
    assert scattered[1].startswith("Whether a step is shorter (355.4 µs instead of 88.0 µs) cannot be told")
    assert " to " not in scattered[1].partition("cannot be told")[2]  # no interval of one process's repeats
    sentences = told(read("mlp_compiled"), "worth", against=read("mlp_eager"))
    assert sentences[1].startswith(
        "Whether a step is shorter (381.4 µs instead of 320.5 µs) cannot be told: one process each"
    )
    assert sentences[-1].startswith("Whether compilation has paid for itself is not known: one process each")
    several = ((read("mlp_compiled"),) * 2, (read("mlp_eager"),) * 2)
    sentences = told(read("mlp_compiled"), "worth", against=read("mlp_eager"), runs=several)
    assert sentences[1].startswith(
        "A step takes 381.4 µs instead of 320.5 µs: slower, ×1.19 (1.19 to 1.19, 3 and 3 recordings)"
    )
    assert sentences[-1].startswith("Compilation has not paid for itself: a step takes")


def test_when_it_is_faster_the_steps_until_it_paid_are_counted(read):
    eager, compiled = read("mlp_eager"), read("mlp_compiled")
    slower = replace(
        eager, summary=None, steps=tuple(replace(step, duration_ns=step.duration_ns * 10) for step in eager.steps)
    )
    sentence = told(compiled, "worth", against=slower, runs=((compiled,) * 2, (slower,) * 2))[-1]
    steps = float(re.search(r"after ([\d,]+) steps", sentence)[1].replace(",", ""))
    # the first step still warms up
    before = sum(step.duration_ns for step in slower.steps[1:]) / 2 / 1000
    after = sum(row.wall_us for row in explain(compiled).steps[1:]) / 2
    assert steps == pytest.approx(compiled.compiles[0].duration_us / (before - after), rel=0.01)


def test_steps_that_overlap_show_no_difference(read):
    recording = read("mlp_compiled")
    sentences = told(recording, "worth", against=recording, runs=((recording,) * 2,) * 2)
    assert sentences[1].startswith("No difference in the length of a step is shown")
    assert "no difference between the steps is shown" in sentences[2]


def test_fused_nodes_and_intermediates(read):
    recording = read("mlp_compiled")
    [fused] = told(recording, "fusion")
    assert fused.startswith("`triton_poi_fused__unsafe_view_gelu_mul_0` runs 14 nodes in one kernel")
    [intermediate] = told(recording, "intermediate")
    assert "302.0 MB" in intermediate
    calls = tuple(replace(call, nodes=call.nodes[:3]) if len(call.nodes) > 1 else call for call in recording.calls)
    assert "runs 3 nodes" in told(replace(recording, calls=calls), "fusion")[0]


def test_a_step_is_cpu_bound_until_its_kernels_are_long(read):
    recording = read("linear_eager")
    assert explain(recording).steps[-1].bound == "cpu"
    assert "CPU-bound (device busy " in told(recording, "launch")[-1]
    long = replace(
        recording,
        summary=None,
        launches=tuple(
            replace(item, duration_ns=recording.steps[item.step].duration_ns) for item in recording.launches
        ),
    )
    assert explain(long).steps[-1].bound == "gpu"


def test_an_occupancy_query_is_a_row_of_the_launch(read):
    recording = read("linear_eager")
    launching = next(op for op in recording.ops if op.name == "cuLaunchKernelEx")
    asked = replace(
        launching,
        id=999,
        name="cudaOccupancyMaxActiveBlocksPerMultiprocessor",
        start_ns=launching.start_ns - 900,
        duration_ns=800,
        correlation=None,
    )
    step = recording.steps[-1].index
    last = next(op for op in recording.ops if op.name == "cuLaunchKernelEx" and op.step == step)
    asked = replace(asked, parent=last.parent, step=step, start_ns=last.start_ns - 900)
    story = explain(replace(recording, ops=(*recording.ops, asked)))
    assert story.launches[-1].runtime == ("cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cuLaunchKernelEx")
    assert any("queries the runtime before it launches" in item.text for item in story.sentences)


@pytest.mark.parametrize(
    "name",
    [
        "mlp_eager",
        "mlp_compiled",
        "mlp_train_eager",
        "mlp_reduce_overhead",
        "attn_compiled",
        "mlp_dynamic",
        "mlp_liger",
    ],
)
def test_every_sentence_is_proven_by_items_that_are_there(read, name):
    recording = read(name)
    there = (
        {f"launch:{item.id}" for item in recording.launches}
        | {f"op:{item.id}" for item in recording.ops}
        | {f"call:{item.id}" for item in recording.calls}
        | {f"step:{item.index}" for item in recording.steps}
        | {f"compile:{item.compile_id}" for item in recording.compiles}
        | {f"graph:{item.id}" for item in recording.graphs}
        | {f"node:{graph.id}/{node.name}" for graph in recording.graphs for node in graph.nodes}
    )
    story = explain(recording)
    assert len(story.sentences) > 5
    for sentence in story.sentences:
        assert sentence.evidence and set(sentence.evidence) <= there, sentence.text


def test_an_empty_recording_has_no_story():
    story = explain(Recording())
    assert story.sentences == () and story.gemms == ()


def test_a_loop_named_after_a_convolution_is_no_product_and_no_op():
    """Inductor names the loop that changes a weight's layout after the convolution that reads it."""
    names = ("graph_0_cpp_fused_convolution_0", "aten::mkldnn_convolution")
    recording = Recording(
        ops=tuple(build.op(i, name, start_ns=i) for i, name in enumerate(names)),
        launches=tuple(build.launch(i, name, category="cpu_kernel", op=name, op_id=i) for i, name in enumerate(names)),
    )
    story = explain(recording)
    assert [row.op for row in story.gemms] == ["aten::mkldnn_convolution"]
    assert (
        "A step dispatches 1 op and calls 1 compiled kernel on the CPU; 2 of them do the work: 2 kernels."
        in story.sentences[0].text
    )
    assert index_of(recording).dispatched == {0: 1}


def test_the_gemm_table_of_the_mlp(read):
    rows = explain(read("mlp_eager")).gemms
    assert [(row.m, row.k, row.n) for row in rows] == [(8192, 768, 3072), (8192, 768, 3072), (8192, 3072, 768)]
    assert all(row.flops == 2 * 8192 * 768 * 3072 and row.layout == "TN" and row.count == 3 for row in rows)
    assert rows[0].flops_per_second == pytest.approx(rows[0].flops / rows[0].duration_us * 1e6)
    assert 0.8 < rows[0].share_of_peak < 1
    assert "8192·3072·768" in text.gemm_table(explain(read("mlp_eager")))


def test_a_time_with_a_memset_in_it_says_so(read):
    story = explain(read("mlp_eager"))
    assert [row.duration_us > row.kernel_us for row in story.gemms] == [True, True, False]
    assert "mm and mm_1: the time is of all that it launches, 1 kernel and 1 memset" in text.gemm_table(
        story, width=200
    )
    assert "waves, 56.5 µs with all that it launches, against" in told(read("mlp_eager"), "gemm")[0]


def test_the_table_is_headed_by_what_is_in_it(read):
    heads = {
        name: re.findall(r"^The (.*), one by one$", text.story(explain(read(name))), re.MULTILINE)
        for name in ("mlp_eager", "plans/sdpa/real", "more/flex/real", "more/conv_norm_train/real")
    }
    assert list(heads.values()) == [["GEMMs"], ["GEMMs and attentions"], ["attentions"], ["convolutions"]]


def test_nodes_of_which_nothing_is_known_are_named(read):
    recording = read("more/flex/real")
    unknown = {"lt", "where", "index_put", "sort", "sum_1", "convert_element_type", "convert_element_type_1"}
    (found,) = [item for item in explain(recording).sentences if "not known" in item.text]
    assert found.text.startswith("0/0:inference:post_grad: it is not known whether 7 of 29 nodes ran, nor where (lt, ")
    assert {item.rpartition("/")[2] for item in found.evidence[1:]} == unknown
    assert not [item for item in explain(read("mlp_compiled")).sentences if "not known" in item.text]


def test_one_op_that_ran_twice_does_the_work():
    ops = tuple(
        build.op(i, n, start_ns=i, parent=p)
        for i, (n, p) in enumerate([("aten::einsum", None), *[("aten::mm", 0)] * 2])
    )
    works = tuple(build.launch(i, "aten::mm", category="cpu_kernel", op="aten::mm", op_id=i + 1) for i in (0, 1))
    told = [item.text for item in explain(Recording(ops=ops, launches=works)).sentences if item.topic == "dispatch"]
    assert [text.partition("; ")[2] for text in told] == ["aten::mm does the work, 2 kernels."]


def test_on_the_cpu_all_ops_run_and_nothing_is_launched():
    names = "aten::linear", "aten::t", "aten::addmm", "aten::copy_"
    ops = tuple(build.op(i, name, start_ns=i, parent=(None, 0, 0, 2)[i]) for i, name in enumerate(names))
    work = build.launch(0, "aten::addmm", category="cpu_kernel", op="aten::addmm", op_id=2)
    story = explain(
        Recording(
            ops=(*ops, build.op(4, "aten::relu", start_ns=9)),
            launches=(work, build.launch(1, "aten::relu", category="cpu_kernel", op="aten::relu", op_id=4)),
        )
    )
    assert [item.text for item in story.sentences if item.topic in ("overview", "dispatch")] == [
        "A step dispatches 5 ops on the CPU; 2 of them do the work: 2 kernels.",
        "aten::linear: 4 ops (aten::linear, aten::t, aten::addmm and aten::copy_); aten::addmm does the work, 1 kernel.",
        "aten::relu runs on the CPU.",
    ]


def test_a_gemm_of_a_replayed_graph_takes_its_shape_from_the_graph(read):
    rows = explain(read("mlp_reduce_overhead")).gemms
    assert [(row.m, row.k, row.n) for row in rows] == [(8192, 768, 3072), (8192, 768, 3072), (8192, 3072, 768)]


def test_attention_and_batched_products_have_shapes(read):
    rows = explain(read("attn_eager")).gemms
    assert (4, 512, 256, 512) in [(row.batch, row.m, row.k, row.n) for row in rows]


def test_an_unknown_device_has_no_peak_and_no_waves(read):
    recording = read("mlp_eager")
    lost = replace(
        recording, environment=replace(recording.environment, device="NVIDIA Unheard Of", device_properties=None)
    )
    rows = explain(lost).gemms
    assert rows[0].share_of_peak is None and rows[0].waves is None and rows[0].tiles == 768


def test_the_command_tells_it_in_eighty_columns_and_in_json(capsys, read):
    from tests.captures import H200

    assert cli.main(["explain", str(H200 / "mlp_compiled"), "--against", str(H200 / "mlp_eager"), "--evidence"]) == 0
    out = capsys.readouterr().out
    assert "Was it worth it" in out and "tied by" in out
    assert max(map(len, out.splitlines())) <= 80
    assert cli.main(["explain", str(H200 / "mlp_eager"), "--json"]) == 0
    story = json.loads(capsys.readouterr().out)
    assert {"sentences", "gemms", "launches", "steps", "compile_costs"} <= set(story)
    assert cli.main(["explain", str(H200 / "mlp_eager"), "--table", "launches"]) == 0
    assert "cudaMemsetAsync + cuLaunchKernelEx" in capsys.readouterr().out
    assert cli.main(["explain", "no/such/thing"]) == 2


def test_results_are_listed_as_often_as_they_are_counted():
    """One result that two kernels read is one result."""
    a, b, c = (
        build.dispatched(name, f"aten::{name}", *inputs, outputs=(build.tensor(8, 4),))
        for name, inputs in (("exp", ()), ("sin", ("exp",)), ("cos", ("exp",)))
    )
    [sentence] = told(Recording(graphs=(Graph(id="eager", stage="eager", nodes=(a, b, c)),)), "intermediate")
    assert sentence.startswith("1 result of one kernel is read by another (exp → sin + cos): ")
    many = [replace(b, name=f"sin_{number}") for number in range(300)]
    [sentence] = told(Recording(graphs=(Graph(id="eager", stage="eager", nodes=(a, b, c, *many)),)), "intermediate")
    assert sentence.startswith(
        "1 result of one kernel is read by another (exp → sin + cos + sin_0 + sin_1 + 298 more): "
    )


def test_a_call_that_compiles_is_not_what_a_call_of_compiled_code_costs():
    """The first one goes on after a graph break, and compiles the rest inside."""
    lengths = (2_000_000_000, 30_000, 20_000)
    ops = tuple(
        build.op(number, "Torch-Compiled Region: 0/0", start_ns=number * 3_000_000_000, duration_ns=length)
        for number, length in enumerate(lengths)
    )
    [sentence] = told(Recording(ops=ops), "compile")
    assert "costs 30.0 µs of CPU time besides its ops, each part at its median: 30.0 µs for the rest" in sentence
    [cost] = explain(Recording(ops=ops)).compile_costs
    assert (cost.count, cost.median_us, cost.first_us) == (3, 30.0, 2_000_000.0)


def test_code_that_ran_once_and_compiled_the_rest_inside_does_not_cost_that():
    def regions(first: float, inner: float):
        return tuple(
            build.op(number, f"Torch-Compiled Region: {compile_id}", start_ns=start, duration_ns=length, parent=parent)
            for number, compile_id, start, length, parent in (
                (0, "0/0", 0, round(first * 1000), None),
                (1, "1/0", 10_000, round(inner * 1000), 0),
            )
        )

    compiles = (Compile(compile_id="0/0", duration_us=9e6), Compile(compile_id="1/0", duration_us=2e6))
    [sentence, *_] = told(Recording(ops=regions(2e6 + 90, 30), compiles=compiles), "compile")
    assert "costs 30.0 µs of CPU time besides its ops" in sentence
    [sentence, *_] = told(Recording(ops=regions(90, 30), compiles=compiles), "compile")  # compiled before
    assert "costs 45.0 µs of CPU time besides its ops" in sentence


def test_what_a_wrapper_costs_is_not_told_from_kernels_that_leave_no_events():
    lookup = build.op(0, "TorchDynamo Cache Lookup", start_ns=0, duration_ns=5_000)
    wrapper = build.op(1, "## Call CompiledFxGraph f ##", start_ns=10_000, duration_ns=900_000)
    mm = build.op(2, "aten::mm", start_ns=20_000, duration_ns=100_000, parent=1)
    ran = build.launch(0, "aten::mm", op_id=2, category="cpu_kernel", start_ns=20_000, duration_ns=100_000)
    [sentence] = told(Recording(ops=(lookup, wrapper, mm), launches=(ran,)), "compile")
    assert "costs at least 5.00 µs of CPU time" in sentence and "enable_kernel_profile" in sentence
    cpp = build.op(3, "graph_0_cpp_fused_gelu_0", start_ns=200_000, duration_ns=700_000, parent=1)
    [sentence] = told(Recording(ops=(lookup, wrapper, mm, cpp), launches=(ran,)), "compile")
    assert "costs 105.0 µs of CPU time" in sentence and "not known" not in sentence


def test_a_product_that_is_faster_than_the_peak_says_so(read):
    recording = read("mlp_compiled")
    launches = tuple(replace(item, duration_ns=item.duration_ns // 4) for item in recording.launches)
    story = explain(replace(recording, launches=launches))
    assert any((row.share_of_peak or 0) > 1.005 for row in story.gemms)
    [rates] = [item.text for item in story.sentences if item.topic == "gemm" and " reaches " in item.text]
    for said in (rates, text.gemm_table(story)):
        assert all(FASTER in after for after in re.findall(r"(?:1[1-9]|[2-9]\d)\d %(?=(.{0,200}))", said))
        assert FASTER in said
    assert FASTER not in text.gemm_table(explain(recording))
