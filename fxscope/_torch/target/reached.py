"""Objects that a call reaches: modules, tensors and optimizers that a program keeps in objects, closures and globals."""

import dis
import inspect
import sys
from collections.abc import Callable, Generator, Iterable, MutableMapping
from functools import partial
from types import CellType, CodeType, MethodType, ModuleType
from typing import Any

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from fxscope._torch import nodes

Variable = tuple[Any, Callable[[Any], None]]  # a value, and what replaces it where it is held


def reached(called: Any) -> tuple[list[Any], list[Variable]]:
    """Return what a call reaches, each once, and the variables that hold it.

    Followed are modules, functions (also wrapped and partial ones), and objects of classes that are not torch's or Python's.
    """
    found, variables = {id(called): called}, list[Variable]()
    queue = [called]
    for item in queue:  # grows on the way
        mine = list(_variables(item))
        variables += mine
        new = {id(leaf): leaf for leaf in tree_leaves([value for value, _ in mine]) if id(leaf) not in found}
        found |= new
        queue += new.values()
    return queue, variables


def _variables(item: Any) -> Generator[Variable]:
    if isinstance(item, MethodType):
        yield from _fixed(item.__self__, item.__func__)
    elif isinstance(item, partial):
        yield from _fixed(item.func, item.args, item.keywords)
    elif inspect.isfunction(item):
        yield from _fixed(getattr(item, "__wrapped__", None))
        cells = [cell for cell in item.__closure__ or () if cell != CellType()]
        yield from ((cell.cell_contents, partial(setattr, cell, "cell_contents")) for cell in cells)
        if nodes.is_user_file(item.__code__.co_filename):
            yield from _members(item.__globals__, _names(item.__code__))
    elif isinstance(item, nn.Module) or (_is_users(type(item)) and not isinstance(item, ModuleType | type | Tensor)):
        yield from _members(getattr(item, "__dict__", {}), [*getattr(item, "__dict__", ())])
        yield from _fixed(*(method for kind in type(item).__mro__ if _is_users(kind) for method in vars(kind).values()))


def _fixed(*values: Any) -> Generator[Variable]:
    return ((value, lambda value: None) for value in values)


def _members(owner: MutableMapping[str, Any], names: Iterable[str]) -> Generator[Variable]:
    return ((owner[name], partial(owner.__setitem__, name)) for name in names if name in owner)


def _names(code: CodeType) -> set[str]:
    """The globals that a function uses, also in functions inside of it."""
    own = {item.argval for item in dis.get_instructions(code) if item.opname == "LOAD_GLOBAL"}
    return own.union(*(_names(item) for item in code.co_consts if isinstance(item, CodeType)))


def _is_users(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return kind.__module__ != "builtins" and nodes.is_user_file(file)
