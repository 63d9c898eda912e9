"""Predict the time of a kernel call on a GPU from its generated code.

    found = predict(load("h200"), call.workload)      # µs, an interval, and what they stand on

One formula per family: a floor, traffic at the rate of the L2 cache or of memory, arithmetic, and for GEMMs waves of tiles with
a time for each step along K. `fitting.py` fits the parameters to measured calls; `docs/target.md` says how well they hold.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from fxscope import op_names
from fxscope.data import read_table
from fxscope.gpus import Gpu
from fxscope.gpus.calibration import Calibration, FamilyFit, Prediction
from fxscope.index import grouped
from fxscope.model import Workload

Array = np.ndarray[Any, Any]
Formula = Callable[[Mapping[str, float], "Works", int], Array]


# ---------------------------------------------------------------------- formulas


class Works(SimpleNamespace):
    """Workloads as columns: each field of `Workload` is an array of numbers or of words.

    Attributes:
        moved: bytes, and the rate of the GPU's memory relative to that which the parameters state.
    """

    def __init__(self, works: Sequence[Workload], memory: Sequence[float] | None = None) -> None:
        for name in Workload.__struct_fields__:
            values = [getattr(work, name) for work in works]
            words = isinstance(values[0], str | None)
            setattr(self, name, np.array([item or "" for item in values]) if words else np.array(values, dtype=float))
        self.moved = self.num_bytes, np.array(memory or [1.0] * len(works))


def traffic(p: Mapping[str, float], num_bytes: Any, memory: Any = 1.0) -> Any:
    """Time of traffic: the more a call moves, the less of it is still in the L2 cache from the calls before."""
    outside = 1 / (1 + (p["capacity"] / np.maximum(num_bytes / 1e6, 1e-3)) ** 3)
    return num_bytes / 1e6 * (outside / (p["dram"] * memory) + (1 - outside) / p["l2"])


def slower_of(*times: Any, sharpness: float = 4) -> Any:
    return sum(time**sharpness for time in times) ** (1 / sharpness)


def generated(p: Mapping[str, float], work: Works) -> tuple[Array, Array, Array]:
    """Times of a generated kernel: of traffic, of instructions, and what is added to them."""
    each = work.slow_ops * p["slow_ps"] + work.slowest_ops * p["slowest_ps"] + work.trig_ops * p["trig_ps"]
    each += work.statements * p["alu_ps"]
    dense = work.num_bytes * (work.sectors == 0)  # where no code says how: each byte once, in whole sectors
    busy = work.elements * each
    busy += (work.requests + dense / 16) * p["request_ps"] + (work.sectors + dense / 32) * p["sector_ps"]
    extra = p["floor"] + p["load"] * np.minimum(work.loads, 20)
    extra += p["fill"] * np.minimum(work.elements / (132 * 1024), 1)  # until each multiprocessor has a block
    extra += p["latency"] * np.minimum(work.slowest_ops + work.trig_ops, 8)
    extra += p["atomic"] * (work.atomics > 0) + work.atomics * p["added_sector_ps"] * 1e-6 + p["crowd"] * work.crowded
    return traffic(p, *work.moved), busy * 1e-6, extra


def pointwise(p: Mapping[str, float], work: Works, _: int) -> Array:
    moved, computed, extra = generated(p, work)
    return extra + slower_of(moved, computed)


def reduction(p: Mapping[str, float], work: Works, multiprocessors: int) -> Array:
    moved, computed, extra = generated(p, work)
    blocks = np.maximum(1.0, work.outer / np.where(work.strided, 32, 1))
    one_block = work.num_bytes / np.minimum(blocks, multiprocessors * 8) / (p["block"] * 1e3)
    rows = work.outer * np.where(work.strided, p["column_ps"], p["row_ps"]) * 1e-6
    return extra + p["reduced"] * work.reduced + slower_of(moved, computed, one_block, rows)


_TILES = ((256, 128), (128, 256), (128, 128), (128, 96), (128, 64), (64, 128), (64, 64), (64, 32), (64, 16))
_SPLITS = (1, 2, 4, 8, 16, 32, 64)


def tiled(p: Mapping[str, float], sizes: tuple[Any, Any, Any, Any], multiprocessors: int, joined: Any = 0) -> Array:
    """The best of some tiles and splits of K (plus `joined` µs) for sizes batch, m, n, k: whole waves, each a K loop."""
    batch, m, n, k = sizes
    best = np.full(len(k), np.inf)
    for rows, columns in _TILES:
        tiles = np.ceil(m / rows) * np.ceil(n / columns) * batch
        share = min(1.0, (rows * columns / 16384) ** p["small_tile"])
        step = max(rows * columns * 128 / (p["sm"] * 1e6 * share), p["k_step"])
        for split in _SPLITS:
            time = np.ceil(tiles * split / multiprocessors) * (k / 64 / split * step + p["wave"])
            time += (p["split"] + split * p["split_each"] + joined) * (split > 1)
            # Products beside each other are not split.
            best = np.minimum(best, np.where((split == 1) | (k >= 128 * split) & (batch == 1), time, np.inf))
    return best


def gemm(p: Mapping[str, float], work: Works, multiprocessors: int) -> Array:
    odd, even = (np.char.count(work.layout, name) for name in "ue")
    biased, short, long = work.variant == "bias", np.minimum(work.m, work.n), np.maximum(work.m, work.n)
    extra = p["grouped"] * (work.variant == "grouped") + p["odd"] * (odd + even) + p["epilogue"] * biased
    # Operands with gaps are copied first, and a matrix that is added.
    extra += np.char.count(work.layout, "x") * (p["copied"] + work.num_bytes * p["copied_ps"] * 1e-6)
    extra += (work.variant == "added") * (p["added"] + work.elements * p.get("added_ps", 0) * 1e-6)
    k = np.where(np.char.startswith(work.dtype, "float8"), work.k / 2, work.k)  # as many bytes of K a cycle
    # cuBLAS adds a bias to split products by further kernels.
    busy = tiled(p, (work.batch, work.m, work.n, k), multiprocessors, p.get("split_bias", 0) * biased)
    # Where a tile reaches beyond the rows, or a step beyond K, each element is checked.
    busy *= 1 + p["ragged"] * ((work.m % 64 > 0) * 1 + (work.k % 64 > 0))
    busy *= (1 + p["unaligned"] * odd + p["even"] * even) * np.where(short == 1, p["vector"], 1)
    if "thin" in p:  # up to 16 rows or columns have kernels without tiles
        few = (short <= 16) & (work.batch == 1) & (biased | (k < 128)) & ~np.char.startswith(work.layout, "t")
        thin = k * p["thin"] * (1 + p["thin_rows"] * (short > 4)) * np.maximum(1, long / p["thin_wave"])
        busy = np.where(few, np.minimum(busy, thin), busy)
    rows = work.batch * long * p.get("row_ps", 0) * 1e-6  # a narrow result does not fill a tile's stores
    return p["floor"] + extra + slower_of(busy, traffic(p, *work.moved), rows, sharpness=3)


def convolution(p: Mapping[str, float], work: Works, multiprocessors: int) -> Array:
    """A pass forward, or one for the weight's gradient and one for the input's; each tap has its own pieces of channels."""
    first, window, whole = work.layout != "last", work.taps > 1, np.where(work.dtype == "float32", 4, 8)
    turned = np.char.startswith(work.variant, "transposed")  # each input pixel is added to the outputs around it
    channels, out = np.where(turned, (work.k, work.n / work.taps), (work.k / work.taps, work.n))
    odd = (channels % whole != 0) | (out % whole != 0)  # channels not of whole 16 bytes
    padded, padded_out = (np.where(window, np.ceil(each / 32) * 32, each) for each in (channels, out))
    if "second" in p:
        tiles = tiled(p, (work.batch, work.n, work.k, work.m), multiprocessors)
        second = (work.batch, work.m, channels, padded_out * work.taps)
        tiles += (work.passes - 1) * tiled(p, second, multiprocessors)
    else:
        sizes = np.where(turned, (padded_out * work.taps, channels), (out, padded * work.taps))
        tiles = tiled(p, (work.batch, work.m, *sizes), multiprocessors)
    # cuDNN brings tensors with other layouts into its own order first.
    extra = first * window * (p["reorder"] + work.num_bytes * p["reorder_ps"] * 1e-6)
    extra += p["window"] * window + odd * (p["odd"] + work.taps * p["odd_tap"])
    uneven = ~window & np.isin(work.layout, ("firste", "firstu"))  # else reordered before
    busy = slower_of(tiles * (1 + p["uneven"] * uneven), traffic(p, *work.moved), sharpness=3)
    # With channels first torch's own kernels run, an element a thread.
    computed = work.elements * (work.taps * p["tap_ps"] + first * p["element_ps"]) * 1e-6
    by_channel = slower_of(traffic(p, *work.moved), computed, sharpness=2)
    each = np.isin(work.variant, ("each channel", "multiplied")) & (work.dtype != "float32")
    # One channel is a depthwise convolution, too, but not in its gradients.
    depthwise = np.isin(work.variant, ("depthwise", "each channel")) | (channels * out == 1) & ("second" not in p)
    again = 1 + p.get("second", 0) * (work.passes - 1)
    time = again * (p["floor"] + np.where(depthwise, p["taps"] * work.taps + by_channel, extra)) + busy * ~depthwise
    return np.where(each, (p["each_channel"] + p["each_tap"] * work.taps) * work.batch, time)


def groups(p: Mapping[str, float], work: Works, multiprocessors: int) -> Array:
    """A convolution in wide groups: a kernel for each group, which waits for each of its taps."""
    each = (p["group"] + p["tap"] * work.taps) * work.passes
    computed = work.flops / (p["sm"] * multiprocessors * 1e6)
    return p["floor"] + slower_of(work.batch * each, traffic(p, *work.moved), computed)


def attention(p: Mapping[str, float], work: Works, multiprocessors: int) -> Array:
    """Blocks of 128 queries, each of which goes through the keys; backward, blocks of keys that go through the queries.

    Under a causal mask a block needs half of them on average, the longest all: with few waves that one decides. Backward,
    kernels before and after add up rows and convert the gradient of the queries: their traffic is not hidden.
    """
    backward = work.family == "attention_backward"
    rows, others = np.where(backward, (work.n, work.m), (work.m, work.n))
    waves = np.ceil(np.ceil(rows / 128) * work.batch / multiprocessors)
    pieces = np.ceil(others / 64) / 2
    mean = 0.5 + 0.5 / np.maximum(1, pieces)
    pieces *= np.where(work.causal, mean + (1 - mean) / np.maximum(1, waves), 1)
    piece = np.maximum(p["piece"], 4 * 128 * 128 * np.ceil(work.k / 32) * 32 / (p["sm"] * 1e6))
    piece *= 1 + p["older"] * (work.variant == "efficient")  # kernels for the tensor cores of an A100
    each = work.slow_ops * p["slow_ps"] + work.loads * p["mask_ps"] + work.slowest_ops * p["random_ps"]
    scores = work.batch * work.m * work.n * each * 1e-6
    computed, moved = waves * (p["block"] + pieces * piece) + scores, traffic(p, *work.moved)
    return p["floor"] + np.where(backward, computed + moved, slower_of(computed, moved, sharpness=3))


def function(p: Mapping[str, float], work: Works, multiprocessors: int) -> Array:
    """Time of a library's function of which only traffic, rows and FLOPs are known; each function has parameters of its own."""
    rows = work.outer * p["row_ps"] * 1e-6 + p["sweeps"] * work.loops
    computed = work.flops / (p["sm"] * multiprocessors * 1e6)
    return p["floor"] + rows + slower_of(traffic(p, *work.moved) * p["passes"], computed)


