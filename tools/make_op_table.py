"""Write `fxscope/data/ops.txt` from the `native_functions.yaml` and the registered operators of the installed torch."""

from __future__ import annotations

import re
from importlib import metadata, resources
from pathlib import Path
from typing import Any

PATH = Path(__file__).resolve().parent.parent / "fxscope" / "data" / "ops.txt"
HEAD = """# The ops of torch {torch}, from its native_functions.yaml and its registry; written by tools/make_op_table.py.
# NAME [view] [composite] [pointwise] [explicit], each true of every overload: its result aliases an input; it has no
# kernel but calls other ops (CompositeImplicitAutograd); it computes each element by itself; on a CPU it has the kernel
# for all devices (CompositeExplicitAutograd), which may call other ops. Out variants are left out, and so are in-place
# ones that are no view.
"""


def from_yaml(functions: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return op → the kinds that its declarations prove."""
    overloads: dict[str, list[set[str]]] = {}
    tagged = {re.split(r"[.(]", item["func"])[0] for item in functions if "pointwise" in (item.get("tags") or [])}
    for item in functions:
        signature = item["func"]
        name, _, overload = signature.split("(")[0].partition(".")
        if overload.endswith("out"):
            continue
        tags = item.get("tags") or []
        result = signature.rsplit("->", 1)[1]
        keys = {key.strip() for entry in item.get("dispatch") or () for key in entry.split(",")}
        # Without a table of its own an op is CompositeImplicitAutograd (aten/src/ATen/native/README.md).
        implicit = "CompositeImplicitAutograd" in keys or not (keys or item.get("structured_delegate"))
        # An out variant of another name, such as `threshold_backward.grad_input`, carries no tag.
        is_out = re.search(r"\*, .*\(a!\) \w+\)$", signature.rsplit(" ->", 1)[0]) is not None
        kinds = {"pointwise"} if "pointwise" in tags or (is_out and name in tagged) else set[str]()
        if re.search(r"\([a-z](\s*->\s*\*)?\)", result) or "inplace_view" in tags:
            kinds.add("view")
        elif implicit and not keys & {"CPU", "CUDA", "CompositeExplicitAutograd"}:
            kinds.add("composite")
        elif any(key.startswith("CompositeExplicitAutograd") for key in keys) and "CPU" not in keys:
            kinds.add("explicit")
        overloads.setdefault(name, []).append(kinds)
    return {name: set.intersection(*every) for name, every in overloads.items()}


def registered() -> set[str]:
    """Return the names that Inductor's kernel names may hold besides: prims, collectives, higher-order ops."""
    import torch
    import torch._higher_order_ops.flex_attention
    import torch._higher_order_ops.triton_kernel_wrap
    import torch._inductor.inductor_prims
    import torch._prims

    names = {
        rest.split(".")[0]
        for space, _, rest in (name.partition("::") for name in torch._C._dispatch_get_all_op_names())
        if space in ("aten", "prims", "inductor", "_c10d_functional")
    }
    # Kernels that Inductor calls under names of its own (torch/_inductor/kernel/mm_plus_mm.py, bmm.py)
    return names | set(torch._ops._higher_order_ops) | {"mm_plus_mm", "bias_addmm"}


def main() -> None:
    import yaml

    text = (resources.files("torchgen") / "packaged/ATen/native/native_functions.yaml").read_text()
    found = from_yaml(yaml.safe_load(text))
    for name in registered():
        found.setdefault(name, set())
    kept = {
        name: kinds for name, kinds in found.items() if not name.endswith("_") or name.endswith("__") or "view" in kinds
    }
    lines = [" ".join((name, *sorted(kinds, reverse=True))) for name, kinds in sorted(kept.items())]
    PATH.write_text(HEAD.format(torch=metadata.version("torch").split("+")[0]) + "\n".join(lines) + "\n")
    print(f"wrote {PATH.name}: {len(lines)} ops")


if __name__ == "__main__":
    main()
