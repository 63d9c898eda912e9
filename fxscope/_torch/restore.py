"""Restore what a function changes that is run more than once.

A walk from the model and its inputs follows attributes, containers, closures, defaults, and classes and names of the program's
own files. What changed is written back; what cannot be (iterators, caches, what threads share) is a problem. Tensors are
kept as bytes in the host's memory, outside a device's peak.
"""

import array
import collections
import contextlib
import contextvars
import copy
import gc
import io
import random
import sys
import threading
import types
import weakref
from collections.abc import Callable, Generator, Iterator
from functools import _lru_cache_wrapper, partial
from itertools import chain
from operator import length_hint
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from fxscope._torch.environment import available_bytes
from fxscope._torch.hooks import exists, resolve, switches
from fxscope._torch.steps import is_library_file
from fxscope.data import read_table
from fxscope.errors import one_line
from fxscope.model import Problem

MAX_OBJECTS = 200_000
_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size, torch.layout)
_WEAK = (weakref.ref, *weakref.ProxyTypes)
_ATOMS = (*_PLAIN, *_LOCKS, types.CodeType)
_CONTAINERS = (list, collections.deque, set, collections.OrderedDict, dict)
_WITH_STATE = (torch.Generator, random.Random, io.BytesIO, io.StringIO)
_MEMBER = types.MemberDescriptorType  # of `__slots__`
_OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")
_ON_HEAP = 1 << 9  # types that are not written in C
_TABLES = read_table("torch_state.json")


@contextlib.contextmanager
def restored(model: Any, inputs: Any, kwargs: Any) -> Generator[list[Problem]]:
    """Restore afterwards what running a model changed; yield the list of what could not be."""
    problems: list[Problem] = []
    settings, state = _State(), _State()
    settings.keep_settings()
    with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
        objects = [(name, path) for name, path in _TABLES["objects"].items() if path.partition(":")[0] in sys.modules]
        state.keep([(name, resolve(path)[2]) for name, path in objects if exists(path)])
        state.keep([("model", model), ("inputs", inputs), ("kwargs", kwargs)])
    try:
        yield problems
    finally:
        lost = settings.restore()
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            lost += state.restore()
        problems += state.problems(lost)


def _default_device() -> Any:
    """The device that the program set, None where it set none: setting one puts a mode around all its functions."""
    return getattr(getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None), "device", None)