_BY_NAME = {each.__name__: each for each in (pointwise, reduction, gemm, convolution, groups, attention, function)}
_MODELS: dict[str, dict[str, Any]] = read_table("time_model.json")
# Family → its formula, and where a fit starts from and stays, as far as nothing measured says otherwise. Rates in TB/s and,
# for one multiprocessor, TFLOP/s; capacity in MB; other times in µs, `*_ps` in picoseconds.
FORMULAS = {family: (_BY_NAME[item["formula"]], item["start"]) for family, item in _MODELS.items()}
_FUNCTION = FORMULAS.pop("function")  # of each library function, with parameters of its own
_DTYPES_OF_GEMM = (None, "", "bfloat16", "float16", "float32", "tfloat32", "float8_e4m3fn", "float8_e5m2")


def family_of(work: Workload) -> str:
    """The name of the family that a call is fitted with: "gemm_float32", "function sort", "function mylib::route"."""
    if work.family == "other":
        op = op_names.parse(work.variant)
        return f"function {op.name if op.namespace in (None, 'aten') else work.variant}{' of columns' * work.strided}"
    own = name if (name := f"{work.family}_{work.dtype}") in FORMULAS else work.family
    if work.variant in ("grouped", "multiplied") and work.family != "gemm":
        # cuDNN has a kernel for all groups where they are narrow, or many, with few taps.
        is_wide = work.n > (32 if work.batch >= 8 else 16) or work.k > 2048
        return f"{work.family} in groups" if is_wide else f"{own} of narrow groups"
    if work.m and work.dtype not in _DTYPES_OF_GEMM:
        return f"{work.family} in {work.dtype} {work.layout}"
    return own


