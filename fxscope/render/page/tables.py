"""The tables of the report: what each column is, and its values."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from fxscope.dtypes import short_dtype
from fxscope.index import index_of
from fxscope.render import labels, theme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.model import Launch, Recording

# A column is (key, heading, unit); units are formatted by the page: text, int, us, bytes, share, rate, flops.
Column = tuple[str, str, str]


def table(
    key: str, title: str, columns: Sequence[Column], rows: Sequence[Sequence[Any]], refs: Sequence[Any]
) -> dict[str, Any]:
    """A table; `refs` names what a row stands for: (type, index or name), or None."""
    used = [i for i in range(len(columns)) if any(row[i] is not None for row in rows)]
    return {
        "key": key,
        "title": title,
        "columns": [columns[i] for i in used],
        "values": [[row[i] for row in rows] for i in used],
        "refs": list(refs),
    }


def tables(recording: Recording) -> list[dict[str, Any]]:
    """Every table that has a row."""
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
    columns: list[Column] = [
        ("kernel", "Kernel", "text"),
        ("category", "Category", "text"),
        ("count", "Launches", "int"),
        ("total", "Total", "us"),
        ("median", labels.middle(recording.summary.kernels if recording.summary else ()).title(), "us"),
        ("min", "Min", "us"),
        ("max", "Max", "us"),
        ("share", "Share", "share"),
        ("says", "The name says", "text"),
    ]
    says: dict[str, str] = {}
    durations: dict[tuple[str, str], list[int]] = {}
    for launch in recording.launches:
        durations.setdefault((launch.name, launch.category), []).append(launch.duration_ns)
        if launch.name not in says and launch.decoded:
            says[launch.name] = family(launch)
    if recording.summary and recording.summary.kernels:
        rows = [
            (k.name, k.category, k.count, k.total_us, k.typical_us, k.min_us, k.max_us, k.share, says.get(k.name))
            for k in recording.summary.kernels
        ]
    else:
        total = sum(sum(values) for values in durations.values()) or 1
        rows = sorted(
            (
                (
                    name,
                    category,
                    len(v),
                    sum(v) / 1e3,
                    median(v) / 1e3,
                    min(v) / 1e3,
                    max(v) / 1e3,
                    sum(v) / total,
                    says.get(name),
                )
                for (name, category), v in durations.items()
            ),
            key=lambda row: -row[3],
        )
    return table("kernels", "Kernels", columns, rows, [("kernel", row[0]) for row in rows])


def family(launch: Launch) -> str:
    """Family and role of a decoded kernel name."""
    decoded = launch.decoded or {}
    return " ".join(str(decoded[key]) for key in ("family", "role") if decoded.get(key))


def calls(recording: Recording) -> dict[str, Any]:
    """The kernel calls of the compiled graphs with what they move."""
    columns: list[Column] = [
        ("call", "Call", "text"),
        ("handle", "Kernel call", "text"),
        ("type", "Type", "text"),
        ("ops", "Ops", "text"),
        ("median", labels.middle(call.timing for call in recording.calls if call.timing).title(), "us"),
        ("min", "Min", "us"),
        ("max", "Max", "us"),
        ("untimed", "No launch because", "text"),
        ("count", "Runs", "int"),
        ("planned", "Planned", "us"),
        ("read", "Read", "bytes"),
        ("written", "Written", "bytes"),
        ("rate", "Rate", "rate"),
        ("flops", "FLOP/s", "flops"),
        ("share", "Of the roof", "share"),
        ("bound", "Bound", "text"),
        ("floor", "Floor", "us"),
        ("registers", "Registers", "int"),
        ("spill", "Spill", "bytes"),
        ("shared", "Shared", "bytes"),
        ("occupancy", "Occupancy", "share"),
    ]
    nodes = index_of(recording).nodes
    rows: list[tuple[Any, ...]] = []
    for call in recording.calls:
        roof, timing, resources = call.roof, call.timing, call.resources
        rows.append(
            (
                call.id,
                call.handle,
                theme.CALLS[call.type],
                " · ".join(labels.ops_of(call, nodes.get(call.graph, {}))),
                timing.typical_us if timing else None,
                timing.min_us if timing else None,
                timing.max_us if timing else None,
                call.untimed,
                timing.count if timing else None,
                call.estimated_us,
                call.bytes_read,
                call.bytes_written,
                roof.bytes_per_second if roof else None,
                roof.flops_per_second if roof else None,
                roof.share if roof else None,
                roof.bound if roof else None,
                roof.floor_us if roof else None,
                resources.registers if resources else None,
                resources.spill_bytes if resources else None,
                resources.shared_bytes if resources else None,
                resources.occupancy if resources else None,
            )
        )
    return table("calls", "Kernel calls", columns, rows, [("call", i) for i in range(len(rows))])


def gemms(recording: Recording) -> dict[str, Any]:
    """GEMMs: what their kernels' names say, per call where there is one."""
    columns: list[Column] = [
        ("kernel", "Kernel", "text"),
        ("family", "Family", "text"),
        ("op", "Op", "text"),
        ("tile", "Tile", "text"),
        ("layout", "Layout", "text"),
        ("types", "Types", "text"),
        ("stages", "Stages", "int"),
        ("epilogue", "Epilogue", "text"),
        ("split", "Split-K", "text"),
        ("count", "Launches", "int"),
        ("mean", "Mean", "us"),
        ("flops", "FLOP/s", "flops"),
        ("share", "Of the roof", "share"),
    ]
    position = {call.id: i for i, call in enumerate(recording.calls)}
    groups: dict[tuple[str, str | None], list[Launch]] = {}
    for launch in recording.launches:
        if launch.decoded and (launch.decoded.get("role") == "gemm" or launch.decoded.get("family") == "nvjet"):
            groups.setdefault((launch.name, launch.call), []).append(launch)
    rows: list[tuple[Any, ...]] = []
    for (name, call_id), found in groups.items():
        decoded = found[0].decoded or {}
        call = recording.calls[position[call_id]] if call_id in position else None
        dtypes: dict[str, str] = decoded.get("dtypes") or {}
        rows.append(
            (
                name,
                decoded.get("family"),
                found[0].op,
                "×".join(map(str, decoded.get("tile") or ())) or None,
                decoded.get("layout"),
                "·".join(short_dtype(dtypes.get(k)) for k in ("a", "b", "out") if dtypes.get(k)) or None,
                decoded.get("stages"),
                decoded.get("epilogue") and str(decoded["epilogue"]),
                None if decoded.get("split_k") is None else "yes" if decoded["split_k"] else "no",
                len(found),
                sum(x.duration_ns for x in found) / 1e3 / len(found),
                call.roof.flops_per_second if call and call.roof else None,
                call.roof.share if call and call.roof else None,
            )
        )
    refs = [("call", position[call]) if call in position else ("kernel", name) for name, call in groups]
    return table("gemms", "GEMMs", columns, rows, refs)


