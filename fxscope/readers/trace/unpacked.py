"""A trace's bytes: the file as it is, or unpacked in bounded pieces (gzip, Zstandard); damage is said, not raised."""

from __future__ import annotations

import io
import re
import sys
import zlib
from typing import IO, TYPE_CHECKING, Any

from fxscope.errors import TraceError
from fxscope.text import listed

if TYPE_CHECKING:
    from pathlib import Path

ZSTANDARD = b"\x28\xb5\x2f\xfd"  # how such a file begins
PACKED_BYTES = 256 << 10  # read at a time


class Unpacked:
    """A gzip file read forwards; a truncated or damaged one gives all that can be unpacked, and says so in `damage`."""

    kind: str = "gzip"

    def __init__(self, path: Path) -> None:
        self.damage: str | None = None
        self._position = 0
        self._packed = b""
        self._file = path.open("rb")
        try:
            self._stream = self._begin()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the end."""
        parts: list[bytes] = []
        missing = size
        while missing > 0 and self.damage is None:
            try:
                data = self._piece(missing)
            except (MemoryError, OSError):  # of this machine, not of the file
                raise
            except Exception as error:  # zlib.error, isal's, EOFError, zstandard's
                self.damage = f"is damaged ({error})"
                break
            if data is None:
                break
            parts.append(data)
            missing -= len(data)
        result = b"".join(parts)
        self._position += len(result)
        return result

    def seek(self, position: int) -> None:
        """Go forwards to a place in the unpacked bytes."""
        while self._position < position and self.read(min(8 * PACKED_BYTES, position - self._position)):
            pass

    def _begin(self) -> Any:
        try:
            from isal import isal_zlib as fast  # pyright: ignore[reportMissingImports]
        except ImportError:
            fast = zlib
        return fast.decompressobj(31)

    def _piece(self, size: int) -> bytes | None:
        """Some of the next bytes, at most `size` of them; None at the end."""
        self._packed = self._packed or self._file.read(PACKED_BYTES)
        if not self._packed:
            if not self._stream.eof:
                self.damage = "ends early"
            return None
        if self._stream.eof:
            self._stream = self._begin()  # a file may be several streams, one after the other
        data = self._stream.decompress(self._packed, size)
        self._packed = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
        return data


class UnpackedZstandard(Unpacked):
    """The same for a Zstandard file."""

    kind: str = "Zstandard"

    def _begin(self) -> Any:
        return zstandard_file(self._file)

    def _piece(self, size: int) -> bytes | None:
        return self._stream.read1(size) or None


def zstandard_file(file: IO[bytes]) -> Any:
    """The unpacked stream of a Zstandard file. Raises TraceError where nothing here can unpack it."""
    try:
        from compression import zstd  # pyright: ignore - Python 3.14
    except ImportError:
        try:
            import zstandard  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise TraceError(
                f"{file.name} is packed with Zstandard, which Python {sys.version_info[0]}.{sys.version_info[1]} cannot "
                "unpack by itself: pip install zstandard, or unpack it with `zstd -d`."
            ) from None
        return io.BufferedReader(_Frames(file, zstandard.ZstdDecompressor()), 1 << 17)
    return zstd.ZstdFile(file)


class _Frames(io.RawIOBase):
    """Unpacks with the `zstandard` package, whose own stream says nothing of a file that ends within a frame."""

    def __init__(self, file: IO[bytes], decompressor: Any) -> None:
        self._file = file
        self._decompressor = decompressor
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            # One block of a few bytes may unpack to 128 KB: little is taken at a time.
            self._packed = self._packed or self._file.read(1 << 12)
            if not self._packed:
                if self._frame is not None and not self._frame.eof:
                    raise EOFError("it ends early")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            self._ready = memoryview(self._frame.decompress(self._packed))
            self._packed = self._frame.unused_data
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def open_trace(path: Path) -> IO[bytes] | Unpacked:
    """Open a trace for reading bytes, unpacked where it is packed. Raises TraceError where it cannot be read."""
    if path.is_dir():
        names = sorted(item.name for item in path.iterdir() if re.search(r"\.json(\.gz|\.zst)?$", item.name))
        raise TraceError(
            f"{path} is a folder: "
            + (f"name the trace in it ({listed(names)})" if names else "name the trace, a .json or .json.gz file")
            + f". The ranks of a job are read together with `fxscope fleet {path}`."
        )
    if path.is_fifo():
        raise TraceError(f"{path} is a pipe, and a trace is read more than once: write it to a file first.")
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        if magic == ZSTANDARD:
            return UnpackedZstandard(path)
        return Unpacked(path) if magic[:2] == b"\x1f\x8b" else path.open("rb")
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}.") from None
