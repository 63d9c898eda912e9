"""Run a program and come back with a `Recording`.

    recording = fxscope.record(model, x, compile=True)

    with fxscope.record() as recorder:
        train_one_epoch()
    recorder.recording.show()

Hooks and switches are restored whatever happens; a hook that fails is a `problem`. `record(fn, …)`, which calls it several
times, restores the state that it finds, and reports what it cannot restore.
"""

import atexit
import contextlib
import functools
import os
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import Any, NamedTuple

from fxscope import passes
from fxscope._torch import profiler, restore, running
from fxscope._torch.environment import environment
from fxscope._torch.event_tree import EventTree, facts_of
from fxscope._torch.hooks import Hooks, hook_before
from fxscope._torch.inductor import InductorCapture
from fxscope._torch.module_names import ModuleNames
from fxscope._torch.numerics import Run
from fxscope._torch.quiet import raised_by_handler, signals_held
from fxscope._torch.steps import StepWatch, busy_with, mark, summary
from fxscope.columns import distinct
from fxscope.errors import CaptureError, FxscopeError, NothingCapturedError, TraceError, one_line
from fxscope.index import index_of
from fxscope.model import Memory, Problem, Recording, StepTimes, Unobserved, replace
from fxscope.op_names import PACKAGE, REGION_ID
from fxscope.passes import bound
from fxscope.passes.program_steps import DEFAULT_STEPS
from fxscope.readers import eager_graph
from fxscope.readers.own_trace import STEP_ENDS, OwnTrace, SessionCut
from fxscope.text import counted, listed, microseconds

WARMUP = 2  # calls before the profiled ones; a CUDA graph is recorded in the second
MOST_CALLS = 32  # of one compiled graph are observed, where the program has no steps
MOST_SECONDS = 5.0
LEAST_REST, LEAST_UNTIMED = 0.1, 4  # share of the time after the observation, and steps, that are worth a word
_current: list[str] = []


def record(
    model: Any = None,
    *inputs: Any,
    compile: bool | str | Mapping[str, Any] = False,
    backward: bool = False,
    target: str | None = None,
    steps: int = 3,
    warmup: int = WARMUP,
    title: str | None = None,
    kwargs: Mapping[str, Any] | None = None,
    numerics: bool = False,
) -> Any:
    """Record a model or a function; without one, return a context manager that records what runs in it.

    The function is called about 90 times at most: once to compile, `warmup` times, 2 to 81 times for 0.3 s to be timed,
    `steps` + 1 times in the profiler. An exception after the first call becomes a problem.

    Args:
        model: an `nn.Module` or any callable, called several times. A module without `backward` runs under `torch.no_grad()`.
        inputs: its positional arguments.
        compile: True, a mode such as `"max-autotune"`, or the keyword arguments of `torch.compile`.
        backward: also run the backward pass of the sum of the outputs (of the output itself, where it is a scalar).
        target: name of a GPU (`"h200"`): what Inductor would write for it, whether or not there is one here.
        steps: profiled calls.
        warmup: calls before them.
        title: what to call the recording.
        kwargs: keyword arguments of the model.
        numerics: run the compiled program once more and compare each kernel with its ops in eager, fp64 as judge.

    Returns:
        The recording with all passes run; a `Recorder` where there is no `model`.

    Raises:
        CaptureError: the arguments make no sense, or another recording is running.
        NothingCapturedError: the program ran, but there was no graph and no op.
    """
    if model is None:
        if inputs or compile or backward or target or numerics:
            raise CaptureError("record() without a model is a context manager: it takes no inputs, compile, backward.")
        return Recorder(title=title)
    if not callable(model):
        raise CaptureError(f"record() needs a module or a function first, not {type(model).__name__}.")
    if steps < 1 or warmup < 0:
        raise CaptureError(f"steps must be at least 1 and warmup at least 0, not {steps} and {warmup}.")
    options = running.compile_options(compile)
    if numerics and (target is not None or options is None):
        raise CaptureError("numerics=True compares compiled kernels that run here: pass compile=True and no target.")
    if target is not None:
        from fxscope._torch.target import child

        return child.record(
            model, *inputs, target=target, compile=options, backward=backward, title=title, kwargs=kwargs
        )
    name: str = title or getattr(model, "__qualname__", type(model).__name__)
    capture = InductorCapture()  # imports Dynamo, whose switches are restored, too
    with _alone(name), restore.restored(model, inputs, kwargs or {}) as problems:
        run = running.runner(model, inputs, dict(kwargs or {}), backward=backward, compile_options=options)
        job = _Job(run, model, inputs, kwargs or {}, steps, warmup)
        recording = job.recorded(capture, compiles=options is not None, numerics=numerics)
    recording = replace(recording, title=name, problems=(*recording.problems, *problems))
    return bound.judged(passes.run(recording))


