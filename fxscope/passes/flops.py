"""FLOPs of ops and bytes of tensors, from shapes. What multiplies matrices has FLOPs here, nothing else.

They are what `torch.utils.flop_counter` counts, two per multiply-add, or `None`. One op differs: torch counts the
weight's gradient of a grouped convolution as if its groups met; here each gradient has the FLOPs of the forward.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from math import prod
from typing import Any

from fxscope.dtypes import ITEM_BYTES, read_sizes
from fxscope.index import known_sum
from fxscope.kernel_names import decode
from fxscope.kernel_names.cpp import split
from fxscope.model import Node, Op, TensorMeta
from fxscope.op_names import CONVOLUTIONS, GEMMS, IS_CAUSAL, is_attention, is_convolution, op_name

PRODUCTS = ("gemm", "gemv", "convolution", "attention")  # roles of kernels
Operands = list[TensorMeta | str]  # in the schema's order; what is no tensor as it was printed
_ATTENTION = re.compile(
    r"_scaled_dot_product_(?P<variant>(?:flash|efficient|cudnn|fused)_attention(?:_overrideable|_for_cpu)*)"
    r"(?P<backward>_backward)?"
)
_TENSOR = re.compile(r"([a-z]\w*)\[([^\]]*)\](?: strides \(([^)]*)\).*)?")


def of_nodes(names: Iterable[str], by_name: Mapping[str, Node], *, certain: bool = False) -> int | None:
    """The FLOPs of these nodes of a graph, `None` where none of them has any or a shape is not a number."""
    nodes = [by_name[name] for name in names if name in by_name and first_operand(by_name[name].target) is not None]
    return known_sum(of_node(node, by_name, certain=certain) for node in nodes) if nodes else None


def of_node(node: Node, by_name: Mapping[str, Node], *, certain: bool = False) -> int | None:
    """An op's FLOPs, of an attention for all pairs of a query and a key.

    `certain`: only for pairs that meet under a causal mask, where it may have one. Its kernel cannot skip these, so rates,
    floors and shares stand on them.
    """
    if first_operand(node.target) is None:
        return None
    causal = certain and may_be_causal(node.target, node.arguments and _parts(node.arguments))
    result = node.outputs[0].shape if node.outputs else ()
    return _count(op_name(node.target), operands(node, by_name), result, causal)


def of_op(op: Op) -> int | None:
    """The FLOPs of an op of a trace, from the shapes that the profiler recorded."""
    return None if first_operand(op.name) is None else _count(op_name(op.name), operands_of_op(op), (), causal=False)


def may_be_causal(text: str, arguments: Sequence[object] | None) -> bool:
    """Return whether an attention was called with `is_causal`, or nothing is known of its arguments, printed in order."""
    found = _ATTENTION.search(text)
    if found is None:
        return False
    if not arguments or (places := IS_CAUSAL.get(found["variant"])) is None:
        return True
    place = places[bool(found["backward"])]
    by_name = any(re.fullmatch(r"is_causal ?= ?True", str(item)) for item in arguments)
    return by_name or "True" in map(str, arguments[place : place + 1])


def arithmetic(dtype: str | None, ops: Iterable[str], kernels: Iterable[str], *, tf32: bool = False) -> str | None:
    """The dtype in which products are computed at most: of float32 it may be TF32.

    cuDNN takes TF32 unless that is switched off, and the memory-efficient attention multiplies float32 in several parts
    on tensor cores: without a kernel's word for it, full float32 is no limit for them. `tf32`: matrix products may take it.
    """
    if dtype != "float32":
        return dtype
    told = [decoded for name in kernels if (decoded := decode(name)) and decoded["role"] in PRODUCTS]
    if any(decoded.get("math") == "tf32" for decoded in told):
        return "tfloat32"
    if told and all(decoded.get("tensor_cores") is False for decoded in told):
        return dtype
    return "tfloat32" if any(is_convolution(op) or is_attention(op) or tf32 for op in ops) else dtype


def first_operand(text: str) -> int | None:
    """The place of an op's first factor, whose dtype is that of its arithmetic; `None` of an op without FLOPs."""
    name = op_name(text)
    if name in GEMMS:
        return GEMMS[name][0]
    if attention := _ATTENTION.fullmatch(name):
        return 1 if attention["backward"] else 0
    return 0 if name in CONVOLUTIONS or name == "convolution_backward" else None


