"""What a compile left on disk → graphs, calls, links, sources, compiles: TORCH_TRACE logs and debug folders.

A TORCH_TRACE log is one JSON object a line after a glog prefix; a payload follows in lines that start with a tab
(torch 2.11, `torch/_logging/_internal.py`). A TORCH_COMPILE_DEBUG folder holds a folder per graph.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from fxscope.errors import FOREIGN, TraceError
from fxscope.model import (
    Compile,
    Direction,
    Graph,
    KernelCall,
    Link,
    Problem,
    Recording,
    Schedule,
    Source,
    SourceText,
    replace,
)
from fxscope.readers import graph_text, output_code, schedule_text
from fxscope.readers.trace.reader import MAX_PACKED_BYTES, MAX_RATIO
from fxscope.readers.trace.unpacked import ZSTANDARD, zstandard_errors, zstandard_file
from fxscope.store import unmarked
from fxscope.text import counted, num_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fxscope.model import Node

MAX_BYTES = 4 << 30  # of a log, unpacked, or of a folder
MAX_LINE = 64 << 20
MAX_STRAY = 1_000_000  # lines of a log that belong to no entry


@dataclass(kw_only=True)
class InductorGraph:
    """What has been found of one Inductor graph."""

    compile_id: str
    direction: Direction
    post_grad: str | None = None
    code: str | None = None
    mappings: dict[str, Any] = field(default_factory=dict)
    ir: str | None = None
    fusion_log: str | None = None
    cache: str | None = None


@dataclass(kw_only=True)
class Collected:
    """Everything of one log or folder, before it becomes a recording."""

    where: str
    limit: int  # of bytes, unpacked
    trusted: bool = False  # the user gave the limit
    size: int = 0  # read so far
    graphs: list[Graph] = field(default_factory=list)
    found: list[InductorGraph] = field(default_factory=list)
    compiles: dict[str, Compile] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def count(self, size: int, path: Path, limit: int | None = None) -> None:
        """Count bytes that were read. Raises TraceError beyond the limit, or the lower one of this file."""
        self.size += size
        limit = min(self.limit, limit or self.limit)
        if self.size > limit:
            raise TraceError(
                f"{path} and what was read before it have more than {num_bytes(limit)} unpacked. "
                "Raise --max-size if you trust it."
            )


# ---------------------------------------------------------------------- TORCH_TRACE


def _refused(read: Callable[..., Recording]) -> Callable[..., Recording]:
    """Let what is no artefact of a compile, or a damaged one, end in one line."""

    @functools.wraps(read)
    def reader(path: str | Path, *, max_bytes: int | None = None) -> Recording:
        try:
            return read(path, max_bytes=max_bytes)
        except FOREIGN as error:
            raise TraceError(
                f"{path} is damaged, or not what this torch's Inductor writes ({type(error).__name__}: {error}). Make it again."
            ) from error

    return reader


@_refused
def read_log(path: str | Path, *, max_bytes: int | None = None) -> Recording:
    """Read a TORCH_TRACE log (.log, .log.gz, .log.zst) or a folder of them, of 4 GiB unpacked at most or of `max_bytes`.

    Raises:
        TraceError: there is none, it is no such log, or it is larger.
    """
    path = Path(path)
    files = (
        sorted(p for p in path.rglob("*") if p.name.endswith((".log", ".log.gz", ".log.zst")) and p.is_file())
        if path.is_dir()
        else [path]
    )
    if not files:
        raise TraceError(f"{path} holds no .log files. Set TORCH_TRACE=FOLDER, run the program, and give that folder.")
    collected = Collected(where=path.name, limit=max_bytes or MAX_BYTES, trusted=max_bytes is not None)
    for file in files:
        _read_log_file(file, collected)
    if not collected.found and not collected.graphs:
        raise TraceError(f"{path} holds no compile: nothing was compiled, or it is no TORCH_TRACE log.")
    return _recording(collected)


def _entries(path: Path, collected: Collected) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield (entry, payload)."""
    entry: dict[str, Any] | None = None
    payload = bytearray()  # a string for each line would take twenty times as much
    decoder = json.JSONDecoder()
    num_lost = num_stray = 0
    for line in _lines(path, collected):
        if line.startswith(b"\t"):
            if entry is not None:
                payload += line[1:]
            continue
        if entry is not None:
            yield entry, payload.decode("utf-8", errors="replace")
        entry, payload = None, bytearray()
        text = line.decode("utf-8", errors="replace")
        start = text.find("{")
        if start >= 0 and re.match(r"^[VDIWEC]\d{4} ", text):
            try:
                entry = decoder.raw_decode(text, start)[0]
            except ValueError:
                num_lost += 1
        else:
            num_stray += 1
            if num_stray > MAX_STRAY:
                raise TraceError(f"{path} has more than {MAX_STRAY:,} lines of no entry: it is no TORCH_TRACE log.")
    if entry is not None:
        yield entry, payload.decode("utf-8", errors="replace")
    if num_lost:
        message = f"{counted(num_lost, 'damaged entry', 'damaged entries')} could not be read: what they say is missing"
        collected.problems.append(Problem(where=path.name, message=message, remedy="Copy the log again."))


