"""Where a job's traces are: a folder, files, or an address that fsspec knows (s3://, gs://, hf://, …)."""

from __future__ import annotations

import hashlib
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fxscope.errors import FxscopeError
from fxscope.fleet.digest import rank_in

if TYPE_CHECKING:
    from collections.abc import Sequence

_TRACE = re.compile(r"\.json(\.gz)?$", re.IGNORECASE)
_LOG = re.compile(r"\.log(\.gz)?$", re.IGNORECASE)
_REMOTE = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HEAD_BYTES = 1 << 16
UNPACKED = 14  # a gzipped trace unpacks to about this many times its size, where its trailer cannot say


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One rank's trace, and what lies beside it."""

    name: str  # as shown
    address: str  # a path or a URL
    size: int  # bytes as stored
    version: str = ""  # changes when the file does
    compile_log: str | None = None

    @property
    def is_remote(self) -> bool:
        """Whether it must be fetched first."""
        return is_remote(self.address)

    @property
    def key(self) -> str:
        """The name of its digest: the same for the same bytes at the same place."""
        text = f"{self.address}\n{self.size}\n{self.version}\n{self.compile_log}"
        return f"{Path(self.name).name.split('.')[0][:60]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def unpacked_bytes(self) -> int:
        """About how large the trace is unpacked; gzip says it in its last four bytes, modulo 4 GB."""
        if not self.address.endswith(".gz"):
            return self.size
        guess = self.size * UNPACKED
        if self.is_remote:
            return guess
        try:
            with Path(self.address).open("rb") as file:
                file.seek(-4, 2)
                said = int.from_bytes(file.read(4), "little")
        except OSError:
            return guess
        return said if said >= self.size and self.size < (1 << 28) else max(guess, said)


def is_remote(address: str) -> bool:
    """Return whether an address is a URL."""
    return bool(_REMOTE.match(address))


def find(places: Sequence[str], *, pattern: str | None = None) -> list[Source]:
    """Return the traces in folders, at addresses and of files, by rank where their names say one.

    Args:
        places: what the user named.
        pattern: a regular expression; only files whose path within the folder it finds are taken.

    Raises:
        FxscopeError: a place does not exist, holds no trace, or the pattern is not a regular expression.
    """
    try:
        wanted = re.compile(pattern) if pattern else None
    except re.error as error:
        raise FxscopeError(f"--pattern {pattern!r} is not a regular expression: {error}.") from None
    found: list[Source] = []
    for place in places:
        here = _remote(place, wanted) if is_remote(place) else _local(Path(place), wanted)
        if not here:
            raise FxscopeError(
                f"{place} holds no trace{f' that {pattern!r} finds' if pattern else ''}: "
                "give a folder of .json or .json.gz files, one a rank."
            )
        found += here
    found = list({source.address: source for source in found}.values())
    return sorted(found, key=lambda source: (rank_in(source.name) is None, rank_in(source.name) or 0, source.name))


def _local(path: Path, wanted: re.Pattern[str] | None) -> list[Source]:
    if not path.exists():
        raise FxscopeError(f"{path} does not exist: give a folder of traces, one a rank.")
    if path.is_file():
        return [_source(path, path.name, {})]
    files = sorted(item for item in path.rglob("*") if item.is_file() and not item.name.startswith("."))
    logs: dict[int, str] = {}
    for item in files:
        if _LOG.search(item.name) and (rank := _rank_of(item, path)) is not None:
            logs.setdefault(rank, str(item))
    traces: list[Source] = []
    for item in files:
        name = item.relative_to(path).as_posix()
        if _TRACE.search(item.name) and (wanted is None or wanted.search(name)) and looks_like_trace(item):
            traces.append(_source(item, name, logs))
    return traces


def _source(item: Path, name: str, logs: dict[int, str]) -> Source:
    state = item.stat()
    rank = rank_in(name)
    return Source(
        name=name,
        address=str(item.resolve()),
        size=state.st_size,
        version=str(state.st_mtime_ns),
        compile_log=logs.get(rank) if rank is not None else None,
    )


def _rank_of(item: Path, folder: Path) -> int | None:
    """Return the rank that a file's name or a folder above it says: rank_3/…, dedicated_log_torch_trace_rank_3_x.log."""
    for part in reversed(item.relative_to(folder).parts):
        if (rank := rank_in(part)) is not None:
            return rank
    return None


def looks_like_trace(path: Path) -> bool:
    """Return whether a JSON file may be a trace. A damaged one may: it is a rank's, and is to be told of."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return True
    if head[:2] == b"\x1f\x8b":
        try:
            head = zlib.decompressobj(31).decompress(head, _HEAD_BYTES)
        except zlib.error:
            return True
    if b'"fxscope' in head[:200]:
        return False  # a digest, a recording, the output of this very command
    return b'"traceEvents"' in head or b'"schemaVersion"' in head or len(head) >= _HEAD_BYTES or not _is_json(head)


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _remote(address: str, wanted: re.Pattern[str] | None) -> list[Source]:
    fs, root = open_address(address)
    try:
        listed: dict[str, dict[str, Any]] = fs.find(root, detail=True)
    except Exception as error:  # each file system raises errors of its own
        raise FxscopeError(f"cannot list {address}: {_said(error)}.") from None
    found: list[Source] = []
    for path, info in sorted(listed.items()):
        name = path[len(root) :].lstrip("/") or Path(path).name
        if not _TRACE.search(name) or (wanted is not None and not wanted.search(name)):
            continue
        version = next(
            (
                str(info[key])
                for key in ("ETag", "etag", "md5Hash", "LastModified", "mtime", "blob_id")
                if info.get(key)
            ),
            "",
        )
        found.append(
            Source(name=name, address=fs.unstrip_protocol(path), size=int(info.get("size") or 0), version=version)
        )
    return found


def open_address(address: str) -> tuple[Any, str]:
    """Return (file system, path) of an address. Raises FxscopeError where fsspec or the file system's package is absent."""
    try:
        import fsspec
    except ImportError:
        raise FxscopeError(f"{address} is read with fsspec: pip install 'fxscope[fleet]'.") from None
    try:
        fs, path = fsspec.core.url_to_fs(address)
    except Exception as error:  # an unknown protocol, a package that is not there, credentials
        raise FxscopeError(f"cannot open {address}: {_said(error)}.") from None
    return fs, path


def fetch(source: Source, folder: Path) -> Path:
    """Copy a trace from where it lies to a folder. Raises FxscopeError."""
    fs, path = open_address(source.address)
    target = folder / Path(source.name).name
    try:
        fs.get_file(path, str(target))
    except Exception as error:  # each file system raises errors of its own
        raise FxscopeError(f"cannot fetch {source.address}: {_said(error)}.") from None
    return target


def _said(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")
