"""Tables of a recording for the page and the terminal: columns and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fxscope.analysis import products
from fxscope.columns import column
from fxscope.index import grouped, index_of
from fxscope.passes import bound
from fxscope.render import grid, labels, theme
from fxscope.text import counted, kernel_name, listed, microseconds, num_bytes, percent, rate, roof_share

if TYPE_CHECKING:
    from fxscope.analysis.findings import KernelUse
    from fxscope.model import KernelStats, Recording, Summary

MAX_LINES = 25
UNITS: dict[str, Callable[[Any], str]] = {  # the page formats them the same way
    "text": lambda value: "–" if value is None else str(value),
    "int": lambda value: "–" if value is None else f"{value:,}",
    "us": microseconds,
    "bytes": num_bytes,
    "share": percent,
    "roof": roof_share,
    "rate": rate,
    "flops": lambda value: rate(value, "FLOP/s"),
}

# A column is (key, heading, unit, value).
# The value is a function of a line, or where it is: "roof.share" is unknown where the roof is.
Column = tuple[str, str, str, str | Callable[[Any], Any]]


def table(key: str, title: str, columns: Sequence[Column], lines: Sequence[Any], refs: Sequence[Any]) -> dict[str, Any]:
    """A table without the columns that hold nothing; `refs` names what a line stands for: (type, index or name), or None."""
    made = [(column[:3], [value_of(line, column[3]) for line in lines]) for column in columns]
    used = [(column, values) for column, values in made if any(value is not None for value in values)]
    return {
        "key": key,
        "title": title,
        "columns": [column for column, _ in used],
        "values": [values for _, values in used],
        "refs": list(refs),
    }


def value_of(line: Any, where: str | Callable[[Any], Any]) -> Any:
    if callable(where):
        return where(line)
    for name in where.split("."):
        line = getattr(line, name) if line is not None else None
    return line


def text(
    made: dict[str, Any],
    width: int,
    *,
    only: Sequence[str] = (),
    notes: Sequence[str] = (),
    most: int = MAX_LINES,
    more: str = "write .html or .json",
) -> list[str]:
    """A table as lines of at most `width` columns; nothing of an empty one.

    Args:
        made: the table.
        width: in columns.
        only: keys of the columns to show; all but the category by default.
        notes: keys of columns whose values stand below the table, each once.
        most: rows.
        more: what shows the other rows.
    """
    if not made["refs"]:
        return []
    shown = [
        (key, heading, unit, values)
        for (key, heading, unit), values in zip(made["columns"], made["values"], strict=True)
        if key not in (*notes, "category") and (not only or key in only)
    ]
    cells = [
        [_name(key, x) if unit == "text" and x else UNITS[unit](x) for x in values[:most]]
        for key, _, unit, values in shown
    ]
    rows = [[_in_text(heading) for _, heading, *_ in shown], *map(list, zip(*cells, strict=True))]
    cut = [place for place, (_, _, unit, _) in enumerate(shown) if unit == "text"]
    out = [f" {line}" for line in grid.table(rows, width - 1, left={0, *cut}, cut=cut)]
    left = len(made["refs"]) - most
    out += [f"   … {counted(left, 'more row')}: {more}"] if left > 0 else []
    for (key, *_), values in zip(made["columns"], made["values"], strict=True):
        by_note = grouped(range(len(values)), values.__getitem__) if key in notes else {}
        for note, places in by_note.items():
            names = list(dict.fromkeys(str(made["values"][0][place]) for place in places))
            out += grid.folded(f"{listed(names, 3)}: {note}", width, "  ", "    ") if note else []
    return out


def _name(key: str, text: str) -> str:
    """Return a cell's text, a name without what many have in common."""
    if key in ("kernel", "after", "before"):
        return kernel_name(text, 90)
    return text.replace("autograd::engine::evaluate_function: ", "evaluate: ")


def _in_text(heading: str) -> str:
    """Return a heading as text has it; units and abbreviations as they are."""
    return heading if heading[1:2].isupper() else heading[:1].lower() + heading[1:]


def of_trace(summary: Summary, *, width: int = 80, everything: bool = False) -> str:
    """The tables of a trace and the verdict as text; each table with its first lines, or with all."""
    most = 1 << 30 if everything else MAX_LINES
    out: list[str] = []
    for made in of_summary(summary):
        only = [key for key, *_ in made["columns"] if (made["key"], key) != ("ops", "launches")]
        lines = text(made, width, only=only, most=most, more="--all, or write .html or .json")
        out += [grid.heading(made["title"].lower(), width), *lines] if lines else []
    if limit := bound.of_summary(summary):
        out += [grid.heading("verdict", width), f" {limit.words}"]
    return "\n".join(out) + "\n"


