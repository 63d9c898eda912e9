"""The lines of operators: `a * b` calls no function that the profiler's Python tracer is told of.

An op that ran in a function of the user's, between two calls whose lines are known, is on the one line between them that
has such an operator. Where there are several lines, it is not known.
"""

import dis
import functools
import itertools
import linecache
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import torch
from torch._C._profiler import _EventType as EventType

from fxscope._torch.quiet import quiet
from fxscope.op_names import op_name, out_of_place

CALL = "CALL"
# An operator's symbol or instruction, without what begins several: "BINARY_", "INPLACE_" → the ops that it may call.
_OPERATORS = {
    "+ += ADD": "add",
    "- -= SUBTRACT": "sub rsub",
    "* *= MULTIPLY": "mul",
    "/ /= TRUE_DIVIDE": "div reciprocal",
    "@ @= MATRIX_MULTIPLY": "matmul mm bmm mv dot",
    "** **= POWER": "pow",
    "// //= FLOOR_DIVIDE": "floor_divide",
    "% %= MODULO": "remainder",
    "UNARY_NEGATIVE": "neg",
    "UNARY_INVERT": "bitwise_not",
    "& &= AND": "bitwise_and __and__",
    "| |= OR": "bitwise_or __or__",
    "^ ^= XOR": "bitwise_xor __xor__",
    "COMPARE_OP": "eq ne lt le gt ge",
    "[] SUBSCR SLICE STORE_SUBSCR STORE_SLICE": "select slice index unsqueeze alias copy fill index_put view to item",
    "JUMP": "is_nonzero item",
    "LOAD_ATTR LOAD_METHOD": "",
}
_BINARY = re.compile("^(BINARY|INPLACE)_")
_OPS = {token: set(ops.split()) for tokens, ops in _OPERATORS.items() for token in tokens.split()}


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
    return {at: _between(code, before[at], after[at], out_of_place(op_name(children[at].name))) for at in ops}


@functools.lru_cache(maxsize=4096)
def _between(code: CodeType | None, before: int | None, after: int | None, op: str) -> int | None:
    if before is not None and before == after:
        return before
    order = _evaluated(code)
    first = max((at for at, item in enumerate(order) if item == (CALL, before)), default=-1)
    last = min((at for at, item in enumerate(order) if item == (CALL, after)), default=len(order))
    between = order[first + 1 : last] if first < last else (*order[first + 1 :], *order[:last])  # once around a loop
    kinds = {kind for kind, names in _OPS.items() if op in names}
    fitting = {line for kind, line in between if kind != CALL and (not kinds or kind in kinds)}
    return fitting.pop() if len(fitting) == 1 else None


@functools.lru_cache(maxsize=1024)
def _evaluated(code: CodeType | None) -> tuple[tuple[str, int], ...]:
    """(Kind, line) of the calls and operators of a function, in the order in which Python evaluates them."""
    found: list[tuple[str, int]] = []
    line = 0
    for instruction in dis.get_instructions(code) if code is not None else ():
        positions = getattr(instruction, "positions", None)  # not in Python 3.10
        line = positions.lineno if positions is not None else instruction.starts_line or line
        kind = _kind(instruction)
        if line is not None and (kind == CALL or kind in _OPS):
            found.append((kind, line))
    return tuple(found)


def _kind(instruction: dis.Instruction) -> str:
    name = instruction.opname
    if name == "BINARY_OP":
        return instruction.argrepr
    return CALL if name.startswith("CALL") else "JUMP" if "JUMP" in name and "_IF_" in name else _BINARY.sub("", name)


@functools.lru_cache(maxsize=1024)
def _code(file: str, function: str, first_line: int) -> CodeType | None:
    """The code of a function of a file, None where it is not there."""
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
