"""A TORCH_TRACE log alone is an input: what it holds of each compile, and which rank of a folder is meant."""

import gzip
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from fxscope import read_trace
from fxscope.analysis.groups import Places
from fxscope.analysis.report import report
from fxscope.errors import TraceError
from fxscope.model import BufferAccess, KernelCall, Node, replace
from fxscope.passes.fusion import reasons
from fxscope.passes.schedules import with_only_places
from fxscope.readers import compile_log
from fxscope.readers.log_files import logs_of_ranks
from fxscope.render import why as why_text
from fxscope.render.report import compile_words

LOGS = Path(__file__).parent.parent / "data" / "logs"


def test_aot_inductor_names_no_compile_and_its_wrapper_is_cpp() -> None:
    recording = read_trace(LOGS / "aot_inductor.log.gz")
    ids = [graph.id for graph in recording.graphs]
    assert ids == ["aot/0:pre_grad", "aot/0:inference", "aot/0:inference:post_grad"]
    assert [(call.handle, call.nodes) for call in recording.calls] == [
        ("aoti_torch_cuda_mm_out:4", ("mm_default_1",)),
        ("triton_poi_fused_addmm_relu_sigmoid_0:1", ("add_tensor_1", "relu", "sigmoid")),
        ("triton_poi_fused_mul_1:2", ("mul",)),
        ("aoti_torch_cuda_mm_out:5", ("mm_default",)),
        ("triton_poi_fused_addmm_gelu_2:3", ("add_tensor", "mul_1", "mul_2", "erf", "add", "mul_3")),
    ]
    assert {row.label for row in report(recording).kernels} == {"addmm", "addmm·gelu", "addmm·relu·sigmoid", "mul"}
    lines = {node.source.line for node in recording.graphs[2].nodes if node.source}
    assert lines == {node.source.line for node in recording.graphs[0].nodes if node.source}  # no line of the one before
    answer = why_text.words(recording, recording.why(), width=100)
    assert answer == "missed fusions unknown: the buffers of 2 of 5 kernel calls were not read.\n"
    assert "unknown" in why_text.words(recording, recording.why("addmm", "mul"), width=100)
    call = replace(recording.calls[1], nodes=(), purpose=None, purpose_arguments={})
    assert Places(recording).of_call(call).label == "triton_poi_fused_addmm_relu_sigmoid_0"
    assert Places(recording).of_call(replace(call, purpose="layout_copy")).label == "layout copy"


def test_a_wrapper_in_cpp_has_its_kernel_calls(tmp_path: Path) -> None:
    text, called = gzip.decompress((LOGS / "cpp_wrapper.log.gz").read_bytes()), b"aoti_torch_cpu_addmm_out(buf"
    (log := tmp_path / "x.log").write_bytes(text.replace(called, b'aoti_torch_call_dispatcher("lib::op", "buf', 1))
    recording = read_trace(log)
    names = " ".join(call.kernel for call in recording.calls)
    assert names == "lib::op cpp_fused_gelu_native_layer_norm_0 aoti_torch_cpu_addmm_out"
    assert not recording.problems and report(recording).contents == "1 compiled graph"
    assert [call.purpose_arguments["ops"] for call in recording.calls][1:] == [["gelu", "native_layer_norm"], ["addmm"]]
    collectives = read_trace(LOGS / "collectives.log.gz").calls  # a copy for one names no op that runs in it alone
    assert [call.purpose for call in collectives if call.type == "cpp"] == [None, "computes", None, "computes"]


def test_the_branches_of_a_condition_are_graphs_whose_nodes_their_calls_run() -> None:
    recording = read_trace(LOGS / "branches.log.gz")
    nodes = {(call.subgraph, call.nodes) for call in recording.calls if call.type == "cpp"}
    assert nodes == {
        (None, ("sum_1", "gt")),
        ("true_graph_0", ("relu", "mul")),
        ("false_graph_0", ("sin", "add")),
        (None, ()),
    }
    assert {row.label for row in report(recording).kernels} == {"addmm", "relu·mul", "sin·add", "softmax", "sum·gt"}
    assert "not fused: BLAS GEMM" in why_text.words(recording, recording.why("addmm", "relu"), width=100)


