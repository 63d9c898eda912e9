"""Predict the time of a kernel call on a GPU from its generated code.

    found = predict(load("h200"), call.workload)      # µs, an interval, and what they stand on

One formula per family with a few parameters: a floor that no launch beats, traffic at the rate of the L2 cache or of
memory, arithmetic, and for what is computed as a GEMM waves of tiles over the multiprocessors, with a time for each step
along K. `fitting.py` fits the parameters to measured calls; `docs/target.md` says how well they hold on other programs.
A GPU that nothing was measured on has no predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fxscope import op_names
from fxscope.gpus.timing import NotNegative
from fxscope.model import Workload

if TYPE_CHECKING:
    from fxscope.gpus import Gpu

Formula = Callable[[Mapping[str, float], Workload, int], float]


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Measured over predicted time, 10th and 90th percentile, of calls predicted to take `above_us` or more."""

    above_us: float
    low: float
    high: float
    count: int


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The calls that a family was fitted to: their traits (`traits_of`), and least and largest of each size."""

    traits: tuple[str, ...]
    sizes: dict[str, tuple[float, float]]


class FamilyFit(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of one family of kernels on one GPU; `spreads` by size, smallest first."""

    parameters: dict[str, NotNegative]
    spreads: tuple[Spread, ...]
    count: int  # different calls that it was fitted to
    measured: Measured | None = None


class StepFit(msgspec.Struct, frozen=True, kw_only=True):
    """Measured over predicted, over kinds of programs that were left out of the fit: 80 of 100 programs lie between.

    Errors of a program's kernels go together, so that an interval of their sum cannot be made from theirs. For a program
    of which the share `s` of the time is outside what was measured, the range is the power `1 + outside * s` as wide.
    """

    low: float
    middle: float
    high: float
    count: int
    outside: float = 0.0


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
    outside: float = 1.5  # factor on either end of the interval of a call unlike those that were measured
    cpu: CpuFit | None = None
    replay_us: float | None = None  # between two kernels of a CUDA graph's replay
    source: str


class Prediction(NamedTuple):
    """Device time of one call in µs, the interval that holds it in 80 of 100, and what they stand on."""

    us: float
    low: float
    high: float
    basis: str


# ---------------------------------------------------------------------- formulas

_TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (64, 32), (64, 16))
_SPLITS = (1, 2, 4, 8, 16)
_SHARPNESS = 4
_MISS = 3


def memory(p: Mapping[str, float], work: Workload) -> float:
    """Time of traffic: at the cache's rate what was touched less than about its size ago, else at the memory's."""
    own = work.num_bytes / 1e6
    reads = work.reuse or ((own, 1.0),)
    outside = sum(share * missed(p, distance) for distance, share in reads)
    outside += max(0.0, 1 - sum(share for _, share in reads)) * missed(p, own)  # what is written
    return own * (outside / p["dram"] + (1 - outside) / p["l2"])


def missed(p: Mapping[str, float], distance: float) -> float:
    return 1 / (1 + (p["capacity"] / max(distance, 1e-3)) ** _MISS)


def slower_of(*times: float, sharpness: float = _SHARPNESS) -> float:
    return sum(time**sharpness for time in times) ** (1 / sharpness)


def arithmetic(p: Mapping[str, float], work: Workload) -> float:
    each = work.statements * p["alu_ps"] + work.slow_ops * p["slow_ps"] + work.slowest_ops * p["slowest_ps"]
    return work.elements * each * 1e-6


def pointwise(p: Mapping[str, float], work: Workload, _: int) -> float:
    moved = memory(p, work) * (1 + p["strided"] * work.strided)
    extra = p["load"] * min(work.loads, 20) + p["statement"] * work.statements + p["gather"] * (work.gathers > 0)
    atomic = (p["atomic"] + work.elements * p["atomic_ps"] * 1e-6) * work.atomic
    # A kernel that occupies all multiprocessors takes longer than one of a few blocks.
    filling = p["fill"] * work.num_bytes / (work.num_bytes + p["full"] * 1e6)
    return p["floor"] + extra + atomic + filling + slower_of(moved, arithmetic(p, work))


