"""The work of a kernel call, from the generated code alone: sizes, traffic, operations.

A call planned without the GPU and the same call recorded on one have the same workload: it holds nothing that only a
device shows. Sizes that the code leaves open (dynamic shapes) give no workload.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log2, prod
from typing import TYPE_CHECKING, Any

from fxscope.dtypes import ITEM_BYTES, read_sizes
from fxscope.model import BufferAccess, Workload, replace
from fxscope.passes.flops import may_be_causal, numbers, of_attention, pixels
from fxscope.passes.footprint import footprint
from fxscope.readers.triton_accesses import SECTOR, TritonBody, depends_on, numel, origins_of, requests_of

if TYPE_CHECKING:
    from fxscope.readers.output_code import Call, Kernel

# Of Inductor's template of flex attention (2.11 to 2.15), each on a line of its own.
_OF_FLEX = ("ZQ", "HQ", "Q_LEN", "KV_LEN", "QK_HEAD_DIM", "V_HEAD_DIM")
_CONSTANT = re.compile(rf"^[ ]*({'|'.join(_OF_FLEX)})(?: : tl\.constexpr)? ?= ?(\d{{1,9}}),?$", re.MULTILINE)
# What is counted in a Triton kernel's code, by field of `Workload`.
_STATEMENT = re.compile(r"^[ \t]+tmp\d+(?:, tmp\d+)*,? = (.*)$", re.MULTILINE)
_FREE = re.compile(
    r"tl\.(?:load|full|broadcast_to)\(|tl\.where\([xyr\d_& ]*mask\b|\(?tmp\d+(?:\.to\(tl\.\w+\)|\[.*\])?\)?$"
)
_SLOW = re.compile(r"(?:tl_math|libdevice)\.(?:exp|exp2|log|log1p|log2|tanh|expm1)\(|tl\.(?:sigmoid|exp|log)\(")
_SLOWEST = re.compile(r"\b(?:libdevice|tl)\.(erf\w*|pow|atan2?|rand\w*)\(")
_TRIGONOMETRIC = re.compile(r"\b(?:tl_math|libdevice|tl)\.(?:sin|cos|tan)\(")
_AS_MANY_ERFS = {"pow": 3, "atan2": 2, "rand": 3, "randn": 5}  # by instructions, as an H200 ran them; others: 1
_SLOW_SCORE = re.compile(r"libdevice\.(?:tanh|erf|sin|cos)\(")  # of each score of flex attention
_REDUCED = re.compile(r"(?:tl\.sum|triton_helpers\.(?:max2|min2|any|prod|welford))\(|tl\.associative_scan\(")
_ATTENTION = re.compile(r"_scaled_dot_product_(flash|efficient|cudnn)_attention(_backward)?\b")
# The places of `attn_bias` and `dropout_p`, forward and backward (native_functions.yaml, torch 2.13); 99: has none.
_MASK_AND_DROPOUT = {"flash": ((99, 3), (99, 10)), "efficient": ((3, 5), (4, 9)), "cudnn": ((3, 5), (8, 13))}
_LAST_LOOKED_UP = re.compile(r"(?<![*\w])tmp\d+")
_OF_AN_EXCHANGE = 15  # statements, as an H200 ran them; as many in running variances, softmaxes and places of maxima
_RUNNING = "welford_reduce welford_combine online_softmax_combine maximum_with_index minimum_with_index".split()
_STATEMENTS_OF = dict.fromkeys(_RUNNING, _OF_AN_EXCHANGE) | {"tl.device_assert": 7}
_COSTLY = re.compile(rf"({'|'.join(map(re.escape, _STATEMENTS_OF))})\((.*\n?.*)")
_RETRIES = 32  # an addition of two bytes in memory compares and swaps until nobody was faster
_LOOK_UPS = ("torch.ops.aten._embedding_bag.", "torch.ops.aten._embedding_bag_forward_only.")  # of rows of a table
_ONE_SWEEP = 4096  # keys that one block sorts; more take a kernel for each byte
_GEMMS = {f"extern_kernels.{name}" for name in "mm addmm bmm baddbmm _int_mm _weight_int8pack_mm _scaled_mm".split()}
# The arguments of convolution_backward after its tensors and the bias's size; of convolution they are keywords.
_OF_CONVOLUTION = ("stride", "padding", "dilation", "transposed", "output_padding", "groups", "output_mask")


def workload(call: Call, kernel: Kernel | None) -> Workload | None:
    """Return the work of one call, `None` where the code does not say it."""
    if call.type == "cpp" or (call.device or "").startswith("cpu"):
        return None
    if call.type in ("user_triton", "triton_foreach"):
        return _other(call)
    if kernel is not None:
        return _flex(kernel) if call.type == "triton_template" else _triton(call, kernel)
    return _library(call)


def _flex(kernel: Kernel) -> Workload | None:
    """The work of a flex attention template; `None` of other templates, and where sizes are symbolic."""
    constants = {name: int(size) for name, size in _CONSTANT.findall(kernel.source)}
    if not constants.keys() >= {*_OF_FLEX}:
        return None
    batch, heads, queries, keys, width, value_width = (constants[name] for name in _OF_FLEX)
    shapes = [(batch, heads, *size) for size in ((queries, width), (keys, width), (keys, value_width))]
    found = _attention(shapes, kernel.signature.get("arg_V"), "flex", backward="arg_DO" in kernel.arguments)
    slow, chosen = len(_SLOW_SCORE.findall(kernel.source)), "tl.where(tmp" in kernel.source
    return found and replace(found, slow_ops=slow, loads=int(chosen))


def _library(call: Call) -> Workload | None:
    if call.kernel in _GEMMS:
        return _gemm(call)
    if call.kernel == "extern_kernels._grouped_mm":
        return _grouped(call)
    is_backward = call.kernel.startswith("torch.ops.aten.convolution_backward")
    if is_backward or call.kernel == "extern_kernels.convolution":
        return _convolution(call, backward=is_backward)
    if (found := _ATTENTION.search(call.kernel)) is not None:
        operands, backward = _first(call, 1 if found[2] else 0, 3), bool(found[2])
        causal = may_be_causal(call.kernel, call.arguments)
        work = _attention([*map(_dims, operands)], _dtype(*operands), found[1], backward=backward, causal=causal)
        mask, dropout = ([*call.arguments[place:], "None"][0] for place in _MASK_AND_DROPOUT[found[1]][backward])
        return work and replace(work, loads=int(mask != "None"), slowest_ops=len(re.findall(r"^[\d.]*[1-9]", dropout)))
    return _other(call)


# ---------------------------------------------------------------------- Triton


def _triton(call: Call, kernel: Kernel) -> Workload | None:
    body = TritonBody(call, kernel)
    wanted = {name for name in kernel.arguments if name.endswith("numel")}
    if not wanted or wanted - body.sizes.keys():
        return None
    spaces = {name.removesuffix("numel"): body.sizes[name] for name in wanted}
    outer = prod(size for name, size in spaces.items() if name[0] in "xyz")
    inner = prod(size for name, size in spaces.items() if name[0] == "r")
    num_bytes = across = 0  # of its accesses: how many more go across rows than along them
    atomics = crowded = requests = sectors = 0.0
    for (pointer, _), each in body.accesses.items():
        size, item = numel(body.tensors.get(pointer)), ITEM_BYTES.get(kernel.signature.get(pointer, ""), 4)
        known = [access.dep for access in each if access.dep is not None]
        reach = outer * inner if len(known) < len(each) else footprint(known)
        num_bytes += item * (min(reach, size) if size else reach)
        asked: dict[object, float] = {}  # loads that differ by a constant find most of their sectors in the L1 cache
        for access in each:
            steps = [(int(by or 1), name[0] != "r") for by, name, _ in access.terms if name in access.digits]
            if not all(of_results for _, of_results in steps):
                across += 1 if min(steps)[1] else -1
            count, loads, found = requests_of(access, spaces, item, size or 0)
            requests += loads
            place = access.expression if access.dep is None else access.terms
            asked[place] = max(asked.get(place, 0.0), found)
            if access.what.startswith("atomic"):
                # Threads beside each other that add to places beside each other do so in one transaction.
                beside = {name for name, digit in access.digits.items() if digit.divisor == 1}
                # What they look up along the last dimension lies close: resized, shifted and padded images do that.
                looks_up = spaces.keys() - {access.digits[name].of for name in beside}
                is_close = looks_up and _LAST_LOOKED_UP.search(access.expression)
                atomics += min(found, count * item / SECTOR) if is_close else found
                if size and not beside & {*re.split(r"[ (+,)]+", access.expression)}:
                    crowded += count / size * (_RETRIES if item == 2 else 1)
        sectors += sum(asked.values())
    return Workload(
        family="reduction" if kernel.type != "triton_pointwise" else "pointwise",
        dtype=next((kernel.signature[name] for name in kernel.arguments if name in kernel.signature), None),
        num_bytes=num_bytes,
        outer=outer,
        inner=inner,
        elements=outer * inner,
        strided="y" in spaces or across > 0,
        atomics=round(atomics),
        crowded=round(crowded, 1),
        loads=body.text.count("tl.load("),
        requests=round(requests),
        sectors=round(sectors),
        loops=len(re.findall(r"for r\d_offset in ", body.text)),
        **operations(body.text, inner),
    )


def operations(body: str, inner: int) -> dict[str, Any]:
    """Count a kernel's arithmetic for each element: not that of values of which a row or a column has one."""
    found: dict[str, Any] = dict.fromkeys("statements slow_ops slowest_ops trig_ops reduced".split(), 0)
    origins = origins_of(body)
    spaces = {name[0] for names in origins.values() for name in names} - ({"r"} if inner == 1 else set())

    def is_of_each(expression: str) -> bool:
        return {name[0] for name in depends_on(expression, origins)} >= spaces

    for name, operands in _COSTLY.findall(body):
        found["statements"] += _STATEMENTS_OF[name] * is_of_each(operands)
    for expression in _STATEMENT.findall(body):
        is_reduced = bool(_REDUCED.search(expression))
        found["reduced"] += is_reduced
        if (inner > 1 and is_reduced) or not is_of_each(expression):
            continue
        found["statements"] += not _FREE.match(expression)
        found["slow_ops"] += len(_SLOW.findall(expression))
        found["slowest_ops"] += sum(_AS_MANY_ERFS.get(name, 1) for name in _SLOWEST.findall(expression))
        found["trig_ops"] += len(_TRIGONOMETRIC.findall(expression))
        if "sort_with_index(" in expression:  # which exchanges elements between threads as often as this
            steps = round(log2(max(2, inner)))
            found["statements"] += steps * (steps + 1) // 2 * _OF_AN_EXCHANGE
    return found


