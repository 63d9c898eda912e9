"""Recordings on disk: `.fxscope` is gzipped JSON, `.json` the same in plain text. Nothing is overwritten unasked.

A `.fxscope` file of many ops and launches is a zip archive: `recording.json` without them, and a column for each of their
fields, as numbers or as positions in a table of values (`docs/decisions/0010-columns-on-disk.md`).
"""

import codecs
import contextlib
import gzip
import io
import lzma
import os
import shutil
import stat
import struct
import sys
import tempfile
import time
import weakref
import zipfile
import zlib
from array import array
from graphlib import CycleError, TopologicalSorter
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import IO, Any, Literal

import msgspec
import numpy as np

from fxscope.columns import Chosen, Column, Items, Numbers, column, ordered, rows_of, uncollected
from fxscope.errors import FxscopeError, RenderError
from fxscope.model import SCHEMA, Item, Launch, Op, Recording, encoded, replace

MANY = 20_000  # ops and launches from which on a file is columns
_LIMIT = 2**63 - 1  # its negative stands for `None` among numbers
_COLUMNS: dict[str, type[Item]] = {"ops": Op, "launches": Launch}  # the parts that are columns in an archive

# What msgspec raises of a text that it does not take; the last: brackets in brackets.
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
MOST_BYTES = 16 << 30  # of a recording, packed or not
MAX_BYTES, MAX_RATIO = 512 << 20, 50  # unpacked, and for each byte packed: what is beyond both is a bomb


def contents(path: str | Path, *, limit: int = MAX_BYTES, what: str = "a recording") -> bytes:
    """The bytes of a file, unpacked where it is gzip, `unmarked`.

    Raises:
        FxscopeError: it has, or unpacks to, more than `limit` bytes (a packed one: than `MAX_RATIO` times its size); it
            is damaged, or cannot be `opened`.
    """
    path = Path(path)
    data = bytearray()
    with opened(path) as file:
        # A read of `limit` bytes would allocate them first.
        while os.fstat(file.fileno()).st_size <= limit >= len(data) and (part := file.read(4 << 20)):
            data += part
        if os.fstat(file.fileno()).st_size > limit or len(data) > limit:
            raise FxscopeError(f"{path} has more than {limit >> 20} MiB: it is not {what}.")
    data = bytes(data)
    if data[:2] == b"\x1f\x8b":
        try:
            data = _unpacked(data, path, limit, what)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise FxscopeError(f"{path} is a damaged or truncated gzip file. Make or copy it again.") from None
    return unmarked(data, path)


def opened(path: Path, error: type[FxscopeError] = FxscopeError) -> IO[bytes]:
    """Open a file for reading. Raises `error` if that fails, and of a pipe or device: it can be read once, and may not end."""
    try:
        mode = stat.S_IFIFO if str(path) == "-" else path.stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return path.open("rb")
    except OSError as failure:
        raise error(f"cannot read {path}: {failure.strerror or failure}.") from None
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise error(f"{path} is {kind}: write its data to a file, and give that.")


def unmarked(text: bytes, where: object) -> bytes:
    """A text of a user's without the mark that Windows' programs put at its head. Raises FxscopeError of UTF-16 and UTF-32."""
    for name in ("UTF-32", "UTF-16"):  # the mark of UTF-32 may begin with that of UTF-16
        if text.startswith(("\ufeff".encode(f"{name}LE"), "\ufeff".encode(f"{name}BE"))):
            raise FxscopeError(f"{where} is text in {name}: write it in UTF-8.")
    return text.removeprefix(codecs.BOM_UTF8)


def load(path: str | Path) -> Recording:
    """Read a recording that `write_recording` or `to_json` made. Raises FxscopeError: no file, no recording, another schema."""
    path = Path(path)
    data = contents(path, limit=MOST_BYTES)
    is_archive = data[:4] == b"PK\x03\x04"
    return _whole(_from_columns(data, str(path)) if is_archive else loads(data, where=str(path)), str(path))


def _whole(recording: Recording, where: str) -> Recording:
    """The recording. Raises FxscopeError where an op or a node is inside itself: what walks up would never end."""
    for items, name in ((recording.ops, "id"), *((graph.nodes, "name") for graph in recording.graphs)):
        above = dict(rows_of(items, name, "parent"))
        order = {item: place for place, item in enumerate(above)}
        if any(order.get(parent, -1) >= order[item] for item, parent in above.items()):  # as some item of a circle
            try:
                TopologicalSorter({item: (parent,) for item, parent in above.items()}).prepare()
            except CycleError as error:
                inside = f"{error.args[1][0]!r} is inside itself"
                raise FxscopeError(f"{where} is not a valid recording: {inside}.") from None
    return recording


