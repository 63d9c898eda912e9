"""The quantities of a job's ranks by step, and what a rank has over its peers."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fxscope.model import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fxscope.fleet.model import Digest

    Quantity = NDArray[np.float64]
    Rows = NDArray[np.intp]

SIGMAS = 4.0  # beyond the spread of the peers; more where few samples tell what that is
FLOOR = 0.05  # of a step: less is not worth a name
FLOOR_OF_FEW = 0.10  # with one or two peers, or one step, the spread is hardly known
CRITICAL = 0.25  # of what a rank is behind: it waits for a later one by no more than this, so others wait for it


class Excess(NamedTuple):
    """A quantity of which a rank has more than its peers."""

    typical: float  # a step
    spread: float  # robust standard deviation of the peers
    limit: float  # above which it is outside


class Table(NamedTuple):
    """Quantities by rank and step, NaN where a rank has no such step. Microseconds."""

    ranks: list[int]
    steps: list[int]
    wall: Quantity
    own: Quantity
    exposed: Quantity
    compute: Quantity
    idle_host: Quantity
    idle_input: Quantity
    host_work: Quantity
    launches: Quantity
    allocation: Quantity
    known: dict[object, object]  # medians and spreads of groups of peers: the same for every rank that has these peers

    def _once(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        """Return what a group of peers has in common, worked out once: a job of a thousand ranks has one such group."""
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def middle(self, name: str, others: Rows) -> Quantity:
        return self._once(("middle", name, id(others)), lambda: columns_median(getattr(self, name)[others]))

    def overall(self, name: str, others: Rows) -> float | None:
        return self._once(("overall", name, id(others)), lambda: median(getattr(self, name)[others]))

    def spread(self, name: str, others: Rows) -> tuple[float, int]:
        """(what peers differ by among themselves, of how many samples).

        The spread is taken over the peers and steps, each against its step's median, and once more against each peer's own
        median: with one peer only the latter says anything.
        """

        def make() -> tuple[float, int]:
            values = getattr(self, name)[others]
            across, along = values - columns_median(values), values - rows_median(values)
            return max(deviation(across.ravel()), deviation(along.ravel())), int((~np.isnan(values)).sum())

        return self._once(("spread", name, id(others)), make)

    def excess(self, name: str, row: int, peers: Rows, step_us: float) -> Excess:
        """Return what a rank has over the median of its peers, and what these differ by among themselves."""
        spread, samples = self.spread(name, peers)
        sigmas = SIGMAS * (1 + 4 / max(1, samples))
        return Excess(
            typical(getattr(self, name)[row] - self.middle(name, peers)),
            spread,
            max(sigmas * spread, self.floor(peers) * step_us),
        )

    def floor(self, peers: Rows) -> float:
        """The share of a step below which nothing is worth a name."""
        return FLOOR if len(peers) >= 3 and len(self.steps) > 1 else FLOOR_OF_FEW

    def lateness(self, row: int, others: Rows) -> Quantity:
        """By how much of its own work a rank came late, step by step; 0 where it had no more than its peers."""
        if not len(others):
            return np.full(len(self.steps), np.nan)
        device, loading, host = (
            getattr(self, name)[row] - self.middle(name, others) for name in ("compute", "idle_input", "host_work")
        )
        # Host work matters where the device had nothing to do meanwhile; input idle time is that already.
        host = np.minimum(host, self.idle_host[row])
        work = sum(np.maximum(0, part) for part in (device, loading, host))
        return np.maximum(0, np.minimum(work, self.bound(row, others)))

    def bound(self, row: int, others: Rows) -> Quantity:
        """Return how much shorter each step could be, had the rank been like its peers.

        It is no further behind than its own time is over theirs. Where nobody is later than this rank, the step takes
        at most as long as it did, and at least what a peer itself needs. Where the rank itself waits for another, what
        it would cost by itself is only known to be what it needs over its peers: device and host work side by side, so
        the larger of both.
        """
        behind = self.own[row] - self.middle("own", others)
        need = np.maximum(self.middle("host_work", others), self.middle("compute", others))
        exposed = median(self.exposed[row]) or 0.0
        medians = self._once(("exposed", id(others)), lambda: rows_median(self.exposed[others]))
        least = exposed if np.isnan(medians).all() else float(np.nanmin(medians))
        if exposed - least > CRITICAL * max(0.0, typical(behind)):
            mine = np.maximum(self.host_work[row] + self.idle_input[row], self.compute[row])
            return np.maximum(0, np.minimum(behind, mine - need))
        return np.maximum(0, np.minimum(behind, self.wall[row] - need))


QUANTITIES = tuple(name for name in Table._fields if name not in ("ranks", "steps", "known"))


def table_of(by_rank: Mapping[int, Digest], problems: list[Problem]) -> Table:
    """The steps that are whole, of every rank; the first after a start differs for reasons of its own."""
    ranks = list(by_rank)
    numbers = Counter(step.number for item in by_rank.values() for step in item.steps if step.whole)
    partial = not numbers
    if partial:
        numbers = Counter(step.number for item in by_rank.values() for step in item.steps)
        if len(numbers) > 1:  # without collectives there is a first step too
            del numbers[min(numbers)]
        if numbers and len(ranks) > 1:
            message = "no step begins and ends at a collective: steps are compared as the hosts saw them"
            remedy = "Profile at least two steps in a row."
            problems.append(Problem(where="fleet", message=message, remedy=remedy))
    steps = sorted(number for number, count in numbers.items() if count > max(1, len(ranks) // 2) or len(ranks) == 1)
    if len(ranks) > 1 and numbers and not steps:
        message = "the ranks were profiled in different steps: none can be compared"
        problems.append(Problem(where="fleet", message=message))
    columns: dict[str, Quantity] = {name: np.full((len(ranks), len(steps)), np.nan) for name in QUANTITIES}
    place = {number: i for i, number in enumerate(steps)}
    for i, item in enumerate(by_rank.values()):
        for step in item.steps:
            j = place.get(step.number)
            if j is None or (not step.whole and not partial):
                continue
            for name, values in columns.items():
                values[i, j] = step.num_launches if name == "launches" else getattr(step, f"{name}_us")
    return Table(ranks=ranks, steps=steps, known={}, **columns)


def median(values: Quantity) -> float | None:
    """Of what is known; `None` where nothing is."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else None


def columns_median(values: Quantity) -> Quantity:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmedian(values, axis=0) if len(values) else np.full(values.shape[1], np.nan)


def typical(values: Quantity) -> float:
    """A step's value: the median; of two steps the smaller, so that one hiccup is not a habit."""
    values = values[~np.isnan(values)]
    if not len(values):
        return 0.0
    return float(np.median(values)) if len(values) > 2 else float(values.min())


def deviation(values: Quantity) -> float:
    """The robust standard deviation: 1.4826 × the median distance from the median."""
    middle = median(values)
    return 1.4826 * (median(np.abs(values - middle)) or 0.0) if middle is not None else 0.0


def rows_median(values: Quantity) -> Quantity:
    return columns_median(values.T)[:, None]
