"""Why CUDA graphs were skipped, as torch says it, with the line of source and what to change."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import fxscope
from fxscope._torch.inductor import InductorCapture
from fxscope.analysis.report import cuda_graphs, report
from fxscope.english import cudagraph_text
from fxscope.model import Compile, Launch, Recording
from tests.capture.programs import Cache
from tests.compiler import functions

pytestmark = pytest.mark.slow

NORM = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))  # running statistics are buffers
torch._dynamo.mark_static_address(STATIC := torch.ones(4, 8))
torch._dynamo.mark_dynamic(MARKED := torch.ones(4, 8), 0)
INPUTS = {"static_address": STATIC, "marked": MARKED}
UNTIMED = ("sizes", "sizes_skipped", "marked", "cut", "wrapped_in_cpp")  # symbolic sizes, or no Python wrapper
FREE = "torch's checks find nothing"

# name: (program, state, words of the reason)
PLANNED = {name: (program, *expected) for name, (program, (_, *expected)) in functions("cuda_graphs.txt").items()}
PLANNED |= {"mutated buffer": (Cache(), "on", FREE), "training": (NORM, "on", FREE)}


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_predicts_a_replay_unless_torchs_own_checks_forbid_it(name: str) -> None:
    program, state, words = PLANNED[name]
    options = {"triton.cudagraphs": True, **getattr(program, "options", {})}
    arguments = {**getattr(program, "arguments", {}), "options": options}
    x, backward = INPUTS.get(name, torch.ones(4, 8)), "training" in name
    recording = fxscope.record(program, x, compile=arguments, target="h200", backward=backward)
    graphs = report(recording).cuda_graphs
    assert (graphs.state, words in graphs.reason) == (state, True), graphs.reason
    if name not in UNTIMED:
        assert recording.predicted is not None and (recording.predicted.replay_range_us is None) is (words != FREE)


@pytest.mark.parametrize(("mode", "state"), [("reduce-overhead", "skipped"), ("default", "off")])
def test_a_program_on_a_cpu_is_not_replayed_and_says_so(mode: str, state: str) -> None:
    recording = fxscope.record(lambda x: x.sin() + 1, torch.ones(8), compile=mode, steps=1)
    graphs = report(recording).cuda_graphs
    assert graphs.state == state
    assert any(item.cudagraph_skip for item in recording.compiles) is (state == "skipped")
    assert ("devices" in graphs.reason) is (state == "skipped")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            'skipping cudagraphs due to mutated inputs (1 instances). Found from : \n   File "/a/model.py", line 17, in f\n'
            "    x.add_(1)\n",
            "mutated inputs (1 instances) (model.py:17). Try: return the new value",
        ),
        (
            'skipping cudagraphs due to cpu device (primals_2). Found from : \n   File "/a/m.py", line 3, in f\n    y\n',
            "cpu device (primals_2) (m.py:3). Try: move that tensor to the GPU",
        ),
        (  # pytorch/pytorch#149944
            "disabling cudagraphs due to incompatible op aten.nonzero.default",
            "incompatible op aten.nonzero.default. Try: compile that op's part without CUDA graphs",
        ),
        (
            "skipping cudagraph due to function 0 exceeding max re-recording limit (=128) on cudagraph node None due to x.",
            "function 0 exceeding max re-recording limit (=128) on cudagraph node None due to x. Try: keep parameters",
        ),
        ("something that nobody has seen", "something that nobody has seen"),
    ],
)
def test_torchs_words_become_a_reason_a_place_and_a_change(told: str, words: str) -> None:
    assert cudagraph_text(told).startswith(words)
    assert ("Try" in cudagraph_text(told)) is ("Try" in words)


def test_what_torch_decides_when_it_runs_is_of_the_compile_that_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a GPU calls it: three recordings of one graph and one of another; a third writes into its input."""
    trees = pytest.importorskip("torch._inductor.cudagraph_trees")
    monkeypatch.setattr(trees.CUDAGraphTreeManager, "record_function", lambda self, inputs, function_id: None)
    codes = {
        0: SimpleNamespace(model=torch.sin),
        1: SimpleNamespace(model=torch.sin),
        2: SimpleNamespace(model=torch.cos),
    }

    class CUDAGraphTreeManager:
        ids_to_funcs = codes

        def run(self, compile_id: str, function_id: int | None) -> None:
            self.compile_id = compile_id
            if function_id is None:
                trees.log_cudagraph_skip_and_bump_counter("skipping cudagraphs due to mutated inputs (1 instances)")
            else:
                trees.CUDAGraphTreeManager.record_function(self, [], function_id)

    with InductorCapture() as capture:
        capture._install_inductor()
        for compile_id in ("0/0", "1/0", "2/0"):
            capture._compile(compile_id, cudagraphs=True)
        manager = CUDAGraphTreeManager()
        for run in [("0/0", 0), ("0/0", 1), ("0/0", 2), ("0/0", 0), ("1/0", None), ("7/0", 0)]:  # 7/0: compiled before
            manager.run(*run)
    compiles = {item.compile_id: item for item in capture.facts().compiles}
    assert {name: item.cudagraph_rerecords for name, item in compiles.items()} == {"0/0": 2, "1/0": None, "2/0": None}
    assert [name for name, item in compiles.items() if item.cudagraph_skip] == ["1/0"]
    launches = tuple(
        Launch(id=place, name="k", category="kernel", start_ns=0, duration_ns=1, cuda_graph=graph)
        for place, graph in enumerate((1, 1, 1, None))
    )
    found = cuda_graphs(Recording(compiles=tuple(compiles.values()), launches=launches))
    assert (found.state, found.share) == ("on", 0.75)
    assert found.reason.startswith("0/0 re-recorded 2 times; 1/0 skipped: mutated inputs (1 instances). Try: return")
    assert found.reason.endswith("; 2/0 not recorded: each size of its inputs is recorded at its second run")
    assert cuda_graphs(Recording(compiles=tuple(compiles.values()))).reason.startswith(
        "captured here, not replayed; 0/0"
    )


def test_a_compile_that_no_step_ran_says_nothing_of_the_step() -> None:
    ran, other = Compile(compile_id="0/0", cudagraphs=False), Compile(compile_id="1/0", cudagraphs=True, runs=0)
    assert cuda_graphs(Recording(compiles=(ran, other))).reason == "the compile mode does not use them"
    assert cuda_graphs(Recording(compiles=(other,))).reason == "asked for, and nothing was replayed"
