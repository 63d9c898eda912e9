"""A Kineto file read in bounded pieces into a table, by the structure of its JSON; damage costs the damaged events alone.

Three layouts occur (one key a line, a two-line header, re-dumped JSON); all are one JSON object with `traceEvents`. Two
fast paths read whole stretches of the list, the native scanner and msgspec; what they do not take, and what is damaged,
is read here element by element, so that both give the same rows.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, cast

import msgspec

from fxscope.errors import TraceError
from fxscope.model import Problem
from fxscope.readers.trace.unpacked import Unpacked, open_trace
from fxscope.store import NOT_JSON, unmarked
from fxscope.text import num_bytes

try:
    from fxscope.readers.trace import _scan as native  # pyright: ignore[reportAttributeAccessIssue]
except ImportError:  # built where there is a compiler; the same columns come without it, slower
    native = None
if os.environ.get("FXSCOPE_NO_NATIVE") or getattr(native, "VERSION", None) != 3:  # another version was built once
    native = None

if TYPE_CHECKING:
    from fxscope.readers.trace.table import Table

CHUNK_BYTES = 2 << 20
LARGEST_BYTES = 16 << 20  # of one event and of one value of the header; what is larger is damage
HEADER_BYTES = 8 << 20  # of the header's values together, as text
MAX_BYTES = 16 << 30  # of a file, unpacked; a packed one that grows beyond both of these is not a trace but a bomb
MAX_PACKED_BYTES, MAX_RATIO = 128 << 20, 50
MAX_STRANGE = 10_000  # elements of the list that are not events, lists among them; a profiler writes none
LIST_ENDED, NOT_UNDERSTOOD = 1, 2  # what the native scanner says of the place where it stopped
WHOLE, CUT, BROKEN = range(3)  # of a value: it ends here; the data end inside it; it is not JSON from here on


def _named(name: str) -> Any:
    return msgspec.field(default=None, name=name)


class Args(msgspec.Struct):
    """The arguments of an event that fxscope reads; everything is optional and nothing is trusted to have its type."""

    external_id: Any = _named("External id")
    old_external_id: Any = _named("external id")
    correlation: Any = None
    stream: Any = None
    device: Any = None
    shapes: Any = _named("Input Dims")
    strides: Any = _named("Input Strides")
    dtypes: Any = _named("Input type")
    concrete: Any = _named("Concrete Inputs")
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


class Event(msgspec.Struct):
    """One event; times are microseconds as written, arguments the text of their JSON."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    id: Any = None
    args: msgspec.Raw = msgspec.Raw()


class _RawEvent(Event):
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()


_HEAD = re.compile(rb'"traceEvents"\s*:\s*\[')
_BARE_LIST = re.compile(rb'\s*\[\s*\{\s*"(ph|name|cat|pid|ts)"\s*:')
_BASE_TIME = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d{1,19})')
_PHASE = re.compile(rb'"ph"\s*:[^}]*')  # once an event: no other begins before a brace
_SPACE = re.compile(rb"[ \t\r\n]*")
_BETWEEN = re.compile(rb'\}[ \t\r\n]*,[ \t\r\n]*(?=\{[ \t\r\n]*")')


class Written(float):
    """A float that knows how it was written."""

    text: str

    def __new__(cls, text: str) -> Written:
        self = super().__new__(cls, text)
        self.text = text
        return self


def _whole_number(text: str) -> int | float:
    return int(text) if len(text) < 400 else float(text)  # Python refuses to convert the longest