def test_a_log_names_its_torch_and_the_device_of_its_tensors() -> None:
    names = ("cpp_wrapper", "autotune_with_compile_id", "aot_inductor", "recompiles")
    found = [read_trace(LOGS / f"{name}.log.gz").environment for name in names]
    assert [item.device for item in found] == ["CPU", "NVIDIA PG509-210", None, "CPU"]
    assert [item.torch for item in found] == ["2.13.0+cpu", None, None, None]


def test_a_recompile_that_is_refused_is_where_the_others_are() -> None:
    made = report(read_trace(LOGS / "recompile_limit.log.gz"))
    assert {row.where for row in (*made.failures, *made.recompiles)} == {"train.py:59"}
    assert made.advice[0].text == "Stop the recompiles of train.py:59" and made.contents == ""
    assert made.recompiles[0].reason.startswith("s.k == 0")  # as many values as calls; requires_grad has two
    assert "requires_grad" in made.recompiles[0].also[0]


@pytest.mark.parametrize(
    ("name", "contents", "num_compiles"),
    [
        ("other_backends", "2 graphs, 8 ops, no Inductor code recorded", 2),
        ("export", "1 exported graph, 6 ops", 0),
        ("comp_failure", "eager: every compile failed", 0),
    ],
)
def test_graphs_that_inductor_did_not_compile_are_counted(name: str, contents: str, num_compiles: int) -> None:
    made = report(read_trace(LOGS / f"{name}.log.gz"))
    assert (made.contents, made.num_compiles) == (contents, num_compiles)


def test_nodes_of_cpp_kernels_are_those_that_can_run_nowhere_else() -> None:
    """No comment of Inductor's names them; every node of three graphs must run in one of five C++ kernels."""
    recording = read_trace(LOGS / "cpp_training.log.gz")
    nodes = {call.kernel.rpartition("_")[0]: call.nodes for call in recording.calls if call.type == "cpp"}
    assert nodes["cpp_fused_mean_pow"] == ("pow_1", "mean")
    assert nodes["cpp_fused_div_expand_mul_pow_sum"] == ("div", "pow_2", "mul_5", "mul_6", "sum_1")
    assert not [node for graph in recording.graphs for node in graph.nodes if node.kind == "unknown"]
    graph = recording.graphs[0]
    two = [  # both may compute it: in neither
        KernelCall(id=f"{n}", graph="g", kernel=f"cpp_fused_{n}", type="cpp", handle=f"{n}", reads=reads, writes=())
        for n, reads in enumerate([(BufferAccess(buffer="x"),)] * 2)
    ]
    x = Node(name="x", op="placeholder", target="x")
    sin = Node(name="sin", op="call_function", target="aten.sin.default", inputs=("x",))
    graph = replace(graph, nodes=(x, sin), outputs=("sin",))
    assert [call.nodes for call in with_only_places(two, graph, two)] == [(), ()]
    assert [call.nodes for call in with_only_places(two[:1], graph, two[:1])] == [("sin",)]


def test_a_mapping_by_kernel_names_nodes_but_no_loop_computes_a_collective() -> None:
    recording = read_trace(LOGS / "collectives.log.gz")
    copy, reduce_, wait, multiply = (call for call in recording.calls if call.graph.startswith("1/0"))
    assert (copy.nodes, wait.nodes, multiply.nodes) == ((), ("wait_tensor",), ("mul",))
    assert [access.buffer for access in reduce_.writes or ()] == ["buf0"]  # in place
    pair = next(item for item in recording.decisions if (item.a_call, item.b_call) == (copy.id, multiply.id))
    assert pair.reason_code == "cycle"
    assert not any(row.is_possible for row in report(recording).missed)


def test_export_keeps_its_graph_its_guards_and_the_data_that_it_read() -> None:
    recording = read_trace(LOGS / "export.log.gz")
    graph, compile_ = recording.graph("aot/0:pre_grad"), recording.compiles[0]
    assert [node.name for node in graph.nodes][:4] == ["x", "y", "_local_scalar_dense", "neg"]
    assert compile_.guards[:3] == ("(((-u0)//3)) + 5 >= 0", "(((-u0)//3)) + 5 < 2*s0", "Ne((((-u0)//3)) + 5, 0)")
    assert "export read real data at" in recording.problems[0].message
    assert why_text.nothing(recording).startswith("no fusion decisions: the recording has no kernel call")
    assert why_text.nothing(read_trace(LOGS / "autotune_with_compile_id.log.gz")).startswith("no missed fusions")
    assert read_trace(LOGS / "export_guard_added.log.gz").compiles[0].guards == ("Eq(s0, 3)",)


