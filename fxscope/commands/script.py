"""The part of `fxscope run` that runs a script, a module, a folder or a zip file as Python would, and writes what was seen.

The recording is finished by an `atexit` handler, after the program's threads and its own handlers.
"""

from __future__ import annotations

import argparse
import atexit
import builtins
import contextlib
import importlib.util
import os
import pkgutil
import re
import signal
import sys
import traceback
import types
from importlib.machinery import SourceFileLoader
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope.commands.common import add_output_options, check_outputs, emit, failed, tidy_on_termination, whole_sources
from fxscope.errors import NOT_PYTHON, CaptureError, FxscopeError, NothingCapturedError
from fxscope.render.legible import legible_streams, status

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from types import CodeType, TracebackType


_OUTPUT_FLAGS = {"-o": 1, "--output": 1, "--format": 1, "--stage": 1, "--json": 0, "--force": 0}  # → number of values
_FOR_FACTORIES = ("compile", "mode", "dynamic", "set", "backward", "keep")
_FXSCOPE = str(Path(__file__).parents[1])


class Program(NamedTuple):
    """The program that Python would start."""

    label: str
    given: str  # `sys.argv[0]`
    file: str
    code: CodeType
    source: str
    search: str  # what Python puts in front of `sys.path`
    spec: Any = None  # of a module, a folder or a zip file


def run(arguments: argparse.Namespace) -> int:
    """Run the program and write or show its recording; return the program's own exit code."""
    program = _module(arguments.program) if arguments.module else _script(arguments.program)
    words = list(arguments.arguments)
    if words[:1] != ["--"] and arguments.words[: -len(words)][-1:] == ["--"]:
        words.insert(0, "--")  # argparse takes it away, but for Python 3.13
    own, options = split(words, program.source)
    parser = argparse.ArgumentParser(prog="fxscope run SCRIPT.py")
    add_output_options(parser)
    given = list(arguments.output or ())
    arguments.output = None
    parser.parse_args(options, namespace=arguments)
    arguments.output = [*given, *(arguments.output or ())] or None
    check_outputs(arguments)
    _check(arguments, program, () if words[:1] == ["--"] else own)
    return _Run(arguments, program, own).run()


def _check(arguments: argparse.Namespace, program: Program, own: Sequence[str]) -> None:
    """Raise CaptureError for options that a script cannot have."""
    if (arguments.steps is not None and arguments.steps < 1) or (arguments.warmup is not None and arguments.warmup < 0):
        raise CaptureError("--steps must be at least 1, and --warmup at least 0.")
    if gpu := arguments.target or _gpu_among(own):
        raise CaptureError(
            f"--target plans a function, and {program.label} is a script: it runs on the devices of this machine. "
            f"Write one into it that returns the model and its inputs, on the CPU: `def planned(): return model, (x,)`; "
            f"then `fxscope run {program.label}:planned --target {gpu}`. Where --target is the script's own: "
            f"`fxscope run {program.label} -- --target {gpu}`."
        )
    for flag in _FOR_FACTORIES:
        if getattr(arguments, flag):
            raise CaptureError(
                f"--{flag.replace('_', '-')} is for factories: {program.label} is a script and runs as it is. "
                f"Put its own arguments after its name, or give FILE.py:FACTORY."
            )


def _script(name: str) -> Program:
    path = Path(name)
    if path.is_dir() or (path.is_file() and path.suffix in (".zip", ".pyz")):
        return _archive(path)
    if not path.is_file():
        hint = " To record a factory write FILE.py:FACTORY." if path.suffix != ".py" else ""
        raise CaptureError(f"there is no script {name}.{hint}")
    file = str(path.absolute())
    try:
        data = path.read_bytes()  # as Python reads it: with a mark at its head, or in the encoding that it names
        code = compile(data, file, "exec", dont_inherit=True)  # not the `__future__` of this file
        source = importlib.util.decode_source(data)
    except SyntaxError as error:
        raise CaptureError(f"{path} is not Python: {error.msg} (line {error.lineno}).") from None
    except (OSError, *NOT_PYTHON) as error:
        raise CaptureError(f"{path} cannot be read as Python: {str(error) or 'it is nested too deeply'}.") from None
    return Program(path.name, name, file, code, source, str(path.resolve().parent))


def _archive(path: Path) -> Program:
    """Return the `__main__` of a folder or a zip file."""
    finder: Any = pkgutil.get_importer(str(path))
    spec = None if finder is None else finder.find_spec("__main__")
    if spec is None:
        raise CaptureError(f"{path} has no __main__.py that could be run.")
    return _loaded(spec, path.name, str(path), str(path))


def _module(name: str) -> Program:
    here = str(Path.cwd())
    sys.path.insert(0, here)  # the packages around it are imported to find it
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, AttributeError, ValueError) as error:
        raise CaptureError(f"-m {name}: {type(error).__name__}: {error}.") from None
    finally:
        sys.path.remove(here)
    if spec is None or spec.loader is None:
        raise CaptureError(f"-m {name}: there is no such module here.")
    return _loaded(spec, name, spec.origin or name, here)


