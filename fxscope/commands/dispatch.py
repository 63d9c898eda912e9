"""`fxscope dispatch OP`: the keys an op passes, what is registered at each, what Inductor makes of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fxscope.commands import common
from fxscope.errors import FxscopeError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "op", metavar="OP", help="aten::linear, aten.linear.default, torch.nn.functional.linear, linear"
    )
    parser.add_argument(
        "--device", metavar="DEVICE", help="where the tensors are: cpu, cuda, meta (default: cuda where there is a GPU)"
    )
    parser.add_argument("--no-grad", action="store_true", help="no input requires grad")
    parser.add_argument("--autocast", action="store_true", help="inside torch.autocast")
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    common.add_budget_option(parser)


def run(arguments: argparse.Namespace) -> int:
    op = arguments.op
    if ".py:" in op:
        raise FxscopeError(
            f"{op} is a program, not an op. To see the ops that it calls: `fxscope run FILE.py:FACTORY -o x.fxscope`, "
            "then `fxscope view x.fxscope --stage eager`."
        )
    from fxscope._torch import dispatch_table
    from fxscope.render import dispatch

    device = arguments.device or ("cuda" if dispatch_table.has_device() else "cpu")
    found = dispatch_table.describe(op, device=device, requires_grad=not arguments.no_grad, autocast=arguments.autocast)
    if arguments.json:
        import msgspec

        sys.stdout.write(common.budgeted(msgspec.json.encode(found).decode(), arguments))
    else:
        print(dispatch.render(found, width=common.width()))
    return 0
