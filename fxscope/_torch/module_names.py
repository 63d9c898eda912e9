"""The names of modules and of their tensors, by address; nothing is kept alive."""

import gc
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from fxscope._torch.hooks import Hooks, resolve

REGISTRATION_HOOK = "torch.nn.modules.module:register_module_module_registration_hook"


class ModuleNames:
    """The paths of modules: those alive at the start, and those built meanwhile.

    torch tells of a part when it is given to its module (a public hook of construction, not of calls).
    """

    def __init__(self) -> None:
        self._owners: dict[int, dict[int, str]] = {}  # module → its owners, and the name there
        self._kinds: dict[int, str] = {}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self.tensors: dict[int, str] = {}  # TensorImpl → name
        self._paths: dict[tuple[int, int], str | None] = {}

    def start(self, hooks: Hooks) -> None:
        """Note the modules that live now, and have torch tell of those to come."""
        for owner in gc.get_objects():
            if issubclass(type(owner), torch.nn.Module):
                for name, part in vars(owner).get("_modules", {}).items():
                    self._note(owner, name, part)

        def registered(owner: Any, name: str, part: Any) -> None:
            # Dynamo traces this where compiled code builds modules: it must end here, as a graph break may be an error.
            if not torch.compiler.is_compiling():
                hooks.guard("names of modules", self._note, owner, name, part)

        handle = resolve(REGISTRATION_HOOK)[2](registered)
        hooks.at_end("names of modules", handle.remove)

    def add(self, model: torch.nn.Module) -> None:
        for owner in model.modules():
            for name, part in vars(owner).get("_modules", {}).items():
                self._note(owner, name, part)
        self.name_tensors((*model.named_parameters(), *model.named_buffers()))

    def name_tensors(self, named: Iterable[tuple[str, torch.Tensor]]) -> None:
        for name, tensor in named:
            self.tensors.setdefault(tensor._cdata, name)

    def of_module(self, address: int, kind: str, root: int) -> str | None:
        """Return the path of a module from the outermost one; None where it is not known."""
        if (address, root) not in self._paths:
            self._paths[address, root] = self._path(address, kind, root)
        return self._paths[address, root]

    def read(self, parameters: Mapping[int, tuple[int, Mapping[str, int]]]) -> None:
        """Take the names of tensors from modules that were called: module → outermost module, and name → TensorImpl."""
        for address, (root, named) in parameters.items():
            path = self._path(address, None, root)
            prefix = f"{path}." if path else ""
            module = self._alive.get(address, lambda: None)()
            buffers = vars(module).get("_buffers", {}) if module is not None and id(module) == address else {}
            addresses = {name: tensor._cdata for name, tensor in buffers.items() if tensor is not None}
            for name, impl in (*named.items(), *addresses.items()):
                self.tensors.setdefault(impl, f"{prefix}{name}")

    def _note(self, owner: Any, name: str, part: Any) -> None:
        if part is None:
            return
        known = self._owners.get(id(part), {}) if self._alive.get(id(part), lambda: None)() is part else {}
        # `layers[:2]` makes a list that owns these layers too.
        others = {address: named for address, named in known.items() if self._alive[address]() is not None}
        self._owners[id(part)] = {**others, id(owner): name}
        self._kinds[id(part)] = type(part).__name__
        for module in (owner, part):
            self._alive[id(module)] = weakref.ref(module)

    def _path(self, address: int, kind: str | None, root: int) -> str | None:
        if kind is not None and self._kinds.get(address, kind) != kind:
            return None  # another module has the address by now
        todo: list[tuple[int, tuple[str, ...]]] = [(address, ())]
        seen = set[int]()
        for here, names in todo:
            if here == root:
                return ".".join(name for name in names if name != "_orig_mod")  # of `torch.compile`'s wrapper
            if here not in seen:
                todo += [(owner, (name, *names)) for owner, name in self._owners.get(here, {}).items()]
            seen.add(here)
        return None
