"""Components of the key that Inductor would look a compile up by, as torch prints them; a recording turns the cache off."""

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any


def components(graph: Any, inputs: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    """Return torch's lines, without the slow hashes of its and Triton's files; none where no cache can hold the compile."""
    from torch._inductor import codecache

    init: Any = codecache.FxGraphHashDetails.__init__
    base = type("CacheBase", (codecache.CacheBase,), {"get_system": staticmethod(dict)})
    names = {**vars(codecache), "torch_key": bytes, "CacheBase": base}
    details: Any = object.__new__(codecache.FxGraphHashDetails)
    try:
        FunctionType(init.__code__, names, closure=init.__closure__)(details, graph, inputs, options, ())
    except codecache.BypassFxGraphCache:
        return []
    pickler = codecache.FxGraphCachePickler(graph, False)
    pickler.get_hash = lambda _: ""
    return pickler.debug_lines(details)