# ---------------------------------------------------------------------- library kernels


def _dims(access: BufferAccess | None) -> tuple[int, ...] | None:
    if access is None or access.shape is None or numbers(*access.shape) is None:
        return None
    return tuple(map(int, access.shape))


def _dtype(*accesses: BufferAccess | None) -> str | None:
    return next((access.dtype for access in accesses if access is not None and access.dtype), None)


def _first(call: Call, start: int, count: int) -> list[BufferAccess | None]:
    return [*call.tensors[start : start + count], *[None] * count][:count]


def _gemm(call: Call) -> Workload | None:
    operands = [access for access in call.tensors if access is not None]
    packed = call.kernel.endswith("_int8pack_mm")  # rows of weights, and a scale for each
    scaled = call.kernel.endswith("_scaled_mm")  # of 8-bit floats: scales follow, and the result has two bytes
    a, b = (operands[:2] if packed or scaled else operands[-2:]) if len(operands) >= 2 else (None, None)
    left, right = _dims(a), _dims(b)
    if left is None or right is None or len(left) < 2 or len(right) < 2:
        return None
    is_matrix = len(_dims(operands[0]) or ()) > 1  # what is added
    found = product(
        (prod(left[:-2]), left[-2], left[-1], right[-2 if packed else -1]),
        "int8" if packed else _dtype(None if scaled else call.out, a, b),
        variant="" if "add" not in call.kernel else "added" if is_matrix else "bias",
        layout="".join(_dense(each) for each in (a, b) if each is not None) + _alignment(a, b, call.out),
    )
    return replace(found, num_bytes=found.num_bytes + found.elements) if scaled else found


