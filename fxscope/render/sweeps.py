"""Sweeps as text, Markdown and a page with the chart in it."""

from __future__ import annotations

from html import escape
from statistics import median
from typing import TYPE_CHECKING

from fxscope.analysis.sweep import sentences, values_of
from fxscope.render import chart, theme
from fxscope.render import markdown as md
from fxscope.text import aligned, microseconds, num_bytes, roof_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.findings import Sweep, SweepPoint

HEADINGS = ("setup", "wall", "device", "kernels", "of the roof", "peak memory", "error vs float32")


def cells(point: SweepPoint) -> list[str]:
    if point.problem:
        return [point.setup, f"failed: {point.problem}"[:70], *[""] * (len(HEADINGS) - 2)]
    return [
        point.setup,
        spread(point.wall_us),
        spread(point.device_us),
        "–" if point.num_kernels is None else f"{point.num_kernels:g}",
        roof_share(point.share_of_roof),
        num_bytes(point.peak_bytes),
        "–" if point.relative_rms_error is None else f"{point.relative_rms_error:.1e}",
    ]


def spread(samples: Sequence[float] | None) -> str:
    if not samples:
        return "–"
    half = (max(samples) - min(samples)) / 2
    return f"{microseconds(median(samples))} ±{microseconds(round(half, 2))}"


def rows(sweep: Sweep) -> list[list[str]]:
    return [[str(point.vary.get(sweep.vary)), *cells(point)] for point in in_order(sweep)]


def in_order(sweep: Sweep) -> list[SweepPoint]:
    """Points by value, then as measured."""
    values = values_of(sweep)
    return sorted(sweep.points, key=lambda point: values.index(point.vary.get(sweep.vary)))


def text(sweep: Sweep) -> str:
    """An aligned table and where the crossovers lie."""
    lines = [sweep.title or "", f"{sweep.environment.get('device') or ''}", ""]
    lines += aligned([[sweep.vary, *HEADINGS], *rows(sweep)])
    return "\n".join([*lines, "", *sentences(sweep)]) + "\n"


def markdown(sweep: Sweep) -> str:
    """A Markdown table and where the crossovers lie."""
    lines = [f"### {md.text(sweep.title or 'sweep')}", "", md.text(str(sweep.environment.get("device") or "")), ""]
    lines += [f"| {sweep.vary} | {' | '.join(HEADINGS)} |", f"|--:|---|{'--:|' * (len(HEADINGS) - 1)}"]
    lines += [f"| {' | '.join(md.text(cell) for cell in row)} |" for row in rows(sweep)]
    return "\n".join([*lines, "", *(f"- {md.text(line)}" for line in sentences(sweep))]) + "\n"


def html(sweep: Sweep) -> str:
    """One offline page: the chart, the sentences and the table."""
    title = escape(sweep.title or "sweep")
    head = "".join(f"<th>{escape(name)}</th>" for name in (sweep.vary, *HEADINGS))
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows(sweep))
    said = "".join(f"<li>{escape(line)}</li>" for line in sentences(sweep))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{{font:14px {theme.FONT};color:{theme.TEXT};max-width:60rem;margin:2rem auto;padding:0 1rem}}
table{{border-collapse:collapse}}td,th{{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #e3e6ea}}
td:nth-child(2),th:nth-child(2){{text-align:left}}svg{{max-width:100%;height:auto}}</style></head>
<body>{chart.svg(sweep)}<ul>{said}</ul><table><thead><tr>{head}</tr></thead><tbody>
{body}
</tbody></table></body></html>
"""
