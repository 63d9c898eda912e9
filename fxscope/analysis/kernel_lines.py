"""Which node a line of a generated kernel computes: the kernel's expressions held against the graph's.

Inductor writes no such link. What a kernel stores is a node of its call; from there the two expression trees are walked
together, and a line is tied to a node only where the operations agree all the way down from the store. A line that
agrees with nothing (index arithmetic) stays untied; Welford's algorithm is the variance of a kernel that has one. Works on
Triton and on Inductor's C++.
"""

from __future__ import annotations

import re
from math import isclose
from typing import TYPE_CHECKING, NamedTuple

from fxscope.op_names import op_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fxscope.model import KernelCall, Node

ASSIGNMENT = re.compile(r"^\s*(?:auto |float |double |bool |int64_t |int32_t |const auto )?(_?tmp\w+) = (.+?);?\s*$")
STORES = (
    re.compile(r"tl\.(?:store|atomic_add)\(.*?, (tmp\w+), "),
    re.compile(r"\b(tmp\w+)\.store\("),
    re.compile(r"_ptr\d+\[.*\] = (?:static_cast<\w+>\()?(tmp\w+)\)?;"),
    re.compile(r"atomic_add(?:_vec)?\(.*?, (tmp\w+)\)"),
)
BLOCK = re.compile(r"^\s*auto (tmp\w+) =$")  # what follows is a function of several lines, called at its end
GATHER = re.compile(r"\] = (?:static_cast<\w+>\()?\w*_ptr\d+\[")
VARIABLE = re.compile(r"\b_?tmp\w+")
BINARY = re.compile(r"^\(?\s*(tmp\w+|-?[\d.e+-]+)\s*(\*|\+|-|/|<=|>=|<|>|==|!=|&|\|)\s*(tmp\w+|-?[\d.e+-]+)\s*\)?$")
LOAD = re.compile(r"tl\.load\(|loadu\(|_ptr\d+\[|VecMask<[^>]*>::from\(\w+_ptr\d|Vectorized<\w+>::blendv\(.*loadu")
CONSTANT = re.compile(r"^(?:tl\.full\(\[.*?\], |static_cast<\w+>\()(-?[\d.e+-]+|True|False|float\(\S+\))")
# Changes of type or shape that no node stands for; a cast may stand for a `convert_element_type`.
PASS_THROUGH = re.compile(
    r"^(?:tl\.broadcast_to\((tmp\w+), .*\)|at::vec::VectorizedN?<.*?>\((tmp\w+)\)|"
    r"(?:float|double|int64_t|bool)\((tmp\w+)\)|"
    r"tl\.where\((?!tmp)\w+(?: & \w+)*, (tmp\w+), \S+\)|(tmp\w+)\[:, None\])$"
)
CAST = re.compile(
    r"^(?:(tmp\w+)\.to\(.*\)|(tmp\w+)\.(?:template )?(?:to|cast)<[^>]*>\(\)|"
    r"(?:c10|at::vec)::convert<.*?>\((tmp\w+)\)|static_cast<\w+>\((tmp\w+)\))$"
)
FUNCTION = re.compile(r"^(?:\w+(?:\.|::))*?(\w+)(?:<.*?>)?\((_?tmp\w+)(?:, .*)?\)(?:\[.*\])?(?:\.to\(.*\))?$")
# One more element of a reduction: in C++ of the variable itself (`acc = acc + tmp0`), in Triton of the `_tmp` of a loop.
ACCUMULATION = re.compile(
    r"^(?:(?P<first>_?tmp\w+) (?P<symbol>[+*]) |(?:\w+::)*(?:\w+\.)?(?P<name>\w+?)(?:_propagate_nan)?\((?P<of>_?tmp\w+), )"
    r"(?:(?P<item>tmp\w+)(?:, \S+)?\)?|at::vec::vec_reduce_all<.*, (?P<lanes>tmp\w+)\)+)$"
)
SELECTION = (
    re.compile(r"^(tmp\w+) \? (tmp\w+) : (tmp\w+)$"),
    re.compile(
        r"^decltype\(tmp\w+\)::blendv\((?P<no>tmp\w+), (?P<yes>tmp\w+), (?P<mask>tmp\w+)(?:\.template cast<[^>]*>\(\))?\)$"
    ),
)
# Welford's algorithm in Triton: means, sums of squares and weights. Inductor writes it for variances alone (torch 2.13:
# torch/_inductor/lowering.py, `var_mean_helper_`).
WELFORD = re.compile(r"\btriton_helpers\.welford|\btmp\d+_(?:mean|m2|weight)\b")
VARIANCES = frozenset({"var", "var_mean", "std", "std_mean"})
DIVISOR = re.compile(r"%?\w+, (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")  # arguments of a division by a number
FILLED = frozenset({"full", "scalar_tensor"})  # written as the number itself
REDUCTIONS = {"+": "sum", "*": "prod"}
METHOD = re.compile(r"^(tmp\w+)\.(\w+)\(.*\)$")
SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "le": "<=",
    "ge": ">=",
    "lt": "<",
    "gt": ">",
    "eq": "==",
    "ne": "!=",
    "bitwise_and": "&",
    "logical_and": "&",
    "bitwise_or": "|",
    "logical_or": "|",
}
SPELLINGS = {
    "relu": {"maximum", "relu", "clamp_min"},
    "amax": {"max2", "max", "maximum"},
    "amin": {"min2", "min", "minimum"},
    "neg": {"neg"},
    "fma": {"fma", "fmadd"},
    "clone": set[str](),
}
FUNCTIONS = frozenset(
    {
        "exp",
        "tanh",
        "erf",
        "rsqrt",
        "sqrt",
        "log",
        "sin",
        "cos",
        "abs",
        "sum",
        "where",
        "maximum",
        "minimum",
        "floor",
        "ceil",
        "exp2",
        "log1p",
        "expm1",
        *SPELLINGS,
    }
)
WRITTEN = FUNCTIONS.union(*SPELLINGS.values())
COMMUTATIVE = frozenset("+*&|") | {"==", "!="}
TRANSPARENT = frozenset(
    {
        "view",
        "reshape",
        "_unsafe_view",
        "permute",
        "t",
        "transpose",
        "unsqueeze",
        "squeeze",
        "expand",
        "slice",
        "select",
        "alias",
        "detach",
        "clone",
        "contiguous",
        "getitem",
        "_to_copy",
    }
)