_STRICT = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_LOOSE = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str, strict=False
)  # control characters in strings
_VALUE = json.JSONDecoder(parse_int=_whole_number, parse_float=Written, strict=False)
_PLAIN = json.JSONDecoder(parse_int=_whole_number, strict=False)
_ESCAPE = re.compile(
    r"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
_REPLACEMENT = "\\ufffd"


def decode_json(text: bytes, decoder: json.JSONDecoder = _VALUE) -> Any:
    """Decode all that `json.loads` takes, NaN and control characters too; what is no UTF-8 and half a surrogate read U+FFFD.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        return decoder.decode(
            _ESCAPE.sub(lambda found: _REPLACEMENT if found[2] else found[0], text.decode("utf-8", errors="replace"))
        )
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
            return msgspec.convert(value, Args) if isinstance(value, dict) else None
        except (ValueError, RecursionError):
            return None


_ARGS = msgspec.json.Decoder(Args)


def extent(data: bytes, at: int, *, loose: bool = False) -> tuple[int, int]:
    """Return whether the JSON value at a place is whole, cut off or broken, and where it ends, or is broken."""
    if native is not None and not loose:
        position, status = native.skip(data, at)
        if status != NOT_UNDERSTOOD:
            return (WHOLE, position) if status else (CUT, len(data))
    decoder = _LOOSE if loose else _STRICT
    size = 1 << 12
    while True:
        text = data[at : at + size].decode("latin-1")  # a character a byte: only its end is looked for
        try:
            end = decoder.raw_decode(text)[1]
            cut = end == len(text) and text[-1:] not in ("}", "]", '"')  # a number might go on
            status = CUT if cut else WHOLE
        except RecursionError:
            return BROKEN, at + len(text)
        except json.JSONDecodeError as error:
            end = error.pos
            cut = error.msg.startswith("Unterminated string") or end > len(text) - 12
            status = CUT if cut else BROKEN
        if status != CUT or at + size >= len(data):
            return status, at + end
        size *= 8


class Window:
    """The part of a file that is looked at: `data` from `at` on; `base` is where `data` begins in the unpacked file."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.data: bytes = b""
        self.at: int = 0
        self.base: int = 0
        self.ended: bool = False
        self._read = read

    def more(self) -> bool:
        """Read on, and forget what lies before `at`; as much again as there is unread, so that the work stays linear."""
        unread = self.data[self.at :]
        data = b"" if self.ended else self._read(max(CHUNK_BYTES, len(unread)))
        self.base += self.at
        self.data, self.at, self.ended = unread + data, 0, not data
        return not self.ended

    def peek(self) -> bytes:
        """Go to what follows white space, and return that byte, none at the end of the file."""
        while True:
            self.at = _SPACE.match(self.data, self.at).end()  # type: ignore[union-attr] - it may be empty
            if self.at < len(self.data) or not self.more():
                return self.data[self.at : self.at + 1]

    def value(self, *, loose: bool = False) -> tuple[int, int]:
        """The extent of the value at `at`, reading on as far as it needs; what is too large is broken."""
        while True:
            status, position = extent(self.data, self.at, loose=loose)
            if status != CUT:
                return status, position
            if len(self.data) - self.at > LARGEST_BYTES or not self.more():
                return BROKEN, max(self.at + 1, min(position, len(self.data)))


class _Broken(Exception):
    """Text that is not JSON."""


class Reader:
    """Reads one file; afterwards `header`, `problems` and `lost` say what else was there."""

    def __init__(
        self, path: Path, *, strict: bool, max_bytes: int | None = None, progress: Callable[[int], None] | None = None
    ) -> None:
        self.path = path
        self.strict = strict
        self.max_bytes = max_bytes
        self.progress = progress
        self.header: dict[str, Any] = {}
        self.problems: list[Problem] = []
        self.lost: int = 0
        self.incomplete: bool = False  # some events are not there
        self._damaged = False  # where no event was lost
        self._spent = 0
        self._stretch = 1
        self._strange = 0
        self._read = 0
        self._header_bytes = 0
        self._gzip_damaged = False
        self._one = msgspec.json.Decoder(_RawEvent)
        self._many = msgspec.json.Decoder(list[_RawEvent])

    def fill(self, table: Table) -> None:
        """Read every event into a table, by the native scanner where it was built, else by msgspec.

        Raises:
            FxscopeError: no such file, not a trace, larger than `max_bytes`; with `strict`, any damage.
        """
        with open_trace(self.path) as file:
            self._document(Window(lambda size: self._more(file, size)), table)
        if self.lost:
            self._damage(f"{self.lost} events could not be read; every whole event around them was")
        if self._damaged:
            self._damage("some text between events, or in their names, is damaged: no event was lost there", lost=False)

    def _document(self, window: Window, table: Table) -> None:
        """Read the one object of the file: its values into the header, the elements of `traceEvents` into the table."""
        window.more()
        head = window.data[:4096]
        begin = unmarked(head, self.path)
        window.at = len(head) - len(begin)
        num_lists = 0
        if _BARE_LIST.match(begin):  # of the first Kineto; Chrome's format allows it
            window.at = window.data.index(b"[") + 1
            if not self._list(window, table):
                self._damage("the file is cut off: its list of events has no end")
            self._nothing_follows(window)
            return
        if window.peek() != b"{":
            raise TraceError(_not_a_trace(self.path, begin))
        window.at += 1
        while True:
            try:
                if not self._next_list(window, first=not num_lists):
                    break
                num_lists += 1
            except _Broken:
                if num_lists:
                    self._damage("what follows the list of events is damaged or cut off", lost=False)
                    if not self._resynchronise(window, in_list=False):
                        return
                else:
                    self._find_list(window, begin)
                    num_lists = 1
            if not self._list(window, table):
                self._damage("the file is cut off: its list of events has no end")
                return
        if not num_lists:
            raise TraceError(_not_a_trace(self.path, begin))
        if num_lists > 1:
            self._damage(f"traceEvents occurs {num_lists} times: the events of all were read", lost=False)
        self._nothing_follows(window)

    def _next_list(self, window: Window, *, first: bool) -> bool:
        """Read keys and values of the document up to a list of events; False where the document ends before one."""
        while (char := window.peek()) != b"}":
            if not first:
                if char != b",":
                    raise _Broken
                window.at += 1
            first = False
            if window.peek() != b'"':
                raise _Broken
            key = self._value(window)
            if window.peek() != b":":
                raise _Broken
            window.at += 1
            if window.peek() == b"[" and key == "traceEvents":
                window.at += 1
                return True
            value = self._value(window)
            if key != "traceEvents":
                self.header[key] = value
        window.at += 1
        if window.peek() not in (b"", b"{"):
            raise _Broken  # a brace too many, perhaps: no document begins like this
        return False

    def _value(self, window: Window) -> Any:
        """Read a value of the header; `None` for what is beyond its size."""
        if not window.peek():
            raise _Broken
        status, end = window.value()
        if status != WHOLE:
            raise _Broken
        text = window.data[window.at : end]
        window.at = end
        self._header_bytes += len(text)
        try:
            return decode_json(text, _PLAIN) if self._header_bytes <= HEADER_BYTES else None
        except ValueError:
            return None

    def _find_list(self, window: Window, begin: bytes) -> None:
        """Go to the list of events although what stands before it is damaged."""
        while (head := _HEAD.search(window.data, window.at)) is None:
            if len(window.data) - window.at > LARGEST_BYTES or not window.more():
                raise TraceError(_not_a_trace(self.path, begin))
        base = _BASE_TIME.search(window.data, window.at, head.start())
        if base is not None:
            self.header.setdefault("baseTimeNanoseconds", int(base[1]))
        window.at = head.end()
        self._damage("what stands before the list of events is damaged", lost=False)

    def _nothing_follows(self, window: Window) -> None:
        """Say what stands behind the end of the document."""
        size = num_events = 0
        while window.peek():
            rest = window.data[window.at :]
            size += len(rest.rstrip())
            num_events += len(_PHASE.findall(rest))
            window.at = len(window.data)
        if size:
            self._damage(
                f"{size} bytes follow the end of the document and were not read"
                + (f"; they look like {num_events} more events" if num_events else "")
            )

    def _list(self, window: Window, table: Table) -> bool:
        """Read a list of events up to its end, fast where it can be; False where the file ends before."""
        depth, after, until = 1, False, 0
        while char := window.peek():
            if window.base + window.at >= until:
                after, slow_until = self._fast(window, table, after=after)
                until = slow_until or until
            elif char == b"]":
                window.at += 1
                depth -= 1
                if not depth:
                    return True
                after = True
            elif after and char == b",":
                window.at += 1
                after = False
            elif not after and char == b"[":
                window.at += 1
                depth += 1
                self._count_strange()
            elif not after and self._element(window, table):
                after = True
            elif self._resynchronise(window, in_list=True):
                depth, after = 1, False  # a bracket that opened a list within was damage, too
            else:
                return False
        return False

    def _fast(self, window: Window, table: Table, *, after: bool) -> tuple[bool, int]:
        """Read a stretch of whole events.

        Returns:
            Whether an element ended where the stretch did, and up to which place of the file to go on element by
            element; 0 where the next stretch can be read like this one.
        """
        if native is None:
            if after:
                return after, window.base + window.at + 1
            return after, self._decode_stretch(window, table)
        before = window.base + window.at
        position, status, ended, rows, strings, threads = native.scan(window.data, window.at, after)
        table.add_scanned((rows, strings, threads), window.data, native.gather)
        window.at = position
        if not status and len(window.data) - position <= LARGEST_BYTES and window.more():
            return bool(ended), 0
        # The next stop may be near: go on further each time, and fall back where it was not.
        place = window.base + window.at
        self._stretch = min(self._stretch * 2, CHUNK_BYTES) if place - before < self._stretch else 1
        return bool(ended), place + self._stretch

    def _decode_stretch(self, window: Window, table: Table) -> int:
        """Decode events up to the last place that looks like one between events.

        Where the text up to there is a list, it is truly between events: no look at the structure is needed.
        """
        while len(window.data) - window.at < CHUNK_BYTES and window.more():
            pass
        cuts = list(_BETWEEN.finditer(window.data, max(window.at, len(window.data) - (1 << 20))))
        for cut in cuts[-1:-3:-1]:
            text = b"[" + window.data[window.at : cut.start() + 1] + b"]"
            try:
                text.decode()  # msgspec does not look into the strings that it skips
                events = self._many.decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            table.add_events(events)
            window.at = cut.end()
            return 0
        return window.base + (cuts[-1].end() if cuts else len(window.data))

    def _element(self, window: Window, table: Table) -> bool:
        """Read one element of the list; false where it is broken."""
        is_object = window.data[window.at : window.at + 1] == b"{"
        status, end = window.value()
        if status != WHOLE and is_object:
            status, end = window.value(loose=True)
            if not _PHASE.search(window.data, window.at, end):
                return False
        if status != WHOLE:
            return False
        if is_object:
            table.add_events([self._event(window.data[window.at : end])])
        else:
            self._count_strange()
        window.at = end
        return True

    def _count_strange(self) -> None:
        self._strange += 1
        if self._strange > MAX_STRANGE:
            message = f"its traceEvents hold {MAX_STRANGE:,} elements that are not events"
            raise TraceError(f"{self.path} is not a trace: {message}.")

    def _event(self, text: bytes) -> Event:
        self._damaged |= extent(text, 0)[0] != WHOLE or text.decode(errors="ignore").encode() != text
        event = self._decoded(text)
        self.lost += event is None
        return event or Event()

    def _decoded(self, text: bytes) -> Event | None:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text.decode()  # msgspec does not look into the strings that it skips
            return self._one.decode(text)
        with contextlib.suppress(ValueError, RecursionError):
            value = decode_json(text)
            keys = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "id")
            return Event(*(value.get(key) for key in keys), args=msgspec.Raw(json.dumps(value.get("args")).encode()))
        return None

    def _resynchronise(self, window: Window, *, in_list: bool) -> bool:
        """Go from a damaged place to the next event that is whole, counting those between; false where there is none.

        An event is an object with the key `ph`. Every object from here on is tried; the work is bounded.
        """
        num_phases, colons = 0, False
        failed_at = num_failed = 0

        def go_to(position: int) -> None:
            nonlocal num_phases, colons
            skipped = window.data[window.at : position]
            num_phases += len(_PHASE.findall(skipped))
            colons |= b":" in skipped
            window.at = position

        found = False
        while not found:
            brace = window.data.find(b"{", window.at)
            if brace < 0:
                go_to(max(window.at, len(window.data) - 16))  # a key may be cut in two
                if window.more():
                    continue
                go_to(len(window.data))
                break
            go_to(brace)
            status, end = window.value()
            self._spent += end - window.at + 256
            if self._spent > 4 * LARGEST_BYTES + 16 * self._read:
                raise TraceError(f"{self.path} is damaged in too many places to be read. Export the trace again.")
            if status == WHOLE and not _PHASE.search(window.data, window.at, end):
                go_to(end)
            elif status == WHOLE:
                event = self._decoded(window.data[window.at : end])
                found = event is not None and event.ph is not None
                if not found:
                    go_to(window.at + 1)
            else:
                # Objects around one broken place are all broken there: a few of them may hold an event.
                num_failed = num_failed + 1 if window.base + end == failed_at else 1
                failed_at = window.base + end
                go_to(max(end, window.at + 1) if num_failed > 4 else window.at + 1)
        foot = not found and window.data.rstrip().endswith(b"}")  # rather the end of the document than an event
        lost = num_phases or int(colons and in_list and not foot)
        self.lost += lost
        self._damaged |= in_list and not lost
        return found

    def _more(self, file: IO[bytes] | Unpacked, size: int) -> bytes:
        data = file.read(size)
        if isinstance(file, Unpacked) and file.damage and not self._gzip_damaged:
            self._gzip_damaged = True
            self._damage(f"the {file.kind} stream {file.damage}; what came before was read")
        self._read += len(data)
        limit = self.max_bytes or MAX_BYTES
        if limit == MAX_BYTES and isinstance(file, Unpacked):
            limit = max(MAX_PACKED_BYTES, MAX_RATIO * self.path.stat().st_size)
        if self._read > limit:
            raise TraceError(
                f"{self.path} unpacks to more than {num_bytes(limit)}. Raise --max-size if you trust it, "
                "or profile fewer steps."
            )
        if self.progress is not None:
            self.progress(self._read)
        return data

    def _damage(self, message: str, *, lost: bool = True) -> None:
        self.incomplete |= lost
        if self.strict:
            raise TraceError(f"{self.path}: {message}. Leave --strict out to read what is whole.")
        self.problems.append(Problem(where=self.path.name, message=message, remedy="Export the trace again."))