def _loaded(spec: Any, label: str, given: str, search: str) -> Program:
    try:
        code, source = spec.loader.get_code(spec.name), spec.loader.get_source(spec.name)
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise CaptureError(f"{label}: {type(error).__name__}: {error}.") from None
    if code is None:
        raise CaptureError(f"{label} has no code that can be run.")
    return Program(label, given, code.co_filename, code, source or "", search, spec)


def split(words: list[str], source: str) -> tuple[list[str], list[str]]:
    """(the script's arguments, fxscope's output options that come after them)."""
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


def _gpu_among(own: Sequence[str]) -> str | None:
    """Return the GPU of a `--target h200` that was meant for fxscope: one of those that it knows."""
    found = re.search(r"(?:^| )--target[ =](\S+)", " ".join(own))
    if found is None:
        return None
    from fxscope import gpus

    return found[1] if found[1] in gpus.names() else None


class _Run:
    """One run: it ends once, by itself, an exception, `sys.exit`, `os._exit` or a signal, and each way it is recorded."""

    def __init__(self, arguments: argparse.Namespace, program: Program, own: Sequence[str]) -> None:
        self.arguments, self.program, self.own = arguments, program, own
        self.own_process = getattr(arguments, "own_process", False)  # else somebody calls `cli.main` in theirs
        self.process = getpid()  # a forked child that comes to the end of the program goes on to Python's own end
        self.around = contextlib.ExitStack()  # what is in place while the program runs
        self.how = "ended"
        self.code = 0  # the program's own exit code
        self.failed: int | None = None  # the exit code where fxscope could not do its work
        self.is_interrupted = self.is_finished = False

    def run(self) -> int:
        if self.own_process:
            atexit.register(self._last)  # before torch is imported: what that registers runs first
        self.recorder = self._recorder()
        before = sys.argv, sys.modules["__main__"]
        with contextlib.ExitStack() as around:
            around.enter_context(stdout_for_the_result(self.arguments))
            around.enter_context(_own_os_exit(self._leave_at_once))
            with tidy_on_termination():
                self.recorder.__enter__()
            if self.arguments.sigterm:
                around.enter_context(_handler(signal.SIGTERM, self._terminated))
            for name in os.environ.keys() - self.arguments.variables:  # torch's and ours: it has read them
                del os.environ[name]
            self.around = around.pop_all()
        self.path = list(sys.path)
        namespace = as_main(self.program, self.own, instead=self.own_process)
        if self.own_process:
            atexit.register(self._finish)
            self._execute(namespace)
            return self.code
        try:
            self._execute(namespace)
        finally:
            self._finish()
            sys.argv, sys.modules["__main__"] = before
        return self.code if self.failed is None else self.failed

    def _recorder(self) -> Any:
        from fxscope.capture import Recorder

        arguments = self.arguments
        return Recorder(
            title=arguments.title or self.program.label,
            bypass_caches=not arguments.keep_caches,
            warn=False,
            skip_start=True,
            skip_init=arguments.skip_init,
            remember=True,
            steps=arguments.steps,
            warmup=arguments.warmup,
        )

    def _execute(self, namespace: dict[str, Any]) -> None:
        """Run the program; where it raised, say so as Python would, and have Python end as it would."""
        try:
            exec(self.program.code, namespace)
        except SystemExit as end:
            known = end.code is None or isinstance(end.code, int)
            self.code = int(end.code or 0) & 0xFF if known else 1  # pyright: ignore[reportArgumentType]
            self.how = f"ended with exit code {self.code}"
            if self.own_process:
                raise
            if not known:
                print(end.code, file=sys.stderr)
        except BaseException as error:
            self.is_interrupted = isinstance(error, KeyboardInterrupt)
            self.code = 128 + signal.SIGINT if self.is_interrupted else 1
            self.how = "was interrupted" if self.is_interrupted else f"raised {type(error).__name__}"
            _report(error)

    def _leave_at_once(self) -> None:
        """Finish before `os._exit` ends the process."""
        self.how, self.code = "called os._exit", 1
        self._finish()

    def _terminated(self, number: int, _: Any) -> None:
        """Record what ran until SIGTERM, and end of it."""
        if getpid() == self.process:
            self.how, self.code = "was ended by SIGTERM", 128 + number
            self._finish()
        _die_of(number)

    def _finish(self) -> None:
        """End the recording and write it; once, and not in a forked child."""
        if getpid() != self.process or self.is_finished:
            return
        self.is_finished = True
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)  # an alarm was to end the program, which is over
        sys.path[:] = self.path
        try:
            with tidy_on_termination(), whole_sources(self.arguments.whole_sources):
                self.recorder.__exit__(None, None, None)
                with contextlib.suppress(OSError, ValueError):  # of a standard output that takes nothing
                    self.around.close()
                self._write()
        except FxscopeError as error:
            self.failed = failed(error, "run")
        except KeyboardInterrupt:
            print("fxscope run: interrupted; the recording is lost", file=sys.stderr)
            self.is_interrupted, self.failed = True, 128 + signal.SIGINT
        except Exception as error:
            self.failed = 1
            sys.__excepthook__(type(error), error, error.__traceback__)

    def _last(self) -> None:
        """End the process as Python would not, when nothing else is left to be done."""
        if getpid() != self.process:
            return
        if self.is_interrupted:
            _die_of(signal.SIGINT)
        if self.failed is not None and self.failed != self.code:
            _flush()
            os._exit(self.failed)

    def _write(self) -> None:
        with legible_streams():
            recording = self.recorder.recording
            if recording is None or self.recorder.failure is not None:
                self._write_nothing(self.recorder.failure or NothingCapturedError("nothing was captured"))
                return
            if self.code:
                print(f"fxscope run: {self.program.label} {self.how}; what ran until then is recorded", file=sys.stderr)
            try:
                emit(recording, self.arguments, keep=True)
            except FxscopeError as error:
                if not self.code:
                    raise
                print(f"fxscope run: {error}", file=sys.stderr)

    def _write_nothing(self, error: Exception) -> None:
        if not isinstance(error, FxscopeError):
            from fxscope.factories import described

            error = CaptureError(f"{self.program.label} ran, but {described(error)} kept fxscope from recording it.")
        if not self.code:
            raise error
        print(f"fxscope run: {self.program.label} {self.how}; nothing was recorded: {error}", file=sys.stderr)


