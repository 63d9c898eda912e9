"""The scheduler's view of a graph, rebuilt from what torch prints: `ir_post_fusion.txt` and the fusion log.

The IR text has the final groups, what each node reads and writes, and the layouts; the log (`TORCH_LOGS=fusion`) has
the origins, the joins and the reasons. Formats: torch/_inductor/scheduler.py (`debug_str`, `WhyNoFuse`), 2.11 to 2.14.
Neither tells the switches, streams, or why "no shared data" was said: the schedule says that it is not complete.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeVar

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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fxscope.readers.output_code import Call, OutputCode

T = TypeVar("T", SchedulerNode, ScheduledGroup)
HEAD = re.compile(r"^(\w+): (\w+)\((.*)\)$")
SEVERAL = re.compile("Fused|^Foreach|^Grouped")  # FusedSchedulerNode, OuterLoopFusedSchedulerNode, ForeachKernel…
LAYOUT = re.compile(
    r"^\s*(\w+?)(?:\.layout|_layout) = \w+\('([^']+)', torch\.(\w+), "
    r"size=\[(.*?)\], stride=\[(.*?)\](?:, offset=\S+)?\)"
)
MEMORY = re.compile(r"MemoryDep\('(\w+)', ([^{}\n]*), \{([^{}\n]*)\}(?:, \w+)?\)")
STAR = re.compile(r"StarDep\(name='(\w+)'(?:, mode='?(\w+)'?)?")
MUTATION = re.compile(r"^[ \t]*(\w+)\.mutations = \['(\w+)'\]", re.M)
USERS = re.compile(r"^[ \t]*(\w+)\.users = \[((?:(?!^[ \t]*\w+\.users = \[)[\s\S])*?)\]$", re.M)
SECTION = re.compile(r"^===== attempting fusion \(1/\d+\)", re.M)
CANNOT = re.compile(r"cannot fuse (\w+) with (\w+): (.*)$")
FUSING = re.compile(r"fusing (\w+) with (\w+)\s*$")
ORIGINS = re.compile(
    r"SchedulerNode\(name=\\?'(\w+)\\?'\), (\w+)\(\[(?:(?!SchedulerNode\().)*?origins=OrderedSet\(\[(.*?)\]\)"
)


MOST_JOINED = 500  # members of a group whose joins are spelt out where no log tells them: there are as many as pairs


class Use(NamedTuple):
    """One printed dependency; of a whole buffer, or one whose sizes are not numbers, the place is not known."""

    buffer: str
    dep: MemoryDep | None
    indexed: bool
    mode: str = "None"


class Block(NamedTuple):
    """The lines about one scheduler node."""

    name: str
    type: str
    operation: str
    lines: list[str]
    group: str


def schedule(ir: str, log: str | None = None, *, graph_id: str, graph: Graph | None = None) -> Schedule | None:
    """The schedule that an IR text and, where there is one, its part of a fusion log tell.

    Args:
        ir: the text of `ir_post_fusion.txt`.
        log: one section of a fusion log (`log_sections`).
        graph_id: id of the post-grad graph.
        graph: the post-grad graph: its inputs' shapes, and which names it has.
    """
    blocks = read_blocks(ir)
    if not blocks:
        return None
    layouts = read_layouts(ir)
    for node in graph.nodes if graph is not None else ():
        if node.op == "placeholder" and node.outputs:
            layouts.setdefault(node.name, node.outputs[0])
    renames = dict(MUTATION.findall(ir))
    for new in renames:
        if real_name(new, renames) in layouts:
            layouts[new] = layouts[real_name(new, renames)]
    origins, kinds = read_origins(log or "")
    order = {node.name: position for position, node in enumerate(graph.nodes)} if graph is not None else {}
    positions = {name: position for position, name in enumerate(dict.fromkeys(block.group for block in blocks))}
    uses = {block.name: uses_of(block, renames) for block in blocks}
    nodes = tuple(
        node_of(
            block,
            positions[block.group],
            layouts,
            origins.get(block.name, ()),
            kinds.get(block.name),
            order,
            uses[block.name],
        )
        for block in blocks
    )
    inside = grouped(nodes, lambda node: node.group)
    users = {block.name: users_of(block) for block in blocks}
    groups = tuple(group_of(inside[position], users, uses, layouts) for position in positions.values())
    outputs = {name for used in users.values() for name, by in used.items() if "OUTPUT" in by}
    members = {node.name: node for node in nodes}
    firsts = [members[group.members[0]] for group in groups]
    kernels = tuple(
        (first.kernel or "", group.members)
        for first, group in zip(firsts, groups, strict=True)
        if first.type not in ("nop", "multi_output")
    )
    return Schedule(
        graph=graph_id,
        nodes=nodes,
        groups=groups,
        attempts=attempts(log or "", members),
        kernels=kernels,
        renames={new: real_name(new, renames) for new in renames},
        outputs=tuple(sorted(outputs)),
        complete=bool(log),
    )


def as_called(found: Schedule, code: OutputCode) -> Schedule:
    """The schedule with what only the wrapper tells.

    Externs read of each buffer what they are handed of it, views and not the whole; a loop's own buffer that is handed to
    its kernel is stored for a later loop of it.
    """
    passed: dict[str, Call] = {}
    for call in code.calls:
        if call.type in ("extern", "fallback"):
            passed |= dict.fromkeys((*call.results, *([call.out.buffer] if call.out else [])), call)
    handed = {
        item.buffer for call in code.calls if call.type not in ("extern", "fallback") for item in call.tensors if item
    }
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


def real_name(name: str, renames: Mapping[str, str]) -> str:
    """The buffer that a chain of mutations began with."""
    seen: set[str] = set()
    while name in renames and name not in seen:
        seen.add(name)
        name = renames[name]
    return name


def log_sections(text: str) -> list[str]:
    """Split a fusion log into the part of each graph, in the order in which they were compiled."""
    starts = [found.start() for found in SECTION.finditer(text)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def read_blocks(ir: str) -> list[Block]:
    """The lines of each scheduler node; members of a fused one come after its head."""
    blocks: list[Block] = []
    group = ""
    remaining = 0
    for line in ir.splitlines():
        head = HEAD.match(line)
        if head is None:
            if blocks:
                blocks[-1].lines.append(line)
            continue
        name, kind, operation = head.groups()
        if SEVERAL.search(kind):
            group, remaining = name, len(operation.split(","))
            blocks.append(Block(name, kind, operation, [], name))  # dropped below: its members tell the same
            continue
        if remaining:
            remaining -= 1
        else:
            group = name
        blocks.append(Block(name, kind, operation, [], group))
    return [block for block in blocks if not SEVERAL.search(block.type)]


def read_layouts(ir: str) -> dict[str, TensorMeta]:
    """Buffer → shape, stride, dtype."""
    found: dict[str, TensorMeta] = {}
    for line in ir.splitlines():
        match = LAYOUT.match(line)
        if match:
            name, device, dtype, size, stride = match.groups()
            found[name] = TensorMeta(shape=read_sizes(size), stride=read_sizes(stride), dtype=dtype, device=device)
    return found


def read_origins(log: str) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Scheduler node → post-grad nodes, and → what it computes, from the log's lists of candidates."""
    origins: dict[str, tuple[str, ...]] = {}
    kinds: dict[str, str] = {}
    for name, kind, names in ORIGINS.findall(log):
        origins.setdefault(name, tuple(part.strip() for part in names.split(",") if part.strip()))
        kinds.setdefault(name, kind)
    return origins, kinds


