"""A Kineto file read in bounded chunks into a table; what is damaged is counted, the rest is recovered.

Three layouts occur (one key a line, a two-line header, re-dumped JSON); all are one JSON object with `traceEvents`.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from decimal import Decimal  # noqa: TC003 - msgspec resolves it at run time
from typing import IO, TYPE_CHECKING, Any

import msgspec

from fxscope.errors import TraceError
from fxscope.model import Problem
from fxscope.text import num_bytes

try:
    from fxscope.readers.trace import _scan as native
except ImportError:  # built where there is a compiler; the same columns come without it, slower
    native = None
if os.environ.get("FXSCOPE_NO_NATIVE"):
    native = None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fxscope.readers.trace.table import Table

CHUNK_BYTES = 2 << 20
LARGEST_BYTES = 128 << 20  # of a header or of one event; what is larger is damage
MAX_BYTES = 16 << 30
LIST_ENDED, NOT_UNDERSTOOD = 1, 2  # what the native scanner says of the place where it stopped
# An int64 of nanoseconds as float microseconds is exact below this; absolute time stamps of some files are above it.
EXACT_BELOW_US = 4e12


class Args(
    msgspec.Struct,
    rename={
        "external_id": "External id",
        "shapes": "Input Dims",
        "strides": "Input Strides",
        "dtypes": "Input type",
        "concrete": "Concrete Inputs",
        "sequence_number": "Sequence number",
        "registers": "registers per thread",
        "shared_bytes": "shared memory",
        "occupancy": "est. achieved occupancy %",
        "python_id": "Python id",
        "python_parent": "Python parent id",
        "python_module": "Python module id",
        "old_external_id": "external id",
        "forward_thread": "Fwd thread id",
        "collective": "Collective name",
        "group_name": "Process Group Name",
        "group_description": "Process Group Description",
        "group_ranks": "Process Group Ranks",
        "group_size": "Group size",
        "in_elements": "In msg nelems",
        "sequence": "Seq",
    },
):
    """The arguments of an event that fxscope reads; everything is optional and nothing is trusted to have its type."""

    external_id: Any = None
    old_external_id: Any = None
    correlation: Any = None
    stream: Any = None
    device: Any = None
    shapes: Any = None
    strides: Any = None
    dtypes: Any = None
    concrete: Any = None
    sequence_number: Any = None
    registers: Any = None
    shared_bytes: Any = None
    occupancy: Any = None
    grid: Any = None
    block: Any = None
    bytes: Any = None
    python_id: Any = None
    python_parent: Any = None
    python_module: Any = None
    forward_thread: Any = None
    kernel_backend: Any = None
    kernel_file: Any = None
    kernel_kwargs: Any = None
    kernel_hash: Any = None
    num_warps: Any = None
    num_stages: Any = None
    name: Any = None
    collective: Any = None
    group_name: Any = None
    group_description: Any = None
    group_ranks: Any = None
    group_size: Any = None
    in_elements: Any = None
    sequence: Any = None


class Event(msgspec.Struct):
    """One event; times in microseconds, as written."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: float | None = None
    dur: float | None = None
    id: Any = None
    args: Args | None = None


