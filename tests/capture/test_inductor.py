"""Graphs, provenance, guards, recompiles and graph breaks, from live compiles."""

import itertools
from pathlib import Path

import pytest
import torch
from torch._inductor.codecache import FxGraphCache
from torch.compiler._cache import CacheArtifactManager
from torch.fx.experimental.proxy_tensor import make_fx

import fxscope
from fxscope import passes
from fxscope._torch import hooks, nodes
from fxscope._torch.inductor import InductorCapture
from fxscope.analysis.report import report
from fxscope.model import Source
from fxscope.op_names import op_name
from tests.capture.programs import Block, Breaks, GeGLU


def compile_once(model, *inputs, backward: bool = False, **options):
    """Compile under a capture, away from other tests' cache entries, and return the facts."""
    torch._dynamo.reset()
    with InductorCapture() as capture:
        compiled = torch.compile(model, **options)
        for arguments in inputs:
            if backward:
                compiled(*arguments).sum().backward()
            else:
                with torch.no_grad():
                    compiled(*arguments)
    return capture.facts()


@pytest.fixture(scope="module")
def geglu():
    torch.manual_seed(0)
    return compile_once(GeGLU(), (torch.randn(4, 8),))


@pytest.mark.slow
def test_every_stage_of_an_inference_compile(geglu) -> None:
    stages = [(graph.id.split(":", 1)[1], graph.stage, graph.direction) for graph in geglu.graphs]
    assert stages == [
        ("pre_grad", "pre_grad", None),
        ("inference", "forward", "inference"),
        ("inference:post_grad", "post_grad", "inference"),
    ]
    pre_grad, _, post_grad = geglu.graphs
    assert [node.target for node in pre_grad.nodes if node.op == "call_function"] == [
        "torch.nn.functional.linear",
        "torch.nn.functional.gelu",
        "torch.nn.functional.linear",
        "operator.mul",
        "torch.nn.functional.linear",
    ]
    assert [node.target for node in post_grad.nodes].count("aten.mm.default") == 3
    assert geglu.problems == ()


def test_nodes_know_shape_line_and_module(geglu) -> None:
    post_grad = geglu.graphs[-1]
    tanh = next(node for node in post_grad.nodes if node.target == "aten.tanh.default")
    assert tanh.outputs[0].shape == (4, 16) and tanh.outputs[0].stride == (16, 1)
    assert (tanh.outputs[0].dtype, tanh.outputs[0].device, tanh.outputs[0].storage_offset) == ("float32", "cpu", 0)
    assert tanh.source.code == 'gate = functional.gelu(self.gate_proj(x), approximate="tanh")'
    assert tanh.source.file.endswith("programs.py") and tanh.source.function == "forward"
    modules = [node.source.module for node in post_grad.nodes if node.target == "aten.mm.default"]
    assert modules == ["gate_proj", "up_proj", "down_proj"]
    assert {node.source.module_type for node in post_grad.nodes if node.target == "aten.mm.default"} == {"Linear"}


def test_provenance_goes_back_to_the_users_graph(geglu) -> None:
    pre, inference, post = (graph.id for graph in geglu.graphs)
    links = {(link.from_, link.to): link for link in geglu.links}
    assert links[(pre, "gate"), (post, "tanh")].evidence == "from_node"
    assert links[(inference, "tanh"), (post, "tanh")].relation == "lowered_to"
    known = {graph.id: {node.name for node in graph.nodes} for graph in geglu.graphs}
    for link in geglu.links:
        assert link.from_[1] in known[link.from_[0]] and link.to[1] in known[link.to[0]]
    tied = {link.to[1] for link in geglu.links if link.to[0] == post and link.from_[0] == pre}
    assert tied == {node.name for node in geglu.graphs[2].nodes if node.op == "call_function"}