def uses_of(block: Block, renames: Mapping[str, str]) -> tuple[list[Use], list[Use]]:
    """Return what a node reads and writes, as printed."""
    text = "\n".join(block.lines)
    iteration = said(block, "sizes")
    iterations = numel(iteration) if iteration is not None else None
    writes, *read = (
        dependencies(text, f"{block.name}.{key}", iterations)
        for key in ("writes", "met_dependencies", "unmet_dependencies")
    )
    reads = [use for uses in read for use in uses]
    return without_order(reads, writes, renames) if block.type == "SchedulerNode" else reads, writes


def node_of(
    block: Block,
    group: int,
    layouts: Mapping[str, TensorMeta],
    origins: Sequence[str],
    computes: str | None,
    order: Mapping[str, int],
    uses: tuple[list[Use], list[Use]],
) -> SchedulerNode:
    reads, writes = uses
    iteration = said(block, "sizes")
    kernel = ((said(block, "node.python_kernel_name", "node.kernel") or "").split() or [None])[0]
    device = next((layouts[use.buffer].device for use in writes if use.buffer in layouts), None)
    known = sorted((name for name in origins if name in order or not order), key=lambda name: order.get(name, 0))
    return SchedulerNode(
        name=block.name,
        type=type_of(block, iteration, computes),
        kernel=kernel if kernel != "None" else None,
        group=group,
        origins=tuple(known),
        reads=accesses(reads, layouts),
        writes=accesses(writes, layouts),
        ranges=iteration,
        device=device,
    )


