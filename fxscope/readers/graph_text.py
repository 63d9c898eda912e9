"""Graphs as torch prints them (`print_readable`) → nodes: TORCH_TRACE logs and debug folders hold them so.

Seen forms of a line (torch 2.11 to 2.14; shape only, or shape, stride and device):

    mm: "bf16[8192, 3072]" = torch.ops.aten.mm.default(view, permute);  view = None
    mm: "bf16[8192, 3072][3072, 1]cuda:0" = torch.ops.aten.mm.default(view, permute)
"""

import ast
import re
import textwrap

from fxscope.dtypes import long_dtype, read_sizes
from fxscope.errors import NOT_PYTHON
from fxscope.model import Node, Source, TensorMeta, replace
from fxscope.op_names import OPERATORS

_PLACE = re.compile(r"^\s*# (?:File: (.+?):(\d+) in ([^,]+)(?:, code: (.*))?|No stacktrace found.*)$")
_ASSIGN = re.compile(r'^(\s*\w+(?:: "[^"]*")? = )\S.*$')
_TENSOR = re.compile(r"^(?P<dtype>\w+)\[(?P<shape>[^\]]*)\](?:\[(?P<stride>[^\]]*)\])?(?P<device>[a-z]+(?::\d+)?)?$")
_BODY = re.compile(r"^[ \t]+class (\w+)\(.*\):$", re.MULTILINE)
_MAX_DAMAGED = 100  # lines that are not Python


def parse(text: str) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """(nodes in order, names of the nodes that the graph returns) of one printed graph; other text gives no nodes."""
    lines = text.partition("\n # graph id: ")[0].replace("\r", " ").split("\n")
    heads = [at for at, line in enumerate(lines) if line.lstrip().startswith(("def forward(", "class "))]
    begin = next((at for at in heads if "def forward(" in lines[at]), len(lines))
    end = next((at for at in heads if at > begin), None)  # a graph within this one is a class
    lines = textwrap.dedent("\n".join(lines[begin:end])).split("\n")
    forward = _forward(lines)
    if forward is None:
        return (), ()
    nodes = {arg.arg: _input(arg.arg, arg.annotation) for arg in forward.args.args if arg.annotation is not None}
    alias: dict[str, str] = {}
    source: Source | None = None
    seen = 0
    for statement in forward.body:
        for place in filter(None, map(_PLACE.match, lines[seen : statement.lineno])):
            file, line, function, code = place.groups()
            source = Source(file=file, line=int(line), function=function.strip(), code=code or None) if file else None
        seen = statement.lineno
        if isinstance(statement, ast.Return):
            returned = (alias.get(name, name) for name in _names(statement))
            return tuple(nodes.values()), tuple(dict.fromkeys(name for name in returned if name in nodes))
        if not isinstance(statement, ast.AnnAssign | ast.Assign):
            continue
        target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
        annotation = getattr(statement, "annotation", None)
        value = statement.value
        if not isinstance(target, ast.Name):
            continue
        if value is None:
            nodes[target.id] = _input(target.id, annotation)
        elif isinstance(value, ast.Name) and value.id in nodes and nodes[value.id].op == "placeholder":
            alias[target.id] = value.id  # Dynamo renames each input once: l_x_ = L_x_
        elif not (isinstance(value, ast.Constant) and value.value is None):  # `mm = None`: no longer used
            node = _node(target.id, value, lines, nodes, alias)
            nodes[target.id] = replace(node, outputs=tensors(annotation), source=source)
    return tuple(nodes.values()), ()


def bodies(text: str) -> dict[str, str]:
    """Name → printed graph of each graph within one: the branches of `torch.cond`, the body of a loop."""
    _, *inner = _BODY.split(text)
    return dict(zip(inner[::2], inner[1::2], strict=True))


def _forward(lines: list[str]) -> ast.FunctionDef | None:
    """The function of a graph; lines that are not Python lose their value."""
    kept = [*lines]
    for _ in range(_MAX_DAMAGED):
        try:
            body = ast.parse("\n".join(kept)).body
        except NOT_PYTHON as error:
            number = getattr(error, "lineno", None)
            at = number - 1 if number else max(range(len(kept)), key=lambda at: len(kept[at]))
            kept[at] = "" if kept[at].endswith("...") else _ASSIGN.sub(r"\1...", kept[at])
        else:
            return next((item for item in body if isinstance(item, ast.FunctionDef)), None)
    return None


def _input(name: str, annotation: ast.expr | None) -> Node:
    return Node(name=name, op="placeholder", target=name, outputs=tensors(annotation))


def _node(name: str, value: ast.expr, lines: list[str], nodes: dict[str, Node], alias: dict[str, str]) -> Node:
    text = ast.unparse(value)
    if value.lineno == value.end_lineno:  # as it is printed
        text = lines[value.lineno - 1].encode()[value.col_offset : value.end_col_offset].decode()
    target, arguments = text, None
    op = "call_function"
    if isinstance(value, ast.Call):
        target = ast.unparse(value.func)
        arguments = text[len(target) + 1 : -1] if text.startswith(target) else None
        if isinstance(value.func, ast.Attribute) and target.partition(".")[0] in nodes | alias:
            op, target = "call_method", value.func.attr
        elif target.startswith("self."):
            op = "call_module"
    elif isinstance(value, ast.Subscript):
        target = "operator.getitem"
    elif isinstance(value, ast.BinOp | ast.UnaryOp | ast.Compare):
        kind = type(value.ops[0] if isinstance(value, ast.Compare) else value.op).__name__
        target = f"operator.{OPERATORS.get(kind, kind.lower())}"
    elif isinstance(value, ast.Name):  # `x[0] = y;  setitem = x`
        target = "operator.setitem"
    elif target.startswith("self."):
        op = "get_attr"
    inputs = tuple(dict.fromkeys(found for n in _names(value) if (found := alias.get(n, n)) in nodes and found != name))
    return Node(name=name, op=op, target=target.removeprefix("torch.ops."), inputs=inputs, arguments=arguments)


def _names(tree: ast.AST) -> list[str]:
    names = (item for item in ast.walk(tree) if isinstance(item, ast.Name))
    return [item.id for item in sorted(names, key=lambda item: (item.lineno, item.col_offset))]


def tensors(annotation: ast.expr | None) -> tuple[TensorMeta, ...]:
    """Parse `bf16[8192, 3072][3072, 1]cuda:0`; anything else (`Sym(s0)`, several results) gives none."""
    found = _TENSOR.match(str(annotation.value)) if isinstance(annotation, ast.Constant) else None
    if not found:
        return ()
    stride = found["stride"]
    return (
        TensorMeta(
            shape=read_sizes(found["shape"]),
            dtype=long_dtype(found["dtype"]),
            stride=read_sizes(stride) if stride is not None else None,
            device=found["device"],
        ),
    )
