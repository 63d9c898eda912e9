"""Restore what a function changes that is run more than once.

State is found from the arguments, the module and the function: its closure, its defaults and the globals that it names.
Tensors are kept as the bytes of their memory, so overlapping, quantized and NaN ones are like all others; copies lie in the
host's memory, where they do not count in the peak of a device's.
"""

import collections
import contextlib
import functools
import random
import sys
import types
from collections.abc import Callable, Generator, Iterable, Iterator
from operator import length_hint
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from fxscope._torch.environment import available_bytes
from fxscope.errors import one_line
from fxscope.model import Problem

MAX_OBJECTS = 200_000
_ATOMS = (int, float, complex, str, bytes, type(None), type, types.ModuleType, types.BuiltinFunctionType)
_TORCH_ATOMS = (torch.dtype, torch.device, torch.Size, torch.layout)
_STATEFUL = ("torch.optim", "torch.nn", "torch.amp", "torch.cuda.amp", "types", "argparse")  # restored objects
_ROWS, _COLUMNS = ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values")
_PARTS = {  # of tensors without memory of their own
    torch.sparse_coo: ("_indices", "_values"),
    **dict.fromkeys((torch.sparse_csr, torch.sparse_bsr), _ROWS),
    **dict.fromkeys((torch.sparse_csc, torch.sparse_bsc), _COLUMNS),
}


@contextlib.contextmanager
def restored(model: Any, inputs: Any, kwargs: Any) -> Generator[list[Problem]]:
    """Restore afterwards what running a model changed; yield the list of what could not be."""
    problems: list[Problem] = []
    state = _State()
    with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
        for path, value in {**_generators(), "model": model, "inputs": inputs, "kwargs": kwargs}.items():
            state.keep(path, value)
    try:
        yield problems
    finally:
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            problems += state.restore()


def _generators() -> dict[str, Any]:
    """Generators of random numbers that no program passes on: those of Python, numpy, torch and its devices."""
    found: dict[str, Any] = {
        "Python's generator": random.getstate.__self__,
        "torch's generator": torch.default_generator,
    }
    if (numpy := sys.modules.get("numpy")) is not None:
        found["numpy's generator"] = numpy.random.get_state.__self__
    for name in ("cuda", "xpu"):
        device: Any = getattr(torch, name, None)
        if getattr(device, "is_available", bool)() and device.is_initialized():
            found[f"generators of {name}"] = device.default_generators
    return found


