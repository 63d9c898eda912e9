# ruff: noqa: E501 (tables)
"""Whether what a kernel's name is said to say is so: judged by the op that launched the kernel and its inputs.

A statement is held to what was recorded beside the name, never to the decoder's own tables:

- role: one that the launching op has kernels of (`ROLES_OF`: a sort sorts, scans and gathers; it computes no optimizer
  step); where the function's own name leaves no doubt (`CERTAIN`: a kernel that sets a tensor is no convolution), that.
- ops (of ATen's kernels): the launching op, in place or `_foreach_` or not. The same arithmetic counts where one functor
  serves several ops (`SAME`): `add` for `sub` (add, scaled by −1), `compare` for the six comparisons. `eq` for `ne` is wrong.
- dtypes (not of a solver's inner kernels): operands are dtypes of the op's inputs, or what it converted them to before; of a `copy_`, the source's exactly. The result is a dtype of the sample's
  results or of the op's inputs; of a `copy_` the target's exactly, of a comparison bool. A sum is never narrower than its
  operands, and half precision is added up in float32 unless the name spells half for it.
- family: the namespace that the symbol is in, where it is in one; else one that the op can call. Triton only where Triton
  launched it.
- direction: backward only where a backward op or a backward pass ran, forward only where no backward op did.

A name is wrong if one statement is wrong beside one op that it was seen with, unknown if nothing is said but `other`.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

_WORDS = (
    r"\b(?:c10::complex<(?:double|float|c10::Half)>|c10::\w+|float|double|half|__half|__nv_bfloat16|bfloat16|long long|"
    r"unsigned long|long|unsigned int|unsigned char|signed char|char|short|int|bool|true|false|bf16|f16|f32)\b"
)


def set_aside(name: str) -> bool:
    """Whether a name belongs to the third that is not looked at: by nothing but the name without types and numbers.

    So the bfloat16 and the float32 kernel of one functor are on one side, and all tiles of one GEMM.
    """
    skeleton = re.sub(r"[^A-Za-z:]+", " ", re.sub(_WORDS, " ", name))
    return int(hashlib.sha256(skeleton.encode()).hexdigest(), 16) % 3 == 0


_TABLES = json.loads((Path(__file__).parents[1] / "data" / "kernel_names" / "judge.json").read_text())
ROLES_OF, CERTAIN = _TABLES["roles_of_ops"], _TABLES["roles_of_functions"]  # patterns, and the roles that may be
_NAMESPACES, _CALLERS = (
    _TABLES["namespaces"],
    _TABLES["callers"],
)  # the families of a namespace; the ops that can call a library
_SAME = _TABLES["same"]  # what a functor's op stands for besides itself
_TYPES, _BITS, _WIDER, _COMPARISONS = (_TABLES[name] for name in ("types", "bits", "wider", "comparisons"))
_HALVES = {"float16", "bfloat16"}
_SOLVERS = r"_?linalg_(?!vector_norm|cross)\w+|_?cholesky\w*|geqrf|ormqr|orgqr|triangular_solve|lu_\w+"
_PROMOTING = {"sum", "prod", "cumsum", "cumprod", "nansum"}


def judge(name: str, rows: list[list[Any]], said: dict[str, Any]) -> tuple[str, list[str]]:
    """Return `right`, `unknown` or `wrong`, and every wrong statement with what was seen."""
    faults = [fault for row in rows for fault in _faults(name, row, said)]
    if faults:
        return "wrong", list(dict.fromkeys(faults))
    return ("unknown" if said["role"] == "other" and not said.get("ops") else "right"), []


def _base(op: str | None) -> str:
    text = re.sub(r"^\w+::", "", op or "") if not (op or "").startswith("c10d") else op or ""
    return text[:-1] if text.endswith("_") else text


def _faults(name: str, row: list[Any], said: dict[str, Any]) -> Any:
    op, types, _, _, api = row[:5]
    _, sample, phase, results = (row[5:9] + [None] * 4)[:4] if len(row) > 6 else (None, None, None, [])
    base = _base(op)
    generated = bool(op) and not re.match(r"(?:aten|c10d\w*|cudnn\w*|\w+)::", op) and "triton" in op
    yield from _role(name, op, base, generated, said)
    yield from _family(name, op, base, generated, api, said)
    if op is None or generated:
        return
    yield from _ops(base, said)
    yield from _dtypes(name, base, types, [sample, *(results or [])], said)
    backward = (
        "backward" in base or "_bwd" in base or phase == "backward" or "transpose" in base or "Backward" in (op or "")
    )
    direction = str(said.get("direction") or "")
    if direction.startswith("backward") and phase is not None and not backward:
        yield f"direction {direction}: {base} in {phase}"
    if direction == "forward" and re.search(r"backward", base) and "convolution" not in base:
        yield f"direction forward: {base}"


def _role(name: str, op: str | None, base: str, generated: bool, said: dict[str, Any]) -> Any:
    role = said["role"]
    head = re.split(
        r"[<(]",
        re.sub(
            r"^(?:void|static|__global__) |\(anonymous namespace\)::|<unnamed>::|std::enable_if.*?::type ", "", name
        ),
    )[0]
    certain = (
        None
        if generated
        else next(
            (
                roles
                for pattern, roles in CERTAIN
                if re.search(pattern, head) or (pattern[0] == "^" and re.match(pattern, name))
            ),
            None,
        )
    )
    if role == "other":
        return
    if certain is not None:
        if role not in certain:
            yield f"role {role}: {head}"
        return
    if op is None:
        return
    if generated:
        kind = re.match(r"triton_(poi|per|red|tem|for|spl|mix|unk)", name)
        allowed = {
            "poi": {"elementwise"},
            "per": {"reduction"},
            "red": {"reduction"},
            "mix": {"reduction"},
            "spl": {"scan"},
            "for": {"elementwise"},
            "tem": {"gemm", "convolution", "attention"},
            "unk": {"reduction", "elementwise"},
        }
        if kind and role not in allowed[kind[1]]:
            yield f"role {role}: {name[:60]}"
        return
    if not op.startswith(("aten::", "c10d", "nccl", "record_param")):
        return  # a project's own op says nothing that a table could hold
    allowed_roles = next((roles for pattern, roles in ROLES_OF if re.fullmatch(pattern, base)), {"elementwise"})
    if role not in allowed_roles:
        yield f"role {role}: {base}"


def _family(name: str, op: str | None, base: str, generated: bool, api: str | None, said: dict[str, Any]) -> Any:
    family = said["family"]
    if family is None:
        return
    text = re.sub(
        r"^(?:void|static|__global__) |\(anonymous namespace\)::|<unnamed>::|std::enable_if.*?::type ", "", name
    )
    inside = next((families for pattern, families in _NAMESPACES if re.match(pattern, text)), None)
    if inside is not None and family not in inside:
        yield f"family {family}: {text[:50]}"
    elif inside is None and op is not None:
        callers = _CALLERS.get(family)
        if (
            family == "triton"
            and not generated
            and "attention" not in base
            and not op.startswith("triton")
            and (op.startswith("aten::") or api in ("cudaLaunchKernel", "hipLaunchKernel"))
        ):
            yield f"family triton: launched by {op}"
        elif callers and "attention" not in base and op.startswith("aten::") and not re.fullmatch(callers, base):
            yield f"family {family}: {base}"


def _ops(base: str, said: dict[str, Any]) -> Any:
    if said["family"] != "aten":
        return
    name = base.removeprefix("_foreach_").removeprefix("special_")
    for op in said.get("ops") or ():
        if op == "copy" and said["role"] == "copy":
            continue  # held as a role
        if op not in (name, base, name.lstrip("_")) and name not in _SAME.get(op, ()):
            yield f"ops {op}: {base}"


def _dtypes(name: str, base: str, types: list[str], around: list[Any], said: dict[str, Any]) -> Any:
    if re.fullmatch(_SOLVERS, base):
        return  # a solver refines in another precision, and works on real parts of complex matrices
    tensors = [_TYPES[kind] for kind in types if kind in _TYPES]
    # An op may convert its inputs first, in a kernel of its own; a kernel that casts as it loads is held to its inputs.
    converted = (
        [] if "WithCast" in name or "gpu_kernel_impl<" in name or base == "copy" else [kind for kind in around if kind]
    )
    if base in _PROMOTING and all(kind.startswith(("int", "uint", "bool")) for kind in tensors):
        converted.append("int64")
    if base in (*_PROMOTING, "mean", "linalg_vector_norm"):  # with dtype=
        converted += [wide for kind in tensors for wide in _WIDER.get(kind, ())]
    if base == "_index_put_impl":
        converted.append("int64")  # indices come in a list, whose types are not recorded
    if (said["family"] in ("cub", "thrust") and not re.fullmatch(r"sort|topk|_unique2?|unique_consecutive", base)) or (
        said["family"] == "cudnn" and said["role"] == "copy"
    ):
        return  # helpers that read what the op's own kernels wrote
    lists = any("TensorList" in kind for kind in types)
    near = {kind for kind in around if kind} | set(tensors) | set(converted)
    dtypes = said["dtypes"]
    for which in ("a", "b"):
        kind = dtypes[which]
        if kind is None or not tensors:
            continue
        if base == "copy" and len(tensors) > 1:
            if kind != tensors[1]:
                yield f"dtypes.{which} {kind}: copy from {tensors[1]}"
        elif kind not in (near if lists else [*tensors, *converted]):
            yield f"dtypes.{which} {kind}: {base} of {tensors}"
    out = dtypes["out"]
    if out is not None and tensors:
        if base == "copy":
            wrong = out != tensors[0]
        elif base in _COMPARISONS:
            wrong = out != "bool" and base != "_foreach"
        else:
            real = {"complex64": "float32", "complex128": "float64"}
            wrong = out not in near | set(converted) | {real.get(kind) for kind in near}
            wrong = (
                wrong
                and not (base in ("all", "any") and out == "bool")
                and not (base in ("argmax", "argmin") and out == "int64")
            )
            # what a sum that is split writes first
            wrong = wrong and not (out == "float32" and said["role"] in ("gemm", "split_k_reduce") and _HALVES & near)
        if wrong:
            yield f"dtypes.out {out}: {base} of {tensors} → {around[1:]}"
    total, operand = dtypes["accumulate"], dtypes["a"] or (tensors[0] if tensors else None)
    if total is not None and operand is not None:
        widths = [_BITS.get(total, 64) * (1 + operand.startswith("complex")), _BITS.get(operand, 0)]
        narrow = widths[0] < widths[1] and not operand.startswith(("int", "uint"))
        half = operand in _HALVES and total not in ("float32", "float64")
        if narrow or (half and not (total == operand and _spells_half(name))):
            yield f"dtypes.accumulate {total}: {base} of {operand}"


def _spells_half(name: str) -> bool:
    return bool(re.search(r"Half|half|_h\d*gemm|f16f16|_hhh|HHH|BFloat16|bf16bf16|h16816|_f16_f16_f16", name))
