"""Layout of the strip: the groups of kernels by phase and module on one axis, and what was not fused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from fxscope.analysis.groups import KernelGroup, numberless, span
from fxscope.analysis.missed import MissedRow
from fxscope.analysis.report import Report, report
from fxscope.columns import rows_of
from fxscope.index import Key, grouped, index_of
from fxscope.model import Kind, Recording
from fxscope.op_names import is_generated, op_name
from fxscope.text import counted, microseconds, num_bytes

LEFT, RIGHT = 124, 1256  # of the axis, in px
SPAN = RIGHT - LEFT
MODULE_ROWS = 3
MAX_MARKS = 4  # missed fusions with a number
MEMORY = ("Memset", "Memcpy", "memset", "memcpy")


class Extent(NamedTuple):
    x: float
    width: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class ModuleBlock:
    """A phase or a module, with the groups of kernels that ran in it; equal ones are one block."""

    def __init__(self, title: str = "") -> None:
        self.title = title
        self.numbers: set[int] = set()
        self.times = 1  # equal modules; Linear, GELU, Linear of one Sequential are none
        self.groups: list[KernelGroup] = []
        self.children: dict[str, ModuleBlock] = {}

    def child(self, title: str) -> ModuleBlock:
        return self.children.setdefault(title, ModuleBlock(title))

    @property
    def order(self) -> int:
        return min(group.order for group in self.everything())

    @property
    def words(self) -> str:
        """ "layers.[0..11] ×12"."""
        if not self.numbers:
            return self.title
        is_layers = self.times == len(self.numbers) > 1  # else some of them are equal, and others are not
        return self.title.replace("#", span(sorted(self.numbers))) + (f" ×{self.times}" if is_layers else "")

    def parts(self) -> list[ModuleBlock | KernelGroup]:
        return sorted([*self.groups, *self.children.values()], key=lambda part: part.order)

    def everything(self) -> list[KernelGroup]:
        return [*self.groups, *(group for child in self.children.values() for group in child.everything())]

    def joined(self) -> ModuleBlock:
        """A block with one inner block and nothing else as one: "model.layers.[0..11]"."""
        self.children = {name: child.joined() for name, child in self.children.items()}
        if self.title and not self.groups and len(self.children) == 1 and not self.numbers:
            inner = next(iter(self.children.values()))
            inner.title = f"{self.title}.{inner.title}"
            return inner
        return self


def tree_of(groups: Sequence[KernelGroup]) -> ModuleBlock:
    """The groups by phase and the modules that all of a group's share, numbers as "#": forward, layers.#, fc1."""
    root = ModuleBlock()
    for group in groups:
        here, places = root.child(group.phase) if group.phase else root, group.count
        for column in zip(*(module.split(".") for module in group.modules), strict=False):
            title, *others = {numberless(part) for part in column}
            if others:
                break
            here = here.child(title)
            numbers = {int(found[0]) for part in column if (found := re.search(r"\d+$", part)) and "#" in title}
            here.numbers |= numbers
            times = min(len(numbers), places)  # one kernel can run ops of several
            here.times, places = max(here.times, times), places // max(times, 1)
        here.groups.append(group)
    return root.joined()


class Cut(NamedTuple):
    """A missed fusion on the strip: its pairs of groups, and what it costs."""

    row: MissedRow
    ends: dict[tuple[str, str], int]  # ids of groups → the first decision about such a pair