def _lines(path: Path, collected: Collected) -> Iterator[bytes]:
    magic = b""
    if path.is_fifo():
        raise TraceError(f"{path} is a pipe, and a log is opened more than once: write it to a file first.")
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        compressed = magic[:2] == b"\x1f\x8b" or magic == ZSTANDARD
        # A packed log is unpacked within the same bound as a packed trace, unless the user gave one.
        packed = compressed and not collected.trusted
        limit = collected.size + max(MAX_PACKED_BYTES, MAX_RATIO * path.stat().st_size) if packed else None
        with _opened(path, magic) as file:
            size, began = 0, False
            while line := file.readline(MAX_LINE):
                size += len(line)
                if size >> 20:
                    collected.count(size, path, limit)
                    size = 0
                if len(line) == MAX_LINE:
                    raise TraceError(f"{path} has a line of more than {num_bytes(MAX_LINE)}: it is no TORCH_TRACE log.")
                yield line if began else unmarked(line, path)
                began = True
            collected.count(size, path, limit)
    except (EOFError, zlib.error, gzip.BadGzipFile, *zstandard_errors()) as error:
        kind = "Zstandard" if magic == ZSTANDARD else "gzip"
        raise TraceError(f"{path} is a damaged or truncated {kind} file ({error}). Copy it again.") from None
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}.") from None


def _opened(path: Path, magic: bytes) -> IO[bytes]:
    """Open a log, unpacked where its first bytes say that it is packed."""
    if magic == ZSTANDARD:
        return zstandard_file(path.open("rb"))
    return cast("IO[bytes]", gzip.open(path) if magic[:2] == b"\x1f\x8b" else path.open("rb"))


def _read_log_file(path: Path, collected: Collected) -> None:
    strings: dict[int, str] = {}
    current: dict[tuple[str, str], InductorGraph] = {}
    attempts: dict[str, int] = {}
    direction: dict[str, Direction] = {}
    for entry, payload in _entries(path, collected):
        if "str" in entry and isinstance(entry["str"], list) and len(entry["str"]) == 2:
            strings[entry["str"][1]] = entry["str"][0]
            continue
        compile_id = _compile_id(entry)
        if compile_id is None:
            continue
        attempt = entry.get("attempt")
        if isinstance(attempt, int) and attempt > attempts.get(compile_id, 0):
            # Dynamo starts over after a graph break: what the first try left is not what was compiled
            attempts[compile_id] = attempt
            prefix = f"{compile_id}:"
            collected.graphs = [graph for graph in collected.graphs if not graph.id.startswith(prefix)]
        _entry(entry, payload, compile_id, strings, current, direction, collected)


