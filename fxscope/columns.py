"""Sequences of frozen items that are columns inside: made when they are looked at, and not at all by what reads columns.

A recording's `ops` and `launches` are tuples, or `Items` where there may be millions. `column` and `with_columns` work
on both, so that a pass over every event need not make one.
"""

import contextlib
import gc
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar, overload

import msgspec
import numpy as np

from fxscope.model import Item, encoded, replace

T = TypeVar("T", bound=Item)
BLOCK = 1024  # items that are made at a time


class Numbers(NamedTuple):
    """A numpy array of integers; where `none` is given, that number stands for `None`."""

    array: Any
    none: int | None = None

    def take(self, which: slice | list[int]) -> list[int | None]:
        values = self.array[which].tolist()
        return values if self.none is None else [None if value == self.none else value for value in values]


class Chosen(NamedTuple):
    """Few values for many items: a numpy array has the position of each item's value in a table, -1 for `None`."""

    codes: Any
    table: Any

    def take(self, which: slice | list[int]) -> list[Any]:
        table = self.table
        return [table[code] if code >= 0 else None for code in self.codes[which].tolist()]


class Given(NamedTuple):
    values: Sequence[Any]

    def take(self, which: slice | list[int]) -> list[Any]:
        values = self.values
        return list(values[which]) if isinstance(which, slice) else [values[position] for position in which]


class Made(NamedTuple):
    """Values that a function makes of some items, given as a slice or their positions."""

    take: Callable[[Any], list[Any]]


Column = Numbers | Chosen | Given | Made  # one field of every item; `take` has the values of some


class Items(Sequence[T], Generic[T]):
    """A sequence like a tuple of items: equal to one, hashed as one, a slice of it is one. A pickle or copy is a tuple."""

    __slots__ = ("_length", "columns", "kind")

    def __init__(self, type_: type[T], length: int, columns: dict[str, Column]) -> None:
        """Take the columns by the names of the type's fields; a field without one has its default."""
        self.kind = type_
        self._length = length
        self.columns = columns

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self.at(list(range(*index.indices(self._length)))))
        return self.at([range(self._length)[index]])[0]  # as a tuple: counts from the end, IndexError outside

    def __iter__(self) -> Iterator[T]:
        for start in range(0, self._length, BLOCK):
            yield from self._made(slice(start, start + BLOCK))

    def at(self, positions: list[int]) -> list[T]:
        starts = range(0, len(positions), BLOCK)
        return [item for start in starts for item in self._made(positions[start : start + BLOCK])]

    def _made(self, which: slice | list[int]) -> list[T]:
        make, names = self.kind, tuple(self.columns)
        columns = [column.take(which) for column in self.columns.values()]
        return [make(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | Items):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)

    def column(self, field: str, which: slice | list[int]) -> list[Any]:
        if field in self.columns:
            return self.columns[field].take(which)
        known = next(item for item in msgspec.structs.fields(self.kind) if item.name == field)
        default: Any = known.default_factory() if known.default is msgspec.NODEFAULT else known.default  # type: ignore[misc]
        return [default] * len(which if isinstance(which, list) else range(self._length)[which])

    def replaced(self, columns: Mapping[str, Column]) -> "Items[T]":
        return type(self)(self.kind, self._length, {**self.columns, **columns})


class KeptItems(Items[T]):
    """Items that are kept once they are made, for what is looked at many times: the nodes of a trace's graph."""

    __slots__ = ("_made_items",)

    def __init__(self, type_: type[T], length: int, columns: dict[str, Column]) -> None:
        super().__init__(type_, length, columns)
        self._made_items: dict[int, T] = {}

    def __iter__(self) -> Iterator[T]:
        with uncollected():
            return iter(self.at(list(range(self._length))))

    def at(self, positions: list[int]) -> list[T]:
        made = self._made_items
        missing = [position for position in positions if position not in made]
        made.update(zip(missing, super().at(missing), strict=True))
        return [made[position] for position in positions]


class ByName(Mapping[str, Any]):
    """Items by their name, each made when it is asked for."""

    def __init__(self, items: Items[Any]) -> None:
        self._items = items
        self._rows = {name: row for row, name in enumerate(column(items, "name"))}

    def __getitem__(self, name: str) -> Any:
        return self._items[self._rows[name]]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def by_name(items: Sequence[Any]) -> Mapping[str, Any]:
    return ByName(items) if isinstance(items, Items) else {item.name: item for item in items}


