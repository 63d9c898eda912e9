"""The addresses that a Triton kernel touches: the kernel as Inductor wrote it runs on arrays of indices, without memory.

What a kernel computes from its program id and ranges is known, and what it loads is not. Every point of the ranges runs,
in as few programs as fit; loads and stores, with their masks, leave their addresses behind.
"""

from __future__ import annotations

import ast
import itertools
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fxscope.dtypes import ITEM_BYTES
from fxscope.readers import output_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fxscope.model import Recording

MOST = 1 << 22  # points of one program
ALL = 1 << 29  # points of one kernel that are looked at


class UncountableError(Exception):
    """The kernel does something whose addresses are not computed here."""


class Loaded:
    """A value that comes from memory, or is computed from one."""

    __array_ufunc__ = None

    def _same(self, *_: Any, **__: Any) -> Loaded:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = __neg__ = __invert__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __getitem__ = __call__ = _same  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Loaded:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


LOADED = Loaded()


class Pointer:
    def __init__(self, name: str, index: Any = 0) -> None:
        self.name, self.index = name, index

    def __add__(self, index: Any) -> Pointer:
        return Pointer(self.name, self.index + index)


class Touched:
    """Per pointer which of its addresses were read and written; `None` where one depends on what was loaded."""

    def __init__(self) -> None:
        self.reads: dict[str, np.ndarray | None] = {}
        self.writes: dict[str, np.ndarray | None] = {}

    def mark(self, side: dict[str, np.ndarray | None], pointer: Pointer, mask: Any) -> None:
        before = side.get(pointer.name, np.zeros(0, bool))
        if before is None or isinstance(pointer.index, Loaded):
            side[pointer.name] = None
            return
        index = np.asarray(pointer.index)
        if mask is not None and not isinstance(mask, Loaded):  # a mask that is loaded may be true anywhere
            index, mask = np.broadcast_arrays(index, mask)
            index = index[mask]
        if not index.size:
            return
        if index.min() < 0:
            raise UncountableError(f"{pointer.name}: address {index.min()}")
        if len(before) <= index.max():
            before = np.concatenate([before, np.zeros(int(index.max()) + 1 - len(before), bool)])
        known = self.writes.get(pointer.name) if side is self.reads else None
        if known is not None:  # what this kernel itself has written does not come from elsewhere
            index = index[~np.isin(index, np.flatnonzero(known))]
        before[index.ravel()] = True
        side[pointer.name] = before


class Language:
    """`tl`, `triton_helpers`, `libdevice` and `tl_math`: what bears on indices is computed."""

    def __init__(self, touched: Touched) -> None:
        self.touched = touched
        self.position = 0, 0, 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("int", "uint")):
            return np.int64
        if name.startswith(("float", "bfloat")):
            return np.float32
        if name in ("maximum", "minimum", "floor", "ceil", "trunc", "rint", "abs", "sqrt", "exp", "log", "pow"):
            return lambda *values, **_: known(getattr(np, {"pow": "power"}.get(name, name)), *values)
        return lambda *_, **__: LOADED

    int1 = np.bool_
    nearbyint = staticmethod(lambda value: known(np.rint, value))
    div_floor_integer = staticmethod(lambda a, b: known(np.floor_divide, a, b))
    remainder_integer = staticmethod(lambda a, b: known(np.mod, a, b))
    where = staticmethod(lambda condition, a, b: known(np.where, condition, a, b))
    constexpr = staticmethod(lambda value: value)

    def program_id(self, axis: int) -> int:
        return self.position[axis]

    def num_programs(self, _: int) -> int:
        return 1  # asked for where the second axis goes on in the third, which it never needs to here

    def arange(self, first: int, last: int) -> np.ndarray:
        return np.arange(first, last)

    def range(self, *bounds: int, **_: Any) -> range:
        return range(*bounds)

    static_range = range

    def full(self, shape: Sequence[int], value: Any, _: Any = None) -> Any:
        if isinstance(value, Loaded) or isinstance(shape, Loaded):  # the shape of what was loaded is not known
            return LOADED
        return np.full([1] * len(shape), value)

    def broadcast_to(self, value: Any, *_: Any) -> Any:
        return value  # numpy broadcasts by itself

    def load(self, pointer: Pointer, mask: Any = None, **_: Any) -> Loaded:
        self.touched.mark(self.touched.reads, pointer, mask)
        return LOADED

    def store(self, pointer: Pointer, _: Any, mask: Any = None, **__: Any) -> None:
        self.touched.mark(self.touched.writes, pointer, mask)

    def atomic_add(self, pointer: Pointer, _: Any, mask: Any = None, **__: Any) -> Loaded:
        self.load(pointer, mask)
        self.store(pointer, None, mask)
        return LOADED


def known(function: Any, *values: Any) -> Any:
    return LOADED if any(isinstance(value, Loaded) for value in values) else function(*values)


