"""What a trace says by itself, as tables: ops, kernels, steps, gaps of the device, copies and waits."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.rule import Rule
from rich.table import Table

from fxscope.passes import bound
from fxscope.render import labels
from fxscope.render.bounded import Text
from fxscope.text import kernel_name, microseconds, percent, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fxscope.model import KernelStats, OpStats, Summary

MAX_LINES = 25


def render(summary: Summary, *, width: int = 80) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, highlight=False)
    if summary.ops:
        section(
            console,
            "ops, by device time",
            ("op", "calls", "device", "self", "cpu", "cpu self"),
            summary.ops,
            lambda op: (
                shorten(op.name, width - 50),
                str(op.count),
                microseconds(op.device_total_us),
                microseconds(op.device_self_us),
                microseconds(op.cpu_total_us),
                microseconds(op.cpu_self_us),
            ),
        )
    for title, lines in (("kernels", summary.kernels), ("copies", summary.copies)):
        if lines:
            section(
                console,
                title,
                ("name", "calls", "total", labels.middle(lines), "min", "max", "share"),
                lines,
                lambda k: kernel_row(k, width),
            )
    if summary.steps:
        section(
            console,
            "steps",
            ("step", "wall", "busy", "idle", "launches", "waits", "launching"),
            summary.steps,
            lambda s: (
                s.name,
                microseconds(s.wall_us),
                microseconds(s.device_busy_us),
                microseconds(s.device_idle_us),
                str(s.num_launches),
                str(s.num_syncs),
                microseconds(s.launch_cpu_us),
            ),
        )
    if any(s.communication_us is not None for s in summary.steps):
        section(
            console,
            "communication, and what of it no other kernel ran beside",
            ("step", "communication", "exposed", "of wall"),
            summary.steps,
            lambda s: (
                s.name,
                microseconds(s.communication_us),
                microseconds(s.exposed_communication_us),
                percent((s.exposed_communication_us or 0) / (s.wall_us or 1)),
            ),
        )
    if summary.gaps:
        half = max(12, (width - 22) // 2)
        section(
            console,
            "times in which the device ran nothing",
            ("idle", "step", "after", "before"),
            summary.gaps,
            lambda g: (
                microseconds(g.duration_ns / 1e3),
                str(g.step),
                kernel_name(g.before or "start of the step", half),
                kernel_name(g.after or "end of the step", half),
            ),
        )
    if summary.syncs:
        section(
            console, "waits for the device", ("call", "calls", "total"), summary.syncs, lambda op: sync_row(op, width)
        )
    if limit := bound.of_summary(summary):
        console.print(Rule(Text("verdict", style="bold"), align="left"))
        console.print(f" {limit.words}")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def section(
    console: Console, title: str, columns: Sequence[str], lines: Sequence[object], row: Callable[..., tuple[str, ...]]
) -> None:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for position, column in enumerate(columns):
        table.add_column(
            column, justify="left" if position == 0 or column in ("after", "before") else "right", no_wrap=True
        )
    for line in lines[:MAX_LINES]:
        table.add_row(*row(line))
    console.print(Rule(Text(title, style="bold"), align="left"))
    console.print(table)
    if len(lines) > MAX_LINES:
        console.print(f"   … {len(lines) - MAX_LINES} more: --filter narrows them, --json has all")


def kernel_row(item: KernelStats, width: int) -> tuple[str, ...]:
    times = (microseconds(value) for value in (item.total_us, item.typical_us, item.min_us, item.max_us))
    return (kernel_name(item.name, max(16, width - 56)), str(item.count), *times, percent(item.share))


def sync_row(item: OpStats, width: int) -> tuple[str, ...]:
    return shorten(item.name, width - 30), str(item.count), microseconds(item.cpu_total_us)
