"""`fxscope run`: run a script or a factory and record it.

    fxscope run [options] SCRIPT.py [its arguments]
    fxscope run [options] -m package.module [its arguments]
    fxscope run [options] FILE.py:FACTORY [options]

A script runs unchanged, as `python SCRIPT.py …` would: what comes after its name is its own. At the very end, `-o`,
`--format`, `--json`, `--force` and `--stage` are fxscope's, unless the script itself has an option of that name or its
arguments begin with `--` (`fxscope run SCRIPT.py -- …`). Where the script ends by an exception, `sys.exit(3)`, `os._exit` or
ctrl-C, what ran until then is recorded, and the exit code is the script's. A signal without a handler ends it at once.

A factory is a function of no arguments that returns `(module, inputs)`; a dictionary at the end holds keyword inputs.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fxscope import factories
from fxscope.commands import script
from fxscope.commands.common import add_output_options, check_outputs, emit, refuse, tidy_on_termination, whole_sources
from fxscope.errors import FxscopeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fxscope.model import Recording


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (__doc__ or "").strip()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
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
    group.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an Inductor switch, such as epilogue_fusion=false; repeatable; implies --compile",
    )
    group.add_argument("--backward", action="store_true", help="run the backward pass as well")
    group.add_argument("--target", metavar="GPU", help="what Inductor would write for this GPU (h200, a100, …)")
    group.add_argument(
        "--keep",
        metavar="TEXT",
        action="append",
        default=[],
        choices=("ptx", "sass"),
        help="with --target: keep ptx or sass of each Triton kernel among the recording's sources; repeatable",
    )
    both = parser.add_argument_group("recording")
    both.add_argument("--title", metavar="TEXT", help="what to call the recording")
    both.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="profiled calls of a factory (default 3); steps of each kind that are kept of a script (default 3)",
    )
    both.add_argument(
        "--warmup", type=int, metavar="N", help="calls, or steps of a script, before them (default 2; of a script 1)"
    )
    both.add_argument(
        "--skip-init",
        action="store_true",
        help="of a script: leave out the chapter about what runs before the first step (weights, data sets, compiling)",
    )
    both.add_argument(
        "--sigterm",
        action="store_true",
        help="record a script that SIGTERM ends, too; the signal then waits for the C function that runs",
    )
    both.add_argument(
        "--keep-caches",
        action="store_true",
        help="let Inductor use its caches; what comes out of one leaves no evidence, and fxscope says so",
    )
    both.add_argument(
        "--whole-sources",
        action="store_true",
        help="embed the program's files as a whole, not only the lines that ops stem from",
    )
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.module and factories.is_factory(arguments.program):
        arguments = _options_after(arguments)
        check_outputs(arguments)
        with whole_sources(arguments.whole_sources):
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
    refuse(arguments, "it is for scripts", "skip_init", "sigterm")
    if arguments.target:
        refuse(arguments, "--target plans, and nothing is run", "steps", "warmup", "keep_caches")
    else:
        refuse(arguments, "it is for a plan: give --target GPU as well", "keep")
    title = arguments.title or arguments.program.rpartition(":")[2]
    with tidy_on_termination(), script.stdout_for_the_result(arguments), script.progress() as say:
        if arguments.target:
            # The plan is made in a process of its own, which calls the factory: torch is not even imported here.
            from fxscope._torch.target import child

            recording = child.record_for_target(
                arguments.target,
                factory=arguments.program,
                compile=_compile_options(arguments) or {},
                backward=arguments.backward,
                title=title,
                keep=tuple(arguments.keep),
                progress=say,
            )
        else:
            recording = _record(arguments, *factories.load_factory(arguments.program), say, title=title)
    emit(recording, arguments, keep=True)
    return 0


def _record(
    arguments: argparse.Namespace,
    model: Any,
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any],
    say: Callable[[str], None],
    *,
    title: str,
) -> Recording:
    from fxscope.capture import record

    options = _compile_options(arguments)
    try:
        return record(
            model,
            *inputs,
            kwargs=kwargs,
            compile=False if options is None else options,
            backward=arguments.backward,
            steps=3 if arguments.steps is None else arguments.steps,
            **({} if arguments.warmup is None else {"warmup": arguments.warmup}),
            title=title,
            bypass_caches=not arguments.keep_caches,
            progress=say,
        )
    except FxscopeError:
        raise
    except (Exception, SystemExit) as error:
        raise factories.raised(title, error) from None


def _compile_options(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """The keyword arguments of `torch.compile` that the options ask for; None where they ask for none."""
    if not (arguments.compile or arguments.mode or arguments.dynamic or arguments.set):
        return None
    options: dict[str, Any] = {}
    if arguments.mode:
        options["mode"] = arguments.mode
    if arguments.dynamic:
        options["dynamic"] = True
    if arguments.set:
        options["options"] = dict(factories.parse_setting(text) for text in arguments.set)
    return options