def test_a_replacements_own_names_are_not_those_of_the_program() -> None:
    def two(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.addmm(bias, x, x) @ (x @ x + bias)

    facts = compile_once(two, (torch.ones(8, 8), torch.ones(8)))
    links = {(link.from_, link.to[1]) for link in facts.links if link.to[0] == "0/0:inference:post_grad"}
    assert (("0/0:inference", "add"), "addmm_default") in links  # torch replaced `mm` and `add`
    assert (("0/0:inference", "addmm"), "addmm_default") not in links
    assert (("0/0:inference", "addmm"), "addmm") in links


def test_kernel_calls_know_what_ran_in_them(geglu) -> None:
    post_grad = geglu.graphs[-1]
    calls = [(call.kernel.split("_")[0], call.handle.rsplit(":", 1)[1], len(call.nodes)) for call in geglu.calls]
    assert calls == [("extern", "1", 1), ("extern", "2", 1), ("cpp", "3", 10), ("extern", "4", 1)]
    fused = geglu.calls[2]
    assert fused.type == "cpp" and fused.nodes_evidence == "debug_handle" and fused.graph == post_grad.id
    order = [node.name for node in post_grad.nodes]
    assert sorted(fused.nodes, key=order.index) == list(fused.nodes) and "tanh" in fused.nodes
    (code,) = [source for source in geglu.sources if source.kind == "output_code"]
    first, last = fused.code.call
    assert fused.kernel in "\n".join(code.text.splitlines()[first - 1 : last])
    (schedule,) = geglu.schedules
    assert schedule.graph == post_grad.id and len(schedule.nodes) == 4


def test_guards_and_time_of_a_compile(geglu) -> None:
    (compiled,) = geglu.compiles
    assert any("check_tensor(L['x']" in guard and "size=[4, 8]" in guard for guard in compiled.guards)
    assert compiled.source.function == "forward" and compiled.source.file.endswith("programs.py")
    assert compiled.duration_us > 0
    assert compiled.cache == "miss" and compiled.cudagraphs is False
    assert compiled.config == {}


@pytest.mark.slow
def test_module_paths_through_lists() -> None:
    facts = compile_once(Block(), (torch.randn(4, 8),))
    modules = [node.source.module for node in facts.graphs[-1].nodes if node.target == "aten.mm.default"]
    # The third product of each layer became an addmm with the residual, which torch gives no module.
    assert modules == [f"layers.{index}.{name}_proj" for index in (0, 1) for name in ("gate", "up")]


@pytest.mark.cpp
def test_a_forward_that_returns_sizes_has_saved_tensors() -> None:
    x = torch.randn(4, 8, requires_grad=True)
    facts = compile_once(lambda x: (x.tanh() * x.shape[0]).sin().mean(0), (x,), backward=True, dynamic=True)
    assert facts.problems == () and any(schedule.saved for schedule in facts.schedules)


def test_a_node_names_the_pass_that_put_it_in_anothers_place() -> None:
    class Folded(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.gelu(x) + torch.zeros(8)

    nodes = [node for graph in compile_once(Folded(), (torch.randn(8, 8),)).graphs for node in graph.nodes]
    assert {node.replaced_by for node in nodes if node.target == "aten.erf.default"} == {()}
    if hasattr(torch.fx.traceback, "NodeSourceAction"):  # else torch does not say it
        zeros = [node.replaced_by for node in nodes if node.target == "aten.full.default"]
        assert ("constant_fold_uniform_value",) in zeros


def test_a_view_that_the_wrapper_calls_is_no_kernel_and_moves_nothing() -> None:
    x = torch.arange(24).reshape(4, 6)
    recording = fxscope.record(lambda x: (x.sin().view(torch.int32) * 2).view(torch.int64) - 1, x.float(), compile=True)
    assert [call.type for call in recording.calls] == ["cpp", "cpp"]
    nodes = {node.name: node for node in recording.graph("0/0:inference:post_grad").nodes}
    assert {nodes["view"].kind, nodes["view_1"].kind} == {"view"}
    assert not [item for item in recording.decisions if item.reason_code == "fallback"]
    # The product is written to memory and read again by the difference, through the view.
    flows = {(item.a_call, item.b_call): item.saved_bytes for item in recording.decisions if item.verdict != "fused"}
    assert flows == {(one.id, other.id): 2 * 4 * 24 for one, other in itertools.pairwise(recording.calls)}


def test_what_a_pass_takes_away_is_not_what_stays() -> None:
    """torch 2.13 gives the node in whose place an `alias` was used the ancestry of the alias."""
    x = torch.ones(4, 8, requires_grad=True)
    recording = fxscope.record(lambda x: torch.cumprod(x, 1).tanh().sum(), x, compile=True, backward=True)
    joint = recording.graph("0/0:joint")
    for node in joint.nodes:
        if node.target == "aten.alias.default":
            assert node.kind in ("view", "eliminated") and not node.calls, node.reason


@pytest.mark.slow
def test_training_has_joint_forward_and_backward() -> None:
    facts = compile_once(GeGLU(), (torch.randn(4, 8),), backward=True)
    by_kind = {graph.id.split(":", 1)[1]: graph for graph in facts.graphs}
    assert list(by_kind) == ["pre_grad", "joint", "forward", "backward", "forward:post_grad", "backward:post_grad"]
    assert by_kind["backward"].direction == "backward" and by_kind["joint"].direction is None
    backward = by_kind["backward:post_grad"]
    mms = [node for node in backward.nodes if node.target == "aten.mm.default"]
    assert len(mms) == 5 or len(mms) == 4  # the input needs no gradient: two of six may be left out
    assert all(node.source.file.endswith("programs.py") for node in mms)
    forward_numbers = {node.sequence_number for node in by_kind["forward"].nodes if node.sequence_number is not None}
    assert {node.sequence_number for node in mms} <= forward_numbers
    assert [item.compile_id for item in facts.compiles] == [by_kind["backward"].compile_id]


def test_a_break_in_a_function_of_torch_is_at_the_users_call() -> None:
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(3, 2, 4), torch.tensor([3, 2]))
    (item,) = compile_once(torch.nn.utils.rnn.pad_packed_sequence, (packed,)).compiles
    assert "pad_packed_sequence" in item.break_reason and item.break_source.file == __file__


def branch_on_a_tensor(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.sum() > 0 else x - 1


def printed(x: torch.Tensor) -> torch.Tensor:
    print(end="")
    return x.item() + x.sin()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (branch_on_a_tensor, ["Data-dependent branching"]),
        (printed, ["Failed to trace builtin operator", "Unsupported Tensor.item() call"]),
    ],
)
def test_a_graph_break_has_torchs_explanation_and_hint(program, words: list[str]) -> None:
    reasons = [item.break_reason for item in compile_once(program, (torch.ones(1),)).compiles if item.break_reason]
    assert [text.partition(" with capture")[0].splitlines()[0] for text in reasons] == words
    assert all("Hint: " in text for text in reasons)


