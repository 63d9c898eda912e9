"""The part of `fxscope run` that runs a script, a module, a folder or a zip file as Python would, and writes what was seen."""

import argparse
import atexit
import builtins
import contextlib
import os
import runpy
import signal
import sys
import types
from collections.abc import Callable, Generator
from functools import partial
from importlib.machinery import PathFinder, SourceFileLoader
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

from fxscope.commands.common import check_outputs, emit, failed, refuse, tidy_on_termination
from fxscope.errors import NOT_PYTHON, CaptureError, FxscopeError, NothingCapturedError
from fxscope.model import Problem, replace
from fxscope.render.legible import legible_streams
from fxscope.store import opened

_FOR_FACTORIES = ("compile", "mode", "dynamic", "set", "backward", "numerics", "target")
_RUN_MODULE: Any = getattr(runpy, "_run_module_as_main")  # noqa: B009  what Python itself calls for `-m` and folders
_IS_SAFE_PATH = getattr(sys.flags, "safe_path", False)
_NOT_THEIRS = str(Path(__file__).parents[1])  # frames the program does not have


def run(arguments: argparse.Namespace) -> int:
    """Run the program and write or show its recording; return the program's own exit code."""
    name, path = arguments.program, Path(arguments.program)
    search = [] if _IS_SAFE_PATH else [str(Path.cwd() if arguments.module else path.resolve().parent)]
    if arguments.module:
        if PathFinder.find_spec(name.partition(".")[0], [*search, *sys.path]) is None:
            raise CaptureError(f"-m {name}: there is no such module here.")
        execute = partial(_RUN_MODULE, name)
    elif path.is_dir() or (path.is_file() and path.suffix in (".zip", ".pyz")):
        execute, search = partial(_RUN_MODULE, "__main__", alter_argv=False), [str(path.absolute())]
    else:
        execute = partial(_run_script, compiled(path))
    own = arguments.arguments[arguments.arguments[:1] == ["--"] :]
    if arguments.output and (rank := os.environ.get("RANK")) and os.environ.get("WORLD_SIZE", "1") != "1":
        arguments.output = [_of_rank(name, rank) for name in arguments.output]  # torchrun gives all ranks the same ones
    check_outputs(arguments)
    refuse(arguments, f"it is for factories, and {name} runs as it is; its options follow its name", *_FOR_FACTORIES)
    least = {"steps": 1, "warmup": 0, "wait": 0}
    if any((number := getattr(arguments, name)) is not None and number < bottom for name, bottom in least.items()):
        raise CaptureError("--steps must be at least 1, --warmup and --wait at least 0.")
    return _Run(arguments, name if arguments.module else path.name).run(execute, [name, *own], search)


def _of_rank(name: str, rank: str) -> str:
    """Return a file's name with the rank in it; devices and names that contain one stay."""
    from fxscope.fleet.digest import rank_in

    path = Path(name)
    stays = rank_in(name) is not None or (path.exists() and not path.is_file())
    return name if stays else str(path.with_stem(f"{path.stem}.rank{rank}"))


