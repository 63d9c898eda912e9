"""FLOPs and bytes of ops from their shapes. GEMMs and convolutions have FLOPs here, nothing else."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from fxscope.dtypes import ITEM_BYTES
from fxscope.op_names import GEMMS, is_convolution, op_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fxscope.model import Node, TensorMeta


def is_product(node: Node) -> bool:
    """Whether the op is a GEMM or a convolution, whose FLOPs are counted."""
    return op_name(node.target) in GEMMS or is_convolution(node.target)


def of_nodes(names: Iterable[str], by_name: Mapping[str, Node]) -> int | None:
    """The FLOPs of these nodes of a graph, `None` where none of them has any or a shape is not a number."""
    counts = [of_node(by_name[name], by_name) for name in names if name in by_name and is_product(by_name[name])]
    if not counts or any(count is None for count in counts):
        return None
    return sum(count or 0 for count in counts)


def of_node(node: Node, by_name: Mapping[str, Node]) -> int | None:
    """An op's FLOPs: two per multiply-add, as torch.utils.flop_counter counts them."""
    if not is_product(node) or not node.outputs:
        return None
    shapes = [by_name[name].outputs[0].shape for name in node.inputs if name in by_name and by_name[name].outputs]
    name, result = op_name(node.target), node.outputs[0].shape
    if name in GEMMS:
        return of_product([shape for shape in shapes if len(shape) >= 2], result)
    weights = [shape for shape in shapes[1:] if len(shape) == len(result)]
    if "backward" in name or not weights:
        return None
    return numbers(2, *result, *weights[0][1:])


def of_product(shapes: Sequence[tuple[int | str, ...]], result: tuple[int | str, ...]) -> int | None:
    """FLOPs of a product with this result. Its operands are found by their shapes: a bias among them does no harm."""
    if len(result) < 2:
        return None
    rows, columns = result[-2], result[-1]
    for position, left in enumerate(shapes):
        for right in shapes[position:]:
            # `mm(x, x)` has its operand once in the list of inputs.
            if left[-2] == rows and right[-1] == columns and left[-1] == right[-2]:
                return numbers(2, *result, left[-1])
    return None


def numbers(*values: int | str) -> int | None:
    """The product, `None` where a size is symbolic."""
    known = [value for value in values if isinstance(value, int)]
    return prod(known) if len(known) == len(values) else None


def tensor_bytes(tensors: Iterable[TensorMeta]) -> int | None:
    """The bytes that these tensors touch in memory: a broadcast dimension (stride 0) is stored once."""
    total = 0
    for tensor in tensors:
        item = ITEM_BYTES.get(tensor.dtype or "")
        sizes = [
            size
            for position, size in enumerate(tensor.shape)
            if tensor.stride is None or position >= len(tensor.stride) or tensor.stride[position] != 0
        ]
        count = numbers(*sizes)
        if item is None or count is None:
            return None
        total += item * count
    return total
