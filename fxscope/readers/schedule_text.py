"""The scheduler's view of a graph, rebuilt from what torch prints: `ir_post_fusion.txt` and the fusion log.

The IR text has the final groups, what each node reads and writes, and the layouts; the log (`TORCH_LOGS=fusion`) has
the origins, the joins and the reasons. Formats: torch/_inductor/scheduler.py (`debug_str`, `WhyNoFuse`), 2.11 to 2.14.
Neither tells the switches, streams, or why "no shared data" was said: the schedule says that it is not complete.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from fxscope.dtypes import ITEM_BYTES, read_sizes
from fxscope.index import grouped
from fxscope.model import (
    BufferAccess,
    FusionAttempt,
    Graph,
    How,
    MemoryDep,
    Schedule,
    ScheduledGroup,
    SchedulerNode,
    TensorMeta,
    replace,
)
from fxscope.passes.flops import numbers
from fxscope.passes.footprint import footprint
from fxscope.passes.schedules import merge
from fxscope.readers.output_code import Call, OutputCode

T = TypeVar("T", SchedulerNode, ScheduledGroup)
HEAD = re.compile(r"^(\w+): (\w+)\((.*)\)$", re.M)
SEVERAL = re.compile("Fused|^Foreach|^Grouped")  # FusedSchedulerNode, OuterLoopFusedSchedulerNode, ForeachKernel…
LAYOUT = re.compile(
    r"^[ \t]*(\w+?)(?:\.layout|_layout) = \w+\('([^'\n]+)', torch\.(\w+), "
    r"size=\[(.*?)\], stride=\[(.*?)\](?:, offset=\S+)?\)",
    re.M,
)
MEMORY = re.compile(r"MemoryDep\('(\w+)', ([^{}\n]*), \{([^{}\n]*)\}(?:, \w+)?\)")
STAR = re.compile(r"StarDep\(name='(\w+)'(?:, mode='?(\w+)'?)?")
MUTATION = re.compile(r"^[ \t]*(\w+)\.mutations = \['(\w+)'\]", re.M)
USERS = re.compile(r"^[ \t]*(\w+)\.users = \[((?:(?!^[ \t]*\w+\.users = \[)[\s\S])*?)\]$", re.M)
SECTION = re.compile(r"^===== attempting fusion \(1/\d+\)", re.M)
VERDICT = re.compile(r"(?:cannot fuse|(fusing)) (\w+) with (\w+)(?(1)\s*$|: (.*)$)", re.M)
ORIGINS = re.compile(
    r"SchedulerNode\(name=\\?'(\w+)\\?'\), (\w+)\(\[(?:(?!SchedulerNode\().)*?origins=OrderedSet\(\[(.*?)\]\)"
)
EXTERN_TYPES = {"MultiOutput": "multi_output", "UserDefinedTritonKernel": "user_triton", "FallbackKernel": "fallback"}


class Block(NamedTuple):
    name: str
    type: str
    operation: str
    group: str
    said: dict[str, str]  # key → what stands behind `op0.KEY =` and on the lines after it


class Use(NamedTuple):
    """One printed dependency; `mode` is that of a whole buffer's, where there is no place in it."""

    access: BufferAccess
    mode: str | None


