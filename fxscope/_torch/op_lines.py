"""The lines of operators: `a * b` calls no function that the profiler's Python tracer is told of.

An op that ran in a function of the user's, between two calls whose lines are known, is on the one line between them that
has such an operator. Where there are several lines, it is not known.
"""

import ast
import functools
import linecache
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch._C._profiler import _EventType as EventType

from fxscope.op_names import op_name, out_of_place

CALL = "Call"
_OPERATORS = {
    "Add": "add",
    "Sub": "sub rsub",
    "Mult": "mul",
    "Div": "div reciprocal",
    "MatMult": "matmul mm bmm mv dot",
    "Pow": "pow",
    "FloorDiv": "floor_divide",
    "Mod": "remainder",
    "USub": "neg",
    "Invert": "bitwise_not",
    "BitAnd": "bitwise_and __and__",
    "BitOr": "bitwise_or __or__",
    "BitXor": "bitwise_xor __xor__",
    "Compare": "eq ne lt le gt ge",
    "Subscript": "select slice index unsqueeze alias copy fill index_put view to item",
    "Test": "is_nonzero item",
}


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
    order = _evaluated(whole_path(place.file_name), place.function_name, place.line_number)
    anchors = {
        position: child.extra_fields.caller.line_number
        for position, child in enumerate(children)
        if child.tag in (EventType.PyCall, EventType.PyCCall)
    }
    found: dict[int, int | None] = {}
    for position in ops:
        before = next((anchors[at] for at in range(position - 1, -1, -1) if at in anchors), None)
        after = next((anchors[at] for at in range(position + 1, len(children)) if at in anchors), None)
        found[position] = _between(order, before, after, out_of_place(op_name(children[position].name)))
    return found


def _between(order: Sequence[tuple[str, int]], before: int | None, after: int | None, op: str) -> int | None:
    if before is not None and before == after:
        return before
    first = max((at for at, item in enumerate(order) if item == (CALL, before)), default=-1)
    last = min((at for at, item in enumerate(order) if item == (CALL, after)), default=len(order))
    between = order[first + 1 : last] if first < last else (*order[first + 1 :], *order[:last])  # once around a loop
    kinds = {kind for kind, names in _OPERATORS.items() if op in names.split()}
    fitting = {line for kind, line in between if kind != CALL and (not kinds or kind in kinds)}
    return fitting.pop() if len(fitting) == 1 else None


@functools.lru_cache(maxsize=1024)
def _evaluated(file: str, function: str, first_line: int) -> tuple[tuple[str, int], ...]:
    """(Kind, line) of the calls and operators of a function, in the order in which Python evaluates them."""
    tree = _tree(file)
    if tree is None:
        return ()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == function:
            starts = {node.lineno, *(item.lineno for item in node.decorator_list)}
            if first_line in starts:
                return tuple(_order(node.body))
    return tuple(_order(tree.body)) if function == "<module>" else ()


@functools.lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _order(body: Sequence[ast.AST]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            children = [node.value, *(child for child in children if child is not node.value)]
        for child in children:
            visit(child)
        if isinstance(node, (ast.BinOp, ast.AugAssign, ast.UnaryOp)):
            found.append((type(node.op).__name__, node.lineno))
        elif isinstance(node, (ast.Call, ast.Compare, ast.Subscript, ast.Attribute)):
            found.append((type(node).__name__, node.lineno))
        if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp)):
            found.append(("Test", node.test.lineno))

    for item in body:
        visit(item)
    return found
