"""Fits the parameters of `prediction.py` to measured calls: robust least squares on the logarithm of the time.

    calibration = fit(observations, multiprocessors=132, source="battery")

Levenberg–Marquardt over the parameters' logarithms with Huber's weights, so that a kernel which is ten times off counts no
more than one which is a quarter off. A weak pull holds what nothing measured determines where it starts. Intervals come
from programs that were left out of the fit they are held against.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, inf
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from fxscope.gpus.prediction import (
    Calibration,
    FamilyFit,
    Measured,
    Spread,
    family_of,
    formula_of,
    is_outside,
    measured_of,
    time_of,
)
from fxscope.model import Workload

Array = np.ndarray[Any, Any]

_HUBER = 0.25  # an error of a quarter; beyond it weights fall
_PULL = 0.02  # of a parameter towards where it starts, against one call's squared error
_STRONG_PULL = 2.0  # … where that is a fit to a like GPU
_FOLDS = 5
_KERNEL_US = 0.9  # of a replay's small kernel
_CLASSES = (2.0, 4.0, 10.0, 40.0)  # µs: where size classes of the intervals begin
_FEWEST = 25  # calls that an interval of a size class needs
_HANDFUL, _FEW_ARE_OFF = 10, 1.5  # so few calls say little: their interval is no narrower than this factor either way


class Observation(NamedTuple):
    """One call of one program, and what it took in µs; `kind` is what is left out of a fit as one."""

    program: str
    work: Workload
    us: float
    kind: str = ""


class LeftOut(NamedTuple):
    """A call, its time by a fit that saw nothing of its kind of program, and whether that fit saw no call like it."""

    item: Observation
    us: float
    outside: bool


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
    """Return the parameters that fit best.

    They are pulled to `start`; the search begins at `begin`. `rates` are those of the GPU's memory, as another family shows
    them: what is seen of them here counts little.
    """
    start = {**start, **(rates or {})}
    names = list(start)
    works = [point.work for point, _ in points]
    target = np.log([point.us for point, _ in points])
    weights = np.sqrt([min(count, 4) for _, count in points])
    origin = np.log([start[name] for name in names])
    pulls = np.array([_STRONG_PULL if name in (rates or {}) else pull for name in names])

    def residuals(values: Array) -> Array:
        p = dict(zip(names, np.exp(values).tolist(), strict=True))
        return np.log([formula_of(family)[0](p, work, multiprocessors) for work in works]) - target

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
    """Return each different call of a program once, with the median of its times and how often it was seen."""
    groups: dict[tuple[str, Workload], list[float]] = defaultdict(list)
    for item in observations:
        groups[item.program, item.work].append(item.us)
    found: dict[str, list[tuple[Observation, int]]] = defaultdict(list)
    for (program, work), times in groups.items():
        found[family_of(work)].append((Observation(program, work, median(times)), len(times)))
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
    groups = by_family(observations)
    groups["anything"] = [point for points in groups.values() for point in points]
    for family, points in sorted(groups.items(), key=lambda item: item[0] != "pointwise"):
        found[family] = fit_family(
            family,
            points,
            multiprocessors,
            start=(start or {}).get(family) or formula_of(family)[1],
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
) -> list[LeftOut]:
    """Every observation with its prediction by a fit that saw nothing of its kind; `also` is always fitted to."""
    kinds = sorted({item.kind or item.program for item in observations})
    folds = len(kinds) if any(item.kind for item in observations) else _FOLDS
    found: list[LeftOut] = []
    for fold in range(folds):
        mine = set(kinds[fold::folds])
        others = [*also, *(item for item in observations if (item.kind or item.program) not in mine)]
        parameters = fit_all(others, multiprocessors, start=start, begin=begin)
        measured = measured_families(others)
        for item in observations:
            if (item.kind or item.program) in mine:
                family = family_of(item.work)
                p = parameters.get(family) or (start or {}).get(family)
                formula = formula_of(family)[0] if p else formula_of("anything")[0]
                us = formula(p or parameters["anything"], item.work, multiprocessors)
                found.append(LeftOut(item, us, not p or is_outside(measured.get(family), item.work)))
    return found


def measured_families(observations: Iterable[Observation]) -> dict[str, Measured]:
    groups = {family: [item.work for item, _ in points] for family, points in by_family(observations).items()}
    return {family: measured_of(works) for family, works in groups.items()}


def spreads_of(pairs: Sequence[tuple[float, float]]) -> tuple[Spread, ...]:
    """Return the intervals of (measured, predicted) by size class; classes with few calls join the one below."""
    found: list[Spread] = []
    start = 0.0
    for end in (*_CLASSES, inf):
        inside = [real / predicted for real, predicted in pairs if start <= predicted < end]
        rest = sum(predicted >= end for _, predicted in pairs)
        if end < inf and (len(inside) < _FEWEST or 0 < rest < _FEWEST):
            continue
        if inside:
            low, _, high = tenths(inside)
            if len(inside) < _HANDFUL:
                low, high = min(low, round(1 / _FEW_ARE_OFF, 3)), max(high, _FEW_ARE_OFF)
            found.append(Spread(above_us=start if found else 0.0, low=low, high=high, count=len(inside)))
        start = end
    return tuple(found) or (Spread(above_us=0.0, low=0.4, high=2.5, count=0),)


def tenths(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The 10th, 50th and 90th percentile between which the next one lies in 80 of 100, however few there were."""
    low, middle, high = np.percentile(ratios, [10, 50, 90], method="weibull")
    return round(float(low), 3), round(float(middle), 3), round(float(high), 3)