def test_graph_break_says_why_and_where() -> None:
    facts = compile_once(Breaks(), (torch.randn(2, 8),))
    first, second = facts.compiles
    assert "graph_break()" in first.break_reason
    assert first.break_source.code == "torch._dynamo.graph_break()"
    assert first.break_source.file.endswith("programs.py")
    assert second.break_reason is None
    stages = [graph.stage for graph in facts.graphs if graph.compile_id == second.compile_id]
    assert stages == ["pre_grad", "forward", "post_grad"]


def test_a_module_of_torchs_that_is_compiled_itself_is_where_it_is_called() -> None:
    """Dynamo compiles a wrapper of torch's there: its line says nothing."""
    compiled = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4)), backend="eager")
    recording = fxscope.record(compiled, torch.ones(2, 4))
    assert {item.source.file for item in recording.compiles if item.source} == {__file__}


def test_recompile_says_which_guard_failed_and_sizes_become_symbols() -> None:
    facts = compile_once(torch.nn.Linear(8, 4), (torch.randn(2, 8),), (torch.randn(3, 8),))
    first, second = facts.compiles
    assert first.recompile_reason is None
    assert "size mismatch at index 0. expected 2, actual 3" in second.recompile_reason
    dynamic = next(g for g in facts.graphs if g.compile_id == second.compile_id and g.stage == "post_grad")
    shapes = [node.outputs[0].shape for node in dynamic.nodes if node.target == "aten.addmm.default"]
    assert len(shapes) == 1 and isinstance(shapes[0][0], str) and shapes[0][1] == 4


