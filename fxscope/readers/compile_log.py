"""Read TORCH_TRACE logs and debug folders → graphs, calls, links, sources, compiles.

A TORCH_TRACE log is one JSON object a line after a glog prefix; a payload follows in lines that start with a tab
(torch 2.11, `torch/_logging/_internal.py`). A TORCH_COMPILE_DEBUG folder holds a folder per graph.
"""

import ast
import hashlib
import json
import re
import textwrap
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fxscope.data import read_table
from fxscope.english import failure_text, torchs_break_text
from fxscope.errors import FOREIGN, TraceError
from fxscope.model import (
    Compile,
    Direction,
    Environment,
    Graph,
    KernelCall,
    Link,
    Node,
    Problem,
    Recording,
    Schedule,
    Source,
    SourceText,
    Stage,
    replace,
)
from fxscope.passes.fusion.reasons import LIMITS
from fxscope.readers import graph_text, output_code, schedule_text
from fxscope.readers.cache_keys import CacheKeys
from fxscope.readers.log_files import ENTRY, logs_of_ranks
from fxscope.readers.trace.reader import CHUNK_BYTES, MAX_PACKED_BYTES, MAX_RATIO
from fxscope.readers.trace.unpacked import Unpacked, open_trace
from fxscope.store import unmarked
from fxscope.text import counted, first_line, num_bytes

_DIRECTION = re.compile(r"_(forward|backward|inference).*$")
MAX_BYTES = 4 << 30  # of a log, unpacked, or of a folder
MAX_LINE = 64 << 20


@dataclass(kw_only=True)
class InductorGraph:
    compile_id: str
    direction: Direction
    post_grad: str = ""
    code: str | None = None
    mappings: dict[str, Any] = field(default_factory=dict)
    ir: str = ""
    fusion_log: str | None = None

    @property
    def id(self) -> str:
        return f"{self.compile_id}:{self.direction}"


@dataclass(kw_only=True)
class Collected:
    """Everything of one log or folder, before it becomes a recording."""

    where: str
    limit: int | None  # of bytes, unpacked, as the user gave it
    size: int = 0  # read so far
    graphs: dict[str, Graph] = field(default_factory=dict)
    found: list[InductorGraph] = field(default_factory=list)
    compiles: dict[str, Compile] = field(default_factory=dict)
    limits: dict[str, dict[str, Any]] = field(default_factory=dict)  # compile id → values of `LIMITS`
    problems: list[Problem] = field(default_factory=list)
    num_entries: int = 0
    keys: CacheKeys = field(default_factory=CacheKeys)
    torch: str | None = None
    gpu: str | None = None
    devices: set[str] = field(default_factory=set)  # of the tensors: "cpu", "cuda"

    def count(self, size: int, path: Path, limit: int | None = None) -> None:
        """Count bytes that were read. Raises TraceError beyond the user's limit, else beyond `MAX_BYTES` or this file's."""
        self.size += size
        limit = self.limit or min(limit or MAX_BYTES, MAX_BYTES)
        if self.size > limit:
            raise TraceError(f"{path} and files before it unpack to more than {num_bytes(limit)}. Raise --max-size.")

    def note(self, compile_id: str, **fields: Any) -> None:
        """Add what is known of a compile; `None` changes nothing."""
        known = self.compiles.get(compile_id) or Compile(compile_id=compile_id)
        fields = {key: value for key, value in fields.items() if value is not None}
        if known.cache is not None and fields.get("cache") == "hit":
            del fields["cache"]  # a graph of the same compile was not in the cache
        self.compiles[compile_id] = replace(known, **fields)

    def problem(self, message: str, where: str | None = None, remedy: str | None = None) -> None:
        self.problems.append(Problem(where=where or self.where, message=message, remedy=remedy))

    def graph(self, graph_id: str, stage: Stage, direction: Direction | None, text: str) -> Graph:
        """Parse a printed graph; it takes the place of an earlier one of its id, at the end."""
        nodes, outputs = graph_text.parse(text)
        self.devices |= {meta.device.partition(":")[0] for node in nodes for meta in node.outputs if meta.device}
        compile_id = graph_id.partition(":")[0]
        self.graphs.pop(graph_id, None)
        self.graphs[graph_id] = Graph(
            id=graph_id, stage=stage, compile_id=compile_id, direction=direction, nodes=nodes, outputs=outputs
        )
        return self.graphs[graph_id]


