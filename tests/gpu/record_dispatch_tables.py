"""Write the dispatcher's tables of a CUDA build of torch: `python tests/gpu/record_dispatch_tables.py OUT.json.gz`.

The package ships one (`fxscope/data/dispatch_cuda.json.gz`) for machines whose torch has no CUDA kernels. No GPU is
needed to make it, only a CUDA build.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import torch

from fxscope._torch import dispatch_table

KEYS = (
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


def record_tables() -> dict[str, Any]:
    """This build's tables of every ATen op for the keys of CPU, CUDA and Meta tensors, compactly."""
    registrations: dict[tuple[str, str, bool], int] = {}
    ops: dict[str, list[int | None]] = {}
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        if not name.startswith(("aten::", "prims::")):
            continue
        try:
            rows = dispatch_table.table(name)
        except RuntimeError:
            continue
        ops[name] = [
            registrations.setdefault((row.where, row.kind, row.fallthrough), len(registrations))
            if (row := rows.get(key))
            else None
            for key in KEYS
        ]
    return {"torch": str(torch.__version__), "keys": KEYS, "registrations": list(registrations), "ops": ops}


def main(out: str) -> int:
    """Write the tables."""
    if not torch.backends.cuda.is_built():
        print(f"torch {torch.__version__} is built without CUDA: its tables lack what this is for", file=sys.stderr)
        return 1
    tables = record_tables()
    data = gzip.compress(json.dumps(tables, separators=(",", ":")).encode(), mtime=0)
    Path(out).write_bytes(data)
    print(
        f"{len(tables['ops'])} ops, {len(tables['registrations'])} registrations, {len(data)} bytes, torch {tables['torch']}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