@contextlib.contextmanager
def uncollected() -> Generator[None]:
    """Hold Python's garbage collector while many items are made, none of them in a cycle: it would look at each, often."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                gc.freeze()  # what was made goes to the oldest generation, unseen: the youngest would be looked at now
                gc.unfreeze()
            gc.enable()


def column(items: Sequence[Any], field: str, which: slice | list[int] = slice(None)) -> list[Any]:
    """A field of every item, `Items` or tuple, or of those at some positions."""
    if isinstance(items, Items):
        return items.column(field, which)
    return [getattr(item, field) for item in picked(items, which)]


def rows_of(items: Sequence[Any], *fields: str, which: slice | list[int] = slice(None)) -> Iterator[tuple[Any, ...]]:
    """Several fields of every item, a tuple for each, or of those at some positions."""
    # Of few at a time several fields may be made at once.
    parts = (
        [which[start : start + BLOCK] for start in range(0, len(which), BLOCK)] if isinstance(which, list) else [which]
    )
    return chain.from_iterable(zip(*(column(items, field, part) for field in fields), strict=True) for part in parts)


def distinct(items: Sequence[Any], field: str) -> set[Any]:
    codes, table = coded(items, field)
    return {table[code] if code >= 0 else None for code in np.unique(codes).tolist()}


def array(items: Sequence[Any], field: str) -> Any:
    """A field of whole numbers as a numpy array, with -1 for `None`."""
    found = items.columns.get(field) if isinstance(items, Items) else None
    if isinstance(found, Numbers) and found.none in (None, -1):
        return found.array.astype(np.int64)
    return np.array([-1 if value is None else value for value in column(items, field)], np.int64)


def coded(items: Sequence[Any], field: str, which: list[int] | None = None) -> tuple[Any, Any]:
    """A field, or that of some items, as a numpy array of codes, and the values by their code; -1 may stand for `None`."""
    found = items.columns.get(field) if isinstance(items, Items) else None
    if isinstance(found, Chosen) and which is None:
        return found.codes, found.table
    known: dict[Any, int] = {}
    values = column(items, field, slice(None) if which is None else which)
    codes = np.array([known.setdefault(value, len(known)) for value in values], np.int64)
    if isinstance(items, Items) and isinstance(found, Given) and which is None:
        items.columns[field] = Chosen(codes, list(known))  # the same values, coded once
    return codes, list(known)


def ordered(items: Sequence[Any], field: str) -> tuple[Any, list[Any]]:
    """A field as a numpy array of codes, and its different values in the order of the items that first have them."""
    found = items.columns.get(field) if isinstance(items, Items) else None
    every = () if isinstance(found, Chosen) else column(items, field)  # which keeps the objects, and so their ids
    codes = found.codes if isinstance(found, Chosen) else np.array([*map(id, every)], np.int64)
    _, firsts, codes = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    values = column(items, field, firsts[order].tolist())
    keys = values if all(isinstance(value, str) for value in values) else map(encoded, values)  # some cannot be keys
    known: dict[Any, tuple[int, Any]] = {}
    places = [known.setdefault(key, (len(known), value))[0] for key, value in zip(keys, values, strict=True)]
    return np.array(places, np.int32)[np.argsort(order)][codes], [value for _, value in known.values()]


def marked(items: Sequence[Any], field: str, test: Callable[[Any], Any]) -> Any:
    """For each item, as a numpy array, whether the field's value passes a test, which is asked once a value."""
    codes, table = coded(items, field)
    used = np.unique(codes).tolist()
    answers = np.zeros(max(used, default=-1) + 2, np.bool_)  # the last one is for -1
    for code in used:
        answers[code] = bool(test(table[code] if code >= 0 else None))
    return answers[codes]


def positions(items: Sequence[Any], field: str, wanted: Any) -> Any:
    """For each number of an array the position of the item with it, -1 for none; a field's values differ."""
    numbers = array(items, field)
    wanted = np.asarray(wanted, np.int64)
    if np.array_equal(numbers, np.arange(len(numbers))):  # ids of a trace
        return np.where((wanted >= 0) & (wanted < len(numbers)), wanted, -1)
    order = np.argsort(numbers, kind="stable")
    found = order[np.searchsorted(numbers[order], wanted).clip(max=len(numbers) - 1)]
    return np.where(numbers[found] == wanted, found, -1)


def different(*columns: Any) -> tuple[Any, Any]:
    """The number of each row of some arrays among the different rows, and the position where each of these is first."""
    order = np.lexsort(columns[::-1])
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = np.any([values[order[1:]] != values[order[:-1]] for values in columns], axis=0)
    codes = np.empty(len(order), np.int64)
    codes[order] = np.cumsum(is_new) - 1
    return codes, order[is_new]


def with_columns(items: Sequence[T], **values: Sequence[Any] | Chosen) -> Sequence[T]:
    """The items with other values of some fields, each given for every item."""
    columns = {field: given if isinstance(given, Chosen) else Given(given) for field, given in values.items()}
    if isinstance(items, Items):
        return items.replaced(columns)
    rows = zip(*(given.take(slice(None)) for given in columns.values()), strict=True)
    return tuple(replace(item, **dict(zip(columns, row, strict=True))) for item, row in zip(items, rows, strict=True))


def picked(items: Sequence[T], which: slice | list[int], *fields: str) -> Sequence[T]:
    """The items, `Items` or of a tuple, at some positions; where fields are named, `Items` are made with these alone."""
    if isinstance(which, slice):
        return items[which]
    if not isinstance(items, Items):
        return [items[position] for position in which]
    if fields:
        items = Items(items.kind, len(items), {name: items.columns[name] for name in fields if name in items.columns})
    return items.at(which)
