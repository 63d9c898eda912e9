"""Kineto traces: files → numpy columns (`read`) → the ops and launches of the wanted steps (`recording`)."""

from fxscope.trace.annotate import annotate as annotate
from fxscope.trace.columns import Trace as Trace
from fxscope.trace.columns import read as read
from fxscope.trace.items import recording as recording
