"""The part of `fxscope run` that runs a script or a module as Python would, and keeps what was seen however it ends."""

from __future__ import annotations

import argparse
import builtins
import contextlib
import functools
import os
import re
import signal
import stat
import sys
import threading
import traceback
import types
from importlib.machinery import SourceFileLoader
from importlib.util import decode_source
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fxscope._torch.signals import HeldSignals, handlers
from fxscope.commands import counting
from fxscope.commands.common import (
    Terminated,
    add_output_options,
    check_outputs,
    emit,
    failed,
    on_termination,
    whole_sources,
)
from fxscope.errors import NOT_PYTHON, CaptureError, FxscopeError, NothingCapturedError
from fxscope.render.legible import legible_streams, status

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from types import CodeType, TracebackType

    from fxscope.model import Recording

_OUTPUT_FLAGS = {"-o": 1, "--output": 1, "--format": 1, "--stage": 1, "--json": 0, "--force": 0}  # → number of values
_FOR_FACTORIES = ("compile", "mode", "dynamic", "set", "backward", "keep", "with_torch")
_WAY_TO_A_MODE = ("/torch/_compile.py", "/torch/_dynamo/eval_frame.py")
_WAY_FROM_A_MODE = "/torch/_ops.py"
_FINISH_S = 300  # for a program that calls `os._exit`
_FXSCOPE = str(Path(__file__).parents[1])


_interrupted: list[int] = []  # the process, where ctrl-C ended the program


class Program(NamedTuple):
    """What Python would start."""

    label: str
    given: str  # `sys.argv[0]`
    file: str
    code: CodeType
    source: str
    search: str  # what Python puts in front of `sys.path`
    spec: Any = None  # of a module that is started with -m


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
    if (arguments.steps is not None and arguments.steps < 1) or (arguments.warmup is not None and arguments.warmup < 0):
        raise CaptureError("--steps must be at least 1, and --warmup at least 0.")
    if gpu := arguments.target or (None if words[:1] == ["--"] else _gpu_among(own)):
        raise CaptureError(
            f"--target plans a function, and {program.label} is a script: it runs on the devices of this machine. "
            f"Write one into it that returns the model and its inputs, on the CPU: `def planned(): return model, (x,)`; "
            f"then `fxscope run {program.label}:planned --target {gpu}`, which imports the file: what is to run as a script "
            f"only stands under `if __name__ == '__main__':`. Where --target is the script's own: "
            f"`fxscope run {program.label} -- --target {gpu}`."
        )
    for flag in _FOR_FACTORIES:
        if getattr(arguments, flag):
            raise CaptureError(
                f"--{flag.replace('_', '-')} is for factories: {program.label} is a script and runs as it is. "
                f"Put its own arguments after its name, or give FILE.py:FACTORY."
            )
    return _Run(arguments, program, own).run()


def _script(name: str) -> Program:
    path = Path(name)
    if not path.is_file():
        hint = " To record a factory write FILE.py:FACTORY." if path.suffix != ".py" else ""
        raise CaptureError(f"there is no script {name}.{hint}")
    file = str(path.absolute())
    try:
        data = path.read_bytes()  # as Python reads it: with a mark at its head, or in the encoding that it names
        code = compile(data, file, "exec", dont_inherit=True)  # not the `__future__` of this file
        source = decode_source(data)
    except SyntaxError as error:
        raise CaptureError(f"{path} is not Python: {error.msg} (line {error.lineno}).") from None
    except (OSError, *NOT_PYTHON) as error:
        raise CaptureError(f"{path} cannot be read as Python: {str(error) or 'it is nested too deeply'}.") from None
    return Program(path.name, name, file, code, source, str(path.resolve().parent))


