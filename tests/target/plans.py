"""Holds a plan against what a real GPU's compile wrote: calls and kernel sources."""

import json
import lzma
import re
from pathlib import Path

from fxscope.readers import output_code

REAL = Path(__file__).parents[1] / "data" / "h200" / "plans"


def real(name: str) -> dict:
    """Return {"codes", "torch"} of a program as an H200 compiled it."""
    folder = REAL / name / "real"
    return {
        "codes": json.loads((folder / "output_code.json").read_text()),
        "torch": json.loads((folder / "meta.json").read_text())["torch"],
    }


def unpacked(path: Path) -> dict:
    return json.loads(lzma.decompress(path.read_bytes()))


def grouping(codes: list[str]) -> list[tuple]:
    """Return each call of each graph as (what kind of kernel, what it reads, what it writes): names do not count."""
    found = []
    for number, text in enumerate(codes):
        for call in output_code.parse(text).calls:
            kind = call.kernel if call.type in ("extern", "fallback") else call.type
            found.append((number, kind, tensors(call.reads), tensors(call.writes)))
    return found


def tensors(accesses) -> tuple:
    """Return the tensors of accesses, each by shape, stride and dtype, in an order of their own."""
    return tuple(sorted(str((access.shape, access.stride, access.dtype)) for access in accesses))


def sources(codes: list[str]) -> list[tuple[int, str, str]]:
    """Return (graph, kernel, text of its function) of each Triton kernel; the kernel's own name in it becomes KERNEL.

    Left out is what comes before the function: the hash of the compiler in `inductor_meta` differs between any two
    installations, and torch adds fields to it with every release.
    """
    found = []
    for number, text in enumerate(codes):
        for kernel in output_code.parse(text).kernels.values():
            body = kernel.source[kernel.source.rindex("@triton.jit") :]
            found.append((number, kernel.name, re.sub(rf"\b{re.escape(kernel.name)}\b", "KERNEL", body).strip()))
    return found


def compare(ours: dict, theirs: dict) -> dict[str, bool]:
    """Return what of a plan is equal to a real compile.

    Args:
        ours: {"codes"} as `tools/zoo.py plan` packs them.
        theirs: {"codes"} as recorded.
    """
    planned, real = sources(ours["codes"]), sources(theirs["codes"])
    return {
        "calls": grouping(ours["codes"]) == grouping(theirs["codes"]),
        "names": [kernel for _, kernel, _ in planned] == [kernel for _, kernel, _ in real],
        "sources": [text for *_, text in planned] == [text for *_, text in real],
    }