def reduction(p: Mapping[str, float], work: Workload, multiprocessors: int) -> float:
    moved = memory(p, work) * (1 + p["strided"] * work.strided)
    extra = p["load"] * min(work.loads, 20) + p["reduced"] * min(work.reduced, 8) + p["gather"] * (work.gathers > 0)
    extra += (p["atomic"] + work.outer * p["atomic_ps"] * 1e-6) * work.atomic
    if work.loops:  # a block goes through its row in pieces, one after the other
        piece = 64 if work.strided else 1024
        extra += work.loops * (p["loop"] + max(0, ceil(work.inner / piece) - 1) * p["iteration"])
    blocks = max(1.0, work.outer / 32 if work.strided else work.outer)
    one_block = work.num_bytes / min(blocks, multiprocessors * 8) / (p["block"] * 1e3)
    return p["floor"] + extra + slower_of(moved, arithmetic(p, work), one_block)


def tiled(p: Mapping[str, float], work: Workload, multiprocessors: int) -> float:
    """The best of some tiles and splits of K: whole waves over the multiprocessors, each as long as its K loop."""
    best = float("inf")
    steps = work.k / 64
    for rows, columns in _TILES:
        tiles = ceil(work.m / rows) * ceil(work.n / columns) * work.batch
        share = rows * columns / 16384
        step = max(rows * columns * 128 / (p["sm"] * 1e6 * min(1.0, share ** p["small_tile"])), p["k_step"])
        for split in _SPLITS:
            if split > 1 and work.k < 128 * split:
                break
            time = ceil(tiles * split / multiprocessors) * steps / split * step
            if split > 1:
                time += p["split"] + split * p["split_each"]
            best = min(best, time)
    return best


def gemm(p: Mapping[str, float], work: Workload, multiprocessors: int) -> float:
    extra = p["batched"] * (work.batch > 1) + p["few_rows"] * (min(work.m, work.n) <= 4)
    if work.variant == "grouped":
        extra += p["grouped"]
    busy = tiled(p, work, multiprocessors)
    if unaligned(work.k) or unaligned(work.n):
        busy *= 1 + p["unaligned"]
        extra += p["odd"]
    return p["floor"] + extra + slower_of(busy, memory(p, work), sharpness=3)


def unaligned(size: int) -> bool:
    """Return whether rows of so many elements of two bytes are not of whole 16 bytes, as tensor cores load them."""
    return size % 8 != 0


def depthwise(p: Mapping[str, float], work: Workload, _: int) -> float:
    if work.batch <= 8:  # cuDNN launches once for each channel
        return p["each_channel"] * work.batch * work.passes
    time = slower_of(memory(p, work), work.elements * work.taps * p["tap_ps"] * 1e-6, sharpness=2)
    return passes(p, work, p["floor"] + p["taps"] * work.taps + time)


def passes(p: Mapping[str, float], work: Workload, forward: float) -> float:
    """Time of a convolution, or of the passes of its backward."""
    return forward if work.family == "convolution" else forward * p["pass"] * (1 + p["second"] * (work.passes - 1))


def convolution(p: Mapping[str, float], work: Workload, multiprocessors: int) -> float:
    if work.variant == "depthwise":
        return depthwise(p, work, multiprocessors)
    channels = work.k // max(1, work.taps)
    odd = channels % 8 or work.n % 8
    tiles = tiled(p, work, multiprocessors) * (1 + p["odd_tiles"] * bool(odd))
    busy = slower_of(tiles, memory(p, work), sharpness=3)
    extra = p["groups"] * (work.variant == "grouped" and work.layout != "last")
    if work.layout != "last":  # cuDNN brings the tensors into its own order first
        extra += (p["reorder"] if work.taps > 1 else p["reorder_1x1"]) + work.num_bytes * p["reorder_ps"] * 1e-6
    if work.taps > 1:
        extra += p["window"]
    if odd:
        extra += p["odd"] + work.taps * p["odd_tap"]
    return passes(p, work, p["floor"] + extra + busy)