def _entry(
    entry: dict[str, Any],
    payload: str,
    compile_id: str,
    strings: dict[int, str],
    current: dict[tuple[str, str], InductorGraph],
    direction: dict[str, Direction],
    collected: Collected,
) -> None:
    artifact = entry.get("artifact")
    name = artifact.get("name") if isinstance(artifact, dict) else None
    if "dynamo_start" in entry:
        stack = entry["dynamo_start"].get("stack") or []
        _compile(collected, compile_id, source=_frame(stack[-1], strings) if stack else None)
    elif "dynamo_output_graph" in entry:
        _graph(collected, f"{compile_id}:pre_grad", "pre_grad", compile_id, None, payload)
    elif "aot_joint_graph" in entry:
        _graph(collected, f"{compile_id}:joint", "joint", compile_id, None, payload)
    elif "aot_forward_graph" in entry:
        direction[compile_id] = "forward"
        _graph(collected, f"{compile_id}:forward", "forward", compile_id, "forward", payload)
    elif "aot_backward_graph" in entry:
        _graph(collected, f"{compile_id}:backward", "backward", compile_id, "backward", payload)
    elif "aot_inference_graph" in entry:
        direction[compile_id] = "inference"
        _graph(collected, f"{compile_id}:inference", "forward", compile_id, "inference", payload)
    elif name == "inductor_post_grad_graph":
        found = InductorGraph(
            compile_id=compile_id, direction=direction.get(compile_id, "inference"), post_grad=payload
        )
        current[compile_id, "last"] = found
        collected.found.append(found)
    elif "inductor_output_code" in entry:
        found = current.get((compile_id, "last"))
        if found is None or found.code is not None:
            found = InductorGraph(compile_id=compile_id, direction=direction.get(compile_id, "inference"))
            current[compile_id, "last"] = found
            collected.found.append(found)
        found.code = payload
        found.direction = _direction_of_code(payload) or found.direction
    elif name == "inductor_provenance_tracking_node_mappings":
        found = current.get((compile_id, "last"))
        if found is not None:
            found.mappings = _json(payload)
    elif name in ("fx_graph_cache_hit", "fx_graph_cache_miss", "fx_graph_cache_bypass"):
        state = {"hit": "hit", "miss": "miss", "bypass": "bypassed"}[name.rsplit("_", 1)[1]]
        _compile(collected, compile_id, cache=state)
    elif name == "dynamo_graph_break_reason":
        reason, source = _break(payload)
        _compile(collected, compile_id, break_reason=reason, break_source=source)
    elif name == "recompile_reasons":
        reasons = _json(payload)
        text = "; ".join(map(str, reasons)) if isinstance(reasons, list) else payload.strip()
        _compile(collected, compile_id, recompile_reason=text or None)
    elif "dynamo_cpp_guards_str" in entry:
        guards = tuple(
            m[1].strip()
            for m in re.finditer(
                r"\+- ((?:TENSOR_MATCH|LAMBDA_GUARD|EQUALS_MATCH|SHAPE_ENV|DUPLICATE_INPUT)[^\n]*)", payload
            )
        )
        _compile(collected, compile_id, guards=guards)
    elif "compilation_metrics" in entry:
        _metrics(entry["compilation_metrics"], compile_id, collected)


def _metrics(metrics: dict[str, Any], compile_id: str, collected: Collected) -> None:
    seconds, micros = metrics.get("entire_frame_compile_time_s"), metrics.get("duration_us")
    duration = float(micros) if micros else seconds * 1e6 if isinstance(seconds, int | float) else None
    dynamic = metrics.get("shape_env_guard_count")
    reasons = metrics.get("recompile_reason")
    _compile(
        collected,
        compile_id,
        duration_us=duration,
        recompile_reason=reasons or None,
        dynamic=bool(dynamic) if dynamic is not None else None,
    )
    if metrics.get("fail_type"):
        message = f"{metrics['fail_type']}: {str(metrics.get('fail_reason')).strip().splitlines()[0]}"
        collected.problems.append(Problem(where=f"compile {compile_id}", message=message))


def _compile_id(entry: dict[str, Any]) -> str | None:
    frame, number = entry.get("frame_id"), entry.get("frame_compile_id")
    if not isinstance(frame, int) or not isinstance(number, int):
        return None
    autograd = entry.get("compiled_autograd_id")
    return f"!{autograd}/{frame}/{number}" if isinstance(autograd, int) else f"{frame}/{number}"


def _frame(frame: dict[str, Any], strings: dict[int, str]) -> Source:
    return Source(
        file=strings.get(frame.get("filename", -1)),
        line=frame.get("line"),
        function=frame.get("name"),
        code=frame.get("loc"),
    )


def _break(payload: str) -> tuple[str, Source | None]:
    place = re.search(r"Graph break in user code at (.+):(\d+)", payload)
    reason = re.search(
        r"Graph Break Reason: (.+?)(?:\n\n For more details|\n\nUser code traceback|\Z)", payload, re.DOTALL
    )
    lines = [line.strip() for line in (reason[1] if reason else payload).splitlines() if line.strip()]
    wanted = [line for line in lines if not line.startswith(("Hint:", "Developer debug context"))]
    text = " ".join(wanted).removeprefix("Encountered graph break when attempting to trace ")
    code = None
    if place:
        found = re.search(rf'File "{re.escape(place[1])}", line {place[2]}, in (\w+)\n\s+(.+)', payload)
        code = found[2].strip() if found else None
    return text, Source(file=place[1], line=int(place[2]), code=code) if place else None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _direction_of_code(code: str) -> Direction | None:
    found = re.search(r"^# AOT ID: \[?'?\d+_(inference|forward|backward)", code, re.MULTILINE)
    return found[1] if found else None  # type: ignore[return-value]


