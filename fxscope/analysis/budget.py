"""A JSON answer that fits a number of bytes: what comes first stays, and what was left out is counted.

    fit({"rows": [...]}, 4096, more="fxscope why r.fxscope --json --budget 0")

Lists, and the parts of the answer, are taken to be sorted, the most important first. An answer that fits is not changed,
but for what says nothing (null, empty lists) and digits beyond the fourth of a fraction.
"""

import json
import re
from typing import Any, cast

DEFAULT_BYTES = 4096
_ESCAPED = re.compile(r"[^ -~\u00a1-\u00ac\u00ae-\u024f\u0370-\u03ff\u2010-\u2027\u2190-\u22ff\u2500-\u257f]")
_LONGEST = 240  # characters of a text, where not everything fits
_ROWS = [(rows, _LONGEST) for rows in (100, 64, 40, 30, 24, 20, 16, 13, 10, 8, 6, 5)]  # with fewer a whole part goes
_SHORT_ROWS = [(6, 100), (4, 100), (3, 80), (2, 80), (1, 60)]  # where that leaves a quarter of the budget unused


def fit(answer: Any, limit: int, *, more: str) -> str:
    """Return JSON of at most `limit` bytes (0: all). Lists are `{"rows": […]}`; `left_out` counts what `more` shows."""
    whole = _clean(answer if isinstance(answer, dict) else {"rows": answer})
    if limit <= 0 or _size(whole) <= limit:
        return _text(whole)
    parts = [key for key, value in whole.items() if isinstance(value, (list, dict))]
    best = ""
    for shapes in (_ROWS, _SHORT_ROWS):
        for kept in range(len(parts), -1, -1):  # the last parts go before the first rows of the others
            left_out = {key: len(whole[key]) for key in parts[kept:]}
            here = {key: value for key, value in whole.items() if key not in left_out}
            for rows, longest in shapes:
                cut: dict[str, int] = {}
                shown = {key: _cut(value, key, rows, longest, cut) for key, value in here.items()}
                shown |= {"left_out": cut | left_out, "more": more}
                if _size(shown) <= limit:
                    best = max(best, _text(shown), key=len)
                    break
            if len(best) > 0.75 * limit:
                return best
    return best or _text({"left_out": len(whole), "more": more})


def _text(value: Any) -> str:
    """The value as JSON. What no terminal is to obey, and letters of other scripts, are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _size(value: Any) -> int:
    return len(_text(value).encode("utf-8", "surrogatepass"))


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        items = ((key, _clean(item)) for key, item in cast("dict[str, Any]", value).items())
        return {key: item for key, item in items if item is not None and item not in ("", [], {})}
    if isinstance(value, list):
        return [_clean(item) for item in cast("list[Any]", value)]
    if isinstance(value, float):
        return float(f"{value:.4g}") if abs(value) < 1e4 else round(value, 1)
    return value


def _cut(value: Any, key: str, rows: int, longest: int, left_out: dict[str, int], depth: int = 0) -> Any:
    """The value with at most so many rows, and counts of the rows of outer lists that are left out."""
    if isinstance(value, str):
        return value if len(value) <= longest or key == "id" else value[: longest - 1] + "…"
    if isinstance(value, dict):
        mapping = cast("dict[str, Any]", value)
        return {name: _cut(item, name, rows, longest, left_out, depth) for name, item in mapping.items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        most = rows if depth == 0 else min(rows, 3 if longest == _LONGEST else 2)  # in a row: ids, evidence
        if depth == 0 and len(items) > most:
            most -= str(items[most - 1]).endswith(":")  # the heading of lines that are left out
            left_out[key] = len(items) - most
        return [_cut(item, key, rows, longest, left_out, depth + 1) for item in items[:most]]
    return value