def attention(p: Mapping[str, float], work: Workload, multiprocessors: int) -> float:
    """Blocks of 128 queries, each of which goes through the keys; backward, blocks of keys that go through the queries.

    Under a causal mask a block needs half of them on average, the longest all: with few waves that one decides. Backward,
    kernels before and after add up rows and convert the gradient of the queries: their traffic is not hidden.
    """
    backward = work.family == "attention_backward"
    rows, others = (work.n, work.m) if backward else (work.m, work.n)
    waves = ceil(ceil(rows / 128) * work.batch / multiprocessors)
    pieces = ceil(others / 64) / 2
    if work.causal:
        mean = 0.5 + 0.5 / max(1, pieces)
        pieces *= mean + (1 - mean) / waves
    piece = max(p["piece"], 4 * 128 * 128 * max(work.k, 64) / (p["sm"] * 1e6))
    busy = slower_of(waves * pieces * piece, memory(p, work), sharpness=1 if backward else 3)
    if work.variant in ("efficient", "flash"):
        return p[f"{work.variant}_floor"] + busy * p[work.variant]
    return p["floor"] + busy


def function(p: Mapping[str, float], work: Workload, _: int) -> float:
    """Time of a library's function of which only the traffic is known; each function has parameters of its own."""
    return p["floor"] + memory(p, work) * p["passes"]


def anything(p: Mapping[str, float], work: Workload, multiprocessors: int) -> float:
    """A roofline: what is taken where nothing of a call's own kind was measured."""
    arithmetic_us = work.flops / (p["sm"] * multiprocessors * 1e6)
    return p["floor"] + slower_of(memory(p, work), arithmetic_us)


def _formulas() -> dict[str, tuple[Formula, dict[str, float]]]:
    known = (pointwise, reduction, gemm, convolution, attention, function, anything)
    by_name: dict[str, Formula] = {formula.__name__: formula for formula in known}
    data = resources.files("fxscope").joinpath("data/time_model.json").read_bytes()
    found: dict[str, dict[str, Any]] = msgspec.json.decode(data)
    return {family: (by_name[item["formula"]], item["start"]) for family, item in found.items()}


# Family → its formula, and where a fit starts from and stays, as far as nothing measured says otherwise. Rates in TB/s and,
# for one multiprocessor, TFLOP/s; capacity in MB; other times in µs, `*_ps` in picoseconds.
FORMULAS = _formulas()
_FUNCTION = FORMULAS.pop("function")  # of each library function, with parameters of its own
_DTYPES_OF_GEMM = (None, "", "bfloat16", "float16", "float32", "tfloat32")
_SIZES = ("num_bytes", "elements", "m", "n", "k", "batch", "taps", "inner", "outer")


def family_of(work: Workload) -> str:
    """The name of the family that a call is fitted with: "gemm_float32", "function sort", "function mylib::route"."""
    if work.family == "other":
        op = op_names.parse(work.variant)
        return f"function {op.name if op.namespace in (None, 'aten') else work.variant}"
    if work.m and work.dtype not in _DTYPES_OF_GEMM:
        return f"{work.family} in {work.dtype}"
    own = f"{work.family}_{work.dtype}"
    return own if own in FORMULAS else work.family


def formula_of(family: str) -> tuple[Formula, dict[str, float]]:
    """The formula of a family and where its parameters start; a family without a formula is a roofline."""
    return _FUNCTION if family.startswith("function ") else FORMULAS.get(family, FORMULAS["anything"])


def time_of(parameters: Mapping[str, float], work: Workload, multiprocessors: int) -> float:
    return formula_of(family_of(work))[0](parameters, work, multiprocessors)


