"""Fits the parameters of `prediction.py` to measured calls: robust least squares on the logarithm of the time.

    groups = groups_of(observations)
    families = described(groups, fit_all(groups, 132, start={}), 132)

Levenberg–Marquardt over the parameters' logarithms with Huber's weights; a weak pull holds what nothing measured determines.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from fxscope.gpus.calibration import FamilyFit
from fxscope.gpus.prediction import REACH, Works, distances, family_of, formula_of, places_of, times_of, traits_of
from fxscope.index import grouped
from fxscope.model import Workload

Array = np.ndarray[Any, Any]

_HUBER = 0.25  # an error of a quarter; beyond it weights fall
_PULL = 0.02  # of a parameter towards where it starts, against one call's squared error
_STRONG_PULL = 2.0  # … where that is a fit to a like GPU
_FEWEST = 25  # calls that an interval needs
_MOST = 1.5  # of the logarithm of measured over predicted
_ALIKE = 1.0  # the distance within which calls are one
_NOISE = 0.2  # variance of what nothing explains, relative to that which likeness explains
_HANDFUL, _FEW_ARE_OFF = 10, 1.5  # so few calls say little: their interval is no narrower than this factor either way


class Observation(NamedTuple):
    """One call of one program, and what it took in µs; programs of a kind are left out of a fit together."""

    program: str
    work: Workload
    us: float
    kind: str = "battery"
    memory: float = 1.0  # the rate of its GPU's memory, relative to that of the GPU that is fitted


class FamilyCalls(NamedTuple):
    """The different calls of one family, and how often each was seen in its program."""

    items: Array  # of `Observation`
    works: Works
    us: Array
    counts: Array
    kinds: Array


def groups_of(observations: Iterable[Observation]) -> dict[str, FamilyCalls]:
    """Return family → its calls, each different one of a program once, with the median of its times."""
    alike = grouped(observations, lambda item: (item.program, item.work)).values()
    different = [(items[0]._replace(us=median(item.us for item in items)), len(items)) for items in alike]
    found = grouped(different, lambda point: family_of(point[0].work))
    # A roofline is for functions that were not measured.
    functions = [point for family, points in found.items() if family.startswith("function ") for point in points]
    found["anything"] = functions or [point for points in found.values() for point in points]
    result = {}
    for family, points in found.items():
        items = np.empty(len(points), dtype=object)
        items[:] = [item for item, _ in points]
        works = Works([item.work for item, _ in points], [item.memory for item, _ in points])
        us, counts, kinds = zip(*((item.us, count, item.kind) for item, count in points), strict=True)
        result[family] = FamilyCalls(items, works, np.array(us), np.array(counts), np.array(kinds))
    return result


def fit_family(
    family: str,
    group: FamilyCalls,
    multiprocessors: int,
    *,
    start: Mapping[str, float] | None = None,
    begin: Mapping[str, float] | None = None,
    rates: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the parameters that fit best.

    `start`: those of a like GPU (else a weak pull is to `FORMULAS`); `rates`: the memory's, as another family shows them.
    """
    near = {**(start or formula_of(family)[1]), **(rates or {})}
    names, target, weights = list(near), np.log(group.us), np.sqrt(np.minimum(group.counts, 4))
    origin = np.log([near[name] for name in names])
    pulls = np.array([_STRONG_PULL if start or name in (rates or {}) else _PULL for name in names])

    def residuals(values: Array) -> Array:
        p = dict(zip(names, np.exp(values), strict=True))
        return np.log(times_of(family, p, group.works, multiprocessors)) - target

    def cost(errors: Array, values: Array) -> float:
        size = np.abs(errors)
        huber = np.where(size < _HUBER, 0.5 * size * size, _HUBER * (size - 0.5 * _HUBER))
        return float((weights * huber).sum() + 0.5 * (pulls * (values - origin) ** 2).sum())

    values, damping = np.log([(begin or near)[name] for name in names]), 1e-2
    errors = residuals(values)
    best = cost(errors, values)
    for _ in range(25):
        slope = np.stack([(residuals(values + step) - errors) / 1e-3 for step in 1e-3 * np.eye(len(names))], axis=1)
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


