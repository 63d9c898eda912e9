"""The dispatcher's tables: which keys an op passes, what is registered at each, what it calls, what Inductor makes of it.

Read from torch itself (`_dispatch_dump_table`, `_dispatch_keys`, the decomposition and lowering tables); what a build
does not contain (CUDA kernels on a CPU build) comes from tables recorded on a CUDA build, and is said to.
"""

from __future__ import annotations

import contextlib
import difflib
import gzip
import importlib
import inspect
import json
import re
from importlib import resources
from typing import Any

import torch

from fxscope import op_names
from fxscope.dispatch_model import Dispatch, Key, Registration
from fxscope.errors import FxscopeError

_LINE = re.compile(r"^(?P<key>\w+): (?P<through>fallthrough )?registered at (?P<where>.*?) \[(?P<kind>[^\]]+)\]$")
# Keys that an ordinary call can meet, the first ones first; a backend's own keys are filled in.
_ORDER = ("Autocast{}", "Autograd{}", "ADInplaceOrView", "Functionalize", "Python", "BackendSelect", "{}")
_BACKENDS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS", "hip": "HIP"}
_RECORDED_KEYS = (
    "CPU",
    "CUDA",
    "Meta",
    "BackendSelect",
    "ADInplaceOrView",
    "AutogradCPU",
    "AutogradCUDA",
    "AutogradMeta",
    "AutocastCPU",
    "AutocastCUDA",
)
RECORDED = "dispatch_cuda.json.gz"


def all_names() -> tuple[str, ...]:
    """Every op that torch knows, with its overload: `aten::add.Tensor`."""
    return tuple(sorted(torch._C._dispatch_get_all_op_names()))


def resolve(name: str) -> str:
    """The dispatcher's name for what a person writes: `torch.nn.functional.linear` → `aten::linear`.

    Raises:
        FxscopeError: there is no such op; the message names the nearest ones.
    """
    known = set(all_names())
    found = op_names.parse(name.strip().removesuffix("()"))
    text = ".".join(part for part in found if part)
    if any(item.startswith(f"{found.namespace}::") for item in known):
        text = text.replace(".", "::", 1)
    candidates = (
        [text] if "::" in text else [f"aten::{text}", f"aten::linalg_{text}", f"aten::special_{text}", f"aten::_{text}"]
    )
    candidates += [f"{item}_loss" for item in candidates if "::" in item]
    candidates += [_snake(item) for item in candidates]
    for candidate in candidates:
        base = candidate.removesuffix(".default")
        if base in known:
            return base
        # The overload that takes tensors, where none is called the default one.
        overloads = sorted(item for item in known if item.startswith(f"{base}."))
        plain = [item for item in overloads if not item.endswith(("out", "Dimname", "names"))]
        for wanted in (f"{base}.Tensor", *plain, *overloads):
            if wanted in overloads:
                return wanted
    bare = text.rsplit("::", 1)[-1].split(".")[0].lower()
    bases = sorted({item.split(".")[0] for item in known})
    near = difflib.get_close_matches(bare, [item.split("::")[-1] for item in bases], n=5, cutoff=0.6)
    close = [item for item in bases if item.split("::")[-1] in near][:5]
    hint = f"Near it: {', '.join(close)}." if close else "Name one as torch does: aten::linear, torch.add, linear."
    raise FxscopeError(f"torch {torch.__version__} has no op {name!r}. {hint}")


def _snake(name: str) -> str:
    head, _, tail = name.rpartition("::")
    return f"{head}::{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', tail).lower()}"


def overload(name: str) -> Any:
    """The `OpOverload` of a dispatcher's name, `None` where Python has no view of it."""
    namespace, _, rest = name.partition("::")
    base, _, variant = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), base), variant or "default")
    except (AttributeError, RuntimeError):
        return None


def table(name: str) -> dict[str, Registration]:
    """What this build would call at each dispatch key."""
    found: dict[str, Registration] = {}
    for line in torch._C._dispatch_dump_table(name).splitlines():
        match = _LINE.match(line)
        if match:
            found[match["key"]] = Registration(
                where=place(match["where"]), kind=match["kind"], fallthrough=bool(match["through"])
            )
    return found


def place(where: str) -> str:
    """A file and line without the folders of the machine that torch was built or installed on."""
    path = where.replace("\\", "/")
    for marker in ("/site-packages/", "/dist-packages/"):
        if marker in path:
            return path.split(marker, 1)[1]
    for marker in ("/pytorch/pytorch/", "/pytorch/"):
        if marker in path:
            return path.rsplit(marker, 1)[1]
    found = re.search(r"(?:^|/)((?:aten|torch|build|c10|functorch)/.*)$", path)
    return found[1] if found else path.rsplit("/", 1)[-1]