class _State:
    def __init__(self) -> None:
        self._held: list[tuple[str, Any, Any, Any]] = []  # path, `read`, `write`, what was read
        self._seen: dict[int, Any] = {}  # by id, which stays its own as long as the object is kept
        self._waiting: list[tuple[str, Any]] = []
        self._shared: set[int] = set()  # containers by id
        self._names: set[str] = set()  # that the code uses
        self._unused: dict[str, list[tuple[str, Any]]] = {}  # by name: what no code that was seen uses
        self._slots: dict[type, list[str]] = {}
        self._storages: set[int] = set()
        self._spare = available_bytes() // 2
        self._uncopied, self._unread = 0, ""  # bytes; the first object whose attributes cannot be read

    def hold(self, path: str, read: Any, write: Any = None, before: Any = ...) -> None:
        """Restore what `read` gives, always where there is no `read`; where there is no `write`, only compare."""
        self._held.append((path, read, write, read() if before is ... else before))

    def hold_names(self, path: str, read: Callable[[], dict[str, Any]], put: Any, remove: Any) -> dict[str, Any]:
        before = read()

        def write(_: Any) -> None:
            now = read()
            for name in now.keys() - before.keys():
                remove(name)
            for name, item in before.items():
                if not _is_same((now.get(name, ...),), (item,)):
                    put(name, item)

        self.hold(path, read, write, before)
        return before

    def restore(self) -> list[str]:
        lost: dict[str, None] = {}
        for path, read, write, before in self._held:
            why = ""
            try:
                with contextlib.suppress(RuntimeError):  # torch names no precision that was set in two ways
                    if read is not None and _is_same(read(), before):
                        continue
                if write is not None:
                    write(before)
                if read is None or _is_same(read(), before):
                    continue
            except Exception as error:
                why = f": {one_line(error)}"
            lost[path.rstrip(".") + why] = None
        return list(lost)

    def problems(self, lost: list[str]) -> Iterator[Problem]:
        remedy = "call it inside `with fxscope.record()`, which runs it once"
        if lost:
            more = f" (and {len(lost) - 3} more)" if len(lost) > 3 else ""
            message = f"running it changed what could not be restored: {'; '.join(lost[:3])}{more}"
            yield Problem(where="state", message=message, remedy=remedy)
        if self._uncopied or self._unread or len(self._seen) > MAX_OBJECTS:
            what = self._unread or f"objects beyond the first {MAX_OBJECTS:,}"
            what = f"{self._uncopied / 1e9:.3g} GB of tensors" if self._uncopied else what
            message = f"{what} were not copied before the runs, so changes to them stay"
            yield Problem(where="state", message=message, remedy=remedy)

    def keep_settings(self) -> None:
        """Keep settings of the process and the thread; one without a setter is only compared."""
        self.hold("default device", _default_device, torch.set_default_device)  # which is a function mode
        found = dict(_TABLES["settings"])
        for module, mark in _TABLES["getters"].items():  # each with a setter of the same name
            start = f"{mark}get_"
            names = [name.removeprefix(start) for name in dir(sys.modules.get(module)) if name.startswith(start)]
            found |= {name: (f"{module}:{mark}get_{name}", f"{module}:{mark}set_{name}") for name in names}
        for path in _TABLES["configs"]:
            with contextlib.suppress(Exception):  # Dynamo cannot be imported everywhere
                config = resolve(f"{path}:_config")[0]
                self.hold_names(path, partial(switches, path), partial(setattr, config), partial(delattr, config))
        for name, (getter, setter, *arguments) in found.items():
            with contextlib.suppress(Exception):  # this torch may not have it; some need an argument or a device
                get, put = (path and partial(resolve(path)[2], *arguments) for path in (getter, setter))
                self.hold(name, get, put)

    def keep(self, roots: list[tuple[str, Any]]) -> None:
        self._waiting += roots[::-1]
        while self._waiting and len(self._seen) <= MAX_OBJECTS:
            path, value = self._waiting.pop()
            if issubclass(type(value), _WEAK):
                value = _target(value)
            if isinstance(value, _ATOMS) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            try:
                self._waiting += [(f"{path}{name}", item) for name, item in self._kept(path, value)]
            except Exception as error:
                self._unread = self._unread or f"attributes of {path} ({one_line(error)})"

    def _kept(self, path: str, value: Any) -> list[tuple[str, Any]]:
        """Keep one object; return what it leads to, with what to put behind its path."""
        kind = type(value)  # has the attributes without asking a `__getattr__` of the program's
        if isinstance(value, types.ModuleType):
            return [("", vars(value))] if _is_own(value) else []
        if isinstance(value, type):
            return self._keep_class(path, value) if _is_own(value) else []
        if kind.__module__ == "torch._dynamo.eval_frame" and isinstance(value, torch.nn.Module):
            return [("", value._modules["_orig_mod"])]
        if isinstance(value, torch.jit.ScriptModule):
            return self._keep_script(path, value)
        if isinstance(value, dict) and "__builtins__" in value:
            return self._keep_globals(path, value)
        if isinstance(value, torch.Tensor):
            found = self._keep_tensor(path, value)
        elif isinstance(value, types.FunctionType):
            found = self._keep_function(path, value)
        elif isinstance(value, _CONTAINERS):
            found = self._keep_container(path, value)
        elif isinstance(value, (tuple, frozenset)):
            found = _items(path, value)
        else:
            found = self._keep_opaque(path, value)
        return found + self._keep_attributes(path, value)

    def _keep_class(self, path: str, kind: type) -> list[tuple[str, Any]]:
        put, remove = partial(type.__setattr__, kind), partial(type.__delattr__, kind)
        before = self.hold_names(path, lambda: dict(vars(kind)), put, remove)
        found = [(f".{name}", item) for name, item in before.items()]
        return found + [("", base) for base in (type(kind), *kind.__bases__)]

    def _keep_globals(self, path: str, live: dict[str, Any]) -> list[tuple[str, Any]]:
        """Keep what names stand for in a module; a new name stays if no code uses it (Dynamo's), or if it is a module."""
        names = set(live)

        def read() -> dict[str, Any]:
            new = {name for name in live.keys() & self._names if not isinstance(live[name], types.ModuleType)}
            return {name: live[name] for name in live.keys() & (names | new)}

        before = self.hold_names(path, read, live.__setitem__, live.__delitem__)
        for name in before.keys() - self._names:
            self._unused.setdefault(name, []).append((f"{path}.{name}", before[name]))
        return [(f".{name}", before[name]) for name in before.keys() & self._names]

    def _keep_function(self, path: str, function: types.FunctionType) -> list[tuple[str, Any]]:
        if (inner := getattr(function, "_torchdynamo_orig_callable", None)) is not None:
            return [("", inner)]
        found: list[tuple[str, Any]] = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            put, remove = partial(setattr, cell), partial(delattr, cell)
            before = self.hold_names(f"{path} closure {name}", partial(_in_cell, cell), put, remove)
            found += [(f" closure {name}", item) for item in before.values()]
        if not is_library_file(function.__code__.co_filename):
            for name in _names_in(function.__code__) - self._names:
                self._names.add(name)
                self._waiting += self._unused.pop(name, ())
            found.append((" global", function.__globals__))
        return found

    def _keep_container(self, path: str, container: Any) -> list[tuple[str, Any]]:
        """Keep a list, a set or a dict; what holds a lock is shared by threads, so it is only compared."""
        items = _items(path, container)
        if is_shared := id(container) in self._shared or any(issubclass(type(item), _LOCKS) for _, item in items):
            self._shared |= {id(item) for _, item in items if isinstance(item, _CONTAINERS)}
        write = None if is_shared else partial(_put_contents, container)
        self.hold(path, partial(_contents, container), write)
        return items

    def _keep_opaque(self, path: str, value: Any) -> list[tuple[str, Any]]:
        """Keep an object written in C: by what it offers, else compare what shows its use and return what it refers to."""
        kind, path = type(value), f"{path} ({type(value).__name__})"
        top = kind.__module__.partition(".")[0]
        get, put = next((pair for pair in _TABLES["states"] if all(hasattr(kind, name) for name in pair)), ("", ""))
        place = ... if (is_array := hasattr(kind, "__array_interface__")) else slice(None)
        if is_array or isinstance(value, (bytearray, array.array)):
            if (not is_array or value.flags.writeable) and self._has_space(value.nbytes if is_array else len(value)):
                self.hold(path, None, partial(value.__setitem__, place), before=copy.copy(value))
            return [("[…]", item) for item in value.flat] if is_array and value.dtype.hasobject else []
        with contextlib.suppress(TypeError, ValueError, BufferError), memoryview(value) as view:
            if not view.readonly and self._has_space(view.nbytes):  # of ctypes, of a file in memory
                self.hold(path, None, lambda kept: io.BytesIO(kept).readinto(value), view.tobytes())
        if top == "numpy" and hasattr(type(bits := getattr(value, "bit_generator", value)), "state"):
            self.hold(path, None, partial(setattr, bits, "state"), before=bits.state)
        elif get and (top == "numpy" or isinstance(value, _WITH_STATE)):
            self.hold(path, None, getattr(value, put), before=getattr(value, get)())
        elif use := _use_of(value):
            was_empty = isinstance(value, _lru_cache_wrapper) and not use[0]
            self.hold(path, partial(_use_of, value), (lambda _: value.cache_clear()) if was_empty else None, use)
        return [] if top == "numpy" else [("", item) for item in _referents(value)]

    def _keep_attributes(self, path: str, value: Any) -> list[tuple[str, Any]]:
        kind = type(value)
        if kind not in self._slots:
            members = [name for base in kind.__mro__ for name, item in vars(base).items() if isinstance(item, _MEMBER)]
            own = _OF_FUNCTIONS if kind is types.FunctionType else ()
            self._slots[kind] = ["__class__", "__dict__", *own, *(name for name in members if name[:2] != "__")]
        names = self._slots[kind] if kind.__dictoffset__ or kind.__flags__ & _ON_HEAP else []

        def read() -> dict[str, Any]:
            return {name: getattr(value, name) for name in names if hasattr(value, name)}

        put, remove = partial(object.__setattr__, value), partial(object.__delattr__, value)
        before = self.hold_names(path, read, put, remove) if names else {}
        return [("." if name == "__dict__" else f".{name}", item) for name, item in before.items()]

    def _keep_script(self, path: str, module: Any) -> list[tuple[str, Any]]:
        before = {name: module._c.getattr(name) for name in module._concrete_type.get_attributes()}
        for name, item in before.items():
            self.hold(f"{path}.{name}", None, partial(module._c.setattr, name), before=item)
        tensors = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
        return [(f".{name}", item) for name, item in (*tensors, *before.items(), *module.named_children())]

    def _keep_tensor(self, path: str, tensor: torch.Tensor) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        try:
            found = [(f".{name}", item) for name, item in _parts(tensor).items()]
            if not found and not tensor.is_meta:
                self._keep_memory(path, tensor)
        except Exception:  # of a kind that has no memory of its own
            self.hold(path, lambda: tensor._version)
        if tensor.is_inference():
            return found
        names = ["grad_fn", "retains_grad", "requires_grad", "_backward_hooks", "_post_accumulate_grad_hooks"]

        def read() -> dict[str, Any]:
            has_grad = tensor.is_leaf or tensor.retains_grad
            return {name: getattr(tensor, name) for name in (*names, *(("grad",) if has_grad else ()))}

        def put(name: str, item: Any) -> None:
            if name == "grad_fn" and item is None:
                tensor.detach_()
            elif name not in ("grad_fn", "retains_grad"):  # a problem, as they cannot be set
                setattr(tensor, name, item)

        before = self.hold_names(path, read, put, lambda _: None)
        return [*found, *((f".{name}", item) for name, item in before.items())]

    def _keep_memory(self, path: str, tensor: torch.Tensor) -> None:
        alias = tensor if tensor.is_inference() else tensor.data
        storage = tensor.untyped_storage()
        num_bytes = storage.nbytes()

        def write(_: Any) -> None:
            if alias is not tensor and alias.untyped_storage().nbytes() != num_bytes:
                alias.untyped_storage().resize_(num_bytes)
            tensor.data = alias

        self.hold(path, partial(_place, tensor), write)
        if num_bytes and storage.data_ptr() not in self._storages and self._has_space(num_bytes):
            kept = _bytes_of(storage).to("cpu", copy=True)
            self.hold(path, lambda: _bytes_of(storage).cpu(), lambda kept: _bytes_of(storage).copy_(kept), kept)
        self._storages.add(storage.data_ptr())

    def _has_space(self, num_bytes: int) -> bool:
        self._spare -= num_bytes
        self._uncopied += num_bytes if self._spare < 0 else 0
        return self._spare >= 0


