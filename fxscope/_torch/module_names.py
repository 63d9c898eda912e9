"""The names of modules and of their tensors, by address and time; nothing is kept alive."""

import gc
import sys
import time
import weakref
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from fxscope._torch.hooks import Hooks, resolve

REGISTRATION_HOOK = "torch.nn.modules.module:register_module_module_registration_hook"


class ModuleCall(NamedTuple):
    """A module that was called, as the profiler knows it: it reads the class at the first call at an address."""

    address: int
    kind: str
    root: int  # address of the outermost module
    at: int  # nanoseconds, as of `time.time_ns`


class ObjectKey:
    """Stands for an object of the program, which may be gone by now: its address is the next one's from then on."""

    def __init__(self, owner: Any) -> None:
        self.kind, self.until = type(owner).__name__, sys.maxsize
        self.owners: dict[ObjectKey, str] = {}  # of a module → the name there
        self.alive = weakref.ref(owner, lambda _: setattr(self, "until", time.time_ns()))


class ModuleNames:
    """The paths of modules: those alive at the start, and those built meanwhile (torch's public hook of construction)."""

    def __init__(self) -> None:
        self._at: dict[int, list[ObjectKey]] = {}  # address → objects there, one after the other
        self.tensors: dict[int, str] = {}  # TensorImpl → name
        self._paths: dict[tuple[ObjectKey, ObjectKey | None], str | None] = {}

    def start(self, hooks: Hooks) -> None:
        """Note the modules that live now, and have torch tell of those to come."""
        for owner in gc.get_objects():
            if issubclass(type(owner), torch.nn.Module):
                self._note_parts(owner)

        def registered(owner: Any, name: str, part: Any) -> None:
            # Dynamo traces this where compiled code builds modules: it must end here, as a graph break may be an error.
            if not torch.compiler.is_compiling():
                hooks.guard("names of modules", self._note, owner, name, part)

        handle = resolve(REGISTRATION_HOOK)[2](registered)
        hooks.at_end("names of modules", handle.remove)

    def key_of(self, owner: Any) -> ObjectKey:
        here = self._at.setdefault(id(owner), [])
        if not here or here[-1].alive() is not owner:
            here.append(ObjectKey(owner))
        return here[-1]

    def add(self, model: torch.nn.Module) -> None:
        self.noted(model)
        self.name_tensors((*model.named_parameters(), *model.named_buffers()))

    def name_tensors(self, named: Iterable[tuple[str, torch.Tensor]]) -> None:
        for name, tensor in named:
            self.tensors.setdefault(tensor._cdata, name)

    def of_module(self, call: ModuleCall) -> tuple[str | None, str | None]:
        """Return the path of a module from the outermost one, and its class; None where they are not known."""
        module, root = self.key_at(call.address, call.at), self.key_at(call.root, call.at)
        if module is not None:
            if (module, root) not in self._paths:
                self._paths[module, root] = self._path(module, root)
            return self._paths[module, root], module.kind
        is_other = call.address in self._at  # by now, or before
        return "" if call.address == call.root else None, None if is_other else call.kind

    def of_calls(self, calls: Sequence[tuple[int, ModuleCall]]) -> list[tuple[int, str]]:
        """Return when which module was called: its number, or the class of one that was called once, as `nn.ReLU()(x)`."""
        keys = [self.key_at(call.address, call.at) or call.address for _, call in calls]
        counts = Counter(keys)
        every = zip(keys, calls, strict=True)
        return [(at, f"{key if counts[key] > 1 else getattr(key, 'kind', call.kind)}") for key, (at, call) in every]

    def read(self, parameters: Iterable[tuple[ModuleCall, Mapping[str, int]]]) -> None:
        """Take the names of tensors from modules that were called: name → TensorImpl."""
        for call, named in parameters:
            path, module = self.of_module(call)[0], self.key_at(call.address, call.at)
            prefix = f"{path}." if path else ""
            buffers = vars(alive).get("_buffers", {}) if module and (alive := module.alive()) is not None else {}
            addresses = {name: tensor._cdata for name, tensor in buffers.items() if tensor is not None}
            for name, impl in (*named.items(), *addresses.items()):
                self.tensors.setdefault(impl, f"{prefix}{name}")

    def noted(self, model: Any) -> ObjectKey:
        """Return the key of a module that no other one calls; torch does not tell of parts of a copy."""
        is_new = self.key_at(id(model), time.time_ns()) is None
        for owner in torch.nn.Module.modules(model) if is_new else ():
            self._note_parts(owner)
        return self.key_of(model)

    def _note_parts(self, owner: Any) -> None:
        for name, part in vars(owner).get("_modules", {}).items():
            self._note(owner, name, part)

    def _note(self, owner: Any, name: str, part: Any) -> None:
        if part is not None:
            self.key_of(part).owners[self.key_of(owner)] = name  # `layers[:2]` makes a list that owns these layers too

    def key_at(self, address: int, at: int) -> ObjectKey | None:
        """Return the key of the object that was at an address, if it was noted; `at` as of `time.time_ns`."""
        here = self._at.get(address, ())
        place = bisect_right(here, at, key=lambda item: item.until)
        return here[place] if place < len(here) else None

    def _path(self, module: ObjectKey, root: ObjectKey | None) -> str | None:
        todo: list[tuple[ObjectKey, tuple[str, ...]]] = [(module, ())]
        seen = set[ObjectKey]()
        for here, names in todo:
            if here is root:
                return ".".join(name for name in names if name != "_orig_mod")  # of `torch.compile`'s wrapper
            if here not in seen:
                todo += [(owner, (name, *names)) for owner, name in here.owners.items()]
            seen.add(here)
        return None