@contextlib.contextmanager
def _alone(title: str) -> Generator[None]:
    """Refuse a second recording: there is one Kineto session and one set of hooks."""
    if _current:
        message = f"a recording ({_current[0]}) is already running in this process"
        raise CaptureError(f"{message}: end it before starting another.")
    _current.append(title)
    try:
        yield
    finally:
        _current.clear()


class _Job(NamedTuple):
    """One `record(model, …)`: the runs it takes and what each is for."""

    run: Callable[[], Any]
    model: Any
    inputs: Sequence[Any]
    kwargs: Mapping[str, Any]
    steps: int
    warmup: int

    def recorded(self, capture: InductorCapture, *, compiles: bool, numerics: bool) -> Recording:
        """Record: the first call compiles, those after it are for the times, and one more to compare values."""
        if profiler.is_profiling():
            message = "a profiler session of the program's is running, and there can be one at a time"
            raise CaptureError(f"{message}: call fxscope.record outside it.")
        if (error := capture.no_dynamo) is not None:
            raise CaptureError(f"torch._dynamo cannot be imported here ({one_line(error)}).") from error
        with capture:
            capture.numerics = Run() if numerics else None
            if compiles:
                running.fresh_dynamic_state(capture.hooks)
            self.run()
            num_compiles = capture.num_compiles
            recording = self.profiled(capture)
            if capture.num_compiles > num_compiles:
                many = counted(capture.num_compiles - num_compiles, "graph was", "graphs were")
                message = f"{many} compiled after the first call: the program recompiles with the same inputs"
                capture.hooks.problem("torch.compile", message, "see the recompile reasons of each compile")
        facts = capture.facts()
        recording = _with_facts(recording, facts, capture)
        if compiles and not facts.graphs:
            why = f"torch.compile captured no graph: {capture.why_no_graph}"
            raise NothingCapturedError(f"{why}. TORCH_LOGS=dynamo says what Dynamo met.")
        if not facts.graphs and not recording.ops and not recording.problems:
            raise _nothing(recording.unobserved)
        return recording if capture.numerics is None else self.with_numerics(recording, capture)

    def with_numerics(self, recording: Recording, capture: InductorCapture) -> Recording:
        """Run once more and compare; a comparison that fails is a problem."""
        assert capture.numerics is not None
        found = capture.hooks.guard("comparison of values", capture.numerics.compare, passes.run(recording), self.run)
        rows, problems = found or (None, capture.hooks.problems[-1:])
        return replace(recording, numerics=rows, problems=(*recording.problems, *problems))

    def profiled(self, capture: InductorCapture) -> Recording:
        times = None
        with _reported(capture.hooks):
            for _ in range(self.warmup):
                self.run()
            times = running.times_of_calls(self.run)
        names = running.names_of(self.model, self.inputs, self.kwargs)
        observed = _Observation(capture)
        session = observed.session
        running.peak_memory(begins=True)  # of these steps alone
        session.start()
        try:
            with _reported(capture.hooks):
                for _ in range(1 + self.steps):
                    observed.threads, observed.processes = [], []
                    self.run()
                    running.synchronize()  # a step's device work ends in the step: else the last one would look longer
                    mark(STEP_ENDS)
        finally:
            traced = session.stop()
        plan = {"mark": STEP_ENDS, "warmup": 1, "keep": self.steps, "compiles": (), "is_cut": True}
        memory = running.peak_memory()
        recording = _of_trace(*traced, names, memory, **plan)[0] if traced is not None else Recording(memory=memory)
        session.cleanup()
        cut = (*(item for item in recording.unobserved if item.what == "ops"), *observed.unobserved())
        problems = (*recording.problems, *session.hooks.problems)
        return replace(recording, unobserved=cut, problems=problems, environment=environment(), step_times=times)


