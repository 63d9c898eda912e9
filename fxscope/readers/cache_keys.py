"""Differences between the cache keys of two compiles of one frame, from torch's own lines about a key."""

import re
from collections import defaultdict
from collections.abc import Hashable
from typing import Any

from fxscope.model import Source
from fxscope.text import shorten

_COMPONENT = re.compile(r"\[(\w*)\] (.+?): (.*)", re.S)  # "[hash] example_inputs[0]: TensorMetadata(…)"
_PART = re.compile(r"[\n;]|, (?=\w+=)")  # between statements of a graph, and fields of an object
MOST, MOST_CHARACTERS = 8, 60  # components; characters of a value


class CacheKeys:
    def __init__(self) -> None:
        self._known: defaultdict[Hashable, list[tuple[str, str, dict[str, tuple[str, str]]]]] = defaultdict(list)

    def add(self, kind: Hashable, source: Source | None, compile_id: str, key: str, lines: list[str]) -> dict[str, Any]:
        """Keep a key; return the fields of its `Compile`: whose key of the same code is the most similar, and what differs."""
        components = {found[2]: (found[1] or found[3], found[3]) for line in lines if (found := _COMPONENT.match(line))}
        frame = kind, (source.file, source.line) if source else tuple(compile_id.split("/")[-2:-1])
        others = self._known[frame]
        is_new = all(key != known for _, known, _ in others)
        each = ((_differing(known, components), name) for name, _, known in others)
        found = min(each, key=lambda item: (not item[0], len(item[0])), default=None)
        others.append((compile_id, key, components))
        if not is_new or found is None:
            return {}
        return {"cache_nearest": found[1], "cache_differs": tuple(found[0][:MOST])}


def _differing(before: dict[str, tuple[str, str]], after: dict[str, tuple[str, str]]) -> list[str]:
    """Each component whose hash differs, with its values where torch prints them; the graph last, it often follows."""
    both = {**before, **after} if before and after else {}
    names = [name for name in both if before.get(name, ())[:1] != after.get(name, ())[:1]]
    return [_words(name, before.get(name), after.get(name)) for name in sorted(names, key="gm".__eq__)]


def _words(name: str, before: tuple[str, str] | None, after: tuple[str, str] | None) -> str:
    if before is None or after is None:
        return f"{name}: only in {'this' if before is None else 'that'} key"
    parts = zip(_PART.split(before[1]), _PART.split(after[1]), strict=False)
    one, other = next((pair for pair in parts if pair[0] != pair[1]), ("", ""))
    one, other = (shorten(text.strip(), MOST_CHARACTERS) for text in (one, other))
    return f"{name}: {one} → {other}" if one or other else name