def dtype_of(node: Node, by_name: Mapping[str, Node]) -> str | None:
    """The dtype of an op's first factor, `None` where it has no FLOPs."""
    place = first_operand(node.target)
    found = operands(node, by_name)[place : place + 1] if place is not None else []
    return next((item.dtype for item in found if isinstance(item, TensorMeta)), None)


def factor_bytes(node: Node, by_name: Mapping[str, Node], flops: int) -> int | None:
    """The least bytes that an op with FLOPs moves, from its arguments alone: its two factors, and the result of a GEMM."""
    name = op_name(node.target)
    items = operands(node, by_name)
    factors = [item for place in GEMMS.get(name, (0, 1)) for item in items[place : place + 1]]
    tensors = [item for item in factors if isinstance(item, TensorMeta) and item.shape]
    read = tensor_bytes(tensors)
    if read is None or len(tensors) < 2:
        return None
    inner = tensors[0].shape[-1]
    has_result = name in GEMMS and name != "_grouped_mm" and isinstance(inner, int) and inner > 0
    return read + (flops // (2 * int(inner)) * ITEM_BYTES[tensors[0].dtype or ""] if has_result else 0)


def operands(node: Node, by_name: Mapping[str, Node]) -> Operands:
    """Return what a node was called with, by position; its tensor inputs in order where its arguments were not printed."""
    if node.arguments is None:
        return [by_name[name].outputs[0] for name in node.inputs if name in by_name and by_name[name].outputs]
    found: Operands = []
    for text in _parts(node.arguments):
        outputs = by_name[text].outputs if text in by_name else ()
        item = outputs[0] if len(outputs) == 1 else _operand(text)
        if item is not None:
            found.append(item)
    return found


@lru_cache(maxsize=4096)  # layers call with the same
def _parts(arguments: str) -> tuple[str, ...]:
    return tuple(split(arguments))


@lru_cache(maxsize=4096)
def _operand(text: str) -> TensorMeta | str | None:
    if printed := _TENSOR.fullmatch(text):
        stride = read_sizes(printed[3]) if printed[3] else None
        return TensorMeta(shape=read_sizes(printed[2]), dtype=printed[1], stride=stride)
    return None if re.match(r"\w+ ?=", text) else text


def operands_of_op(op: Op) -> Operands:
    found: Operands = []
    shapes: tuple[Any, ...] = op.shapes or ()  # sizes, of a list of tensors several, of a scalar none
    for position, shape in enumerate(shapes):
        value, dtype = ((items or ())[position : position + 1] for items in (op.concrete_inputs, op.dtypes))
        if isinstance(shape, (list, tuple)) and shape and not (value and value[0]):
            stride = op.strides[position] if op.strides and position < len(op.strides) else None
            stride = tuple(stride) if isinstance(stride, (list, tuple)) else None
            found.append(TensorMeta(shape=tuple(shape), dtype=dtype[0] if dtype else None, stride=stride))
        else:
            found.append(value[0] if value else "")
    return found


def _count(name: str, items: Operands, result: tuple[int | str, ...], causal: bool) -> int | None:
    if any(isinstance(item, TensorMeta) and item.shape and item.stride == () for item in items):
        return None  # a sparse tensor has no strides, and how many of its elements are stored is not recorded
    items = [*items, *[""] * 11]  # every place that is asked for
    if name in GEMMS:
        left, right = _shapes(items, *GEMMS[name])
        return _product(left, right, grouped=name == "_grouped_mm")
    if name == "convolution_backward":
        return _convolution_backward(items)
    if name in CONVOLUTIONS:
        return _convolution(name, items, result)
    return _attention(items, backward=name.endswith("_backward"), causal=causal)


def _shapes(items: Operands, *places: int) -> list[tuple[int | str, ...]]:
    return [item.shape if isinstance(item, TensorMeta) else () for item in (items[place] for place in places)]


def _product(left: tuple[int | str, ...], right: tuple[int | str, ...], *, grouped: bool) -> int | None:
    if not left or not right or left[-1] != right[-2:][0]:
        return None
    columns = right[-1] if len(right) > 1 else 1
    if grouped:  # of two matrices, rows or the inner dimension are divided among the groups
        return numbers(2, *left[-3 if len(right) == 3 else -2 :], columns)
    return None if len(right) > 2 and left[:-2] != right[:-2] else numbers(2, *left, columns)


def _convolution(name: str, items: Operands, result: tuple[int | str, ...]) -> int | None:
    shape, weight = _shapes(items, 0, 1)
    if len(shape) != len(weight) or len(shape) < 3:
        return None
    places = CONVOLUTIONS[name]
    if places == (3, 4, 5) and items[6] == "True":  # transposed
        space = shape[2:]
    else:
        printed = (str(items[place]).strip("[]()") for place in places)
        space = result[2:] or pixels(shape, weight, *map(read_sizes, printed))
    return numbers(2, shape[0], *space, *weight) if space else None


def pixels(
    shape: Sequence[int | str], weight: Sequence[int | str], *values: Sequence[int | str], transposed: bool = False
) -> tuple[int, ...]:
    """The size in space of a convolution's result, without output padding; () where it is not known.

    `shape`: [batch, channels, *space]; `weight`: [out, in, *taps]; `values`: stride, padding, dilation, one or by dimension.
    """
    count = len(shape) - 2
    each = [tuple(value) * count if len(value) == 1 else tuple(value) for value in values]
    rows = [[item for item in row if isinstance(item, int)] for row in zip(shape[2:], weight[2:], *each, strict=False)]
    if len(rows) != count or any(len(row) != 5 or row[2] < 1 for row in rows):
        return ()
    if transposed:
        return tuple((size - 1) * by - 2 * pad + step * (taps - 1) + 1 for size, taps, by, pad, step in rows)
    return tuple((size + 2 * pad - step * (taps - 1) - 1) // by + 1 for size, taps, by, pad, step in rows)


def _convolution_backward(items: Operands) -> int | None:
    grad, shape, weight = _shapes(items, 0, 1, 2)
    wanted = re.findall(r"True|False", str(items[10]))
    if not grad or not shape or not weight or len(wanted) != 3:
        return None
    return numbers(2 * wanted[:2].count("True"), shape[0], *(shape if items[7] == "True" else grad)[2:], *weight)


def _attention(items: Operands, *, backward: bool, causal: bool) -> int | None:
    q, k, v = _shapes(items, *((1, 2, 3) if backward else (0, 1, 2)))
    if not len(q) == len(k) == len(v) == 4 or numbers(*q, *k, *v) is None:
        return None
    batch, heads, rows, width, keys, out = map(int, (*q, k[2], v[3]))
    pairs = rows * keys
    if causal:  # row i meets the keys up to i
        square = min(rows, keys)
        pairs = square * (square + 1) // 2 + (rows - square) * keys
    return of_attention(batch * heads * pairs, width, out, backward=backward)


def of_attention(pairs: int, width: int, out: int, *, backward: bool) -> int:
    """The FLOPs of an attention in which so many pairs of a query and a key meet, in all batches and heads.

    `width`: of a head's queries and keys; `out`: of its values. A backward computes the scores again, then a gradient of
    each factor of both products.
    """
    return 2 * pairs * (3 * width + 2 * out if backward else width + out)


def numbers(*values: int | str | None) -> int | None:
    known = [value for value in values if isinstance(value, int)]
    return prod(known) if len(known) == len(values) else None


def tensor_bytes(tensors: Iterable[TensorMeta]) -> int | None:
    """The bytes that these tensors touch in memory: a broadcast dimension (stride 0) is stored once."""
    total = 0
    for tensor in tensors:
        item = ITEM_BYTES.get(tensor.dtype or "")
        count = numbers(*(size for size, stride in zip_longest(tensor.shape, tensor.stride or ()) if stride != 0))
        if item is None or count is None:
            return None
        total += item * count
    return total