@contextlib.contextmanager
def _reported(hooks: Hooks) -> Generator[None]:
    """Report what a function raises that has run once; what it did until then is recorded."""
    try:
        yield
    except Exception as error:
        if raised_by_handler(error):
            raise
        message = f"a call after the first raised {one_line(error)}"
        hooks.problem("calls of the function", message, "record a function that can be called 90 times")


def _nothing(unobserved: Iterable[Unobserved], problems: Sequence[Problem] = ()) -> NothingCapturedError:
    why = "; ".join(": ".join(filter(None, (problem.message, problem.remedy))) for problem in problems)
    if not why and (others := "; ".join(item.detail for item in unobserved)):
        why = f"only one thread is recorded. Not recorded: {others}: use the main thread, or `fxscope.record` there"
    question = "does it call PyTorch in this process?"
    return NothingCapturedError(f"the program ran, but no graph and no op was captured: {why or question}")


class _Observation:
    """A profiler session, without the compiler's own work; and the threads and processes that the program starts in it."""

    watch: StepWatch  # of a `Recorder`

    def __init__(self, capture: InductorCapture) -> None:
        self.session, self._num_compiling = profiler.Session(), capture.num_compiling_here
        capture.is_our_session = self.session.is_on
        self.threads: list[str] = []
        self.processes: list[Any] = []  # of multiprocessing
        self.session.hooks.install(self)

    @hook_before("threading:Thread.start")
    def _starts_thread(self, thread: Any) -> None:
        target = getattr(getattr(thread, "_target", None) or type(thread).run, "__code__", None)
        frames = (frame for frame, _ in traceback.walk_stack(sys._getframe()))  # pyright: ignore
        starter = next(frame for frame in frames if not frame.f_globals.get("__name__", "").startswith("fxscope."))
        is_library = target is not None and all("-packages" in code.co_filename for code in (target, starter.f_code))
        if self.session.is_on() and not self._num_compiling() and not is_library:
            self.threads.append(thread.name)

    @hook_before("multiprocessing.process:BaseProcess.start")
    def _starts_process(self, process: Any) -> None:
        self.processes.append(process.name)

    def unobserved(self) -> Generator[Unobserved]:
        if count := len(self.threads):
            detail = f"any ops in {counted(count, 'thread')} ({listed(self.threads, 3)}), which the program started"
            yield Unobserved(what="threads", count=count, detail=detail)
        if count := len(self.processes):
            detail = f"{counted(count, 'child process', 'child processes')}, not followed"
            yield Unobserved(what="children", count=count, detail=detail)