def test_other_backends_still_give_the_pre_grad_graph() -> None:
    facts = compile_once(GeGLU(), (torch.randn(2, 8),), backend="eager")
    assert [graph.stage for graph in facts.graphs] == ["pre_grad"]


def test_a_failing_hook_is_a_problem_and_the_compile_succeeds(monkeypatch) -> None:
    def broken(node):
        raise RuntimeError("the hook's own mistake")

    monkeypatch.setattr(nodes, "fx_node", broken)
    model, x = GeGLU(), torch.randn(4, 8)
    with InductorCapture() as capture, torch.no_grad():
        result = torch.compile(model)(x)
    torch.testing.assert_close(result, model(x))
    messages = [problem.message for problem in capture.facts().problems]
    assert messages and all("the hook's own mistake" in message for message in messages)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
@torch._inductor.config.patch({"aot_inductor.metadata": {}})  # AOTInductor leaves the machine's there
@pytest.mark.parametrize("saved", ["artifacts", "backend", "standalone", "aot_compile", "package"])
def test_what_a_program_saves_of_a_compile_can_be_loaded_and_its_graphs_are_known(saved, tmp_path) -> None:
    """As without fxscope; a problem says what a part of the caches holds, whose folders stay as they are."""
    x, place, folder = torch.ones(8, 4), str(tmp_path / "saved"), Path(FxGraphCache._get_tmp_dir())
    before, compiled = {*folder.glob("*/*")}, torch.compile(torch.sinh, fullgraph=True)

    def standalone(graph, inputs):
        torch._inductor.standalone_compile(graph, inputs).save(path=place, format="unpacked")
        return torch._inductor.CompiledArtifact.load(path=place, format="unpacked")

    exported = torch.export.export(torch.nn.Tanh(), (x,))
    programs = {
        "artifacts": lambda: [compiled(x), torch.compiler.save_cache_artifacts()[0]],
        "backend": lambda: torch.compile(torch.sinh, backend=standalone)(x),
        "standalone": lambda: standalone(make_fx(lambda x: (x.sinh(),), tracing_mode="fake")(x), [x])(x),
        "aot_compile": lambda: compiled.aot_compile(((x,), {})).save_compiled_function(place),
        "package": lambda: torch._inductor.aoti_compile_and_package(exported, package_path=f"{place}.pt2"),
    }
    with CacheArtifactManager.with_fresh_cache(), InductorCapture() as capture, torch.no_grad():
        programs[saved]()
    facts = capture.facts()
    compile_id = "aot/0" if saved in ("standalone", "package") else "0/0"
    lowered = [graph for graph in facts.graphs if graph.stage == "post_grad"]
    assert [item.compile_id for item in (*facts.compiles, *lowered)] == [compile_id, compile_id]
    problems = [] if saved in ("package", "aot_compile") else ["artifacts of caches"]
    assert [problem.where for problem in facts.problems] == problems
    assert {*folder.glob("*/*")} == before
    if saved == "package":  # run alone
        with fxscope.record() as recorder:
            torch._inductor.aoti_load_package(f"{place}.pt2")(x).sum()
        made = report(recorder.recording)
        assert made.contents == "1 AOTInductor package" and "generated C++ kernels" in " ".join(made.unknown)