class ExactEvent(msgspec.Struct):
    """The same with decimal times, for files whose time stamps a float cannot hold to the nanosecond."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Decimal | None = None
    dur: Decimal | None = None
    id: Any = None
    args: Args | None = None


_HEAD = re.compile(rb'"traceEvents"\s*:\s*\[')
# An event starts with one of these keys. A boundary inside a string would have escaped quotes and does not match.
_BETWEEN = re.compile(r"[,\s]*")
_BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|ts|pid|tid|id)"\s*:)')


class Reader:
    """Reads one file; afterwards `header`, `problems` and `lost` say what else was there."""

    def __init__(
        self, path: Path, *, strict: bool, max_bytes: int, progress: Callable[[int], None] | None = None
    ) -> None:
        self.path = path
        self.strict = strict
        self.max_bytes = max_bytes
        self.progress = progress
        self.header: dict[str, Any] = {}
        self.problems: list[Problem] = []
        self.lost = 0
        self.mended = 0
        self._read = 0
        self._gzip_damaged = False
        self._decoder: msgspec.json.Decoder[Any] | None = None

    def fill(self, table: Table) -> None:
        """Read every event into a table, by the native scanner where it was built, else by msgspec.

        Raises:
            TraceError: no such file, not a trace, larger than `max_bytes`; with `strict`, any damage.
        """
        with open_trace(self.path) as file:
            buffer = self._more(file)
            head = _HEAD.search(buffer)
            while head is None:
                data = self._more(file, len(buffer))
                if not data or len(buffer) > LARGEST_BYTES:
                    raise TraceError(_not_a_trace(self.path, buffer))
                buffer += data
                head = _HEAD.search(buffer)
            self._read_header(buffer[: head.start()])
            base = head.end()
            if native is not None:
                self._scan(file, buffer[base:], base, table)
            else:
                self._decode_chunks(file, buffer[base:], table)
        if self.lost:
            self._damage(f"{self.lost} events could not be read; every whole event around them was")
        if self.mended:
            self._damage(f"{self.mended} events hold bytes that are not UTF-8: each such byte reads \ufffd")

    def _scan(self, file: IO[bytes] | Unpacked, buffer: bytes, base: int, table: Table) -> None:
        """Let the native scanner read; what it hands back is decoded here, one piece at a time."""
        position = 0
        while True:
            position, status, rows, strings, threads = native.scan(buffer, position)
            table.add_scanned(rows, strings, threads, base)
            if status == LIST_ENDED:
                rest = buffer[position + 1 :]
                while data := self._more(file):
                    rest += data
                self._read_footer(rest)
                return
            if status == NOT_UNDERSTOOD:
                boundary = _BOUNDARY.search(buffer, position)
                if boundary is not None:
                    table.add_events(self._recover(buffer[position : boundary.start() + 1]))
                    position = boundary.end()
                    continue
            base, buffer, position = base + position, buffer[position:], 0
            data = self._more(file, len(buffer))
            if not data:
                table.add_events(self._last(buffer))
                return
            if len(buffer) > LARGEST_BYTES:
                # No event is that large: one string has no end. Give it up and go on after it.
                table.add_events(self._recover(buffer))
                base, buffer = base + len(buffer), b""
            buffer += data

    def _decode_chunks(self, file: IO[bytes] | Unpacked, buffer: bytes, table: Table) -> None:
        """Read chunk by chunk with msgspec, each cut where an event ends."""
        while True:
            data = self._more(file, len(buffer))
            if not data:
                break
            buffer += data
            cuts = list(_BOUNDARY.finditer(buffer, max(0, len(buffer) - (1 << 20))))
            cut = cuts[-1] if cuts else None
            if cut is None:
                if len(buffer) > LARGEST_BYTES:
                    table.add_events(self._recover(buffer))
                    buffer = b""
                continue
            table.add_events(self._decode(buffer[: cut.start() + 1]))
            buffer = buffer[cut.end() :]
        table.add_events(self._last(buffer))

    def _read_footer(self, text: bytes) -> None:
        """Read the keys after the list of events."""
        text = text.strip().lstrip(b",")
        try:
            rest = msgspec.json.decode(b"{" + text.removesuffix(b"}") + b"}") if text else {}
        except (msgspec.DecodeError, UnicodeDecodeError):
            rest = {}
        if isinstance(rest, dict):
            self.header |= rest

    def _more(self, file: IO[bytes] | Unpacked, num_unread: int = 0) -> bytes:
        """Read a chunk; as much again as there is unread, so that what spans many chunks is not scanned many times."""
        data = file.read(max(CHUNK_BYTES, num_unread))
        if isinstance(file, Unpacked) and file.damage and not self._gzip_damaged:
            self._gzip_damaged = True
            self._damage(f"the gzip stream {file.damage}; what came before was read")
        self._read += len(data)
        if self._read > self.max_bytes:
            raise TraceError(
                f"{self.path} unpacks to more than {num_bytes(self.max_bytes)}. Raise --max-size if you trust it, "
                "or profile fewer steps."
            )
        if self.progress is not None:
            self.progress(self._read)
        return data

    def _read_header(self, text: bytes) -> None:
        try:
            self.header = msgspec.json.decode(text.rstrip().rstrip(b",") + b"}")
        except (msgspec.DecodeError, UnicodeDecodeError):
            base = re.search(rb'"baseTimeNanoseconds"\s*:\s*(\d+)', text)
            self.header = {"baseTimeNanoseconds": int(base[1])} if base else {}

    def _decode(self, data: bytes) -> list[Any]:
        if not data.strip():
            return []
        if self._decoder is None:
            stamps = [float(found[1]) for found in re.finditer(rb'"ts"\s*:\s*(-?\d+(?:\.\d+)?)', data[: 1 << 16])]
            exact = any(abs(stamp) >= EXACT_BELOW_US for stamp in stamps)
            self._decoder = msgspec.json.Decoder(list[ExactEvent if exact else Event])
        try:
            return self._decoder.decode(b"[" + data + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._recover(data)

    def _last(self, buffer: bytes) -> list[Any]:
        """Decode what is left; the array ends before the last keys of the file's object, or not at all."""
        for end in _array_ends(buffer):
            tail = buffer[end + 1 :]
            if buffer[:end].rstrip()[-1:] not in (b"}", b",", b""):
                continue  # the end of a list within an event
            try:
                rest = msgspec.json.decode(b"{" + tail.strip().lstrip(b",").rstrip().removesuffix(b"}") + b"}")
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if isinstance(rest, dict) and tail.strip().endswith(b"}"):
                self.header |= rest
                return self._decode(buffer[:end])
        self._damage("the file is cut off: its list of events has no end")
        return self._recover(buffer)

    def _recover(self, data: bytes) -> list[Any]:
        """Decode event by event, counting those that cannot be read; after one of these, go on where the next starts."""
        decoder = msgspec.json.Decoder(ExactEvent)
        text = data.decode("latin-1")  # a character a byte: only the ends of events are looked for in it
        events: list[Any] = []
        position = 0
        while True:
            position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr] - it may be empty
            if position >= len(data):
                return events
            end = _whole_object(text, position)
            if end is None:
                boundary = _BOUNDARY.search(data, position)
                end = boundary.start() + 1 if boundary else len(data)
            piece = data[position:end].rstrip()
            if not piece.endswith(b"}") or piece.count(b"{") > piece.count(b"}"):
                piece += b"}"  # what follows may have taken it
            try:
                events.append(decoder.decode(piece))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                mended = piece.decode("utf-8", errors="replace").encode()
                try:
                    events.append(decoder.decode(mended))
                    self.mended += mended != piece
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    self.lost += 1
            position = end

    def _damage(self, message: str) -> None:
        if self.strict:
            raise TraceError(f"{self.path}: {message}. Leave --strict out to read what is whole.")
        self.problems.append(Problem(where=self.path.name, message=message, remedy="Export the trace again."))