@contextmanager
def _foreign_refused(path: str | Path) -> Generator[None]:
    try:
        yield
    except FOREIGN as error:
        raise TraceError(
            f"{path} is damaged, or not what this torch's Inductor writes ({type(error).__name__}: {error}). Make it again."
        ) from error


# ---------------------------------------------------------------------- TORCH_TRACE


def read_log(path: str | Path, *, max_bytes: int | None = None) -> Recording:
    """Read a TORCH_TRACE log, packed or not, or a rank's folder of them, of 4 GiB unpacked at most or of `max_bytes`.

    Raises TraceError where there is none, or logs of several ranks; for what is larger or not such a log.
    """
    path = Path(path)
    ranks: dict[int | None, list[Path]] = logs_of_ranks(path) if path.is_dir() else {None: [path]}
    numbers = [rank for rank in ranks if rank is not None]
    if len(numbers) > 1:
        raise TraceError(
            f"{path} holds the logs of {len(numbers)} ranks ({numbers[0]} to {numbers[-1]}): which one? Give its log, "
            f"such as {ranks[numbers[0]][0]}, or compare all with `fxscope fleet {path}`."
        )
    if not ranks:
        raise TraceError(f"{path} holds no .log files. Set TORCH_TRACE=FOLDER, run the program, and give that folder.")
    collected = Collected(where=path.name, limit=max_bytes)
    with _foreign_refused(path):
        run = 1
        for file in (file for files in ranks.values() for file in files):
            run = _Log(file, collected, run).read()
        if not collected.num_entries:
            raise TraceError(f"{path} is not a TORCH_TRACE log: it has no entry of one.")
        if not collected.found and not collected.graphs and not collected.compiles:
            collected.problem("the log holds no compile: nothing was compiled in this process")
        return _recording(collected)


def artifacts(path: Path, *names: str) -> Iterator[tuple[str, str, Any]]:
    """Yield (compile id, name, value) of a log's JSON artifacts of these names, in order; damaged ones are left out."""
    for entry, payload in _entries(path, Collected(where=path.name, limit=None)):
        name, about = _named(entry)
        if "artifact" in entry and name in names and about and (compile_id := _compile_id(entry)) is not None:
            yield (compile_id, name, _json(payload))


def _entries(path: Path, collected: Collected) -> Iterator[tuple[dict[str, Any], str]]:
    entry: dict[str, Any] | None = None
    payload = bytearray()  # a string for each line would take twenty times as much
    num_lost, line = 0, b""
    for line in _lines(path, collected):
        if line.startswith(b"\t") or (entry is not None and not line.strip()):  # torch.export writes empty ones
            payload += line.removeprefix(b"\t")
            continue
        if entry is not None:
            yield entry, payload.decode("utf-8", errors="replace")
        entry, payload = None, bytearray()
        text = line.decode("utf-8", errors="replace")
        if ENTRY.match(text):
            try:
                entry = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
            except ValueError:
                num_lost += 1
    if entry is not None:
        yield entry, payload.decode("utf-8", errors="replace")
        checksum = hashlib.md5(payload.rstrip(b"\n"), usedforsecurity=False).hexdigest()
        if not line.endswith(b"\n") and entry.get("has_payload", checksum) != checksum:
            collected.problem("the last entry fails its checksum: cut off, or edited", remedy="Copy the log again.")
    if num_lost:
        lost = counted(num_lost, "damaged entry", "damaged entries")
        collected.problem(f"{lost} could not be read", remedy="Copy the log again.")


def _lines(path: Path, collected: Collected) -> Iterator[bytes]:
    with open_trace(path) as file:
        # A packed log is unpacked within the same bound as a packed trace.
        packed = isinstance(file, Unpacked)
        limit = collected.size + max(MAX_PACKED_BYTES, MAX_RATIO * path.stat().st_size) if packed else None
        rest, began = b"", False
        while data := file.read(CHUNK_BYTES):
            collected.count(len(data), path, limit)
            if not began:
                data, began = unmarked(data, path), True
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > MAX_LINE:
                raise TraceError(f"{path} has a line of more than {num_bytes(MAX_LINE)}: it is no TORCH_TRACE log.")
            yield from (line + b"\n" for line in lines)
        if isinstance(file, Unpacked) and file.damage:
            raise TraceError(f"{path} is a damaged or truncated {file.kind} file: it {file.damage}. Copy it again.")
        if rest:
            yield rest


