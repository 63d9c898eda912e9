"""Graphs as torch prints them (`print_readable`) → nodes: TORCH_TRACE logs and debug folders hold them so.

Seen forms of a line (torch 2.11 to 2.14; shape only, or shape, stride and device):

    mm: "bf16[8192, 3072]" = torch.ops.aten.mm.default(view, permute);  view = None
    mm: "bf16[8192, 3072][3072, 1]cuda:0" = torch.ops.aten.mm.default(view, permute)
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from fxscope.dtypes import long_dtype, read_sizes
from fxscope.errors import NOT_PYTHON
from fxscope.model import Node, Source, TensorMeta

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACE = re.compile(r"^\s*# File: (?P<file>.+?):(?P<line>\d+) in (?P<function>[^,]+)(?:, code: (?P<code>.*))?$")
_ASSIGN = re.compile(r'^\s+(?P<name>\w+)(?P<annotation>: "[^"]*")?\s*=\s*(?P<value>\S.*)$')
_FREED = re.compile(r"\s*(?:\w+ = )+None")  # behind a call: what is not used any more
_DECLARED = re.compile(r'^\s+(?P<name>\w+): "(?P<annotation>[^"]*)",?\s*(?:#.*)?$')
_ARGUMENT = re.compile(r'(?P<name>\w+): "(?P<annotation>[^"]*)"')
_TENSOR = re.compile(r"^(?P<dtype>\w+)\[(?P<shape>[^\]]*)\](?:\[(?P<stride>[^\]]*)\])?(?P<device>[a-z]+(?::\d+)?)?$")
_TORCH_FILE = re.compile(r"(^|/)torch/(nn|_|utils|autograd|functional)|site-packages/torch/")


def parse(text: str) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """(nodes in order, names of the nodes that the graph returns) of one printed graph.

    Text that is no printed graph gives no nodes.
    """
    nodes: dict[str, Node] = {}
    alias: dict[str, str] = {}
    outputs: tuple[str, ...] = ()
    source: Source | None = None
    for line in _logical_lines(text):
        place = _PLACE.match(line)
        if place:
            source = Source(
                file=place["file"],
                line=int(place["line"]),
                function=place["function"].strip(),
                code=place["code"] or None,
            )
            continue
        stripped = line.strip()
        if stripped.startswith("def forward("):
            for argument in _ARGUMENT.finditer(line):
                nodes[argument["name"]] = _input(argument["name"], argument["annotation"])
            continue
        if stripped.startswith("return "):
            outputs = tuple(
                dict.fromkeys(
                    alias.get(n, n) for n in _names(stripped.removeprefix("return ")) if alias.get(n, n) in nodes
                )
            )
            break
        if stripped.startswith("#") or not stripped:
            continue
        declared = _DECLARED.match(line)
        if declared:
            nodes[declared["name"]] = _input(declared["name"], declared["annotation"])
            continue
        assign = _ASSIGN.match(line)
        if not assign or "fx_pytree" in line:
            continue
        name, value = assign["name"], _value(assign["value"])
        if re.fullmatch(r"\w+", value) and value in nodes and nodes[value].op == "placeholder":
            # Dynamo renames each input once: l_x_ = L_x_
            alias[name] = value
            continue
        nodes[name] = _node(name, value, (assign["annotation"] or "")[3:-1], nodes, alias, source)
    return tuple(nodes.values()), outputs


def _value(text: str) -> str:
    """An assigned expression without what is freed after it."""
    before, semicolon, after = text.rstrip().rpartition(";")
    if semicolon and (not after or _FREED.fullmatch(after)):
        text = before
    return text.split(";  ")[0].rstrip().rstrip(";")


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines; an opening bracket joins lines until it closes, as in a long `forward(` or `return (`."""
    held: list[str] = []
    depth = 0
    for line in text.splitlines():
        code = (
            re.sub(r"\s{2,}# \w+\(.*$", "", line)
            if held or line.rstrip().endswith(("(", ",")) or "AOTInput" in line
            else line
        )
        bare = re.sub(r'"[^"]*"|\'[^\']*\'', "", code)
        if not held and line.lstrip().startswith("#"):
            yield line
            continue
        if held or (line.rstrip().endswith("(") and re.match(r"\s*(def forward|return) ?\(", line)):
            held.append(code.strip() if held else code)
            depth += bare.count("(") - bare.count(")")
            if depth <= 0:
                yield " ".join(held)
                held, depth = [], 0
            continue
        yield code
    if held:
        yield " ".join(held)


def _input(name: str, annotation: str) -> Node:
    return Node(name=name, op="placeholder", target=name, outputs=tensors(annotation))


def _node(
    name: str, value: str, annotation: str, nodes: dict[str, Node], alias: dict[str, str], source: Source | None
) -> Node:
    target, arguments = value, None
    op = "call_function"
    try:
        tree = ast.parse(value, mode="eval").body
    except NOT_PYTHON:
        tree = None
    if isinstance(tree, ast.Call):
        target = ast.unparse(tree.func)
        arguments = value[len(target) + 1 : -1] if value.startswith(target) else None
        if isinstance(tree.func, ast.Attribute) and target.partition(".")[0] in nodes | alias:
            op, target = "call_method", tree.func.attr
        elif target.startswith("self."):
            op = "call_module"
    elif isinstance(tree, ast.Subscript):
        target = "operator.getitem"
    elif isinstance(tree, ast.BinOp | ast.UnaryOp | ast.Compare):
        kind = type(tree.ops[0] if isinstance(tree, ast.Compare) else tree.op).__name__
        target = f"operator.{_OPERATORS.get(kind, kind.lower())}"
    elif target.startswith("self."):
        op = "get_attr"
    inputs = tuple(dict.fromkeys(found for n in _names(value) if (found := alias.get(n, n)) in nodes and found != name))
    return Node(
        name=name,
        op=op,
        target=target.removeprefix("torch.ops."),
        inputs=inputs,
        outputs=tensors(annotation),
        arguments=arguments,
        source=source,
    )


_OPERATORS = {  # where `operator` has another name than the syntax tree
    "Mult": "mul",
    "Div": "truediv",
    "BitAnd": "and_",
    "BitOr": "or_",
    "BitXor": "xor",
    "MatMult": "matmul",
    "USub": "neg",
    "UAdd": "pos",
    "Not": "not_",
    "NotEq": "ne",
    "LtE": "le",
    "GtE": "ge",
}


def _names(value: str) -> list[str]:
    """The names that an expression uses, in order."""
    bare = re.sub(r'"[^"]*"|\'[^\']*\'', "", value)
    return re.findall(r"(?<![\w.])([A-Za-z_]\w*)(?!\s*=[^=])", bare)


def tensors(annotation: str) -> tuple[TensorMeta, ...]:
    """Parse `bf16[8192, 3072][3072, 1]cuda:0`; anything else (`Sym(s0)`, several results) gives none."""
    found = _TENSOR.match(annotation.strip())
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


def is_library(file: str | None) -> bool:
    """Return whether a file is torch's own: a user looks for the line that called it."""
    return bool(file and _TORCH_FILE.search(file))
