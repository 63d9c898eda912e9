"""The record: everything fxscope knows about one program, as frozen values.

Capture fills in the facts, passes add conclusions, renderers show both. A value that is not known is `None`, never zero
and never a guess. Items refer to each other by id, so a recording is a plain tree and its JSON form (`docs/schema.md`)
is the same thing key for key.

The types are `msgspec.Struct`s: frozen, slotted and keyword-only like a dataclass, and in addition they validate and
encode themselves (`docs/decisions/0002-msgspec.md`). Change one with `replace(item, field=value)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from pathlib import Path

    from networkx import DiGraph, MultiDiGraph
    from pandas import DataFrame  # pyright: ignore[reportMissingImports]

    from fxscope.analysis.findings import Comparison
    from fxscope.analysis.report import Report
    from fxscope.analysis.why import WhyAnswer

__all__ = [
    "EVIDENCE_BY_STRENGTH",
    "EXTERN",
    "Assumption",
    "BufferAccess",
    "CodeLines",
    "Compile",
    "Coverage",
    "Decision",
    "DecisionEnd",
    "Environment",
    "FusionAttempt",
    "FusionTrial",
    "Gap",
    "Graph",
    "InputAssertion",
    "KernelCall",
    "KernelConfig",
    "KernelStats",
    "Launch",
    "LaunchEvidence",
    "Link",
    "MadeFor",
    "Memory",
    "MemoryDep",
    "Node",
    "Op",
    "OpStats",
    "PeakMemory",
    "Problem",
    "Recording",
    "Resources",
    "Rewrite",
    "Roof",
    "Schedule",
    "ScheduledGroup",
    "SchedulerNode",
    "Source",
    "SourceText",
    "Step",
    "StepStats",
    "Summary",
    "TensorMeta",
    "Timing",
    "replace",
    "weakest",
]

SCHEMA = "fxscope/2"
WHOLE = "whole trace"  # the name of the one step of a recording in which none were found

Stage = Literal["eager", "pre_grad", "joint", "forward", "backward", "post_grad", "scheduler", "kernel_calls"]
Direction = Literal["inference", "forward", "backward"]
Kind = Literal["input", "view", "kernel", "fused", "folded", "eliminated", "host", "unknown"]
Nature = Literal["view", "kernel", "composite", "host", "unknown"]
Evidence = Literal[
    "correlation", "external_id", "debug_handle", "lowering", "origin_node", "from_node", "origins", "order", "name"
]
EVIDENCE_BY_STRENGTH: tuple[Evidence, ...] = (
    "correlation",
    "external_id",
    "lowering",
    "debug_handle",
    "origin_node",
    "from_node",
    "origins",
    "order",
    "name",
)
LaunchCategory = Literal["kernel", "gpu_memset", "gpu_memcpy", "cpu_kernel"]
KERNELS = ("kernel", "cpu_kernel")  # the categories of what computes; the others clear and copy memory
CallType = Literal[
    "triton_pointwise",
    "triton_reduction",
    "triton_persistent_reduction",
    "triton_template",
    "triton_foreach",
    "triton_scan",
    "triton_other",
    "user_triton",
    "extern",
    "fallback",
    "cpp",
]
EXTERN: tuple[CallType, ...] = ("extern", "fallback")  # a library's kernel, called as it is
Verdict = Literal["fused", "rejected", "never_considered"]
How = Literal[
    "inlined",
    "vertical",
    "horizontal",
    "epilogue",
    "prologue",
    "template",
    "reduction",
    "foreach",
    "combo",
    "mix_order",
    "nested_reduction",
    "folded",
]
Bound = Literal["memory", "compute", "launch"]
Purpose = Literal[
    "computes", "program_copy", "layout_copy", "mutation_copy", "recompute", "saved", "split", "fallback", "collective"
]
Relation = Literal["lowered_to", "ran_in", "backward_of", "same_source"]


def weakest(*evidence: Evidence | None) -> Evidence | None:
    """The weakest evidence on a path, `None` where a link of the path is missing."""
    if not evidence or None in evidence:
        return None
    return max(evidence, key=lambda item: EVIDENCE_BY_STRENGTH.index(item))  # type: ignore[arg-type]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every type of the record."""


def plain(value: Any) -> Any:
    """A sequence of items (`fxscope.columns`) as the tuple it stands for: what msgspec cannot encode by itself."""
    if isinstance(value, Sequence):
        return tuple(value)
    raise NotImplementedError


