"""The eager dispatch chain as a tree: which op called which, and the few that reached the device."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from rich.tree import Tree

from fxscope.analysis import select
from fxscope.columns import column
from fxscope.dtypes import short_tensor
from fxscope.index import grouped, index_of
from fxscope.op_names import is_dispatched, is_generated
from fxscope.render import theme
from fxscope.render.bounded import Text
from fxscope.text import counted, kernel_name, microseconds, shorten

if TYPE_CHECKING:
    from fxscope.model import Graph, Node, Recording

MAX_LINES = 150


def dispatch_tree(recording: Recording, graph: Graph, *, width: int = 80, max_lines: int = MAX_LINES) -> Tree:
    """The tree of an eager graph: views dimmed, each launch under its op with its median time."""
    runs = index_of(recording).runs_of_node[graph.id]
    children = grouped((node for node in graph.nodes if node.op == "dispatch"), lambda node: node.parent)
    steps = max(1, len(set(column(recording.launches, "step"))))
    index = index_of(recording)
    label = root_label(children, index.dispatched.get(index.first_step, 0))
    tree = Tree(Text(label, style="bold"), guide_style="dim")
    budget = [max_lines]
    total = sum(map(len, children.values()))
    _grow(tree, children, None, runs, steps, width, 1, budget, last_source="")
    if budget[0] < 0 or (budget[0] == 0 and total > max_lines):
        tree.add(Text("… the chain goes on: write .html or .json to see all of it", style="dim"))
    return tree


def root_label(children: dict[str | None, list[Node]], in_a_step: int) -> str:
    """Say how many ops were dispatched, those that ops call among them, and how many of them do work themselves.

    A graph may hold fewer than the step dispatched: what autograd calls inside an op, say.
    """
    ops = [node for group in children.values() for node in group if is_dispatched(str(node.target))]
    working = sum(node.kind == "kernel" and node.nature != "composite" for node in ops)
    said = f"{counted(len(ops), 'op')} dispatched"
    if in_a_step > len(ops):
        said = f"{len(ops):,} of the {counted(in_a_step, 'op')} that a step dispatches"
    return f"{said}, {working} of them {'launches' if working == 1 else 'launch'} work"


def _grow(
    tree: Tree,
    children: dict[str | None, list[Node]],
    parent: str | None,
    runs: dict[str, dict[str, list[tuple[int, int]]]],
    steps: int,
    width: int,
    depth: int,
    budget: list[int],
    *,
    last_source: str,
) -> None:
    for node in children.get(parent, ()):
        if budget[0] <= 0:
            budget[0] = -1
            return
        source = source_label(node)
        if source and source != last_source and parent is None:
            tree.add(Text(shorten(source, width - 6), style="italic dim"))
            budget[0] -= 1
        last_source = source or last_source
        branch = tree.add(node_label(node, room=width - 4 * depth - 2))
        budget[0] -= 1
        for name, group in runs.get(node.name, {}).items():
            branch.add(launch_label(name, group, steps, width - 4 * depth - 6))
            budget[0] -= 1
        _grow(branch, children, node.name, runs, steps, width, depth + 1, budget, last_source=last_source)


def source_label(node: Node) -> str:
    """ "gate_proj  model.py:17  g = self.gate_proj(x)" as far as it is known."""
    source = node.source
    if source is None:
        return ""
    return "  ".join(part for part in (source.module, select.place(source), source.code) if part)


def node_label(node: Node, *, room: int) -> Text:
    """One op: glyph, name, output shape; dim where it launches nothing."""
    style = theme.KINDS[node.kind]
    name = kernel_name(node.target) if is_generated(node.target) else node.target
    text = Text(f"{style.glyph} {name}", style="dim" if node.kind in ("view", "eliminated") else "")
    if node.kind == "kernel":
        text.stylize(style.terminal)
    if node.outputs:
        out = node.outputs[0]
        shape = f"  {short_tensor(out.shape, out.dtype)}"
        if node.kind == "view" and out.stride is not None:
            shape += f" strides ({','.join(map(str, out.stride))})"
        if len(text) + len(shape) <= room:
            text.append(shape, style="dim")
    return text


def launch_label(name: str, runs: list[tuple[int, int]], steps: int, room: int) -> Text:
    """One kernel with its median time, and how often it ran in a step where that is not once."""
    time = microseconds(median(duration for _, duration in runs) / 1e3)
    times = len(runs) / max(1, len({step for step, _ in runs}) or steps)
    tail = f"  {time}" + (f" × {times:g}" if times != 1 else "")
    text = Text("→ ", style="dim")
    text.append(kernel_name(name, max(12, room - len(tail) - 2)), style="bold")
    text.append(tail, style="bold green")
    return text