def recorded() -> dict[str, Any] | None:
    """The tables that were recorded on a CUDA build, `None` where the package has none."""
    file = resources.files("fxscope").joinpath("data").joinpath(RECORDED)
    return json.loads(gzip.decompress(file.read_bytes())) if file.is_file() else None


def record_tables() -> dict[str, Any]:
    """This build's tables of every ATen op for the keys of CPU, CUDA and Meta tensors, compactly.

    `registrations` lists each distinct registration once; an op is a list of positions in it, in the order of `keys`.
    """
    registrations: dict[tuple[str, str, bool], int] = {}
    ops: dict[str, list[int | None]] = {}
    for name in all_names():
        if not name.startswith(("aten::", "prims::")):
            continue
        try:
            rows = table(name)
        except RuntimeError:
            continue
        ops[name] = [
            registrations.setdefault((row.where, row.kind, row.fallthrough), len(registrations))
            if (row := rows.get(key))
            else None
            for key in _RECORDED_KEYS
        ]
    return {
        "torch": str(torch.__version__),
        "keys": list(_RECORDED_KEYS),
        "registrations": [list(item) for item in registrations],
        "ops": ops,
    }


def _recorded_table(name: str) -> tuple[dict[str, Registration], str] | None:
    tables = recorded()
    if tables is None or name not in tables["ops"]:
        return None
    rows = {
        key: Registration(
            where=tables["registrations"][index][0],
            kind=tables["registrations"][index][1],
            fallthrough=tables["registrations"][index][2],
        )
        for key, index in zip(tables["keys"], tables["ops"][name], strict=True)
        if index is not None
    }
    return rows, tables["torch"]


def has_backend(backend: str) -> bool:
    """Whether this build has kernels of its own for a backend."""
    return backend != "CUDA" or torch.backends.cuda.is_built()


def has_device() -> bool:
    """Whether there is a CUDA device to run on."""
    return torch.cuda.is_available()


def describe(name: str, *, device: str = "cpu", requires_grad: bool = True, autocast: bool = False) -> Dispatch:
    """What the dispatcher does with an op for tensors on a device, and what Inductor makes of it."""
    name = resolve(name)
    backend = _BACKENDS.get(device.split(":")[0])
    if backend is None:
        raise FxscopeError(f"no device is called {device!r} here: use {', '.join(_BACKENDS)}.")
    rows, source = table(name), str(torch.__version__)
    notes: list[str] = []
    known_backend = True
    if not has_backend(backend):
        known = _recorded_table(name)
        if known is not None:
            rows, source = {**rows, **known[0]}, known[1]
            notes.append(
                f"this build of torch has no {backend} kernels: they are as torch {source} with CUDA registered them"
            )
        else:
            known_backend = False
            notes.append(f"this build of torch has no {backend} kernels: what runs at {backend} it cannot tell")
    if not known_backend and rows.get(backend) and rows[backend].kind != "math kernel":
        # Without the backend's own kernels the table shows what is left, which is not what a CUDA build would run.
        del rows[backend]
    op = overload(name)
    implicit = bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))
    explicit = torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeExplicitAutograd")
    inductor, inductor_where = _inductor(op, implicit)
    return Dispatch(
        name=name,
        schema=str(op._schema) if op is not None else None,
        overloads=tuple(item for item in all_names() if item.split(".")[0] == name.split(".")[0] and item != name),
        device=device,
        torch=source,
        keys=tuple(_keys(rows, backend, requires_grad=requires_grad, autocast=autocast)),
        composite="implicit" if implicit else "explicit" if explicit else None,
        structured=_structured(rows, backend),
        aliases=_aliases(op),
        mutates=_mutates(op),
        decomposition=_decomposition(op),
        inductor=inductor,
        inductor_where=inductor_where,
        notes=tuple(notes),
    )


def _keys(rows: dict[str, Registration], backend: str, *, requires_grad: bool, autocast: bool) -> list[Key]:
    """Walk the keys as the dispatcher does: what falls through is skipped, an autograd kernel calls what is below it."""
    found: list[Key] = []
    done = False
    for pattern in _ORDER:
        name = pattern.format(backend)
        if name not in rows or name in ("Functionalize", "Python"):  # only inside the compiler's own modes
            continue
        row = rows[name]
        if name.startswith("Autocast") and not autocast:
            state = "excluded"
        elif done:
            state = "not reached"
        elif row.fallthrough:
            state = "falls through"
        else:
            state = "calls"
        if state == "calls":
            # A composite kernel at an Autograd key is the whole op: it calls other ops, which start at the top again.
            done = row.kind == "math kernel" or name == backend
            if not done:
                state = "calls, then goes on"
        found.append(
            Key(key=name, state=state, registration=row, why=_why(name, row, state, requires_grad=requires_grad))
        )
    return found


