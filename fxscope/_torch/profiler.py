"""Profiled runs. Kineto runs one session at a time: fxscope's ends when the program starts one of its own, which is read."""

import atexit
import contextlib
import ctypes
import functools
import os
import shutil
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from fxscope._torch.event_tree import EventTree
from fxscope._torch.hooks import TOOL, TRACER, Hooks, WithoutStacks, dynamo_goes_on, hook_after, hook_around, resolve
from fxscope._torch.quiet import quiet, signals_held
from fxscope._torch.steps import COMPILED_CALL, busy_with, in_main_thread, is_library_file
from fxscope.errors import CaptureError
from fxscope.store import OwnFolder

_ASIDE = "ending before the program's own profiler session"
_THEIRS = "reading the program's own trace"
_LEVEL = "KINETO_LOG_LEVEL"
_WAIT_S = 2.0  # for the main thread to end its session
RUNS_MODULE = "importlib._bootstrap_external:_LoaderBasics.exec_module"


def is_profiling() -> bool:
    return bool(torch._C._autograd._profiler_enabled())


def start(profile: Any) -> None:
    """Start a session without its remark, once in 1,000, that a block which is freed is older than the session."""
    older = torch.UntypedStorage(64)
    with quiet():
        profile.start()
        del older


def _without_imports(original: Callable[..., Any]) -> Callable[..., Any]:
    """Python's own function that runs a module's code, without recording the calls in libraries, packages, nested imports."""
    depth = 0

    def exec_module(loader: Any, module: Any) -> Any:
        nonlocal depth
        unseen = depth > 0 or hasattr(module, "__path__") or is_library_file(getattr(module, "__file__", None) or "")
        depth += 1
        try:
            with WithoutStacks() if unseen else contextlib.nullcontext():
                return original(loader, module)
        finally:
            depth -= 1

    # Python leaves the frames of this file out of tracebacks and of the levels of warnings.
    named = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")
    exec_module.__code__ = named
    return exec_module


def check_written(path: Path) -> None:
    """Raise CaptureError where the profiler could not write a trace: Kineto itself raises nothing."""
    if not path.exists():
        try:
            path.open("ab").close()  # what Kineto met is met again
            why = "it gave no reason: record fewer steps"
        except OSError as error:
            why = f"{error.strerror or error}: set TMPDIR to another folder, or raise `ulimit -n`"
        raise CaptureError(f"the profiler could not write its trace to {path.parent}: {why}.")


@functools.cache
def let_children_end() -> None:
    """See to it that children forked from now on can end.

    Once a profiler was on, the C++ exit handlers wait for a thread of Kineto's that a forked child has not: it would
    hang in `exit` for ever, with fxscope or without. Such a child flushes its files and leaves before them.
    """

    def in_child() -> None:
        with contextlib.suppress(OSError, AttributeError):  # another C library than glibc has no on_exit
            libc = ctypes.CDLL(None)
            libc.on_exit(libc._exit, None)  # the last registered runs first; each is given the exit code
            libc.on_exit(libc.fcloseall, None)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=in_child)


def _end(profile: Any) -> None:
    """End a session that could not be stopped: one that is on as the process ends crashes it."""
    stats: Any = getattr(profile.profiler, "_stats", None)
    prepared = getattr(stats, "profiler_prepare_call_duration_us", 0) and not stats.profiler_enable_call_duration_us
    if not prepared and not is_profiling():
        return
    with contextlib.suppress(RuntimeError):  # it is off
        if prepared:
            profile.profiler._start_trace()  # a session that was only prepared bars all others (torch 2.11)
        profile.profiler.kineto_results = torch._C._autograd._disable_profiler()
        torch.autograd.profiler._run_on_profiler_stop()


_left: dict[int, Any] = {}  # thread → its session that another thread, or a backward pass, has left
_IS_LEFT: Any = frozenset()  # torch's flag of a session, false, until another session begins


def _leave(thread: int, profile: Any) -> None:
    """Have a thread end its session as soon as it can: no other can, and it may be busy with a backward pass."""
    _left[thread] = profile
    torch.autograd.profiler._is_profiler_enabled = _IS_LEFT
    atexit.register(_end_left)
    in_main_thread(_end_left)


def _end_left() -> None:
    thread = threading.get_ident()
    if thread not in _left:
        return
    if busy_with():
        in_main_thread(_end_left)
        return
    profile = _left.pop(thread)
    if torch.autograd.profiler._is_profiler_enabled is _IS_LEFT:
        with quiet():
            _end(profile)
    else:
        # Kineto runs another session by now: this removes ours from the thread, then refuses to read it.
        with quiet(), contextlib.suppress(AttributeError, RuntimeError):
            torch._C._autograd._disable_profiler_legacy()


def has_trace(profile: Any) -> bool:
    """Return whether an `autograd.profiler.profile` that ended has a trace; exporting one that has not is a crash.

    It has none where another session ran in its place, or where it was cancelled while it warmed up.
    """
    results = getattr(profile, "kineto_results", None)
    return results is not None and results.trace_start_ns() > 0


class Traced(NamedTuple):
    """A session that ended: its trace, and the profiler's own tree of events."""

    path: Path
    tree: EventTree


