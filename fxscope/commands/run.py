"""`fxscope run`: run a script or a factory and record it.

    fxscope run [options] SCRIPT.py [arguments]
    fxscope run [options] -m package.module [arguments]
    fxscope run [options] FILE.py:FACTORY [options]

A script runs unchanged, as with `python SCRIPT.py …`. fxscope's options come before its name; what follows is the script's.
A script that ends by an exception, `sys.exit(3)`, `os._exit` or ctrl-C is recorded up to there; the exit code is the
script's. A signal without a handler ends it at once. Ranks of torchrun write a file each: x.rank0.html, …

A factory is a function of no arguments that returns `(module, inputs)`; a dictionary as the last input holds keyword arguments.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from fxscope import factories
from fxscope.commands import common, script
from fxscope.commands.common import HELP, add_output_options, check_outputs, emit, refuse, say, tidy_on_termination


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (__doc__ or "").strip()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.allow_abbrev = False  # else an option of the script's that begins like two of ours is an error
    parser.usage = "fxscope run [options] SCRIPT.py [arguments] | -m MODULE [arguments] | FILE.py:FACTORY [options]"
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, run as `python -m` would")
    parser.add_argument("program", metavar="PROGRAM", help="SCRIPT.py, or FILE.py:FACTORY, or package.module:FACTORY")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments").required = False
    _add_options(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("factories only")
    group.add_argument("--compile", action="store_true", help="run it under torch.compile")
    group.add_argument("--mode", metavar="MODE", help="mode of torch.compile, such as max-autotune; implies --compile")
    group.add_argument("--dynamic", action="store_true", help="compile with dynamic shapes; implies --compile")
    group.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help=HELP["--set of run"])
    group.add_argument("--backward", action="store_true", help="run the backward pass as well")
    group.add_argument("--numerics", action="store_true", help=HELP["--numerics"])
    group.add_argument("--target", metavar="GPU", help="plan for this GPU (h200, a100, FILE.json) instead of running")
    both = parser.add_argument_group("recording")
    both.add_argument("--title", metavar="TEXT", help="title of the recording")
    both.add_argument("--steps", type=int, metavar="N", help="profiled calls, or steps of a script (default: 3)")
    both.add_argument("--wait", type=int, metavar="N", help=HELP["--wait"])
    both.add_argument("--warmup", type=int, metavar="N", help=HELP["--warmup"])
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.module or Path(arguments.program).exists() or not factories.FACTORY.match(arguments.program):
        return script.run(arguments)
    arguments = _options_after(arguments)
    check_outputs(arguments)
    return _run_factory(arguments)


# ---------------------------------------------------------------------- factories


def _options_after(arguments: argparse.Namespace) -> argparse.Namespace:
    """Parse the options that come after a factory; a factory has no arguments of its own."""
    parser = argparse.ArgumentParser(prog="fxscope run", usage=arguments.parser.usage)
    parser.register("action", None, common.Once)
    _add_options(parser)
    rest = [word for word in arguments.arguments if word != "--"]
    return parser.parse_args(rest, namespace=arguments)


def _run_factory(arguments: argparse.Namespace) -> int:
    refuse(arguments, "a factory's calls are timed before they are profiled anyway", "wait")
    if arguments.target:
        refuse(arguments, "--target plans, and nothing is run", "steps", "warmup", "numerics")
    title, options = arguments.title or Path(arguments.program).name, _compile_options(arguments)
    with tidy_on_termination(), script.stdout_for_the_result(arguments):
        if arguments.target:
            # The plan is made in a process of its own, which calls the factory: torch is not even imported here.
            from fxscope._torch.target import child

            plan = partial(child.record, arguments.program, target=arguments.target, progress=say)
            recording = plan(compile=options or {}, backward=arguments.backward, title=title)
        else:
            model, inputs, kwargs = factories.load_factory(arguments.program)
            from fxscope.capture import record  # now: a missing file is said before torch is imported

            compiled = False if options is None else options
            counts = {name: number for name in ("steps", "warmup") if (number := getattr(arguments, name)) is not None}
            observe = partial(record, model, *inputs, kwargs=kwargs, numerics=arguments.numerics, **counts)
            with factories.explained_errors(title):
                recording = observe(compile=compiled, backward=arguments.backward, title=title)
    emit(recording, arguments, keep=True)
    return 0


def _compile_options(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """The keyword arguments of `torch.compile` that the options ask for; None where they ask for none."""
    switches = dict(factories.parse_setting(text) for text in arguments.set)
    asked = {"mode": arguments.mode, "dynamic": arguments.dynamic, "options": switches}
    options = {name: value for name, value in asked.items() if value}
    return options if options or arguments.compile or arguments.numerics else None