def schedule(ir: str, log: str | None, graph: Graph) -> Schedule | None:
    """The schedule that the text of `ir_post_fusion.txt` and, where there is one, a section of a fusion log tell."""
    blocks = read_blocks(ir)
    if not blocks:
        return None
    later = dict(MUTATION.findall(ir))
    renames = {new: real_name(new, later) for new in later}
    layouts = read_layouts(ir, renames, graph)
    order = {node.name: position for position, node in enumerate(graph.nodes)}
    candidates = {name: (kind, origins) for name, kind, origins in reversed(ORIGINS.findall(log or ""))}
    positions = {name: position for position, name in enumerate(dict.fromkeys(block.group for block in blocks))}
    nodes: dict[str, SchedulerNode] = {}
    for block in blocks:
        computes, origins = candidates.get(block.name, (None, ""))
        nodes[block.name] = replace(
            node_of(block, layouts, renames, computes),
            group=positions[block.group],
            origins=tuple(sorted(order.keys() & set(re.findall(r"\w+", origins)), key=order.__getitem__)),
        )
    users = {buffer: user_names(text) for buffer, text in USERS.findall(ir)}
    inside = grouped(nodes.values(), lambda node: node.group)
    return Schedule(
        graph=graph.id,
        nodes=tuple(nodes.values()),
        groups=tuple(group_of(inside[position], users) for position in positions.values()),
        attempts=attempts(log or "", nodes),
        kernels=tuple(
            (members[0].kernel or "", tuple(node.name for node in members))
            for members in inside.values()
            if members[0].type not in ("nop", "multi_output")
        ),
        renames=renames,
        outputs=tuple(sorted(buffer for buffer, names in users.items() if "OUTPUT" in names)),
        complete=bool(log),
    )


def as_called(found: Schedule, code: OutputCode) -> Schedule:
    """The schedule with what only the wrapper tells.

    Externs read of each buffer what they are handed of it, views and not the whole; a loop's own buffer that is handed to
    its kernel is stored for a later loop of it.
    """
    passed: dict[str, Call] = {}
    handed: set[str] = set()
    for call in code.calls:
        if call.type in ("extern", "fallback"):
            passed |= dict.fromkeys((*call.results, *([call.out.buffer] if call.out else [])), call)
        else:
            handed |= {item.buffer for item in call.tensors if item}
    nodes = {node.name: node for node in found.nodes}

    def held(item: T) -> T:
        call = next((passed[write.buffer] for write in item.writes if write.buffer in passed), None)
        if call is None or item.type not in ("extern", "fallback"):
            return item
        return replace(item, reads=tuple(_of_views(access, call) for access in item.reads))

    def stored(group: ScheduledGroup) -> ScheduledGroup:
        places = {code.memory.get(item.buffer, item.buffer): item for item in reversed(group.writes)}
        for item in (item for name in group.members for item in nodes[name].writes if item.buffer in handed):
            places.setdefault(code.memory.get(item.buffer, item.buffer), item)
        return replace(group, writes=(*group.writes, *(item for item in places.values() if item not in group.writes)))

    return replace(
        found, nodes=tuple(map(held, found.nodes)), groups=tuple(stored(held(group)) for group in found.groups)
    )


def _of_views(access: BufferAccess, call: Call) -> BufferAccess:
    """Return what of a buffer the arguments of a call are, at most all of it; as it is where one's size is not known."""
    views = [item for item in call.tensors if item is not None and item.buffer == access.buffer]
    deps = [dep for item in views for dep in item.deps]
    item = ITEM_BYTES.get(access.dtype or "")
    if access.bytes is None or item is None or not views or len(deps) < len(views):
        return access
    return replace(access, bytes=min(access.bytes, footprint(deps) * item), deps=tuple(deps))


# ---------------------------------------------------------------------- the IR


def real_name(name: str, renames: Mapping[str, str]) -> str:
    """The buffer that a chain of mutations began with."""
    seen: set[str] = set()
    while name in renames and name not in seen:
        seen.add(name)
        name = renames[name]
    return name


def read_blocks(ir: str) -> list[Block]:
    """The scheduler nodes; members of a fused one come after its head, which tells nothing else."""
    blocks: list[Block] = []
    group, remaining = "", 0
    heads = [*HEAD.finditer(ir)]
    for head, end in zip(heads, [*(after.start() for after in heads[1:]), len(ir)], strict=True):
        name, kind, operation = head.groups()
        if SEVERAL.search(kind):
            group, remaining = name, len(operation.split(","))
            continue
        group = group if remaining > 0 else name
        remaining -= 1
        said = re.findall(rf"^{name}\.(\S+) = ?(.*(?:\n(?!{name}\.).*)*)", ir[head.end() : end], re.M)
        blocks.append(Block(name, kind, operation, group, dict(reversed(said))))
    return blocks