class Session:
    """Profile everything from `start` to `stop`, except where the program profiles itself."""

    def __init__(self) -> None:
        self.hooks = Hooks()
        self._observing = Hooks()  # off as soon as our own session ends
        self._observing.problems = self.hooks.problems
        self._own: Any = None
        self.own: Traced | None = None  # our own session, once it has ended
        self.theirs: Traced | None = None  # the program's first session that saw an op, once ours has stopped
        self._their_tree: EventTree | None = None
        self._their_profile: Callable[[], Any] = lambda: None
        self._num_theirs = 0
        self.aside = ""  # what the program did that ended our session
        self.on_call: Callable[..., None] = lambda *_: None  # with each compiled graph that is about to run
        self.on_aside: Callable[[], None] = lambda: None  # with what ends our session
        self.thread = 0
        self._waits = False
        self._ours: int | None = None  # the thread whose calls are our own session's
        self._ended = threading.Event()
        self._ending = threading.RLock()  # who ends it waits for another thread that does; a signal's handler does not

    def wait(self) -> None:
        """Keep the program's first session, or start ours with `begin` before that."""
        self._waits = True
        self.hooks.install(self)

    def begin(self) -> None:
        self._waits = False
        is_new = _LEVEL not in os.environ
        os.environ.setdefault(_LEVEL, "6")  # Kineto reads it as its first session begins
        try:
            self._start()
        finally:
            if is_new:
                del os.environ[_LEVEL]

    def start(self) -> None:
        """Start profiling. Where a session runs already, it is left alone and nothing is profiled."""
        _end_left()
        if is_profiling() or torch.autograd.profiler._is_profiler_enabled:
            self.hooks.problem(
                "profiler",
                "a profiler session was already running, and there can be one at a time",
                "start fxscope before the profiler, or read its trace: `fxscope view FILE`",
            )
            return
        self._start()
        self.hooks.install(self)

    @signals_held()
    def _start(self) -> None:
        profile = torch.profiler.profile(
            record_shapes=True,
            profile_memory=True,
            # Else the program's own profile functions would be replaced.
            with_stack=sys.getprofile() is None and threading.getprofile() is None,
            # Verbose, each event holds the text of its Python stack: twice the memory and time at the session's end.
            experimental_config=torch._C._profiler._ExperimentalConfig(capture_overload_names=True, verbose=False),
        )
        self.thread = threading.get_ident()
        let_children_end()
        if "torch._dynamo.convert_frame" in sys.modules:
            self._observing.wrap(COMPILED_CALL, "around", self._calls_compiled)
            self._observing.wrap("torch._dynamo.eval_frame:_maybe_set_eval_frame", "around", dynamo_goes_on)
        self._observing.replace(RUNS_MODULE, _without_imports(resolve(RUNS_MODULE)[2]))
        self._own = profile  # first: where it fails on the way there is something to end
        self._as_ours(functools.partial(start, profile))

    def _calls_compiled(self, original: Callable[..., Any], graph: Any, *args: Any, **kwargs: Any) -> Any:
        """Leave out the Python of generated code: it is most of what stacks cost, and Dynamo knows its lines."""
        with WithoutStacks():
            self.hooks.guard("calls of compiled graphs", self.on_call, graph, *args, **kwargs)
            return original(graph, *args, **kwargs)

    def stop(self) -> Traced | None:
        """Stop profiling; return the program's own session, else ours, None where neither has a trace."""
        self.pause()
        self.hooks.close()
        self.theirs = self.hooks.guard("the program's own trace", self._read_theirs)
        if self._num_theirs > 1:
            message = f"the program made {self._num_theirs} traces: the first is recorded"
            self.hooks.problem("profiler", message, "export each, and read it: `fxscope view FILE`")
        elif self.aside and self.theirs is None:
            message = f"the program {self.aside}; what ran from there on is not recorded"
            self.hooks.problem("profiler", message, "run without it; if it writes a trace: `fxscope view FILE`")
        return self.theirs or self.own

    def is_on(self) -> bool:
        """Return whether this session is profiling, and none of the program's."""
        return self._own is not None

    @functools.cached_property
    def _own_folder(self) -> OwnFolder:
        return OwnFolder()  # only when there is something to write: a program that is killed leaves none

    def cleanup(self) -> None:
        vars(self).pop("_own_folder", None)  # removed with the last who holds it
        self.own = self.theirs = self._their_tree = None

    def _as_ours(self, function: Callable[[], Any]) -> None:
        self._ours = threading.get_ident()
        try:
            function()
        finally:
            self._ours = None

    @signals_held()
    def pause(self) -> None:
        """End our own session, if it is on, whatever fails; what it has seen is kept for `stop`."""
        if self._own is not None and self.thread == threading.main_thread().ident != threading.get_ident():
            in_main_thread(self.pause)
            self._ended.wait(_WAIT_S)
        with self._ending:
            _end_left()
            profile, self._own = self._own, None
            self._observing.close()
            if profile is None:
                return
            busy = busy_with()
            if self.thread != threading.get_ident() or busy:
                where = busy if self.thread == threading.get_ident() else "another thread than it began in"
                self.hooks.problem(
                    "profiler",
                    f"the recording was ended in {where}: its ops are lost",
                    "leave the `with` block, or start the profiler, in the thread that entered it",
                )
                _leave(self.thread, profile)
                return
            try:
                self.hooks.guard("profiler", self._stop, profile)
            finally:
                _end(profile)
            self.hooks.guard("profiler", self._keep, profile)
            self._ended.set()

    def _stop(self, profile: Any) -> None:
        if torch.cuda.is_available():
            self.hooks.guard("profiler", torch.cuda.synchronize)  # a device that failed had ops before
        theirs: Any = sys.getprofile()
        with quiet():
            self._as_ours(profile.stop)
        if theirs is not None and type(theirs).__name__ != TRACER:  # the end of a session with stacks takes any off
            theirs.enable() if hasattr(theirs, "enable") else sys.setprofile(theirs)
        if is_profiling():
            raise RuntimeError("the profiler's session did not end")

    def _keep(self, profile: Any) -> None:
        if not has_trace(profile.profiler):
            return
        path = Path(self._own_folder.name, "own.json")
        self._as_ours(functools.partial(profile.export_chrome_trace, str(path)))
        check_written(path)
        self.own = Traced(path, EventTree(profile.profiler.kineto_results))  # now: freed code has no names
        profile.profiler.kineto_results = None  # the profile is a part of cycles

    # ------------------------------------------------------------------ the user's session

    # What starts a session (`torch.profiler`, `emit_nvtx`, `emit_itt`), and what a program calls that ends any it finds.
    @hook_around("torch.autograd.profiler:profile._prepare_trace", _ASIDE)
    @hook_around("torch.autograd.profiler:_enable_profiler", _ASIDE)
    @hook_around("torch.autograd.profiler_legacy:_enable_profiler_legacy", _ASIDE)
    @hook_around("torch.autograd:_disable_profiler", _ASIDE)
    def _steps_aside(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._ours == threading.get_ident():
            return original(*args, **kwargs)
        ends = self.is_on() and original is torch._C._autograd._disable_profiler
        if self.is_on():
            self.aside = "ended the profiler's session" if ends else "began a profiler session of its own"
        if self.is_on() or self._waits:
            self.hooks.guard("optimizer steps", self.on_aside)
        self.hooks.guard("profiler", self.pause)
        # It says of ours, which is not there without fxscope, that it ends it, or that it is off.
        with quiet() if ends or _left else contextlib.nullcontext():
            return original(*args, **kwargs)

    @hook_around("sys:monitoring.use_tool_id", optional=True)  # from Python 3.12 on
    def _begins_tool(self, original: Callable[..., Any], number: int, name: str) -> Any:
        if self.is_on() and sys.monitoring.get_tool(number) == TOOL:  # pyright: ignore
            self.aside = "began a profiler of Python's"
            self.hooks.guard("optimizer steps", self.on_aside)
            self.hooks.guard("profiler", self.pause)
        return original(number, name)

    @hook_after("torch.autograd.profiler:profile.__exit__", _THEIRS)
    def _theirs_ended(self, _: Any, profile: Any, *__: Any, **___: Any) -> None:
        if self._ours == threading.get_ident() or not has_trace(profile):
            return
        if self._their_tree is None:
            tree = EventTree(profile.kineto_results)
            if not tree.times.outer:  # it saw no op
                return
            tree.results = profile.kineto_results
            self._their_tree, self._their_profile = tree, weakref.ref(profile)
        self._num_theirs += 1

    @hook_after("torch.autograd.profiler:profile.export_chrome_trace", _THEIRS)
    def _theirs_written(
        self, _: Any, profile: Any, path: str, *__: Any, use_python_export: bool = False, **___: Any
    ) -> None:
        """Copy what Kineto wrote for the program: it writes a trace once."""
        if profile is not self._their_profile() or use_python_export:
            return
        if Path(path).is_file():
            shutil.copyfile(path, Path(self._own_folder.name, "theirs.json"))
        else:  # Kineto could not write it, and says so on stderr
            self._their_tree, self._num_theirs = None, 0

    def _read_theirs(self) -> Traced | None:
        """Return the program's own session; what the program did not write by now is written here, and kept for it."""
        if self._their_tree is None:
            return None
        path, profile = Path(self._own_folder.name, "theirs.json"), self._their_profile()
        if not path.exists():
            self._their_tree.results.save(str(path))
            check_written(path)
            if profile is not None:
                profile.export_chrome_trace = functools.partial(_write, self._own_folder, path, weakref.ref(profile))
        return Traced(path, self._their_tree)


def _write(
    _: OwnFolder, path: Path, profile: Any, to: str, *args: Any, use_python_export: bool = False, **kwargs: Any
) -> None:
    """Write a trace as its `profile.export_chrome_trace` does: once, and nothing where it cannot."""
    if use_python_export:
        return type(profile()).export_chrome_trace(profile(), to, *args, use_python_export=True, **kwargs)
    del profile().export_chrome_trace
    with contextlib.suppress(OSError):
        shutil.copyfile(path, to)
    return None