class _Log:
    """One log file, read entry by entry into what was collected.

    `torch.export` and AOTInductor compile outside of Dynamo: their entries name no compile. They become `aot/0`, `aot/1`, …,
    a new one where a graph comes that the last one already has. `torch._dynamo.reset()` counts frames from 0 again: what
    comes after it is `r2/0/0`, `r2/1/0`, …
    """

    def __init__(self, path: Path, collected: Collected, run: int) -> None:
        self._path = path
        self._collected = collected
        self._strings: dict[int, str] = {}
        self._last: dict[str, InductorGraph] = {}  # by compile id
        self._direction: dict[str, Direction] = {}
        self._num_aot = 0
        self._run = run  # between two resets of Dynamo, and in another process
        self._started: set[str] = set()  # compile ids of this run
        self._restarts: dict[str, tuple[str, Source]] = {}  # compile id → why Dynamo began it again, and of what
        self._resumed: set[str] = set()  # functions that run on after a graph break

    def read(self) -> int:
        """Return the number of the next run."""
        for entry, payload in _entries(self._path, self._collected):
            self._collected.num_entries += 1
            text = entry.get("str")
            if isinstance(text, list) and len(text) == 2:
                self._strings[text[1]] = text[0]
                continue
            name, about = _named(entry)
            compile_id = _compile_id(entry)
            if name == "dynamo_start" and compile_id is not None and not entry.get("attempt"):
                if compile_id in self._started:
                    self._run += 1
                    self._started.clear()
                self._started.add(compile_id)
            if compile_id is None:
                compile_id = f"aot/{self._num_aot}"
            elif self._run > 1:
                compile_id = f"r{self._run}/{compile_id}"
            self._entry(name, about, payload, compile_id)
        compiles = self._collected.compiles
        for key in [key for key, item in compiles.items() if item.failure and item.source is None]:
            self._collected.note(key, source=place_of_frame(key, compiles))
        # Old logs have no entry for breaks. A restart alone is none: a function that resumes proves it.
        if not any(item.break_reason for item in self._collected.compiles.values()):
            for compile_id, (reason, source) in list(self._restarts.items())[: len(self._resumed)]:
                self._collected.note(compile_id, break_reason=reason, break_source=source)
        return self._run + bool(self._started)

    def _entry(self, name: str, about: dict[str, Any], payload: str, compile_id: str) -> None:
        if name in _GRAPHS:
            self._graph(name, payload, compile_id)
        elif name in _INDUCTOR:
            if name != "graph_dump" or about.get("name") == "inductor_aot_wrapper_code":
                self._inductor(name, payload, compile_id)
        elif name == "dynamo_start":
            self._collected.note(compile_id, source=self._frame(about.get("stack")))
        elif name in ("compilation_metrics", "bwd_compilation_metrics"):
            self._metrics(about, compile_id)
        elif name in ("guard_added", "propagate_real_tensors_provenance"):
            self._export_guard(name, about, compile_id)
        elif name == "torch_version":
            self._collected.torch = _json(payload).get("pytorch_version")
        elif fields := _fields(name, payload):
            self._collected.note(compile_id, **fields)
        if name in _CACHE:
            found = _json(payload)
            if isinstance(found, dict) and found.get("key"):
                self._cache_key(name, found, compile_id)
            if limits := _limits(found):
                self._collected.limits[compile_id] = limits
            if gpu := _GPU.search(payload):
                self._collected.gpu = gpu[1]

    def _cache_key(self, name: str, about: dict[str, Any], compile_id: str) -> None:
        lines = [str(line) for line in about.get("components") or ()]
        is_backward = any("fx_kwargs[is_backward]: True" in line for line in lines)
        known = self._collected.compiles.get(compile_id)
        kind, source = (name[:3], is_backward), known.source if known else None
        found = self._collected.keys.add(kind, source, compile_id, str(about.get("key")), lines)
        if name.endswith("_miss") and not (known and known.cache_differs):  # AOTAutograd's has no components since 2.13
            self._collected.note(compile_id, **found)

    def _frame(self, stack: list[dict[str, Any]] | None) -> Source | None:
        if not stack:
            return None
        files = [self._strings.get(frame.get("filename", -1), "") for frame in stack]
        frame, file = stack[_users(files)], files[_users(files)]
        return Source(file=file or None, line=frame.get("line"), function=frame.get("name"), code=frame.get("loc"))

    def _graph(self, name: str, payload: str, compile_id: str) -> None:
        suffix, stage, direction = _GRAPHS[name]
        if compile_id.startswith("aot/"):
            if f"{compile_id}:{suffix}" in self._collected.graphs:
                self._num_aot += 1
                compile_id = f"aot/{self._num_aot}"
            self._collected.note(compile_id)
        if direction is not None and direction != "backward":
            self._direction[compile_id] = direction
        if name == "exported_program":
            payload = textwrap.dedent(payload.partition("\n")[2].partition("\nGraph signature:")[0])
        self._collected.graph(f"{compile_id}:{suffix}", stage, direction, payload)

    def _inductor(self, name: str, payload: str, compile_id: str) -> None:
        found = self._last.get(compile_id)
        kind = _INDUCTOR[name]
        if kind == "mappings":
            mapping = _json(payload)
            if found is not None and isinstance(mapping, dict):
                before_2_9 = name == "inductor_triton_kernel_to_post_grad_nodes"
                found.mappings |= {"cppCodeToPost": mapping} if before_2_9 else mapping
            return
        if found is None or found.code is not None:
            found = InductorGraph(compile_id=compile_id, direction=self._direction.get(compile_id, "inference"))
            self._last[compile_id] = found
            self._collected.found.append(found)
        setattr(found, kind, payload)
        if name == "inductor_output_code":
            found.direction = _direction_of_code(payload) or found.direction

    def _metrics(self, metrics: dict[str, Any], compile_id: str) -> None:
        known = self._collected.compiles.get(compile_id)
        if known is None and compile_id.startswith("aot/"):
            return  # of no compile: torch writes them of whatever it timed
        found = of_metrics(known, metrics)
        if "failure" in found and not found["untraced"]:
            self._collected.problem(first_line(found["failure"]), where=f"compile {compile_id}")
        function = str(metrics.get("co_name"))
        if restarts := metrics.get("restart_reasons"):
            place = Source(file=metrics.get("co_filename"), line=metrics.get("co_firstlineno"), function=function)
            self._restarts[compile_id] = str(restarts[-1]).strip("'"), place
        if function.startswith("torch_dynamo_resume_in_"):
            self._resumed.add(function)
        self._collected.note(compile_id, **found)

    def _export_guard(self, name: str, about: dict[str, Any], compile_id: str) -> None:
        """A guard that `torch.export` took; one that it could only take by looking at real tensors is a problem."""
        if not compile_id.startswith("aot/"):
            return
        self._collected.note(compile_id)
        text = str(about.get("expr"))
        if name == "guard_added":
            known = self._collected.compiles[compile_id].guards
            self._collected.note(compile_id, guards=tuple(dict.fromkeys((*known, text))))
            return
        place = self._frame(about.get("user_stack")) or Source()
        message = f"export read real data at {place.file}:{place.line}: {text} is {about.get('result')}"
        self._collected.problem(message, where=f"compile {compile_id}")


