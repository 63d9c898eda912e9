"""Inductor's generated wrapper as facts: kernels, and the calls of them in the order in which they run.

The text is parsed with `ast` and never executed. Seen with torch 2.11 to 2.14, Triton and C++ backends; the debug
handles (`[Provenance debug handles] name:n`) are comments that torch writes at provenance tracking level 1 and above.
"""

import ast
import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

from fxscope.dtypes import ITEM_BYTES, long_dtype
from fxscope.errors import NOT_PYTHON
from fxscope.index import known_sum
from fxscope.kernel_names import decode
from fxscope.kernel_names.tables import tables
from fxscope.model import BufferAccess, CallType, CodeLines, Evidence, KernelCall, replace
from fxscope.op_names import expected_nature, op_name, split_joined, table
from fxscope.passes.footprint import footprint, strided
from fxscope.passes.schedules import UNCAST
from fxscope.readers.triton_accesses import touched
from fxscope.readers.workload import workload


@dataclass(frozen=True, kw_only=True)
class Kernel:
    name: str
    type: CallType
    lines: tuple[int, int]
    source: str  # the Triton or C++ text
    arguments: tuple[str, ...]  # of the kernel's function: in_ptr0, out_ptr0, …
    origins: tuple[str, ...]  # post-grad nodes that torch's comment names, in order
    meta: dict[str, Any] = field(default_factory=dict)
    from_node: dict[str, str] = field(default_factory=dict)  # post-grad node → the earlier graph's node it came from

    @cached_property
    def signature(self) -> dict[str, str]:
        """The dtypes of a Triton kernel's pointers: in_ptr0 → "bfloat16"."""
        found: list[tuple[str, str]] = re.findall(r"'(\w+)': '\*(\w+)'", self.meta.get("triton_meta", ""))
        return {name: long_dtype(dtype) for name, dtype in found}

    @property
    def profiled_as(self) -> str | None:
        """The name of a C++ kernel's event: `graph_0_cpp_fused_gelu_mul_0`, of a template's `graph_0_kernel`."""
        found = _RECORDS.search(self.source) if self.type == "cpp" else None
        return found[1] if found else None


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call site. `results` are the names its value is bound to."""

    kernel: str
    type: CallType
    handle: str | None
    lines: tuple[int, int]
    arguments: tuple[str, ...] = ()  # as written
    results: tuple[str, ...] = ()
    reads: tuple[BufferAccess, ...] | None = None
    writes: tuple[BufferAccess, ...] | None = None
    device: str | None = None
    source_nodes: tuple[str, ...] = ()  # pre-grad names in torch's comment above it
    original_aten: tuple[str, ...] = ()
    tensors: tuple[BufferAccess | None, ...] = ()  # one for each argument as written, with all that is known of it
    out: BufferAccess | None = None  # the keyword `out`
    keywords: tuple[tuple[str, str], ...] = ()
    subgraph: str | None = None  # the function of the wrapper for a graph of its own
    conditional: bool = False  # under an `if` or a loop


@dataclass(frozen=True, kw_only=True)
class OutputCode:
    kernels: dict[str, Kernel]
    calls: tuple[Call, ...]
    memory: dict[str, str]  # buffer → the first one in the memory that it reuses
    returned: tuple[str, ...] = ()  # buffers
    unread: str | None = None  # why there are no calls, where the text is no wrapper in Python
    remedy: str | None = None


_HANDLE = re.compile(r"#\s*\[Provenance debug handles\]\s*(\S.*)$")
_SOURCE_NODES = re.compile(r"#\s*Topologically Sorted Source Nodes:\s*\[(.*?)\](?:,\s*Original ATen:\s*\[(.*?)\])?")
_FRAGMENT = re.compile(r"#\s+%(\w+)\b.*?call_function\[")
# With `cpp.enable_kernel_profile` (torch 2.13, codegen/cpp.py and cpp_template_kernel.py).
_RECORDS = re.compile(r'RecordFunctionHandle\s+\w+\("([^"]+)"')
_PARTITIONS = re.compile(r"\bRunner\(partitions=\[([^\]]*)\]")
# A mix-order kernel leaves parts of its reductions: `buf3 = workspace_0[…].view(2048, 1024).sum(dim=0).view([1024]).to(…)`
_FINISHES = re.compile(
    r"(\w+)\[.*\]\.view\((.+), (.+)\)\.(\w+)\(dim=0\)(?:\.view\(\[.*?\]\))?(?:\.to\(torch\.(\w+)\))?"
)
_MAPPING = re.compile(r"#   (\w+) => (\w+(?:, \w+)*)$")
# Of a wrapper in C++ (AOTInductor, `cpp_wrapper`), which may have an entry of its own for constants before the last one.
_CPP_ENTRY = re.compile(r"::run_impl\(|^void inductor_entry_impl\(", re.MULTILINE)
_CPP_CALL = re.compile(
    r"^[ \t]*(?:// \[Provenance debug handles\] (?P<handle>\S+)|// Topologically Sorted .*, Original ATen: \[(?P<aten>.*)\]|"
    r"(?:AOTI_TORCH_ERROR_CODE_CHECK\()?(?:call_)?"
    r"(?:aoti_torch_call_dispatcher\(\"(?P<op>\w+::\w+)|(?P<kernel>triton_\w+|cpp_fused\w*|aoti_torch_(?:cuda|cpu|xpu|mps)_\w+)\())",
    re.MULTILINE,
)
# What looks like an op's fallback and launches nothing.
_NO_KERNEL = re.compile(r"(?:torch\.ops\.inductor|inductor_ops)\.(?:_alloc_from_pool|_reinterpret_tensor)$")
_OPS = ("torch.ops.", "aten.", "inductor_ops.", "_quantized.", "prims.")
TRITON_KINDS: dict[str, CallType] = tables()["triton_kinds"]  # of triton_heuristics

_HEURISTIC = re.compile(r"(?:\w+\.)*triton_heuristics\.(\w+)")
_BUFFER = re.compile(r"^(buf|arg|primals|tangents|_tensor|constant|fwd_rng|bwd_rng)")
# Triton kernels of which all work stands in one function, as loops over its arguments.
LOOPS = ("triton_pointwise", "triton_reduction", "triton_persistent_reduction", "triton_scan")


def parse(text: str, dtypes: Mapping[str, str | None] = MappingProxyType({})) -> OutputCode:
    """Parse a wrapper, given its inputs' dtypes; a text that is no wrapper in Python has no kernels and says why."""
    if entries := [*_CPP_ENTRY.finditer(text)]:
        return OutputCode(kernels={}, calls=tuple(_cpp_calls(text, entries[-1].start())), memory={})
    found = OutputCode(kernels={}, calls=(), memory={})
    unread = remedy = None
    try:
        tree = ast.parse(text)
    except NOT_PYTHON as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        said = getattr(error, "msg", None) or str(error) or "nested too deeply"
        unread = f"the output code is no Python ({said}{line}): no kernel calls"
        remedy = "make it again: it is damaged"
    else:
        lines = text.splitlines()
        kernels = {kernel.name: kernel for kernel in _kernels(tree, lines)}
        walk = _Walk(tree, lines, kernels, dtypes)
        found = OutputCode(kernels=kernels, calls=tuple(walk.calls), memory=walk.memory, returned=walk.returned)
        if not walk.has_entry:
            unread = "the output code has no function `call`: no kernel calls"
            remedy = "it is empty, damaged, or from a torch that writes another form"
    return dataclasses.replace(found, unread=unread, remedy=remedy)