def _dense(access: BufferAccess) -> str:
    """Name the one of the last two dimensions that has no gaps: "n" the last, "t" the one before, "x" neither."""
    steps = access.stride or (1,)
    return "n" if steps[-1] == 1 else "t" if 1 in steps[-2:] else "x"


def _alignment(*accesses: BufferAccess | None) -> str:
    """Name rows of two bytes an element that do not begin at whole 16 bytes: "e" after an even number, "u" after an odd one."""
    found = [access for access in accesses if access is not None]
    starts = [dep.index.rpartition("+ ")[2] for access in found for dep in access.deps]
    steps = [str(step) for access in found for step in (access.stride or ())[-2:] if step != 1]
    places = [int(place) for place in (*starts, *steps) if place.isdigit()]
    return "u" if any(place % 2 for place in places) else "e" if any(place % 8 for place in places) else ""


def product(sizes: tuple[int, int, int, int], dtype: str | None, *, layout: str = "", variant: str = "") -> Workload:
    """The workload of a product of [batch, m, k] and [batch, k, n]; if "added", to which a tensor of its size is."""
    batch, m, k, n = sizes
    return Workload(
        family="gemm",
        variant=variant,
        dtype=dtype,
        num_bytes=batch * (m * k + k * n + m * n * (1 + (variant == "added"))) * ITEM_BYTES.get(dtype or "", 2),
        m=m,
        n=n,
        k=k,
        batch=batch,
        elements=batch * m * n,
        layout=layout,
        flops=2 * batch * m * n * k,
    )


