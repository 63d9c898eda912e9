"""Cut real traces of a job to what tests need: `python tools/cut_fleet.py FOLDER-OF-RANKS OUT`. They stay what torch wrote.

Left out are flow arrows, metadata, strides and concrete inputs, device properties but the name, and of the first step (which no
comparison uses) everything but its collectives, where the second step begins.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

KEPT_ARGS = (
    "External id",
    "correlation",
    "device",
    "stream",
    "grid",
    "block",
    "Input Dims",
    "Collective name",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
    "Group size",
    "In msg nelems",
    "Seq",
)
CATEGORIES = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset")


def cut(trace: dict[str, Any]) -> dict[str, Any]:
    """Return the trace with less in it."""
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") in CATEGORIES]
    steps = sorted((event["ts"], event["dur"]) for event in events if event["name"].startswith("ProfilerStep#"))
    second = steps[0][0] + steps[0][1]
    comm = {e["args"].get("correlation") for e in events if e["cat"] == "kernel" and "nccl" in e["name"]}
    late = {e["args"].get("correlation") for e in events if e["cat"].startswith("cuda") and e["ts"] >= second}
    kept: list[dict[str, Any]] = []
    for event in events:
        args = event.get("args", {})
        id = args.get("correlation")
        on_device = event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")
        if on_device and id not in late and id not in comm:
            continue
        first = event["ts"] < second
        if not on_device and first and not event["name"].startswith("ProfilerStep#") and (id is None or id not in comm):
            continue
        event = {key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur")}
        if chosen := {key: args[key] for key in KEPT_ARGS if key in args}:
            event["args"] = chosen
        kept.append(event)
    header = {key: trace[key] for key in ("schemaVersion", "distributedInfo", "baseTimeNanoseconds") if key in trace}
    devices = [{"id": device["id"], "name": device["name"]} for device in trace.get("deviceProperties", [])]
    return {**header, "deviceProperties": devices, "traceEvents": kept}


def main(source: Path, out: Path) -> None:
    """Cut every trace of a folder."""
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.json.gz")):
        text = json.dumps(cut(json.loads(gzip.decompress(path.read_bytes()))), separators=(",", ":"))
        (out / path.name).write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