class Recorder:
    """Records what runs while it is open: `with fxscope.record() as recorder: …`.

    The program runs once under torch's profiler, until enough was observed; if it profiles itself, its own trace is the
    recording's. A forked child that leaves the block leaves only its copy. Nothing of fxscope's own is raised into the program:
    a recording that fails has the reason among its problems, and a warning says so.

    Attributes:
        recording: the result, of what ran until then where the program raised; None while it runs.
        failure: what kept the recording from being made; None where nothing did.
    """

    def __init__(
        self,
        *,
        title: str | None = None,
        warn: bool = True,
        steps: int | None = None,
        warmup: int | None = None,
        skip_start: bool = False,
        max_seconds: float = MOST_SECONDS,
        wait: int = 0,
    ) -> None:
        self.recording: Recording | None = None
        self.failure: Exception | None = None
        self._steps, self._warmup, self._skip_start, self._seconds = steps, warmup, skip_start, max_seconds
        self._wait = wait
        self._title = title or "recording"
        self._warn = warn

    @signals_held()
    def __enter__(self) -> "Recorder":
        self._process = getpid()
        self.recording = self.failure = None
        self._last = contextlib.ExitStack()  # whatever fails on the way: nothing of ours stays in torch
        self._last.enter_context(_alone(self._title))
        try:
            self._begin()
        except Exception as failure:
            self._fail(failure, quiet=False)
            self._last.close()
        except BaseException:
            self._last.close()
            raise
        return self

    def _begin(self) -> None:
        capture = self._capture = InductorCapture()
        self._last.callback(capture.__exit__)
        self._running = [True]  # taken by whoever ends it: of two threads that do, one does
        self._eager: _Observation | None = None  # of what ran before the program compiled
        self._eager_memory: Memory | None = None
        capture.__enter__()
        self._observe()
        capture.on_compile = functools.partial(self._observe_compiled, is_compiled=True)
        atexit.register(self._left_open)

    def _observe(self, *, is_compiled: bool = False) -> None:
        capture = self._capture
        self._now = _Observation(capture)
        session = self._now.session
        hooks = session.hooks
        self._last.callback(hooks.close)
        self._last.callback(hooks.guard, "profiler", session.pause)
        wanted = (1 if self._warmup is None else self._warmup) + (self._steps or DEFAULT_STEPS)
        wait, self._wait = self._wait, 0
        bounds: dict[str, Any] = {"steps": wanted, "calls": MOST_CALLS, "seconds": self._seconds}
        watch = self._now.watch = StepWatch(capture, self._enough, **bounds, wait=wait, begins=session.begin)
        watch.on_capture, session.on_call, session.on_aside = self._observe_compiled, watch.called, watch.release
        hooks.guard("names of modules", capture.names.start, hooks)
        session.wait() if wait else session.start()
        hooks.guard("optimizer steps", watch.start, hooks, is_compiled=is_compiled)

    def _observe_compiled(self, *, is_compiled: bool = False) -> None:
        """Observe anew where the program compiles, or captures a CUDA graph, after an observation of eager steps."""
        session = self._now.session
        if self._eager is not None or not self._now.watch.was_eager or session.own is None or session.aside:
            return
        if threading.get_ident() != session.thread or busy_with():
            return
        self._eager, self._eager_memory = self._now, running.peak_memory()
        session.hooks.close()
        self._observe(is_compiled=is_compiled)
        self._now.session.hooks.problems.extend(session.hooks.problems)

    def _enough(self, bound: str) -> None:
        """End the observation, in the middle of the program: from here on it runs as it would without."""
        session, watch = self._now.session, self._now.watch
        watch.bound = bound
        session.hooks.guard("the end of the observation", session.pause)
        session.hooks.guard("times of calls", watch.end_observation)

    @signals_held()
    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if getpid() != self._process or self.failure is not None:
            return
        try:
            self._running.pop()
        except IndexError:  # it has ended, and what it recorded stays
            return
        atexit.unregister(self._left_open)
        self._left_at = time.perf_counter_ns()
        try:
            try:
                traced = self._now.session.stop()
            finally:
                self._last.close()
            now, eager = self._now, self._eager
            if eager is not None and not (now.session.theirs or now.watch.sees_repeats(eager.watch)):
                traced = self._eager_session()
            self.recording = self._build(traced)
            if self._eager is not None and {item.runs for item in self.recording.compiles} == {0}:
                self.recording = self._build(self._eager_session())
        except Exception as failure:
            self._fail(failure, quiet=kind is not None)  # what the program raised says more
        finally:
            self._now.session.hooks.guard("temporary files", self._now.session.cleanup)

    def _eager_session(self) -> profiler.Traced | None:
        """Go back to the first observation, where the second saw nothing repeated, or no compiled graph in its steps."""
        self._now, self._eager = self._eager or self._now, None
        return self._now.session.own

    def _left_open(self) -> None:
        """As Python exits: a session of the profiler that is on by then would crash the process."""
        if getpid() != self._process or not self._running:
            return
        self._running.clear()
        self._last.close()
        if self._warn:
            what = f"a recording ({self._title}) was still running as the program ended, and is lost"
            print(f"fxscope: {what}: leave its `with` block.", file=sys.stderr)

    def _fail(self, failure: Exception, *, quiet: bool) -> None:
        self.failure = failure
        text = str(failure) if isinstance(failure, FxscopeError) else f"{type(failure).__name__}: {failure}"
        self.recording = Recording(title=self._title, problems=(Problem(where="recording", message=text),))
        if quiet or not self._warn:
            return
        message = f"fxscope could not record {self._title}: {text.rstrip('.')}. The program is not affected."
        try:
            warnings.warn(message, RuntimeWarning, stacklevel=4)
        except RuntimeWarning:  # where warnings are errors: ours is none
            print(message, file=sys.stderr)

    def _build(self, traced: profiler.Traced | None) -> Recording:
        if traced is None and (left := self._now.watch.wait):
            seen = len(self._now.watch.waited)
            message = f"the program ended after {seen} of {left} steps (or model calls) to wait for: none was profiled"
            self._now.session.hooks.problem("profiler", message, f"wait for {'fewer' if seen else 'no'} steps")
        facts, problems = self._capture.facts(), [*self._now.session.hooks.problems]
        memory, before = running.peak_memory(), self._eager_memory if self._eager is not None else None
        memory = memory and replace(memory, eager_bytes=before and before.peak_bytes)
        recording, num_calls = Recording(memory=memory), None
        if traced is not None:
            plan: dict[str, Any] = {}
            if self._now.watch.wait:
                self._now.watch.not_known = "whether the timed steps are like those of the program's own profile"
            if traced is not self._now.session.theirs:  # whose steps are those that it says
                plan = {"mark": self._now.watch.mark, "warmup": self._warmup, "keep": self._steps or DEFAULT_STEPS}
                plan |= {"skip_start": self._skip_start, "is_cut": self._now.watch.ended_at is not None}
            recording, num_calls = _of_trace(*traced, self._capture.names, memory, **plan)
        times, others = self._now.watch.later(num_calls)
        unobserved = self._unobserved(times, others)
        on_cpu = any(launch.category == "cpu_kernel" for launch in recording.launches)
        steps = () if recording.summary is None or on_cpu else recording.summary.steps
        busy_us = [step.device_busy_us for step in steps]
        if times is None:  # the profiled steps' own
            times = summary(index_of(recording).wall_us if recording.summary is not None else (), "recording")
        elif times.median_us < min(busy_us, default=0.0):  # the CPU runs ahead: it timed launches, not steps
            device = summary(busy_us, "device")
            times = device and replace(device, count=times.count, launching_us=times.median_us)
        recording = replace(
            recording,
            title=self._title,
            environment=environment(),
            step_times=times,
            unobserved=(*recording.unobserved, *unobserved),
            problems=(*recording.problems, *problems),
        )
        recording = _with_facts(recording, facts, self._capture)
        if not (recording.graphs or recording.launches or (self._now.watch.wait and times)):
            raise _nothing(self._now.unobserved(), self._now.session.hooks.problems)
        return bound.judged(passes.run(recording))

    def _unobserved(self, steps: StepTimes | None, others: StepTimes | None) -> list[Unobserved]:
        watch, eager, found = self._now.watch, self._eager, list[Unobserved]()
        is_same_model = eager is not None and eager.watch.models.keys() & self._capture.compiled_modules
        if eager is not None and is_same_model and (times := eager.watch.later(0)[0]) is not None:
            count = counted(times.count, "timed eager step")
            detail = f"{count} before the first compile, median {microseconds(times.median_us)}"
            found.append(Unobserved(what="eager", count=times.count, duration_us=times.median_us, detail=detail))
        if watch.ended_at is not None:
            after = max(self._left_at - watch.ended_at, 0) / 1e3
            detail = f"{microseconds(after)} after the observed part"
            if watch.bound:
                detail += f", which ended at the bound of {watch.bound}"
            timed_after = steps if steps is not None and steps.when == "after" else None
            if timed_after is not None:
                detail += f" ({timed_after.count:,} steps, timed)"
            found.append(
                Unobserved(what="after", count=timed_after and timed_after.count, duration_us=after, detail=detail)
            )
            if others is not None:
                detail = f"{counted(others.count, 'later step')} with other ops or shapes"
                detail += f" (median {microseconds(others.median_us)})"
                found.append(Unobserved(what="later", count=others.count, duration_us=others.median_us, detail=detail))
            timed = [item for item in (timed_after, others) if item is not None]
            until = after if watch.released_at is None else (watch.released_at - watch.ended_at) / 1e3
            rest = until - sum(item.total_us for item in timed)
            if rest > max([LEAST_REST * until, *(LEAST_UNTIMED * item.median_us for item in timed)]):
                detail = f"what ran in {microseconds(rest)} after the profiled steps, outside of timed steps"
                found.append(Unobserved(what="rest", duration_us=rest, detail=detail))
        if steps is not None and watch.not_known and (watch.wait or watch.ended_at is not None):
            found.append(Unobserved(what="shapes", detail=watch.not_known))
        return [*found, *self._now.unobserved()]


