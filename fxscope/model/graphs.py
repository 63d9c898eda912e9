"""Graphs, their nodes, and links between levels."""

from collections.abc import Mapping
from typing import Any, Literal

from fxscope.model.base import Direction, Evidence, Item, Kind, Nature, Relation, Source, Stage, TensorMeta, Timing
from fxscope.model.calls import Roof


class Node(Item, frozen=True, kw_only=True):
    """One operation of a graph. The fields after `expected` are conclusions of passes."""

    name: str  # unique in its graph
    op: str  # fx's op ("placeholder", "call_function", "get_attr", …), or "dispatch" in an eager graph
    target: str  # "aten.mul.Tensor"; eager: "aten::mul"
    inputs: tuple[str, ...] = ()  # names of nodes in the same graph
    outputs: tuple[TensorMeta, ...] = ()
    arguments: str | None = None  # the call's arguments as printed
    parent: str | None = None  # eager: the op that called this one
    source: Source | None = None
    from_node: tuple[str, ...] = ()  # names in the earlier graph, as torch recorded them
    replaced_by: tuple[str, ...] = ()  # passes of the compiler that put it in an earlier node's place, latest first
    original_aten: str | None = None
    sequence_number: int | None = None  # autograd's, equal in forward and backward
    aliases: tuple[str, ...] | None = None  # inputs whose storage an output shares; () none; None not recorded
    mutates: tuple[str, ...] = ()  # inputs written in place
    recompute: str | None = None  # the checkpoint's policy, "must_recompute"
    expected: Nature | None = None  # what static analysis (schema, strides) expects
    nature: Nature | None = None  # what the op is; None for graph inputs
    kind: Kind = "unknown"  # what became of it
    reason: str | None = None  # how `kind` is known, in words
    calls: tuple[str, ...] = ()  # ids of the kernel calls it ran in; several where it was recomputed
    timing: Timing | None = None  # device time of the launches attributed to it alone
    bytes_read: int | None = None  # eager: of the op's kernels, from its tensors
    bytes_written: int | None = None
    flops: int | None = None
    roof: Roof | None = None


class Graph(Item, frozen=True, kw_only=True):
    """One level of the program; nodes in execution order.

    Ids: `eager`, `0/0:pre_grad`, `0/0:inference` (AOT graph), `0/0:forward`, `0/0:backward`, `0/0:joint`,
    `0/0:inference:post_grad`.
    """

    id: str
    stage: Stage
    compile_id: str | None = None
    direction: Direction | None = None
    nodes: tuple[Node, ...] = ()
    outputs: tuple[str, ...] = ()  # names of the nodes that the graph returns
    text: str | None = None  # the graph as torch printed it, where kept
    cache_key: str | None = None  # post-grad: names its runs in a trace, `## Call CompiledFxGraph <key> ##`

    def __repr__(self) -> str:
        return f"<Graph {self.id!r}: nodes {len(self.nodes)}>"


class Link(Item, frozen=True, kw_only=True, rename={"from_": "from"}):
    """From one item to another; each end is (graph id, node name) or ("calls", call id)."""

    from_: tuple[str, str]
    to: tuple[str, str]
    relation: Relation
    evidence: Evidence


class Rewrite(Item, frozen=True, kw_only=True):
    """A change that a pass of the compiler made to a graph; the names are those of nodes in that graph then."""

    graph: str  # id of the graph as it was before all passes: "0/0:joint"
    stage: Stage | None = None  # pre_grad, joint, post_grad
    by: str  # the pass
    pattern: str | None = None  # of its pattern matcher
    removed: tuple[str, ...] = ()
    removed_ops: tuple[str, ...] = ()
    removed_inputs: tuple[tuple[str, ...], ...] = ()  # of the first of them
    added: tuple[str, ...] = ()
    added_ops: tuple[str, ...] = ()
    added_inputs: tuple[tuple[str, ...], ...] = ()


class NearMiss(Item, frozen=True, kw_only=True):
    """The candidate of a graph that came closest to a pattern which did not match it, and the first check that failed."""

    graph: str  # as in `Rewrite`
    by: str  # the pass
    pattern: str
    node: str  # where the pattern was tried: its last op
    matched: int  # ops of the pattern
    total: int
    code: Literal["op", "users", "value", "check", "other"]
    arguments: dict[str, Any] = {}

    @property
    def rank(self) -> tuple[float, int, bool]:
        """How close it came: the share of the pattern that matched, then `closeness`."""
        return self.matched / max(self.total, 1), *closeness(self.matched, self.arguments)


NO_OP = {"placeholder": "a graph input", "get_attr": "a constant"}  # nodes that no op makes, in words


def closeness(matched: int, arguments: Mapping[str, Any]) -> tuple[int, bool]:
    """How close a candidate came to a pattern: the ops that matched, then whether the check failed at an op."""
    return matched, arguments.get("op") not in NO_OP.values()