def fit_all(
    groups: Mapping[str, FamilyCalls],
    multiprocessors: int,
    *,
    start: Mapping[str, Mapping[str, float]],
    begin: Mapping[str, Mapping[str, float]] | None = None,
) -> dict[str, dict[str, float]]:
    """The parameters of every family that was measured; a family with few calls stays near where it starts."""
    found: dict[str, dict[str, float]] = {}
    rates: dict[str, float] = {}
    for family, group in sorted(groups.items(), key=lambda item: item[0] != "pointwise"):
        near, first = start.get(family), (begin or {}).get(family)
        found[family] = fit_family(family, group, multiprocessors, start=near, begin=first, rates=rates)
        if family == "pointwise":  # which does little else than move memory
            rates = {name: found[family][name] for name in ("l2", "dram", "capacity")}
    return found


def corrections_of(group: FamilyCalls, times: Array) -> dict[str, tuple[str, ...]]:
    """Return `FamilyFit.corrections`: weights that interpolate measured over predicted, as kriging does."""
    errors, places = np.clip(np.log(group.us / times), -_MOST, _MOST), places_of(group.works)
    found = {}
    for traits, numbers in grouped(range(len(times)), lambda number: traits_of(group.items[number].work)).items():
        left, alike = np.array(numbers), []
        while len(left):
            near = distances(places[left[:1]], places[left])[0] <= _ALIKE
            alike.append((left[0], errors[left[near]].mean(), near.sum()))
            left = left[~near]
        first, means, counts = map(np.array, zip(*alike, strict=True))
        kept = places[first]
        weights = np.linalg.solve(np.exp(-distances(kept, kept) / REACH) + np.diag(_NOISE / counts), means)
        rows = np.column_stack([np.round(weights, 3), kept])
        found[traits] = tuple(" ".join(f"{value:g}" for value in row) for row in rows)
    return found


def quantile(values: Sequence[tuple[float, str]], share: float) -> float:
    """The value below which a share of (value, kind) lies, each kind counting the same."""
    counts = Counter(kind for _, kind in values)
    ordered = sorted(values)
    reached = np.cumsum([1 / counts[kind] for _, kind in ordered]) / len(counts)
    return round(float(np.interp(share, reached, [value for value, _ in ordered])), 3)


def range_of(group: FamilyCalls, times: Array, held: Sequence[tuple[float, str]]) -> tuple[float, float]:
    """Return the 10th and 90th percentile of measured over predicted time of unseen calls (`held`), wider if these are few."""
    ratios = [*held]
    if len(held) < _FEWEST:
        ratios += zip((group.us / times) ** 1.5, group.kinds, strict=True)
    low, high = (quantile(ratios, share) for share in (0.1, 0.9))
    if len(ratios) < _HANDFUL:
        low, high = min(low, round(1 / _FEW_ARE_OFF, 3)), max(high, _FEW_ARE_OFF)
    return low, high


def described(
    groups: Mapping[str, FamilyCalls],
    parameters: Mapping[str, Mapping[str, float]],
    multiprocessors: int,
    *,
    held: Mapping[str, Sequence[tuple[float, str]]] | None = None,
) -> dict[str, FamilyFit]:
    """Return the fit of each family with its interval and corrections; `held` as in `range_of`, by family."""
    families: dict[str, FamilyFit] = {}
    for family, group in groups.items():
        times = times_of(family, parameters[family], group.works, multiprocessors)
        low, high = range_of(group, times, (held or {}).get(family, ()))
        corrections = corrections_of(group, times) if family != "anything" else {}
        found = dict(parameters[family])
        families[family] = FamilyFit(parameters=found, low=low, high=high, count=len(times), corrections=corrections)
    return families