class _Mender(Reader):
    """Reads a file's events as they are written, one by one."""

    def _fast(self, window: Window, table: Any, *, after: bool) -> tuple[bool, int]:
        return after, sys.maxsize

    def _event(self, text: bytes) -> Any:
        try:
            return decode_json(text, _PLAIN)
        except ValueError:
            self.lost += 1
            return {}


class EventHead(msgspec.Struct):
    """Facts of an event that say whether it is wanted; times are microseconds after the trace's base time."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None


def document(path: Path, is_wanted: Callable[[EventHead, int], bool] | None = None) -> tuple[Any, list[Problem]]:
    """Return a trace as JSON (the undamaged events of a damaged one) and the problems to report.

    With `is_wanted`, which is given an event and the trace's base time in ns, the other events are not decoded: a long
    session holds millions of Python calls.

    Raises:
        TraceError: the file is not a trace.
    """
    limit = max(MAX_PACKED_BYTES, MAX_RATIO * path.stat().st_size)
    data = bytearray()
    with open_trace(path) as file:
        while piece := file.read(CHUNK_BYTES):  # to ask for all at once takes the memory of the limit
            data += piece
            if len(data) > limit:
                raise TraceError(f"{path} unpacks to more than {num_bytes(limit)}: it is not a trace.")
    try:
        text = unmarked(bytes(data), path)
        return (msgspec.json.decode(text) if is_wanted is None else _selected(text, is_wanted)), []
    except NOT_JSON:  # Kineto writes names as they are, quotes and all
        reader = _Mender(path, strict=False)
        events: list[Any] = []
        reader.fill(cast("Table", SimpleNamespace(add_events=events.extend)))
        if is_wanted is not None:
            base = reader.header.get("baseTimeNanoseconds", 0)
            events = [event for event in events if is_wanted(msgspec.convert(event, EventHead), base)]
        return {**reader.header, "traceEvents": events}, reader.problems


def _selected(text: bytes, is_wanted: Callable[[EventHead, int], bool]) -> dict[str, Any]:
    parts = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    events = msgspec.json.decode(parts.pop("traceEvents", b"[]"), type=list[msgspec.Raw])
    found: dict[str, Any] = {key: msgspec.json.decode(part) for key, part in parts.items()}
    base, head = found.get("baseTimeNanoseconds", 0), msgspec.json.Decoder(EventHead)
    found["traceEvents"] = [msgspec.json.decode(event) for event in events if is_wanted(head.decode(event), base)]
    return found


def _not_a_trace(path: Path, head: bytes) -> str:
    if not head and path.stat().st_size:
        return f"{path} is truncated or damaged: nothing of it could be unpacked. Copy it again."
    if not head.strip():
        return f"{path} is empty. Export the profile again (`profiler.export_chrome_trace`)."
    if head.lstrip()[:1] not in (b"{", b"["):
        with contextlib.suppress(*NOT_JSON):
            msgspec.json.decode(head)
            return f"{path} is JSON of {head.strip()[:20].decode()} alone: it is not a profiler trace."
        return f"{path} is not JSON. fxscope reads what `profiler.export_chrome_trace` writes (.json or .json.gz)."
    if b'"fxscope/' in head[:4096]:
        return f"{path} is a recording, not a trace: use `fxscope view {path}`."
    if b'"rocprofiler-sdk-tool"' in head[:4096]:
        return (
            f"{path} is rocprofv3's own JSON, not a trace of PyTorch. Export one with `profiler.export_chrome_trace`."
        )
    return f"{path} has no traceEvents: it is not a profiler trace. fxscope reads what `profiler.export_chrome_trace` writes."
