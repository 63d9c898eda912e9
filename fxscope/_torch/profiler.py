"""Profiled runs: fxscope's own session, and living with the one that the user's program starts.

Kineto runs one session at a time. `run_steps` profiles a callable. `Session` covers a whole program: it profiles until
the program starts a session of its own, then steps aside and takes a copy of that trace after the user's handler.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import functools
import gzip
import os
import shutil
import sys
import threading
from pathlib import Path
from time import sleep  # programs and their tests replace `time.sleep`
from typing import TYPE_CHECKING, Any

import torch

from fxscope._torch.hooks import Hooks, of_a_signal
from fxscope._torch.op_recorder import STEPPED_ASIDE
from fxscope._torch.step_plan import StepPlan, plan
from fxscope._torch.steps import CALL_BEGINS, RECORDING_ENDS, STEP_ENDS, mark
from fxscope.errors import CaptureError
from fxscope.readers.trace.reader import mend
from fxscope.readers.trace.table import CATEGORIES, RUNTIME
from fxscope.store import OwnFolder
from fxscope.text import num_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from fxscope.model import Problem

PREPARE = "torch.autograd.profiler:profile._prepare_trace"
FINISH = "torch.autograd.profiler:profile.__exit__"
EXPORT = "torch.autograd.profiler:profile.export_chrome_trace"
# Dynamo's own phases: the outermost ones by name (torch 2.13), those inside by how their names end.
COMPILE_SPANS = ("dynamo", "entire_frame_compile", "entire_backward_compile")
COMPILING = " (dynamo_timed)"
SETTLE_S = 0.05  # for ops of other threads, whose callbacks take microseconds; on a busy machine they wait for a core
FLOW = "ac2g"  # Kineto's category of arrows from calls to what they launch
_ERROR = 2  # a level of messages, above that of warnings
MARKER = "PythonDispatchMode"  # the event that a TorchDispatchMode leaves in a trace


def activities() -> list[Any]:
    """What this machine can profile: the CPU, and CUDA where there is a device."""
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    return kinds


def is_profiling() -> bool:
    """Whether a profiler session is running in this thread."""
    return bool(torch._C._autograd._profiler_enabled())


def run_steps(function: Callable[[], Any], *, steps: int, warmup: int, path: Path, cpu_only: bool = False) -> None:
    """Call a function `warmup + steps` times under the profiler and write the trace of the last `steps`.

    Each active call is a `ProfilerStep#N`. The profiler's own warm-up phase is on during the warm-up calls.
    """
    kinds = [torch.profiler.ProfilerActivity.CPU] if cpu_only else activities()
    done = False
    let_children_end()

    def export(profile: Any) -> None:
        nonlocal done
        if not done:
            profile.export_chrome_trace(str(path))
            check_written(path)
            done = True

    with (
        quiet(),
        torch.profiler.profile(
            activities=kinds,
            record_shapes=True,
            schedule=torch.profiler.schedule(wait=0, warmup=warmup, active=steps, repeat=1),
            on_trace_ready=export,
        ) as profile,
    ):
        for _ in range(warmup + steps):
            function()
            if not cpu_only and torch.cuda.is_available():
                # A step's device work ends in the step: otherwise the last step would look longer than the others.
                torch.cuda.synchronize()
            profile.step()


def check_written(path: Path) -> None:
    """Raise CaptureError where the profiler could not write all of a trace: Kineto itself raises nothing."""
    limit, why = _largest_file(), "it gave no reason: record fewer steps"
    if path.exists() and (limit is None or path.stat().st_size < limit):
        return
    try:
        path.open("ab").close()  # what Kineto met is met again
        if limit is not None:
            bound = num_bytes(limit)
            why = (
                f"this process may write no file of more than {bound} (`ulimit -f`): raise that, or record fewer steps"
            )
    except OSError as error:
        advice = "close some, or raise `ulimit -n`" if error.errno == errno.EMFILE else "set TMPDIR to another folder"
        why = f"{error.strerror or error}: {advice}"
    path.unlink(missing_ok=True)
    raise CaptureError(f"the profiler could not write its trace to {path.parent}: {why}.")


def _largest_file() -> int | None:
    try:
        import resource
    except ImportError:  # Windows has no such bound
        return None
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


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


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """Keep the profiler's remarks about its own schedule off the user's screen.

    torch makes some of them once a process: what was kept back here is still to be said of the program's own sessions.
    """
    import warnings

    said: set[str] = getattr(torch.profiler.profiler, "_WARNINGS_SHOWN", set())
    before = set(said)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*[Pp]rofiler.*")
            yield
    finally:
        said &= before


def every_thread() -> Any:
    """The configuration of a session that covers all threads, so that any thread may end it; None without."""
    try:
        return torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    except (AttributeError, TypeError):  # an older torch: the calling thread, and what autograd runs for it
        return None


def quiesce() -> None:
    """See to it that no op of another thread is being recorded when the session ends.

    The end of a session of all threads reads what the ops of other threads are just then writing, and the process can
    die of that (pytorch/pytorch#187483; torch 2.13). So recording stops first, and ops that had begun get time to end.
    """
    toggle = getattr(torch._C._autograd, "_toggle_collection_dynamic", None)
    if toggle is not None:
        # Only the CPU: CUDA's events are lost where their collection is stopped so (pytorch/kineto#1369). What is
        # launched from here on has no op in the trace; `strip_observation` takes it out.
        mark(RECORDING_ENDS)
        with _without_warnings():  # one on every call, of GPU activity, whether or not there is any
            toggle(False, {torch.profiler.ProfilerActivity.CPU})
        sleep(SETTLE_S)


@contextlib.contextmanager
def _without_warnings() -> Generator[None]:
    """Keep warnings that C++ code of torch's writes to stderr itself off it, for a moment, in any thread.

    Not by another file as descriptor 2: a process that is started meanwhile would keep it.
    """
    level = _log_level()
    if level is None:
        yield
        return
    before = level.value
    level.value = max(before, _ERROR)
    try:
        yield
    finally:
        level.value = before


@functools.cache
def _log_level() -> ctypes.c_int | None:
    """What `TORCH_CPP_LOG_LEVEL` sets; None where this torch does not have it."""
    for name in ("libc10.so", "libc10.dylib", "c10.dll"):
        with contextlib.suppress(OSError, ValueError):
            return ctypes.c_int.in_dll(
                ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name)), "FLAGS_caffe2_log_level"
            )
    return None


def has_trace(profile: Any) -> bool:
    """Whether an `autograd.profiler.profile` that ended has a trace; exporting one that has not is a crash.

    It has none where another session ran in its place, or where it was cancelled while it warmed up.
    """
    results = getattr(profile, "kineto_results", None)
    return results is not None and results.trace_start_ns() > 0


class Session:
    """Profile everything from `start` to `stop`, except where the program profiles itself."""

    def __init__(self, *, on_yield: Callable[[], None] | None = None, with_stack: bool = False) -> None:
        self.hooks = Hooks()
        self._folder = OwnFolder()
        self._own: Any = None
        self._stopped: Path | None = None  # our own trace, once stopped
        self._theirs: list[tuple[Any, Path | None]] = []  # sessions of the user's, with our copy where there is one
        self._on_yield = on_yield  # called before the user's session begins
        self._with_stack = with_stack
        self._open = 0  # sessions of the user's that began and did not end
        self._ours: int | None = None  # the thread whose calls are our own session's
        self._ending = threading.RLock()  # who ends it waits for another thread that does; a signal's handler does not

    def start(self) -> None:
        """Start profiling. Where a session runs already, it is left alone and nothing is profiled."""
        if is_profiling():
            self.hooks.problem(
                "profiler",
                "a profiler session was already running, and there can be one at a time",
                "start fxscope before the profiler, or pass fxscope.on_trace_ready to it",
            )
            return
        profile = torch.profiler.profile(
            activities=activities(), record_shapes=True, with_stack=self._with_stack, experimental_config=every_thread()
        )
        let_children_end()
        self._own = profile  # first: where it fails on the way there is something to end
        self._as_ours(quiet()(profile.start))
        self.hooks.wrap(PREPARE, before=self._theirs_begins)
        self.hooks.wrap(FINISH, after=self._theirs_ended)
        self.hooks.wrap(EXPORT, around=self._export)

    def stop(self) -> list[tuple[Path, bool]]:
        """Stop profiling and return the traces, best first, each with whether it is a session of the user's.

        The last one of the user's comes first; our own, of the time before the first of theirs, comes last.
        """
        self.pause()
        if self._open > 0:
            self.hooks.problem(
                "profiler",
                "a profiler session of the program's was still running at the end, and what ran in it is not recorded",
                "end it, or pass fxscope.on_trace_ready to it",
            )
        for index, (profile, copy) in enumerate(self._theirs):
            if copy is None and has_trace(profile):
                self.hooks.guard("trace of the program's own session", self._take, index, profile)
        self.hooks.close()
        copies = [copy for _, copy in self._theirs if copy is not None]
        if len(copies) > 1:
            self.hooks.problem(
                "profiler",
                f"the program made {len(copies)} traces; the last one is shown",
                "pass fxscope.on_trace_ready to the profiler to get each",
            )
        return [(copy, True) for copy in reversed(copies)] + ([(self._stopped, False)] if self._stopped else [])

    def is_on(self) -> bool:
        """Whether this session is profiling, and none of the program's."""
        return self._own is not None

    def cleanup(self) -> None:
        self._folder.cleanup()

    def _as_ours(self, function: Callable[[], Any]) -> None:
        self._ours = threading.get_ident()
        try:
            function()
        finally:
            self._ours = None

    def _is_ours(self) -> bool:
        return self._ours == threading.get_ident()

    def pause(self) -> None:
        """End our own session, if it is on; its trace is kept for `stop`."""
        with self._ending:
            self._pause()

    def _pause(self) -> None:
        profile, self._own = self._own, None
        if profile is None:
            return
        path = Path(self._folder.name, "own.json")

        def stop() -> None:
            failure: Exception | None = None
            try:
                if torch.cuda.is_available():
                    self.hooks.guard("profiler", torch.cuda.synchronize)  # a device that failed had ops before
                # Also those that `threading` did not start.
                if len(sys._current_frames()) > 1:  # pyright: ignore[reportPrivateUsage]
                    self.hooks.guard("other threads", quiesce)  # what fails there costs no recording
                profile.stop()
            except BaseException as error:
                with contextlib.suppress(RuntimeError):  # it is off
                    stats: Any = getattr(profile.profiler, "_stats", None)
                    prepared = getattr(stats, "profiler_prepare_call_duration_us", 0)
                    if prepared and not stats.profiler_enable_call_duration_us:
                        profile.profiler._start_trace()  # a session that was only prepared bars all others (torch 2.11)
                    # One that is on as the process ends crashes it; what it has seen is kept.
                    profile.profiler.kineto_results = torch._C._autograd._disable_profiler()
                    torch.autograd.profiler._run_on_profiler_stop()
                if not isinstance(error, Exception) or of_a_signal(error):
                    raise
                failure = error
            if has_trace(profile.profiler):
                profile.export_chrome_trace(str(path))
                check_written(path)
            if failure is not None:
                raise failure

        self.hooks.guard("profiler", self._as_ours, stop)
        if path.exists():
            self._stopped = path

    # ------------------------------------------------------------------ the user's session

    def _theirs_begins(self, profile: Any, *_: Any, **__: Any) -> None:
        if self._is_ours():
            return
        self._open += 1
        self.pause()
        if self._on_yield is not None:
            self._on_yield()

    def _theirs_ended(self, _: Any, profile: Any, *__: Any, **___: Any) -> None:
        if not self._is_ours() and getattr(profile, "enabled", True):
            self._open -= 1
            self._theirs.append((profile, None))

    def _export(self, original: Callable[..., Any], profile: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        # Kineto writes a trace once. The user's export is the one; ours is a copy of it.
        result = original(profile, path, *args, **kwargs)
        if not self._is_ours():
            self.hooks.guard("copy of the program's own trace", self._copy, profile, Path(path))
        return result

    def _copy(self, profile: Any, path: Path) -> None:
        for index, (known, copy) in enumerate(self._theirs):
            if known is profile and copy is None:
                target = Path(self._folder.name, f"theirs-{index}.json")
                shutil.copyfile(path, target)
                self._theirs[index] = (known, target)

    def _take(self, index: int, profile: Any) -> None:
        """Write the trace of a session that the user did not export, so that they still can."""
        target = Path(self._folder.name, f"theirs-{index}.json")
        self._as_ours(functools.partial(profile.export_chrome_trace, str(target)))
        self._theirs[index] = (profile, target)
        kept = target.read_bytes()

        def export(path: Any, *_: Any, **__: Any) -> None:
            Path(path).write_bytes(kept)

        # Kineto refuses a second export: from here on, this one session's are copies.
        profile.export_chrome_trace = export


@contextlib.contextmanager
def shared_export(profile: Any) -> Generator[Callable[[Path], None]]:
    """Let a handler of the user's and fxscope both have a trace that Kineto writes only once.

    Yields:
        A function that writes the trace to a path: a copy of the user's export, or the one export, of which later ones
        of the user's are copies.
    """
    inner = profile.profiler
    original = inner.export_chrome_trace
    kept: list[bytes] = []

    def export(path: Any, *args: Any, **kwargs: Any) -> None:
        if kept:
            Path(path).write_bytes(kept[0])
        else:
            original(str(path), *args, **kwargs)
            kept.append(Path(path).read_bytes())

    inner.export_chrome_trace = export
    yield export


@dataclasses.dataclass
class ObservedThreads:
    """External ids in a trace: of the ops that went through the mode, in order; of those that ran without it."""

    seen: list[int]
    names: list[str]  # of the ops in `seen`
    unseen: set[int]  # in other threads, and inside what the mode stepped aside for
    threads: int = 0  # that ran ops without the mode
    problems: list[Problem] = dataclasses.field(default_factory=list)  # of the file
    steps: StepPlan = dataclasses.field(default_factory=StepPlan)
    num_ops: tuple[int, int] = (0, 0)  # outermost ops before the first step, and in all
    # Of the ops before the first step: name, duration in µs, and the position in `seen` of the first that it calls.
    start_up: list[tuple[str, float, int | None]] = dataclasses.field(default_factory=list)
    compile_us: float = 0.0  # before the first step


def strip_observation(path: Path, **options: Any) -> ObservedThreads:
    """Take fxscope's own dispatch mode, the compiler's inner work, and what was launched when the recording had ended out
    of a trace file; with options, write steps.

    The steps of the program that are to be kept (`step_plan.plan`, which the options are for) become events as the
    profiler's own `ProfilerStep#N` are.

    An op that went through the mode appears as `X ⊃ PythonDispatchMode ⊃ X`: the outer X has the sequence number, the
    inner one the real duration. The inner X stays, with the outer's arguments added. What ran inside one of Dynamo's
    phases ran on the compiler's fake tensors: it is no part of the program.
    """
    import msgspec

    problems: list[Problem] = []
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    try:
        trace: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):  # Kineto writes names as they are, quotes and all
        trace, problems = mend(path)
    events: list[dict[str, Any]] = trace["traceEvents"]
    spans = [event for event in events if event.get("ph") == "X" and event.get("cat") in ("cpu_op", "user_annotation")]
    found = _Stripped(compile_phases(spans))
    for event in sorted(spans, key=lambda event: (event["ts"], -event["dur"])):
        found.add(event)
    observed = found.observed()
    if found.recording_ends is not None:
        found.drop |= launched_after(found.recording_ends, events)
    if options and spans:
        found.ops.sort()
        ends = max(event["ts"] + event["dur"] for event in spans)
        begins = min(event["ts"] for event in spans)
        steps = plan(
            found.ops, begins=begins, ends=ends, calls=sorted(found.calls), step_ends=sorted(found.step_ends), **options
        )
        observed.steps = steps
        if steps.start_up is not None:
            observed.start_up = found.before(steps.start_up.end)
            observed.compile_us = sum(duration for start, duration in found.compiles if start < steps.start_up.end)
        observed.num_ops = (len(observed.start_up), len(found.ops))
        events.extend(
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": f"ProfilerStep#{span.number}",
                "pid": found.process,
                "tid": found.thread,
                "ts": span.start,
                "dur": span.end - span.start,
                "args": {},
            }
            for span in steps.kept
        )
    trace["traceEvents"] = [event for event in events if id(event) not in found.drop]
    path.write_bytes(msgspec.json.encode(trace))
    return dataclasses.replace(observed, problems=problems)


