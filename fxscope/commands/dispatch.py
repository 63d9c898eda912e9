"""`fxscope dispatch OP`: the keys an op passes, what is registered at each, what it calls, what Inductor makes of it."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from fxscope.analysis import select
from fxscope.commands import common
from fxscope.errors import FxscopeError

if TYPE_CHECKING:
    import argparse

    from fxscope.model import Recording

CALLS = ("call_function", "dispatch")
FORMS = ("all", "table", "tree", "prose")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "op",
        metavar="OP",
        help="aten::linear, aten.linear.default, torch.nn.functional.linear, linear; "
        "FILE.py:FACTORY; or FILE.py:FUNCTION with one --shape per tensor",
    )
    parser.add_argument(
        "--device", metavar="DEVICE", help="where the tensors are: cpu, cuda, meta (default: cuda where there is a GPU)"
    )
    parser.add_argument("--no-grad", action="store_true", help="no input requires grad")
    parser.add_argument("--autocast", action="store_true", help="inside torch.autocast")
    parser.add_argument(
        "--trace", action="store_true", help="run it on tensors of --shape and show the ops that it called"
    )
    parser.add_argument(
        "--shape", action="append", metavar="8x16", help="shape of the next tensor, with --trace; repeatable"
    )
    parser.add_argument("--dtype", default="float32", metavar="DTYPE", help="of the example tensors (default float32)")
    parser.add_argument("--format", choices=FORMS, default="all", help="print one form (default: all)")
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    common.add_budget_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from fxscope import factories

    op, shapes, dtype = arguments.op, _shapes(arguments.shape), arguments.dtype
    if ".py:" in op and factories.is_factory(op):
        common.refuse(arguments, f"{op} is run as it is", "trace", "autocast")
        if arguments.format != "all":
            raise FxscopeError("--format means nothing here: a function's chain of ops has one form.")
        if not shapes:
            common.refuse(arguments, "it is for the tensors of --shape", "dtype", "no_grad")
        return of_function(op, shapes, dtype, arguments)
    if arguments.json and arguments.format != "all":
        raise FxscopeError("--format means nothing here: --json has all forms.")
    if not arguments.trace:
        common.refuse(arguments, "it is for the example tensors of --trace", "shape", "dtype")
        if arguments.format == "tree":
            raise FxscopeError("--format tree shows what ran: it needs --trace.")
    from fxscope._torch import dispatch_table
    from fxscope.model import replace
    from fxscope.render import dispatch as text

    device = arguments.device or ("cuda" if can_run("cuda") else "cpu")
    found = dispatch_table.describe(op, device=device, requires_grad=not arguments.no_grad, autocast=arguments.autocast)
    if arguments.trace:
        from fxscope._torch import dispatch_example

        check_device(device, "--trace runs the op")
        inputs, words = dispatch_example.example(found.name, shapes, dtype, device, requires_grad=not arguments.no_grad)
        found = replace(found, ran=dispatch_example.run(found.name, inputs), example=tuple(words))
    if arguments.json:
        import msgspec

        sys.stdout.write(common.budgeted(msgspec.json.encode(found).decode(), arguments))
    else:
        print(text.render(found, form=arguments.format, width=common.width()))
    return 0


def of_function(program: str, shapes: tuple[tuple[int, ...], ...], dtype: str, arguments: argparse.Namespace) -> int:
    """Run a function of the user's once and show the chain of ops that it dispatched. Raises FxscopeError."""
    from fxscope import factories
    from fxscope._torch import dispatch_example
    from fxscope.capture import record
    from fxscope.render import render
    from fxscope.render.legible import legible_streams

    device = arguments.device or ("cuda" if can_run("cuda") else "cpu")
    check_device(device, f"{program} is run")
    model, inputs, kwargs = dispatch_example.as_function(factories.load_function(program)), (), {}
    if shapes:
        inputs = dispatch_example.tensors(shapes, dtype, device, requires_grad=not arguments.no_grad)
    elif factories.takes_arguments(model):
        raise FxscopeError(f"{program} takes arguments: give a --shape for each tensor, such as --shape 8x16.")
    else:
        model, inputs, kwargs = factories.call_factory(model, program)
    with factories.explained_errors(program):
        recording = record(model, *inputs, kwargs=kwargs, steps=1, title=program)
    with legible_streams():
        if not arguments.json:
            print(str(render(recording, "terminal", stage="eager")).rstrip())
        elif arguments.json_bytes > 0:
            print(common.budgeted(json.dumps({"title": program, "chain": chain(recording)}), arguments))
        else:
            print(recording.to_json())
    return 0


def chain(recording: Recording) -> list[dict[str, Any]]:
    """Return the dispatched ops in order, each with the op that called it, what it is, and its line."""
    return [
        {
            "name": node.name,
            "op": node.target,
            "called_by": node.parent,
            "kind": node.kind,
            "reason": node.reason,
            "inputs": list(node.inputs),
            "line": select.place(node.source),
        }
        for graph in recording.graphs
        for node in graph.nodes
        if node.op == "dispatch"
    ]


def _shapes(words: list[str] | None) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    for word in words or ():
        try:
            found.append(tuple(int(size) for size in re.split("[x×,]", word) if size.strip()))
        except ValueError:
            raise FxscopeError(f"--shape takes sizes such as 1024x32, not {word!r}.") from None
    return tuple(found)


def check_device(device: str, why: str) -> None:
    if not can_run(device):
        raise FxscopeError(f"{why}, and this machine has no {device} device. Use --device cpu.")


def can_run(device: str) -> bool:
    from fxscope._torch import dispatch_table

    kind = device.split(":")[0]
    return kind in ("cpu", "meta") or (kind == "cuda" and dispatch_table.has_device())
