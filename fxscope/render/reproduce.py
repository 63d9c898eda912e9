"""One kernel call as a Python file that runs alone: its code, inputs as the wrapper makes them, a timing loop."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from fxscope.data import read_text
from fxscope.errors import RenderError
from fxscope.index import index_of, reachable
from fxscope.model import BufferAccess, Decision, KernelCall, Node, Recording
from fxscope.text import microseconds, num_bytes

# What a wrapper makes memory and views with: such a statement is taken over, any other result is replaced by a tensor.
MAKERS = ("empty_strided", "reinterpret_tensor", "alloc_from_pool", "get_raw_stream", "as_strided")
_RUNNERS = {"runner", "call", "recursively_apply_fns"}
IMPORTS = "from torch._dynamo.testing import rand_strided\nfrom torch.utils.benchmark import Timer"
PAIR = read_text("reproduce_pair.txt")
CODE = read_text("reproduce.txt")  # with places for `format`


def render(recording: Recording, call: KernelCall) -> str:
    """Return the file's text. Raises RenderError: the recording does not hold the code, or not all shapes."""
    source = next((x for x in recording.sources if x.kind == "output_code" and x.graph == call.wrapper), None)
    if source is None or call.code.call is None:
        raise RenderError(f"{call.handle}: the recording does not hold its output code. Record with `fxscope run`.")
    wrapper = _Wrapper(recording, call, source.text)
    moved = None if call.bytes_read is None or call.bytes_written is None else call.bytes_read + call.bytes_written
    bound = call.roof.floor_us if call.roof is not None else None
    facts = [f"Call {call.id} of {recording.title or 'a recording'}, torch {recording.environment.torch}."]
    facts += [f"It moves {num_bytes(moved)}."] if moved is not None else []
    facts += [f"At the device's limits it takes {microseconds(bound)}."] if bound is not None else []
    facts += [f"It took {microseconds(call.timing.median_us)} when it was recorded."] if call.timing is not None else []
    return CODE.format(
        title=f"{call.handle}, alone.",
        facts="\n".join(facts),
        preamble=f"{IMPORTS}\n{wrapper.preamble()}",
        inputs="\n".join(wrapper.inputs()),
        call=wrapper.call(),
        read=[access.buffer for access in call.reads or ()],
        moved=moved,
        bound=bound,
        name=call.kernel,
    )


def render_pair(recording: Recording, decision: Decision) -> str:
    """Return a program that times the two sides of a decision as two graphs, and as one with the switch that may fuse them.

    Raises RenderError: the recording does not hold the ops, or not all their sizes.
    """
    calls = [index_of(recording).calls.get(end.call or "") for end in decision.ends]
    if decision.other_graph or calls[0] is None or calls[1] is None or calls[0] is calls[1]:
        raise RenderError("reproduce takes two kernels of one compiled graph that were not fused.")
    nodes = index_of(recording).nodes[decision.graph]
    (first, taken, made), (second, needed, _) = (_function(call, nodes) for call in calls if call is not None)
    inputs = list(dict.fromkeys([*taken, *(name for name in needed if name not in made)]))
    switches = {"enable": {decision.config: True}, "disable": {decision.config: False}}
    template = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}
    return PAIR.format(
        title=f"{' and '.join(call.handle for call in calls if call)}: as two kernels, and in one graph.",
        facts=f"Not fused: {decision.reason}.\n{decision.hint or 'No switch is known that fuses them'}.",
        first=first,
        second=second,
        first_inputs=", ".join(taken),
        second_inputs=", ".join(needed),
        inputs=", ".join(inputs),
        passed=f"{', '.join(made)},",
        options=switches.get(decision.hint_code or "", template if "template" in (decision.hint_code or "") else {}),
        makers="\n".join(_made(nodes[name]) for name in inputs),
    )


def _function(call: KernelCall, nodes: Mapping[str, Node]) -> tuple[str, list[str], list[str]]:
    """The body of a function that runs a call's ops, with views that no kernel ran; what it takes; what it returns."""

    def belongs(name: str) -> list[str]:
        views = [item for item in nodes[name].inputs if nodes[item].nature == "view" and item not in items]
        return views + [item for item, owner in items.items() if owner == name]

    items = {name: node.inputs[0] for name, node in nodes.items() if node.target == "operator.getitem"}
    inside = reachable((name for name in call.nodes if name in nodes), belongs)
    ops = [node for name, node in nodes.items() if name in inside]
    if wrong := next((node for node in ops if node.arguments is None or "…" in node.arguments), None):
        raise RenderError(f"{call.handle}: the recording does not hold the arguments of {wrong.name}.")
    taken = [item for node in ops for item in node.inputs if item not in inside]
    used = {item for node in nodes.values() if node.name not in inside for item in node.inputs}
    made = [node.name for node in ops if node.name in used and (node.name in items or node.nature != "view")]
    if not made:
        raise RenderError(
            f"{call.handle}: no op of the graph is its result (a copy that the compiler adds, a write in place)."
        )
    targets = ((node.target if "operator" in node.target else f"torch.ops.{node.target}") for node in ops)
    lines = [f"{node.name} = {target}({node.arguments})" for node, target in zip(ops, targets, strict=True)]
    return "\n    ".join([*lines, f"return ({', '.join(made)},)"]), list(dict.fromkeys(taken)), made


