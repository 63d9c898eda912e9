"""A graph as the page draws it: boxes with their words and sizes, nested groups, and layouts made ahead.

Groups are nn.Modules, kernel calls (each inside the innermost module that holds all of its ops) and, in an eager
graph, ops that call others. A layout is made for the state the page opens in and for the states one click away; for
anything else the page has a simple layout of its own, which follows the same rules as `visible`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope.render import labels, theme
from fxscope.render.page import layout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from fxscope.model import Graph, KernelCall, Node, Recording

MAX_OPEN = 150  # boxes up to which a graph is shown unfolded
MAX_FOLDED = 70  # boxes that a folded graph opens with, at most
MAX_TITLE = 46
SMALL_KINDS = frozenset({"view", "folded", "eliminated", "input"})
_SELF = re.compile(r"^(?:L\[['\"]?self['\"]?\]|self|model)\.?")
_INDEX = re.compile(r"\[['\"]?([^\]'\"]+)['\"]?\]")


class Group(NamedTuple):
    """A frame of the picture. `kind` is "module", "call" or "op"; `ref` is the call's index or the op's node."""

    parent: int
    kind: str
    title: str
    sub: str
    meta: str
    ref: int
    share: float | None
    path: str


class Words(NamedTuple):
    """What a box says, one line each, and its size in px."""

    title: str
    sub: str
    meta: str
    width: int
    height: int


class Scene(NamedTuple):
    """Everything the page needs to draw one graph."""

    graph: Graph
    words: list[Words]
    inputs: list[list[int]]
    dim: list[bool]  # views and what is gone: small, and hidden when views are folded
    groups: list[Group]
    group_words: list[Words]  # of a closed group
    home: list[int]  # the innermost group of a node
    own: dict[int, int]  # eager: node → the group it opens into
    call_of: list[int]  # index of the call it ran in, -1 where none


def module_path(text: str | None) -> tuple[str, ...]:
    """Return the parts of a module path: "L['self'].layers[0].attn" → layers, 0, attn."""
    plain = _INDEX.sub(r".\1", _SELF.sub("", text or ""))
    return tuple(part for part in plain.split(".") if part)


def cost_line(call: KernelCall) -> str:
    """Return time, bytes and share of the roof, as far as they are known."""
    parts: list[str] = []
    if call.timing:
        parts.append(theme.microseconds(call.timing.mean_us))
    elif call.estimated_us is not None:
        time = theme.microseconds(call.estimated_us) if call.estimated_us >= 0.005 else "0.01 µs or less"
        parts.append(f"≥ {time} planned" if call.estimated_us >= 0.005 else f"{time} planned")
    if call.bytes_read is not None or call.bytes_written is not None:
        parts.append(theme.num_bytes((call.bytes_read or 0) + (call.bytes_written or 0)))
    if call.roof and call.roof.share is not None:
        parts.append(f"{theme.percent(call.roof.share)} of roof")
    return " · ".join(parts)


def build(recording: Recording, graph: Graph, call_index: Mapping[str, int]) -> Scene:
    """Return the scene of one graph."""
    index = {node.name: position for position, node in enumerate(graph.nodes)}
    inputs = [[index[name] for name in dict.fromkeys(node.inputs) if name in index] for node in graph.nodes]
    calls = [call for call in recording.calls if call.graph == graph.id]
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
    dim = [node.kind in ("view", "folded", "eliminated") or node.nature == "view" for node in graph.nodes]
    return Scene(
        graph,
        words,
        inputs,
        dim,
        builder.groups,
        [group_words(g) for g in builder.groups],
        builder.home,
        builder.own,
        call_of,
    )


class GroupBuilder:
    """Finds the groups of a graph, parents before children."""

    def __init__(
        self, recording: Recording, graph: Graph, index: Mapping[str, int], inputs: list[list[int]], call_of: list[int]
    ) -> None:
        self.recording, self.graph, self.index, self.inputs, self.call_of = recording, graph, index, inputs, call_of
        self.groups: list[Group] = []
        self.home = [-1] * len(graph.nodes)
        self.own: dict[int, int] = {}
        self.group_of_call: dict[int, int] = {}
        self.of_module: dict[tuple[str, ...], int] = {}
        self.types = {
            module_path(n.source.module): n.source.module_type for n in graph.nodes if n.source and n.source.module_type
        }

    def build(self, calls: Sequence[KernelCall], call_index: Mapping[str, int]) -> None:
        """Fill `groups`, `home` and `own`."""
        paths = self.paths()
        members: dict[int, list[int]] = {}
        for position, call in enumerate(self.call_of):
            if call >= 0:
                members.setdefault(call, []).append(position)
        for path in sorted({p[:n] for p in paths for n in range(1, len(p) + 1)}):
            parent = self.of_module.get(path[:-1], -1)
            self.of_module[path] = len(self.groups)
            self.groups.append(
                Group(parent, "module", path[-1], self.types.get(path) or "", "", -1, None, ".".join(path))
            )
        for call in calls:
            position = call_index[call.id]
            inside = members.get(position, [])
            if len(inside) > 1 or (inside and call.type not in theme.EXTERN_CALLS):
                path = common([paths[i] for i in inside if paths[i]])
                self.group_of_call[position] = len(self.groups)
                share = call.roof.share if call.roof else None
                nodes = {node.name: node for node in self.graph.nodes}
                ops = " · ".join(labels.ops_of(call, nodes)[:6])
                self.groups.append(
                    Group(
                        self.of_module.get(path, -1),
                        "call",
                        call.kernel,
                        ops,
                        cost_line(call),
                        position,
                        share,
                        call.id,
                    )
                )
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
                title = labels.short_target(node.target)
                meta = theme.microseconds(node.timing.mean_us) if node.timing and works(node) else ""
                self.groups.append(Group(home, "op", title, shape, meta, position, None, node.name))
        self.sum_modules()

    def paths(self) -> list[tuple[str, ...]]:
        """Return the module of each node; of an input, the module that all of its users are in."""
        paths = [module_path(node.source.module if node.source else None) for node in self.graph.nodes]
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
            for group in self.chain(home):
                ops[group] += self.graph.nodes[position].op not in ("placeholder", "output", "get_attr")
        counted: set[int] = set()
        for position, call in enumerate(self.call_of):
            if call < 0 or call in counted:
                continue
            counted.add(call)
            timing = self.recording.calls[call].timing
            for group in self.chain(self.home[position]):
                kernels[group] += 1
                if timing:
                    time[group] += 1
                    timed[group] += timing.mean_us
        for position, group in enumerate(self.groups):
            if group.kind == "module":
                parts = [group.sub, labels.plural(ops[position], "op")]
                parts += [labels.plural(kernels[position], "kernel")] if kernels[position] else []
                # Only the sum over all is a sum; a part of it would read as the whole.
                whole = time[position] and time[position] == kernels[position]
                meta = theme.microseconds(timed[position]) if whole else ""
                self.groups[position] = group._replace(sub=" · ".join(p for p in parts if p), meta=meta)

    def chain(self, group: int) -> list[int]:
        """Return a group and what it is in."""
        found: list[int] = []
        while group >= 0:
            found.append(group)
            group = self.groups[group].parent
        return found


def common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the longest common prefix."""
    if not paths:
        return ()
    first, last = min(paths), max(paths)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]