def encoded(value: Any) -> bytes:
    """Return the JSON of what is recorded or found; what no UTF-8 can say, as in a file's name, is written "\\udcff"."""
    try:
        return msgspec.json.encode(value, enc_hook=plain)
    except UnicodeEncodeError:
        return msgspec.json.encode(_sayable(msgspec.to_builtins(value, enc_hook=plain)))


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")


def _sayable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sayable(key): _sayable(item) for key, item in cast("dict[Any, Any]", value).items()}
    return [_sayable(item) for item in cast("Any", value)] if isinstance(value, list | tuple) else value


class Printed(Item, frozen=True, kw_only=True):
    """Base of a report, which `print` shows as the terminal does."""

    def __str__(self) -> str:
        from fxscope.render.report import text_of

        return text_of(self)


class TensorMeta(Item, frozen=True, kw_only=True):
    """A tensor's metadata. Symbolic sizes (dynamic shapes) are strings such as `"s0"`."""

    shape: tuple[int | str, ...]
    dtype: str | None = None  # "bfloat16", without the "torch." prefix
    stride: tuple[int | str, ...] | None = None  # in elements
    storage_offset: int | str | None = None  # in elements
    device: str | None = None  # "cuda:0"


class Source(Item, frozen=True, kw_only=True):
    """A place in the user's program. `module` is the module path, such as `"mlp.up_proj"`."""

    file: str | None = None
    line: int | None = None
    code: str | None = None
    function: str | None = None
    module: str | None = None
    module_type: str | None = None  # "Linear"


class Timing(Item, frozen=True, kw_only=True):
    """Device time over every execution of one thing, in microseconds."""

    count: int
    total_us: float
    mean_us: float
    min_us: float
    max_us: float
    median_us: float | None = None  # recordings made before it was kept have none

    @property
    def typical_us(self) -> float:
        """The median, which one outlier does not move; the mean where no median was kept."""
        return self.mean_us if self.median_us is None else self.median_us


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
    `0/0:inference:post_grad`, `0/0:inference:scheduler`, `0/0:inference:kernel_calls`.
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

    def to_networkx(self) -> DiGraph[str]:
        """The graph's data flow as a `networkx.DiGraph`, an edge from each input to its user.

        Its nodes are the names; each has the attributes `item` (the `Node`), `kind`, `nature` and `target`.
        """
        from fxscope.index import graph_to_networkx

        return graph_to_networkx(self)


class MemoryDep(Item, frozen=True, kw_only=True):
    """An access of a loop nest to a buffer. A name in the index without a range is a value that is loaded or computed."""

    index: str  # in elements: "64*d0 + d1 + 32"
    ranges: tuple[tuple[str, int], ...]  # sizes of the loop variables on which the place depends


class BufferAccess(Item, frozen=True, kw_only=True):
    """A buffer that a kernel call reads or writes. `bytes` is the traffic of one call."""

    buffer: str
    bytes: int | None = None
    shape: tuple[int | str, ...] | None = None
    stride: tuple[int | str, ...] | None = None
    dtype: str | None = None
    deps: tuple[MemoryDep, ...] = ()  # where in it, as far as that is known; else all of it


class CodeLines(Item, frozen=True, kw_only=True):
    """Line ranges (first, last; from 1) in the output code of the call's graph."""

    kernel: tuple[int, int] | None = None
    call: tuple[int, int] | None = None


class KernelConfig(Item, frozen=True, kw_only=True):
    """One launch configuration that was compiled for a kernel."""

    kwargs: dict[str, int | str | bool] = {}
    num_warps: int | None = None
    num_stages: int | None = None
    registers: int | None = None  # per thread
    spill_bytes: int | None = None  # per thread
    shared_bytes: int | None = None  # per block
    occupancy: float | None = None  # theoretical, 0 to 1
    chosen: bool | None = None


class Resources(Item, frozen=True, kw_only=True):
    """Per-SM resource usage of a kernel, and who decided it."""

    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    occupancy: float | None = None
    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    chosen_by: str | None = None  # "heuristic", "autotuner", "author"
    configs: tuple[KernelConfig, ...] = ()


class Roof(Item, frozen=True, kw_only=True):
    """A kernel call against the device's limits."""

    bound: Bound | None = None
    bytes_per_second: float | None = None
    flops: int | None = None  # that its kernel cannot skip: of a causal attention the pairs under the mask
    flops_per_second: float | None = None  # of these
    share: float | None = None  # of the nearer roof, 0 to 1; above 1 it ran faster than the limit
    floor_us: float | None = None  # no version of this work runs faster than this at the limits of `basis`
    basis: str | None = None  # which limits were used and where they come from