def _cpp_calls(code: str, entry: int) -> Iterator[Call]:
    """Yield the calls of a wrapper in C++ behind its entry; their buffers are not known."""
    handle, aten = None, ""
    for match in _CPP_CALL.finditer(code, entry):
        kernel, line = match["op"] or match["kernel"], code.count("\n", 0, match.start()) + 1
        if kernel is None:
            handle, aten = match["handle"] or handle, match["aten"] or aten
            continue
        kind: CallType = "extern" if kernel.startswith("aoti_torch_") or "::" in kernel else "cpp"
        if kernel.startswith("triton_"):
            kind = TRITON_KINDS.get((decode(kernel) or {}).get("kind", ""), "triton_other")
        yield Call(kernel=kernel, type=kind, handle=handle, lines=(line, line), original_aten=_words(aten))
        handle, aten = None, ""


def _ops_in_name(call: Call) -> tuple[str, ...]:
    """The ATen ops after which Inductor names a C++ function, sorted; nothing where it is not made of known ops.

    No comment stands above its call (torch 2.11 to 2.13, `get_fused_kernel_name` in torch/_inductor/utils.py).
    """
    found = re.fullmatch(r"(?:kernel_)?cpp_fused_([a-z_]\w*?)_\d+", call.kernel) if call.type == "cpp" else None
    ops = split_joined(found[1]) if found else []
    return tuple(f"aten.{op}" for op in ops) if all(op in table() for op in ops) else ()


