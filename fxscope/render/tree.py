"""The eager dispatch chain as a tree: which op called which, and the few that reached the device."""

import itertools
from collections.abc import Iterator
from statistics import median

from fxscope.analysis import select
from fxscope.columns import column
from fxscope.dtypes import short_tensor
from fxscope.index import grouped, index_of
from fxscope.model import Graph, Node, Recording
from fxscope.op_names import is_dispatched, is_generated
from fxscope.render import grid, theme
from fxscope.text import counted, kernel_name, microseconds, shorten

MAX_LINES = 150


def dispatch_tree(recording: Recording, graph: Graph, *, width: int = 80, max_lines: int = MAX_LINES) -> Iterator[str]:
    """Yield the lines of an eager graph's tree: each launch under its op with its median time."""
    index = index_of(recording)
    runs = index.runs_of_node[graph.id]
    children = grouped((node for node in graph.nodes if node.op == "dispatch"), lambda node: node.parent)
    steps = max(1, len(set(column(recording.launches, "step"))))

    def below(item: Node | str | None) -> list[Node | str]:
        if isinstance(item, str):
            return []
        name = item.name if item is not None else None
        found: list[Node | str] = []
        last = ""
        for node in children.get(name, ()):
            source = ""
            if item is None and node.source is not None:
                parts = (node.source.module, select.place(node.source), node.source.code)
                source = "  ".join(part for part in parts if part)
            found += [source] if source and source != last else []
            last = source or last
            found.append(node)
        launches: list[Node | str] = []
        for kernel, group in runs.get(name or "", {}).items():  # with the median time, and how often in a step
            often = len(group) / max(1, len({step for step, _ in group}) or steps)
            time = microseconds(median(duration for _, duration in group) / 1e3)
            launches.append(f"→ {kernel_name(kernel, 56)}  {time}" + (f" × {often:g}" if often != 1 else ""))
        return [*launches, *found]

    def words(item: Node | str, lead: int) -> str:
        return shorten(item, width - lead) if isinstance(item, str) else node_label(item, room=width - lead)

    ops = [node for group in children.values() for node in group if is_dispatched(str(node.target))]
    working = sum(node.kind == "kernel" and node.nature != "composite" for node in ops)
    step = index.dispatched.get(index.typical_step, 0)  # also what autograd calls inside an op
    said = f"{len(ops):,} of the {counted(step, 'op')} that a step dispatches" if step > len(ops) else ""
    said = said or f"{counted(len(ops), 'op')} dispatched"
    yield f"{said}, {working} of them {'launches' if working == 1 else 'launch'} work"
    lines = grid.tree(None, below, words)
    yield from itertools.islice(lines, max_lines)
    if next(lines, None) is not None:
        yield "… the chain goes on: write .html or .json to see all of it"


def node_label(node: Node, *, room: int) -> str:
    """One op: glyph, name, output shape."""
    text = f"{theme.KINDS[node.kind].glyph} {kernel_name(node.target) if is_generated(node.target) else node.target}"
    if node.outputs:
        out = node.outputs[0]
        shape = f"  {short_tensor(out.shape, out.dtype)}"
        if node.kind == "view" and out.stride is not None:
            shape += f" strides ({','.join(map(str, out.stride))})"
        text += shape if len(text) + len(shape) <= room else ""
    return shorten(text, room)
