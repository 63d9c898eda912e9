"""Lines of operators in a function: which of its code, between two calls, may have called an op."""

import dis
import functools
import re
from types import CodeType

from fxscope.data import read_table

CALL = "CALL"
# An operator's symbol or instruction, without what begins several: "BINARY_", "INPLACE_" → the ops that it may call.
_OPERATORS: dict[str, str] = read_table("operators.json")
_BINARY = re.compile("^(BINARY|INPLACE)_")
_OPS = {token: set(ops.split()) for tokens, ops in _OPERATORS.items() for token in tokens.split()}


@functools.lru_cache(maxsize=4096)
def line_between(code: CodeType | None, before: int | None, after: int | None, op: str) -> int | None:
    """The line of an op that an operator called, between the lines of two calls; None where it is not known."""
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
