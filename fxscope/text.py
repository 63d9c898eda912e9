"""Numbers, lists and names for people: every renderer and every sentence writes them this way, and the page's text.js as well.

SI prefixes, the largest that leaves at least 1; two decimals below 10, one from there on: "0.74 µs", "56.0 µs", "98.3 kB".
Whole numbers below 1000 are exact ("512 B"). A share has no decimals from 10 % on and one below. Too small for its last
decimal is "< 0.01 µs", "< 0.1 %"; not known is "–". `tests/text_cases.json` holds both sides to this.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from fxscope.kernel_names import cpp, decode
from fxscope.op_names import without_graph_number

UNKNOWN = "–"
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
_TIMES = ("µs", "ms", "s")
FASTER = "faster than the limit"
_TIE = 1 + 1e-12  # halves round away from zero, here and in JavaScript


def microseconds(value: float | None) -> str:
    """Format a duration given in µs: "0.74 µs", "56.0 µs", "1.43 ms", "12.0 s"."""
    return _scaled(value, _TIMES)


def span(low: float | None, high: float | None) -> str:
    """Format the least and the greatest of some times in µs: "9.80–12.1 µs", "9.80 µs–1.20 ms"; one where they are alike."""
    first, last = microseconds(low), microseconds(high)
    if first == last:
        return first
    same = first.rpartition(" ")[2] == last.rpartition(" ")[2]
    return f"{first.rpartition(' ')[0] if same else first}–{last}"


def num_bytes(value: float | None) -> str:
    """Format a size: "512 B", "98.3 kB", "50.3 MB"."""
    return _scaled(value, [f"{prefix}B" for prefix in _PREFIXES])


def flop(value: float | None) -> str:
    """Format a number of floating-point operations: "38.7 GFLOP"."""
    return _scaled(value, [f"{prefix}FLOP" for prefix in _PREFIXES])


def rate(value: float | None, unit: str = "B/s") -> str:
    """Format a rate per second: "2.70 TB/s", "734.1 TFLOP/s"."""
    return _scaled(value, [f"{prefix}{unit}" for prefix in _PREFIXES])


def about(value: float | None) -> str:
    """An expected time: "about 23.4 µs"; "" where none is known, or it is below what is written as a time."""
    return f"about {microseconds(value)}" if value is not None and value >= 0.005 else ""


def percent(share: float | None, *, signed: bool = False) -> str:
    """Format a share of 1: "63 %", "3.4 %"; `signed` for a change: "+12 %"."""
    if share is None:
        return UNKNOWN
    size = abs(100 * share) * _TIE
    sign = "-" if share < 0 else "+" if signed and share > 0 else ""
    if 0 < size < 0.05:
        return f"{sign}< 0.1 %" if not sign else f"{sign}0.0 %"
    return f"{sign}{size:.0f} %" if size >= 9.95 or size == 0 else f"{sign}{size:.1f} %"


def roof_share(share: float | None) -> str:
    """Format a share of a roof for a cell: "63 %"; what ran faster than its limit says so: "128 %, faster than the limit"."""
    return percent(share) + (f", {FASTER}" if faster_than_limit(share) else "")


def of_roof(share: float, of: str = "the roof") -> str:
    """Format a share of a roof in prose: "63 % of the roof", "128 % of the roof (faster than the limit)"."""
    return f"{percent(share)} of {of}" + (f" ({FASTER})" if faster_than_limit(share) else "")


def faster_than_limit(share: float | None) -> bool:
    """Return whether a share of a roof is above 100 %: the limit is too low, or was not the limit (a cache)."""
    return share is not None and 100 * share * _TIE >= 100.5


def _scaled(value: float | None, units: Sequence[str]) -> str:
    if value is None:
        return UNKNOWN
    size, sign = abs(value) * _TIE, "-" if value < 0 else ""
    if 0 < size < 0.005:
        return f"< 0.01 {units[0]}" if not sign else f"-0.00 {units[0]}"
    place = 0
    while size >= 999.95 and place < len(units) - 1:
        size, place = size / 1000, place + 1
    exact = size == 0 or (place == 0 and float(value).is_integer() and units is not _TIMES)
    return f"{sign}{size:.0f} {units[place]}" if exact else f"{sign}{size:.{2 if size < 9.995 else 1}f} {units[place]}"


def counted(count: int, word: str, plural: str | None = None) -> str:
    """Put a number before its noun: "1 kernel", "1,200 kernels", "2 copies", "3 launches"."""
    if count != 1 and plural is None:
        ending = "ies" if re.search("[^aeou]y$", word) else "es" if word.endswith(("s", "x", "ch", "sh")) else "s"
        plural = (word[:-1] if ending == "ies" else word) + ending
    return f"{count:,} {word if count == 1 else plural}"


def listed(items: Sequence[str], limit: int = 6) -> str:
    """Join as prose: "a", "a and b", "a, b and c", "a, b, c and 9 more"."""
    if len(items) > limit + 1:
        return f"{', '.join(items[:limit])} and {len(items) - limit:,} more"
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)


def sizes(values: Sequence[object]) -> str:
    """Write sizes as Python does: "(1, 768)", "(768,)", "(s0, 4)"."""
    inner = ", ".join(str(value) for value in values)
    return f"({inner},)" if len(values) == 1 else f"({inner})"


def aligned(rows: Sequence[Sequence[str]], *, left: Collection[int] | None = None, gap: str = "  ") -> list[str]:
    """Pad the cells of a table to columns: those in `left` (all where it is `None`) to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        gap.join(
            cell.ljust(width) if left is None or i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def sentence(text: str) -> str:
    """Give a text its capital and its full stop; "cuBLAS" stays."""
    text = text.strip()
    first = text[:1].upper() if text.partition(" ")[0].islower() else text[:1]
    return first + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def first_line(text: str) -> str:
    """The first line that says something; "" where none does."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def shorten(text: str, width: int) -> str:
    """Cut in the middle: the head of a kernel's name says its family, the tail tells two apart; whole ops go first."""
    if len(text) <= width:
        return text
    ops = text.split("·")
    fewer = ("·".join([*ops[:n], "…", ops[-1]]) for n in range(min(len(ops) - 2, width), 0, -1) if ops[n - 1] != "…")
    if short := next((short for short in fewer if len(short) <= width and " · " not in text), ""):
        return short
    head = (width - 1) * 2 // 3
    return re.sub("…(?:·?…)+", "…", f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}")


def shorten_front(text: str, width: int) -> str:
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


_INSTANCE = re.compile(r"\bKernel2?<(cutlass\w+)>")


@lru_cache(maxsize=4096)  # a step launches few kernels often
def kernel_name(name: str, width: int | None = None) -> str:
    """Name a C++ kernel by its function and what it applies, "vectorized_elementwise_kernel<gelu>", cut to a width.

    A name that is none of C++ is kept: Triton's, cuBLAS's and cuDNN's say everything in plain words. Where room is short
    the function is cut, what it applies stays. What a process calls its graphs is left out: the call has no such number.
    """
    name = without_graph_number(name)
    said = decode(name) or {}
    applied = ""
    if ("<" in name or "(" in name or name.startswith("_Z")) and said.get("role") not in ("memcpy", "memset"):
        if instance := _INSTANCE.search(name):
            name = instance[1]
        else:
            name, applied = _function(name, said)
    if width is None:
        return name + applied
    return shorten(shorten(name, max(8, width - len(applied))) + applied, width)


def _function(name: str, said: Mapping[str, Any]) -> tuple[str, str]:
    parsed = cpp.parse(name)
    applied = "·".join(said.get("ops") or ()) or said.get("functor") or ""
    if parsed.function in ("Kernel", "Kernel2", "device_kernel") and parsed.templates:  # CUTLASS's launchers
        applied = cpp.parse(parsed.templates[0]).function
    function = parsed.function or name
    return function, f"<{applied}>" if applied and applied not in function else ""
