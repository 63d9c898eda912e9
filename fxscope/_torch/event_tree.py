"""Facts of each op from a profiler session: its tensors, their producers, views, writes, source line and module.

The profiler's event tree has each tensor that goes into an op, by the address of its TensorImpl and the allocation of its
storage. It has no outputs: the op's kernel for the meta device returns them for the same arguments; allocations inside the op
and the first op that reads each tensor confirm them. An event's correlation id is the trace's "External id".
"""

import ast
import functools
import linecache
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch._C._profiler import RecordScope, _EventType as EventType
from torch.utils._pytree import tree_leaves

from fxscope._torch import nodes as live
from fxscope._torch.module_names import ModuleCall, ModuleNames
from fxscope._torch.op_lines import is_there, lines_of_operators, whole_path
from fxscope._torch.quiet import quiet
from fxscope.columns import uncollected
from fxscope.index import COMPILING
from fxscope.model import Source, TensorMeta, replace
from fxscope.op_names import BACKWARD_NODE, COMPILED_REGION, INDUCTOR_RUNS, expected_nature, is_dispatched, is_gemm
from fxscope.readers.eager_graph import SeenOp, SeenTensor
from fxscope.readers.own_trace import STEP_ENDS, SessionCut, Timeline
from fxscope.readers.trace.graphs import LAUNCHES
from fxscope.readers.trace.kept import HANDLERS, hands_on

COMPOSITE = "CompositeImplicitAutograd"
MOST_OPS, MOST_LAUNCHES = 50_000, 100_000  # of a session are read
GONE = (ValueError, MemoryError)  # what reading a name raises whose memory was freed: no text, or an endless one
_CALLS = (EventType.PyCall, EventType.PyCCall)
_SOME, _REAL, _META = 1, 2, 4
_REPLAYED = ("aten", "prims")  # the meta kernels of other libraries are the user's code


class _Around(NamedTuple):
    place: Source | None = None  # the user's line that called
    frame: Any = None  # the Python call, if it is the user's own code and nothing else was called since
    module: ModuleCall | None = None  # the innermost one
    root: list[ModuleCall] | None = None  # [call of the outermost module], emptied by its first op
    op: "_Raw | None" = None
    sequence: int | None = None  # of the autograd function that runs
    outer: int | None = None  # start of the outermost op
    steps: bool = False  # in a library's `step`, as of an optimizer, and in nothing of the user's that it calls
    # In Python that the op calls, as a hook of autograd: no part of it; None: in what a mode or a subclass runs for it
    python: bool | None = None


class _Input(NamedTuple):
    """A tensor that an op reads, without the profiler's own object, which refers to it weakly: torch swaps none such."""

    impl_ptr: int
    allocation_id: int | None
    meta: TensorMeta  # without strides where it is not strided


def _input(item: Any) -> Any:
    if isinstance(item, list):
        return [_input(part) for part in item]
    if not hasattr(item, "impl_ptr"):
        return None
    stride = tuple(item.strides) if item.layout == torch.strided else None
    dtype = str(item.dtype).removeprefix("torch.")
    meta = TensorMeta(shape=tuple(item.sizes), dtype=dtype, stride=stride, device=str(item.device))
    return _Input(item.impl_ptr, item.allocation_id, meta)


class _Raw:
    def __init__(self, event: Any, around: _Around) -> None:
        self.id, self.start, self.name = event.correlation_id, event.start_time_ns, event.name
        self.overload = event.overload_name or "default"
        self.inputs, self.sequence = _input(event.extra_fields.inputs), event.extra_fields.sequence_number
        self.around = around._replace(frame=None)
        self.python: list[int] = []  # when Python that it calls itself begins and ends
        self.works = True  # itself: what it calls is a detail
        self.allocated: dict[int, None] = {}  # allocations that outlive the op, in order
        self.hands_on = False  # it calls itself or another product: for a batch, a tangent, a mode, a wrapped tensor


def facts_of(tree: "EventTree", concrete: Mapping[int, Sequence[str]], names: ModuleNames) -> dict[int, SeenOp]:
    """Return external id → op of a session; `concrete`: external id → the trace's "Concrete Inputs"."""
    names.read(tree.parameters.values())
    with quiet(), torch.no_grad(), torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():  # pyright: ignore
        return _Identity(concrete, names, tree.times.has_memory).seen(tree.raws)