def quotient(a: Any, b: Any) -> Any:
    """`//` as on the device: towards zero."""
    return known(lambda a, b: np.sign(a) * (np.abs(a) // b), a, b)


def remainder(a: Any, b: Any) -> Any:
    return known(np.fmod, a, b)


def converted(value: Any, dtype: Any = None, **_: Any) -> Any:
    return known(lambda value: np.asarray(value).astype(dtype), value)


class Numpys(ast.NodeTransformer):
    """Triton's text as numpy runs it."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        function = {ast.FloorDiv: "quotient", ast.Mod: "remainder"}.get(type(node.op))
        return called(function, node.left, node.right) if function else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else None
        if method == "broadcast_to" and ast.unparse(node.func) != "tl.broadcast_to":
            return node.func.value
        if method == "to":
            return ast.Call(ast.Name("converted", ast.Load()), [node.func.value, *node.args], node.keywords)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Call):  # the results of a Welford step
            node.value = called("several", node.value, ast.Constant(len(node.targets[0].elts)))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        return ast.Assign([node.target], self.visit(node.value))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = []
        for argument in node.args.args:
            argument.annotation = None
        return self.generic_visit(node)


def called(name: str, *values: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(values), [])


def part(size: int, most: int) -> int:
    """At most so much of a range; a divisor, since a kernel has no mask where every block that is tried divides it."""
    programs = -(-size // max(most, 1))
    return size // next((number for number in range(programs, programs + 1024) if size % number == 0), programs) or 1


def touched(source: str, numbers: Mapping[str, int]) -> Touched:
    """Run a kernel; `numbers` are its arguments that are no pointers, such as `xnumel`, as far as they are known.

    Raises:
        UncountableError: it needs what is not known here: a size, a grid of its own kind, too many points.
    """
    functions = [item for item in ast.parse(source).body if isinstance(item, ast.FunctionDef)]
    kernel = functions[-1]
    fixed = {}  # `xnumel = 4096`, `XBLOCK: tl.constexpr = 1`
    for item in kernel.body:
        target = item.targets[0] if isinstance(item, ast.Assign) else getattr(item, "target", None)
        if isinstance(target, ast.Name) and isinstance(value := getattr(item, "value", None), ast.Constant):
            fixed[target.id] = value.value
    wanted = [argument.arg for argument in kernel.args.args]
    sizes = {**numbers, **fixed}
    ranges = [name for name in wanted if name.endswith("numel")]
    blocks = [name for name in wanted if name.endswith("BLOCK")]
    pointers = [name for name in wanted if "_ptr" in name]
    if unknown := [name for name in wanted if name not in (*sizes, *blocks, *pointers)]:
        raise UncountableError(f"{unknown[0]} is not known")
    if prod(sizes[name] for name in ranges) > ALL:
        raise UncountableError("too many points")
    rest = MOST  # the innermost dimensions whole, of the others as much as fits
    for name in sorted(ranges, key=lambda name: (name[0] != "r", name)):
        block = name.replace("_numel", "_").replace("numel", "").upper() + "BLOCK"
        sizes[block] = fixed.get(block) or part(sizes[name], rest)
        rest //= sizes[block]
    programs = {
        axis: -(-sizes[f"{axis}numel"] // sizes[f"{axis.upper()}BLOCK"]) for axis in "xyz" if f"{axis}numel" in sizes
    }
    grid = [range(programs.get(axis, 1)) for axis in "xyz"]
    module = ast.fix_missing_locations(Numpys().visit(ast.Module(functions, [])))
    result = Touched()
    language = Language(result)
    scope: dict[str, Any] = dict.fromkeys(("tl", "triton_helpers", "libdevice", "tl_math"), language)
    scope |= {"quotient": quotient, "remainder": remainder, "converted": converted}
    scope["several"] = lambda value, count: (value,) * count
    exec(compile(module, kernel.name, "exec"), scope)
    arguments = {name: Pointer(name) if name in pointers else sizes[name] for name in wanted}
    for language.position in itertools.product(*grid):
        scope[kernel.name](**arguments)
    return result


class Row(NamedTuple):
    """The bytes of one buffer that a call reads or writes: as recorded, and as touched (`None`: not known from the code)."""

    call: str
    buffer: str
    side: str
    said: int | None
    touched: int | None


def audit(recording: Recording) -> tuple[list[Row], dict[str, str]]:
    """Each access of each kernel that Inductor wrote in Triton; and, by the call, why one was not counted at all."""
    codes = {
        source.id.removesuffix(":output_code"): output_code.parse(source.text)
        for source in recording.sources
        if source.id.endswith(":output_code")
    }
    rows: list[Row] = []
    uncounted: dict[str, str] = {}
    done: dict[tuple[str, tuple], Touched] = {}
    for item in recording.calls:
        graph, _, number = item.id.rpartition(":")
        if not (item.is_generated and item.type.startswith("triton") and graph in codes):
            continue
        code = codes[graph]
        call = code.calls[int(number) - 1]
        kernel = code.kernels[call.kernel]
        passed = dict(zip(kernel.arguments, call.arguments, strict=False))
        numbers = {name: int(value) for name, value in passed.items() if "_ptr" not in name and value.isdigit()}
        key = kernel.source, tuple(numbers.items())
        try:
            found = done[key] = done.get(key) or touched(kernel.source, numbers)
        except UncountableError as reason:
            uncounted[f"{item.id} {item.kernel}"] = str(reason)
            continue
        memory = dict(zip(kernel.arguments, (access and access.buffer for access in call.tensors), strict=False))
        for side in ("reads", "writes"):
            said: dict[str, int | None] = {}
            for access in getattr(item, side) or ():
                add(said, code.memory.get(access.buffer, access.buffer), access.bytes)
            counts: dict[str, int | None] = {}
            for pointer, flags in getattr(found, side).items():
                size = None if flags is None else int(flags.sum()) * ITEM_BYTES[kernel.signature[pointer]]
                if size != 0:
                    buffer = memory[pointer] or pointer
                    add(counts, code.memory.get(buffer, buffer), size)
            rows += [
                Row(f"{item.id} {item.kernel}", name, side, said.get(name, 0), counts.get(name, 0))
                for name in {**said, **counts}
            ]
    return rows, uncounted


def add(sums: dict[str, int | None], name: str, size: int | None) -> None:
    before = sums.get(name, 0)
    sums[name] = None if size is None or before is None else before + size