def formula_of(family: str) -> tuple[Formula, dict[str, float]]:
    """The formula of a family and where its parameters start; a family without a formula is a roofline."""
    known = FORMULAS.get(family.removesuffix(" of narrow groups"), FORMULAS["anything"])
    return _FUNCTION if family.startswith("function ") else known


def times_of(
    family: str, parameters: Mapping[str, float], works: Sequence[Workload] | Works, multiprocessors: int
) -> Array:
    formula, start = formula_of(family)
    return formula({**start, **parameters}, works if isinstance(works, Works) else Works(works), multiprocessors)


# ---------------------------------------------------------------------- unlike what was measured


_OF_PRODUCTS = "num_bytes elements m n k batch taps flops"
_OF_OTHERS = (
    "num_bytes elements inner outer loads statements slow_ops slowest_ops reduced loops atomics crowded trig_ops "
    "requests sectors"
)
REACH = 6.0  # the distance at which a measured call counts 1 / e of one at the same place
WIDENING = 0.5  # by how much the logarithm of an error grows with each unit of distance: fitted to kinds left out
_NEAR = 3.0  # a distance within which a prediction does not mention it
_FAR = 9.0  # a distance beyond all measured calls: each of three sizes 32 times as large


def traits_of(work: Workload) -> str:
    """Return what a call has beside its sizes that its time depends on, as one word to compare."""
    dtype = (work.dtype or "")[-7:]  # float16 is as fast as bfloat16
    if work.m:
        turned = work.variant.startswith("transposed")
        aligned = not (work.k // (1 if turned else work.taps) % 8 or work.n // (work.taps if turned else 1) % 8)
        shape = f"{'aligned' if aligned else 'unaligned'} {min(work.taps, 2)} {work.passes}"
        shape += f" {work.loads} {work.slowest_ops}" * work.family.startswith("attention")
        return f"{work.variant} {work.layout} {dtype} {shape}{' causal' * work.causal}"
    return f"{work.strided} {work.atomics > 0} {work.loops > 0} {dtype}"


def places_of(works: Works) -> Array:
    """Return [calls, sizes]: binary logarithms of the sizes that calls of one family are compared by."""
    names = (_OF_PRODUCTS if works.m.any() else _OF_OTHERS).split()
    return np.round(np.log2(1 + np.stack([getattr(works, name) for name in names], axis=1)), 1)


def distances(a: Array, b: Array) -> Array:
    return np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))


@lru_cache(maxsize=256)
def table_of(rows: tuple[str, ...]) -> Array:
    return np.array([row.split() for row in rows], dtype=float)


def corrected(
    corrections: Mapping[str, tuple[str, ...]], items: Sequence[Workload], works: Works
) -> tuple[Array, Array]:
    """Return by what to multiply a formula's times, as calls like these took, and each call's distance from all measured."""
    factors, nearest = np.ones(len(items)), np.full(len(items), np.inf if corrections else 0.0)
    places = places_of(works)
    for traits, numbers in grouped(range(len(items)), lambda number: traits_of(items[number])).items():
        if rows := corrections.get(traits):
            table = table_of(rows)
            found = distances(places[numbers][:, : table.shape[1] - 1], table[:, 1:])  # earlier files have fewer sizes
            factors[numbers] = np.exp(np.clip(np.exp(-found / REACH) @ table[:, 0], -1, 1))
            nearest[numbers] = found.min(axis=1)
    return factors, nearest


def stretch_of(distance: float) -> float:
    """Return by what to multiply the logarithms of a range at a distance from all measured calls: infinite beyond `_FAR`."""
    return math.inf if distance > _FAR else 1 + WIDENING * distance


# ---------------------------------------------------------------------- predicting


def predict(gpu: Gpu, work: Workload | None) -> Prediction | str:
    """The prediction of one call on a GPU that was measured, or why there is none."""
    if work is None:
        return "the generated code does not give its sizes"
    calibration = gpu.calibration
    if calibration is None:
        return f"nothing was measured on the {gpu.name}"
    family, fit, factor, stretch = fit_of(calibration, work)
    us = factor * float(times_of(family, fit.parameters, [work], gpu.multiprocessors)[0])
    outside = math.isinf(stretch)
    spread, exponent = (calibration.families["anything"], 1.0) if outside else (fit, stretch)
    low, high = us * spread.low**exponent, us * spread.high**exponent
    us *= calibration.step.middle if calibration.step is not None else 1.0
    if family == "anything":
        name = family_of(work).removeprefix("function ").strip("_").replace("_", " ")
        return Prediction(us, low, high, f"roofline of the {gpu.name}: nothing was measured of {name}")
    where = f", {'outside' if outside else 'far from'} what was measured" if stretch > stretch_of(_NEAR) else ""
    return Prediction(us, low, high, f"{family} model of the {gpu.name}, {fit.count} measured calls{where}")


def fit_of(calibration: Calibration, work: Workload) -> tuple[str, FamilyFit, float, float]:
    """The family to predict a call with, its fit, the correction, and by what its range is wider (`stretch_of`)."""
    own = calibration.families.get(family_of(work))
    if own is None:
        return "anything", calibration.families["anything"], 1.0, math.inf
    (factor,), (distance,) = corrected(own.corrections, [work], Works([work]))
    return family_of(work), own, float(factor), stretch_of(float(distance))


def generated_us(gpu: Gpu, work: Workload) -> float:
    """Time of a pointwise or reduction kernel on a GPU that was measured; its interval is not asked for."""
    assert gpu.calibration is not None
    parameters = gpu.calibration.families[work.family].parameters
    return float(times_of(work.family, parameters, [work], gpu.multiprocessors)[0])


def traffic_floor_us(gpu: Gpu, num_bytes: float) -> float:
    """Time below which no measured kernel moved so many bytes."""
    assert gpu.calibration is not None
    p, rate = gpu.calibration.families["pointwise"].parameters, gpu.bandwidth()
    memory_rate = max(p["dram"], rate.value / 1e12 if rate is not None else 0.0)
    # The fastest measured kernels reach twice the fitted rate of the L2 cache, and find half as much again in it.
    return float(traffic({"dram": memory_rate, "l2": 2 * p["l2"], "capacity": 1.5 * p["capacity"]}, num_bytes))
