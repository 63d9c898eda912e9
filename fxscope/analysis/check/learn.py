"""Write a file of expectations from a recording: what holds now, as text that people edit and review."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fxscope.analysis import select
from fxscope.analysis.check.counts import launched_under
from fxscope.analysis.compare.assign import is_gemm
from fxscope.analysis.compare.rest import graph_breaks, traffic
from fxscope.index import index_of
from fxscope.model import KERNELS
from fxscope.op_names import expected_nature, without_graph_number

if TYPE_CHECKING:
    from fxscope.model import Recording

MAX_LISTED = 12


def learn(recording: Recording) -> str:
    """TOML that the recording meets. Times are left out: they differ from run to run."""
    lines = [
        f"# What {recording.title or 'this recording'} does, learned from it. Delete the lines that may change.",
        *(f"# {where}" for where in [environment(recording)] if where),
        "",
    ]
    units = [unit for unit in select.units(recording) if unit.is_kernel]
    counts = set(index_of(recording).counts(*KERNELS)) if recording.launches else {len(units)}
    if units:
        lines.append(f"kernels = {quantity_of(counts)}")
    memsets = set(index_of(recording).counts("gpu_memset"))
    if any(memsets):
        lines.append(f"memsets = {quantity_of(memsets)}")
    num_gemms = sum(is_gemm(unit) for unit in units)
    if num_gemms:
        lines.append(f"gemms = {num_gemms}")
    if recording.compiles:
        breaks = graph_breaks(recording)
        lines += [f"graphs = {len(recording.compiles)}"] + ([] if breaks is None else [f"graph_breaks = {breaks}"])
    quiet = silent_ops(recording)
    if quiet:
        lines.append(f"launches_none = {toml(quiet[:MAX_LISTED])}")
    total = traffic(recording)
    if total is not None:
        lines.append(f'max_bytes = "{total} B"')
    by_name: dict[str, int] = {}
    for unit in units:
        # A process numbers the graphs that it compiles, and names a C++ kernel's event by its graph.
        plain = without_graph_number(unit.kernel)
        name = ("graph_*_" if unit.kernel.startswith("graph_") and plain != unit.kernel else "") + escaped(plain)
        by_name[name] = by_name.get(name, 0) + 1
    if by_name and len(by_name) <= MAX_LISTED and len(counts) == 1:
        pairs = ", ".join(f"{toml(name)} = {count}" for name, count in by_name.items())
        lines.append(f"kernel_counts = {{ {pairs} }}")
    seen: set[tuple[str, ...]] = set()
    for unit in select.units(recording):
        ops = tuple(op for op in unit.ops if len(op) > 1 and expected_nature(f"aten::{op}") != "view")
        if unit.call and len(ops) > 1 and ops not in seen and all_fused(recording, list(ops)):
            seen.add(ops)
            claim = toml(f"{' and '.join(ops)} run in one kernel")
            lines += ["", "[[expect]]", f"claim = {claim}", f"fused = {toml(list(ops))}"]
    return "\n".join(lines) + "\n"


def quantity_of(counts: set[int]) -> str:
    """One number, or a range where steps differ."""
    return str(min(counts)) if len(counts) == 1 else f"[{min(counts)}, {max(counts)}]"


def escaped(name: str) -> str:
    """A kernel's name that is no glob by accident: C++ names hold brackets."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def all_fused(recording: Recording, ops: list[str]) -> bool:
    """Return whether every occurrence is fused, so that the file that is written holds now."""
    from fxscope.analysis.check.context import Context
    from fxscope.analysis.check.fusion import fused

    return fused(Context({"": recording}, {}, ""), ops).status == "met"


def silent_ops(recording: Recording) -> list[str]:
    """ATen ops of the first step that launch nothing, in order; not the details inside a kernel of the CPU."""
    if not recording.launches or not recording.ops:
        return []
    index = index_of(recording)
    inside = {launch.op_id for launch in recording.launches if launch.category == "cpu_kernel"}
    found: dict[str, None] = {}
    for op in recording.ops:  # parents first
        if op.parent in inside:
            inside.add(op.id)
        elif op.step == index.typical_step and op.name.startswith("aten::"):
            found[op.name] = None
    return [name for name in found if launched_under(recording, name) == []]


def environment(recording: Recording) -> str:
    where = recording.environment
    parts = [f"planned for {where.target}" if where.target else where.device, where.torch and f"torch {where.torch}"]
    return " · ".join(part for part in parts if part)


def toml(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(toml(item) for item in value)}]"
    text = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text) + '"'
