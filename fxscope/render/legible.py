"""What a terminal obeys, hides or reorders, written out: a name in a recording is data, never an instruction.

A kernel's or a file's name may hold anything: escape sequences that move the cursor or set the title, bidirectional
controls that show `exe.png` for `gnp.exe`, characters of no width. Colours of our own pass.
"""

from __future__ import annotations

import contextlib
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

# What text renderers reorder, hide or break lines at: left-to-right marks, embeddings, isolates, separators, controls.
UNSEEN = "\u0080-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
# Every control but tab and newline.
_OBEYED = re.compile(rf"[{UNSEEN}\x00-\x08\x0b-\x1f\x7f]")
_COLOURED = re.compile(rf"[{UNSEEN}\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]|\x1b(?!\[[0-9;]*m)")


def legible(text: str) -> str:
    """Return the text with `\\u202e` for a right-to-left override, `\\x1b` for an escape, and so on."""
    return _OBEYED.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    return f"\\{f'x{ord(found[0]):02x}' if found[0] < ' ' else f'u{ord(found[0]):04x}'}"


class LegibleStream:
    """A text stream that writes what can be read; what its encoding lacks becomes `?`."""

    def __init__(self, stream: Any, *, colours: bool = False) -> None:
        """Wrap a stream; with `colours`, for text whose names were made legible before it was coloured."""
        self.beneath = stream.beneath if isinstance(stream, LegibleStream) else stream
        self._obeyed = _COLOURED if colours else _OBEYED

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)

    def write(self, text: str) -> int:
        """Write to the stream beneath."""
        text = self._obeyed.sub(_written, text)
        try:
            return self.beneath.write(text)
        except UnicodeEncodeError:
            encoding = self.beneath.encoding
            return self.beneath.write(text.encode(encoding, errors="replace").decode(encoding))


def status(text: str, *, end: str = "") -> None:
    """Write a line to stderr over the one that stands there."""
    stream = getattr(sys.stderr, "beneath", sys.stderr)
    print(f"\r\x1b[2K{legible(text)}", end=end, file=stream, flush=True)


@contextlib.contextmanager
def legible_streams() -> Generator[None]:
    """Make stdout and stderr legible for a while."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = LegibleStream(sys.stdout), LegibleStream(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
