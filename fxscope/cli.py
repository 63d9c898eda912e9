"""The command line. Each verb is a module of `fxscope.commands`, imported when its verb is used.

A verb module has `configure(parser)` and `run(arguments) -> int` (the exit code).
"""

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from fxscope import __version__
from fxscope.commands.common import Once, check_apart, drop_what_stdout_does_not_take, failed, tidy_on_termination
from fxscope.data import read_table
from fxscope.errors import FxscopeError, UsageError
from fxscope.render.legible import legible_streams

_VERBS = read_table("verbs.json")
VERBS: dict[str, str] = _VERBS["verbs"]
MORE_VERBS: dict[str, str] = _VERBS["more"]


def build_parser(verb: str | None = None) -> argparse.ArgumentParser:
    """The parser; only the chosen verb's module is imported (all of them where `verb` is None)."""
    more = "\n".join(f"  {name:<18}{summary}" for name, summary in MORE_VERBS.items())
    parser = argparse.ArgumentParser(
        prog="fxscope",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Which op ran as which kernel, what was fused, why not, and what it cost.",
        epilog=f"also:\n{more}\n\n`fxscope VERB --help` lists the options of a verb. Start with `fxscope demo`.",
    )
    parser.add_argument("--version", action="version", version=f"fxscope {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, summary in (VERBS | MORE_VERBS).items():
        description = summary[0].upper() + summary[1:] + "."
        listed: dict[str, Any] = {"help": summary} if name in VERBS else {}
        child = verbs.add_parser(name, description=description, **listed)
        if verb in (name, None):
            child.register("action", None, Once)
            module(name).configure(child)
            child.set_defaults(parser=child)
            child.usage = child.usage or usage(child)
    return parser


def usage(parser: argparse.ArgumentParser) -> str:
    """One line: "fxscope why RECORDING [NAME …] [options]"."""
    words: list[str] = []
    for action in parser._actions:
        if not action.option_strings:
            word = f"{action.metavar or action.dest}{' …' if action.nargs in ('+', '*') else ''}"
            words.append(f"[{word}]" if action.nargs in ("?", "*") else word)
        elif action.required:
            words.append(f"{action.option_strings[0]} {action.metavar}")
    return " ".join([parser.prog, *words, "[options]"])


RENAMED = {"trace": "view", "env": "doctor", "explain": "view"}


def modernized(argv: list[str]) -> tuple[list[str], str | None]:
    """The arguments with an old name of a verb replaced, and the new spelling where one was. They work for one version."""
    verb = next((word for word in argv if not word.startswith("-")), "")
    if verb not in RENAMED:
        return argv, None
    words = argv[argv.index(verb) + 1 :]
    names = verb == "explain" and len(words) > 1 and not any(word.startswith("-") for word in words[:2])
    new = ["why" if names else RENAMED[verb], *words]  # with a name behind the recording it was `why`
    return new, f"fxscope {' '.join(new)}"


def module(verb: str) -> ModuleType:
    return importlib.import_module(f"fxscope.commands.{verb.replace('-', '_')}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 2 for bad input, 3 where nothing was captured."""
    # Kineto announces every session on stderr; the variable is read when torch is loaded.
    own_process = argv is None
    variables = frozenset(os.environ)
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    argv, newer = modernized(list(sys.argv[1:] if argv is None else argv))
    verb = next((word for word in argv if not word.startswith("-")), "")
    parser = build_parser(verb)
    try:
        with legible_streams():  # what the shell made of `*` may be in a usage error
            if newer is not None and sys.stderr is not None:
                print(f"fxscope: this spelling is deprecated. Use: {newer}", file=sys.stderr)
            arguments, unknown = parser.parse_known_args(argv)
            child = getattr(arguments, "parser", parser)  # whose usage helps
            if unknown and arguments.verb != "run":  # `why RECORDING --all gelu mul`: argparse stops at the option
                words = argv[argv.index(arguments.verb) + 1 :]
                arguments, unknown = child.parse_known_intermixed_args(words, argparse.Namespace(verb=arguments.verb))
            if unknown:
                child.error(f"unrecognized arguments: {' '.join(unknown)}")
    except (FxscopeError, BrokenPipeError) as error:  # of help that cannot be written
        if isinstance(error, FxscopeError) and sys.stderr is not None:
            print(f"fxscope: {error}", file=sys.stderr)
        drop_what_stdout_does_not_take()
        return 2
    arguments.words, arguments.own_process, arguments.variables = argv, own_process, variables
    # A program that `run` observes has streams and signals as it knows them; `emit` and `script` see to what follows.
    around = contextlib.ExitStack()
    if arguments.verb != "run":
        around.enter_context(legible_streams())
        if own_process:
            around.enter_context(tidy_on_termination())
    try:
        with around:
            check_apart(arguments)
            status = module(arguments.verb).run(arguments)
            if arguments.verb != "run":
                sys.stdout.flush()
            return status
    except FxscopeError as error:
        return failed(error, arguments.verb, arguments.parser.usage if isinstance(error, UsageError) else "")
    except BrokenPipeError:
        drop_what_stdout_does_not_take()  # the reader (`| head`) went away: that is its right
        return 0
    except (Exception, KeyboardInterrupt) as error:
        said = explained(error)
        if said is None:
            raise
        with legible_streams():
            print(f"fxscope {arguments.verb}: {said}", file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 2


def explained(error: BaseException) -> str | None:
    """The line for an error that is none of fxscope's own; `None` where it is a fault of fxscope's."""
    from traceback import walk_tb

    loading = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_name == "<module>"]
    modules = [getattr(error, "name", None) or "", *(str(frame.f_globals.get("__name__")) for frame in loading)]
    is_torchs = any(name.partition(".")[0] == "torch" for name in modules)
    if is_torchs and isinstance(error, (ImportError, ValueError)):  # it is not here, or cannot read a variable
        return f"this needs torch, which cannot be imported ({type(error).__name__}: {error}). See `fxscope doctor`."
    if isinstance(error, OSError):  # a name that no file can have, a disk that is full or fails
        if isinstance(error, FileNotFoundError) and error.filename is None:  # of getcwd
            return "the current folder does not exist any more. Change to one that does."
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{where}{error.strerror or error}."
    return next((said for kind, said in OTHERS.items() if isinstance(error, kind)), None)


OTHERS: dict[type[BaseException], str] = {
    KeyboardInterrupt: "interrupted",
    RecursionError: "the input is nested too deeply to be read.",
    MemoryError: "the input needs more memory than there is.",
}
