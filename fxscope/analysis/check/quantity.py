"""Expected numbers as people write them: 4, "<= 5", [3, 5], "0.7..0.8", "~ 38.7e9", ">= 50 MB", "< 60 us"."""

from __future__ import annotations

import re
import sys
from math import isinf
from typing import Any, NamedTuple, cast

from fxscope.errors import PassError
from fxscope.text import shorten

_UNITS = {
    "": 1.0,
    "%": 0.01,
    "b": 1.0,
    "kb": 1e3,
    "mb": 1e6,
    "gb": 1e9,
    "tb": 1e12,
    "ns": 1e-3,
    "us": 1.0,
    "µs": 1.0,
    "ms": 1e3,
    "s": 1e6,
    "flop": 1.0,
    "gflop": 1e9,
    "tflop": 1e12,
    "gb/s": 1e9,
    "tb/s": 1e12,
}
_NUMBER = r"[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_ONE = re.compile(rf"(?P<sign><=|>=|==|!=|<|>|=|~)?\s*(?P<number>{_NUMBER})\s*(?P<unit>[a-zA-Zµ%/]*)")
_RANGE = re.compile(
    rf"(?P<low>{_NUMBER})\s*(?P<low_unit>[a-zA-Zµ%/]*?)\s*(?:\.\.|\bto\b)\s*(?P<high>{_NUMBER})\s*(?P<unit>[a-zA-Zµ%/]*)"
)
ABOUT = 0.02  # what "~" allows either way


class Quantity(NamedTuple):
    """An interval that a number is expected in."""

    text: str
    low: float
    high: float
    low_open: bool = False
    high_open: bool = False
    negated: bool = False  # "!= 3"

    def holds(self, value: float) -> bool:
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return (above and below) != self.negated

    def overlaps(self, low: float, high: float) -> bool:
        """Return whether some number between the two would be as expected."""
        return self.negated or (high >= self.low and low <= self.high)


def parse(value: object) -> Quantity:
    """Parse an expected number. Raises PassError saying what can be written."""
    infinity = float("inf")
    if isinstance(value, bool):
        raise PassError(f"{value} is not a number.")
    pair = cast("list[Any]", value) if isinstance(value, (list, tuple)) else []
    given = [item for item in (value, *pair) if isinstance(item, (int, float))]
    if any(not abs(item) <= sys.float_info.max for item in given):  # nor nan
        raise (
            PassError(f"{value:.3g} is not a number that anything can be.")
            if isinstance(value, float)
            else PassError("a number of more than 308 digits is not a number that anything can be.")
        )
    if isinstance(value, (int, float)):
        return Quantity(f"{value:g}" if abs(value) < 1e6 else f"{value}", float(value), float(value))
    if len(pair) == 2 and all(isinstance(v, (int, float)) for v in pair):
        low, high = float(pair[0]), float(pair[1])
        if low > high:
            raise PassError(f"[{pair[0]}, {pair[1]}] is an empty range: the smaller number comes first.")
        return Quantity(f"{low:g} to {high:g}", low, high)
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 200:
            raise PassError(f"{text[:40]!r}… is not a number: it has {len(text):,} characters.")
        if found := _RANGE.fullmatch(text):
            unit = unit_of(found["unit"], text)
            low_unit = unit_of(found["low_unit"], text) if found["low_unit"] else unit
            low, high = number(found["low"], low_unit), number(found["high"], unit)
            if low > high:
                raise PassError(f"{text!r} is an empty range: the smaller number comes first.")
            return Quantity(text, low, high)
        if found := _ONE.fullmatch(text):
            amount, sign = number(found["number"], unit_of(found["unit"], text)), found["sign"] or "="
            if sign == "~":
                low, high = sorted((amount * (1 - ABOUT), amount * (1 + ABOUT)))
                return Quantity(text, low, high)
            low = amount if sign in (">", ">=", "=", "==", "!=") else -infinity
            high = amount if sign in ("<", "<=", "=", "==", "!=") else infinity
            return Quantity(text, low, high, low_open=sign == ">", high_open=sign == "<", negated=sign == "!=")
    raise PassError(
        f'{value!r} is not an expected number. Write 4, "<= 5", [3, 5], "0.7..0.8", "~ 38.7e9" (±{ABOUT:.0%}) '
        'or ">= 50 MB".'
    )


def number(text: str, unit: float) -> float:
    """The number in a text such as "1_000", of some unit. Raises PassError of one beyond all floats."""
    value = float(text.replace("_", "")) * unit
    if isinf(value):
        raise PassError(f"{shorten(text, 60)} is not a number that anything can be.")
    return value


def unit_of(unit: str, text: str) -> float:
    """Return what a unit stands for: bytes, microseconds, operations, or bytes per second."""
    if unit.lower() not in _UNITS:
        raise PassError(f"{text!r}: the unit {unit!r} is not known. Known are B kB MB GB, ns us ms s, %, GFLOP, TB/s.")
    return _UNITS[unit.lower()]
