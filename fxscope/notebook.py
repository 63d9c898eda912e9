"""`%load_ext fxscope`: the cell magic `%%fxscope`, which records the call in a cell's last line.

    %%fxscope --compile
    x = torch.randn(64, 256)
    model(x)

runs the lines before, records `model(x)`, or all of `model(x).sum()`, and shows the recording; `--name r` binds it.
"""

import argparse
import ast
import os
import shlex
from keyword import iskeyword
from typing import Any

from fxscope.errors import CaptureError
from fxscope.model import Recording


def load_ipython_extension(shell: Any) -> None:
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # Kineto announces every session on stderr

    def fxscope(line: str, cell: str) -> Recording | None:
        try:
            text = shell.transform_cell(cell)  # `!ls` and `%time` are Python then
            return record_cell(line, text, shell.user_ns, file=shell.compile.cache(text))
        except CaptureError as error:
            print(f"fxscope: {error}")
            return None

    shell.register_magic_function(fxscope, "cell")


def record_cell(line: str, cell: str, names: dict[str, Any], file: str = "<cell>") -> Recording:
    """Run a cell, its last call by `fxscope.record`; `file` is what its lines are cited by. Raises CaptureError."""
    from fxscope.capture import record

    parser = _Options(prog="%%fxscope", add_help=False)
    for option in ("--compile", "--backward"):
        parser.add_argument(option, action="store_true")
    for option in ("--mode", "--title", "--name"):
        parser.add_argument(option)
    try:
        options, tree = parser.parse_args(shlex.split(line)), ast.parse(cell)
        compile(tree, file, "exec")  # finds `await` and `return` outside of a function
    except (SyntaxError, ValueError) as error:  # ValueError: a quote of the options is not closed
        raise CaptureError(f"the cell cannot be read: {error}.") from None
    if options.name is not None and (not options.name.isidentifier() or iskeyword(options.name)):
        raise CaptureError(f"--name {options.name!r} is not the name of a variable.")
    last = tree.body[-1] if tree.body else None
    call = last.value if isinstance(last, ast.Expr) else None  # no assignment: a recording has no result to bind
    if not isinstance(call, ast.Call):
        raise CaptureError("the cell's last line is not a call: write model(x) there, without an assignment.")
    compiled, title = options.mode or options.compile, options.title or ast.unparse(call)
    how: dict[str, Any] = {"compile": compiled, "backward": options.backward, "title": title}
    if isinstance(call.func, ast.Attribute) and any(isinstance(part, ast.Call) for part in ast.walk(call.func)):
        call = ast.Call(ast.Lambda(ast.arguments([], [], None, [], [], None, []), call), [], [])  # model(x).sum()
    names["__fxscope"] = lambda model, /, *inputs, **kwargs: record(model, *inputs, kwargs=kwargs, **how)
    recorded = ast.Call(ast.Name("__fxscope", ast.Load()), [call.func, *call.args], call.keywords)
    assigned = ast.Assign([ast.Name(options.name or "__fxscope", ast.Store())], recorded)
    tree.body[-1] = ast.copy_location(assigned, tree.body[-1])
    try:
        exec(compile(ast.fix_missing_locations(tree), file, "exec"), names)
        return names[options.name or "__fxscope"]
    finally:
        del names["__fxscope"]


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise CaptureError(f"{message}. {' '.join(self.format_usage().split())}")
