"""Parse the output of `ncu --csv --page raw --print-units base`: a line per kernel, a column per metric, in order of launch."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from fxscope.errors import FxscopeError
from fxscope.model import Counters
from fxscope.passes.counters import CountedKernel

if TYPE_CHECKING:
    from collections.abc import Mapping

TIME = "gpu__time_duration.sum"
WHOLE = {
    "dram_bytes_read": "dram__bytes_read.sum",
    "dram_bytes_written": "dram__bytes_write.sum",
    "l2_bytes": "lts__t_bytes.sum",
    "registers": "launch__registers_per_thread",
}
SHARES = {  # in percent
    "memory_share": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "compute_share": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "tensor_share": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
LOCAL = ("l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum")
STALLS = "group:smsp__pcsamp_warp_stall_reasons"
STALL = "smsp__pcsamp_warps_issue_stalled_"
METRICS = (TIME, *WHOLE.values(), *SHARES.values(), *LOCAL, STALLS)
# Issuing, or able to: no reason to wait.
_NOT_WAITING = ("selected", "not_selected")
_ERROR = re.compile(r"^==ERROR== (.+)$", re.MULTILINE)
# Nanoseconds and bytes are what base units are; another unit would be another metric.
_UNITS = {TIME: ("ns", "nsecond")} | {name: ("byte",) for name in (*WHOLE.values(), *LOCAL) if "bytes" in name}


def read(text: str) -> list[CountedKernel]:
    """The kernels of a log in order of launch.

    Raises:
        FxscopeError: Nsight Compute says that it failed, or there is no table.
    """
    if "ERR_NVGPUCTRPERM" in text:
        raise FxscopeError(
            "only administrators may read this GPU's counters (ERR_NVGPUCTRPERM): run as root, or have the driver "
            "loaded with NVreg_RestrictProfilingToAdminUsers=0"
        )
    lines = [line for line in text.splitlines() if not line.startswith("==")]
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        said = _ERROR.search(text)
        raise FxscopeError(f"Nsight Compute: {said[1].strip()}" if said else "Nsight Compute counted no kernel")
    rows = list(csv.reader(lines[start:]))
    names, units = rows[0], dict(zip(rows[0], rows[1] if len(rows) > 1 else (), strict=False))
    for metric, known in _UNITS.items():
        if units.get(metric, "") not in {"", *known}:
            raise FxscopeError(f"{metric} is in {units[metric]}: print base units (--print-units base)")
    kernels = [dict(zip(names, row, strict=True)) for row in rows[2:] if len(row) == len(names)]
    return [
        CountedKernel(row.get("Kernel Name", ""), _sizes(row.get("Grid Size")), _sizes(row.get("Block Size")), _of(row))
        for row in kernels
    ]


def _of(row: Mapping[str, str]) -> Counters:
    local = [_whole(row, name) for name in LOCAL]
    time_ns = _number(row, TIME)
    shares = {field: _number(row, metric) for field, metric in SHARES.items()}
    return Counters(
        launches=1,
        time_us=None if time_ns is None else time_ns / 1e3,
        local_bytes=None if None in local else sum(filter(None, local)),
        stalls=_stalls(row),
        **{field: _whole(row, metric) for field, metric in WHOLE.items()},
        **{field: None if value is None else value / 100 for field, value in shares.items()},
    )


def _stalls(row: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    """The reasons to wait with their share of all samples, the working ones counted in."""
    samples = {name.removeprefix(STALL): _whole(row, name) or 0 for name in row if name.startswith(STALL)}
    samples = {name: count for name, count in samples.items() if not name.endswith("_not_issued")}
    total = sum(samples.values())
    found = [(name, count / total) for name, count in samples.items() if count and name not in _NOT_WAITING]
    return tuple(sorted(found, key=lambda item: -item[1]))


def _number(row: Mapping[str, str], name: str) -> float | None:
    try:
        return float(row[name].replace(",", ""))
    except (KeyError, ValueError):  # a metric that this GPU has not: "no data", "n/a"
        return None


def _whole(row: Mapping[str, str], name: str) -> int | None:
    value = _number(row, name)
    return None if value is None else round(value)


def _sizes(text: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text or ""))
