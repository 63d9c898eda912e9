"""Holds a plan against what a real GPU's compile wrote: calls, kernel sources, resources."""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from pathlib import Path

from fxscope.readers import output_code

REAL = Path(__file__).parents[1] / "data" / "h200" / "plans"


def real(name: str) -> dict:
    """Return {"codes", "kernels", "torch"} of a program as an H200 compiled it."""
    folder = REAL / name / "real"
    return {
        "codes": json.loads((folder / "output_code.json").read_text()),
        "kernels": json.loads((folder / "kernels.json").read_text()),
        "torch": json.loads((folder / "meta.json").read_text())["torch"],
    }


def unpacked(path: Path) -> dict:
    """Return what `tools/zoo.py` packed for a program."""
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


def resources(kernels: dict) -> dict:
    """Return kernel → config → (registers, spilled bytes, shared memory)."""
    return {
        kernel: {
            key: (config["registers"], config["spill_bytes"], config["shared_bytes"])
            for key, config in facts["configs"].items()
        }
        for kernel, facts in kernels.items()
    }


def grids(ours: dict, theirs: dict) -> bool | None:
    """Whether each planned launch has the real one's grid, for the configuration that won; None without a comparison.

    A recording keeps one winner a name, and kernels of one name in several graphs are tuned each by itself: there the
    grid is that of any candidate.
    """
    if not ours.get("grids"):
        return None if theirs["kernels"] else True
    real = [(kernel, launches) for _, kernel, kind, _, launches in theirs["calls"] if kind.startswith("triton")]
    if [kernel for kernel, _ in real] != [kernel for kernel, _ in ours["grids"]]:
        return False
    named = Counter(kernel for _, kernel, _ in sources(theirs["codes"]))
    for (kernel, launches), (_, planned) in zip(real, ours["grids"], strict=True):
        configs = theirs["kernels"][kernel]["configs"]
        chosen = theirs["kernels"][kernel].get("chosen") or (next(iter(configs)) if len(configs) == 1 else None)
        possible = [grid for config, grid in planned.items() if grid and (config == chosen or named[kernel] > 1)]
        if launches and possible and launches[0][1] not in possible:
            return False
    return True


def compare(ours: dict, theirs: dict) -> dict[str, bool | None]:
    """Return what of a plan is equal to a real compile; None where it was not planned.

    Args:
        ours: {"codes", "kernels", "grids"} as `tools/zoo.py plan` packs them.
        theirs: {"codes", "kernels", "calls"} as recorded.
    """
    planned, real = sources(ours["codes"]), sources(theirs["codes"])
    return {
        "calls": grouping(ours["codes"]) == grouping(theirs["codes"]),
        "names": [kernel for _, kernel, _ in planned] == [kernel for _, kernel, _ in real],
        "sources": [text for *_, text in planned] == [text for *_, text in real],
        "grids": grids(ours, theirs),
        "resources": resources(ours["kernels"]) == resources(theirs["kernels"])
        if ours["kernels"] or not theirs["kernels"]
        else None,
    }
