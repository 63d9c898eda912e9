"""A trace's bytes: the file as it is, or unpacked in bounded pieces (gzip, Zstandard); damage is said, not raised."""

import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal

from fxscope.errors import TraceError
from fxscope.store import opened

ZSTANDARD = b"\x28\xb5\x2f\xfd"  # how such a file begins
PACKED_BYTES = 256 << 10  # read at a time


class Unpacked:
    """A packed file read forwards; a truncated or damaged one gives all that can be unpacked, and says so in `damage`."""

    def __init__(self, path: Path, kind: Literal["gzip", "Zstandard"]) -> None:
        self.kind = kind
        self.damage: str | None = None
        self._begin = _gzip if kind == "gzip" else _zstandard(path)
        self._stream = self._begin()
        self._packed = b""
        self._ready = b""  # unpacked, and not asked for yet
        self._file = path.open("rb")

    def __enter__(self) -> "Unpacked":
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the end."""
        parts = [self._ready]
        missing = size - len(self._ready)
        while missing > 0 and self.damage is None:
            try:
                data = self._piece(missing)
            except (MemoryError, OSError):  # of this machine, not of the file
                raise
            except Exception as error:  # zlib.error, isal's, zstandard's
                self.damage = f"is damaged ({error})"
                break
            if data is None:
                break
            parts.append(data)
            missing -= len(data)
        unpacked = b"".join(parts)
        self._ready = unpacked[size:]
        return unpacked[:size]

    def _piece(self, size: int) -> bytes | None:
        """Some of the next bytes, of gzip at most `size`; None at the end."""
        is_gzip = self.kind == "gzip"
        # One block of a few bytes may unpack to 128 KB of Zstandard: little is taken at a time.
        self._packed = self._packed or self._file.read(PACKED_BYTES if is_gzip else 1 << 12)
        if not self._packed:
            if not self._stream.eof:
                self.damage = "ends early" if is_gzip else "is damaged (it ends early)"
            return None
        if self._stream.eof:
            self._stream = self._begin()  # a file may be several streams, one after the other
        data = self._stream.decompress(self._packed, size) if is_gzip else self._stream.decompress(self._packed)
        self._packed = self._stream.unused_data if self._stream.eof else getattr(self._stream, "unconsumed_tail", b"")
        return data


def _gzip() -> Any:
    try:
        from isal import isal_zlib as fast  # pyright: ignore[reportMissingImports]
    except ImportError:
        fast = zlib
    return fast.decompressobj(31)


def _zstandard(path: Path) -> Callable[[], Any]:
    """Return what makes a decompressor of one frame. Raises TraceError if nothing installed can unpack it."""
    try:
        from compression import zstd  # pyright: ignore - Python 3.14
    except ImportError:
        try:
            import zstandard  # pyright: ignore[reportMissingImports]
        except ImportError:
            how = "pip install zstandard, or unpack it with `zstd -d`"
            raise TraceError(f"{path} is packed with Zstandard, which this Python cannot unpack: {how}.") from None
        return zstandard.ZstdDecompressor().decompressobj
    return zstd.ZstdDecompressor


def open_trace(path: Path) -> IO[bytes] | Unpacked:
    """Open a trace for reading bytes, unpacked where it is packed. Raises TraceError where it cannot be read."""
    if path.is_dir():
        raise TraceError(f"{path} is a folder: name a trace in it. `fxscope fleet {path}` reads the ranks of a job.")
    with opened(path, TraceError) as file:
        magic = file.read(4)
    if magic == ZSTANDARD:
        return Unpacked(path, "Zstandard")
    return Unpacked(path, "gzip") if magic[:2] == b"\x1f\x8b" else path.open("rb")


def beginning(path: Path, size: int) -> bytes | None:
    """The first bytes of a file, unpacked where it is packed; `None` where it is no file, or cannot be read."""
    with suppress(OSError, TraceError, MemoryError):
        if path.is_file():  # a pipe has no second beginning
            with open_trace(path) as file:
                return file.read(size)
    return None
