"""Rows on their way to becoming columns: spans from the native scanner, or events from msgspec; both give the same."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from fxscope.readers.trace.reader import Written, decode_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fxscope.readers.trace.reader import Args

# Kineto's categories, and the capitalised ones of traces before torch 1.13.
CPU_OP, ANNOTATION, RUNTIME, PYTHON, KERNEL, MEMSET, MEMCPY = range(7)
CATEGORIES = {
    "cpu_op": CPU_OP,
    "Operator": CPU_OP,
    "user_annotation": ANNOTATION,
    "cuda_runtime": RUNTIME,
    "cuda_driver": RUNTIME,
    "Runtime": RUNTIME,
    "hip_runtime": RUNTIME,
    "xpu_runtime": RUNTIME,
    "privateuse1_runtime": RUNTIME,
    "privateuse1_driver": RUNTIME,
    "mtia_runtime": RUNTIME,
    "python_function": PYTHON,
    "kernel": KERNEL,
    "Kernel": KERNEL,
    "gpu_memset": MEMSET,
    "Memset": MEMSET,
    "gpu_memcpy": MEMCPY,
    "Memcpy": MEMCPY,
}
KEPT_ARGS = (CPU_OP, ANNOTATION, KERNEL, MEMSET, MEMCPY)  # the columns have all of the others'
NUM_HOST = KERNEL  # categories below run on the host
INT64_MAX = 2**63 - 1
TIME_MAX = 2**62 - 1  # of a start and of a duration: their sum stays within int64
CATEGORY, NAME, THREAD, START, DURATION, CORRELATION, EXTERNAL, ARGS_AT, ARGS_LENGTH = range(9)
WIDTH = 9


class Table:
    """Collects rows of int64; names and threads are interned over the whole file."""

    def __init__(self, *, keep_args: bool = False) -> None:
        self.args = bytearray() if keep_args else None  # texts of the arguments of `KEPT_ARGS`, one after the other
        self.names: dict[str, int] = {}
        self.threads: dict[tuple[Any, Any], int] = {}
        self.known_args: dict[int, Args] = {}  # of rows that were decoded, not scanned
        self.without_time = 0
        self._parts: list[NDArray[np.int64]] = []
        self._num_rows = 0

    def columns(self) -> NDArray[np.int64]:
        """Return every row, in the order of the file."""
        return np.concatenate(self._parts) if self._parts else np.empty((0, WIDTH), np.int64)

    def add_scanned(
        self, rows: bytes, strings: list[bytes], threads: list[bytes], base: int, buffer: bytes = b""
    ) -> None:
        """Add what the native scanner found in a buffer; `base` is the buffer's place in the unpacked file."""
        if not rows:
            return
        table = np.frombuffer(rows, np.int64).reshape(-1, WIDTH + 1)
        codes = np.full(len(strings), -1, np.int64)
        for index in np.unique(table[:, CATEGORY]).tolist():
            codes[index] = CATEGORIES.get(_string(strings[index]), -1)
        category = codes[table[:, CATEGORY]]
        table = table[category >= 0]
        category = category[category >= 0]
        names = np.full(len(strings), -1, np.int64)
        for index in np.unique(table[:, NAME]).tolist():
            names[index] = self.names.setdefault(_string(strings[index]), len(self.names))
        places = np.full(len(threads), -1, np.int64)
        for index in np.unique(table[:, THREAD]).tolist():
            places[index] = self.threads.setdefault(_thread(threads[index]), len(self.threads))
        part = np.empty((len(table), WIDTH), np.int64)
        part[:, CATEGORY], part[:, NAME], part[:, THREAD] = category, names[table[:, NAME]], places[table[:, THREAD]]
        part[:, START:EXTERNAL] = table[:, START:EXTERNAL]
        part[:, EXTERNAL] = table[:, EXTERNAL]
        np.maximum(part[:, DURATION], 0, out=part[:, DURATION])
        part[:, ARGS_AT] = np.where(table[:, ARGS_AT] >= 0, table[:, ARGS_AT] + base, -1)
        part[:, ARGS_LENGTH] = table[:, ARGS_LENGTH]
        if self.args is not None:
            self._keep_args(part, table[:, ARGS_AT], buffer)
        self._append(part)

    def _keep_args(self, part: NDArray[np.int64], at: NDArray[np.int64], buffer: bytes) -> None:
        """Copy the arguments out of the buffer; `ARGS_AT` then says where they are among those that were kept."""
        kept = np.flatnonzero(np.isin(part[:, CATEGORY], KEPT_ARGS) & (at >= 0))
        lengths = part[kept, ARGS_LENGTH]
        part[:, ARGS_AT] = -1
        part[kept, ARGS_AT] = len(self.args) + np.cumsum(lengths) - lengths  # type: ignore[arg-type]
        spans = zip(at[kept].tolist(), lengths.tolist(), strict=True)
        self.args += b"".join([buffer[start : start + length] for start, length in spans])  # type: ignore[operator]

    def add_events(self, events: list[Any]) -> None:
        """Add decoded events; those of other phases and categories are left out."""
        rows: list[tuple[int, ...]] = []
        for event in events:
            category = CATEGORIES.get(event.cat) if isinstance(event.cat, str) else None
            if event.ph != "X" or category is None:
                continue
            start, duration = nanoseconds(event.ts), nanoseconds(event.dur)
            if start is None or duration is None:
                self.without_time += 1
                continue
            detail = event.args
            name = event.name if isinstance(event.name, str) else str(event.name)
            thread = (_key(event.pid), _key(event.tid)) if category < NUM_HOST else device_of(event)
            correlation = external = -1
            if detail is not None:
                correlation = identifier(detail.correlation)
                external = identifier(detail.external_id if detail.external_id is not None else detail.old_external_id)
                self.known_args[self._num_rows + len(rows)] = detail
            rows.append(
                (
                    category,
                    self.names.setdefault(name, len(self.names)),
                    self.threads.setdefault(thread, len(self.threads)),
                    start,
                    max(0, duration),
                    correlation,
                    external,
                    -1,
                    0,
                )
            )
        if rows:
            self._append(np.array(rows, np.int64))

    def _append(self, part: NDArray[np.int64]) -> None:
        self._parts.append(part)
        self._num_rows += len(part)