class EventTree:
    """The events of a session, parents first, read as soon as the session has ended.

    The profiler does not keep the names of Python code alive: of code that is freed, they are what its memory holds by
    then. Such a call is passed over where that shows; what runs in it has the lines and the module around the call.
    """

    @uncollected()
    def __init__(self, results: Any) -> None:
        self.raws: list[_Raw] = []
        self.times = Timeline()
        # address of a module → the first call, and name → TensorImpl
        self.parameters: dict[int, tuple[ModuleCall, dict[str, int]]] = {}
        self.roots: list[tuple[int, ModuleCall]] = []  # start of the first op in a module that no other module called
        self.results: Any = None  # of a session of the program's, which may be written later
        self._memories: dict[int, list[int]] = {}  # start of an outermost op → its id, and what its tensors have
        self._num_ops = self._num_launches = self._last_launch = 0
        self._down(results.experimental_event_tree())
        self.raws = sorted((raw for raw in self.raws if not raw.hands_on), key=lambda raw: raw.start)
        work = (raw for raw in self.raws if raw.python and raw.works and expected_nature(raw.name) == "kernel")
        self.times.python = {raw.id: raw.python for raw in work}
        self.times.outer.sort()
        fake = [_META, _META | _SOME, *([0] if self.times.has_memory else [])]  # 0: nothing is there, and nothing made
        self.times.fake.update(number for number, memory in self._memories.values() if memory in fake)

    def _down(self, roots: Sequence[Any]) -> None:
        todo = [(root, _Around()) for root in reversed(roots)]
        while todo:
            event, around = todo.pop()
            if self._is_beyond(event):
                continue
            children = event.children
            if not children and event.tag in _CALLS:
                continue
            try:
                if event.tag == EventType.TorchOp and self._is_noted(event):
                    continue
                inner = self._enter(event, around)
                places = _places(inner.frame, children) if inner.frame is not None else {}
            except GONE:
                inner, places = around._replace(frame=None), {}
            for position in range(len(children) - 1, -1, -1):
                place = inner._replace(place=places[position]) if position in places else inner
                todo.append((children[position], place))

    def _is_noted(self, event: Any) -> bool:
        """Note the end of a step, or a phase of the compiler, whose inner events are its own; return whether it is one."""
        name, start = event.name, event.start_time_ns
        if name.startswith(STEP_ENDS):
            self.times.marks[name].append(start)
        elif name.endswith(COMPILING):
            self.times.compiles.append(start)
        else:
            self.times.begins = min(self.times.begins, start)
            self.times.ends = max(self.times.ends, event.end_time_ns)
            return False
        return True

    def _is_beyond(self, event: Any) -> bool:
        """Return whether an event begins after the part of the session that is read; the first one ends that part."""
        times = self.times
        if times.cut is None:
            if event.tag == EventType.TorchOp:
                self._num_ops += is_dispatched(event.name)
            elif event.tag == EventType.Kineto and LAUNCHES.match(event.name):
                self._num_launches += 1
                self._last_launch = max(self._last_launch, event.correlation_id)
            if self._num_ops > MOST_OPS:
                times.cut = SessionCut(event.start_time_ns, f"{MOST_OPS:,} ops", self._last_launch)
            elif self._num_launches == MOST_LAUNCHES:  # the next op begins after the last launch that is read
                times.cut = SessionCut(event.start_time_ns + 1, f"{MOST_LAUNCHES:,} launches", self._last_launch)
        return times.cut is not None and event.start_time_ns >= times.cut.ends_ns

    def _enter(self, event: Any, around: _Around) -> _Around:
        tag = event.tag
        if tag == EventType.TorchOp:
            return self._op(event, around)
        if tag == EventType.PyCall:
            return self._python(event, around)
        if tag == EventType.PyCCall:
            return around._replace(place=_caller(event, around), frame=None)
        if tag == EventType.Allocation:
            self._allocation(event, around)
        return around

    def _python(self, event: Any, around: _Around) -> _Around:
        fields = event.extra_fields
        is_users = _is_users(whole_path(fields.callsite.file_name))
        around = _left(event, around)._replace(place=_caller(event, around), frame=event if is_users else None)
        if is_users and around.steps:
            self.times.closures.append((event.start_time_ns, event.end_time_ns))
        around = around._replace(steps=not is_users and (around.steps or fields.callsite.function_name == "step"))
        if fields.module is None:
            return around
        here = fields.module.self_ptr
        root = here if around.module is None else around.module.root
        call = ModuleCall(here, fields.module.cls_name, root, event.start_time_ns)
        if here not in self.parameters:
            self.parameters[here] = call, {name: tensor.impl_ptr for name, tensor, _ in fields.module.parameters}
        return around._replace(module=call, root=[call] if around.module is None else around.root)

    def _op(self, event: Any, around: _Around) -> _Around:
        name = event.name
        is_op = event.extra_fields.scope != RecordScope.USER_SCOPE or name.startswith(INDUCTOR_RUNS)
        if around.outer is None and is_op and name not in HANDLERS:
            self.times.outer.append((event.start_time_ns, name))
            makes = name.startswith(_REPLAYED) and expected_nature(name) != "host"
            self._memories[event.start_time_ns] = [event.correlation_id, 0 if makes else _SOME]
            around = around._replace(outer=event.start_time_ns)
        begin = event.start_time_ns if around.outer is None else around.outer
        devices = [self._note_memory(begin, tensor) for _, tensor in _tensors(event.extra_fields.inputs)]
        if name.startswith(BACKWARD_NODE):
            return around._replace(sequence=event.extra_fields.sequence_number, place=None, frame=None)
        if "::" not in name or " " in name:  # an annotation
            if not name.startswith(COMPILED_REGION):
                return around._replace(python=None) if name in HANDLERS else around
            if around.module is None and around.op is None:
                self.times.functions.append((begin, name))
            return _left(event, around)
        if around.root:
            self.roots.append((begin, around.root.pop()))
        outer = None if around.python else around.op
        is_part = outer is not None and around.python is False
        if outer is not None:
            is_same = outer.name == name or (is_gemm(outer.name) and is_gemm(name))
            outer.hands_on |= is_same or (not is_part and expected_nature(name) == "kernel")
            outer.works &= not hands_on(outer.name, name)
            is_part &= not outer.hands_on
        device = next(iter(devices), "CPU")
        if is_part or not _has_own_kernel(name, event.overload_name, device):
            return around._replace(frame=None)
        raw = _Raw(event, around)
        if outer is not None:
            raw.sequence = outer.sequence if raw.sequence < 0 else raw.sequence
        self.raws.append(raw)
        return around._replace(op=raw, frame=None, python=False)

    def _note_memory(self, outer: int, tensor: Any) -> str:
        """Return the device of a tensor; note of the outermost op whether it has memory: a fake one is on "meta" within."""
        device = tensor.device.type.upper()
        if outer in self._memories:
            real = _REAL if tensor.sizes and tensor.storage_data_ptr else _SOME  # numbers are also beside fake tensors
            self._memories[outer][1] |= _META if device == "META" else real
        return device

    def _allocation(self, event: Any, around: _Around) -> None:
        self.times.has_memory, fields = True, event.extra_fields
        if around.outer in self._memories:
            self._memories[around.outer][1] |= _SOME
        if around.op is not None and fields.allocation_id is not None:
            if fields.alloc_size > 0:
                around.op.allocated[fields.allocation_id] = None
            else:
                around.op.allocated.pop(fields.allocation_id, None)


