"""A graph as the page draws it: boxes with their words and sizes, and nested groups.

Groups are nn.Modules, kernel calls (each inside the innermost module that holds all of its ops) and, in an eager graph,
ops that call others. Folding and layout happen in the page (`fold.js`, `layout.js`).
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope.dtypes import short_tensor
from fxscope.index import grouped, index_of
from fxscope.render import labels
from fxscope.text import counted, microseconds, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fxscope.model import Graph, KernelCall, Node, Recording

MAX_TITLE = 46
MAX_NOTE = 56
SMALL_KINDS = frozenset({"view", "folded", "eliminated", "input"})
_SELF = re.compile(r"^(?:L\[['\"]?self['\"]?\]|self|model)\.?")
_INDEX = re.compile(r"\[['\"]?([^\]'\"]+)['\"]?\]")


class Group(NamedTuple):
    """A frame of the picture.

    `kind` is "module", "repeat" (numbered modules of one structure), "call" or "op".

    `ref` is the call's index or the op's node. `note` is the second line of an open frame: a kernel's name.
    """

    parent: int
    kind: str
    title: str
    sub: str
    meta: str
    ref: int
    share: float | None
    path: str
    note: str = ""


class Words(NamedTuple):
    """The lines of a box, and its size in px."""

    title: str
    sub: str
    meta: str
    width: int
    height: int


@lru_cache(maxsize=4096)
def module_path(text: str | None) -> tuple[str, ...]:
    """The parts of a module path: "L['self'].layers[0].attn" → layers, 0, attn."""
    plain = _INDEX.sub(r".\1", _SELF.sub("", text or ""))
    return tuple(part for part in plain.split(".") if part)


def build(recording: Recording, graph: Graph, call_index: Mapping[str, int]) -> dict[str, Any]:
    """Everything the page needs to draw one graph, as columns: of the nodes, and of the `groups`.

    `call` is the index of the call that a node ran in, `home` its innermost group (-1: none), `own` the group that an
    eager node opens into. `dim` are views and what is gone: small, and hidden when views are folded.
    """
    index = {node.name: position for position, node in enumerate(graph.nodes)}
    inputs = [[index[name] for name in dict.fromkeys(node.inputs) if name in index] for node in graph.nodes]
    calls = index_of(recording).calls_of_graph.get(graph.id, [])
    call_of = [-1] * len(graph.nodes)
    for call in calls:
        for name in (*call.nodes, *call.folded):
            if name in index and call_of[index[name]] < 0:
                call_of[index[name]] = call_index[call.id]
    if not calls:
        for position, node in enumerate(graph.nodes):
            if len(node.calls) == 1 and node.calls[0] in call_index:
                call_of[position] = call_index[node.calls[0]]
    builder = GroupBuilder(recording, graph, index, inputs, call_of)
    builder.build(calls, call_index)
    alone = {
        call_index[call.id]: call for call in calls if call_index[call.id] not in builder.group_of_call
    }  # one op in one kernel: the box itself carries the kernel
    words = [node_words(node, graph, alone.get(call_of[i])) for i, node in enumerate(graph.nodes)]
    rows = [(*group, *group_words(group)[3:]) for group in builder.groups]
    return {
        "inputs": inputs,
        "call": call_of,
        "home": builder.home,
        "own": list(builder.own.items()),
        "dim": [int(node.kind in ("view", "folded", "eliminated") or node.nature == "view") for node in graph.nodes],
        **{key: [one[place] for one in words] for place, key in enumerate(Words._fields)},
        "groups": {key: [row[place] for row in rows] for place, key in enumerate((*Group._fields, "width", "height"))},
    }


class GroupBuilder:
    """Finds the groups of a graph, parents before children."""

    def __init__(
        self, recording: Recording, graph: Graph, index: Mapping[str, int], inputs: list[list[int]], call_of: list[int]
    ) -> None:
        self.recording: Recording = recording
        self.graph: Graph = graph
        self.index: Mapping[str, int] = index
        self.inputs: list[list[int]] = inputs
        self.call_of: list[int] = call_of
        self.groups: list[Group] = []
        self.home: list[int] = [-1] * len(graph.nodes)
        self.own: dict[int, int] = {}
        self.group_of_call: dict[int, int] = {}
        self.of_module: dict[tuple[str, ...], int] = {}
        self.types: dict[tuple[str, ...], str] = {
            module_path(n.source.module): n.source.module_type for n in graph.nodes if n.source and n.source.module_type
        }

    def build(self, calls: Sequence[KernelCall], call_index: Mapping[str, int]) -> None:
        """Fill `groups`, `home` and `own`."""
        paths = self.paths()
        members: dict[int, list[int]] = {}
        for position, call in enumerate(self.call_of):
            if call >= 0:
                members.setdefault(call, []).append(position)
        modules = sorted({p[:n] for p in paths for n in range(1, len(p) + 1)})
        repeats = repeated(modules, self.types)
        of_repeat: dict[tuple[tuple[str, ...], ...], int] = {}
        for path in modules:
            parent = self.of_module.get(path[:-1], -1)
            if path in repeats:
                alike = repeats[path]
                if alike not in of_repeat:
                    of_repeat[alike] = len(self.groups)
                    title = f"{alike[0][-1]} … {alike[-1][-1]} × {len(alike)}"
                    kind = self.types.get(path) or ""
                    self.groups.append(Group(parent, "repeat", title, kind, "", -1, None, ".".join((*path[:-1], "*"))))
                parent = of_repeat[alike]
            self.of_module[path] = len(self.groups)
            self.groups.append(
                Group(parent, "module", path[-1], self.types.get(path) or "", "", -1, None, ".".join(path))
            )
        for call in calls:
            position = call_index[call.id]
            inside = members.get(position, [])
            if len(inside) > 1 or (inside and not call.is_extern):
                path = common([paths[i] for i in inside if paths[i]])
                self.group_of_call[position] = len(self.groups)
                nodes = {node.name: node for node in self.graph.nodes}
                title, handle = labels.kernel_title(call, nodes), shorten(call.handle, MAX_NOTE)
                cost, share = labels.cost_line(call, timed=False), call.roof.share if call.roof else None
                parent = self.of_module.get(path, -1)
                self.groups.append(Group(parent, "call", title, handle, cost, position, share, call.id, handle))
        index = self.index
        parents = {node.parent for node in self.graph.nodes if node.parent in index}
        for position, node in enumerate(self.graph.nodes):
            call = self.call_of[position]
            home = self.group_of_call.get(call, self.of_module.get(paths[position], -1))
            if node.parent is not None and node.parent in index:
                home = self.own.get(index[node.parent], home)
            self.home[position] = home
            if node.name in parents:
                self.own[position] = len(self.groups)
                shape = tensor_of(node)
                title = labels.op_title(node.target)
                meta = microseconds(node.timing.typical_us) if node.timing and works(node) else ""
                self.groups.append(Group(home, "op", title, shape, meta, position, None, node.name))
        for repeat in of_repeat.values():
            self.take_in(repeat)
        self.sum_modules()

    def take_in(self, repeat: int) -> None:
        """Move what lies between repeated modules, such as a kernel with ops of two of them, in with them.

        Closed, the group would otherwise be its own input.
        """
        parent = self.groups[repeat].parent
        inside = [repeat in self.chain(home) for home in self.home]
        after, before = [False] * len(inside), [False] * len(inside)
        for position, sources in enumerate(self.inputs):
            after[position] = any(inside[source] or after[source] for source in sources)
        for position in reversed(range(len(inside))):
            for source in self.inputs[position]:
                before[source] = before[source] or inside[position] or before[position]
        for position, home in enumerate(self.home):
            if inside[position] or not (after[position] and before[position]):
                continue
            if home == parent:
                self.home[position] = repeat
                continue
            outermost = next((group for group in self.chain(home) if self.groups[group].parent == parent), -1)
            if outermost > repeat and self.groups[outermost].kind != "module":
                self.groups[outermost] = self.groups[outermost]._replace(parent=repeat)
        outside = set[int]()  # what is used elsewhere as well
        for position, sources in enumerate(self.inputs):
            if repeat not in self.chain(self.home[position]):
                outside.update(sources)
        used = {source for sources in self.inputs for source in sources}
        for position in used - outside:
            if self.home[position] == parent and self.graph.nodes[position].op in ("placeholder", "get_attr"):
                self.home[position] = repeat

    def paths(self) -> list[tuple[str, ...]]:
        """The module of each node; of an input, the module that all of its users are in."""
        paths = [node_path(node) for node in self.graph.nodes]
        users: dict[int, list[int]] = {}
        for position, sources in enumerate(self.inputs):
            for source in sources:
                users.setdefault(source, []).append(position)
        for position in reversed(range(len(paths))):
            if not paths[position] and users.get(position):
                paths[position] = common([paths[user] for user in users[position]])
        return paths

    def sum_modules(self) -> None:
        """Say of each module how many ops and kernels are wholly inside, and their time."""
        ops, kernels, time = ([0] * len(self.groups) for _ in range(3))
        timed = [0.0] * len(self.groups)
        for position, home in enumerate(self.home):
            if home >= 0:
                ops[home] += self.graph.nodes[position].op not in ("placeholder", "output", "get_attr")
        seen: set[int] = set()
        for position, call in enumerate(self.call_of):
            if call < 0 or call in seen:
                continue
            seen.add(call)
            timing, home = self.recording.calls[call].timing, self.home[position]
            if home >= 0:
                kernels[home] += 1
                if timing:
                    time[home] += 1
                    timed[home] += timing.typical_us
        for position in reversed(range(len(self.groups))):  # parents come before what is in them
            if (parent := self.groups[position].parent) >= 0:
                for sums in (ops, kernels, time):
                    sums[parent] += sums[position]
                timed[parent] += timed[position]
        for position, group in enumerate(self.groups):
            if group.kind in ("module", "repeat"):
                parts = [group.sub, counted(ops[position], "op")]
                parts += [counted(kernels[position], "kernel")] if kernels[position] else []
                # Only the sum over all is a sum; a part of it would read as the whole.
                whole = time[position] and time[position] == kernels[position]
                meta = microseconds(timed[position]) if whole else ""
                self.groups[position] = group._replace(sub=" · ".join(p for p in parts if p), meta=meta)

    def chain(self, group: int) -> list[int]:
        """A group and what it is in."""
        found: list[int] = []
        while group >= 0:
            found.append(group)
            group = self.groups[group].parent
        return found


def repeated(
    modules: Sequence[tuple[str, ...]], types: Mapping[tuple[str, ...], str]
) -> dict[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """For each numbered module with at least two siblings of its structure, the paths of all of them.

    A structure is a module's class and, by name, those of the modules in it.
    """
    children = grouped(modules, lambda path: path[:-1])

    def structure(path: tuple[str, ...]) -> tuple[Any, ...]:
        return types.get(path), tuple((inner[-1], structure(inner)) for inner in children.get(path, ()))

    out: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = {}
    for siblings in children.values():
        alike = grouped((path for path in siblings if path[-1].isdigit()), structure)
        for found in alike.values():
            if len(found) > 2:
                out |= dict.fromkeys(found, tuple(sorted(found, key=lambda path: int(path[-1]))))
    return out


def node_path(node: Node) -> tuple[str, ...]:
    return module_path(node.source.module if node.source else None)


def common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    same = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False))
    return tuple(parts[0] for parts in same)


def tensor_of(node: Node) -> str:
    """The first output as FX prints it."""
    if not node.outputs:
        return ""
    first, *rest = node.outputs
    return short_tensor(first.shape, first.dtype) + (f" +{len(rest)}" if rest else "")


def sized(title: str, sub: str, meta: str, *, beside: int = 30, least: int = 72, head: int = 26) -> Words:
    """The lines of a box with its size: `beside` the title stand a glyph and the margins."""
    width = max(7.6 * len(title) + beside, 6.7 * len(sub) + 24, 6.7 * len(meta) + 24)
    return Words(title, sub, meta, max(least, round(width)), head + (15 if sub else 0) + (15 if meta else 0))


def node_words(node: Node, graph: Graph, call: KernelCall | None) -> Words:
    """Return what a node's box says. An extern kernel with one op has no frame: the box carries its name and cost."""
    title = shorten(labels.node_title(node, graph), MAX_TITLE)
    shape = shorten(tensor_of(node), MAX_TITLE)
    if node.kind in SMALL_KINDS or (node.nature == "view" and graph.stage != "eager"):
        return Words(title, shape, "", round(7.0 * len(title) + 6.7 * len(shape) + 40), 24)
    time = microseconds(node.timing.typical_us) if node.timing else ""
    return sized(title, shape, labels.cost_line(call) if call is not None else time)


def group_words(group: Group) -> Words:
    words = shorten(group.title, MAX_NOTE), shorten(group.sub, MAX_NOTE), group.meta
    return sized(*words, beside=46, least=110, head=28)


def works(node: Node) -> bool:
    """Return whether an op launches work of its own, whatever it calls besides."""
    return node.kind == "kernel" and node.nature != "composite"