def subgraph_id(graph_id: str, name: str) -> str:
    """The id of a graph that another calls: `0/0:inference:true_graph_0:post_grad`."""
    return graph_id.replace(":post_grad", f":{name}:post_grad")


def kernel_calls(code: OutputCode, graph_id: str) -> list[KernelCall]:
    """The calls as items of the record; ids count from 1: `0/0:inference:3`. Nodes are not filled in."""
    prefix, found = graph_id.removesuffix(":post_grad"), list[KernelCall]()
    taken: set[str] = set()
    given = {call.handle for call in code.calls}
    for number, call in enumerate(code.calls, 1):
        kernel = code.kernels.get(call.kernel)
        handle = call.handle or f"{call.kernel}:{number}"
        if handle in taken or (call.handle is None and handle in given):
            handle += f".{number}"  # a position that is another call's number, or a place that runs twice
        taken.add(handle)
        reads, writes = _with_bytes(call, kernel, code.memory)
        found.append(
            KernelCall(
                id=f"{prefix}:{number}",
                graph=subgraph_id(graph_id, call.subgraph) if call.subgraph else graph_id,
                subgraph=call.subgraph,
                conditional=call.conditional,
                handle=handle,
                kernel=call.kernel,
                original_aten=call.original_aten or _ops_in_name(call),
                source_names=call.source_nodes,
                type=call.type,
                reads=reads,
                writes=writes,
                bytes_read=None if reads is None else known_sum(access.bytes for access in reads),
                bytes_written=None if writes is None else known_sum(access.bytes for access in writes),
                workload=workload(call, kernel),
                device=call.device,
                code=CodeLines(kernel=kernel.lines if kernel else None, call=call.lines),
                profiled_as=kernel.profiled_as if kernel else None,
            )
        )
    return found


def named_calls(
    calls: Sequence[KernelCall],
    nodes: Mapping[str, Iterable[str]],
    handles: Mapping[str, Iterable[str]],
    kernels: Mapping[str, Kernel] = MappingProxyType({}),
) -> Iterator[KernelCall]:
    """Yield the calls with the nodes that torch names for them: by debug handle, else in the comment above the kernel.

    `nodes` are those of each graph, in order. `handles` are debug handle → nodes; of torch before 2.9 kernel → nodes, taken
    where the kernel is called once.
    """
    orders = {graph: {name: position for position, name in enumerate(names)} for graph, names in nodes.items()}
    called: set[str] = set()
    times = Counter(call.kernel for call in calls)
    for call in calls:
        evidence: Evidence = "debug_handle"
        order = orders.get(call.graph, {})
        said = handles.get(call.handle) or (handles.get(call.kernel, ()) if times[call.kernel] == 1 else ())
        names = [name for name in said if name in order]
        # torch writes the comment for the first call of a kernel; a later one has nodes of its own.
        if not names and call.kernel in kernels and call.kernel not in called:
            names, evidence = [name for name in kernels[call.kernel].origins if name in order], "origins"
        called.add(call.kernel)
        found = tuple(sorted(set(names), key=order.__getitem__))
        yield replace(call, nodes=found, nodes_evidence=evidence if found else None)


