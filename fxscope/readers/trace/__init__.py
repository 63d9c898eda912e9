"""Kineto traces: files → numpy columns (`read`) → the ops and launches of the wanted steps (`recording`)."""

from fxscope.readers.trace.annotate import annotate as annotate
from fxscope.readers.trace.columns import Trace as Trace
from fxscope.readers.trace.columns import read as read
from fxscope.readers.trace.items import recording as recording
