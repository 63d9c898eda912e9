"""A trace in which each kernel carries what fxscope knows of it, as arguments that Perfetto shows."""

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from fxscope.errors import TraceError
from fxscope.index import index_of
from fxscope.model import KernelCall, Launch, Recording, Source
from fxscope.readers.trace import reader
from fxscope.readers.trace.table import identifier, nanoseconds


def annotate(path: str | Path, recording: Recording) -> bytes:
    """The trace at `path` as gzipped JSON, each kernel with its op, call, nodes, source line and fusion group.

    Raises:
        TraceError: the trace is damaged; recovering events one by one would not give a file that others can load.
    """
    path = Path(path)
    trace, problems = reader.document(path)
    if problems:
        message = problems[0].message
        raise TraceError(f"{path} is damaged ({message}): only a whole trace can be annotated. Export it again.")
    events: Any = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list):
        raise TraceError(f"{path} has no traceEvents: it is not a profiler trace.")
    known = {(launch.name, launch.start_ns, launch.correlation): launch for launch in recording.launches}
    calls = index_of(recording).calls
    sources = {key: node.source for key, node in index_of(recording).by_key.items()}
    for event in cast("list[Any]", events):
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        arguments: Any = event.get("args")
        if not isinstance(arguments, dict):
            arguments = {}
        correlation = identifier(arguments.get("correlation"))
        key: Any = (event.get("name"), nanoseconds(event.get("ts")), correlation if correlation >= 0 else None)
        if key in known:
            event["args"] = {**arguments, **_facts(known[key], calls, sources)}
    return gzip.compress(msgspec.json.encode(trace), compresslevel=6, mtime=0)


def _facts(launch: Launch, calls: Mapping[str, KernelCall], sources: Mapping[tuple[str, str], Source | None]) -> Any:
    """The facts of a launch to add, as flat text; what is not known is left out."""
    call = calls.get(launch.call or "")
    source = next((s for name in launch.nodes if (s := sources.get((launch.graph or "", name))) and s.file), None)
    facts = {
        "fxscope op": launch.op,
        "fxscope kernel call": call.handle if call else None,
        "fxscope nodes": ", ".join(launch.nodes) or None,
        "fxscope source": f"{source.file}:{source.line}" if source else None,
        "fxscope code": source.code if source else None,
        "fxscope module": source.module if source else None,
        "fxscope fusion group": f"{call.graph}: {', '.join(call.scheduler_nodes) or call.handle}" if call else None,
        "fxscope evidence": ", ".join(
            f"{link} by {known}" for link in ("op", "call", "nodes") if (known := getattr(launch.evidence, link))
        )
        or None,
    }
    return {key: value for key, value in facts.items() if value is not None}