def read_layouts(ir: str, renames: Mapping[str, str], graph: Graph) -> dict[str, TensorMeta]:
    """Buffer → shape, stride, dtype."""
    found = {
        name: TensorMeta(shape=read_sizes(size), stride=read_sizes(stride), dtype=dtype, device=device)
        for name, device, dtype, size, stride in LAYOUT.findall(ir)
    }
    for node in graph.nodes:
        if node.op == "placeholder" and node.outputs:
            found.setdefault(node.name, node.outputs[0])
    return found | {new: found[real] for new, real in renames.items() if real in found}


def node_of(
    block: Block, layouts: Mapping[str, TensorMeta], renames: Mapping[str, str], computes: str | None
) -> SchedulerNode:
    iteration = block.said.get("sizes", "").partition("\n")[0] or None
    iterations = numbers(*read_sizes(re.sub(r"[()\[\]]", " ", iteration))) if iteration is not None else None
    writes, met, unmet = (
        dependencies(block.said.get(key, ""), iterations, layouts)
        for key in ("writes", "met_dependencies", "unmet_dependencies")
    )
    reads = [*met, *unmet]
    if block.type == "SchedulerNode":
        reads = without_order(reads, writes, renames)
    kernel = (block.said.get("node.python_kernel_name") or block.said.get("node.kernel") or "").split()
    return SchedulerNode(
        name=block.name,
        type=type_of(block, iteration, computes),
        kernel=kernel[0] if kernel and kernel[0] != "None" else None,
        group=0,
        reads=merged(use.access for use in reads),
        writes=merged(use.access for use in writes),
        ranges=iteration,
        device=next((layouts[use.access.buffer].device for use in writes if use.access.buffer in layouts), None),
    )


def type_of(block: Block, iteration: str | None, computes: str | None) -> str:
    """Name what a node is, from its class and what its operation is."""
    if block.type == "NopKernelSchedulerNode":
        return "nop"
    if "Template" in block.operation:
        return "template"
    if block.type == "ExternKernelSchedulerNode":
        return EXTERN_TYPES.get(block.operation, "extern")
    if computes in ("Scan", "Sort", "Scatter"):
        return computes.lower()
    # `((2048,), ())`, for the CPU `([2048], [])`: the loops around, and those of a reduction inside.
    is_reduction = iteration and not iteration.rstrip(")]").endswith(("(", "["))
    return "reduction" if is_reduction else "pointwise"


def dependencies(text: str, iterations: int | None, layouts: Mapping[str, TensorMeta]) -> list[Use]:
    """The dependencies in a printed list, of a loop nest that runs so often."""
    found: list[Use] = []
    for name, index, ranges in MEMORY.findall(text):
        dep = place(index, ranges, iterations)
        found.append(Use(access_of(name, () if dep is None else (dep,), layouts.get(name)), None))
    return [*found, *(Use(access_of(name, (), layouts.get(name)), mode or "None") for name, mode in STAR.findall(text))]


def place(index: str, ranges: str, iterations: int | None) -> MemoryDep | None:
    """A printed index with the loop variables in it; one that names what was loaded may be elsewhere in each iteration."""
    names = set(re.findall(r"\b[a-z_]\w*\b(?!\()", index))
    sizes = {name: int(size) for name, size in re.findall(r"(\w+): (\d+)\b", ranges)}
    if names <= sizes.keys():
        return MemoryDep(index=index, ranges=tuple((name, size) for name, size in sizes.items() if name in names))
    return None if iterations is None else MemoryDep(index=index, ranges=(("iterations", iterations),))