def tables(recording: Recording) -> list[dict[str, Any]]:
    """The tables of the page that have a row."""
    made = [calls(recording), gemms(recording), decisions(recording)]
    if summary := recording.summary:
        made = [kernels(summary.kernels, families(recording)), *made, ops(summary), steps(summary)]
    return [item for item in made if item["refs"]]


def of_summary(summary: Summary) -> list[dict[str, Any]]:
    """Ops, kernels, copies, steps, gaps of the device and waits."""
    gaps: list[Column] = [
        ("idle", "Idle", "us", lambda gap: gap.duration_ns / 1e3),
        ("step", "Step", "int", "step"),
        ("after", "After", "text", lambda gap: gap.before or "start of the step"),
        ("before", "Before", "text", lambda gap: gap.after or "end of the step"),
    ]
    waits: list[Column] = [
        ("call", "Call", "text", "name"),
        ("count", "Calls", "int", "count"),
        ("total", "Total", "us", "cpu_total_us"),
    ]
    return [
        ops(summary),
        kernels(summary.kernels),
        kernels(summary.copies) | {"title": "Copies"},
        steps(summary),
        table("gaps", "Times in which the device ran nothing", gaps, summary.gaps, summary.gaps),
        table("waits", "Waits for the device", waits, summary.syncs, summary.syncs),
    ]