class Workload(Item, frozen=True, kw_only=True):
    """The work of a call, as the generated code states it: the input of a prediction."""

    family: Literal[
        "pointwise",
        "reduction",
        "gemm",
        "convolution",
        "convolution_backward",
        "attention",
        "attention_backward",
        "template",
        "other",
    ]
    variant: str = ""  # of a template its tile, "64x128x32 w4 s3"; "flash", "depthwise", the function of a fallback, …
    dtype: str | None = None
    num_bytes: int = 0  # each argument moved once, only as far as it is reached
    reuse: tuple[
        tuple[float, float], ...
    ] = ()  # (MB that calls moved since it was touched, share of `num_bytes` so read)
    elements: int = 0  # computed, or of the result
    flops: int = 0
    m: int = 0  # of a GEMM; a convolution is one of pixels × channels × (channels × kernel); attention: queries
    n: int = 0  # … keys
    k: int = 0  # … width of a head
    batch: int = 1  # GEMMs beside each other, groups, heads
    layout: str = ""  # "nt": first operand dense along its last dimension, second along its first; "last": channels
    taps: int = 1  # of a convolution's kernel
    passes: int = 1  # of a convolution's backward: gradients of the input and of the weight
    causal: bool = False
    outer: int = 1  # of a generated kernel: results, or rows
    inner: int = 1  # … reduced into each
    loops: int = 0  # … over the reduced dimension
    loads: int = 0
    statements: int = 0
    slow_ops: int = 0  # exp, tanh, log, …
    slowest_ops: int = 0  # erf, pow, random numbers
    reduced: int = 0  # reductions across threads
    gathers: int = 0  # loads whose address is loaded
    strided: bool = False
    atomic: bool = False


class KernelCall(Item, frozen=True, kw_only=True):
    """One call site in a generated wrapper. Id: `0/0:inference:3` is the third call of that wrapper."""

    id: str
    graph: str  # id of the post-grad graph that its nodes are in
    handle: str  # "triton_poi_fused_gelu_mul_0:3", torch's debug handle; name:position where torch gave none
    kernel: str
    type: CallType
    nodes: tuple[str, ...] = ()  # ran in this call, in order
    folded: tuple[str, ...] = ()  # became an argument (strides) of this call
    named_only: tuple[str, ...] = ()  # in the kernel's name or origins, and not known to run in it
    biases: tuple[str, ...] = ()  # convolutions whose bias it adds: Inductor leaves that out of the library's call
    nodes_evidence: Evidence | None = None
    original_aten: tuple[str, ...] = ()  # the ATen ops that torch's comment above the call names
    source_names: tuple[str, ...] = ()  # the pre-grad nodes that it names
    scheduler_nodes: tuple[str, ...] = ()
    reads: tuple[BufferAccess, ...] | None = None
    writes: tuple[BufferAccess, ...] | None = None
    bytes_read: int | None = None
    bytes_written: int | None = None
    flops: int | None = None
    workload: Workload | None = msgspec.field(default=None, name="_workload")  # private: of the time model
    device: str | None = None
    code: CodeLines = CodeLines()
    subgraph: str | None = None  # the function of the wrapper that calls it, for a graph of its own (`true_graph_0`)
    conditional: bool = False  # under an `if` or a loop of the wrapper: it runs any number of times
    lines: tuple[tuple[int, str], ...] = ()  # (line of the output code, the node that it computes), where recorded
    profiled_as: str | None = None  # the name that a C++ kernel gives its event in a trace, where its code has one
    sources: tuple[Source, ...] = ()
    resources: Resources | None = None
    estimated_us: float | None = None  # on a target: predicted by its calibrated model, else the roof's floor
    estimated_range_us: tuple[float, float] | None = None  # holds the real time in 80 of 100 calls
    estimated_basis: str | None = None  # what the prediction stands on, or why there is none
    timing: Timing | None = None
    untimed: str | None = None  # why no launch is known, where something was launched and nothing of this call
    purpose: Purpose | None = None  # why the kernel exists; None: unknown
    purpose_arguments: dict[str, Any] = {}  # what `fxscope.english.PURPOSES` says it with
    roof: Roof | None = None

    @property
    def wrapper(self) -> str:
        """The id of the post-grad graph whose output code calls it: that of the subgraph's caller."""
        return self.graph.replace(f":{self.subgraph}:", ":") if self.subgraph else self.graph

    @property
    def is_extern(self) -> bool:
        """Return whether it calls a kernel of a library as it is."""
        return self.type in EXTERN

    @property
    def is_generated(self) -> bool:
        """Return whether Inductor wrote the kernel: not a library, not the user."""
        return not self.is_extern and self.type != "user_triton"


