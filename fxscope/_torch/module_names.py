"""The names of modules and of their tensors, by address and time; nothing is kept alive."""

import gc
import sys
import time
import weakref
from collections.abc import Iterable, Mapping
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


class _Module:
    """A module, which may be gone by now: an address is the next one's from then on."""

    def __init__(self, module: Any) -> None:
        self.kind, self.until = type(module).__name__, sys.maxsize
        self.owners: dict[_Module, str] = {}  # → the name there
        self.alive = weakref.ref(module, self._ends)

    def _ends(self, _: object) -> None:
        self.until = time.time_ns()


class ModuleNames:
    """The paths of modules: those alive at the start, and those built meanwhile.

    torch tells of a part when it is given to its module (a public hook of construction, not of calls).
    """

    def __init__(self) -> None:
        self._known: dict[int, list[_Module]] = {}  # address → modules that it was, one after the other
        self.tensors: dict[int, str] = {}  # TensorImpl → name
        self._paths: dict[tuple[_Module, int], str | None] = {}

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

    def add(self, model: torch.nn.Module) -> None:
        for owner in model.modules():
            self._note_parts(owner)
        self.name_tensors((*model.named_parameters(), *model.named_buffers()))

    def name_tensors(self, named: Iterable[tuple[str, torch.Tensor]]) -> None:
        for name, tensor in named:
            self.tensors.setdefault(tensor._cdata, name)

    def of_module(self, call: ModuleCall) -> tuple[str | None, str | None]:
        """Return the path of a module from the outermost one, and its class; None where they are not known."""
        module = self._module(call.address, call.at)
        if module is not None:
            if (module, call.root) not in self._paths:
                self._paths[module, call.root] = self._path(module, self._module(call.root, call.at))
            return self._paths[module, call.root], module.kind
        is_other = call.address in self._known  # by now, or before
        return "" if call.address == call.root else None, None if is_other else call.kind

    def read(self, parameters: Iterable[tuple[ModuleCall, Mapping[str, int]]]) -> None:
        """Take the names of tensors from modules that were called: name → TensorImpl."""
        for call, named in parameters:
            path, module = self.of_module(call)[0], self._module(call.address, call.at)
            prefix = f"{path}." if path else ""
            buffers = vars(alive).get("_buffers", {}) if module and (alive := module.alive()) is not None else {}
            addresses = {name: tensor._cdata for name, tensor in buffers.items() if tensor is not None}
            for name, impl in (*named.items(), *addresses.items()):
                self.tensors.setdefault(impl, f"{prefix}{name}")

    def note_called(self, model: Any) -> None:
        """Note a module that no other one calls; torch does not tell of parts of a copy."""
        if not (known := self._known.get(id(model))) or known[-1].alive() is not model:
            self._noted(model)
            for owner in torch.nn.Module.modules(model):
                self._note_parts(owner)

    def _note_parts(self, owner: Any) -> None:
        for name, part in vars(owner).get("_modules", {}).items():
            self._note(owner, name, part)

    def _note(self, owner: Any, name: str, part: Any) -> None:
        if part is not None:
            self._noted(part).owners[self._noted(owner)] = name  # `layers[:2]` makes a list that owns these layers too

    def _noted(self, module: Any) -> _Module:
        known = self._known.setdefault(id(module), [])
        if not known or known[-1].alive() is not module:
            known.append(_Module(module))
        return known[-1]

    def _module(self, address: int, at: int) -> _Module | None:
        return next((item for item in self._known.get(address, ()) if at < item.until), None)

    def _path(self, module: _Module, root: _Module | None) -> str | None:
        todo: list[tuple[_Module, tuple[str, ...]]] = [(module, ())]
        seen = set[_Module]()
        for here, names in todo:
            if here is root:
                return ".".join(name for name in names if name != "_orig_mod")  # of `torch.compile`'s wrapper
            if here not in seen:
                todo += [(owner, (name, *names)) for owner, name in here.owners.items()]
            seen.add(here)
        return None