def _why(name: str, row: Registration, state: str, *, requires_grad: bool) -> str:
    if state == "excluded":
        return "outside torch.autocast this key is switched off"
    if state == "not reached":
        return "a composite kernel above has done everything"
    if state == "falls through":
        return "nothing to do here for this op"
    if row.kind == "math kernel":
        return "composite: calls other ops, each of which is dispatched anew, autograd included"
    if name.startswith("Autograd"):
        if row.kind == "autograd kernel":
            return "notes what backward needs" + (
                "" if requires_grad else ", which is nothing here: no input requires grad"
            )
        return "runs at this key"
    if name.startswith("Autocast"):
        return "casts the inputs, then dispatches again without autocast"
    if name == "ADInplaceOrView":
        return "keeps version counters and views up to date"
    if row.kind == "default backend kernel":
        return "one kernel for all backends: calls other ops, below autograd"
    return "the kernel that does the work"


def _structured(rows: dict[str, Registration], backend: str) -> bool | None:
    row = rows.get(backend)
    return None if row is None else row.kind == "kernel"


def _aliases(op: Any) -> tuple[str, ...] | None:
    """Inputs whose memory a result may share, by the schema; it says may, and storage decides."""
    if op is None:
        return None
    returned = set().union(*(item.alias_info.before_set for item in op._schema.returns if item.alias_info), set())
    return tuple(
        item.name
        for item in op._schema.arguments
        if item.alias_info and not item.alias_info.is_write and item.alias_info.before_set & returned
    )


def _mutates(op: Any) -> tuple[str, ...]:
    if op is None:
        return ()
    return tuple(item.name for item in op._schema.arguments if item.alias_info and item.alias_info.is_write)


def source_of(function: Any) -> str | None:
    """`torch/_decomp/decompositions.py:123` of a Python function, its wrappers taken off."""
    try:
        function = inspect.unwrap(function)
        while hasattr(function, "__wrapped__") or hasattr(function, "func"):
            function = getattr(function, "__wrapped__", None) or function.func
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (TypeError, OSError):
        return None
    return f"{place(file)}:{line}" if file else None


def _decomposition(op: Any) -> str | None:
    """Where torch decomposes the op for a compiler, `None` where it does not."""
    if op is None:
        return None
    from torch._decomp import decomposition_table

    function = decomposition_table.get(op)
    return None if function is None else source_of(function) or "registered, but not as a Python function"


def _tables() -> tuple[Any, Any, Any]:
    import torch._inductor.decomposition as decomposition
    import torch._inductor.lowering as lowering

    with contextlib.suppress(ImportError):  # the templates of mm, bmm and conv register themselves when imported
        importlib.import_module("torch._inductor.kernel")
    return decomposition.decompositions, lowering.lowerings, getattr(lowering, "fallbacks", set())


def _inductor(op: Any, implicit: bool) -> tuple[str | None, tuple[str, ...]]:
    """What Inductor does with the op, and where: `decomposition`, `decomposition or lowering`, `lowering`, `fallback`,
    `composite` (it never sees the op), `implicit fallback`."""
    if op is None:
        return None, ()
    decompositions, lowerings, fallbacks = _tables()
    decomposed = decompositions.get(op)
    lowered = lowerings.get(op) or lowerings.get(op.overloadpacket)
    where = source_of(decomposed) if decomposed is not None else None
    if implicit and where is not None and where.startswith("torch/_export/"):
        decomposed = where = None  # the table's entry for "composed of other ops", not a decomposition of its own
    places = tuple(item for item in (where, source_of(lowered) if lowered is not None else None) if item)
    if decomposed is not None:
        # A decomposition may decline (it returns NotImplemented for a device or a shape); then the lowering counts.
        declines = lowered is not None and "NotImplemented" in _text(decomposed)
        return ("decomposition or lowering", places) if declines else ("decomposition", places[:1])
    if op in fallbacks or op.overloadpacket in fallbacks:
        return "fallback", places
    if lowered is not None:
        return "lowering", places
    return ("composite" if implicit else "implicit fallback"), ()


def _text(function: Any) -> str:
    try:
        return inspect.getsource(inspect.unwrap(function))
    except (TypeError, OSError):
        return ""
