"""The recording as JSON: the public contract of `docs/schema.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fxscope.model import Recording


def render(recording: Recording, *, indent: int = 1) -> str:
    """The recording as indented JSON, one key a line."""
    return msgspec.json.format(recording.to_json(), indent=indent) + "\n"