class LaunchEvidence(Item, frozen=True, kw_only=True):
    """The evidence of each link of a launch; `None` where there is no link."""

    op: Evidence | None = None
    call: Evidence | None = None
    nodes: Evidence | None = None


class Launch(Item, frozen=True, kw_only=True):
    """One execution on a device. Times are int64 nanoseconds relative to the recording's `base_time_ns`."""

    id: int
    name: str
    category: LaunchCategory
    step: int = 0
    invocation: int | None = None  # which execution of the compiled graph within the step
    start_ns: int
    duration_ns: int
    stream: int | None = None
    device: int | None = None
    correlation: int | None = None
    external_id: int | None = None
    op: str | None = None
    op_id: int | None = None  # id in `ops`
    chain: tuple[str, ...] = ()  # names from the outermost annotation down to the op
    runtime: tuple[str, ...] = ()  # runtime/driver calls of the op that issued it
    launched_ns: int | None = None  # start of the runtime call that launched it
    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    occupancy: float | None = None  # 0 to 1, as the profiler estimates it
    bytes: int | None = None  # memcpy and memset
    cuda_graph: int | None = None  # id of the CUDA or HIP graph whose replay launched it
    cuda_graph_node: int | None = None  # its node there, the same in every replay; ids count up in the order of capture
    call: str | None = None
    nodes: tuple[str, ...] = ()
    graph: str | None = None  # the graph that `nodes` are in
    evidence: LaunchEvidence = LaunchEvidence()
    decoded: dict[str, Any] | None = None  # see kernel_names.decode


class Op(Item, frozen=True, kw_only=True):
    """A CPU event of a kept step: an op, an annotation, or a runtime call."""

    id: int
    name: str
    category: str  # "cpu_op", "user_annotation", "runtime", "python"
    step: int = 0  # -1: while a graph was captured, before the steps that replay it
    thread: int | None = None
    start_ns: int
    duration_ns: int
    parent: int | None = None
    shapes: tuple[Any, ...] | None = None
    strides: tuple[Any, ...] | None = None
    dtypes: tuple[str, ...] | None = None  # torch's names; "Scalar" and the like as the profiler writes them
    concrete_inputs: tuple[str, ...] | None = None
    external_id: int | None = None
    correlation: int | None = None
    sequence_number: int | None = None
    config: dict[str, Any] | None = None  # a Triton launch's kernel_file, kernel_kwargs, num_warps, …
    source: Source | None = None
    graph: str | None = None
    node: str | None = None
    captured: bool = False  # while a CUDA or HIP graph was captured: its kernels run when that is replayed


class Link(Item, frozen=True, kw_only=True, rename={"from_": "from"}):
    """From one item to another; each end is (graph id, node name) or ("calls", call id)."""

    from_: tuple[str, str]
    to: tuple[str, str]
    relation: Relation
    evidence: Evidence


class MadeFor(Item, frozen=True, kw_only=True):
    """The reason for an operation that Inductor made: a copy into a layout that a node demands, or a fallback to ATen."""

    cause: Literal["layout", "input", "no_lowering", "declined", "unsupported"]
    node: str | None = None  # that was being lowered
    stride_order: tuple[int, ...] | None = None  # demanded: rank of each dimension's stride, 0 is the smallest
    strides: tuple[int | str, ...] | None = None  # demanded, in elements


class SchedulerNode(Item, frozen=True, kw_only=True):
    """One operation as Inductor's scheduler saw it, before or after joining (`group` says with which others)."""

    name: str  # "op2"
    type: str  # "pointwise", "reduction", "template", "extern", "user_triton", "foreach", "nop", "multi_output", …
    kernel: str | None = None  # an extern's kernel, such as "extern_kernels.mm"
    group: int  # position of its group in the final schedule; members of one group were fused
    origins: tuple[str, ...] = ()  # post-grad nodes, in graph order
    origin_node: str | None = None
    ran: tuple[str, ...] | None = (
        None  # post-grad nodes whose code it executes, in graph order; `None` where not recorded
    )
    parts: tuple[str, ...] = ()  # nodes of a library's kernel of which it computes a part (a bias)
    reads: tuple[BufferAccess, ...] = ()
    writes: tuple[BufferAccess, ...] = ()
    ranges: str | None = None  # iteration space, as printed
    device: str | None = None
    stream: int | None = None
    computes: bool | None = None  # False: its loops only load and store
    made_for: MadeFor | None = None  # None: an op of the graph