MOST_LINES = 100  # of such a function
MOST_CHARACTERS = 1000  # of a line; longer ones are no expressions of Inductor's, and cost time by their cube


class Expression(NamedTuple):
    """What one line computes."""

    line: int
    kind: str  # "load", "constant", "pass", "cast", "op"
    op: str  # symbol or function name
    operands: tuple[str, ...]


def tie(
    lines: Sequence[str], call: KernelCall, nodes: Mapping[str, Node], also_stored: Sequence[str] = ()
) -> dict[int, str]:
    """Line (from 0) → the post-grad node that it computes.

    Args:
        lines: the kernel's definition.
        call: a call of it.
        nodes: of the call's graph.
        also_stored: nodes that the kernel keeps in memory for itself (origin nodes of its scheduler nodes).
    """
    lines = [line if len(line) <= MOST_CHARACTERS else "" for line in lines]
    program = read(lines)
    stored = stored_nodes(call, nodes)
    inner = [name for name in also_stored if name not in stored]
    tied: dict[int, str] = {}
    for position, variable in stores(lines):
        best, last = longest(Walk(program, nodes, set(call.nodes)).all_matches(variable, position, stored))
        if not best:
            found = Walk(program, nodes, set(call.nodes)).all_matches(variable, position, inner)
            # One agreeing line may be chance, unless it is a function of its own such as exp.
            best, last = longest(
                [
                    item
                    for item in found
                    if len(item) > 1 or any(op_name(nodes[n].target) in FUNCTIONS for n in item.values())
                ]
            )
        for line, name in best.items():
            tied.setdefault(line, name)
        if last in best:  # else several nodes agree alike, and it is not known which one is stored
            tied.setdefault(position, best[last])
    variances = [name for name in call.nodes if name in nodes and op_name(nodes[name].target) in VARIANCES]
    if len(variances) == 1:
        for position in (position for position, line in enumerate(lines) if WELFORD.search(line)):
            tied.setdefault(position, variances[0])
    return tied


def longest(found: list[dict[int, str]]) -> tuple[dict[int, str], int]:
    """The ties that agree in most lines, of several what all of them say; and the last line that one of them ties."""
    most = max(map(len, found), default=0)
    best = [item for item in found if len(item) == most]
    if not most:
        return {}, -1
    same = {line: name for line, name in best[0].items() if all(item.get(line) == name for item in best)}
    return same, max(map(max, best))


