"""The record: everything fxscope knows about one program, as frozen values.

A value that is not known is `None`, never zero and never a guess. Items refer to each other by id: a recording is a plain tree,
and its JSON form (`docs/schema.md`) is the same key for key. The types are `msgspec.Struct`s, which validate and encode
themselves (`docs/decisions/0002-msgspec.md`). Change one with `replace(item, field=value)`.
"""

from fxscope.model.base import *
from fxscope.model.calls import *
from fxscope.model.decisions import *
from fxscope.model.graphs import *
from fxscope.model.ops import *
from fxscope.model.recording import *