def _is_own(owner: Any) -> bool:
    """Return whether a module, or a class, is the program's: not of an installed package, or made while it runs."""
    module = owner
    if isinstance(owner, type):
        if not owner.__flags__ & _ON_HEAP:
            return False
        module = found = sys.modules.get(owner.__module__)
        for name in owner.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is not owner:
            return True
    file = getattr(module, "__file__", None)
    return module is sys.modules["__main__"] or (file is not None and not is_library_file(file))


def _names_in(code: types.CodeType) -> set[str]:
    """The names of globals and attributes that a function uses, also as texts, with the functions inside it."""
    inner = [_names_in(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union((text for text in code.co_consts if isinstance(text, str)), *inner)


def _parts(tensor: torch.Tensor) -> dict[str, torch.Tensor]:
    """The tensors that a tensor consists of; none where it has memory of its own."""
    if is_traceable_wrapper_subclass(tensor):
        return {name: getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]}
    names = ("values",) if tensor.is_nested else _TABLES["parts"].get(f"{tensor.layout}", ())
    return {name: getattr(tensor, name)() for name in names}


def _items(path: str, container: Any) -> list[tuple[str, Any]]:
    """Return what a container holds, each with its place; none where all are numbers and texts."""
    is_dict = isinstance(container, dict)
    found = [(" key", key) for key in container if is_dict and not isinstance(key, _PLAIN)]
    if {*map(type, container.values() if is_dict else container)} <= {*_PLAIN}:
        return found
    if path.endswith("."):  # attributes
        return [(f"{name}", item) for name, item in container.items()]
    pairs = container.items() if is_dict else enumerate(container)
    return found + [(f"[{key!r}]" if isinstance(key, (str, int)) else "[…]", item) for key, item in pairs]


def _contents(container: Any) -> tuple[Any, ...]:
    items = sorted(container, key=id) if isinstance(container, set) else container
    return tuple(chain(*items.items()) if isinstance(items, dict) else items)


def _put_contents(container: Any, before: tuple[Any, ...]) -> None:
    """Fill a container by its built-in type's methods: a subclass may have others."""
    kind: Any = next(kind for kind in _CONTAINERS if isinstance(container, kind))
    kind.clear(container)
    if isinstance(container, dict):
        for key, item in zip(before[::2], before[1::2], strict=True):
            kind.__setitem__(container, key, item)
    else:
        getattr(kind, "update" if kind is set else "extend")(container, before)


def _use_of(value: Any) -> tuple[Any, ...]:
    """Return what differs once an iterator, a queue or a cache was used; empty for others."""
    if isinstance(value, types.GeneratorType):
        return getattr(value.gi_frame, "f_lasti", None), *gc.get_referents(value)
    if isinstance(value, _lru_cache_wrapper):
        return value.cache_info().currsize, value.cache_info().misses
    if isinstance(value, Iterator):
        return length_hint(value, -1), repr(value) if type(value).__module__ == "itertools" else ""
    if isinstance(value, contextvars.ContextVar):
        return (value.get(None),)
    return (value.qsize(),) if hasattr(type(value), "qsize") else ()


def _referents(value: Any) -> list[Any]:
    """Return what an object written in C leads to: of a cache what is in its dict, of a gradient's graph its tensors."""
    if hasattr(type(value), "next_functions"):
        return [getattr(value, "variable", None), *dict(value.next_functions)]
    found = gc.get_referents(value)
    if isinstance(value, _lru_cache_wrapper):
        return [*chain(*(item.values() if isinstance(item, dict) else [item] for item in found))]
    return found


def _target(weak: Any) -> Any:
    """Return what a weak reference, or a proxy, stands for; None where it is gone."""
    with contextlib.suppress(ReferenceError):
        return weak() if isinstance(weak, weakref.ref) else weak.__repr__.__self__


def _is_same(one: Any, other: Any) -> bool:
    """Compare what was read: items of a tuple or a dict by identity, if they are not numbers or texts."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and _is_same(tuple(map(one.get, other)), tuple(other.values()))
    if isinstance(one, torch.Tensor):  # the bytes of a memory
        return torch.equal(one, other)
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        return one == other
    pairs = [(a, b) for a, b in zip(one, other, strict=False) if a is not b]
    return len(one) == len(other) and all(type(a) is type(b) and isinstance(a, _PLAIN) and a == b for a, b in pairs)


def _in_cell(cell: types.CellType) -> dict[str, Any]:
    return dict(zip(("cell_contents",), gc.get_referents(cell), strict=False))


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    storage = tensor.untyped_storage()
    place = storage._cdata, storage.nbytes(), storage.is_shared(), tensor.storage_offset(), tensor.dtype, tensor.device
    return *place, tensor.size(), *tensor.stride()


def _bytes_of(storage: Any) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