class Rewrite(Item, frozen=True, kw_only=True):
    """A change that a pass of the compiler made to a graph; the names are those of nodes in that graph then."""

    graph: str  # id of the graph as it was before all passes: "0/0:joint"
    stage: Stage | None = None  # pre_grad, joint, post_grad
    by: str  # the pass
    pattern: str | None = None  # of its pattern matcher
    removed: tuple[str, ...] = ()
    removed_ops: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    added_ops: tuple[str, ...] = ()


class ScheduledGroup(Item, frozen=True, kw_only=True):
    """One node of the final schedule, with the traffic that is left after its members were joined."""

    members: tuple[str, ...]
    type: str
    reads: tuple[BufferAccess, ...] = ()
    writes: tuple[BufferAccess, ...] = ()


class FusionAttempt(Item, frozen=True, kw_only=True):
    """The scheduler's verdict on one pair of (fused) nodes; the last round counts."""

    a: tuple[str, ...]  # scheduler nodes
    b: tuple[str, ...]
    fused: bool
    how: How | None = None
    raw_reason: str | None = None  # Inductor's own words
    cause: str | None = None  # from decide_fusion_fail_reason: why "no shared data"
    order: int = 0  # later attempts replace earlier ones


class FusionTrial(Item, frozen=True, kw_only=True):
    """The scheduler's verdict on two groups with a switch set that was not."""

    a: int  # positions of groups in the final schedule, the smaller first
    b: int
    config: str
    accepted: bool


class PeakMemory(Item, frozen=True, kw_only=True):
    """The most memory that a compiled graph needs at once, by Inductor's estimate; inputs that stay are not in it."""

    bytes: int
    scheduler_nodes: tuple[str, ...]  # that run then
    buffers: tuple[tuple[str, int], ...]  # (name, bytes) of those alive then, largest first


class Schedule(Item, frozen=True, kw_only=True):
    """The scheduler's view of one compiled graph: what it joined, what it was asked, and its limits."""

    graph: str  # id of the post-grad graph
    nodes: tuple[SchedulerNode, ...] = ()
    groups: tuple[ScheduledGroup, ...] = ()
    attempts: tuple[FusionAttempt, ...] = ()
    trials: tuple[FusionTrial, ...] = ()
    kernels: tuple[tuple[str, tuple[str, ...]], ...] = ()  # in emission order: kernel, scheduler nodes it runs
    renames: dict[str, str] = {}  # a mutated buffer's later name → the buffer it really is
    outputs: tuple[str, ...] = ()  # buffers that the graph returns
    saved: tuple[str, ...] = ()  # those of them that only the backward takes
    peak_memory: PeakMemory | None = None
    limits: dict[str, Any] = {}  # Inductor's switches that bear on fusion, as they were
    complete: bool = True  # False: rebuilt from files, which do not tell all


class DecisionEnd(NamedTuple):
    """One side of a decision."""

    nodes: tuple[str, ...]
    graph: str
    call: str | None


class Decision(Item, frozen=True, kw_only=True):
    """The verdict on one pair that could have been fused, and the cost of not fusing it."""

    graph: str
    a: tuple[str, ...]  # nodes
    b: tuple[str, ...]
    a_call: str | None = None
    b_call: str | None = None
    other_graph: str | None = None  # b's graph, where it is another one
    verdict: Verdict | None = None  # None, with a reason, when files cannot tell
    how: How | None = None
    reason_code: str  # `fxscope.english.REASONS` has the words
    reason_arguments: dict[str, Any] = {}  # what the words are about: names, sizes, iteration spaces
    notes: tuple[str, ...] = ()  # codes of what is added to the reason, with the same arguments
    raw_reason: str | None = None  # Inductor's own words
    hint_code: str | None = None  # what would change the answer; `fxscope.english.HINTS` has the words
    hint_verified: bool | None = None  # torch accepted the pair with that switch; None: it was not asked
    config: str | None = None  # the switch or limit the reason or hint is about
    shared_buffers: tuple[str, ...] = ()
    saved_bytes: int | None = None  # traffic that one kernel would not have
    saved_bytes_least: bool = False  # it is a lower bound: of some shared memory more is not known
    saved_us: float | None = None  # device time that one kernel would save at least; None where no bound is known
    expected_us: float | None = None  # what it is expected to save, with a template as fast as the library's kernel
    saved_launches: int | None = None  # launches that one kernel instead of two would save
    evidence: Evidence | None = None

    @property
    def ends(self) -> tuple[DecisionEnd, DecisionEnd]:
        return (
            DecisionEnd(self.a, self.graph, self.a_call),
            DecisionEnd(self.b, self.other_graph or self.graph, self.b_call),
        )

    @property
    def reason(self) -> str:
        from fxscope.english import reason_text

        return reason_text(self.reason_code, self.reason_arguments, self.notes, self.config)

    @property
    def hint(self) -> str | None:
        from fxscope.english import hint_text

        return hint_text(self.hint_code, self.reason_arguments, self.config, verified=self.hint_verified)


