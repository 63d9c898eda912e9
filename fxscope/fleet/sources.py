"""The traces of a job: in folders, or named one by one."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fxscope.errors import FxscopeError
from fxscope.fleet.digest import rank_in
from fxscope.readers.trace.unpacked import beginning
from fxscope.store import NOT_JSON, unmarked

TRACE = re.compile(r"\.json(\.gz|\.zst)?$", re.IGNORECASE)
_HEAD_BYTES = 1 << 16
_ANY = re.compile("")


class Source(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # as shown
    path: str
    size: int  # bytes as stored


def listed(places: Sequence[str], *, pattern: str | None = None) -> list[Source]:
    """The traces in folders and files, by rank where their names say one; `pattern` finds those that are wanted.

    Raises FxscopeError where a place does not exist or holds no trace, and for a pattern that is not a regular expression.
    """
    try:
        wanted = re.compile(pattern or "")
    except re.error as error:
        raise FxscopeError(f"--pattern {pattern!r} is not a regular expression: {error}.") from None
    found: dict[str, Source] = {}
    for place in places:
        here = local(Path(place), wanted)
        if not here:
            raise FxscopeError(
                f"{place} holds no trace{f' that {pattern!r} finds' if pattern else ''}: "
                "give a folder of .json or .json.gz files, one a rank."
            )
        found |= {source.path: source for source in here}
    return sorted(found.values(), key=lambda item: (rank_in(item.name) is None, rank_in(item.name) or 0, item.name))


def local(path: Path, wanted: re.Pattern[str] = _ANY) -> list[Source]:
    """The traces in a folder, or a file. Raises FxscopeError."""
    if not path.exists():
        raise FxscopeError(f"{path} does not exist: give a folder of traces, one a rank.")
    if path.is_file():
        return [_source(path, path.name)]
    files = {item.relative_to(path).as_posix(): item for item in sorted(path.rglob("*"))}
    return [
        _source(item, name)
        for name, item in files.items()
        if TRACE.search(name) and not item.name.startswith(".") and wanted.search(name) and _may_be_trace(item)
    ]


def _source(item: Path, name: str) -> Source:
    path = str(item.resolve())
    if path != path.encode(errors="replace").decode():
        raise FxscopeError(f"{item}: its name is not UTF-8, which the processes that read a job need. Rename it.")
    return Source(name=name, path=path, size=item.stat().st_size)


def _may_be_trace(item: Path) -> bool:
    """Return whether a JSON file may be a trace. A damaged one may: the reader says what is wrong with it."""
    head = beginning(item, _HEAD_BYTES)
    if head is None:
        return item.is_file()
    if b'"fxscope' in head[:200]:
        return False  # a digest, a recording, the output of this very command
    if b'"traceEvents"' in head or b'"schemaVersion"' in head or len(head) >= _HEAD_BYTES:
        return True
    try:
        msgspec.json.decode(unmarked(head, ""))
    except (*NOT_JSON, FxscopeError):
        return True
    return False
