"""Rows on their way to becoming columns: spans from the native scanner, or events from msgspec; both give the same."""

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fxscope.data import read_table
from fxscope.readers.trace.reader import Args, decode_args, decode_json

# Kineto's categories, and the capitalised ones of traces before torch 1.13.
CPU_OP, ANNOTATION, RUNTIME, PYTHON, OVERHEAD, KERNEL, MEMSET, MEMCPY, MEMORY = range(9)
CATEGORIES = {name: code for code, names in enumerate(read_table("event_categories.json")) for name in names.split()}
KEPT_ARGS = (CPU_OP, ANNOTATION, KERNEL, MEMSET, MEMCPY, MEMORY)  # the columns have all of the others'
_HAS_ARGS = np.isin(np.arange(9), KEPT_ARGS)
UNKNOWN, BY_EXTERNAL_ID, BY_CORRELATION, BY_ORDER = range(4)  # how the op of a device row is known
NUM_HOST = KERNEL  # categories below run on the host
INT64_MAX = 2**63 - 1
TIME_MAX = 2**62 - 1  # of a start and of a duration: their sum stays within int64
COLUMNS = {"category": np.int8, "name": np.int32, "thread": np.int32} | dict.fromkeys(
    ("start_ns", "duration_ns", "correlation", "external_id", "args_at", "args_length"), np.int64
)
WIDTH = len(COLUMNS)
CATEGORY, NAME, THREAD, START, DURATION, CORRELATION, EXTERNAL, ARGS_AT, ARGS_LENGTH = range(WIDTH)
STEP = "ProfilerStep#"


class Table:
    """Collects rows of int64; names and threads are interned over the whole file."""

    def __init__(self) -> None:
        self.args = bytearray()  # texts of the arguments of `KEPT_ARGS`, one after the other
        self.names: dict[str, int] = {}
        self.threads: dict[tuple[Any, Any], int] = {}
        self.categories: set[str] = set()  # as they are written, those that are not read too
        self.without_time: int = 0
        self.negative: int = 0  # durations, as clocks that are set back give
        self.launch_names: list[int] = []  # and of the runtime calls whose arguments name a kernel
        # Categories, names and threads as they are written: the same spans come in every buffer
        self._category_spans: dict[bytes, int] = {}
        self._name_spans: dict[bytes, int] = {}
        self._thread_spans: dict[bytes, int] = {}
        self._parts: list[list[NDArray[Any]]] = []

    def take_columns(self) -> dict[str, Any]:
        """The columns of every row, in the order of the file; the table is empty afterwards."""
        parts, self._parts = self._parts, []
        columns = {name: [part[index] for part in parts] for index, name in enumerate(COLUMNS)}
        parts.clear()
        # One at a time: what was put together is freed.
        return {name: np.concatenate([np.empty(0, dtype), *columns.pop(name)]) for name, dtype in COLUMNS.items()}

    def add_scanned(self, found: tuple[bytes, list[bytes], list[bytes]], buffer: bytes, gather: Any) -> None:
        """Add the rows, strings and threads that the native scanner found in a buffer; `gather` joins spans of it."""
        rows, strings, threads = found
        if not rows:
            return
        table = np.frombuffer(rows, np.int64).reshape(-1, WIDTH + 1)
        used = table[:, CATEGORY]
        codes = _looked_up(used, strings, self._category_spans, lambda span: self._category(str(_value(span))))
        category = codes[used]
        is_read = (category >= 0) & ((category == MEMORY) == (table[:, WIDTH] == 1))
        if not is_read.all():
            table, category = table[is_read], category[is_read]
        names = _looked_up(table[:, NAME], strings, self._name_spans, lambda span: self._code(str(_value(span))))
        places = _looked_up(table[:, THREAD], threads, self._thread_spans, self._thread)
        part = table[:, :WIDTH].copy()
        part[:, CATEGORY], part[:, NAME], part[:, THREAD] = category, names[table[:, NAME]], places[table[:, THREAD]]
        are_kept = _HAS_ARGS[category] | np.isin(part[:, NAME], self.launch_names)
        kept = np.flatnonzero(are_kept & (part[:, ARGS_AT] >= 0))
        at, lengths = part[kept, ARGS_AT], part[kept, ARGS_LENGTH]
        part[:, ARGS_AT] = -1
        part[kept, ARGS_AT] = len(self.args) + np.cumsum(lengths) - lengths
        self.args += gather(buffer, at, lengths)
        self._append(part)

    def _category(self, name: str) -> int:
        self.categories.add(name)
        return CATEGORIES.get(name, -1)

    def _thread(self, span: bytes) -> int:
        return self.threads.setdefault(_thread(span), len(self.threads))

    def add_events(self, events: list[Any]) -> None:
        """Add decoded events; those of other phases and categories are left out."""
        rows: list[tuple[int, ...]] = []
        for event in events:
            category = self._category(event.cat) if event.ph in ("X", "i") and isinstance(event.cat, str) else -1
            if category < 0 or (category == MEMORY) != (event.ph == "i"):
                continue
            start, duration = nanoseconds(event.ts), 0 if category == MEMORY else nanoseconds(event.dur)
            if start is None or duration is None:
                self.without_time += 1
                continue
            text = bytes(event.args)
            detail = decode_args(text) if text else None
            name = str(event.name)
            thread = (_key(event.pid), _key(event.tid)) if category < NUM_HOST else device_of(event, detail)
            correlation = external = -1
            if detail is not None:
                correlation = identifier(detail.correlation)
                external = identifier(detail.external_id if detail.external_id is not None else detail.old_external_id)
            code, args_at = self._code(name), -1
            if detail is not None and (category in KEPT_ARGS or code in self.launch_names):
                args_at = len(self.args)
                self.args += text
            place = self.threads.setdefault(thread, len(self.threads))
            rows.append((category, code, place, start, duration, correlation, external, args_at, len(text)))
        if rows:
            self._append(np.array(rows, np.int64))

    def _append(self, part: NDArray[np.int64]) -> None:
        if len(part):
            self.negative += int((part[:, DURATION] < 0).sum())
            np.maximum(part[:, DURATION], 0, out=part[:, DURATION])
            self._parts.append([part[:, column].astype(dtype) for column, dtype in enumerate(COLUMNS.values())])

    def _code(self, name: str) -> int:
        known = self.names.get(name)
        if known is None:
            known = self.names[name] = len(self.names)
            if name.startswith("hip") and "LaunchKernel" in name:
                self.launch_names.append(known)
        return known


