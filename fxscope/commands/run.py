"""`fxscope run`: run a script or a factory and record it.

    fxscope run [options] SCRIPT.py [its arguments]
    fxscope run [options] -m package.module [its arguments]
    fxscope run [options] FILE.py:FACTORY [options]

A script runs unchanged, as with `python SCRIPT.py …`. fxscope's options come before its name; what follows is the script's.
A script that ends by an exception, `sys.exit(3)`, `os._exit` or ctrl-C is recorded up to there; the exit code is the
script's. A signal without a handler ends it at once.

A factory is a function of no arguments that returns `(module, inputs)`; a dictionary as the last input holds keyword arguments.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fxscope import factories
from fxscope.commands import script
from fxscope.commands.common import HELP, add_output_options, check_outputs, emit, refuse, say, tidy_on_termination

if TYPE_CHECKING:
    from fxscope.model import Recording


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (__doc__ or "").strip()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.allow_abbrev = False  # else an option of the script's that begins like two of ours is an error
    parser.usage = (
        "fxscope run [options] SCRIPT.py [its arguments] | -m MODULE [its arguments] | FILE.py:FACTORY [options]"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, run as `python -m` would")
    parser.add_argument("program", metavar="PROGRAM", help="SCRIPT.py, or FILE.py:FACTORY, or package.module:FACTORY")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    _add_options(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("factories only")
    group.add_argument("--compile", action="store_true", help="run it under torch.compile")
    group.add_argument("--mode", metavar="MODE", help="mode of torch.compile, such as max-autotune; implies --compile")
    group.add_argument("--dynamic", action="store_true", help="compile with dynamic shapes; implies --compile")
    group.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help=HELP["--set of run"])
    group.add_argument("--backward", action="store_true", help="run the backward pass as well")
    group.add_argument("--numerics", action="store_true", help=HELP["--numerics"])
    group.add_argument("--target", metavar="GPU", help="what Inductor would write for this GPU (h200, a100, …)")
    both = parser.add_argument_group("recording")
    both.add_argument("--title", metavar="TEXT", help="title of the recording")
    both.add_argument("--steps", type=int, metavar="N", help="profiled calls, or steps of a script (default: 3)")
    both.add_argument("--warmup", type=int, metavar="N", help="unprofiled calls before (default: 2; a script: 1 step)")
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.module and factories.is_factory(arguments.program):
        arguments = _options_after(arguments)
        check_outputs(arguments)
        return _run_factory(arguments)
    return script.run(arguments)


# ---------------------------------------------------------------------- factories


def _options_after(arguments: argparse.Namespace) -> argparse.Namespace:
    """Parse the options that come after a factory; a factory has no arguments of its own."""
    parser = argparse.ArgumentParser(prog="fxscope run FILE.py:FACTORY", add_help=True)
    _add_options(parser)
    rest = [word for word in arguments.arguments if word != "--"]
    return parser.parse_args(rest, namespace=arguments)


def _run_factory(arguments: argparse.Namespace) -> int:
    if arguments.target:
        refuse(arguments, "--target plans, and nothing is run", "steps", "warmup", "numerics")
    title = arguments.title or Path(arguments.program).name
    with tidy_on_termination(), script.stdout_for_the_result(arguments):
        if arguments.target:
            # The plan is made in a process of its own, which calls the factory: torch is not even imported here.
            from fxscope._torch.target import child

            recording = child.record(
                arguments.program,
                target=arguments.target,
                compile=_compile_options(arguments) or {},
                backward=arguments.backward,
                title=title,
                progress=say,
            )
        else:
            recording = _record(arguments, title)
    emit(recording, arguments, keep=True)
    return 0


def _record(arguments: argparse.Namespace, title: str) -> Recording:
    from fxscope.capture import record

    model, inputs, kwargs = factories.load_factory(arguments.program)
    options = _compile_options(arguments)
    with factories.explained_errors(title):
        return record(
            model,
            *inputs,
            kwargs=kwargs,
            compile=False if options is None else options,
            backward=arguments.backward,
            steps=3 if arguments.steps is None else arguments.steps,
            **({} if arguments.warmup is None else {"warmup": arguments.warmup}),
            title=title,
            numerics=arguments.numerics,
        )


def _compile_options(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """The keyword arguments of `torch.compile` that the options ask for; None where they ask for none."""
    if not (arguments.compile or arguments.mode or arguments.dynamic or arguments.set or arguments.numerics):
        return None
    options: dict[str, Any] = {}
    if arguments.mode:
        options["mode"] = arguments.mode
    if arguments.dynamic:
        options["dynamic"] = True
    if arguments.set:
        options["options"] = dict(factories.parse_setting(text) for text in arguments.set)
    return options
