"""Tables and trees of text: as wide as asked, without the columns in which nothing is known."""

import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from fxscope.text import UNKNOWN, aligned, shorten, shorten_front

LEAST = 12  # columns of a cell that is cut
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[µm]?s|[kMGT]?B|%)(?:\W|$))")


def table(
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    left: Collection[int] = (0,),
    cut: Sequence[int] = (0,),
    modules: Collection[int] = (),
) -> list[str]:
    """Aligned lines of at most `width` columns, of the headings and then the rows.

    `left`: the columns that start on one line; the others end on one. `cut`: those whose cells are cut, each to its part of
    what the others leave (one that is named twice has two). `modules`: those that hold paths of modules: their ends stay.
    """
    cutters = {place: shorten_front if place in modules else shorten for place in cut}
    kept = [place for place in range(len(rows[0])) if any(row[place] not in ("", UNKNOWN) for row in rows[1:])]
    widths = {place: max(len(row[place]) for row in rows) for place in kept}
    room = width - sum(widths[place] + 2 for place in kept if place not in cut)
    parts = [place for place in cut if place in kept]
    for place in sorted(set(parts), key=lambda place: widths[place]):
        widths[place] = min(widths[place], max(LEAST, room * parts.count(place) // len(parts) - 2))
        room -= widths[place] + 2
        parts = [other for other in parts if other != place]
    cells = [
        [cutters[place](row[place], widths[place]) if place in cut else row[place] for place in kept] for row in rows
    ]
    return [shorten(line, width) for line in aligned(cells, left={kept.index(x) for x in left if x in kept})]


def folded(text: str, width: int, first: str = "", rest: str = "", most: int | None = None) -> list[str]:
    """A text on as many lines as it needs, at most `most`, with two indents; a number and its unit stay on one line."""
    fold = partial(textwrap.wrap, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    lines = fold(_BEFORE_UNIT.sub("\xa0", text), width, max_lines=most, placeholder=" …")
    return [line.replace("\xa0", " ") for line in lines] or [""]


def wrapped(lines: Iterable[str], width: int) -> list[str]:
    return [part for line in lines for part in folded(line, width, rest=" " * (len(line) - len(line.lstrip()) + 4))]


def first(items: Sequence[str], most: int, hint: str = "") -> list[str]:
    return [*items[:most], f"… {len(items) - most} more{hint}"] if len(items) > most else list(items)


def heading(title: str, width: int) -> str:
    return f"{title} {'─' * (width - len(title) - 1)}"


def tree(
    node: Any, children: Callable[[Any], Iterable[Any]], words: Callable[[Any, int], str], lead: str = ""
) -> Iterator[str]:
    """Yield a line for each item below a node, with branches before it; `words` gives it from the width of what precedes it."""
    items = list(children(node))
    for place, item in enumerate(items):
        first, rest = ("└─ ", "   ") if place == len(items) - 1 else ("├─ ", "│  ")
        yield lead + first + words(item, len(lead) + 3)
        yield from tree(item, children, words, lead + rest)
