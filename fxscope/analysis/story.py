"""What `explain` says: rows of tables and sentences, each with the ids of the items that prove it.

Evidence ids: `launch:12`, `op:31`, `call:0/0:inference:3`, `node:0/0:inference:post_grad/mm`, `compile:0/0`,
`step:0`, `graph:eager`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["CompileCost", "GemmRow", "OpLaunch", "Sentence", "StepCost", "Story"]

Topic = Literal[
    "overview",
    "dispatch",
    "bias",
    "transpose",
    "copy",
    "workspace",
    "gemm",
    "fusion",
    "intermediate",
    "compile",
    "guards",
    "recompile",
    "counters",
    "launch",
    "worth",
]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what is here."""


class GemmRow(Row, frozen=True, kw_only=True):
    """One GEMM, convolution or attention, over every time it ran. What is not known is `None`."""

    op: str
    role: str  # "gemm", "gemv", "convolution", "attention"
    label: str = ""  # what it is called, as no other row: "a.q", "a.q (backward) mm_13"
    backward: bool | None = None  # whether autograd ran it; None where nothing tells
    module: str | None = None
    line: str | None = None  # the user's code
    node: str | None = None
    call: str | None = None
    batch: int | None = None
    m: int | None = None
    k: int | None = None
    n: int | None = None
    flops: int | None = None  # as torch counts them, of an attention for all pairs of a query and a key
    dtype: str | None = None
    kernel: str
    family: str | None = None
    layout: str | None = None
    tile: tuple[int, ...] | None = None
    tiles: int | None = None
    blocks: int | None = None  # that the kernel was launched with
    waves: float | None = None  # tiles, or blocks where those are more, over as many as the device runs at once
    split_k: bool | None = None
    epilogue: str | None = None
    num_launches: int = 1  # launches of one execution: the GEMM, and a memset or a split-K reduction
    count: int = 1  # executions
    duration_us: float = 0.0  # median of the executions, everything the op launched: what every other view gives, too
    kernel_us: float = 0.0  # median of the kernels that multiply, mostly one
    flops_per_second: float | None = None  # in `duration_us`, without the FLOPs that a causal mask saves
    share_of_peak: float | None = None
    peak: str | None = None  # which rate, and where it comes from
    note: str | None = None
    evidence: tuple[str, ...] = ()


class OpLaunch(Row, frozen=True, kw_only=True):
    """How one op came to the GPU: what it asked of the runtime, and how long each part took, in one execution."""

    op: str
    step: int
    runtime: tuple[str, ...] = ()
    num_kernels: int = 0
    cpu_us: float | None = None  # from the op's start until its first launch call
    runtime_us: float | None = None  # inside runtime calls
    queue_us: float | None = None  # from the first launch call until the kernel starts
    device_us: float = 0.0
    evidence: tuple[str, ...] = ()


class StepCost(Row, frozen=True, kw_only=True):
    """Where one step's time went."""

    step: int
    wall_us: float
    device_us: float  # some stream ran something
    idle_us: float
    num_launches: int
    runtime_us: float  # CPU time in calls that launched work
    queue_us: float | None = None  # median
    bound: Literal["cpu", "gpu", "neither"] | None = None
    verdict: str | None = None


class CompileCost(Row, frozen=True, kw_only=True):
    """One thing that a call of compiled code pays for, per execution."""

    what: str
    name: str  # as the trace calls it
    count: int
    median_us: float | None  # of the calls that compiled nothing inside; `None`, with `unknown`, where none is known to
    first_us: float | None
    unknown: str | None = None  # why the cost is not known
    evidence: tuple[str, ...] = ()


class Sentence(Row, frozen=True, kw_only=True):
    """One statement, and the items that prove it."""

    topic: Topic
    text: str
    evidence: tuple[str, ...] = ()
    weakest: Any = None  # the weakest evidence among the links that were followed
    values: dict[str, Any] = {}  # the numbers in the text


class Story(Row, frozen=True, kw_only=True):
    """A recording explained."""

    title: str | None = None
    sentences: tuple[Sentence, ...] = ()
    gemms: tuple[GemmRow, ...] = ()
    launches: tuple[OpLaunch, ...] = ()
    steps: tuple[StepCost, ...] = ()
    compile_costs: tuple[CompileCost, ...] = ()