def _compile(collected: Collected, compile_id: str, **fields: Any) -> None:
    known = collected.compiles.get(compile_id) or Compile(compile_id=compile_id)
    collected.compiles[compile_id] = replace(
        known, **{key: value for key, value in fields.items() if value is not None}
    )


def _graph(
    collected: Collected, graph_id: str, stage: Any, compile_id: str, direction: Direction | None, text: str
) -> None:
    nodes, outputs = graph_text.parse(text)
    collected.graphs = [graph for graph in collected.graphs if graph.id != graph_id]
    collected.graphs.append(
        Graph(id=graph_id, stage=stage, compile_id=compile_id, direction=direction, nodes=nodes, outputs=outputs)
    )


# ---------------------------------------------------------------------- debug folders


@_refused
def read_debug_dir(path: str | Path, *, max_bytes: int | None = None) -> Recording:
    """Read a TORCH_COMPILE_DEBUG folder: one graph's, or any folder above several; 4 GiB at most or `max_bytes`.

    Raises:
        TraceError: there is no such folder, no graph in it, or more than that.
    """
    path = Path(path)
    if not path.is_dir():
        raise TraceError(
            f"{path} is not a folder. Give the folder that TORCH_COMPILE_DEBUG=1 made (torch_compile_debug/…)."
        )
    folders = sorted({file.parent for file in path.rglob("output_code.py")}, key=_folder_order)
    if not folders:
        if next(path.rglob("torchdynamo"), None) is not None:
            raise TraceError(
                f"{path} holds no output_code.py: Inductor compiled nothing in that run (an eager run, another backend, or "
                "everything came out of its cache)."
            )
        raise TraceError(f"{path} holds no output_code.py: it is no debug folder of TORCH_COMPILE_DEBUG=1.")
    collected = Collected(where=path.name, limit=max_bytes or MAX_BYTES, trusted=max_bytes is not None)
    logs = [file for file in (path / "fusion.log", path.parent / "fusion.log") if file.is_file()]
    sections = schedule_text.log_sections(_text(logs[0], collected)) if logs else []
    for position, folder in enumerate(folders):
        code = _text(folder / "output_code.py", collected)
        direction = _direction_of_code(code) or _direction_of_folder(folder.name)
        mapping = folder / "inductor_provenance_tracking_node_mappings.json"
        found = InductorGraph(
            compile_id=_folder_compile_id(folders, folder),
            direction=direction,
            code=code,
            post_grad=_text(folder / "fx_graph_transformed.py", collected) or None,
            mappings=_json(_text(mapping, collected)) if mapping.is_file() else {},
            ir=_text(folder / "ir_post_fusion.txt", collected) or None,
            fusion_log=sections[position] if len(sections) == len(folders) else None,
        )
        collected.found.append(found)
        before = _text(folder / "fx_graph_readable.py", collected)
        if before:
            stage = "backward" if direction == "backward" else "forward"
            _graph(collected, f"{found.compile_id}:{direction}", stage, found.compile_id, direction, before)
    return _recording(collected)


def _text(path: Path, collected: Collected) -> str:
    if not path.is_file():  # nor a device, which has no end
        return ""
    try:
        collected.count(path.stat().st_size, path)
        data = path.read_bytes()
    except OSError:
        return ""
    return unmarked(data, path).decode("utf-8", errors="replace").replace("\r\n", "\n")


def _folder_order(folder: Path) -> tuple[Any, ...]:
    """Order graph folders as they were compiled: model__0_forward_1.0 before model__0_backward_3.1."""
    number = re.search(r"_(\d+)\.(\d+)$", folder.name)
    return str(folder.parent), (int(number[1]), int(number[2])) if number else (0, 0), folder.name


def _direction_of_folder(name: str) -> Direction:
    return next((word for word in ("backward", "forward", "inference") if word in name), "inference")  # type: ignore[return-value]


def _folder_compile_id(folders: list[Path], folder: Path) -> str:
    """A compile id: folders are named model__N_direction_i.j; forward and backward of one N belong together.

    The folder does not say Dynamo's id, so the models are numbered in their order: `0/0`, `1/0`, …
    """
    numbers = list(dict.fromkeys(re.sub(r"_(forward|backward|inference).*$", "", item.name) for item in folders))
    return f"{numbers.index(re.sub(r'_(forward|backward|inference).*$', '', folder.name))}/0"


# ---------------------------------------------------------------------- both


