"""The real captures of `tests/data/h200`: each is read once in a process, whoever asks for it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fxscope.commands import common
from fxscope.model import Recording

H200 = Path(__file__).parent / "data" / "h200"
CAPTURES = {"/".join(path.parent.relative_to(H200).parts): path.parent for path in sorted(H200.rglob("trace.json.gz"))}


@cache
def read(path: Path | str) -> Recording:
    """The recording of a folder or file; a name without a root is one of the H200's."""
    return common.read(str(H200 / path))
