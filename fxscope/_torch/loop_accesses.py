"""Live loop bodies → `MemoryDep`s: torch's own `read_writes`, and what those leave out: masks, and what is looked up.

A part of a `cat`, or what is padded, is loaded under a mask of loop variables: the place is written for what the mask leaves.
An address that is loaded or computed depends on some loop variables only: a rotary embedding's row on the position alone.
"""

import functools
import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from torch.utils._pytree import tree_leaves

from fxscope.model import MemoryDep
from fxscope.passes.footprint import number, strided

Bounds: TypeAlias = Mapping[Any, tuple[float, float]]  # loop variable → from, to

_text = functools.lru_cache(maxsize=4096)(str)  # sympy takes its time, and layers have the same indices
_KEPT = "fxscope_accesses"
_AND = ("and_", "logical_and", "bitwise_and")


class _Value(NamedTuple):
    """A value in a loop body: the loop variables on which it depends, and a text that is equal where values are."""

    on: frozenset[Any] = frozenset()
    text: str = ""
    expr: Any = None  # of an index or a constant
    bounds: Mapping[Any, tuple[float, float]] = {}  # of a mask: what it leaves


class LoopAccesses:
    def __init__(self, body: Any) -> None:
        self.loads: dict[str, list[MemoryDep | None]] = {}
        self.stores: dict[str, list[MemoryDep | None]] = {}
        self._body = body
        self._indirect: dict[Any, _Value] = {}
        self._block(body.root_block, {})

    def _block(self, block: Any, bounds: Bounds) -> _Value:
        values: dict[Any, _Value] = {}
        for node in block.graph.nodes:
            inputs = [values[item] for item in node.all_input_nodes]
            arguments = [
                values[item] if isinstance(item, type(node)) else _Value(text=str(item), expr=item)
                for item in node.args
            ]
            values[node] = self._value(str(node.target), arguments, inputs, bounds)
        return _joined("block", list(values.values()))

    def _value(self, target: str, arguments: list[_Value], inputs: list[_Value], bounds: Bounds) -> _Value:
        if target == "get_index":
            return self._index(self._body.indexing_exprs[arguments[0].text])
        if target in ("index_expr", "value_expr", "constant"):
            return arguments[1]
        if target in ("load", "load_seed"):
            self._keep(self.loads, arguments[1].text, arguments[2], bounds)
        elif target in ("store", "store_reduction"):
            self._keep(self.stores, arguments[1].text, arguments[2], bounds)
        elif target == "bucketize":
            self.loads.setdefault(arguments[2].expr[0], []).append(None)
        elif target.startswith("masked_subblock"):
            inside = self._block(self._body.subblocks[target], _both(bounds, arguments[0].bounds))
            return _joined("masked", [*arguments, inside])
        elif target.startswith("set_indirect"):
            self._indirect[target.removeprefix("set_")] = arguments[0]
        found = _joined(target, [*arguments, *inputs])
        if target in ("lt", "le", "gt", "ge"):
            return found._replace(bounds=_compared(target, arguments[1].expr, arguments[2].expr))
        if target in _AND:
            return found._replace(bounds=_both(arguments[1].bounds, arguments[2].bounds))
        return found

    def _index(self, expr: Any) -> _Value:
        """An index with what it is looked up by under a name that is equal where that is."""
        on, names = set[Any](), dict[Any, str]()
        for symbol in getattr(expr, "free_symbols", ()):
            behind = self._indirect.get(str(symbol))
            on |= behind.on if behind is not None else {symbol}
            if behind is not None:
                names[symbol] = f"indirect_{zlib.crc32(behind.text.encode()):x}"
        expr = expr.subs(names) if names else expr
        return _Value(frozenset(on), _text(expr), expr)

    def _keep(
        self, found: dict[str, list[MemoryDep | None]], buffer: str, place: _Value, bounds: Mapping[Any, Any]
    ) -> None:
        index, ranges = place.expr, list[tuple[str, int]]()
        for symbol in sorted(place.on, key=str):
            size = number(self._body.var_ranges.get(symbol))
            if size is None:
                found.setdefault(buffer, []).append(None)
                return
            low, high = (int(min(max(bound, 0), size)) for bound in bounds.get(symbol, (0, size)))
            index = index.subs(symbol, symbol + low) if low else index
            ranges.append((str(symbol), max(0, high - low)))
        if all(size for _, size in ranges):
            index = index.expand(identity=True) if hasattr(index, "expand") else index
            found.setdefault(buffer, []).append(MemoryDep(index=_text(index), ranges=tuple(ranges)))


