"""Sources of a job's traces: a folder, files, or an address that fsspec knows (s3://, gs://, hf://, …)."""

import re
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.request import url2pathname

import msgspec

from fxscope.errors import FxscopeError
from fxscope.fleet.digest import rank_in
from fxscope.store import NOT_JSON, unmarked

_TRACE = re.compile(r"\.json(\.gz|\.zst)?$", re.IGNORECASE)
_REMOTE = re.compile(r"^[a-z][a-z0-9+.-]*(://|::)", re.IGNORECASE)
_ITERATION = re.compile(r"^(?:iteration|iter|step)[-_]?(\d+)$", re.IGNORECASE)  # torchtitan's folders
_HEAD_BYTES = 1 << 16


class Source(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # as shown
    address: str  # a path or a URL
    size: int  # bytes as stored


def is_remote(address: str) -> bool:
    """Return whether an address is a URL, or a chain of them (zip://::s3://bucket/job.zip)."""
    return bool(_REMOTE.match(address))


def latest(found: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """The traces of the last complete profile; and, where there are several, their folders, that one first.

    torchtitan makes a folder `iteration_N` each time that it profiles. Of those with the most traces the last one counts: a
    run that was stopped may have left a part of its last.
    """
    folders: dict[tuple[int, str], list[Source]] = {}
    for source in found:
        parts = PurePosixPath(source.name).parts[:-1] or Path(source.address).parts[-2:-1]
        numbered = next(((int(match[1]), part) for part in parts if (match := _ITERATION.match(part))), None)
        if numbered is None:
            return list(found), []
        folders.setdefault(numbered, []).append(source)
    if len(folders) < 2:
        return list(found), []
    chosen = max(folders, key=lambda key: (len(folders[key]), key))
    return folders[chosen], [chosen[1], *(name for _, name in sorted(folders) if name != chosen[1])]


def listed(places: Sequence[str], *, pattern: str | None = None) -> list[Source]:
    """The traces in folders, at addresses and of files, by rank where their names say one.

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
        if place.startswith("file://"):
            place = url2pathname(place.removeprefix("file://"))
        here = _remote(place, wanted) if is_remote(place) else local(Path(place), wanted)
        if not here:
            raise FxscopeError(
                f"{place} holds no trace{f' that {pattern!r} finds' if pattern else ''}: "
                "give a folder of .json or .json.gz files, one a rank."
            )
        found += here
    found = list({source.address: source for source in found}.values())
    return sorted(found, key=lambda source: (rank_in(source.name) is None, rank_in(source.name) or 0, source.name))


def local(path: Path, wanted: re.Pattern[str] | None = None) -> list[Source]:
    """The traces in a folder, or a file. Raises FxscopeError."""
    if not path.exists():
        raise FxscopeError(f"{path} does not exist: give a folder of traces, one a rank.")
    if path.is_file():
        return [_source(path, path.name)]
    files = sorted(item for item in path.rglob("*") if item.is_file() and not item.name.startswith("."))
    traces: list[Source] = []
    for item in files:
        name = item.relative_to(path).as_posix()
        if (
            _TRACE.search(item.name)
            and (wanted is None or wanted.search(name))
            and _may_be_trace(partial(item.open, "rb"))
        ):
            traces.append(_source(item, name))
    return traces


def _source(item: Path, name: str) -> Source:
    address = str(item.resolve())
    if address != address.encode(errors="replace").decode():
        raise FxscopeError(f"{item}: its name is not UTF-8, which the processes that read a job need. Rename it.")
    return Source(name=name, address=address, size=item.stat().st_size)


def _may_be_trace(opened: Callable[[], IO[bytes]]) -> bool:
    """Return whether a JSON file may be a trace. A damaged one may: the reader says what is wrong with it."""
    try:
        with opened() as file:
            head = file.read(_HEAD_BYTES)
    except Exception:  # each file system raises errors of its own
        return True
    if head[:4] == b"\x28\xb5\x2f\xfd":  # Zstandard: the reader says what is in it
        return True
    if head[:2] == b"\x1f\x8b":
        try:
            head = zlib.decompressobj(31).decompress(head, _HEAD_BYTES)
        except zlib.error:
            return True
    if b'"fxscope' in head[:200]:
        return False  # a digest, a recording, the output of this very command
    if b'"traceEvents"' in head or b'"schemaVersion"' in head or len(head) >= _HEAD_BYTES:
        return True
    try:
        msgspec.json.decode(unmarked(head, ""))
    except (*NOT_JSON, FxscopeError):
        return True
    return False


def _remote(address: str, wanted: re.Pattern[str] | None) -> list[Source]:
    fs, root = open_address(address)
    try:
        listed: dict[str, dict[str, Any]] = fs.find(root, detail=True)
    except Exception as error:  # each file system raises errors of its own
        raise FxscopeError(f"cannot list {address}: {first_line(error)}.") from None
    if not listed and not fs.exists(root):
        raise FxscopeError(f"{address} does not exist, or cannot be reached.")
    found: list[Source] = []
    for path, info in sorted(listed.items()):
        name = path[len(root) :].lstrip("/") or PurePosixPath(path).name
        if not _TRACE.search(name) or (wanted is not None and not wanted.search(name)):
            continue
        if rank_in(name) is None and not _may_be_trace(partial(fs.open, path, "rb")):
            continue
        size = int(info.get("size") or 0)
        found.append(Source(name=name, address=_address(fs, path, address), size=size))
    return found


def _address(fs: Any, path: str, listed: str) -> str:
    """The address of a file found by listing an address; in a chain, what lies behind stays."""
    first, chain, rest = listed.partition("::")
    if not chain:
        return str(fs.unstrip_protocol(path))
    if "://" in first:  # zip://::s3://bucket/job.zip: the path is one inside
        return f"{first.partition('://')[0]}://{path}::{rest}"
    return f"{first}::{path if is_remote(path) else rest.partition('://')[0] + '://' + path}"


def open_address(address: str) -> tuple[Any, str]:
    """(file system, path) of an address. Raises FxscopeError where fsspec or the file system's package is absent."""
    try:
        import fsspec
    except ImportError:
        raise FxscopeError(f"{address} is read with fsspec: pip install 'fxscope[fleet]'.") from None
    try:
        fs, path = fsspec.core.url_to_fs(address)
    except Exception as error:  # an unknown protocol, a package that is not there, credentials
        raise FxscopeError(f"cannot open {address}: {first_line(error)}.") from None
    return fs, path


def fetch(address: str, folder: Path) -> Path:
    """Copy a file from where it lies to a folder. Raises FxscopeError."""
    fs, path = open_address(address)
    target = folder / (PurePosixPath(path).name or "file")
    try:
        fs.get_file(path, str(target))
    except Exception as error:  # each file system raises errors of its own
        raise FxscopeError(f"cannot fetch {address}: {first_line(error)}.") from None
    return target


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its type."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")
