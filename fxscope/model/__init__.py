"""The record: everything fxscope knows about one program, as frozen values.

Capture fills in the facts, passes add conclusions, renderers show both. A value that is not known is `None`, never zero
and never a guess. Items refer to each other by id, so a recording is a plain tree and its JSON form (`docs/schema.md`)
is the same thing key for key.

The types are `msgspec.Struct`s: frozen, slotted and keyword-only like a dataclass, and in addition they validate and
encode themselves (`docs/decisions/0002-msgspec.md`). Change one with `replace(item, field=value)`.
"""

from fxscope.model.base import *
from fxscope.model.calls import *
from fxscope.model.decisions import *
from fxscope.model.graphs import *
from fxscope.model.ops import *
from fxscope.model.recording import *
