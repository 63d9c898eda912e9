"""`%load_ext fxscope`: the cell magic `%%fxscope`, which records the call in a cell's last line.

    %%fxscope --compile
    x = torch.randn(64, 256)
    model(x)

runs the lines before as they are, records `model(x)` with `fxscope.record`, and shows the recording; `--name r` also binds it.
"""

from __future__ import annotations

import argparse
import ast
import shlex
from typing import TYPE_CHECKING, Any

from fxscope.errors import CaptureError

if TYPE_CHECKING:
    from fxscope.model import Recording


def load_ipython_extension(shell: Any) -> None:
    """Register the magic; IPython calls this."""

    def fxscope(line: str, cell: str) -> Recording | None:
        try:
            return record_cell(line, cell, shell.user_ns)
        except CaptureError as error:
            print(f"fxscope: {error}")
            return None

    shell.register_magic_function(fxscope, "cell")


def record_cell(line: str, cell: str, names: dict[str, Any]) -> Recording:
    """Run a cell but for its last call, and record that. Raises CaptureError where there is none."""
    from fxscope.capture import record

    options = _options(line)
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body else None
    call = last.value if isinstance(last, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call):
        raise CaptureError("the cell's last line is not a call: write model(x) there, which is what is recorded.")
    exec(compile(tree, "<cell>", "exec"), names)
    # The call itself, but to a function that keeps what it is given.
    names["__fxscope_call"] = lambda *inputs, **kwargs: (inputs, kwargs)
    try:
        model = eval(compile(ast.Expression(call.func), "<cell>", "eval"), names)
        given = ast.Call(ast.Name("__fxscope_call", ast.Load()), call.args, call.keywords)
        expression = ast.fix_missing_locations(ast.Expression(given))
        inputs, kwargs = eval(compile(expression, "<cell>", "eval"), names)
    finally:
        del names["__fxscope_call"]
    title = options.title or ast.unparse(call)
    compiled = options.mode or options.compile
    recording = record(model, *inputs, kwargs=kwargs, compile=compiled, backward=options.backward, title=title)
    if options.name:
        names[options.name] = recording
    return recording


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise CaptureError(f"{message}. {' '.join(self.format_usage().split())}")


def _options(line: str) -> argparse.Namespace:
    parser = _Options(prog="%%fxscope", add_help=False)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--mode")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--title")
    parser.add_argument("--name")
    return parser.parse_args(shlex.split(line))
