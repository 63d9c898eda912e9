"""Recording → Recording in which each kernel call is held against the device's limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fxscope.model import Recording


def cost(recording: Recording) -> Recording:
    """Recording → Recording in which each kernel call is held against the device's limits."""
    return recording