class InputAssertion(Item, frozen=True, kw_only=True):
    """A size and stride that compiled code asserts of one input."""

    name: str
    shape: tuple[int | str, ...]
    stride: tuple[int | str, ...]


class Compile(Item, frozen=True, kw_only=True):
    """One compilation of one frame."""

    compile_id: str
    source: Source | None = None
    guards: tuple[str, ...] = ()
    recompile_reason: str | None = None  # the guard that failed, as Dynamo says it
    recompile_reasons: tuple[str, ...] = ()  # one for each earlier compile of the frame, where Dynamo lists them
    break_reason: str | None = None  # why the graph ended here
    break_source: Source | None = None
    cache: Literal["miss", "hit", "bypassed"] | None = None
    cudagraphs: bool | None = None
    cudagraph_skip: str | None = None  # why Inductor left CUDA graphs out, in its words
    failure: str | None = None  # the error that ended it
    phases: dict[str, float] = {}  # µs of each phase that torch timed, phases inside others too
    dynamic: bool | None = None
    duration_us: float | None = None
    runs: int | None = None  # of a plan: how often its graph runs in a step; in a loop over like modules more than once
    assertions: tuple[InputAssertion, ...] = ()
    config: dict[str, Any] = {}  # Inductor's switches that differ from their default


class SourceText(Item, frozen=True, kw_only=True):
    """A text that other items point into."""

    id: str  # "0/0:inference:output_code", or the file's path for the user's code
    kind: Literal["output_code", "user", "ptx", "sass", "triton"]
    file: str | None = None
    text: str
    graph: str | None = None

    def __repr__(self) -> str:
        return f"<SourceText {self.id!r}: lines {len(self.text.splitlines())}>"


class Step(Item, frozen=True, kw_only=True):
    """An active profiler step (`ProfilerStep#N`); `index` counts from 0."""

    index: int
    name: str
    start_ns: int
    duration_ns: int


class OpStats(Item, frozen=True, kw_only=True):
    """One line of the op table, comparable with torch.profiler's `key_averages()`."""

    name: str
    count: int
    cpu_total_us: float
    cpu_self_us: float
    device_total_us: float
    device_self_us: float
    num_launches: int = 0


class KernelStats(Item, frozen=True, kw_only=True):
    """One line of the kernel table."""

    name: str
    category: LaunchCategory
    count: int
    total_us: float
    mean_us: float
    min_us: float
    max_us: float
    share: float  # of all device time, 0 to 1
    median_us: float | None = None  # recordings made before it was kept have none

    @property
    def typical_us(self) -> float:
        """The median, which one outlier does not move; the mean where no median was kept."""
        return self.mean_us if self.median_us is None else self.median_us


class StepStats(Item, frozen=True, kw_only=True):
    """One step in numbers."""

    step: int
    name: str
    wall_us: float
    device_busy_us: float
    device_idle_us: float
    num_launches: int
    num_syncs: int = 0
    launch_cpu_us: float | None = None  # CPU time inside runtime calls that launched work
    communication_us: float | None = None  # union of the collectives' kernels; None where none is recognised
    exposed_communication_us: float | None = None  # the part beside which no other kernel ran


class Gap(Item, frozen=True, kw_only=True):
    """A time in which no stream of a device ran anything."""

    device: int | None
    start_ns: int
    duration_ns: int
    step: int | None = None
    before: str | None = None  # kernel that ended
    after: str | None = None  # kernel that started
    during: str | None = None  # what the CPU was doing


class Summary(Item, frozen=True, kw_only=True):
    """Totals of a trace, over the kept steps."""

    ops: tuple[OpStats, ...] = ()
    kernels: tuple[KernelStats, ...] = ()
    steps: tuple[StepStats, ...] = ()
    gaps: tuple[Gap, ...] = ()
    syncs: tuple[OpStats, ...] = ()
    copies: tuple[KernelStats, ...] = ()
    bound: Literal["cpu", "gpu", "neither"] | None = None  # which side sets the length of a step; None: no device
    verdict: str | None = None  # the bound in words, with the numbers
    num_events: int | None = None


class Memory(Item, frozen=True, kw_only=True):
    """Device memory of the recorded run, in bytes."""

    peak_bytes: int | None = None
    start_bytes: int | None = None
    device: str | None = None