def read(lines: Sequence[str]) -> dict[str, list[Expression]]:
    """Variable → its definitions in order; the loops of a C++ function use the same names again."""
    found: dict[str, list[Expression]] = {}
    for position, line in enumerate(lines):
        match = ASSIGNMENT.match(line)
        if match:
            expression = accumulated(position, match[1], match[2].strip()) or parse(position, match[2].strip())
            found.setdefault(match[1], []).append(expression)
        elif block := BLOCK.match(line):
            inside = lines[position : position + MOST_LINES]
            ends = next((at for at, text in enumerate(inside) if text.strip() == ";"), 0)
            kind = "load" if any(map(GATHER.search, inside[:ends])) else "op"
            found.setdefault(block[1], []).append(Expression(position, kind, "?", ()))
    return found


def accumulated(line: int, variable: str, text: str) -> Expression | None:
    """What a loop adds to a reduction; `None` for any other right-hand side."""
    match = ACCUMULATION.match(text)
    if match is None or (match["first"] or match["of"]) != variable:
        in_triton = match is not None and (match["first"] or match["of"]).startswith("_") and match["item"]
        return Expression(line, "pass", "", (match["item"],)) if match and in_triton else None
    if match["lanes"]:
        return Expression(line, "pass", "", (match["lanes"],))
    op = REDUCTIONS.get(match["symbol"], match["symbol"]) or match["name"].removesuffix("_masked_reduce")
    return Expression(line, "op", op, (match["item"],))


def parse(line: int, text: str) -> Expression:
    """Read one right-hand side."""
    if LOAD.search(text):
        return Expression(line, "load", "", ())
    constant = CONSTANT.match(text)
    if constant:
        return Expression(line, "constant", constant[1], ())
    through = PASS_THROUGH.match(text)
    if through:
        return Expression(line, "pass", "", tuple(group for group in through.groups() if group))
    cast = CAST.match(text)
    if cast:
        return Expression(line, "cast", "", tuple(group for group in cast.groups() if group))
    inner = re.match(r"^(?:float|double|decltype\(\w+\)|at::vec::VecMask<[^>]*>)\((.*)\)$", text)
    binary = BINARY.match(inner[1] if inner else text)
    if binary:
        return Expression(line, "op", binary[2], (binary[1], binary[3]))
    for pattern in SELECTION:
        if chosen := pattern.match(text):
            mask, yes, no = (chosen["mask"], chosen["yes"], chosen["no"]) if pattern.groupindex else chosen.groups()
            return Expression(line, "op", "where", (mask, yes, no))
    root = re.match(r"^1 / std::sqrt\((tmp\w+)\)$", text)
    if root:
        return Expression(line, "op", "rsqrt", (root[1],))
    method = METHOD.match(text)
    if method:
        return Expression(line, "op", method[2], tuple(VARIABLE.findall(text)))
    function = FUNCTION.match(text)
    return Expression(line, "op", function[1] if function else "?", tuple(VARIABLE.findall(text)))


def stores(lines: Sequence[str]) -> list[tuple[int, str]]:
    """(line, variable) of each store to memory."""
    found: list[tuple[int, str]] = []
    for position, line in enumerate(lines):
        for pattern in STORES:
            match = pattern.search(line)
            if match:
                found.append((position, match[1]))
                break
    return found


def stored_nodes(call: KernelCall, nodes: Mapping[str, Node]) -> list[str]:
    """The nodes of a call whose outputs are used outside the kernel, latest first."""
    inside = set(call.nodes)
    used: set[str] = set()
    outside: set[str] = set()
    for node in nodes.values():
        (used if node.name in inside else outside).update(node.inputs)
    return [name for name in reversed(call.nodes) if name in outside or name not in used]