def tensor_of(node: Node) -> str:
    """Return the first output as FX prints it."""
    if not node.outputs:
        return ""
    first, *rest = node.outputs
    return theme.tensor(first.shape, first.dtype) + (f" +{len(rest)}" if rest else "")


def node_words(node: Node, graph: Graph, call: KernelCall | None) -> Words:
    """Return what a node's box says. An extern kernel with one op has no frame: the box carries its name and cost."""
    op = labels.short_target(node.target)
    if node.op in ("placeholder", "get_attr", "output"):
        title = node.name
    elif graph.stage == "eager" or node.name == op or not node.name.startswith(op[:4]):
        title = op
    else:
        title = node.name
    title = labels.shorten(title, MAX_TITLE)
    shape = labels.shorten(tensor_of(node), MAX_TITLE)
    if node.kind in SMALL_KINDS or (node.nature == "view" and graph.stage != "eager"):
        return Words(title, shape, "", round(7.0 * len(title) + 6.7 * len(shape) + 40), 24)
    meta = ""
    if call is not None:
        meta = cost_line(call)
    elif node.timing is not None:
        meta = theme.microseconds(node.timing.mean_us)
    width = max(7.6 * len(title) + 30, 6.7 * len(shape) + 24, 6.7 * len(meta) + 24)
    return Words(title, shape, meta, max(72, round(width)), 26 + (15 if shape else 0) + (15 if meta else 0))


