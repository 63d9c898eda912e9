"""Types of the calibration in `gpus/NAME.json`; `prediction.py` reads it, `fitting.py` makes it."""

from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

Positive = Annotated[float, Meta(gt=0, lt=1e30)]


class FamilyFit(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of one family of kernels on one GPU.

    Attributes:
        low, high: measured over predicted time, 10th and 90th percentile, of a call like a measured one (`stretch_of`).
        corrections: traits of calls (`traits_of`) → a row of each that was measured: its weight, and its place (`places_of`).
    """

    parameters: dict[str, Positive]
    low: float
    high: float
    count: int  # different calls that it was fitted to
    corrections: dict[str, tuple[str, ...]] = {}


class StepFit(msgspec.Struct, frozen=True, kw_only=True):
    """Measured over predicted sums of calls like those measured, over programs of kinds that were left out of the fit.

    Errors of a program's kernels go together, so that an interval of their sum cannot be made from theirs.
    """

    middle: float  # the median: predictions are multiplied by it
    factor: float  # 80 of 100 programs lie within it of the median, if their calls are like measured ones
    count: int


class CpuFit(msgspec.Struct, frozen=True, kw_only=True):
    """CPU time of a step, in µs: for a compiled graph, and for each call; and measured over predicted."""

    graph_us: float
    generated_us: float
    library_us: float
    backward_us: float
    low: float
    high: float
    count: int


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """All that is predicted with; `source` is a key of `Gpu.sources`."""

    families: dict[str, FamilyFit]
    step: StepFit | None = None
    cpu: CpuFit | None = None
    replay_us: float | None = None  # between two kernels of a CUDA graph's replay
    source: str


class Prediction(NamedTuple):
    """Device time of one call in µs, the interval that holds it in 80 of 100, and what they stand on."""

    us: float
    low: float
    high: float
    basis: str
