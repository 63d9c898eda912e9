"""Time of a pointwise or reduction kernel on a calibrated GPU: floor, memory, arithmetic.

    gpu.times.of(Work(num_bytes=24_000_000, elements=4_000_000, transcendentals=1))

A kernel takes the floor of its kind, and then as long as the slower of its memory traffic and its arithmetic. Traffic up
to about the L2 cache's size runs at the cache's rate, traffic far beyond it at the memory's. The parameters of a GPU are
fitted by `tools/fit_times.py` to what `benchmarks/fusion_cost.py` measured on it; `docs/costs.md` says how well they hold
on programs that were not fitted.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

SHARPNESS = 4  # of "the slower of the two": the 4-norm; the battery's fit prefers it over a plain sum by far
Positive = Annotated[float, Meta(gt=0, lt=1e30)]
NotNegative = Annotated[float, Meta(ge=0, lt=1e30)]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one kernel: bytes moved by its arguments, elements it computes, operations on each of them."""

    num_bytes: float
    elements: float = 0
    transcendentals: int = 0
    erfs: int = 0
    reductions: int = 0


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of one GPU; `source` is a key of `Gpu.sources`."""

    pointwise_floor_us: Positive
    reduction_floor_us: Positive
    l2_bytes_per_s: Positive
    dram_bytes_per_s: Positive
    capacity_bytes: Positive  # traffic from which on the cache no longer helps
    transcendental_ps: (
        NotNegative  # picoseconds an element, for each exp, tanh, sigmoid, log …: one hardware instruction
    )
    erf_ps: NotNegative  # … for each erf, as exact gelu takes it: a polynomial
    reduction_ps: NotNegative  # picoseconds an element, for each reduction
    fastest_l2_bytes_per_s: Positive  # no measured saving was faster than this
    fastest_dram_bytes_per_s: Positive  # no measured kernel was, with traffic far beyond the cache
    avoided: tuple[float, float]  # least share of the avoided traffic's time that was saved: pointwise, reduction
    spread: tuple[float, float]  # measured over modelled: 10th and 90th percentile on the fitted battery
    source: str

    def of(self, work: Work) -> float:
        """Device time in µs."""
        memory = work.num_bytes * self._seconds_per_byte(work.num_bytes, self.l2_bytes_per_s) * 1e6
        per_element = (
            work.transcendentals * self.transcendental_ps
            + work.erfs * self.erf_ps
            + work.reductions * self.reduction_ps
        )
        arithmetic = work.elements * per_element * 1e-6
        floor = self.reduction_floor_us if work.reductions else self.pointwise_floor_us
        return floor + (memory**SHARPNESS + arithmetic**SHARPNESS) ** (1 / SHARPNESS)

    def saved_at_least_us(self, saved_bytes: float, reuse_bytes: float, *, reduction: bool) -> float:
        """Least device time in µs that not moving `saved_bytes` saved in the battery.

        What is read again soon may still be in the L2 cache: only traffic that cannot be there, because `reuse_bytes` of
        other traffic lie between (those of the smaller of the two kernels), counts at the memory's rate. A fused reduction
        may be a slower kernel than the library's: of the traffic's time, the least share that the battery saw saved is counted.
        """
        seconds = saved_bytes * self._seconds_per_byte(reuse_bytes, self.fastest_l2_bytes_per_s)
        return seconds * 1e6 * self.avoided[reduction]

    def floor_us(self, num_bytes: float) -> float:
        """Time in µs below which no measured kernel moved so many bytes."""
        outside = self._outside(num_bytes)
        return 1e6 * num_bytes * (outside / self.fastest_dram_bytes_per_s + (1 - outside) / self.fastest_l2_bytes_per_s)

    def _seconds_per_byte(self, reuse_bytes: float, l2_rate: float) -> float:
        outside = self._outside(reuse_bytes)
        return outside / self.dram_bytes_per_s + (1 - outside) / l2_rate

    def _outside(self, reuse_bytes: float) -> float:
        """Share of the traffic that the cache does not serve: none of a little, all from the cache's size on."""
        return min(1.0, (reuse_bytes / self.capacity_bytes) ** 2)
