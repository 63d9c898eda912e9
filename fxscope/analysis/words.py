"""Numbers and lists in words, for sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def counted(count: int, word: str, plural: str | None = None) -> str:
    """`1 kernel`, `3 kernels`, `2 copies`."""
    if count == 1:
        return f"1 {word}"
    if plural is None:
        plural = word[:-1] + "ies" if word.endswith("y") and word[-2:] not in ("ay", "ey", "oy") else word + "s"
    return f"{count} {plural}"


def names(items: Sequence[str], limit: int = 6) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, c and 9 more`."""
    if len(items) > limit + 1:
        return f"{', '.join(items[:limit])} and {len(items) - limit} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def microseconds(value: float | None) -> str:
    """`56.3 µs`, `2.10 ms`, `1.4 s`."""
    if value is None:
        return "an unknown time"
    if abs(value) >= 1e6:
        return f"{value / 1e6:.1f} s"
    if abs(value) >= 1e4:
        return f"{value / 1e3:.1f} ms"
    return f"{value:.1f} µs" if abs(value) < 100 else f"{value:.0f} µs"


def megabytes(value: int | float) -> str:
    """`100.7 MB`, `12 kB`; powers of ten, as rates are."""
    if value >= 1e6:
        return f"{value / 1e6:.1f} MB"
    return f"{value / 1e3:.1f} kB" if value >= 1e3 else f"{value:.0f} bytes"


def sizes(values: Sequence[object]) -> str:
    """`(1, 768)`, `(768,)` as Python writes them, without quotes."""
    inner = ", ".join(str(value) for value in values)
    return f"({inner},)" if len(values) == 1 else f"({inner})"


def percent(share: float | None) -> str:
    """`87 %`, `0.3 %`."""
    if share is None:
        return "an unknown share"
    return f"{share * 100:.0f} %" if share >= 0.0995 else f"{share * 100:.2g} %"
