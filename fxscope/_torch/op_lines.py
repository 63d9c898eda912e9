"""The lines of operators: `a * b` calls no function that the profiler's Python tracer is told of.

An op that ran in a function of the user's, between two calls whose lines are known, is on the one line between them that
has such an operator. Where there are several lines, it is not known.
"""

import functools
import itertools
import linecache
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import torch
from torch._C._profiler import _EventType as EventType

from fxscope._torch.quiet import quiet
from fxscope.op_names import op_name, out_of_place
from fxscope.readers.operators import line_between


@functools.lru_cache(maxsize=4096)
def whole_path(file: str) -> str:
    """A file as Python names it: the tracer leaves out the folder of `sys.path` that it is in."""
    if Path(file).is_absolute() or file.startswith("<"):
        return file
    folders = [*sys.path, str(Path(torch.__file__).parents[1])]
    found = (str(Path(folder, file).absolute()) for folder in folders)
    return next((path for path in found if is_there(path)), file)


def is_there(file: str) -> bool:
    """Return whether a file exists; its name may be any text, as that of code which is gone is."""
    try:
        return Path(file).exists()
    except (OSError, ValueError):  # too long, or with null bytes
        return False


def lines_of_operators(frame: Any, children: Sequence[Any]) -> dict[int, int | None]:
    """Position of each op among the children of a Python call → its line; None where it is not known."""
    ops = [position for position, child in enumerate(children) if child.tag == EventType.TorchOp]
    if not ops:
        return {}
    place = frame.extra_fields.callsite
    code = _code(whole_path(place.file_name), place.function_name, place.line_number)
    calls = [
        child.extra_fields.caller.line_number if child.tag in (EventType.PyCall, EventType.PyCCall) else None
        for child in children
    ]
    before = list(itertools.accumulate(calls, lambda last, line: last if line is None else line))
    after = list(itertools.accumulate(reversed(calls), lambda last, line: last if line is None else line))[::-1]
    return {at: line_between(code, before[at], after[at], out_of_place(op_name(children[at].name))) for at in ops}


@functools.lru_cache(maxsize=1024)
def _code(file: str, function: str, first_line: int) -> CodeType | None:
    todo = [_whole(file)]
    while todo:
        code = todo.pop()
        if code is not None and code.co_name == function and first_line in (code.co_firstlineno, 0):
            return code
        todo += [item for item in code.co_consts if isinstance(item, CodeType)] if code is not None else []
    return None


@functools.lru_cache(maxsize=64)
def _whole(file: str) -> CodeType | None:
    try:
        with quiet():
            return compile("".join(linecache.getlines(file)), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