def launched_after(end: float, events: list[dict[str, Any]]) -> set[int]:
    """The ids of the runtime calls that began after a time, but for those of ops that had begun, and of what they launch."""

    def correlation(event: dict[str, Any]) -> Any:
        return event.get("id") if event.get("cat") == FLOW else event.get("args", {}).get("correlation")

    until: dict[Any, float] = {}  # by thread
    for event in events:
        if event.get("cat") == "cpu_op" and event["ts"] < end:
            until[event["tid"]] = max(until.get(event["tid"], end), event["ts"] + event["dur"])
    runtime = (event for event in events if CATEGORIES.get(event.get("cat", "")) == RUNTIME)
    calls = [event for event in runtime if event["ts"] >= until.get(event["tid"], end)]
    late = {correlation(event) for event in calls} - {None}
    return {*map(id, calls), *(id(event) for event in events if correlation(event) in late)}


def compile_phases(events: list[dict[str, Any]]) -> dict[Any, set[str]]:
    """The outermost phases of compiling by thread: elsewhere, a name like those of Dynamo's is the user's.

    A phase `X` has an annotation `X_data: compile_id=…` in it, also in a thread where Inductor runs a C++ compiler
    (torch 2.13: torch/_dynamo/utils.py, `log_event_start`).
    """
    found: dict[Any, set[str]] = {}
    for event in events:
        name = event["name"]
        if name.endswith(COMPILING):
            found.setdefault(event["tid"], set(COMPILE_SPANS))
        elif "compile_id=" in name and (phase := name.partition("_data: ")[0]) != name:
            found.setdefault(event["tid"], set(COMPILE_SPANS)).add(phase)
    return found


class _Stripped:
    """What stays of a trace and what of it was observed; fed with host events in order of time, parents first."""

    def __init__(self, phases: dict[Any, set[str]]) -> None:
        self._phases = phases
        self.drop: set[int] = set()
        self.ops: list[tuple[float, str]] = []  # outermost ones: start and name
        self.compiles: list[tuple[float, float]] = []  # start and duration of the phases, one after the other
        self.calls: list[tuple[float, str]] = []
        self.step_ends: list[float] = []
        self.recording_ends: float | None = None
        self.process: Any = None
        self.thread: Any = None
        self._outer: list[dict[str, Any]] = []  # the events of `ops`
        self._first_seen: dict[int, int] = {}  # of them → position in `_seen`
        self._seen: list[int] = []
        self._names: list[str] = []
        self._stacks: dict[Any, list[Any]] = {}
        self._parents: dict[int, Any] = {}
        self._markers: dict[int, int] = {}  # marker event → position in `_seen`
        self._compiling: set[int] = set()
        self._aside: set[int] = set()
        self._plain: dict[Any, set[int]] = {}  # thread → external ids of its ops
        self._observed_threads: set[Any] = set()
        self._unseen: set[int] = set()

    def observed(self) -> ObservedThreads:
        others = [ids for thread, ids in self._plain.items() if thread not in self._observed_threads]
        return ObservedThreads(
            seen=self._seen, names=self._names, unseen=self._unseen.union(*others), threads=len(others)
        )

    def add(self, event: dict[str, Any]) -> None:
        stack = self._stacks.setdefault(event["tid"], [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
            stack.pop()
        parent = stack[-1] if stack else None
        self._parents[id(event)] = parent
        stack.append(event)
        if not self._compiles(event, parent):
            self._sort(event, parent)
            above = parent  # the mode is no op
            if parent is not None and parent["name"] == MARKER:
                above = self._parents.get(id(parent))
            if event["cat"] == "cpu_op" and event["name"] != MARKER and (above is None or above["cat"] != "cpu_op"):
                self.ops.append((event["ts"], event["name"]))
                self._outer.append(event)
                if self.process is None:
                    self.process, self.thread = event["pid"], event["tid"]

    def before(self, end: float) -> list[tuple[str, float, int | None]]:
        """The outermost ops that began before a time; see `ObservedThreads.start_up`."""
        early = [event for event in self._outer if event["ts"] < end]
        first = [self._first_seen.get(id(event), self._first_seen.get(id(self._parents[id(event)]))) for event in early]
        return [(event["name"], event["dur"], place) for event, place in zip(early, first, strict=True)]

    def _outermost(self, event: dict[str, Any]) -> dict[str, Any]:
        """The op that an event is in, inside no other op."""
        parent = self._parents.get(id(event))
        while parent is not None and parent["cat"] == "cpu_op":
            event, parent = parent, self._parents.get(id(parent))
        return event

    def _compiles(self, event: dict[str, Any], parent: Any) -> bool:
        inside = parent is not None and id(parent) in self._compiling
        outermost = event["name"] in self._phases.get(event["tid"], ())
        if not (inside or outermost or event["name"].endswith(COMPILING)):
            return False
        self._compiling.add(id(event))
        if not inside and event["ts"] >= sum(self.compiles[-1] if self.compiles else (0.0, 0.0)):
            self.compiles.append((event["ts"], event["dur"]))  # not what other threads compile for it meanwhile
        if inside or event["cat"] == "cpu_op":
            self.drop.add(id(event))
        return True

    def _sort(self, event: dict[str, Any], parent: Any) -> None:
        external_id = event.get("args", {}).get("External id", -1)
        if event["name"] == STEP_ENDS:
            self.step_ends.append(event["ts"])
            self.drop.add(id(event))
        elif event["name"] == RECORDING_ENDS:
            self.recording_ends = event["ts"]
            self.drop.add(id(event))
        elif event["name"].startswith(CALL_BEGINS):
            self.process, self.thread = event["pid"], event["tid"]
            self.calls.append((self._outermost(event)["ts"], event["name"]))
            self.drop.add(id(event))
        elif event["name"].startswith(STEPPED_ASIDE):
            self._aside.add(id(event))
            self.drop.add(id(event))
        elif parent is not None and id(parent) in self._aside:
            self._aside.add(id(event))
            self._unseen.add(external_id)
        elif event["name"] == MARKER:
            self._markers[id(event)] = len(self._seen)
            self._first_seen.setdefault(id(self._outermost(event)), len(self._seen))
            self._observed_threads.add(event["tid"])
            self._seen.append(-1)
            self._names.append("")
            self.drop.add(id(event))
        elif parent is not None and id(parent) in self._markers and self._seen[self._markers[id(parent)]] == -1:
            self._pair(event, parent)
        elif event["cat"] == "cpu_op":
            self._plain.setdefault(event["tid"], set()).add(external_id)

    def _pair(self, event: dict[str, Any], marker: dict[str, Any]) -> None:
        outer = self._parents.get(id(marker))
        if outer is not None and outer["name"] == event["name"]:
            self.drop.add(id(outer))
            event["args"] = {**outer.get("args", {}), **event.get("args", {})}
        else:  # autograd's own `aten::detach ⊃ detach`
            while outer is not None and outer["name"] != event["name"]:
                outer = self._parents.get(id(outer))
            if outer is not None:
                self.drop.add(id(event))
                event = outer
        self._names[self._markers[id(marker)]] = event["name"]
        self._seen[self._markers[id(marker)]] = event["args"].get("External id", -1)


def peak_memory() -> tuple[int, int] | None:
    """(peak, current) bytes of the current CUDA device; None without one."""
    if not torch.cuda.is_available():
        return None
    return torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()
