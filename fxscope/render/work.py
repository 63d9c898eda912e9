"""Tables of the work of a step: GEMMs, and the CPU time of calls of compiled code."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from fxscope.analysis.products import gemms
from fxscope.columns import column
from fxscope.render import grid
from fxscope.text import aligned, listed, roof_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.model import Recording


# Events of torch around each call, in the order in which they run
COMPILED_PARTS = {
    "TorchDynamo Cache Lookup": "cache lookup with its guards",
    "Pregraph bytecode": "bytecode before the graph",
    "AOTDispatcher Runtime Wrapper Prologue": "AOTDispatcher's prologue",
}


def gemm_table(recording: Recording, *, width: int = 80) -> str:
    """The table of GEMMs: what, M·K·N, tile, µs, TFLOP/s, share of peak; the kernels below it."""
    header = ["", "op", "M·K·N", "GFLOP", "tile", "µs", "TFLOP/s", "of peak"]
    rows: list[list[str]] = []
    kernels: dict[str, int] = {}
    found = gemms(recording)
    if not found:
        return "no GEMM, convolution or attention reached a device"
    for row in found:
        number = kernels.setdefault(row.kernel, len(kernels) + 1)
        size = f"{row.m}·{row.k}·{row.n}" if row.m is not None else "–"
        rows.append(
            [
                f"[{number}]",
                row.label,
                f"{row.batch}×{size}" if row.batch else size,
                f"{row.flops / 1e9:.4g}" if row.flops else "–",
                "×".join(map(str, row.tile)) if row.tile else "–",
                f"{row.duration_us:.1f}",
                f"{row.flops_per_second / 1e12:.3g}" if row.flops_per_second else "–",
                roof_share(row.share_of_peak),
            ]
        )
    lines = _table([header, *rows], 3)
    for name, number in kernels.items():
        lines += grid.folded(name, width, f"  [{number}] ", "      ")
    notes = {row.note: [other for other in found if other.note == row.note] for row in found if row.note}
    for note, rows_of_it in notes.items():
        names = list(dict.fromkeys(row.label for row in rows_of_it))
        lines += grid.folded(f"{listed(names, 3)}: {note}", width, "  ", "  ")
    peaks = list(dict.fromkeys(row.peak for row in found if row.peak and row.share_of_peak is not None))
    for peak in peaks:
        lines += grid.folded(f"peak: {peak}", width, "  ", "  ")
    return "\n".join(lines)


def compile_table(recording: Recording) -> str:
    """The CPU time of each call of compiled code before its kernels; "" where nothing was compiled."""
    rows: list[list[str]] = []
    names, durations = column(recording.ops, "name"), column(recording.ops, "duration_ns")
    for event, name in COMPILED_PARTS.items():
        times = [duration / 1e3 for known, duration in zip(names, durations, strict=True) if known == event]
        rows += [[name, f"{median(times):.1f}", f"{times[0]:.1f}"]] if times else []
    return "\n".join(_table([["", "median µs", "first µs"], *rows], 1)) if rows else ""


def _table(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    return [f"  {line}" for line in aligned(rows, left=range(left))]
