"""Tables of the work of a step: GEMMs, launches, and what a call of compiled code costs on the CPU."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fxscope.analysis.launch_cost import compile_costs, op_launches
from fxscope.analysis.products import gemms
from fxscope.text import aligned, listed, roof_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.model import Recording


def _wrapped(text: str, width: int, lead: str) -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )


def gemm_table(recording: Recording, *, width: int = 80) -> str:
    """The table of GEMMs: what, M·K·N, tile, waves, µs, TFLOP/s, share of peak; the kernels below it."""
    header = ["", "op", "M·K·N", "GFLOP", "tile", "waves", "µs", "TFLOP/s", "of peak"]
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
                f"{row.waves:.2f}" if row.waves is not None else "–",
                f"{row.duration_us:.1f}",
                f"{row.flops_per_second / 1e12:.3g}" if row.flops_per_second else "–",
                roof_share(row.share_of_peak),
            ]
        )
    lines = _table([header, *rows], 3)
    lines += [_wrapped(f"{name}", width, f"  [{number}] ") for name, number in kernels.items()]
    notes = {row.note: [other for other in found if other.note == row.note] for row in found if row.note}
    for note, rows_of_it in notes.items():
        names = list(dict.fromkeys(row.label for row in rows_of_it))
        lines.append(_wrapped(f"{listed(names, 3)}: {note}", width, "  "))
    peaks = list(dict.fromkeys(row.peak for row in found if row.peak and row.share_of_peak is not None))
    lines += [_wrapped(f"peak: {peak}", width, "  ") for peak in peaks]
    return "\n".join(lines)


def compile_table(recording: Recording) -> str:
    """What a compiled call costs on the CPU, part by part; "" where nothing was compiled."""
    costs = compile_costs(recording)
    if not costs:
        return ""
    rows = [[cost.what, _number(cost.median_us), _number(cost.first_us)] for cost in costs]
    total = sum(cost.median_us or 0.0 for cost in costs)
    first = sum(cost.first_us or 0.0 for cost in costs)
    partly = any(cost.unknown for cost in costs)
    rows.append(["what is known" if partly else "together", _number(total), _number(first)])
    return "\n".join(_table([["", "median µs", "first µs"], *rows], 1))


def launch_table(recording: Recording) -> str:
    """What each op of the last step asked of the runtime, and how long each part took."""
    found = op_launches(recording)
    if not found:
        return "nothing was launched on a device"
    last = found[-1].step
    rows = [
        [
            row.op,
            " + ".join(row.runtime),
            _number(row.cpu_us),
            _number(row.runtime_us),
            _number(row.queue_us),
            _number(row.device_us),
        ]
        for row in found
        if row.step == last
    ]
    return "\n".join(_table([["op", "runtime calls", "CPU µs", "runtime µs", "queue µs", "device µs"], *rows], 2))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _table(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    return [f"  {line}" for line in aligned(rows, left=range(left))]