class Coverage(Item, frozen=True, kw_only=True):
    """The number of device events (kernels, memsets, memcpys) that were attributed, over all kept steps."""

    device_events: int
    to_op: int
    to_call: int | None
    to_node: int | None
    unattributed: int


class Unobserved(Item, frozen=True, kw_only=True):
    """Something that the program did and that is not, or not wholly, in the recording."""

    what: str  # "start-up", "steps", "children", "threads", …
    count: int | None = None  # of ops, steps, processes: `detail` says of what
    duration_us: float | None = None
    detail: str  # in words, such as "2 child processes"


class StartUpOp(Item, frozen=True, kw_only=True):
    """Calls of one op from one line before the first step; what it calls itself is in its time."""

    name: str  # "aten::normal_"
    count: int
    total_us: float
    source: Source | None = None


class StartUp(Item, frozen=True, kw_only=True):
    """Work before the first step: weights are initialised, data is read, the first call may compile."""

    duration_us: float
    compile_us: float | None = None  # of it; None where nothing was compiled
    ops: tuple[StartUpOp, ...] = ()  # most expensive first


class PredictedStep(Item, frozen=True, kw_only=True):
    """The predicted time of one step of a plan, in µs; a range holds the real time in 80 of 100 programs."""

    device_us: float
    device_range_us: tuple[float, float] | None = None
    num_calls: int
    cpu_range_us: tuple[float, float] | None = None  # on a machine as the calibrated one
    wall_range_us: tuple[float, float] | None = None  # of steps one after the other, the CPU running ahead
    replay_range_us: tuple[float, float] | None = None  # of a CUDA graph's replay
    bound: Literal["cpu", "gpu"] | None = None  # which of the two sets the length; None where the ranges overlap
    basis: str


class StepTimes(Item, frozen=True, kw_only=True):
    """Wall time of a step as the program runs it: no profiler was on, unless `when` is "recording".

    A step is what lies between two ends of `optimizer.step`, or one call of the recorded function. Quantiles are read
    from buckets 1 % wide.
    """

    count: int
    when: Literal["before", "after", "calls", "recording"] = "after"  # of the observed steps; "calls": a timing loop
    samples_us: tuple[float, ...] = ()  # the first of them, in order
    total_us: float
    median_us: float
    p5_us: float
    p95_us: float
    max_us: float
    slowest: tuple[tuple[int, float], ...] = ()  # (number of the step in the program, from 0; µs), slowest first

    @property
    def while_recording(self) -> bool:
        """Return whether the profiler was on, so that the times hold its cost."""
        return self.when == "recording"


class Assumption(Item, frozen=True, kw_only=True):
    """Something taken as given because it could not be observed."""

    subject: str  # "sdpa backend"
    assumed: str
    because: str


class Candidate(Item, frozen=True, kw_only=True):
    """One of several kernels, or configurations of a kernel, that could do the same work."""

    name: str  # "mm" of a library, "64×128×32, 4 warps, 3 stages" of a template, "XBLOCK=256, 4 warps"
    predicted_us: float | None = None  # device time; None where nothing was measured of its kind


class Choice(Item, frozen=True, kw_only=True):
    """A choice that a benchmark on the device makes, predicted in a plan."""

    kind: Literal["algorithm", "padding", "configuration"]
    subject: str  # "mm 2048 × 1024 × 4096 bfloat16", a kernel's name
    calls: tuple[str, ...] = ()  # ids of the calls that it decides about, where it is a kernel's
    candidates: tuple[Candidate, ...]  # shortest predicted time first
    predicted: str  # the name of one
    confidence: float | None = None  # share of measured choices in which such a prediction was right
    basis: str  # what prediction and confidence stand on


class Problem(Item, frozen=True, kw_only=True):
    """Something that went wrong or disagrees, and what to do about it."""

    where: str  # the part of fxscope, the file or the node
    message: str
    remedy: str | None = None


class Environment(Item, frozen=True, kw_only=True):
    """The machine and the packages of the recording."""

    fxscope: str | None = None
    torch: str | None = None
    triton: str | None = None
    python: str | None = None
    platform: str | None = None
    device: str | None = None  # "NVIDIA H200"; the CPU's name on a CPU run
    device_properties: dict[str, Any] | None = None
    cuda: str | None = None
    target: str | None = None  # name of the simulated GPU
    float32_matmul_precision: str | None = None  # of torch, while the plan was made