class _State:
    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}  # by id, which stays its own as long as the object is kept
        self._storages: set[int] = set()
        self._undo: list[tuple[str, Callable[[], Any]]] = []  # a text that one gives is why it could not
        self._spare = available_bytes() // 2
        self._uncopied = 0  # bytes

    def restore(self) -> list[Problem]:
        lost: list[str] = []
        for path, undo in self._undo:
            try:
                why = undo()
            except Exception as error:
                why = one_line(error)
            if isinstance(why, str):
                lost.append(f"{path}: {why}")
        problems: list[Problem] = []
        if lost:
            more = f" (and {len(lost) - 3} more)" if len(lost) > 3 else ""
            message = f"running it changed what could not be restored: {'; '.join(lost[:3])}{more}"
            problems.append(Problem(where="state", message=message, remedy="record a copy of the model and its inputs"))
        if self._uncopied or len(self._seen) > MAX_OBJECTS:
            what = f"{self._uncopied / 1e9:.3g} GB of tensors" if self._uncopied else "more than 200,000 objects"
            message = f"{what} were not copied before the runs, so changes to them stay"
            problems.append(Problem(where="state", message=message, remedy="record a smaller model"))
        return problems

    def keep(self, path: str, value: Any) -> None:
        waiting = [(path, value)]
        while waiting and len(self._seen) <= MAX_OBJECTS:
            path, value = waiting.pop()
            if isinstance(value, (*_ATOMS, *_TORCH_ATOMS)) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            waiting += [(f"{path}{name}", item) for name, item in self._kept(path, value)]

    def _later(self, path: str, undo: Callable[..., Any], *args: Any) -> None:
        self._undo.append((path, functools.partial(undo, *args)))

    def _kept(self, path: str, value: Any) -> list[tuple[str, Any]]:
        """Keep one object; return what it leads to, with what to put behind its path."""
        if isinstance(value, torch.Tensor):
            return self._keep_tensor(path, value)
        if isinstance(value, types.FunctionType):
            return self._keep_function(path, value)
        if isinstance(value, types.MethodType):
            return [("", value.__self__), ("", value.__func__)]
        if isinstance(value, functools.partial):
            return [("", value.func), (".args", value.args), (".keywords", value.keywords)]
        if isinstance(value, (tuple, frozenset)):
            return [(f"[{index}]", item) for index, item in enumerate(value)]
        if isinstance(value, (list, collections.deque, set, dict)):
            return self._keep_container(path, value)
        if isinstance(value, (torch.Generator, random.Random)) or type(value).__module__.partition(".")[0] == "numpy":
            self._keep_opaque(path, value)
            return []
        return self._keep_object(path, value)

    def _keep_opaque(self, path: str, value: Any) -> None:
        if hasattr(value, "ctypes"):
            if self._has_space(value.nbytes):
                self._later(path, _put_array, value, value.copy())
        elif set_ := getattr(value, "set_state", None) or getattr(value, "setstate", None):
            self._later(path, set_, (value.get_state if hasattr(value, "get_state") else value.getstate)())
        elif hasattr(bits := getattr(value, "bit_generator", value), "state"):
            self._later(path, setattr, bits, "state", bits.state)

    def _keep_function(self, path: str, function: types.FunctionType) -> list[tuple[str, Any]]:
        inner = getattr(function, "_torchdynamo_orig_callable", None)
        if inner is not None:
            return [("", inner)]
        if _is_foreign(function.__module__ or "torch"):
            return []
        found: list[tuple[str, Any]] = [("", function.__defaults__), ("", function.__kwdefaults__)]
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # not set yet
                found.append((f" closure {name}", cell.cell_contents))
                self._later(f"{name} of the closure", setattr, cell, "cell_contents", found[-1][1])
        self._later(path, function.__dict__.update, dict(function.__dict__))
        live = function.__globals__
        before = {name: live[name] for name in _names_in(function.__code__) if name in live}
        self._later(f"{path} globals", live.update, before)
        return found + [(f" global {name}", value) for name, value in before.items()]

    def _keep_container(self, path: str, value: Any) -> list[tuple[str, Any]]:
        before = list(value.items()) if isinstance(value, dict) else list(value)
        self._later(path, _put_items, value, before)
        if not isinstance(value, dict):
            return [(f"[{index}]", item) for index, item in enumerate(before)]
        keys = [(" key", key) for key, _ in before if isinstance(key, torch.Tensor)]
        return keys + [(f"[{key!r}]" if isinstance(key, (str, int)) else "[…]", item) for key, item in before]

    def _keep_object(self, path: str, value: Any) -> list[tuple[str, Any]]:
        kind = type(value)
        if isinstance(value, torch.nn.Module):
            if kind.__module__ == "torch._dynamo.eval_frame":
                return [("", value._modules["_orig_mod"])]
            if isinstance(value, torch.jit.ScriptModule):
                return [(f".{name}", item) for name, item in (*value.named_parameters(), *value.named_buffers())]
            if any(map(torch.nn.parameter.is_lazy, (*value.parameters(False), *value.buffers(False)))):
                self._later(path, lambda: None if type(value) is kind else "its lazy parameters were made")
                return []
        elif _is_foreign(kind.__module__) and not kind.__module__.startswith(_STATEFUL):
            if isinstance(value, Iterator):
                self._later(path, _is_moved, value, length_hint(value, -1), dict(getattr(value, "__dict__", {})))
            return []
        slots = [name for base in kind.__mro__ for name in _slots_of(base) if hasattr(value, name)]
        found: list[tuple[str, Any]] = [(f".{name}", getattr(value, name)) for name in slots]
        for name, item in found:
            self._later(path, object.__setattr__, value, name[1:], item)
        if isinstance(live := getattr(value, "__dict__", None), dict):
            self._later(path, _put_items, live, list(live.items()))
            unnamed = ("_parameters", "_buffers", "_modules")
            found += [("" if name in unnamed else f".{name}", item) for name, item in live.items()]
        return [*found, ("", getattr(kind, "forward", None))]

    def _keep_tensor(self, path: str, tensor: torch.Tensor) -> list[tuple[str, Any]]:
        version = None if tensor.is_inference() else tensor._version
        found: list[tuple[str, Any]] = []
        try:
            found = [(f".{name}", item) for name, item in _parts(tensor).items()]
            self._later(path, _put_items, tensor.__dict__, list(tensor.__dict__.items()))
            if not found and not tensor.is_meta:
                self._keep_memory(path, tensor)
        except Exception:  # of a kind that has no memory of its own
            self._later(path, _is_written, tensor, version)
        found += [(f".{name}", item) for name, item in tensor.__dict__.items()]
        if tensor.is_leaf and not tensor.is_inference():
            self._later(path, _put_flags, tensor, tensor.requires_grad, tensor.grad)
            found.append((".grad", tensor.grad))
        return found

    def _keep_memory(self, path: str, tensor: torch.Tensor) -> None:
        alias = tensor if tensor.is_inference() else tensor.data
        storage = tensor.untyped_storage()
        self._later(path, _put_place, tensor, alias, _place(tensor), storage.nbytes())
        if storage.nbytes() and storage.data_ptr() not in self._storages and self._has_space(storage.nbytes()):
            self._later(path, _put_bytes, storage, _bytes_of(storage).to("cpu", copy=True))
        self._storages.add(storage.data_ptr())

    def _has_space(self, num_bytes: int) -> bool:
        self._spare -= num_bytes
        if self._spare < 0:
            self._uncopied += num_bytes
        return self._spare >= 0


