"""The graph of kernel calls: one algorithm for the record, Markdown and the page."""

from __future__ import annotations

from fxscope.model import BufferAccess, Graph, KernelCall, replace
from fxscope.passes import stages
from tests import build

GRAPH = Graph(
    id="0/0:inference:post_grad",
    stage="post_grad",
    nodes=(
        build.placeholder("x"),
        build.node("mm", "aten.mm.default", "x"),
        build.node("view", "aten.view.default", "mm"),
        build.node("relu", "aten.relu.default", "view"),
        build.node("sum_1", "aten.sum.default", "relu", "relu"),
    ),
)


def call(number: int, node: str, reads: dict[str, int | None], writes: dict[str, int | None]) -> KernelCall:
    read = tuple(BufferAccess(buffer=name, bytes=size) for name, size in reads.items())
    written = tuple(BufferAccess(buffer=name, bytes=size) for name, size in writes.items())
    return build.call(number, f"k_{node}", node, reads=read, writes=written)


CALLS = [
    call(0, "mm", {"arg0": 4}, {"buf0": 8, "buf1": 2}),
    call(1, "relu", {"buf0": 8, "buf1": 2}, {"buf2": 8}),
    call(2, "sum_1", {"buf2": None, "arg0": 4}, {"buf3": 1}),
]
BARE = [replace(item, reads=None, writes=None) for item in CALLS]


def test_edges_are_buffers() -> None:
    drawn = {node.name: node.inputs for node in stages.call_graph(CALLS, GRAPH, "g").nodes}
    assert drawn == {"arg0": (), "k_mm:0": ("arg0",), "k_relu:1": ("k_mm:0",), "k_sum_1:2": ("k_relu:1", "arg0")}


def test_where_no_buffer_is_known_the_nodes_tell_through_views() -> None:
    drawn = {node.name: node.inputs for node in stages.call_graph(BARE, GRAPH, "g").nodes}
    assert drawn == {"k_mm:0": (), "k_relu:1": ("k_mm:0",), "k_sum_1:2": ("k_relu:1",)}


def test_a_buffer_written_twice_comes_from_the_last_writer() -> None:
    again = call(3, "relu", {"buf0": 8}, {"buf0": 8})
    last = call(4, "sum_1", {"buf0": 8}, {})
    drawn = {node.name: node.inputs for node in stages.call_graph([CALLS[0], again, last], GRAPH, "g").nodes}
    assert drawn["k_relu:3"] == ("k_mm:0",) and drawn["k_sum_1:4"] == ("k_relu:3",)