def kernels(lines: Sequence[KernelStats], says: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Device time by kernel name; `says` is what a name says."""
    columns: list[Column] = [
        ("kernel", "Kernel", "text", "name"),
        ("category", "Category", "text", "category"),
        ("count", "Launches", "int", "count"),
        ("total", "Total", "us", "total_us"),
        ("median", labels.middle(lines).title(), "us", "typical_us"),
        ("min", "Min", "us", "min_us"),
        ("max", "Max", "us", "max_us"),
        ("share", "Share", "share", "share"),
        ("says", "The name says", "text", lambda line: (says or {}).get(line.name)),
    ]
    return table("kernels", "Kernels", columns, lines, [("kernel", line.name) for line in lines])


def families(recording: Recording) -> dict[str, str]:
    """Kernel name → what it says."""
    names, decoded = (column(recording.launches, field) for field in ("name", "decoded"))
    return {name: family(found) for name, found in dict(zip(names, decoded, strict=True)).items() if found}


def family(decoded: Mapping[str, Any]) -> str:
    """Family and role of a decoded kernel name."""
    said = " ".join(str(decoded[key]) for key in ("family", "role") if decoded.get(key))
    return f"{said} (a guess)" if decoded.get("guess") else said


def calls(recording: Recording) -> dict[str, Any]:
    """The kernel calls of the compiled graphs with what they move."""
    nodes = index_of(recording).nodes
    middle = labels.middle(call.timing for call in recording.calls if call.timing).title()
    columns: list[Column] = [
        ("call", "Call", "text", "id"),
        ("handle", "Kernel call", "text", "handle"),
        ("type", "Type", "text", lambda call: theme.CALLS[call.type]),
        ("ops", "Ops", "text", lambda call: " · ".join(labels.ops_of(call, nodes.get(call.graph, {})))),
        ("median", middle, "us", "timing.typical_us"),
        ("min", "Min", "us", "timing.min_us"),
        ("max", "Max", "us", "timing.max_us"),
        ("untimed", "No launch because", "text", "untimed"),
        ("count", "Runs", "int", "timing.count"),
        ("planned", "Planned", "us", lambda call: call.estimated_us if call.estimated_range_us else None),
        ("basis", "Predicted by", "text", "estimated_basis"),
        ("read", "Read", "bytes", "bytes_read"),
        ("written", "Written", "bytes", "bytes_written"),
        ("rate", "Rate", "rate", "roof.bytes_per_second"),
        ("flops", "FLOP/s", "flops", "roof.flops_per_second"),
        ("share", "Roof", "roof", "roof.share"),
        ("bound", "Bound", "text", "roof.bound"),
        ("floor", "Floor", "us", "roof.floor_us"),
        ("registers", "Registers", "int", "resources.registers"),
        ("spill", "Spill", "bytes", "resources.spill_bytes"),
        ("shared", "Shared", "bytes", "resources.shared_bytes"),
        ("occupancy", "Occupancy", "share", "resources.occupancy"),
    ]
    return table("calls", "Kernel calls", columns, recording.calls, [("call", i) for i in range(len(recording.calls))])


def gemms(recording: Recording) -> dict[str, Any]:
    """GEMMs, convolutions and attention: shape, kernel, tile, rate."""
    columns: list[Column] = [
        ("op", "Op", "text", "label"),
        ("size", "M·K·N", "text", labels.size_words),
        ("kernel", "Kernel", "text", "kernel"),
        ("tile", "Tile", "text", lambda row: "×".join(map(str, row.tile or ())) or None),
        ("count", "Runs", "int", "count"),
        ("median", "Median", "us", "duration_us"),
        ("flops", "FLOP/s", "flops", "flops_per_second"),
        ("share", "Peak", "roof", "share_of_peak"),
        ("note", "Note", "text", "note"),
    ]
    position = {call.id: i for i, call in enumerate(recording.calls)}
    rows = products.gemms(recording)
    refs = [("call", position[row.call]) if row.call in position else ("kernel", row.kernel) for row in rows]
    return table("gemms", "GEMMs", columns, rows, refs)


def resources(uses: Sequence[KernelUse]) -> dict[str, Any]:
    """Per-SM resources of each kernel, how it was launched, and who chose that; those launched alike once."""
    found = grouped(
        (use for use in uses if use.category == "kernel"),
        lambda use: (use.kernel, use.ops if "<" in use.kernel else (), use.registers, use.block, use.config),
    )
    often = {id(same[0]): f" (×{len(same)})" if len(same) > 1 else "" for same in found.values()}
    columns: list[Column] = [
        ("name", "Kernel", "text", lambda use: labels.kernel_label(use, 40) + often[id(use)]),
        ("median", "Median", "us", "time_us"),
        ("registers", "Registers", "int", "registers"),
        ("spill", "Spills", "bytes", "spill_bytes"),
        ("shared", "Shared, B", "int", "shared_bytes"),
        ("occupancy", "Occupancy", "share", "occupancy"),
        ("block", "Block", "text", lambda use: use.block and re.sub("(×1)+$", "", "×".join(map(str, use.block)))),
        ("warps", "Warps", "int", "num_warps"),
        ("stages", "Stages", "int", "num_stages"),
        ("config", "Configuration", "text", "config"),
        ("chosen", "Chosen by", "text", "chosen_by"),
    ]
    lines = [same[0] for same in found.values()]
    return table("resources", "Resources", columns, lines, lines)


def decisions(recording: Recording) -> dict[str, Any]:
    """Every pair that was or was not fused, the most expensive first."""
    least = any(item.saved_bytes_least and item.verdict != "fused" for item in recording.decisions)
    columns: list[Column] = [
        ("verdict", "Verdict", "text", lambda d: (d.verdict or "unknown").replace("_", " ")),
        ("a", "First", "text", lambda d: ", ".join(d.a[:4])),
        ("b", "Second", "text", lambda d: ", ".join(d.b[:4])),
        ("how", "How", "text", "how"),
        (
            "saved",
            "Would save at least" if least else "Would save",
            "bytes",
            lambda d: d.saved_bytes if d.verdict != "fused" else None,
        ),
        ("us", "At least", "us", lambda d: d.saved_us if d.verdict != "fused" else None),
        ("expected", "Expected", "us", lambda d: d.expected_us if d.verdict != "fused" else None),
        ("reason", "Reason", "text", "reason"),
        ("hint", "Hint", "text", "hint"),
    ]
    order = sorted(range(len(recording.decisions)), key=lambda i: -(recording.decisions[i].saved_bytes or 0))
    lines = [recording.decisions[i] for i in order]
    return table("decisions", "Decisions", columns, lines, [("decision", i) for i in order])


def ops(summary: Summary) -> dict[str, Any]:
    """CPU and device time by op, as `key_averages()` has it."""
    columns: list[Column] = [
        ("op", "Op", "text", "name"),
        ("count", "Calls", "int", "count"),
        ("cpu", "CPU", "us", "cpu_total_us"),
        ("self", "CPU self", "us", "cpu_self_us"),
        ("device", "Device", "us", "device_total_us"),
        ("dself", "Device self", "us", "device_self_us"),
        ("launches", "Launches", "int", "num_launches"),
    ]
    return table("ops", "Ops, by device time", columns, summary.ops, [("opname", line.name) for line in summary.ops])


def steps(summary: Summary) -> dict[str, Any]:
    """The steps; `exposed` is communication beside which no other kernel ran."""
    columns: list[Column] = [
        ("step", "Step", "text", "name"),
        ("wall", "Wall", "us", "wall_us"),
        ("busy", "Busy", "us", "device_busy_us"),
        ("idle", "Idle", "us", "device_idle_us"),
        ("communication", "Communication", "us", "communication_us"),
        ("exposed", "Exposed", "us", "exposed_communication_us"),
        ("launches", "Launches", "int", "num_launches"),
        ("syncs", "Syncs", "int", "num_syncs"),
        ("cpu", "Launching", "us", "launch_cpu_us"),
    ]
    return table("steps", "Steps", columns, summary.steps, [None] * len(summary.steps))