def _grouped(call: Call) -> Workload | None:
    """Products of groups of rows with a matrix each; backward, of groups of columns with groups of rows."""
    a, b, ends = _first(call, 0, 3)
    left, right, groups = map(_dims, (a, b, ends))
    if left is None or right is None or groups is None or len(left) != 2 or len(groups) != 1:
        return None
    count = max(1, groups[0])
    rows, depth = (left[0] // count, left[1]) if len(right) == 3 else (left[0], left[1] // count)
    return product((count, max(1, rows), max(1, depth), right[-1]), _dtype(a, b), variant="grouped")


def _convolution(call: Call, *, backward: bool = False) -> Workload | None:
    """A convolution as the GEMM that it is: pixels × output channels × (input channels × kernel), a group each."""
    x, w = _first(call, 1 if backward else 0, 2)
    words = dict(zip(_OF_CONVOLUTION, call.arguments[4:], strict=False) if backward else call.keywords)
    shape, weight = _dims(x), _dims(w)
    names = ("stride", "padding", "dilation", "groups")
    stride, padding, dilation, groups = (read_sizes(words.get(name, "").strip("[]()")) for name in names)
    if shape is None or weight is None or not stride or not padding or not dilation:
        return None
    transposed = words.get("transposed") == "True"
    last = call.tensors[0] if backward else x
    known = (_dims(last) or ())[2:]
    space = known if backward else pixels(shape, weight, stride, padding, dilation, transposed=transposed)
    count = groups[0] if groups else 1
    if not space or not isinstance(count, int) or count < 1:
        return None
    passes = re.findall(r"True|False", words["output_mask"])[:2].count("True") if "output_mask" in words else 1
    dtype = _dtype(last, x, w)
    out = weight[1] * count if transposed else weight[0]
    inner = weight[1] * prod(weight[2:])
    m, n, k = shape[0] * prod(shape[2:] if transposed else space), max(1, out // count), inner
    if transposed:
        n, k = inner, max(1, weight[0] // count)
    written = shape[0] * out * prod(space)
    layout = "last" if last and last.stride and len(last.stride) > 2 and last.stride[1] == 1 else "first"
    if layout == "first":  # rows of pixels that begin at whole 16 bytes or not
        rows = prod(shape[2:]), prod(space)
        layout += "u" if any(row % 2 for row in rows) else "e" if any(row % 8 for row in rows) else ""
    kinds = {"transposed": transposed, "volume": len(weight) == 5, "flat": 1 in weight[2:] and prod(weight[2:]) > 1}
    variant = " ".join(name for name, holds in kinds.items() if holds)
    if count > 1:
        # With several outputs for each channel, cuDNN's kernels for groups run; in two bytes one for each channel.
        variant = "grouped" if weight[1] > 1 else "depthwise" if weight[0] == count else "multiplied"
    num_bytes = (prod(shape) + prod(weight) + written) * ITEM_BYTES.get(dtype or "", 2) * passes
    if variant == "depthwise" and layout == "last" and len(shape) == 3:
        layout, num_bytes = "first", 2 * num_bytes  # torch's own kernels, after a copy of each operand
    if variant == "depthwise" and layout == "last" and not backward:
        # cuDNN 9 has no kernel for all channels of these in two bytes, and launches one for each.
        is_tiny = prod(shape[2:]) > 1 and max(shape[2:]) <= 2 and (stride[0] != 1 or count % 16 > 0)
        variant = "each channel" if count <= 8 or is_tiny else variant
    found = product((count, m, k, n), dtype, layout=layout, variant=variant)
    family, flops = f"convolution{'_backward' * backward}", found.flops * passes
    found = replace(found, family=family, num_bytes=num_bytes, elements=written, flops=flops)
    return replace(found, taps=prod(weight[2:]), passes=passes)


def _attention(
    shapes: Sequence[tuple[int, ...] | None], dtype: str | None, kernel: str, *, backward: bool, causal: bool = False
) -> Workload | None:
    """Attention over queries, keys and values of these shapes: [batch, heads, length, width]."""
    known = [shape for shape in shapes if shape is not None and len(shape) == 4]
    if len(known) != 3:
        return None
    q, k, v = known
    batch, heads, length, width = q
    num_bytes = (2 * prod(q) + prod(k) + prod(v)) * ITEM_BYTES.get(dtype or "", 2) * (2 if backward else 1)
    flops = of_attention(batch * heads * length * k[2], width, v[3], backward=backward)
    found = product((batch * heads, length, width, k[2]), dtype, variant=kernel)
    found = replace(found, num_bytes=num_bytes, elements=prod(q), causal=causal, flops=flops)
    return replace(found, family=f"attention{'_backward' * backward}")


def _other(call: Call) -> Workload | None:
    """The traffic of a function of which arguments and results are known. Its rows are the places that it is handed."""
    passed = [access for access in (*call.tensors, call.out) if access is not None]
    names = {access.buffer for access in passed}
    more = [access for access in (*(call.reads or ()), *(call.writes or ())) if access.buffer not in names]  # in lists
    known = [(access, size) for access in (*passed, *more) if (size := numel(access)) is not None]
    if not known or not (passed or call.reads):
        return None
    shapes = [shape for access, _ in known if (shape := _dims(access))]
    *leading, last = max(shapes, key=prod, default=(1,))
    places = max((shape[0] for shape in shapes if leading and len(shape) == 1 and shape[0] != last), default=0)
    sizes = [size * ITEM_BYTES.get(access.dtype or "", 4) for access, size in known]
    if places and call.kernel.startswith(_LOOK_UPS):
        sizes[0] = min(sizes[0], sizes[0] // prod(leading) * places)
    of_columns = last > 1 and bool(leading) and (*[1] * len(leading), last) in shapes  # one has a number for each
    variant = "foreach" if call.type == "triton_foreach" else call.kernel
    work = Workload(family="other", variant=variant, num_bytes=sum(sizes), elements=max(sizes) // 4)
    return replace(work, outer=places or prod(leading), loops=int(places > _ONE_SWEEP), strided=of_columns)
