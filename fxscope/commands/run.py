"""`fxscope run`: run a script or a factory and record it.

    fxscope run [options] SCRIPT.py [its arguments]
    fxscope run [options] FILE.py:FACTORY [options]

A script runs unchanged, as `python SCRIPT.py …` would: what comes after its name is its own. At the very end, `-o`,
`--format`, `--json`, `--force` and `--stage` are fxscope's, unless the script itself has an option of that name or its
arguments begin with `--` (`fxscope run SCRIPT.py -- …`).

A factory is a function of no arguments that returns `(module, inputs)`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fxscope import factories
from fxscope.commands.common import add_output_options, check_outputs, emit
from fxscope.errors import CaptureError, FxscopeError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from fxscope.model import Recording

_OUTPUT_FLAGS = {"-o": 1, "--output": 1, "--format": 1, "--stage": 1, "--json": 0, "--force": 0}  # → number of values


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    parser.description = (__doc__ or "").strip()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "fxscope run [options] SCRIPT.py [its arguments] | FILE.py:FACTORY [options]"
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
    group.add_argument("--steps", type=int, default=3, metavar="N", help="profiled calls (default 3)")
    both = parser.add_argument_group("recording")
    both.add_argument("--title", metavar="TEXT", help="what to call the recording")
    both.add_argument(
        "--keep-caches",
        action="store_true",
        help="let Inductor use its caches; what comes out of one leaves no evidence, and fxscope says so",
    )
    add_output_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Record the program and write or show the recording."""
    if factories.is_factory(arguments.program):
        arguments = _options_after(arguments)
        check_outputs(arguments)
        return _run_factory(arguments)
    return _run_script(arguments)


# ---------------------------------------------------------------------- factories


def _options_after(arguments: argparse.Namespace) -> argparse.Namespace:
    """Parse the options that come after a factory; a factory has no arguments of its own."""
    parser = argparse.ArgumentParser(prog="fxscope run FILE.py:FACTORY", add_help=True)
    _add_options(parser)
    rest = [word for word in arguments.arguments if word != "--"]
    return parser.parse_args(rest, namespace=arguments)


def _run_factory(arguments: argparse.Namespace) -> int:
    title = arguments.title or arguments.program.rpartition(":")[2]
    with _stdout_for_the_result(arguments), _progress() as say:
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
            model, inputs, kwargs = factories.load_factory(arguments.program)
            recording = _record(arguments, model, inputs, kwargs, say, title=title)
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
            steps=arguments.steps,
            title=title,
            bypass_caches=not arguments.keep_caches,
            progress=say,
        )
    except FxscopeError:
        raise
    except Exception as error:
        raise factories.raised(title, error) from None