class Walk:
    """Walks a kernel's expressions and the graph's together."""

    def __init__(self, program: dict[str, list[Expression]], nodes: Mapping[str, Node], inside: set[str]) -> None:
        self.program = program
        self.nodes = nodes
        self.inside = inside
        self.steps: int = 0

    def all_matches(self, variable: str, before: int, names: Sequence[str]) -> list[dict[int, str]]:
        """What ties a stored variable to each of some nodes."""
        result: list[dict[int, str]] = []
        for name in names:
            found: dict[int, str] = {}
            self.steps = 0
            self.match(variable, before, name, found)
            result.append(found)
        return result

    def match(self, variable: str, before: int, name: str, found: dict[int, str]) -> bool:
        """Tie what defines a variable to a node, and so on downwards; False where the operations differ."""
        self.steps += 1
        if self.steps > 20_000:  # operands in every order, over and over: give up
            return False
        expression = self.definition(variable, before)
        node = self.nodes.get(name)
        if expression is None or node is None:
            return False
        op = op_name(node.target)
        if expression.kind == "pass":
            return self.match(expression.operands[0], expression.line, name, found)
        if expression.kind == "cast":
            if op == "convert_element_type" and name in self.inside:
                below = dict(found)
                if node.inputs and self.match(expression.operands[0], expression.line, node.inputs[0], below):
                    found.update(below)
                    found.setdefault(expression.line, name)
                    return True
            return self.match(expression.operands[0], expression.line, name, found)
        if op in TRANSPARENT or op == "convert_element_type":
            return bool(node.inputs) and self.match(variable, before, node.inputs[0], found)
        if expression.kind == "load":
            return True  # memory: what came before belongs to somebody else, or to an input
        if name not in self.inside:
            return False  # somebody else's result is loaded, not computed
        if expression.kind == "op" and not comparable(expression.op, op):
            return True  # one op of several lines, or one line of several ops: nothing is said of what lies below
        if expression.kind != "op" or not (agrees(expression.op, op) or self.is_reciprocal(expression, node)):
            return False
        return self.operands(expression, node, found)

    def is_reciprocal(self, expression: Expression, node: Node) -> bool:
        """Whether a line multiplies by 0.0625 where the node divides by 16."""
        numbers = [self.number(item, expression.line) for item in expression.operands]
        divisor = DIVISOR.fullmatch(node.arguments or "")
        if expression.op != "*" or op_name(node.target) != "div" or divisor is None:
            return False
        return any(isclose(number * float(divisor[1]), 1, rel_tol=1e-6) for number in numbers if number is not None)

    def accumulate(self, expression: Expression, name: str, found: dict[int, str]) -> None:
        """Tie what a loop adds to a `_tmp` that a reduction takes together to that reduction."""
        for item in expression.operands:
            line, variable = expression.line, item
            while item.startswith("_tmp") and (below := self.definition(variable, line)) and below.kind == "pass":
                found.setdefault(below.line, name)
                if variable != item:
                    break
                line, variable = below.line, below.operands[0]

    def operands(self, expression: Expression, node: Node, found: dict[int, str]) -> bool:
        """Match operands with inputs, in either order where the operation allows it."""
        variables = [item for item in expression.operands if not self.is_constant(item, expression.line)]
        inputs = list(node.inputs)
        if len(inputs) == 1 and len(variables) == 2:
            inputs *= 2  # mul(x, x) has its input once
        if len(variables) != len(inputs):
            filled = [name in self.nodes and op_name(self.nodes[name].target) in FILLED for name in inputs]
            numbers = [item not in variables for item in expression.operands]
            if expression.op == "where" and len(numbers) == len(filled) and numbers != filled:
                return False  # the other one of the two is chosen
            inputs = [name for name, number in zip(inputs, filled, strict=True) if not number]
        if len(variables) != len(inputs) and expression.op in {*SYMBOLS.values(), "where", *SPELLINGS["fma"]}:
            return False
        orders = [inputs]
        if expression.op in COMMUTATIVE and len(inputs) == 2:
            orders.append(inputs[::-1])
        for order in orders:
            below = dict(found)
            pairs = list(zip(variables, order, strict=False))
            if all(self.match(item, expression.line, name, below) for item, name in pairs):
                found.update(below)
                found.setdefault(expression.line, node.name)
                self.accumulate(expression, node.name, found)
                return True
        return False

    def definition(self, variable: str, before: int) -> Expression | None:
        """The last definition of a variable above a line."""
        found = [item for item in self.program.get(variable, ()) if item.line < before]
        return found[-1] if found else None

    def is_constant(self, variable: str, before: int) -> bool:
        return self.constant(variable, before) is not None

    def constant(self, variable: str, before: int) -> str | None:
        """The number that an operand is, as written; `None` where it is none."""
        if not VARIABLE.match(variable):
            return variable
        expression = self.definition(variable, before)
        while expression is not None and expression.kind in ("pass", "cast"):
            expression = self.definition(expression.operands[0], expression.line)
        return expression.op if expression is not None and expression.kind == "constant" else None

    def number(self, variable: str, before: int) -> float | None:
        """The value of such a number."""
        try:
            return float(self.constant(variable, before) or "")
        except ValueError:  # True, float("-inf")
            return None


def comparable(written: str, op: str) -> bool:
    """Whether both are operations that take one line, so that a difference means another node."""
    return (op in SYMBOLS or op in FUNCTIONS) and (written in SYMBOLS.values() or written in WRITTEN)


def agrees(written: str, op: str) -> bool:
    if op in SYMBOLS:
        return SYMBOLS[op] == written
    return written == op or written in SPELLINGS.get(op, ())
