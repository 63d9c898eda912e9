"""The dispatcher's tables: which keys an op passes, what is registered at each, what it calls, what Inductor makes of it.

Read from torch itself; what a build does not contain (CUDA kernels on a CPU build) comes from tables recorded on a CUDA
build, and is said to.
"""

import contextlib
import difflib
import functools
import gzip
import importlib
import inspect
import json
import re
from importlib import resources
from typing import Any

import torch

from fxscope import op_names
from fxscope._torch import nodes as live
from fxscope.dispatch_model import Dispatch, Key, Registration
from fxscope.errors import FxscopeError

# The only place where torch tells which file registered a kernel.
_LINE = re.compile(r"^(?P<key>\w+): (?P<through>fallthrough )?registered at (?P<where>.*?) \[(?P<kind>[^\]]+)\]$")
# Keys that an ordinary call can meet, the first ones first; a backend's own keys are filled in.
_ORDER = ("Autocast{}", "Autograd{}", "ADInplaceOrView", "BackendSelect", "{}")
RECORDED = "dispatch_cuda.json.gz"
_FOLDER = re.compile(r".*/(?:site-packages|dist-packages|pytorch)/|.*?/(?=(?:aten|torch|build|c10|functorch)/)|.*/")


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


def overload(name: str) -> Any:
    """The `OpOverload` of a dispatcher's name, `None` where Python has no view of it."""
    base, _, variant = name.partition(".")
    return live.overload(base, variant or "default")


def table(name: str) -> dict[str, Registration]:
    """The kernel that this build would call at each dispatch key."""
    lines = map(_LINE.match, torch._C._dispatch_dump_table(name).splitlines())
    return {
        line["key"]: Registration(where=place(line["where"]), kind=line["kind"], fallthrough=bool(line["through"]))
        for line in lines
        if line
    }


def place(where: str) -> str:
    """A file and line without the folders of the machine that torch was built or installed on."""
    return _FOLDER.sub("", where.replace("\\", "/"), count=1)


@functools.cache
def _recorded() -> dict[str, Any]:
    return json.loads(gzip.decompress(resources.files("fxscope").joinpath("data", RECORDED).read_bytes()))


def recorded_table(name: str, tables: dict[str, Any]) -> dict[str, Registration]:
    """An op's table as a CUDA build had it, empty where it was not recorded.

    `registrations` holds each distinct one once; an op is a list of positions in it, in the order of `keys`.
    """
    found: dict[str, Registration] = {}
    for key, index in zip(tables["keys"], tables["ops"].get(name, ()), strict=False):
        if index is not None:
            where, kind, fallthrough = tables["registrations"][index]
            found[key] = Registration(where=where, kind=kind, fallthrough=fallthrough)
    return found


def has_device() -> bool:
    """Return whether there is a CUDA device to run on."""
    return torch.cuda.is_available()


def describe(name: str, *, device: str = "cpu", autocast: bool = False) -> Dispatch:
    """Say what the dispatcher does with an op for tensors on a device, and what Inductor makes of it."""
    name = resolve(name)
    try:
        backend = torch._C._dispatch_key_for_device(device.split(":")[0])
    except RuntimeError:
        raise FxscopeError(f"torch has no device {device!r}: use cpu, cuda, meta, …") from None
    rows, source = table(name), str(torch.__version__)
    notes: list[str] = []
    if backend == "CUDA" and not torch.backends.cuda.is_built():
        if known := recorded_table(name, _recorded()):
            rows, source = rows | known, _recorded()["torch"]
            notes.append(
                f"this build of torch has no CUDA kernels: they are as torch {source} with CUDA registered them"
            )
        else:
            notes.append("this build of torch has no CUDA kernels: what runs at CUDA it cannot tell")
            # What is left without the backend's own kernels is not what a CUDA build would run.
            if backend in rows and rows[backend].kind != "math kernel":
                del rows[backend]
    op = overload(name)
    implicit, explicit = (
        torch._C._dispatch_has_kernel_for_dispatch_key(name, f"Composite{kind}Autograd")
        for kind in ("Implicit", "Explicit")
    )
    inductor, inductor_where = _inductor(op, implicit)
    decomposed = torch._decomp.decomposition_table.get(op)
    unknown = None if decomposed is None else "registered, but not as a Python function"
    aliases, mutates = _memory(op)
    return Dispatch(
        name=name,
        schema=None if op is None else str(op._schema),
        device=device,
        torch=source,
        keys=tuple(_keys(rows, backend, autocast=autocast)),
        composite="implicit" if implicit else "explicit" if explicit else None,
        aliases=aliases,
        mutates=mutates,
        decomposition=source_of(decomposed) or unknown,
        inductor=inductor,
        inductor_where=inductor_where,
        notes=tuple(notes),
    )


def _keys(rows: dict[str, Registration], backend: str, *, autocast: bool) -> list[Key]:
    """Walk the keys as the dispatcher does: what falls through is skipped, an autograd kernel calls what is below it."""
    found: list[Key] = []
    done = False
    for name in (pattern.format(backend) for pattern in _ORDER):
        row = rows.get(name)
        if row is None:
            continue
        if name.startswith("Autocast") and not autocast:
            state = "excluded"
        elif done:
            state = "not reached"
        elif row.fallthrough:
            state = "falls through"
        elif row.kind == "math kernel" or name == backend:
            # A composite kernel at an Autograd key is the whole op: it calls other ops, which start at the top again.
            state, done = "calls", True
        else:
            state = "calls, then goes on"
        found.append(Key(key=name, state=state, registration=row, why=_why(name, row)))
    return found


def _why(name: str, row: Registration) -> str:
    """The purpose of a kernel that dispatches on."""
    if name.startswith("Autocast"):
        return "casts the inputs, then dispatches again without autocast"
    if name == "ADInplaceOrView":
        return "keeps version counters and views up to date"
    return "notes what backward needs" if row.kind == "autograd kernel" else "runs at this key"


def _memory(op: Any) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """The inputs that share memory with a result by the schema (it says may, and storage decides), and those written."""
    if op is None:
        return None, ()
    returned = set().union(*(item.alias_info.before_set for item in op._schema.returns if item.alias_info))
    marked = [item for item in op._schema.arguments if item.alias_info]
    written = tuple(item.name for item in marked if item.alias_info.is_write)
    return tuple(i.name for i in marked if i.name not in written and i.alias_info.before_set & returned), written


def source_of(function: Any) -> str | None:
    """`torch/_decomp/decompositions.py:123` of a Python function, its wrappers taken off."""
    code = _code(function)
    return f"{place(code.co_filename)}:{code.co_firstlineno}" if code is not None else None


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
    where = None if decomposed is None else source_of(decomposed)
    if implicit and where is not None and where.startswith("torch/_export/"):
        decomposed = where = None  # the table's entry for "composed of other ops", not a decomposition of its own
    places = tuple(item for item in (where, None if lowered is None else source_of(lowered)) if item)
    if decomposed is not None:
        # A decomposition may decline (it returns NotImplemented for a device or a shape); then the lowering counts.
        declines = lowered is not None and "NotImplemented" in getattr(_code(decomposed), "co_names", ())
        return ("decomposition or lowering", places) if declines else ("decomposition", places[:1])
    if {op, op.overloadpacket} & getattr(lowering, "fallbacks", set()):
        return "fallback", places
    if lowered is not None:
        return "lowering", places
    return ("composite" if implicit else "implicit fallback"), ()
