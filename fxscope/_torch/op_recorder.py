"""The ops of an eager program as the dispatcher calls them: storages, aliases, mutation, the user's line, the module.

`OpRecorder` is a `TorchDispatchMode`: it sees each op below autograd and above the backend, and what it sees are facts
of this run, not of the op's schema: an output that shares its input's storage is a view, whatever the op is called.
What nests in what is the profiler's knowledge; each op that passed through the mode leaves a `PythonDispatchMode`
event in the trace, in the same order, so the two join exactly (`fxscope.readers.eager_graph`).

What it does not know it steps aside for: a higher-order op (`torch.cond`, flex attention) runs as it would without the
mode, and is counted; an op of a tensor subclass is the subclass's, and the ops that the subclass calls are seen.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from fxscope._torch import nodes as live
from fxscope._torch.hooks import of_a_signal
from fxscope._torch.steps import CALL_BEGINS, mark
from fxscope.model import Item, Problem, Source, TensorMeta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_OPS = 20_000
STEPPED_ASIDE = "fxscope: stepped aside"  # the event in a trace around what ran without the mode
_NO_DISPATCH = torch._C._disabled_torch_dispatch_impl  # what a class has that leaves its ops to the dispatcher
_CALL_MODULE = torch.nn.Module._call_impl.__code__
_NO_SEQUENCE = 2**63  # what autograd says for nodes without a number


class SeenTensor(Item, frozen=True, kw_only=True):
    """A tensor that went into or came out of an op."""

    meta: TensorMeta
    storage: int  # the same number, the same memory
    producer: int | None = None  # position of the op whose output this is; None where it came from outside
    name: str | None = None  # of a parameter, a buffer or an input, where it is one


class SeenOp(Item, frozen=True, kw_only=True):
    """One op that went through the dispatcher."""

    position: int
    name: str  # "aten::addmm"
    overload: str | None = None
    inputs: tuple[SeenTensor, ...] = ()
    outputs: tuple[SeenTensor, ...] = ()
    aliases: tuple[int, ...] = ()  # positions in `inputs` whose storage an output shares
    mutates: tuple[int, ...] = ()  # positions in `inputs` that were written
    arguments: str | None = None
    source: Source | None = None
    sequence_number: int | None = None
    backward: bool = False


class OpRecorder(TorchDispatchMode):
    """Write down every op while the context is open; see the module.

    Args:
        names: names of tensors that the program was given (parameters, inputs), by `id`.
        module_names: module paths by `id` of the module.
        max_ops: after this many, ops only pass through.
    """

    def __init__(
        self, *, names: dict[int, str] | None = None, module_names: dict[int, str] | None = None, max_ops: int = MAX_OPS
    ) -> None:
        super().__init__()
        self.ops: list[SeenOp] = []
        self.num_passed = 0  # every op, recorded or not
        self._names = names or {}
        self._module_names = dict(module_names or {})
        self._roots: dict[int, Any] = {}
        self._max_ops = max_ops
        self._storages: dict[int, tuple[int, Any]] = {}  # address → (our number, a weak reference that keeps it taken)
        self._views: dict[tuple[Any, ...], int] = {}
        self._writers: dict[int, int] = {}
        self._sources: dict[int, Source] = {}  # of forward ops, by sequence number
        self._next_storage = 0
        self._outer: dict[int, int] = {}  # modules that no module called, numbered, by id
        self.on_full: Callable[[], object] | None = None  # called once, inside an op, at the bound
        self.is_crowded: Callable[[], bool] = lambda: False  # whether another bound is reached
        self._failed: dict[str, dict[str, int]] = {}  # what went wrong → in which ops, how often
        self.asides: dict[str, int] = {}  # higher-order ops, and how often each ran unobserved
        self._lock = threading.RLock()  # a signal handler may come while it is held

    supports_higher_order_operators = True  # without it torch refuses to run them under a mode

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let `torch.compile` compile under the mode; what the compiled code calls is seen (torch 2.10 and later)."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.num_passed += 1
        try:
            if (tell := self.on_full) is not None and (len(self.ops) >= self._max_ops or self.is_crowded()):
                self.on_full = None
                tell()
        except Exception as error:
            self._problem("the end of the observation", error)
        if not isinstance(func, torch._ops.OpOverload):
            return self._aside(str(getattr(func, "_name", None) or func), func, args, kwargs)
        if any(kind.__torch_dispatch__ is not _NO_DISPATCH for kind in types):
            return self._subclass(func, types, args, kwargs)
        if len(self.ops) >= self._max_ops:
            return func(*args, **kwargs)
        before = source = None
        try:
            source = self._here()  # first: a module that is new brings the names of its parameters
            before = self._before(func, args, kwargs)
        except Exception as error:  # observing must not break the observed
            self._problem(func, error)
        result = func(*args, **kwargs)
        if before is not None:
            try:
                self._after(func, before, args, kwargs, result, source)
            except Exception as error:
                self._problem(func, error)
        return result

    def mute(self) -> None:
        """Let every further op pass through unrecorded."""
        self._max_ops = 0

    @property
    def problems(self) -> list[Problem]:
        """What could not be written down, one problem for each kind of failure."""
        found: list[Problem] = []
        for message, ops in self._failed.items():
            names = ", ".join(list(ops)[:4]) + (f" and {len(ops) - 4} more" if len(ops) > 4 else "")
            calls = sum(ops.values())
            found.append(
                Problem(where=f"eager op {names}", message=f"{message} (calls written down without tensors: {calls})")
            )
        if self.asides:
            names = ", ".join(f"{name} ({count}×)" for name, count in sorted(self.asides.items()))
            found.append(
                Problem(
                    where="ops that need the mode out of their way",
                    message=f"{names} ran unobserved: of the ops inside, the profiler's names and times are known, "
                    "not their tensors",
                )
            )
        return found

    def _subclass(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Let a subclass take its op: its `__torch_dispatch__` runs under the mode, so the ops that it calls are seen.

        Torch's own modes (fake, functional, proxy tensors) come below this one and must have the op first; DTensor is
        dispatched by C++, which does not come back.
        """
        homes = {base.__module__ for kind in types for base in kind.__mro__}
        if any(home.startswith("torch.distributed.tensor") for home in homes):
            return self._aside("DTensor ops", func, args, kwargs)
        if _get_current_dispatch_mode_stack() or any(home.startswith("torch._subclasses") for home in homes):
            return func(*args, **kwargs)
        return NotImplemented

    def _aside(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        self.asides[name] = self.asides.get(name, 0) + 1
        with torch._C._profiler._RecordFunctionFast(f"{STEPPED_ASIDE} for {name}"):
            return func(*args, **kwargs)

    def _problem(self, func: Any, error: Exception) -> None:
        if of_a_signal(error):
            raise error
        first = str(error).strip().splitlines()
        ops = self._failed.setdefault(f"{type(error).__name__}: {first[0] if first else ''}", {})
        ops[str(func)] = ops.get(str(func), 0) + 1

    def _before(self, func: Any, args: Any, kwargs: Any) -> list[tuple[torch.Tensor, SeenTensor, bool]] | None:
        # The order of reading matters: an in-place op changes what its inputs look like.
        seen: list[tuple[torch.Tensor, SeenTensor, bool]] = []
        for tensor, written in _tensor_arguments(func, args, kwargs):
            if type(tensor).__name__ == "FakeTensor":
                return None  # a compiler is at work
            with self._lock:
                seen.append((tensor, self._seen(tensor), written))
        return seen

    def _after(
        self,
        func: Any,
        before: list[tuple[torch.Tensor, SeenTensor, bool]],
        args: Any,
        kwargs: Any,
        result: Any,
        here: Source | None,
    ) -> None:
        outputs = list(live.leaves(result))
        if any(type(tensor).__name__ == "FakeTensor" for tensor in outputs):
            return
        backward, sequence = _sequence(any(tensor.requires_grad for tensor, _, _ in before))
        source = self._source(backward, sequence, here)
        with self._lock:
            position = len(self.ops)
            made = [self._produced(tensor, position) for tensor in outputs]
            storages = {tensor.storage for tensor in made}
            for tensor, seen, written in before:
                if written:
                    self._writers[seen.storage] = position
                    self._views[self._view_key(tensor, seen.storage)] = position
            schema = func._schema
            self.ops.append(
                SeenOp(
                    position=position,
                    name=schema.name,
                    overload=schema.overload_name or "default",
                    inputs=tuple(seen for _, seen, _ in before),
                    outputs=tuple(made),
                    aliases=tuple(index for index, (_, seen, _) in enumerate(before) if seen.storage in storages),
                    mutates=tuple(index for index, (_, _, written) in enumerate(before) if written),
                    arguments=_arguments(args, kwargs),
                    source=source,
                    sequence_number=sequence,
                    backward=backward,
                )
            )

    # ------------------------------------------------------------------ tensors

    def _number(self, tensor: torch.Tensor) -> int:
        """A number for a tensor's memory that is never given to another."""
        try:
            storage = tensor.untyped_storage()
            address = storage._cdata
        except (RuntimeError, NotImplementedError):  # sparse and other tensors without a storage of their own
            address, storage = -id(tensor), None
        known = self._storages.get(address)
        if known is not None and (known[1] is None or not known[1].expired()):
            return known[0]
        self._next_storage += 1
        # The weak reference keeps the address from being given to another storage, not the memory alive. One whose making
        # is cut short by a RecursionError would complain on stderr: there is none before it is whole.
        weak = StorageWeakRef.from_weakref(storage._weak_ref()) if storage is not None else None
        self._storages[address] = (self._next_storage, weak)
        return self._next_storage

    def _view_key(self, tensor: torch.Tensor, storage: int) -> tuple[Any, ...]:
        meta = live.tensor_meta(tensor)
        return (storage, meta.storage_offset, meta.shape, meta.stride, meta.dtype)

    def _seen(self, tensor: torch.Tensor) -> SeenTensor:
        storage = self._number(tensor)
        producer = self._views.get(self._view_key(tensor, storage), self._writers.get(storage))
        name = self._names.get(id(tensor))
        return SeenTensor(meta=live.tensor_meta(tensor), storage=storage, producer=producer, name=name)

    def _produced(self, tensor: torch.Tensor, position: int) -> SeenTensor:
        storage = self._number(tensor)
        self._views[self._view_key(tensor, storage)] = position
        self._writers.setdefault(storage, position)
        return SeenTensor(meta=live.tensor_meta(tensor), storage=storage, producer=position)

    # ------------------------------------------------------------------ where in the program

    def _source(self, backward: bool, sequence: int | None, here: Source | None) -> Source | None:
        if backward:
            # The backward runs from the `backward()` line; what it belongs to is the forward op with its number.
            return self._sources.get(sequence) if sequence is not None else None
        if here is not None and sequence is not None:
            self._sources.setdefault(sequence, here)
        return here

    def _here(self) -> Source | None:
        """The user's innermost line and the innermost module whose `forward` is running."""
        frame: Any = sys._getframe(1)
        user: Any = None
        outermost: Any = None
        modules: list[Any] = []
        while frame is not None:
            code = frame.f_code
            if user is None and live.is_user_file(code.co_filename) and not code.co_filename.startswith("<"):
                user = (code, frame.f_lineno)
            if code is _CALL_MODULE:  # never a frame of the user's: reading its locals would keep tensors alive
                modules.append(frame.f_locals["self"])
                outermost = frame
            frame = frame.f_back
        if user is None and not modules:
            return None
        if outermost is not None and outermost.f_trace_lines and sys.gettrace() is None:
            # A flag for tracers, which there are none of, tells this call from the next: no reference to it is kept.
            outermost.f_trace_lines = False
            mark(f"{CALL_BEGINS} {self._outer.setdefault(id(modules[-1]), len(self._outer))}")
        path = self._module_path(modules)
        kind = type(modules[0]).__name__ if modules else None
        if user is None:
            return Source(module=path, module_type=kind)
        code, line = user
        return Source(
            file=code.co_filename,
            line=line,
            code=live.code_line(code.co_filename, line),
            function=code.co_name,
            module=path,
            module_type=kind,
        )

    def _module_path(self, modules: list[Any]) -> str | None:
        if not modules:
            return None
        inner, root = modules[0], modules[-1]
        if id(inner) not in self._module_names and id(root) not in self._roots:
            self._roots[id(root)] = root  # kept alive, so that no other module gets its id
            for name, module in root.named_modules():
                self._module_names.setdefault(id(module), name)
            for name, tensor in [*root.named_parameters(), *root.named_buffers()]:
                self._names.setdefault(id(tensor), name)
        return self._module_names.get(id(inner))


def _tensor_arguments(func: Any, args: Any, kwargs: Any) -> Iterator[tuple[torch.Tensor, bool]]:
    """Yield each tensor argument and whether the op's schema says that it is written."""
    arguments = func._schema.arguments
    for index, value in enumerate(args):
        written = index < len(arguments) and _is_written(arguments[index])
        for tensor in live.leaves(value):
            yield tensor, written
    for name, value in kwargs.items():
        argument = next((argument for argument in arguments if argument.name == name), None)
        for tensor in live.leaves(value):
            yield tensor, argument is not None and _is_written(argument)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _sequence(needs_grad: bool) -> tuple[bool, int | None]:
    """(whether autograd's engine is running, the sequence number of the forward op).

    In the forward, autograd has already made the op's node: its number is the last one given. In the backward the node
    that runs has the number of the forward op that made it.
    """
    node: Any = torch._C._current_autograd_node()
    if node is not None:
        number = node._sequence_nr()
        return True, number if number < _NO_SEQUENCE else None
    number = torch._C._autograd._get_sequence_nr()
    return False, number - 1 if needs_grad and number > 0 and torch.is_grad_enabled() else None


def _arguments(args: Any, kwargs: Any) -> str:
    parts = [_argument(value) for value in args] + [f"{name}={_argument(value)}" for name, value in kwargs.items()]
    text = ", ".join(parts)
    return text if len(text) <= 200 else text[:199] + "…"


def _argument(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_argument(item) for item in value)}]"
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
        return str(value)
    return type(value).__name__