def fit(
    observations: Sequence[Observation],
    multiprocessors: int,
    *,
    source: str,
    also: Sequence[Observation] = (),
    start: Mapping[str, Mapping[str, float]] | None = None,
    spreads: Mapping[str, Sequence[Spread]] | None = None,
    replay_us: float | None = None,
) -> tuple[Calibration, list[LeftOut]]:
    """Fit everything; intervals are made by leaving programs out, whose calls are returned as well.

    Args:
        also: further calls to fit to, such as a battery's; of intervals they only say how far off are calls unlike others.
        start, spreads: parameters and intervals of a like GPU, for families of which few calls are in `observations`.
    """
    everything = [*also, *observations]
    parameters = fit_all(everything, multiprocessors, start=start)
    held = left_out(observations, multiprocessors, also, start, begin=parameters)
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for item, us, outside in held:
        if not outside:
            pairs[family_of(item.work)].append((item.us, us))
    for family, found in (start or {}).items():  # of a like GPU, where nothing of the family was measured here
        parameters.setdefault(family, dict(found))
    own: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for item in everything:
        family = family_of(item.work)
        roofline = formula_of("anything")[0](parameters["anything"], item.work, multiprocessors)
        own["anything"].append((item.us, roofline))
        if (
            len(pairs.get(family, ())) < _FEWEST
        ):  # few programs have it: how far its own fit is off, and half as far again
            us = time_of(parameters[family], item.work, multiprocessors)
            own[family].append((us * (item.us / us) ** 1.5, us))
    for family, pairs_of in own.items():
        pairs[family] += pairs_of
    groups, measured = by_family(everything), measured_families(everything)
    kept = spreads or {}
    families = {
        family: FamilyFit(
            parameters=found,
            spreads=tuple(kept[family])
            if family in kept and len(pairs[family]) < _FEWEST
            else spreads_of(pairs[family]),
            count=len(groups.get(family, ())),
            measured=measured.get(family),
        )
        for family, found in parameters.items()
    }
    unlike = [*held, *left_out(also, multiprocessors, observations, start, begin=parameters)]
    outside = outside_factor(unlike, families)
    return Calibration(families=families, outside=outside, replay_us=replay_us, source=source), held


def outside_factor(held: Sequence[LeftOut], families: Mapping[str, FamilyFit]) -> float:
    """The factor on the interval's ends that puts 80 of 100 of the calls inside that are unlike what was measured."""
    needed: list[float] = []
    for item, us, outside in held:
        fit = families.get(family_of(item.work))
        spread = next((s for s in reversed(fit.spreads) if us >= s.above_us), None) if fit is not None else None
        if outside and spread is not None:
            needed.append(max(us * spread.low / item.us, item.us / (us * spread.high), 1.0))
    return round(rank_80(needed), 3) if len(needed) >= 10 else 1.5


def rank_80(values: Sequence[float]) -> float:
    """The value below which the next one lies in 80 of 100 (split conformal prediction)."""
    return sorted(values)[min(ceil(0.8 * (len(values) + 1)), len(values)) - 1]


def replay_of(launch: Mapping[str, float]) -> float | None:
    """The time between two kernels of a CUDA graph's replay beyond their own, by replays of 50 and 400 of them."""
    few, many = launch.get("replay_50_us"), launch.get("replay_400_us")
    return None if few is None or many is None else round(max(0.0, (many - few) / 350 - _KERNEL_US), 3)


def in_parts(observations: Iterable[Observation], parts: int = 12) -> list[Observation]:
    """Return a battery's calls as if of several programs: a fit that leaves one out still sees each family."""
    return [item._replace(program=f"part {number % parts}") for number, item in enumerate(observations)]