def _module(name: str) -> Program:
    from importlib.util import find_spec

    here = str(Path.cwd())
    sys.path.insert(0, here)  # the packages around it are imported to find it
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = find_spec(f"{name}.__main__")
        code: Any = spec.loader.get_code(spec.name) if spec is not None and spec.loader is not None else None  # type: ignore[attr-defined]
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise CaptureError(f"-m {name}: {type(error).__name__}: {error}.") from None
    finally:
        sys.path.remove(here)
    if spec is None or code is None:
        raise CaptureError(f"-m {name}: there is no such module here, or it has no code that can be run.")
    source = decode_source(Path(spec.origin).read_bytes()) if spec.origin and spec.origin.endswith(".py") else ""
    return Program(name, spec.origin or name, spec.origin or name, code, source, here, spec)


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


class _Found:
    """Python as the program found it: builtins, loaded modules, the library's functions; in a `with`, they are back.

    A program may replace `len` or `os.stat`, or clear `sys.modules`, and end so. Putting back is done without a name of
    `builtins`. What `sys` has is the program's to set: its `excepthook` is asked.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[Any, dict[str, Any]]] = [(live, {**live}) for live in (vars(builtins), sys.modules)]
        loaded: dict[str, Any] = dict(sys.modules)
        for name, module in loaded.items():
            ours = name.partition(".")[0] in sys.stdlib_module_names and module not in (sys, builtins)
            if ours and isinstance(module, types.ModuleType):
                functions = {key: value for key, value in vars(module).items() if callable(value)}
                self._kept.append((vars(module), functions))
        self._absent = object()
        self._modules: dict[str, Any] = sys.modules
        self._undo: list[tuple[dict[str, Any], str, Any]] = []
        self._depth = 0

    def enter(self) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        absent = self._absent
        self._modules, sys.modules = sys.modules, self._kept[1][0]
        for live, kept in self._kept:
            theirs = [(live, name, live.get(name, absent)) for name in kept]
            self._undo += [row for row in theirs if row[2] is not kept[row[1]]]
            live.update(kept)

    def leave(self) -> None:
        self._depth -= 1
        if self._depth != 0:
            return
        sys.modules = self._modules
        while self._undo:
            live, name, value = self._undo.pop()
            if value is self._absent:
                live.pop(name, None)
            else:
                live[name] = value

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *_: object) -> None:
        self.leave()


class _Timers:
    """The program's timers: an alarm is to end the program, not what is recorded after it. They stand still meanwhile."""

    def __init__(self) -> None:
        self._stopped: list[tuple[int, float, float]] = []

    def stop(self) -> None:
        for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF"):
            if (which := getattr(signal, name, None)) is not None:
                left, interval = signal.setitimer(which, 0)
                if left:
                    self._stopped.append((which, left, interval))

    def go_on(self) -> None:
        while self._stopped:
            signal.setitimer(*self._stopped.pop())