def as_main(program: Program, own: Sequence[str], *, instead: bool) -> dict[str, Any]:
    """Make everything look as if Python had been started with the program; return the namespace that it runs in.

    With `instead` its folder takes the place of the one that Python put in front of `sys.path` for fxscope.
    """
    module = types.ModuleType("__main__")
    # Of `__main__` alone `__builtins__` is the module.
    module.__dict__.update(__file__=program.file, __builtins__=builtins, __annotations__={}, __cached__=None)
    module.__loader__ = SourceFileLoader("__main__", program.file)
    if program.spec is not None:
        module.__spec__, module.__loader__ = program.spec, program.spec.loader
        module.__package__ = program.spec.parent
    sys.argv = [program.given, *own]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[: 1 if instead else 0] = [program.search]
    sys.modules["__main__"] = module
    return module.__dict__


@contextlib.contextmanager
def _own_os_exit(finish: Callable[[], None]) -> Generator[None]:
    """Have `os._exit` finish first: nothing else would be run then."""
    original = os._exit

    def _exit(status: int) -> Any:
        with contextlib.suppress(Exception):
            finish()
        original(status)

    _exit.__module__, _exit.__qualname__ = "os", "_exit"  # it can be pickled
    os._exit = _exit
    try:
        yield
    finally:
        if os._exit is _exit:
            os._exit = original


@contextlib.contextmanager
def _handler(number: int, handle: Callable[[int, Any], None]) -> Generator[None]:
    """Handle a signal that the program has no handler for."""
    if signal.getsignal(number) != signal.SIG_DFL:
        yield
        return
    signal.signal(number, handle)
    try:
        yield
    finally:
        if signal.getsignal(number) == handle:
            signal.signal(number, signal.SIG_DFL)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _die_of(number: int) -> None:
    _flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(getpid(), number)


def _report(error: BaseException) -> None:
    """Say of an exception what Python would: through the program's own `excepthook`, without frames of fxscope."""
    _take_ours_out(error)
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except BaseException as second:
        if isinstance(second, SystemExit):
            raise
        second.__context__ = None if second.__context__ is error else second.__context__
        _take_ours_out(second)
        print("Error in sys.excepthook:", file=sys.stderr)
        traceback.print_exception(second)
        print("\nOriginal exception was:", file=sys.stderr)
        traceback.print_exception(error)


def _take_ours_out(error: BaseException | None) -> None:
    """Take the frames of fxscope out of the tracebacks of an exception and of those behind it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = _without_ours(error.__traceback__)
        error = error.__cause__ or error.__context__


def _without_ours(link: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while link is not None:
        if not link.tb_frame.f_code.co_filename.startswith(_FXSCOPE):
            kept.append(link)
        link = link.tb_next
    for this, following in zip(kept, [*kept[1:], None], strict=True):
        this.tb_next = following
    return kept[0] if kept else None


@contextlib.contextmanager
def stdout_for_the_result(arguments: argparse.Namespace) -> Generator[None]:
    """Return where the result goes to stdout in a format for machines, send what the program prints to stderr."""
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
def progress() -> Generator[Callable[[str], None]]:
    """Yield a function that says on stderr what is being done, where that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        yield lambda text: status(f"{text} …")
    finally:
        status("")
