"""Tables of a trace: ops, kernels, steps, gaps of the device, copies and waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.passes import bound
from fxscope.render import grid, labels
from fxscope.text import kernel_name, microseconds, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.model import KernelStats, Summary

MAX_LINES = 25


def render(summary: Summary, *, width: int = 80, everything: bool = False) -> str:
    """All tables that have a row, and the verdict; each table with its first lines, or with all."""
    most = 1 << 30 if everything else MAX_LINES
    out: list[str] = []
    for title, heads, rows in tables(summary):
        if rows:
            cut = [place for place, head in enumerate(heads) if head in ("op", "name", "call", "after", "before")]
            shown = [list(heads), *rows[:most]]
            out += [grid.heading(title, width)]
            out += [f" {line}" for line in grid.table(shown, width - 1, left={0, *cut}, cut=cut)]
            left = len(rows) - most
            out += [f"   … {left} more: --all"] if left > 0 else []
    if limit := bound.of_summary(summary):
        out += [grid.heading("verdict", width), f" {limit.words}"]
    return "\n".join(out) + "\n"


def tables(summary: Summary) -> list[tuple[str, Sequence[str], list[list[str]]]]:
    """Title, headings and rows of each table."""
    ops = [
        [
            op.name,
            str(op.count),
            *map(microseconds, (op.device_total_us, op.device_self_us, op.cpu_total_us, op.cpu_self_us)),
        ]
        for op in summary.ops
    ]
    steps = [
        [
            step.name,
            *map(microseconds, (step.wall_us, step.device_busy_us, step.device_idle_us)),
            *map(str, (step.num_launches, step.num_syncs)),
            microseconds(step.launch_cpu_us),
        ]
        for step in summary.steps
    ]
    communication = [
        [
            step.name,
            *map(microseconds, (step.communication_us, step.exposed_communication_us)),
            percent((step.exposed_communication_us or 0) / (step.wall_us or 1)),
        ]
        for step in summary.steps
        if step.communication_us is not None
    ]
    gaps = [
        [
            microseconds(gap.duration_ns / 1e3),
            str(gap.step),
            kernel_name(gap.before or "start of the step", 80),
            kernel_name(gap.after or "end of the step", 80),
        ]
        for gap in summary.gaps
    ]
    waits = [[wait.name, str(wait.count), microseconds(wait.cpu_total_us)] for wait in summary.syncs]
    return [
        ("ops, by device time", ("op", "calls", "device", "self", "cpu", "cpu self"), ops),
        ("kernels", *kernels(summary.kernels)),
        ("copies", *kernels(summary.copies)),
        ("steps", ("step", "wall", "busy", "idle", "launches", "waits", "launching"), steps),
        (
            "communication, and what of it no other kernel ran beside",
            ("step", "communication", "exposed", "of wall"),
            communication,
        ),
        ("times in which the device ran nothing", ("idle", "step", "after", "before"), gaps),
        ("waits for the device", ("call", "calls", "total"), waits),
    ]


def kernels(items: Sequence[KernelStats]) -> tuple[Sequence[str], list[list[str]]]:
    """The headings and the rows of kernels or copies."""
    rows = [
        [
            kernel_name(item.name, 90),
            str(item.count),
            *map(microseconds, (item.total_us, item.typical_us, item.min_us, item.max_us)),
            percent(item.share),
        ]
        for item in items
    ]
    return ("name", "calls", "total", labels.middle(items), "min", "max", "share"), rows
