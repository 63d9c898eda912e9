"""A Kineto file read in bounded pieces into a table; damage costs the damaged events alone.

The file is one JSON object with a list `traceEvents`, or such a list alone. The native scanner, else msgspec, reads whole
stretches of the list. What they do not take is read event by event; from what is no event on, the next one is searched.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from fxscope.data import read_table
from fxscope.errors import TraceError
from fxscope.model import Problem
from fxscope.readers.trace.unpacked import Unpacked, open_trace
from fxscope.store import NOT_JSON, unmarked
from fxscope.text import counted, listed, num_bytes

try:
    from fxscope.readers.trace import _scan as native  # pyright: ignore[reportAttributeAccessIssue]
except ImportError:  # built where there is a compiler; the same columns come without it, slower
    native = None
if os.environ.get("FXSCOPE_NO_NATIVE") or getattr(native, "VERSION", None) != 4:  # another version was built once
    native = None

if TYPE_CHECKING:
    from fxscope.readers.trace.table import Table

T = TypeVar("T")
CHUNK_BYTES = 2 << 20
HEAD_BYTES = 64 << 10  # what says of which tool a file is
EVENT_BYTES = 4 << 20  # what is larger is no event
HEADER_BYTES = 16 << 20  # of what stands before the list of events, and of what follows it
MAX_BYTES = 16 << 30  # of a file, unpacked; a packed one that grows beyond both of these is not a trace but a bomb
MAX_PACKED_BYTES, MAX_RATIO = 128 << 20, 50
LONG_TEXT = 4096  # characters of arguments that are not kept
MAX_BROKEN = 10_000  # objects that are not JSON: a file may have so many, and more the larger it is


def _named(name: str) -> Any:
    return msgspec.field(default=None, name=name)


def _as_text(name: str) -> Any:
    return msgspec.field(default=msgspec.Raw(b"null"), name=name)


class Args(msgspec.Struct):
    """The arguments of an event that fxscope reads, all optional and of any type; `made_of` decodes what many repeat."""

    external_id: Any = _named("External id")
    old_external_id: Any = _named("external id")
    correlation: Any = None
    stream: Any = None
    device: Any = None
    shapes: msgspec.Raw = _as_text("Input Dims")
    strides: msgspec.Raw = _as_text("Input Strides")
    dtypes: msgspec.Raw = _as_text("Input type")
    concrete: msgspec.Raw = _as_text("Concrete Inputs")
    sequence_number: Any = _named("Sequence number")
    registers: Any = _named("registers per thread")
    shared_bytes: Any = _named("shared memory")
    occupancy: Any = _named("est. achieved occupancy %")
    grid: Any = None
    block: Any = None
    bytes: Any = None
    kernel_backend: Any = None
    kernel_file: Any = None
    kernel_kwargs: Any = None
    kernel_hash: Any = None
    num_warps: Any = None
    num_stages: Any = None
    collective: Any = _named("Collective name")
    graph_id: Any = _named("graph id")
    graph_node: Any = _named("graph node id")
    kernel: Any = None
    device_type: Any = _named("Device Type")
    allocated: Any = _named("Bytes")
    total_allocated: Any = _named("Total Allocated")


class Event(msgspec.Struct):
    """One event; times are microseconds, arguments the text of their JSON."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    args: msgspec.Raw = msgspec.Raw()


class _RawEvent(Event):
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()