def _made(node: Node) -> str:
    meta = node.outputs[0] if len(node.outputs) == 1 else None
    if meta is None or meta.stride is None or any(isinstance(size, str) for size in (*meta.shape, *meta.stride)):
        raise RenderError(f"the recording does not hold the sizes of {node.name}.")
    return f"{node.name} = rand_strided({meta.shape}, {meta.stride}, torch.{meta.dtype}, {meta.device!r})"


class _Wrapper:
    def __init__(self, recording: Recording, call: KernelCall, text: str) -> None:
        self.text, self.target = text, call
        try:
            self.tree = ast.parse(text)
        except SyntaxError as error:
            raise RenderError(f"{call.handle}: its output code is not Python (a C++ wrapper): {error.msg}.") from None
        self.accesses: dict[str, BufferAccess] = {
            access.buffer: access
            for other in index_of(recording).calls_of_graph.get(call.graph, ())
            for access in (*(other.reads or ()), *(other.writes or ()))
            if access.shape is not None
        }
        self.before: list[ast.stmt] = []
        self.statement = self._statement()
        arguments = next((node for node in self.tree.body if getattr(node, "name", "") == "get_args"), None)
        self.examples = dict(_assigned(getattr(arguments, "body", ())))
        self.known = {*self.accesses, *self.examples}
        graph_inputs = (node for node in index_of(recording).nodes[call.graph].values() if node.op == "placeholder")
        self.offsets = {node.name: item.storage_offset for node in graph_inputs for item in node.outputs[:1]}

    def _statement(self) -> ast.stmt:
        line = self.target.code.call[0] if self.target.code.call else 0
        for function in (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)):
            inside = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.Expr)]
            inside.sort(key=lambda node: node.lineno)
            found = next((node for node in inside if node.lineno <= line <= (node.end_lineno or 0)), None)
            if found is not None:
                self.before = [node for node in inside if node.lineno < found.lineno]
                return found
        raise RenderError(f"{self.target.handle}: line {line} of its output code is not Python, or calls nothing.")

    def preamble(self) -> str:
        """The imports and short names of the output code, and the definition of the kernel; none of a library's kernel."""
        wanted = {node.id for node in ast.walk(self.statement) if isinstance(node, ast.Name)}
        kept: list[str] = []
        for node in self.tree.body:
            names, text = {name for name, _ in _assigned([node])}, self._text(node)
            is_other = "async_compile." in text and not names & wanted
            if isinstance(node, ast.Import | ast.ImportFrom | ast.Assign) and not is_other and not names & _RUNNERS:
                kept.append(text)
        return "\n".join(kept)

    def call(self) -> str:
        text, names = self._text(self.statement), [name for name, _ in _assigned([self.statement])]
        return "\n    ".join([*text.splitlines(), *(f"return {name}" for name in names[:1])])

    def inputs(self) -> list[str]:
        """The statements that make what the call takes: as the wrapper does, else from examples or layouts."""
        needed = self._read(self.statement, known={name for name, _ in _assigned([self.statement])})
        lines: list[str] = []  # the last statement first
        for name, value in reversed(list(_assigned(self.before))):
            if name not in needed:
                continue
            needed.remove(name)
            text = ast.unparse(value)
            maker = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
            # Another name of what an op returns is made as itself: the layout of the op's own result may not be recorded.
            is_name = isinstance(value, ast.Name) and (value.id in self.known or name not in self.known)
            is_name = is_name and text != "args"
            if is_name or any(word in maker for word in MAKERS):
                needed += self._read(value, known=needed)
                text = f"fill({text})" if "empty_strided" in maker else text
                lines.append(f"{name} = {text}")
            else:
                lines.append(self._example(name))
        return [*map(self._example, needed), *reversed(lines)] or ["# no inputs"]

    def _read(self, node: ast.AST, known: Collection[str]) -> list[str]:
        imports = [node for node in self.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        imported = {(item.asname or item.name).partition(".")[0] for node in imports for item in node.names}
        own = imported | {name for name, _ in _assigned(self.tree.body) if name not in self.examples} | {"torch"}
        names = [item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)]
        return [name for name in dict.fromkeys(names) if name not in own and name not in known]

    def _example(self, name: str) -> str:
        """The statement that makes a tensor as the wrapper's example inputs do, else from its layout."""
        if name in self.examples:
            text, offset = ast.unparse(self.examples[name]), self.offsets.get(name)
            return f"{name} = shifted({text}, {offset})" if isinstance(offset, int) and offset else f"{name} = {text}"
        access = self.accesses.get(name)
        sizes = (*(access.shape or ()), *(access.stride or ())) if access else ()
        if access is None or access.stride is None or any(isinstance(size, str) for size in sizes):
            raise RenderError(f"{self.target.handle}: the recording does not hold the sizes of {name}.")
        layout = f"{access.shape}, {access.stride}, dtype=torch.{access.dtype}, device={self.target.device or 'cpu'!r}"
        return f"{name} = fill(torch.empty_strided({layout}))"

    def _text(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ""


def _assigned(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in statements:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
