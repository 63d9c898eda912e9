"""The dispatcher's tables: which keys an op passes, what is registered at each, what it calls, what Inductor makes of it."""

import contextlib
import difflib
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import torch

from fxscope import op_names
from fxscope._torch import nodes as live
from fxscope.errors import FxscopeError

# The only place where torch tells which file registered a kernel.
_LINE = re.compile(r"^(?P<key>\w+): (?P<through>fallthrough )?registered at (?P<where>.*?) \[(?P<kind>[^\]]+)\]$")
# Keys that an ordinary call can meet, the first ones first; a backend's own keys are filled in.
_ORDER = ("Autocast{}", "Autograd{}", "ADInplaceOrView", "BackendSelect", "{}")
_FOLDER = re.compile(r".*/(?:site-packages|dist-packages|pytorch)/|.*?/(?=(?:aten|torch|build|c10|functorch)/)|.*/")


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One dispatch key on the way, what happens there, and what is registered at it."""

    key: str
    state: str  # "calls", "calls, then goes on", "falls through", "not reached", "excluded"
    kind: str  # torch's word: "kernel", "autograd kernel", "math kernel", "default backend kernel", "backend fallback"
    where: str  # file:line


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """An op, the keys it passes for tensors on a device, and what compilers make of it."""

    name: str
    schema: str | None = None
    device: str = "cpu"
    keys: tuple[Key, ...] = ()
    decomposition: str | None = None
    inductor: str | None = None  # a key of `fxscope.english.INDUCTOR`
    inductor_where: tuple[str, ...] = ()
    note: str = ""


def resolve(name: str) -> str:
    """The dispatcher's name for what a person writes: `torch.nn.functional.linear` → `aten::linear`. Raises FxscopeError."""
    known = tuple(sorted(torch._C._dispatch_get_all_op_names()))  # with overloads: "aten::add.Tensor"
    namespace, bare, variant = op_names.parse(name.strip().removesuffix("()"))
    if namespace is not None and not any(item.startswith(f"{namespace}::") for item in known):
        namespace, bare, variant = None, namespace, bare  # `add.Tensor`
    heads = ("",) if namespace else ("", "linalg_", "special_", "_")
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", bare).lower()
    for base in dict.fromkeys(
        f"{namespace or 'aten'}::{head}{word}{tail}"
        for word in (bare, snake)
        for tail in ("", "_loss")
        for head in heads
    ):
        if found := _overload_of(base, variant, known):
            return found
    bases = sorted({item.split(".")[0] for item in known})
    near = difflib.get_close_matches(bare.lower(), [item.split("::")[-1] for item in bases], n=5, cutoff=0.6)
    close = [item for item in bases if item.split("::")[-1] in near][:5]
    hint = f"Near it: {', '.join(close)}." if close else "Name one as torch does: aten::linear, torch.add, linear."
    raise FxscopeError(f"torch {torch.__version__} has no op {name!r}. {hint}")


def _overload_of(base: str, variant: str | None, known: tuple[str, ...]) -> str | None:
    """The overload that was named, else the default one, else the one that takes tensors."""
    if variant not in (None, "default"):
        return f"{base}.{variant}" if f"{base}.{variant}" in known else None
    overloads = [item for item in known if item.startswith(f"{base}.")]
    plain = [item for item in overloads if not item.endswith(("out", "Dimname", "names"))]
    return next((item for item in (base, f"{base}.Tensor", *plain, *overloads) if item in known), None)