def _is_foreign(module: str) -> bool:
    """Return whether a module is Python's or torch's: what it keeps is not the program's state."""
    top = module.partition(".")[0]
    return (top in sys.stdlib_module_names and top != "__main__") or top in ("torch", "triton", "fxscope")


def _names_in(code: types.CodeType) -> set[str]:
    """The global names (and attributes) that a function uses, with the functions inside it."""
    inner = [_names_in(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*inner)


def _slots_of(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if not name.startswith("__")]


def _parts(tensor: torch.Tensor) -> dict[str, torch.Tensor]:
    """The tensors that a tensor consists of; none where it has memory of its own."""
    if is_traceable_wrapper_subclass(tensor):
        return {name: getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]}
    names = ("values",) if tensor.is_nested else _PARTS.get(tensor.layout, ())
    return {name: getattr(tensor, name)() for name in names}


def _is_written(tensor: torch.Tensor, version: int | None) -> str | None:
    return None if version == tensor._version else f"a {type(tensor).__name__} that was written in place"


def _is_moved(iterator: Any, length: int, attributes: dict[str, Any]) -> str | None:
    kept = length >= 0 and length_hint(iterator, -1) == length  # which of a DataLoader is constant
    kept = kept and all(item is attributes.get(name) for name, item in getattr(iterator, "__dict__", {}).items())
    return None if kept else f"a {type(iterator).__name__}, which cannot be set back"


def _put_array(array: Any, before: Any) -> str | None:
    if array.shape != before.shape or array.dtype != before.dtype:
        return "an array of another shape"
    if array.tobytes() != before.tobytes():
        array[...] = before
    return None


def _put_items(container: Any, before: list[Any]) -> None:
    def ids(items: Iterable[Any]) -> list[Any]:
        return [tuple(map(id, item)) for item in items] if isinstance(container, dict) else list(map(id, items))

    if ids(container.items() if isinstance(container, dict) else container) != ids(before):
        container.clear()
        (container.extend if isinstance(container, (list, collections.deque)) else container.update)(before)


def _put_flags(tensor: torch.Tensor, requires_grad: bool, gradient: torch.Tensor | None) -> None:
    if not tensor.is_leaf:
        tensor.detach_()
    if tensor.requires_grad != requires_grad:
        tensor.requires_grad_(requires_grad)
    if tensor.grad is not gradient:
        tensor.grad = gradient


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    place = tensor.untyped_storage()._cdata, tensor.storage_offset()
    return *place, tensor.shape, tensor.stride(), tensor.dtype, tensor.device


def _put_place(tensor: torch.Tensor, alias: torch.Tensor, before: tuple[Any, ...], num_bytes: int) -> str | None:
    if alias is not tensor and alias.untyped_storage().nbytes() != num_bytes:
        alias.untyped_storage().resize_(num_bytes)
    if alias is not tensor and _place(tensor) != before:
        tensor.data = alias
    return None if _place(tensor) == before else "it has other memory"


def _bytes_of(storage: Any) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _put_bytes(storage: Any, copy: torch.Tensor) -> None:
    current = _bytes_of(storage)
    if not torch.equal(current.cpu(), copy):
        current.copy_(copy)