def _unpacked(data: bytes, path: Path, limit: int, what: str) -> bytes:
    """Unpack a gzip file of any number of streams, up to a size that nothing of its kind has."""
    limit = min(limit, max(MAX_BYTES, MAX_RATIO * len(data)))
    pieces: list[bytes] = []
    size = 0
    with gzip.open(io.BytesIO(data)) as file:
        while piece := file.read(1 << 20):
            size += len(piece)
            if size > limit:
                raise FxscopeError(f"{path} unpacks to more than {limit >> 20} MiB: it is not {what}.")
            pieces.append(piece)
    return b"".join(pieces)


def loads(data: bytes | str, *, where: str = "the text") -> Recording:
    """Decode a recording from JSON. Raises FxscopeError if it is not one."""
    try:
        head = msgspec.json.decode(data, type=_Head)
    except NOT_JSON:
        raise FxscopeError(
            f"{where} is not a recording. A profiler trace is read with `fxscope view FILE`; "
            "a recording is made with `fxscope run … -o FILE.fxscope`."
        ) from None
    if head.schema != SCHEMA:
        raise FxscopeError(
            f"{where} has schema {head.schema!r}, this fxscope reads {SCHEMA!r}. Use the fxscope that wrote it."
        )
    try:
        return msgspec.json.decode(data, type=Recording)
    except NOT_JSON as error:
        raise FxscopeError(f"{where} is not a valid recording: {error}.") from None


class _Head(msgspec.Struct):
    schema: str


def encode(recording: Recording) -> bytes:
    """The `.fxscope` form. The same recording always gives the same bytes."""
    if len(recording.ops) + len(recording.launches) >= MANY:
        with contextlib.suppress(OverflowError):  # a number that no int64 holds
            return _to_columns(recording)
    return gzip.compress(encoded(recording), compresslevel=6, mtime=0)


@uncollected()
def _to_columns(recording: Recording) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:

        def add(name: str, data: bytes) -> None:
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 1)  # always of the same date

        for name, type_ in _COLUMNS.items():
            items, fields = getattr(recording, name), msgspec.structs.fields(type_)
            numbers = [field.name for field in fields if field.type in (int, int | None)]
            tables = {field.name: ordered(items, field.name) for field in fields if field.name not in numbers}
            for field in numbers:
                values = [-_LIMIT if value is None else value for value in column(items, field)]
                add(f"{name}/{field}", array("q", values).tobytes())
            for field, (codes, _) in tables.items():
                add(f"{name}/{field}", codes.tobytes())
            for field, (_, table) in tables.items():
                add(f"{name}/{field}.json", encoded(table))
            kinds = {field.name: "numbers" if field.name in numbers else "table" for field in fields}
            add(f"{name}.json", msgspec.json.encode({"count": len(items), "columns": kinds, "order": sys.byteorder}))
        add("recording.json", encoded(replace(recording, ops=(), launches=())))  # behind the ops: nodes read of them
    return out.getvalue()


# What zipfile raises at a flipped byte: its own error; a version or method it has not; a member marked as encrypted.
_DAMAGED = (zipfile.BadZipFile, NotImplementedError, RuntimeError, OverflowError, struct.error, lzma.LZMAError, OSError)


def _from_columns(data: bytes, where: str) -> Recording:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            limit = max(MAX_BYTES, MAX_RATIO * len(data))
            if sum(item.file_size for item in archive.infolist()) > limit:
                raise FxscopeError(f"{where} unpacks to more than {limit >> 20} MiB: it is not a recording.")
            recording = loads(_member(archive, "recording.json"), where=where)
            return replace(recording, **{name: _items(archive, name, type_) for name, type_ in _COLUMNS.items()})
    except (*_DAMAGED, zlib.error, KeyError, ValueError, EOFError, *NOT_JSON) as error:
        raise FxscopeError(f"{where} is a damaged recording ({error}). Record it again.") from None