def said(block: Block, *keys: str) -> str | None:
    """Return what stands behind `op0.KEY = ` in the first line with one of the keys."""
    starts = tuple(f"{block.name}.{key} = " for key in keys)
    line = next((line for line in block.lines if line.startswith(starts)), None)
    return line.partition(" = ")[2] if line is not None else None


def type_of(block: Block, iteration: str | None, computes: str | None) -> str:
    """Name what a node is, from its class and what its operation is."""
    if block.type == "NopKernelSchedulerNode":
        return "nop"
    if "Template" in block.operation:
        return "template"
    if block.type == "ExternKernelSchedulerNode":
        return {
            "MultiOutput": "multi_output",
            "UserDefinedTritonKernel": "user_triton",
            "FallbackKernel": "fallback",
        }.get(block.operation, "extern")
    if computes in ("Scan", "Sort", "Scatter"):
        return computes.lower()
    return "reduction" if iteration and not iteration.rstrip(")").endswith("(") else "pointwise"


def dependencies(text: str, key: str, iterations: int | None) -> list[Use]:
    """The dependencies in a printed list, of a loop nest that runs so often."""
    start = text.find(f"{key} =")
    if start < 0:
        return []
    # The list ends where its bracket closes; long lists are printed over several lines.
    depth, end = 0, start
    for end in range(text.index("[", start), len(text)):
        depth += {"[": 1, "]": -1}.get(text[end], 0)
        if depth == 0:
            break
    part = text[start : end + 1]
    found = [Use(match[1], place(match[2], match[3], iterations), True) for match in MEMORY.finditer(part)]
    return [*found, *(Use(name, None, False, mode or "None") for name, mode in STAR.findall(part))]


def place(index: str, ranges: str, iterations: int | None) -> MemoryDep | None:
    """A printed index with the loop variables in it; one that names what was loaded may be elsewhere in each iteration."""
    names = set(re.findall(r"\b[a-z_]\w*\b(?!\()", index))
    sizes = {name: int(size) for name, size in re.findall(r"(\w+): (\d+)\b", ranges)}
    if names <= sizes.keys():
        return MemoryDep(index=index, ranges=tuple((name, size) for name, size in sizes.items() if name in names))
    return None if iterations is None else MemoryDep(index=index, ranges=(("iterations", iterations),))


def without_order(reads: list[Use], writes: list[Use], renames: Mapping[str, str]) -> list[Use]:
    """The reads of a loop: torch orders what writes to memory again by a read of all of it, which no loop does.

    What adds to memory (`mode='atomic_add'`) reads where it writes.
    """
    found: list[Use] = []
    for use in reads:
        again = [item for item in writes if real_name(item.buffer, renames) == real_name(use.buffer, renames)]
        if use.indexed or not again:
            found.append(use)
        elif use.mode != "None":
            found += [item._replace(buffer=use.buffer) for item in again]
    return found


def numel(iteration: str) -> int | None:
    """Return how often a loop nest `((2048,), (512,))` runs, `None` where a size is symbolic."""
    counts = [part.strip() for part in re.sub(r"[()]", " ", iteration).split(",") if part.strip()]
    return prod(int(count) for count in counts) if all(count.isdigit() for count in counts) else None


def accesses(uses: Iterable[Use], layouts: Mapping[str, TensorMeta]) -> tuple[BufferAccess, ...]:
    """One access per buffer: as many bytes as the loops may touch, at most the buffer's."""
    found = merge([tuple(access_of(use, layouts.get(use.buffer)) for use in uses)], {})
    return tuple(sorted(found, key=lambda access: access.buffer))


