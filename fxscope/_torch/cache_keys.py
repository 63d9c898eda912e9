"""Components of the key that Inductor would look a compile up by, as torch prints them; a recording turns the cache off."""

from collections.abc import Mapping, Sequence
from typing import Any


def components(graph: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    """Return torch's lines without hashes; none where the compile cannot be in a cache."""
    from torch._inductor import codecache

    try:
        details = codecache.FxGraphHashDetails(graph, inputs, options, ())
    except codecache.BypassFxGraphCache:
        return []
    pickler = codecache.FxGraphCachePickler(graph, False)
    pickler.get_hash = lambda _: ""
    return pickler.debug_lines(details)
