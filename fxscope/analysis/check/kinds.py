"""Kinds of expectations, from `data/check_kinds.json`: one row for each. `fxscope check --kinds` prints them."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Literal

import msgspec

from fxscope.data import read_text


class Kind(msgspec.Struct, frozen=True):
    # A number; what is expected at each place; the same, or a number for every kernel; names; its own form.
    takes: Literal["number", "table", "number or table", "names", "own"]
    function: str = msgspec.field(name="read")  # of this package
    help: str
    example: str = ""
    of_each: Any = None  # expected at each of the names
    expected: str = "{place} {wanted}"  # in words
    across: bool = False  # names its own recordings, so that it is held once and not against each recording
    options: dict[str, Any] = {}

    def read(self, context: Any, value: object) -> Iterable[Any]:
        """(Fact, what is shown[, reason]) of a place; of an own form the rows."""
        module, name = self.function.split(".")
        return getattr(import_module(f"fxscope.analysis.check.{module}"), name)(context, value, **self.options)


KINDS = msgspec.json.decode(read_text("check_kinds.json"), type=dict[str, Kind])


def help_of_kinds() -> str:
    return "\n".join(
        f"{name:17} {kind.help}{f': `{name} = {kind.example}`' if kind.example else ''}."
        for name, kind in KINDS.items()
    )