def decisions(recording: Recording) -> dict[str, Any]:
    """Every pair that was or was not fused, the most expensive first."""
    columns: list[Column] = [
        ("verdict", "Verdict", "text"),
        ("a", "First", "text"),
        ("b", "Second", "text"),
        ("how", "How", "text"),
        ("saved", "Would save", "bytes"),
        ("us", "At least", "us"),
        ("expected", "Expected", "us"),
        ("reason", "Reason", "text"),
        ("hint", "Hint", "text"),
    ]
    order = sorted(range(len(recording.decisions)), key=lambda i: -(recording.decisions[i].saved_bytes or 0))
    rows = [
        (
            (d.verdict or "cannot be told").replace("_", " "),
            ", ".join(d.a[:4]),
            ", ".join(d.b[:4]),
            d.how,
            d.saved_bytes if d.verdict != "fused" else None,
            d.saved_us if d.verdict != "fused" else None,
            d.expected_us if d.verdict != "fused" else None,
            d.reason,
            d.hint,
        )
        for d in (recording.decisions[i] for i in order)
    ]
    return table("decisions", "Decisions", columns, rows, [("decision", i) for i in order])


def ops(recording: Recording) -> dict[str, Any]:
    """CPU and device time by op, as `key_averages()` has it."""
    columns: list[Column] = [
        ("op", "Op", "text"),
        ("count", "Calls", "int"),
        ("cpu", "CPU total", "us"),
        ("self", "CPU self", "us"),
        ("device", "Device total", "us"),
        ("dself", "Device self", "us"),
        ("launches", "Launches", "int"),
    ]
    rows = [
        (o.name, o.count, o.cpu_total_us, o.cpu_self_us, o.device_total_us, o.device_self_us, o.num_launches)
        for o in (recording.summary.ops if recording.summary else ())
    ]
    return table("ops", "Ops", columns, rows, [("opname", row[0]) for row in rows])


def steps(recording: Recording) -> dict[str, Any]:
    """Each step in numbers."""
    columns: list[Column] = [
        ("step", "Step", "text"),
        ("wall", "Wall", "us"),
        ("busy", "Device busy", "us"),
        ("idle", "Device idle", "us"),
        ("launches", "Launches", "int"),
        ("syncs", "Syncs", "int"),
        ("cpu", "CPU in launches", "us"),
    ]
    rows = [
        (s.name, s.wall_us, s.device_busy_us, s.device_idle_us, s.num_launches, s.num_syncs, s.launch_cpu_us)
        for s in (recording.summary.steps if recording.summary else ())
    ]
    return table("steps", "Steps", columns, rows, [None] * len(rows))
