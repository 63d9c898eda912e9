"""`fxscope kernel NAME…`: what kernel names say; from stdin where no name is given, one a line."""

import argparse
import json
import sys
from typing import Any


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", default=[], metavar="NAME", help="kernel names (default: lines of stdin)")
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
            print(json.dumps({"name": name, "role": (decoded or {"role": "other"})["role"], "decoded": decoded}))
        else:
            print(("\n" if position else "") + "\n".join(describe(name, decoded)))
    return 0


def describe(name: str, decoded: dict[str, Any] | None) -> list[str]:
    """The lines about one name: each thing that it states, and nothing that it does not."""
    from fxscope.render.labels import decoded_words

    rows = [f"  {key:<15}{value}" for key, value in decoded_words(decoded).items()] if decoded else []
    return [name, *(rows or ["  no part of this name is known"])]