class _Run:
    """One run: it ends once, by itself, an exception, `sys.exit`, `os._exit` or a signal, and each way it is recorded."""

    def __init__(self, arguments: argparse.Namespace, program: Program, own: Sequence[str]) -> None:
        from fxscope.capture import Recorder

        window = None
        if arguments.counted:
            from fxscope._torch.counted import CountedStep, bounds

            edges, _, number = arguments.counted.rpartition(" ")
            window = CountedStep(bounds(edges, int(number)))
        self.arguments, self.program, self.own = arguments, program, own
        self.recorder = Recorder(
            title=arguments.title or program.label,
            bypass_caches=not arguments.keep_caches,
            warn=False,
            skip_start=True,
            skip_init=arguments.skip_init,
            remember=True,
            steps=arguments.steps,
            warmup=arguments.warmup,
            follow=Path(arguments.folder, (arguments.output or [f"{Path(program.label).stem}.fxscope"])[0])
            if arguments.follow_children
            else None,
            window=window,
        )
        self.around = contextlib.ExitStack()  # what is in place while the program runs
        self.how = "ended"
        self.runs: bool | None = None  # the program: not yet, now, no more
        self.signal = 0  # what came when it had ended
        self.process = getpid()  # a forked child that comes to the end of the program goes on to Python's own end
        self.found = _Found()
        self.timers = _Timers()
        self.signals = HeldSignals({})
        self.main = _Main(program, own)

    def run(self) -> int:
        status = 1
        try:
            with on_termination(self._terminated):
                status = self._run()
        except Terminated as end:
            self.signal = end.args[0]
        except FxscopeError as error:  # told while everything that tells it is here
            status = failed(error, "run")
        if self.signal:
            _die_of(self.signal)
        self.found.leave()
        if getattr(self.arguments, "own_process", False):
            self.main.stay()
        self.timers.go_on()
        try:
            self.signals.go_on()
        except BaseException as error:  # what the program's handler of a signal raises ends it
            status = _end_of(error)[0]
            _report(error, self.found)
        return status

    def _run(self) -> int:
        with self.around:
            self.around.enter_context(whole_sources(self.arguments.whole_sources))
            self.around.enter_context(stdout_for_the_result(self.arguments))
            namespace = self.around.enter_context(self.main)
            say = self.around.enter_context(progress())
            say(f"running {self.program.label}")
            self.recorder.__enter__()
            self.signals = HeldSignals(handlers(), without_children=True)
            try:
                self.runs = True
                with self._before_leaving():
                    self.found = _Found()
                    try:
                        status = self._status_of(namespace)
                        with contextlib.suppress(Exception):  # as long as they run Python is as the program left it
                            _wait_for_threads()
                    finally:
                        self.signals.hold()
                        self.found.enter()
                        self.timers.stop()
            finally:
                is_written, self.runs = not self.runs, False
                self.recorder.__exit__(None, None, None)
        if getpid() != self.process or self.arguments.counted or is_written:
            return status
        return self._written(status)

    @contextlib.contextmanager
    def _before_leaving(self) -> Generator[None]:
        """Finish before `os._exit` ends the process, or another program takes its place: nothing else would be run then."""
        before = {name: getattr(os, name) for name in ("_exit", "execv", "execve")}

        def finishing(name: str) -> Callable[..., Any]:
            @functools.wraps(before[name])
            def leave(*values: Any, **named: Any) -> Any:
                with self.found:
                    file = values[0] if values else named.get("path", "")
                    if getpid() == self.process and self.runs and (name == "_exit" or _can_be_run(file)):
                        self.how = f"called os.{name}"
                        # It may be there to end what hangs, and what hangs may keep this from ending, too.
                        fuse = threading.Timer(_FINISH_S, before["_exit"], [1])
                        fuse.daemon = True
                        fuse.start()
                        try:
                            self._finish(1)
                        except BaseException as error:  # of ours, and the program could catch it
                            _report(error, self.found)
                        fuse.cancel()
                self.timers.go_on()  # another program has the alarms of this one
                return before[name](*values, **named)

            return leave

        for name in before:
            setattr(os, name, finishing(name))
        try:
            yield
        finally:
            for name, function in before.items():
                setattr(os, name, function)

    def _status_of(self, namespace: dict[str, Any]) -> int:
        """Run the program; return what Python would exit with, having said on stderr what Python would say."""
        try:
            exec(self.program.code, namespace)
        except SystemExit as error:
            with self.found:
                status, self.how = _end_of(error)
            return status
        except BaseException as error:
            with self.found:
                status, self.how = _end_of(error)
            code = _report(error, self.found)
            return status if code is None else code
        return 0

    def _step(self, recording: Recording) -> str | None:
        """Which step the second run is to count; None where the program's own profiler says what a step is."""
        plan = self.recorder.step_plan
        if plan is None:
            return None
        return f"{plan.edges} {plan.kept[counting.step_of(recording)].number}" if plan.kept else " 0"

    def _terminated(self, number: int) -> None:
        """End on a signal: what Python would not do at all, it does not do here (no `finally`, no `atexit`)."""
        if self.runs is None:
            raise Terminated(number)
        if not self.runs:  # what it has recorded is being written
            self.signal = number
            return
        self.found.enter()
        self.how = f"was ended by {signal.Signals(number).name}"
        try:
            self._finish(128 + number)
        finally:
            _die_of(number)

    def _finish(self, status: int) -> None:
        """Record and write in the middle of the program, which goes no further."""
        self.runs = False
        self.signals.hold()
        self.timers.stop()
        self.recorder.__exit__(None, None, None)
        with contextlib.suppress(OSError, ValueError):  # of a standard output that takes nothing
            self.around.close()
        if not self.arguments.counted:
            self._written(status)

    def _written(self, status: int) -> int:
        with legible_streams():
            recording = self.recorder.recording
            if recording is None or self.recorder.failure is not None:
                error = self.recorder.failure or NothingCapturedError("nothing was captured")
                if not isinstance(error, FxscopeError):
                    from fxscope.factories import described

                    error = CaptureError(
                        f"{self.program.label} ran, but {described(error)} kept fxscope from recording it."
                    )
                if status == 0:
                    raise error
                print(f"fxscope run: {self.program.label} {self.how}; nothing was recorded: {error}", file=sys.stderr)
                return status
            if status:
                print(f"fxscope run: {self.program.label} {self.how}; what ran until then is recorded", file=sys.stderr)
            if self.arguments.counters and not self.signal and not self.how.startswith(("was ended", "called")):
                with progress() as say:
                    recording = counting.with_counters(recording, self.arguments, self._step(recording), say)
            try:
                emit(recording, self.arguments, keep=True)
            except FxscopeError as error:
                if status == 0:
                    raise
                print(f"fxscope run: {error}", file=sys.stderr)
        return status


