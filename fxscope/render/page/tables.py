"""The tables of the report: what each column is, and its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope.dtypes import short_dtype
from fxscope.index import grouped, index_of
from fxscope.model import KernelCall, KernelStats, Launch
from fxscope.render import labels, theme

if TYPE_CHECKING:
    from fxscope.model import LaunchCategory, Recording

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
    durations: dict[tuple[str, LaunchCategory], list[int]] = {}
    for launch in recording.launches:
        durations.setdefault((launch.name, launch.category), []).append(launch.duration_ns)
        if launch.name not in says and launch.decoded:
            says[launch.name] = family(launch)
    lines = recording.summary.kernels if recording.summary else ()
    if not lines:
        total = sum(sum(values) for values in durations.values()) or 1
        lines = [
            KernelStats(
                name=name,
                category=category,
                count=len(v),
                total_us=sum(v) / 1e3,
                mean_us=sum(v) / 1e3 / len(v),
                median_us=median(v) / 1e3,
                min_us=min(v) / 1e3,
                max_us=max(v) / 1e3,
                share=sum(v) / total,
            )
            for (name, category), v in durations.items()
        ]
        lines.sort(key=lambda line: -line.total_us)
    columns: list[Column] = [
        ("kernel", "Kernel", "text", "name"),
        ("category", "Category", "text", "category"),
        ("count", "Launches", "int", "count"),
        ("total", "Total", "us", "total_us"),
        ("median", labels.middle(recording.summary.kernels if recording.summary else ()).title(), "us", "typical_us"),
        ("min", "Min", "us", "min_us"),
        ("max", "Max", "us", "max_us"),
        ("share", "Share", "share", "share"),
        ("says", "The name says", "text", lambda line: says.get(line.name)),
    ]
    return table("kernels", "Kernels", columns, lines, [("kernel", line.name) for line in lines])


def family(launch: Launch) -> str:
    """Family and role of a decoded kernel name."""
    decoded = launch.decoded or {}
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


class Gemm(NamedTuple):
    """The launches of one kernel for one call."""

    name: str
    launches: list[Launch]
    call: KernelCall | None

    def says(self, key: str) -> Any:
        """What the kernel's name says."""
        return (self.launches[0].decoded or {}).get(key)

    @property
    def types(self) -> str:
        dtypes: dict[str, str] = self.says("dtypes") or {}
        return "·".join(short_dtype(dtypes.get(k)) for k in ("a", "b", "out") if dtypes.get(k))


def gemms(recording: Recording) -> dict[str, Any]:
    """GEMMs: what their kernels' names say, per call where there is one."""
    columns: list[Column] = [
        ("kernel", "Kernel", "text", "name"),
        ("family", "Family", "text", lambda gemm: gemm.says("family")),
        ("op", "Op", "text", lambda gemm: gemm.launches[0].op),
        ("tile", "Tile", "text", lambda gemm: "×".join(map(str, gemm.says("tile") or ())) or None),
        ("layout", "Layout", "text", lambda gemm: gemm.says("layout")),
        ("types", "Types", "text", lambda gemm: gemm.types or None),
        ("stages", "Stages", "int", lambda gemm: gemm.says("stages")),
        ("epilogue", "Epilogue", "text", lambda gemm: gemm.says("epilogue") and str(gemm.says("epilogue"))),
        ("split", "Split-K", "text", lambda gemm: {None: None, False: "no"}.get(gemm.says("split_k"), "yes")),
        ("count", "Launches", "int", lambda gemm: len(gemm.launches)),
        ("mean", "Mean", "us", lambda gemm: sum(x.duration_ns for x in gemm.launches) / 1e3 / len(gemm.launches)),
        ("flops", "FLOP/s", "flops", "call.roof.flops_per_second"),
        ("share", "Of the roof", "roof", "call.roof.share"),
    ]
    position = {call.id: i for i, call in enumerate(recording.calls)}
    groups = grouped(
        (
            launch
            for launch in recording.launches
            if launch.decoded and (launch.decoded.get("role") == "gemm" or launch.decoded.get("family") == "nvjet")
        ),
        lambda launch: (launch.name, launch.call),
    )
    lines = [
        Gemm(name, found, recording.calls[position[call]] if call in position else None)
        for (name, call), found in groups.items()
    ]
    refs = [("call", position[call]) if call in position else ("kernel", name) for name, call in groups]
    return table("gemms", "GEMMs", columns, lines, refs)


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
