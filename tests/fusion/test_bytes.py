"""The bytes of calls, held against the addresses that their loops touch: torch prints each loop body, and here it runs.

A body is executed on arrays that hold every point of its ranges, with the masks that it computes from indices. What it
loads and stores are sets of addresses; the bytes of a call are those of the union of its loops' sets.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from math import prod
from pathlib import Path

import numpy as np
import pytest

from fxscope.commands import common
from fxscope.model import Recording, replace
from fxscope.readers import schedule_text

HOME = Path(__file__).parents[1] / "data" / "h200"
CAPTURES = {
    "/".join(path.parent.relative_to(HOME).parts): path.parent
    for path in sorted(HOME.rglob("trace.json.gz"))
    if (path.parent / "inductor").is_dir()
}
WIDTH = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "bool": 1, "float64": 8, "uint8": 1}
MOST = 1 << 21  # points of a loop that are looked at one by one
BODY = re.compile(r"^class (op\d+)_loop_body:\n((?:    .*\n|\n)+)", re.M)


class Unknown:
    """A value that comes from memory."""


UNKNOWN = Unknown()


class Whole:
    """All addresses of a loop without overlap: a number, not a set; `key` tells two of them apart."""

    def __init__(self, count: int, key: str) -> None:
        self.count, self.key = count, key


class Loop:
    """One printed loop body, run; `reads` and `writes` hold buffer → the addresses touched, `None` where not known."""

    def __init__(self, text: str) -> None:
        self.reads: dict[str, list] = defaultdict(list)
        self.writes: dict[str, list] = defaultdict(list)
        self.mask = None
        self.indices = dict(re.findall(r"^    (index\d+) = (.*)$", text, re.M))
        ranges = re.search(r"^    var_ranges = \{(.*)\}$", text, re.M)
        self.ranges = {
            name: int(size) if size.isdigit() else None for name, size in re.findall(r"(\w+): ([^,}]+)", ranges[1])
        }
        self.small = all(self.ranges.values()) and prod(self.ranges.values()) <= MOST
        if self.small:
            grids = np.meshgrid(*(np.arange(size) for size in self.ranges.values()), indexing="ij", sparse=True)
            self.points = dict(zip(self.ranges, grids, strict=True))
        functions = re.split(r"^    def ", text, flags=re.M)[1:]
        scope: dict = {"torch": Names(), "inf": float("inf"), "nan": float("nan")}
        for function in functions:
            exec("def " + textwrap.dedent("    " + function).lstrip().replace("\n    ", "\n    "), scope)
        self.blocks = {name: value for name, value in scope.items() if callable(value) and name != "torch"}
        self.blocks["body"](self, self)

    # What a body calls on `self`
    def get_index(self, name: str):
        return self.indices[name]

    def __getattr__(self, name: str):
        if name.startswith("masked_subblock"):
            return lambda mask, other=None: self.masked(name, mask)
        if name.startswith("set_indirect"):
            return lambda value, *_, **__: None
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *values, **_: operation(name, values)

    def masked(self, name: str, mask) -> Unknown:
        before = self.mask
        if isinstance(mask, Unknown):
            mask = True  # of what comes from memory nothing is known: it may be true everywhere
        self.mask = mask if before is None else before & mask
        self.blocks[name](self, self)
        self.mask = before
        return UNKNOWN

    # What a body calls on `ops`
    def constant(self, value, *_):
        return value

    def index_expr(self, expression, *_):
        return self.value(self.indices.get(expression, expression))

    def load(self, name, index, *_):
        self.reads[name].append(self.touched(index))
        return UNKNOWN

    def load_seed(self, name, offset):
        self.reads[name].append(np.array([self.value(str(offset)) if isinstance(offset, str) else offset]))
        return UNKNOWN

    def store(self, name, index, *_, **__):
        self.writes[name].append(self.touched(index))

    store_reduction = store

    def reduction(self, *_):
        return Many()

    def value(self, expression: str):
        if not self.small or re.search(r"indirect|s\d|u\d|ks", expression):
            return UNKNOWN
        names = {"ModularIndexing": lambda x, by, size: x // by % size, "FloorDiv": lambda x, by: x // by}
        return eval(expression, {"__builtins__": {}}, names | self.points)

    def touched(self, expression: str):
        if re.search(r"indirect|s\d|u\d|ks", expression) or not all(self.ranges.values()):
            return None
        if self.mask is None or self.mask is True:
            found = affine(expression, self.ranges)
            if found is not None:
                return Whole(found, expression + str(sorted(self.ranges.items())))
        addresses = self.value(expression)
        if isinstance(addresses, Unknown):
            return None
        shape = tuple(self.ranges.values())
        addresses = np.broadcast_to(addresses, shape)
        if self.mask is None or self.mask is True:
            return distinct(addresses)
        if isinstance(self.mask, Unknown):
            return None
        return distinct(addresses[np.broadcast_to(self.mask, shape)])


def distinct(addresses) -> np.ndarray:
    flags = np.zeros(int(addresses.max()) + 1 if addresses.size else 0, bool)
    flags[addresses.ravel()] = True
    return np.flatnonzero(flags)


class Names:
    """`torch.float32` and the like."""

    def __getattr__(self, name: str) -> str:
        return name


class Many(Unknown):
    """The several results of a Welford reduction."""

    def __getitem__(self, _: int) -> Unknown:
        return UNKNOWN

    def __iter__(self):
        return iter([UNKNOWN] * 3)


def operation(name: str, values):
    """Compare and combine what is known from indices; nothing else bears on an address."""
    known = {
        "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
        "and_": np.logical_and, "logical_and": np.logical_and, "or_": np.logical_or, "logical_or": np.logical_or,
        "add": np.add, "sub": np.subtract, "mul": np.multiply,
    }  # fmt: skip
    if name in known and not any(isinstance(value, (Unknown, str)) for value in values):
        return known[name](*values)
    if name == "to_dtype" and not isinstance(values[0], Unknown):
        return values[0]
    return Many()


def affine(expression: str, ranges: dict[str, int]) -> int | None:
    """How many addresses a sum of multiples touches where no two points share one, `None` where that is not clear."""
    steps: dict[str, int] = {}
    for term in expression.replace(" ", "").split("+"):
        match = re.fullmatch(r"(?:(\d+)\*)?([pd]\d+)", term)
        if match is None:
            if term.isdigit():
                continue
            return None
        steps[match[2]] = steps.get(match[2], 0) + int(match[1] or 1)
    reach = 0
    for step, size in sorted((step, ranges[name]) for name, step in steps.items() if ranges[name] > 1):
        if step <= reach:
            return None
        reach += step * (size - 1)
    return prod(ranges[name] for name in steps)


def union(parts: list, numel: int) -> int | None:
    """The number of addresses in several sets, `None` where it is not clear."""
    if any(part is None for part in parts):
        return None
    if any(isinstance(part, Whole) and part.count == numel for part in parts):
        return numel
    whole = {part.key: part.count for part in parts if isinstance(part, Whole)}
    sets = [part for part in parts if not isinstance(part, Whole)]
    if len(whole) == 1 and not sets:
        return next(iter(whole.values()))
    if whole:
        return None
    return len(np.unique(np.concatenate(sets)))


def audit(recording: Recording, folder: Path) -> list[tuple[str, str, int, int | None]]:
    """(kernel, buffer, bytes said, bytes touched) of each access of each generated call; touched as far as it is clear."""
    found: list[tuple[str, str, int, int | None]] = []
    for path in sorted(folder.rglob("ir_post_fusion.txt")):
        text = path.read_text()
        loops = {name: Loop(body) for name, body in BODY.findall(text)}
        layouts = schedule_text.read_layouts(text)
        direction = re.search(r"_(inference|forward|backward)_", path.parent.name)[1]
        for call in recording.calls:
            if f":{direction}:" not in call.id or call.is_extern or not set(call.scheduler_nodes) <= set(loops):
                continue
            written = {name for node in call.scheduler_nodes for name in loops[node].writes}
            for accesses, side in ((call.reads, "reads"), (call.writes, "writes")):
                for access in accesses or ():
                    parts = [
                        part for node in call.scheduler_nodes for part in getattr(loops[node], side)[access.buffer]
                    ]
                    layout = layouts.get(access.buffer)
                    if access.bytes is None or (side == "reads" and access.buffer in written):
                        continue
                    known = parts and layout is not None and all(isinstance(size, int) for size in layout.shape)
                    count = union(parts, prod(layout.shape)) if known else None
                    touched = count * WIDTH[layout.dtype] if count is not None else None
                    found.append((call.kernel, access.buffer, access.bytes, touched))
    return found


@pytest.mark.parametrize("name", CAPTURES)
def test_the_bytes_of_a_call_are_the_addresses_that_it_touches(name: str) -> None:
    rows = audit(common.read(str(CAPTURES[name])), CAPTURES[name])
    assert [row for row in rows if row[3] is not None and row[2] != row[3]] == []


def test_a_wrong_count_is_found() -> None:
    folder = CAPTURES["plans/softmax/real"]
    recording = common.read(str(folder))
    assert [said == touched for *_, said, touched in audit(recording, folder)] == [True, True]
    calls = tuple(
        replace(call, reads=tuple(replace(access, bytes=(access.bytes or 0) * 2) for access in call.reads or ()))
        for call in recording.calls
    )
    assert [said == touched for *_, said, touched in audit(replace(recording, calls=calls), folder)] == [False, True]


PADDED = """
    var_ranges = {p0: 4, p1: 10}
    index0 = p1
    index1 = 8*p0 + p1 - 1
    index2 = 10*p0 + p1
    def body(self, ops):
        index_expr = ops.index_expr(self.get_index('index0'), torch.int64)
        ge = ops.ge(index_expr, 1)
        lt = ops.lt(index_expr, 9)
        and_ = ops.and_(ge, lt)
        masked_subblock1 = self.masked_subblock1(and_, 0.0)
        store = ops.store('buf0', self.get_index('index2'), masked_subblock1, None)
        return store
    def masked_subblock1(self, ops):
        load = ops.load('arg0_1', self.get_index('index1'))
        return load
"""


def test_masks_count() -> None:
    loop = Loop(PADDED)
    assert union(loop.reads["arg0_1"], 32) == 32 and union(loop.writes["buf0"], 40) == 40
    half = Loop(PADDED.replace("1)\n        lt", "5)\n        lt"))
    assert union(half.reads["arg0_1"], 32) == 16
