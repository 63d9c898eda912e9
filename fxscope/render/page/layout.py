"""Where the boxes of a graph go, decided by Graphviz before the page is opened. Only numbers reach it, never names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope.errors import RenderError
from fxscope.render import svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LARGE = 400  # boxes from which `dot` needs its iteration limits to stay linear
HUGE = 900  # boxes from which routing edges around boxes takes longer than placing them: they go straight
MAX_BOXES = 8000
POINTS_PER_INCH = 72
MONO_WIDTH = 7.2  # of one character of Courier at 12 points, by which a cluster's title gets its room


class Box(NamedTuple):
    """A box to place: its id (a node's index, or -1 - a closed group's), its size in px, the open group it is in."""

    id: int
    width: int
    height: int
    group: int  # -1: none


class Frame(NamedTuple):
    """An open group: a frame around its boxes, with room for a title."""

    id: int
    parent: int  # -1: none
    width: int  # of the title
    lines: int


class Placed(NamedTuple):
    """Positions in px, y downwards: centres of boxes, corners of frames, points of edges (cubic splines)."""

    width: int
    height: int
    boxes: dict[int, tuple[int, int]]
    frames: dict[int, tuple[int, int, int, int]]
    edges: list[tuple[int, int, list[int]]]


def place(boxes: Sequence[Box], frames: Sequence[Frame], edges: Iterable[tuple[int, int]]) -> Placed | None:
    """Lay out top to bottom. None where no layout engine is here or the graph is too large for one."""
    if not boxes or len(boxes) > MAX_BOXES:
        return None
    try:
        answer = svg.layout(source(boxes, frames, edges), format="json0")
        return read(json.loads(answer))
    except (RenderError, ValueError, KeyError):
        return None  # the page has a simple layout of its own


def source(boxes: Sequence[Box], frames: Sequence[Frame], edges: Iterable[tuple[int, int]]) -> str:
    """Return DOT whose nodes are `n<id>` (`m<id>` for closed groups) and whose clusters are `cluster_<id>`."""
    lines = ["digraph g {", "graph [rankdir=TB, nodesep=0.22, ranksep=0.36, pad=0.1, fontname=Courier, fontsize=12]"]
    if len(boxes) > HUGE:
        lines.append("graph [nslimit=0.2, nslimit1=0.2, splines=none, mclimit=0.1]")
    elif len(boxes) > LARGE:
        lines.append("graph [nslimit=1, nslimit1=1, splines=polyline, mclimit=0.5]")
    lines.append('node [shape=box, fixedsize=true, label=""]\nedge [arrowhead=none]')
    children: dict[int, list[Frame]] = {}
    for frame in frames:
        children.setdefault(frame.parent, []).append(frame)
    inside: dict[int, list[Box]] = {}
    for box in boxes:
        inside.setdefault(box.group, []).append(box)

    def emit(group: int) -> None:
        for box in inside.get(group, ()):
            width, height = box.width / POINTS_PER_INCH, box.height / POINTS_PER_INCH
            lines.append(f"{name(box.id)} [width={width:.3f}, height={height:.3f}]")
        for frame in children.get(group, ()):
            title = "\\n".join(["x" * max(1, round(frame.width / MONO_WIDTH))] + ["x"] * (frame.lines - 1))
            lines.append(f'subgraph cluster_{frame.id} {{ label="{title}"; margin=12;')
            emit(frame.id)
            lines.append("}")

    emit(-1)
    lines += [f"{name(a)} -> {name(b)}" for a, b in edges]
    return "\n".join([*lines, "}"])


def name(box: int) -> str:
    """Return a DOT identifier: dashes are not allowed in one."""
    return f"n{box}" if box >= 0 else f"m{-1 - box}"


def number(identifier: str) -> int:
    """Return the box that `name` named."""
    return int(identifier[1:]) if identifier[0] == "n" else -1 - int(identifier[1:])


def read(answer: Mapping[str, Any]) -> Placed:
    """Read Graphviz's JSON."""
    left, bottom, right, top = (float(part) for part in answer["bb"].split(","))

    def point(text: str) -> tuple[int, int]:
        x, y = text.split(",")[:2]
        return round(float(x) - left), round(top - float(y))

    boxes: dict[int, tuple[int, int]] = {}
    frames: dict[int, tuple[int, int, int, int]] = {}
    ids: dict[int, int] = {}
    half: dict[int, int] = {}  # of a box's height
    for item in answer.get("objects", ()):
        if item["name"].startswith("cluster_"):
            if "bb" in item:
                x0, y0, x1, y1 = (float(part) for part in item["bb"].split(","))
                corners = (x0 - left, top - y1, x1 - left, top - y0)
                frames[int(item["name"][8:])] = tuple(round(value) for value in corners)  # type: ignore[assignment]
        elif "pos" in item:
            ids[item["_gvid"]] = number(item["name"])
            boxes[ids[item["_gvid"]]] = point(item["pos"])
            half[ids[item["_gvid"]]] = round(float(item["height"]) * POINTS_PER_INCH / 2)
    edges: list[tuple[int, int, list[int]]] = []
    for item in answer.get("edges", ()):
        points: list[int] = []
        for part in item.get("pos", "").split():
            if part[:2] not in ("e,", "s,"):
                points += point(part)
        tail, head = ids[item["tail"]], ids[item["head"]]
        edges.append((tail, head, points or straight(boxes[tail], half[tail], boxes[head], half[head])))
    return Placed(round(right - left), round(top - bottom), boxes, frames, edges)


def straight(tail: tuple[int, int], tail_half: int, head: tuple[int, int], head_half: int) -> list[int]:
    """Return a curve from the foot of one box to the top of another."""
    top, bottom = tail[1] + tail_half, head[1] - head_half
    bend = max(14, min(70, abs(bottom - top) // 2))
    return [tail[0], top, tail[0], top + bend, head[0], bottom - bend, head[0], bottom]
