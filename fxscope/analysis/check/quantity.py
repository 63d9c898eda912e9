"""Expected numbers as people write them: 4, "<= 5", [3, 5], "0.7..0.8", "~ 38.7e9", ">= 50 MB", "< 60 us"."""

import re
from math import inf, isfinite
from typing import NamedTuple

from fxscope.errors import PassError
from fxscope.text import shorten

_BYTES = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_TIMES = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
_RATES = {"flop": 1.0, "gflop": 1e9, "tflop": 1e12, "gb/s": 1e9, "tb/s": 1e12}
_UNITS = {"": 1.0, "%": 0.01} | _BYTES | _TIMES | _RATES
_NUMBER = r"[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_UNIT = r"[a-zA-Zµ%/]*"
_ONE = re.compile(rf"(?P<sign><=|>=|==|!=|<|>|=|~)?\s*(?P<number>{_NUMBER})\s*(?P<unit>{_UNIT})")
_RANGE = re.compile(
    rf"(?P<low>{_NUMBER})\s*(?P<low_unit>{_UNIT}?)\s*(?:\.\.|\bto\b)\s*(?P<high>{_NUMBER})\s*(?P<unit>{_UNIT})"
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
    if isinstance(value, bool):
        raise PassError(f"{value} is not a number.")
    if isinstance(value, (int, float)):
        amount = number(value)
        return Quantity(f"{value:g}" if abs(amount) < 1e6 else f"{value}", amount, amount)
    if isinstance(value, (list, tuple)):
        pair = [number(item) for item in value if isinstance(item, (int, float))]  # pyright: ignore[reportUnknownVariableType]
        if len(pair) == len(value) == 2:  # pyright: ignore[reportUnknownArgumentType]
            return between(f"{pair[0]:g} to {pair[1]:g}", *pair)
    if isinstance(value, str) and len(value) > 200:
        raise PassError(f"{value[:40]!r}… is not a number: it has {len(value):,} characters.")
    text = value.strip() if isinstance(value, str) else ""
    if found := _RANGE.fullmatch(text):
        unit = unit_of(found["unit"], text)
        low = number(found["low"], unit_of(found["low_unit"], text) if found["low_unit"] else unit)
        return between(text, low, number(found["high"], unit))
    if found := _ONE.fullmatch(text):
        return signed(text, found["sign"] or "=", number(found["number"], unit_of(found["unit"], text)))
    raise PassError(
        f'{value!r} is not an expected number. Write 4, "<= 5", [3, 5], "0.7..0.8", "~ 38.7e9" (±{ABOUT:.0%}) '
        'or ">= 50 MB".'
    )


def signed(text: str, sign: str, amount: float) -> Quantity:
    """The interval of a sign and a number."""
    if sign == "~":
        return between(text, *sorted((amount * (1 - ABOUT), amount * (1 + ABOUT))))
    low = -inf if sign in ("<", "<=") else amount
    high = inf if sign in (">", ">=") else amount
    return Quantity(text, low, high, low_open=sign == ">", high_open=sign == "<", negated=sign == "!=")


def between(text: str, low: float, high: float) -> Quantity:
    """The interval of two numbers. Raises PassError where it is empty."""
    if low > high:
        raise PassError(f"{text!r} is an empty range: the smaller number comes first.")
    return Quantity(text, low, high)


def number(value: float | str, unit: float = 1.0) -> float:
    """A number, or a text such as "1_000", of some unit. Raises PassError of one beyond all floats."""
    try:
        found = float(value) * unit
    except OverflowError:
        raise PassError("an integer of more than 308 digits is not a number that anything can be.") from None
    if not isfinite(found):
        raise PassError(f"{shorten(str(value), 60)} is not a number that anything can be.")
    return found


def unit_of(unit: str, text: str) -> float:
    """Return what a unit stands for: bytes, microseconds, operations, or bytes per second."""
    if unit.lower() not in _UNITS:
        raise PassError(f"{text!r}: the unit {unit!r} is not known. Known are B kB MB GB, ns us ms s, %, GFLOP, TB/s.")
    return _UNITS[unit.lower()]
