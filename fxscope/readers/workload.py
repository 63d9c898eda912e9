"""What a kernel call has to do, from the generated code alone: sizes, traffic, operations.

A call planned without the GPU and the same call recorded on one have the same workload: it holds nothing that only a
device shows. Sizes that the code leaves open (dynamic shapes) give no workload.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from math import log2, prod
from typing import TYPE_CHECKING

from fxscope.dtypes import ITEM_BYTES, read_sizes
from fxscope.model import Workload, replace
from fxscope.passes.flops import may_be_causal, of_attention, pixels
from fxscope.passes.predicted import of_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fxscope.model import BufferAccess
    from fxscope.readers.output_code import Call, Kernel

# Bounds keep a hostile text linear: no index is so long, no number of so many digits.
_NUMEL = re.compile(r"^[ \t]+(\w{0,20}numel) = (\d{1,18})$", re.MULTILINE)
_MEMORY = re.compile(r"tl\.(load|store|atomic_\w{1,20})\((\w{1,80}) \+ \(")
_LONGEST_INDEX = 1000
# Of Inductor's GEMM templates (torch/_inductor/kernel/mm.py and bmm.py, 2.11 to 2.15), each on a line of its own.
_OF_TEMPLATE = ("M", "N", "K", "BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
_CONSTANT = re.compile(rf"^[ ]*({'|'.join(_OF_TEMPLATE)})(?: : tl\.constexpr)? ?= ?(\d{{1,9}}),?$", re.MULTILINE)
_VARIABLE = re.compile(r"^[ \t]+([xyr]\d{0,4}(?:_\d{1,4})?) = (.{1,400})$", re.MULTILINE)
# A variable as a digit of an index: `xindex`, `(xindex % 64)`, `xindex // 64`, `((xindex // 64) % 8)`.
_DIGIT = re.compile(r"\(?\(?([xyzr]\d{0,4}(?:_)?)index(?: // (\d{1,18})\)?)?(?: % (\d{1,18})\))?")
_TERM = re.compile(r"(?:(\d{1,18})\*)?([xyr]\d{0,4}(?:_\d{1,4})?)|\d{1,18}")
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
_POINTER = re.compile(r"\b\w{0,60}_ptr\w{0,20}\b")
_STATEMENT = re.compile(r"^[ \t]+tmp\d+ = (?!tl\.(?:load|full|broadcast_to))", re.MULTILINE)
_LOOP = re.compile(r"for r\d_offset in ")
_SLOW = re.compile(r"(?:tl_math|libdevice)\.(?:exp|exp2|log|log1p|log2|tanh|expm1)\(|tl\.(?:sigmoid|exp|log)\(")
_SLOWEST = re.compile(
    r"libdevice\.(?:erf\w*|pow)\(|tl\.rand\w*\(|\b(?:tl_math|libdevice|tl)\.(?:sin|cos)\(|sort_with_index\("
)
_REDUCED = re.compile(r"(?:tl\.sum|triton_helpers\.(?:max2|min2|any|prod|welford))\(|tl\.associative_scan\(")
_ATTENTION = re.compile(r"_scaled_dot_product_(\w+?)_attention(_backward)?\b")


def workloads(calls: Sequence[Call], kernels: Mapping[str, Kernel], memory: Mapping[str, str]) -> list[Workload | None]:
    """What each call of a wrapper does, `None` where the code does not say.

    Args:
        calls: in the order of execution.
        kernels: the wrapper's Triton kernels.
        memory: buffer → the first one in the memory that it reuses.
    """
    each = [workload(call, kernels.get(call.kernel)) for call in calls]
    # A program's inputs have no dtype in the wrapper: that of most others, where it is a library's call of them alone.
    common = Counter(done.dtype for done, _ in each if done and done.dtype and done.m).most_common(1)
    last: dict[str, int] = {}
    clock = 0
    found: list[Workload | None] = []
    for turn in range(2):  # what a step does not write was touched last in the step before
        for (done, reads), call in zip(each, calls, strict=True):
            if done is not None and done.m and done.dtype is None and common:
                done = of_dtype(done, common[0][0])
            total = done.num_bytes if done is not None else sum(reads.values())
            shares: dict[float, float] = defaultdict(float)
            for name, size in reads.items():
                # Each part of it: from when it was touched to when this call comes to it.
                since = clock - last.get(memory.get(name, name), clock) + (size + total) / 2
                shares[_rounded(since)] += size / max(1, total, sum(reads.values()))
            clock += total
            last.update((memory.get(access.buffer, access.buffer), clock) for access in (*call.reads, *call.writes))
            if turn:
                reuse = tuple((distance, round(share, 2)) for distance, share in sorted(shares.items()))
                found.append(replace(done, reuse=reuse) if done is not None else None)
    return found


def _rounded(num_bytes: float) -> float:
    """MB as a power of the root of 2, so that like calls have one workload."""
    return float(f"{2 ** (round(2 * log2(max(num_bytes / 1e6, 0.5))) / 2):.2g}")


def workload(call: Call, kernel: Kernel | None) -> tuple[Workload | None, dict[str, int]]:
    """What one call does, `None` where the code does not say, and the bytes of each buffer that it reads."""
    if call.type == "cpp" or (call.device or "").startswith("cpu"):
        return None, {}
    if call.type in ("user_triton", "triton_foreach"):
        return _other(call), {}
    if kernel is not None and call.type != "triton_template":
        return _triton(call, kernel)
    read = {access.buffer for access in call.reads}
    reads = {
        access.buffer: size * ITEM_BYTES.get(access.dtype or "", 2)
        for access in call.tensors
        if access is not None and access.buffer in read and (size := numel(access)) is not None
    }
    return _template(call, kernel) if kernel is not None else _library(call), reads


def _template(call: Call, kernel: Kernel) -> Workload | None:
    """The product that a GEMM template makes; `None` of other templates, and where sizes are symbolic."""
    found = dict(_CONSTANT.findall(kernel.source))
    try:
        m, n, k, rows, columns, depth, warps, stages = (int(found[name]) for name in _OF_TEMPLATE)
    except KeyError:
        return None
    grid = call.arguments[len(kernel.arguments) :]
    batch = int(grid[1]) if len(grid) > 1 and grid[1].isdigit() else 1
    dtype = kernel.signature.get("arg_A")
    tile = f"{rows}x{columns}x{depth} w{warps} s{stages}"
    work = product(m, k, n, dtype, batch=batch, tile=tile)
    extra = sum(numel(access) or 0 for access in call.tensors) * ITEM_BYTES.get(dtype or "", 2)  # of an epilogue too
    return replace(work, num_bytes=max(work.num_bytes, extra))


def _library(call: Call) -> Workload | None:
    name = call.kernel
    if name in ("extern_kernels.mm", "extern_kernels.addmm", "extern_kernels.bmm", "extern_kernels.baddbmm"):
        return _gemm(call)
    if name == "extern_kernels._grouped_mm":
        return _grouped(call)
    if name == "extern_kernels.convolution":
        return _convolution(call)
    if name.startswith("torch.ops.aten.convolution_backward"):
        return _convolution_backward(call)
    if (found := _ATTENTION.search(name)) is not None:
        return _attention(call, found[1], backward=bool(found[2]))
    return _other(call)


# ---------------------------------------------------------------------- Triton


def _triton(call: Call, kernel: Kernel) -> tuple[Workload | None, dict[str, int]]:
    body = kernel.source[kernel.source.rfind("@triton.jit") :]
    sizes = {name: int(value) for name, value in _NUMEL.findall(body)}
    for name, argument in zip(kernel.arguments, call.arguments, strict=False):
        if name.endswith("numel") and name not in sizes and argument.isdigit():
            sizes[name] = int(argument)
    wanted = {name for name in kernel.arguments if name.endswith("numel")}
    if not wanted or wanted - set(sizes):
        return None, {}
    outer = prod(value for name, value in sizes.items() if name in wanted and name[0] in "xyz")
    inner = prod(value for name, value in sizes.items() if name in wanted and name.startswith("r"))
    elements = outer * inner
    is_reduction = kernel.type != "triton_pointwise"
    gathers = 0
    tensors = dict(zip(kernel.arguments, call.tensors, strict=False))
    moved: dict[tuple[str, str], int] = {}
    ranges = variable_ranges(body, sizes, outer, inner)
    for what, pointer, index, _ in accesses(body):
        access = tensors.get(pointer)
        item = ITEM_BYTES.get(kernel.signature.get(pointer, ""), 4)
        size = numel(access) if access is not None else None
        reach = elements if "tmp" in index else min(elements, reach_of(index, ranges))
        count = min(reach, size) if size else reach
        key = (pointer, "load" if what == "load" else "store")
        moved[key] = max(moved.get(key, 0), count * item)
        gathers += "tmp" in index and what == "load"
    num_bytes = sum(moved.values())
    reads: dict[str, int] = defaultdict(int)
    for (pointer, what), size in moved.items():
        if what == "load" and (access := tensors.get(pointer)) is not None:
            reads[access.buffer] += size
    hint = re.search(r"ReductionHint\.(\w+)", kernel.meta.get("reduction_hint", ""))
    work = Workload(
        family="reduction" if is_reduction else "pointwise",
        dtype=next((kernel.signature[name] for name in kernel.arguments if name in kernel.signature), None),
        num_bytes=num_bytes,
        outer=outer,
        inner=inner,
        elements=elements,
        loads=len(re.findall(r"tl\.load\(", body)),
        loops=len(_LOOP.findall(body)),
        statements=len(_STATEMENT.findall(body)),
        slow_ops=len(_SLOW.findall(body)),
        slowest_ops=len(_SLOWEST.findall(body)),
        reduced=len(_REDUCED.findall(body)),
        gathers=gathers,
        strided="ynumel" in sizes or (hint is not None and hint[1] == "OUTER"),
        atomic="tl.atomic_" in body,
    )
    return work, reads


def touched(call: Call, kernel: Kernel) -> dict[tuple[str, bool], int | None]:
    """(argument, whether it is loaded) → the bytes that a Triton kernel surely touches, each once.

    `None` where its code does not prove them: an index that is looked up, a computed mask, or several indices none of which
    goes through the whole tensor.
    """
    body = kernel.source[kernel.source.rfind("@triton.jit") :]
    numels = {name: int(value) for name, value in _NUMEL.findall(body)}
    for name, argument in zip(kernel.arguments, call.arguments, strict=False):
        if name.endswith("numel") and argument.isdigit():
            numels.setdefault(name, int(argument))
    digits: dict[str, tuple[str, int, int]] = {}  # variable → which index, what divides it, how many values it has
    for name, definition in _VARIABLE.findall(body):
        found = _DIGIT.fullmatch(definition)
        whole = numels.get(f"{found[1]}numel") if found else None
        divisor = int(found[2] or 1) if found else 1
        size = int(found[3] or (whole or 0) // (divisor or 1)) if found else 0
        digit = (found[1] if found else "", divisor, size)
        # Each loop over the reduced dimension says its variables again.
        if not whole or not divisor * size or whole % (divisor * size) or digits.setdefault(name, digit) != digit:
            return {}
    tensors = dict(zip(kernel.arguments, call.tensors, strict=False))
    indices: dict[tuple[str, bool], set[str]] = defaultdict(set)
    unproven: set[tuple[str, bool]] = set()
    every_access = list(accesses(body))
    masks: dict[str, bool] = {}  # whether it leaves out no more than what is beyond the end
    for name, definition in _MASK_IS.findall(body):
        found = _BEYOND.fullmatch(f"{name} = {definition}")
        ours = found is not None and {found[2], found[3]} <= {None, name.removesuffix("mask")}
        masks[name] = ours and masks.get(name, True)
    if len(_POINTER.findall(body)) != len(every_access) + sum(map(bool, map(_POINTER.fullmatch, kernel.arguments))):
        return {}  # one is used in another way: a block of it, a search in it
    for what, pointer, index, mask in every_access:
        keys = [(pointer, what == "load"), *([(pointer, True)] if what.startswith("atomic") else [])]
        for key in keys:
            indices[key].add(index)
            plain = _PLAIN_MASK.match(mask)
            whole = plain is not None and all(map(masks.get, plain[1].split(" & ") if plain[1] else ()))
            unproven |= {key} if what.startswith("atomic") or not whole else set()
    result: dict[tuple[str, bool], int | None] = {}
    for key, every in indices.items():
        item, size = ITEM_BYTES.get(kernel.signature.get(key[0], "")), numel(tensors.get(key[0]))
        counts = [_addresses(index, digits) for index in every]
        count = counts[0] if len(counts) == 1 else size if size is not None and size in counts else None
        result[key] = None if key in unproven or count is None or item is None else count * item
    return result


def _addresses(index: str, digits: Mapping[str, tuple[str, int, int]]) -> int | None:
    """How many addresses `x0 + 64*x1` goes through, each variable a digit of its own; `None` unless no two meet."""
    terms: list[tuple[int, int]] = []  # (stride, size)
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for term in index.rstrip(")").replace("(", "").split(" + "):
        found = _TERM.fullmatch(term.replace(")", "").strip())
        if found is None or (found[2] and found[2] not in digits):
            return None
        if found[2]:
            of, divisor, size = digits[found[2]]
            terms.append((int(found[1] or 1), size))
            spans[of].append((divisor, divisor * size))
    for ranges in spans.values():
        if any(end > begin for (_, end), (begin, _) in pairwise(sorted(ranges))):
            return None
    reached = 0
    for stride, size in sorted(terms):
        if stride <= reached and size > 1:
            return None
        reached += stride * (size - 1)
    return prod(size for _, size in terms)


def variable_ranges(body: str, sizes: dict[str, int], outer: int, inner: int) -> dict[str, int]:
    """How many values each index variable of a kernel takes: `x0 = (xindex % 64)` takes 64."""
    found: dict[str, int] = {}
    for name, definition in _VARIABLE.findall(body):
        whole = inner if name.startswith("r") else outer
        if "ynumel" in sizes and name[0] in "xy":
            whole = sizes.get(f"{name[0]}numel", whole)
        if (modulo := re.search(r"% (\d{1,18})\)", definition)) is not None:
            whole = min(whole, int(modulo[1]))
        elif (divisor := re.search(r"// (\d{1,18})\b", definition)) is not None:
            whole = max(1, whole // max(1, int(divisor[1])))
        found.setdefault(name, whole)
    return found


def reach_of(index: str, ranges: dict[str, int]) -> int:
    """How many addresses an index expression can reach, by the ranges of the variables in it."""
    return prod(ranges.get(name, 1) for name in set(re.findall(r"\b[xyr]\d{0,4}(?:_\d{1,4})?\b", index)))


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
    dims = _dims(access)
    return prod(dims) if dims is not None else None


# ---------------------------------------------------------------------- library kernels


def _dims(access: BufferAccess | None) -> tuple[int, ...] | None:
    if access is None or access.shape is None or any(not isinstance(size, int) for size in access.shape):
        return None
    return tuple(int(size) for size in access.shape)


def _dtype(*accesses: BufferAccess | None) -> str | None:
    return next((access.dtype for access in accesses if access is not None and access.dtype), None)


def _row_major(access: BufferAccess | None) -> bool:
    """Whether the last dimension is the dense one."""
    stride = access.stride if access is not None else None
    return not stride or stride[-1] == 1


def _gemm(call: Call) -> Workload | None:
    operands = [access for access in call.tensors if access is not None]
    added = call.kernel.endswith("add" + "mm") or call.kernel.endswith("baddbmm")
    a, b = operands[-2:] if len(operands) >= 2 else (None, None)
    left, right = _dims(a), _dims(b)
    if left is None or right is None or len(left) < 2 or len(right) < 2:
        return None
    batch = prod(left[:-2])
    m, k, n = left[-2], left[-1], right[-1]
    return product(
        m,
        k,
        n,
        _dtype(call.out, a, b),
        batch=batch,
        added=int(added and len(_dims(operands[0]) or ()) > 1),
        layout=("n" if _row_major(a) else "t") + ("n" if _row_major(b) else "t"),
    )


def product(
    m: int,
    k: int,
    n: int,
    dtype: str | None,
    *,
    batch: int = 1,
    added: int = 0,
    layout: str = "",
    tile: str | None = None,
) -> Workload:
    """The workload of a matrix product.

    Args:
        m, k, n: rows, the inner dimension, columns.
        dtype: of operands and result.
        batch: products beside each other.
        added: tensors of the result's size that are added to it.
        layout: as `Workload.layout`.
        tile: "64x128x32 w4 s3": the product of Inductor's template with such tiles, warps and stages.
    """
    return Workload(
        family="gemm" if tile is None else "template",
        variant=tile or "",
        dtype=dtype,
        num_bytes=batch * (m * k + k * n + m * n * (1 + added)) * ITEM_BYTES.get(dtype or "", 2),
        m=m,
        n=n,
        k=k,
        batch=batch,
        elements=batch * m * n,
        layout=layout,
        flops=2 * batch * m * n * k,
    )


def _grouped(call: Call) -> Workload | None:
    left, right = _dims(call.tensors[0]), _dims(call.tensors[1])
    if left is None or right is None or len(left) != 2 or len(right) != 3:
        return None
    dtype = _dtype(*call.tensors[:2])
    item = ITEM_BYTES.get(dtype or "", 2)
    (m, k), n, groups = left, right[-1], right[0]
    return Workload(
        family="gemm",
        variant="grouped",
        dtype=dtype,
        num_bytes=(m * k + prod(right) + m * n) * item,
        m=max(1, m // groups),
        n=n,
        k=k,
        batch=groups,
        elements=m * n,
        flops=2 * m * n * k,
    )


def _numbers(text: str | None) -> tuple[int, ...] | None:
    sizes = read_sizes((text or "").strip("[]()"))
    numbers = tuple(size for size in sizes if isinstance(size, int))
    return numbers if len(numbers) == len(sizes) > 0 else None


def _channels_last(access: BufferAccess | None) -> bool:
    stride = access.stride if access is not None else None
    return bool(stride) and len(stride) > 2 and stride[1] == 1


def _convolution(call: Call) -> Workload | None:
    words = dict(call.keywords)
    x, w = call.tensors[0], call.tensors[1] if len(call.tensors) > 1 else None
    shape, weight = _dims(x), _dims(w)
    stride, padding, dilation = (_numbers(words.get(name)) for name in ("stride", "padding", "dilation"))
    if shape is None or weight is None or stride is None or padding is None or dilation is None:
        return None
    groups = (_numbers(words.get("groups")) or (1,))[0]
    transposed = words.get("transposed") == "True"
    space = pixels(shape, weight, stride, padding, dilation, transposed=transposed)
    if not space or groups < 1:
        return None
    return _as_gemm("convolution", shape, weight, space, groups, _dtype(x, w), _channels_last(x), transposed=transposed)


def _convolution_backward(call: Call) -> Workload | None:
    grad, x, w = (*call.tensors[:3], None, None, None)[:3]
    space, shape, weight = _dims(grad), _dims(x), _dims(w)
    if shape is None or weight is None or space is None or len(call.arguments) < 11:
        return None
    groups = (_numbers(call.arguments[9]) or (1,))[0]
    if groups < 1:
        return None
    mask = re.findall(r"True|False", call.arguments[10])
    return _as_gemm(
        "convolution_backward",
        shape,
        weight,
        space[2:],
        groups,
        _dtype(grad, x, w),
        _channels_last(grad),
        transposed=call.arguments[7] == "True",
        passes=mask[:2].count("True"),
    )


def _as_gemm(
    family: str,
    shape: tuple[int, ...],
    weight: tuple[int, ...],
    space: tuple[int, ...],
    groups: int,
    dtype: str | None,
    last: bool,
    *,
    transposed: bool = False,
    passes: int = 1,
) -> Workload:
    """A convolution as the GEMM that it is: pixels × output channels × (input channels × kernel), a group each."""
    item = ITEM_BYTES.get(dtype or "", 2)
    pixels = shape[0] * prod(shape[2:] if transposed else space)
    out = weight[1] * groups if transposed else weight[0]
    m, n, k = pixels, max(1, out // groups), weight[1] * prod(weight[2:])
    if transposed:
        n, k = weight[1] * prod(weight[2:]), max(1, weight[0] // groups)
    written = shape[0] * out * prod(space)
    depthwise = groups > 1 and weight[1] == 1
    return Workload(
        family=family,  # pyright: ignore[reportArgumentType] - one of two words
        variant="depthwise" if depthwise else "grouped" if groups > 1 else "",
        dtype=dtype,
        num_bytes=(prod(shape) + prod(weight) + written) * item * passes,
        m=m,
        n=n,
        k=k,
        batch=groups,
        elements=written,
        layout="last" if last else "first",
        taps=prod(weight[2:]),
        passes=passes,
        flops=2 * m * n * k * groups * passes,
    )


def _attention(call: Call, backend: str, *, backward: bool) -> Workload | None:
    first = 1 if backward else 0
    q, k, v = (_dims(access) for access in (*call.tensors[first : first + 3], None, None, None)[:3])
    if q is None or k is None or v is None or len(q) != 4 or len(k) != 4:
        return None
    dtype = _dtype(*call.tensors[: first + 3])
    item = ITEM_BYTES.get(dtype or "", 2)
    batch, heads, length, width = q
    return Workload(
        family="attention_backward" if backward else "attention",
        variant=backend,
        dtype=dtype,
        num_bytes=(2 * prod(q) + prod(k) + prod(v)) * item * (2 if backward else 1),
        m=length,
        n=k[2],
        k=width,
        batch=batch * heads,
        elements=prod(q),
        causal=may_be_causal(call.kernel, call.arguments),
        flops=of_attention(batch * heads * length * k[2], width, v[3], backward=backward),
    )


def _other(call: Call) -> Workload | None:
    sizes = [
        size * ITEM_BYTES.get(access.dtype or "", 4)
        for access in (*call.tensors, call.out)
        if access is not None and (size := numel(access)) is not None
    ]
    if not sizes:
        return None
    variant = "foreach" if call.type == "triton_foreach" else call.kernel
    return Workload(family="other", variant=variant, num_bytes=sum(sizes), elements=max(sizes) // 4)