def _left(event: Any, around: _Around) -> _Around:
    """Note Python, or a compiled function, that an op calls itself: it is no part of the op."""
    if around.op is None or around.python is not False:
        return around
    around.op.python += event.start_time_ns, event.end_time_ns
    return around._replace(python=True)


def _caller(event: Any, around: _Around) -> Source | None:
    caller = event.extra_fields.caller
    file = whole_path(caller.file_name)
    return live.place(file, caller.line_number, caller.function_name) if _is_users(file) else around.place


@functools.lru_cache(maxsize=4096)
def _is_users(file: str) -> bool:
    return live.is_user_file(file) and (file in linecache.cache or is_there(file))


def _places(frame: Any, children: Sequence[Any]) -> dict[int, Source]:
    place = frame.extra_fields.callsite
    file, function = whole_path(place.file_name), place.function_name
    return {at: live.place(file, line, function) for at, line in lines_of_operators(frame, children).items()}


def _tensors(inputs: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    for position, item in enumerate(inputs):
        for tensor in item if isinstance(item, list) else (item,):
            if hasattr(tensor, "impl_ptr"):
                yield position, tensor


@functools.lru_cache(maxsize=4096)
def _has_own_kernel(name: str, overload: str, device: str) -> bool:
    """Return whether the dispatcher runs a kernel for an op, and not only code that calls other ops.

    A session of the program's may say no overloads: then one of them must have a kernel.
    """
    full = f"{name}.{overload}" if overload else name
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    try:
        return not has(full, COMPOSITE) or (device != "META" and has(full, device))
    except RuntimeError:  # no op of this torch, or none without an overload
        return not overload and any(_has_own_kernel(name, item, device) for item in live.overloads(name))


# ---------------------------------------------------------------------- which tensor is whose


class _Identity:
    """Says of each tensor that an op reads which op it comes from; fed in order of time."""

    def __init__(self, concrete: Mapping[int, Sequence[str]], names: ModuleNames, has_allocations: bool) -> None:
        self._concrete, self._names, self._has_allocations = concrete, names, has_allocations
        self._bound: dict[int, int | None] = {}  # TensorImpl → position of the op that made or wrote it
        self._writers: dict[int, int] = {}  # storage → position of the op that wrote it last
        # storage → outputs in it that no op has read yet, as the position of their op and, where it is known, what they are
        self._made: dict[int, list[tuple[int, TensorMeta | None]]] = {}
        self._late: dict[int, dict[int, TensorMeta]] = {}  # position → storage it made → how that was read first
        self._sources: dict[int, Source] = {}  # of forward ops, by sequence number

    def seen(self, raws: Iterable[_Raw]) -> dict[int, SeenOp]:
        made = {raw.id: self._op(position, raw) for position, raw in enumerate(raws)}
        for key, op in made.items():
            if not op.outputs and op.position in self._late:
                made[key] = replace(op, outputs=tuple(self._late[op.position].values()))
        return made

    def _op(self, position: int, raw: _Raw) -> SeenOp:
        schema = getattr(live.overload(raw.name, raw.overload), "_schema", None)
        values = self._concrete.get(raw.id, ())
        # `vmap` and `jvp` call through the dispatcher's stack, which the profiler records as a whole: ours are on top.
        below = 0 if schema is None else max(0, len(raw.inputs) - len(schema.arguments))
        raw.inputs, values = raw.inputs[below:], values[below:]
        inputs: list[SeenTensor] = []
        mutates: list[int] = []
        impls: list[int] = []
        for index, tensor in _tensors(raw.inputs):
            info = schema.arguments[index].alias_info if schema and index < len(schema.arguments) else None
            if info is not None and info.is_write:
                mutates.append(len(inputs))
            inputs.append(self._read(tensor))
            impls.append(tensor.impl_ptr)
        replayed = _replay(raw.name, raw.overload, tuple(_frozen(item) for item in raw.inputs), tuple(values))
        aliases = self._aliases(raw, schema, mutates, replayed)
        idle = aliases is None and self._has_allocations and _is_idle(raw, replayed)
        outputs = () if idle else tuple(meta for meta, _ in replayed or ())
        for index in mutates:
            self._writers[inputs[index].storage] = self._bound[impls[index]] = position
        if not mutates and not idle:
            self._gave(position, list(raw.allocated), inputs, aliases, outputs)
        backward = raw.around.sequence is not None
        number = raw.around.sequence if backward else raw.sequence
        return SeenOp(
            position=position,
            name=raw.name,
            inputs=tuple(inputs),
            outputs=outputs,
            num_arguments=len(raw.inputs),
            aliases=aliases,
            mutates=tuple(mutates),
            source=self._source(raw, number, backward=backward),
            sequence_number=number if number is not None and number >= 0 else None,
            backward=backward,
            idle=idle,
        )

    def _read(self, tensor: Any) -> SeenTensor:
        impl = tensor.impl_ptr
        storage = tensor.allocation_id if self._has_allocations and tensor.allocation_id is not None else -impl
        if impl not in self._bound:
            self._bound[impl] = self._maker(storage, tensor.meta)
        name = self._names.tensors.get(impl)
        return SeenTensor(meta=tensor.meta, storage=storage, producer=self._bound[impl], name=name)

    def _maker(self, storage: int, meta: TensorMeta) -> int | None:
        """The op whose output a tensor is that no op has read before; of several that fit, who wrote the memory."""
        like = meta.shape, meta.stride, meta.dtype
        made = self._made.get(storage, [])
        fitting = [(at, it) for at, it in made if it is None or (it.shape, it.stride, it.dtype) == like]
        exact = [item for item in fitting if item[1] is not None] or fitting
        if len(exact) == 1:
            made.remove(exact[0])
            self._late.setdefault(exact[0][0], {}).setdefault(storage, meta)
            return exact[0][0]
        return self._writers.get(storage)

    def _aliases(
        self, raw: _Raw, schema: Any, mutates: Sequence[int], replayed: Sequence[tuple[TensorMeta, int | None]] | None
    ) -> tuple[int, ...] | None:
        if schema is None:
            return None
        if mutates:  # an in-place op returns what it wrote
            return tuple(mutates) if any(item.alias_info is not None for item in schema.returns) else ()
        if raw.allocated or not any("Tensor" in str(item.type) for item in schema.returns):
            return ()
        shared = None if not replayed else tuple(dict.fromkeys(at for _, at in replayed if at is not None))
        if shared is None or shared or not self._has_allocations:
            return shared
        # Nothing was allocated: an output without elements needs no memory, and any other is unexplained.
        return () if all(0 in meta.shape for meta, _ in replayed or ()) else None

    def _gave(
        self, position: int, fresh: list[int], inputs: list[SeenTensor], aliases: Any, outputs: Sequence[TensorMeta]
    ) -> None:
        self._writers.update(dict.fromkeys(fresh, position))
        storages = fresh or [inputs[index].storage for index in aliases or ()]
        if aliases is None and not fresh:
            storages = list(dict.fromkeys(item.storage for item in inputs))
        # Several outputs that are new each have a memory of their own, in an order that is not known.
        metas: Sequence[TensorMeta | None] = (outputs or (None,)) if len(storages) == 1 else (None,)
        for storage in storages:
            self._made.setdefault(storage, []).extend((position, meta) for meta in metas)

    def _source(self, raw: _Raw, number: int | None, *, backward: bool) -> Source | None:
        if backward:  # it runs from the line of `backward()`, and belongs to the forward op with its number
            return self._sources.get(number) if number is not None else None
        source = raw.around.place
        if raw.around.module is not None:
            path, kind = self._names.of_module(raw.around.module)
            source = replace(source or Source(), module=path, module_type=kind)
        if source is not None and number is not None and number >= 0:
            self._sources[number] = source  # the last op with a number is the one whose node has it
        return source


# ---------------------------------------------------------------------- asking torch


def _is_idle(raw: _Raw, replayed: Sequence[tuple[TensorMeta, int | None]] | None) -> bool:
    """Return whether an op that made no memory should have made some: it ended with an error, or was given its result.

    Checkpointing does both: it ends a recomputation at the last tensor that is needed, in the middle of an op, and a
    selective one returns what it saved.
    """
    is_dense = replayed is not None and all(meta.stride is not None for meta, _ in replayed)
    return is_dense and expected_nature(raw.name) == "kernel"


def _frozen(item: Any) -> Any:
    """An argument as something that can be compared: what matters of a tensor for the shape of a result."""
    return tuple(map(_frozen, item)) if isinstance(item, list) else item and item.meta


def _storage_of(tensor: torch.Tensor) -> int | None:
    """Return the address of a tensor's storage; `None` of a sparse one, which has none of its own."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


@functools.lru_cache(maxsize=8192)
def _replay(
    name: str, overload: str, inputs: tuple[Any, ...], values: tuple[str, ...]
) -> tuple[tuple[TensorMeta, int | None], ...] | None:
    """Return (metadata, position of the tensor argument whose storage it shares) of each result, by the meta kernel.

    None where it has none, or depends on data or on arguments that the profiler does not record; () where it refuses these.
    """
    target = live.overload(name, overload)
    if target is None or name.partition("::")[0] not in _REPLAYED:
        return None
    metas: list[Any] = [item for item in tree_leaves(inputs) if isinstance(item, TensorMeta)]
    try:
        given = [torch.empty_strided(x.shape, x.stride, dtype=getattr(torch, x.dtype), device="meta") for x in metas]
        result = target(**_arguments_on_meta(target._schema, inputs, values, iter(given)))
    except NotImplementedError:
        return None
    except Exception:  # any meta kernel may refuse: then the profiler's own facts are all there is
        return None if any(item.stride is None for item in metas) else ()
    asked = dict(zip((item.name for item in target._schema.arguments), values, strict=False)).get("device")
    device = asked or next((item.device for item in metas if item.device != "cpu"), "cpu")
    storages = {_storage_of(tensor): index for index, tensor in reversed(list(enumerate(given)))}
    storages.pop(None, None)
    return tuple(
        (replace(live.tensor_meta(tensor), storage_offset=None, device=device), storages.get(_storage_of(tensor)))
        for tensor in live.leaves(result)
    )


def _arguments_on_meta(
    schema: Any, inputs: tuple[Any, ...], values: Sequence[str], tensors: Iterator[torch.Tensor]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for argument, item, text in zip(schema.arguments, inputs, values, strict=True):
        if argument.name == "device":
            found[argument.name] = "meta"
        elif isinstance(item, TensorMeta):
            found[argument.name] = next(tensors)
        elif isinstance(item, tuple) and item:
            found[argument.name] = [next(tensors) if part else None for part in item]
        elif text or not argument.has_default_value():
            found[argument.name] = ast.literal_eval(text or "None")
    return found