def end_as_interrupted() -> None:
    """At exit: die of SIGINT where the program did, as Python does, so that a shell's loop around it ends, too.

    To be registered before the program runs: what that registers runs first.
    """
    if getpid() in _interrupted:
        _die_of(signal.SIGINT)


def _die_of(number: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(getpid(), number)


def _can_be_run(file: Any) -> bool:
    try:
        mode = os.stat(file).st_mode  # noqa: PTH116 - a descriptor, too
        return stat.S_ISREG(mode) and (bool(mode & 0o111) if isinstance(file, int) else os.access(file, os.X_OK))
    except (OSError, TypeError, ValueError):  # what `exec` refuses, too
        return False


def _wait_for_threads() -> None:
    """Wait for the threads that Python would wait for before it exits: what they do belongs to the program."""
    mine = (threading.main_thread(), threading.current_thread())
    while busy := [
        thread for thread in threading.enumerate() if not (thread.daemon or thread in mine or _waits_for_work(thread))
    ]:
        busy[0].join(0.02)


def _waits_for_work(thread: threading.Thread) -> bool:
    """Whether a thread belongs to an executor that was never shut down and has nothing to do.

    Python sends such threads home when it exits, and nothing else ends them. They are left as they are, because
    executors are used after the program's end as well, by Inductor and by what writes the outputs. So a thread that is
    still running may give them work that Python would refuse by then.
    """
    threads, processes = (sys.modules.get(f"concurrent.futures.{name}") for name in ("thread", "process"))
    manager = getattr(processes, "_ExecutorManagerThread", None)
    if manager is not None and isinstance(thread, manager):
        return not getattr(thread, "pending_work_items", True)
    queue = getattr(threads, "_threads_queues", {}).get(thread)
    frame = sys._current_frames().get(thread.ident or 0)  # pyright: ignore[reportPrivateUsage]
    if queue is None or frame is None or not queue.empty():
        return False
    return frame.f_code is getattr(threads, "_worker").__code__ and "work_item" not in frame.f_locals  # noqa: B009


class _Main:
    """Make everything look, in a `with`, as if Python had been started with the program."""

    def __init__(self, program: Program, own: Sequence[str]) -> None:
        self._program, self._own = program, own
        self._theirs: tuple[Any, list[str]] | None = None  # `sys.argv` and `sys.path` as the program left them

    def __enter__(self) -> dict[str, Any]:
        program = self._program
        self._module = module = types.ModuleType("__main__")
        module.__file__ = program.file
        # Of `__main__` alone `__builtins__` is the module.
        module.__dict__.update(__builtins__=builtins, __annotations__={}, __cached__=None)
        module.__loader__ = SourceFileLoader("__main__", program.file)
        if program.spec is not None:
            module.__spec__, module.__loader__ = program.spec, program.spec.loader
            module.__package__ = program.spec.parent
        self._before = sys.argv, list(sys.path), sys.modules.get("__main__")
        sys.argv = [program.given, *self._own]
        sys.path[0:0] = [program.search]
        sys.modules["__main__"] = module
        return module.__dict__

    def __exit__(self, *_: object) -> None:
        self._theirs = getattr(sys, "argv", None), list(sys.path)
        sys.argv, sys.path[:], main = self._before
        if main is not None:
            sys.modules["__main__"] = main

    def stay(self) -> None:
        """Have it so for good: for `atexit` handlers, and what lives in the program's module goes after those."""
        if self._theirs is None:  # it did not run
            return
        sys.argv, sys.path[:] = self._theirs
        if sys.modules.get("__main__") is self._before[2]:  # else it is the program's own doing
            sys.modules["__main__"] = self._module
        if self._program.spec is None:  # Python takes these two away after a script
            for name in ("__file__", "__cached__"):
                vars(self._module).pop(name, None)


def _end_of(error: BaseException) -> tuple[int, str]:
    """(what Python would exit with, how the program ended), having said on stderr what Python would say of an exit."""
    if isinstance(error, SystemExit):
        status = 1
        if error.code is None or isinstance(error.code, int):
            status = int(error.code or 0)
            status = status & 0xFF if -(2**63) <= status < 2**63 else 0xFF  # of what no C long holds Python makes -1
        else:
            text = ""
            with contextlib.suppress(Exception):  # of what the program gave
                text = str(error.code)
            _tell(f"{text}\n")
        return status, f"ended with exit code {status}"
    if isinstance(error, KeyboardInterrupt):
        _interrupted.append(getpid())
        return 128 + signal.SIGINT, "was interrupted"
    return 1, f"raised {type(error).__name__}"


def _report(error: BaseException, found: _Found) -> int | None:
    """Say of an exception what Python would: through the program's own `excepthook`, without frames of fxscope.

    Returns the exit code where the hook exits.
    """
    with found:
        _take_ours_out(error)
        hook = sys.excepthook
        if hook is sys.__excepthook__:
            _tell(_told(error))
            return None
        kind = type(error)
    try:
        hook(kind, error, error.__traceback__)
    except BaseException as second:  # what the program could not catch, either
        with found:
            if isinstance(second, SystemExit):
                return _end_of(second)[0]
            link: BaseException = second
            while link.__context__ not in (None, error):
                link = link.__context__
            link.__context__ = None  # it was raised while ours was handled, not in the program
            _tell(f"Error in sys.excepthook:\n{_told(second)}\nOriginal exception was:\n{_told(error)}")
    return None


def _take_ours_out(error: BaseException) -> None:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = _without_ours(link.__traceback__)
        link = link.__cause__ or link.__context__


def _told(error: BaseException) -> str:
    _take_ours_out(error)
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _tell(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # where nobody can be told Python goes on, too
        sys.stderr.write(text)


def _without_ours(frames: TracebackType | None) -> TracebackType | None:
    """Take the frames of fxscope out of a traceback, and those of torch through which its observer is called and calls."""
    kept: list[TracebackType] = []
    below_ours = False
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        ours = file.startswith(_FXSCOPE)
        if ours:
            while kept and kept[-1].tb_frame.f_code.co_filename.endswith(_WAY_TO_A_MODE):
                kept.pop()
        below_ours = ours or (below_ours and file.endswith(_WAY_FROM_A_MODE))
        if not below_ours:
            kept.append(frames)
        frames = frames.tb_next
    for index, frame in enumerate(kept):
        frame.tb_next = kept[index + 1] if index + 1 < len(kept) else None
    return kept[0] if kept else None


@contextlib.contextmanager
def stdout_for_the_result(arguments: argparse.Namespace) -> Generator[None]:
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
def progress() -> Generator[Callable[[str], None]]:
    """Yield a function that says on stderr what is being done, where that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return

    def say(text: str) -> None:
        status(f"{text} …")

    try:
        yield say
    finally:
        status("")