def _compile_options(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the keyword arguments of `torch.compile` that the options ask for; None where they ask for none."""
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


# ---------------------------------------------------------------------- scripts


def _run_script(arguments: argparse.Namespace) -> int:
    path = Path(arguments.program)
    if not path.is_file():
        hint = " To record a factory write FILE.py:FACTORY." if path.suffix != ".py" else ""
        raise CaptureError(f"there is no script {arguments.program}.{hint}")
    try:
        source = path.read_text(encoding="utf-8")
        code = compile(source, str(path.resolve()), "exec")
    except SyntaxError as error:
        raise CaptureError(f"{path} is not Python: {error.msg} (line {error.lineno}).") from None
    except (UnicodeDecodeError, ValueError, OSError) as error:
        raise CaptureError(f"{path} cannot be read as Python: {error}.") from None
    own, options = _split(arguments, source)
    parser = argparse.ArgumentParser(prog="fxscope run SCRIPT.py")
    add_output_options(parser)
    given = list(arguments.output or ())
    arguments.output = None
    parser.parse_args(options, namespace=arguments)
    arguments.output = [*given, *(arguments.output or ())] or None
    check_outputs(arguments)
    for flag in ("compile", "mode", "dynamic", "set", "backward", "target"):
        if getattr(arguments, flag):
            raise CaptureError(
                f"--{flag} is for factories: {path.name} is a script and runs as it is. "
                f"Put its own arguments after its name, or give FILE.py:FACTORY."
            )
    from fxscope.capture import Recorder

    recorder = Recorder(title=arguments.title or path.name, bypass_caches=not arguments.keep_caches, warn=False)
    process = os.getpid()
    with _stdout_for_the_result(arguments), _as_main(path, own) as namespace, _progress() as say:
        say(f"running {path.name}")
        theirs: BaseException | None = None  # told apart from an error of fxscope's own
        try:
            with recorder:
                try:
                    exec(code, namespace)
                except SystemExit as error:
                    if error.code not in (None, 0):
                        raise
                except Exception as error:
                    theirs = error
                    raise
        except SystemExit as error:
            if not isinstance(error.code, int):
                print(error.code, file=sys.stderr)
            status = error.code if isinstance(error.code, int) else 1
            print(f"fxscope run: {path.name} ended with exit code {status}; nothing was recorded", file=sys.stderr)
            return status
        except Exception as error:
            if error is not theirs:
                raise
            _print_traceback(error)
            print(f"fxscope run: {path.name} raised {type(error).__name__}; nothing was recorded", file=sys.stderr)
            return 1
    if os.getpid() != process:  # a forked child that came to the end of the script: what was seen is its parent's
        return 0
    if isinstance(recorder.failure, FxscopeError):
        raise recorder.failure
    if recorder.failure is not None:
        from fxscope.factories import described

        raise CaptureError(f"{path.name} ran, but {described(recorder.failure)} kept fxscope from recording it.")
    assert recorder.recording is not None
    emit(recorder.recording, arguments, keep=True)
    return 0


def _split(arguments: argparse.Namespace, source: str) -> tuple[list[str], list[str]]:
    """Return (the script's arguments, fxscope's output options that come after them)."""
    words: list[str] = list(arguments.arguments)
    if words[:1] == ["--"]:
        return words[1:], []
    end = len(words)
    while end > 0:
        flag, equals, _ = words[end - 1].partition("=")
        if flag in _OUTPUT_FLAGS and (bool(equals) == bool(_OUTPUT_FLAGS[flag]) or not _OUTPUT_FLAGS[flag]):
            start = end - 1
        elif end > 1 and _OUTPUT_FLAGS.get(words[end - 2]) == 1:
            start, flag = end - 2, words[end - 2]
        else:
            break
        if re.search(rf"['\"]{re.escape(flag)}['\"]", source):
            break  # the script has an option of that name
        end = start
    return words[:end], words[end:]


@contextlib.contextmanager
def _as_main(path: Path, own: Sequence[str]) -> Generator[dict[str, Any]]:
    """Make everything look as if Python had been started with the script."""
    import types

    module = types.ModuleType("__main__")
    module.__file__ = str(path.resolve())
    module.__dict__["__builtins__"] = __builtins__
    argv, search, main = sys.argv, list(sys.path), sys.modules.get("__main__")
    sys.argv = [str(path), *own]
    sys.path[0:0] = [str(path.resolve().parent)]
    sys.modules["__main__"] = module
    try:
        yield module.__dict__
    finally:
        sys.argv, sys.path[:] = argv, search
        if main is not None:
            sys.modules["__main__"] = main


# ---------------------------------------------------------------------- streams and messages


@contextlib.contextmanager
def _stdout_for_the_result(arguments: argparse.Namespace) -> Generator[None]:
    """Where the result goes to stdout in a format for machines, send what the program prints to stderr."""
    if arguments.output or not arguments.format or arguments.format == "terminal":
        yield
        return
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # no real stdout
        with contextlib.redirect_stdout(sys.stderr):
            yield
        return
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


@contextlib.contextmanager
def _progress() -> Generator[Callable[[str], None]]:
    """Yield a function that says on stderr what is being done, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return

    def say(text: str) -> None:
        print(f"\r\x1b[2K{text} …", end="", file=sys.stderr, flush=True)

    try:
        yield say
    finally:
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def _print_traceback(error: Exception) -> None:
    """Print the script's traceback as Python would, without the frames of fxscope that called it."""
    ours = str(Path(__file__).parents[1])
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(ours):
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)