# The first Kineto wrote a list alone.
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[|\A\s*\[(?=\s*\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id)"\s*:)')
_BASE_TIME = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d{1,19})')
_PHASE = re.compile(rb'"ph"\s*:[^}]*')  # once an event: no other begins before a brace
_BEFORE_EVENT = (re.compile(rb"\s*(?=\{)"), re.compile(rb"\s*,\s*(?=\{)"))  # the first one, another one
SPACE = b" \t\r\n"
_LIST_END = re.compile(rb"\s*\]")
_BETWEEN = re.compile(rb'\}(?=[ \t\r\n]*,[ \t\r\n]*\{[ \t\r\n]*")')


def _whole_number(text: str) -> int | float:
    return int(text) if len(text) < 400 else float(text)  # Python refuses to convert the longest


_EXTENT = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)
_PLAIN = json.JSONDecoder(parse_int=_whole_number, strict=False)  # control characters in strings, too
_EXACT = json.JSONDecoder(parse_int=_whole_number, parse_float=Decimal, strict=False)
_ESCAPE = re.compile(
    r"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)


def decode_json(text: bytes, decoder: json.JSONDecoder = _PLAIN) -> Any:
    """Decode all that `json.loads` takes, NaN and control characters too; what is no UTF-8 and half a surrogate read U+FFFD.

    Raises ValueError for what is not JSON, or nested too deeply.
    """
    said = text.decode("utf-8", errors="replace")
    try:
        return decoder.decode(_ESCAPE.sub(lambda found: "\\ufffd" if found[2] else found[0], said))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def decode_args(text: bytes) -> Args | None:
    """Decode the arguments of an event from their JSON, `None` where they are no object."""
    try:
        text.decode()  # msgspec does not look into the strings that it skips
        return _ARGS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            value = decode_json(text)
        except (ValueError, RecursionError):
            return None
        fields = {field.encode_name: field.name for field in msgspec.structs.fields(Args)}
        return Args(**{fields[key]: value[key] for key in value if key in fields}) if isinstance(value, dict) else None


_ARGS = msgspec.json.Decoder(Args)


def made_of(part: Any, make: Callable[[Any], T]) -> T:
    """Return what a function makes of a value of arguments, made once for equal text."""
    if type(part) is not msgspec.Raw:
        return make(part)
    text = bytes(part)
    return (_made_of if len(text) < LONG_TEXT else _made_of.__wrapped__)(text, make)


@lru_cache(maxsize=4096)
def _made_of(text: bytes, make: Callable[[Any], Any]) -> Any:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:  # what is skipped over may hold half a surrogate
        value = decode_json(text)
    return make(value)


def event_of(value: dict[str, Any], **fields: Any) -> Event:
    said = {key: value.get(key) for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur")}
    return Event(**said | fields, args=msgspec.Raw(json.dumps(value.get("args")).encode()))


def object_end(data: bytes, at: int) -> int:
    """Return where the JSON object at a place ends, -1 where it is broken or cut off. Strings may hold any character."""
    size = 1 << 12
    while True:
        text = data[at : at + size].decode("latin-1")  # a character a byte: only its end is looked for
        try:
            return at + _EXTENT.raw_decode(text)[1]
        except RecursionError:
            return -1
        except json.JSONDecodeError as error:
            is_open = error.msg.startswith("Unterminated string") or error.pos > len(text) - 12
            if not is_open or at + size >= len(data) or size > EVENT_BYTES:
                return -1
        size *= 8


class Reader:
    """Reads one file; afterwards `header` and `problems` say what else was there."""

    def __init__(self, path: Path, max_bytes: int | None = None) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.header: dict[str, Any] = {}
        self.problems: list[Problem] = []
        self.incomplete: bool = False  # some events are not there
        self.lost: int = 0
        self._damaged = False  # where no event was lost
        self._data = b""  # the part of the file that is looked at, from `_at` on
        self._at = 0
        self._base = 0  # where it begins in the unpacked file
        self._read = 0
        self._after = False  # whether an event ended where `_at` is
        self._stretch = 1
        self._num_broken = 0
        self._is_truncated = False
        self._one = msgspec.json.Decoder(_RawEvent)
        self._many = msgspec.json.Decoder(list[_RawEvent])

    def fill(self, table: Table) -> None:
        """Read every event into a table, by the native scanner where it was built, else by msgspec.

        Raises FxscopeError for a file that is not a trace or larger than `max_bytes`.
        """
        with open_trace(self.path) as self._file:
            self._more()
            self._data = unmarked(self._data, self.path)
            while (found := _LIST.search(self._data)) is None:
                if len(self._data) > HEADER_BYTES or not self._more():
                    raise TraceError(refusal(self.path, self._data[: 0 if self.problems else HEAD_BYTES]))
            head, self._at = self._data[: found.end()], found.end()
            foot = self._events(table)
        if foot is None:
            self._damage("the file is cut off, or damaged at the end of its list of events")
            foot = b"]}" if head.lstrip().startswith(b"{") else b"]"
        elif _LIST.search(foot):
            self._damage("the file holds several traces, one after the other: the first was read")
            foot = foot[: object_end(head + foot, head.find(b"{")) - len(head)]
        try:
            header = decode_json(head + foot)
            self.header = header if isinstance(header, dict) else {}
        except ValueError:
            self._damage("what precedes or follows the list of events is damaged", lost=False)
            if base_time := _BASE_TIME.search(head):
                self.header = {"baseTimeNanoseconds": int(base_time[1])}
        if self.lost:
            self._damage(f"{counted(self.lost, 'event')} could not be read; every whole event around was")
        if self._damaged:
            self._damage("some text between events, or in their names, is damaged: no event was lost there", lost=False)

    def _events(self, table: Table) -> bytes | None:
        """Read the list of events, and return its end with what follows; `None` where the file ends before."""
        while True:
            is_end, size = self._fast(table)
            if is_end:
                while len(self._data) - self._at <= HEADER_BYTES and self._more():
                    pass
                foot = self._data[self._at :]
                if not _PHASE.search(foot) or _LIST.search(foot):
                    return foot
            until = self._base + self._at + size
            while self._next(table, may_be_event=not is_end):
                if self._base + self._at >= until or _LIST_END.match(self._data, self._at):
                    break
            else:
                return None

    def _fast(self, table: Table) -> tuple[bool, int]:
        """Read whole events; return whether the list ends there, and how many bytes to read one by one before the next try."""
        if native is None:
            return self._decode_stretch(table)
        before = self._base + self._at
        while True:
            position, status, ended, rows, strings, threads = native.scan(self._data, self._at, self._after)
            table.add_scanned((rows, strings, threads), self._data, native.gather)
            self._at, self._after = position, bool(ended)
            if status or len(self._data) - position > EVENT_BYTES or not self._more():
                break
        # The next stop may be near: go on further each time
        is_near = self._base + self._at - before < self._stretch
        self._stretch = min(2 * self._stretch, CHUNK_BYTES) if is_near else 1
        return _LIST_END.match(self._data, self._at) is not None, self._stretch

    def _decode_stretch(self, table: Table) -> tuple[bool, int]:
        """Decode the events up to the last place that looks like one between events: it is one where all is a list."""
        while len(self._data) - self._at < CHUNK_BYTES and self._more():
            pass
        data, at = self._data, self._at
        begin = _BEFORE_EVENT[self._after].match(data, at)
        if begin is None:
            return _LIST_END.match(data, at) is not None, 0
        cuts = list(_BETWEEN.finditer(data, max(begin.end(), len(data) - (1 << 20))))
        if not cuts:
            return False, 0
        end = cuts[-1].end()
        text = b"[" + data[begin.end() : end] + b"]"
        try:
            text.decode()  # msgspec does not look into the strings that it skips
            table.add_events(self._many.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False, end - at
        self._at, self._after = end, True
        return False, 0

    def _next(self, table: Table, *, may_be_event: bool) -> bool:
        """Read the next whole event; false where none is left. What stands before it is damaged, an event or other text."""
        between, num_phases, has_colon = b"", 0, False

        def skip_to(position: int) -> None:
            nonlocal between, num_phases, has_colon
            skipped = self._data[self._at : position]
            between = (between + skipped)[:80]
            num_phases += len(_PHASE.findall(skipped))
            has_colon |= b":" in skipped
            self._at = position

        event, begins = None, b"," if self._after else b""
        while event is None:
            brace = self._data.find(b"{", self._at)
            if brace < 0:
                skip_to(max(self._at, len(self._data) - 16))  # a key may be cut in two
                if self._more():
                    continue
                skip_to(len(self._data))
                break
            skip_to(brace)
            while len(self._data) - self._at < EVENT_BYTES and self._more():
                pass
            end = object_end(self._data, self._at)
            if end < 0:
                self._num_broken += 1
                if self._num_broken > MAX_BROKEN + self._read // 200:
                    raise TraceError(f"{self.path} is damaged in too many places to be read. Export the trace again.")
                skip_to(self._at + 1)
                continue
            found = self._decoded(self._data[self._at : end])
            phase = found.get("ph") if isinstance(found, dict) else found and found.ph
            if found is not None and (between.strip(SPACE) == begins or phase is not None):
                event, self._at = found, end
            else:  # an event may be in it
                skip_to(self._at + 1 if _PHASE.search(self._data, self._at, end) else end)
        if between.strip(SPACE) not in ((b"", b",") if event is None else (begins,)):
            is_foot = event is None and self._data.rstrip().endswith(b"}")  # the end of the document, not of an event
            num_lost = num_phases or int(has_colon and may_be_event and not is_foot)
            self.lost += num_lost
            self._damaged |= not num_lost
        if event is None:
            return False
        table.add_events([event])
        self._after = True
        return True

    def _decoded(self, text: bytes) -> Any:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text.decode()  # msgspec does not look into the strings that it skips
            return self._one.decode(text)
        try:
            value, exact = decode_json(text), decode_json(text, _EXACT)
        except ValueError:
            return None
        try:
            json.loads(text, parse_int=float)
        except ValueError:  # a control character, or what is no UTF-8
            self._damaged = True
        return event_of(value, ts=exact.get("ts"), dur=exact.get("dur"))

    def _more(self) -> bool:
        """Read on, and forget what lies before `_at`; as much again as is unread, so that the work stays linear."""
        unread = self._data[self._at :]
        data = self._file.read(max(CHUNK_BYTES, len(unread)))
        self._base += self._at
        self._data, self._at = unread + data, 0
        self._read += len(data)
        limit = self.max_bytes or MAX_BYTES
        if isinstance(self._file, Unpacked):
            if self._file.damage and not self._is_truncated:
                self._is_truncated = True
                self._damage(f"the {self._file.kind} stream {self._file.damage}; what came before was read")
            if self.max_bytes is None:
                limit = max(MAX_PACKED_BYTES, MAX_RATIO * self.path.stat().st_size)
        if self._read > limit:
            raise TraceError(f"{self.path} unpacks to more than {num_bytes(limit)}. Raise --max-size if you trust it.")
        return bool(data)

    def _damage(self, message: str, *, lost: bool = True) -> None:
        self.incomplete |= lost
        self.problems.append(Problem(where=self.path.name, message=message, remedy="Export the trace again."))


class _Mender(Reader):
    """Reads a file's events as they are written, one by one."""

    def _fast(self, table: Any) -> tuple[bool, int]:
        return _LIST_END.match(self._data, self._at) is not None, 0

    def _decoded(self, text: bytes) -> Any:
        with contextlib.suppress(ValueError):
            return decode_json(text)
        return None


def document(path: Path, is_wanted: Callable[[Event, int], bool]) -> tuple[Any, list[Problem]]:
    """Return a trace as JSON (the undamaged events of a damaged one) and the problems to report.

    `is_wanted` is given an event and the trace's base time in ns. Events that are not wanted are not decoded: a long session
    holds millions of Python calls. Raises TraceError for what is not a trace.
    """
    limit = max(MAX_PACKED_BYTES, MAX_RATIO * path.stat().st_size)
    data = bytearray()
    with open_trace(path) as file:
        while piece := file.read(CHUNK_BYTES):  # to ask for all at once takes the memory of the limit
            data += piece
            if len(data) > limit:
                raise TraceError(f"{path} unpacks to more than {num_bytes(limit)}: it is not a trace.")
    try:
        return _selected(unmarked(bytes(data), path), is_wanted), []
    except NOT_JSON:  # Kineto writes names as they are, quotes and all
        reader = _Mender(path)
        events: list[Any] = []
        reader.fill(cast("Table", SimpleNamespace(add_events=events.extend)))
        base = reader.header.get("baseTimeNanoseconds", 0)
        wanted = [event for event in events if is_wanted(event_of(event), base)]
        return {**reader.header, "traceEvents": wanted}, reader.problems


def _selected(text: bytes, is_wanted: Callable[[Event, int], bool]) -> dict[str, Any]:
    parts = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    events = msgspec.json.decode(parts.pop("traceEvents", b"[]"), type=list[msgspec.Raw])
    found: dict[str, Any] = {key: msgspec.json.decode(part) for key, part in parts.items()}
    base, head = found.get("baseTimeNanoseconds", 0), msgspec.json.Decoder(Event)
    found["traceEvents"] = [msgspec.json.decode(event) for event in events if is_wanted(head.decode(event), base)]
    return found


def refusal(path: Path, head: bytes, header: dict[str, Any] | None = None) -> str:
    """Say why nothing of a file can be read, by its name and beginning, and what to do; `header`: of one without events."""
    if not head and path.stat().st_size:
        return f"{path} is truncated or damaged: no event of it can be read. Copy it again."
    text = path.name.encode(errors="replace") + b"\n" + head.removeprefix(b"\xef\xbb\xbf")
    text += b'"schemaVersion"' if header and "schemaVersion" in header else b""  # it may be at the end of the file
    for pattern, words in read_table("foreign_files.json").items():
        if re.search(pattern.encode("latin-1"), text):
            return f"{path} {words}"
    if header is None:
        words = "has no traceEvents: it is not a profiler trace"
    elif "schemaVersion" in header or not (names := re.findall(rb'"name"\s*:\s*"([^"\\]{1,60})"', head)):
        return f"{path} holds no events of torch.profiler. Was it active (schedule, `prof.step()`)?"
    else:
        shown = listed([name.decode(errors="replace") for name in dict.fromkeys(names)], 3)
        words = f"is a trace of another tool (events: {shown})"
    return f"{path} {words}. fxscope reads what `profiler.export_chrome_trace` writes."
