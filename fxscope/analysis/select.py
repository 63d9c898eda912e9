"""Finding things by the names people use: "gelu", "aten::gelu", "mul_6", "mlp.up_proj", "model.py:17", a kernel name.

A name that is nowhere in the recording is an error that names the nearest known ones, never an empty answer.
"""

from __future__ import annotations

import difflib
import re
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fxscope.errors import PassError
from fxscope.index import index_of, kept
from fxscope.op_names import is_called, op_name, op_of, ops_of, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fxscope.model import KernelCall, Launch, Node, Op, Recording, Source

T = TypeVar("T")


def place(source: Source | None) -> str | None:
    """Return "model.py:17"."""
    if source is None or source.file is None or source.line is None:
        return None
    return f"{PurePath(source.file).name}:{source.line}"


class Unit(NamedTuple):
    """One kernel (or memset, or copy) at its place in a step, over all steps."""

    position: int
    kernel: str
    category: str
    launches: tuple[Launch, ...]
    call: str | None
    nodes: tuple[str, ...]
    graph: str | None
    ops: tuple[str, ...]  # the user's ops, views left out where there is other work
    all_ops: frozenset[str]
    chain: tuple[str, ...]
    modules: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def samples_us(self) -> list[float]:
        """One duration per step."""
        return [launch.duration_ns / 1e3 for launch in self.launches]


def units(recording: Recording) -> tuple[Unit, ...]:
    """Return the kernels of a step in order; planned kernel calls where nothing ran."""
    return kept(recording, "units", _units)


def _units(recording: Recording) -> tuple[Unit, ...]:
    nodes = index_of(recording).by_key
    calls = index_of(recording).calls
    found: list[Unit] = []
    if recording.launches:
        rows = [(launches[0].name, launches[0].category, launches) for launches in by_position(recording)]
        contexts = [(launches[0].call, launches[0].nodes, launches[0].graph) for _, _, launches in rows]
    else:
        rows = [(call.kernel, "kernel", ()) for call in recording.calls]
        contexts = [(call.id, call.nodes, call.graph) for call in recording.calls]
    for position, ((kernel, category, launches), (call_id, names, graph_id)) in enumerate(
        zip(rows, contexts, strict=True)
    ):
        call = calls.get(call_id or "")
        if call is not None:
            names, graph_id = call.nodes, call.graph
        inside = [nodes[graph_id, name] for name in names if graph_id and (graph_id, name) in nodes]
        ops = tuple(ops_of(inside))
        every = {op_of(node) for node in inside} | {op_name(node.target) for node in inside}
        chain: tuple[str, ...] = launches[0].chain if launches else ()
        if launches and not ops and launches[0].op:
            ops = (op_name(launches[0].op),)
        if launches and launches[0].op:
            chain = chain if launches[0].op in chain else (*chain, launches[0].op)
        sources = [node.source for node in inside if node.source] or list(call.sources if call else ())
        if not sources and launches and launches[0].op_id is not None:
            op = index_of(recording).op_of(launches[0])
            sources = [op.source] if op is not None and op.source else []
        found.append(
            Unit(
                position,
                kernel,
                category,
                tuple(launches),
                call_id,
                tuple(names),
                graph_id,
                ops,
                frozenset(every | set(ops)),
                chain,
                tuple(dict.fromkeys(s.module for s in sources if s.module)),
                tuple(dict.fromkeys(p for s in sources if (p := place(s)))),
            )
        )
    return tuple(found)


def call_of(recording: Recording, unit: Unit) -> KernelCall | None:
    """Return the kernel call that a unit belongs to."""
    return index_of(recording).calls.get(unit.call or "")


def op_launching(recording: Recording, unit: Unit) -> Op | None:
    """Return the CPU op that launched the unit in its first step."""
    return index_of(recording).op_of(unit.launches[0]) if unit.launches else None


def by_position(recording: Recording) -> list[list[Launch]]:
    """Return launches that are the same work in different steps, in the order of the first step that has them."""
    sequences = [launches for launches in index_of(recording).launches_of_step.values() if launches]
    if all([x.name for x in sequence] == [x.name for x in sequences[0]] for sequence in sequences):
        return [list(row) for row in zip(*sequences, strict=True)]
    # Steps that differ: the n-th launch of a name stands for the n-th of that name elsewhere.
    rows: dict[tuple[str, int], list[Launch]] = {}
    for sequence in sequences:
        seen: dict[str, int] = {}
        for launch in sequence:
            seen[launch.name] = seen.get(launch.name, 0) + 1
            rows.setdefault((launch.name, seen[launch.name]), []).append(launch)
    return list(rows.values())


class Selector(NamedTuple):
    """A parsed name: what, and which occurrence in a step (from 1; `None` for all)."""

    text: str
    name: str
    number: int | None


def parse_selector(text: str) -> Selector:
    """Parse "aten::mm#2". Raises PassError."""
    found = re.fullmatch(r"(?P<name>.+?)(?:#(?P<number>\d+))?", text.strip())
    if found is None:
        raise PassError("an empty name: say an op, a node, a module, file:line or a kernel.")
    number = int(found["number"]) if found["number"] else None
    if number == 0:
        raise PassError(f"{text!r}: occurrences count from 1.")
    return Selector(text, found["name"], number)