def group_words(group: Group) -> Words:
    """Return what a closed group says."""
    title = labels.shorten(group.title, MAX_TITLE)
    sub = labels.shorten(group.sub, MAX_TITLE)
    width = max(7.6 * len(title) + 46, 6.7 * len(sub) + 24, 6.7 * len(group.meta) + 24)
    height = 28 + (15 if sub else 0) + (15 if group.meta else 0)
    return Words(title, sub, group.meta, max(110, round(width)), height)


class State(NamedTuple):
    """What is folded: whether modules frame their ops, whether views are shown, which groups are closed."""

    modules: bool
    views: bool
    closed: frozenset[int]


def visible(scene: Scene, state: State) -> tuple[list[layout.Box], list[layout.Frame], list[tuple[int, int]]]:
    """Return boxes, open frames and edges in a state. `graph.js` has the same rules."""
    shown_as: list[int | None] = []
    inner: list[int] = []
    for position, home in enumerate(scene.home):
        box: int | None = position
        innermost = -1
        group = scene.own.get(position, home)
        while group >= 0:
            item = scene.groups[group]
            if item.kind != "module" or state.modules:
                if group in state.closed:
                    box, innermost = -1 - group, -1
                elif group == scene.own.get(position):
                    box = None  # an op that is open is the frame around the ops it calls
                if innermost < 0 and group not in state.closed:
                    innermost = group
            group = item.parent
        if not state.views and box == position and scene.dim[position]:
            box = None
        shown_as.append(box)
        inner.append(innermost)
    boxes: dict[int, layout.Box] = {}
    for position, box in enumerate(shown_as):
        if box is not None and box not in boxes:
            words = scene.words[box] if box >= 0 else scene.group_words[-1 - box]
            boxes[box] = layout.Box(box, words.width, words.height, inner[position])
    needed: set[int] = set()
    for made in boxes.values():
        group = made.group
        while group >= 0:
            if scene.groups[group].kind != "module" or state.modules:
                needed.add(group)
            group = scene.groups[group].parent
    frames = [frame_of(scene, group, needed) for group in sorted(needed)]
    return list(boxes.values()), frames, edges_of(scene, shown_as)


def frame_of(scene: Scene, group: int, needed: AbstractSet[int]) -> layout.Frame:
    """Return an open group's frame inside the nearest open one."""
    item = scene.groups[group]
    parent = item.parent
    while parent >= 0 and parent not in needed:
        parent = scene.groups[parent].parent
    title = min(len(item.title), MAX_TITLE) * 7.4 + 44
    return layout.Frame(group, parent, round(max(title, len(item.meta) * 6.7 + 24)), 2 if item.meta else 1)


