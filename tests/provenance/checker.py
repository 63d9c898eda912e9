"""Holds "ran in" against the graph and the calls' arguments, by other means than the attribution: no map of values.

A node ran in a call only if what it takes was there: computed in the same call, read as a graph input, or read from a
buffer that a call before it wrote in which the operand ran. And what a graph computes, some call computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from fxscope.model import Graph, KernelCall, Recording

VIEWS = frozenset(
    """view reshape permute expand unsqueeze squeeze select slice transpose t as_strided getitem alias detach split
    split_with_sizes unbind diagonal unfold _unsafe_view view_as_real view_as_complex""".split()
)
# Values that are known when code is written, or need none of their operand's data.
MADE_UP = frozenset(
    """full iota scalar_tensor empty empty_strided full_like empty_like zeros_like ones_like lift_fresh_copy arange
    inductor_seeds inductor_lookup_seed sym_size _tensor_constant empty_permuted""".split()
)
EXTERNAL = ("extern", "fallback", "user_triton")


def name_of(target: str) -> str:
    parts = target.replace("torch.ops.", "").split(".")
    return parts[1] if len(parts) > 1 else parts[0]


class Checked:
    """One post-grad graph and its calls; `faults` are sentences, `checked` the number of (call, node) looked at."""

    def __init__(self, recording: Recording, graph: Graph) -> None:
        self.graph = graph
        self.nodes = {node.name: node for node in graph.nodes}
        self.calls: list[KernelCall] = [call for call in recording.calls if call.graph == graph.id]
        self.schedule = next((item for item in recording.schedules if item.graph == graph.id), None)
        self.flow = nx.DiGraph((operand, node.name) for node in graph.nodes for operand in node.inputs)
        self.flow.add_nodes_from(self.nodes)
        self.checked = 0
        self.faults = [*self.outside(), *self.missing(), *self.libraries()]

    def working(self, name: str) -> bool:
        node = self.nodes[name]
        return node.op == "call_function" and name_of(node.target) not in VIEWS | MADE_UP and "sym" not in node.target

    def operands(self, name: str) -> set[str]:
        """Return the working nodes and graph inputs that a node takes, looking through views and made-up values."""
        found: set[str] = set()
        node = self.nodes[name]
        first = list(node.inputs[1:] if name_of(node.target) in ("copy", "copy_") else node.inputs)
        seen: set[str] = set()
        while first:
            here = first.pop()
            if here in seen:
                continue
            seen.add(here)
            if self.working(here) or (self.nodes[here].op == "placeholder" and self.nodes[here].outputs):
                found.add(here)
            elif name_of(self.nodes[here].target) in VIEWS:
                first += self.flow.predecessors(here)
        return found

    def memory(self, names: set[str]) -> set[str]:
        """Return the buffers under the name of the memory that they are: a mutated one has several names."""
        renames = self.schedule.renames if self.schedule else {}
        return {renames.get(name, name) for name in names}

    def outside(self) -> list[str]:
        faults: list[str] = []
        written: list[tuple[set[str], set[str]]] = []  # of the calls so far: buffers, and what they may hold
        for call in self.calls:
            reads = self.memory({access.buffer for access in call.reads or ()})
            held = set[str]().union(*(values for buffers, values in written if buffers & reads))
            for name in call.nodes:
                if not self.working(name) or call.type in EXTERNAL:
                    continue
                self.checked += 1
                lacking = {item for item in self.operands(name) if item not in {*call.nodes, *held, *reads}}
                if lacking and name not in held:
                    faults.append(f"{call.handle}: {name} cannot run there, {sorted(lacking)} is not read")
            writes = self.memory({access.buffer for access in call.writes or ()})
            touched = writes | (reads if call.type in EXTERNAL else set())  # a user's kernel writes into its arguments
            # A layout may have been changed, or a bias added: what was read is still there.
            written.append((touched, {*call.nodes, *call.named_only, *(held if not call.nodes else ())}))
        return faults

    def missing(self) -> list[str]:
        if not self.calls:
            return []
        ran = {name for call in self.calls for name in call.nodes}
        ends = {
            *self.graph.outputs,
            *(name for name in self.nodes if self.nodes[name].target.rstrip(".default").endswith("_")),
        }
        alive = set[str]().union(ends, *(nx.ancestors(self.flow, name) for name in ends if name in self.flow))
        return [
            f"{self.graph.id}: {name} ({self.nodes[name].target}) ran nowhere; it is said to be {self.nodes[name].kind}"
            for name in self.nodes
            if name in alive and self.working(name) and name not in ran and not self.is_apart(name)
        ]

    def is_apart(self, name: str) -> bool:
        """A concatenation whose parts are written in place; a copy into a graph's input that its source's kernel makes."""
        node = self.nodes[name]
        return node.kind == "folded" or node.nature in ("view", "host")

    def libraries(self) -> list[str]:
        """A library's kernel computes one node, and that node runs in no generated kernel."""
        faults: list[str] = []
        own: dict[str, str] = {}
        for call in self.calls:
            if call.type in EXTERNAL:
                working = [name for name in call.nodes if self.working(name)]
                if len(working) > 1:
                    faults.append(f"{call.handle} is said to run {working}")
                own |= dict.fromkeys(working, call.handle)
        for call in self.calls:
            both = [name for name in call.nodes if name in own and call.type not in EXTERNAL]
            if both:
                faults.append(f"{call.handle} is said to run {both}, which {own[both[0]]} is")
        return faults


def check(recording: Recording) -> tuple[int, list[str]]:
    """Return how many (call, node) were looked at, and what is wrong."""
    found = [
        Checked(recording, graph)
        for graph in recording.graphs
        if graph.stage == "post_grad" and graph.nodes and any(call.graph == graph.id for call in recording.calls)
    ]
    return sum(item.checked for item in found), [fault for item in found for fault in item.faults]