def _of_trace(
    path: Path, tree: EventTree, names: ModuleNames, memory: Memory | None, **plan: Any
) -> tuple[Recording, int | None]:
    """Return what a session says, with its eager graph; and how many calls its steps are, None where they are none."""
    from fxscope.readers import trace

    plan["is_cut"] = plan.get("is_cut", False) or tree.times.cut is not None
    tree.times.calls = names.of_calls(tree.roots)
    observed = OwnTrace(path, tree.times, **plan)
    facts = facts_of(tree, observed.concrete, names)
    try:
        recording = trace.recording(path)
    except TraceError:  # without events: nothing of torch was called
        return Recording(memory=memory), None
    # A session that ended before it was active, or as it became so, has at most an annotation.
    if not recording.launches and not any(op.category == "cpu_op" for op in recording.ops):
        return Recording(memory=memory), None
    graph, ties = eager_graph.program_graph(recording.ops, facts)
    problems, unobserved = (*recording.problems, *observed.problems), (*left_out_of(observed, tree.times.cut),)
    if (step := recording.memory) is not None:
        memory = replace(memory or Memory(), step_bytes=step.step_bytes, step_peak_ns=step.step_peak_ns)
    recording = replace(recording, memory=memory, unobserved=unobserved, problems=problems)
    return replace(recording, graphs=(graph,), ops=ties) if graph.nodes else recording, observed.steps.num_calls


