"""Expected numbers as people write them: 4, "<= 5", [3, 5], "0.7..0.8", "~ 38.7e9", ">= 50 MB", "< 60 us"."""

import re
from math import inf, isfinite
from typing import Any, NamedTuple

from fxscope.errors import PassError
from fxscope.text import shorten

_TIMES = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
_AMOUNTS = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "flop": 1.0, "gflop": 1e9, "tflop": 1e12}
_UNITS = {"": 1.0, "%": 0.01, **_TIMES, **_AMOUNTS, "gb/s": 1e9, "tb/s": 1e12}
_AMOUNT = re.compile(r"\s*([-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([a-zA-Zµ%/]*)\s*")
_SIGN = re.compile("<=|>=|==|!=|<|>|=|~")
ABOUT = 0.02  # what "~" allows either way


class Quantity(NamedTuple):
    text: str
    low: float
    high: float
    is_open: bool = False
    is_negated: bool = False  # "!= 3"

    def holds(self, value: float) -> bool:
        inside = self.low < value < self.high if self.is_open else self.low <= value <= self.high
        return inside != self.is_negated

    def overlaps(self, low: float, high: float) -> bool:
        """Return whether some number between the two would be as expected."""
        return self.is_negated or (high >= self.low and low <= self.high)


def parse(value: Any) -> Quantity:
    """Parse an expected number. Raises PassError saying what can be written."""
    if isinstance(value, bool):
        raise PassError(f"{value} is not a number.")
    if isinstance(value, (int, float)):
        size = number(value)
        return Quantity(f"{value:g}" if abs(size) < 1e6 else shorten(str(value), 60), size, size)
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(x, (int, float)) for x in value):
        low, high = map(number, value)
        return between(f"{low:g} to {high:g}", low, high)
    text = value.strip() if isinstance(value, str) else repr(value)
    low_text, dots, high_text = text.partition("..")
    if dots:
        high, unit = amount(high_text, text)
        return between(text, amount(low_text, text, unit)[0], high)
    found = _SIGN.match(text)
    sign = found[0] if found else ""
    size, _ = amount(text[len(sign) :], text)
    text = shorten(text, 60)
    if sign == "~":
        return between(text, *sorted((size * (1 - ABOUT), size * (1 + ABOUT))))
    low, high = -inf if "<" in sign else size, inf if ">" in sign else size
    return Quantity(text, low, high, is_open=sign in ("<", ">"), is_negated=sign == "!=")


def amount(part: str, text: str, unit: str = "") -> tuple[float, str]:
    """(A number in bytes, microseconds, operations or bytes per second; its unit); `text` is all that was written."""
    found = _AMOUNT.fullmatch(part)
    if not found:
        raise PassError(
            f"{shorten(text, 60)!r} is not an expected number. "
            f'Write 4, "<= 5", [3, 5], "0.7..0.8", "~ 38.7e9" (±{ABOUT:.0%}) or ">= 50 MB".'
        )
    unit = found[2] or unit
    if unit.lower() not in _UNITS:
        raise PassError(
            f"{shorten(text, 60)!r}: the unit {unit!r} is not known. Known units: B kB MB GB, ns us ms s, %, GFLOP, TB/s."
        )
    return number(found[1], _UNITS[unit.lower()]), unit


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
        raise PassError("an integer of more than 308 digits is too large.") from None
    if not isfinite(found):
        raise PassError(f"{shorten(str(value), 60)} is not finite, or too large.")
    return found
