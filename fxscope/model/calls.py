"""Kernel calls of generated code, and their launches."""

from typing import Any

import msgspec

from fxscope.model.base import EXTERN, Bound, CallType, Evidence, Item, LaunchCategory, Purpose, Source, Timing


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

    # "pointwise", "reduction", "gemm", "convolution", "attention" (the last two also "…_backward"), or "other"
    family: str
    variant: str = ""  # "flash", "depthwise", the function of a fallback, …
    dtype: str | None = None
    num_bytes: int = 0  # each argument moved once, only as far as it is reached
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
    requests: int = 0  # loads and stores of threads, each of up to 16 bytes
    sectors: int = 0  # … the 32-byte pieces of memory that their warps ask for
    statements: int = 0
    slow_ops: int = 0  # exp, tanh, log, …
    slowest_ops: int = 0  # erf; pow and random numbers as so many; of attention, 1: dropout
    trig_ops: int = 0  # sin, cos, tan
    reduced: int = 0  # reductions across threads
    strided: bool = False  # it reduces over a dimension that is not contiguous, or has tiles
    atomics: int = 0  # sectors of additions in memory, each warp's once
    crowded: float = 0.0  # … for each of their places, where threads beside each other add to places apart


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
    estimated_us: float | None = None  # on a target: predicted by its calibrated model, else the roof's floor
    estimated_range_us: tuple[float, float] | None = None  # holds the real time in 80 of 100 calls
    estimated_basis: str | None = None  # what the prediction stands on, or why there is none
    timing: Timing | None = None
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
    invocation: int | None = None  # which execution of the compiled graph in the step; of a call in a loop, of the call
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