def deps_of(node: Any, name: str, reading: bool, real: Mapping[str, str]) -> tuple[MemoryDep, ...] | None:
    """The places of a buffer that a (fused) node loads from, or stores to; `None` where all of it may be meant.

    `real`: version of a buffer → the memory, as torch keeps it. What adds to memory also reads it.
    """
    memory = real.get(name, name)
    if node.is_extern() and hasattr(node.node, "inputs"):
        return views_of(arguments_of(node.node, reading=reading), memory)
    found: list[MemoryDep | None] = []
    for member in node.get_nodes():
        every = member.read_writes.reads if reading else member.read_writes.writes
        used = [dep for dep in every if dep.name == name]
        if not used:
            continue
        body = getattr(member, "_body", None)
        if body is None:
            return None
        accesses = vars(body).get(_KEPT) or LoopAccesses(body)
        setattr(body, _KEPT, accesses)
        adds = any(getattr(dep, "mode", None) == "atomic_add" for dep in used)
        of_side = accesses.loads if reading and not adds else accesses.stores
        mine = [dep for buffer, deps in of_side.items() if real.get(buffer, buffer) == memory for dep in deps]
        if not (adds or any(type(dep).__name__ == "MemoryDep" for dep in used)):
            mine = [dep for dep in mine if dep is None]
        found += mine
    return None if None in found else tuple(dict.fromkeys(dep for dep in found if dep is not None))


def arguments_of(operation: Any, *, reading: bool) -> list[Any]:
    """The arguments that an extern reads, or that a Triton kernel of the user's reads or writes, by torch's analysis of it."""
    accesses = getattr(operation, "arg_accesses", None)
    if accesses is None:
        return tree_leaves(list(operation.inputs)) if reading else []
    touched = accesses.read_writes.reads if reading else accesses.read_writes.writes
    return [operation.kwargs[dep.name] for dep in touched if hasattr(operation.kwargs.get(dep.name), "get_name")]


def views_of(arguments: Iterable[Any], memory: str) -> tuple[MemoryDep, ...] | None:
    """The views of a buffer that an extern's arguments are; `None` where one has no size, or none before it runs."""
    found: list[tuple[MemoryDep, ...]] = []
    for argument in arguments:
        if getattr(argument, "get_name", lambda: None)() == memory:
            layout = argument.maybe_get_layout()
            found.append(strided(*(getattr(layout, name, None) for name in ("size", "stride", "offset"))))
    return tuple(dep for deps in found for dep in deps) if all(found) and found else None


def _joined(target: str, values: Iterable[_Value]) -> _Value:
    values = list(values)
    text = f"{target}({', '.join(value.text for value in values)})"
    text = text if len(text) < 200 else f"{target}_{zlib.crc32(text.encode()):x}"
    return _Value(frozenset[Any]().union(*(value.on for value in values)), text)


def _compared(comparison: str, index: Any, limit: Any) -> Bounds:
    """Return what a comparison of one loop variable, or one and a number, with a number leaves of it."""
    symbols = getattr(index, "free_symbols", ())
    if len(symbols) != 1 or number(limit) is None:
        return {}
    (variable,) = symbols
    offset = number(index - variable)
    if offset is None:
        return {}
    end = int(limit) - offset
    below = {"lt": (-math.inf, end), "le": (-math.inf, end + 1)}
    return {variable: {**below, "gt": (end + 1, math.inf), "ge": (end, math.inf)}[comparison]}


def _both(a: Bounds, b: Bounds) -> Bounds:
    whole = -math.inf, math.inf
    ends = {name: (a.get(name, whole), b.get(name, whole)) for name in {**a, **b}}
    return {name: (max(one[0], two[0]), min(one[1], two[1])) for name, (one, two) in ends.items()}
