"""Facts of lowering, stored beside Inductor's cache: a program that compiles from the cache is still explained.

Inductor's cache gives code back without lowering, and lowering is where the evidence is. What was seen while a graph was
lowered under fxscope is kept under the cache's key for it together with the graphs it was made of (nodes, names, lines):
a hit is taken only where all of that is the same, and where the code is that which was seen.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import re
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import torch

from fxscope import __version__
from fxscope.model import SCHEMA, Graph, InputAssertion, Item, KernelCall, Link, Rewrite, Schedule, SourceText, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LOAD = "torch._inductor.codecache:FxGraphCache.load_with_key"
TAG = f"fxscope {SCHEMA} {__version__}"  # a part of the cache's keys: only what fxscope had lowered is found under them
MOST_FILES = 2000
_MARK = "\x00compile\x00"
# Graphs are numbered as a process compiles them: in the head of the code, and in the names of C++ kernels' events.
_NUMBERS = re.compile(r"(?<=AOT ID: \[')\d+|(?<=graph_)\d+(?=_)")


class Lowered(Item, frozen=True, kw_only=True):
    """Facts of one lowering; ids begin with a mark in the place of the compile id, sequence numbers at 0."""

    graph: Graph
    calls: tuple[KernelCall, ...]
    links: tuple[Link, ...]
    source: SourceText
    schedule: Schedule | None
    rewrites: tuple[Rewrite, ...] = ()
    assertions: tuple[InputAssertion, ...] = ()


def folder() -> Path:
    """Return where it is kept: in Inductor's own cache folder."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    return Path(cache_dir(), "fxscope")


def is_static(inputs: Iterable[Any]) -> bool:
    """Return whether a graph has no symbolic sizes: for one that has, a key stands for several lowerings."""
    return not any(isinstance(value, torch.SymInt) for value in inputs)


def first_sequence(graphs: Sequence[Graph]) -> int:
    """The least of autograd's sequence numbers, which count on through a process."""
    numbers = (node.sequence_number for graph in graphs for node in graph.nodes)
    return min((number for number in numbers if number is not None), default=0)


def shifted(graph: Graph, by: int) -> Graph:
    """A graph with other sequence numbers."""
    return replace(
        graph,
        nodes=tuple(
            node if node.sequence_number is None else replace(node, sequence_number=node.sequence_number + by)
            for node in graph.nodes
        ),
    )


def name_of(key: str, compile_id: str, direction: str, graphs: Sequence[Graph], links: Iterable[Link]) -> str:
    """The name under which the lowering of a graph is kept.

    Args:
        key: the cache's.
        compile_id: what the ids of graphs begin with; it is no part of the name.
        direction: inference, forward or backward.
        graphs: those that the graph was made of.
        links: between them.
    """
    digest = hashlib.sha256(f"{TAG}\0{torch.__version__}\0{key}\0{direction}\0".encode())
    base = first_sequence(graphs)
    for item in (*(shifted(graph, -base) for graph in graphs), *links):
        digest.update(_without_id(msgspec.json.encode(item), compile_id))
    return digest.hexdigest()


def load(name: str, compile_id: str) -> Lowered | None:
    """Return what is kept under a name, with the ids of this compile; None where nothing is, or it cannot be read."""
    path = folder() / f"{name}.json.gz"
    try:
        data = gzip.decompress(path.read_bytes())
        with contextlib.suppress(OSError):
            os.utime(path)
        return msgspec.json.decode(data.replace(_marked(_MARK), _marked(compile_id)), type=Lowered)
    except (OSError, EOFError, ValueError, msgspec.MsgspecError):
        return None


def save(name: str, compile_id: str, lowered: Lowered) -> None:
    """Keep what a lowering told, whole or not at all; the oldest give way."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    data = gzip.compress(_without_id(msgspec.json.encode(lowered), compile_id), compresslevel=1, mtime=0)
    temporary = place / f"{name}.{getpid()}"
    temporary.write_bytes(data)
    temporary.replace(place / f"{name}.json.gz")
    kept = list(place.iterdir())
    if len(kept) > MOST_FILES:
        kept.sort(key=lambda path: path.stat().st_mtime)
        for path in kept[: len(kept) - MOST_FILES]:
            path.unlink(missing_ok=True)


def of_code(kept: Lowered, code: object) -> Lowered | None:
    """Return what is kept, as it is for this code; None where that is other code, in more than the numbers of graphs."""
    if not isinstance(code, str) or _NUMBERS.sub("N", code) != _NUMBERS.sub("N", kept.source.text):
        return None
    number = re.search(r"\bgraph_(\d+)_", code)
    calls = tuple(
        replace(call, profiled_as=re.sub(r"^graph_\d+_", number[0], call.profiled_as))
        if number is not None and call.profiled_as is not None
        else call
        for call in kept.calls
    )
    return replace(kept, calls=calls, source=replace(kept.source, text=code))


def _marked(compile_id: str) -> bytes:
    return msgspec.json.encode(compile_id)[:-1]


def _without_id(data: bytes, compile_id: str) -> bytes:
    """Put the mark in the place of a compile id at the beginning of strings: "0/0" and "0/0:inference"."""
    pattern = rb"(?<!\\)" + re.escape(_marked(compile_id)) + rb'(?=[:"])'
    return re.sub(pattern, _marked(_MARK).replace(b"\\", b"\\\\"), data)
