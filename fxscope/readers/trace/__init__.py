"""Kineto traces: files → columns (`read`) → wanted steps (`keep`) → tables (`summarize`) or ops and launches (`recording`)."""

from fxscope.readers.trace.columns import Trace as Trace, read as read
from fxscope.readers.trace.items import recording as recording
from fxscope.readers.trace.kept import Kept as Kept, keep as keep
from fxscope.readers.trace.summary import summarize as summarize