_ENVELOPE = frozenset("frame_id frame_compile_id compiled_autograd_id attempt has_payload rank stack pathname".split())
_GUARD = re.compile(r"\+- ([A-Z_]+: [^\n]*)")
_ENTRIES = read_table("log_entries.json")
_CACHE: dict[str, str | None] = _ENTRIES["cache"]  # → of Inductor's code; `None`: says nothing of it
_GPU = re.compile(r"system_info\[device\]: \{'name': '([^']+)'")
_SWITCH = re.compile(r"\[\w+\] inductor_config\[([\w.]+)\]: (.*)")
# → end of the graph's id, stage, direction
# Phases of a compile, each inside the one before: the names that torch's metrics have for them, in µs, and in older ones in s.
_DYNAMIC = {True: '"assume_static_by_default": false', False: '"automatic_dynamic_shapes": false'}
_PHASES: dict[str, list[str]] = _ENTRIES["phases"]
_GRAPHS: dict[str, tuple[str, Stage, Direction | None]] = _ENTRIES["graphs"]
# → field of `InductorGraph`; torch has named the last graph before lowering in three ways.
_INDUCTOR: dict[str, str] = _ENTRIES["inductor"]


def _named(entry: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    kind = next((key for key in entry if key not in _ENVELOPE), "")
    name = str(entry[kind].get("name")) if kind == "artifact" else kind
    about = entry.get(kind)
    return name, about if isinstance(about, dict) else {}


def _fields(name: str, payload: str) -> dict[str, Any]:
    if name in _CACHE:
        about = _json(payload)
        return {
            "cache": _CACHE[name],
            "cache_bypass": (isinstance(about, dict) and about.get("cache_bypass_reason")) or None,
        }
    if name == "dynamo_graph_break_reason":
        reason, source = _break(payload)
        return {"break_reason": reason, "break_source": source}
    if name == "recompile_reasons":
        reasons = _json(payload)
        texts = tuple(map(str, reasons)) if isinstance(reasons, list) else (payload.strip(),)
        return {"recompile_reason": "\n".join(texts) or None}
    if name == "dynamo_cpp_guards_str":
        return {"guards": tuple(found[1].strip() for found in _GUARD.finditer(payload))}
    if name == "dynamo_guards" and isinstance(guards := _json(payload), list):  # before torch 2.5
        return {"guards": tuple(str(guard.get("code")) for guard in guards)}
    return {"failure": payload.strip().rpartition("\n")[2].strip() or None} if name == "dynamo_error" else {}


def _limits(cache_key: Any) -> dict[str, Any]:
    parts = cache_key.get("components") if isinstance(cache_key, dict) else None
    said = {found[1]: found[2] for part in parts or () if (found := _SWITCH.match(str(part)))}
    limits: dict[str, Any] = {}
    for name in (name for name in LIMITS if name in said):
        with suppress(ValueError, SyntaxError):  # a text is written without its quotes
            limits[name] = ast.literal_eval(said[name])
    return limits


def _compile_id(entry: dict[str, Any]) -> str | None:
    frame, number = entry.get("frame_id"), entry.get("frame_compile_id")
    if not isinstance(frame, int) or not isinstance(number, int):
        return None
    autograd = entry.get("compiled_autograd_id")
    return f"!{autograd}/{frame}/{number}" if isinstance(autograd, int) else f"{frame}/{number}"


def of_metrics(known: Compile | None, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a compile that torch's own metrics of it, or of its backward, say; `known` is the compile so far."""
    phases = _with_phases(known.phases if known else {}, {} if metrics.get("is_runtime") else metrics)
    found: dict[str, Any] = {
        "phases": phases,
        "duration_us": sum(phases.values()) or None,
        "recompile_reason": None if known and known.recompile_reason is not None else metrics.get("recompile_reason"),
        "cudagraph_skip": (known.cudagraph_skip if known else None) or metrics.get("cudagraph_skip_reason"),
        "guard_us": float(metrics.get("guard_latency_us") or 0) or None,
    }
    if metrics.get("is_forward") is not False:  # a backward is compiled under the settings of its own time
        config = str(metrics.get("dynamo_config"))
        found["dynamic"] = next((asked for asked, words in _DYNAMIC.items() if words in config), None)
    if kind := metrics.get("fail_type"):
        found["failure"] = failure_text(kind, str(metrics.get("fail_reason")))
        found["untraced"] = kind == "Unsupported"
    return found


def _with_phases(known: Mapping[str, float], metrics: Mapping[str, Any]) -> dict[str, float]:
    """Add the phases of a compile, or of its backward's, from torch's metrics: µs of each without those inside it."""
    values = {phase: float(metrics.get(new) or (metrics.get(old) or 0) * 1e6) for phase, (new, old) in _PHASES.items()}
    start, end = metrics.get("start_time_us"), metrics.get("end_time_us")
    whole = float(metrics.get("duration_us") or (end - start if start and end else 0))
    if not values["Dynamo"]:
        values["AOTAutograd" if values["Inductor"] else "Dynamo"] = whole
    timed = [(phase, time) for phase, time in values.items() if time]
    found = dict(known)
    for (phase, time), (_, inner) in zip(timed, (*timed[1:], ("", 0.0)), strict=False):
        found[phase] = found.get(phase, 0.0) + max(0.0, time - inner)
    return found


def place_of_frame(compile_id: str, compiles: Mapping[str, Compile]) -> Source | None:
    """Return the place of a frame by its other compiles: at the limit of recompiles Dynamo does not start one."""
    frame = compile_id.rpartition("/")[0]
    same = (item.source for key, item in compiles.items() if key.rpartition("/")[0] == frame)
    return next(filter(None, same), None)


def _break(payload: str) -> tuple[str, Source | None]:
    place = re.search(r"Graph break in user code at (.+):(\d+)", payload)
    reason = re.search(r"Graph Break Reason: (.+?)(?:\n\n For more details|\n\nUser code traceback|\Z)", payload, re.S)
    lines = [line.strip() for line in (reason[1] if reason else payload).splitlines() if line.strip()]
    wanted = [line for line in lines if not line.startswith("Developer debug context")]
    text = "\n".join(wanted).removeprefix("Encountered graph break when attempting to trace ")
    if place is None:
        return text, None
    traceback = payload.partition("User code traceback:")[2].partition("\nTraceback (most recent call last)")[0]
    frames = re.findall(r'File "(.+?)", line (\d+), in \S+\n\s+(.+)', traceback)
    places = [*(frame[:2] for frame in frames), place.groups()]
    file, line = users = places[_users([file for file, _ in places])]
    code = next((frame[2].strip() for frame in frames if frame[:2] == users), None)
    text = text if users == place.groups() else torchs_break_text(text, *place.groups())
    return text, Source(file=file, line=int(line), code=code)


def _users(files: Sequence[str]) -> int:
    """The place of the innermost frame; the user's where torch's own function is compiled (a module of torch's)."""
    others = [place for place, file in enumerate(files) if file and "/torch/" not in file]
    return others[-1] if others and "/torch/" in files[-1] else len(files) - 1


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _direction_of_code(code: str) -> Direction | None:
    found = re.search(r"^# AOT ID: \[?'?\d+_(inference|forward|backward)", code, re.MULTILINE)
    return found[1] if found else None  # type: ignore[return-value]


# ---------------------------------------------------------------------- debug folders


def read_debug_dir(path: str | Path, *, max_bytes: int | None = None) -> Recording:
    """Read a TORCH_COMPILE_DEBUG folder, one graph's or any above several. Raises TraceError where no graph is in it."""
    path = Path(path)
    if not path.is_dir():
        raise TraceError(f"{path} is not a folder. Give what TORCH_COMPILE_DEBUG=1 made (torch_compile_debug/…).")
    folders = sorted({file.parent for file in path.rglob("output_code.py")}, key=_folder_order)
    if not folders:
        if next(path.rglob("torchdynamo"), None) is not None:
            raise TraceError(
                f"{path} holds no output_code.py: Inductor compiled nothing in that run (an eager run, another backend, or "
                "everything came out of its cache)."
            )
        raise TraceError(f"{path} holds no output_code.py: it is not a debug folder of TORCH_COMPILE_DEBUG=1.")
    collected = Collected(where=path.name, limit=max_bytes)
    with _foreign_refused(path):
        logs = (_text(folder / "fusion.log", collected) for folder in (path, path.parent))
        sections = schedule_text.log_sections(next(filter(None, logs), ""))
        # Named model__N_direction_i.j: forward and backward of one N belong together.
        models = list(dict.fromkeys(_DIRECTION.sub("", folder.name) for folder in folders))
        for position, folder in enumerate(folders):
            # The folder does not say Dynamo's id: the models are numbered in their order.
            compile_id = f"{models.index(_DIRECTION.sub('', folder.name))}/0"
            _read_folder(folder, compile_id, sections[position] if len(sections) == len(folders) else None, collected)
        return _recording(collected)


def _read_folder(folder: Path, compile_id: str, fusion_log: str | None, collected: Collected) -> None:
    code = _text(folder / "output_code.py", collected)
    named = [word for word in ("backward", "forward", "inference") if word in folder.name]
    direction: Direction = _direction_of_code(code) or (named or ["inference"])[0]  # type: ignore[assignment]
    found = InductorGraph(
        compile_id=compile_id,
        direction=direction,
        code=code,
        post_grad=_text(folder / "fx_graph_transformed.py", collected),
        mappings=_json(_text(folder / "inductor_provenance_tracking_node_mappings.json", collected)),
        ir=_text(folder / "ir_post_fusion.txt", collected),
        fusion_log=fusion_log,
    )
    collected.found.append(found)
    if before := _text(folder / "fx_graph_readable.py", collected):
        collected.graph(found.id, "backward" if direction == "backward" else "forward", direction, before)


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


def _recording(collected: Collected) -> Recording:
    calls: list[KernelCall] = []
    links: list[Link] = []
    sources: list[SourceText] = []
    schedules: list[Schedule] = []
    # A cache holds the code without its graph. Dynamo may have started over: the last of each
    written = {item.code: item.post_grad for item in collected.found if item.post_grad}
    for found in {item.id: item for item in collected.found}.values():
        text = found.post_grad or written.get(found.code, "")
        post_grad = collected.graph(f"{found.id}:post_grad", "post_grad", found.direction, text)
        parsed = None
        if found.code is not None:
            code_id = f"{found.id}:output_code"
            sources.append(SourceText(id=code_id, kind="output_code", text=found.code, graph=post_grad.id))
            handles = found.mappings.get("cppCodeToPost") or {}
            inputs = (node for node in post_grad.nodes if node.op == "placeholder" and node.outputs)
            parsed = output_code.parse(found.code, {node.name: node.outputs[0].dtype for node in inputs})
            if parsed.unread:
                collected.problem(parsed.unread, where=post_grad.id, remedy=parsed.remedy)
            mine = output_code.kernel_calls(parsed, post_grad.id)
            bodies = graph_text.bodies(text)
            called = {call.graph: bodies[call.subgraph] for call in mine if call.subgraph in bodies}
            graphs = [collected.graph(graph, "post_grad", found.direction, body) for graph, body in called.items()]
            names = {graph.id: [node.name for node in graph.nodes] for graph in (post_grad, *graphs)}
            calls += output_code.named_calls(mine, names, handles, parsed.kernels)
            collected.note(found.compile_id)
        post_grad = replace(post_grad, nodes=_with_from_node(post_grad.nodes, found, parsed))
        collected.graphs[post_grad.id] = post_grad
        links += _links(found, post_grad, collected.graphs)
        if parsed is not None:
            schedule = schedule_text.schedule(post_grad.id, parsed.returned, found.ir, found.fusion_log)
            schedule = replace(schedule, limits=collected.limits.get(found.compile_id, {}))
            schedules.append(schedule)
    # A log says which GPU the machine has, used or not
    device = "CPU" if collected.devices == {"cpu"} else collected.gpu
    return Recording(
        title=collected.where,
        environment=Environment(torch=collected.torch, device=device),
        graphs=tuple(collected.graphs.values()),
        calls=tuple(calls),
        links=tuple(links),
        sources=tuple(sources),
        schedules=tuple(schedules),
        compiles=tuple(collected.compiles.values()),
        problems=tuple(collected.problems),
    )


def _with_from_node(
    nodes: tuple[Node, ...], found: InductorGraph, parsed: output_code.OutputCode | None
) -> tuple[Node, ...]:
    """The nodes with the names that they came from, by torch's mapping, else by the comments above its kernels."""
    kernels = parsed.kernels.values() if parsed else ()
    earlier = {name: (source,) for kernel in kernels for name, source in kernel.from_node.items()}
    earlier |= {name: tuple(names) for name, names in (found.mappings.get("postToPre") or {}).items()}
    return tuple(replace(node, from_node=earlier.get(node.name, node.from_node)) for node in nodes)


def _links(found: InductorGraph, post_grad: Graph, graphs: dict[str, Graph]) -> list[Link]:
    """Pre-grad → post-grad links from torch's mapping, and AOT → post-grad ones by the names that passes keep."""
    pre, aot = f"{found.compile_id}:pre_grad", found.id
    here, before, same = (
        {node.name for node in graphs[graph].nodes} if graph in graphs else set[str]()
        for graph in (post_grad.id, pre, aot)
    )
    mapped = [
        Link(from_=(pre, source), to=(post_grad.id, target), relation="lowered_to", evidence="from_node")
        for source, targets in (found.mappings.get("preToPost") or {}).items()
        for target in targets
        if target in here and source in before
    ]
    return mapped + [
        Link(from_=(aot, name), to=(post_grad.id, name), relation="lowered_to", evidence="name")
        for name in sorted(here & same)
    ]