def traits_of(work: Workload) -> str:
    """Return what a call has beside its sizes that its time depends on, as one word to compare."""
    if work.m:
        aligned = not (unaligned(work.k) or unaligned(work.n))
        return f"{work.variant} {work.layout} {'aligned' if aligned else 'unaligned'} {min(work.taps, 2)} {work.passes}"
    return f"{work.strided} {work.atomic} {work.gathers > 0} {work.loops > 0} {work.dtype == 'float64'}"


def is_outside(measured: Measured | None, work: Workload) -> bool:
    """Return whether a call is unlike all that its family was fitted to: another trait, or a size more than twice beyond."""
    if measured is None:
        return False
    if traits_of(work) not in measured.traits:
        return True
    sizes = ((float(getattr(work, name)), bounds) for name, bounds in measured.sizes.items())
    return any(size > 2 * high or size < low / 2 for size, (low, high) in sizes)


def measured_of(works: Sequence[Workload]) -> Measured:
    sizes = {name: [float(getattr(work, name)) for work in works] for name in _SIZES}
    return Measured(
        traits=tuple(sorted({traits_of(work) for work in works})),
        sizes={name: (min(values), max(values)) for name, values in sizes.items() if any(values)},
    )


# ---------------------------------------------------------------------- predicting


def predict(gpu: Gpu, work: Workload | None) -> Prediction | str:
    """The prediction of one call on a GPU that was measured, or why there is none."""
    if work is None:
        return "the generated code does not give its sizes"
    calibration, multiprocessors = gpu.calibration, gpu.limit("multi_processor_count")
    if calibration is None or not multiprocessors:
        return f"nothing was measured on the {gpu.name}"
    fit, basis = _fit_of(gpu, work)
    if fit is None:
        return f"no {family_of(work)} was measured on the {gpu.name}"
    formula = formula_of(family_of(work) if basis is None else "anything")[0]
    us = formula(fit.parameters, work, int(multiprocessors))
    spread = next((item for item in reversed(fit.spreads) if us >= item.above_us), None)
    if spread is None or not isfinite(us):
        return f"no {family_of(work)} of its shape was measured"
    low, high = us * spread.low, us * spread.high
    if basis is None:
        count = f"{fit.count} measured calls" if fit.count else "that of a like GPU"
        basis = f"{family_of(work)} model of the {gpu.name}, {count}"
        if is_outside(fit.measured, work):
            basis += ", outside what was measured"
            low, high = low / calibration.outside, high * calibration.outside
    return Prediction(us=us, low=low, high=high, basis=basis)


def smallest_us(gpu: Gpu) -> tuple[float, str] | None:
    """Return what the smallest kernels take on a GPU that was measured, and what that stands on."""
    pointwise_fit = gpu.calibration.families.get("pointwise") if gpu.calibration is not None else None
    return pointwise_fit and (pointwise_fit.parameters["floor"], f"the smallest kernels of the {gpu.name}")


def _fit_of(gpu: Gpu, work: Workload) -> tuple[FamilyFit | None, str | None]:
    """The fit to use, and what it stands on where nothing of the call's own family was measured."""
    families = gpu.calibration.families if gpu.calibration is not None else {}
    own = families.get(family_of(work))
    if own is not None:
        return own, None
    name = family_of(work).removeprefix("function ").replace("_", " ")
    return families.get("anything"), f"roofline of the {gpu.name}: nothing was measured of {name}"


def outside_share(gpu: Gpu, timed: Iterable[tuple[Workload | None, float]]) -> float:
    """The share of the time (µs, beside each call's work) that calls take which are unlike all that was measured."""
    total = outside = 0.0
    for work, us in timed:
        total += us
        fit, basis = _fit_of(gpu, work) if work is not None else (None, "unknown")
        outside += us * (basis is not None or (fit is not None and is_outside(fit.measured, work)))  # pyright: ignore[reportArgumentType]
    return outside / total if total else 0.0
