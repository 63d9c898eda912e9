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
# C0 controls but tab, newline and return; an escape where it does not begin a colour or clear a line.
_OBEYED = re.compile(rf"[{UNSEEN}\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\x1b(?!\[[0-9;]*[mK])")


def legible(text: str) -> str:
    """Return the text with `\\u202e` for a right-to-left override, `\\x1b` for an escape, and so on."""
    return _OBEYED.sub(
        lambda found: f"\\{f'x{ord(found[0]):02x}' if found[0] < ' ' else f'u{ord(found[0]):04x}'}", text
    )


class LegibleStream:
    """A text stream that writes what can be read; what its encoding lacks becomes `?`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write to the stream beneath."""
        text = legible(text)
        try:
            return self._stream.write(text)
        except UnicodeEncodeError:
            encoding = self._stream.encoding
            return self._stream.write(text.encode(encoding, errors="replace").decode(encoding))


@contextlib.contextmanager
def legible_streams() -> Generator[None]:
    """Make stdout and stderr legible for a while."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = LegibleStream(sys.stdout), LegibleStream(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