def _with_bytes(
    call: Call, kernel: Kernel | None, memory: Mapping[str, str]
) -> tuple[tuple[BufferAccess, ...] | None, tuple[BufferAccess, ...] | None]:
    """Return what a call reads and writes, with the bytes that loops touch, or what another kernel is handed of a buffer."""
    if call.type == "cpp" or call.reads is None or call.writes is None:
        return call.reads, call.writes
    moved = touched(call, kernel) if kernel is not None and call.type in LOOPS else {}
    names = kernel.arguments if kernel else ()
    handed = [(name, view) for name, view in zip_longest(names, (*call.tensors, call.out)) if view]

    def known(access: BufferAccess, *, loaded: bool) -> BufferAccess | None:
        mine = [item for item in handed if item[1].buffer == access.buffer] or [
            item for item in handed if memory.get(item[1].buffer) == memory.get(access.buffer, access.buffer)
        ]
        sizes = [moved[name, loaded] for name, _ in mine if (name, loaded) in moved]
        if len(sizes) == 1:
            return replace(access, bytes=sizes[0].bytes)
        if not sizes and any((name, not loaded) in moved for name, _ in mine):
            return None  # `in_out_ptr0` may only be written
        views = [view for _, view in mine] or [access]
        places = [view.deps or strided(view.shape, view.stride) for view in views]
        item = ITEM_BYTES.get(views[0].dtype or "") if all(places) and not sizes else None
        return (
            access if item is None else replace(access, bytes=item * footprint(dep for deps in places for dep in deps))
        )

    reads = (known(item, loaded=True) for item in call.reads)
    writes = (known(item, loaded=False) for item in call.writes)
    return tuple(filter(None, reads)), tuple(filter(None, writes))


# ---------------------------------------------------------------------- kernels


def _kernels(tree: ast.Module, lines: list[str]) -> Iterator[Kernel]:
    for statement in tree.body:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
            continue
        target, call = statement.targets[0], statement.value
        function = ast.unparse(call.func)
        if not isinstance(target, ast.Name) or not function.startswith("async_compile."):
            continue
        texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        source = max(texts, key=len, default="")
        is_cpp = "cpp" in function
        signature = re.search(r"\bkernel\(([^)]*)\)", source) if is_cpp else None
        named = tuple(re.findall(r"(\w+)\s*(?:,|$)", signature[1])) if signature else ()
        arguments, kernel_type, meta = (named, "cpp", {}) if is_cpp else _triton(source, target.id)
        if function == "async_compile.multi_kernel":
            kernel_type = "triton_reduction"
        comment = _comment_above(lines, statement.lineno)
        yield Kernel(
            name=target.id,
            type=kernel_type,
            lines=(statement.lineno, statement.end_lineno or statement.lineno),
            source=source,
            arguments=arguments,
            origins=tuple(found[1] for line in comment if (found := _FRAGMENT.match(line))),
            meta=meta,
            from_node={
                name: found[1] for line in comment if (found := _MAPPING.match(line)) for name in found[2].split(", ")
            },
        )


def _triton(source: str, name: str) -> tuple[tuple[str, ...], CallType, dict[str, Any]]:
    """A Triton kernel's argument names, type, and the literal parts of its metadata."""
    try:
        functions = [item for item in ast.parse(source).body if isinstance(item, ast.FunctionDef)]
    except NOT_PYTHON:
        functions = []
    if not functions:
        return (), "triton_other", {}
    chosen = next((item for item in functions if item.name == name), functions[0])
    kind: CallType = "triton_other"
    meta: dict[str, Any] = {}
    for function, decorator in ((item, each) for item in functions for each in item.decorator_list):
        call = decorator if isinstance(decorator, ast.Call) else None
        found = _HEURISTIC.fullmatch(ast.unparse(call.func if call else decorator))
        if found:
            chosen, kind = function, TRITON_KINDS.get(found[1], "triton_other")
            meta = {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg} if call else {}
            break
    if not name.startswith(("triton_", "multi_kernel")):
        kind = "user_triton"
    return tuple(argument.arg for argument in chosen.args.args), kind, meta