def test_a_missing_hook_and_what_torch_fails_to_say_are_problems(monkeypatch) -> None:
    from torch._inductor import scheduler

    def cannot(*_, **__):
        raise ZeroDivisionError("no accesses")

    name, real = "torch._dynamo.output_graph:OutputGraph.compile_subgraph", hooks.resolve
    monkeypatch.setattr(hooks, "resolve", lambda path: real(path + "_renamed" if path == name else path))
    monkeypatch.setattr(scheduler.BaseSchedulerNode, "get_read_write_buffer_accesses", cannot)
    facts = compile_once(GeGLU(), (torch.randn(4, 8),))
    assert len(facts.graphs) == 3
    missing, failed = facts.problems
    assert missing.where == f"hook {name}" and failed.where == "scheduler: bytes per access"
    assert failed.message.startswith("ZeroDivisionError")


def test_arguments_of_any_kind_are_told() -> None:
    class Odd:
        def __repr__(self):
            raise KeyError("repr")

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.add, (x,))
    node.args = (x, [1, "a"], slice(Odd(), 2))
    assert nodes._arguments(node) == "x, [1, 'a'], <slice whose repr raises KeyError>"


def test_the_script_that_runs_the_command_is_no_line_of_the_users() -> None:
    frames = ('File "/home/me/model.py", line 1, in forward', "  y = x", 'File "/opt/bin/fxscope", line 8, in <module>')
    source = nodes.source_in("\n  ".join([*frames, "  main()"]))
    assert source is not None and source.file == "/home/me/model.py"
    assert not nodes.is_user_file("/opt/bin/fxscope") and nodes.is_user_file("/opt/bin/other")


def test_a_frame_without_code_is_not_the_innermost_line() -> None:
    """Torch's own parser takes no filter before 2.11, and every graph of a compile was lost there."""
    frames = 'File "/a.py", line 3, in f', '  File "/b c.py", line 4, in <lambda>', "    z = 1", "    ^^^^^", "text"
    source = nodes.source_in("\n".join(frames))
    assert source == Source(file="/b c.py", line=4, code="z = 1", function="<lambda>")
    assert nodes.source_in(frames[0]) is nodes.source_in(None) is nodes.source_in("text") is None


def test_hooks_come_off_when_the_program_raises() -> None:
    with pytest.raises(KeyboardInterrupt), InductorCapture():
        assert hooks.active()
        raise KeyboardInterrupt
    assert hooks.active() == ()


def test_someone_elses_later_patch_survives() -> None:
    from torch._dynamo.output_graph import OutputGraph

    original = OutputGraph.compile_subgraph
    calls = []
    with InductorCapture():
        ours = OutputGraph.compile_subgraph

        def theirs(*arguments, **keywords):
            calls.append(1)
            return ours(*arguments, **keywords)

        OutputGraph.compile_subgraph = theirs
    try:
        assert OutputGraph.compile_subgraph is theirs
        torch._dynamo.reset()
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
        assert calls
    finally:
        OutputGraph.compile_subgraph = original


@pytest.mark.cpp
def test_a_wrapper_in_cpp_has_its_kernel_calls(monkeypatch) -> None:
    """The code is Inductor's own; only its build, which takes a minute, is left out: the program falls back to eager."""
    from torch._inductor import codecache

    monkeypatch.setattr(codecache.CppWrapperCodeCache, "load_pybinding", lambda *_, **__: 1 / 0)
    with torch._dynamo.config.patch(suppress_errors=True), torch._inductor.config.patch(cpp_wrapper=True):
        facts = compile_once(GeGLU(), (torch.randn(4, 8),))
    called = [(call.type, op_name(call.kernel.removesuffix("_out"))) for call in facts.calls]
    assert called == [("extern", "mm")] * 2 + [("cpp", "cpp_fused_gelu_mul_0"), ("extern", "mm")]
    assert all(call.nodes and call.scheduler_nodes for call in passes.run(facts).calls)