def _items(archive: zipfile.ZipFile, name: str, type_: type[Item]) -> Items[Any]:
    """The ops or launches of an archive. Raises ValueError where a column does not fit."""
    about = msgspec.json.decode(_member(archive, f"{name}.json"), type=_About)
    columns: dict[str, Column] = {}
    for field in msgspec.structs.fields(type_):
        kind = about.columns.get(field.name)
        if kind is None:
            if field.required:
                raise ValueError(f"no {name}/{field.name}")
            continue
        number = np.dtype("i8" if kind == "numbers" else "i4").newbyteorder("<" if about.order == "little" else ">")
        numbers = np.frombuffer(_member(archive, f"{name}/{field.name}"), number)
        if len(numbers) != about.count:
            raise ValueError(field.name)
        if kind == "numbers":
            none = numbers == -_LIMIT
            some = [*([None] if none.any() else []), *([int(numbers[~none][0])] if not none.all() else [])]
            msgspec.convert(some, list[field.type])  # it raises where the field takes no such values
            columns[field.name] = Numbers(numbers, none=-_LIMIT)
        else:
            table = msgspec.json.decode(_member(archive, f"{name}/{field.name}.json"), type=list[field.type])
            if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(table):
                raise ValueError(field.name)
            columns[field.name] = Chosen(numbers, table)
    return Items(type_, about.count, columns)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member of the archive: no more of it is unpacked than it says that it has, which `archive.read` would do."""
    item = archive.getinfo(name)
    if item.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack all at once
        raise zipfile.BadZipFile(f"{name} is packed in another way than fxscope does")
    with archive.open(item) as file:
        return file.read(item.file_size)


class _About(msgspec.Struct):
    count: int
    columns: dict[str, Literal["numbers", "table"]]
    order: Literal["little", "big"]


def check_free(path: str | Path, *, force: bool = False) -> None:
    """Raise RenderError where `write` would, for a reason that can be known before there is anything to write."""
    try:
        mode = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):  # the latter costs one file of several, and is said with it
        return
    except OSError as error:
        raise RenderError(f"cannot write {path}: {error.strerror or error}.") from None
    if stat.S_ISDIR(mode):
        raise RenderError(f"{path} is a folder: give a file name.")
    if stat.S_ISREG(mode) and not force:
        raise RenderError(f"{path} exists. Use --force (force=True) to overwrite it, or another name.")


def write(path: str | Path, data: str | bytes | bytearray, *, force: bool = False) -> Path:
    """Write a file whole or not at all; a process that is killed in the middle may leave a hidden temporary file.

    A link stays a link, and a file that is overwritten keeps its mode; a pipe or a device is written to.

    Raises RenderError: the file exists and `force` is false, or its folder cannot be written.
    """
    path = Path(path)
    check_free(path, force=force)
    if isinstance(data, str):
        data = data.encode("utf-8", errors="replace")
    try:
        mode = path.stat().st_mode if path.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            path.write_bytes(data)
            return path
        target = path.resolve()
        with contextlib.suppress(FileExistsError):  # a file, which `_place` reports
            target.parent.mkdir(parents=True, exist_ok=True)
        _place(target, data, mode)
    except FileExistsError:  # made since
        raise RenderError(f"{path} exists. Use --force (force=True) to overwrite it, or another name.") from None
    except OSError as error:
        raise RenderError(f"cannot write {path}: {error.strerror or error}.") from None
    return path


def _place(target: Path, data: bytes | bytearray, mode: int | None) -> None:
    """Make a file appear under its name, whole; in place of another one only where that one's mode is given."""
    temporary = target.with_name(f".{target.name[:100]}.{getpid()}.{time.monotonic_ns()}")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                with contextlib.suppress(OSError):  # a file system may have no modes
                    os.fchmod(file.fileno(), stat.S_IMODE(mode))
        if mode is not None:
            temporary.replace(target)
        else:
            os.link(temporary, target)  # which fails where a file was made since
    finally:
        temporary.unlink(missing_ok=True)


class OwnFolder:
    """A temporary folder of this process: a forked child that ends does not remove it."""

    def __init__(self) -> None:
        self.name: str = tempfile.mkdtemp(prefix="fxscope-")
        self.cleanup = weakref.finalize(self, _remove, self.name, getpid())

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *exception: object) -> None:
        self.cleanup()


def _remove(name: str, process: int) -> None:
    if getpid() == process:
        shutil.rmtree(name, ignore_errors=True)


def rescue(recording: Recording, beside: Path) -> str:
    """Save a recording that would be lost, under a free name, and return the line that tells a user where it is."""
    names = (beside.with_name(f"{beside.stem}{count}.fxscope") for count in ("", *(f"-{n}" for n in range(2, 100))))
    path = next((name for name in names if not name.exists()), None)
    if path is None:
        return f"The recording is lost: every name from {beside.stem}.fxscope on is taken."
    try:
        write(path, encode(recording))
    except RenderError as error:
        return f"The recording is lost: {error}"
    return f"The recording itself is in {path}; `fxscope view {path} -o FILE` makes the rest."