def _array_ends(buffer: bytes) -> Iterator[int]:
    """Yield the positions of `]` near the end that could close the list of events, the last first."""
    position = len(buffer)
    for _ in range(64):
        position = buffer.rfind(b"]", max(0, len(buffer) - (1 << 20)), position)
        if position < 0:
            return
        yield position


def _no_constant(text: str) -> None:
    raise ValueError(text)  # NaN and Infinity are not JSON


_WHOLE = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)


def _whole_object(text: str, position: int) -> int | None:
    """Return where the JSON object that starts here ends, `None` if none starts or it is broken."""
    try:
        return _WHOLE.raw_decode(text, position)[1] if text[position] == "{" else None
    except (ValueError, RecursionError):
        return None


class Unpacked:
    """A gzip file read forwards; a truncated or damaged one gives all that can be unpacked, and says so in `damage`."""

    def __init__(self, path: Path) -> None:
        self.damage: str | None = None
        self._file = path.open("rb")
        self._unpacker = _zlib().decompressobj(31)
        self._position = 0
        self._packed = b""

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, fewer only at the end."""
        parts: list[bytes] = []
        missing = size
        while missing > 0 and self.damage is None:
            self._packed = self._packed or self._file.read(1 << 20)
            if not self._packed:
                if not self._unpacker.eof:
                    self.damage = "ends early"
                break
            if self._unpacker.eof:
                self._unpacker = _zlib().decompressobj(31)  # a file may be several streams, one after the other
            try:
                data = self._unpacker.decompress(self._packed, missing)
            except Exception as error:  # zlib.error, or isal's own
                self.damage = f"is damaged ({error})"
                break
            self._packed = self._unpacker.unused_data if self._unpacker.eof else self._unpacker.unconsumed_tail
            parts.append(data)
            missing -= len(data)
        result = b"".join(parts)
        self._position += len(result)
        return result

    def seek(self, position: int) -> None:
        """Go forwards to a place in the unpacked bytes."""
        while self._position < position and self.read(min(CHUNK_BYTES, position - self._position)):
            pass


def _zlib() -> Any:
    try:
        from isal import isal_zlib  # pyright: ignore[reportMissingImports]
    except ImportError:
        return zlib
    return isal_zlib


def open_trace(path: Path) -> IO[bytes] | Unpacked:
    """Open a trace for reading bytes, unpacked where it is gzipped. Raises TraceError where it cannot be read."""
    try:
        with path.open("rb") as file:
            magic = file.read(2)
        return Unpacked(path) if magic == b"\x1f\x8b" else path.open("rb")
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}.") from None


def _not_a_trace(path: Path, head: bytes) -> str:
    if not head.strip():
        return f"{path} is empty. Export the profile again (`profiler.export_chrome_trace`)."
    if head.lstrip()[:1] not in (b"{", b"["):
        return (
            f"{path} is not JSON. `fxscope trace` reads what `profiler.export_chrome_trace` writes (.json or .json.gz)."
        )
    if b'"fxscope/' in head[:4096]:
        return f"{path} is a recording, not a trace: use `fxscope view {path}`."
    return f"{path} has no traceEvents: it is not a profiler trace."