def test_a_failed_compile_says_what_failed_and_a_module_of_torch_is_at_the_users_line() -> None:
    compiles = read_trace(LOGS / "other_backends.log.gz").compiles
    assert [item.source and item.source.line for item in compiles if item.failure is None] == [75, 76]
    failed = read_trace(LOGS / "comp_failure.log.gz").compiles[0]
    assert failed.failure == "BackendCompilerFailed: backend='broken_backend' raised: RuntimeError: broken backend"
    assert failed.phases.keys() == {"Dynamo", "AOTAutograd"} and failed.duration_us == sum(failed.phases.values())


@pytest.mark.parametrize("log", sorted(LOGS.glob("*.log.gz")), ids=lambda log: log.name.partition(".")[0])
def test_what_tlparse_shows_of_a_log_is_in_its_recording(log: Path) -> None:
    """By lines alone: guards, those that failed, results in graphs, calls of kernels in generated code."""
    recording, text = read_trace(log), gzip.decompress(log.read_bytes()).decode()
    guards = {guard for item in recording.compiles for guard in item.guards}
    assert guards >= {*re.findall(r"\+- ([A-Z][A-Z_]+: .*\S)", text)}
    assert guards >= {*re.findall(r'^\t\{"code": "(.*?)", "stack', text, re.M)}
    failed = "\n".join(item.recompile_reason or "" for item in recording.compiles)
    assert all(guard in failed for guard in re.findall(r'^\t"(\d+/\d+: [^"\\]*)', text, re.M))
    names = {node.name for graph in recording.graphs for node in graph.nodes}
    assert names >= {*re.findall(r'^\t +(\w+): "[^"]+" = (?!L_)', text, re.M)}
    called = re.findall(r"^\t +(?:call_)?(triton_\w+|cpp_fused_\w+|extern_kernels\.\w+)(?:\.run)?\(", text, re.M)
    assert Counter(called) <= Counter(call.kernel for call in recording.calls)


@pytest.mark.parametrize("verb", ["view", "why", "code"])
@pytest.mark.parametrize("name", ["aot_inductor", "autotune_with_compile_id", "recompiles"])
def test_every_verb_takes_a_log(verb: str, name: str, command) -> None:
    assert command(verb, LOGS / f"{name}.log.gz").out.strip()


@pytest.mark.parametrize("is_on", [True, False])
def test_switches_are_those_of_the_cache_key(tmp_path: Path, is_on: bool) -> None:
    switches = {"max_autotune": is_on, "max_autotune_gemm_backends": "ATEN,TRITON", "shape_padding": True}
    parts = [f"[key] inductor_config[{name}]: {value}" for name, value in switches.items()]
    entry = {"artifact": {"name": "fx_graph_cache_miss"}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "x"}
    log = tmp_path / "t.log"
    text = gzip.decompress((LOGS / "collectives.log.gz").read_bytes()).decode()
    log.write_text(
        f"{text}V1206 15:24:50.000000 1 a.py:1] {json.dumps(entry)}\n\t{json.dumps({'components': parts})}\n"
    )
    limits = {item.graph: item.limits for item in read_trace(log).schedules}
    assert limits["0/0:inference:post_grad"] == {"max_autotune": is_on} and limits["1/0:inference:post_grad"] == {}
    known = limits["0/0:inference:post_grad"]
    reason = reasons.opaque("extern_kernels.mm", "extern", producer=True, device="cuda:0", limits=known)
    assert (reason.hint is None) is is_on


def test_a_log_folder_of_ranks_asks_which_one(tmp_path: Path) -> None:
    for rank in range(3):
        shutil.copy(LOGS / "recompiles.log.gz", tmp_path / f"dedicated_log_torch_trace_rank_{rank}_abc.log.gz")
    (tmp_path / "another.log").touch()  # empty: of no rank
    assert list(logs_of_ranks(tmp_path)) == [0, 1, 2]
    with pytest.raises(TraceError, match=r"logs of 3 ranks \(0 to 2\): which one\?"):
        read_trace(tmp_path)
    (one := tmp_path / "rank_7").mkdir()
    (one / "x.log").write_bytes(gzip.decompress((LOGS / "recompiles.log.gz").read_bytes()))
    assert len(read_trace(one).compiles) == len(read_trace(LOGS / "recompiles.log.gz").compiles)