def _comment_above(lines: list[str], lineno: int) -> list[str]:
    first = lineno - 1
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    return lines[first : lineno - 1]


# ---------------------------------------------------------------------- calls


class _Walk:
    """Goes through the wrapper's entry in the order of execution, into partitions and subgraphs where they are called."""

    def __init__(
        self, tree: ast.Module, lines: list[str], kernels: dict[str, Kernel], dtypes: Mapping[str, str | None]
    ) -> None:
        self.lines = lines
        self.kernels = kernels
        self.functions: dict[str, ast.FunctionDef] = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
        found = _PARTITIONS.search("\n".join(lines))
        self.partitions = _words(found[1]) if found else ()
        self.calls: list[Call] = []
        self.layout: dict[str, BufferAccess] = {}
        self.alias: dict[str, str] = {}
        self.memory: dict[str, str] = {}  # … and followed to the first
        self.dtypes: dict[str, str | None] = {**dtypes}  # and of buffers that a Triton kernel's signature names
        self.returned: tuple[str, ...] = ()
        self.device: str | None = None
        self.active: list[str] = []
        self.entered: set[str] = set()  # under a condition: a line that may run again is one call
        self.conditions = 0  # `if`s and loops around
        runners = [s for s in tree.body if isinstance(s, ast.ClassDef) and s.name == "Runner"]
        methods = {item.name: item for s in runners for item in s.body if isinstance(item, ast.FunctionDef)}
        entry = self.functions.get("call") or methods.get("call")
        self.has_entry = entry is not None
        body = entry.body if entry is not None else []
        # Lines above which no comment is about what comes after them: the heads of functions, and the ends of calls.
        self.borders = {item.lineno for item in (*self.functions.values(), *methods.values())}
        assigned = [s for s in body if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name)]
        # `arg0_1, arg1_1 = args`
        self.inputs = {name for s in assigned if ast.unparse(s.value) == "args" for name in _targets(s)}
        self.block(body)
        for at, call in enumerate(self.calls):  # a later kernel's signature may say the dtype of what one reads
            reads, writes = call.reads or (), call.writes or ()
            reads = (item if item.dtype else replace(item, dtype=self.dtype_of(item.buffer)) for item in reads)
            self.calls[at] = dataclasses.replace(call, reads=tuple(reads), writes=tuple(map(self.asserted, writes)))

    def asserted(self, access: BufferAccess) -> BufferAccess:
        """The access with what the code says of its buffer after the call."""
        known = self.layout.get(access.buffer)
        if access.shape is not None or known is None:
            return access
        dtype = known.dtype or self.dtype_of(access.buffer)
        return replace(access, shape=known.shape, stride=known.stride, dtype=dtype)

    def dtype_of(self, buffer: str) -> str | None:
        return self.dtypes.get(self.memory.get(buffer, buffer))

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.With | ast.Try):
                guard = ", ".join(ast.unparse(item.context_expr) for item in getattr(statement, "items", ()))
                if found := re.search(r"torch\.(\w+)\._DeviceGuard\((\d+)\)", guard):
                    self.device = f"{found[1]}:{found[2]}"
                self.block(statement.body)
            elif isinstance(statement, ast.If | ast.For | ast.While):
                self.conditions += 1
                self.block(statement.body)
                self.block(statement.orelse)
                self.conditions -= 1
            elif isinstance(statement, ast.Return) and not self.active:
                self.returned = tuple(item.id for item in ast.walk(statement) if isinstance(item, ast.Name))
            elif isinstance(statement, ast.Expr):
                self.value(statement.value, (), statement)
            elif isinstance(statement, ast.Assign):
                self.value(statement.value, _targets(statement), statement)

    def value(self, value: ast.expr, results: tuple[str, ...], statement: ast.stmt) -> None:
        if found := _FINISHES.fullmatch(ast.unparse(value)):
            self.finish(found, results[0], statement)
            return
        if not isinstance(value, ast.Call):
            self.rename(value, results)
            return
        function = ast.unparse(value.func)
        if function in ("assert_size_stride", "assert_tensor_metadata"):  # the latter since torch 2.14, with the dtype
            self.assertion(value.args)
        elif function == "assert_size_stride_grouped":  # torch 2.14: (names), (sizes), (strides), what
            columns = [item.elts for item in value.args[:3] if isinstance(item, ast.Tuple)]
            for one in zip(*columns) if len(columns) == 3 else ():  # noqa: B905
                self.assertion([*one, *value.args[3:]])
        elif function.startswith("empty_strided") or function == "reinterpret_tensor":
            self.allocation(function, value, results)
        elif function.startswith(_OPS) and expected_nature(function) == "view":
            if value.args:  # `view.dtype`, `view_as_complex`: no loops write it, and nothing is launched
                self.same_memory(value.args[0], results)
        elif (name := self.subroutine(function)) is not None:
            self.enter(name)
        else:
            self.launch(function, value, results, statement)

    def finish(self, found: re.Match[str], name: str, line: ast.stmt) -> None:
        """Keep the kernels of a line that finishes a reduction: the reduction of its parts, and a cast if there is one."""
        whole, rows, columns, op, dtype = found.groups()
        steps = [(name, f"{op}(reinterpret_tensor({whole}, ({rows}, {columns}), ({columns}, 1)), 0)", "float32")]
        if dtype:
            steps = [(name + UNCAST, *steps[0][1:]), (name, f"_to_copy({name}{UNCAST})", dtype)]
        size = int(columns) if columns.isdigit() else columns
        for result, text, made in steps:
            self.layout[result] = BufferAccess(buffer=result, shape=(size,), stride=(1,), dtype=made)
            self.value(ast.parse(f"torch.ops.aten.{text}", mode="eval").body, (result,), line)

    def rename(self, value: ast.expr, results: tuple[str, ...]) -> None:
        """Follow `buf3 = buf0` (reuse, or a fallback's one result) and `buf5 = buf4[0]` (one of several results)."""
        owner = value.value if isinstance(value, ast.Subscript) else value
        if len(results) != 1 or not isinstance(owner, ast.Name):
            return
        if owner is value:
            self.same_memory(value, results)
            if owner.id in self.layout:
                self.layout.setdefault(results[0], self.layout[owner.id])
                return
        for position, call in enumerate(self.calls):
            if owner.id in call.results:
                writes = (*(call.writes or ()), BufferAccess(buffer=results[0]))
                self.calls[position] = dataclasses.replace(call, writes=writes)

    def same_memory(self, value: ast.expr, results: tuple[str, ...]) -> None:
        if isinstance(value, ast.Name) and len(results) == 1:
            self.alias[results[0]] = value.id
            self.memory[results[0]] = self.memory.get(value.id, value.id)

    def allocation(self, function: str, call: ast.Call, results: tuple[str, ...]) -> None:
        if len(results) != 1:
            return
        if function == "reinterpret_tensor":
            self.layout[results[0]] = self.access(call)
            if call.args:
                self.same_memory(call.args[0], results)
            return
        if function == "empty_strided_cpu":
            self.device = self.device or "cpu"  # else a guard says it
        shape, stride = (_sizes(arg) for arg in call.args[:2]) if len(call.args) >= 2 else (None, None)
        dtype = ast.unparse(call.args[2]).removeprefix("torch.") if len(call.args) > 2 else None
        self.layout[results[0]] = BufferAccess(buffer=results[0], shape=shape, stride=stride, dtype=dtype)

    def assertion(self, args: list[ast.expr]) -> None:
        """Keep the size and stride that are asserted of an input, or by torch's own check of an extern call's result.

        torch 2.12 asserts an input just before its first use; since 2.13 `'input'` is then the fourth argument.
        """
        if len(args) < 3 or not isinstance(args[0], ast.Name):
            return
        name = args[0].id
        marked = len(args) > 3 and isinstance(args[3], ast.Constant) and args[3].value == "input"
        access = BufferAccess(buffer=name, shape=_sizes(args[1]), stride=_sizes(args[2]))
        if marked or name in self.inputs:
            self.layout[name] = access
        else:
            self.layout.setdefault(name, access)

    def subroutine(self, function: str) -> str | None:
        """The name of the wrapper's own function that is called here: a partition or a subgraph."""
        found = re.fullmatch(r"self\.partitions\[(\d+)\]", function)
        if found and int(found[1]) < len(self.partitions):
            return self.partitions[int(found[1])]
        return function if function in self.functions and function not in self.kernels else None

    def enter(self, name: str) -> None:
        if name in self.active or name not in self.functions:
            return
        if self.conditions and name in self.entered:  # the condition of a loop: first before it, then in it
            self.calls = [
                dataclasses.replace(call, conditional=True) if call.subgraph == name else call for call in self.calls
            ]
            return
        self.entered.add(name)
        self.active.append(name)
        self.block(self.functions[name].body)
        self.active.pop()

    def launch(self, function: str, call: ast.Call, results: tuple[str, ...], statement: ast.stmt) -> None:
        kind = self.kind(function)
        if kind is None:
            return
        kernel, call_type = kind
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        handle, source_nodes, original = self.comment(first)
        self.borders.add(last)
        reads, writes = self.accesses(kernel, call, results)
        self.calls.append(
            Call(
                kernel=kernel,
                type=call_type,
                handle=handle,
                lines=(first, last),
                arguments=tuple(ast.unparse(arg) for arg in call.args),
                results=results,
                reads=reads,
                writes=writes,
                device="cpu" if call_type == "cpp" else self.device,
                source_nodes=source_nodes,
                original_aten=original,
                tensors=tuple(self.whole(arg) for arg in call.args),
                out=next((self.whole(word.value) for word in call.keywords if word.arg == "out"), None),
                keywords=tuple((word.arg or "", ast.unparse(word.value)) for word in call.keywords),
                subgraph=next((name for name in reversed(self.active) if name not in self.partitions), None),
                conditional=self.conditions > 0,
            )
        )
        self.learn_dtypes(kernel, call)

    def whole(self, argument: ast.expr) -> BufferAccess | None:
        access = self.tensor(argument)
        return None if access is None else replace(access, deps=access.deps or strided(access.shape, access.stride))

    def learn_dtypes(self, kernel: str, call: ast.Call) -> None:
        """Keep the dtypes of a Triton kernel's pointers, for the calls after it."""
        if kernel not in self.kernels:
            return
        signature = self.kernels[kernel].signature
        for argument, name in zip(call.args, self.kernels[kernel].arguments, strict=False):
            access = self.tensor(argument)
            if access is not None and (dtype := signature.get(name)):
                self.dtypes.setdefault(self.memory.get(access.buffer, access.buffer), dtype)

    def kind(self, function: str) -> tuple[str, CallType] | None:
        """(kernel, type) of a called function; `None` for what launches nothing."""
        if function.endswith(".run"):
            name = function.removesuffix(".run")
            return name, self.kernels[name].type if name in self.kernels else "triton_other"
        if function in self.kernels:
            return function, self.kernels[function].type
        if function.startswith("extern_kernels."):
            return function, "extern"
        if function.startswith(_OPS) and not _NO_KERNEL.match(function):
            return function, "fallback"
        return ("aten.copy_", "fallback") if function.endswith(".copy_") and function.count(".") == 1 else None

    def comment(self, line: int) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
        """(handle, source nodes, original ATen) of the comments between the call before and this one."""
        handle: str | None = None
        nodes: tuple[str, ...] = ()
        original: tuple[str, ...] = ()
        for position in range(line - 1, 0, -1):
            if position in self.borders:
                break
            text = self.lines[position - 1].strip()
            if handle is None and (found := _HANDLE.match(text)):
                handle = found[1].split(",")[0].strip()
            elif not nodes and (found := _SOURCE_NODES.match(text)):
                nodes, original = _words(found[1]), _words(found[2] or "")
        return handle, nodes, original

    def accesses(
        self, kernel: str, call: ast.Call, results: tuple[str, ...]
    ) -> tuple[tuple[BufferAccess, ...], tuple[BufferAccess, ...]]:
        reads: dict[str, BufferAccess] = {}
        writes: dict[str, BufferAccess] = {name: BufferAccess(buffer=name) for name in results}
        directions = self.kernels[kernel].arguments if kernel in self.kernels else ()
        source = self.kernels[kernel].source if kernel in self.kernels else ""
        stored = ("out_ptr", "ws_ptr" if "RSPLIT_SIZE" in source else "out_ptr")  # a mix-order kernel's workspace
        is_in_place = kernel.startswith("torch.ops.") and op_name(kernel).endswith("_")
        arguments = [(at, item) for at, arg in enumerate(call.args) for item in getattr(arg, "elts", [arg])]
        for position, argument in arguments:
            access = self.tensor(argument)
            if access is None:
                continue
            direction = directions[position] if position < len(directions) else "in_ptr"
            if direction.startswith((*stored, "in_out")) or (is_in_place and not position):
                writes.setdefault(access.buffer, replace(access, deps=()))
            if not direction.startswith(stored) or f"atomic_add({direction} " in source:
                before = self.alias.get(access.buffer) if direction.startswith("in_out") else None
                origin = before or access.buffer
                reads.setdefault(origin, replace(access, buffer=origin, deps=()))
        others = [(word.arg == "out", word.value) for word in call.keywords]
        if isinstance(call.func, ast.Attribute) and call.func.attr == "copy_":
            others.append((True, call.func.value))
        for is_written, value in others:
            if (access := self.tensor(value)) is not None:
                (writes if is_written else reads).setdefault(access.buffer, replace(access, deps=()))
        return tuple(reads.values()), tuple(writes.values())

    def tensor(self, value: ast.expr) -> BufferAccess | None:
        """The buffer that an argument is, with the shape and the dtype that stand elsewhere; `None` for numbers and streams."""
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "reinterpret_tensor":
            access = self.access(value)
        elif isinstance(value, ast.Name) and (value.id in self.layout or _BUFFER.match(value.id)):
            access = replace(self.layout.get(value.id) or BufferAccess(buffer=value.id), buffer=value.id)
        else:
            return None
        return replace(access, dtype=access.dtype or self.dtype_of(access.buffer))

    def access(self, call: ast.Call) -> BufferAccess:
        """The view that a `reinterpret_tensor(buffer, size, stride, offset)` makes."""
        name = ast.unparse(call.args[0]) if call.args else "?"
        base = self.layout.get(name)
        shape, stride = (_sizes(call.args[place]) if len(call.args) > place else None for place in (1, 2))
        offset = getattr(call.args[3], "value", None) if len(call.args) > 3 else 0
        dtype = base.dtype if base else None
        return BufferAccess(buffer=name, shape=shape, stride=stride, dtype=dtype, deps=strided(shape, stride, offset))


def _targets(statement: ast.Assign) -> tuple[str, ...]:
    target = statement.targets[0]
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, ast.Tuple):
        return tuple(item.id for item in target.elts if isinstance(item, ast.Name))
    return ()


def _sizes(value: ast.expr) -> tuple[int | str, ...] | None:
    if not isinstance(value, ast.Tuple):
        return None
    return tuple(
        item.value if isinstance(item, ast.Constant) and isinstance(item.value, int) else ast.unparse(item)
        for item in value.elts
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
