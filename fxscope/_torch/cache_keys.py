"""What is in the key under which Inductor would look a compile up, as torch prints it; a recording turns the cache off."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch


def components(graph: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    """Return torch's lines without hashes; none where the compile cannot be in a cache."""
    from torch._inductor import codecache

    with ExitStack() as stack:
        # Each is the same for all compiles of a process, and slow: one hashes Inductor's source.
        stack.enter_context(patch.object(codecache, "torch_key", bytes))
        stack.enter_context(patch.object(codecache.CacheBase, "get_system", dict))
        try:
            details = codecache.FxGraphHashDetails(graph, inputs, options, ())
        except codecache.BypassFxGraphCache:
            return []
    pickler = codecache.FxGraphCachePickler(graph, False)
    pickler.get_hash = lambda _: ""
    return pickler.debug_lines(details)
