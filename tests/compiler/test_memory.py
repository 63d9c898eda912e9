"""The memory peak of a compiled graph: how much, at which kernel, whose; worked out by hand from the sizes."""

import json
import math
import re
from itertools import accumulate

import pytest
import torch
from torch.nn import functional
from torch.nn.attention.flex_attention import flex_attention

import fxscope
from fxscope.analysis.report import report
from fxscope.model import replace
from fxscope.render.page.overview import first_page
from fxscope.render.report import lines
from fxscope.text import num_bytes
from tests.compiler import functions

pytestmark = pytest.mark.slow
MIB = 1 << 20


PEAKS = functions("peaks.txt")


@pytest.mark.parametrize("name", PEAKS)
def test_the_peak_is_the_sum_of_what_is_alive(name: str) -> None:
    program, (_, inputs, sizes, running) = PEAKS[name]
    recording = fxscope.record(program, *eval(f"({inputs},)", vars(torch)), compile=True, target="h200")
    (row,), code = report(recording).graph_memory, recording.sources[0].text
    assert row.bytes == sum(size for _, size in row.buffers)
    found = [size / MIB for _, size in row.buffers if size >= MIB / 8]
    assert found == eval(sizes, {"code": code}) and running in (row.call or "")
    shown = "\n".join(lines(report(recording), everything=True))
    assert f"{num_bytes(row.bytes)} at " in shown
    assert "Memory peak of each" not in "\n".join(lines(report(recording)))
    calls = tuple(replace(call, nodes=("lost", *call.nodes)) for call in recording.calls)  # as in a damaged file
    assert report(replace(recording, calls=calls)).graph_memory == (row,)


def test_what_the_backward_needs_is_alive_at_the_forwards_peak() -> None:
    """An H200 allocated 18,874,368 bytes in this forward (`torch.cuda.max_memory_allocated`, torch 2.11)."""
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024))
    recording = fxscope.record(model, torch.ones(512, 1024), compile=True, backward=True, target="h200")
    peaks = {item.graph: item.peak_memory for item in recording.schedules}
    (forward,) = (peak for graph, peak in peaks.items() if "forward" in graph)
    assert forward.bytes == sum(item.bytes for item in forward.alive) == 18_874_368
    rows = {row.graph: row.owners for row in report(recording).graph_memory}
    assert rows["0/0:forward"] == ("addmm, saved for the backward", "gelu, saved for the backward", "addmm, returned")
    (backward,) = (peak for graph, peak in peaks.items() if "backward" in graph)
    lives = {item.buffer: (item.reused_by, item.first, item.last) for item in backward.ranges}
    # The wrapper keeps the first sums, read by the second kernel, for the second sums; gelu_backward writes over the product.
    assert [lives[name] for name in ("buf2", "buf0", "buf6")] == [(("buf7",), 0, 7), (("buf4",), 2, 7), ((), 4, 5)]
    page = first_page(recording)
    shown = next(row for row in page["memory"] if row["graph"] == "0/0:backward")
    assert [item["buffer"] for item, _ in shown["ranges"]] == [*lives] and shown["position"] == 7
    reused = "mm, reused for gelu and gelu_backward"
    assert rows["0/0:backward"][:3] == ("mm, returned", "mm, returned", reused)


def attention(q, k, v):
    """Its backward makes three results while its inputs and the gradient that it is given are alive."""
    return functional.scaled_dot_product_attention(q * 2, k * 2, v * 2)


def views(x):
    """Two views are no memory of their own."""
    return torch.view_as_real(torch.fft.rfft(x) * 2) * 2


@pytest.mark.parametrize(
    ("program", "inputs", "graph", "least"),
    [
        (attention, [torch.ones(2, 4, 64, 32, requires_grad=True)] * 3, "backward", 8),
        (views, [torch.ones(64, 64)], "", 2),
    ],
)
def test_results_of_a_library_are_made_at_once_and_a_view_is_no_memory(program, inputs, graph, least) -> None:
    inputs = [item.detach().clone().requires_grad_(item.requires_grad) for item in inputs]
    recording = fxscope.record(program, *inputs, compile=True, backward=bool(graph), target="h200")
    peak = next(item.peak_memory for item in recording.schedules if graph in item.graph)
    large = max(item.bytes for item in peak.alive)
    assert sum(item.bytes > large / 2 for item in peak.alive) == least, peak


@pytest.mark.parametrize(
    ("program", "shape", "number"),
    [(lambda x: x.sum(1).sin().sum() + x.sum(0).sin(), (512, 512), 1), (flex_attention, (1, 2, 128, 32), 3)],
)
def test_cpp_functions_need_all_that_the_wrapper_allocates_before_the_last_is_done(program, shape, number) -> None:
    """Two rows of sums and their sine. A block of flex attention has a buffer without a name."""
    recording = fxscope.record(program, *[torch.ones(shape)] * number, compile=True)
    source = next(item.text for item in recording.sources if item.kind == "output_code")
    shapes = re.findall(r"empty_strided_cpu\(\(([\d, ]*)\)", source)
    sizes = [4 * math.prod(map(int, re.findall(r"\d+", found))) for found in shapes]
    assert recording.schedules[0].peak_memory.bytes == sum(sizes) and not recording.problems


TRAINED = functions("memory.txt")


@pytest.mark.parametrize("name", TRAINED)
def test_the_peak_of_a_graph_is_that_of_the_allocators_events(name: str, tmp_path) -> None:
    """Recomputed from a profile of a later step: what its wrapper allocates, and frees of what it was given."""
    model, x = TRAINED[name][0]()
    with fxscope.record() as recorder:
        compiled = torch.compile(model)
        compiled(x).square().mean().backward()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        compiled(x).square().mean().backward()
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    memory = sorted((item for item in events if item.get("name") == "[memory]"), key=lambda item: item["ts"])
    peaks, freed = dict[str, int](), dict[str, int]()
    for call in (item for item in events if "CompiledFxGraph" in item.get("name", "") and item.get("ph") == "X"):
        inside = [item["args"] for item in memory if 0 <= item["ts"] - call["ts"] <= call["dur"]]
        made, given = set[int](), 0
        for item in inside:  # an address is used anew
            if item["Bytes"] < 0 and item["Addr"] not in made:
                given -= item["Bytes"]
            (made.add if item["Bytes"] > 0 else made.discard)(item["Addr"])
        key = call["name"].split()[3]
        peaks[key], freed[key] = max(accumulate((item["Bytes"] for item in inside), initial=given)), given
    found = {recorder.recording.graph(x.graph).cache_key: x.peak_memory for x in recorder.recording.schedules}
    inputs = {key: [item.bytes for item in x.ranges if not item.buffer.startswith("buf")] for key, x in found.items()}
    assert len(found) == 2 and {key: sum(sizes) for key, sizes in inputs.items()} == freed
    assert "library" in TRAINED[name][1][1] or {key: x.bytes for key, x in found.items()} == peaks