def compiled(path: Path) -> CodeType:
    """Return a script's code, read as Python does. Raises CaptureError."""
    if not path.exists():
        hint = " To record a factory write FILE.py:FACTORY." if path.suffix != ".py" else ""
        raise CaptureError(f"there is no script {path}.{hint}")
    try:
        # Bytes: with a mark at their head, or in the encoding that they name; not the `__future__` of this file.
        with opened(path) as file:
            return compile(file.read(), str(path.absolute()), "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        raise CaptureError(f"{path} is not Python: {error.msg}{where}.") from None
    except NOT_PYTHON as error:
        raise CaptureError(f"{path} cannot be read as Python: {str(error) or 'it is nested too deeply'}.") from None


def _run_script(code: CodeType) -> None:
    names, file = vars(sys.modules["__main__"]), code.co_filename
    names.update(__file__=file, __cached__=None, __loader__=SourceFileLoader("__main__", file))
    exec(code, names)


class _Run:
    """One run: the program ends by itself, an exception, `sys.exit`, `os._exit` or ctrl-C, and each way it is recorded."""

    def __init__(self, arguments: argparse.Namespace, label: str) -> None:
        self.arguments, self.label = arguments, label
        self.own_process = getattr(arguments, "own_process", False)  # else somebody calls `cli.main` in theirs
        self.process = getpid()  # a forked child that comes to the end of the program writes nothing
        self.around = contextlib.ExitStack()  # what is in place while the program runs
        self.how = "ended"
        self.code = 0  # the program's own exit code
        self.is_interrupted = self.is_finished = False

    def run(self, execute: Callable[[], Any], argv: list[str], search: list[str]) -> int:
        """Run the program with this `sys.argv`, `search` in front of `sys.path`; return its exit code."""
        if self.own_process:
            atexit.register(self._last)  # before torch is imported: what the program registers runs first
        from fxscope._torch.hooks import Hooks
        from fxscope.capture import Recorder

        options = {name: getattr(self.arguments, name) for name in ("steps", "warmup")}
        options["wait"] = self.arguments.wait or 0
        self.recorder = Recorder(title=self.arguments.title or self.label, warn=False, skip_start=True, **options)
        # `__mp_main__`: where multiprocessing, which torch imports, looks up classes of children that it spawned.
        before, mains = sys.argv, {name: sys.modules[name] for name in ("__main__", "__mp_main__")}
        with contextlib.ExitStack() as around:
            around.enter_context(stdout_for_the_result(self.arguments))
            exits = around.enter_context(contextlib.closing(Hooks()))
            exits.wrap("os:_exit", "before", lambda *_: self._leave_at_once())  # nothing else would be run then
            exits.replace(f"{os._exit.__module__}:_exit", os._exit)  # by which it is pickled
            with tidy_on_termination():
                self.recorder.__enter__()
            for name in os.environ.keys() - self.arguments.variables:  # torch's and ours: it has read them
                del os.environ[name]
            self.around = around.pop_all()
        self.path = list(sys.path)
        sys.argv = argv
        sys.path[: 1 if self.own_process and not _IS_SAFE_PATH else 0] = search
        main = types.ModuleType("__main__")
        vars(main).update(__builtins__=builtins, __annotations__={})  # of `__main__` alone `__builtins__` is the module
        sys.modules.update(dict.fromkeys(mains, main))
        try:
            self._execute(execute)
        finally:
            self._finish()
            if not self.own_process:
                sys.argv = before
                sys.modules.update(mains)
        return self.code

    def _execute(self, execute: Callable[[], Any]) -> None:
        """Run the program; where it raised, say so as Python would, through the program's own `excepthook`."""
        try:
            execute()
        except SystemExit as end:
            known = end.code is None or isinstance(end.code, int)
            self.code = int(end.code or 0) & 0xFF if known else 1  # pyright: ignore[reportArgumentType]
            self.how = f"ended with exit code {self.code}"
            if not known:
                print(end.code, file=sys.stderr)
        except BaseException as error:
            self.is_interrupted = isinstance(error, KeyboardInterrupt)
            self.code = 128 + signal.SIGINT if self.is_interrupted else 1
            self.how = "was interrupted" if self.is_interrupted else f"raised {type(error).__name__}"
            _take_ours_out(error)
            sys.excepthook(type(error), error, error.__traceback__)

    def _leave_at_once(self) -> None:
        self.how, self.code = "called os._exit", 1
        try:
            self._finish()
        except FxscopeError as error:
            failed(error, "run")

    def _finish(self) -> None:
        """End the recording and write it; once, and not in a forked child."""
        if getpid() != self.process or self.is_finished:
            return
        self.is_finished = True
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)  # an alarm was to end the program, which is over
        theirs, sys.path[:] = list(sys.path), self.path
        try:
            with tidy_on_termination():
                self.recorder.__exit__(None, None, None)
                with contextlib.suppress(OSError, ValueError):  # of a standard output that takes nothing
                    self.around.close()
                self._write()
        finally:
            sys.path[:] = theirs

    def _last(self) -> None:
        """Die of ctrl-C, as Python does, when nothing else is left to be done."""
        if self.is_interrupted and getpid() == self.process:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    stream.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(getpid(), signal.SIGINT)

    def _write(self) -> None:
        with legible_streams():
            recording, failure = self.recorder.recording, self.recorder.failure
            if recording is None or failure is not None:
                self._write_nothing(failure or NothingCapturedError("nothing was captured"))
                return
            if self.code:
                ended = Problem(where="program", message=f"{self.label} {self.how}; what ran until then is recorded")
                print(f"fxscope run: {ended.message}", file=sys.stderr)
                recording = replace(recording, problems=(ended, *recording.problems))
            try:
                emit(recording, self.arguments, keep=True)
            except FxscopeError as error:
                if not self.code:
                    raise
                print(f"fxscope run: {error}", file=sys.stderr)

    def _write_nothing(self, error: Exception) -> None:
        if not isinstance(error, FxscopeError):
            from fxscope.factories import described

            error = NothingCapturedError(f"{self.label} ran, but {described(error)} kept fxscope from recording it.")
        if not self.code:
            raise error
        print(f"fxscope run: {self.label} {self.how}; nothing was recorded: {error}", file=sys.stderr)


def _take_ours_out(error: BaseException | None) -> None:
    """Take the frames of fxscope out of the tracebacks of an exception and of those behind it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        links: list[TracebackType] = []
        while (link := links[-1].tb_next if links else error.__traceback__) is not None:
            links.append(link)
        error.__traceback__ = None  # of an import error all may be ours
        for link in reversed(links):
            if not link.tb_frame.f_code.co_filename.startswith(_NOT_THEIRS):
                link.tb_next, error.__traceback__ = error.__traceback__, link
        error = error.__cause__ or error.__context__


@contextlib.contextmanager
def stdout_for_the_result(arguments: argparse.Namespace) -> Generator[None]:
    """Return where the result goes to stdout in a format for machines, send what the program prints to stderr."""
    if arguments.output or not arguments.format or arguments.format == "terminal":
        yield
        return
    sys.stdout.flush()
    with contextlib.ExitStack() as around:
        with contextlib.suppress(OSError):  # no real stdout
            saved = os.dup(1)
            around.callback(os.close, saved)
            around.callback(os.dup2, saved, 1)
            os.dup2(2, 1)
        around.callback(sys.stdout.flush)
        around.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield
