"""Fits the parameters of `prediction.py` to measured calls: robust least squares on the logarithm of the time.

    calibration = fit(observations, multiprocessors=132, source="battery")

Levenberg–Marquardt over the parameters' logarithms with Huber's weights, so that a kernel which is ten times off counts no
more than one which is a quarter off. A weak pull holds what nothing measured determines where it starts. Intervals come
from programs that were left out of the fit they are held against.
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fxscope.gpus.prediction import FORMULAS, Calibration, CpuFit, FamilyFit, Spread, StepFit, family_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fxscope.model import Workload

    Array = np.ndarray[Any, Any]

_HUBER = 0.25  # an error of a quarter; beyond it weights fall
_PULL = 0.02  # of a parameter towards where it starts, against one call's squared error
_STRONG_PULL = 2.0  # … where that is a fit to a like GPU
_FOLDS = 5
_CLASSES = (0.0, 2.0, 4.0, 10.0, 40.0)  # µs: size classes of the intervals
_FEWEST = 25  # calls that an interval of a size class needs


class Observation(NamedTuple):
    """One call of one program, and what it took in µs."""

    program: str
    work: Workload
    us: float


def collapsed(observations: Iterable[Observation]) -> list[tuple[Observation, int]]:
    """Each different call of a program once, with the median of its times and how often it was seen."""
    groups: dict[tuple[str, Workload], list[float]] = defaultdict(list)
    for item in observations:
        groups[item.program, item.work].append(item.us)
    return [(Observation(name, work, median(times)), len(times)) for (name, work), times in groups.items()]


def fit_family(
    family: str,
    points: Sequence[tuple[Observation, int]],
    multiprocessors: int,
    *,
    start: Mapping[str, float],
    begin: Mapping[str, float] | None = None,
    pull: float = _PULL,
    rates: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """The parameters that fit best.

    Args:
        start: near which they stay where nothing says otherwise.
        begin: where the search begins.
        pull: how strongly.
        rates: those of the GPU's memory, as another family shows them; what is seen of them here counts little.
    """
    start = {**start, **(rates or {})}
    formula, names = FORMULAS[family][0], list(start)
    works = [point.work for point, _ in points]
    target = np.log([point.us for point, _ in points])
    weights = np.sqrt([min(count, 4) for _, count in points])
    origin = np.log([start[name] for name in names])
    pulls = np.array([_STRONG_PULL if name in (rates or {}) else pull for name in names])

    def residuals(values: Array) -> Array:
        p = dict(zip(names, np.exp(values).tolist(), strict=True))
        return np.log([formula(p, work, multiprocessors) for work in works]) - target

    def cost(errors: Array, values: Array) -> float:
        size = np.abs(errors)
        huber = np.where(size < _HUBER, 0.5 * size * size, _HUBER * (size - 0.5 * _HUBER))
        return float((weights * huber).sum() + 0.5 * (pulls * (values - origin) ** 2).sum())

    values, damping = np.log([(begin or start)[name] for name in names]), 1e-2
    errors = residuals(values)
    best = cost(errors, values)
    for _ in range(15):
        columns = [
            (residuals(values + 1e-3 * np.eye(1, len(names), index)[0]) - errors) / 1e-3 for index in range(len(names))
        ]
        slope = np.stack(columns, axis=1)
        trust = weights * np.minimum(1.0, _HUBER / np.maximum(np.abs(errors), 1e-9))
        matrix = slope.T @ (slope * trust[:, None]) + np.diag(pulls)
        gradient = slope.T @ (errors * trust) + pulls * (values - origin)
        before = best
        for _ in range(8):
            step = np.clip(np.linalg.solve(matrix + damping * np.diag(np.diag(matrix)), -gradient), -1, 1)
            tried = residuals(values + step)
            found = cost(tried, values + step)
            if found < best:
                values, errors, best, damping = values + step, tried, found, max(damping / 5, 1e-6)
                break
            damping *= 5
        if before - best < 3e-4 * before:
            break
    return {name: float(f"{value:.4g}") for name, value in zip(names, np.exp(values), strict=True)}


def by_family(observations: Iterable[Observation]) -> dict[str, list[tuple[Observation, int]]]:
    found: dict[str, list[tuple[Observation, int]]] = defaultdict(list)
    for point, count in collapsed(observations):
        found[family_of(point.work)].append((point, count))
    return dict(found)


def fit_all(
    observations: Iterable[Observation],
    multiprocessors: int,
    *,
    start: Mapping[str, Mapping[str, float]] | None = None,
    begin: Mapping[str, Mapping[str, float]] | None = None,
) -> dict[str, dict[str, float]]:
    """The parameters of every family that was measured; a family with few calls stays near where it starts."""
    found: dict[str, dict[str, float]] = {}
    rates: dict[str, float] = {}
    for family, points in sorted(by_family(observations).items(), key=lambda item: item[0] != "pointwise"):
        found[family] = fit_family(
            family,
            points,
            multiprocessors,
            start=(start or {}).get(family) or FORMULAS[family][1],
            begin=(begin or {}).get(family),
            pull=_STRONG_PULL if family in (start or {}) else _PULL,
            rates=rates,
        )
        if family == "pointwise":  # which does little else than move memory
            rates = {name: found[family][name] for name in ("l2", "dram", "capacity")}
    return found


def left_out(
    observations: Sequence[Observation],
    multiprocessors: int,
    also: Sequence[Observation] = (),
    start: Mapping[str, Mapping[str, float]] | None = None,
    begin: Mapping[str, Mapping[str, float]] | None = None,
) -> list[tuple[Observation, float]]:
    """Every observation with its prediction by a fit that saw nothing of its program; `also` is always fitted to."""
    programs = sorted({item.program for item in observations})
    found: list[tuple[Observation, float]] = []
    for fold in range(_FOLDS):
        mine = set(programs[fold::_FOLDS])
        parameters = fit_all(
            [*also, *(item for item in observations if item.program not in mine)],
            multiprocessors,
            start=start,
            begin=begin,
        )
        for item in observations:
            family = family_of(item.work)
            if item.program in mine:
                p = parameters.get(family) or (start or {}).get(family) or FORMULAS[family][1]
                found.append((item, FORMULAS[family][0](p, item.work, multiprocessors)))
    return found


def spreads_of(pairs: Sequence[tuple[float, float]]) -> tuple[Spread, ...]:
    """The intervals of (measured, predicted) by size class; classes with few calls join the one below."""
    found: list[Spread] = []
    bounds = list(_CLASSES)
    start = 0
    while start < len(bounds):
        end = start + 1
        while True:
            top = bounds[end] if end < len(bounds) else float("inf")
            inside = [real / predicted for real, predicted in pairs if bounds[start] <= predicted < top]
            rest = sum(predicted >= top for _, predicted in pairs)
            if end >= len(bounds) or (len(inside) >= _FEWEST and (rest >= _FEWEST or not rest)):
                break
            end += 1
        if inside:
            low, _, high = tenths(inside)
            found.append(Spread(above_us=bounds[start], low=low, high=high, count=len(inside)))
        start = end
    return tuple(from_zero(found))


def tenths(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The 10th, 50th and 90th percentile between which the next one lies in 80 of 100, however few there were."""
    low, middle, high = np.percentile(ratios, [10, 50, 90], method="weibull")
    return round(float(low), 3), round(float(middle), 3), round(float(high), 3)


