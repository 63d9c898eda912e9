"""A program that compiles out of Inductor's cache is explained as the first time, and by nothing that is not its own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from fxscope._torch import kept_facts
from fxscope.capture import Recorder
from fxscope.model import Recording

pytestmark = pytest.mark.slow


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Iterator[Path]:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "0")
    with torch._inductor.config.patch(force_disable_caches=False, fx_graph_cache=True):
        yield tmp_path / "fxscope"


def recorded(model: nn.Module, x: torch.Tensor) -> tuple[Recording, torch.Tensor]:
    torch._dynamo.reset()
    compiled = torch.compile(model)
    with Recorder(remember=True) as recorder:
        out = compiled(x)
        out.sum().backward()
    return recorder.recording, out


def seen(recording: Recording) -> dict:
    """Return all of a recording that is no measurement, and no number that counts through a process."""
    whole = json.loads(kept_facts._NUMBERS.sub("N", recording.to_json()))
    parts = {name: whole[name] for name in ("links", "sources", "schedules", "decisions")}
    for kind in ("calls", "graphs"):
        for item in whole[kind]:
            for inner in (item, *item.get("nodes", ())):
                if isinstance(inner, dict):
                    for measured in ("timing", "roof", "calls", "sequence_number", "untimed"):
                        inner.pop(measured, None)
            item.pop("edges", None)
        parts[kind] = [item for item in whole[kind] if item.get("stage") not in ("eager", "scheduler", "kernel_calls")]
    for compiled in whole["compiles"]:
        for measured in ("duration_us", "cache", "guards"):
            compiled.pop(measured)
    for item in parts["decisions"]:
        for measured in ("measured_us", "expected_us"):
            item.pop(measured, None)
    return {**parts, "compiles": whole["compiles"]}


def explained(recording: Recording) -> list:
    """Return what is said of nodes and calls, without what counts through a process."""
    graphs = [graph for graph in recording.graphs if graph.stage == "post_grad"]
    nodes = [(graph.id, node.name, node.source, node.kind) for graph in graphs for node in graph.nodes]
    return [*nodes, *((call.id, call.kernel, call.nodes, call.sources) for call in recording.calls)]


def caches(recording: Recording) -> set[str | None]:
    return {compiled.cache for compiled in recording.compiles}


def model(width: int = 16) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))


class Twin(nn.Module):
    """The same graph, from another line and under another name."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = model()

    def forward(self, x):
        return self.inside(x)


def test_the_second_run_lowers_nothing_and_shows_the_same(cache) -> None:
    x = torch.randn(4, 16)
    first, a = recorded(model(), x)
    assert caches(first) == {"miss"} and len(list(cache.iterdir())) == 2  # forward and backward
    second, b = recorded(model(), x)
    assert caches(second) == {"hit"} and not second.problems
    assert torch.equal(a, b)
    assert seen(second) == seen(first)
    assert any(decision.verdict == "fused" for decision in second.decisions)
    assert all(call.timing is not None for call in second.calls)


def test_the_same_code_from_another_place_is_explained_by_its_own_lines(cache) -> None:
    x = torch.randn(4, 16)
    recorded(model(), x)
    twin, _ = recorded(Twin(), x)
    assert caches(twin) == {"miss"}
    addmm = next(node for node in twin.graph("0/0:forward:post_grad").nodes if node.target == "aten.addmm.default")
    assert addmm.source.code == "return self.inside(x)" and addmm.source.module.startswith("inside")
    again, _ = recorded(Twin(), x)  # the key stands for two codes now, which number their calls differently
    assert explained(again) == explained(twin)


def test_what_cannot_be_read_or_is_of_other_code_is_lowered_again(cache) -> None:
    x = torch.randn(4, 16)
    first, _ = recorded(model(), x)
    for path in cache.iterdir():
        path.write_bytes(b"no gzip")
    second, _ = recorded(model(), x)
    assert caches(second) == {"miss"} and explained(second) == explained(first) and not second.problems
    for path in cache.iterdir():  # what autotuning chose otherwise, say
        data = gzip.decompress(path.read_bytes())
        path.write_bytes(gzip.compress(data.replace(b"# AOT ID", b"# another")))
    third, _ = recorded(model(), x)
    assert caches(third) == {"miss"} and explained(third) == explained(first)


def test_graphs_with_symbolic_sizes_are_lowered_each_time(cache) -> None:
    for _ in range(2):
        torch._dynamo.reset()
        compiled = torch.compile(model(), dynamic=True)
        with Recorder(remember=True) as recorder:
            compiled(torch.randn(5, 16))
        assert caches(recorder.recording) == {"miss"} and not recorder.recording.problems


def test_ids_of_a_compile_are_taken_out_and_put_in() -> None:
    text = b'{"id":"0/0:forward","compile_id":"0/0","code":"x = \\"0/0:y\\" # 0/0:z"}'
    marked = kept_facts._without_id(text, "0/0")
    assert marked.count(b"0/0") == 2
    back = marked.replace(kept_facts._marked(kept_facts._MARK), kept_facts._marked("3/1"))
    assert json.loads(back) == {"id": "3/1:forward", "compile_id": "3/1", "code": 'x = "0/0:y" # 0/0:z'}