def describe(name: str, *, device: str | None = None, autocast: bool = False) -> Dispatch:
    """Say what the dispatcher does with an op for tensors on a device (a GPU if any), and what Inductor makes of it."""
    name, device = resolve(name), device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        backend = torch._C._dispatch_key_for_device(device.split(":")[0])
    except RuntimeError:
        raise FxscopeError(f"torch has no device {device!r}: use cpu, cuda, meta, …") from None
    lines = map(_LINE.match, torch._C._dispatch_dump_table(name).splitlines())
    rows, note = {line["key"]: line for line in lines if line}, ""
    if backend == "CUDA" and not torch.backends.cuda.is_built():
        note = "this build of torch has no CUDA kernels: what runs at CUDA is not known"
        # What is left without the backend's own kernels is not what a CUDA build would run.
        if backend in rows and rows[backend]["kind"] != "math kernel":
            del rows[backend]
    base, _, variant = name.partition(".")
    op = live.overload(base, variant or "default")
    inductor, places = _inductor(op, torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))
    decomposed = torch._decomp.decomposition_table.get(op)
    unknown = None if decomposed is None else "registered, but not as a Python function"
    return Dispatch(
        name=name,
        schema=None if op is None else str(op._schema),
        device=device,
        keys=tuple(_keys(rows, backend, autocast=autocast)),
        decomposition=_source_of(decomposed) or unknown,
        inductor=inductor,
        inductor_where=places,
        note=note,
    )


def _keys(rows: Mapping[str, re.Match[str]], backend: str, *, autocast: bool) -> Iterator[Key]:
    """Walk the keys as the dispatcher does: what falls through is skipped, an autograd kernel calls what is below it."""
    is_done = False
    for name in (pattern.format(backend) for pattern in _ORDER):
        if (row := rows.get(name)) is None:
            continue
        if name.startswith("Autocast") and not autocast:
            state = "excluded"
        elif is_done:
            state = "not reached"
        elif row["through"]:
            state = "falls through"
        elif row["kind"] == "math kernel" or name == backend:
            # A composite kernel at an Autograd key is the whole op: it calls other ops, which start at the top again.
            state, is_done = "calls", True
        else:
            state = "calls, then goes on"
        yield Key(key=name, state=state, kind=row["kind"], where=_place(row["where"]))


def _place(where: str) -> str:
    """A file and line without the folders of the machine that torch was built or installed on."""
    return _FOLDER.sub("", where.replace("\\", "/"), count=1)


def _source_of(function: Any) -> str | None:
    """`torch/_decomp/decompositions.py:123` of a Python function, its wrappers taken off."""
    code = _code(function)
    return f"{_place(code.co_filename)}:{code.co_firstlineno}" if code is not None else None


def _code(function: Any) -> Any:
    while inner := getattr(function, "__wrapped__", None) or getattr(function, "func", None):
        function = inner
    return getattr(inspect.unwrap(function), "__code__", None)


def _inductor(op: Any, implicit: bool) -> tuple[str | None, tuple[str, ...]]:
    """Return what Inductor does with the op, and where: `decomposition`, `decomposition or lowering`, `lowering`, `fallback`,
    `composite` (it never sees the op), `implicit fallback`."""
    if op is None:
        return None, ()
    import torch._inductor.lowering as lowering
    from torch._inductor.decomposition import decompositions

    with contextlib.suppress(ImportError):  # the templates of mm, bmm and conv register themselves when imported
        importlib.import_module("torch._inductor.kernel")
    decomposed = decompositions.get(op)
    lowered = lowering.lowerings.get(op) or lowering.lowerings.get(op.overloadpacket)
    where = None if decomposed is None else _source_of(decomposed)
    if implicit and where is not None and where.startswith("torch/_export/"):
        decomposed = where = None  # the table's entry for "composed of other ops", not a decomposition of its own
    places = tuple(item for item in (where, None if lowered is None else _source_of(lowered)) if item)
    if decomposed is not None:
        # A decomposition may decline (it returns NotImplemented for a device or a shape); then the lowering counts.
        declines = lowered is not None and "NotImplemented" in getattr(_code(decomposed), "co_names", ())
        return ("decomposition or lowering", places) if declines else ("decomposition", places[:1])
    if {op, op.overloadpacket} & getattr(lowering, "fallbacks", set()):
        return "fallback", places
    if lowered is not None:
        return "lowering", places
    return ("composite" if implicit else "implicit fallback"), ()
