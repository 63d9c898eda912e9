"""The quantities of a job's ranks by step, and what a rank has over its peers."""

import functools
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fxscope.fleet.model import Digest
from fxscope.model import Problem

Quantity = NDArray[np.float64]

SIGMAS = 4.0  # beyond the spread of the peers; more where few samples tell what that is
FLOOR = 0.05  # of a step: less is not worth a name
FLOOR_OF_FEW = 0.10  # with one or two peers, or one step, the spread is hardly known
CRITICAL = 0.25  # of what a rank is behind: it waits for a later one by no more than this, so others wait for it
IDLE = {"idle_input": "idle while the host loaded data", "idle_queued": "idle with launched work"}
WORDS = {"compute": "device work", **IDLE, "host_work": "host work"}
QUANTITIES = ("wall", "own", "exposed", "compute", "idle_host", *IDLE, "host_work", "launches", "allocation")


class Table(NamedTuple):
    """Each quantity by rank and step, NaN where a rank has no such step. Microseconds."""

    ranks: list[int]
    steps: list[int]
    columns: dict[str, Quantity]


class Excess(NamedTuple):
    """A quantity of which a rank has more than its peers."""

    typical: float  # a step
    spread: float  # robust standard deviation of the peers
    limit: float  # above which it is outside


class Peers:
    """The ranks that one is compared with, by their rows; their shared values are computed once."""

    def __init__(self, table: Table, rows: NDArray[np.intp]) -> None:
        self.table, self.rows = table, rows
        self.middle = functools.cache(lambda name: columns_median(self.of(name)))  # by step
        self.overall = functools.cache(lambda name: median(self.of(name)))
        self.spread = functools.cache(self._spread)

    def of(self, name: str) -> Quantity:
        return self.table.columns[name][self.rows]

    def _spread(self, name: str) -> tuple[float, int]:
        """(what peers differ by, of how many samples): the larger of against a step's median and against a peer's own."""
        values = self.of(name)
        across, along = values - columns_median(values), values - columns_median(values.T)[:, None]
        return max(deviation(across), deviation(along)), int((~np.isnan(values)).sum())

    def over(self, name: str, row: int) -> Quantity:
        """Return by how much a rank exceeds the median of its peers, by step."""
        return self.table.columns[name][row] - self.middle(name)

    def work(self, name: str, row: int) -> Quantity:
        """Return how much more work a rank has than its peers, by step; host work counts where the device idled for it."""
        over = self.over(name, row)
        return np.minimum(over, self.table.columns["idle_host"][row]) if name == "host_work" else over

    def excess(self, name: str, row: int, step_us: float) -> Excess:
        """Return what work a rank has over the median of its peers, and what these differ by among themselves."""
        spread, samples = self.spread(name)
        limit = SIGMAS * (1 + 4 / max(1, samples)) * spread
        return Excess(typical(self.work(name, row)), spread, max(limit, self.floor * step_us))

    @property
    def floor(self) -> float:
        """The share of a step below which nothing is worth a name."""
        return FLOOR if len(self.rows) >= 3 and len(self.table.steps) > 1 else FLOOR_OF_FEW

    def lateness(self, row: int) -> Quantity:
        """By how much of its own work a rank came late, step by step; 0 where it had no more than its peers."""
        if not len(self.rows):
            return np.full(len(self.table.steps), np.nan)
        work = sum(np.maximum(0, self.work(name, row)) for name in WORDS)
        return np.maximum(0, np.minimum(work, self.bound(row)))

    def bound(self, row: int) -> Quantity:
        """Return how much shorter each step could be, had the rank been like its peers.

        It is no further behind than its own time is over theirs. Where nobody is later than this rank, the step takes
        at most as long as it did, and at least what a peer itself needs. Where the rank itself waits for another, what
        it would cost by itself is only known to be what it needs over its peers: device and host work side by side, so
        the larger of both.
        """
        mine = {name: values[row] for name, values in self.table.columns.items()}
        behind = self.over("own", row)
        need = np.maximum(self.middle("host_work"), self.middle("compute"))
        exposed, takes = median(mine["exposed"]) or 0.0, mine["wall"]
        if exposed - self.least_exposed > CRITICAL * max(0.0, typical(behind)):
            takes = np.maximum(mine["host_work"] + mine["idle_input"], mine["compute"] + mine["idle_queued"])
        return np.maximum(0, np.minimum(behind, takes - need))

    @functools.cached_property
    def least_exposed(self) -> float:
        """Return the exposed communication of the peer that has least; NaN where none has a step."""
        return float(np.fmin.reduce(columns_median(self.of("exposed").T), initial=np.nan))


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
    columns = {name: np.full((len(ranks), len(steps)), np.nan) for name in QUANTITIES}
    for i, item in enumerate(by_rank.values()):
        for step in item.steps:
            if step.number in steps and (step.whole or partial):
                j = steps.index(step.number)
                for name, values in columns.items():
                    values[i, j] = step.num_launches if name == "launches" else getattr(step, f"{name}_us")
    return Table(ranks, steps, columns)


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
    return 1.4826 * (median(np.abs(values - (median(values) or 0.0))) or 0.0)
