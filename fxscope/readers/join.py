"""A trace recorded elsewhere, and what its compile left on disk, as one joined recording."""

from collections.abc import Iterable
from pathlib import Path

from fxscope.columns import distinct, uncollected
from fxscope.errors import FOREIGN, PassError, TraceError
from fxscope.index import grouped, index_of
from fxscope.model import Recording, replace
from fxscope.readers import eager_graph, trace
from fxscope.readers.log_files import is_log


def read_trace(
    path: str | Path,
    *,
    debug_dir: str | Path | None = None,
    compile_log: str | Path | None = None,
    steps: Iterable[int] | None = None,
    max_bytes: int | None = None,
    capture: str | Path | None = None,
) -> Recording:
    """Read a profiler trace, join it with the compile's files, and run every pass.

    Args:
        path: a Kineto trace (.json, .json.gz), as `torch.profiler` exports it; or a log, or a rank's folder of logs, of
            `TORCH_TRACE` alone, which says what was compiled and not what ran.
        debug_dir: a folder of `TORCH_COMPILE_DEBUG=1`.
        compile_log: a log, or the folder of logs, of `TORCH_TRACE`.
        steps: indices of the active steps to keep, counted from 0; all of them by default.
        max_bytes: largest size of the trace, and of each of the others, after unpacking.
        capture: the trace in which the CUDA or HIP graphs were captured that this one replays.

    Raises TraceError: a file is missing, is not what it should be, or belongs to another program.
    """
    from fxscope import passes

    if is_log(Path(path)):
        from fxscope.readers.compile_log import read_log

        return passes.run(read_log(path, max_bytes=max_bytes))
    recording = trace.recording(path, steps=steps, max_bytes=max_bytes, capture=capture)
    if compile_log is not None or debug_dir is not None:
        from fxscope.readers.compile_log import read_debug_dir, read_log

        if compile_log is not None:  # first: it knows Dynamo's ids
            recording = merged(recording, read_log(compile_log, max_bytes=max_bytes))
        if debug_dir is not None:
            recording = merged(recording, read_debug_dir(debug_dir, max_bytes=max_bytes))
    try:
        with uncollected():
            graph, ops = eager_graph.traced_graph(recording.ops)  # of the fullest step; every step's ops tied to it
            if graph.nodes:
                recording = replace(recording, graphs=(graph, *recording.graphs), ops=ops)
            recording = passes.run(recording)
    except (PassError, *FOREIGN) as error:  # a trace alone has no graph but ours
        files = " and ".join(str(item) for item in (compile_log, debug_dir) if item is not None)
        if not files:
            raise
        said = error if isinstance(error, PassError) else f"{type(error).__name__}: {error}"
        raise TraceError(
            f"{files} cannot be read as a whole ({said}): damaged, or not what this torch's Inductor writes. Make it again."
        ) from error
    where = debug_dir or compile_log
    if where is not None and recording.calls and not distinct(recording.launches, "call") - {None}:
        kernels = ", ".join(dict.fromkeys(call.kernel for call in recording.calls[:3]))
        raise TraceError(
            f"{where} belongs to another program, or the trace to an eager run: none of its calls ({kernels}, …) is in the "
            "trace. Give the files of the compile that the trace shows."
        )
    return recording


def merged(recording: Recording, artefact: Recording) -> Recording:
    """The trace's recording with the graphs of the compile; what is already there stays.

    A log and a debug folder tell of the same graphs; the folder alone has the scheduler's text, which is taken over
    where the two have the same calls.
    """
    fields = ("graphs", "calls", "links", "sources", "compiles", "schedules")
    compiled = {name: getattr(artefact, name) for name in fields}
    if recording.calls:
        ours, theirs = (
            {graph: tuple(call.handle for call in calls) for graph, calls in index_of(item).calls_of_graph.items()}
            for item in (recording, artefact)
        )
        graphs = grouped(ours, ours.__getitem__)  # equal ones in their order
        found = ((item, graphs.get(theirs.get(item.graph, ()))) for item in artefact.schedules)
        compiled = {"schedules": tuple(replace(item, graph=free.pop(0)) for item, free in found if free)}
    return replace(recording, **compiled, problems=(*recording.problems, *artefact.problems))