class Recording(Item, frozen=True, kw_only=True, dict=True):
    """One program, recorded. Load one with `fxscope.load`, make one with `fxscope.record`."""

    schema: str = SCHEMA
    title: str | None = None
    environment: Environment = Environment()
    graphs: tuple[Graph, ...] = ()
    calls: tuple[KernelCall, ...] = ()
    launches: tuple[Launch, ...] = ()
    ops: tuple[Op, ...] = ()
    links: tuple[Link, ...] = ()
    sources: tuple[SourceText, ...] = ()
    decisions: tuple[Decision, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()  # what passes changed in the graphs, in order
    schedules: tuple[Schedule, ...] = ()  # what the scheduler did, from which decisions are drawn
    compiles: tuple[Compile, ...] = ()
    steps: tuple[Step, ...] = ()
    summary: Summary | None = None
    memory: Memory | None = None
    base_time_ns: int | None = None
    coverage: Coverage | None = None
    unobserved: tuple[Unobserved, ...] = ()
    start_up: StartUp | None = None  # None where no steps were found, or it was to be left out
    step_times: StepTimes | None = None
    predicted: PredictedStep | None = None  # of a plan
    assumptions: tuple[Assumption, ...] = ()
    choices: tuple[Choice, ...] = ()  # of a plan: what a benchmark on the device would decide
    problems: tuple[Problem, ...] = ()
    history: tuple[str, ...] = ()  # passes that ran

    def __post_init__(self) -> None:
        # A title goes into headings, file names and escape sequences: no control character, no bidirectional override.
        if self.title is not None and _CONTROLS.search(self.title):
            msgspec.structs.force_setattr(self, "title", _CONTROLS.sub(" ", self.title).strip())

    def __repr__(self) -> str:
        """One line: all that is in a recording can be megabytes; `show` and `to_json` have it."""
        parts = ("graphs", "calls", "launches", "ops", "decisions", "problems")
        sizes = ", ".join(f"{name} {len(getattr(self, name))}" for name in parts if getattr(self, name))
        return f"<Recording {self.title!r}: {sizes or 'empty'}>"

    def graph(self, graph_id: str) -> Graph:
        """The graph with this id. Raises KeyError naming the ids there are."""
        for graph in self.graphs:
            if graph.id == graph_id:
                return graph
        raise KeyError(f"no graph {graph_id!r}; there are {', '.join(g.id for g in self.graphs) or 'none'}")

    def to_json(self) -> str:
        """The recording as JSON (`docs/schema.md`)."""
        return encoded(self).decode()

    # Those below are conveniences for people; they look upwards in the layering, so they import when called.

    def to_networkx(self) -> MultiDiGraph[tuple[str, str]]:
        """All levels and their links as one `networkx.MultiDiGraph`.

        Nodes are (graph id, node name), ("calls", call id) and ("launches", launch id as text), each with its `item`.
        Edges carry `relation` ("input", "launched" or a `Link`'s) and `evidence`, `None` where it is the data flow itself.
        """
        from fxscope.index import to_networkx

        return to_networkx(self)

    def save(self, path: str | Path, *, format: str | None = None, force: bool = False) -> Path:
        """Write the recording; the suffix (or `format`) decides how: .fxscope, .json, .svg, .dot, .md, .html.

        Raises:
            RenderError: the format is unknown, or the file exists and `force` is false.
        """
        from fxscope.render import save

        return save(self, path, format=format, force=force)

    def show(self) -> None:
        """Print the recording to the terminal."""
        from fxscope.render import show

        show(self)

    def explain(self) -> Report:
        """Return what limits a step and what to try first; `print` it, or read its rows."""
        from fxscope.analysis.report import report

        return report(self)

    def why(self, *names: str) -> WhyAnswer:
        """Return why two ops were fused or were not: `recording.why("gelu", "mul")`; see `fxscope why`.

        Raises:
            PassError: a name is nowhere in the recording.
        """
        from fxscope.analysis.why import why

        return why(self, *names)

    def diff(self, other: Recording) -> Comparison:
        """Return what changed from this recording to the other."""
        from fxscope.analysis.compare import compare

        return compare(self, other)

    def assert_fused(self, *names: str) -> None:
        """Raise AssertionError unless these ops run in one kernel together."""
        from fxscope.assertions import Recorded

        Recorded(self).assert_fused(*names)

    def to_pandas(self) -> DataFrame:
        """Return the groups of equal kernels as a `pandas.DataFrame`, one row each, times in µs per step.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas  # pyright: ignore[reportMissingImports]

        from fxscope.analysis.groups import groups

        return pandas.DataFrame([msgspec.structs.asdict(group) for group in groups(self)])

    def _repr_html_(self) -> str:
        from fxscope.render import notebook

        return notebook(self)
