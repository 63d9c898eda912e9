"""`fxscope dispatch OP`: the keys an op passes, what is registered at each, what Inductor makes of it."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING

import msgspec

from fxscope.commands import common
from fxscope.english import DISPATCH, INDUCTOR
from fxscope.text import aligned, listed

if TYPE_CHECKING:
    from fxscope._torch.dispatch_table import Dispatch


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("op", metavar="OP", help="such as aten::linear, aten.linear.default, torch.nn.functional.linear or linear")
    add("--device", metavar="DEVICE", help="where the tensors are: cpu, cuda, meta (default: cuda if there is a GPU)")
    add("--autocast", action="store_true", help="inside torch.autocast")
    add("--json", action="store_true", help="everything as JSON")
    common.add_budget_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from fxscope._torch import dispatch_table

    found = dispatch_table.describe(arguments.op, device=arguments.device, autocast=arguments.autocast)
    if arguments.json:
        sys.stdout.write(common.budgeted(msgspec.json.encode(found).decode(), arguments))
    else:
        print(words(found, common.screen_width()))
    return 0


def words(dispatch: Dispatch, width: int) -> str:
    rows = [(key.key, key.state, key.kind) for key in dispatch.keys]
    lines = aligned([("key", "what happens", "kind, and where it is registered"), *rows])
    start = lines[0].index("kind")
    places = ("", *(f"\n  {' ' * start}{key.where}" for key in dispatch.keys))
    table = "\n".join(f"  {line.rstrip()}{place}" for line, place in zip(lines, places, strict=True))
    return f"{textwrap.fill(prose(dispatch), width, break_long_words=False, break_on_hyphens=False)}\n\n{table}"


def prose(dispatch: Dispatch) -> str:
    name, device = dispatch.name, dispatch.device
    last = next((key for key in dispatch.keys if key.state == "calls"), None)
    passed = [key.key for key in dispatch.keys if key.state == "calls, then goes on"]
    if last is not None:
        sentence = DISPATCH.get(last.kind, DISPATCH["kernel"])
        found = [sentence.format(name=name, device=device, key=last.key, where=last.where)]
    elif passed or dispatch.note:
        found = [f"{name}: the kernel for {device} tensors is not known."]
    else:
        found = [f"{name} has nothing registered for {device} tensors: the call fails."]
    found += [f"Before that it passes {listed(passed, sys.maxsize)}."] if passed else []
    found += [f"Its schema is {dispatch.schema}."] if dispatch.schema else []
    if dispatch.decomposition:
        found.append(f"torch can decompose it ({dispatch.decomposition}).")
    if dispatch.inductor:
        where = f" ({', '.join(dispatch.inductor_where)})" if dispatch.inductor_where else ""
        found.append(f"Inductor {INDUCTOR[dispatch.inductor]}{where}.")
    return " ".join([*found, *([f"Note: {dispatch.note}."] if dispatch.note else [])])
