"""The work of a kernel call, from the generated code alone: sizes, traffic, operations.

A call planned without the GPU and the same call recorded on one have the same workload: it holds nothing that only a
device shows. Sizes that the code leaves open (dynamic shapes) give no workload.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from math import log2, prod
from typing import TYPE_CHECKING

from fxscope.dtypes import ITEM_BYTES, read_sizes
from fxscope.model import Workload, replace
from fxscope.passes.flops import may_be_causal, of_attention, pixels
from fxscope.passes.footprint import footprint
from fxscope.passes.predicted import of_dtype
from fxscope.readers.triton_accesses import body_of, by_pointer, numels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fxscope.model import BufferAccess
    from fxscope.readers.output_code import Call, Kernel

# Of Inductor's GEMM templates (torch/_inductor/kernel/mm.py and bmm.py, 2.11 to 2.15), each on a line of its own.
_OF_TEMPLATE = ("M", "N", "K", "BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
_CONSTANT = re.compile(rf"^[ ]*({'|'.join(_OF_TEMPLATE)})(?: : tl\.constexpr)? ?= ?(\d{{1,9}}),?$", re.MULTILINE)
_STATEMENT = re.compile(r"^[ \t]+tmp\d+ = (?!tl\.(?:load|full|broadcast_to))", re.MULTILINE)
_LOOP = re.compile(r"for r\d_offset in ")
_SLOW = re.compile(r"(?:tl_math|libdevice)\.(?:exp|exp2|log|log1p|log2|tanh|expm1)\(|tl\.(?:sigmoid|exp|log)\(")
_SLOWEST = re.compile(
    r"libdevice\.(?:erf\w*|pow)\(|tl\.rand\w*\(|\b(?:tl_math|libdevice|tl)\.(?:sin|cos)\(|sort_with_index\("
)
_REDUCED = re.compile(r"(?:tl\.sum|triton_helpers\.(?:max2|min2|any|prod|welford))\(|tl\.associative_scan\(")
_ATTENTION = re.compile(r"_scaled_dot_product_(\w+?)_attention(_backward)?\b")


def workloads(calls: Sequence[Call], kernels: Mapping[str, Kernel], memory: Mapping[str, str]) -> list[Workload | None]:
    """Return what each call of a wrapper does, `None` where the code does not say.

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
                # MB as a power of the root of 2, so that like calls have one workload.
                distance = float(f"{2 ** (round(2 * log2(max(since / 1e6, 0.5))) / 2):.2g}")
                shares[distance] += size / max(1, total, sum(reads.values()))
            clock += total
            last.update((memory.get(access.buffer, access.buffer), clock) for access in (*call.reads, *call.writes))
            if turn:
                reuse = tuple((far, round(share, 2)) for far, share in sorted(shares.items()))
                found.append(replace(done, reuse=reuse) if done is not None else None)
    return found


def workload(call: Call, kernel: Kernel | None) -> tuple[Workload | None, dict[str, int]]:
    """Return what one call does, `None` where the code does not say, and the bytes of each buffer that it reads."""
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
    body = body_of(kernel)
    sizes = numels(call, kernel)
    wanted = {name for name in kernel.arguments if name.endswith("numel")}
    if not wanted or wanted - set(sizes):
        return None, {}
    outer = prod(value for name, value in sizes.items() if name in wanted and name[0] in "xyz")
    inner = prod(value for name, value in sizes.items() if name in wanted and name.startswith("r"))
    elements = outer * inner
    is_reduction = kernel.type != "triton_pointwise"
    tensors = dict(zip(kernel.arguments, call.tensors, strict=False))
    moved: dict[tuple[str, bool], int] = {}
    every = by_pointer(call, kernel)
    for (pointer, loaded), accesses in every.items():
        size = numel(tensors.get(pointer))
        known = [access.dep for access in accesses if access.dep is not None]
        reach = elements if len(known) < len(accesses) else footprint(known)
        item = ITEM_BYTES.get(kernel.signature.get(pointer, ""), 4)
        moved[pointer, loaded] = item * (min(reach, size) if size else reach)
    reads: dict[str, int] = defaultdict(int)
    for (pointer, loaded), size in moved.items():
        if loaded and (access := tensors.get(pointer)) is not None:
            reads[access.buffer] += size
    hint = re.search(r"ReductionHint\.(\w+)", kernel.meta.get("reduction_hint", ""))
    work = Workload(
        family="reduction" if is_reduction else "pointwise",
        dtype=next((kernel.signature[name] for name in kernel.arguments if name in kernel.signature), None),
        num_bytes=sum(moved.values()),
        outer=outer,
        inner=inner,
        elements=elements,
        loads=len(re.findall(r"tl\.load\(", body)),
        loops=len(_LOOP.findall(body)),
        statements=len(_STATEMENT.findall(body)),
        slow_ops=len(_SLOW.findall(body)),
        slowest_ops=len(_SLOWEST.findall(body)),
        reduced=len(_REDUCED.findall(body)),
        gathers=sum(access.dep is None for (_, loaded), found in every.items() for access in found if loaded),
        strided="ynumel" in sizes or (hint is not None and hint[1] == "OUTER"),
        atomic="tl.atomic_" in body,
    )
    return work, reads


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
    """Return whether the last dimension is the dense one."""
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
        added: tensors of the result's size that are added to it.
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
    groups = right[0]
    work = product(max(1, left[0] // groups), left[1], right[-1], _dtype(*call.tensors[:2]), batch=groups)
    return replace(work, variant="grouped")


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
