"""A trace of a compiled program, without the compile's files: what it shows is said, what it cannot show is not made up."""

from pathlib import Path

import pytest

from fxscope import read_trace
from fxscope.analysis import traced_regions
from fxscope.analysis.report import report
from tests.processes import printed

H200 = Path(__file__).parent.parent / "data" / "h200"
COMPILED = sorted(path for path in H200.rglob("trace.json.gz") if (path.parent / "inductor").exists())


def spoken(verb: str, name: str, *options: str) -> str:
    return " ".join(printed("-m", "fxscope", verb, H200 / name / "trace.json.gz", *options).split())


@pytest.mark.parametrize("verb", ["why", "view"])
def test_a_compiled_trace_is_not_called_eager_and_says_what_is_missing(verb: str) -> None:
    text = spoken(verb, "mlp_compiled", "--all")
    assert "fxscope view TRACE --compile-log FOLDER" in text
    assert verb == "why" or "1 compiled region" in text
    assert "nothing looks at two ops" not in text


def test_a_trace_has_no_decisions() -> None:
    for name in ("mlp_compiled", "mlp_eager"):
        assert read_trace(H200 / name / "trace.json.gz").decisions == ()
    eager = read_trace(H200 / "mlp_eager" / "trace.json.gz")
    assert {node.target for node in eager.graph("eager").nodes if node.flops} == {"aten::mm"}  # not of `matmul`, too
    assert not traced_regions.regions_of(eager) and report(eager).contents.startswith("eager")


def test_a_mark_of_autograd_or_of_a_region_is_no_view() -> None:
    (graph,) = read_trace(H200.parent / "fleet" / "ddp_slow_gpu" / "rank2.json.gz").graphs
    views = {node.target.removeprefix("aten::") for node in graph.nodes if "view" in (node.kind, node.nature)}
    assert views == {"as_strided", "detach", "flatten", "reshape", "to", "view"}
    assert "CompiledFunction" in {node.target for node in graph.nodes}


def test_files_tell_more_than_the_trace_so_they_are_used() -> None:
    folder = H200 / "mlp_compiled"
    assert not traced_regions.regions_of(read_trace(folder / "trace.json.gz", debug_dir=folder / "inductor"))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_backend_that_calls_eager_ops_leaves_them_in_the_eager_graph(backend: str, tmp_path: Path) -> None:
    """Its regions have the names that Inductor's have. A kernel of a wrapper runs in neither of them."""
    torch = pytest.importorskip("torch")
    model = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()), backend=backend)
    model(torch.ones(4, 8)).sum().backward()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        model(torch.ones(4, 8)).sum().backward()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    recording = read_trace(tmp_path / "trace.json")
    assert any("Torch-Compiled Region" in op.name for op in recording.ops)
    assert {"aten::addmm", "aten::gelu", "aten::mm"} <= {launch.op for launch in recording.launches}
    assert all(launch.nodes for launch in recording.launches) and not recording.problems
    made = report(recording)
    assert made.contents == "torch.compile without Inductor" and not any("compile" in text for text in made.unknown)
    assert made.advice[0].text == 'torch.compile(backend="inductor")'


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: "-".join(path.parent.relative_to(H200).parts))
def test_every_compiled_capture_is_seen_as_compiled(path: Path) -> None:
    recording = read_trace(path)
    assert traced_regions.regions_of(recording) and not report(recording).contents.startswith("eager")