def edges_of(scene: Scene, shown_as: Sequence[int | None]) -> list[tuple[int, int]]:
    """Return edges between what is shown; data goes on through what is hidden."""
    last_child = {group: position for position, group in enumerate(scene.home)}
    cache: dict[int, tuple[int, ...]] = {}

    def sources(position: int) -> tuple[int, ...]:
        box = shown_as[position]
        if box is not None:
            return (box,)
        if position in cache:
            return cache[position]
        cache[position] = ()  # a graph has no cycle, but a recording may claim one
        if position in scene.own:
            last = last_child.get(scene.own[position])
            found = sources(last) if last is not None else ()
        else:
            found = tuple(dict.fromkeys(s for i in scene.inputs[position] for s in sources(i)))
        cache[position] = found
        return found

    edges: dict[tuple[int, int], None] = {}
    for position, box in enumerate(shown_as):
        if box is not None:
            for given in scene.inputs[position]:
                for source in sources(given):
                    if source != box:
                        edges[source, box] = None
    return list(edges)


def works(node: Node) -> bool:
    """Return whether an op launches work of its own, whatever it calls besides."""
    return node.kind == "kernel" and node.nature != "composite"


def unfolded(scene: Scene) -> State:
    """Return all open, but for eager ops that do the work themselves: `mm` is a kernel, not the views it asks for."""
    closed = (group for node, group in scene.own.items() if works(scene.graph.nodes[node]))
    return State(modules=False, views=True, closed=frozenset(closed))


def opening_state(scene: Scene) -> State:
    """Return the state a graph opens in: all of a small one, the upper modules of a large one."""
    everything = unfolded(scene)
    if len(visible(scene, everything)[0]) <= MAX_OPEN:
        return everything
    if not scene.groups:
        return everything
    modules = any(group.kind == "module" for group in scene.groups)
    depths: list[int] = []
    for group in scene.groups:
        counts = group.parent >= 0 and (modules or scene.groups[group.parent].kind != "module")
        depths.append(depths[group.parent] + 1 if counts else 0)
    best = None
    for depth in range(max(depths) + 1):
        # A fused kernel opens into its ops on a click; a module shows what it holds.
        closed = (
            frozenset(i for i, v in enumerate(depths) if v >= depth or scene.groups[i].kind == "call")
            | unfolded(scene).closed
        )
        state = State(modules=modules, views=False, closed=closed)
        if best is not None and len(visible(scene, state)[0]) > MAX_FOLDED:
            break
        best = state
    return best or everything


def layouts(scene: Scene) -> list[dict[str, Any]]:
    """Return the layouts made ahead; the first is the one the graph opens in."""
    first = opening_state(scene)
    states = [first, first._replace(views=not first.views)]
    everything = unfolded(scene)
    if len(scene.graph.nodes) <= MAX_OPEN:
        if any(group.kind == "module" for group in scene.groups):
            states.append(first._replace(modules=not first.modules))
    elif first != everything:
        states.append(everything)
    else:
        states.pop()
    return [made for state in dict.fromkeys(states) if (made := one_layout(scene, state)) is not None]


def one_layout(scene: Scene, state: State) -> dict[str, Any] | None:
    """Return one layout as columns; without positions where no engine is here."""
    boxes, frames, edges = visible(scene, state)
    head = {"modules": state.modules, "views": state.views, "closed": sorted(state.closed)}
    placed = layout.place(boxes, frames, edges)
    if placed is None:
        return {**head, "w": None}
    return {
        **head,
        "w": placed.width,
        "h": placed.height,
        "box": list(placed.boxes),
        "x": [p[0] for p in placed.boxes.values()],
        "y": [p[1] for p in placed.boxes.values()],
        "frame": list(placed.frames),
        "corner": [list(c) for c in placed.frames.values()],
        "from": [e[0] for e in placed.edges],
        "to": [e[1] for e in placed.edges],
        "points": [relative(e[2]) for e in placed.edges],
    }


def relative(points: Sequence[int]) -> list[int]:
    """Return a point list as steps from point to point: small numbers compress well."""
    return [value if i < 2 else value - points[i - 2] for i, value in enumerate(points)]


def finite(value: float | None) -> float | None:
    """Return a number that JSON can hold."""
    return None if value is None or not math.isfinite(value) else value