def _recording(collected: Collected) -> Recording:
    graphs = list(collected.graphs)
    calls: list[KernelCall] = []
    links: list[Link] = []
    sources: list[SourceText] = []
    schedules: list[Schedule] = []
    compiles = dict(collected.compiles)
    for found in _last_of_each(collected.found):
        prefix = f"{found.compile_id}:{found.direction}"
        graph_id = f"{prefix}:post_grad"
        parsed = output_code.parse(found.code) if found.code is not None else None
        nodes, outputs = graph_text.parse(found.post_grad or "")
        known = {node.name for node in nodes}
        nodes = _with_from_node(nodes, found, parsed)
        post_grad = Graph(
            id=graph_id,
            stage="post_grad",
            compile_id=found.compile_id,
            direction=found.direction,
            nodes=nodes,
            outputs=outputs,
        )
        graphs.append(post_grad)
        if found.code is not None and parsed is not None:
            if parsed.unread:
                collected.problems.append(Problem(where=graph_id, message=parsed.unread, remedy=parsed.remedy))
            calls += _calls(parsed, found, graph_id, prefix, known)
            source_id = f"{prefix}:output_code"
            sources.append(SourceText(id=source_id, kind="output_code", text=found.code, graph=graph_id))
            compile_ = compiles.get(found.compile_id) or Compile(compile_id=found.compile_id)
            if found.direction != "backward":
                compile_ = replace(compile_, assertions=parsed.assertions)
            compiles[found.compile_id] = compile_
        links += _links(found, graph_id, graphs)
        if found.ir and found.code:
            schedule = schedule_text.schedule(found.ir, found.fusion_log, graph_id=graph_id, graph=post_grad)
            if schedule is not None:
                schedules.append(schedule_text.as_called(schedule, parsed) if parsed is not None else schedule)
    return Recording(
        title=collected.where,
        graphs=tuple(graphs),
        calls=tuple(calls),
        links=tuple(links),
        sources=tuple(sources),
        schedules=tuple(schedules),
        compiles=tuple(compiles.values()),
        problems=tuple(collected.problems),
    )


def _last_of_each(found: list[InductorGraph]) -> list[InductorGraph]:
    """Keep one graph per compile id and direction, the last: Dynamo may have started over."""
    return list({(item.compile_id, item.direction): item for item in found}.values())


def _calls(
    parsed: output_code.OutputCode, found: InductorGraph, graph_id: str, prefix: str, known: set[str]
) -> list[KernelCall]:
    handles = found.mappings.get("cppCodeToPost") or {}
    order = {name: position for position, name in enumerate(n.name for n in graph_text.parse(found.post_grad or "")[0])}
    result: list[KernelCall] = []
    for call in output_code.kernel_calls(parsed, graph_id=graph_id, prefix=prefix):
        ran = [name for name in handles.get(call.handle, ()) if name in known]
        evidence: Any = "debug_handle"
        # torch writes the comment above a kernel for its first call; a later one has nodes of its own.
        if not ran and call.kernel in parsed.kernels and all(item.kernel != call.kernel for item in result):
            ran = [name for name in parsed.kernels[call.kernel].origins if name in known]
            evidence = "origins"
        ran.sort(key=order.__getitem__)
        result.append(replace(call, nodes=tuple(ran), nodes_evidence=evidence if ran else None))
    return result


def _with_from_node(
    nodes: tuple[Node, ...], found: InductorGraph, parsed: output_code.OutputCode | None
) -> tuple[Node, ...]:
    """The nodes with the names that they came from, by torch's mapping, else by the comments above its kernels."""
    earlier = (
        {name: (source,) for kernel in parsed.kernels.values() for name, source in kernel.from_node.items()}
        if parsed
        else {}
    )
    earlier |= {name: tuple(names) for name, names in (found.mappings.get("postToPre") or {}).items()}
    return tuple(replace(node, from_node=earlier.get(node.name, node.from_node)) for node in nodes)


def _links(found: InductorGraph, graph_id: str, graphs: list[Graph]) -> list[Link]:
    """Pre-grad → post-grad links from torch's mapping, and AOT → post-grad ones by the names that passes keep."""
    links: list[Link] = []
    names = {graph.id: {node.name for node in graph.nodes} for graph in graphs}
    here = names[graph_id]
    pre = f"{found.compile_id}:pre_grad"
    for source, targets in (found.mappings.get("preToPost") or {}).items():
        for target in targets:
            if target in here and source in names.get(pre, ()):
                links.append(
                    Link(from_=(pre, source), to=(graph_id, target), relation="lowered_to", evidence="from_node")
                )
    aot = f"{found.compile_id}:{found.direction}"
    for name in sorted(here & names.get(aot, set())):
        links.append(Link(from_=(aot, name), to=(graph_id, name), relation="lowered_to", evidence="name"))
    return links