def access_of(use: Use, layout: TensorMeta | None) -> BufferAccess:
    """The access of one dependency; one without a place takes all of the buffer."""
    deps = () if use.dep is None else (use.dep,)
    if layout is None:
        return BufferAccess(buffer=use.buffer, deps=deps)
    item, whole = ITEM_BYTES.get(layout.dtype or ""), numbers(*layout.shape)
    count = footprint(deps, whole) if deps else whole
    return BufferAccess(
        buffer=use.buffer,
        bytes=None if item is None or whole is None or count is None else item * count,
        shape=layout.shape,
        stride=layout.stride,
        dtype=layout.dtype,
        deps=deps,
    )


def users_of(block: Block) -> dict[str, set[str]]:
    """Buffer → names of the scheduler nodes that use it, `OUTPUT` where the graph returns it."""
    text = "\n".join(block.lines)
    found: dict[str, set[str]] = {}
    for match in USERS.finditer(text):
        names: set[str] = set()
        for user in re.findall(r"NodeUser\(node=(.*?), can_inplace", match[2], re.S):
            names |= set(re.findall(r"op\d+", user)) or ({"OUTPUT"} if "OUTPUT" in user else set())
        found[match[1]] = names
    return found


def group_of(
    inside: Sequence[SchedulerNode],
    users: Mapping[str, Mapping[str, set[str]]],
    uses: Mapping[str, tuple[list[Use], list[Use]]],
    layouts: Mapping[str, TensorMeta],
) -> ScheduledGroup:
    """The traffic of one group, without buffers that only its members use."""
    names = {node.name for node in inside}
    internal = {buffer for name in names for buffer, used_by in users[name].items() if used_by and used_by <= names}
    kinds = {node.type for node in inside}
    one_of = ("template", "reduction", "scan", "sort")
    own = {item.buffer for node in inside for item in node.writes}
    return ScheduledGroup(
        members=tuple(node.name for node in inside),
        type=next((kind for kind in one_of if kind in kinds), inside[0].type),
        reads=accesses(
            (use for node in inside for use in uses[node.name][0] if use.buffer not in internal | own), layouts
        ),
        writes=accesses((use for node in inside for use in uses[node.name][1] if use.buffer not in internal), layouts),
    )


def attempts(log: str, nodes: Mapping[str, SchedulerNode]) -> tuple[FusionAttempt, ...]:
    """Return what the log says of pairs: the joins, and the last reason for each pair that stayed apart."""
    joins: list[FusionAttempt] = []
    last: dict[tuple[int, int], FusionAttempt] = {}
    for order, line in enumerate(log.splitlines()):
        fused, refused = FUSING.search(line), CANNOT.search(line)
        match = fused or refused
        if match is None:
            continue
        a, b = members(match[1], nodes), members(match[2], nodes)
        if not a or not b:
            continue
        if fused:
            joins.append(FusionAttempt(a=a, b=b, fused=True, how=how(a, b, nodes), order=order))
            continue
        attempt = FusionAttempt(a=a, b=b, fused=False, raw_reason=match[3].strip(), order=order)
        groups = {nodes[name].group for name in a}, {nodes[name].group for name in b}
        if len(groups[0]) == len(groups[1]) == 1 and groups[0] != groups[1]:
            last[groups[0].pop(), groups[1].pop()] = attempt
    return tuple(sorted((*(joins or joins_of_groups(nodes)), *last.values()), key=lambda item: item.order))


def joins_of_groups(nodes: Mapping[str, SchedulerNode]) -> list[FusionAttempt]:
    """The joins that the final groups imply, where there is no log of them; their order is not known."""
    groups = grouped(nodes, lambda name: nodes[name].group)
    return [
        FusionAttempt(a=tuple(names[:end]), b=(names[end],), fused=True, how=how(names[:end], names[end:][:1], nodes))
        for names in groups.values()
        if len(names) <= MOST_JOINED
        for end in range(1, len(names))
    ]


def members(name: str, nodes: Mapping[str, SchedulerNode]) -> tuple[str, ...]:
    """The scheduler nodes in a fused one's name, `op2_op4`."""
    parts = tuple(part for part in name.split("_") if part in nodes)
    return parts if len(parts) == len(name.split("_")) else ()


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