def _string(span: bytes) -> str:
    """Decode a name as written; other values read as their text."""
    value = _value(span)
    return value if isinstance(value, str) else str(value)


def _thread(span: bytes) -> tuple[Any, Any]:
    """Decode the scanner's key: host or device, then two JSON values."""
    first, _, second = span[1:].partition(b"\n")
    first, second = _key(_value(first[1:])), _key(_value(second))
    return (first, second) if span[:1] == b"h" else (("device", first), ("stream", second))


def _value(span: bytes) -> Any:
    if not span:
        return None
    try:
        return msgspec.json.decode(span)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode_json(span)  # what the scanner takes, Python takes


_TIME = re.compile(r"-?(\d{1,16})(?:\.(\d+))?")


def nanoseconds(value: Any) -> int | None:
    """Convert microseconds to whole nanoseconds, halves to the even one; `None` for what is no time, or far too large.

    Args:
        value: JSON text (`msgspec.Raw`), a number, or a float that knows its text.
    """
    if isinstance(value, msgspec.Raw):
        text = bytes(value).decode("latin-1")
        digits = text[:-4] + text[-3:]
        if text[-4:-3] == "." and digits.isdigit() and digits.isascii() and len(digits) < 19:  # as Kineto writes them
            return int(digits)
    elif isinstance(value, Written):
        text = value.text
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        text = repr(value)
    else:
        return None
    parts = _TIME.fullmatch(text)
    if parts is None:
        return _unusual_nanoseconds(text)
    fraction = parts[2] or ""
    result = int(parts[1]) * 1000 + int(f"{fraction:0<3.3}")
    if len(fraction) > 3 and fraction[3] >= "5":
        result += fraction[3] > "5" or result & 1 or bool(fraction[4:].strip("0"))
    return None if result > TIME_MAX else -result if text[0] == "-" else result


def _unusual_nanoseconds(text: str) -> int | None:
    """Convert a number with an exponent or with very many digits."""
    try:
        value = Decimal(text)
    except (ArithmeticError, ValueError):
        return None
    if not value.is_finite() or value.adjusted() > 20:
        return None
    if value.adjusted() < -20:
        return 0
    with localcontext(Context(prec=len(text) + 30)):
        result = int((value * 1000).to_integral_value(ROUND_HALF_EVEN))
    return result if abs(result) <= TIME_MAX else None


def whole(value: Any) -> int | None:
    """Return an int64 as it is, `None` for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT64_MAX else None


def identifier(value: Any) -> int:
    """Return a correlation or external id, -1 for none. 0 means "not linked" in Kineto."""
    if isinstance(value, str) and len(value) <= 19 and value.isascii() and value.isdigit():
        value = int(value)
    found = whole(value)
    return found if found is not None and found > 0 else -1


def device_of(event: Any) -> tuple[Any, Any]:
    """Return (device, stream) of a device event: its arguments, else Kineto's pid and tid."""
    detail = event.args
    device = detail.device if detail is not None and detail.device is not None else event.pid
    stream = detail.stream if detail is not None and detail.stream is not None else event.tid
    return ("device", _key(device)), ("stream", _key(stream))


def device_and_stream(thread: tuple[Any, Any]) -> tuple[int | None, int | None]:
    """Return the numbers in what `device_of` gave, `None` for what is no number and for a thread of the host."""
    device, stream = (part[1] if isinstance(part, tuple) else None for part in thread)
    return whole(device), whole(stream)


def _key(value: Any) -> Any:
    """Return a value that can be a key: lists and objects as their text, and NaN, which is not what it is."""
    try:
        hash(value)
    except TypeError:
        return str(value)
    return value if value == value else str(value)
