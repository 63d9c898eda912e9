"""`fxscope kernel NAME…`: what kernel names say; from stdin where no name is given, one a line."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="kernel names (default: stdin, one per line)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line: `name`, `role`, `decoded`")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.errors import FxscopeError
    from fxscope.kernel_names import decode

    names = arguments.names or [line.strip() for line in sys.stdin if line.strip()]
    if not names:
        raise FxscopeError("no kernel name: give one, or names on stdin, one a line.")
    for position, name in enumerate(names):
        decoded = decode(name)
        if arguments.json:
            role = decoded["role"] if decoded else "other"
            print(json.dumps({"name": name, "role": role, "decoded": decoded}))
        else:
            print(("\n" if position else "") + "\n".join(describe(name, decoded)))
    return 0


def describe(name: str, decoded: dict[str, Any] | None) -> list[str]:
    """The lines about one name: each thing that it states, and nothing that it does not."""
    if decoded is None:
        return [name, "  says nothing that fxscope can read"]
    lines = [name]
    guessed = " (a guess, from the words of the name)" if decoded.get("guess") else ""
    dtypes = decoded.get("dtypes") or {}
    words = {
        "role": decoded["role"].replace("_", " ") + guessed,
        "family": decoded["family"] and decoded["family"] + guessed,
        "arch": decoded["arch"],
        "operands": " × ".join(dict.fromkeys(str(dtypes[key]) for key in ("a", "b") if dtypes.get(key))) or None,
        "result": dtypes.get("out"),
        "accumulates in": dtypes.get("accumulate"),
        "layout": layout_words(decoded["layout"]),
        "tile": "×".join(map(str, decoded["tile"])) if decoded["tile"] else None,
        "tile K": decoded.get("tile_k"),
        "stages": decoded["stages"],
        "cluster": "×".join(map(str, decoded["cluster"])) if decoded.get("cluster") else None,
        "epilogue": decoded["epilogue"],
        "split K": "yes" if decoded["split_k"] else None,
        "computes": decoded.get("functor") or (" · ".join(decoded["ops"]) if decoded.get("ops") else None),
        "kind": decoded.get("kind"),
        "direction": decoded.get("direction"),
        "operation": decoded.get("operation"),
        "math": decoded.get("math"),
    }
    return lines + [f"  {key:<15}{value}" for key, value in words.items() if value is not None]


def layout_words(layout: str | None) -> str | None:
    """Explain a BLAS pair for somebody who thinks in rows."""
    if layout is None:
        return None
    meaning = {
        "TN": "x @ w with w a transposed view: both operands are read along K",
        "NN": "x @ w with w stored row by row",
        "NT": "x a transposed view, w stored row by row",
        "TT": "both are transposed views",
    }
    return f"{layout} ({meaning[layout]})" if layout in meaning else layout
