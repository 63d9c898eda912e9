"""Escape characters that a terminal obeys, hides or reorders: a name in a recording is data, never an instruction.

A kernel's or a file's name may hold anything: escape sequences that move the cursor or set the title, bidirectional
controls that show `exe.png` for `gnp.exe`, characters of no width.
"""

import contextlib
import io
import re
import shutil
import sys
from collections.abc import Generator
from typing import Any

from fxscope.errors import RenderError

# What text renderers reorder, hide or break lines at: left-to-right marks, embeddings, isolates, separators, controls;
# all that Unicode calls default-ignorable (tags and selectors carry whole texts unseen), but for the two of emoji;
# the two of the first 65,536 that are no characters, which XML cannot hold.
UNSEEN = (
    "\u0080-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Every control but tab and newline.
_OBEYED = re.compile(rf"[{UNSEEN}\x00-\x08\x0b-\x1f\x7f]")


def screen_width() -> int:
    """Return how wide a view is: as the terminal, 80 columns where there is none."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80


def legible(text: str) -> str:
    """The text with `\\u202e` for a right-to-left override, `\\x1b` for an escape, and so on."""
    return _OBEYED.sub(written, text)


def written(found: re.Match[str]) -> str:
    """A character as Python and JSON write it; one beyond 16 bits as JSON does."""
    if found[0] < " ":
        return f"\\x{ord(found[0]):02x}"
    return "".join(f"\\u{unit:04x}" for unit in memoryview(found[0].encode("utf-16")[2:]).cast("H"))


class LegibleStream:
    """A text stream that writes what can be read; what its encoding lacks becomes `?`.

    A standard output that takes nothing is a RenderError, but a reader that went away stays a BrokenPipeError. Errors
    of a standard error (`told=False`) are dropped.
    """

    def __init__(self, stream: Any, *, told: bool = True) -> None:
        self.beneath: Any = getattr(stream, "beneath", stream) or io.TextIOWrapper(io.BytesIO())
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)

    def write(self, text: str) -> int:
        encoding = getattr(self.beneath, "encoding", None) or "utf-8"
        text = legible(text).encode(encoding, errors="replace").decode(encoding)
        with _errors(told=self._told):
            if self._told and text[:1] not in ("{", "[", "\n") and self.beneath.isatty():
                from fxscope.render import colours

                colours.write(self.beneath, text)
            else:
                self.beneath.write(text)
        return len(text)

    def flush(self) -> None:
        with _errors(told=self._told):
            self.beneath.flush()


@contextlib.contextmanager
def _errors(*, told: bool = True) -> Generator[None]:
    """Raise RenderError where standard output takes nothing; with `told=False` raise nothing."""
    try:
        yield
    except (OSError, ValueError) as error:
        if told and isinstance(error, BrokenPipeError):
            raise
        is_binary = isinstance(error, UnicodeDecodeError)
        why = "it takes only text, use -o FILE" if is_binary else getattr(error, "strerror", None) or error
        if told:
            raise RenderError(f"cannot write to standard output: {why}.") from None


def write_bytes(data: bytes | bytearray) -> None:
    """Write to stdout as it is, or as text where that takes no bytes (a notebook's). Raises RenderError, BrokenPipeError."""
    stdout = LegibleStream(sys.stdout)
    with _errors():
        stdout.flush()
        if hasattr(stdout, "buffer"):
            stdout.buffer.write(data)
            stdout.buffer.flush()
        else:
            stdout.write(data.decode())


@contextlib.contextmanager
def legible_streams() -> Generator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = LegibleStream(sys.stdout), LegibleStream(sys.stderr, told=False)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