def left_out_of(observed: OwnTrace, cut: SessionCut | None) -> Generator[Unobserved]:
    """Yield what of the observed part is not in the recording; `cut`: what is beyond the most that is read."""
    plan = observed.steps
    if plan.start_up is not None:
        duration = plan.start_up.end - plan.start_up.start
        detail = f"start-up ({counted(observed.num_early, 'op')} called, {microseconds(duration)})"
        yield Unobserved(what="start-up", count=observed.num_early, duration_us=duration, detail=detail)
    tuning = [event["dur"] for event in observed.tuned]
    others = [span.end - span.start for span in plan.others]
    for what, count, duration, noun, detail in (
        ("tuning", len(tuning), sum(tuning), "kernel", "that the compiler ran to benchmark candidates"),
        ("steps", len(others), sum(others), "observed step", "like others or for warm-up"),
        ("fake", observed.num_fake, None, "op", "on fake or meta tensors, which compute nothing"),
    ):
        if count:
            yield Unobserved(what=what, count=count, duration_us=duration, detail=f"{counted(count, noun)} {detail}")
    if cut is not None:
        detail = f"{counted(observed.num_cut, 'op')} after the first {cut.bound}"
        yield Unobserved(what="ops", count=observed.num_cut, detail=detail)


def _with_facts(recording: Recording, facts: Recording, capture: InductorCapture) -> Recording:
    added = {name: getattr(facts, name) for name in facts.__struct_fields__}
    both = {name: (*getattr(recording, name), *items) for name, items in added.items() if isinstance(items, tuple)}
    regions = map(REGION_ID.match, distinct(recording.ops, "name"))
    ids = {region["id"] for region in regions if region and not region["id"].startswith(PACKAGE)}
    if before := ids - {item.compile_id for item in facts.compiles}:
        functions = capture.functions()
        names = listed(sorted(functions.get(item, item) for item in before), 3)
        message = f"compiled before the recording began, so without graphs in it: {names}"
        both["problems"] += (Problem(where="torch.compile", message=message, remedy="record their first calls"),)
    return replace(recording, **both)


# A forked child's copy of what is going on is none of its business.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_current.clear)

__all__ = ["Recorder", "record"]