class Strip:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.report: Report = report(recording)
        self.clock = self.report.step.clock
        self.timed = any(group.time_us for group in self.report.groups)
        self.total = sum(map(self.weight, self.report.groups))
        row = self.report.step
        self.step_us = (sum(row.parts_us) if row.parts_us else row.device_us) or self.total  # of the step's row
        share = self.total / row.device_us if self.timed and row.device_us else 1.0
        self.share_drawn = share if share < 0.95 else 1.0  # of the kernels' time: medians of groups need not add up
        self.tree = tree_of(self.report.groups)
        self.places: dict[str, Extent] = {}
        self.modules: list[list[tuple[ModuleBlock, Extent]]] = [[] for _ in range(MODULE_ROWS)]
        self.order: list[KernelGroup] = []
        self.by_node = {node: group.id for group in self.report.groups for node in group.nodes}
        self.cuts = self.find_cuts()

    def weight(self, group: KernelGroup) -> float:
        """A group's µs; its number of calls where no time is known."""
        return (group.time_us or 0.0) if self.timed else float(group.count)

    def lay_out(self, scale: float) -> None:
        """Place every block and group, `scale` px per µs."""
        self._place(self.tree, float(LEFT), -1, scale)

    def _place(self, block: ModuleBlock, x: float, depth: int, scale: float) -> float:
        start = x
        for part in block.parts():
            if isinstance(part, ModuleBlock):
                x = self._place(part, x, depth + 1, scale)
            else:
                self.places[part.id] = Extent(x, self.weight(part) * scale)
                self.order.append(part)
                x = self.places[part.id].right
        if 0 <= depth < MODULE_ROWS:
            self.modules[depth].append((block, Extent(start, x - start)))
        return x

    def find_cuts(self) -> list[Cut]:
        """The missed fusions whose two sides are on the strip, the report's order."""
        by_call = {call: group.id for group in self.report.groups for call in group.calls}
        found: list[Cut] = []
        for row in possible(self.report):
            pairs: dict[tuple[str, str], int] = {}
            for position in row.decisions:
                a, b = (
                    by_call.get(end.call or "")
                    or next(filter(None, (self.by_node.get((end.graph, name)) for name in end.nodes)), None)
                    for end in self.recording.decisions[position].ends
                )
                if a is not None and b is not None:
                    pairs.setdefault((a, b), position)
            if pairs:
                found.append(Cut(row, pairs))
        return found

    @cached_property
    def views(self) -> dict[str, list[tuple[str, Key]]]:
        """The views (op, node), each with the group of the first kernel after it."""
        found: dict[str, list[tuple[str, Key]]] = {}
        for graph in self.recording.graphs:
            waiting: list[tuple[str, Key]] = []
            for name, target, nature in rows_of(graph.nodes, "name", "target", "nature"):
                key = (graph.id, name)
                if nature == "view" and op_name(target) != "getitem":  # which is no op of the program
                    waiting.append((op_name(target), key))
                if key in self.by_node and waiting:
                    found.setdefault(self.by_node[key], []).extend(waiting)
                    waiting = []
        return found

    def numbered(self) -> list[tuple[int, list[Cut]]]:
        """The first missed fusions, those that exclude each other together, counted from 1."""
        found = grouped(self.cuts, lambda cut: id(cut) if cut.row.bracket is None else ("bracket", cut.row.bracket))
        return list(enumerate(list(found.values())[:MAX_MARKS], 1))

    def nearest(self, cut: Cut) -> tuple[Extent, Extent, int]:
        """The two groups of a missed fusion that lie nearest to each other, and the decision about them."""
        pairs = [(self.places[a], self.places[b], decision) for (a, b), decision in cut.ends.items()]
        return min(pairs, key=lambda pair: abs(pair[0].right - pair[1].x))

    def lines(self) -> list[tuple[dict[str, str], Extent]]:
        """The source lines ("/a/model.py:17" → its text) of neighbouring groups that stem from the same ones."""
        index = index_of(self.recording)
        found: list[tuple[dict[str, str], Extent]] = []
        for group in self.order:
            sources = [source for call in group.calls if call in index.calls for source in index.calls[call].sources]
            sources = sources or [node.source for key in group.nodes if (node := index.node(key))]
            known = (item for item in sources if item and item.file and item.line)
            lines, place = {f"{item.file}:{item.line}": item.code or "" for item in known}, self.places[group.id]
            if found and found[-1][0].keys() == lines.keys():
                place = Extent(found[-1][1].x, place.right - found.pop()[1].x)
            found.append((lines, place))
        return [item for item in found if item[0]]

    def kind_of(self, group: KernelGroup) -> Kind:
        """Fused (Inductor wrote it), a library's kernel, or a memset or copy."""
        names = group.kernels
        if names and all(name.startswith(MEMORY) for name in names):
            return "input"
        own = (call.is_generated for call in map(index_of(self.recording).calls.get, group.calls) if call)
        return "fused" if (any(own) if group.calls else names and all(map(is_generated, names))) else "kernel"


def possible(made: Report) -> list[MissedRow]:
    """The missed fusions that can be had; the terminal's rows, too."""
    return [row for row in made.missed if row.is_possible]


def rivals(made: Report, row: MissedRow) -> str:
    """ " (with 2 other pairs, at most one fusion per kernel)": rows that exclude a missed fusion; for `saving`."""
    number = sum(item.bracket == row.bracket for item in possible(made)) - 1 if row.bracket is not None else 0
    return f" (with {counted(number, 'other pair')}, at most one fusion per kernel)" if number else ""


def saving(made: Report, row: MissedRow) -> str:
    """Return what fusing saves per step: one number for rows that exclude each other."""
    together = next((item for item in made.brackets if item.number == row.bracket), row)
    if together.time_us is not None:
        return f"~{microseconds(together.time_us)}"
    if row.time_us is not None:  # what the rows save together is not known: this one's is the least
        return f"≥ {microseconds(row.time_us)}"
    return f"{num_bytes(together.bytes)} of traffic" if together.bytes is not None else "cost unknown"
