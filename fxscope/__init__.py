"""fxscope: which of my ops ran as which kernel, which were fused, why were these two not, and what did that cost?

`record` runs a program and returns a `Recording`; `load` reads one back. Importing this package imports neither torch
nor anything else that is slow: every public name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_NAMES = {
    "fxscope.capture": "record Recorder",
    "fxscope.store": "load",
    "fxscope.notebook": "load_ipython_extension",
    "fxscope.readers.join": "read_trace",
    "fxscope.model": "Recording",
    "fxscope.errors": "FxscopeError CaptureError TraceError PassError RenderError",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*sorted(_HOME), "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:
    from fxscope.capture import Recorder as Recorder, record as record
    from fxscope.errors import (
        CaptureError as CaptureError,
        FxscopeError as FxscopeError,
        PassError as PassError,
        RenderError as RenderError,
        TraceError as TraceError,
    )
    from fxscope.model import Recording as Recording
    from fxscope.notebook import load_ipython_extension as load_ipython_extension
    from fxscope.readers.join import read_trace as read_trace
    from fxscope.store import load as load


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'fxscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