def _looked_up(
    used: NDArray[np.int64], spans: list[bytes], known: dict[bytes, int], code_of: Callable[[bytes], int]
) -> NDArray[np.int64]:
    """Return what a function makes of each span that is used, -1 for the others."""
    codes = np.full(len(spans), -1, np.int64)
    for index in np.flatnonzero(np.bincount(used, minlength=len(spans))).tolist():
        span = spans[index]
        if span not in known:
            known[span] = code_of(span)
        codes[index] = known[span]
    return codes


def _thread(span: bytes) -> tuple[Any, Any]:
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


def nanoseconds(value: Any) -> int | None:
    """Convert microseconds (a number, or its JSON text) to whole nanoseconds, halves to the even one; `None` for no time."""
    if isinstance(value, msgspec.Raw):
        text = bytes(value).decode("latin-1").strip('"')  # Ascend's profiler writes times as strings
        digits = text[:-4] + text[-3:]
        if text[-4:-3] == "." and digits.isdigit() and digits.isascii() and len(digits) < 19:  # as Kineto writes them
            return int(digits)
    elif isinstance(value, (int, float, Decimal, str)) and not isinstance(value, bool):
        text = str(value)
    else:
        return None
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
    """An int64 as it is, `None` for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT64_MAX else None


def identifier(value: Any) -> int:
    """A correlation or external id, -1 for none. 0 means "not linked" in Kineto."""
    if isinstance(value, str) and len(value) <= 19 and value.isascii() and value.isdigit():
        value = int(value)
    found = whole(value)
    return found if found is not None and found > 0 else -1


def device_of(event: Any, detail: Args | None) -> tuple[Any, Any]:
    """(device, stream) of a device event: its arguments, else Kineto's pid and tid."""
    device = detail.device if detail is not None and detail.device is not None else event.pid
    stream = detail.stream if detail is not None and detail.stream is not None else event.tid
    return ("device", _key(device)), ("stream", _key(stream))


def device_and_stream(thread: tuple[Any, Any]) -> tuple[int | None, int | None]:
    """The numbers in what `device_of` gave, `None` for what is no number and for a thread of the host."""
    device, stream = (part[1] if isinstance(part, tuple) else None for part in thread)
    return whole(device), whole(stream)


def _key(value: Any) -> Any:
    """A value that can be a key: lists and objects as their text, and NaN, which is not what it is."""
    try:
        hash(value)
    except TypeError:
        return str(value)
    return value if value == value else str(value)
