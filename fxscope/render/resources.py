"""Per-SM resource usage of each kernel, how it was launched, and who chose that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fxscope.index import grouped
from fxscope.render import grid
from fxscope.render.findings import kernel_label
from fxscope.text import microseconds, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.findings import KernelUse

HEADINGS = (
    "median",
    "registers",
    "spills",
    "shared",
    "occupancy",
    "block",
    "warps",
    "stages",
    "configuration",
    "chosen by",
)


def cells(use: KernelUse) -> list[str]:
    """One row without the kernel's name; "–" for what was not recorded."""
    return [
        microseconds(use.time_us),
        known(use.registers),
        known(use.spill_bytes),
        "–" if use.shared_bytes is None else f"{use.shared_bytes:,} B",
        percent(use.occupancy),
        "–" if use.block is None else re.sub(r"(×1)+$", "", "×".join(map(str, use.block))),
        known(use.num_warps),
        known(use.num_stages),
        use.config or "–",
        use.chosen_by or "–",
    ]


def known(value: object) -> str:
    """A value, "–" where it is not known."""
    return "–" if value is None else str(value)


def table(uses: Sequence[KernelUse], *, width: int = 40) -> list[str]:
    """Aligned lines; columns in which nothing is known are left out."""
    found = distinct(uses)
    if not found:
        return ["no kernel ran on a GPU"]
    rows = [["kernel", *HEADINGS]] + [
        ["".join(kernel_label(use, width)) + (f" (×{count})" if count > 1 else ""), *cells(use)] for count, use in found
    ]
    return grid.table(rows, 10_000)


def distinct(uses: Sequence[KernelUse]) -> list[tuple[int, KernelUse]]:
    """(how often, kernel), those launched alike together; times are those of the first."""
    found = grouped(
        (use for use in uses if use.category == "kernel"),
        lambda use: (use.kernel, use.ops if "<" in use.kernel else (), use.registers, use.block, use.config),
    )
    return [(len(group), group[0]) for group in found.values()]
