"""Recording → Recording with one `Decision` per neighbouring pair: fused, rejected or never considered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fxscope.model import Recording


def fusion(recording: Recording) -> Recording:
    """Recording → Recording with one `Decision` per neighbouring pair."""
    return recording
