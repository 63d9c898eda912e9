"""The recording of a program, with its compiles, sources and environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fxscope.model.base import CONTROLS, SCHEMA, Item, Source
from fxscope.model.calls import KernelCall, Launch
from fxscope.model.decisions import Decision, Schedule
from fxscope.model.graphs import Graph, Link, NearMiss, Rewrite
from fxscope.model.ops import Coverage, Memory, Op, Step, StepTimes, Summary

if TYPE_CHECKING:
    from pandas import DataFrame  # pyright: ignore[reportMissingImports]

    from fxscope.analysis.findings import Comparison
    from fxscope.analysis.report import Report
    from fxscope.analysis.why import WhyAnswer


class Compile(Item, frozen=True, kw_only=True):
    """One compilation of one frame."""

    compile_id: str
    source: Source | None = None
    guards: tuple[str, ...] = ()
    recompile_reason: str | None = None  # failed guards, as Dynamo says them; "": the first compile of another module
    break_reason: str | None = None  # why the graph ended here
    break_source: Source | None = None
    cache: Literal["miss", "hit", "bypassed"] | None = None  # no live compile is a hit: what caches hold is hidden
    cache_bypass: str | None = None  # why no cache can hold it, in torch's words
    cache_held: tuple[str | None, ...] = ()  # of each graph: whose code a cache has for it, "" an earlier process's
    cache_nearest: str | None = None  # the compile of the same frame whose cache key differs least from this one's
    cache_differs: tuple[str, ...] = ()  # in which components, as torch prints them; none: not known
    cudagraphs: bool | None = None
    cudagraph_skip: str | None = None  # why Inductor left CUDA graphs out, in its words
    cudagraph_rerecords: int | None = None  # recordings after the first of each part; None: none was seen
    guard_us: float | None = None  # one check of its guards, as Dynamo timed it (with cold CPU caches)
    failure: str | None = None  # the error that ended it
    untraced: bool = False  # that error is Dynamo's: it cannot trace the function, which stays Python or raises
    phases: dict[
        str, float
    ] = {}  # µs of each phase of forward and backward, without those inside it; they sum to `duration_us`
    dynamic: bool | None = None  # as of torch.compile; None: a size or number becomes symbolic once it has varied
    duration_us: float | None = None
    runs: int | None = None  # of a plan: how often a step runs its graph; 0 also where no recorded step ran it
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


class Unobserved(Item, frozen=True, kw_only=True):
    """Something that the program did and that is not, or not wholly, in the recording."""

    what: str  # "start-up", "steps", "eager", "later", "children", "threads", …
    count: int | None = None  # of ops, steps, processes: `detail` says of what
    duration_us: float | None = None  # of all; of "eager" and "later", the median step's
    detail: str  # in words, such as "2 child processes"


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


class Assumption(Item, frozen=True, kw_only=True):
    """Something taken as given because it could not be observed."""

    subject: str  # "sdpa backend"
    assumed: str
    because: str


class Problem(Item, frozen=True, kw_only=True):
    """Something that went wrong or disagrees, and what to do about it."""

    where: str  # the part of fxscope, the file or the node
    message: str
    remedy: str | None = None


PARTIAL = "partial plan"  # `where` of the problem of a plan that ends before the program does


class NumericsRow(Item, frozen=True, kw_only=True):
    """One kernel call's result against its ops run one by one, both against fp64: the value nearest to its tolerance."""

    call: str  # id of a call
    node: str | None = None  # of the call's graph, whose value the kernel wrote
    dtype: str | None = None
    state: Literal["within", "outside", "random", "unknown"]  # unknown: not compared, `cause` says why
    error: float | None = None  # largest, None where it is not finite; of integers and booleans: elements that differ
    eager_error: float | None = None  # of the ops run one by one from the values that the kernel read
    tolerance: float | None = None
    scale: float | None = None  # largest value
    cause: str | None = None  # `fxscope.english.NUMERICS` has the words; None: not known

    @property
    def share(self) -> float | None:
        if self.error is None or self.tolerance is None:
            return None
        return self.error / self.tolerance if self.tolerance else float(self.error > 0)


class Numerics(Item, frozen=True, kw_only=True):
    """Eager against compiled, kernel by kernel, with fp64 as judge."""

    rows: tuple[NumericsRow, ...] = ()  # one for each kernel call, in the order of the calls
    seconds: float  # that the comparison took


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
    float32_matmul_precision: str | None = None  # of torch, for GEMMs on a GPU


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
    near_misses: tuple[NearMiss, ...] = ()  # of each pattern that was tried in a graph and did not match
    schedules: tuple[Schedule, ...] = ()  # what the scheduler did, from which decisions are drawn
    compiles: tuple[Compile, ...] = ()
    steps: tuple[Step, ...] = ()
    summary: Summary | None = None
    memory: Memory | None = None
    base_time_ns: int | None = None
    coverage: Coverage | None = None
    unobserved: tuple[Unobserved, ...] = ()
    step_times: StepTimes | None = None
    numerics: Numerics | None = None  # None where it was not asked for
    predicted: PredictedStep | None = None  # of a plan
    assumptions: tuple[Assumption, ...] = ()
    problems: tuple[Problem, ...] = ()
    history: tuple[str, ...] = ()  # passes that ran

    def __post_init__(self) -> None:
        # A title goes into headings, file names and escape sequences: no control character, no bidirectional override.
        if self.title is not None and CONTROLS.search(self.title):
            msgspec.structs.force_setattr(self, "title", CONTROLS.sub(" ", self.title).strip())

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

    # Those below are conveniences for people; they look upwards in the layering, so they import when called.

    def save(self, path: str | Path, *, format: str | None = None, force: bool = False) -> Path:
        """Write the recording; the suffix (or `format`) decides how: .fxscope, .json, .svg, .dot, .md, .html.

        Raises RenderError: the format is unknown, or the file exists and `force` is false.
        """
        from fxscope.render import save

        return save(self, path, format=format, force=force)

    def show(self) -> None:
        """Print the recording to the terminal."""
        from fxscope.render.terminal import show

        show(self)

    def explain(self) -> Report:
        """Return what limits a step and what to try first; `print` it, or read its rows."""
        from fxscope.analysis.report import report

        return report(self)

    def why(self, *names: str) -> WhyAnswer:
        """Return why two ops were fused or were not: `recording.why("gelu", "mul")`; see `fxscope why`.

        Raises PassError: a name is nowhere in the recording.
        """
        from fxscope.analysis.why import why

        return why(self, *names)

    @property
    def is_partial(self) -> bool:
        """Return whether this is a plan that ends before the program does."""
        return any(problem.where == PARTIAL for problem in self.problems)

    def diff(self, other: Recording) -> Comparison:
        """Return what changed from this recording to the other."""
        from fxscope.analysis.compare import compare

        return compare(self, other)

    def assert_fused(self, *names: str) -> None:
        """Raise AssertionError unless these ops run in one kernel together."""
        from fxscope.assertions import Recorded

        Recorded(self).assert_fused(*names)

    def to_pandas(self) -> DataFrame:
        """Return the groups of equal kernels as a `pandas.DataFrame`, one row each, times in µs per step."""
        import pandas  # pyright: ignore[reportMissingImports]

        from fxscope.analysis.groups import groups

        return pandas.DataFrame([msgspec.structs.asdict(group) for group in groups(self)])

    def _repr_html_(self) -> str:
        from fxscope.render import notebook

        return notebook(self)
