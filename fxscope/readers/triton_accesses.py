"""Accesses of Triton code: each `tl.load`, `tl.store` and atomic as a `MemoryDep`, and whether that is certain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import ceil, gcd, prod
from typing import TYPE_CHECKING, NamedTuple

from fxscope.dtypes import ITEM_BYTES
from fxscope.index import grouped
from fxscope.model import BufferAccess, MemoryDep
from fxscope.passes.flops import numbers
from fxscope.passes.footprint import addresses, footprint

if TYPE_CHECKING:
    from fxscope.readers.output_code import Call, Kernel

# Bounds keep a hostile text linear: no index is so long, no number of so many digits.
_NUMEL = re.compile(r"^[ \t]+(\w{0,20}numel) = (\d{1,18})$", re.MULTILINE)
_MEMORY = re.compile(r"tl\.(load|store|atomic_\w{1,20})\((\w{1,80}) \+ \(")
_LONGEST_INDEX = 1000
_VARIABLE = re.compile(r"^[ \t]+([xyzr]\d{0,4}(?:_\d{1,4})?) = (.{1,400})$", re.MULTILINE)
_NAME = re.compile(r"\b[xyzr]\d{0,4}(?:_\d{1,4})?\b")
# A variable as a digit of an index: `xindex`, `(xindex % 64)`, `xindex // 64`, `((xindex // 64) % 8)`.
_DIGIT = re.compile(r"\(?\(?([xyzr]\d{0,4}(?:_)?)index(?: // (\d{1,18})\)?)?(?: % (\d{1,18})\))?")
# What follows the index of an access that is left out nowhere but beyond the end: `, xmask & ymask, other=0.0)`; and what
# such a mask stands for: a name of its own is not enough.
_MASK = r"(?:[xyz]|r(?:\d_)?)mask"
_PLAIN_MASK = re.compile(
    rf"\)|,(?: tmp\d+,)? (?:None|({_MASK}(?: & {_MASK})*))(?=\)|, (?:other|eviction_policy|cache_modifier|sem)=)"
)
_MASK_IS = re.compile(r"^[ \t]+(\w{0,20}mask) = (.{1,400})$", re.MULTILINE)
_BEYOND = re.compile(
    rf"({_MASK}) = (?:(\w+)index < (\w+)numel|tl\.full\(\[[^\]]*\], True, tl\.int1\)(?:\[[:, None]*\])?)"
)
# Factor, variable and divisor: `128*((x0 // 4))`. A sum that is divided is the same for most threads beside each other.
_DIVIDED_SUM = re.compile(r"\([^()]* \+ [^()]*\) // \d+")
_TERM = re.compile(r"(?:(\d{1,9})\*)?\(*([xyzr]\d{0,4}(?:_\d{1,4})?)\b\)*(?: // (\d{1,9}))?")
_WARP, SECTOR = 32, 32  # threads, bytes
# What a statement assigns and reads; a reduction's result is the same along the reduced dimension.
_ASSIGNMENT = re.compile(r"^[ \t]+(_?tmp\w*(?:, _?tmp\w*)*),? = (.*)$", re.MULTILINE)
_TEMPORARY = re.compile(r"\b_?tmp\w*")
_REDUCES = re.compile(r"tl\.sum\(|triton_helpers\.(?:m\w+2|any|prod|welford|m\w+_with_index|online_softmax_reduce)\(")
_BROKEN_LINE = re.compile(r"(?<=[(,])\n\s+")
_POINTER = re.compile(r"\b\w{0,60}_ptr\w{0,20}\b")


class Digit(NamedTuple):
    """A loop variable as a digit of an index: `(xindex // 8) % 64`."""

    of: str
    divisor: int
    size: int


class TritonAccess(NamedTuple):
    pointer: str
    what: str  # "load", "store", "atomic_add", …
    expression: str  # of the index
    digits: dict[str, Digit]  # those of its variables that are known
    dep: MemoryDep | None  # `None` where its address is looked up
    certain: bool  # each place of `dep` is accessed
    masked: bool  # by more than the end of an index
    terms: tuple[tuple[str, str, str], ...]  # factor, variable, divisor
    looked_up_by: tuple[Digit, ...]  # the digits that the looked-up part of the index depends on; () if unknown


class TritonBody:
    """A Triton kernel's function as one call runs it.

    Attributes:
        sizes: of its index spaces, from the code, else from the call: xnumel → 4096.
        accesses: (argument, whether it is loaded) → its accesses.
    """

    def __init__(self, call: Call, kernel: Kernel) -> None:
        text = kernel.source[kernel.source.rfind("@triton.jit") :]
        self.text = re.sub(r"\+ (load_seed_offset\d*)\)", r"+ (\1))", text)  # the one place without brackets
        self.tensors = dict(zip(kernel.arguments, call.tensors, strict=False))
        given = zip(kernel.arguments, call.arguments, strict=False)
        self.sizes = {name: int(size) for name, size in given if name.endswith("numel") and size.isdigit()}
        self.sizes |= {name: int(size) for name, size in _NUMEL.findall(self.text)}
        self.accesses = grouped(accesses_of(self.text, self.sizes), lambda item: (item.pointer, item.what == "load"))


def accesses_of(body: str, sizes: Mapping[str, int]) -> Iterator[TritonAccess]:
    digits = digits_of(body, sizes)
    masks: dict[str, bool] = {}  # whether it leaves out no more than what is beyond the end
    for name, definition in _MASK_IS.findall(body):
        found = _BEYOND.fullmatch(f"{name} = {definition}")
        ours = found is not None and {found[2], found[3]} <= {None, name.removesuffix("mask")}
        masks[name] = ours and masks.get(name, True)
    every, origins = list(accesses(body)), origins_of(body)
    parameters = re.match(r"[^)]*\)", body.partition("def ")[2])
    # One that is used in another way is a block, or searched.
    plain = len(_POINTER.findall(body)) == len(every) + len(_POINTER.findall(parameters[0] if parameters else ""))
    for what, pointer, index, rest in every:
        names = dict.fromkeys(_NAME.findall(index))
        mask = _PLAIN_MASK.match(rest)
        whole = mask is not None and all(map(masks.get, mask[1].split(" & ") if mask[1] else ()))
        known = {name: digits[name] for name in names if name in digits}
        dep = None
        if "tmp" not in index and len(known) == len(names):
            dep = MemoryDep(index=index, ranges=tuple((name, digit.size) for name, digit in known.items()))
        certain = plain and whole and are_apart([*known.values()])
        terms = tuple(_TERM.findall(_DIVIDED_SUM.sub("", index)))
        of_temporaries = depends_on(" ".join(_TEMPORARY.findall(index)), origins)
        looked_up_by = tuple(digits[name] for name in sorted(of_temporaries) if of_temporaries <= digits.keys())
        yield TritonAccess(pointer, what, index, known, dep, certain, not whole, terms, looked_up_by)


def origins_of(body: str) -> dict[str, set[str]]:
    """Return temporary → the index variables that its value depends on, through loads and arithmetic."""
    found: dict[str, set[str]] = {}
    for names, expression in _ASSIGNMENT.findall(_BROKEN_LINE.sub("", body)):
        used = depends_on(expression, found)
        if _REDUCES.search(expression):
            used = {name for name in used if name[0] != "r"}
        for name in names.split(", "):
            found.setdefault(name, set()).update(used)
    return found


def depends_on(expression: str, origins: Mapping[str, set[str]]) -> set[str]:
    """Return the index variables that an expression names, or its temporaries depend on."""
    return {*_NAME.findall(expression)}.union(*(origins.get(name, ()) for name in _TEMPORARY.findall(expression)))


def digits_of(body: str, sizes: Mapping[str, int]) -> dict[str, Digit]:
    """The index variables that are digits; each loop over a reduced dimension says its variables again."""
    found: dict[str, set[Digit | None]] = {}
    for name, definition in _VARIABLE.findall(body):
        match = _DIGIT.fullmatch(definition)
        whole = sizes.get(f"{match[1]}numel", 0) if match else 0
        divisor = int(match[2] or 1) if match else 0
        size = int(match[3] or whole // (divisor or 1)) if match else 0
        fits = bool(divisor * size and whole and whole % (divisor * size) == 0)
        found.setdefault(name, set()).add(Digit(match[1], divisor, size) if match and fits else None)
    return {name: digit for name, each in found.items() if len(each) == 1 and (digit := next(iter(each))) is not None}


def are_apart(digits: list[Digit]) -> bool:
    """Return whether digits are of different indices or do not overlap: each combination of their values occurs."""
    for each in grouped(digits, lambda digit: digit.of).values():
        spans = sorted((digit.divisor, digit.divisor * digit.size) for digit in each)
        if any(end > begin for (_, end), (begin, _) in pairwise(spans)):
            return False
    return True


def requests_of(access: TritonAccess, spaces: Mapping[str, int], item: int, size: int) -> tuple[int, float, float]:
    """Return the number of elements, of loads or stores of up to 16 bytes, and of sectors that warps ask for.

    Args:
        spaces: index → size; item: bytes of an element; size: of the tensor in elements, 0 where it is not known.
    """
    names = {digit.of for digit in (*access.digits.values(), *access.looked_up_by)}
    if access.dep is None:  # also along what it is broadcast to; along all, if nothing says by what it is looked up
        names |= {name for name in spaces if not access.looked_up_by or f"{name.upper()}BLOCK" in access.expression}
    known = access.digits
    terms = [(known[name], int(by or 1), int(over or 1)) for by, name, over in access.terms if name in known]
    best = (1.0, 1.0)
    for name in names:  # along which a warp's threads may lie
        mine = sorted((digit.divisor, by / over, digit.size) for digit, by, over in terms if digit.of == name)
        divisor, step, run = mine[0] if mine else (_WARP, 0.0, 1)
        if divisor > 1:  # threads beside each other ask for the same place, unless each looks its own up
            apart = min((digit.divisor for digit in access.looked_up_by if digit.of == name), default=divisor)
            is_own = access.dep is None and (apart == 1 or not access.looked_up_by or access.what != "load")
            step, run = (SECTOR, 1) if is_own else (0.0, min(divisor, apart))
        run = min(run, _WARP)
        sectors = max(1, ceil(run * min(step * item, SECTOR) / SECTOR)) * _WARP / run
        sectors = min(sectors, ceil(size * item / SECTOR) or _WARP)
        width = gcd(16 // item or 1, *mine[0][2:], *(by for _, by, _ in terms if by > 1)) if step == 1 else 1
        best = min(best, (sectors / _WARP, 1 / width))
    count = prod(spaces.get(name, 1) for name in names)
    # What a mask leaves of a piece of a concatenation, or of an image within its edge, is each place once.
    made = min(count, size) if access.masked and access.dep is not None and size else count
    return count, made * best[1], made * best[0]


class Touched(NamedTuple):
    bytes: int | None  # at most, each once; `None` where a size is symbolic
    certain: bool  # that they are no fewer


def touched(call: Call, kernel: Kernel) -> dict[tuple[str, bool], Touched]:
    """(Argument, whether it is loaded) → the bytes that a kernel touches. An atomic reads what it writes."""
    body = TritonBody(call, kernel)
    spaces = {name for name in kernel.arguments if name.endswith("numel")}
    iterations = prod(body.sizes.values()) if spaces <= body.sizes.keys() else None
    result: dict[tuple[str, bool], Touched] = {}
    for (pointer, loaded), mine in body.accesses.items():
        if pointer == "ws_ptr":  # a workspace has the size that the programs of a grid need
            continue
        size = numel(body.tensors.get(pointer))
        deps = [access.dep for access in mine if access.dep is not None]
        is_certain = all(access.dep is not None and access.certain for access in mine)
        count = addresses(deps) if is_certain else None
        if is_certain and size in map(addresses, ([dep] for dep in deps)):
            count = size
        bounds = (size, footprint(deps) if len(deps) == len(mine) else iterations) if count is None else (count,)
        most = min((bound for bound in bounds if bound is not None), default=None)
        item = ITEM_BYTES.get(kernel.signature.get(pointer, ""))
        result[pointer, loaded] = Touched(None if most is None or item is None else most * item, count is not None)
        if any(access.what.startswith("atomic") for access in mine):
            result[pointer, False] = result[pointer, True] = result[pointer, loaded]._replace(certain=False)
    return result


def accesses(body: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield ("load", "store" or "atomic_…", pointer, index, what follows in the line) of each access: "x0 + 64*((x1 % 4))"."""
    for found in _MEMORY.finditer(body):
        depth = 1
        for at in range(found.end(), min(found.end() + _LONGEST_INDEX, len(body))):
            depth += {"(": 1, ")": -1}.get(body[at], 0)
            if depth == 0:
                yield found[1], found[2], body[found.end() : at], body[at + 1 : at + _LONGEST_INDEX].partition("\n")[0]
                break


def numel(access: BufferAccess | None) -> int | None:
    return numbers(*access.shape) if access is not None and access.shape is not None else None