def access_of(buffer: str, deps: tuple[MemoryDep, ...], layout: TensorMeta | None) -> BufferAccess:
    """The access of one dependency; one without a place takes all of the buffer."""
    if layout is None:
        return BufferAccess(buffer=buffer, deps=deps)
    item, whole = ITEM_BYTES.get(layout.dtype or ""), numbers(*layout.shape)
    size = None if item is None or whole is None else item * (footprint(deps, whole) if deps else whole)
    return BufferAccess(
        buffer=buffer, bytes=size, shape=layout.shape, stride=layout.stride, dtype=layout.dtype, deps=deps
    )


def without_order(reads: list[Use], writes: list[Use], renames: Mapping[str, str]) -> list[Use]:
    """The reads of a loop: torch orders what writes to memory again by a read of all of it, which no loop does.

    What adds to memory (`mode='atomic_add'`) reads where it writes.
    """
    found: list[Use] = []
    for use in reads:
        real = renames.get(use.access.buffer, use.access.buffer)
        again = [item for item in writes if renames.get(item.access.buffer, item.access.buffer) == real]
        if use.mode is None or not again:
            found.append(use)
        elif use.mode != "None":
            found += [Use(replace(item.access, buffer=use.access.buffer), item.mode) for item in again]
    return found


def merged(accesses: Iterable[BufferAccess]) -> tuple[BufferAccess, ...]:
    """One access per buffer: as many bytes as the loops may touch, at most the buffer's."""
    return tuple(sorted(merge([tuple(accesses)], {}), key=lambda access: access.buffer))


def user_names(text: str) -> set[str]:
    """The scheduler nodes in a buffer's list of users, `OUTPUT` where the graph returns it."""
    names: set[str] = set()
    for user in re.findall(r"NodeUser\(node=(.*?), can_inplace", text, re.S):
        names |= set(re.findall(r"op\d+", user)) or ({"OUTPUT"} if "OUTPUT" in user else set())
    return names


def group_of(inside: Sequence[SchedulerNode], users: Mapping[str, set[str]]) -> ScheduledGroup:
    """The traffic of one group, without buffers that only its members use."""
    names = {node.name for node in inside}
    own = {item.buffer for node in inside for item in node.writes}
    internal = {buffer for buffer in own if users.get(buffer) and users[buffer] <= names}
    kinds = {node.type for node in inside}
    one_of = ("template", "reduction", "scan", "sort")
    return ScheduledGroup(
        members=tuple(node.name for node in inside),
        type=next((kind for kind in one_of if kind in kinds), inside[0].type),
        reads=merged(item for node in inside for item in node.reads if item.buffer not in own),
        writes=merged(item for node in inside for item in node.writes if item.buffer not in internal),
    )


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
            joins.append(FusionAttempt(a=a, b=b, fused=True, how=how(a, b, nodes), order=order))
            continue
        groups = {nodes[name].group for name in a}, {nodes[name].group for name in b}
        if len(groups[0]) == len(groups[1]) == 1 and groups[0] != groups[1]:
            attempt = FusionAttempt(a=a, b=b, fused=False, raw_reason=reason.strip(), order=order)
            last[groups[0].pop(), groups[1].pop()] = attempt
    return tuple(sorted((*joins, *last.values()), key=lambda item: item.order))


def how(a: Sequence[str], b: Sequence[str], nodes: Mapping[str, SchedulerNode]) -> How:
    """Say how two nodes that were joined relate, from what they read and write."""
    kinds = [{nodes[name].type for name in side} for side in (a, b)]
    if "template" in kinds[0]:
        return "epilogue"
    if "template" in kinds[1]:
        return "prologue"
    written = {item.buffer for name in a for item in nodes[name].writes}
    read = {item.buffer for name in b for item in nodes[name].reads}
    if not written & read:
        return "horizontal"
    return "reduction" if "reduction" in kinds[0] | kinds[1] else "vertical"
