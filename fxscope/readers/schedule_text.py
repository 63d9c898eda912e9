"""The groups of a schedule and the verdicts on its pairs, from what torch prints: `ir_post_fusion.txt` and the fusion log.

The IR text has the final groups and which places of which buffers each node reads and writes; the log (`TORCH_LOGS=fusion`)
has the joins and the reasons. Formats: torch/_inductor/scheduler.py (`debug_str`, `WhyNoFuse`), 2.11 to 2.14. Sizes and
bytes are those of the generated code. Neither file tells the switches, streams, or why "no shared data" was said: the
schedule says that it is not complete.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fxscope.index import grouped
from fxscope.model import BufferAccess, FusionAttempt, MemoryDep, Schedule, ScheduledGroup, SchedulerNode
from fxscope.passes.schedules import groups_of, how_joined, merge

HEAD = re.compile(r"^(\w+): (\w+)\((.*)\)$", re.M)
SEVERAL = re.compile("Fused|^Foreach|^Grouped")  # FusedSchedulerNode, OuterLoopFusedSchedulerNode, ForeachKernel…
MEMORY = re.compile(r"MemoryDep\('(\w+)', ([^{}\n]*), \{([^{}\n]*)\}(?:, \w+)?\)")
STAR = re.compile(r"StarDep\(name='(\w+)'")
MUTATION = re.compile(r"^[ \t]*(\w+)\.mutations = \['(\w+)'\]", re.M)
SECTION = re.compile(r"^===== attempting fusion \(1/\d+\)", re.M)
VERDICT = re.compile(r"(?:cannot fuse|(fusing)) (\w+) with (\w+)(?(1)\s*$|: (.*)$)", re.M)
EXTERN_TYPES = {"MultiOutput": "multi_output", "UserDefinedTritonKernel": "user_triton", "FallbackKernel": "fallback"}


class Block(NamedTuple):
    name: str
    type: str
    operation: str
    group: str
    said: dict[str, str]  # key → what stands behind `op0.KEY =` and on the lines after it


def schedule(graph: str, outputs: Iterable[str], ir: str, log: str | None) -> Schedule:
    """The schedule of a graph, from its printed IR and its section of a fusion log; with neither, what it returns alone."""
    blocks = read_blocks(ir)
    positions = {name: position for position, name in enumerate(dict.fromkeys(block.group for block in blocks))}
    nodes = {block.name: node_of(block, positions[block.group]) for block in blocks}
    inside = grouped(nodes.values(), lambda node: node.group)
    return Schedule(
        graph=graph,
        nodes=tuple(nodes.values()),
        groups=tuple(group_of(members) for members in inside.values()),
        attempts=attempts(log or "", nodes),
        kernels=tuple(
            (members[0].kernel or "", tuple(node.name for node in members))
            for members in inside.values()
            if members[0].type not in ("nop", "multi_output")
        ),
        renames=dict(MUTATION.findall(ir)),
        outputs=tuple(sorted(outputs)),
        complete=bool(log and blocks),
    )


# ---------------------------------------------------------------------- the IR


def read_blocks(ir: str) -> list[Block]:
    """The scheduler nodes; members of a fused one come after its head, which tells nothing else."""
    blocks: list[Block] = []
    group, remaining = "", 0
    heads = [*HEAD.finditer(ir)]
    for head, end in zip(heads, [*(after.start() for after in heads[1:]), len(ir)], strict=False):
        name, kind, operation = head.groups()
        if SEVERAL.search(kind):
            group, remaining = name, len(operation.split(","))
            continue
        group = group if remaining > 0 else name
        remaining -= 1
        said = re.findall(rf"^{name}\.(\S+) = ?(.*(?:\n(?!{name}\.).*)*)", ir[head.end() : end], re.M)
        blocks.append(Block(name, kind, operation, group, dict(reversed(said))))
    return blocks


def node_of(block: Block, group: int) -> SchedulerNode:
    iteration = block.said.get("sizes", "").partition("\n")[0] or None
    keys = ("writes", "met_dependencies", "unmet_dependencies")
    writes, met, unmet = (dependencies(block.said.get(key, "")) for key in keys)
    kernel = (block.said.get("node.python_kernel_name") or block.said.get("node.kernel") or "").split()
    return SchedulerNode(
        name=block.name,
        type=type_of(block, iteration),
        kernel=kernel[0] if kernel and kernel[0] != "None" else None,
        group=group,
        reads=merge([met, unmet], {}),
        writes=merge([writes], {}),
    )


def type_of(block: Block, iteration: str | None) -> str:
    """Name what a node is, from its class and what its operation is."""
    if block.type == "NopKernelSchedulerNode":
        return "nop"
    if "Template" in block.operation:
        return "template"
    if block.type == "ExternKernelSchedulerNode":
        return EXTERN_TYPES.get(block.operation, "extern")
    # `((2048,), ())`, for the CPU `([2048], [])`: the loops around, and those of a reduction inside.
    is_reduction = iteration and not iteration.rstrip(")]").endswith(("(", "["))
    return "reduction" if is_reduction else "pointwise"


def dependencies(text: str) -> tuple[BufferAccess, ...]:
    """The accesses in a printed list; one of a whole buffer has no place in it."""
    found = [BufferAccess(buffer=name, deps=(place(index, ranges),)) for name, index, ranges in MEMORY.findall(text)]
    return (*found, *(BufferAccess(buffer=name) for name in STAR.findall(text)))


def place(index: str, ranges: str) -> MemoryDep:
    names = set(re.findall(r"\b[a-z_]\w*\b(?!\()", index))
    sizes = ((name, int(size)) for name, size in re.findall(r"(\w+): (\d+)\b", ranges) if name in names)
    return MemoryDep(index=index, ranges=tuple(sizes))


def group_of(inside: Sequence[SchedulerNode]) -> ScheduledGroup:
    kinds = {node.type for node in inside}
    kind = next((kind for kind in ("template", "reduction") if kind in kinds), inside[0].type)
    return ScheduledGroup(members=tuple(node.name for node in inside), type=kind)


# ---------------------------------------------------------------------- the fusion log


def log_sections(text: str) -> list[str]:
    """Split a fusion log into the part of each graph, in the order in which they were compiled."""
    starts = [found.start() for found in SECTION.finditer(text)]
    return [text[start:end] for start, end in zip(starts, [*starts, len(text)][1:], strict=True)]


def attempts(log: str, nodes: Mapping[str, SchedulerNode]) -> tuple[FusionAttempt, ...]:
    """Return what the log says of pairs: the joins, and the last reason for each pair that stayed apart."""
    joins: list[FusionAttempt] = []
    last: dict[tuple[int, int], FusionAttempt] = {}
    for order, (fused, one, other, reason) in enumerate(VERDICT.findall(log)):
        a, b = (tuple(side.split("_")) for side in (one, other))  # `op2_op4` is a fused node
        if not nodes.keys() >= {*a, *b}:
            continue
        if fused:
            joins.append(FusionAttempt(a=a, b=b, fused=True, how=how_joined(a, b, nodes), order=order))
            continue
        if (groups := groups_of(a, b, nodes)) is not None:
            last[groups] = FusionAttempt(a=a, b=b, fused=False, raw_reason=reason.strip(), order=order)
    return tuple(sorted((*joins, *last.values()), key=lambda item: item.order))
