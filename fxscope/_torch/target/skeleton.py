"""A model for another process: its classes and structure, and of each tensor only shape, stride and dtype."""

# torch's insides are untyped: what comes from there is Any.

from __future__ import annotations

import io
import pickle
from typing import Any

import torch
from torch import nn

from fxscope.errors import one_line


class NotImportableError(Exception):
    """The other process could not rebuild the model; the message says what is in the way."""


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        """Leave the values of tensors behind."""
        if type(obj) not in (torch.Tensor, nn.Parameter) or obj.layout is not torch.strided:
            return NotImplemented
        return rebuild, (
            tuple(obj.size()),
            tuple(obj.stride()),
            obj.dtype,
            obj.requires_grad,
            type(obj) is nn.Parameter,
        )


def dumps(value: Any) -> bytes:
    """Pickle without the values of tensors.

    Raises:
        NotImportableError: it cannot be pickled, or it needs classes or functions of the running script.
    """
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    except Exception as error:
        raise NotImportableError(one_line(error)) from None
    data = buffer.getvalue()
    if b"__main__" in data:
        raise NotImportableError("it is defined in the running script")
    return data


def loads(data: bytes) -> Any:
    """Undo `dumps`; tensors are on the meta device.

    Raises:
        NotImportableError: a module or a name is missing here.
    """
    try:
        return pickle.loads(data)  # written by the parent process a moment ago
    except Exception as error:
        raise NotImportableError(one_line(error)) from None


def rebuild(
    size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype, requires_grad: bool, parameter: bool
) -> torch.Tensor:
    tensor = torch.empty_strided(size, stride, dtype=dtype, device="meta")
    return nn.Parameter(tensor, requires_grad=requires_grad) if parameter else tensor.requires_grad_(requires_grad)