def node_matches(node: Node, name: str) -> bool:
    """Return whether a user would call the node by this name."""
    if name in (node.name, node.target, node.original_aten):
        return True
    if is_called(node.original_aten or node.target, name) and node.op not in ("placeholder", "output", "get_attr"):
        return True
    source = node.source
    if source is None:
        return False
    if source.module and (source.module == name or source.module.endswith(f".{name}")):
        return True
    return name == place(source)


def nodes_named(recording: Recording, name: str, *, graph: str | None = None) -> list[tuple[str, Node]]:
    """Return (graph id, node) of every node by this name; a decomposed op's pieces where the op itself is gone."""
    every = [(item.id, node) for item in recording.graphs if graph is None or item.id == graph for node in item.nodes]
    found = [(graph_id, node) for graph_id, node in every if node_matches(node, name)]
    return found or [
        (graph_id, node) for graph_id, node in every if node.op == "call_function" and is_called(node.target, name)
    ]


def unit_matches(unit: Unit, name: str) -> bool:
    """Return whether a kernel is called by this name, ran this op, or was launched under it."""
    if fnmatchcase(unit.kernel, name) or unit.kernel == name or name == unit.call:
        return True
    if name in unit.nodes or name in unit.chain or name in unit.sources:
        return True
    if any(module == name or module.endswith(f".{name}") for module in unit.modules):
        return True
    return any(is_called(op, name) for op in (*unit.ops, *unit.chain))


def units_named(recording: Recording, text: str, *, kernels_only: bool = True) -> list[Unit]:
    """Return the kernels of a step by this name. Raises PassError where the name is nowhere in the recording."""
    selector = parse_selector(text)
    every = [u for u in units(recording) if not kernels_only or u.category in ("kernel", "cpu_kernel")]
    found = [unit for unit in every if unit_matches(unit, selector.name)]
    if not found:
        require(recording, selector.name)
    return pick(found, selector, "kernel")


def pick(found: list[T], selector: Selector, what: str) -> list[T]:
    """Return the numbered occurrence, or all."""
    if selector.number is None:
        return found
    if selector.number > len(found):
        raise PassError(f"{selector.text}: there are only {len(found)} {what}s of {selector.name} in a step.")
    return [found[selector.number - 1]]


def ops_named(recording: Recording, text: str) -> list[Op]:
    """Return the CPU ops of the first step by this name, in order. Raises PassError where it is nowhere."""
    selector = parse_selector(text)
    first = index_of(recording).first_step
    found = [op for op in recording.ops if op.step == first and op_named(op, selector.name)]
    found.sort(key=lambda op: (op.start_ns, op.id))
    if not found:
        require(recording, selector.name)
    return pick(found, selector, "op")


def op_named(op: Op, name: str) -> bool:
    """Return whether a CPU event is called by this name; "mm" means "aten::mm", a glob is a glob."""
    if op.category == "runtime":
        return op.name == name
    return op.name == name or is_called(op.name, name) or fnmatchcase(op.name, name)


def _words(recording: Recording) -> frozenset[str]:
    words: set[str] = set()
    for graph in recording.graphs:
        for node in graph.nodes:
            words |= {node.name, node.target, op_name(node.target), parse(node.target).name, op_of(node)}
            words |= {node.original_aten} if node.original_aten else set()
            if node.source:
                words |= {word for word in (node.source.module, place(node.source)) if word}
                words |= {node.source.module.rsplit(".", 1)[-1]} if node.source.module else set()
    for op in recording.ops:
        words |= {op.name, op_name(op.name), parse(op.name).name}
    for stats in recording.summary.ops if recording.summary else ():
        words |= {stats.name, op_name(stats.name), parse(stats.name).name}
    for unit in units(recording):
        words |= {unit.kernel, *unit.ops, *unit.all_ops, *unit.chain, *unit.modules, *unit.sources}
        words |= {unit.call} if unit.call else set()
    for call in recording.calls:
        words |= {call.kernel, call.handle, call.id}
    return frozenset(word for word in words if word)


def words(recording: Recording) -> frozenset[str]:
    """Return every name by which something in the recording can be found."""
    return kept(recording, "words", _words)


def known(recording: Recording, name: str) -> bool:
    """Return whether a name, as a user writes it, is anywhere in the recording."""
    every = words(recording)
    if name in every or op_name(name) in every:
        return True
    return any(char in name for char in "*?[") and any(fnmatchcase(word, name) for word in every)


def require(recording: Recording, *names: str) -> None:
    """Raise PassError, naming the nearest known, for a name that is nowhere in the recording."""
    for name in names:
        if not known(recording, name):
            title = recording.title or "the recording"
            raise PassError(f"{name!r} does not occur in {title}. {nearest(name, words(recording))}")


def nearest(name: str, known_names: Iterable[str]) -> str:
    """Return "Did you mean …?", or what there is."""
    choices = sorted(set(known_names))
    wanted = {op_name(name), name}
    close: list[str] = []
    for item in wanted:
        close += difflib.get_close_matches(item, choices, n=3, cutoff=0.6)
    close = list(dict.fromkeys(close))
    if close:
        return f"Did you mean {', '.join(close[:3])}?"
    some = [word for word in choices if len(word) < 40][:12]
    return f"Known are {', '.join(some)}{' …' if len(choices) > len(some) else ''}." if some else "Nothing is known."