def test_compiles_after_a_reset_of_dynamo_have_ids_of_their_own(tmp_path: Path) -> None:
    def entry(kind: str, payload: str = "", **more: int) -> str:
        ids = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0, **more}
        head = json.dumps({"artifact": {"name": kind}} if kind.startswith("fx_") else {kind: {}})[:-1]
        return f"V1206 15:24:50.000000 1 a.py:1] {head}, {json.dumps(ids)[1:]}\n" + (
            f"\t{payload}\n" if payload else ""
        )

    run = entry("dynamo_start") + entry("dynamo_start", attempt=1) + entry("dynamo_start", frame_compile_id=1)
    log, hit = tmp_path / "t.log", entry("fx_graph_cache_hit", "{}", frame_compile_id=0)
    key = '{"key": "%s", "components": ["[a] fx_kwargs[f]: <f at 0x1%s>", "[%s] inductor_config[x]: %s"]}'
    log.write_text(
        run + entry("fx_graph_cache_miss", key % ("k", 1, 1, True)) + hit + run + entry("fx_graph_cache_hit", "{}")
    )
    recording = read_trace(log)
    ids = {item.compile_id: item.cache for item in recording.compiles}
    assert ids == {"0/0": "miss", "0/1": None, "r2/0/0": "hit", "r2/0/1": None}
    (tmp_path / "u.log").write_text(run + entry("fx_graph_cache_miss", key % ("l", 2, 2, False)))  # of another process
    made = report(read_trace(tmp_path))
    words = "r3/0/0: key differs from that of 0/0 in inductor_config[x]: True → False"
    assert [row.reason for row in made.cache_keys] == [words]
    made = report(recording)
    assert made.cold is None and compile_words(made).endswith("4 times (1 from the cache), time not recorded")


@pytest.mark.parametrize(
    ("place", "line", "said", "reason"),
    [
        ("/lib/torch/_dynamo/external_utils.py:69", 13, "Attempted to call function marked as skipped", None),
        ("/lib/torchvision/ops.py:7", 7, "Attempted to call function marked as skipped", None),
        ("/lib/torchvision/ops.py:7", 7, "Call to `torch._dynamo.graph_break()`", None),
        (
            "/lib/torch/optim/optimizer.py:79",
            13,
            "Call to `torch._dynamo.graph_break()`",
            "torch itself ends the graph here (optimizer.py:79)",
        ),
    ],
)
def test_a_break_in_a_function_of_torch_is_at_the_users_line(place, line, said, reason) -> None:
    file, _, number = place.rpartition(":")
    payload = f"""Graph break in user code at {place}
Graph Break Reason: {said}

User code traceback:
  File "/home/me/train.py", line 13, in main
    lengths(packed)
  File "{file}", line {number}, in inner
    return fn(*args, **kwargs)

Traceback (most recent call last):
  File "/lib/torch/_dynamo/symbolic_convert.py", line 1076, in wrapper
    return inner_fn(self, inst)
"""
    text, source = compile_log._break(payload)
    code = {13: "lengths(packed)", 7: "return fn(*args, **kwargs)"}[line]
    assert text == (reason or said)
    assert source is not None and (source.line, source.code) == (line, code)


def test_breaks_of_a_log_without_an_entry_for_them_need_a_restart_and_a_function_that_resumes(tmp_path) -> None:
    text = gzip.decompress((LOGS / "breaks_of_old_torch.log.gz").read_bytes()).decode()
    made = report(read_trace(LOGS / "breaks_of_old_torch.log.gz"))
    assert [(row.where, row.count) for row in made.breaks] == [("test_misc.py:9549", 1), ("test_misc.py:9551", 1)]
    (tmp_path / "restarted.log").write_text(text.replace("torch_dynamo_resume_in_", "other_"))
    assert report(read_trace(tmp_path / "restarted.log")).breaks == ()
