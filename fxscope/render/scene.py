"""A graph as it is drawn: the words of each node, the kernel call it ran in, and nested groups.

Groups are nn.Modules, kernel calls (each inside the innermost module that holds all of its ops) and, in an eager graph,
ops that call others. `dot.py` prints a scene as DOT; the page folds it and places its boxes (`fold.js`, `layout.js`).
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from fxscope.columns import picked
from fxscope.dtypes import short_tensor
from fxscope.index import by_each, grouped, index_of, per_step
from fxscope.model import Graph, KernelCall, Node, Recording, replace
from fxscope.render import labels
from fxscope.text import counted, microseconds, shorten

LONGEST = 60  # characters of a line in a box
MANY = 20  # ops outside of modules, from which they have a frame
# What boxes and the page show of a node; arguments, which a trace has as text, would have to be parsed.
FIELDS = "name op target kind nature reason aliases inputs outputs original_aten replaced_by source timing parent calls"
SMALL_KINDS = frozenset({"view", "folded", "eliminated", "input"})


class Group(NamedTuple):
    """A frame of the picture; `kind` is "module", "call" or "op", `ref` the call's index or the op's node."""

    parent: int
    kind: str
    title: str
    sub: str  # of a call its handle
    meta: str
    ref: int
    share: float | None
    path: str  # of a module, or a call's id


@lru_cache(maxsize=4096)
def module_path(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split(".")))


class Scene:
    """Contents of the drawings of one graph; nodes, calls and groups are referred to by position.

    Attributes:
        inputs: the nodes that a node reads.
        call_of: the call that a node ran in, -1 for none.
        groups: parents before children.
        home: the innermost group of a node, -1 for none.
        own: the group that an eager node opens into.
        alone: calls of one op without a frame: the op's box carries the kernel.
    """

    def __init__(self, recording: Recording, graph: Graph) -> None:
        self.recording, self.graph = (
            recording,
            replace(graph, nodes=tuple(picked(graph.nodes, list(range(len(graph.nodes))), *FIELDS.split()))),
        )
        self.calls: list[KernelCall] = index_of(recording).calls_of_graph.get(graph.id, [])
        self.index = {node.name: position for position, node in enumerate(self.graph.nodes)}
        nodes = self.graph.nodes
        self.inputs = [
            [self.index[name] for name in dict.fromkeys(node.inputs) if name in self.index] for node in nodes
        ]
        self.position_of_call = {call.id: position for position, call in enumerate(recording.calls)}
        self.call_of = self._find_calls()
        self.groups: list[Group] = []
        self.home: list[int] = [-1] * len(graph.nodes)
        self.own: dict[int, int] = {}
        self.alone: dict[int, KernelCall] = {}
        self._find_groups()
        if any(group.kind == "module" for group in self.groups):
            self._sum_modules()

    def _find_calls(self) -> list[int]:
        call_of = [-1] * len(self.graph.nodes)
        for call in self.calls:
            for name in (*call.nodes, *call.folded):
                if name in self.index and call_of[self.index[name]] < 0:
                    call_of[self.index[name]] = self.position_of_call[call.id]
        if not self.calls:  # an earlier graph
            for position, node in enumerate(self.graph.nodes):
                if len(node.calls) == 1:
                    call_of[position] = self.position_of_call.get(node.calls[0], -1)
        return call_of

    def _find_groups(self) -> None:
        paths = self._paths()
        of_module: dict[tuple[str, ...], int] = {}
        sources = [node.source for node in self.graph.nodes if node.source and node.source.module_type]
        types = {module_path(source.module): source.module_type for source in sources}
        for path in sorted({whole[:length] for whole in paths for length in range(1, len(whole) + 1)}):
            parent, of_module[path] = of_module.get(path[:-1], -1), len(self.groups)
            self.groups.append(Group(parent, "module", path[-1], types.get(path) or "", "", -1, None, ".".join(path)))
        members = grouped(range(len(self.call_of)), self.call_of.__getitem__)
        group_of_call: dict[int, int] = {}
        nodes = index_of(self.recording).nodes[self.graph.id]
        for call in self.calls:
            position = self.position_of_call[call.id]
            inside = members.get(position, [])
            if len(inside) < 2 and (call.is_extern or not inside):
                self.alone[position] = call
                continue
            group_of_call[position] = len(self.groups)
            parent = of_module.get(common([paths[i] for i in inside if paths[i]]), -1)
            title = f"{labels.ops_words(labels.ops_of(call, nodes))} → 1 kernel"  # "gelu · mul → 1 kernel, 56.1 µs"
            title, handle = ", ".join(filter(None, [title, labels.time_words(call)])), shorten(call.handle, LONGEST)
            cost, share = labels.cost_line(call, timed=False), call.roof.share if call.roof else None
            self.groups.append(Group(parent, "call", title, handle, cost, position, share, call.id))
        parents = {node.parent for node in self.graph.nodes}
        for position, node in enumerate(self.graph.nodes):
            home = group_of_call.get(self.call_of[position], of_module.get(paths[position], -1))
            if node.parent in self.index:
                home = self.own.get(self.index[node.parent], home)
            self.home[position] = home
            if node.name in parents:
                self.own[position] = len(self.groups)
                title, shape = labels.op_title(node.target), tensor_of(node)
                # It launches itself, whatever it calls besides.
                works = node.kind == "kernel" and node.nature != "composite"
                meta = microseconds(node.timing.median_us) if node.timing and works else ""
                self.groups.append(Group(home, "op", title, shape, meta, position, None, ""))

    def _paths(self) -> list[tuple[str, ...]]:
        """The module of each node; of an input, the module that all of its users are in."""
        paths = [module_path(node.source.module if node.source else None) for node in self.graph.nodes]
        users = by_each(range(len(paths)), self.inputs.__getitem__)
        for position in reversed(range(len(paths))):
            if not paths[position] and users.get(position):
                paths[position] = common([paths[user] for user in users[position]])
        if self.graph.stage == "eager":
            self._frame_loose(paths)
        return paths

    def _frame_loose(self, paths: list[tuple[str, ...]]) -> None:
        """Give many ops that no module called a frame: "backward" from autograd's first op to its last, else "outside"."""
        nodes = self.graph.nodes
        ran = [position for position, node in enumerate(nodes) if node.target.startswith("autograd::engine")] or [-1]
        loose = [
            position for position, node in enumerate(nodes) if node.parent not in self.index and not paths[position]
        ]
        for name, is_backward in (("backward", True), ("outside", False)):
            positions = [position for position in loose if (ran[0] <= position <= ran[-1]) == is_backward]
            for position in positions if len(positions) >= MANY else ():
                paths[position] = (name,)

    def _sum_modules(self) -> None:
        """Say of each module how many ops and kernels are wholly inside, and their time."""
        index = index_of(self.recording)
        sums = [Counter[str | int]() for _ in self.groups]  # of time by step, too
        seen = {-1}
        for node, call, home in zip(self.graph.nodes, self.call_of, self.home, strict=True):
            if home >= 0:
                sums[home]["ops"] += node.op not in ("placeholder", "output", "get_attr")
            if home >= 0 and call not in seen:
                runs = index.executions.get(self.recording.calls[call].id, {})
                sums[home].update(kernels=1, timed=bool(runs))
                for (step, _), time in runs.items():
                    sums[home][step] += time
            seen.add(call)
        for position in reversed(range(len(self.groups))):  # parents come before what is in them
            if (parent := self.groups[position].parent) >= 0:
                sums[parent].update(sums[position])
        for position, (group, inside) in enumerate(zip(self.groups, sums, strict=True)):
            if group.kind == "module":
                parts = [group.sub, counted(inside["ops"], "op")]
                parts += [counted(inside["kernels"], "kernel")] if inside["kernels"] else []
                # Only the sum over all is a sum; a part of it would read as the whole.
                whole = inside["timed"] and inside["timed"] == inside["kernels"]
                times = [time / 1e3 for step, time in inside.items() if isinstance(step, int)]
                meta = microseconds(per_step(times, index.num_steps)) if whole else ""
                self.groups[position] = group._replace(sub=" · ".join(p for p in parts if p), meta=meta)

    def words(self, position: int) -> tuple[str, str, str]:
        """The lines of a node's box: its title, its tensor, what it costs."""
        node, call = self.graph.nodes[position], self.alone.get(self.call_of[position])
        title, shape = shorten(labels.node_title(node, self.graph), LONGEST), shorten(tensor_of(node), LONGEST)
        if node.kind in SMALL_KINDS or (node.nature == "view" and self.graph.stage != "eager"):
            return title, shape, ""
        time = microseconds(node.timing.median_us) if node.timing else ""
        return title, shape, labels.cost_line(call) if call is not None else time

    def columns(self) -> dict[str, Any]:
        """Everything the page draws, as columns; `dim` are views and what is gone: small, hidden when views are folded."""
        nodes = self.graph.nodes
        words = [self.words(position) for position in range(len(nodes))]
        return {
            "inputs": self.inputs,
            "call": self.call_of,
            "home": self.home,
            "own": list(self.own),
            "opens": list(self.own.values()),
            "dim": [int(node.kind in ("view", "folded", "eliminated") or node.nature == "view") for node in nodes],
            **{key: [lines[place] for lines in words] for place, key in enumerate(("title", "sub", "meta"))},
            "groups": {key: [group[place] for group in self.groups] for place, key in enumerate(Group._fields)},
        }


def common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    same = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False))
    return tuple(parts[0] for parts in same)


def tensor_of(node: Node) -> str:
    if not node.outputs:
        return ""
    first, *rest = node.outputs
    return short_tensor(first.shape, first.dtype) + (f" +{len(rest)}" if rest else "")