def around_the_middle(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The range in which the next one lies in 80 of 100, as far below the middle as above it.

    Of few programs the tenths at either end are a handful of odd ones; by what factor programs are off takes them all
    (split conformal prediction with the size of the error as score).
    """
    middle = median(ratios)
    factors = sorted(max(ratio / middle, middle / ratio) for ratio in ratios)
    factor = factors[min(ceil(0.8 * (len(factors) + 1)), len(factors)) - 1]
    return round(middle / factor, 3), round(middle, 3), round(middle * factor, 3)


def from_zero(found: list[Spread]) -> list[Spread]:
    if not found:
        return [Spread(above_us=0.0, low=0.4, high=2.5, count=0)]
    first = found[0]
    return [Spread(above_us=0.0, low=first.low, high=first.high, count=first.count), *found[1:]]


def fit(
    observations: Sequence[Observation],
    multiprocessors: int,
    *,
    source: str,
    also: Sequence[Observation] = (),
    start: Mapping[str, Mapping[str, float]] | None = None,
    spreads: Mapping[str, Sequence[Spread]] | None = None,
    cpu: CpuFit | None = None,
    replay_us: float | None = None,
    whole_programs: bool = True,
) -> Calibration:
    """Fit everything.

    Args:
        observations: calls of programs; intervals are made by leaving programs out.
        multiprocessors: of the GPU.
        source: key of `Gpu.sources`.
        also: further calls to fit to, such as a battery's, which no interval is made from.
        start: parameters to start from, instead of those of `FORMULAS`.
        spreads: the intervals of the GPU that they are of, for families of which few calls are in `observations`.
        cpu: what the CPU takes.
        replay_us: between two kernels of a CUDA graph.
        whole_programs: whether sums over a program's calls say how far a step's prediction is off.
    """
    parameters = fit_all([*also, *observations], multiprocessors, start=start)
    pairs = left_out(observations, multiprocessors, also, start, begin=parameters)
    residuals: dict[str, list[tuple[float, float]]] = defaultdict(list)
    residuals_also: dict[str, list[tuple[float, float]]] = defaultdict(list)
    totals: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for item, predicted in pairs:
        residuals[family_of(item.work)].append((item.us, predicted))
        totals[item.program][0] += item.us
        totals[item.program][1] += predicted
    ratios = [real / predicted for real, predicted in totals.values()]
    for family, found in (start or {}).items():  # of a like GPU, where nothing of the family was measured here
        parameters.setdefault(family, dict(found))
    for item in also:  # no program has the family: how far its own fit is off, and half as far again
        family = family_of(item.work)
        if len(residuals.get(family, ())) < _FEWEST:
            us = FORMULAS[family][0](parameters[family], item.work, multiprocessors)
            residuals_also[family].append((us * (item.us / us) ** 1.5, us))
    for family, pairs_of in residuals_also.items():
        residuals[family] += pairs_of
    counts = {family: len(points) for family, points in by_family([*also, *observations]).items()}
    step = None
    if whole_programs and len(ratios) >= 10:
        low, middle, high = around_the_middle(ratios)
        step = StepFit(low=low, middle=middle, high=high, count=len(ratios))
    return Calibration(
        families={
            family: FamilyFit(
                parameters=found,
                spreads=tuple(spreads[family])
                if spreads and family in spreads and len(residuals[family]) < _FEWEST
                else spreads_of(residuals[family]),
                count=counts.get(family, 0),
            )
            for family, found in parameters.items()
        },
        step=step,
        cpu=cpu,
        replay_us=replay_us,
        source=source,
    )


def replay_of(launch: Mapping[str, float]) -> float | None:
    """The time between two kernels of a CUDA graph's replay beyond their own, by replays of 50 and 400 of them."""
    if "replay_50_us" not in launch or "replay_400_us" not in launch:
        return None
    return round(max(0.0, (launch["replay_400_us"] - launch["replay_50_us"]) / 350 - launch.get("kernel_us", 0.9)), 3)


def in_parts(observations: Iterable[Observation], parts: int = 12) -> list[Observation]:
    """A battery's calls as if they were of several programs, so that some can be left out of each fit.

    A program of the battery is one family: left out as a whole, the family would be predicted from nothing.
    """
    return [item._replace(program=f"part {number % parts}") for number, item in enumerate(observations)]
