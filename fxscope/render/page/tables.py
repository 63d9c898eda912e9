"""The tables of the report: what each column is, and its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fxscope.analysis import products
from fxscope.columns import column
from fxscope.index import index_of
from fxscope.render import labels, theme

if TYPE_CHECKING:
    from fxscope.model import Recording

# A column is (key, heading, unit, value); units are formatted by the page: text, int, us, bytes, share, rate, flops.
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


def tables(recording: Recording) -> list[dict[str, Any]]:
    made = [
        kernels(recording),
        calls(recording),
        gemms(recording),
        decisions(recording),
        ops(recording),
        steps(recording),
    ]
    return [item for item in made if item["refs"]]


def kernels(recording: Recording) -> dict[str, Any]:
    """Device time by kernel name."""
    says: dict[str, str] = {}
    for name, decoded in zip(column(recording.launches, "name"), column(recording.launches, "decoded"), strict=True):
        if decoded and name not in says:
            says[name] = family(decoded)
    lines = recording.summary.kernels if recording.summary else ()
    columns: list[Column] = [
        ("kernel", "Kernel", "text", "name"),
        ("category", "Category", "text", "category"),
        ("count", "Launches", "int", "count"),
        ("total", "Total", "us", "total_us"),
        ("median", labels.middle(lines).title(), "us", "typical_us"),
        ("min", "Min", "us", "min_us"),
        ("max", "Max", "us", "max_us"),
        ("share", "Share", "share", "share"),
        ("says", "The name says", "text", lambda line: says.get(line.name)),
    ]
    return table("kernels", "Kernels", columns, lines, [("kernel", line.name) for line in lines])


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
        ("share", "Of the roof", "roof", "roof.share"),
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
        ("share", "Of the peak", "roof", "share_of_peak"),
        ("note", "Note", "text", "note"),
    ]
    position = {call.id: i for i, call in enumerate(recording.calls)}
    rows = products.gemms(recording)
    refs = [("call", position[row.call]) if row.call in position else ("kernel", row.kernel) for row in rows]
    return table("gemms", "GEMMs", columns, rows, refs)


def decisions(recording: Recording) -> dict[str, Any]:
    """Every pair that was or was not fused, the most expensive first."""
    least = any(item.saved_bytes_least and item.verdict != "fused" for item in recording.decisions)
    columns: list[Column] = [
        ("verdict", "Verdict", "text", lambda d: (d.verdict or "cannot be told").replace("_", " ")),
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


def ops(recording: Recording) -> dict[str, Any]:
    """CPU and device time by op, as `key_averages()` has it."""
    columns: list[Column] = [
        ("op", "Op", "text", "name"),
        ("count", "Calls", "int", "count"),
        ("cpu", "CPU total", "us", "cpu_total_us"),
        ("self", "CPU self", "us", "cpu_self_us"),
        ("device", "Device total", "us", "device_total_us"),
        ("dself", "Device self", "us", "device_self_us"),
        ("launches", "Launches", "int", "num_launches"),
    ]
    lines = recording.summary.ops if recording.summary else ()
    return table("ops", "Ops", columns, lines, [("opname", line.name) for line in lines])


def steps(recording: Recording) -> dict[str, Any]:
    columns: list[Column] = [
        ("step", "Step", "text", "name"),
        ("wall", "Wall", "us", "wall_us"),
        ("busy", "Device busy", "us", "device_busy_us"),
        ("idle", "Device idle", "us", "device_idle_us"),
        ("launches", "Launches", "int", "num_launches"),
        ("syncs", "Syncs", "int", "num_syncs"),
        ("cpu", "CPU in launches", "us", "launch_cpu_us"),
    ]
    lines = recording.summary.steps if recording.summary else ()
    return table("steps", "Steps", columns, lines, [None] * len(lines))
