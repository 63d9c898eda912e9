"""Recordings on disk: `.fxscope` is gzipped JSON, `.json` the same in plain text. Nothing is overwritten unasked."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from pathlib import Path

import msgspec

from fxscope.errors import FxscopeError, RenderError
from fxscope.model import SCHEMA, Recording, plain


def load(path: str | Path) -> Recording:
    """Read a recording that `write_recording` or `to_json` made.

    Raises:
        FxscopeError: there is no such file, it is not a recording, or its schema is another version.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FxscopeError(f"cannot read {path}: {error.strerror}. Make a recording with `fxscope run`.") from None
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            raise FxscopeError(f"{path} is a damaged or truncated gzip file. Record it again.") from None
    return loads(data, where=str(path))


def loads(data: bytes | str, *, where: str = "the text") -> Recording:
    """Decode a recording from JSON. Raises FxscopeError if it is not one."""
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise FxscopeError(
            f"{where} is not a recording. A profiler trace is read with `fxscope trace FILE`; "
            "a recording is made with `fxscope run … -o FILE.fxscope`."
        ) from None
    if head.schema != SCHEMA:
        raise FxscopeError(
            f"{where} has schema {head.schema!r}, this fxscope reads {SCHEMA!r}. Use the fxscope that wrote it."
        )
    try:
        return msgspec.json.decode(data, type=Recording)
    except msgspec.ValidationError as error:
        raise FxscopeError(f"{where} is not a valid recording: {error}.") from None


class _Head(msgspec.Struct):
    schema: str


def encode(recording: Recording) -> bytes:
    """Return the `.fxscope` form. The same recording always gives the same bytes."""
    return gzip.compress(msgspec.json.encode(recording, enc_hook=plain), compresslevel=6, mtime=0)


def write(path: str | Path, data: str | bytes, *, force: bool = False) -> Path:
    """Write a file whole or not at all.

    Raises:
        RenderError: the file exists and `force` is false, or its folder cannot be written.
    """
    path = Path(path)
    if path.is_dir():
        raise RenderError(f"{path} is a folder: give a file name.")
    if path.exists() and not force:
        raise RenderError(f"{path} exists. Use --force (force=True) to overwrite it, or another name.")
    if isinstance(data, str):
        data = data.encode("utf-8", errors="replace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            mask = os.umask(0)
            os.umask(mask)
            Path(temporary).chmod(0o666 & ~mask)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RenderError(f"cannot write {path}: {error.strerror}.") from None
    return path


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
